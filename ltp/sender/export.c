/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sender's side of a session. ltp_send queues the block. ltp_output sends it once and starts
 * the timer of the checkpoint at the end of the red part. Each report removes what it claims from
 * the missing data. If its scope has gaps, a retransmission job is made (struct resend, resend.c):
 * the gaps that it shows, which ltp_output sends before new data. Each report is acknowledged. When
 * all of the red part is claimed, the session is done.
 *
 * What can go wrong: a checkpoint's timer expires (it is repeated up to the limit, RFC 5326 §6.7);
 * a report claims data that was never sent; a receiver answers with one of several reports and then
 * loses the session: the stall timer ends that.
 */
#include <assert.h>
#include <stdlib.h>

#include "ltp/engine.h"
#include "ltp/sdnv.h"

static void make_prefix(struct export_session *e)
{
    uint8_t *p = e->prefix;
    *p++ = 0;
    p = sdnv_put(p, e->s.id.originator);
    p = sdnv_put(p, e->s.id.number);
    const struct peer *peer = e->s.peer;
    *p++ = (uint8_t)((peer->ext_count + e->orange) << 4 | (peer->tail_len > 0));
    memcpy(p, peer->ext, peer->ext_len);
    p += peer->ext_len;
    if (e->orange) {
        memcpy(p, ltp_orange_extension(ORANGE_ASKS).data, ORANGE_EXT);
        p += ORANGE_EXT;
    }
    p = sdnv_put(p, e->s.client_service);
    e->prefix_len = (uint32_t)(p - e->prefix);
    assert(e->prefix_len <= PREFIX_MAX + ORANGE_EXT + (uint32_t)peer->ext_len);
}

/* §3.1.2; CCSDS 734.1-B-1 keeps it within 32 bits. */
static struct ltp_session_id next_id(struct ltp *l)
{
    struct ltp_session_id id = {.originator = l->config.engine};
    do {
        l->number = l->number >= UINT32_MAX ? 1 : l->number + 1;
        id.number = l->number;
    } while (ltp_session_find(l, id, true) != NULL || ltp_closed_find(l, id, true) != NULL);
    return id;
}

static struct export_session *export_new(struct ltp *l, struct peer *peer,
                                         const struct ltp_block *b)
{
    struct export_session *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    if (ltp_timer_init(l, &e->stall, peer, USE_STALL) < 0) {
        free(e);
        return NULL;
    }
    list_init(&e->fresh);
    list_init(&e->checkpoints);
    list_init(&e->resends);
    e->s.peer = peer;
    e->s.is_export = true;
    e->s.id = next_id(l);
    e->s.client_service = b->client_service;
    e->red_len = b->red_len;
    e->orange = b->orange;
    e->ranges_max = peer->span.ranges_max;
    e->length = b->data->len;
    e->tag = b->tag;
    e->cp_last = rng_below(&l->rng, SERIAL_FIRST);
    e->cp_first = e->cp_last + 1;
    make_prefix(e);
    return e;
}

static int make_checkpoints(struct ltp *l, struct export_session *e)
{
    e->eorp = ltp_checkpoint_new(l, e, 0);
    if (e->eorp == NULL)
        return HELIO_ENOMEM;
    struct peer *p = e->s.peer;
    bool early = ltp_support_early(p, e);
    if (!early && !p->silent)
        return 0;
    e->early = ltp_checkpoint_new(l, e, 0);
    if (e->early == NULL)
        return HELIO_ENOMEM;
    e->early->early = true;
    e->early_apart =
        early ? (uint32_t)(e->red_len / ((uint64_t)EARLY_MAX * p->span.segment_max)) : UINT32_MAX;
    return 0;
}

