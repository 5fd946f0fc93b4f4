/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Once a second counters and gauges are compared with their last logged values. A peer that owes no
 * answer may be silent. Omitted lines are counted: the next line has the sum.
 */
#include "node/node_watch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "cla/seglog.h"
#include "node/app/apps.h"
#include "node/node_clock.h"
#include "node/node_events.h"
#include "node/node_log.h"
#include "node/node_medium.h"
#include "node/node_meter.h"
#include "node/node_permit.h"
#include "node/node_shortage.h"

#define PAUSE_FIRST (10 * TICK_S)
#define PAUSE_MOST (600 * TICK_S)
#define FLAP_TIME (60 * TICK_S)
#define UNCONFIGURED_PAUSE (TICK_S / 2)

bool watch_may_tell(struct watch_pace *p, tick now)
{
    if (now < p->after)
        return false;
    bool rested = p->pause == 0 || now >= tick_add(p->after, p->pause);
    p->pause = rested ? PAUSE_FIRST : p->pause < PAUSE_MOST / 2 ? 2 * p->pause : PAUSE_MOST;
    p->after = tick_add(now, p->pause);
    assert(p->pause >= PAUSE_FIRST && p->pause <= PAUSE_MOST);
    return true;
}

/* ---- links ---- */

static const char *peer_text(const struct node_link *l, char out[EID_TEXT_MAX])
{
    eid_text(&l->config->peer, out);
    return out;
}

static void say_silent(const struct node_link *l, const struct cla_gauges *g, tick owed)
{
    struct say *s = &l->node->say;
    const char *name = l->config->name;
    char peer[EID_TEXT_MAX];
    peer_text(l, peer);
    if (owed > link_patience(g->rto))
        say(s, LEVEL_WARNING,
            "link %s is silent: %s has not answered for %.3g s, longer than %.3g s (the "
            "retransmission timer is %.3g s)",
            name, peer, (double)owed / 1e9, (double)link_patience(g->rto) / 1e9,
            (double)g->rto / 1e9);
    else
        say(s, LEVEL_WARNING,
            "link %s is silent: %s has not answered for %.3g s, and all tries of a session failed",
            name, peer, (double)owed / 1e9);
}

static void watch_silence(struct node_link *l, tick now)
{
    struct node *n = l->node;
    struct link_watch *w = &l->watch;
    struct cla_gauges g = node_link_gauges(l);
    char peer[EID_TEXT_MAX];
    struct link_facts f = node_link_facts(l, &g);
    tick asked = g.asked > l->opened ? g.asked : l->opened;
    bool silent = link_state_of(&f) == LINK_STATE_SILENT;
    if (silent && !w->silent && g.asked != TICK_NEVER && watch_may_tell(&w->silence, now)) {
        w->silent = true;
        w->silent_since = asked;
        w->never_heard = g.heard == TICK_NEVER;
        say_silent(l, &g, now - asked);
    } else if (w->silent && l->up && !silent) {
        w->silent = false;
        say(&n->say, LEVEL_INFO, "link %s: %s was heard %s after %.3g s", l->config->name,
            peer_text(l, peer), w->never_heard ? "for the first time" : "again",
            (double)((g.heard != TICK_NEVER ? g.heard : now) - w->silent_since) / 1e9);
    } else if (!l->up) {
        w->silent = false; /* that it is down was logged */
    }
}

static void watch_one_way(struct node_link *l, tick now)
{
    const struct cla_gauges g = node_link_gauges(l);
    const struct link_facts f = node_link_facts(l, &g);
    char why[LINK_WHY_MAX];
    if (link_state_one_way(&f) && watch_may_tell(&l->watch.one_way, now))
        say(&l->node->say, LEVEL_WARNING, "link %s: %s", l->config->name, link_state_why(&f, why));
}

/* "no answer 12, cancelled here 1" */
static void reasons_text(const struct node_link *l, char *out, size_t cap)
{
    size_t used = 0;
    *out = '\0';
    for (int r = 0; r < CLA_REASON_COUNT && used < cap; r++) {
        if (l->failures[r] == 0)
            continue;
        int k = snprintf(out + used, cap - used, "%s%s %" PRIu64, used > 0 ? ", " : "",
                         cla_reason_text((enum cla_reason)r), l->failures[r]);
        used += k > 0 ? (size_t)k : 0;
    }
}

