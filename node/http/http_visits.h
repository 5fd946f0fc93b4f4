/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of the node's HTTP server, and which of them is closed so that a new client is
 * always served. A new connection is accepted at once. If there are too many, in all or of one
 * address, one of the address with most connections is closed: the one whose last step (connect,
 * request, answer read) is the oldest. Each step has a timeout. This code uses no sockets.
 */
#ifndef NODE_HTTP_VISITS_H
#define NODE_HTTP_VISITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/tick.h"
#include "os/net/address.h"

#define HTTP_VISITS_MAX 64
#define HTTP_VISITS_OF_ONE 16           /* address, or IPv6 prefix (address_prefix) */
#define HTTP_FIRST_REQUEST (5 * TICK_S) /* from the connection to the end of the first head */
#define HTTP_ANSWER (30 * TICK_S)       /* from there until the answer is read */
#define HTTP_NEXT_REQUEST (60 * TICK_S) /* from there to the end of the next head */

struct http_visit {
    struct list node; /* in http_visits.all, in the order of their last step */
    uint8_t from[ADDRESS_PREFIX_MAX];
    size_t from_len;
    size_t same; /* open connections of its address, itself included */
    int fd;
    tick due;
    bool over; /* http_visits_drop chose it: its socket is shut down, its end follows */
};

struct http_visits {
    struct list all;
    size_t len;   /* open connections */
    uint64_t cut; /* closed because there were too many */
};

void http_visits_init(struct http_visits *v);
/* Adds a connection, whose memory is the caller's until http_visits_sub. */
void http_visits_add(struct http_visits *v, struct http_visit *c, int fd,
                     const struct address *from, tick now);
void http_visits_sub(struct http_visits *v, struct http_visit *c);
/* It has asked; its answer has been read. */
void http_visits_asked(struct http_visits *v, struct http_visit *c, tick now);
void http_visits_answered(struct http_visits *v, struct http_visit *c, tick now);

/* Returns a connection to close: there are too many, or its timeout has passed. It no longer
 * counts; the caller shuts its socket down and calls again. NULL: none. */
struct http_visit *http_visits_drop(struct http_visits *v, tick now);

#endif
