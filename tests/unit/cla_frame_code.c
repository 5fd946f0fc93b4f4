/* SPDX-License-Identifier: Apache-2.0 */
/* Channel access data units of a link: frames become units, and come out of a stream of octets that
 * was cut, joined, shifted, inverted and damaged. What comes out was sent, in its order. */
#include <stdlib.h>

#include "base/rng.h"
#include "cla/framed/frame_code.h"
#include "frames/fecf.h"
#include "tests/unit/suite.h"

enum { FRAME_MAX = 1600, UNITS = 120, STREAM_MAX = UNITS * 2200 };

static const struct config {
    struct frame_code_config code;
    uint32_t frame_len, unit_len;
} configs[] = {
    {{.kind = FRAME_CODE_UNCODED, .marker_errors = 4}, 300, 304},
    {{.kind = FRAME_CODE_UNCODED, .randomiser = FRAME_CODE_LONG}, 1115, 1119},
    {{FRAME_CODE_RS_223, 5, RS_DUAL, FRAME_CODE_SHORT, CADU_MARKER_32, 4, false, 0},
     1115,
     4 + 1275},
    {{FRAME_CODE_RS_223, 1, RS_CONVENTIONAL, FRAME_CODE_PLAIN, CADU_MARKER_32, 8, false, 0},
     100,
     4 + 132},
    {{FRAME_CODE_RS_239, 8, RS_DUAL, FRAME_CODE_LONG, CADU_MARKER_64, 2, false, 0},
     1600,
     8 + 1600 + 128},
    {{FRAME_CODE_LDPC_1_2, 5, RS_DUAL, FRAME_CODE_SHORT, CADU_MARKER_64, 8, false, 0},
     128,
     8 + 256},
    {{FRAME_CODE_LDPC_2_3, 5, RS_DUAL, FRAME_CODE_LONG, CADU_MARKER_64, 4, false, 0}, 512, 8 + 768},
    {{FRAME_CODE_LDPC_4_5, 5, RS_DUAL, FRAME_CODE_PLAIN, CADU_MARKER_64, 4, false, 0},
     512,
     8 + 640},
    {{FRAME_CODE_LDPC_7_8, 5, RS_DUAL, FRAME_CODE_SHORT, CADU_MARKER_32, 4, false, 0},
     892,
     4 + 1020},
    {{FRAME_CODE_TURBO_1_2, 5, RS_DUAL, FRAME_CODE_SHORT, CADU_MARKER_64, 8, false, 0},
     223,
     8 + 447},
    {{FRAME_CODE_TURBO_1_4, 5, RS_DUAL, FRAME_CODE_LONG, CADU_MARKER_128, 8, false, 0},
     223,
     16 + 894},
    {{FRAME_CODE_TURBO_1_6, 5, RS_DUAL, FRAME_CODE_PLAIN, CADU_MARKER_192, 4, false, 0},
     223,
     24 + 1341},
};
enum { CONFIGS = sizeof configs / sizeof configs[0], LDPC_FIRST = 5, TURBO_FIRST = 9 };
static const struct config *usual = &configs[2];

static struct rng rng;
/* The stream, bit by bit. */
static uint8_t stream[STREAM_MAX];
static size_t stream_bits;
static struct frame_code *writer, *reader;

static void begin(const struct config *c)
{
    writer = frame_code_new(&c->code, c->frame_len);
    reader = frame_code_new(&c->code, c->frame_len);
    ck_assert(writer != NULL && reader != NULL);
    stream_bits = 0;
}

static void end(void)
{
    frame_code_free(writer);
    frame_code_free(reader);
}

static void put_bits(const uint8_t *data, size_t n, bool inverted)
{
    ck_assert_uint_le(stream_bits + n, 8 * (size_t)STREAM_MAX);
    for (size_t i = 0; i < n; i++, stream_bits++) {
        unsigned bit = (data[i / 8] >> (7 - i % 8) & 1) ^ inverted, at = 7 - stream_bits % 8;
        uint8_t *to = &stream[stream_bits / 8];
        *to = (uint8_t)((*to & ~(1U << at)) | bit << at);
    }
}

static void put_noise(size_t bits)
{
    for (size_t i = 0; i < bits; i++) {
        uint8_t bit = rng_chance(&rng, 0.5) ? 0x80 : 0;
        put_bits(&bit, 1, false);
    }
}

