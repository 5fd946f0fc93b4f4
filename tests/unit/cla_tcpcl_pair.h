/* SPDX-License-Identifier: Apache-2.0 */
/* Two nodes' links of the adapter "tcpcl" in a virtual world, for tests. */
#ifndef TESTS_UNIT_CLA_TCPCL_PAIR_H
#define TESTS_UNIT_CLA_TCPCL_PAIR_H

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cla/tcpcl/tcpcl_config.h"
#include "cla/tcpcl/tcpcl_wire.h"
#include "sim/virtual.h"
#include "tests/unit/suite.h"

#define SIDE_TOKENS 64

/* Without Check's own allocations, which may be made to fail. */
#define MUST(what)                                                                                 \
    do {                                                                                           \
        if (!(what))                                                                               \
            ck_abort_msg("%s", #what);                                                             \
    } while (0)

struct side {
    struct cla *cla;
    struct tcpcl_config config;
    struct eid node, peer;
    unsigned outcomes[CLA_OUTCOME_COUNT], reasons[CLA_REASON_COUNT];
    unsigned received, said, ups, downs, limits;
    char told[256]; /* what was said last */
    uint64_t received_bytes, last_key;
    uint64_t memory, reserved, reserved_most; /* memory: for what is arriving */
    uint64_t tokens[SIDE_TOKENS];
    size_t tokens_len;
    tick takes; /* of one bundle, for a test's own `received` */
    void (*received_by)(void *context, struct cla *c, struct buf *bundle, uint64_t token);
    bool hold; /* confirmations wait */
    bool up, closing, closed, let_in;
    bool (*named)(void *context, const struct eid *peer, const struct cla_proof *proof, char *why,
                  size_t why_cap);
    struct side *unconfigured; /* who came in; NULL: nobody */
    struct pair *pair;
    void *shared;
};

struct pair {
    struct virtual_world v;
    struct rng rng;
    struct side a, b, unconfigured;
};

static inline void side_received(void *context, struct cla *c, struct buf *bundle, uint64_t token)
{
    struct side *s = context;
    s->received++;
    s->received_bytes += bundle->len;
    buf_drop(bundle);
    if (s->hold) {
        MUST(s->tokens_len < SIDE_TOKENS);
        s->tokens[s->tokens_len++] = token;
    } else {
        c->ops->confirm(c, token, CLA_ACCEPTED);
    }
}

static inline bool side_reserve(void *context, struct cla *c, uint64_t bytes)
{
    struct side *s = context;
    MUST(c != NULL && bytes > 0);
    if (s->reserved + bytes > s->memory)
        return false;
    s->reserved += bytes;
    s->reserved_most = s->reserved > s->reserved_most ? s->reserved : s->reserved_most;
    return true;
}

static inline void side_release(void *context, struct cla *c, uint64_t bytes)
{
    struct side *s = context;
    MUST(c != NULL && bytes > 0 && s->reserved >= bytes);
    s->reserved -= bytes;
}

static inline void side_done(void *context, struct cla *c, uint64_t key, enum cla_outcome outcome,
                             enum cla_reason reason)
{
    struct side *s = context;
    MUST(c == s->cla);
    s->outcomes[outcome]++;
    s->reasons[reason]++;
    s->last_key = key;
}

static inline void side_link(void *context, struct cla *c, bool up)
{
    struct side *s = context;
    (void)c;
    s->up = up;
    s->ups += up;
    s->downs += !up;
}

static inline void side_limits(void *context, struct cla *c)
{
    (void)c;
    ((struct side *)context)->limits++;
}

static inline void side_say(void *context, struct cla *c, int level, const char *text)
{
    struct side *s = context;
    (void)c;
    (void)level;
    MUST(text[0] != '\0');
    s->said++;
    strncpy(s->told, text, sizeof s->told - 1);
}

static inline bool side_peer(void *context, struct cla *c, struct cla *fresh,
                             const struct eid *peer, struct cla_events *events);

static inline struct cla_events side_events(struct side *s)
{
    return (struct cla_events){.context = s,
                               .received = s->received_by != NULL ? s->received_by : side_received,
                               .reserve = side_reserve,
                               .release = side_release,
                               .done = side_done,
                               .link = side_link,
                               .limits = side_limits,
                               .peer = s->let_in ? side_peer : NULL,
                               .named = s->named,
                               .say = side_say};
}

static inline bool side_peer(void *context, struct cla *c, struct cla *fresh,
                             const struct eid *peer, struct cla_events *events)
{
    struct side *s = context;
    MUST(c == s->cla);
    if (s->unconfigured != NULL)
        return false;
    s->unconfigured = &s->pair->unconfigured;
    *s->unconfigured = (struct side){
        .cla = fresh, .peer = *peer, .pair = s->pair, .memory = UINT64_MAX, .named = s->named};
    *events = side_events(s->unconfigured);
    return true;
}

static inline void side_closed(void *context)
{
    ((struct side *)context)->closed = true;
}

/* Every key as the table has it; addresses are set by the caller before. */
static inline void side_defaults(struct side *s)
{
    s->config = (struct tcpcl_config){.keepalive = 30 * TICK_S,
                                      .timeout = 30 * TICK_S,
                                      .ending = 10 * TICK_S,
                                      .transfer_idle = 60 * TICK_S,
                                      .reconnect = TICK_S,
                                      .reconnect_max = 60 * TICK_S,
                                      .segment = 1 << 20,
                                      .segment_mru = 1 << 30,
                                      .window = 16,
                                      .window_bytes = 1 << 20,
                                      .held_bytes = 1 << 20,
                                      .sessions = 4,
                                      .unidentified = 8,
                                      .unidentified_address = 8,
                                      .check_peer = true};
    s->memory = UINT64_MAX;
}

static inline int side_open(struct pair *p, struct side *s)
{
    char why[256] = "";
    const char *key = NULL;
    const struct cla_ops *ops = cla_find("tcpcl");
    MUST(ops->check(&s->config, &key, why, sizeof why) == 0);
    struct cla_env env = {.world = &p->v.world,
                          .node = s->node,
                          .peer = s->peer,
                          .confirm = true,
                          .bundle_max = 1 << 20,
                          .seed = 1,
                          .events = side_events(s),
                          .shared = &s->shared};
    return ops->open(&s->cla, &env, &s->config, why, sizeof why);
}

/* Until `until`, or until nothing is left to happen. */
static inline void pair_run(struct pair *p, tick until)
{
    for (;;) {
        virtual_settle(&p->v);
        if (world_end_round(&p->v.world))
            continue;
        tick due = virtual_due(&p->v);
        if (p->a.cla != NULL && !p->a.closing)
            p->a.cla->ops->check_self(p->a.cla);
        if (p->b.cla != NULL && !p->b.closing)
            p->b.cla->ops->check_self(p->b.cla);
        pipes_check(&p->v.pipes);
        if (due > until)
            break;
        virtual_advance(&p->v, due);
        virtual_fire(&p->v);
    }
    virtual_advance(&p->v, until);
}

static inline void pair_pass(struct pair *p, tick time)
{
    pair_run(p, p->v.now + time);
}

/* a connects to b; neither is open. */
static inline struct pair *pair_new(void)
{
    struct pair *p = calloc(1, sizeof *p);
    rng_init(&p->rng, 1);
    virtual_init(&p->v, 0, &p->rng, TICK_MS);
    p->a.node = p->b.peer = eid_ipn(0, 1, 0);
    p->b.node = p->a.peer = eid_ipn(0, 2, 0);
    p->a.pair = p->b.pair = p;
    side_defaults(&p->a);
    side_defaults(&p->b);
    ck_assert_int_eq(address_parse("127.0.0.2:4556", &p->a.config.remote.address), 0);
    ck_assert_int_eq(address_parse("127.0.0.2:4556", &p->b.config.local), 0);
    return p;
}

static inline struct pair *pair_open(void)
{
    struct pair *p = pair_new();
    ck_assert_int_eq(side_open(p, &p->b), 0);
    ck_assert_int_eq(side_open(p, &p->a), 0);
    pair_pass(p, TICK_S);
    ck_assert(p->a.up && p->b.up);
    return p;
}

static inline void side_close(struct side *s)
{
    if (s->cla == NULL || s->closing)
        return;
    s->closing = true;
    s->cla->ops->close(s->cla, side_closed, s);
}

static inline void pair_free(struct pair *p)
{
    side_close(&p->a);
    side_close(&p->b);
    side_close(&p->unconfigured);
    pair_pass(p, 0);
    MUST(p->a.reserved == 0 && p->b.reserved == 0 && p->unconfigured.reserved == 0);
    MUST(p->a.closed == p->a.closing && p->b.closed == p->b.closing);
    virtual_fini(&p->v);
    free(p);
}

static inline enum cla_reason side_send(struct side *s, uint64_t key, size_t len)
{
    struct buf *b = buf_new(0, len);
    memset(buf_append(b, len), 'x', len);
    enum cla_reason r = s->cla->ops->send(s->cla, key, b);
    buf_drop(b);
    return r;
}

#endif
