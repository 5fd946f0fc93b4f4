/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames out of a stream of octets: a TCP connection, a file. They follow each other, by their
 * fixed length, by the length that TC frames say, behind markers, or in CLTUs. Octets that belong
 * to none are skipped and counted. Where only a later reader finds the frames (frames/cadu.h), the
 * octets themselves are given.
 *
 *     n = read(…, frame_stream_space(s, &room), room);
 *     frame_stream_fed(s, n);
 *     while (frame_stream_next(s, &frame))
 *         …
 */
#ifndef FRAMES_FRAME_STREAM_H
#define FRAMES_FRAME_STREAM_H

#include "base/slice.h"
#include "frames/bch.h"
#include "frames/frame.h"

#ifdef __cplusplus
extern "C" {
#endif

enum frame_stream_mode {
    FRAME_STREAM_FIXED,  /* of one length; a reader that begins in the middle is lost */
    FRAME_STREAM_MARKED, /* the same, each behind the marker 1ACFFC1D, which is looked for */
    FRAME_STREAM_TC,     /* TC frames of at most this length */
    FRAME_STREAM_CLTU,   /* CLTUs with TC frames of at most this length: given as CLTUs */
    FRAME_STREAM_OCTETS, /* whatever there is, in pieces of at most this length; none is skipped */
};

/* Octets of the longest thing that follows another: of a frame of `length` with its marker, of a
 * CLTU, or of a piece. */
size_t frame_stream_unit(enum frame_stream_mode mode, uint32_t length);

struct frame_stream {
    enum frame_stream_mode mode;
    uint32_t length;
    uint8_t *buffer;       /* the caller's */
    size_t room, at, have; /* what is not read: [at, have) */
    uint64_t skipped;      /* octets */
    /* Of CLTUs: the octets of the stream that are before buffer[at]; and, of codeblocks whose first
     * octet is the i-th of 8, where those end that were decoded and accepted last. */
    uint64_t before, accepted[BCH_CODEBLOCK];
};

/* `room` octets of `buffer`: twice frame_stream_unit at least. */
void frame_stream_init(struct frame_stream *s, enum frame_stream_mode mode, uint32_t length,
                       uint8_t *buffer, size_t room);

/* Where further octets go, after frame_stream_next said false; *len >= 1 of them at most. What it
 * gave is moved by this call. */
uint8_t *frame_stream_space(struct frame_stream *s, size_t *len);
void frame_stream_fed(struct frame_stream *s, size_t len);

/* The next frame (without its marker), CLTU or piece, which lies in the buffer until
 * frame_stream_space. False: it is not all there; of octets: there are none. */
bool frame_stream_next(struct frame_stream *s, struct slice *out);

/* Is there one? What frame_stream_next will skip is skipped. */
bool frame_stream_ready(struct frame_stream *s);

/* Another stream begins. */
void frame_stream_reset(struct frame_stream *s);

#ifdef __cplusplus
}
#endif

#endif
