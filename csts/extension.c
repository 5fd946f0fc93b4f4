/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extensions of procedures. Each has one walk for both ways. What a type has behind its members is
 * its own extension, which the books leave to derived procedures: it is read and not looked at,
 * but for the cyclic report, where Monitored Data puts its option.
 */
#include "csts/extension.h"

#include <assert.h>

#include "csts/pdu_private.h"

/* The end of each SEQUENCE: not used when written; when read, anything. */
static void code_rest(struct ber *b)
{
    struct csts_extended none = {0};
    code_extended(b, &none);
}

static void code_report(struct ber *b, struct csts_report *r)
{
    struct ber_mark mark = ber_open(b, BER_SEQUENCE);
    code_elements(b, BER_SEQUENCE, &r->parameters, check_parameter);
    code_extended(b, &r->extension);
    ber_close(b, mark);
}

size_t csts_report_write(const struct csts_report *r, uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    struct csts_report copy = *r;
    code_report(&b, &copy);
    return written_of(&b);
}

bool csts_report_read(struct slice in, struct csts_report *out)
{
    struct ber b = ber_reader(in);
    memset(out, 0, sizeof *out);
    code_report(&b, out);
    return ber_done(&b);
}

static void code_cyclic_start(struct ber *b, struct csts_cyclic_start *s)
{
    struct ber_mark mark = ber_open(b, BER_SEQUENCE);
    code_unsigned(b, BER_INTEGER, &s->cycle, 1);
    code_list(b, &s->list);
    code_extended(b, &s->extension);
    ber_close(b, mark);
}

size_t csts_cyclic_start_write(const struct csts_cyclic_start *s, uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    struct csts_cyclic_start copy = *s;
    code_cyclic_start(&b, &copy);
    return written_of(&b);
}

bool csts_cyclic_start_read(struct slice in, struct csts_cyclic_start *out)
{
    struct ber b = ber_reader(in);
    memset(out, 0, sizeof *out);
    code_cyclic_start(&b, out);
    return ber_done(&b);
}

static void code_on_change(struct ber *b, bool *on_change)
{
    uint8_t octet = *on_change ? 0xff : 0;
    struct slice s = slice_of(&octet, 1);
    struct ber_mark mark = ber_open(b, BER_SEQUENCE);
    ber_octets(b, BER_BOOLEAN, &s, 1, 1);
    if (!b->bad)
        *on_change = s.data[0] != 0;
    code_rest(b);
    ber_close(b, mark);
}

size_t csts_on_change_write(bool on_change, uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    code_on_change(&b, &on_change);
    return written_of(&b);
}

bool csts_on_change_read(struct slice in, bool *on_change)
{
    struct ber b = ber_reader(in);
    *on_change = false;
    code_on_change(&b, on_change);
    return ber_done(&b);
}

static void code_notification_start(struct ber *b, struct csts_list *l)
{
    struct ber_mark mark = ber_open(b, BER_SEQUENCE);
    code_list(b, l);
    code_rest(b);
    ber_close(b, mark);
}

size_t csts_notification_start_write(const struct csts_list *l, uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    struct csts_list copy = *l;
    code_notification_start(&b, &copy);
    return written_of(&b);
}

bool csts_notification_start_read(struct slice in, struct csts_list *out)
{
    struct ber b = ber_reader(in);
    memset(out, 0, sizeof *out);
    code_notification_start(&b, out);
    return ber_done(&b);
}

/* ---- BIND's diagnostic ---- */

const char *csts_bind_text(unsigned diagnostic)
{
    SLE_TEXT_OF(CSTS_BIND_DIAGS, diagnostic, "unknown reason");
}

size_t csts_bind_diag_write(enum csts_bind_diag d, struct slice text, uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    code_string(&b, 0x80u + (unsigned)d, &text, 0, SIZE_MAX);
    return written_of(&b);
}

