/* SPDX-License-Identifier: Apache-2.0 */
/* Each bundle has its number, length and check value, so that the receiver needs no list. */
#include "uv_scene.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/rng.h"
#include "bp/codec/bundle.h"

#define FRAME 7

/* A bundle says who it is: number, length, check value, then noise. */
static struct buf *bundle_new(uint32_t number, uint64_t size_max)
{
    struct rng rng;
    rng_init(&rng, number);
    size_t len = 12 + rng_below(&rng, size_max);
    struct buf *b = buf_new(FRAME, len + 1);
    uint8_t *p = buf_append(b, len);
    for (size_t i = 12; i < len; i++)
        p[i] = (uint8_t)rng_u64(&rng);
    uint32_t length = (uint32_t)len, crc = crc32c(0, p + 12, len - 12);
    memcpy(p, &number, 4);
    memcpy(p + 4, &length, 4);
    memcpy(p + 8, &crc, 4);
    return b;
}

/* An open array of one block: an array of one byte string. */
static void bundle_frame(struct buf *b)
{
    uint32_t len = htonl((uint32_t)b->len);
    uint8_t *p = buf_prepend(b, FRAME);
    memcpy(p, "\x9f\x81\x5a", 3);
    memcpy(p + 3, &len, 4);
    *buf_append(b, 1) = 0xff;
}

struct buf *scene_bundle(uint32_t number, uint64_t size_max)
{
    struct buf *b = bundle_new(number, size_max);
    bundle_frame(b);
    return b;
}

static bool bundle_unframe(struct buf *b)
{
    if (bundle_length(buf_slice(b)) != b->len || b->len <= FRAME)
        return false;
    b->off += FRAME;
    b->len -= FRAME + 1;
    return true;
}

static bool bundle_check(struct buf *b, uint32_t *number)
{
    uint32_t length, crc;
    if (b->len < 12)
        return false;
    memcpy(number, buf_data(b), 4);
    memcpy(&length, buf_data(b) + 4, 4);
    memcpy(&crc, buf_data(b) + 8, 4);
    return length == b->len && crc == crc32c(0, buf_data(b) + 12, b->len - 12) &&
           *number < BUNDLES_MAX;
}

void end_send(struct end *e)
{
    while (e->next < e->total) {
        struct buf *b = bundle_new(e->next, e->world->size_max);
        if (e->world->framed)
            bundle_frame(b);
        enum cla_reason r = e->link->ops->send(e->link, e->next, b);
        buf_drop(b);
        if (r == CLA_REASON_BUSY)
            return;
        ck_assert_int_eq(r, CLA_REASON_NONE);
        e->next++;
    }
}

static void on_done(void *context, struct cla *c, uint64_t key, enum cla_outcome outcome,
                    enum cla_reason reason)
{
    struct end *e = context;
    ck_assert_ptr_eq(c, e->link);
    ck_assert_uint_lt(key, e->next);
    ck_assert_int_eq(cla_outcome_is_good(outcome), reason == CLA_REASON_NONE);
    e->outcomes[outcome]++;
    e->reasons[reason]++;
    e->sent_ok += cla_outcome_is_good(outcome);
    e->lost += outcome == CLA_LOST;
    e->sent_failed += !cla_outcome_is_good(outcome) && outcome != CLA_LOST;
    if (outcome == CLA_LOST)
        ck_assert_uint_eq(c->limits.resend, 3);
    end_send(e);
}

static void on_received(void *context, struct cla *c, struct buf *bundle, uint64_t token)
{
    struct end *e = context;
    uint32_t number = 0;
    if ((!e->world->framed || bundle_unframe(bundle)) && bundle_check(bundle, &number)) {
        e->seen[number]++;
        e->tokens[number] = token;
    } else {
        e->wrong++;
    }
    e->received++;
    buf_drop(bundle);
    if (!e->world->hold)
        c->ops->confirm(c, token, e->refuse ? CLA_FULL : CLA_ACCEPTED);
}

static void on_link(void *context, struct cla *c, bool up)
{
    (void)c;
    ((struct end *)context)->up = up;
}

static void on_limits(void *context, struct cla *c)
{
    struct end *e = context;
    ck_assert_uint_ge(c->limits.window, 1);
    e->windows++;
    end_send(e);
}

static void on_say(void *context, struct cla *c, int level, const char *text)
{
    struct end *e = context;
    (void)c;
    (void)level;
    e->said++;
    snprintf(e->said_text, sizeof e->said_text, "%s", text);
}

void end_closed(void *context)
{
    ((struct end *)context)->closed = true;
}

struct cla_env end_env(struct scene *w, struct end *e, uint64_t own, uint64_t peer)
{
    e->world = w;
    return (struct cla_env){
        .world = w->world,
        .node = {.scheme = EID_IPN, .node = own},
        .peer = {.scheme = EID_IPN, .node = peer},
        .confirm = w->confirm,
        .bundle_max = 64 << 20,
        .seed = own,
        .events = {.context = e,
                   .received = on_received,
                   .done = on_done,
                   .link = on_link,
                   .limits = on_limits,
                   .say = on_say},
        .shared = &e->shared,
    };
}

void end_configure(struct end *e, const char *host, uint16_t local, uint16_t remote,
                   const char *const *pairs)
{
    char from[80], to[80];
    const char *all[40] = {"local", from, "remote", to, "rto", "50ms"};
    size_t n = 6;
    snprintf(from, sizeof from, "%s:%u", host, local);
    snprintf(to, sizeof to, "%s:%u", host, remote);
    for (; pairs != NULL && *pairs != NULL; pairs++)
        all[n++] = *pairs;
    rig_config_free(&e->config);
    rig_config(&e->config, all);
}

void end_open(struct scene *w, struct end *e, uint64_t own, uint64_t peer)
{
    struct cla_env env = end_env(w, e, own, peer);
    e->link = rig_open(&e->config, &env);
}

struct scene *scene_new(const char *host, const char *const *pairs)
{
    struct scene *w = calloc(1, sizeof *w);
    bool six = host[0] == '[';
    uint16_t p1 = rig_port(six), p2 = rig_port(six);
    ck_assert_int_eq(uv_world_open(&w->world), 0);
    w->loop = uv_world_loop(w->world);
    uv_timer_init(w->loop, &w->timer);
    w->size_max = 100000;
    end_configure(&w->a, host, p1, p2, pairs);
    end_configure(&w->b, host, p2, p1, pairs);
    return w;
}

void scene_tick(uv_timer_t *t)
{
    (void)t;
}

void scene_free(struct scene *w)
{
    struct end *ends[] = {&w->a, &w->b};
    for (int i = 0; i < 2; i++)
        if (ends[i]->link != NULL)
            ends[i]->link->ops->close(ends[i]->link, end_closed, ends[i]);
    uv_close((uv_handle_t *)&w->timer, NULL);
    uv_world_end(w->world);
    uv_world_run(w->world);
    for (int i = 0; i < 2; i++) {
        ck_assert(ends[i]->link == NULL || ends[i]->closed);
        rig_config_free(&ends[i]->config);
    }
    ck_assert_int_eq(uv_world_free(w->world), 0);
    free(w);
}

void end_expect_all(const struct end *from, const struct end *to)
{
    ck_assert_uint_eq(from->sent_ok, from->total);
    ck_assert_uint_eq(from->sent_failed, 0);
    ck_assert_uint_eq(to->wrong, 0);
    ck_assert_uint_eq(to->received, from->total);
    for (uint32_t i = 0; i < from->total; i++)
        ck_assert_uint_eq(to->seen[i], 1);
}
