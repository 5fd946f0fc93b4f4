/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame gets its time on the air when it enters: from when the line is free until it is
 * serialised. With that its fate is known, but for outages: erased frames are counted and
 * forgotten at once (they occupied the line all the same), the others are copied and wait for their
 * arrival; in a list, since without jitter they arrive in order, else in a heap. An outage marks
 * those that it meets when it ends; while it lasts, what would arrive is lost.
 * What can go wrong: no memory for a copy, counted as dropped_memory.
 */
#include "channel-emu/chan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"
#include "channel-emu/chan_pool.h"

struct chan {
    struct chan_config config;
    struct chan_counters counters;
    struct trace_clock clock;
    struct rng loss, noise; /* apart, so that noise does not move the losses of a seed */
    tick free_at;           /* when the line is free ... */
    uint64_t free_fraction; /* ... and this many 1/rate_bps of a ns */
    tick last_input;
    struct list line;  /* frames in order of arrival, when there is no jitter */
    struct heap order; /* the same, with jitter */
    struct chan_pool pool;
    struct list held; /* frames whose data was lent to the caller */
    bool down;
    tick down_since;
};

static bool is_probability(double p)
{
    return p >= 0 && p <= 1;
}

static bool config_valid(const struct chan_config *k)
{
    return is_probability(k->loss) && is_probability(k->duplicate) && is_probability(k->corrupt) &&
           k->overhead <= CHAN_OVERHEAD_MAX && (k->trace == NULL || k->trace->steps > 0);
}

int chan_new(struct chan **out, const struct chan_config *config)
{
    if (!config_valid(config))
        return HELIO_EINVAL;
    struct chan *c = calloc(1, sizeof *c);
    if (c == NULL)
        return HELIO_ENOMEM;
    c->config = *config;
    if (config->trace != NULL)
        trace_clock_init(&c->clock, config->trace, config->origin, config->trace_offset);
    rng_init(&c->loss, config->seed);
    rng_init(&c->noise, ~config->seed);
    list_init(&c->line);
    list_init(&c->held);
    heap_init(&c->order);
    chan_pool_init(&c->pool);
    *out = c;
    return 0;
}

void chan_free(struct chan *c)
{
    if (c == NULL)
        return;
    list_for_each_safe (it, &c->line)
        free(container_of(it, struct chan_frame, link));
    for (size_t i = 0; i < c->order.len; i++)
        free(container_of(c->order.nodes[i], struct chan_frame, node));
    heap_fini(&c->order);
    list_for_each_safe (it, &c->held)
        free(container_of(it, struct chan_frame, link));
    chan_pool_fini(&c->pool);
    free(c);
}

static void check(const struct chan *c)
{
    const struct chan_counters *n = &c->counters;
    assert(n->in + n->duplicated == n->out + n->erased_trace + n->erased_random + n->erased_outage +
                                        n->dropped_queue + n->dropped_memory + n->queued);
    (void)n;
}

static void release_held(struct chan *c)
{
    list_for_each_safe (it, &c->held)
        chan_pool_give(&c->pool, container_of(it, struct chan_frame, link));
}

/* Would this many more bytes make the wait for the line too long? */
static bool queue_full(const struct chan *c, size_t len, tick now)
{
    const struct chan_config *k = &c->config;
    if (k->queue_bytes == 0 || k->rate_bps == 0 || c->free_at <= now)
        return false;
    uint64_t more = len + k->overhead;
    if (more > k->queue_bytes)
        return true;
    double room_ns = (double)(k->queue_bytes - more) * 8e9 / (double)k->rate_bps;
    return (double)(c->free_at - now) > room_ns;
}

/* Serialises len bytes from now, or from when the line is free. */
static void take_line(struct chan *c, size_t len, tick now, tick *start, tick *end)
{
    uint64_t rate = c->config.rate_bps;
    if (c->free_at < now) {
        c->free_at = now;
        c->free_fraction = 0;
    }
    *start = c->free_at;
    if (rate > 0) {
        uint64_t bit_ns = (len + c->config.overhead) * 8 * TICK_S;
        uint64_t fraction = bit_ns % rate + c->free_fraction;
        bool carry = fraction >= rate || fraction < c->free_fraction;
        c->free_fraction = carry ? fraction - rate : fraction;
        c->free_at = tick_add(c->free_at, bit_ns / rate + carry);
    }
    *end = c->free_at;
}

static void corrupt(struct chan *c, struct chan_frame *f)
{
    if (f->len == 0 || c->config.corrupt <= 0 || !rng_chance(&c->noise, c->config.corrupt))
        return;
    uint64_t bit = rng_below(&c->noise, (uint64_t)f->len * 8);
    f->data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    c->counters.corrupted++;
}

