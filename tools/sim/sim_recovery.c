/* SPDX-License-Identifier: Apache-2.0 */
/* A table says which field an option sets and how it is written. What can go wrong is a value,
 * which ends the program with a message that says what would be right. */
#include "tools/sim/sim_recovery.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "os/arguments.h"
#include "sim/sim_run.h"

#define SESSIONS_AUTO_MAX 4096

enum {
    OPT_RECOVERY = 512,
    OPT_SESSIONS,
    OPT_RTO,
    OPT_PROFILE,
    OPT_FIELDS /* from here on: the fields table's, in its order */
};

enum kind { TIME, COUNT, BYTES, FLAG };

struct field {
    enum kind kind;
    size_t at;
};

#define AT(name) offsetof(struct ltp_recovery, name)
static const struct field fields[] = {{TIME, AT(rto_min)},
                                      {TIME, AT(rto_max)},
                                      {COUNT, AT(closing_bytes)},
                                      {COUNT, AT(copies)},
                                      {COUNT, AT(report_copies)},
                                      {TIME, AT(copy_spacing)},
                                      {COUNT, AT(checkpoint_segments)},
                                      {TIME, AT(checkpoint_time)},
                                      {TIME, AT(resend_wait)},
                                      {FLAG, AT(merge_claims)},
                                      {FLAG, AT(oldest_first)},
                                      {BYTES, AT(sessions_bytes)},
                                      {TIME, AT(sessions_age)}};

static const struct argp_option options[] = {
    {"sessions", OPT_SESSIONS, "N|auto", 0, "Export sessions in parallel [10]", 0},
    {"rto", OPT_RTO, "TIME|auto", 0,
     "Retransmission timer; auto: as measured, from twice the round trip on, 30ms at least [30ms]",
     0},
    {"recovery", OPT_RECOVERY, "plain|default", 0,
     "Named set of recovery switches; those below change it when they follow [plain]", 0},
    {"peer-profile", OPT_PROFILE, "NAME", 0,
     "Which of them the peer supports: heliograph, hdtn, ion, plain, or auto, as a link of heliod "
     "has "
     "it: as the peer is found to behave [heliograph]",
     0},
    {"rto-min", OPT_FIELDS, "TIME", 0, "Floor of --rto auto [100us]", 0},
    {"rto-max", OPT_FIELDS + 1, "TIME", 0, "Ceiling of --rto auto; 0: none [0]", 0},
    {"closing", OPT_FIELDS + 2, "N", 0, "Data bytes of closing checkpoints; 0: as it falls [0]", 0},
    {"copies", OPT_FIELDS + 3, "N", 0, "Copies of an unanswered closing checkpoint [0]", 0},
    {"report-copies", OPT_FIELDS + 4, "N", 0, "Copies of an unacknowledged report [0]", 0},
    {"copy-spacing", OPT_FIELDS + 5, "TIME", 0, "Between copies; 0: RTO / 8 [0]", 0},
    {"checkpoint-every", OPT_FIELDS + 6, "N", 0, "Early checkpoints, each N segments [0]", 0},
    {"checkpoint-time", OPT_FIELDS + 7, "TIME", 0, "Early checkpoints, each TIME [0]", 0},
    {"resend-wait", OPT_FIELDS + 8, "TIME", 0, "Between a report and the repetition [0]", 0},
    {"merge-claims", OPT_FIELDS + 9, "yes|no", 0,
     "Bytes under way are not repeated for further reports [no]", 0},
    {"oldest-first", OPT_FIELDS + 10, "yes|no", 0,
     "Gaps of the oldest session are sent again first [no]", 0},
    {"sessions-bytes", OPT_FIELDS + 11, "SIZE", 0, "Memory of --sessions auto [256MiB]", 0},
    {"sessions-age", OPT_FIELDS + 12, "TIME", 0, "When --sessions auto shrinks [10s]", 0},
    {0}};

static void want_value(struct argp_state *state, int key, const char *arg, const char *hint)
{
    const struct argp_option *o = options;
    while (o->key != key)
        o++;
    argument_want(state, o->name, arg, hint);
}

