/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the LTP engine, shared by its files and by nobody else. One engine has peers (one
 * per configured span), each with its sessions' things to send in five queues; sessions live in one
 * table; the ones that ended leave a `closed` record; timers of all lie in one heap.
 *
 * Memory: everything that must not fail later is reserved when a session opens (timers' places in
 * the heap, notices, the closed record, the checkpoint), so ltp_output, ltp_expire and closing
 * allocate nothing.
 */
#ifndef LTP_ENGINE_H
#define LTP_ENGINE_H

#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/port.h"
#include "base/ranges.h"
#include "base/rng.h"
#include "ltp/bearing.h"
#include "ltp/ltp.h"
#include "ltp/segment.h"

/* Limits that no configuration changes. */
#define IMPORT_COST 1280 /* held by an import session before its first byte, see below */
#define RANGE_BYTES 1024 /* of data: each so many allow one range, whatever ranges_max is */
#define REPORT_COST 32   /* of a report besides itself: its timer's place in the heap, rounding */
#define NOTED_MIN (1 << 20) /* bytes: at least so much for what receivers report */
#define ASKED_MIN 65536 /* bytes that a receiver may ask for again whatever the block's length */
#define STALL_MIN (10 * TICK_S) /* for what only the receiver's timers move on */
#define ACKS_MAX 4096     /* acknowledgements waiting per peer; the peer repeats what is dropped */
#define GUEST_ACKS_MAX 64 /* the same of a guest */
#define GUESTS_MAX 65536
#define PIECES_MAX 4096   /* pieces of green parts that wait for ltp_poll; more are lost */
#define REPORTS_MAX 4096  /* reports made in one import session */
#define SERIAL_FIRST 8192 /* first serials are random in 1..this: within 14 bits for long */
#define LIVES_MAX 3   /* of one receiver in one session of ours; the one longest ago is forgotten */
#define LIFE_NEAR 128 /* reports of one life have serials no further apart, lost ones included */
#define LIFE_WHEN 8
#define EARLY_MAX 16    /* about so many early checkpoints per block: receivers limit reports */
#define COPY_SMALL 64   /* data bytes of a copy that costs nothing on an idle line */
#define COPY_HEADERS 64 /* of a copy, and below it, about */
#define COPY_COST 100   /* bytes to be sent for each byte of other copies */
#define COPY_CREDIT_MAX (1 << 22)
#define PREFIX_MAX 32 /* constant front of a data segment's header, without extensions */
#define EXT_MAX 56    /* header extensions: authentication, cookie */
#define ORANGE_EXT 5  /* and that of orange blocks */

enum timer_use {
    USE_CHECKPOINT,
    USE_RESEND,
    USE_REPORT,
    USE_DELAY,
    USE_CANCEL,
    USE_IDLE,
    USE_STALL
};

struct timer {
    struct heap_node node;
    struct list in_peer; /* of peer->timers, while armed */
    struct peer *peer;
    enum timer_use use;
    tick left; /* while the link is down: what remains */
};

/* The time from a checkpoint to its report, or from a report to its acknowledgement. */
struct rtt {
    tick smooth, deviation, latest; /* 0, 0, 0: nothing was measured yet */
    tick least;                     /* the shortest answer to what was sent once */
    tick backed_off; /* what timers last at least until such an answer comes; 0: as they are */
};

/* A measurement under way: the serial whose answer is awaited; 0 = none. */
struct probe {
    uint64_t serial;
    tick first, last; /* when it was sent for the first and the latest time */
    bool repeated;    /* because its timer ran out */
};

struct ack {
    uint8_t type; /* LTP_RA, LTP_CAS, LTP_CAR */
    uint8_t cause;
    struct ltp_session_id id;
    uint64_t serial;
};

/* What all peers have together, and a peer's share of it, or that of all guests; see share.c. */
enum pool_kind { POOL_BYTES, POOL_SESSIONS, POOL_CANCELS, POOL_COUNT };

struct pool {
    uint64_t max, used;
    uint64_t reserved; /* used or promised */
};

struct share {
    uint64_t used, promised;
    uint64_t max; /* of guests only */
};