int ltp_send(struct ltp *l, const struct ltp_block *b, tick now, struct ltp_session_id *out)
{
    ltp_export_settle(l);
    struct peer *peer = ltp_peer_find(l, b->peer);
    if (peer == NULL || peer->unconfigured != NULL)
        return HELIO_ENOENT;
    if (b->data->len == 0 || b->data->len > UINT32_MAX || b->red_len > b->data->len ||
        b->client_service > UINT32_MAX || (b->orange && b->red_len > 0))
        return HELIO_EINVAL;
    if (ltp_limit_reached(peer))
        return HELIO_EAGAIN;
    struct export_session *e = export_new(l, peer, b);
    if (e == NULL)
        return HELIO_ENOMEM;
    if (b->red_len > 0 && make_checkpoints(l, e) < 0)
        goto drop;
    if (ltp_session_open(l, &e->s, 2) < 0)
        goto drop;
    e->s.opened = now;
    e->data = buf_keep(b->data);
    list_add_tail(&peer->fresh, &e->fresh);
    ltp_limit_opened(peer, e->length);
    ltp_peer_touch(l, peer);
    *out = e->s.id;
    ltp_emit_open(l, &e->s, e->length, now);
    return 0;
drop:
    ltp_export_free(l, e);
    return HELIO_ENOMEM;
}

static void drop_red(struct ltp *l, struct export_session *e)
{
    ltp_checkpoint_free(l, e->eorp);
    e->eorp = NULL;
    ltp_checkpoint_free(l, e->early);
    e->early = NULL;
    list_for_each_safe (it, &e->checkpoints)
        ltp_checkpoint_free(l, container_of(it, struct checkpoint, in_export));
    list_for_each_safe (it, &e->resends)
        ltp_resend_free(l, container_of(it, struct resend, in_export));
    ltp_timer_stop(l, &e->stall);
}

void ltp_export_free(struct ltp *l, struct export_session *e)
{
    ltp_support_closed(e, OUTCOME_CANCELLED_LOCAL);
    drop_red(l, e);
    list_sub(&e->fresh);
    ltp_timer_fini(l, &e->stall);
    l->noted -= e->noted;
    while (e->incarnations > 0)
        ltp_incarnation_fini(&e->incarnation[--e->incarnations]);
    buf_drop(e->data);
    free(e);
}

void ltp_export_close(struct ltp *l, struct export_session *e, enum event_outcome outcome,
                      enum ltp_reason reason, tick now, bool lent)
{
    enum ltp_notice_kind kind = outcome == OUTCOME_DONE   ? LTP_EXPORT_DONE
                                : outcome == OUTCOME_LOST ? LTP_EXPORT_LOST
                                                          : LTP_EXPORT_CANCELLED;
    ltp_limit_closed(e->s.peer, e->length, now);
    ltp_peer_touch(l, e->s.peer);
    ltp_support_closed(e, outcome);
    struct ltp_notice *n = ltp_notice_put(l, &e->s, kind);
    n->tag = e->tag;
    n->orange = e->orange;
    n->red_len = e->red_len;
    n->reason = reason;
    n->remote =
        outcome == OUTCOME_CANCELLED_REMOTE || (outcome == OUTCOME_LOST && reason != LTP_RLEXC);
    ltp_emit_close(l, &e->s, e->length, outcome, reason, now);
    struct closed *memory = e->s.memory;
    e->s.memory = NULL;
    ltp_closed_add(l, memory, now);
    /* the receiver of nothing need not hear that there will be nothing */
    if (outcome == OUTCOME_CANCELLED_LOCAL && e->next > 0)
        ltp_cancel_begin(l, memory, reason, ORANGE_NONE);
    ltp_session_forget(l, &e->s);
    drop_red(l, e);
    list_sub(&e->fresh);
    if (lent)
        list_add_tail(&l->spent, &e->fresh);
    else
        ltp_export_free(l, e);
}

void ltp_export_settle(struct ltp *l)
{
    list_for_each_safe (it, &l->spent)
        ltp_export_free(l, container_of(it, struct export_session, fresh));
}

static enum verdict add_claims(struct incarnation *f, const struct ltp_segment *s,
                               size_t ranges_max)
{
    struct slice at = s->claims;
    struct range claim;
    while (segment_claim(s, &at, &claim)) {
        int rc = ranges_add(&f->claimed, claim.lo, claim.hi, ranges_max);
        if (rc < 0)
            return rc == HELIO_ENOMEM ? VERDICT_NO_MEMORY : VERDICT_LIMIT_RANGES;
    }
    return VERDICT_OK;
}

