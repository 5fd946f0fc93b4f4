/* SPDX-License-Identifier: Apache-2.0 */
/* PDUs of the Cross Support Transfer Services. What can be read can be written, and what is written
 * is read as the same octets; so are the extensions that procedures put in. */
#include <assert.h>

#include "csts/extension.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { ROOM = 1 << 17 };

static void walk_parameters(struct slice rest)
{
    struct csts_parameter p;
    struct csts_value v;
    while (rest.len > 0) { /* all were checked when the whole was read */
        assert(csts_parameters_next(&rest, &p));
        while (p.values.len > 0)
            assert(csts_values_next(&p.values, &v));
    }
}

static void walk_list(struct csts_list l)
{
    struct csts_name name;
    struct csts_oid oid;
    while (l.kind == CSTS_LIST_NAMES && l.items.len > 0)
        assert(csts_names_next(&l.items, &name));
    while (l.kind == CSTS_LIST_LABELS && l.items.len > 0)
        assert(csts_labels_next(&l.items, &oid));
}

/* Octets that are of the type are written again, not longer than they were. */
static void walk_pdv(const struct csts_embedded *e)
{
    static uint8_t out[ROOM];
    struct csts_report report;
    struct csts_cyclic_start start;
    struct csts_list list;
    struct csts_processing processing;
    struct csts_refusal refusal;
    struct slice text;
    unsigned diag;
    bool yes;
    if (csts_report_read(e->data, &report)) {
        walk_parameters(report.parameters);
        const size_t n = csts_report_write(&report, out, sizeof out);
        assert(n > 0 && n <= e->data.len);
    }
    if (csts_cyclic_start_read(e->data, &start)) {
        walk_list(start.list);
        assert(csts_cyclic_start_write(&start, out, sizeof out) > 0);
    }
    if (csts_notification_start_read(e->data, &list)) {
        walk_list(list);
        assert(csts_notification_start_write(&list, out, sizeof out) > 0);
    }
    if (csts_processing_read(e->data, &processing))
        assert(csts_processing_write(&processing, out, sizeof out) > 0);
    if (csts_bind_diag_read(e->data, &diag, &text))
        assert(csts_bind_diag_write((enum csts_bind_diag)diag, text, out, sizeof out) > 0);
    if (csts_process_ext_read(e->data, &yes))
        assert(csts_process_ext_write(yes, out, sizeof out) > 0);
    struct csts_window window;
    uint32_t id;
    if (csts_sequence_ext_read(e->data, &yes, &window))
        assert(csts_sequence_ext_write(yes, &window, out, sizeof out) > 0);
    if (csts_window_read(e->data, &window))
        assert(csts_window_write(&window, out, sizeof out) > 0);
    if (csts_unit_id_read(e->data, &id))
        assert(csts_unit_id_write(id, out, sizeof out) > 0);
    if (csts_unit_diag_read(e->data, &diag))
        assert(csts_unit_diag_write((enum csts_unit_diag)diag, out, sizeof out) == 2);
    if (csts_directive_diag_read(e->data, &diag, &text))
        assert(csts_directive_diag_write((enum csts_directive_diag)diag, text, out, sizeof out) >
               0);
    if (csts_directive_failed_read(e->data, &text))
        assert(csts_directive_failed_write(text, out, sizeof out) > 0);
    if (csts_on_change_read(e->data, &yes))
        assert(csts_on_change_write(yes, out, sizeof out) > 0);
    if (csts_refusal_read(e, &refusal) && refusal.kind == CSTS_REFUSED_LIST) {
        struct csts_name name;
        bool label;
        while (refusal.list.kind == CSTS_UNKNOWN_IDENTIFIER && refusal.list.items.len > 0)
            assert(csts_unknown_next(&refusal.list.items, &name, &label));
    }
}

static void walk_pdu(const struct csts_pdu *p)
{
    struct csts_value v;
    if (p->extension.used)
        walk_pdv(&p->extension.pdv);
    if (csts_pdu_is_return(p->kind) && !p->positive &&
        p->diagnostic.kind == CSTS_DIAGNOSTIC_EXTENSION)
        walk_pdv(&p->diagnostic.pdv);
    if (p->kind == CSTS_PDU_GET)
        walk_list(p->u.list);
    const struct csts_directive *d = &p->u.directive;
    if (p->kind == CSTS_PDU_EXECUTE_DIRECTIVE && d->target != CSTS_OF_EXTENSION &&
        d->kind == CSTS_QUALIFIER_NAMED) {
        struct slice rest = d->named;
        struct csts_oid oid;
        struct csts_embedded value;
        while (rest.len > 0)
            assert(csts_qualifiers_next(&rest, &oid, &value));
    }
    if (p->kind == CSTS_PDU_TRANSFER_DATA && p->u.transfer.data.extended)
        walk_pdv(&p->u.transfer.data.pdv);
    if (p->kind == CSTS_PDU_NOTIFY && p->u.notify.kind == CSTS_EVENT_VALUES) {
        struct slice rest = p->u.notify.values;
        while (rest.len > 0)
            assert(csts_values_next(&rest, &v));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static uint8_t once[ROOM], twice[ROOM];
    struct csts_pdu p, q;
    if (len > ROOM || csts_pdu_read(slice_of(data, len), &p) != CSTS_PDU_OK)
        return 0;
    const size_t n = csts_pdu_write(&p, once, sizeof once);
    assert(n > 0 && n <= len);
    assert(csts_pdu_read(slice_of(once, n), &q) == CSTS_PDU_OK && q.kind == p.kind);
    assert(csts_pdu_write(&q, twice, sizeof twice) == n && memcmp(once, twice, n) == 0);
    if (p.kind == CSTS_PDU_FORWARD_BUFFER || p.kind == CSTS_PDU_RETURN_BUFFER) {
        while (p.u.buffer.len > 0) {
            assert(csts_buffer_next(p.kind, &p.u.buffer, &q) == CSTS_PDU_OK);
            walk_pdu(&q);
        }
    } else {
        walk_pdu(&p);
    }
    return 0;
}
