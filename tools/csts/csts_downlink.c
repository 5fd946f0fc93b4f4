/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The normal case: frames arrive as datagrams, or are those of a file at its rate; each has the
 * time of its arrival as its generation time. In complete mode they are kept in memory, in order,
 * and the user has those of its window as fast as it reads. In real-time mode the user has each one
 * when it is generated. When there can be no further frame of the window, the user is notified of
 * the end of its data.
 *
 * What can go wrong: more datagrams than may be kept: the oldest ones are removed, and a user that
 * has not had them is notified of a "recording buffer overflow". A datagram without octets, or no
 * memory for it: it is counted.
 */
#include "tools/csts/csts_downlink.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRAMES_AT_ONCE = 256,    /* before others have their turn */
    READ_ROOM = 64u * 1024u, /* octets of datagrams at once */
    FRAME_MAX = 65535        /* octets */
};

static tick now_of(const struct csts_downlink *d)
{
    return world_now(d->host->isp.world);
}

static struct sle_time time_of(const struct csts_downlink *d)
{
    return sle_time_of(world_wall(d->host->isp.world));
}

/* No frame is generated after those that were. */
static bool is_over(const struct csts_downlink *d)
{
    return d->port == NULL && d->generated == d->file.len;
}

/* ---- frames that are kept ---- */

static struct csts_downlink_held *held_of(struct list *node)
{
    return container_of(node, struct csts_downlink_held, node);
}

static struct csts_downlink_held *after(struct csts_downlink *d, struct csts_downlink_held *h)
{
    return h->node.next == &d->held ? NULL : held_of(h->node.next);
}

static void remove_oldest(struct csts_downlink *d)
{
    struct csts_downlink_held *h = held_of(list_first(&d->held));
    if (h == d->next) {
        d->next = after(d, h);
        d->lost = true;
    }
    d->removed = (struct sle_when){true, h->time};
    d->octets -= h->data.len + sizeof *h;
    d->overwritten++;
    list_sub(&h->node);
    free(h);
}

/* Keeps the frame; `copy`: with its octets. False: memory is out. */
static bool keep_frame(struct csts_downlink *d, struct slice data, bool copy)
{
    struct csts_downlink_held *h = malloc(sizeof *h + (copy ? data.len : 0));
    if (h == NULL)
        return false;
    uint8_t *octets = (uint8_t *)(h + 1);
    if (copy)
        memcpy(octets, data.data, data.len);
    h->time = time_of(d);
    h->data = copy ? slice_of(octets, data.len) : data;
    list_add_tail(&d->held, &h->node);
    d->octets += data.len + sizeof *h;
    if (d->next == NULL)
        d->next = h;
    while (copy && d->octets > d->config->store_max && list_first(&d->held) != &h->node)
        remove_oldest(d);
    return true;
}

/* ---- the user ---- */

static int deliver_frame(struct csts_downlink *d, struct sle_time time, struct slice octets)
{
    const struct csts_data data = {.opaque = octets};
    const int e = csts_deliver(d->service, time, &data, now_of(d));
    d->queued |= e == HELIO_OK;
    return e;
}

static bool is_past(const struct csts_downlink *d, const struct csts_window *w)
{
    return w->latest.known && sle_time_compare(time_of(d), w->latest.at) > 0;
}

/* Frames that are kept go to the user, as many as it has room for. */
static void deliver_kept(struct csts_downlink *d)
{
    d->waits = false;
    for (unsigned n = 0; d->next != NULL && !d->waits && n < FRAMES_AT_ONCE; n++) {
        d->waits = deliver_frame(d, d->next->time, d->next->data) == HELIO_EAGAIN;
        if (!d->waits)
            d->next = after(d, d->next);
    }
}

/* When no frame of the window is left to wait for, the user is notified. */
static void end_or_wait(struct csts_downlink *d, const struct csts_window *w)
{
    const uint64_t wall = world_wall(d->host->isp.world);
    const uint64_t end = w->latest.known ? sle_time_unix(w->latest.at) + TICK_MS : 0;
    if (is_over(d) || is_past(d, w))
        d->queued |= csts_delivery_end(d->service, now_of(d)) == HELIO_OK;
    else if (w->latest.known)
        alarm_set(&d->alarm, tick_add(now_of(d), end > wall ? end - wall : TICK_MS));
}

