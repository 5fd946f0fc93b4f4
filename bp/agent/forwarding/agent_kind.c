/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A router by destination (router_ops.by_destination, alike) has one answer for all bundles of a
 * kind. After a change the agent asks for the first bundle of each kind. If the route has changed,
 * the bundles move one by one, over all such kinds in order of priority, then of arrival. Bundles
 * to other destinations, or without memory for a kind, are in the rests of their place, and the
 * router is asked for each. All of this is done in slices: work that a call could not do stays due,
 * and the agent's deadline is 0 until it is done. New bundles of the same kind already get the new
 * answer.
 */
#include "bp/agent/forwarding/agent_kind.h"

#include <assert.h>
#include <stdlib.h>

#include "bp/agent/agent_impl.h"

/* While questions are left, one step of so many is a move: changes that come faster than all can be
 * asked do not keep everything where it is. */
#define MOVE_EACH 8

static void init_kind(struct kind *k, struct kinds *of)
{
    k->of = of;
    list_init(&k->node);
    list_init(&k->waiting);
    list_init(&k->asking);
    list_init(&k->beside);
    heap_node_init(&k->turn);
}

static void init_rest(struct kind *k, struct kinds *of, enum bundle_priority priority)
{
    init_kind(k, of);
    k->rest = true;
    k->priority = priority;
}

void kinds_init(struct kinds *w)
{
    list_init(&w->idle);
    for (int p = 0; p < BUNDLE_PRIORITIES; p++) {
        init_rest(&w->single[p], w, (enum bundle_priority)p);
        init_rest(&w->rest[p], w, (enum bundle_priority)p);
    }
    assert(list_empty(&w->idle));
}

static void free_rest(struct kind *k)
{
    assert(k->rest && list_empty(&k->waiting) && list_empty(&k->asking));
    list_sub(&k->node);
}

void kinds_fini(struct kinds *w)
{
    assert(list_empty(&w->idle));
    for (int p = 0; p < BUNDLE_PRIORITIES; p++) {
        free_rest(&w->single[p]);
        free_rest(&w->rest[p]);
    }
}

/* Egress rules distinguish bundles that a router does not. */
static bool has_kinds(const struct agent *a)
{
    const struct router_ops *ops = a->router.ops;
    return (ops->by_destination || ops->alike != NULL) && permits_len(a->permits[PERMIT_OUT]) == 0;
}

static bool is_alike(const struct agent *a, const struct eid *destination)
{
    const struct router_ops *ops = a->router.ops;
    return ops->alike == NULL ? ops->by_destination : ops->alike(a->router.state, destination);
}

static struct kinds *place_of(struct agent *a, const struct forwarding *f)
{
    assert(f->queue == NULL || f->link >= 0);
    return f->queue == NULL ? &a->unrouted_kinds
                            : &container_of(f->queue, struct link, queue)->kinds;
}

static bool ref_equal(const struct link_ref *x, const struct link_ref *y)
{
    return x->index == y->index && x->life == y->life;
}

static uint64_t whole_bytes(const struct forwarding *f, const struct agent_head *h)
{
    return h->flags & BUNDLE_NO_FRAGMENT ? split_rest(f) : 0;
}

static bool is_of(const struct kind *k, const struct kinds *of, const struct forwarding *f,
                  const struct agent_head *h)
{
    return k->of == of && k->priority == f->bundle->qos.priority &&
           k->critical == f->bundle->qos.critical && k->bytes == whole_bytes(f, h) &&
           ref_equal(&k->came_from, &f->bundle->came_from) && ref_equal(&k->avoid, &f->avoid) &&
           eid_equal(&k->destination, &h->destination);
}

static struct target *find_target(const struct agent *a, const struct eid *node)
{
    struct hash_node *n = hash_find(&a->targets, eid_node_hash(a->config.seed, node));
    for (; n != NULL; n = hash_next(n)) {
        struct target *t = container_of(n, struct target, by_node);
        if (eid_same_node(&t->node, node))
            return t;
    }
    return NULL;
}

/* NULL: no memory. */
static struct target *get_target(struct agent *a, const struct eid *node)
{
    struct target *t = find_target(a, node);
    if (t != NULL)
        return t;
    t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    list_init(&t->kinds);
    t->node = *node;
    hash_add(&a->targets, &t->by_node, eid_node_hash(a->config.seed, node));
    return t;
}

