/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PDUs: the tag of the CHOICE CstsFrameworkPdu names the kind, its body is walked, and all octets
 * are used up. All tags are IMPLICIT but those on a CHOICE.
 */
#include <assert.h>

#include "csts/pdu_private.h"

const char *csts_pdu_text(enum csts_pdu_kind kind)
{
#define TEXT(name, text) text,
    static const char *const texts[] = {CSTS_PDUS(TEXT)};
#undef TEXT
    assert(kind < CSTS_PDU_COUNT);
    return texts[kind];
}

static const uint16_t tags[CSTS_PDU_COUNT] = {
    [CSTS_PDU_BIND] = 0xa0,
    [CSTS_PDU_BIND_RETURN] = 0xa1,
    [CSTS_PDU_UNBIND] = 0xa2,
    [CSTS_PDU_UNBIND_RETURN] = 0xa3,
    [CSTS_PDU_PEER_ABORT] = 0xa4,
    [CSTS_PDU_START] = 0xaa,
    [CSTS_PDU_START_RETURN] = 0xab,
    [CSTS_PDU_STOP] = 0xb4,
    [CSTS_PDU_STOP_RETURN] = 0xb5,
    [CSTS_PDU_EXECUTE_DIRECTIVE] = 0xbe,
    [CSTS_PDU_DIRECTIVE_ACKNOWLEDGE] = 0xbf1f,
    [CSTS_PDU_DIRECTIVE_RETURN] = 0xbf20,
    [CSTS_PDU_GET] = 0xbf28,
    [CSTS_PDU_GET_RETURN] = 0xbf29,
    [CSTS_PDU_NOTIFY] = 0xbf32,
    [CSTS_PDU_PROCESS_DATA] = 0xbf3c,
    [CSTS_PDU_PROCESS_DATA_RETURN] = 0xbf3d,
    [CSTS_PDU_FORWARD_BUFFER] = 0xbf3e,
    [CSTS_PDU_TRANSFER_DATA] = 0xbf46,
    [CSTS_PDU_RETURN_BUFFER] = 0xbf47,
};

bool csts_pdu_is_return(enum csts_pdu_kind kind)
{
    return kind == CSTS_PDU_BIND_RETURN || kind == CSTS_PDU_UNBIND_RETURN ||
           kind == CSTS_PDU_START_RETURN || kind == CSTS_PDU_STOP_RETURN ||
           kind == CSTS_PDU_GET_RETURN || kind == CSTS_PDU_PROCESS_DATA_RETURN ||
           kind == CSTS_PDU_DIRECTIVE_ACKNOWLEDGE || kind == CSTS_PDU_DIRECTIVE_RETURN;
}

static void code_credentials(struct ber *b, struct slice *credentials)
{
    if (ber_choice(b, credentials->len > 0 ? 0x81 : 0x80) == 0x81) {
        ber_octets(b, 0x81, credentials, 8, 256);
    } else {
        *credentials = slice_of(NULL, 0);
        ber_null(b, 0x80);
    }
}

static void code_invocation_head(struct ber *b, struct csts_pdu *p)
{
    struct ber_mark mark = ber_open(b, BER_SEQUENCE);
    code_credentials(b, &p->credentials);
    code_unsigned(b, BER_INTEGER, &p->invoke_id, 0);
    code_procedure(b, BER_SEQUENCE, &p->procedure);
    ber_close(b, mark);
}

static void check_appellation(struct ber *b)
{
    struct slice s = {0};
    code_string(b, BER_VISIBLE, &s, 1, 128);
}

static void code_diagnostic_text(struct ber *b, uint32_t tag, struct csts_diagnostic *d)
{
    struct ber_mark mark = ber_open(b, tag);
    code_string(b, BER_VISIBLE, &d->text, 0, SIZE_MAX);
    if (d->kind == CSTS_CONFLICTING)
        code_elements(b, BER_SEQUENCE, &d->appellation, check_appellation);
    else
        code_string(b, BER_VISIBLE, &d->appellation, 1, 128);
    ber_close(b, mark);
}

static void code_diagnostic(struct ber *b, struct csts_diagnostic *d)
{
    static const uint32_t choices[] = {0xa0, 0xa1, 0x82, 0x83};
    const uint32_t own = d->kind == CSTS_DIAGNOSTIC_EXTENSION ? CHOICE_100 : choices[d->kind & 3];
    const uint32_t tag = ber_choice(b, own);
    switch (tag) {
    case 0xa0:
    case 0xa1:
        d->kind = tag == 0xa0 ? CSTS_INVALID_PARAMETER : CSTS_CONFLICTING;
        code_diagnostic_text(b, tag, d);
        break;
    case 0x82:
    case 0x83:
        d->kind = tag == 0x82 ? CSTS_OTHER_REASON : CSTS_UNSUPPORTED_OPTION;
        code_string(b, tag, &d->text, 0, SIZE_MAX);
        break;
    case CHOICE_100:
        d->kind = CSTS_DIAGNOSTIC_EXTENSION;
        code_embedded(b, tag, &d->pdv);
        break;
    default:
        ber_fail(b);
    }
}

