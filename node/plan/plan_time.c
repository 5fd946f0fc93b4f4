/* SPDX-License-Identifier: Apache-2.0 */
/* Times as plans have them. Days are counted by the Gregorian calendar, without leap seconds. What
 * can go wrong: no date, a day that is none, more digits than nanoseconds have. */
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "node/plan/plan_draft.h"

#define DAY (86400 * TICK_S)
#define YEAR_FIRST 1970
#define YEAR_LAST 2553 /* the last whole one of 64 bits of nanoseconds */

static const char *read_digits(const char *p, int min, int max, unsigned *out)
{
    int n = 0;
    *out = 0;
    for (; n < max && *p >= '0' && *p <= '9'; p++, n++)
        *out = *out * 10 + (unsigned)(*p - '0');
    return n >= min ? p : NULL;
}

static bool is_leap(unsigned year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static unsigned days_of(unsigned year, unsigned month)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year) ? 1U : 0U);
}

static tick day_of(unsigned year, unsigned month, unsigned day)
{
    tick days = day - 1;
    for (unsigned m = 1; m < month; m++)
        days += days_of(year, m);
    for (unsigned y = YEAR_FIRST; y < year; y++)
        days += is_leap(y) ? 366 : 365;
    return days * DAY;
}

/* ".5" in nanoseconds. */
static const char *read_fraction(const char *p, tick *out)
{
    tick scale = TICK_S;
    *out = 0;
    if (*p != '.')
        return p;
    for (p++; *p >= '0' && *p <= '9' && scale > 1; p++) {
        scale /= 10;
        *out += (tick)(*p - '0') * scale;
    }
    return scale == TICK_S || (*p >= '0' && *p <= '9') ? NULL : p;
}

/* Digits up to the mark behind them. */
static const char *read_part(const char *p, int min, int max, const char *marks, unsigned *out)
{
    p = p == NULL ? NULL : read_digits(p, min, max, out);
    if (p == NULL || *p == '\0' || strchr(marks, *p) == NULL)
        return NULL;
    return p + 1;
}

int plan_date(const char *text, tick *out)
{
    unsigned year, month, day, hour, minute, second;
    tick fraction = 0;
    bool slashes = strchr(text, '/') != NULL;
    const char *p = read_part(text, 4, 4, slashes ? "/" : "-", &year);
    p = read_part(p, 1, 2, slashes ? "/" : "-", &month);
    p = read_part(p, 1, 2, slashes ? "-" : "T ", &day);
    p = read_part(p, 1, 2, ":", &hour);
    p = read_part(p, 1, 2, ":", &minute);
    p = p == NULL ? NULL : read_digits(p, 1, 2, &second);
    p = p == NULL ? NULL : read_fraction(p, &fraction);
    if (p == NULL || strcmp(p, slashes ? "" : "Z") != 0)
        return HELIO_EFORMAT;
    if (year < YEAR_FIRST || year > YEAR_LAST || month < 1 || month > 12 || day < 1 ||
        day > days_of(year, month) || hour > 23 || minute > 59 || second > 59)
        return HELIO_EFORMAT;
    *out =
        day_of(year, month, day) + ((tick)hour * 3600 + minute * 60 + second) * TICK_S + fraction;
    return 0;
}

int plan_seconds(const char *text, size_t len, tick *out)
{
    tick whole = 0, part = 0, scale = TICK_S;
    size_t i = 0;
    for (; i < len && text[i] >= '0' && text[i] <= '9'; i++) {
        if (whole > TICK_NEVER / TICK_S / 10 - 1)
            return HELIO_EFORMAT;
        whole = whole * 10 + (tick)(text[i] - '0');
    }
    if (i == 0)
        return HELIO_EFORMAT;
    if (i < len && text[i] == '.') {
        for (i++; i < len && text[i] >= '0' && text[i] <= '9' && scale > 1; i++) {
            scale /= 10;
            part += (tick)(text[i] - '0') * scale;
        }
        if (scale == TICK_S)
            return HELIO_EFORMAT;
    }
    if (i != len)
        return HELIO_EFORMAT;
    *out = whole * TICK_S + part;
    return 0;
}

/* The nanoseconds as decimals, without zeros at the end. */
static size_t write_fraction(char *out, size_t cap, tick ns)
{
    int n = ns == 0 ? 0 : snprintf(out, cap, ".%09" PRIu64, ns);
    while (n > 0 && out[n - 1] == '0')
        n--;
    out[n] = '\0';
    return (size_t)n;
}

const char *plan_seconds_text(tick t, char out[PLAN_TIME_CAP])
{
    int n = snprintf(out, PLAN_TIME_CAP, "%" PRIu64, t / TICK_S);
    write_fraction(out + n, PLAN_TIME_CAP - (size_t)n, t % TICK_S);
    return out;
}

const char *plan_date_text(tick t, bool slashes, char out[PLAN_TIME_CAP])
{
    unsigned year = YEAR_FIRST, month = 1;
    tick days = t / DAY, s = t % DAY / TICK_S;
    for (; days >= (is_leap(year) ? 366U : 365U); year++)
        days -= is_leap(year) ? 366 : 365;
    for (; days >= days_of(year, month); month++)
        days -= days_of(year, month);
    int n = snprintf(out, PLAN_TIME_CAP,
                     slashes ? "%04u/%02u/%02u-%02u:%02u:%02u" : "%04u-%02u-%02uT%02u:%02u:%02u",
                     year, month, (unsigned)days + 1, (unsigned)(s / 3600), (unsigned)(s / 60 % 60),
                     (unsigned)(s % 60));
    size_t end = (size_t)n + write_fraction(out + n, PLAN_TIME_CAP - (size_t)n, t % TICK_S);
    if (!slashes)
        snprintf(out + end, PLAN_TIME_CAP - end, "Z");
    return out;
}

const char *plan_time_text(tick t, tick start, char out[PLAN_TIME_CAP])
{
    if (t == TICK_NEVER)
        snprintf(out, PLAN_TIME_CAP, "never");
    else if (start > 0)
        plan_date_text(t, false, out);
    else {
        plan_seconds_text(t, out);
        size_t n = strlen(out);
        snprintf(out + n, PLAN_TIME_CAP - n, "s");
    }
    return out;
}
