/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that each party (a neighbour, or a user of applications) has in the queue of a link.
 * Parties take turns by bytes (agent_turn.c). So before a bundle is sent, each other party sends
 * about as many bytes as the bundle's own party has in the queue with it. What another one has
 * beyond that goes after the bundle, although it was there first. A router of contact plans needs
 * to know that: else a neighbour that fills a contact leaves no place in it to others.
 *
 * There can be as many parties as bundles: peers that connected once, each with its own name. So
 * parties are found by hash, and no question visits all of them (base/excess.h).
 *
 * What can go wrong: no memory for a party; then its bundles count as before all others.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/agent/agent_impl.h"

#define PARTY_DEPTH 128 /* steps of a question; beyond it, ranks would not be random */

static uint64_t key_of(const struct agent *a, const struct queue *q, uint64_t id)
{
    return hash_mix(a->config.seed, id, (uint64_t)(uintptr_t)q);
}

static struct party *find_party(const struct agent *a, const struct queue *q, uint64_t id)
{
    struct hash_node *n = hash_find(&a->link_parties, key_of(a, q, id));
    for (; n != NULL; n = hash_next(n)) {
        struct party *p = container_of(n, struct party, by_key);
        if (p->queue == q && p->id == id)
            return p;
    }
    return NULL;
}

static struct party *get_party(struct agent *a, struct queue *q, uint64_t id)
{
    struct party *p = find_party(a, q, id);
    if (p != NULL)
        return p;
    p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    const uint64_t key = key_of(a, q, id);
    p->queue = q;
    p->id = id;
    for (int i = 0; i < BUNDLE_PRIORITIES; i++)
        excess_node_init(&p->bytes[i], key);
    hash_add(&a->link_parties, &p->by_key, key);
    list_add_tail(&q->parties, &p->node);
    return p;
}

void party_enter(struct agent *a, struct record *r)
{
    struct queue *q = r->queue;
    assert(!r->in_party && r->link != TO_ENDPOINT);
    struct party *p = get_party(a, q, turns_party(r));
    if (p == NULL)
        return;
    struct excess_node *bytes = &p->bytes[r->priority];
    r->in_party = 1;
    p->bundles++;
    excess_set(&q->party_bytes[r->priority], bytes, bytes->amount + r->bytes);
}

void party_leave(struct agent *a, struct record *r)
{
    struct queue *q = r->queue;
    if (!r->in_party)
        return;
    struct party *p = find_party(a, q, turns_party(r));
    assert(p != NULL && p->bundles > 0 && p->bytes[r->priority].amount >= r->bytes);
    struct excess_node *bytes = &p->bytes[r->priority];
    r->in_party = 0;
    excess_set(&q->party_bytes[r->priority], bytes, bytes->amount - r->bytes);
    if (--p->bundles > 0)
        return;
    hash_sub(&a->link_parties, &p->by_key);
    list_sub(&p->node);
    free(p);
}

void parties_free(struct agent *a)
{
    struct hash_node *n;
    while ((n = hash_walk(&a->link_parties, NULL)) != NULL) {
        hash_sub(&a->link_parties, n);
        free(container_of(n, struct party, by_key));
    }
    hash_fini(&a->link_parties);
}

bool party_alone(const struct queue *q)
{
    return q->parties.next == q->parties.prev && !list_empty(&q->parties);
}

uint64_t party_behind(const struct agent *a, const struct queue *q, uint64_t id,
                      enum bundle_priority priority, uint64_t bytes)
{
    const struct party *own = find_party(a, q, id);
    const uint64_t turns = bytes + (own == NULL ? 0 : own->bytes[priority].amount);
    return excess_over(&q->party_bytes[priority], turns); /* never of its own party */
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void parties_check(const struct agent *a, const struct queue *q)
{
    uint64_t bundles = 0, bytes[BUNDLE_PRIORITIES] = {0};
    list_for_each (it, &q->parties) {
        const struct party *p = container_of(it, struct party, node);
        assert(p->bundles > 0 && p->queue == q && find_party(a, q, p->id) == p);
        bundles += p->bundles;
        for (int i = 0; i < BUNDLE_PRIORITIES; i++)
            bytes[i] += p->bytes[i].amount;
    }
    assert(bundles <= q->bundles);
    for (int i = 0; i < BUNDLE_PRIORITIES; i++) {
        assert(excess_check(&q->party_bytes[i]) <= PARTY_DEPTH);
        assert(bytes[i] == excess_over(&q->party_bytes[i], 0) && bytes[i] <= q->backlog[i].bytes);
    }
}
