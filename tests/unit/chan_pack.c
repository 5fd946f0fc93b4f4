/* SPDX-License-Identifier: Apache-2.0 */
/* The compact form: what is written is read back, the bytes are the documented ones, and any change
 * of a byte is found. */
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/err.h"
#include "base/rng.h"
#include "channel-emu/chan/chan_bits.h"
#include "channel-emu/chan/chan_pack.h"
#include "tests/unit/suite.h"

static const struct trace_about about = {
    .generator = "renewal", .parameters = "--preset A", .seeded = true, .seed = 9};

static void fill(struct trace *t, uint64_t seed, size_t runs, unsigned bits)
{
    struct rng r;
    rng_init(&r, seed);
    trace_init(t, 100000);
    bool bad = rng_chance(&r, 0.5);
    for (size_t i = 0; i < runs; i++, bad = !bad)
        ck_assert_int_eq(trace_add(t, bad, (rng_u64(&r) >> (63 - rng_below(&r, bits))) + 1), 0);
}

static void check_equal(const struct trace *a, const struct trace *b)
{
    ck_assert_uint_eq(a->step, b->step);
    ck_assert_uint_eq(a->steps, b->steps);
    ck_assert_uint_eq(a->len, b->len);
    for (size_t i = 0; i < a->len; i++) {
        ck_assert_uint_eq(a->runs[i].steps, b->runs[i].steps);
        ck_assert_int_eq(a->runs[i].bad, b->runs[i].bad);
    }
}

START_TEST(what_is_written_is_read)
{
    for (size_t runs = 1; runs < 700; runs = runs * 2 + 1) {
        struct trace t, back;
        struct trace_about a;
        uint8_t *file;
        size_t len;
        char error[TRACE_PACK_ERROR_MAX];
        fill(&t, 100 * (uint64_t)_i + runs, runs, 1 + 6 * (unsigned)_i);
        ck_assert_int_eq(trace_pack(&t, _i == 0 ? NULL : &about, &file, &len), 0);
        trace_init(&back, 1);
        int rc = trace_unpack(&back, &a, slice_of(file, len), false, error);
        ck_assert_msg(rc == 0, "%s", error);
        check_equal(&t, &back);
        ck_assert_str_eq(a.parameters, _i == 0 ? "" : about.parameters);
        ck_assert_str_eq(a.generator, _i == 0 ? "" : about.generator);
        ck_assert_int_eq(a.seeded, _i != 0);
        ck_assert_uint_eq(a.seed, _i == 0 ? 0 : 9);
        free(file);
        trace_fini(&t);
        trace_fini(&back);
    }
}
END_TEST

/* The example of docs/trace-format.md, worked out by hand. */
static const char example[] = "helio-trace 1\nstep_ns 100000\nsteps 8\nruns 4\nfirst good\n"
                              "generator -\nparameters -\nseed -\n"
                              "bad runs=2 share=0.250000 mean_ms=0.1000 sd_ms=0.0000 "
                              "median_ms=0.1000 p90_ms=0.1000 max_ms=0.1000\n"
                              "good runs=2 share=0.750000 mean_ms=0.3000 sd_ms=0.1000 "
                              "median_ms=0.2000 p90_ms=0.4000 max_ms=0.4000\n"
                              "rice good=1 bad=0 bytes=1\n\n\x54";

static void make_example(struct trace *t)
{
    trace_init(t, 100000);
    trace_add(t, false, 2);
    trace_add(t, true, 1);
    trace_add(t, false, 4);
    trace_add(t, true, 1);
}

START_TEST(the_documented_bytes)
{
    struct trace t;
    uint8_t *file;
    size_t len;
    make_example(&t);
    ck_assert_int_eq(trace_pack(&t, NULL, &file, &len), 0);
    ck_assert_uint_eq(len, sizeof example - 1 + 4);
    ck_assert_mem_eq(file, example, sizeof example - 1);
    free(file);
    trace_fini(&t);
}
END_TEST

