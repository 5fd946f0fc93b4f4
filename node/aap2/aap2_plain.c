/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The happy path: the fields of a message are walked once; numbers go to their places, texts behind
 * the struct, where each has room for its end, since its tag and length took two bytes. What is not
 * plain is unpacked by protobuf-c and, when it is a BundleADU or a response, copied to the same
 * form, so that one function frees each. What can go wrong: memory.
 */
#include "node/aap2/aap2_plain.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "node/aap2/aap2_wire.h"

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
enum { MESSAGE_ADU = 3, MESSAGE_LAST = 6, MESSAGE_CANCEL = 100 };
enum {
    ADU_SOURCE = 1,
    ADU_DESTINATION = 2,
    ADU_TIME = 3,
    ADU_SEQUENCE = 4,
    ADU_PAYLOAD = 5,
    ADU_FLAGS = 6,
    ADU_REPORT_TO = 7,
    ADU_LIFETIME = 100,
    ADU_BUNDLE_FLAGS = 101,
    ADU_CRC = 102,
    ADU_PRIORITY = 103,
    ADU_ORDINAL = 104,
    ADU_PREVIOUS = 105,
};
enum {
    BUNDLE_SOURCE = 1,
    BUNDLE_DESTINATION = 2,
    BUNDLE_TIME = 3,
    BUNDLE_SEQUENCE = 4,
    BUNDLE_PAYLOAD = 5,
    BUNDLE_OFFSET = 6,
    BUNDLE_TOTAL = 7,
    BUNDLE_LIFETIME = 8,
};
enum { RESPONSE_STATUS = 1, RESPONSE_BUNDLE = 3, RESPONSE_TEXT = 100 };

#define ADU_FLAGS_KEPT 2
#define SHORT_BYTES_MAX 5 /* protobuf-c reads no longer tags and lengths */

struct plain_adu {
    Aap2__AAPMessage message;
    Aap2__BundleADU adu;
    Aap2__BundleADUFlags flags[ADU_FLAGS_KEPT];
    char text[];
};

struct plain_response {
    Aap2__AAPResponse response;
    Aap2__Bundle bundle;
    char text[];
};

/* ---- reading ---- */

/* A message's bytes; `odd` when it is not for us. */
struct fields {
    const uint8_t *p, *end;
    bool odd;
};

struct field {
    uint32_t number, wire;
    uint64_t value;
    struct slice bytes;
};

static uint64_t read_varint(struct fields *s)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (s->p == s->end)
            break;
        const uint8_t byte = *s->p++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    s->odd = true;
    return 0;
}

static struct slice take_bytes(struct fields *s, uint64_t n)
{
    if (n > (size_t)(s->end - s->p)) {
        s->odd = true;
        n = 0;
    }
    const uint8_t *at = s->p;
    s->p += n;
    return slice_of(at, (size_t)n);
}

/* A tag or a length. */
static uint64_t read_short(struct fields *s)
{
    const uint8_t *begin = s->p;
    const uint64_t value = read_varint(s);
    s->odd = s->odd || s->p - begin > SHORT_BYTES_MAX;
    return value;
}

/* The next field; false at the end, or when the message is odd. */
static bool next_field(struct fields *s, struct field *f)
{
    if (s->p == s->end || s->odd)
        return false;
    const uint64_t tag = read_short(s);
    *f = (struct field){.number = (uint32_t)(tag >> 3), .wire = tag & 7};
    s->odd = s->odd || tag > UINT32_MAX || f->number == 0;
    if (f->wire == WIRE_VARINT)
        f->value = read_varint(s);
    else if (f->wire == WIRE_BYTES)
        f->bytes = take_bytes(s, read_short(s));
    else if (f->wire == WIRE_64 || f->wire == WIRE_32)
        f->bytes = take_bytes(s, f->wire == WIRE_64 ? 8 : 4);
    else
        s->odd = true;
    return !s->odd;
}

