/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a run of the whole stack: of clients and servers what helio-perf prints, of links
 * what helioctl shows, of channels what the emulator reports. It does not depend on the real clock.
 * What can go wrong: a file of a client's or server's --json. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "tools/perf/perf_report.h"
#include "tools/sim/stack.h"

static double good_share(const struct stack_channel *c, int dir)
{
    const struct scenario_direction *o = &c->options.settings.scenario.directions[dir];
    const struct stack_direction *w = &c->directions[dir];
    const struct trace *t = &o->trace.source.trace;
    tick a = w->first, b = w->last;
    if (!o->trace.source.on || w->last <= w->first)
        return 1 - o->iid;
    if (!o->trace.loop && !trace_once(t, w->origin, o->trace.offset, &a, &b))
        return 1;
    tick bad = trace_bad_time(t, w->origin, o->trace.offset, a, b);
    return 1 - (double)bad / (double)(w->last - w->first);
}

static struct chan_counters counters_of(const struct stack_direction *w)
{
    static const struct chan_counters none = {.in = 0};
    return w->chan == NULL ? none : *chan_counters(w->chan);
}

/* Of a link of a file: frames that arrived when it was handed over, and never entered a channel. */
static uint64_t gap_of(const struct stack_channel *c, int dir)
{
    return c->links == NULL ? 0 : c->links->between.at[c->link].directions[dir].gap;
}

/* The number of channels that are no links of a file; links of files follow them. */
static size_t channels_of(const struct stack *s)
{
    return s->links == NULL ? s->channels_len : s->links->first;
}

json_t *stack_direction_json(const struct stack_channel *c, int dir)
{
    const struct stack_direction *w = &c->directions[dir];
    struct chan_counters n = counters_of(w);
    const uint64_t gap = gap_of(c, dir);
    n.lost[CHAN_HANDOVER] += gap;
    json_t *dropped = json_object();
    for (int i = 0; i < CHAN_LOSSES; i++)
        json_object_set_new(dropped, chan_reason_name((enum chan_reason)i),
                            json_integer((json_int_t)n.lost[i]));
    uint64_t no_peer = w->no_peer + w->gone;
    json_object_set_new(dropped, "no_peer", json_integer((json_int_t)no_peer));
    json_t *o = perf_report_counts((const struct perf_count[]){{"in", n.in + w->no_peer + gap},
                                                               {"in_bytes", n.in_bytes},
                                                               {"out", n.out - w->gone},
                                                               {"duplicated", n.duplicated},
                                                               {"corrupted", n.corrupted},
                                                               {"queued", n.queued},
                                                               {NULL, 0}});
    json_object_set_new(o, "dropped", dropped);
    json_object_set_new(o, "good_share_active", json_real(good_share(c, dir)));
    json_object_set_new(o, "active_s", json_real((double)(w->last - w->first) / 1e9));
    return o;
}

static json_t *link_json(const struct node_link *l)
{
    json_t *o = json_object();
    json_object_set_new(o, "name", json_string(l->config->name));
    l->cla->ops->status(l->cla, o);
    return o;
}

static json_t *host_json(const struct stack_host *h)
{
    const struct agent_counters *n = agent_counters(h->node.agent);
    char name[EID_TEXT_MAX];
    eid_text(&h->config.node, name);
    json_t *o = json_pack("{s:s, s:s}", "node", name, "file", h->file);
    uint64_t refused = 0;
    for (int i = 0; i < REFUSE_COUNT; i++)
        refused += n->refused[i];
    json_object_set_new(
        o, "bundles",
        perf_report_counts((const struct perf_count[]){{"accepted", n->accepted_local},
                                                       {"received", n->received},
                                                       {"duplicates", n->refused[REFUSE_DUPLICATE]},
                                                       {"refused", refused},
                                                       {"forwarded", n->ended[END_FORWARDED]},
                                                       {"delivered", n->delivered},
                                                       {"expired", n->ended[END_EXPIRED]},
                                                       {"deleted", n->ended[END_DELETED]},
                                                       {"send_failures", n->send_failures},
                                                       {"lost", n->lost},
                                                       {"given_up", n->ended[END_GIVEN_UP]},
                                                       {"held", n->bundles},
                                                       {"held_bytes", n->bytes},
                                                       {"echoed", h->node.echoed},
                                                       {NULL, 0}}));
    json_t *links = json_array();
    for (size_t i = 0; i < h->node.links_len; i++)
        if (h->node.links[i] != NULL)
            json_array_append_new(links, link_json(h->node.links[i]));
    json_object_set_new(o, "links", links);
    return o;
}

static json_t *apps_json(const struct stack *s, enum stack_kind kind)
{
    json_t *all = json_array();
    list_for_each (l, &s->apps) {
        const struct stack_app *a = container_of(l, struct stack_app, node);
        if (a->kind == STACK_REVERSE && kind == STACK_CLIENT)
            json_array_append_new(all, perf_reverse_json(&a->reverse));
        if (a->kind != kind)
            continue;
        json_array_append_new(all, kind == STACK_CLIENT   ? perf_client_json(&a->client)
                                   : kind == STACK_SERVER ? perf_server_json(&a->server)
                                                          : ping_json(&a->ping));
    }
    return all;
}

