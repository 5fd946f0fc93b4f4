/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view has a node for each key. A key of a group's map has the name GROUP.NAME in it, so that
 * its reader needs no groups. What can go wrong: a key outside the map of its group, a key that the
 * group does not have, a value in place of a map.
 */
#include "conf/conf_groups.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

#define KEY_CAP 192
#define NAMES_MAX 64 /* of a group */
#define LIST_CAP 400

const char *conf_key_name(const char *key)
{
    const char *dot = strchr(key, '.');
    return dot == NULL ? key : dot + 1;
}

static bool is_in(const char *key, const char *group, size_t len)
{
    return strncmp(key, group, len) == 0 && key[len] == '.';
}

/* The first key of the group; NULL: there is no such group. */
static const struct conf_option *first_of(const struct conf_option *options, const char *group,
                                          size_t len)
{
    for (const struct conf_option *o = options; o->key != NULL; o++)
        if (is_in(o->key, group, len))
            return o;
    return NULL;
}

size_t conf_key_group(const struct conf_option *options, const char *key)
{
    const char *dot = strchr(key, '.');
    size_t len = dot != NULL ? (size_t)(dot - key) : strlen(key);
    return first_of(options, key, len) != NULL ? len : 0;
}

const char *conf_key_place(const char *key, char out[CONF_PLACE_CAP])
{
    const char *name = conf_key_name(key);
    if (name == key)
        snprintf(out, CONF_PLACE_CAP, "%s: …", key);
    else
        snprintf(out, CONF_PLACE_CAP, "%.*s: {%s: …}", (int)(name - key - 1), key, name);
    return out;
}

/* Is the word GROUP_NAME of the key? */
static bool is_joined(const char *key, const char *word)
{
    const char *name = conf_key_name(key);
    size_t len = (size_t)(name - key);
    return len > 0 && strncmp(key, word, len - 1) == 0 && word[len - 1] == '_' &&
           strcmp(name, word + len) == 0;
}

/* The mode of the group; NULL: it has none, or the word is no group. */
static const struct conf_option *mode_of(const struct conf_option *options, const char *group,
                                         size_t len)
{
    for (const struct conf_option *o = options; o->key != NULL; o++)
        if (strlen(o->key) == len && strncmp(o->key, group, len) == 0)
            return first_of(options, group, len) != NULL ? o : NULL;
    return NULL;
}

const struct conf_option *conf_option_named(const struct conf_option *options, const char *word)
{
    const struct conf_option *found = conf_option_find(options, word);
    const char *name = conf_key_name(word);
    size_t named = 0;
    if (found == NULL && name != word && strcmp(name, CONF_GROUP_MODE) == 0)
        found = mode_of(options, word, (size_t)(name - word - 1));
    if (found != NULL)
        return found;
    for (const struct conf_option *o = options; o->key != NULL; o++) {
        if (is_joined(o->key, word))
            return o;
        if (strcmp(conf_key_name(o->key), word) == 0) {
            found = o;
            named++;
        }
    }
    return named == 1 ? found : NULL;
}

/* ---- the view ---- */

struct reading {
    struct conf_flat *f;
    const struct conf_tree *map;       /* that is read */
    const struct conf_option *options; /* those with groups */
    const char *where;
    enum conf_places places;
    struct conf_errors *errors;
};

static void add_node(const struct reading *r, const struct conf_tree *t, const char *key)
{
    struct conf_tree *node = &r->f->nodes[r->f->len];
    *node = (struct conf_tree){
        .kind = t->kind, .line = t->line, .key = strdup(key), .text = t->text, .first = t->first};
    if (node->key == NULL) {
        conf_no_memory(r->errors, t->line);
        return;
    }
    if (r->f->len > 0)
        node[-1].next = node;
    else
        r->f->map.first = node;
    r->f->len++;
}

/* "mode: own, " if the map has `recovery: own`, beside which a key of the group was written; "". */
static const char *write_mode(const struct reading *r, const struct conf_option *o,
                              char out[CONF_PLACE_CAP])
{
    const size_t len = (size_t)(conf_key_name(o->key) - o->key - 1);
    out[0] = '\0';
    for (const struct conf_tree *g = r->map->first; g != NULL; g = g->next)
        if (g->kind == CONF_SCALAR && strlen(g->key) == len && strncmp(g->key, o->key, len) == 0)
            snprintf(out, CONF_PLACE_CAP, "%s: %.40s, ", CONF_GROUP_MODE, g->text);
    return out;
}

static void report_place(const struct reading *r, const struct conf_tree *t, const char *at,
                         const struct conf_option *o)
{
    char place[CONF_PLACE_CAP], mode[CONF_PLACE_CAP];
    const char *name = conf_key_name(o->key);
    if (name == o->key)
        conf_error(r->errors, t->line, "%s%s: belongs beside this map, not in it", r->where, at);
    else if (t->kind == CONF_SCALAR && *t->text != '\0')
        conf_error(r->errors, t->line, "%s%s: belongs under %.*s: {%s%s: %.100s}", r->where, at,
                   (int)(name - o->key - 1), o->key, write_mode(r, o, mode), name,
                   o->type == OPTION_SECRET ? "…" : t->text);
    else
        conf_error(r->errors, t->line, "%s%s: belongs under %s", r->where, at,
                   conf_key_place(o->key, place));
}

