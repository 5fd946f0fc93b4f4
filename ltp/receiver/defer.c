/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deferred reports. A report waits for report_delay, which emulates processing, and for
 * report_defer if it has gaps, because reordered segments may fill them. Its claims are those at
 * the time when it is made.
 *
 * What can go wrong: no memory, or the limit of reports, when a checkpoint arrives or its time is
 * over. Then the checkpoint is ignored, and its retransmission is a new try.
 */
#include <assert.h>
#include <stdlib.h>

#include "ltp/engine.h"

/* A checkpoint that waits. */
struct deferred {
    struct list in_import;
    struct import *import;
    struct timer timer;
    struct asking q;
};

bool ltp_deferred_has(const struct import *im, uint64_t cp_serial)
{
    list_for_each (it, &im->deferred) {
        if (container_of(it, struct deferred, in_import)->q.cp_serial == cp_serial)
            return true;
    }
    return false;
}

static size_t held_by(void)
{
    return sizeof(struct deferred) + REPORT_COST;
}

size_t ltp_deferred_held(const struct import *im)
{
    size_t n = 0;
    list_for_each (it, &im->deferred) {
        assert(container_of(it, struct deferred, in_import)->import == im);
        n++;
    }
    assert(n == im->deferrals && n <= REPORTS_MAX);
    return n * held_by();
}

static bool is_whole(const struct import *im, const struct asking *q)
{
    struct range scope = ltp_report_scope(im, q);
    return scope.lo >= scope.hi || ranges_has(&im->got, scope.lo, scope.hi);
}

tick ltp_defer_time(const struct import *im, const struct asking *q)
{
    const struct ltp_span *span = &im->s.peer->span;
    bool gaps = span->report_defer > span->report_delay && !is_whole(im, q);
    return gaps ? span->report_defer : span->report_delay;
}

enum verdict ltp_defer(struct ltp *l, struct import *im, const struct asking *q, tick now,
                       tick time)
{
    if (im->reported + im->deferrals >= REPORTS_MAX)
        return VERDICT_LIMIT_REPORTS;
    if (ltp_held_room(l, im->s.peer) < held_by())
        return VERDICT_LIMIT_BYTES;
    struct deferred *d = calloc(1, sizeof *d);
    if (d == NULL)
        return VERDICT_NO_MEMORY;
    if (ltp_timer_init(l, &d->timer, im->s.peer, USE_DELAY) < 0) {
        free(d);
        return VERDICT_NO_MEMORY;
    }
    d->import = im;
    d->q = *q;
    list_init(&d->in_import);
    list_add_tail(&im->deferred, &d->in_import);
    im->deferrals++;
    ltp_held_add(l, im->s.peer, held_by());
    ltp_timer_start(l, &d->timer, now, time);
    return VERDICT_OK;
}

static void free_deferred(struct ltp *l, struct deferred *d)
{
    list_sub(&d->in_import);
    ltp_timer_fini(l, &d->timer);
    ltp_held_sub(l, d->import->s.peer, held_by());
    assert(d->import->deferrals > 0);
    d->import->deferrals--;
    free(d);
}

void ltp_deferred_free(struct ltp *l, struct import *im)
{
    list_for_each_safe (it, &im->deferred)
        free_deferred(l, container_of(it, struct deferred, in_import));
}

void ltp_deferred_expire(struct ltp *l, struct timer *t, tick now)
{
    struct deferred *d = container_of(t, struct deferred, timer);
    struct import *im = d->import;
    struct asking q = d->q;
    free_deferred(l, d);
    if (ltp_report_answer(l, im, &q) == VERDICT_LIMIT_REPORTS)
        ltp_import_close(l, im, OUTCOME_CANCELLED_LOCAL, LTP_RLEXC, now);
}

/* Reports without remaining gaps wait only for the emulated processing. */
void ltp_deferred_filled(struct ltp *l, struct import *im, tick now)
{
    tick delay = im->s.peer->span.report_delay;
    list_for_each (it, &im->deferred) {
        struct deferred *d = container_of(it, struct deferred, in_import);
        tick due = tick_add(d->q.since, delay);
        if (d->timer.node.due > due && is_whole(im, &d->q))
            ltp_timer_start(l, &d->timer, now, due > now ? due - now : 0);
    }
}