static int enqueue(struct chan *c, struct chan_frame *f)
{
    f->due = tick_add(f->air_end, c->config.delay);
    if (c->config.jitter == 0) {
        list_add_tail(&c->line, &f->link);
        return 0;
    }
    f->due = tick_add(f->due, rng_below(&c->noise, c->config.jitter));
    return heap_set(&c->order, &f->node, f->due);
}

static void keep_copy(struct chan *c, const uint8_t *data, size_t len, uint64_t tag, tick start,
                      tick end)
{
    struct chan_frame *f = chan_pool_take(&c->pool, len);
    if (f == NULL) {
        c->counters.dropped_memory++;
        return;
    }
    f->air_start = start;
    f->air_end = end;
    f->tag = tag;
    f->lost = false;
    if (len > 0)
        memcpy(f->data, data, len);
    corrupt(c, f);
    if (enqueue(c, f) < 0) {
        chan_pool_give(&c->pool, f);
        c->counters.dropped_memory++;
        return;
    }
    c->counters.queued++;
}

void chan_input(struct chan *c, const uint8_t *data, size_t len, uint64_t tag, tick now)
{
    const struct chan_config *k = &c->config;
    struct chan_counters *n = &c->counters;
    tick start, end;

    assert(len <= CHAN_FRAME_MAX && now >= c->last_input);
    release_held(c);
    c->last_input = now;
    n->in++;
    n->in_bytes += len;
    if (queue_full(c, len, now)) {
        n->dropped_queue++;
        return;
    }
    take_line(c, len, now, &start, &end);
    /* Drawn for every frame, so that a trace does not move the independent losses. */
    bool unlucky = k->loss > 0 && rng_chance(&c->loss, k->loss);
    if (k->trace != NULL && trace_clock_bad(&c->clock, start, end)) {
        n->erased_trace++;
        return;
    }
    if (unlucky) {
        n->erased_random++;
        return;
    }
    keep_copy(c, data, len, tag, start, end);
    if (k->duplicate > 0 && rng_chance(&c->noise, k->duplicate)) {
        n->duplicated++;
        keep_copy(c, data, len, tag, start, end);
    }
}

/* Does its time on the air meet [from, to)? An instant is on the air in its one nanosecond. */
static bool meets(const struct chan_frame *f, tick from, tick to)
{
    return f->air_start < to && (f->air_end > from || f->air_start >= from);
}

void chan_outage(struct chan *c, bool down, tick now)
{
    assert(now >= c->last_input);
    release_held(c);
    c->last_input = now;
    if (down == c->down)
        return;
    c->down = down;
    if (down) {
        c->down_since = now;
        return;
    }
    list_for_each (it, &c->line) {
        struct chan_frame *f = container_of(it, struct chan_frame, link);
        f->lost = f->lost || meets(f, c->down_since, now);
    }
    for (size_t i = 0; i < c->order.len; i++) {
        struct chan_frame *f = container_of(c->order.nodes[i], struct chan_frame, node);
        f->lost = f->lost || meets(f, c->down_since, now);
    }
}

static struct chan_frame *first(const struct chan *c)
{
    if (c->config.jitter > 0) {
        struct heap_node *node = heap_first(&c->order);
        return node == NULL ? NULL : container_of(node, struct chan_frame, node);
    }
    struct list *link = list_first(&c->line);
    return link == NULL ? NULL : container_of(link, struct chan_frame, link);
}

tick chan_deadline(const struct chan *c)
{
    const struct chan_frame *f = first(c);
    return f == NULL ? TICK_NEVER : f->due;
}

int chan_output(struct chan *c, tick now, struct chan_out *out)
{
    struct chan_counters *n = &c->counters;
    check(c);
    for (;;) {
        struct chan_frame *f = first(c);
        if (f == NULL || f->due > now)
            return 0;
        list_sub(&f->link);
        heap_sub(&c->order, &f->node);
        n->queued--;
        if (f->lost || (c->down && meets(f, c->down_since, TICK_NEVER))) {
            n->erased_outage++;
            chan_pool_give(&c->pool, f);
            continue;
        }
        n->out++;
        n->out_bytes += f->len;
        list_add_tail(&c->held, &f->link);
        *out = (struct chan_out){.data = f->data, .len = f->len, .tag = f->tag, .due = f->due};
        return 1;
    }
}

const struct chan_counters *chan_counters(const struct chan *c)
{
    return &c->counters;
}
