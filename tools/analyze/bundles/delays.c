/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The delay of a bundle from its source to its application, hop by hop. The sessions between two
 * nodes show when the bundle's first segment left and how long it was radiated. The rest is channel
 * delay if nothing was lost. Else the least rest of any bundle is channel delay, and the excess is
 * retransmission. All times are whole nanoseconds, so the parts of all hops and the time at the
 * destination add up to the delay. What can go wrong: no memory for the summary.
 */
#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "conf/json_number.h"
#include "tools/analyze/analyze_result.h"
#include "tools/analyze/bundles/lives.h"

#define HOPS_MAX 32
#define PATHS_MAX 256 /* that are reported */

static const char *const words[DELAY_PARTS] = {"queue", "radiation", "channel", "retransmission"};

/* After the last segment's first transmission; all of the time since `sent` without a session. */
static tick after_radiation(const struct stay *s)
{
    assert(s->next != NULL);
    assert(s->next->begun - s->begun >=
           s->delay[DELAY_QUEUE] + s->delay[DELAY_RADIATION] + s->failed_before);
    return s->next->begun - s->begun - s->delay[DELAY_QUEUE] - s->delay[DELAY_RADIATION] -
           s->failed_before;
}

/* Everything except the time after the radiation. */
static void divide_begin(struct stay *s)
{
    tick way = s->next->begun - s->sent;
    bool session = s->session_wait != TICK_NEVER && s->session_radiation != TICK_NEVER &&
                   s->carried >= s->sent && s->carried - s->sent + s->session_wait <= way;
    assert(s->sent >= s->begun && s->failed_before <= s->sent - s->begun);
    s->delay[DELAY_QUEUE] = s->sent - s->begun - s->failed_before;
    s->delay[DELAY_RADIATION] = 0;
    if (!session)
        return;
    tick wait = s->carried - s->sent + s->session_wait;
    s->delay[DELAY_QUEUE] += wait;
    s->delay[DELAY_RADIATION] = tick_min(s->session_radiation, way - wait);
}

struct least {
    const struct stay *of; /* any one of this route */
    tick clean, any;
};

/* NULL: there are too many routes; then each one is a channel of its own. */
static struct least *find_least(struct least *at, size_t *len, const struct stay *s)
{
    for (size_t i = 0; i < *len; i++)
        if (at[i].of->node == s->node && at[i].of->next->node == s->next->node &&
            at[i].of->link_out == s->link_out)
            return &at[i];
    assert(*len <= PATHS_MAX && s->next != NULL);
    if (*len == PATHS_MAX)
        return NULL;
    at[*len] = (struct least){s, TICK_NEVER, TICK_NEVER};
    return &at[(*len)++];
}

static void divide_end(struct stay *s, const struct least *l)
{
    tick after = after_radiation(s), least = after;
    if (l != NULL && s->session_wait != TICK_NEVER && !s->session_clean)
        least = l->clean != TICK_NEVER ? l->clean : l->any;
    s->delay[DELAY_CHANNEL] = tick_min(least, after);
    s->delay[DELAY_RETRANSMISSION] = after - s->delay[DELAY_CHANNEL] + s->failed_before;
    assert(s->delay[0] + s->delay[1] + s->delay[2] + s->delay[3] == s->next->begun - s->begun);
}

void delays_divide(struct lives *l)
{
    struct least at[PATHS_MAX];
    size_t len = 0;
    for (size_t i = 0; i < l->len; i++) {
        struct stay *s = l->stays[i];
        if (s->next == NULL)
            continue;
        divide_begin(s);
        struct least *way = find_least(at, &len, s);
        tick after = after_radiation(s);
        if (way != NULL && s->session_clean)
            way->clean = tick_min(way->clean, after);
        if (way != NULL)
            way->any = tick_min(way->any, after);
    }
    for (size_t i = 0; i < l->len; i++)
        if (l->stays[i]->next != NULL)
            divide_end(l->stays[i], find_least(at, &len, l->stays[i]));
}

const struct stay *delays_delivered(const struct stay *source)
{
    const struct stay *s = source;
    for (size_t hops = 0; s != NULL && hops < HOPS_MAX; hops++, s = s->next)
        if (s->delivered != TICK_NEVER)
            return source->hop == 1 && s->total == s->delivered - source->begun ? s : NULL;
    return NULL;
}

static void put_ms(FILE *f, tick t, char end)
{
    fprintf(f, "%" PRIu64 ".%06" PRIu64 "%c", t / TICK_MS, t % TICK_MS, end);
}

