/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links are added and removed while bundles wait. When a link is removed, its bundles (queued, or
 * in transmission without an outcome) are placed elsewhere in the order of the queue, and due
 * answers to it are dropped. So its index is free for another link at once. A call places one slice
 * of them. Until the last one is placed the link is in agent.leaving, where its index does not find
 * it. What can go wrong: memory for a new link.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "bp/agent/agent_impl.h"

#define LINKS_FIRST 8

static int make_room(struct agent *a, uint32_t link)
{
    uint32_t cap = a->links_cap == 0 ? LINKS_FIRST : a->links_cap;
    if (link < a->links_cap)
        return 0;
    while (cap <= link)
        cap *= 2;
    struct link **grown = realloc(a->links, cap * sizeof *grown);
    if (grown == NULL)
        return HELIO_ENOMEM;
    for (uint32_t i = a->links_cap; i < cap; i++)
        grown[i] = NULL;
    a->links = grown;
    a->links_cap = cap;
    return 0;
}

/* NULL is none. */
static void drop_rules(struct rule_set *set)
{
    assert(set == NULL || set->links > 0);
    if (set != NULL && --set->links == 0)
        free(set);
}

/* Links with equal rules share one set: a link of an unconfigured peer has the rules of the link
 * that accepted it. NULL: no memory. */
static struct rule_set *keep_rules(const struct agent *a, const struct agent_queue_rule *rules,
                                   size_t len)
{
    const size_t size = len * sizeof *rules;
    for (uint32_t i = 0; i < a->links_cap; i++) {
        struct rule_set *set = a->links[i] == NULL ? NULL : a->links[i]->rules;
        if (set != NULL && set->len == len && memcmp(set->of, rules, size) == 0) {
            set->links++;
            return set;
        }
    }
    struct rule_set *set = malloc(sizeof *set + size);
    if (set == NULL)
        return NULL;
    set->links = 1;
    set->len = len;
    memcpy(set->of, rules, size);
    return set;
}

static void free_link(struct link *l)
{
    kinds_fini(&l->kinds);
    queue_fini(&l->queue);
    drop_rules(l->rules);
    free(l);
}

int agent_link_add(struct agent *a, uint32_t link, const struct eid *peer, uint32_t window)
{
    if (link >= LINKS_MAX || window == 0)
        return HELIO_EINVAL;
    if (link_at(a, link) != NULL)
        return HELIO_EEXIST;
    struct link *l = calloc(1, sizeof *l);
    a->route_shares++; /* for the shares */
    if (l == NULL || make_room(a, link) < 0 || quota_add_peer(a, quota_peer_id(peer)) < 0) {
        a->route_shares--;
        free(l);
        return HELIO_ENOMEM;
    }
    l->peer = *peer;
    l->life = ++a->link_lives;
    queue_init(&l->queue, window);
    waste_begin(a, &l->queue);
    kinds_init(&l->kinds);
    list_init(&l->leaving);
    a->links[link] = l;
    a->place = ask_changed(a, link) || a->place;
    return 0;
}

struct link_ref link_ref(const struct agent *a, int link)
{
    const struct link *l = link_at(a, link);
    return l == NULL ? (struct link_ref){.index = NO_LINK} : (struct link_ref){link, l->life};
}

int link_of(const struct agent *a, const struct link_ref *ref)
{
    const struct link *l = link_at(a, ref->index);
    return l != NULL && l->life == ref->life ? ref->index : NO_LINK;
}

/* Drops due answers. Bundles detect by link_ref.life that the link was removed. */
static void forget_link(struct agent *a, uint32_t link)
{
    list_for_each_safe (it, &a->answers) {
        struct forwarding *f = container_of(it, struct forwarding, answer);
        if (f->bundle->origin != BUNDLE_FROM_LINK || f->bundle->in_link != link)
            continue;
        list_sub(&f->answer);
        if (f->state == STATE_NOT_STORED)
            forwarding_free(f);
    }
    notice_forget(a, link);
}

/* What it was given: at once, since from now on no answer is one to that. */
static void take_back_given(struct agent *a, struct list *busy)
{
    while (!list_empty(busy)) {
        struct forwarding *f = container_of(list_first(busy), struct forwarding, node);
        emit_reason(a, BUNDLE_FAILED, f, "the link is removed");
        ask_ended(a, f, ROUTER_FAILED);
        if (!agent_overdue(a, f))
            agent_leave_link(a, f);
    }
}