static void leave_target(struct agent *a, struct kind *k)
{
    struct target *t = k->target;
    list_sub(&k->beside);
    if (!list_empty(&t->kinds))
        return;
    hash_sub(&a->targets, &t->by_node);
    free(t);
}

static struct kind *make_kind(struct agent *a, struct kinds *of, const struct forwarding *f,
                              const struct agent_head *h, uint64_t hash)
{
    if (a->kinds.len >= KINDS_MAX || heap_reserve(&a->moving, a->kinds.len + 1) < 0)
        return NULL;
    struct kind *k = calloc(1, sizeof *k);
    struct target *target = k == NULL ? NULL : get_target(a, &h->destination);
    if (target == NULL) {
        free(k);
        return NULL;
    }
    init_kind(k, of);
    k->critical = f->bundle->qos.critical;
    k->priority = f->bundle->qos.priority;
    k->bytes = whole_bytes(f, h);
    k->came_from = f->bundle->came_from;
    k->avoid = f->avoid;
    k->destination = h->destination;
    hash_add(&a->kinds, &k->by_key, hash);
    list_add_tail(&target->kinds, &k->beside);
    k->target = target;
    list_add_tail(&of->idle, &k->node);
    assert(is_of(k, of, f, h));
    return k;
}

static uint64_t ref_key(const struct link_ref *x)
{
    return (uint64_t)x->life << 32 | (uint32_t)x->index;
}

/* Of all that is_of compares. Else the kinds of many links would be in one chain. */
static uint64_t hash_key(const struct agent *a, const struct kinds *of, const struct forwarding *f,
                         const struct agent_head *h)
{
    static_assert(BUNDLE_PRIORITIES <= 4, "a priority has two bits");
    const uint64_t service =
        (unsigned)f->bundle->qos.critical << 2 | (unsigned)f->bundle->qos.priority;
    const uint64_t links = hash_mix(eid_hash(a->config.seed, &h->destination),
                                    ref_key(&f->bundle->came_from), ref_key(&f->avoid));
    return hash_mix(links, (uint64_t)(uintptr_t)of, whole_bytes(f, h) << 3 | service);
}

/* NULL: there are too many kinds. */
static struct kind *kind_of(struct agent *a, struct kinds *of, const struct forwarding *f,
                            const struct agent_head *h)
{
    const uint64_t hash = hash_key(a, of, f, h);
    struct hash_node *n = hash_find(&a->kinds, hash);
    for (; n != NULL; n = hash_next(n)) {
        struct kind *k = container_of(n, struct kind, by_key);
        if (is_of(k, of, f, h))
            return k;
    }
    return make_kind(a, of, f, h, hash);
}

void kind_enter(struct agent *a, struct forwarding *f, const struct agent_head *h)
{
    assert(f->kind == NULL && !forwarding_is_copy(f) && list_empty(&f->alike));
    struct kinds *of = place_of(a, f);
    struct kind *k = NULL;
    bool alike = a->router.ops->by_destination;
    struct agent_head own;
    if (h == NULL && (has_kinds(a) || a->router.ops->alike != NULL)) {
        record_head(f->bundle, &own);
        h = &own;
    }
    if (h != NULL)
        alike = is_alike(a, &h->destination);
    if (alike && has_kinds(a) && !declined_has(a, f))
        k = kind_of(a, of, f, h);
    f->kind = k != NULL ? k
              : alike   ? &of->rest[f->bundle->qos.priority]
                        : &of->single[f->bundle->qos.priority];
    list_add_tail(&f->kind->waiting, &f->alike);
    assert(f->kind->of == of);
}

void kind_leave(struct agent *a, struct forwarding *f)
{
    struct kind *k = f->kind;
    if (k == NULL)
        return; /* a copy is in the list of its siblings */
    list_sub(&f->alike);
    f->kind = NULL;
    if (k->rest || !list_empty(&k->waiting))
        return;
    assert(a->kinds.len > 0);
    hash_sub(&a->kinds, &k->by_key);
    leave_target(a, k);
    heap_sub(&a->moving, &k->turn);
    list_sub(&k->node);
    free(k);
}

static void enter_asking(struct agent *a, struct kind *rest)
{
    if (!list_empty(&rest->asking) && list_empty(&rest->node))
        list_add_tail(&a->asking, &rest->node);
}