bool csts_bind_diag_read(struct slice in, unsigned *d, struct slice *text)
{
    struct ber b = ber_reader(in);
    const uint32_t tag = ber_choice(&b, 0);
    *text = slice_of(NULL, 0);
    if (tag < 0x81 || tag > 0x88)
        return false;
    *d = tag - 0x80;
    code_string(&b, tag, text, 0, SIZE_MAX);
    return ber_done(&b);
}

/* ---- refused lists ---- */

static void code_unknown(struct ber *b, struct csts_name *n, bool *is_label)
{
    *is_label = ber_choice(b, *is_label ? 0x80 : 0xa1) == 0x80;
    if (*is_label)
        code_oid(b, 0x80, &n->id);
    else
        code_name(b, 0xa1, n);
}

static void check_unknown(struct ber *b)
{
    struct csts_name n = {0};
    bool is_label = false;
    code_unknown(b, &n, &is_label);
}

size_t csts_unknown_write(const struct csts_name *n, bool is_label, uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    struct csts_name copy = *n;
    code_unknown(&b, &copy, &is_label);
    return written_of(&b);
}

bool csts_unknown_next(struct slice *rest, struct csts_name *out, bool *is_label)
{
    struct ber b = ber_reader(*rest);
    memset(out, 0, sizeof *out);
    *is_label = false;
    code_unknown(&b, out, is_label);
    if (!b.bad)
        *rest = slice_of(b.r.p, reader_left(&b.r));
    return !b.bad;
}

static void code_list_diag(struct ber *b, struct csts_list_diag *d)
{
    static const uint32_t tags[] = {0xa0, 0x81, 0xa2, 0x83, 0x84, 0x85, 0xa6};
    const uint32_t tag = ber_choice(b, tags[b->writing ? d->kind : 0]);
    unsigned kind = 0;
    while (kind < sizeof tags / sizeof *tags && tags[kind] != tag)
        kind++;
    d->kind = (enum csts_list_diag_kind)kind;
    switch (kind) {
    case CSTS_UNKNOWN_RESOURCE:
        code_resource(b, tag, &d->oid, &d->instance);
        break;
    case CSTS_UNKNOWN_RESOURCE_TYPE:
    case CSTS_UNKNOWN_PROCEDURE_TYPE:
        code_oid(b, tag, &d->oid);
        break;
    case CSTS_UNKNOWN_IDENTIFIER:
        code_elements(b, tag, &d->items, check_unknown);
        break;
    case CSTS_UNKNOWN_LIST:
    case CSTS_UNDEFINED_DEFAULT:
        code_string(b, tag, &d->text, 0, SIZE_MAX);
        break;
    case CSTS_UNKNOWN_PROCEDURE:
        code_procedure(b, tag, &d->procedure);
        break;
    default:
        ber_fail(b);
    }
}

/* GetDiagnosticExt, and the START diagnostics of cyclic report and notification: `common`, or a
 * cycle out of range. */
static void code_common(struct ber *b, struct csts_refusal *r)
{
    const bool range = ber_choice(b, r->kind == CSTS_REFUSED_RANGE ? 0x81 : 0xa0) == 0x81;
    r->kind = range ? CSTS_REFUSED_RANGE : CSTS_REFUSED_LIST;
    if (range) {
        code_string(b, 0x81, &r->text, 0, SIZE_MAX);
        return;
    }
    struct ber_mark mark = ber_open(b, 0xa0);
    code_list_diag(b, &r->list);
    ber_close(b, mark);
}

/* BuffDataDelStartDiagnosticExt. */
static void code_times(struct ber *b, struct csts_refusal *r)
{
    const uint32_t tag = ber_choice(b, 0x81 + (uint32_t)r->kind - CSTS_REFUSED_MISSING_TIME);
    if (tag < 0x81 || tag > 0x84) {
        ber_fail(b);
        return;
    }
    r->kind = (enum csts_refusal_kind)(tag - 0x81 + CSTS_REFUSED_MISSING_TIME);
    code_string(b, tag, &r->text, 0, SIZE_MAX);
}

static size_t write_common(const struct csts_refusal *r, uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    struct csts_refusal copy = *r;
    code_common(&b, &copy);
    return written_of(&b);
}

