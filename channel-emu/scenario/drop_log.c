/* SPDX-License-Identifier: Apache-2.0 */
/* Written digit by digit: a bad second of a fast link has 100,000 lines. Every field has a longest
 * form, and DROP_LOG_LINE_MAX holds them all; what can go wrong is the writer's. */
#include "channel-emu/scenario/drop_log.h"

#include <assert.h>
#include <string.h>

#include "base/csv.h"

const char drop_log_header[] = "t_ns,direction,frame,reason,length,late_ns,originator,session,type,"
                               "name,offset,data_length,cp_serial,rpt_serial\n";

int drop_log_open(struct log_writer **out, const char *path, bool wait)
{
    return log_writer_open(out, path, LOG_LINES | (wait ? LOG_WAIT : 0u),
                           slice_of(drop_log_header, strlen(drop_log_header)));
}

/* A comma, and a number or nothing. */
static char *put_field(char *p, uint64_t v)
{
    return csv_known(p, v, v != EVENT_NONE);
}

static char *put_ltp(char *p, const struct ltp_fields *f)
{
    p = put_field(p, f->originator);
    p = put_field(p, f->session);
    p = put_field(p, (uint64_t)f->type);
    p = csv_word(p, event_type_name(f->type));
    p = put_field(p, f->offset);
    p = put_field(p, f->data_length);
    p = put_field(p, f->cp_serial);
    return put_field(p, f->rpt_serial);
}

size_t drop_log_line(const struct drop_row *row, char out[DROP_LOG_LINE_MAX])
{
    char *p = csv_number(out, row->time);
    p = csv_word(p, row->direction == 0 ? "forward" : "return");
    p = put_field(p, row->frame);
    p = csv_word(p, row->reason);
    p = put_field(p, row->length);
    p = put_field(p, row->late_ns);
    p = row->ltp != NULL ? put_ltp(p, row->ltp) : csv_word(p, ",,,,,,,");
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
