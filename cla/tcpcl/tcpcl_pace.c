/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rate of a link: its sessions share one token bucket for the octets of the streams. A stream
 * is written in pieces of PACE_PIECE octets, one burst at a time. At a low rate the session plans
 * little ahead, because answers wait for planned messages (RFC 9174 §3.4). What can go wrong: a
 * wake-up is late; the time beyond the slack is lost, and counted.
 */
#include <assert.h>

#include "cla/tcpcl/tcpcl_link.h"

#define PACE_PIECE 1448u /* octets of data in a TCP segment on Ethernet */
#define PACE_AHEAD (50 * TICK_MS)

static uint64_t planned_max(const struct tcpcl_link *l)
{
    const uint64_t octets = bucket_octets(l->bucket.rate_bps, PACE_AHEAD);
    return l->bucket.rate_bps == 0 ? 0 : octets < PACE_PIECE ? PACE_PIECE : octets;
}

void tcpcl_pace_set(struct tcpcl_link *l)
{
    const struct pace_keys *pace = &l->config->pace;
    const uint64_t of_contact = l->planned ? l->contact.rate : 0;
    const bool lower = of_contact != 0 && (pace->rate == 0 || of_contact < pace->rate);
    const uint64_t rate = lower ? of_contact : pace->rate;
    const struct bucket was = l->bucket;
    if (was.rate_bps == rate && was.burst == pace->burst && was.slack == pace->slack)
        return;
    bucket_init(&l->bucket, rate, pace->burst, pace->slack, world_now(l->env.world));
    l->bucket.lost = was.lost;
    list_for_each (it, &l->conns)
        tcpcl_conn_touch(container_of(it, struct tcpcl_conn, node));
}

void tcpcl_pace_begin(struct tcpcl_conn *c, tick now)
{
    c->paced = false;
    if (c->link == NULL)
        return;
    tcpcl_pace(c->session, planned_max(c->link));
    bucket_begin(&c->link->bucket, now);
}

size_t tcpcl_pace_credit(struct tcpcl_conn *c, tick now)
{
    if (c->link == NULL)
        return SIZE_MAX;
    const size_t credit = bucket_credit(&c->link->bucket, PACE_PIECE, now);
    c->paced = c->paced || credit == 0;
    return credit;
}

void tcpcl_pace_spend(struct tcpcl_conn *c, size_t octets, tick now)
{
    assert(octets < UINT64_C(1) << 30); /* as bucket_spend wants it */
    if (c->link != NULL && octets > 0)
        bucket_spend(&c->link->bucket, octets, now);
}

void tcpcl_pace_end(struct tcpcl_conn *c, tick now)
{
    const bool waits = c->paced && !tcpcl_plan_empty(c->session);
    assert(!c->paced || c->link != NULL);
    c->paced = waits;
    if (c->link == NULL || c->link->bucket.rate_bps == 0)
        return;
    if (waits)
        tcpcl_pace_at(c->endpoint, bucket_wake(&c->link->bucket, now));
    else if (tcpcl_plan_empty(c->session) && tcpcl_sender(c->link) == c)
        bucket_rest(&c->link->bucket);
}

void tcpcl_pace_go_on(struct tcpcl_endpoint *h)
{
    list_for_each (it, &h->s.common.links) {
        struct tcpcl_link *l = container_of(it, struct tcpcl_link, cla.node);
        list_for_each (at, &l->conns) {
            struct tcpcl_conn *c = container_of(at, struct tcpcl_conn, node);
            if (c->paced)
                tcpcl_conn_touch(c);
        }
    }
}