/* Frame n: drawn octets, behind n. */
static void make_frame(uint32_t n, uint8_t *out, size_t len)
{
    struct rng r;
    rng_init(&r, n);
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)rng_u64(&r);
    out[0] = (uint8_t)n;
    const uint16_t check = fecf_crc(FECF_INIT, out, len - 2); /* the turbo decoder looks at it */
    out[len - 2] = (uint8_t)(check >> 8);
    out[len - 1] = (uint8_t)check;
}

/* Where its first bit is. */
static size_t put_unit(const struct config *c, uint32_t n, bool inverted)
{
    uint8_t frame[FRAME_MAX];
    size_t at = stream_bits;
    make_frame(n, frame, c->frame_len);
    struct slice unit = frame_code_write(writer, slice_of(frame, c->frame_len));
    ck_assert_uint_eq(unit.len, c->unit_len);
    put_bits(unit.data, 8 * unit.len, inverted);
    return at;
}

/* In pieces of up to `most` octets; which[n]: frame n came. */
static size_t read_stream(const struct config *c, size_t most, bool *which)
{
    size_t len = (stream_bits + 7) / 8, got = 0;
    uint32_t next = 0;
    memset(which, 0, UNITS);
    for (size_t at = 0, n; at < len; at += n) {
        struct slice frame;
        n = rng_below(&rng, most + 1);
        n = n < len - at ? n : len - at;
        uint8_t *piece = malloc(n + 1); /* so that a sanitizer sees its end */
        memcpy(piece, stream + at, n);
        frame_code_feed(reader, slice_of(piece, n));
        enum frame_code_result r;
        while ((r = frame_code_next(reader, &frame)) != FRAME_CODE_NONE) {
            if (r == FRAME_CODE_WORK)
                continue;
            uint8_t want[FRAME_MAX];
            ck_assert_uint_eq(frame.len, c->frame_len);
            do {
                ck_assert_msg(next < UNITS, "what was never sent, or out of order");
                make_frame(next++, want, c->frame_len);
            } while (memcmp(want, frame.data, frame.len) != 0);
            which[next - 1] = true;
            got++;
        }
        free(piece);
    }
    return got;
}

static void flip_octet(size_t bit, uint8_t mask)
{
    uint16_t wide = (uint16_t)(mask << (8 - bit % 8));
    stream[bit / 8] ^= (uint8_t)(wide >> 8);
    stream[bit / 8 + 1] ^= (uint8_t)(wide & 0xff);
}

/* A unit is what frames/cadu.h writes, which others read. */
START_TEST(units)
{
    for (size_t i = 0; i < CONFIGS; i++) {
        const struct config *c = &configs[i];
        uint8_t frame[FRAME_MAX], unit[FRAME_MAX + 300];
        static struct rs rs;
        static struct cadu_ldpc ldpc;
        static struct cadu_turbo turbo;
        static const enum turbo_rate rates[] = {TURBO_1_2, TURBO_1_4, TURBO_1_6};
        const bool is_ldpc = i >= LDPC_FIRST && i < TURBO_FIRST, is_turbo = i >= TURBO_FIRST;
        const bool has_rs = c->code.kind != FRAME_CODE_UNCODED && !is_ldpc && !is_turbo;
        struct cadu_format f = {.frame_len = c->frame_len,
                                .rs = has_rs ? &rs : NULL,
                                .ldpc = is_ldpc ? &ldpc : NULL,
                                .turbo = is_turbo ? &turbo : NULL,
                                .depth = c->code.interleave,
                                .randomised = c->code.randomiser != FRAME_CODE_PLAIN,
                                .sequence =
                                    c->code.randomiser == FRAME_CODE_LONG ? PN_TM_LONG : PN_TM,
                                .marker = c->code.marker};
        begin(c);
        if (is_ldpc)
            ldpc_init(&ldpc.code, (enum ldpc_rate)(i - LDPC_FIRST), 8 * c->frame_len);
        if (is_turbo)
            turbo_init(&turbo.code, rates[i - TURBO_FIRST], 8 * c->frame_len);
        rs_init(&rs, c->code.kind == FRAME_CODE_RS_239 ? RS_255_239 : RS_255_223, c->code.basis);
        make_frame(3, frame, c->frame_len);
        struct slice written = frame_code_write(writer, slice_of(frame, c->frame_len));
        cadu_write(&f, frame, unit);
        ck_assert_uint_eq(written.len, cadu_len(&f));
        ck_assert_mem_eq(written.data, unit, written.len);
        ck_assert_uint_eq(frame_code_len(&c->code, c->frame_len), c->unit_len);
        end();
    }
}
END_TEST

