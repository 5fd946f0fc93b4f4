/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For an oracle: reads PDUs, a line of hexadecimal digits each, decodes them with the extensions
 * that csts/ knows, and writes each again from what was decoded. Output, a line each: the octets,
 * then what was understood, in words. A line that cannot be decoded is answered by "bad".
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "csts/extension.h"

#define LONGEST 65536

static void print_hex(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        printf("%02x", s.data[i]);
}

static size_t parse_hex(const char *text, uint8_t *out)
{
    size_t n = 0;
    for (unsigned v; n < LONGEST && sscanf(text + 2 * n, "%2x", &v) == 1; n++)
        out[n] = (uint8_t)v;
    return n;
}

static void print_oid(const struct csts_oid *oid)
{
    char text[CSTS_OID_TEXT];
    csts_oid_text(oid, text);
    printf(" %s", text);
}

static void print_procedure(const struct csts_procedure *p)
{
    print_oid(&p->type);
    printf(p->role == CSTS_SECONDARY ? " role%d.%" PRIu32 : " role%d", (int)p->role, p->number);
}

static void print_name(const struct csts_name *n)
{
    if (n->is_procedure) {
        print_procedure(&n->procedure);
    } else {
        print_oid(&n->resource);
        printf(" #%" PRIu32, n->instance);
    }
    print_oid(&n->id);
}

static void print_pdv(const struct csts_embedded *e)
{
    print_oid(&e->oid);
    printf(" =");
    print_hex(e->data);
}

static void print_time(struct sle_time t)
{
    printf(" %u.%" PRIu32 ".%" PRIu32, t.day, t.ms, t.ps);
}

static void print_text(struct slice s)
{
    printf(" '%.*s'", (int)s.len, (const char *)s.data);
}

/* Each prints, and writes its elements again to `out`. */
static size_t again_values(struct slice rest, uint8_t *out)
{
    size_t n = 0;
    struct csts_value v;
    while (csts_values_next(&rest, &v)) {
        printf(" value%d", (int)v.state);
        if (v.state == CSTS_VALID)
            print_pdv(&v.pdv);
        n += csts_values_write(&v, 1, out + n, LONGEST - n);
    }
    return n;
}

static size_t again_parameters(struct slice rest, uint8_t *out)
{
    static uint8_t values[LONGEST];
    size_t n = 0;
    struct csts_parameter p;
    while (csts_parameters_next(&rest, &p)) {
        printf(" parameter");
        print_name(&p.name);
        p.values = slice_of(values, again_values(p.values, values));
        n += csts_parameter_write(&p, out + n, LONGEST - n);
    }
    return n;
}

static void again_list(struct csts_list *l)
{
    static uint8_t items[LONGEST];
    struct slice rest = l->items;
    struct csts_name name;
    struct csts_oid oid;
    size_t n = 0;
    printf(" list%d", (int)l->kind);
    if (l->kind == CSTS_LIST_NAMES) {
        for (; csts_names_next(&rest, &name); print_name(&name))
            n += csts_names_write(&name, 1, items + n, LONGEST - n);
    } else if (l->kind == CSTS_LIST_LABELS) {
        for (; csts_labels_next(&rest, &oid); print_oid(&oid))
            n += csts_labels_write(&oid, 1, items + n, LONGEST - n);
    } else if (l->kind == CSTS_LIST_NAMED) {
        print_text(l->text);
    } else if (l->kind == CSTS_LIST_PROCEDURE) {
        print_procedure(&l->procedure);
    } else if (l->kind != CSTS_LIST_DEFAULT) {
        print_oid(&l->oid);
        if (l->kind == CSTS_LIST_RESOURCE)
            printf(" #%" PRIu32, l->instance);
    }
    l->items = slice_of(items, n);
}

static void again_refusal(struct csts_refusal *r)
{
    static uint8_t items[LONGEST];
    struct csts_list_diag *d = &r->list;
    printf(" refusal%d", (int)r->kind);
    if (r->kind != CSTS_REFUSED_LIST) {
        print_text(r->text);
        return;
    }
    printf(" because%d", (int)d->kind);
    struct slice rest = d->items;
    struct csts_name name;
    size_t n = 0;
    bool label;
    if (d->kind == CSTS_UNKNOWN_IDENTIFIER) {
        while (csts_unknown_next(&rest, &name, &label)) {
            n += csts_unknown_write(&name, label, items + n, LONGEST - n);
            if (label)
                print_oid(&name.id);
            else
                print_name(&name);
        }
        d->items = slice_of(items, n);
    } else if (d->kind == CSTS_UNKNOWN_LIST || d->kind == CSTS_UNDEFINED_DEFAULT) {
        print_text(d->text);
    } else if (d->kind == CSTS_UNKNOWN_PROCEDURE) {
        print_procedure(&d->procedure);
    } else {
        print_oid(&d->oid);
        if (d->kind == CSTS_UNKNOWN_RESOURCE)
            printf(" #%" PRIu32, d->instance);
    }
}

