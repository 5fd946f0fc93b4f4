/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Received power as a cause of losses: a file of powers, and a table of error rates. The map is
 * read as a whole and replaces the former one. What can go wrong: a file that cannot be read, a
 * table that does not rise, units that do not fit, memory.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/chan/chan_code.h"
#include "channel-emu/chan/chan_math.h"
#include "channel-emu/chan/fading/chan_power.h"
#include "channel-emu/chan/fading/chan_powers.h"
#include "channel-emu/chan/fading/chan_receiver.h"
#include "channel-emu/scenario/scenario.h"

#define AT(field) offsetof(struct scenario_direction, power.field)
#define ROW(field) offsetof(struct row, field)
#define TIME_MAX (86400 * TICK_S * 366)
#define DB_OF_LOG 4.34294481903251827651 /* 10 / ln 10 */
#define CODEWORD_MAX UINT64_C(16777216)

enum { LINEAR, DB, DBM, MILLIWATT, WATT };

/* One of the table, as it is written. */
struct row {
    char *power;
    double loss, bit_errors;
};

static const struct conf_option table[] = {
    {"file", OPTION_TEXT, AT(name), "none", 0, 0, NULL, "a CSV of powers, or none"},
    {"column", OPTION_TEXT, AT(column), "", 0, 0, NULL, NULL},
    {"unit", OPTION_CHOICE, AT(unit), "linear", 0, 0, "linear|dB|dBm|mW|W", NULL},
    {"step", OPTION_DURATION, AT(step), "100us", 1, 3600 * TICK_S, NULL, NULL},
    {"offset", OPTION_DURATION, AT(offset), "0", 0, TIME_MAX, NULL, NULL},
    {"loop", OPTION_BOOL, AT(loop), "yes", 0, 0, NULL, NULL},
    {"interleaver", OPTION_DURATION, AT(interleaver), "0", 0, 3600 * TICK_S, NULL, NULL},
    {"threshold", OPTION_TEXT, AT(threshold), "", 0, 0, NULL, "a power such as -37dBm"},
    {"reacquire", OPTION_DURATION, AT(reacquire), "0", 0, 3600 * TICK_S, NULL, NULL},
    {"block", OPTION_DURATION, AT(block), "0", 0, 3600 * TICK_S, NULL, NULL},
    {"correct", OPTION_SHARE, AT(correct), "0", 0, 0, NULL, "a share such as 0.125"},
    {"codeword", OPTION_SIZE, AT(codeword_bytes), "0", 0, CODEWORD_MAX, NULL, NULL},
    {"code", OPTION_CHOICE, AT(code), "none", 0, 0, "none|" CODE_NAMES, NULL},
    {"noise", OPTION_TEXT, AT(noise), "", 0, 0, NULL, "a power such as -48dBm"},
    {"slope", OPTION_COUNT, AT(slope), "1", 1, 2, NULL, NULL},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};
static const struct conf_option row_table[] = {
    {"power", OPTION_TEXT, ROW(power), NULL, 0, 0, NULL, "a power such as -36dBm"},
    {"loss", OPTION_SHARE, ROW(loss), NULL, 0, 0, NULL, "a probability such as 1e-3"},
    {"bit_errors", OPTION_SHARE, ROW(bit_errors), "0", 0, 0, NULL, NULL},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};
static const char *const table_word[] = {"table", NULL};

int scenario_power_init(struct scenario_direction *w)
{
    return conf_options_default(table, w, conf_option_set);
}

static void drop_tables(struct scenario_direction *w)
{
    powers_fini(&w->power.values);
    free(w->power.sums);
    free(w->power.points);
    free(w->power.lost);
    free(w->power.lost_sums);
    w->power.sums = w->power.lost = w->power.lost_sums = NULL;
    w->power.points = NULL;
    w->power.power = (struct chan_power){.len = 0};
}

void scenario_power_fini(struct scenario_direction *w)
{
    drop_tables(w);
    conf_options_free(table, w);
}

/* Is this in dBm where the file is in absolute powers, in dB where it is not? */
static bool read_level(const char *text, int unit, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *out >= -400 && *out <= 400 &&
           strcmp(end, unit == LINEAR || unit == DB ? "dB" : "dBm") == 0;
}

