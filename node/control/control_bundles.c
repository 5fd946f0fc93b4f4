/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits at the node: those bundles that an operator asks for, the first of them in the order
 * that he wants; how much there is for whom; and their deletion. All are walked, in pieces. What
 * can go wrong: a word that is not understood; memory.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/json_number.h"
#include "node/control/control.h"
#include "node/node_meter.h"

#define PIECE 64
#define SHOWN 1000 /* unless another number is asked for */
#define SHOWN_MAX 100000
#define DELETED_MAX 10000 /* by one request: the next one goes on */

/* Which bundles; NULL and false: any. */
struct filter {
    bool to, from, by_priority;
    struct eid_patterns destination, source;
    const char *link, *state;
    enum bundle_priority priority;
};

static bool read_pattern(const json_t *in, const char *key, struct eid_patterns *p, bool *given,
                         json_t *out)
{
    const char *text = json_string_value(json_object_get(in, key));
    const char *wrong;
    char why[256];
    *given = text != NULL;
    if (text == NULL || eid_patterns_read(text, p, &wrong) == 0)
        return true;
    snprintf(why, sizeof why, "%s: \"%.64s\" %s", key, text, wrong);
    return control_refuse(out, true, why);
}

static bool is_state(const char *word)
{
    for (const char *const *s = agent_states; *s != NULL; s++)
        if (strcmp(*s, word) == 0)
            return true;
    return false;
}

/* Words that no bundle can have are a mistake, which is told as one. */
static bool check_names(struct node *n, const struct filter *f, json_t *out)
{
    char text[256] = "";
    size_t used = 0;
    if (f->link != NULL && node_link_find(n, f->link) == NULL) {
        snprintf(text, sizeof text, "link: there is no link \"%.64s\"; links shows them", f->link);
        return control_refuse(out, true, text);
    }
    if (f->state == NULL || is_state(f->state))
        return true;
    for (const char *const *s = agent_states; *s != NULL; s++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                 used == 0 ? "state: write one of: " : ", ", *s);
    return control_refuse(out, true, text);
}

/* False: said. */
static bool read_filter(struct node *n, const json_t *in, struct filter *f, json_t *out)
{
    const char *priority = json_string_value(json_object_get(in, "priority"));
    *f = (struct filter){.link = json_string_value(json_object_get(in, "link")),
                         .state = json_string_value(json_object_get(in, "state")),
                         .by_priority = priority != NULL};
    int p = 0;
    while (priority != NULL && p < BUNDLE_PRIORITIES &&
           strcmp(priority, bundle_priority_word((enum bundle_priority)p)) != 0)
        p++;
    if (p == BUNDLE_PRIORITIES)
        return control_refuse(out, true, "priority: write bulk, normal or expedited");
    f->priority = (enum bundle_priority)p;
    return check_names(n, f, out) &&
           read_pattern(in, "destination", &f->destination, &f->to, out) &&
           read_pattern(in, "source", &f->source, &f->from, out);
}

static const char *link_name(const struct node *n, const struct agent_bundle_info *b)
{
    return b->link >= 0 && n->links[b->link] != NULL ? n->links[b->link]->config->name : NULL;
}

static bool fits_filter(const struct node *n, const struct filter *f,
                        const struct agent_bundle_info *b)
{
    const char *link = link_name(n, b);
    return (!f->to || eid_patterns_match(&f->destination, &b->destination)) &&
           (!f->from || eid_patterns_match(&f->source, &b->id.source)) &&
           (!f->by_priority || b->priority == f->priority) &&
           (f->state == NULL || strcmp(f->state, b->state) == 0) &&
           (f->link == NULL || (link != NULL && strcmp(f->link, link) == 0));
}

/* ---- orders ---- */

#define ORDER(x, y) (((x) > (y)) - ((x) < (y)))

static int by_key(const void *a, const void *b)
{
    const struct agent_bundle_info *x = a, *y = b;
    return ORDER(x->key, y->key);
}

static int by_size(const void *a, const void *b)
{
    const struct agent_bundle_info *x = a, *y = b;
    return x->bytes != y->bytes ? ORDER(y->bytes, x->bytes) : by_key(a, b);
}

