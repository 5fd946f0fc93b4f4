/* SPDX-License-Identifier: Apache-2.0 */
/* The framing of STCP and MTCP by itself: heads, input in any pieces, and what ends a connection.
 */
#include <stdlib.h>
#include <string.h>

#include "cla/stream/streamcl_frame.h"
#include "tests/unit/suite.h"

#define MAX 100000u

static const uint64_t lengths[] = {1, 2, 23, 24, 255, 256, 4000, 40000, 65535, 65536, MAX};
#define LENGTHS (sizeof lengths / sizeof lengths[0])

static uint8_t octet_at(uint64_t bundle, size_t at)
{
    return (uint8_t)(bundle * 31 + at * 7 + at / 251);
}

struct stream {
    uint8_t *data;
    size_t len;
};

/* All lengths, with a keepalive behind each. */
static struct stream make_stream(enum streamcl_framing f)
{
    struct stream s = {malloc(400000), 0};
    for (size_t i = 0; i < LENGTHS; i++) {
        s.len += streamcl_head(f, lengths[i], s.data + s.len);
        for (size_t k = 0; k < lengths[i]; k++)
            s.data[s.len++] = octet_at(i, k);
        s.len += streamcl_head(f, 0, s.data + s.len);
    }
    return s;
}

struct seen {
    size_t bundles, keepalives, skipped;
    enum streamcl_step last;
};

static void check_bundle(struct buf *b, size_t number)
{
    ck_assert_uint_eq(b->len, lengths[number]);
    for (size_t k = 0; k < b->len; k++)
        if (buf_data(b)[k] != octet_at(number, k))
            ck_abort_msg("bundle %zu, octet %zu", number, k);
    buf_drop(b);
}

static void take_steps(struct streamcl_input *in, struct seen *seen)
{
    struct buf *b = NULL;
    while ((seen->last = streamcl_next(in, &b)) != STREAMCL_MORE) {
        streamcl_input_check(in);
        if (seen->last == STREAMCL_BUNDLE)
            check_bundle(b, seen->bundles++);
        else if (seen->last == STREAMCL_KEEPALIVE)
            seen->keepalives++;
        else if (seen->last == STREAMCL_SKIPPED)
            seen->skipped++;
        else
            return;
    }
    streamcl_input_check(in);
}

/* In pieces of `first` octets, then of `piece`. */
static struct seen feed(struct streamcl_input *in, const uint8_t *data, size_t len, size_t first,
                        size_t piece)
{
    struct seen seen = {0};
    size_t at = 0, want = first;
    while (at < len) {
        size_t room = 0;
        uint8_t *to = streamcl_space(in, &room);
        ck_assert_uint_ge(room, 1);
        size_t n = want < room ? want : room;
        n = n < len - at ? n : len - at;
        memcpy(to, data + at, n);
        at += n;
        streamcl_fed(in, n);
        take_steps(in, &seen);
        if (seen.last != STREAMCL_MORE)
            break;
        want = piece;
    }
    return seen;
}

static struct streamcl_input *input_new(enum streamcl_framing f, uint64_t max)
{
    struct streamcl_input *in = malloc(sizeof *in);
    streamcl_input_init(in, f, max);
    return in;
}

static void input_free(struct streamcl_input *in)
{
    streamcl_input_fini(in);
    free(in);
}

START_TEST(heads)
{
    static const struct {
        uint64_t length;
        size_t octets;
        uint8_t mtcp[9];
    } of[] = {{0, 1, {0x40}},
              {23, 1, {0x57}},
              {24, 2, {0x58, 24}},
              {255, 2, {0x58, 255}},
              {256, 3, {0x59, 1, 0}},
              {65536, 5, {0x5a, 0, 1, 0, 0}},
              {UINT64_C(1) << 32, 9, {0x5b, 0, 0, 0, 1, 0, 0, 0, 0}}};
    uint8_t out[STREAMCL_HEAD_MAX];
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        ck_assert_uint_eq(streamcl_head(STREAMCL_MTCP, of[i].length, out), of[i].octets);
        ck_assert_mem_eq(out, of[i].mtcp, of[i].octets);
    }
    ck_assert_uint_eq(streamcl_head(STREAMCL_STCP, 0x01020304, out), 4);
    ck_assert_mem_eq(out, "\1\2\3\4", 4);
}
END_TEST

/* One split at every octet of the first bundles, and pieces of every short length. */
START_TEST(every_split)
{
    const enum streamcl_framing f = (enum streamcl_framing)_i;
    struct stream s = make_stream(f);
    for (size_t first = 1; first < 5200; first++) {
        struct streamcl_input *in = input_new(f, MAX);
        const struct seen seen = feed(in, s.data, 5200, first, SIZE_MAX);
        ck_assert_uint_eq(seen.bundles, 7); /* up to that of 4000 */
        ck_assert_uint_eq(seen.keepalives, 7);
        input_free(in);
    }
    for (size_t piece = 1; piece < 40; piece++) {
        struct streamcl_input *in = input_new(f, MAX);
        const struct seen seen = feed(in, s.data, s.len, piece, piece);
        ck_assert_uint_eq(seen.bundles, LENGTHS);
        ck_assert_uint_eq(seen.keepalives, LENGTHS);
        ck_assert(!streamcl_within(in));
        input_free(in);
    }
    free(s.data);
}
END_TEST

