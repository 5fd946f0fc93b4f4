/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Canonical blocks: an array of type, number, flags, CRC type, data and CRC. The CRC item is last
 * in the block, so a CRC is computed over the bytes before its value, and then over zeros. What can
 * go wrong: a wrong CRC, a reserved number or type.
 */
#include "bp/codec/block_kind.h"

#include <assert.h>
#include <stdlib.h>

#include "base/crc.h"

#define SECTION "RFC 9171 §4.3.2"
#define SECTION_CRC "RFC 9171 §4.2.1"

enum { TAG_ENCODED_CBOR = 24 };

static size_t crc_bytes(enum crc_type type)
{
    return type == CRC_NONE ? 0 : type == CRC_16 ? 2 : 4;
}

size_t block_tail_size(enum crc_type crc)
{
    return crc == CRC_NONE ? 0 : 1 + crc_bytes(crc);
}

/* The CRC over len bytes, and over zeros in place of the CRC value itself. */
static uint32_t crc_value(enum crc_type type, const uint8_t *start, size_t len)
{
    assert(type != CRC_NONE);
    static const uint8_t zeros[4];
    if (type == CRC_16)
        return crc16_x25(crc16_x25(0, start, len), zeros, 2);
    return crc32c(crc32c(0, start, len), zeros, 4);
}

void block_read_crc(struct item_reader *r, struct check *c, const uint8_t *start,
                    enum crc_type type)
{
    if (type == CRC_NONE)
        return;
    size_t at = item_at(r);
    struct slice s = item_bytes(r);
    if (r->in.bad)
        return;
    if (s.len != crc_bytes(type)) {
        check_note(c, CHECK_REFUSE, SECTION_CRC, "a CRC-16 has 2 bytes, a CRC-32C has 4", at);
        return;
    }
    uint32_t value = 0;
    for (size_t i = 0; i < s.len; i++)
        value = value << 8 | s.data[i];
    if (c->mode != BUNDLE_CHECKED && value != crc_value(type, start, (size_t)(s.data - start)))
        check_note(c, CHECK_REFUSE, SECTION_CRC, "the CRC does not match the block", at);
}

void block_write_crc(struct writer *w, const uint8_t *start, enum crc_type crc)
{
    if (crc == CRC_NONE)
        return;
    size_t n = crc_bytes(crc);
    item_put_bytes_head(w, n);
    assert(w->bad || w->p >= start);
    uint32_t value = w->bad ? 0 : crc_value(crc, start, (size_t)(w->p - start));
    for (size_t i = n; i > 0; i--)
        writer_byte(w, (uint8_t)(value >> (8 * (i - 1))));
}

enum crc_type block_read_crc_type(struct item_reader *r)
{
    size_t at = item_at(r);
    uint64_t type = item_uint(r);
    if (type > CRC_32C) {
        item_fail(r, "the CRC type is 0, 1 or 2", at);
        return CRC_NONE;
    }
    assert(type <= CRC_32C || r->in.bad);
    return (enum crc_type)type;
}

static struct slice read_data(struct item_reader *r, struct check *c)
{
    if (item_peek(r) == ITEM_TAG) {
        size_t at = item_at(r);
        if (item_tag(r) != TAG_ENCODED_CBOR)
            item_fail(r, "a byte string is expected", at);
        else
            check_note(c, CHECK_RULE, SECTION, "the block's data is a byte string without a tag",
                       at);
    }
    return item_bytes(r);
}

void block_read(struct item_reader *r, struct check *c, struct bundle_block *out)
{
    const uint8_t *start = r->in.p;
    size_t at = item_at(r);
    uint64_t n = item_array(r);
    *out = (struct bundle_block){.type = item_uint(r)};
    out->number = item_uint(r);
    out->flags = item_uint(r);
    out->crc = block_read_crc_type(r);
    if (n != (out->crc == CRC_NONE ? 5 : 6))
        item_fail(r, "a block has 5 elements without CRC and 6 with one", at);
    out->data = read_data(r, c);
    block_read_crc(r, c, start, out->crc);
    check_reader(c, r, SECTION);
    if (r->in.bad)
        return;
    if (out->type == 0)
        check_note(c, CHECK_RULE, "RFC 9171 §9.1", "block type 0 is reserved", at);
    if (out->number == 0)
        check_note(c, CHECK_REFUSE, SECTION, "block number 0 is the primary block's", at);
    if ((out->type == BLOCK_PAYLOAD) != (out->number == 1))
        check_note(c, CHECK_REFUSE, "RFC 9171 §4.1",
                   "the payload block, and it alone, has block number 1", at);
    if ((out->flags & ~UINT64_C(0x17)) != 0)
        check_note(c, CHECK_NOTE, "RFC 9171 §4.2.4", "reserved block processing flags are set", at);
}

size_t block_head_size(const struct bundle_block *block, size_t len)
{
    return 1 + item_size(block->type) + item_size(block->number) + item_size(block->flags) +
           item_size(block->crc) + item_size(len);
}

