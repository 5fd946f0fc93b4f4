/* SPDX-License-Identifier: Apache-2.0 */
/* usage: sim_histories [--seeds A..B] [--over ltp|tcpcl|udp] [--verbose]
 * one seed with --verbose tells what happens */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/histories.h"

#define SHOWN_MAX 10
#define JOBS_MAX 64

static const char *const adapters[] = {"ltp", "tcpcl", "udp"};

struct outcome {
    struct history_totals t;
    unsigned long long wrong;
};

static void add_totals(struct history_totals *all, const struct history_totals *t)
{
    unsigned long long *to = (unsigned long long *)all;
    const unsigned long long *from = (const unsigned long long *)t;
    for (size_t i = 0; i < sizeof *t / sizeof *from; i++)
        to[i] += from[i];
}

/* Every `step`-th seed from `from` on. */
static void run_seeds(enum history_adapter over, uint64_t from, uint64_t to, uint64_t step,
                      bool verbose, struct outcome *o)
{
    for (uint64_t seed = from; seed <= to; seed += step) {
        struct history_case c;
        history_draw(&c, over, seed);
        const char *wrong = history_run(&c, &o->t, verbose);
        if (wrong == NULL)
            continue;
        char text[512];
        history_describe(&c, text, sizeof text);
        if (o->wrong++ < SHOWN_MAX)
            printf(
                "seed %llu: %s\n    %s\n    sim_histories --seeds %llu..%llu --over %s --verbose\n",
                (unsigned long long)seed, wrong, text, (unsigned long long)seed,
                (unsigned long long)seed, adapters[over]);
    }
}

static int start_child(enum history_adapter over, uint64_t from, uint64_t to, uint64_t step)
{
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid != 0) {
        close(ends[1]);
        return pid < 0 ? -1 : ends[0];
    }
    struct outcome o = {0};
    run_seeds(over, from, to, step, false, &o);
    fflush(stdout);
    _exit(write(ends[1], &o, sizeof o) == sizeof o ? 0 : 1);
}

/* A process for each processor. False: one of them broke. */
static bool run_all(enum history_adapter over, uint64_t from, uint64_t to, struct outcome *all)
{
    long jobs = sysconf(_SC_NPROCESSORS_ONLN);
    int pipes[JOBS_MAX];
    bool ok = true;
    jobs = jobs < 1 ? 1 : jobs > JOBS_MAX ? JOBS_MAX : jobs;
    for (long i = 0; i < jobs; i++)
        pipes[i] = start_child(over, from + (uint64_t)i, to, (uint64_t)jobs);
    for (long i = 0; i < jobs; i++) {
        struct outcome o = {0};
        ok &= pipes[i] >= 0 && read(pipes[i], &o, sizeof o) == sizeof o;
        add_totals(&all->t, &o.t);
        all->wrong += o.wrong;
        (void)wait(NULL);
    }
    return ok;
}

static bool find_adapter(const char *name, enum history_adapter *out)
{
    for (size_t i = 0; i < sizeof adapters / sizeof *adapters; i++) {
        *out = (enum history_adapter)i;
        if (strcmp(adapters[i], name) == 0)
            return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    unsigned long long from = 1, to = 1000;
    enum history_adapter over = HISTORY_LTP;
    bool verbose = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--verbose") == 0)
            verbose = true;
        else if (strcmp(argv[i], "--over") == 0 && i + 1 < argc && find_adapter(argv[i + 1], &over))
            i++;
        else if (strcmp(argv[i], "--seeds") != 0 || i + 1 == argc ||
                 sscanf(argv[++i], "%llu..%llu", &from, &to) != 2)
            return 2;
    }
    struct outcome all = {0};
    bool ok = true;
    if (verbose)
        run_seeds(over, from, to, 1, true, &all);
    else
        ok = run_all(over, from, to, &all);
    const struct history_totals *t = &all.t;
    printf(
        "%llu histories, %llu kills, %llu clean stops, %llu gaps; %llu of %llu frames lost; %llu "
        "bundles, %llu confirmed, %llu delivered, %llu a second time after an end, %llu ended with "
        "the memory that held them, %llu lost with their datagram; %llu histories wrong\n",
        t->histories, t->kills, t->stops, t->gaps, t->lost, t->frames, t->bundles, t->confirmed,
        t->delivered, t->twice, t->excused, t->missing, all.wrong);
    return ok && all.wrong == 0 ? 0 : 1;
}