struct peer {
    struct hash_node node;
    struct ltp_span_counters n; /* but those of what there is now */
    struct guest *guest;        /* NULL: a span names it */
    struct ltp_span span;
    bool up;
    struct list timers;
    /* To send, in this order: */
    struct list cancels; /* struct cancel */
    struct ack *acks;    /* a ring */
    uint32_t ack_head, ack_len, ack_cap;
    struct list reports;     /* struct report */
    struct list checkpoints; /* struct checkpoint, again */
    struct list resends;     /* struct resend */
    struct list fresh;       /* struct export */
    uint32_t exports, imports;
    uint64_t hint[2];                /* size of the last block received, green and red */
    uint64_t guessed;                /* of all its parts */
    struct share shares[POOL_COUNT]; /* not of a guest */
    tick up_since;
    tick down_since, down_total; /* how long the link was down, but for now */
    uint64_t begun; /* the lowest number of a session of its that we saw begin; NONE: of none */
    struct rtt checkpoint_rtt, report_rtt;
    struct bearing bearing;
    uint64_t copy_credit;  /* bytes sent that no copy has used up */
    uint32_t limit;        /* of exports, when it adjusts itself */
    uint64_t export_bytes; /* of the blocks of open exports */
    tick limit_short;      /* when the limit was last found too low, or lowered */
    /* guard.c: what each segment to it has besides */
    uint32_t tail_len; /* authentication trailer */
    uint8_t ext_count, ext_len, ext[EXT_MAX];
};

/* A peer that no span names. */
struct guest {
    struct peer peer;
    struct list ready; /* of guests.ready, when something was queued for it */
    uint32_t place;
    uint8_t source_len, source[LTP_SOURCE_MAX];
    tick quiet_since;
};

/* All of them, and their share of what all peers have. */
struct guests {
    struct guest model; /* what holds for each, and for one that is yet to come */
    struct guest **at;  /* by place; NULL: nobody is ever accepted */
    struct list ready;  /* of struct guest.ready */
    struct list closed; /* of struct closed.fifo */
    size_t imports, cancels, closed_len;
    struct share shares[POOL_COUNT];
    tick full_until; /* no place comes free before */
};

struct session {
    struct hash_node node;
    struct ltp_session_id id;
    bool export;
    uint8_t promised; /* notices that it may still put without memory running out */
    struct peer *peer;
    uint64_t client_service;
    tick opened;
    struct closed *memory; /* becomes its record */
};

/* Serials of checkpoints that came in one session; RFC 5326 §3.2.1 lets them begin at random, so a
 * peer that uses the session's number again has others. */
struct serials {
    uint64_t low, high; /* 0, 0: none came */
};
#define SERIALS_NEAR 256

static inline bool serials_far(const struct serials *s, uint64_t serial)
{
    return s->high != 0 && ((serial > s->high && serial - s->high > SERIALS_NEAR) ||
                            (serial < s->low && s->low - serial > SERIALS_NEAR));
}

static inline void serials_note(struct serials *s, uint64_t serial)
{
    s->low = s->high == 0 || serial < s->low ? serial : s->low;
    s->high = serial > s->high ? serial : s->high;
}

/* A session that is over: RFC 5326 §8 wants its late segments answered and not taken for new. */
struct closed {
    struct hash_node node;
    struct list
        fifo; /* of ltp->closed_fifo or that of guests, oldest first; alone until it closes */
    struct ltp_session_id id;
    bool export;
    struct peer *peer;
    tick since;
    struct cancel *cancel; /* not yet acknowledged */
    uint8_t reason;        /* of an import that was cancelled here: */
    bool unheard; /* the peer never acknowledged it and may still hold what was claimed; the record
                     is in ltp->unheard then, and its age does not end it */
    struct serials asked; /* of an import: its checkpoints */
};

struct cancel {
    struct list queue; /* of peer->cancels, while it waits for output */
    struct closed *session;
    struct timer timer;
    uint8_t type;
    uint8_t reason;
    uint8_t cause;
    uint8_t orange; /* enum event_orange: it is an answer */
    uint32_t sent;
};

/* A checkpoint that was or will be sent and is not yet answered. */
struct checkpoint {
    struct list in_export;
    struct list queue; /* of peer->checkpoints, while it waits to be sent again */
    struct export *export;
    struct timer timer;
    uint8_t type;
    uint64_t serial, rpt_serial;
    uint64_t offset, length;
    uint32_t sent;  /* in all */
    uint32_t tries; /* 1 + firings of the timer */
    uint32_t copies_left;
    tick rto;                /* what its timer lasts, without copies */
    enum event_reason cause; /* of the next sending */
    bool early;              /* beside the mandatory ones */
    uint32_t copied;         /* copies sent */
    bool asks;               /* it is an answered one again, in the place of the next: */
    struct signature next;
    struct ranges resent; /* what it closes, when that was sent again (merge_claims) */
    size_t noted;         /* its share of ltp->noted, when a report made it necessary */
};

