/* SPDX-License-Identifier: Apache-2.0 */
/* Written digit by digit: a bad second of a fast link has 100,000 lines. Every field has a longest
 * form, and DROP_LOG_LINE_MAX holds them all; what can go wrong is the writer's. */
#include "channel-emu/scenario/drop_log.h"

#include <assert.h>
#include <string.h>

#include "base/csv.h"
#include "channel-emu/scenario/drop_columns.h"

const char drop_log_header[] = DROP_LOG_HEADER;

int drop_log_open(struct log_writer **out, const char *path, bool wait)
{
    return log_writer_open(out, path, LOG_LINES | (wait ? LOG_WAIT : 0u),
                           slice_of(drop_log_header, strlen(drop_log_header)));
}

/* How a value of each kind is written at p. */
#define PUT_TIME(value) csv_number(p, value)
#define PUT_NUMBER(value) put_number(p, value)
#define PUT_TYPE(value) put_number(p, value)
#define PUT_DIRECTION(value) csv_word(p, (value) == 0 ? "forward" : "return")
#define PUT_REASON(value) csv_word(p, value)
#define PUT_NAME(value) csv_word(p, value)

static char *put_number(char *p, uint64_t v)
{
    return csv_known(p, v, v != EVENT_NONE);
}

size_t drop_log_line(const struct drop_row *row, char out[DROP_LOG_LINE_MAX])
{
    static const struct ltp_fields none = {.type = -1,
                                           .originator = EVENT_NONE,
                                           .session = EVENT_NONE,
                                           .offset = EVENT_NONE,
                                           .data_length = EVENT_NONE,
                                           .cp_serial = EVENT_NONE,
                                           .rpt_serial = EVENT_NONE};
    const struct ltp_fields *ltp = row->ltp != NULL ? row->ltp : &none;
    char *p = out;
#define PUT(name, kind, value, field, meaning) p = PUT_##kind(value);
    DROP_COLUMNS(PUT)
#undef PUT
    *p++ = '\n';
    assert(p - out <= (ptrdiff_t)DROP_LOG_LINE_MAX);
    return (size_t)(p - out);
}

void drop_log_put(struct log_writer *w, const struct drop_row *row)
{
    char *p = log_writer_room(w, DROP_LOG_LINE_MAX);
    if (p != NULL)
        log_writer_put(w, drop_log_line(row, p));
}
