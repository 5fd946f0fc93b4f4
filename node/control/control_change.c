/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that may read long files: reload, links with other certificates, contact plans. The
 * answer is a list without items that waits until the change is done (node_change.h). What can go
 * wrong: the request; the node cannot do it; the client disconnects: the change is done and logged
 * all the same.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/config/config_link.h"
#include "node/control/control.h"
#include "node/control/control_list.h"
#include "node/node_change.h"
#include "node/node_reload.h"
#include "node/plan/node_plan.h"

/* The answer that a visitor waits for. */
struct waiting {
    struct control_list base;
    struct asked *asked; /* NULL: it is made */
    json_t *out;         /* then: what is added to the answer */
};

/* A change from the request to its end. */
struct asked {
    struct waiting *answer; /* NULL: the client has disconnected */
    struct node *node;
    const char *command; /* static */
    char *who;
    json_t *in, *out; /* out: as of an answer */
    /* Of a link: */
    struct node_change change;
    const char *name, *keys; /* in `in` */
    struct config_link *link;
    uint64_t life; /* of the link that is there */
    /* Of the contact plan: */
    struct node_plan_file plan;
    int rc;
    struct conf_errors errors; /* of either */
};

/* ---- the answer ---- */

static struct waiting *waiting_of(const struct control_list *l)
{
    return container_of((struct control_list *)(uintptr_t)l, struct waiting, base);
}

static bool prepare_waiting(struct control_list *l)
{
    l->waits = waiting_of(l)->asked != NULL;
    return l->waits;
}

static void head_waiting(const struct control_list *l, struct json_t *out)
{
    json_object_update(out, waiting_of(l)->out);
}

static void free_waiting(struct control_list *l)
{
    struct waiting *w = waiting_of(l);
    if (w->asked != NULL)
        w->asked->answer = NULL;
    json_decref(w->out);
    free(w);
}

/* ---- the change ---- */

static void free_asked(struct asked *a)
{
    config_link_free(a->link);
    node_plan_file_free(&a->plan);
    json_decref(a->in);
    json_decref(a->out);
    free(a->who);
    free(a);
}

/* NULL: no memory. */
static struct asked *new_asked(struct node *n, const char *command, const struct control_who *who,
                               const json_t *in)
{
    static const struct control_list_ops ops = {NULL, prepare_waiting, head_waiting, NULL,
                                                free_waiting};
    struct asked *a = calloc(1, sizeof *a);
    struct waiting *w = calloc(1, sizeof *w);
    if (a == NULL || w == NULL) {
        free(a);
        free(w);
        return NULL;
    }
    *w = (struct waiting){.base = {.ops = &ops, .node = n}, .asked = a};
    a->answer = w;
    a->node = n;
    a->command = command;
    a->in = json_incref((json_t *)(uintptr_t)in);
    a->out = json_object();
    a->who = strdup(who->name);
    conf_errors_init(&a->errors, "");
    return a;
}

/* "changed", "failed", or "asked for": a reload that applied all, a part, or found nothing. */
static const char *tell_outcome(const struct asked *a)
{
    const json_t *applied = json_object_get(a->out, "applied");
    if (json_is_false(json_object_get(a->out, "ok")))
        return "failed";
    if (applied == NULL || json_array_size(applied) > 0)
        return "changed";
    return json_array_size(json_object_get(a->out, "refused")) > 0 ? "failed" : "asked for";
}

/* It is made, or cannot be: logged, and answered. */
static void end_asked(struct asked *a)
{
    struct waiting *w = a->answer;
    control_tell_change(a->node, a->command, a->who == NULL ? "somebody" : a->who, a->in,
                        tell_outcome(a));
    if (w != NULL) {
        w->asked = NULL;
        w->out = json_incref(a->out);
    }
    free_asked(a);
    if (w != NULL && w->base.waits && w->base.wake != NULL)
        w->base.wake(w->base.wake_context);
}

/* ---- reload ---- */

static void on_reloaded(void *context, int rc, struct json_t *out)
{
    struct asked *a = context;
    json_object_update(a->out, out);
    if (rc == HELIO_EFORMAT) /* what is wrong with the file is there */
        json_object_set_new(a->out, "usage", json_true());
    if (rc < 0)
        json_object_set_new(a->out, "ok", json_false());
    if (rc == HELIO_ENOENT)
        control_refuse(a->out, false, "this node has no file, or it is stopping");
    else if (rc < 0 && rc != HELIO_EFORMAT)
        control_refuse(a->out, false, helio_strerror(rc));
    end_asked(a);
}

struct control_list *control_reload(struct node *n, const struct control_who *who,
                                    const struct json_t *in, struct json_t *out)
{
    struct asked *a = new_asked(n, "reload", who, in);
    if (a == NULL) {
        control_refuse(out, false, "out of memory");
        return NULL;
    }
    struct control_list *l = &a->answer->base;
    const int rc = node_reload(n, on_reloaded, a);
    if (rc < 0)
        on_reloaded(a, rc, NULL);
    return l;
}

static struct asked *asked_of(struct node_change *c)
{
    return container_of(c, struct asked, change);
}

/* ---- the contact plan ---- */

/* A client that changes a node may name a file that only the node's user may read. */
#define UNREADABLE_PLAN                                                                            \
    "is not understood; write a contact or range, as helio-plan check tells of a file that you "   \
    "may read"

static bool begin_plan(struct node_change *c)
{
    struct asked *a = asked_of(c);
    const struct node *n = a->node;
    const char *file = json_string_value(json_object_get(a->in, "file"));
    a->rc = node_plan_file_begin(&a->plan, n, &a->errors);
    if (a->rc < 0)
        return false;
    const char *named = file != NULL ? file : a->plan.path != NULL ? a->plan.path : "plan";
    conf_errors_init(&a->errors, named);
    if (strcmp(named, n->config->plan) != 0)
        a->errors.instead = UNREADABLE_PLAN;
    return true;
}

