/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of a node: GET /metrics over HTTP, one request at a time. */
#ifndef TOOLS_CSTS_FETCH_H
#define TOOLS_CSTS_FETCH_H

#include "base/slice.h"
#include "os/net/address.h"
#include "os/world.h"

enum { FETCH_MAX = 16 << 20 }; /* octets of an answer */

struct fetch {
    struct world *world;
    struct address from;
    struct stream *stream; /* NULL: no request is under way */
    char request[512];
    size_t request_len, written;
    uint8_t *octets;
    size_t len, cap;
    struct alarm alarm; /* the end of a request that hangs */
    /* The text of an answer with 200, which lies here until this returns; or why there is none. */
    void (*told)(void *context, struct slice text, const char *why);
    void *context;
};
/* token: sent as Authorization: Bearer, if it is not NULL. */
void fetch_init(struct fetch *f, struct world *w, const struct address *from, const char *token,
                void (*told)(void *context, struct slice text, const char *why), void *context);
/* Asks, unless a request is under way. */
void fetch_ask(struct fetch *f);
void fetch_fini(struct fetch *f);

#endif
