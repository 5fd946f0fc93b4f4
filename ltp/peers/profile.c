/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which recovery extensions, beyond the minimum of RFC 5326, a peer's receiver supports. Some
 * receivers answer each arrival of a checkpoint with a new report, and cancel a session with too
 * many reports, or with one before the end of the red part. Toward these, copies and early
 * checkpoints are harmful.
 *
 * Toward an unknown peer the engine begins with the plain procedure, and probes: one session at a
 * time closes a retransmission not with a new checkpoint, but with a copy of the checkpoint whose
 * report requested it. That is the same number of checkpoints as in the plain procedure. A receiver
 * that reports on each arrival answers with a new serial number and claims the retransmitted data:
 * the session continues without an additional report, and the answer is known. A receiver that
 * answers a checkpoint once is silent, or repeats the old report; then the new checkpoint follows
 * one timer later.
 *
 * After PROBES_MIN consecutive sessions with this result, a few copies are tried, to see whether
 * each copy causes the old report again. If not, all copies are used, and early checkpoints, first
 * in single sessions. Evidence against support counts at once and permanently.
 *
 * What can go wrong: if a fade destroys a copy or its answer, the receiver seems to support it. So
 * sessions probe one timer apart, count only when the next checkpoint is answered at the first try,
 * and several must agree. A restarted receiver also answers an old checkpoint with a new serial
 * number, but not within one of its incarnations (incarnation.c). A receiver that divides its
 * report does so by scope. And a receiver that cancels after a long silence is not harmed by
 * copies.
 */
#include "ltp/engine.h"
#include "ltp/options.h"

#define PROBES_MIN 6
#define EARLY_MIN 3
#define TRIAL_COPIES 2
#define TRIAL_WINDOW 8 /* answered checkpoints that had copies */
#define LATER_WINDOW 32
#define QUIET_WINDOW 64 /* answered checkpoints, none of which had time for a copy */

/* docs/recovery.md has the measurements behind the sets. */
const struct ltp_recovery ltp_recovery_plain = {0};

const struct ltp_recovery ltp_recovery_default = {
    .rto_auto = true,
    .closing_bytes = 1,
    .copies = 24,
    .copy_spacing = 2 * TICK_MS,
    .checkpoint_segments = 192,
    .merge_claims = true,
    .oldest_first = true,
};

/* Of all switches those that may be on toward a receiver of which nothing is known to be supported.
 */
static struct ltp_recovery hidden_of(const struct ltp_recovery *all)
{
    struct ltp_recovery k = *all;
    ltp_recovery_keep(&k, LTP_OPTION_UNSEEN | LTP_OPTION_BOUND);
    return k;
}

static struct ltp_recovery learnt_of(const struct ltp_recovery *all, enum ltp_learnt learnt)
{
    if (learnt == LTP_LEARNT_NOTHING || learnt == LTP_LEARNT_PLAIN)
        return hidden_of(all);
    struct ltp_recovery k = *all;
    if (learnt == LTP_LEARNT_SUPPORTS)
        return k;
    /* the report on an early one may be lost, and a receiver that repeats reports may have a slow
     * timer */
    k.copies = k.copies < TRIAL_COPIES ? k.copies : TRIAL_COPIES;
    k.checkpoint_segments = 0;
    k.checkpoint_time = 0;
    return k;
}

void ltp_support_apply(struct peer *p)
{
    const struct ltp_recovery *all = &p->span.recovery;
    struct support *b = &p->support;
    b->careful = false;
    switch (p->span.profile) {
    case LTP_PROFILE_HELIOGRAPH:
    case LTP_PROFILE_HDTN:
        b->use = *all;
        break;
    case LTP_PROFILE_ION:
        b->use = hidden_of(all);
        b->careful = true;
        break;
    case LTP_PROFILE_PLAIN:
        b->use = *all;
        ltp_recovery_keep(&b->use, LTP_OPTION_BOUND);
        break;
    case LTP_PROFILE_AUTO:
        b->use = learnt_of(all, b->learnt);
        b->careful = b->learnt == LTP_LEARNT_NOTHING || b->learnt == LTP_LEARNT_PLAIN;
        break;
    }
}

static bool is_learning(const struct peer *p)
{
    return p->span.profile == LTP_PROFILE_AUTO && p->support.learnt != LTP_LEARNT_PLAIN;
}

/* Of a longer timer the peer sees nothing but fewer repetitions. */
enum rto_mode ltp_support_rto(const struct peer *p, const struct rtt *r)
{
    if (!p->span.recovery.rto_auto)
        return RTO_FIXED;
    if (r == &p->report_rtt || p->support.use.rto_auto)
        return RTO_FOLLOWS;
    return p->support.careful && !is_learning(p) ? RTO_GROWS : RTO_FIXED;
}

