/* SPDX-License-Identifier: Apache-2.0 */
/* Each item of a list is a section of its own, with its line. What can go wrong is the user's, or
 * memory. */
#include "tools/node/config_lists.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "conf/conf_section.h"
#include "tools/node/config_value.h"

void config_lists_words(const struct cla_ops *ops, const char *words[CONFIG_LISTS_MAX + 1])
{
    size_t n = 0;
    for (const struct cla_list *d = ops->lists; d != NULL && d->key != NULL; d++) {
        assert(n < CONFIG_LISTS_MAX);
        words[n++] = d->key;
    }
    words[n] = NULL;
}

static void **items_of(const struct cla_list *d, const struct config_link *l)
{
    return (void **)(void *)((char *)l->settings + d->items);
}

static size_t *count_of(const struct cla_list *d, const struct config_link *l)
{
    return (size_t *)(void *)((char *)l->settings + d->count);
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
                      struct config_link *l, struct conf_errors *errors)
{
    size_t n;
    char inner[128];
    const struct conf_tree *t = conf_list(map, where, d->key, d->max, &n, errors);
    if (t == NULL)
        return;
    char *items = calloc(n, d->item_size);
    if (items == NULL) {
        conf_error(errors, map->line, "out of memory");
        return;
    }
    *items_of(d, l) = items;
    snprintf(inner, sizeof inner, "%s%s.", where, d->key);
    for (; t != NULL; t = t->next) {
        void *item = items + *count_of(d, l) * d->item_size;
        ++*count_of(d, l);
        if (conf_options_default(d->options, item, config_set) < 0)
            conf_error(errors, t->line, "out of memory");
        else
            read_item(d, t, inner, item, errors);
    }
}

void config_lists_read(const struct conf_tree *map, const char *where, struct config_link *l,
                       struct conf_errors *errors)
{
    for (const struct cla_list *d = l->ops->lists; d != NULL && d->key != NULL; d++)
        read_list(d, map, where, l, errors);
}

void config_lists_free(struct config_link *l)
{
    for (const struct cla_list *d = l->ops->lists; d != NULL && d->key != NULL; d++) {
        for (size_t i = 0; i < *count_of(d, l); i++)
            conf_options_free(d->options, (char *)*items_of(d, l) + i * d->item_size);
        free(*items_of(d, l));
    }
}
