/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The normal case: a request is answered with a number. When the request is repeated with that
 * number, it becomes a client, which runs to its end by itself. Its result is printed and it is
 * freed in the next sweep, never within its own call. The number is sent to the source that the
 * request names. So a sender that forges the source does not see the number, and no state is kept
 * until it returns: it is an HMAC of source and session.
 *
 * What can go wrong: too many requests, or too long or too large ones (the answer says so); a
 * repeated request (it gets the first answer again); and a sender that hears nothing. --reverse-max
 * ends that one; at a rate, it also ends when the receiver stops repeating its request.
 */
#include "tools/perf/perf_senders.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

int perf_senders_init(struct perf_senders *s, struct world *w, const struct perf_options *o)
{
    *s = (struct perf_senders){.options = o, .world = w, .results = json_array()};
    list_init(&s->list);
    for (int i = 0; i < 2; i++)
        s->secret[i] = world_random(w);
    return s->results == NULL ? HELIO_ENOMEM : 0;
}

static void free_sender(struct perf_sender *e)
{
    struct perf_senders *s = e->all;
    assert(s->len > 0);
    list_sub(&e->order);
    s->len--;
    perf_client_fini(&e->client);
    alarm_fini(&e->limit);
    free(e);
}

void perf_senders_fini(struct perf_senders *s)
{
    if (s->world == NULL)
        return;
    list_for_each_safe (it, &s->list)
        free_sender(container_of(it, struct perf_sender, order));
    assert(s->len == 0);
    json_decref(s->results);
}

/* ---- requests ---- */

static struct perf_sender *find_sender(const struct perf_senders *s, uint64_t id)
{
    list_for_each (it, &s->list) {
        struct perf_sender *e = container_of(it, struct perf_sender, order);
        if (e->client.session == id)
            return e;
    }
    return NULL;
}

static bool was_sent(const struct perf_senders *s, uint64_t id)
{
    for (size_t i = 0; i < PERF_SENT_MAX; i++)
        if (s->sent[i] == id)
            return true;
    return false;
}

static void on_done(void *context)
{
    struct perf_sender *e = context;
    e->over = true;
    alarm_set(&e->limit, TICK_NEVER);
}

static tick silent_at(const struct perf_sender *e)
{
    tick linger = e->all->options->linger;
    if (e->options.window > 0)
        return TICK_NEVER; /* it waits for acknowledgements */
    return tick_add(e->heard, linger < PERF_REQUEST_SILENCE ? PERF_REQUEST_SILENCE : linger);
}

static void on_limit(void *context)
{
    struct perf_sender *e = context;
    struct perf_senders *s = e->all;
    tick now = world_now(s->world), limit = tick_add(e->began, s->options->reverse_max);
    if (now < limit && now < silent_at(e)) {
        alarm_set(&e->limit, tick_min(limit, silent_at(e)));
        return;
    }
    if (now >= limit)
        fprintf(stderr, "helio-perf: sending to %s took longer than --reverse-max; it ends\n",
                e->peer);
    else
        fprintf(stderr, "helio-perf: %s was not heard for %.3g s: sending to it ends\n", e->peer,
                (double)(now - e->heard) / 1e9);
    perf_client_interrupt(&e->client);
}

static void begin_sender(struct perf_sender *e)
{
    struct perf_senders *s = e->all;
    e->client.quiet = true;
    e->began = e->heard = world_now(s->world);
    alarm_set(&e->limit, tick_min(tick_add(e->began, s->options->reverse_max), silent_at(e)));
    perf_client_start(&e->client, false, on_done, e);
}

static enum perf_answer add_sender(struct perf_senders *s, const char *peer,
                                   const struct perf_options *o, uint64_t id)
{
    const uint64_t seed[2] = {id, world_random(s->world)};
    struct perf_sender *e = calloc(1, sizeof *e);
    if (e == NULL)
        return PERF_UNABLE;
    assert(strlen(peer) < sizeof e->peer && s->len < PERF_SENDERS_MAX);
    *e = (struct perf_sender){.all = s, .options = *o};
    memcpy(e->peer, peer, strlen(peer) + 1);
    e->options.destination = e->peer;
    list_init(&e->order);
    list_add_tail(&s->list, &e->order);
    s->len++;
    alarm_init(&e->limit, s->world, ALARM_APP, on_limit, e);
    if (perf_client_init(&e->client, s->world, &e->options, seed) != 0) {
        free_sender(e);
        return PERF_UNABLE;
    }
    begin_sender(e);
    return PERF_GOES;
}

/* What is ours of the options; the request has the others. */
static struct perf_options own_options(const struct perf_senders *s)
{
    const struct perf_options *o = s->options;
    return (struct perf_options){
        .socket = o->socket, .linger = o->linger, .reconnect = o->reconnect};
}

