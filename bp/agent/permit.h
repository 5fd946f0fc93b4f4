/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of ingress and egress: what a neighbour may bring, what may leave to it, and what a user's
 * applications may send. Bundles name their own source and priority, so each of these is a
 * permission.
 *
 * A list has rules for several parties. A party that no rule names may do all. A party that a rule
 * names may do what one of its rules allows, and nothing else. The first rule that fits source,
 * destination, priority and size counts; then come its limits. A refusal is counted by the test
 * that the bundle failed; with several rules, by the last test that one of them came to.
 */
#ifndef BP_PERMIT_H
#define BP_PERMIT_H

#include "base/tick.h"
#include "bp/codec/qos.h"

#ifdef __cplusplus
extern "C" {
#endif

enum permit_way {
    PERMIT_IN,  /* what a neighbour brings */
    PERMIT_OUT, /* what leaves to a neighbour; no limits (rate, bundles, bytes) */
    PERMIT_APP, /* what applications send */
    PERMIT_WAYS
};

/* In the order of the tests; the first one is none. Those from BUNDLES on are limits, which a later
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

#define PERMITS_MAX 256                      /* of a list */
#define PERMIT_BURST_MAX (UINT64_C(1) << 50) /* bundles; bytes */
struct permit {
    struct eid_patterns party; /* IN, OUT: node ids of neighbours; APP: endpoints of this node that
                                  its users may register and send from */
    uint64_t user;             /* APP: as in struct agent_request; 0: every user */
    struct eid_patterns from, to;
    enum bundle_priority priority;   /* the highest one; a bundle without a priority is normal */
    uint64_t size_max;               /* bytes of a bundle's payload, whole; 0: any */
    uint64_t rate, burst;            /* bundles a second, up to 10^9, and as many at once, of each
                                        party; 0: any */
    uint64_t data_rate;              /* bit/s of encoded bundles, of each party; 0: any */
    uint64_t data_burst;             /* bytes at once; a bundle alone may be longer */
    uint64_t bundles_max, bytes_max; /* APP: at the node at once, of each user; 0: any */
    uint32_t line;                   /* of the configuration; for messages */
};

/* A bundle, and who brings it. Pointers hold during the call. */
struct permit_subject {
    const struct eid *party; /* IN, OUT: the neighbour's node id; APP: the sending endpoint */
    uint64_t id;             /* of the neighbour, or the user: each has limits of its own */
    const struct eid *from, *to;
    enum bundle_priority priority;
    uint64_t payload,
        bytes; /* of the payload, a fragment's: of the whole one; of the encoded bundle, at least */
    uint64_t held_bundles, held_bytes; /* APP: what the user has at the node */
};

struct permit_counters {
    uint64_t allowed, refused[PERMIT_VERDICT_COUNT];
};

/* The last refusal of a list. */
struct permit_refusal {
    uint64_t count; /* of all refusals; 0: there was none */
    struct eid party, from, to;
    uint64_t id;
    enum permit_verdict verdict;
};

struct permits;

/* Copies the rules. 0, HELIO_ENOMEM, or HELIO_EINVAL: len is above
 * PERMITS_MAX, a rate without a burst, a number beyond its range, or a limit in a list of
 * PERMIT_OUT.
 */
int permits_new(struct permits **out, enum permit_way way, const struct permit *list, size_t len);
void permits_free(struct permits *p); /* NULL is none */
/* Counters and last refusal go on from those of an earlier list; counters of rules begin anew. */
void permits_go_on(struct permits *p, const struct permits *was);

/* Is it allowed? Limits are not looked at, and nothing changes. NULL is no rules. */
enum permit_verdict permits_judge(const struct permits *p, const struct permit_subject *s);
/* The same with the limits; charged if it is allowed, and counted. */
enum permit_verdict permits_take(struct permits *p, const struct permit_subject *s, tick now);
/* The same for a bundle that can wait: what a rate refuses is not counted. */
enum permit_verdict permits_offer(struct permits *p, const struct permit_subject *s, tick now);
/* May the user have this endpoint? A refusal is counted. */
bool permits_endpoint(struct permits *p, uint64_t user, const struct eid *endpoint);
/* Counts a refusal of permits_judge. */
void permits_refuse(struct permits *p, const struct permit_subject *s, enum permit_verdict v);

size_t permits_len(const struct permits *p); /* NULL: 0 */
const struct permit_counters *permits_counters(const struct permits *p);
const struct permit_refusal *permits_refusal(const struct permits *p);
/* The i-th rule, what it allowed, and what its limits refused. NULL: there are no more. */
const struct permit *permits_at(const struct permits *p, size_t i, uint64_t *allowed,
                                uint64_t *limited);

/* Parties of one rule whose rates are known at once. One more takes the place of the one that sent
 * longest ago, and begins without a burst. */
#define PERMIT_PARTIES 64

#ifdef __cplusplus
}
#endif

#endif
