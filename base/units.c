/* SPDX-License-Identifier: Apache-2.0 */
/* A decimal number is read into a mantissa of at most 18 digits and scaled by the unit in 128 bits,
 * so that no rounding differs between machines. A refused unit may have a right name. What can go
 * wrong: no digits, an unknown unit, overflow. */
#include "base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

const char units_duration_hint[] = "a duration with its unit, such as 30ms, 500us, 2s, 1h";
const char units_rate_hint[] = "a rate with its unit, such as 500Mbit/s, 2.5Gbit/s, or unlimited";
const char units_size_hint[] = "a size with its unit, such as 1024B, 500kB, 20GiB";

struct unit {
    const char *name;
    uint64_t scale;
};

static const char *read_number(const char *p, uint64_t *mantissa, uint64_t *divisor)
{
    int digits = 0;
    bool point = false, any = false;
    *mantissa = 0;
    *divisor = 1;
    for (;; p++) {
        if (*p == '.' && !point && any) {
            point = true;
            continue;
        }
        if (*p < '0' || *p > '9')
            return any && p[-1] != '.' ? p : NULL;
        any = true;
        if (digits == 18)
            return NULL;
        *mantissa = *mantissa * 10 + (uint64_t)(*p - '0');
        digits += *mantissa != 0;
        if (point && *divisor > UINT64_C(100000000000000000))
            return NULL;
        if (point)
            *divisor *= 10;
    }
}

static int parse_quantity(const char *text, const struct unit *units, uint64_t *out)
{
    uint64_t mantissa, divisor;
    const char *unit = read_number(text, &mantissa, &divisor);
    if (unit == NULL)
        return HELIO_EFORMAT;
    if (*unit == '\0' && mantissa == 0) {
        *out = 0;
        return 0;
    }
    for (; units->name != NULL; units++) {
        if (strcmp(unit, units->name) != 0)
            continue;
        __extension__ unsigned __int128 v = (unsigned __int128)mantissa * units->scale / divisor;
        if (v >= UINT64_MAX)
            return HELIO_EFORMAT;
        *out = (uint64_t)v;
        return 0;
    }
    return HELIO_EFORMAT;
}

int units_duration(const char *text, tick *out)
{
    static const struct unit units[] = {{"ns", 1},
                                        {"us", TICK_US},
                                        {"ms", TICK_MS},
                                        {"s", TICK_S},
                                        {"min", 60 * TICK_S},
                                        {"h", 3600 * TICK_S},
                                        {"d", 86400 * TICK_S},
                                        {NULL, 0}};
    return parse_quantity(text, units, out);
}

int units_rate(const char *text, uint64_t *out_bps)
{
    static const struct unit units[] = {{"bit/s", 1},
                                        {"bps", 1},
                                        {"kbit/s", 1000},
                                        {"kbps", 1000},
                                        {"Mbit/s", 1000000},
                                        {"Mbps", 1000000},
                                        {"Gbit/s", 1000000000},
                                        {"Gbps", 1000000000},
                                        {"B/s", 8},
                                        {"kB/s", 8000},
                                        {"MB/s", 8000000},
                                        {"GB/s", 8000000000},
                                        {NULL, 0}};
    if (strcmp(text, "unlimited") == 0) {
        *out_bps = 0;
        return 0;
    }
    uint64_t rate = 0;
    int rc = parse_quantity(text, units, &rate);
    if (rc == 0 && rate == 0)
        return HELIO_EFORMAT; /* to us it would mean the opposite */
    if (rc == 0)
        *out_bps = rate;
    return rc;
}

int units_size(const char *text, uint64_t *out_bytes)
{
    static const struct unit units[] = {{"", 1},
                                        {"B", 1},
                                        {"kB", 1000},
                                        {"MB", 1000000},
                                        {"GB", 1000000000},
                                        {"TB", UINT64_C(1000000000000)},
                                        {"KiB", UINT64_C(1) << 10},
                                        {"MiB", UINT64_C(1) << 20},
                                        {"GiB", UINT64_C(1) << 30},
                                        {"TiB", UINT64_C(1) << 40},
                                        {NULL, 0}};
    return parse_quantity(text, units, out_bytes);
}

int units_count(const char *text, uint64_t max, uint64_t *out)
{
    uint64_t v = 0;
    if (*text == '\0')
        return HELIO_EFORMAT;
    for (; *text != '\0'; text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (*text < '0' || *text > '9' || v > (UINT64_MAX - digit) / 10)
            return HELIO_EFORMAT;
        v = v * 10 + digit;
    }
    if (v > max)
        return HELIO_EFORMAT;
    *out = v;
    return 0;
}

