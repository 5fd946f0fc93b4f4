/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The happy path: sim_step finds the earliest of all arrivals, engine deadlines and free lines,
 * sets the clock, does that one thing and drains the engine that it happened to. A node's deadline
 * and its lines' wake-up times change only when the node is touched, so they are kept from then.
 * Only memory can run out, and only while the world is built; a frame that the channel has no
 * memory for is counted there as lost.
 */
#include "sim/sim_world.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "sim/world_run.h"

#define FRAME_MAX (65536 + LTP_HEAD_MAX)

int sim_init(struct sim_world *w, const struct sim_hooks *hooks)
{
    *w = (struct sim_world){.frame = malloc(FRAME_MAX)};
    if (w->frame == NULL)
        return HELIO_ENOMEM;
    if (hooks != NULL)
        w->hooks = *hooks;
    return 0;
}

int sim_fill(struct sim_world *w, uint8_t octet)
{
    assert(w->hollow == NULL && !w->fcs && w->steps == 0);
    w->hollow = malloc(FRAME_MAX);
    if (w->hollow == NULL)
        return HELIO_ENOMEM;
    memset(w->hollow, octet, FRAME_MAX);
    return 0;
}

void sim_fini(struct sim_world *w)
{
    for (size_t i = 0; i < w->node_count; i++)
        ltp_free(w->nodes[i].ltp);
    for (size_t i = 0; i < w->link_count; i++)
        chan_free(w->links[i].chan);
    free(w->frame);
    free(w->hollow);
    *w = (struct sim_world){0};
}

int sim_node_add(struct sim_world *w, const struct ltp_config *config, size_t *index)
{
    if (w->node_count == SIM_NODES_MAX)
        return HELIO_ESPACE;
    struct sim_node *n = &w->nodes[w->node_count];
    *n = (struct sim_node){.engine = config->engine, .deadline = TICK_NEVER};
    int rc = ltp_new(&n->ltp, config);
    if (rc == 0)
        *index = w->node_count++;
    return rc;
}

int sim_node_restart(struct sim_world *w, size_t node, const struct ltp_config *config)
{
    struct sim_node *n = &w->nodes[node];
    assert(node < w->node_count && config->engine == n->engine);
    struct ltp *fresh;
    int rc = ltp_new(&fresh, config);
    if (rc != 0)
        return rc;
    ltp_free(n->ltp);
    n->ltp = fresh;
    sim_touch(w, node);
    return 0;
}

int sim_link_add(struct sim_world *w, size_t from, size_t to, const struct chan_config *config,
                 size_t *index)
{
    assert(from < w->node_count && to < w->node_count);
    if (w->link_count == SIM_LINKS_MAX)
        return HELIO_ESPACE;
    struct sim_link *l = &w->links[w->link_count];
    *l = (struct sim_link){.from = from,
                           .to = to,
                           .overhead = config->overhead,
                           .wake = TICK_NEVER,
                           .line_of = w->link_count,
                           .weight = 1};
    bucket_init(&l->line, config->rate_bps, 0, 0, w->now);
    int rc = chan_new(&l->chan, config);
    if (rc == 0)
        *index = w->link_count++;
    return rc;
}

void sim_link_share(struct sim_world *w, size_t link, size_t with)
{
    assert(link < w->link_count && with < link && w->links[with].line_of == with);
    assert(w->links[link].from == w->links[with].from);
    w->links[link].line_of = with;
    w->links[link].shared = w->links[with].shared = true;
}

size_t sim_link_find(const struct sim_world *w, size_t from, size_t to)
{
    for (size_t i = 0; i < w->link_count; i++) {
        if (w->links[i].from == from && w->links[i].to == to)
            return i;
    }
    return SIZE_MAX;
}

static struct chan_head head_of(const struct sim_world *w, const uint8_t *data, size_t len)
{
    bool hollow = w->hollow != NULL && w->head_len < len;
    return (struct chan_head){data, hollow ? w->head_len : len, len};
}

void sim_enter(struct sim_world *w, size_t link, const uint8_t *data, size_t len)
{
    struct chan_head head = head_of(w, data, len);
    uint64_t tag = w->fcs ? crc32c(0, data, len) : 0;
    chan_input_head(w->links[link].chan, &head, tag, w->now, 0);
}

