/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only function of the agent that reports events of bundles: it increments the counter and
 * passes the record to the sink, so that both always agree. Without a sink an event costs only its
 * counter.
 */
#include <assert.h>

#include "bp/agent/agent_impl.h"

void agent_sink(struct agent *a, bundle_event_sink *sink, void *context)
{
    a->config.sink = sink;
    a->config.sink_context = context;
}

static void count_event(struct agent_counters *c, const struct bundle_event *e)
{
    switch (e->kind) {
    case BUNDLE_ACCEPTED:
        c->offered++;
        break;
    case BUNDLE_REFUSED: /* with a key it was accepted before, and counted as offered */
        assert(e->code > REFUSE_NONE && e->code < REFUSE_COUNT);
        c->offered += e->key == 0;
        c->refused[e->code]++;
        break;
    case BUNDLE_CONSUMED:
        c->offered++;
        c->consumed++;
        break;
    case BUNDLE_STORED:
        c->received += e->from == BUNDLE_FROM_LINK;
        c->accepted_local += e->from != BUNDLE_FROM_LINK;
        break;
    case BUNDLE_RESTORED:
        c->restored++;
        break;
    case BUNDLE_UNREAD:
        c->load_failures++;
        break;
    case BUNDLE_FAILED:
        c->send_failures++;
        break;
    case BUNDLE_LOST:
        c->lost++;
        break;
    case BUNDLE_DELIVERED:
        c->delivered += !e->copy;
        break;
    case BUNDLE_REPORTED:
        c->reports_sent++;
        break;
    case BUNDLE_ENDED:
        assert(e->code >= 0 && e->code < END_COUNT);
        c->ended[e->code] += !e->whole;
        c->delivered += e->fanned && e->code == END_DELIVERED;
        break;
    default: /* a step before its end */
        break;
    }
}

static void emit_event(struct agent *a, struct bundle_event *e)
{
    assert(e->kind < BUNDLE_EVENT_COUNT);
    e->now = a->now.now;
    if (e->link >= 0 && link_at(a, (uint32_t)e->link) != NULL)
        e->peer = &link_at(a, (uint32_t)e->link)->peer;
    count_event(&a->counters, e);
    if (a->config.sink != NULL)
        a->config.sink(a->config.sink_context, e);
}

/* What a head says; it must outlive the event. */
static void describe_record(struct bundle_event *e, const struct agent_head *h)
{
    e->id = &h->id;
    e->destination = &h->destination;
    e->payload = h->payload_len;
    e->lifetime_ms = h->lifetime_ms;
}

static enum bundle_origin origin_of(const struct agent *a, const struct agent_head *h)
{
    if (h->from_link)
        return BUNDLE_FROM_LINK;
    return eid_equal(&h->id.source, &a->config.node) ? BUNDLE_FROM_NODE : BUNDLE_FROM_APPLICATION;
}

/* A separate function, so that an event without a log needs no stack for a head. */
static void emit_described(struct agent *a, struct bundle_event *e, const struct forwarding *f)
{
    struct agent_head h;
    record_head(f->bundle, &h);
    describe_record(e, &h);
    e->from = origin_of(a, &h);
    emit_event(a, e);
    e->id = NULL;
    e->destination = NULL;
}

/* All its copies have ended. A fragment of a group is delivered with its joined bundle instead. */
static bool is_fanned(const struct forwarding *f)
{
    const struct fan *fan = forwarding_is_copy(f) ? NULL : f->bundle->fan;
    return fan != NULL && fan->len == 0 && !fan->gathered;
}

static void emit_with(struct agent *a, struct bundle_event *e, const struct forwarding *f)
{
    e->key = f->bundle->forwarding.key;
    e->copy = forwarding_is_copy(f);
    e->fanned = is_fanned(f);
    e->bytes = forwarding_is_whole(f) ? 0 : f->bundle->bytes; /* a whole is never encoded */
    e->whole = forwarding_is_whole(f);
    e->from = f->bundle->origin;
    if (a->config.sink != NULL)
        emit_described(a, e, f);
    else
        emit_event(a, e);
}

void emit_step(struct agent *a, enum bundle_event_kind kind, const struct forwarding *f)
{
    struct bundle_event e = {.kind = kind, .link = TO_ENDPOINT};
    if (kind == BUNDLE_ACCEPTED)
        e.link = link_at(a, f->bundle->came_from.index) != NULL ? f->bundle->came_from.index
                                                                : TO_ENDPOINT;
    else
        e.link = forwarding_link(f);
    emit_with(a, &e, f);
}

void emit_reason(struct agent *a, enum bundle_event_kind kind, const struct forwarding *f,
                 const char *reason)
{
    struct bundle_event e = {.kind = kind, .link = forwarding_link(f), .reason = reason};
    emit_with(a, &e, f);
}

void emit_application(struct agent *a, enum bundle_event_kind kind, const struct forwarding *f,
                      uint64_t reg)
{
    struct bundle_event e = {.kind = kind, .link = TO_ENDPOINT, .registration = reg};
    emit_with(a, &e, f);
}

void emit_declined(struct agent *a, const struct forwarding *f, uint64_t reg, const char *reason)
{
    struct bundle_event e = {
        .kind = BUNDLE_DECLINED, .link = TO_ENDPOINT, .registration = reg, .reason = reason};
    emit_with(a, &e, f);
}

void emit_end(struct agent *a, const struct forwarding *f, enum agent_end why)
{
    struct bundle_event e = {.kind = BUNDLE_ENDED,
                             .link = forwarding_link(f),
                             .reason = agent_end_text(why),
                             .code = (int)why};
    emit_with(a, &e, f);
}

void emit_not_stored(struct agent *a, const struct forwarding *f)
{
    struct bundle_event e = {.kind = BUNDLE_REFUSED,
                             .link = TO_ENDPOINT,
                             .reason = agent_refusal_word(REFUSE_STORE),
                             .code = REFUSE_STORE};
    emit_with(a, &e, f);
}

void emit_refused(struct agent *a, const struct bundle *b, uint64_t bytes, enum bundle_origin from,
                  int link, enum agent_refusal refusal)
{
    struct bundle_event e = {
        .kind = refusal == REFUSE_NONE ? BUNDLE_CONSUMED : BUNDLE_REFUSED,
        .bytes = bytes,
        .from = from,
        .link = link < 0 ? TO_ENDPOINT : link,
        .reason = refusal == REFUSE_NONE ? NULL : agent_refusal_word(refusal),
        .code = (int)refusal,
    };
    if (b != NULL) {
        e.id = &b->id;
        e.destination = &b->destination;
        e.payload = b->payload.len;
        e.lifetime_ms = b->lifetime_ms;
    }
    emit_event(a, &e);
}

void emit_reported(struct agent *a, const struct agent_head *h, const char *item)
{
    struct bundle_event e = {
        .kind = BUNDLE_REPORTED, .from = origin_of(a, h), .link = TO_ENDPOINT, .reason = item};
    describe_record(&e, h);
    emit_event(a, &e);
}

void agent_carried(struct agent *a, uint64_t key, uint64_t originator, uint64_t session,
                   struct agent_now now)
{
    agent_begin(a, now);
    const struct forwarding *f = forwarding_find(a, key);
    if (f == NULL || !state_is_given(f->state) || f->link == TO_ENDPOINT)
        return;
    struct bundle_event e = {.kind = BUNDLE_CARRIED,
                             .link = f->link,
                             .has_session = true,
                             .originator = originator,
                             .session = session};
    emit_with(a, &e, f);
}