/* The red part is not claimed, but no timer of this side runs: no checkpoint is unanswered and
 * nothing is to be retransmitted. Then a report was lost, and only the receiver repeats it, by a
 * timer whose length we do not know. It may be much longer than ours (an engine like this one backs
 * off to 32 times its first value), and the block may be delivered already. So the stall timer is
 * long. */
static void watch_stall(struct ltp *l, struct export_session *e, tick now)
{
    const struct peer *p = e->s.peer;
    tick rto = ltp_rto(p, &p->checkpoint_rtt, 1), times = 4 * ((tick)p->span.retries_max + 1);
    rto = rto < p->span.rto ? p->span.rto : rto;
    tick wait = rto > TICK_NEVER / times ? TICK_NEVER : rto * times;
    if (e->eorp != NULL || !list_empty(&e->checkpoints) || !list_empty(&e->resends))
        ltp_timer_stop(l, &e->stall);
    else
        ltp_timer_start(l, &e->stall, now, wait < STALL_MIN ? STALL_MIN : wait);
}

/* What receivers report takes memory of its own, so that neither they nor senders can use up what
 * the others need: a 32nd of what import sessions may hold, at least 1 MiB. */
static bool noted_room(const struct ltp *l, size_t bytes)
{
    return l->noted + bytes <= ltp_noted_max(l);
}

static bool room_for_claims(const struct ltp *l, const struct incarnation *f,
                            const struct ltp_segment *s)
{
    size_t claimed = 4 + 2 * (f->claimed.len + (size_t)s->claim_count);
    size_t heard = 4 + 2 * f->heard.len;
    size_t growth = (claimed > f->claimed.cap ? claimed - f->claimed.cap : 0) +
                    (heard > f->heard.cap ? heard - f->heard.cap : 0);
    return noted_room(l, growth * sizeof(struct range));
}

static void note_claims(struct ltp *l, struct export_session *e)
{
    size_t now = ltp_incarnation_memory(e);
    l->noted += now - e->noted;
    e->noted = now;
}

/* Counts a retransmission cycle; all reports on one checkpoint are one cycle. False: the limit of
 * cycles is exceeded. */
static bool count_cycle(struct export_session *e, const struct ltp_segment *s)
{
    struct peer *p = e->s.peer;
    if (s->cp_serial != 0 && s->cp_serial == e->cycle_serial)
        return true;
    e->cycles_over = p->span.cycles_max != 0 && e->cycles >= p->span.cycles_max;
    if (e->cycles_over) {
        p->n.output_cycle_limit_count++;
        return false;
    }
    e->cycles++;
    e->cycle_serial = s->cp_serial;
    p->n.output_cycles_count++;
    return true;
}

/* §6.13: the receiver requests more than all retries of the whole red part could send, or more at
 * once than memory can hold. */
static enum verdict examine_job(struct ltp *l, struct export_session *e, const struct resend_for *f,
                                struct resend *job)
{
    const struct ltp_segment *s = f->report;
    size_t bytes =
        sizeof *job + sizeof *job->checkpoint + REPORT_COST + job->gaps.cap * sizeof(struct range);
    if (!noted_room(l, bytes))
        return VERDICT_LIMIT_BYTES;
    job->noted = bytes;
    l->noted += bytes;
    uint64_t again = ranges_bytes(&job->gaps);
    uint64_t missing =
        s->upper - s->lower - ranges_bytes_in(&f->incarnation->claimed, s->lower, s->upper);
    e->asked_again += again < missing || f->anew ? again : missing;
    bool too_much = e->asked_again > ASKED_MIN &&
                    (e->asked_again - ASKED_MIN) / e->red_len > e->s.peer->span.retries_max;
    return too_much || !count_cycle(e, s) ? VERDICT_LIMIT_REPORTS : VERDICT_OK;
}

/* Applies a report to one incarnation (run) of the receiver: its claims, and the job for its gaps,
 * if it is the present incarnation. On failure there is no job. */