bool delays_table(FILE *f, const struct lives *l)
{
    fputs("source,created_ms,sequence,destination,hop,from,to,queue_ms,radiation_ms,channel_ms,"
          "retransmission_ms,application_ms,hop_ms,total_ms\n",
          f);
    for (size_t i = 0; i < l->len; i++) {
        const struct stay *source = l->stays[i], *last = delays_delivered(source);
        uint64_t hop = 1;
        for (const struct stay *s = source; last != NULL; s = s->next, hop++) {
            bool end = s == last;
            fprintf(f, "%s,%" PRIu64 ",%" PRIu64 ",%s,%" PRIu64 ",%s,%s,", s->source, s->created_ms,
                    s->sequence, s->destination, hop, s->node, end ? "" : s->next->node);
            for (int part = 0; part < DELAY_PARTS; part++)
                put_ms(f, end ? 0 : s->delay[part], ',');
            put_ms(f, end ? s->delivered - s->begun : 0, ',');
            put_ms(f, end ? s->delivered - s->begun : s->next->begun - s->begun, ',');
            put_ms(f, last->total, '\n');
            if (end)
                break;
        }
    }
    return ferror(f) == 0;
}

/* The bundles that used the same route. */
struct path {
    const struct stay *source; /* any of them */
    const char *nodes[HOPS_MAX];
    size_t hops;
    uint64_t bundles;
    double part[HOPS_MAX][DELAY_PARTS], application, total; /* ns, in all */
};

static bool same_path(const struct path *p, const struct stay *s, const struct stay *last)
{
    size_t i = 0;
    for (; s != last && i < p->hops; s = s->next, i++)
        if (p->nodes[i] != s->node)
            return false;
    return s == last && i == p->hops && p->nodes[i] == last->node;
}

static struct path *find_path(struct path *paths, size_t *len, const struct stay *source,
                              const struct stay *last)
{
    for (size_t i = 0; i < *len; i++)
        if (same_path(&paths[i], source, last))
            return &paths[i];
    if (*len == PATHS_MAX)
        return NULL;
    struct path *p = &paths[*len];
    *p = (struct path){.source = source};
    for (const struct stay *s = source; s != last && p->hops + 1 < HOPS_MAX; s = s->next)
        p->nodes[p->hops++] = s->node;
    p->nodes[p->hops] = last->node;
    (*len)++;
    assert(p->hops < HOPS_MAX && *len <= PATHS_MAX);
    return p;
}

/* NULL: no memory. */
static struct path *sum_paths(const struct lives *l, size_t *len)
{
    struct path *paths = calloc(PATHS_MAX, sizeof *paths);
    *len = 0;
    for (size_t i = 0; paths != NULL && i < l->len; i++) {
        const struct stay *s = l->stays[i], *last = delays_delivered(s);
        struct path *p = last == NULL ? NULL : find_path(paths, len, s, last);
        if (p == NULL)
            continue;
        p->bundles++;
        p->total += (double)last->total;
        p->application += (double)(last->delivered - last->begun);
        for (size_t hop = 0; s != last && hop < p->hops; s = s->next, hop++)
            for (int part = 0; part < DELAY_PARTS; part++)
                p->part[hop][part] += (double)s->delay[part];
    }
    return paths;
}

static double mean_ms(const struct path *p, double sum)
{
    assert(p->bundles > 0 && sum >= 0);
    return sum / (double)p->bundles / (double)TICK_MS;
}

static json_t *path_json(const struct path *p)
{
    json_t *j = json_object(), *hops = json_array();
    for (size_t i = 0; i < p->hops; i++) {
        json_t *hop = json_object();
        json_object_set_new(hop, "from", json_string(p->nodes[i]));
        json_object_set_new(hop, "to", json_string(p->nodes[i + 1]));
        for (int part = 0; part < DELAY_PARTS; part++) {
            char name[32];
            snprintf(name, sizeof name, "%s_ms", words[part]);
            json_object_set_new(hop, name, json_real(mean_ms(p, p->part[i][part])));
        }
        json_array_append_new(hops, hop);
    }
    json_object_set_new(j, "bundles", json_number(p->bundles));
    json_object_set_new(j, "hops", hops);
    json_object_set_new(j, "application_ms", json_real(mean_ms(p, p->application)));
    json_object_set_new(j, "total_ms", json_real(mean_ms(p, p->total)));
    return j;
}

json_t *delays_json(const struct lives *l)
{
    size_t len;
    struct path *paths = sum_paths(l, &len);
    json_t *j = paths == NULL ? NULL : json_array();
    for (size_t i = 0; i < len && j != NULL; i++)
        json_array_append_new(j, path_json(&paths[i]));
    free(paths);
    return j;
}

void delays_text(FILE *f, const struct lives *l)
{
    size_t len;
    struct path *paths = sum_paths(l, &len);
    for (size_t i = 0; paths != NULL && i < len; i++) {
        const struct path *p = &paths[i];
        fprintf(f, "delay of %" PRIu64 " bundles, ms   queue  radiation    channel  again\n",
                p->bundles);
        for (size_t hop = 0; hop < p->hops; hop++) {
            fprintf(f, "  %s to %-17s", p->nodes[hop], p->nodes[hop + 1]);
            for (int part = 0; part < DELAY_PARTS; part++)
                fprintf(f, " %10.3f", mean_ms(p, p->part[hop][part]));
            fprintf(f, "\n");
        }
        fprintf(f, "  at %s %.3f; all together %.3f\n", p->nodes[p->hops],
                mean_ms(p, p->application), mean_ms(p, p->total));
    }
    free(paths);
}
