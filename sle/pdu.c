/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PDUs: which there are, and what all have in common. The normal case of reading: the tag names the
 * kind, its body is walked, and all octets are used up. The tags are those of the CHOICEs of each
 * service's incoming and outgoing PDUs; all is IMPLICIT but where a tag is on a CHOICE.
 */
#include <assert.h>

#include "sle/pdu_private.h"

const char *sle_pdu_text(enum sle_pdu_kind kind)
{
#define TEXT(name, text) text,
    static const char *const texts[] = {SLE_PDUS(TEXT)};
    assert(kind < SLE_PDU_COUNT);
    return texts[kind];
}

const char *sle_notification_text(enum sle_notification n)
{
    static const char *const texts[] = {SLE_NOTIFICATIONS(TEXT)};
#undef TEXT
    assert(n < SLE_ASYNC_COUNT);
    return texts[n];
}

enum { USER = 1, PROVIDER = 2, RETURN = 4, FORWARD = 8 };

/* Which side may send it, for which services. */
static const struct {
    uint16_t tag;
    uint8_t kind, who;
} tags[] = {
    {0xbf64, SLE_PDU_BIND, USER | PROVIDER | RETURN},
    {0xbf64, SLE_PDU_BIND, USER | FORWARD},
    {0xbf65, SLE_PDU_BIND_RETURN, USER | PROVIDER | RETURN},
    {0xbf65, SLE_PDU_BIND_RETURN, PROVIDER | FORWARD},
    {0xbf66, SLE_PDU_UNBIND, USER | PROVIDER | RETURN},
    {0xbf66, SLE_PDU_UNBIND, USER | FORWARD},
    {0xbf67, SLE_PDU_UNBIND_RETURN, USER | PROVIDER | RETURN},
    {0xbf67, SLE_PDU_UNBIND_RETURN, PROVIDER | FORWARD},
    {0x9f68, SLE_PDU_PEER_ABORT, USER | PROVIDER | RETURN | FORWARD},
    {0xa0, SLE_PDU_START, USER | RETURN | FORWARD},
    {0xa1, SLE_PDU_START_RETURN, PROVIDER | RETURN | FORWARD},
    {0xa2, SLE_PDU_STOP, USER | RETURN | FORWARD},
    {0xa3, SLE_PDU_STOP_RETURN, PROVIDER | RETURN | FORWARD},
    {0xa4, SLE_PDU_SCHEDULE, USER | RETURN | FORWARD},
    {0xa5, SLE_PDU_SCHEDULE_RETURN, PROVIDER | RETURN | FORWARD},
    {0xa6, SLE_PDU_GET, USER | RETURN | FORWARD},
    {0xa7, SLE_PDU_GET_RETURN, PROVIDER | RETURN | FORWARD},
    {0xa8, SLE_PDU_BUFFER, PROVIDER | RETURN},
    {0xa9, SLE_PDU_STATUS, PROVIDER | RETURN},
    {0xa8, SLE_PDU_EVENT, USER | FORWARD},
    {0xa9, SLE_PDU_EVENT_RETURN, PROVIDER | FORWARD},
    {0xaa, SLE_PDU_CLTU, USER | FORWARD},
    {0xab, SLE_PDU_CLTU_RETURN, PROVIDER | FORWARD},
    {0xac, SLE_PDU_NOTIFY, PROVIDER | FORWARD},
    {0xad, SLE_PDU_STATUS, PROVIDER | FORWARD},
};

static bool may_send(const struct sle_dialect *d, unsigned who)
{
    unsigned side = d->speaker == SLE_FROM_USER ? USER : PROVIDER;
    unsigned service = d->service == SLE_FCLTU ? FORWARD : RETURN;
    return (who & side) != 0 && (who & service) != 0;
}

static bool kind_of(const struct sle_dialect *d, uint32_t tag, enum sle_pdu_kind *kind)
{
    *kind = SLE_PDU_BIND;
    if (d->any_bind)
        return tag == 0xbf64;
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
        if (tags[i].tag == tag && may_send(d, tags[i].who)) {
            *kind = (enum sle_pdu_kind)tags[i].kind;
            return true;
        }
    return false;
}

