/* SPDX-License-Identifier: Apache-2.0 */
/* An operator's commands for the contact plan. What can go wrong: the request, and all that is
 * wrong with a plan's file or text, in one answer. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "conf/json_number.h"
#include "node/control/control.h"
#include "node/control/control_list.h"
#include "node/plan/node_plan.h"
#include "node/plan/plan_draft.h"

#define CONTACTS_SHOWN 1000
#define CONTACTS_STEP 256 /* contacts of the plan that a step looks at: some µs */
#define NOW "0s"

void control_refuse_errors(json_t *out, bool wrong, const struct conf_errors *e)
{
    char text[2560] = "";
    size_t used = 0;
    for (size_t i = 0; i < e->len && used + CONF_ERROR_CAP + 2 < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? "; " : "",
                                 e->text[i]);
    if (e->total > e->len)
        snprintf(text + used, sizeof text - used, "; %zu more errors", e->total - e->len);
    control_refuse(out, wrong, text);
}

/* --- what it is --- */

static json_t *contact_json(const struct node *n, const struct plan_contact *c, uint64_t id,
                            tick now)
{
    const struct plan *p = n->plan->plan;
    char start[PLAN_TIME_CAP], end[PLAN_TIME_CAP];
    struct plan_range r;
    json_t *o = json_object();
    control_put_node(n, o, "from", c->from);
    control_put_node(n, o, "to", c->to);
    json_object_set_new(o, "state", json_string(c->start <= now ? "now" : "later"));
    json_object_set_new(o, "start", json_string(plan_date_text(c->start, false, start)));
    json_object_set_new(o, "end", json_string(plan_time_text(c->end, now, end)));
    json_object_set_new(o, "rate_bps", json_number(c->rate));
    json_object_set_new(o, "confidence", json_real(c->confidence));
    if (plan_range_at(p, c->from, c->to, c->start > now ? c->start : now, &r) == 0)
        json_object_set_new(o, "owlt_ns", json_number(r.owlt));
    if (c->rate != 0) {
        json_object_set_new(o, "volume_bytes", json_number(plan_volume(p, id)));
        json_object_set_new(o, "left_bytes", json_number(plan_left(p, id, PLAN_NORMAL)));
    }
    return o;
}

/* This node's contacts that have not ended. They are found in the whole plan, in steps; concurrent
 * changes may be shown or not. */
struct contact_list {
    struct control_list base;
    struct plan_cursor at;
    uint64_t reloads; /* of the plan that the cursor and the ids are of */
    uint64_t total;
    size_t len, shown;
    uint64_t ids[CONTACTS_SHOWN]; /* the first ones */
};

static tick now_of(const struct node_plan *p)
{
    return tick_add(world_now(p->node->world), p->ahead);
}

static void see_contact(struct contact_list *l, const struct node_plan *p,
                        const struct plan_contact *c, uint64_t id)
{
    const uint64_t node = plan_router_node(p->router);
    if ((c->from != node && c->to != node) || c->end <= now_of(p))
        return;
    if (l->total++ < CONTACTS_SHOWN)
        l->ids[l->len++] = id;
}

/* The plan's file was replaced: starts with its contacts again. */
static void begin_again(struct contact_list *l, uint64_t reloads)
{
    l->at = (struct plan_cursor){0};
    l->reloads = reloads;
    l->total = l->len = 0;
}

static bool prepare_contacts(struct control_list *base)
{
    struct contact_list *l = container_of(base, struct contact_list, base);
    const struct node_plan *p = base->node->plan;
    uint64_t id;
    if (l->reloads != p->reloads)
        begin_again(l, p->reloads);
    for (int i = 0; i < CONTACTS_STEP; i++) {
        const struct plan_contact *c = plan_walk(p->plan, &l->at, &id);
        if (c == NULL)
            return false;
        see_contact(l, p, c, id);
    }
    return true;
}

static void head_plan(const struct node_plan *p, json_t *out)
{
    struct plan_totals plan;
    struct plan_router_totals router;
    plan_totals(p->plan, &plan);
    plan_router_totals(p->router, &router);
    json_t *answers = json_object();
    for (int i = 0; i <= PLAN_TOO_LONG; i++)
        json_object_set_new(answers, plan_reason_text((enum plan_reason)i),
                            json_number(router.answers[i]));
    json_object_set_new(answers, "static routes", json_number(router.others));
    json_object_set_new(out, "file", json_string(p->path));
    json_object_set_new(out, "times", json_string(p->dated ? "dates" : "since it was read"));
    json_object_set_new(out, "nodes", json_number(plan.nodes));
    json_object_set_new(out, "contacts", json_number(plan.contacts));
    json_object_set_new(out, "ranges", json_number(plan.ranges));
    json_object_set_new(out, "reloads", json_number(p->reloads));
    json_object_set_new(out, "changes", json_number(p->changes));
    json_object_set_new(out, "clock_steps", json_number(p->steps));
    json_object_set_new(out, "bundles_booked", json_number(router.booked));
    json_object_set_new(out, "answers", answers);
}

static void head_contacts(const struct control_list *base, struct json_t *out)
{
    const struct contact_list *l =
        container_of((struct control_list *)(uintptr_t)base, struct contact_list, base);
    head_plan(base->node->plan, out);
    json_object_set_new(out, "contacts_here_total", json_number(l->total));
}