static void print_processing(const struct csts_processing *p)
{
    printf(" last");
    if (p->any) {
        printf(" %" PRIu32 " status%d", p->last, (int)p->status);
        if (p->status < CSTS_PROCESSING_EXPIRED)
            print_time(p->started);
    }
    printf(" ok");
    if (p->any_ok) {
        printf(" %" PRIu32, p->last_ok);
        print_time(p->stopped);
    }
    if (p->change)
        printf(" change");
    else
        printf(" production%d", (int)p->production);
}

/* The START of a cyclic report, whose extension may be Monitored Data's option. */
static size_t again_cyclic(struct slice in, uint8_t *out)
{
    uint8_t option[64];
    struct csts_cyclic_start s;
    bool on_change = false;
    if (!csts_cyclic_start_read(in, &s))
        return 0;
    printf(" cycle%" PRIu32, s.cycle);
    again_list(&s.list);
    if (s.extension.used && csts_oid_is(&s.extension.pdv.oid, CSTS_ON_CHANGE_START) &&
        csts_on_change_read(s.extension.pdv.data, &on_change)) {
        printf(" on-change%d", on_change);
        s.extension.pdv.data =
            slice_of(option, csts_on_change_write(on_change, option, sizeof option));
    }
    return csts_cyclic_start_write(&s, out, LONGEST);
}

static size_t again_report(struct slice in, uint8_t *out)
{
    static uint8_t parameters[LONGEST];
    struct csts_report r;
    if (!csts_report_read(in, &r))
        return 0;
    r.parameters = slice_of(parameters, again_parameters(r.parameters, parameters));
    return csts_report_write(&r, out, LONGEST);
}

static size_t again_refused(const struct csts_embedded *e, uint8_t *out)
{
    struct csts_refusal r;
    if (!csts_refusal_read(e, &r))
        return 0;
    again_refusal(&r);
    enum csts_known which = CSTS_GET_DIAGNOSTIC;
    if (csts_oid_is(&e->oid, CSTS_START_DIAGNOSTIC)) { /* which one lies in it? */
        const struct csts_oid n = csts_known_oid(CSTS_NOTIFICATION_START_DIAGNOSTIC);
        which = r.kind >= CSTS_REFUSED_MISSING_TIME ? CSTS_DELIVERY_START_DIAGNOSTIC
                : memmem(e->data.data, e->data.len, n.octets, n.len) != NULL
                    ? CSTS_NOTIFICATION_START_DIAGNOSTIC
                    : CSTS_CYCLIC_START_DIAGNOSTIC;
    }
    return csts_refusal_write(&r, which, out, LONGEST);
}

static void print_when(const struct sle_when *w)
{
    if (w->known)
        print_time(w->at);
    else
        printf(" any");
}

static struct slice again_names(struct slice rest)
{
    static uint8_t items[LONGEST];
    struct csts_name name;
    size_t n = 0;
    for (; csts_names_next(&rest, &name); print_name(&name))
        n += csts_names_write(&name, 1, items + n, LONGEST - n);
    return slice_of(items, n);
}

static void print_window(const struct csts_window *w)
{
    printf(" window");
    print_when(&w->earliest);
    print_when(&w->latest);
}

