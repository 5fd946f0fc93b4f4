/* SPDX-License-Identifier: Apache-2.0 */
/* helio-plan serve|follow: the process of an end of the plan service. What can go wrong: the
 * folder, the node's socket. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "os/process/process.h"
#include "tools/perf/perf_process.h"
#include "tools/plan/helio_plan.h"
#include "tools/plan/plans_service.h"

struct program {
    struct perf_process process;
    struct plans_options options;
    bool is_owner;
    struct plans_serve serve;
    struct plans_follow follow;
};

static void on_signal(void *context, int number)
{
    struct program *p = context;
    (void)number;
    if (p->is_owner)
        plans_serve_stop(&p->serve);
    else
        plans_follow_stop(&p->follow);
}

static void end_program(void *context)
{
    struct program *p = context;
    /* A node that hangs is not waited for: what is in the folder is whole at any time. */
    if (!p->is_owner && p->follow.follower.applying)
        _exit(p->follow.end.failed ? EXIT_FAILED : EXIT_DONE);
    perf_process_end(&p->process);
}

/* 0, or an error that was said. */
static int run_owner(struct program *p)
{
    const int rc = plans_serve_init(&p->serve, p->process.world, &p->options, end_program, p);
    if (rc == 0) {
        plans_serve_start(&p->serve);
        perf_process_run(&p->process);
    }
    plans_serve_fini(&p->serve);
    perf_process_close(&p->process);
    plans_serve_free(&p->serve);
    return rc == 0 && p->serve.end.failed ? HELIO_EIO : rc;
}

static int run_follower(struct program *p)
{
    const int rc = plans_follow_init(&p->follow, p->process.world, &p->options, end_program, p);
    if (rc == 0) {
        plans_follow_start(&p->follow);
        perf_process_run(&p->process);
    }
    plans_follow_fini(&p->follow);
    perf_process_close(&p->process);
    plans_follow_free(&p->follow);
    return rc == 0 && p->follow.end.failed ? HELIO_EIO : rc;
}

static int run_end(const struct plan_options *o, bool is_owner)
{
    struct program *p = calloc(1, sizeof *p);
    if (p == NULL) {
        fprintf(stderr, "helio-plan: out of memory\n");
        return EXIT_FAILED;
    }
    p->is_owner = is_owner;
    p->options = *o->service;
    p->options.folder = o->path;
    (void)signal(SIGPIPE, SIG_IGN);
    int rc = perf_process_open(&p->process, "helio-plan", on_signal, p);
    if (rc == 0)
        rc = is_owner ? run_owner(p) : run_follower(p);
    free(p);
    return rc == 0 ? EXIT_DONE : helio_code(rc) == HELIO_ENOENT ? EXIT_USAGE : EXIT_FAILED;
}

int command_serve(const struct plan_options *o)
{
    return run_end(o, true);
}

int command_follow(const struct plan_options *o)
{
    return run_end(o, false);
}
