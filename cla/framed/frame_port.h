/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A datagram port (os/world.h) over CCSDS frames: each datagram is an encapsulation packet of one
 * virtual channel. The two directions may have different kinds of frames, as a spacecraft has: AOS,
 * TM or USLP down, TC in CLTUs up. The frames are sent and received by a wire
 * (cla/framed/frame_wire.h). To its user it is a port like any other, with one peer. A lost frame
 * causes the loss of all datagrams with octets in it.
 */
#ifndef CLA_FRAME_PORT_H
#define CLA_FRAME_PORT_H

#include "cla/framed/frame_line.h"
#include "frames/mpdu_extract.h"
#include "frames/mpdu_pack.h"
#include "os/net/udp_io.h"
#include "os/world.h"

/* A turn of a port ends after so many units (frames of any virtual channel, CADUs, readings of the
 * wire), or after this time: what is left is read in the next one, when others have had theirs. */
#define FRAME_TURN_UNITS 256
#define FRAME_TURN_TIME TICK_MS

/* Calls in addition to `ready`, with the same context. */
struct frame_port_events {
    /* Frames can leave and come, or cannot; from the loop. Before the first call it is as
     * frame_port_able says. */
    void (*state)(void *context, bool leaves, bool arrives);
    /* A line for the operator's log, as cla_events.say. */
    void (*say)(void *context, int level, const char *text);
};

struct frame_port_config {
    struct frame_way send, receive;
    uint8_t protocol; /* of the encapsulation packets, not PACKET_EXTENDED */
    tick fill;        /* a frame that is not full waits so long for more; 0: it does not wait */
    tick idle; /* after so long without a frame one of only idle data leaves; 0: none. Not TC */
    struct frame_wire_config wire;
    struct frame_secure_config secure;      /* its texts are borrowed for the call */
    const struct frame_port_events *events; /* must exist as long as the port; NULL: not needed */
};

struct frame_port_counters {
    struct mpdu_pack_totals sent;
    struct mpdu_counts received;
    uint64_t verdicts[FRAME_VERDICT_COUNT]; /* of frames that arrived, not those of other ports */
    uint64_t other_protocol;                /* packets of another protocol than ours */
    uint64_t too_long; /* datagrams longer than frames can transport (frame_way_mtu) */
    bool clcw_told;    /* the peer's frames said what it has received, in `clcw`: */
    uint32_t clcw;     /* the last control word (frames/clcw.h) */
    bool cadus;        /* what arrives are CADUs */
    struct frame_line_counters line; /* of the physical channel, all its ports */
    struct frame_wire_counters wire;
    struct frame_secure_counts secure; /* of the physical channel, too */
};

/*
 * Like port_open; the formats must be valid (frame_way_problem, frame_code_problem). sibling:
 * another open port of this kind, on whose physical channel this becomes a further virtual channel;
 * then config->wire, secure and idle are ignored. Returns 0 or HELIO_E*; HELIO_EINVAL: the sibling
 * has another frame format; HELIO_EEXIST: the virtual channel is in use.
 */
int frame_port_open(struct world *w, struct port **out, const struct frame_port_config *config,
                    const struct port *sibling,
                    void (*ready)(void *context, bool readable, bool writable), void *context);

/* Can frames be sent, and received (*arrives), to the wire's knowledge? */
bool frame_port_able(const struct port *port, bool *arrives);
/* Does its user presently need the channel? Initially yes. If no port of the line needs it, the
 * wire releases its services at a provider in order, and opens them again later. */
void frame_port_want(struct port *port, bool wants);

/*
 * Whether its user has more to send, now or when its rate allows: with `more` a frame that is not
 * full waits for that, and without it for config->fill. So frames of a busy line have no idle data.
 * At first nothing is expected.
 */
void frame_port_expect(struct port *port, bool more);

/* Frames that have left since the port was opened, its own and whole ones, and their octets on the
 * channel: what a line's rate is spent on. */
struct frame_port_air {
    uint64_t frames, octets;
};
struct frame_port_air frame_port_air(const struct port *port);

/* Of such a port: what it has counted, and the socket below it; NULL: there is none. */
/* The files of its physical channel's security are read again (frame_secure_renew), as
 * config->secure names them; ports of one line share that. 0 without security. */
int frame_port_renew(struct port *port, const struct frame_port_config *config, bool *changed,
                     char *why, size_t why_cap);

void frame_port_count(const struct port *port, struct frame_port_counters *out);
struct udp_io *frame_port_socket(const struct port *port);

#endif
