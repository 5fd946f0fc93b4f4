/* SPDX-License-Identifier: Apache-2.0 */
/* Of the files sdls*.c: where security is in a frame, and the bits that a MAC covers. */
#ifndef FRAMES_SDLS_IMPL_H
#define FRAMES_SDLS_IMPL_H

#include "frames/sdls.h"

/* Offsets in a frame with security. */
struct sdls_place {
    uint8_t vcid;
    bool command;          /* TC: type C */
    uint32_t header, data; /* of the security header, and behind it */
    uint32_t mac, after;   /* of the security trailer, and behind it */
    uint32_t length;       /* of the frame */
};

/* The virtual channel of a frame by its header as it is; `len` is checked. False: too short. */
bool sdls_read_vcid(const struct frame_format *f, struct slice frame, uint8_t *vcid);

/* Where the data field of a frame is that was parsed: header == data, mac == after. */
struct sdls_place sdls_find_field(const struct frame_format *f, const struct frame *frame);

uint32_t sdls_header_len(const struct sdls_association *a);

/* The octets before the data field, masked by 4.2.2.6.2, to `out`, which has room for p->data. */
void sdls_write_covered(const struct frame_format *f, const struct sdls_association *a,
                        const struct sdls_place *p, const uint8_t *frame, uint8_t *out);

/* Writes the frame's new length where it is said (TC, USLP). */
void sdls_write_length(const struct frame_format *f, uint8_t *frame, uint32_t length);
/* The same, and the FECF. */
void sdls_finish(const struct frame_format *f, uint8_t *frame, uint32_t length);

#endif