/* The one that would go next; NULL: none is left. */
static struct forwarding *next_waiting(struct agent *a, struct queue *q)
{
    for (int p = BUNDLE_PRIORITIES - 1; p >= 0; p--) {
        struct band *b = bands_first(&q->bands, (enum bundle_priority)p);
        if (b != NULL && list_empty(&b->front))
            return turns_first(a, &b->back, 0, 0);
        if (b != NULL)
            return container_of(list_first(&b->front), struct forwarding, node);
    }
    const struct list *paused = list_empty(&q->roomless) ? &q->paused : &q->roomless;
    const struct list *from = list_empty(&q->resumed) ? paused : &q->resumed;
    return list_empty(from) ? NULL : container_of(list_first(from), struct forwarding, node);
}

uint64_t links_leave(struct agent *a, uint64_t n)
{
    while (n > 0 && !list_empty(&a->leaving)) {
        struct link *l = container_of(list_first(&a->leaving), struct link, leaving);
        struct forwarding *f = next_waiting(a, &l->queue);
        assert(l->queue.gone && l->queue.busy_len == 0);
        if (f == NULL) {
            assert(queue_empty(&l->queue) && l->queue.bundles == 0 && l->queue.bytes == 0);
            list_sub(&l->leaving);
            free_link(l);
            continue;
        }
        if (!agent_overdue(a, f))
            agent_leave_link(a, f);
        n--;
    }
    return n;
}

int agent_link_remove(struct agent *a, uint32_t link, struct agent_now now)
{
    agent_begin(a, now);
    struct link *l = link_at(a, link);
    if (l == NULL)
        return HELIO_ENOENT;
    agent_release(a, link, l->arriving);
    memory_open(a, &l->queue, false);
    a->links[link] = NULL;
    routes_remove_link(&a->routes, link);
    a->place = ask_changed(a, link) || a->place;
    assert(a->route_shares > 2);
    a->route_shares--;
    quota_sub_peer(a, quota_peer_id(&l->peer));
    forget_link(a, link);
    list_sub(&l->queue.node);
    list_sub(&l->queue.sending_wait);
    list_sub(&l->queue.room_wait);
    waste_lost(a, &l->queue, l->queue.sending);
    take_back_given(a, &l->queue.busy);
    waste_close(a, &l->queue);
    list_sub(&l->queue.waste.node);
    l->queue.gone = true;
    list_add_tail(&a->leaving, &l->leaving);
    (void)links_leave(a, a->config.place_slice);
    return 0;
}

int agent_link_service(struct agent *a, uint32_t link, const struct agent_service *s)
{
    struct link *l = link_at(a, link);
    if (l == NULL)
        return HELIO_ENOENT;
    const uint32_t usual[BUNDLE_PRIORITIES] = BAND_WEIGHTS;
    const bool none = s->weights[0] == 0 && s->weights[1] == 0 && s->weights[2] == 0;
    const uint32_t *weights = none ? usual : s->weights;
    for (int p = 0; p < BUNDLE_PRIORITIES; p++)
        if (weights[p] == 0 || weights[p] > AGENT_WEIGHT_MAX)
            return HELIO_EINVAL;
    struct rule_set *rules = s->rules_len == 0 ? NULL : keep_rules(a, s->rules, s->rules_len);
    if (s->rules_len > 0 && rules == NULL)
        return HELIO_ENOMEM;
    drop_rules(l->rules);
    l->rules = rules;
    l->bundles_max = s->bundles_max;
    l->bytes_max = s->bytes_max;
    l->queue.bands.strict = s->strict;
    memcpy(l->queue.bands.weight, weights, sizeof usual);
    assert((l->rules == NULL) == (s->rules_len == 0));
    return 0;
}

bool agent_backlog(const struct agent *a, uint32_t link,
                   struct agent_backlog out[BUNDLE_PRIORITIES])
{
    const struct link *l = link_at(a, link);
    for (int p = 0; p < BUNDLE_PRIORITIES; p++)
        out[p] = l == NULL ? (struct agent_backlog){0} : l->queue.backlog[p];
    return l != NULL;
}

