/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The effect of a contact on a link. The operator's configuration limits the contact plan: the
 * lower rate is used. The timer follows the light time, but is never shorter than a configured
 * `rto` that is long enough. The link is up if both permit it and the wire works. Nothing can go
 * wrong, because another rate and another timer are always valid for open sessions.
 */
#include <assert.h>

#include "cla/ltp/ltp_link.h"

#define RTO_LEAST (100 * TICK_US)

/* The timer for this light time: with rto and owlt their difference is the margin, too. */
static tick contact_rto(const struct ltp_link_config *k, tick round_trip)
{
    tick own = tick_add(k->owlt, k->owlt), margin = k->margin;
    if (k->rto != 0 && k->owlt == 0 && k->rto > round_trip)
        return k->rto;
    if (k->rto != 0 && k->owlt != 0)
        margin = k->rto - own;
    tick rto = tick_add(round_trip, margin);
    return rto < RTO_LEAST ? RTO_LEAST : rto;
}

void link_refresh(struct link *l)
{
    const struct cla_contact *c = &l->contact;
    l->config = l->given;
    if (!l->planned)
        return;
    l->bounded = *l->given;
    struct pace_keys *pace = &l->bounded.pace;
    if (c->rate != 0 && (pace->rate == 0 || c->rate < pace->rate))
        pace->rate = c->rate;
    if (c->round_trip != TICK_NEVER) {
        l->bounded.rto = contact_rto(l->given, c->round_trip);
        l->bounded.owlt = c->round_trip / 2;
    }
    l->config = &l->bounded;
    assert(ltp_link_rto(l->config) >= RTO_LEAST);
}

void link_directions(struct link *l)
{
    const unsigned both = LTP_TRANSMIT | LTP_RECEIVE;
    struct ltp *engine = l->endpoint->engine;
    tick now = ltp_endpoint_now(l->endpoint);
    bool transmit = l->allowed && (!l->planned || l->contact.transmit);
    bool receive = l->allowed && (!l->planned || l->contact.receive);
    const bool known = address_given(&l->to.address); /* a name may not be yet */
    if (l->endpoint->framed)
        frame_port_want(l->endpoint->port, transmit || receive);
    transmit = transmit && known && l->endpoint->leaves;
    receive = receive && known && l->endpoint->arrives;
    l->up = transmit;
    l->hears = receive;
    if (!transmit)
        outgoing_down(l);
    int r = ltp_link_directions(engine, l->peer, transmit == receive ? both : LTP_TRANSMIT,
                                transmit, now);
    assert(r == 0); /* the span exists as long as the link */
    r = ltp_link_directions(engine, l->peer, LTP_RECEIVE, receive, now);
    assert(r == 0);
    (void)r;
    ltp_endpoint_kick(l->endpoint);
}

void ltp_endpoint_directions(struct ltp_endpoint *h)
{
    list_for_each (it, &h->common.links)
        link_directions(container_of(it, struct link, cla.node));
}

tick link_round_trip(const struct link *l)
{
    bool known = l->planned && l->contact.round_trip != TICK_NEVER;
    return known ? l->contact.round_trip : 0;
}

tick link_light(const struct link *l)
{
    tick planned = link_round_trip(l);
    return planned != 0 ? planned : tick_add(l->config->owlt, l->config->owlt);
}

void link_contact(struct cla *c, const struct cla_contact *contact)
{
    struct link *l = container_of(c, struct link, cla);
    char why[128];
    l->planned = contact != NULL;
    l->contact = contact != NULL ? *contact : (struct cla_contact){.round_trip = TICK_NEVER};
    link_refresh(l);
    if (ltp_endpoint_change(l, why, sizeof why) < 0)
        cla_say(&l->cla, 1, "the contact's rate and light time: %s", why);
    link_limits(l);
    link_directions(l);
}
