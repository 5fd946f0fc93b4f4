/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The case's actions and blocks are the script; engines and lines do the rest. At the end every
 * block's ends are compared. What may excuse a block: the user cancelled it, nobody serves its
 * service, an engine was restarted, or (when the case is not gentle) a retry limit was reached. A
 * block may have arrived and yet be cancelled at the sender when the reports got lost; it may never
 * be done at the sender and not have arrived. An orange block may likewise arrive and be called
 * lost, never the other way round; and its sender hears of it in the time that its span says.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "ltp/segment.h"
#include "sim/sim_world.h"
#include "tests/sim/ledger.h"
#include "tests/sim/soak.h"

struct soak {
    const struct soak_case *c;
    struct sim_world world;
    struct ledger ledger;
    size_t action, sent[2]; /* next ones */
    uint64_t tx_bytes;      /* of engines that were restarted */
    uint32_t lives[2];
    struct {
        uint32_t segment, checkpoint;
    } longest[2]; /* of the spans as they are */
    bool accept_later[2];
    const char *wrong;
    const struct ledger_entry *wrong_entry;
};

static void complain(struct soak *s, const char *what, const struct ledger_entry *e)
{
    if (s->wrong == NULL) {
        s->wrong = what;
        s->wrong_entry = e;
    }
}

static void accept_block(struct soak *s, size_t node, struct ledger_entry *e)
{
    e->accepted = true;
    ltp_accept(s->world.nodes[node].ltp, e->id, s->world.now);
}

/* The sender's timer stands still while its link is known to be down. */
static void judge_time(struct soak *s, size_t node, const struct ledger_entry *e)
{
    const struct ltp_span *span = &s->c->span[node];
    tick wait = span->orange_wait != 0 ? span->orange_wait : span->rto;
    tick most = span->orange_answer != 0 ? span->orange_answer : wait + 3 * span->rto;
    for (size_t i = 0; i < s->c->actions; i++) {
        if (s->c->action[i].what == SOAK_LINK_DOWN && s->c->action[i].node == node)
            return;
    }
    if (e->all_sent != TICK_NEVER && s->world.now - e->all_sent > most)
        complain(s, "a loss was told too late", e);
}

static void on_notice(void *context, size_t node, const struct ltp_notice *n)
{
    struct soak *s = context;
    if (s->c->safety_only || n->id.number >= SOAK_FORGED) {
        if (n->kind == LTP_BLOCK || n->kind == LTP_GREEN)
            ltp_accept(s->world.nodes[node].ltp, n->id, s->world.now);
        return;
    }
    const char *wrong = ledger_notice(&s->ledger, n);
    struct ledger_entry *e = ledger_find(&s->ledger, n->id);
    if (wrong != NULL)
        complain(s, wrong, e);
    if (e == NULL)
        return;
    if (n->kind == LTP_INITIAL_SENT)
        e->all_sent = s->world.now;
    if (n->kind == LTP_EXPORT_LOST && e->orange)
        judge_time(s, node, e);
    if (n->kind != LTP_BLOCK && !(n->kind == LTP_GREEN && n->orange && e->whole))
        return;
    e->accepted = false; /* after a restart a second time */
    if (!s->accept_later[node])
        accept_block(s, node, e);
}

static void on_segment(void *context, size_t link, const uint8_t *data, size_t len)
{
    struct soak *s = context;
    bool checkpoint = (data[0] & 15) >= LTP_RED_CP && (data[0] & 15) <= LTP_RED_CP_EOB;
    /* link i comes from node i */
    if (len > (checkpoint ? s->longest[link].checkpoint : s->longest[link].segment))
        complain(s, "a segment is longer than its span allows", NULL);
    sim_enter(&s->world, link, data, len);
}

static void note_longest(struct soak *s, size_t node, const struct ltp_span *span)
{
    s->longest[node].segment = span->segment_max;
    s->longest[node].checkpoint = span->segment_max + span->checkpoint_extra;
}

