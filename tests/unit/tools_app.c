/* SPDX-License-Identifier: Apache-2.0 */
/* A connection that is never configured has its time, and no more. */
#include <check.h>
#include <stdlib.h>

#include "tools/app.h"

struct rig {
    struct config config;
    struct node node;
    struct apps apps;
    struct app app;
};

static struct rig *rig_new(void)
{
    struct rig *r = calloc(1, sizeof *r);
    r->config.bundles.max = 1000;
    r->config.bundles.memory = 1000;
    r->node.config = &r->config;
    r->apps.node = &r->node;
    list_init(&r->apps.all);
    list_init(&r->apps.endpoints);
    list_init(&r->apps.flush);
    app_init(&r->app, &r->apps);
    return r;
}

static void rig_free(struct rig *r)
{
    app_fini(&r->app);
    free(r);
}

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
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
