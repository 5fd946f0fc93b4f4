/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queued bundles are sent at the link's rate, one datagram each, in batches. A bundle is handed
 * over when the port has accepted its datagram: UDP reports nothing more. What can go wrong: the
 * port is full; then its batch waits and nothing more is sent. The link is down; then queued
 * bundles have failed.
 */
#include <assert.h>
#include <stdlib.h>

#include "cla/udp/udpcl_link.h"

#define OUTPUT_BYTES (256 * 1024) /* per turn, so that receiving has its turn */

static struct udpcl_sending *first_of(struct list *l)
{
    return list_empty(l) ? NULL : container_of(list_first(l), struct udpcl_sending, node);
}

static uint64_t end_sending(struct udpcl_sending *s)
{
    uint64_t key = s->key;
    list_sub(&s->node);
    buf_drop(s->bundle);
    free(s);
    return key;
}

/* Reports one outcome; true: there was one. The node may have closed the link meanwhile. */
static bool tell_one(struct udpcl_link *l)
{
    struct udpcl_sending *s = first_of(&l->leaving);
    const struct cla_events *to = &l->env.events;
    if (s != NULL) {
        l->n.bundles_sent++;
        to->done(to->context, &l->cla, end_sending(s), CLA_HANDED_OVER, CLA_REASON_NONE);
        return true;
    }
    s = l->up ? NULL : first_of(&l->waiting);
    if (s == NULL)
        return false;
    assert(l->waiting_len > 0);
    l->waiting_len--;
    l->n.bundles_failed++;
    to->done(to->context, &l->cla, end_sending(s), CLA_FAILED, CLA_REASON_DOWN);
    return true;
}

/* It restarts each time, because a report may change the list of links. */
static void tell_outcomes(struct udpcl_port *p)
{
    bool told = true;
    while (told && !p->common.ending) {
        told = false;
        list_for_each (it, &p->common.links) {
            told = tell_one(container_of(it, struct udpcl_link, cla.node));
            if (told)
                break;
        }
    }
}

/* False when the port is full. */
static bool send_link(struct udpcl_port *p, struct udpcl_link *l, uint64_t *budget)
{
    struct udpcl_sending *s;
    bucket_begin(&l->bucket, p->now);
    while (l->up && *budget > 0 && bucket_ready(&l->bucket, p->now) &&
           (s = first_of(&l->waiting)) != NULL) {
        if (!udp_room(p->io, 0) && !udp_flush(p->io))
            return false;
        (void)udp_head(p->io, 0);
        assert(s->bundle->len > 0 && s->bundle->len <= UDP_DATAGRAM_MAX && l->waiting_len > 0);
        udp_add(p->io, &l->to, 0, buf_slice(s->bundle));
        list_sub(&s->node);
        list_add_tail(&l->leaving, &s->node);
        l->waiting_len--;
        uint64_t air = s->bundle->len + l->config->pace.overhead;
        bucket_spend(&l->bucket, air, p->now);
        l->n.air_bytes += air;
        *budget -= air < *budget ? air : *budget;
    }
    return true;
}

void udpcl_output(struct udpcl_port *p, tick *wake)
{
    uint64_t budget = OUTPUT_BYTES;
    assert(!p->common.ending && *wake == TICK_NEVER);
    bool room = !udp_pending(p->io);
    list_for_each (it, &p->common.links)
        room = room && send_link(p, container_of(it, struct udpcl_link, cla.node), &budget);
    if (room)
        room = udp_flush(p->io);
    tell_outcomes(p); /* a batch that waits has copies */
    if (p->common.ending)
        return;
    list_for_each (it, &p->common.links) {
        struct udpcl_link *l = container_of(it, struct udpcl_link, cla.node);
        if (!list_empty(&l->waiting) && l->up)
            *wake = room ? tick_min(*wake, bucket_wake(&l->bucket, p->now)) : *wake;
        else
            bucket_rest(&l->bucket);
    }
    if (!list_empty(&p->common.links)) { /* the next turn begins with the next link */
        struct list *first = list_first(&p->common.links);
        list_sub(first);
        list_add_tail(&p->common.links, first);
    }
}

void udpcl_forget(struct udpcl_link *l)
{
    while (!list_empty(&l->leaving))
        (void)end_sending(first_of(&l->leaving));
    while (!list_empty(&l->waiting))
        (void)end_sending(first_of(&l->waiting));
    l->waiting_len = 0;
}
