/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link's map has the keys of all links and those of its adapter. A changed link is a copy with
 * some keys set anew, checked as a whole as if it stood in the file. What can go wrong is the
 * user's (an unknown key, a wrong value, one that cannot change while the link is there), or
 * memory.
 */
#include "node/config/config_link.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "conf/conf_groups.h"
#include "node/config/config_names.h"

#define KEYS_MAX 256 /* of an adapter */
#define NAME_MAX_BYTES 64
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

/* Where a key's value is wrong; map NULL: the keys are in no file. */
struct place {
    const struct conf_tree *map;
    const char *where;
};

/* What a call of an adapter returned, with the key to blame. */
static void report_settings(const struct place *at, int rc, const char *key, const char *why,
                            struct conf_errors *errors)
{
    const struct conf_tree *t = at->map == NULL || key == NULL ? NULL : conf_child(at->map, key);
    const uint32_t line = t != NULL ? t->line : at->map != NULL ? at->map->line : 0;
    if (rc == HELIO_ENOMEM)
        conf_no_memory(errors, line);
    else if (rc != 0)
        conf_error(errors, line, "%s%s: %s", at->where, key != NULL ? key : "", why);
}

static void check_settings(const struct eid *node, const struct place *at, struct config_link *l,
                           struct conf_errors *errors)
{
    char why[CONF_ERROR_CAP] = "";
    const char *key = NULL;
    const int rc = cla_check(l->ops, l->settings, eid_is_none(node) ? NULL : node, &l->peer, &key,
                             why, sizeof why);
    report_settings(at, rc, key, why, errors);
}

static void read_files(const struct place *at, struct config_link *l, struct conf_errors *errors)
{
    char why[256] = "";
    const char *key = NULL;
    assert(l->files == NULL);
    const int rc = cla_read(l->ops, l->settings, &l->files, &key, why, sizeof why);
    report_settings(at, rc, key, why, errors);
}

void config_link_files(struct config_link *l, struct conf_errors *errors)
{
    char where[96];
    snprintf(where, sizeof where, "links[%.64s].", l->name);
    read_files(&(struct place){.where = where}, l, errors);
}

/* Names stand in commands, in CSV and in the names of links of unconfigured peers (NAME/ipn:3.0).
 */
static void check_name(const struct conf_tree *map, const struct config_link *l,
                       struct conf_errors *errors)
{
    const struct conf_tree *t = conf_child(map, "name");
    size_t len = l->name == NULL ? 0 : strlen(l->name);
    if (t != NULL && len > 0 && (len > NAME_MAX_BYTES || strspn(l->name, NAME_CHARACTERS) != len))
        conf_error(errors, t->line,
                   "links[%.64s].name: write at most %d letters, digits, '-', '_' or '.'", l->name,
                   NAME_MAX_BYTES);
}

static void check_peer(const struct eid *node, const struct conf_tree *map, const char *where,
                       const struct config_link *l, struct conf_errors *errors)
{
    const struct conf_tree *t = conf_child(map, "peer");
    struct eid parsed;
    if (t == NULL || t->kind != CONF_SCALAR || eid_parse(t->text, &parsed) < 0 ||
        eid_is_none(&l->peer))
        return;
    if (eid_is_local(&l->peer)) { /* RFC 9758 §3.4.2: whichever node reads it */
        conf_error(errors, t->line, "%speer: %s names no other node; write the neighbour's id",
                   where, t->text);
        return;
    }
    char text[EID_TEXT_MAX];
    struct eid own = eid_node(&l->peer);
    eid_text(&own, text);
    if (!eid_is_node(&l->peer))
        conf_error(errors, t->line, "%speer: \"%s\" is an endpoint; write its node's id, %s", where,
                   t->text, text);
    else if (eid_same_node(&l->peer, node))
        conf_error(errors, t->line, "%speer: %s is this node; write the neighbour's id", where,
                   text);
}

/* "1:8:64" */
static void read_weights(const struct conf_tree *map, const char *where, struct config_link *l,
                         struct conf_errors *errors)
{
    unsigned long weight[BUNDLE_PRIORITIES] = {0};
    int end = 0;
    const struct conf_tree *t = conf_child(map, "weights");
    if (l->weights == NULL)
        return;
    bool good =
        strspn(l->weights, "0123456789:") == strlen(l->weights) &&
        sscanf(l->weights, "%7lu:%7lu:%7lu%n", &weight[0], &weight[1], &weight[2], &end) == 3 &&
        l->weights[end] == '\0';
    for (int p = 0; p < BUNDLE_PRIORITIES; p++) {
        good = good && weight[p] > 0 && weight[p] <= AGENT_WEIGHT_MAX;
        l->weight[p] = (uint32_t)weight[p];
    }
    if (!good)
        conf_error(errors, t != NULL ? t->line : map->line,
                   "%sweights: \"%s\" is not understood; write three numbers from 1 to 1000000, "
                   "for bulk, normal and expedited bundles, such as 1:8:64",
                   where, l->weights);
}

