/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection: a stream with its session. Every event ends in tcpcl_conn_pump: notices are
 * processed, then as much is written as the stream accepts. What can go wrong: the connection fails
 * or ends; memory.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cla/link_state.h"
#include "cla/tcpcl/tcpcl_link.h"

#define SERIALS (UINT32_C(1) << 24)
#define TOKEN_BITS 40

static void end_conn(struct tcpcl_conn *c);
static const struct stream_user user;

/* ---- notices ---- */

/* The contact headers are exchanged, and no byte after them was read. If both ends want TLS, it
 * begins here: a TLS stream over this one replaces c->stream. */
static void begin_security(struct tcpcl_conn *c, bool tls, tick now)
{
    const enum tcpcl_tls_start start = tls ? tcpcl_tls_begin(c) : TCPCL_TLS_NOT;
    if (start == TCPCL_TLS_LATER)
        return; /* tcpcl_conn_secure follows */
    if (start == TCPCL_TLS_BEGUN) {
        c->reading = false;
        stream_use(c->stream, &user, c);
        return; /* its handshake ends in on_writable or on_ended */
    }
    c->endpoint->tls_n.plain += !tls && c->can_tls;
    tcpcl_secured(c->session, !tls, now);
}

/* What the incoming transfer takes of the node's memory is what has come of it. */
static void settle_account(struct tcpcl_conn *c, uint64_t held)
{
    struct tcpcl_link *l = c->link;
    const struct cla_events *to = l == NULL ? NULL : &l->env.events;
    if (held == c->reserved || to == NULL || to->reserve == NULL)
        return;
    if (held > c->reserved && !to->reserve(to->context, &l->cla, held - c->reserved)) {
        tcpcl_shed(c->session, TCPCL_REFUSE_NO_RESOURCES, world_now(c->endpoint->s.world));
        held = 0;
    } else if (held > c->reserved) {
        l->reserved += held - c->reserved;
        c->reserved = held;
    }
    if (held >= c->reserved)
        return;
    to->release(to->context, &l->cla, c->reserved - held);
    l->reserved -= c->reserved - held;
    c->reserved = held;
}

static void tell_received(struct tcpcl_conn *c, const struct tcpcl_notice *n)
{
    struct tcpcl_link *l = c->link;
    const size_t bytes = n->bundle->len;
    assert(l != NULL);
    if (c->reserved != 0)
        settle_account(c, 0); /* the bundle counts at the node from here on */
    assert(c->reserved == 0);
    assert(n->token < UINT64_C(1) << TOKEN_BITS);
    l->bundles_received++;
    l->bytes_received += bytes;
    tcpcl_time_bundle(c, bytes);
    l->env.events.received(l->env.events.context, &l->cla, n->bundle,
                           (uint64_t)c->serial << TOKEN_BITS | n->token);
}

/* §5.2.4: what "completed" names the peer has; what is "not acceptable", or of an extension that it
 * cannot process, it would refuse again. */
static void read_refusal(enum tcpcl_refusal refusal, enum cla_outcome *outcome,
                         enum cla_reason *reason)
{
    switch (refusal) {
    case TCPCL_REFUSE_COMPLETED:
        *outcome = CLA_DELIVERED;
        *reason = CLA_REASON_NONE;
        break;
    case TCPCL_REFUSE_NOT_ACCEPTABLE:
    case TCPCL_REFUSE_EXTENSION_FAILURE:
        *outcome = CLA_DECLINED;
        *reason = CLA_REASON_PEER_DECLINED;
        break;
    case TCPCL_REFUSE_SESSION_TERMINATING: /* by the next session */
        *outcome = CLA_FAILED;
        *reason = CLA_REASON_DOWN;
        break;
    default:
        *outcome = CLA_REFUSED;
        *reason = refusal == TCPCL_REFUSE_NO_RESOURCES ? CLA_REASON_PEER_FULL
                  : refusal == TCPCL_REFUSE_RETRANSMIT ? CLA_REASON_PEER_REPEATS
                                                       : CLA_REASON_PEER_REFUSED;
        break;
    }
}

static void read_fate(const struct tcpcl_notice *n, enum cla_outcome *outcome,
                      enum cla_reason *reason)
{
    *outcome = n->fate == TCPCL_ACKED ? CLA_DELIVERED : CLA_FAILED;
    *reason = n->fate == TCPCL_ACKED  ? CLA_REASON_NONE
              : n->fate == TCPCL_LOST ? CLA_REASON_NO_ANSWER
                                      : CLA_REASON_DOWN;
    if (n->fate == TCPCL_REFUSED)
        read_refusal(n->refusal, outcome, reason);
}

