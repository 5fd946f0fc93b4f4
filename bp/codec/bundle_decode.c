/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bundle is an array of blocks: the primary first, the payload last. Extension blocks are first
 * recorded unparsed: the first ones in the struct, further ones as views. Then blocks of known
 * types are parsed, unless a block confidentiality block encrypts them. What can go wrong: a
 * finding with its section and offset; no memory to sort numbers.
 */
#include "bp/codec/block_kind.h"

#include <assert.h>
#include <stdlib.h>

#define SECTION_BUNDLE "RFC 9171 §4.1"

/* The extension blocks that were read so far. */
struct intake {
    struct bundle *bundle;
    const uint8_t *from; /* where the first one begins */
    uint64_t top;        /* the highest number */
    bool rising;         /* each number was higher than those before */
};

static void note_twice(struct check *c, size_t at)
{
    check_note(c, CHECK_REFUSE, "RFC 9171 §4.3.2", "two blocks of the bundle have the same number",
               at);
}

/* Among the few in `others`; those of the rest are looked at when all are there (check_numbers). */
static void note_number(struct check *c, const struct intake *in, uint64_t number, size_t at)
{
    const struct bundle *b = in->bundle;
    for (size_t i = 0; i < b->others_len && number <= in->top; i++) {
        if (b->others[i].number == number) {
            note_twice(c, at);
            return;
        }
    }
}

static void add_rest(struct check *c, struct bundle *b, const struct bundle_block *block,
                     const uint8_t *start, const struct item_reader *r, size_t at)
{
    struct bundle_rest *rest = &b->rest;
    if (rest->len == 0)
        rest->bytes = slice_of(start, 0);
    const size_t len = (size_t)(r->in.p - rest->bytes.data);
    if (len > BUNDLE_REST_MAX) {
        check_note(c, CHECK_LOST, "limit of this implementation",
                   "the extension blocks behind the first 32 have more than 1 MiB", at);
        return;
    }
    rest->bytes.len = len;
    rest->len++;
    rest->flags |= block->flags;
    rest->secures = rest->secures || block->type == BLOCK_BIB || block->type == BLOCK_BCB;
}

/* One canonical block; true when it was the payload. */
static bool read_canonical(struct item_reader *r, struct check *c, struct intake *in)
{
    struct bundle *b = in->bundle;
    assert(b->others_len <= BUNDLE_INLINE_MAX);
    struct bundle_block block;
    const uint8_t *start = r->in.p;
    size_t at = item_at(r);
    block_read(r, c, &block);
    if (c->stop)
        return false;
    if (block.type == BLOCK_PAYLOAD) {
        const size_t bytes = (size_t)(start - in->from);
        b->extension_bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
        b->payload_flags = block.flags;
        b->payload_crc = block.crc;
        b->payload = block.data;
        return true;
    }
    note_number(c, in, block.number, at);
    in->rising = in->rising && block.number > in->top;
    in->top = block.number > in->top ? block.number : in->top;
    if (b->others_len < BUNDLE_INLINE_MAX)
        b->others[b->others_len++] = block;
    else
        add_rest(c, b, &block, start, r, at);
    return false;
}

static int compare_numbers(const void *x, const void *y)
{
    const uint64_t *a = x, *b = y;
    return *a < *b ? -1 : *a > *b;
}

/* Numbers of a bundle with a rest, when they do not rise. 0 or HELIO_ENOMEM. */
static int check_numbers(struct check *c, const struct intake *in)
{
    const struct bundle *b = in->bundle;
    if (b->rest.len == 0 || in->rising || c->mode == BUNDLE_CHECKED)
        return 0;
    uint64_t *numbers = malloc((b->others_len + b->rest.len) * sizeof *numbers);
    if (numbers == NULL)
        return HELIO_ENOMEM;
    struct bundle_walk w = {0};
    struct bundle_block block;
    size_t n = 0;
    bool twice = false;
    while (bundle_next(b, &w, &block))
        numbers[n++] = block.number;
    assert(n == b->others_len + b->rest.len);
    qsort(numbers, n, sizeof *numbers, compare_numbers);
    for (size_t i = 1; i < n && !twice; i++)
        twice = numbers[i] == numbers[i - 1];
    free(numbers);
    if (twice)
        note_twice(c, 0);
    return 0;
}

static void read_blocks(struct item_reader *r, struct check *c, struct intake *in, bool open,
                        uint64_t count)
{
    bool payload = false;
    for (uint64_t i = 1; open || i < count; i++) {
        enum item_kind next = item_peek(r);
        if (open && (next == ITEM_BREAK || (payload && next == ITEM_NONE)))
            break;
        if (payload)
            check_note(c, CHECK_REFUSE, SECTION_BUNDLE, "the payload block is the last block",
                       item_at(r));
        if (c->stop)
            return;
        payload |= read_canonical(r, c, in);
        c->beyond =
            !payload && c->extensions_max > 0 && (size_t)(r->in.p - in->from) > c->extensions_max;
        c->stop |= c->beyond;
        if (c->stop)
            return;
    }
    if (open)
        item_break(r);
    check_reader(c, r, SECTION_BUNDLE);
    if (!payload)
        check_note(c, CHECK_REFUSE, SECTION_BUNDLE, "there is no payload block", item_at(r));
    if (reader_left(&r->in) > 0)
        check_note(c, CHECK_REFUSE, SECTION_BUNDLE, "there are bytes behind the bundle's end",
                   item_at(r));
}

