/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A datagram port (os/world.h) over CCSDS frames: each datagram is an encapsulation packet of one
 * virtual channel, each frame a datagram of a port of the world. To its user it is a port like any
 * other; it has one peer. A frame that is lost costs the datagrams that had octets in it.
 */
#ifndef CLA_FRAME_PORT_H
#define CLA_FRAME_PORT_H

#include "frames/mpdu_extract.h"
#include "frames/mpdu_pack.h"
#include "os/udp_io.h"
#include "os/world.h"

struct frame_port_config {
    struct mpdu_pack_config pack; /* of both directions; without gather_min */
    uint8_t protocol;             /* of the encapsulation packets, not PACKET_EXTENDED */
    tick fill; /* a frame that is not full waits so long for more; 0: it does not wait */
    struct address remote;
    uint8_t dscp;
};

struct frame_port_counters {
    struct mpdu_pack_totals sent;
    struct mpdu_counts received;
    uint64_t verdicts[FRAME_VERDICT_COUNT]; /* of frames that arrived */
    uint64_t other_protocol;                /* packets of another protocol than ours */
    uint64_t frames_dropped;                /* the socket was full in the middle of a batch */
};

/* As port_open; the configuration has no problem (mpdu_pack_problem). 0 or HELIO_E*. */
int frame_port_open(struct world *w, struct port **out, const struct address *local, bool segments,
                    const struct frame_port_config *config,
                    void (*ready)(void *context, bool readable, bool writable), void *context);

/* Of such a port: what it has counted, and the socket below it. */
void frame_port_count(const struct port *port, struct frame_port_counters *out);
struct udp_io *frame_port_socket(const struct port *port);

#endif
