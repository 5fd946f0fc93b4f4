/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads of numbers, strings and arrays of definite length, some fifty in a small bundle, are read
 * and written here: a call of the library for each would cost more than all else that is done with
 * them. The others are read by the library's streaming decoder, where a callback for each kind
 * leaves what it found in a struct on the stack. What can go wrong: the data ends, the item is of
 * another kind than the caller can use, or it is not well-formed; the reader then stays where it
 * was and keeps the first reason.
 */
#include "bp/codec/cbor.h"

#include <assert.h>

#include <cbor.h>

struct found {
    enum item_kind kind;
    uint64_t value;
    struct slice string;
    size_t size; /* of the head, and of a string's bytes */
    bool cut;    /* the data ends within the item; kind is ITEM_NONE */
};

static void found_number(void *ctx, enum item_kind kind, uint64_t value)
{
    struct found *f = ctx;
    f->kind = kind;
    f->value = value;
}

static void found_string(void *ctx, enum item_kind kind, cbor_data data, size_t len)
{
    struct found *f = ctx;
    f->kind = kind;
    f->value = len;
    f->string = slice_of(data, len);
}

static void on_uint8(void *ctx, uint8_t v)
{
    found_number(ctx, ITEM_UINT, v);
}
static void on_uint16(void *ctx, uint16_t v)
{
    found_number(ctx, ITEM_UINT, v);
}
static void on_uint32(void *ctx, uint32_t v)
{
    found_number(ctx, ITEM_UINT, v);
}
static void on_uint64(void *ctx, uint64_t v)
{
    found_number(ctx, ITEM_UINT, v);
}
static void on_negint8(void *ctx, uint8_t v)
{
    found_number(ctx, ITEM_NEGATIVE, v);
}
static void on_negint16(void *ctx, uint16_t v)
{
    found_number(ctx, ITEM_NEGATIVE, v);
}
static void on_negint32(void *ctx, uint32_t v)
{
    found_number(ctx, ITEM_NEGATIVE, v);
}
static void on_negint64(void *ctx, uint64_t v)
{
    found_number(ctx, ITEM_NEGATIVE, v);
}
static void on_bytes(void *ctx, cbor_data data, size_t len)
{
    found_string(ctx, ITEM_BYTES, data, len);
}
static void on_text(void *ctx, cbor_data data, size_t len)
{
    found_string(ctx, ITEM_TEXT, data, len);
}
static void on_array(void *ctx, size_t count)
{
    found_number(ctx, ITEM_ARRAY, count);
}
static void on_array_open(void *ctx)
{
    found_number(ctx, ITEM_ARRAY_OPEN, 0);
}
static void on_map(void *ctx, size_t count)
{
    found_number(ctx, ITEM_OTHER, count);
}
static void on_tag(void *ctx, uint64_t v)
{
    found_number(ctx, ITEM_TAG, v);
}
static void on_bool(void *ctx, bool v)
{
    found_number(ctx, ITEM_BOOL, v);
}
static void on_break(void *ctx)
{
    found_number(ctx, ITEM_BREAK, 0);
}
static void on_other(void *ctx)
{
    found_number(ctx, ITEM_OTHER, 0);
}
static void on_float(void *ctx, float v)
{
    (void)v;
    found_number(ctx, ITEM_OTHER, 0);
}
static void on_double(void *ctx, double v)
{
    (void)v;
    found_number(ctx, ITEM_OTHER, 0);
}

static const struct cbor_callbacks callbacks = {
    .uint8 = on_uint8,
    .uint16 = on_uint16,
    .uint32 = on_uint32,
    .uint64 = on_uint64,
    .negint8 = on_negint8,
    .negint16 = on_negint16,
    .negint32 = on_negint32,
    .negint64 = on_negint64,
    .byte_string_start = on_other,
    .byte_string = on_bytes,
    .string = on_text,
    .string_start = on_other,
    .indef_array_start = on_array_open,
    .array_start = on_array,
    .indef_map_start = on_other,
    .map_start = on_map,
    .tag = on_tag,
    .float2 = on_float,
    .float4 = on_float,
    .float8 = on_double,
    .undefined = on_other,
    .null = on_other,
    .boolean = on_bool,
    .indef_break = on_break,
};

