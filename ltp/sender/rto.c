/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retransmission timers. A report names the checkpoint that it answers, and an acknowledgement
 * names the report. So the answer to a single transmission is a measurement. Mean and mean
 * deviation are smoothed as in TCP (gains 1/8 and 1/4).
 *
 * What can go wrong:
 *
 * Several transmissions: the answer does not say which one it answers (Karn's ambiguity). If the
 * others were copies, a bounded time after the first, it counts as the answer to the first if that
 * is no longer than the timer, so the value is never too short. Otherwise, and when the timer had
 * expired, the time since the latest transmission counts only if it is longer than the known value.
 * Times with a link outage do not count.
 *
 * Unknown outages: they must not exhaust the tries sooner than the configured timer would. So each
 * expiry doubles the timer, up to the configured one.
 *
 * A timer shorter than the path: every answer is ambiguous, and nothing is ever measured. So before
 * the first measurement each expiry doubles the timer of that segment, up to eight times. A
 * repeated answer shows a needless retransmission: it doubles the timers of all later segments,
 * until an answer to a single transmission arrives. Silence alone does not: it may be an outage,
 * after which the first timer is right.
 *
 * A path that becomes longer: this shows when an answer arrives sooner after the latest
 * transmission than any answer ever did. Then that retransmission was needless.
 *
 * A receiver that may count checkpoints (profile.c): its timer is never shorter than the configured
 * one. It only grows, by measurements and expiries. Each expiry doubles the part beyond the light
 * time (processing and queues, which are unknown), up to 512 times. For example, ION 4.1.3 has sent
 * its last report when the red part is complete, and ignores later checkpoints. If that report is
 * lost, only ION's own timer repeats it, seconds later; the tries must not be exhausted before. An
 * answer to a repeated segment sets the timers of all later segments to the time that it took
 * (Karn), until a single transmission is answered.
 */
#include "ltp/engine.h"

#include <assert.h>

#define RTO_LEAST (100 * TICK_US)
#define BACK_OFF_MAX 32 /* times the configured timer, for needless repetitions */
#define SILENCE_MAX 8   /* the same, of one thing that is not answered */
/* Beyond the light time, times what the configured timer has: of one thing that a receiver that
 * counts does not answer; of what follows an answer to something repeated. */
#define SILENCE_COUNTED_MAX 512
#define HELD_MAX 32

static tick measured_rto(const struct ltp_recovery *k, const struct rtt *r)
{
    /* a constant time has no deviation: leave room for queues at both ends */
    tick room = 4 * r->deviation > r->smooth / 8 ? 4 * r->deviation : r->smooth / 8;
    tick rto = tick_add(r->smooth, room);
    tick floor = k->rto_min != 0 ? k->rto_min : RTO_LEAST;
    rto = rto < floor ? floor : rto;
    if (k->rto_max != 0 && rto > k->rto_max)
        rto = k->rto_max;
    tick least = tick_add(r->latest, r->latest / 8);
    return rto < least ? least : rto;
}

/* What a timer has beyond the light time; all of it where that is not known. */
static tick beyond_light(const struct peer *p, tick rto)
{
    return rto > p->span.round_trip ? rto - p->span.round_trip : rto;
}

/* The timer plus (factor - 1) times what it has beyond the light time, up to rto_max. */
static tick lengthen(const struct peer *p, tick rto, uint32_t factor)
{
    assert(factor > 0);
    tick part = beyond_light(p, rto), ceiling = p->span.recovery.rto_max;
    tick most = part > TICK_NEVER / factor ? TICK_NEVER : tick_add(rto, part * (factor - 1));
    if (ceiling == 0 || most <= ceiling)
        return most;
    return ceiling < rto ? rto : ceiling;
}

static tick grown_rto(const struct peer *p, const struct rtt *r, uint32_t tries)
{
    tick rto = p->span.rto;
    if (r->latest != 0) {
        tick measured = measured_rto(&p->span.recovery, r);
        rto = measured > rto ? measured : rto;
    }
    rto = r->backed_off > rto ? r->backed_off : rto;
    return lengthen(p, rto, tries < 10 ? 1U << (tries - 1) : SILENCE_COUNTED_MAX);
}

tick ltp_rto(const struct peer *p, const struct rtt *r, uint32_t tries)
{
    assert(tries > 0);
    tick first = p->span.rto;
    enum rto_mode mode = ltp_support_rto(p, r);
    if (mode == RTO_FIXED)
        return first;
    if (mode == RTO_GROWS)
        return grown_rto(p, r, tries);
    const struct ltp_recovery *k = &p->span.recovery;
    tick rto = r->latest == 0 ? first : measured_rto(k, r), most = first;
    if (r->latest == 0) {
        most = first > TICK_NEVER / SILENCE_MAX ? TICK_NEVER : first * SILENCE_MAX;
        most = k->rto_max != 0 && most > k->rto_max ? k->rto_max : most;
        most = most < first ? first : most;
    }
    for (uint32_t i = 1; i < tries && rto < most; i++)
        rto = rto < most / 2 ? 2 * rto : most;
    return rto < r->backed_off ? r->backed_off : rto;
}

/* Timers last at least so long from now on. */
static void hold_rto(const struct peer *p, struct rtt *r, tick least)
{
    tick most = lengthen(p, p->span.rto, HELD_MAX);
    least = least > most ? most : least;
    r->backed_off = least > r->backed_off ? least : r->backed_off;
}

static void back_off(const struct peer *p, struct rtt *r, tick lasted)
{
    if (ltp_support_rto(p, r) == RTO_GROWS) {
        hold_rto(p, r, lengthen(p, lasted, 2));
        return;
    }
    tick first = p->span.rto, ceiling = p->span.recovery.rto_max;
    tick most = first > TICK_NEVER / BACK_OFF_MAX ? TICK_NEVER : first * BACK_OFF_MAX;
    if (ceiling != 0 && most > ceiling)
        most = ceiling < first ? first : ceiling;
    tick twice = lasted > most / 2 ? most : 2 * lasted;
    r->backed_off = twice > r->backed_off ? twice : r->backed_off;
}

void ltp_rtt_needless(const struct peer *p, struct rtt *r)
{
    if (ltp_support_rto(p, r) != RTO_FIXED && r->latest == 0)
        back_off(p, r, ltp_rto(p, r, 1));
}

static void add_measurement(struct rtt *r, tick time)
{
    time = time == 0 ? 1 : time;
    if (r->latest == 0) {
        r->smooth = time;
        r->deviation = time / 2;
    } else {
        tick off = time > r->smooth ? time - r->smooth : r->smooth - time;
        r->deviation = r->deviation - r->deviation / 4 + off / 4;
        r->smooth = r->smooth - r->smooth / 8 + time / 8;
    }
    r->latest = time;
}

/* Copies come by themselves: an answer soon after one says nothing of the timer. Of checkpoints
 * those count that this peer is sent. */
static bool was_needless(const struct peer *p, const struct rtt *r, tick since_last)
{
    uint32_t copies = r == &p->report_rtt ? p->span.recovery.report_copies : p->support.use.copies;
    return copies == 0 && since_last < r->least - r->least / 8;
}

void ltp_rtt_answered(const struct peer *p, struct rtt *r, tick since_first, tick since_last,
                      bool repeated)
{
    bool plausible = r->latest == 0 || since_first <= measured_rto(&p->span.recovery, r);
    bool once = since_first == since_last;
    if (once && (r->least == 0 || since_first < r->least))
        r->least = since_first;
    if (once || (!repeated && plausible)) {
        add_measurement(r, since_first);
        r->backed_off = 0;
    } else if (ltp_support_rto(p, r) == RTO_GROWS) {
        hold_rto(p, r, tick_add(since_first, since_first / 8));
    } else if (r->latest != 0) {
        if (repeated && was_needless(p, r, since_last))
            back_off(p, r, ltp_rto(p, r, 1));
        if (since_last > r->smooth)
            add_measurement(r, since_last);
    }
}

static tick move_time(tick t, tick from, tick to)
{
    if (to >= from)
        return tick_add(t, to - from);
    return t > from - to ? t - (from - to) : 1;
}

void ltp_rtt_move(struct rtt *r, tick from, tick to)
{
    if (r->latest == 0)
        return;
    r->smooth = move_time(r->smooth, from, to);
    r->latest = move_time(r->latest, from, to);
    if (r->least != 0)
        r->least = move_time(r->least, from, to);
    assert(r->smooth > 0 && r->latest > 0);
}

/* One measurement at a time; the serials of a session grow. */
void ltp_probe_sent(struct probe *p, uint64_t serial, uint32_t tries, tick now)
{
    if (p->serial == 0)
        *p = (struct probe){.serial = serial, .first = now};
    if (p->serial != serial)
        return;
    p->last = now;
    p->repeated = tries > 1;
}

void ltp_probe_answered(struct peer *peer, struct probe *p, uint64_t serial, tick now)
{
    struct probe was = *p;
    if (was.serial == 0 || was.serial > serial)
        return;
    p->serial = 0;
    struct rtt *r = &peer->checkpoint_rtt;
    if (was.serial != serial || !peer->up || !peer->hears || was.first < peer->up_since)
        return;
    ltp_rtt_answered(peer, r, now - was.first, now - was.last, was.repeated);
}