/* Sequence-controlled data processing, buffered data delivery, and directives. */
static size_t again_sequence(const struct csts_embedded *e, uint8_t *out)
{
    struct csts_window window;
    struct slice names;
    uint32_t id;
    unsigned diag;
    bool report;
    if ((csts_oid_is(&e->oid, CSTS_SEQUENCE_START) ||
         csts_oid_is(&e->oid, CSTS_SEQUENCE_POSITIVE) ||
         csts_oid_is(&e->oid, CSTS_SEQUENCE_NEGATIVE)) &&
        csts_unit_id_read(e->data, &id)) {
        printf(" unit%" PRIu32, id);
        return csts_unit_id_write(id, out, LONGEST);
    }
    if (csts_oid_is(&e->oid, CSTS_PROCESS_DATA) &&
        csts_sequence_ext_read(e->data, &report, &window)) {
        printf(" report%d", report);
        print_window(&window);
        return csts_sequence_ext_write(report, &window, out, LONGEST);
    }
    if (csts_oid_is(&e->oid, CSTS_DELIVERY_START) && csts_window_read(e->data, &window)) {
        print_window(&window);
        return csts_window_write(&window, out, LONGEST);
    }
    if (csts_oid_is(&e->oid, CSTS_SEQUENCE_DIAGNOSTIC) && csts_unit_diag_read(e->data, &diag)) {
        printf(" unit-refused%u", diag);
        return csts_unit_diag_write((enum csts_unit_diag)diag, out, LONGEST);
    }
    if (csts_oid_is(&e->oid, CSTS_DIRECTIVE_DIAGNOSTIC) &&
        csts_directive_diag_read(e->data, &diag, &names)) {
        printf(" directive-refused%u", diag);
        return csts_directive_diag_write((enum csts_directive_diag)diag, again_names(names), out,
                                         LONGEST);
    }
    if (csts_oid_is(&e->oid, CSTS_DIRECTIVE_FAILED) &&
        csts_directive_failed_read(e->data, &names)) {
        printf(" directive-failed");
        return csts_directive_failed_write(again_names(names), out, LONGEST);
    }
    return 0;
}

static void again_directive(struct csts_directive *d)
{
    static uint8_t items[LONGEST];
    struct slice rest = d->named;
    struct csts_oid id;
    struct csts_embedded value;
    size_t n = 0;
    print_oid(&d->id);
    printf(" target%d", (int)d->target);
    if (d->target == CSTS_OF_PROCEDURE)
        print_procedure(&d->procedure);
    if (d->target == CSTS_OF_RESOURCE) {
        print_oid(&d->resource);
        printf(" #%" PRIu32, d->instance);
    }
    if (d->target != CSTS_OF_EXTENSION)
        printf(" qualifier%d", (int)d->kind);
    if (d->target == CSTS_OF_EXTENSION || d->kind == CSTS_QUALIFIER_VALUE)
        print_pdv(&d->pdv);
    while (csts_qualifiers_next(&rest, &id, &value)) {
        print_oid(&id);
        print_pdv(&value);
        n += csts_qualifier_write(&id, &value, items + n, LONGEST - n);
    }
    d->named = slice_of(items, n);
}

/* A PDV whose type is known is decoded and made again; another one is printed. */
static void again_pdv(struct csts_embedded *e, uint8_t *out)
{
    size_t n = 0;
    struct csts_list list;
    struct slice text;
    unsigned diag;
    bool report;
    struct csts_processing processing;
    if ((n = again_sequence(e, out)) > 0) {
        e->data = slice_of(out, n);
        return;
    }
    if (csts_oid_is(&e->oid, CSTS_GET_RESULT) || csts_oid_is(&e->oid, CSTS_CYCLIC_DATA)) {
        n = again_report(e->data, out);
    } else if (csts_oid_is(&e->oid, CSTS_CYCLIC_START)) {
        n = again_cyclic(e->data, out);
    } else if (csts_oid_is(&e->oid, CSTS_NOTIFICATION_START) &&
               csts_notification_start_read(e->data, &list)) {
        again_list(&list);
        n = csts_notification_start_write(&list, out, LONGEST);
    } else if (csts_oid_is(&e->oid, CSTS_BIND_DIAGNOSTIC) &&
               csts_bind_diag_read(e->data, &diag, &text)) {
        printf(" refused%u", diag);
        print_text(text);
        n = csts_bind_diag_write((enum csts_bind_diag)diag, text, out, LONGEST);
    } else if (csts_oid_is(&e->oid, CSTS_PROCESS_DATA) && csts_process_ext_read(e->data, &report)) {
        printf(" report%d", report);
        n = csts_process_ext_write(report, out, LONGEST);
    } else if (csts_oid_is(&e->oid, CSTS_PROCESSING_NOTIFY) &&
               csts_processing_read(e->data, &processing)) {
        print_processing(&processing);
        n = csts_processing_write(&processing, out, LONGEST);
    } else {
        n = again_refused(e, out);
    }
    if (n > 0)
        e->data = slice_of(out, n);
    else
        print_pdv(e);
}

static void again_data(struct csts_data *d, uint8_t *out)
{
    if (d->extended) {
        again_pdv(&d->pdv, out);
        return;
    }
    printf(" =");
    print_hex(d->opaque);
}