static int by_age(const void *a, const void *b)
{
    const struct agent_bundle_info *x = a, *y = b;
    return x->age_ms != y->age_ms ? ORDER(y->age_ms, x->age_ms) : by_key(a, b);
}

static int by_expiry(const void *a, const void *b)
{
    const struct agent_bundle_info *x = a, *y = b;
    return x->expires_ms != y->expires_ms ? ORDER(x->expires_ms, y->expires_ms) : by_key(a, b);
}

static int by_priority(const void *a, const void *b)
{
    const struct agent_bundle_info *x = a, *y = b;
    return x->priority != y->priority ? ORDER(y->priority, x->priority) : by_key(a, b);
}

static int compare_eids(const struct eid *a, const struct eid *b)
{
    char s[EID_TEXT_MAX], t[EID_TEXT_MAX];
    bool ipn = a->scheme == EID_IPN && b->scheme == EID_IPN && a->allocator == b->allocator;
    if (ipn && (a->node != b->node || a->service != b->service))
        return a->node != b->node ? ORDER(a->node, b->node) : ORDER(a->service, b->service);
    eid_text(a, s);
    eid_text(b, t);
    return strcmp(s, t);
}

static int by_destination(const void *a, const void *b)
{
    const struct agent_bundle_info *x = a, *y = b;
    int order = compare_eids(&x->destination, &y->destination);
    return order != 0 ? order : by_key(a, b);
}

static int by_source(const void *a, const void *b)
{
    const struct agent_bundle_info *x = a, *y = b;
    int order = compare_eids(&x->id.source, &y->id.source);
    return order != 0 ? order : by_key(a, b);
}

typedef int bundle_order(const void *a, const void *b);

/* NULL: there is no such order, which was said. */
static bundle_order *read_order(const json_t *in, json_t *out)
{
    static const struct {
        const char *word;
        bundle_order *order;
    } orders[] = {{"key", by_key},           {"bytes", by_size},
                  {"age", by_age},           {"expires", by_expiry},
                  {"priority", by_priority}, {"destination", by_destination},
                  {"source", by_source}};
    const char *word = json_string_value(json_object_get(in, "sort"));
    if (word == NULL)
        return by_key;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (strcmp(orders[i].word, word) == 0)
            return orders[i].order;
    control_refuse(out, true,
                   "sort: write key, bytes, age, expires, priority, destination or source");
    return NULL;
}

/* ---- the walk ---- */

/* The first `most` of those that fit: twice as many are gathered, then the rest goes. */
struct choice {
    struct agent_bundle_info *at;
    size_t len, most;
    uint64_t fit; /* in all */
    bundle_order *order;
};

static void cut_choice(struct choice *c)
{
    qsort(c->at, c->len, sizeof *c->at, c->order);
    c->len = c->len > c->most ? c->most : c->len;
}

static void walk_bundles(const struct node *n, const struct filter *f, struct choice *c)
{
    struct agent_bundle_info piece[PIECE];
    uint64_t last = 0;
    size_t got;
    while ((got = agent_bundles_next(n->agent, last, piece, PIECE)) > 0) {
        for (size_t i = 0; i < got; i++) {
            if (!fits_filter(n, f, &piece[i]))
                continue;
            c->fit++;
            if (c->len == 2 * c->most)
                cut_choice(c);
            c->at[c->len++] = piece[i];
        }
        last = piece[got - 1].key;
    }
    cut_choice(c);
}

static json_t *bundle_json(const struct node *n, const struct agent_bundle_info *b)
{
    char text[EID_TEXT_MAX];
    const char *link = link_name(n, b);
    json_t *o = json_object();
    json_object_set_new(o, "key", json_number(b->key));
    eid_text(&b->id.source, text);
    json_object_set_new(o, "source", json_string(text));
    eid_text(&b->destination, text);
    json_object_set_new(o, "destination", json_string(text));
    json_object_set_new(o, "created_ms", json_number(b->id.time_ms));
    json_object_set_new(o, "sequence", json_number(b->id.sequence));
    json_object_set_new(o, "bytes", json_number(b->bytes));
    json_object_set_new(o, "expires_ms", json_number(b->expires_ms));
    json_object_set_new(o, "age_ms", json_number(b->age_ms));
    json_object_set_new(o, "state", json_string(b->state));
    json_object_set_new(o, "priority", json_string(bundle_priority_word(b->priority)));
    if (b->ordinal > 0)
        json_object_set_new(o, "ordinal", json_integer(b->ordinal));
    if (link != NULL)
        json_object_set_new(o, "link", json_string(link));
    return o;
}

