/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The new file is compared with the last one for keys that can change, so that an operator's other
 * changes stay; and with the running configuration for keys that cannot change. What can go wrong:
 * the file; a link that cannot be opened or changed, which is logged, and the rest continues;
 * memory.
 */
#include "node/node_reload.h"

#include <assert.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "node/config/config.h"
#include "node/config/config_discovery.h"
#include "node/config/config_link.h"
#include "node/config/config_names.h"
#include "node/config/config_tables.h"
#include "node/node_change.h"
#include "node/node_log.h"
#include "node/node_names.h"
#include "node/node_permit.h"
#include "node/node_security.h"
#include "node/plan/node_plan.h"

#define KEYS_CAP 256

/* The content of the file, and its position in the order of changes. */
struct reading {
    struct node_change change;
    char *path;
    struct config *now; /* NULL: it is wrong, or memory was out */
    struct conf_errors errors;
    node_reloaded *done;
    void *context;
    /* The plan that it names: */
    char *plan_was;      /* by the file as it was read before */
    uint64_t plan_stamp; /* when that was written; then this one */
    bool plan_new;       /* another file, or another content */
    int plan_rc;
    struct node_plan_file plan;
    struct conf_errors plan_errors;
};

struct reload {
    struct node *n;
    const struct config *was;
    struct config *now;
    struct reading *file;
    json_t *applied, *refused;
};

