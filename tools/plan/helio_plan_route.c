/* SPDX-License-Identifier: Apache-2.0 */
/* `route`: the route of a bundle from one node to another, and what determines its arrival. What
 * can go wrong: an invalid time (exit 2); there is no route (exit 1, with the reason). */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "conf/conf_value.h"
#include "conf/json_number.h"
#include "tools/plan/helio_plan.h"

typedef char text[PLAN_TIME_CAP];

/* AT and the lifetime into the query. */
static bool read_times(const struct plan_options *o, const struct plan_opened *p,
                       struct plan_query *q)
{
    tick t;
    q->now = p->draft.start > 0 ? p->first : 0;
    if (o->at != NULL && units_duration(o->at, &t) == 0) {
        q->now = tick_add(p->draft.start, t);
    } else if (o->at != NULL && plan_date(o->at, &q->now) < 0) {
        fprintf(stderr,
                "helio-plan: AT: \"%s\" is not understood; write a duration since the start such "
                "as 10s, or a date such as 2026-11-22T12:00:00Z\n",
                o->at);
        return false;
    } else if (o->at != NULL && p->draft.start == 0 && !p->draft.dated) {
        fprintf(stderr,
                "helio-plan: AT: the plan has no dates, so %s is no time of it; write a duration "
                "since its start such as 10s, or --start DATE\n",
                o->at);
        return false;
    }
    q->expiry = TICK_NEVER;
    if (o->lifetime != NULL && units_duration(o->lifetime, &t) == 0)
        q->expiry = tick_add(q->now, t);
    return true;
}

/* The last hop that waited for anything besides the hop before it; if none, the number of hops. */
static size_t deciding_hop(const struct plan_route *r)
{
    for (size_t i = r->hops; i > 0; i--) {
        if (r->hop[i - 1].why != PLAN_READY)
            return i - 1;
    }
    return r->hops;
}

static void describe_decision(const struct plan_route *r, char out[160])
{
    size_t i = deciding_hop(r);
    if (i == r->hops) {
        snprintf(out, 160, "rates and light times alone: it waits nowhere");
        return;
    }
    const struct plan_hop *h = &r->hop[i];
    static const char *const texts[] = {"", "the contact begins then",
                                        "what waits for it goes first",
                                        "the light time is known, or less, from then on"};
    snprintf(out, 160, "contact %" PRIu64 " to %" PRIu64 ": %s", h->from, h->to, texts[h->why]);
}

static void print_hop(const struct plan_opened *p, const struct plan_hop *h)
{
    char way[48];
    text a, b, c;
    snprintf(way, sizeof way, "%" PRIu64 " to %" PRIu64, h->from, h->to);
    printf("  %-12s  %-24s  %-24s  %-24s  %s\n", way,
           plan_time_text(h->first_sent, p->draft.start, a),
           plan_time_text(h->last_sent, p->draft.start, b),
           plan_time_text(h->last_arrives, p->draft.start, c), plan_why_text(h->why));
}

static void print_route(const struct plan_opened *p, const struct plan_query *q,
                        const struct plan_route *r)
{
    char decision[160], left[PLAN_TIME_CAP], limit[CONF_NUMBER_CAP], volume[CONF_NUMBER_CAP];
    text a;
    printf("arrives at %s, after ", plan_time_text(r->arrival, p->draft.start, a));
    printf("%ss\n", plan_seconds_text(r->arrival - q->now, left));
    if (r->hops > 0)
        printf("  %-12s  %-24s  %-24s  %-24s  %s\n", "hop", "first byte", "last byte", "arrives",
               "goes when");
    for (size_t i = 0; i < r->hops; i++)
        print_hop(p, &r->hop[i]);
    describe_decision(r, decision);
    printf("  decided by   %s\n", decision);
    printf("  takes        %s of each contact, with the overhead; at most %s fit\n",
           conf_number_text(OPTION_SIZE, r->volume, volume),
           r->limit == UINT64_MAX ? "any number" : conf_number_text(OPTION_SIZE, r->limit, limit));
    if (r->confidence < 1)
        printf("  confidence   %g\n", r->confidence);
}

