/* SPDX-License-Identifier: Apache-2.0 */
/* Segments of all types there and back, with extensions; each wrong form has its verdict. */

#include "ltp/segment.h"
#include "tests/unit/suite.h"

static const int types[] = {0, 1, 2, 3, 4, 7, 8, 9, 12, 13, 14, 15};
#define TYPES ((int)(sizeof types / sizeof *types))

static const uint8_t payload[300] = {1, 2, 3};

static struct ltp_segment sample(int type)
{
    struct ltp_segment s = {.type = (uint8_t)type, .id = {977, UINT32_MAX}};
    if (segment_is_data(&s)) {
        s.client_service = 1;
        s.offset = 70000;
        s.data = slice_of(payload, sizeof payload);
    }
    if (segment_is_checkpoint(&s))
        s.cp_serial = 5;
    if (type == LTP_RA || type == LTP_RS || segment_is_checkpoint(&s))
        s.rpt_serial = 300;
    if (type == LTP_CS || type == LTP_CR)
        s.reason = LTP_RLEXC;
    return s;
}

static size_t write_sample(int type, uint8_t *out, size_t cap)
{
    struct ltp_segment s = sample(type);
    if (type == LTP_RS) {
        struct range claims[3] = {{1000, 1400}, {1500, 1501}, {90000, 99999}};
        s.lower = 1000;
        s.upper = 100000;
        s.cp_serial = 5;
        s.claim_count = 3;
        return segment_write_report(&s, claims, out, cap);
    }
    return segment_write(&s, out, cap);
}

static void assert_same(const struct ltp_segment *a, const struct ltp_segment *b)
{
    ck_assert_uint_eq(a->type, b->type);
    ck_assert_uint_eq(a->id.originator, b->id.originator);
    ck_assert_uint_eq(a->id.number, b->id.number);
    ck_assert_uint_eq(a->cp_serial, b->cp_serial);
    ck_assert_uint_eq(a->rpt_serial, b->rpt_serial);
    if (segment_is_data(a)) {
        ck_assert_uint_eq(a->client_service, b->client_service);
        ck_assert_uint_eq(a->offset, b->offset);
        ck_assert(slice_equal(a->data, b->data));
    }
    if (a->type == LTP_CS || a->type == LTP_CR)
        ck_assert_uint_eq(a->reason, b->reason);
}

START_TEST(there_and_back)
{
    uint8_t bytes[1000], again[1000];
    size_t len = write_sample(types[_i], bytes, sizeof bytes);
    struct ltp_segment s, want = sample(types[_i]);
    want.cp_serial = types[_i] == LTP_RS ? 5 : want.cp_serial;
    ck_assert_uint_gt(len, 0);
    ck_assert_int_eq(segment_parse(&s, bytes, len), VERDICT_OK);
    assert_same(&s, &want);
    ck_assert_uint_eq(segment_write(&s, again, sizeof again), len);
    ck_assert_int_eq(memcmp(bytes, again, len), 0);
    ck_assert_uint_eq(segment_write(&s, again, len - 1), 0);
    for (size_t cut = 0; cut < len; cut++)
        ck_assert_int_eq(segment_parse(&s, bytes, cut), VERDICT_TRUNCATED);
    bytes[len] = 0;
    ck_assert_int_eq(segment_parse(&s, bytes, len + 1),
                     types[_i] == LTP_RS ? VERDICT_OK : VERDICT_TRAILING);
    ck_assert(s.padded == (types[_i] == LTP_RS));
    if (s.padded)
        assert_same(&s, &want);
    bytes[0] |= 0x10;
    ck_assert_int_eq(segment_parse(&s, bytes, len), VERDICT_BAD_VERSION);
}
END_TEST

START_TEST(extensions_are_carried)
{
    static const uint8_t ext[] = {0x00, 1, 'a', 0xc0, 0, 0x01, 3, 1, 2, 3};
    uint8_t bytes[1000], plain[1000], again[1000];
    size_t plain_len = write_sample(types[_i], plain, sizeof plain);
    struct ltp_segment s, t;
    ck_assert_int_eq(segment_parse(&s, plain, plain_len), VERDICT_OK);
    s.header_count = 3;
    s.headers = slice_of(ext, sizeof ext);
    s.trailer_count = 2;
    s.trailers = slice_of(ext, 5);
    size_t len = segment_write(&s, bytes, sizeof bytes);
    ck_assert_uint_eq(len, plain_len + sizeof ext + 5);
    ck_assert_int_eq(segment_parse(&t, bytes, len), VERDICT_OK);
    assert_same(&t, &s);
    ck_assert(slice_equal(t.headers, s.headers));
    ck_assert(slice_equal(t.trailers, s.trailers));
    bytes[len] = 0; /* behind trailers, which can be a signature, nothing may follow */
    ck_assert_int_eq(segment_parse(&t, bytes, len + 1), VERDICT_TRAILING);
    ck_assert_int_eq(segment_parse(&t, bytes, len), VERDICT_OK);
    ck_assert_uint_eq(segment_write(&t, again, sizeof again), len);
    ck_assert_int_eq(memcmp(bytes, again, len), 0);
    for (size_t cut = 0; cut < len; cut++)
        ck_assert_int_eq(segment_parse(&s, bytes, cut), VERDICT_TRUNCATED);
}
END_TEST

