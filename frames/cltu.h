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

/* Octets of a CLTU that carries len octets: 2 + 8 * ceil(len / 7) + 8. */
size_t cltu_size(size_t len);

/* Writes one that carries one or several whole frames, `len` octets, at least one. `randomise`: the
 * sequence PN_TC is added before encoding. Returns its octets, or 0 when `room` is less than
 * cltu_size(len). `out` must not overlap `data`. */
size_t cltu_write(const void *data, size_t len, bool randomise, void *out, size_t room);

enum cltu_verdict {
    CLTU_OK,
    CLTU_NO_START, /* no start sequence in it */
    CLTU_EMPTY,    /* no codeblock was accepted behind the start sequence */
    CLTU_NO_TAIL,  /* the octets ended before a codeblock was rejected: some may be missing */
    CLTU_LONG,     /* more than there is room for */
};

struct cltu {
    size_t len;         /* octets written, fill and all: the frame says how many are its own */
    size_t used;        /* octets of the input up to where to look for the next one */
    uint64_t corrected; /* codeblocks in which an error was corrected */
};

/*
 * Reads the first CLTU in `data`, whose start sequence begins with an octet: decodes up to the
 * first codeblock that is rejected, be it the tail sequence or one with errors, and
 * takes the randomisation away. With BCH_CORRECT the start sequence may have one wrong bit, too.
 * *c is filled in with whatever verdict; `out` may be `data`.
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