/* Keys with another name and place now are taken out of the view. */
static void report_renamed(struct conf_flat *flat, const char *where,
                           const struct cla_renamed *renamed, struct conf_errors *errors)
{
    for (const struct cla_renamed *r = renamed; r != NULL && r->was != NULL; r++) {
        const struct conf_tree *t = conf_child(&flat->map, r->was);
        if (t == NULL)
            continue;
        char place[CONF_PLACE_CAP];
        conf_flat_drop(flat, t);
        conf_error(errors, t->line, "%s%s: belongs under %s", where, r->was,
                   conf_key_place(r->now, place));
    }
}

/* Memory and defaults of the adapter's keys; false: no memory. */
static bool begin_settings(struct config_link *l, uint32_t line, struct conf_errors *errors)
{
    l->settings = calloc(1, l->ops->config_size > 0 ? l->ops->config_size : 1);
    if (l->settings != NULL && conf_options_default(l->ops->options, l->settings, config_set) == 0)
        return true;
    conf_no_memory(errors, line);
    return false;
}

/* What the view of the link's map says; the adapter may be missing. */
static void read_values(struct config_link *l, struct conf_flat *flat, const char *where,
                        const struct conf_part *parts, size_t parts_len, config_adapters *adapters,
                        struct conf_errors *errors)
{
    const struct conf_tree *map = &flat->map;
    const char *words[CONFIG_LISTS_MAX + 1] = {NULL};
    config_lists_words(config_link_lists, words);
    if (l->ops != NULL)
        config_lists_words(l->ops->lists, words);
    if (l->ops != NULL)
        report_renamed(flat, where, l->ops->renamed, errors);
    config_foreign_report(flat, where, l->ops, adapters, errors);
    conf_section_read(map, where, parts, parts_len, words, errors);
    config_lists_read(config_link_lists, l, map, where, errors);
    if (l->ops != NULL)
        config_lists_read(l->ops->lists, l->settings, map, where, errors);
    read_weights(map, where, l, errors);
    if (l->peers > 0 && l->ops != NULL && !l->ops->inbound)
        conf_error(errors, map->line, "%speers: with %s no peer identifies itself; remove it",
                   where, l->ops->name);
}

static void read_link(struct config_link *l, const struct eid *node, const struct conf_tree *map,
                      config_adapters *adapters, enum conf_places places,
                      struct conf_errors *errors)
{
    const struct conf_tree *name = conf_child(map, "name");
    char where[96];
    l->line = map->line;
    if (conf_options_default(config_link_options, l, config_set) < 0)
        conf_no_memory(errors, map->line);
    snprintf(where, sizeof where, "links[%.64s].",
             name != NULL && name->kind == CONF_SCALAR ? name->text : "?");
    struct conf_part parts[2] = {{config_link_options, l, config_set}};
    size_t before = errors->total, n = 1;
    l->ops = config_adapter_find(map, where, adapters, errors);
    if (conf_child(map, "adapter") == NULL)
        return; /* which other keys it has is not known */
    if (l->ops != NULL) {
        if (!begin_settings(l, map->line, errors))
            return;
        parts[n++] = (struct conf_part){l->ops->options, l->settings, config_set};
    }
    struct conf_flat flat;
    conf_flat_init(&flat, map, where, parts, n, places, errors);
    const struct place at = {&flat.map, where};
    read_values(l, &flat, where, parts, n, adapters, errors);
    check_name(&flat.map, l, errors);
    check_peer(node, &flat.map, where, l, errors);
    if (l->ops != NULL && errors->total == before)
        check_settings(node, &at, l, errors);
    if (l->ops != NULL && errors->total == before)
        read_files(&at, l, errors);
    conf_flat_fini(&flat);
}

void config_link_read(struct config_link *l, const struct eid *node, const struct conf_tree *map,
                      config_adapters *adapters, struct conf_errors *errors)
{
    read_link(l, node, map, adapters, CONF_PLACES_FILE, errors);
}

void config_link_fini(struct config_link *l)
{
    conf_options_free(config_link_options, l);
    cla_forget(l->ops, l->files);
    if (l->settings != NULL) {
        config_lists_free(l->ops->lists, l->settings);
        conf_options_free(l->ops->options, l->settings);
    }
    config_lists_free(config_link_lists, l);
    free(l->settings);
}

