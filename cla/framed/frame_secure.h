/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Space Data Link Security (frames/sdls.h) of a physical channel: its associations, from a file for
 * each direction (docs/sdls.md). Frames that leave get it, frames that arrive are accepted only if
 * they are authentic and new. Only frame_line.c uses it, and frame_keys.c for what is wrong.
 */
#ifndef CLA_FRAME_SECURE_H
#define CLA_FRAME_SECURE_H

#include "base/slice.h"
#include "base/tick.h"
#include "frames/sdls.h"

/* One direction. NULL or "": it has no security. */
struct frame_secure_way {
    const char *file; /* of associations */
    const char *note; /* of numbers, instead of what the file says */
};

struct frame_secure_config {
    struct frame_secure_way send, receive;
    /* At least 512 octets: the reason of a failure, else unchanged; NULL: not needed. */
    char *why;
};

#define FRAME_SECURE_WHY 512

struct frame_secure_counts {
    bool sends, receives; /* frames of that direction are secured */
    uint64_t applied[SDLS_VERDICT_COUNT], processed[SDLS_VERDICT_COUNT];
};

struct frame_secure;

/* Neither direction has it. */
bool frame_secure_is_off(const struct frame_secure_config *c);

/*
 * 0 with *out, or an error with its text in config->why. The formats have no problem. `say` gets
 * lines for the operator's log: of each reason one a minute at most.
 */
int frame_secure_open(struct frame_secure **out, const struct frame_secure_config *c,
                      const struct frame_format *send, const struct frame_format *receive,
                      void (*say)(void *context, int level, const char *text), void *context);

struct frame_secure_use;

/*
 * The files of both directions are read again: other associations and keys hold from now on, in
 * *changed whether there are such; numbers and counts go on. Security must take as much of each
 * frame as before. An error with its text in `why`: all is as before, unless a note could not be
 * written or opened; then nothing of that direction is sent or accepted until this succeeds.
 */
int frame_secure_renew(struct frame_secure *s, const struct frame_secure_config *c,
                       const struct frame_secure_use *use, bool *changed, char *why,
                       size_t why_cap);

/* Notes the numbers, wipes the keys; NULL is allowed. */
void frame_secure_close(struct frame_secure *s);

/* Octets that security takes of a frame that is sent on the virtual channel. */
uint32_t frame_secure_overhead(const struct frame_secure *s, uint8_t vcid);

/* Are frames that arrive secured? */
bool frame_secure_receives(const struct frame_secure *s);

/* The frame as it is sent, in the memory of s until the next call. False: it must not be sent. */
bool frame_secure_apply(struct frame_secure *s, tick now, struct slice *frame);

enum frame_secure_result {
    FRAME_SECURE_CLEAR, /* a frame without security, or none: unchanged */
    FRAME_SECURE_OPEN,  /* it was authentic and new: without security now, in the memory of s */
    FRAME_SECURE_REFUSED
};
enum frame_secure_result frame_secure_process(struct frame_secure *s, tick now,
                                              struct slice *frame);

/* A clear frame of a virtual channel that a link reads (type C) is refused and counted. */
void frame_secure_refuse_clear(struct frame_secure *s, tick now);

void frame_secure_count(const struct frame_secure *s, struct frame_secure_counts *out);

/* What a configuration has to be right for: its channels, and whether idle frames are sent. */
struct frame_secure_use {
    const struct frame_format *send, *receive;
    uint8_t send_vcid, receive_vcid;
    bool idle;
};

/* NULL, or the key that is wrong ("frames.sdls"), with a text. Reads the files. */
const char *frame_secure_problem(const struct frame_secure_config *c,
                                 const struct frame_secure_use *use, char *why, size_t why_cap);

#endif