/* The answer to one report: its gaps, to be sent again. */
struct resend {
    struct list in_export;
    struct list queue; /* of peer->resends */
    struct export *export;
    struct timer timer; /* before it is queued: resend_wait */
    tick due;
    uint64_t lower, rpt_serial; /* of the report; of several, the one that begins lowest */
    struct ranges gaps;
    size_t gap;  /* the one being sent */
    uint64_t at; /* next byte in it */
    bool asks;   /* instead of its own, the checkpoint closes it that the report answered */
    struct checkpoint *checkpoint;
    size_t noted; /* its share of ltp->noted */
};

/* What the receiver said of a block in one of its lives; see life.c. */
struct life {
    struct ranges claimed; /* within the red part */
    struct ranges heard;   /* serials of reports that were acted on; not empty */
    uint64_t last;         /* the highest of them, */
    uint32_t digest;       /* and what it says */
    uint64_t latest_cp;    /* the latest checkpoint that any of them answers */
    /* Of the latest ones, the last checkpoint that we had sent when each came: a report on a later
     * one was made after it. A ring. */
    struct heard_when {
        uint64_t serial, cp_last;
    } when[LIFE_WHEN];
    uint32_t noted; /* reports in all */
};

struct export
{
    struct session s;
    struct list fresh; /* of peer->fresh, until all was sent once; then of ltp->spent, if closed */
    struct buf *data;
    uint64_t red_len, length, tag;
    uint64_t next;            /* first byte that was never sent */
    struct checkpoint *eorp;  /* waiting for the end of the red part to be sent */
    struct checkpoint *early; /* for checkpoints before that one; NULL when there are none */
    uint32_t early_segments;  /* sent since the latest checkpoint */
    uint32_t early_apart;     /* and to be sent at least before a further one */
    tick early_since;         /* when that was, or the session's first segment */
    struct probe probe;
    uint64_t cp_first, cp_last;  /* serials in use */
    struct list checkpoints;     /* struct checkpoint: sent, unanswered */
    struct list resends;         /* struct resend */
    size_t noted;                /* share of ltp->noted by the lives below */
    uint64_t asked_again;        /* bytes that reports asked for again, so far */
    uint32_t cycles;             /* checkpoints whose reports did */
    uint64_t cycle_serial;       /* of the latest of these; 0: none, or none that has one */
    bool cycles_over;            /* they were too many */
    struct life life[LIVES_MAX]; /* of the receiver; the one that is there now is the first */
    uint32_t lives;
    uint32_t ranges_max;       /* of their claims, as the span had it when the session began */
    struct timer stall;        /* runs while only the receiver can move the session on */
    struct signature answered; /* the latest checkpoint that a report has answered */
    struct answer answers[ANSWERS_KEPT]; /* of the present life */
    uint32_t answer_next;                /* the place of the next one */
    uint64_t asked_by; /* serial of the checkpoint behind the asking one; 0: none */
    bool early_sent;   /* an early checkpoint was */
    tick progress;     /* when a new checkpoint was sent or a new report came */
    bool orange;
    uint32_t prefix_len; /* control byte, session id, extensions, client service: */
    uint8_t prefix[PREFIX_MAX + EXT_MAX + ORANGE_EXT];
};

struct report {
    struct list in_import;
    struct list queue; /* of peer->reports, while it waits for output */
    struct import *import;
    struct timer timer; /* of the delay first, then of the repetition */
    uint64_t serial, cp_serial;
    uint64_t lower, upper;
    uint8_t cause;
    uint32_t sent, fired, copies_left;
    uint32_t again; /* answers to copies of its checkpoint since its timer ran out */
    tick first_sent, last_sent;
    tick rto;              /* what its timer lasts, without copies */
    size_t count;          /* of claims */
    size_t room;           /* for claims: what it was made with */
    struct range claims[]; /* absolute */
};

/* What must be known of a report after its acknowledgement; its serial is first + index. */
struct reported {
    uint64_t cp_serial, lower;
};