void block_write_head(struct writer *w, const struct bundle_block *block, size_t len)
{
    item_put_array(w, block->crc == CRC_NONE ? 5 : 6);
    item_put_uint(w, block->type);
    item_put_uint(w, block->number);
    item_put_uint(w, block->flags);
    item_put_uint(w, block->crc);
    item_put_bytes_head(w, len);
}

/* Iterates over the targets of a BPSec block (RFC 9172 §3.6); false at the end. */
struct target_walk {
    struct item_reader r;
    uint64_t left;
};

static struct target_walk targets_of(struct slice data)
{
    struct target_walk w = {.r = item_reader_of(data.data, data)};
    w.left = item_array(&w.r);
    return w;
}

static bool next_target(struct target_walk *w, uint64_t *number)
{
    if (w->left == 0 || w->r.in.bad)
        return false;
    w->left--;
    *number = item_uint(&w->r);
    return !w->r.in.bad;
}

static bool lists_target(struct slice data, uint64_t number)
{
    struct target_walk w = targets_of(data);
    for (uint64_t target; next_target(&w, &target);) {
        if (target == number)
            return true;
    }
    return false;
}

bool bundle_targeted(const struct bundle *b, uint64_t type, uint64_t number)
{
    for (size_t i = 0; i < b->others_len; i++) {
        if (b->others[i].type == type && lists_target(b->others[i].data, number))
            return true;
    }
    struct bundle_walk w = {.at = b->others_len};
    struct bundle_block block;
    while (b->rest.secures && bundle_next(b, &w, &block)) {
        if (block.type == type && lists_target(block.data, number))
            return true;
    }
    return false;
}

/* The numbers of `others` in rising order, with their indexes. */
struct numbered {
    uint64_t number;
    size_t place;
};

static int compare_numbered(const void *x, const void *y)
{
    const struct numbered *a = x, *b = y;
    return a->number < b->number ? -1 : a->number > b->number;
}

static void mark_targets(struct bundle *b, const struct numbered *sorted, struct slice data)
{
    struct target_walk w = targets_of(data);
    for (uint64_t target; next_target(&w, &target);) {
        const struct numbered key = {.number = target};
        const struct numbered *found =
            bsearch(&key, sorted, b->others_len, sizeof *sorted, compare_numbered);
        if (found != NULL)
            b->encrypted |= UINT32_C(1) << found->place;
    }
}

static bool has_confidentiality(const struct bundle *b)
{
    bool has = b->rest.secures;
    for (size_t i = 0; i < b->others_len && !has; i++)
        has = b->others[i].type == BLOCK_BCB;
    return has;
}

void bundle_mark_encrypted(struct bundle *b)
{
    static_assert(BUNDLE_INLINE_MAX <= 32, "a bit for each");
    b->encrypted = 0;
    if (!has_confidentiality(b))
        return;
    struct numbered sorted[BUNDLE_INLINE_MAX];
    for (size_t i = 0; i < b->others_len; i++)
        sorted[i] = (struct numbered){.number = b->others[i].number, .place = i};
    qsort(sorted, b->others_len, sizeof *sorted, compare_numbered);
    struct bundle_walk w = {0};
    struct bundle_block block;
    while (bundle_next(b, &w, &block)) {
        if (block.type == BLOCK_BCB)
            mark_targets(b, sorted, block.data);
    }
}

bool bundle_is_encrypted(const struct bundle *b, size_t i)
{
    assert(i < b->others_len);
    return (b->encrypted >> i & 1) || (b->rest.bytes.len == 0 && b->extension_bytes == 0 &&
                                       bundle_targeted(b, BLOCK_BCB, b->others[i].number));
}

/* A block whose content is in separate fields of the bundle. */
static bool is_taken(const struct bundle *b, const struct bundle_block *block)
{
    const size_t at = block_kind_find(block->type);
    return at < BLOCK_KIND_COUNT && block_kinds[at]->read != NULL &&
           block_kind_frame(block_kinds[at], b)->number == block->number;
}

static bool is_kept(const struct bundle_rest *rest, const struct bundle_block *block)
{
    return (block->flags & rest->need) == rest->need && (block->flags & rest->without) == 0;
}

bool bundle_next(const struct bundle *b, struct bundle_walk *w, struct bundle_block *out)
{
    if (w->at < b->others_len) {
        *out = b->others[w->at++];
        return true;
    }
    struct check c = {.mode = BUNDLE_CHECKED};
    while (w->offset < b->rest.bytes.len) {
        const struct slice bytes = b->rest.bytes;
        struct item_reader r =
            item_reader_of(bytes.data, slice_of(bytes.data + w->offset, bytes.len - w->offset));
        block_read(&r, &c, out);
        assert(!r.in.bad && item_at(&r) > w->offset); /* they were read before */
        w->offset = item_at(&r);
        if (!is_taken(b, out) && is_kept(&b->rest, out))
            return true;
    }
    return false;
}
