/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of a bundle (all bytes before the payload's data) is encoded in a scratch area and then
 * copied in front of the payload, because views of b may be in that place. The payload is not
 * moved. What can go wrong: not enough room, and structs without a legal encoding.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "bp/codec/block_kind.h"

/* The canonical blocks in front of the payload, with the content of those that are made here. */
struct plan {
    struct bundle_block blocks[BUNDLE_INLINE_MAX + BLOCK_KIND_COUNT];
    size_t len;
    uint8_t content[BLOCK_KIND_COUNT][BLOCK_CONTENT_MAX];
};

static void set_none(struct eid *e)
{
    e->scheme = EID_DTN;
    memcpy(e->ssp, "none", sizeof "none");
}

void bundle_init(struct bundle *b)
{
    /* Of `others`, which are most of it, as many count as others_len says. */
    memset(b, 0, offsetof(struct bundle, others));
    memset(&b->others_len, 0, sizeof *b - offsetof(struct bundle, others_len));
    set_none(&b->destination);
    set_none(&b->report_to);
    set_none(&b->id.source);
    set_none(&b->previous);
    b->crc = b->payload_crc = CRC_32C;
    for (size_t i = 0; i < BLOCK_KIND_COUNT; i++) {
        const struct block_kind *k = block_kinds[i];
        if (k->read != NULL)
            block_kind_set(k, b, false, (struct bundle_frame){.flags = k->flags, .crc = CRC_32C});
    }
    b->lifetime_ms = UINT64_C(86400000);
}

bool bundle_id_equal(const struct bundle_id *a, const struct bundle_id *b)
{
    return a->time_ms == b->time_ms && a->sequence == b->sequence && a->fragment == b->fragment &&
           (!a->fragment || (a->offset == b->offset && a->total == b->total)) &&
           eid_equal(&a->source, &b->source);
}

/* Those blocks whose content is in fields of the bundle. False: one cannot be written. */
static bool plan_known(struct plan *p, const struct bundle *b)
{
    for (size_t i = 0; i < BLOCK_KIND_COUNT; i++) {
        const struct block_kind *k = block_kinds[i];
        const struct bundle_frame *frame = block_kind_of(k, b);
        if (frame == NULL)
            continue;
        if (k->legal != NULL && !k->legal(b))
            return false;
        struct writer w = writer_of(p->content[i], sizeof p->content[i]);
        k->write(&w, b);
        assert(!w.bad && p->len < BLOCK_KIND_COUNT);
        p->blocks[p->len++] =
            (struct bundle_block){.type = k->type,
                                  .number = frame->number,
                                  .flags = frame->flags,
                                  .crc = frame->crc,
                                  .data = slice_of(p->content[i], writer_len(&w))};
    }
    return true;
}

static bool number_used(const struct plan *p, uint64_t number, const struct bundle_block *but)
{
    for (size_t i = 0; i < p->len; i++) {
        if (&p->blocks[i] != but && p->blocks[i].number == number)
            return true;
    }
    return false;
}

/* Numbers below this that the blocks of the rest have: more than BUNDLE_REST_MAX bytes of blocks
 * can have with all of their numbers. */
#define NUMBERS_MAX 131072
static_assert(NUMBERS_MAX - 65536 > (BUNDLE_REST_MAX - 65000 * 8) / 10,
              "blocks with numbers of 3 bytes have 8 bytes, those with numbers of 5 have 10");

struct used {
    uint64_t bits[NUMBERS_MAX / 64];
    bool clash; /* one of the plan's numbers is among them */
};

static void find_used(struct used *u, const struct plan *p, const struct bundle *b)
{
    memset(u, 0, sizeof *u);
    struct bundle_walk w = {.at = b->others_len};
    struct bundle_block block;
    uint64_t mine = 0;
    for (size_t i = 0; i < p->len; i++)
        mine |= UINT64_C(1) << (p->blocks[i].number & 63);
    while (bundle_next(b, &w, &block)) {
        const uint64_t n = block.number;
        if (n < NUMBERS_MAX)
            u->bits[n / 64] |= UINT64_C(1) << (n & 63);
        u->clash = u->clash || ((mine >> (n & 63) & 1) && number_used(p, n, NULL));
    }
}

static bool is_free(const struct used *u, const struct plan *p, uint64_t number)
{
    assert(u == NULL || number < NUMBERS_MAX);
    return !number_used(p, number, NULL) &&
           (u == NULL || !(u->bits[number / 64] >> (number & 63) & 1));
}

/* Free numbers for blocks that have none; u: those of the rest, or NULL. */
static void plan_free_numbers(struct plan *p, const struct used *u)
{
    uint64_t next = 2;
    for (size_t i = 0; i < p->len; i++) {
        if (p->blocks[i].number != 0)
            continue;
        while (!is_free(u, p, next))
            next++;
        p->blocks[i].number = next++;
    }
}

/* False: a block of the plan has the number of one of the rest. */
static bool plan_numbers(struct plan *p, const struct bundle *b)
{
    struct used u;
    find_used(&u, p, b);
    plan_free_numbers(p, &u);
    return !u.clash;
}

static bool plan_legal(const struct plan *p)
{
    for (size_t i = 0; i < p->len; i++) {
        const struct bundle_block *block = &p->blocks[i];
        if (block->type == BLOCK_PAYLOAD || block->number < 2 || (unsigned)block->crc > CRC_32C ||
            number_used(p, block->number, block))
            return false;
    }
    return true;
}

static bool plan_make(struct plan *p, const struct bundle *b)
{
    p->len = 0;
    if (b->others_len > BUNDLE_INLINE_MAX || b->rest.bytes.len > BUNDLE_REST_MAX ||
        !plan_known(p, b))
        return false;
    for (size_t i = 0; i < b->others_len; i++)
        p->blocks[p->len++] = b->others[i];
    assert(p->len <= BUNDLE_INLINE_MAX + BLOCK_KIND_COUNT);
    if (b->rest.bytes.len > 0)
        return plan_numbers(p, b) && plan_legal(p);
    plan_free_numbers(p, NULL);
    return plan_legal(p);
}

static bool primary_legal(const struct bundle *b, size_t payload)
{
    bool fragment = (b->flags & BUNDLE_IS_FRAGMENT) != 0;
    if (fragment != b->id.fragment || (unsigned)b->crc > CRC_32C ||
        (unsigned)b->payload_crc > CRC_32C)
        return false;
    if (!eid_legal(&b->destination) || !eid_legal(&b->id.source) || !eid_legal(&b->report_to))
        return false;
    return !fragment || bundle_targeted(b, BLOCK_BCB, 1) ||
           (b->id.total > 0 && b->id.offset <= b->id.total &&
            payload <= b->id.total - b->id.offset);
}

static struct bundle_block payload_block(const struct bundle *b)
{
    return (struct bundle_block){
        .type = BLOCK_PAYLOAD, .number = 1, .flags = b->payload_flags, .crc = b->payload_crc};
}

static size_t block_size(const struct bundle_block *block)
{
    return block_head_size(block, block->data.len) + block->data.len + block_tail_size(block->crc);
}

static size_t plan_size(const struct plan *p, const struct bundle *b, size_t payload)
{
    assert(p->len <= BUNDLE_INLINE_MAX + BLOCK_KIND_COUNT);
    struct bundle_block last = payload_block(b);
    size_t n = 1 + primary_size(b) + block_head_size(&last, payload);
    for (size_t i = 0; i < p->len; i++)
        n += block_size(&p->blocks[i]);
    struct bundle_walk w = {.at = b->others_len};
    struct bundle_block block;
    while (bundle_next(b, &w, &block))
        n += block_size(&block);
    return n;
}

size_t bundle_head_size(const struct bundle *b)
{
    struct plan p;
    plan_make(&p, b);
    return plan_size(&p, b, SIZE_MAX);
}

static void write_block(struct writer *w, const struct bundle_block *block)
{
    const uint8_t *start = w->p;
    block_write_head(w, block, block->data.len);
    writer_bytes(w, block->data.data, block->data.len);
    block_write_crc(w, start, block->crc);
}

/* Everything before the payload; returns where the payload block begins. */
static size_t write_head(struct writer *w, const struct plan *p, const struct bundle *b,
                         size_t payload)
{
    item_put_array_open(w);
    primary_write(w, b);
    for (size_t i = 0; i < p->len; i++)
        write_block(w, &p->blocks[i]);
    struct bundle_walk walk = {.at = b->others_len};
    struct bundle_block block;
    while (bundle_next(b, &walk, &block))
        write_block(w, &block);
    size_t at = writer_len(w);
    struct bundle_block last = payload_block(b);
    block_write_head(w, &last, payload);
    return at;
}

static int encode_around(const struct plan *p, const struct bundle *b, struct buf *payload,
                         uint8_t *scratch, size_t size)
{
    size_t tail = block_tail_size(b->payload_crc) + 1, room = payload->len;
    struct writer w = writer_of(scratch, size);
    size_t block_at = write_head(&w, p, b, payload->len);
    assert(!w.bad && writer_len(&w) == size);
    uint8_t *head = buf_prepend(payload, size);
    assert(head != NULL);
    memcpy(head, scratch, size);
    buf_append(payload, tail);
    w = writer_of(head + size, room + tail);
    w.p += room;
    block_write_crc(&w, head + block_at, b->payload_crc);
    item_put_break(&w);
    assert(!w.bad && w.p == w.end);
    return 0;
}

int bundle_encode(const struct bundle *b, struct buf *payload)
{
    assert(payload->off + payload->len <= payload->cap);
    struct plan p;
    uint8_t small[BUNDLE_HEAD_MAX];
    if (!plan_make(&p, b) || !primary_legal(b, payload->len))
        return HELIO_EINVAL;
    size_t size = plan_size(&p, b, payload->len);
    if (size > payload->off || buf_tailroom(payload) < block_tail_size(b->payload_crc) + 1)
        return HELIO_ESPACE;
    if (size <= sizeof small)
        return encode_around(&p, b, payload, small, size);
    uint8_t *large = malloc(size);
    if (large == NULL)
        return HELIO_ENOMEM;
    int rc = encode_around(&p, b, payload, large, size);
    free(large);
    return rc;
}

struct buf *bundle_encode_copy(const struct bundle *b)
{
    if (b->payload.len > SIZE_MAX / 8) /* no object is as long */
        return NULL;
    struct buf *out = buf_new(bundle_head_size(b), b->payload.len + BUNDLE_TAIL_MAX);
    if (out == NULL)
        return NULL;
    if (b->payload.len > 0)
        memcpy(buf_append(out, b->payload.len), b->payload.data, b->payload.len);
    if (bundle_encode(b, out) == 0)
        return out;
    buf_drop(out);
    return NULL;
}
