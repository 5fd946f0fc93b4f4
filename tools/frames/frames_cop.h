/* SPDX-License-Identifier: Apache-2.0 */
/* Private to helio-frames fop and farm: the datagrams of both. These are telecommands in one
 * direction and telemetry frames with CLCWs in the other. */
#ifndef TOOLS_FRAMES_FRAMES_COP_H
#define TOOLS_FRAMES_FRAMES_COP_H

#include "frames/clcw.h"
#include "os/net/udp_io.h"
#include "tools/frames/helio_frames.h"

/* What is heard of each other. Erased: left out by chance (--erase), counted in no other. */
struct cop_counts {
    uint64_t sent, refused; /* datagrams; refused: by the network */
    uint64_t received, foreign, erased;
    uint64_t bad; /* frames that are none of the format, CLTUs that cannot be read */
};

struct cop_port {
    const struct frames_options *o;
    struct udp_io *udp;
    struct udp_peer remote;
    int signals;
    bool interrupted;
    struct rng rng;
    struct cop_counts counts;
};

/* 0, or -1 after reporting the error. */
int cop_port_open(struct cop_port *p, const struct frames_options *o);
void cop_port_close(struct cop_port *p);
/* Sends one datagram now, at most UDP_DATAGRAM_MAX octets; what the network refuses is lost, and
 * counted. */
void cop_port_send(struct cop_port *p, struct slice data);
/* Waits until there is a datagram, a signal (p->interrupted), or `until`. */
void cop_port_wait(struct cop_port *p, tick until);
/* The next datagram of the remote host, until the next call; false: there is none now. */
bool cop_port_next(struct cop_port *p, struct slice *out);

/* TC frames as they are telecommanded. */
struct frame_format cop_tc_format(const struct frames_options *o);

/* A file of packets, whole, cut into the data of TC frames. */
struct cop_unit {
    size_t at;
    uint16_t len;
    uint8_t sequence; /* of a segment header: 3 a packet, 1 its first segment, 0, 2 the last */
};
struct cop_units {
    uint8_t *data;
    struct cop_unit *units;
    size_t len, count, room;
    uint64_t packets;
};
enum { COP_INPUT_MAX = 64 << 20 };

/* 0; or an exit code, after reporting the error: the file, its packets, a packet that is longer
 * than a frame of a format without segments. */
int cop_units_read(struct cop_units *u, const struct frames_options *o);
void cop_units_free(struct cop_units *u);

/* Telemetry frames out of datagrams: their CLCWs. */
struct cop_telemetry {
    const struct frames_options *o;
    struct frame_channel channel;
    struct rs rs;
    struct cadu_reader cadus;
    uint8_t *buffer, *block;
    uint64_t frames, clcws;
};
typedef void cop_clcw_taker(void *context, const struct clcw *c);

int cop_telemetry_open(struct cop_telemetry *t, const struct frames_options *o);
void cop_telemetry_input(struct cop_telemetry *t, struct slice datagram, cop_clcw_taker *take,
                         void *context);
void cop_telemetry_close(struct cop_telemetry *t);

#endif