static bool next_contact(struct control_list *base, struct json_t **item)
{
    struct contact_list *l = container_of(base, struct contact_list, base);
    const struct node_plan *p = base->node->plan;
    if (l->shown == l->len || l->reloads != p->reloads)
        return false;
    const uint64_t id = l->ids[l->shown++];
    const struct plan_contact *c = plan_get(p->plan, id);
    if (c != NULL)
        *item = contact_json(base->node, c, id, now_of(p));
    return true;
}

static void free_contacts(struct control_list *base)
{
    free(container_of(base, struct contact_list, base));
}

struct control_list *control_plan(struct node *n, const struct json_t *in, struct json_t *out)
{
    static const struct control_list_ops ops = {"contacts_here", prepare_contacts, head_contacts,
                                                next_contact, free_contacts};
    (void)in;
    if (n->plan == NULL) {
        control_refuse(out, false, NODE_PLAN_NONE);
        return NULL;
    }
    struct contact_list *l = calloc(1, sizeof *l);
    if (l == NULL) {
        control_refuse(out, false, "out of memory");
        return NULL;
    }
    l->base = (struct control_list){.ops = &ops, .node = n};
    l->reloads = n->plan->reloads;
    return &l->base;
}

/* --- what changes it --- */

/* NULL: said. */
static struct conf_errors *begin_change(const struct node *n, const char *what, json_t *out)
{
    struct conf_errors *e = n->stopping ? NULL : malloc(sizeof *e);
    if (n->stopping)
        control_refuse(out, false, "the node is stopping");
    else if (e == NULL)
        control_refuse(out, false, "out of memory");
    else
        conf_errors_init(e, what);
    return e;
}

static void end_change(struct conf_errors *e, int rc, json_t *out)
{
    if (rc < 0)
        control_refuse_errors(out, rc != HELIO_ENOMEM && rc != HELIO_EIO, e);
    free(e);
}

/* The same map with numbers in place of names of nodes, as JSON. NULL: it has none, or is no JSON.
 */
static char *number_names(const struct node *n, const char *keys)
{
    json_t *map = json_loads(keys, 0, NULL);
    uint64_t ignored, from, to;
    const char *a = json_string_value(json_object_get(map, "from"));
    const char *b = json_string_value(json_object_get(map, "to"));
    char *text = NULL;
    if (a != NULL && b != NULL && control_node_number(n, a, &from) &&
        control_node_number(n, b, &to) &&
        (units_count(a, UINT64_MAX, &ignored) != 0 || units_count(b, UINT64_MAX, &ignored) != 0)) {
        json_object_set_new(map, "from", json_number(from));
        json_object_set_new(map, "to", json_number(to));
        text = json_dumps(map, JSON_PRESERVE_ORDER);
    }
    json_decref(map);
    return text;
}

/* The map of one contact or range as a plan. */
static void add_item(struct node *n, const char *list, const char *keys, json_t *out)
{
    char *text = NULL, *numbered = number_names(n, keys);
    struct conf_errors *e = begin_change(n, list, out);
    if (e == NULL) {
        free(numbered);
        return;
    }
    int len = asprintf(&text, "{contacts: [%s%s", strcmp(list, "ranges") == 0 ? "], ranges: [" : "",
                       numbered != NULL ? numbered : keys);
    free(numbered);
    int rc = -1;
    char *whole = NULL;
    if (len >= 0)
        len = asprintf(&whole, "%s]}", text);
    if (len < 0)
        conf_error(e, 0, "out of memory");
    else
        rc = node_plan_add(n, whole, strlen(whole), e);
    free(len >= 0 ? whole : NULL);
    free(text);
    end_change(e, rc, out);
}

typedef int remover(struct node *n, uint64_t from, uint64_t to, const char *at,
                    struct conf_errors *e);

static void change_item(struct node *n, const json_t *in, const char *list, remover *remove,
                        json_t *out)
{
    const char *what = json_string_value(json_object_get(in, "do"));
    const char *keys = json_string_value(json_object_get(in, "keys"));
    const char *from = json_string_value(json_object_get(in, "from"));
    const char *to = json_string_value(json_object_get(in, "to"));
    const char *at = json_string_value(json_object_get(in, "at"));
    uint64_t a, b;
    if (what != NULL && strcmp(what, "add") == 0 && keys != NULL) {
        add_item(n, list, keys, out);
    } else if (what != NULL && strcmp(what, "remove") == 0 && from != NULL && to != NULL &&
               control_node_number(n, from, &a) && control_node_number(n, to, &b)) {
        struct conf_errors *e = begin_change(n, list, out);
        if (e != NULL)
            end_change(e, remove(n, a, b, at != NULL ? at : NOW, e), out);
    } else {
        control_refuse(out, true,
                       "it needs what to do: add and keys (a map in braces, as a text), or remove, "
                       "from and to (numbers or names of nodes, as texts) and at (a time; now)");
    }
}

void control_contact(struct node *n, const struct json_t *in, struct json_t *out)
{
    change_item(n, in, "contacts", node_plan_remove_contact, out);
}

void control_range(struct node *n, const struct json_t *in, struct json_t *out)
{
    change_item(n, in, "ranges", node_plan_remove_range, out);
}
