/* SPDX-License-Identifier: Apache-2.0 */
/* An end's connection to its node: one message is with the node at a time, and is given again
 * when the node goes away before it has answered. */
#ifndef TOOLS_PLAN_PLANS_NODE_H
#define TOOLS_PLAN_PLANS_NODE_H

#include "os/log/say.h"
#include "tools/perf/perf_link.h"

/* What an end does with its connection. */
struct plans_node_user {
    /* Is something to be sent? Sets *to and the octets, which are the node's to free. */
    bool (*next)(void *context, const char **to, uint8_t **octets, size_t *len);
    void (*sent)(void *context, bool good); /* the node's answer to it */
    void (*arrived)(void *context, const char *source, struct slice payload);
    void (*linked)(void *context); /* the connection is there, again */
    void (*turn)(void *context);   /* something happened: call plans_node_turn */
};

struct plans_node {
    struct world *world;
    struct say *log;
    const struct plans_node_user *user;
    void *context;
    struct perf_options options;
    struct perf_link link;
    const char *group;            /* that it also receives for; NULL: none */
    struct aap2_client *group_rx; /* NULL: not open */
    tick group_at;                /* then it is tried again */
    bool group_told;              /* that it is not open was said */
    bool open, linked;
    bool given; /* the message is with the node */
    char to[AAP2_EID_MAX];
    uint8_t *octets; /* NULL: no message */
    size_t len;
};

void plans_node_open(struct plans_node *n, struct world *w, struct say *log, const char *socket,
                     const char *service, const char *group, tick lifetime, uint64_t payload_max,
                     const struct plans_node_user *user, void *context);
void plans_node_close(struct plans_node *n);
/* Would it take a message now? */
bool plans_node_free(const struct plans_node *n);

/* Receives, and sends. *next: when to call it again. False: the node refuses the connection for
 * good, which was said. */
bool plans_node_turn(struct plans_node *n, tick now, tick *next);

#endif
