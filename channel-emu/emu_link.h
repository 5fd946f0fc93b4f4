/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The link between the two sides of the emulator, relay or bridge: a channel in each direction on
 * the real clock, and what channels cannot count. Frames go in with the time of their arrival; what
 * comes out is to be sent at once.
 */
#ifndef CHANNEL_EMU_EMU_LINK_H
#define CHANNEL_EMU_EMU_LINK_H

#include <stdio.h>

#include "channel-emu/chan.h"
#include "channel-emu/emu_addr.h"
#include "channel-emu/emu_late.h"
#include "channel-emu/emu_port.h"
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
    bool bridge;              /* between the interfaces a and b, not relay between addresses */
    const char *port_name[2]; /* of the bridge: where forward, where return frames come from */
    enum emu_io io;           /* of the bridge */
    bool exempt;              /* of the bridge: signalling frames are only delayed */
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
    struct chan *clean; /* for exempt frames: delay only */
    uint64_t before;    /* dropped by the kernel before we could read them */
    uint64_t no_peer;   /* came with no peer to go to: never entered the channel */
    uint64_t too_long;  /* super-packets: never entered the channel */
    uint64_t gone;      /* came out of the channel when its peer was gone */
    uint64_t send_failed, sent_bytes;
    uint64_t exempt;
    tick origin, first, last; /* arrivals */
    struct emu_late late;
};

struct emu_link {
    struct emu_options options;
    struct emu_way way[2];
    tick started;
    int send_errno; /* of the last frame that could not be sent; 0: none */
};

/* The clock of the link begins to run. `options` stay the caller's, and what they point to must
 * live as long as the link. */
void emu_link_init(struct emu_link *l, const struct emu_options *options);
void emu_link_fini(struct emu_link *l);

/* A frame arrived. Stamps of two processors may be out of order by a little: time is held. 0, or
 * HELIO_ENOMEM when it is the first and there is no memory for its channel. */
int emu_link_input(struct emu_link *l, int dir, const uint8_t *data, size_t len, uint64_t tag,
                   tick arrival);
/* The same for a frame that is only delayed, whatever else the link does. */
int emu_link_input_exempt(struct emu_link *l, int dir, const uint8_t *data, size_t len,
                          uint64_t tag, tick arrival);

/* When the next frame of either direction is due; TICK_NEVER when both are empty. */
tick emu_link_deadline(const struct emu_link *l);
/* The next frame due: 1, or 0. Its bytes hold until the next input in its direction. */
int emu_link_output(struct emu_link *l, int dir, tick now, struct chan_out *out);
/* The kernel has taken the frame that was due then. */
void emu_link_sent(struct emu_link *l, int dir, size_t len, tick due, tick now);

/* Signals that end a run, or ask for a report on the way, as a descriptor; -1 and errno. */
int emu_link_signals(void);
/* Real-time scheduling, if wanted and permitted, and timers without slack. */
void emu_link_hurry(const struct emu_options *o);

/* emu_report.c */
void emu_report_text(const struct emu_link *l, FILE *to);
void emu_report_json(const struct emu_link *l, FILE *to);
/* One line of progress. */
void emu_report_line(const struct emu_link *l, FILE *to);

/* emu_options.c: reads the command line; ends the process with code 2 when it is wrong. */
void emu_options_read(struct emu_options *o, bool bridge, int argc, char **argv);
void emu_options_fini(struct emu_options *o);

#endif
