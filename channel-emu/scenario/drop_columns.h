/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one table of the drop log's columns. Its header line, its writer (drop_log.c), its reader
 * (tools/analyze/input/drop_row.c) and the test of its page (docs/drop-log.md) read the table.
 *
 * A new number takes a field in struct drop_row and in struct drop_event, one line at the end of
 * this table, and the page.
 */
#ifndef CHANNEL_EMU_DROP_COLUMNS_H
#define CHANNEL_EMU_DROP_COLUMNS_H

/*
 * X(name, kind, value, field, meaning): the column's name, its kind, the writer's value, the
 * reader's field of struct drop_event, and its meaning as on the page. `row` is the argument of
 * drop_log_line, `ltp` the segment's fields: all are EVENT_NONE if the frame holds none.
 *
 * Kinds: TIME (nanoseconds), DIRECTION (forward or return), REASON (a word), NUMBER (EVENT_NONE:
 * empty), TYPE (a number up to 15), NAME (a word that follows from `type`; readers skip it).
 */
#define DROP_COLUMNS(X)                                                                            \
    X(t_ns, TIME, row->time, now,                                                                  \
      "time at which the frame entered the line, nanoseconds since 1970 (CLOCK_REALTIME at the "   \
      "start, advanced by CLOCK_MONOTONIC: as in the [segment log](segment-log.md)); in "          \
      "`helio-sim` virtual time from 0")                                                           \
    DROP_COLUMNS_AFTER_TIME(X)
#define DROP_COLUMNS_AFTER_TIME(X)                                                                 \
    X(direction, DIRECTION, row->direction, forward, "`forward`, `return`")                        \
    X(frame, NUMBER, row->frame, frame,                                                            \
      "its number among the frames that entered in its direction, from 1; 0: it did not enter")    \
    X(reason, REASON, row->reason, reason, "see below")                                            \
    X(length, NUMBER, row->length, length,                                                         \
      "bytes of the frame: UDP payload (relay), Ethernet frame without check sequence (bridge)")   \
    X(late_ns, NUMBER, row->late_ns, late_ns,                                                      \
      "of `late`: how long after it was due it was released")                                      \
    X(originator, NUMBER, ltp->originator, originator,                                             \
      "of an LTP segment in UDP: the session's engine, as in the segment log")                     \
    X(session, NUMBER, ltp->session, session, "of an LTP segment in UDP: the session's number")    \
    X(type, TYPE, (uint64_t)ltp->type, type, "segment type 0 … 15")                                \
    X(name, NAME, ltp->type < 0 ? "" : event_type_name(ltp->type), type,                           \
      "name of the segment type")                                                                  \
    X(offset, NUMBER, ltp->offset, offset, "of data segments: where in the block")                 \
    X(data_length, NUMBER, ltp->data_length, data_length, "of data segments: how many bytes")      \
    X(cp_serial, NUMBER, ltp->cp_serial, cp_serial,                                                \
      "checkpoint serial number: of checkpoints, and of reports that answer one")                  \
    X(rpt_serial, NUMBER, ltp->rpt_serial, rpt_serial,                                             \
      "report serial number: of reports, their acknowledgements, and checkpoints that answer one")

enum drop_column_kind {
    DROP_COLUMN_TIME,
    DROP_COLUMN_DIRECTION,
    DROP_COLUMN_REASON,
    DROP_COLUMN_NUMBER,
    DROP_COLUMN_TYPE,
    DROP_COLUMN_NAME,
};

#define DROP_COMMA_NAME(name, kind, value, field, meaning) "," #name
#define DROP_LOG_HEADER "t_ns" DROP_COLUMNS_AFTER_TIME(DROP_COMMA_NAME) "\n"

#define DROP_COLUMN_PLACE(name, kind, value, field, meaning) DROP_PLACE_##name,
enum drop_column { DROP_COLUMNS(DROP_COLUMN_PLACE) DROP_COLUMN_COUNT };
#undef DROP_COLUMN_PLACE

#endif
