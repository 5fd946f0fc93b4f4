/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line has five columns; the last one is the rest of the line, so a metric's labels may have
 * commas. Empty lines and lines that begin with # are left out. What can go wrong: a header, object
 * identifier, number or type that is none, a name that is there already: said with its line.
 */
#include "tools/csts/csts_figures.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 5 };
static const char header[] = "resource,instance,parameter,type,value";

struct parse {
    unsigned line;
    char *why;
    size_t cap;
};

static bool refuse_line(const struct parse *p, const char *format, ...)
{
    va_list args;
    const int n = snprintf(p->why, p->cap, "line %u: ", p->line);
    va_start(args, format);
    if (n > 0 && (size_t)n < p->cap)
        vsnprintf(p->why + n, p->cap - (size_t)n, format, args);
    va_end(args);
    return false;
}

static char *trim_text(char *text)
{
    size_t len;
    text += strspn(text, " \t");
    len = strlen(text);
    while (len > 0 && strchr(" \t\r", text[len - 1]) != NULL)
        text[--len] = '\0';
    return text;
}

static bool split_columns(char *line, char *columns[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = line;
        line = i == COLUMNS - 1 ? NULL : strchr(line, ',');
        if (line != NULL)
            *line++ = '\0';
        else if (i < COLUMNS - 1)
            return false;
        columns[i] = trim_text(columns[i]);
    }
    return true;
}

static bool parse_type(const char *text, enum figure_type *type)
{
    for (int i = 0; i < FIGURE_TYPES; i++)
        if (strcmp(figure_types[i], text) == 0) {
            *type = (enum figure_type)i;
            return true;
        }
    return false;
}

static bool parse_instance(const char *text, uint32_t *out)
{
    char *end;
    if (text[0] < '0' || text[0] > '9')
        return false;
    const unsigned long long v = strtoull(text, &end, 10);
    *out = (uint32_t)v;
    return *end == '\0' && v >= 1 && v <= UINT32_MAX;
}

/* Is the value one of its type? A metric is looked at later. */
static bool check_value(const struct figure *f)
{
    uint8_t octets[FIGURE_TEXT_MAX + 100];
    return f->value[0] == '\0' || strncmp(f->value, "metric:", 7) == 0 ||
           figure_encode(f->type, f->value, octets, sizeof octets) > 0;
}

static bool parse_row(const struct parse *p, char *line, struct figure *f)
{
    char *columns[COLUMNS];
    if (!split_columns(line, columns))
        return refuse_line(p, "five columns are needed: %s", header);
    if (!csts_oid_parse(columns[0], &f->name.resource))
        return refuse_line(p, "resource \"%s\" is no object identifier", columns[0]);
    if (!parse_instance(columns[1], &f->name.instance))
        return refuse_line(p, "instance \"%s\" is no number from 1 on", columns[1]);
    if (!csts_oid_parse(columns[2], &f->name.id) || f->name.id.len >= CSTS_OID_OCTETS)
        return refuse_line(p, "parameter \"%s\" is no object identifier of at most %d octets",
                           columns[2], CSTS_OID_OCTETS - 1);
    if (!parse_type(columns[3], &f->type))
        return refuse_line(p,
                           "type \"%s\" is none of integer, enumerated, real, boolean, text, event",
                           columns[3]);
    f->value = columns[4];
    if (!check_value(f))
        return refuse_line(p, "\"%s\" is no %s", columns[4], columns[3]);
    f->value = strdup(columns[4]);
    return f->value != NULL || refuse_line(p, "out of memory");
}

static int compare_names(const void *a, const void *b)
{
    const struct figure *const *x = a, *const *y = b;
    const struct csts_name *m = &(*x)->name, *n = &(*y)->name;
    int d = memcmp(m->id.octets, n->id.octets, sizeof m->id.octets);
    if (d == 0)
        d = memcmp(m->resource.octets, n->resource.octets, sizeof m->resource.octets);
    return d != 0 ? d : m->instance < n->instance ? -1 : m->instance > n->instance;
}

