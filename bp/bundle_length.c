/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a bundle ends: an array of indefinite length, of blocks, of items; none of them is looked
 * into. What can go wrong: the bytes end before the bundle does, an item that no bundle has, arrays
 * within arrays deeper than any block has them.
 */
#include "bp/bundle.h"
#include "bp/cbor.h"

#define DEPTH_MAX 8

/* Arrays are followed by their elements: levels keep what is still to come. */
static void skip_block(struct item_reader *r)
{
    uint64_t left[DEPTH_MAX] = {item_array(r)};
    unsigned depth = 0;
    while (!r->in.bad) {
        if (left[depth] == 0) {
            if (depth-- == 0)
                return;
            continue;
        }
        left[depth]--;
        switch (item_peek(r)) {
        case ITEM_UINT:
            item_uint(r);
            break;
        case ITEM_BYTES:
            item_bytes(r);
            break;
        case ITEM_TEXT:
            item_text(r);
            break;
        case ITEM_BOOL:
            item_bool(r);
            break;
        case ITEM_ARRAY:
            if (depth + 1 == DEPTH_MAX)
                item_fail(r, "arrays are nested too deeply", item_at(r));
            else
                left[++depth] = item_array(r);
            break;
        default:
            item_fail(r, "no block has such an item", item_at(r));
        }
    }
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
