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

static bool one(uint64_t seed, const char *program, bool verbose, struct soak_totals *totals)
{
    struct soak_case c;
    char text[512], why[512];
    soak_draw(&c, seed);
    soak_describe(&c, text, sizeof text);
    if (verbose) {
        printf("%s\n", text);
        fflush(stdout);
    }
    bool good = soak_run(&c, totals, why, sizeof why);
    if (!good)
        printf("FAILED %s\n  %s\n  again: %s --seeds %" PRIu64 "\n", why, text, program, seed);
    soak_fini(&c);
    return good;
}

int main(int argc, char **argv)
{
    uint64_t first = 0, last = 0;
    bool verbose = argc == 4 && strcmp(argv[3], "--verbose") == 0;
    if ((argc != 3 && !verbose) || strcmp(argv[1], "--seeds") != 0 ||
        !parse_seeds(argv[2], &first, &last)) {
        fprintf(stderr, "usage: sim_soak --seeds A..B [--verbose]\n");
        return 2;
    }
    struct soak_totals t = {0};
    uint64_t failed = 0;
    for (uint64_t seed = first; seed <= last && failed < 10; seed++)
        failed += !one(seed, argv[0], verbose, &t);
    printf("%" PRIu64 " cases (%" PRIu64 " gentle), %" PRIu64 " blocks, %" PRIu64
           " red parts delivered, %" PRIu64 " of %" PRIu64 " orange ones told lost, %" PRIu64
           " cancelled, %" PRIu64 " frames, %" PRIu64 " lost, %" PRIu64 " steps, %" PRIu64
           " failed\n",
           t.cases, t.gentle, t.blocks, t.red_delivered, t.orange_lost, t.orange, t.cancelled,
           t.frames, t.lost, t.steps, failed);
    return failed != 0;
}
