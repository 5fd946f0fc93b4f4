/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfer frames: TM (CCSDS 132.0-B), AOS (732.0-B), USLP (732.1-B) and TC (232.0-B), read and
 * written in place. The format of a physical channel's frames is a managed parameter and not part
 * of the frames: struct frame_format. The first header pointer is the offset of the first packet
 * header in a frame's packet zone.
 */
#ifndef FRAMES_FRAME_H
#define FRAMES_FRAME_H

#include <stdbool.h>

#include "base/slice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The protocol of a transfer frame. */
enum frame_kind { FRAME_TM, FRAME_AOS, FRAME_USLP, FRAME_TC };

#define FRAME_LENGTH_MAX 65536 /* USLP; others less: frame_format_problem */
#define FRAME_TC_MAX 1024
#define FRAME_ASM UINT32_C(0x1acffc1d) /* the attached synchronisation marker of 131.0-B 9.3.1 */
#define FRAME_ASM_LEN 4
#define FRAME_IDLE_VCID 63 /* of AOS and USLP frames of only idle data */

struct frame_format {
    enum frame_kind kind;
    uint32_t length; /* octets of each frame; TC: of the longest */
    uint8_t fecf;    /* octets of the frame error control field: 0 or 2 */
    /* an operational control field, which TC has not; TM and USLP frames say so themselves, and
     * their word is taken when they are read */
    bool ocf;
    bool fhec;             /* AOS: a frame header error control field */
    bool count_cycle;      /* AOS: four bits of cycle lengthen the frame count to 28 */
    bool wide_scid;        /* AOS: the two bits after the flags are the spacecraft's upper bits */
    bool segments;         /* TC: a segment header, with sequence flags and MAP */
    uint8_t secondary_len; /* TM: octets of the secondary header, all of it; 0 or 2 to 64 */
    uint8_t count_len;     /* USLP: octets of the frame count that are written, 0 to 7 */
    uint16_t insert_len;   /* AOS, USLP: octets of the insert zone */
};

/* NULL, or a text that says what is wrong with it. */
const char *frame_format_problem(const struct frame_format *f);

/* Where things are in a frame that is written; `zone_len` is what packets have of it. */
struct frame_layout {
    uint32_t insert_at, secondary_at, zone_at, zone_len, ocf_at, fecf_at;
};

/* The format must have no problem; of TC frames for the longest. */
struct frame_layout frame_layout(const struct frame_format *f);

/* How the frame count wraps: 8 bits, AOS 24 or 28, USLP 0 to 56 as the format says. */
unsigned frame_count_bits(const struct frame_format *f);

#define FRAME_NO_START UINT32_MAX /* no packet begins in this frame */

struct frame {
    enum frame_kind kind;
    uint16_t scid; /* spacecraft: 10 bits; AOS 8, or 10 with wide_scid; USLP 16 */
    uint8_t vcid;  /* 6 bits, TM 3 */
    uint8_t map;   /* USLP: 4 bits; TC with segments: 6 */
    uint64_t count;
    uint8_t count_bits;   /* how it wraps, in this frame */
    uint8_t master_count; /* TM */
    bool replay;          /* AOS */
    bool only_idle;       /* the zone means nothing: idle channel, TM pointer 2046, USLP idle */
    bool packets;         /* the zone is part of a stream of packets */
    bool bypass, command; /* TC, USLP: type B; type C, with control commands */
    bool destination;     /* USLP: the spacecraft is whom it is for, not whom it is of */
    uint8_t sequence;     /* TC with segments: 3 unsegmented, 1 first, 0 middle, 2 last */
    bool has_ocf;
    uint32_t ocf;
    uint32_t pointer;  /* of packets: offset in the zone, or FRAME_NO_START; may be beyond it */
    uint32_t length;   /* octets of the frame; fill behind a TC frame does not count */
    uint8_t corrected; /* symbols of an AOS header that its FHEC corrected */
    struct slice insert, secondary, zone; /* where they are in the input */
};

/* What is wrong with a frame, or OK. IDLE: a good one of only idle data. */
#define FRAME_VERDICTS(X)                                                                          \
    X(OK, "ok")                                                                                    \
    X(IDLE, "only_idle")                                                                           \
    X(LENGTH, "length")         /* not the format's, or shorter than its fields */                 \
    X(VERSION, "version")       /* another transfer frame version */                               \
    X(FHEC, "fhec")             /* the header has more errors than can be corrected */             \
    X(FECF, "fecf")             /* the check value differs: errors */                              \
    X(FIELD, "field")           /* a reserved or contradictory field */                            \
    X(SPACECRAFT, "spacecraft") /* another spacecraft's (frame_channel) */                         \
    X(CHANNEL, "channel")       /* a virtual channel without a reader (for the caller's count) */  \
    X(REPEATED, "repeated")     /* the count of the frame before (mpdu_extract) */                 \
    X(NO_PACKETS, "no_packets") /* the zone is not packets (mpdu_extract) */

#define FRAME_VERDICT_ENUM(name, text) FRAME_##name##_VERDICT,
enum frame_verdict { FRAME_VERDICTS(FRAME_VERDICT_ENUM) FRAME_VERDICT_COUNT };
#undef FRAME_VERDICT_ENUM

/* A static text of one word. */
const char *frame_verdict_name(enum frame_verdict v);

/* Parses a frame of this format. Only with FRAME_OK_VERDICT and FRAME_IDLE_VERDICT *out is set; its
 * slices point into `data`. */
enum frame_verdict frame_parse(const struct frame_format *f, const void *data, size_t len,
                               struct frame *out);

/*
 * Writes all of a TM, AOS or USLP frame of f->length octets but its zone: headers, pointer, insert
 * zone (zeros, or frame->insert of f->insert_len octets), secondary header (likewise: its first
 * octet is written, data from frame->secondary), OCF. Not the FECF. `only_idle` frames get their
 * virtual channel or pointer. Of *frame are used kind, scid, vcid, map, count, master_count,
 * replay, only_idle, bypass, command, destination, ocf, pointer, insert, secondary.
 */
void frame_write(const struct frame_format *f, const struct frame *frame, uint8_t *out);

/* A whole TM, AOS or USLP frame of only idle data: frame_write, a pseudo-random zone, the FECF. */
void frame_write_idle(const struct frame_format *f, const struct frame *frame, uint8_t *out);

/* Writes the FECF to out[f->length - 2]. The slices are the octets of the frame before it. No
 * effect if the format has no FECF. */
void frame_seal(const struct frame_format *f, const struct slice *slices, size_t n, uint8_t *out);

/* Writes a whole TC frame. Returns its octets, or 0 when they exceed f->length or `room`, or
 * payload is empty. Used fields: scid, vcid, map and sequence (with segment headers), count,
 * bypass, command. */
size_t frame_write_tc(const struct frame_format *f, const struct frame *frame, struct slice payload,
                      uint8_t *out, size_t room);

/* The receiver of a physical channel: it counts a verdict for each frame. */
struct frame_channel {
    struct frame_format format;
    int32_t scid; /* -1: any */
    uint64_t verdicts[FRAME_VERDICT_COUNT], corrected;
};

/* frame_parse, then the spacecraft; counted. */
enum frame_verdict frame_input(struct frame_channel *c, const void *data, size_t len,
                               struct frame *out);

#ifdef __cplusplus
}
#endif

#endif
