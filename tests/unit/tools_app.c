/* SPDX-License-Identifier: Apache-2.0 */
/* A connection that is never configured has its time, and no more; payloads that applications have
 * begun to send count as memory, and while that is full one of them goes on. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tools/node/app.h"
#include "tools/sim/virtual.h"

struct rig {
    struct rng dice;
    struct virtual_world world;
    struct config config;
    struct node node;
    struct apps apps;
    struct app app, other;
};

static struct rig *rig_new(void)
{
    struct rig *r = calloc(1, sizeof *r);
    r->config.bundles.max = 1000;
    r->config.bundles.memory = 1000;
    rng_init(&r->dice, 1);
    virtual_init(&r->world, TICK_S, &r->dice, 0);
    r->node.config = &r->config;
    r->node.world = &r->world.world;
    r->apps.node = &r->node;
    list_init(&r->apps.all);
    list_init(&r->apps.endpoints);
    list_init(&r->apps.flush);
    app_init(&r->app, &r->apps);
    app_init(&r->other, &r->apps);
    return r;
}

static void rig_free(struct rig *r)
{
    app_fini(&r->app);
    app_fini(&r->other);
    ck_assert_uint_eq(r->apps.counters.reading_bytes, 0);
    ck_assert_ptr_null(r->apps.turn);
    free(r);
}

static void feed(struct app *c, const uint8_t *bytes, size_t n)
{
    while (n > 0) {
        size_t room;
        uint8_t *at = aap2_reader_space(&c->reader, &room);
        ck_assert_ptr_nonnull(at);
        room = room < n ? room : n;
        memcpy(at, bytes, room);
        app_fed(c, room);
        bytes += room;
        n -= room;
    }
}

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
    app_init(&r->other, &r->apps);
    rig_free(r);
}
END_TEST

/* Who began a payload and says no more does not hold up the others. */
START_TEST(the_turn_passes)
{
    struct rig *r = rig_new();
    begin_bundle(&r->app, 500);
    begin_bundle(&r->other, 500);
    ck_assert_ptr_eq(r->apps.turn, &r->other);
    app_keepalive(&r->other, r->other.heard + APP_TURN_TIME - 1);
    ck_assert_ptr_eq(r->apps.turn, &r->other);
    app_keepalive(&r->other, r->other.heard + APP_TURN_TIME);
    ck_assert(app_may_read(&r->app) && !app_may_read(&r->other));
    ck_assert(!list_empty(&r->app.flush));
    app_keepalive(&r->app, r->app.heard + APP_TURN_TIME); /* and back */
    ck_assert(!app_may_read(&r->app) && app_may_read(&r->other));
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

int main(void)
{
    Suite *s = suite_create("tools_app");
    TCase *t = tcase_create("unconfigured");
    tcase_add_test(t, silent);
    tcase_add_test(t, talking);
    tcase_add_test(t, configured);
    suite_add_tcase(s, t);
    t = tcase_create("memory");
    tcase_add_test(t, payloads_count);
    tcase_add_test(t, the_turn_passes);
    tcase_add_test(t, nobody_is_shut_out);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
