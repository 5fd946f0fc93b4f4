/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each link and each route of the file is looked at, for each session of an unconfigured peer: a
 * node has few of them. Nothing can go wrong.
 */
#include "node/node_names.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

int node_names_pattern(const struct eid *peer, struct eid_pattern *out)
{
    char text[EID_TEXT_MAX + 8];
    size_t len = eid_text(peer, text);
    if (peer->scheme == EID_IPN)
        len--; /* the service number, 0 */
    text[len] = '*';
    text[len + 1] = '\0';
    return eid_pattern_parse(text, out) < 0 ? HELIO_EINVAL : 0;
}

/* Does the i-th route of the file compete with that of a neighbour with these endpoints? */
static bool is_routed(const struct config *c, size_t i, const struct eid_pattern *peer)
{
    const struct eid_patterns *p = &c->routes[i].patterns;
    for (size_t k = 0; k < p->len; k++)
        if (eid_pattern_rank(&p->at[k]) >= eid_pattern_rank(peer) &&
            eid_pattern_meet(&p->at[k], peer))
            return true;
    return false;
}

/* Goes through the links that the name is reserved for, links before routes: the one at *at or
 * behind it. NULL: there are no more. */
static const struct node_link *next_holder(const struct node *n, const struct eid *peer, size_t *at)
{
    const struct config *c = n->file != NULL ? n->file : n->config;
    struct eid_pattern all;
    const bool routes = node_names_pattern(peer, &all) == 0;
    for (; *at < n->links_len; ++*at) {
        const struct node_link *l = n->links[*at];
        if (l != NULL && !l->unconfigured && eid_same_node(&l->config->peer, peer))
            return l;
    }
    for (; routes && *at < n->links_len + c->routes_len; ++*at) {
        const size_t i = *at - n->links_len;
        const struct node_link *l =
            is_routed(c, i, &all) ? node_link_find(n, c->routes[i].via) : NULL;
        if (l != NULL)
            return l;
    }
    return NULL;
}

const struct node_link *node_names_holder(const struct node *n, const struct eid *peer)
{
    size_t at = 0;
    return next_holder(n, peer, &at);
}

static void say_why(const struct node_link *l, const struct eid *peer, char *why, size_t why_cap)
{
    char name[EID_TEXT_MAX];
    eid_text(peer, name);
    const bool its = eid_same_node(&l->config->peer, peer);
    snprintf(why, why_cap,
             "%s link %.64s (%s). It may connect with a certificate that names it (tls), from the "
             "host of that link's remote, or over a link of its own here (adapter: tcpcl, "
             "peer: %s)",
             its ? "that is the peer of" : "a route of the file leads there over", l->config->name,
             l->config->adapter, name);
}

bool node_names_allow(const struct node *n, const struct eid *peer, const struct cla_proof *proof,
                      char *why, size_t why_cap)
{
    size_t at = 0;
    const struct node_link *first = next_holder(n, peer, &at);
    if (first == NULL || proof->certificate)
        return true;
    for (const struct node_link *l = first; l != NULL; ++at, l = next_holder(n, peer, &at))
        if (proof->host != NULL && l->cla != NULL && cla_at_remote(l->cla, proof->host))
            return true;
    say_why(first, peer, why, why_cap);
    return false;
}

void node_names_changed(struct node *n)
{
    for (size_t i = 0; i < n->links_len; i++) {
        struct node_link *l = n->links[i];
        if (l != NULL && l->unconfigured && !l->proven &&
            node_names_holder(n, &l->config->peer) != NULL)
            l->over = true;
    }
    node_wake(n);
}
