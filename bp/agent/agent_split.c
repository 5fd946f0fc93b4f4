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

static struct buf *next_fragment(struct record *r, const struct bundle *b, uint64_t limit,
                                 const char **why)
{
    uint64_t left = b->payload.len - r->sent_to, len = left;
    if (limit != 0) {
        struct buf *least = bundle_fragment(b, r->sent_to, 1);
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
    struct buf *f = bundle_fragment(b, r->sent_to, len);
    if (f == NULL)
        return NULL;
    assert(limit == 0 || f->len <= limit);
    r->in_hand = len;
    const uint64_t more = f->len - len;
    r->hand_head = more < UINT32_MAX ? (uint32_t)more : UINT32_MAX;
    return f;
}

struct buf *split_next(struct record *r, const struct bundle *b, uint64_t limit, const char **why)
{
    assert(r->in_hand == 0 && r->sent_to <= b->payload.len);
    if (r->sent_to > 0)
        return next_fragment(r, b, limit, why);
    struct buf *whole = bundle_encode_copy(b);
    if (whole == NULL || limit == 0 || whole->len <= limit)
        return whole;
    buf_drop(whole);
    if ((b->flags & BUNDLE_NO_FRAGMENT) == 0 && b->payload.len > 0)
        return next_fragment(r, b, limit, why);
    *why = "longer than the link can carry";
    return NULL;
}

uint64_t split_limit(const struct agent *a, const struct record *r)
{
    uint64_t link = link_at(a, r->link)->bundle_max;
    return link == 0 || (r->fits != 0 && r->fits < link) ? r->fits : link;
}

uint64_t split_rest(const struct record *r)
{
    assert(r->sent_to < r->bytes);
    return r->sent_to == 0 ? r->bytes : r->bytes - r->sent_to + HEAD_MORE;
}

enum split_more split_follows(struct record *r)
{
    struct agent_head h;
    if (r->in_hand == 0) /* it was sent as a whole, as most are */
        return SPLIT_DONE;
    record_head(r, &h);
    const uint64_t bytes = r->in_hand + r->hand_head;
    r->sent_to += r->in_hand;
    bool more = r->sent_to < h.payload_len;
    r->in_hand = 0;
    assert(r->sent_to <= h.payload_len);
    if (!more)
        return SPLIT_DONE;
    if (r->fits == 0)
        return SPLIT_THIS_WAY;
    r->fits -= bytes < r->fits ? bytes : r->fits;
    return r->fits < ROUTER_FITS_MIN ? SPLIT_ASK_ANEW : SPLIT_THIS_WAY;
}
