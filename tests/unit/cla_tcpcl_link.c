/* SPDX-License-Identifier: Apache-2.0 */
/* The adapter "tcpcl" in a virtual world: two nodes' links, and what their nodes are told. */
#include <jansson.h>

#include "tests/unit/cla_tcpcl_pair.h"
#include "tests/unit/suite.h"

/* What a link counts under this key, by reason. */
static uint64_t refusals(const struct side *s, const char *key, const char *code)
{
    json_t *o = json_object();
    s->cla->ops->status(s->cla, o);
    uint64_t n = (uint64_t)json_integer_value(json_object_get(json_object_get(o, key), code));
    json_decref(o);
    return n;
}

START_TEST(delivered)
{
    struct pair *p = pair_open();
    ck_assert_uint_eq(p->a.cla->limits.window, 1); /* the length of bundles is not known */
    ck_assert_uint_eq(p->a.cla->limits.bundle_max, 1 << 20);
    for (uint64_t i = 0; i < 16; i++) {
        ck_assert_int_eq(side_send(&p->a, i, 100 + i), CLA_REASON_NONE);
        ck_assert_uint_eq(p->a.cla->limits.window, 16);
    }
    ck_assert_int_eq(side_send(&p->a, 16, 100), CLA_REASON_BUSY);
    ck_assert_int_eq(side_send(&p->b, 0, 300000), CLA_REASON_NONE);
    pair_pass(p, TICK_S);
    ck_assert_uint_eq(p->a.outcomes[CLA_DELIVERED], 16);
    ck_assert_uint_eq(p->b.received, 16);
    ck_assert_uint_eq(p->b.outcomes[CLA_DELIVERED], 1);
    ck_assert_uint_eq(p->a.received_bytes, 300000);
    ck_assert_int_eq(side_send(&p->a, 17, (1 << 20) + 1), CLA_REASON_TOO_LONG);
    pair_free(p);
}
END_TEST

START_TEST(told_when_the_store_has_it)
{
    struct pair *p = pair_open();
    p->b.hold = true;
    for (uint64_t i = 0; i < 3; i++)
        ck_assert_int_eq(side_send(&p->a, i, 1000), CLA_REASON_NONE);
    pair_pass(p, 10 * TICK_S);
    ck_assert_uint_eq(p->b.received, 3);
    ck_assert_uint_eq(p->a.outcomes[CLA_DELIVERED], 0);
    p->b.cla->ops->confirm(p->b.cla, p->b.tokens[0], CLA_ACCEPTED);
    p->b.cla->ops->confirm(p->b.cla, p->b.tokens[1], CLA_FULL); /* full */
    pair_pass(p, TICK_S);
    ck_assert_uint_eq(p->a.outcomes[CLA_DELIVERED], 1);
    ck_assert_uint_eq(p->a.outcomes[CLA_REFUSED], 1);
    ck_assert_uint_eq(p->a.reasons[CLA_REASON_PEER_FULL], 1);
    ck_assert_uint_eq(p->a.last_key, 1);
    p->b.cla->ops->set_link(p->b.cla, false); /* what is under way ends */
    pair_pass(p, TICK_S);
    ck_assert(!p->a.up && !p->b.up);
    p->b.cla->ops->confirm(p->b.cla, p->b.tokens[2], CLA_ACCEPTED);
    pair_pass(p, TICK_S);
    ck_assert_uint_eq(p->a.outcomes[CLA_DELIVERED], 2);
    pair_free(p);
}
END_TEST

