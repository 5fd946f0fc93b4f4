/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads packets from a stream in pieces, such as the packet zones of frames. The payloads are not
 * copied: the reader returns slices of its input. packet_join makes whole packets, and copies only
 * those that arrived in several pieces.
 */
#ifndef FRAMES_PACKET_READER_H
#define FRAMES_PACKET_READER_H

#include "base/slice.h"
#include "frames/packet.h"

#ifdef __cplusplus
extern "C" {
#endif

struct packet_reader {
    uint64_t length_max; /* of a packet that is not idle, header included */
    uint8_t header[PACKET_HEADER_MAX];
    uint8_t header_have; /* octets in it; < the header's length */
    bool open;           /* the header is whole, some of the payload is missing */
    struct packet packet;
    uint64_t done; /* octets of the payload that were given */
};

struct packet_piece {
    const struct packet *packet; /* until the next call of the reader */
    uint64_t offset;             /* of `data` in the payload */
    struct slice data;           /* empty only in a packet without payload */
    bool last;                   /* the packet ends with it */
    bool abandoned;              /* the packet ends here unfinished; nothing else is set */
};

/* At a packet's beginning, with nothing held. */
void packet_reader_init(struct packet_reader *r, uint64_t length_max);

/* Forgets what is unfinished. Returns whether pieces of it had been given, or could have been: a
 * header, whole or not. */
bool packet_reader_reset(struct packet_reader *r);

/* Reads octets from the front of *input. PACKET_OK: *piece is set. PACKET_MORE: the input was used
 * up. Other values: a header is wrong, so the start of the next packet is unknown, the rest of
 * *input is useless, and the reader is as after packet_reader_reset. */
enum packet_verdict packet_reader_next(struct packet_reader *r, struct slice *input,
                                       struct packet_piece *piece);

/* At a packet's beginning? */
static inline bool packet_reader_idle(const struct packet_reader *r)
{
    return !r->open && r->header_have == 0;
}

struct packet_join {
    uint8_t *buffer; /* the caller's, `room` octets: at least the longest payload */
    size_t room, len;
    bool open; /* pieces from the first one on are in the buffer */
};

/* Adds a piece of a reader. True when the packet is whole: *payload is the piece itself or in the
 * buffer, valid until the next call. A packet is never whole if its first pieces were missed, or if
 * it is longer than the buffer. */
bool packet_join(struct packet_join *j, const struct packet_piece *piece, struct slice *payload);

#ifdef __cplusplus
}
#endif

#endif
