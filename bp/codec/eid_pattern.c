/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of routes: an EID, optionally with a "*" for its service, its node and service, or all
 * but its allocator; or, of ipn, sets of numbers (eid_ranges.c). What has one of the simple forms
 * is kept in it, however it was written. What can go wrong: a "*" elsewhere, or a rest that is no
 * EID.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "bp/codec/eid_ranges.h"

/* Is the text before the "*", followed by `end`, a valid EID? */
static int parse_prefix(const char *text, size_t prefix, const char *end, struct eid *out)
{
    assert(end != NULL);
    char whole[EID_TEXT_MAX];
    if (prefix + strlen(end) >= sizeof whole)
        return HELIO_EFORMAT;
    snprintf(whole, sizeof whole, "%.*s%s", (int)prefix, text, end);
    return eid_parse(whole, out);
}

static int parse_simple(const char *text, struct eid_pattern *out)
{
    struct eid_pattern p = {.eid = eid_none()};
    size_t len = strlen(text);
    int rc = 0;
    if (strcmp(text, "*") == 0 || strcmp(text, "*:**") == 0) {
        p.any = true;
    } else if (strcmp(text, "dtn:**") == 0 || strcmp(text, "1:**") == 0) {
        p.any_node = p.any_service = true;
    } else if (strcmp(text, "ipn:*.*") == 0 || strcmp(text, "ipn:*.*.*") == 0 ||
               strcmp(text, "ipn:**") == 0 || strcmp(text, "2:**") == 0) {
        p.any_node = p.any_service = true;
        p.eid = eid_ipn(0, 1, 0);
    } else if (strcmp(text, "imc:*.*") == 0 || strcmp(text, "imc:**") == 0) {
        p.any_node = p.any_service = true;
        p.eid = eid_imc_of(0, 0);
    } else if (len > 8 && strncmp(text, "ipn:", 4) == 0 && strcmp(text + len - 4, ".*.*") == 0) {
        p.any_node = p.any_service = p.allocator = true;
        rc = parse_prefix(text, len - 3, "1.0", &p.eid);
    } else if (len > 6 && (strncmp(text, "ipn:", 4) == 0 || strncmp(text, "imc:", 4) == 0) &&
               strcmp(text + len - 2, ".*") == 0) {
        p.any_service = true;
        rc = parse_prefix(text, len - 1, "0", &p.eid);
    } else if (len > 7 && strncmp(text, "dtn:", 4) == 0 && strcmp(text + len - 2, "/*") == 0) {
        p.any_service = true;
        rc = parse_prefix(text, len - 1, "", &p.eid);
    } else {
        rc = eid_parse(text, &p.eid);
    }
    if (rc == 0 && p.eid.scheme == EID_DTN && strchr(p.eid.ssp, '*') != NULL)
        rc = HELIO_EFORMAT;
    if (rc == 0)
        *out = p;
    assert(rc == 0 || rc == HELIO_EFORMAT);
    return rc;
}

static int parse_ranges(const char *text, struct eid_pattern *out, const char **why)
{
    char shortest[EID_TEXT_MAX];
    struct eid_pattern p = {.eid = eid_ipn(0, 1, 0), .ranges = true};
    if (strlen(text) >= sizeof shortest) {
        *why = "is too long; write several patterns";
        return HELIO_EFORMAT;
    }
    int rc = ranges_parse(text + strlen("ipn:"), p.part, why);
    if (rc < 0)
        return rc;
    (void)ranges_text(p.part, shortest);
    if (parse_simple(shortest, out) == 0)
        return 0; /* "[5]" is 5 */
    *out = p;
    return 0;
}

int eid_pattern_read(const char *text, struct eid_pattern *out, const char **why)
{
    int rc = parse_simple(text, out);
    *why = "is not a pattern; write one such as ipn:2.*, ipn:[1-5,7].*, ipn:2.1, dtn://name/* or *";
    if (rc == 0 || strncmp(text, "ipn:", 4) != 0)
        return rc;
    return parse_ranges(text, out, why);
}

int eid_pattern_parse(const char *text, struct eid_pattern *out)
{
    const char *why;
    return eid_pattern_read(text, out, &why);
}

static bool match_ranges(const struct eid_pattern *p, const struct eid *e)
{
    assert(p->ranges);
    return e->scheme == EID_IPN && !eid_is_none(e) &&
           eid_ranges_have(&p->part[PART_NODE], e->node) &&
           eid_ranges_have(&p->part[PART_SERVICE], e->service) &&
           eid_ranges_have(&p->part[PART_ALLOCATOR], e->allocator);
}

/* Of any ipn pattern. */
static void get_parts(const struct eid_pattern *p, struct eid_ranges part[EID_PARTS])
{
    assert(p->eid.scheme == EID_IPN && !p->any);
    if (p->ranges) {
        memcpy(part, p->part, EID_PARTS * sizeof part[0]);
        return;
    }
    const bool everywhere = p->any_node && !p->allocator;
    part[PART_ALLOCATOR] = everywhere ? ranges_all(PART_ALLOCATOR) : ranges_one(p->eid.allocator);
    part[PART_NODE] = p->any_node ? ranges_all(PART_NODE) : ranges_one(p->eid.node);
    part[PART_SERVICE] = p->any_service ? ranges_all(PART_SERVICE) : ranges_one(p->eid.service);
}

