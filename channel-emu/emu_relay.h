/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The relay: datagrams that come to one UDP socket pass the forward channel and go to one address;
 * what comes back passes the return channel and goes to the peer it answers. Which way a datagram
 * goes is told by where it came from, see emu_relay.c.
 */
#ifndef CHANNEL_EMU_EMU_RELAY_H
#define CHANNEL_EMU_EMU_RELAY_H

#include <stdio.h>

#include "channel-emu/chan.h"
#include "channel-emu/emu_flow.h"
#include "channel-emu/emu_late.h"
#include "channel-emu/emu_socket.h"
#include "channel-emu/trace_file.h"

#define EMU_FORWARD 0
#define EMU_RETURN 1

struct emu_way_options {
    tick delay, jitter;
    uint64_t rate_bps;
    struct trace_source trace;
    const char *trace_name;
    tick trace_start;
};

struct emu_options {
    struct emu_addr listen, to, return_from, return_to;
    bool has_return_from, has_return_to;
    struct emu_way_options way[2];
    uint32_t overhead;
    uint64_t queue_bytes, seed, buffer_bytes;
    tick batch;        /* frames are released at most this late by intention */
    tick duration;     /* 0: until a signal */
    tick stats;        /* interval of status lines; 0: none */
    bool realtime;     /* ask for real-time scheduling */
    bool origin_start; /* the trace begins with the process, not with the first frame */
    const char *json;  /* file of the report, "-" for the standard output, NULL for none */
};

/* One direction: its channel, which begins with its first frame, and what the channel cannot count.
 */
struct emu_way {
    struct chan *chan;
    uint64_t no_peer; /* came with no peer to go to: never entered the channel */
    uint64_t gone;    /* came out of the channel when its peer was gone */
    uint64_t send_failed, sent_bytes;
    tick origin, first, last; /* arrivals */
    struct emu_late late;
};

struct emu_relay {
    struct emu_options options;
    int listen_fd, signal_fd;
    bool share_listen; /* the first flow's frames may leave by the listening socket */
    struct emu_flows flows;
    struct emu_way way[2];
    struct emu_receiver *receiver;
    struct emu_sender *sender;
    tick started;
    tick released;       /* when frames were let out last */
    uint64_t gone_drops; /* kernel's drops at sockets that are closed by now */
    bool stop;
};

/* Opens the sockets and prints one line on `say` when ready. 0, or a negative error with a message
 * on `say`. */
int emu_relay_init(struct emu_relay *r, const struct emu_options *options, FILE *say);
void emu_relay_fini(struct emu_relay *r);
/* Until a signal or the end of the duration. 0, or HELIO_EIO with a message on `say`. */
int emu_relay_run(struct emu_relay *r, FILE *say);

/* emu_options.c: reads the command line; ends the process with code 2 when it is wrong. */
void emu_options_read(struct emu_options *o, int argc, char **argv);
void emu_options_fini(struct emu_options *o);

/* emu_report.c */
void emu_report_text(const struct emu_relay *r, FILE *to);
void emu_report_json(const struct emu_relay *r, FILE *to);
/* One line of progress. */
void emu_report_line(const struct emu_relay *r, FILE *to);

#endif
