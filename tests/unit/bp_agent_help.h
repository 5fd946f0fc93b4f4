/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A binder for tests: it does what the agent asks, with the memory store and a clock that the test
 * moves, and writes each action into a trace, which tests compare with what they expect.
 */
#ifndef BP_AGENT_HELP_H
#define BP_AGENT_HELP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bp/agent/agent.h"
#include "tests/unit/store/store_memory.h"
#include "tests/unit/suite.h"

#define START_MS UINT64_C(800000000000) /* DTN time when the test begins */

struct binder {
    struct agent *a;
    struct store *store;
    struct agent_now now;
    bool store_fails, store_waits, load_fails, load_waits;
    uint64_t mark_until_ms; /* of the last REMOVE */
    unsigned notes;         /* of sequence numbers */
    bool store_silent;      /* stores, and leaves the answer to the test */
    bool verify_waits;      /* the test calls verify_next */
    struct agent_verified verified;
    struct buf *sent, *delivered; /* of the last SEND and DELIVER */
    struct slice payload;         /* in delivered */
    uint64_t delivery;            /* key of the last DELIVER */
    struct agent_action last;     /* the last DELIVER, CONFIRM or REFUSED */
    size_t len;
    char trace[16384];
};

static inline void note(struct binder *n, const char *text)
{
    int len = snprintf(n->trace + n->len, sizeof n->trace - n->len, "%s\n", text);
    ck_assert_uint_lt(n->len + (size_t)len, sizeof n->trace);
    n->len += (size_t)len;
}

static inline struct eid eid_of(const char *text)
{
    struct eid e;
    ck_assert_int_eq(eid_parse(text, &e), 0);
    return e;
}

static inline struct agent_config config_of(const char *node)
{
    return (struct agent_config){
        .node = eid_of(node), .seed = 42, .mode = BUNDLE_STRICT, .crc = CRC_32C};
}

static inline void binder_start(struct binder *n, const struct agent_config *c)
{
    ck_assert_int_eq(agent_new(&n->a, c), 0);
}

static inline void binder_init(struct binder *n, const struct agent_config *c)
{
    memset(n, 0, sizeof *n);
    n->now = (struct agent_now){.now = TICK_S, .dtn_ms = START_MS};
    struct store_options o = {.limit_bytes = UINT64_C(1) << 30};
    char why[64];
    ck_assert_int_eq(store_memory.open(&n->store, &o, why, sizeof why), 0);
    binder_start(n, c);
}

static inline void binder_stop(struct binder *n)
{
    agent_free(n->a);
    buf_drop(n->sent);
    buf_drop(n->delivered);
    n->a = NULL;
    n->sent = n->delivered = NULL;
}

static inline void binder_fini(struct binder *n)
{
    binder_stop(n);
    n->store->ops->close(n->store);
}

static inline int restore_one(void *ctx, uint64_t key, struct slice head, uint64_t bytes)
{
    return agent_restore(ctx, key, head, bytes);
}

static inline int restore_mark(void *ctx, struct slice id, uint64_t until_ms)
{
    return agent_restore_mark(ctx, id, until_ms);
}

/* The node dies and comes back with what the store has. */
static inline void binder_restart(struct binder *n, const struct agent_config *c)
{
    binder_stop(n);
    binder_start(n, c);
    uint8_t value[STORE_NOTE_MAX];
    size_t len;
    if (n->store->ops->recall(n->store, "sequence", value, &len) == 0) {
        uint64_t next;
        memcpy(&next, value, sizeof next);
        agent_restore_sequence(n->a, next);
    }
    ck_assert_int_eq(n->store->ops->each(n->store, restore_one, n->a), 0);
    ck_assert_int_eq(n->store->ops->marks(n->store, restore_mark, n->a), 0);
    agent_check(n->a);
}