static uint32_t tag_of(const struct sle_dialect *d, enum sle_pdu_kind kind)
{
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
        if (tags[i].kind == kind && (d->any_bind || may_send(d, tags[i].who)))
            return tags[i].tag;
    return 0;
}

void pdu_code_credentials(struct ber *b, struct slice *credentials)
{
    if (ber_choice(b, credentials->len > 0 ? 0x81 : 0x80) == 0x81) {
        ber_octets(b, 0x81, credentials, 8, SLE_CREDENTIALS_MAX);
    } else {
        *credentials = slice_of(NULL, 0);
        ber_null(b, 0x80);
    }
}

void pdu_code_invoke_id(struct ber *b, uint16_t *id)
{
    CODE_ENUM(b, *id, (uint32_t)UINT16_MAX);
}

void pdu_code_time(struct ber *b, const struct sle_dialect *d, struct sle_time *t)
{
    uint8_t octets[TIME_PICO_OCTETS] = {0};
    struct slice s = slice_of(octets, 0);
    if (b->writing) {
        struct sle_time borne = *t;
        borne.pico = t->pico && d->version >= 3;
        s.len = sle_time_put(borne, octets);
    }
    if (ber_choice(b, s.len == TIME_PICO_OCTETS ? 0x81 : 0x80) == 0x81)
        ber_octets(b, 0x81, &s, TIME_PICO_OCTETS, TIME_PICO_OCTETS);
    else
        ber_octets(b, 0x80, &s, TIME_OCTETS, TIME_OCTETS);
    if (!b->writing && !b->bad && !sle_time_get(s, t))
        ber_fail(b);
}

void pdu_code_when(struct ber *b, const struct sle_dialect *d, struct sle_when *w)
{
    w->known = ber_choice(b, w->known ? 0xa1 : 0x80) == 0xa1;
    if (!w->known) {
        ber_null(b, 0x80);
        return;
    }
    struct ber_mark mark = ber_open(b, 0xa1);
    pdu_code_time(b, d, &w->at);
    ber_close(b, mark);
}

bool pdu_code_result(struct ber *b, unsigned *diag, uint32_t positive)
{
    if (ber_choice(b, *diag == SLE_OK ? positive : 0xa1) == positive) {
        *diag = SLE_OK;
        return true;
    }
    struct ber_mark mark = ber_open(b, 0xa1);
    uint32_t number = *diag & 0xff;
    bool specific = ber_choice(b, (*diag & SLE_SPECIFIC) != 0 ? 0x81 : 0x80) == 0x81;
    ber_u32(b, specific ? 0x81 : 0x80, &number, 0, 255);
    *diag = number | (specific ? SLE_SPECIFIC : SLE_COMMON);
    ber_close(b, mark);
    return false;
}

/* The books that know USLP (version 12) have wider ranges than those before. */
void pdu_code_master(struct ber *b, struct sle_gvcid *g)
{
    CODE_ENUM(b, g->scid, UINT16_MAX);
    CODE_ENUM(b, g->version, SLE_VERSION_USLP);
    b->bad = b->bad || !sle_gvcid_ok((struct sle_gvcid){g->scid, g->version, SLE_MASTER});
}

void pdu_code_gvcid(struct ber *b, uint32_t tag, struct sle_gvcid *g)
{
    struct ber_mark mark = ber_open(b, tag);
    pdu_code_master(b, g);
    if (ber_choice(b, g->vcid == SLE_MASTER ? 0x80 : 0x81) == 0x81) {
        uint32_t vcid = g->vcid;
        ber_u32(b, 0x81, &vcid, 0, 63);
        g->vcid = (uint8_t)vcid;
    } else {
        g->vcid = SLE_MASTER;
        ber_null(b, 0x80);
    }
    ber_close(b, mark);
}

void pdu_code_tc_vcid(struct ber *b, uint8_t *vcid)
{
    if (ber_choice(b, *vcid == SLE_TC_VC_NONE ? 0x80 : 0x81) == 0x81) {
        uint32_t v = *vcid;
        ber_u32(b, 0x81, &v, 0, 63);
        *vcid = (uint8_t)v;
    } else {
        *vcid = SLE_TC_VC_NONE;
        ber_null(b, 0x80);
    }
}

