/* SPDX-License-Identifier: Apache-2.0 */
/* The plan's nodes, and the pairs of nodes with contacts or ranges. They are created when they are
 * first used, and kept until the plan is freed. What can go wrong: memory, more nodes than the
 * configuration permits. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "route/plan_impl.h"

void plan_config_default(struct plan_config *c)
{
    *c = (struct plan_config){.nodes_max = 100000,
                              .contacts_max = 4000000,
                              .ranges_max = 4000000,
                              .cache_max = 4096,
                              .margin = true,
                              .overhead_ppm = 30000,
                              .overhead_min = 100,
                              .confidence_min = 0};
}

int plan_new(struct plan **out, const struct plan_config *config)
{
    struct plan *p = calloc(1, sizeof *p);
    if (p == NULL)
        return HELIO_ENOMEM;
    p->config = *config;
    heap_init(&p->heap);
    list_init(&p->used);
    if (hash_init(&p->by_number, config->seed) < 0 || hash_init(&p->by_nodes, config->seed) < 0 ||
        hash_init(&p->by_id, config->seed) < 0 || hash_init(&p->by_key, config->seed) < 0) {
        plan_free(p);
        return HELIO_ENOMEM;
    }
    *out = p;
    return 0;
}

static void free_pair(struct pair *pair)
{
    for (size_t i = 0; i < pair->len; i++)
        free(pair->at[i]);
    free(pair->at);
    free(pair->range);
    free(pair);
}

void plan_free(struct plan *p)
{
    if (p == NULL)
        return;
    if (p->by_key.slots != NULL)
        cache_clear(p);
    for (size_t i = 0; i < p->nodes; i++) {
        for (size_t j = 0; j < p->node[i]->len; j++)
            free_pair(p->node[i]->out[j]);
        free(p->node[i]->out);
        free(p->node[i]);
    }
    free(p->node);
    free(p->by);
    free(p->steps);
    heap_fini(&p->heap);
    hash_fini(&p->by_number);
    hash_fini(&p->by_nodes);
    hash_fini(&p->by_id);
    hash_fini(&p->by_key);
    free(p);
}

int plan_grow(void **array, size_t len, size_t *cap, size_t size)
{
    assert(len <= *cap);
    if (len < *cap)
        return 0;
    size_t more = *cap == 0 ? 4 : *cap * 2;
    void *grown = realloc(*array, more * size);
    if (grown == NULL)
        return HELIO_ENOMEM;
    *array = grown;
    *cap = more;
    return 0;
}

struct node *plan_node(const struct plan *p, uint64_t number)
{
    struct hash_node *n = hash_find(&p->by_number, hash_mix(p->by_number.seed, number, 0));
    for (; n != NULL; n = hash_next(n)) {
        struct node *node = container_of(n, struct node, by_number);
        if (node->number == number)
            return node;
    }
    return NULL;
}

static int make_node(struct plan *p, uint64_t number, struct node **out)
{
    *out = plan_node(p, number);
    if (*out != NULL)
        return 0;
    if (p->nodes >= p->config.nodes_max)
        return HELIO_EAGAIN;
    /* The heap has a place for every node: no search can fail. */
    if (plan_grow((void **)&p->node, p->nodes, &p->nodes_cap, sizeof *p->node) < 0 ||
        heap_reserve(&p->heap, p->nodes + 1) < 0)
        return HELIO_ENOMEM;
    struct node *node = calloc(1, sizeof *node);
    if (node == NULL)
        return HELIO_ENOMEM;
    node->number = number;
    heap_node_init(&node->due);
    hash_add(&p->by_number, &node->by_number, hash_mix(p->by_number.seed, number, 0));
    p->node[p->nodes++] = node;
    *out = node;
    return 0;
}

struct pair *plan_pair(const struct plan *p, uint64_t from, uint64_t to)
{
    struct hash_node *n = hash_find(&p->by_nodes, hash_mix(p->by_nodes.seed, from, to));
    for (; n != NULL; n = hash_next(n)) {
        struct pair *pair = container_of(n, struct pair, by_nodes);
        if (pair->from->number == from && pair->to->number == to)
            return pair;
    }
    return NULL;
}

bool plan_knows(const struct plan *p, uint64_t node)
{
    return plan_node(p, node) != NULL;
}

bool plan_meets(const struct plan *p, uint64_t from, uint64_t to)
{
    const struct pair *pair = plan_pair(p, from, to);
    return pair != NULL && pair->len > 0;
}

int plan_make_pair(struct plan *p, uint64_t from, uint64_t to, struct pair **out)
{
    struct node *a, *b;
    *out = plan_pair(p, from, to);
    if (*out != NULL)
        return 0;
    int rc = make_node(p, from, &a);
    rc = rc < 0 ? rc : make_node(p, to, &b);
    if (rc < 0)
        return rc;
    struct pair *pair = calloc(1, sizeof *pair);
    if (pair == NULL || plan_grow((void **)&a->out, a->len, &a->cap, sizeof *a->out) < 0) {
        free(pair);
        return HELIO_ENOMEM;
    }
    pair->from = a;
    pair->to = b;
    pair->reverse = plan_pair(p, to, from);
    if (pair->reverse != NULL)
        pair->reverse->reverse = pair;
    hash_add(&p->by_nodes, &pair->by_nodes, hash_mix(p->by_nodes.seed, from, to));
    a->out[a->len++] = pair;
    *out = pair;
    return 0;
}