static const char *level_words(int unit)
{
    return unit == LINEAR || unit == DB ? "-3dB, since the file's powers are relative"
                                        : "-36dBm, since the file's powers are absolute";
}

static void read_row(struct scenario_direction *w, const struct conf_tree *t, const char *name,
                     struct conf_errors *errors)
{
    struct row row = {.power = NULL};
    const struct conf_part part = {.options = row_table, .base = &row};
    struct chan_power_point *p = &w->power.points[w->power.power.count];
    size_t before = errors->total;
    conf_section_read(t, name, &part, 1, NULL, errors);
    if (errors->total == before && !read_level(row.power, w->power.unit, &p->db))
        conf_error(errors, t->line, "%spower: \"%s\" is not understood; write a level such as %s",
                   name, row.power, level_words(w->power.unit));
    free(row.power);
    p->loss = row.loss;
    p->bit_errors = row.bit_errors;
    if (errors->total == before && w->power.power.count > 0 && p->db <= p[-1].db)
        conf_error(errors, t->line, "%spower: not above the one before; write them in rising order",
                   name);
    w->power.power.count++;
}

/* No losses beside those of the threshold. */
static void read_none(struct scenario_direction *w, struct conf_errors *errors)
{
    w->power.points = calloc(1, sizeof *w->power.points);
    if (w->power.points == NULL) {
        conf_no_memory(errors, 0);
        return;
    }
    w->power.points[0].db = -400;
    w->power.power.count = 1;
}

static void read_table(struct scenario_direction *w, const struct conf_tree *map, const char *where,
                       struct conf_errors *errors)
{
    size_t n = 0, before = errors->total;
    const struct conf_tree *t = conf_list(map, where, "table", CHAN_TABLE_MAX, &n, errors);
    if (t == NULL && conf_child(map, "table") == NULL && *w->power.threshold != '\0') {
        read_none(w, errors);
        return;
    }
    if (t == NULL) {
        if (errors->total == before)
            conf_error(errors, map->line, "%stable: is missing; write %s", where,
                       "[{power: -37dBm, loss: 1}, {power: -36dBm, loss: 1e-6}]");
        return;
    }
    w->power.points = calloc(n, sizeof *w->power.points);
    if (w->power.points == NULL) {
        conf_no_memory(errors, 0);
        return;
    }
    for (; t != NULL && errors->total == before; t = t->next) {
        char name[160];
        snprintf(name, sizeof name, "%stable[%zu].", where, w->power.power.count + 1);
        read_row(w, t, name, errors);
    }
}

/* The curve of a code in place of a table. */
static void read_code(struct scenario_direction *w, const struct conf_tree *map, const char *where,
                      struct conf_errors *errors)
{
    const struct code_curve *c = &code_curves[w->power.code - 1];
    double noise = 0;
    if (conf_child(map, "table") != NULL)
        conf_error(errors, map->line, "%scode: brings its own table; leave out one of them", where);
    else if (!read_level(w->power.noise, w->power.unit, &noise) || noise < -300 || noise > 300)
        conf_error(errors, map->line,
                   "%snoise: \"%s\" is not understood; write the power at which %s, such as %s",
                   where, w->power.noise,
                   c->photons ? "a pulse has one detected photon" : "Es/N0 is 0 dB",
                   level_words(w->power.unit));
    else if (c->photons && w->power.slope != 1)
        conf_error(errors, map->line,
                   "%sslope: a photon counter has no noise of its own; leave it out, or write "
                   "another code",
                   where);
    else if ((w->power.points = calloc(CODE_TABLE_MAX, sizeof *w->power.points)) == NULL)
        conf_no_memory(errors, 0);
    else
        w->power.power.count = code_table(c, noise, (double)w->power.slope, w->power.points);
    if (w->power.codeword_bytes == 0)
        w->power.codeword_bytes = c->data_bits / 8;
}

