/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forwarding (RFC 9171 §5.4). A bundle that was created here is transmitted as it was encoded. A
 * bundle of a peer is encoded again at its turn: this node as previous node (§4.4.1), one hop more
 * (§4.4.3), its time here added to the bundle age (§4.4.2), without unknown blocks that request
 * removal (§4.2.4). The received bytes stay unchanged in the store, so that encoding twice has the
 * same result. Without memory for that the bundle pauses. After a failure of a link it is tried
 * again, with pauses that double. A bundle that an unreliable link has lost is transmitted again at
 * once, a limited number of times; if others use the link, in its next turn.
 */
#include <assert.h>

#include "bp/agent/agent_impl.h"

static void drop_unknown_blocks(struct bundle *b)
{
    size_t kept = 0;
    for (size_t i = 0; i < b->others_len; i++) {
        if (!(b->others[i].flags & BLOCK_DROP_IF_UNKNOWN) || bundle_understood(b, i))
            b->others[kept++] = b->others[i];
    }
    b->others_len = kept; /* b->encrypted has the former indexes, and is not used any more */
    b->rest.without |= BLOCK_DROP_IF_UNKNOWN;
}

/* The bundle as it leaves here. 0 or an error. */
static int describe(const struct agent *a, const struct forwarding *f, struct bundle *b)
{
    struct agent_head h;
    record_head(f->bundle, &h);
    /* Lenient: it was accepted, perhaps when the configuration was another one. Once for all of its
     * fragments. */
    enum bundle_mode mode = f->sent_to == 0 ? BUNDLE_LENIENT : BUNDLE_CHECKED;
    int rc = bundle_decode(buf_data(f->buf), f->buf->len, mode, b, NULL);
    if (rc < 0 || !record_rewrites(f->bundle))
        return rc;
    drop_unknown_blocks(b);
    const struct bundle_hop hop = {.node = &a->config.node,
                                   .hop_count = h.hop_count + 1,
                                   .age_ms = record_age_ms(a, f->bundle, h.age_ms)};
    bundle_pass(b, &hop);
    return 0;
}

/* What the link gets of it; NULL with the reason. */
static struct buf *outgoing(const struct agent *a, struct forwarding *f, const char **why)
{
    uint64_t limit = split_limit(a, f);
    struct bundle b;
    *why = "no memory";
    f->in_hand = 0;
    if (!record_rewrites(f->bundle) && f->sent_to == 0 && (limit == 0 || f->buf->len <= limit))
        return buf_keep(f->buf);
    return describe(a, f, &b) < 0 ? NULL : split_next(f, &b, limit, why);
}

int link_action(struct agent *a, struct forwarding *f, struct agent_action *out)
{
    const char *why;
    struct buf *b = outgoing(a, f, &why);
    if (b == NULL) {
        emit_reason(a, BUNDLE_FAILED, f, why);
        queue_retry(a, f);
        return 0;
    }
    /* The store has it; under pressure the memory is for bundles whose turn is still to come. */
    if (memory_crowded(a))
        forwarding_release(a, f);
    sending_add(a, f, b);
    f->pays = false;
    emit_step(a, BUNDLE_SENT, f);
    *out = (struct agent_action){
        .kind = AGENT_SEND, .key = f->key, .link = (uint32_t)f->link, .bundle = b};
    return 1;
}

/* NULL: it is not on a link (any more). */
static struct forwarding *find_sent(struct agent *a, uint64_t key)
{
    struct forwarding *f = forwarding_find(a, key);
    return f == NULL || !state_is_given(f->state) || f->link == TO_ENDPOINT ? NULL : f;
}

void agent_sent(struct agent *a, uint64_t key, bool ok, struct agent_now now)
{
    if (!ok) {
        agent_failed(a, key, NULL, now);
        return;
    }
    agent_begin(a, now);
    struct forwarding *f = find_sent(a, key);
    if (f == NULL)
        return;
    const enum split_more more = split_follows(f);
    const uint64_t done = more == SPLIT_DONE ? f->bundle->bytes : 0;
    service_end(&f->queue->service, key, done, a->now.now);
    waste_taken(f->queue, done);
    if (more != SPLIT_DONE) {
        emit_step(a, BUNDLE_FRAGMENTED, f);
        if (more == SPLIT_ASK_ANEW)
            ask_ended(a, f, ROUTER_SENT);
        if (agent_overdue(a, f))
            return;
        if (more == SPLIT_ASK_ANEW)
            agent_proceed(a, f);
        else
            queue_return(a, f);
        return;
    }
    emit_step(a, BUNDLE_ACKNOWLEDGED, f);
    ask_ended(a, f, ROUTER_SENT);
    agent_report(a, f, STATUS_FORWARDED, REASON_NONE);
    forwarding_end(a, f, END_FORWARDED);
}

static void note_failed(struct agent *a, uint64_t key, const char *reason, bool refused,
                        struct agent_now now)
{
    agent_begin(a, now);
    struct forwarding *f = find_sent(a, key);
    if (f == NULL)
        return;
    f->pays = refused;
    waste_failed(a, f->queue, f->sending);
    forwarding_failed(f, reason);
    emit_reason(a, BUNDLE_FAILED, f, reason);
    ask_ended(a, f, ROUTER_FAILED);
    if (agent_overdue(a, f))
        return;
    f->avoid = link_ref(a, f->link);
    if (link_at(a, f->link)->queue.open)
        queue_retry(a, f);
    else
        agent_proceed(a, f);
}

void agent_failed(struct agent *a, uint64_t key, const char *reason, struct agent_now now)
{
    note_failed(a, key, reason, false, now);
}

void agent_refused(struct agent *a, uint64_t key, const char *reason, struct agent_now now)
{
    note_failed(a, key, reason, true, now);
}

void agent_lost(struct agent *a, uint64_t key, uint64_t resend, const char *reason,
                struct agent_now now)
{
    agent_begin(a, now);
    struct forwarding *f = find_sent(a, key);
    if (f == NULL)
        return;
    waste_taken(f->queue, f->bundle->bytes); /* it was transmitted */
    forwarding_failed(f, reason);
    emit_reason(a, BUNDLE_LOST, f, reason);
    ask_ended(a, f, ROUTER_FAILED);
    if (agent_overdue(a, f))
        return;
    if (++f->losses <= resend) {
        f->pays = !party_alone(f->queue);
        agent_go_on(a, f);
        return;
    }
    agent_report(a, f, STATUS_DELETED, REASON_TRANSMISSION_CANCELLED);
    forwarding_end(a, f, END_GIVEN_UP);
}
