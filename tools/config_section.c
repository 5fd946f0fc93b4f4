/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each key of the map is looked up in the tables and its value read by its type; then the required
 * keys that were not there are named. Nothing ends the reading: a person sees all errors at once.
 */
#include "tools/config_section.h"

#include <stdio.h>
#include <string.h>

#include "tools/config_value.h"

#define KEYS_MAX 96
#define WHY_CAP 320

static size_t known_keys(const struct section_part *parts, size_t parts_len,
                         const char *const *words, const char *out[KEYS_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < parts_len; i++) {
        for (const struct option *o = parts[i].options; o->key != NULL && n < KEYS_MAX; o++) {
            bool known = false;
            for (size_t j = 0; j < n; j++)
                known |= strcmp(out[j], o->key) == 0;
            if (!known)
                out[n++] = o->key;
        }
    }
    for (; words != NULL && *words != NULL && n < KEYS_MAX; words++)
        out[n++] = *words;
    return n;
}

static void report_unknown(const struct tree *t, const char *where, const char *const *keys,
                           size_t n, struct config_errors *errors)
{
    const char *closest = words_closest(t->key, keys, n);
    if (closest != NULL) {
        config_error(errors, t->line, "%s%s: unknown key; did you mean %s?", where, t->key,
                     closest);
        return;
    }
    char list[WHY_CAP];
    size_t used = 0;
    list[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        int w = snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", keys[i]);
        if (w < 0 || (size_t)w >= sizeof list - used)
            break;
        used += (size_t)w;
    }
    config_error(errors, t->line, "%s%s: unknown key; the keys here are: %s", where, t->key, list);
}

static void set_value(const struct option *o, void *base, const struct tree *t, const char *where,
                      struct config_errors *errors)
{
    char why[WHY_CAP];
    if (t->kind != TREE_SCALAR) {
        config_error(errors, t->line, "%s%s: %s is not expected here; write one value", where,
                     t->key, tree_kind_name(t->kind));
        return;
    }
    if (o->initial == NULL && *t->text == '\0') {
        config_error(errors, t->line, "%s%s: the value is missing; it is %s", where, t->key,
                     o->help != NULL ? o->help : "required");
        return;
    }
    int err = option_set(o, base, t->text, why, sizeof why);
    if (err < 0)
        config_error(errors, t->line, "%s%s: %s", where, t->key,
                     err == HELIO_ENOMEM ? "out of memory" : why);
}

static bool is_duplicate(const struct tree *map, const struct tree *t)
{
    const struct tree *first = tree_child(map, t->key);
    return first != t;
}

static bool set_key(const struct tree *t, const char *where, const struct section_part *parts,
                    size_t parts_len, struct config_errors *errors)
{
    bool known = false;
    for (size_t i = 0; i < parts_len; i++) {
        const struct option *o = option_find(parts[i].options, t->key);
        if (o == NULL)
            continue;
        size_t before = errors->total;
        known = true;
        set_value(o, parts[i].base, t, where, errors);
        if (errors->total > before)
            break;
    }
    return known;
}

static void report_missing(const struct tree *map, const char *where,
                           const struct section_part *parts, size_t index,
                           struct config_errors *errors)
{
    for (const struct option *o = parts[index].options; o->key != NULL; o++) {
        bool named = false;
        for (size_t i = 0; i < index; i++)
            named |= option_find(parts[i].options, o->key) != NULL;
        if (o->initial == NULL && !named && tree_child(map, o->key) == NULL)
            config_error(errors, map->line, "%s%s: this key is missing; it is %s", where, o->key,
                         o->help != NULL ? o->help : "required");
    }
}

void section_read(const struct tree *map, const char *where, const struct section_part *parts,
                  size_t parts_len, const char *const *words, struct config_errors *errors)
{
    const char *keys[KEYS_MAX];
    size_t n = known_keys(parts, parts_len, words, keys);
    for (const struct tree *t = map->first; t != NULL; t = t->next) {
        if (is_duplicate(map, t)) {
            config_error(errors, t->line,
                         "%s%s: this key is here twice, first in line %u; keep one", where, t->key,
                         tree_child(map, t->key)->line);
            continue;
        }
        bool known = set_key(t, where, parts, parts_len, errors);
        for (const char *const *w = words; !known && w != NULL && *w != NULL; w++)
            known = strcmp(*w, t->key) == 0;
        if (!known)
            report_unknown(t, where, keys, n, errors);
    }
    for (size_t i = 0; i < parts_len; i++)
        report_missing(map, where, parts, i, errors);
}
