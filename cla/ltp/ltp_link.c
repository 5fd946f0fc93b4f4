/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapter "ltp-udp": the functions of cla_ops. Each is one push into the LTP engine and a
 * request to pump, so that several bundles of one turn of the loop share datagrams.
 *
 * What can go wrong at open: the address is in use, engine numbers are missing or equal; all with a
 * text for the operator. Later: the window is full (HELIO_EAGAIN), memory.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "cla/ltp/ltp_link.h"

static struct link *link_of(struct cla *c)
{
    return container_of(c, struct link, cla);
}

static uint64_t own_engine(const struct ltp_link_config *k, const struct eid *node)
{
    return k->engine != 0 ? k->engine : ltp_link_engine(node);
}

static uint64_t peer_engine(const struct ltp_link_config *k, const struct eid *peer)
{
    return k->peer_engine != 0 ? k->peer_engine : ltp_link_engine(peer);
}

static int ltp_check_names(const void *config, const struct eid *node, const struct eid *peer,
                           const char **key, char *why, size_t why_cap)
{
    uint64_t own = own_engine(config, node);
    if (own != 0 && peer_engine(config, peer) != 0)
        return 0;
    *key = own == 0 ? "engine" : "peer_engine";
    snprintf(why, why_cap, "no ipn node number to take it from; write the LTP engine number");
    return HELIO_EINVAL;
}

static void ltp_addresses(const void *config, struct cla_addresses *out)
{
    const struct ltp_link_config *k = config;
    const bool framed = k->frames.out.kind != FRAMES_OFF;
    out->socket = !framed || k->frames.wire == FRAME_WIRE_UDP ? CLA_SOCKET_UDP
                  : k->frames.wire == FRAME_WIRE_LISTEN       ? CLA_SOCKET_TCP
                                                              : CLA_SOCKET_NONE;
    out->key = "local";
    out->local = k->udp.local;
    out->remote = k->udp.remote.address;
}

bool ltp_link_other_wire(const struct frame_keys *k, const struct address *remote,
                         const struct address *other)
{
    assert(k->out.kind != FRAMES_OFF && remote != NULL && other != NULL);
    return k->wire != FRAME_WIRE_FILE && !address_equal(remote, other);
}

/* Each has a virtual channel of one physical one, which has one peer: all frames go to it. It is
 * opened with the keys of the first link. */
static const char *find_frames(const struct ltp_link_config *k, const struct ltp_link_config *o,
                               const char **key)
{
    static const char one_value[] =
        "local is the same, and its frames share one value of this key; write the same one, or "
        "another local";
    struct frame_keys mine = k->frames, other = o->frames;
    *key = k->frames.out.kind == o->frames.out.kind ? frame_keys_wire_key(&mine, &other) : NULL;
    if (*key != NULL)
        return one_value;
    frame_keys_forget(&mine);
    frame_keys_forget(&other);
    const char *text = frame_keys_conflict(&mine, &other, key);
    if (text != NULL || mine.wire == FRAME_WIRE_FILE)
        return text;
    *key = "remote";
    if (ltp_link_other_wire(&mine, &k->udp.remote.address, &o->udp.remote.address))
        return "local is the same, and its frames go to one address; write the same remote, or "
               "another local";
    *key = k->source != o->source ? "source" : "pacing.dscp";
    return k->source != o->source || k->udp.dscp != o->udp.dscp ? one_value : NULL;
}

/* What ltp_endpoint_join would refuse, when one address serves both. */
static int ltp_conflict(const struct cla_named *config, const struct cla_named *other,
                        const char **key, char *why, size_t why_cap)
{
    const struct ltp_link_config *k = config->config, *o = other->config;
    const bool framed = k->frames.out.kind != FRAMES_OFF, both = o->frames.out.kind != FRAMES_OFF;
    const char *text = NULL;
    if (address_port(&k->udp.local) == 0 || !address_equal(&k->udp.local, &o->udp.local))
        return 0;
    if (framed && both) {
        text = find_frames(k, o, key);
    } else if (framed || both) {
        *key = "frames";
        text = "local is the same, and only one of the two has frames; write another local";
    } else if (k->erasure != LTP_LINK_ERASURE_OFF || o->erasure != LTP_LINK_ERASURE_OFF) {
        *key = "erasure";
        text = "a link with erasure code has its local address for itself; write another local";
    } else if (own_engine(k, config->node) != own_engine(o, other->node)) {
        *key = "engine";
        text = "local is the same, and has one LTP engine; write the same number, or another local";
    } else if (peer_engine(k, config->peer) == peer_engine(o, other->peer)) {
        *key = "peer_engine";
        text = "local is the same, and so is the peer's LTP engine; write another local";
    } else if (k->accept_unknown != 0) {
        *key = "unknown.accept";
        text = "write it with the first link of this local address";
    }
    if (text == NULL)
        return 0;
    snprintf(why, why_cap, "%s", text);
    return HELIO_EINVAL;
}

