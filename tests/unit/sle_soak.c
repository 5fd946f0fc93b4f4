/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thousands of sessions in virtual time, from seeds: connections that break at any octet, stalls of
 * either side, a pipe of any room, late returns, any mode, version and authentication. What holds
 * each time: in complete and offline mode the frames between START and STOP come once and in order,
 * without a gap as long as the association lives; in timely mode each frame that did not come was
 * discarded and counted. In half of them a thread writes for the provider, which may be slow. After
 * each step the engines' own checks. A failure tells its seed.
 */
#include "base/rng.h"
#include "tests/unit/histories.h"
#include "tests/unit/sle_pair.h"
#include "tests/unit/suite.h"

enum { SESSIONS = 40 }; /* SLE_SESSIONS=n: as many; SLE_SEED=n: this one */

struct soak {
    struct pair pair;
    struct rng rng;
    uint64_t seed;
    bool timely;
    uint32_t offered; /* the next number, in this START */
    uint32_t expected;
    uint64_t got, gaps;
};

static struct soak soak;

static void take_frame(struct pair *p, const struct sle_notice *n)
{
    struct soak *s = p->context;
    uint32_t number = frame_number(n->u.item.data);
    size_t len = n->u.item.data.len;
    ck_assert_msg(number >= s->expected, "seed %llu: frame %u again", (unsigned long long)s->seed,
                  number);
    ck_assert_msg(s->timely || number == s->expected, "seed %llu: frame %u, not %u",
                  (unsigned long long)s->seed, number, s->expected);
    ck_assert_uint_eq(len, 6 + number * 37 % 1500);
    for (size_t i = 6; i < len; i++)
        ck_assert_uint_eq(n->u.item.data.data[i], (uint8_t)number);
    ck_assert_int_eq(n->u.item.continuity == -1, number == 0);
    s->gaps += number - s->expected;
    s->expected = number + 1;
    s->got++;
}

static void begin_soak(struct soak *s)
{
    static const char *const ids[] = {RAF_ID, RAF_TIMELY_ID, RAF_OFFLINE_ID};
    unsigned mode = (unsigned)rng_below(&s->rng, 3);
    struct sle_provider_config c = {.id = ids[mode]};
    c.buffer_frames = 1 + (uint32_t)rng_below(&s->rng, 30);
    c.queue_buffers = 1 + (uint32_t)rng_below(&s->rng, 4);
    c.latency = 1 + rng_below(&s->rng, 500 * TICK_MS);
    c.initiate = rng_chance(&s->rng, 0.2);
    s->timely = mode == 1;
    pair_init(&s->pair, (enum sle_auth_level)rng_below(&s->rng, 3));
    pair_add(&s->pair, &c, (uint8_t)(2 + rng_below(&s->rng, 4)));
    s->pair.frame = take_frame;
    s->pair.context = s;
    s->pair.provider.lends = rng_chance(&s->rng, 0.5);
}

static void begin_connection(struct soak *s)
{
    pair_connect(&s->pair);
    s->pair.paused = false;
    s->pair.down.room = 1 + rng_below(&s->rng, rng_chance(&s->rng, 0.5) ? 200 : PIPE_ROOM);
    s->pair.up.room = 1 + rng_below(&s->rng, PIPE_ROOM);
    s->pair.user.seen[SLE_STARTED] = 0;
}

static void offer_frames(struct soak *s, unsigned count)
{
    while (count-- > 0) {
        size_t room = rng_chance(&s->rng, 0.5) ? 0 : rng_below(&s->rng, 120);
        enum sle_taken taken =
            pair_offer_with(&s->pair, s->offered, 6 + s->offered * 37 % 1500, room);
        s->offered += taken == SLE_TAKEN;
        if (taken != SLE_TAKEN)
            break;
        if (rng_chance(&s->rng, 0.01))
            sle_provider_production(s->pair.serves, (unsigned)rng_below(&s->rng, 2), s->pair.now);
    }
}

/* Frames of one START come whole when its STOP is answered. */
static void end_service(struct soak *s)
{
    s->pair.paused = s->pair.provider.slow = false;
    s->pair.user.seen[SLE_STOPPED] = 0;
    if (sle_user_stop(s->pair.asks, s->pair.now) != HELIO_OK)
        return;
    for (int k = 0; k < 100000 && s->pair.user.seen[SLE_STOPPED] == 0 && !s->pair.user.over; k++)
        pair_settle(&s->pair);
    if (s->pair.user.seen[SLE_STOPPED] == 0)
        return;
    ck_assert_msg(s->timely || s->expected == s->offered, "seed %llu: %u of %u came",
                  (unsigned long long)s->seed, s->expected, s->offered);
}

static void begin_service(struct soak *s)
{
    struct sle_start start = {.quality = SLE_ALL_FRAMES};
    start.start = (struct sle_when){true, sle_time_of(UNIX_NS - 100 * TICK_S)};
    start.stop = (struct sle_when){true, sle_time_of(UNIX_NS - TICK_S)};
    if (s->pair.serves != NULL && strstr(sle_instance_id(s->pair.serves), "offl") == NULL)
        start.start.known = start.stop.known = false;
    if (sle_user_start(s->pair.asks, &start, s->pair.now) != HELIO_OK)
        return;
    s->offered = s->expected = 0;
    pair_settle(&s->pair);
}

static void break_wire(struct soak *s)
{
    struct pair *p = &s->pair;
    pair_break(p, &s->rng);
    for (int k = 0; k < 20; k++)
        pair_settle(p);
    ck_assert(p->user.over && p->provider.over);
}

