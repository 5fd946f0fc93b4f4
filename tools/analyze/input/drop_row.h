/* SPDX-License-Identifier: Apache-2.0 */
/* One row of the drop log of helio-emu (docs/drop-log.md), read back. */
#ifndef TOOLS_DROP_ROW_H
#define TOOLS_DROP_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "ltp/event.h"
#include "tools/analyze/input/csv_columns.h"

enum drop_reason {
    DROP_TRACE,
    DROP_RANDOM,
    DROP_BURST,
    DROP_OUTAGE,
    DROP_RULE,
    DROP_QUEUE,
    DROP_MEMORY,
    DROP_CODEL,
    DROP_SEND,
    DROP_END,          /* the run ended while the frame was in the channel, or before it arrived */
    DROP_NO_PEER,      /* nowhere to go */
    DROP_SUPER_PACKET, /* several frames joined, not cut */
    DROP_CHECKSUM,     /* it was left to a device */
    DROP_HANDOVER,     /* in transit or arriving when the link was handed over */
    DROP_CORRUPT,      /* delivered, damaged: the receiver has no use for it */
    DROP_DUPLICATE,
    DROP_MARK,
    DROP_LATE, /* these three were delivered */
    DROP_REASONS
};

/* Absent numbers are EVENT_NONE; type -1 when the frame is no LTP segment. */
struct drop_event {
    tick now;
    bool forward;
    uint64_t frame;
    enum drop_reason reason;
    uint64_t length, late_ns;
    uint64_t originator, session;
    int type;
    uint64_t offset, data_length, cp_serial, rpt_serial;
};

/* Did the frame not arrive? */
static inline bool drop_is_loss(const struct drop_event *d)
{
    return d->reason < DROP_DUPLICATE;
}

extern const char drop_row_header[]; /* with its newline */
const char *drop_reason_word(enum drop_reason reason);

/* The columns that this version writes: those of a log without a line of column names. */
struct csv_columns drop_columns_all(void);

/* Is the line (without its newline) one of column names, in any order? */
bool drop_row_is_header(const char *line, size_t len);

/* Reads the line of column names; each column becomes an enum drop_column. A log of an older
 * version may lack numbers, which are then absent in each row. Columns that this version does not
 * know are skipped. Returns NULL, or what is wrong (static text); *out is then not to be used. */
const char *drop_columns_parse(const char *line, size_t len, struct csv_columns *out);

/* Reads a line without its newline. Returns NULL, or what is wrong with it (static text); *out is
 * then not to be used. */
const char *drop_row_parse(const struct csv_columns *columns, const char *line, size_t len,
                           struct drop_event *out);

#endif
