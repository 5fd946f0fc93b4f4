/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapter "ltp-udp": the calls of the node. Each is one push into the LTP engine and a request
 * to pump, so that several sends of one turn of the loop share their datagrams. What can go wrong
 * at open: the address is in use, engine numbers are missing or clash; all with a text for the
 * operator. Later on: the window is full (HELIO_EAGAIN), memory.
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
    l->cla.ops = &ltp_link_ops;
    l->env = *env;
    l->config = l->given = k;
    l->contact.round_trip = TICK_NEVER;
    l->allowed = k->state == LTP_LINK_UP;
    list_init(&l->node);
    list_init(&l->active);
    list_init(&l->waiting);
    uint64_t own;
    l->to = (struct udp_peer){.address = k->udp.remote, .dscp = (uint8_t)k->udp.dscp};
    int r = engine_numbers(l, &own, why, why_cap);
    if (r == 0)
        r = ltp_endpoint_join(l, own, why, why_cap);
    if (r != 0) {
        free(l);
        return r;
    }
    link_limits(l);
    assert(l->endpoint != NULL);
    *out = &l->cla;
    return 0;
}

static enum cla_reason ltp_link_send(struct cla *c, uint64_t key, struct buf *bundle)
{
    struct link *l = link_of(c);
    assert(l->endpoint != NULL && l->closed == NULL);
    int r = outgoing_send(l, key, bundle);
    link_limits(l); /* a long bundle may have closed the window */
    return r == 0              ? CLA_REASON_NONE
           : r == HELIO_EAGAIN ? CLA_REASON_BUSY
           : r == HELIO_ENOMEM ? CLA_REASON_NO_MEMORY
                               : CLA_REASON_TOO_LONG;
}

static bool ltp_remote(const void *config, size_t i, struct address *out)
{
    const struct ltp_link_config *k = config;
    *out = k->udp.remote;
    return i == 0;
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
#define NAME(name, unit, field, part, initial, least, most, word, help) #name,
static const char *const live[] = {LTP_OPTIONS(NAME) "source",
                                   "rate",
                                   "overhead",
                                   "burst",
                                   "slack",
                                   "owlt",
                                   "margin",
                                   "recovery",
                                   "peer_profile",
                                   "colour",
                                   "resend",
                                   "answer_orange",
                                   "aggregate_time",
                                   "dscp",
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

static void ltp_set_link(struct cla *c, bool up)
{
    struct link *l = link_of(c);
    l->allowed = up;
    link_ways(l);
}

static void ltp_close(struct cla *c, void (*closed)(void *context), void *context)
{
    struct link *l = link_of(c);
    assert(l->closed == NULL);
    l->closed = closed;
    l->closed_context = context;
    ltp_endpoint_leave(l);
}

const struct cla_ops ltp_link_ops = {
    .name = "ltp-udp",
    .options = ltp_link_options,
    .config_size = sizeof(struct ltp_link_config),
    .lists = ltp_link_lists,
    .check = ltp_link_check,
    .needs = ltp_link_needs,
    .check_names = ltp_check_names,
    .open = ltp_open,
    .send = ltp_link_send,
    .cancel = cancel_bundle,
    .remote = ltp_remote,
    .live = live,
    .set = ltp_set,
    .cancel_session = cancel_session,
    .confirm = ltp_confirm,
    .check_self = link_check,
    .status = link_status,
    .gauges = link_gauges,
    .set_link = ltp_set_link,
    .contact = link_contact,
    .close = ltp_close,
};
