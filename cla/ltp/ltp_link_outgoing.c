/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles to transmit. Without aggregation each becomes a block at once. With aggregation (client
 * service 2, CCSDS 734.1-B-1) they are queued. The front of the queue becomes a block when it fills
 * one, when its first bundle has waited long enough, or when the link has no other data: waiting
 * behind other data costs no time. A bundle that is too long for aggregation is sent alone (client
 * service 1).
 *
 * What can go wrong: the peer has no client service 2; then it gets one bundle per block from then
 * on. It refuses a block because of one bundle; then the next bundles are sent alone. Memory.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/codec/bundle.h"
#include "cla/ltp/ltp_link.h"

#define ORANGE_SILENT_MAX 8

static struct outgoing *outgoing_new(struct link *l, size_t count)
{
    assert(count > 0 && count <= CAPSULES_RX_MAX);
    struct outgoing *x = malloc(sizeof *x + count * sizeof *x->keys);
    if (x == NULL)
        return NULL;
    x->link = l;
    x->count = count;
    x->over = 0;
    return x;
}

static void tell_carried(const struct link *l, const struct outgoing *x)
{
    const struct cla_events *e = &l->env.events;
    for (size_t i = 0; e->carried != NULL && i < x->count; i++)
        e->carried(e->context, (struct cla *)&l->cla, x->keys[i], x->id.originator, x->id.number);
}

/* The block is the engine's, and x with it; or neither is. */
static int send_block(struct link *l, struct outgoing *x, uint64_t client_service, struct buf *data,
                      struct ltp_link_choice choice)
{
    assert(x->link == l && x->count > 0 && data->len > 0);
    struct ltp_block block = {
        .peer = l->peer,
        .client_service = client_service,
        .data = data,
        .red_len = choice.colour != LTP_LINK_RED ? 0
                   : choice.red != 0             ? choice.red
                                                 : data->len,
        .orange = choice.colour == LTP_LINK_ORANGE,
        .tag = (uintptr_t)x,
    };
    x->opened = ltp_endpoint_now(l->endpoint);
    x->bytes = data->len;
    int r = ltp_send(l->endpoint->engine, &block, x->opened, &x->id);
    if (r != 0)
        return r;
    x->colour = choice.colour;
    list_add_tail(&l->endpoint->outgoing, &x->node);
    l->n.by_colour[choice.colour] += x->count;
    tell_carried(l, x);
    return 0;
}

static int send_alone(struct link *l, uint64_t key, struct buf *bundle,
                      struct ltp_link_choice choice)
{
    struct outgoing *x = outgoing_new(l, 1);
    if (x == NULL)
        return HELIO_ENOMEM;
    x->keys[0] = key;
    int r = send_block(l, x, LTP_SERVICE_BUNDLES, bundle, choice);
    if (r != 0)
        free(x);
    return r;
}

static int wait_in_row(struct link *l, uint64_t key, struct buf *bundle,
                       struct ltp_link_choice choice)
{
    if (l->waiting_len >= link_window(l))
        return HELIO_EAGAIN;
    struct waiting *w = malloc(sizeof *w);
    if (w == NULL)
        return HELIO_ENOMEM;
    *w = (struct waiting){.key = key,
                          .bundle = buf_keep(bundle),
                          .since = ltp_endpoint_now(l->endpoint),
                          .choice = choice};
    list_add_tail(&l->waiting, &w->node);
    link_touch(l);
    l->waiting_len++;
    l->waiting_bytes += sda_size(LTP_SERVICE_BUNDLES, bundle->len);
    assert(l->waiting_len > 0 && !list_empty(&l->waiting));
    return 0;
}

int outgoing_send(struct link *l, uint64_t key, struct buf *bundle)
{
    struct ltp_link_choice choice = ltp_link_choose(l->config, buf_slice(bundle));
    int r = l->config->aggregate != 0 ? wait_in_row(l, key, bundle, choice)
                                      : send_alone(l, key, bundle, choice);
    if (r == 0)
        ltp_endpoint_kick(l->endpoint);
    return r;
}

/* Where the key stands; x->count: it is of another block. */
static size_t find_key(const struct outgoing *x, uint64_t key)
{
    size_t i = 0;
    while (i < x->count && x->keys[i] != key)
        i++;
    return i;
}

