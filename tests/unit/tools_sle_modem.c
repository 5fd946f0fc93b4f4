/* SPDX-License-Identifier: Apache-2.0 */
/* Units of a modem: what is written is read again; each value that is none is refused. */
#include "tests/unit/sle_help.h"
#include "tests/unit/suite.h"
#include "tools/sle/sle_modem.h"

enum { FRAME_MAX = 100, FRAME = 40, ANTENNA = 3, ANNOTATION = 5 };

static uint8_t octets[MODEM_FRONT_MAX + FRAME_MAX];

static struct modem_unit frame_unit(void)
{
    static const uint8_t frame[FRAME] = {1, 2, 3};
    return (struct modem_unit){
        .kind = MODEM_FRAME,
        .quality = SLE_ERRED,
        .production = SLE_INTERRUPTED,
        .locks = {SLE_IN_LOCK, SLE_LOCK_UNKNOWN, SLE_NOT_IN_USE, SLE_OUT_OF_LOCK},
        .time = {.day = 25000, .ms = 86400999, .ps = 999999999, .pico = true},
        .missing = 7,
        .antenna = slice_of("ANT", ANTENNA),
        .antenna_global = true,
        .annotation = slice_of("12345", ANNOTATION),
        .data = slice_of(frame, FRAME)};
}

static size_t write_unit(const struct modem_unit *u)
{
    const size_t front = modem_write(u, octets);
    if (u->data.len > 0)
        memcpy(octets + front, u->data.data, u->data.len);
    return front + u->data.len;
}

static enum modem_verdict read_octets(size_t len, struct modem_unit *out)
{
    size_t used = 0;
    const enum modem_verdict v = modem_read(slice_of(octets, len), FRAME_MAX, out, &used);
    if (v == MODEM_OK)
        ck_assert_uint_le(used, len);
    return v;
}

START_TEST(a_frame_is_read_as_it_was_written)
{
    const struct modem_unit u = frame_unit();
    struct modem_unit r;
    size_t used = 0;
    const size_t len = write_unit(&u);
    ck_assert_uint_eq(len, MODEM_HEAD + ANTENNA + ANNOTATION + FRAME);
    ck_assert_int_eq(modem_read(slice_of(octets, sizeof octets), FRAME_MAX, &r, &used), MODEM_OK);
    ck_assert_uint_eq(used, len);
    ck_assert_int_eq(r.kind, u.kind);
    ck_assert_uint_eq(r.quality, u.quality);
    ck_assert_int_eq(r.production, u.production);
    ck_assert_int_eq(r.locks.frame, u.locks.frame);
    ck_assert_int_eq(r.locks.symbol, u.locks.symbol);
    ck_assert_int_eq(r.locks.subcarrier, u.locks.subcarrier);
    ck_assert_int_eq(r.locks.carrier, u.locks.carrier);
    ck_assert_int_eq(sle_time_compare(r.time, u.time), 0);
    ck_assert(r.time.pico && r.antenna_global);
    ck_assert_uint_eq(r.missing, u.missing);
    ck_assert(slice_equal(r.antenna, u.antenna) && slice_equal(r.annotation, u.annotation) &&
              slice_equal(r.data, u.data));
}
END_TEST

START_TEST(a_part_of_a_unit_is_short)
{
    const struct modem_unit u = frame_unit();
    struct modem_unit r;
    const size_t len = write_unit(&u);
    for (size_t n = 0; n < len; n++)
        ck_assert_int_eq(read_octets(n, &r), MODEM_SHORT);
    ck_assert_int_eq(read_octets(len, &r), MODEM_OK);
}
END_TEST

/* Of the written unit, one octet is another. */
static void refuse(const struct modem_unit *u, size_t at, uint8_t value)
{
    struct modem_unit r;
    const size_t len = write_unit(u);
    ck_assert_int_eq(read_octets(len, &r), MODEM_OK);
    octets[at] = value;
    ck_assert_msg(read_octets(len, &r) == MODEM_BAD, "octet %zu: %u", at, value);
}

START_TEST(values_out_of_their_range_are_refused)
{
    const struct modem_unit u = frame_unit();
    for (size_t k = 0; k < 4; k++)
        refuse(&u, k, 0);
    refuse(&u, 4, 3);              /* kind */
    refuse(&u, 5, 4);              /* quality */
    refuse(&u, 6, 3);              /* production */
    refuse(&u, 7, 0x80);           /* a frame lock that is not in use */
    refuse(&u, 7, 0x20);           /* symbol */
    refuse(&u, 7, 0x02);           /* carrier */
    refuse(&u, 8, 0x00);           /* a day before 1970 */
    refuse(&u, 10, 0x06);          /* ms of the day */
    refuse(&u, 14, 0x3c);          /* ps of the ms */
    refuse(&u, 18, 17);            /* antenna */
    refuse(&u, 18, 128);           /* global form of nothing */
    refuse(&u, 19, 129);           /* annotation */
    refuse(&u, 20, 0x01);          /* missing: 16,777,223 */
    refuse(&u, 27, FRAME_MAX + 1); /* data */
    refuse(&u, 27, 0);
}
END_TEST

START_TEST(a_frame_may_leave_things_unsaid)
{
    struct modem_unit u = frame_unit(), r;
    u.quality = MODEM_QUALITY_NOT_SAID;
    u.missing = MODEM_MISSING_NOT_SAID;
    u.antenna.len = u.annotation.len = 0;
    u.antenna_global = false;
    ck_assert_int_eq(read_octets(write_unit(&u), &r), MODEM_OK);
    ck_assert_uint_eq(r.quality, MODEM_QUALITY_NOT_SAID);
    ck_assert_uint_eq(r.missing, MODEM_MISSING_NOT_SAID);
    ck_assert_uint_eq(r.antenna.len + r.annotation.len, 0);
}
END_TEST

/* What only frames have. */
START_TEST(words_have_nothing_of_a_frame)
{
    const struct modem_unit full = frame_unit();
    for (int kind = MODEM_STATUS; kind <= MODEM_END; kind++) {
        const struct modem_unit word = {
            .kind = (enum modem_kind)kind, .production = SLE_HALTED, .time = full.time};
        struct modem_unit r;
        ck_assert_uint_eq(write_unit(&word), MODEM_HEAD);
        ck_assert_int_eq(read_octets(MODEM_HEAD, &r), MODEM_OK);
        ck_assert_int_eq((int)r.kind, kind);
        ck_assert_int_eq(r.production, SLE_HALTED);
        refuse(&word, 5, 1);
        refuse(&word, 18, 1);
        refuse(&word, 19, 1);
        refuse(&word, 23, 1);
        refuse(&word, 27, 1);
    }
}
END_TEST

SUITE(tools_sle_modem, t)
{
    tcase_add_test(t, a_frame_is_read_as_it_was_written);
    tcase_add_test(t, a_part_of_a_unit_is_short);
    tcase_add_test(t, values_out_of_their_range_are_refused);
    tcase_add_test(t, a_frame_may_leave_things_unsaid);
    tcase_add_test(t, words_have_nothing_of_a_frame);
}
