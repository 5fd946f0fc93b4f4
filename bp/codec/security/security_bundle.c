/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bundle as a list of blocks, for security operations. The bytes are decoded and checked as any
 * bundle's; then the blocks are listed in their order, as views. What can go wrong: a malformed
 * bundle, more blocks than the list holds, no memory.
 */
#include <assert.h>

#include "bp/codec/block.h"
#include "bp/codec/security/security_private.h"

enum { PRIMARY_LEVELS = 4 }; /* arrays within the primary block: an EID's parts */

static int list_blocks(struct security_bundle *out)
{
    const struct slice all = buf_slice(out->bytes);
    struct item_reader r = item_reader_of(all.data, all);
    struct check c = {.mode = BUNDLE_CHECKED};
    if (item_peek(&r) == ITEM_ARRAY)
        item_array(&r);
    else
        item_array_open(&r);
    item_skip(&r, PRIMARY_LEVELS);
    do {
        if (out->len == SECURITY_BLOCKS_MAX)
            return HELIO_ESPACE;
        block_read(&r, &c, &out->at[out->len++]);
    } while (!r.in.bad && out->at[out->len - 1].type != BLOCK_PAYLOAD);
    return r.in.bad ? HELIO_EFORMAT : 0;
}

static int read_bundle(struct buf *bytes, enum bundle_mode mode, struct security_bundle *out,
                       struct bundle_findings *findings)
{
    out->bytes = bytes;
    out->len = out->made_len = 0;
    int rc = bundle_decode(buf_data(bytes), bytes->len, mode, &out->primary, findings);
    if (rc == 0)
        rc = list_blocks(out);
    if (rc != 0)
        security_bundle_fini(out);
    return rc;
}

int security_bundle_read(struct buf *bytes, struct security_bundle *out,
                         struct bundle_findings *findings)
{
    assert(bytes != NULL && bytes->refs == 1);
    return read_bundle(bytes, BUNDLE_LENIENT, out, findings);
}

int security_bundle_view(struct buf *bytes, struct security_bundle *out)
{
    return read_bundle(bytes, BUNDLE_CHECKED, out, NULL);
}

void security_bundle_fini(struct security_bundle *b)
{
    buf_drop(b->bytes);
    b->bytes = NULL;
    b->len = 0;
}

static size_t size_of(const struct bundle_block *block)
{
    return block_head_size(block, block->data.len) + block->data.len + block_tail_size(block->crc);
}

static void write_block(struct writer *w, const struct bundle_block *block)
{
    const uint8_t *start = w->p;
    block_write_head(w, block, block->data.len);
    writer_bytes(w, block->data.data, block->data.len);
    block_write_crc(w, start, block->crc);
}

struct buf *security_bundle_write(const struct security_bundle *b)
{
    size_t size = 2 + primary_size(&b->primary);
    for (size_t i = 0; i < b->len; i++)
        size += size_of(&b->at[i]);
    struct buf *out = buf_new(0, size);
    if (out == NULL)
        return NULL;
    struct writer w = writer_of(buf_append(out, size), size);
    item_put_array_open(&w);
    primary_write(&w, &b->primary);
    for (size_t i = 0; i < b->len; i++)
        write_block(&w, &b->at[i]);
    item_put_break(&w);
    assert(!w.bad && w.p == w.end);
    return out;
}

static size_t head_size(const struct security_bundle *b)
{
    const struct bundle_block *payload = &b->at[b->len - 1];
    size_t size = 1 + primary_size(&b->primary) + block_head_size(payload, payload->data.len);
    for (size_t i = 0; i + 1 < b->len; i++)
        size += size_of(&b->at[i]);
    return size;
}

/* All in front of the payload's bytes; where the payload block begins. */
static size_t write_head(struct writer *w, const struct security_bundle *b)
{
    const struct bundle_block *payload = &b->at[b->len - 1];
    item_put_array_open(w);
    primary_write(w, &b->primary);
    for (size_t i = 0; i + 1 < b->len; i++)
        write_block(w, &b->at[i]);
    const size_t at = writer_len(w);
    block_write_head(w, payload, payload->data.len);
    return at;
}

static void note_undo(struct security_undo *undo, const struct buf *bytes, struct slice payload)
{
    const uint8_t *end = payload.data + payload.len;
    undo->off = bytes->off;
    undo->len = bytes->len;
    memcpy(undo->head, bytes->mem + bytes->off, undo->head_len);
    memcpy(undo->tail, end, undo->tail_len);
    undo->placed = true;
}

