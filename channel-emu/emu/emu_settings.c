/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line that all commands share, read with argp. An option of the link is a key of the
 * scenario under a shorter name; --set reaches all keys. Each wrong value ends with a message that
 * names the option and what would be right.
 */
#include "channel-emu/emu/emu_settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define FRAME_BYTES 1500u

enum key {
    SCENARIO = 512,
    SET,
    DELAY,
    DELAY_FORWARD,
    DELAY_RETURN,
    JITTER,
    RATE,
    RATE_RETURN,
    OVERHEAD,
    QUEUE,
    TRACE,
    TRACE_RETURN,
    TRACE_START,
    TRACE_ORIGIN,
    SEED,
    LOOP,
    DROP,
    DROP_RETURN,
    DROP_LOG,
    PCAP_BEFORE,
    PCAP_AFTER,
    TOLERANCE
};

static const struct argp_option table[] = {
    {NULL, 0, NULL, 0, "The link:", 2},
    {"scenario", SCENARIO, "FILE", 0,
     "Read the link from a file (docs/scenario.md); options win over it", 2},
    {"set", SET, "KEY=VALUE", 0,
     "Any key of a scenario, such as forward.queue=20ms or both.delay=5ms", 2},
    {"delay", DELAY, "DURATION", 0, "Delay in each direction (default 0)", 2},
    {"delay-forward", DELAY_FORWARD, "DURATION", 0, "Delay forward only", 2},
    {"delay-return", DELAY_RETURN, "DURATION", 0, "Delay of the return only", 2},
    {"jitter", JITTER, "DURATION", 0, "Uniform extra delay forward; frames may overtake", 2},
    {"rate", RATE, "RATE", 0, "Serialise forward frames at this rate (default unlimited)", 2},
    {"rate-return", RATE_RETURN, "RATE", 0, "The same for the return", 2},
    {"overhead", OVERHEAD, "BYTES", 0,
     "Bytes on the air beside each frame (default: relay 42, for UDP, IPv4 and Ethernet; bridge 0)",
     2},
    {"queue", QUEUE, "SIZE|DURATION", 0, "Limit of what waits for the line (default 64MB; none)",
     2},
    {NULL, 0, NULL, 0, "Losses:", 3},
    {"trace", TRACE, "TRACE", 0,
     "Forward: a file, A, F, H, leo-low, leo-high, jpl-47km, iid:P (independent, probability P), "
     "or none (default)",
     3},
    {"trace-return", TRACE_RETURN, "TRACE", 0, "The same for the return (default none)", 3},
    {"trace-start", TRACE_START, "DURATION", 0, "Where in the trace to begin (default 0)", 3},
    {"trace-origin", TRACE_ORIGIN, "first|start", 0,
     "The trace begins with the first frame of its direction (default), or with the process", 3},
    {"loop", LOOP, NULL, 0, "The trace begins again at its end (default)", 3},
    {"drop", DROP, "RULE", 0,
     "Drop forward frames by LTP segment type, such as report:first=2,per=session; may be repeated",
     3},
    {"drop-return", DROP_RETURN, "RULE", 0, "The same for the return", 3},
    {"seed", SEED, "N", 0, "Seed of all that is random (default 1)", 3},
    {NULL, 0, NULL, 0, "What is written:", 4},
    {"drop-log", DROP_LOG, "FILE", 0,
     "A CSV line for each frame lost, changed or late (.gz: compressed)", 4},
    {"pcap-before", PCAP_BEFORE, "FILE", 0, "Capture of what enters the link", 4},
    {"pcap-after", PCAP_AFTER, "FILE", 0, "Capture of what leaves it", 4},
    {"tolerance", TOLERANCE, "DURATION", 0,
     "A frame released later than this after it was due is late (default: 50us and the batch, a "
     "step "
     "of the trace, or two frames on the line, whichever is the longest)",
     5},
    {0}};