static void tell_done(struct tcpcl_conn *c, const struct tcpcl_notice *n)
{
    struct tcpcl_link *l = c->link;
    enum cla_outcome outcome;
    enum cla_reason reason;
    read_fate(n, &outcome, &reason);
    assert(l->flight > 0 && l->flight_bytes >= n->length);
    l->flight--;
    l->flight_bytes -= n->length;
    l->env.events.done(l->env.events.context, &l->cla, n->key, outcome, reason);
    tcpcl_tell_window(c);
}

static void tell_up(struct tcpcl_conn *c, bool up)
{
    struct tcpcl_link *l = c->link;
    c->up = up;
    if (up) {
        c->was_up = true;
        if (c->active)
            remote_name_reached(&l->remote);
        tcpcl_claim_up(c);
        l->established++;
        l->pause = 0;
        tcpcl_look_at_keepalive(l, c);
    }
    tcpcl_set_limits(l, true);
    tcpcl_tell_link(l);
}

/* The reason of the peer's SESS_TERM; there is one in a connection. */
static unsigned peer_reason(const struct tcpcl_conn *c)
{
    unsigned reason = TCPCL_TERM_COUNT - 1;
    while (reason > TCPCL_TERM_UNKNOWN && c->n.term_rx[reason] == 0)
        reason--;
    return reason;
}

/* A connection ended before its peer identified itself: it is logged if TLS is the reason. */
static void tell_unidentified_over(struct tcpcl_conn *c, enum tcpcl_end end)
{
    struct address at;
    char from[ADDRESS_TEXT_MAX] = "a UNIX socket";
    c->endpoint->ends[end]++;
    const bool no_tls =
        end == TCPCL_END_PEER_TERM && !c->secure && peer_reason(c) == TCPCL_TERM_CONTACT_FAILURE;
    if ((end != TCPCL_END_NO_TLS && !no_tls) || list_empty(&c->endpoint->s.common.links))
        return;
    if (stream_peer(c->stream, &at))
        address_write(&at, from);
    struct tcpcl_link *l = tcpcl_first_link(c->endpoint);
    if (no_tls)
        tcpcl_tls_say(l, 1,
                      "the peer at %s ended the connection without TLS, reason: contact failure; "
                      "it may require TLS",
                      from);
    else
        tcpcl_tls_say(l, 1, "a connection from %s is refused: %s", from, tcpcl_end_text(end));
}

static void tell_peer_term(struct tcpcl_conn *c)
{
    const unsigned reason = peer_reason(c);
    assert(c->link != NULL);
    const bool refused = !c->was_up || reason == TCPCL_TERM_CONTACT_FAILURE;
    if (reason == TCPCL_TERM_UNKNOWN)
        tcpcl_down(c->link, refused ? 1 : 2, "a session ended: %s",
                   tcpcl_end_text(TCPCL_END_PEER_TERM));
    else
        tcpcl_down(c->link, refused ? 1 : 2, "a session ended: %s, reason: %s%s",
                   tcpcl_end_text(TCPCL_END_PEER_TERM), tcpcl_term_text(reason),
                   refused ? "; the peer's log has the details" : "");
    if (refused)
        tcpcl_refused(c->link);
}

#define NO_ANSWER_HINT "; a firewall drops the packets, or the address is wrong"

/* Refused: most often the peer's node does not run, or both links only connect. */
static const char *connect_hint(int error)
{
    switch (helio_errno(error)) {
    case ECONNREFUSED:
        return "; nobody listens there: start the peer's node, or give its link this address as "
               "local";
    case ETIMEDOUT:
        return NO_ANSWER_HINT;
    default:
        return "";
    }
}

/* The kernel would try for longer than timers.timeout. */
static void tell_unanswered(struct tcpcl_conn *c)
{
    char text[TCPCL_PLACE_MAX], span[LINK_SPAN_MAX];
    const tick now = world_now(c->endpoint->s.world);
    assert(c->link != NULL && c->begun <= now);
    tcpcl_down(c->link, 1,
               "cannot connect to %s: no answer to the connection for %s" NO_ANSWER_HINT,
               tcpcl_remote_text(c->link, text), link_span_text(now - c->begun, span));
}

/* The stream ended with an error, before or after the peer's contact header. */
static void tell_broken(struct tcpcl_conn *c)
{
    char text[TCPCL_PLACE_MAX];
    assert(c->link != NULL && c->error != 0);
    if (c->n.rx[0] == 0 && c->active && tcpcl_connects(c->link->config))
        tcpcl_down(c->link, 1, "cannot connect to %s: %s%s", tcpcl_remote_text(c->link, text),
                   tcpcl_tls_why(c), connect_hint(c->error));
    else
        tcpcl_down(c->link, 1, "%s: %s", tcpcl_end_text(TCPCL_END_STREAM), tcpcl_tls_why(c));
    if (helio_errno(c->error) == ECONNREFUSED)
        tcpcl_refused(c->link);
}

