/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One association of a user of helio-csts (monitor, forward, data), in a loop of its own:
 * caller_open makes engine and loop, caller_run connects and runs it to its end, caller_close frees
 * all. Each command adds its own part by a table of functions.
 */
#ifndef TOOLS_CSTS_CALLER_H
#define TOOLS_CSTS_CALLER_H

#include "os/uv_signals.h"
#include "tools/csts/csts_conn.h"
#include "tools/csts/helio_csts.h"

struct csts_caller;

/* `self` is the caller's `self`. */
struct csts_caller_ops {
    /* Before the connection: what else the command needs. Below 0: it has failed, and said so. */
    int (*begin)(void *self);
    void (*notice)(void *self, const struct csts_notice *n); /* of the association */
    void (*room)(void *self); /* what was queued is written; NULL: not needed */
    void (*late)(void *self); /* the alarm, while there is a connection */
    /* SIGINT, SIGTERM. True: the command ends in order; false: the connection is cut. */
    bool (*signal)(void *self);
    void (*end)(void *self); /* releases what begin made; NULL: nothing */
};

struct csts_caller {
    const struct csts_caller_ops *ops;
    void *self;
    const struct csts_terms *terms;
    const struct address *to;
    struct world *world;
    struct csts *csts;      /* NULL: memory is out */
    struct csts_conn *conn; /* NULL: none, or no longer */
    struct alarm alarm;
    bool failed; /* and said so */
    /* private */
    struct csts_host host;
    struct sle_secure secure;
    struct sle_digests *digests;
    struct uv_signals *signals;
    enum sle_end over;
    bool ended;
};

/* ops, self, terms and to are set, the rest is 0. Returns 0, or the exit code: then it has said
 * why, and nothing is to be closed. */
int caller_open(struct csts_caller *c);
/* Runs to the end of the association. wait: time until the alarm. False: it did not begin. */
bool caller_run(struct csts_caller *c, tick wait);
void caller_close(struct csts_caller *c);

tick caller_now(const struct csts_caller *c);
/* The first failure is shown; all set `failed`. */
void caller_fail(struct csts_caller *c, const char *what, const char *why);
/* The provider did not do in time what it had to: the association is aborted. */
void caller_abort(struct csts_caller *c, const char *why);

#endif
