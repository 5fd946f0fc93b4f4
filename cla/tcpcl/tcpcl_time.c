/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop's time among sessions. Whoever sends messages that take little time notices nothing of
 * this. A session whose messages take longer has fewer of them in a turn: so many as fit its part
 * of TURN_TIME (TCPCL_TURN_ALONE for one session alone), or one. A session whose messages take
 * longer than a fair time, whether each by much or all of them by a little, rests for as long as
 * they took. It rests TCPCL_REST_SHARED times as long if a quick session (one that did not rest of
 * late) received a bundle meanwhile. All sessions that took long of late rest at the same time, so
 * that together they leave half of the loop's time to others, or three quarters to quick sessions.
 * Data that are read and dropped are not measured where they are read: they count as
 * TCPCL_BYTE_TIME for each byte.
 *
 * What can go wrong: the operating system suspends this process in the middle of a message. Then
 * much time has passed, which is not the peer's fault. So a measurement that is long by the clock
 * is at most the processor time of this thread since a recent mark. A rest outlasts its connection.
 */
#include <assert.h>
#include <string.h>

#include "cla/tcpcl/tcpcl_link.h"

void tcpcl_time_init(struct tcpcl_conn *c)
{
    c->time = (struct tcpcl_time){
        .round = c->endpoint->rounds, .units = TCPCL_TURN, .seen = c->endpoint->quick};
    c->time.left = c->time.units;
}

tick tcpcl_rests_until(const struct tcpcl_conn *c)
{
    return tick_min(c->endpoint->rests_until, c->time.rest_ends);
}

bool tcpcl_conn_rests(const struct tcpcl_conn *c, tick now)
{
    return now < tcpcl_rests_until(c);
}

uint32_t tcpcl_time_turn(struct tcpcl_conn *c, uint32_t messages)
{
    struct tcpcl_time *t = &c->time;
    t->round = c->endpoint->rounds;
    t->left = messages < t->units ? messages : t->units;
    return t->left;
}

/* ---- rests ---- */

/* The rest of a configured link is its own; those of unconfigured peers are by address, as crowds
 * are. NULL: none is there, and none is made. */
static tick *find_rest(struct tcpcl_conn *c, bool make)
{
    struct tcpcl_endpoint *h = c->endpoint;
    struct address at = {.sa = {.sa_family = AF_UNSPEC}};
    uint8_t prefix[ADDRESS_PREFIX_MAX] = {0}, found[ADDRESS_PREFIX_MAX];
    struct tcpcl_rest *first = &h->rests[0];
    if (!c->link->unconfigured)
        return &c->link->rest_ends;
    (void)stream_peer(c->stream, &at);
    const struct slice s = address_prefix(&at, found);
    if (s.len > 0)
        memcpy(prefix, s.data, s.len);
    for (size_t i = 0; i < TCPCL_RESTS; i++) {
        struct tcpcl_rest *x = &h->rests[i];
        if (memcmp(x->prefix, prefix, sizeof prefix) == 0)
            return &x->ends;
        first = x->ends < first->ends ? x : first;
    }
    if (!make)
        return NULL;
    *first = (struct tcpcl_rest){0};
    memcpy(first->prefix, prefix, sizeof prefix);
    return &first->ends;
}

/* How many times as long as its messages took: more if a quick session received a bundle since the
 * last rest of this one. */
static tick rest_factor(struct tcpcl_conn *c)
{
    struct tcpcl_time *t = &c->time;
    const uint64_t others = c->endpoint->quick - t->quick;
    const bool waited = others != t->seen;
    t->seen = others;
    return waited ? TCPCL_REST_SHARED : 1;
}

/* By the time that its messages took since it began to take more than is fair, and with it all that
 * rested lately. */
