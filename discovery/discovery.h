/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Neighbours on local networks: who was heard, which of them get a link, and when this node sends
 * its own beacon. Pure: beacons and times come in, actions come out.
 *
 *     push:  discovery_input · discovery_garbage · discovery_link · discovery_failed
 *     pull:  discovery_poll until DISCOVERY_NONE, after each push and at discovery_deadline
 *
 * A neighbour is a pair of node name and address, since a name in a beacon is only a claim. At most
 * one neighbour of each name has a link:
 *
 *             new beacon          OPEN               up
 *     (none) ────────────► HEARD ──────► TRYING ◄────────► UP
 *                            ▲   CLOSE     │      down
 *                            └─────────────┘  the patience has ended, and another
 *                                             neighbour claims the name or needs the place
 *
 * After a silence every state ends, with CLOSE if there is a link. A link that is up is never
 * closed for the sake of another neighbour.
 */
#ifndef DISCOVERY_DISCOVERY_H
#define DISCOVERY_DISCOVERY_H

#include "discovery/discovery_beacon.h"

#define DISCOVERY_NEIGHBOURS_MAX 512 /* that the configuration can permit */
#define DISCOVERY_CLAIMANTS_MAX 4    /* neighbours of one name */
#define DISCOVERY_HOST 16
#define DISCOVERY_PREFIX_MAX 8

struct discovery;

struct discovery_config {
    struct eid node; /* this node */
    uint64_t seed;
    tick interval; /* between own beacons, give or take a tenth; TICK_NEVER: none is sent */
    tick silence;  /* of a neighbour, after which it is gone; extended to three of its periods, but
                      not beyond ten silences */
    tick patience; /* for a link that is not up, before it gives way */
    size_t neighbours_max; /* 1 … DISCOVERY_NEIGHBOURS_MAX */
    size_t address_max;    /* of one address */
    size_t links_max;
};

/* The sender of a beacon. */
struct discovery_from {
    uint8_t host[DISCOVERY_HOST];         /* IPv4 as its mapped IPv6 address */
    uint8_t prefix[DISCOVERY_PREFIX_MAX]; /* the network, which may be full of forged addresses */
    size_t prefix_len;
};

enum discovery_state { DISCOVERY_HEARD, DISCOVERY_TRYING, DISCOVERY_UP };

struct discovery_neighbour {
    uint64_t id; /* never 0, and never used again */
    struct eid node;
    struct discovery_from from;
    enum discovery_format format;
    enum discovery_state state;
    bool usable; /* it has a service for which this node can make a link */
    struct discovery_service services[DISCOVERY_SERVICES_MAX];
    size_t services_len;
    tick first, last, until; /* heard; it is gone at `until` without another beacon */
    tick since;              /* in this state */
    uint64_t beacons;
    unsigned tries; /* links that gave way */
    /* Private: */
    uint64_t hash;
    bool changed; /* its services, since the link began */
};

/* What became of a beacon. */
enum discovery_verdict {
    DISCOVERY_KNOWN,      /* its neighbour is there */
    DISCOVERY_NEW,        /* a new neighbour */
    DISCOVERY_OWN,        /* it has the name of this node */
    DISCOVERY_CONFIGURED, /* its name belongs to the configuration, and nothing changes */
    DISCOVERY_ADDRESS,    /* its address has too many neighbours */
    DISCOVERY_CLAIMED,    /* its name has too many claimants */
    DISCOVERY_FULL,       /* every place has a link */
    DISCOVERY_MALFORMED,  /* discovery_garbage */
    DISCOVERY_VERDICTS
};

enum discovery_act { DISCOVERY_NONE, DISCOVERY_SEND, DISCOVERY_OPEN, DISCOVERY_CLOSE };
enum discovery_reason {
    DISCOVERY_SILENT,   /* no beacon for too long */
    DISCOVERY_NOT_UP,   /* the link was not up in time, and gives way */
    DISCOVERY_RESERVED, /* the name belongs to the configuration now */
};

struct discovery_action {
    enum discovery_act act;
    uint64_t sequence; /* SEND: of the beacon */
    /* OPEN, CLOSE: the neighbour; valid until the next call. */
    const struct discovery_neighbour *neighbour;
    enum discovery_reason reason; /* CLOSE */
};

struct discovery_totals {
    size_t neighbours, links, up;
    uint64_t verdicts[DISCOVERY_VERDICTS];
    uint64_t displaced; /* neighbours without a link whose place another one got */
    uint64_t contested; /* new neighbours whose name another address has claimed, too */
    uint64_t silent;    /* neighbours that were gone */
    uint64_t gave_way;  /* links that were not up in time */
    uint64_t sent;      /* own beacons */
};

/* The first beacon is due at once. All memory is allocated here. 0 or HELIO_ENOMEM. */
int discovery_new(struct discovery **out, const struct discovery_config *config, tick now);
void discovery_free(struct discovery *d); /* NULL is allowed */

/* A beacon. configured: its name is known otherwise, so it must not become a neighbour. usable: it
 * has a service for which this node can make a link. */
enum discovery_verdict discovery_input(struct discovery *d, enum discovery_format format,
                                       const struct discovery_beacon *b,
                                       const struct discovery_from *from, bool configured,
                                       bool usable, tick now);
/* A datagram that was no beacon. */
void discovery_garbage(struct discovery *d);

/* The link of a neighbour is up, or down. Other ids are ignored. */
void discovery_link(struct discovery *d, uint64_t id, bool up, tick now);
/* After OPEN: the link could not be made. It is tried again after the patience. */
void discovery_failed(struct discovery *d, uint64_t id, tick now);

/* This node did not run for so long: that time is not counted against the neighbours. */
void discovery_forgive(struct discovery *d, tick lost);

/* The next action; *out is zeroed when there is none. */
enum discovery_act discovery_poll(struct discovery *d, tick now, struct discovery_action *out);
/* When to poll again, if nothing is pushed before. */
tick discovery_deadline(const struct discovery *d);

/* The i-th neighbour in the order of ids; NULL beyond the last. Valid until the next call. */
const struct discovery_neighbour *discovery_at(const struct discovery *d, size_t i);
void discovery_totals(const struct discovery *d, struct discovery_totals *out);
const char *discovery_verdict_text(enum discovery_verdict v);
const char *discovery_state_text(enum discovery_state s);
const char *discovery_reason_text(enum discovery_reason r);

/* Asserts the invariants; for tests. */
void discovery_check(const struct discovery *d);

#endif