/* Each name once. */
static bool check_names(const struct figures *f, struct parse *p)
{
    const struct figure **sorted = malloc((f->len + 1) * sizeof(*sorted));
    if (sorted == NULL)
        return refuse_line(p, "out of memory");
    bool good = true;
    for (size_t i = 0; good && i < f->len; i++)
        sorted[i] = &f->all[i];
    if (good && f->len > 0)
        qsort(sorted, f->len, sizeof *sorted, compare_names);
    for (size_t i = 1; good && i < f->len; i++)
        if (compare_names(&sorted[i - 1], &sorted[i]) == 0) {
            char text[CSTS_OID_TEXT];
            (void)csts_oid_text(&sorted[i]->name.id, text);
            good = false;
            snprintf(p->why, p->cap, "parameter %s of instance %u is there twice", text,
                     sorted[i]->name.instance);
        }
    free(sorted);
    return good;
}

static bool add_row(struct figures *f, const struct figure *one, const struct parse *p)
{
    if (f->len == FIGURES_MAX)
        return refuse_line(p, "more than %d rows", FIGURES_MAX);
    if (f->len == f->cap) {
        const size_t cap = f->cap == 0 ? 64 : 2 * f->cap;
        struct figure *all = realloc(f->all, cap * sizeof *all);
        if (all == NULL)
            return refuse_line(p, "out of memory");
        f->all = all;
        f->cap = cap;
    }
    f->all[f->len++] = *one;
    return true;
}

/* One line without its end. */
static bool take_line(struct figures *f, const struct parse *p, struct slice in, bool *headed)
{
    char line[FIGURES_LINE];
    struct figure one = {0};
    if (in.len >= sizeof line)
        return refuse_line(p, "longer than %d characters", FIGURES_LINE - 1);
    memcpy(line, in.data, in.len);
    line[in.len] = '\0';
    if (strlen(line) != in.len)
        return refuse_line(p, "a zero octet");
    char *text = trim_text(line);
    if (text[0] == '\0' || text[0] == '#')
        return true;
    if (!*headed) {
        *headed = strcmp(text, header) == 0;
        return *headed || refuse_line(p, "the header must be %s", header);
    }
    if (!parse_row(p, text, &one))
        return false;
    if (add_row(f, &one, p))
        return true;
    free(one.value);
    return false;
}

bool figures_parse(struct slice text, struct figures *out, char *why, size_t cap)
{
    struct parse p = {.why = why, .cap = cap};
    bool headed = false, good = true;
    *out = (struct figures){0};
    while (good && text.len > 0) {
        const uint8_t *end = memchr(text.data, '\n', text.len);
        const size_t len = end == NULL ? text.len : (size_t)(end - text.data);
        p.line++;
        good = take_line(out, &p, slice_of(text.data, len), &headed);
        text = slice_of(text.data + len, text.len - len);
        if (text.len > 0)
            text = slice_of(text.data + 1, text.len - 1);
    }
    if (good && !headed) {
        p.line++;
        good = refuse_line(&p, "the header must be %s", header);
    }
    if (good && check_names(out, &p))
        return true;
    figures_free(out);
    return false;
}

void figures_free(struct figures *f)
{
    for (size_t i = 0; i < f->len; i++)
        free(f->all[i].value);
    free(f->all);
    *f = (struct figures){0};
}

bool metric_find(struct slice text, const char *name, char *out, size_t cap)
{
    const size_t len = strlen(name);
    while (text.len > 0) {
        const uint8_t *end = memchr(text.data, '\n', text.len);
        size_t line = end == NULL ? text.len : (size_t)(end - text.data);
        if (len > 0 && line > len + 1 && memcmp(text.data, name, len) == 0 &&
            text.data[len] == ' ') {
            const char *value = (const char *)text.data + len + 1;
            size_t n = 0;
            while (len + 1 + n < line && strchr(" \r", value[n]) == NULL)
                n++; /* a time may follow */
            if (n == 0 || n >= cap)
                return false;
            memcpy(out, value, n);
            out[n] = '\0';
            return true;
        }
        line += line < text.len;
        text = slice_of(text.data + line, text.len - line);
    }
    return false;
}

const char *figure_text(const struct figure *f, struct slice metrics, char *room, size_t cap)
{
    char *end;
    if (strncmp(f->value, "metric:", 7) != 0)
        return f->value;
    if (!metric_find(metrics, f->value + 7, room, cap))
        return "";
    if (f->type == FIGURE_INTEGER || f->type == FIGURE_ENUMERATED || f->type == FIGURE_EVENT) {
        const double v = strtod(room, &end); /* metrics are written as floating numbers */
        if (end == room || *end != '\0' || !(v > -9.2e18 && v < 9.2e18))
            return "";
        snprintf(room, cap, "%lld", (long long)v);
    }
    return room;
}
