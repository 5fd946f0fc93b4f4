/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of packets, as erasure/erasure.h draws them. */
#ifndef ERASURE_PACKET_H
#define ERASURE_PACKET_H

#include "erasure/erasure.h"
#include "erasure/rs16.h"

#define PACKET_SEGMENT 0xE0u
#define PACKET_REPAIR 0xE1u
#define PACKET_WIDE 2u  /* this bit is set in both for ERASURE_RS, */
#define PACKET_ASKED 4u /* and this one, with requests */
#define PACKET_REQUEST 0xE4u
#define PACKET_NEED 0xE5u
#define PACKET_MATRICES (UINT32_C(1) << 24) /* matrix numbers are modulo this */

struct packet_head {
    bool request; /* the others below but matrix, index, crc are 0; */
    bool need;    /* and so here: a report of needed repair segments */
    bool repair;
    bool wide;  /* of ERASURE_RS */
    bool asked; /* of ERASURE_RS with requests */
    uint32_t matrix;
    uint16_t index;
    uint32_t crc;
    uint16_t segments; /* these three of repair segments */
    uint8_t depth;     /* 1 of ERASURE_RS */
    uint16_t rows;
    uint16_t full_segments, full_rows; /* these two only of ERASURE_RS: of a full matrix */
};

/* The codeword of a matrix of ERASURE_RS; `repairs` are all that can be transmitted, requested ones
 * included. False: GF(2^16) has not enough elements. */
bool erasure_shape(const struct erasure_config *c, unsigned segments, unsigned rows,
                   struct rs16_shape *out);

/* Octets of the longest symbol. */
static inline size_t erasure_symbol_max(const struct erasure_config *c)
{
    size_t len = ERASURE_SYMBOL_HEAD + c->segment_max;
    return c->codec == ERASURE_RS8 ? len : (len + GF16_GROUP - 1) / GF16_GROUP * GF16_GROUP;
}

/* Writes ERASURE_HEAD, ERASURE_REPAIR_HEAD or ERASURE_WIDE_HEAD octets and returns how many. */
size_t erasure_packet_write(const struct packet_head *h, uint8_t *out);

/* The CRC of a packet: of its header, which has `crc` 0 for this, and of two parts of the rest. */
uint32_t erasure_packet_crc(const struct packet_head *h, struct slice first, struct slice rest);

/* Reads a header; *body is the rest of the packet. ERASURE_SEGMENT, ERASURE_REPAIR or
 * ERASURE_REQUEST, or a negative verdict. */
enum erasure_verdict erasure_packet_parse(struct slice packet, struct packet_head *h,
                                          struct slice *body);

static inline void put_u16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static inline void put_u32(uint8_t *p, uint32_t v)
{
    put_u16(p, v >> 16);
    put_u16(p + 2, v & 0xffff);
}

static inline uint16_t get_u16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t get_u32(const uint8_t *p)
{
    return (uint32_t)get_u16(p) << 16 | get_u16(p + 2);
}

#endif