/* §5.2.4: each verdict has its code, and each code its outcome. */
START_TEST(refused_with_a_reason)
{
    static const struct {
        enum cla_verdict verdict;
        const char *code;
        enum cla_outcome outcome;
        enum cla_reason reason;
    } of[] = {
        {CLA_FULL, "no resources", CLA_REFUSED, CLA_REASON_PEER_FULL},
        {CLA_FAULTY, "not acceptable", CLA_DECLINED, CLA_REASON_PEER_DECLINED},
        {CLA_UNWANTED, "unknown", CLA_REFUSED, CLA_REASON_PEER_REFUSED},
    };
    struct pair *p = pair_open();
    p->b.hold = true;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        ck_assert_int_eq(side_send(&p->a, i, 1000), CLA_REASON_NONE);
        pair_pass(p, TICK_S);
        unsigned outcomes = p->a.outcomes[of[i].outcome], reasons = p->a.reasons[of[i].reason];
        p->b.cla->ops->confirm(p->b.cla, p->b.tokens[i], of[i].verdict);
        pair_pass(p, TICK_S);
        ck_assert_uint_eq(p->a.outcomes[of[i].outcome], outcomes + 1);
        ck_assert_uint_eq(p->a.reasons[of[i].reason], reasons + 1);
        ck_assert_uint_eq(refusals(&p->b, "refused_tx", of[i].code), 1);
        ck_assert_uint_eq(refusals(&p->a, "refused_rx", of[i].code), 1);
    }
    pair_free(p);
}
END_TEST

/* The node has no room: nothing more is read; but what the peer acknowledges is heard, though it
 * comes behind bundles. */
START_TEST(paused)
{
    struct pair *p = pair_open();
    p->b.hold = true;
    p->b.cla->ops->pause(p->b.cla, true);
    for (uint64_t i = 0; i < 3; i++)
        ck_assert_int_eq(side_send(&p->a, i, 1000), CLA_REASON_NONE);
    pair_pass(p, 300 * TICK_S); /* five times what silence may last */
    ck_assert(p->a.up && p->b.up);
    ck_assert_uint_eq(p->b.received, 0);
    ck_assert_int_eq(side_send(&p->b, 0, 1000), CLA_REASON_NONE);
    pair_pass(p, TICK_S);
    ck_assert_uint_eq(p->b.outcomes[CLA_DELIVERED], 1);
    ck_assert_uint_eq(p->b.received, 3);
    ck_assert_int_eq(side_send(&p->a, 3, 1000), CLA_REASON_NONE);
    pair_pass(p, TICK_S);
    ck_assert_uint_eq(p->b.received, 3);
    p->b.cla->ops->pause(p->b.cla, false);
    pair_pass(p, TICK_S);
    ck_assert_uint_eq(p->b.received, 4);
    for (size_t i = 0; i < 4; i++)
        p->b.cla->ops->confirm(p->b.cla, p->b.tokens[i], CLA_ACCEPTED);
    pair_pass(p, TICK_S);
    ck_assert_uint_eq(p->a.outcomes[CLA_DELIVERED], 4);
    pair_free(p);
}
END_TEST

START_TEST(window_of_bytes)
{
    struct pair *p = pair_open();
    p->b.hold = true;
    for (uint64_t i = 0; i < 3; i++)
        ck_assert_int_eq(side_send(&p->a, i, 400000), CLA_REASON_NONE); /* the third fills it */
    ck_assert_uint_eq(p->a.cla->limits.window, 3);
    ck_assert_int_eq(side_send(&p->a, 3, 1), CLA_REASON_BUSY);
    pair_pass(p, 10 * TICK_MS); /* a peer that took longer would have less under way */
    p->b.cla->ops->confirm(p->b.cla, p->b.tokens[0], CLA_ACCEPTED);
    pair_pass(p, 10 * TICK_MS);
    ck_assert_uint_eq(p->a.cla->limits.window, 3); /* 2, and one more goes */
    ck_assert_int_eq(side_send(&p->a, 3, 1), CLA_REASON_NONE);
    pair_free(p); /* with some under way */
}
END_TEST

START_TEST(down_and_up)
{
    struct pair *p = pair_open();
    p->a.cla->ops->set_link(p->a.cla, false);
    ck_assert_int_eq(side_send(&p->a, 1, 10), CLA_REASON_DOWN);
    pair_pass(p, 100 * TICK_S);
    ck_assert(!p->a.up && !p->b.up);
    p->a.cla->ops->set_link(p->a.cla, true);
    pair_pass(p, TICK_S);
    ck_assert(p->a.up && p->b.up);
    ck_assert_uint_eq(p->a.ups, 2);
    pair_free(p);
}
END_TEST

