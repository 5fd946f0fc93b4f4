/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A saturating source: whenever a session has ended the next block is sent, all from one buffer,
 * since their bytes do not matter. What the channel drops is known as it enters, so a lost
 * checkpoint is counted, not guessed. Only memory can run out.
 */
#include "sim/sim_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "sim/sim_world.h"

#define SENDER 0
#define FOLLOW_FOR 4      /* durations, at most */
#define FOLLOW_STEPS 1024 /* between checks whether all sessions are closed */
#define LOOK_STEPS 4096
#define FILL 0x5a /* of all blocks */
#define RECEIVER 1

struct run;

struct end {
    struct run *run;
    uint64_t number;
};

struct run {
    const struct sim_params *params;
    struct sim_world world;
    struct sim_stats stats;
    struct buf *block;
    struct end ends[2];
    struct ltp_rules *rules[2]; /* forward, back; NULL: none */
    size_t forward;             /* index of the link */
    int error;                  /* the first failure of ltp_send */
    uint64_t *again;            /* ring of lost blocks that go again, by their first try */
    uint32_t again_at, again_len;
    uint32_t sessions_max;
    uint64_t counted; /* blocks delivered after the warm-up */
    /* What the receiver holds is sampled as blocks are delivered. */
    struct ltp_session_info *infos;
    size_t infos_cap;
    uint64_t sample_in, held_max;
};

static void on_event(void *context, const struct event *e)
{
    const struct end *end = context;
    const struct sim_params *p = end->run->params;
    if (end->number == 1)
        sim_stats_event(&end->run->stats, e, p->span.segment_max);
    if (p->log != NULL)
        p->log(p->log_context, end->number, e);
}

static void send_one(struct run *r)
{
    const struct sim_params *p = r->params;
    struct ltp_block block = {.peer = 2,
                              .client_service = 1,
                              .data = r->block,
                              .red_len = p->colour == SIM_RED ? p->bundle : 0,
                              .orange = p->colour == SIM_ORANGE};
    struct ltp_session_id id;
    r->error = ltp_send(r->world.nodes[SENDER].ltp, &block, r->world.now, &id);
    if (r->error != 0 || r->again_len == 0)
        return;
    sim_stats_again(&r->stats, id.number, r->again[r->again_at]);
    r->again_at = (r->again_at + 1) % p->span.export_sessions;
    r->again_len--;
}

/* At most as many wait as sessions have ended. */
static void note_loss(struct run *r, uint64_t number)
{
    const struct sim_params *p = r->params;
    uint64_t first;
    if (r->again_len < p->span.export_sessions &&
        sim_stats_block_lost(&r->stats, number, p->resend, &first))
        r->again[(r->again_at + r->again_len++) % p->span.export_sessions] = first;
}

static void feed_blocks(struct run *r)
{
    struct ltp *ltp = r->world.nodes[SENDER].ltp;
    while (r->error == 0 && ltp_room(ltp, 2) > 0)
        send_one(r);
    size_t open = ltp_sessions(ltp, NULL, 0);
    if (open > r->sessions_max)
        r->sessions_max = (uint32_t)open;
}

/* Including the block that was just delivered. To search all sessions each time would be slow. */
static void sample_held(struct run *r)
{
    if (r->sample_in-- > 0)
        return;
    r->sample_in =
        r->params->span.export_sessions / (r->params->span.export_sessions > 256 ? 2 : 8);
    size_t n = ltp_sessions(r->world.nodes[RECEIVER].ltp, r->infos, r->infos_cap);
    uint64_t held = r->params->bundle;
    for (size_t i = 0; i < n && i < r->infos_cap; i++)
        held += r->infos[i].held;
    r->held_max = held > r->held_max ? held : r->held_max;
}

static void on_notice(void *context, size_t node, const struct ltp_notice *n)
{
    struct run *r = context;
    bool whole = n->data != NULL && n->data->len == r->params->bundle;
    if (node == RECEIVER && whole) {
        sim_stats_delivered(&r->stats, n->id.number, r->world.now);
        r->counted += r->world.now >= r->params->warmup;
        sample_held(r);
    }
    if (node == SENDER && n->kind == LTP_EXPORT_LOST)
        note_loss(r, n->id.number);
    if (node == SENDER && n->kind != LTP_INITIAL_SENT)
        feed_blocks(r);
}

static bool dropped_by_rule(struct run *r, size_t link, const uint8_t *data, size_t len)
{
    struct ltp_rules *rules = r->rules[link != r->forward];
    struct ltp_fields f;
    return rules != NULL && ltp_fields_read(&f, data, len) && ltp_rules_drop(rules, &f);
}