static char lower_letter(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Without case, and without the s of a plural. */
static bool same_unit(const char *a, size_t len, const char *b)
{
    size_t n = 0;
    while (n < len && b[n] != '\0' && lower_letter(a[n]) == lower_letter(b[n]))
        n++;
    const bool plural = len > 2 && n == len - 1 && lower_letter(a[n]) == 's';
    return b[n] == '\0' && (n == len || plural);
}

struct alias {
    const char *typed, *unit;
};

static const char *find_alias(enum units_kind kind, const char *typed)
{
    static const struct alias durations[] = {
        {"nsec", "ns"},      {"nanosecond", "ns"},  {"usec", "us"}, {"microsecond", "us"},
        {"msec", "ms"},      {"millisecond", "ms"}, {"ms", "ms"},   {"s", "s"},
        {"sec", "s"},        {"second", "s"},       {"min", "min"}, {"minute", "min"},
        {"h", "h"},          {"hr", "h"},           {"hour", "h"},  {"d", "d"},
        {"day", "d"},        {"us", "us"},          {"ns", "ns"},   {"\xc2\xb5s", "us"},
        {"\xce\xbcs", "us"}, /* both signs of micro */
        {NULL, NULL}};
    static const struct alias rates[] = {
        {"b", "bit/s"},        {"bit", "bit/s"},       {"bps", "bit/s"},
        {"bit/s", "bit/s"},    {"bit/sec", "bit/s"},   {"k", "kbit/s"},
        {"kb", "kbit/s"},      {"kbit", "kbit/s"},     {"kbps", "kbit/s"},
        {"kbit/s", "kbit/s"},  {"kbit/sec", "kbit/s"}, {"M", "Mbit/s"},
        {"Mb", "Mbit/s"},      {"Mbit", "Mbit/s"},     {"Mbps", "Mbit/s"},
        {"Mbit/s", "Mbit/s"},  {"Mbit/sec", "Mbit/s"}, {"G", "Gbit/s"},
        {"Gb", "Gbit/s"},      {"Gbit", "Gbit/s"},     {"Gbps", "Gbit/s"},
        {"Gbit/s", "Gbit/s"},  {"Gbit/sec", "Gbit/s"}, {"kbits/s", "kbit/s"},
        {"Mbits/s", "Mbit/s"}, {"Gbits/s", "Gbit/s"},  {"bits/s", "bit/s"},
        {NULL, NULL}};
    static const struct alias sizes[] = {
        {"b", "B"},     {"byte", "B"},      {"octet", "B"},     {"k", "kB"},        {"kb", "kB"},
        {"M", "MB"},    {"mb", "MB"},       {"G", "GB"},        {"gb", "GB"},       {"T", "TB"},
        {"tb", "TB"},   {"kbyte", "kB"},    {"mbyte", "MB"},    {"gbyte", "GB"},    {"kib", "KiB"},
        {"mib", "MiB"}, {"gib", "GiB"},     {"tib", "TiB"},     {"Ki", "KiB"},      {"Mi", "MiB"},
        {"Gi", "GiB"},  {"kilobyte", "kB"}, {"megabyte", "MB"}, {"gigabyte", "GB"}, {NULL, NULL}};
    const struct alias *a = kind == UNITS_DURATION ? durations : kind == UNITS_RATE ? rates : sizes;
    const size_t len = strlen(typed);
    while (a->typed != NULL && !same_unit(typed, len, a->typed))
        a++;
    return a->unit;
}

static int parse_kind(enum units_kind kind, const char *text, uint64_t *out)
{
    return kind == UNITS_DURATION ? units_duration(text, out)
           : kind == UNITS_RATE   ? units_rate(text, out)
                                  : units_size(text, out);
}

bool units_mend(enum units_kind kind, const char *text, char out[UNITS_MEND_CAP])
{
    uint64_t mantissa, divisor, value;
    const char *unit = read_number(text, &mantissa, &divisor);
    if (unit == NULL || *unit == '\0' || strlen(text) >= UNITS_MEND_CAP - sizeof "Mbit/s" ||
        parse_kind(kind, text, &value) == 0) /* out of an option's range: not misspelt */
        return false;
    const char *typed = unit + strspn(unit, " "), *right = find_alias(kind, typed);
    snprintf(out, UNITS_MEND_CAP, "%.*s%s", (int)(unit - text), text, typed);
    if (parse_kind(kind, out, &value) == 0)
        return true;
    const size_t prefix = strcspn(typed, "B"); /* MB, MBps: bytes, not bits */
    if (kind == UNITS_RATE && typed[prefix] == 'B' && typed[prefix + 1] != 'i')
        snprintf(out, UNITS_MEND_CAP, "%.*s%.*sB/s", (int)(unit - text), text, (int)prefix, typed);
    else if (right != NULL)
        snprintf(out, UNITS_MEND_CAP, "%.*s%s", (int)(unit - text), text, right);
    return right != NULL && parse_kind(kind, out, &value) == 0;
}