static void become_learnt(struct peer *p, enum ltp_learnt learnt)
{
    struct support *b = &p->support;
    b->learnt = learnt;
    b->answered = b->copied = b->copies = b->repeats = 0;
    b->judge_at = 0;
    ltp_support_apply(p);
}

static void narrow_peer(struct ltp *l, struct peer *p)
{
    p->support.against++;
    if (!is_learning(p))
        return;
    l->counters.peers_narrowed++;
    p->support.early = false;
    become_learnt(p, LTP_LEARNT_PLAIN);
}

static void credit_report(struct peer *p)
{
    struct support *b = &p->support;
    if (b->learnt == LTP_LEARNT_NOTHING && ++b->credits >= PROBES_MIN)
        become_learnt(p, LTP_LEARNT_TRIAL);
}

/* One full report on all of the red part, the first answer to its checkpoint: then a second one
 * to the same checkpoint can only be what we ask about. */
bool ltp_support_may_ask(struct export_session *e, const struct ltp_segment *s, tick now)
{
    struct peer *p = e->s.peer;
    struct support *b = &p->support;
    if (!is_learning(p) || b->learnt != LTP_LEARNT_NOTHING || now < b->ask_next ||
        !ltp_recovery_has(&p->span.recovery, LTP_OPTION_RECEIVER) ||
        e->answered.serial != s->cp_serial || s->cp_serial == 0 || s->lower != 0 ||
        s->upper != e->red_len || !list_empty(&e->resends))
        return false;
    b->ask_next = tick_add(now, p->span.rto);
    b->probes++;
    return true;
}

void ltp_support_ask(struct checkpoint *c, const struct signature *next, tick now)
{
    struct export_session *e = c->session;
    const struct signature *old = &e->answered;
    c->asks = true;
    c->next = *next;
    c->next.rpt_serial = c->rpt_serial;
    c->type = old->type;
    c->serial = old->serial;
    c->rpt_serial = old->rpt_serial;
    c->offset = old->offset;
    c->length = old->length;
    c->sent = c->tries = 1;
    c->cause = CAUSE_PROACTIVE;
    e->progress = now;
    list_add_tail(&e->checkpoints, &c->in_export);
    list_add_tail(&e->s.peer->checkpoints, &c->queue);
}

void ltp_support_asked(struct checkpoint *c)
{
    struct export_session *e = c->session;
    c->asks = false;
    c->type = c->next.type;
    c->serial = ++e->cp_last;
    c->rpt_serial = c->next.rpt_serial;
    c->offset = c->next.offset;
    c->length = c->next.length;
    c->sent = 0;
    c->tries = 1;
    c->copies_left = e->s.peer->support.use.copies;
    c->cause = CAUSE_REPORT;
    e->asked_by = c->serial;
    list_add_tail(&e->s.peer->checkpoints, &c->queue);
}

static struct checkpoint *find_checkpoint(const struct export_session *e, uint64_t serial)
{
    list_for_each (it, &e->checkpoints) {
        struct checkpoint *c = container_of(it, struct checkpoint, in_export);
        if (c->serial == serial)
            return c;
    }
    return NULL;
}

/* Two answers of one incarnation to one checkpoint; the parts of a divided report do not overlap.
 */
static bool contradicts_answer(const struct answer *old, const struct answer *later)
{
    return old->cp_serial != 0 && old->cp_serial == later->cp_serial &&
           old->rpt_serial != later->rpt_serial && old->lower < later->upper &&
           later->lower < old->upper;
}

/* The checkpoint behind the asking one is answered. */
static void conclude_trial(struct export_session *e)
{
    struct peer *p = e->s.peer;
    const struct checkpoint *c = find_checkpoint(e, e->asked_by);
    bool at_once = c != NULL && c->tries == 1 && p->up && p->hears && e->progress >= p->up_since;
    e->asked_by = 0;
    if (at_once)
        credit_report(p);
}

/* An incarnation is one run of the receiver: incarnation.c. */
void ltp_support_report(struct ltp *l, struct export_session *e, const struct ltp_segment *s,
                        bool born, tick now)
{
    struct answer a = {.cp_serial = s->cp_serial,
                       .rpt_serial = s->rpt_serial,
                       .lower = s->lower,
                       .upper = s->upper};
    bool against = false;
    if (born)
        memset(e->answers, 0, sizeof e->answers);
    for (size_t i = 0; i < ANSWERS_KEPT; i++)
        against |= contradicts_answer(&e->answers[i], &a);
    e->answers[e->answer_next++ % ANSWERS_KEPT] = a;
    if (against)
        narrow_peer(l, e->s.peer);
    const struct checkpoint *c = find_checkpoint(e, s->cp_serial);
    if (c != NULL && c->asks)
        e->asked_by = 0;
    else if (s->cp_serial != 0 && s->cp_serial == e->asked_by)
        conclude_trial(e);
    e->progress = now;
}

