/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value is read from its first octet to its last; octets that are left make it malformed. What
 * can go wrong: a length beyond the end, an action, handler or condition that is none.
 */
#include "cfdp/tlv.h"

#include "cfdp/pdu.h"

static const uint8_t reserved[4] = {'c', 'f', 'd', 'p'};

struct slice cfdp_lv_read(struct reader *r)
{
    const unsigned len = reader_byte(r);
    return reader_take(r, len);
}

void cfdp_lv_write(struct writer *w, struct slice s)
{
    if (s.len > UINT8_MAX) {
        w->bad = true;
        return;
    }
    writer_byte(w, (uint8_t)s.len);
    writer_bytes(w, s.data, s.len);
}

bool cfdp_tlv_next(struct slice *rest, struct cfdp_tlv *out)
{
    struct reader r = reader_of(rest->data, rest->len);
    if (rest->len == 0)
        return false;
    out->type = reader_byte(&r);
    out->value = cfdp_lv_read(&r);
    if (r.bad)
        return false;
    *rest = slice_of(r.p, reader_left(&r));
    return true;
}

void cfdp_tlv_write(struct writer *w, unsigned type, struct slice value)
{
    writer_byte(w, (uint8_t)type);
    cfdp_lv_write(w, value);
}

static bool is_read(const struct reader *r)
{
    return !r->bad && reader_left(r) == 0;
}

/* ---- filestore requests and responses ---- */

bool cfdp_request_parse(struct slice value, struct cfdp_request *out)
{
    struct reader r = reader_of(value.data, value.len);
    *out = (struct cfdp_request){.action = reader_byte(&r) >> 4};
    out->first = cfdp_lv_read(&r);
    if (cfdp_action_has_two(out->action))
        out->second = cfdp_lv_read(&r);
    return is_read(&r) && out->action < CFDP_ACTIONS_COUNT;
}

void cfdp_request_write(struct writer *w, const struct cfdp_request *q)
{
    uint8_t room[UINT8_MAX];
    struct writer v = writer_of(room, sizeof room);
    writer_byte(&v, (uint8_t)(q->action << 4));
    cfdp_lv_write(&v, q->first);
    if (cfdp_action_has_two(q->action))
        cfdp_lv_write(&v, q->second);
    w->bad = w->bad || v.bad;
    cfdp_tlv_write(w, CFDP_TLV_REQUEST, slice_of(room, writer_len(&v)));
}

bool cfdp_response_parse(struct slice value, struct cfdp_response *out)
{
    struct reader r = reader_of(value.data, value.len);
    const unsigned lead = reader_byte(&r);
    *out = (struct cfdp_response){.action = lead >> 4, .status = lead & 15};
    out->first = cfdp_lv_read(&r);
    if (cfdp_action_has_two(out->action))
        out->second = cfdp_lv_read(&r);
    out->message = cfdp_lv_read(&r);
    return is_read(&r) && out->action < CFDP_ACTIONS_COUNT;
}

void cfdp_response_write(struct writer *w, const struct cfdp_response *q)
{
    uint8_t room[UINT8_MAX];
    struct writer v = writer_of(room, sizeof room);
    writer_byte(&v, (uint8_t)(q->action << 4 | (q->status & 15)));
    cfdp_lv_write(&v, q->first);
    if (cfdp_action_has_two(q->action))
        cfdp_lv_write(&v, q->second);
    cfdp_lv_write(&v, q->message);
    w->bad = w->bad || v.bad;
    cfdp_tlv_write(w, CFDP_TLV_RESPONSE, slice_of(room, writer_len(&v)));
}

size_t cfdp_response_len(const struct cfdp_request *q)
{
    const size_t second = cfdp_action_has_two(q->action) ? 1 + q->second.len : 0;
    const size_t len = 1 + 1 + q->first.len + second + 1;
    return len <= UINT8_MAX ? 2 + len : 0;
}

/* ---- fault handler overrides ---- */

static bool is_handler(unsigned handler)
{
    return handler >= CFDP_HANDLE_CANCEL && handler <= CFDP_HANDLE_ABANDON;
}

bool cfdp_override_parse(struct slice value, unsigned *condition, unsigned *handler)
{
    if (value.len != 1 || !is_handler(value.data[0] & 15))
        return false;
    *condition = value.data[0] >> 4;
    *handler = value.data[0] & 15;
    return true;
}

void cfdp_override_write(struct writer *w, unsigned condition, unsigned handler)
{
    const uint8_t value = (uint8_t)(condition << 4 | (handler & 15));
    cfdp_tlv_write(w, CFDP_TLV_HANDLER, slice_of(&value, 1));
}

/* ---- reserved messages ---- */

static void read_originating(struct reader *r, struct cfdp_message *out)
{
    const unsigned lead = reader_byte(r);
    out->id.source = reader_number(r, (int)(lead >> 4 & 7) + 1);
    out->id.sequence = reader_number(r, (int)(lead & 7) + 1);
}

static void read_proxy_put(struct reader *r, struct cfdp_message *out)
{
    const struct slice entity = cfdp_lv_read(r);
    if (entity.len < 1 || entity.len > 8) {
        r->bad = true;
        return;
    }
    out->entity = number_at(entity.data, (int)entity.len);
    out->first = cfdp_lv_read(r);
    out->second = cfdp_lv_read(r);
}