static void note_wide(struct check *c, const struct item_reader *r)
{
    if (r->wide)
        check_note(c, CHECK_RULE, SECTION_BUNDLE,
                   "a number, length or count is not in its shortest form (RFC 8949 §4.2.1)",
                   r->wide_at);
}

static void read_known(struct bundle *b, const struct bundle_block *block,
                       const struct block_kind *k, struct check *c, const uint8_t *base)
{
    struct item_reader r = item_reader_of(base, block->data);
    assert(k->single && block_kind_of(k, b) == NULL); /* so that there is a place for it */
    const struct bundle_frame frame = {
        .number = block->number, .flags = block->flags, .crc = block->crc};
    block_kind_set(k, b, true, frame);
    k->read(&r, c, b);
    if (r.in.bad)
        check_note(c, CHECK_REFUSE, k->section, r.why, r.why_at);
    else if (reader_left(&r.in) > 0)
        check_note(c, CHECK_REFUSE, k->section, "there are bytes behind the block's content",
                   item_at(&r));
    note_wide(c, &r);
}

/* Reads an extension block by its kind. True: its content is in the bundle's fields now. */
static bool take_block(struct bundle *b, const struct bundle_block *block, unsigned *seen,
                       struct check *c, const uint8_t *base)
{
    static_assert(BLOCK_KIND_COUNT < 32, "a bit for each");
    const size_t at = block_kind_find(block->type);
    if (at == BLOCK_KIND_COUNT)
        return false;
    const struct block_kind *k = block_kinds[at];
    const bool second = *seen >> at & 1;
    *seen |= 1u << at;
    if (k->single && second)
        check_note(c, CHECK_REFUSE, k->section, "a bundle has at most one block of this type",
                   (size_t)(block->data.data - base));
    if (k->read == NULL || second || bundle_targeted(b, BLOCK_BCB, block->number))
        return false;
    read_known(b, block, k, c, base);
    return true;
}

/* Takes the known blocks out of b->others, and notes those of the rest. */
static void read_extensions(struct bundle *b, struct check *c, const uint8_t *base)
{
    bool taken[BUNDLE_INLINE_MAX] = {false};
    unsigned seen = 0;
    for (size_t i = 0; i < b->others_len && !c->stop; i++)
        taken[i] = take_block(b, &b->others[i], &seen, c, base);
    struct bundle_walk w = {.at = b->others_len};
    struct bundle_block block;
    while (!c->stop && bundle_next(b, &w, &block))
        take_block(b, &block, &seen, c, base);
    size_t kept = 0;
    for (size_t i = 0; i < b->others_len; i++) {
        if (!taken[i])
            b->others[kept++] = b->others[i];
    }
    assert(kept <= b->others_len);
    b->others_len = kept;
    bundle_mark_encrypted(b);
}

int bundle_read(const uint8_t *data, size_t len, struct check *c, struct bundle *out)
{
    struct item_reader r = item_reader_of(data, slice_of(data, len));
    struct intake in = {.bundle = out, .rising = true};
    bundle_init(out);
    bool open = item_peek(&r) != ITEM_ARRAY;
    uint64_t count = 0;
    if (open) {
        item_array_open(&r);
        check_reader(c, &r, SECTION_BUNDLE);
    } else {
        check_note(c, CHECK_RULE, SECTION_BUNDLE, "a bundle is an array of indefinite length", 0);
        count = item_array(&r);
    }
    if (!c->stop)
        primary_read(&r, c, out);
    out->primary_sound = !c->bad && out->crc != CRC_NONE;
    in.from = r.in.p;
    if (!c->stop)
        read_blocks(&r, c, &in, open, count);
    note_wide(c, &r);
    const int rc = c->stop ? 0 : check_numbers(c, &in);
    if (!c->stop)
        read_extensions(out, c, data);
    if (!c->stop)
        bundle_rules(out, c);
    return rc;
}

int bundle_decode_within(const uint8_t *data, size_t len, enum bundle_mode mode,
                         uint64_t extensions_max, struct bundle *out,
                         struct bundle_findings *findings)
{
    struct check c = {.mode = mode, .findings = findings, .extensions_max = extensions_max};
    if (findings != NULL)
        findings->len = 0;
    const int rc = bundle_read(data, len, &c, out);
    assert(findings == NULL || findings->len <= sizeof findings->at / sizeof findings->at[0]);
    return c.bad ? HELIO_EFORMAT : c.beyond ? HELIO_ESPACE : rc;
}

int bundle_decode(const uint8_t *data, size_t len, enum bundle_mode mode, struct bundle *out,
                  struct bundle_findings *findings)
{
    return bundle_decode_within(data, len, mode, 0, out, findings);
}

/* ---- where a bundle ends: an array of arrays, none of which is looked into ---- */

static void skip_block(struct item_reader *r)
{
    if (item_peek(r) != ITEM_ARRAY)
        item_fail(r, "a block is an array", item_at(r));
    item_skip(r, ITEM_LEVELS_MAX);
}

size_t bundle_length(struct slice data)
{
    struct item_reader r = item_reader_of(data.data, data);
    item_array_open(&r);
    size_t blocks = 0;
    for (; !r.in.bad && item_peek(&r) != ITEM_BREAK; blocks++)
        skip_block(&r);
    item_break(&r);
    return r.in.bad || blocks == 0 ? 0 : item_at(&r);
}
