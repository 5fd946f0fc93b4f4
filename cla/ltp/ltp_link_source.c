/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Permitted sources of a peer's datagrams: the address of the link's `remote` with any port, unless
 * `source` says otherwise. The engine compares, because it knows the peer of a segment. This file
 * sets the expected address and handles refusals: they are counted, and logged at once and then
 * once a minute, so that the operator finds a peer that really sends from another address. The same
 * holds for segments refused by authentication (RFC 5327).
 *
 * Datagrams of unconfigured peers whose address changes are counted for the link that accepts them.
 * The log also shows a node with this node's number, and a peer with an erasure code or frames
 * where its link has none. CCSDS frames are checked where they arrive. Nothing can fail.
 */
#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "cla/ltp/ltp_link.h"
#include "conf/json_number.h"

#define SAY_PAUSE (60 * TICK_S)

_Static_assert(ADDRESS_KEY_MAX <= LTP_SOURCE_MAX, "addresses are sources");

void source_set(struct link *l)
{
    const struct ltp_endpoint *h = l->endpoint;
    assert(h != NULL && h->engine != NULL);
    uint8_t key[ADDRESS_KEY_MAX];
    size_t match = h->framed ? 0 : address_check_bytes((enum address_check)l->config->source);
    /* No datagram has the source 0.0.0.0: until the name of remote is resolved, the peer has no
     * valid source. */
    const struct address nobody = {.v4 = {.sin_family = AF_INET}};
    const struct address *remote = address_given(&l->to.address) ? &l->to.address : &nobody;
    int r = ltp_source(h->engine, l->peer, address_key(remote, key), match);
    assert(r == 0); /* the span exists */
    (void)r;
}

void source_resolved(void *link)
{
    struct link *l = link;
    char text[REMOTE_NAME_SAY_MAX];
    int level;
    assert(!l->endpoint->busy && !l->endpoint->framed);
    if (remote_name_update(&l->remote, l->endpoint->io, &l->to, &level, text)) {
        source_set(l);
        link_directions(l);
    }
    if (text[0] != '\0')
        cla_say(&l->cla, level, "%s", text);
}

static void say_source(struct link *l, uint64_t peer)
{
    const struct link_refusals *r = &l->refusals;
    assert(r->count > 0 && address_given(&r->from));
    char from[ADDRESS_TEXT_MAX], remote[REMOTE_NAME_TEXT_MAX], name[EID_TEXT_MAX];
    address_write(&r->from, from);
    remote_name_write(&l->remote, remote);
    eid_text(&l->env.peer, name);
    if (peer == l->peer)
        cla_say(&l->cla, 1,
                "datagrams for peer %s come from another address and are refused (%" PRIu64
                " so far): the latest from %s, remote is %s. If the peer sends from there, write "
                "that as remote (behind NAT: the address and port that are forwarded to it), or "
                "source: any",
                name, r->count, from, remote);
    else
        cla_say(&l->cla, 1,
                "datagrams of unknown senders come from other addresses than before and are "
                "refused (%" PRIu64 " so far): the latest, of LTP engine %" PRIu64 ", from %s",
                r->count, peer, from);
}

static const char *auth_text(enum verdict why)
{
    return why == VERDICT_AUTH_MISSING ? "it is not authenticated, and auth: require asks for that"
           : why == VERDICT_BAD_COOKIE ? "its cookie is missing or another one"
                                       : "its key, key id or ciphersuite is another one";
}

static void say_auth(struct link *l, uint64_t peer, enum verdict why)
{
    const struct link_refusals *r = &l->auth_refusals;
    assert(r->count > 0 && why != VERDICT_WRONG_SOURCE);
    char from[ADDRESS_TEXT_MAX] = "the frames", name[EID_TEXT_MAX];
    if (address_given(&r->from))
        address_write(&r->from, from);
    eid_text(&l->env.peer, name);
    if (peer != l->peer)
        snprintf(name, sizeof name, "LTP engine %" PRIu64, peer);
    cla_say(&l->cla, 1, "segments of %s are refused (%" PRIu64 " so far): the latest, from %s: %s",
            name, r->count, from, auth_text(why));
}

/* The link whose log reports it: the peer's link; for an unconfigured peer, the link that accepts
 * such. NULL: the peer's span was removed, and only its sessions are remembered. */
static struct link *refused_link(struct ltp_endpoint *h, uint64_t peer, enum verdict why)
{
    struct link *l = ltp_endpoint_owner(h, peer);
    return l == NULL && why != VERDICT_WRONG_SOURCE ? h->host : l;
}

