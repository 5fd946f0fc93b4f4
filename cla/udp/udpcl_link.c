/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapter "udp": UDPCL (RFC 7122 §3.2.2), one bundle in one datagram, without acknowledgements.
 * The functions of cla_ops; their work is done in the port's next turn.
 *
 * What can go wrong at open: the address is in use; memory. Later: a bundle is too long for a
 * datagram, the window is full, memory.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "cla/udp/udpcl_link.h"

static struct udpcl_link *link_of(struct cla *c)
{
    return container_of(c, struct udpcl_link, cla);
}

static void set_limits(struct udpcl_link *l)
{
    l->cla.limits = (struct cla_limits){.window = (uint32_t)l->config->window,
                                        .bundle_max = udpcl_bundle_max(l->config)};
}

/* The lower one of the configured rate and the contact's. */
static void set_rate(struct udpcl_link *l)
{
    const struct pace_keys *pace = &l->config->pace;
    uint64_t rate = l->planned ? l->contact.rate : 0;
    tick lost = l->bucket.lost;
    l->rate_bps = rate == 0 || (pace->rate != 0 && pace->rate < rate) ? pace->rate : rate;
    bucket_init(&l->bucket, l->rate_bps, pace->burst, pace->slack, world_now(l->env.world));
    l->bucket.lost = lost;
}

/* Up is what operator and plan both say, once it is known where the peer is. */
static void set_up(struct udpcl_link *l)
{
    l->up = l->allowed && (!l->planned || l->contact.transmit) && address_given(&l->to.address);
    udpcl_kick(l->port);
}

/* The name was looked up: it may be of another address now. */
static void on_resolved(void *context)
{
    struct udpcl_link *l = context;
    char text[REMOTE_NAME_SAY_MAX];
    int level;
    if (remote_name_update(&l->remote, l->port->io, &l->to, &level, text))
        set_up(l);
    if (text[0] != '\0')
        cla_say(&l->cla, level, "%s", text);
}

extern const struct cla_ops udpcl_ops;

static int udpcl_open(struct cla **out, const struct cla_env *env, const void *config, char *why,
                      size_t why_cap)
{
    const struct udpcl_config *k = config;
    struct udpcl_link *l = calloc(1, sizeof *l);
    if (l == NULL) {
        snprintf(why, why_cap, "%s", helio_strerror(HELIO_ENOMEM));
        return HELIO_ENOMEM;
    }
    cla_init(&l->cla, &udpcl_ops, &l->env.events);
    l->env = *env;
    l->config = k;
    l->allowed = k->state == UDPCL_UP;
    l->rate_bps = k->pace.rate;
    l->n.heard = TICK_NEVER;
    l->to = (struct udp_peer){.address = k->udp.remote.address, .dscp = (uint8_t)k->udp.dscp};
    list_init(&l->waiting);
    list_init(&l->leaving);
    set_limits(l);
    int r = remote_name_open(&l->remote, env->world, &k->udp.remote, k->udp.local.sa.sa_family, why,
                             why_cap);
    if (r == 0)
        r = udpcl_join(l, why, why_cap);
    if (r != 0) {
        remote_name_close(&l->remote);
        free(l);
        return r;
    }
    set_up(l);
    remote_name_on_answer(&l->remote, on_resolved, l);
    remote_name_watch(&l->remote);
    assert(l->port != NULL && l->cla.limits.window >= 1);
    *out = &l->cla;
    return 0;
}

static enum cla_reason udpcl_send(struct cla *c, uint64_t key, struct buf *bundle)
{
    struct udpcl_link *l = link_of(c);
    if (bundle->len > l->cla.limits.bundle_max || bundle->len == 0)
        return CLA_REASON_TOO_LONG;
    if (l->waiting_len >= l->cla.limits.window)
        return CLA_REASON_BUSY;
    struct udpcl_sending *s = malloc(sizeof *s);
    if (s == NULL)
        return CLA_REASON_NO_MEMORY;
    *s = (struct udpcl_sending){.key = key, .bundle = buf_keep(bundle)};
    list_add_tail(&l->waiting, &s->node);
    l->waiting_len++;
    assert(l->waiting_len <= l->cla.limits.window);
    udpcl_kick(l->port);
    return CLA_REASON_NONE;
}

