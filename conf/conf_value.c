/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each type of value has one reader, which writes the field or says why not in the words of a
 * person's file. What can go wrong: a wrong unit, a value out of its range, an unknown word,
 * memory.
 */
#include "conf/conf_value.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/units.h"

enum { WORDS_CAP = 96 };

struct scale {
    const char *unit;
    uint64_t by;
};

/* In the unit that gives the smallest whole number. */
static void show_scaled(uint64_t v, const struct scale *scales, char out[32])
{
    const struct scale *best = scales;
    for (;; scales++) {
        if (v % scales->by == 0 && (v % best->by != 0 || scales->by > best->by))
            best = scales;
        if (scales->by == 1)
            break;
    }
    snprintf(out, 32, "%llu%s", (unsigned long long)(v / best->by), v == 0 ? "" : best->unit);
}

static const struct scale *scales_of(enum option_type type)
{
    static const struct scale durations[] = {{"d", 86400 * TICK_S},
                                             {"h", 3600 * TICK_S},
                                             {"min", 60 * TICK_S},
                                             {"s", TICK_S},
                                             {"ms", TICK_MS},
                                             {"us", TICK_US},
                                             {"ns", 1}};
    static const struct scale rates[] = {
        {"Gbit/s", 1000000000}, {"Mbit/s", 1000000}, {"kbit/s", 1000}, {"bit/s", 1}};
    static const struct scale sizes[] = {{"TiB", UINT64_C(1) << 40},
                                         {"GiB", UINT64_C(1) << 30},
                                         {"MiB", UINT64_C(1) << 20},
                                         {"KiB", UINT64_C(1) << 10},
                                         {"GB", 1000000000},
                                         {"MB", 1000000},
                                         {"kB", 1000},
                                         {"B", 1}};
    static const struct scale counts[] = {{"", 1}};
    return type == OPTION_DURATION ? durations
           : type == OPTION_RATE   ? rates
           : type == OPTION_SIZE   ? sizes
                                   : counts;
}

char *conf_number_text(enum option_type type, uint64_t v, char out[CONF_NUMBER_CAP])
{
    show_scaled(v, scales_of(type), out);
    return out;
}

/* The upper limit of a range: in the unit that a person would use, if it is no round number (4.29GB
 * for 4294967295B), and not above it. */
static void show_most(enum option_type type, uint64_t v, char out[CONF_NUMBER_CAP])
{
    const struct scale *s = scales_of(type);
    conf_number_text(type, v, out);
    if (s->by == 1 || strcspn(out, "BGKMTdhkmnsub") <= 6)
        return;
    while (s->by > v || s->unit[1] == 'i')
        s++;
    const unsigned hundredths = (unsigned)(v % s->by / (s->by / 100)) % 100;
    snprintf(out, CONF_NUMBER_CAP, "%llu.%02u%s", (unsigned long long)(v / s->by), hundredths,
             s->unit);
}

/* A limit that nobody meets is none. */
static bool has_most(const struct conf_option *o)
{
    return o->max != 0 && o->max < INT64_MAX;
}

/* " from 1 to 5", " of at least 1", " above 0", or nothing: after "a value" or "a number". */
static void show_range(const struct conf_option *o, char *out, size_t cap)
{
    char low[CONF_NUMBER_CAP], high[CONF_NUMBER_CAP];
    const bool above_0 = o->type == OPTION_DURATION && o->min == 1;
    conf_number_text(o->type, o->min, low);
    show_most(o->type, o->max, high);
    if (has_most(o) && above_0)
        snprintf(out, cap, " above 0, at most %s", high);
    else if (has_most(o))
        snprintf(out, cap, " from %s to %s", low, high);
    else if (above_0)
        snprintf(out, cap, " above 0");
    else if (o->min > 0)
        snprintf(out, cap, " of at least %s", low);
    else
        *out = '\0';
}

