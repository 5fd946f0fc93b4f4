/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsing: the header, the CRC if there is one, then the fields of the kind. What can go wrong is
 * in CFDP_PDU_RESULTS. A file directive with octets after its last field is refused, but for NAK's
 * segment requests and options, which fill the rest.
 */
#include "cfdp/pdu.h"

#include "cfdp/tlv.h"
#include "frames/fecf.h"

#define VERSION 1 /* of this issue: 0b001 */

uint8_t cfdp_number_len(uint64_t v)
{
    uint8_t n = 1;
    while (n < 8 && v >> (8 * n) != 0)
        n++;
    return n;
}

size_t cfdp_head_len(const struct cfdp_head *h)
{
    return 4u + 2u * h->id_len + h->sequence_len;
}

/* ---- fields ---- */

static uint64_t read_size(struct reader *r, const struct cfdp_head *h)
{
    return reader_number(r, cfdp_fss(h));
}

/* At the end: nothing, or the entity where a fault was. */
static enum cfdp_pdu_result read_fault(struct slice rest, uint64_t *at, bool *has)
{
    struct cfdp_tlv tlv;
    *has = false;
    if (rest.len == 0)
        return CFDP_PDU_OK;
    if (!cfdp_tlv_next(&rest, &tlv) || rest.len > 0 || tlv.type != CFDP_TLV_ENTITY ||
        tlv.value.len < 1 || tlv.value.len > 8)
        return CFDP_PDU_TLV;
    *at = number_at(tlv.value.data, (int)tlv.value.len);
    *has = true;
    return CFDP_PDU_OK;
}

static struct slice take_rest(struct reader *r)
{
    return r->bad ? slice_of(NULL, 0) : reader_take(r, reader_left(r));
}

static enum cfdp_pdu_result read_eof(struct reader *r, struct cfdp_pdu *p)
{
    struct cfdp_eof *e = &p->u.eof;
    e->condition = reader_byte(r) >> 4;
    e->checksum = (uint32_t)reader_number(r, 4);
    e->size = read_size(r, &p->head);
    return read_fault(take_rest(r), &e->fault_at, &e->has_fault_at);
}

static enum cfdp_pdu_result read_finished(struct reader *r, struct cfdp_pdu *p)
{
    struct cfdp_finished *f = &p->u.finished;
    struct cfdp_response response;
    struct cfdp_tlv tlv;
    const unsigned v = reader_byte(r);
    f->condition = v >> 4;
    f->incomplete = (v >> 2 & 1) != 0;
    f->status = v & 3;
    struct slice rest = take_rest(r), after = rest;
    f->responses = slice_of(rest.data, 0);
    while (cfdp_tlv_next(&after, &tlv) && tlv.type == CFDP_TLV_RESPONSE) {
        if (!cfdp_response_parse(tlv.value, &response))
            return CFDP_PDU_TLV;
        f->responses.len = rest.len - after.len;
    }
    after = slice_of(rest.data == NULL ? NULL : rest.data + f->responses.len,
                     rest.len - f->responses.len);
    return read_fault(after, &f->fault_at, &f->has_fault_at);
}

static enum cfdp_pdu_result read_ack(struct reader *r, struct cfdp_pdu *p)
{
    const unsigned of = reader_byte(r), how = reader_byte(r);
    p->u.ack = (struct cfdp_ack){.of = of >> 4, .condition = how >> 4, .status = how & 3};
    /* Not the subtype, which follows: NASA's CF before version 7 writes 1 for EOF as well. */
    const bool good = of >> 4 == CFDP_PDU_EOF || of >> 4 == CFDP_PDU_FINISHED;
    return r->bad || good ? CFDP_PDU_OK : CFDP_PDU_FIELD;
}

static bool are_tlvs(struct slice rest)
{
    struct cfdp_tlv tlv;
    while (cfdp_tlv_next(&rest, &tlv))
        ;
    return rest.len == 0;
}

static enum cfdp_pdu_result read_metadata(struct reader *r, struct cfdp_pdu *p)
{
    struct cfdp_metadata *m = &p->u.metadata;
    const unsigned v = reader_byte(r);
    m->closure = (v >> 6 & 1) != 0;
    m->checksum = v & 15;
    m->size = read_size(r, &p->head);
    m->source_name = cfdp_lv_read(r);
    m->destination_name = cfdp_lv_read(r);
    m->options = take_rest(r);
    return are_tlvs(m->options) ? CFDP_PDU_OK : CFDP_PDU_TLV;
}

