/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first line with content settles which column it is: by number, by title, or because there is
 * no choice. What can go wrong: a column that is not there, a value that is no power, memory.
 */
#include "channel-emu/chan/fading/chan_powers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/slice.h"
#include "channel-emu/chan/chan_math.h"

#define LN10_10TH 0.230258509299404568402

void powers_fini(struct powers *p)
{
    free(p->value);
    *p = (struct powers){0};
}

int powers_add(struct powers *p, double value, bool decibels)
{
    if (decibels ? !(value >= -300 && value <= 300) : !(value >= 0 && value <= 1e300))
        return HELIO_EINVAL;
    if (p->len == POWERS_MAX)
        return HELIO_EINVAL;
    if (p->len == p->cap) {
        size_t cap = p->cap == 0 ? 1024 : p->cap * 2;
        double *more = realloc(p->value, cap * sizeof *more);
        if (more == NULL)
            return HELIO_ENOMEM;
        p->value = more;
        p->cap = cap;
    }
    p->value[p->len++] = decibels ? math_exp(value * LN10_10TH) : value;
    return 0;
}

double powers_mean(const struct powers *p)
{
    double sum = 0;
    for (size_t i = 0; i < p->len; i++)
        sum += p->value[i] / (double)p->len;
    return sum;
}

/* The integral from u to v, which one pair of samples encloses; times are in halves of ns, the pair
 * begins at `start` and is `apart`. */
static double integrate_pair(const struct powers *p, size_t i, double start, double apart, double u,
                             double v)
{
    double low = p->value[i], high = p->value[(i + 1) % p->len];
    return (low + (high - low) * ((u + v) / 2 - start) / apart) * (v - u);
}

/* Sample i is at (2 i + 1) step; before the first one is the last one. */
static double mean_between(const struct powers *p, uint64_t step, uint64_t from, uint64_t to)
{
    double sum = 0;
    for (uint64_t u = from; u < to;) {
        uint64_t pair = (u + step) / (2 * step), end = (2 * pair + 1) * step; /* pair - 1 begins */
        uint64_t v = end < to ? end : to;
        double start = (double)end - 2 * (double)step;
        sum += integrate_pair(p, (size_t)((pair + p->len - 1) % p->len), start, 2 * (double)step,
                              (double)u, (double)v);
        u = v;
    }
    return sum / (double)(to - from);
}

int powers_resample(const struct powers *p, uint64_t step, uint64_t wanted, struct powers *out)
{
    *out = (struct powers){0};
    if (p->len == 0 || step > (UINT64_C(1) << 52) / 4 / p->len)
        return HELIO_EINVAL;
    uint64_t steps = p->len * step / wanted;
    if (steps == 0 || steps > POWERS_MAX)
        return HELIO_EINVAL;
    for (uint64_t k = 0; k < steps; k++) {
        int rc =
            powers_add(out, mean_between(p, step, 2 * k * wanted, 2 * (k + 1) * wanted), false);
        if (rc < 0) {
            powers_fini(out);
            return rc;
        }
    }
    return 0;
}

void powers_text_init(struct powers_text *t, struct powers *p, const char *column, bool decibels)
{
    *t = (struct powers_text){.powers = p, .column = column, .decibels = decibels};
}