static json_t *route_json(const struct plan_route *r)
{
    char decision[160];
    json_t *hops = json_array();
    for (size_t i = 0; i < r->hops; i++) {
        const struct plan_hop *h = &r->hop[i];
        json_array_append_new(
            hops, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "from", json_number(h->from),
                            "to", json_number(h->to), "first_sent_ns", json_number(h->first_sent),
                            "last_sent_ns", json_number(h->last_sent), "first_arrives_ns",
                            json_number(h->first_arrives), "last_arrives_ns",
                            json_number(h->last_arrives), "goes_when", plan_why_text(h->why)));
    }
    describe_decision(r, decision);
    return json_pack("{s:o, s:o, s:o, s:o, s:f, s:s, s:o}", "arrival_ns", json_number(r->arrival),
                     "until_ns", json_number(r->until), "volume_bytes", json_number(r->volume),
                     "limit_bytes", json_number(r->limit), "confidence", r->confidence,
                     "decided_by", decision, "hops", hops);
}

static void print_json(json_t *j)
{
    json_dumpf(j, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(j);
}

/* What a person can do about it. */
static void explain_reason(const struct plan_opened *p, const struct plan_query *q,
                           enum plan_reason reason, struct plan_route *scratch)
{
    static const char *const texts[] = {
        [PLAN_NO_ROUTE] = "no contacts with light times lead there from then on",
        [PLAN_TOO_LATE] = "it would arrive after its lifetime",
        [PLAN_NO_VOLUME] = "what waits leaves no room for it",
        [PLAN_TOO_LONG] =
            "contacts lead there, but none of these routes is long enough for its size"};
    struct plan_query any = *q;
    text a;
    text b;
    any.expiry = TICK_NEVER;
    printf("%s: %s\n", plan_reason_text(reason), texts[reason]);
    if (reason == PLAN_TOO_LATE && plan_route_search(p->plan, &any, scratch) == PLAN_FOUND)
        printf("  it would arrive at %s; its lifetime ends at %s\n",
               plan_time_text(scratch->arrival, p->draft.start, a),
               plan_time_text(q->expiry, p->draft.start, b));
}

static int answer_none(const struct plan_options *o, const struct plan_opened *p,
                       const struct plan_query *q, struct plan_route *scratch)
{
    enum plan_reason reason = plan_route_search(p->plan, q, scratch);
    if (o->json)
        print_json(json_pack("{s:s, s:[]}", "reason", plan_reason_text(reason), "routes"));
    else
        explain_reason(p, q, reason, scratch);
    return EXIT_FAILED;
}

static int show_answer(const struct plan_options *o, const struct plan_opened *p,
                       const struct plan_query *q, struct plan_route *routes, size_t max)
{
    int n = o->critical ? (int)plan_route_all(p->plan, q, routes, max)
                        : plan_route_several(p->plan, q, routes, max);
    if (n < 0) {
        fprintf(stderr, "helio-plan: out of memory\n");
        return EXIT_FAILED;
    }
    if (n == 0)
        return answer_none(o, p, q, routes);
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        if (o->json)
            json_array_append_new(list, route_json(&routes[i]));
        else
            print_route(p, q, &routes[i]);
    }
    if (o->json)
        print_json(json_pack("{s:s, s:O}", "reason", plan_reason_text(PLAN_FOUND), "routes", list));
    json_decref(list);
    return EXIT_DONE;
}

static bool has_node(const struct plan *p, uint64_t number)
{
    struct plan_cursor at = {0};
    uint64_t id;
    for (const struct plan_contact *c; (c = plan_walk(p, &at, &id)) != NULL;)
        if (c->from == number || c->to == number)
            return true;
    return false;
}

static bool check_nodes(const struct plan_options *o, const struct plan_opened *p)
{
    const struct {
        const char *word;
        uint64_t number;
    } ends[] = {{"FROM", o->query.from}, {"TO", o->query.to}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (has_node(p->plan, ends[i].number))
            continue;
        fprintf(stderr,
                "helio-plan: %s: %s: no contact of the plan has node %" PRIu64
                "; helio-plan show %s lists them\n",
                o->path, ends[i].word, ends[i].number, o->path);
        return false;
    }
    return true;
}

int command_route(const struct plan_options *o)
{
    struct plan_query q = o->query;
    size_t max = o->critical ? PLAN_WAYS_MAX : o->ways;
    struct plan_opened *p = plan_open(o);
    if (p == NULL)
        return EXIT_USAGE;
    plan_tell_notes(p);
    if (o->at == NULL)
        plan_tell_over(p, "; the route is from the first one on: write a date as AT");
    q.excluded = o->excluded;
    q.backlog = o->backlog;
    struct plan_route *routes = calloc(max, sizeof *routes);
    int code = EXIT_FAILED;
    if (routes == NULL)
        fprintf(stderr, "helio-plan: out of memory\n");
    else
        code = check_nodes(o, p) && read_times(o, p, &q) ? show_answer(o, p, &q, routes, max)
                                                         : EXIT_USAGE;
    free(routes);
    plan_close(p);
    return code;
}
