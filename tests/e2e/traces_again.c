/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the runs of a preset, or, for `bits`, numbers to the last bit: built anew with other
 * compilers and options, it must print the same (traces_test.py). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "channel-emu/chan/fading/chan_gen.h"

static void add_bits(uint64_t *hash, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    *hash = (*hash ^ bits) * UINT64_C(0x100000001b3);
}

/* Sums over the bits of many numbers: of the powers of a pass, and of each law's draws. */
static int bits_of_all(void)
{
    static const char *const laws[] = {"gamma:2ms,0.6", "gamma:2ms,3", "weibull:2ms,0.7",
                                       "lognormal:2ms,3ms", "exponential:2ms"};
    struct gen_spec s;
    struct fade f;
    struct rng r;
    char error[GEN_ERROR_MAX];
    uint64_t hash = 1;
    gen_spec_init(&s);
    if (gen_spec_set(&s, "preset", "leo-low", error) < 0)
        return 1;
    fade_init(&f, &s.fade, 100000, 1);
    for (int i = 0; i < 200000; i++)
        add_bits(&hash, fade_next(&f));
    printf("powers %016" PRIx64 "\n", hash);
    rng_init(&r, 1);
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++) {
        struct law_mix mix;
        if (law_mix_parse(laws[i], &mix) < 0)
            return 1;
        for (int n = 0; n < 20000; n++)
            add_bits(&hash, law_mix_draw(&mix, &r));
        printf("%s %016" PRIx64 "\n", laws[i], hash);
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct gen_spec spec;
    struct trace t;
    char error[GEN_ERROR_MAX];
    if (argc == 2 && strcmp(argv[1], "bits") == 0)
        return bits_of_all();
    gen_spec_init(&spec);
    if (argc != 2 || gen_spec_set(&spec, "preset", argv[1], error) < 0)
        return 2;
    trace_init(&t, 100000);
    if (gen_trace(&t, &spec, GEN_STEPS_DEFAULT, gen_preset_find(argv[1])->seed) < 0)
        return 1;
    for (size_t i = 0; i < t.len; i++)
        printf("%d %" PRIu64 "\n", t.runs[i].bad, t.runs[i].steps);
    trace_fini(&t);
    return 0;
}
