/* SPDX-License-Identifier: Apache-2.0 */
/* A connection that is never configured has its time, and no more; payloads that applications have
 * begun to send count as memory, and while that is full one of them goes on. */
#include "tests/unit/suite.h"
#include "tests/unit/tools_app_rig.h"

/* The head of a bundle of 900 bytes, and so many of them. */
static void begin_bundle(struct app *c, size_t n)
{
    uint8_t bytes[300], zeros[900] = {0};
    char to[] = "ipn:9.1";
    Aap2__BundleADU adu = AAP2__BUNDLE_ADU__INIT;
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    adu.dst_eid = to;
    adu.payload_length = 900;
    m.msg_case = AAP2__AAPMESSAGE__MSG_ADU;
    m.adu = &adu;
    int len = aap2_pack(&m.base, bytes, sizeof bytes);
    ck_assert_int_gt(len, 0);
    feed(c, bytes, (size_t)len);
    feed(c, zeros, n);
}

START_TEST(payloads_count)
{
    struct rig *r = rig_new();
    begin_bundle(&r->app, 600);
    ck_assert_uint_eq(r->apps.counters.reading_bytes, 600);
    ck_assert(app_may_read(&r->app) && app_may_read(&r->other));
    begin_bundle(&r->other, 399);
    ck_assert(app_may_read(&r->app) && app_may_read(&r->other));
    feed(&r->other, (const uint8_t *)"x", 1);
    ck_assert(app_memory_full(&r->apps));
    ck_assert(!app_may_read(&r->app) && app_may_read(&r->other)); /* one of them goes on */
    list_sub(&r->app.flush);
    app_fini(&r->other); /* it ends: the other one may */
    ck_assert_uint_eq(r->apps.counters.reading_bytes, 600);
    ck_assert(app_may_read(&r->app) && !list_empty(&r->app.flush));
    begin_app(r, &r->other, 2);
    rig_free(r);
}
END_TEST

/* A payload that has the turn and does not grow, while another one waits, ends with its
 * connection; one that grows goes on. */
START_TEST(the_turn_is_used)
{
    struct rig *r = rig_new();
    begin_bundle(&r->app, 500);
    begin_bundle(&r->other, 500);
    ck_assert_ptr_eq(r->apps.turn, &r->other);
    app_keepalive(&r->other, r->apps.turn_began + APP_TURN_TIME - 1);
    ck_assert(!r->other.dead);
    r->apps.turn_bytes = 0; /* as if it had grown; its payload is short for that */
    r->other.reading += 1 << 20;
    r->apps.counters.reading_bytes += 1 << 20;
    app_keepalive(&r->other, r->apps.turn_began + APP_TURN_TIME);
    ck_assert(!r->other.dead);
    app_keepalive(&r->other, r->apps.turn_began + APP_TURN_TIME);
    ck_assert(r->other.dead);
    ck_assert_uint_eq(r->apps.counters.stalled, 1);
    app_fini(&r->other); /* the next flush does it */
    ck_assert_ptr_eq(r->apps.turn, &r->app);
    ck_assert(app_may_read(&r->app) && !list_empty(&r->app.flush));
    begin_app(r, &r->other, 2);
    rig_free(r);
}
END_TEST

/* One has all of the memory, and keeps nobody out: others go on within their shares. */
START_TEST(a_huge_payload_keeps_nobody_out)
{
    struct rig *r = rig_new();
    r->config.bundles.max = 100000;
    r->config.bundles.memory = 8000;
    app_set_reading(&r->app, 20000);
    ck_assert_ptr_eq(r->apps.turn, &r->app);
    ck_assert(app_memory_full(&r->apps));
    begin_bundle(&r->other, 899);
    ck_assert(app_may_read(&r->other)); /* a quarter of the memory, for two users: 1000 */
    app_unanswered_add(&r->other, 100);
    ck_assert(app_may_read(&r->other));
    app_unanswered_add(&r->other, 2);
    ck_assert(!app_may_read(&r->other));
    app_unanswered_sub(&r->apps, &r->other, 2);
    ck_assert(app_may_read(&r->other));
    app_unanswered_sub(&r->apps, &r->other, 100);
    rig_free(r);
}
END_TEST

/* Payloads under way count in the memory of all bundles. Without room there, others go on within
 * their shares, and the payload with the turn waits. */
START_TEST(payloads_have_room_among_bundles)
{
    struct rig *r = rig_new();
    r->config.bundles.memory = 1 << 30;
    app_set_reading(&r->app, 600000);
    ck_assert_uint_eq(agent_counters(r->node.agent)->arriving_bytes, 600000);
    ck_assert(app_may_read(&r->app));
    ck_assert(agent_reserve(r->node.agent, AGENT_OWN, (1 << 20) - 700000));
    r->config.bundles.memory = 2000000; /* shares of 250,000 */
    app_set_reading(&r->app, 750000);
    ck_assert(r->app.starves && app_memory_full(&r->apps));
    ck_assert(r->apps.turn == &r->app && !app_may_read(&r->app));
    app_set_reading(&r->other, 1000);
    ck_assert(app_may_read(&r->other));
    agent_release(r->node.agent, AGENT_OWN, (1 << 20) - 700000);
    list_sub(&r->app.flush);
    (void)app_holds_up(&r->app, r->apps.turn_began);
    ck_assert(!r->app.starves && app_may_read(&r->app) && !list_empty(&r->app.flush));
    rig_free(r);
}
END_TEST

