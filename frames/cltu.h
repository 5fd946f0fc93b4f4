/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command link transmission units (CCSDS 231.0-B section 5): a start sequence, codeblocks of BCH,
 * a tail sequence that is none.
 */
#ifndef FRAMES_CLTU_H
#define FRAMES_CLTU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frames/bch.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CLTU_START_LEN 2
#define CLTU_TAIL_LEN 8
#define CLTU_FILL 0x55 /* up to a codeblock's length */

/* Octets of a CLTU with len octets of data: 2 + 8 * ceil(len / 7) + 8. */
size_t cltu_size(size_t len);

/* Writes a CLTU with one or several whole frames, `len` octets, at least one. `randomise`: the
 * sequence PN_TC is added before encoding. Returns the octets written, or 0 when `room` is less
 * than cltu_size(len). `out` must not overlap `data`. */
size_t cltu_write(const void *data, size_t len, bool randomise, void *out, size_t room);

enum cltu_verdict {
    CLTU_OK,
    CLTU_NO_START, /* no start sequence in it */
    CLTU_EMPTY,    /* no codeblock was accepted behind the start sequence */
    CLTU_NO_TAIL,  /* the octets ended before a codeblock was rejected: some may be missing */
    CLTU_LONG,     /* longer than `room` */
};

struct cltu {
    size_t len;         /* octets written, fill and all: the frame says how many are its own */
    size_t used;        /* octets of the input up to where to look for the next one */
    uint64_t corrected; /* codeblocks in which an error was corrected */
};

/*
 * Reads the first CLTU in `data`; its start sequence must begin with an octet. Decodes up to the
 * first rejected codeblock (the tail sequence, or one with errors), and removes the randomisation.
 * With BCH_CORRECT the start sequence may have one wrong bit, too. *c is set for every verdict;
 * `out` may be `data`.
 */
enum cltu_verdict cltu_read(const void *data, size_t len, enum bch_mode mode, bool randomised,
                            void *out, size_t room, struct cltu *c);

/* Are these CLTU_TAIL_LEN octets the tail sequence? */
bool cltu_is_tail(const uint8_t *octets);

/* A static text of one word. */
const char *cltu_verdict_name(enum cltu_verdict v);

#ifdef __cplusplus
}
#endif

#endif