/* The field's number, when its wire type is this; else the message is odd. */
static uint64_t number_of(struct fields *s, const struct field *f)
{
    s->odd = s->odd || f->wire != WIRE_VARINT;
    return s->odd ? 0 : f->value;
}

/* Its text, at *at, which moves behind it. */
static char *text_of(struct fields *s, const struct field *f, char **at)
{
    s->odd = s->odd || f->wire != WIRE_BYTES;
    char *text = *at;
    const size_t len = s->odd ? 0 : f->bytes.len;
    if (len > 0)
        memcpy(text, f->bytes.data, len);
    text[len] = '\0';
    *at += len + 1;
    return text;
}

static void add_flag(struct plain_adu *p, uint64_t value)
{
    if (p->adu.n_adu_flags < ADU_FLAGS_KEPT)
        p->flags[p->adu.n_adu_flags++] = (Aap2__BundleADUFlags)value;
    p->adu.adu_flags = p->flags;
}

static void take_flags(struct fields *s, const struct field *f, struct plain_adu *p)
{
    if (f->wire != WIRE_BYTES) {
        add_flag(p, number_of(s, f));
        return;
    }
    struct fields packed = {.p = f->bytes.data, .end = f->bytes.data + f->bytes.len};
    while (packed.p != packed.end && !packed.odd)
        add_flag(p, read_varint(&packed));
    s->odd = s->odd || packed.odd;
}

static void take_adu_field(struct fields *s, const struct field *f, struct plain_adu *p, char **at)
{
    Aap2__BundleADU *a = &p->adu;
    switch (f->number) {
    case ADU_SOURCE:
        a->src_eid = text_of(s, f, at);
        break;
    case ADU_DESTINATION:
        a->dst_eid = text_of(s, f, at);
        break;
    case ADU_TIME:
        a->creation_timestamp_ms = number_of(s, f);
        break;
    case ADU_SEQUENCE:
        a->sequence_number = number_of(s, f);
        break;
    case ADU_PAYLOAD:
        a->payload_length = number_of(s, f);
        break;
    case ADU_FLAGS:
        take_flags(s, f, p);
        break;
    case ADU_REPORT_TO:
        a->report_to_eid = text_of(s, f, at);
        break;
    case ADU_LIFETIME:
        a->lifetime_ms = number_of(s, f);
        break;
    case ADU_BUNDLE_FLAGS:
        a->bundle_flags = number_of(s, f);
        break;
    case ADU_CRC:
        a->crc_type = (uint32_t)number_of(s, f);
        break;
    case ADU_PRIORITY:
        a->priority = (uint32_t)number_of(s, f);
        break;
    case ADU_ORDINAL:
        a->ordinal = (uint32_t)number_of(s, f);
        break;
    case ADU_PREVIOUS:
        a->previous_node = text_of(s, f, at);
        break;
    default:
        break; /* of a newer peer */
    }
}

static struct plain_adu *adu_new(size_t text_max)
{
    struct plain_adu *p = malloc(sizeof *p + text_max);
    if (p == NULL)
        return NULL;
    p->message = (Aap2__AAPMessage)AAP2__AAPMESSAGE__INIT;
    p->adu = (Aap2__BundleADU)AAP2__BUNDLE_ADU__INIT;
    p->message.msg_case = AAP2__AAPMESSAGE__MSG_ADU;
    p->message.adu = &p->adu;
    return p;
}

static Aap2__AAPMessage *read_adu(struct slice in)
{
    struct plain_adu *p = adu_new(in.len);
    if (p == NULL)
        return NULL;
    struct fields s = {.p = in.data, .end = in.data + in.len};
    struct field f;
    char *at = p->text;
    while (next_field(&s, &f))
        take_adu_field(&s, &f, p, &at);
    if (s.odd) {
        free(p);
        return NULL;
    }
    assert(at <= p->text + in.len);
    return &p->message;
}