/* In mW where powers are absolute, so that their decibels are dBm. */
static void read_values(struct scenario_direction *w, const struct conf_tree *map,
                        const char *where, struct conf_errors *errors)
{
    char why[TRACE_FILE_ERROR_MAX] = "out of memory";
    struct powers *p = &w->power.values;
    int rc = trace_powers_read(p, w->power.name, *w->power.column == '\0' ? NULL : w->power.column,
                               w->power.unit == DB || w->power.unit == DBM, why);
    if (rc < 0) {
        conf_error(errors, map->line, "%s%s", where, why);
        return;
    }
    for (size_t i = 0; i < p->len && w->power.unit == WATT; i++)
        p->value[i] *= 1000;
    w->power.sums = malloc((p->len + 1) * sizeof *w->power.sums);
    if (w->power.sums == NULL) {
        conf_no_memory(errors, 0);
        return;
    }
    chan_power_sums(p->value, p->len, w->power.sums);
    w->power.power.power = p->value;
    w->power.power.sums = w->power.sums;
    w->power.power.len = p->len;
}

/* Each step that the receiver loses, as helio-trace from-power makes a trace of them. 0 or
 * HELIO_ENOMEM. */
static int lose_steps(struct scenario_direction *w, const struct receiver_config *c,
                      double threshold)
{
    struct receiver r;
    const struct powers *p = &w->power.values;
    w->power.lost = malloc(p->len * sizeof *w->power.lost);
    w->power.lost_sums = malloc((p->len + 1) * sizeof *w->power.lost_sums);
    int rc = receiver_init(&r, c, threshold, w->power.step);
    if (w->power.lost == NULL || w->power.lost_sums == NULL)
        rc = HELIO_ENOMEM;
    for (size_t i = 0, n = 0; rc == 0 && n < p->len; i++) {
        int lost = receiver_input(&r, p->value[i % p->len]);
        if (lost >= 0)
            w->power.lost[n++] = lost;
    }
    receiver_fini(&r);
    if (rc == 0)
        chan_power_sums(w->power.lost, p->len, w->power.lost_sums);
    w->power.power.lost = w->power.lost;
    w->power.power.lost_sums = w->power.lost_sums;
    w->power.power.block = w->power.block;
    return rc;
}

/* The keys of a receiver with a threshold. */
static void read_receiver(struct scenario_direction *w, const struct conf_tree *map,
                          const char *where, struct conf_errors *errors)
{
    const struct receiver_config c = {.interleaver = w->power.interleaver,
                                      .reacquire = w->power.reacquire,
                                      .block = w->power.block,
                                      .correct = w->power.correct};
    const char *alone = w->power.reacquire > 0 ? "reacquire"
                        : w->power.block > 0   ? "block"
                        : w->power.correct > 0 ? "correct"
                                               : NULL;
    double level = 0;
    if (*w->power.threshold == '\0' && alone != NULL)
        conf_error(errors, map->line,
                   "%s%s: needs the least power that is received; write threshold: %s", where,
                   alone, w->power.unit == LINEAR || w->power.unit == DB ? "-3dB" : "-36dBm");
    else if (*w->power.threshold == '\0')
        return;
    else if (!read_level(w->power.threshold, w->power.unit, &level))
        conf_error(errors, map->line,
                   "%sthreshold: \"%s\" is not understood; write a level such as %s", where,
                   w->power.threshold, level_words(w->power.unit));
    else if (w->power.block > 0 && w->power.interleaver > 0)
        conf_error(errors, map->line, "%sblock: is an interleaver itself; leave out interleaver",
                   where);
    else if (w->power.block == 0 && w->power.correct > 0)
        conf_error(errors, map->line, "%scorrect: is of a block; write block: 10ms", where);
    else if (receiver_fault(&c, w->power.step) != NULL)
        conf_error(errors, map->line, "%s%s: must have 2 to 10,000,000 steps of the powers", where,
                   w->power.block > 0 ? "block" : "interleaver");
    else if (lose_steps(w, &c, math_exp(level / DB_OF_LOG)) < 0)
        conf_no_memory(errors, 0);
}

