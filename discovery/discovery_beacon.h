/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beacons: what a node says of itself on a local network. Two formats are deployed.
 *
 * IPND, as dtn7-rs has it: CBOR, the fields of draft-irtf-dtnrg-ipnd.
 *     [7, flags, source EID, sequence number, [[[name, port] …], {tag: …}]?, period in s?]
 *     flags: 1 the EID is there, 2 the services are, 4 the period is
 * dtn7-go: a CBOR array with an announcement for each convergence layer.
 *     [[number of the convergence layer, EID, port] …]
 *
 * Nothing in a beacon is authenticated. Its receiver treats all of it as a claim.
 */
#ifndef DISCOVERY_BEACON_H
#define DISCOVERY_BEACON_H

#include "base/slice.h"
#include "base/tick.h"
#include "bp/codec/eid.h"

enum discovery_format { DISCOVERY_IPND, DISCOVERY_DTN7_GO, DISCOVERY_FORMATS };

#define DISCOVERY_SERVICES_MAX 8 /* of a beacon; more are ignored */
#define DISCOVERY_NAME_MAX 16    /* octets of a service's name, with its terminating zero */
#define DISCOVERY_BEACON_MAX 1500
#define DISCOVERY_PERIOD_MAX (3600 * TICK_S)

/* A convergence layer at a port of the beacon's sender. */
struct discovery_service {
    char name[DISCOVERY_NAME_MAX]; /* as IPND has it: "tcp", "mtcp" */
    int number;                    /* as dtn7-go has it; -1: none */
    uint16_t port;                 /* 0: not given */
};

struct discovery_beacon {
    struct eid node;   /* a node id, neither null nor "ipn:!" */
    uint64_t sequence; /* IPND only */
    tick period;       /* of the beacons, at most DISCOVERY_PERIOD_MAX; 0: not given */
    struct discovery_service services[DISCOVERY_SERVICES_MAX];
    size_t services_len;
};

/* Reads a datagram. False: it is no beacon of this format; *why has the reason (static). */
bool discovery_beacon_parse(enum discovery_format format, struct slice in,
                            struct discovery_beacon *out, const char **why);

/* Writes a beacon, of which services without a name (IPND) or number (dtn7-go) are left out, and
 * returns its length. 0: this format has nothing to say: dtn7-go without services. */
size_t discovery_beacon_write(enum discovery_format format, const struct discovery_beacon *b,
                              uint8_t out[DISCOVERY_BEACON_MAX]);

/* "ipnd", "dtn7-go". */
const char *discovery_format_text(enum discovery_format format);

#endif
