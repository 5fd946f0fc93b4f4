/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the LTP engine: functions that its files call of one another, file by file. Only
 * engine.h, which has the structures, includes it. */
#ifndef LTP_CALLS_H
#define LTP_CALLS_H

/* timer.c: expired timers are processed by ltp_expire. init reserves the timer's place in the heap;
 * returns 0 or HELIO_ENOMEM. */
int ltp_timer_init(struct ltp *l, struct timer *t, struct peer *peer, enum timer_use use);
void ltp_timer_fini(struct ltp *l, struct timer *t);
void ltp_timer_start(struct ltp *l, struct timer *t, tick now, tick duration);
void ltp_timer_stop(struct ltp *l, struct timer *t);
void ltp_timers_suspend(struct ltp *l, struct peer *peer, tick now);
void ltp_timers_resume(struct ltp *l, struct peer *peer, tick now);

/* rto.c. ltp_rto: the timer of a checkpoint or report at its n-th try; 1 is the first.
 * ltp_rtt_needless: an answer arrived again, so a retransmission was needless. ltp_rtt_answered:
 * the answer arrived; the arguments are the times since the first and last transmission, and
 * whether the timer repeated it. */
tick ltp_rto(const struct peer *p, const struct rtt *r, uint32_t tries);
void ltp_rtt_needless(const struct peer *p, struct rtt *r);
void ltp_rtt_move(struct rtt *r, tick from, tick to); /* the light time has changed */
void ltp_rtt_answered(const struct peer *p, struct rtt *r, tick since_first, tick since_last,
                      bool repeated);
void ltp_probe_sent(struct probe *p, uint64_t serial, uint32_t tries, tick now);
void ltp_probe_answered(struct peer *peer, struct probe *p, uint64_t serial, tick now);

/* peer.c: limit of export sessions of a peer. reached: no further session may be opened. */
uint32_t ltp_limit(const struct peer *p);
bool ltp_limit_reached(const struct peer *p);
void ltp_limit_opened(struct peer *p, uint64_t bytes);
void ltp_limit_closed(struct peer *p, uint64_t bytes, tick now);
void ltp_limit_idle(struct peer *p, tick now);

/* peer.c: a silent peer. unanswered: a session failed because nothing answered. probes: a new
 * session must first send one segment alone. hold: after it, the session is held. ends: a segment
 * arrived, or the link is up. */
void ltp_silence_unanswered(const struct export_session *e);
bool ltp_silence_probes(const struct export_session *e);
void ltp_silence_hold(struct export_session *e);
void ltp_silence_ends(struct peer *p);

/* notice.c: promise reserves memory for n notices of this session; put uses one of them. */
int ltp_notice_promise(struct ltp *l, struct session *s, uint8_t n);
struct ltp_notice *ltp_notice_put(struct ltp *l, struct session *s, enum ltp_notice_kind kind);
void ltp_notice_release(struct ltp *l, struct session *s);

/* emit.c: counts an event, and passes it to the sink. */
struct emit {
    enum event_kind kind; /* EVENT_RX or EVENT_TX */
    struct peer *peer;    /* NULL: unknown */
    size_t len;
    int cause; /* TX: enum event_reason; RX: enum verdict */
    uint64_t attempt;
};
void ltp_emit_segment(struct ltp *l, const struct ltp_segment *s, const struct emit *e, tick now);
/* Counts a segment of ltp_train_input like ltp_emit_segment, for engines without a sink. */
void ltp_emit_train(struct ltp *l, struct peer *p, size_t len, uint64_t data_len);
void ltp_emit_bad(struct ltp *l, enum verdict verdict, size_t len, tick now);
void ltp_emit_open(struct ltp *l, const struct session *s, uint64_t length, tick now);
void ltp_emit_close(struct ltp *l, const struct session *s, uint64_t length,
                    enum event_outcome outcome, enum ltp_reason reason, tick now);
void ltp_emit_timer(struct ltp *l, const struct peer *peer, struct ltp_session_id id,
                    enum event_timer timer, uint64_t serial, uint64_t attempt, tick now);
void ltp_emit_link(struct ltp *l, const struct peer *peer, enum event_link direction, bool up,
                   tick now);

