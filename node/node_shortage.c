/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of agent_shortage. Keys are those of heliod's configuration. With durability none,
 * store.limit bounds the memory of bundles. What can go wrong: a removed link, which has no name.
 */
#include "node/node_shortage.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "cla/link_state.h"
#include "node/node_medium.h"
#include "node/plan/plan_draft.h"

#define DTN_EPOCH_MS (DTN_EPOCH_UNIX * 1000)
#define DATES_END_MS (TICK_NEVER / TICK_MS - DTN_EPOCH_MS)

static_assert(LATE_TEXT_MAX <= SHORTAGE_TEXT_MAX, "one buffer is for either");

const char *node_shortage_link(const struct node *n, int link)
{
    const bool there = link >= 0 && (size_t)link < n->links_len && n->links[link] != NULL;
    return there ? n->links[link]->config->name : "(removed)";
}

static const char *key_text(const struct node *n, const struct agent_shortage *s)
{
    static const char *const keys[] = {
        [AGENT_LIMIT_COUNT] = "bundles.count",
        [AGENT_LIMIT_BYTES] = "store.limit",
        [AGENT_LIMIT_MEMORY] = "bundles.total",
        [AGENT_LIMIT_STORING] = "bundles.memory",
        [AGENT_LIMIT_PEER] = "bundles.reserve",
        [AGENT_LIMIT_USER] = "bundles.source",
        [AGENT_LIMIT_SOURCE] = "bundles.source",
        [AGENT_LIMIT_ENDPOINT] = "bundles.endpoint",
        [AGENT_LIMIT_REASSEMBLIES] = "bundles.reassemblies",
        [AGENT_LIMIT_FRAGMENTS] = "bundles.fragments",
        [AGENT_LIMIT_FRAGMENTS_ALL] = "bundles.fragments_all",
    };
    if (s->limit == AGENT_LIMIT_QUEUE)
        return s->unit == AGENT_UNIT_BUNDLES ? "queue_bundles" : "queue_bytes";
    return s->limit == AGENT_LIMIT_MEMORY && n->storage == NULL ? "store.limit" : keys[s->limit];
}

/* Of whom, or for whom. */
static void write_whose(const struct node *n, const struct agent_shortage *s, char *out, size_t cap)
{
    char eid[EID_TEXT_MAX];
    *out = '\0';
    switch (s->limit) {
    case AGENT_LIMIT_PEER:
        if (s->from < 0)
            snprintf(out, cap, " of applications");
        else
            snprintf(out, cap, " of the neighbour of link %s", node_shortage_link(n, s->from));
        break;
    case AGENT_LIMIT_USER:
        snprintf(out, cap, " of this user's applications");
        break;
    case AGENT_LIMIT_SOURCE:
        eid_text(&s->id.source, eid);
        snprintf(out, cap, " of source %s%s", eid, s->unproven ? " and others that are new" : "");
        break;
    case AGENT_LIMIT_ENDPOINT:
        eid_text(&s->destination, eid);
        snprintf(out, cap, " for %s%s", s->idle ? "endpoints without a receiver, such as " : "",
                 eid);
        break;
    case AGENT_LIMIT_QUEUE:
        snprintf(out, cap, " of link %s", node_shortage_link(n, s->to));
        break;
    case AGENT_LIMIT_MEMORY:
        snprintf(out, cap, " of memory");
        break;
    case AGENT_LIMIT_STORING:
        snprintf(out, cap, " that wait for the store");
        break;
    case AGENT_LIMIT_FRAGMENTS:
        snprintf(out, cap, " of one bundle");
        break;
    default:
        if (s->beside)
            snprintf(out, cap, " beside bundles.reserve_queues");
    }
}

/* Is the limit a part of store.limit, or all of it? */
static bool of_medium(const struct agent_shortage *s)
{
    return s->unit == AGENT_UNIT_BYTES &&
           (s->limit == AGENT_LIMIT_BYTES || s->limit == AGENT_LIMIT_PEER ||
            s->limit == AGENT_LIMIT_USER || s->limit == AGENT_LIMIT_SOURCE ||
            s->limit == AGENT_LIMIT_ENDPOINT);
}

#define MEDIUM_TEXT "; the medium of the store has less room than store.limit"

