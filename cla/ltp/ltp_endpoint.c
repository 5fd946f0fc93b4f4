/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Local endpoints and their turns. A local endpoint begins with the first link of a local address
 * and ends with the last. A wake-up (ltp_link_wake.c) begins a turn: the clock is read once, events
 * are pushed into the engine, and the pump ends the turn.
 *
 * What can go wrong at the beginning: the address cannot be bound, or another link of it has
 * another engine number or the same peer.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "cla/ltp/ltp_link.h"
#include "ltp/segment.h"

/* Per handler, so that sending has its turn: about half a millisecond of work. */
#define INPUT_BYTES (512 * 1024)
/* A wake-up later than this stops the peers' timers for as long; what is usual on a machine that
 * has time is below. */
#define LATE TICK_MS
/* What the engine notes of a session counts as held: a block as long as held_bytes should fit. */
#define NOTES_BYTES 65536

struct link *ltp_endpoint_link(struct ltp_endpoint *h, uint64_t peer)
{
    struct hash_node *n = hash_find(&h->by_peer, hash_mix(h->by_peer.seed, peer, 0));
    for (; n != NULL; n = hash_next(n)) {
        struct link *l = container_of(n, struct link, by_peer);
        if (l->peer == peer)
            return l;
    }
    return NULL;
}

void link_touch(struct link *l)
{
    if (list_empty(&l->active))
        list_add_tail(&l->endpoint->active, &l->active);
}

bool link_has_output(const struct link *l)
{
    const struct ltp_endpoint *h = l->endpoint;
    return l->up && (ltp_has_output(h->engine, l->peer) || coded_pending(h->coded));
}

bool link_is_active(const struct link *l)
{
    const struct ltp *engine = l->endpoint->engine;
    return !l->cla.told || l->cla.told_up != l->up || l->silent != ltp_silent(engine, l->peer) ||
           l->cla.limits.window != link_window(l) || !list_empty(&l->waiting) || l->full ||
           link_has_output(l);
}

uint32_t link_window(const struct link *l)
{
    if (ltp_silent(l->endpoint->engine, l->peer))
        return 1; /* it requests the peer; the other segments can still be sent another time */
    return ltp_link_window(l->config, ltp_window(l->endpoint->engine, l->peer));
}

void link_limits(struct link *l)
{
    l->cla.limits.window = link_window(l);
    l->cla.limits.resend = l->config->resend;
    assert(l->cla.limits.window >= 1);
}

struct link *ltp_endpoint_owner(struct ltp_endpoint *h, uint64_t peer)
{
    struct link *l = ltp_endpoint_link(h, peer);
    return l == NULL && h->host != NULL && ltp_is_unconfigured(h->engine, peer) ? h->host : l;
}

tick ltp_endpoint_now(struct ltp_endpoint *h)
{
    if (!h->busy) {
        tick t = world_now(h->world);
        h->now = t > h->now ? t : h->now;
    }
    return h->now;
}

/* What we were late by is no time in which a peer could have answered: it may have waited for us,
 * or for the same processor. */
static void take_lateness(struct ltp_endpoint *h, tick late)
{
    assert(late > 0);
    h->late_ns += late;
    if (late <= LATE)
        return;
    h->late_wakeups++;
    ltp_late(h->engine, late);
}

void ltp_endpoint_turn_begin(struct ltp_endpoint *h)
{
    assert(!h->busy && !h->common.ending);
    ltp_endpoint_now(h);
    h->busy = true;
    if (h->now > h->due)
        take_lateness(h, h->now - h->due);
    h->due = TICK_NEVER;
}

/* Datagrams may have arrived after the turn began, if the machine stalled meanwhile. Time must not
 * be earlier than their arrival. */
static void read_clock(struct ltp_endpoint *h)
{
    tick now = world_now(h->world);
    tick gone = now > h->now ? now - h->now : 0;
    h->now += gone;
    if (gone > LATE)
        take_lateness(h, gone);
}