static enum cfdp_pdu_result read_nak(struct reader *r, struct cfdp_pdu *p)
{
    struct cfdp_nak *n = &p->u.nak;
    n->lo = read_size(r, &p->head);
    n->hi = read_size(r, &p->head);
    n->requests = take_rest(r);
    if (n->requests.len % (2u * (unsigned)cfdp_fss(&p->head)) != 0)
        return CFDP_PDU_SHORT;
    struct slice rest = n->requests;
    uint64_t lo, hi;
    bool good = n->lo <= n->hi;
    while (good && cfdp_nak_next(&p->head, &rest, &lo, &hi))
        good = lo < hi || (lo == 0 && hi == 0);
    return good ? CFDP_PDU_OK : CFDP_PDU_FIELD;
}

static enum cfdp_pdu_result read_data(struct reader *r, struct cfdp_pdu *p)
{
    struct cfdp_data *d = &p->u.data;
    *d = (struct cfdp_data){0};
    if (p->head.has_metadata) {
        const unsigned v = reader_byte(r);
        d->continuation = v >> 6;
        d->metadata = reader_take(r, v & 63);
    }
    d->offset = read_size(r, &p->head);
    d->octets = take_rest(r);
    return d->octets.len <= UINT64_MAX - d->offset ? CFDP_PDU_OK : CFDP_PDU_FIELD;
}

static enum cfdp_pdu_result read_directive(struct reader *r, struct cfdp_pdu *p)
{
    const unsigned code = reader_byte(r);
    p->kind = (enum cfdp_pdu_kind)code;
    switch (code) {
    case CFDP_PDU_EOF:
        return read_eof(r, p);
    case CFDP_PDU_FINISHED:
        return read_finished(r, p);
    case CFDP_PDU_ACK:
        return read_ack(r, p);
    case CFDP_PDU_METADATA:
        return read_metadata(r, p);
    case CFDP_PDU_NAK:
        return read_nak(r, p);
    case CFDP_PDU_PROMPT:
        p->u.prompt_keep_alive = (reader_byte(r) >> 7) != 0;
        return CFDP_PDU_OK;
    case CFDP_PDU_KEEP_ALIVE:
        p->u.progress = read_size(r, &p->head);
        return CFDP_PDU_OK;
    default:
        return r->bad ? CFDP_PDU_SHORT : CFDP_PDU_KIND;
    }
}

/* ---- the whole ---- */

static enum cfdp_pdu_result read_head(struct reader *r, struct cfdp_head *h, bool *is_data,
                                      size_t *len)
{
    const unsigned flags = reader_byte(r);
    *len = (size_t)reader_number(r, 2);
    const unsigned lengths = reader_byte(r);
    if (!r->bad && flags >> 5 != VERSION)
        return CFDP_PDU_VERSION;
    *is_data = (flags >> 4 & 1) != 0;
    *h = (struct cfdp_head){.toward_sender = (flags >> 3 & 1) != 0,
                            .unacknowledged = (flags >> 2 & 1) != 0,
                            .crc = (flags >> 1 & 1) != 0,
                            .large = (flags & 1) != 0,
                            .boundaries = lengths >> 7 != 0,
                            .id_len = (uint8_t)((lengths >> 4 & 7) + 1),
                            .has_metadata = (lengths >> 3 & 1) != 0,
                            .sequence_len = (uint8_t)((lengths & 7) + 1)};
    h->source = reader_number(r, h->id_len);
    h->sequence = reader_number(r, h->sequence_len);
    h->destination = reader_number(r, h->id_len);
    return r->bad ? CFDP_PDU_SHORT : CFDP_PDU_OK;
}

enum cfdp_pdu_result cfdp_pdu_parse(struct slice in, struct cfdp_pdu *out)
{
    struct reader r = reader_of(in.data, in.len);
    bool is_data = false;
    size_t len = 0;
    enum cfdp_pdu_result rc = read_head(&r, &out->head, &is_data, &len);
    if (rc != CFDP_PDU_OK)
        return rc;
    if (len != reader_left(&r))
        return CFDP_PDU_LENGTH;
    if (out->head.crc) {
        if (len < 2)
            return CFDP_PDU_SHORT;
        if (fecf_crc(FECF_INIT, in.data, in.len) != 0)
            return CFDP_PDU_CRC;
        r.end -= 2;
    }
    out->kind = CFDP_PDU_FILE_DATA;
    rc = is_data ? read_data(&r, out) : read_directive(&r, out);
    if (r.bad)
        return CFDP_PDU_SHORT;
    return rc == CFDP_PDU_OK && reader_left(&r) > 0 ? CFDP_PDU_FIELD : rc;
}

bool cfdp_nak_next(const struct cfdp_head *h, struct slice *rest, uint64_t *lo, uint64_t *hi)
{
    struct reader r = reader_of(rest->data, rest->len);
    const uint64_t a = read_size(&r, h), b = read_size(&r, h);
    if (r.bad)
        return false;
    *lo = a;
    *hi = b;
    *rest = slice_of(r.p, reader_left(&r));
    return true;
}
