/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FCLTU sessions in virtual time, from seeds: CLTUs and events under way together, right and wrong
 * numbers, times that come and pass, a host that answers late and radiates slowly, production that
 * is interrupted, wires that stall and break anywhere. What holds each time: no time that is kept
 * passes unserved; CLTUs come to the transmitter once, in order within a START, none before its
 * earliest or behind its latest time; events are accepted once each with numbers that follow one
 * another, over all associations; an accepted event's outcome is told to the user who is there,
 * once. A failure tells its seed.
 */
#include "base/rng.h"
#include "tests/unit/histories.h"
#include "tests/unit/sle_pair.h"
#include "tests/unit/suite.h"

enum { SESSIONS = 60, EVENTS = 4096 }; /* SLE_SEED=n: this one */

struct soak {
    struct pair pair;
    struct rng rng;
    uint64_t seed;
    uint32_t thrown;      /* the number that is thrown next */
    uint32_t accepted;    /* by the host, of all associations */
    uint32_t answered;    /* positive returns that came */
    uint32_t last_cltu;   /* radiated in this START */
    bool on_air, goes_on; /* CLTUs of the START before may be left */
    uint32_t outcomes;    /* told by the host */
    uint8_t told[EVENTS]; /* outcomes that came, by invocation */
    uint16_t waiting[64]; /* invoke ids of events that the host has not answered */
    uint32_t waiting_number[64];
    unsigned waiting_len;
    uint64_t radiated, refused, expired;
};

static struct soak soak;

#define CHECK(x) ck_assert_msg(x, "seed %llu: %s", (unsigned long long)soak.seed, #x)

static void take_user(struct soak *s, const struct sle_notice *n)
{
    if (n->kind == SLE_EVENT_ANSWER) {
        s->thrown = n->u.event_return.next_invocation;
        s->answered += n->diag == SLE_OK;
        s->refused += n->diag != SLE_OK;
    }
    if (n->kind == SLE_NOTIFIED && n->u.async.notification >= SLE_ASYNC_ACTIONS_DONE) {
        CHECK(n->u.async.invocation < s->accepted);
        CHECK(s->told[n->u.async.invocation]++ == 0);
    }
}

static void take_provider(struct soak *s, const struct sle_notice *n)
{
    if (n->kind == SLE_EVENT_THROWN) {
        CHECK(s->waiting_len < 64);
        CHECK(n->u.event.invocation == s->accepted + s->waiting_len);
        s->waiting_number[s->waiting_len] = n->u.event.invocation;
        s->waiting[s->waiting_len++] = n->invoke_id;
    }
    if (n->kind == SLE_STARTED_BY_USER)
        s->last_cltu = n->u.start.first_cltu - 1;
    if (n->kind == SLE_OVER)
        s->waiting_len = 0;
}

static void poll_all(struct soak *s, struct end *e)
{
    struct sle_notice n;
    while (e->link != NULL && sle_link_poll(e->link, &n, s->pair.now)) {
        e->seen[n.kind]++;
        e->over = e->over || n.kind == SLE_OVER;
        if (e == &s->pair.user)
            take_user(s, &n);
        else
            take_provider(s, &n);
    }
}

static void settle(struct soak *s)
{
    struct pair *p = &s->pair;
    for (bool more = true; more;) {
        more = !p->paused && read_end(p, &p->user, &p->down);
        poll_all(s, &p->user);
        more |= write_end(p, &p->user, &p->up);
        more |= read_end(p, &p->provider, &p->up);
        poll_all(s, &p->provider);
        more |= write_end(p, &p->provider, &p->down);
        sle_check(p->user.sle);
        sle_check(p->provider.sle);
    }
}

static void throw_event(struct soak *s)
{
    uint8_t octets[3] = {1, 2, 3};
    bool wrong = rng_chance(&s->rng, 0.2);
    struct sle_event e = {wrong ? (uint32_t)rng_below(&s->rng, 1000) : s->thrown,
                          1 + (uint32_t)rng_below(&s->rng, 9),
                          slice_of(octets, 1 + rng_below(&s->rng, 3))};
    if (s->accepted + 64 < EVENTS && sle_user_event(s->pair.asks, &e, s->pair.now) == 0 && !wrong)
        s->thrown++;
}

