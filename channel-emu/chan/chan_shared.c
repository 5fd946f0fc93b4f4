/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transmitter is a channel's queue without the channel: chan_line.c identifies its user only by
 * the owner of each frame. What can go wrong: memory, only for the list of changes.
 */
#include "channel-emu/chan/chan_shared.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "channel-emu/chan/chan_inside.h"

/* Without a rate nothing waits that CoDel or a mark could look at. */
bool chan_queue_valid(const struct chan_config *k)
{
    bool looks = k->codel_interval > 0 || k->mark_above > 0;
    return (!looks || k->rate_bps > 0) && (k->codel_interval == 0 || k->codel_target > 0);
}

void chan_queue_init(struct chan_queue *q, const struct chan_config *config,
                     struct chan_changes *rates)
{
    *q = (struct chan_queue){.bytes_max = config->queue_bytes,
                             .time_max = config->queue_time,
                             .mark_above = config->mark_above,
                             .rates = rates,
                             .turn = TICK_NEVER,
                             .cut = TICK_NEVER};
    list_init(&q->waiting);
    if (config->codel_interval > 0)
        chan_codel_init(&q->codel, config->codel_target, config->codel_interval,
                        config->codel_marks);
    assert(list_empty(&q->waiting) && q->free_at == 0);
}

void chan_queue_leave(struct chan *c, struct list *out)
{
    struct chan_queue *q = c->queue;
    list_for_each_safe (link, &q->waiting) {
        struct chan_frame *f = container_of(link, struct chan_frame, link);
        if (f->owner != c)
            continue;
        uint64_t bytes = f->len + c->config.overhead;
        assert(q->waiting_bytes >= bytes);
        q->waiting_bytes -= bytes;
        list_sub(link);
        list_add_tail(out, link);
    }
    if (list_empty(&q->waiting))
        q->turn = q->cut = TICK_NEVER; /* else the line finds another first frame at that time */
    assert(!list_empty(&q->waiting) || q->waiting_bytes == 0);
}

static bool only_rates(const struct chan_config *k)
{
    for (size_t i = 0; i < k->change_count; i++) {
        if (k->changes[i].keys != CHAN_KEY_RATE)
            return false;
    }
    return true;
}

int chan_shared_new(struct chan_shared **out, const struct chan_shared_config *config)
{
    assert(out != NULL && config != NULL);
    struct chan_config k = {.rate_bps = config->rate_bps,
                            .queue_bytes = config->queue_bytes,
                            .queue_time = config->queue_time,
                            .codel_target = config->codel_target,
                            .codel_interval = config->codel_interval,
                            .codel_marks = config->codel_marks,
                            .mark_above = config->mark_above,
                            .changes = config->changes,
                            .change_count = config->change_count};
    if (k.rate_bps == 0 || !chan_queue_valid(&k) || !chan_changes_valid(&k) || !only_rates(&k))
        return HELIO_EINVAL;
    struct chan_shared *s = calloc(1, sizeof *s);
    if (s == NULL)
        return HELIO_ENOMEM;
    if (chan_changes_init(&s->rates, &k) < 0) {
        free(s);
        return HELIO_ENOMEM;
    }
    chan_changes_begin(&s->rates, config->origin);
    s->config = k;
    s->config.changes = NULL; /* they were the caller's */
    chan_queue_init(&s->queue, &k, &s->rates);
    *out = s;
    return 0;
}

void chan_shared_free(struct chan_shared *s)
{
    if (s == NULL)
        return;
    assert(s->members == 0 && list_empty(&s->queue.waiting));
    chan_changes_fini(&s->rates);
    free(s);
}

int chan_shared_change(struct chan_shared *s, uint64_t rate_bps, tick now)
{
    const struct chan_change change = {.at = now, .keys = CHAN_KEY_RATE, .rate_bps = rate_bps};
    if (rate_bps == 0 || now < s->last_change)
        return HELIO_EINVAL;
    if (now > 0)
        chan_line_run(&s->queue, now - 1); /* what should have begun before */
    int rc = chan_changes_add(&s->rates, &change, true);
    s->last_change = rc == 0 ? now : s->last_change;
    assert(rc == 0 || rc == HELIO_ENOMEM);
    return rc;
}

struct chan_part chan_part(const struct chan *c)
{
    return c->part;
}

double chan_shared_fairness(const uint64_t *amounts, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        double a = (double)amounts[i];
        sum += a;
        squares += a * a;
    }
    return squares > 0 ? sum * sum / ((double)n * squares) : 1;
}
