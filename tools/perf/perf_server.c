/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The happy path: a delivery is checked, entered into its session, answered to the node, and
 * acknowledged to its client by a bundle from the second connection; an acknowledgement is kept
 * until the node confirms it. What can go wrong: damaged or foreign bundles (counted), repeated
 * ones (dropped and acknowledged again, since the first acknowledgement may be lost), and the node
 * going away (acknowledgements that it had not confirmed are given again).
 */
#include "tools/perf/perf_server.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SWEEP TICK_S

static void on_ready(void *context);

int perf_server_init(struct perf_server *p, struct world *w, const struct perf_options *o,
                     const uint64_t seed[2])
{
    *p = (struct perf_server){.options = o, .cap = PERF_ACKS_MAX};
    list_init(&p->order);
    hist_init(&p->delay);
    perf_link_init(&p->link, w, o, seed[0], o->deliveries, o->payload_max, on_ready, p);
    alarm_init(&p->alarm, w, ALARM_APP, on_ready, p);
    int rc = perf_senders_init(&p->senders, w, o);
    p->acks = malloc(p->cap * sizeof *p->acks); /* touched only as far as it is needed */
    rc = rc == 0 ? hash_init(&p->sessions, seed[1]) : rc;
    return rc == 0 && p->acks == NULL ? HELIO_ENOMEM : rc;
}

static void forget_session(struct perf_server *p, struct perf_session *s)
{
    perf_server_tell(p, s);
    p->sum.bundles += s->report.bundles;
    p->sum.bytes += s->report.bytes;
    p->sum.duplicates += s->report.duplicates;
    p->sum_lost += perf_session_lost(s);
    p->sum_reordered += s->reordered;
    p->sum_refused += s->refused;
    hash_sub(&p->sessions, &s->node);
    list_sub(&s->order);
    perf_session_free(s);
}

void perf_server_fini(struct perf_server *p)
{
    perf_link_fini(&p->link);
    alarm_fini(&p->alarm);
    list_for_each_safe (it, &p->order) {
        struct perf_session *s = container_of(it, struct perf_session, order);
        hash_sub(&p->sessions, &s->node);
        perf_session_free(s);
    }
    hash_fini(&p->sessions);
    perf_senders_fini(&p->senders);
    free(p->acks);
}

static uint64_t session_hash(const struct perf_server *p, const char *peer, uint64_t id)
{
    return hash_mix(p->sessions.seed, hash_bytes(p->sessions.seed, peer, strlen(peer)), id);
}

static struct perf_session *find_session(const struct perf_server *p, const char *peer, uint64_t id)
{
    struct hash_node *n = hash_find(&p->sessions, session_hash(p, peer, id));
    for (; n != NULL; n = hash_next(n)) {
        struct perf_session *s = container_of(n, struct perf_session, node);
        if (s->id == id && strcmp(s->peer, peer) == 0)
            return s;
    }
    return NULL;
}

/* The session of a bundle, made when it is new; NULL when that cannot be. A receiver has one: of
 * the sender that was first. */
static struct perf_session *session_of(struct perf_server *p, const char *peer, uint64_t id,
                                       tick now)
{
    struct perf_session *s = find_session(p, peer, id);
    if (s == NULL && p->only != 0 && p->sessions.len > 0)
        return NULL;
    if (s == NULL) {
        s = perf_session_new(peer, id);
        if (s == NULL)
            return NULL;
        if (p->sessions.len >= PERF_SESSIONS_MAX) {
            forget_session(p, container_of(list_first(&p->order), struct perf_session, order));
            p->evicted++;
        }
        hash_add(&p->sessions, &s->node, session_hash(p, peer, id));
        p->opened++;
    }
    list_sub(&s->order);
    list_add_tail(&p->order, &s->order);
    s->heard = now;
    return s;
}

const struct perf_session *perf_server_session(const struct perf_server *p)
{
    const struct list *first = list_first(&p->order);
    assert(p->only != 0 && p->sessions.len <= 1);
    return first == NULL ? NULL : container_of(first, const struct perf_session, order);
}

static void acknowledge_session(struct perf_server *p, const struct perf_session *s,
                                const struct perf_head *h)
{
    struct perf_ack *a = &p->acks[(p->first + p->len++) % p->cap];
    struct perf_head out = *h;
    out.kind = PERF_ACK;
    out.flags = 0;
    out.total = out.offset = 0;
    out.name = slice_of(NULL, 0);
    struct perf_report r = s->report;
    if (h->kind == PERF_END &&
        (h->flags & PERF_WANT_DETAILS) !=
            0) /* once a run: the quantiles cost a walk through the histogram */
        perf_session_detail(s, world_wall(p->link.world), &r);
    memcpy(a->peer, s->peer, sizeof a->peer);
    a->len = perf_write_ack(&out, &r, a->payload);
}

