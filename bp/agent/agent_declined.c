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

static struct declined *find_declined(const struct agent *a, const struct record *r)
{
    /* As a rule there are none. */
    struct hash_node *n = a->declined.len == 0 ? NULL : hash_find(&a->declined, hash_of(a, r->key));
    for (; n != NULL; n = hash_next(n)) {
        struct declined *d = container_of(n, struct declined, by_key);
        if (d->key == r->key)
            return d;
    }
    return NULL;
}

bool declined_has(const struct agent *a, const struct record *r)
{
    return find_declined(a, r) != NULL;
}

size_t declined_list(const struct agent *a, const struct record *r,
                     uint32_t out[AGENT_DECLINES_MAX])
{
    const struct declined *d = find_declined(a, r);
    size_t n = 0;
    for (size_t i = 0; d != NULL && i < d->len; i++) {
        const int link = link_of(a, &d->links[i]);
        if (link >= 0)
            out[n++] = (uint32_t)link;
    }
    return n;
}

void declined_forget(struct agent *a, struct record *r)
{
    struct declined *d = find_declined(a, r);
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
static int note_declined(struct agent *a, struct record *r)
{
    struct declined *d = find_declined(a, r);
    if (d == NULL) {
        d = calloc(1, sizeof *d);
        if (d == NULL)
            return HELIO_ENOMEM;
        d->key = r->key;
        hash_add(&a->declined, &d->by_key, hash_of(a, r->key));
    }
    if (d->len == AGENT_DECLINES_MAX)
        return HELIO_EAGAIN;
    d->links[d->len++] = link_ref(a, r->link);
    return 0;
}

/* A copy for one of several routes has only its link. */
static bool has_other_route(struct agent *a, struct record *r)
{
    struct agent_head h;
    if (r->role == ROLE_COPY || note_declined(a, r) < 0)
        return false;
    record_head(r, &h);
    const struct ask_answer answer = ask_router(a, r, &h);
    assert(answer.link != r->link);
    return !answer.none;
}

void agent_declined(struct agent *a, uint64_t key, const char *reason, struct agent_now now)
{
    agent_begin(a, now);
    struct record *r = record_find(a, key);
    if (r == NULL || !state_is_given(r->state) || r->link == TO_ENDPOINT)
        return;
    waste_failed(a, r->queue, r->sending);
    record_failed(r, reason);
    emit_reason(a, BUNDLE_FAILED, r, reason);
    ask_ended(a, r, ROUTER_FAILED);
    if (agent_overdue(a, r))
        return;
    if (has_other_route(a, r)) {
        agent_proceed(a, r);
    } else if (r->role != ROLE_COPY && !declined_has(a, r)) { /* no memory to know it by */
        queue_retry(a, r);
    } else {
        agent_report(a, r, STATUS_DELETED, REASON_TRANSMISSION_CANCELLED);
        record_end(a, r, END_DECLINED);
    }
}
