/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits at the node: those bundles that an operator asks for, the first of them in the order
 * that the request names; how much there is for whom; and their deletion. All of it is made in
 * steps. Of a list, all bundles are looked at, the first ones are put in order, then shown if they
 * are still here.
 * What can go wrong: a word that is not understood; memory.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "conf/json_number.h"
#include "node/control/control.h"
#include "node/control/control_list.h"
#include "node/node_backlog.h"

#define SHOWN 1000 /* unless another number is asked for */
#define SHOWN_MAX 100000
#define DELETED_MAX 10000 /* bundles of one request; the next request continues */
#define LOOKED_MAX 200000 /* chains of the agent's table by one request */

/* Which bundles; NULL and false: any. */
struct filter {
    bool to, from, by_priority;
    struct eid_patterns destination, source;
    const char *link, *state;
    enum bundle_priority priority;
};

static bool read_pattern(const struct node *n, const json_t *in, const char *key,
                         struct eid_patterns *p, bool *given, json_t *out)
{
    const char *text = json_string_value(json_object_get(in, key));
    char wrong[256], why[320];
    *given = text != NULL;
    if (text == NULL || control_patterns(n, text, p, wrong, sizeof wrong) == 0)
        return true;
    snprintf(why, sizeof why, "%s: %s", key, wrong);
    return control_refuse(out, true, why);
}

static bool is_state(const char *word)
{
    for (const char *const *s = agent_states; *s != NULL; s++)
        if (strcmp(*s, word) == 0)
            return true;
    return false;
}

/* Names that no bundle can have are an error. */
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
           read_pattern(n, in, "destination", &f->destination, &f->to, out) &&
           read_pattern(n, in, "source", &f->source, &f->from, out);
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

#define RANKS 8 /* numbers of 64 bits, the first one counts most */

/* A row's key in the order: the smallest is first. */
struct choice_row {
    uint64_t by[RANKS], key;
};

enum order { BY_KEY, BY_BYTES, BY_AGE, BY_EXPIRY, BY_PRIORITY, BY_DESTINATION, BY_SOURCE, ORDERS };

static const char *const order_words[ORDERS] = {"key",      "bytes",       "age",   "expires",
                                                "priority", "destination", "source"};

static uint64_t word_of(const char *text, size_t len)
{
    uint64_t word = 0;
    for (size_t i = 0; i < sizeof word; i++)
        word = word << 8 | (i < len ? (uint8_t)text[i] : 0);
    return word;
}

/* Numbers of ipn are numbers; of other names their first 64 characters count. */
static void rank_eid(const struct eid *e, uint64_t by[RANKS])
{
    char text[EID_TEXT_MAX];
    if (e->scheme == EID_IPN) {
        by[0] = word_of("ipn:", 4) | (e->allocator & UINT32_MAX);
        by[1] = e->node;
        by[2] = e->service;
        return;
    }
    const size_t len = eid_text(e, text);
    for (size_t i = 0; i < RANKS && i * 8 < len; i++)
        by[i] = word_of(text + i * 8, len - i * 8);
}

static struct choice_row rank_bundle(const struct agent_bundle_info *b, enum order order)
{
    struct choice_row row = {.key = b->key};
    switch (order) {
    case BY_BYTES:
        row.by[0] = ~b->bytes;
        break;
    case BY_AGE:
        row.by[0] = ~b->age_ms;
        break;
    case BY_EXPIRY:
        row.by[0] = b->expires_ms;
        break;
    case BY_PRIORITY:
        row.by[0] = ~(uint64_t)b->priority;
        break;
    case BY_DESTINATION:
        rank_eid(&b->destination, row.by);
        break;
    case BY_SOURCE:
        rank_eid(&b->id.source, row.by);
        break;
    case BY_KEY:
    case ORDERS:
        break;
    }
    return row;
}

static bool is_before(const struct choice_row *a, const struct choice_row *b)
{
    for (size_t i = 0; i < RANKS; i++)
        if (a->by[i] != b->by[i])
            return a->by[i] < b->by[i];
    return a->key < b->key;
}

