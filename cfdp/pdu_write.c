/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing: the data field behind the header's place, the CRC, and last the header, when the length
 * of the data field is known. What can go wrong: there is too little room.
 */
#include <assert.h>

#include "cfdp/pdu.h"
#include "cfdp/tlv.h"
#include "frames/fecf.h"

static void write_size(struct writer *w, const struct cfdp_head *h, uint64_t v)
{
    assert(h->large || v <= UINT32_MAX);
    writer_number(w, v, cfdp_fss(h));
}

static void write_fault(struct writer *w, uint64_t at, bool has)
{
    uint8_t value[8];
    struct writer v = writer_of(value, sizeof value);
    if (!has)
        return;
    writer_number(&v, at, cfdp_number_len(at));
    cfdp_tlv_write(w, CFDP_TLV_ENTITY, slice_of(value, writer_len(&v)));
}

static void write_data(struct writer *w, const struct cfdp_pdu *p)
{
    const struct cfdp_data *d = &p->u.data;
    if (p->head.has_metadata) {
        assert(d->metadata.len < 64 && d->continuation < 4);
        writer_byte(w, (uint8_t)(d->continuation << 6 | d->metadata.len));
        writer_bytes(w, d->metadata.data, d->metadata.len);
    }
    write_size(w, &p->head, d->offset);
    writer_bytes(w, d->octets.data, d->octets.len);
}

static void write_metadata(struct writer *w, const struct cfdp_pdu *p)
{
    const struct cfdp_metadata *m = &p->u.metadata;
    writer_byte(w, (uint8_t)((m->closure ? 0x40u : 0u) | (m->checksum & 15)));
    write_size(w, &p->head, m->size);
    cfdp_lv_write(w, m->source_name);
    cfdp_lv_write(w, m->destination_name);
    writer_bytes(w, m->options.data, m->options.len);
}

static void write_finished(struct writer *w, const struct cfdp_finished *f)
{
    writer_byte(w, (uint8_t)(f->condition << 4 | (f->incomplete ? 4u : 0u) | (f->status & 3)));
    writer_bytes(w, f->responses.data, f->responses.len);
    write_fault(w, f->fault_at, f->has_fault_at);
}

static void write_field(struct writer *w, const struct cfdp_pdu *p)
{
    if (p->kind != CFDP_PDU_FILE_DATA)
        writer_byte(w, (uint8_t)p->kind);
    switch (p->kind) {
    case CFDP_PDU_EOF:
        writer_byte(w, (uint8_t)(p->u.eof.condition << 4));
        writer_number(w, p->u.eof.checksum, 4);
        write_size(w, &p->head, p->u.eof.size);
        write_fault(w, p->u.eof.fault_at, p->u.eof.has_fault_at);
        break;
    case CFDP_PDU_FINISHED:
        write_finished(w, &p->u.finished);
        break;
    case CFDP_PDU_ACK:
        writer_byte(w, (uint8_t)(p->u.ack.of << 4 | (p->u.ack.of == CFDP_PDU_FINISHED)));
        writer_byte(w, (uint8_t)(p->u.ack.condition << 4 | (p->u.ack.status & 3)));
        break;
    case CFDP_PDU_METADATA:
        write_metadata(w, p);
        break;
    case CFDP_PDU_NAK:
        write_size(w, &p->head, p->u.nak.lo);
        write_size(w, &p->head, p->u.nak.hi);
        writer_bytes(w, p->u.nak.requests.data, p->u.nak.requests.len);
        break;
    case CFDP_PDU_PROMPT:
        writer_byte(w, p->u.prompt_keep_alive ? 0x80 : 0);
        break;
    case CFDP_PDU_KEEP_ALIVE:
        write_size(w, &p->head, p->u.progress);
        break;
    case CFDP_PDU_FILE_DATA:
        write_data(w, p);
        break;
    }
}

static bool holds_number(int octets, uint64_t v)
{
    return octets >= 1 && octets <= 8 && cfdp_number_len(v) <= octets;
}

static void write_head(uint8_t *out, const struct cfdp_pdu *p, size_t len)
{
    const struct cfdp_head *h = &p->head;
    struct writer w = writer_of(out, cfdp_head_len(h));
    assert(holds_number(h->id_len, h->source) && holds_number(h->id_len, h->destination));
    assert(holds_number(h->sequence_len, h->sequence));
    writer_byte(&w, (uint8_t)(1u << 5 | (p->kind == CFDP_PDU_FILE_DATA ? 0x10u : 0u) |
                              (h->toward_sender ? 8u : 0u) | (h->unacknowledged ? 4u : 0u) |
                              (h->crc ? 2u : 0u) | (h->large ? 1u : 0u)));
    writer_number(&w, len, 2);
    writer_byte(&w, (uint8_t)((h->boundaries ? 0x80u : 0u) | (h->id_len - 1u) << 4 |
                              (h->has_metadata ? 8u : 0u) | (h->sequence_len - 1u)));
    writer_number(&w, h->source, h->id_len);
    writer_number(&w, h->sequence, h->sequence_len);
    writer_number(&w, h->destination, h->id_len);
    assert(!w.bad && writer_len(&w) == cfdp_head_len(h));
}

size_t cfdp_pdu_write(const struct cfdp_pdu *pdu, uint8_t *out, size_t room)
{
    const size_t head = cfdp_head_len(&pdu->head), tail = pdu->head.crc ? 2 : 0;
    if (room < head + tail)
        return 0;
    struct writer w = writer_of(out + head, room - head - tail);
    write_field(&w, pdu);
    const size_t len = writer_len(&w) + tail;
    if (w.bad || len > CFDP_FIELD_MAX)
        return 0;
    write_head(out, pdu, len);
    if (tail > 0) {
        const uint16_t crc = fecf_crc(FECF_INIT, out, head + len - tail);
        out[head + len - 2] = (uint8_t)(crc >> 8);
        out[head + len - 1] = (uint8_t)(crc & 0xff);
    }
    return head + len;
}