static void ask_rests(struct agent *a, struct kind rest[BUNDLE_PRIORITIES])
{
    for (int p = BUNDLE_PRIORITIES - 1; p >= 0; p--) {
        list_move_all(&rest[p].waiting,
                      rest[p].asking.prev); /* behind those that were not asked for yet */
        enter_asking(a, &rest[p]);
    }
}

static void ask_alike(struct agent *a, struct kinds *w)
{
    ask_rests(a, w->rest);
    list_move_all(&w->idle, a->asking.prev); /* to its end */
    assert(list_empty(&w->idle));
}

void kinds_ask(struct agent *a, struct kinds *w)
{
    ask_rests(a, w->single);
    ask_alike(a, w);
}

void kinds_ask_alike(struct agent *a)
{
    ask_alike(a, &a->unrouted_kinds);
    for (uint32_t i = 0; i < a->links_cap; i++)
        if (a->links[i] != NULL)
            ask_alike(a, &a->links[i]->kinds);
}

void kinds_ask_longer(struct agent *a, struct kinds *w, uint64_t bytes)
{
    for (int p = BUNDLE_PRIORITIES - 1; p >= 0; p--) {
        struct kind *single = &w->single[p];
        list_for_each_safe (it, &single->waiting) {
            if (container_of(it, struct forwarding, alike)->bundle->bytes <= bytes)
                continue;
            list_sub(it);
            list_add_tail(&single->asking, it);
        }
        enter_asking(a, single);
    }
}

/* Of those that are to be moved each bundle is asked for. */
static void ask_kind(struct agent *a, struct kind *k)
{
    if (heap_has(&k->turn))
        return;
    list_sub(&k->node);
    list_add_tail(&a->asking, &k->node);
    assert(kinds_due(a));
}

void kinds_ask_node(struct agent *a, const struct eid *node)
{
    struct target *t = find_target(a, node);
    if (t != NULL)
        list_for_each (it, &t->kinds)
            ask_kind(a, container_of(it, struct kind, beside));
    ask_rests(a, a->unrouted_kinds.rest);
    for (uint32_t i = 0; i < a->links_cap; i++)
        if (a->links[i] != NULL)
            ask_rests(a, a->links[i]->kinds.rest);
}

void kinds_ask_moving(struct agent *a)
{
    struct list first; /* else changes in quick succession would ask and ask, and move nothing */
    list_init(&first);
    while (a->moving.len > 0) {
        struct kind *k = container_of(heap_first(&a->moving), struct kind, turn);
        heap_sub(&a->moving, &k->turn);
        list_add_tail(&first, &k->node);
    }
    list_move_all(&first, &a->asking);
}

bool kinds_due(const struct agent *a)
{
    return !list_empty(&a->asking) || a->moving.len > 0;
}

static struct forwarding *first_of(const struct list *l)
{
    assert(!list_empty(l));
    return container_of(list_first(l), struct forwarding, alike);
}

/* Selects one of its bundles: the most urgent kinds first, then the oldest bundle. */
static void set_turn(struct agent *a, struct kind *k)
{
    const uint64_t key = first_of(&k->waiting)->key;
    const uint64_t below = (uint64_t)(BUNDLE_PRIORITIES - 1 - k->priority);
    int rc = heap_set(&a->moving, &k->turn, below << 62 | (key & (UINT64_MAX >> 2)));
    assert(rc == 0); /* make_kind saw to it */
    (void)rc;
}

static void settle_kind(struct agent *a, struct kind *k)
{
    assert(!k->rest && !list_empty(&k->waiting));
    heap_sub(&a->moving, &k->turn);
    list_sub(&k->node);
    list_add_tail(&k->of->idle, &k->node);
}

static void place_first(struct agent *a, const struct list *l)
{
    struct forwarding *f = first_of(l);
    kind_leave(a, f);
    if (!agent_place_again(a, f))
        kind_enter(a, f, NULL);
}

static void ask_one(struct agent *a)
{
    struct kind *k = container_of(list_first(&a->asking), struct kind, node);
    if (k->rest && list_empty(&k->asking)) {
        list_sub(&k->node);
    } else if (k->rest || !has_kinds(a) || !is_alike(a, &k->destination)) {
        place_first(a, k->rest ? &k->asking : &k->waiting); /* k may be freed */
    } else if (agent_goes_elsewhere(a, first_of(&k->waiting))) {
        list_sub(&k->node);
        set_turn(a, k);
    } else {
        settle_kind(a, k);
    }
}

