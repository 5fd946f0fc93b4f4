/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays: what was recorded of an association does not bind, not as it was and not put together
 * anew; the memory for it is bounded, and what it has forgotten does not bind either. Within an
 * association credentials may come again.
 */
#include "sle/replay.h"
#include "tests/unit/sle_pair.h"
#include "tests/unit/suite.h"

enum { DELAY_S = 180 };

/* ---- the memory ---- */

START_TEST(memory)
{
    struct replay r;
    const uint64_t now = 1000 * TICK_S;
    replay_init(&r);
    ck_assert(!replay_has(&r, now, 7));
    replay_add(&r, now, 7, now, DELAY_S * TICK_S, 1);
    ck_assert(replay_has(&r, now, 7) && !replay_has(&r, now, 8) && !replay_has(&r, now + 1, 7));
    replay_add(&r, now, 7, now, DELAY_S * TICK_S, 1);
    ck_assert_uint_eq(r.len, 1);
    /* As long as they could be right: up to the delay behind the time at which they were made. */
    replay_add(&r, now + 1, 1, now + DELAY_S * TICK_S, DELAY_S * TICK_S, 1);
    ck_assert(replay_has(&r, now, 7) && r.len == 2);
    replay_add(&r, now + 2, 2, now + DELAY_S * TICK_S + 1, DELAY_S * TICK_S, 1);
    ck_assert(r.len == 2 && r.horizon == now);
    ck_assert(replay_has(&r, now, 7)); /* the clock may be set back: it binds nothing then */
    ck_assert(!replay_has(&r, now + 1, 7));
    replay_check(&r);
    replay_fini(&r);
}
END_TEST

/* Full: the oldest is forgotten, and nothing of its time or before binds. */
START_TEST(limit)
{
    struct replay r;
    const uint64_t now = 1000 * TICK_S;
    replay_init(&r);
    for (uint32_t k = 0; k < REPLAY_MAX + 100; k++)
        replay_add(&r, now + k, k, now + k, DELAY_S * TICK_S, 1);
    ck_assert_uint_eq(r.len, REPLAY_MAX);
    ck_assert_uint_eq(r.horizon, now + 99);
    for (uint32_t k = 0; k < REPLAY_MAX + 100; k += 37)
        ck_assert(replay_has(&r, now + k, k));
    ck_assert(replay_has(&r, now - 5, 123456) && !replay_has(&r, now + 100, 5));
    replay_check(&r);
    replay_fini(&r);
}
END_TEST

/* ---- associations ---- */

static struct pair pair;
static struct pipe_half recorded; /* what the user sent */

/* The user's octets go to the provider, and to the record. */
static void record_up(void)
{
    (void)write_end(&pair, &pair.user, &pair.up);
    memcpy(recorded.octets + recorded.len, pair.up.octets, pair.up.len);
    recorded.len += pair.up.len;
    pair_settle(&pair);
}

static void begin(void)
{
    static struct sle_provider_config c;
    const struct sle_start start = {.first_cltu = 1};
    const struct sle_cltu cltu = {.data = slice_of("0123456789abcdef", 16)};
    memset(&recorded, 0, sizeof recorded);
    c = (struct sle_provider_config){.id = CLTU_ID};
    pair_init(&pair, SLE_AUTH_ALL);
    pair_add(&pair, &c, 5);
    pair.user.link = sle_connect(pair.asks, pair.now);
    pair.provider.link = sle_accept(pair.provider.sle, pair.now);
    record_up();
    ck_assert_int_eq(sle_user_start(pair.asks, &start, pair.now), 0);
    record_up();
    for (int k = 0; k < 3; k++) {
        ck_assert_int_eq(sle_user_cltu(pair.asks, &cltu, NULL, pair.now), 0);
        record_up();
    }
    ck_assert_uint_eq(sle_instance_counts(pair.serves)->cltus, 3);
    ck_assert_int_eq(sle_user_stop(pair.asks, pair.now), 0);
    record_up();
    ck_assert_int_eq(sle_user_unbind(pair.asks, SLE_UNBIND_END, pair.now), 0);
    record_up();
    ck_assert(pair.user.over && sle_instance_link(pair.serves) == NULL);
}

/* Somebody else sends these octets; the link that they came to, polled to its end. */
static struct sle_link *send_again(struct slice octets, enum sle_end *end)
{
    struct sle_link *l = sle_accept(pair.provider.sle, pair.now);
    struct sle_notice n;
    *end = SLE_END_UNBOUND;
    while (octets.len > 0 && sle_link_reads(l)) {
        size_t room;
        uint8_t *space = sle_link_space(l, &room);
        size_t k = octets.len < room ? octets.len : room;
        memcpy(space, octets.data, k);
        octets = slice_of(octets.data + k, octets.len - k);
        sle_link_fed(l, k, pair.now);
        while (sle_link_poll(l, &n, pair.now))
            *end = n.kind == SLE_OVER ? n.end : *end;
    }
    return l;
}

