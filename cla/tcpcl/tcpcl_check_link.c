/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of a link, its connections and its local endpoint, between two turns. */
/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

#include "cla/tcpcl/tcpcl_link.h"

static void check_conn(const struct tcpcl_conn *c)
{
    assert(c->stream != NULL && c->session != NULL && !c->pumping);
    assert(c->up == (tcpcl_state(c->session) == TCPCL_IN_UP));
    assert(tcpcl_state(c->session) != TCPCL_IN_OVER);
    /* who waits is woken up */
    assert(!tcpcl_stopped(c->session) || !list_empty(&c->later));
    assert(list_empty(&c->later) || alarm_due(&c->endpoint->more) <= tcpcl_rests_until(c));
    assert(c->time.rest.debt <= REST_LONG && c->time.units >= 1 && c->time.units <= TCPCL_TURN);
    assert(alarm_due(&c->endpoint->alarm) <= tcpcl_deadline(c->session));
    tcpcl_check(c->session);
}

void tcpcl_check_self(const struct cla *c)
{
    const struct tcpcl_link *l = container_of((struct cla *)(uintptr_t)c, struct tcpcl_link, cla);
    uint64_t flight = 0, reserved = 0;
    size_t conns = 0;
    assert(l->closed == NULL && !l->endpoint->ending);
    list_for_each (it, &l->conns) {
        const struct tcpcl_conn *n = container_of(it, struct tcpcl_conn, node);
        assert(n->link == l && n->endpoint == l->endpoint);
        check_conn(n);
        flight += tcpcl_in_flight(n->session);
        reserved += n->reserved;
        assert(l->env.events.reserve == NULL || n->reserved == tcpcl_held(n->session));
        conns++;
    }
    assert(conns == l->conns_len && flight == l->flight && reserved == l->reserved);
    assert(c->limits.window >= 1 && (l->flight > 0 || l->flight_bytes == 0));
    conns = 0;
    list_for_each (it, &l->endpoint->unidentified) {
        const struct tcpcl_conn *n = container_of(it, struct tcpcl_conn, node);
        assert(n->link == NULL && n->from.crowd != NULL);
        check_conn(n);
        conns++;
    }
    assert(conns == l->endpoint->crowds.len);
    crowds_check(&l->endpoint->crowds);
}