/* Datagrams of one unit, several joined, parts of one; connections that give an octet at a time. */
START_TEST(any_pieces)
{
    static const size_t most[] = {1, 7, 1200, 5000, STREAM_MAX};
    bool which[UNITS];
    for (size_t i = 0; i < 5 * CONFIGS; i++) {
        const struct config *c = &configs[i / 5];
        begin(c);
        for (uint32_t n = 0; n < UNITS; n++)
            put_unit(c, n, i % 2 == 0);
        ck_assert_uint_eq(read_stream(c, most[i % 5], which), UNITS);
        const struct cadu_counts *n = frame_code_counts(reader);
        ck_assert(n->frames == UNITS && n->erred == 0 && n->corrected == 0);
        ck_assert(n->sync_losses == 0 && n->skipped_bits == 0);
        end();
    }
}
END_TEST

/* Bits are lost or doubled between units, the polarity changes: no frame is lost. */
START_TEST(slips_and_inversions)
{
    bool which[UNITS], inverted = false;
    uint64_t slips = 0;
    begin(usual);
    put_noise(1001);
    for (uint32_t n = 0; n < UNITS; n++) {
        put_unit(usual, n, inverted);
        inverted ^= rng_chance(&rng, 0.1);
        if (n > 0 && n < UNITS - 1 && rng_chance(&rng, 0.2)) {
            size_t bits = 1 + rng_below(&rng, 4);
            slips++;
            if (rng_chance(&rng, 0.5))
                put_noise(bits);
            else
                stream_bits -= bits;
        }
    }
    ck_assert_uint_eq(read_stream(usual, 3000, which), UNITS);
    const struct cadu_counts *n = frame_code_counts(reader);
    ck_assert_uint_gt(slips, 10);
    ck_assert(n->slips == slips && n->sync_losses == 0 && n->erred == 0 && n->inversions > 3);
    end();
}
END_TEST

/* The same within units: each costs its own frame, and no other. */
START_TEST(slips_within)
{
    bool which[UNITS], inverted = false;
    uint64_t hit = 0;
    begin(usual);
    for (uint32_t n = 0; n < UNITS; n++) {
        size_t at = put_unit(usual, n, inverted);
        if (n % 4 != 2)
            continue;
        uint8_t rest[1279];
        size_t half = at + 8 * (4 + 300 + rng_below(&rng, 500)) + rng_below(&rng, 8);
        int slip = rng_chance(&rng, 0.3) ? 0 : (int)rng_below(&rng, 4) + 1;
        bool lost = slip > 0 && rng_chance(&rng, 0.5);
        size_t from = half + (lost ? (size_t)slip : 0);
        size_t left = at + 8 * (size_t)usual->unit_len - from;
        for (size_t i = 0; i < left; i++) { /* it is written again behind what happens */
            unsigned bit = stream[(from + i) / 8] >> (7 - (from + i) % 8) & 1;
            rest[i / 8] = (uint8_t)((i % 8 == 0 ? 0 : rest[i / 8]) | bit << (7 - i % 8));
        }
        stream_bits = half + (lost ? 0 : (size_t)slip);
        put_bits(rest, left, slip == 0);
        inverted ^= slip == 0;
        hit++;
    }
    ck_assert_uint_eq(read_stream(usual, 3000, which), UNITS - hit);
    for (uint32_t n = 0; n < UNITS; n++)
        ck_assert_int_eq(which[n], n % 4 != 2);
    const struct cadu_counts *n = frame_code_counts(reader);
    ck_assert(n->erred == hit && n->sync_losses == 0 && n->slips > 5 && n->inversions > 2);
    end();
}
END_TEST

/* Octets within a unit are lost: that frame is, and it is erred. The next marker is found: each of
 * the others comes. */