static void read_put_response(struct reader *r, struct cfdp_message *out)
{
    const unsigned v = reader_byte(r);
    out->condition = v >> 4;
    out->flag = (v >> 2 & 1) != 0;
    out->status = v & 3;
}

static void read_handler(struct reader *r, struct cfdp_message *out)
{
    const unsigned v = reader_byte(r);
    out->condition = v >> 4;
    out->status = v & 15;
    r->bad = r->bad || !is_handler(out->status);
}

/* False: a kind that is not known here. */
static bool read_content(struct reader *r, struct cfdp_message *out)
{
    switch (out->kind) {
    case CFDP_PROXY_PUT:
        read_proxy_put(r, out);
        return true;
    case CFDP_PROXY_MESSAGE:
    case CFDP_PROXY_REQUEST:
    case CFDP_PROXY_RESPONSE:
    case CFDP_PROXY_FLOW:
        out->first = cfdp_lv_read(r);
        return true;
    case CFDP_PROXY_HANDLER:
        read_handler(r, out);
        return true;
    case CFDP_PROXY_MODE:
    case CFDP_PROXY_SEGMENTATION:
    case CFDP_PROXY_CLOSURE:
        out->flag = (reader_byte(r) & 1) != 0;
        return true;
    case CFDP_PROXY_PUT_RESPONSE:
        read_put_response(r, out);
        return true;
    case CFDP_PROXY_CANCEL:
        return true;
    case CFDP_ORIGINATING_ID:
        read_originating(r, out);
        return true;
    case CFDP_LISTING_RESPONSE:
        out->flag = (reader_byte(r) >> 7 & 1) != 0;
        out->first = cfdp_lv_read(r);
        out->second = cfdp_lv_read(r);
        return true;
    case CFDP_LISTING_REQUEST:
        out->first = cfdp_lv_read(r);
        out->second = cfdp_lv_read(r);
        return true;
    default:
        return false;
    }
}

int cfdp_message_parse(struct slice value, struct cfdp_message *out)
{
    struct reader r = reader_of(value.data, value.len);
    const struct slice lead = reader_take(&r, sizeof reserved);
    if (!slice_equal(lead, slice_of(reserved, sizeof reserved)))
        return 0;
    *out = (struct cfdp_message){.kind = (enum cfdp_message_kind)reader_byte(&r)};
    if (r.bad)
        return HELIO_EFORMAT;
    if (!read_content(&r, out))
        return 0;
    return is_read(&r) ? 1 : HELIO_EFORMAT;
}

static void write_entity(struct writer *w, uint64_t entity)
{
    const uint8_t len = cfdp_number_len(entity);
    writer_byte(w, len);
    writer_number(w, entity, len);
}

static void write_originating(struct writer *w, struct cfdp_id id)
{
    const int a = cfdp_number_len(id.source), b = cfdp_number_len(id.sequence);
    writer_byte(w, (uint8_t)((a - 1) << 4 | (b - 1)));
    writer_number(w, id.source, a);
    writer_number(w, id.sequence, b);
}

static void write_content(struct writer *w, const struct cfdp_message *m)
{
    switch (m->kind) {
    case CFDP_PROXY_PUT:
        write_entity(w, m->entity);
        cfdp_lv_write(w, m->first);
        cfdp_lv_write(w, m->second);
        break;
    case CFDP_PROXY_MESSAGE:
    case CFDP_PROXY_REQUEST:
    case CFDP_PROXY_RESPONSE:
    case CFDP_PROXY_FLOW:
        cfdp_lv_write(w, m->first);
        break;
    case CFDP_PROXY_HANDLER:
        writer_byte(w, (uint8_t)(m->condition << 4 | (m->status & 15)));
        break;
    case CFDP_PROXY_MODE:
    case CFDP_PROXY_SEGMENTATION:
    case CFDP_PROXY_CLOSURE:
        writer_byte(w, m->flag);
        break;
    case CFDP_PROXY_PUT_RESPONSE:
        writer_byte(w, (uint8_t)(m->condition << 4 | (unsigned)m->flag << 2 | (m->status & 3)));
        break;
    case CFDP_PROXY_CANCEL:
        break;
    case CFDP_ORIGINATING_ID:
        write_originating(w, m->id);
        break;
    case CFDP_LISTING_RESPONSE:
        writer_byte(w, m->flag ? 0x80 : 0);
        cfdp_lv_write(w, m->first);
        cfdp_lv_write(w, m->second);
        break;
    case CFDP_LISTING_REQUEST:
        cfdp_lv_write(w, m->first);
        cfdp_lv_write(w, m->second);
        break;
    }
}

void cfdp_message_write(struct writer *w, const struct cfdp_message *m)
{
    uint8_t room[UINT8_MAX];
    struct writer v = writer_of(room, sizeof room);
    writer_bytes(&v, reserved, sizeof reserved);
    writer_byte(&v, (uint8_t)m->kind);
    write_content(&v, m);
    w->bad = w->bad || v.bad;
    cfdp_tlv_write(w, CFDP_TLV_MESSAGE, slice_of(room, writer_len(&v)));
}
