/* SPDX-License-Identifier: Apache-2.0 */
/* Fragments of a text for ipn:2.5, for the tests of fragments at their destination. */
#ifndef BP_AGENT_PIECE_H
#define BP_AGENT_PIECE_H

#include "bp_agent_help.h"

/* Bytes [lo, hi) of `text`, the bundle's whole payload; `sequence` names the bundle. */
static inline struct bundle piece_of(const char *text, uint64_t sequence, size_t lo, size_t hi)
{
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", sequence);
    b.flags |= BUNDLE_IS_FRAGMENT;
    b.id.fragment = true;
    b.id.offset = lo;
    b.id.total = strlen(text);
    b.payload = slice_of(text + lo, hi - lo);
    return b;
}

#define TEXT "0123456789ABCDEFGHIJ"

static inline void give(struct binder *n, const struct bundle *b, enum agent_refusal expected)
{
    ck_assert_int_eq(link_receive(n, 0, b, b->id.offset), expected);
}

static inline void piece(struct binder *n, uint64_t sequence, size_t lo, size_t hi)
{
    struct bundle b = piece_of(TEXT, sequence, lo, hi);
    give(n, &b, REFUSE_NONE);
}

static inline void again(struct binder *n, uint64_t sequence, size_t lo, size_t hi)
{
    struct bundle b = piece_of(TEXT, sequence, lo, hi);
    give(n, &b, REFUSE_DUPLICATE);
}

static inline void listen(struct binder *n, uint32_t window)
{
    struct eid here = eid_of("ipn:2.5");
    ck_assert_int_eq(agent_register(n->a, 9, &here, window, n->now), 0);
}

static inline void start(struct binder *n)
{
    struct agent_config c = config_of("ipn:2.0");
    relay_init(n, &c);
}

static inline void nothing_left(struct binder *n)
{
    const struct agent_counters *c = agent_counters(n->a);
    ck_assert_uint_eq(c->bundles + c->bytes + c->memory_bytes + c->storing_bytes, 0);
    ck_assert_uint_eq(n->store->ops->bytes(n->store), 0);
}

#endif
