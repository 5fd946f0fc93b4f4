/* SPDX-License-Identifier: Apache-2.0 */
/* The earliest of arrival, timer and free line is done, then everything is drained. A block is its
 * number, repeated: so what arrives can be compared without keeping it. */
#include "tests/sim/model_world.h"

#include <assert.h>
#include <stdlib.h>

#include "base/bucket.h"
#include "base/rng.h"
#include "ltp/segment.h"

#define FRAME 65536

struct model_world {
    const struct model_case *c;
    struct model_result *r;
    struct ltp *from, *to; /* to: NULL with a model */
    struct model *model;
    struct chan *out, *back;
    struct bucket line;
    tick now, line_wake;
    struct buf **data;
    size_t *queue; /* blocks to send, a ring */
    size_t queue_head, queue_len;
    bool *delivered;
    uint8_t frame[FRAME];
};

static void *must(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

static struct ltp *make_engine(uint64_t number, uint64_t seed, struct ltp_span span)
{
    struct ltp *l;
    struct ltp_config config = {.engine = number, .seed = seed};
    span.peer = 3 - number;
    if (ltp_new(&l, &config) < 0 || ltp_span_set(l, &span, 0) < 0 ||
        ltp_link(l, span.peer, true, 0) < 0)
        abort();
    return l;
}

static struct ltp *make_receiver(uint64_t seed, const struct model_case *c)
{
    struct ltp_span span = c->span;
    if (c->theirs != NULL)
        span.recovery = *c->theirs;
    return make_engine(2, seed, span);
}

static struct buf *make_block(size_t number, uint64_t length)
{
    struct buf *b = must(buf_new(0, length));
    uint8_t *at = buf_append(b, length);
    for (uint64_t i = 0; i < length; i++)
        at[i] = (uint8_t)(number >> (8 * (i % 4)));
    return b;
}

static void init_world(struct model_world *w, const struct model_case *c)
{
    struct rng rng;
    rng_init(&rng, c->seed);
    w->from = make_engine(1, rng_u64(&rng), c->span);
    if (c->model == NULL)
        w->to = make_receiver(rng_u64(&rng), c);
    else
        w->model = must(model_new(
            &(struct model_config){.engine = 2, .seed = rng_u64(&rng), .traits = *c->model}));
    struct chan_config out = c->out, back = c->back;
    out.seed = rng_u64(&rng);
    back.seed = rng_u64(&rng);
    if (chan_new(&w->out, &out) < 0 || chan_new(&w->back, &back) < 0)
        abort();
    bucket_init(&w->line, c->out.rate_bps, 0, 0, 0);
    w->line_wake = TICK_NEVER;
    w->data = must(calloc(c->blocks, sizeof *w->data));
    w->queue = must(calloc(c->blocks, sizeof *w->queue));
    w->delivered = must(calloc(c->blocks, sizeof *w->delivered));
    for (size_t i = 0; i < c->blocks; i++)
        w->queue[w->queue_len++] = i;
}

static void fini_world(struct model_world *w)
{
    for (size_t i = 0; i < w->c->blocks; i++)
        buf_drop(w->data[i]);
    free(w->data);
    free(w->queue);
    free(w->delivered);
    chan_free(w->out);
    chan_free(w->back);
    ltp_free(w->from);
    ltp_free(w->to);
    model_free(w->model);
}

static void take_block(struct model_world *w, struct buf *b)
{
    const uint8_t *at = buf_data(b);
    uint64_t number = 0;
    for (size_t i = 0; i < 4 && i < b->len; i++)
        number |= (uint64_t)at[i] << (8 * i);
    bool good = b->len == w->c->block && number < w->c->blocks;
    for (uint64_t i = 0; good && i < b->len; i++)
        good = at[i] == (uint8_t)(number >> (8 * (i % 4)));
    w->r->wrong |= !good;
    if (good && w->delivered[number])
        w->r->again++;
    else if (good)
        w->r->delivered++;
    if (good)
        w->delivered[number] = true;
    buf_drop(b);
}

static void requeue(struct model_world *w, size_t block)
{
    assert(w->queue_len < w->c->blocks);
    w->queue[(w->queue_head + w->queue_len++) % w->c->blocks] = block;
}

static void drain_notices(struct model_world *w)
{
    struct ltp_notice n;
    while (ltp_poll(w->from, &n) != 0) {
        if (n.kind == LTP_EXPORT_DONE) {
            w->r->done++;
            w->r->done_later += w->now >= w->c->measure_from;
            buf_drop(w->data[n.tag]);
            w->data[n.tag] = NULL;
        } else if (n.kind == LTP_EXPORT_CANCELLED) {
            w->r->cancelled_remote += n.remote;
            w->r->cancelled_local += !n.remote;
            requeue(w, (size_t)n.tag);
        }
    }
    struct ltp_session_id id;
    if (w->model != NULL) {
        for (struct buf *b = model_block(w->model, &id); b != NULL; b = model_block(w->model, &id))
            take_block(w, b);
        return;
    }
    while (ltp_poll(w->to, &n) != 0) {
        if (n.kind == LTP_BLOCK)
            take_block(w, n.data);
        else
            buf_drop(n.data);
    }
}

static void send_blocks(struct model_world *w)
{
    while (w->queue_len > 0 && ltp_room(w->from, 2) > 0) {
        size_t at = w->queue[w->queue_head];
        if (w->data[at] == NULL)
            w->data[at] = make_block(at, w->c->block);
        struct ltp_block b = {
            .peer = 2, .client_service = 1, .data = w->data[at], .red_len = w->c->block, .tag = at};
        struct ltp_session_id id;
        if (ltp_send(w->from, &b, w->now, &id) < 0)
            abort();
        w->queue_head = (w->queue_head + 1) % w->c->blocks;
        w->queue_len--;
    }
}

static size_t output(struct model_world *w, struct ltp *l, uint64_t peer)
{
    struct ltp_out out = {.head = w->frame, .head_cap = FRAME};
    if (ltp_output(l, peer, w->now, &out) == 0)
        return 0;
    if (out.data.len > 0)
        memcpy(w->frame + out.head_len, out.data.data, out.data.len);
    return out.head_len + out.data.len;
}

static bool radiate(struct model_world *w)
{
    bucket_begin(&w->line, w->now);
    if (!bucket_ready(&w->line, w->now))
        return false;
    size_t len = output(w, w->from, 2);
    if (len == 0)
        return false;
    bucket_spend(&w->line, len + w->c->out.overhead, w->now);
    chan_input(w->out, w->frame, len, 0, w->now);
    return true;
}

static bool answer(struct model_world *w)
{
    size_t len =
        w->model != NULL ? model_output(w->model, w->frame, FRAME, w->now) : output(w, w->to, 1);
    if (len == 0)
        return false;
    bool report = (w->frame[0] & 15) == LTP_RS;
    w->r->reports += report;
    w->r->reports_later += report && w->now >= w->c->measure_from;
    chan_input(w->back, w->frame, len, 0, w->now);
    return true;
}

static void drain(struct model_world *w)
{
    bool again = true;
    while (again) {
        drain_notices(w);
        send_blocks(w);
        again = radiate(w);
        again |= answer(w);
    }
    bool waits = ltp_has_output(w->from, 2) && !bucket_ready(&w->line, w->now);
    w->line_wake = waits ? bucket_wake(&w->line, w->now) : TICK_NEVER;
}

static tick deadline(const struct model_world *w)
{
    tick due = tick_min(chan_deadline(w->out), chan_deadline(w->back));
    due = tick_min(due, tick_min(ltp_deadline(w->from), w->line_wake));
    return tick_min(due, w->model != NULL ? model_deadline(w->model) : ltp_deadline(w->to));
}

static void step(struct model_world *w)
{
    struct chan_out f;
    if (chan_deadline(w->out) <= w->now) {
        while (chan_output(w->out, w->now, &f) != 0) {
            if (w->model != NULL)
                model_input(w->model, f.data, f.len, w->now);
            else
                ltp_input(w->to, f.data, f.len, w->now);
        }
    } else if (chan_deadline(w->back) <= w->now) {
        while (chan_output(w->back, w->now, &f) != 0)
            ltp_input(w->from, f.data, f.len, w->now);
    } else if (ltp_deadline(w->from) <= w->now) {
        ltp_expire(w->from, w->now);
    } else if (w->model != NULL) {
        model_expire(w->model, w->now);
    } else {
        ltp_expire(w->to, w->now);
    }
    drain(w);
}

void model_play(const struct model_case *c, struct model_result *out)
{
    struct model_world *w = must(calloc(1, sizeof *w));
    *out = (struct model_result){0};
    w->c = c;
    w->r = out;
    init_world(w, c);
    drain(w);
    while (out->done < c->blocks) {
        tick due = deadline(w);
        if (due > c->time_max || out->cancelled_remote > c->cancels_max)
            break;
        w->now = due > w->now ? due : w->now;
        step(w);
    }
    out->end = w->now;
    ltp_check(w->from);
    ltp_peer_support(w->from, 2, &out->support);
    out->narrowed = ltp_counters(w->from)->peers_narrowed;
    if (w->model != NULL) {
        out->serials = model_counters(w->model)->reports;
        out->malformed = model_counters(w->model)->malformed;
    }
    fini_world(w);
    free(w);
}
