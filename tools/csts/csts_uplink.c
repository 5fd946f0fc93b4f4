/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One frame at a time is radiated, each for as long as the uplink's rate wants. At the end of that
 * time it is sent to its target, and its user is notified.
 *
 * What can go wrong: the file does not take the frame, the network does not take its datagram, or
 * its receiver refuses it: it is logged and counted, and production is interrupted, and operational
 * again at once. The user is notified of both. The frames behind it are radiated.
 */
#include "tools/csts/csts_uplink.h"

#include "os/net/address.h"

enum { FRAMES_AT_ONCE = 256 }; /* before others have their turn */

static tick now_of(const struct csts_uplink *u)
{
    return world_now(u->host->isp.world);
}

static void __attribute__((format(printf, 3, 4)))
say_line_of(struct csts_uplink *u, tick now, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)say_few(u->log, &u->lines, now, LEVEL_WARNING, format, args);
    va_end(args);
}

static void fail_radiation(struct csts_uplink *u, int error, tick now)
{
    u->failed++;
    say_line_of(u, now, "uplink: frame %u was not sent: %s: production was interrupted",
                (unsigned)u->unit.id, helio_strerror(error));
    csts_forward_production(u->service, CSTS_INTERRUPTED, now);
    csts_forward_production(u->service, CSTS_OPERATIONAL, now);
}

static void end_radiation(struct csts_uplink *u, tick now)
{
    air_end(&u->air, 0);
    const int e = target_put(&u->target, u->unit.data);
    if (e < 0)
        fail_radiation(u, e, now);
    else
        csts_forward_done(u->service, true, now);
}

static void begin_radiation(struct csts_uplink *u, tick now)
{
    (void)air_begin(&u->air, u->unit.data.len, u->woken, now);
}

static void run_uplink(void *context)
{
    struct csts_uplink *u = context;
    const tick now = now_of(u);
    unsigned n = 0;
    for (; n < FRAMES_AT_ONCE; n++) {
        if (u->air.busy && !air_over(&u->air, now))
            break;
        if (u->air.busy)
            end_radiation(u, now);
        if (!csts_forward_next(u->service, &u->unit, now))
            break;
        begin_radiation(u, now);
    }
    alarm_set(&u->alarm, u->air.busy ? u->air.until : TICK_NEVER);
    csts_host_wake(u->host, csts_service_link(u->service));
}

int csts_uplink_open(struct csts_uplink *u, struct csts_host *h, struct csts_service *v,
                     const char *path, const struct address *to, uint64_t rate, struct say *log)
{
    *u = (struct csts_uplink){.host = h, .service = v, .log = log, .air = {.rate = rate}};
    u->lines = (struct say_few){"frames that were not sent", 20, TICK_S, 0, 0};
    const int e = target_open(&u->target, h->isp.world, path, to);
    if (e < 0)
        return e;
    alarm_init(&u->alarm, h->isp.world, ALARM_APP, run_uplink, u);
    csts_forward_production(v, CSTS_OPERATIONAL, now_of(u));
    return 0;
}

void csts_uplink_wake(struct csts_uplink *u)
{
    if (u->air.busy)
        return;
    u->woken = now_of(u);
    alarm_set(&u->alarm, 0);
}

void csts_uplink_close(struct csts_uplink *u)
{
    say_left_out(u->log, &u->lines);
    alarm_fini(&u->alarm);
    target_close(&u->target);
}
