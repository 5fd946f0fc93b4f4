/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers of packets in virtual channels: encapsulation packets (CCSDS 133.1-B) and space packets
 * (133.0-B). The first three bits distinguish them. Here "payload" is everything after the header;
 * for a space packet it is the whole data field.
 */
#ifndef FRAMES_PACKET_H
#define FRAMES_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PACKET_HEADER_MAX 8
#define PACKET_SPACE_HEADER 6
#define PACKET_IDLE_APID 2047

/* The packet version number. */
enum packet_kind { PACKET_SPACE = 0, PACKET_ENCAP = 7 };

/* Encapsulation protocols of SANA's registry. 5 is not assigned. */
enum packet_protocol {
    PACKET_IDLE = 0,
    PACKET_LTP = 1,
    PACKET_IPE = 2,
    PACKET_CFDP = 3,
    PACKET_BP = 4,
    PACKET_EXTENDED = 6, /* `extension` says which */
    PACKET_MISSION = 7,
};

struct packet {
    enum packet_kind kind;
    bool idle;          /* its payload means nothing; set by packet_read */
    uint8_t header_len; /* octets: 1, 2, 4 or 8; 6 for space packets. packet_write chooses with 0 */
    uint64_t length;    /* octets of all of it, at least header_len */

    /* encapsulation packets */
    uint8_t protocol;     /* enum packet_protocol, or 5 */
    uint8_t extension;    /* 4 bits, in headers of 4 and 8 octets */
    uint8_t user_defined; /* 4 bits, in the same */
    uint16_t ccsds;       /* the CCSDS defined field of headers of 8 octets */

    /* space packets */
    bool command, secondary; /* packet type 1; a secondary header is in the payload */
    uint16_t apid;           /* 11 bits; 2047 is idle */
    uint8_t sequence_flags;  /* 2 bits: 3 is unsegmented */
    uint16_t sequence_count; /* 14 bits */
};

enum packet_verdict {
    PACKET_OK,
    PACKET_MORE,        /* the octets end before it can be said */
    PACKET_BAD_VERSION, /* a packet version number that is neither */
    PACKET_BAD_LENGTH,  /* shorter than its header, or without a length and yet not idle */
    PACKET_LONG,        /* longer than this reader takes */
    PACKET_VERDICT_COUNT
};

/* A static text of one word. */
const char *packet_verdict_name(enum packet_verdict v);

/* Reads the header at the beginning of `data`. PACKET_OK, PACKET_MORE, or what is wrong with it;
 * *p is filled in with the first alone. */
enum packet_verdict packet_read(struct packet *p, const void *data, size_t len);

/*
 * Writes the header of p->length octets in all. header_len 0 means the shortest that can hold the
 * length and the other fields; for encapsulation packets that is 2 at least, but 1 for an idle one
 * of one octet. Returns the header's octets, or 0 when the fields contradict each other: a length
 * that does not fit, a field too wide, a space packet without payload.
 */
size_t packet_write(const struct packet *p, uint8_t out[PACKET_HEADER_MAX]);

/* Writes the shortest header of an encapsulation packet with `payload_len` octets of `protocol`
 * (not PACKET_EXTENDED). Returns its octets, or 0 for more than 4,294,967,287 payload octets. */
size_t packet_write_encap(uint8_t protocol, uint64_t payload_len, uint8_t out[PACKET_HEADER_MAX]);

#ifdef __cplusplus
}
#endif

#endif