static void tell_over(struct tcpcl_conn *c, enum tcpcl_end end)
{
    struct tcpcl_link *l = c->link;
    c->endpoint->tls_n.refused[TCPCL_TRUST_PLAIN] += end == TCPCL_END_NO_TLS;
    if (l == NULL) {
        tell_unidentified_over(c, end);
        return;
    }
    l->ends[end]++;
    if (end == TCPCL_END_PEER_TERM)
        tell_peer_term(c);
    else if (end == TCPCL_END_STREAM && c->error != 0)
        tell_broken(c);
    else if (end == TCPCL_END_CONTACT_TIMEOUT && tcpcl_conn_connecting(c))
        tell_unanswered(c);
    else if (end != TCPCL_END_TLS && end != TCPCL_END_NOT_ADMITTED) /* which have been logged */
        tcpcl_down(l, end == TCPCL_END_OWN_TERM ? 2 : 1, "a session ended: %s",
                   tcpcl_end_text(end));
}

static void take_notice(struct tcpcl_conn *c, const struct tcpcl_notice *n)
{
    switch (n->kind) {
    case TCPCL_CONTACT:
        crowd_entry_active(&c->from);
        begin_security(c, n->tls, world_now(c->endpoint->s.world));
        break;
    case TCPCL_PEER:
        tcpcl_admit_peer(c);
        break;
    case TCPCL_UP:
        tell_up(c, true);
        break;
    case TCPCL_RECEIVED:
        tell_received(c, n);
        break;
    case TCPCL_DONE:
        tell_done(c, n);
        break;
    case TCPCL_ENDING:
        tell_up(c, false);
        break;
    case TCPCL_OVER:
        tell_over(c, n->end);
        break;
    }
}

/* ---- the pump ---- */

/* So many of them are written, *want octets: what there is, up to max. */
static size_t cut_parts(struct slice *parts, size_t n, size_t max, size_t *want)
{
    size_t i = 0;
    for (*want = 0; i < n && *want < max; i++) {
        if (parts[i].len > max - *want)
            parts[i].len = max - *want;
        *want += parts[i].len;
    }
    return i;
}

/* Writes some parts. False: the stream is full, there is no more output, or *room, the number of
 * parts left in this turn, is 0. */
static bool write_some(struct tcpcl_conn *c, size_t *room, tick now)
{
    struct slice parts[STREAM_PARTS_MAX];
    size_t max = *room < STREAM_PARTS_MAX ? *room : STREAM_PARTS_MAX, want = 0;
    const size_t credit = tcpcl_pace_credit(c, now);
    size_t n = max == 0 || credit == 0 ? 0 : tcpcl_output(c->session, parts, max, now);
    if (n == 0)
        return false;
    n = cut_parts(parts, n, credit, &want);
    *room -= n;
    size_t got = stream_write(c->stream, parts, n);
    tcpcl_wrote(c->session, got, now);
    tcpcl_pace_spend(c, got, now);
    return got == want;
}

static void watch_stream(struct tcpcl_conn *c, tick now)
{
    const bool rests = tcpcl_conn_rests(c, now);
    tcpcl_rest(c->session, rests);
    bool reads = tcpcl_reads(c->session);
    if (reads != c->reading) {
        c->reading = reads;
        stream_read(c->stream, reads);
    }
    stream_endpoint_wake_at(&c->endpoint->s, tcpcl_deadline(c->session));
    if ((rests || c->unwritten || tcpcl_stopped(c->session)) && list_empty(&c->later)) {
        list_add_tail(&c->endpoint->s.stopped, &c->later);
        stream_endpoint_more_at(&c->endpoint->s, rests ? tcpcl_rests_until(c) : 0);
    }
}

void tcpcl_conn_turn(struct tcpcl_conn *c, uint32_t messages)
{
    list_sub(&c->later);
    tcpcl_turn(c->session, tcpcl_time_turn(c, messages));
    tcpcl_rest(c->session, false);
    tcpcl_conn_pump(c);
}

