/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the link of a session by the Node ID of the peer's SESS_INIT: the connecting link, if it
 * names this peer; else the link that names it; else a new link, if a link of the local address
 * accepts unconfigured peers (`peers`) and the node permits the name. What can go wrong: there is
 * no such link, it is this node itself, the name is reserved, the link has enough sessions; memory.
 * Each is counted, and ends the session.
 */
#include <assert.h>
#include <stdlib.h>

#include "cla/tcpcl/tcpcl_link.h"

#define NAME_WHY_MAX 512 /* bytes of why a name is refused, with its zero */

static tick time_of(const struct tcpcl_conn *c)
{
    return world_now(c->endpoint->s.world);
}

static void refuse_peer(struct tcpcl_conn *c, enum tcpcl_term reason)
{
    tcpcl_terminate(c->session, reason, time_of(c));
}

/* A Node ID that is one; "" is the lack of one (§4.6), ipn:! names its reader (RFC 9758). */
static bool read_node(const struct tcpcl_conn *c, struct eid *out)
{
    const char *id = tcpcl_peer(c->session)->node_id;
    return *id != '\0' && eid_parse(id, out) == 0 && eid_is_node(out) && !eid_is_none(out) &&
           !eid_is_local(out);
}

/* ---- this side connected ---- */

static void admit_called(struct tcpcl_conn *c)
{
    struct tcpcl_link *l = c->link;
    struct eid who;
    bool named = read_node(c, &who);
    bool expected = eid_is_none(&l->env.peer) || !l->config->check_peer ||
                    (named && eid_same_node(&who, &l->env.peer));
    if (expected && !tcpcl_tls_trusts(c, l, named ? &who : &l->env.peer)) {
        refuse_peer(c, TCPCL_TERM_CONTACT_FAILURE);
        return;
    }
    if (expected) {
        tcpcl_claim_note(l, c);
        if (!tcpcl_claim_place(l, c)) {
            refuse_peer(c, TCPCL_TERM_BUSY);
            return;
        }
        tcpcl_time_recall(c);
        tcpcl_pause(c->session, l->paused);
        tcpcl_admit(c->session, NULL, time_of(c));
        return;
    }
    char peer[EID_TEXT_MAX];
    l->peer_mismatch++;
    eid_text(&l->env.peer, peer);
    tcpcl_down(l, 1,
               "the peer at remote is \"%s\", and this link's peer is %s; change one of both keys",
               tcpcl_peer(c->session)->node_id, peer);
    tcpcl_refused(l);
    refuse_peer(c, TCPCL_TERM_CONTACT_FAILURE);
}

/* ---- the peer connected ---- */

static struct tcpcl_link *find_link(const struct tcpcl_endpoint *h, const struct eid *who)
{
    list_for_each (it, &h->s.common.links) {
        struct tcpcl_link *l = container_of(it, struct tcpcl_link, cla.node);
        if (eid_same_node(&l->env.peer, who))
            return l;
    }
    return NULL;
}

/* A link on the host link's endpoint, with its own limits; the node fills in the events. */
static struct tcpcl_link *unconfigured_new(const struct tcpcl_link *host, const struct eid *who)
{
    struct tcpcl_link *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NULL;
    l->own = *host->config;
    l->own.remote = (struct host_address){.port = 0};
    l->own.remote_path = l->own.local_path = NULL;
    l->own.tls_certificate = l->own.tls_key = l->own.tls_ca = l->own.tls_host = NULL;
    l->own.congestion = NULL;
    l->own.state = TCPCL_WANTED_UP;
    tcpcl_link_init(l, &host->env, &l->own);
    l->env.peer = *who;
    l->env.events = (struct cla_events){0};
    l->unconfigured = true;
    return l;
}

static struct tcpcl_link *let_in(struct tcpcl_endpoint *h, const struct eid *who)
{
    list_for_each (it, &h->s.common.links) {
        struct tcpcl_link *host = container_of(it, struct tcpcl_link, cla.node);
        const struct cla_events *to = &host->env.events;
        struct tcpcl_link *l =
            to->peer == NULL || host->unconfigured ? NULL : unconfigured_new(host, who);
        if (l == NULL)
            continue;
        struct cla_events events = {0};
        if (to->peer(to->context, &host->cla, &l->cla, who, &events)) {
            l->env.events = events;
            l->cla.told = true; /* it is up soon; down is its end */
            tcpcl_enter(h, l);
            return l;
        }
        free(l);
    }
    return NULL;
}

/* A link here accepts unconfigured peers, and has not reached its limit. */
static bool accepts_peers(const struct tcpcl_endpoint *h)
{
    list_for_each (it, &h->s.common.links) {
        const struct tcpcl_link *l = container_of(it, struct tcpcl_link, cla.node);
        if (l->env.events.peer != NULL && !l->unconfigured)
            return true;
    }
    return false;
}

