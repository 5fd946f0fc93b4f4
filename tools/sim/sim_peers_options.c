/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --peers is the number of peers; --peer sets values of one of them, as in
 * 2:weight=3,trace=H,outage=1s-2s. What can go wrong: a wrong word, and a trace that cannot be
 * read.
 */
#include "tools/sim/sim_peers_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "os/arguments.h"

static const char peer_hint[] =
    "I:KEY=VALUE[,KEY=VALUE…], such as 2:weight=2,red=0.5, with I from 1 to 16 and the keys "
    "weight (1 to 1000), red (0 to 1), trace (a file or a name) and outage (as in 1s-2s)";

static bool parse_share(const char *text, double *out)
{
    char *end;
    double v = strtod(text, &end);
    bool good = end != text && *end == '\0' && v >= 0 && v <= 1;
    if (good)
        *out = v;
    return good;
}

/* As in 1s-2s; changes the text. */
static bool parse_outage(char *text, struct sim_peer *p)
{
    char *dash = strchr(text, '-');
    if (dash == NULL)
        return false;
    *dash = '\0';
    return units_duration(text, &p->out_from) == 0 && units_duration(dash + 1, &p->out_to) == 0 &&
           p->out_from < p->out_to;
}

/* KEY=VALUE; changes the text. */
static bool parse_key(char *text, struct sim_peer *p)
{
    char *value = strchr(text, '=');
    uint64_t number;
    if (value == NULL)
        return false;
    *value++ = '\0';
    if (strcmp(text, "weight") == 0 && units_count(value, 1000, &number) == 0 && number > 0) {
        p->weight = (uint32_t)number;
        return true;
    }
    if (strcmp(text, "trace") == 0 && *value != '\0') {
        p->name = value;
        return true;
    }
    if (strcmp(text, "red") == 0)
        return parse_share(value, &p->red);
    return strcmp(text, "outage") == 0 && parse_outage(value, p);
}

static void add_peer(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    (void)row;
    struct sim_peers_options *o = base;
    char *rest;
    unsigned long i = strtoul(arg, &rest, 10);
    if (rest == arg || *rest != ':' || i < 1 || i > SIM_PEERS_MAX)
        argument_want(state, arg, peer_hint);
    rest++;
    for (char *key; (key = strsep(&rest, ",")) != NULL;)
        if (!parse_key(key, &o->peers.peer[i - 1]))
            argument_want(state, key, peer_hint);
    o->highest = i > o->highest ? i : o->highest;
}

/* A value of --peer has precedence over that of --red, in any order. */
static void settle_red(struct sim_peers_options *o)
{
    for (size_t i = 0; i < SIM_PEERS_MAX; i++)
        if (o->peers.peer[i].red < 0)
            o->peers.peer[i].red = o->red;
}

void sim_peers_options_check(struct argp_state *state, void *base)
{
    struct sim_peers_options *o = base;
    if (o->highest > o->peers.count)
        argp_error(state, "--peer %zu: there are %zu peers; --peers says how many", o->highest,
                   o->peers.count);
    settle_red(o);
}

#define FIELD(member) ARGUMENT_FIELD(struct sim_peers_options, member)

const struct argument sim_peers_options[] = {
    {"peers", 0, "N",
     .help = "Nodes 2 to N + 1 instead of one, all by one line, each over a channel of its own; up "
             "to 16",
     .type = OPTION_COUNT, .min = 1, .max = SIM_PEERS_MAX, FIELD(peers.count)},
    {"peer", 0, "I:KEY=VALUE[,KEY=VALUE…]",
     .help = "Of the Ith of them: weight=N of the line, red=SHARE, trace=T, outage=FROM-TO",
     .own = add_peer},
    {"red", 0, "SHARE", .help = "With --peers: of the blocks, the others are green [1]",
     .type = OPTION_SHARE, FIELD(red)},
    {"own-lines", 0, .help = "With --peers: each has a line of the rate", .type = OPTION_BOOL,
     FIELD(peers.own_lines)},
    {0}};

void sim_peers_options_init(struct sim_peers_options *o)
{
    *o = (struct sim_peers_options){.red = 1};
    for (size_t i = 0; i < SIM_PEERS_MAX; i++) {
        o->peers.peer[i].weight = 1;
        o->peers.peer[i].red = -1; /* as of all */
    }
}

void sim_peers_options_fini(struct sim_peers_options *o)
{
    for (size_t i = 0; i < SIM_PEERS_MAX; i++)
        trace_source_fini(&o->sources[i]);
}

int sim_peers_options_load(struct sim_peers_options *o, const char *trace)
{
    for (size_t i = 0; i < o->peers.count; i++) {
        struct sim_peer *p = &o->peers.peer[i];
        struct trace_source *source = &o->sources[i];
        char error[TRACE_FILE_ERROR_MAX];
        bool own = p->name != NULL;
        p->name = own ? p->name : trace;
        if (trace_source_read(source, p->name, error) != 0) {
            fprintf(stderr, "helio-sim: --%s: %s\n", own ? "peer" : "trace", error);
            return 2;
        }
        p->trace = source->on ? &source->trace : NULL;
        p->loss = source->loss;
        p->trace_offset = o->peers.base.trace_offset;
        if (source->on && !own)
            p->trace_offset += i * (source->trace.steps / o->peers.count) * source->trace.step;
    }
    return 0;
}
