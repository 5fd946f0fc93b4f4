/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can happen in a run (sim/world_run.h), and its end. What can go wrong at the start is said
 * by the parts; a run has no errors but those of its logs.
 */
#include "tools/sim/stack.h"
#include "base/err.h"
#include "os/clock.h"
#include "os/process/signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_STEPS 4096 /* between two looks at the signals and the real clock */
#define PROGRESS_NS (TICK_S / 4)

void stack_init(struct stack *s, uint64_t seed)
{
    *s = (struct stack){.until = TICK_NEVER};
    rng_init(&s->rng, seed);
    virtual_init(&s->world, STACK_START * TICK_S, &s->rng, 0);
    stack_net_init(s);
    list_init(&s->apps);
}

/* SIGINT and SIGTERM as a descriptor, until signals_close: then they end the process again. Before
 * logs have threads, which would take them. */
static void open_signals(struct stack *s)
{
    s->signals = signals_open((const int[]){SIGINT, SIGTERM, 0}, &s->mask_before);
}

static bool signalled(const struct stack *s)
{
    return s->signals >= 0 && signals_take(s->signals) != 0;
}

int stack_open(struct stack *s)
{
    int rc = 0;
    open_signals(s);
    for (size_t i = 0; i < s->channels_len && rc == 0; i++)
        rc = stack_channel_open(s->channels[i], i + 1);
    for (size_t i = 0; i < s->hosts_len && rc == 0; i++)
        rc = stack_host_open(s->hosts[i]);
    for (size_t i = 0; i < s->stations_len && rc == 0; i++)
        rc = stack_station_open(s->stations[i]);
    for (size_t i = 0; i < s->hosts_len && rc == 0; i++)
        rc = stack_host_check(s->hosts[i]);
    for (size_t i = 0; i < s->channels_len && rc == 0; i++)
        rc = stack_channel_check(s->channels[i]);
    for (struct list *l = s->apps.next; l != &s->apps && rc == 0; l = l->next)
        rc = stack_app_open(container_of(l, struct stack_app, node));
    s->world.pipes.delay = STACK_APP_DELAY; /* until now no time has passed */
    return rc;
}

/* Nothing is written to it from here on. */
static int finish_stack(struct log_writer **w, const char *what, size_t number)
{
    int rc = *w == NULL ? 0 : log_writer_finish(*w);
    log_writer_free(*w);
    *w = NULL;
    if (rc < 0)
        fprintf(stderr, "helio-sim: %s %zu could not be written whole: %s\n", what, number,
                helio_strerror(rc));
    return rc < 0 ? HELIO_EIO : 0;
}

int stack_finish_logs(struct stack *s)
{
    int rc = 0;
    for (size_t i = 0; i < s->hosts_len; i++) {
        rc |= finish_stack(&s->hosts[i]->log, "the segment log of node", i + 1);
        rc |= finish_stack(&s->hosts[i]->bundle_log, "the bundle log of node", i + 1);
    }
    for (size_t i = 0; i < s->channels_len; i++) {
        rc |= finish_stack(&s->channels[i]->drops, "the drop log of channel", i + 1);
        for (int k = 0; k < 2; k++)
            rc |= finish_stack(&s->channels[i]->capture[k], "a capture of channel", i + 1);
    }
    return rc < 0 ? HELIO_EIO : 0;
}

void stack_fini(struct stack *s)
{
    s->script_next = s->script_len; /* its links go */
    for (struct list *l; (l = list_first(&s->apps)) != NULL;) {
        list_sub(l);
        stack_app_free(container_of(l, struct stack_app, node));
    }
    for (size_t i = 0; i < s->hosts_len; i++)
        stack_host_free(s->hosts[i]);
    for (size_t i = 0; i < s->stations_len; i++)
        stack_station_free(s->stations[i]);
    for (size_t i = 0; i < s->channels_len; i++)
        stack_channel_free(s->channels[i]);
    stack_links_free(s);
    stack_net_fini(s);
    virtual_fini(&s->world);
}

