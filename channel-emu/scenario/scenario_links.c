/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of all links are read first, because hand-overs and transmitters refer to them. Each
 * link is a scenario: the file's `link`, that of its own `scenario:` file, and its own keys,
 * applied in this order. What can go wrong: unknown keys and names, invalid values, memory.
 */
#include "channel-emu/scenario/scenario_links.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"
#include "channel-emu/chan/chan_shared.h"

#define AT(field) offsetof(struct scenario_link, field)
#define WHERE_CAP 64

static const struct conf_option top_table[] = {
    {"seed", OPTION_COUNT, offsetof(struct scenario_links, seed), "1", 0, INT64_MAX, NULL, NULL},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};
static const char *const top_words[] = {"start", "link", "links", "shared", NULL};
static const struct conf_option link_table[] = {
    {"listen", OPTION_TEXT, AT(listen), "", 0, 0, NULL, NULL},
    {"to", OPTION_TEXT, AT(to), "", 0, 0, NULL, NULL},
    {"return_from", OPTION_TEXT, AT(return_from), "", 0, 0, NULL, NULL},
    {"return_to", OPTION_TEXT, AT(return_to), "", 0, 0, NULL, NULL},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};
static const char *const link_words[] = {"both", "forward", "return", "scenario", "handover", NULL};
static const char *const all_words[] = {"both", "forward", "return", NULL};

static int init_link(struct scenario_link *l, const char *name)
{
    *l = (struct scenario_link){.shared = {-1, -1}};
    int rc = conf_options_default(link_table, l, conf_option_set);
    rc = rc < 0 ? rc : scenario_init(&l->scenario);
    l->name = strdup(name);
    return rc < 0 || l->name == NULL ? HELIO_ENOMEM : 0;
}

void scenario_links_fini(struct scenario_links *s)
{
    for (size_t i = 0; i < s->count; i++) {
        conf_options_free(link_table, &s->link[i]);
        scenario_fini(&s->link[i].scenario);
        free(s->link[i].name);
        free(s->link[i].overs);
    }
    for (size_t i = 0; i < s->shared_count; i++) {
        scenario_direction_fini(&s->shared[i].direction);
        free(s->shared[i].name);
    }
    scenario_direction_fini(&s->origin);
    free(s->link);
    free(s->shared);
    *s = (struct scenario_links){.seed = 0};
}