static void watch_failing(struct node_link *l, tick now)
{
    struct link_watch *w = &l->watch;
    char why[256], peer[EID_TEXT_MAX];
    assert(l->failed >= w->failed);
    if (l->failed == w->failed || !watch_may_tell(&w->failing, now))
        return;
    reasons_text(l, why, sizeof why);
    say(&l->node->say, LEVEL_WARNING,
        "link %s: forwarding to %s failed %" PRIu64 " times; each is tried again after a pause, "
        "retry_min to retry_max (in all: %s)",
        l->config->name, peer_text(l, peer), l->failed - w->failed, why);
    w->failed = l->failed;
}

/* Its queue is full: refused bundles stay with the peer, or are lost. */
static void watch_queue(struct node_link *l, tick now)
{
    struct link_watch *w = &l->watch;
    const struct node *n = l->node;
    struct agent_backlog b[BUNDLE_PRIORITIES];
    struct agent_bound bound;
    char peer[EID_TEXT_MAX];
    uint64_t bundles = 0;
    if (!agent_bound(n->agent, l->index, &bound) || bound.refused == w->queue_refused ||
        !agent_backlog(n->agent, l->index, b) || !watch_may_tell(&w->queueing, now))
        return;
    for (int p = 0; p < BUNDLE_PRIORITIES; p++)
        bundles += b[p].bundles;
    assert(bound.refused > w->queue_refused);
    say(&l->node->say, LEVEL_WARNING,
        "link %s: %" PRIu64 " bundles for %s were refused: its queue is full (queue_bundles, "
        "queue_bytes), %" PRIu64 " wait",
        l->config->name, bound.refused - w->queue_refused, peer_text(l, peer), bundles);
    w->queue_refused = bound.refused;
}

void node_watch_waits(struct node_link *l, enum agent_refusal why)
{
    l->watch.stop.refusal = why;
    l->watch.stop.shortage = *agent_shortage(l->node->agent);
}

static void change_stop(struct stop_watch *s, bool stopped, tick now)
{
    if (stopped == s->stopped)
        return;
    if (stopped && !s->running) {
        s->running = true;
        s->began = now;
        s->time = 0;
    }
    if (!stopped)
        s->time += now - s->changed;
    s->stopped = stopped;
    s->changed = now;
}

void node_watch_stop(struct node_link *l, bool stopped)
{
    change_stop(&l->watch.stop, stopped, world_now(l->node->world));
}

/* Is a line due, for a stop that lasts *time? The end of the stop is logged here. */
static bool stop_is_due(const struct node_link *l, struct stop_watch *s, tick now, tick *time)
{
    if (!s->running)
        return false;
    if (!s->stopped && now >= tick_add(s->changed, STOP_CALM)) {
        if (s->told)
            say(&l->node->say, LEVEL_INFO, "link %s reads again after %.3g s", l->config->name,
                (double)(s->changed - s->began) / 1e9);
        s->running = s->told = false;
        return false;
    }
    *time = s->time + (s->stopped ? now - s->changed : 0);
    if (s->told || *time < STOP_LONG || now < s->tell_after || !node_watch_line(l))
        return false;
    s->told = true;
    s->tell_after = tick_add(now, STOP_TOLD);
    return true;
}

/* The peer keeps its bundles meanwhile, if its protocol can wait. */
static void watch_stop(struct node_link *l, tick now)
{
    struct stop_watch *s = &l->watch.stop;
    char peer[EID_TEXT_MAX], why[SHORTAGE_TEXT_MAX];
    tick time;
    if (!stop_is_due(l, s, now, &time))
        return;
    const bool room =
        s->refusal == REFUSE_FULL || s->refusal == REFUSE_QUOTA || s->refusal == REFUSE_QUEUE;
    say(&l->node->say, LEVEL_WARNING,
        "link %s has stopped reading for %.3g of %.3g s: there is no room for bundles of %s (%s), "
        "which wait there",
        l->config->name, (double)time / 1e9, (double)(now - s->began) / 1e9, peer_text(l, peer),
        room ? node_shortage_text(l->node, &s->shortage, why) : agent_refusal_text(s->refusal));
}

