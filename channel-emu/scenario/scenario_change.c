/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters of a direction that change during a run: the list of a scenario, and a change sent to
 * a running emulator. Both have the same keys. What can go wrong: times that do not rise, a change
 * of a parameter that the direction does not have, memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/scenario/scenario.h"

#define TIME_MAX (86400 * TICK_S * 366)
#define RATE_MAX UINT64_C(1000000000000)
#define AT(field) offsetof(struct chan_change, field)

static const struct conf_option at_table[] = {
    {"at", OPTION_DURATION, AT(at), NULL, 0, TIME_MAX, NULL, "a time such as 0 or 30s"},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};
static const struct conf_option value_table[] = {
    {"rate", OPTION_RATE, AT(rate_bps), "0", 1, RATE_MAX, NULL, NULL},
    {"delay", OPTION_DURATION, AT(delay), "0", 0, TIME_MAX, NULL, NULL},
    {"iid", OPTION_SHARE, AT(loss), "0", 0, 0, NULL, NULL},
    {"duplicate", OPTION_SHARE, AT(duplicate), "0", 0, 0, NULL, NULL},
    {"corrupt", OPTION_SHARE, AT(corrupt), "0", 0, 0, NULL, NULL},
    {"bit_errors", OPTION_SHARE, AT(bit_error_rate), "0", 0, 0, NULL, NULL},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};
/* In the order of the table. */
static const enum chan_key keys[] = {CHAN_KEY_RATE,      CHAN_KEY_DELAY,   CHAN_KEY_LOSS,
                                     CHAN_KEY_DUPLICATE, CHAN_KEY_CORRUPT, CHAN_KEY_BITS};
static const char *const directions[] = {"forward", "return", "both", NULL};
static const char *const link_word[] = {"link", NULL};
static const char only_keys[] = "rate, delay, iid, duplicate, corrupt, bit_errors";

static unsigned keys_of(const struct conf_tree *map)
{
    unsigned all = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        all |= conf_child(map, value_table[i].key) != NULL ? (unsigned)keys[i] : 0;
    return all;
}

/* One of the list. */
static void read_change(const struct conf_tree *t, const char *name, struct chan_change *out,
                        struct conf_errors *errors)
{
    const struct conf_part parts[] = {{.options = at_table, .base = out},
                                      {.options = value_table, .base = out}};
    size_t before = errors->total;
    conf_section_read(t, name, parts, 2, NULL, errors);
    if (errors->total > before)
        return;
    out->keys = keys_of(t);
    if (out->keys == 0)
        conf_error(errors, t->line, "%.*s: nothing changes; write at least one of %s",
                   (int)strlen(name) - 1, name, only_keys);
}

void scenario_changes(struct scenario_direction *w, const struct conf_tree *map, const char *where,
                      struct conf_errors *errors)
{
    size_t n = 0, i = 0, before = errors->total;
    if (conf_child(map, "changes") == NULL)
        return;
    const struct conf_tree *t = conf_list(map, where, "changes", CHAN_TABLE_MAX, &n, errors);
    struct chan_change *changes = calloc(n + 1, sizeof *changes);
    if (changes == NULL) {
        conf_no_memory(errors, 0);
        return;
    }
    for (; t != NULL && errors->total == before; t = t->next, i++) {
        char name[96];
        snprintf(name, sizeof name, "%schanges[%zu].", where, i + 1);
        read_change(t, name, &changes[i], errors);
        if (errors->total == before && i > 0 && changes[i].at <= changes[i - 1].at)
            conf_error(errors, t->line,
                       "%sat: not later than the one before; write them in order of time", name);
    }
    if (errors->total > before) {
        free(changes);
        return;
    }
    free(w->changes);
    w->changes = changes;
    w->change_count = n;
}

/* What a direction without a rate, or with a table of delays, cannot change. */
static void refuse_keys(const struct scenario_direction *w, unsigned all, uint32_t line,
                        const char *where, struct conf_errors *errors)
{
    if ((all & CHAN_KEY_RATE) != 0 && w->rate_bps == 0)
        conf_error(errors, line,
                   "%srate: the direction has none that could change; write %srate, too", where,
                   where);
    if ((all & CHAN_KEY_DELAY) != 0 && w->point_count > 0)
        conf_error(errors, line, "%sdelay: is a table already; write the change there", where);
}