/* A stretch of the block in memory. */
struct part {
    struct buf *buf;    /* NULL before the first byte and after delivery */
    uint64_t base;      /* the block offset of its first byte */
    uint64_t received;  /* bytes that were put, those that came twice counted twice */
    struct list pieces; /* what lies too far ahead for the buffer, see part.c */
    uint64_t high;      /* end of the highest piece, from base; 0: there are none */
    uint64_t guessed;   /* bytes of the buffer that were only expected when it was made */
};

/* A checkpoint, as far as its answer depends on it. */
struct asking {
    uint64_t cp_serial, rpt_serial;
    uint64_t upper;
    bool whole; /* the red part is the user's: all of it is claimed */
    tick since; /* it came */
};

struct import {
    struct session s;
    struct part red, green;
    struct ranges got;        /* bytes received */
    struct ranges acked;      /* bytes whose claims the sender has acknowledged */
    uint32_t ranges_max;      /* of `got`, as the span had it when the session began */
    uint64_t red_len, length; /* EVENT_NONE while unknown */
    uint64_t red_high;        /* end of the highest red byte, 0 if none */
    uint64_t green_low;       /* offset of the lowest green byte, EVENT_NONE if none */
    bool delivered;           /* the red part was given to the user */
    bool accepted;            /* … who has confirmed it, or need not */
    bool green_done;          /* the green part was given, or given up */
    bool asks;                /* a green segment asked what became of the block */
    tick arrival;             /* of the latest segment, by ltp_uptime */
    struct serials asked_by;  /* the checkpoints that came */
    struct timer idle;
    struct list reports;      /* struct report: not acknowledged */
    struct list deferred;     /* struct deferred: checkpoints whose report is still to be made */
    uint32_t deferrals;       /* so many */
    struct reported *history; /* of all reports made */
    size_t reported, history_cap;
    uint64_t rpt_first;     /* serial of the first one */
    uint64_t primary_upper; /* §6.11: lower bound of the next primary report */
    uint64_t asked;         /* serial of the checkpoint that waits for ltp_accept; 0 = none */
    tick asked_at;
};

/* Itself, its record, its notices in a ring that has doubled, its places in tables and heap. */
_Static_assert(sizeof(struct import) + sizeof(struct closed) + 6 * sizeof(struct ltp_notice) + 64 <=
                   IMPORT_COST,
               "IMPORT_COST");

struct ltp {
    struct ltp_config config;
    struct ltp_counters counters;
    struct rng rng;
    uint64_t number; /* of the last session that we opened */
    struct hash peers, sessions, closed;
    struct list closed_fifo;
    struct list unheard; /* struct closed.fifo: their peers may not know that they are over */
    size_t unheard_len;
    struct guests guests;
    size_t named;            /* peers that are no guests */
    struct peer *last_named; /* the latest of them */
    size_t guarded;          /* peers with authentication or cookie */
    struct peer *last_peer;  /* caches before the tables */
    struct import *last_import;
    struct heap heap;
    size_t timers;              /* initialised ones; the heap has a place for each */
    struct ltp_notice *notices; /* a ring */
    size_t notice_head, notice_len, notice_cap, promised;
    uint64_t *services;
    size_t service_count;
    struct pool pools[POOL_COUNT]; /* bytes: memory of import sessions and their notices */
    uint64_t noted; /* memory of what receivers report of our exports; see export.c */
    size_t imports, exports, cancels;
    struct list spent; /* exports closed by ltp_output, whose bytes the user may still send */
};

/* timer.c: expiry acts through ltp_expire. init reserves the place; 0 or HELIO_ENOMEM. */
int ltp_timer_init(struct ltp *l, struct timer *t, struct peer *peer, enum timer_use use);
void ltp_timer_fini(struct ltp *l, struct timer *t);
void ltp_timer_start(struct ltp *l, struct timer *t, tick now, tick duration);
void ltp_timer_stop(struct ltp *l, struct timer *t);
void ltp_timers_suspend(struct ltp *l, struct peer *peer, tick now);
void ltp_timers_resume(struct ltp *l, struct peer *peer, tick now);

/* rto.c: what the timer of a checkpoint or report lasts at its n-th try, 1 being the first; one
 * that lasted so long ran out; the answer to what was sent first and last so long ago, repeated by
 * its timer or not. */
tick ltp_rto(const struct peer *p, const struct rtt *r, uint32_t tries);
void ltp_rtt_fired(const struct peer *p, struct rtt *r, tick lasted);
void ltp_rtt_answered(const struct peer *p, struct rtt *r, tick since_first, tick since_last,
                      bool repeated);