struct item_reader item_reader_of(const uint8_t *base, struct slice part)
{
    return (struct item_reader){.in = reader_of(part.data, part.len), .base = base};
}

size_t item_at(const struct item_reader *r)
{
    assert(r->in.p >= r->base);
    return (size_t)(r->in.p - r->base);
}

void item_fail(struct item_reader *r, const char *why, size_t at)
{
    assert(why != NULL);
    if (r->in.bad)
        return;
    r->in.bad = true;
    r->why = why;
    assert(r->in.bad);
    r->why_at = at;
}

size_t item_size(uint64_t value)
{
    if (value < 24)
        return 1;
    if (value <= UINT8_MAX)
        return 2;
    if (value <= UINT16_MAX)
        return 3;
    return value <= UINT32_MAX ? 5 : 9;
}

static uint64_t big_endian(const uint8_t *p, size_t len)
{
    uint64_t v = 0;
    for (size_t i = 0; i < len; i++)
        v = v << 8 | p[i];
    return v;
}

static size_t head_size(uint8_t first)
{
    unsigned info = first & 0x1f;
    return info >= 24 && info <= 27 ? 1 + ((size_t)1 << (info - 24)) : 1;
}

/* RFC 8949 §3: major types 0 to 4 with a definite argument. False: another one, or cut. */
static bool read_plain(const uint8_t *p, size_t left, struct found *f)
{
    static const enum item_kind kinds[] = {ITEM_UINT, ITEM_NEGATIVE, ITEM_BYTES, ITEM_TEXT,
                                           ITEM_ARRAY};
    const unsigned major = p[0] >> 5, info = p[0] & 0x1f;
    const size_t head = head_size(p[0]);
    if (major > 4 || info > 27 || head > left)
        return false;
    const uint64_t value = info < 24 ? info : big_endian(p + 1, head - 1);
    const bool string = major == 2 || major == 3;
    if (string && value > left - head)
        return false;
    f->kind = kinds[major];
    f->value = value;
    f->size = head + (string ? (size_t)value : 0);
    if (string)
        f->string = slice_of(p + head, (size_t)value);
    assert(f->size > 0 && f->size <= left);
    return true;
}

/* The next item, which stays where it is. */
static void find_item(const struct item_reader *r, struct found *f)
{
    const size_t left = reader_left(&r->in);
    *f = (struct found){.kind = ITEM_NONE, .cut = left == 0};
    if (r->in.bad || left == 0 || read_plain(r->in.p, left, f))
        return;
    const struct cbor_decoder_result got = cbor_stream_decode(r->in.p, left, &callbacks, f);
    f->size = got.read;
    f->cut = got.status == CBOR_DECODER_NEDATA;
    if (got.status != CBOR_DECODER_FINISHED)
        f->kind = ITEM_NONE;
}

enum { MAJOR_UINT, MAJOR_NEGATIVE, MAJOR_BYTES, MAJOR_TEXT, MAJOR_ARRAY, MAJOR_MAP };

#define FIRST_ARRAY_OPEN 0x9f
#define FIRST_BREAK 0xff
#define FIRST_NULL 0xf6

/* Passed by value: a local variable whose address is taken costs each caller a stack check. */
struct head {
    size_t size; /* 0: none */
    uint64_t value;
};

/* The same for the one kind that is expected, when its head is the shortest. */
static struct head read_expected(const struct item_reader *r, unsigned major)
{
    const uint8_t *p = r->in.p;
    if (r->in.bad || p == r->in.end || *p >> 5 != major)
        return (struct head){0};
    const unsigned info = *p & 0x1f;
    if (info < 24)
        return (struct head){.size = 1, .value = info};
    const size_t size = head_size(*p);
    if (info > 27 || size > reader_left(&r->in))
        return (struct head){0};
    const uint64_t value = big_endian(p + 1, size - 1);
    return (struct head){.size = size == item_size(value) ? size : 0, .value = value};
}

static bool take_byte(struct item_reader *r, uint8_t byte)
{
    if (r->in.bad || r->in.p == r->in.end || *r->in.p != byte)
        return false;
    r->in.p++;
    return true;
}