/* Copies a text of protobuf-c's, to where *at is. */
static char *copy_text(const char *text, char **at)
{
    const size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);
    *at += size;
    return copy;
}

static Aap2__AAPMessage *copy_adu(const Aap2__BundleADU *a)
{
    struct plain_adu *p = adu_new(strlen(a->src_eid) + strlen(a->dst_eid) +
                                  strlen(a->report_to_eid) + strlen(a->previous_node) + 4);
    if (p == NULL)
        return NULL;
    char *at = p->text;
    p->adu = *a;
    p->adu.base.n_unknown_fields = 0;
    p->adu.base.unknown_fields = NULL;
    p->adu.src_eid = copy_text(a->src_eid, &at);
    p->adu.dst_eid = copy_text(a->dst_eid, &at);
    p->adu.report_to_eid = copy_text(a->report_to_eid, &at);
    p->adu.previous_node = copy_text(a->previous_node, &at);
    p->adu.n_adu_flags = 0;
    p->adu.adu_flags = NULL;
    for (size_t i = 0; i < a->n_adu_flags; i++)
        add_flag(p, (uint64_t)a->adu_flags[i]);
    return &p->message;
}

/* protobuf-c does not report why it unpacked nothing: its allocator does. What it gave is freed by
 * free(). */
struct unpacking {
    ProtobufCAllocator allocator;
    bool starved; /* memory was out */
};

static void *allocate_field(void *starved, size_t size)
{
    void *p = malloc(size);
    *(bool *)starved |= p == NULL;
    return p;
}

static void free_field(void *starved, void *p)
{
    (void)starved;
    free(p);
}

static void begin_unpacking(struct unpacking *u)
{
    *u = (struct unpacking){.allocator = {allocate_field, free_field, &u->starved}};
}

Aap2__AAPMessage *aap2_read_message(const uint8_t *at, size_t len, int *error)
{
    struct fields s = {.p = at, .end = at + len};
    struct field f;
    struct slice adu = {0};
    while (next_field(&s, &f)) {
        if (f.number == MESSAGE_ADU && f.wire == WIRE_BYTES && adu.data == NULL)
            adu = f.bytes;
        else if (f.number <= MESSAGE_LAST || f.number == MESSAGE_CANCEL)
            s.odd = true;
    }
    Aap2__AAPMessage *m = !s.odd && adu.data != NULL ? read_adu(adu) : NULL;
    if (m != NULL)
        return m;
    struct unpacking u;
    begin_unpacking(&u);
    m = aap2__aapmessage__unpack(&u.allocator, len, at);
    if (m != NULL && m->msg_case != AAP2__AAPMESSAGE__MSG_ADU)
        return m;
    Aap2__AAPMessage *copy = m == NULL ? NULL : copy_adu(m->adu);
    if (copy == NULL)
        *error = m == NULL && !u.starved ? HELIO_EFORMAT : HELIO_ENOMEM;
    if (m != NULL)
        aap2__aapmessage__free_unpacked(m, NULL);
    return copy;
}

static void take_bundle_field(struct fields *s, const struct field *f, Aap2__Bundle *b, char **at)
{
    switch (f->number) {
    case BUNDLE_SOURCE:
        b->src_eid = text_of(s, f, at);
        break;
    case BUNDLE_DESTINATION:
        b->dst_eid = text_of(s, f, at);
        break;
    case BUNDLE_TIME:
        b->creation_timestamp_ms = number_of(s, f);
        break;
    case BUNDLE_SEQUENCE:
        b->sequence_number = number_of(s, f);
        break;
    case BUNDLE_PAYLOAD:
        b->payload_length = number_of(s, f);
        break;
    case BUNDLE_OFFSET:
        b->fragment_offset = number_of(s, f);
        break;
    case BUNDLE_TOTAL:
        b->total_adu_length = number_of(s, f);
        break;
    case BUNDLE_LIFETIME:
        b->lifetime_ms = number_of(s, f);
        break;
    default:
        break;
    }
}