/* who: NULL if the Node ID is not a node's. */
static void say_unknown(struct tcpcl_conn *c, const struct eid *who)
{
    struct tcpcl_link *l = tcpcl_first_link(c->endpoint);
    const char *id = tcpcl_peer(c->session)->node_id;
    const unsigned long long n = c->endpoint->s.unknown_refused;
    if (who == NULL)
        tcpcl_say(
            l, 1,
            "a peer connected and is refused (%llu so far): its Node ID \"%s\" is not that of "
            "a node, such as ipn:2.0 or dtn://name/",
            n, id);
    else if (eid_same_node(who, &l->env.node))
        tcpcl_say(l, 1,
                  "a peer connected and is refused (%llu so far): its Node ID \"%s\" is that of "
                  "this node; give each node its own",
                  n, id);
    else if (accepts_peers(c->endpoint))
        tcpcl_say(l, 1,
                  "the unconfigured peer \"%s\" connected and is refused (%llu so far): no more "
                  "unconfigured peers are accepted; add a link with this peer, or raise peers",
                  id, n);
    else
        tcpcl_say(l, 1,
                  "the unconfigured peer \"%s\" connected and is refused (%llu so far); add a link "
                  "with this peer, or accept unconfigured peers with peers above 0",
                  id, n);
}

static void say_reserved(struct tcpcl_conn *c, const char *why)
{
    struct address at;
    char from[ADDRESS_TEXT_MAX] = "a UNIX socket";
    if (stream_peer(c->stream, &at))
        address_write(&at, from);
    tcpcl_say(tcpcl_first_link(c->endpoint), 1,
              "the unconfigured peer at %s says that it is \"%s\" and is refused (%llu so far): %s",
              from, tcpcl_peer(c->session)->node_id, (unsigned long long)c->endpoint->names_refused,
              why);
}

/* May it have this name, which no configured link of this local address has? */
static bool may_name(struct tcpcl_conn *c, const struct tcpcl_link *rules, const struct eid *who)
{
    const struct cla_events *e = &tcpcl_first_link(c->endpoint)->env.events;
    char why[NAME_WHY_MAX] = "";
    assert(!c->active && !eid_is_none(who));
    struct cla_proof proof = {.certificate = rules != NULL && tcpcl_tls_names(c, rules, who)};
    proof.host = tcpcl_find_host(c) ? c->host : NULL;
    if (e->named == NULL || e->named(e->context, who, &proof, why, sizeof why))
        return true;
    assert(why[0] != '\0');
    c->endpoint->names_refused++;
    say_reserved(c, why);
    return false;
}

static void refuse_unknown(struct tcpcl_conn *c, const struct eid *who)
{
    c->endpoint->s.unknown_refused++;
    refuse_peer(c, TCPCL_TERM_CONTACT_FAILURE);
    say_unknown(c, who);
}

static void take_unidentified(struct tcpcl_conn *c, struct tcpcl_link *l)
{
    struct tcpcl_terms terms;
    assert(c->link == NULL && c->from.place != NULL);
    list_sub(&c->node);
    crowd_entry_sub(&c->from);
    c->link = l;
    list_add_head(&l->conns, &c->node);
    l->conns_len++;
    tcpcl_time_recall(c);
    tcpcl_conn_terms(l, &terms);
    tcpcl_pause(c->session, l->paused);
    tcpcl_admit(c->session, &terms, time_of(c));
}

/* The link whose rules apply to a peer of link `l`; without one, the link that accepts unconfigured
 * peers. */
static struct tcpcl_link *rules_for(const struct tcpcl_endpoint *h, struct tcpcl_link *l)
{
    if (l != NULL && !l->unconfigured)
        return l;
    list_for_each (it, &h->s.common.links) {
        struct tcpcl_link *host = container_of(it, struct tcpcl_link, cla.node);
        if (host->env.events.peer != NULL && !host->unconfigured)
            return host;
    }
    return l;
}

/* Those that may not have the name end at once: even what has begun to leave would go to another
 * node. */
bool tcpcl_judge_link(struct cla *cla)
{
    struct tcpcl_link *l = container_of(cla, struct tcpcl_link, cla);
    const struct tcpcl_link *rules = rules_for(l->endpoint, l);
    bool left = false;
    assert(l->unconfigured);
    list_for_each (it, &l->conns) {
        struct tcpcl_conn *c = container_of(it, struct tcpcl_conn, node);
        if (c->cut)
            continue;
        if (may_name(c, rules, &l->env.peer))
            left = true;
        else
            tcpcl_claim_cut(c);
    }
    return left;
}

static void admit_unidentified(struct tcpcl_conn *c)
{
    struct eid who;
    struct tcpcl_link *l = NULL;
    bool named = read_node(c, &who);
    const struct tcpcl_link *first = tcpcl_first_link(c->endpoint);
    if (named && !eid_same_node(&who, &first->env.node)) {
        l = find_link(c->endpoint, &who);
        struct tcpcl_link *rules = rules_for(c->endpoint, l);
        if (rules != NULL && !tcpcl_tls_trusts(c, rules, &who)) {
            refuse_peer(c, TCPCL_TERM_CONTACT_FAILURE);
            return;
        }
        if ((l == NULL ? accepts_peers(c->endpoint) : l->unconfigured) &&
            !may_name(c, rules, &who)) {
            refuse_peer(c, TCPCL_TERM_CONTACT_FAILURE);
            return;
        }
        if (l == NULL)
            l = let_in(c->endpoint, &who);
    }
    if (l == NULL) {
        refuse_unknown(c, named ? &who : NULL);
        return;
    }
    tcpcl_claim_note(l, c);
    if (l->wanted && tcpcl_claim_place(l, c)) {
        take_unidentified(c, l);
        return;
    }
    tcpcl_claim_contest(l, c);
    refuse_peer(c, TCPCL_TERM_BUSY);
}

void tcpcl_admit_peer(struct tcpcl_conn *c)
{
    if (c->active)
        admit_called(c);
    else
        admit_unidentified(c);
}