/* False: there is no such order, which was said. */
static bool read_order(const json_t *in, enum order *order, json_t *out)
{
    const char *word = json_string_value(json_object_get(in, "sort"));
    *order = BY_KEY;
    for (int i = 0; word != NULL && i < ORDERS; i++)
        if (strcmp(order_words[i], word) == 0) {
            *order = (enum order)i;
            return true;
        }
    return word == NULL ||
           control_refuse(out, true,
                          "sort: write key, bytes, age, expires, priority, destination or source");
}

/* ---- the choice ---- */

/* The first `most` matching rows, in a heap whose top is the last of them. */
struct choice {
    const struct node *node;
    struct filter filter;
    enum order order;
    struct choice_row *at;
    size_t len, most;
    uint64_t fit;    /* in all */
    uint64_t cursor; /* of agent_bundles_scan */
};

static int open_choice(struct choice *c, const struct node *n, size_t most)
{
    c->node = n;
    c->most = most;
    c->at = malloc(most * sizeof *c->at);
    return c->at == NULL ? HELIO_ENOMEM : 0;
}

/* Inserts a row at the free top of [0, len). */
static void sift_down(struct choice_row *at, size_t len, struct choice_row row)
{
    size_t hole = 0;
    for (size_t child; (child = 2 * hole + 1) < len; hole = child) {
        child += child + 1 < len && is_before(&at[child], &at[child + 1]);
        if (!is_before(&row, &at[child]))
            break;
        at[hole] = at[child];
    }
    at[hole] = row;
}

static void sift_up(struct choice_row *at, size_t hole, struct choice_row row)
{
    for (size_t parent; hole > 0; hole = parent) {
        parent = (hole - 1) / 2;
        if (!is_before(&at[parent], &row))
            break;
        at[hole] = at[parent];
    }
    at[hole] = row;
}

static void see_bundle(void *context, const struct agent_bundle_info *b)
{
    struct choice *c = context;
    if (!fits_filter(c->node, &c->filter, b))
        return;
    const struct choice_row row = rank_bundle(b, c->order);
    c->fit++;
    if (c->len < c->most)
        sift_up(c->at, c->len++, row);
    else if (is_before(&row, &c->at[0]))
        sift_down(c->at, c->len, row);
}

/* True: there are more to look at. */
static bool look_on(struct choice *c)
{
    c->cursor = agent_bundles_scan(c->node->agent, c->cursor, see_bundle, c);
    return c->cursor != 0;
}