static int engine_numbers(struct link *l, uint64_t *own, char *why, size_t why_cap)
{
    const char *key = NULL;
    char text[128];
    *own = own_engine(l->config, &l->env.node);
    l->peer = peer_engine(l->config, &l->env.peer);
    int rc = ltp_check_names(l->config, &l->env.node, &l->env.peer, &key, text, sizeof text);
    if (rc < 0)
        snprintf(why, why_cap, "%s: %s", key, text);
    return rc;
}

extern const struct cla_ops ltp_link_ops;

static int ltp_open(struct cla **out, const struct cla_env *env, const void *config, char *why,
                    size_t why_cap)
{
    const struct ltp_link_config *k = config;
    struct link *l = calloc(1, sizeof *l);
    if (l == NULL) {
        snprintf(why, why_cap, "%s", helio_strerror(HELIO_ENOMEM));
        return HELIO_ENOMEM;
    }
    cla_init(&l->cla, &ltp_link_ops, &l->env.events);
    l->env = *env;
    l->config = l->given = k;
    l->contact.round_trip = TICK_NEVER;
    l->allowed = k->state == LTP_LINK_UP;
    list_init(&l->active);
    list_init(&l->waiting);
    l->unconfirmed.since = TICK_NEVER;
    uint64_t own;
    l->to = (struct udp_peer){.address = k->udp.remote.address, .dscp = (uint8_t)k->udp.dscp};
    int r = engine_numbers(l, &own, why, why_cap);
    if (r == 0)
        r = remote_name_open(&l->remote, env->world, &k->udp.remote, k->udp.local.sa.sa_family, why,
                             why_cap);
    if (r == 0)
        r = ltp_endpoint_join(l, own, why, why_cap);
    if (r != 0) {
        remote_name_close(&l->remote);
        free(l);
        return r;
    }
    link_limits(l);
    remote_name_on_answer(&l->remote, source_resolved, l);
    remote_name_watch(&l->remote);
    assert(l->endpoint != NULL);
    *out = &l->cla;
    return 0;
}

static enum cla_reason ltp_link_send(struct cla *c, uint64_t key, struct buf *bundle)
{
    struct link *l = link_of(c);
    assert(l->endpoint != NULL && l->cla.closed == NULL);
    int r = outgoing_send(l, key, bundle);
    link_limits(l); /* a long bundle may have closed the window */
    return r == 0              ? CLA_REASON_NONE
           : r == HELIO_EAGAIN ? CLA_REASON_BUSY
           : r == HELIO_ENOMEM ? CLA_REASON_NO_MEMORY
                               : CLA_REASON_TOO_LONG;
}

static int cancel_bundle(struct cla *c, uint64_t key)
{
    return outgoing_cancel(link_of(c), key);
}

static int cancel_session(struct cla *c, uint64_t originator, uint64_t number)
{
    struct link *l = link_of(c);
    struct ltp_endpoint *h = l->endpoint;
    struct ltp_session_id id = {originator != 0 ? originator : h->engine_number, number};
    struct ltp_session_info info;
    if (ltp_session_get(h->engine, id, &info) != 0 || ltp_endpoint_owner(h, info.peer) != l)
        return HELIO_ENOENT;
    int r = ltp_cancel(h->engine, id, LTP_USR_CNCLD, ltp_endpoint_now(h));
    ltp_endpoint_kick(h);
    return r;
}

static void ltp_confirm(struct cla *c, uint64_t token, enum cla_verdict verdict)
{
    incoming_answer(link_of(c)->endpoint, token, verdict == CLA_ACCEPTED);
}

/* Keys of the span and of the link itself; others belong to the local address and its engine. */
#define NAME(group, name, unit, field, part, initial, least, most, word, help) group #name,
static const char *const live[] = {LTP_OPTIONS(NAME) "source",
                                   "rate",
                                   "pacing.overhead",
                                   "pacing.burst",
                                   "pacing.slack",
                                   "owlt",
                                   "recovery.margin",
                                   "recovery",
                                   "recovery.peer_profile",
                                   "colour",
                                   "recovery.resend",
                                   "recovery.answer_orange",
                                   "aggregate_time",
                                   "pacing.dscp",
                                   NULL};
#undef NAME