/* STOP's negative result is an INTEGER itself, not a CHOICE. */
static void code_stop_return(struct ber *b, unsigned *diag)
{
    if (ber_choice(b, *diag == SLE_OK ? POSITIVE_NULL : 0x81) == 0x81) {
        uint32_t number = *diag & 0xff;
        ber_u32(b, 0x81, &number, 0, 255);
        *diag = SLE_COMMON + number;
    } else {
        *diag = SLE_OK;
        ber_null(b, POSITIVE_NULL);
    }
}

static void code_schedule(struct ber *b, struct sle_schedule *s)
{
    uint32_t tag = ber_choice(b, 0x80 + (uint32_t)s->report);
    if (tag == 0x81) {
        s->report = SLE_REPORT_PERIODIC;
        ber_u32(b, 0x81, &s->cycle_s, 0, UINT32_MAX);
        return;
    }
    s->report = tag == 0x82 ? SLE_REPORT_STOP : SLE_REPORT_NOW;
    ber_null(b, tag == 0x82 ? 0x82 : 0x80);
}

static void code_null_result(struct ber *b, unsigned *diag)
{
    if (pdu_code_result(b, diag, POSITIVE_NULL))
        ber_null(b, POSITIVE_NULL);
}

static void code_get_return(struct ber *b, const struct sle_dialect *d, struct sle_pdu *p)
{
    if (!pdu_code_result(b, &p->diag, POSITIVE_OPEN))
        return;
    struct ber_mark mark = ber_open(b, POSITIVE_OPEN);
    pdu_code_value(b, d, &p->u.value);
    ber_close(b, mark);
}

static void code_event(struct ber *b, struct sle_event *e)
{
    ber_u32(b, BER_INTEGER, &e->invocation, 0, UINT32_MAX);
    ber_u32(b, BER_INTEGER, &e->event, 1, UINT16_MAX);
    ber_octets(b, BER_OCTETS, &e->qualifier, 1, SLE_QUALIFIER_MAX);
}

static void code_cltu_return(struct ber *b, struct sle_cltu_return *r)
{
    ber_u32(b, BER_INTEGER, &r->next_id, 0, UINT32_MAX);
    ber_u32(b, BER_INTEGER, &r->buffer_available, 0, UINT32_MAX);
}

/* What is behind credentials and invoke id of the operations. */
static void code_operation(struct ber *b, const struct sle_dialect *d, struct sle_pdu *p)
{
    switch (p->kind) {
    case SLE_PDU_START:
        pdu_code_start(b, d, &p->u.start);
        break;
    case SLE_PDU_START_RETURN:
        pdu_code_start_return(b, d, p);
        break;
    case SLE_PDU_STOP_RETURN:
        code_stop_return(b, &p->diag);
        break;
    case SLE_PDU_SCHEDULE:
        code_schedule(b, &p->u.schedule);
        break;
    case SLE_PDU_SCHEDULE_RETURN:
        code_null_result(b, &p->diag);
        break;
    case SLE_PDU_GET:
        ber_u32(b, BER_INTEGER, &p->u.parameter, 0, UINT16_MAX);
        break;
    case SLE_PDU_GET_RETURN:
        code_get_return(b, d, p);
        break;
    case SLE_PDU_CLTU:
        pdu_code_cltu(b, d, &p->u.cltu);
        break;
    case SLE_PDU_CLTU_RETURN:
        code_cltu_return(b, &p->u.cltu_return);
        code_null_result(b, &p->diag);
        break;
    case SLE_PDU_EVENT:
        code_event(b, &p->u.event);
        break;
    case SLE_PDU_EVENT_RETURN:
        ber_u32(b, BER_INTEGER, &p->u.event_return.next_invocation, 0, UINT32_MAX);
        code_null_result(b, &p->diag);
        break;
    default: /* STOP has no more */
        break;
    }
}

