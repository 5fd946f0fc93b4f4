/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the blocks that the codec understands, and what is asked of all of them. Nothing can
 * go wrong here: the kinds' own functions judge contents.
 */
#include <assert.h>

#include "bp/codec/block_kind.h"

#define BLOCK_KIND_ROW(name) &block_##name,
const struct block_kind *const block_kinds[] = {BLOCK_KINDS(BLOCK_KIND_ROW)};
#undef BLOCK_KIND_ROW

size_t block_kind_find(uint64_t type)
{
    size_t i = 0;
    while (i < BLOCK_KIND_COUNT && block_kinds[i]->type != type)
        i++;
    return i;
}

bool bundle_made_here(uint64_t type)
{
    const size_t at = block_kind_find(type);
    return type <= BLOCK_PAYLOAD || (at < BLOCK_KIND_COUNT && block_kinds[at]->read != NULL);
}

bool bundle_understood(const struct bundle *b, size_t i)
{
    assert(i < b->others_len);
    const size_t at = block_kind_find(b->others[i].type);
    return at < BLOCK_KIND_COUNT && block_kinds[at]->understood != NULL &&
           block_kinds[at]->understood(b, i);
}

bool bundle_has_other(const struct bundle *b, uint64_t type)
{
    struct bundle_walk w = {0};
    struct bundle_block block;
    bool has = false;
    while (!has && bundle_next(b, &w, &block))
        has = block.type == type;
    return has;
}

bool bundle_has(const struct bundle *b, uint64_t type)
{
    const size_t at = block_kind_find(type);
    return type == BLOCK_PAYLOAD ||
           (at < BLOCK_KIND_COUNT && block_kind_of(block_kinds[at], b) != NULL) ||
           bundle_has_other(b, type);
}

void bundle_pass(struct bundle *b, const struct bundle_hop *hop)
{
    for (size_t i = 0; i < BLOCK_KIND_COUNT; i++) {
        if (block_kinds[i]->hop != NULL)
            block_kinds[i]->hop(b, hop);
    }
}