/* Both ends see how far apart they are. */
START_TEST(short_keepalives_are_told)
{
    static const struct {
        tick delay, keepalive, idle; /* delay: there and back */
        bool told;
    } cases[] = {{1200 * TICK_MS, TICK_S, 0, true},
                 {1200 * TICK_MS, 2 * TICK_S, 0, true},
                 {1200 * TICK_MS, 3 * TICK_S, 0, false},
                 {TICK_MS, TICK_S, 0, false},
                 {1200 * TICK_MS, 30 * TICK_S, 2 * TICK_S, true},
                 {1200 * TICK_MS, 0, 0, false},
                 {1200 * TICK_MS, 0, 4 * TICK_S, true},
                 {1200 * TICK_MS, 0, 5 * TICK_S, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pair *p = pair_new();
        p->v.pipes.delay = cases[i].delay;
        p->a.config.keepalive = p->b.config.keepalive = cases[i].keepalive;
        p->a.config.idle = p->b.config.idle = cases[i].idle;
        ck_assert_int_eq(side_open(p, &p->b), 0);
        ck_assert_int_eq(side_open(p, &p->a), 0);
        pair_pass(p, 3 * TICK_S); /* contact headers, SESS_INIT */
        ck_assert_msg(p->a.up && p->b.up, "%zu", i);
        const struct side *sides[] = {&p->a, &p->b};
        for (size_t k = 0; k < 2; k++) {
            ck_assert_msg(sides[k]->said == cases[i].told, "%zu %zu: %s", i, k, sides[k]->told);
            if (cases[i].told)
                ck_assert_msg(strstr(sides[k]->told, "a round trip of 1200 ms") != NULL, "%s",
                              sides[k]->told);
        }
        pair_free(p);
    }
}
END_TEST

START_TEST(one_message_hides_no_other)
{
    struct pair *p = pair_new();
    ck_assert_int_eq(eid_parse("ipn:7.0", &p->a.peer), 0); /* not b's */
    ck_assert_int_eq(side_open(p, &p->a), 0);              /* nobody listens */
    pair_pass(p, 100 * TICK_MS);
    ck_assert_ptr_nonnull(strstr(p->a.told, "refused; nobody listens there: "));
    ck_assert_int_eq(side_open(p, &p->b), 0);
    pair_pass(p, 2 * TICK_S);
    ck_assert_msg(strstr(p->a.told, "the peer at remote is \"ipn:") != NULL, "%s", p->a.told);
    pair_free(p);
}
END_TEST

START_TEST(connects_again_with_a_growing_pause)
{
    struct pair *p = pair_new();
    ck_assert_int_eq(side_open(p, &p->a), 0); /* nobody listens */
    pair_pass(p, 100 * TICK_MS);
    ck_assert(!p->a.up && p->a.downs == 1 && p->a.said == 1);
    pair_pass(p, 20 * TICK_S); /* at 1, 3, 7, 15 s; then at 31 */
    ck_assert_int_eq(side_open(p, &p->b), 0);
    pair_pass(p, 9 * TICK_S);
    ck_assert(!p->a.up);
    pair_pass(p, 3 * TICK_S);
    ck_assert(p->a.up && p->b.up);
    pair_free(p);
}
END_TEST

START_TEST(lost_with_the_session)
{
    struct pair *p = pair_open();
    p->b.hold = true;
    ck_assert_int_eq(side_send(&p->a, 7, 10), CLA_REASON_NONE);
    pair_pass(p, TICK_S);
    side_close(&p->b);
    pair_pass(p, TICK_S);
    ck_assert(p->b.closed && !p->a.up);
    ck_assert_uint_eq(p->a.outcomes[CLA_FAILED], 1);
    ck_assert_uint_eq(p->a.reasons[CLA_REASON_NO_ANSWER], 1);
    pair_free(p);
}
END_TEST

START_TEST(taken_back)
{
    struct pair *p = pair_open();
    ck_assert_int_eq(side_send(&p->a, 7, 10), CLA_REASON_NONE);
    ck_assert_int_eq(p->a.cla->ops->cancel(p->a.cla, 7), HELIO_ENOENT);
    ck_assert_int_eq(side_send(&p->a, 8, 10), CLA_REASON_NONE);
    pair_pass(p, TICK_S);
    ck_assert_int_eq(p->a.cla->ops->cancel(p->a.cla, 9), 0);
    ck_assert_uint_eq(p->b.received, 1);
    ck_assert_uint_eq(p->a.last_key, 8);
    pair_free(p);
}
END_TEST

START_TEST(both_connect)
{
    struct pair *p = pair_new();
    ck_assert_int_eq(address_parse("10.0.0.1:4556", &p->a.config.local), 0);
    ck_assert_int_eq(address_parse("10.0.0.1:4556", &p->b.config.remote.address), 0);
    ck_assert_int_eq(side_open(p, &p->a), 0);
    ck_assert_int_eq(side_open(p, &p->b), 0);
    pair_pass(p, 5 * TICK_S);
    for (uint64_t i = 0; i < 10; i++) {
        ck_assert_int_eq(side_send(&p->a, i, 10), CLA_REASON_NONE);
        ck_assert_int_eq(side_send(&p->b, i, 10), CLA_REASON_NONE);
    }
    pair_pass(p, TICK_S);
    ck_assert_uint_eq(p->a.outcomes[CLA_DELIVERED], 10);
    ck_assert_uint_eq(p->b.outcomes[CLA_DELIVERED], 10);
    ck_assert_uint_eq(p->a.downs + p->b.downs, 2); /* before the first session */
    pair_free(p);
}
END_TEST

START_TEST(another_peer_answers)
{
    struct pair *p = pair_new();
    p->a.peer = eid_ipn(0, 3, 0);
    ck_assert_int_eq(side_open(p, &p->b), 0);
    ck_assert_int_eq(side_open(p, &p->a), 0);
    pair_pass(p, 2 * TICK_S);
    ck_assert(!p->a.up && p->a.said >= 1);
    p->a.config.check_peer = false;
    pair_pass(p, 60 * TICK_S);
    ck_assert(p->a.up);
    pair_free(p);
}
END_TEST

START_TEST(whom_no_link_names)
{
    struct pair *p = pair_new();
    p->b.peer = eid_ipn(0, 9, 0);
    ck_assert_int_eq(side_open(p, &p->b), 0);
    ck_assert_int_eq(side_open(p, &p->a), 0);
    pair_pass(p, TICK_S);
    ck_assert(!p->a.up && !p->b.up);
    ck_assert_ptr_nonnull(strstr(p->b.told, "or accept unconfigured peers with peers above 0"));
    pair_free(p);
    p = pair_new();
    p->b.peer = eid_ipn(0, 9, 0);
    p->b.let_in = true;
    ck_assert_int_eq(side_open(p, &p->b), 0);
    ck_assert_int_eq(side_open(p, &p->a), 0);
    pair_pass(p, TICK_S);
    ck_assert(p->a.up && !p->b.up && p->unconfigured.up);
    ck_assert_int_eq(eid_same_node(&p->unconfigured.peer, &p->a.node), true);
    ck_assert_int_eq(side_send(&p->unconfigured, 1, 10), CLA_REASON_NONE);
    ck_assert_int_eq(side_send(&p->a, 1, 10), CLA_REASON_NONE);
    pair_pass(p, TICK_S);
    ck_assert_uint_eq(p->unconfigured.outcomes[CLA_DELIVERED], 1);
    ck_assert_uint_eq(p->unconfigured.received, 1);
    side_close(&p->a);
    pair_pass(p, TICK_S);
    ck_assert(!p->unconfigured.up && p->unconfigured.downs == 1);
    pair_free(p);
}
END_TEST

START_TEST(more_sessions_than_a_link_has)
{
    struct pair *p = pair_open();
    struct side more[6] = {0};
    p->b.config.sessions = 4;
    for (int i = 0; i < 6; i++) { /* the same node, again and again */
        more[i].node = p->a.node;
        more[i].peer = p->a.peer;
        side_defaults(&more[i]);
        more[i].config.remote = p->a.config.remote;
        ck_assert_int_eq(side_open(p, &more[i]), 0);
        pair_pass(p, 100 * TICK_MS);
        ck_assert_int_eq(more[i].up, i < 3);
    }
    ck_assert_int_eq(side_send(&p->b, 1, 10), CLA_REASON_NONE); /* by the newest */
    pair_pass(p, 100 * TICK_MS);
    ck_assert_uint_eq(more[2].received, 1);
    for (int i = 0; i < 6; i++)
        side_close(&more[i]);
    pair_pass(p, TICK_S);
    ck_assert(p->a.up && p->b.up);
    pair_free(p);
}
END_TEST

/* Who connects and says nothing has a place for a while; with all places taken, others have none.
 */
static void no_end(void *context, int error)
{
    (void)error;
    ++*(unsigned *)context;
}

static uint8_t *no_space(void *context, size_t *len)
{
    static uint8_t dump[16];
    (void)context;
    *len = sizeof dump;
    return dump;
}

static void no_bytes(void *context, size_t len)
{
    (void)context;
    (void)len;
}

static void no_room(void *context)
{
    (void)context;
}

START_TEST(silent_connections)
{
    static const struct stream_user user = {
        .space = no_space, .fed = no_bytes, .writable = no_room, .ended = no_end};
    struct pair *p = pair_new();
    struct stream *s[10];
    unsigned ended = 0;
    struct stream_place at = {.address = &p->b.config.local};
    ck_assert_int_eq(side_open(p, &p->b), 0);
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(stream_connect(&p->v.world, &s[i], &at, &user, &ended), 0);
        stream_read(s[i], true);
    }
    pair_pass(p, TICK_S);
    ck_assert_uint_eq(ended, 2); /* eight places */
    pair_pass(p, 30 * TICK_S);
    ck_assert_uint_eq(ended, 10);
    for (int i = 0; i < 10; i++)
        stream_close(s[i]);
    pair_free(p);
}
END_TEST

