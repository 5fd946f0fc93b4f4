/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of the application protocol: streams cut anywhere, payloads in place, limits. */
#include <stdlib.h>
#include <string.h>

#include "node/aap2/aap2_wire.h"
#include "tests/unit/suite.h"

#define PAYLOAD_MAX 100000

/* A stream under construction. */
struct stream {
    uint8_t *bytes;
    size_t len;
};

static void put(struct stream *s, const void *data, size_t n)
{
    s->bytes = realloc(s->bytes, s->len + n);
    memcpy(s->bytes + s->len, data, n);
    s->len += n;
}

static void put_message(struct stream *s, const ProtobufCMessage *m)
{
    static uint8_t out[AAP2_MESSAGE_MAX + 10];
    int n = aap2_pack(m, out, sizeof out);
    ck_assert_int_gt(n, 0);
    put(s, out, (size_t)n);
}

static void put_keepalive(struct stream *s)
{
    Aap2__Keepalive k = AAP2__KEEPALIVE__INIT;
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    m.msg_case = AAP2__AAPMESSAGE__MSG_KEEPALIVE;
    m.keepalive = &k;
    put_message(s, &m.base);
}

static uint8_t pattern(uint64_t seq, size_t i)
{
    return (uint8_t)(seq * 31 + i * 7);
}

static void put_adu(struct stream *s, uint64_t seq, size_t len)
{
    Aap2__BundleADU a = AAP2__BUNDLE_ADU__INIT;
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    char dst[] = "ipn:2.2000";
    a.dst_eid = dst;
    a.sequence_number = seq;
    a.payload_length = len;
    m.msg_case = AAP2__AAPMESSAGE__MSG_ADU;
    m.adu = &a;
    put_message(s, &m.base);
    for (size_t i = 0; i < len; i++) {
        uint8_t b = pattern(seq, i);
        put(s, &b, 1);
    }
}

/* Offers at most `want` bytes of the stream from *at; returns how many were taken. */
static size_t offer(struct aap2_reader *r, const struct stream *s, size_t *at, size_t want)
{
    size_t room;
    uint8_t *p = aap2_reader_space(r, &room);
    ck_assert_ptr_nonnull(p);
    ck_assert_uint_gt(room, 0);
    size_t n = s->len - *at < want ? s->len - *at : want;
    n = n < room ? n : room;
    memcpy(p, s->bytes + *at, n);
    *at += n;
    return n;
}

static void check_adu(const Aap2__AAPMessage *m, struct buf *b, uint64_t seq, size_t len)
{
    ck_assert_int_eq(m->msg_case, AAP2__AAPMESSAGE__MSG_ADU);
    ck_assert_uint_eq(m->adu->sequence_number, seq);
    ck_assert_ptr_nonnull(b);
    ck_assert_uint_eq(b->len, len);
    ck_assert_uint_eq(b->off, 40);
    ck_assert_uint_eq(buf_tailroom(b), 16);
    for (size_t i = 0; i < len; i++)
        ck_assert_uint_eq(buf_data(b)[i], pattern(seq, i));
}

/* Reads keepalive, ADU 1 (empty), ADU 2 (700 bytes), keepalive; pieces of `first`, then `rest`. */
static void read_mixed(const struct stream *s, size_t first, size_t rest)
{
    struct aap2_reader r;
    Aap2__AAPMessage *m;
    Aap2__AAPResponse *a;
    struct buf *b;
    size_t at = 0, piece = first;
    int seen = 0;
    aap2_reader_init(&r, false, 40, 16, PAYLOAD_MAX);
    while (at < s->len) {
        size_t n = offer(&r, s, &at, piece);
        piece = rest;
        while (aap2_reader_fed(&r, n, &m, &a, &b) == 1) {
            n = 0;
            seen++;
            ck_assert_ptr_null(a);
            if (seen == 2 || seen == 3)
                check_adu(m, b, (uint64_t)seen - 1, seen == 2 ? 0 : 700);
            else
                ck_assert_int_eq(m->msg_case, AAP2__AAPMESSAGE__MSG_KEEPALIVE);
            buf_drop(b);
            aap2_message_free(m);
        }
        ck_assert_int_eq(r.error, 0);
    }
    ck_assert_int_eq(seen, 4);
    aap2_reader_fini(&r);
}

START_TEST(cut_at_every_byte)
{
    struct stream s = {0};
    put_keepalive(&s);
    put_adu(&s, 1, 0);
    put_adu(&s, 2, 700);
    put_keepalive(&s);
    for (size_t cut = 1; cut < s.len; cut++)
        read_mixed(&s, cut, s.len);
    for (size_t piece = 1; piece < 64; piece++)
        read_mixed(&s, piece, piece);
    free(s.bytes);
}
END_TEST