static void read_plan(struct node_change *c)
{
    struct asked *a = asked_of(c);
    const char *file = json_string_value(json_object_get(a->in, "file"));
    a->rc = node_plan_file_read(&a->plan, file, &a->errors);
}

static void apply_plan(struct node_change *c)
{
    struct asked *a = asked_of(c);
    if (a->rc == 0 && !a->node->stopping)
        a->rc = node_plan_file_use(&a->plan, a->node, &a->errors);
    if (a->node->stopping)
        control_refuse(a->out, false, "the node is stopping");
    else if (a->rc < 0)
        control_refuse_errors(a->out, a->rc != HELIO_ENOMEM && a->rc != HELIO_EIO, &a->errors);
    end_asked(a);
}

/* ---- links ---- */

static void read_added(struct node_change *c)
{
    struct asked *a = asked_of(c);
    a->link = config_link_parse(a->name, a->keys, strlen(a->keys), &a->node->config->node,
                                control_names_now(a->node), cla_at, &a->errors);
}

static void apply_added(struct node_change *c)
{
    struct asked *a = asked_of(c);
    char why[512] = "";
    if (a->node->stopping)
        control_refuse(a->out, false, "the node is stopping");
    else if (a->link == NULL)
        control_refuse_errors(a->out, true, &a->errors);
    else if (node_link_add(a->node, a->link, why, sizeof why) < 0)
        control_refuse(a->out, false, why);
    if (!a->node->stopping)
        a->link = NULL; /* the node's in any case */
    end_asked(a);
}

/* With the keys that the link has when it is this change's turn. */
static bool begin_set(struct node_change *c)
{
    struct asked *a = asked_of(c);
    const struct node_link *l = control_find_link(a->node, a->name, a->out);
    if (l == NULL)
        return false;
    a->life = l->life;
    a->link =
        config_link_change(l->config, a->keys, strlen(a->keys), &a->node->config->node, &a->errors);
    if (a->link == NULL)
        control_refuse_errors(a->out, true, &a->errors);
    return a->link != NULL && a->link->ops->read != NULL;
}

static void read_set(struct node_change *c)
{
    struct asked *a = asked_of(c);
    config_link_files(a->link, &a->errors);
}

static void apply_set(struct node_change *c)
{
    struct asked *a = asked_of(c);
    char why[512] = "";
    struct node_link *l = node_link_find(a->node, a->name);
    if (a->node->stopping)
        control_refuse(a->out, false, "the node is stopping");
    else if (a->errors.total > 0)
        control_refuse_errors(a->out, true, &a->errors);
    else if (a->link != NULL && (l == NULL || l->life != a->life || l->cla == NULL))
        control_refuse(a->out, false, "the link was removed meanwhile");
    else if (a->link != NULL && node_link_set(l, a->link, why, sizeof why) < 0)
        control_refuse(a->out, false, why);
    else
        a->link = NULL; /* the node's; or there was none */
    end_asked(a);
}

/* Gets the link's name and its keys from the request; false: an error was written. */
static bool link_words(const json_t *in, const char *what, struct asked *a, json_t *out)
{
    char text[96];
    a->name = json_string_value(json_object_get(in, "name"));
    a->keys = json_string_value(json_object_get(in, "keys"));
    if (a->name != NULL && a->keys != NULL)
        return true;
    snprintf(text, sizeof text, "%s needs a name, and keys (a YAML map, as a text)", what);
    return control_refuse(out, true, text);
}

/* `good`: its words are there; else `out` says what is wrong. */
static struct control_list *make_asked(struct asked *a, bool good, json_t *out)
{
    struct control_list *l = &a->answer->base;
    if (good && node_change_make(a->node, &a->change))
        return l;
    if (good)
        control_refuse(out, false, "too many changes wait; try again later");
    free_asked(a);
    waiting_of(l)->asked = NULL;
    free_waiting(l);
    return NULL;
}

/* Of a change of a link. */
static struct control_list *make_link(struct asked *a, const json_t *in, json_t *out)
{
    if (a == NULL) {
        control_refuse(out, false, "out of memory");
        return NULL;
    }
    const char *file = json_string_value(json_object_get(in, "file"));
    conf_errors_init(&a->errors, file != NULL ? file : "");
    return make_asked(a, link_words(in, a->command, a, out), out);
}

struct control_list *control_link_add(struct node *n, const struct control_who *who,
                                      const struct json_t *in, struct json_t *out)
{
    struct asked *a = new_asked(n, "link-add", who, in);
    if (a != NULL)
        a->change = (struct node_change){.read = read_added, .apply = apply_added};
    return make_link(a, in, out);
}

struct control_list *control_link_set(struct node *n, const struct control_who *who,
                                      const struct json_t *in, struct json_t *out)
{
    struct asked *a = new_asked(n, "link-set", who, in);
    if (a != NULL)
        a->change = (struct node_change){.begin = begin_set, .read = read_set, .apply = apply_set};
    return make_link(a, in, out);
}

struct control_list *control_plan_reload(struct node *n, const struct control_who *who,
                                         const struct json_t *in, struct json_t *out)
{
    struct asked *a = new_asked(n, "plan-reload", who, in);
    if (a == NULL) {
        control_refuse(out, false, "out of memory");
        return NULL;
    }
    a->change = (struct node_change){.begin = begin_plan, .read = read_plan, .apply = apply_plan};
    return make_asked(a, true, out);
}
