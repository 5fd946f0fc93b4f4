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
#include "ltp/ltp.h"
#include "ltp/segment.h"
#include "ltp/support.h"

/* Limits that no configuration changes. */
#define IMPORT_COST 1280 /* held by an import session before its first byte, see below */
#define RANGE_BYTES 1024 /* of data: each so many allow one range, whatever ranges_max is */
#define REPORT_COST 32   /* of a report besides itself: its timer's place in the heap, rounding */
#define NOTED_MIN (1 << 20) /* bytes: at least so much for what receivers report */
#define ASKED_MIN 65536 /* bytes that a receiver may ask for again whatever the block's length */
#define STALL_MIN (10 * TICK_S) /* for what only the receiver's timers move on */
#define ACKS_MAX 4096 /* acknowledgements waiting per peer; the peer repeats what is dropped */
#define UNCONFIGURED_ACKS_MAX 64 /* the same of an unconfigured peer */
#define UNCONFIGURED_MAX 65536
#define PIECES_MAX 4096   /* pieces of green parts that wait for ltp_poll; more are lost */
#define REPORTS_MAX 4096  /* reports made in one import session */
#define SERIAL_FIRST 8192 /* first serials are random in 1..this: within 14 bits for long */
#define SERIAL_UNVERIFIED                                                                          \
    (1 << 30)           /* the same of reports whose acknowledgement proves an address */
#define CREDIT_FACTOR 3 /* bytes sent to such an address for each that came from it, with */
#define HEADERS_MIN 28  /* those of UDP and IPv4 for what came, */
#define HEADERS_MAX 48  /* and of UDP and IPv6 for what is sent: never too little is counted */
#define LIVES_MAX 3 /* of one receiver in one session of ours; the one longest ago is forgotten */
#define LIFE_NEAR                                                                                  \
    24 /* reports of one life have serials no further apart, lost ones included, and */
#define LIFE_NEAR_MORE 104 /* four for each checkpoint more, up to so many */
#define LIFE_WHEN 8
#define EARLY_MAX 16    /* about so many early checkpoints per block: receivers limit reports */
#define COPY_SMALL 64   /* data bytes of a copy that costs nothing on an idle line */
#define PROBE_BYTES 64  /* of a block, for a peer that does not answer */
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

/* What all peers have together, and a peer's share of it, or that of all unconfigured peers; see
 * share.c. */
enum pool_kind { POOL_BYTES, POOL_SESSIONS, POOL_CANCELS, POOL_COUNT };

struct pool {
    uint64_t max, used;
    uint64_t reserved; /* used or promised */
};

struct share {
    uint64_t used, promised;
    uint64_t max; /* of unconfigured peers only */
    uint64_t cap; /* of bytes: the user's word, ltp_hold */
};

/* Import sessions whose sender has not proven that it hears us, by what was received; see
 * discard.c. First those of which nothing was claimed: with little data by worth, and those with
 * much data; then those with reports. */
enum {
    UNPROVEN_MUCH = 7,
    UNPROVEN_CLAIMED_LITTLE, /* and the red part is not whole */
    UNPROVEN_CLAIMED,
    UNPROVEN_LISTS
};
struct unproven {
    struct list list[UNPROVEN_LISTS]; /* of struct import.unproven, longest silence first, about */
    size_t claimed_little;            /* sessions in that list */
};

struct peer {
    struct hash_node node;
    struct list touched;               /* of ltp->touched; not of an unconfigured peer */
    struct ltp_span_counters n;        /* but those of what there is now */
    uint64_t resent_bytes;             /* data, for whatever cause */
    struct unconfigured *unconfigured; /* NULL: a span names it, or did */
    struct list gone;                  /* of ltp->gone, when its span was removed */
    size_t remembered;                 /* sessions that are over: struct closed in the table */
    struct ltp_span span;
    bool up;    /* we transmit to it */
    bool hears; /* it transmits to us */
    uint8_t source_len, source[LTP_SOURCE_MAX];
    uint8_t source_match; /* so many of these bytes must be equal; 0: none need be */
    struct list timers;
    /* To send, in this order: */
    struct list cancels; /* struct cancel */
    struct ack *acks;    /* a ring */
    uint32_t ack_head, ack_len, ack_cap;
    struct list reports;     /* struct report */
    struct list checkpoints; /* struct checkpoint, again */
    struct list resends;     /* struct resend */
    struct list fresh;       /* struct export_session */
    struct list held;        /* the same, until the peer is heard (peer.c) */
    bool silent;
    uint32_t exports, imports;
    uint64_t hint[2];                /* size of the last block received, green and red */
    uint64_t guessed;                /* of all its parts */
    struct share shares[POOL_COUNT]; /* not of an unconfigured peer */
    tick up_since;
    tick down_since, down_total; /* how long it did not transmit, but for now */
    uint64_t begun; /* the lowest number of a session of its that we saw begin; NONE: of none */
    struct rtt checkpoint_rtt, report_rtt;
    struct support support;
    uint64_t copy_credit; /* bytes sent that no copy has used up */
    uint32_t limit;       /* of exports, when it adjusts itself */
    tick heard;           /* the latest segment of it; TICK_NEVER: none came */
    tick asked; /* the first segment since then that wants an answer; TICK_NEVER: none was sent */
    uint64_t heard_bytes;  /* of all its segments */
    uint64_t export_bytes; /* of the blocks of open exports */
    tick limit_short;      /* when the limit was last found too low, or lowered */
    /* auth.c: what each segment to it has besides */
    uint32_t tail_len; /* authentication trailer */
    uint8_t ext_count, ext_len, ext[EXT_MAX];
    struct unproven unproven; /* not of an unconfigured peer */
};

