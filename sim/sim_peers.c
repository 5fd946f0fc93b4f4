/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A saturating source for each peer: whenever the span accepts a block, the next one is sent. Of n
 * blocks the first ⌊n × red⌋ … are red, spread evenly. Red sessions have figures of their own.
 * Green sessions end when they are sent, so only their arrived bytes are counted. What can go
 * wrong: memory.
 */
#include "sim/sim_peers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "sim/sim_world.h"

#define SENDER 0
#define FIRST_ENGINE 2 /* of the peers */

struct crowd;

struct one {
    struct crowd *all;
    uint64_t number; /* of the node; the peer's engine */
    size_t forward, back;
    struct sim_stats stats; /* of red sessions */
    uint64_t sent[2];       /* blocks, green and red */
    uint64_t delivered[2];  /* after the warm-up */
};

struct crowd {
    const struct sim_peers *params;
    struct sim_world world;
    struct buf *block;
    struct one ones[SIM_PEERS_MAX];
    struct one sender; /* number 1, for its events */
    bool opening_red;
    int error;
};

double sim_fairness(const double *x, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    return squares > 0 ? sum * sum / ((double)n * squares) : 1;
}

static struct one *find_one(struct crowd *c, uint64_t engine)
{
    bool known = engine >= FIRST_ENGINE && engine < FIRST_ENGINE + c->params->count;
    return known ? &c->ones[engine - FIRST_ENGINE] : NULL;
}

static void on_event(void *context, const struct event *e)
{
    struct one *end = context;
    struct crowd *c = end->all;
    const struct sim_params *p = &c->params->base;
    struct one *to = end == &c->sender ? find_one(c, e->peer) : NULL;
    if (to != NULL && (e->kind != EVENT_OPEN || c->opening_red))
        sim_stats_event(&to->stats, e, p->span.segment_max);
    if (p->log != NULL)
        p->log(p->log_context, end->number, e);
}

/* The next one, when `sent` were sent before. */
static bool is_red(const struct sim_peer *p, uint64_t sent)
{
    return floor((double)(sent + 1) * p->red + 1e-9) > floor((double)sent * p->red + 1e-9);
}

static void feed_one(struct crowd *c, struct one *one)
{
    const struct sim_params *p = &c->params->base;
    const struct sim_peer *peer = &c->params->peer[one - c->ones];
    struct ltp *ltp = c->world.nodes[SENDER].ltp;
    while (c->error == 0 && ltp_room(ltp, one->number) > 0) {
        bool red = is_red(peer, one->sent[0] + one->sent[1]);
        struct ltp_block block = {.peer = one->number,
                                  .client_service = 1,
                                  .data = c->block,
                                  .red_len = red ? p->bundle : 0};
        struct ltp_session_id id;
        c->opening_red = red;
        c->error = ltp_send(ltp, &block, c->world.now, &id);
        one->sent[red] += c->error == 0;
    }
}

static bool has_room(const struct crowd *c)
{
    for (size_t i = 0; i < c->params->count; i++)
        if (ltp_room(c->world.nodes[SENDER].ltp, c->ones[i].number) > 0)
            return true;
    return false;
}

/* Sessions close while the engine radiates: then a new one can begin. */
static void feed_all(struct crowd *c)
{
    while (c->error == 0 && has_room(c)) {
        for (size_t i = 0; i < c->params->count; i++)
            feed_one(c, &c->ones[i]);
        sim_touch(&c->world, SENDER);
    }
}

static void on_notice(void *context, size_t node, const struct ltp_notice *n)
{
    struct crowd *c = context;
    const struct sim_params *p = &c->params->base;
    if (node == SENDER || n->data == NULL || n->data->len != p->bundle)
        return;
    struct one *one = &c->ones[node - 1];
    bool red = n->kind == LTP_BLOCK;
    if (red)
        sim_stats_delivered(&one->stats, n->id.number, c->world.now);
    one->delivered[red] += c->world.now >= p->warmup && c->world.now < p->duration;
}

