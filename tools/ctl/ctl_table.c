/* SPDX-License-Identifier: Apache-2.0 */
/* A table is measured first, then printed. What can go wrong: texts of a node that a terminal
 * should not see; they are shown as '?'. */
#include "tools/ctl/ctl_table.h"

#include <jansson.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define CELL_CAP 320
#define COLUMNS_MAX 24
#define DTN_EPOCH 946684800 /* in Unix seconds (RFC 9171 §4.2.6) */

static void scaled(double v, const char *const *units, double step, char *out, size_t cap)
{
    size_t i = 0;
    while (v >= step && units[i + 1] != NULL) {
        v /= step;
        i++;
    }
    snprintf(out, cap, i == 0 ? "%.0f %s" : "%.1f %s", v, units[i]);
}

static void time_text(json_int_t dtn_ms, char *out, size_t cap)
{
    time_t t = (time_t)(dtn_ms / 1000 + DTN_EPOCH);
    struct tm tm;
    if (dtn_ms < 0 || gmtime_r(&t, &tm) == NULL || tm.tm_year > 8000)
        snprintf(out, cap, "never");
    else
        strftime(out, cap, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static void seconds_text(uint64_t s, char *out, size_t cap)
{
    unsigned long long d = s / 86400, h = s / 3600 % 24, m = s / 60 % 60;
    if (d > 0)
        snprintf(out, cap, "%llu d %llu h", d, h);
    else if (h > 0)
        snprintf(out, cap, "%llu h %llu min", h, m);
    else if (m > 0)
        snprintf(out, cap, "%llu min %llu s", m, (unsigned long long)(s % 60));
    else
        snprintf(out, cap, "%llu s", (unsigned long long)s);
}

static void span_text(json_int_t ms, char *out, size_t cap)
{
    if (ms < 1000)
        snprintf(out, cap, "%lld ms", (long long)ms);
    else if (ms < 10000)
        snprintf(out, cap, "%.1f s", (double)ms / 1000);
    else
        seconds_text((uint64_t)ms / 1000, out, cap);
}

void value_text(const struct json_t *v, enum column_kind kind, char *out, size_t cap)
{
    static const char *const bytes[] = {"B", "kB", "MB", "GB", "TB", NULL};
    static const char *const rates[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", NULL};
    static const char *const times[] = {"ns", "us", "ms", "s", NULL};
    double number = json_number_value(v);
    if (v == NULL)
        snprintf(out, cap, "-");
    else if (json_is_string(v) && kind == COLUMN_DTN_TIME) /* beyond all calendars */
        snprintf(out, cap, "never");
    else if (json_is_string(v))
        snprintf(out, cap, "%s", json_string_value(v));
    else if (json_is_boolean(v))
        snprintf(out, cap, "%s", json_is_true(v) ? "yes" : "no");
    else if (kind == COLUMN_BYTES)
        scaled(number, bytes, 1000, out, cap);
    else if (kind == COLUMN_RATE && number == 0)
        snprintf(out, cap, "unlimited");
    else if (kind == COLUMN_SPAN_MS)
        span_text(json_integer_value(v), out, cap);
    else if (kind == COLUMN_RATE || kind == COLUMN_SPEED)
        scaled(number, rates, 1000, out, cap);
    else if (kind == COLUMN_DURATION)
        scaled(number, times, 1000, out, cap);
    else if (kind == COLUMN_DTN_TIME)
        time_text(json_integer_value(v), out, cap);
    else if (json_is_integer(v))
        snprintf(out, cap, "%lld", (long long)json_integer_value(v));
    else
        snprintf(out, cap, "%g", number);
    for (char *p = out; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
}

const struct json_t *value_shown(const struct json_t *row, const char *key)
{
    char named[64];
    snprintf(named, sizeof named, "%.48s_name", key);
    const json_t *name = json_object_get(row, named);
    return json_is_string(name) ? name : json_object_get(row, key);
}

static void print_row(FILE *out, const struct column *columns, size_t n, const json_t *row,
                      const size_t *widths)
{
    char cell[CELL_CAP];
    for (size_t i = 0; i < n; i++) {
        if (row == NULL)
            snprintf(cell, sizeof cell, "%s", columns[i].title);
        else
            value_text(value_shown(row, columns[i].key), columns[i].kind, cell, sizeof cell);
        bool last = i + 1 == n;
        int width = (int)widths[i];
        if (columns[i].kind == COLUMN_TEXT && last)
            fprintf(out, "%s", cell);
        else if (columns[i].kind == COLUMN_TEXT)
            fprintf(out, "%-*s  ", width, cell);
        else
            fprintf(out, "%*s%s", width, cell, last ? "" : "  ");
    }
}

void table_print(FILE *out, const struct column *columns, size_t columns_len,
                 const struct json_t *rows, bool colour)
{
    size_t widths[COLUMNS_MAX], at;
    char cell[CELL_CAP];
    const json_t *row;
    if (columns_len > COLUMNS_MAX)
        columns_len = COLUMNS_MAX;
    for (size_t i = 0; i < columns_len; i++) {
        widths[i] = strlen(columns[i].title);
        json_array_foreach(rows, at, row)
        {
            value_text(value_shown(row, columns[i].key), columns[i].kind, cell, sizeof cell);
            if (strlen(cell) > widths[i])
                widths[i] = strlen(cell);
        }
    }
    fputs(colour ? "\033[1m" : "", out);
    print_row(out, columns, columns_len, NULL, widths);
    fputs(colour ? "\033[0m\n" : "\n", out);
    json_array_foreach(rows, at, row)
    {
        print_row(out, columns, columns_len, row, widths);
        fputc('\n', out);
    }
}

static bool ends(const char *text, const char *with)
{
    size_t n = strlen(text), m = strlen(with);
    return n >= m && strcmp(text + n - m, with) == 0;
}

/* The value in the unit that its name ends with; the unit is removed from the name. */
static void unit_text(const json_t *v, char *name, char *out, size_t cap)
{
    bool bytes = ends(name, "_bytes");
    bool whole = json_is_integer(v);
    if (whole && (bytes || strcmp(name, "bytes") == 0 || ends(name, ".bytes"))) {
        value_text(v, COLUMN_BYTES, out, cap);
        if (bytes)
            name[strlen(name) - strlen("_bytes")] = '\0';
    } else if (whole && ends(name, "_s")) {
        seconds_text((uint64_t)json_integer_value(v), out, cap);
        name[strlen(name) - 2] = '\0';
    } else {
        value_text(v, COLUMN_NUMBER, out, cap);
    }
}

void list_print(FILE *out, const struct json_t *object, const char *path, bool zeros)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)object, key, v)
    {
        char name[CELL_CAP], text[CELL_CAP];
        snprintf(name, sizeof name, "%s%s%s", path, *path != '\0' ? "." : "", key);
        if (json_is_object(v)) {
            list_print(out, v, name, zeros);
        } else if (!json_is_array(v) &&
                   (zeros || !json_is_integer(v) || json_integer_value(v) != 0)) {
            if (zeros)
                unit_text(v, name, text, sizeof text);
            else
                value_text(v, COLUMN_NUMBER, text, sizeof text);
            fprintf(out, "%-44s %s\n", name, text);
        }
    }
}
