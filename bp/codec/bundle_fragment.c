/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fragmentation (RFC 9171 §5.8). A fragment of a fragment keeps the total of the original bundle.
 * Blocks that describe the copy at hand are in each fragment (block_kind.h), and those that are to
 * be replicated.
 */
#include "bp/codec/block_kind.h"

static void keep_replicated(struct bundle *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->others_len; i++) {
        if (f->others[i].flags & BLOCK_REPLICATE)
            f->others[kept++] = f->others[i];
    }
    f->others_len = kept;
    for (size_t i = 0; i < BLOCK_KIND_COUNT; i++) {
        const struct block_kind *k = block_kinds[i];
        const struct bundle_frame *frame = block_kind_of(k, f);
        if (frame != NULL && !k->each_fragment && !(frame->flags & BLOCK_REPLICATE))
            block_kind_set(k, f, false, *frame);
    }
    f->rest.need |= BLOCK_REPLICATE;
}

/* An integrity block of the primary block is in the first fragment, which has the form of the
 * whole; the others need one of their own (§4.3.1). */
static void protect_primary(struct bundle *f)
{
    if (!bundle_primary_protected(f))
        f->crc = CRC_32C;
}

struct buf *bundle_fragment(const struct bundle *b, uint64_t offset, uint64_t len)
{
    if (len == 0 || offset > b->payload.len || len > b->payload.len - offset ||
        (b->flags & BUNDLE_NO_FRAGMENT))
        return NULL;
    struct bundle f = *b;
    if (!b->id.fragment) {
        f.flags |= BUNDLE_IS_FRAGMENT;
        f.id.fragment = true;
        f.id.offset = 0;
        f.id.total = b->payload.len;
    }
    f.id.offset += offset;
    f.payload = slice_of(b->payload.data + offset, (size_t)len);
    if (f.id.offset != 0) {
        keep_replicated(&f);
        protect_primary(&f);
    }
    return bundle_encode_copy(&f);
}