static struct waiting *first(const struct link *l)
{
    assert(l->waiting_len > 0 && !list_empty(&l->waiting));
    return container_of(list_first(&l->waiting), struct waiting, node);
}

static void waiting_free(struct link *l, struct waiting *w)
{
    assert(l->waiting_len > 0);
    list_sub(&w->node);
    l->waiting_len--;
    assert(l->waiting_bytes >= sda_size(LTP_SERVICE_BUNDLES, w->bundle->len));
    l->waiting_bytes -= sda_size(LTP_SERVICE_BUNDLES, w->bundle->len);
    buf_drop(w->bundle);
    free(w);
}

/* A block continues for those of its bundles that are not taken back. While the link is down its
 * duration is unknown: then the block is cancelled, expired bundles are not sent, and the others
 * are sent again. */
static void cancel_useless(struct link *l, struct outgoing *x)
{
    assert(x->link == l);
    if (x->over == 0 || (l->up && x->over < x->count))
        return;
    (void)ltp_cancel(l->endpoint->engine, x->id, LTP_USR_CNCLD,
                     ltp_endpoint_now(l->endpoint)); /* or it has closed */
    ltp_endpoint_kick(l->endpoint);
}

int outgoing_cancel(struct link *l, uint64_t key)
{
    list_for_each (it, &l->waiting) {
        struct waiting *w = container_of(it, struct waiting, node);
        if (w->key != key)
            continue;
        waiting_free(l, w);
        return HELIO_ENOENT;
    }
    list_for_each (it, &l->endpoint->outgoing) {
        struct outgoing *x = container_of(it, struct outgoing, node);
        const size_t i = find_key(x, key);
        if (x->link != l || i == x->count)
            continue;
        /* not taken back before: a lifetime and a contact may end at the same time */
        if (i >= x->over) {
            x->keys[i] = x->keys[x->over];
            x->keys[x->over++] = key;
        }
        assert(x->over <= x->count);
        cancel_useless(l, x);
        return 0;
    }
    return HELIO_ENOENT;
}

void outgoing_down(struct link *l)
{
    list_for_each (it, &l->endpoint->outgoing) {
        struct outgoing *x = container_of(it, struct outgoing, node);
        if (x->link == l)
            cancel_useless(l, x);
    }
}

/* How many bundles from the front of the queue form the next block, all with one LTP colour, and
 * its bytes. A bundle whose length cannot be determined is sent alone. */
static size_t company(struct link *l, size_t *bytes)
{
    assert(l->waiting_len > 0);
    size_t n = 0, size = 0;
    bool alone = l->alone > 0 || l->no_aggregates;
    list_for_each (it, &l->waiting) {
        const struct waiting *w = container_of(it, struct waiting, node);
        struct buf *b = w->bundle;
        size_t more = sda_size(LTP_SERVICE_BUNDLES, b->len);
        if (alone || w->choice.red != 0 || w->choice.colour != first(l)->choice.colour ||
            size + more > l->config->aggregate || n == CAPSULES_RX_MAX ||
            bundle_length(buf_slice(b)) != b->len)
            break;
        size += more;
        n++;
    }
    *bytes = size;
    assert(n <= l->waiting_len && n <= CAPSULES_RX_MAX);
    return n < 2 ? 1 : n;
}

static int send_company(struct link *l, size_t count, size_t bytes)
{
    assert(count > 1 && count <= l->waiting_len);
    struct outgoing *x = outgoing_new(l, count);
    struct buf *block = buf_new(0, bytes);
    int r = x == NULL || block == NULL ? HELIO_ENOMEM : 0;
    size_t i = 0;
    for (struct list *it = l->waiting.next; r == 0 && i < count; it = it->next) {
        struct waiting *w = container_of(it, struct waiting, node);
        x->keys[i++] = w->key;
        sdnv_put(buf_append(block, sdnv_len(LTP_SERVICE_BUNDLES)), LTP_SERVICE_BUNDLES);
        memcpy(buf_append(block, w->bundle->len), buf_data(w->bundle), w->bundle->len);
    }
    assert(r != 0 || (i == count && block->len == bytes));
    if (r == 0)
        r = send_block(l, x, LTP_SERVICE_SDA, block, first(l)->choice);
    if (r != 0)
        free(x);
    else
        l->n.aggregates_sent++;
    buf_drop(block);
    return r;
}

