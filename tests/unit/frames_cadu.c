/* SPDX-License-Identifier: Apache-2.0 */
/* Channel access data units: written and read at any bit, upright and inverted, with slips, errors
 * in markers, lost markers and noise, in pieces of any size. */
#include "base/rng.h"
#include "frames/cadu.h"
#include "frames_help.h"
#include "tests/unit/suite.h"

enum { STREAM_MAX = 1 << 18, BLOCK_MAX = 4096, UNITS_MAX = 64 };

/* A stream that is written bit by bit. */
struct bits {
    uint8_t data[STREAM_MAX];
    size_t count;
};

static struct bits stream;
static struct rs rs_223, rs_239;

static void put_bits(const uint8_t *data, size_t n, bool inverted)
{
    ck_assert_uint_lt(stream.count + n, 8 * (size_t)STREAM_MAX);
    for (size_t i = 0; i < n; i++, stream.count++) {
        unsigned bit = (data[i / 8] >> (7 - i % 8) & 1) ^ inverted, at = 7 - stream.count % 8;
        uint8_t *to = &stream.data[stream.count / 8];
        *to = (uint8_t)((*to & ~(1U << at)) | bit << at);
    }
}

static void flip_bit(size_t at)
{
    stream.data[at / 8] ^= (uint8_t)(0x80 >> at % 8);
}

static void put_noise(struct rng *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t bit = rng_chance(r, 0.5) ? 0x80 : 0;
        put_bits(&bit, 1, false);
    }
}

/* Frame n: n, then drawn octets. */
static void make_frame(uint32_t n, uint8_t *out, size_t len)
{
    struct rng r;
    rng_init(&r, n);
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)rng_u64(&r);
    out[0] = (uint8_t)n;
}

static size_t put_unit(const struct cadu_format *f, uint32_t n, bool inverted)
{
    static uint8_t frame[BLOCK_MAX], unit[BLOCK_MAX];
    size_t at = stream.count;
    make_frame(n, frame, f->frame_len);
    cadu_write(f, frame, unit);
    put_bits(unit, cadu_bits(f), inverted);
    return at;
}

/* A reader over the stream, fed in pieces. */
struct reading {
    struct cadu_reader reader;
    uint8_t buffer[3 * BLOCK_MAX], block[BLOCK_MAX];
    size_t at;
    struct rng *pieces;
};

static struct reading reading;

static void open_reading(const struct cadu_format *f, struct rng *pieces, bool small)
{
    size_t room = small ? cadu_reader_room(f) : sizeof reading.buffer;
    cadu_reader_init(&reading.reader, f, 4, 4, reading.buffer, room, reading.block);
    reading.at = 0;
    reading.pieces = pieces;
}

static bool read_unit(struct cadu *unit)
{
    size_t len = (stream.count + 7) / 8, room;
    while (!cadu_reader_next(&reading.reader, unit)) {
        if (reading.at == len) {
            cadu_reader_end(&reading.reader);
            return false;
        }
        uint8_t *to = cadu_reader_space(&reading.reader, &room);
        size_t n = 1 + rng_below(reading.pieces, room);
        n = n < len - reading.at ? n : len - reading.at;
        memcpy(to, stream.data + reading.at, n);
        cadu_reader_fed(&reading.reader, n);
        reading.at += n;
    }
    return true;
}

static void assert_frame(const struct cadu *unit, const struct cadu_format *f, uint32_t n)
{
    uint8_t want[BLOCK_MAX];
    make_frame(n, want, f->frame_len);
    ck_assert_uint_eq(unit->frame.len, f->frame_len);
    ck_assert_mem_eq(unit->frame.data, want, f->frame_len);
}

