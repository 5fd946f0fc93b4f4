/* SPDX-License-Identifier: Apache-2.0 */
/* Links of the Cross Support Transfer Services over byte streams, and the engine's time. */
#ifndef TOOLS_CSTS_CONN_H
#define TOOLS_CSTS_CONN_H

#include "csts/engine.h"
#include "os/world.h"

struct csts_conn;

struct csts_host {
    struct world *world;
    struct csts *engine;
    struct alarm alarm;
};
void csts_host_init(struct csts_host *h, struct world *w, struct csts *engine);
void csts_host_fini(struct csts_host *h);
/* What was set or raised may have to be sent: pumps this link's connection from the loop. */
void csts_host_wake(struct csts_host *h, struct csts_link *l);

struct csts_conn_user {
    void (*notice)(void *context, struct csts_conn *c, const struct csts_notice *n);
    /* The connection is over: its memory is freed behind this call. 0, or HELIO_E*. */
    void (*gone)(void *context, struct csts_conn *c, int error);
    /* What was queued is written: more may be queued. NULL: nobody asks. */
    void (*room)(void *context, struct csts_conn *c);
};

/* Takes stream and link; NULL: memory is out, and both are closed. */
struct csts_conn *csts_conn_new(struct csts_host *h, struct stream *s, struct csts_link *l,
                                const struct csts_conn_user *user, void *context);
/* A user's. 0, or HELIO_E*. */
int csts_conn_open(struct csts_host *h, struct csts_conn **out, const struct address *to,
                   const struct csts_user_config *config, const struct csts_conn_user *user,
                   void *context);
struct csts_link *csts_conn_link(const struct csts_conn *c);
/* Soon, from the loop: what was called on the link is sent. */
void csts_conn_wake(struct csts_conn *c);
/* Closes it without a word, and without `gone`. Not from within a notice. */
void csts_conn_free(struct csts_conn *c);

#endif