void ltp_probe_sent(struct probe *p, uint64_t serial, uint32_t tries, tick now);
void ltp_probe_answered(struct peer *peer, struct probe *p, uint64_t serial, tick now);

/* limit.c: how many export sessions a peer may have; reached: it may open no further one. */
uint32_t ltp_limit(const struct peer *p);
bool ltp_limit_reached(const struct peer *p);
void ltp_limit_opened(struct peer *p, uint64_t bytes);
void ltp_limit_closed(struct peer *p, uint64_t bytes, tick now);
void ltp_limit_idle(struct peer *p, tick now);

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
void ltp_emit_bad(struct ltp *l, enum verdict verdict, size_t len, tick now);
void ltp_emit_open(struct ltp *l, const struct session *s, uint64_t length, tick now);
void ltp_emit_close(struct ltp *l, const struct session *s, uint64_t length,
                    enum event_outcome outcome, enum ltp_reason reason, tick now);
void ltp_emit_timer(struct ltp *l, const struct peer *peer, struct ltp_session_id id,
                    enum event_timer timer, uint64_t serial, uint64_t attempt, tick now);
void ltp_emit_link(struct ltp *l, const struct peer *peer, tick now);

/* peer.c */
struct peer *ltp_peer_find(struct ltp *l, uint64_t engine);
struct peer *ltp_peer_peek(const struct ltp *l, uint64_t engine);
struct peer *ltp_peer_only(struct ltp *l); /* the one there is; NULL when there are several */
uint64_t ltp_peer_key(const struct ltp *l, uint64_t engine);
void ltp_peer_init(struct peer *p);
int ltp_peer_span(struct peer *p, const struct ltp_span *span); /* 0 or HELIO_EINVAL */
void ltp_peer_free(struct ltp *l, struct peer *p);
void ltp_peer_ack(struct ltp *l, struct peer *p, struct ack ack);

/* guard.c: RFC 5327. valid: of a span's limits; same: may replace it under open sessions; set: of
 * the peer's span; dress: a control segment with its extensions; seal: gathers the segment and
 * authenticates it (tail_len > 0). check: VERDICT_OK, or why the segment must have no effect. */
bool ltp_guard_valid(const struct ltp_span *s);
bool ltp_guard_same(const struct ltp_span *a, const struct ltp_span *b);
void ltp_guard_set(struct peer *p);
void ltp_guard_dress(const struct peer *p, struct ltp_segment *s);
void ltp_guard_seal(const struct peer *p, struct ltp_out *out);
enum verdict ltp_guard_check(struct ltp *l, const struct ltp_segment *s, struct slice segment,
                             struct slice source, struct peer **peer);

/* guest.c: may says whether an engine could become a guest, had it a place; admit gives it one (or
 * NULL: there is none, or no memory). heard and wake are for any peer: a segment came from it, or
 * was queued for it. leave frees the place, if nothing of the guest is open. */
int ltp_guests_init(struct ltp *l, const struct ltp_config *config);
void ltp_guests_fini(struct ltp *l);
bool ltp_guest_may(const struct ltp *l, uint64_t engine);
enum verdict ltp_guest_admit(struct ltp *l, uint64_t engine, struct slice source, tick now,
                             struct peer **out);
bool ltp_guest_leave(struct ltp *l, struct guest *g);
void ltp_guest_heard(struct peer *p, tick now);
void ltp_guest_wake(struct ltp *l, struct peer *p);

/* session.c */
struct session *ltp_session_find(const struct ltp *l, struct ltp_session_id id, bool export);
int ltp_session_open(struct ltp *l, struct session *s, uint8_t notices);
void ltp_session_forget(struct ltp *l, struct session *s);
bool ltp_service_known(const struct ltp *l, uint64_t client_service);

/* closed.c: find and evict by age and number. */
struct closed *ltp_closed_new(struct peer *peer, struct ltp_session_id id, bool export);
struct closed *ltp_closed_find(const struct ltp *l, struct ltp_session_id id, bool export);
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
void ltp_cancel_end(struct ltp *l, struct cancel *c);
void ltp_cancel_expire(struct ltp *l, struct cancel *c, tick now);
void ltp_cancel_refuse(struct ltp *l, struct peer *peer, struct ltp_session_id id,
                       enum ltp_reason reason, tick now);
enum verdict ltp_cancel_input(struct ltp *l, const struct ltp_segment *s, tick now,
                              struct peer **peer);

/* export.c */
enum verdict ltp_export_report(struct ltp *l, const struct ltp_segment *s, tick now,
                               struct peer **peer);
