/* SPDX-License-Identifier: Apache-2.0 */
/* A node in a virtual world, as helio-sim has it: what its configuration says, with its store in
 * memory. */
#ifndef TESTS_FUZZ_VIRTUAL_NODE_H
#define TESTS_FUZZ_VIRTUAL_NODE_H

#include <stdio.h>
#include <stdlib.h>

#include "cla/cla.h"
#include "node/app/apps.h"
#include "node/config/config.h"
#include "tests/fuzz/virtual_peer.h"

#define NODE_SOCKET "node"

struct virtual_node {
    struct rng rng;
    struct virtual_world v;
    struct node node;
    unsigned closing;
};

/* Of a text that is good; borrowed by nodes until the process ends. */
static inline const struct config *node_config(const char *text)
{
    static struct config config;
    static struct conf_errors errors;
    static bool parsed;
    if (!parsed) {
        conf_errors_init(&errors, "node.yaml");
        if (config_parse(&config, text, strlen(text), cla_at, &errors) != 0) {
            fprintf(stderr, "%s\n", errors.text[0]);
            abort();
        }
        parsed = true;
    }
    return &config;
}

/* Datagrams reach nobody. */
static inline bool carry_nothing(void *context, struct virtual_port *from, const struct address *to,
                                 struct slice head, struct slice data)
{
    (void)context;
    (void)from;
    (void)to;
    return head.len + data.len > 0;
}

static inline struct virtual_node *node_begin(const struct config *config)
{
    struct virtual_node *n = calloc(1, sizeof *n);
    char why[256];
    assert(n != NULL);
    rng_init(&n->rng, 1);
    virtual_init(&n->v, UINT64_C(1790000000) * TICK_S, &n->rng, 0);
    n->v.carry = carry_nothing;
    n->node.config = config;
    n->node.ops = &node_ops;
    n->node.world = &n->v.world;
    say_init(&n->node.say, LEVEL_ERROR, false, "");
    int rc = node_open(&n->node, true);
    const struct stream_place at = {.path = NODE_SOCKET};
    if (rc == 0)
        rc = apps_open(&n->node.apps, &n->node, &at, why, sizeof why);
    if (rc == 0)
        rc = node_start(&n->node);
    assert(rc == 0);
    return n;
}

static inline void node_step(void *context)
{
    struct virtual_node *n = context;
    node_check(&n->node);
    apps_check(n->node.apps);
}

static inline void node_play(struct virtual_node *n, tick time)
{
    world_play(&n->v, time, node_step, n);
}

static inline void node_on_closed(void *context)
{
    struct virtual_node *n = context;
    n->closing--;
}

static inline void node_end(struct virtual_node *n)
{
    struct node *node = &n->node;
    for (size_t i = 0; i < node->links_len; i++)
        if (node->links[i] != NULL && node->links[i]->cla != NULL) {
            n->closing++;
            node->links[i]->cla->ops->close(node->links[i]->cla, node_on_closed, n);
        }
    for (int i = 0; n->closing > 0 && i < 100; i++)
        world_play(&n->v, TICK_S, NULL, NULL);
    virtual_settle(&n->v);
    virtual_fire_soon(&n->v);
    assert(n->closing == 0);
    apps_stop(node->apps);
    apps_close(node->apps);
    apps_free(node->apps);
    node_close(node);
    virtual_fini(&n->v);
    free(n);
}

#endif
