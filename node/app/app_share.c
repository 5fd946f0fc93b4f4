/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of applications' bundles until they are stored (bundles.memory). While there is room all
 * connections are read. Without room, a connection continues within its share of a reserve: equal
 * parts for the users with bundles in progress, and within these for their connections. So one huge
 * or slow upload keeps no other one out. Beyond its share one payload at a time continues, whose
 * connection has the turn: a payload may be longer than the whole reserve. Received bytes of
 * payloads also count in the memory of all bundles (agent_reserve); when that is full, memory is
 * full here as well, and the payload with the turn waits.
 *
 * What can go wrong: the payload with the turn does not grow while others wait for it. Its
 * connection is ended.
 */
#include <assert.h>
#include <stdlib.h>

#include "node/app/app.h"

#define SHARED_PART 4 /* of bundles.memory: a quarter, beside it */
#define TURN_BYTES                                                                                 \
    (256U << 10)     /* that a payload with the turn grows by in APP_TURN_TIME at least */
#define USER_PART 3  /* connections of one user for each free one */
#define USER_LEAST 8 /* connections of a user … */
#define LAST_PLACES (8 * USER_LEAST) /* … for which the last ones are reserved */

static uint64_t used_by(const struct app *c)
{
    return c->reading + c->unanswered;
}

bool app_memory_full(const struct apps *a)
{
    return a->starving > 0 || a->counters.unanswered_bytes + a->counters.reading_bytes >=
                                  a->node->config->bundles.memory;
}

static uint64_t share_of(const struct app *c)
{
    const struct apps *a = c->apps;
    const bool idle = used_by(c) == 0;
    const uint64_t mine = c->user->busy + idle;
    const uint64_t users = a->busy_users + (c->user->busy == 0);
    assert(mine > 0 && users > 0);
    return a->node->config->bundles.memory / SHARED_PART / users / mine;
}

bool app_may_read(const struct app *c)
{
    const struct apps *a = c->apps;
    if (c->failed || c->yields || a->stopped)
        return false;
    if (c->requests_len >= APP_REQUESTS_MAX || c->out_bytes >= APP_OUT_MAX)
        return false;
    if (!app_memory_full(a) || used_by(c) < share_of(c))
        return true;
    /* The connection with the turn always continues, and each may begin one payload: no connection
     * waits for ever. */
    return c->requests_len == 0 && (c->reading == 0 || (a->turn == c && !c->starves));
}

/* Connections that stopped reading for the node's memory read on. */
static void wake_paused(struct apps *a)
{
    list_for_each (l, &a->all) {
        struct app *c = container_of(l, struct app, node);
        if ((c->requests_len > 0 || c->reading > 0) && list_empty(&c->flush))
            list_add_tail(&a->flush, &c->flush);
    }
    node_wake(a->node);
}

static void give_turn(struct apps *a, struct app *c)
{
    a->turn = c;
    a->turn_began = node_now(a->node).now;
    a->turn_bytes = c->reading;
}

/* To the next connection with a payload in progress, or to none. */
static void pass_turn(struct apps *a)
{
    struct app *from = a->turn;
    a->turn = NULL;
    list_for_each (l, &a->all) {
        struct app *c = container_of(l, struct app, node);
        if (c == from || c->reading == 0 || c->failed)
            continue;
        give_turn(a, c);
        app_touch(c);
        /* the former one has its turn again after all others */
        list_sub(&from->node);
        list_add_tail(&a->all, &from->node);
        return;
    }
}

/* Its bytes are others now than `before`. */
static void count_busy(struct app *c, uint64_t before)
{
    struct app_user *u = c->user;
    const uint64_t now = used_by(c);
    if ((before > 0) == (now > 0))
        return;
    if (now > 0) {
        c->apps->busy_users += u->busy == 0;
        c->apps->busy++;
        u->busy++;
    } else {
        assert(u->busy > 0 && c->apps->busy_users > 0 && c->apps->busy > 0);
        c->apps->busy--;
        u->busy--;
        c->apps->busy_users -= u->busy == 0;
    }
}

/* Reserves memory for the received bytes of its payload, or the connection waits. */
static void reserve_payload(struct app *c)
{
    struct apps *a = c->apps;
    struct agent *agent = a->node->agent;
    bool starves = false;
    if (c->reserved > c->reading) {
        agent_release(agent, AGENT_OWN, c->reserved - c->reading);
        c->reserved = c->reading;
    } else if (c->reserved < c->reading) {
        starves = !agent_reserve(agent, AGENT_OWN, c->reading - c->reserved);
        c->reserved = starves ? c->reserved : c->reading;
    }
    a->starving += starves;
    a->starving -= c->starves;
    c->starves = starves;
}

void app_set_reading(struct app *c, uint64_t bytes)
{
    struct apps *a = c->apps;
    const bool full = app_memory_full(a);
    const uint64_t before = used_by(c);
    a->counters.reading_bytes += bytes - c->reading;
    c->reading = bytes;
    reserve_payload(c);
    count_busy(c, before);
    if (bytes == 0 && a->turn == c)
        pass_turn(a);
    if (bytes > 0 && a->turn == NULL && app_memory_full(a))
        give_turn(a, c);
    if (full && !app_memory_full(a))
        wake_paused(a);
}

void app_unanswered_add(struct app *c, uint64_t bytes)
{
    const uint64_t before = used_by(c);
    c->apps->counters.unanswered++;
    c->apps->counters.unanswered_bytes += bytes;
    c->unanswered += bytes;
    count_busy(c, before);
}