void sim_enter_rule(struct sim_world *w, size_t link, const uint8_t *data, size_t len)
{
    struct chan_head head = head_of(w, data, len);
    chan_input_head(w->links[link].chan, &head, 0, w->now, CHAN_BY_RULE);
}

/* Radiates one segment if one waits; the line is free. */
static bool radiate_one(struct sim_world *w, size_t link)
{
    struct sim_link *l = &w->links[link];
    struct ltp *ltp = w->nodes[l->from].ltp;
    struct ltp_out out = {.head = w->frame, .head_cap = FRAME_MAX};
    if (ltp_output(ltp, w->nodes[l->to].engine, w->now, &out) == 0)
        return false;
    w->head_len = out.head_len;
    if (out.data.len != 0 && w->hollow == NULL)
        memcpy(w->frame + out.head_len, out.data.data, out.data.len);
    size_t len = out.head_len + out.data.len;
    bucket_spend(&w->links[l->line_of].line, len + l->overhead, w->now);
    l->air_bytes += len + l->overhead;
    l->ended = l->start + ((len + l->overhead) << SIM_SHARE_BITS) / l->weight;
    if (w->hooks.segment != NULL)
        w->hooks.segment(w->hooks.context, link, w->frame, len);
    else
        sim_enter(w, link, w->frame, len);
    return true;
}

/* Of the links that share this line and have something to send, without those in `tried`: the one
 * whose turn it is; SIZE_MAX: none. A link that had nothing to send for a while continues where the
 * others are now, and does not catch up. */
static size_t choose_link(struct sim_world *w, size_t line, uint64_t now, const bool *tried)
{
    size_t best = SIZE_MAX;
    for (size_t i = line; i < w->link_count; i++) {
        struct sim_link *l = &w->links[i];
        if (l->line_of != line || tried[i] ||
            !ltp_has_output(w->nodes[l->from].ltp, w->nodes[l->to].engine))
            continue;
        l->start = l->ended > now ? l->ended : now;
        if (best == SIZE_MAX || l->start < w->links[best].start)
            best = i;
    }
    return best;
}

static bool radiate_shared(struct sim_world *w, size_t line)
{
    bool tried[SIM_LINKS_MAX] = {false};
    struct sim_link *l = &w->links[line];
    for (size_t i; (i = choose_link(w, line, l->shared_now, tried)) != SIZE_MAX; tried[i] = true) {
        uint64_t start = w->links[i].start;
        if (radiate_one(w, i)) {
            l->shared_now = start;
            return true;
        }
    }
    return false;
}

/* Radiates one segment if the line is free and one waits. */
static bool radiate_segments(struct sim_world *w, size_t link)
{
    struct sim_link *l = &w->links[link];
    if (l->line_of != link)
        return false; /* with the others of its line */
    bucket_begin(&l->line, w->now);
    if (!bucket_ready(&l->line, w->now))
        return false;
    return l->shared ? radiate_shared(w, link) : radiate_one(w, link);
}

static void drain_notices(struct sim_world *w, size_t node)
{
    struct ltp_notice notice;
    while (ltp_poll(w->nodes[node].ltp, &notice) != 0) {
        if (w->hooks.notice != NULL)
            w->hooks.notice(w->hooks.context, node, &notice);
        buf_drop(notice.data);
    }
}

/* A line that is free now was offered to the engine, which had nothing for it or knows that its
 * link is down. */
static tick line_wake(const struct sim_world *w, size_t link)
{
    const struct sim_link *l = &w->links[link];
    if (l->line_of != link || bucket_ready(&l->line, w->now))
        return TICK_NEVER;
    for (size_t i = link; i < (l->shared ? w->link_count : link + 1); i++) {
        const struct sim_link *one = &w->links[i];
        if (one->line_of == link &&
            ltp_has_output(w->nodes[one->from].ltp, w->nodes[one->to].engine))
            return bucket_wake(&l->line, w->now);
    }
    return TICK_NEVER;
}

void sim_touch(struct sim_world *w, size_t node)
{
    struct sim_node *n = &w->nodes[node];
    bool again = true;
    while (again) {
        again = false;
        drain_notices(w, node);
        for (size_t i = 0; i < w->link_count; i++)
            again |= w->links[i].from == node && radiate_segments(w, i);
    }
    for (size_t i = 0; i < w->link_count; i++) {
        struct sim_link *l = &w->links[i];
        if (l->from == node)
            l->wake = line_wake(w, i);
    }
    n->deadline = ltp_deadline(n->ltp);
    if (w->check_every != 0 && w->steps % w->check_every == 0)
        ltp_check(n->ltp);
}

