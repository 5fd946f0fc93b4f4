/* SPDX-License-Identifier: Apache-2.0 */
/* One row of the drop log of helio-emu (docs/helio-emu.md), read back. */
#ifndef TOOLS_DROP_ROW_H
#define TOOLS_DROP_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "ltp/event.h"

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
    DROP_END,          /* the run ended while it was inside, or before it came */
    DROP_NO_PEER,      /* nowhere to go */
    DROP_SUPER_PACKET, /* several frames joined, not cut */
    DROP_CHECKSUM,     /* it was left to a device */
    DROP_HANDOVER,     /* on its way, or came, when the link moved */
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

/* Reads a line without its newline. Returns NULL, or what is wrong with it (static text). */
const char *drop_row_parse(const char *line, size_t len, struct drop_event *out);

extern const char drop_row_header[]; /* with its newline */
const char *drop_reason_word(enum drop_reason reason);

/* Is it the line with the names of the columns? */
bool drop_row_is_header(const char *line, size_t len);

#endif
