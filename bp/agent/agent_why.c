/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explains for people why a bundle is still here: its queue, its pause, the router's answer now, or
 * what is remembered of it. Nothing changes, and nothing can fail: "not here" is an answer, too.
 */
#include <assert.h>

#include "bp/agent/agent_impl.h"

void forwarding_failed(struct forwarding *f, const char *reason)
{
    f->tries += f->tries < UINT32_MAX;
    f->failed = reason != NULL ? reason : "taken back before it was sent";
}

static void look_at_queue(const struct forwarding *f, struct agent_why *out)
{
    const struct queue *q = f->queue;
    assert(q->bundles > 0 && q->bytes >= f->bundle->bytes);
    out->ahead = q->bundles - 1;
    out->ahead_bytes = q->bytes - f->bundle->bytes;
    out->open = q->open;
    out->busy = q->busy_len;
    out->window = q->window;
    if (f->state == STATE_PAUSED && heap_has(&f->timer) && f->timer.due < f->bundle->expires)
        out->until = f->timer.due;
}

static void look_for_route(const struct agent *a, const struct forwarding *f, struct agent_why *out)
{
    struct agent_head h;
    record_head(f->bundle, &h);
    const struct ask_answer answer = ask_router(a, f, &h);
    out->none = answer.none;
    out->too_late = answer.too_late;
    out->arrival = answer.arrival;
    out->until = answer.link == NO_ROUTE ? answer.until : TICK_NEVER;
}

bool agent_why(const struct agent *a, uint64_t key, struct agent_why *out)
{
    const struct forwarding *f = forwarding_find(a, key);
    *out = (struct agent_why){.until = TICK_NEVER};
    if (f == NULL || !agent_bundle_find(a, key, &out->is))
        return false;
    out->tries = f->tries;
    out->failed = f->failed;
    out->expires = f->bundle->expires;
    out->declined_len = declined_list(a, f, out->declined);
    out->copies = f->bundle->fan != NULL ? f->bundle->fan->len : 0;
    if (state_is_queued(f->state))
        look_at_queue(f, out);
    else if (f->state == STATE_NO_ROUTE)
        look_for_route(a, f, out);
    return true;
}

enum agent_past agent_past(const struct agent *a, const struct bundle_id *id)
{
    uint8_t bytes[AGENT_ID_MAX];
    assert(!id->fragment);
    const struct slice s = slice_of(bytes, agent_id_encode(id, 0, bytes));
    if (returns_known(&a->returns, agent_id_hash(a->config.seed, s)))
        return AGENT_WAS_FORWARDED;
    return seen_has(&a->seen, s) ? AGENT_WAS_HERE : AGENT_NEVER_HERE;
}

enum agent_past agent_past_key(const struct agent *a, uint64_t key)
{
    return key > 0 && key < a->next_key ? AGENT_WAS_HERE : AGENT_NEVER_HERE;
}