static void tell_fates(struct run *r, size_t link)
{
    struct chan_fate f;
    while (chan_fate(r->world.links[link].chan, &f) == 1)
        r->params->fate(r->params->fate_context, link != r->forward, &f);
}

static void on_segment(void *context, size_t link, const uint8_t *data, size_t len)
{
    struct run *r = context;
    const struct chan_counters *c = chan_counters(r->world.links[link].chan);
    uint64_t before = chan_lost(c);
    if (dropped_by_rule(r, link, data, len))
        sim_enter_rule(&r->world, link, data, len);
    else
        sim_enter(&r->world, link, data, len);
    if (chan_lost(c) != before)
        sim_stats_lost(&r->stats, data[0] & 15);
    else if (link == r->forward)
        sim_stats_passed(&r->stats, data[0] & 15, r->world.now);
    if (r->params->fate != NULL)
        tell_fates(r, link);
}

bool sim_params_valid(const struct sim_params *p)
{
    return p->rate_bps >= 1 && p->span.export_sessions >= 1 && p->span.export_sessions <= 65536 &&
           p->span.rto >= 100 * TICK_US && p->bundle >= 1 && p->bundle <= UINT32_MAX &&
           p->span.segment_max >= 64 && p->span.segment_max <= 65000 &&
           p->span.checkpoint_extra <= LTP_CHECKPOINT_EXTRA && p->duration >= 1 &&
           p->warmup < p->duration && p->loss >= 0 && p->loss <= 1 && p->back_loss >= 0 &&
           p->back_loss <= 1 && p->colour <= SIM_ORANGE;
}

bool sim_looked(const struct sim_params *p, uint64_t steps, tick now)
{
    return steps % LOOK_STEPS == 0 && p->look != NULL && p->look(p->look_context, now);
}

/* From the time at which a segment is sent until it is there: the line may be busy with the one
 * before, by what its time was rounded. */
static tick longest_transit(const struct sim_params *p)
{
    double bits =
        8 * ((double)p->span.segment_max + (double)p->span.checkpoint_extra + (double)p->overhead);
    tick radiation = (tick)(bits / (double)p->rate_bps * (double)TICK_S) + 1;
    return tick_add(tick_add(p->delay, p->jitter), 2 * radiation);
}

static uint64_t green_waiting(const struct sim_params *p)
{
    double blocks_per_s = (double)p->rate_bps / 8 / (double)p->bundle;
    double most = 12 * (double)p->span.rto / (double)TICK_S * blocks_per_s + 1;
    return most < 100000 ? (uint64_t)most : 100000;
}

void sim_channels(const struct sim_params *p, struct rng *rng, struct chan_config *forward,
                  struct chan_config *back)
{
    *forward = (struct chan_config){.rate_bps = p->rate_bps,
                                    .overhead = p->overhead,
                                    .delay = p->delay,
                                    .jitter = p->jitter,
                                    .trace = p->trace,
                                    .trace_offset = p->trace_offset,
                                    .loss = p->loss,
                                    .seed = rng_u64(rng)};
    *back = (struct chan_config){.rate_bps = p->back_rate_bps,
                                 .overhead = p->back_rate_bps > 0 ? p->overhead : 0,
                                 .delay = p->delay,
                                 .trace = p->back_trace,
                                 .trace_offset = p->back_offset,
                                 .loss = p->back_loss,
                                 .seed = rng_u64(rng)};
}

struct ltp_span sim_span(const struct sim_params *p, uint64_t peer, uint64_t imports)
{
    const uint64_t ranges = p->bundle / 2 + 2;
    struct ltp_span span = p->span;
    span.peer = peer;
    span.import_sessions = (uint32_t)imports;
    span.block_max = p->bundle;
    span.ranges_max = (uint32_t)(ranges > 65536 ? 65536 : ranges);
    return span;
}

static int make_node(struct run *r, size_t i, uint64_t seed)
{
    const struct sim_params *p = r->params;
    /* an import session outlives its export session by half a round trip */
    uint64_t imports = 2 * (uint64_t)p->span.export_sessions + 16;
    /* what is incomplete and not repeated is kept for some time */
    if (p->colour != SIM_RED)
        imports += green_waiting(p);
    r->ends[i] = (struct end){r, i + 1};
    struct ltp_config config = {.engine = i + 1,
                                .seed = seed,
                                .import_sessions = (uint32_t)imports,
                                .held_bytes =
                                    imports * (p->bundle + p->span.segment_max + (1 << 18)),
                                .sink = i == SENDER || p->log != NULL ? on_event : NULL,
                                .sink_context = &r->ends[i]};
    size_t index;
    int rc = sim_node_add(&r->world, &config, &index);
    if (rc != 0)
        return rc;
    struct ltp_span span = sim_span(p, 2 - i, imports);
    return ltp_span_set(r->world.nodes[i].ltp, &span, 0);
}