/* The engine could not read it. */
static bool is_malformed(enum verdict v)
{
    return v == VERDICT_BAD_VERSION || v == VERDICT_BAD_TYPE || v == VERDICT_BAD_SDNV ||
           v == VERDICT_BAD_FIELD || v == VERDICT_TRUNCATED || v == VERDICT_TRAILING;
}

/* A datagram of no peer: perhaps the peer has an erasure code or frames, and this end has none. A
 * TM frame can look like a segment of an unknown engine. */
static void refuse_other(struct ltp_endpoint *h, struct slice datagram, const struct address *from,
                         enum verdict v)
{
    const char *frames = h->framed || h->coded != NULL ? NULL : frame_guess(datagram);
    if (v == VERDICT_BAD_VERSION && h->coded == NULL && erasure_is_packet(datagram))
        source_refuse_coded(h, from);
    else if (frames != NULL)
        source_refuse_framed(h, from, frames);
    else if (v == VERDICT_UNKNOWN_PEER)
        source_refuse_unknown(h, from, (datagram.data[0] & 0xf) < LTP_RS);
}

void ltp_endpoint_segment(struct ltp_endpoint *h, struct slice segment, const struct address *from,
                          struct slice source)
{
    const enum verdict v = ltp_input_from(h->engine, segment.data, segment.len, source, h->now);
    if (PORT_UNLIKELY(v == VERDICT_WRONG_SOURCE || v == VERDICT_AUTH_MISSING ||
                      v == VERDICT_AUTH_BAD || v == VERDICT_BAD_COOKIE))
        source_refuse(h, from, v);
    else if (PORT_UNLIKELY(v == VERDICT_UNKNOWN_PEER || is_malformed(v)))
        refuse_other(h, segment, from, v);
}

bool ltp_endpoint_input(struct ltp_endpoint *h)
{
    struct slice datagram, source = slice_of(NULL, 0);
    const struct address *from = NULL; /* of a run of datagrams: the kernel puts them together */
    uint8_t key[ADDRESS_KEY_MAX];
    assert(h->busy);
    if (!udp_fill(h->io, INPUT_BYTES))
        return false;
    read_clock(h);
    while (udp_next(h->io, &datagram)) {
        const struct address *sender = udp_from(h->io);
        if (PORT_UNLIKELY(from != sender)) {
            from = sender;
            source = address_key(from, key);
            assert(source.len <= LTP_SOURCE_MAX);
        }
        if (PORT_UNLIKELY(h->coded != NULL))
            coded_input(h, datagram, from, source);
        else
            ltp_endpoint_segment(h, datagram, from, source);
    }
    return true;
}

void ltp_endpoint_turn_end(struct ltp_endpoint *h)
{
    assert(h->busy);
    ltp_endpoint_pump(h);
    h->busy = false;
    if (h->common.ending)
        return;
    assert(!list_empty(&h->common.links) && alarm_due(&h->alarm) <= h->due);
    ltp_endpoint_watch(h);
    local_endpoint_tell_left(&h->common);
}

void ltp_endpoint_kick(struct ltp_endpoint *h)
{
    if (!h->busy)
        ltp_endpoint_again(h);
}

void ltp_endpoint_again(struct ltp_endpoint *h)
{
    if (!h->common.ending)
        alarm_set(&h->alarm, 0);
}

void ltp_endpoint_free(struct ltp_endpoint *h)
{
    assert(h->common.ending && list_empty(&h->common.links));
    local_endpoint_tell_left(&h->common);
    incoming_drop(h, NULL);
    mixed_drop(h, NULL);
    assert(list_empty(&h->common.leaving) && h->halves_bytes == 0);
    hash_fini(&h->incoming);
    hash_fini(&h->by_peer);
    ltp_free(h->engine);
    coded_free(h->coded);
    while (!list_empty(&h->outgoing)) {
        struct list *node = list_first(&h->outgoing);
        list_sub(node);
        free(container_of(node, struct outgoing, node));
    }
    while (h->auths != NULL) {
        struct auth_held *a = h->auths;
        h->auths = a->next;
        auth_close(a->auth);
        free(a);
    }
    free(h->unconfigured_to);
    free(h);
}

