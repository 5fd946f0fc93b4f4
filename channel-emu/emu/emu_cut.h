/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that a sender's kernel joined and left to its device to cut (segmentation offload), cut as
 * the device would have: each with its own headers, numbers and checksums. */
#ifndef CHANNEL_EMU_EMU_CUT_H
#define CHANNEL_EMU_EMU_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a joined frame with its headers at most: 64 KiB of IP, Ethernet, VLAN tags. */
#define EMU_CUT_MAX (65536u + 64u)

struct emu_cut {
    const uint8_t *frame;               /* borrowed */
    size_t ip, transport, payload, end; /* where they begin; the payload's end */
    size_t segment;                     /* of the payload in each frame */
    size_t at;                          /* the next of it */
    unsigned number;                    /* of the next frame, from 0 */
    bool v6, tcp;
};

/* A joined frame of TCP or UDP straight after IPv4 or IPv6, behind any VLAN tags, with `segment`
 * bytes (> 0) of payload in each part. False when it is none of these, or does not end where its
 * headers say. The bytes must hold until the last part is taken. */
bool emu_cut_begin(struct emu_cut *c, const uint8_t *frame, size_t len, size_t segment);

/* The next part, into `out` with room for the whole frame; its length, 0: there are no more. */
size_t emu_cut_next(struct emu_cut *c, uint8_t *out);

#endif
