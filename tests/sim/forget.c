/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lost session state, exhaustively: every step at which one end can lose it, every choice of up to
 * so many lost frames, blocks of one to five segments, two sets of recovery options, our ends and
 * those of other implementations. usage: sim_forget [--losses N] [--segments N] [--peers NAME]
 * [--case TEXT]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/forget.h"

#define STEP_MAX 200
#define JOBS_MAX 256
#define SHOWN_MAX 3 /* failures of a kind that are shown */

struct totals {
    unsigned long long runs, forgot, done, again, wrong;
};

struct wanted {
    size_t losses;
    unsigned segments;
    const char *peers; /* NULL: all */
};

static void print_failure(const struct forget_case *c, const char *why)
{
    char text[128];
    forget_text(c, text, sizeof text);
    printf("%s\n    sim_forget --case '%s'\n", why, text);
}

/* All cases that lose what this one does, and more, later. Returns whether any forgot. */
static bool search_losses(struct forget_case *c, const struct wanted *w, struct totals *t)
{
    struct forget_result r = forget_run(c, false);
    bool forgot = r.forgot;
    t->runs++;
    t->forgot += r.forgot;
    t->done += r.done;
    t->again += r.sessions > 1;
    if (r.wrong != NULL) {
        if (t->wrong++ < SHOWN_MAX)
            print_failure(c, r.wrong);
        return forgot;
    }
    size_t faults = c->lost_len + (c->late != SIZE_MAX);
    if (faults < w->losses && c->lost_len < 2 && c->late == SIZE_MAX) {
        for (c->late = 0; c->late < r.frames; c->late++)
            forgot |= search_losses(c, w, t);
        c->late = SIZE_MAX;
    }
    if (faults == w->losses)
        return forgot;
    size_t from = c->lost_len == 0 ? 0 : c->lost[c->lost_len - 1] + 1;
    c->lost_len++;
    for (size_t i = from; i < r.frames; i++) {
        if ((i >= r.dark_from && i < r.dark_to) || i == c->late)
            continue; /* it is lost anyway */
        c->lost[c->lost_len - 1] = i;
        forgot |= search_losses(c, w, t);
    }
    c->lost_len--;
    return forgot;
}

/* Step 0 is the case in which no end loses its state; one kind of loss is enough for it. */
static void search_steps(struct forget_case *c, const struct wanted *w, struct totals *t)
{
    for (c->step = c->how == FORGET_RECEIVER ? 0 : 1; c->step < STEP_MAX; c->step++)
        if (!search_losses(c, w, t) && c->step > 0)
            break;
}

static void add_totals(struct totals *all, const struct totals *t)
{
    all->runs += t->runs;
    all->forgot += t->forgot;
    all->done += t->done;
    all->again += t->again;
    all->wrong += t->wrong;
}

/* One process for each kind of case, as many at once as there are processors. */
struct job {
    struct forget_case c;
    int pipe;
};

static int start_job(struct job *j, const struct wanted *w)
{
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid != 0) {
        close(ends[1]);
        j->pipe = ends[0];
        return pid < 0 ? -1 : 0;
    }
    struct totals t = {0};
    for (unsigned n = 1; n <= w->segments; n++) {
        j->c.segments = n;
        search_steps(&j->c, w, &t);
    }
    fflush(stdout);
    bool told = write(ends[1], &t, sizeof t) == sizeof t;
    _exit(told ? 0 : 1);
}

static size_t list_jobs(struct job *jobs, const struct wanted *w)
{
    size_t len = 0;
    for (size_t i = 0; forget_peers[i] != NULL; i++)
        for (int how = 0; how < FORGET_HOWS; how++)
            for (int bits = 0; bits < 8; bits++) {
                struct forget_case c = {.peers = i,
                                        .late = SIZE_MAX,
                                        .how = (enum forget_how)how,
                                        .plain = (bits & 1) != 0,
                                        .orange = (bits & 2) != 0,
                                        .late_store = (bits & 4) != 0};
                bool wanted = w->peers == NULL || strcmp(w->peers, forget_peers[i]) == 0;
                if (wanted && forget_applies(&c) && len < JOBS_MAX)
                    jobs[len++].c = c;
            }
    return len;
}

/* Waits for one; false: it broke. */
static bool finish_job(const struct job *j, struct totals *all)
{
    struct totals t = {0};
    char text[128];
    bool ok = read(j->pipe, &t, sizeof t) == sizeof t;
    forget_text(&j->c, text, sizeof text);
    close(j->pipe);
    if (!ok || t.wrong > 0)
        printf("%s: %llu of %llu are wrong%s\n", text, t.wrong, t.runs, ok ? "" : ", and it broke");
    add_totals(all, &t);
    return ok;
}

static int search_all(const struct wanted *w)
{
    struct job *jobs = calloc(JOBS_MAX, sizeof *jobs);
    if (jobs == NULL)
        return 1;
    struct totals all = {0};
    size_t len = list_jobs(jobs, w), started = 0;
    long at_once = sysconf(_SC_NPROCESSORS_ONLN);
    bool ok = len > 0;
    for (size_t i = 0; i < len; i++) {
        for (; started < len && started < i + (size_t)at_once; started++)
            if (start_job(&jobs[started], w) != 0)
                return 1;
        ok &= finish_job(&jobs[i], &all);
        (void)wait(NULL);
    }
    printf("%llu runs, in %llu one end forgot; %llu delivered, %llu of them by a further session; "
           "%llu wrong\n",
           all.runs, all.forgot, all.done, all.again, all.wrong);
    free(jobs);
    return ok && all.wrong == 0 ? 0 : 1;
}

static int show_case(const char *text)
{
    struct forget_case c;
    if (!forget_parse(text, &c)) {
        fprintf(stderr, "sim_forget: --case: write it as a failure prints it\n");
        return 2;
    }
    struct forget_result r = forget_run(&c, true);
    printf("%s\n", r.wrong == NULL ? "all holds" : r.wrong);
    return r.wrong == NULL ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct wanted w = {.losses = FORGET_LOSSES, .segments = FORGET_SEGMENTS};
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--case") == 0)
            return show_case(argv[i + 1]);
        if (strcmp(argv[i], "--losses") == 0)
            w.losses = strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--segments") == 0)
            w.segments = (unsigned)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--peers") == 0)
            w.peers = argv[i + 1];
        else
            return 2;
    }
    if (w.losses > FORGET_LOSSES || w.segments > FORGET_SEGMENTS)
        return 2;
    return search_all(&w);
}
