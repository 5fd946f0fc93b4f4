/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a link for the log, and which of them are secret. Hidden are options that the tables
 * mark as secret, and keys in no table, because they may be misplaced secrets. What can go wrong:
 * the text is no map; memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_groups.h"
#include "conf/conf_section.h"
#include "node/config/config_link.h"
#include "node/config/config_tables.h"

#define KEY_CAP 128
#define HIDDEN "***"

/* Has any option the key "GROUP.…"? */
static bool is_group(const struct conf_option *options, const char *group)
{
    const size_t len = strlen(group);
    for (const struct conf_option *o = options; o->key != NULL; o++)
        if (strncmp(o->key, group, len) == 0 && o->key[len] == '.')
            return true;
    return false;
}

static const struct conf_option *find_option(const struct cla_ops *ops, const char *key)
{
    const struct conf_option *common = conf_option_find(config_link_options, key);
    return common != NULL || ops == NULL ? common : conf_option_named(ops->options, key);
}

/* One key; group: "" or that of the map that it is in. */
static void show_key(FILE *f, const struct cla_ops *ops, const char *group,
                     const struct conf_tree *t)
{
    char key[KEY_CAP];
    const int len = snprintf(key, sizeof key, "%s%s%s", group, *group != '\0' ? "." : "", t->key);
    const struct conf_option *o =
        len > 0 && (size_t)len < sizeof key ? find_option(ops, key) : NULL;
    if (o == NULL)
        fputs(HIDDEN ": " HIDDEN, f);
    else if (t->kind != CONF_SCALAR || o->type == OPTION_SECRET)
        fprintf(f, "%s: " HIDDEN, t->key);
    else
        fprintf(f, "%s: %s", t->key, t->text);
}

static void show_map(FILE *f, const struct cla_ops *ops, const char *group,
                     const struct conf_tree *map)
{
    for (const struct conf_tree *t = map->first; t != NULL; t = t->next) {
        fputs(t == map->first ? "" : ", ", f);
        if (t->kind == CONF_MAP && *group == '\0' && ops != NULL &&
            is_group(ops->options, t->key)) {
            fprintf(f, "%s: {", t->key);
            show_map(f, ops, t->key, t);
            fputc('}', f);
        } else {
            show_key(f, ops, group, t);
        }
    }
}

char *config_link_shown(const char *text, size_t len, const struct cla_ops *ops,
                        config_adapters *adapters)
{
    struct conf_errors *errors = malloc(sizeof *errors);
    char *shown = NULL;
    size_t size;
    if (errors == NULL)
        return NULL;
    conf_errors_init(errors, "");
    struct conf_tree *map = conf_tree_parse(text, len, "", errors);
    FILE *f = map != NULL && map->kind == CONF_MAP ? open_memstream(&shown, &size) : NULL;
    if (f != NULL) {
        show_map(f, ops != NULL ? ops : config_adapter_find(map, "", adapters, errors), "", map);
        if (fclose(f) != 0) {
            free(shown);
            shown = NULL;
        }
    }
    conf_tree_free(map);
    free(errors);
    return shown;
}

/* The key of an option that is secret in any adapter's table; NULL: it is none. */
static const char *find_secret(config_adapters *adapters, const char *group, const char *word)
{
    char key[KEY_CAP];
    const int len = snprintf(key, sizeof key, "%s%s%s", group, *group != '\0' ? "." : "", word);
    for (size_t i = 0; len > 0 && (size_t)len < sizeof key && adapters(i) != NULL; i++) {
        const struct conf_option *o = conf_option_named(adapters(i)->options, key);
        if (o != NULL && o->type == OPTION_SECRET)
            return o->key;
    }
    return NULL;
}

static const char *search_map(config_adapters *adapters, const char *group,
                              const struct conf_tree *map)
{
    const char *found = NULL;
    for (const struct conf_tree *t = map->first; t != NULL && found == NULL; t = t->next) {
        if (t->kind == CONF_MAP && *group == '\0')
            found = search_map(adapters, t->key, t);
        else if (t->kind == CONF_SCALAR && t->text != NULL && *t->text != '\0')
            found = find_secret(adapters, group, t->key);
    }
    return found;
}

const char *config_link_secret(const char *text, size_t len, config_adapters *adapters)
{
    struct conf_errors *errors = malloc(sizeof *errors);
    const char *found = NULL;
    if (errors == NULL)
        return NULL;
    conf_errors_init(errors, "");
    struct conf_tree *map = conf_tree_parse(text, len, "", errors);
    if (map != NULL && map->kind == CONF_MAP)
        found = search_map(adapters, "", map);
    conf_tree_free(map);
    free(errors);
    return found;
}
