/* SPDX-License-Identifier: Apache-2.0 */
/* Where a frame's operational control field is, and whether it has one. */
#include "tests/unit/sle_help.h"
#include "tests/unit/suite.h"
#include "tools/sle/station/sle_station.h"

/* The octets are numbers from 0; those before `len` are the frame's. */
static struct sle_frame word_of(const struct settings_source *c, const uint8_t *head, size_t n,
                                size_t len)
{
    static uint8_t d[64];
    for (size_t i = 0; i < sizeof d; i++)
        d[i] = i < n ? head[i] : (uint8_t)i;
    struct sle_frame f = {.data = slice_of(d, len)};
    station_word(c, &f);
    return f;
}

static const uint8_t aos[] = {0x6a, 0xc5}, tm[] = {0x0a, 0xb1};

START_TEST(managed)
{
    struct settings_source c = {.control_words = true};
    ck_assert_uint_eq(word_of(&c, aos, 2, 40).ocf[0], 36);
    ck_assert(word_of(&c, aos, 2, 4).has_ocf);
    ck_assert(!word_of(&c, aos, 2, 3).has_ocf);
    ck_assert(!word_of(&c, aos, 0, 0).has_ocf);
    c.fecf = 2;
    struct sle_frame f = word_of(&c, aos, 2, 40);
    ck_assert(f.has_ocf && f.ocf[0] == 34 && f.ocf[3] == 37);
    ck_assert(!word_of(&c, aos, 2, 5).has_ocf);
    c.control_words = false;
    ck_assert(!word_of(&c, aos, 2, 40).has_ocf);
}
END_TEST

START_TEST(tm_frames_say_so)
{
    static const uint8_t without[] = {0x0a, 0xb0}, all_but_it[] = {0x3f, 0xfe};
    struct settings_source c = {.control_words = true};
    for (c.fecf = 0; c.fecf <= 2; c.fecf += 2) {
        struct sle_frame f = word_of(&c, tm, 2, 40);
        ck_assert(f.has_ocf && f.ocf[0] == 36 - c.fecf && f.ocf[3] == 39 - c.fecf);
        ck_assert(word_of(&c, tm, 2, 11 + c.fecf).has_ocf); /* six octets of header, one of data */
        ck_assert(!word_of(&c, tm, 2, 10 + c.fecf).has_ocf);
        ck_assert(!word_of(&c, without, 2, 40).has_ocf);
        ck_assert(!word_of(&c, all_but_it, 2, 40).has_ocf);
        ck_assert(!word_of(&c, tm, 1, 1).has_ocf);
    }
    c.control_words = false;
    ck_assert(!word_of(&c, tm, 2, 40).has_ocf);
}
END_TEST

START_TEST(uslp_frames_say_so)
{
    uint8_t head[7] = {0xc9, 0xc4, 0x05, 0x40, 0, 39, 0x08};
    struct settings_source c = {.control_words = true};
    for (c.fecf = 0; c.fecf <= 4; c.fecf += 2) {
        struct sle_frame f = word_of(&c, head, 7, 40);
        ck_assert(f.has_ocf && f.ocf[0] == 36 - c.fecf && f.ocf[3] == 39 - c.fecf);
        head[6] = 0x0f; /* seven octets of frame count: those, and one of data */
        ck_assert(word_of(&c, head, 7, 19 + c.fecf).has_ocf);
        ck_assert(!word_of(&c, head, 7, 18 + c.fecf).has_ocf);
        head[6] = 0xf7; /* all but the flag */
        ck_assert(!word_of(&c, head, 7, 40).has_ocf);
        head[6] = 0x08;
        head[3] |= 1; /* truncated: its fifth octet is data */
        ck_assert(!word_of(&c, head, 7, 40).has_ocf);
        ck_assert(!word_of(&c, head, 4, 6).has_ocf);
        head[3] &= 0xfe;
        ck_assert(!word_of(&c, head, 6, 6).has_ocf);
    }
    c.control_words = false;
    ck_assert(!word_of(&c, head, 7, 40).has_ocf);
}
END_TEST

static int parse(const char *keys, struct settings *s)
{
    char text[512];
    struct conf_errors errors;
    conf_errors_init(&errors, "test");
    int n = snprintf(text, sizeof text,
                     "id: STATION\nusers: [{id: CENTRE}]\nsources: [{%s}]\n"
                     "instances:\n- {id: sagr=1.spack=1.rsl-fg=1.raf=onlc1, "
                     "users: CENTRE, source: s}\n",
                     keys);
    return settings_parse(s, text, (size_t)n, &errors);
}

START_TEST(configured)
{
    struct settings s;
    ck_assert_int_eq(parse("name: s, kind: file, file: f, control_words: yes, fecf: 4", &s), 0);
    ck_assert_uint_eq(s.sources[0].fecf, 4);
    settings_free(&s);
    static const char *const wrong[] = {
        "name: s, kind: file, file: f, fecf: 1", "name: s, kind: file, file: f, fecf: 3",
        "name: s, kind: file, file: f, fecf: 5", "name: s, format: tm, fecf: 2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_lt(parse(wrong[i], &s), 0);
        settings_free(&s);
    }
}
END_TEST

SUITE(tools_sle_words, t)
{
    tcase_add_test(t, managed);
    tcase_add_test(t, tm_frames_say_so);
    tcase_add_test(t, uslp_frames_say_so);
    tcase_add_test(t, configured);
}
