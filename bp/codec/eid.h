/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoint identifiers: `ipn` in two- and three-element form (RFC 9758) and `dtn` (RFC 9171
 * §4.2.5.1.2); others, such as `imc` (multicast), are carried as they came. A value type: copied
 * freely, compared with eid_equal.
 */
#ifndef BP_EID_H
#define BP_EID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EID_SSP_MAX 255  /* longest scheme-specific part of a dtn EID, bytes */
#define EID_TEXT_MAX 264 /* longest text with its terminating 0 */

#define EID_RAW_MAX 116 /* longest encoded scheme-specific part of other schemes, bytes */

/* As in the registry of RFC 9171 §9.3; OTHER stands for all that are not there by name. */
enum eid_scheme { EID_DTN = 1, EID_IPN = 2, EID_OTHER = 255 };

struct eid {
    enum eid_scheme scheme;
    /* ipn: allocator 0 = the default allocator. Fully qualified node = allocator.node */
    uint64_t allocator, node, service;
    bool three; /* ipn: encoded with three elements; equality ignores it */
    /* other schemes: the scheme's number, and how much of ssp its CBOR takes */
    uint64_t number;
    size_t raw_len;
    /* dtn: "//node/demux", or "none"; zero-terminated */
    char ssp[EID_SSP_MAX + 1];
};

/* dtn:none. */
struct eid eid_none(void);
bool eid_is_none(const struct eid *e); /* dtn:none, and the null ipn EID 0.0 (RFC 9758 §3.4.1) */
/* allocator and node below 2^32 */
struct eid eid_ipn(uint64_t allocator, uint64_t node, uint64_t service);

/* "ipn:!.N": this very node, never seen on a link (RFC 9758 §3.4.2, §5.4). */
#define EID_LOCAL_NODE UINT32_MAX
bool eid_is_local(const struct eid *e);

/* By its name an endpoint of several nodes: "dtn://name/~demux" (RFC 9171 §4.2.5.1.1), imc. It
 * names no node, and sends nothing. */
bool eid_is_group(const struct eid *e);

/* "imc:group.service"; false: another one. */
bool eid_imc(const struct eid *e, uint64_t *group, uint64_t *service);
struct eid eid_imc_of(uint64_t group, uint64_t service);

/* "ipn:1.0", "ipn:977000.100.1", "ipn:!.7", "dtn://host/demux", "dtn:none", "imc:1.2". Returns 0 or
 * HELIO_EFORMAT. */
int eid_parse(const char *text, struct eid *out);

/* What the scheme-specific part of a dtn EID looks like. */
enum eid_dtn_form {
    EID_DTN_NONE,  /* "none" */
    EID_DTN_FULL,  /* "//node/demux" (RFC 9171 §4.2.5.1.1 with erratum 7272) */
    EID_DTN_LOOSE, /* printable, but without "//", the "/" after the node, or with a query */
    EID_DTN_BAD,   /* empty, too long, or not printable ASCII */
};
enum eid_dtn_form eid_dtn_form(const char *ssp, size_t len);

/* Writes the text; returns its length. Of other schemes it is "scheme-4:820501", number and bytes,
 * which cannot be parsed. */
size_t eid_text(const struct eid *e, char out[EID_TEXT_MAX]);

/* All spellings of the null endpoint are equal. */
bool eid_equal(const struct eid *a, const struct eid *b);
bool eid_same_node(const struct eid *a, const struct eid *b);
uint64_t eid_hash(uint64_t seed, const struct eid *e);
uint64_t eid_node_hash(uint64_t seed, const struct eid *e); /* eid_hash of eid_node */

/* The node's own EID: ipn service 0, dtn "//node/"; an EID of another scheme names no node, and is
 * given back. */
struct eid eid_node(const struct eid *e);
/* Is it a node's own EID (the administrative endpoint)? */
bool eid_is_node(const struct eid *e);

/* Numbers, as intervals that neither overlap nor touch, the lowest first; both ends are in. */
#define EID_RANGES_MAX 10
struct eid_range {
    uint64_t lo, hi;
};
struct eid_ranges {
    struct eid_range at[EID_RANGES_MAX];
    uint8_t len;
};
#define EID_PARTS 3 /* of an ipn EID: allocator, node, service */

/* A pattern of routes: an EID, "ipn:2.*", "ipn:977000.100.*", "ipn:977000.*.*" (all nodes of an
 * allocator, RFC 9758 §3.2; 0: those without one), "ipn:*.*" or "ipn:*.*.*", "imc:5.*", "imc:*.*",
 * "dtn://host/" followed by "*", or "*". Of ipn each part may also be a set of ranges, as in
 * draft-ietf-dtn-eid-pattern: "ipn:[1-5,7].*", "ipn:977000.[100+].[1-9]"; and "*" may stand for any
 * part, "ipn:*.7". Two parts are of nodes without allocator, but "*" for the node is all of them.
 * That draft's "*:**" is "*"; "ipn:**" ("2:**"), "dtn:**" ("1:**") and "imc:**" are all of their
 * scheme, but for none. Alternatives are struct eid_patterns. */
#define EID_PATTERN_MAX 264 /* longest text of one, with its terminating 0 */
struct eid_pattern {
    struct eid eid;
    bool any, any_node, any_service; /* any: everything */
    bool allocator;                  /* with any_node: only those of the EID's allocator */
    bool ranges;                     /* `part` says it, and the EID only its scheme */
    struct eid_ranges part[EID_PARTS];
};
int eid_pattern_parse(const char *text, struct eid_pattern *out); /* 0 or HELIO_EFORMAT */
/* The same; *why: what is wrong and what would be right, to follow the text ("has …; write …"). */
int eid_pattern_read(const char *text, struct eid_pattern *out, const char **why);
/* Its text, as parse reads it, in its shortest form. Returns its length. */
size_t eid_pattern_text(const struct eid_pattern *p, char out[EID_TEXT_MAX]);
/* May both match one EID? May say yes when they do not, never no when they do. */
bool eid_pattern_meet(const struct eid_pattern *p, const struct eid_pattern *q);
bool eid_pattern_match(const struct eid_pattern *p, const struct eid *e);
/* Does it match the id of a node (RFC 9171 §4.2.5.2), of any one: "ipn:2.0", "ipn:*.*", "dtn://x/",
 * "*"? "ipn:2.7" and groups do not. */
bool eid_pattern_has_node(const struct eid_pattern *p);
bool eid_pattern_equal(const struct eid_pattern *p, const struct eid_pattern *q);
/* More specific patterns have higher numbers: of ipn the one with fewer nodes, of as many the one
 * with fewer services, each within a factor of two. */
int eid_pattern_rank(const struct eid_pattern *p);

/* Alternatives, of which one suffices: "ipn:2.*|ipn:[5-7].*|dtn://host/" followed by "*", or
 * "[ipn,dtn]:**". */
#define EID_PATTERNS_MAX 10
struct eid_patterns {
    struct eid_pattern at[EID_PATTERNS_MAX];
    uint8_t len;
};
/* As eid_pattern_read. An empty text is none. */
int eid_patterns_read(const char *text, struct eid_patterns *out, const char **why);
bool eid_patterns_match(const struct eid_patterns *p, const struct eid *e);
/* Is this one of them, as it is written? */
bool eid_patterns_have(const struct eid_patterns *p, const struct eid_pattern *one);

#ifdef __cplusplus
}
#endif

#endif
