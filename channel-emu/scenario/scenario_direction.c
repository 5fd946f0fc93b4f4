/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One direction: plain values by tables, the keys that take several forms (start, queue, delay,
 * trace) by a reader each. What can go wrong: a form or a value that is not understood, a trace
 * that cannot be read, memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/units.h"
#include "channel-emu/chan/fading/chan_gen.h"
#include "channel-emu/scenario/scenario.h"

#define AT(field) offsetof(struct scenario_direction, field)
#define TIME_MAX (86400 * TICK_S * 366)
#define RATE_MAX UINT64_C(1000000000000)

static const struct conf_option direction_table[] = {
    {"rate", OPTION_RATE, AT(rate_bps), "unlimited", 1, RATE_MAX, "unlimited", NULL},
    {"mark", OPTION_DURATION, AT(mark), "0", 0, TIME_MAX, NULL, NULL},
    {"reorder", OPTION_BOOL, AT(reorder), "yes", 0, 0, NULL, NULL},
    {"off_contact", OPTION_CHOICE, AT(off), "drop", 0, 0, "drop|hold", NULL},
    {"duplicate", OPTION_SHARE, AT(duplicate), "0", 0, 0, NULL, NULL},
    {"corrupt", OPTION_SHARE, AT(corrupt), "0", 0, 0, NULL, NULL},
    {"bit_errors", OPTION_SHARE, AT(bit_errors), "0", 0, 0, NULL, NULL},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};
static const char *const direction_words[] = {"start",  "queue",    "codel",   "delay",
                                              "jitter", "contacts", "outages", "erasures",
                                              "rules",  "changes",  NULL};
static const struct conf_option erasure_table[] = {
    {"frame", OPTION_CHOICE, AT(frame), "any", 0, 0, "any|start", NULL},
    {"iid", OPTION_SHARE, AT(iid), "0", 0, 0, NULL, NULL},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};
static const char *const erasure_words[] = {"trace", "gilbert_elliott", "power", NULL};
static const struct conf_option trace_table[] = {
    {"file", OPTION_TEXT, AT(trace.name), "none", 0, 0, NULL, GEN_PRESET_NAMES ", none, or a file"},
    {"offset", OPTION_DURATION, AT(trace.offset), "0", 0, TIME_MAX, NULL, NULL},
    {"loop", OPTION_BOOL, AT(trace.loop), "yes", 0, 0, NULL, NULL},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};
static const struct conf_option burst_table[] = {
    {"good", OPTION_DURATION, AT(burst.good), "0", 1, TIME_MAX, NULL, NULL},
    {"bad", OPTION_DURATION, AT(burst.bad), "0", 1, TIME_MAX, NULL, NULL},
    {"loss_good", OPTION_SHARE, AT(burst.loss_good), "0", 0, 0, NULL, NULL},
    {"loss_bad", OPTION_SHARE, AT(burst.loss_bad), "1", 0, 0, NULL, NULL},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};

/* Before good and bad have a value, they are 0: off, which nobody can write. */
static conf_setter set_default;
static int set_default(const struct conf_option *o, void *base, const char *text, char *why,
                       size_t cap)
{
    struct conf_option any = *o;
    any.min = 0;
    return conf_option_set(&any, base, text, why, cap);
}

int scenario_direction_init(struct scenario_direction *w)
{
    const struct conf_option *const tables[] = {direction_table, erasure_table, trace_table,
                                                burst_table};
    w->queue_bytes = 64000000;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        int rc = conf_options_default(tables[i], w, set_default);
        if (rc < 0)
            return rc;
    }
    return scenario_power_init(w);
}

void scenario_direction_fini(struct scenario_direction *w)
{
    conf_options_free(trace_table, w);
    trace_source_fini(&w->trace.source);
    scenario_power_fini(w);
    scenario_jitter_fini(w);
    free(w->points);
    free(w->windows);
    free(w->changes);
    scenario_rules_free(w);
    w->points = NULL;
    w->changes = NULL;
    w->windows = NULL;
}