static enum verdict learn_report(struct ltp *l, struct export_session *e, struct resend_for *f,
                                 struct incarnation *incarnation, bool leads, struct resend **job)
{
    *job = NULL;
    if (!room_for_claims(l, incarnation, f->report))
        return VERDICT_LIMIT_BYTES;
    uint64_t sent = e->next < e->red_len ? e->next : e->red_len;
    enum verdict v = add_claims(incarnation, f->report, ltp_ranges_max(e->ranges_max, sent));
    if (v != VERDICT_OK)
        return v;
    bool whole = ranges_has(&incarnation->claimed, 0, e->red_len);
    if (leads && !whole && ltp_resend_new(l, e, f, job) < 0)
        return VERDICT_NO_MEMORY;
    v = *job == NULL ? VERDICT_OK : examine_job(l, e, f, *job);
    bool over = whole && e->next == e->length; /* the session is done: nothing to note */
    int rc = v != VERDICT_OK || over ? 0 : ltp_incarnation_note(incarnation, e, f->report);
    if (rc < 0)
        v = rc == HELIO_ENOMEM ? VERDICT_NO_MEMORY : VERDICT_LIMIT_RANGES;
    if (v != VERDICT_OK) {
        ltp_resend_free(l, *job);
        *job = NULL;
    }
    return v;
}

/* Acts on a report that was recorded: stops its checkpoint, and queues the retransmission job. It
 * cannot fail. */
static void follow_report(struct ltp *l, struct export_session *e, const struct resend_for *f,
                          struct resend *job, tick now)
{
    if (f->anew)
        ltp_resend_drop_all(l, e);
    ltp_probe_answered(e->s.peer, &e->probe, f->report->cp_serial, now);
    ltp_checkpoint_stop(l, e, f->report->cp_serial, now);
    if (job != NULL && ltp_support_may_ask(e, f->report, now))
        job->asks = true;
    ltp_resend_begin(l, e, f->report, job, now);
}

/* §6.13, on a report of an open session. (1) The report is checked: its scope must have been sent,
 * and its checkpoint must be ours. (2) Its incarnation (run of the receiver) is found; a repeated
 * report only gets its acknowledgement. (3) learn_report adds its claims to the incarnation, and
 * makes the job that retransmits its gaps. (4) If the red part is claimed and all was sent, the
 * session is done. (5) Else, if it is the present incarnation, follow_report stops the answered
 * checkpoint and queues the job. The caller acknowledges the report. */
static enum verdict act_on_report(struct ltp *l, struct export_session *e,
                                  const struct ltp_segment *s, tick now)
{
    uint64_t sent = e->next < e->red_len ? e->next : e->red_len;
    bool our_cp = s->cp_serial == 0 || (s->cp_serial >= e->cp_first && s->cp_serial <= e->cp_last);
    if (s->upper > sent || !our_cp || s->rpt_serial == UINT64_MAX)
        return VERDICT_BAD_REPORT;
    struct incarnation fresh = {0}, *incarnation = ltp_incarnation_of(e, s);
    if (incarnation != NULL && ltp_incarnation_heard(incarnation, s->rpt_serial)) {
        ltp_support_repeat(l, e->s.peer, e, s->cp_serial, now);
        return VERDICT_DUPLICATE;
    }
    /* leads: it is the present incarnation, whose gaps are retransmitted */
    bool is_new = incarnation == NULL, leads = ltp_incarnation_leads(e, incarnation, s);
    incarnation = is_new ? &fresh : incarnation;
    struct resend_for f = {.incarnation = incarnation, .report = s};
    f.anew = leads && e->incarnations > 0 && incarnation != &e->incarnation[0];
    struct resend *job;
    enum verdict v = learn_report(l, e, &f, incarnation, leads, &job);
    bool whole = ranges_has(&incarnation->claimed, 0, e->red_len);
    if (v == VERDICT_OK)
        ltp_support_report(l, e, s, is_new, now);
    if (v == VERDICT_OK && whole && e->next == e->length) {
        if (is_new)
            ltp_incarnation_fini(&fresh);
        ltp_probe_answered(e->s.peer, &e->probe, s->cp_serial, now);
        ltp_checkpoint_stop(l, e, s->cp_serial, now);
        ltp_export_close(l, e, OUTCOME_DONE, LTP_USR_CNCLD, now, false);
        return v;
    }
    if (is_new && v == VERDICT_OK)
        ltp_incarnation_add(e, &fresh, leads);
    else if (is_new)
        ltp_incarnation_fini(&fresh);
    else if (v == VERDICT_OK && f.anew)
        ltp_incarnation_lead(e, incarnation);
    note_claims(l, e);
    if (v == VERDICT_LIMIT_REPORTS)
        ltp_export_close(l, e, OUTCOME_CANCELLED_LOCAL, e->cycles_over ? LTP_RXMTCYCEXC : LTP_RLEXC,
                         now, false);
    if (v != VERDICT_OK)
        return v;
    if (leads)
        follow_report(l, e, &f, job, now);
    if (whole)
        drop_red(l, e);
    else
        watch_stall(l, e, now);
    return VERDICT_OK;
}

