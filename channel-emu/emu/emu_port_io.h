/* SPDX-License-Identifier: Apache-2.0 */
/* Implementations of emu_port. The functions are those of emu_port.h. */
#ifndef CHANNEL_EMU_EMU_PORT_IO_H
#define CHANNEL_EMU_EMU_PORT_IO_H

#include "channel-emu/emu/emu_port.h"

struct clock_stamps;

struct emu_port_io {
    /* The state, or NULL with a message on `say`. */
    void *(*open)(const char *name, int ifindex, size_t mtu, uint64_t buffer_bytes, FILE *say);
    void (*close)(void *io);
    int (*fd)(const void *io);
    int (*receive)(void *io, struct clock_stamps *clock, tick now, struct emu_frame *out);
    void (*send)(void *io, const uint8_t *data, size_t len);
    void (*forget)(void *io); /* what is queued */
    int (*flush)(void *io, bool *sent);
    uint64_t (*drops)(void *io); /* since the opening */
};

extern const struct emu_port_io emu_ring_io, emu_pcap_io;

#endif
