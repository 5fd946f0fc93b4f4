/* SPDX-License-Identifier: Apache-2.0 */
/* Channel access data units of a link in the convolutional code: each rate, packed and soft; noise
 * that bits alone do not survive; lost symbols; streams that end and begin. */
#include "base/rng.h"
#include "cla/framed/frame_code.h"
#include "tests/unit/suite.h"

enum { FRAME = 223, UNITS = 60, UNIT_MAX = 16 * (4 + 255) };

static struct rng rng;
static struct frame_code *writer, *reader;
static uint8_t symbols[(UNITS + 1) * UNIT_MAX];

static struct frame_code_config config_of(enum frame_code_kind kind, enum frame_code_conv conv,
                                          bool soft)
{
    return (struct frame_code_config){.kind = kind,
                                      .interleave = 1,
                                      .randomiser = FRAME_CODE_SHORT,
                                      .marker_errors = 4,
                                      .soft = soft,
                                      .conv = conv};
}

static void begin(const struct frame_code_config *c)
{
    rng_init(&rng, 1);
    ck_assert_ptr_null(frame_code_problem(c, FRAME));
    writer = frame_code_new(c, FRAME);
    reader = frame_code_new(c, FRAME);
    ck_assert(writer != NULL && reader != NULL);
}

static void end(void)
{
    frame_code_free(writer);
    frame_code_free(reader);
}

static void make_frame(uint32_t n, uint8_t *out)
{
    struct rng r;
    rng_init(&r, n);
    for (size_t i = 0; i < FRAME; i++)
        out[i] = (uint8_t)rng_u64(&r);
}

/* Units 0 to UNITS - 1. Returns octets. */
static size_t write_units(const struct frame_code_config *c)
{
    size_t len = 0;
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t n = 0; n < UNITS; n++) {
        uint8_t frame[FRAME];
        make_frame(n, frame);
        const struct slice unit = frame_code_write(writer, slice_of(frame, FRAME));
        least = unit.len < least ? unit.len : least;
        most = unit.len > most ? unit.len : most;
        memcpy(symbols + len, unit.data, unit.len);
        len += unit.len;
    }
    ck_assert_uint_le(most, frame_code_len(c, FRAME));
    ck_assert_uint_le(frame_code_len(c, FRAME) - least, c->soft ? 8 : 2);
    return len;
}

/* Frames from `next` on that are there, in order. Returns how many. */
static size_t read_units(const uint8_t *data, size_t len, uint32_t next)
{
    size_t got = 0;
    for (size_t at = 0, n; at < len; at += n) {
        struct slice frame;
        uint8_t want[FRAME];
        enum frame_code_result r;
        n = 1 + rng_below(&rng, 3000);
        n = n < len - at ? n : len - at;
        frame_code_feed(reader, slice_of(data + at, n));
        while ((r = frame_code_next(reader, &frame)) != FRAME_CODE_NONE)
            if (r == FRAME_CODE_FRAME) {
                do {
                    ck_assert_uint_lt(next, UNITS);
                    make_frame(next++, want);
                } while (memcmp(want, frame.data, FRAME) != 0);
                got++;
            }
    }
    return got;
}

/* The stream ends. Returns how many frames that gives: `next` is the first. */
static size_t end_stream(uint32_t next)
{
    size_t got = 0;
    struct slice frame;
    uint8_t want[FRAME];
    enum frame_code_result r;
    frame_code_end(reader);
    while ((r = frame_code_next(reader, &frame)) != FRAME_CODE_NONE)
        if (r == FRAME_CODE_FRAME) {
            make_frame(next++, want);
            ck_assert_mem_eq(want, frame.data, FRAME);
            got++;
        }
    return got;
}

/* The last unit waits for the symbols behind it, or for the end. A writer keeps symbols that are no
 * whole octet: without them an uncoded frame may be wrong at its end. */