START_TEST(lost_octets)
{
    bool which[UNITS];
    size_t lost = 0;
    begin(usual);
    for (uint32_t n = 0; n < UNITS; n++) {
        put_unit(usual, n, false);
        if (n % 10 == 5) {
            stream_bits -= 8 * (400 + rng_below(&rng, 500));
            lost++;
        }
    }
    size_t got = read_stream(usual, 3000, which);
    const struct cadu_counts *n = frame_code_counts(reader);
    ck_assert_uint_eq(n->sync_losses, lost);
    ck_assert_uint_eq(got, n->frames - n->erred);
    for (uint32_t i = 0; i < UNITS; i++)
        if (i % 10 != 5 &&
            i % 10 != 6) /* whose marker is within what the one before seems to have */
            ck_assert_msg(which[i], "frame %u", i);
    for (uint32_t i = 5; i < UNITS; i += 10)
        ck_assert(!which[i]);
    end();
}
END_TEST

/* Wrong symbols of a codeword, up to what it corrects and beyond. */
START_TEST(damage)
{
    for (size_t i = 2; i < LDPC_FIRST; i++) {
        const struct config *c = &configs[i];
        const unsigned most = c->code.kind == FRAME_CODE_RS_223 ? 16 : 8,
                       depth = c->code.interleave;
        bool which[UNITS], bad[UNITS];
        uint64_t corrected = 0, erred = 0;
        begin(c);
        for (uint32_t n = 0; n < UNITS; n++) {
            size_t body = put_unit(c, n, false) + 8 * cadu_marker_len(c->code.marker);
            unsigned errors = (unsigned)rng_below(&rng, most + 6);
            size_t word = rng_below(&rng, depth), step = (c->frame_len / depth) / (most + 6);
            for (unsigned e = 0; e < errors; e++)
                flip_octet(body + 8 * (word + depth * (e * step)),
                           (uint8_t)(1 + rng_below(&rng, 255)));
            bad[n] = errors > most;
            erred += bad[n];
            corrected += bad[n] ? 0 : errors;
        }
        size_t got = read_stream(c, 2000, which);
        const struct cadu_counts *n = frame_code_counts(reader);
        ck_assert_uint_gt(erred, 0);
        ck_assert_uint_eq(n->frames, UNITS);
        ck_assert_uint_eq(n->erred, erred);
        ck_assert_uint_eq(n->corrected, corrected);
        ck_assert_uint_eq(got, UNITS - erred);
        for (uint32_t k = 0; k < UNITS; k++)
            ck_assert_int_eq(which[k], !bad[k]);
        end();
    }
}
END_TEST

/* LDPC and turbo codes: a share of each unit's bits is wrong, of each fourth far too many. What was
 * decoded is what was sent; the others are counted, and given to nobody. */
START_TEST(block_damage)
{
    static const double shares[] = {0.03, 0.02, 0.004, 0.004, 0.04, 0.1, 0.13};
    for (size_t i = LDPC_FIRST; i < CONFIGS; i++) {
        const struct config *c = &configs[i];
        bool which[UNITS];
        uint64_t wrong = 0;
        begin(c);
        for (uint32_t n = 0; n < UNITS; n++) {
            const size_t body = put_unit(c, n, n % 2 == 1) + 8 * cadu_marker_len(c->code.marker);
            for (size_t b = body; b < stream_bits; b++) {
                if (!rng_chance(&rng, n % 4 == 3 ? 0.3 : shares[i - LDPC_FIRST]))
                    continue;
                stream[b / 8] ^= (uint8_t)(0x80 >> b % 8);
                wrong += n % 4 != 3;
            }
        }
        ck_assert_uint_eq(read_stream(c, 2000, which), UNITS - UNITS / 4);
        for (uint32_t n = 0; n < UNITS; n++)
            ck_assert_int_eq(which[n], n % 4 != 3);
        const struct cadu_counts *n = frame_code_counts(reader);
        ck_assert(n->frames == UNITS && n->erred == UNITS / 4 && n->sync_losses == 0);
        ck_assert_uint_eq(n->codewords_failed, UNITS / 4);
        ck_assert_uint_eq(n->corrected, wrong);
        const uint64_t rounds = i >= TURBO_FIRST ? TURBO_ITERATIONS
                                : c->code.kind == FRAME_CODE_LDPC_7_8
                                    ? LDPC_LOOK /* it stops early */
                                    : LDPC_ITERATIONS;
        ck_assert_uint_ge(n->iterations, UNITS / 4 * rounds);
        end();
    }
}
END_TEST

