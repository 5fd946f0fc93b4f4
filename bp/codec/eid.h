/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoint identifiers: `ipn` in two- and three-element form (RFC 9758) and `dtn` (RFC 9171
 * §4.2.5.1.2). EIDs of other schemes, such as `imc` (multicast), keep their encoded form. A value
 * type: it may be copied freely; eid_equal compares.
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

/* Numbers of the registry of RFC 9171 §9.3. OTHER: all other schemes. */
enum eid_scheme { EID_DTN = 1, EID_IPN = 2, EID_OTHER = 255 };

struct eid {
    enum eid_scheme scheme;
    /* ipn: allocator 0 = the default allocator. Fully qualified node = allocator.node */
    uint64_t allocator, node, service;
    bool three; /* ipn: encoded with three elements; equality ignores it */
    /* other schemes: the scheme's number, and the length of the CBOR in ssp */
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

/* "ipn:!.N": the local node; never transmitted (RFC 9758 §3.4.2, §5.4). */
#define EID_LOCAL_NODE UINT32_MAX
/* Is it the local node, "ipn:!.N"? */
bool eid_is_local(const struct eid *e);

/* Is it a multi-node endpoint: "dtn://name/~demux" (RFC 9171 §4.2.5.1.1), or imc? Such an EID is
 * neither a node ID nor a source. */
bool eid_is_group(const struct eid *e);

/* "imc:group.service"; false: it is of another scheme. */
bool eid_imc(const struct eid *e, uint64_t *group, uint64_t *service);
/* The imc EID of a group and a service number. */
struct eid eid_imc_of(uint64_t group, uint64_t service);

/* Parses "ipn:1.0", "ipn:977000.100.1", "ipn:!.7", "dtn://host/demux", "dtn:none", "imc:1.2".
 * Returns 0 or HELIO_EFORMAT. */
int eid_parse(const char *text, struct eid *out);

/* The form of the scheme-specific part of a dtn EID. */
enum eid_dtn_form {
    EID_DTN_NONE,  /* "none" */
    EID_DTN_FULL,  /* "//node/demux" (RFC 9171 §4.2.5.1.1 with erratum 7272) */
    EID_DTN_LOOSE, /* printable, but without "//", the "/" after the node, or with a query */
    EID_DTN_BAD,   /* empty, too long, or not printable ASCII */
};
/* The form of `len` characters at `ssp`. */
enum eid_dtn_form eid_dtn_form(const char *ssp, size_t len);

/* Writes the EID as text and returns its length. The text of other schemes is "scheme-4:820501"
 * (number and encoded bytes), which eid_parse does not read. */
size_t eid_text(const struct eid *e, char out[EID_TEXT_MAX]);

/* All spellings of the null endpoint are equal. */
bool eid_equal(const struct eid *a, const struct eid *b);
/* Have both the same node ID (RFC 9171 §4.2.5.2)? */
bool eid_same_node(const struct eid *a, const struct eid *b);
/* A hash for tables; equal EIDs have equal ones. The seed should be secret. */
uint64_t eid_hash(uint64_t seed, const struct eid *e);
uint64_t eid_node_hash(uint64_t seed, const struct eid *e); /* eid_hash of eid_node */

/* The node ID of an EID: ipn service 0, or dtn "//node/". An EID of another scheme has no node ID
 * and is returned unchanged. */
struct eid eid_node(const struct eid *e);
/* Is it an administrative endpoint (a node ID)? */
bool eid_is_node(const struct eid *e);

/* A set of numbers as intervals [lo, hi], both inclusive, in rising order. They neither overlap nor
 * touch. */
#define EID_RANGES_MAX 10
/* An interval [lo, hi], with both ends. */
struct eid_range {
    uint64_t lo, hi;
};
/* The intervals of a set. */
struct eid_ranges {
    struct eid_range at[EID_RANGES_MAX];
    uint8_t len;
};
#define EID_PARTS 3 /* of an ipn EID: allocator, node, service */

/*
 * A pattern for EIDs, for example in routes. Examples: an EID; "ipn:2.*"; "ipn:977000.100.*";
 * "ipn:977000.*.*" (all nodes of an allocator, RFC 9758 §3.2; 0: nodes without one); "ipn:*.*";
 * "ipn:*.*.*"; "imc:5.*"; "imc:*.*"; "dtn://host/" followed by "*"; "*".
 *
 * Each part of an ipn pattern may be a set of ranges (draft-ietf-dtn-eid-pattern): "ipn:[1-5,7].*",
 * "ipn:977000.[100+].[1-9]". "*" may replace any part: "ipn:*.7". A pattern of two parts matches
 * nodes without allocator, but "*" as the node matches all nodes.
 *
 * From that draft, "*:**" is "*". "ipn:**" ("2:**"), "dtn:**" ("1:**") and "imc:**" match all EIDs
 * of their scheme except the null endpoint. struct eid_patterns has alternatives.
 */
#define EID_PATTERN_MAX 264 /* longest text of one, with its terminating 0 */
struct eid_pattern {
    struct eid eid;
    bool any, any_node, any_service; /* any: everything */
    bool allocator;                  /* with any_node: only nodes of the EID's allocator */
    bool ranges;                     /* `part` has the pattern; `eid` only its scheme */
    struct eid_ranges part[EID_PARTS];
};
int eid_pattern_parse(const char *text, struct eid_pattern *out); /* 0 or HELIO_EFORMAT */
/* eid_pattern_parse; on errors *why says what is wrong and what would be right ("has …; write …"),
 * to be printed after the text. Static. */
int eid_pattern_read(const char *text, struct eid_pattern *out, const char **why);
/* Writes the pattern in its shortest form, as eid_pattern_parse reads it. Returns its length. */
size_t eid_pattern_text(const struct eid_pattern *p, char out[EID_TEXT_MAX]);
/* False: no EID matches both patterns. True: one may match both. */
bool eid_pattern_meet(const struct eid_pattern *p, const struct eid_pattern *q);
/* Does the pattern match the EID? */
bool eid_pattern_match(const struct eid_pattern *p, const struct eid *e);
/* Does it match a node ID (RFC 9171 §4.2.5.2)? "ipn:2.0", "ipn:*.*", "dtn://x/" and "*" do.
 * "ipn:2.7" and groups do not. */
bool eid_pattern_has_node(const struct eid_pattern *p);
/* Are both the same pattern, whatever their spelling? */
bool eid_pattern_equal(const struct eid_pattern *p, const struct eid_pattern *q);
/* Higher for more specific patterns. For ipn the pattern with fewer nodes is more specific, then
 * the one with fewer services; both counts are compared within a factor of two. */
int eid_pattern_rank(const struct eid_pattern *p);

/* Alternative patterns: "ipn:2.*|ipn:[5-7].*|dtn://host/" followed by "*", or "[ipn,dtn]:**". An
 * EID matches if one of them matches. */
#define EID_PATTERNS_MAX 10
/* The alternatives of a text. */
struct eid_patterns {
    struct eid_pattern at[EID_PATTERNS_MAX];
    uint8_t len;
};
/* Like eid_pattern_read. An empty text has no pattern. */
int eid_patterns_read(const char *text, struct eid_patterns *out, const char **why);
/* Does one of the patterns match the EID? */
bool eid_patterns_match(const struct eid_patterns *p, const struct eid *e);
/* Is *one equal to one of the patterns? */
bool eid_patterns_have(const struct eid_patterns *p, const struct eid_pattern *one);

#ifdef __cplusplus
}
#endif

#endif