/* ", or auto", ", or all, or none": the words of a number. */
static void show_words(const struct conf_option *o, char *out, size_t cap)
{
    *out = '\0';
    for (const char *p = o->choices; p != NULL;) {
        const size_t n = strcspn(p, "|"), used = strlen(out);
        snprintf(out + used, cap - used, ", or %.*s", (int)n, p);
        p = p[n] == '|' ? p + n + 1 : NULL;
    }
}

static void refuse_count(const struct conf_option *o, const char *text, const char *words,
                         char *why, size_t cap)
{
    char range[96];
    show_range(o, range, sizeof range);
    if (o->help != NULL && o->choices == NULL)
        snprintf(why, cap, "\"%s\" is not understood; write a whole number without unit: %s", text,
                 o->help);
    else if (o->help != NULL || *range == '\0')
        snprintf(why, cap, "\"%s\" is not understood; write a whole number without unit%s", text,
                 words);
    else
        snprintf(why, cap, "\"%s\" is not understood; write a whole number%s%s", text, range,
                 words);
}

/* What would be right instead of a text that is no number of its type. */
static void refuse_number(const struct conf_option *o, const char *text, char *why, size_t cap)
{
    static const char *const hints[] = {units_duration_hint, units_rate_hint, units_size_hint};
    static const char limited[] = "a rate with its unit, such as 500Mbit/s or 2.5Gbit/s";
    const enum units_kind kind = o->type == OPTION_DURATION ? UNITS_DURATION
                                 : o->type == OPTION_RATE   ? UNITS_RATE
                                                            : UNITS_SIZE;
    char right[UNITS_MEND_CAP], words[WORDS_CAP];
    show_words(o, words, sizeof words);
    if (o->type == OPTION_COUNT)
        refuse_count(o, text, words, why, cap);
    else if (units_mend(kind, text, right) && strchr(text, ' ') != NULL)
        snprintf(why, cap, "\"%s\" is not understood; write no space before the unit: %s", text,
                 right);
    else if (units_mend(kind, text, right))
        snprintf(why, cap, "\"%s\" is not understood; write %s", text, right);
    else if (kind == UNITS_RATE) /* its hint has its word */
        snprintf(why, cap, "\"%s\" is not understood; write %s", text,
                 o->choices == NULL ? limited : hints[kind]);
    else
        snprintf(why, cap, "\"%s\" is not understood; write %s%s", text, hints[kind], words);
}

static void refuse_range(const struct conf_option *o, const char *text, uint64_t v, char *why,
                         size_t cap)
{
    char range[96], words[WORDS_CAP];
    show_range(o, range, sizeof range);
    show_words(o, words, sizeof words);
    if (v >= o->min && !has_most(o))
        snprintf(why, cap, "%s is out of range; write a smaller value%s", text, words);
    else
        snprintf(why, cap, "%s is out of range; write a value%s%s", text, range, words);
}

static int set_number(const struct conf_option *o, uint64_t *field, const char *text, char *why,
                      size_t cap)
{
    uint64_t v = 0;
    int err;
    if (o->choices != NULL && strcmp(text, o->choices) == 0) {
        *field = 0;
        return 0;
    }
    if (o->type == OPTION_DURATION)
        err = units_duration(text, &v);
    else if (o->type == OPTION_RATE)
        err = units_rate(text, &v);
    else if (o->type == OPTION_SIZE)
        err = units_size(text, &v);
    else
        err = units_count(text, UINT64_MAX, &v);
    if (err < 0) {
        refuse_number(o, text, why, cap);
        return HELIO_EFORMAT;
    }
    if (v < o->min || (o->max != 0 && v > o->max)) {
        refuse_range(o, text, v, why, cap);
        return HELIO_EFORMAT;
    }
    *field = v;
    return 0;
}

static int set_bool(bool *field, const char *text, char *why, size_t cap)
{
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasecmp(text, words[i]) == 0) {
            *field = i % 2 == 1;
            return 0;
        }
    }
    snprintf(why, cap, "\"%s\" is not understood; write yes or no", text);
    return HELIO_EFORMAT;
}