/* The oldest, mostly; a refusal takes those behind it with it. */
static void answer_event(struct soak *s)
{
    struct pair *p = &s->pair;
    if (s->waiting_len == 0)
        return;
    uint16_t id = s->waiting[0];
    CHECK(s->waiting_number[0] == s->accepted);
    if (rng_chance(&s->rng, 0.25)) {
        s->waiting_len = 0;
        sle_provider_answer_event(p->serves, id, SLE_EVENT_UNKNOWN, p->now);
        return;
    }
    s->waiting_len--;
    memmove(s->waiting, s->waiting + 1, s->waiting_len * sizeof *s->waiting);
    memmove(s->waiting_number, s->waiting_number + 1, s->waiting_len * sizeof *s->waiting_number);
    s->accepted++;
    sle_provider_answer_event(p->serves, id, SLE_OK, p->now);
}

static void tell_outcome(struct soak *s)
{
    if (s->outcomes == s->accepted)
        return;
    sle_provider_event_done(s->pair.serves, s->outcomes++,
                            SLE_ASYNC_ACTIONS_DONE + (unsigned)rng_below(&s->rng, 3), s->pair.now);
}

static struct sle_when draw_time(struct soak *s)
{
    uint64_t at = UNIX_NS + s->pair.now + rng_below(&s->rng, TICK_S);
    return (struct sle_when){rng_chance(&s->rng, 0.05), sle_time_of(at)};
}

static bool in_time(const struct sle_cltu_out *c, struct sle_time at)
{
    return !(c->earliest.known && sle_time_compare(at, c->earliest.at) < 0) &&
           !(c->latest.known && sle_time_compare(at, c->latest.at) > 0);
}

static void send_cltus(struct soak *s)
{
    static uint8_t octets[4000];
    unsigned count = 1 + (unsigned)rng_below(&s->rng, 20);
    while (count-- > 0) {
        struct sle_cltu c = {.notify = rng_chance(&s->rng, 0.5),
                             .earliest = draw_time(s),
                             .latest = draw_time(s),
                             .delay_us = (uint32_t)rng_below(&s->rng, 1000),
                             .data = slice_of(octets, 12 + rng_below(&s->rng, 3900))};
        (void)sle_user_cltu(s->pair.asks, &c, NULL, s->pair.now);
    }
}

static void radiate(struct soak *s)
{
    struct pair *p = &s->pair;
    struct sle_cltu_out c;
    struct sle_time at = sle_now(p->provider.sle, p->now);
    if (s->on_air) {
        sle_provider_cltu_radiated(p->serves, at, p->now);
        s->on_air = false;
        s->radiated++;
    } else if (sle_provider_cltu_next(p->serves, &c, p->now)) {
        CHECK(s->goes_on || c.id > s->last_cltu);
        CHECK(in_time(&c, at));
        s->last_cltu = c.id;
        sle_provider_cltu_started(p->serves, at, p->now);
        s->on_air = true;
    }
}

static void advance(struct soak *s)
{
    struct pair *p = &s->pair;
    tick until = p->now + rng_below(&s->rng, TICK_S);
    for (tick due; (due = pair_deadline(p)) <= until;) {
        p->now = due > p->now ? due : p->now;
        pair_expire(p);
        settle(s);
    }
    p->now = until;
}

static void one_step(struct soak *s)
{
    struct pair *p = &s->pair;
    struct sle_start start = {.first_cltu = (uint32_t)rng_below(&s->rng, 100)};
    switch (rng_below(&s->rng, 16)) {
    case 0:
        p->paused = !p->paused;
        break;
    case 1:
        (void)sle_user_start(p->asks, &start, p->now);
        break;
    case 2:
        if (rng_chance(&s->rng, 0.3))
            (void)sle_user_stop(p->asks, p->now);
        break;
    case 3:
        if (rng_chance(&s->rng, 0.3))
            sle_provider_production(p->serves,
                                    rng_chance(&s->rng, 0.6) ? SLE_OPERATIONAL
                                                             : (unsigned)rng_below(&s->rng, 4),
                                    p->now);
        break;
    case 4:
    case 5:
        send_cltus(s);
        break;
    case 6:
    case 7:
    case 8:
        throw_event(s);
        break;
    case 9:
    case 10:
        answer_event(s);
        break;
    case 11:
        tell_outcome(s);
        break;
    case 12:
        p->down.room = 1 + rng_below(&s->rng, rng_chance(&s->rng, 0.5) ? 200 : PIPE_ROOM);
        break;
    case 13:
        advance(s);
        break;
    default:
        radiate(s);
    }
    settle(s);
}