static int udpcl_cancel(struct cla *c, uint64_t key)
{
    struct udpcl_link *l = link_of(c);
    list_for_each (it, &l->waiting) {
        struct udpcl_sending *s = container_of(it, struct udpcl_sending, node);
        if (s->key != key)
            continue;
        assert(l->waiting_len > 0);
        list_sub(&s->node);
        l->waiting_len--;
        buf_drop(s->bundle);
        free(s);
        return HELIO_ENOENT;
    }
    return HELIO_ENOENT; /* outcomes of transmitted bundles have been reported */
}

static const char *const live[] = {
    "rate",     "pacing.overhead", "pacing.burst", "pacing.slack", "mtu",
    "any_port", "accept_unknown",  "window",       "pacing.dscp",  NULL};

static int udpcl_set(struct cla *c, const void *config, void *files, char *why, size_t why_cap)
{
    (void)files;
    struct udpcl_link *l = link_of(c);
    const struct udpcl_config *k = config;
    (void)why;
    (void)why_cap;
    l->config = k;
    l->to.dscp = (uint8_t)k->udp.dscp;
    set_rate(l);
    set_limits(l);
    udpcl_kick(l->port);
    return 0;
}

static void udpcl_confirm(struct cla *c, uint64_t token, enum cla_verdict verdict)
{
    (void)token; /* the protocol has no acknowledgement */
    link_of(c)->n.bundles_refused += verdict != CLA_ACCEPTED;
}

static bool udpcl_at_remote(const struct cla *c, const uint8_t *host)
{
    const struct udpcl_link *l = container_of((struct cla *)(uintptr_t)c, struct udpcl_link, cla);
    return remote_name_has_key(&l->remote, host);
}

static void udpcl_set_link(struct cla *c, bool up)
{
    struct udpcl_link *l = link_of(c);
    l->allowed = up;
    set_up(l);
}

static void udpcl_contact(struct cla *c, const struct cla_contact *contact)
{
    struct udpcl_link *l = link_of(c);
    uint64_t rate = contact != NULL ? contact->rate : 0;
    bool other = rate != l->contact.rate;
    l->planned = contact != NULL;
    l->contact = contact != NULL ? *contact : (struct cla_contact){0};
    if (other)
        set_rate(l);
    set_up(l);
}

static void udpcl_close(struct cla *c, void (*closed)(void *context), void *context)
{
    struct udpcl_link *l = link_of(c);
    cla_closing(c, closed, context);
    remote_name_close(&l->remote);
    udpcl_leave(l);
}

static const struct cla_service service = {"udp", -1};

const struct cla_ops udpcl_ops = {
    .name = "udp",
    .service = &service,
    .options = udpcl_options,
    .config_size = sizeof(struct udpcl_config),
    .check = udpcl_check,
    .conflict = udpcl_conflict,
    .addresses = udpcl_addresses,
    .open = udpcl_open,
    .send = udpcl_send,
    .cancel = udpcl_cancel,
    .live = live,
    .set = udpcl_set,
    .confirm = udpcl_confirm,
    .check_self = udpcl_check_self,
    .status = udpcl_status,
    .gauges = udpcl_gauges,
    .at_remote = udpcl_at_remote,
    .set_link = udpcl_set_link,
    .contact = udpcl_contact,
    .close = udpcl_close,
};

/* The invariants of a link and its port, between two turns. */
/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

static uint64_t check_waiting(const struct udpcl_link *l)
{
    uint64_t n = 0;
    list_for_each (it, &l->waiting) {
        const struct udpcl_sending *s = container_of(it, struct udpcl_sending, node);
        assert(s->bundle != NULL && s->bundle->refs >= 1 && s->bundle->len >= 1);
        n++;
    }
    return n;
}

void udpcl_check_self(const struct cla *c)
{
    const struct udpcl_link *l = container_of((struct cla *)(uintptr_t)c, struct udpcl_link, cla);
    const struct udpcl_port *p = l->port;
    assert(check_waiting(l) == l->waiting_len);
    assert(list_empty(&l->leaving)); /* outcomes are reported in the same turn */
    assert(c->limits.window >= 1 && c->limits.bundle_max == udpcl_bundle_max(l->config));
    assert(!p->common.ending && p->port != NULL && p->io == p->port->io);
    assert(p->now <= world_now(p->world) && alarm_due(&p->alarm) <= p->due);
    /* a link with bundles to send has a wake-up */
    assert(l->waiting_len == 0 || alarm_due(&p->alarm) != TICK_NEVER || udp_pending(p->io));
}