static void begin_rest(struct tcpcl_conn *c, tick now)
{
    struct tcpcl_endpoint *h = c->endpoint;
    const tick taken = c->time.taken;
    /* Of the others' rest, what this one did not let pass. */
    const tick left = h->rests_until + taken > now ? h->rests_until + taken - now : 0;
    const tick rest = left + rest_factor(c) * taken;
    c->time.debt = 0;
    c->time.rest_ends = tick_add(now, TCPCL_REST_MAX);
    h->rests_until = tick_min(tick_add(now, rest), c->time.rest_ends);
    if (c->link != NULL)
        *find_rest(c, true) = c->time.rest_ends;
}

/* ---- one measurement ---- */

static void mark_processor(struct tcpcl_endpoint *h, tick now)
{
    if (now - h->marked < TCPCL_MARK)
        return;
    h->marked = now;
    h->marked_processor = world_processor(h->world);
}

/* Of the time that passed since `began`, at most what this thread ran. */
static tick time_taken(const struct tcpcl_endpoint *h, tick began, tick now)
{
    const tick passed = now - began;
    return passed < TCPCL_MARK ? passed
                               : tick_min(passed, world_processor(h->world) - h->marked_processor);
}

void tcpcl_time_begin(struct tcpcl_conn *c, tick now)
{
    struct tcpcl_time *t = &c->time;
    if (t->round != c->endpoint->rounds)
        (void)tcpcl_time_turn(c, t->units);
    if (tcpcl_turn_left(c->session) > t->left)
        tcpcl_turn(c->session, t->left);
    mark_processor(c->endpoint, now);
    t->began = now;
    t->bundles = 0;
    t->bytes = 0;
    t->before = tcpcl_turn_left(c->session);
    t->dropped = tcpcl_dropped(c->session);
}

void tcpcl_time_bundle(struct tcpcl_conn *c, size_t bytes)
{
    c->time.bundles++;
    c->time.bytes += bytes;
}

/* The next turn's messages, by the time of one: that rises to twice as much at most, since one
 * message may have been interrupted, and falls slowly, since one may have been an exception. */
static void fit_turn(struct tcpcl_time *t, tick took, uint32_t messages, tick slice)
{
    const tick each = tick_min(took / messages, 2 * t->each + TICK_US);
    t->each = each > t->each ? each : t->each - (t->each - each) / 4;
    const tick units = t->each == 0 ? TCPCL_TURN : slice / t->each;
    t->units = units < 1 ? 1 : units > TCPCL_TURN ? TCPCL_TURN : (uint32_t)units;
}

/* Bundles of a session that did not rest of late: they should not wait for one that does. */
static void count_quick(struct tcpcl_conn *c, tick now)
{
    if (now < c->time.rest_ends)
        return;
    c->time.quick += c->time.bundles;
    c->endpoint->quick += c->time.bundles;
}

/* One session alone may take longer: shorter turns than what it reads at once cost more. */
static tick slice_of_turn(const struct tcpcl_endpoint *h)
{
    return h->sharing > 1 ? TURN_TIME / h->sharing : TCPCL_TURN_ALONE;
}

void tcpcl_time_end(struct tcpcl_conn *c, tick now)
{
    struct tcpcl_time *t = &c->time;
    const tick dropped = (tcpcl_dropped(c->session) - t->dropped) * TCPCL_BYTE_TIME;
    const tick took = time_taken(c->endpoint, t->began, now) + dropped;
    const uint32_t left = tcpcl_turn_left(c->session);
    const uint32_t messages = t->before > left ? t->before - left : 0;
    const tick fair = (messages + t->bundles) * TCPCL_MESSAGE_TIME + t->bytes * TCPCL_BYTE_TIME;
    t->left -= messages < t->left ? messages : t->left;
    if (messages > 0)
        fit_turn(t, took, messages, slice_of_turn(c->endpoint));
    count_quick(c, now);
    t->taken = t->debt > 0 ? t->taken + took : took;
    t->debt = t->debt + took > fair ? t->debt + took - fair : 0;
    if (t->debt > TCPCL_LONG)
        begin_rest(c, now);
}

void tcpcl_time_recall(struct tcpcl_conn *c)
{
    assert(c->link != NULL);
    const tick *ends = find_rest(c, false);
    c->time.rest_ends = ends == NULL ? 0 : *ends;
}
