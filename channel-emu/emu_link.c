/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A direction's channels begin with its first frame, when the origin of its trace is known. Exempt
 * frames have a channel of their own with the same delay and nothing else.
 * What can go wrong: memory for a channel, which ends the run.
 */
#include "channel-emu/emu_link.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

#include "channel-emu/emu_clock.h"

void emu_link_init(struct emu_link *l, const struct emu_options *options)
{
    memset(l, 0, sizeof *l);
    l->options = *options;
    l->started = emu_now();
}

void emu_link_fini(struct emu_link *l)
{
    for (int dir = 0; dir < 2; dir++) {
        chan_free(l->way[dir].chan);
        chan_free(l->way[dir].clean);
    }
}

static int begin_way(struct emu_link *l, int dir, tick arrival)
{
    struct emu_way *w = &l->way[dir];
    const struct emu_way_options *o = &l->options.way[dir];
    w->origin = l->options.origin_start ? l->started : arrival;
    struct chan_config config = {.rate_bps = o->rate_bps,
                                 .overhead = l->options.overhead,
                                 .delay = o->delay,
                                 .jitter = o->jitter,
                                 .queue_bytes = l->options.queue_bytes,
                                 .trace = o->trace.on ? &o->trace.trace : NULL,
                                 .trace_offset = o->trace_start,
                                 .origin = w->origin,
                                 .loss = o->trace.loss,
                                 .seed = l->options.seed + (uint64_t)dir};
    struct chan_config clean = {.delay = o->delay};
    w->first = w->last = arrival;
    int rc = chan_new(&w->chan, &config);
    return rc < 0 ? rc : chan_new(&w->clean, &clean);
}

static int arrive(struct emu_link *l, int dir, tick arrival)
{
    struct emu_way *w = &l->way[dir];
    if (w->clean == NULL) {
        int rc = begin_way(l, dir, arrival);
        if (rc < 0)
            return rc;
    }
    w->last = arrival > w->last ? arrival : w->last;
    return 0;
}

int emu_link_input(struct emu_link *l, int dir, const uint8_t *data, size_t len, uint64_t tag,
                   tick arrival)
{
    int rc = arrive(l, dir, arrival);
    if (rc == 0)
        chan_input(l->way[dir].chan, data, len, tag, l->way[dir].last);
    return rc;
}

int emu_link_input_exempt(struct emu_link *l, int dir, const uint8_t *data, size_t len,
                          uint64_t tag, tick arrival)
{
    int rc = arrive(l, dir, arrival);
    if (rc == 0)
        chan_input(l->way[dir].clean, data, len, tag, l->way[dir].last);
    return rc;
}

tick emu_link_deadline(const struct emu_link *l)
{
    tick due = TICK_NEVER;
    for (int dir = 0; dir < 2; dir++) {
        const struct emu_way *w = &l->way[dir];
        if (w->clean != NULL)
            due = tick_min(due, tick_min(chan_deadline(w->chan), chan_deadline(w->clean)));
    }
    return due;
}

int emu_link_output(struct emu_link *l, int dir, tick now, struct chan_out *out)
{
    struct emu_way *w = &l->way[dir];
    if (w->clean == NULL)
        return 0;
    bool exempt_first = chan_deadline(w->clean) < chan_deadline(w->chan);
    return chan_output(exempt_first ? w->clean : w->chan, now, out);
}

void emu_link_sent(struct emu_link *l, int dir, size_t len, tick due, tick now)
{
    struct emu_way *w = &l->way[dir];
    emu_late_add(&w->late, now > due ? now - due : 0);
    w->sent_bytes += len;
}

int emu_link_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void emu_link_hurry(const struct emu_options *o)
{
    struct sched_param priority = {.sched_priority = sched_get_priority_min(SCHED_RR)};
    prctl(PR_SET_TIMERSLACK, 1000UL);
    if (o->realtime)
        sched_setscheduler(0, SCHED_RR, &priority);
}
