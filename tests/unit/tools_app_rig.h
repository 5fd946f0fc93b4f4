/* SPDX-License-Identifier: Apache-2.0 */
/* Two connections of two users at a node with an agent, without sockets. */
#ifndef TOOLS_APP_RIG_H
#define TOOLS_APP_RIG_H

#include <stdlib.h>
#include <string.h>

#include "node/app/app.h"
#include "sim/virtual.h"
#include "tests/unit/suite.h"

struct rig {
    struct rng dice;
    struct virtual_world world;
    struct config config;
    struct node node;
    struct apps apps;
    struct app app, other;
};

static void begin_app(struct rig *r, struct app *c, uint64_t user)
{
    struct app_user *u = app_user_join(&r->apps, user);
    ck_assert_ptr_nonnull(u);
    app_init(c, &r->apps, u);
}

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
    const struct agent_config agent = {
        .node = eid_ipn(0, 1, 0), .memory_only = true, .held_bytes = 1 << 20};
    ck_assert_int_eq(agent_new(&r->node.agent, &agent), 0);
    list_init(&r->apps.all);
    list_init(&r->apps.endpoints);
    app_turns_init(&r->apps);
    begin_app(r, &r->app, 1);
    begin_app(r, &r->other, 2);
    return r;
}

static void rig_free(struct rig *r)
{
    app_fini(&r->app);
    app_fini(&r->other);
    ck_assert_uint_eq(r->apps.counters.reading_bytes, 0);
    ck_assert_ptr_null(r->apps.turn);
    ck_assert_uint_eq(r->apps.starving, 0);
    ck_assert_uint_eq(agent_counters(r->node.agent)->arriving_bytes, 0);
    app_turns_fini(&r->apps);
    agent_free(r->node.agent);
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

#endif
