/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retransmission of the gaps of a report, by a job. The job is made with its closing checkpoint
 * (RFC 5326 §6.13: the last segment, and only that), so that sending it cannot fail. A job may wait
 * for further reports, which then change it.
 *
 * With merge_claims a gap excludes bytes that are already in transmission: in another job, or
 * retransmitted after the checkpoint that the report answers, and closed by a checkpoint that is
 * not answered yet. The report on that checkpoint will show them.
 *
 * What can go wrong: memory.
 */
#include <stdlib.h>

#include "ltp/engine.h"

static int leave_out(struct ranges *gaps, const struct ranges *under_way)
{
    int rc = 0;
    for (size_t i = 0; i < under_way->len && rc >= 0; i++)
        rc = ranges_sub(gaps, under_way->at[i].lo, under_way->at[i].hi, SIZE_MAX);
    return rc < 0 ? rc : 0;
}

/* Adds the parts of [lo, hi) that the receiver has not claimed. */
static int add_unclaimed(const struct incarnation *f, uint64_t lo, uint64_t hi, struct ranges *gaps)
{
    struct range gap;
    for (uint64_t at = lo; ranges_gap(&f->claimed, at, hi, &gap) != 0; at = gap.hi) {
        if (ranges_add(gaps, gap.lo, gap.hi, SIZE_MAX) < 0)
            return HELIO_ENOMEM;
    }
    return 0;
}

/* Will a checkpoint that answers no report cause a report on the end of the red part? */
static bool end_is_asked(const struct export_session *e)
{
    if (e->eorp != NULL)
        return true;
    list_for_each (it, &e->checkpoints) {
        const struct checkpoint *c = container_of(it, struct checkpoint, in_export);
        if (c->rpt_serial == 0 && !c->early)
            return true;
    }
    return false;
}

/* The gaps of a receiver that has restarted: all unclaimed data, except data on which another
 * checkpoint will cause a report. */
static int find_gaps_anew(const struct export_session *e, const struct resend_for *f,
                          struct ranges *gaps)
{
    uint64_t sent = e->next < e->red_len ? e->next : e->red_len;
    return add_unclaimed(f->incarnation, 0, end_is_asked(e) ? f->report->upper : sent, gaps);
}

/* §6.13: the gaps in the scope of a report, and what remains of the job that it joins. */
static int find_gaps(const struct export_session *e, const struct resend_for *f,
                     const struct resend *old, struct ranges *gaps)
{
    const struct ltp_segment *s = f->report;
    int rc = add_unclaimed(f->incarnation, s->lower, s->upper, gaps);
    bool merge = e->s.peer->support.use.merge_claims;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a ring has no NULL in it */
    list_for_each (it, &e->resends) {
        const struct resend *r = container_of(it, struct resend, in_export);
        if (merge && r != old && rc == 0)
            rc = leave_out(gaps, &r->gaps);
    }
    list_for_each (it, &e->checkpoints) {
        const struct checkpoint *c = container_of(it, struct checkpoint, in_export);
        if (merge && c->serial > s->cp_serial && rc == 0)
            rc = leave_out(gaps, &c->resent);
    }
    for (size_t i = 0; old != NULL && i < old->gaps.len && rc == 0; i++)
        rc = add_unclaimed(f->incarnation, old->gaps.at[i].lo, old->gaps.at[i].hi, gaps);
    return rc;
}

/* The job that waits for further reports; there is at most one. */
static struct resend *find_waiting(const struct export_session *e)
{
    list_for_each (it, &e->resends) {
        struct resend *r = container_of(it, struct resend, in_export);
        if (list_empty(&r->queue))
            return r;
    }
    return NULL;
}

/* The receiver answers the job's checkpoint from the lower bound of the report that it names
 * (§6.11). So of two reports, the one with the lowest lower bound is named. */
static void join_resend(struct resend *r, const struct ltp_segment *s, const struct resend *old)
{
    bool lower = old != NULL && old->lower < s->lower;
    r->lower = lower ? old->lower : s->lower;
    r->rpt_serial = lower ? old->rpt_serial : s->rpt_serial;
    r->due = old != NULL ? old->due : TICK_NEVER;
}

static struct resend *make_resend(struct ltp *l, struct export_session *e)
{
    struct resend *r = calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    list_init(&r->in_export);
    list_init(&r->queue);
    r->session = e;
    if (ltp_timer_init(l, &r->timer, e->s.peer, USE_RESEND) == 0)
        return r;
    free(r);
    return NULL;
}