/* Of the first bundle of a list, which is the oldest unless it was returned. */
static uint64_t stay_ms(const struct list *l, tick now, uint64_t most)
{
    if (list_empty(l))
        return most;
    const struct forwarding *f = container_of(list_first(l), struct forwarding, node);
    uint64_t stay =
        f->bundle->rest_ms + (now > f->bundle->arrived ? now - f->bundle->arrived : 0) / TICK_MS;
    return stay > most ? stay : most;
}

static uint64_t band_stay_ms(const struct band *b, tick now, uint64_t most)
{
    most = stay_ms(&b->front, now, most);
    const struct list *rings[] = {&b->back.ring, &b->back.away};
    for (size_t i = 0; i < 2; i++)
        list_for_each (p, rings[i])
            list_for_each (s, &container_of(p, struct turn, node)->ring)
                most = stay_ms(&container_of(s, struct turn, node)->ring, now, most);
    return most;
}

uint64_t agent_oldest_ms(const struct agent *a, uint32_t link, struct agent_now now)
{
    const struct link *l = link_at(a, link);
    if (l == NULL || l->queue.bundles == 0)
        return UINT64_MAX;
    const struct bands *b = &l->queue.bands;
    uint64_t most = stay_ms(&l->queue.busy, now.now, 0);
    most = stay_ms(&l->queue.paused, now.now, stay_ms(&l->queue.resumed, now.now, most));
    most = stay_ms(&l->queue.roomless, now.now, most);
    for (int p = 0; p < BUNDLE_PRIORITIES; p++)
        most = band_stay_ms(&b->of[p], now.now, most);
    list_for_each (it, &b->ranks) { /* 255 at most */
        most = band_stay_ms(container_of(it, struct band, node), now.now, most);
    }
    assert(most < UINT64_MAX);
    return most;
}

void agent_link(struct agent *a, uint32_t link, bool up, struct agent_now now)
{
    agent_begin(a, now);
    if (link_at(a, link) == NULL)
        return;
    struct queue *q = &link_at(a, link)->queue;
    bool changed = q->open != up;
    if (up && !q->open)
        service_init(&q->service, a->now.now);
    memory_open(a, q, up);
    if (!up) {
        queue_close(a, q);
        waste_close(a, q);
    }
    if (changed)
        agent_link_changed(a, link);
    if (!up)
        return;
    agent_resume(a, q);
    queue_wake(a, q);
}

void agent_heard(struct agent *a, uint32_t link, struct agent_now now)
{
    agent_begin(a, now);
    struct link *l = link_at(a, link);
    if (l == NULL || !l->queue.open)
        return;
    agent_resume(a, &l->queue);
    queue_wake(a, &l->queue);
}

void agent_link_limit(struct agent *a, uint32_t link, uint64_t bundle_max, struct agent_now now)
{
    agent_begin(a, now);
    struct link *l = link_at(a, link);
    if (l == NULL || l->bundle_max == bundle_max)
        return;
    const uint64_t before = l->bundle_max;
    l->bundle_max = bundle_max;
    const bool first = before == 0 || (bundle_max != 0 && bundle_max < before);
    agent_place_longer(a, link, first ? bundle_max : before);
}

void agent_window(struct agent *a, uint32_t link, uint32_t window, struct agent_now now)
{
    agent_begin(a, now);
    if (link_at(a, link) == NULL || window == 0)
        return;
    struct queue *q = &link_at(a, link)->queue;
    q->window = window;
    queue_wake(a, q);
}

void links_fini(struct agent *a)
{
    for (uint32_t i = 0; i < a->links_cap; i++) {
        if (a->links[i] != NULL)
            free_link(a->links[i]);
    }
    free(a->links);
    list_for_each_safe (it, &a->leaving)
        free_link(container_of(it, struct link, leaving));
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void links_check(const struct agent *a)
{
    list_for_each (it, &a->leaving) {
        const struct link *l = container_of(it, struct link, leaving);
        queue_check(a, &l->queue);
        assert(l->queue.gone && list_empty(&l->queue.node));
    }
    for (uint32_t i = 0; i < a->links_cap; i++)
        assert(a->links[i] == NULL || !a->links[i]->queue.gone);
    list_for_each (it, &a->resuming)
        assert(container_of(it, struct queue, resuming)->window > 0);
}