/* peer.c */
struct peer *ltp_peer_find(struct ltp *l, uint64_t engine);
struct peer *ltp_peer_peek(const struct ltp *l, uint64_t engine);
struct peer *ltp_peer_only(struct ltp *l); /* the only peer, or the peer of the source; else NULL */
/* May a segment of the peer have this source? Sources of the length of a host address are compared
 * inline. */
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
/* Lists the peer for ltp_touched: output, window or silence may have changed. */
void ltp_peer_touch(struct ltp *l, struct peer *p);
/* For ltp_watch: a segment arrived from the peer; a segment is sent to it. */
void ltp_peer_heard(struct peer *p, size_t len, tick now);
void ltp_peer_asked(struct peer *p, const struct ltp_segment *s, tick now);
int ltp_peer_span(struct peer *p, const struct ltp_span *span); /* 0 or HELIO_EINVAL */
void ltp_peer_free(struct ltp *l, struct peer *p);
/* leave.c: peers whose span was removed. back: such a peer for a new span, as if new, but with its
 * remembered sessions; NULL: there is none. forgets: one of its closed sessions was removed. */
struct peer *ltp_peer_back(struct ltp *l, uint64_t engine);
void ltp_peer_forgets(struct ltp *l, struct peer *p);
#define GONE_MAX 256
void ltp_peer_ack(struct ltp *l, struct peer *p, struct ack ack);

/* auth.c: sources, RFC 5327. valid: checks a span's parameters. same: may b replace a under open
 * sessions? set: applies the span of the peer. dress: adds the header extensions to a control
 * segment. seal: makes one contiguous segment and authenticates it (tail_len > 0). check:
 * VERDICT_OK, or why the segment must have no effect. */
bool ltp_auth_valid(const struct ltp_span *s);
bool ltp_auth_same(const struct ltp_span *a, const struct ltp_span *b);
void ltp_auth_set(struct peer *p);
void ltp_auth_dress(const struct peer *p, struct ltp_segment *s);
void ltp_auth_seal(const struct peer *p, struct ltp_out *out);
enum verdict ltp_auth_check(struct ltp *l, const struct ltp_segment *s, struct slice segment,
                            struct slice source, struct peer **peer);

/* unconfigured.c. may: could the engine become an unconfigured peer, if a place is free? admit:
 * gives it a place; NULL: no place, or no memory. heard: a segment of any peer arrived. wake: a
 * segment for any peer was queued. leave: frees the place, unless the peer has open sessions or
 * queued segments. */
int ltp_unconfigured_init(struct ltp *l, const struct ltp_config *config);
void ltp_unconfigured_fini(struct ltp *l);
bool ltp_unconfigured_may(const struct ltp *l, uint64_t engine);
enum verdict ltp_unconfigured_admit(struct ltp *l, uint64_t engine, struct slice source, tick now,
                                    struct peer **out);
bool ltp_unconfigured_leave(struct ltp *l, struct unconfigured *g);
void ltp_unconfigured_heard(struct peer *p, tick now);
/* For any peer: len bytes arrived from it; may len bytes be sent to it (if so, they are counted);
 * it has acknowledged a report. */
void ltp_unconfigured_credit(struct peer *p, size_t len);
bool ltp_unconfigured_pays(struct ltp *l, struct peer *p, size_t len);
void ltp_unconfigured_verified(struct peer *p);
uint64_t ltp_unconfigured_serial(struct ltp *l,
                                 const struct peer *p);    /* of a session's first report */
void ltp_unconfigured_wake(struct ltp *l, struct peer *p); /* called by ltp_peer_touch */

/* session.c */
struct session *ltp_session_find(const struct ltp *l, struct ltp_session_id id, bool is_export);
int ltp_session_open(struct ltp *l, struct session *s, uint8_t notices);
void ltp_session_forget(struct ltp *l, struct session *s);
bool ltp_service_known(const struct ltp *l, uint64_t client_service);

/* closed.c: find and evict by age and number. */
struct closed *ltp_closed_new(struct peer *peer, struct ltp_session_id id, bool is_export);
struct closed *ltp_closed_find(const struct ltp *l, struct ltp_session_id id, bool is_export);
void ltp_closed_add(struct ltp *l, struct closed *c, tick now);
size_t ltp_closed_quarter(const struct ltp *l); /* of limits.closed_sessions, rounded up */
/* Its cancel was never acknowledged. It is kept independent of its age, in a separate list. */
void ltp_closed_unheard(struct ltp *l, struct closed *c);
/* Data of a session that seems closed. False: the peer uses the number again for a new session, and
 * the record was removed. */
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

