/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One frame at a time, each for as long as the uplink's rate wants. At the end of that time it goes
 * to its target, and its user is notified.
 *
 * What can go wrong: the file does not take it: logged, and production is interrupted, and
 * operational again at once: the user is notified of both. A datagram that the network does not
 * take is logged, and the frame counts as radiated: a transmitter hears nothing of who receives.
 */
#include "tools/csts/csts_uplink.h"

#include <errno.h>

#include "os/address.h"

enum { FRAMES_AT_ONCE = 256 }; /* before others have their turn */

static tick now_of(const struct csts_uplink *u)
{
    return world_now(u->host->isp.world);
}

/* True: production was interrupted by it. */
static bool fail_radiation(struct csts_uplink *u, tick now)
{
    const bool file = target_is_file(&u->target);
    const char *why = errno != 0 ? helio_strerror(helio_from_errno(errno)) : "it was not sent";
    if (u->failed++ == 0)
        say(u->log, LEVEL_WARNING, "uplink: frame %u: %s%s; others that fail are counted",
            (unsigned)u->unit.id, why, file ? ": production was interrupted" : "");
    if (!file)
        return false;
    csts_forward_production(u->service, CSTS_INTERRUPTED, now);
    csts_forward_production(u->service, CSTS_OPERATIONAL, now);
    return true;
}

static void end_radiation(struct csts_uplink *u, tick now)
{
    u->busy = false;
    if (!target_put(&u->target, u->unit.data) && fail_radiation(u, now))
        return;
    csts_forward_done(u->service, true, now);
}

static void begin_radiation(struct csts_uplink *u, tick now)
{
    u->busy = true;
    u->until = now + (u->rate == 0 ? 0 : u->unit.data.len * 8 * TICK_S / u->rate);
}

static void run_uplink(void *context)
{
    struct csts_uplink *u = context;
    const tick now = now_of(u);
    unsigned n = 0;
    for (; n < FRAMES_AT_ONCE; n++) {
        if (u->busy && u->until > now)
            break;
        if (u->busy)
            end_radiation(u, now);
        if (!csts_forward_next(u->service, &u->unit, now))
            break;
        begin_radiation(u, now);
    }
    alarm_set(&u->alarm, u->busy ? u->until : TICK_NEVER);
    csts_host_wake(u->host, csts_service_link(u->service));
}

int csts_uplink_open(struct csts_uplink *u, struct csts_host *h, struct csts_service *v,
                     const char *path, const struct address *to, uint64_t rate, struct say *log)
{
    *u = (struct csts_uplink){.host = h, .service = v, .log = log, .rate = rate};
    const int e = target_open(&u->target, h->isp.world, path, to);
    if (e < 0)
        return e;
    alarm_init(&u->alarm, h->isp.world, ALARM_APP, run_uplink, u);
    csts_forward_production(v, CSTS_OPERATIONAL, now_of(u));
    return 0;
}

void csts_uplink_wake(struct csts_uplink *u)
{
    if (!u->busy)
        alarm_set(&u->alarm, 0);
}

void csts_uplink_close(struct csts_uplink *u)
{
    alarm_fini(&u->alarm);
    target_close(&u->target);
}
