/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restores bundles from heads, and ids from marks, after a restart. There is no time and perhaps no
 * route yet, so restored bundles wait in agent.restored until the first push with a time.
 */
#include "bp/agent/agent_impl.h"

int agent_restore(struct agent *a, uint64_t key, struct slice head, uint64_t bytes)
{
    struct agent_head h;
    size_t id_off;
    if (key == 0 || key == UINT64_MAX || forwarding_find(a, key) != NULL)
        return HELIO_EINVAL;
    agent_restore_key(a, key); /* in any case: the store keeps a bundle with a damaged head */
    int rc = agent_head_decode(head, &h, &id_off);
    if (rc < 0)
        return rc;
    /* One that does not fit the others of its bundle is deleted when it is placed. */
    struct reassembly *as = NULL;
    struct holder holder;
    const enum receiver receiver = agent_is_here(a, &h.destination)
                                       ? endpoint_receiver(a, &h.destination)
                                       : RECEIVER_ELSEWHERE;
    if (quota_open(a, &h, receiver, (struct link_ref){.index = NO_LINK}, &holder) < 0)
        return HELIO_ENOMEM;
    if (h.id.fragment && agent_is_here(a, &h.destination) &&
        fragment_enter(a, &h, &holder, true, &as) == REFUSE_NO_MEMORY)
        goto no_memory;
    struct record *r;
    if (record_new(a, &h, key, bytes, &holder, &r) < 0)
        goto no_memory;
    fragment_entered(a, &r->forwarding, as);
    emit_step(a, BUNDLE_RESTORED, &r->forwarding);
    r->forwarding.state = STATE_DISPATCH_PENDING;
    r->forwarding.link = TO_ENDPOINT;
    list_add_tail(&a->restored, &r->forwarding.node);
    a->place = true;
    if (!h.from_link)
        agent_restore_sequence(a, h.id.sequence + 1);
    return 0;
no_memory:
    if (as != NULL)
        fragment_leave(a, as, END_NOT_STORED);
    quota_close(a, &holder);
    return HELIO_ENOMEM;
}

void agent_restore_clock(struct agent *a, uint64_t life_ms, struct agent_now now)
{
    a->now = now; /* what is restored from here on has this time in the log */
    a->life_base_ms = life_ms - now.now / TICK_MS;
    a->life_begun = true;
}

void agent_restore_sequence(struct agent *a, uint64_t next)
{
    if (next > a->sequence)
        a->sequence = next;
}

void agent_restore_key(struct agent *a, uint64_t key)
{
    if (key != UINT64_MAX && key >= a->next_key)
        a->next_key = key + 1;
}

int agent_restore_mark(struct agent *a, struct slice id, uint64_t until_ms)
{
    if (id.len == 0 || id.len > AGENT_ID_MAX)
        return HELIO_EFORMAT;
    const int rc = seen_add(&a->seen, id, until_ms, 0);
    count_seen(a);
    return rc;
}
