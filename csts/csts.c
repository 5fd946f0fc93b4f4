/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Object identifiers, and the texts of numbers. An identifier stays as its octets: base 128, the
 * highest first, of which the first number holds two arcs (40 × the first + the second).
 */
#include "csts/csts.h"

#include <assert.h>
#include <stdio.h>

/* One arc in base 128; false: no room. */
static bool put_arc(struct csts_oid *o, uint64_t arc)
{
    unsigned octets = 1;
    while (octets < 10 && arc >> 7 * octets != 0)
        octets++;
    if (o->len + octets > CSTS_OID_OCTETS)
        return false;
    for (unsigned i = octets; i-- > 0;)
        o->octets[o->len++] = (uint8_t)((arc >> 7 * i & 0x7f) | (i > 0 ? 0x80 : 0));
    return true;
}

/* A number of at most 10 digits without a leading zero; false: there is none. */
static bool take_arc(const char **text, uint64_t *arc)
{
    const char *p = *text;
    const size_t digits = strspn(p, "0123456789");
    if (digits == 0 || digits > 10 || (digits > 1 && *p == '0'))
        return false;
    *arc = 0;
    for (; p < *text + digits; p++)
        *arc = *arc * 10 + (uint64_t)(*p - '0');
    *text = p;
    return true;
}

bool csts_oid_append(struct csts_oid *oid, const char *arcs)
{
    struct csts_oid o = *oid;
    uint64_t arc;
    do {
        if (!take_arc(&arcs, &arc) || !put_arc(&o, arc))
            return false;
    } while (*arcs++ == '.');
    if (arcs[-1] != '\0')
        return false;
    *oid = o;
    return true;
}

bool csts_oid_parse(const char *text, struct csts_oid *out)
{
    struct csts_oid o = {0};
    uint64_t first, arc;
    if (!take_arc(&text, &first) || first > 2 || *text++ != '.' || !take_arc(&text, &arc) ||
        (first < 2 && arc > 39) || !put_arc(&o, first * 40 + arc) ||
        (*text == '.' ? !csts_oid_append(&o, text + 1) : *text != '\0'))
        return false;
    *out = o;
    return true;
}

/* The next arc at *at; false: it does not end, or has more than 63 bits. */
static bool read_arc(const struct csts_oid *o, size_t *at, uint64_t *arc)
{
    *arc = 0;
    while (*at < o->len) {
        const uint8_t octet = o->octets[(*at)++];
        if (*arc >> 56 != 0 || (*arc == 0 && octet == 0x80))
            return false;
        *arc = *arc << 7 | (octet & 0x7f);
        if ((octet & 0x80) == 0)
            return true;
    }
    return false;
}

bool csts_oid_text(const struct csts_oid *oid, char text[CSTS_OID_TEXT])
{
    size_t at = 0, used = 0;
    uint64_t arc;
    assert(oid->len <= CSTS_OID_OCTETS);
    text[0] = '\0';
    while (at < oid->len) {
        if (!read_arc(oid, &at, &arc)) {
            text[0] = '\0';
            return false;
        }
        const uint64_t first = arc < 80 ? arc / 40 : 2;
        int n = used == 0
                    ? snprintf(text, CSTS_OID_TEXT, "%llu.%llu", (unsigned long long)first,
                               (unsigned long long)(arc - 40 * first))
                    : snprintf(text + used, CSTS_OID_TEXT - used, ".%llu", (unsigned long long)arc);
        assert(n > 0);
        used += (size_t)n;
        if (used >= CSTS_OID_TEXT) {
            text[0] = '\0';
            return false;
        }
    }
    return oid->len > 0;
}

bool csts_oid_same(const struct csts_oid *a, const struct csts_oid *b)
{
    return a->len == b->len && memcmp(a->octets, b->octets, a->len) == 0;
}

struct csts_oid csts_known_oid(enum csts_known which)
{
#define TEXT(name, text) text,
    static const char *const texts[] = {CSTS_KNOWN_OIDS(TEXT)};
#undef TEXT
    struct csts_oid o = {0};
    assert(which < CSTS_KNOWN_COUNT);
    const bool parsed = csts_oid_parse(texts[which], &o);
    assert(parsed);
    (void)parsed;
    return o;
}

bool csts_oid_is(const struct csts_oid *oid, enum csts_known which)
{
    const struct csts_oid known = csts_known_oid(which);
    return csts_oid_same(oid, &known);
}

const char *csts_abort_text(unsigned diagnostic)
{
    SLE_TEXT_OF(CSTS_ABORTS, diagnostic,
                diagnostic >= 128 ? sle_abort_text(diagnostic) : "unknown reason");
}

bool csts_instance_same(const struct csts_instance_id *a, const struct csts_instance_id *b)
{
    return csts_oid_same(&a->spacecraft, &b->spacecraft) &&
           csts_oid_same(&a->facility, &b->facility) && csts_oid_same(&a->type, &b->type) &&
           a->number == b->number;
}
