/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that each party (a neighbour, or a user of applications) has in the queue of a link.
 * Parties take turns by bytes (agent_turn.c). So before a bundle is sent, each other party sends
 * about as many bytes as the bundle's own party has in the queue with it. What another one has
 * beyond that goes after the bundle, although it was there first. A router of contact plans needs
 * to know that: else a neighbour that fills a contact leaves no place in it to others.
 *
 * What can go wrong: no memory for a party; then its bundles count as before all others.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/agent/agent_impl.h"

static struct party *find_party(const struct queue *q, uint64_t id)
{
    list_for_each (it, &q->parties) {
        struct party *p = container_of(it, struct party, node);
        if (p->id == id)
            return p;
    }
    return NULL;
}

static struct party *get_party(struct queue *q, uint64_t id)
{
    struct party *p = find_party(q, id);
    if (p == NULL) {
        p = calloc(1, sizeof *p);
        if (p == NULL)
            return NULL;
        p->id = id;
        list_init(&p->node);
    }
    list_sub(&p->node);
    list_add_head(&q->parties, &p->node); /* the next bundle is often of the same one */
    return p;
}

void party_enter(struct queue *q, struct record *r)
{
    assert(!r->in_party && r->queue == q && r->link != TO_ENDPOINT);
    struct party *p = get_party(q, turns_party(r));
    if (p == NULL)
        return;
    r->in_party = 1;
    p->bundles++;
    p->bytes[r->priority] += r->bytes;
}

void party_leave(struct queue *q, struct record *r)
{
    if (!r->in_party)
        return;
    struct party *p = find_party(q, turns_party(r));
    assert(p != NULL && p->bundles > 0 && p->bytes[r->priority] >= r->bytes);
    r->in_party = 0;
    p->bytes[r->priority] -= r->bytes;
    if (--p->bundles > 0)
        return;
    list_sub(&p->node);
    free(p);
}

void parties_fini(struct queue *q)
{
    list_for_each_safe (it, &q->parties) {
        free(container_of(it, struct party, node));
    }
    list_init(&q->parties);
}

bool party_alone(const struct queue *q)
{
    return q->parties.next == q->parties.prev && !list_empty(&q->parties);
}

uint64_t party_behind(const struct queue *q, uint64_t id, enum bundle_priority priority,
                      uint64_t bytes)
{
    const struct party *own = find_party(q, id);
    const uint64_t turns = bytes + (own == NULL ? 0 : own->bytes[priority]);
    uint64_t behind = 0;
    list_for_each (it, &q->parties) {
        const struct party *p = container_of(it, struct party, node);
        if (p->id != id && p->bytes[priority] > turns)
            behind += p->bytes[priority] - turns;
    }
    return behind;
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void parties_check(const struct queue *q)
{
    uint64_t bundles = 0, bytes[BUNDLE_PRIORITIES] = {0};
    list_for_each (it, &q->parties) {
        const struct party *p = container_of(it, struct party, node);
        assert(p->bundles > 0 && find_party(q, p->id) == p);
        bundles += p->bundles;
        for (int i = 0; i < BUNDLE_PRIORITIES; i++)
            bytes[i] += p->bytes[i];
    }
    assert(bundles <= q->bundles);
    for (int i = 0; i < BUNDLE_PRIORITIES; i++)
        assert(bytes[i] <= q->backlog[i].bytes);
}
