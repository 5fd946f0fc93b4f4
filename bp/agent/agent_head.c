/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Straight lines of cursor calls in one fixed order. The store gives back what it was given; bytes
 * that are not such a head (a damaged medium, another version) are refused as a whole.
 */
#include "bp/agent/agent_head.h"

#include <assert.h>
#include <endian.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "bp/codec/check.h"

#define HEAD_VERSION 1
#define HEAD_VERSION_QOS 2 /* has a number more: a bundle that is not like all others */

enum head_flag {
    HEAD_FROM_LINK = 1,
    HEAD_REWRITE = 2,
    HEAD_HOPS = 4,
    HEAD_DESTINATION_THREE = 8,
    HEAD_REPORT_TO_THREE = 16,
    HEAD_SOURCE_THREE = 32,
    HEAD_FRAGMENT = 64,
    HEAD_PEER = 128, /* before the id; heads without it are older */
};

#define NUMBER_MAX 10u /* bytes of the longest number */
static_assert(3 * (EID_SSP_MAX + 4) + 16 * NUMBER_MAX + 2 <= AGENT_HEAD_MAX, "room for any head");
static_assert(EID_SSP_MAX + 4 + 6 * NUMBER_MAX <= AGENT_ID_MAX, "room for any id");

/* The longest number always fits, so its bytes are written without single checks. */
static void put_number(struct writer *w, uint64_t v)
{
    if ((size_t)(w->end - w->p) < NUMBER_MAX) {
        w->bad = true;
        return;
    }
    uint8_t *p = w->p;
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    w->p = p;
}

/* Seven bits of each byte: put together, then the pairs, then the fours. */
static uint64_t join_bits(uint64_t x)
{
    x = (x & UINT64_C(0x007f007f007f007f)) | (x & UINT64_C(0x7f007f007f007f00)) >> 1;
    x = (x & UINT64_C(0x00003fff00003fff)) | (x & UINT64_C(0x3fff00003fff0000)) >> 2;
    return (x & UINT64_C(0x0fffffff)) | (x & UINT64_C(0x0fffffff00000000)) >> 4;
}

/* Eight bytes at once where there are so many; the rest of the number, or of the head, by bytes. */
static uint64_t get_long_number(struct reader *r)
{
    const uint8_t *p = r->p;
    const uint8_t *const end = reader_left(r) < NUMBER_MAX ? r->end : p + NUMBER_MAX;
    uint64_t v = 0;
    unsigned shift = 0;
    if (end - p >= 8) {
        memcpy(&v, p, 8);
        v = le64toh(v);
        const uint64_t ends = ~v & UINT64_C(0x8080808080808080); /* bytes that none follows */
        if (ends != 0) {
            const unsigned bits = (unsigned)__builtin_ctzll(ends) + 1;
            r->p = p + bits / 8;
            return join_bits(v & UINT64_MAX >> (64 - bits));
        }
        v = join_bits(v);
        p += 8;
        shift = 56;
    }
    for (; p < end; shift += 7) {
        const uint8_t b = *p++;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (b & 0x80)
            continue;
        r->p = p;
        r->bad = r->bad || (shift == 63 && b > 1);
        return v;
    }
    r->bad = true;
    return 0;
}

static inline uint64_t get_number(struct reader *r)
{
    return r->p < r->end && *r->p < 0x80 ? *r->p++ : get_long_number(r); /* most are short */
}

static void put_eid(struct writer *w, const struct eid *e)
{
    writer_byte(w, (uint8_t)e->scheme);
    if (e->scheme == EID_IPN) {
        put_number(w, e->allocator);
        put_number(w, e->node);
        put_number(w, e->service);
        return;
    }
    if (e->scheme == EID_OTHER) {
        put_number(w, e->number);
        put_number(w, e->raw_len);
        writer_bytes(w, e->ssp, e->raw_len);
        return;
    }
    size_t len = strnlen(e->ssp, EID_SSP_MAX);
    put_number(w, len);
    writer_bytes(w, e->ssp, len);
}

