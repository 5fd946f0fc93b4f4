/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one table of the bundle log's columns. Its header line, its writer (event.c), its reader
 * (tools/analyze/input/bundle_row.c) and the test of its page (docs/bundle-log.md) read the table.
 *
 * A new column takes a field in struct bundle_event, one line at the end of this table, and the
 * page.
 */
#ifndef BP_EVENT_COLUMNS_H
#define BP_EVENT_COLUMNS_H

#include "bp/agent/event.h"

/*
 * X(name, kind, value, known, meaning): the column's name, its kind, the writer's value, whether
 * there is one (else the column is empty), and its meaning as on the page. `e`, `node`, `link` and
 * `epoch` are the arguments of bundle_event_csv.
 *
 * Kinds: TIME (nanoseconds), EVENT (bundle_event_word), ORIGIN (bundle_origin_word), NUMBER, EID,
 * NODE (a text), LINK (a text of at most BUNDLE_LINK_MAX bytes), REASON (a text as one word).
 */
#define BUNDLE_COLUMNS(X)                                                                          \
    X(t_ns, TIME, e->now + epoch, true,                                                            \
      "time, nanoseconds since 1970 (CLOCK_REALTIME at the node's start, advanced by "             \
      "CLOCK_MONOTONIC: it never jumps)")                                                          \
    BUNDLE_COLUMNS_AFTER_TIME(X)
#define BUNDLE_COLUMNS_AFTER_TIME(X)                                                               \
    X(event, EVENT, e->kind, true, "what happened, see below")                                     \
    X(node, NODE, node, true, "the node that writes the log")                                      \
    X(key, NUMBER, e->key, e->key != 0,                                                            \
      "the bundle's number at this node, unique in its store. Empty: it has none")                 \
    X(source, EID, &e->id->source, e->id != NULL,                                                  \
      "source node of its id (RFC 9171 §4.2.7). Empty when the id could not be read")              \
    X(created_ms, NUMBER, e->id->time_ms, e->id != NULL,                                           \
      "creation time of its id, ms of DTN time. 0: its source had no clock")                       \
    X(sequence, NUMBER, e->id->sequence, e->id != NULL, "sequence number of its id")               \
    X(fragment_offset, NUMBER, e->id->offset, e->id != NULL && e->id->fragment,                    \
      "of fragments: first byte in the payload of the whole bundle")                               \
    X(adu_length, NUMBER, e->id->total, e->id != NULL && e->id->fragment,                          \
      "of fragments: payload bytes of the whole bundle")                                           \
    X(destination, EID, e->destination, e->destination != NULL, "its destination")                 \
    X(bytes, NUMBER, e->bytes, e->bytes != 0,                                                      \
      "bytes when encoded. Empty: never encoded here (refused at once, or made of fragments)")     \
    X(payload, NUMBER, e->payload, e->id != NULL, "bytes of its payload")                          \
    X(lifetime_ms, NUMBER, e->lifetime_ms, e->id != NULL, "its lifetime as its source wrote it")   \
    X(from, ORIGIN, e->from, true,                                                                 \
      "`application`, `link`, or `node`: made by the node itself (status reports)")                \
    X(link, LINK, link, link != NULL,                                                              \
      "`accepted`, `refused`: the link that received it. Else the link that has it, or has it in " \
      "its queue. Empty: none, as for endpoints of this node")                                     \
    X(peer, EID, e->peer, e->peer != NULL && !eid_is_none(e->peer),                                \
      "the node at the other end of that link, as far as known")                                   \
    X(registration, NUMBER, e->registration,                                                       \
      e->kind == BUNDLE_HANDED || e->kind == BUNDLE_DELIVERED || e->kind == BUNDLE_DECLINED,       \
      "of `handed`, `delivered`, `declined`: number of the application's connection")              \
    X(originator, NUMBER, e->originator, e->has_session,                                           \
      "of `carried`: the session's originator in the segment log")                                 \
    X(session, NUMBER, e->session, e->has_session,                                                 \
      "of `carried`: the session's number in the segment log")                                     \
    X(reason, REASON, e->reason, true, "one word, see below")

enum bundle_column_kind {
    BUNDLE_COLUMN_TIME,
    BUNDLE_COLUMN_EVENT,
    BUNDLE_COLUMN_ORIGIN,
    BUNDLE_COLUMN_NUMBER,
    BUNDLE_COLUMN_EID,
    BUNDLE_COLUMN_NODE,
    BUNDLE_COLUMN_LINK,
    BUNDLE_COLUMN_REASON,
};

#define BUNDLE_COLUMN_PLACE(name, kind, value, known, meaning) BUNDLE_PLACE_##name,
enum bundle_column { BUNDLE_COLUMNS(BUNDLE_COLUMN_PLACE) BUNDLE_COLUMN_COUNT };
#undef BUNDLE_COLUMN_PLACE

#endif
