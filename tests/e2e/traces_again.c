/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the runs of a preset: built anew with other compilers and options, it must print the same
 * (traces_test.py). */
#include <inttypes.h>
#include <stdio.h>

#include "channel-emu/chan_gen.h"

int main(int argc, char **argv)
{
    struct gen_spec spec;
    struct trace t;
    char error[GEN_ERROR_MAX];
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