/* Each change of the example, and how the message begins. */
static const struct {
    const char *from, *to, *error;
} changes[] = {
    {"helio-trace 1", "helio-trace 2", "line 1: this version"},
    {"step_ns 100000", "step_ns 0", "line 2: step_ns must be a whole number from 1"},
    {"step_ns 100000", "step_ns 3600000000001", "line 2: step_ns must be"},
    {"step_ns 100000", "steps 100000", "line 2: the line 'step_ns …' of the header is missing"},
    {"steps 8", "steps 08", "line 3: steps must be"},
    {"steps 8", "steps 9", "offset 313: the runs do not add up"},
    {"runs 4", "runs 0", "line 4: runs must be"},
    {"runs 4", "runs 18446744073709551616", "line 4: runs must be"},
    {"runs 4", "runs 5", "offset 314: the runs end early"},
    {"runs 4", "runs 3", "offset 313: the runs do not add up"},
    {"first good", "first goo", "line 5: first must be"},
    {"generator -", "generator a b", "line 6: the generator must be one word"},
    {"generator -", "generator aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "line 6: the text is too long"},
    {"parameters -", "parameters \x7f", "line 7: the line 'parameters"},
    {"seed -", "seed x", "line 8: the seed"},
    {"bad runs", "bed runs", "line 9: the line 'bad"},
    {"rice good=1", "rice good=58", "line 11: right is"},
    {"bytes=1\n", "bytes=2\n", "offset 313: the file is cut off"},
    {"\n\n", "\n", "line 12: an empty line"},
    {"\x54", "\x55", "offset 313: something follows"},
    {"bad=0", "bad=57", "offset 315: the runs end early"},
};

START_TEST(each_wrong_line_has_its_message)
{
    char error[TRACE_PACK_ERROR_MAX];
    uint8_t file[1024];
    const char *at = strstr(example, changes[_i].from);
    ck_assert_ptr_nonnull(at);
    size_t before = (size_t)(at - example), n = strlen(changes[_i].to);
    size_t skip = before + strlen(changes[_i].from), after = sizeof example - 1 - skip;
    memcpy(file, example, before);
    memcpy(file + before, changes[_i].to, n);
    memcpy(file + before + n, example + skip, after);
    size_t len = before + n + after;
    uint32_t crc = crc32c(0, file, len);
    for (int i = 0; i < 4; i++)
        file[len++] = (uint8_t)(crc >> (24 - 8 * i));
    struct trace t;
    trace_init(&t, 1);
    ck_assert_int_eq(trace_unpack(&t, NULL, slice_of(file, len), false, error), HELIO_EFORMAT);
    ck_assert_msg(strncmp(error, changes[_i].error, strlen(changes[_i].error)) == 0, "%s", error);
    trace_fini(&t);
}
END_TEST

START_TEST(every_damage_is_found)
{
    char error[TRACE_PACK_ERROR_MAX];
    struct trace t, back;
    uint8_t *file;
    size_t len;
    fill(&t, 5, 60, 12);
    ck_assert_int_eq(trace_pack(&t, &about, &file, &len), 0);
    for (size_t bit = 0; bit < 8 * len; bit++) {
        file[bit / 8] ^= (uint8_t)(1u << bit % 8);
        trace_init(&back, 1);
        int rc = trace_unpack(&back, NULL, slice_of(file, len), false, error);
        ck_assert_msg(rc == HELIO_EFORMAT, "bit %zu", bit);
        trace_fini(&back);
        file[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t cut = 0; cut < len; cut++) {
        trace_init(&back, 1);
        int rc = trace_unpack(&back, NULL, slice_of(file, cut), false, error);
        ck_assert_msg(rc == HELIO_EFORMAT, "cut at %zu", cut);
        trace_fini(&back);
    }
    trace_init(&back, 42);
    ck_assert_int_eq(trace_unpack(&back, NULL, slice_of(file, len), true, error), 0);
    ck_assert_uint_eq(back.step, 42);
    trace_fini(&back);
    free(file);
    trace_fini(&t);
}
END_TEST

START_TEST(rice_codes)
{
    static const uint64_t values[] = {0, 1, 31, 32, 33, 1000, UINT32_MAX, UINT64_MAX};
    for (unsigned k = 0; k <= RICE_K_MAX; k++) {
        uint8_t data[256] = {0};
        struct bits w = {.out = data};
        uint64_t bits = 0;
        for (size_t i = 0; i < 8; i++) {
            rice_put(&w, values[i], k);
            bits += rice_len(values[i], k);
        }
        ck_assert_uint_eq(w.place, bits);
        struct bits r = {.data = data, .end = bits};
        for (size_t i = 0; i < 8; i++)
            ck_assert_uint_eq(rice_get(&r, k), values[i]);
        ck_assert(!r.bad);
        rice_get(&r, k);
        ck_assert(r.bad);
    }
    /* an escape for a number that has a shorter code */
    uint8_t data[12] = {255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 31};
    struct bits r = {.data = data, .end = 96};
    rice_get(&r, 0);
    ck_assert(r.bad);
}
END_TEST

START_TEST(an_empty_trace_has_no_file)
{
    struct trace t;
    uint8_t *file;
    size_t len;
    trace_init(&t, 1);
    ck_assert_int_eq(trace_pack(&t, NULL, &file, &len), HELIO_EINVAL);
    trace_fini(&t);
}
END_TEST

SUITE(chan_pack, t)
{
    tcase_add_loop_test(t, what_is_written_is_read, 0, 8);
    tcase_add_test(t, the_documented_bytes);
    tcase_add_loop_test(t, each_wrong_line_has_its_message, 0,
                        (int)(sizeof changes / sizeof *changes));
    tcase_add_test(t, every_damage_is_found);
    tcase_add_test(t, rice_codes);
    tcase_add_test(t, an_empty_trace_has_no_file);
}
