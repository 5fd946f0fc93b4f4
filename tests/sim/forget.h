/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end forgets, at any step, while up to three frames are lost. A case is a few numbers; its
 * text repeats it.
 */
#ifndef TESTS_SIM_FORGET_H
#define TESTS_SIM_FORGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FORGET_LOSSES 3
#define FORGET_SEGMENTS 5

enum forget_how {
    FORGET_RECEIVER, /* the receiver restarts */
    FORGET_SENDER,   /* the sender restarts */
    FORGET_GAP_NONE, /* no frame arrives for long; neither end is informed … */
    FORGET_GAP_SENDER,
    FORGET_GAP_RECEIVER,
    FORGET_GAP_BOTH, /* … or both do */
    FORGET_HOWS
};

struct forget_case {
    size_t peers; /* index of forget_peers */
    enum forget_how how;
    bool plain, orange, late_store;
    unsigned segments;
    size_t step; /* it forgets after so many things that happened to it; 0: never */
    size_t lost[FORGET_LOSSES];
    size_t lost_len;
    size_t late; /* this frame arrives late; SIZE_MAX: none */
};

struct forget_result {
    bool forgot;               /* there was such a step */
    size_t frames;             /* in all */
    size_t dark_from, dark_to; /* of these, all lost in the gap */
    bool done;                 /* the sender says: delivered */
    unsigned sessions;         /* that it took */
    const char *wrong;         /* NULL: all holds */
};

extern const char *const forget_peers[]; /* ends with NULL */

/* Does a case of this kind make sense? */
bool forget_applies(const struct forget_case *c);

/* show: each frame and what happens, to the standard output. */
struct forget_result forget_run(const struct forget_case *c, bool show);

/* "peers=… how=… …", and back; false: not such a text. */
void forget_text(const struct forget_case *c, char *out, size_t cap);
bool forget_parse(const char *text, struct forget_case *out);

#endif