static void run_downlink(void *context)
{
    struct csts_downlink *d = context;
    const struct csts_window *w = csts_delivery_window(d->service);
    struct csts_link *l = csts_service_link(d->service);
    alarm_set(&d->alarm, TICK_NEVER);
    if (w == NULL)
        return;
    if (d->lost)
        csts_delivery_overflow(d->service, now_of(d));
    d->queued |= d->lost;
    d->lost = false;
    deliver_kept(d);
    if (d->next == NULL)
        end_or_wait(d, w);
    else if (!d->waits)
        alarm_set(&d->alarm, 0);
    if (d->queued)
        csts_host_wake(d->host, l);
    d->queued = false;
}

/* From the loop: what was queued is written before. */
void csts_downlink_room(struct csts_downlink *d)
{
    if (d->waits)
        alarm_set(&d->alarm, 0);
}

void csts_downlink_start(struct csts_downlink *d)
{
    const struct csts_window *w = csts_delivery_window(d->service);
    if (w == NULL)
        return;
    d->next = list_empty(&d->held) ? NULL : held_of(list_first(&d->held));
    d->lost = d->removed.known && w->earliest.known &&
              sle_time_compare(w->earliest.at, d->removed.at) <= 0;
    alarm_set(&d->alarm, 0);
}

/* ---- generation ---- */

static void take_frame(struct csts_downlink *d, struct slice data, bool copy)
{
    if (data.len == 0 || data.len > FRAME_MAX) {
        d->bad++;
        return;
    }
    d->frames++;
    if (!d->complete)
        (void)deliver_frame(d, time_of(d), data);
    else if (!keep_frame(d, data, copy))
        d->bad++;
}

/* Without a rate all at once, else each at its end on the air. */
static void generate_frames(void *context)
{
    struct csts_downlink *d = context;
    const tick now = now_of(d);
    for (unsigned n = 0; d->generated < d->file.len && n < FRAMES_AT_ONCE; n++) {
        const struct slice frame = d->file.list[d->generated];
        if (!d->air.busy)
            (void)air_begin(&d->air, frame.len, now, now);
        if (!air_over(&d->air, now))
            break;
        air_end(&d->air, 0);
        take_frame(d, frame, false);
        d->generated++;
    }
    if (d->generated < d->file.len)
        alarm_set(&d->generator, d->air.busy ? d->air.until : now);
    run_downlink(d);
}

static void on_port(void *context, bool readable, bool writable)
{
    struct csts_downlink *d = context;
    struct slice data;
    (void)writable;
    if (!readable || !udp_fill(d->port->io, READ_ROOM))
        return;
    while (udp_next(d->port->io, &data))
        take_frame(d, data, true);
    run_downlink(d);
}

/* ---- begin and end ---- */

static int open_source(struct csts_downlink *d)
{
    const struct csts_downlink_config *c = d->config;
    uint64_t rx, tx;
    if (!address_given(&c->at))
        return frames_file_read(&d->file, c->path, c->frame);
    const int e = port_open(d->host->isp.world, &d->port, &c->at, false, on_port, d);
    if (e < 0)
        return e;
    (void)udp_buffers(d->port->io, 4 << 20, 0, &rx, &tx);
    port_watch(d->port, true, false);
    return 0;
}

int csts_downlink_open(struct csts_downlink *d, struct csts_host *h, struct csts_service *v,
                       const struct csts_downlink_config *config, bool complete, struct say *log)
{
    *d = (struct csts_downlink){.config = config,
                                .host = h,
                                .service = v,
                                .log = log,
                                .complete = complete,
                                .air = {.rate = config->rate}};
    list_init(&d->held);
    const int e = open_source(d);
    if (e < 0)
        return e;
    alarm_init(&d->generator, h->isp.world, ALARM_APP, generate_frames, d);
    alarm_init(&d->alarm, h->isp.world, ALARM_APP, run_downlink, d);
    csts_delivery_production(v, CSTS_OPERATIONAL, now_of(d));
    if (d->port == NULL)
        alarm_set(&d->generator, 0);
    return 0;
}

void csts_downlink_close(struct csts_downlink *d)
{
    const struct csts_delivery_counts *n = csts_delivery_counts(d->service);
    say(d->log, LEVEL_INFO,
        "downlink: %" PRIu64 " frames; %" PRIu64 " delivered, %" PRIu64 " discarded, %" PRIu64
        " lost at the end of an association; %" PRIu64 " no longer kept, %" PRIu64 " bad",
        d->frames, n->delivered, n->discarded, n->dropped, d->overwritten, d->bad);
    alarm_fini(&d->generator);
    alarm_fini(&d->alarm);
    if (d->port != NULL)
        port_close(d->port, NULL, NULL);
    list_for_each_safe (it, &d->held)
        free(held_of(it));
    frames_file_free(&d->file);
}