/* Random bits of all that is behind the first unit are wrong: what comes out is what was sent. */
START_TEST(bit_errors)
{
    static const double shares[] = {1e-4, 1e-3, 6e-3, 0.02};
    bool which[UNITS];
    for (size_t i = 0; i < 4; i++) {
        begin(usual);
        for (uint32_t n = 0; n < UNITS; n++)
            put_unit(usual, n, false);
        for (size_t b = 8 * usual->unit_len; b < stream_bits; b++) /* the first one is found */
            if (rng_chance(&rng, shares[i]))
                stream[b / 8] ^= (uint8_t)(0x80 >> b % 8);
        size_t got = read_stream(usual, 2000, which);
        const struct cadu_counts *n = frame_code_counts(reader);
        ck_assert_uint_eq(got, n->frames - n->erred);
        ck_assert(n->corrected > 0 || got == 1);
        if (i < 2) /* far within what the code corrects */
            ck_assert_uint_eq(got, UNITS);
        if (i == 3) /* far beyond */
            ck_assert_uint_eq(got, 1);
        end();
    }
}
END_TEST

static enum frame_code_result next_frame(struct slice *frame)
{
    enum frame_code_result r = frame_code_next(reader, frame);
    while (r == FRAME_CODE_WORK)
        r = frame_code_next(reader, frame);
    return r;
}

/* Neither the end of a stream nor what lay in it costs a frame of the next one. */
START_TEST(another_stream)
{
    begin(usual);
    for (size_t cut = 1; cut < usual->unit_len; cut += 97) {
        struct slice frame;
        stream_bits = 0;
        put_unit(usual, 0, false);
        put_unit(usual, 1, false);
        frame_code_feed(reader, slice_of(stream, usual->unit_len + cut));
        ck_assert_int_eq(next_frame(&frame), FRAME_CODE_FRAME);
        ck_assert_int_eq(next_frame(&frame), FRAME_CODE_NONE);
        frame_code_end(reader);
        ck_assert_int_eq(next_frame(&frame), FRAME_CODE_NONE);
        frame_code_feed(reader, slice_of(stream, 2 * (size_t)usual->unit_len));
        ck_assert(next_frame(&frame) == FRAME_CODE_FRAME && frame.data[0] == 0);
        ck_assert(next_frame(&frame) == FRAME_CODE_FRAME && frame.data[0] == 1);
        ck_assert_int_eq(next_frame(&frame), FRAME_CODE_NONE);
        frame_code_end(reader);
        ck_assert_int_eq(next_frame(&frame), FRAME_CODE_NONE);
    }
    const struct cadu_counts *n = frame_code_counts(reader);
    ck_assert(n->erred == 0 && n->sync_losses == 0);
    end();
}
END_TEST