static void start_node(struct soak *s, size_t node)
{
    note_longest(s, node, &s->c->span[node]);
    struct ltp *ltp = s->world.nodes[node].ltp;
    if (ltp_span_set(ltp, &s->c->span[node], s->world.now) != 0 ||
        ltp_link(ltp, 2 - node, true, s->world.now) != 0)
        abort();
}

static void restart(struct soak *s, const struct soak_action *a)
{
    struct ltp_config config = s->c->engine[a->node];
    config.seed = a->pick;
    s->tx_bytes += ltp_counters(s->world.nodes[a->node].ltp)->tx_bytes;
    if (sim_node_restart(&s->world, a->node, &config) != 0)
        abort();
    s->lives[a->node]++;
    start_node(s, a->node);
}

static void cancel_one(struct soak *s, const struct soak_action *a)
{
    struct ltp_session_info info[64];
    struct ltp *ltp = s->world.nodes[a->node].ltp;
    size_t count = ltp_sessions(ltp, info, 64);
    if (count == 0)
        return;
    struct ltp_session_id id = info[a->pick % (count < 64 ? count : 64)].id;
    struct ledger_entry *e = ledger_find(&s->ledger, id);
    if (e != NULL)
        e->user_cancelled = true;
    ltp_cancel(ltp, id, LTP_USR_CNCLD, s->world.now);
}

static void accept_all(struct soak *s, size_t node)
{
    s->accept_later[node] = false;
    for (size_t i = s->action + 1; i < s->c->actions; i++) {
        const struct soak_action *a = &s->c->action[i];
        s->accept_later[node] |= a->what == SOAK_ACCEPT && a->node == node;
    }
    for (size_t i = 0; i < s->ledger.len; i++) {
        struct ledger_entry *e = &s->ledger.entries[i];
        if (e->to == node && (e->red_arrived > 0 || (e->orange && e->whole)) && !e->accepted)
            accept_block(s, node, e);
    }
}

static void change_span(struct soak *s, const struct soak_action *a)
{
    struct ltp_span span = soak_span(s->c, a);
    int rc = ltp_span_set(s->world.nodes[a->node].ltp, &span, s->world.now);
    ltp_check(s->world.nodes[a->node].ltp);
    if (rc == 0)
        note_longest(s, a->node, &span);
    else if (rc != HELIO_ENOMEM ||
             (s->c->memory_share == 0 && s->c->engine[a->node].held_bytes == 0))
        complain(s, "a span could not be changed", NULL);
}

/* Segments that arrive at the node at once, in the name of its peer. */
static void flood(struct soak *s, const struct soak_action *a)
{
    static const uint8_t zeros[1000],
        types[] = {LTP_RED, LTP_RED, LTP_RED_CP, LTP_RED_CP_EOB, LTP_GREEN_EOB, LTP_GREEN_DATA};
    struct ltp *ltp = s->world.nodes[a->node].ltp;
    struct rng r;
    rng_init(&r, a->pick);
    for (uint64_t n = 1 + rng_below(&r, 100); n > 0; n--) {
        struct ltp_segment forged = {.type = types[rng_below(&r, sizeof types)],
                                     .id = {2 - a->node, SOAK_FORGED + rng_below(&r, 1 << 30)},
                                     .client_service = 1,
                                     .offset = rng_chance(&r, 0.8) ? 0 : rng_below(&r, 5000),
                                     .data = slice_of(zeros, 1 + rng_below(&r, sizeof zeros))};
        uint8_t bytes[1200];
        if (segment_is_checkpoint(&forged))
            forged.cp_serial = 1 + rng_below(&r, 10000);
        size_t len = segment_write(&forged, bytes, sizeof bytes);
        ltp_input(ltp, bytes, len, s->world.now);
    }
    ltp_check(ltp);
}

