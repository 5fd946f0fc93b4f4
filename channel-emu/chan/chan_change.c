/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list is a copy, since changes in mid-run join it: what is behind is taken out first, so it
 * grows no longer than what is ahead. What can go wrong: memory, and changes without sense.
 */
#include "channel-emu/chan/chan_change.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define ALL_KEYS                                                                                   \
    (CHAN_KEY_RATE | CHAN_KEY_DELAY | CHAN_KEY_LOSS | CHAN_KEY_DUPLICATE | CHAN_KEY_CORRUPT |      \
     CHAN_KEY_BITS)

static bool is_probability(double p)
{
    return p >= 0 && p <= 1;
}

/* Values that it does not set may be anything. */
static bool change_valid(const struct chan_config *k, const struct chan_change *c)
{
    unsigned keys = c->keys;
    return keys != 0 && (keys & ~(unsigned)ALL_KEYS) == 0 &&
           ((keys & CHAN_KEY_RATE) == 0 || (c->rate_bps > 0 && k->rate_bps > 0)) &&
           ((keys & CHAN_KEY_DELAY) == 0 || k->point_count == 0) &&
           ((keys & CHAN_KEY_LOSS) == 0 || is_probability(c->loss)) &&
           ((keys & CHAN_KEY_DUPLICATE) == 0 || is_probability(c->duplicate)) &&
           ((keys & CHAN_KEY_CORRUPT) == 0 || is_probability(c->corrupt)) &&
           ((keys & CHAN_KEY_BITS) == 0 || is_probability(c->bit_error_rate));
}

bool chan_changes_valid(const struct chan_config *config)
{
    const struct chan_change *list = config->changes;
    if (config->change_count > CHAN_TABLE_MAX || (config->change_count > 0 && list == NULL))
        return false;
    for (size_t i = 0; i < config->change_count; i++) {
        if (!change_valid(config, &list[i]) || (i > 0 && list[i].at <= list[i - 1].at))
            return false;
    }
    return true;
}

bool chan_changes_any(const struct chan_config *config, enum chan_key key)
{
    const double first = key == CHAN_KEY_LOSS        ? config->loss
                         : key == CHAN_KEY_DUPLICATE ? config->duplicate
                         : key == CHAN_KEY_CORRUPT   ? config->corrupt
                         : key == CHAN_KEY_BITS      ? config->bit_error_rate
                                                     : 0;
    bool any = config->live || first > 0;
    for (size_t i = 0; i < config->change_count && !any; i++)
        any = (config->changes[i].keys & key) != 0;
    return any;
}

int chan_changes_init(struct chan_changes *c, const struct chan_config *config)
{
    assert(chan_changes_valid(config));
    size_t n = config->change_count;
    *c = (struct chan_changes){.count = n,
                               .values = {.rate_bps = config->rate_bps,
                                          .delay = config->delay,
                                          .loss = config->loss,
                                          .duplicate = config->duplicate,
                                          .bit_error_rate = config->bit_error_rate}};
    c->values.flip = chan_flip_odds(config->corrupt, config->bit_error_rate);
    if (n == 0)
        return 0;
    c->list = malloc(n * sizeof *c->list);
    if (c->list == NULL)
        return HELIO_ENOMEM;
    memcpy(c->list, config->changes, n * sizeof *c->list);
    return 0;
}

void chan_changes_fini(struct chan_changes *c)
{
    free(c->list);
    c->list = NULL;
    c->count = c->next = 0;
}

void chan_changes_begin(struct chan_changes *c, tick origin)
{
    assert(c->next == 0);
    for (size_t i = 0; i < c->count; i++)
        c->list[i].at = tick_add(origin, c->list[i].at);
}

static void take_change(struct chan_values *v, const struct chan_change *c)
{
    assert(c->keys != 0);
    if ((c->keys & CHAN_KEY_RATE) != 0)
        v->rate_bps = c->rate_bps;
    if ((c->keys & CHAN_KEY_DELAY) != 0)
        v->delay = c->delay;
    if ((c->keys & CHAN_KEY_LOSS) != 0)
        v->loss = c->loss;
    if ((c->keys & CHAN_KEY_DUPLICATE) != 0)
        v->duplicate = c->duplicate;
    if ((c->keys & CHAN_KEY_BITS) != 0)
        v->bit_error_rate = c->bit_error_rate;
    v->flip = chan_flip_odds((c->keys & CHAN_KEY_CORRUPT) != 0 ? c->corrupt : v->flip.corrupt,
                             v->bit_error_rate);
    assert(v->loss >= 0 && v->duplicate >= 0);
}

const struct chan_values *chan_changes_at(struct chan_changes *c, tick t)
{
    assert(c->next <= c->count);
    for (; c->next < c->count && c->list[c->next].at <= t; c->next++)
        take_change(&c->values, &c->list[c->next]);
    return &c->values;
}

int chan_changes_add(struct chan_changes *c, const struct chan_change *change, bool begun)
{
    assert(c->next <= c->count && change->keys != 0);
    if (!begun) {
        take_change(&c->values, change);
        return 0;
    }
    size_t ahead = c->count - c->next;
    if (ahead > 0 && c->next > 0)
        memmove(c->list, c->list + c->next, ahead * sizeof *c->list);
    c->count = ahead;
    c->next = 0;
    struct chan_change *more = realloc(c->list, (ahead + 1) * sizeof *more);
    if (more == NULL)
        return HELIO_ENOMEM;
    size_t place = 0;
    while (place < ahead && more[place].at <= change->at)
        place++;
    memmove(more + place + 1, more + place, (ahead - place) * sizeof *more);
    more[place] = *change;
    c->list = more;
    c->count = ahead + 1;
    assert(c->next == 0);
    return 0;
}
