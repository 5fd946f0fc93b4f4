/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A change during the run is applied to a direction's channels. Before the first frame there are no
 * channels, and it is kept for them. Changes are recorded, so that the report can show them like a
 * scenario. What can go wrong: memory.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "channel-emu/emu/emu_link.h"

static void merge_change(struct chan_change *into, const struct chan_change *c)
{
    struct chan_change before = *into;
    *into = *c;
    into->keys |= before.keys;
    if ((c->keys & CHAN_KEY_RATE) == 0)
        into->rate_bps = before.rate_bps;
    if ((c->keys & CHAN_KEY_DELAY) == 0)
        into->delay = before.delay;
    if ((c->keys & CHAN_KEY_LOSS) == 0)
        into->loss = before.loss;
    if ((c->keys & CHAN_KEY_DUPLICATE) == 0)
        into->duplicate = before.duplicate;
    if ((c->keys & CHAN_KEY_CORRUPT) == 0)
        into->corrupt = before.corrupt;
    if ((c->keys & CHAN_KEY_BITS) == 0)
        into->bit_error_rate = before.bit_error_rate;
}

static void keep_change(struct emu_direction *w, const struct chan_change *c, tick at)
{
    assert(w->changed_count <= EMU_CHANGED_MAX);
    if (w->changed_count == EMU_CHANGED_MAX) {
        w->changed_more++;
        return;
    }
    if (w->changed == NULL)
        w->changed = malloc(EMU_CHANGED_MAX * sizeof *w->changed);
    if (w->changed == NULL) {
        w->changed_more++;
        return;
    }
    w->changed[w->changed_count] = *c;
    w->changed[w->changed_count++].at = at > w->origin ? at - w->origin : 0;
}

static int change_values(struct emu_direction *w, const struct chan_change *c, tick at)
{
    int rc = chan_change(w->chan, c, at);
    struct chan_change delay = *c;
    delay.keys = CHAN_KEY_DELAY;
    if (rc == 0 && (c->keys & CHAN_KEY_DELAY) != 0)
        rc = chan_change(w->clean, &delay, at);
    if (rc == 0)
        keep_change(w, c, at);
    return rc;
}

/* The channels exist. */
static int change_direction(struct emu_direction *w, const struct chan_change *c, int link, tick at)
{
    assert(w->clean != NULL && at >= w->last);
    w->last = at;
    int rc = c->keys == 0 ? 0 : change_values(w, c, at);
    if (rc == 0 && link != 0)
        chan_outage(w->chan, link == 2, at);
    return rc;
}

tick emu_link_change_time(const struct emu_link *l, int dir, tick now)
{
    const struct emu_direction *w = &l->directions[dir];
    const struct links_line *line = emu_link_line(l, dir);
    tick at = tick_max(tick_max(now + l->bias, w->last), w->let_out);
    for (size_t i = 0; line != NULL && i < line->count; i++) { /* each of them runs the line */
        const struct emu_link *other = line->member[i].owner;
        at = tick_max(at, other->directions[line->member[i].dir].let_out);
    }
    return at;
}

int emu_link_change(struct emu_link *l, const struct scenario_change *change, tick now)
{
    int rc = 0;
    for (int dir = 0; dir < 2 && rc == 0; dir++) {
        struct emu_direction *w = &l->directions[dir];
        if ((change->directions[dir].keys & CHAN_KEY_DELAY) != 0)
            l->delay_told = tick_max(l->delay_told, change->directions[dir].delay);
        if (w->clean != NULL) {
            emu_link_tell(l, dir);
            rc = change_direction(w, &change->directions[dir], change->link[dir],
                                  emu_link_change_time(l, dir, now));
            continue;
        }
        merge_change(&w->ahead.directions[0], &change->directions[dir]);
        w->ahead.link[0] = change->link[dir] != 0 ? change->link[dir] : w->ahead.link[0];
    }
    return rc;
}

int emu_link_change_ahead(struct emu_link *l, int dir)
{
    struct emu_direction *w = &l->directions[dir];
    int rc = change_direction(w, &w->ahead.directions[0], w->ahead.link[0], w->last);
    w->ahead = (struct scenario_change){.link = {0, 0}};
    return rc;
}

/* Exempt frames are only delayed, so only delays change for them. */
int emu_link_clean(struct emu_direction *w, const struct chan_config *config)
{
    size_t n = 0;
    struct chan_change *delays = calloc(config->change_count + 1, sizeof *delays);
    if (delays == NULL)
        return HELIO_ENOMEM;
    for (size_t i = 0; i < config->change_count; i++) {
        if ((config->changes[i].keys & CHAN_KEY_DELAY) == 0)
            continue;
        delays[n] = config->changes[i];
        delays[n++].keys = CHAN_KEY_DELAY;
    }
    struct chan_config clean = {.delay = config->delay,
                                .points = config->points,
                                .point_count = config->point_count,
                                .origin = config->origin,
                                .changes = delays,
                                .change_count = n,
                                .live = config->live};
    int rc = chan_new(&w->clean, &clean);
    free(delays);
    return rc;
}
