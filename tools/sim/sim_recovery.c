/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong is a value, which ends the program with a message that says what would be
 * right. */
#include "tools/sim/sim_recovery.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sim/sim_run.h"

#define SESSIONS_AUTO_MAX 4096

static void set_sessions(struct argp_state *state, const struct argument *row, char *arg,
                         void *base)
{
    struct sim_params *p = base;
    p->span.recovery.sessions_auto = strcmp(arg, "auto") == 0;
    p->span.export_sessions = p->span.recovery.sessions_auto
                                  ? SESSIONS_AUTO_MAX
                                  : (uint32_t)argument_number(state, row, arg);
}

static void set_rto(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct sim_params *p = base;
    p->span.recovery.rto_auto = strcmp(arg, "auto") == 0;
    if (!p->span.recovery.rto_auto)
        p->span.rto = argument_number(state, row, arg);
}

const struct argument sim_recovery_options[] = {
    {"sessions", 0, "N|auto", .help = "Export sessions in parallel [10]", .type = OPTION_COUNT,
     .min = 1, .max = 65536, .choices = "auto", .own = set_sessions},
    {"rto", 0, "TIME|auto",
     .help = "Retransmission timer; auto: as measured, from twice the round trip on, 30ms at least "
             "[30ms]",
     .type = OPTION_DURATION, .min = 100 * TICK_US, .choices = "auto", .own = set_rto},
    {0}};

void sim_settle_rto(struct sim_params *p)
{
    tick path = 2 * p->delay + p->jitter + p->span.report_delay;
    if (p->span.rto == 0)
        p->span.rto = p->span.recovery.rto_auto && 2 * path > SIM_RTO ? 2 * path : SIM_RTO;
    if (p->span.rto < path)
        fprintf(stderr,
                "helio-sim: warning: the timer of %g ms is shorter than the round trip of %g ms: "
                "each checkpoint is sent again before its report can be here; right is a longer "
                "--rto, or auto\n",
                (double)p->span.rto / 1e6, (double)path / 1e6);
}