static void report_word(const struct reading *r, const struct conf_tree *group,
                        const struct conf_tree *t, const char *at)
{
    const char *names[NAMES_MAX];
    const size_t len = strlen(group->key);
    size_t n = 0;
    if (conf_option_find(r->options, group->key) != NULL)
        names[n++] = CONF_GROUP_MODE;
    for (const struct conf_option *o = r->options; o->key != NULL && n < NAMES_MAX; o++)
        if (is_in(o->key, group->key, len))
            names[n++] = conf_key_name(o->key);
    const char *closest = words_closest(t->key, names, n);
    char list[LIST_CAP];
    if (closest != NULL)
        conf_error(r->errors, t->line, "%s%s: unknown key; did you mean %s?%s", r->where, at,
                   closest, words_remark(t->key, closest));
    else
        conf_error(r->errors, t->line, "%s%s: unknown key; the keys here are: %s", r->where, at,
                   words_list(names, n, list, sizeof list));
}

static void read_item(const struct reading *r, const struct conf_tree *group,
                      const struct conf_tree *t)
{
    char key[KEY_CAP];
    const bool mode =
        strcmp(t->key, CONF_GROUP_MODE) == 0 && conf_option_find(r->options, group->key) != NULL;
    snprintf(key, sizeof key, "%s.%s", group->key, t->key);
    if (mode || (strchr(t->key, '.') == NULL && conf_option_find(r->options, key) != NULL)) {
        add_node(r, t, mode ? group->key : key);
        return;
    }
    const struct conf_option *o = conf_option_named(r->options, t->key);
    if (o == NULL)
        report_word(r, group, t, key);
    else
        report_place(r, t, key, o);
}

/* The key is in no table as it is. */
static void read_other(const struct reading *r, const struct conf_tree *t)
{
    const struct conf_option *o = conf_option_named(r->options, t->key);
    if (o == NULL)
        add_node(r, t, t->key);
    else if (r->places == CONF_PLACES_ANY)
        add_node(r, t, o->key);
    else
        report_place(r, t, t->key, o);
}

/* Keys of a group that is off without its mode would do nothing. */
static void check_mode(const struct reading *r, const struct conf_tree *t)
{
    const struct conf_option *o = conf_option_find(r->options, t->key);
    if (r->places != CONF_PLACES_FILE || o == NULL || o->max != CONF_MODE_NEEDED ||
        t->first == NULL || conf_child(t, CONF_GROUP_MODE) != NULL)
        return;
    assert(strncmp(o->choices, "off|", 4) == 0 && strcmp(o->initial, "off") == 0);
    conf_error(r->errors, t->line, "%s%s: is off without a mode; write %s: {%s: %s, …}", r->where,
               t->key, t->key, CONF_GROUP_MODE, o->choices + 4);
}

static void read_group(const struct reading *r, const struct conf_tree *t)
{
    char place[CONF_PLACE_CAP];
    if (conf_is_second(r->map, t, r->where, r->errors))
        return;
    if (t->kind == CONF_MAP) {
        const size_t before = r->errors->total;
        for (const struct conf_tree *i = t->first; i != NULL; i = i->next)
            read_item(r, t, i);
        if (r->errors->total == before)
            check_mode(r, t);
    } else if (conf_option_find(r->options, t->key) != NULL)
        add_node(r, t, t->key);
    else if (t->kind != CONF_SCALAR || *t->text != '\0')
        conf_error(r->errors, t->line,
                   "%s%s: %s is not expected here; write a map of its keys, such as %s", r->where,
                   t->key, conf_kind_name(t->kind),
                   conf_key_place(first_of(r->options, t->key, strlen(t->key))->key, place));
}

static void read_key(const struct reading *r, const struct conf_tree *t,
                     const struct conf_part *parts, size_t parts_len)
{
    const bool whole = strchr(t->key, '.') == NULL || r->places == CONF_PLACES_ANY;
    bool known = false;
    for (size_t i = 0; i < parts_len; i++)
        known = known || (whole && conf_option_find(parts[i].options, t->key) != NULL);
    if (first_of(r->options, t->key, strlen(t->key)) != NULL)
        read_group(r, t);
    else if (known)
        add_node(r, t, t->key);
    else
        read_other(r, t);
}

static size_t count_keys(const struct conf_tree *map)
{
    size_t n = 0;
    for (const struct conf_tree *t = map->first; t != NULL; t = t->next) {
        n++;
        for (const struct conf_tree *i = t->kind == CONF_MAP ? t->first : NULL; i != NULL;
             i = i->next)
            n++;
    }
    return n;
}

void conf_flat_init(struct conf_flat *f, const struct conf_tree *map, const char *where,
                    const struct conf_part *parts, size_t parts_len, enum conf_places places,
                    struct conf_errors *errors)
{
    assert(map->kind == CONF_MAP && parts_len > 0);
    *f = (struct conf_flat){.map = {.kind = CONF_MAP, .line = map->line, .key = map->key}};
    const struct reading r = {f, map, parts[parts_len - 1].options, where, places, errors};
    size_t most = count_keys(map);
    f->nodes = calloc(most > 0 ? most : 1, sizeof *f->nodes);
    if (f->nodes == NULL) {
        conf_no_memory(errors, map->line);
        return;
    }
    for (const struct conf_tree *t = map->first; t != NULL; t = t->next)
        read_key(&r, t, parts, parts_len);
    assert(f->len <= most);
}

void conf_flat_drop(struct conf_flat *f, const struct conf_tree *t)
{
    struct conf_tree **at = &f->map.first;
    while (*at != t) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = t->next;
}

void conf_flat_fini(struct conf_flat *f)
{
    for (size_t i = 0; i < f->len; i++)
        free(f->nodes[i].key);
    free(f->nodes);
    *f = (struct conf_flat){.map = {.kind = CONF_MAP}};
}
