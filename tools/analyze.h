/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the rows of segment logs to sessions, and from sessions to figures. Memory holds the open
 * sessions and one summary per flow; a session is given out and forgotten when the logs at hand
 * have said all they can say of it. Pure: rows go in, sessions come out.
 *
 * A session is told by its sender's log, by its receiver's, or by both. Only both together know
 * which segments were lost; with the sender's alone, losses are inferred from timers and reports,
 * and the results say so.
 */
#ifndef TOOLS_ANALYZE_H
#define TOOLS_ANALYZE_H

#include "base/hash.h"
#include "base/list.h"
#include "tools/hist.h"
#include "tools/seglog_row.h"

#define ANALYZE_GAPS_MAX 64
#define ANALYZE_GAP (10 * TICK_S)
#define ANALYZE_FLOWS_MAX 64 /* further ones are added up in the last */

/* One session, as the logs tell it. Times are t_ns of the log, TICK_NEVER when unknown. */
struct analyze_session {
    struct hash_node node;
    struct list order; /* in `closing` or `over` */
    uint64_t originator, number, peer;
    bool sender_log, receiver_log;
    bool sender_closed, receiver_closed;
    bool red, green, orange; /* orange: green, and it asks for an answer */
    uint64_t client_service, block_bytes;
    tick opened, first_tx, closed; /* at the sender */
    tick receiver_opened, receiver_end, delivered;
    int outcome; /* enum event_outcome; -1 while open */
    uint64_t cancel_reason;
    uint64_t segments_sent, segments_received; /* data segments */
    uint64_t bytes_sent;                       /* whole data segments */
    uint64_t data_sent, data_resent; /* their data; the part that was not the first time */
    uint64_t reports_received;       /* at the sender */
    uint64_t cycles;                 /* checkpoints whose report had data sent again */
    uint64_t cp_sent, cp_received;
    uint64_t rto_checkpoint, rto_report;
    uint64_t gap_checkpoint, counted_checkpoint; /* EVENT_NONE: none */
    bool gaps;                                   /* a report showed some */
};

/* Derived from it. */
bool analyze_losses_known(const struct analyze_session *s);
uint64_t analyze_cp_lost(const struct analyze_session *s);
bool analyze_lossy(const struct analyze_session *s);
tick analyze_duration(const struct analyze_session *s); /* TICK_NEVER when unknown */

/* Sums of the sessions of one sender, one receiver and one colour. */
struct analyze_flow {
    uint64_t originator, peer;
    char colour;                                    /* 'r', 'g', 'o', 'm' */
    uint64_t sessions, cancelled, lost, unfinished; /* lost: orange ones */
    uint64_t with_sender, with_receiver;            /* sessions of which that end's log is there */
    uint64_t losses_known; /* sessions of which losses are known, not inferred */
    uint64_t cycles, cp_sent, cp_lost, rto_checkpoint, rto_report, lossy;
    uint64_t segments_sent, data_sent, data_resent;
    uint64_t done_bytes; /* blocks that were completed */
    tick first_tx, last_close;
    struct hist duration, delivery;
};

/* Takes each session as it is finished. The session is gone after the call. */
typedef void analyze_taker(void *context, const struct analyze_session *s);

/* A time without any row, longer than ANALYZE_GAP: most often between two runs in one log. */
struct analyze_gap {
    tick from, to;
};

struct analyze {
    struct hash sessions;
    struct list closing; /* closed at the sender, not at the receiver: earliest first */
    struct list over;    /* closed at all ends, at time `over_at`, whose rows may not be complete */
    tick over_at;
    struct analyze_session *recent[2];
    uint64_t nodes[64]; /* of which there is a log */
    size_t nodes_len;
    struct analyze_flow *flows[ANALYZE_FLOWS_MAX];
    size_t flows_len;
    uint64_t rows, strange; /* rows of sessions whose opening is not in the logs */
    uint64_t open_max;      /* most sessions open at once */
    tick last_row;          /* TICK_NEVER: none yet */
    struct analyze_gap gaps[ANALYZE_GAPS_MAX]; /* the first ones */
    size_t gaps_len;
    analyze_taker *take;
    void *context;
};

/* Returns 0 or HELIO_ENOMEM. take may be NULL. */
int analyze_init(struct analyze *a, analyze_taker *take, void *context);
void analyze_fini(struct analyze *a);

/* There is a log of this node among the inputs. */
void analyze_node(struct analyze *a, uint64_t node);

/* The next row in order of time. Returns 0 or HELIO_ENOMEM. */
int analyze_row(struct analyze *a, const struct seglog_row *r);

/* The logs are at their end: sessions still open are given out as unfinished. 0 or HELIO_ENOMEM. */
int analyze_end(struct analyze *a);

/* Of the time from the flow's first segment to its last close, what the gaps took. */
tick analyze_gap_time(const struct analyze *a, const struct analyze_flow *f);

/* Payload of completed blocks over the time from the first segment to the last close less
 * `without`, bit/s; NAN when that time is not known or 0. */
double analyze_goodput(const struct analyze_flow *f, tick without);

#endif
