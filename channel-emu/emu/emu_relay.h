/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The relay: datagrams to one UDP socket pass the forward channel to one address; answers pass the
 * return channel to the peer that they answer. The source of a datagram decides its direction
 * (emu_relay.c). The channels are those of the relay's own link, or, in turn, those of other links
 * in the process (hand-over); a link without a socket exists for these.
 */
#ifndef CHANNEL_EMU_EMU_RELAY_H
#define CHANNEL_EMU_EMU_RELAY_H

#include "channel-emu/emu/emu_flow.h"
#include "channel-emu/emu/emu_link.h"
#include "channel-emu/emu/emu_relay_options.h"
#include "os/net/udp_many.h"

struct emu_loop;

struct emu_relay {
    const char *name;                        /* borrowed; NULL: the only one */
    const struct emu_relay_options *options; /* borrowed */
    struct emu_loop *loop;
    size_t index;          /* in the loop */
    struct address listen; /* as bound */
    struct emu_link link;
    int listen_fd;     /* -1: a channel for others */
    bool share_listen; /* the first flow's frames may leave by the listening socket */
    struct emu_flows flows;
    struct udp_peer to, return_to; /* those of the options */
    uint64_t gone_drops;           /* kernel's drops at sockets that are closed by now */
};

/* Opens outputs and the socket, if options->listen is given. 0, or a negative error with a message
 * on `say`; emu_relay_fini in any case. */
int emu_relay_init(struct emu_relay *r, struct emu_loop *loop, size_t index, const char *name,
                   const struct emu_relay_options *options, FILE *say);
void emu_relay_fini(struct emu_relay *r);

/* Reads a socket of it, or all, into the channels. How many receives brought something, or an
 * error.
 */
int emu_relay_read(struct emu_relay *r, int fd);
int emu_relay_read_all(struct emu_relay *r);
/* Lets out what is due in its channels. */
void emu_relay_let_out(struct emu_relay *r, int dir);
/* Looks at what the kernel dropped. */
void emu_relay_count(struct emu_relay *r);

#endif