bool perf_server_push(struct perf_server *p, const char *peer, struct slice payload)
{
    if (p->len == p->cap || strlen(peer) >= PERF_PEER_MAX)
        return false;
    struct perf_ack *a = &p->acks[(p->first + p->len++) % p->cap];
    assert(payload.len <= sizeof a->payload);
    memcpy(a->peer, peer, strlen(peer) + 1);
    memcpy(a->payload, payload.data, payload.len);
    a->len = payload.len;
    alarm_set(&p->alarm, world_now(p->link.world));
    return true;
}

/* A client wants us to send. What cannot have been made by one of ours has no answer. */
static void take_request(struct perf_server *p, const char *peer, const struct perf_head *h,
                         struct slice body)
{
    uint8_t out[PERF_HEAD];
    const struct perf_body empty = perf_body_of(slice_of(NULL, 0));
    uint64_t echo = 0;
    enum perf_answer a = perf_senders_take(&p->senders, peer, h, body, &echo);
    const struct perf_head answer = {.kind = PERF_ANSWER,
                                     .session = h->session,
                                     .seq = a == PERF_ECHO ? echo : 0,
                                     .time = h->time,
                                     .total = (uint64_t)a,
                                     .offset = world_wall(p->link.world)};
    if (a == PERF_ANSWERS)
        p->foreign++;
    else
        (void)perf_server_push(p, peer, slice_of(out, perf_write(&answer, &empty, out)));
}

static void damaged(struct perf_server *p, const char *peer, const struct perf_head *h)
{
    struct perf_session *s = find_session(p, peer, h->session);
    p->wrong_crc++;
    if (s != NULL)
        s->report.wrong_crc++;
}

/* A bundle of a client's, for a server; for a receiver also what its server says. */
static bool is_ours(const struct perf_server *p, const struct perf_head *h)
{
    if (p->only != 0)
        return h->session == p->only &&
               (h->kind == PERF_DATA || h->kind == PERF_END || h->kind == PERF_ANSWER);
    return h->kind == PERF_DATA || h->kind == PERF_END || h->kind == PERF_REQUEST;
}

static void take_payload(struct perf_server *p, const char *peer, struct slice payload, tick now)
{
    struct perf_head h;
    struct slice body;
    enum perf_verdict v = perf_parse(payload, &h, &body);
    if (v == PERF_WRONG_CRC) {
        damaged(p, peer, &h);
        return;
    }
    bool ours = v == PERF_OK && is_ours(p, &h);
    if (ours && h.kind == PERF_REQUEST) {
        take_request(p, peer, &h, body);
        return;
    }
    if (ours && h.kind == PERF_ANSWER) {
        p->answered(p->turned_context, &h);
        return;
    }
    struct perf_session *s = ours ? session_of(p, peer, h.session, now) : NULL;
    if (s == NULL) {
        p->foreign++;
        return;
    }
    int rc = 0;
    if (h.kind == PERF_END)
        perf_session_end(s, &h);
    else
        rc = perf_session_data(s, p->options, &h, body, payload.len, world_wall(p->link.world));
    if (rc == 1)
        hist_add(&p->delay,
                 world_wall(p->link.world) > h.time ? world_wall(p->link.world) - h.time : 0);
    if (rc >= 0 && (h.flags & PERF_WANT_ACK) != 0)
        acknowledge_session(p, s, &h);
    if (perf_session_whole(s))
        perf_server_tell(p, s);
}

static int read_deliveries(struct perf_server *p, tick now)
{
    struct aap2_arrival a;
    int rc = 0;
    while (p->len < p->cap) {
        rc = aap2_client_next(p->link.rx, &a);
        if (rc != 1)
            break;
        rc = 0;
        if (a.payload != NULL) {
            take_payload(p, a.message->adu->src_eid, buf_slice(a.payload), now);
            rc = aap2_client_answer(p->link.rx, true);
        }
        aap2_arrival_fini(&a);
        if (rc != 0)
            break;
    }
    return rc;
}