void scenario_changes_suit(const struct scenario_direction *w, const char *where,
                           struct conf_errors *errors)
{
    unsigned all = 0;
    for (size_t i = 0; i < w->change_count; i++)
        all |= w->changes[i].keys;
    refuse_keys(w, all, w->line.changes, where, errors);
}

static void read_link(const struct conf_tree *t, const char *where, int *out,
                      struct conf_errors *errors)
{
    static const char *const words[] = {"up", "down"};
    if (t == NULL)
        return;
    for (int i = 0; i < 2; i++) {
        if (t->kind == CONF_SCALAR && strcmp(t->text, words[i]) == 0)
            *out = 1 + i;
    }
    if (*out == 0)
        conf_error(errors, t->line, "%slink: is not understood; write up or down", where);
}

static void read_now(struct scenario_change *out, const struct scenario *s, int direction,
                     const struct conf_tree *map, const char *where, struct conf_errors *errors)
{
    const struct conf_part part = {.options = value_table, .base = &out->directions[direction]};
    conf_section_read(map, where, &part, 1, link_word, errors);
    out->directions[direction].keys |= keys_of(map);
    read_link(conf_child(map, "link"), where, &out->link[direction], errors);
    refuse_keys(&s->directions[direction], keys_of(map), map->line, where, errors);
}

void scenario_change_tree(struct scenario_change *out, const struct scenario *s,
                          const struct conf_tree *root, const char *outer,
                          struct conf_errors *errors)
{
    *out = (struct scenario_change){.link = {0, 0}};
    if (root->kind != CONF_MAP) {
        conf_error(errors, root->line, "%s is not expected here; write a map such as %s",
                   conf_kind_name(root->kind), "forward: {rate: 5Mbit/s}");
        return;
    }
    conf_section_read(root, outer, NULL, 0, directions, errors);
    for (int i = 2; i >= 0; i--) { /* `both` first */
        char where[64];
        const struct conf_tree *map = conf_map(root, outer, directions[i], errors);
        if (map == NULL)
            continue;
        snprintf(where, sizeof where, "%.50s%s.", outer, directions[i]);
        for (int direction = i == 2 ? 0 : i; direction <= (i == 2 ? 1 : i) && errors->total == 0;
             direction++)
            read_now(out, s, direction, map, where, errors);
    }
    bool any = out->directions[0].keys != 0 || out->directions[1].keys != 0 || out->link[0] != 0 ||
               out->link[1] != 0;
    if (errors->total == 0 && !any)
        conf_error(errors, root->line, "%snothing changes; write at least one of %s, link", outer,
                   only_keys);
}

int scenario_change_read(struct scenario_change *out, const struct scenario *s, const char *data,
                         size_t len, struct conf_errors *errors)
{
    *out = (struct scenario_change){.link = {0, 0}};
    struct conf_tree *root =
        conf_tree_parse(data, len, "write a map such as forward: {rate: 5Mbit/s}", errors);
    if (root != NULL)
        scenario_change_tree(out, s, root, "", errors);
    conf_tree_free(root);
    return errors->total == 0 ? 0 : HELIO_EFORMAT;
}

static json_t *show_number(enum option_type type, uint64_t v)
{
    char text[CONF_NUMBER_CAP];
    return json_string(conf_number_text(type, v, text));
}

static json_t *show_change(const struct chan_change *c)
{
    json_t *o = json_object();
    json_object_set_new(o, "at", show_number(OPTION_DURATION, c->at));
    if ((c->keys & CHAN_KEY_RATE) != 0)
        json_object_set_new(o, "rate", show_number(OPTION_RATE, c->rate_bps));
    if ((c->keys & CHAN_KEY_DELAY) != 0)
        json_object_set_new(o, "delay", show_number(OPTION_DURATION, c->delay));
    if ((c->keys & CHAN_KEY_LOSS) != 0)
        json_object_set_new(o, "iid", json_real(c->loss));
    if ((c->keys & CHAN_KEY_DUPLICATE) != 0)
        json_object_set_new(o, "duplicate", json_real(c->duplicate));
    if ((c->keys & CHAN_KEY_CORRUPT) != 0)
        json_object_set_new(o, "corrupt", json_real(c->corrupt));
    if ((c->keys & CHAN_KEY_BITS) != 0)
        json_object_set_new(o, "bit_errors", json_real(c->bit_error_rate));
    return o;
}

json_t *scenario_changes_json(const struct chan_change *changes, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, show_change(&changes[i]));
    return list;
}