/* Blocks may be views of the place of the head, so the head is first encoded elsewhere. */
bool security_bundle_place(struct security_bundle *b, struct security_undo *undo)
{
    uint8_t scratch[SECURITY_HEAD_MAX];
    struct buf *bytes = b->bytes;
    const struct bundle_block *last = &b->at[b->len - 1];
    const struct slice payload = last->data, all = buf_slice(bytes);
    const size_t head = head_size(b), tail = block_tail_size(last->crc) + 1;
    undo->placed = false;
    if (payload.data < all.data || payload.data + payload.len >= all.data + all.len)
        return false; /* an empty one may be nowhere */
    const size_t at = (size_t)(payload.data - bytes->mem);
    undo->head_len = at - bytes->off;
    undo->tail_len = all.len - undo->head_len - payload.len;
    if (head > sizeof scratch || head > at || undo->head_len > sizeof undo->head ||
        undo->tail_len > sizeof undo->tail || tail > undo->tail_len + buf_tailroom(bytes))
        return false;
    struct writer w = writer_of(scratch, head);
    const size_t block = write_head(&w, b);
    assert(!w.bad && writer_len(&w) == head);
    note_undo(undo, bytes, payload);
    memcpy(bytes->mem + at - head, scratch, head);
    w = writer_of(bytes->mem + at, payload.len + tail);
    w.p += payload.len;
    block_write_crc(&w, bytes->mem + at - head + block, last->crc);
    item_put_break(&w);
    assert(!w.bad && w.p == w.end);
    bytes->off = at - head;
    bytes->len = head + payload.len + tail;
    return true;
}

void security_bundle_undo(struct buf *bytes, const struct security_undo *undo)
{
    assert(undo->placed);
    bytes->off = undo->off;
    bytes->len = undo->len;
    memcpy(buf_data(bytes), undo->head, undo->head_len);
    memcpy(buf_data(bytes) + undo->len - undo->tail_len, undo->tail, undo->tail_len);
}

struct bundle_block *security_find(struct security_bundle *b, uint64_t number)
{
    for (size_t i = 0; i < b->len; i++) {
        if (b->at[i].number == number)
            return &b->at[i];
    }
    return NULL;
}

bool security_insert(struct security_bundle *b, size_t at, const struct bundle_block *block)
{
    assert(at < b->len); /* the payload stays the last */
    if (b->len == SECURITY_BLOCKS_MAX)
        return false;
    memmove(&b->at[at + 1], &b->at[at], (b->len - at) * sizeof *b->at);
    b->at[at] = *block;
    b->len++;
    return true;
}

void security_remove(struct security_bundle *b, size_t at)
{
    assert(at + 1 < b->len);
    b->len--;
    memmove(&b->at[at], &b->at[at + 1], (b->len - at) * sizeof *b->at);
}

uint8_t *security_mutable(struct security_bundle *b, struct slice s)
{
    if (s.data >= b->made && s.data < b->made + SECURITY_MADE_MAX)
        return b->made + (s.data - b->made);
    const uint8_t *start = buf_data(b->bytes);
    assert(b->bytes->refs == 1);
    assert(s.len == 0 || (s.data >= start && s.data + s.len <= start + b->bytes->len));
    return s.len == 0 ? buf_data(b->bytes) : buf_data(b->bytes) + (s.data - start);
}

/* Moves the bytes of the bundle into a buffer with that much room behind them. */
static bool move_bytes(struct security_bundle *b, size_t room)
{
    struct buf *was = b->bytes, *now = buf_new(was->off, was->len + room);
    if (now == NULL)
        return false;
    const uint8_t *old = buf_data(was);
    memcpy(buf_append(now, was->len), old, was->len);
    for (size_t i = 0; i < b->len; i++) {
        struct slice *s = &b->at[i].data;
        if (s->data >= old && s->data <= old + was->len)
            s->data = buf_data(now) + (s->data - old);
    }
    b->bytes = now;
    buf_drop(was);
    return true;
}

/* As many bytes remain behind it as there were: security_bundle_place needs one. */
static uint8_t *extend_payload(struct security_bundle *b, struct bundle_block *block, size_t n)
{
    if (n > buf_tailroom(b->bytes) && !move_bytes(b, n + BUNDLE_TAIL_MAX))
        return NULL;
    buf_append(b->bytes, n);
    return security_mutable(b, block->data);
}

uint8_t *security_extend(struct security_bundle *b, struct bundle_block *block, size_t n)
{
    const uint8_t *start = buf_data(b->bytes);
    const struct slice was = block->data;
    if (block == &b->at[b->len - 1] && was.len > 0 && was.data >= start &&
        was.data + was.len <= start + b->bytes->len)
        return extend_payload(b, block, n);
    if (was.len + n > SECURITY_MADE_MAX - b->made_len)
        return NULL;
    uint8_t *to = b->made + b->made_len;
    if (was.len > 0)
        memcpy(to, was.data, was.len);
    b->made_len += was.len + n;
    block->data = slice_of(to, was.len);
    return to;
}

/* A security block may have a target that was removed in transit: a new block must not get its
 * number. */
bool security_number_used(const struct security_bundle *b, uint64_t number)
{
    for (size_t i = 0; i < b->len; i++) {
        if (b->at[i].number == number)
            return true;
    }
    return security_targeting(b, SECURITY_BIB, number) < b->len || security_is_encrypted(b, number);
}

uint64_t security_free_number(const struct security_bundle *b)
{
    uint64_t number = 2;
    while (security_number_used(b, number))
        number++;
    return number;
}
