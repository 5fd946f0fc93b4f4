/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CLTUs are radiated: one at a time, each for as long as the uplink's rate wants (sle_target.h). At
 * the end of that time it is sent to a UDP address or written to a file (length, octets), and its
 * user is notified. An interrupted CLTU is not sent. An event's order is sent before them.
 *
 * What can go wrong: the file does not take the CLTU, the network does not take its datagram, or
 * its receiver refuses it. Then production is interrupted, as by an event, and operational again:
 * the user is notified that this CLTU was interrupted, those behind it are discarded until a new
 * START, and it is logged and counted.
 */
#include <assert.h>

#include "tools/sle/station/sle_station.h"

static void begin_order(struct instance *i, tick now)
{
    struct uplink *u = &i->uplink;
    u->ordering = true;
    (void)air_begin(&u->air, u->order.len, now, now);
}

static void fail_radiation(struct instance *i, int error, tick now)
{
    struct uplink *u = &i->uplink;
    const bool file = !address_given(&i->config->uplink_address);
    u->failed++;
    station_say(i->station, LINES_UPLINK, LEVEL_WARNING,
                "%s: uplink %s: CLTU %u was not %s: %s: production was interrupted", i->config->id,
                i->config->uplink, u->id, file ? "written" : "sent", helio_strerror(error));
    sle_provider_production(i->sle, SLE_UP_INTERRUPTED, now);
    sle_provider_production(i->sle, i->production, now);
}

static void end_order(struct instance *i)
{
    struct uplink *u = &i->uplink;
    const int e = target_put(&u->target, u->order);
    if (e < 0) {
        u->failed++;
        station_say(i->station, LINES_UPLINK, LEVEL_WARNING, "%s: uplink %s: an order failed: %s",
                    i->config->id, i->config->uplink, helio_strerror(e));
    }
    u->ordering = false;
    u->order.len = 0;
    events_radiated(i, e == 0);
}

static void end_radiation(struct instance *i, tick now)
{
    struct uplink *u = &i->uplink;
    air_end(&u->air, u->ordering ? 0 : u->delay);
    if (u->ordering) {
        end_order(i);
        return;
    }
    const int e = target_put(&u->target, u->data);
    if (e < 0) {
        fail_radiation(i, e, now);
        return;
    }
    sle_provider_cltu_radiated(i->sle, sle_now(i->station->sle, now), now);
}

static void begin_radiation(struct instance *i, const struct sle_cltu_out *c, tick now)
{
    struct uplink *u = &i->uplink;
    const tick began = air_begin(&u->air, c->data.len, c->ready, now);
    sle_provider_cltu_started(i->sle, sle_now(i->station->sle, began), now);
    u->data = c->data;
    u->id = c->id;
    u->delay = c->delay_us * TICK_US;
}

void uplink_interrupt(struct instance *i, tick now)
{
    struct uplink *u = &i->uplink;
    assert(!u->ordering); /* orders are events, and so is what interrupts */
    if (u->air.busy && air_over(&u->air, now))
        end_radiation(i, now);
    air_stop(&u->air, now);
}

static void run_uplink(void *context)
{
    struct instance *i = context;
    struct uplink *u = &i->uplink;
    struct sle_cltu_out c;
    tick now = world_now(i->station->world);
    for (;;) {
        if (u->air.busy && !air_over(&u->air, now))
            break;
        if (u->air.busy)
            end_radiation(i, now);
        if (u->order.len > 0)
            begin_order(i, now);
        else if (sle_provider_cltu_next(i->sle, &c, now))
            begin_radiation(i, &c, now);
        else
            break;
    }
    alarm_set(&u->alarm, u->air.busy ? u->air.until : sle_provider_cltu_deadline(i->sle));
    if (i->conn != NULL)
        sle_conn_pump(i->conn);
    else
        sle_host_look(&i->station->host);
}

void uplink_wake(struct instance *i)
{
    if (!i->uplink.air.busy)
        alarm_set(&i->uplink.alarm, 0);
}

void uplink_order(struct instance *i, struct slice order)
{
    assert(i->uplink.order.len == 0 && order.len > 0);
    i->uplink.order = order;
    uplink_wake(i);
}

static int open_target(struct instance *i)
{
    const struct settings_instance *c = i->config;
    target_init(&i->uplink.target);
    if (*c->uplink == '\0')
        return 0;
    return target_open(&i->uplink.target, i->station->world, c->uplink, &c->uplink_address);
}

int uplink_open(struct instance *i)
{
    alarm_init(&i->uplink.alarm, i->station->world, ALARM_APP, run_uplink, i);
    i->uplink.air = (struct air){.rate = i->config->uplink_rate};
    int e = open_target(i);
    if (e < 0)
        say(&i->station->log, LEVEL_ERROR, "%s: uplink %s: %s", i->config->id, i->config->uplink,
            helio_strerror(e));
    return e;
}

void uplink_end(struct instance *i)
{
    alarm_fini(&i->uplink.alarm);
    target_close(&i->uplink.target);
}
