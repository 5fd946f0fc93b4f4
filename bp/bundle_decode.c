/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bundle is an array of blocks: the primary first, the payload last. All extension blocks are
 * first noted as they are; then those whose type the codec knows are read, unless a block
 * confidentiality block encrypts them. What can go wrong is a finding with its section and offset.
 */
#include "bp/block.h"

#include <assert.h>

#define SECTION_BUNDLE "RFC 9171 §4.1"

static void note_number(struct check *c, const struct bundle *b, uint64_t number, size_t at)
{
    for (size_t i = 0; i < b->others_len; i++) {
        if (b->others[i].number == number) {
            check_note(c, CHECK_REFUSE, "RFC 9171 §4.3.2",
                       "two blocks of the bundle have the same number", at);
            return;
        }
    }
}

static void note_too_many(struct check *c, size_t at)
{
    check_note(
        c, CHECK_REFUSE, "limit of this implementation",
        "the bundle has more than 32 extension blocks beside previous node, age and hop count", at);
}

/* One canonical block; true when it was the payload. */
static bool read_canonical(struct item_reader *r, struct check *c, struct bundle *b)
{
    assert(b->others_len <= BUNDLE_BLOCKS_MAX + BUNDLE_KNOWN_MAX);
    struct bundle_block block;
    size_t at = item_at(r);
    block_read(r, c, &block);
    if (c->stop)
        return false;
    if (block.type == BLOCK_PAYLOAD) {
        b->payload_flags = block.flags;
        b->payload_crc = block.crc;
        b->payload = block.data;
        return true;
    }
    note_number(c, b, block.number, at);
    if (b->others_len == BUNDLE_BLOCKS_MAX + BUNDLE_KNOWN_MAX)
        note_too_many(c, at);
    else
        b->others[b->others_len++] = block;
    assert(b->others_len <= BUNDLE_BLOCKS_MAX + BUNDLE_KNOWN_MAX);
    return false;
}

static void read_blocks(struct item_reader *r, struct check *c, struct bundle *b, bool open,
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
        payload |= read_canonical(r, c, b);
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

static void read_hops(struct item_reader *r, struct bundle *b)
{
    size_t at = item_at(r);
    if (item_array(r) != 2)
        item_fail(r, "a hop count is an array of limit and count", at);
    b->hop_limit = item_uint(r);
    b->hop_count = item_uint(r);
}

struct known {
    bool *has;
    struct bundle_frame *frame;
    const char *section;
};

static bool known_of(struct bundle *b, uint64_t type, struct known *out)
{
    if (type == BLOCK_PREVIOUS_NODE)
        *out = (struct known){&b->has_previous, &b->previous_frame, "RFC 9171 §4.4.1"};
    else if (type == BLOCK_AGE)
        *out = (struct known){&b->has_age, &b->age_frame, "RFC 9171 §4.4.2"};
    else if (type == BLOCK_HOP_COUNT)
        *out = (struct known){&b->has_hops, &b->hops_frame, "RFC 9171 §4.4.3"};
    else
        return false;
    return true;
}

static void read_known(struct bundle *b, const struct bundle_block *block, const struct known *k,
                       struct check *c, const uint8_t *base)
{
    struct item_reader r = item_reader_of(base, block->data);
    if (*k->has) {
        check_note(c, CHECK_REFUSE, k->section, "a bundle has at most one block of this type",
                   item_at(&r));
        return;
    }
    assert(!*k->has);
    *k->has = true;
    *k->frame =
        (struct bundle_frame){.number = block->number, .flags = block->flags, .crc = block->crc};
    if (block->type == BLOCK_PREVIOUS_NODE)
        b->previous = eid_read(&r, c);
    else if (block->type == BLOCK_AGE)
        b->age_ms = item_uint(&r);
    else
        read_hops(&r, b);
    if (r.in.bad)
        check_note(c, CHECK_REFUSE, k->section, r.why, r.why_at);
    else if (reader_left(&r.in) > 0)
        check_note(c, CHECK_REFUSE, k->section, "there are bytes behind the block's content",
                   item_at(&r));
    note_wide(c, &r);
}

/* Takes the known blocks out of b->others. */
static void read_extensions(struct bundle *b, struct check *c, const uint8_t *base)
{
    bool taken[BUNDLE_BLOCKS_MAX + BUNDLE_KNOWN_MAX] = {false};
    size_t kept = 0;
    for (size_t i = 0; i < b->others_len && !c->stop; i++) {
        const struct bundle_block *block = &b->others[i];
        struct known k;
        if (!known_of(b, block->type, &k) || bundle_targeted(b, BLOCK_BCB, block->number))
            continue;
        read_known(b, block, &k, c, base);
        taken[i] = true;
    }
    for (size_t i = 0; i < b->others_len; i++) {
        if (!taken[i])
            b->others[kept++] = b->others[i];
    }
    assert(kept <= b->others_len);
    b->others_len = kept;
    if (kept > BUNDLE_BLOCKS_MAX)
        note_too_many(c, (size_t)(b->others[BUNDLE_BLOCKS_MAX].data.data - base));
}

void bundle_read(const uint8_t *data, size_t len, struct check *c, struct bundle *out)
{
    struct item_reader r = item_reader_of(data, slice_of(data, len));
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
    if (!c->stop)
        read_blocks(&r, c, out, open, count);
    note_wide(c, &r);
    if (!c->stop)
        read_extensions(out, c, data);
    if (!c->stop)
        bundle_rules(out, c);
}

int bundle_decode(const uint8_t *data, size_t len, enum bundle_mode mode, struct bundle *out,
                  struct bundle_findings *findings)
{
    struct check c = {.mode = mode, .findings = findings};
    if (findings != NULL)
        findings->len = 0;
    bundle_read(data, len, &c, out);
    assert(findings == NULL || findings->len <= sizeof findings->at / sizeof findings->at[0]);
    return c.bad ? HELIO_EFORMAT : 0;
}
