/* SPDX-License-Identifier: Apache-2.0 */
/* Two nodes' links of the adapters "stcp" and "mtcp" in a virtual world, and a program that
 * connects to one of them, for tests. */
#ifndef TESTS_UNIT_CLA_STREAMCL_PAIR_H
#define TESTS_UNIT_CLA_STREAMCL_PAIR_H

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/crowd_room.h"
#include "base/err.h"
#include "base/rest.h"
#include "cla/stream/streamcl_config.h"
#include "cla/stream/streamcl_frame.h"
#include "sim/virtual.h"
#include "tests/unit/suite.h"

struct side {
    struct cla *cla;
    struct streamcl_config config;
    unsigned outcomes[CLA_OUTCOME_COUNT], received, said, downs;
    uint64_t received_bytes, last_key, tokens[64];
    uint64_t memory, reserved, reserved_most;
    size_t tokens_len;
    char told[256];
    bool hold, up, closed;
    void *shared;
    struct crowd_room *room; /* NULL: its own */
    struct rests *rests;     /* likewise */
};

struct pair {
    struct virtual_world v;
    struct rng rng;
    struct side a, b;
    enum streamcl_framing f;
};

/* A program at the other end of a connection. */
struct program {
    struct stream *stream;
    uint8_t in[4096];
    size_t len;
    bool ended, connected;
};

static inline void on_received(void *context, struct cla *c, struct buf *bundle, uint64_t token)
{
    struct side *s = context;
    s->received++;
    s->received_bytes += bundle->len;
    buf_drop(bundle);
    if (s->hold)
        s->tokens[s->tokens_len++] = token;
    else
        c->ops->confirm(c, token, CLA_ACCEPTED);
}

static inline bool on_reserve(void *context, struct cla *c, uint64_t bytes)
{
    struct side *s = context;
    (void)c;
    if (s->reserved + bytes > s->memory)
        return false;
    s->reserved += bytes;
    s->reserved_most = s->reserved > s->reserved_most ? s->reserved : s->reserved_most;
    return true;
}

static inline void on_release(void *context, struct cla *c, uint64_t bytes)
{
    struct side *s = context;
    (void)c;
    ck_assert_uint_ge(s->reserved, bytes);
    s->reserved -= bytes;
}

static inline void on_done(void *context, struct cla *c, uint64_t key, enum cla_outcome outcome,
                           enum cla_reason reason)
{
    struct side *s = context;
    ck_assert_ptr_eq(c, s->cla);
    ck_assert_int_eq(reason, outcome == CLA_FAILED ? CLA_REASON_DOWN : CLA_REASON_NONE);
    s->outcomes[outcome]++;
    s->last_key = key;
}

static inline void on_link(void *context, struct cla *c, bool up)
{
    struct side *s = context;
    (void)c;
    s->downs += s->up && !up;
    s->up = up;
}

static inline void on_say(void *context, struct cla *c, int level, const char *text)
{
    struct side *s = context;
    (void)c;
    (void)level;
    s->said++;
    strncpy(s->told, text, sizeof s->told - 1);
}

static inline void on_closed(void *context)
{
    ((struct side *)context)->closed = true;
}

static inline void fill_defaults(struct side *s)
{
    s->config = (struct streamcl_config){.connect = true,
                                         .keepalive = 15 * TICK_S,
                                         .idle = 60 * TICK_S,
                                         .transfer_idle = 60 * TICK_S,
                                         .timeout = 30 * TICK_S,
                                         .reconnect = TICK_S,
                                         .reconnect_max = 60 * TICK_S,
                                         .window = 16,
                                         .window_bytes = 1 << 20,
                                         .held_bytes = 1 << 20,
                                         .connections = 4,
                                         .connections_address = 2};
    s->memory = UINT64_MAX;
}

static inline int open_side(struct pair *p, struct side *s, size_t owner)
{
    char why[256] = "";
    const char *key = NULL;
    const struct cla_ops *ops = cla_find(p->f == STREAMCL_STCP ? "stcp" : "mtcp");
    ck_assert_msg(ops->check(&s->config, &key, why, sizeof why) == 0, "%s: %s", key, why);
    struct cla_env env = {.world = &p->v.world,
                          .node = eid_ipn(0, (uint32_t)owner + 1, 0),
                          .bundle_max = 1 << 20,
                          .seed = 1,
                          .events = {.context = s,
                                     .received = on_received,
                                     .reserve = on_reserve,
                                     .release = on_release,
                                     .done = on_done,
                                     .link = on_link,
                                     .say = on_say},
                          .rests = s->rests,
                          .room = s->room,
                          .shared = &s->shared};
    p->v.world.owner = owner;
    const int r = ops->open(&s->cla, &env, &s->config, why, sizeof why);
    p->v.world.owner = 0;
    return r;
}

static inline void pass(struct pair *p, tick time)
{
    const tick until = p->v.now + time;
    for (;;) {
        virtual_settle(&p->v);
        if (world_end_round(&p->v.world))
            continue;
        const tick due = virtual_due(&p->v);
        struct side *sides[] = {&p->a, &p->b};
        for (size_t i = 0; i < 2; i++)
            if (sides[i]->cla != NULL)
                sides[i]->cla->ops->check_self(sides[i]->cla);
        if (due > until)
            break;
        virtual_advance(&p->v, due);
        virtual_fire(&p->v);
    }
    virtual_advance(&p->v, until);
}