static void print_bind(const struct csts_bind *b)
{
    printf(" %s %s", b->initiator, b->port);
    print_oid(&b->service);
    printf(" %" PRIu32, b->version);
    print_oid(&b->instance.spacecraft);
    print_oid(&b->instance.facility);
    print_oid(&b->instance.type);
    printf(" %" PRIu32, b->instance.number);
}

static void again_operation(struct csts_pdu *p)
{
    static uint8_t values[LONGEST], event[LONGEST], data[LONGEST];
    switch (p->kind) {
    case CSTS_PDU_BIND:
        print_bind(&p->u.bind);
        break;
    case CSTS_PDU_BIND_RETURN:
        printf(" %s", p->u.responder);
        break;
    case CSTS_PDU_GET:
        again_list(&p->u.list);
        break;
    case CSTS_PDU_EXECUTE_DIRECTIVE:
        again_directive(&p->u.directive);
        break;
    case CSTS_PDU_NOTIFY:
        print_time(p->u.notify.at);
        print_name(&p->u.notify.event);
        printf(" event%d", (int)p->u.notify.kind);
        if (p->u.notify.kind == CSTS_EVENT_VALUES)
            p->u.notify.values = slice_of(values, again_values(p->u.notify.values, values));
        if (p->u.notify.kind == CSTS_EVENT_EXTENSION)
            again_pdv(&p->u.notify.pdv, event);
        break;
    case CSTS_PDU_PROCESS_DATA:
        printf(" %" PRIu32, p->u.process.id);
        again_data(&p->u.process.data, data);
        break;
    case CSTS_PDU_TRANSFER_DATA:
        print_time(p->u.transfer.generated);
        printf(" %" PRIu32, p->u.transfer.sequence);
        again_data(&p->u.transfer.data, data);
        break;
    default:
        break;
    }
}

static void again_appellations(struct csts_diagnostic *d)
{
    struct slice rest = d->appellation;
    print_text(d->text);
    while (d->kind == CSTS_CONFLICTING && rest.len > 0) { /* short ones: tag, length, characters */
        print_text(slice_of(rest.data + 2, rest.data[1]));
        rest = slice_of(rest.data + 2 + rest.data[1], rest.len - 2 - rest.data[1]);
    }
    if (d->kind == CSTS_INVALID_PARAMETER)
        print_text(d->appellation);
}

/* One PDU but a buffer: prints it, and makes what lies in it again. */
static void again_pdu(struct csts_pdu *p)
{
    static uint8_t extension[LONGEST], diagnostic[LONGEST];
    printf(" %s", csts_pdu_text(p->kind));
    if (p->kind == CSTS_PDU_PEER_ABORT) {
        printf(" %u", p->u.abort);
        return;
    }
    printf(" credentials=");
    print_hex(p->credentials);
    printf(" id%" PRIu32, p->invoke_id);
    if (csts_pdu_is_return(p->kind)) {
        printf(p->positive ? " positive" : " negative%d", (int)p->diagnostic.kind);
        if (!p->positive && p->diagnostic.kind == CSTS_DIAGNOSTIC_EXTENSION)
            again_pdv(&p->diagnostic.pdv, diagnostic);
        else if (!p->positive)
            again_appellations(&p->diagnostic);
    } else {
        print_procedure(&p->procedure);
    }
    again_operation(p);
    if (p->extension.used)
        again_pdv(&p->extension.pdv, extension);
}

static void again_buffer(struct csts_pdu *p)
{
    static uint8_t elements[LONGEST];
    struct slice rest = p->u.buffer;
    struct csts_pdu one;
    size_t n = 0;
    printf(" %s", csts_pdu_text(p->kind));
    while (csts_buffer_next(p->kind, &rest, &one) == CSTS_PDU_OK) {
        again_pdu(&one);
        n += csts_element_write(&one, p->kind, elements + n, LONGEST - n);
    }
    p->u.buffer = slice_of(elements, n);
}

int main(void)
{
    static char line[2 * LONGEST + 2];
    static uint8_t in[LONGEST], out[LONGEST];
    while (fgets(line, sizeof line, stdin) != NULL) {
        struct csts_pdu p;
        const size_t n = parse_hex(line, in);
        if (csts_pdu_read(slice_of(in, n), &p) != CSTS_PDU_OK) {
            printf("bad\n");
            continue;
        }
        printf("pdu");
        if (p.kind == CSTS_PDU_FORWARD_BUFFER || p.kind == CSTS_PDU_RETURN_BUFFER)
            again_buffer(&p);
        else
            again_pdu(&p);
        printf(" octets ");
        print_hex(slice_of(out, csts_pdu_write(&p, out, sizeof out)));
        printf("\n");
    }
    return 0;
}
