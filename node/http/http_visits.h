/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of the node's HTTP server: which of them has to go, so that a new client is
 * answered whatever others hold open. A connection is given room at once; when there are too many,
 * of all or of one address, one goes of the address that holds most: that whose last step (it
 * came, it asked, its answer was read) was first. Each has a time by which it must have come to the
 * next step. No sockets here.
 */
#ifndef NODE_HTTP_VISITS_H
#define NODE_HTTP_VISITS_H

#include <stdbool.h>

#include "base/list.h"
#include "base/tick.h"
#include "os/address.h"

#define HTTP_VISITS_MAX 64
#define HTTP_VISITS_OF_ONE 16           /* address, or IPv6 prefix (address_prefix) */
#define HTTP_FIRST_REQUEST (5 * TICK_S) /* from the connection to the end of the first head */
#define HTTP_ANSWER (30 * TICK_S)       /* from there until the answer is read */
#define HTTP_NEXT_REQUEST (60 * TICK_S) /* from there to the end of the next head */

struct http_visit {
    struct list node; /* in http_visits.all, in the order of their last step */
    uint8_t from[ADDRESS_PREFIX_MAX];
    size_t from_len;
    size_t same; /* connections of its address that are not over, itself included */
    int fd;
    tick due;
    bool over; /* http_visits_drop chose it: its socket is shut down, its end follows */
};

struct http_visits {
    struct list all;
    size_t len; /* those that are not over */
};

void http_visits_init(struct http_visits *v);
/* A new connection, whose memory is the caller's until http_visits_sub. */
void http_visits_add(struct http_visits *v, struct http_visit *c, int fd,
                     const struct address *from, tick now);
void http_visits_sub(struct http_visits *v, struct http_visit *c);
/* It has asked; its answer has been read. */
void http_visits_asked(struct http_visits *v, struct http_visit *c, tick now);
void http_visits_answered(struct http_visits *v, struct http_visit *c, tick now);

/* One that has to go now: there are too many, or its time is over. It is counted as gone; the
 * caller shuts its socket down and asks again. NULL: none. */
struct http_visit *http_visits_drop(struct http_visits *v, tick now);

#endif