void config_link_free(struct config_link *l)
{
    if (l == NULL)
        return;
    config_link_fini(l);
    free(l);
}

struct config_link *config_link_parse(const char *name, const char *text, size_t len,
                                      const struct eid *node, const struct config *names,
                                      config_adapters *adapters, struct conf_errors *errors)
{
    struct conf_tree *map = conf_tree_parse(text, len, "it needs the keys of a link", errors);
    struct config_link *l = map == NULL ? NULL : calloc(1, sizeof *l);
    size_t before = errors->total;
    bool is_map = map != NULL && map->kind == CONF_MAP;
    bool named = is_map && (conf_child(map, "name") != NULL || conf_tree_put(map, "name", name));
    if (is_map && names != NULL)
        config_names_apply(names, map, "", errors);
    if (map != NULL && !is_map)
        conf_error(errors, map->line, "%s is not expected here; write a map of a link's keys",
                   conf_kind_name(map->kind));
    else if (map != NULL && (l == NULL || !named))
        conf_no_memory(errors, 0);
    else if (map != NULL)
        read_link(l, node, map, adapters, CONF_PLACES_ANY, errors);
    if (l != NULL && l->name != NULL && errors->total == before && strcmp(l->name, name) != 0)
        conf_error(errors, map->line, "name: it is %s here, and was to be %s", l->name, name);
    conf_tree_free(map);
    if (l == NULL || errors->total == before)
        return l;
    config_link_free(l);
    return NULL;
}

/* ---- a copy ---- */

struct config_link *config_link_copy(const struct config_link *was)
{
    struct config_link *l = malloc(sizeof *l);
    if (l == NULL)
        return NULL;
    *l = *was;
    l->files = NULL;
    l->settings = malloc(was->ops->config_size);
    bool good = config_texts_own(config_link_options, l) && l->settings != NULL;
    good = config_lists_copy(config_link_lists, was, l) && good;
    if (l->settings != NULL) {
        memcpy(l->settings, was->settings, was->ops->config_size);
        good = config_texts_own(was->ops->options, l->settings) && good;
        good = config_lists_copy(was->ops->lists, was->settings, l->settings) && good;
    }
    if (good)
        return l;
    config_link_free(l);
    return NULL;
}

/* ---- a change ---- */

enum cla_socket config_link_socket(const struct config_link *l, const char **key,
                                   struct address *out)
{
    if (l->settings == NULL)
        return CLA_SOCKET_NONE;
    const struct cla_addresses a = cla_addresses(l->ops, l->settings);
    *key = a.key;
    *out = a.local;
    return address_given(&a.local) && address_port(&a.local) != 0 ? a.socket : CLA_SOCKET_NONE;
}

