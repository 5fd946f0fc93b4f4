/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the LTP engine call of one another, file by file. Included by engine.h, which
 * has the structures, and by nobody else. */
#ifndef LTP_CALLS_H
#define LTP_CALLS_H

/* timer.c: expiry acts through ltp_expire. init reserves the place; 0 or HELIO_ENOMEM. */
int ltp_timer_init(struct ltp *l, struct timer *t, struct peer *peer, enum timer_use use);
void ltp_timer_fini(struct ltp *l, struct timer *t);
void ltp_timer_start(struct ltp *l, struct timer *t, tick now, tick duration);
void ltp_timer_stop(struct ltp *l, struct timer *t);
void ltp_timers_suspend(struct ltp *l, struct peer *peer, tick now);
void ltp_timers_resume(struct ltp *l, struct peer *peer, tick now);

/* rto.c: what the timer of a checkpoint or report lasts at its n-th try, 1 being the first; an
 * answer came once more, so a repetition was needless; the answer to what was sent first and last
 * so long ago, repeated by its timer or not. */
tick ltp_rto(const struct peer *p, const struct rtt *r, uint32_t tries);
void ltp_rtt_needless(const struct peer *p, struct rtt *r);
void ltp_rtt_move(struct rtt *r, tick from, tick to); /* the light time is another one */
void ltp_rtt_answered(const struct peer *p, struct rtt *r, tick since_first, tick since_last,
                      bool repeated);
void ltp_probe_sent(struct probe *p, uint64_t serial, uint32_t tries, tick now);
void ltp_probe_answered(struct peer *peer, struct probe *p, uint64_t serial, tick now);

/* peer.c: how many export sessions a peer may have; reached: it may open no further one. */
uint32_t ltp_limit(const struct peer *p);
bool ltp_limit_reached(const struct peer *p);
void ltp_limit_opened(struct peer *p, uint64_t bytes);
void ltp_limit_closed(struct peer *p, uint64_t bytes, tick now);
void ltp_limit_idle(struct peer *p, tick now);

/* peer.c: a session is given up for want of an answer; does it begin with its first segment
 * alone, after which it is held; something was heard, or the link is up. */
void ltp_silence_unanswered(const struct export_session *e);
bool ltp_silence_probes(const struct export_session *e);
void ltp_silence_hold(struct export_session *e);
void ltp_silence_ends(struct peer *p);

/* notice.c: promise makes room for n notices of this session; put uses one up. */
int ltp_notice_promise(struct ltp *l, struct session *s, uint8_t n);
struct ltp_notice *ltp_notice_put(struct ltp *l, struct session *s, enum ltp_notice_kind kind);
void ltp_notice_release(struct ltp *l, struct session *s);

/* emit.c: counts, and tells the sink. */
struct emit {
    enum event_kind kind; /* EVENT_RX or EVENT_TX */
    struct peer *peer;    /* NULL: not known */
    size_t len;
    int cause; /* TX: enum event_reason; RX: enum verdict */
    uint64_t attempt;
};
void ltp_emit_segment(struct ltp *l, const struct ltp_segment *s, const struct emit *e, tick now);
/* A segment of ltp_train_input, when there is no sink: what ltp_emit_segment counts of it. */
void ltp_emit_train(struct ltp *l, struct peer *p, size_t len, uint64_t data_len);
void ltp_emit_bad(struct ltp *l, enum verdict verdict, size_t len, tick now);
void ltp_emit_open(struct ltp *l, const struct session *s, uint64_t length, tick now);
void ltp_emit_close(struct ltp *l, const struct session *s, uint64_t length,
                    enum event_outcome outcome, enum ltp_reason reason, tick now);
void ltp_emit_timer(struct ltp *l, const struct peer *peer, struct ltp_session_id id,
                    enum event_timer timer, uint64_t serial, uint64_t attempt, tick now);
void ltp_emit_link(struct ltp *l, const struct peer *peer, enum event_link way, bool up, tick now);

/* peer.c */
struct peer *ltp_peer_find(struct ltp *l, uint64_t engine);
struct peer *ltp_peer_peek(const struct ltp *l, uint64_t engine);
struct peer *ltp_peer_only(struct ltp *l); /* the one there is, or the source's; else NULL */
/* May a segment of the peer come from there? The length of a host's address is compared in place.
 */