START_TEST(problems)
{
    struct frame_code_config c = usual->code, off = {.kind = FRAME_CODE_OFF};
    ck_assert_ptr_null(frame_code_problem(&off, 65536));
    ck_assert_uint_eq(frame_code_len(&off, 1115), 1115);
    ck_assert_ptr_null(frame_code_problem(&c, 1115));
    ck_assert_ptr_nonnull(frame_code_problem(&c, 1116)); /* no multiple */
    ck_assert_ptr_nonnull(frame_code_problem(&c, 1120)); /* above 5 x 223 */
    ck_assert_uint_eq(frame_code_fitting(&c, 1120), 1115);
    ck_assert_uint_eq(frame_code_fitting(&c, 1114), 1110);
    c.kind = FRAME_CODE_RS_239;
    ck_assert_ptr_null(frame_code_problem(&c, 1120));
    ck_assert_uint_eq(frame_code_fitting(&c, 65507), 1195);
    c.interleave = 9;
    ck_assert_ptr_nonnull(frame_code_problem(&c, 9));
    c.kind = FRAME_CODE_UNCODED; /* then it does not count */
    ck_assert_ptr_null(frame_code_problem(&c, 65507));
    ck_assert_uint_eq(frame_code_fitting(&c, 65507), 65507);
    c.marker_errors = 9;
    ck_assert_ptr_nonnull(frame_code_problem(&c, 100));
    c = configs[LDPC_FIRST].code;
    for (int kind = FRAME_CODE_LDPC_1_2; kind <= FRAME_CODE_LDPC_4_5; kind++) {
        static const uint32_t good[] = {128, 512, 2048};
        c.kind = (enum frame_code_kind)kind;
        for (size_t i = 0; i < 3; i++) {
            ck_assert_ptr_null(frame_code_problem(&c, good[i]));
            ck_assert_ptr_nonnull(frame_code_problem(&c, good[i] + 1));
            ck_assert_uint_eq(frame_code_fitting(&c, good[i] + 1), good[i]);
        }
        ck_assert_uint_eq(frame_code_fitting(&c, 65507), 2048);
        ck_assert_uint_eq(frame_code_fitting(&c, 7), 128); /* there is no shorter one */
        ck_assert_int_eq(frame_code_marker(&c), CADU_MARKER_64);
    }
    c.kind = FRAME_CODE_LDPC_7_8;
    ck_assert_ptr_null(frame_code_problem(&c, 892));
    ck_assert_ptr_nonnull(frame_code_problem(&c, 512));
    ck_assert_uint_eq(frame_code_fitting(&c, 512), 892); /* its only one */
    ck_assert(frame_code_is_block(&c) && frame_code_marker(&c) == CADU_MARKER_32);
    c = configs[TURBO_FIRST].code;
    for (int kind = FRAME_CODE_TURBO_1_2; kind <= FRAME_CODE_TURBO_1_6; kind++) {
        static const uint32_t good[] = {223, 446, 892, 1115};
        c.kind = (enum frame_code_kind)kind;
        c.soft = false;
        ck_assert((frame_code_problem(&c, 223) != NULL) == (kind == FRAME_CODE_TURBO_1_3));
        c.soft = kind == FRAME_CODE_TURBO_1_3; /* no whole octets */
        for (size_t i = 0; i < 4; i++) {
            ck_assert_ptr_null(frame_code_problem(&c, good[i]));
            ck_assert_ptr_nonnull(frame_code_problem(&c, good[i] + 1));
            ck_assert_uint_eq(frame_code_fitting(&c, good[i] + 1), good[i]);
        }
        ck_assert_uint_eq(frame_code_fitting(&c, 7), 223);
        ck_assert(frame_code_is_block(&c));
    }
}
END_TEST

START_TEST(sameness)
{
    const struct frame_code_config a = usual->code, off = {.kind = FRAME_CODE_OFF, .interleave = 3},
                                   none = {.kind = FRAME_CODE_OFF};
    struct frame_code_config b = a;
    ck_assert(frame_code_same(&a, &b) && frame_code_same(&off, &none));
    ck_assert(!frame_code_same(&a, &off) && !frame_code_same(&off, &a));
    b.interleave = 4;
    ck_assert(!frame_code_same(&a, &b));
    b = a, b.basis = RS_CONVENTIONAL;
    ck_assert(!frame_code_same(&a, &b));
    b = a, b.randomiser = FRAME_CODE_LONG;
    ck_assert(!frame_code_same(&a, &b));
    b = a, b.marker = CADU_MARKER_64;
    ck_assert(!frame_code_same(&a, &b));
    b = a, b.soft = true;
    ck_assert(!frame_code_same(&a, &b));
    b = a, b.marker_errors = 0;
    ck_assert(!frame_code_same(&a, &b));
    struct frame_code_config c = a;
    b.kind = c.kind = FRAME_CODE_UNCODED;
    b = c, b.interleave = 1; /* no Reed-Solomon, no depth */
    ck_assert(frame_code_same(&b, &c));
    b.kind = c.kind = FRAME_CODE_LDPC_1_2;
    ck_assert(frame_code_same(&b, &c));
    b.kind = FRAME_CODE_LDPC_2_3;
    ck_assert(!frame_code_same(&b, &c));
}
END_TEST

static void seed_rng(void)
{
    rng_init(&rng, 1);
}

SUITE(cla_frame_code, t)
{
    tcase_add_checked_fixture(t, seed_rng, NULL);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, units);
    tcase_add_test(t, any_pieces);
    tcase_add_test(t, slips_and_inversions);
    tcase_add_test(t, slips_within);
    tcase_add_test(t, lost_octets);
    tcase_add_test(t, damage);
    tcase_add_test(t, block_damage);
    tcase_add_test(t, bit_errors);
    tcase_add_test(t, another_stream);
    tcase_add_test(t, problems);
    tcase_add_test(t, sameness);
}
