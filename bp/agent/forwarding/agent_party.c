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
 * Neighbours without a link share one turn in the queue. So they count as one party here, too:
 * `common`. A neighbour that returns leaves it with its next bundle.
 *
 * What can go wrong: no memory for a party; then its bundles count as before all others. No memory
 * for the common one; then a neighbour that has gone counts singly.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/agent/agent_impl.h"

#define PARTY_DEPTH 128         /* steps of a question; beyond it, ranks would not be random */
#define PARTY_COMMON UINT64_MAX /* id of the common party of a queue */

/* The bundles of a neighbour or user in the queue of a link. It exists while there are any. */
struct party {
    struct list node; /* in queue.parties; the common one is in no list */
    struct hash_node by_key;
    struct queue *queue;
    uint64_t id;
    uint64_t bundles;                            /* of the common one: of all its members */
    uint64_t has[BUNDLE_PRIORITIES];             /* bytes of these, by priority */
    struct excess_node bytes[BUNDLE_PRIORITIES]; /* in queue.party_bytes: what counts here */
    struct party *common;                        /* its bytes count there; NULL: here */
};

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
    list_init(&p->node);
    for (int i = 0; i < BUNDLE_PRIORITIES; i++)
        excess_node_init(&p->bytes[i], key);
    hash_add(&a->link_parties, &p->by_key, key);
    if (id != PARTY_COMMON)
        list_add_tail(&q->parties, &p->node);
    return p;
}

static void free_party(struct agent *a, struct party *p)
{
    assert(p->bundles == 0);
    hash_sub(&a->link_parties, &p->by_key);
    list_sub(&p->node);
    free(p);
}

static void add_bytes(struct party *p, int priority, uint64_t bytes)
{
    struct excess_node *n = &p->bytes[priority];
    excess_set(&p->queue->party_bytes[priority], n, n->amount + bytes);
}

static void sub_bytes(struct party *p, int priority, uint64_t bytes)
{
    struct excess_node *n = &p->bytes[priority];
    assert(n->amount >= bytes);
    excess_set(&p->queue->party_bytes[priority], n, n->amount - bytes);
}

static void move_bytes(struct party *from, struct party *to, const uint64_t has[BUNDLE_PRIORITIES])
{
    for (int i = 0; i < BUNDLE_PRIORITIES; i++) {
        sub_bytes(from, i, has[i]);
        add_bytes(to, i, has[i]);
    }
}

static void leave_common(struct agent *a, struct party *p)
{
    struct party *common = p->common;
    if (common == NULL)
        return;
    assert(common->bundles >= p->bundles);
    p->common = NULL;
    move_bytes(common, p, p->has);
    common->bundles -= p->bundles;
    if (common->bundles == 0)
        free_party(a, common);
}

static void enter_common(struct agent *a, struct party *p)
{
    struct party *common = p->common == NULL ? get_party(a, p->queue, PARTY_COMMON) : NULL;
    if (common == NULL)
        return;
    p->common = common;
    move_bytes(p, common, p->has);
    common->bundles += p->bundles;
}

void party_enter(struct agent *a, struct forwarding *f)
{
    assert(!f->in_party && f->link != TO_ENDPOINT);
    struct party *p = get_party(a, f->queue, turns_party(f));
    if (p == NULL)
        return;
    f->in_party = 1;
    p->bundles++;
    p->has[f->priority] += f->bundle->bytes;
    if (p->common != NULL)
        p->common->bundles++;
    add_bytes(p->common != NULL ? p->common : p, f->priority, f->bundle->bytes);
    if (turns_gone(f))
        enter_common(a, p);
    else
        leave_common(a, p);
}

void parties_gone(struct agent *a, uint64_t id)
{
    for (uint32_t i = 0; i < a->links_cap; i++) {
        struct party *p = a->links[i] == NULL ? NULL : find_party(a, &a->links[i]->queue, id);
        if (p != NULL)
            enter_common(a, p);
    }
}

void party_leave(struct agent *a, struct forwarding *f)
{
    struct queue *q = f->queue;
    if (!f->in_party)
        return;
    struct party *p = find_party(a, q, turns_party(f));
    assert(p != NULL && p->bundles > 0 && p->has[f->priority] >= f->bundle->bytes);
    struct party *common = p->common;
    f->in_party = 0;
    p->has[f->priority] -= f->bundle->bytes;
    sub_bytes(common != NULL ? common : p, f->priority, f->bundle->bytes);
    if (common != NULL && --common->bundles == 0)
        free_party(a, common);
    if (--p->bundles == 0)
        free_party(a, p);
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
    own = own != NULL && own->common != NULL ? own->common : own;
    const uint64_t turns = bytes + (own == NULL ? 0 : own->bytes[priority].amount);
    return excess_over(&q->party_bytes[priority], turns); /* never of its own party */
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void parties_check(const struct agent *a, const struct queue *q)
{
    uint64_t bundles = 0, shared = 0, bytes[BUNDLE_PRIORITIES] = {0};
    const struct party *common = find_party(a, q, PARTY_COMMON);
    list_for_each (it, &q->parties) {
        const struct party *p = container_of(it, struct party, node);
        assert(p->bundles > 0 && p->queue == q && find_party(a, q, p->id) == p);
        assert(p->common == NULL || p->common == common);
        bundles += p->bundles;
        shared += p->common != NULL ? p->bundles : 0;
        for (int i = 0; i < BUNDLE_PRIORITIES; i++) {
            bytes[i] += p->has[i];
            assert(p->bytes[i].amount == (p->common != NULL ? 0 : p->has[i]));
        }
    }
    assert(bundles <= q->bundles && shared == (common == NULL ? 0 : common->bundles));
    assert(common == NULL || shared > 0);
    for (int i = 0; i < BUNDLE_PRIORITIES; i++) {
        assert(excess_check(&q->party_bytes[i]) <= PARTY_DEPTH);
        assert(bytes[i] == excess_over(&q->party_bytes[i], 0) && bytes[i] <= q->backlog[i].bytes);
    }
}
