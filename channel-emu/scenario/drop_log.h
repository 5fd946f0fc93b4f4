/* SPDX-License-Identifier: Apache-2.0 */
/* The drop log: one CSV line for each thing that the channel did to a frame. Columns and reasons:
 * docs/drop-log.md. */
#ifndef CHANNEL_EMU_DROP_LOG_H
#define CHANNEL_EMU_DROP_LOG_H

#include "channel-emu/scenario/ltp_rules.h"
#include "os/log/log_writer.h"

extern const char drop_log_header[];
#define DROP_LOG_LINE_MAX 320u

struct drop_row {
    tick time;      /* when the frame entered the line: since 1970, or virtual time */
    int direction;  /* 0 forward, 1 return */
    uint64_t frame; /* its number in its direction, from 1 */
    const char *reason;
    uint64_t length;
    uint64_t late_ns;             /* EVENT_NONE: not late */
    const struct ltp_fields *ltp; /* NULL: it holds no LTP segment */
};

/* A writer whose file begins with the header; `wait`: LOG_WAIT. 0 or HELIO_E*. */
int drop_log_open(struct log_writer **out, const char *path, bool wait);

void drop_log_put(struct log_writer *w, const struct drop_row *row);

/* The line with its newline; returns its length. */
size_t drop_log_line(const struct drop_row *row, char out[DROP_LOG_LINE_MAX]);

#endif
