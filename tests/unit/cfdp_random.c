/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two entities under everything at once: bad links, kills, links that are down, users that suspend
 * and cancel, media that are full for a while. What is asked for comes to an end at both, no file
 * is damaged, no request is performed twice, and the engines' own checks hold after each step.
 */
#include "tests/unit/cfdp_pair.h"

#ifndef SEEDS
#define SEEDS 150
#endif
#define PUTS 10

static struct pair pair;
static size_t requests[2]; /* filestore requests that were sent to each */

static void draw_peer(struct rng *r, struct cfdp_remote *peer, tick round_trip)
{
    static const unsigned types[] = {0, 2, 3, 15};
    peer->ack_limit = peer->nak_limit = 200;
    peer->check_limit = 5;
    peer->idle_time = 3600 * TICK_S;
    peer->immediate_nak = rng_chance(r, 0.5);
    peer->crc = rng_chance(r, 0.5);
    peer->closure = rng_chance(r, 0.5);
    peer->confirms = rng_chance(r, 0.3);
    peer->checksum = types[rng_below(r, 4)];
    peer->segment_max = (uint32_t)(100 + rng_below(r, 2000));
    peer->pdu_max = (uint32_t)(400 + rng_below(r, 1200));
    peer->ack_time = peer->nak_time = round_trip + TICK_S + rng_below(r, 30 * TICK_S);
    peer->keep_alive_time = rng_chance(r, 0.3) ? 10 * TICK_S : 0;
    peer->transactions_max = (uint32_t)(4 + rng_below(r, 60));
    peer->gaps_max = (uint32_t)(20 + rng_below(r, 1000));
    peer->handlers[CFDP_FILESTORE] = rng_chance(r, 0.3) ? CFDP_HANDLE_SUSPEND : 0;
    peer->handlers[CFDP_CHECK_LIMIT] = rng_chance(r, 0.3) ? CFDP_HANDLE_IGNORE : 0;
}

static void draw_pair(uint64_t seed)
{
    pair_init(&pair, seed);
    struct rng *r = &pair.rng;
    pair.loss = rng_unit(r) * 0.3;
    pair.twice = rng_chance(r, 0.5) ? rng_unit(r) * 0.1 : 0;
    pair.jitter = rng_below(r, 3) == 0 ? rng_below(r, 5 * TICK_S) : 0;
    pair.delay = TICK_MS + rng_below(r, 5 * TICK_S);
    pair.rate = 1000 + rng_below(r, 100000);
    for (size_t i = 0; i < 2; i++) {
        pair.host[i].source_size = rng_below(r, 40000);
        pair.host[i].act_steps = rng_below(r, 4);
        pair.host[i].transactions_max = (uint32_t)(12 + rng_below(r, 20));
        draw_peer(r, &pair.host[i].peer, 2 * pair.delay + pair.jitter);
    }
    requests[0] = requests[1] = 0;
    pair_start(&pair);
}

static void add_request(struct writer *w)
{
    const struct cfdp_request q = {.action = CFDP_DELETE_FILE, .first = slice_of("a", 1)};
    cfdp_request_write(w, &q);
}

static void add_proxy(struct writer *w, size_t from, const char *name)
{
    const struct cfdp_message m = {.kind = CFDP_PROXY_PUT,
                                   .entity = pair.host[from].id,
                                   .first = slice_of("theirs", 6),
                                   .second = slice_of(name, strlen(name))};
    cfdp_message_write(w, &m);
}

static void put_some(struct rng *r, size_t from, unsigned number)
{
    uint8_t room[200];
    char name[16];
    struct writer w = writer_of(room, sizeof room);
    struct cfdp_id id;
    const uint64_t kind = rng_below(r, 6);
    size_t count = 0;
    snprintf(name, sizeof name, "f%u", number);
    for (; kind <= 2 && count < kind; count++)
        add_request(&w);
    if (kind == 3)
        add_proxy(&w, from, name);
    const bool file = kind != 3 && kind != 2;
    const struct cfdp_put put = {.destination = pair.host[1 - from].id,
                                 .source_name = file ? "source" : NULL,
                                 .destination_name = file ? name : NULL,
                                 .class_ = (unsigned)rng_below(r, 3),
                                 .options = slice_of(room, writer_len(&w))};
    if (cfdp_put(pair.host[from].e, &put, pair.now, &id) == 0)
        requests[1 - from] += count;
}