/* ---- what happens, in the order of ties ---- */

static tick script_due(void *context, tick before)
{
    (void)before;
    return stack_script_due(context);
}

static void step_script(void *context)
{
    stack_script_step(context);
}

static tick channels_due(void *context, tick before)
{
    struct stack *s = context;
    for (size_t i = 0; i < s->channels_len; i++) {
        const tick due = stack_channel_due(s->channels[i]);
        if (due >= before)
            continue;
        before = due;
        s->channel_next = i;
    }
    return before;
}

static void step_channel(void *context)
{
    struct stack *s = context;
    stack_channel_step(s->channels[s->channel_next]);
}

static tick net_due(void *context, tick before)
{
    (void)before;
    return stack_net_due(context);
}

static void step_net(void *context)
{
    stack_net_step(context);
}

bool stack_step(struct stack *s, tick before)
{
    const struct world_source sources[] = {{script_due, step_script, s},
                                           {channels_due, step_channel, s},
                                           {net_due, step_net, s},
                                           virtual_alarms(&s->world)};
    const struct world_run run = virtual_run(&s->world, sources, sizeof sources / sizeof *sources);
    if (!world_run_step(&run, before))
        return false;
    s->steps++;
    return true;
}

/* Are there applications that end, and have all of them ended? */
static bool all_done(const struct stack *s)
{
    bool any = false;
    list_for_each (l, &s->apps) {
        const struct stack_app *a = container_of(l, struct stack_app, node);
        if (a->kind == STACK_SERVER)
            continue;
        if (!a->done)
            return false;
        any = true;
    }
    return any;
}

/* When the clients will have sent everything, as far as it is known; else the limit. */
static tick expected_end(const struct stack *s)
{
    tick end = 0;
    list_for_each (l, &s->apps) {
        const struct stack_app *a = container_of(l, struct stack_app, node);
        if (a->kind != STACK_SERVER && a->options.mode == PERF_MODE_TIME)
            end = end > a->options.time ? end : a->options.time;
    }
    return tick_min(end > 0 ? end : TICK_NEVER, s->until);
}

static void show_state(const struct stack *s, tick real)
{
    tick end = expected_end(s);
    double now = (double)s->world.now / 1e9, took = (double)real / 1e9;
    if (end != TICK_NEVER && end > 0)
        fprintf(stderr, "\r%5.1f %% ",
                100 * now / ((double)end / 1e9 > now ? (double)end / 1e9 : now));
    else
        fputc('\r', stderr);
    fprintf(stderr, "%.1f s in virtual time, %.1f times as fast as the clock   ", now,
            took > 0 ? now / took : 0);
    fflush(stderr);
}

static void check_all(const struct stack *s)
{
    for (size_t i = 0; i < s->hosts_len; i++) {
        node_check(&s->hosts[i]->node);
        apps_check(s->hosts[i]->node.apps);
    }
    list_for_each (l, &s->apps)
        stack_app_assert(container_of(l, struct stack_app, node));
    for (size_t i = 0; i < s->stations_len; i++)
        station_assert(s->stations[i]->station);
    pipes_check(&s->world.pipes);
}

void stack_run(struct stack *s, bool progress)
{
    tick begin = clock_now(), shown = begin;
    world_end_round(&s->world.world);
    while ((!all_done(s) || s->world.now < s->least) && !s->interrupted) {
        if (!stack_step(s, s->until)) {
            if (s->until != TICK_NEVER)
                virtual_advance(&s->world, s->until);
            break;
        }
        if (s->check)
            check_all(s);
        if (s->steps % LOOK_STEPS != 0)
            continue;
        s->interrupted = signalled(s);
        tick now = progress ? clock_now() : 0;
        if (now >= shown + PROGRESS_NS) {
            show_state(s, now - begin);
            shown = now;
        }
    }
    if (shown != begin)
        fputs("\r\033[K", stderr);
    list_for_each (l, &s->apps)
        stack_app_end(container_of(l, struct stack_app, node));
    signals_close(s->signals, &s->mask_before);
}
