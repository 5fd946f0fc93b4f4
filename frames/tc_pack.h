/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets into the TC frames of one virtual channel, type BD: no COP-1. Several packets share a
 * frame while they fit whole; a packet that is longer than a frame continues in further ones, as
 * segments of 232.0-B 4.1.3.2.2, when the format has segment headers. The caller puts packets and
 * closes the frame when it is full, or has waited for long enough:
 *
 *     while ((r = tc_pack_put(p, header, header_len, payload, n)) == TC_PACK_FULL)
 *         send(frame, tc_pack_close(p, frame));
 *     while (tc_pack_full(p))
 *         send(frame, tc_pack_close(p, frame));
 */
#ifndef FRAMES_TC_PACK_H
#define FRAMES_TC_PACK_H

#include "frames/frame.h"
#include "frames/mpdu_pack.h"
#include "frames/packet.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TC_PARTS_MAX MPDU_PARTS_MAX

struct tc_pack_config {
    struct frame_format format; /* TC */
    uint16_t scid;
    uint8_t vcid, map; /* map: with segment headers */
    /* frames are counted; else their sequence numbers are 0, as the book has it for type B, and a
     * reader cannot notice a loss by them */
    bool numbered;
};

struct tc_pack {
    struct tc_pack_config config;
    struct frame_layout layout;
    uint8_t count; /* of the next frame */
    uint8_t zone[FRAME_TC_MAX];
    uint32_t used, whole;                 /* octets in it; packets that end there */
    uint8_t sequence;                     /* its segment header's flags */
    struct slice parts[1 + TC_PARTS_MAX]; /* what is left of a packet in segments */
    size_t part, part_count;
    uint8_t header[PACKET_HEADER_MAX];
    struct mpdu_pack_totals totals; /* idle_* stay 0 */
};

/* NULL, or a text that says what is wrong with it. */
const char *tc_pack_problem(const struct tc_pack_config *c);

/* The configuration must have no problem. */
void tc_pack_init(struct tc_pack *p, const struct tc_pack_config *c);

enum tc_pack_result {
    TC_PACK_TAKEN,
    TC_PACK_FULL, /* nothing is taken: the frame has to be closed first */
    TC_PACK_LONG, /* nothing is taken: it fits no frame, and there are no segment headers */
};

/* Puts a packet: its header, which is copied, and its payload in at most TC_PARTS_MAX slices, which
 * must hold while tc_pack_full is true. At least one octet in all. */
enum tc_pack_result tc_pack_put(struct tc_pack *p, const uint8_t *header, size_t header_len,
                                const struct slice *payload, size_t n);

/* Must the frame be closed? There is no room for another packet, or it has a segment. */
bool tc_pack_full(const struct tc_pack *p);

/* There is something in the frame. */
static inline bool tc_pack_open(const struct tc_pack *p)
{
    return p->used > 0;
}

/* Ends a frame that is not empty, and writes it to `out`, which must have the format's length.
 * Returns its octets. The rest of a segmented packet is then in the next frame. */
size_t tc_pack_close(struct tc_pack *p, uint8_t *out);

#ifdef __cplusplus
}
#endif

#endif