static void one_step(struct soak *s)
{
    struct pair *p = &s->pair;
    switch (rng_below(&s->rng, 13)) {
    case 0:
        p->paused = !p->paused;
        break;
    case 1:
        p->down.room = 1 + rng_below(&s->rng, PIPE_ROOM);
        break;
    case 2:
        begin_service(s);
        break;
    case 3:
        end_service(s);
        break;
    case 4: {
        struct sle_schedule schedule = {SLE_REPORT_PERIODIC, 2 + (uint32_t)rng_below(&s->rng, 20)};
        (void)sle_user_schedule(p->asks, &schedule, p->now);
        break;
    }
    case 5:
        (void)sle_user_get(p->asks, SLE_PAR_LATENCY_LIMIT, p->now);
        break;
    case 6:
        pair_run(p, p->now + rng_below(&s->rng, 2 * TICK_S));
        break;
    case 7: /* the user's other threads are slow: returns are late */
        if (rng_chance(&s->rng, 0.1))
            pair_run(p, p->now + rng_below(&s->rng, 100 * TICK_S));
        break;
    case 8:
        p->provider.slow = !p->provider.slow;
        break;
    default:
        offer_frames(s, 1 + (unsigned)rng_below(&s->rng, 60));
    }
    pair_settle(p);
}

static void run_soak(struct soak *s, uint64_t seed)
{
    memset(s, 0, sizeof *s);
    s->seed = seed;
    rng_init(&s->rng, seed);
    begin_soak(s);
    for (int connection = 0; connection < 3; connection++) {
        begin_connection(s);
        for (int k = 0; k < 40 && !s->pair.user.over && !s->pair.provider.over; k++)
            one_step(s);
        if (rng_chance(&s->rng, 0.5) && !s->pair.user.over)
            sle_link_abort(rng_chance(&s->rng, 0.5) ? s->pair.user.link : s->pair.provider.link,
                           SLE_ABORT_OPERATIONAL, s->pair.now);
        break_wire(s);
        pair_disconnect(&s->pair);
        sle_check(s->pair.user.sle);
        sle_check(s->pair.provider.sle);
    }
    const struct sle_counts *n = sle_instance_counts(s->pair.serves);
    ck_assert_uint_eq(n->frames_offered, n->frames_filtered + n->frames_refused + n->frames +
                                             n->frames_discarded + n->frames_dropped);
    ck_assert_msg(s->got <= n->frames, "seed %llu", (unsigned long long)seed);
    ck_assert_msg(s->timely || n->frames_discarded == 0, "seed %llu", (unsigned long long)seed);
    /* What was skipped between frames that came was discarded, and the user was told. */
    ck_assert_msg(s->gaps <= n->frames_discarded, "seed %llu", (unsigned long long)seed);
    ck_assert_msg(s->gaps == 0 || s->pair.user.seen[SLE_SYNC] > 0, "seed %llu",
                  (unsigned long long)seed);
    sle_free(s->pair.user.sle);
    sle_free(s->pair.provider.sle);
}

START_TEST(sessions)
{
    const char *one = getenv("SLE_SEED");
    if (one != NULL) {
        run_soak(&soak, strtoull(one, NULL, 10));
        return;
    }
    uint64_t got = 0, discarded = 0;
    const char *many = getenv("SLE_SESSIONS");
    uint64_t count = many == NULL ? HISTORIES_OF(SESSIONS) : strtoull(many, NULL, 10);
    for (uint64_t seed = 1; seed <= count; seed++) {
        run_soak(&soak, seed);
        got += soak.got;
        discarded += soak.gaps;
    }
    printf("%llu frames came, %llu were discarded\n", (unsigned long long)got,
           (unsigned long long)discarded);
    ck_assert(got > 50 * count && discarded > count); /* it has seen both */
}
END_TEST

/* A connection that breaks behind each octet of the first session. */
START_TEST(every_octet)
{
    for (size_t cut = 1; cut < 700; cut += HISTORIES_PART) {
        struct pair *p = &soak.pair;
        struct sle_provider_config c = {.id = RAF_ID, .buffer_frames = 2};
        memset(&soak, 0, sizeof soak);
        pair_init(p, SLE_AUTH_ALL);
        pair_add(p, &c, 5);
        p->frame = take_frame;
        p->context = &soak;
        soak.seed = cut;
        p->user.link = sle_connect(p->asks, p->now);
        p->provider.link = sle_accept(p->provider.sle, p->now);
        struct sle_start start = {.quality = SLE_ALL_FRAMES};
        size_t passed = 0;
        for (int k = 0; k < 200 && passed < cut; k++) {
            write_end(p, &p->user, &p->up);
            /* One octet at a time to the provider. */
            size_t room, n = p->up.len < 1 ? 0 : 1;
            if (n > 0 && sle_link_reads(p->provider.link)) {
                *sle_link_space(p->provider.link, &room) = p->up.octets[0];
                memmove(p->up.octets, p->up.octets + 1, --p->up.len);
                sle_link_fed(p->provider.link, 1, p->now);
                passed++;
                k = 0;
            }
            poll_end(p, &p->provider);
            while (soak.offered < 6 &&
                   pair_offer(p, soak.offered, 6 + soak.offered * 37 % 1500) == SLE_TAKEN)
                soak.offered++;
            write_end(p, &p->provider, &p->down);
            read_end(p, &p->user, &p->down);
            poll_end(p, &p->user);
            (void)sle_user_start(p->asks, &start, p->now);
            if (soak.got == 6)
                (void)sle_user_stop(p->asks, p->now);
        }
        p->up.len = 0;
        p->up.ended = p->down.ended = true;
        pair_settle(p);
        ck_assert(p->user.over && p->provider.over);
        pair_fini(p);
    }
}
END_TEST

SUITE(sle_soak, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, every_octet);
    tcase_add_test(t, sessions);
}
