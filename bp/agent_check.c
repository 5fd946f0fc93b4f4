/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of the agent, and its bundles as an operator sees them. */
#include <assert.h>

#include "bp/agent_impl.h"

struct sums {
    uint64_t bundles, bytes, memory, storing, loading, timed, ids;
};

static void check_record(const struct agent *a, const struct record *r, struct sums *s)
{
    assert(r->state != STATE_GONE && r->head_len > r->id_off);
    assert(record_find(a, r->key) == r && r->key < a->next_key);
    assert(r->stored == (r->state != STATE_NEW));
    assert(r->buf != NULL || r->stored);
    assert(!r->loading || (r->buf == NULL && r->state == STATE_FRONT));
    assert((r->lane != NULL) == (r->state >= STATE_FRONT));
    assert(r->state != STATE_BUSY || !heap_has(&r->timer));
    s->bundles++;
    s->bytes += r->bytes;
    s->memory += r->buf == NULL ? 0 : r->buf->cap;
    s->storing += r->state == STATE_NEW ? r->bytes : 0;
    s->loading += r->loading ? r->bytes : 0;
    s->timed += heap_has(&r->timer);
    s->ids += r->id_listed;
}

static void check_lanes(const struct agent *a)
{
    for (size_t i = 0; i < LINKS_MAX; i++) {
        if (a->links[i].used)
            lane_check(&a->links[i].lane);
    }
    struct hash_node *n = hash_walk(&a->endpoints, NULL);
    for (; n != NULL; n = hash_walk(&a->endpoints, n)) {
        const struct endpoint *e = container_of(n, struct endpoint, by_eid);
        lane_check(&e->lane);
        assert(e->lane.open || !lane_empty(&e->lane));
    }
}

void agent_check(const struct agent *a)
{
    struct sums s = {0};
    struct hash_node *n = hash_walk(&a->by_key, NULL);
    for (; n != NULL; n = hash_walk(&a->by_key, n))
        check_record(a, container_of(n, struct record, by_key), &s);
    const struct agent_counters *c = &a->counters;
    assert(s.bundles == c->bundles && s.bytes == c->bytes && s.memory == c->memory_bytes);
    assert(s.storing == c->storing_bytes && s.loading == a->loading_bytes);
    assert(s.timed == a->timers.len && s.ids == a->by_id.len);
    (void)c;
    check_lanes(a);
    seen_check(&a->seen);
}

static const char *state_text(const struct record *r)
{
    switch (r->state) {
    case STATE_NEW:
        return "storing";
    case STATE_UNPLACED:
        return "no route";
    case STATE_BUSY:
        return r->link == TO_ENDPOINT ? "delivering" : "sending";
    case STATE_PAUSED:
        return "paused";
    case STATE_FRONT:
    case STATE_BACK:
    case STATE_GONE:
        break;
    }
    return "waiting";
}

size_t agent_bundles(const struct agent *a, struct agent_bundle_info *out, size_t max)
{
    size_t len = 0;
    struct hash_node *n = hash_walk(&a->by_key, NULL);
    for (; n != NULL && len < max; n = hash_walk(&a->by_key, n)) {
        const struct record *r = container_of(n, struct record, by_key);
        struct agent_head h;
        record_head(r, &h);
        out[len++] = (struct agent_bundle_info){
            .key = r->key,
            .id = h.id,
            .destination = h.destination,
            .bytes = r->bytes,
            .expires_ms = h.expires_ms,
            .state = state_text(r),
            .link = r->lane == NULL ? TO_ENDPOINT : r->link,
        };
    }
    return len;
}
