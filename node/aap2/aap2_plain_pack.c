/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing: the lengths are added up first, so that each byte is written once, to its place. Fields
 * go by their numbers, and those without a value are left out, as protobuf-c does it. What has
 * flags of an ADU or fields that we do not know is left to it.
 */
#include <assert.h>
#include <string.h>

#include "node/aap2/aap2_plain.h"
#include "node/aap2/aap2_wire.h"

#define TAG(number, wire) ((uint32_t)(number) << 3 | (wire))
#define NUMBER(number) TAG(number, 0)
#define BYTES(number) TAG(number, 2)

struct number {
    uint32_t tag;
    uint64_t value;
};

struct text {
    uint32_t tag;
    const char *text;
    size_t len;
};

#define TEXTS_MAX 4
#define NUMBERS_MAX 8

/* A message of texts and numbers, in the order of their tags. */
struct flat {
    struct text texts[TEXTS_MAX];
    struct number numbers[NUMBERS_MAX];
    size_t texts_len, numbers_len, size;
};

static size_t varint_size(uint64_t v)
{
    return v < 0x80 ? 1 : (size_t)(70 - __builtin_clzll(v)) / 7;
}

static uint8_t *put_varint(uint8_t *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

static void add_text(struct flat *f, uint32_t tag, const char *text)
{
    const size_t len = strlen(text);
    assert(f->texts_len < TEXTS_MAX);
    if (len == 0)
        return;
    f->texts[f->texts_len++] = (struct text){tag, text, len};
    f->size += varint_size(tag) + varint_size(len) + len;
}

static void add_number(struct flat *f, uint32_t tag, uint64_t value)
{
    assert(f->numbers_len < NUMBERS_MAX);
    if (value == 0)
        return;
    f->numbers[f->numbers_len++] = (struct number){tag, value};
    f->size += varint_size(tag) + varint_size(value);
}

static uint8_t *put_text(uint8_t *p, const struct text *t)
{
    p = put_varint(put_varint(p, t->tag), t->len);
    memcpy(p, t->text, t->len);
    return p + t->len;
}

static uint8_t *put_number(uint8_t *p, const struct number *n)
{
    return put_varint(put_varint(p, n->tag), n->value);
}

/* Both rows merged by their tags. */
static uint8_t *put_flat(uint8_t *p, const struct flat *f)
{
    size_t t = 0, n = 0;
    const uint8_t *start = p;
    while (t < f->texts_len || n < f->numbers_len)
        p = n == f->numbers_len || (t < f->texts_len && f->texts[t].tag < f->numbers[n].tag)
                ? put_text(p, &f->texts[t++])
                : put_number(p, &f->numbers[n++]);
    assert((size_t)(p - start) == f->size);
    (void)start;
    return p;
}

int aap2_pack_adu(const Aap2__BundleADU *a, uint8_t *out, size_t cap)
{
    if (a->n_adu_flags > 0 || a->base.n_unknown_fields > 0) {
        union { /* packing does not write to it */
            const Aap2__BundleADU *in;
            Aap2__BundleADU *out;
        } adu = {.in = a};
        Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
        m.msg_case = AAP2__AAPMESSAGE__MSG_ADU;
        m.adu = adu.out;
        return aap2_pack(&m.base, out, cap);
    }
    struct flat f;
    f.texts_len = f.numbers_len = f.size = 0;
    add_text(&f, BYTES(1), a->src_eid);
    add_text(&f, BYTES(2), a->dst_eid);
    add_number(&f, NUMBER(3), a->creation_timestamp_ms);
    add_number(&f, NUMBER(4), a->sequence_number);
    add_number(&f, NUMBER(5), a->payload_length);
    add_text(&f, BYTES(7), a->report_to_eid);
    add_number(&f, NUMBER(100), a->lifetime_ms);
    add_number(&f, NUMBER(101), a->bundle_flags);
    add_number(&f, NUMBER(102), a->crc_type);
    add_number(&f, NUMBER(103), a->priority);
    add_number(&f, NUMBER(104), a->ordinal);
    add_text(&f, BYTES(105), a->previous_node);
    const size_t len = 1 + varint_size(f.size) + f.size;
    if (len > AAP2_MESSAGE_MAX || varint_size(len) + len > cap)
        return HELIO_ESPACE;
    uint8_t *p = put_varint(out, len);
    p = put_flat(put_varint(put_varint(p, BYTES(3)), f.size), &f);
    return (int)(p - out);
}

static void list_bundle(struct flat *f, const Aap2__Bundle *b)
{
    add_text(f, BYTES(1), b->src_eid);
    add_text(f, BYTES(2), b->dst_eid);
    add_number(f, NUMBER(3), b->creation_timestamp_ms);
    add_number(f, NUMBER(4), b->sequence_number);
    add_number(f, NUMBER(5), b->payload_length);
    add_number(f, NUMBER(6), b->fragment_offset);
    add_number(f, NUMBER(7), b->total_adu_length);
    add_number(f, NUMBER(8), b->lifetime_ms);
}

int aap2_pack_response(const Aap2__AAPResponse *r, uint8_t *out, size_t cap)
{
    const Aap2__Bundle *b = r->bundle_headers;
    if (r->base.n_unknown_fields > 0 || (b != NULL && b->base.n_unknown_fields > 0))
        return aap2_pack(&r->base, out, cap);
    struct flat f;
    f.texts_len = f.numbers_len = f.size = 0;
    if (b != NULL)
        list_bundle(&f, b);
    const struct number status = {NUMBER(1), (uint64_t)(int64_t)r->response_status};
    const struct text text = {BYTES(100), r->text, strlen(r->text)};
    size_t len = status.value == 0 ? 0 : 1 + varint_size(status.value);
    len += b == NULL ? 0 : 1 + varint_size(f.size) + f.size;
    len += text.len == 0 ? 0 : varint_size(text.tag) + varint_size(text.len) + text.len;
    if (len > AAP2_MESSAGE_MAX || varint_size(len) + len > cap)
        return HELIO_ESPACE;
    uint8_t *p = put_varint(out, len);
    if (status.value != 0)
        p = put_number(p, &status);
    if (b != NULL)
        p = put_flat(put_varint(put_varint(p, BYTES(3)), f.size), &f);
    if (text.len > 0)
        p = put_text(p, &text);
    return (int)(p - out);
}