static void act(struct soak *s)
{
    const struct soak_action *a = &s->c->action[s->action];
    struct ltp *ltp = s->world.nodes[a->node].ltp;
    switch (a->what) {
    case SOAK_LINK_DOWN:
    case SOAK_LINK_UP:
        ltp_link(ltp, 2 - a->node, a->what == SOAK_LINK_UP, s->world.now);
        break;
    case SOAK_OUTAGE_BEGIN:
    case SOAK_OUTAGE_END:
        chan_outage(s->world.links[a->node].chan, a->what == SOAK_OUTAGE_BEGIN, s->world.now);
        break;
    case SOAK_RESTART:
        restart(s, a);
        break;
    case SOAK_CANCEL:
        cancel_one(s, a);
        break;
    case SOAK_ACCEPT:
        accept_all(s, a->node);
        break;
    case SOAK_SPAN:
        change_span(s, a);
        break;
    case SOAK_FLOOD:
        flood(s, a);
        break;
    }
    sim_touch(&s->world, a->node);
    s->action++;
}

/* The next block that a node has to send; NULL when there is none. */
static const struct soak_block *next_block(struct soak *s, size_t node)
{
    const struct soak_case *c = s->c;
    while (s->sent[node] < c->blocks && c->block[s->sent[node]].from != node)
        s->sent[node]++;
    return s->sent[node] < c->blocks ? &c->block[s->sent[node]] : NULL;
}

static tick next_send(struct soak *s, size_t node)
{
    const struct soak_block *b = next_block(s, node);
    if (b == NULL || ltp_room(s->world.nodes[node].ltp, 2 - node) == 0)
        return TICK_NEVER;
    return b->at > s->world.now ? b->at : s->world.now;
}

static void send_block(struct soak *s, size_t node)
{
    const struct soak_block *b = next_block(s, node);
    struct ltp_block block = {.peer = 2 - node,
                              .client_service = b->service,
                              .data = ledger_block(s->c->seed + s->sent[node], b->red + b->green),
                              .red_len = b->red,
                              .orange = b->orange};
    struct ltp_session_id id;
    int rc = ltp_send(s->world.nodes[node].ltp, &block, s->world.now, &id);
    if (rc == HELIO_ENOMEM && s->c->memory_share > 0) {
        buf_drop(block.data);
    } else if (rc != 0) {
        buf_drop(block.data);
        complain(s, "ltp_send refused a block though there was room", NULL);
    } else {
        struct ledger_entry *e = ledger_add(&s->ledger, id, block.data);
        e->from = node;
        e->to = 1 - node;
        e->red_len = b->red;
        e->orange = b->orange;
        e->lives[0] = s->lives[node];
        e->lives[1] = s->lives[1 - node];
        e->lost_service = b->service != 1;
    }
    s->sent[node]++;
    sim_touch(&s->world, node);
}

static void build(struct soak *s)
{
    if (sim_init(&s->world, &(struct sim_hooks){s, on_notice, on_segment}) != 0)
        abort();
    s->world.check_every = 16;
    s->world.fcs = s->c->fcs;
    for (size_t i = 0; i < 2; i++) {
        size_t index;
        if (sim_node_add(&s->world, &s->c->engine[i], &index) != 0)
            abort();
        s->accept_later[i] = s->c->span[i].confirm_import;
    }
    for (size_t i = 0; i < 2; i++) {
        size_t index;
        if (sim_link_add(&s->world, i, 1 - i, &s->c->line[i], &index) != 0)
            abort();
        start_node(s, i);
    }
}

/* Runs until nothing is left to do, or a bound is passed. */
static void play(struct soak *s)
{
    while (s->wrong == NULL) {
        tick action = s->action < s->c->actions ? s->c->action[s->action].at : TICK_NEVER;
        tick send[2] = {next_send(s, 0), next_send(s, 1)};
        tick script = tick_min(action, tick_min(send[0], send[1]));
        if (script == TICK_NEVER && sim_idle(&s->world))
            return;
        tick due = sim_deadline(&s->world);
        if (tick_min(script, due) > s->c->end)
            complain(s, "not idle within the time", NULL);
        else if (s->world.steps > s->c->steps_max)
            complain(s, "not idle within the steps", NULL);
        else if (script > due)
            sim_step(&s->world);
        else {
            sim_run(&s->world, script);
            if (action == script)
                act(s);
            else
                send_block(s, send[0] == script ? 0 : 1);
        }
    }
}