static bool meet_ranges(const struct eid_pattern *p, const struct eid_pattern *q)
{
    struct eid_ranges a[EID_PARTS], b[EID_PARTS];
    get_parts(p, a);
    get_parts(q, b);
    bool meet = true;
    for (size_t i = 0; i < EID_PARTS && meet; i++)
        meet = eid_ranges_meet(&a[i], &b[i]);
    return meet;
}

static bool match_imc(const struct eid_pattern *p, const struct eid *e)
{
    uint64_t want, group, service;
    return eid_imc(&p->eid, &want, &service) && eid_imc(e, &group, &service) &&
           (p->any_node || want == group);
}

bool eid_pattern_match(const struct eid_pattern *p, const struct eid *e)
{
    if (p->any)
        return true;
    if (p->ranges)
        return match_ranges(p, e);
    if (!p->any_service)
        return eid_equal(&p->eid, e);
    if (eid_is_none(e) || e->scheme != p->eid.scheme)
        return false;
    if (e->scheme == EID_OTHER)
        return match_imc(p, e);
    if (p->any_node)
        return !p->allocator || e->allocator == p->eid.allocator;
    if (e->scheme == EID_IPN)
        return eid_same_node(&p->eid, e);
    return strncmp(p->eid.ssp, e->ssp, strlen(p->eid.ssp)) == 0;
}

bool eid_pattern_meet(const struct eid_pattern *p, const struct eid_pattern *q)
{
    if (p->any || q->any)
        return true;
    if (p->eid.scheme != q->eid.scheme)
        return false;
    if (p->ranges || q->ranges)
        return meet_ranges(p, q);
    if ((p->any_node && !p->allocator) || (q->any_node && !q->allocator))
        return true;
    if (p->any_node || q->any_node)
        return p->eid.allocator == q->eid.allocator;
    if (p->eid.scheme == EID_DTN) {
        size_t a = strlen(p->eid.ssp), b = strlen(q->eid.ssp);
        return strncmp(p->eid.ssp, q->eid.ssp, a < b ? a : b) == 0;
    }
    return eid_same_node(&p->eid, &q->eid);
}

bool eid_pattern_has_node(const struct eid_pattern *p)
{
    if (p->any)
        return true;
    if (p->ranges)
        return eid_ranges_have(&p->part[PART_SERVICE], 0);
    if (p->eid.scheme == EID_OTHER)
        return false;
    return p->any_service || eid_is_node(&p->eid);
}

bool eid_pattern_equal(const struct eid_pattern *p, const struct eid_pattern *q)
{
    bool equal = p->any == q->any && p->any_node == q->any_node &&
                 p->any_service == q->any_service && p->allocator == q->allocator &&
                 p->ranges == q->ranges && eid_equal(&p->eid, &q->eid);
    for (size_t i = 0; equal && p->ranges && i < EID_PARTS; i++)
        equal = eid_ranges_equal(&p->part[i], &q->part[i]);
    return equal;
}

size_t eid_pattern_text(const struct eid_pattern *p, char out[EID_TEXT_MAX])
{
    bool imc = p->eid.scheme == EID_OTHER;
    if (p->ranges)
        return ranges_text(p->part, out);
    if (p->any || (p->any_node && !p->allocator))
        return (size_t)snprintf(out, EID_TEXT_MAX, "%s",
                                p->any                     ? "*"
                                : imc                      ? "imc:*.*"
                                : p->eid.scheme == EID_DTN ? "dtn:**"
                                                           : "ipn:*.*");
    if (p->any_node)
        return (size_t)snprintf(out, EID_TEXT_MAX, "ipn:%u.*.*", (unsigned)p->eid.allocator);
    size_t len = eid_text(&p->eid, out);
    if (p->any_service && p->eid.scheme == EID_DTN)
        len += (size_t)snprintf(out + len, EID_TEXT_MAX - len, "*");
    else if (p->any_service) /* the service number, 0 */
        snprintf(out + len - 1, EID_TEXT_MAX - len + 1, "*");
    assert(len > 0 && len < EID_TEXT_MAX);
    return len;
}

/* By how many nodes it names, then by how many services of each. */
static int rank_ranges(const struct eid_pattern *p)
{
    struct eid_ranges part[EID_PARTS];
    get_parts(p, part);
    const int nodes = eid_ranges_bits(&part[PART_ALLOCATOR]) + eid_ranges_bits(&part[PART_NODE]);
    const int services = eid_ranges_bits(&part[PART_SERVICE]);
    assert(nodes >= 0 && nodes <= 64 && services >= 0 && services <= 64);
    return 1 + (64 - nodes) * 65 + (64 - services);
}

#define RANK_EXACT (1 + 64 * 65 + 64)

int eid_pattern_rank(const struct eid_pattern *p)
{
    if (p->any)
        return 0;
    if (p->eid.scheme == EID_IPN)
        return rank_ranges(p);
    if (p->any_node)
        return 1;
    int length = p->eid.scheme == EID_DTN ? (int)strlen(p->eid.ssp) : 0;
    return p->any_service ? 3 + length : RANK_EXACT;
}
