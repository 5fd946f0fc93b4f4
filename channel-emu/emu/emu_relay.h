/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The relay: datagrams that come to one UDP socket pass the forward channel and go to one address;
 * what comes back passes the return channel and goes to the peer it answers. Which way a datagram
 * goes is told by where it came from, see emu_relay.c.
 */
#ifndef CHANNEL_EMU_EMU_RELAY_H
#define CHANNEL_EMU_EMU_RELAY_H

#include "channel-emu/emu/emu_control.h"
#include "channel-emu/emu/emu_flow.h"
#include "channel-emu/emu/emu_link.h"
#include "channel-emu/emu/emu_relay_options.h"
#include "os/udp_many.h"

struct emu_relay {
    const struct emu_relay_options *options; /* borrowed */
    struct address listen;                   /* as bound */
    struct emu_link link;
    struct emu_control control;
    int listen_fd, signal_fd;
    bool share_listen; /* the first flow's frames may leave by the listening socket */
    struct emu_flows flows;
    struct udp_peer to, return_to; /* those of the options */
    struct udp_receiver *receiver;
    struct udp_sender *sender;
    uint64_t gone_drops; /* kernel's drops at sockets that are closed by now */
    bool stop;
};

/* Opens outputs and sockets and prints one line on `say` when ready. 0, or a negative error with a
 * message on `say`; emu_relay_fini in any case. */
int emu_relay_init(struct emu_relay *r, const struct emu_relay_options *options, FILE *say);
void emu_relay_fini(struct emu_relay *r);
/* Until a signal or the end of the duration; then the outputs are written. 0, or HELIO_EIO with a
 * message on `say`. */
int emu_relay_run(struct emu_relay *r, FILE *say);

#endif