static void break_wire(struct soak *s)
{
    struct pair *p = &s->pair;
    pair_break(p, &s->rng);
    for (int k = 0; k < 20; k++)
        settle(s);
    CHECK(p->user.over && p->provider.over);
}

/* All is answered, and outcomes are told, when the wire is good to the end. */
static void drain(struct soak *s)
{
    struct pair *p = &s->pair;
    p->paused = false;
    p->down.room = PIPE_ROOM;
    settle(s);
    while (s->waiting_len > 0 && !p->user.over) {
        answer_event(s);
        settle(s);
    }
    uint32_t first = s->outcomes;
    while (s->outcomes < s->accepted)
        tell_outcome(s);
    settle(s);
    for (uint32_t k = first; k < s->accepted && !p->user.over; k++)
        CHECK(s->told[k] == 1);
}

static void run_soak(struct soak *s, uint64_t seed)
{
    memset(s, 0, sizeof *s);
    s->seed = seed;
    rng_init(&s->rng, seed);
    struct sle_provider_config c = {.id = CLTU_ID, .cltu_buffer = 20000};
    c.continue_on_abort = s->goes_on = rng_chance(&s->rng, 0.5);
    pair_init(&s->pair, (enum sle_auth_level)rng_below(&s->rng, 3));
    pair_add(&s->pair, &c, (uint8_t)(2 + rng_below(&s->rng, 4)));
    for (int connection = 0; connection < 4; connection++) {
        struct pair *p = &s->pair;
        p->up.len = p->down.len = 0;
        p->up.ended = p->down.ended = p->paused = false;
        p->up.urgent = p->down.urgent = -1;
        p->user.over = p->user.freed = p->provider.over = p->provider.freed = false;
        p->user.link = sle_connect(p->asks, p->now);
        p->provider.link = sle_accept(p->provider.sle, p->now);
        CHECK(p->user.link != NULL && p->provider.link != NULL);
        settle(s);
        s->thrown = s->accepted; /* as GET-PARAMETER would tell */
        for (int k = 0; k < 150 && !p->user.over && !p->provider.over; k++)
            one_step(s);
        if (!p->user.over && !p->provider.over && rng_chance(&s->rng, 0.5))
            drain(s);
        break_wire(s);
        pair_disconnect(p);
    }
    CHECK(s->answered <= s->accepted);
    s->expired = sle_instance_counts(s->pair.serves)->cltus_expired;
    sle_free(s->pair.user.sle);
    sle_free(s->pair.provider.sle);
}

START_TEST(sessions)
{
    const char *one = getenv("SLE_SEED"), *many = getenv("SLE_SESSIONS");
    uint64_t count = many == NULL ? HISTORIES_OF(SESSIONS) : strtoull(many, NULL, 10);
    uint64_t events = 0, refused = 0, radiated = 0, expired = 0;
    if (one != NULL) {
        run_soak(&soak, strtoull(one, NULL, 10));
        return;
    }
    for (uint64_t seed = 1; seed <= count; seed++) {
        run_soak(&soak, seed);
        events += soak.answered;
        refused += soak.refused;
        radiated += soak.radiated;
        expired += soak.expired;
    }
    fprintf(stderr, "%llu events accepted, %llu refused, %llu CLTUs radiated, %llu expired\n",
            (unsigned long long)events, (unsigned long long)refused, (unsigned long long)radiated,
            (unsigned long long)expired);
    ck_assert(events > 10 * count && refused > 10 * count && radiated > 5 * count &&
              expired > count);
}
END_TEST

SUITE(sle_forward_soak, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, sessions);
}