/* One that has sent its contact header stays, however many come that say nothing. */
START_TEST(who_has_spoken_stays)
{
    static const struct stream_user user = {
        .space = no_space, .fed = no_bytes, .writable = no_room, .ended = no_end};
    struct pair *p = pair_new();
    struct stream *s[20], *spoken;
    unsigned ended = 0, ended_spoken = 0;
    struct stream_place at = {.address = &p->b.config.local};
    const struct slice contact = slice_of("dtn!\x04\x00", 6);
    ck_assert_int_eq(side_open(p, &p->b), 0);
    ck_assert_int_eq(stream_connect(&p->v.world, &spoken, &at, &user, &ended_spoken), 0);
    stream_read(spoken, true);
    pair_pass(p, TICK_S / 10);
    ck_assert_uint_eq(stream_write(spoken, &contact, 1), 6);
    pair_pass(p, TICK_S / 10);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(stream_connect(&p->v.world, &s[i], &at, &user, &ended), 0);
        stream_read(s[i], true);
    }
    pair_pass(p, TICK_S);
    ck_assert_uint_eq(ended, 13); /* eight places */
    ck_assert_uint_eq(ended_spoken, 0);
    for (int i = 0; i < 20; i++)
        stream_close(s[i]);
    stream_close(spoken);
    pair_free(p);
}
END_TEST

