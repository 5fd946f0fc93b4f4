/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets out of the frames of one virtual channel, in the order of their frames. A gap in the
 * frame count costs the packets that had some of themselves in the lost frames, and no other: the
 * next frame's first header pointer says where to go on. Payloads stay in the frames.
 *
 *     v = frame_input(channel, data, len, &frame);
 *     if ((v == FRAME_OK_VERDICT || v == FRAME_IDLE_VERDICT) && frame.vcid == mine)
 *         v = mpdu_extract_input(x, &frame);
 *     while (mpdu_extract_next(x, &piece))
 *         ...
 */
#ifndef FRAMES_MPDU_EXTRACT_H
#define FRAMES_MPDU_EXTRACT_H

#include "frames/frame.h"
#include "frames/packet_reader.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What was seen; each defect is counted once where it is found. */
#define MPDU_COUNTS(X)                                                                             \
    X(frames, "frames that were read")                                                             \
    X(gaps, "times that frames were missing before a frame")                                       \
    X(lost, "frames that were missing, as their count says")                                       \
    X(repeated, "frames with the count of the one before, not read")                               \
    X(backward, "frames whose count went back")                                                    \
    X(packets, "packets that were whole")                                                          \
    X(idle, "idle packets that were whole")                                                        \
    X(cut, "incomplete packets: the rest was in a lost frame")                                     \
    X(skipped_frames, "frames not read for want of a packet's beginning")                          \
    X(skipped_bytes, "octets of packet zones that were not read")                                  \
    X(pointer, "first header pointers that contradict the packets")                                \
    X(no_packets, "frames whose zone is not packets")                                              \
    X(bad_version, "packets of an unknown version")                                                \
    X(bad_length, "packets of an impossible length")                                               \
    X(too_long, "packets longer than the limit")

#define MPDU_COUNT_FIELD(name, text) uint64_t name;
/* Counters of one virtual channel; MPDU_COUNTS describes each. */
struct mpdu_counts {
    MPDU_COUNTS(MPDU_COUNT_FIELD)
};
#undef MPDU_COUNT_FIELD

struct mpdu_extract {
    struct packet_reader reader;
    struct slice rest; /* of the zone, unread */
    uint64_t expected; /* the next frame count */
    bool counting;     /* a frame was received: `expected` is valid */
    bool following;    /* the position of the next packet header, or of a continuation, is known */
    bool abandoned;    /* the packet that was begun must be reported as abandoned */
    bool given;        /* a piece of the present packet was returned */
    struct mpdu_counts counts;
};

/* `packet_max`: octets of the longest packet that is taken, header included. */
void mpdu_extract_init(struct mpdu_extract *x, uint64_t packet_max);

/*
 * Takes a good frame of the virtual channel, those of only idle data too, since they are counted;
 * its zone must stay until mpdu_extract_next has given false. OK or IDLE; REPEATED or NO_PACKETS,
 * and nothing is taken.
 */
enum frame_verdict mpdu_extract_input(struct mpdu_extract *x, const struct frame *frame);

/* Returns the next piece of a packet, except idle packets. False: the frame has no more. */
bool mpdu_extract_next(struct mpdu_extract *x, struct packet_piece *piece);

/* Call it at the end of input, or after a silence: an unfinished packet is abandoned. The next
 * frame may have any count. True: pieces of the abandoned packet were returned. */
bool mpdu_extract_reset(struct mpdu_extract *x);

#ifdef __cplusplus
}
#endif

#endif