void app_unanswered_sub(struct apps *a, struct app *c, uint64_t bytes)
{
    const bool full = app_memory_full(a);
    a->counters.unanswered--;
    a->counters.unanswered_bytes -= bytes;
    if (c != NULL) {
        const uint64_t before = used_by(c);
        assert(c->unanswered >= bytes);
        c->unanswered -= bytes;
        count_busy(c, before);
    }
    if (full)
        wake_paused(a);
}

void app_unanswered_drop(struct app *c)
{
    const uint64_t before = used_by(c);
    c->unanswered = 0;
    count_busy(c, before);
}

static bool somebody_waits(const struct apps *a)
{
    list_for_each (l, &a->all) {
        const struct app *c = container_of(l, struct app, node);
        if (c != a->turn && !c->failed && c->reading > 0 && !app_may_read(c))
            return true;
    }
    return false;
}

bool app_holds_up(struct app *c, tick now)
{
    struct apps *a = c->apps;
    if (c->starves)
        app_set_reading(c, c->reading); /* there may be room again */
    if (a->turn == c && !c->starves)
        app_touch(c);
    if (a->turn != c || now < a->turn_began + APP_TURN_TIME)
        return false;
    const bool grew = c->reading >= a->turn_bytes + TURN_BYTES;
    if (!grew && app_memory_full(a) && somebody_waits(a))
        return true;
    give_turn(a, c);
    return false;
}

/* ---- users ---- */

/* A turn is what every other connection waits for, several times for each bundle of theirs. */
bool app_had_turn(const struct app *c)
{
    const bool shared = c->apps->busy > (used_by(c) > 0);
    return c->user->messages >= (shared ? APP_MESSAGES_SHARED : c->apps->messages.units);
}

static void call_each(struct apps *a, struct list *now, bool (*fn)(struct app *c))
{
    struct list late;
    list_init(&late);
    for (struct list *l; (l = list_first(now)) != NULL;) {
        list_sub(l);
        if (!fn(container_of(l, struct app, flush)))
            continue;
        list_sub(l); /* it yields: in apps->yielded */
        list_add_tail(&late, l);
    }
    list_move_all(&late, &a->yielded);
}

void app_turn(struct apps *a, bool (*fn)(struct app *c))
{
    struct list now;
    list_init(&now);
    list_for_each (l, &a->users)
        container_of(l, struct app_user, node)->messages = 0;
    a->turn_due = false;
    list_move_all(&a->flush, &now);
    list_move_all(&a->yielded, &now);
    call_each(a, &now, fn);
    a->turn_follows = !list_empty(&a->yielded);
}

/* What is answered in one round of the loop makes the node go round again before the loop looks at
 * its descriptors and alarms: with a turn in each of these rounds, links would stand still until
 * all that was read from an application is taken. */
void app_go_on(struct apps *a, bool (*fn)(struct app *c))
{
    struct list now;
    if (a->turn_due || list_empty(&a->yielded)) {
        app_turn(a, fn);
        return;
    }
    list_init(&now);
    list_move_all(&a->flush, &now);
    call_each(a, &now, fn);
}

static void on_more(void *context)
{
    struct apps *a = context;
    a->turn_due = true;
    (void)turn_size_next(&a->messages, a->turn_follows, world_now(a->node->world));
    node_wake(a->node);
}

void app_yield(struct app *c)
{
    struct apps *a = c->apps;
    c->yields = true;
    list_sub(&c->flush);
    list_add_tail(&a->yielded, &c->flush);
    alarm_set(&a->more, 0);
}

void app_turns_init(struct apps *a)
{
    list_init(&a->users);
    list_init(&a->flush);
    list_init(&a->yielded);
    turn_size_init(&a->messages, APP_MESSAGES_SHARED, APP_MESSAGES_MAX, APP_ROUND_TIME);
    alarm_init(&a->more, a->node->world, ALARM_NODE, on_more, a);
}

void app_turns_fini(struct apps *a)
{
    alarm_fini(&a->more);
}

static struct app_user *find_user(const struct apps *a, uint64_t id)
{
    list_for_each (l, &a->users) {
        struct app_user *u = container_of(l, struct app_user, node);
        if (u->id == id)
            return u;
    }
    return NULL;
}

/* One user leaves a quarter of the free connections to others, and the last ones to users that have
 * few; programs with an unknown user are not limited. */
static bool may_connect(const struct apps *a, const struct app_user *u, uint64_t id)
{
    const uint64_t free_places = APP_CONNECTIONS_MAX - a->counters.connections;
    if (free_places == 0)
        return false;
    if (id == 0 || u == NULL || u->connections < USER_LEAST)
        return true;
    return free_places > LAST_PLACES && u->connections < USER_PART * (free_places - 1);
}

struct app_user *app_user_join(struct apps *a, uint64_t id)
{
    struct app_user *u = find_user(a, id);
    if (!may_connect(a, u, id))
        return NULL;
    if (u == NULL) {
        u = calloc(1, sizeof *u);
        if (u == NULL)
            return NULL;
        u->id = id;
        list_add_tail(&a->users, &u->node);
    }
    u->connections++;
    return u;
}

void app_user_leave(struct app_user *u)
{
    assert(u->connections > 0);
    if (--u->connections > 0)
        return;
    assert(u->busy == 0);
    list_sub(&u->node);
    free(u);
}