/* A peer that no span names. Its source may be forged, so that answers go to somebody else. */
struct unconfigured {
    struct peer peer;
    struct list ready; /* of unconfigured_peers.ready, when something was queued for it */
    uint32_t place;
    uint8_t source_len, source[LTP_SOURCE_MAX];
    bool verified;   /* who is there has answered a report, whose serial number it has to know */
    uint64_t credit; /* until then: bytes that may still be sent to it */
    tick quiet_since;
};

/* All of them, and their share of what all peers have. */
struct unconfigured_peers {
    struct unconfigured model; /* what holds for each, and for one that is yet to come */
    struct unconfigured **at;  /* by place; NULL: nobody is ever accepted */
    struct list ready;         /* of struct unconfigured peer.ready */
    struct list closed;        /* of struct closed.fifo */
    struct unproven unproven;
    size_t imports, cancels, closed_len;
    struct share shares[POOL_COUNT];
    tick full_until; /* no place comes free before */
};

struct session {
    struct hash_node node;
    struct ltp_session_id id;
    bool is_export;
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
    struct list fifo; /* of ltp->closed_fifo or that of unconfigured peers, oldest first; alone
                         until it closes */
    struct ltp_session_id id;
    bool is_export;
    struct peer *peer;
    tick since;
    struct cancel *cancel; /* not yet acknowledged */
    uint8_t reason;        /* of an import that was cancelled here: */
    bool unheard; /* the peer never acknowledged it and may still hold what was claimed; the record
                     is in ltp->unheard then, and its age does not end it */
    struct serials asked, told; /* of an import: its checkpoints and reports */
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
    struct export_session *session;
    struct timer timer;
    uint8_t type;
    uint64_t serial, rpt_serial;
    uint64_t offset, length;
    uint32_t sent;  /* in all */
    uint32_t tries; /* 1 + firings of the timer */
    uint32_t copies_left;
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
    struct export_session *session;
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
        uint64_t cp, lower, upper; /* the checkpoint that it answers, and its scope */
    } when[LIFE_WHEN];
    bool split;     /* it answers a checkpoint with several reports */
    uint32_t noted; /* reports in all */
};

struct export_session {
    struct session s;
    struct list
        fresh; /* of peer->fresh or held, until all was sent once; then of ltp->spent, if closed */
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
    struct list
        unproven;        /* of its peer's, or unconfigured peers', lists; alone once it is proven */
    tick unproven_since; /* arrival when it got its place there */
    uint32_t opening;    /* bytes of the segment that opened it */
    uint8_t unproven_list;
};

/* Itself, its record, its notices in a ring that has doubled, its places in tables and heap. */
_Static_assert(sizeof(struct import) + sizeof(struct closed) + 6 * sizeof(struct ltp_notice) + 64 <=
                   IMPORT_COST,
               "IMPORT_COST");

/* The red data segment that was taken in last: the next one of its session mostly has the same
 * first bytes, up to the client service, and follows it in the block. */
#define TRAIN_MAX 32
struct train {
    struct import *import; /* its session; NULL: there is none */
    uint8_t len;           /* bytes of `first` */
    uint8_t first[TRAIN_MAX];
};

struct ltp {
    struct ltp_config config;
    struct ltp_counters counters;
    struct rng rng;
    uint64_t number; /* of the last session that we opened */
    struct hash peers, sessions, closed;
    struct list closed_fifo;
    struct list unheard; /* struct closed.fifo: their peers may not know that they are over */
    size_t unheard_len;
    struct unconfigured_peers unconfigured;
    struct list touched;     /* peers that the user has not looked at since: ltp_touched */
    size_t named;            /* peers that are no unconfigured peers */
    struct peer *last_named; /* one of them */
    struct list gone; /* those whose span was removed and whose sessions are remembered, the latest
                         last: leave.c */
    size_t gone_len;
    size_t authenticated;   /* peers with authentication or cookie */
    size_t sourced;         /* peers whose segments must come from their source */
    struct slice source;    /* of the datagram that is being looked at */
    uint64_t refused_peer;  /* ltp_refused_peer */
    struct peer *last_peer; /* caches before the tables */
    struct import *last_import;
    struct train train;
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

#include "ltp/calls.h"

#endif
