/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of endpoint identifiers and their comparison. All spellings of the null endpoint (dtn:none,
 * ipn:0.0, RFC 9758 §3.4.1) are equal and hash alike. What can go wrong: text that is no EID.
 */
#include "bp/codec/eid.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "bp/codec/check.h"

struct eid eid_none(void)
{
    struct eid e = {.scheme = EID_DTN};
    memcpy(e.ssp, "none", 5);
    return e;
}

struct eid eid_ipn(uint64_t allocator, uint64_t node, uint64_t service)
{
    assert(allocator <= UINT32_MAX && node <= UINT32_MAX);
    return (struct eid){.scheme = EID_IPN,
                        .allocator = allocator,
                        .node = node,
                        .service = service,
                        .three = allocator != 0};
}

bool eid_is_none(const struct eid *e)
{
    if (e->scheme == EID_IPN)
        return e->allocator == 0 && e->node == 0;
    return e->scheme == EID_DTN && strcmp(e->ssp, "none") == 0;
}

bool eid_is_local(const struct eid *e)
{
    return e->scheme == EID_IPN && e->allocator == 0 && e->node == EID_LOCAL_NODE;
}

bool eid_read_number(const char **text, uint64_t max, uint64_t *out)
{
    const char *p = *text;
    uint64_t value = 0;
    if (*p < '0' || *p > '9' || (p[0] == '0' && p[1] >= '0' && p[1] <= '9'))
        return false;
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (value > (max - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *text = p;
    *out = value;
    return true;
}

static int parse_ipn(const char *p, struct eid *out)
{
    uint64_t part[3];
    size_t n = 0;
    const bool local = p[0] == '!' && p[1] == '.'; /* RFC 9758 §3.4.2: then the service alone */
    if (local) {
        part[n++] = EID_LOCAL_NODE;
        p += 2;
    }
    for (;; p++) {
        if (n == 3 || !eid_read_number(&p, UINT64_MAX, &part[n]))
            return HELIO_EFORMAT;
        n++;
        if (*p != '.')
            break;
    }
    if (*p != '\0' || n < 2 || (local && n != 2))
        return HELIO_EFORMAT;
    uint64_t allocator = n == 3 ? part[0] : 0;
    uint64_t node = part[n - 2], service = part[n - 1];
    if (allocator > UINT32_MAX || node > UINT32_MAX)
        return HELIO_EFORMAT;
    if (allocator == 0 && node == 0 && service != 0) /* RFC 9758 §3.4.1: not to be composed */
        return HELIO_EFORMAT;
    *out = eid_ipn(allocator, node, service);
    return 0;
}

static int parse_imc(const char *p, struct eid *out)
{
    uint64_t group, service;
    if (!eid_read_number(&p, UINT64_MAX, &group) || *p++ != '.' ||
        !eid_read_number(&p, UINT64_MAX, &service) || *p != '\0')
        return HELIO_EFORMAT;
    *out = eid_imc_of(group, service);
    assert(out->scheme != EID_DTN);
    return 0;
}

enum eid_dtn_form eid_dtn_form(const char *ssp, size_t len)
{
    if (len == 0 || len > EID_SSP_MAX)
        return EID_DTN_BAD;
    bool extra = false; /* erratum 7272: a demux has neither query nor fragment */
    for (size_t i = 0; i < len; i++) {
        if (ssp[i] <= 0x20 || ssp[i] >= 0x7f)
            return EID_DTN_BAD;
        extra |= ssp[i] == '?' || ssp[i] == '#';
    }
    if (len == 4 && memcmp(ssp, "none", 4) == 0)
        return EID_DTN_NONE;
    if (len < 4 || ssp[0] != '/' || ssp[1] != '/' || ssp[2] == '/')
        return EID_DTN_LOOSE;
    return extra || memchr(ssp + 2, '/', len - 2) == NULL ? EID_DTN_LOOSE : EID_DTN_FULL;
}

static int parse_dtn(const char *p, struct eid *out)
{
    size_t len = strnlen(p, EID_SSP_MAX + 1);
    enum eid_dtn_form form = eid_dtn_form(p, len);
    if (form != EID_DTN_NONE && form != EID_DTN_FULL)
        return HELIO_EFORMAT;
    *out = (struct eid){.scheme = EID_DTN};
    assert(len > 0 && len <= EID_SSP_MAX);
    memcpy(out->ssp, p, len);
    return 0;
}

int eid_parse(const char *text, struct eid *out)
{
    if (strncmp(text, "ipn:", 4) == 0)
        return parse_ipn(text + 4, out);
    if (strncmp(text, "dtn:", 4) == 0)
        return parse_dtn(text + 4, out);
    if (strncmp(text, "imc:", 4) == 0)
        return parse_imc(text + 4, out);
    return HELIO_EFORMAT;
}

char *eid_put_number(char *p, uint64_t value)
{
    char digits[20];
    size_t n = 0;
    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    assert(n > 0 && n <= sizeof digits);
    while (n > 0)
        *p++ = digits[--n];
    return p;
}

size_t eid_text(const struct eid *e, char out[EID_TEXT_MAX])
{
    char *p = out;
    if (e->scheme == EID_OTHER)
        return eid_other_text(e, out);
    if (e->scheme == EID_DTN) {
        size_t len = strlen(e->ssp);
        memcpy(p, "dtn:", 4);
        memcpy(p + 4, e->ssp, len + 1);
        return 4 + len;
    }
    memcpy(p, "ipn:", 4);
    p += 4;
    if (e->allocator != 0) {
        p = eid_put_number(p, e->allocator);
        *p++ = '.';
    }
    if (eid_is_local(e))
        *p++ = '!';
    else
        p = eid_put_number(p, e->node);
    *p++ = '.';
    p = eid_put_number(p, e->service);
    *p = '\0';
    assert(p - out < EID_TEXT_MAX);
    return (size_t)(p - out);
}

bool eid_equal(const struct eid *a, const struct eid *b)
{
    bool none = eid_is_none(a);
    if (none || eid_is_none(b))
        return none && eid_is_none(b);
    if (a->scheme != b->scheme)
        return false;
    if (a->scheme == EID_IPN)
        return a->allocator == b->allocator && a->node == b->node && a->service == b->service;
    if (a->scheme == EID_OTHER)
        return a->number == b->number && a->raw_len == b->raw_len &&
               memcmp(a->ssp, b->ssp, a->raw_len) == 0;
    return strcmp(a->ssp, b->ssp) == 0;
}

/* Length of "//node/" in the scheme-specific part of a dtn EID. */
static size_t node_length(const char *ssp)
{
    const char *slash = strncmp(ssp, "//", 2) == 0 ? strchr(ssp + 2, '/') : NULL;
    return slash == NULL ? strlen(ssp) : (size_t)(slash - ssp) + 1;
}

bool eid_same_node(const struct eid *a, const struct eid *b)
{
    if (a->scheme == EID_IPN && b->scheme == EID_IPN) /* asked several times for each bundle */
        return a->allocator == b->allocator && a->node == b->node;
    struct eid node_a = eid_node(a), node_b = eid_node(b);
    return eid_equal(&node_a, &node_b);
}

uint64_t eid_hash(uint64_t seed, const struct eid *e)
{
    if (eid_is_none(e))
        return hash_mix(seed, 0, 0);
    if (e->scheme == EID_IPN) { /* twice: both numbers in one mix cancel out when a peer wants it */
        const uint64_t node = hash_mix(seed, e->allocator << 32 | e->node, 0);
        return e->service == 0 ? node : hash_mix(node, e->service, 1);
    }
    if (e->scheme == EID_OTHER)
        return hash_bytes(hash_mix(seed, e->number, 1), e->ssp, e->raw_len);
    return hash_bytes(seed, e->ssp, strlen(e->ssp));
}

struct eid eid_node(const struct eid *e)
{
    struct eid node = *e;
    if (e->scheme == EID_IPN) {
        node.service = 0;
        return node;
    }
    if (e->scheme == EID_OTHER)
        return node;
    size_t len = node_length(e->ssp);
    assert(len <= EID_SSP_MAX);
    memset(node.ssp + len, 0, sizeof node.ssp - len);
    return node;
}

uint64_t eid_node_hash(uint64_t seed, const struct eid *e)
{
    if (e->scheme == EID_IPN) /* asked for each bundle: without a copy of the EID */
        return hash_mix(seed, e->allocator << 32 | e->node, 0);
    const struct eid node = eid_node(e);
    return eid_hash(seed, &node);
}

bool eid_is_group(const struct eid *e)
{
    uint64_t group, service;
    if (e->scheme != EID_DTN)
        return eid_imc(e, &group, &service);
    return strncmp(e->ssp, "//", 2) == 0 && e->ssp[node_length(e->ssp)] == '~';
}

bool eid_is_node(const struct eid *e)
{
    if (e->scheme == EID_IPN)
        return e->service == 0;
    return e->scheme == EID_DTN && e->ssp[node_length(e->ssp)] == '\0';
}