void tcpcl_conn_pump(struct tcpcl_conn *c)
{
    const struct world *w = c->endpoint->s.world;
    struct tcpcl_notice n;
    tick now = 0;
    size_t room = TCPCL_TURN_PARTS;
    bool more = true;
    list_sub(&c->todo);
    if (c->stream == NULL || c->pumping)
        return;
    c->pumping = true;
    tcpcl_pace_begin(c, world_now(w));
    while (more) {
        more = false;
        now = world_now(w);
        for (tcpcl_time_begin(c, now); tcpcl_poll(c->session, &n, now); more = true)
            take_notice(c, &n);
        settle_account(c, tcpcl_held(c->session));
        if (c->link != NULL) /* parts of transfers are acknowledged, too */
            tcpcl_tell_window(c);
        now = world_now(w);
        tcpcl_time_end(c, now);
        more = write_some(c, &room, now) || more;
    }
    tcpcl_pace_end(c, now);
    c->unwritten = room == 0;
    c->pumping = false;
    if (tcpcl_state(c->session) == TCPCL_IN_OVER)
        end_conn(c);
    else
        watch_stream(c, now);
}

void tcpcl_conn_secure(struct tcpcl_conn *c)
{
    assert(c->awaits_files && !c->securing && !c->secure);
    c->awaits_files = false;
    if (tcpcl_state(c->session) == TCPCL_IN_SECURING) /* else it has ended meanwhile */
        begin_security(c, true, world_now(c->endpoint->s.world));
    tcpcl_conn_pump(c);
}

void tcpcl_conn_touch(struct tcpcl_conn *c)
{
    if (c->pumping || c->stream == NULL)
        return;
    if (c->reading && !tcpcl_reads(c->session)) { /* before its turn more may arrive */
        c->reading = false;
        stream_read(c->stream, false);
    }
    if (!list_empty(&c->todo))
        return;
    list_add_tail(&c->endpoint->s.dirty, &c->todo);
}

/* ---- the stream ---- */

static uint8_t *give_space(void *context, size_t *len)
{
    struct tcpcl_conn *c = context;
    return tcpcl_space(c->session, len);
}

static void take_bytes(void *context, size_t len)
{
    struct tcpcl_conn *c = context;
    tick now = world_now(c->endpoint->s.world);
    tcpcl_fed(c->session, len, now);
    if (c->link != NULL)
        c->link->heard = now;
    tcpcl_conn_pump(c);
}

static void on_writable(void *context)
{
    struct tcpcl_conn *c = context;
    if (c->securing) {
        tcpcl_tls_done(c);
        tcpcl_secured(c->session, true, world_now(c->endpoint->s.world));
    }
    tcpcl_conn_pump(c);
}

static void on_ended(void *context, int error)
{
    struct tcpcl_conn *c = context;
    tick now = world_now(c->endpoint->s.world);
    c->error = error;
    if (c->securing) {
        tcpcl_tls_failed(c, error);
        tcpcl_secured(c->session, false, now);
    }
    tcpcl_closed(c->session, now);
    tcpcl_conn_pump(c);
}

static const struct stream_user user = {
    .space = give_space, .fed = take_bytes, .writable = on_writable, .ended = on_ended};

/* ---- from the beginning to the end ---- */

void tcpcl_conn_terms(const struct tcpcl_link *l, struct tcpcl_terms *out)
{
    const struct tcpcl_config *k = l->config;
    *out = (struct tcpcl_terms){.keepalive_s = (uint16_t)(k->keepalive / TICK_S),
                                .segment_mru = k->segment_mru,
                                .transfer_mru = l->env.bundle_max,
                                .segment_max = k->segment,
                                .idle = k->idle,
                                .transfer_idle = k->transfer_idle,
                                .held_bytes = k->held_bytes};
    static_assert(sizeof out->node_id >= EID_TEXT_MAX, "any EID");
    (void)eid_text(&l->env.node, out->node_id);
}

/* With the terms of a link of the local endpoint; a connecting peer gets those of its own link when
 * it has identified itself. */
static struct tcpcl_conn *conn_new(struct tcpcl_endpoint *h, const struct tcpcl_link *l,
                                   bool active)
{
    struct tcpcl_conn *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    struct tcpcl_setup setup = {.active = active,
                                .tls = (enum tcpcl_tls)tcpcl_tls_mode(l->config),
                                .contact_timeout = l->config->timeout,
                                .ending_timeout = l->config->ending,
                                .counters = &c->n};
    tcpcl_conn_terms(l, &setup.terms);
    c->begun = world_now(h->s.world);
    c->session = tcpcl_new(&setup, c->begun);
    if (c->session == NULL) {
        free(c);
        return NULL;
    }
    tcpcl_turn(c->session, TCPCL_TURN_SHORT); /* or short sessions would never take turns */
    c->endpoint = h;
    c->active = active;
    c->can_tls = setup.tls != TCPCL_TLS_OFF;
    c->serial = h->serial = (h->serial + 1) % SERIALS;
    c->probe_at = TICK_NEVER;
    list_init(&c->node);
    list_init(&c->todo);
    list_init(&c->later);
    tcpcl_time_init(c);
    return c;
}