/* Of the text that set the key last. */
static void keep_line(uint32_t *line, const struct conf_tree *map, const char *key)
{
    const struct conf_tree *t = conf_child(map, key);
    *line = t == NULL ? *line : t->line;
}

/* The text of a key's value; NULL when there is no such key, or it has no text (an error). */
static const char *text_of(const struct conf_tree *t, const char *where, struct conf_errors *errors)
{
    if (t == NULL || t->kind == CONF_SCALAR)
        return t == NULL ? NULL : t->text;
    conf_error(errors, t->line, "%s%s: %s is not expected here; write one value", where, t->key,
               conf_kind_name(t->kind));
    return NULL;
}

/* 2026-11-21T07:00:00Z */
static bool time_of_day(const char *text, tick *out)
{
    struct tm tm = {.tm_isdst = 0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    time_t t = end == NULL || *end != '\0' ? -1 : timegm(&tm);
    if (t < 0)
        return false;
    *out = (tick)t * TICK_S;
    return true;
}

void scenario_start_read(struct scenario_direction *w, const struct conf_tree *t, const char *where,
                         struct conf_errors *errors)
{
    const char *text = text_of(t, where, errors);
    tick after;
    if (text == NULL)
        return;
    w->start_time = 0;
    if (strcmp(text, "first") == 0) {
        w->start = START_FIRST;
    } else if (units_duration(text, &after) == 0 && after <= TIME_MAX) {
        w->start = START_AFTER;
        w->start_time = after;
    } else if (time_of_day(text, &w->start_time)) {
        w->start = START_AT;
    } else {
        conf_error(errors, t->line,
                   "%sstart: \"%s\" is not understood; write first, a duration after the "
                   "emulator's start such as 5s or 0, or a time such as 2026-11-21T07:00:00Z",
                   where, text);
    }
}

static void read_delay(struct scenario_direction *w, const struct conf_tree *t, const char *where,
                       struct conf_errors *errors)
{
    static const struct conf_option delay = {
        .key = "delay", .type = OPTION_DURATION, .offset = AT(delay), .max = TIME_MAX};
    char why[256];
    if (t == NULL)
        return;
    if (t->kind == CONF_LIST) {
        scenario_points(w, t, where, errors);
        return;
    }
    const char *text = text_of(t, where, errors);
    if (text == NULL)
        return;
    if (conf_option_set(&delay, w, text, why, sizeof why) < 0)
        conf_error(errors, t->line, "%sdelay: %s", where, why);
    free(w->points);
    w->points = NULL;
    w->point_count = 0;
}

static bool is_preset(const char *name)
{
    return strcmp(name, "none") == 0 || strcmp(name, "-") == 0 || gen_preset_find(name) != NULL;
}

static void open_trace(struct scenario_direction *w, const struct conf_tree *t, const char *where,
                       const char *directory, struct conf_errors *errors)
{
    char why[TRACE_FILE_ERROR_MAX] = "out of memory";
    trace_source_fini(&w->trace.source);
    if (strncmp(w->trace.name, "iid:", 4) == 0) {
        conf_error(errors, t->line,
                   "%strace: a trace is a file, " GEN_PRESET_NAMES ", or none; write iid: %s",
                   where, w->trace.name + 4);
        return;
    }
    if (!is_preset(w->trace.name)) {
        char *path = scenario_path(directory, w->trace.name);
        if (path == NULL) {
            conf_no_memory(errors, 0);
            return;
        }
        free(w->trace.name);
        w->trace.name = path;
    }
    if (trace_source_read(&w->trace.source, w->trace.name, why) < 0)
        conf_error(errors, t->line, "%strace: %s", where, why);
}

/* trace: NAME is short for trace: {file: NAME}. */
static void read_trace(struct scenario_direction *w, const struct conf_tree *t, const char *where,
                       const char *directory, struct conf_errors *errors)
{
    if (t == NULL)
        return;
    char inner[96];
    struct conf_tree name = *t, map = {.kind = CONF_MAP, .line = t->line, .first = &name};
    char file[] = "file";
    size_t before = errors->total;
    if (t->kind == CONF_SCALAR) {
        name.key = file;
        name.next = NULL;
        t = &map;
    }
    snprintf(inner, sizeof inner, "%strace.", where);
    if (t->kind != CONF_MAP) {
        conf_error(errors, t->line, "%strace: a list is not expected here; write a file's name",
                   where);
        return;
    }
    struct conf_part part = {.options = trace_table, .base = w};
    conf_section_read(t, inner, &part, 1, NULL, errors);
    keep_line(&w->line.offset, t, "offset");
    const struct conf_tree *f = conf_child(t, "file");
    if (f != NULL && errors->total == before)
        open_trace(w, f, where, directory, errors);
}

static void read_erasures(struct scenario_direction *w, const struct conf_tree *map,
                          const char *outer, const char *directory, struct conf_errors *errors)
{
    char where[64], inner[96];
    snprintf(where, sizeof where, "%serasures.", outer);
    snprintf(inner, sizeof inner, "%sgilbert_elliott.", where);
    struct conf_part part = {.options = erasure_table, .base = w};
    conf_section_read(map, where, &part, 1, erasure_words, errors);
    keep_line(&w->line.burst, map, "gilbert_elliott");
    read_trace(w, conf_child(map, "trace"), where, directory, errors);
    scenario_power_read(w, map, where, directory, errors);
    const struct conf_tree *burst = conf_child(map, "gilbert_elliott");
    if (burst != NULL && burst->kind == CONF_SCALAR && strcmp(burst->text, "none") == 0) {
        w->burst = (struct chan_burst){.loss_bad = 1};
        return;
    }
    burst = conf_map(map, where, "gilbert_elliott", errors);
    if (burst == NULL)
        return;
    struct conf_part of_burst = {.options = burst_table, .base = w};
    conf_section_read(burst, inner, &of_burst, 1, NULL, errors);
}

/* NULL: there are none, or a value stands where their map belongs, which is reported. */
static const struct conf_tree *find_erasures(const struct conf_tree *map, const char *where,
                                             struct conf_errors *errors)
{
    const struct conf_tree *t = conf_child(map, "erasures");
    if (t == NULL || t->kind != CONF_SCALAR || *t->text < '0' || *t->text > '9')
        return conf_map(map, where, "erasures", errors);
    conf_error(errors, t->line,
               "%serasures: a value is not expected here; write a map such as {iid: %s}", where,
               t->text);
    return NULL;
}

void scenario_direction_read(struct scenario *s, int direction, const struct conf_tree *map,
                             const char *where, const char *directory, struct conf_errors *errors)
{
    struct scenario_direction *w = &s->directions[direction];
    struct conf_part part = {.options = direction_table, .base = w};
    keep_line(&w->line.queue, map, "queue");
    keep_line(&w->line.codel, map, "codel");
    keep_line(&w->line.mark, map, "mark");
    keep_line(&w->line.off_contact, map, "off_contact");
    keep_line(&w->line.changes, map, "changes");
    conf_section_read(map, where, &part, 1, direction_words, errors);
    scenario_start_read(w, conf_child(map, "start"), where, errors);
    scenario_queue_read(w, map, where, errors);
    read_delay(w, conf_child(map, "delay"), where, errors);
    scenario_jitter_read(w, map, where, errors);
    scenario_windows(w, map, where, errors);
    scenario_changes(w, map, where, errors);
    const struct conf_tree *erasures = find_erasures(map, where, errors);
    if (erasures != NULL)
        read_erasures(w, erasures, where, directory, errors);
    scenario_rules(s, direction, map, where, errors);
}