/* The store is slower than the arriving bundles. watch_stop reports a link that waits for room. */
static void watch_unstored(struct node_link *l, tick now)
{
    struct stop_watch *s = &l->watch.unstored;
    const struct cla_gauges g = node_link_gauges(l);
    char peer[EID_TEXT_MAX];
    tick time;
    change_stop(s, g.unstored_full && !l->hold_paused, now);
    if (!stop_is_due(l, s, now, &time))
        return;
    say(&l->node->say, LEVEL_WARNING,
        "link %s has stopped reading for %.3g of %.3g s: limits.held_bytes: %" PRIu64 " of %" PRIu64
        " bytes of its bundles wait for the store%s, and bundles of %s wait there (a faster "
        "medium, or "
        "store: {durability: async}; a higher limit helps with bursts only)",
        l->config->name, (double)time / 1e9, (double)(now - s->began) / 1e9, g.unstored,
        g.unstored_max, l->held_len > 0 ? " or for room" : "", peer_text(l, peer));
}

/* Most often a peer that sends, and does not read. */
static void watch_answers(struct node_link *l, tick now)
{
    struct stop_watch *s = &l->watch.answers;
    const struct cla_gauges g = node_link_gauges(l);
    char peer[EID_TEXT_MAX];
    tick time;
    change_stop(s, g.answers_max != 0 && g.answers >= g.answers_max && !l->hold_paused, now);
    if (!stop_is_due(l, s, now, &time))
        return;
    say(&l->node->say, LEVEL_WARNING,
        "link %s has stopped reading for %.3g of %.3g s: %" PRIu64 " of %" PRIu64
        " acknowledgements and refusals wait for %s, and its bundles wait there",
        l->config->name, (double)time / 1e9, (double)(now - s->began) / 1e9, g.answers,
        g.answers_max, g.answers_unread ? peer_text(l, peer) : "the store");
}

bool node_watch_flap(struct node_link *l, bool up)
{
    struct link_watch *w = &l->watch;
    tick now = world_now(l->node->world);
    if (w->flaps == 0 || now - w->flaps_begun > FLAP_TIME) {
        w->flaps_begun = now;
        w->flaps = 0;
    }
    w->flaps++;
    if (w->calm_at != 0) {
        w->calm_at = now + FLAP_TIME;
        return false;
    }
    if (w->flaps <= WATCH_FLAPS)
        return true;
    w->calm_at = now + FLAP_TIME;
    say(&l->node->say, LEVEL_WARNING,
        "link %s is flapping: %" PRIu64 " changes within %.3g s, now %s; the next message follows "
        "after a minute without a change",
        l->config->name, w->flaps, (double)(now - w->flaps_begun) / 1e9, up ? "up" : "down");
    return false;
}

static void watch_flapping(struct node_link *l, tick now)
{
    struct link_watch *w = &l->watch;
    if (w->calm_at == 0 || now < w->calm_at)
        return;
    w->calm_at = 0;
    w->flaps = 0;
    say(&l->node->say, LEVEL_INFO, "link %s has stopped flapping: it is %s", l->config->name,
        l->up ? "up" : "down");
}

bool node_watch_found(struct node *n)
{
    struct node_watch *w = &n->watch;
    w->unconfigured_lines.burst = WATCH_UNCONFIGURED;
    w->unconfigured_lines.pause = UNCONFIGURED_PAUSE;
    return say_few_takes(&w->unconfigured_lines, world_now(n->world));
}

bool node_watch_line(const struct node_link *l)
{
    return (l->host == NULL && l->config->found == 0) || node_watch_found(l->node);
}

/* ---- the node ---- */

static void watch_unconfigured(struct node *n, tick now)
{
    struct node_watch *w = &n->watch;
    if (w->unconfigured_lines.left_out == 0 || !watch_may_tell(&w->unconfigured, now))
        return;
    say(&n->say, LEVEL_WARNING,
        "unconfigured peers connect and leave again and again: %" PRIu64 " lines about their "
        "links were left out",
        w->unconfigured_lines.left_out);
    w->unconfigured_lines.left_out = 0;
}

