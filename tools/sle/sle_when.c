/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: a text that is no time. */
#include "tools/sle/sle_when.h"

#include <string.h>
#include <time.h>

#include "base/units.h"

#define SPAN_MAX (TICK_S * 86400 * 36500)

bool user_time_parse(const char *text, uint64_t *out)
{
    struct tm tm = {0};
    const char *p = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    uint64_t fraction = 0, unit = TICK_S / 10;
    if (p == NULL)
        return false;
    if (*p == '.')
        for (p++; *p >= '0' && *p <= '9'; p++, unit /= 10)
            fraction += (uint64_t)(*p - '0') * unit;
    time_t s = timegm(&tm);
    if (strcmp(p, "Z") != 0 || s < 0 || tm.tm_year > 2500 - 1900)
        return false;
    *out = (uint64_t)s * TICK_S + fraction;
    return true;
}

bool user_when_parse(const char *text, struct user_when *out)
{
    struct user_when w = {.given = true};
    const bool now = strncmp(text, "now", 3) == 0;
    const char *p = now ? text + 3 : text;
    tick span = 0;
    if (!now && *p != '+') {
        if (!user_time_parse(text, &w.ns))
            return false;
        *out = w;
        return true;
    }
    w.relative = true;
    w.past = *p == '-';
    if (*p == '+' || *p == '-') {
        if (units_duration(p + 1, &span) < 0 || span > SPAN_MAX)
            return false;
    } else if (*p != '\0') {
        return false;
    }
    w.ns = span;
    *out = w;
    return true;
}

struct sle_when user_when_at(const struct user_when *w, uint64_t unix_ns)
{
    uint64_t at = w->ns;
    if (!w->given)
        return (struct sle_when){0};
    if (w->relative)
        at = !w->past ? unix_ns + w->ns : w->ns < unix_ns ? unix_ns - w->ns : 0;
    return (struct sle_when){.known = true, .at = sle_time_of(at)};
}
