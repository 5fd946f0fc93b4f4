/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The payload of a bundle in fragments is joined when its turn is near. The pieces are copied into
 * one buffer of the whole length, in order of arrival; a byte that arrived twice is that of the
 * first piece (RFC 9171 §5.9). Pieces in the store are loaded, a few ahead, so that only these and
 * the whole are in memory. Without memory the whole is paused; copied bytes are kept.
 */
#include <assert.h>

#include "bp/agent/admission/agent_security.h"
#include "bp/agent/agent_impl.h"

static int start_join(struct agent *a, struct reassembly *as)
{
    as->joined = buf_new(0, (size_t)as->total);
    if (as->joined == NULL)
        return HELIO_ENOMEM;
    buf_append(as->joined, (size_t)as->total);
    a->counters.memory_bytes += as->joined->cap;
    return 0;
}

static int copy_piece(struct reassembly *as, const struct forwarding *p)
{
    assert(as->joined != NULL && p->buf != NULL);
    struct agent_head h;
    record_head(p->bundle, &h);
    assert(p->bundle->payload_len == h.payload_len);
    if (h.id.offset == 0 && as->first == NULL)
        as->first = p;
    const uint8_t *from = buf_data(p->buf) + p->bundle->payload_off;
    uint64_t lo = h.id.offset, hi = lo + h.payload_len;
    struct range gap = {lo, lo};
    while (ranges_gap(&as->have, gap.hi, hi, &gap))
        memcpy(buf_data(as->joined) + gap.lo, from + (gap.lo - lo), (size_t)(gap.hi - gap.lo));
    return ranges_add(&as->have, lo, hi, SIZE_MAX);
}

/* Requests one of the next pieces that are neither in memory nor requested. */
static int ask_piece(struct agent *a, struct reassembly *as, struct agent_action *out)
{
    struct list *it = as->next;
    for (int ahead = 0; ahead < PREFETCH && it != &as->pieces; ahead++, it = it->next) {
        struct forwarding *p = container_of(it, struct forwarding, node);
        if (p->buf != NULL || p->loading)
            continue;
        if (!forwarding_is_copy(p))
            return queue_load(a, p, out);
        if (copies_load(a, p, out)) /* else its bytes are in memory now, or requested */
            return 1;
    }
    return 0;
}

int fragment_join(struct agent *a, struct forwarding *whole, struct agent_action *out)
{
    struct reassembly *as = whole->reassembly;
    if (as->joined == NULL && start_join(a, as) < 0)
        goto no_memory;
    for (; as->next != &as->pieces; as->next = as->next->next) {
        struct forwarding *p = container_of(as->next, struct forwarding, node);
        if (p->buf == NULL && ask_piece(a, as, out))
            return 1;
        if (p->buf == NULL)
            return 0;
        if (secure_piece(a, as, p) < 0 || copy_piece(as, p) < 0)
            goto no_memory;
        forwarding_release(a, p);
    }
    whole->buf = as->joined; /* its bytes are counted already */
    as->joined = NULL;
    return 0;
no_memory:
    queue_retry(a, whole);
    return 0;
}