static void watch_expiry(struct node *n, tick now)
{
    struct node_watch *w = &n->watch;
    const struct agent_counters *c = agent_counters(n->agent);
    uint64_t expired = c->ended[END_EXPIRED];
    if (expired == w->expired || !watch_may_tell(&w->expiring, now))
        return;
    const uint64_t more = expired - w->expired;
    say(&n->say, LEVEL_WARNING,
        "%" PRIu64 " bundle%s expired here before %s forwarded or delivered; helioctl backlog "
        "shows the destinations of the others",
        more, more == 1 ? "" : "s", more == 1 ? "it was" : "they were");
    w->expired = expired;
}

/* The peer learns only that its bundle is refused: the reason and this node's name are in this
 * log. */
static void watch_unrouted(struct node *n, tick now)
{
    struct node_watch *w = &n->watch;
    const struct agent_unrouted *u = agent_unrouted(n->agent);
    char source[EID_TEXT_MAX], destination[EID_TEXT_MAX], own[EID_TEXT_MAX];
    if (u->count == w->unrouted || !watch_may_tell(&w->unrouting, now))
        return;
    const struct node_link *l = u->link < n->links_len ? n->links[u->link] : NULL;
    eid_text(&u->source, source);
    eid_text(&u->destination, destination);
    eid_text(&n->config->node, own);
    say(&n->say, LEVEL_WARNING,
        "%" PRIu64 " bundles were refused: no route to the destination; the latest from %s to %s "
        "over link %s; this node is %s",
        u->count - w->unrouted, source, destination, l != NULL ? l->config->name : "(removed)",
        own);
    w->unrouted = u->count;
}

/* The sender gets an acknowledgement (LTP), or only a refusal: only this log shows a wrong
 * clock. */
static void watch_stale(struct node *n, tick now)
{
    struct node_watch *w = &n->watch;
    const struct agent_stale *s = agent_stale(n->agent);
    char source[EID_TEXT_MAX], over[CLOCK_SPAN_MAX];
    if (s->count == w->stale || !watch_may_tell(&w->staling, now))
        return;
    const struct node_link *l = s->link < n->links_len ? n->links[s->link] : NULL;
    const uint64_t over_ms = s->over_ms < INT64_MAX ? s->over_ms : INT64_MAX;
    eid_text(&s->source, source);
    say(&n->say, LEVEL_WARNING,
        "%" PRIu64 " bundles arrived after their lifetime and were dropped; the latest from %s "
        "over link %s, %s too late: check the clocks of both nodes, and whether its lifetime is "
        "longer than the delay of its path",
        s->count - w->stale, source, l != NULL ? l->config->name : "(removed)",
        node_clock_span((int64_t)over_ms, over));
    w->stale = s->count;
}

/* The sender of the ping sees only that no answer arrives, and the answer is in no queue. */
static void watch_echo(struct node *n, tick now)
{
    struct node_watch *w = &n->watch;
    char to[EID_TEXT_MAX];
    if (n->echo_unsent.count == w->echo_unsent || !watch_may_tell(&w->echoing, now))
        return;
    assert(n->echo_unsent.count > w->echo_unsent);
    eid_text(&n->echo_unsent.to, to);
    say(&n->say, LEVEL_WARNING, "echo: %" PRIu64 " answers not sent: %s; the latest to %s",
        n->echo_unsent.count - w->echo_unsent, agent_refusal_text(n->echo_unsent.why), to);
    w->echo_unsent = n->echo_unsent.count;
}

/* A medium that is full may take a part of a write (HELIO_EIO). */
static const char *store_error_text(const struct node *n, int error)
{
    const bool full = helio_code(error) == HELIO_ESPACE ||
                      (helio_code(error) == HELIO_EIO && node_medium_short(n));
    return full        ? "the medium is full (df shows its room)"
           : error < 0 ? helio_strerror(error)
                       : "out of memory";
}

static void watch_store(struct node *n, tick now)
{
    struct node_watch *w = &n->watch;
    if (n->store_failures == w->stores || !watch_may_tell(&w->storing, now))
        return;
    say(&n->say, LEVEL_ERROR, "store: %s: %" PRIu64 " bundles could not be stored: %s",
        n->config->store.path, n->store_failures - w->stores, store_error_text(n, w->store_error));
    w->stores = n->store_failures;
}

