/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next action. Answers are first: peers and applications wait for them, and later actions may
 * end the bundles that they name. Then follow requests to the store, then deliveries and
 * transmissions of one queue after another. Each action costs O(1), except the copy of a payload
 * that arrived in fragments.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/agent/agent_impl.h"

#define NOTICES_FIRST 64 /* a power of two, as all sizes of the ring */

int notice_reserve(struct agent *a)
{
    assert(a->notices_len <= a->notices_cap);
    if (a->notices_len < a->notices_cap)
        return 0;
    size_t cap = a->notices_cap == 0 ? NOTICES_FIRST : 2 * a->notices_cap;
    struct notice *grown = calloc(cap, sizeof *grown);
    if (grown == NULL)
        return HELIO_ENOMEM;
    for (size_t i = 0; i < a->notices_len; i++)
        grown[i] = a->notices[(a->notices_at + i) & (a->notices_cap - 1)];
    free(a->notices);
    a->notices = grown;
    a->notices_at = 0;
    a->notices_cap = cap;
    assert((cap & (cap - 1)) == 0 && a->notices_len < cap);
    return 0;
}

void notice_add(struct agent *a, const struct notice *n)
{
    assert(a->notices_len < a->notices_cap);
    a->notices[(a->notices_at + a->notices_len++) & (a->notices_cap - 1)] = *n;
}

void notice_forget(struct agent *a, uint32_t link)
{
    size_t kept = 0, mask = a->notices_cap - 1;
    for (size_t i = 0; i < a->notices_len; i++) {
        struct notice *n = &a->notices[(a->notices_at + i) & mask];
        if (n->link != link)
            a->notices[(a->notices_at + kept++) & mask] = *n;
    }
    assert(kept <= a->notices_len);
    a->notices_len = kept;
}

static int poll_notice(struct agent *a, struct agent_action *out)
{
    if (a->notices_len == 0)
        return 0;
    const struct notice *n = &a->notices[a->notices_at];
    /* A duplicate is safe here already: the peer may stop. */
    bool confirm = n->refusal == REFUSE_NONE || n->refusal == REFUSE_DUPLICATE;
    *out = (struct agent_action){
        .kind = confirm ? AGENT_CONFIRM : AGENT_REFUSED,
        .token = n->token,
        .from_link = true,
        .link = n->link,
        .refusal = n->refusal,
        .keep = !confirm && agent_keeps(a, n->refusal),
        .id = n->id,
    };
    a->notices_at = (a->notices_at + 1) & (a->notices_cap - 1);
    assert(a->notices_len > 0 && a->notices_at < a->notices_cap);
    a->notices_len--;
    return 1;
}

static int poll_answer(struct agent *a, struct agent_action *out)
{
    if (list_empty(&a->answers))
        return 0;
    struct forwarding *f = container_of(list_first(&a->answers), struct forwarding, answer);
    *out = (struct agent_action){
        .kind = f->bundle->answer_refusal == REFUSE_NONE ? AGENT_CONFIRM : AGENT_REFUSED,
        .key = f->key,
        .token = f->bundle->token,
        .from_link = f->bundle->origin == BUNDLE_FROM_LINK,
        .link = f->bundle->in_link,
        .refusal = f->bundle->answer_refusal,
        .keep = f->bundle->answer_refusal != REFUSE_NONE,
    };
    agent_head_id(slice_of(f->bundle->head, f->bundle->head_len), f->bundle->id_off, &out->id);
    list_sub(&f->answer);
    if (f->state == STATE_NOT_STORED)
        forwarding_free(f);
    return 1;
}

/* Numbers are noted in blocks: a restart skips the rest of one. */
#define SEQUENCE_BLOCK 4096

uint64_t agent_sequence_end(uint64_t sequence)
{
    return (sequence / SEQUENCE_BLOCK + 1) * SEQUENCE_BLOCK;
}

/* Before the removals: a bundle that was taken back is in both lists. */
static int poll_recall(struct agent *a, struct agent_action *out)
{
    if (list_empty(&a->recalls))
        return 0;
    struct forwarding *f = container_of(list_first(&a->recalls), struct forwarding, answer);
    list_sub(&f->answer);
    const bool from_link = state_is_live(f->state); /* for an application it has ended already */
    *out = (struct agent_action){.kind = AGENT_RECALL, .key = f->key, .from_link = from_link};
    if (from_link) {
        assert(f->state == STATE_RECALLED);
        out->link = (uint32_t)f->link;
        return 1;
    }
    assert(f->state == STATE_ENDED);
    out->reg = f->taken_from;
    if (forwarding_derived(f))
        forwarding_free(f); /* else the removal follows */
    return 1;
}

static int poll_removal(struct agent *a, struct agent_action *out)
{
    if (list_empty(&a->removals))
        return 0;
    struct forwarding *f = container_of(list_first(&a->removals), struct forwarding, node);
    list_sub(&f->node);
    assert(f->state == STATE_ENDED);
    *out = (struct agent_action){.kind = AGENT_REMOVE, .key = f->key};
    if (f->bundle->mark_len > 0 && record_until_ms(a, f->bundle) > agent_life(a)) {
        out->mark_id = record_mark(f->bundle);
        out->mark_until_ms = record_until_ms(a, f->bundle);
    }
    a->polled = f->bundle;
    return 1;
}

int agent_poll(struct agent *a, struct agent_action *out)
{
    free(a->polled);
    a->polled = NULL;
    queue_free_spent(a);
    assert(a->polled == NULL && list_empty(&a->spent));
    for (;;) {
        if (poll_notice(a, out) || poll_answer(a, out) || storing_poll(a, out) ||
            poll_recall(a, out) || poll_removal(a, out))
            return 1;
        if (list_empty(&a->ready))
            return 0;
        struct queue *q = container_of(list_first(&a->ready), struct queue, node);
        if (queue_poll(a, q, out))
            return 1;
        list_sub(&q->node); /* bundles that ended meanwhile (agent_administer) must be removed */
    }
}