/* A stream of the test's own that has said who it is, ipn:1.0, to the link of side b. */
static struct stream *own_session(struct pair *p, const struct stream_user *user, unsigned *ended)
{
    static const char init[] =
        "dtn!\x04\x00\x07\x00\x00\0\0\0\0\0\0\xff\xff\0\0\0\0\0\xff\xff\xff\x00"
        "\x07ipn:1.0\0\0\0\0";
    struct stream *s;
    struct stream_place at = {.address = &p->b.config.local};
    const struct slice all = slice_of(init, sizeof init - 1);
    ck_assert_int_eq(stream_connect(&p->v.world, &s, &at, user, ended), 0);
    stream_read(s, true);
    pair_pass(p, TICK_S / 10);
    ck_assert_uint_eq(stream_write(s, &all, 1), all.len);
    pair_pass(p, TICK_S / 10);
    ck_assert(p->b.up);
    return s;
}

static void put_segment(struct pair *p, struct stream *s, uint8_t flags, uint8_t id, size_t len)
{
    static uint8_t data[1 << 16];
    uint8_t head[22] = {1, flags, 0, 0, 0, 0, 0, 0, 0, id};
    const size_t head_len = (flags & TCPCL_START) != 0 ? 22 : 18;
    head[head_len - 3] = (uint8_t)(len >> 16);
    head[head_len - 2] = (uint8_t)(len >> 8);
    head[head_len - 1] = (uint8_t)len;
    const struct slice parts[2] = {slice_of(head, head_len), slice_of(data, len)};
    ck_assert_uint_le(len, sizeof data);
    ck_assert_uint_eq(stream_write(s, parts, 2), head_len + len);
    pair_pass(p, TICK_S / 10);
}

