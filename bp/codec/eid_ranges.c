/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of numbers of ipn patterns: sorted intervals that neither overlap nor touch, so that a set
 * has one form. What can go wrong: the text: a bracket, a number that is too large, an interval
 * that ends before it begins, too many intervals.
 */
#include "bp/codec/eid_ranges.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "bp/codec/check.h"

/* RFC 9758 §3.1: allocators and nodes have 32 bits, services 64. */
static uint64_t most_of(size_t part)
{
    assert(part < EID_PARTS);
    return part == PART_SERVICE ? UINT64_MAX : UINT32_MAX;
}

struct eid_ranges ranges_one(uint64_t number)
{
    return (struct eid_ranges){.at = {{number, number}}, .len = 1};
}

struct eid_ranges ranges_all(size_t part)
{
    return (struct eid_ranges){.at = {{0, most_of(part)}}, .len = 1};
}

/* ---- reading ---- */

static bool fail_with(const char **why, const char *text)
{
    *why = text;
    return false;
}

/* Beside or in the one before: one interval. */
static bool touches(const struct eid_range *low, const struct eid_range *next)
{
    assert(low->lo <= next->lo);
    return low->hi == UINT64_MAX || next->lo <= low->hi + 1;
}

/* Inserts it in order; adjacent and overlapping intervals are merged. */
static bool add_range(struct eid_ranges *r, struct eid_range x, const char **why)
{
    struct eid_range all[EID_RANGES_MAX + 1];
    size_t n = r->len, i = n, kept = 0;
    assert(n <= EID_RANGES_MAX && x.lo <= x.hi);
    memcpy(all, r->at, n * sizeof all[0]);
    for (; i > 0 && all[i - 1].lo > x.lo; i--)
        all[i] = all[i - 1];
    all[i] = x;
    n++;
    for (i = 1; i < n; i++) {
        if (!touches(&all[kept], &all[i]))
            all[++kept] = all[i];
        else if (all[i].hi > all[kept].hi)
            all[kept].hi = all[i].hi;
    }
    if (++kept > EID_RANGES_MAX)
        return fail_with(why, "has too many ranges; write at most 10 in one pair of brackets, or "
                              "several patterns");
    memcpy(r->at, all, kept * sizeof all[0]);
    r->len = (uint8_t)kept;
    return true;
}

static bool read_number(const char **p, size_t part, uint64_t *out, const char **why)
{
    if (**p < '0' || **p > '9')
        return fail_with(why, "needs a number, \"*\" or ranges such as [1-5,7,9+] in each of its "
                              "parts, without spaces");
    if (eid_read_number(p, most_of(part), out))
        return true;
    return fail_with(why, "has a number that is too large or begins with 0; allocators and nodes "
                          "go to 4294967295");
}

/* An end of an interval, which may lie beyond what the part has. */
static bool read_end(const char **p, uint64_t *out, unsigned *beyond, const char **why)
{
    const char *at = *p;
    if (*at >= '1' && *at <= '9' && !eid_read_number(p, UINT64_MAX, out)) {
        *p += strspn(at, "0123456789");
        *out = UINT64_MAX;
        *beyond += 1;
        return true;
    }
    return *p != at || read_number(p, PART_SERVICE, out, why);
}

/* "1-5", "5-1", "7", "9+"; what is beyond the part is cut off. */
static bool read_range(const char **p, size_t part, struct eid_range *out, const char **why)
{
    const uint64_t most = most_of(part);
    unsigned beyond = 0; /* of its ends, those that 64 bits do not have */
    uint64_t a, b;
    if (!read_end(p, &a, &beyond, why))
        return false;
    b = a;
    if (**p == '+') {
        ++*p;
        b = UINT64_MAX;
        beyond *= 2;
    } else if (**p == '-') {
        ++*p;
        if (!read_end(p, &b, &beyond, why))
            return false;
    } else {
        beyond *= 2;
    }
    *out = (struct eid_range){.lo = a < b ? a : b, .hi = a < b ? b : a};
    out->hi = out->hi < most ? out->hi : most;
    if (out->lo > most || beyond == 2)
        return fail_with(why, "has a range that is too large; allocators and nodes go to "
                              "4294967295");
    return true;
}

static bool read_list(const char **p, size_t part, struct eid_ranges *out, const char **why)
{
    struct eid_range x;
    assert(**p == '[');
    do {
        ++*p; /* the bracket, or a comma */
        if (!read_range(p, part, &x, why) || !add_range(out, x, why))
            return false;
    } while (**p == ',');
    if (**p != ']')
        return fail_with(why, "has a \"[\" without its \"]\"; write ranges as in [1-5,7,9+]");
    ++*p;
    return true;
}

static bool read_part(const char **p, size_t part, struct eid_ranges *out, const char **why)
{
    uint64_t number;
    *out = (struct eid_ranges){.len = 0};
    if (**p == '[')
        return read_list(p, part, out, why);
    if (**p == '*') {
        ++*p;
        *out = ranges_all(part);
        return true;
    }
    if (!read_number(p, part, &number, why))
        return false;
    *out = ranges_one(number);
    return true;
}