static const struct cadu_format formats[] = {
    {.frame_len = 60},
    {.frame_len = 1115, .randomised = true, .sequence = PN_TM},
    {.frame_len = 1115, .rs = &rs_223, .depth = 5, .randomised = true, .sequence = PN_TM},
    {.frame_len = 880, .rs = &rs_223, .depth = 4, .randomised = true, .sequence = PN_TM_LONG},
    {.frame_len = 239, .rs = &rs_239, .depth = 1},
    {.frame_len = 1600, .rs = &rs_239, .depth = 8, .randomised = true, .sequence = PN_TM},
    {.frame_len = 512, .randomised = true, .sequence = PN_TM, .marker = CADU_MARKER_64},
    {.frame_len = 1115, .rs = &rs_223, .depth = 5, .marker = CADU_MARKER_64},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

/* A unit octet by octet: marker, codeblock, sequence. */
START_TEST(layout)
{
    const struct cadu_format *f = &formats[2];
    uint8_t frame[BLOCK_MAX], unit[BLOCK_MAX], body[BLOCK_MAX];
    make_frame(7, frame, f->frame_len);
    cadu_write(f, frame, unit);
    ck_assert_uint_eq(cadu_len(f), 4 + 1275);
    assert_hex(unit, 4, "1acffc1d");
    memcpy(body, frame, 1115);
    rs_encode(&rs_223, frame, 1115, 5, body + 1115);
    pn_apply(PN_TM, body, body, 1275);
    ck_assert_mem_eq(unit + 4, body, 1275);
}
END_TEST

/* The marker of 64 bits, which no error of the first 32 hides. */
START_TEST(long_marker)
{
    const struct cadu_format *f = &formats[6];
    struct rng r;
    struct cadu found;
    uint8_t frame[BLOCK_MAX], unit[BLOCK_MAX];
    make_frame(7, frame, f->frame_len);
    cadu_write(f, frame, unit);
    ck_assert_uint_eq(cadu_marker_len(f->marker), 8);
    ck_assert_uint_eq(cadu_len(f), 8 + 512);
    assert_hex(unit, 8, "034776c7272895b0");
    pn_apply(PN_TM, unit + 8, unit + 8, 512);
    ck_assert_mem_eq(unit + 8, frame, 512);
    rng_init(&r, 6);
    for (unsigned errors = 0; errors <= 8; errors++) {
        stream.count = 0;
        size_t at[5];
        for (uint32_t n = 0; n < 5; n++)
            at[n] = put_unit(f, n, false);
        for (unsigned e = 0; e < errors; e++)
            flip_bit(at[2] + 63 - 8 * e);
        open_reading(f, &r, errors % 2 == 0);
        for (uint32_t n = 0; n < 5; n++) {
            ck_assert(read_unit(&found));
            assert_frame(&found, f, n);
            ck_assert_int_eq(found.marker_missing, n == 2 && errors > 4);
            ck_assert_uint_eq(found.marker_errors, n == 2 && errors <= 4 ? errors : 0);
        }
        ck_assert(!read_unit(&found));
    }
    struct cadu_format other = *f; /* a reader of the other marker finds none of these units */
    other.marker = CADU_MARKER_32;
    open_reading(&other, &r, false);
    ck_assert(!read_unit(&found));
}
END_TEST

/* Each begins at each bit of an octet, upright and inverted, after noise. */
START_TEST(any_bit)
{
    struct rng r;
    struct cadu unit;
    rng_init(&r, 1);
    for (size_t k = 0; k < 16 * FORMATS; k++) {
        const struct cadu_format *f = &formats[k / 16];
        stream.count = 0;
        put_noise(&r, k % 8 + 8 * rng_below(&r, 40));
        size_t first = put_unit(f, 0, k % 16 > 7);
        for (uint32_t n = 1; n < 5; n++)
            put_unit(f, n, k % 16 > 7);
        open_reading(f, &r, k % 3 == 0);
        for (uint32_t n = 0; n < 5; n++) {
            ck_assert(read_unit(&unit));
            assert_frame(&unit, f, n);
            ck_assert_int_eq(unit.quality, f->rs == NULL ? CADU_UNKNOWN : CADU_GOOD);
            ck_assert_int_eq(unit.inverted, k % 16 > 7);
            ck_assert_int_eq(unit.resynchronised, n == 0);
            ck_assert_int_eq(unit.slip, 0);
            ck_assert_uint_eq(unit.marker_errors, 0);
        }
        ck_assert(!read_unit(&unit));
        const struct cadu_counts *c = &reading.reader.counts;
        ck_assert_uint_eq(c->frames, 5);
        ck_assert_uint_eq(c->resynchronised, 1);
        ck_assert_uint_eq(c->skipped_bits, first + (8 - stream.count % 8) % 8);
    }
}
END_TEST

/* Bits are lost or doubled behind a unit: it is early or late; only a slip within costs a frame. */
START_TEST(slips)
{
    struct rng r;
    struct cadu unit;
    const struct cadu_format *f = &formats[2];
    rng_init(&r, 2);
    for (int slip = -12; slip <= 12; slip++) {
        stream.count = 0;
        put_noise(&r, 100);
        put_unit(f, 0, false);
        put_unit(f, 1, false);
        if (slip < 0)
            stream.count -= (size_t)-slip; /* the end of unit 1 is lost */
        else
            put_noise(&r, (size_t)slip);
        put_unit(f, 2, false);
        put_unit(f, 3, false);
        open_reading(f, &r, false);
        for (uint32_t n = 0; n < 4; n++) {
            if (slip < -4 && n == 2)
                continue; /* the next marker is within what unit 1 seems to have */
            ck_assert_msg(read_unit(&unit), "slip %d, unit %u", slip, n);
            assert_frame(&unit, f, n);
            ck_assert_int_eq(unit.slip, n == 2 && slip >= -4 && slip <= 4 ? slip : 0);
            ck_assert_int_eq(unit.resynchronised,
                             n == 0 || (n > 1 && slip < -4 && n == 3) || (n == 2 && slip > 4));
        }
        ck_assert(!read_unit(&unit));
        ck_assert_uint_eq(reading.reader.counts.slips, slip != 0 && slip >= -4 && slip <= 4);
        ck_assert_uint_eq(reading.reader.counts.sync_losses, slip < -4 || slip > 4);
    }
}
END_TEST

/* A marker with up to four errors is one; with more the unit counts when the next one is there; two
 * without cost what is between them. */
START_TEST(marker_errors)
{
    struct rng r;
    struct cadu unit;
    const struct cadu_format *f = &formats[1];
    rng_init(&r, 3);
    for (unsigned errors = 0; errors <= 12; errors++) {
        stream.count = 0;
        size_t at[6];
        for (uint32_t n = 0; n < 6; n++)
            at[n] = put_unit(f, n, false);
        for (unsigned e = 0; e < errors; e++)
            flip_bit(at[2] + 31 - 2 * e);
        open_reading(f, &r, false);
        for (uint32_t n = 0; n < 6; n++) {
            ck_assert(read_unit(&unit));
            assert_frame(&unit, f, n);
            ck_assert_uint_eq(unit.marker_errors, n == 2 && errors <= 4 ? errors : 0);
            ck_assert_int_eq(unit.marker_missing, n == 2 && errors > 4);
        }
        ck_assert_uint_eq(reading.reader.counts.sync_losses, 0);
        for (unsigned e = 0; e < 6; e++)
            flip_bit(at[3] + 5 * e);
        open_reading(f, &r, false);
        for (uint32_t n = 0; n < 6; n++) {
            if (n == 2 && errors > 4)
                continue; /* lost: neither it nor the next one has a marker */
            if (n == 3 && errors > 4)
                continue;
            ck_assert(read_unit(&unit));
            assert_frame(&unit, f, n);
            ck_assert_int_eq(unit.marker_missing, n == 3);
        }
        ck_assert_uint_eq(reading.reader.counts.sync_losses, errors > 4);
    }
}
END_TEST

/* The demodulator changes its mind about the polarity; noise comes between units. */
START_TEST(inversions_and_noise)
{
    struct rng r;
    struct cadu unit;
    const struct cadu_format *f = &formats[3];
    bool inverted = false;
    unsigned changes = 0;
    uint64_t noise = 0;
    rng_init(&r, 4);
    stream.count = 0;
    for (uint32_t n = 0; n < UNITS_MAX; n++) {
        if (n > 0 && rng_chance(&r, 0.3)) {
            inverted = !inverted;
            changes++;
        }
        if (rng_chance(&r, 0.3)) {
            size_t bits = 5 + rng_below(&r, 20000);
            put_noise(&r, bits);
            noise += bits;
        }
        put_unit(f, n, inverted);
    }
    open_reading(f, &r, false);
    for (uint32_t n = 0; n < UNITS_MAX; n++) {
        ck_assert(read_unit(&unit));
        assert_frame(&unit, f, n);
    }
    ck_assert(!read_unit(&unit));
    ck_assert_uint_eq(reading.reader.counts.inversions, changes);
    ck_assert_uint_eq(reading.reader.counts.skipped_bits, noise + (8 - stream.count % 8) % 8);
}
END_TEST

/* Errors of symbols are counted for each frame; too many make it erred, and its octets stay. */
START_TEST(quality)
{
    struct rng r;
    struct cadu unit;
    const struct cadu_format *f = &formats[2];
    uint64_t sum = 0, erred = 0;
    rng_init(&r, 5);
    stream.count = 0;
    unsigned errors[UNITS_MAX];
    for (uint32_t n = 0; n < UNITS_MAX; n++) {
        size_t at = put_unit(f, n, n % 2 == 1);
        errors[n] = (unsigned)rng_below(&r, 18); /* in the second codeword */
        for (unsigned e = 0; e < errors[n]; e++)
            flip_bit(at + 32 + 8 * (1 + 5 * (7 + 3 * e)) + rng_below(&r, 8));
        sum += errors[n] <= 16 ? errors[n] : 0;
        erred += errors[n] > 16;
    }
    open_reading(f, &r, true);
    for (uint32_t n = 0; n < UNITS_MAX; n++) {
        ck_assert(read_unit(&unit));
        ck_assert_int_eq(unit.quality, errors[n] > 16 ? CADU_ERRED : CADU_GOOD);
        ck_assert_uint_eq(unit.rs.corrected, errors[n] > 16 ? 0 : errors[n]);
        ck_assert_uint_eq(unit.rs.failed, errors[n] > 16);
        if (errors[n] <= 16)
            assert_frame(&unit, f, n);
    }
    ck_assert_uint_gt(erred, 0);
    ck_assert_uint_eq(reading.reader.counts.corrected, sum);
    ck_assert_uint_eq(reading.reader.counts.erred, erred);
    ck_assert_uint_eq(reading.reader.counts.codewords_failed, erred);
}
END_TEST

/* LDPC codewords behind the long marker, at any bit, with 4 % and with a fifth of their bits wrong.
 */
START_TEST(ldpc_units)
{
    static struct cadu_ldpc ldpc;
    struct cadu_format f = {.frame_len = 128,
                            .ldpc = &ldpc,
                            .randomised = true,
                            .sequence = PN_TM,
                            .marker = CADU_MARKER_64};
    struct cadu unit;
    struct rng r;
    uint64_t bits = 0;
    rng_init(&r, 12);
    ldpc_init(&ldpc.code, LDPC_1_2, 1024);
    ck_assert_ptr_null(cadu_problem(&f));
    ck_assert_uint_eq(cadu_len(&f), 8 + 256);
    stream.count = 0;
    put_noise(&r, 13);
    for (uint32_t n = 0; n < 20; n++) {
        size_t at = put_unit(&f, n, n % 2 == 1) + 64;
        for (size_t i = 0; i < 2048; i++) {
            bool wrong = rng_chance(&r, n % 5 == 4 ? 0.2 : 0.04);
            if (wrong)
                flip_bit(at + i);
            bits += wrong && n % 5 != 4;
        }
    }
    open_reading(&f, &r, true);
    for (uint32_t n = 0; n < 20; n++) {
        ck_assert(read_unit(&unit));
        ck_assert_int_eq(unit.quality, n % 5 == 4 ? CADU_ERRED : CADU_GOOD);
        ck_assert_uint_eq(unit.ldpc.decoded, n % 5 != 4);
        if (n % 5 != 4)
            assert_frame(&unit, &f, n);
    }
    const struct cadu_counts *c = &reading.reader.counts;
    ck_assert(c->corrected == bits && c->erred == 4 && c->codewords_failed == 4);
    ck_assert_uint_gt(c->iterations, 4 * LDPC_ITERATIONS);
    f.frame_len = 127;
    ck_assert_ptr_nonnull(cadu_problem(&f));
    f.frame_len = 128;
    f.rs = &rs_223;
    ck_assert_ptr_nonnull(cadu_problem(&f));
}
END_TEST

/* Turbo codewords of each rate, at any bit, with as many wrong bits as they work with, and with too
 * many. Rate 1/3 moves by half an octet with each unit. Frames have no check value here. */
START_TEST(turbo_units)
{
    static const double wrong[TURBO_RATES] = {0.05, 0.09, 0.12, 0.15};
    static const size_t bits[TURBO_RATES] = {64 + 3576, 96 + 5364, 128 + 7152, 192 + 10728};
    static struct cadu_turbo turbo;
    struct cadu unit;
    for (int rate = 0; rate < TURBO_RATES; rate++) {
        struct cadu_format f = {.frame_len = 223,
                                .turbo = &turbo,
                                .randomised = true,
                                .sequence = PN_TM,
                                .marker = cadu_turbo_marker((enum turbo_rate)rate)};
        struct rng r;
        rng_init(&r, 12);
        turbo_init(&turbo.code, (enum turbo_rate)rate, 1784);
        ck_assert_ptr_null(cadu_problem(&f));
        ck_assert_uint_eq(cadu_bits(&f), bits[rate]);
        stream.count = 0;
        put_noise(&r, 13);
        uint64_t flipped = 0;
        for (uint32_t n = 0; n < 20; n++) {
            size_t at = put_unit(&f, n, n % 2 == 1), body = at + 8 * cadu_marker_len(f.marker);
            for (; at < stream.count; at++) {
                const bool flip = rng_chance(&r, n % 5 == 4 && at >= body ? 0.3 : wrong[rate]);
                if (flip)
                    flip_bit(at);
                flipped += flip && at >= body && n % 5 != 4;
            }
        }
        open_reading(&f, &r, true);
        reading.reader.marker_errors = CADU_MARKER_ERRORS_MAX;
        for (uint32_t n = 0; n < 20; n++) {
            ck_assert(read_unit(&unit));
            ck_assert_int_eq(unit.quality, n % 5 == 4 ? CADU_ERRED : CADU_GOOD);
            ck_assert_uint_eq(unit.turbo.decoded, n % 5 != 4);
            if (n % 5 != 4)
                assert_frame(&unit, &f, n);
        }
        const struct cadu_counts *c = &reading.reader.counts;
        ck_assert(c->corrected == flipped && c->erred == 4 && c->codewords_failed == 4);
        ck_assert_uint_ge(c->iterations, 16 + 4 * TURBO_ITERATIONS);
        f.frame_len = 224;
        ck_assert_ptr_nonnull(cadu_problem(&f));
        f.frame_len = 223;
        f.rs = &rs_223;
        ck_assert_ptr_nonnull(cadu_problem(&f));
    }
}
END_TEST

/* Soft symbols: the signs of 12 % are wrong, and these are less sure. The same units by their signs
 * alone cannot all be decoded. */
START_TEST(soft_symbols)
{
    static struct cadu_turbo turbo;
    static uint8_t symbols[8 * STREAM_MAX], kept[8 * BLOCK_MAX];
    struct cadu_format f = {.frame_len = 223, .turbo = &turbo, .randomised = true};
    struct cadu unit;
    struct rng r;
    unsigned good = 0;
    rng_init(&r, 14);
    turbo_init(&turbo.code, TURBO_1_2, 1784);
    f.marker = cadu_turbo_marker(TURBO_1_2);
    stream.count = 0;
    put_noise(&r, 13);
    for (uint32_t n = 0; n < 20; n++)
        put_unit(&f, n, n >= 10);
    for (size_t i = 0; i < stream.count; i++) {
        const bool wrong = rng_chance(&r, 0.12);
        const unsigned sure = 1 + (unsigned)rng_below(&r, wrong ? 30 : 120);
        if (wrong)
            flip_bit(i);
        const bool one = (stream.data[i / 8] >> (7 - i % 8) & 1) != 0;
        symbols[i] = (uint8_t)(one ? 127 + sure : 128 - sure);
    }
    const size_t count = stream.count / 8 * 8; /* the last unit lacks some bits then */
    open_reading(&f, &r, true);
    cadu_reader_soften(&reading.reader, kept);
    for (size_t at = 0, n = 0; n < 19;) {
        if (cadu_reader_next(&reading.reader, &unit)) {
            ck_assert_int_eq(unit.quality, CADU_GOOD);
            assert_frame(&unit, &f, (uint32_t)n);
            ck_assert_int_eq(unit.inverted, n++ >= 10);
            continue;
        }
        ck_assert_uint_lt(at, count);
        const size_t piece = 8 * (1 + rng_below(&r, 100));
        at += cadu_reader_symbols(&reading.reader, symbols + at,
                                  piece < count - at ? piece : count - at);
    }
    open_reading(&f, &r, true);
    reading.reader.marker_errors = CADU_MARKER_ERRORS_MAX;
    while (read_unit(&unit))
        good += unit.quality == CADU_GOOD;
    ck_assert_uint_lt(good, 10);
}
END_TEST

START_TEST(problems)
{
    struct cadu_format f = {.frame_len = 1115};
    ck_assert_ptr_null(cadu_problem(&f));
    f.frame_len = 0;
    ck_assert_ptr_nonnull(cadu_problem(&f));
    f.frame_len = FRAME_LENGTH_MAX + 1;
    ck_assert_ptr_nonnull(cadu_problem(&f));
    f = (struct cadu_format){.frame_len = 1115, .randomised = true, .sequence = PN_TC};
    ck_assert_ptr_nonnull(cadu_problem(&f));
    f = (struct cadu_format){.frame_len = 1116, .rs = &rs_223, .depth = 5};
    ck_assert_ptr_nonnull(cadu_problem(&f));
}
END_TEST

static void make_codes(void)
{
    rs_init(&rs_223, RS_255_223, RS_DUAL);
    rs_init(&rs_239, RS_255_239, RS_DUAL);
}

SUITE(frames_cadu, t)
{
    tcase_add_unchecked_fixture(t, make_codes, NULL);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, layout);
    tcase_add_test(t, long_marker);
    tcase_add_test(t, any_bit);
    tcase_add_test(t, slips);
    tcase_add_test(t, marker_errors);
    tcase_add_test(t, inversions_and_noise);
    tcase_add_test(t, quality);
    tcase_add_test(t, problems);
    tcase_add_test(t, ldpc_units);
    tcase_add_test(t, turbo_units);
    tcase_add_test(t, soft_symbols);
}
