/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that users throw: an event that is configured is accepted, and its actions are done behind
 * those of the events before it: when its time has come and its condition holds, production is
 * interrupted, halted or resumed, or an order is radiated; then the user is notified of the result.
 *
 * What can go wrong: the event is none of ours (refused), there are too many (refused); its
 * condition does not hold, or one of its actions cannot be done: reported, and the actions behind
 * it are not done.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "tools/sle/station/sle_station.h"

#define JOBS_MAX 64 /* events accepted whose actions are not done */

struct job {
    struct list node;
    const struct settings_event *event;
    uint32_t invocation;
    tick due;    /* of its actions; known once it is the first */
    size_t next; /* action */
    bool begun;
};

static struct job *first_job(const struct event_jobs *e)
{
    struct list *node = list_first(&e->queue);
    return node == NULL ? NULL : container_of(node, struct job, node);
}

static void drop_job(struct event_jobs *e, struct job *j)
{
    assert(e->len > 0);
    list_sub(&j->node);
    e->len--;
    free(j);
}

static void finish_job(struct instance *i, struct job *j, enum sle_notification how, tick now)
{
    station_say(i->station, LINES_SERVICE,
                how == SLE_ASYNC_ACTIONS_DONE ? LEVEL_INFO : LEVEL_WARNING,
                "%s: event %" PRIu64 ", invocation %" PRIu32 ": %s", i->config->id, j->event->id,
                j->invocation, sle_notification_text(how));
    uint32_t invocation = j->invocation;
    drop_job(&i->events, j);
    sle_provider_event_done(i->sle, invocation, how, now);
}

static bool condition_holds(const struct instance *i, enum event_condition c)
{
    switch (c) {
    case EVENT_OPERATIONAL:
        return i->production == SLE_OPERATIONAL;
    case EVENT_NOT_OPERATIONAL:
        return i->production != SLE_OPERATIONAL;
    case EVENT_IDLE:
        return !i->uplink.air.busy && sle_provider_cltus_held(i->sle) == 0;
    case EVENT_ALWAYS:
        break;
    }
    return true;
}

static void set_production(struct instance *i, enum sle_uplink_production p, tick now)
{
    i->production = p;
    if (p == SLE_UP_INTERRUPTED || p == SLE_UP_HALTED)
        uplink_interrupt(i, now);
    else if (!i->uplink.air.busy)
        air_stop(&i->uplink.air, now);
    sle_provider_production(i->sle, p, now);
    uplink_wake(i);
}

bool events_production(struct instance *i, enum sle_uplink_production p, tick now)
{
    if (i->uplink.ordering)
        return false;
    set_production(i, p, now);
    return true;
}

enum done { DONE, NOT_DONE, LATER };

static enum done do_action(struct instance *i, const struct job *j, tick now)
{
    switch (j->event->actions[j->next]) {
    case EVENT_INTERRUPT:
        set_production(i, SLE_UP_INTERRUPTED, now);
        return DONE;
    case EVENT_HALT:
        set_production(i, SLE_UP_HALTED, now);
        return DONE;
    case EVENT_RESUME:
        set_production(i, SLE_OPERATIONAL, now);
        return DONE;
    case EVENT_RADIATE:
        if (i->production != SLE_OPERATIONAL)
            return NOT_DONE;
        uplink_order(i, buf_slice(j->event->order));
        return LATER;
    case EVENT_FAIL:
        break;
    }
    return NOT_DONE;
}

/* False: it is not done yet. */
static bool run_job(struct instance *i, struct job *j, tick now)
{
    const struct settings_event *e = j->event;
    if (!j->begun) {
        j->begun = true;
        j->due = tick_add(now, e->time);
    }
    if (j->due > now)
        return false;
    if (j->next == 0 && !condition_holds(i, (enum event_condition)e->condition)) {
        finish_job(i, j, SLE_ASYNC_CONDITION_FALSE, now);
        return true;
    }
    while (j->next < e->actions_len) {
        enum done d = do_action(i, j, now);
        if (d == LATER) {
            j->due = TICK_NEVER; /* events_radiated goes on */
            return false;
        }
        if (d == NOT_DONE) {
            finish_job(i, j, SLE_ASYNC_ACTIONS_NOT_DONE, now);
            return true;
        }
        j->next++;
    }
    finish_job(i, j, SLE_ASYNC_ACTIONS_DONE, now);
    return true;
}

static void run_events(void *context)
{
    struct instance *i = context;
    struct event_jobs *e = &i->events;
    tick now = world_now(i->station->world);
    struct job *j = first_job(e);
    while (j != NULL && run_job(i, j, now))
        j = first_job(e);
    alarm_set(&e->alarm, j == NULL ? TICK_NEVER : j->due);
    if (i->conn != NULL)
        sle_conn_pump(i->conn);
    else
        sle_host_look(&i->station->host);
}

void events_radiated(struct instance *i, bool good)
{
    struct job *j = first_job(&i->events);
    assert(j != NULL && j->due == TICK_NEVER && j->next < j->event->actions_len);
    if (good) {
        j->next++;
        j->due = 0;
    } else {
        finish_job(i, j, SLE_ASYNC_ACTIONS_NOT_DONE, world_now(i->station->world));
    }
    alarm_set(&i->events.alarm, 0);
}

static const struct settings_event *find_event(const struct settings_instance *c,
                                               const struct sle_event *thrown)
{
    for (size_t k = 0; k < c->events_len; k++)
        if (settings_event_fits(&c->events[k], thrown->event, thrown->qualifier))
            return &c->events[k];
    return NULL;
}

static unsigned accept_event(struct instance *i, const struct sle_event *thrown)
{
    const struct settings_event *event = find_event(i->config, thrown);
    if (i->config->events_len == 0)
        return SLE_EVENT_NOT_SUPPORTED;
    if (event == NULL)
        return SLE_EVENT_UNKNOWN;
    struct job *j = i->events.len < JOBS_MAX ? calloc(1, sizeof *j) : NULL;
    if (j == NULL)
        return SLE_OTHER_REASON;
    j->event = event;
    j->invocation = thrown->invocation;
    list_add_tail(&i->events.queue, &j->node);
    i->events.len++;
    return SLE_OK;
}

void events_take(struct instance *i, const struct sle_notice *n)
{
    const struct sle_event *thrown = &n->u.event;
    unsigned diag = accept_event(i, thrown);
    station_say(i->station, LINES_SERVICE, diag == SLE_OK ? LEVEL_INFO : LEVEL_WARNING,
                "%s: event %" PRIu32 ", invocation %" PRIu32 ": %s", i->config->id, thrown->event,
                thrown->invocation, diag == SLE_OK ? "accepted" : "refused");
    sle_provider_answer_event(i->sle, n->invoke_id, diag, world_now(i->station->world));
    if (diag == SLE_OK && i->events.len == 1)
        alarm_set(&i->events.alarm, 0); /* behind the return */
}

void events_init(struct instance *i)
{
    list_init(&i->events.queue);
    alarm_init(&i->events.alarm, i->station->world, ALARM_APP, run_events, i);
}

void events_end(struct instance *i)
{
    struct job *j;
    alarm_fini(&i->events.alarm);
    while ((j = first_job(&i->events)) != NULL)
        drop_job(&i->events, j);
}
