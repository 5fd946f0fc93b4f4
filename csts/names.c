/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common types: names, lists of names, values. Elements of a SEQUENCE OF stay as octets; they are
 * checked when they are read, and walked again by the …_next functions, so nothing is allocated.
 */
#include <assert.h>

#include "csts/pdu_private.h"

enum { TIME_MICRO = 8, TIME_PICO = 10 };

void code_string(struct ber *b, uint32_t tag, struct slice *s, size_t min, size_t max)
{
    ber_octets(b, tag, s, min, max);
}

void code_oid(struct ber *b, uint32_t tag, struct csts_oid *oid)
{
    char text[CSTS_OID_TEXT];
    struct slice s = slice_of(oid->octets, oid->len);
    if (b->writing && s.len == 0) { /* it was not set */
        ber_fail(b);
        return;
    }
    ber_octets(b, tag, &s, 1, CSTS_OID_OCTETS);
    if (b->writing || b->bad)
        return;
    oid->len = (uint8_t)s.len;
    memcpy(oid->octets, s.data, s.len);
    if (!csts_oid_text(oid, text))
        ber_fail(b);
}

void code_unsigned(struct ber *b, uint32_t tag, uint32_t *v, uint32_t min)
{
    ber_u32(b, tag, v, min, UINT32_MAX);
}

void code_time(struct ber *b, struct sle_time *t)
{
    uint8_t octets[TIME_PICO] = {0};
    struct slice s = slice_of(octets, 0);
    if (b->writing)
        s.len = sle_time_put(*t, octets);
    if (ber_choice(b, s.len == TIME_PICO ? 0x81 : 0x80) == 0x81)
        ber_octets(b, 0x81, &s, TIME_PICO, TIME_PICO);
    else
        ber_octets(b, 0x80, &s, TIME_MICRO, TIME_MICRO);
    if (!b->writing && !b->bad && !sle_time_get(s, t))
        ber_fail(b);
}

void code_embedded(struct ber *b, uint32_t tag, struct csts_embedded *e)
{
    struct ber_mark whole = ber_open(b, tag);
    struct ber_mark identification = ber_open(b, 0xa0); /* a CHOICE: its tag is explicit */
    code_oid(b, 0x81, &e->oid);
    ber_close(b, identification);
    ber_octets(b, 0x82, &e->data, 0, SIZE_MAX);
    ber_close(b, whole);
}

void code_extended(struct ber *b, struct csts_extended *e)
{
    e->used = ber_choice(b, e->used ? 0xa0 : 0x81) == 0xa0;
    if (e->used)
        code_embedded(b, 0xa0, &e->pdv);
    else
        ber_null(b, 0x81);
}

void code_procedure(struct ber *b, uint32_t tag, struct csts_procedure *p)
{
    struct ber_mark mark = ber_open(b, tag);
    code_oid(b, BER_OID, &p->type);
    const uint32_t role = ber_choice(b, 0x80u + (unsigned)p->role);
    if (role != 0x80 && role != 0x81 && role != 0x82) {
        ber_fail(b);
    } else {
        p->role = (enum csts_role)(role - 0x80);
        if (p->role == CSTS_SECONDARY)
            code_unsigned(b, 0x81, &p->number, 1);
        else
            ber_null(b, role);
    }
    ber_close(b, mark);
}

void code_resource(struct ber *b, uint32_t tag, struct csts_oid *type, uint32_t *instance)
{
    struct ber_mark mark = ber_open(b, tag);
    code_oid(b, BER_OID, type);
    code_unsigned(b, BER_INTEGER, instance, 0); /* IntPos; an implementation has instances 0 */
    ber_close(b, mark);
}

void code_name(struct ber *b, uint32_t tag, struct csts_name *n)
{
    struct ber_mark mark = ber_open(b, tag);
    n->is_procedure = ber_choice(b, n->is_procedure ? 0xa1 : 0xa0) == 0xa1;
    if (n->is_procedure)
        code_procedure(b, 0xa1, &n->procedure);
    else
        code_resource(b, 0xa0, &n->resource, &n->instance);
    code_oid(b, BER_OID, &n->id);
    ber_close(b, mark);
}

void code_elements(struct ber *b, uint32_t tag, struct slice *items, void (*element)(struct ber *b))
{
    struct ber_mark mark = ber_open(b, tag);
    if (b->writing) {
        writer_bytes(&b->w, items->data, items->len);
    } else if (!b->bad) {
        *items = slice_of(b->r.p, reader_left(&b->r));
        while (ber_more(b))
            element(b);
    }
    ber_close(b, mark);
}

void check_name(struct ber *b)
{
    struct csts_name n = {0};
    code_name(b, BER_SEQUENCE, &n);
}

void check_label(struct ber *b)
{
    struct csts_oid oid = {0};
    code_oid(b, BER_OID, &oid);
}

void check_value(struct ber *b)
{
    struct csts_value v = {0};
    code_value(b, &v);
}

void check_parameter(struct ber *b)
{
    struct csts_parameter p = {0};
    code_parameter(b, &p);
}