static inline bool ltp_peer_source(const struct peer *p, struct slice source)
{
    uint64_t a[2], b[2];
    if (source.len < p->source_match)
        return false;
    if (PORT_UNLIKELY(p->source_match != sizeof a))
        return p->source_match == 0 || memcmp(p->source, source.data, p->source_match) == 0;
    memcpy(a, p->source, sizeof a);
    memcpy(b, source.data, sizeof b);
    return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0;
}
uint64_t ltp_peer_key(const struct ltp *l, uint64_t engine);
void ltp_peer_init(struct peer *p);
/* It may have output, or another window or silence, that the user has not seen yet. */
void ltp_peer_touch(struct ltp *l, struct peer *p);
/* For who watches: a segment of it came; one is sent to it. */
void ltp_peer_heard(struct peer *p, size_t len, tick now);
void ltp_peer_asked(struct peer *p, const struct ltp_segment *s, tick now);
int ltp_peer_span(struct peer *p, const struct ltp_span *span); /* 0 or HELIO_EINVAL */
void ltp_peer_free(struct ltp *l, struct peer *p);
/* leave.c: a peer whose span was removed, for a new one: as a fresh one, but for what is remembered
 * of it; NULL: there is none. forgets: one of its closed sessions is no more. */
struct peer *ltp_peer_back(struct ltp *l, uint64_t engine);
void ltp_peer_forgets(struct ltp *l, struct peer *p);
#define GONE_MAX 256
void ltp_peer_ack(struct ltp *l, struct peer *p, struct ack ack);

/* auth.c: sources, RFC 5327. valid: of a span's limits; same: may replace it under open sessions;
 * set: of the peer's span; dress: a control segment with its extensions; seal: gathers the segment
 * and authenticates it (tail_len > 0). check: VERDICT_OK, or why the segment must have no effect.
 */
bool ltp_auth_valid(const struct ltp_span *s);
bool ltp_auth_same(const struct ltp_span *a, const struct ltp_span *b);
void ltp_auth_set(struct peer *p);
void ltp_auth_dress(const struct peer *p, struct ltp_segment *s);
void ltp_auth_seal(const struct peer *p, struct ltp_out *out);
enum verdict ltp_auth_check(struct ltp *l, const struct ltp_segment *s, struct slice segment,
                            struct slice source, struct peer **peer);

/* unconfigured.c: may says whether an engine could become an unconfigured peer, had it a place;
 * admit gives it one (or NULL: there is none, or no memory). heard and wake are for any peer: a
 * segment came from it, or was queued for it. leave frees the place, if nothing of the unconfigured
 * peer is open. */
int ltp_unconfigured_init(struct ltp *l, const struct ltp_config *config);
void ltp_unconfigured_fini(struct ltp *l);
bool ltp_unconfigured_may(const struct ltp *l, uint64_t engine);
enum verdict ltp_unconfigured_admit(struct ltp *l, uint64_t engine, struct slice source, tick now,
                                    struct peer **out);
bool ltp_unconfigured_leave(struct ltp *l, struct unconfigured *g);
void ltp_unconfigured_heard(struct peer *p, tick now);
/* Of any peer: so many bytes came from it; may so many be sent to it (then they are); it has
 * answered a report. */
void ltp_unconfigured_credit(struct peer *p, size_t len);
bool ltp_unconfigured_pays(struct ltp *l, struct peer *p, size_t len);
void ltp_unconfigured_verified(struct peer *p);
uint64_t ltp_unconfigured_serial(struct ltp *l,
                                 const struct peer *p);    /* of a session's first report */
void ltp_unconfigured_wake(struct ltp *l, struct peer *p); /* by ltp_peer_touch */

/* session.c */
struct session *ltp_session_find(const struct ltp *l, struct ltp_session_id id, bool is_export);
int ltp_session_open(struct ltp *l, struct session *s, uint8_t notices);
void ltp_session_forget(struct ltp *l, struct session *s);
bool ltp_service_known(const struct ltp *l, uint64_t client_service);

