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
#include "channel-emu/scenario/scenario_options.h"

#define FRAME_BYTES 1500u

/* Lays one key over the scenario, for the option --`name`; a wrong one ends the process. */
static void lay_path(struct emu_settings *s, const char *name, const char *key, const char *value,
                     bool plain)
{
    char shown[80];
    snprintf(shown, sizeof shown, "--%s", name);
    struct conf_errors *e = scenario_errors_new(shown);
    const int rc = scenario_set(&s->scenario, key, value, plain, e);
    scenario_errors_stop(e, rc);
}

/* The row's `choices` is the key. */
static void set_key(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    (void)state;
    lay_path(base, row->name, row->choices, arg, true);
}

static void set_any(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    char key[128];
    const char *equals = strchr(arg, '=');
    if (equals == NULL || equals == arg || (size_t)(equals - arg) >= sizeof key)
        argument_want(state, arg, "KEY=VALUE, such as forward.jitter=1ms");
    memcpy(key, arg, (size_t)(equals - arg));
    key[equals - arg] = '\0';
    lay_path(base, row->name, key, equals + 1, false);
}

/* iid:P instead of a trace, and a trace instead of independent losses; `choices` is the
 * direction. */
static void set_trace(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    (void)state;
    char trace[64], iid[64];
    bool random = strncmp(arg, "iid:", 4) == 0;
    snprintf(trace, sizeof trace, "%s.erasures.trace", row->choices);
    snprintf(iid, sizeof iid, "%s.erasures.iid", row->choices);
    lay_path(base, row->name, trace, random ? "none" : arg, true);
    lay_path(base, row->name, iid, random ? arg + 4 : "0", true);
}

static void set_origin(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    const bool first = argument_choice(state, row, arg) == 0;
    lay_path(base, row->name, "both.start", first ? "first" : "0", true);
}

static void set_loop(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    (void)state;
    (void)arg;
    lay_path(base, row->name, "both.erasures.trace.loop", "yes", true);
}

/* `max` is the direction. */
static void add_rule(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct emu_settings *s = base;
    char why[LTP_RULE_ERROR_MAX];
    int rc = scenario_add_rule(&s->scenario, (int)row->max, arg, why);
    if (rc == HELIO_ENOMEM)
        argp_failure(state, 1, 0, "--%s: %s", row->name, why);
    if (rc < 0)
        argument_wrong(state, "%s", why);
}

/* It was read before. */
static void skip_scenario(struct argp_state *state, const struct argument *row, char *arg,
                          void *base)
{
    (void)state;
    (void)row;
    (void)arg;
    (void)base;
}

#define KEY(path) .own = set_key, .choices = (path)

const struct argument emu_settings_options[] = {
    {NULL, .help = "The link:", .group = 2},
    {"scenario", 0, "FILE",
     .help = "Read the link from a file (docs/scenario.md); options win over it", .group = 2,
     .own = skip_scenario},
    {"set", 0, "KEY=VALUE",
     .help = "Any key of a scenario, such as forward.queue=20ms or both.delay=5ms", .group = 2,
     .own = set_any},
    SCENARIO_DELAY_OPTIONS,
    {"jitter", 0, "DURATION", .help = "Uniform extra delay forward; frames may overtake",
     .group = 2, KEY("forward.jitter")},
    {"rate", 0, "RATE", .help = "Serialise forward frames at this rate (default unlimited)",
     .group = 2, KEY("forward.rate")},
    {"rate-return", 0, "RATE", .help = "The same for the return", .group = 2, KEY("return.rate")},
    {"overhead", 0, "BYTES",
     .help = "Bytes on the air beside each frame (default: relay 42, for UDP, IPv4 and Ethernet; "
             "bridge 0)",
     .group = 2, KEY("overhead")},
    {"queue", 0, "SIZE|DURATION", .help = "Limit of what waits for the line (default 64MB; none)",
     .group = 2, KEY("both.queue")},
    {NULL, .help = "Losses:", .group = 3},
    {"trace", 0, "TRACE",
     .help = "Forward: a file, A, F, H, leo-low, leo-high, jpl-47km, iid:P (independent, "
             "probability P), or none (default)",
     .group = 3, .own = set_trace, .choices = "forward"},
    {"trace-return", 0, "TRACE", .help = "The same for the return (default none)", .group = 3,
     .own = set_trace, .choices = "return"},
    {"trace-start", 0, "DURATION", .help = "Where in the trace to begin (default 0)", .group = 3,
     KEY("both.erasures.trace.offset")},
    {"trace-origin", 0, "first|start",
     .help =
         "The trace begins with the first frame of its direction (default), or with the process",
     .group = 3, .own = set_origin, .type = OPTION_CHOICE, .choices = "first|start"},
    {"loop", 0, .help = "The trace begins again at its end (default)", .group = 3, .own = set_loop},
    {"drop", 0, "RULE",
     .help = "Drop forward frames by LTP segment type, such as report:first=2,per=session; may be "
             "repeated",
     .group = 3, .own = add_rule, .max = SCENARIO_FORWARD},
    {"drop-return", 0, "RULE", .help = "The same for the return", .group = 3, .own = add_rule,
     .max = SCENARIO_RETURN},
    {"seed", 0, "N", .help = "Seed of all that is random (default 1)", .group = 3, KEY("seed")},
    {NULL, .help = "What is written:", .group = 4},
    {"drop-log", 0, "FILE",
     .help = "A CSV line for each frame lost, changed or late (.gz: compressed)", .group = 4,
     KEY("drop_log")},
    {"pcap-before", 0, "FILE", .help = "Capture of what enters the link", .group = 4,
     KEY("pcap_before")},
    {"pcap-after", 0, "FILE", .help = "Capture of what leaves it", .group = 4, KEY("pcap_after")},
    {"tolerance", 0, "DURATION",
     .help = "A frame released later than this after it was due is late (default: 50us and the "
             "batch, a step of the trace, or two frames on the line, whichever is the longest)",
     .group = 5, KEY("tolerance")},
    {0}};

void emu_settings_check(struct argp_state *state, void *base)
{
    const struct emu_settings *s = base;
    (void)state;
    struct conf_errors *e = scenario_errors_new(s->file != NULL ? s->file : "the options");
    const int rc = scenario_check(&s->scenario, e);
    scenario_errors_stop(e, rc);
}

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
    struct conf_errors *e = scenario_errors_new(path);
    s->file = path;
    const int rc = scenario_load(&s->scenario, path, e);
    scenario_errors_stop(e, rc);
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
        const struct scenario_direction *w = &s->scenario.directions[i];
        tick delay = w->point_count == 0 ? w->delay : 0;
        for (size_t k = 0; k < w->point_count; k++)
            delay = tick_max(delay, w->points[k].delay);
        for (size_t k = 0; k < w->change_count; k++)
            if ((w->changes[k].keys & CHAN_KEY_DELAY) != 0 && w->changes[k].delay > delay)
                delay = w->changes[k].delay;
        delay = tick_max(delay, told);
        delay = tick_add(tick_add(delay, scenario_jitter_max(w)), w->power.interleaver);
        delay = tick_add(delay, w->power.block);
        most = tick_max(most, delay);
    }
    return most;
}

/* As late as that changes no figure that is taken over the link: the next step of the trace has its
 * fates, and a node cannot tell it from a frame before it on the line. */
static tick direction_tolerance(const struct scenario *s, int direction)
{
    const struct scenario_direction *w = &s->directions[direction];
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
        most = tick_max(most, direction_tolerance(&s->scenario, i));
    return most;
}