static struct address hosts[3]; /* of owners 0 to 2 */

static inline struct pair *pair_new(int f)
{
    struct pair *p = calloc(1, sizeof *p);
    p->f = (enum streamcl_framing)f;
    rng_init(&p->rng, 1);
    virtual_init(&p->v, 0, &p->rng, TICK_MS);
    ck_assert_int_eq(address_parse("10.0.0.1:1", &hosts[0]), 0);
    ck_assert_int_eq(address_parse("10.0.0.2:2", &hosts[1]), 0);
    ck_assert_int_eq(address_parse("10.0.0.3:3", &hosts[2]), 0);
    p->v.pipes.hosts = hosts;
    p->v.pipes.hosts_len = 3;
    fill_defaults(&p->a);
    fill_defaults(&p->b);
    ck_assert_int_eq(address_parse("10.0.0.1:4556", &p->a.config.local), 0);
    ck_assert_int_eq(address_parse("10.0.0.2:4556", &p->a.config.remote.address), 0);
    p->b.config.local = p->a.config.remote.address;
    p->b.config.remote.address = p->a.config.local;
    return p;
}

static inline struct pair *pair_open(int f)
{
    struct pair *p = pair_new(f);
    ck_assert_int_eq(open_side(p, &p->a, 0), 0);
    ck_assert_int_eq(open_side(p, &p->b, 1), 0);
    pass(p, 3 * TICK_S);
    ck_assert(p->a.up && p->b.up);
    return p;
}

static inline void close_side(struct pair *p, struct side *s)
{
    struct cla *c = s->cla;
    if (c == NULL)
        return;
    s->cla = NULL;
    c->ops->close(c, on_closed, s);
    pass(p, 0);
    ck_assert(s->closed);
    ck_assert_uint_eq(s->reserved, 0);
}

static inline void pair_free(struct pair *p)
{
    close_side(p, &p->a);
    close_side(p, &p->b);
    virtual_fini(&p->v);
    free(p);
}

static inline enum cla_reason give(struct side *s, uint64_t key, size_t len)
{
    struct buf *b = buf_new(0, len);
    memset(buf_append(b, len), 'x', len);
    enum cla_reason r = s->cla->ops->send(s->cla, key, b);
    buf_drop(b);
    return r;
}

static inline uint64_t shown(const struct side *s, const char *key)
{
    json_t *o = json_object();
    s->cla->ops->status(s->cla, o);
    const json_t *at = json_object_get(o, key);
    ck_assert_msg(at != NULL, "%s", key);
    const uint64_t n = (uint64_t)json_integer_value(at);
    json_decref(o);
    return n;
}

static inline uint64_t ended(const struct side *s, const char *end)
{
    json_t *o = json_object();
    s->cla->ops->status(s->cla, o);
    const uint64_t n =
        (uint64_t)json_integer_value(json_object_get(json_object_get(o, "ends"), end));
    json_decref(o);
    return n;
}

/* ---- a program ---- */

static inline uint8_t *program_space(void *context, size_t *len)
{
    struct program *x = context;
    x->len = x->len == sizeof x->in ? 0 : x->len;
    *len = sizeof x->in - x->len;
    return x->in + x->len;
}

static inline void program_fed(void *context, size_t len)
{
    ((struct program *)context)->len += len;
}

static inline void program_writable(void *context)
{
    ((struct program *)context)->connected = true;
}

static inline void program_ended(void *context, int error)
{
    (void)error;
    ((struct program *)context)->ended = true;
}

static const struct stream_user program_user = {.space = program_space,
                                                .fed = program_fed,
                                                .writable = program_writable,
                                                .ended = program_ended};

/* Connects to the local address of a side, as this owner. */
static inline void dial_side(struct pair *p, struct program *x, size_t owner, const struct side *s)
{
    const struct stream_place to = {.address = &s->config.local};
    *x = (struct program){0};
    p->v.world.owner = owner;
    ck_assert_int_eq(stream_connect(&p->v.world, &x->stream, &to, &program_user, x), 0);
    stream_read(x->stream, true);
    p->v.world.owner = 0;
    pass(p, 10 * TICK_MS);
}

static inline void dial(struct pair *p, struct program *x, size_t owner)
{
    dial_side(p, x, owner, &p->a);
}

static inline void put(struct pair *p, struct program *x, const void *data, size_t len)
{
    const struct slice part = slice_of(data, len);
    ck_assert_uint_eq(stream_write(x->stream, &part, 1), len);
    pass(p, 10 * TICK_MS);
}

static inline void put_bundle(struct pair *p, struct program *x, size_t announced, size_t len)
{
    uint8_t bytes[2000] = {0};
    const size_t head = streamcl_head(p->f, announced, bytes);
    put(p, x, bytes, head + len);
}

static inline void hang_up(struct pair *p, struct program *x)
{
    stream_close(x->stream);
    pass(p, 10 * TICK_MS);
}

#endif