void ltp_export_close(struct ltp *l, struct export *e, enum event_outcome outcome,
                      enum ltp_reason reason, tick now, bool lent);
void ltp_export_free(struct ltp *l, struct export *e);
void ltp_export_expire(struct ltp *l, struct timer *t, tick now);
void ltp_export_settle(struct ltp *l);

static inline uint64_t ltp_noted_max(const struct ltp *l)
{
    return l->config.held_bytes / 32 > NOTED_MIN ? l->config.held_bytes / 32 : NOTED_MIN;
}

/* Time as it passes while the link is up, for silences that an outage explains. */
static inline tick ltp_uptime(const struct peer *p, tick now)
{
    return (p->up ? now : p->down_since) - p->down_total;
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
struct checkpoint *ltp_checkpoint_new(struct ltp *l, struct export *e, uint64_t rpt_serial);
void ltp_checkpoint_free(struct ltp *l, struct checkpoint *c);
uint64_t ltp_checkpoint_next_serial(const struct export *e);
void ltp_checkpoint_sent(struct ltp *l, struct checkpoint *c, tick now);
void ltp_checkpoint_sent_again(struct ltp *l, struct checkpoint *c, tick now);
void ltp_checkpoint_stop(struct ltp *l, struct export *e, uint64_t serial, tick now);
bool ltp_checkpoint_copy(struct ltp *l, struct checkpoint *c, tick now);
void ltp_checkpoint_idle(struct ltp *l, struct checkpoint *c);
bool ltp_checkpoint_early_due(const struct export *e, tick now);

/* life.c: the life that a report comes from (NULL: one that is new), whether that has said it
 * before, and whether it is the one that is there now. note: the report was acted on; 0,
 * HELIO_EAGAIN (too many) or HELIO_ENOMEM. add takes a new one over, in the place of the oldest;
 * lead makes it the one that is there. whole: one of them has claimed all. */
struct life *ltp_life_of(struct export *e, const struct ltp_segment *s);
bool ltp_life_heard(const struct life *f, uint64_t rpt_serial);
bool ltp_life_leads(const struct export *e, const struct life *f, const struct ltp_segment *s);
int ltp_life_note(struct life *f, const struct export *e, const struct ltp_segment *s);
void ltp_life_add(struct export *e, const struct life *fresh, bool leads);
void ltp_life_lead(struct export *e, const struct life *f);
void ltp_life_fini(struct life *f);
bool ltp_life_whole(const struct export *e);
size_t ltp_life_memory(const struct export *e);
void ltp_life_check(const struct export *e, uint64_t sent);

/* resend.c: new makes the job for the gaps in the scope of report s, by what life f of the receiver
 * has claimed, and of the job that waits, if one does; *out is NULL when there are none; 0 or
 * HELIO_ENOMEM. `anew`: the life has only begun, so what others claimed is missing too, and no job
 * of theirs goes on. begin puts it (or nothing) in the place of the one that waits. end: all was
 * sent; the job is over, and its checkpoint the caller's. */
struct resend_for {
    const struct life *life;
    const struct ltp_segment *report;
    bool anew;
};
int ltp_resend_new(struct ltp *l, struct export *e, const struct resend_for *f,
                   struct resend **out);
void ltp_resend_drop_all(struct ltp *l, struct export *e);
void ltp_resend_begin(struct ltp *l, struct export *e, struct resend *r, tick now);
void ltp_resend_expire(struct resend *r);
struct checkpoint *ltp_resend_end(struct ltp *l, struct resend *r);
void ltp_resend_free(struct ltp *l, struct resend *r);

/* import.c */
enum verdict ltp_import_data(struct ltp *l, const struct ltp_segment *s, struct slice source,
                             tick now, struct peer **peer);
void ltp_import_settle(struct ltp *l, struct import *im, tick now);
void ltp_import_close(struct ltp *l, struct import *im, enum event_outcome outcome,
                      enum ltp_reason reason, tick now);
void ltp_import_free(struct ltp *l, struct import *im);
void ltp_import_idle(struct ltp *l, struct import *im, tick now);

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
void ltp_orange_sent(struct ltp *l, struct export *e, tick now);
enum verdict ltp_orange_answered(struct ltp *l, struct export *e, enum event_orange answer,
                                 enum ltp_reason reason, tick now);
void ltp_orange_silent(struct ltp *l, struct export *e, tick now);
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