static int set_share(const struct conf_option *o, double *field, const char *text, char *why,
                     size_t cap)
{
    const bool below_1 = o->max == SHARE_BELOW_1;
    char *end;
    double v = strtod(text, &end);
    const char *unit = end + strspn(end, " ");
    const bool percent = end != text && strcmp(unit, "%") == 0;
    v = percent ? v / 100 : v;
    const bool in_range = v >= 0 && (below_1 ? v < 1 : v <= 1);
    if (end != text && *end == '\0' && in_range) {
        *field = v;
        return 0;
    }
    if (percent && in_range)
        snprintf(why, cap, "\"%s\" is not understood; write %g", text, v);
    else
        snprintf(why, cap, "\"%s\" is not understood; write a number from 0 to %s1, such as 0.05",
                 text, below_1 ? "below " : "");
    return HELIO_EFORMAT;
}

static int set_text(char **field, const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL)
        return HELIO_ENOMEM;
    free(*field);
    *field = copy;
    return 0;
}

static int set_choice(const struct conf_option *o, int *field, const char *text, char *why,
                      size_t cap)
{
    char list[256];
    size_t used = 0, len = strlen(text);
    int index = 0;
    list[0] = '\0';
    for (const char *p = o->choices;; index++) {
        size_t n = strcspn(p, "|");
        if (n == len && memcmp(p, text, n) == 0) {
            *field = index;
            return 0;
        }
        const bool unset = n == 5 && memcmp(p, "unset", n) == 0; /* to be left out */
        int w = snprintf(list + used, sizeof list - used, "%s%.*s", used > 0 && !unset ? ", " : "",
                         unset ? 0 : (int)n, p);
        used += w > 0 && (size_t)w < sizeof list - used ? (size_t)w : 0;
        if (p[n] == '\0')
            break;
        p += n + 1;
    }
    snprintf(why, cap, "\"%s\" is not known; write one of: %s", text, list);
    return HELIO_EFORMAT;
}

int conf_option_set(const struct conf_option *o, void *base, const char *text, char *why,
                    size_t cap)
{
    void *field = (char *)base + o->offset;
    switch (o->type) {
    case OPTION_DURATION:
    case OPTION_RATE:
    case OPTION_SIZE:
    case OPTION_COUNT:
        return set_number(o, field, text, why, cap);
    case OPTION_BOOL:
        return set_bool(field, text, why, cap);
    case OPTION_TEXT:
    case OPTION_FILE:
    case OPTION_SECRET:
    case OPTION_PLACE:
    case OPTION_SOCKET:
    case OPTION_WORDS:
        return set_text(field, text);
    case OPTION_CHOICE:
        return set_choice(o, field, text, why, cap);
    case OPTION_SHARE:
        return set_share(o, field, text, why, cap);
    case OPTION_EID:
    case OPTION_TIME:
    case OPTION_ADDRESS:
    case OPTION_HOST:
        break; /* of a program that has its own setter */
    }
    snprintf(why, cap, "this type of value is not read here");
    return HELIO_EFORMAT;
}

int conf_options_default(const struct conf_option *options, void *base, conf_setter *set)
{
    for (const struct conf_option *o = options; o->key != NULL; o++) {
        char why[256];
        if (o->initial == NULL)
            continue;
        int err = set(o, base, o->initial, why, sizeof why);
        assert(err == 0 || err == HELIO_ENOMEM);
        if (err < 0)
            return err;
    }
    return 0;
}

void conf_options_free(const struct conf_option *options, void *base)
{
    for (const struct conf_option *o = options; o->key != NULL; o++) {
        if (!option_is_text(o->type))
            continue;
        char **field = (char **)(void *)((char *)base + o->offset);
        free(*field);
        *field = NULL;
    }
}

const struct conf_option *conf_option_find(const struct conf_option *options, const char *key)
{
    for (const struct conf_option *o = options; o->key != NULL; o++)
        if (strcmp(o->key, key) == 0)
            return o;
    return NULL;
}