/* The members of a StandardReturnHeader. */
static void code_return(struct ber *b, struct csts_pdu *p)
{
    code_credentials(b, &p->credentials);
    code_unsigned(b, BER_INTEGER, &p->invoke_id, 0);
    p->positive = ber_choice(b, p->positive ? 0xa0 : 0xa1) == 0xa0;
    struct ber_mark mark = ber_open(b, p->positive ? 0xa0 : 0xa1);
    if (!p->positive)
        code_diagnostic(b, &p->diagnostic);
    code_extended(b, &p->extension);
    ber_close(b, mark);
}

static void code_bind(struct ber *b, struct csts_bind *bind)
{
    ber_text(b, BER_VISIBLE, bind->initiator, SLE_AUTHORITY_MIN, sizeof bind->initiator, false);
    ber_text(b, BER_VISIBLE, bind->port, 1, sizeof bind->port, false);
    code_oid(b, BER_OID, &bind->service);
    code_unsigned(b, BER_INTEGER, &bind->version, 1);
    struct ber_mark mark = ber_open(b, BER_SEQUENCE);
    code_oid(b, BER_OID, &bind->instance.spacecraft);
    code_oid(b, BER_OID, &bind->instance.facility);
    code_oid(b, BER_OID, &bind->instance.type);
    code_unsigned(b, BER_INTEGER, &bind->instance.number, 0);
    ber_close(b, mark);
}

static void code_bind_return(struct ber *b, struct csts_pdu *p)
{
    struct ber_mark mark = ber_open(b, BER_SEQUENCE);
    code_return(b, p);
    ber_close(b, mark);
    ber_text(b, BER_VISIBLE, p->u.responder, SLE_AUTHORITY_MIN, sizeof p->u.responder, false);
}

static void code_abort(struct ber *b, uint8_t *octet)
{
    struct slice s = slice_of(octet, 1);
    ber_octets(b, BER_OCTETS, &s, 1, 1);
    if (!b->writing && !b->bad)
        *octet = s.data[0];
}

static void code_data(struct ber *b, struct csts_data *d)
{
    d->extended = ber_choice(b, d->extended ? 0xa1 : 0x80) == 0xa1;
    if (d->extended)
        code_embedded(b, 0xa1, &d->pdv);
    else
        ber_octets(b, 0x80, &d->opaque, 0, SIZE_MAX);
}

static void code_event_value(struct ber *b, struct csts_notify *n)
{
    const uint32_t own = n->kind == CSTS_EVENT_VALUES  ? 0xa0
                         : n->kind == CSTS_EVENT_EMPTY ? 0x81
                                                       : CHOICE_100;
    const uint32_t tag = ber_choice(b, own);
    if (tag == 0xa0) {
        n->kind = CSTS_EVENT_VALUES;
        code_elements(b, tag, &n->values, check_value);
    } else if (tag == 0x81) {
        n->kind = CSTS_EVENT_EMPTY;
        ber_null(b, tag);
    } else {
        n->kind = CSTS_EVENT_EXTENSION;
        code_embedded(b, CHOICE_100, &n->pdv);
    }
}

/* What stands between the header and the extension. */
static void code_operation(struct ber *b, struct csts_pdu *p)
{
    switch (p->kind) {
    case CSTS_PDU_BIND:
        code_bind(b, &p->u.bind);
        break;
    case CSTS_PDU_GET:
        code_list(b, &p->u.list);
        break;
    case CSTS_PDU_EXECUTE_DIRECTIVE:
        code_directive(b, &p->u.directive);
        break;
    case CSTS_PDU_NOTIFY:
        code_time(b, &p->u.notify.at);
        code_name(b, BER_SEQUENCE, &p->u.notify.event);
        code_event_value(b, &p->u.notify);
        break;
    case CSTS_PDU_PROCESS_DATA:
        code_unsigned(b, BER_INTEGER, &p->u.process.id, 0);
        code_data(b, &p->u.process.data);
        break;
    case CSTS_PDU_TRANSFER_DATA:
        code_time(b, &p->u.transfer.generated);
        code_unsigned(b, BER_INTEGER, &p->u.transfer.sequence, 0);
        code_data(b, &p->u.transfer.data);
        break;
    default: /* UNBIND, START, STOP: nothing */
        break;
    }
}