/* A frame of which only the head is there gets the payload that all have. */
static const uint8_t *fill_frame(struct sim_world *w, const struct chan_out *frame)
{
    if (frame->kept == frame->len)
        return frame->data;
    uint8_t *data = w->hollow + LTP_HEAD_MAX - frame->kept;
    assert(w->hollow != NULL && frame->kept <= LTP_HEAD_MAX);
    memcpy(data, frame->data, frame->kept);
    return data;
}

static void take_arrivals(struct sim_world *w, size_t node, const struct chan_out *frame)
{
    if (w->fcs && frame->tag != crc32c(0, frame->data, frame->len))
        w->fcs_dropped++;
    else
        ltp_input(w->nodes[node].ltp, fill_frame(w, frame), frame->len, w->now);
}

/* ---- what happens, in the order of ties; `next` is the index of its link or node ---- */

static tick arrivals_due(void *context, tick before)
{
    struct sim_world *w = context;
    for (size_t i = 0; i < w->link_count; i++) {
        const tick due = chan_deadline(w->links[i].chan);
        if (due < before) {
            before = due;
            w->next = i;
        }
    }
    return before;
}

static void step_arrival(void *context)
{
    struct sim_world *w = context;
    const size_t node = w->links[w->next].to;
    struct chan_out out;
    if (chan_output(w->links[w->next].chan, w->now, &out) != 0)
        take_arrivals(w, node, &out);
    w->acts = node;
}

static tick timers_due(void *context, tick before)
{
    struct sim_world *w = context;
    for (size_t i = 0; i < w->node_count; i++) {
        if (w->nodes[i].deadline < before) {
            before = w->nodes[i].deadline;
            w->next = i;
        }
    }
    return before;
}

static void step_timer(void *context)
{
    struct sim_world *w = context;
    ltp_expire(w->nodes[w->next].ltp, w->now);
    w->acts = w->next;
}

static tick lines_due(void *context, tick before)
{
    struct sim_world *w = context;
    for (size_t i = 0; i < w->link_count; i++) {
        if (w->links[i].wake < before) {
            before = w->links[i].wake;
            w->next = i;
        }
    }
    return before;
}

static void step_line(void *context)
{
    struct sim_world *w = context;
    w->acts = w->links[w->next].from;
}

static void advance_clock(void *context, tick due)
{
    struct sim_world *w = context;
    w->now = due > w->now ? due : w->now;
    w->steps++;
}

static void drain_node(void *context)
{
    struct sim_world *w = context;
    sim_touch(w, w->acts);
}

#define SOURCES 3
static struct world_run make_run(struct sim_world *w, struct world_source out[SOURCES])
{
    out[0] = (struct world_source){arrivals_due, step_arrival, w};
    out[1] = (struct world_source){timers_due, step_timer, w};
    out[2] = (struct world_source){lines_due, step_line, w};
    return (struct world_run){out, SOURCES, advance_clock, drain_node, w};
}

tick sim_deadline(struct sim_world *w)
{
    struct world_source sources[SOURCES];
    const struct world_run run = make_run(w, sources);
    const tick due = world_run_due(&run);
    return due > w->now ? due : w->now;
}

bool sim_step_before(struct sim_world *w, tick until)
{
    struct world_source sources[SOURCES];
    const struct world_run run = make_run(w, sources);
    return w->now < until && world_run_step(&run, until);
}

void sim_step(struct sim_world *w)
{
    const bool done = sim_step_before(w, TICK_NEVER);
    assert(done);
    (void)done;
}

void sim_run(struct sim_world *w, tick until)
{
    while (sim_step_before(w, until)) {
    }
    if (until != TICK_NEVER && until > w->now)
        w->now = until;
}

bool sim_idle(const struct sim_world *w)
{
    for (size_t i = 0; i < w->node_count; i++) {
        if (!ltp_idle(w->nodes[i].ltp))
            return false;
    }
    for (size_t i = 0; i < w->link_count; i++) {
        if (chan_counters(w->links[i].chan)->queued != 0)
            return false;
    }
    return true;
}
