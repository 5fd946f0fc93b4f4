/* SPDX-License-Identifier: Apache-2.0 */
/* Certificate files of a provider, which are read again when they have changed: in another thread,
 * since many CAs take seconds. Connections that arrive meanwhile wait for them. */
#ifndef TOOLS_SLE_CERTIFICATES_H
#define TOOLS_SLE_CERTIFICATES_H

#include "base/list.h"
#include "os/log/say.h"
#include "os/tls/tls.h"
#include "os/world.h"

#define CERTIFICATES_WAITING 512 /* connections; further ones are reset */

/* Lies in its user's memory. */
struct certificates {
    struct world *world;
    struct tls *tls; /* NULL: no TLS; then nothing waits. Borrowed until certificates_fini. */
    struct say *log;
    const char *const *names; /* of the files in the configuration: certificate, key, CAs */
    void (*take)(void *context, struct stream *s); /* a connection; its callee has it */
    void *context;
    /* its own: */
    struct list waiting; /* connections, the first one first */
    size_t len;
};

/* The fields above `waiting` are set. */
void certificates_init(struct certificates *c);
/* After it nothing is called any more; waiting connections are closed. */
void certificates_fini(struct certificates *c);
/* Begins to read the files, if they have changed. The log says how it ended. */
void certificates_look(struct certificates *c);
/* A new connection. If the files have changed, `take` gets it when they have been read; else, or if
 * there are no threads, within this call. */
void certificates_take(struct certificates *c, struct stream *s);

#endif