static int ltp_set(struct cla *c, const void *config, void *files, char *why, size_t why_cap)
{
    (void)files;
    struct link *l = link_of(c);
    const struct ltp_link_config *was = l->given;
    l->given = config;
    link_refresh(l);
    int r = ltp_endpoint_change(l, why, why_cap);
    if (r != 0) {
        l->given = was;
        link_refresh(l);
        return r;
    }
    ltp_endpoint_buffers(l);
    l->to.dscp = (uint8_t)l->config->udp.dscp;
    link_limits(l);
    ltp_endpoint_kick(l->endpoint);
    return 0;
}

static int ltp_renew(struct cla *c, bool *changed, char *why, size_t why_cap)
{
    const struct link *l = link_of(c);
    return ltp_endpoint_renew(l->endpoint, l, changed, why, why_cap);
}

static bool ltp_at_remote(const struct cla *c, const uint8_t *host)
{
    const struct link *l = container_of((struct cla *)(uintptr_t)c, struct link, cla);
    return remote_name_has_key(&l->remote, host);
}

static void ltp_set_link(struct cla *c, bool up)
{
    struct link *l = link_of(c);
    l->allowed = up;
    link_directions(l);
}

static void ltp_close(struct cla *c, void (*closed)(void *context), void *context)
{
    struct link *l = link_of(c);
    cla_closing(c, closed, context);
    remote_name_close(&l->remote);
    ltp_endpoint_leave(l);
}

const struct cla_ops ltp_link_ops = {
    .name = "ltp-udp",
    .options = ltp_link_options,
    .config_size = sizeof(struct ltp_link_config),
    .lists = ltp_link_lists,
    .renamed = ltp_link_renamed,
    .check = ltp_link_check,
    .needs = ltp_link_needs,
    .check_names = ltp_check_names,
    .conflict = ltp_conflict,
    .warn = ltp_link_warn,
    .addresses = ltp_addresses,
    .open = ltp_open,
    .send = ltp_link_send,
    .cancel = cancel_bundle,
    .live = live,
    .set = ltp_set,
    .renew = ltp_renew,
    .cancel_session = cancel_session,
    .confirm = ltp_confirm,
    .check_self = link_check,
    .status = link_status,
    .gauges = link_gauges,
    .at_remote = ltp_at_remote,
    .set_link = ltp_set_link,
    .contact = link_contact,
    .close = ltp_close,
};

/* The invariants of links, of their local endpoint and of its engine, between two turns. */
/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

static size_t count_nodes(const struct list *head)
{
    size_t n = 0;
    list_for_each (it, head)
        n++;
    return n;
}

static void check_outgoing(const struct ltp_endpoint *h)
{
    list_for_each (it, &h->outgoing) {
        const struct outgoing *x = container_of(it, struct outgoing, node);
        assert(x->count >= 1 && x->over <= x->count);
        assert(x->link == NULL || x->link->endpoint == h);
    }
}

static void check_incoming(const struct ltp_endpoint *h)
{
    for (struct hash_node *n = hash_walk(&h->incoming, NULL); n != NULL;
         n = hash_walk(&h->incoming, n)) {
        const struct incoming *x = container_of(n, struct incoming, node);
        assert(n->hash < h->next_token);
        assert(x->link->endpoint == h);
        assert(x->group == NULL || (x->group->left >= 1 && !x->group->gone));
    }
}

/* An endpoint or link with pending work has a wake-up for it. */
static void check_endpoint(const struct ltp_endpoint *h)
{
    assert(!h->busy && !h->common.ending);
    assert(h->port != NULL && h->io == h->port->io);
    assert(h->now <= world_now(h->world));
    assert(alarm_due(&h->alarm) <= h->due);
    assert(h->gather.until == TICK_NEVER || h->gather.wait > 0);
    assert(count_nodes(&h->halves) == h->halves_len);
    assert(h->host == NULL || h->host->endpoint == h);
    check_outgoing(h);
    check_incoming(h);
    ltp_check(h->engine);
}

void link_check(const struct cla *c)
{
    const struct link *l = container_of((struct cla *)(uintptr_t)c, struct link, cla);
    uint64_t bytes = 0;
    list_for_each (it, &l->waiting)
        bytes += sda_size(LTP_SERVICE_BUNDLES, container_of(it, struct waiting, node)->bundle->len);
    assert(bytes == l->waiting_bytes && count_nodes(&l->waiting) == l->waiting_len);
    assert(l->cla.limits.window >= 1);
    assert(ltp_endpoint_link(l->endpoint, l->peer) == l);
    bool seen =
        !list_empty(&l->active) || alarm_due(&l->endpoint->alarm) <= world_now(l->endpoint->world);
    assert(seen || !link_is_active(l)); /* no link with pending work is missing in the list */
    if (list_first(&l->endpoint->common.links) == &l->cla.node) /* one of them is enough */
        check_endpoint(l->endpoint);
}
