/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets out of the TC frames of one virtual channel, of type BD, and of type AD when FARM-1 has
 * accepted these.
 * Packets are whole, one after the other, or in segments, which are joined here. A missing frame
 * costs the packets that it had a part of, and no other.
 */
#ifndef FRAMES_TC_EXTRACT_H
#define FRAMES_TC_EXTRACT_H

#include "frames/frame.h"
#include "frames/mpdu_extract.h"
#include "frames/packet_reader.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tc_extract_config {
    bool numbered; /* the frames are counted (tc_pack.h): gaps show, and repetitions */
    bool accepted; /* frames of type AD are read, too: FARM-1 has accepted each that is given */
    uint8_t map;   /* of frames with segment headers: others' are not read */
    uint8_t *buffer;
    size_t room; /* the caller's: for the longest packet in segments, header included */
};

struct tc_extract {
    struct tc_extract_config config;
    struct packet_reader reader;
    struct slice rest; /* of packets, unread */
    size_t len;        /* octets of segments in the buffer */
    bool open;         /* the first segment of a packet is there */
    bool counting;
    uint8_t expected;
    struct mpdu_counts counts; /* no_packets: of other MAPs, type BC, AD unless accepted;
                                  skipped_frames: segments whose beginning is missing */
};

/* Begins without a packet; the configuration is copied. */
void tc_extract_init(struct tc_extract *x, const struct tc_extract_config *c);

/* Takes a good TC frame of the virtual channel; its zone must stay until tc_extract_next has given
 * false. OK; REPEATED or NO_PACKETS, and nothing is taken. */
enum frame_verdict tc_extract_input(struct tc_extract *x, const struct frame *frame);

/* The next packet, whole: not an idle one. False: the frame is used up. What it gives lies in the
 * frame or in the buffer, until the next frame. */
bool tc_extract_next(struct tc_extract *x, struct packet_piece *piece);

#ifdef __cplusplus
}
#endif

#endif