static void parse_field(struct argp_state *state, int key, const char *arg,
                        struct ltp_recovery *recovery)
{
    const struct field *f = &fields[key - OPT_FIELDS];
    char *at = (char *)recovery + f->at;
    uint64_t number = 0;
    bool yes = strcmp(arg, "yes") == 0;
    switch (f->kind) {
    case TIME:
        if (units_duration(arg, (tick *)(void *)at) != 0)
            want_value(state, key, arg, units_duration_hint);
        break;
    case BYTES:
        if (units_size(arg, (uint64_t *)(void *)at) != 0)
            want_value(state, key, arg, units_size_hint);
        break;
    case COUNT:
        if (units_count(arg, 65536, &number) != 0)
            want_value(state, key, arg, "a number from 0 to 65536");
        *(uint32_t *)(void *)at = (uint32_t)number;
        break;
    case FLAG:
        if (!yes && strcmp(arg, "no") != 0)
            want_value(state, key, arg, "yes or no");
        *(bool *)at = yes;
        break;
    }
}

static void parse_recovery(struct argp_state *state, const char *arg, struct sim_params *p)
{
    bool all = strcmp(arg, "default") == 0;
    if (!all && strcmp(arg, "plain") != 0)
        want_value(state, OPT_RECOVERY, arg, "plain or default");
    bool sessions_auto = p->recovery.sessions_auto;
    p->recovery = all ? ltp_recovery_default : ltp_recovery_plain;
    p->recovery.sessions_auto = sessions_auto;
    p->recovery_name = all ? "default" : "plain";
}

static void parse_sessions(struct argp_state *state, const char *arg, struct sim_params *p)
{
    uint64_t number = SESSIONS_AUTO_MAX;
    p->recovery.sessions_auto = strcmp(arg, "auto") == 0;
    if (!p->recovery.sessions_auto && (units_count(arg, 65536, &number) != 0 || number == 0))
        want_value(state, OPT_SESSIONS, arg, "auto or a number from 1 to 65536");
    p->sessions = (uint32_t)number;
}

static void parse_rto(struct argp_state *state, const char *arg, struct sim_params *p)
{
    p->recovery.rto_auto = strcmp(arg, "auto") == 0;
    if (p->recovery.rto_auto)
        return;
    if (units_duration(arg, &p->rto) != 0)
        want_value(state, OPT_RTO, arg, units_duration_hint);
    if (p->rto < 100 * TICK_US)
        want_value(state, OPT_RTO, arg, "auto or at least 100us");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct sim_params *p = state->input;
    if (key >= OPT_FIELDS && key < OPT_FIELDS + (int)(sizeof fields / sizeof *fields)) {
        parse_field(state, key, arg, &p->recovery);
        return 0;
    }
    switch (key) {
    case OPT_RECOVERY:
        parse_recovery(state, arg, p);
        return 0;
    case OPT_SESSIONS:
        parse_sessions(state, arg, p);
        return 0;
    case OPT_RTO:
        parse_rto(state, arg, p);
        return 0;
    case OPT_PROFILE:
        if (!ltp_profile_parse(arg, &p->profile))
            want_value(state, key, arg, "heliograph, hdtn, ion, plain or auto");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void sim_settle_rto(struct sim_params *p)
{
    tick path = 2 * p->delay + p->jitter + p->processing;
    if (p->rto == 0)
        p->rto = p->recovery.rto_auto && 2 * path > SIM_RTO ? 2 * path : SIM_RTO;
    if (p->rto < path)
        fprintf(stderr,
                "helio-sim: warning: the timer of %g ms is shorter than the round trip of %g ms: "
                "each checkpoint is sent again before its report can be here; right is a longer "
                "--rto, or auto\n",
                (double)p->rto / 1e6, (double)path / 1e6);
}

const struct argp sim_recovery_argp = {options, parse_option, NULL, NULL, NULL, NULL, NULL};