START_TEST(claims)
{
    uint8_t bytes[1000];
    size_t len = write_sample(LTP_RS, bytes, sizeof bytes);
    struct ltp_segment s;
    ck_assert_int_eq(segment_parse(&s, bytes, len), VERDICT_OK);
    struct slice at = s.claims;
    struct range r;
    static const struct range want[] = {{1000, 1400}, {1500, 1501}, {90000, 99999}};
    for (int i = 0; i < 3; i++) {
        ck_assert(segment_claim(&s, &at, &r));
        ck_assert_uint_eq(r.lo, want[i].lo);
        ck_assert_uint_eq(r.hi, want[i].hi);
    }
    ck_assert(!segment_claim(&s, &at, &r));
}
END_TEST

/* RFC 5326 §3.2: bytes written by hand. */
START_TEST(known_bytes)
{
    static const uint8_t wire[] = {0x03, 0x07, 0x81, 0x00, 0x00, 0x01, 0x85,
                                   0x10, 0x03, 0x09, 0x00, 'a',  'b',  'c'};
    struct ltp_segment s;
    ck_assert_int_eq(segment_parse(&s, wire, sizeof wire), VERDICT_OK);
    ck_assert_uint_eq(s.type, LTP_RED_CP_EOB);
    ck_assert_uint_eq(s.id.originator, 7);
    ck_assert_uint_eq(s.id.number, 128);
    ck_assert_uint_eq(s.client_service, 1);
    ck_assert_uint_eq(s.offset, 656);
    ck_assert_uint_eq(s.cp_serial, 9);
    ck_assert_uint_eq(s.rpt_serial, 0);
    ck_assert(slice_equal(s.data, slice_of("abc", 3)));
}
END_TEST

#define WRONG(text, verdict)                                                                       \
    {                                                                                              \
        text, sizeof text - 1, VERDICT_##verdict                                                   \
    }
static const struct {
    const char *bytes;
    size_t len;
    enum verdict want;
} wrong[] = {
    WRONG("\x05\x01\x01\x00", BAD_TYPE),
    WRONG("\x06\x01\x01\x00", BAD_TYPE),
    WRONG("\x0a\x01\x01\x00", BAD_TYPE),
    WRONG("\x0b\x01\x01\x00", BAD_TYPE),
    WRONG("\x20\x01\x01\x00", BAD_VERSION),
    WRONG("\x0d\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x00", BAD_SDNV),
    WRONG("\x00\x01\x01\x00\x01\x00\x00", BAD_FIELD),          /* no data */
    WRONG("\x03\x01\x01\x00\x01\x00\x01\x00\x00x", BAD_FIELD), /* checkpoint 0 */
    WRONG("\x00\x01\x01\x00\x01\x81\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01x", BAD_FIELD),
    WRONG("\x09\x01\x01\x00\x00", BAD_FIELD),                          /* acknowledges report 0 */
    WRONG("\x08\x01\x01\x00\x00\x01\x05\x00\x00", BAD_FIELD),          /* report 0 */
    WRONG("\x08\x01\x01\x00\x01\x01\x05\x05\x00", BAD_REPORT),         /* no scope */
    WRONG("\x08\x01\x01\x00\x01\x01\x05\x06\x00", BAD_REPORT),         /* upside down */
    WRONG("\x08\x01\x01\x00\x01\x01\x05\x00\x01\x00\x06", BAD_REPORT), /* claim too long */
    WRONG("\x08\x01\x01\x00\x01\x01\x05\x00\x01\x06\x01", BAD_REPORT), /* claim beyond */
    WRONG("\x08\x01\x01\x00\x01\x01\x05\x00\x01\x00\x00", BAD_REPORT), /* claim of nothing */
    WRONG("\x08\x01\x01\x00\x01\x01\x05\x00\x81\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00\x01",
          TRUNCATED), /* more claims than bytes */
};

START_TEST(wrong_forms)
{
    struct ltp_segment s;
    ck_assert_int_eq(segment_parse(&s, (const uint8_t *)wrong[_i].bytes, wrong[_i].len),
                     wrong[_i].want);
}
END_TEST

SUITE(ltp_segment, t)
{
    tcase_add_loop_test(t, there_and_back, 0, TYPES);
    tcase_add_loop_test(t, extensions_are_carried, 0, TYPES);
    tcase_add_test(t, claims);
    tcase_add_test(t, known_bytes);
    tcase_add_loop_test(t, wrong_forms, 0, (int)(sizeof wrong / sizeof *wrong));
}