static void ltp_endpoint_end(struct ltp_endpoint *h)
{
    if (!h->common.ending)
        local_endpoint_end(&h->common); /* it did not get its first link */
    if (h->port == NULL)
        ltp_endpoint_free(h);
    else
        ltp_endpoint_wake_close(h);
}

static struct ltp_endpoint *ltp_endpoint_new(const struct link *l, uint64_t engine)
{
    struct ltp_endpoint *h = calloc(1, sizeof *h);
    if (h == NULL)
        return NULL;
    h->local = l->config->udp.local;
    h->engine_number = engine;
    h->next_token = 1;
    h->due = TICK_NEVER;
    list_init(&h->active);
    list_init(&h->outgoing);
    list_init(&h->rows);
    list_init(&h->halves);
    if (hash_init(&h->incoming, l->env.seed) != 0 || hash_init(&h->by_peer, l->env.seed) != 0) {
        hash_fini(&h->incoming);
        free(h);
        return NULL;
    }
    local_endpoint_begin(&h->common, l->env.shared);
    return h;
}

/* The span of a link with its keys, which the local endpoint keeps as long as the span. 0 or an
 * error with its text. */
static int span_of(struct ltp_endpoint *h, const struct link *l, struct ltp_span *out, char *why,
                   size_t why_cap)
{
    const struct ltp_link_config *k = l->config;
    const char *key = "";
    char text[256] = "";
    *out = ltp_link_span(k, l->peer, l->env.bundle_max, l->env.confirm);
    out->round_trip = link_light(l);
    if (k->auth == LTP_LINK_AUTH_OFF)
        return 0;
    struct auth_held *held = calloc(1, sizeof *held);
    int r = held == NULL ? HELIO_ENOMEM : ltp_link_auth(k, &held->auth, &key, text, sizeof text);
    if (r != 0) {
        snprintf(why, why_cap, "%s: %s", r == HELIO_ENOMEM ? "auth" : key,
                 r == HELIO_ENOMEM ? helio_strerror(r) : text);
        free(held);
        return r;
    }
    held->next = h->auths;
    h->auths = held;
    out->auth = held->auth;
    return 0;
}

static int ltp_endpoint_engine(struct ltp_endpoint *h, const struct link *l, char *why,
                               size_t why_cap)
{
    const struct ltp_link_config *k = l->config;
    struct ltp_span unconfigured;
    int r = span_of(h, l, &unconfigured, why, why_cap);
    if (r != 0)
        return r;
    struct ltp_config config = {
        .engine = h->engine_number,
        .seed = l->env.seed,
        .secret = {world_random(h->world), world_random(h->world)},
        .import_sessions = (uint32_t)k->import_sessions_all,
        .held_bytes = k->held_bytes + NOTES_BYTES,
        .closed_memory = (uint32_t)k->closed_sessions,
        .closed_time = k->closed_time,
        .earlier_life = l->env.earlier_life,
        .sink = l->env.sink,
        .sink_context = l->env.sink_context,
        .unconfigured_max = (uint32_t)k->accept_unknown,
        .unconfigured = &unconfigured,
        .unconfigured_sessions = (uint32_t)k->unknown_sessions,
        .unconfigured_bytes = k->unknown_bytes,
    };
    r = ltp_new(&h->engine, &config);
    return r != 0 ? r : ltp_service_open(h->engine, LTP_SERVICE_SDA);
}

/* A new local endpoint in *out, or an error with its text. */
static int ltp_endpoint_open(struct ltp_endpoint **out, struct link *l, uint64_t engine, char *why,
                             size_t why_cap)
{
    struct ltp_endpoint *h = ltp_endpoint_new(l, engine);
    if (h == NULL)
        return HELIO_ENOMEM;
    int r = ltp_endpoint_wake_open(h, l, why, why_cap);
    if (r == 0)
        r = ltp_endpoint_engine(h, l, why, why_cap);
    if (r == 0)
        r = coded_new(&h->coded, l->config, (uint32_t)world_random(h->world), h);
    if (r == 0)
        r = unconfigured_init(h, l, ltp_endpoint_now(h));
    if (r != 0) {
        ltp_endpoint_end(h);
        return r;
    }
    assert(h->engine != NULL && h->io != NULL);
    *out = h;
    return 0;
}

