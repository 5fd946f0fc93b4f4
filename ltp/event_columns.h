/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one table of the segment log's columns. Its header line, its writer (event.c), its reader
 * (tools/analyze/input/seglog_row.c) and the test of its page (docs/segment-log.md) read the table.
 *
 * A new number takes a field in struct event, one line at the end of this table, and the page.
 */
#ifndef LTP_EVENT_COLUMNS_H
#define LTP_EVENT_COLUMNS_H

#include "ltp/event.h"

/*
 * X(name, kind, field, meaning): the column's name, its kind, its field in struct event, and its
 * meaning as on the page.
 *
 * A NUMBER is empty for EVENT_NONE. The other kinds are:
 *   TIME       nanoseconds
 *   DIRECTION  one of event_direction_words
 *   NODE       the writer's engine number, which is no field of the event
 *   PEER, ID   numbers of which UINT64_MAX is one: has_peer, has_id
 *   TYPE       empty for -1
 *   NAME       follows from the type and from `orange`
 *   COLOUR     follows from the type and from `orange`
 *   CAUSE      one of event_cause_words of this direction
 */
#define EVENT_COLUMNS(X)                                                                           \
    X(t_ns, TIME, now,                                                                             \
      "when, nanoseconds since 1970 (CLOCK_REALTIME at the node's start, counted on by "           \
      "CLOCK_MONOTONIC: it never jumps)")                                                          \
    EVENT_COLUMNS_AFTER_TIME(X)
#define EVENT_COLUMNS_AFTER_TIME(X)                                                                \
    X(dir, DIRECTION, kind,                                                                        \
      "`rx`: a segment was received. `tx`: a segment was given to the link. `open`, `close`: a "   \
      "session began, ended. `timer`: a timer ran out. `link`: the link's state changed. "         \
      "`matrix`: a matrix of the [erasure code](erasure.md) was sent, or ended")                   \
    X(node, NODE, now, "LTP engine number of the node that writes the log")                        \
    X(peer, PEER, peer, "LTP engine number of the other end")                                      \
    X(originator, ID, originator, "of the session or matrix: LTP engine number of its sender")     \
    X(session, ID, session, "of the session: its number at its sender")                            \
    X(type, TYPE, type, "segment type, 0 … 15 (RFC 5326 §3.1.1)")                                  \
    X(name, NAME, type, "name of the segment type, see below")                                     \
    X(colour, COLOUR, red,                                                                         \
      "of data segments: `red`, `green` or `orange`. Answers to orange blocks are `orange`, too")  \
    X(client_service, NUMBER, client_service, "client service number; 1: bundles")                 \
    X(offset, NUMBER, offset, "of data segments: first byte in the block")                         \
    X(length, NUMBER, length,                                                                      \
      "of data segments: number of bytes. `open`, `close`: bytes of the block, as far as known")   \
    X(cp_serial, NUMBER, cp_serial,                                                                \
      "checkpoint serial number: of checkpoints, and of reports that answer one")                  \
    X(rpt_serial, NUMBER, rpt_serial,                                                              \
      "report serial number: of reports and their acknowledgements; of checkpoints that answer a " \
      "report (0: none)")                                                                          \
    X(rs_lower, NUMBER, rs_lower, "of reports: lower bound of the scope, bytes in the block")      \
    X(rs_upper, NUMBER, rs_upper, "of reports: upper bound of the scope; this byte is not in it")  \
    X(claims, NUMBER, claims, "of reports: number of reception claims")                            \
    X(claimed_bytes, NUMBER, claimed_bytes, "of reports: bytes of all claims")                     \
    X(cancel_reason, NUMBER, cancel_reason,                                                        \
      "of cancel segments, and of `close` when cancelled: RFC 5326 §3.2.4")                        \
    X(attempt, NUMBER, attempt,                                                                    \
      "of checkpoints, reports and cancels, sent or timed out: 1 = the first time")                \
    X(cause, CAUSE, cause, "why, see below")                                                       \
    X(udp_len, NUMBER, udp_len,                                                                    \
      "bytes of the segment, which are those of the datagram's payload; with an erasure code "     \
      "without its header")                                                                        \
    X(matrix, NUMBER, matrix, "of `matrix`, as the other columns from here on: its number")        \
    X(segments, NUMBER, segments, "its segments; of a failed one, as far as the receiver knows")   \
    X(repairs, NUMBER, repairs, "repair segments: transmitted, or received")                       \
    X(repaired, NUMBER, repaired, "of the receiver: lost segments that were repaired")             \
    X(missing, NUMBER, missing, "of the receiver: lost segments that were not repaired")           \
    X(delay_ns, NUMBER, delay,                                                                     \
      "of the receiver: the longest decoding delay of a repaired segment, nanoseconds, from when " \
      "it should have arrived (estimated)")

enum event_column_kind {
    COLUMN_TIME,
    COLUMN_DIRECTION,
    COLUMN_NODE,
    COLUMN_PEER,
    COLUMN_ID,
    COLUMN_TYPE,
    COLUMN_NAME,
    COLUMN_COLOUR,
    COLUMN_CAUSE,
    COLUMN_NUMBER,
};

#define EVENT_COLUMN_ENUM(name, kind, field, meaning) EVENT_COLUMN_##name,
enum event_column { EVENT_COLUMNS(EVENT_COLUMN_ENUM) EVENT_COLUMN_COUNT };
#undef EVENT_COLUMN_ENUM

/* Words of one column, by number; static. */
struct event_words {
    const char *const *words;
    int count;
};

/* The words of the column `dir`, by enum event_kind. */
struct event_words event_direction_words(void);

/* The words of the column `cause` in lines of this kind: by enum verdict (RX), event_reason (TX),
 * event_outcome (CLOSE), event_timer (TIMER), event_link (LINK) or event_matrix (MATRIX). OPEN has
 * one, which is empty. */
struct event_words event_cause_words(enum event_kind kind);

#endif
