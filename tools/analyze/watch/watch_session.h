/* SPDX-License-Identifier: Apache-2.0 */
/* One LTP session as a bystander at one of its ends sees it: what its segments say of its state. */
#ifndef TOOLS_WATCH_SESSION_H
#define TOOLS_WATCH_SESSION_H

#include "base/hash.h"
#include "base/list.h"
#include "base/ranges.h"
#include "tools/analyze/input/seglog_row.h"

#define WATCH_ROWS_MAX 4 /* that one segment can make */
#define WATCH_RANGES_MAX 4096
#define WATCH_SERIALS_MAX 4096 /* checkpoints and reports of a session that are distinguished */

struct watch_rows {
    struct seglog_row at[WATCH_ROWS_MAX];
    size_t len, next;
};

/* A captured segment: its row as far as the segment alone determines it, and its claims. */
struct watch_segment {
    struct list order;
    uint32_t flow;
    struct event event;
    size_t claims;
    struct range claim[];
};

/* Checkpoints that were sent, or reports. */
struct watch_serial {
    uint64_t serial, of; /* `of` a report: the checkpoint it answers */
    uint64_t count;
    tick last;
    tick asked; /* a report: when its checkpoint was repeated; 0: not since it was last sent */
    bool done;  /* a report: acknowledged; a checkpoint: answered */
    struct range *claim; /* a report's, until it is acknowledged */
    size_t claims;
};

struct watch_session {
    struct hash_node node;
    struct list closed_order; /* in the list of closed ones */
    uint32_t pair;
    uint64_t originator, number;
    bool sender; /* seen at the sender's end */
    bool closed, red, green, orange;
    tick closed_at;
    uint64_t red_len, length;     /* EVENT_NONE: not yet known */
    struct ranges data, claims;   /* seen; reported */
    struct watch_serial *serials; /* checkpoints at the sender, reports at the receiver */
    uint32_t serials_len, serials_cap;
    struct ranges acked; /* at the receiver: claims of reports that the sender has heard */
    struct ranges heard; /* serials: of reports at the sender, of checkpoints at the receiver */
};

struct watch_session *watch_session_new(uint32_t pair, const struct event *e, bool sender);
void watch_session_free(struct watch_session *s);

/* Does this segment begin a session? */
bool watch_begins(const struct watch_session *known, const struct watch_segment *g, bool sender);

/* The rows of a segment: node and peer are in `row`, whose event is the segment's. `rto` as in
 * struct watch_options. 0 or HELIO_ENOMEM. */
int watch_session_input(struct watch_session *s, const struct watch_segment *g, tick rto,
                        const struct seglog_row *row, struct watch_rows *out);

/* A row like `row` of another kind. */
struct seglog_row *watch_row_add(struct watch_rows *out, const struct seglog_row *row,
                                 enum event_kind kind);

#endif
