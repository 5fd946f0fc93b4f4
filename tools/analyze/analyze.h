/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From rows of segment logs and drop logs to sessions, and from sessions to figures. Memory holds
 * the open sessions and one summary per flow. A session is emitted and freed when the available
 * logs have no more rows of it. Pure: rows are pushed, sessions are pulled.
 *
 * A session is described by its sender's log, its receiver's log, or both. Only both logs together,
 * or a drop log, show which segments were lost. With the sender's log alone, losses are inferred
 * from timers and reports, and the results say so.
 */
#ifndef TOOLS_ANALYZE_H
#define TOOLS_ANALYZE_H

#include "base/hash.h"
#include "base/list.h"
#include "base/ranges.h"
#include "sim/rounds.h"
#include "tools/analyze/analyze_code.h"
#include "tools/analyze/analyze_series.h"
#include "tools/analyze/input/drop_row.h"
#include "tools/analyze/input/seglog_row.h"
#include "tools/hist.h"

#define ANALYZE_GAPS_MAX 64
#define ANALYZE_GAP (10 * TICK_S)
#define ANALYZE_FLOWS_MAX 64 /* further ones are added up in the last */
#define ANALYZE_PATHS_MAX 64
#define ANALYZE_SERIALS_MAX 4096  /* checkpoints of a session that are followed one by one */
#define ANALYZE_SENDINGS_MAX 4096 /* transmissions of a checkpoint, likewise */
#define ANALYZE_RANGES_MAX 4096   /* of a session's data at the receiver; then all counts as new */
#define ANALYZE_LINGER (100 * TICK_MS)

/* How lost checkpoints are known: by the drop log, unless the receiver's log contradicts it. */
enum analyze_basis { BASIS_NONE, BASIS_RTO, BASIS_RECEIVER, BASIS_DROPS };

/* One transmission of a checkpoint, and what the logs say of it. */
struct analyze_sending {
    tick at;
    bool copy;     /* of the one before, whose timer had not run out */
    bool received; /* seen at the receiver */
    bool dropped;  /* in the drop log */
};

/* One checkpoint (by its serial number) of a session. */
struct analyze_cp {
    uint64_t serial;
    tick first, last;                /* transmissions at the sender */
    tick begin;                      /* time of the report that it answers; TICK_NEVER: none */
    struct analyze_sending *sending; /* the first ANALYZE_SENDINGS_MAX */
    uint32_t len, cap;
    uint32_t sent, received;
    uint32_t early; /* arrivals before the sender's row: the clocks differ */
    uint32_t timeouts;
    bool answered;
};

/* What one direction between two engines has shown, for all colours. */
struct analyze_path {
    uint64_t originator, peer;
    tick delay;           /* least time from a segment's row at the sender to the receiver's */
    struct hist rto;      /* time from a checkpoint to its repetition */
    struct hist response; /* from a checkpoint whose timer did not run out to its report */
    struct hist cycle;    /* from a report with gaps to the report of what was sent for it */
    struct series series;
    struct analyze_code code;
    tick far; /* most time from a first segment to the receiver's open; TICK_NEVER: none seen */
};

/* One session, from the logs. Times are t_ns of the log, TICK_NEVER when unknown. */
struct analyze_session {
    struct hash_node node;
    struct list order; /* in `closing` or `over` */
    struct analyze_path *path;
    uint64_t originator, number, peer;
    bool sender_log, receiver_log;
    bool sender_closed, receiver_closed;
    bool red, green, orange; /* orange: green, and it asks for an answer */
    bool drops_known;        /* a drop log is among the inputs */
    bool guessed;            /* some of it: at which end it was captured */
    uint64_t client_service, block_bytes;
    uint64_t red_bytes;                     /* EVENT_NONE until its end was seen */
    tick opened, first_tx, last_tx, closed; /* at the sender; last_tx: sent for the first time */
    tick last_sent;                         /* of all data segments, repetitions too */
    tick receiver_opened, receiver_end, first_rx, delivered;
    int outcome; /* enum event_outcome; -1 while open */
    uint64_t cancel_reason;
    uint64_t segments_sent, segments_resent, segments_received; /* data segments */
    uint64_t duplicates, out_of_order;                          /* of those received */
    uint64_t rx_high;                /* end of the data since the receiver's last report */
    struct ranges arrived;           /* accepted data of a block that is not delivered yet */
    uint64_t bytes_sent;             /* whole data segments */
    uint64_t data_sent, data_resent; /* their data; the part that was not the first time */
    uint64_t reports_received;       /* at the sender */
    struct rounds rounds;            /* its retransmission cycles */
    uint64_t cp_sent, cp_received;
    uint64_t rto_checkpoint, rto_report;
    tick rto_time;       /* waited for checkpoint timers */
    uint64_t cp_dropped; /* in the drop log */
    uint64_t dropped;    /* data segments in the drop log */
    uint64_t gap_report; /* the last report with gaps; EVENT_NONE: none */
    tick gap_time;
    bool gaps; /* a report showed some */
    struct analyze_cp *cp;
    uint32_t cp_len, cp_cap;
    /* made of the above when the session is given out */
    enum analyze_basis basis;
    uint64_t cp_lost, cp_run; /* checkpoints; the most of one that were lost one after another */
    uint64_t cp_waits;        /* timeouts that lost checkpoints cost: all copies were lost */
    bool lossy;
};