static void open_power(struct scenario_direction *w, const struct conf_tree *map, const char *where,
                       const char *directory, struct conf_errors *errors)
{
    size_t before = errors->total;
    char *path = scenario_path(directory, w->power.name);
    if (path == NULL) {
        conf_no_memory(errors, 0);
        return;
    }
    free(w->power.name);
    w->power.name = path;
    if (w->power.code > 0)
        read_code(w, map, where, errors);
    else if (*w->power.noise != '\0' || w->power.slope != 1)
        conf_error(errors, map->line, "%s%s: is of a code; write code: %s", where,
                   *w->power.noise != '\0' ? "noise" : "slope", code_curves[0].name);
    else
        read_table(w, map, where, errors);
    if (errors->total == before)
        read_values(w, map, where, errors);
    if (errors->total == before)
        read_receiver(w, map, where, errors);
    w->power.power.step = w->power.step;
    w->power.power.offset = w->power.offset;
    w->power.power.loop = w->power.loop;
    w->power.power.interleaver = w->power.interleaver;
    w->power.power.codeword_bits = (uint32_t)(w->power.codeword_bytes * 8);
    w->power.power.points = w->power.points;
    if (errors->total == before && !chan_power_valid(&w->power.power))
        conf_error(errors, map->line, "%sstep: too long for so many powers", where);
    if (errors->total > before)
        drop_tables(w);
}

void scenario_power_read(struct scenario_direction *w, const struct conf_tree *map,
                         const char *outer, const char *directory, struct conf_errors *errors)
{
    char where[96];
    const struct conf_tree *t = conf_child(map, "power");
    const struct conf_part part = {.options = table, .base = w};
    size_t before = errors->total;
    if (t == NULL)
        return;
    drop_tables(w);
    conf_options_free(table, w);
    if (scenario_power_init(w) < 0) {
        conf_no_memory(errors, 0);
        return;
    }
    if (t->kind == CONF_SCALAR && strcmp(t->text, "none") == 0)
        return;
    snprintf(where, sizeof where, "%spower.", outer);
    t = conf_map(map, outer, "power", errors);
    if (t == NULL)
        return;
    w->power.line = t->line;
    conf_section_read(t, where, &part, 1, table_word, errors);
    if (errors->total == before && strcmp(w->power.name, "none") != 0)
        open_power(w, t, where, directory, errors);
}

void scenario_power_suit(const struct scenario_direction *w, const char *where,
                         struct conf_errors *errors)
{
    if (w->power.power.len > 0 && !w->power.loop &&
        w->power.offset > w->power.power.len * w->power.step)
        conf_error(errors, w->power.line,
                   "%serasures.power.offset: beyond the end of the powers; write a shorter one",
                   where);
}

static json_t *show_number(enum option_type type, uint64_t v)
{
    char text[CONF_NUMBER_CAP];
    return json_string(conf_number_text(type, v, text));
}

json_t *scenario_power_json(const struct scenario_direction *w)
{
    static const char *const units[] = {"linear", "dB", "dBm", "mW", "W"};
    json_t *list = json_array();
    for (size_t i = 0; i < w->power.power.count; i++) {
        char level[48];
        const struct chan_power_point *p = &w->power.points[i];
        snprintf(level, sizeof level, "%.15g%s", p->db,
                 w->power.unit == LINEAR || w->power.unit == DB ? "dB" : "dBm");
        json_array_append_new(list, json_pack("{s:s, s:f, s:f}", "power", level, "loss", p->loss,
                                              "bit_errors", p->bit_errors));
    }
    json_t *o = json_pack("{s:s, s:s, s:s, s:o, s:o, s:s, s:o, s:o, s:o}", "file", w->power.name,
                          "column", w->power.column, "unit", units[w->power.unit], "step",
                          show_number(OPTION_DURATION, w->power.step), "offset",
                          show_number(OPTION_DURATION, w->power.offset), "loop",
                          w->power.loop ? "yes" : "no", "interleaver",
                          show_number(OPTION_DURATION, w->power.interleaver), "codeword",
                          show_number(OPTION_SIZE, w->power.codeword_bytes), "table", list);
    if (o != NULL && *w->power.threshold != '\0') {
        json_object_set_new(o, "threshold", json_string(w->power.threshold));
        json_object_set_new(o, "reacquire", show_number(OPTION_DURATION, w->power.reacquire));
        json_object_set_new(o, "block", show_number(OPTION_DURATION, w->power.block));
        json_object_set_new(o, "correct", json_real(w->power.correct));
    }
    return o;
}
