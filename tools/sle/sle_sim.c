/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Provider and user of bench in virtual time: both as they are, in one world (sim/virtual.h),
 * and between them a line both ways (channel-emu/chan) with TCP's congestion control on it
 * (sim/path.h). The earliest of a frame's arrival and an alarm is done, until the user ends.
 *
 * What can go wrong: the options (exit 2 before), memory; an association that did not go in order.
 */
#include <stdlib.h>

#include "base/rng.h"
#include "channel-emu/chan/chan.h"
#include "conf/json_number.h"
#include "sim/virtual.h"
#include "tools/sle/helio_sle.h"
#include "tools/sle/station/sle_station.h"

#define START UINT64_C(1767225600) /* time zero, in seconds since 1970: 2026-01-01 */
#define OVERHEAD 38                /* Ethernet's head, check value, preamble and gap */
#define ROOM (UINT64_C(4) << 20)   /* of the buffers, beside twice what the line holds */
#define PORT 5100

enum { STATION = 1, USER };

struct wan {
    const struct wan_options *options;
    struct virtual_world world;
    struct rng rng;
    struct pipe_wire wire;
    struct chan *way[2]; /* to the user, and back */
    struct station *station;
    struct user user;
    bool over;
};

static bool lies_between(void *context, size_t from, size_t to)
{
    (void)context;
    return from != to;
}

static void carry_frame(void *context, size_t from, size_t to, struct slice frame)
{
    struct wan *w = context;
    (void)from;
    chan_input(w->way[to == USER ? 0 : 1], frame.data, frame.len, 0, w->world.now);
}

static tick way_due(void *context, tick before)
{
    const struct wan *w = context;
    (void)before;
    return tick_min(chan_deadline(w->way[0]), chan_deadline(w->way[1]));
}

static void step_way(void *context)
{
    struct wan *w = context;
    struct chan_out out;
    for (int i = 0; i < 2; i++)
        if (chan_deadline(w->way[i]) <= w->world.now &&
            chan_output(w->way[i], w->world.now, &out) != 0)
            pipes_arrive(&w->world.pipes, slice_of(out.data, out.len));
}

/* False: nothing is due any more. */
static bool step_wan(struct wan *w)
{
    const struct world_source sources[] = {{way_due, step_way, w}, virtual_alarms(&w->world)};
    const struct world_run run = virtual_run(&w->world, sources, sizeof sources / sizeof *sources);
    if (!world_run_step(&run, TICK_NEVER))
        return false;
    virtual_settle(&w->world);
    return true;
}

static void on_ended(struct user *u)
{
    container_of(u, struct wan, user)->over = true;
}

/* Twice what the line holds, as TCP finds it by itself. */
static uint64_t buffers_of(const struct wan_options *o)
{
    double held = (double)o->line / 8 * (double)o->rtt / (double)TICK_S;
    return ROOM + 2 * (uint64_t)held;
}

static int open_line(struct wan *w)
{
    const struct wan_options *o = w->options;
    int e = 0;
    for (int i = 0; i < 2 && e == 0; i++) {
        struct chan_config c = {.rate_bps = o->line,
                                .overhead = OVERHEAD,
                                .delay = o->rtt / 2,
                                .loss = o->loss,
                                .seed = o->seed * 2 + (uint64_t)i};
        e = chan_new(&w->way[i], &c);
    }
    rng_init(&w->rng, o->seed);
    virtual_init(&w->world, START * TICK_S, &w->rng, 0);
    w->wire = (struct pipe_wire){
        .between = lies_between, .carry = carry_frame, .buffers = buffers_of(o), .context = w};
    w->world.pipes.wire = &w->wire;
    return e;
}

/* Most that one can have of frames' octets: what a segment of TCP carries of its time on the air.
 */
static double capacity_of(const struct wan_options *o)
{
    return (double)o->line * PATH_OCTETS / (double)(PATH_FRAME_MAX + OVERHEAD);
}

static void print_wan(const struct wan *w)
{
    const struct wan_options *o = w->options;
    const struct chan_counters *n = chan_counters(w->way[0]);
    json_t *r = json_object();
    json_object_set_new(r, "buffer", json_number(o->bench.buffer));
    json_object_set_new(r, "frame", json_number(o->bench.frame));
    json_object_set_new(r, "instances", json_number(o->bench.instances));
    json_object_set_new(r, "pipelining", json_boolean(!o->bench.blocked));
    json_object_set_new(r, "congestion",
                        json_string(o->bench.congestion != NULL ? o->bench.congestion : "cubic"));
    json_object_set_new(r, "rtt_ms", json_real((double)o->rtt / (double)TICK_MS));
    json_object_set_new(r, "line_bps", json_number(o->line));
    json_object_set_new(r, "capacity_bps", json_real(capacity_of(o)));
    json_object_set_new(r, "loss", json_real(o->loss));
    json_object_set_new(r, "line_frames", json_number(n->in));
    json_object_set_new(r, "line_lost", json_number(chan_lost(n)));
    json_object_set_new(r, "virtual_s", json_real((double)w->world.now / (double)TICK_S));
    json_object_set_new(r, "result", result_json(&w->user));
    json_dumpf(r, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(r);
}

/* 0; HELIO_E*: what is wrong was reported. */
static int run_wan(struct wan *w, const struct settings *s)
{
    w->world.world.owner = STATION;
    w->station = station_open(&w->world.world, s, LEVEL_WARNING);
    if (w->station == NULL || !station_is_open(w->station))
        return HELIO_ENOMEM;
    w->world.world.owner = USER;
    w->user.ended = on_ended;
    user_begin(&w->user);
    while (!w->over && step_wan(w))
        continue;
    return w->over ? 0 : HELIO_ESTOPPED;
}

/* What was closed has its ends, and what these wake. */
static void close_wan(struct wan *w)
{
    if (w->station != NULL)
        station_end(w->station);
    virtual_settle(&w->world);
    virtual_fire_soon(&w->world);
    virtual_settle(&w->world);
    station_free(w->station);
    user_free(&w->user);
    virtual_fini(&w->world);
    chan_free(w->way[0]);
    chan_free(w->way[1]);
}

int command_sim(const struct wan_options *o)
{
    struct wan w = {.options = o};
    struct settings s;
    struct address to;
    char id[SLE_SIID_MAX + 1];
    if (address_of("127.0.0.1", PORT, &to) < 0 || !bench_settings(&o->bench, PORT, &s))
        return 1;
    struct user_options u = bench_user(&o->bench, &to, id);
    int e = open_line(&w);
    if (e == 0)
        e = user_open(&w.user, &w.world.world, &u);
    if (e == 0)
        e = run_wan(&w, &s);
    bool good = e == 0 && user_close(&w.user) && user_good(&w.user);
    if (e == 0)
        print_wan(&w);
    close_wan(&w);
    settings_free(&s);
    return good ? 0 : 1;
}
