/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbered frames: what a test source sends and a test sink checks. A frame is that of a real
 * virtual channel (AOS, or TM with an operational control field), and its data field begins with
 *
 *   number(8) time(8, ns since 1970) and then octets that are the same in every frame
 */
#ifndef TOOLS_SLE_NUMBERED_H
#define TOOLS_SLE_NUMBERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

#define NUMBERED_HEAD 22u      /* octets before those that are the same */
#define NUMBERED_FRAME_MIN 32u /* octets of a frame, at least */

struct numbered {
    bool tm;       /* TM frames, the last four octets a control word; else AOS */
    uint16_t scid; /* 0..1023 (AOS: 255) */
    uint8_t vcids; /* that many virtual channels from 0 on take turns; 1..8 (AOS: 63) */
    uint32_t length;
};

/* All of a frame: the octets that are the same, too. */
void numbered_fill(const struct numbered *n, uint8_t *frame);
/* What differs between frames. */
void numbered_write(const struct numbered *n, uint64_t number, uint64_t time, uint8_t *frame);

/* Reads number and time. False: the frame is not one of these, of that length: too short, or other
 * octets than numbered_fill wrote. */
bool numbered_read(struct slice frame, uint64_t *number, uint64_t *time);

#endif
