/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of findings. The first fatal one ends a decoding, and then is the last of the list; a
 * lint goes on unless the place where the next item begins is lost.
 */
#include "bp/codec/check.h"

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
