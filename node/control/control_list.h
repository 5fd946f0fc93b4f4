/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer's list that may be long: bundles, links, sessions; or a change of many bundles, without
 * a list. It is made in small steps, and the node may change in between.
 *
 *     PREPARING ──prepare() false──► head(), then next() for each item ──next() false──► free()
 */
#ifndef NODE_CONTROL_LIST_H
#define NODE_CONTROL_LIST_H

#include "node/node.h"

struct control_list;
struct json_t;

struct control_list_ops {
    const char *key; /* the list's in the answer, the last one there; NULL: no list, no next() */
    /* Optional: work before the first item, in steps of some µs. True: there is more. */
    bool (*prepare)(struct control_list *l);
    /* Optional: after that, what is known about the whole list. */
    void (*head)(const struct control_list *l, struct json_t *out);
    /* The next item, which is the caller's; NULL: not in this step. False: there are no more. */
    bool (*next)(struct control_list *l, struct json_t **item);
    void (*free)(struct control_list *l);
};

/* Each kind of list puts this first. */
struct control_list {
    const struct control_list_ops *ops;
    struct node *node;
    bool waits; /* prepare() has nothing to do before wake(): its `true` is that */
    /* the reader's; NULL: it reads all at once, and there are no threads that something could wait
     * for */
    void (*wake)(void *context);
    void *wake_context;
};

/* Makes all of it at once, puts it into the answer, and frees it. */
void control_list_all(struct control_list *l, struct json_t *out);

static inline void control_list_free(struct control_list *l)
{
    if (l != NULL)
        l->ops->free(l);
}

#endif
