/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a bundle ends: an array of indefinite length, of blocks, of items; none of them is looked
 * into. What can go wrong: the bytes end before the bundle does, an item that no bundle has, arrays
 * within arrays deeper than any block has them.
 */
#include "bp/codec/bundle.h"
#include "bp/codec/cbor.h"

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
