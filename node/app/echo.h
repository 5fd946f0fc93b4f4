/* SPDX-License-Identifier: Apache-2.0 */
/* What the echo endpoint remembers of its answers, so that none of them starts an endless one. */
#ifndef NODE_ECHO_H
#define NODE_ECHO_H

#include <stdint.h>

#include "base/tick.h"

/* With echo_mark an answer carries this block (of a type for private use, RFC 9171 §9.1), and what
 * carries it is never answered. */
#define ECHO_BLOCK 236
#define ECHO_MARK                                                                                  \
    "\x64"                                                                                         \
    "echo" /* CBOR text */

/* Without the mark, and from other implementations: Each endpoint gets at most so many answers at
 * once, and one more in each pause; and of answers with the same payload far fewer: an endless echo
 * has always the same, and a loop that is not answered once has ended. */
#define ECHO_BURST 1000
#define ECHO_PAUSE (10 * TICK_MS)
#define ECHO_SAME_BURST 32
#define ECHO_SAME_PAUSE (60 * TICK_S)

#define ECHO_SETS 256
#define ECHO_WAYS 4

/* A table of fixed size: who asks anew takes the place of who has been quiet for longest. */
struct echo_table {
    struct {
        uint64_t hash;
        tick spent; /* when all that was answered is made up for */
    } at[ECHO_SETS][ECHO_WAYS];
};

struct echo_state {
    struct echo_table sources, payloads;
};

/* May one with this hash be answered? Counts it when it may. */
bool echo_allow(struct echo_table *t, uint64_t hash, tick pause, unsigned burst, tick now);

#endif