/* Links with frames share an address, but each has a virtual channel of its own. */
static bool has_channel(const struct ltp_endpoint *h, const struct frame_keys *k)
{
    return !h->framed || k->out.kind == FRAMES_OFF || h->frames.out.vcid == k->out.vcid;
}

static struct ltp_endpoint *ltp_endpoint_find(const struct link *l)
{
    const struct address *local = &l->config->udp.local;
    struct local_endpoint *e = local_endpoint_first(l->env.shared);
    for (; e != NULL && address_port(local) != 0; e = e->next) {
        struct ltp_endpoint *h = container_of(e, struct ltp_endpoint, common);
        if (address_equal(&h->local, local) && has_channel(h, &l->config->frames))
            return h;
    }
    return NULL;
}

void ltp_endpoint_buffers(struct link *l)
{
    uint64_t want = ltp_link_buffer(l->config);
    struct udp_io *io =
        l->endpoint->framed ? frame_port_socket(l->endpoint->port) : l->endpoint->io;
    if (io == NULL) /* by TCP, or files */
        return;
    if (udp_buffers(io, want, want, &l->rx_buffer, &l->tx_buffer))
        return;
    char advice[128] = "";
    if (l->rx_buffer < want)
        snprintf(advice, sizeof advice, " net.core.rmem_max=%llu", (unsigned long long)want);
    if (l->tx_buffer < want)
        snprintf(advice + strlen(advice), sizeof advice - strlen(advice), " net.core.wmem_max=%llu",
                 (unsigned long long)want);
    cla_say(&l->cla, 1,
            "socket buffers of %llu bytes are wanted, the kernel allows %llu for receiving and "
            "%llu for sending: bursts may be lost. To allow more: sysctl -w%s",
            (unsigned long long)want, (unsigned long long)l->rx_buffer,
            (unsigned long long)l->tx_buffer, advice);
}

static int join_span(struct ltp_endpoint *h, struct link *l, char *why, size_t why_cap)
{
    struct ltp_span span;
    int r = span_of(h, l, &span, why, why_cap);
    if (r != 0)
        return r;
    l->auth = span.auth;
    r = ltp_span_set(h->engine, &span, ltp_endpoint_now(h));
    if (r != 0)
        snprintf(why, why_cap, "LTP engine: %s", helio_strerror(r));
    return r;
}

/* Can the link join the local endpoint's other links? */
static int may_join(struct ltp_endpoint *h, const struct link *l, uint64_t engine, char *why,
                    size_t why_cap)
{
    char local[ADDRESS_TEXT_MAX];
    address_write(&h->local, local);
    if (h->framed || l->config->frames.out.kind != FRAMES_OFF) {
        snprintf(why, why_cap,
                 "frames: a link with CCSDS frames has its local address, here %s, for itself, or "
                 "with others that have frames, each with a frames.vcid of its own",
                 local);
        return HELIO_EINVAL;
    }
    if (h->coded != NULL || l->config->erasure != LTP_LINK_ERASURE_OFF) {
        snprintf(why, why_cap,
                 "erasure: a link with erasure code has its local address, here %s, for itself",
                 local);
        return HELIO_EINVAL;
    }
    if (h->engine_number != engine) {
        snprintf(why, why_cap, "engine: another link of %s has LTP engine number %llu", local,
                 (unsigned long long)h->engine_number);
        return HELIO_EINVAL;
    }
    if (ltp_endpoint_link(h, l->peer) != NULL) {
        snprintf(why, why_cap, "peer_engine: another link of %s goes to LTP engine %llu", local,
                 (unsigned long long)l->peer);
        return HELIO_EEXIST;
    }
    if (l->config->accept_unknown != 0) {
        snprintf(why, why_cap, "unknown: {accept: …}: write it with the first link of %s", local);
        return HELIO_EINVAL;
    }
    return 0;
}

