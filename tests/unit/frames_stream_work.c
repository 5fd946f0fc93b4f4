/* SPDX-License-Identifier: Apache-2.0 */
/* CLTUs in octets that an attacker chose: what they cost, counted in codeblocks that are decoded;
 * and which ones are found, against a reader that decodes anew from each start sequence. */
#include <string.h>

#include "base/rng.h"
#include "frames/cltu.h"
#include "frames/frame_stream.h"
#include "tests/unit/suite.h"

enum bch_result __real_bch_decode(const uint8_t *codeblock, enum bch_mode mode,
                                  uint8_t *information);
enum bch_result __wrap_bch_decode(const uint8_t *codeblock, enum bch_mode mode,
                                  uint8_t *information);

static uint64_t decoded;

enum bch_result __wrap_bch_decode(const uint8_t *codeblock, enum bch_mode mode,
                                  uint8_t *information)
{
    decoded++;
    return __real_bch_decode(codeblock, mode, information);
}

enum { OCTETS = 1 << 16, ROOM = 4096 };

static uint8_t octets[OCTETS], buffer[ROOM];

struct place {
    size_t at, len;
};

/* The frames of the octets, which come in pieces of `piece`. */
static size_t read_all(size_t len, uint32_t length, size_t piece, struct place *out)
{
    struct frame_stream s;
    struct slice frame;
    size_t found = 0;
    frame_stream_init(&s, FRAME_STREAM_CLTU, length, buffer, ROOM);
    for (size_t at = 0, n; at < len; at += n) {
        size_t room;
        uint8_t *to = frame_stream_space(&s, &room);
        n = piece < room ? piece : room;
        n = n < len - at ? n : len - at;
        memcpy(to, octets + at, n);
        frame_stream_fed(&s, n);
        (void)frame_stream_ready(&s);
        while (frame_stream_next(&s, &frame)) {
            const size_t left = s.have - (size_t)(frame.data - buffer);
            out[found++] = (struct place){at + n - left, frame.len};
        }
    }
    return found;
}

/* Start sequences at every second octet, behind each of which all codeblocks are accepted: an octet
 * is in a few codeblocks that are decoded, each once, however the octets come. */
START_TEST(hostile_octets_are_decoded_once)
{
    static const size_t pieces[] = {1, 7, 1000, ROOM};
    static struct place found[OCTETS];
    for (size_t i = 0; i < OCTETS; i++)
        octets[i] = i % 2 == 0 ? 0xeb : 0x90;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        decoded = 0;
        ck_assert_uint_eq(read_all(OCTETS, FRAME_TC_MAX, pieces[i], found), 0);
        ck_assert_uint_gt(decoded, 0);
        ck_assert_uint_le(decoded, OCTETS);
    }
}
END_TEST

/* As long as a frame of `length` may be, from each start sequence anew. */
static size_t read_plainly(size_t len, uint32_t length, struct place *out)
{
    static uint8_t information[OCTETS];
    const size_t longest = cltu_size(length);
    size_t found = 0;
    for (size_t at = 0; at + 1 < len;) {
        struct cltu c;
        const size_t look = len - at < longest + 1 ? len - at : longest + 1;
        if (octets[at] != 0xeb || octets[at + 1] != 0x90) {
            at++;
            continue;
        }
        const enum cltu_verdict v =
            cltu_read(octets + at, look, BCH_CORRECT, false, information, sizeof information, &c);
        if (v == CLTU_NO_TAIL && look < longest)
            break;
        if (v == CLTU_OK)
            out[found++] = (struct place){at, c.used};
        at += v == CLTU_OK ? c.used : CLTU_START_LEN;
    }
    return found;
}

/* CLTUs, parts of them, start sequences and noise. */
static size_t write_mixture(struct rng *rng)
{
    uint8_t data[100];
    size_t len = 0;
    while (len < OCTETS - 512) {
        const size_t n = 1 + rng_below(rng, sizeof data);
        uint8_t *to = octets + len;
        for (size_t i = 0; i < n; i++)
            data[i] = (uint8_t)rng_u64(rng);
        switch (rng_below(rng, 4)) {
        case 0:
            memcpy(to, data, n);
            len += n;
            break;
        case 1:
            for (size_t i = 0; i < n; i++)
                to[i] = i % 2 == 0 ? 0xeb : 0x90;
            len += n;
            break;
        default:
            len += cltu_write(data, n, false, to, OCTETS - len);
            to[rng_below(rng, (uint64_t)(octets + len - to))] ^= (uint8_t)(1U << rng_below(rng, 8));
            len -= rng_below(rng, 4) == 0 ? rng_below(rng, CLTU_TAIL_LEN + 1) : 0;
            break;
        }
    }
    return len;
}

START_TEST(the_same_are_found)
{
    static struct place found[OCTETS], expected[OCTETS];
    struct rng rng;
    rng_init(&rng, (uint64_t)_i);
    const size_t len = write_mixture(&rng);
    const uint32_t length = 6 + (uint32_t)rng_below(&rng, 150);
    const size_t n = read_plainly(len, length, expected);
    ck_assert_uint_gt(n, 10);
    ck_assert_uint_eq(read_all(len, length, 1 + rng_below(&rng, 600), found), n);
    for (size_t i = 0; i < n; i++)
        ck_assert(found[i].at == expected[i].at && found[i].len == expected[i].len);
}
END_TEST

SUITE(frames_stream_work, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, hostile_octets_are_decoded_once);
    tcase_add_loop_test(t, the_same_are_found, 0, 50);
}