enum verdict ltp_export_report(struct ltp *l, const struct ltp_segment *s, tick now,
                               struct peer **peer)
{
    if (s->id.originator != l->config.engine)
        return VERDICT_UNKNOWN_SESSION;
    struct session *open = ltp_session_find(l, s->id, true);
    enum verdict v;
    if (open != NULL) {
        *peer = open->peer;
        v = act_on_report(l, container_of(open, struct export_session, s), s, now);
    } else {
        const struct closed *c = ltp_closed_find(l, s->id, true);
        *peer = c != NULL ? c->peer : ltp_peer_only(l);
        v = c != NULL ? VERDICT_CLOSED_SESSION : VERDICT_UNKNOWN_SESSION;
        if (c != NULL) {
            ltp_support_repeat(l, c->peer, NULL, s->cp_serial, now);
            ltp_rtt_needless(c->peer, &c->peer->checkpoint_rtt);
        }
    }
    /* §6.13: each report is acknowledged. Not so one that could not be applied (no memory, a
     * limit): the receiver must repeat it. */
    bool settled = v == VERDICT_OK || v == VERDICT_DUPLICATE || open == NULL;
    if (settled && *peer != NULL)
        ltp_peer_ack(l, *peer,
                     (struct ack){.type = LTP_RA,
                                  .cause = v == VERDICT_OK ? CAUSE_FIRST : CAUSE_ANSWER,
                                  .id = s->id,
                                  .serial = s->rpt_serial});
    return v;
}

/* §6.7 */
static void expire_checkpoint(struct ltp *l, struct checkpoint *c, tick now)
{
    struct export_session *e = c->session;
    const struct ltp_span *span = &e->s.peer->span;
    if (ltp_checkpoint_copy(l, c, now))
        return;
    if (c->asks) {
        ltp_support_asked(c);
        return;
    }
    ltp_emit_timer(l, e->s.peer, e->s.id, TIMER_CHECKPOINT, c->serial, c->sent, now);
    if (c->tries > span->retries_max) {
        ltp_silence_unanswered(e);
        ltp_export_close(l, e, OUTCOME_CANCELLED_LOCAL, LTP_RLEXC, now, false);
        return;
    }
    c->tries++;
    c->copies_left = c->early ? 0 : e->s.peer->support.use.copies;
    c->cause = CAUSE_TIMER;
    list_add_tail(&e->s.peer->checkpoints, &c->queue);
}

void ltp_export_expire(struct ltp *l, struct timer *t, tick now)
{
    if (t->use == USE_CHECKPOINT) {
        expire_checkpoint(l, container_of(t, struct checkpoint, timer), now);
        return;
    }
    struct export_session *e = container_of(t, struct export_session, stall);
    ltp_emit_timer(l, e->s.peer, e->s.id, TIMER_IDLE, 0, 1, now);
    if (e->orange)
        ltp_orange_silent(l, e, now);
    else
        ltp_export_close(l, e, OUTCOME_CANCELLED_LOCAL, LTP_RLEXC, now, false);
}