/* Time that passes only while the link is up; for timeouts that an outage must not cause. */
static inline tick ltp_uptime(const struct peer *p, tick now)
{
    return (p->hears ? now : p->down_since) - p->down_total;
}

/* Limit of the ranges of a session for so many bytes of data. Ranges caused by data cost a fraction
 * of the data: a limit below that would only cause retransmissions. */
static inline size_t ltp_ranges_max(uint32_t ranges_max, uint64_t bytes)
{
    uint64_t paid = bytes / RANGE_BYTES;
    return (size_t)(paid > ranges_max ? paid : ranges_max);
}

/* output.c: is a segment queued? */
bool ltp_output_waits(const struct peer *p);

/* checkpoint.c. sent: assigns the serial number and starts the timer. stop: ends the checkpoint
 * that a report answers. copy: the timer expired for a copy: queues the copy, or restarts the
 * timer; false: it expired for a retransmission. */
struct checkpoint *ltp_checkpoint_new(struct ltp *l, struct export_session *e, uint64_t rpt_serial);
void ltp_checkpoint_free(struct ltp *l, struct checkpoint *c);
uint64_t ltp_checkpoint_next_serial(const struct export_session *e);
void ltp_checkpoint_sent(struct ltp *l, struct checkpoint *c, tick now);
void ltp_checkpoint_sent_again(struct ltp *l, struct checkpoint *c, tick now);
void ltp_checkpoint_stop(struct ltp *l, struct export_session *e, uint64_t serial, tick now);
bool ltp_checkpoint_copy(struct ltp *l, struct checkpoint *c, tick now);
bool ltp_checkpoint_early_due(const struct export_session *e, tick now);

/* incarnation.c. An incarnation is one run of the receiver: the time between two losses of its
 * session. of: the incarnation that sent a report; NULL: a new one. heard: was this serial number
 * received? leads: is it the present incarnation? note: records a processed report; returns 0,
 * HELIO_EAGAIN (too many) or HELIO_ENOMEM. add: adds a new incarnation; it replaces the oldest.
 * lead: makes it the present incarnation. whole: one incarnation has claimed the whole red part. */
struct incarnation *ltp_incarnation_of(struct export_session *e, const struct ltp_segment *s);
bool ltp_incarnation_heard(const struct incarnation *f, uint64_t rpt_serial);
bool ltp_incarnation_leads(const struct export_session *e, const struct incarnation *f,
                           const struct ltp_segment *s);
int ltp_incarnation_note(struct incarnation *f, const struct export_session *e,
                         const struct ltp_segment *s);
void ltp_incarnation_add(struct export_session *e, const struct incarnation *fresh, bool leads);
void ltp_incarnation_lead(struct export_session *e, const struct incarnation *f);
void ltp_incarnation_fini(struct incarnation *f);
bool ltp_incarnation_whole(const struct export_session *e);
size_t ltp_incarnation_memory(const struct export_session *e);
void ltp_incarnation_check(const struct export_session *e, uint64_t sent);

/* resend.c: retransmission jobs. new: makes the job for the gaps in the scope of report s, by the
 * claims of incarnation f, combined with the waiting job, if there is one; *out is NULL without
 * gaps; returns 0 or HELIO_ENOMEM. `anew`: the incarnation is new, so claims of other incarnations
 * do not count, and none of their jobs continues. begin: the job (or none) replaces the waiting
 * one; it may wait for further reports. end: the job is complete; the caller owns its checkpoint.
 */