/* Options that are a key of the scenario. */
static const struct {
    int option;
    const char *name, *key;
} keys[] = {
    {DELAY, "--delay", "both.delay"},
    {DELAY_FORWARD, "--delay-forward", "forward.delay"},
    {DELAY_RETURN, "--delay-return", "return.delay"},
    {JITTER, "--jitter", "forward.jitter"},
    {RATE, "--rate", "forward.rate"},
    {RATE_RETURN, "--rate-return", "return.rate"},
    {OVERHEAD, "--overhead", "overhead"},
    {QUEUE, "--queue", "both.queue"},
    {TRACE_START, "--trace-start", "both.erasures.trace.offset"},
    {SEED, "--seed", "seed"},
    {DROP_LOG, "--drop-log", "drop_log"},
    {PCAP_BEFORE, "--pcap-before", "pcap_before"},
    {PCAP_AFTER, "--pcap-after", "pcap_after"},
    {TOLERANCE, "--tolerance", "tolerance"},
};

static _Noreturn void refuse_option(struct conf_errors *e)
{
    for (size_t i = 0; i < e->len; i++)
        fprintf(stderr, "helio-emu: %s\n", e->text[i]);
    if (e->total > e->len)
        fprintf(stderr, "helio-emu: and %zu more errors\n", e->total - e->len);
    free(e);
    exit(argp_err_exit_status);
}

/* Lays one key over the scenario; a wrong one ends the process. */
static void lay_path(struct argp_state *state, struct emu_settings *s, const char *name,
                     const char *arg, const char *key, const char *value, bool plain)
{
    char shown[160];
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL)
        argp_failure(state, 1, 0, "out of memory");
    snprintf(shown, sizeof shown, "%s '%s'", name, arg);
    conf_errors_init(e, shown);
    int rc = scenario_set(&s->scenario, key, value, plain, e);
    if (rc < 0)
        refuse_option(e);
    free(e);
}

static void set_any(struct argp_state *state, struct emu_settings *s, const char *arg)
{
    char key[128];
    const char *equals = strchr(arg, '=');
    if (equals == NULL || equals == arg || (size_t)(equals - arg) >= sizeof key)
        argp_error(state, "--set '%s' is wrong; right is KEY=VALUE, such as forward.jitter=1ms",
                   arg);
    memcpy(key, arg, (size_t)(equals - arg));
    key[equals - arg] = '\0';
    lay_path(state, s, "--set", arg, key, equals + 1, false);
}

/* iid:P instead of a trace, and a trace instead of independent losses. */
static void set_trace(struct argp_state *state, struct emu_settings *s, const char *name,
                      const char *direction, const char *arg)
{
    char trace[64], iid[64];
    bool random = strncmp(arg, "iid:", 4) == 0;
    snprintf(trace, sizeof trace, "%s.erasures.trace", direction);
    snprintf(iid, sizeof iid, "%s.erasures.iid", direction);
    lay_path(state, s, name, arg, trace, random ? "none" : arg, true);
    lay_path(state, s, name, arg, iid, random ? arg + 4 : "0", true);
}

static void add_rule(struct argp_state *state, struct emu_settings *s, int direction,
                     const char *name, const char *arg)
{
    char why[LTP_RULE_ERROR_MAX];
    int rc = scenario_add_rule(&s->scenario, direction, arg, why);
    if (rc == HELIO_ENOMEM)
        argp_failure(state, 1, 0, "%s '%s': %s", name, arg, why);
    if (rc < 0)
        argp_error(state, "%s '%s': %s", name, arg, why);
}

