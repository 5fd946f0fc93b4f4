/* SPDX-License-Identifier: Apache-2.0 */
/* Each key is looked up in the tables of all adapters, or of all sections. What can go wrong is the
 * user's: an adapter that does not exist, a key of an adapter that the link does not have, a key of
 * another section. */

#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "conf/conf_groups.h"
#include "node/config/config_tables.h"

#define ADAPTERS_MAX 16
#define LIST_CAP 256

static size_t list_names(config_adapters *adapters, const char *names[ADAPTERS_MAX],
                         char list[LIST_CAP])
{
    size_t n = 0, used = 0;
    list[0] = '\0';
    for (; adapters(n) != NULL && n < ADAPTERS_MAX; n++) {
        names[n] = adapters(n)->name;
        int w = snprintf(list + used, LIST_CAP - used, "%s%s", n > 0 ? ", " : "", names[n]);
        used += w > 0 && (size_t)w < LIST_CAP - used ? (size_t)w : 0;
    }
    return n;
}

static const struct cla_ops *find_named(config_adapters *adapters, const char *name)
{
    for (size_t i = 0; name != NULL && adapters(i) != NULL; i++)
        if (strcmp(adapters(i)->name, name) == 0)
            return adapters(i);
    return NULL;
}

const struct cla_ops *config_adapter_find(const struct conf_tree *map, const char *where,
                                          config_adapters *adapters, struct conf_errors *errors)
{
    const struct conf_tree *t = conf_child(map, "adapter");
    const char *names[ADAPTERS_MAX];
    char list[LIST_CAP];
    const size_t n = list_names(adapters, names, list);
    if (t == NULL)
        conf_error(errors, map->line, "%sadapter: this key is missing; write one of: %s", where,
                   list);
    if (t == NULL || t->kind != CONF_SCALAR)
        return NULL;
    const struct cla_ops *ops = find_named(adapters, t->text);
    if (ops != NULL)
        return ops;
    const char *closest = words_closest(t->text, names, n);
    if (closest != NULL)
        conf_error(errors, t->line, "%sadapter: \"%s\" is not known; did you mean %s?", where,
                   t->text, closest);
    else
        conf_error(errors, t->line, "%sadapter: \"%s\" is not known; write one of: %s", where,
                   t->text, list);
    return find_named(adapters, closest);
}

static bool has_key(const struct cla_ops *ops, const char *key)
{
    bool has =
        conf_option_named(ops->options, key) != NULL || conf_key_group(ops->options, key) > 0;
    for (const struct cla_list *l = ops->lists; l != NULL && l->key != NULL; l++)
        has = has || strcmp(l->key, key) == 0;
    for (const struct cla_renamed *r = ops->renamed; r != NULL && r->was != NULL; r++)
        has = has || strcmp(r->was, key) == 0;
    return has;
}

/* The adapters that have the key, with commas between; false: there is none. */
static bool list_owners(config_adapters *adapters, const char *key, char list[LIST_CAP])
{
    size_t used = 0;
    list[0] = '\0';
    for (size_t i = 0; adapters(i) != NULL; i++) {
        if (!has_key(adapters(i), key))
            continue;
        int w =
            snprintf(list + used, LIST_CAP - used, "%s%s", used > 0 ? ", " : "", adapters(i)->name);
        used += w > 0 && (size_t)w < LIST_CAP - used ? (size_t)w : 0;
    }
    return used > 0;
}

static bool is_common(const char *key)
{
    bool common = conf_option_find(config_link_options, key) != NULL;
    for (const struct cla_list *l = config_link_lists; l->key != NULL; l++)
        common = common || strcmp(l->key, key) == 0;
    return common;
}

void config_foreign_report(struct conf_flat *flat, const char *where, const struct cla_ops *ops,
                           config_adapters *adapters, struct conf_errors *errors)
{
    const struct conf_tree *next;
    for (const struct conf_tree *t = flat->map.first; t != NULL; t = next) {
        char owners[LIST_CAP];
        next = t->next;
        if (is_common(t->key) || (ops != NULL && has_key(ops, t->key)) ||
            !list_owners(adapters, t->key, owners))
            continue;
        conf_flat_drop(flat, t);
        if (ops != NULL)
            conf_error(errors, t->line,
                       "%s%s: the adapter %s does not have this key; remove it, or write the "
                       "adapter that has it: %s",
                       where, t->key, ops->name, owners);
    }
}

/* ---- keys of other sections ---- */

static void write_place(size_t i, const struct conf_option *o, const struct conf_tree *t, char *out,
                        size_t cap)
{
    const bool list = i >= CONFIG_MAPS;
    const bool shown = t->kind == CONF_SCALAR && *t->text != '\0' && o->type != OPTION_SECRET;
    const char *name = config_section_at(i)->name;
    if (*name == '\0')
        snprintf(out, cap, "no other key; write it without indent");
    else
        snprintf(out, cap, "%s: %s{%s: %.100s}%s", name, list ? "[" : "", o->key,
                 shown ? t->text : "…", list ? "]" : "");
}

/* How many of the sections [from, to) have the key; the last one's place in `out`. */
static size_t count_sections(size_t from, size_t to, const struct conf_tree *t, char *out,
                             size_t cap)
{
    size_t n = 0;
    for (size_t i = from; i < to && config_section_at(i) != NULL; i++) {
        const struct conf_option *o = conf_option_find(config_section_at(i)->options, t->key);
        if (o == NULL)
            continue;
        write_place(i, o, t, out, cap);
        n++;
    }
    return n;
}

/* Is it a map of the top, "store."? Items of lists have keys with the names of others. */
static bool is_section(const char *where)
{
    bool is = false;
    for (size_t i = 1; i < CONFIG_MAPS && !is; i++) {
        const char *name = config_section_at(i)->name;
        const size_t len = strlen(name);
        is = strncmp(name, where, len) == 0 && strcmp(where + len, ".") == 0;
    }
    return is;
}

bool config_place_of(const void *context, const char *where, const struct conf_tree *t, char *out,
                     size_t cap)
{
    config_adapters *const *adapters = context;
    char owners[LIST_CAP];
    if (*where != '\0')
        return is_section(where) && count_sections(0, 1, t, out, cap) == 1;
    const size_t maps = count_sections(1, CONFIG_MAPS, t, out, cap);
    const bool of_link = list_owners(*adapters, t->key, owners);
    const size_t lists = maps > 0 ? 0 : count_sections(CONFIG_MAPS, SIZE_MAX, t, out, cap);
    if (maps + lists > 1 || (lists == 0 && maps == 0 && !of_link))
        return false;
    const size_t used = maps + lists == 0 ? 0 : strlen(out);
    if (of_link && lists == 0)
        snprintf(out + used, cap - used, "%sa link: links: [{…, %s: …}]", used > 0 ? ", or " : "",
                 t->key);
    return true;
}
