/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bundle that is longer than a link permits is forwarded in fragments (RFC 9171 §5.8), one after
 * the other. The next fragment is made when the neighbour has received the one before. So the node
 * keeps the whole bundle until all of it was forwarded, and after a failure only one fragment is
 * sent again. Another link continues at the same position. The router may also limit the bytes of a
 * route (a contact that ends): after these were sent, it is asked for the rest.
 *
 * What can go wrong: the bundle must not be fragmented, the link's limit has no room for a
 * fragment's head, memory. After a restart forwarding starts from the beginning; receivers detect
 * duplicate bytes.
 */
#include <assert.h>

#include "bp/agent/agent_impl.h"

#define LENGTH_MAX 8 /* the payload's length can take so many bytes more than that of one byte */
#define HEAD_MORE 18 /* offset and total length */

static struct buf *next_fragment(struct forwarding *f, const struct bundle *b, uint64_t limit,
                                 const char **why)
{
    uint64_t left = b->payload.len - f->sent_to, len = left;
    if (limit != 0) {
        struct buf *least = bundle_fragment(b, f->sent_to, 1);
        if (least == NULL)
            return NULL;
        uint64_t head = least->len - 1 + LENGTH_MAX;
        buf_drop(least);
        if (head >= limit) {
            *why = "the link has no room for a fragment's head";
            return NULL;
        }
        len = left < limit - head ? left : limit - head;
    }
    struct buf *fragment = bundle_fragment(b, f->sent_to, len);
    if (fragment == NULL)
        return NULL;
    assert(limit == 0 || fragment->len <= limit);
    f->in_hand = len;
    const uint64_t more = fragment->len - len;
    f->hand_head = more < UINT32_MAX ? (uint32_t)more : UINT32_MAX;
    return fragment;
}

struct buf *split_next(struct forwarding *f, const struct bundle *b, uint64_t limit,
                       const char **why)
{
    assert(f->in_hand == 0 && f->sent_to <= b->payload.len);
    if (f->sent_to > 0)
        return next_fragment(f, b, limit, why);
    struct buf *whole = bundle_encode_copy(b);
    if (whole == NULL || limit == 0 || whole->len <= limit)
        return whole;
    buf_drop(whole);
    if ((b->flags & BUNDLE_NO_FRAGMENT) == 0 && b->payload.len > 0)
        return next_fragment(f, b, limit, why);
    *why = "longer than the link can carry";
    return NULL;
}

uint64_t split_limit(const struct agent *a, const struct forwarding *f)
{
    uint64_t link = link_at(a, f->link)->bundle_max;
    return link == 0 || (f->fits != 0 && f->fits < link) ? f->fits : link;
}

uint64_t split_rest(const struct forwarding *f)
{
    assert(f->sent_to < f->bundle->bytes);
    return f->sent_to == 0 ? f->bundle->bytes : f->bundle->bytes - f->sent_to + HEAD_MORE;
}

enum split_more split_follows(struct forwarding *f)
{
    struct agent_head h;
    if (f->in_hand == 0) /* it was sent as a whole, as most are */
        return SPLIT_DONE;
    record_head(f->bundle, &h);
    const uint64_t bytes = f->in_hand + f->hand_head;
    f->sent_to += f->in_hand;
    bool more = f->sent_to < h.payload_len;
    f->in_hand = 0;
    assert(f->sent_to <= h.payload_len);
    if (!more)
        return SPLIT_DONE;
    if (f->fits == 0)
        return SPLIT_THIS_WAY;
    f->fits -= bytes < f->fits ? bytes : f->fits;
    return f->fits < ROUTER_FITS_MIN ? SPLIT_ASK_ANEW : SPLIT_THIS_WAY;
}