struct resend_for {
    const struct incarnation *incarnation;
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

/* import.c. Memory of a session before its first byte; tell_start needs one more notice. */
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

/* train.c. input: processes a datagram if it is the direct successor of the latest segment of its
 * session and only needs to be stored; false: it is not, and nothing has changed. note: import.c
 * has stored a red segment that is no checkpoint; its successor may follow. */
bool ltp_train_input(struct ltp *l, const uint8_t *data, size_t len, struct slice source, tick now);
void ltp_train_note(struct ltp *l, const struct ltp_segment *s, const uint8_t *data, size_t len);

/* discard.c: sessions that may be discarded for a new one of the same peer (or of unconfigured
 * peers). add: a segment of this many bytes opened the session. sub: its sender is proven, or it
 * has closed. list: its proper list. discard: false: none may be discarded. */
void ltp_unproven_init(struct unproven *u);
void ltp_unproven_add(struct ltp *l, struct import *im, size_t opening, tick now);
void ltp_unproven_sub(struct ltp *l, struct import *im);
unsigned ltp_unproven_list(const struct import *im);
bool ltp_discard(struct ltp *l, struct peer *p, tick now);

/* part.c. put: stores a segment's data (`last`: no more follows); VERDICT_OK, LIMIT_BYTES or
 * NO_MEMORY. gather: copies all pieces into the buffer; false: no memory. copy: reads stored bytes,
 * from the buffer that the part has or had, and from its pieces. take: passes the gathered bytes
 * [from, from + len) to a notice; they count as held until ltp_poll returns it. */
void ltp_part_init(struct part *p);
enum verdict ltp_part_put(struct ltp *l, struct import *im, const struct ltp_segment *s, bool last);
bool ltp_part_gather(struct ltp *l, struct import *im, bool red);
void ltp_part_copy(const struct part *p, const struct buf *buf, uint64_t from, uint64_t len,
                   uint8_t *out);
uint64_t ltp_part_held(const struct part *p);
void ltp_part_check(const struct part *p);
/* Are the bytes equal to those received before? True also if those are no longer stored. */
bool ltp_part_same(const struct import *im, bool red, uint64_t offset, struct slice bytes);
struct buf *ltp_part_take(struct ltp *l, struct import *im, bool red, uint64_t from, uint64_t len);
void ltp_part_drop(struct ltp *l, struct import *im, bool red);

/* share.c: a peer uses n more, or n fewer; peer NULL: bytes of a notice, which belong to no peer.
 * room: how many more it may use. share: recomputes the shares after the number of peers has
 * changed. */
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

/* orange.c: the extension with this content; the content of a segment's extension. */
struct slice ltp_orange_extension(enum event_orange kind);
enum event_orange ltp_orange_of(const struct ltp_segment *s);
/* Sender: all was sent; the receiver's answer arrived (returns a verdict); no answer arrived. */
void ltp_orange_sent(struct ltp *l, struct export_session *e, tick now);
enum verdict ltp_orange_answered(struct ltp *l, struct export_session *e, enum event_orange answer,
                                 enum ltp_reason reason, tick now);
void ltp_orange_silent(struct ltp *l, struct export_session *e, tick now);
/* Receiver: note: a segment requests an answer. answer: the answer for a session with this outcome;
 * ORANGE_NONE: none. idle: no segment arrived for too long. */
void ltp_orange_note(struct import *im, const struct ltp_segment *s);
enum event_orange ltp_orange_answer(const struct import *im, enum event_outcome outcome);
void ltp_orange_idle(struct ltp *l, struct import *im, tick now);

static inline bool ltp_orange(const struct import *im)
{
    return im->asks && im->red_high == 0;
}

/* defer.c. has: is a report for this checkpoint deferred? time: how long must it be deferred?
 * ltp_defer: defers it; VERDICT_OK, LIMIT_REPORTS, LIMIT_BYTES or NO_MEMORY. filled: data arrived.
 * held: memory, for ltp_check. */
bool ltp_deferred_has(const struct import *im, uint64_t cp_serial);
tick ltp_defer_time(const struct import *im, const struct asking *q);
enum verdict ltp_defer(struct ltp *l, struct import *im, const struct asking *q, tick now,
                       tick time);
void ltp_deferred_filled(struct ltp *l, struct import *im, tick now);
void ltp_deferred_expire(struct ltp *l, struct timer *t, tick now);
void ltp_deferred_free(struct ltp *l, struct import *im);
size_t ltp_deferred_held(const struct import *im);

/* report.c. scope: the scope of the answer (empty: none is due). answer: makes the report now. */
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
/* Divides reports that were made for a longer segment_max. Returns 0, HELIO_ENOMEM or HELIO_EAGAIN
 * (REPORTS_MAX); then some may have been divided. */
int ltp_reports_fit(struct ltp *l, struct import *im, uint32_t segment_max);

#endif
