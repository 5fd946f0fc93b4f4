/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EXECUTE-DIRECTIVE (921.1-B-2 §3.13): which directive, of what, with which values; and the
 * diagnostics of its acknowledgement and of its return.
 */
#include <assert.h>

#include "csts/pdu_private.h"

static void code_qualifier_element(struct ber *b, struct csts_oid *id, struct csts_embedded *value)
{
    struct ber_mark mark = ber_open(b, BER_SEQUENCE);
    code_oid(b, BER_OID, id);
    code_embedded(b, BER_EMBEDDED, value);
    ber_close(b, mark);
}

static void check_qualifier(struct ber *b)
{
    struct csts_oid id = {0};
    struct csts_embedded value = {0};
    code_qualifier_element(b, &id, &value);
}

bool csts_qualifiers_next(struct slice *rest, struct csts_oid *id, struct csts_embedded *value)
{
    struct ber b = ber_reader(*rest);
    memset(id, 0, sizeof *id);
    memset(value, 0, sizeof *value);
    code_qualifier_element(&b, id, value);
    return take_element(&b, rest);
}

size_t csts_qualifier_write(const struct csts_oid *id, const struct csts_embedded *value,
                            uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    struct csts_oid oid = *id;
    struct csts_embedded pdv = *value;
    code_qualifier_element(&b, &oid, &pdv);
    return written_of(&b);
}

static void code_qualifier(struct ber *b, struct csts_directive *d)
{
    static const uint32_t tags[] = {0xa0, 0xa1, 0x82};
    switch (ber_choice(b, tags[d->kind % 3u])) {
    case 0xa0:
        d->kind = CSTS_QUALIFIER_NAMED;
        code_elements(b, 0xa0, &d->named, check_qualifier);
        break;
    case 0xa1:
        d->kind = CSTS_QUALIFIER_VALUE;
        code_embedded(b, 0xa1, &d->pdv);
        break;
    case 0x82:
        d->kind = CSTS_QUALIFIER_NONE;
        ber_null(b, 0x82);
        break;
    default:
        ber_fail(b);
    }
}

void code_directive(struct ber *b, struct csts_directive *d)
{
    code_oid(b, BER_OID, &d->id);
    const uint32_t tag = ber_choice(b, 0xa0u + (unsigned)d->target);
    if (tag < 0xa0 || tag > 0xa3) {
        ber_fail(b);
        return;
    }
    d->target = (enum csts_directive_target)(tag - 0xa0);
    if (d->target == CSTS_OF_EXTENSION) {
        code_embedded(b, tag, &d->pdv);
        return;
    }
    struct ber_mark mark = ber_open(b, tag);
    if (d->target == CSTS_OF_PROCEDURE)
        code_procedure(b, BER_SEQUENCE, &d->procedure);
    else if (d->target == CSTS_OF_RESOURCE)
        code_resource(b, BER_SEQUENCE, &d->resource, &d->instance);
    code_qualifier(b, d);
    ber_close(b, mark);
}

/* ---- diagnostics ---- */

static void code_diag(struct ber *b, unsigned *d, struct slice *names)
{
    const bool named = *d >= CSTS_DIRECTIVE_RESOURCE_PARAMETER;
    const uint32_t tag = ber_choice(b, (named ? 0xa0u : 0x80u) + *d);
    *d = tag & 0x1f;
    if (tag >= 0x80 && tag <= 0x80 + CSTS_DIRECTIVE_RESOURCE)
        ber_null(b, tag);
    else if (tag >= 0xa0 + CSTS_DIRECTIVE_RESOURCE_PARAMETER && tag <= 0xa0 + CSTS_DIRECTIVE_RANGE)
        code_elements(b, tag, names, check_name);
    else
        ber_fail(b);
}

size_t csts_directive_diag_write(enum csts_directive_diag d, struct slice names, uint8_t *out,
                                 size_t room)
{
    struct ber b = ber_writer(out, room);
    unsigned number = d;
    assert(number <= CSTS_DIRECTIVE_RANGE);
    code_diag(&b, &number, &names);
    return written_of(&b);
}

bool csts_directive_diag_read(struct slice in, unsigned *d, struct slice *names)
{
    struct ber b = ber_reader(in);
    *d = 0;
    *names = slice_of(NULL, 0);
    code_diag(&b, d, names);
    return ber_done(&b);
}

static void code_failed(struct ber *b, struct slice *names)
{
    struct ber_mark mark = ber_open(b, 0xa0); /* a CHOICE: its tag is explicit */
    if (ber_choice(b, names->len > 0 ? 0xa0 : 0x81) == 0xa0)
        code_elements(b, 0xa0, names, check_name);
    else
        ber_null(b, 0x81);
    ber_close(b, mark);
}

size_t csts_directive_failed_write(struct slice names, uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    code_failed(&b, &names);
    return written_of(&b);
}

bool csts_directive_failed_read(struct slice in, struct slice *names)
{
    struct ber b = ber_reader(in);
    *names = slice_of(NULL, 0);
    code_failed(&b, names);
    return ber_done(&b);
}