/* closed.c: find and evict by age and number. */
struct closed *ltp_closed_new(struct peer *peer, struct ltp_session_id id, bool is_export);
struct closed *ltp_closed_find(const struct ltp *l, struct ltp_session_id id, bool is_export);
void ltp_closed_add(struct ltp *l, struct closed *c, tick now);
/* Its cancel was never acknowledged: it is kept, whatever its age, among the others of its kind. */
void ltp_closed_unheard(struct ltp *l, struct closed *c);
/* Data of a session that is over, or seems to be: false when its number is in use for another one
 * by now, and the record is gone. */
bool ltp_closed_input(struct ltp *l, struct closed *c, const struct ltp_segment *s, tick now);
void ltp_closed_free(struct ltp *l, struct closed *c);

/* cancel.c */
bool ltp_cancel_room(const struct ltp *l, const struct peer *peer);
void ltp_cancel_begin(struct ltp *l, struct closed *c, enum ltp_reason reason,
                      enum event_orange orange);
void ltp_cancel_unsaid(struct ltp *l, struct closed *session, enum event_orange orange);
void ltp_cancel_end(struct ltp *l, struct cancel *c);
void ltp_cancel_expire(struct ltp *l, struct cancel *c, tick now);
void ltp_cancel_refuse(struct ltp *l, struct peer *peer, struct ltp_session_id id,
                       enum ltp_reason reason, tick now);
enum verdict ltp_cancel_input(struct ltp *l, const struct ltp_segment *s, tick now,
                              struct peer **peer);

/* export.c */
enum verdict ltp_export_report(struct ltp *l, const struct ltp_segment *s, tick now,
                               struct peer **peer);
void ltp_export_close(struct ltp *l, struct export_session *e, enum event_outcome outcome,
                      enum ltp_reason reason, tick now, bool lent);
void ltp_export_free(struct ltp *l, struct export_session *e);
void ltp_export_expire(struct ltp *l, struct timer *t, tick now);
void ltp_export_settle(struct ltp *l);

static inline uint64_t ltp_noted_max(const struct ltp *l)
{
    return l->config.held_bytes / 32 > NOTED_MIN ? l->config.held_bytes / 32 : NOTED_MIN;
}

/* Time as it passes while the link is up, for silences that an outage explains. */
static inline tick ltp_uptime(const struct peer *p, tick now)
{
    return (p->hears ? now : p->down_since) - p->down_total;
}

/* What a session may note of so many bytes of data. Ranges that data brought cost a fraction of it:
 * a limit below that would only have it sent again. */
static inline size_t ltp_ranges_max(uint32_t ranges_max, uint64_t bytes)
{
    uint64_t paid = bytes / RANGE_BYTES;
    return (size_t)(paid > ranges_max ? paid : ranges_max);
}

/* output.c: does anything wait to be sent? */
bool ltp_output_waits(const struct peer *p);

/* checkpoint.c: sent gives it its serial and starts its timer; stop ends the checkpoint that a
 * report answers; copy: its timer ran out for a copy, which is queued, or the timer goes on. false:
 * it was not for one. */
struct checkpoint *ltp_checkpoint_new(struct ltp *l, struct export_session *e, uint64_t rpt_serial);
void ltp_checkpoint_free(struct ltp *l, struct checkpoint *c);
uint64_t ltp_checkpoint_next_serial(const struct export_session *e);
void ltp_checkpoint_sent(struct ltp *l, struct checkpoint *c, tick now);
void ltp_checkpoint_sent_again(struct ltp *l, struct checkpoint *c, tick now);
void ltp_checkpoint_stop(struct ltp *l, struct export_session *e, uint64_t serial, tick now);
bool ltp_checkpoint_copy(struct ltp *l, struct checkpoint *c, tick now);
bool ltp_checkpoint_early_due(const struct export_session *e, tick now);

/* life.c: the life that a report comes from (NULL: one that is new), whether that has said it
 * before, and whether it is the one that is there now. note: the report was acted on; 0,
 * HELIO_EAGAIN (too many) or HELIO_ENOMEM. add takes a new one over, in the place of the oldest;
 * lead makes it the one that is there. whole: one of them has claimed all. */
struct life *ltp_life_of(struct export_session *e, const struct ltp_segment *s);
bool ltp_life_heard(const struct life *f, uint64_t rpt_serial);
bool ltp_life_leads(const struct export_session *e, const struct life *f,
                    const struct ltp_segment *s);