int scenario_links_find(const struct scenario_links *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++) {
        if (strcmp(s->link[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

int scenario_links_find_shared(const struct scenario_links *s, const char *name)
{
    for (size_t i = 0; i < s->shared_count; i++) {
        if (strcmp(s->shared[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

static bool name_fits(const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)name[i]) && strchr("-_", name[i]) == NULL)
            return false;
    }
    return n >= 1 && n <= SCENARIO_NAME_MAX;
}

static size_t count_children(const struct conf_tree *map)
{
    size_t n = 0;
    for (const struct conf_tree *t = map->first; t != NULL; t = t->next)
        n++;
    return n;
}

/* All names, none of them twice. */
static void name_links(struct scenario_links *s, const struct conf_tree *map,
                       struct conf_errors *errors)
{
    size_t n = count_children(map);
    if (n == 0) {
        conf_error(errors, map->line, "links: is empty; write at least one, such as %s",
                   "a: {listen: 127.0.0.1:5001, to: 127.0.0.1:6001}");
        return;
    }
    if (n > SCENARIO_LINKS_MAX) {
        conf_error(errors, map->line, "links: %zu are too many; write at most %u", n,
                   SCENARIO_LINKS_MAX);
        return;
    }
    assert(s->count == 0);
    s->link = calloc(n, sizeof *s->link);
    if (s->link == NULL) {
        conf_no_memory(errors, 0);
        return;
    }
    for (const struct conf_tree *t = map->first; t != NULL; t = t->next) {
        if (!name_fits(t->key))
            conf_error(errors, t->line,
                       "links.%.40s: write a name of 1 to %u letters, digits, '-' and '_'", t->key,
                       SCENARIO_NAME_MAX);
        else if (scenario_links_find(s, t->key) >= 0)
            conf_error(errors, t->line, "links.%s: is there twice; write another name", t->key);
        else if (t->kind != CONF_MAP)
            conf_error(errors, t->line, "links.%s: %s is not expected here; write a map such as %s",
                       t->key, conf_kind_name(t->kind),
                       "{listen: 127.0.0.1:5001, to: 127.0.0.1:6001}");
        else if (init_link(&s->link[s->count++], t->key) < 0)
            conf_no_memory(errors, 0);
        if (errors->total > 0)
            return;
        s->link[s->count - 1].line = t->line;
    }
}

static void load_scenario(struct scenario_link *l, const struct conf_tree *t, const char *where,
                          const char *directory, struct conf_errors *errors)
{
    if (t == NULL)
        return;
    char *path = t->kind == CONF_SCALAR ? scenario_path(directory, t->text) : NULL;
    if (path == NULL) {
        conf_error(errors, t->line, "%sscenario: write the path of a scenario file", where);
        return;
    }
    const char *shown = errors->file;
    errors->file = path;
    (void)scenario_load(&l->scenario, path, errors);
    errors->file = shown;
    free(path);
}

static uint32_t line_of(const struct conf_tree *map, const char *key, uint32_t other)
{
    const struct conf_tree *t = conf_child(map, key);
    return t == NULL ? other : t->line;
}

static void read_link(struct scenario_links *s, struct scenario_link *l,
                      const struct conf_tree *defaults, const struct conf_tree *map,
                      const char *directory, struct conf_errors *errors)
{
    char where[WHERE_CAP];
    const struct conf_part own = {.options = link_table, .base = l};
    l->scenario.seed = rng_named(s->seed, l->name) >> 1;
    if (defaults != NULL)
        scenario_apply_tree(&l->scenario, defaults, "link.", NULL, all_words, directory, errors);
    snprintf(where, sizeof where, "links.%s.", l->name);
    if (errors->total > 0)
        return;
    load_scenario(l, conf_child(map, "scenario"), where, directory, errors);
    scenario_apply_tree(&l->scenario, map, where, &own, link_words, directory, errors);
    l->handover_line = line_of(map, "handover", 0);
    l->listen_line = line_of(map, "listen", l->line);
    l->to_line = line_of(map, "to", l->line);
    l->return_from_line = line_of(map, "return_from", l->line);
    l->return_to_line = line_of(map, "return_to", l->line);
}

static void read_start(struct scenario_links *s, const struct conf_tree *root,
                       struct conf_errors *errors)
{
    const struct conf_tree *t = conf_child(root, "start");
    s->origin.start = START_AFTER;
    if (t == NULL)
        return;
    scenario_start_read(&s->origin, t, "", errors);
    if (s->origin.start == START_FIRST)
        conf_error(errors, t->line,
                   "start: there is no first frame of all links; write a duration after the "
                   "emulator's start such as 0, or a time such as 2026-11-21T07:00:00Z");
}

static void read_root(struct scenario_links *s, const struct conf_tree *root, const char *directory,
                      struct conf_errors *errors)
{
    struct conf_part part = {.options = top_table, .base = s};
    conf_section_read(root, "", &part, 1, top_words, errors);
    read_start(s, root, errors);
    const struct conf_tree *defaults = conf_map(root, "", "link", errors);
    const struct conf_tree *links = conf_map(root, "", "links", errors);
    if (links == NULL && errors->total == 0)
        conf_error(errors, root->line,
                   "links: is missing; write a map of names, each with a map "
                   "such as {listen: 127.0.0.1:5001, to: 127.0.0.1:6001}");
    if (links == NULL || errors->total > 0)
        return;
    name_links(s, links, errors);
    if (errors->total > 0)
        return;
    size_t i = 0;
    for (const struct conf_tree *t = links->first; t != NULL; t = t->next, i++) {
        read_link(s, &s->link[i], defaults, t, directory, errors);
        scenario_links_over(s, &s->link[i], t, errors);
    }
    scenario_links_lines(s, root, errors);
    if (errors->total == 0)
        scenario_links_suit(s, errors);
}

int scenario_links_read(struct scenario_links *s, const char *data, size_t len,
                        const char *directory, struct conf_errors *errors)
{
    size_t before = errors->total;
    *s = (struct scenario_links){.seed = 1};
    if (scenario_direction_init(&s->origin) < 0)
        return HELIO_ENOMEM;
    struct conf_tree *root = conf_tree_parse(data, len, "it needs the key links", errors);
    if (root != NULL && root->kind != CONF_MAP)
        conf_error(errors, root->line, "%s is not expected here; write a map with the key links",
                   conf_kind_name(root->kind));
    else if (root != NULL && !conf_is_foreign(root, "helio-emu", errors))
        read_root(s, root, directory, errors);
    conf_tree_free(root);
    return errors->total == before ? 0 : conf_errors_code(errors);
}

int scenario_links_load(struct scenario_links *s, const char *path, struct conf_errors *errors)
{
    size_t len;
    *s = (struct scenario_links){.seed = 1};
    char *data = conf_file_read(path, &len, errors);
    char *directory = data == NULL ? NULL : scenario_directory(path);
    if (data != NULL && directory == NULL)
        conf_error(errors, 0, "its directory cannot be found");
    const int rc = directory != NULL ? scenario_links_read(s, data, len, directory, errors)
                                     : conf_errors_code(errors);
    free(directory);
    free(data);
    return rc;
}

tick scenario_links_origin(const struct scenario_links *s, tick started, tick wall)
{
    return scenario_origin(&s->origin, started, wall);
}

struct chan_shared_config scenario_links_shared(const struct scenario_links *s, size_t i,
                                                tick started, tick wall)
{
    const struct scenario_direction *w = &s->shared[i].direction;
    return (struct chan_shared_config){.rate_bps = w->rate_bps,
                                       .queue_bytes = w->queue_bytes,
                                       .queue_time = w->queue_time,
                                       .codel_target = w->codel.target,
                                       .codel_interval = w->codel.interval,
                                       .codel_marks = w->codel.ecn,
                                       .mark_above = w->mark,
                                       .origin = scenario_links_origin(s, started, wall),
                                       .changes = w->changes,
                                       .change_count = w->change_count};
}