static enum perf_answer check_request(const struct perf_senders *s, const struct perf_options *o)
{
    tick most = s->options->reverse_max;
    if (most == 0)
        return PERF_NEVER;
    if (o->time > most)
        return PERF_TOO_LONG;
    if (o->payload > PERF_REQUEST_PAYLOAD_MAX || o->window > PERF_REQUEST_WINDOW_MAX)
        return PERF_TOO_BIG;
    return s->len < PERF_SENDERS_MAX ? PERF_GOES : PERF_BUSY;
}

static enum perf_answer check_echo(const struct perf_senders *s, const char *peer,
                                   const struct perf_head *h, uint64_t *echo)
{
    if (!perf_echo(s->secret, peer, h->session, echo))
        return PERF_UNABLE;
    return h->seq == *echo ? PERF_GOES : PERF_ECHO;
}

static void limit_options(struct perf_options *o)
{
    if (o->ack_timeout > 0 && o->ack_timeout < PERF_REQUEST_ACK_MIN)
        o->ack_timeout = PERF_REQUEST_ACK_MIN;
    if (o->lifetime_ms > PERF_REQUEST_LIFETIME_MAX)
        o->lifetime_ms = PERF_REQUEST_LIFETIME_MAX;
}

enum perf_answer perf_senders_take(struct perf_senders *s, const char *peer,
                                   const struct perf_head *h, struct slice body, uint64_t *echo)
{
    struct perf_options o = own_options(s);
    struct perf_sender *old = find_sender(s, h->session);
    s->requests++;
    if (old != NULL || was_sent(s, h->session)) {
        bool its = old != NULL && !old->over && strcmp(old->peer, peer) == 0;
        if (its && (h->flags & PERF_STOP) != 0)
            perf_client_interrupt(&old->client);
        else if (its && check_echo(s, peer, h, echo) == PERF_GOES)
            old->heard = world_now(s->world);
        return PERF_GOES;
    }
    if ((h->flags & PERF_STOP) != 0 || strlen(peer) >= PERF_PEER_MAX ||
        !perf_request_parse(body, &o))
        return PERF_ANSWERS;
    limit_options(&o);
    enum perf_answer a = check_request(s, &o);
    a = a == PERF_GOES ? check_echo(s, peer, h, echo) : a;
    a = a == PERF_GOES ? add_sender(s, peer, &o, h->session) : a;
    s->refused += a != PERF_GOES && a != PERF_ECHO;
    return a;
}

/* ---- the end of one ---- */

static void tell_sender(struct perf_senders *s, const struct perf_sender *e)
{
    const struct perf_client *c = &e->client;
    const char *basis;
    if (json_array_size(s->results) < PERF_SENT_LIST_MAX)
        json_array_append_new(s->results, perf_client_json(c));
    s->sent[s->sent_next++ % PERF_SENT_MAX] = c->session;
    if (s->quiet)
        return;
    char name[PERF_PEER_MAX + 4];
    snprintf(name, sizeof name, "to %s", e->peer);
    printf("%-24s %10llu %14llu %12.3f %6llu %6llu %6llu %10.3f %10.3f\n", name,
           (unsigned long long)c->next, (unsigned long long)c->sent_bytes,
           perf_client_goodput(c, &basis) / 1e6, (unsigned long long)perf_client_missing(c),
           (unsigned long long)c->report.duplicates, (unsigned long long)c->report.wrong_crc,
           c->delay.mean / 1e6, (double)hist_quantile(&c->delay, 0.99) / 1e6);
    fflush(stdout);
}

void perf_senders_sweep(struct perf_senders *s)
{
    list_for_each_safe (it, &s->list) {
        struct perf_sender *e = container_of(it, struct perf_sender, order);
        if (!e->over)
            continue;
        tell_sender(s, e);
        free_sender(e);
    }
}

void perf_senders_stop(struct perf_senders *s)
{
    list_for_each (it, &s->list) {
        struct perf_sender *e = container_of(it, struct perf_sender, order);
        e->client.interrupted = e->client.interrupted || !e->over;
        e->over = true;
    }
    perf_senders_sweep(s);
    assert(s->len == 0);
}

/* This asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void perf_senders_check(const struct perf_senders *s)
{
    size_t n = 0;
    list_for_each (it, &s->list) {
        const struct perf_sender *e = container_of(it, struct perf_sender, order);
        assert(e->all == s && e->options.destination == e->peer);
        perf_client_check(&e->client);
        n++;
    }
    assert(n == s->len && n <= PERF_SENDERS_MAX);
}
