/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol side of applications, between streams (apps.c) and the agent: what a message
 * means, which answers are due, in which order.
 */
#ifndef TOOLS_APP_H
#define TOOLS_APP_H

#include "base/hash.h"
#include "base/list.h"
#include "tools/aap2/aap2_wire.h"
#include "tools/node/apps.h"

#define APP_REQUESTS_MAX 4096      /* unanswered requests of a connection */
#define APP_OUT_MAX (1U << 20)     /* bytes waiting to be written, beyond which reading stops */
#define APP_WINDOW_MAX 1024        /* deliveries outstanding */
#define APP_CONNECTIONS_MAX 512    /* below the usual limit of 1024 descriptors */
#define APP_TURN_TIME (5 * TICK_S) /* who has the turn and says nothing for so long loses it */
#define APP_READ_FULL 65536 /* bytes read at once while the node's memory for requests is full */
#define APP_CONFIGURE_TIME (30 * TICK_S) /* for a connection to be configured */
#define APP_MESSAGE_CAP 4096             /* our messages: a few EIDs and numbers */

/* One message to write, with the payload behind it. */
struct app_out {
    struct list node;
    uint64_t key;       /* of the delivery; 0: none */
    struct buf *bundle; /* holds the payload; NULL without one */
    struct slice payload;
    size_t len;
    uint8_t bytes[];
};

/* An endpoint that connections share. */
struct app_endpoint {
    struct list node;
    struct eid eid;
    char *secret;
    uint32_t users;
};

/* A request whose answer is due; answers go out in the order of requests. */
struct app_request {
    struct list node; /* of its connection */
    struct hash_node by_token;
    struct app *app; /* NULL: the connection is gone */
    uint64_t token, bytes, lifetime_ms;
    struct bundle_id id;
    struct eid destination;
    bool waiting;           /* in apps->requests: the agent's answer will come */
    struct app_out *answer; /* NULL: not known yet */
};

/* What a subscriber has to answer, in this order. */
struct app_pending {
    struct list node;
    bool keepalive;
    bool recalled; /* the bundle ended before its answer */
    uint64_t key;
};

/* One connection. */
struct app {
    struct list node; /* of apps->all */
    struct apps *apps;
    struct aap2_reader reader;
    struct app_endpoint *endpoint; /* NULL: not configured */
    bool subscriber;               /* it has a registration: */
    uint64_t reg;
    bool failed; /* to be closed when what waits is written */
    bool dead;   /* to be closed now: nobody reads it */
    tick keepalive, heard, asked, begun;
    struct list requests, pending;
    size_t requests_len;
    struct list out; /* struct app_out */
    size_t out_bytes;
    uint64_t reading;  /* bytes of the payload that is under way */
    struct list flush; /* of apps->flush, when there is something to write or to read on */
};

struct apps {
    struct node *node;
    struct list all, endpoints, flush;
    struct hash requests; /* by token */
    uint64_t next_token, next_reg;
    struct apps_counters counters;
    bool stopped;
    struct app *turn; /* while memory is full: whose payload goes on; NULL: nobody's is under way */
    tick refusal_told;        /* the last line about a refused request */
    uint64_t refusals_untold; /* since then */
    struct stream_listener *server;
};

void app_init(struct app *c, struct apps *apps);
/* The connection has ended: what it did not confirm goes back to the agent. Frees nothing of the
 * socket. */
void app_fini(struct app *c);

/* n bytes were read into the reader's space. Takes messages until there are none, or
 * app_may_read is false. */
void app_fed(struct app *c, size_t n);

/* May more be read and begun? */
bool app_may_read(const struct app *c);

/* Do unanswered requests and payloads under way have all of bundles.memory? */
bool app_memory_full(const struct apps *a);

/* app_cancel.c: the status of the answer; *why (static) when it is no success. */
Aap2__ResponseStatus app_cancel(struct app *c, const Aap2__CancelADU *m, const char **why);

/* The connection has something to write, or may read on. */
void app_touch(struct app *c);
/* Writes o, which is the connection's now; NULL: memory is out. */
void app_put_out(struct app *c, struct app_out *o);

/* app_delivery.c */
void app_deliver(struct app *c, const struct agent_action *a);
void app_recall(struct app *c, uint64_t key); /* the bundle ended before its answer */
void app_answered(struct app *c, const Aap2__AAPResponse *m);
/* Once a second. Ends who is silent, and who is still not configured after APP_CONFIGURE_TIME. */
void app_keepalive(struct app *c, tick now);

#endif