static int fail_at(struct powers_text *t, const char *what)
{
    snprintf(t->error, sizeof t->error, "%s", what);
    return HELIO_EFORMAT;
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct slice trim_space(struct slice s)
{
    while (s.len > 0 && is_space(s.data[0]))
        s = slice_of(s.data + 1, s.len - 1);
    while (s.len > 0 && is_space(s.data[s.len - 1]))
        s.len--;
    return s;
}

/* What ends the fields of a file that begins with this line; a blank stands for any white space. */
static uint8_t separator_of(struct slice line)
{
    if (memchr(line.data, ';', line.len) != NULL)
        return ';';
    return memchr(line.data, ',', line.len) != NULL ? ',' : ' ';
}

/* Takes the next field off the line. False when the line is used up. */
static bool take_field(struct slice *line, uint8_t separator, struct slice *out)
{
    if (line->data == NULL)
        return false;
    *line = trim_space(*line);
    size_t n = 0;
    while (n < line->len &&
           (separator == ' ' ? !is_space(line->data[n]) : line->data[n] != separator))
        n++;
    *out = trim_space(slice_of(line->data, n));
    *line = n < line->len ? slice_of(line->data + n + 1, line->len - n - 1) : slice_of(NULL, 0);
    return true;
}

static double power_of_ten(int n)
{
    double v = 1;
    for (; n > 0; n--)
        v *= 10;
    return v;
}

/* The exponent behind an e; at most 3 digits. */
static bool parse_exponent(const uint8_t *p, size_t len, int *out)
{
    bool minus = len > 0 && *p == '-';
    size_t i = len > 0 && (*p == '-' || *p == '+');
    int v = 0;
    if (i == len || len - i > 3)
        return false;
    for (; i < len; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
        v = v * 10 + (p[i] - '0');
    }
    *out += minus ? -v : v;
    return true;
}

static bool parse_number(struct slice s, double *out)
{
    uint64_t mantissa = 0;
    int scale = 0, digits = 0;
    bool minus = s.len > 0 && s.data[0] == '-', point = false;
    size_t i = s.len > 0 && (s.data[0] == '-' || s.data[0] == '+');
    for (; i < s.len && s.data[i] != 'e' && s.data[i] != 'E'; i++) {
        if (s.data[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (s.data[i] < '0' || s.data[i] > '9' || ++digits > 400)
            return false;
        bool fits = mantissa < UINT64_C(100000000000000000);
        if (fits)
            mantissa = mantissa * 10 + (uint64_t)(s.data[i] - '0');
        scale += (fits ? 0 : 1) - (point ? 1 : 0);
    }
    if (digits == 0 || (i < s.len && !parse_exponent(s.data + i + 1, s.len - i - 1, &scale)))
        return false;
    double v = (double)mantissa;
    if (scale < -340)
        v = 0;
    else if (scale < 0)
        v = scale < -300 ? v / 1e300 / power_of_ten(-scale - 300) : v / power_of_ten(-scale);
    else
        v = mantissa == 0 ? 0 : v * power_of_ten(scale > 330 ? 330 : scale);
    *out = minus ? -v : v;
    return true;
}

static bool same_word(struct slice s, const char *text)
{
    return slice_equal(s, slice_of(text, strlen(text)));
}

/* A column given by its number, from 1. */
static bool parse_place(const char *column, size_t *place)
{
    double v;
    if (!parse_number(slice_of(column, strlen(column)), &v) || v < 1 || v > 10000 ||
        v - (double)(size_t)v > 0)
        return false;
    *place = (size_t)v - 1;
    return true;
}

/* Chooses the column by the first line; 1 when it is a title. */
static int begin_rows(struct powers_text *t, struct slice line)
{
    struct slice f, rest = line;
    size_t n = 0, found = SIZE_MAX;
    double v;
    bool numbers = true;
    const char *want = t->column == NULL ? "power" : t->column;
    t->separator = separator_of(line);
    for (; take_field(&rest, t->separator, &f); n++) {
        numbers = numbers && parse_number(f, &v);
        if (same_word(f, want))
            found = n;
    }
    t->begun = true;
    t->columns = n;
    if (found != SIZE_MAX && !numbers)
        t->place = found;
    else if (t->column != NULL && !parse_place(t->column, &t->place))
        return fail_at(t,
                       "no column has that title; right is one of its titles, or a number from 1");
    else if (t->column == NULL && n > 1)
        return fail_at(t, "there are several columns; say which by --column NUMBER or TITLE");
    if (t->place >= n)
        return fail_at(t, "the line has fewer columns than the number given");
    return numbers ? 0 : 1;
}

int powers_text_line(struct powers_text *t, const char *text, size_t len)
{
    double v;
    struct slice f = slice_of(NULL, 0), line = trim_space(slice_of(text, len));
    t->line++;
    if (len > POWERS_LINE_MAX)
        return fail_at(t, "the line is longer than 4096 characters");
    if (line.len == 0 || line.data[0] == '#')
        return 0;
    if (!t->begun) {
        int rc = begin_rows(t, line);
        if (rc != 0)
            return rc < 0 ? rc : 0;
    }
    size_t n = 0;
    for (struct slice field; take_field(&line, t->separator, &field); n++) {
        if (n == t->place)
            f = field;
    }
    if (n != t->columns) {
        snprintf(t->error, sizeof t->error, "the line has %zu columns, the first one has %zu", n,
                 t->columns);
        return HELIO_EFORMAT;
    }
    if (!parse_number(f, &v))
        return fail_at(t, "the power is not a number such as 0.85 or 1.2e-3, with a point");
    int rc = powers_add(t->powers, v, t->decibels);
    if (rc == HELIO_EINVAL)
        return fail_at(t, t->decibels
                              ? "the power must be from -300 to 300 dB, in 2^28 lines at most"
                              : "the power must be from 0 to 1e300 (--unit dB for decibels), in "
                                "2^28 lines at most");
    return rc;
}

int powers_text_end(struct powers_text *t)
{
    return t->powers->len > 0 ? 0 : fail_at(t, "no power in the file");
}
