/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An Ethernet interface as one end of the bridge: it receives every frame complete and as on the
 * wire (with VLAN tag and checksum), with the kernel's time of arrival, and sends frames. Work that
 * the other end's kernel left to its device is done here: checksums, and dividing joined frames.
 * With libpcap, which does not report it, frames have flags for what is missing. Sent frames are
 * not read back. All times are CLOCK_MONOTONIC.
 */
#ifndef CHANNEL_EMU_EMU_PORT_H
#define CHANNEL_EMU_EMU_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/tick.h"

/* How frames are moved: a ring of frames shared with the kernel and many frames a system call, or
 * libpcap, one call a frame. */
enum emu_io { EMU_IO_RING, EMU_IO_PCAP };

struct emu_frame {
    const uint8_t *data;
    size_t len;
    size_t there; /* of its bytes; fewer than len when it is too long */
    tick arrival;
    /* joined of several in a way that is not known, or longer than the interface's MTU allows;
     * bytes may miss */
    bool too_long;
    bool sum_missing; /* the sender left its checksum, and perhaps its cutting, to its device */
};

/* Calls of emu_port_send between two of emu_port_flush, at most. */
#define EMU_PORT_BATCH 64u

struct emu_port;
/* Opens the interface: all frames (promiscuous), offloads off, room for `buffer_bytes` of frames.
 * 0, or a negative error with a message on `say`. */
int emu_port_open(struct emu_port **out, const char *name, enum emu_io io, uint64_t buffer_bytes,
                  FILE *say);
/* Restores the offloads. */
void emu_port_close(struct emu_port *p);

const char *emu_port_name(const struct emu_port *p);
/* To poll for frames and errors. */
int emu_port_fd(const struct emu_port *p);

/* The next frame that has arrived, without waiting: 1, or 0 when there is none. It holds until the
 * next call. */
int emu_port_receive(struct emu_port *p, tick now, struct emu_frame *out);

/* Queues a frame; the bytes must hold until emu_port_flush. */
void emu_port_send(struct emu_port *p, const uint8_t *data, size_t len);
/* Sends queued frames. sent[i] tells which frames the kernel accepted. Returns the error of the
 * last failure, or 0. Nothing is sent while the link is down: the kernel would accept and drop
 * it. */
int emu_port_flush(struct emu_port *p, bool *sent);

/* Is the interface still there? */
bool emu_port_exists(const struct emu_port *p);
/* Frames lost before we could read them: our ring was full, or the device's. */
uint64_t emu_port_drops(struct emu_port *p);
/* Frames that the device dropped though the kernel had taken them. */
uint64_t emu_port_unsent(const struct emu_port *p);

#endif
