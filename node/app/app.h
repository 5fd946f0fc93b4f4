/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol side of applications, between streams (apps.c) and the agent: what a message
 * means, which answers are due, in which order.
 */
#ifndef NODE_APP_H
#define NODE_APP_H

#include "base/hash.h"
#include "base/list.h"
#include "base/turn_size.h"
#include "node/aap2/aap2_wire.h"
#include "node/app/apps.h"

#define APP_REQUESTS_MAX 4096  /* unanswered requests of a connection */
#define APP_OUT_MAX (1U << 20) /* bytes waiting to be written, beyond which reading stops */
#define APP_WINDOW_MAX 1024    /* deliveries outstanding */
#define APP_ROUND_TIME TICK_MS /* a round with more has fewer messages next time */
#define APP_MESSAGES_MAX 256   /* taken from one user's connections before others have their turn */
#define APP_MESSAGES_SHARED                                                                        \
    8 /* the same while others have bundles under way, or rounds are long                          \
       */
#define APP_TURN_TIME                                                                              \
    (5 * TICK_S)            /* a payload with the turn that others wait for grows within it */
#define APP_READ_FULL 65536 /* bytes read at once while the node's memory for requests is full */
#define APP_AHEAD_MAX 32768 /* bytes read ahead of a connection with many short messages */
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

/* Whose connections they are. */
struct app_user {
    struct list node;     /* of apps->users */
    uint64_t id;          /* user id + 1; 0: not known */
    uint32_t connections; /* >= 1 */
    uint32_t busy;        /* of these, with bundles under way */
    uint32_t messages;    /* taken since the turn began */
};

/* One connection. */
struct app {
    struct list node; /* of apps->all */
    struct apps *apps;
    struct app_user *user;
    struct aap2_reader reader;
    struct app_endpoint *endpoint; /* NULL: not configured */
    bool subscriber;               /* it has a registration: */
    uint64_t reg;
    bool refused; /* its last bundle: others have their turn at once */
    bool yields;  /* its user had its messages: it goes on with the next turn */
    bool failed;  /* to be closed when what waits is written */
    bool dead;    /* to be closed now: nobody reads it */
    tick keepalive, heard, asked, begun;
    struct list requests, pending;
    size_t requests_len;
    struct list out; /* struct app_out */
    size_t out_bytes;
    uint64_t reading;    /* bytes of the payload that is under way */
    uint64_t reserved;   /* of these, that have room among all bundles (agent_reserve) */
    bool starves;        /* not all of them have */
    uint64_t unanswered; /* of its requests that wait for the agent's answer */
    struct list flush;   /* of apps->flush, when there is something to write or to read on; of
                            apps->yielded while it yields */
};

struct apps {
    struct node *node;
    struct list all, endpoints, flush, users;
    struct list yielded;       /* struct app.flush: those that wait for the next turn … */
    struct alarm more;         /* … which is that of the loop */
    bool turn_due;             /* the alarm has fired */
    bool turn_follows;         /* the last turn left something */
    struct turn_size messages; /* of one user in a turn */
    uint64_t busy_users;       /* with bundles under way */
    uint64_t busy;             /* connections with bundles under way */
    uint64_t starving;         /* connections */
    struct hash requests;      /* by token */
    uint64_t next_token, next_reg;
    struct apps_counters counters;
    bool stopped;
    struct app *turn;         /* while memory is full: whose payload goes on beyond its share; NULL:
                                 nobody's         is under way */
    tick turn_began;          /* or when it was looked at last */
    uint64_t turn_bytes;      /* of its payload then */
    tick refusal_told;        /* the last line about a refused request */
    uint64_t refusals_untold; /* since then */
    struct stream_listener *server;
};

/* user: it joined. */
void app_init(struct app *c, struct apps *apps, struct app_user *user);
/* The connection has ended: what it did not confirm goes back to the agent. Frees nothing of the
 * socket. */
void app_fini(struct app *c);

/* Has its user had its messages of this turn? */
bool app_had_turn(const struct app *c);
/* n bytes were read into the reader's space. Takes messages until there are none, its user has had
 * its turn (one is taken all the same if n > 0), or app_may_read is false. */
void app_fed(struct app *c, size_t n);

/* app_share.c: may more be read and begun? */
bool app_may_read(const struct app *c);
/* Do unanswered requests and payloads under way have all of bundles.memory? */
bool app_memory_full(const struct apps *a);
/* So many bytes of a payload are there now. */
void app_set_reading(struct app *c, uint64_t bytes);
/* A request waits for the agent's answer, or does no more; c NULL: its connection is gone. */
void app_unanswered_add(struct app *c, uint64_t bytes);
void app_unanswered_sub(struct apps *a, struct app *c, uint64_t bytes);
/* The connection ends: its requests count for nobody's share any more. */
void app_unanswered_drop(struct app *c);
/* Does its payload, which has the turn, not grow while others wait? Once a second. */
bool app_holds_up(struct app *c, tick now);
/* A turn of all users begins: fn for each connection of apps->yielded and apps->flush, which is out
 * of them then and may end; those that come meanwhile have the next turn. fn returns whether the
 * connection found its user's turn used up: it is among the first of its user in the next one. */
void app_turn(struct apps *a, bool (*fn)(struct app *c));
/* Those that yielded still wait, when the loop has not looked at its descriptors since: fn for the
 * others. Else it is app_turn. */
void app_go_on(struct apps *a, bool (*fn)(struct app *c));
void app_turns_init(struct apps *a);
void app_turns_fini(struct apps *a);
/* Its user had its turn: it goes on with the next one, after all that the loop has to do. */
void app_yield(struct app *c);
/* One connection more of a user; NULL: no place for it, or no memory. */
struct app_user *app_user_join(struct apps *a, uint64_t id);
void app_user_leave(struct app_user *u);

/* The connection has something to write, or may read on. */
void app_touch(struct app *c);
/* Writes o, which is the connection's now; NULL: memory is out. */
void app_put_out(struct app *c, struct app_out *o);

/* app_delivery.c */
void app_deliver(struct app *c, const struct agent_action *a);
void app_recall(struct app *c, uint64_t key); /* the bundle ended before its answer */
/* The next answer of a subscriber. False: none is due, or the message is no answer. */
bool app_answered(struct app *c, const Aap2__AAPResponse *m);
/* Once a second. Ends who is silent, and who is still not configured after APP_CONFIGURE_TIME. */
void app_keepalive(struct app *c, tick now);

#endif