int ltp_resend_new(struct ltp *l, struct export_session *e, const struct resend_for *f,
                   struct resend **out)
{
    *out = NULL;
    struct resend *r = make_resend(l, e);
    if (r == NULL)
        return HELIO_ENOMEM;
    const struct resend *old = f->anew ? NULL : find_waiting(e);
    join_resend(r, f->report, old);
    int rc = f->anew ? find_gaps_anew(e, f, &r->gaps) : find_gaps(e, f, old, &r->gaps);
    if (rc < 0 || r->gaps.len == 0)
        goto drop;
    r->at = r->gaps.at[0].lo;
    r->checkpoint = ltp_checkpoint_new(l, e, r->rpt_serial);
    if (r->checkpoint != NULL) {
        *out = r;
        return 0;
    }
    rc = HELIO_ENOMEM;
drop:
    ltp_resend_free(l, r);
    return rc;
}

/* In order of the sessions' ages: the oldest has waited longest. */
static void queue_resend(struct resend *r)
{
    struct list *before = &r->session->s.peer->resends;
    list_for_each (it, before) {
        const struct export_session *other = container_of(it, struct resend, queue)->session;
        if (r->session->s.peer->support.use.oldest_first &&
            other->s.opened > r->session->s.opened) {
            before = it;
            break;
        }
    }
    list_add_tail(before, &r->queue);
}

/* Is this report a part of a divided answer, of which further reports follow? */
static bool is_part(const struct export_session *e, const struct ltp_segment *s)
{
    const struct signature *c = &e->answered;
    return s->cp_serial != 0 && s->cp_serial == c->serial && s->upper < c->offset + c->length;
}

/* The wait before the retransmission. A careful peer gets one closing checkpoint for all parts of a
 * divided answer, because its receiver may count reports. If the last part is lost, the wait ends
 * after the time of an answer. */
static tick wait_of(const struct export_session *e, const struct ltp_segment *s)
{
    const struct peer *p = e->s.peer;
    const struct ltp_recovery *k = &p->support.use;
    if (p->support.careful && k->merge_claims && is_part(e, s))
        return ltp_rto(p, &p->checkpoint_rtt, 1);
    return k->resend_wait;
}

void ltp_resend_begin(struct ltp *l, struct export_session *e, const struct ltp_segment *s,
                      struct resend *r, tick now)
{
    ltp_resend_free(l, find_waiting(e));
    if (r == NULL)
        return;
    list_add_tail(&e->resends, &r->in_export);
    r->due = tick_min(r->due, tick_add(now, wait_of(e, s)));
    if (r->due > now) {
        ltp_timer_start(l, &r->timer, now, r->due - now);
        return;
    }
    queue_resend(r);
}

/* Drops the jobs for reports of an earlier incarnation of the receiver, and the checkpoints that
 * name these reports. */
void ltp_resend_drop_all(struct ltp *l, struct export_session *e)
{
    list_for_each_safe (it, &e->resends)
        ltp_resend_free(l, container_of(it, struct resend, in_export));
    list_for_each_safe (it, &e->checkpoints) {
        struct checkpoint *c = container_of(it, struct checkpoint, in_export);
        if (c->rpt_serial != 0)
            ltp_checkpoint_free(l, c);
    }
}

void ltp_resend_expire(struct resend *r)
{
    queue_resend(r);
}

struct checkpoint *ltp_resend_end(struct ltp *l, struct resend *r)
{
    struct checkpoint *c = r->checkpoint;
    r->checkpoint = NULL;
    if (r->session->s.peer->support.use.merge_claims) {
        c->resent = r->gaps;
        ranges_init(&r->gaps);
    }
    c->noted = sizeof *c + REPORT_COST + c->resent.cap * sizeof(struct range);
    l->noted += c->noted;
    ltp_resend_free(l, r);
    return c;
}

void ltp_resend_free(struct ltp *l, struct resend *r)
{
    if (r == NULL)
        return;
    list_sub(&r->in_export);
    list_sub(&r->queue);
    ltp_timer_fini(l, &r->timer);
    l->noted -= r->noted;
    ranges_fini(&r->gaps);
    ltp_checkpoint_free(l, r->checkpoint);
    free(r);
}