START_TEST(each_rate)
{
    for (int conv = FRAME_CODE_CONV_1_2; conv <= FRAME_CODE_CONV_7_8; conv++)
        for (int soft = 0; soft < 2; soft++)
            for (int kind = FRAME_CODE_UNCODED; kind <= FRAME_CODE_RS_223; kind++) {
                const struct frame_code_config c =
                    config_of((enum frame_code_kind)kind, (enum frame_code_conv)conv, soft != 0);
                begin(&c);
                const size_t n = read_units(symbols, write_units(&c), 0);
                ck_assert_uint_ge(n, UNITS - 1);
                ck_assert_uint_eq(frame_code_counts(reader)->frames, n);
                if (kind == FRAME_CODE_RS_223 || conv <= FRAME_CODE_CONV_1_2_PLAIN || soft != 0)
                    ck_assert_uint_eq(n + end_stream((uint32_t)n), UNITS);
                ck_assert_uint_eq(frame_code_counts(reader)->erred, 0);
                ck_assert_uint_eq(frame_code_counts(reader)->sync_losses, 0);
                ck_assert_uint_eq(frame_code_wrong(reader), 0);
                end();
            }
}
END_TEST

/* A demodulator with an amplitude of 50, and noise between those limits. Returns wrong bits. */
static size_t add_noise(size_t len, double noise, bool hard)
{
    size_t wrong = 0;
    for (size_t i = 0; i < len; i++) {
        const uint8_t sent = symbols[i];
        const double off = noise * (2 * (double)(rng_u64(&rng) >> 11) / 0x1p53 - 1);
        symbols[i] = (uint8_t)(128 + (sent != 0 ? 50 : -50) + off);
        wrong += (symbols[i] ^ sent) >> 7;
        if (hard)
            symbols[i] = symbols[i] >= 128 ? 255 : 0;
    }
    return wrong;
}

/* 11 % of the symbols are wrong. Soft ones are enough for nearly all frames, with Reed-Solomon
 * around; by bits alone hardly one is left. */
START_TEST(noise)
{
    const struct frame_code_config c = config_of(FRAME_CODE_RS_223, FRAME_CODE_CONV_1_2, true);
    for (int hard = 0; hard < 2; hard++) {
        begin(&c);
        const size_t len = write_units(&c), wrong = add_noise(len, 65, hard != 0);
        const size_t n = read_units(symbols, len, 0);
        ck_assert(wrong > len / 10 && wrong < len / 8);
        if (hard != 0)
            ck_assert_uint_le(n, UNITS / 5);
        else
            ck_assert_uint_ge(n, UNITS - 3);
        if (hard == 0) /* as the decoder counts them: by how sure they are */
            ck_assert_uint_gt(frame_code_wrong(reader), wrong / 10);
        end();
    }
}
END_TEST

/* 1 % of wrong bits is nothing for rate 1/2, also without another code around. */
START_TEST(wrong_bits)
{
    const struct frame_code_config c =
        config_of(FRAME_CODE_UNCODED, FRAME_CODE_CONV_1_2_PLAIN, false);
    size_t wrong = 0;
    begin(&c);
    const size_t len = write_units(&c);
    for (size_t i = 0; i < 8 * len; i++)
        if (rng_chance(&rng, 0.01)) {
            symbols[i / 8] ^= (uint8_t)(0x80 >> i % 8);
            wrong++;
        }
    ck_assert_uint_ge(read_units(symbols, len, 0), UNITS - 3);
    ck_assert(frame_code_wrong(reader) > wrong * 9 / 10 && frame_code_wrong(reader) <= wrong);
    end();
}
END_TEST

/* A symbol is lost: the period is another one. It is found again after some units. */
START_TEST(lost_symbols)
{
    const struct frame_code_config c = config_of(FRAME_CODE_RS_223, FRAME_CODE_CONV_7_8, true);
    begin(&c);
    const size_t len = write_units(&c), cut = len / 3;
    memmove(symbols + cut, symbols + cut + 3, len - cut - 3);
    const size_t n = read_units(symbols, len - 3, 0);
    ck_assert_uint_ge(n, UNITS - 10);
    ck_assert_uint_ge(frame_code_counts(reader)->sync_losses, 1);
    end();
}
END_TEST