/* What has come of a transfer counts, to the byte; with the bundle it is released. */
START_TEST(arriving_bytes_count)
{
    static const struct stream_user user = {
        .space = no_space, .fed = no_bytes, .writable = no_room, .ended = no_end};
    struct pair *p = pair_new();
    unsigned ended = 0;
    ck_assert_int_eq(side_open(p, &p->b), 0);
    struct stream *s = own_session(p, &user, &ended);
    put_segment(p, s, TCPCL_START, 0, 1000);
    ck_assert_uint_eq(p->b.reserved, 1000);
    put_segment(p, s, 0, 0, 50000);
    ck_assert_uint_eq(p->b.reserved, 51000);
    put_segment(p, s, TCPCL_END, 0, 1);
    ck_assert_uint_eq(p->b.received_bytes, 51001);
    ck_assert_uint_eq(p->b.reserved, 0);
    put_segment(p, s, TCPCL_START, 1, 7);
    stream_close(s); /* in the middle of it */
    pair_pass(p, TICK_S);
    ck_assert_uint_eq(p->b.reserved, 0);
    pair_free(p);
}
END_TEST

/* Without room the transfer is refused, "no resources", and the next one is taken. */
START_TEST(no_room_for_what_arrives)
{
    static const struct stream_user user = {
        .space = no_space, .fed = no_bytes, .writable = no_room, .ended = no_end};
    struct pair *p = pair_new();
    unsigned ended = 0;
    ck_assert_int_eq(side_open(p, &p->b), 0);
    struct stream *s = own_session(p, &user, &ended);
    p->b.memory = 60000;
    put_segment(p, s, TCPCL_START, 0, 60000);
    put_segment(p, s, 0, 0, 1);
    ck_assert_uint_eq(p->b.reserved, 0);
    put_segment(p, s, TCPCL_END, 0, 60000); /* was on its way */
    ck_assert_uint_eq(p->b.received, 0);
    put_segment(p, s, TCPCL_START, 1, 60000);
    put_segment(p, s, TCPCL_END, 1, 0);
    ck_assert_uint_eq(p->b.received_bytes, 60000);
    ck_assert_uint_eq(p->b.reserved_most, 60000);
    ck_assert_uint_eq(ended, 0);
    stream_close(s);
    pair_free(p);
}
END_TEST

