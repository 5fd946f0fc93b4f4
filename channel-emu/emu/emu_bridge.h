/* SPDX-License-Identifier: Apache-2.0 */
/* The bridge: what arrives at one interface passes the forward channel and leaves by the other, and
 * back. */
#ifndef CHANNEL_EMU_EMU_BRIDGE_H
#define CHANNEL_EMU_EMU_BRIDGE_H

#include "channel-emu/emu/emu_control.h"
#include "channel-emu/emu/emu_link.h"
#include "channel-emu/emu/emu_port.h"

struct emu_bridge_options {
    struct emu_settings settings;
    const char *port_name[2]; /* where forward, where return frames come from */
    enum emu_io io;
};

struct emu_bridge {
    const struct emu_bridge_options *options; /* borrowed */
    struct emu_link link;
    struct emu_port *port[2]; /* EMU_FORWARD: frames from here go forward */
    struct emu_control control;
    int signal_fd;
    tick looked; /* when we looked whether the interfaces are there */
    bool stop;
    bool said_too_long[2], said_sum[2];
};

/* Opens the interfaces and prints one line on `say` when ready. 0, or a negative error with a
 * message on `say`. */
int emu_bridge_init(struct emu_bridge *b, const struct emu_bridge_options *options, FILE *say);
/* Gives the interfaces back as they were. */
void emu_bridge_fini(struct emu_bridge *b);
/* Runs until a signal or the end of the duration; then the outputs are written. Returns 0, or
 * HELIO_EIO with a message on `say`: an interface was removed. */
int emu_bridge_run(struct emu_bridge *b, FILE *say);

#endif
