/* SPDX-License-Identifier: Apache-2.0 */
/* Transfer frames: formats, what is written is read again, each defect and its verdict. */
#include "frames/frame.h"
#include "base/rng.h"
#include "frames/fecf.h"
#include "frames/pn.h"
#include "frames_help.h"
#include "tests/unit/suite.h"

/* Each kind, bare and with everything. */
static const struct frame_format formats[] = {
    {.kind = FRAME_TM, .length = 1115},
    {.kind = FRAME_TM, .length = 256, .fecf = 2, .ocf = true, .secondary_len = 5},
    {.kind = FRAME_AOS, .length = 1115},
    {.kind = FRAME_AOS, .length = 64, .fecf = 2, .ocf = true, .insert_len = 9},
    {.kind = FRAME_AOS, .length = 100, .fecf = 2, .fhec = true, .insert_len = 3},
    {.kind = FRAME_AOS, .length = 100, .fhec = true, .count_cycle = true, .wide_scid = true},
    {.kind = FRAME_USLP, .length = 512},
    {.kind = FRAME_USLP, .length = 65536, .fecf = 2, .ocf = true, .count_len = 3, .insert_len = 7},
    {.kind = FRAME_USLP, .length = 64, .count_len = 7},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static struct frame draw_frame(struct rng *r, const struct frame_format *f, const uint8_t *fields)
{
    struct frame_layout l = frame_layout(f);
    unsigned scid_bits = f->kind == FRAME_USLP ? 16 : f->kind == FRAME_TM || f->wide_scid ? 10 : 8;
    unsigned count_bits = frame_count_bits(f);
    struct frame h = {.kind = f->kind};
    h.scid = (uint16_t)rng_below(r, UINT64_C(1) << scid_bits);
    h.vcid = (uint8_t)rng_below(r, f->kind == FRAME_TM ? 8 : 63);
    h.map = f->kind == FRAME_USLP ? (uint8_t)rng_below(r, 16) : 0;
    h.count = rng_u64(r) & ((UINT64_C(1) << count_bits) - 1);
    h.master_count = f->kind == FRAME_TM ? (uint8_t)rng_u64(r) : 0;
    h.replay = f->kind == FRAME_AOS && rng_chance(r, 0.5);
    h.bypass = f->kind == FRAME_USLP && rng_chance(r, 0.5);
    h.destination = f->kind == FRAME_USLP && rng_chance(r, 0.5);
    h.ocf = f->ocf ? (uint32_t)rng_u64(r) : 0;
    h.pointer = rng_chance(r, 0.3) ? FRAME_NO_START : (uint32_t)rng_below(r, l.zone_len);
    if (rng_chance(r, 0.5))
        h.insert = slice_of(fields, f->insert_len);
    if (f->secondary_len > 0 && rng_chance(r, 0.5))
        h.secondary = slice_of(fields, f->secondary_len - 1U);
    return h;
}

static void assert_field(struct slice got, struct slice want, size_t len)
{
    ck_assert_uint_eq(got.len, len);
    for (size_t i = 0; i < len; i++)
        ck_assert_uint_eq(got.data[i], want.len == 0 ? 0 : want.data[i]);
}

static uint8_t buffer[FRAME_LENGTH_MAX];

static void write_whole(const struct frame_format *f, const struct frame *h, struct rng *r)
{
    struct frame_layout l = frame_layout(f);
    memset(buffer, 0xee, sizeof buffer);
    frame_write(f, h, buffer);
    for (uint32_t i = 0; i < l.zone_len; i++)
        buffer[l.zone_at + i] = (uint8_t)rng_u64(r);
    struct slice parts[2] = {slice_of(buffer, 7), slice_of(buffer + 7, l.fecf_at - 7)};
    frame_seal(f, parts, 2, buffer);
}

START_TEST(round_trip)
{
    struct rng r;
    uint8_t fields[16];
    rng_init(&r, 7);
    for (int k = 0; k < 40 * FORMATS; k++) {
        const struct frame_format *f = &formats[k % FORMATS];
        struct frame_layout l = frame_layout(f);
        fill_steps(fields, sizeof fields, (unsigned)k);
        struct frame h = draw_frame(&r, f, fields), got;
        write_whole(f, &h, &r);
        ck_assert_int_eq(frame_parse(f, buffer, f->length, &got), FRAME_OK_VERDICT);
        ck_assert(got.scid == h.scid && got.vcid == h.vcid && got.map == h.map);
        ck_assert_uint_eq(got.count, h.count);
        ck_assert_uint_eq(got.count_bits, frame_count_bits(f));
        ck_assert(got.master_count == h.master_count && got.replay == h.replay);
        ck_assert(got.bypass == h.bypass && got.destination == h.destination);
        ck_assert_uint_eq(got.pointer, h.pointer);
        ck_assert(got.has_ocf == f->ocf && got.ocf == h.ocf && got.packets && !got.only_idle);
        ck_assert_ptr_eq(got.zone.data, buffer + l.zone_at);
        ck_assert_uint_eq(got.zone.len, l.zone_len);
        assert_field(got.insert, h.insert, f->insert_len);
        if (f->secondary_len > 0)
            assert_field(got.secondary, h.secondary, f->secondary_len - 1U);
        if (f->fecf == 2) { /* any wrong bit */
            uint64_t bit = rng_below(&r, f->length * 8);
            buffer[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
            enum frame_verdict v = frame_parse(f, buffer, f->length, &got);
            if (f->fhec && (bit < 16 || (bit >= 40 && bit < 64)))
                ck_assert(v == FRAME_OK_VERDICT && got.corrected == 1 && got.scid == h.scid);
            else
                ck_assert(v == FRAME_FECF_VERDICT || v == FRAME_VERSION_VERDICT);
        }
        ck_assert_int_eq(frame_parse(f, buffer, f->length - 1, &got), FRAME_LENGTH_VERDICT);
        ck_assert_int_eq(frame_parse(f, buffer, 0, &got), FRAME_LENGTH_VERDICT);
    }
}
END_TEST

START_TEST(only_idle)
{
    struct rng r;
    rng_init(&r, 8);
    for (int k = 0; k < FORMATS; k++) {
        const struct frame_format *f = &formats[k];
        struct frame h = draw_frame(&r, f, NULL), got;
        h.insert = h.secondary = slice_of(NULL, 0);
        frame_write_idle(f, &h, buffer);
        ck_assert_int_eq(frame_parse(f, buffer, f->length, &got), FRAME_IDLE_VERDICT);
        ck_assert(got.only_idle && !(got.packets && f->kind != FRAME_TM));
        ck_assert_uint_eq(got.vcid, f->kind == FRAME_TM ? h.vcid : FRAME_IDLE_VCID);
        ck_assert_uint_eq(got.count, h.count);
        uint8_t want[64];
        pn_fill(PN_TM, want, sizeof want);
        ck_assert_mem_eq(got.zone.data, want, got.zone.len < 64 ? got.zone.len : 64);
    }
}
END_TEST

START_TEST(problems)
{
    static const struct frame_format wrong[] = {
        {.kind = (enum frame_kind)4, .length = 100},
        {.kind = FRAME_TM, .length = 2049},
        {.kind = FRAME_TM, .length = 6},
        {.kind = FRAME_TM, .length = 100, .fecf = 4},
        {.kind = FRAME_TM, .length = 100, .secondary_len = 1},
        {.kind = FRAME_TM, .length = 100, .secondary_len = 65},
        {.kind = FRAME_TM, .length = 100, .insert_len = 1},
        {.kind = FRAME_TM, .length = 100, .fhec = true},
        {.kind = FRAME_TM, .length = 100, .segments = true},
        {.kind = FRAME_TM, .length = 100, .count_len = 1},
        {.kind = FRAME_AOS, .length = 8},
        {.kind = FRAME_AOS, .length = 10, .insert_len = 2},
        {.kind = FRAME_AOS, .length = 2055},
        {.kind = FRAME_AOS, .length = 100, .secondary_len = 2},
        {.kind = FRAME_USLP, .length = 65537},
        {.kind = FRAME_USLP, .length = 100, .count_len = 8},
        {.kind = FRAME_TC, .length = 1025},
        {.kind = FRAME_TC, .length = 100, .ocf = true},
        {.kind = FRAME_TC, .length = 7, .fecf = 2},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_ptr_nonnull(frame_format_problem(&wrong[i]));
    for (int i = 0; i < FORMATS; i++)
        ck_assert_ptr_null(frame_format_problem(&formats[i]));
    struct frame_format least = {.kind = FRAME_AOS, .length = 9};
    ck_assert_ptr_null(frame_format_problem(&least));
    ck_assert_uint_eq(frame_layout(&least).zone_len, 1);
    struct frame_format usual = {.kind = FRAME_AOS, .length = 1115, .fecf = 2};
    ck_assert_uint_eq(frame_layout(&usual).zone_len, 1105);
}
END_TEST

/* A good frame, then one octet changed and the check value made right again. */
static enum frame_verdict parse_changed(const struct frame_format *f, size_t at, uint8_t value,
                                        struct frame *got)
{
    struct frame_layout l = frame_layout(f);
    struct frame h = {.kind = f->kind, .scid = 5, .vcid = 2};
    struct slice all = slice_of(buffer, l.fecf_at);
    memset(buffer, 0, sizeof buffer);
    frame_write(f, &h, buffer);
    buffer[at] = value;
    frame_seal(f, &all, 1, buffer);
    return frame_parse(f, buffer, f->length, got);
}

START_TEST(defects)
{
    const struct frame_format tm = {.kind = FRAME_TM, .length = 20, .fecf = 2};
    const struct frame_format uslp = {.kind = FRAME_USLP, .length = 20, .fecf = 2};
    const struct frame_format aos = {.kind = FRAME_AOS, .length = 20, .fecf = 2};
    struct frame got;
    ck_assert_int_eq(parse_changed(&tm, 0, 0x40, &got), FRAME_VERSION_VERDICT);
    ck_assert_int_eq(parse_changed(&aos, 0, 0x00, &got), FRAME_VERSION_VERDICT);
    ck_assert_int_eq(parse_changed(&aos, 0, 0xc0, &got), FRAME_VERSION_VERDICT);
    ck_assert_int_eq(parse_changed(&uslp, 0, 0xd0, &got), FRAME_VERSION_VERDICT);
    ck_assert_int_eq(parse_changed(&uslp, 5, 20, &got), FRAME_LENGTH_VERDICT);
    ck_assert_int_eq(parse_changed(&uslp, 3, 1, &got), FRAME_FIELD_VERDICT);
    ck_assert_int_eq(parse_changed(&uslp, 6, 7, &got), FRAME_OK_VERDICT); /* a count of 7 octets */
    ck_assert(got.count_bits == 56 && got.zone.len == 1);
    ck_assert_int_eq(parse_changed(&uslp, 6, 15, &got), FRAME_FIELD_VERDICT); /* and an OCF */
    ck_assert_int_eq(parse_changed(&uslp, 7, 7 << 5, &got), FRAME_OK_VERDICT);
    ck_assert(!got.packets && got.zone.len == 10);
    ck_assert_int_eq(parse_changed(&uslp, 7, 31, &got), FRAME_IDLE_VERDICT);
    ck_assert_int_eq(parse_changed(&tm, 4, 0x98, &got), FRAME_FIELD_VERDICT); /* secondary of 1 */
    ck_assert_int_eq(parse_changed(&tm, 4, 0x58, &got), FRAME_OK_VERDICT);    /* not packets */
    ck_assert(!got.packets);
    ck_assert_int_eq(parse_changed(&aos, 7, 0xfe, &got), FRAME_OK_VERDICT);
    ck_assert_uint_eq(got.pointer, 0xfe); /* beyond the zone: who reads packets says so */
    ck_assert_int_eq(parse_changed(&aos, 6, 0xff, &got), FRAME_OK_VERDICT);
    ck_assert_uint_eq(got.pointer, 0x700); /* spare bits do not count */
}
END_TEST

START_TEST(header_errors)
{
    const struct frame_format f = {.kind = FRAME_AOS, .length = 40, .fhec = true};
    struct frame h = {.kind = FRAME_AOS, .scid = 0xab, .vcid = 5, .count = 0x123456}, got;
    struct frame_channel c = {.format = f, .scid = 0xab};
    frame_write(&f, &h, buffer);
    buffer[0] ^= 0x80; /* even of the version */
    buffer[5] ^= 0x0f;
    ck_assert_int_eq(frame_input(&c, buffer, 40, &got), FRAME_OK_VERDICT);
    ck_assert(got.corrected == 2 && got.scid == 0xab && got.vcid == 5 && got.count == 0x123456);
    ck_assert_uint_eq(c.corrected, 2);
    buffer[1] ^= 0x33;
    ck_assert_int_eq(frame_input(&c, buffer, 40, &got), FRAME_FHEC_VERDICT);
    h.scid = 0xac;
    frame_write(&f, &h, buffer);
    ck_assert_int_eq(frame_input(&c, buffer, 40, &got), FRAME_SPACECRAFT_VERDICT);
    c.scid = -1;
    ck_assert_int_eq(frame_input(&c, buffer, 40, &got), FRAME_OK_VERDICT);
    ck_assert_int_eq(frame_input(&c, buffer, 41, &got), FRAME_LENGTH_VERDICT);
    ck_assert(c.verdicts[FRAME_OK_VERDICT] == 2 && c.verdicts[FRAME_FHEC_VERDICT] == 1 &&
              c.verdicts[FRAME_SPACECRAFT_VERDICT] == 1 && c.verdicts[FRAME_LENGTH_VERDICT] == 1);
    ck_assert_str_eq(frame_verdict_name(FRAME_NO_PACKETS_VERDICT), "no_packets");
}
END_TEST

START_TEST(tc_frames)
{
    struct frame_format f = {.kind = FRAME_TC, .length = 1024, .fecf = 2};
    struct frame h = {.kind = FRAME_TC, .scid = 0x1ab, .vcid = 3, .count = 42, .bypass = true}, got;
    uint8_t payload[1024] = {0xe5, 0x16};
    fill_steps(payload + 2, 20, 0x10);
    ck_assert_uint_eq(frame_write_tc(&f, &h, slice_of(payload, 22), buffer, 28), 0);
    ck_assert_uint_eq(frame_write_tc(&f, &h, slice_of(payload, 22), buffer, 29), 29);
    assert_hex(buffer, 29, "21ab0c1c2ae51610171e252c333a41484f565d646b727980878e95162a");
    memset(buffer + 29, 0x55, 6); /* fill of a CLTU */
    ck_assert_int_eq(frame_parse(&f, buffer, 35, &got), FRAME_OK_VERDICT);
    ck_assert(got.length == 29 && got.scid == 0x1ab && got.vcid == 3 && got.count == 42);
    ck_assert(got.bypass && !got.command && got.packets && got.pointer == 0);
    ck_assert_uint_eq(got.zone.len, 22);
    ck_assert_int_eq(frame_parse(&f, buffer, 28, &got), FRAME_LENGTH_VERDICT);
    ck_assert_int_eq(frame_parse(&f, buffer, 4, &got), FRAME_LENGTH_VERDICT);
    buffer[28] ^= 1;
    ck_assert_int_eq(frame_parse(&f, buffer, 29, &got), FRAME_FECF_VERDICT);
    buffer[0] |= 0x40;
    ck_assert_int_eq(frame_parse(&f, buffer, 29, &got), FRAME_VERSION_VERDICT);
    ck_assert_uint_eq(frame_write_tc(&f, &h, slice_of(payload, 1017), buffer, 2000), 1024);
    ck_assert_uint_eq(frame_write_tc(&f, &h, slice_of(payload, 1018), buffer, 2000), 0);
    ck_assert_uint_eq(frame_write_tc(&f, &h, slice_of(payload, 0), buffer, 2000), 0);
    f.segments = true;
    h.map = 33;
    for (h.sequence = 0; h.sequence < 4; h.sequence++) {
        ck_assert_uint_eq(frame_write_tc(&f, &h, slice_of(payload, 5), buffer, 2000), 13);
        ck_assert_int_eq(frame_parse(&f, buffer, 13, &got), FRAME_OK_VERDICT);
        ck_assert(got.map == 33 && got.sequence == h.sequence && got.zone.len == 5);
        ck_assert_int_eq(got.packets, h.sequence == 3);
    }
    f.fecf = 0;
    buffer[0] |= 0x10; /* a control command has no segment header */
    ck_assert_int_eq(frame_parse(&f, buffer, 13, &got), FRAME_OK_VERDICT);
    ck_assert(got.command && !got.packets && got.zone.len == 8);
    buffer[0] &= 0xdf; /* which is always of type B */
    ck_assert_int_eq(frame_parse(&f, buffer, 13, &got), FRAME_FIELD_VERDICT);
}
END_TEST

SUITE(frames_frame, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, round_trip);
    tcase_add_test(t, only_idle);
    tcase_add_test(t, problems);
    tcase_add_test(t, defects);
    tcase_add_test(t, header_errors);
    tcase_add_test(t, tc_frames);
}