/* A user leaves places for others. */
START_TEST(places_are_shared)
{
    struct rig *r = rig_new();
    struct app_user *u = NULL, *greedy = NULL, *last;
    while ((last = app_user_join(&r->apps, 7)) != NULL) {
        r->apps.counters.connections++;
        greedy = last;
    }
    ck_assert_ptr_nonnull(greedy);
    ck_assert_uint_eq(greedy != NULL ? greedy->connections : 0,
                      382); /* of 512, two of which others have */
    for (int i = 0; i < 30; i++) {
        u = app_user_join(&r->apps, 8);
        ck_assert_ptr_nonnull(u);
        r->apps.counters.connections++;
    }
    ck_assert_ptr_null(app_user_join(&r->apps, 7));
    while (u->connections > 1)
        app_user_leave(u);
    app_user_leave(u);
    while (greedy->connections > 1)
        app_user_leave(greedy);
    app_user_leave(greedy);
    r->apps.counters.connections = 2;
    rig_free(r);
}
END_TEST

#define USERS 10
#define LEAST 8 /* connections of each */

/* Users that take all that they get, one after the other. */
START_TEST(each_user_has_some_places)
{
    struct rig *r = rig_new();
    struct app_user *users[USERS] = {NULL}, *got;
    for (uint64_t i = 0; i < USERS; i++) {
        while ((got = app_user_join(&r->apps, 7 + i)) != NULL) {
            r->apps.counters.connections++;
            users[i] = got;
        }
        ck_assert_ptr_nonnull(users[i]);
        ck_assert_uint_ge(users[i] == NULL ? 0 : users[i]->connections, LEAST);
    }
    for (int i = 0; i < USERS; i++) {
        while (users[i] != NULL && users[i]->connections > 1)
            app_user_leave(users[i]);
        app_user_leave(users[i]);
    }
    r->apps.counters.connections = 2;
    rig_free(r);
}
END_TEST

/* A connection without a payload can always say something, and a lone one always goes on. */
START_TEST(nobody_is_shut_out)
{
    struct rig *r = rig_new();
    r->config.bundles.memory = 100;
    begin_bundle(&r->app, 500);
    ck_assert(app_memory_full(&r->apps));
    ck_assert(app_may_read(&r->app) && app_may_read(&r->other));
    app_keepalive(&r->app, r->app.heard + APP_TURN_TIME);
    feed(&r->app, (const uint8_t *)"x", 1);
    ck_assert(app_may_read(&r->app));
    rig_free(r);
}
END_TEST

#define SEVERAL_TURNS (3 * APP_MESSAGES_MAX + 8)

/* One request; the node answers it at once. */
static void feed_keepalives(struct app *c, int count)
{
    uint8_t bytes[64], many[16 * SEVERAL_TURNS];
    size_t len = 0;
    Aap2__Keepalive k = AAP2__KEEPALIVE__INIT;
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    m.msg_case = AAP2__AAPMESSAGE__MSG_KEEPALIVE;
    m.keepalive = &k;
    const int each = aap2_pack(&m.base, bytes, sizeof bytes);
    ck_assert_int_gt(each, 0);
    for (int i = 0; i < count; i++, len += (size_t)each) {
        ck_assert_uint_le(len + (size_t)each, sizeof many);
        memcpy(many + len, bytes, (size_t)each);
    }
    size_t room;
    uint8_t *at = aap2_reader_space(&c->reader, &room);
    ck_assert_uint_ge(room, len);
    memcpy(at, many, len);
    app_fed(c, len);
}

static size_t count_answers(const struct app *c)
{
    size_t count = 0;
    list_for_each (l, &c->out)
        count++;
    return count;
}

static bool go_on(struct app *c)
{
    const bool late = app_had_turn(c);
    if (c->yields)
        app_fed(c, 0);
    return late && c->yields;
}

/* A user has one turn, however many connections it has: of what they say, so much is taken in all,
 * and each of them comes to it in time. */
START_TEST(users_take_turns)
{
    enum { CONNECTIONS = 5, SAID = SEVERAL_TURNS };
    struct rig *r = rig_new();
    struct app many[CONNECTIONS];
    memset(many, 0, sizeof many);
    for (int i = 0; i < CONNECTIONS; i++) {
        begin_app(r, &many[i], 7);
        feed_keepalives(&many[i], SAID);
    }
    ck_assert_uint_eq(count_answers(&many[0]), APP_MESSAGES_MAX);
    for (int i = 1; i < CONNECTIONS; i++)
        ck_assert_uint_eq(count_answers(&many[i]), 1); /* it came with what was read */
    feed_keepalives(&r->app, SAID);                    /* another user's */
    ck_assert_uint_eq(count_answers(&r->app), APP_MESSAGES_MAX);
    size_t before = APP_MESSAGES_MAX + CONNECTIONS - 1;
    for (int turn = 0; turn < CONNECTIONS; turn++) {
        size_t sum = 0;
        app_turn(&r->apps, go_on);
        for (int i = 0; i < CONNECTIONS; i++)
            sum += count_answers(&many[i]);
        ck_assert_uint_eq(sum - before, APP_MESSAGES_MAX);
        before = sum;
    }
    for (int i = 1; i < CONNECTIONS; i++)
        ck_assert_uint_ge(count_answers(&many[i]), APP_MESSAGES_MAX);
    ck_assert_uint_eq(count_answers(&r->app), SAID); /* its own turns take no longer */
    for (int i = 0; i < CONNECTIONS; i++)
        app_fini(&many[i]);
    rig_free(r);
}
END_TEST