/* A transfer that stops growing is refused; its memory is free, and the session goes on. */
START_TEST(a_transfer_that_stops_growing)
{
    static const struct stream_user user = {
        .space = no_space, .fed = no_bytes, .writable = no_room, .ended = no_end};
    struct pair *p = pair_new();
    unsigned ended = 0;
    ck_assert_int_eq(side_open(p, &p->b), 0);
    struct stream *s = own_session(p, &user, &ended);
    put_segment(p, s, TCPCL_START, 0, 5000);
    for (int i = 0; i < 5; i++) {
        pair_pass(p, 50 * TICK_S);
        put_segment(p, s, 0, 0, 1);
    }
    ck_assert_uint_eq(p->b.reserved, 5005);
    for (int i = 0; i < 7; i++) { /* segments without data: it does not grow */
        pair_pass(p, 10 * TICK_S);
        put_segment(p, s, 0, 0, 0);
    }
    ck_assert_uint_eq(p->b.reserved, 0);
    put_segment(p, s, TCPCL_START | TCPCL_END, 1, 100);
    ck_assert_uint_eq(p->b.received, 1);
    ck_assert_uint_eq(ended, 0);
    stream_close(s);
    pair_free(p);
}
END_TEST

START_TEST(local_in_use)
{
    struct pair *p = pair_open();
    struct side other = {.node = eid_ipn(0, 5, 0), .peer = eid_ipn(0, 6, 0), .pair = p};
    side_defaults(&other);
    other.config.local = p->b.config.local;
    ck_assert_int_ne(side_open(p, &other), 0); /* of another node */
    other.node = p->b.node;
    other.shared = p->b.shared; /* of this one: shared */
    ck_assert_int_eq(side_open(p, &other), 0);
    side_close(&other);
    pair_pass(p, TICK_S);
    ck_assert(other.closed && p->b.up);
    pair_free(p);
}
END_TEST

START_TEST(relations_of_keys)
{
    struct tcpcl_config k;
    struct side s;
    const char *key = NULL;
    char why[256], text[TCPCL_PLACE_MAX];
    char path[] = "/run/x.sock";
    struct stream_place place;
    side_defaults(&s);
    k = s.config;
    ck_assert_int_eq(tcpcl_config_check(&k, &key, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(key, "remote");
    k.remote_path = path;
    ck_assert_int_eq(tcpcl_config_check(&k, &key, why, sizeof why), 0);
    ck_assert(tcpcl_connects(&k) && !tcpcl_local(&k, &place));
    place = (struct stream_place){.path = path};
    ck_assert_str_eq(tcpcl_place_text(&place, text), "/run/x.sock");
    k.keepalive = TICK_S + 1;
    ck_assert_int_eq(tcpcl_config_check(&k, &key, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(key, "keepalive");
}
END_TEST

SUITE(cla_tcpcl_link, t)
{
    tcase_add_test(t, delivered);
    tcase_add_test(t, told_when_the_store_has_it);
    tcase_add_test(t, refused_with_a_reason);
    tcase_add_test(t, paused);
    tcase_add_test(t, window_of_bytes);
    tcase_add_test(t, down_and_up);
    tcase_add_test(t, short_keepalives_are_told);
    tcase_add_test(t, one_message_hides_no_other);
    tcase_add_test(t, connects_again_with_a_growing_pause);
    tcase_add_test(t, lost_with_the_session);
    tcase_add_test(t, taken_back);
    tcase_add_test(t, both_connect);
    tcase_add_test(t, another_peer_answers);
    tcase_add_test(t, whom_no_link_names);
    tcase_add_test(t, more_sessions_than_a_link_has);
    tcase_add_test(t, silent_connections);
    tcase_add_test(t, who_has_spoken_stays);
    tcase_add_test(t, arriving_bytes_count);
    tcase_add_test(t, no_room_for_what_arrives);
    tcase_add_test(t, a_transfer_that_stops_growing);
    tcase_add_test(t, local_in_use);
    tcase_add_test(t, relations_of_keys);
}