static void judge_red(struct soak *s, const struct ledger_entry *e)
{
    bool sender_died = e->lives[0] != s->lives[e->from];
    bool receiver_died = e->lives[1] != s->lives[e->to];
    if (e->red_arrived > 1 && !receiver_died)
        complain(s, "a red part was delivered twice", e);
    if (e->done && e->red_arrived == 0 && !receiver_died)
        complain(s, "done at the sender, but never delivered", e);
    if (s->c->gentle && !e->done && !e->user_cancelled && !e->lost_service && !sender_died)
        complain(s, "cancelled without a reason", e);
}

static void judge_orange(struct soak *s, const struct ledger_entry *e)
{
    bool receiver_died = e->lives[1] != s->lives[e->to];
    if (e->done && !receiver_died && !(e->whole && e->accepted))
        complain(s, "told that it is delivered, but it is not", e);
    if (e->done && s->c->span[e->to].orange_deaf)
        complain(s, "told by a receiver that tells nothing", e);
}

static void judge(struct soak *s)
{
    uint64_t tx = s->tx_bytes;
    for (size_t i = 0; i < 2; i++) {
        ltp_expire(s->world.nodes[i].ltp, s->world.now); /* the data of the last output ends */
        ltp_check(s->world.nodes[i].ltp);
        tx += ltp_counters(s->world.nodes[i].ltp)->tx_bytes;
    }
    if (tx > s->c->tx_bytes_max)
        complain(s, "too many bytes were sent", NULL);
    for (size_t i = 0; i < s->ledger.len; i++) {
        const struct ledger_entry *e = &s->ledger.entries[i];
        if (e->data->refs != 1)
            complain(s, "an idle engine still holds the block", e);
        if (s->c->safety_only)
            continue;
        if (!e->done && !e->cancelled && e->lives[0] == s->lives[e->from])
            complain(s, "idle, but the sender was never told the end", e);
        if (e->green_arrived > e->data->len - e->red_len && e->lives[1] == s->lives[e->to])
            complain(s, "green data was delivered twice", e);
        if (e->red_len > 0)
            judge_red(s, e);
        if (e->orange)
            judge_orange(s, e);
    }
}

static void add_up(const struct soak *s, struct soak_totals *t)
{
    t->cases++;
    t->gentle += s->c->gentle;
    t->blocks += s->ledger.len;
    t->steps += s->world.steps;
    for (size_t i = 0; i < s->ledger.len; i++) {
        t->red_delivered += s->ledger.entries[i].red_arrived;
        t->cancelled += s->ledger.entries[i].cancelled;
        t->orange += s->ledger.entries[i].orange;
        t->orange_lost += s->ledger.entries[i].orange && !s->ledger.entries[i].done;
    }
    for (size_t i = 0; i < 2; i++) {
        const struct chan_counters *c = chan_counters(s->world.links[i].chan);
        t->frames += c->in;
        t->discarded += ltp_counters(s->world.nodes[i].ltp)->closed[OUTCOME_DISCARDED];
        t->lost += chan_lost(c);
    }
}

bool soak_run(const struct soak_case *c, struct soak_totals *totals, char *why, size_t cap)
{
    struct soak s = {.c = c};
    ledger_init(&s.ledger);
    build(&s);
    soak_memory_begin(c->seed, c->memory_share);
    play(&s);
    soak_memory_begin(0, 0);
    if (s.wrong == NULL)
        judge(&s);
    add_up(&s, totals);
    if (s.wrong != NULL) {
        const struct ledger_entry *e = s.wrong_entry;
        snprintf(why, cap,
                 "%s (at %.9f s, session %" PRIu64 ".%" PRIu64 ", %zu bytes, %" PRIu64
                 " red, reason %d, remote %d)",
                 s.wrong, (double)s.world.now / 1e9, e != NULL ? e->id.originator : 0,
                 e != NULL ? e->id.number : 0, e != NULL ? e->data->len : 0,
                 e != NULL ? e->red_len : 0, e != NULL ? (int)e->reason : -1,
                 e != NULL && e->remote);
    }
    sim_fini(&s.world);
    ledger_fini(&s.ledger);
    return s.wrong == NULL;
}
