/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the LTP engine. An engine has peers, one per configured span. A peer has queues of
 * what its sessions must send. Sessions are in one table. A closed session leaves a `closed`
 * record. All timers are in one heap.
 *
 * Memory: everything that must not fail later is reserved when a session opens (places of timers in
 * the heap, notices, the closed record, the checkpoint). So ltp_output, ltp_expire and closing a
 * session allocate nothing.
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
#define IMPORT_COST 1280    /* memory of an import session before its first byte, see below */
#define RANGE_BYTES 1024    /* bytes of data that permit one more range, whatever ranges_max is */
#define REPORT_COST 32      /* of a report in addition: its timer's place in the heap, rounding */
#define NOTED_MIN (1 << 20) /* bytes: minimum limit for the state of receivers' reports */
#define ASKED_MIN 65536     /* bytes that a receiver may request again, for any block length */
/* minimum timeout when only the receiver's timers can continue a session */
#define STALL_MIN (10 * TICK_S)
#define ACKS_MAX 4096 /* acknowledgements queued per peer; the peer repeats if one is dropped */
#define UNCONFIGURED_ACKS_MAX 64 /* the same of an unconfigured peer */
#define UNCONFIGURED_MAX 65536
#define PIECES_MAX 4096   /* pieces of green parts that wait for ltp_poll; further ones are lost */
#define REPORTS_MAX 4096  /* reports made in one import session */
#define SERIAL_FIRST 8192 /* first serial numbers are random in 1..this: 14 bits for long */
#define SERIAL_UNVERIFIED                                                                          \
    (1 << 30)           /* the same for reports whose acknowledgement proves an address */
#define CREDIT_FACTOR 3 /* limit of bytes sent to an unproven address per byte received, with */
#define HEADERS_MIN 28  /* headers of UDP and IPv4 for received segments, */
#define HEADERS_MAX 48  /* headers of UDP and IPv6 for sent segments: never too few are counted */
#define INCARNATIONS_MAX                                                                           \
    3 /* of one receiver in one export session; the least recent one is dropped */
/* Reports of one incarnation have serial numbers at most so far apart (lost ones included), … */
#define LIFE_NEAR 24
#define LIFE_NEAR_MORE 104 /* … and four more for each further checkpoint, up to this */
#define LIFE_WHEN 8
#define EARLY_MAX 16    /* early checkpoints per block, approximately: receivers limit reports */
#define COPY_SMALL 64   /* data bytes of a copy that costs nothing on an idle line */
#define PROBE_BYTES 64  /* of a block, to probe a silent peer */
#define COPY_HEADERS 64 /* headers of a copy and of the layers below, approximately */
#define COPY_COST 100   /* bytes to be sent for each byte of other copies */
#define COPY_CREDIT_MAX (1 << 22)
#define PREFIX_MAX 32 /* constant start of a data segment's header, without extensions */
#define EXT_MAX 56    /* header extensions: authentication, cookie */
#define ORANGE_EXT 5  /* extension of orange blocks, in addition */

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
    tick left; /* remaining time while the link is down */
};

/* The time from a checkpoint to its report, or from a report to its acknowledgement. */
struct rtt {
    tick smooth, deviation, latest; /* 0, 0, 0: not measured yet */
    tick least;                     /* the shortest time of an answer to a single transmission */
    tick backed_off;                /* minimum of timers until such an answer arrives; 0: none */
};

/* A running measurement: the serial number whose answer is expected; 0 = none. */
struct probe {
    uint64_t serial;
    tick first, last; /* when it was sent for the first and the latest time */
    bool repeated;    /* its timer expired */
};

struct ack {
    uint8_t type; /* LTP_RA, LTP_CAS, LTP_CAR */
    uint8_t cause;
    struct ltp_session_id id;
    uint64_t serial;
};

/* A resource of all peers together, and the share of a peer or of all unconfigured peers:
 * share.c. */