/* All bits are the others. */
START_TEST(inverted)
{
    const struct frame_code_config c = config_of(FRAME_CODE_RS_239, FRAME_CODE_CONV_3_4, false);
    begin(&c);
    const size_t len = write_units(&c);
    for (size_t i = 0; i < len; i++)
        symbols[i] ^= 0xff;
    ck_assert_uint_ge(read_units(symbols, len, 0), UNITS - 2);
    end();
}
END_TEST

/* What was before the end belongs to nothing behind it. */
START_TEST(streams)
{
    const struct frame_code_config c = config_of(FRAME_CODE_RS_223, FRAME_CODE_CONV_5_6, false);
    begin(&c);
    const size_t len = write_units(&c), cut = len / 2 + 1;
    const size_t before = read_units(symbols, cut, 0);
    ck_assert_uint_ge(before, UNITS / 2 - 1);
    ck_assert_uint_le(end_stream((uint32_t)before), 1);
    const size_t behind = read_units(symbols + len / 3 + 2, len - len / 3 - 2, UNITS / 3);
    ck_assert_uint_ge(behind + end_stream(UNITS - 1), UNITS - UNITS / 3 - 1);
    ck_assert_uint_eq(read_units(symbols, 10, 0), 0); /* less than what is searched */
    ck_assert_uint_eq(end_stream(0), 0);
    ck_assert_uint_eq(end_stream(0), 0); /* of a stream without octets */
    end();
}
END_TEST

/* A stream of one unit, shorter than what is searched: it arrives at the end. */
START_TEST(one_unit)
{
    for (int conv = FRAME_CODE_CONV_1_2; conv <= FRAME_CODE_CONV_7_8; conv++) {
        const struct frame_code_config c =
            config_of(FRAME_CODE_RS_223, (enum frame_code_conv)conv, false);
        uint8_t frame[FRAME];
        begin(&c);
        make_frame(0, frame);
        const struct slice unit = frame_code_write(writer, slice_of(frame, FRAME));
        memcpy(symbols, unit.data, unit.len);
        ck_assert_uint_eq(read_units(symbols, unit.len, 0), 0);
        ck_assert_uint_eq(end_stream(0), 1);
        end();
    }
}
END_TEST

START_TEST(problems)
{
    struct frame_code_config c = config_of(FRAME_CODE_LDPC_1_2, FRAME_CODE_CONV_1_2, false), other;
    ck_assert_ptr_nonnull(frame_code_problem(&c, 128));
    c.conv = FRAME_CODE_CONV_OFF;
    ck_assert_ptr_null(frame_code_problem(&c, 128));
    ck_assert(frame_code_is_slow(&c));
    c = config_of(FRAME_CODE_UNCODED, FRAME_CODE_CONV_2_3, false);
    other = c;
    ck_assert(frame_code_same(&c, &other) && frame_code_is_slow(&c));
    other.conv = FRAME_CODE_CONV_1_2;
    ck_assert(!frame_code_same(&c, &other));
    ck_assert_uint_eq(frame_code_len(&c, FRAME), (4 + FRAME) * 3 / 2 + 1);
    c.soft = true;
    ck_assert_uint_eq(frame_code_len(&c, FRAME), 12 * (4 + FRAME));
    c.conv = FRAME_CODE_CONV_OFF;
    ck_assert(!frame_code_is_slow(&c));
}
END_TEST

SUITE(cla_frame_conv, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, each_rate);
    tcase_add_test(t, noise);
    tcase_add_test(t, wrong_bits);
    tcase_add_test(t, lost_symbols);
    tcase_add_test(t, inverted);
    tcase_add_test(t, streams);
    tcase_add_test(t, one_unit);
    tcase_add_test(t, problems);
}
