/* SPDX-License-Identifier: Apache-2.0 */
/* Soft symbols of a link's channel access data units: what noise does to them, and to bits alone.
 */
#include "base/rng.h"
#include "cla/framed/frame_code.h"
#include "frames/fecf.h"
#include "tests/unit/suite.h"

enum { FRAME_MAX = 223, UNITS = 40 };

struct config {
    struct frame_code_config code;
    uint32_t frame_len, unit_len;
};

static struct rng rng;
static struct frame_code *writer, *reader;

static void begin(const struct config *c)
{
    rng_init(&rng, 1);
    writer = frame_code_new(&c->code, c->frame_len);
    reader = frame_code_new(&c->code, c->frame_len);
    ck_assert(writer != NULL && reader != NULL);
}

static void end(void)
{
    frame_code_free(writer);
    frame_code_free(reader);
}

/* Frame n: drawn octets, with a check value, at which the turbo decoder looks. */
static void make_frame(uint32_t n, uint8_t *out, size_t len)
{
    struct rng r;
    rng_init(&r, n);
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)rng_u64(&r);
    const uint16_t check = fecf_crc(FECF_INIT, out, len - 2);
    out[len - 2] = (uint8_t)(check >> 8);
    out[len - 1] = (uint8_t)check;
}

static uint8_t symbols[UNITS * 8 * 1400];

/* As a demodulator has them: an amplitude of 50, and noise. Returns how many. */
static size_t put_symbols(const struct config *c, double noise)
{
    uint8_t frame[FRAME_MAX];
    size_t len = 0;
    for (uint32_t n = 0; n < UNITS; n++) {
        make_frame(n, frame, c->frame_len);
        struct slice unit = frame_code_write(writer, slice_of(frame, c->frame_len));
        ck_assert_uint_eq(unit.len, c->unit_len);
        ck_assert_uint_le(len + unit.len, sizeof symbols);
        for (size_t i = 0; i < unit.len; i++) {
            ck_assert(unit.data[i] == 0 || unit.data[i] == 255);
            const double off = noise * (2 * (double)(rng_u64(&rng) >> 11) / 0x1p53 - 1);
            symbols[len++] = (uint8_t)(128 + (unit.data[i] != 0 ? 50 : -50) + off);
        }
    }
    return len;
}

static size_t read_symbols(const struct config *c, const uint8_t *data, size_t len)
{
    size_t got = 0;
    uint32_t next = 0;
    for (size_t at = 0, n; at < len; at += n) {
        struct slice frame;
        uint8_t want[FRAME_MAX];
        enum frame_code_result r;
        n = rng_below(&rng, 3000);
        n = n < len - at ? n : len - at;
        frame_code_feed(reader, slice_of(data + at, n));
        while ((r = frame_code_next(reader, &frame)) != FRAME_CODE_NONE)
            if (r == FRAME_CODE_FRAME) {
                do {
                    ck_assert_uint_lt(next, UNITS);
                    make_frame(next++, want, c->frame_len);
                } while (memcmp(want, frame.data, c->frame_len) != 0);
                got++;
            }
    }
    return got;
}

/* With noise that bits alone do not survive, in pieces of any number of symbols. Codewords of turbo
 * rate 1/3 are no whole octets. */
START_TEST(soft_symbols)
{
    static const struct {
        struct config c;
        double noise; /* 11 % of the bits are wrong with 65 */
    } cases[] = {
        {{{.kind = FRAME_CODE_UNCODED, .soft = true}, 100, 8 * 104}, 49},
        {{{FRAME_CODE_RS_223, 1, RS_DUAL, FRAME_CODE_SHORT, CADU_MARKER_32, 4, true, 0},
          100,
          8 * 136},
         50.5},
        {{{FRAME_CODE_LDPC_1_2, 1, RS_DUAL, FRAME_CODE_SHORT, CADU_MARKER_64, 8, true, 0},
          128,
          8 * 264},
         65},
        {{{FRAME_CODE_TURBO_1_2, 1, RS_DUAL, FRAME_CODE_SHORT, CADU_MARKER_64, 8, true, 0},
          223,
          8 * 455},
         65},
        {{{FRAME_CODE_TURBO_1_3, 1, RS_DUAL, FRAME_CODE_LONG, CADU_MARKER_96, 8, true, 0},
          223,
          96 + 3 * 1788},
         75},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct config *c = &cases[i].c;
        begin(c);
        const size_t len = put_symbols(c, cases[i].noise);
        ck_assert_uint_eq(frame_code_len(&c->code, c->frame_len), c->unit_len);
        ck_assert_uint_ge(read_symbols(c, symbols, len), UNITS - 1);
        ck_assert_uint_eq(frame_code_counts(reader)->inversions, 0);
        end();
    }
}
END_TEST

/* The same noise, but only its bits: nearly nothing is left. */
START_TEST(hard_symbols)
{
    struct config c = {
        {FRAME_CODE_LDPC_1_2, 1, RS_DUAL, FRAME_CODE_SHORT, CADU_MARKER_64, 8, true, 0},
        128,
        8 * 264};
    begin(&c);
    const size_t len = put_symbols(&c, 65);
    for (size_t i = 0; i < len; i++)
        symbols[i] = symbols[i] >= 128 ? 255 : 0;
    ck_assert_uint_le(read_symbols(&c, symbols, len), UNITS / 5);
    end();
}
END_TEST

SUITE(cla_frame_soft, t)
{
    tcase_add_test(t, soft_symbols);
    tcase_add_test(t, hard_symbols);
}
