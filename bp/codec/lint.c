/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strict reading that goes on behind a finding, and looks into administrative records. It ends
 * early only where the next block's place is lost.
 */
#include "bp/codec/admin.h"
#include "bp/codec/block.h"

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
