/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles into a tunnel: their encapsulating bundles end when the node says that the bundle ends,
 * and the numbers of transfers are not those of an earlier life, whatever the wall clock does.
 */
#include "bp/codec/bibe.h"
#include "bp/codec/bundle.h"
#include "tests/unit/cla_bibe_help.h"
#include "tests/unit/suite.h"

#define WALL_S UINT64_C(1800000000) /* seconds since 1970 */
#define HOUR_MS UINT64_C(3600000)
#define LIVES 100

struct scene {
    struct virtual_world v;
    struct rng rng;
    struct bibe_config config;
    struct cla *link;
    uint64_t left_ms;     /* what the node says of any bundle */
    uint64_t lifetime_ms; /* of the last encapsulating bundle */
    uint64_t transfer;    /* likewise, when it has a segment */
    unsigned submitted;
    bool closed;
};

static enum cla_reason submit_parcel(void *context, const struct cla_parcel *p, uint32_t token,
                                     struct cla_stamp *out)
{
    struct scene *s = context;
    *out = (struct cla_stamp){0};
    struct bibe_payload in;
    (void)token;
    ck_assert_int_eq(bibe_decode(buf_slice(p->payload), &in), 0);
    s->lifetime_ms = p->lifetime_ms;
    s->transfer = in.segment ? in.transfer : 0;
    s->submitted++;
    buf_drop(p->payload);
    return CLA_REASON_NONE;
}

static uint64_t count_left(void *context, uint64_t key)
{
    const struct scene *s = context;
    ck_assert_uint_eq(key, 7);
    return s->left_ms;
}

static void begin(struct scene *s, uint64_t seed, uint64_t wall_s)
{
    *s = (struct scene){.config = {.local = parsed("ipn:1.12"),
                                   .remote = parsed("ipn:3.12"),
                                   .lifetime = 86400 * TICK_S,
                                   .segment = 1000,
                                   .window = 4,
                                   .transfers = 4,
                                   .memory = 10000,
                                   .nesting = 2,
                                   .state = BIBE_UP}};
    rng_init(&s->rng, seed);
    virtual_init(&s->v, wall_s * TICK_S, &s->rng, 0);
    const struct cla_env env = {
        .world = &s->v.world,
        .bundle_max = 10000,
        .self = {
            .context = s, .submit = submit_parcel, .listen = listen_there, .left_ms = count_left}};
    s->link = open_bibe(&env, &s->config);
    settle(&s->v);
}

static void end(struct scene *s)
{
    s->link->ops->close(s->link, note_closed, &s->closed);
    settle(&s->v);
    ck_assert(s->closed);
    virtual_fini(&s->v);
}

/* A bundle of this many octets that was made when the wall clock was right, an hour's lifetime. */
static enum cla_reason send_bundle(struct scene *s, size_t len)
{
    static char content[5000];
    struct bundle b;
    bundle_init(&b);
    b.destination = parsed("ipn:3.7");
    b.report_to = b.id.source = parsed("ipn:1.7");
    b.id.time_ms = dtn_ms_of(WALL_S * TICK_S);
    b.lifetime_ms = HOUR_MS;
    b.payload = slice_of(content, len);
    struct buf *whole = bundle_encode_copy(&b);
    ck_assert_ptr_nonnull(whole);
    const enum cla_reason reason = s->link->ops->send(s->link, 7, whole);
    buf_drop(whole);
    return reason;
}

/* The wall clock stepped two hours on, or is back before the bundle was made. */
START_TEST(lifetimes_are_the_nodes)
{
    static const uint64_t walls[] = {WALL_S, WALL_S + 7200, WALL_S - 7200, 0};
    struct scene s;
    begin(&s, 1, walls[_i]);
    s.left_ms = 1234567;
    ck_assert_int_eq(send_bundle(&s, 100), CLA_REASON_NONE);
    ck_assert_uint_eq(s.submitted, 1);
    ck_assert_uint_eq(s.lifetime_ms, 1234567);
    s.left_ms = UINT64_MAX;
    ck_assert_int_eq(send_bundle(&s, 100), CLA_REASON_NONE);
    ck_assert_uint_eq(s.lifetime_ms, 86400000); /* `lifetime` */
    s.left_ms = 0;
    ck_assert_int_eq(send_bundle(&s, 100), CLA_REASON_CANCELLED);
    ck_assert_uint_eq(s.submitted, 2);
    end(&s);
}
END_TEST

/* Each run begins at the same time by the wall clock. */
START_TEST(numbers_are_not_used_again)
{
    uint64_t first[LIVES];
    for (unsigned i = 0; i < LIVES; i++) {
        struct scene s;
        begin(&s, i + 1, WALL_S);
        s.left_ms = HOUR_MS;
        ck_assert_int_eq(send_bundle(&s, 3000), CLA_REASON_NONE);
        first[i] = s.transfer;
        ck_assert_int_eq(send_bundle(&s, 3000), CLA_REASON_NONE);
        ck_assert_uint_eq(s.transfer, first[i] + 1);
        for (unsigned k = 0; k < i; k++) {
            const uint64_t up = first[i] - first[k], down = first[k] - first[i];
            ck_assert_uint_gt(up < down ? up : down, UINT64_C(1) << 32);
        }
        end(&s);
    }
}
END_TEST

SUITE(cla_bibe_send, t)
{
    tcase_add_loop_test(t, lifetimes_are_the_nodes, 0, 4);
    tcase_add_test(t, numbers_are_not_used_again);
}