static inline void do_store(struct binder *n, struct agent_action *x)
{
    ck_assert_uint_ge(x->bundle->refs, 1);
    if (n->store_waits) {
        buf_drop(x->bundle);
        return;
    }
    bool ok = false;
    if (!n->store_fails) {
        ck_assert_int_eq(n->store->ops->begin(n->store), 0);
        ck_assert_uint_le(x->head.len, STORE_HEAD_MAX);
        ok = n->store->ops->put(n->store, x->key, x->head, buf_slice(x->bundle)) == 0;
        if (ok && x->sequence_end > 0) {
            n->notes++;
            ok = n->store->ops->note(n->store, "sequence", slice_of(&x->sequence_end, 8)) == 0;
        }
        ck_assert_int_eq(n->store->ops->commit(n->store), 0);
    }
    buf_drop(x->bundle);
    if (!n->store_silent)
        agent_stored(n->a, x->key, ok, n->now);
}

static inline void do_load(struct binder *n, const struct agent_action *x)
{
    struct buf *b = NULL;
    if (n->load_waits)
        return;
    if (!n->load_fails)
        ck_assert_int_eq(n->store->ops->get(n->store, x->key, BUNDLE_HEAD_MAX, &b), 0);
    agent_loaded(n->a, x->key, b, n->now);
}

static inline void do_remove(struct binder *n, const struct agent_action *x)
{
    ck_assert_int_eq(n->store->ops->begin(n->store), 0);
    ck_assert_int_eq(n->store->ops->remove(n->store, x->key), 0);
    n->mark_until_ms = x->mark_until_ms;
    if (x->mark_id.len > 0)
        ck_assert_int_eq(n->store->ops->mark(n->store, x->mark_id, x->mark_until_ms), 0);
    ck_assert_int_eq(n->store->ops->commit(n->store), 0);
}

static inline void do_action(struct binder *n, struct agent_action *x)
{
    char line[256];
    const char *owner = x->from_link ? "link" : "app";
    unsigned long long key = x->key, token = x->token;
    switch (x->kind) {
    case AGENT_STORE:
        snprintf(line, sizeof line, "store %llu", key);
        note(n, line);
        do_store(n, x);
        break;
    case AGENT_LOAD:
        snprintf(line, sizeof line, "load %llu", key);
        note(n, line);
        do_load(n, x);
        break;
    case AGENT_REMOVE:
        snprintf(line, sizeof line, "remove %llu%s", key, x->mark_id.len > 0 ? " marked" : "");
        note(n, line);
        do_remove(n, x);
        break;
    case AGENT_SEND:
        snprintf(line, sizeof line, "send %llu on %u", key, x->link);
        note(n, line);
        buf_drop(n->sent);
        n->sent = x->bundle;
        break;
    case AGENT_DELIVER:
        snprintf(line, sizeof line, "deliver %llu to %llu: %.*s", key, (unsigned long long)x->reg,
                 x->payload.len < 40 ? (int)x->payload.len : 40, (const char *)x->payload.data);
        note(n, line);
        buf_drop(n->delivered);
        n->delivered = x->bundle;
        n->payload = x->payload;
        n->delivery = x->key;
        n->last = *x;
        break;
    case AGENT_RECALL:
        if (x->from_link)
            snprintf(line, sizeof line, "recall %llu from link %u", key, x->link);
        else
            snprintf(line, sizeof line, "recall %llu from %llu", key, (unsigned long long)x->reg);
        note(n, line);
        break;
    case AGENT_CONFIRM:
        snprintf(line, sizeof line, "confirm %s %llu%s", owner, token,
                 x->refusal == REFUSE_DUPLICATE ? " duplicate" : "");
        note(n, line);
        n->last = *x;
        break;
    case AGENT_REFUSED:
        snprintf(line, sizeof line, "refuse %s %llu: %s", owner, token,
                 agent_refusal_text(x->refusal));
        note(n, line);
        n->last = *x;
        break;
    }
}

