/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol data units (CCSDS 727.0-B-5 5): octets to a struct and back. A parsed PDU's slices lie
 * in the input. Writing a parsed PDU gives the same PDU; its numbers have the lengths of the
 * header.
 */
#ifndef CFDP_PDU_H
#define CFDP_PDU_H

#include "cfdp/cfdp.h"

enum cfdp_pdu_kind {
    CFDP_PDU_EOF = 0x04,
    CFDP_PDU_FINISHED = 0x05,
    CFDP_PDU_ACK = 0x06,
    CFDP_PDU_METADATA = 0x07,
    CFDP_PDU_NAK = 0x08,
    CFDP_PDU_PROMPT = 0x09,
    CFDP_PDU_KEEP_ALIVE = 0x0c,
    CFDP_PDU_FILE_DATA = 0x100 /* not a directive */
};
/* Static; "unknown" for others. */
const char *cfdp_pdu_text(unsigned kind);

/* 5.1. Lengths in octets, 1 to 8. */
struct cfdp_head {
    bool toward_sender; /* direction */
    bool unacknowledged;
    bool crc;
    bool large;        /* sizes and offsets of 8 octets instead of 4 */
    bool boundaries;   /* segmentation control: record boundaries are preserved */
    bool has_metadata; /* segment metadata flag */
    uint8_t id_len, sequence_len;
    uint64_t source, sequence, destination;
};

struct cfdp_eof {
    unsigned condition;
    uint32_t checksum;
    uint64_t size;
    uint64_t fault_at; /* entity of the fault; if has_fault_at */
    bool has_fault_at;
};

struct cfdp_finished {
    unsigned condition;
    bool incomplete;        /* delivery code */
    unsigned status;        /* enum cfdp_file_status */
    struct slice responses; /* TLVs of type CFDP_TLV_RESPONSE */
    uint64_t fault_at;
    bool has_fault_at;
};

struct cfdp_ack {
    unsigned of; /* CFDP_PDU_EOF or CFDP_PDU_FINISHED */
    unsigned condition;
    unsigned status; /* enum cfdp_transaction_status */
};

struct cfdp_metadata {
    bool closure;
    unsigned checksum; /* type, also an unknown one */
    uint64_t size;
    struct slice source_name, destination_name; /* "": no file */
    struct slice options;                       /* TLVs (cfdp/tlv.h), each complete */
};

struct cfdp_nak {
    uint64_t lo, hi;       /* scope */
    struct slice requests; /* cfdp_nak_next; {0, 0} asks for the metadata */
};

struct cfdp_data {
    unsigned continuation; /* record continuation state, with has_metadata */
    struct slice metadata; /* segment metadata, at most 63 octets */
    uint64_t offset;
    struct slice octets;
};

struct cfdp_pdu {
    struct cfdp_head head;
    enum cfdp_pdu_kind kind;
    union {
        struct cfdp_eof eof;
        struct cfdp_finished finished;
        struct cfdp_ack ack;
        struct cfdp_metadata metadata;
        struct cfdp_nak nak;
        bool prompt_keep_alive; /* CFDP_PDU_PROMPT: else a NAK is wanted */
        uint64_t progress;      /* CFDP_PDU_KEEP_ALIVE */
        struct cfdp_data data;
    } u;
};

#define CFDP_PDU_RESULTS(X)                                                                        \
    X(OK, "well-formed")                                                                           \
    X(SHORT, "shorter than its fields")                                                            \
    X(VERSION, "another version number")                                                           \
    X(LENGTH, "the data field length is not that of the PDU")                                      \
    X(CRC, "wrong CRC")                                                                            \
    X(KIND, "unknown file directive code")                                                         \
    X(FIELD, "a field with an invalid value, or octets after the last field")                      \
    X(TLV, "a malformed TLV")
#define CFDP_PDU_RESULT_ENUM(name, text) CFDP_PDU_##name,
enum cfdp_pdu_result { CFDP_PDU_RESULTS(CFDP_PDU_RESULT_ENUM) CFDP_PDU_RESULT_COUNT };
#undef CFDP_PDU_RESULT_ENUM
const char *cfdp_pdu_result_text(enum cfdp_pdu_result result);

/* One PDU, which is all of `in`. */
enum cfdp_pdu_result cfdp_pdu_parse(struct slice in, struct cfdp_pdu *out);
/* The octets written, 0: they do not fit in `room`, or the PDU's data field would be too long. A
 * number that its field cannot hold is a mistake of the caller (asserted). */
size_t cfdp_pdu_write(const struct cfdp_pdu *pdu, uint8_t *out, size_t room);
/* Octets of the fixed header, and of one size or offset. */
size_t cfdp_head_len(const struct cfdp_head *h);
static inline int cfdp_fss(const struct cfdp_head *h)
{
    return h->large ? 8 : 4;
}
/* The least octets that hold v, 1 to 8. */
uint8_t cfdp_number_len(uint64_t v);

/* The next segment request of a NAK. False: there is none left. */
bool cfdp_nak_next(const struct cfdp_head *h, struct slice *rest, uint64_t *lo, uint64_t *hi);

#endif