enum item_kind item_peek(const struct item_reader *r)
{
    if (read_expected(r, MAJOR_ARRAY).size > 0)
        return ITEM_ARRAY;
    if (!r->in.bad && r->in.p != r->in.end && *r->in.p == FIRST_BREAK)
        return ITEM_BREAK;
    struct found f;
    find_item(r, &f);
    return f.kind;
}

static void pass_item(struct item_reader *r, const struct found *f)
{
    const enum item_kind kind = f->kind;
    assert(f->size > 0 && f->size <= reader_left(&r->in));
    if (kind != ITEM_BOOL && kind != ITEM_BREAK && kind != ITEM_ARRAY_OPEN && !r->wide &&
        head_size(*r->in.p) != item_size(f->value)) {
        r->wide = true;
        r->wide_at = item_at(r);
    }
    r->in.p += f->size;
}

/* The next item, which must be of this kind; all zero after an error. */
static struct found take_head(struct item_reader *r, enum item_kind kind, const char *expected)
{
    struct found f;
    find_item(r, &f);
    if (!r->in.bad && f.kind == kind) {
        pass_item(r, &f);
        return f;
    }
    item_fail(r, f.cut ? "the data ends within an item" : expected, item_at(r));
    return (struct found){.kind = ITEM_NONE};
}

uint64_t item_uint(struct item_reader *r)
{
    if (!r->in.bad && r->in.p < r->in.end && *r->in.p < 24) /* most are */
        return *r->in.p++;
    const struct head h = read_expected(r, MAJOR_UINT);
    r->in.p += h.size;
    return h.size > 0 ? h.value : take_head(r, ITEM_UINT, "an unsigned integer is expected").value;
}

uint64_t item_array(struct item_reader *r)
{
    const struct head h = read_expected(r, MAJOR_ARRAY);
    r->in.p += h.size;
    return h.size > 0 ? h.value
                      : take_head(r, ITEM_ARRAY, "an array of definite length is expected").value;
}

void item_array_open(struct item_reader *r)
{
    if (!take_byte(r, FIRST_ARRAY_OPEN))
        take_head(r, ITEM_ARRAY_OPEN, "an array of indefinite length is expected");
}

struct slice item_bytes(struct item_reader *r)
{
    const struct head h = read_expected(r, MAJOR_BYTES);
    if (h.size > 0 && h.value <= reader_left(&r->in) - h.size) {
        r->in.p += h.size;
        return reader_take(&r->in, h.value);
    }
    return take_head(r, ITEM_BYTES, "a byte string of definite length is expected").string;
}

struct slice item_text(struct item_reader *r)
{
    return take_head(r, ITEM_TEXT, "a text string of definite length is expected").string;
}

uint64_t item_tag(struct item_reader *r)
{
    return take_head(r, ITEM_TAG, "a tag is expected").value;
}

bool item_bool(struct item_reader *r)
{
    return take_head(r, ITEM_BOOL, "true or false is expected").value != 0;
}

void item_break(struct item_reader *r)
{
    if (!take_byte(r, FIRST_BREAK))
        take_head(r, ITEM_BREAK, "the \"break\" that ends the bundle is expected");
}

uint64_t item_map(struct item_reader *r)
{
    const struct head h = read_expected(r, MAJOR_MAP);
    r->in.p += h.size;
    if (h.size == 0)
        item_fail(r, "a map of definite length is expected", item_at(r));
    return h.value;
}

int64_t item_int(struct item_reader *r)
{
    const size_t at = item_at(r);
    const bool negative = item_peek(r) == ITEM_NEGATIVE;
    const uint64_t value =
        negative ? take_head(r, ITEM_NEGATIVE, "an integer is expected").value : item_uint(r);
    if (value > INT64_MAX)
        item_fail(r, "the number is too large", at);
    if (r->in.bad)
        return 0;
    return negative ? -1 - (int64_t)value : (int64_t)value;
}

void item_null(struct item_reader *r)
{
    if (!take_byte(r, FIRST_NULL))
        item_fail(r, "null is expected", item_at(r));
}

static bool is_scalar(enum item_kind kind)
{
    return kind == ITEM_UINT || kind == ITEM_NEGATIVE || kind == ITEM_BYTES || kind == ITEM_TEXT ||
           kind == ITEM_BOOL;
}

/* The same for the usual items: numbers, strings and arrays with shortest heads. False: another
 * item, or the end of the data; nothing is consumed, and the general function reports the
 * reason. */
