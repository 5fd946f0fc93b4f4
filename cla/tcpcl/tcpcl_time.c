/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares of the loop's time for sessions. Sessions with short messages are not affected.
 *
 * A session whose messages take longer has fewer of them in a turn: as many as fit its part of
 * TURN_TIME (TCPCL_TURN_ALONE for a single session), or one. A session whose messages take longer
 * than a fair time, each by much or all by a little, rests for as long as they took. It rests
 * REST_SHARED times as long if another session, another link of the node or an application brought
 * a bundle meanwhile. All such sessions rest at the same time. So together they leave half of the
 * loop's time to others, or three quarters to those with short messages.
 *
 * Work of the node for a link after arrival (bundles in fragments are verified when complete) makes
 * all sessions of the link rest, also later ones.
 *
 * Data are not measured when they are read. Data of an accepted bundle cost nothing. Data of a
 * refused transfer or bundle count as TCPCL_BYTE_TIME for each byte. So sessions that fill the
 * memory with transfers that cannot end leave the time to sessions that bring bundles.
 *
 * What can go wrong: the operating system suspends this process during a message, which is not the
 * peer's fault (os/took.h). A rest continues after its connection has ended.
 */
#include <assert.h>
#include <string.h>

#include "cla/tcpcl/tcpcl_link.h"

void tcpcl_time_init(struct tcpcl_conn *c)
{
    c->time = (struct tcpcl_time){.round = c->endpoint->s.rounds, .units = TCPCL_TURN};
    rest_init(&c->time.rest, c->endpoint->s.shared);
    c->time.left = c->time.units;
}

tick tcpcl_rests_until(const struct tcpcl_conn *c)
{
    const struct rests *all = c->endpoint->s.shared;
    const tick own = rest_until(&c->time.rest, all);
    return c->link == NULL ? own : tick_max(own, rest_until(&c->link->late, all));
}

bool tcpcl_conn_rests(const struct tcpcl_conn *c, tick now)
{
    return now < tcpcl_rests_until(c);
}

uint32_t tcpcl_time_turn(struct tcpcl_conn *c, uint32_t messages)
{
    struct tcpcl_time *t = &c->time;
    t->round = c->endpoint->s.rounds;
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

/* ---- one measurement ---- */

void tcpcl_time_begin(struct tcpcl_conn *c, tick now)
{
    struct tcpcl_time *t = &c->time;
    if (t->round != c->endpoint->s.rounds)
        (void)tcpcl_time_turn(c, t->units);
    if (tcpcl_turn_left(c->session) > t->left)
        tcpcl_turn(c->session, t->left);
    took_begin(&c->endpoint->s.took, c->endpoint->s.world, now);
    t->began = now;
    t->bundles = 0;
    t->bytes = 0;
    t->before = tcpcl_turn_left(c->session);
    t->earned = c->endpoint->s.shared->earned;
}

void tcpcl_time_bundle(struct tcpcl_conn *c, size_t bytes)
{
    c->time.bundles++;
    c->time.bytes += bytes;
}

void tcpcl_time_refused(struct tcpcl_conn *c, uint64_t bytes)
{
    c->time.bytes -= bytes < c->time.bytes ? bytes : c->time.bytes;
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

/* One session alone may take longer: shorter turns than what it reads at once cost more. */
static tick slice_of_turn(const struct tcpcl_endpoint *h)
{
    return h->s.sharing > 1 ? TURN_TIME / h->s.sharing : TCPCL_TURN_ALONE;
}

/* Its link's other account has these bundles, too: they are no others' there. */
static void count_received(struct tcpcl_conn *c, tick now)
{
    struct rests *all = c->endpoint->s.shared;
    struct rest *late = c->link == NULL ? NULL : &c->link->late;
    const uint64_t before = all->quick;
    if (late != NULL && now < late->ends)
        return; /* it took long of late */
    rest_received(&c->time.rest, all, c->time.bundles, now);
    if (late != NULL)
        late->quick += all->quick - before;
}

void tcpcl_time_end(struct tcpcl_conn *c, tick now)
{
    struct tcpcl_time *t = &c->time;
    const uint64_t all = tcpcl_dropped(c->session);
    const tick dropped = (all - t->dropped) * TCPCL_BYTE_TIME;
    struct tcpcl_endpoint *h = c->endpoint;
    const tick took = took_end(&h->s.took, h->s.world, t->began, now) + dropped;
    const uint32_t left = tcpcl_turn_left(c->session);
    const uint32_t messages = t->before > left ? t->before - left : 0;
    const tick fair = (messages + t->bundles) * TCPCL_MESSAGE_TIME + t->bytes * TCPCL_BYTE_TIME +
                      h->s.shared->earned - t->earned;
    t->left -= messages < t->left ? messages : t->left;
    t->dropped = all;
    if (messages > 0)
        fit_turn(t, took, messages, slice_of_turn(h));
    count_received(c, now);
    if (rest_spend(&t->rest, h->s.shared, took, fair, 1, now) && c->link != NULL)
        *find_rest(c, true) = t->rest.ends;
}

void tcpcl_time_charge(struct tcpcl_link *l, tick took, tick fair, tick now)
{
    if (!rest_spend(&l->late, l->endpoint->s.shared, took, fair, 1, now))
        return;
    if (!list_empty(&l->conns)) /* also when an unconfigured peer connects anew */
        *find_rest(container_of(list_first(&l->conns), struct tcpcl_conn, node), true) =
            l->late.ends;
    list_for_each (it, &l->conns)
        tcpcl_conn_touch(container_of(it, struct tcpcl_conn, node));
}

void tcpcl_time_recall(struct tcpcl_conn *c)
{
    assert(c->link != NULL);
    const tick *ends = find_rest(c, false);
    c->time.rest.ends = ends == NULL ? 0 : *ends;
}
