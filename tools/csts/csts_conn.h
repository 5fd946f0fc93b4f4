/* SPDX-License-Identifier: Apache-2.0 */
/* Links of the Cross Support Transfer Services on streams: the notices, around
 * cla/framed/isp1_conn.h. */
#ifndef TOOLS_CSTS_CONN_H
#define TOOLS_CSTS_CONN_H

#include "cla/framed/isp1_conn.h"
#include "csts/engine.h"

struct csts_conn;

struct csts_host {
    struct isp1_host isp;
    struct csts *engine;
    const struct sle_secure *secure; /* TLS of all connections; NULL: off. Set after the init */
};
void csts_host_init(struct csts_host *h, struct world *w, struct csts *engine);
void csts_host_fini(struct csts_host *h);
/* What was set or raised may have to be sent: pumps this link's connection from the loop. */
void csts_host_wake(struct csts_host *h, struct csts_link *l);

struct csts_conn_user {
    void (*notice)(void *context, struct csts_conn *c, const struct csts_notice *n);
    /* The connection has ended: its memory is freed behind this call. 0, or HELIO_E*. */
    void (*gone)(void *context, struct csts_conn *c, int error);
    /* What was queued is written: more may be queued. NULL: nobody asks. */
    void (*room)(void *context, struct csts_conn *c);
};

/* Takes stream and link; NULL: memory is out, or TLS cannot begin, and both are closed. */
struct csts_conn *csts_conn_new(struct csts_host *h, struct stream *s, struct csts_link *l,
                                const struct csts_conn_user *user, void *context);
/* A user's. 0, or HELIO_E*. */
int csts_conn_open(struct csts_host *h, struct csts_conn **out, const struct address *to,
                   const struct csts_user_config *config, const struct csts_conn_user *user,
                   void *context);
struct csts_link *csts_conn_link(const struct csts_conn *c);
/* For isp1_unbound_add; it leaves its place there when it is bound. */
struct isp1_conn *csts_conn_isp1(struct csts_conn *c);
/* In `gone`: what went wrong with TLS, for the operator; "" when nothing did. */
const char *csts_conn_why(const struct csts_conn *c);
/* Soon, from the loop: what was called on the link is sent. */
void csts_conn_wake(struct csts_conn *c);
/* Closes it without a word, and without `gone`. Not from within a notice. */
void csts_conn_free(struct csts_conn *c);

#endif