static size_t find_head_room(const struct aap2_reader *r, const Aap2__BundleADU *m)
{
    return r->head_room / 2 + (size_t)m->payload_length;
}

START_TEST(head_room_of_each_message)
{
    struct stream s = {0};
    struct aap2_reader r;
    Aap2__AAPMessage *m;
    Aap2__AAPResponse *a;
    struct buf *b;
    size_t at = 0;
    put_adu(&s, 2, 700);
    aap2_reader_init(&r, false, 40, 16, PAYLOAD_MAX);
    r.find_head_room = find_head_room;
    while (aap2_reader_fed(&r, offer(&r, &s, &at, s.len), &m, &a, &b) == 0)
        continue;
    ck_assert_uint_eq(b->off, 720);
    ck_assert_uint_eq(b->len, 700);
    ck_assert_uint_ge(buf_tailroom(b), 16);
    buf_drop(b);
    aap2_message_free(m);
    aap2_reader_fini(&r);
    free(s.bytes);
}
END_TEST

START_TEST(a_stream_that_ends_early_gives_nothing_and_leaks_nothing)
{
    struct stream s = {0};
    put_adu(&s, 2, 300);
    for (size_t len = 0; len < s.len; len++) {
        struct aap2_reader r;
        struct stream part = {s.bytes, len};
        Aap2__AAPMessage *m;
        Aap2__AAPResponse *a;
        struct buf *b;
        size_t at = 0;
        aap2_reader_init(&r, false, 0, 0, PAYLOAD_MAX);
        while (at < len)
            ck_assert_int_eq(aap2_reader_fed(&r, offer(&r, &part, &at, len), &m, &a, &b), 0);
        aap2_reader_fini(&r);
    }
    free(s.bytes);
}
END_TEST

START_TEST(a_long_payload_is_read_in_place)
{
    struct aap2_reader r;
    struct stream s = {0};
    Aap2__AAPMessage *m;
    Aap2__AAPResponse *a;
    struct buf *b;
    size_t at = 0, room;
    put_adu(&s, 9, 50000);
    aap2_reader_init(&r, false, 40, 16, PAYLOAD_MAX);
    ck_assert_int_eq(aap2_reader_fed(&r, offer(&r, &s, &at, s.len), &m, &a, &b), 0);
    uint8_t *space = aap2_reader_space(&r, &room);
    ck_assert_uint_eq(room, s.len - at);
    memcpy(space, s.bytes + at, room);
    ck_assert_int_eq(aap2_reader_fed(&r, room, &m, &a, &b), 1);
    check_adu(m, b, 9, 50000);
    ck_assert_ptr_eq(buf_data(b) + b->len - room, space);
    buf_drop(b);
    aap2_message_free(m);
    aap2_reader_fini(&r);
    free(s.bytes);
}
END_TEST

START_TEST(many_responses_in_one_read)
{
    struct aap2_reader r;
    struct stream s = {0};
    Aap2__AAPMessage *m;
    Aap2__AAPResponse *a;
    struct buf *b;
    Aap2__AAPResponse out = AAP2__AAPRESPONSE__INIT;
    for (int i = 0; i < 500; i++) {
        out.response_status = i % 2 != 0 ? AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS
                                         : AAP2__RESPONSE_STATUS__RESPONSE_STATUS_ERROR;
        put_message(&s, &out.base);
    }
    aap2_reader_init(&r, true, 0, 0, 0);
    size_t at = 0, n = offer(&r, &s, &at, s.len);
    ck_assert_uint_eq(at, s.len);
    for (int i = 0; i < 500; i++) {
        ck_assert_int_eq(aap2_reader_fed(&r, i == 0 ? n : 0, &m, &a, &b), 1);
        ck_assert_int_eq(a->response_status, i % 2 != 0 ? 1 : 8);
        aap2_response_free(a);
    }
    ck_assert_int_eq(aap2_reader_fed(&r, 0, &m, &a, &b), 0);
    aap2_reader_fini(&r);
    free(s.bytes);
}
END_TEST

/* The verdict on a whole stream. */
static int verdict(const void *bytes, size_t len, bool responses)
{
    struct aap2_reader r;
    struct stream s = {(uint8_t *)bytes, len};
    Aap2__AAPMessage *m;
    Aap2__AAPResponse *a;
    struct buf *b;
    size_t at = 0;
    int rc = 0;
    aap2_reader_init(&r, responses, 0, 0, PAYLOAD_MAX);
    while (at < len && rc == 0)
        rc = aap2_reader_fed(&r, offer(&r, &s, &at, len), &m, &a, &b);
    if (rc < 0) {
        ck_assert_int_eq(aap2_reader_fed(&r, 0, &m, &a, &b), rc);
        ck_assert_ptr_null(aap2_reader_space(&r, &at));
    }
    if (m != NULL)
        aap2_message_free(m);
    if (a != NULL)
        aap2_response_free(a);
    buf_drop(b);
    aap2_reader_fini(&r);
    return rc;
}

