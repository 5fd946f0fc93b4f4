/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary of the bundles' histories: their outcome at each node, and how their time was spent,
 * from node to node and from source to application. Only known values count; their number is
 * printed beside them. What can go wrong: no memory.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "conf/json_number.h"
#include "tools/analyze/analyze_result.h"
#include "tools/analyze/bundles/lives.h"

static const char *const part_words[LIFE_PARTS] = {"store", "apart",   "queue",
                                                   "link",  "session", "application"};

/* Of one node, or (`to` not NULL) of the direction between two. */
struct sum {
    const char *node, *to;
    uint64_t stays, unfinished, known;
    double parts[LIFE_PARTS]; /* ns, of those that are known */
    struct {
        const char *end;
        uint64_t count;
    } ends[16];
    size_t ends_len;
    struct hist time; /* at the node, or in transit */
};

struct sums {
    struct sum **at;
    size_t len;
    struct hist total;
};

static struct sum *find_sum(struct sums *s, const char *node, const char *to)
{
    for (size_t i = 0; i < s->len; i++)
        if (s->at[i]->node == node && s->at[i]->to == to)
            return s->at[i];
    struct sum **grown = realloc(s->at, (s->len + 1) * sizeof(struct sum *));
    if (grown == NULL)
        return NULL;
    s->at = grown;
    struct sum *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->node = node;
    made->to = to;
    hist_init(&made->time);
    s->at[s->len++] = made;
    return made;
}

static void count_end(struct sum *s, const char *end)
{
    size_t i = 0;
    while (i < s->ends_len && s->ends[i].end != end)
        i++;
    if (i == sizeof s->ends / sizeof *s->ends)
        return; /* more words than there are */
    s->ends[i].end = end;
    s->ends[i].count++;
    s->ends_len += i == s->ends_len;
}

static bool add_stay(struct sums *sums, const struct stay *s)
{
    struct sum *node = find_sum(sums, s->node, NULL);
    if (node == NULL)
        return false;
    node->stays++;
    if (s->ended == TICK_NEVER)
        node->unfinished++;
    else if (s->end != NULL)
        count_end(node, s->end);
    if (stay_is_whole(s))
        hist_add(&node->time, s->ended - s->begun);
    if (stay_is_known(s)) {
        node->known++;
        for (int i = 0; i < LIFE_PARTS; i++)
            node->parts[i] += (double)s->spent[i];
    }
    if (s->total != TICK_NEVER)
        hist_add(&sums->total, s->total);
    if (s->next == NULL)
        return true;
    struct sum *way = find_sum(sums, s->node, s->next->node);
    if (way != NULL)
        hist_add(&way->time, s->next->begun - s->sent);
    return way != NULL;
}

static void free_sums(struct sums *s)
{
    for (size_t i = 0; i < s->len; i++)
        free(s->at[i]);
    free(s->at);
    free(s);
}

static int compare_sums(const void *a, const void *b)
{
    const struct sum *x = *(struct sum *const *)a, *y = *(struct sum *const *)b;
    int by = strcmp(x->node, y->node);
    return by != 0 ? by : strcmp(x->to == NULL ? "" : x->to, y->to == NULL ? "" : y->to);
}

/* NULL: no memory. */
static struct sums *make_sums(const struct lives *l)
{
    struct sums *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    hist_init(&s->total);
    for (size_t i = 0; i < l->len; i++) {
        if (!add_stay(s, l->stays[i])) {
            free_sums(s);
            return NULL;
        }
    }
    if (s->len > 0)
        qsort(s->at, s->len, sizeof *s->at, compare_sums);
    return s;
}