int ltp_endpoint_join(struct link *l, uint64_t engine, char *why, size_t why_cap)
{
    const struct ltp_link_config *k = l->config;
    struct ltp_endpoint *h = ltp_endpoint_find(l);
    bool fresh = h == NULL;
    assert(l->endpoint == NULL);
    snprintf(why, why_cap, "%s", helio_strerror(HELIO_ENOMEM));
    int r = fresh ? ltp_endpoint_open(&h, l, engine, why, why_cap)
                  : may_join(h, l, engine, why, why_cap);
    if (r != 0)
        return r;
    tick now = ltp_endpoint_now(h);
    r = join_span(h, l, why, why_cap);
    if (r != 0) {
        if (fresh)
            ltp_endpoint_end(h);
        return r;
    }
    l->endpoint = h;
    source_set(l);
    local_endpoint_enter(&h->common, &l->cla);
    hash_add(&h->by_peer, &l->by_peer, hash_mix(h->by_peer.seed, l->peer, 0));
    link_touch(l);
    bucket_init(&l->bucket, k->pace.rate, k->pace.burst, k->pace.slack, now);
    ltp_endpoint_buffers(l);
    link_directions(l);
    source_warn(l);
    assert(ltp_endpoint_link(h, l->peer) == l);
    return 0;
}

static void change_rate(struct bucket *b, const struct pace_keys *k, tick now)
{
    if (b->rate_bps == k->rate && b->burst == k->burst && b->slack == k->slack)
        return;
    tick lost = b->lost;
    bucket_init(b, k->rate, k->burst, k->slack, now);
    b->lost = lost;
}

int ltp_endpoint_change(struct link *l, char *why, size_t why_cap)
{
    struct ltp_endpoint *h = l->endpoint;
    assert(ltp_endpoint_link(h, l->peer) == l);
    tick now = ltp_endpoint_now(h);
    if (h->framed && (l->config->source != h->source || l->config->udp.dscp != h->dscp)) {
        snprintf(why, why_cap,
                 "%s: with frames it holds as long as the link; remove the link "
                 "and add it again",
                 l->config->source != h->source ? "source" : "pacing.dscp");
        return HELIO_EINVAL;
    }
    struct ltp_span span = ltp_link_span(l->config, l->peer, l->env.bundle_max, l->env.confirm);
    if (h->coded != NULL &&
        (size_t)span.segment_max + span.checkpoint_extra > h->coded->config.segment_max) {
        snprintf(
            why, why_cap,
            "segment: with erasure code it can only become shorter; remove the link and add it "
            "again");
        return HELIO_EINVAL;
    }
    span.auth = l->auth;
    span.round_trip = link_light(l);
    int r = ltp_span_set(h->engine, &span, now);
    if (r != 0) {
        snprintf(why, why_cap, "LTP engine: %s", helio_strerror(r));
        return r;
    }
    source_set(l);
    change_rate(&l->bucket, &l->config->pace, now);
    if (h->host == l)
        change_rate(&h->unconfigured_bucket, &l->config->pace, now);
    return 0;
}

static void drop_auth(struct ltp_endpoint *h, const struct ltp_auth *auth)
{
    for (struct auth_held **p = &h->auths; *p != NULL; p = &(*p)->next) {
        struct auth_held *a = *p;
        if (a->auth != auth)
            continue;
        *p = a->next;
        auth_close(a->auth);
        free(a);
        return;
    }
}

void ltp_endpoint_leave(struct link *l)
{
    struct ltp_endpoint *h = l->endpoint;
    assert(!h->common.ending && ltp_endpoint_link(h, l->peer) == l);
    mixed_drop(h, l);
    list_sub(&l->active);
    const bool ends = local_endpoint_leave(&h->common, &l->cla);
    if (h->host == l)
        h->host = NULL;
    udp_forget(h->io, &l->to);
    incoming_drop(h, l);
    outgoing_forget(h, l);
    int r = ltp_span_remove(h->engine, l->peer, ltp_endpoint_now(h));
    assert(r == 0); /* it was set when the link joined */
    (void)r;
    link_account_end(l);
    drop_auth(h, l->auth);
    l->auth = NULL;
    hash_sub(&h->by_peer, &l->by_peer);
    if (ends)
        ltp_endpoint_end(h);
    else
        ltp_endpoint_kick(h);
}