static size_t count_dots(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += *text == '.';
    return n;
}

int ranges_parse(const char *text, struct eid_ranges out[EID_PARTS], const char **why)
{
    const size_t dots = count_dots(text);
    const size_t first = dots == 2 ? PART_ALLOCATOR : PART_NODE;
    *why = "needs two parts or three; write one such as ipn:[1-5].* or ipn:977000.[1-5].*";
    if (dots < 1 || dots > 2)
        return HELIO_EFORMAT;
    for (size_t part = first; part < EID_PARTS; part++) {
        if (!read_part(&text, part, &out[part], why))
            return HELIO_EFORMAT;
        if (*text != (part == PART_SERVICE ? '\0' : '.')) {
            *why = "has something behind a number, \"*\" or \"]\" that does not belong there";
            return HELIO_EFORMAT;
        }
        text += part != PART_SERVICE;
    }
    /* ipn:*.7 is of all nodes, whatever their allocator, as ipn:*.* is. */
    const struct eid_ranges all = ranges_all(PART_NODE);
    if (first == PART_NODE)
        out[PART_ALLOCATOR] =
            eid_ranges_equal(&out[PART_NODE], &all) ? ranges_all(PART_ALLOCATOR) : ranges_one(0);
    return 0;
}

/* ---- writing ---- */

static size_t write_range(char *out, size_t cap, const struct eid_range *x, uint64_t most)
{
    const unsigned long long lo = x->lo, hi = x->hi;
    int n = x->lo == x->hi  ? snprintf(out, cap, "%llu", lo)
            : x->hi == most ? snprintf(out, cap, "%llu+", lo)
                            : snprintf(out, cap, "%llu-%llu", lo, hi);
    assert(n > 0 && (size_t)n < cap);
    return (size_t)n;
}

static size_t write_part(char *out, size_t cap, const struct eid_ranges *r, size_t part)
{
    const uint64_t most = most_of(part);
    size_t len = 0;
    assert(r->len > 0 && cap > 2);
    if (r->at[0].lo == 0 && r->at[0].hi == most) {
        memcpy(out, "*", 2);
        return 1;
    }
    if (r->len == 1 && r->at[0].lo == r->at[0].hi)
        return write_range(out, cap, &r->at[0], most);
    for (size_t i = 0; i < r->len; i++) {
        out[len++] = i == 0 ? '[' : ',';
        len += write_range(out + len, cap - len, &r->at[i], most);
    }
    assert(len + 1 < cap);
    out[len++] = ']';
    out[len] = '\0';
    return len;
}

size_t ranges_text(const struct eid_ranges part[EID_PARTS], char out[EID_TEXT_MAX])
{
    const struct eid_ranges zero = ranges_one(0), any = ranges_all(PART_ALLOCATOR),
                            every = ranges_all(PART_NODE);
    const bool all_nodes = eid_ranges_equal(&part[PART_NODE], &every);
    const struct eid_ranges *usual = all_nodes ? &any : &zero;
    size_t len = 4, i = eid_ranges_equal(&part[PART_ALLOCATOR], usual) ? PART_NODE : PART_ALLOCATOR;
    memcpy(out, "ipn:", 5);
    for (; i < EID_PARTS; i++) {
        len += write_part(out + len, EID_TEXT_MAX - len, &part[i], i);
        if (i < PART_SERVICE)
            out[len++] = '.';
    }
    assert(len < EID_TEXT_MAX && out[len] == '\0');
    return len;
}

/* ---- asking ---- */

bool eid_ranges_have(const struct eid_ranges *r, uint64_t number)
{
    assert(r->len > 0 && r->len <= EID_RANGES_MAX);
    for (size_t i = 0; i < r->len; i++)
        if (number >= r->at[i].lo && number <= r->at[i].hi)
            return true;
    return false;
}

bool eid_ranges_meet(const struct eid_ranges *a, const struct eid_ranges *b)
{
    for (size_t i = 0; i < a->len; i++)
        for (size_t k = 0; k < b->len; k++)
            if (a->at[i].lo <= b->at[k].hi && b->at[k].lo <= a->at[i].hi)
                return true;
    return false;
}

bool eid_ranges_equal(const struct eid_ranges *a, const struct eid_ranges *b)
{
    bool same = a->len == b->len;
    for (size_t i = 0; same && i < a->len; i++)
        same = a->at[i].lo == b->at[i].lo && a->at[i].hi == b->at[i].hi;
    return same;
}

int eid_ranges_bits(const struct eid_ranges *r)
{
    uint64_t more = 0; /* numbers in it, less one */
    int bits = 0;
    assert(r->len > 0);
    for (size_t i = 0; i < r->len; i++) /* they do not overlap: the sum is below 2^64 */
        more += r->at[i].hi - r->at[i].lo + (i > 0);
    for (; more > 0; more >>= 1)
        bits++;
    return bits;
}