/* Judges what the copies cost when what they have caused has come. */
static void judge_peer(struct peer *p, tick now)
{
    struct support *b = &p->support;
    bool trial = b->learnt == LTP_LEARNT_TRIAL;
    uint32_t enough = trial ? TRIAL_WINDOW : LATER_WINDOW;
    if (!is_learning(p) || b->learnt == LTP_LEARNT_NOTHING)
        return;
    bool full = b->copied >= enough || (b->copied == 0 && b->answered >= QUIET_WINDOW);
    if (b->judge_at == 0 && full)
        b->judge_at = tick_add(now, p->span.rto);
    if (b->judge_at == 0 || now < b->judge_at)
        return;
    uint64_t fair = b->learnt == LTP_LEARNT_SUPPORTS ? 2 * (uint64_t)b->copied : b->copies / 4;
    bool dear = b->copied > 0 && b->repeats > fair;
    become_learnt(p, dear ? LTP_LEARNT_REPEATS : LTP_LEARNT_SUPPORTS);
}

void ltp_support_repeat(struct ltp *l, struct peer *p, struct export_session *e, uint64_t cp_serial,
                        tick now)
{
    p->support.repeats++;
    judge_peer(p, now);
    struct checkpoint *c = e == NULL || cp_serial == 0 ? NULL : find_checkpoint(e, cp_serial);
    if (c != NULL && c->asks &&
        list_empty(&c->queue)) /* the copy was sent, and this is the result */
        ltp_timer_start(l, &c->timer, now, 0);
}

void ltp_support_answered(struct export_session *e, const struct checkpoint *c, tick now)
{
    struct support *b = &e->s.peer->support;
    if (!c->early)
        e->answered = (struct signature){.type = c->type,
                                         .serial = c->serial,
                                         .rpt_serial = c->rpt_serial,
                                         .offset = c->offset,
                                         .length = c->length};
    b->answered++;
    b->copied += c->copied > 0;
    b->copies += c->copied;
    judge_peer(e->s.peer, now);
}

bool ltp_support_early(struct peer *p, struct export_session *e)
{
    struct support *b = &p->support;
    const struct ltp_recovery *k = &b->use;
    if (k->checkpoint_segments == 0 && k->checkpoint_time == 0)
        return false;
    if (p->span.profile != LTP_PROFILE_AUTO || b->early)
        return true;
    if (b->early_by != NULL)
        return false;
    b->early_by = e;
    return true;
}

void ltp_support_closed(struct export_session *e, enum event_outcome outcome)
{
    struct support *b = &e->s.peer->support;
    if (b->early_by != e)
        return;
    b->early_by = NULL;
    if (outcome == OUTCOME_DONE && e->early_sent && ++b->early_good >= EARLY_MIN &&
        is_learning(e->s.peer))
        b->early = true;
}

/* A receiver that cancels after a silence has tried for long. One that counts reports cancels soon
 * after one of our checkpoints. */
void ltp_support_cancelled(struct ltp *l, struct export_session *e, enum ltp_reason reason,
                           tick now)
{
    const struct ltp_span *span = &e->s.peer->span;
    tick tries = span->retries_max / 2 < 8 ? span->retries_max / 2 : 8;
    tick longest = span->rto > TICK_NEVER / 8 ? TICK_NEVER : span->rto * (tries < 2 ? 2 : tries);
    if (reason == LTP_RLEXC && now - e->progress < longest)
        narrow_peer(l, e->s.peer);
}

bool ltp_peer_support(const struct ltp *l, uint64_t engine, struct ltp_support *out)
{
    const struct peer *p = ltp_peer_peek(l, engine);
    if (p == NULL || p->unconfigured != NULL)
        return false;
    const struct support *b = &p->support;
    const struct ltp_recovery *k = &b->use;
    bool early = k->checkpoint_segments > 0 || k->checkpoint_time > 0;
    *out = (struct ltp_support){.profile = p->span.profile,
                                .learnt = b->learnt,
                                .early = early && (b->early || p->span.profile != LTP_PROFILE_AUTO),
                                .probes = b->probes,
                                .against = b->against};
    return true;
}

const char *ltp_profile_name(enum ltp_profile profile)
{
    static const char *const names[] = {"heliograph", "hdtn", "ion", "plain", "auto"};
    return names[profile];
}

const char *ltp_learnt_name(enum ltp_learnt learnt)
{
    static const char *const names[] = {"nothing", "trial", "repeats", "supports", "plain"};
    return names[learnt];
}