int ltp_life_note(struct life *f, const struct export_session *e, const struct ltp_segment *s);
void ltp_life_add(struct export_session *e, const struct life *fresh, bool leads);
void ltp_life_lead(struct export_session *e, const struct life *f);
void ltp_life_fini(struct life *f);
bool ltp_life_whole(const struct export_session *e);
size_t ltp_life_memory(const struct export_session *e);
void ltp_life_check(const struct export_session *e, uint64_t sent);

/* resend.c: new makes the job for the gaps in the scope of report s, by what life f of the receiver
 * has claimed, and of the job that waits, if one does; *out is NULL when there are none; 0 or
 * HELIO_ENOMEM. `anew`: the life has only begun, so what others claimed is missing too, and no job
 * of theirs goes on. begin puts it (or nothing) in the place of the one that waits; it may wait
 * for further reports. end: all was
 * sent; the job is over, and its checkpoint the caller's. */
struct resend_for {
    const struct life *life;
    const struct ltp_segment *report;
    bool anew;
};
int ltp_resend_new(struct ltp *l, struct export_session *e, const struct resend_for *f,
                   struct resend **out);
void ltp_resend_drop_all(struct ltp *l, struct export_session *e);
void ltp_resend_begin(struct ltp *l, struct export_session *e, const struct ltp_segment *s,
                      struct resend *r, tick now);
void ltp_resend_expire(struct resend *r);
struct checkpoint *ltp_resend_end(struct ltp *l, struct resend *r);
void ltp_resend_free(struct ltp *l, struct resend *r);

/* import.c; what a session holds before its first byte, with one more notice if it tells of its
 * start. */
static inline uint64_t ltp_import_cost(const struct ltp *l)
{
    return IMPORT_COST + (l->config.tell_start ? 2 * sizeof(struct ltp_notice) : 0);
}

enum verdict ltp_import_data(struct ltp *l, const struct ltp_segment *s, struct slice source,
                             tick now, struct peer **peer);
void ltp_import_settle(struct ltp *l, struct import *im, tick now);
void ltp_import_close(struct ltp *l, struct import *im, enum event_outcome outcome,
                      enum ltp_reason reason, tick now);
void ltp_import_free(struct ltp *l, struct import *im);
void ltp_import_idle(struct ltp *l, struct import *im, tick now);

/* train.c: takes in a datagram if it is the segment that follows the latest one of its session, and
 * needs no more than to be kept; false: it is not, and nothing has changed. note: a red segment
 * that import.c has kept, no checkpoint; the one after it may follow. */
bool ltp_train_input(struct ltp *l, const uint8_t *data, size_t len, struct slice source, tick now);
void ltp_train_note(struct ltp *l, const struct ltp_segment *s, const uint8_t *data, size_t len);

/* discard.c: sessions that may make room for one more of the peer (or of unconfigured peers). add:
 * a segment with so many bytes has just opened it. sub: it is proven, or over. list: where it
 * belongs. discard: false when none may go. */
void ltp_unproven_init(struct unproven *u);
void ltp_unproven_add(struct ltp *l, struct import *im, size_t opening, tick now);
void ltp_unproven_sub(struct ltp *l, struct import *im);
unsigned ltp_unproven_list(const struct import *im);
bool ltp_discard(struct ltp *l, struct peer *p, tick now);

/* part.c: put keeps a segment's data (`last`: nothing will follow). VERDICT_OK, LIMIT_BYTES or
 * NO_MEMORY. gather brings all of it into the buffer; false: there is no memory for that. copy:
 * bytes that were put, from the buffer that the part has or had, and its pieces. take gives the
 * bytes [from, from + len), gathered, to a notice; they count as held until that is polled. */
void ltp_part_init(struct part *p);
enum verdict ltp_part_put(struct ltp *l, struct import *im, const struct ltp_segment *s, bool last);
bool ltp_part_gather(struct ltp *l, struct import *im, bool red);
void ltp_part_copy(const struct part *p, const struct buf *buf, uint64_t from, uint64_t len,
                   uint8_t *out);
uint64_t ltp_part_held(const struct part *p);
void ltp_part_check(const struct part *p);
/* Are bytes that came before the same? True also where they are not at hand. */
bool ltp_part_same(const struct import *im, bool red, uint64_t offset, struct slice bytes);
struct buf *ltp_part_take(struct ltp *l, struct import *im, bool red, uint64_t from, uint64_t len);
void ltp_part_drop(struct ltp *l, struct import *im, bool red);

