/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists of a direction: contacts or outages, the table of delays, rules. The tables are read
 * into a new array, which takes the old one's place when all of it is right. What can go wrong:
 * times that do not rise, a rule that is not understood, too many of them, memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "channel-emu/scenario/scenario.h"

#define TIME_MAX (86400 * TICK_S * 366)
#define WINDOW(field) offsetof(struct chan_window, field)
#define POINT(field) offsetof(struct chan_point, field)

static const struct conf_option window_table[] = {
    {"from", OPTION_DURATION, WINDOW(from), NULL, 0, TIME_MAX, NULL,
     "when it begins, such as 0 or 10s"},
    {"to", OPTION_DURATION, WINDOW(to), NULL, 0, TIME_MAX, NULL, "when it ends, such as 10min"},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};
static const struct conf_option point_table[] = {
    {"at", OPTION_DURATION, POINT(at), NULL, 0, TIME_MAX, NULL, "a time such as 0 or 30s"},
    {"delay", OPTION_DURATION, POINT(delay), NULL, 0, TIME_MAX, NULL,
     "the delay then, such as 4ms"},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};

static void item_name(char out[96], const char *where, const char *key, size_t i)
{
    snprintf(out, 96, "%s%s[%zu].", where, key, i + 1);
}

/* Which of the two keys is there: NULL when none is. Both are an error. */
static const char *window_key(const struct conf_tree *map, const char *where,
                              struct conf_errors *errors)
{
    const struct conf_tree *contacts = conf_child(map, "contacts");
    const struct conf_tree *outages = conf_child(map, "outages");
    if (contacts != NULL && outages != NULL)
        conf_error(errors, outages->line,
                   "%soutages: there are contacts, too (line %u); write only one of them", where,
                   contacts->line);
    return contacts != NULL ? "contacts" : outages != NULL ? "outages" : NULL;
}

void scenario_windows(struct scenario_direction *w, const struct conf_tree *map, const char *where,
                      struct conf_errors *errors)
{
    const char *key = window_key(map, where, errors);
    size_t n = 0, i = 0, before = errors->total;
    if (key == NULL)
        return;
    const struct conf_tree *t = conf_list(map, where, key, CHAN_TABLE_MAX, &n, errors);
    struct chan_window *windows = calloc(n + 1, sizeof *windows);
    if (windows == NULL) {
        conf_no_memory(errors, 0);
        return;
    }
    for (; t != NULL && errors->total == before; t = t->next, i++) {
        char name[96];
        struct conf_part part = {.options = window_table, .base = &windows[i]};
        item_name(name, where, key, i);
        conf_section_read(t, name, &part, 1, NULL, errors);
        if (errors->total > before)
            break;
        if (windows[i].to <= windows[i].from)
            conf_error(errors, t->line, "%sto: not later than from; write a later time", name);
        else if (i > 0 && windows[i].from < windows[i - 1].to)
            conf_error(errors, t->line,
                       "%sfrom: before the end of the one before; write them in order of time",
                       name);
    }
    if (errors->total > before) {
        free(windows);
        return;
    }
    free(w->windows);
    w->windows = windows;
    w->window_count = n;
    w->windows_off = *key == 'o';
}

void scenario_points(struct scenario_direction *w, const struct conf_tree *list, const char *where,
                     struct conf_errors *errors)
{
    struct conf_tree map = {.kind = CONF_MAP, .first = (struct conf_tree *)(uintptr_t)list};
    size_t n = 0, i = 0, before = errors->total;
    const struct conf_tree *t = conf_list(&map, where, "delay", CHAN_TABLE_MAX, &n, errors);
    struct chan_point *points = calloc(n + 1, sizeof *points);
    if (points == NULL) {
        conf_no_memory(errors, 0);
        return;
    }
    if (t == NULL && errors->total == before)
        conf_error(errors, list->line, "%sdelay: the list is empty; write a duration, or %s", where,
                   "[{at: 0, delay: 4ms}, {at: 60s, delay: 2ms}]");
    for (; t != NULL && errors->total == before; t = t->next, i++) {
        char name[96];
        struct conf_part part = {.options = point_table, .base = &points[i]};
        item_name(name, where, "delay", i);
        conf_section_read(t, name, &part, 1, NULL, errors);
        if (errors->total == before && i > 0 && points[i].at <= points[i - 1].at)
            conf_error(errors, t->line,
                       "%sat: not later than the one before; write them in order of time", name);
    }
    if (errors->total > before) {
        free(points);
        return;
    }
    free(w->points);
    w->points = points;
    w->point_count = n;
}

void scenario_rules_free(struct scenario_direction *w)
{
    for (size_t i = 0; i < w->rules_len; i++)
        free(w->rule_texts[i]);
    free(w->rule_texts);
    free(w->rules);
    w->rules = NULL;
    w->rule_texts = NULL;
    w->rules_len = 0;
}

static bool rules_room(struct scenario_direction *w)
{
    if (w->rules == NULL)
        w->rules = calloc(LTP_RULES_MAX, sizeof *w->rules);
    if (w->rule_texts == NULL)
        w->rule_texts = calloc(LTP_RULES_MAX, sizeof *w->rule_texts);
    return w->rules != NULL && w->rule_texts != NULL;
}

int scenario_add_rule(struct scenario *s, int direction, const char *text,
                      char why[LTP_RULE_ERROR_MAX])
{
    struct scenario_direction *w = &s->directions[direction];
    if (w->rules_len == LTP_RULES_MAX) {
        snprintf(why, LTP_RULE_ERROR_MAX, "more than %u rules", LTP_RULES_MAX);
        return HELIO_EFORMAT;
    }
    snprintf(why, LTP_RULE_ERROR_MAX, "out of memory");
    if (!rules_room(w))
        return HELIO_ENOMEM;
    int rc = ltp_rule_parse(&w->rules[w->rules_len], text, why);
    if (rc < 0)
        return rc;
    w->rule_texts[w->rules_len] = strdup(text);
    if (w->rule_texts[w->rules_len] == NULL)
        return HELIO_ENOMEM;
    w->rules_len++;
    return 0;
}

static void read_rule(struct scenario *s, int direction, const struct conf_tree *t,
                      const char *where, struct conf_errors *errors)
{
    char why[LTP_RULE_ERROR_MAX];
    if (t->kind != CONF_SCALAR)
        conf_error(errors, t->line, "%srules: %s is not expected here; write a text such as %s",
                   where, conf_kind_name(t->kind), "report:first=2,per=session");
    else if (scenario_add_rule(s, direction, t->text, why) < 0)
        conf_error(errors, t->line, "%srules: %s", where, why);
}

/* One text is a list of one. */
void scenario_rules(struct scenario *s, int direction, const struct conf_tree *map,
                    const char *where, struct conf_errors *errors)
{
    const struct conf_tree *list = conf_child(map, "rules");
    if (list == NULL)
        return;
    scenario_rules_free(&s->directions[direction]);
    if (list->kind == CONF_MAP || (list->kind == CONF_SCALAR && *list->text != '\0'))
        read_rule(s, direction, list, where, errors);
    for (const struct conf_tree *t = list->kind == CONF_LIST ? list->first : NULL; t != NULL;
         t = t->next)
        read_rule(s, direction, t, where, errors);
}