void code_list(struct ber *b, struct csts_list *l)
{
    static const uint32_t tags[] = {0x80, 0xa1, 0xa2, 0x83, 0xa4, 0x85, 0x86, 0xa7};
    const uint32_t tag = ber_choice(b, tags[b->writing ? l->kind : 0]);
    unsigned kind = 0;
    while (kind < sizeof tags / sizeof *tags && tags[kind] != tag)
        kind++;
    if (kind == sizeof tags / sizeof *tags) {
        ber_fail(b);
        return;
    }
    l->kind = (enum csts_list_kind)kind;
    switch (l->kind) {
    case CSTS_LIST_DEFAULT:
        ber_null(b, tag);
        break;
    case CSTS_LIST_NAMES:
        code_elements(b, tag, &l->items, check_name);
        break;
    case CSTS_LIST_LABELS:
        code_elements(b, tag, &l->items, check_label);
        break;
    case CSTS_LIST_NAMED:
        code_string(b, tag, &l->text, 0, SIZE_MAX);
        break;
    case CSTS_LIST_RESOURCE:
        code_resource(b, tag, &l->oid, &l->instance);
        break;
    case CSTS_LIST_RESOURCE_TYPE:
    case CSTS_LIST_PROCEDURE_TYPE:
        code_oid(b, tag, &l->oid);
        break;
    case CSTS_LIST_PROCEDURE:
        code_procedure(b, tag, &l->procedure);
        break;
    }
}

void code_value(struct ber *b, struct csts_value *v)
{
    const uint32_t tag = ber_choice(b, v->state == CSTS_VALID ? 0xa0 : 0x80u + (unsigned)v->state);
    if (tag == 0xa0) {
        v->state = CSTS_VALID;
        code_embedded(b, tag, &v->pdv);
    } else if (tag >= 0x81 && tag <= 0x83) {
        v->state = (enum csts_state_of_value)(tag - 0x80);
        ber_null(b, tag);
    } else {
        ber_fail(b);
    }
}

void code_parameter(struct ber *b, struct csts_parameter *p)
{
    struct ber_mark mark = ber_open(b, BER_SEQUENCE);
    code_name(b, BER_SEQUENCE, &p->name);
    code_elements(b, BER_SEQUENCE, &p->values, check_value);
    ber_close(b, mark);
}

/* ---- elements ---- */

bool take_element(const struct ber *b, struct slice *rest)
{
    if (!b->bad)
        *rest = slice_of(b->r.p, reader_left(&b->r));
    return !b->bad;
}

bool csts_names_next(struct slice *rest, struct csts_name *out)
{
    struct ber b = ber_reader(*rest);
    memset(out, 0, sizeof *out);
    code_name(&b, BER_SEQUENCE, out);
    return take_element(&b, rest);
}

bool csts_labels_next(struct slice *rest, struct csts_oid *out)
{
    struct ber b = ber_reader(*rest);
    memset(out, 0, sizeof *out);
    code_oid(&b, BER_OID, out);
    return take_element(&b, rest);
}

bool csts_values_next(struct slice *rest, struct csts_value *out)
{
    struct ber b = ber_reader(*rest);
    memset(out, 0, sizeof *out);
    code_value(&b, out);
    return take_element(&b, rest);
}

bool csts_parameters_next(struct slice *rest, struct csts_parameter *out)
{
    struct ber b = ber_reader(*rest);
    memset(out, 0, sizeof *out);
    code_parameter(&b, out);
    return take_element(&b, rest);
}

size_t written_of(const struct ber *b)
{
    assert(b->writing);
    return ber_done(b) ? writer_len(&b->w) : 0;
}

size_t csts_names_write(const struct csts_name *names, size_t count, uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    for (size_t i = 0; i < count; i++) {
        struct csts_name n = names[i];
        code_name(&b, BER_SEQUENCE, &n);
    }
    return written_of(&b);
}

size_t csts_labels_write(const struct csts_oid *labels, size_t count, uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    for (size_t i = 0; i < count; i++) {
        struct csts_oid oid = labels[i];
        code_oid(&b, BER_OID, &oid);
    }
    return written_of(&b);
}

size_t csts_values_write(const struct csts_value *values, size_t count, uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    for (size_t i = 0; i < count; i++) {
        struct csts_value v = values[i];
        code_value(&b, &v);
    }
    return written_of(&b);
}

size_t csts_parameter_write(const struct csts_parameter *p, uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    struct csts_parameter copy = *p;
    code_parameter(&b, &copy);
    return written_of(&b);
}

bool csts_procedure_same(const struct csts_procedure *a, const struct csts_procedure *b)
{
    return a->role == b->role && csts_oid_same(&a->type, &b->type) &&
           (a->role != CSTS_SECONDARY || a->number == b->number);
}

bool csts_name_same(const struct csts_name *a, const struct csts_name *b)
{
    if (a->is_procedure != b->is_procedure || !csts_oid_same(&a->id, &b->id))
        return false;
    return a->is_procedure
               ? csts_procedure_same(&a->procedure, &b->procedure)
               : csts_oid_same(&a->resource, &b->resource) && a->instance == b->instance;
}
