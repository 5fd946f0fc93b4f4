/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of findings. The first fatal finding ends a decoding, and is then the last of the list.
 * A lint continues unless the position of the next item is unknown.
 */
#include "bp/codec/check.h"
#include "bp/codec/admin.h"
#include "bp/codec/block.h"

#include <assert.h>

void check_note(struct check *c, enum check_weight weight, const char *section, const char *text,
                size_t at)
{
    assert(section != NULL && text != NULL);
    assert(c->findings == NULL || c->findings->len <= BUNDLE_FINDINGS_MAX);
    if (c->stop)
        return;
    bool fatal = weight >= CHECK_REFUSE || (weight == CHECK_RULE && c->mode == BUNDLE_STRICT);
    c->bad |= fatal;
    c->stop = weight == CHECK_LOST || (fatal && !c->lint);
    struct bundle_findings *f = c->findings;
    if (f == NULL)
        return;
    if (f->len == BUNDLE_FINDINGS_MAX && !fatal)
        return;
    if (f->len == BUNDLE_FINDINGS_MAX)
        f->len--;
    assert(f->len < BUNDLE_FINDINGS_MAX);
    f->at[f->len++] =
        (struct bundle_finding){.section = section, .text = text, .at = at, .fatal = fatal};
}

void check_reader(struct check *c, const struct item_reader *r, const char *section)
{
    if (r->in.bad)
        check_note(c, CHECK_LOST, section, r->why, r->why_at);
}

/*
 * Decodes in strict mode, continues after findings, and also checks administrative records. It ends
 * early only if the position of the next block is unknown.
 */
size_t bundle_lint(const uint8_t *data, size_t len, struct bundle_findings *findings)
{
    struct bundle b;
    struct check c = {.mode = BUNDLE_STRICT, .lint = true, .findings = findings};
    findings->len = 0;
    if (bundle_read(data, len, &c, &b) < 0)
        check_note(&c, CHECK_NOTE, "this program", "no memory to compare all block numbers", 0);
    bool admin = !c.stop && (b.flags & BUNDLE_IS_ADMIN) && !b.id.fragment && b.payload.data != NULL;
    struct status_report report;
    if (admin && !bundle_targeted(&b, BLOCK_BCB, 1) &&
        status_report_decode(b.payload.data, b.payload.len, &report) == HELIO_EFORMAT)
        check_note(&c, CHECK_RULE, "RFC 9171 §6.1", "the administrative record is malformed",
                   (size_t)(b.payload.data - data));
    return findings->len;
}
