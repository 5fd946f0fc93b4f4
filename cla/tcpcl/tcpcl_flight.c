/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of octets of bundles that a session may have in flight: passed to the session, and not
 * acknowledged. Their order is fixed: a bundle of another source, or a more urgent one, waits for
 * all of them. Other bundles wait in the agent, which can still order them.
 *
 * The limit is twice the octets that fill the path: the rate at which the peer acknowledges, times
 * the shortest time to acknowledge. At twice, the rate can double from one round to the next while
 * the path has capacity, and at most one path's content of octets waits in queues. The limit is
 * four times as many while the rate grows by a quarter in a round. Before the first round it is
 * TCPCL_FLIGHT_FIRST, so that a long path is not empty then.
 *
 * A short path has the larger of these:
 * - what the peer acknowledges in FLOOR_TIME, from FLOOR_LEAST to TCPCL_FLOOR_MOST, for peers that
 *   acknowledge irregularly;
 * - what it acknowledges in SCHEDULE_TIME, at most TCPCL_FLOOR_FAST: two processes of one machine
 *   take turns, and the sender must not wait for the receiver each time.
 *
 * A round ends when the peer has acknowledged all octets that were in segments when the round began
 * (or within a quarter of the shortest time after that: a limit that has just grown is filled
 * then). The last of these octets is the round's mark. A round measures both values:
 *
 * - The rate is the greatest of the last one or two seconds. A round in which the limit did not
 *   restrict the session only shows how much its owner had to send. So such a round can only raise
 *   the rate, unless there were no others for EPOCH_IDLE.
 * - The time to acknowledge is that of the mark, from when it was written. This can be long before
 *   the round began, if a source sends now and then: such a round is too short for the time, and
 *   for the rate. The shortest time so far counts. After TRIP_KEPT without an equal one, the path
 *   may have become longer, or the octets in flight are in a queue. So the limit falls below the
 *   path's content for two rounds, and the second one measures the time again; this repeats while
 *   it becomes shorter.
 *
 * A peer refuses a transfer when its first segment has arrived. All its octets count as
 * acknowledged then, also those that have just been written. So a round whose mark is not behind
 * them does not make the time shorter.
 *
 * A round that lasts much longer than the shortest time, because the peer has become slower, ends
 * early: it only measures the rate.
 *
 * What can go wrong: a peer acknowledges only whole transfers. Then the time includes that of the
 * transfer, and the limit is two of them. A peer acknowledges data that it does not have: the
 * octets count as acknowledged here, but the bundle is in the link's window until its last octet
 * is.
 */
#include "cla/tcpcl/tcpcl_session_private.h"

#include <assert.h>

#define FLOOR_TIME TICK_S
#define SCHEDULE_TIME (2 * TICK_MS)
#define FLOOR_LEAST (UINT64_C(16) << 10)
#define EPOCH (1 * TICK_S)
#define EPOCH_IDLE (10 * TICK_S)
#define TRIP_KEPT (30 * TICK_S)
#define DRAIN_ROUNDS 2

/* More is as good as no bound. */
static uint64_t octets_in(uint64_t rate, tick time)
{
    const double octets = (double)rate * (double)time / (double)TICK_S;
    return octets < (double)(UINT64_C(1) << 60) ? (uint64_t)octets : UINT64_C(1) << 60;
}

static uint64_t best_rate(const struct tcpcl_session *s)
{
    return s->flight.rate > s->flight.rate_before ? s->flight.rate : s->flight.rate_before;
}

static uint64_t floor_of(uint64_t rate)
{
    const uint64_t slow = octets_in(rate, FLOOR_TIME), fast = octets_in(rate, SCHEDULE_TIME);
    if (slow < TCPCL_FLOOR_MOST)
        return slow < FLOOR_LEAST ? FLOOR_LEAST : slow;
    if (fast < TCPCL_FLOOR_MOST)
        return TCPCL_FLOOR_MOST;
    return fast < TCPCL_FLOOR_FAST ? fast : TCPCL_FLOOR_FAST;
}

static void set_bound(struct tcpcl_session *s)
{
    const uint64_t best = best_rate(s);
    const uint64_t path = octets_in(best, s->flight.trip);
    if (s->flight.drain > 0) {
        s->flight.bound = path / 4 * 3 < FLOOR_LEAST ? FLOOR_LEAST : path / 4 * 3;
        return;
    }
    const uint64_t wanted = s->flight.grew ? 4 * path : 2 * path, floor = floor_of(best);
    const uint64_t bound = wanted < floor ? floor : wanted;
    if (!s->flight.grew || bound > s->flight.bound)
        s->flight.bound = bound;
}