static json_t *stack_json(const struct stack *s)
{
    json_t *channels = json_array(), *nodes = json_array(), *stations = json_array();
    for (size_t i = 0; i < s->stations_len; i++)
        json_array_append_new(stations, station_json(s->stations[i]->station));
    for (size_t i = 0; i < channels_of(s); i++)
        json_array_append_new(
            channels, json_pack("{s:o, s:o}", "forward",
                                stack_direction_json(s->channels[i], SCENARIO_FORWARD), "return",
                                stack_direction_json(s->channels[i], SCENARIO_RETURN)));
    for (size_t i = 0; i < s->hosts_len; i++)
        json_array_append_new(nodes, host_json(s->hosts[i]));
    json_t *o = json_pack("{s:f, s:b, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "virtual_s",
                          (double)s->world.now / 1e9, "interrupted", s->interrupted, "unreachable",
                          (json_int_t)s->unreachable, "clients", apps_json(s, STACK_CLIENT),
                          "servers", apps_json(s, STACK_SERVER), "pings", apps_json(s, STACK_PING),
                          "channels", channels, "nodes", nodes, "stations", stations);
    if (s->links != NULL)
        json_object_update_new(o, stack_links_json(s));
    return o;
}

/* ---- for people ---- */

void stack_direction_print(const struct stack_channel *c, int dir, const char *name)
{
    struct chan_counters n = counters_of(&c->directions[dir]);
    const uint64_t gap = gap_of(c, dir);
    printf("%-11s %-7s  %" PRIu64 " in, %" PRIu64 " lost, good share %.4f\n", name,
           dir == SCENARIO_FORWARD ? "forward" : "return", n.in + gap, chan_lost(&n) + gap,
           good_share(c, dir));
}

static void print_ping(const struct ping *p)
{
    printf("ping %s: %" PRIu64 " sent, %" PRIu64 " answered", p->options->destination, p->sent,
           p->received);
    if (p->received > 0)
        printf("; mean %.3f, p99 %.3f, max %.3f ms", p->rtt.mean / 1e6,
               (double)hist_quantile(&p->rtt, 0.99) / 1e6, (double)p->rtt.max / 1e6);
    putchar('\n');
}

static bool print_client(const struct perf_client *c)
{
    printf("client      %s to %s\n", c->link.endpoint, c->options->destination);
    return perf_client_result(c);
}

static bool print_reverse(const struct perf_reverse *r)
{
    printf("client      %s from %s\n", r->server.link.endpoint, r->options->destination);
    return perf_reverse_result(r, 1);
}

static void print_station(const struct stack_station *t, size_t number)
{
    size_t i;
    json_t *instance, *o = station_json(t->station);
    json_array_foreach(json_object_get(o, "instances"), i, instance)
    {
        const json_t *n = json_object_get(instance, "counts");
        printf("station %zu   %s: %s, %" JSON_INTEGER_FORMAT " frames delivered, "
               "%" JSON_INTEGER_FORMAT " CLTUs radiated\n",
               number, json_string_value(json_object_get(instance, "id")),
               json_string_value(json_object_get(instance, "state")),
               json_integer_value(json_object_get(n, "frames")),
               json_integer_value(json_object_get(n, "cltus_radiated")));
    }
    json_decref(o);
}

static bool print_text(const struct stack *s)
{
    bool good = true;
    list_for_each (l, &s->apps) {
        struct stack_app *a = container_of(l, struct stack_app, node);
        if (a->kind == STACK_CLIENT)
            good &= print_client(&a->client);
        else if (a->kind == STACK_REVERSE)
            good &= print_reverse(&a->reverse);
        else if (a->kind == STACK_PING)
            print_ping(&a->ping);
    }
    for (size_t i = 0; i < channels_of(s); i++) {
        char name[32];
        snprintf(name, sizeof name, "channel %zu", i + 1);
        stack_direction_print(s->channels[i], SCENARIO_FORWARD, name);
        stack_direction_print(s->channels[i], SCENARIO_RETURN, name);
    }
    if (s->links != NULL)
        stack_links_print(s);
    for (size_t i = 0; i < s->stations_len; i++)
        print_station(s->stations[i], i + 1);
    printf("%s %.6f s of virtual time\n", s->interrupted ? "stopped after" : "ended after",
           (double)s->world.now / 1e9);
    return good && fflush(stdout) == 0;
}

/* The files of clients' and servers' --json. */
static bool write_files(const struct stack *s, bool clients)
{
    bool good = true;
    list_for_each (l, &s->apps) {
        const struct stack_app *a = container_of(l, struct stack_app, node);
        if (a->options.json == NULL)
            continue;
        if (a->kind == STACK_SERVER)
            good &= perf_server_result(&a->server);
        else if (a->kind == STACK_CLIENT && clients)
            good &= perf_report_write("helio-sim", perf_client_json(&a->client), a->options.json);
        else if (a->kind == STACK_REVERSE && clients)
            good &= perf_report_write("helio-sim", perf_reverse_json(&a->reverse), a->options.json);
    }
    return good;
}

int stack_report(const struct stack *s, bool json)
{
    bool good = json ? perf_report_write("helio-sim", stack_json(s), "-") : print_text(s);
    good &= write_files(s, json);
    list_for_each (l, &s->apps) {
        const struct stack_app *a = container_of(l, struct stack_app, node);
        bool failed = a->kind == STACK_CLIENT && a->client.failed;
        bool stopped = a->kind == STACK_CLIENT && a->client.interrupted;
        good &= !failed && (stopped || stack_app_missing(a) == 0);
        if (a->kind == STACK_REVERSE) /* one that was to begin later has not failed */
            good &= a->reverse.interrupted ? !a->reverse.failed : perf_reverse_good(&a->reverse);
    }
    return good ? 0 : 1;
}