tick outgoing_due(const struct link *l)
{
    if (list_empty(&l->waiting) || ltp_room(l->endpoint->engine, l->peer) == 0)
        return TICK_NEVER;
    if (l->waiting_bytes >= l->config->aggregate || l->no_aggregates || l->alone > 0)
        return l->endpoint->now;
    if (ltp_has_output(l->endpoint->engine, l->peer))
        return TICK_NEVER;
    return tick_add(first(l)->since, l->config->aggregate_time);
}

/* The next block. Bundles that memory is too short for have failed; the node knows what to do. */
static int form_one(struct link *l)
{
    assert(l->waiting_len > 0);
    size_t bytes, count = company(l, &bytes);
    int r = count > 1 ? send_company(l, count, bytes)
                      : send_alone(l, first(l)->key, first(l)->bundle, first(l)->choice);
    if (count == 1 && l->alone > 0)
        l->alone--;
    for (; count > 0 && !list_empty(&l->waiting); count--) { /* the node may close the link */
        uint64_t key = first(l)->key;
        waiting_free(l, first(l));
        if (r == 0)
            continue;
        l->n.bundles_failed++;
        l->env.events.done(l->env.events.context, &l->cla, key, CLA_FAILED,
                           r == HELIO_ENOMEM ? CLA_REASON_NO_MEMORY : CLA_REASON_TOO_LONG);
    }
    return r;
}

bool outgoing_form(struct ltp_endpoint *h)
{
    bool any = false;
    list_for_each (it, &h->active) {
        struct link *l = container_of(it, struct link, active);
        while (outgoing_due(l) <= h->now) {
            any = true;
            if (form_one(l) != 0) /* the node was called: the links may be others now */
                return true;
        }
    }
    return any;
}

/* What a peer's cancellation says of aggregates. */
static void learn_limit(struct link *l, const struct ltp_notice *n, size_t count)
{
    assert(count > 0);
    if (count < 2 || n->kind != LTP_EXPORT_CANCELLED || !n->remote)
        return;
    if (n->reason == LTP_UNREACH && !l->no_aggregates) {
        l->no_aggregates = true;
        cla_say(&l->cla, 1,
                "the peer takes no blocks of several bundles (client service 2): it gets "
                "one bundle per block");
    } else {
        l->alone = count;
    }
}

/* Does the peer answer orange blocks at all? */
static void learn_orange(struct link *l, const struct ltp_notice *n)
{
    if (!n->orange || n->kind == LTP_EXPORT_CANCELLED)
        return;
    if (n->kind == LTP_EXPORT_DONE || n->remote)
        l->n.orange_answered++;
    else if (++l->n.orange_silent == ORANGE_SILENT_MAX && l->n.orange_answered == 0)
        cla_say(&l->cla, 1,
                "the peer has not answered our first %d orange blocks: if it does not know them, "
                "write colour: green",
                ORANGE_SILENT_MAX);
}

/* Logs the engine's knowledge about the peer's receiver when it matters. */
static void learn_support(struct link *l)
{
    struct ltp_support b;
    if (!ltp_peer_support(l->endpoint->engine, l->peer, &b) || b.learnt == l->told_learnt)
        return;
    l->told_learnt = b.learnt;
    if (b.learnt == LTP_LEARNT_PLAIN)
        cla_say(&l->cla, 1,
                "the peer's receiver reports on each copy of a checkpoint, or has cancelled a "
                "session for its reports: it gets plain recovery from now on (peer_profile)");
    else if (b.learnt == LTP_LEARNT_SUPPORTS || b.learnt == LTP_LEARNT_REPEATS)
        cla_say(&l->cla, 2, "the peer's receiver supports %s (peer_profile)",
                b.learnt == LTP_LEARNT_SUPPORTS ? "all recovery switches" : "few copies");
}

static uint64_t count_reports(const struct link *l)
{
    struct ltp_span_counters n;
    if (ltp_span_counters(l->endpoint->engine, l->peer, &n) != 0)
        return 0;
    return n.output_pos_ack_recv_count + n.output_neg_ack_recv_count;
}