static void tell_change(struct reload *r, bool done, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void tell_change(struct reload *r, bool done, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    say(&r->n->say, done ? LEVEL_INFO : LEVEL_WARNING, "reload: %s", text);
    json_array_append_new(done ? r->applied : r->refused, json_string(text));
}

/* ---- links ---- */

static const struct config_link *link_of(const struct config *c, const char *name)
{
    for (size_t i = 0; i < c->links_len; i++)
        if (strcmp(c->links[i].name, name) == 0)
            return &c->links[i];
    return NULL;
}

static bool is_live(const struct cla_ops *ops, const char *key)
{
    for (const char *const *k = ops->live; k != NULL && *k != NULL; k++)
        if (strcmp(*k, key) == 0)
            return true;
    return false;
}

static void name_fixed(struct reload *r, const char *link, const char *key)
{
    tell_change(r, false,
                "link %s: %s cannot change while the link is there; remove the link (helioctl link "
                "remove) and reload again",
                link, key);
}

/* Keys of all links, and lists: of those that cannot change. */
static void name_fixed_keys(struct reload *r, const struct config_link *is,
                            const struct config_link *want)
{
    for (const struct conf_option *o = config_link_options; o->key != NULL; o++)
        if (!config_link_live(o->key) && !config_value_equal(o, is, want))
            name_fixed(r, want->name, o->key);
    const struct cla_list *list = config_lists_differ(config_link_lists, is, want);
    if (list == NULL && is->ops == want->ops)
        list = config_lists_differ(want->ops->lists, is->settings, want->settings);
    if (list != NULL)
        name_fixed(r, want->name, list->key);
}

/* Those that were read of the file go along. */
static void move_files(struct config_link *to, struct config_link *from)
{
    to->files = from->files;
    from->files = NULL;
}

/* Takes `changed`. */
static void set_link(struct reload *r, struct node_link *l, struct config_link *changed,
                     const char *keys)
{
    char why[256] = "";
    const char *key = NULL;
    int rc = cla_check(l->cla->ops, changed->settings, NULL, NULL, &key, why, sizeof why);
    if (rc == 0)
        rc = node_link_set(l, changed, why, sizeof why);
    if (rc < 0)
        config_link_free(changed);
    tell_change(r, rc == 0, "link %s: %s%s%s", l->config->name, keys, rc == 0 ? "" : ": ", why);
}

/* Its name, behind the others. */
static void add_key(char keys[KEYS_CAP], const char *key)
{
    const size_t used = strlen(keys);
    const int n = snprintf(keys + used, KEYS_CAP - used, "%s%s", used > 0 ? ", " : "", key);
    if (n < 0 || (size_t)n >= KEYS_CAP - used)
        keys[used] = '\0'; /* a text for people: what is too long ends there */
}

/* Of its queues. False: no memory. */
static bool copy_common(const struct config_link *want, struct config_link *changed,
                        char keys[KEYS_CAP])
{
    for (const struct conf_option *o = config_link_options; o->key != NULL; o++) {
        if (!config_link_live(o->key) || config_value_equal(o, changed, want))
            continue;
        if (!config_value_copy(o, want, changed))
            return false;
        add_key(keys, o->key);
    }
    memcpy(changed->weight, want->weight, sizeof changed->weight); /* made of `weights` */
    return true;
}

static void change_link(struct reload *r, struct node_link *l, struct config_link *want)
{
    const struct config_link *is = l->config;
    char keys[KEYS_CAP] = "";
    name_fixed_keys(r, is, want);
    if (is->ops != want->ops || l->cla == NULL)
        return;
    struct config_link *changed = config_link_copy(is);
    bool good = changed != NULL && copy_common(want, changed, keys);
    for (const struct conf_option *o = is->ops->options; good && o->key != NULL; o++) {
        if (config_value_equal(o, is->settings, want->settings))
            continue;
        if (!is_live(is->ops, o->key) || is->ops->set == NULL) {
            name_fixed(r, want->name, o->key);
            continue;
        }
        good = config_value_copy(o, want->settings, changed->settings);
        add_key(keys, o->key);
    }
    if (good && keys[0] != '\0') {
        move_files(changed, want);
        set_link(r, l, changed, keys);
        return;
    }
    config_link_free(changed);
    if (!good)
        tell_change(r, false, "link %s: out of memory", want->name);
}

/* Reads key files with unchanged names again. */
static void renew_link(struct reload *r, struct node_link *l)
{
    char why[640] = "";
    bool changed;
    const int rc = cla_renew(l->cla, &changed, why, sizeof why);
    if (rc < 0)
        tell_change(r, false, "link %s: %s", l->config->name, why);
    else if (changed)
        tell_change(r, true, "link %s: keys of frames.sdls", l->config->name);
}

static void add_link(struct reload *r, struct config_link *want)
{
    char why[256] = "out of memory";
    struct config_link *own = config_link_copy(want);
    if (own != NULL)
        move_files(own, want);
    int rc = own == NULL ? HELIO_ENOMEM : node_link_add(r->n, own, why, sizeof why);
    tell_change(r, rc == 0, "link %s: %s%s", want->name,
                rc == 0 ? "added" : "cannot be added: ", rc == 0 ? "" : why);
}

static void reload_links(struct reload *r)
{
    for (size_t i = 0; i < r->was->links_len; i++) {
        const char *name = r->was->links[i].name;
        struct node_link *l = node_link_find(r->n, name);
        if (link_of(r->now, name) != NULL || l == NULL || l->cla == NULL)
            continue;
        tell_change(r, true, "link %s: removed", name);
        node_link_remove(l);
    }
    for (size_t i = 0; i < r->now->links_len; i++) {
        struct config_link *want = &r->now->links[i];
        struct node_link *l = node_link_find(r->n, want->name);
        if (l != NULL)
            change_link(r, l, want);
        else
            add_link(r, want);
        if (l != NULL && l->cla != NULL)
            renew_link(r, l);
        cla_forget(want->ops, want->files);
        want->files = NULL;
    }
}

/* ---- routes ---- */

static bool has_route(const struct config *c, const char *via, const struct eid_pattern *p)
{
    for (size_t i = 0; i < c->routes_len; i++)
        if (strcmp(c->routes[i].via, via) == 0 && eid_patterns_have(&c->routes[i].patterns, p))
            return true;
    return false;
}

static void change_route(struct reload *r, const struct node_link *l, const struct eid_pattern *p,
                         bool add)
{
    char to[EID_TEXT_MAX];
    int rc = add ? agent_route_add(r->n->agent, p, l->index)
                 : agent_route_remove(r->n->agent, p, l->index);
    eid_pattern_text(p, to);
    tell_change(r, rc == 0, "route to %s via %s: %s%s", to, l->config->name,
                add ? "added" : "removed", rc == 0 ? "" : ", but it was not");
}

/* Adds, or removes, the routes of `of` that `other` does not have. A removed link has taken its
 * routes with it; an added one has brought its routes. */
static void change_routes(struct reload *r, const struct config *of, const struct config *other,
                          bool add)
{
    for (size_t i = 0; i < of->routes_len; i++) {
        const struct config_route *route = &of->routes[i];
        struct node_link *l = node_link_find(r->n, route->via);
        if (l == NULL || link_of(other, route->via) == NULL)
            continue;
        for (size_t k = 0; k < route->patterns.len; k++)
            if (!has_route(other, route->via, &route->patterns.at[k]))
                change_route(r, l, &route->patterns.at[k], add);
    }
}

/* ---- the rest ---- */

/* When it was written; 0: there is none. */
static uint64_t stamp_of(const char *path)
{
    struct stat st;
    if (*path == '\0' || stat(path, &st) != 0)
        return 0;
    return (uint64_t)st.st_mtim.tv_sec * TICK_S + (uint64_t)st.st_mtim.tv_nsec;
}

void node_reload_begin(struct node *n)
{
    n->plan_stamp = stamp_of(n->config->plan);
}

/* The plan was read with the file if there was something new. */
static void reload_plan(struct reload *r)
{
    struct reading *f = r->file;
    const char *path = r->now->plan;
    if (*path == '\0') {
        if (strcmp(path, r->was->plan) != 0)
            tell_change(r, false,
                        "plan: a node that follows a plan goes on doing so; start it anew");
        return;
    }
    if (!f->plan_new)
        return;
    struct conf_errors *e = &f->plan_errors;
    const int rc = f->plan_rc < 0 ? f->plan_rc : node_plan_file_use(&f->plan, r->n, e);
    tell_change(r, rc == 0, "plan: %s%s%s", path, rc == 0 ? "" : ": ",
                rc == 0 || e->len == 0 ? "" : e->text[0]);
    r->n->plan_stamp = rc == 0 ? f->plan_stamp : r->n->plan_stamp;
}

static void reload_log(struct reload *r)
{
    struct say *s = &r->n->say;
    if (r->now->log.level != r->was->log.level) {
        s->level = (enum say_level)r->now->log.level;
        tell_change(r, true, "log.level");
    }
    if (r->now->log.format != r->was->log.format) {
        node_say_init(s, r->now, &r->n->config->node);
        tell_change(r, true, "log.format");
    }
}

/* What the node runs with and cannot change. */
static void name_fixed_sections(struct reload *r)
{
    static const char *const changing[] = {"plan", "level", "format", "security_keys"};
    for (size_t i = 0; i < CONFIG_MAPS; i++) {
        const struct config_section *s = config_section_at(i);
        for (const struct conf_option *o = s->options; o->key != NULL; o++) {
            bool changes = false;
            for (size_t k = 0; k < sizeof changing / sizeof *changing; k++)
                changes = changes || strcmp(changing[k], o->key) == 0;
            if (!changes && !config_value_equal(o, r->n->config, r->now))
                tell_change(r, false, "%s%s%s cannot change while the node runs; start it anew",
                            s->name, *s->name != '\0' ? "." : "", o->key);
        }
    }
    if (config_lists_differ(config_lists, r->n->config, r->now) != NULL)
        tell_change(r, false, "endpoints cannot change while the node runs; start it anew");
    if (!config_discovery_same_links(r->n->config, r->now))
        tell_change(r, false, "discovery.links cannot change while the node runs; start it anew");
}

static void reload_security(struct reload *r)
{
    char why[512] = "";
    bool applied;
    const int rc = node_security_reload(r->n, r->now, &applied, why, sizeof why);
    if (rc < 0)
        tell_change(r, false, "security: %s; rules and keys are as before", why);
    else if (applied)
        tell_change(r, true, "security: %zu rules", r->now->security_len);
}

static void reload_rules(struct reload *r)
{
    bool applied;
    const int rc = node_permit_reload(r->n, r->now, &applied);
    if (rc < 0)
        tell_change(r, false, "rules: %s; rules and applications are as before",
                    helio_strerror(rc));
    else if (applied)
        tell_change(r, true, "rules: %zu, applications: %zu", r->now->rules_len,
                    r->now->applications_len);
}

/* Names are used from the file that was read last. */
static void tell_names(struct reload *r)
{
    if (config_lists_differ(config_name_lists, r->was, r->now) != NULL)
        tell_change(r, true, "names: %zu", r->now->names_len);
}

static void apply_changes(struct reload *r)
{
    reload_log(r);
    tell_names(r);
    name_fixed_sections(r);
    reload_security(r);
    reload_rules(r);
    change_routes(r, r->was, r->now, false);
    r->n->file = r->now; /* links that are added take its routes */
    reload_links(r);
    change_routes(r, r->now, r->was, true);
    node_names_changed(r->n);
    reload_plan(r);
    agent_expire(r->n->agent, node_now(r->n));
    node_wake(r->n);
}

static void free_reading(struct reading *f)
{
    if (f->now != NULL)
        config_fini(f->now);
    free(f->now);
    node_plan_file_free(&f->plan);
    free(f->plan_was);
    free(f->path);
    free(f);
}

/* What the plan is compared with. Without memory it is another one. */
static bool begin_reading(struct node_change *c)
{
    struct reading *f = container_of(c, struct reading, change);
    const struct node *n = c->node;
    f->plan_was = strdup(n->file != NULL ? n->file->plan : n->config->plan);
    f->plan_stamp = n->plan_stamp;
    conf_errors_init(&f->plan_errors, "plan");
    f->plan_rc = node_plan_file_begin(&f->plan, n, &f->plan_errors);
    return true;
}

static void read_plan(struct reading *f)
{
    const char *path = f->now->plan;
    const uint64_t stamp = stamp_of(path);
    const bool other = f->plan_was == NULL || strcmp(path, f->plan_was) != 0;
    f->plan_new = *path != '\0' && (other || (stamp != 0 && stamp != f->plan_stamp));
    f->plan_stamp = stamp;
    if (!f->plan_new || f->plan_rc < 0)
        return;
    conf_errors_init(&f->plan_errors, path);
    f->plan_rc = node_plan_file_read(&f->plan, path, &f->plan_errors);
}

static void read_file(struct node_change *c)
{
    struct reading *f = container_of(c, struct reading, change);
    f->now = calloc(1, sizeof *f->now);
    if (f->now == NULL)
        return;
    if (config_load(f->now, f->path, cla_at, &f->errors) == 0) {
        read_plan(f);
        return;
    }
    free(f->now);
    f->now = NULL;
}

static void tell_wrong(const struct reading *f, json_t *out)
{
    const struct conf_errors *e = &f->errors;
    struct say *to = &f->change.node->say;
    for (size_t i = 0; i < e->len; i++)
        say(to, LEVEL_ERROR, "reload: %s", e->text[i]);
    say(to, LEVEL_ERROR, "reload: nothing has changed");
    json_object_set_new(out, "error", json_string(e->len > 0 ? e->text[0] : "out of memory"));
}

/* Takes what was read. */
static void apply_file(struct reading *f, json_t *out)
{
    struct node *n = f->change.node;
    struct config *was = n->file;
    struct reload r = {n, was != NULL ? was : n->config, f->now, f, json_array(), json_array()};
    f->now = NULL;
    apply_changes(&r);
    if (json_array_size(r.applied) + json_array_size(r.refused) == 0)
        say(&n->say, LEVEL_INFO, "reload: %s has nothing new", n->path);
    assert(n->file == r.now);
    if (was != NULL)
        config_fini(was);
    free(was);
    json_object_set_new(out, "file", json_string(n->path));
    json_object_set_new(out, "applied", r.applied);
    json_object_set_new(out, "refused", r.refused);
}

static void apply_reading(struct node_change *c)
{
    struct reading *f = container_of(c, struct reading, change);
    json_t *out = json_object();
    int rc = 0;
    if (c->node->stopping) {
        rc = HELIO_ENOENT;
    } else if (f->now == NULL) {
        rc = HELIO_EFORMAT;
        tell_wrong(f, out);
    } else {
        apply_file(f, out);
    }
    if (f->done != NULL)
        f->done(f->context, rc, out);
    json_decref(out);
    free_reading(f);
}

int node_reload(struct node *n, node_reloaded *done, void *context)
{
    if (n->path == NULL || n->stopping)
        return HELIO_ENOENT;
    struct reading *f = calloc(1, sizeof *f);
    if (f == NULL)
        return HELIO_ENOMEM;
    f->change =
        (struct node_change){.begin = begin_reading, .read = read_file, .apply = apply_reading};
    f->path = strdup(n->path);
    f->done = done;
    f->context = context;
    const bool good = f->path != NULL;
    if (good)
        conf_errors_init(&f->errors, f->path);
    if (good && node_change_make(n, &f->change))
        return 0;
    if (good)
        say(&n->say, LEVEL_WARNING, "reload: %d changes wait already; this one is not made",
            NODE_CHANGES_MAX);
    free_reading(f);
    return good ? HELIO_EAGAIN : HELIO_ENOMEM;
}

void node_reload_free(struct node *n)
{
    if (n->file != NULL)
        config_fini(n->file);
    free(n->file);
    n->file = NULL;
}
