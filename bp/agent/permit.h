/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ingress and egress rules: which bundles a neighbour may send, which may be transmitted to it, and
 * which a user's applications may send. A bundle states its source and priority itself, so each of
 * these needs a permission.
 *
 * A list has rules for several parties. A party without a rule may do everything. A party with
 * rules may do only what one of its rules permits. The first rule that matches source, destination,
 * priority and size applies; then its limits are checked. A refusal is counted by the test that
 * failed; with several rules, by the last test that any of them reached.
 */
#ifndef BP_PERMIT_H
#define BP_PERMIT_H

#include "base/tick.h"
#include "bp/codec/qos.h"

#ifdef __cplusplus
extern "C" {
#endif

enum permit_way {
    PERMIT_IN,  /* bundles received from a neighbour */
    PERMIT_OUT, /* bundles transmitted to a neighbour; no limits (rate, bundles, bytes) */
    PERMIT_APP, /* bundles sent by applications */
    PERMIT_WAYS
};

/* In the order of the tests; the first is a success. BUNDLES and later ones are limits: a later
 * bundle may pass. */
#define PERMIT_VERDICTS(X)                                                                         \
    X(GOOD, "allowed")                                                                             \
    X(ENDPOINT, "endpoint")                                                                        \
    X(SOURCE, "source")                                                                            \
    X(DESTINATION, "destination")                                                                  \
    X(PRIORITY, "priority")                                                                        \
    X(SIZE, "size")                                                                                \
    X(BUNDLES, "bundles")                                                                          \
    X(BYTES, "bytes")                                                                              \
    X(RATE, "rate")                                                                                \
    X(DATA_RATE, "data_rate")
#define PERMIT_VERDICT_ENUM(name, word) PERMIT_##name,
enum permit_verdict { PERMIT_VERDICTS(PERMIT_VERDICT_ENUM) PERMIT_VERDICT_COUNT };
#undef PERMIT_VERDICT_ENUM
const char *permit_verdict_word(enum permit_verdict v); /* static */

#define PERMITS_MAX 256                      /* rules in a list */
#define PERMIT_BURST_MAX (UINT64_C(1) << 50) /* bundles; bytes */
struct permit {
    /* IN, OUT: node ids of neighbours; APP: endpoints of this node that its users may register and
     * use as source. */
    struct eid_patterns party;
    uint64_t user; /* APP: as in struct agent_request; 0: every user */
    struct eid_patterns from, to;
    /* the highest permitted one; a bundle without a priority is normal */
    enum bundle_priority priority;
    uint64_t size_max; /* bytes of the payload, for a fragment those of the whole bundle; 0: any */
    /* Bundles a second, up to 10^9, and bundles at once, for each party; 0: any. */
    uint64_t rate, burst;
    uint64_t data_rate;              /* bit/s of encoded bundles, for each party; 0: any */
    uint64_t data_burst;             /* bytes at once; a single bundle may be longer */
    uint64_t bundles_max, bytes_max; /* APP: bundles and bytes at the node, for each user; 0: any */
    uint32_t line;                   /* line in the configuration; for messages */
};

/* A bundle and its party. Pointers are valid during the call. */
struct permit_subject {
    const struct eid *party; /* IN, OUT: the neighbour's node id; APP: the sending endpoint */
    uint64_t id;             /* of the neighbour, or the user: each has its own limits */
    const struct eid *from, *to;
    enum bundle_priority priority;
    /* Bytes of the payload (for a fragment those of the whole bundle); at least the bytes of the
     * encoded bundle. */
    uint64_t payload, bytes;
    uint64_t held_bundles, held_bytes; /* APP: bundles and bytes of the user at the node */
};

/* Counts of a rule, or of a list of them. */
struct permit_counters {
    uint64_t allowed, refused[PERMIT_VERDICT_COUNT];
};

/* The latest refusal of a list. */
struct permit_refusal {
    uint64_t count; /* number of all refusals; 0: none */
    struct eid party, from, to;
    uint64_t id;
    enum permit_verdict verdict;
};

struct permits;

/* Copies the rules. Returns 0, HELIO_ENOMEM, or HELIO_EINVAL: len is above PERMITS_MAX, a rate
 * without a burst, a number outside its range, or a limit in a list of PERMIT_OUT. */
int permits_new(struct permits **out, enum permit_way way, const struct permit *list, size_t len);
void permits_free(struct permits *p); /* NULL is none */
/* Takes over counters and latest refusal of an earlier list; counters of rules start at 0. */
void permits_go_on(struct permits *p, const struct permits *was);

/* Is the bundle permitted? Limits are not checked, and nothing changes. p NULL: no rules. */
enum permit_verdict permits_judge(const struct permits *p, const struct permit_subject *s);
/* The same with limits. A permitted bundle is charged; the result is counted. */
enum permit_verdict permits_take(struct permits *p, const struct permit_subject *s, tick now);
/* The same for a bundle that can wait: a refusal by a rate is not counted. */
enum permit_verdict permits_offer(struct permits *p, const struct permit_subject *s, tick now);
/* May the user register this endpoint? A refusal is counted. */
bool permits_endpoint(struct permits *p, uint64_t user, const struct eid *endpoint);
/* Counts a refusal of permits_judge. */
void permits_refuse(struct permits *p, const struct permit_subject *s, enum permit_verdict v);

size_t permits_len(const struct permits *p); /* NULL: 0 */
/* The counters of the list; valid as long as it. p must not be NULL. */
const struct permit_counters *permits_counters(const struct permits *p);
/* The latest refusal; valid as long as the list. p must not be NULL. */
const struct permit_refusal *permits_refusal(const struct permits *p);
/* The i-th rule, with the numbers of permitted bundles and of refusals by its limits. NULL: there
 * are no more. */
const struct permit *permits_at(const struct permits *p, size_t i, uint64_t *allowed,
                                uint64_t *limited);

/* Parties of one rule whose rates are known at once. A further one replaces the party that was
 * silent longest, and starts without a burst. */
#define PERMIT_PARTIES 64

#ifdef __cplusplus
}
#endif

#endif