/* Derived from it; TICK_NEVER when unknown. */
tick analyze_duration(const struct analyze_session *s);
tick analyze_radiation(const struct analyze_session *s); /* first to last first transmission */
tick analyze_delivery(const struct analyze_session *s);

/* Sums of the sessions of one sender, one receiver and one colour. */
struct analyze_flow {
    const struct analyze_path *path;
    uint64_t originator, peer;
    char colour;                                    /* 'r', 'g', 'o', 'm'; 'u': not known */
    uint64_t sessions, cancelled, lost, unfinished; /* lost: orange ones */
    uint64_t with_sender, with_receiver;            /* sessions of which that end's log is there */
    uint64_t bases[4]; /* of completed sessions, by enum analyze_basis */
    uint64_t cycles, cp_sent, cp_lost, rto_checkpoint, rto_report, lossy;
    uint64_t cp_sent_done; /* of completed sessions, as cp_lost */
    uint64_t cp_waits;
    uint64_t cp_elsewhere; /* lost, but not by what wrote the drop log */
    uint64_t cp_run;       /* the longest of any session */
    uint64_t segments_sent, segments_resent, segments_received, duplicates, out_of_order, dropped;
    uint64_t bytes_sent, data_sent, data_resent;
    uint64_t done_bytes; /* blocks that were completed */
    tick rto_time;
    tick first_tx, last_close; /* of this run */
    tick past, past_gaps;      /* of those before it: from first to last, and the gaps in it */
    struct hist duration, delivery, radiation;
    struct hist clean; /* duration of the sessions without losses */
};

/* Takes each session as it is finished. The session is gone after the call. */
typedef void analyze_taker(void *context, const struct analyze_session *s);

/* A time without any row, longer than ANALYZE_GAP: most often between two runs in one log. */
struct analyze_gap {
    tick from, to;
};

/* Losses of sessions without an `open` row so far. They are kept: one clock can be ahead of
 * another by a millisecond, so a block's first segment can be logged as lost before it is logged
 * as sent. */
#define ANALYZE_EARLY 16

struct analyze {
    struct hash sessions;
    struct list closing; /* closed at the sender, not at the receiver: earliest first */
    struct list over; /* closed at all ends, but their last rows may still follow: earliest first */
    struct analyze_session *recent[2];
    uint64_t nodes[64]; /* of which there is a log */
    size_t nodes_len;
    bool drops;        /* there is a drop log */
    tick bin;          /* of the time series; 0: none */
    tick bins_from;    /* where bin 0 begins: the first run's first row; TICK_NEVER: none yet */
    uint64_t bins_max; /* not 0: the bin grows so that no more of them are between first and last */
    struct analyze_flow *flows[ANALYZE_FLOWS_MAX];
    size_t flows_len;
    struct analyze_path *paths[ANALYZE_PATHS_MAX];
    size_t paths_len;
    uint64_t rows, strange; /* rows of sessions whose opening is not in the logs */
    uint64_t bad;           /* datagrams that are no segments */
    uint64_t drop_rows, drop_strange;
    struct drop_event early[ANALYZE_EARLY]; /* losses whose session has not begun, oldest first */
    size_t early_len;
    uint64_t reopened;        /* a session number was used again before its session had ended */
    uint64_t open_max;        /* most sessions open at once */
    tick first_row, last_row; /* TICK_NEVER: none yet */
    tick rows_end;            /* the last row of all runs; 0: none yet */
    struct analyze_gap gaps[ANALYZE_GAPS_MAX]; /* the first ones */
    size_t gaps_len;
    size_t run_gaps; /* of them, those of earlier runs */
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

/* The next row of a drop log, in order of time with the others. */
int analyze_drop(struct analyze *a, const struct drop_event *d);

/* The logs start again: the next rows are of another run, whose times may repeat. Open sessions are
 * emitted as unfinished. 0 or HELIO_ENOMEM. */
int analyze_next_run(struct analyze *a);

/* The logs are at their end: sessions still open are given out as unfinished. 0 or HELIO_ENOMEM. */
int analyze_end(struct analyze *a);

/* The flow of a session; NULL when there is none yet. */
struct analyze_flow *analyze_flow_find(const struct analyze *a, const struct analyze_session *s);

/* Of the time from the flow's first segment to its last close, in all runs, what the gaps took. */
tick analyze_gap_time(const struct analyze *a, const struct analyze_flow *f);

/* Payload of completed blocks over the time from the first segment to the last close of each run
 * less `without`, bit/s; NAN when that time is not known or 0. */
double analyze_goodput(const struct analyze_flow *f, tick without);

#endif
