/* SPDX-License-Identifier: Apache-2.0 */
/* Transmitters that links share: what they are, and which directions take them. What can go wrong:
 * a direction that is not there or has a transmitter already, changes of something else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel-emu/scenario/scenario_links.h"

#define AT(field) offsetof(struct scenario_direction, field)
#define TIME_MAX (86400 * TICK_S * 366)
#define RATE_MAX UINT64_C(1000000000000)

static const struct conf_option line_table[] = {
    {"rate", OPTION_RATE, AT(rate_bps), NULL, 1, RATE_MAX, NULL, "a rate such as 100Mbit/s"},
    {"mark", OPTION_DURATION, AT(mark), "0", 0, TIME_MAX, NULL, NULL},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};
static const char *const line_words[] = {"of", "queue", "codel", "changes", NULL};

/* NAME.forward or NAME.return: the place of its index; NULL with an error. */
static int *find_direction(struct scenario_links *s, const struct conf_tree *t, const char *where,
                           struct conf_errors *errors)
{
    char name[SCENARIO_NAME_MAX + 1];
    const char *text = t->kind == CONF_SCALAR ? t->text : "";
    const char *dot = strrchr(text, '.');
    size_t n = dot == NULL ? 0 : (size_t)(dot - text);
    int direction = dot == NULL                    ? -1
                    : strcmp(dot, ".forward") == 0 ? 0
                    : strcmp(dot, ".return") == 0  ? 1
                                                   : -1;
    if (direction < 0 || n > SCENARIO_NAME_MAX) {
        conf_error(errors, t->line,
                   "%sof: \"%.60s\" is not understood; write directions such as NAME.forward",
                   where, text);
        return NULL;
    }
    memcpy(name, text, n);
    name[n] = '\0';
    int link = scenario_links_find(s, name);
    if (link < 0) {
        conf_error(errors, t->line, "%sof: there is no link \"%s\"; write the name of one", where,
                   name);
        return NULL;
    }
    return &s->link[link].shared[direction];
}

static void read_members(struct scenario_links *s, int index, const struct conf_tree *map,
                         const char *where, struct conf_errors *errors)
{
    const struct conf_tree *list = conf_child(map, "of");
    if (list == NULL || list->kind != CONF_LIST || list->first == NULL) {
        conf_error(errors, list == NULL ? map->line : list->line,
                   "%sof: write a list of directions such as [a.forward, b.forward]", where);
        return;
    }
    for (const struct conf_tree *t = list->first; t != NULL; t = t->next) {
        int *place = find_direction(s, t, where, errors);
        if (place == NULL)
            continue;
        if (*place >= 0)
            conf_error(errors, t->line, "%sof: %s has a transmitter already, %s; write it once",
                       where, t->text, s->shared[*place].name);
        *place = index;
        s->shared[index].members++;
    }
}

static void read_line(struct scenario_links *s, int index, const struct conf_tree *map,
                      struct conf_errors *errors)
{
    char where[64];
    struct scenario_shared *line = &s->shared[index];
    struct conf_part part = {.options = line_table, .base = &line->direction};
    snprintf(where, sizeof where, "shared.%s.", line->name);
    line->line = map->line;
    conf_section_read(map, where, &part, 1, line_words, errors);
    scenario_queue_read(&line->direction, map, where, errors);
    scenario_changes(&line->direction, map, where, errors);
    for (size_t i = 0; i < line->direction.change_count; i++) {
        if (line->direction.changes[i].keys == CHAN_KEY_RATE)
            continue;
        conf_error(errors, conf_child(map, "changes")->line,
                   "%schanges[%zu]: only the rate is of the transmitter; write the rest at the "
                   "links",
                   where, i + 1);
    }
    read_members(s, index, map, where, errors);
}

static bool add_line(struct scenario_links *s, const char *name)
{
    struct scenario_shared *line = &s->shared[s->shared_count];
    if (scenario_direction_init(&line->direction) < 0)
        return false;
    s->shared_count++;
    line->name = strdup(name);
    return line->name != NULL;
}

void scenario_links_lines(struct scenario_links *s, const struct conf_tree *root,
                          struct conf_errors *errors)
{
    size_t n = 0;
    const struct conf_tree *map = conf_map(root, "", "shared", errors);
    for (const struct conf_tree *t = map == NULL ? NULL : map->first; t != NULL; t = t->next)
        n++;
    if (n == 0)
        return;
    s->shared = calloc(n, sizeof *s->shared);
    if (s->shared == NULL) {
        conf_no_memory(errors, 0);
        return;
    }
    for (const struct conf_tree *t = map->first; t != NULL; t = t->next) {
        bool twice =
            scenario_links_find(s, t->key) >= 0 || scenario_links_find_shared(s, t->key) >= 0;
        if (twice || strlen(t->key) > SCENARIO_NAME_MAX || *t->key == '\0') {
            conf_error(errors, t->line, "shared.%.40s: write a name of 1 to %u characters %s",
                       t->key, SCENARIO_NAME_MAX, "that no link and no other of these has");
            continue;
        }
        if (t->kind != CONF_MAP) {
            conf_error(errors, t->line,
                       "shared.%s: %s is not expected here; write a map such as %s", t->key,
                       conf_kind_name(t->kind), "{of: [a.forward, b.forward], rate: 1Mbit/s}");
            continue;
        }
        if (!add_line(s, t->key)) {
            conf_no_memory(errors, 0);
            return;
        }
        read_line(s, (int)s->shared_count - 1, t, errors);
    }
}