static error_t loss_option(int key, char *arg, struct argp_state *state, struct emu_settings *s)
{
    switch (key) {
    case SET:
        set_any(state, s, arg);
        return 0;
    case TRACE:
        set_trace(state, s, "--trace", "forward", arg);
        return 0;
    case TRACE_RETURN:
        set_trace(state, s, "--trace-return", "return", arg);
        return 0;
    case TRACE_ORIGIN:
        if (strcmp(arg, "start") != 0 && strcmp(arg, "first") != 0)
            argp_error(state, "--trace-origin '%s' is wrong; right is first or start", arg);
        lay_path(state, s, "--trace-origin", arg, "both.start", *arg == 's' ? "0" : "first", true);
        return 0;
    case LOOP:
        lay_path(state, s, "--loop", "", "both.erasures.trace.loop", "yes", true);
        return 0;
    case DROP:
        add_rule(state, s, SCENARIO_FORWARD, "--drop", arg);
        return 0;
    case DROP_RETURN:
        add_rule(state, s, SCENARIO_RETURN, "--drop-return", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void check_all(const struct emu_settings *s)
{
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL) {
        fputs("helio-emu: out of memory\n", stderr);
        exit(1);
    }
    conf_errors_init(e, s->file != NULL ? s->file : "the options");
    if (scenario_check(&s->scenario, e) < 0)
        refuse_option(e);
    free(e);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct emu_settings *s = state->input;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (keys[i].option == key) {
            lay_path(state, s, keys[i].name, arg, keys[i].key, arg, true);
            return 0;
        }
    }
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = s;
        return 0;
    case SCENARIO:
        return 0; /* was read before */
    case ARGP_KEY_END:
        check_all(s);
        return 0;
    default:
        return loss_option(key, arg, state, s);
    }
}

static const struct argp_child children[] = {{&emu_run_argp, 0, NULL, 0}, {0}};
const struct argp emu_settings_argp = {
    .options = table, .parser = parse_option, .children = children};

/* --scenario FILE and --scenario=FILE; the last one counts. */
static const char *find_scenario(int argc, char **argv)
{
    const char *found = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--scenario") == 0 && i + 1 < argc)
            found = argv[i + 1];
        else if (strncmp(argv[i], "--scenario=", 11) == 0)
            found = argv[i] + 11;
    }
    return found;
}

void emu_settings_load(struct emu_settings *s, const char *path)
{
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL)
        exit(1);
    s->file = path;
    conf_errors_init(e, path);
    if (scenario_load(&s->scenario, path, e) < 0)
        refuse_option(e);
    free(e);
}

void emu_settings_init(struct emu_settings *s, uint64_t overhead, int argc, char **argv)
{
    *s = emu_settings_default();
    argp_err_exit_status = 2;
    if (scenario_init(&s->scenario) < 0) {
        fprintf(stderr, "helio-emu: out of memory\n");
        exit(1);
    }
    s->scenario.overhead = overhead;
    const char *path = find_scenario(argc, argv);
    if (path != NULL)
        emu_settings_load(s, path);
}

void emu_settings_fini(struct emu_settings *s)
{
    scenario_fini(&s->scenario);
}

tick emu_settings_delay_max(const struct emu_settings *s, tick told)
{
    tick most = 0;
    for (int i = 0; i < 2; i++) {
        const struct scenario_way *w = &s->scenario.way[i];
        tick delay = w->point_count == 0 ? w->delay : 0;
        for (size_t k = 0; k < w->point_count; k++)
            delay = tick_max(delay, w->points[k].delay);
        for (size_t k = 0; k < w->change_count; k++)
            if ((w->changes[k].keys & CHAN_KEY_DELAY) != 0 && w->changes[k].delay > delay)
                delay = w->changes[k].delay;
        delay = tick_max(delay, told);
        delay = tick_add(tick_add(delay, scenario_jitter_max(w)), w->power.interleaver);
        most = tick_max(most, delay);
    }
    return most;
}

/* As late as that changes no figure that is taken over the link: the next step of the trace has its
 * fates, and a node cannot tell it from a frame before it on the line. */
static tick way_tolerance(const struct scenario *s, int direction)
{
    const struct scenario_way *w = &s->way[direction];
    tick step = w->trace.source.on ? w->trace.source.trace.step : 0;
    uint64_t bytes = 2 * (FRAME_BYTES + s->overhead);
    tick air = w->rate_bps == 0 ? 0 : bytes * 8 * TICK_S / w->rate_bps;
    return tick_min(tick_max(step, air), EMU_TOLERANCE_MAX);
}

tick emu_settings_tolerance(const struct emu_settings *s)
{
    tick batch = s->batch == EMU_BATCH_AUTO ? EMU_BATCH_MAX : s->batch;
    tick most = batch + 50 * TICK_US;
    if (s->scenario.tolerance > 0)
        return s->scenario.tolerance;
    for (int i = 0; i < 2; i++)
        most = tick_max(most, way_tolerance(&s->scenario, i));
    return most;
}
