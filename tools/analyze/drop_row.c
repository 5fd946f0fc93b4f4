/* SPDX-License-Identifier: Apache-2.0 */
/* The columns in their order. What can go wrong: a row that is cut, a word or a number that cannot
 * be; each is told. */
#include "tools/analyze/drop_row.h"

#include <assert.h>

#include "tools/analyze/csv_fields.h"

const char drop_row_header[] = "t_ns,direction,frame,reason,length,late_ns,originator,session,type,"
                               "name,offset,data_length,cp_serial,rpt_serial\n";

static const char *const reasons[DROP_REASONS] = {
    "trace",    "random",   "burst",   "outage",    "rule",    "queue",
    "memory",   "codel",    "send",    "end",       "no_peer", "super_packet",
    "checksum", "handover", "corrupt", "duplicate", "mark",    "late"};

const char *drop_reason_word(enum drop_reason reason)
{
    assert(reason < DROP_REASONS);
    return reasons[reason];
}

static void read_way(struct fields *f, struct drop_event *d)
{
    static const char *const ways[] = {"return", "forward"};
    int way = word_find(fields_word(f, false), ways, 2);
    if (way < 0)
        fields_fail(f, "an unknown word in `direction`");
    d->forward = way == 1;
}

static void read_reason(struct fields *f, struct drop_event *d)
{
    int reason = word_find(fields_word(f, false), reasons, DROP_REASONS);
    if (reason < 0)
        fields_fail(f, "an unknown word in `reason`");
    d->reason = reason < 0 ? DROP_LATE : (enum drop_reason)reason;
}

static void read_segment(struct fields *f, struct drop_event *d)
{
    d->originator = fields_number(f, false);
    d->session = fields_number(f, false);
    uint64_t type = fields_number(f, false);
    (void)fields_word(f, false); /* the name follows from the number */
    d->offset = fields_number(f, false);
    d->data_length = fields_number(f, false);
    d->cp_serial = fields_number(f, false);
    d->rpt_serial = fields_number(f, true);
    if (type != EVENT_NONE && type > 15)
        fields_fail(f, "a segment type above 15");
    d->type = type == EVENT_NONE ? -1 : (int)type;
}

const char *drop_row_parse(const char *line, size_t len, struct drop_event *out)
{
    struct fields f = {.p = line, .end = line + len};
    out->now = fields_number(&f, false);
    read_way(&f, out);
    out->frame = fields_number(&f, false);
    read_reason(&f, out);
    out->length = fields_number(&f, false);
    out->late_ns = fields_number(&f, false);
    read_segment(&f, out);
    if (f.bad == NULL && (out->now == EVENT_NONE || out->frame == EVENT_NONE))
        fields_fail(&f, "no time or no frame");
    if (f.bad == NULL && out->type >= 0 &&
        (out->originator == EVENT_NONE || out->session == EVENT_NONE))
        fields_fail(&f, "no session");
    assert(f.bad != NULL || (out->reason < DROP_REASONS && out->type <= 15));
    return f.bad;
}

bool drop_row_is_header(const char *line, size_t len)
{
    return len == sizeof drop_row_header - 2 && memcmp(line, drop_row_header, len) == 0;
}
