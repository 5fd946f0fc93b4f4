/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ISP1 transport mapping (CCSDS 913.1-B-2 §3.3) over one byte stream, as rules without I/O: the
 * eight octets before each message, the context message of the initiator, heartbeats and the four
 * timers. sle/engine.h drives it.
 * It is public for programs that read streams (captures, relays).
 *
 *   type(1) 00 00 00 length(4) body     type 1: one SLE PDU, 2: context (12 octets), 3: heartbeat
 * (0)
 */
#ifndef SLE_TML_H
#define SLE_TML_H

#include "sle/sle.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SLE_TML_HEADER = 8, SLE_TML_CONTEXT = 20 }; /* octets; the context with its header */
/* Types of TML messages (CCSDS 913.1 §3.3). */
enum sle_tml_type { SLE_TML_PDU = 1, SLE_TML_CONTEXT_MESSAGE = 2, SLE_TML_HEARTBEAT = 3 };

/* Limits of what a responder accepts, and what an initiator asks for. */
struct sle_tml_terms {
    uint16_t heartbeat_s;                      /* asked for; 0: not used [25] */
    uint16_t dead_factor;                      /* 1.. [5] */
    uint16_t heartbeat_min_s, heartbeat_max_s; /* accepted, but for 0 [1, 3600] */
    uint16_t dead_min, dead_max;               /* accepted [1, 100] */
    bool forbid_unused;                        /* a heartbeat of 0 is not accepted */
    tick establish;  /* TMS: from the connection to the context, from there to the BIND [60 s] */
    tick close_wait; /* CPA: after our PEER-ABORT, and after our UNBIND return, until the stream
                        is reset [5 s] */
    uint32_t message_max; /* octets of a message's body [4 MiB]; before the BIND 4096 */
};

enum sle_tml_verdict {
    SLE_TML_MORE, /* the message is not whole yet */
    SLE_TML_OK,
    SLE_TML_BAD_TYPE, /* an unknown type, reserved octets that are not 0, a body where none may be
                       */
    SLE_TML_BAD_CONTEXT, /* not "ISP1" with version 1 */
    SLE_TML_TOO_LONG
};

struct sle_tml_message {
    enum sle_tml_type type;
    struct slice body;
    uint16_t heartbeat_s, dead_factor; /* of a context */
    uint32_t total; /* octets with the header; known from the 8th octet on, else 0 */
};

/* Reads the message at the beginning of `in`; its body stays there. */
enum sle_tml_verdict sle_tml_read(struct slice in, uint32_t message_max,
                                  struct sle_tml_message *out);

/* 8 octets at `out`; `length` of the body. */
void sle_tml_write_header(enum sle_tml_type type, uint32_t length, uint8_t *out);
/* 20 octets */
void sle_tml_write_context(uint16_t heartbeat_s, uint16_t dead_factor, uint8_t *out);

#ifdef __cplusplus
}
#endif

#endif
