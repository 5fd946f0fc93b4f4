/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits for a direction's line: how much of it, and CoDel and marks of congestion, which look
 * at how long. What can go wrong: a form that is not understood, and what needs a rate without one.
 */
#include <string.h>

#include "base/units.h"
#include "channel-emu/scenario/scenario.h"

#define AT(field) offsetof(struct scenario_direction, field)
#define TIME_MAX (86400 * TICK_S * 366)

static const struct conf_option codel_table[] = {
    {"target", OPTION_DURATION, AT(codel.target), "5ms", 1, TIME_MAX, NULL, NULL},
    {"interval", OPTION_DURATION, AT(codel.interval), "100ms", 1, TIME_MAX, NULL, NULL},
    {"ecn", OPTION_BOOL, AT(codel.ecn), "no", 0, 0, NULL, NULL},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};

static void read_limit(struct scenario_direction *w, const struct conf_tree *t, const char *where,
                       struct conf_errors *errors)
{
    uint64_t bytes = 0;
    tick time = 0;
    if (t == NULL)
        return;
    const char *text = t->kind == CONF_SCALAR ? t->text : NULL;
    if (text == NULL) {
        conf_error(errors, t->line, "%squeue: %s is not expected here; write one value", where,
                   conf_kind_name(t->kind));
        return;
    }
    if (strcmp(text, "none") != 0 && units_size(text, &bytes) < 0 &&
        (units_duration(text, &time) < 0 || time > TIME_MAX)) {
        conf_error(errors, t->line,
                   "%squeue: \"%s\" is not understood; write a size such as 64MB, a duration such "
                   "as 20ms, or none",
                   where, text);
        return;
    }
    w->queue_bytes = bytes;
    w->queue_time = time;
}

/* yes, no (or none), or a map; what a map does not name has its default. */
static void read_codel(struct scenario_direction *w, const struct conf_tree *t, const char *where,
                       struct conf_errors *errors)
{
    char inner[96];
    const char *text = t == NULL || t->kind != CONF_SCALAR ? NULL : t->text;
    struct conf_part part = {.options = codel_table, .base = w};
    if (t == NULL)
        return;
    memset(&w->codel, 0, sizeof w->codel);
    if (text != NULL && (strcmp(text, "no") == 0 || strcmp(text, "none") == 0))
        return;
    if (t->kind == CONF_LIST || (text != NULL && strcmp(text, "yes") != 0)) {
        conf_error(errors, t->line, "%scodel: is not understood; write yes, no, or %s", where,
                   "{target: 5ms, interval: 100ms, ecn: no}");
        return;
    }
    if (conf_options_default(codel_table, w, conf_option_set) < 0) {
        conf_no_memory(errors, 0);
        return;
    }
    snprintf(inner, sizeof inner, "%scodel.", where);
    if (t->kind == CONF_MAP)
        conf_section_read(t, inner, &part, 1, NULL, errors);
}

void scenario_queue_read(struct scenario_direction *w, const struct conf_tree *map,
                         const char *where, struct conf_errors *errors)
{
    read_limit(w, conf_child(map, "queue"), where, errors);
    read_codel(w, conf_child(map, "codel"), where, errors);
}

/* Said of both directions at once, it is meant for the one that has a rate. */
void scenario_queue_suit(const struct scenario_direction *w, const struct scenario_direction *other,
                         const char *where, struct conf_errors *errors)
{
    if (w->rate_bps > 0)
        return;
    bool alone = other->rate_bps == 0;
    if (w->queue_time > 0 && (alone || w->queue_time != other->queue_time))
        conf_error(errors, w->line.queue,
                   "%squeue: a limit in time needs a rate; write %srate, or a size such as 64MB",
                   where, where);
    if (w->codel.interval > 0 && (alone || w->codel.interval != other->codel.interval))
        conf_error(errors, w->line.codel, "%scodel: needs a rate; write %srate", where, where);
    if (w->mark > 0 && (alone || w->mark != other->mark))
        conf_error(errors, w->line.mark, "%smark: needs a rate; write %srate", where, where);
}

json_t *scenario_codel_json(const struct scenario_direction *w)
{
    char target[CONF_NUMBER_CAP], interval[CONF_NUMBER_CAP];
    if (w->codel.interval == 0)
        return json_string("no");
    return json_pack("{s:s, s:s, s:s}", "target",
                     conf_number_text(OPTION_DURATION, w->codel.target, target), "interval",
                     conf_number_text(OPTION_DURATION, w->codel.interval, interval), "ecn",
                     w->codel.ecn ? "yes" : "no");
}