static void code_unconfirmed(struct ber *b, const struct sle_dialect *d, struct sle_pdu *p)
{
    switch (p->kind) {
    case SLE_PDU_BIND:
        pdu_code_bind(b, &p->u.bind);
        break;
    case SLE_PDU_BIND_RETURN:
        pdu_code_bind_return(b, &p->u.bind_return);
        break;
    case SLE_PDU_UNBIND:
        ber_u32(b, BER_INTEGER, &p->u.unbind, 0, 127);
        break;
    case SLE_PDU_UNBIND_RETURN:
        ber_null(b, POSITIVE_NULL);
        break;
    case SLE_PDU_STATUS:
        if (d->service == SLE_FCLTU)
            pdu_code_cltu_status(b, d, &p->u.status);
        else
            pdu_code_status(b, d, &p->u.status);
        break;
    case SLE_PDU_NOTIFY:
        pdu_code_async(b, d, &p->u.async);
        break;
    default:
        assert(false);
    }
}

static bool has_invoke_id(enum sle_pdu_kind kind)
{
    return kind != SLE_PDU_STATUS && kind != SLE_PDU_NOTIFY && kind > SLE_PDU_PEER_ABORT;
}

static void code_pdu(struct ber *b, const struct sle_dialect *d, uint32_t tag, struct sle_pdu *p)
{
    if (p->kind == SLE_PDU_PEER_ABORT) {
        ber_u32(b, tag, &p->u.abort, 0, 255);
        return;
    }
    struct ber_mark mark = ber_open(b, tag);
    if (p->kind == SLE_PDU_BUFFER) { /* its items are read one by one */
        assert(!b->writing);
        p->u.buffer = reader_take(&b->r, b->bad ? 0 : reader_left(&b->r));
        ber_close(b, mark);
        return;
    }
    pdu_code_credentials(b, &p->credentials);
    if (has_invoke_id(p->kind)) {
        pdu_code_invoke_id(b, &p->invoke_id);
        code_operation(b, d, p);
    } else {
        code_unconfirmed(b, d, p);
    }
    ber_close(b, mark);
}

enum sle_pdu_verdict sle_pdu_read(const struct sle_dialect *d, struct slice in, struct sle_pdu *out)
{
    struct ber b = ber_reader(in);
    uint32_t tag = ber_choice(&b, 0);
    memset(out, 0, sizeof *out);
    if (tag == 0)
        return SLE_PDU_BAD;
    if (!kind_of(d, tag, &out->kind))
        return SLE_PDU_UNKNOWN;
    code_pdu(&b, d, tag, out);
    return ber_done(&b) ? SLE_PDU_OK : SLE_PDU_BAD;
}

/* Where the content of `used` is in what was written. */
static size_t find_credentials(struct slice pdu, uint32_t tag)
{
    struct ber b = ber_reader(pdu);
    struct slice credentials = {0};
    ber_open(&b, tag);
    pdu_code_credentials(&b, &credentials);
    assert(!b.bad);
    return credentials.len == 0 ? 0 : (size_t)(credentials.data - pdu.data);
}

size_t sle_pdu_write(const struct sle_dialect *d, const struct sle_pdu *pdu, uint8_t *out,
                     size_t room, size_t *credentials_at)
{
    struct ber b = ber_writer(out, room);
    struct sle_pdu copy = *pdu;
    uint32_t tag = tag_of(d, pdu->kind);
    assert(tag != 0 && pdu->kind != SLE_PDU_BUFFER);
    code_pdu(&b, d, tag, &copy);
    if (!ber_done(&b))
        return 0;
    if (credentials_at != NULL)
        *credentials_at = pdu->kind == SLE_PDU_PEER_ABORT
                              ? 0
                              : find_credentials(slice_of(out, writer_len(&b.w)), tag);
    return writer_len(&b.w);
}

size_t sle_pdu_room(const struct sle_pdu *pdu)
{
    size_t room = 2048;
    if (pdu->kind == SLE_PDU_CLTU)
        room += pdu->u.cltu.data.len;
    if (pdu->kind == SLE_PDU_GET_RETURN)
        room += 24 * pdu->u.value.gvcid_count;
    return room;
}