static void on_segment(void *context, size_t link, const uint8_t *data, size_t len)
{
    struct crowd *c = context;
    const struct sim_link *l = &c->world.links[link];
    size_t i = (l->from == SENDER ? l->to : l->from) - 1;
    const struct sim_peer *peer = &c->params->peer[i];
    const struct chan_counters *counters = chan_counters(l->chan);
    uint64_t before = chan_lost(counters);
    if (c->world.now >= peer->out_from && c->world.now < peer->out_to)
        sim_enter_rule(&c->world, link, data, len);
    else
        sim_enter(&c->world, link, data, len);
    if (l->from == SENDER && chan_lost(counters) != before)
        sim_stats_lost(&c->ones[i].stats, data[0] & 15);
}

/* Incomplete green blocks are kept for a while: as many as the line transmits in that time. */
static uint64_t imports_of(const struct sim_params *p)
{
    double blocks_per_s = (double)p->rate_bps / 8 / (double)p->bundle;
    double most = 12 * (double)p->span.rto / (double)TICK_S * blocks_per_s + 1;
    return 2 * (uint64_t)p->span.export_sessions + 16 + (most < 100000 ? (uint64_t)most : 100000);
}

static int make_node(struct crowd *c, struct one *one, uint64_t number, uint64_t seed)
{
    const struct sim_params *p = &c->params->base;
    uint64_t imports = imports_of(p);
    *one = (struct one){.all = c, .number = number};
    struct ltp_config config = {.engine = number,
                                .seed = seed,
                                .import_sessions = (uint32_t)imports,
                                .held_bytes =
                                    imports * (p->bundle + p->span.segment_max + (1 << 18)),
                                .sink = number == 1 || p->log != NULL ? on_event : NULL,
                                .sink_context = one};
    size_t index;
    return sim_node_add(&c->world, &config, &index);
}

static int make_links(struct crowd *c, size_t i, struct rng *rng)
{
    const struct sim_params *p = &c->params->base;
    const struct sim_peer *peer = &c->params->peer[i];
    struct one *one = &c->ones[i];
    struct sim_params own = *p;
    struct chan_config forward, back;
    own.trace = peer->trace;
    own.trace_offset = peer->trace_offset;
    own.loss = peer->loss;
    sim_channels(&own, rng, &forward, &back);
    int rc = sim_link_add(&c->world, SENDER, i + 1, &forward, &one->forward);
    if (rc == 0)
        rc = sim_link_add(&c->world, i + 1, SENDER, &back, &one->back);
    if (rc == 0 && !c->params->own_lines && i > 0)
        sim_link_share(&c->world, one->forward, c->ones[0].forward);
    if (rc == 0)
        c->world.links[one->forward].weight = peer->weight;
    struct ltp_span there = sim_span(p, one->number, imports_of(p));
    struct ltp_span here = sim_span(p, 1, imports_of(p));
    struct ltp *sender = c->world.nodes[SENDER].ltp, *receiver = c->world.nodes[i + 1].ltp;
    if (rc == 0)
        rc = ltp_span_set(sender, &there, 0);
    if (rc == 0)
        rc = ltp_span_set(receiver, &here, 0);
    if (rc == 0) {
        ltp_link(sender, one->number, true, 0);
        ltp_link(receiver, 1, true, 0);
    }
    return rc;
}

static int build_crowd(struct crowd *c)
{
    const struct sim_params *p = &c->params->base;
    struct rng rng;
    rng_init(&rng, p->seed);
    int rc = sim_init(&c->world, &(struct sim_hooks){c, on_notice, on_segment});
    if (rc == 0)
        rc = make_node(c, &c->sender, 1, rng_u64(&rng));
    for (size_t i = 0; i < c->params->count && rc == 0; i++) {
        rc = make_node(c, &c->ones[i], FIRST_ENGINE + i, rng_u64(&rng));
        if (rc == 0)
            rc = sim_stats_init(&c->ones[i].stats, rng_u64(&rng));
    }
    for (size_t i = 0; i < c->params->count && rc == 0; i++)
        rc = make_links(c, i, &rng);
    c->block = rc == 0 ? buf_new(0, p->bundle) : NULL;
    if (rc == 0 && c->block == NULL)
        rc = HELIO_ENOMEM;
    if (rc == 0)
        memset(buf_append(c->block, p->bundle), 0x5a, p->bundle);
    return rc;
}

