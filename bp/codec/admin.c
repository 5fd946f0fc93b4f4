/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundle status reports (RFC 9171 §6.1.1 with erratum 8525: the source of the subject may be of any
 * scheme): [1, [[four items], reason, source, timestamp, (offset, length)]]. What can go wrong: an
 * array of another size, bytes behind the end.
 */
#include "bp/codec/admin.h"

#include <assert.h>

#include "bp/codec/check.h"

enum { RECORD_STATUS_REPORT = 1 };

const char *status_reason_text(uint64_t reason)
{
    static const char *const texts[] = {
        [REASON_NONE] = "no additional information",
        [REASON_LIFETIME_EXPIRED] = "lifetime expired",
        [REASON_UNIDIRECTIONAL] = "forwarded over unidirectional link",
        [REASON_TRANSMISSION_CANCELLED] = "transmission canceled",
        [REASON_DEPLETED_STORAGE] = "depleted storage",
        [REASON_DESTINATION_UNAVAILABLE] = "destination endpoint ID unavailable",
        [REASON_NO_ROUTE] = "no known route to destination from here",
        [REASON_NO_CONTACT] = "no timely contact with next node on route",
        [REASON_BLOCK_UNINTELLIGIBLE] = "block unintelligible",
        [REASON_HOP_LIMIT] = "hop limit exceeded",
        [REASON_TRAFFIC_PARED] = "traffic pared",
        [REASON_BLOCK_UNSUPPORTED] = "block unsupported",
    };
    return reason < sizeof texts / sizeof texts[0] ? texts[reason] : "unassigned";
}

static void write_items(struct writer *w, const struct status_report *r)
{
    item_put_array(w, STATUS_ITEMS);
    for (size_t i = 0; i < STATUS_ITEMS; i++) {
        bool timed = r->asserted[i] && r->timed[i];
        item_put_array(w, timed ? 2 : 1);
        item_put_bool(w, r->asserted[i]);
        if (timed)
            item_put_uint(w, r->time_ms[i]);
    }
}

int status_report_encode(const struct status_report *r, uint8_t *out, size_t cap)
{
    struct writer w = writer_of(out, cap);
    item_put_array(&w, 2);
    item_put_uint(&w, RECORD_STATUS_REPORT);
    item_put_array(&w, r->subject.fragment ? 6 : 4);
    write_items(&w, r);
    item_put_uint(&w, r->reason);
    eid_write(&w, &r->subject.source);
    item_put_array(&w, 2);
    item_put_uint(&w, r->subject.time_ms);
    item_put_uint(&w, r->subject.sequence);
    if (r->subject.fragment) {
        item_put_uint(&w, r->subject.offset);
        item_put_uint(&w, r->subject_bytes);
    }
    assert(w.bad || writer_len(&w) <= cap);
    return w.bad ? HELIO_ESPACE : (int)writer_len(&w);
}

static void read_items(struct item_reader *in, struct status_report *r)
{
    size_t at = item_at(in);
    if (item_array(in) != STATUS_ITEMS)
        item_fail(in, "a status report has four status items", at);
    for (size_t i = 0; i < STATUS_ITEMS && !in->in.bad; i++) {
        at = item_at(in);
        uint64_t n = item_array(in);
        r->asserted[i] = item_bool(in);
        r->timed[i] = n == 2;
        if (n != 1 && (n != 2 || !r->asserted[i]))
            item_fail(in, "a status item is [false], [true] or [true, time]", at);
        if (n == 2)
            r->time_ms[i] = item_uint(in);
    }
}

int status_report_decode(const uint8_t *data, size_t len, struct status_report *out)
{
    struct item_reader in = item_reader_of(data, slice_of(data, len));
    struct check c = {.mode = BUNDLE_LENIENT};
    struct status_report r = {.reason = 0};
    if (item_array(&in) != 2)
        item_fail(&in, "an administrative record is an array of type and content", 0);
    uint64_t type = item_uint(&in);
    if (!in.in.bad && type != RECORD_STATUS_REPORT)
        return HELIO_ENOENT;
    uint64_t n = item_array(&in);
    if (n != 4 && n != 6)
        item_fail(&in, "a status report has 4 elements, 6 for a fragment", 0);
    read_items(&in, &r);
    r.reason = item_uint(&in);
    r.subject.source = eid_read(&in, &c);
    if (item_array(&in) != 2)
        item_fail(&in, "a creation timestamp is an array of time and sequence number", 0);
    r.subject.time_ms = item_uint(&in);
    r.subject.sequence = item_uint(&in);
    r.subject.fragment = n == 6;
    if (r.subject.fragment) {
        r.subject.offset = item_uint(&in);
        r.subject_bytes = item_uint(&in);
    }
    if (in.in.bad || c.bad || reader_left(&in.in) > 0)
        return HELIO_EFORMAT;
    *out = r;
    return 0;
}