const char *node_shortage_text(const struct node *n, const struct agent_shortage *s,
                               char out[SHORTAGE_TEXT_MAX])
{
    static const char *const units[] = {[AGENT_UNIT_BUNDLES] = "bundles",
                                        [AGENT_UNIT_BYTES] = "bytes",
                                        [AGENT_UNIT_REASSEMBLIES] = "bundles in fragments",
                                        [AGENT_UNIT_FRAGMENTS] = "fragments"};
    char whose[EID_TEXT_MAX + 64], more[48] = "";
    if (s->limit == AGENT_LIMIT_NONE) {
        snprintf(out, SHORTAGE_TEXT_MAX, "no limit is known");
        return out;
    }
    write_whose(n, s, whose, sizeof whose);
    if (s->unit == AGENT_UNIT_BYTES)
        snprintf(more, sizeof more, ", and this bundle has %" PRIu64, s->bytes);
    snprintf(out, SHORTAGE_TEXT_MAX, "%s: %" PRIu64 " of %" PRIu64 " %s%s%s%s", key_text(n, s),
             s->used, s->most, units[s->unit], whose, more,
             node_medium_short(n) && of_medium(s) ? MEDIUM_TEXT : "");
    return out;
}

/* "2026-11-29T15:00:00Z (in 60 min)", or "in 60 min" */
static void write_time(const struct node *n, tick t, char out[LATE_TEXT_MAX / 3])
{
    const struct agent_now now = node_now(n);
    const tick left = t > now.now ? t - now.now : 0;
    char date[PLAN_TIME_CAP], span[LINK_SPAN_MAX];
    link_span_text(left, span);
    if (now.dtn_ms == 0 || left / TICK_MS > DATES_END_MS - now.dtn_ms)
        snprintf(out, LATE_TEXT_MAX / 3, "in %s", span);
    else
        snprintf(
            out, LATE_TEXT_MAX / 3, "%s (in %s)",
            plan_date_text((DTN_EPOCH_MS + now.dtn_ms + left / TICK_MS) * TICK_MS, false, date),
            span);
}

const char *node_late_text(const struct node *n, tick arrival, tick expires,
                           char out[LATE_TEXT_MAX])
{
    char first[LATE_TEXT_MAX / 3], end[LATE_TEXT_MAX / 3];
    write_time(n, expires, end);
    if (arrival == 0) {
        snprintf(out, LATE_TEXT_MAX, "no later arrival is known, its lifetime ends %s", end);
        return out;
    }
    write_time(n, arrival, first);
    snprintf(out, LATE_TEXT_MAX, "the earliest arrival is %s, its lifetime ends %s", first, end);
    return out;
}

const char *node_refusal_text(const struct node *n, enum agent_refusal refusal,
                              char out[REFUSAL_TEXT_MAX])
{
    char why[SHORTAGE_TEXT_MAX];
    const struct agent_shortage *s = agent_shortage(n->agent);
    const struct agent_late *late = agent_late(n->agent);
    const bool room = refusal == REFUSE_FULL || refusal == REFUSE_QUOTA;
    enum permit_way way;
    const struct permit_refusal *rule = agent_forbidden(n->agent, &way);
    if (refusal == REFUSE_TOO_LATE && late->expires != 0)
        snprintf(out, REFUSAL_TEXT_MAX, "%s (%s)", agent_refusal_text(refusal),
                 node_late_text(n, late->arrival, late->expires, why));
    else if ((refusal == REFUSE_RULE || refusal == REFUSE_LIMIT) && rule->count > 0)
        snprintf(out, REFUSAL_TEXT_MAX, "%s (%s: %s)", agent_refusal_text(refusal),
                 way == PERMIT_APP   ? "applications"
                 : way == PERMIT_OUT ? "rules, way: out"
                                     : "rules, way: in",
                 permit_verdict_word(rule->verdict));
    else if (refusal == REFUSE_NO_ROUTE && *n->config->plan != '\0')
        snprintf(out, REFUSAL_TEXT_MAX,
                 "%s (neither static, nor by a contact of the plan from now "
                 "on)",
                 agent_refusal_text(refusal));
    else if (!room || s->limit == AGENT_LIMIT_NONE)
        snprintf(out, REFUSAL_TEXT_MAX, "%s", agent_refusal_text(refusal));
    else
        snprintf(out, REFUSAL_TEXT_MAX, "%s (%s)", agent_refusal_text(refusal),
                 node_shortage_text(n, s, why));
    return out;
}
