/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames from a stream of octets: a TCP connection, a file. They are delimited by their fixed
 * length, by the length field of TC frames, by sync markers, or as CLTUs. Other octets are skipped
 * and counted. If a later reader finds the frames (frames/cadu.h), the octets are returned
 * unchanged.
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

/* Octets of the longest unit: a frame of `length` with its marker, a CLTU, or a piece. */
size_t frame_stream_unit(enum frame_stream_mode mode, uint32_t length);

struct frame_stream {
    enum frame_stream_mode mode;
    uint32_t length;
    uint8_t *buffer;       /* the caller's */
    size_t room, at, have; /* what is not read: [at, have) */
    uint64_t skipped;      /* octets */
    /* For CLTUs. before: octets of the stream before buffer[at]. accepted: for codeblocks at octet
     * offset i modulo 8, the end of the latest decoded and accepted one. */
    uint64_t before, accepted[BCH_CODEBLOCK];
};

/* `buffer` has `room` octets, at least twice frame_stream_unit. */
void frame_stream_init(struct frame_stream *s, enum frame_stream_mode mode, uint32_t length,
                       uint8_t *buffer, size_t room);

/* Where further octets go, after frame_stream_next said false; *len >= 1 of them at most. What it
 * gave is moved by this call. */
uint8_t *frame_stream_space(struct frame_stream *s, size_t *len);
/* `len` octets were written to the memory that frame_stream_space returned. */
void frame_stream_fed(struct frame_stream *s, size_t len);

/* Returns the next frame (without its marker), CLTU or piece. It is a view of the buffer, valid
 * until frame_stream_space. False: it is not complete; for octets: there are none. */
bool frame_stream_next(struct frame_stream *s, struct slice *out);

/* Is there one? What frame_stream_next will skip is skipped. */
bool frame_stream_ready(struct frame_stream *s);

/* Another stream begins. */
void frame_stream_reset(struct frame_stream *s);

#ifdef __cplusplus
}
#endif

#endif
