/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extra delay of a direction: a duration (uniform below it), or a map with a law or a table. What
 * can go wrong: a form that is not understood, values that no law can have, memory.
 */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "channel-emu/scenario/scenario.h"

#define AT(field) offsetof(struct scenario_direction, field)
#define TIME_MAX (86400 * TICK_S * 366)
#define LAWS "uniform|normal|lognormal|exponential|gamma|pareto"

static const struct conf_option plain = {
    .key = "jitter", .type = OPTION_DURATION, .offset = AT(jitter), .max = TIME_MAX};
static const struct conf_option law_table[] = {
    {"law", OPTION_CHOICE, AT(law.law), "normal", 0, 0, LAWS, NULL},
    {"mean", OPTION_DURATION, AT(law.values.mean), "0", 0, TIME_MAX, NULL, NULL},
    {"sd", OPTION_DURATION, AT(law.values.sd), "0", 0, TIME_MAX, NULL, NULL},
    {"max", OPTION_DURATION, AT(law.values.max), "0", 0, TIME_MAX, NULL, NULL},
    {"correlation", OPTION_SHARE, AT(law.values.correlation), "0", 0, 0, NULL, NULL},
    {"memory", OPTION_DURATION, AT(law.values.memory), "0", 0, TIME_MAX, NULL, NULL},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};
static const char *const table_word[] = {"table", NULL};

void scenario_jitter_fini(struct scenario_direction *w)
{
    free(w->law.table);
    memset(&w->law, 0, sizeof w->law);
}

static void read_table(struct scenario_direction *w, const struct conf_tree *t, const char *where,
                       struct conf_errors *errors)
{
    size_t n = 0, i = 0;
    const struct conf_tree *item = t->kind == CONF_LIST ? t->first : NULL;
    for (const struct conf_tree *it = item; it != NULL; it = it->next)
        n++;
    tick *table = n < 2 || n > CHAN_JITTER_TABLE_MAX ? NULL : calloc(n, sizeof *table);
    if (table == NULL) {
        conf_error(errors, t->line, "%sjitter.table: is not understood; write 2 to %u delays %s",
                   where, CHAN_JITTER_TABLE_MAX, "in rising order, such as [1ms, 1.5ms, 4ms]");
        return;
    }
    for (; item != NULL; item = item->next, i++) {
        bool good = item->kind == CONF_SCALAR && units_duration(item->text, &table[i]) == 0 &&
                    table[i] <= TIME_MAX && (i == 0 || table[i] >= table[i - 1]);
        if (!good) {
            conf_error(errors, item->line, "%sjitter.table[%zu]: is no delay, or less than the %s",
                       where, i + 1, "one before; write them in rising order");
            free(table);
            return;
        }
    }
    w->law.table = table;
    w->law.values.table = table;
    w->law.values.table_len = n;
}

/* What each law asks of mean and deviation, in words. */
static const char *what_it_asks(const struct scenario_direction *w)
{
    static const char *const asks[] = {
        "a mean of at least 1.7321 sd", "an sd",          "a mean and an sd above 0",
        "a mean of at least the sd",    "sd <= 1.4 mean", "a mean and an sd above 0"};
    const size_t law = (size_t)w->law.values.law;
    return law < sizeof asks / sizeof asks[0] ? asks[law] : "its quantiles in rising order";
}

static void read_law(struct scenario_direction *w, const struct conf_tree *t, const char *where,
                     struct conf_errors *errors)
{
    char inner[96];
    const struct conf_tree *table = conf_child(t, "table");
    struct conf_part part = {.options = law_table, .base = w};
    size_t before = errors->total;
    snprintf(inner, sizeof inner, "%sjitter.", where);
    if (conf_options_default(law_table, w, conf_option_set) < 0) {
        conf_no_memory(errors, 0);
        return;
    }
    conf_section_read(t, inner, &part, 1, table_word, errors);
    w->law.values.law = (enum chan_jitter_law)w->law.law;
    if (table != NULL) {
        w->law.values.law = CHAN_JITTER_TABLE;
        read_table(w, table, where, errors);
    }
    if (errors->total > before)
        return;
    w->law.on = true;
    if (table != NULL &&
        (conf_child(t, "law") != NULL || w->law.values.mean > 0 || w->law.values.sd > 0))
        conf_error(errors, t->line, "%sjitter.table: there is a law, too; write only one of them",
                   where);
    else if (w->law.values.correlation >= 1)
        conf_error(errors, t->line, "%sjitter.correlation: 1 never changes; write less", where);
    else if (w->law.values.memory > 0 && w->law.values.correlation > 0)
        conf_error(errors, t->line,
                   "%sjitter.memory: there is a correlation, too; write only one of them", where);
    else if (!chan_jitter_valid(&w->law.values))
        conf_error(errors, t->line, "%sjitter: mean and sd do not suit the law; it needs %s", where,
                   what_it_asks(w));
}

void scenario_jitter_read(struct scenario_direction *w, const struct conf_tree *map,
                          const char *where, struct conf_errors *errors)
{
    char why[256];
    const struct conf_tree *t = conf_child(map, "jitter");
    if (t == NULL)
        return;
    scenario_jitter_fini(w);
    w->jitter = 0;
    if (t->kind == CONF_MAP)
        read_law(w, t, where, errors);
    else if (t->kind == CONF_LIST)
        conf_error(errors, t->line, "%sjitter: a list is not expected here; write one value",
                   where);
    else if (conf_option_set(&plain, w, t->text, why, sizeof why) < 0)
        conf_error(errors, t->line, "%sjitter: %s", where, why);
}

tick scenario_jitter_max(const struct scenario_direction *w)
{
    return w->law.on ? chan_jitter_max(&w->law.values) : w->jitter;
}

static json_t *show_time(tick t)
{
    char text[CONF_NUMBER_CAP];
    return json_string(conf_number_text(OPTION_DURATION, t, text));
}

json_t *scenario_jitter_json(const struct scenario_direction *w)
{
    static const char *const names[] = {"uniform",     "normal", "lognormal",
                                        "exponential", "gamma",  "pareto"};
    const struct chan_jitter *k = &w->law.values;
    if (!w->law.on)
        return show_time(w->jitter);
    json_t *o = json_object();
    if (k->law == CHAN_JITTER_TABLE) {
        json_t *list = json_array();
        for (size_t i = 0; i < k->table_len; i++)
            json_array_append_new(list, show_time(k->table[i]));
        json_object_set_new(o, "table", list);
    } else {
        json_object_set_new(o, "law", json_string(names[k->law]));
        json_object_set_new(o, "mean", show_time(k->mean));
        json_object_set_new(o, "sd", show_time(k->sd));
    }
    if (k->max > 0)
        json_object_set_new(o, "max", show_time(k->max));
    if (k->memory > 0)
        json_object_set_new(o, "memory", show_time(k->memory));
    else
        json_object_set_new(o, "correlation", json_real(k->correlation));
    return o;
}