/* The next bundle of fragments that waits for it. */
static inline bool verify_next(struct binder *n)
{
    const bool any = agent_verify(n->a, n->now, &n->verified);
    if (any)
        agent_check(n->a);
    return any;
}

static inline void drain(struct binder *n)
{
    struct agent_action x;
    agent_check(n->a);
    do {
        while (agent_poll(n->a, &x)) {
            do_action(n, &x);
            agent_check(n->a);
        }
    } while (!n->verify_waits && verify_next(n));
}

/* Drains, and forgets what happened. */
static inline void skip(struct binder *n)
{
    drain(n);
    n->len = 0;
    n->trace[0] = 0;
}

/* Drains, and compares what happened since the last time. */
static inline void expect(struct binder *n, const char *text)
{
    drain(n);
    ck_assert_str_eq(n->trace, text);
    n->len = 0;
    n->trace[0] = 0;
}

/* Time goes on, and what is due is done. */
static inline void pass(struct binder *n, tick by)
{
    n->now.now += by;
    n->now.dtn_ms += by / TICK_MS;
    agent_expire(n->a, n->now);
}

static inline struct buf *payload_of(const char *text)
{
    struct buf *b = buf_new(BUNDLE_HEAD_MAX, strlen(text) + BUNDLE_TAIL_MAX);
    ck_assert_ptr_nonnull(b);
    memcpy(buf_append(b, strlen(text)), text, strlen(text));
    return b;
}

static inline struct agent_request request_of(const char *from, const char *to, uint64_t token)
{
    return (struct agent_request){.source = eid_of(from),
                                  .destination = eid_of(to),
                                  .report_to = eid_of(from),
                                  .crc = -1,
                                  .token = token};
}

/* An application's bundle; returns the refusal. */
static inline enum agent_refusal app_send(struct binder *n, const struct agent_request *q,
                                          const char *text)
{
    struct agent_request r = *q;
    r.payload = payload_of(text);
    enum agent_refusal refusal = agent_send(n->a, &r, n->now, NULL);
    if (refusal != REFUSE_NONE) {
        ck_assert_uint_eq(r.payload->len, strlen(text));
        ck_assert_mem_eq(buf_data(r.payload), text, strlen(text));
        buf_drop(r.payload);
    }
    return refusal;
}

/* A bundle of a peer, ready to be changed and encoded. */
static inline struct bundle peer_bundle(const char *from, const char *to, uint64_t sequence)
{
    struct bundle b;
    bundle_init(&b);
    b.destination = eid_of(to);
    b.report_to = b.id.source = eid_of(from);
    b.id.time_ms = START_MS;
    b.id.sequence = sequence;
    b.lifetime_ms = 60000;
    b.payload = slice_of("data", 4);
    return b;
}

static inline enum agent_refusal link_receive(struct binder *n, uint32_t link,
                                              const struct bundle *b, uint64_t token)
{
    struct buf *whole = bundle_encode_copy(b);
    ck_assert_ptr_nonnull(whole);
    return agent_receive(n->a, link, whole, token, n->now);
}

/* A link 0 to ipn:1 and a link 1 to ipn:3; both down. */
static inline void relay_ways(struct binder *n)
{
    struct eid_pattern p;
    struct eid one = eid_of("ipn:1.0"), three = eid_of("ipn:3.0");
    ck_assert_int_eq(agent_link_add(n->a, 0, &one, 2), 0);
    ck_assert_int_eq(agent_link_add(n->a, 1, &three, 2), 0);
    ck_assert_int_eq(eid_pattern_parse("ipn:1.*", &p), 0);
    ck_assert_int_eq(agent_route_add(n->a, &p, 0), 0);
    ck_assert_int_eq(eid_pattern_parse("ipn:3.*", &p), 0);
    ck_assert_int_eq(agent_route_add(n->a, &p, 1), 0);
}

static inline void relay_init(struct binder *n, const struct agent_config *c)
{
    binder_init(n, c);
    relay_ways(n);
}

#endif