/* While another user has bundles under way, a turn is shorter: its bundles wait for several turns
 * each. */
START_TEST(turns_are_short_when_others_wait)
{
    struct rig *r = rig_new();
    begin_bundle(&r->other, 100);
    feed_keepalives(&r->app, 60);
    ck_assert_uint_eq(count_answers(&r->app), APP_MESSAGES_SHARED);
    app_turn(&r->apps, go_on);
    ck_assert_uint_eq(count_answers(&r->app), 2 * APP_MESSAGES_SHARED);
    app_set_reading(&r->other, 0); /* nobody waits any more */
    app_turn(&r->apps, go_on);
    ck_assert_uint_eq(count_answers(&r->app), 60);
    app_turn(&r->apps, go_on);
    rig_free(r);
}
END_TEST

/* What one round of the loop makes the node do again and again is one turn: the loop looks at all
 * else before the next one. */
START_TEST(a_round_has_one_turn)
{
    struct rig *r = rig_new();
    feed_keepalives(&r->app, SEVERAL_TURNS);
    for (int i = 0; i < 10; i++)
        app_go_on(&r->apps, go_on);
    ck_assert_uint_eq(count_answers(&r->app), APP_MESSAGES_MAX);
    for (size_t turns = 2; turns <= 3; turns++) {
        r->node.awake = false;
        virtual_fire_soon(&r->world);
        ck_assert(r->node.awake);
        for (int i = 0; i < 10; i++)
            app_go_on(&r->apps, go_on);
        ck_assert_uint_eq(count_answers(&r->app), turns * APP_MESSAGES_MAX);
    }
    rig_free(r);
}
END_TEST

/* Another connection of the same user waits as another user's does. */
START_TEST(turns_are_short_when_another_connection_waits)
{
    struct rig *r = rig_new();
    struct app third;
    memset(&third, 0, sizeof third);
    begin_app(r, &third, 1);
    begin_bundle(&third, 100);
    feed_keepalives(&r->app, 60);
    ck_assert_uint_eq(count_answers(&r->app), APP_MESSAGES_SHARED);
    app_fini(&third);
    rig_free(r);
}
END_TEST

START_TEST(silent)
{
    struct rig *r = rig_new();
    app_keepalive(&r->app, r->app.begun + APP_CONFIGURE_TIME - 1);
    ck_assert(!r->app.dead && list_empty(&r->apps.flush));
    app_keepalive(&r->app, r->app.begun + APP_CONFIGURE_TIME);
    ck_assert(r->app.dead && r->app.failed && r->node.awake);
    ck_assert(!list_empty(&r->apps.flush)); /* it is closed by the next flush */
    ck_assert_uint_eq(r->apps.counters.unconfigured, 1);
    rig_free(r);
}
END_TEST

/* What it says in the meantime does not prolong it. */
START_TEST(talking)
{
    struct rig *r = rig_new();
    r->app.heard = r->app.begun + APP_CONFIGURE_TIME - 1;
    app_keepalive(&r->app, r->app.begun + APP_CONFIGURE_TIME);
    ck_assert(r->app.dead);
    rig_free(r);
}
END_TEST

START_TEST(configured)
{
    struct rig *r = rig_new();
    struct app_endpoint e = {.users = 2};
    r->app.endpoint = &e;
    app_keepalive(&r->app, r->app.begun + 1000 * APP_CONFIGURE_TIME);
    ck_assert(!r->app.dead);
    ck_assert_uint_eq(r->apps.counters.unconfigured, 0);
    rig_free(r);
}
END_TEST

SUITE(tools_app, t)
{
    tcase_add_test(t, silent);
    tcase_add_test(t, talking);
    tcase_add_test(t, configured);
    tcase_add_test(t, payloads_count);
    tcase_add_test(t, the_turn_is_used);
    tcase_add_test(t, a_huge_payload_keeps_nobody_out);
    tcase_add_test(t, places_are_shared);
    tcase_add_test(t, each_user_has_some_places);
    tcase_add_test(t, payloads_have_room_among_bundles);
    tcase_add_test(t, nobody_is_shut_out);
    tcase_add_test(t, users_take_turns);
    tcase_add_test(t, turns_are_short_when_others_wait);
    tcase_add_test(t, a_round_has_one_turn);
    tcase_add_test(t, turns_are_short_when_another_connection_waits);
}