size_t csts_refusal_write(const struct csts_refusal *r, enum csts_known which, uint8_t *out,
                          size_t room)
{
    const bool unable = r->kind == CSTS_REFUSED_UNABLE;
    const bool times = r->kind >= CSTS_REFUSED_MISSING_TIME;
    assert(which == CSTS_GET_DIAGNOSTIC || which == CSTS_CYCLIC_START_DIAGNOSTIC ||
           which == CSTS_NOTIFICATION_START_DIAGNOSTIC || which == CSTS_DELIVERY_START_DIAGNOSTIC);
    assert(!times || which == CSTS_DELIVERY_START_DIAGNOSTIC);
    if (which == CSTS_GET_DIAGNOSTIC) {
        assert(r->kind == CSTS_REFUSED_LIST);
        return write_common(r, out, room);
    }
    struct ber b = ber_writer(out, room);
    if (unable || r->kind == CSTS_REFUSED_OUT_OF_SERVICE) {
        struct slice text = r->text;
        code_string(&b, unable ? 0x80 : 0x81, &text, 0, SIZE_MAX);
        return written_of(&b);
    }
    /* The inner octets are written where they end up: behind the heads. */
    struct csts_oid oid = csts_known_oid(which);
    struct ber_mark whole = ber_open(&b, CHOICE_100);
    struct ber_mark identification = ber_open(&b, 0xa0);
    code_oid(&b, 0x81, &oid);
    ber_close(&b, identification);
    struct ber_mark value = ber_open(&b, 0x82);
    struct csts_refusal copy = *r;
    if (times)
        code_times(&b, &copy);
    else
        code_common(&b, &copy);
    ber_close(&b, value);
    ber_close(&b, whole);
    return written_of(&b);
}

static bool read_common(struct slice in, struct csts_refusal *out)
{
    struct ber b = ber_reader(in);
    code_common(&b, out);
    return ber_done(&b);
}

static bool read_times(struct slice in, struct csts_refusal *out)
{
    struct ber b = ber_reader(in);
    code_times(&b, out);
    return ber_done(&b);
}

bool csts_refusal_read(const struct csts_embedded *pdv, struct csts_refusal *out)
{
    memset(out, 0, sizeof *out);
    if (csts_oid_is(&pdv->oid, CSTS_GET_DIAGNOSTIC))
        return read_common(pdv->data, out);
    if (!csts_oid_is(&pdv->oid, CSTS_START_DIAGNOSTIC))
        return false;
    struct ber b = ber_reader(pdv->data);
    const uint32_t tag = ber_choice(&b, 0);
    if (tag == 0x80 || tag == 0x81) {
        out->kind = tag == 0x80 ? CSTS_REFUSED_UNABLE : CSTS_REFUSED_OUT_OF_SERVICE;
        code_string(&b, tag, &out->text, 0, SIZE_MAX);
        return ber_done(&b);
    }
    struct csts_embedded inner = {0};
    code_embedded(&b, CHOICE_100, &inner);
    if (ber_done(&b) && csts_oid_is(&inner.oid, CSTS_DELIVERY_START_DIAGNOSTIC))
        return read_times(inner.data, out);
    return ber_done(&b) &&
           (csts_oid_is(&inner.oid, CSTS_CYCLIC_START_DIAGNOSTIC) ||
            csts_oid_is(&inner.oid, CSTS_NOTIFICATION_START_DIAGNOSTIC)) &&
           read_common(inner.data, out);
}

/* ---- data processing ---- */

static void code_process_ext(struct ber *b, bool *report)
{
    struct ber_mark mark = ber_open(b, BER_SEQUENCE);
    *report = ber_choice(b, *report ? 0x81 : 0x80) == 0x81;
    ber_null(b, *report ? 0x81 : 0x80);
    code_rest(b);
    ber_close(b, mark);
}

size_t csts_process_ext_write(bool report, uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    code_process_ext(&b, &report);
    return written_of(&b);
}

bool csts_process_ext_read(struct slice in, bool *report)
{
    struct ber b = ber_reader(in);
    *report = false;
    code_process_ext(&b, report);
    return ber_done(&b);
}