enum pool_kind { POOL_BYTES, POOL_SESSIONS, POOL_CANCELS, POOL_COUNT };

struct pool {
    uint64_t max, used;
    uint64_t reserved; /* the larger of used and promised, summed over all shares */
};

struct share {
    uint64_t used, promised;
    uint64_t max; /* only for unconfigured peers */
    uint64_t cap; /* bytes: limit set by the user, ltp_hold */
};

/* Import sessions whose sender is not proven to receive our segments, by received data: discard.c.
 * The first lists have claimed nothing: those with little data by worth, then those with much data.
 * The last lists have sent reports. */
enum {
    UNPROVEN_MUCH = 7,
    UNPROVEN_CLAIMED_LITTLE, /* and the red part is incomplete */
    UNPROVEN_CLAIMED,
    UNPROVEN_LISTS
};
struct unproven {
    /* of struct import.unproven, longest silence first, approximately */
    struct list list[UNPROVEN_LISTS];
    size_t claimed_little; /* sessions in that list */
};

struct peer {
    struct hash_node node;
    struct list touched;               /* of ltp->touched; not of an unconfigured peer */
    struct ltp_span_counters n;        /* without current numbers */
    uint64_t resent_bytes;             /* retransmitted data, for any reason */
    struct unconfigured *unconfigured; /* NULL: it has a span, or had one */
    struct list gone;                  /* in ltp->gone, after its span was removed */
    size_t remembered;                 /* its closed sessions: struct closed in the table */
    struct ltp_span span;
    bool up;    /* we transmit to it */
    bool hears; /* it transmits to us */
    uint8_t source_len, source[LTP_SOURCE_MAX];
    uint8_t source_match; /* number of these bytes that must match; 0: none */
    struct list timers;
    /* Queues for output, in this order: */
    struct list cancels; /* struct cancel */
    struct ack *acks;    /* a ring */
    uint32_t ack_head, ack_len, ack_cap;
    struct list reports;     /* struct report */
    struct list checkpoints; /* struct checkpoint, to be repeated */
    struct list resends;     /* struct resend */
    struct list fresh;       /* struct export_session */
    struct list held;        /* the same, until a segment of the peer arrives (peer.c) */
    bool silent;
    uint32_t exports, imports;
    uint64_t hint[2];                /* size of the last block received, green and red */
    uint64_t guessed;                /* sum of struct part.guessed */
    struct share shares[POOL_COUNT]; /* not of an unconfigured peer */
    tick up_since;
    /* total time in which it did not transmit, without the present one */
    tick down_since, down_total;
    uint64_t begun; /* the lowest session number of the peer whose start was received; NONE: none */
    struct rtt checkpoint_rtt, report_rtt;
    struct support support;
    uint64_t copy_credit; /* sent bytes that copies have not used up */
    uint32_t limit;       /* of export sessions, with sessions_auto */
    tick heard;           /* arrival of its latest segment; TICK_NEVER: none */
    tick asked; /* first segment sent since then that requires an answer; TICK_NEVER: none */
    uint64_t heard_bytes;  /* of all its segments */
    uint64_t export_bytes; /* of the blocks of open export sessions */
    tick limit_short;      /* when the limit was last too low, or lowered */
    /* auth.c: additions to each segment to the peer */
    uint32_t tail_len; /* authentication trailer */
    uint8_t ext_count, ext_len, ext[EXT_MAX];
    struct unproven unproven; /* not of an unconfigured peer */
};

/* A peer without a span. Its source may be forged; then answers would reach a third party. */
struct unconfigured {
    struct peer peer;
    struct list ready; /* in unconfigured_peers.ready, if a segment was queued for it */
    uint32_t place;
    uint8_t source_len, source[LTP_SOURCE_MAX];
    /* the peer at the source has acknowledged a report, whose serial number is secret */
    bool verified;
    uint64_t credit; /* until then: bytes that may still be sent to it */
    tick quiet_since;
};

