/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AAP 2.0 on a byte stream, for both ends: a varint length, a protobuf message, and behind a
 * BundleADU its payload, which is read straight into a buffer with the room that a bundle's head
 * and tail need, so that the node never copies it.
 */
#ifndef NODE_AAP2_WIRE_H
#define NODE_AAP2_WIRE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "node/aap2/aap2.pb-c.h"
#include "node/aap2/aap2_plain.h"

/* The node's answer to a user whom `applications` denies the endpoint: UNAUTHORIZED, as when
 * another application has it; a client tells them apart by this text. */
#define AAP2_NOT_PERMITTED "no rule of the node (key applications) allows this user the endpoint"
#define AAP2_MAGIC 0x2f
/* The longest protobuf message; a longer one is an error of the peer. */
#define AAP2_MESSAGE_MAX 65536

/* Writes length and message into out (which must have AAP2_MESSAGE_MAX + 10 bytes unless the
 * message is known to be short). Returns the number of bytes, or HELIO_ESPACE. */
int aap2_pack(const ProtobufCMessage *m, uint8_t *out, size_t cap);

/* Reads a stream in pieces. */
struct aap2_reader {
    bool responses; /* expect AAPResponse, else AAPMessage; may change between messages */
    size_t head_room, tail_room; /* of payload buffers */
    /* The head room that this message's payload wants, instead of the above; NULL: the above. May
     * be set after aap2_reader_init. */
    size_t (*find_head_room)(const struct aap2_reader *r, const Aap2__BundleADU *m);
    uint64_t payload_max;
    /* A payload beyond payload_max is skipped and given out empty, instead of HELIO_EFORMAT: who
     * receives answers it in its turn, and others can follow. May be set after
     * aap2_reader_init. */
    bool skips_long;
    size_t piece_max; /* of what is read ahead, once messages are short; 0: 8 kB */
    /* the rest is its own */
    uint8_t *ahead;       /* bytes read ahead; [off, len) are not yet used */
    size_t off, len, cap; /* off <= len <= cap */
    size_t piece;         /* how much is read ahead */
    uint64_t need;        /* bytes of the message, valid when sized */
    uint32_t shift;
    bool sized;
    int error;           /* sticky */
    bool skips;          /* the payload stays empty */
    struct buf *payload; /* being filled */
    uint64_t payload_need;
    Aap2__AAPMessage *adu; /* whose payload it is */
};

void aap2_reader_init(struct aap2_reader *r, bool responses, size_t head_room, size_t tail_room,
                      uint64_t payload_max);
void aap2_reader_fini(struct aap2_reader *r);

/* Where the next bytes may be read to directly, and how many at most (>= 1): within a payload this
 * is the payload's own memory. NULL when memory is out or the stream has failed. */
uint8_t *aap2_reader_space(struct aap2_reader *r, size_t *len);

/*
 * Tells that n bytes were put there. Returns 1 when a message is complete (then exactly one of
 * *message and *response is set, to be freed by the caller with aap2_message_free or
 * aap2_response_free; *payload is the caller's, too, NULL without one), 0 when more bytes are
 * needed, HELIO_EFORMAT (malformed, too long), HELIO_ENOMEM; after an error every call gives it
 * again. After 1, call again with n = 0: more may be complete. A BundleADU without a payload is one
 * for whose payload there was no memory: its bytes were skipped, and the stream goes on.
 */
int aap2_reader_fed(struct aap2_reader *r, size_t n, Aap2__AAPMessage **message,
                    Aap2__AAPResponse **response, struct buf **payload);

#endif
