/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles that a next hop will never accept. They are rare, so this data is kept outside the
 * records. The router is asked without the links that declined a bundle. The bundle uses another
 * route at once, or ends. What can go wrong: no memory; then the bundle is tried again later, as
 * after any other failure.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/agent/agent_impl.h"

struct declined {
    struct hash_node by_key; /* in agent.declined */
    uint64_t key;            /* of the bundle */
    size_t len;
    struct link_ref links[AGENT_DECLINES_MAX];
};

static_assert(AGENT_DECLINES_MAX <= ROUTER_DECLINED_MAX, "a question names all of them");

static uint64_t hash_of(const struct agent *a, uint64_t key)
{
    return hash_mix(a->declined.seed, key, 0);
}

static struct declined *find_declined(const struct agent *a, const struct forwarding *f)
{
    /* As a rule there are none. */
    struct hash_node *n = a->declined.len == 0 ? NULL : hash_find(&a->declined, hash_of(a, f->key));
    for (; n != NULL; n = hash_next(n)) {
        struct declined *d = container_of(n, struct declined, by_key);
        if (d->key == f->key)
            return d;
    }
    return NULL;
}

bool declined_has(const struct agent *a, const struct forwarding *f)
{
    return find_declined(a, f) != NULL;
}

size_t declined_list(const struct agent *a, const struct forwarding *f,
                     uint32_t out[AGENT_DECLINES_MAX])
{
    const struct declined *d = find_declined(a, f);
    size_t n = 0;
    for (size_t i = 0; d != NULL && i < d->len; i++) {
        const int link = link_of(a, &d->links[i]);
        if (link >= 0)
            out[n++] = (uint32_t)link;
    }
    return n;
}

void declined_forget(struct agent *a, struct forwarding *f)
{
    struct declined *d = find_declined(a, f);
    if (d == NULL)
        return;
    hash_sub(&a->declined, &d->by_key);
    free(d);
}

void declined_fini(struct agent *a)
{
    struct hash_node *n;
    while ((n = hash_walk(&a->declined, NULL)) != NULL) {
        hash_sub(&a->declined, n);
        free(container_of(n, struct declined, by_key));
    }
    hash_fini(&a->declined);
}

/* 0; HELIO_ENOMEM; HELIO_EAGAIN: so many links declined it already. */
static int note_declined(struct agent *a, struct forwarding *f)
{
    struct declined *d = find_declined(a, f);
    if (d == NULL) {
        d = calloc(1, sizeof *d);
        if (d == NULL)
            return HELIO_ENOMEM;
        d->key = f->key;
        hash_add(&a->declined, &d->by_key, hash_of(a, f->key));
    }
    if (d->len == AGENT_DECLINES_MAX)
        return HELIO_EAGAIN;
    d->links[d->len++] = link_ref(a, f->link);
    return 0;
}

/* A copy for one of several routes has only its link. */
static bool has_other_route(struct agent *a, struct forwarding *f)
{
    struct agent_head h;
    if (forwarding_is_copy(f) || note_declined(a, f) < 0)
        return false;
    record_head(f->bundle, &h);
    const struct ask_answer answer = ask_router(a, f, &h);
    assert(answer.link != f->link);
    return !answer.none;
}

void agent_declined(struct agent *a, uint64_t key, const char *reason, struct agent_now now)
{
    agent_begin(a, now);
    struct forwarding *f = forwarding_find(a, key);
    if (f == NULL || !state_is_given(f->state) || f->link == TO_ENDPOINT)
        return;
    waste_failed(a, f->queue, f->sending);
    forwarding_failed(f, reason);
    emit_reason(a, BUNDLE_FAILED, f, reason);
    ask_ended(a, f, ROUTER_FAILED);
    if (agent_overdue(a, f))
        return;
    if (has_other_route(a, f)) {
        agent_proceed(a, f);
    } else if (!forwarding_is_copy(f) && !declined_has(a, f)) { /* no memory to know it by */
        queue_retry(a, f);
    } else {
        agent_report(a, f, STATUS_DELETED, REASON_TRANSMISSION_CANCELLED);
        forwarding_end(a, f, END_DECLINED);
    }
}
