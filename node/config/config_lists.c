/* SPDX-License-Identifier: Apache-2.0 */
/* Each item of a list is a section of its own, with its line. What can go wrong is the user's, or
 * memory. */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_section.h"
#include "node/config/config_tables.h"

void config_lists_words(const struct cla_list *lists, const char *words[CONFIG_LISTS_MAX + 1])
{
    size_t n = 0;
    while (words[n] != NULL)
        n++;
    for (const struct cla_list *d = lists; d != NULL && d->key != NULL; d++) {
        assert(n < CONFIG_LISTS_MAX);
        words[n++] = d->key;
    }
    words[n] = NULL;
}

static void **items_of(const struct cla_list *d, const void *base)
{
    return (void **)(void *)((char *)(uintptr_t)base + d->items);
}

static size_t *count_of(const struct cla_list *d, const void *base)
{
    return (size_t *)(void *)((char *)(uintptr_t)base + d->count);
}

static void read_item(const struct cla_list *d, const struct conf_tree *map, const char *where,
                      void *item, struct conf_errors *errors)
{
    char why[256] = "";
    const char *key = NULL;
    size_t before = errors->total;
    struct conf_part part = {d->options, item, config_set};
    conf_section_read(map, where, &part, 1, NULL, errors);
    if (errors->total > before || d->check == NULL || d->check(item, &key, why, sizeof why) == 0)
        return;
    const struct conf_tree *t = key != NULL ? conf_child(map, key) : NULL;
    conf_error(errors, t != NULL ? t->line : map->line, "%s%s: %s", where, key != NULL ? key : "",
               why);
}

static void read_list(const struct cla_list *d, const struct conf_tree *map, const char *where,
                      void *base, struct conf_errors *errors)
{
    size_t n;
    char inner[128];
    const struct conf_tree *t = conf_list(map, where, d->key, d->max, &n, errors);
    if (t == NULL)
        return;
    char *items = calloc(n, d->item_size);
    if (items == NULL) {
        conf_no_memory(errors, map->line);
        return;
    }
    *items_of(d, base) = items;
    snprintf(inner, sizeof inner, "%s%s.", where, d->key);
    for (; t != NULL; t = t->next) {
        void *item = items + *count_of(d, base) * d->item_size;
        ++*count_of(d, base);
        if (conf_options_default(d->options, item, config_set) < 0)
            conf_no_memory(errors, t->line);
        else
            read_item(d, t, inner, item, errors);
    }
}

void config_lists_read(const struct cla_list *lists, void *base, const struct conf_tree *map,
                       const char *where, struct conf_errors *errors)
{
    for (const struct cla_list *d = lists; d != NULL && d->key != NULL; d++)
        read_list(d, map, where, base, errors);
}

static bool copy_list(const struct cla_list *d, const void *was, void *base)
{
    void **items = items_of(d, base);
    size_t *count = count_of(d, base), n = *count;
    const char *from = *items_of(d, was);
    *items = n > 0 ? malloc(n * d->item_size) : NULL;
    *count = 0;
    bool good = n == 0 || *items != NULL;
    for (; good && *count < n; ++*count) {
        char *item = (char *)*items + *count * d->item_size;
        memcpy(item, from + *count * d->item_size, d->item_size);
        good = config_texts_own(d->options, item);
    }
    assert(*count <= n);
    return good;
}

bool config_lists_copy(const struct cla_list *lists, const void *was, void *base)
{
    bool good = true;
    for (const struct cla_list *d = lists; d != NULL && d->key != NULL; d++)
        good = copy_list(d, was, base) && good;
    return good;
}

bool config_texts_own(const struct conf_option *options, void *base)
{
    bool good = true;
    for (const struct conf_option *o = options; o->key != NULL; o++) {
        char **field = (char **)(void *)((char *)base + o->offset);
        if (!option_is_text(o->type) || *field == NULL)
            continue;
        *field = good ? strdup(*field) : NULL;
        good = good && *field != NULL;
    }
    return good;
}

void config_lists_free(const struct cla_list *lists, void *base)
{
    for (const struct cla_list *d = lists; d != NULL && d->key != NULL; d++) {
        for (size_t i = 0; i < *count_of(d, base); i++)
            conf_options_free(d->options, (char *)*items_of(d, base) + i * d->item_size);
        free(*items_of(d, base));
    }
}