static void move_one(struct agent *a)
{
    struct kind *k = container_of(heap_first(&a->moving), struct kind, turn);
    struct forwarding *f = first_of(&k->waiting);
    const bool last = k->waiting.next == k->waiting.prev;
    kind_leave(a, f);
    const bool moved = agent_place_again(a, f);
    if (!moved)
        kind_enter(a, f, NULL);
    if (last)
        return; /* the kind was freed, or its bundles have moved */
    /* Without memory for where it was to go it is in its kind again, and has a time to try. */
    if (!moved || f->kind == k)
        settle_kind(a, k);
    else
        set_turn(a, k);
}

void kind_retry(struct agent *a, const struct forwarding *f)
{
    if (f->kind != NULL && !f->kind->rest)
        ask_kind(a, f->kind);
}

/* However often links or routes change, questions take at most a part of the time. */
static void rest_asking(struct agent *a, uint64_t work)
{
    if (a->router.ops->work != NULL)
        a->ask_from = tick_add(a->now.now, work * ASK_WORK_NS * ASK_REST);
}

void kinds_step(struct agent *a, uint64_t steps)
{
    const uint64_t from = ask_work(a), most = steps;
    if (a->now.now < a->ask_from)
        return;
    for (; steps > 0 && kinds_due(a) && ask_work(a) - from < ASK_WORK_MAX; steps--) {
        const bool move = list_empty(&a->asking) || (a->moving.len > 0 && steps % MOVE_EACH == 0);
        if (move)
            move_one(a);
        else
            ask_one(a);
    }
    if (steps < most)
        rest_asking(a, ask_work(a) - from + (most - steps) * ASK_WORK_EACH);
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

static uint64_t check_list(const struct kind *k, const struct list *l)
{
    uint64_t n = 0;
    list_for_each (it, l) {
        const struct forwarding *f = container_of(it, struct forwarding, alike);
        assert(f->kind == k && f->bundle->qos.priority == k->priority && !forwarding_is_copy(f));
        n++;
    }
    return n;
}

/* Returns how many bundles they have. */
static uint64_t check_kinds(const struct list *l)
{
    uint64_t n = 0;
    list_for_each (it, l) {
        const struct kind *k = container_of(it, struct kind, node);
        assert(!heap_has(&k->turn) && (k->rest || !list_empty(&k->waiting)));
        n += k->rest ? 0 : check_list(k, &k->waiting);
    }
    return n;
}

static uint64_t check_rest(const struct kind *rest, const struct kinds *of)
{
    assert(rest->rest && rest->of == of && !heap_has(&rest->turn));
    assert(list_empty(&rest->asking) || !list_empty(&rest->node));
    return check_list(rest, &rest->waiting) + check_list(rest, &rest->asking);
}

static uint64_t check_place(const struct kinds *w)
{
    uint64_t n = check_kinds(&w->idle);
    for (int p = 0; p < BUNDLE_PRIORITIES; p++)
        n += check_rest(&w->rest[p], w) + check_rest(&w->single[p], w);
    return n;
}

uint64_t kinds_check(const struct agent *a)
{
    uint64_t n = check_place(&a->unrouted_kinds) + check_kinds(&a->asking);
    for (uint32_t i = 0; i < a->links_cap; i++)
        n += a->links[i] == NULL ? 0 : check_place(&a->links[i]->kinds);
    list_for_each (it, &a->leaving)
        n += check_place(&container_of(it, struct link, leaving)->kinds);
    for (size_t i = 0; i < a->moving.len; i++) {
        const struct kind *k = container_of(a->moving.places[i].node, struct kind, turn);
        assert(list_empty(&k->node) && !k->rest && !list_empty(&k->waiting));
        n += check_list(k, &k->waiting);
    }
    for (struct hash_node *k = hash_walk(&a->kinds, NULL); k != NULL; k = hash_walk(&a->kinds, k))
        assert(hash_next(k) == NULL); /* a search compares one kind only */
    assert(a->kinds.len <= KINDS_MAX && a->targets.len <= a->kinds.len);
    return n;
}