static void watch_applications(struct node *n, tick now)
{
    struct node_watch *w = &n->watch;
    const struct apps_counters *c = n->apps == NULL ? NULL : apps_counters(n->apps);
    char user[32] = "is not known";
    if (c == NULL || c->refused_connections == w->unconnected ||
        !watch_may_tell(&w->connecting, now))
        return;
    if (c->refused_user > 0)
        snprintf(user, sizeof user, "has uid %" PRIu64, c->refused_user - 1);
    say(&n->say, LEVEL_WARNING,
        "%" PRIu64 " connections of applications were closed: at most %d are open, and one user "
        "leaves a quarter of the free ones, and the last 64, to others; the user of the latest one "
        "%s",
        c->refused_connections - w->unconnected, APP_CONNECTIONS_MAX, user);
    w->unconnected = c->refused_connections;
}

/* node_log.c reports write errors with their reason. */
static void watch_lines(struct node *n, int which, const struct log_writer *log, const char *path,
                        tick now)
{
    struct node_watch *w = &n->watch;
    uint64_t lost = log == NULL ? 0 : log_writer_lost(log);
    if (log == NULL || lost == w->lines[which] || log_writer_trouble(log) != 0 ||
        !watch_may_tell(&w->losing[which], now))
        return;
    say(&n->say, LEVEL_ERROR,
        "log: %s: %" PRIu64 " lines were lost: the medium is slower than what is to be written",
        path, lost - w->lines[which]);
    w->lines[which] = lost;
}

/* Connections are not accepted, since the process has no descriptor left. */
static void watch_descriptors(struct node *n, tick now)
{
    struct node_watch *w = &n->watch;
    const uint64_t all = n->world->no_descriptor;
    if (all == w->no_descriptor || !watch_may_tell(&w->descriptors, now))
        return;
    say(&n->say, LEVEL_ERROR,
        "no file descriptor was free for a connection, %" PRIu64
        " times: connections are ended, or "
        "wait; raise LimitNOFILE of the service (ulimit -n), or limit links' peers",
        all - w->no_descriptor);
    w->no_descriptor = all;
}

uint64_t node_watch_memory_max(const struct node *n)
{
    const uint64_t part = n->config->bundles.total / 4, memory = n->config->bundles.memory;
    return part > 0 && part < memory ? part : memory;
}

/* Bundles are then read from the store before they are delivered or sent. */
static void watch_memory(struct node *n, tick now)
{
    struct node_watch *w = &n->watch;
    const struct agent_counters *c = agent_counters(n->agent);
    const uint64_t most = node_watch_memory_max(n), used = c->memory_bytes - c->resting_bytes;
    if (n->config->store.durability == STORE_NONE)
        return;
    if (!w->memory_full && used >= most / 16 * 15 && watch_may_tell(&w->filling, now)) {
        w->memory_full = true;
        say(&n->say, LEVEL_WARNING,
            "bundles.memory: %" PRIu64 " of %" PRIu64
            " bytes are of bundles that are being stored, "
            "are next, or are in hand of links and applications: others are read from the store, "
            "which is slower",
            used, most);
    } else if (w->memory_full && used <= most / 4 * 3) {
        w->memory_full = false;
        say(&n->say, LEVEL_INFO, "bundles.memory has room again");
    }
}

void node_watch_tick(struct node *n)
{
    tick now = world_now(n->world);
    for (size_t i = 0; i < n->links_len; i++) {
        if (n->links[i] == NULL)
            continue;
        watch_silence(n->links[i], now);
        watch_one_way(n->links[i], now);
        watch_failing(n->links[i], now);
        watch_queue(n->links[i], now);
        watch_stop(n->links[i], now);
        watch_unstored(n->links[i], now);
        watch_answers(n->links[i], now);
        watch_flapping(n->links[i], now);
    }
    watch_unconfigured(n, now);
    watch_expiry(n, now);
    watch_stale(n, now);
    watch_unrouted(n, now);
    watch_echo(n, now);
    node_permit_watch(n, now);
    watch_store(n, now);
    watch_memory(n, now);
    watch_applications(n, now);
    watch_descriptors(n, now);
    watch_lines(n, 0, n->segments != NULL ? n->segments->file : NULL, n->config->log.segments, now);
    watch_lines(n, 1, n->bundle_log, n->config->log.bundles, now);
    node_events_tick(n);
}
