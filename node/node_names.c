/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All links and static routes are looked at for each session of an unconfigured peer: a node has
 * few of them. A contact plan has an index of its nodes. Nothing can go wrong.
 */
#include "node/node_names.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "node/plan/node_plan.h"

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

/* The peer itself said so, in a session or in a beacon that anyone can send: that reserves nothing.
 */
static bool is_claim(const struct node_link *l)
{
    return l->unconfigured || l->config->found != 0;
}

/* The link of the i-th static route, if that reserves the name: it is as specific as the peer's own
 * one, and is not that. *more: others behind it may. */
static const struct node_link *route_holder(const struct node *n, size_t i, const struct eid *peer,
                                            const struct eid_pattern *own, bool *more)
{
    struct eid_pattern p;
    uint32_t link;
    *more = agent_route_at(n->agent, i, &p, &link) &&
            eid_pattern_rank(&p) >= eid_pattern_rank(own); /* the most specific are first */
    if (!*more || !eid_pattern_meet(&p, own))
        return NULL;
    const struct node_link *l = n->links[link];
    assert(l != NULL);
    return is_claim(l) && eid_same_node(&l->config->peer, peer) ? NULL : l;
}

/* Goes through the links that the name is reserved for, links before routes: the one at *at or
 * behind it. NULL: there are no more. */
static const struct node_link *next_holder(const struct node *n, const struct eid *peer, size_t *at)
{
    struct eid_pattern own;
    for (; *at < n->links_len; ++*at) {
        const struct node_link *l = n->links[*at];
        if (l != NULL && !is_claim(l) && eid_same_node(&l->config->peer, peer))
            return l;
    }
    for (bool more = node_names_pattern(peer, &own) == 0; more; ++*at) {
        const struct node_link *l = route_holder(n, *at - n->links_len, peer, &own, &more);
        if (l != NULL)
            return l;
    }
    return NULL;
}

/* Has the contact plan contacts of this node with the peer? Then it routes bundles to the peer. */
static bool is_planned(const struct node *n, const struct eid *peer)
{
    uint64_t number;
    return n->plan != NULL && plan_router_number(peer, &number) && node_plan_meets(n->plan, number);
}

/* l: the first link that the name is reserved for; NULL: the contact plan reserves it. */
static void say_why(const struct node_link *l, const struct eid *peer, char *why, size_t why_cap)
{
    char name[EID_TEXT_MAX];
    eid_text(peer, name);
    if (l == NULL) {
        snprintf(why, why_cap,
                 "the contact plan has contacts with it. It may connect with a certificate that "
                 "names it (tls), or over a link of its own here (adapter: tcpcl, peer: %s)",
                 name);
        return;
    }
    const bool its = eid_same_node(&l->config->peer, peer);
    snprintf(why, why_cap,
             "%s link %.64s (%s). It may connect with a certificate that names it (tls), from the "
             "host of that link's remote, or over a link of its own here (adapter: tcpcl, "
             "peer: %s)",
             its ? "that is the peer of" : "a route leads there over", l->config->name,
             l->config->adapter, name);
}

bool node_names_allow(const struct node *n, const struct eid *peer, const struct cla_proof *proof,
                      char *why, size_t why_cap)
{
    size_t at = 0;
    const struct node_link *first = next_holder(n, peer, &at);
    if ((first == NULL && !is_planned(n, peer)) || proof->certificate)
        return true;
    for (const struct node_link *l = first; l != NULL; ++at, l = next_holder(n, peer, &at))
        if (proof->host != NULL && l->cla != NULL && cla_at_remote(l->cla, proof->host))
            return true;
    say_why(first, peer, why, why_cap);
    return false;
}

void node_names_changed(struct node *n)
{
    n->names_changed = true;
    node_wake(n);
}

void node_names_judge(struct node *n)
{
    if (!n->names_changed || n->stopping)
        return;
    n->names_changed = false;
    for (size_t i = 0; i < n->links_len; i++) {
        struct node_link *l = n->links[i];
        size_t at = 0;
        if (l == NULL || !l->unconfigured || l->over || l->cla == NULL ||
            (next_holder(n, &l->config->peer, &at) == NULL && !is_planned(n, &l->config->peer)) ||
            cla_judge(l->cla))
            continue;
        l->over = true;
        if (node_watch_line(l))
            say(&n->say, LEVEL_WARNING,
                "link %s is removed: its peer's name is reserved now, and no session has proved it",
                l->config->name);
    }
}