/* All unconfigured peers, and their share of the engine's resources. */
struct unconfigured_peers {
    struct unconfigured model; /* parameters of each, and of a future one */
    struct unconfigured **at;  /* by place; NULL: unconfigured peers are not accepted */
    struct list ready;         /* of struct unconfigured peer.ready */
    struct list closed;        /* of struct closed.fifo */
    struct unproven unproven;
    size_t imports, cancels, closed_len;
    struct share shares[POOL_COUNT];
    tick full_until; /* no place becomes free before */
};

struct session {
    struct hash_node node;
    struct ltp_session_id id;
    bool is_export;
    uint8_t promised; /* notices that it may still put; their memory is reserved */
    struct peer *peer;
    uint64_t client_service;
    tick opened;
    struct closed *memory; /* becomes its `closed` record */
};

/* Serial numbers of checkpoints in one session. They begin at random (RFC 5326 §3.2.1), so a peer
 * that uses the session number again has others. */
struct serials {
    uint64_t low, high; /* 0, 0: none */
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

/* A closed session: late segments must be answered, and must not open it again (RFC 5326 §8). */
struct closed {
    struct hash_node node;
    /* In ltp->closed_fifo or that of unconfigured peers, oldest first; in no list until the session
     * closes. */
    struct list fifo;
    struct ltp_session_id id;
    bool is_export;
    struct peer *peer;
    tick since;
    struct cancel *cancel; /* not acknowledged yet */
    uint8_t reason;        /* of an import session that this engine cancelled */
    /* The peer never acknowledged the cancel, and may still rely on our claims. The record is in
     * ltp->unheard, and is kept whatever its age. */
    bool unheard;
    struct serials asked, told; /* of an import session: its checkpoints and its reports */
};

struct cancel {
    struct list queue; /* in peer->cancels, while queued for output */
    struct closed *session;
    struct timer timer;
    uint8_t type;
    uint8_t reason;
    uint8_t cause;
    uint8_t orange; /* enum event_orange: the cancel is an answer */
    uint32_t sent;
};

/* A checkpoint that is not yet answered. */
struct checkpoint {
    struct list in_export;
    struct list queue; /* in peer->checkpoints, while queued to be repeated */
    struct export_session *session;
    struct timer timer;
    uint8_t type;
    uint64_t serial, rpt_serial;
    uint64_t offset, length;
    uint32_t sent;  /* transmissions in all */
    uint32_t tries; /* 1 + expiries of the timer */
    uint32_t copies_left;
    enum event_reason cause; /* of the next transmission */
    bool early;              /* in addition to the mandatory ones */
    uint32_t copied;         /* transmitted copies */
    bool asks;               /* it repeats an answered checkpoint instead of the next one: */
    struct signature next;
    /* With merge_claims: the retransmitted bytes that it closes. */
    struct ranges resent;
    size_t noted; /* its part of ltp->noted, if a report caused it */
};

/* Retransmission of the gaps of one report. */
struct resend {
    struct list in_export;
    struct list queue; /* of peer->resends */
    struct export_session *session;
    struct timer timer; /* of resend_wait, before it is queued */
    tick due;
    /* of the report; of several reports, the one with the lowest lower bound */
    uint64_t lower, rpt_serial;
    struct ranges gaps;
    size_t gap;  /* index of the gap in transmission */
    uint64_t at; /* next byte in it */
    bool asks;   /* the answered checkpoint closes it, instead of a new one */
    struct checkpoint *checkpoint;
    size_t noted; /* its part of ltp->noted */
};

/* The claims for a block in one run of the receiver; see incarnation.c. */
struct incarnation {
    struct ranges claimed; /* within the red part */
    struct ranges heard;   /* serial numbers of processed reports; not empty */
    uint64_t last;         /* the highest of them, */
    uint32_t digest;       /* and a digest of its content */
    uint64_t latest_cp;    /* the latest checkpoint that any of them answers */
    /* For the latest reports, the last checkpoint sent before each arrived: a report on a later
     * checkpoint was made after it. A ring. */
    struct heard_when {
        uint64_t serial, cp_last;
        uint64_t cp, lower, upper; /* the answered checkpoint, and the report's scope */
    } when[LIFE_WHEN];
    bool split;     /* it answers a checkpoint with several reports */
    uint32_t noted; /* processed reports */
};

struct export_session {
    struct session s;
    /* In peer->fresh or held, until all was sent once; then in ltp->spent, if closed. */
    struct list fresh;
    struct buf *data;
    uint64_t red_len, length, tag;
    uint64_t next;            /* first byte that was not sent yet */
    struct checkpoint *eorp;  /* not yet sent: the end of the red part */
    struct checkpoint *early; /* for early checkpoints; NULL: none */
    uint32_t early_segments;  /* segments sent since the latest checkpoint */
    uint32_t early_apart;     /* segments between two early checkpoints, at least */
    tick early_since;         /* time of the latest checkpoint, or of the session's first segment */
    struct probe probe;
    uint64_t cp_first, cp_last; /* used serial numbers */
    struct list checkpoints;    /* struct checkpoint: sent, not answered */
    struct list resends;        /* struct resend */
    size_t noted;               /* part of ltp->noted of the incarnations below */
    uint64_t asked_again;       /* bytes that reports have requested again, so far */
    uint32_t cycles;            /* checkpoints whose reports showed gaps */
    uint64_t cycle_serial;      /* the latest of these; 0: none, or one without a serial number */
    bool cycles_over;           /* there were too many */
    struct incarnation
        incarnation[INCARNATIONS_MAX]; /* runs of the receiver; the present one is the first */
    uint32_t incarnations;
    uint32_t ranges_max;       /* of their claims: the span's value when the session opened */
    struct timer stall;        /* runs while only the receiver can continue the session */
    struct signature answered; /* the latest answered checkpoint */
    struct answer answers[ANSWERS_KEPT]; /* of the present incarnation */
    uint32_t answer_next;                /* index of the next one */
    uint64_t asked_by; /* serial number of the checkpoint after the repeated one (asks); 0: none */
    bool early_sent;   /* an early checkpoint was sent */
    tick progress;     /* time of the latest new checkpoint or new report */
    bool orange;
    uint32_t prefix_len; /* control byte, session id, extensions, client service: */
    uint8_t prefix[PREFIX_MAX + EXT_MAX + ORANGE_EXT];
};

struct report {
    struct list in_import;
    struct list queue; /* in peer->reports, while queued for output */
    struct import *import;
    struct timer timer; /* first of the delay, then of the retransmission */
    uint64_t serial, cp_serial;
    uint64_t lower, upper;
    uint8_t cause;
    uint32_t sent, fired, copies_left;
    uint32_t again; /* answers to copies of its checkpoint since its timer expired */
    tick first_sent, last_sent;
    size_t count;          /* of claims */
    size_t room;           /* capacity for claims */
    struct range claims[]; /* absolute */
};

/* Data of a report that is needed after its acknowledgement; its serial number is first + index. */
struct reported {
    uint64_t cp_serial, lower;
};

/* A contiguous part of the block in memory. */
struct part {
    struct buf *buf;    /* NULL before the first byte and after delivery */
    uint64_t base;      /* the block offset of its first byte */
    uint64_t received;  /* stored bytes; duplicates count again */
    struct list pieces; /* data too far ahead for the buffer: part.c */
    uint64_t high;      /* end of the highest piece, from base; 0: there are none */
    uint64_t guessed;   /* bytes of the buffer that were allocated by a guess */
};

/* The fields of a checkpoint that determine its report. */
struct asking {
    uint64_t cp_serial, rpt_serial;
    uint64_t upper;
    bool whole; /* the user has accepted the red part: all of it is claimed */
    tick since; /* its arrival */
};

struct import {
    struct session s;
    struct part red, green;
    struct ranges got;        /* bytes received */
    struct ranges acked;      /* bytes whose claims the sender has acknowledged */
    uint32_t ranges_max;      /* of `got`: the span's value when the session opened */
    uint64_t red_len, length; /* EVENT_NONE while unknown */
    uint64_t red_high;        /* end of the highest red byte, 0 if none */
    uint64_t green_low;       /* offset of the lowest green byte, EVENT_NONE if none */
    bool delivered;           /* the red part was given to the user */
    bool accepted;            /* … and has accepted it, or need not */
    bool green_done;          /* the green part was given to the user, or dropped */
    bool asks;                /* a green segment requested an answer (orange) */
    tick arrival;             /* of the latest segment, by ltp_uptime */
    struct serials asked_by;  /* received checkpoints */
    struct timer idle;
    struct list reports;      /* struct report: not acknowledged */
    struct list deferred;     /* struct deferred: checkpoints whose report is not made yet */
    uint32_t deferrals;       /* their number */
    struct reported *history; /* of all reports made */
    size_t reported, history_cap;
    uint64_t rpt_first;     /* first serial number */
    uint64_t primary_upper; /* §6.11: lower bound of the next primary report */
    uint64_t asked; /* serial number of the checkpoint that waits for ltp_accept; 0 = none */
    tick asked_at;
    /* In a list of its peer, or of unconfigured peers; in none after the sender is proven. */
    struct list unproven;
    tick unproven_since; /* arrival when it was inserted there */
    uint32_t opening;    /* bytes of its first segment */
    uint8_t unproven_list;
};

/* The session, its record, its notices in a ring that has doubled, its places in tables and
 * heap. */
_Static_assert(sizeof(struct import) + sizeof(struct closed) + 6 * sizeof(struct ltp_notice) + 64 <=
                   IMPORT_COST,
               "IMPORT_COST");

/* The latest stored red segment: the next segment of its session mostly has the same first bytes,
 * up to the client service, and follows it in the block. */
#define TRAIN_MAX 32
struct train {
    struct import *import; /* its session; NULL: none */
    uint8_t len;           /* bytes of `first` */
    uint8_t first[TRAIN_MAX];
};

struct ltp {
    struct ltp_config config;
    struct ltp_counters counters;
    struct rng rng;
    uint64_t number; /* of the latest session of this engine */
    struct hash peers, sessions, closed;
    struct list closed_fifo;
    /* struct closed.fifo: cancelled sessions that the peer never acknowledged */
    struct list unheard;
    size_t unheard_len;
    struct unconfigured_peers unconfigured;
    struct list touched;     /* changed peers for ltp_touched */
    size_t named;            /* configured peers */
    struct peer *last_named; /* one of them */
    /* Peers whose span was removed and whose sessions are remembered, the latest last: leave.c. */
    struct list gone;
    size_t gone_len;
    size_t authenticated;   /* peers with authentication or cookie */
    size_t sourced;         /* peers whose segments must come from their source */
    struct slice source;    /* of the datagram in process */
    uint64_t refused_peer;  /* ltp_refused_peer */
    struct peer *last_peer; /* caches before the tables */
    struct import *last_import;
    struct train train;
    struct heap heap;
    size_t timers;              /* initialised timers; the heap has a place for each */
    struct ltp_notice *notices; /* a ring */
    size_t notice_head, notice_len, notice_cap, promised;
    uint64_t *services;
    size_t service_count;
    struct pool pools[POOL_COUNT]; /* bytes: memory of import sessions and their notices */
    uint64_t noted; /* memory of receivers' reports about export sessions; see export.c */
    size_t imports, exports, cancels;
    /* Export sessions closed by ltp_output; the user may still transmit their bytes. */
    struct list spent;
};

#include "ltp/calls.h"

#endif
