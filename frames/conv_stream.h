/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of convolutional symbols, as modems and recorders have them: octets with eight symbols
 * each, the first one highest (packed), or soft ones, an octet each.
 *
 *     SEARCH ── CONV_LOOK symbols: where does a period of puncturing begin? ──► DECODE
 *        ▲                                                                        │
 *        └────────── the user has found nothing in the bits for too long ─────────┘
 *
 * A wrong period gives bits without sense, not an error: the user tells whether it finds its units
 * in them. Symbols that are lost shift the period, and lead back to the search.
 */
#ifndef FRAMES_CONV_STREAM_H
#define FRAMES_CONV_STREAM_H

#include "base/slice.h"
#include "frames/conv.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CONV_LOOK 4096 /* symbols that are searched, and most that one call decodes */
#define CONV_ROOM 512  /* bits that are not decided yet, at most */
#define CONV_DEPTH 192

/* Most octets that one call gives. */
#define CONV_OCTETS_MAX ((CONV_LOOK + CONV_ROOM) / 8 + 1)

struct conv_reader {
    struct conv_format format;
    bool soft, decoding;
    uint64_t patience; /* symbols without a unit, after which the period is searched again */
    uint64_t blind;    /* such symbols until now */
    size_t looked;     /* symbols in `look` */
    struct conv_decoder decoder;
    struct conv_bits bits;               /* at most 7 stay between calls */
    uint64_t count, begins, wrong;       /* symbols, searches, wrong ones of earlier decoders */
    uint8_t octets[CONV_OCTETS_MAX + 1]; /* of `bits` */
    uint8_t look[CONV_LOOK];
    uint8_t decisions[CONV_ROOM * CONV_STATES];
};

/* patience > 0: symbols of some units. */
void conv_reader_init(struct conv_reader *r, struct conv_format format, bool soft,
                      uint64_t patience);

/* Decodes symbols from the front of *input, which is shortened by them: at least an octet of a
 * slice that is not empty. `locked`: the user finds its units. Returns the octets that are decided,
 * 0 to CONV_OCTETS_MAX, in `out`. */
size_t conv_reader_input(struct conv_reader *r, struct slice *input, bool locked, uint8_t *out);

/* The stream has ended: likewise all bits that are left, the last octet filled up by zeros. Another
 * stream may follow, which is searched. */
size_t conv_reader_end(struct conv_reader *r, uint8_t *out);

/* Symbols that were wrong, as the decoder sees it. */
uint64_t conv_reader_wrong(const struct conv_reader *r);

struct conv_writer {
    struct conv_encoder encoder;
    bool soft;
    uint8_t octet, held; /* symbols that make no octet yet */
};

/* State 0, at the beginning of a period. */
void conv_writer_init(struct conv_writer *w, struct conv_format format, bool soft);

/* Encodes octets into hard symbols, octets of 0 and 255: at most 16 for each octet. Returns how
 * many there are. */
size_t conv_writer_encode(struct conv_writer *w, const uint8_t *data, size_t len, uint8_t *symbols);

/* Packs n symbols in place, unless they are soft; `last` fills the last octet. Returns octets. */
size_t conv_writer_pack(struct conv_writer *w, uint8_t *symbols, size_t n, bool last);

/* The most octets that conv_writer_pack returns for `len` encoded octets. */
size_t conv_writer_max(struct conv_format format, bool soft, size_t len);

#ifdef __cplusplus
}
#endif

#endif
