/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong is a value, which ends the program with a message that says what would be
 * right. */
#include "tools/sim/sim_recovery.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "os/arguments.h"
#include "sim/sim_run.h"

#define SESSIONS_AUTO_MAX 4096

enum {
    OPT_SESSIONS = 600,
    OPT_RTO,
};

static const struct argp_option options[] = {
    {"sessions", OPT_SESSIONS, "N|auto", 0, "Export sessions in parallel [10]", 0},
    {"rto", OPT_RTO, "TIME|auto", 0,
     "Retransmission timer; auto: as measured, from twice the round trip on, 30ms at least [30ms]",
     0},
    {0}};

static void parse_sessions(struct argp_state *state, const char *arg, struct sim_params *p)
{
    uint64_t number = SESSIONS_AUTO_MAX;
    p->span.recovery.sessions_auto = strcmp(arg, "auto") == 0;
    if (!p->span.recovery.sessions_auto && (units_count(arg, 65536, &number) != 0 || number == 0))
        argument_want(state, "sessions", arg, "auto or a number from 1 to 65536");
    p->span.export_sessions = (uint32_t)number;
}

static void parse_rto(struct argp_state *state, const char *arg, struct sim_params *p)
{
    p->span.recovery.rto_auto = strcmp(arg, "auto") == 0;
    if (p->span.recovery.rto_auto)
        return;
    if (units_duration(arg, &p->span.rto) != 0)
        argument_want(state, "rto", arg, units_duration_hint);
    if (p->span.rto < 100 * TICK_US)
        argument_want(state, "rto", arg, "auto or at least 100us");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct sim_params *p = state->input;
    switch (key) {
    case OPT_SESSIONS:
        parse_sessions(state, arg, p);
        return 0;
    case OPT_RTO:
        parse_rto(state, arg, p);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

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

const struct argp sim_recovery_argp = {options, parse_option, NULL, NULL, NULL, NULL, NULL};