/* share.c: n more or fewer are used by a peer; what a notice has taken is nobody's any more (NULL).
 * How many more it may use. share: anew, when there is another peer. */
void ltp_pools_init(struct ltp *l);
void ltp_pools_share(struct ltp *l);
void ltp_pool_add(struct ltp *l, enum pool_kind kind, struct peer *p, uint64_t n);
void ltp_pool_sub(struct ltp *l, enum pool_kind kind, struct peer *p, uint64_t n);
uint64_t ltp_pool_room(const struct ltp *l, enum pool_kind kind, const struct peer *p);

/* The same of bytes. */
static inline uint64_t ltp_held_room(const struct ltp *l, const struct peer *p)
{
    return ltp_pool_room(l, POOL_BYTES, p);
}

static inline void ltp_held_add(struct ltp *l, struct peer *p, uint64_t bytes)
{
    ltp_pool_add(l, POOL_BYTES, p, bytes);
}

static inline void ltp_held_sub(struct ltp *l, struct peer *p, uint64_t bytes)
{
    ltp_pool_sub(l, POOL_BYTES, p, bytes);
}

/* green.c */
void ltp_green_progress(struct ltp *l, struct import *im);
void ltp_green_flush(struct ltp *l, struct import *im);

/* orange.c: the extension of a kind, and what a segment's says. */
struct slice ltp_orange_extension(enum event_orange kind);
enum event_orange ltp_orange_of(const struct ltp_segment *s);
/* As sender: all was sent; the receiver's answer came (a verdict); or none did. */
void ltp_orange_sent(struct ltp *l, struct export_session *e, tick now);
enum verdict ltp_orange_answered(struct ltp *l, struct export_session *e, enum event_orange answer,
                                 enum ltp_reason reason, tick now);
void ltp_orange_silent(struct ltp *l, struct export_session *e, tick now);
/* As receiver: notes that a segment asks; answer to a session that ends so, ORANGE_NONE: none;
 * nothing came for too long. */
void ltp_orange_note(struct import *im, const struct ltp_segment *s);
enum event_orange ltp_orange_answer(const struct import *im, enum event_outcome outcome);
void ltp_orange_idle(struct ltp *l, struct import *im, tick now);

static inline bool ltp_orange(const struct import *im)
{
    return im->asks && im->red_high == 0;
}

/* defer.c: does this checkpoint wait? How long has one to? Let it wait: VERDICT_OK, LIMIT_REPORTS,
 * LIMIT_BYTES or NO_MEMORY. filled: data came. held: their memory, for ltp_check. */
bool ltp_deferred_has(const struct import *im, uint64_t cp_serial);
tick ltp_defer_time(const struct import *im, const struct asking *q);
enum verdict ltp_defer(struct ltp *l, struct import *im, const struct asking *q, tick now,
                       tick time);
void ltp_deferred_filled(struct ltp *l, struct import *im, tick now);
void ltp_deferred_expire(struct ltp *l, struct timer *t, tick now);
void ltp_deferred_free(struct ltp *l, struct import *im);
size_t ltp_deferred_held(const struct import *im);

/* report.c; scope: what the answer is about (empty: there is none); answer makes it now. */
struct range ltp_report_scope(const struct import *im, const struct asking *q);
enum verdict ltp_report_answer(struct ltp *l, struct import *im, const struct asking *q);
enum verdict ltp_report_checkpoint(struct ltp *l, struct import *im, const struct ltp_segment *s,
                                   tick now);
void ltp_report_accepted(struct ltp *l, struct import *im, tick now);
enum verdict ltp_report_ack(struct ltp *l, const struct ltp_segment *s, tick now,
                            struct peer **peer);
void ltp_report_sent(struct ltp *l, struct report *r, tick now);
void ltp_report_expire(struct ltp *l, struct report *r, tick now);
void ltp_report_free(struct ltp *l, struct report *r);
/* Divides what was made for longer segments; 0, HELIO_ENOMEM, or HELIO_EAGAIN (REPORTS_MAX); then
 * some may have been divided. */
int ltp_reports_fit(struct ltp *l, struct import *im, uint32_t segment_max);

#endif