struct contact *plan_contact_by_id(const struct plan *p, uint64_t id)
{
    struct hash_node *n = hash_find(&p->by_id, hash_mix(p->by_id.seed, id, 1));
    for (; n != NULL; n = hash_next(n)) {
        struct contact *c = container_of(n, struct contact, by_id);
        if (c->id == id)
            return c;
    }
    return NULL;
}

uint64_t plan_seed(const struct plan *p)
{
    return p->by_id.seed;
}

void plan_totals(const struct plan *p, struct plan_totals *out)
{
    *out = (struct plan_totals){.nodes = p->nodes,
                                .contacts = p->contacts,
                                .ranges = p->ranges,
                                .cached = p->by_key.len,
                                .hits = p->hits,
                                .misses = p->misses,
                                .searches = p->seen};
}

/* --- the neighbours that routes begin with --- */

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

int plan_begin_by(struct plan *p, uint64_t from, const uint64_t *neighbours, size_t len)
{
    uint64_t *by = malloc((len + 1) * sizeof *by);
    cache_clear(p);
    free(p->by);
    p->by = by;
    p->chosen = by != NULL;
    p->by_len = by == NULL ? 0 : len;
    p->begin = from;
    if (by == NULL)
        return HELIO_ENOMEM;
    if (len > 0)
        memcpy(by, neighbours, len * sizeof *by);
    qsort(by, len, sizeof *by, compare_numbers);
    return 0;
}

bool plan_begins(const struct plan *p, const struct pair *pair)
{
    return !p->chosen || pair->from->number != p->begin ||
           bsearch(&pair->to->number, p->by, p->by_len, sizeof *p->by, compare_numbers) != NULL;
}

/* The cursor's pair, moved on behind pairs of which `items` is through. */
static const struct pair *walk_pair(const struct plan *p, struct plan_cursor *at,
                                    size_t (*items)(const struct pair *))
{
    for (; at->node < p->nodes; at->node++, at->pair = 0) {
        const struct node *node = p->node[at->node];
        for (; at->pair < node->len; at->pair++, at->item = 0) {
            if (at->item < items(node->out[at->pair]))
                return node->out[at->pair];
        }
    }
    return NULL;
}

static size_t count_contacts(const struct pair *pair)
{
    return pair->len;
}

static size_t count_ranges(const struct pair *pair)
{
    return pair->ranges;
}

const struct plan_contact *plan_walk(const struct plan *p, struct plan_cursor *at, uint64_t *id)
{
    const struct pair *pair = walk_pair(p, at, count_contacts);
    if (pair == NULL)
        return NULL;
    const struct contact *c = pair->at[at->item++];
    *id = c->id;
    return &c->is;
}

bool plan_walk_ranges(const struct plan *p, struct plan_cursor *at, struct plan_range *out)
{
    const struct pair *pair = walk_pair(p, at, count_ranges);
    if (pair == NULL)
        return false;
    const struct piece *r = &pair->range[at->item++];
    *out = (struct plan_range){pair->from->number, pair->to->number, r->start, r->end, r->owlt,
                               r->one_way};
    return true;
}

/* What the parts of a plan promise each other. */
/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

static void check_pair(const struct plan *p, const struct pair *pair)
{
    for (size_t i = 0; i < pair->len; i++) {
        const struct contact *c = pair->at[i];
        uint64_t left = c->volume;
        assert(c->pair == pair && c->id != 0 && c->is.start < c->is.end);
        assert(i == 0 || pair->at[i - 1]->is.end <= c->is.start);
        assert(plan_contact_by_id(p, c->id) == c);
        for (int priority = 0; priority < PLAN_PRIORITIES; priority++) {
            assert(c->booked[priority] <= left);
            left -= c->booked[priority];
        }
    }
    for (size_t i = 0; i < pair->ranges; i++) {
        assert(pair->range[i].start < pair->range[i].end);
        assert(i == 0 || pair->range[i - 1].end <= pair->range[i].start);
    }
    assert(pair->reverse == plan_pair(p, pair->to->number, pair->from->number));
}

void plan_check(const struct plan *p)
{
    size_t contacts = 0, ranges = 0, entries = 0;
    for (size_t i = 0; i < p->nodes; i++) {
        assert(plan_node(p, p->node[i]->number) == p->node[i]);
        for (size_t j = 0; j < p->node[i]->len; j++) {
            check_pair(p, p->node[i]->out[j]);
            contacts += p->node[i]->out[j]->len;
            ranges += p->node[i]->out[j]->ranges;
        }
    }
    assert(contacts == p->contacts && contacts == p->by_id.len && ranges == p->ranges);
    assert(contacts <= p->config.contacts_max && ranges <= p->config.ranges_max);
    list_for_each (it, &p->used) {
        const struct entry *e = container_of(it, struct entry, used);
        assert(e->floor <= e->rest);
        assert(e->hops == 0 ? e->floor == TICK_NEVER : e->via[0]->pair->from == e->from);
        entries++;
    }
    assert(entries == p->by_key.len && entries <= p->config.cache_max);
}