static void get_other(struct reader *r, struct eid *e)
{
    e->scheme = EID_OTHER;
    e->number = get_number(r);
    struct slice raw = reader_take(r, get_number(r));
    if (raw.len > 0 && raw.len <= EID_RAW_MAX) {
        e->raw_len = raw.len;
        memcpy(e->ssp, raw.data, raw.len);
    }
    r->bad = r->bad || !eid_legal(e);
}

static void get_ipn(struct reader *r, bool three, struct eid *e)
{
    uint64_t allocator = get_number(r), node = get_number(r), service = get_number(r);
    r->bad = r->bad || allocator > UINT32_MAX || node > UINT32_MAX;
    if (r->bad)
        return;
    e->scheme = EID_IPN;
    e->allocator = allocator;
    e->node = node;
    e->service = service;
    e->three = three;
}

/* *e must be zeroed. An EID is large and a head is decoded several times: no copies. */
static void get_eid(struct reader *r, bool three, struct eid *e)
{
    const uint8_t scheme = reader_byte(r);
    if (scheme == EID_OTHER) {
        get_other(r, e);
        return;
    }
    if (scheme == EID_IPN) {
        get_ipn(r, three, e);
        return;
    }
    struct slice ssp = reader_take(r, get_number(r));
    if (scheme != EID_DTN || ssp.len > EID_SSP_MAX ||
        (ssp.len > 0 && memchr(ssp.data, 0, ssp.len) != NULL)) {
        r->bad = true;
        return;
    }
    e->scheme = EID_DTN;
    if (ssp.len > 0)
        memcpy(e->ssp, ssp.data, ssp.len);
}

static void put_id(struct writer *w, const struct bundle_id *id, uint64_t payload_len)
{
    put_eid(w, &id->source);
    put_number(w, id->time_ms);
    put_number(w, id->sequence);
    if (!id->fragment)
        return;
    put_number(w, id->offset);
    put_number(w, id->total);
    put_number(w, payload_len);
}

size_t agent_id_encode(const struct bundle_id *id, uint64_t payload_len, uint8_t out[AGENT_ID_MAX])
{
    struct writer w = writer_of(out, AGENT_ID_MAX);
    put_id(&w, id, payload_len);
    assert(!w.bad);
    return writer_len(&w);
}

#define NEIGHBOURS 64

uint64_t agent_id_hash(uint64_t seed, struct slice id)
{
    size_t at = id.len; /* where its last number begins; with bytes that are no id, anywhere */
    uint64_t number = 0;
    do {
        if (at == 0)
            return hash_mix(seed, number, 3);
        number = number << 7 | (id.data[--at] & 0x7f);
    } while (at > 0 && id.data[at - 1] >= 0x80);
    return hash_mix(hash_bytes(seed, id.data, at), number / NEIGHBOURS, 3) + number % NEIGHBOURS;
}

/* Priority, ordinal and flags in one number. */
#define QOS_CRITICAL_BIT 4u

static uint64_t pack_qos(const struct agent_qos *q)
{
    assert(q->priority < BUNDLE_PRIORITIES);
    return (uint64_t)q->ordinal << 3 | (q->critical ? QOS_CRITICAL_BIT : 0) | (uint64_t)q->priority;
}

static bool has_qos(const struct agent_qos *q)
{
    return pack_qos(q) != BUNDLE_NORMAL;
}

static void get_qos(struct reader *r, struct agent_qos *q)
{
    const uint64_t v = get_number(r);
    if ((v & 3) >= BUNDLE_PRIORITIES || v >> 3 > UINT8_MAX) {
        r->bad = true;
        return;
    }
    q->priority = (uint8_t)(v & 3);
    q->critical = v & QOS_CRITICAL_BIT;
    q->ordinal = (uint8_t)(v >> 3);
}

