/* SPDX-License-Identifier: Apache-2.0 */
/* What parses is written to something that parses to the same, and is then written identically. */
#include <assert.h>

#include "ltp/segment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static uint64_t sum_claims(const struct ltp_segment *s)
{
    struct slice at = s->claims;
    struct range r;
    uint64_t n = 0, sum = 0;
    for (; segment_claim(s, &at, &r); n++) {
        assert(r.lo >= s->lower && r.lo < r.hi && r.hi <= s->upper);
        sum += r.lo * 31 + r.hi;
    }
    assert(n == s->claim_count);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static uint8_t once[1 << 17], twice[1 << 17];
    struct ltp_segment a, b;
    if (len > 65535 || segment_parse(&a, data, len) != VERDICT_OK)
        return 0;
    size_t n = segment_write(&a, once, sizeof once);
    assert(n > 0 && n <= len);
    assert(segment_parse(&b, once, n) == VERDICT_OK);
    assert(a.type == b.type && a.id.originator == b.id.originator && a.id.number == b.id.number);
    assert(slice_equal(a.headers, b.headers) && slice_equal(a.trailers, b.trailers));
    assert(a.cp_serial == b.cp_serial && a.rpt_serial == b.rpt_serial);
    if (segment_is_data(&a))
        assert(slice_equal(a.data, b.data) && a.offset == b.offset &&
               a.client_service == b.client_service);
    if (a.type == LTP_RS)
        assert(a.lower == b.lower && a.upper == b.upper && sum_claims(&a) == sum_claims(&b));
    if (a.type == LTP_CS || a.type == LTP_CR)
        assert(a.reason == b.reason);
    assert(segment_write(&b, twice, sizeof twice) == n && memcmp(once, twice, n) == 0);
    return 0;
}