static void code_invocation(struct ber *b, struct csts_pdu *p)
{
    code_invocation_head(b, p);
    code_operation(b, p);
    code_extended(b, &p->extension);
}

/* An element of a buffer: its kind by its tag. */
static bool element_kind(enum csts_pdu_kind buffer, uint32_t tag, enum csts_pdu_kind *kind)
{
    if (buffer == CSTS_PDU_FORWARD_BUFFER) {
        *kind = CSTS_PDU_PROCESS_DATA;
        return tag == BER_SEQUENCE;
    }
    *kind = tag == 0xa0 ? CSTS_PDU_TRANSFER_DATA : CSTS_PDU_NOTIFY;
    return tag == 0xa0 || tag == 0xa1;
}

static void check_element(struct ber *b, enum csts_pdu_kind buffer)
{
    struct csts_pdu p;
    const uint32_t tag = ber_choice(b, 0);
    memset(&p, 0, sizeof p);
    if (!element_kind(buffer, tag, &p.kind)) {
        ber_fail(b);
        return;
    }
    struct ber_mark mark = ber_open(b, tag);
    code_invocation(b, &p);
    ber_close(b, mark);
}

static void check_forward(struct ber *b)
{
    check_element(b, CSTS_PDU_FORWARD_BUFFER);
}

static void check_return(struct ber *b)
{
    check_element(b, CSTS_PDU_RETURN_BUFFER);
}

static void code_pdu(struct ber *b, struct csts_pdu *p)
{
    const uint32_t tag = tags[p->kind];
    if (p->kind == CSTS_PDU_FORWARD_BUFFER || p->kind == CSTS_PDU_RETURN_BUFFER) {
        code_elements(b, tag, &p->u.buffer,
                      p->kind == CSTS_PDU_FORWARD_BUFFER ? check_forward : check_return);
        return;
    }
    struct ber_mark mark = ber_open(b, tag);
    if (p->kind == CSTS_PDU_PEER_ABORT)
        code_abort(b, &p->u.abort);
    else if (p->kind == CSTS_PDU_BIND_RETURN)
        code_bind_return(b, p);
    else if (csts_pdu_is_return(p->kind))
        code_return(b, p);
    else
        code_invocation(b, p);
    ber_close(b, mark);
}

enum csts_pdu_verdict csts_pdu_read(struct slice in, struct csts_pdu *out)
{
    struct ber b = ber_reader(in);
    const uint32_t tag = ber_choice(&b, 0);
    memset(out, 0, sizeof *out);
    unsigned kind = 0;
    while (kind < CSTS_PDU_COUNT && tags[kind] != tag)
        kind++;
    if (kind == CSTS_PDU_COUNT)
        return CSTS_PDU_UNKNOWN;
    out->kind = (enum csts_pdu_kind)kind;
    code_pdu(&b, out);
    return ber_done(&b) ? CSTS_PDU_OK : CSTS_PDU_BAD;
}

size_t csts_pdu_write(const struct csts_pdu *p, uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    struct csts_pdu copy = *p;
    assert(p->kind < CSTS_PDU_COUNT);
    code_pdu(&b, &copy);
    return written_of(&b);
}

enum csts_pdu_verdict csts_buffer_next(enum csts_pdu_kind buffer, struct slice *rest,
                                       struct csts_pdu *out)
{
    struct ber b = ber_reader(*rest);
    if (rest->len == 0)
        return CSTS_PDU_UNKNOWN;
    memset(out, 0, sizeof *out);
    const uint32_t tag = ber_choice(&b, 0);
    if (!element_kind(buffer, tag, &out->kind))
        return CSTS_PDU_BAD;
    struct ber_mark mark = ber_open(&b, tag);
    code_invocation(&b, out);
    ber_close(&b, mark);
    if (b.bad)
        return CSTS_PDU_BAD;
    *rest = slice_of(b.r.p, reader_left(&b.r));
    return CSTS_PDU_OK;
}

size_t csts_element_write(const struct csts_pdu *p, enum csts_pdu_kind buffer, uint8_t *out,
                          size_t room)
{
    struct ber b = ber_writer(out, room);
    struct csts_pdu copy = *p;
    uint32_t tag = p->kind == CSTS_PDU_TRANSFER_DATA ? 0xa0 : 0xa1;
    if (buffer == CSTS_PDU_FORWARD_BUFFER)
        tag = BER_SEQUENCE;
    assert(p->kind == CSTS_PDU_PROCESS_DATA || buffer == CSTS_PDU_RETURN_BUFFER);
    struct ber_mark mark = ber_open(&b, tag);
    code_invocation(&b, &copy);
    ber_close(&b, mark);
    return written_of(&b);
}