void tcpcl_flight_init(struct tcpcl_session *s, tick now)
{
    s->flight.trip = TICK_NEVER;
    s->flight.epoch = now;
    s->flight.bound = TCPCL_FLIGHT_FIRST;
}

static uint64_t count_under_way(const struct tcpcl_session *s)
{
    assert(s->flight.sent >= s->flight.acked);
    return s->flight.queued + s->flight.sent - s->flight.acked;
}

bool tcpcl_flight_full(const struct tcpcl_session *s)
{
    return count_under_way(s) >= s->flight.bound;
}

uint64_t tcpcl_bound(const struct tcpcl_session *s)
{
    return s->flight.bound;
}

tick tcpcl_trip(const struct tcpcl_session *s)
{
    return s->flight.trip;
}

/* ---- rounds ---- */

/* An octet that is not written yet is written now or later. */
static void set_mark(struct tcpcl_session *s, tick now)
{
    s->flight.mark = s->flight.sent;
    s->flight.marked = s->flight.written == s->flight.sent ? s->flight.written_at : now;
}

static void begin_round(struct tcpcl_session *s, tick now)
{
    s->flight.round = s->flight.sent > s->flight.acked;
    s->flight.began = now;
    s->flight.acked_before = s->flight.acked;
    set_mark(s, now);
    s->flight.limited = tcpcl_flight_full(s);
}

static uint64_t take_rate(struct tcpcl_session *s, tick now)
{
    const tick lasted = now - s->flight.began + 1;
    const tick least = tick_min(s->flight.trip, now - s->flight.marked + 1);
    const double took = (double)(lasted < least ? least : lasted);
    const double acked = (double)(s->flight.acked - s->flight.acked_before);
    const uint64_t rate = (uint64_t)(acked * (double)TICK_S / took);
    s->flight.grew = rate > best_rate(s) + best_rate(s) / 4;
    s->flight.rate = rate > s->flight.rate ? rate : s->flight.rate;
    s->flight.epoch_limited = s->flight.epoch_limited || s->flight.limited;
    if (now - s->flight.epoch < (s->flight.epoch_limited ? EPOCH : EPOCH_IDLE))
        return rate;
    s->flight.rate_before = s->flight.rate;
    s->flight.rate = 0;
    s->flight.epoch = now;
    s->flight.epoch_limited = false;
    return rate;
}

static void take_trip(struct tcpcl_session *s, tick now)
{
    const tick took = now - s->flight.marked + 1, was = s->flight.trip;
    const tick trip = took < was && s->flight.mark <= s->flight.refused ? was : took;
    const bool anew = s->flight.drain == 1;
    s->flight.drain -= s->flight.drain > 0;
    if (anew && trip < was - was / 8)
        s->flight.drain = DRAIN_ROUNDS;
    if (anew || trip <= was)
        s->flight.trip = trip;
    else if (trip - was > was / 8)
        return;
    s->flight.trip_at = now;
}

void tcpcl_flight_acked(struct tcpcl_session *s, tick now)
{
    const bool whole = s->flight.acked >= s->flight.mark;
    const tick long_one = s->flight.trip > TICK_NEVER / 8 ? TICK_NEVER : EPOCH + 4 * s->flight.trip;
    if (!s->flight.round || (!whole && now - s->flight.began < long_one))
        return;
    const uint64_t rate = take_rate(s, now);
    if (whole)
        take_trip(s, now);
    if (s->flight.drain == 0 && now - s->flight.trip_at >= TRIP_KEPT) {
        s->flight.drain = DRAIN_ROUNDS;
        s->flight.rate = s->flight.rate_before = rate; /* a former one may be far above it */
    }
    if (s->flight.trip != TICK_NEVER)
        set_bound(s);
    begin_round(s, now);
}

void tcpcl_flight_refused(struct tcpcl_session *s)
{
    s->flight.refused = s->flight.sent;
}

void tcpcl_flight_wrote(struct tcpcl_session *s, uint64_t octets, tick now)
{
    s->flight.written += octets;
    s->flight.written_at = octets > 0 ? now : s->flight.written_at;
    assert(s->flight.written <= s->flight.sent);
    if (!s->flight.round)
        begin_round(s, now);
    else if (s->flight.trip != TICK_NEVER && now - s->flight.began <= s->flight.trip / 4)
        set_mark(s, now);
}