static json_t *node_json(const struct sum *s)
{
    json_t *ended = json_object(), *parts = json_object(), *j = json_object();
    for (size_t i = 0; i < s->ends_len; i++)
        json_object_set_new(ended, s->ends[i].end, json_number(s->ends[i].count));
    for (int i = 0; i < LIFE_PARTS; i++)
        json_object_set_new(parts, part_words[i],
                            s->known == 0 ? json_null()
                                          : json_real(s->parts[i] / (double)s->known / TICK_MS));
    json_object_set_new(j, "node", json_string(s->node));
    json_object_set_new(j, "stays", json_number(s->stays));
    json_object_set_new(j, "ended", ended);
    json_object_set_new(j, "unfinished", json_number(s->unfinished));
    json_object_set_new(j, "retention_ms", analyze_times_json(&s->time));
    json_object_set_new(j, "known", json_number(s->known));
    json_object_set_new(j, "parts_ms", parts);
    return j;
}

static json_t *way_json(const struct sum *s)
{
    json_t *j = json_object();
    json_object_set_new(j, "from", json_string(s->node));
    json_object_set_new(j, "to", json_string(s->to));
    json_object_set_new(j, "bundles", json_number(s->time.count));
    json_object_set_new(j, "time_ms", analyze_times_json(&s->time));
    return j;
}

json_t *lives_json(const struct lives *l)
{
    struct sums *s = make_sums(l);
    if (s == NULL)
        return NULL;
    json_t *j = json_object(), *nodes = json_array(), *hops = json_array();
    for (size_t i = 0; i < s->len; i++)
        json_array_append_new(s->at[i]->to == NULL ? nodes : hops,
                              s->at[i]->to == NULL ? node_json(s->at[i]) : way_json(s->at[i]));
    json_object_set_new(j, "rows", json_number(l->rows));
    json_object_set_new(j, "stays", json_number(l->len));
    json_object_set_new(j, "refused", json_number(l->refused));
    json_object_set_new(j, "consumed", json_number(l->consumed));
    json_object_set_new(j, "rows_without_beginning", json_number(l->strange));
    json_object_set_new(j, "nodes", nodes);
    json_object_set_new(j, "hops", hops);
    json_object_set_new(j, "source_to_application", json_number(s->total.count));
    json_object_set_new(j, "source_to_application_ms", analyze_times_json(&s->total));
    json_object_set_new(j, "delays", delays_json(l));
    free_sums(s);
    return j;
}

static void node_text(FILE *f, const struct sum *s)
{
    fprintf(f, "bundles at %s\n", s->node);
    fprintf(f, "  stays                      %" PRIu64, s->stays);
    for (size_t i = 0; i < s->ends_len; i++)
        fprintf(f, ", %" PRIu64 " %s", s->ends[i].count, s->ends[i].end);
    fprintf(f, ", %" PRIu64 " unfinished\n", s->unfinished);
    analyze_times_text(f, "retention", &s->time);
    if (s->known == 0)
        return;
    fprintf(f, "  of it on average          ");
    for (int i = 0; i < LIFE_PARTS; i++)
        fprintf(f, " %s %.3f%s", part_words[i], s->parts[i] / (double)s->known / TICK_MS,
                i + 1 < LIFE_PARTS ? " " : " ms");
    if (s->known < s->stays)
        fprintf(f, " (%" PRIu64 " stays)", s->known);
    fprintf(f, "\n");
}

void lives_text(FILE *f, const struct lives *l)
{
    struct sums *s = make_sums(l);
    if (s == NULL) {
        fprintf(f, "bundles: out of memory\n");
        return;
    }
    for (size_t i = 0; i < s->len; i++) {
        if (s->at[i]->to == NULL) {
            node_text(f, s->at[i]);
        } else {
            char what[80];
            snprintf(what, sizeof what, "to %.60s", s->at[i]->to);
            analyze_times_text(f, what, &s->at[i]->time);
        }
    }
    if (s->total.count > 0)
        analyze_times_text(f, "source to application", &s->total);
    delays_text(f, l);
    fprintf(f, "%" PRIu64 " rows of bundle logs", l->rows);
    if (l->refused > 0)
        fprintf(f, ", %" PRIu64 " bundles refused", l->refused);
    if (l->strange > 0)
        fprintf(f, "; %" PRIu64 " rows of bundles that arrived before their log begins",
                l->strange);
    fprintf(f, "\n");
    free_sums(s);
}
