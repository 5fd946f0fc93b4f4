/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrivals that only another configuration of the peer explains: frames where none are expected,
 * and what a line of frames (cla/framed/frame_line.h) cannot read. Bit errors are no such arrivals.
 */
#ifndef CLA_FRAME_GUESS_H
#define CLA_FRAME_GUESS_H

#include "base/slice.h"
#include "frames/frame.h"

/* What a datagram is that is no segment: "CCSDS frames" if it has a right check value (FECF),
 * "CADUs" or "CLTUs" if it begins with a marker or start sequence; NULL: none of these. A random
 * datagram has the check value of a frame once in 65536 times. The text is static. */
const char *frame_guess(struct slice datagram);

/* A unit that arrived, and what was found. */
struct frame_misfit {
    struct slice unit;
    bool whole; /* it is as the peer sent it: a datagram without CADU or CLTU */
    bool first; /* no frame of ours has arrived yet */
    enum frame_verdict verdict;
    unsigned scid, vcid; /* of the frame, with FRAME_SPACECRAFT_VERDICT and FRAME_CHANNEL_VERDICT */
};

#define FRAME_MISFIT_MAX 96 /* bytes of a text, with the zero */

/* Writes to `why` why the unit cannot be a frame of this format and of spacecraft `scid`. False:
 * transmission errors explain it, or it is for another receiver. */
bool frame_misfit_text(const struct frame_misfit *m, const struct frame_format *f, unsigned scid,
                       char why[FRAME_MISFIT_MAX]);

#endif
