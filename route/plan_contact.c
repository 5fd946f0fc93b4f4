/* SPDX-License-Identifier: Apache-2.0 */
/* Contacts come, change and go. The contacts of a pair lie in the order of time and do not overlap.
 * What can go wrong: one that overlaps, more than the configuration allows, memory. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "route/plan_impl.h"

size_t pair_first(const struct pair *pair, tick t)
{
    size_t low = 0, high = pair->len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pair->at[middle]->is.end > t)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool contact_valid(const struct plan_contact *c)
{
    return c->from != c->to && c->start < c->end && c->confidence > 0 && c->confidence <= 1;
}

/* Does no contact except `but` overlap? *index is its position, if `but` were removed. */
static bool find_place(const struct pair *pair, const struct plan_contact *c,
                       const struct contact *but, size_t *index)
{
    size_t i = pair_first(pair, c->start);
    *index = i;
    if (i < pair->len && pair->at[i] == but)
        i++;
    return i == pair->len || pair->at[i]->is.start >= c->end;
}

static void put_contact(struct pair *pair, size_t index, struct contact *c)
{
    memmove(&pair->at[index + 1], &pair->at[index], (pair->len - index) * sizeof(struct contact *));
    pair->at[index] = c;
    pair->len++;
}

static void take_contact(struct pair *pair, const struct contact *c)
{
    size_t i = pair_first(pair, c->is.start);
    assert(i < pair->len && pair->at[i] == c);
    pair->len--;
    memmove(&pair->at[i], &pair->at[i + 1], (pair->len - i) * sizeof(struct contact *));
}

int plan_add(struct plan *p, const struct plan_contact *contact, uint64_t *id)
{
    struct pair *pair;
    size_t index;
    if (!contact_valid(contact))
        return HELIO_EINVAL;
    if (p->contacts >= p->config.contacts_max)
        return HELIO_EAGAIN;
    int rc = plan_make_pair(p, contact->from, contact->to, &pair);
    if (rc < 0)
        return rc;
    if (!find_place(pair, contact, NULL, &index))
        return HELIO_EEXIST;
    struct contact *c = calloc(1, sizeof *c);
    if (c == NULL || plan_grow((void **)&pair->at, pair->len, &pair->cap, sizeof *pair->at) < 0) {
        free(c);
        return HELIO_ENOMEM;
    }
    c->is = *contact;
    c->pair = pair;
    c->id = ++p->ids;
    c->volume = contact_volume(contact);
    put_contact(pair, index, c);
    hash_add(&p->by_id, &c->by_id, hash_mix(p->by_id.seed, c->id, 1));
    p->contacts++;
    cache_ease(p, contact->start);
    *id = c->id;
    return 0;
}

/* Nothing is earlier, or more, than it was. */
static bool is_worse(const struct plan_contact *a, const struct plan_contact *b)
{
    bool slower = a->rate == b->rate || b->rate == 0 || (a->rate != 0 && a->rate < b->rate);
    return a->start >= b->start && a->end <= b->end && slower && a->confidence <= b->confidence;
}

int plan_change(struct plan *p, uint64_t id, const struct plan_contact *contact)
{
    struct contact *c = plan_contact_by_id(p, id);
    size_t index;
    if (c == NULL)
        return HELIO_ENOENT;
    struct pair *pair = c->pair;
    if (!contact_valid(contact) || contact->from != c->is.from || contact->to != c->is.to)
        return HELIO_EINVAL;
    if (!find_place(pair, contact, c, &index))
        return HELIO_EEXIST;
    take_contact(pair, c);
    if (!is_worse(contact, &c->is))
        cache_ease(p, tick_min(c->is.start, contact->start));
    c->is = *contact;
    c->volume = contact_volume(contact);
    contact_fit(c);
    find_place(pair, contact, NULL, &index);
    put_contact(pair, index, c);
    return 0;
}

static void free_contact(struct plan *p, struct contact *c)
{
    cache_forget_contact(p, c);
    hash_sub(&p->by_id, &c->by_id);
    p->contacts--;
    free(c);
}

int plan_remove(struct plan *p, uint64_t id)
{
    struct contact *c = plan_contact_by_id(p, id);
    if (c == NULL)
        return HELIO_ENOENT;
    take_contact(c->pair, c);
    free_contact(p, c);
    return 0;
}

static size_t drop_past(struct plan *p, struct pair *pair, tick now)
{
    size_t gone = pair_first(pair, now), old = 0;
    for (size_t i = 0; i < gone; i++)
        free_contact(p, pair->at[i]);
    pair->len -= gone;
    if (gone > 0)
        memmove(pair->at, pair->at + gone, pair->len * sizeof(struct contact *));
    while (old < pair->ranges && pair->range[old].end <= now)
        old++;
    pair->ranges -= old;
    p->ranges -= old;
    if (old > 0)
        memmove(pair->range, pair->range + old, pair->ranges * sizeof *pair->range);
    return gone;
}

size_t plan_drop_past(struct plan *p, tick now)
{
    size_t gone = 0;
    for (size_t i = 0; i < p->nodes; i++) {
        for (size_t j = 0; j < p->node[i]->len; j++)
            gone += drop_past(p, p->node[i]->out[j], now);
    }
    return gone;
}

uint64_t plan_at(const struct plan *p, uint64_t from, uint64_t to, tick t)
{
    const struct pair *pair = plan_pair(p, from, to);
    size_t i = pair == NULL ? 0 : pair_first(pair, t);
    return pair == NULL || i == pair->len ? 0 : pair->at[i]->id;
}

uint64_t plan_find(const struct plan *p, uint64_t from, uint64_t to, tick start)
{
    uint64_t id = plan_at(p, from, to, start);
    return id != 0 && plan_contact_by_id(p, id)->is.start == start ? id : 0;
}

const struct plan_contact *plan_get(const struct plan *p, uint64_t id)
{
    const struct contact *c = plan_contact_by_id(p, id);
    return c == NULL ? NULL : &c->is;
}

/* The first of the two that is after t, of an interval that ends after t. */
static tick next_edge(tick start, tick end, tick t)
{
    return start > t ? start : end;
}

tick plan_next_change(const struct plan *p, uint64_t node, tick t)
{
    const struct node *n = plan_node(p, node);
    tick next = TICK_NEVER;
    for (size_t i = 0; n != NULL && i < n->len; i++) {
        const struct pair *pair = n->out[i];
        size_t first = pair_first(pair, t);
        struct piece r;
        if (first < pair->len)
            next = tick_min(next, next_edge(pair->at[first]->is.start, pair->at[first]->is.end, t));
        if (pair_range(pair, t, &r))
            next = tick_min(next, next_edge(r.start, r.end, t));
    }
    return next;
}