/* The limit holds for what is announced, and nothing is allocated for it. */
START_TEST(too_long)
{
    static const struct {
        enum streamcl_framing f;
        const char *octets;
        size_t len;
        enum streamcl_step step;
    } of[] = {{STREAMCL_STCP, "\xff\xff\xff\xff", 4, STREAMCL_TOO_LONG},
              {STREAMCL_STCP, "\x80\0\0\0", 4, STREAMCL_TOO_LONG},
              {STREAMCL_STCP, "GET / HTTP/1.1\r\n", 16, STREAMCL_TOO_LONG},
              {STREAMCL_STCP, "\0\1\x86\xa1", 4, STREAMCL_TOO_LONG}, /* MAX + 1 */
              {STREAMCL_STCP, "\0\1\x86\xa0", 4, STREAMCL_MORE},     /* MAX */
              {STREAMCL_MTCP, "\x5b\xff\xff\xff\xff\xff\xff\xff\xff", 9, STREAMCL_TOO_LONG},
              {STREAMCL_MTCP, "\x5b\x80\0\0\0\0\0\0\0", 9, STREAMCL_TOO_LONG},
              {STREAMCL_MTCP, "\x5a\0\1\x86\xa1", 5, STREAMCL_TOO_LONG},
              {STREAMCL_MTCP, "\x5a\0\1\x86\xa0", 5, STREAMCL_MORE},
              {STREAMCL_MTCP, "\x5b\0\0\0\0\0\0\0\1", 9, STREAMCL_MORE}, /* longer than needed */
              {STREAMCL_MTCP, "\x58\0", 2, STREAMCL_MORE},               /* a keepalive */
              {STREAMCL_MTCP, "\x5f", 1, STREAMCL_MALFORMED},            /* indefinite */
              {STREAMCL_MTCP, "\x5c", 1, STREAMCL_MALFORMED},            /* reserved */
              {STREAMCL_MTCP, "\x5d", 1, STREAMCL_MALFORMED},
              {STREAMCL_MTCP, "\x5e", 1, STREAMCL_MALFORMED},
              {STREAMCL_MTCP, "\x9f", 1, STREAMCL_MALFORMED}, /* a bundle without its head */
              {STREAMCL_MTCP, "\x00", 1, STREAMCL_MALFORMED},
              {STREAMCL_MTCP, "\x60", 1, STREAMCL_MALFORMED}, /* a text */
              {STREAMCL_MTCP, "\x38\x20", 2, STREAMCL_MALFORMED}};
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        struct streamcl_input *in = input_new(of[i].f, MAX);
        const struct seen seen = feed(in, (const uint8_t *)of[i].octets, of[i].len, 1, 1);
        ck_assert_msg(seen.last == of[i].step, "%zu: step %d", i, (int)seen.last);
        ck_assert_uint_eq(streamcl_held(in), 0);
        ck_assert_uint_eq(seen.bundles, 0);
        input_free(in);
    }
}
END_TEST

/* The memory of a bundle that arrives is what has come. */
START_TEST(memory_by_what_came)
{
    uint8_t head[STREAMCL_HEAD_MAX];
    struct streamcl_input *in = input_new(STREAMCL_STCP, STREAMCL_STCP_MAX);
    const size_t len = streamcl_head(STREAMCL_STCP, STREAMCL_STCP_MAX, head);
    ck_assert_int_eq(feed(in, head, len, len, len).last, STREAMCL_MORE);
    ck_assert_uint_eq(streamcl_held(in), 0);
    ck_assert(streamcl_within(in));
    ck_assert_int_eq(feed(in, head, 4, 1, 3).last, STREAMCL_MORE);
    ck_assert_uint_eq(streamcl_held(in), 4);
    ck_assert_uint_le(in->bundle->cap, 1 << 20);
    input_free(in);
}
END_TEST

/* A bundle for which there is no room is dropped, and the next one is whole. */
START_TEST(shed)
{
    for (int f = STREAMCL_STCP; f <= STREAMCL_MTCP; f++) {
        struct stream s = make_stream((enum streamcl_framing)f);
        struct streamcl_input *in = input_new((enum streamcl_framing)f, MAX);
        uint8_t head[STREAMCL_HEAD_MAX];
        size_t len = streamcl_head((enum streamcl_framing)f, 50000, head);
        ck_assert_int_eq(feed(in, head, len, len, len).last, STREAMCL_MORE);
        ck_assert_int_eq(feed(in, s.data, 20000, 20000, 20000).last, STREAMCL_MORE);
        ck_assert_uint_eq(streamcl_held(in), 20000);
        streamcl_shed(in);
        ck_assert_uint_eq(streamcl_held(in), 0);
        struct seen seen = feed(in, s.data, 30000, 7, 20000);
        ck_assert_uint_eq(seen.skipped, 1);
        ck_assert(!streamcl_within(in));
        seen = feed(in, s.data, s.len, 100, 30000);
        ck_assert_uint_eq(seen.bundles, LENGTHS);
        streamcl_shed(in); /* nothing arrives */
        ck_assert(!streamcl_within(in));
        input_free(in);
        free(s.data);
    }
}
END_TEST

SUITE(cla_streamcl_frame, t)
{
    tcase_add_test(t, heads);
    tcase_add_loop_test(t, every_split, STREAMCL_STCP, STREAMCL_MTCP + 1);
    tcase_add_test(t, too_long);
    tcase_add_test(t, memory_by_what_came);
    tcase_add_test(t, shed);
    tcase_set_timeout(t, 300);
}