static void take_bundle(struct fields *s, const struct field *f, struct plain_response *p,
                        char **at)
{
    struct field inner;
    s->odd = s->odd || f->wire != WIRE_BYTES || p->response.bundle_headers != NULL;
    if (s->odd)
        return;
    struct fields b = {.p = f->bytes.data, .end = f->bytes.data + f->bytes.len};
    p->bundle = (Aap2__Bundle)AAP2__BUNDLE__INIT;
    p->response.bundle_headers = &p->bundle;
    while (next_field(&b, &inner))
        take_bundle_field(&b, &inner, &p->bundle, at);
    s->odd = b.odd;
}

static struct plain_response *response_new(size_t text_max)
{
    struct plain_response *p = malloc(sizeof *p + text_max);
    if (p != NULL)
        p->response = (Aap2__AAPResponse)AAP2__AAPRESPONSE__INIT;
    return p;
}

static Aap2__AAPResponse *copy_response(const Aap2__AAPResponse *r)
{
    const Aap2__Bundle *b = r->bundle_headers;
    size_t size = strlen(r->text) + 1;
    if (b != NULL)
        size += strlen(b->src_eid) + strlen(b->dst_eid) + 2;
    struct plain_response *p = response_new(size);
    if (p == NULL)
        return NULL;
    char *at = p->text;
    p->response.response_status = r->response_status;
    p->response.text = copy_text(r->text, &at);
    if (b == NULL)
        return &p->response;
    p->bundle = *b;
    p->bundle.base.n_unknown_fields = 0;
    p->bundle.base.unknown_fields = NULL;
    p->bundle.src_eid = copy_text(b->src_eid, &at);
    p->bundle.dst_eid = copy_text(b->dst_eid, &at);
    p->response.bundle_headers = &p->bundle;
    return &p->response;
}

static Aap2__AAPResponse *unpack_response(const uint8_t *bytes, size_t len, int *error)
{
    struct unpacking u;
    begin_unpacking(&u);
    Aap2__AAPResponse *r = aap2__aapresponse__unpack(&u.allocator, len, bytes);
    Aap2__AAPResponse *copy = r == NULL ? NULL : copy_response(r);
    if (copy == NULL)
        *error = r == NULL && !u.starved ? HELIO_EFORMAT : HELIO_ENOMEM;
    if (r != NULL)
        aap2__aapresponse__free_unpacked(r, NULL);
    return copy;
}

Aap2__AAPResponse *aap2_read_response(const uint8_t *bytes, size_t len, int *error)
{
    struct plain_response *p = response_new(len);
    if (p == NULL) {
        *error = HELIO_ENOMEM;
        return NULL;
    }
    struct fields s = {.p = bytes, .end = bytes + len};
    struct field f;
    char *at = p->text;
    while (next_field(&s, &f)) {
        if (f.number == RESPONSE_STATUS)
            p->response.response_status = (Aap2__ResponseStatus)number_of(&s, &f);
        else if (f.number == RESPONSE_BUNDLE)
            take_bundle(&s, &f, p, &at);
        else if (f.number == RESPONSE_TEXT)
            p->response.text = text_of(&s, &f, &at);
    }
    if (!s.odd)
        return &p->response;
    free(p);
    return unpack_response(bytes, len, error);
}

static_assert(offsetof(struct plain_adu, message) == 0, "it is freed as what it begins with");
static_assert(offsetof(struct plain_response, response) == 0, "likewise");

void aap2_message_free(Aap2__AAPMessage *m)
{
    if (m != NULL && m->msg_case == AAP2__AAPMESSAGE__MSG_ADU)
        free(m);
    else if (m != NULL)
        aap2__aapmessage__free_unpacked(m, NULL);
}

void aap2_response_free(Aap2__AAPResponse *r)
{
    free(r);
}
