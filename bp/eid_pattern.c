/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of routes: an EID, optionally with a "*" for its service, its node and service, or all
 * but its allocator. What
 * can go wrong: a "*" elsewhere, or a rest that is no EID.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "bp/eid.h"

/* The text before the "*" with `end` in its place is an EID. */
static int parse_prefix(const char *text, size_t prefix, const char *end, struct eid *out)
{
    assert(end != NULL);
    char whole[EID_TEXT_MAX];
    if (prefix + strlen(end) >= sizeof whole)
        return HELIO_EFORMAT;
    snprintf(whole, sizeof whole, "%.*s%s", (int)prefix, text, end);
    return eid_parse(whole, out);
}

int eid_pattern_parse(const char *text, struct eid_pattern *out)
{
    struct eid_pattern p = {.eid = eid_none()};
    size_t len = strlen(text);
    int rc = 0;
    if (strcmp(text, "*") == 0) {
        p.any = true;
    } else if (strcmp(text, "ipn:*.*") == 0 || strcmp(text, "ipn:*.*.*") == 0) {
        p.any_node = p.any_service = true;
        p.eid = eid_ipn(0, 1, 0);
    } else if (strcmp(text, "imc:*.*") == 0) {
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

bool eid_pattern_equal(const struct eid_pattern *p, const struct eid_pattern *q)
{
    return p->any == q->any && p->any_node == q->any_node && p->any_service == q->any_service &&
           p->allocator == q->allocator && eid_equal(&p->eid, &q->eid);
}

size_t eid_pattern_text(const struct eid_pattern *p, char out[EID_TEXT_MAX])
{
    bool imc = p->eid.scheme == EID_OTHER;
    if (p->any || (p->any_node && !p->allocator))
        return (size_t)snprintf(out, EID_TEXT_MAX, "%s",
                                p->any ? "*"
                                : imc  ? "imc:*.*"
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

int eid_pattern_rank(const struct eid_pattern *p)
{
    if (p->any)
        return 0;
    if (p->any_node)
        return p->allocator ? 2 : 1;
    int length = p->eid.scheme == EID_DTN ? (int)strlen(p->eid.ssp) : 0;
    return p->any_service ? 3 + length : 1000;
}
