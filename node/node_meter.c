/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates come from counters that the adapters have anyhow, read once a second. A link's state is
 * computed for each request and is not kept, so it cannot be out of date. What can go wrong:
 * memory.
 */
#include "node/node_meter.h"

#include <assert.h>
#include <stdlib.h>

struct cla_gauges node_link_gauges(const struct node_link *l)
{
    return cla_gauges(l->cla);
}

/* bit/s; a counter that is less than before began anew. */
static uint64_t rate_of(uint64_t bytes, uint64_t before, tick time)
{
    return bytes < before || time == 0 ? 0
                                       : (uint64_t)((double)(bytes - before) * 8e9 / (double)time);
}

const unsigned meter_step_s[METER_SPANS] = {5, 60};

/* One step more. A counter that is less than before began anew. */
static void add_step(struct meter_past *p, uint64_t tx, uint64_t rx, tick now)
{
    if (p->at != 0) {
        unsigned at = (p->first + p->len) % METER_PAST;
        p->tx[at] = (float)rate_of(tx, p->tx_bytes, now - p->at);
        p->rx[at] = (float)rate_of(rx, p->rx_bytes, now - p->at);
        p->first = p->len == METER_PAST ? (p->first + 1) % METER_PAST : p->first;
        p->len += p->len < METER_PAST;
    }
    p->tx_bytes = tx;
    p->rx_bytes = rx;
    p->at = now;
    assert(p->len <= METER_PAST);
}

static struct meter_past *own_past(struct meter_past **past)
{
    if (*past == NULL)
        *past = calloc(METER_SPANS, sizeof **past);
    return *past; /* NULL: the page shows fewer */
}

static double last_of(const struct meter_past *p, const float *of)
{
    return p->len == 0 ? 0 : (double)of[(p->first + p->len - 1) % METER_PAST];
}

/* Links that come and go would make the sum of their counters jump: rates are summed. */
static void keep_span(struct node *n, enum meter_span span, tick now)
{
    struct meter_past *all = own_past(&n->past);
    double tx = 0, rx = 0;
    if (all == NULL ||
        (all[span].at != 0 && now - all[span].at < meter_step_s[span] * TICK_S - TICK_S / 2))
        return;
    for (size_t i = 0; i < n->links_len; i++) {
        struct link_meter *m = n->links[i] == NULL ? NULL : &n->links[i]->meter;
        const struct meter_past *p = m == NULL ? NULL : own_past(&m->past);
        if (p == NULL)
            continue;
        add_step(&m->past[span], m->tx_bytes, m->rx_bytes, now);
        tx += last_of(&p[span], p[span].tx);
        rx += last_of(&p[span], p[span].rx);
    }
    double time = all[span].at == 0 ? 0 : (double)(now - all[span].at) / 8e9;
    add_step(&all[span], all[span].tx_bytes + (uint64_t)(tx * time),
             all[span].rx_bytes + (uint64_t)(rx * time), now);
}

void node_meter_tick(struct node *n)
{
    tick now = world_now(n->world);
    for (size_t i = 0; i < n->links_len; i++) {
        struct node_link *l = n->links[i];
        if (l == NULL)
            continue;
        struct cla_gauges g = node_link_gauges(l);
        struct link_meter *m = &l->meter;
        if (m->at != 0) {
            m->tx_bps = rate_of(g.tx_bytes, m->tx_bytes, now - m->at);
            m->rx_bps = rate_of(g.rx_bytes, m->rx_bytes, now - m->at);
            m->resent_bps = rate_of(g.resent_bytes, m->resent_bytes, now - m->at);
        }
        m->at = now;
        m->tx_bytes = g.tx_bytes;
        m->rx_bytes = g.rx_bytes;
        m->resent_bytes = g.resent_bytes;
    }
    for (enum meter_span s = METER_MINUTES; n->http != NULL && s < METER_SPANS; s++)
        keep_span(n, s, now);
}

/* ---- states ---- */

struct link_facts node_link_facts(const struct node_link *l, const struct cla_gauges *g)
{
    return (struct link_facts){.now = world_now(l->node->world),
                               .open = l->up,
                               .opened = l->opened,
                               .off = g->off,
                               .planned = l->planned,
                               .contact = l->planned && l->contact.transmit,
                               .next = l->planned ? l->contact_next : TICK_NEVER,
                               .refused = g->refused,
                               .session = g->session,
                               .given_up = g->given_up,
                               .heard = g->heard,
                               .asked = g->asked,
                               .rto = g->rto,
                               .unconfirmed = g->unconfirmed,
                               .answers_short = g->answers_short,
                               .refusal = g->refusal,
                               .refused_at = g->refused_at};
}

enum link_state node_link_state(const struct node_link *l)
{
    struct cla_gauges g = node_link_gauges(l);
    struct link_facts f = node_link_facts(l, &g);
    return link_state_of(&f);
}

void node_link_tally(const struct node *n, struct link_tally *out)
{
    *out = (struct link_tally){0};
    for (size_t i = 0; i < n->links_len; i++) {
        if (n->links[i] == NULL)
            continue;
        out->all++;
        out->in[node_link_state(n->links[i])]++;
    }
}