bool csts_production_change(const struct csts_oid *resource, struct csts_oid *change)
{
    struct csts_oid type;
    *change = *resource;
    if (!csts_oid_append(change, "2.1.1"))
        return false;
    type = *change;
    return csts_oid_append(&type, "1");
}

struct csts_name csts_production_event(const struct csts_oid *resource,
                                       const struct csts_oid *change)
{
    return (struct csts_name){.resource = *resource, .instance = 1, .id = *change};
}

/* The value is the status, ENUMERATED. */
struct slice csts_production_write(enum csts_production p, const struct csts_oid *change,
                                   uint8_t out[CSTS_PRODUCTION_OCTETS])
{
    const uint8_t status[] = {0x0a, 1, (uint8_t)p};
    struct csts_value value = {CSTS_VALID, {*change, slice_of(status, sizeof status)}};
    if (csts_oid_is(change, CSTS_PRODUCTION_CHANGE))
        value.pdv.oid = csts_known_oid(CSTS_PRODUCTION_STATUS);
    else
        (void)csts_oid_append(&value.pdv.oid, "1");
    return slice_of(out, csts_values_write(&value, 1, out, CSTS_PRODUCTION_OCTETS));
}

bool csts_production_is(const struct csts_name *event)
{
    struct csts_oid own;
    return !event->is_procedure &&
           (csts_oid_is(&event->id, CSTS_PRODUCTION_CHANGE) ||
            (csts_production_change(&event->resource, &own) && csts_oid_same(&event->id, &own)));
}

static void code_last(struct ber *b, struct csts_processing *p)
{
    p->any = ber_choice(b, p->any ? 0xa1 : 0x80) == 0xa1;
    if (!p->any) {
        ber_null(b, 0x80);
        return;
    }
    struct ber_mark mark = ber_open(b, 0xa1);
    code_unsigned(b, BER_INTEGER, &p->last, 0);
    const bool without_time = p->status >= CSTS_PROCESSING_EXPIRED;
    const uint32_t tag = ber_choice(b, without_time ? CHOICE_100 : 0xa0u + (unsigned)p->status);
    if (tag == CHOICE_100) {
        code_sequence_status(b, &p->status);
    } else if (tag < 0xa0 || tag > 0xa2) {
        ber_fail(b);
    } else {
        p->status = (enum csts_processed)(tag - 0xa0);
        struct ber_mark status = ber_open(b, tag); /* Time is a CHOICE: explicit */
        code_time(b, &p->started);
        ber_close(b, status);
    }
    ber_close(b, mark);
}

static void code_last_ok(struct ber *b, struct csts_processing *p)
{
    p->any_ok = ber_choice(b, p->any_ok ? 0xa1 : 0x80) == 0xa1;
    if (!p->any_ok) {
        ber_null(b, 0x80);
        return;
    }
    struct ber_mark mark = ber_open(b, 0xa1);
    code_unsigned(b, BER_INTEGER, &p->last_ok, 0);
    code_time(b, &p->stopped);
    ber_close(b, mark);
}

static void code_processing(struct ber *b, struct csts_processing *p)
{
    struct ber_mark mark = ber_open(b, BER_SEQUENCE);
    code_last(b, p);
    code_last_ok(b, p);
    p->change = ber_choice(b, p->change ? 0x80 : 0x81) == 0x80;
    if (p->change) {
        ber_null(b, 0x80);
    } else {
        uint32_t status = (uint32_t)p->production;
        ber_u32(b, 0x81, &status, 0, CSTS_HALTED);
        p->production = (enum csts_production)status;
    }
    code_rest(b);
    ber_close(b, mark);
}

size_t csts_processing_write(const struct csts_processing *p, uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    struct csts_processing copy = *p;
    code_processing(&b, &copy);
    return written_of(&b);
}

bool csts_processing_read(struct slice in, struct csts_processing *out)
{
    struct ber b = ber_reader(in);
    memset(out, 0, sizeof *out);
    code_processing(&b, out);
    return ber_done(&b);
}