static struct sim_blocks blocks_of(const struct crowd *c, const struct one *one, int red, tick time)
{
    double bits = (double)one->delivered[red] * (double)c->params->base.bundle * 8;
    return (struct sim_blocks){.sent = one->sent[red],
                               .delivered = one->delivered[red],
                               .goodput_bps = bits * (double)TICK_S / (double)time};
}

static int conclude_one(const struct crowd *c, size_t i, tick time, struct sim_peer_result *out)
{
    const struct one *one = &c->ones[i];
    const struct chan_counters *counters = chan_counters(c->world.links[one->forward].chan);
    *out = (struct sim_peer_result){.red = blocks_of(c, one, 1, time),
                                    .green = blocks_of(c, one, 0, time),
                                    .frames = counters->in,
                                    .frames_lost = chan_lost(counters),
                                    .cancelled = one->stats.cancelled,
                                    .rto_firings = one->stats.rto_firings};
    out->goodput_bps = out->red.goodput_bps + out->green.goodput_bps;
    return sim_stats_figures(&one->stats, 0, TICK_NEVER, &out->figures);
}

static int conclude_crowd(const struct crowd *c, struct sim_peers_result *out)
{
    const struct sim_peers *p = c->params;
    double by_goodput[SIM_PEERS_MAX], by_line[SIM_PEERS_MAX], air = 0;
    int rc = c->error;
    for (size_t i = 0; i < p->count && rc == 0; i++) {
        rc = conclude_one(c, i, out->until - p->base.warmup, &out->peer[i]);
        double bytes = (double)c->world.links[c->ones[i].forward].air_bytes;
        by_goodput[i] = out->peer[i].goodput_bps / p->peer[i].weight;
        by_line[i] = bytes / p->peer[i].weight;
        out->goodput_bps += out->peer[i].goodput_bps;
        out->peer[i].line_share = bytes;
        air += bytes;
    }
    for (size_t i = 0; i < p->count; i++)
        out->peer[i].line_share = air > 0 ? out->peer[i].line_share / air : 0;
    if (rc == 0) {
        out->fairness = sim_fairness(by_goodput, p->count);
        out->fairness_line = sim_fairness(by_line, p->count);
    }
    return rc;
}

static tick play_crowd(struct crowd *c)
{
    const struct sim_params *p = &c->params->base;
    feed_all(c);
    for (uint64_t steps = 1; sim_deadline(&c->world) < p->duration; steps++) {
        sim_step(&c->world);
        feed_all(c);
        if (sim_looked(p, steps, c->world.now))
            return c->world.now;
    }
    return p->duration;
}

static bool are_good(const struct sim_peers *s)
{
    bool good = s->count >= 1 && s->count <= SIM_PEERS_MAX && sim_params_valid(&s->base);
    for (size_t i = 0; i < s->count && good; i++) {
        const struct sim_peer *one = &s->peer[i];
        good = one->weight >= 1 && one->red >= 0 && one->red <= 1 && one->loss >= 0 &&
               one->loss <= 1 && one->out_from <= one->out_to;
    }
    return good;
}

int sim_peers_run(const struct sim_peers *p, struct sim_peers_result *out)
{
    *out = (struct sim_peers_result){0};
    if (!are_good(p))
        return HELIO_EINVAL;
    struct crowd *c = calloc(1, sizeof *c);
    if (c == NULL)
        return HELIO_ENOMEM;
    c->params = p;
    int rc = build_crowd(c);
    if (rc == 0) {
        out->until = play_crowd(c);
        rc = out->until > p->base.warmup ? conclude_crowd(c, out) : HELIO_ENOENT;
    }
    sim_fini(&c->world);
    for (size_t i = 0; i < p->count; i++)
        sim_stats_fini(&c->ones[i].stats);
    buf_drop(c->block);
    free(c);
    return rc;
}