size_t agent_head_encode(const struct agent_head *h, uint8_t out[AGENT_HEAD_MAX], size_t *id_off)
{
    struct writer w = writer_of(out, AGENT_HEAD_MAX);
    bool with_peer = h->from_link && h->peer != 0;
    writer_byte(&w, has_qos(&h->qos) ? HEAD_VERSION_QOS : HEAD_VERSION);
    writer_byte(&w, (uint8_t)((h->from_link ? HEAD_FROM_LINK : 0) |
                              (h->rewrite ? HEAD_REWRITE : 0) | (h->has_hops ? HEAD_HOPS : 0) |
                              (h->destination.three ? HEAD_DESTINATION_THREE : 0) |
                              (h->report_to.three ? HEAD_REPORT_TO_THREE : 0) |
                              (h->id.source.three ? HEAD_SOURCE_THREE : 0) |
                              (h->id.fragment ? HEAD_FRAGMENT : 0) | (with_peer ? HEAD_PEER : 0)));
    put_number(&w, h->flags);
    put_number(&w, h->expires_ms);
    put_number(&w, h->arrived_ms);
    put_number(&w, h->lifetime_ms);
    put_number(&w, h->age_ms);
    put_number(&w, h->hop_limit);
    put_number(&w, h->hop_count);
    put_number(&w, h->payload_len);
    put_eid(&w, &h->destination);
    put_eid(&w, &h->report_to);
    if (with_peer)
        put_number(&w, h->peer);
    if (has_qos(&h->qos))
        put_number(&w, pack_qos(&h->qos));
    *id_off = writer_len(&w);
    put_id(&w, &h->id, h->payload_len);
    assert(!w.bad);
    return writer_len(&w);
}

/* *payload_len: of a fragment. */
static void get_id(struct reader *r, bool three, struct bundle_id *id, uint64_t *payload_len)
{
    get_eid(r, three, &id->source);
    id->time_ms = get_number(r);
    id->sequence = get_number(r);
    if (!id->fragment)
        return;
    id->offset = get_number(r);
    id->total = get_number(r);
    *payload_len = get_number(r);
}

void agent_head_id(struct slice head, size_t id_off, struct bundle_id *out)
{
    assert(head.len > 2 && id_off <= head.len);
    const uint8_t flags = head.data[1];
    struct reader r = reader_of(head.data + id_off, head.len - id_off);
    uint64_t payload_len;
    *out = (struct bundle_id){.fragment = flags & HEAD_FRAGMENT};
    get_id(&r, flags & HEAD_SOURCE_THREE, out, &payload_len);
    assert(!r.bad && reader_left(&r) == 0);
}

bool agent_head_rewrites(struct slice head)
{
    assert(head.len > 2);
    return head.data[1] & HEAD_REWRITE;
}

int agent_head_decode(struct slice head, struct agent_head *h, size_t *id_off)
{
    struct reader r = reader_of(head.data, head.len);
    *h = (struct agent_head){0};
    const uint8_t version = reader_byte(&r);
    if (head.len > AGENT_HEAD_MAX || (version != HEAD_VERSION && version != HEAD_VERSION_QOS))
        return HELIO_EFORMAT;
    uint8_t flags = reader_byte(&r);
    h->from_link = flags & HEAD_FROM_LINK;
    h->rewrite = flags & HEAD_REWRITE;
    h->has_hops = flags & HEAD_HOPS;
    h->id.fragment = flags & HEAD_FRAGMENT;
    h->flags = get_number(&r);
    h->expires_ms = get_number(&r);
    h->arrived_ms = get_number(&r);
    h->lifetime_ms = get_number(&r);
    h->age_ms = get_number(&r);
    h->hop_limit = get_number(&r);
    h->hop_count = get_number(&r);
    h->payload_len = get_number(&r);
    get_eid(&r, flags & HEAD_DESTINATION_THREE, &h->destination);
    get_eid(&r, flags & HEAD_REPORT_TO_THREE, &h->report_to);
    h->peer = flags & HEAD_PEER ? get_number(&r) : 1;
    if (h->peer == 0)
        return HELIO_EFORMAT;
    h->qos.priority = BUNDLE_NORMAL;
    if (version == HEAD_VERSION_QOS)
        get_qos(&r, &h->qos);
    *id_off = head.len - reader_left(&r);
    uint64_t payload_len = h->payload_len;
    get_id(&r, flags & HEAD_SOURCE_THREE, &h->id, &payload_len);
    return r.bad || payload_len != h->payload_len || reader_left(&r) > 0 ? HELIO_EFORMAT : 0;
}