/* A transaction of this entity; false: it has none. */
static bool pick(struct rng *r, const struct cfdp *e, struct cfdp_id *out)
{
    struct cfdp_status s;
    uint64_t n = 0;
    for (const struct cfdp_transaction *t = NULL; (t = cfdp_walk(e, t)) != NULL; n++)
        if (rng_below(r, n + 1) == 0) {
            cfdp_status_of(t, &s);
            *out = s.id;
        }
    return n > 0;
}

static void disturb(struct rng *r, size_t at)
{
    struct host *h = &pair.host[at];
    struct cfdp_id id = {0, 0};
    const bool has = pick(r, h->e, &id);
    switch (rng_below(r, 8)) {
    case 0:
    case 1:
        host_kill(&pair, h);
        break;
    case 2:
        cfdp_link(h->e, h->peer.id, rng_chance(r, 0.7), pair.now);
        break;
    case 3:
        h->refuses_write = rng_chance(r, 0.2);
        h->settle_fails = rng_chance(r, 0.1);
        break;
    case 4:
        if (has && rng_chance(r, 0.3))
            (void)cfdp_cancel(h->e, id, pair.now);
        break;
    case 5:
        if (has)
            (void)cfdp_suspend(h->e, id, pair.now);
        break;
    case 6:
        if (has)
            (void)cfdp_resume(h->e, id, pair.now);
        break;
    default:
        if (has)
            (void)cfdp_prompt(h->e, id, rng_chance(r, 0.5), pair.now);
    }
    cfdp_check(h->e);
}

static void calm_down(void)
{
    for (size_t i = 0; i < 2; i++) {
        struct host *h = &pair.host[i];
        h->refuses_write = h->settle_fails = false;
        cfdp_link(h->e, h->peer.id, true, pair.now);
        struct cfdp_status s;
        for (const struct cfdp_transaction *t = NULL; (t = cfdp_walk(h->e, t)) != NULL; t = NULL) {
            for (; t != NULL; t = cfdp_walk(h->e, t)) {
                cfdp_status_of(t, &s);
                if (s.suspended)
                    break;
            }
            if (t == NULL)
                break;
            (void)cfdp_resume(h->e, s.id, pair.now);
        }
    }
}

START_TEST(everything_at_once)
{
    draw_pair((uint64_t)_i);
    struct rng *r = &pair.rng;
    for (unsigned n = 0; n < PUTS; n++) {
        put_some(r, rng_below(r, 2), n);
        run_until(&pair, pair.now + 1 + rng_below(r, 60 * TICK_S));
        for (uint64_t k = rng_below(r, 4); k > 0; k--)
            disturb(r, rng_below(r, 2));
    }
    bool ended = false;
    for (int round = 0; round < 20 && !ended; round++) { /* faults may suspend again */
        calm_down();
        const tick until = pair.now + 20000 * TICK_S;
        ended = run_to_end(&pair, until);
        pair.now = ended ? pair.now : until;
    }
    ck_assert_msg(ended, "seed %d", _i);
    for (size_t i = 0; i < 2; i++) {
        const struct host *h = &pair.host[i];
        ck_assert_msg(h->wrong == 0 && h->open == 0 && host_journals(h) == 0, "seed %d", _i);
        ck_assert_msg(h->acts <= requests[i], "seed %d: %zu of %zu requests", _i, h->acts,
                      requests[i]);
        for (size_t k = 0; k < h->placed_len; k++)
            ck_assert_uint_le(h->placed[k].size, pair.host[1 - i].source_size);
    }
    pair_fini(&pair);
}
END_TEST

SUITE(cfdp_random, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, everything_at_once, 0, SEEDS);
}