static void free_conn(struct tcpcl_conn *c)
{
    tcpcl_free(c->session);
    free(c);
}

/* Of either side: both send. */
static void set_up_stream(struct tcpcl_conn *c, struct tcpcl_link *l)
{
    const struct tcpcl_config *k = l->config;
    const int r = stream_endpoint_set_up(c->stream, k->socket_buffer, k->congestion);
    if (r != 0)
        tcpcl_say(l, 1, STREAM_ENDPOINT_NO_CONGESTION, k->congestion, helio_strerror(r));
}

void tcpcl_conn_accept(struct tcpcl_endpoint *h, struct stream *s, struct slice from)
{
    struct tcpcl_link *first = tcpcl_first_link(h);
    struct tcpcl_conn *c = conn_new(h, first, false);
    if (c != NULL && crowd_entry_add(&h->s.crowds, &c->from, from) != 0) {
        free_conn(c);
        c = NULL;
    }
    if (c == NULL) {
        h->s.displaced++;
        stream_close(s);
        return;
    }
    c->stream = s;
    stream_use(s, &user, c);
    set_up_stream(c, first);
    list_add_tail(&h->unidentified, &c->node);
    tcpcl_conn_pump(c);
}

void tcpcl_conn_begin(struct tcpcl_link *l)
{
    struct address at;
    char text[TCPCL_PLACE_MAX];
    const char *path = l->config->remote_path;
    struct stream_place to = {.path = path != NULL && *path != '\0' ? path : NULL, .address = &at};
    const bool known = to.path != NULL || remote_name_next(&l->remote, &at);
    assert(known);
    (void)known;
    struct tcpcl_conn *c = conn_new(l->endpoint, l, true);
    l->connects++;
    int r = c == NULL ? HELIO_ENOMEM : stream_connect(l->env.world, &c->stream, &to, &user, c);
    if (r != 0) {
        l->connects_failed++;
        tcpcl_down(l, 1, "cannot connect to %s: %s%s", tcpcl_remote_text(l, text),
                   helio_strerror(r), connect_hint(r));
        if (c != NULL)
            free_conn(c);
        tcpcl_retry_later(l, true);
        return;
    }
    set_up_stream(c, l);
    c->link = l;
    c->claim = TCPCL_CLAIM_REMOTE;
    list_add_head(&l->conns, &c->node);
    l->conns_len++;
    tcpcl_conn_pump(c);
}

/* Removes it from its lists, and adds up its counters; it is freed in the next turn. */
static void bury_conn(struct tcpcl_conn *c)
{
    struct tcpcl_link *l = c->link;
    settle_account(c, 0);
    if (l != NULL)
        tcpcl_claim_left(l, c);
    stream_close(c->stream);
    c->stream = NULL;
    c->up = false;
    list_sub(&c->todo);
    list_sub(&c->later);
    list_sub(&c->node);
    crowd_entry_sub(&c->from);
    if (l != NULL) {
        l->conns_len--;
        l->full = l->full && l->filled != c;
        l->filled = l->filled == c ? NULL : l->filled;
    }
    tcpcl_add_counters(l == NULL ? &c->endpoint->unidentified_n : &l->n, &c->n);
    tcpcl_free(c->session);
    c->session = NULL;
    list_add_tail(&c->endpoint->s.dead, &c->node);
    stream_endpoint_kick(&c->endpoint->s);
}

static void end_conn(struct tcpcl_conn *c)
{
    struct tcpcl_link *l = c->link;
    bool there = c->was_up; /* pauses also grow for a peer with a wrong identity */
    bool active = c->active;
    bury_conn(c);
    if (l == NULL)
        return;
    if (active && !there)
        l->connects_failed++;
    if (!tcpcl_claimed(l) && (active || !tcpcl_retry_due(l)))
        tcpcl_retry_later(l, !there);
    tcpcl_tell_link(l);
}

/* §6.1: before an unclean end, SESS_TERM and due acknowledgements are written, if the stream
 * accepts them at once. */
void tcpcl_conn_drop(struct tcpcl_conn *c)
{
    size_t room = TCPCL_TURN_PARTS;
    assert(!c->pumping);
    tcpcl_terminate(c->session, TCPCL_TERM_UNKNOWN, world_now(c->endpoint->s.world));
    while (write_some(c, &room, world_now(c->endpoint->s.world)))
        continue;
    bury_conn(c);
}