static void note_unanswered(struct link *l, const struct outgoing *x)
{
    struct link_unconfirmed *u = &l->unconfirmed;
    struct ltp_watch w;
    if (ltp_watch(l->endpoint->engine, l->peer, &w) != 0)
        return;
    if (u->since == TICK_NEVER)
        *u = (struct link_unconfirmed){.since = x->opened,
                                       .ended = l->endpoint->now,
                                       .least = x->bytes,
                                       .reports = count_reports(l)};
    u->least = x->bytes < u->least ? x->bytes : u->least;
    if (x->opened >= u->ended && w.heard != TICK_NEVER && w.heard > x->opened) {
        u->heard = true;
        u->reported = count_reports(l) != u->reports;
    }
}

/* Do our blocks reach the peer, or only short ones? */
static void learn_unconfirmed(struct link *l, const struct outgoing *x, const struct ltp_notice *n)
{
    struct link_unconfirmed *u = &l->unconfirmed;
    if (x->colour != LTP_LINK_RED)
        return;
    if (n->kind == LTP_EXPORT_CANCELLED && !n->remote && n->reason == LTP_RLEXC)
        note_unanswered(l, x);
    else if (n->kind == LTP_EXPORT_DONE &&
             (x->bytes >= u->least || x->bytes > ltp_link_segment(l->config)))
        *u = (struct link_unconfirmed){.since = TICK_NEVER};
}

/* Why a session was cancelled, in the interface's words. */
static enum cla_reason reason_of(const struct ltp_notice *n)
{
    switch (n->reason) {
    case LTP_USR_CNCLD:
    case LTP_SYS_CNCLD:
        return n->remote ? CLA_REASON_PEER_REFUSED : CLA_REASON_CANCELLED;
    case LTP_UNREACH:
        return CLA_REASON_NO_SERVICE;
    case LTP_RLEXC:
        return CLA_REASON_NO_ANSWER;
    case LTP_MISCOLORED:
        return CLA_REASON_PROTOCOL;
    case LTP_RXMTCYCEXC:
        return CLA_REASON_CYCLES;
    }
    return CLA_REASON_PROTOCOL; /* a peer's number that RFC 5326 reserves */
}

/* The outcome of a closed session: a green block is done when it was sent; for red and orange
 * blocks the peer has answered. */
static enum cla_outcome outcome_of(const struct outgoing *x, const struct ltp_notice *n,
                                   enum cla_reason *reason)
{
    *reason = CLA_REASON_NONE;
    if (n->kind == LTP_EXPORT_DONE)
        return x->colour == LTP_LINK_GREEN ? CLA_HANDED_OVER : CLA_DELIVERED;
    if (n->kind == LTP_EXPORT_LOST) {
        *reason = n->remote ? CLA_REASON_PEER_LOST : CLA_REASON_NO_ANSWER;
        return CLA_LOST;
    }
    *reason = reason_of(n);
    return n->remote ? CLA_REFUSED : *reason == CLA_REASON_CANCELLED ? CLA_TAKEN_BACK : CLA_FAILED;
}

static void tell_done(struct link *l, uint64_t key, enum cla_outcome outcome,
                      enum cla_reason reason)
{
    if (cla_outcome_is_good(outcome))
        l->n.bundles_sent++;
    else if (outcome == CLA_LOST)
        l->n.bundles_lost++;
    else
        l->n.bundles_failed++;
    l->env.events.done(l->env.events.context, &l->cla, key, outcome, reason);
}

void outgoing_closed(struct ltp_notice *n)
{
    assert(n->tag != 0);
    struct outgoing *x = (struct outgoing *)(uintptr_t)n->tag;
    assert(x->count > 0 && x->colour <= LTP_LINK_ORANGE);
    if (x->link != NULL) {
        learn_limit(x->link, n, x->count);
        learn_orange(x->link, n);
        learn_support(x->link);
        learn_unconfirmed(x->link, x, n);
    }
    enum cla_reason reason;
    enum cla_outcome outcome = outcome_of(x, n, &reason);
    for (size_t i = 0; i < x->count && x->link != NULL; i++)
        tell_done(x->link, x->keys[i], outcome, reason);
    list_sub(&x->node);
    free(x);
}

void outgoing_forget(struct ltp_endpoint *h, struct link *l)
{
    list_for_each (it, &h->outgoing) {
        struct outgoing *x = container_of(it, struct outgoing, node);
        if (x->link == l)
            x->link = NULL;
    }
    assert(h == l->endpoint);
    while (!list_empty(&l->waiting))
        waiting_free(l, first(l));
    assert(l->waiting_len == 0 && l->waiting_bytes == 0);
}
