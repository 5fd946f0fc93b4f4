/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explains which limit left no room for a bundle: the limits are checked again, in the order of
 * record_room and agent_fragment.c. Nothing changes except the stored explanation. Also stores
 * explanations for bundles that would be too late. What can go wrong: all limits have room
 * meanwhile (with drop_when_full); then no limit is named.
 */
#include "bp/agent/agent_impl.h"

static bool find_share(const struct agent *a, const struct shortage_of *of, bool endpoint,
                       struct agent_shortage *out)
{
    out->unit = AGENT_UNIT_BUNDLES;
    if (quota_lacks(a, of->holder, QUOTA_BUNDLES, 1, endpoint, out))
        return true;
    out->unit = AGENT_UNIT_BYTES;
    return quota_lacks(a, of->holder, QUOTA_BYTES, record_expect_charge(a, of->bytes), endpoint,
                       out);
}

static void find_limit(const struct agent *a, const struct shortage_of *of,
                       struct agent_shortage *out)
{
    struct agent_shortage common = *out;
    const bool lacks = record_lacks(a, of->bytes, &common);
    const bool earlier = lacks && !common.beside;
    if (!earlier && (bound_lacks(a, &of->holder->destination_link, of->bytes, out) ||
                     find_share(a, of, true, out)))
        return;
    if (lacks)
        *out = common;
    else
        (void)find_share(a, of, false, out);
}

static void find_of_fragments(const struct agent *a, const struct shortage_of *of,
                              enum agent_refusal refusal, struct agent_shortage *out)
{
    const uint64_t open = a->reassemblies.len, all = a->counters.fragments;
    out->unit = AGENT_UNIT_REASSEMBLIES;
    if (!of->begun && refusal == REFUSE_FULL && open >= a->limits[QUOTA_REASSEMBLIES]) {
        out->limit = AGENT_LIMIT_REASSEMBLIES;
        out->used = open;
        out->most = a->limits[QUOTA_REASSEMBLIES];
    } else if (of->begun || refusal == REFUSE_FULL ||
               !quota_lacks(a, of->holder, QUOTA_REASSEMBLIES, 1, false, out)) {
        out->unit = AGENT_UNIT_FRAGMENTS;
        if (refusal == REFUSE_FULL) {
            const bool every = all >= a->limits[QUOTA_FRAGMENTS];
            out->limit = every ? AGENT_LIMIT_FRAGMENTS_ALL : AGENT_LIMIT_FRAGMENTS;
            out->most = every ? a->limits[QUOTA_FRAGMENTS] : a->config.fragments_max;
            out->used = every ? all : out->most;
        } else {
            (void)quota_lacks(a, of->holder, QUOTA_FRAGMENTS, 1, false, out);
        }
    }
}

/* Its index in the ring; SHORTAGES: none. */
static size_t find_noted(const struct agent *a, const struct bundle_id *id)
{
    size_t i = 0;
    while (i < SHORTAGES &&
           (a->shortages[i].limit == AGENT_LIMIT_NONE || !bundle_id_equal(&a->shortages[i].id, id)))
        i++;
    return i;
}

/* A bundle that is offered repeatedly has one entry. */
static void remember_shortage(struct agent *a, const struct agent_shortage *s)
{
    size_t at = find_noted(a, &s->id);
    if (at == SHORTAGES) {
        at = a->shortages_at;
        a->shortages_at = (at + 1) % SHORTAGES;
    }
    a->shortages[at] = *s;
}

void shortage_note(struct agent *a, const struct shortage_of *of, enum agent_refusal refusal)
{
    struct agent_shortage *s = &a->shortage;
    if (refusal != REFUSE_FULL && refusal != REFUSE_QUOTA && refusal != REFUSE_QUEUE)
        return;
    *s = (struct agent_shortage){.bytes = of->bytes, .from = of->from};
    s->to = link_of(a, &of->holder->destination_link);
    s->id = of->head->id;
    s->destination = of->head->destination;
    if (of->fragment)
        find_of_fragments(a, of, refusal, s);
    else
        find_limit(a, of, s);
    if (of->from >= 0)
        remember_shortage(a, s);
}

const struct agent_shortage *agent_shortage(const struct agent *a)
{
    return &a->shortage;
}

const struct agent_shortage *agent_shortage_of(const struct agent *a, const struct bundle_id *id)
{
    const size_t at = find_noted(a, id);
    return at < SHORTAGES ? &a->shortages[at] : NULL;
}

/* --- too late --- */

static size_t find_late(const struct agent *a, const struct bundle_id *id)
{
    size_t i = 0;
    while (i < SHORTAGES && (a->lates[i].expires == 0 || !bundle_id_equal(&a->lates[i].id, id)))
        i++;
    return i;
}

void late_note(struct agent *a, const struct agent_head *h, tick expires, tick arrival, int from)
{
    a->late = (struct agent_late){.arrival = arrival, .from = from};
    a->late.expires = expires > 0 ? expires : 1; /* 0: there was none */
    a->late.id = h->id;
    a->late.destination = h->destination;
    if (from < 0)
        return;
    size_t at = find_late(a, &h->id);
    if (at == SHORTAGES) {
        at = a->lates_at;
        a->lates_at = (at + 1) % SHORTAGES;
    }
    a->lates[at] = a->late;
}

const struct agent_late *agent_late(const struct agent *a)
{
    return &a->late;
}

const struct agent_late *agent_late_of(const struct agent *a, const struct bundle_id *id)
{
    const size_t at = find_late(a, id);
    return at < SHORTAGES ? &a->lates[at] : NULL;
}
