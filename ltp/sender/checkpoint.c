/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sender's checkpoints. A checkpoint is allocated before it is needed, so that sending it
 * cannot fail. It gets its serial number when it is sent, and is freed when its report arrives. Its
 * timer first runs for the copies, if there are any, then for the retransmission.
 *
 * A session needs only the latest of its early checkpoints (RFC 5326 §6.1): its report covers the
 * earlier ones, and a receiver need not answer those (§6.11). So all early checkpoints share one
 * structure and one timer.
 *
 * What can go wrong: no answer, until the retry limit.
 */
#include <assert.h>
#include <stdlib.h>

#include "ltp/engine.h"

struct checkpoint *ltp_checkpoint_new(struct ltp *l, struct export_session *e, uint64_t rpt_serial)
{
    assert(e->s.is_export);
    struct checkpoint *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    if (ltp_timer_init(l, &c->timer, e->s.peer, USE_CHECKPOINT) < 0) {
        free(c);
        return NULL;
    }
    list_init(&c->in_export);
    list_init(&c->queue);
    c->session = e;
    c->rpt_serial = rpt_serial;
    return c;
}

static void idle_checkpoint(struct ltp *l, struct checkpoint *c)
{
    list_sub(&c->in_export);
    list_sub(&c->queue);
    ltp_timer_stop(l, &c->timer);
}

void ltp_checkpoint_free(struct ltp *l, struct checkpoint *c)
{
    if (c == NULL)
        return;
    idle_checkpoint(l, c);
    ltp_timer_fini(l, &c->timer);
    assert(l->noted >= c->noted);
    l->noted -= c->noted;
    ranges_fini(&c->resent);
    free(c);
}

uint64_t ltp_checkpoint_next_serial(const struct export_session *e)
{
    return e->cp_last + 1;
}

static void start_timer(struct ltp *l, struct checkpoint *c, tick now)
{
    assert(c->sent > 0);
    const struct peer *p = c->timer.peer;
    tick rto = ltp_rto(p, &p->checkpoint_rtt, c->tries);
    const struct ltp_recovery *k = &p->support.use;
    c->copies_left = c->copies_left < k->copies ? c->copies_left : k->copies;
    bool copy = c->copies_left > 0 && k->copy_spacing < rto;
    if (!copy)
        c->copies_left = 0;
    ltp_timer_start(l, &c->timer, now, copy ? k->copy_spacing : rto);
    if (!c->asks) /* it was answered before */
        ltp_probe_sent(&c->session->probe, c->serial, c->tries, now);
}

void ltp_checkpoint_sent(struct ltp *l, struct checkpoint *c, tick now)
{
    assert(c->session != NULL);
    struct export_session *e = c->session;
    /* the report on this one covers what the earlier one asked about */
    if (c->rpt_serial == 0 && e->early != NULL)
        idle_checkpoint(l, e->early);
    c->serial = ++e->cp_last;
    c->sent = c->tries = 1;
    c->copies_left = c->early ? 0 : c->timer.peer->support.use.copies;
    e->early_sent |= c->early;
    e->progress = now;
    list_add_tail(&e->checkpoints, &c->in_export);
    assert(c->serial >= c->session->cp_first && c->serial == c->session->cp_last);
    start_timer(l, c, now);
    e->early_segments = 0;
    e->early_since = now;
}

void ltp_checkpoint_sent_again(struct ltp *l, struct checkpoint *c, tick now)
{
    c->sent++;
    start_timer(l, c, now);
}

/* Small copies use capacity that nothing else needs. If other data is queued, or if copies are not
 * small, they get a hundredth of the sent bytes. Beyond that, only the timer repeats. */
static bool can_afford_copy(struct peer *p, uint64_t length)
{
    if (length <= COPY_SMALL && !ltp_output_waits(p))
        return true;
    uint64_t cost = COPY_COST * (length + COPY_HEADERS + p->ext_len + p->tail_len);
    if (p->copy_credit < cost)
        return false;
    p->copy_credit -= cost;
    return true;
}

bool ltp_checkpoint_copy(struct ltp *l, struct checkpoint *c, tick now)
{
    assert(c->sent > 0);
    struct peer *p = c->timer.peer;
    if (c->copies_left == 0)
        return false;
    const struct ltp_recovery *k = &p->support.use;
    if (k->copies > 0 && can_afford_copy(p, c->length)) {
        assert(list_empty(&c->queue));
        c->copies_left--;
        c->copied++;
        c->cause = CAUSE_PROACTIVE;
        list_add_tail(&p->checkpoints, &c->queue);
        return true;
    }
    tick rto = ltp_rto(p, &p->checkpoint_rtt, c->tries), gone = k->copy_spacing;
    c->copies_left = 0;
    ltp_timer_start(l, &c->timer, now, rto > gone ? rto - gone : 0);
    return true;
}

void ltp_checkpoint_stop(struct ltp *l, struct export_session *e, uint64_t serial, tick now)
{
    list_for_each (it, &e->checkpoints) {
        struct checkpoint *c = container_of(it, struct checkpoint, in_export);
        if (c->serial != serial)
            continue;
        ltp_support_answered(e, c, now);
        if (c == e->early)
            idle_checkpoint(l, c);
        else
            ltp_checkpoint_free(l, c);
        return;
    }
}

bool ltp_checkpoint_early_due(const struct export_session *e, tick now)
{
    const struct ltp_recovery *k = &e->s.peer->support.use;
    if (e->early == NULL || e->early_segments + 1 < e->early_apart)
        return false;
    return (k->checkpoint_segments != 0 && e->early_segments + 1 >= k->checkpoint_segments) ||
           (k->checkpoint_time != 0 && now - e->early_since >= k->checkpoint_time);
}