static bool skip_plain(struct item_reader *r, unsigned levels)
{
    uint64_t left[ITEM_LEVELS_MAX + 1] = {1};
    unsigned depth = 0;
    for (const uint8_t *p = r->in.p, *const end = r->in.end;;) {
        while (left[depth] == 0) {
            if (depth-- == 0) {
                r->in.p = p;
                return true;
            }
        }
        if (p == end)
            return false;
        const unsigned major = *p >> 5, info = *p & 0x1f;
        const size_t head = head_size(*p), rest = (size_t)(end - p);
        if (major > 4 || info > 27 || head > rest)
            return false;
        const uint64_t value = info < 24 ? info : big_endian(p + 1, head - 1);
        if (head != item_size(value))
            return false;
        left[depth]--;
        p += head;
        if (major == 4) {
            if (depth == levels)
                return false;
            left[++depth] = value;
        } else if (major > 1) {
            if (value > rest - head)
                return false;
            p += value;
        }
    }
}

void item_skip(struct item_reader *r, unsigned levels)
{
    /* Arrays are followed by their elements: levels keep what is still to come. */
    uint64_t left[ITEM_LEVELS_MAX + 1] = {1};
    unsigned depth = 0;
    assert(levels <= ITEM_LEVELS_MAX);
    if (!r->in.bad && skip_plain(r, levels))
        return;
    while (!r->in.bad) {
        if (left[depth] == 0) {
            if (depth-- == 0)
                return;
            continue;
        }
        struct found next;
        find_item(r, &next);
        left[depth]--;
        if (next.kind == ITEM_ARRAY && depth == levels) {
            item_fail(r, "arrays are nested too deeply", item_at(r));
        } else if (next.kind == ITEM_ARRAY) {
            pass_item(r, &next);
            left[++depth] = next.value;
        } else if (is_scalar(next.kind)) {
            pass_item(r, &next);
        } else {
            item_fail(r, "no bundle has such an item", item_at(r));
        }
    }
}

static void put_byte(struct writer *w, uint8_t byte)
{
    assert(w->p <= w->end);
    writer_byte(w, byte);
}

/* The shortest head. */
static void put_head(struct writer *w, unsigned major, uint64_t value)
{
    if (value < 24) { /* most are */
        put_byte(w, (uint8_t)(major << 5 | value));
        return;
    }
    const size_t n = item_size(value);
    assert(n > 1 && w->p <= w->end && major <= MAJOR_MAP);
    if (w->bad || n > (size_t)(w->end - w->p)) {
        w->bad = true;
        return;
    }
    uint8_t *p = w->p;
    w->p += n;
    *p = (uint8_t)(major << 5 | (n == 2 ? 24 : n == 3 ? 25 : n == 5 ? 26 : 27));
    for (size_t i = n - 1; i > 0; i--, value >>= 8)
        p[i] = (uint8_t)value;
    assert(value == 0 && head_size(*p) == n);
}

void item_put_uint(struct writer *w, uint64_t value)
{
    put_head(w, MAJOR_UINT, value);
}

void item_put_array(struct writer *w, size_t count)
{
    put_head(w, MAJOR_ARRAY, count);
}

void item_put_array_open(struct writer *w)
{
    put_byte(w, FIRST_ARRAY_OPEN);
}

void item_put_bytes_head(struct writer *w, size_t len)
{
    put_head(w, MAJOR_BYTES, len);
}

void item_put_text(struct writer *w, struct slice s)
{
    put_head(w, MAJOR_TEXT, s.len);
    writer_bytes(w, s.data, s.len);
}

void item_put_bool(struct writer *w, bool value)
{
    put_byte(w, value ? 0xf5 : 0xf4);
}

void item_put_break(struct writer *w)
{
    put_byte(w, FIRST_BREAK);
}

void item_put_map(struct writer *w, size_t pairs)
{
    put_head(w, MAJOR_MAP, pairs);
}

void item_put_int(struct writer *w, int64_t value)
{
    if (value < 0)
        put_head(w, MAJOR_NEGATIVE, (uint64_t)(-1 - value));
    else
        put_head(w, MAJOR_UINT, (uint64_t)value);
}

void item_put_null(struct writer *w)
{
    put_byte(w, FIRST_NULL);
}