START_TEST(replayed_session)
{
    enum sle_end end;
    begin();
    pair.now += 20 * TICK_S;
    struct sle_link *l = send_again(slice_of(recorded.octets, recorded.len), &end);
    ck_assert_int_eq(end, SLE_END_REPLAY);
    ck_assert_uint_eq(sle_link_backlog(l), 0); /* it is not answered */
    sle_link_free(l);
    const struct sle_counts *n = sle_counts(pair.provider.sle);
    ck_assert(n->replays == 1 && n->binds == 1 && n->cltus == 3 && n->auth_failed == 0);
    ck_assert_ptr_null(sle_instance_link(pair.serves));
    pair_disconnect(&pair);
    pair_connect(&pair); /* who has the password binds */
    ck_assert_uint_eq(n->binds, 2);
    pair_fini(&pair);
}
END_TEST

/* Credentials whose time is over were forgotten; the provider's clock is set back to where they are
 * right, by a false time server: they do not bind, and those of the user's own time do. */
START_TEST(clock_set_back)
{
    enum { HOUR = 3600 };
    enum sle_end end;
    begin();
    pair_disconnect(&pair);
    pair.now += HOUR * TICK_S;
    pair_connect(&pair);
    const struct sle_counts *n = sle_counts(pair.provider.sle);
    ck_assert_uint_eq(n->binds, 2);
    pair_disconnect(&pair);
    sle_clock_set(pair.provider.sle, UNIX_NS - HOUR * TICK_S);
    sle_link_free(send_again(slice_of(recorded.octets, recorded.len), &end));
    ck_assert_int_eq(end, SLE_END_REPLAY);
    ck_assert(n->replays == 1 && n->binds == 2 && n->cltus == 3);
    sle_clock_set(pair.provider.sle, UNIX_NS);
    pair_connect(&pair);
    ck_assert_uint_eq(n->binds, 3);
    pair_disconnect(&pair);
    pair_fini(&pair);
}
END_TEST

/* Credentials say nothing of the message: those of another one do not bind either. */
START_TEST(put_together)
{
    enum sle_end end;
    uint8_t made[4096];
    begin();
    pair.now += 20 * TICK_S;
    /* Each message behind the context; BIND comes first. */
    const uint8_t *p = recorded.octets + SLE_TML_CONTEXT, *last = recorded.octets + recorded.len;
    const uint8_t *bind = p;
    const size_t bind_len = 8 + ((size_t)p[6] << 8 | p[7]);
    unsigned tried = 0;
    memcpy(made, recorded.octets, SLE_TML_CONTEXT);
    for (p += bind_len; p < last; p += 8 + ((size_t)p[6] << 8 | p[7])) {
        struct slice head = slice_of("\x81\x34\x30\x32\x04\x08", 6); /* of credentials, version 5 */
        const uint8_t *from = memmem(p, (size_t)(last - p), head.data, head.len);
        uint8_t *to = made + SLE_TML_CONTEXT;
        if (from == NULL)
            break;
        memcpy(to, bind, bind_len);
        to = memmem(to, bind_len, head.data, head.len);
        ck_assert_ptr_nonnull(to);
        memcpy(to, from, 54);
        sle_link_free(send_again(slice_of(made, SLE_TML_CONTEXT + bind_len), &end));
        ck_assert_int_eq(end, SLE_END_REPLAY);
        tried++;
    }
    ck_assert_uint_ge(tried, 6); /* START, three CLTUs, STOP, UNBIND */
    const struct sle_counts *n = sle_counts(pair.provider.sle);
    ck_assert(n->replays == tried && n->binds == 1 && n->cltus == 3);
    pair_disconnect(&pair);
    pair_fini(&pair);
}
END_TEST

/* A user whose clock makes one time for all that it sends, with one number: deployed ones do. */
START_TEST(same_credentials_within)
{
    struct sle_provider_config c = {.id = RAF_ID};
    const struct sle_start start = {.quality = SLE_ALL_FRAMES};
    memset(&recorded, 0, sizeof recorded);
    pair_init(&pair, SLE_AUTH_ALL);
    pair_add(&pair, &c, 5);
    pair.user.link = sle_connect(pair.asks, pair.now);
    pair.provider.link = sle_accept(pair.provider.sle, pair.now);
    record_up();
    const uint8_t *head = (const uint8_t *)"\x81\x34\x30\x32\x04\x08";
    const uint8_t *of_bind = memmem(recorded.octets, recorded.len, head, 6);
    ck_assert_ptr_nonnull(of_bind);
    for (int k = 0; k < 2; k++) {
        ck_assert_int_eq(k == 0 ? sle_user_start(pair.asks, &start, pair.now)
                                : sle_user_stop(pair.asks, pair.now),
                         0);
        (void)write_end(&pair, &pair.user, &pair.up);
        uint8_t *to = memmem(pair.up.octets, pair.up.len, head, 6);
        ck_assert_ptr_nonnull(to);
        memcpy(to, of_bind, 54);
        pair_settle(&pair);
    }
    ck_assert_uint_eq(pair.user.seen[SLE_STARTED], 1);
    ck_assert_uint_eq(pair.user.seen[SLE_STOPPED], 1);
    ck_assert_uint_eq(sle_counts(pair.provider.sle)->ignored, 0);
    pair_fini(&pair);
}
END_TEST

SUITE(sle_replay, t)
{
    tcase_add_test(t, memory);
    tcase_add_test(t, limit);
    tcase_add_test(t, replayed_session);
    tcase_add_test(t, clock_set_back);
    tcase_add_test(t, put_together);
    tcase_add_test(t, same_credentials_within);
}
