/* SPDX-License-Identifier: Apache-2.0 */
/* sim_soak --seeds A..B: runs a case for each seed; a case that fails prints the command that
 * repeats it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/soak.h"

static bool parse_seeds(const char *text, uint64_t *first, uint64_t *last)
{
    char *end;
    *first = strtoull(text, &end, 10);
    *last = *first;
    if (strncmp(end, "..", 2) == 0)
        *last = strtoull(end + 2, &end, 10);
    return end != text && *end == '\0' && *first <= *last;
}

struct options {
    const char *program;
    bool verbose, memory;
};

static bool one(uint64_t seed, const struct options *o, struct soak_totals *totals)
{
    struct soak_case c;
    char text[512], why[512];
    soak_draw(&c, seed, o->memory);
    soak_describe(&c, text, sizeof text);
    if (o->verbose) {
        printf("%s\n", text);
        fflush(stdout);
    }
    bool good = soak_run(&c, totals, why, sizeof why);
    if (!good)
        printf("FAILED %s\n  %s\n  again: %s --seeds %" PRIu64 "%s\n", why, text, o->program, seed,
               o->memory ? " --memory" : "");
    soak_fini(&c);
    return good;
}

int main(int argc, char **argv)
{
    uint64_t first = 0, last = 0;
    struct options o = {.program = argv[0]};
    bool good = argc >= 3 && strcmp(argv[1], "--seeds") == 0;
    for (int i = 3; i < argc; i++) {
        o.verbose |= strcmp(argv[i], "--verbose") == 0;
        o.memory |= strcmp(argv[i], "--memory") == 0;
    }
    if (!good || argc != 3 + o.verbose + o.memory || !parse_seeds(argv[2], &first, &last)) {
        fprintf(stderr, "usage: sim_soak --seeds A..B [--memory] [--verbose]\n");
        return 2;
    }
    struct soak_totals t = {0};
    uint64_t failed = 0;
    for (uint64_t seed = first; seed <= last && failed < 10; seed++)
        failed += !one(seed, &o, &t);
    printf("%" PRIu64 " cases (%" PRIu64 " gentle), %" PRIu64 " blocks, %" PRIu64
           " red parts delivered, %" PRIu64 " of %" PRIu64 " orange ones told lost, %" PRIu64
           " cancelled, %" PRIu64 " frames, %" PRIu64 " lost, %" PRIu64
           " imports discarded, %" PRIu64 " steps, %" PRIu64 " failed\n",
           t.cases, t.gentle, t.blocks, t.red_delivered, t.orange_lost, t.orange, t.cancelled,
           t.frames, t.lost, t.discarded, t.steps, failed);
    return failed != 0;
}