json_t *control_bundle_json(const struct node *n, const struct agent_bundle_info *b)
{
    const char *link = link_name(n, b);
    json_t *o = json_object();
    json_object_set_new(o, "key", json_number(b->key));
    control_put_eid(n, o, "source", &b->id.source);
    control_put_eid(n, o, "destination", &b->destination);
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

/* ---- the list ---- */

struct bundle_list {
    struct control_list base;
    json_t *request; /* whose words the filter has */
    struct choice choice;
    bool looked;  /* at all bundles; from then on rows [heap, choice.len) are in order */
    size_t heap;  /* rows that are still in the heap */
    size_t shown; /* then so many have been shown, or are no longer here */
};

/* Examines all rows, then sorts them one by one. */
static bool prepare_bundles(struct control_list *l)
{
    struct bundle_list *b = container_of(l, struct bundle_list, base);
    struct choice *c = &b->choice;
    if (!b->looked) {
        b->looked = !look_on(c);
        b->heap = c->len;
        return true;
    }
    if (b->heap < 2)
        return false;
    const struct choice_row last = c->at[0], other = c->at[--b->heap];
    sift_down(c->at, b->heap, other);
    c->at[b->heap] = last;
    return true;
}

static void head_bundles(const struct control_list *l, struct json_t *out)
{
    const struct bundle_list *b = container_of(l, struct bundle_list, base);
    json_object_set_new(out, "total", json_number(agent_counters(l->node->agent)->bundles));
    json_object_set_new(out, "fit", json_number(b->choice.fit));
}

static bool next_bundle(struct control_list *l, struct json_t **item)
{
    struct bundle_list *b = container_of(l, struct bundle_list, base);
    struct agent_bundle_info info;
    if (b->shown == b->choice.len)
        return false;
    if (agent_bundle_find(l->node->agent, b->choice.at[b->shown++].key, &info))
        *item = control_bundle_json(l->node, &info);
    return true;
}

static void free_bundles(struct control_list *l)
{
    struct bundle_list *b = container_of(l, struct bundle_list, base);
    json_decref(b->request);
    free(b->choice.at);
    free(b);
}

struct control_list *control_bundles(struct node *n, const struct json_t *in, struct json_t *out)
{
    static const struct control_list_ops ops = {"bundles", prepare_bundles, head_bundles,
                                                next_bundle, free_bundles};
    const json_t *limit = json_object_get(in, "limit");
    struct bundle_list *b = calloc(1, sizeof *b);
    size_t most = SHOWN;
    if (limit != NULL)
        most = (size_t)json_integer_value(limit);
    most = most > SHOWN_MAX ? SHOWN_MAX : most;
    if (b == NULL) {
        control_refuse(out, false, "out of memory");
        return NULL;
    }
    b->base = (struct control_list){.ops = &ops, .node = n};
    b->request = json_incref((json_t *)(uintptr_t)in);
    if (read_order(in, &b->choice.order, out) && read_filter(n, in, &b->choice.filter, out)) {
        if (open_choice(&b->choice, n, most) == 0)
            return &b->base;
        control_refuse(out, false, "out of memory");
    }
    free_bundles(&b->base);
    return NULL;
}

/* ---- deletion ---- */

/* So many keys of one chain of the agent's table are deleted before the next look at it; few
 * chains are longer. */
#define FOUND_MAX 4

struct deletion {
    struct control_list base;
    json_t *request; /* whose words the filter has */
    struct filter filter;
    uint64_t cursor; /* of agent_bundles_scan: the next chain */
    uint64_t here;   /* likewise: the one that was looked at */
    size_t chains;   /* that were looked at */
    uint64_t found[FOUND_MAX];
    size_t len, done;
    uint64_t before, deleted; /* before: this look */
};

static void see_deleted(void *context, const struct agent_bundle_info *b)
{
    struct deletion *d = context;
    if (d->len < FOUND_MAX && fits_filter(d->base.node, &d->filter, b))
        d->found[d->len++] = b->key;
}

/* False: this request has done its part. */
static bool next_chain(struct deletion *d)
{
    const bool over = d->chains > 0 && d->cursor == 0;
    if (over || d->deleted >= DELETED_MAX || d->chains == LOOKED_MAX)
        return false;
    d->here = d->cursor;
    d->chains++;
    return true;
}

/* The same one again, if it may have more that fit. */
static bool look_at_chain(struct deletion *d)
{
    const bool again = d->len == FOUND_MAX && d->deleted > d->before;
    if (!again && !next_chain(d))
        return false;
    d->len = d->done = 0;
    d->before = d->deleted;
    d->cursor = agent_bundles_scan(d->base.node->agent, d->here, see_deleted, d);
    return true;
}

/* Looks at a chain, then deletes what it found, one after the other. */
static bool delete_step(struct control_list *l)
{
    struct deletion *d = container_of(l, struct deletion, base);
    if (d->done == d->len)
        return look_at_chain(d);
    d->deleted += node_delete(l->node, d->found[d->done++]) == 0;
    return true;
}

static void head_deletion(const struct control_list *l, struct json_t *out)
{
    const struct deletion *d = container_of(l, struct deletion, base);
    json_object_set_new(out, "deleted", json_number(d->deleted));
    if (d->cursor != 0)
        json_object_set_new(out, "after", json_number(d->cursor));
}

/* A user who closes the connection also ends the deletion: the deleted bundles are logged. */
static void free_deletion(struct control_list *l)
{
    struct deletion *d = container_of(l, struct deletion, base);
    if (d->deleted > 0)
        say(&l->node->say, LEVEL_INFO, "%llu bundles were deleted by the operator",
            (unsigned long long)d->deleted);
    json_decref(d->request);
    free(d);
}

struct control_list *control_delete_fitting(struct node *n, const struct json_t *in,
                                            struct json_t *out)
{
    static const struct control_list_ops ops = {NULL, delete_step, head_deletion, NULL,
                                                free_deletion};
    if (!json_is_string(json_object_get(in, "destination")))
        return NULL;
    struct deletion *d = calloc(1, sizeof *d);
    if (d == NULL) {
        control_refuse(out, false, "out of memory");
        return NULL;
    }
    d->base = (struct control_list){.ops = &ops, .node = n};
    d->request = json_incref((json_t *)(uintptr_t)in);
    d->cursor = (uint64_t)json_integer_value(json_object_get(in, "after"));
    if (read_filter(n, in, &d->filter, out))
        return &d->base;
    free_deletion(&d->base);
    return NULL;
}

void control_delete(struct node *n, const struct json_t *in, struct json_t *out)
{
    const json_t *key = json_object_get(in, "key");
    struct filter f;
    if (json_object_get(in, "destination") != NULL) {
        (void)read_filter(n, in, &f, out); /* then control_delete_fitting follows */
    } else if (key == NULL) {
        control_refuse(out, true, "delete needs the key of a bundle, a number, or a destination");
    } else if (node_delete(n, (uint64_t)json_integer_value(key)) < 0) {
        control_refuse(out, false, "there is no bundle with that key");
    }
}

/* ---- how much for whom ---- */

/* other: the row is the sum of those that are not shown. */
static json_t *backlog_json(const struct node *n, const struct node_backlog_row *r, bool other)
{
    json_t *o = json_object();
    if (other)
        json_object_set_new(o, "destination", json_string("others"));
    else
        control_put_eid(n, o, "destination", &r->node);
    json_object_set_new(o, "bundles", json_number(r->bundles));
    json_object_set_new(o, "bytes", json_number(r->bytes));
    json_object_set_new(o, "oldest_ms", json_number(r->oldest_ms));
    return o;
}

/* Row i of those that are shown: the first `most`, then what is summed. NULL: there are no more. */
static json_t *backlog_row(const struct node *n, const struct node_backlog_table *t, size_t i,
                           size_t most)
{
    const size_t len = t == NULL ? 0 : t->len < most ? t->len : most;
    if (i < len)
        return backlog_json(n, &t->rows[t->order[i].row], false);
    return t != NULL && i == len && t->others.bundles > 0 ? backlog_json(n, &t->others, true)
                                                          : NULL;
}

static void set_age(const struct node *n, const struct node_backlog_table *t, json_t *out)
{
    if (t != NULL)
        json_object_set_new(out, "age_ns", json_number(world_now(n->world) - t->made));
}

struct backlog_list {
    struct control_list base;
    const struct node_backlog_table *table; /* from the first row on */
    size_t most, shown;
};

static bool prepare_backlog(struct control_list *l)
{
    struct backlog_list *b = container_of(l, struct backlog_list, base);
    if (node_backlog_step(l->node))
        return true;
    b->table = node_backlog_keep(l->node);
    return false;
}

static void head_backlog(const struct control_list *l, struct json_t *out)
{
    set_age(l->node, container_of(l, struct backlog_list, base)->table, out);
}

static bool next_backlog(struct control_list *l, struct json_t **item)
{
    struct backlog_list *b = container_of(l, struct backlog_list, base);
    *item = backlog_row(l->node, b->table, b->shown++, b->most);
    return *item != NULL;
}

static void free_backlog(struct control_list *l)
{
    struct backlog_list *b = container_of(l, struct backlog_list, base);
    node_backlog_drop(l->node, b->table);
    free(b);
}

struct control_list *control_backlog(struct node *n, const struct json_t *in, struct json_t *out)
{
    static const struct control_list_ops ops = {"backlog", prepare_backlog, head_backlog,
                                                next_backlog, free_backlog};
    const json_t *limit = json_object_get(in, "limit");
    struct backlog_list *b = calloc(1, sizeof *b);
    if (b == NULL) {
        control_refuse(out, false, "out of memory");
        return NULL;
    }
    b->base = (struct control_list){.ops = &ops, .node = n};
    b->most = limit != NULL ? (size_t)json_integer_value(limit) : NODE_BACKLOG_ROWS;
    return &b->base;
}

void control_backlog_now(struct node *n, size_t most, struct json_t *out)
{
    json_t *list = json_array(), *row;
    node_backlog_want(n);
    const struct node_backlog_table *t = node_backlog_keep(n);
    for (size_t i = 0; (row = backlog_row(n, t, i, most)) != NULL; i++)
        json_array_append_new(list, row);
    json_object_set_new(out, "backlog", list);
    set_age(n, t, out);
    node_backlog_drop(n, t);
}