bool config_link_live(const char *key)
{
    static const char *const keys[] = {"queues", "weights", "queue_bundles", "queue_bytes"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

bool config_adapter_live(const struct cla_ops *ops, const char *key)
{
    if (ops->set == NULL)
        return false;
    for (const char *const *k = ops->live; k != NULL && *k != NULL; k++)
        if (strcmp(*k, key) == 0)
            return true;
    return false;
}

/* Keys with that name, "cadu.interleave, erasure.interleave"; returns how many. */
#define WHOLE_CAP 200
static size_t list_whole(const struct cla_ops *ops, const char *name, char out[WHOLE_CAP])
{
    size_t n = 0, used = 0;
    out[0] = '\0';
    for (const struct conf_option *o = ops->options; o->key != NULL; o++) {
        if (conf_key_name(o->key) == o->key || strcmp(conf_key_name(o->key), name) != 0)
            continue;
        int w = snprintf(out + used, WHOLE_CAP - used, "%s%s", n++ > 0 ? ", " : "", o->key);
        used = w > 0 && used + (size_t)w < WHOLE_CAP ? used + (size_t)w : WHOLE_CAP - 1;
    }
    return n;
}

static void say_unknown(const struct cla_ops *ops, const struct conf_tree *t, const char *where,
                        struct conf_errors *errors)
{
    const char *words[KEYS_MAX];
    size_t n = 0;
    for (const struct conf_option *o = ops->options; o->key != NULL && n + 1 < KEYS_MAX; o++) {
        words[n++] = o->key;
        if (conf_key_name(o->key) != o->key)
            words[n++] = conf_key_name(o->key);
    }
    const char *closest = words_closest(t->key, words, n);
    char whole[WHOLE_CAP];
    if (list_whole(ops, t->key, whole) > 1)
        conf_error(errors, t->line, "%s%s: several groups have it; write one of: %s", where, t->key,
                   whole);
    else if (closest != NULL)
        conf_error(errors, t->line, "%s%s: unknown key; did you mean %s?%s", where, t->key, closest,
                   words_remark(t->key, closest));
    else
        conf_error(errors, t->line, "%s%s: unknown key; heliod --keys lists those of %s", where,
                   t->key, ops->name);
}

static void change_key(struct config_link *l, const struct conf_tree *map,
                       const struct conf_tree *t, const char *where, struct conf_errors *errors)
{
    char why[256] = "";
    const struct conf_option *o = conf_option_find(l->ops->options, t->key);
    const struct conf_option *common = conf_option_find(config_link_options, t->key);
    bool other = common != NULL;
    bool live = common != NULL ? config_link_live(t->key)
                               : o != NULL && config_adapter_live(l->ops, t->key);
    const char *lists[CONFIG_LISTS_MAX + 1] = {NULL};
    config_lists_words(config_link_lists, lists);
    config_lists_words(l->ops->lists, lists);
    for (size_t i = 0; lists[i] != NULL; i++)
        other = other || strcmp(lists[i], t->key) == 0;
    if (conf_child(map, t->key) != t)
        conf_error(errors, t->line, "%s%s: is written twice; leave one of them away", where,
                   t->key);
    else if (o == NULL && !other)
        say_unknown(l->ops, t, where, errors);
    else if (!live && strcmp(t->key, "state") == 0)
        conf_error(errors, t->line,
                   "%s%s: is that of the start; write helioctl link NAME up or down", where,
                   t->key);
    else if (!live)
        conf_error(errors, t->line,
                   "%s%s: cannot change while the link is there; remove the link, and add it with "
                   "the new value",
                   where, t->key);
    else if (t->kind != CONF_SCALAR)
        conf_error(errors, t->line, "%s%s: %s is not expected here; write a value", where, t->key,
                   conf_kind_name(t->kind));
    else if (config_set(common != NULL ? common : o, common != NULL ? (void *)l : l->settings,
                        t->text, why, sizeof why) < 0)
        conf_error(errors, t->line, "%s%s: %s", where, t->key, why);
}

static void change_keys(struct config_link *l, const struct conf_tree *map, const char *where,
                        const struct eid *node, struct conf_errors *errors)
{
    const struct conf_part parts[2] = {{config_link_options, l, config_set},
                                       {l->ops->options, l->settings, config_set}};
    const size_t before = errors->total;
    struct conf_flat flat;
    conf_flat_init(&flat, map, where, parts, 2, CONF_PLACES_ANY, errors);
    for (const struct conf_tree *t = flat.map.first; errors->total == before && t != NULL;
         t = t->next)
        change_key(l, &flat.map, t, where, errors);
    if (errors->total == before)
        read_weights(&flat.map, where, l, errors);
    if (errors->total == before)
        check_settings(node, &(struct place){&flat.map, where}, l, errors);
    conf_flat_fini(&flat);
}

struct config_link *config_link_change(const struct config_link *was, const char *text, size_t len,
                                       const struct eid *node, struct conf_errors *errors)
{
    char where[96];
    size_t before = errors->total;
    struct conf_tree *map = conf_tree_parse(text, len, "it needs a key that changes", errors);
    if (map == NULL)
        return NULL;
    struct config_link *l = was->settings == NULL ? NULL : config_link_copy(was);
    snprintf(where, sizeof where, "links[%.64s].", was->name);
    if (was->settings == NULL)
        conf_error(errors, map->line,
                   "links[%s] has no keys: its peer connected by itself, without a configured link",
                   was->name);
    else if (l == NULL)
        conf_no_memory(errors, 0);
    else if (map->kind != CONF_MAP)
        conf_error(errors, map->line, "%s is not expected here; write a map of keys",
                   conf_kind_name(map->kind));
    if (l != NULL && errors->total == before)
        change_keys(l, map, where, node, errors);
    conf_tree_free(map);
    if (errors->total == before)
        return l;
    config_link_free(l);
    return NULL;
}

struct config_link *config_link_unconfigured(const struct config_link *host, const struct eid *peer)
{
    char name[EID_TEXT_MAX + 128], text[EID_TEXT_MAX];
    struct config_link *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NULL;
    eid_text(peer, text);
    snprintf(name, sizeof name, "%.64s/%s", host->name, text);
    *l = (struct config_link){.name = strdup(name),
                              .adapter = strdup(host->adapter),
                              .peer = *peer,
                              .ops = host->ops,
                              .line = host->line};
    if (l->name != NULL && l->adapter != NULL)
        return l;
    config_link_free(l);
    return NULL;
}
