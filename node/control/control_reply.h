/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of an answer, made in pieces: an object, whose list may follow in steps. So an answer of
 * 100,000 rows needs memory for one piece only, and never blocks the loop for long.
 */
#ifndef NODE_CONTROL_REPLY_H
#define NODE_CONTROL_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include "node/control/control_list.h"

#define CONTROL_PIECE 65536           /* bytes of a list's text, and one item */
#define CONTROL_SLICE (250 * TICK_US) /* a step begins no further item after that */
#define CONTROL_STEPS 256             /* of one step, in any case */

struct control_reply {
    struct json_t *out;        /* NULL: there is nothing to answer */
    struct control_list *list; /* NULL: `out` is all */
    enum { REPLY_PREPARING, REPLY_FIRST, REPLY_ITEMS } state;
    char *text; /* [done, len) is to be written; cap bytes of memory */
    size_t len, done, cap;
};

/* Takes over both arguments. */
void control_reply_begin(struct control_reply *r, struct json_t *out, struct control_list *list);
/* Makes the next piece of text, if [done, len) is empty. False: no memory. */
bool control_reply_step(struct control_reply *r, const struct world *w);
/* All of its text has been made. */
static inline bool control_reply_whole(const struct control_reply *r)
{
    return r->out == NULL;
}
/* The next piece cannot be made before its list's wake(). */
static inline bool control_reply_waits(const struct control_reply *r)
{
    return r->list != NULL && r->list->waits;
}
void control_reply_fini(struct control_reply *r);

#endif