static int read_confirmations(struct perf_server *p)
{
    struct aap2_arrival a;
    int rc;
    while ((rc = aap2_client_next(p->link.tx, &a)) == 1) {
        bool valid = a.response != NULL && p->given > 0;
        if (valid) {
            p->acks_refused +=
                a.response->response_status != AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS;
            p->first = (p->first + 1) % p->cap;
            p->given--;
            p->len--;
        }
        aap2_arrival_fini(&a);
        if (!valid)
            return HELIO_EFORMAT;
    }
    return rc;
}

static int give_acks(struct perf_server *p)
{
    while (p->given < p->len) {
        if (aap2_client_full(p->link.tx)) {
            int rc = aap2_client_flush(p->link.tx);
            if (rc != 0 || aap2_client_full(p->link.tx))
                return rc;
        }
        struct perf_ack *a = &p->acks[(p->first + p->given) % p->cap];
        struct aap2_adu adu = {.destination = a->peer,
                               .lifetime_ms = p->options->lifetime_ms,
                               .head = slice_of(a->payload, a->len)};
        int rc = aap2_client_send(p->link.tx, &adu);
        if (rc != 0)
            return rc;
        p->given++;
    }
    return aap2_client_flush(p->link.tx);
}

static void fail_server(struct perf_server *p)
{
    p->stop = p->failed = true;
    fprintf(stderr, "helio-perf: %s\n", p->link.why);
}

static void serve_stream(struct perf_server *p, tick now)
{
    if (p->link.tx == NULL) {
        int got = perf_link_turn(&p->link, now);
        if (got < 0)
            fail_server(p);
        if (got <= 0)
            return;
    }
    int rc = read_confirmations(p);
    rc = rc == 0 ? read_deliveries(p, now) : rc;
    rc = rc == 0 ? aap2_client_flush(p->link.rx) : rc;
    rc = rc == 0 ? give_acks(p) : rc;
    if (rc == 0)
        return;
    perf_link_lost(&p->link, rc, now);
    p->given = 0; /* all that was not confirmed is sent again */
}

/* Prints the results of clients that ended, but whose last bundles do not arrive. */
static void sweep_sessions(struct perf_server *p, tick now)
{
    perf_senders_sweep(&p->senders);
    p->next_sweep = now + SWEEP;
    list_for_each_safe (it, &p->order) {
        struct perf_session *s = container_of(it, struct perf_session, order);
        if (s->ended && !s->told && now - s->heard >= p->options->linger)
            perf_server_tell(p, s);
    }
}

static void finish_session(struct perf_server *p)
{
    void (*done)(void *) = p->done;
    alarm_set(&p->alarm, TICK_NEVER);
    perf_senders_stop(&p->senders);
    p->done = NULL;
    if (done != NULL)
        done(p->context);
}

static void begin_session(struct perf_server *p)
{
    p->begun = true;
    p->senders.quiet = p->quiet;
    if (!p->quiet)
        perf_server_tell_header();
}

/* Called when the connections have an event, and at the time that was set. */
static void take_turn(struct perf_server *p)
{
    tick now = world_now(p->link.world);
    if (!p->begun) {
        p->stop = perf_link_turn(&p->link, now) < 0;
        if (!p->stop && !p->link.starting)
            begin_session(p);
    }
    if (p->begun && now >= p->next_sweep)
        sweep_sessions(p, now);
    if (p->begun)
        serve_stream(p, now);
    if (p->stop)
        finish_session(p);
    else if (p->link.tx == NULL)
        alarm_set(&p->alarm, tick_min(p->link.retry_at, p->begun ? p->next_sweep : TICK_NEVER));
    else
        alarm_set(&p->alarm, p->next_sweep);
    if (p->turned != NULL && !p->stop)
        p->turned(p->turned_context);
}

static void on_ready(void *context)
{
    struct perf_server *p = context;
    if (!p->stop)
        take_turn(p);
}

void perf_server_start(struct perf_server *p, void (*done)(void *context), void *context)
{
    p->done = done;
    p->context = context;
    take_turn(p);
}

void perf_server_stop(struct perf_server *p)
{
    if (!p->begun)
        snprintf(p->link.why, sizeof p->link.why, "stopped while waiting for the node");
    p->stop = true;
    finish_session(p);
}

void perf_server_end(struct perf_server *p)
{
    list_for_each_safe (it, &p->order)
        perf_server_tell(p, container_of(it, struct perf_session, order));
}

/* This asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void perf_server_check(const struct perf_server *p)
{
    assert(p->given <= p->len && p->len <= p->cap && p->first < p->cap);
    assert(p->sessions.len <= PERF_SESSIONS_MAX);
    perf_link_check(&p->link);
    perf_senders_check(&p->senders);
}