void source_refuse(struct ltp_endpoint *h, const struct address *from, enum verdict why)
{
    assert(h->busy && from != NULL);
    uint64_t peer = ltp_refused_peer(h->engine);
    struct link *l = refused_link(h, peer, why);
    if (l == NULL)
        return;
    assert(l->endpoint == h);
    const bool source = why == VERDICT_WRONG_SOURCE;
    struct link_refusals *r = source ? &l->refusals : &l->auth_refusals;
    r->count++;
    r->from = h->framed ? (struct address){.sa = {.sa_family = AF_UNSPEC}} : *from;
    r->at = h->now;
    r->why = source ? "they come from another address than remote" : auth_text(why);
    if (h->now < r->quiet)
        return;
    r->quiet = tick_add(h->now, SAY_PAUSE);
    if (source)
        say_source(l, peer);
    else
        say_auth(l, peer, why);
}

/* Counts a refusal of the local endpoint. True: a log line is due. *at is the source of the latest
 * one; it has ADDRESS_TEXT_MAX bytes. */
static bool count_refusal(const struct ltp_endpoint *h, struct link_refusals *r,
                          const struct address *from, char *at)
{
    if (list_empty(&h->common.links))
        return false;
    r->count++;
    if (h->now < r->quiet)
        return false;
    r->quiet = tick_add(h->now, SAY_PAUSE);
    if (h->framed)
        snprintf(at, ADDRESS_TEXT_MAX, "the frames");
    else
        address_write(from, at);
    return true;
}

/* The link with this address as remote; else the first one. */
static struct link *link_at_address(struct ltp_endpoint *h, const struct address *from)
{
    list_for_each (it, &h->common.links) {
        struct link *l = container_of(it, struct link, cla.node);
        if (!h->framed && address_passes(from, &l->to.address, ADDRESS_CHECK_HOST))
            return l;
    }
    return container_of(list_first(&h->common.links), struct link, cla.node);
}

void source_refuse_unknown(struct ltp_endpoint *h, const struct address *from, bool is_data)
{
    assert(h->busy && from != NULL);
    const uint64_t peer = ltp_refused_peer(h->engine);
    const bool own = peer == h->engine_number;
    char at[ADDRESS_TEXT_MAX];
    if (own && !is_data) /* a cancel of no session of ours */
        return;
    if (!count_refusal(h, &h->unknown_refusals, from, at))
        return;
    if (own)
        cla_say(&link_at_address(h, from)->cla, 1,
                "data segments with this node's own LTP engine number %" PRIu64
                " come from %s and are refused (%" PRIu64
                " so far). If another node has that address, give each node its own number (node)",
                peer, at, h->unknown_refusals.count);
    else
        cla_say(local_endpoint_link(&h->common), 1,
                "segments of LTP engines that no link has as peer are refused (%" PRIu64
                " so far): the latest, of engine %" PRIu64
                ", from %s. Add a link with peer: ipn:%" PRIu64 ".0, or write unknown.accept",
                h->unknown_refusals.count, peer, at, peer);
}

void source_refuse_coded(struct ltp_endpoint *h, const struct address *from)
{
    assert(h->busy && from != NULL && h->coded == NULL);
    char at[ADDRESS_TEXT_MAX];
    if (count_refusal(h, &h->coded_refusals, from, at))
        cla_say(&link_at_address(h, from)->cla, 1,
                "packets of an erasure code come from %s and are refused (%" PRIu64
                " so far): this link has no erasure. Both ends need the same erasure keys",
                at, h->coded_refusals.count);
}

void source_refuse_framed(struct ltp_endpoint *h, const struct address *from, const char *what)
{
    assert(h->busy && from != NULL && !h->framed);
    char at[ADDRESS_TEXT_MAX];
    if (count_refusal(h, &h->framed_refusals, from, at))
        cla_say(&link_at_address(h, from)->cla, 1,
                "%s come from %s and are refused (%" PRIu64
                " so far): this link has no frames. Both ends need the same keys of frames and "
                "cadu",
                what, at, h->framed_refusals.count);
}

void source_warn(struct link *l)
{
    const char *key;
    char why[256];
    assert(l->endpoint != NULL);
    if (ltp_link_warn(l->config, NULL, 0, &key, why, sizeof why))
        cla_say(&l->cla, 1, "%s", why);
}

void source_gauges(const struct link *l, struct cla_gauges *out)
{
    const bool source = l->refusals.at > l->auth_refusals.at;
    const struct link_refusals *latest = source ? &l->refusals : &l->auth_refusals;
    out->source_refused = l->refusals.count;
    out->auth_refused = l->auth_refusals.count;
    out->unknown_refused = l->endpoint->unknown_refusals.count;
    out->refusal = latest->why;
    out->refused_at = latest->at;
}

void source_status(const struct link *l, struct json_t *object)
{
    char text[ADDRESS_TEXT_MAX];
    json_object_set_new(object, "source_refused", json_number(l->refusals.count));
    if (l->refusals.count > 0)
        json_object_set_new(object, "source_refused_from",
                            json_string(address_write(&l->refusals.from, text)));
}