void control_bundles(struct node *n, const struct json_t *in, struct json_t *out)
{
    struct filter f;
    const json_t *limit = json_object_get(in, "limit");
    struct choice c = {.most = SHOWN, .order = read_order(in, out)};
    if (c.order == NULL || !read_filter(n, in, &f, out))
        return;
    if (json_is_integer(limit) && json_integer_value(limit) > 0)
        c.most = (size_t)json_integer_value(limit);
    c.most = c.most > SHOWN_MAX ? SHOWN_MAX : c.most;
    c.at = calloc(2 * c.most, sizeof *c.at);
    if (c.at == NULL) {
        control_refuse(out, false, "out of memory");
        return;
    }
    walk_bundles(n, &f, &c);
    json_t *list = json_array();
    for (size_t i = 0; i < c.len; i++)
        json_array_append_new(list, bundle_json(n, &c.at[i]));
    free(c.at);
    json_object_set_new(out, "total", json_number(agent_counters(n->agent)->bundles));
    json_object_set_new(out, "fit", json_number(c.fit));
    json_object_set_new(out, "bundles", list);
}

/* ---- deletion ---- */

static void delete_fitting(struct node *n, const struct filter *f, json_t *out)
{
    struct choice c = {.most = DELETED_MAX, .order = by_key};
    c.at = calloc(2 * c.most, sizeof *c.at);
    if (c.at == NULL) {
        control_refuse(out, false, "out of memory");
        return;
    }
    walk_bundles(n, f, &c);
    uint64_t deleted = 0;
    for (size_t i = 0; i < c.len; i++)
        deleted += node_delete(n, c.at[i].key) == 0;
    json_object_set_new(out, "deleted", json_number(deleted));
    json_object_set_new(out, "left", json_number(c.fit - c.len));
    free(c.at);
    if (deleted > 0)
        say(&n->say, LEVEL_INFO, "%llu bundles were deleted by the operator",
            (unsigned long long)deleted);
}

void control_delete(struct node *n, const struct json_t *in, struct json_t *out)
{
    const json_t *key = json_object_get(in, "key");
    struct filter f;
    if (json_is_string(json_object_get(in, "destination"))) {
        if (read_filter(n, in, &f, out))
            delete_fitting(n, &f, out);
    } else if (!json_is_integer(key)) {
        control_refuse(out, true, "delete needs the key of a bundle, a number, or a destination");
    } else if (node_delete(n, (uint64_t)json_integer_value(key)) < 0) {
        control_refuse(out, false, "there is no bundle with that key");
    }
}

/* ---- how much for whom ---- */

static json_t *backlog_json(const struct node_backlog_row *r, const char *name)
{
    json_t *o = json_object();
    json_object_set_new(o, "destination", json_string(name));
    json_object_set_new(o, "bundles", json_number(r->bundles));
    json_object_set_new(o, "bytes", json_number(r->bytes));
    json_object_set_new(o, "oldest_ms", json_number(r->oldest_ms));
    return o;
}

void control_backlog(struct node *n, const struct json_t *in, struct json_t *out)
{
    const struct node_backlog *b = node_backlog(n);
    const json_t *limit = json_object_get(in, "limit");
    json_t *list = json_array();
    size_t most = json_is_integer(limit) && json_integer_value(limit) > 0
                      ? (size_t)json_integer_value(limit)
                      : NODE_BACKLOG_ROWS;
    for (size_t i = 0; b != NULL && i < b->len && i < most; i++) {
        char text[EID_TEXT_MAX];
        eid_text(&b->rows[i].node, text);
        json_array_append_new(list, backlog_json(&b->rows[i], text));
    }
    if (b != NULL && b->others.bundles > 0)
        json_array_append_new(list, backlog_json(&b->others, "others"));
    json_object_set_new(out, "backlog", list);
    if (b != NULL)
        json_object_set_new(out, "age_ns", json_number(world_now(n->world) - b->made));
}