static int build_world(struct run *r)
{
    const struct sim_params *p = r->params;
    struct rng rng;
    rng_init(&rng, p->seed);
    int rc = sim_stats_init(&r->stats, rng_u64(&rng));
    if (rc == 0)
        rc = sim_init(&r->world, &(struct sim_hooks){r, on_notice, on_segment});
    if (rc == 0)
        rc = sim_fill(&r->world, FILL);
    for (size_t i = 0; i < 2 && rc == 0; i++)
        rc = make_node(r, i, rng_u64(&rng));
    for (size_t i = 0; i < 2 && rc == 0; i++) {
        if (p->drop_count[i] > 0)
            rc = ltp_rules_new(&r->rules[i], p->drop[i], p->drop_count[i]);
    }
    struct chan_config forward, back;
    sim_channels(p, &rng, &forward, &back);
    size_t index;
    if (rc == 0)
        rc = sim_link_add(&r->world, SENDER, RECEIVER, &forward, &r->forward);
    if (rc == 0)
        rc = sim_link_add(&r->world, RECEIVER, SENDER, &back, &index);
    r->block = rc == 0 ? buf_new(0, p->bundle) : NULL;
    r->again = calloc(p->span.export_sessions, sizeof *r->again);
    r->infos_cap = 2 * (size_t)p->span.export_sessions + 16;
    r->infos = malloc(r->infos_cap * sizeof *r->infos);
    if (rc == 0 && (r->block == NULL || r->again == NULL || r->infos == NULL))
        rc = HELIO_ENOMEM;
    if (rc == 0)
        memset(buf_append(r->block, p->bundle), FILL, p->bundle);
    return rc;
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* Of the channel's time, what the trace left; or of its frames. */
static double good_share(const struct sim_params *p, tick from, tick to)
{
    tick bad = p->trace == NULL ? 0 : trace_bad_time(p->trace, 0, p->trace_offset, from, to);
    return (1 - (double)bad / (double)(to - from)) * (1 - p->loss);
}

/* Of the good time, that in which a whole segment may begin and meet no bad step. */
static double reachable_share(const struct run *r, tick to)
{
    const struct sim_params *p = r->params;
    const struct sim_stats *s = &r->stats;
    if (p->trace == NULL || s->full_count == 0)
        return 1;
    double bytes = (double)s->full_bytes / (double)s->full_count + p->overhead;
    tick air = (tick)(8 * bytes * (double)TICK_S / (double)p->rate_bps + 0.5);
    tick room = trace_free_time(p->trace, 0, p->trace_offset, p->warmup, to, air > 0 ? air : 1);
    tick bad = trace_bad_time(p->trace, 0, p->trace_offset, p->warmup, to);
    return share((double)room, (double)(to - p->warmup - bad));
}

static int conclude_run(const struct run *r, struct sim_result *out)
{
    const struct sim_params *p = r->params;
    const struct sim_stats *s = &r->stats;
    int rc = r->error != 0 ? r->error : sim_stats_figures(s, 0, TICK_NEVER, &out->figures);
    tick from = p->warmup, span = out->until - from;
    double seconds = (double)span / (double)TICK_S;
    out->good_share = good_share(p, from, out->until);
    double on_air = (double)(s->full_bytes + s->full_count * p->overhead);
    out->payload_share = share((double)s->full_data, on_air);
    out->reachable_share = reachable_share(r, out->until);
    out->capacity_bps = (double)p->rate_bps * out->payload_share * out->good_share;
    out->figures.sessions_ended = out->figures.sessions;
    uint64_t delivered = p->warmup == 0 ? out->figures.delivered : r->counted;
    out->goodput_bps = (double)delivered * (double)p->bundle * 8 / seconds;
    out->efficiency = share(out->goodput_bps, out->capacity_bps);
    out->rto_firings = s->rto_firings;
    out->cancelled = s->cancelled;
    out->lost = s->lost;
    out->resent = s->resent;
    out->given_up = s->given_up;
    const struct chan_counters *c = chan_counters(r->world.links[r->forward].chan);
    out->frames = c->in;
    out->frames_lost = chan_lost(c);
    const struct chan_counters *b = chan_counters(r->world.links[1 - r->forward].chan);
    out->back_frames = b->in;
    out->back_lost = chan_lost(b);
    out->rule_drops[0] = c->lost[CHAN_RULE];
    out->rule_drops[1] = b->lost[CHAN_RULE];
    out->air_bytes = s->air_bytes + c->in * p->overhead;
    out->copy_bytes = s->copy_bytes + s->copies * p->overhead;
    out->repeat_bytes = s->repeat_bytes + s->repeats * p->overhead;
    out->first_data = s->first_data;
    out->sessions_max = r->sessions_max;
    out->begun_max = s->begun_max;
    out->held_max = r->held_max;
    return rc;
}

/* An idle line may have raised the limit of sessions. */
static void fill_block(struct run *r)
{
    while (r->error == 0 && ltp_room(r->world.nodes[SENDER].ltp, 2) > 0) {
        feed_blocks(r);
        sim_touch(&r->world, SENDER);
    }
}

/* Returns where it ended. */
static tick play_run(struct run *r)
{
    const struct sim_params *p = r->params;
    fill_block(r);
    for (uint64_t steps = 1; sim_step_before(&r->world, p->duration); steps++) {
        fill_block(r);
        if (sim_looked(p, steps, r->world.now))
            return r->world.now;
    }
    return p->duration;
}

/* Continues under the same load until all sessions are closed that began between the warm-up and
 * the end. A session that is cut off would not be counted, and these are the long ones. */
static int follow_sessions(struct run *r, struct sim_result *out)
{
    const struct sim_params *p = r->params;
    uint64_t ended = out->figures.sessions_ended;
    tick last = tick_add(p->duration, FOLLOW_FOR * p->duration);
    const struct sim_session *open =
        NULL; /* closed sessions stay closed, and none begins any more */
    for (uint64_t steps = 1;; steps++) {
        if (steps % FOLLOW_STEPS == 1 &&
            (open = sim_stats_open(&r->stats, open, p->warmup, p->duration)) == NULL)
            break;
        if (!sim_step_before(&r->world, last))
            break;
        fill_block(r);
        if (sim_looked(p, steps, r->world.now))
            break;
    }
    int rc = sim_stats_figures(&r->stats, p->warmup, p->duration, &out->figures);
    out->figures.sessions_ended = ended;
    out->cut = sim_stats_open(&r->stats, NULL, p->warmup, p->duration) != NULL;
    return r->error != 0 ? r->error : rc;
}

/* The standard error of a ratio by batch means: each part is compared with the transmitted share of
 * its own capacity. So deep fades, which affect both, are no error. */
static void conclude_parts(const struct run *r, struct sim_result *out)
{
    uint64_t bytes[SIM_STATS_PARTS];
    double squares = 0;
    sim_stats_parts(&r->stats, r->world.now, bytes);
    for (unsigned i = 0; i < SIM_STATS_PARTS; i++) {
        tick from = sim_stats_part(&r->stats, i), to = sim_stats_part(&r->stats, i + 1);
        if (to <= from || to > out->until)
            break;
        double seconds = (double)(to - from) / (double)TICK_S;
        double part = share((double)bytes[i] * 8 / seconds, out->capacity_bps);
        double good = share(good_share(r->params, from, to), out->good_share);
        out->carried_parts[out->carried_parts_len++] = part;
        squares += pow(part - out->carried_share * good, 2);
    }
    double n = (double)out->carried_parts_len;
    out->carried_se = n > 1 ? sqrt(squares / (n * (n - 1))) : 0;
}

/* At the very end, when more is known of the blocks that were in transit. */
static void conclude_carried(const struct run *r, struct sim_result *out)
{
    double seconds = (double)(out->until - r->params->warmup) / (double)TICK_S;
    out->carried_bps = (double)sim_stats_carried(&r->stats, r->world.now) * 8 / seconds;
    out->carried_share = share(out->carried_bps, out->capacity_bps);
    conclude_parts(r, out);
}

int sim_run_experiment(const struct sim_params *p, struct sim_result *out)
{
    *out = (struct sim_result){0};
    if (!sim_params_valid(p))
        return HELIO_EINVAL;
    struct run r = {.params = p};
    int rc = build_world(&r);
    r.stats.window_from = p->warmup;
    r.stats.window_to = p->duration;
    r.stats.transit = longest_transit(p);
    if (rc == 0) {
        ltp_link(r.world.nodes[SENDER].ltp, 2, true, 0);
        ltp_link(r.world.nodes[RECEIVER].ltp, 1, true, 0);
        out->until = play_run(&r);
        rc = out->until > p->warmup ? conclude_run(&r, out) : HELIO_ENOENT;
        if (rc == 0 && p->follow && out->until == p->duration)
            rc = follow_sessions(&r, out);
        if (rc == 0)
            conclude_carried(&r, out);
    }
    sim_fini(&r.world);
    sim_stats_fini(&r.stats);
    ltp_rules_free(r.rules[0]);
    ltp_rules_free(r.rules[1]);
    free(r.again);
    buf_drop(r.block);
    free(r.infos);
    return rc;
}