START_TEST(limits_of_lengths)
{
    /* 65537 = 0x81 0x80 0x04 is one too long; an 11-byte varint; a value above 2^64 */
    ck_assert_int_eq(verdict("\x81\x80\x04", 3, false), HELIO_EFORMAT);
    ck_assert_int_eq(verdict("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, false),
                     HELIO_EFORMAT);
    ck_assert_int_eq(verdict("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 10, false), HELIO_EFORMAT);
    ck_assert_int_eq(verdict("\x80\x80\x04", 3, false), 0); /* 65536 is allowed, and waits */
    ck_assert_int_eq(verdict("\x80\x80\x00", 3, true), 1);  /* an empty message is a message */
}
END_TEST

START_TEST(not_protobuf)
{
    ck_assert_int_eq(verdict("\x02\xff\xff", 3, false), HELIO_EFORMAT);
    ck_assert_int_eq(verdict("\x02\xff\xff", 3, true), HELIO_EFORMAT);
    ck_assert_int_eq(verdict("\x02\x1a\x05", 3, false), HELIO_EFORMAT); /* inner length too long */
}
END_TEST

START_TEST(payload_limit)
{
    struct stream s = {0};
    put_adu(&s, 1, PAYLOAD_MAX);
    ck_assert_int_eq(verdict(s.bytes, s.len, false), 1);
    free(s.bytes);
    s = (struct stream){0};
    put_adu(&s, 1, PAYLOAD_MAX + 1);
    ck_assert_int_eq(verdict(s.bytes, s.len, false), HELIO_EFORMAT);
    free(s.bytes);
}
END_TEST

/* Cut anywhere, what is too long is skipped, and the next message is whole. */
START_TEST(too_long_is_skipped)
{
    struct stream s = {0};
    put_adu(&s, 1, PAYLOAD_MAX + 1);
    const size_t first = s.len;
    put_adu(&s, 2, 300);
    for (size_t piece = 1; piece <= first; piece += 1 + piece / 3) {
        struct aap2_reader r;
        Aap2__AAPMessage *m;
        Aap2__AAPResponse *a;
        struct buf *b;
        size_t at = 0, n = 0;
        aap2_reader_init(&r, false, 40, 16, PAYLOAD_MAX);
        r.skips_long = true;
        while (n < 2) {
            size_t fed = at < s.len ? offer(&r, &s, &at, piece) : 0;
            for (int rc; (rc = aap2_reader_fed(&r, fed, &m, &a, &b)) != 0; fed = 0) {
                ck_assert_int_eq(rc, 1);
                ck_assert_uint_eq(m->adu->payload_length, n == 0 ? PAYLOAD_MAX + 1 : 300);
                ck_assert_uint_eq(b->len, n == 0 ? 0 : 300);
                n++;
                buf_drop(b);
                aap2_message_free(m);
            }
        }
        ck_assert_uint_eq(at, s.len);
        aap2_reader_fini(&r);
    }
    free(s.bytes);
}
END_TEST

START_TEST(a_message_longer_than_the_read_ahead)
{
    static char text[AAP2_MESSAGE_MAX + 100];
    static uint8_t out[AAP2_MESSAGE_MAX + 200];
    Aap2__AAPResponse m = AAP2__AAPRESPONSE__INIT;
    memset(text, 'x', sizeof text);
    text[AAP2_MESSAGE_MAX - 5] = 0;
    m.text = text;
    int n = aap2_pack(&m.base, out, sizeof out);
    ck_assert_int_eq(n, AAP2_MESSAGE_MAX + 3);
    ck_assert_int_eq(verdict(out, (size_t)n, true), 1);
    ck_assert_int_eq(aap2_pack(&m.base, out, (size_t)n - 1), HELIO_ESPACE);
    text[AAP2_MESSAGE_MAX - 5] = 'x';
    text[AAP2_MESSAGE_MAX - 4] = 0;
    ck_assert_int_eq(aap2_pack(&m.base, out, sizeof out), HELIO_ESPACE);
}
END_TEST

SUITE(tools_aap2, t)
{
    tcase_add_test(t, cut_at_every_byte);
    tcase_add_test(t, head_room_of_each_message);
    tcase_add_test(t, a_stream_that_ends_early_gives_nothing_and_leaks_nothing);
    tcase_add_test(t, a_long_payload_is_read_in_place);
    tcase_add_test(t, many_responses_in_one_read);
    tcase_add_test(t, limits_of_lengths);
    tcase_add_test(t, not_protobuf);
    tcase_add_test(t, payload_limit);
    tcase_add_test(t, too_long_is_skipped);
    tcase_add_test(t, a_message_longer_than_the_read_ahead);
}
