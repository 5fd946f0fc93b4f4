/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each allocation of a whole session fails once, at either end: of the return services (complete,
 * timely with a backlog, bound by the provider) and of FCLTU. Whatever it was: nothing crashes or
 * leaks, the engines' own checks hold after each step, and it is either told (a call says so, the
 * association ends for lack of memory, frames are counted as discarded, a CLTU is refused) or has
 * no effect: everything arrives.
 */
#include "tests/unit/failing_memory.h"
#include "tests/unit/sle_pair.h"
#include "tests/unit/suite.h"

enum { FRAMES = 60, CLTUS = 80, TRIES = 20 };
enum scene { COMPLETE, TIMELY, PROVIDER_BINDS, CLTU, SCENES };

static struct pair pair;
static struct buf *frames[FRAMES]; /* made before memory fails */
static bool told, stalled;
static uint32_t expected;
static uint64_t gaps, misfits;

static bool note(int e)
{
    told = told || e == HELIO_ENOMEM;
    return e >= 0;
}

static void take_frame(struct pair *p, const struct sle_notice *n)
{
    uint32_t number = frame_number(n->u.item.data);
    (void)p;
    misfits += number < expected || n->u.item.data.len != frames[number % FRAMES]->len;
    gaps += number - expected;
    expected = number + 1;
}

/* ---- one step ---- */

/* As in sle_pair.h; memory for reading may be out: then it is tried again. */
static bool read_once(struct end *e, struct pipe_half *in)
{
    if (in->urgent >= 0 || in->len == 0 || !sle_link_reads(e->link))
        return read_end(&pair, e, in);
    size_t room;
    uint8_t *space = sle_link_space(e->link, &room);
    size_t n = space == NULL ? 0 : room < in->len ? room : in->len;
    if (n == 0)
        return true;
    memcpy(space, in->octets, n);
    memmove(in->octets, in->octets + n, in->len - n);
    in->len -= n;
    sle_link_fed(e->link, n, pair.now);
    return true;
}

static void settle(void)
{
    for (bool more = true; more;) {
        more = false;
        if (!pair.paused) {
            more |= read_once(&pair.user, &pair.down);
            poll_end(&pair, &pair.user);
        }
        more |= write_end(&pair, &pair.user, &pair.up);
        more |= read_once(&pair.provider, &pair.up);
        poll_end(&pair, &pair.provider);
        more |= write_end(&pair, &pair.provider, &pair.down);
        sle_check(pair.user.sle);
        sle_check(pair.provider.sle);
    }
}

static void pass_time(tick t)
{
    pair.now += t;
    pair_expire(&pair);
    settle();
}

/* ---- a session ---- */

static bool make_engine(struct end *e, const char *id, const char *other)
{
    struct sle_config c = pair_config(id);
    struct sle_peer peer = {.who = pair_identity(other, other), .level = SLE_AUTH_ALL};
    c.receive_bytes = 9000;
    e->sle = sle_new(&c);
    return note(e->sle == NULL ? HELIO_ENOMEM : sle_peer_set(e->sle, &peer));
}

static bool begin_session(enum scene scene)
{
    static const char *const ids[] = {RAF_ID, RAF_TIMELY_ID, RCF_ID, CLTU_ID};
    static const char *const initiators[] = {"USER"};
    static const struct sle_gvcid channels[] = {{.scid = 0xab, .version = 1, .vcid = SLE_MASTER}};
    struct sle_provider_config c = {.id = ids[scene],
                                    .initiators = initiators,
                                    .initiator_count = 1,
                                    .initiate = scene == PROVIDER_BINDS,
                                    .responder_port = "PORT",
                                    .buffer_frames = 5,
                                    .queue_buffers = 2,
                                    .gvcids = channels,
                                    .gvcid_count = 1};
    struct sle_user_config u = {.id = c.id,
                                .responder = "PROVIDER",
                                .responder_port = "PORT",
                                .respond = c.initiate,
                                .cltu_blind = true};
    memset(&pair, 0, sizeof pair);
    pair.now = TICK_S;
    pair.up.room = pair.down.room = PIPE_ROOM;
    pair.up.urgent = pair.down.urgent = -1;
    pair.frame = take_frame;
    told = stalled = false;
    expected = 0;
    gaps = misfits = 0;
    if (!make_engine(&pair.user, "USER", "PROVIDER") ||
        !make_engine(&pair.provider, "PROVIDER", "USER") ||
        !note(sle_provider_add(pair.provider.sle, &c, &pair.serves)) ||
        !note(sle_user_add(pair.user.sle, &u, &pair.asks)))
        return false;
    struct end *first = c.initiate ? &pair.provider : &pair.user,
               *second = c.initiate ? &pair.user : &pair.provider;
    first->link = sle_connect(c.initiate ? pair.serves : pair.asks, pair.now);
    second->link = sle_accept(second->sle, pair.now);
    if (first->link == NULL || second->link == NULL)
        return note(HELIO_ENOMEM);
    settle();
    return true;
}

/* What returned ENOMEM may be tried again. */
static bool start_service(void)
{
    struct sle_start start = {.quality = SLE_ALL_FRAMES,
                              .gvcid = {.scid = 0xab, .version = 1, .vcid = 5},
                              .first_cltu = 1};
    int e = HELIO_ENOMEM;
    for (int k = 0; k < 2 && e == HELIO_ENOMEM; k++)
        (void)note(e = sle_user_start(pair.asks, &start, pair.now));
    settle();
    return e == 0;
}

static void ask_things(void)
{
    struct sle_schedule schedule = {SLE_REPORT_PERIODIC, 2};
    (void)note(sle_user_schedule(pair.asks, &schedule, pair.now));
    (void)note(sle_user_get(pair.asks, SLE_PAR_REPORTING_CYCLE, pair.now));
    settle();
}

/* Complete mode: after SLE_FULL and SLE_ROOM the frame is offered again. */
static void offer_frame(uint32_t number)
{
    struct buf *b = frames[number];
    struct sle_frame f = {.owner = b,
                          .room = b->off,
                          .data = buf_slice(b),
                          .time = sle_now(pair.provider.sle, pair.now)};
    f.annotation = slice_of("note", number % 7 == 0 ? 4 : 0);
    for (int k = 0; k < TRIES; k++) {
        unsigned rooms = pair.provider.seen[SLE_ROOM];
        if (sle_provider_frame(pair.serves, &f, pair.now) != SLE_FULL)
            return;
        settle();
        if (pair.provider.seen[SLE_ROOM] == rooms)
            pass_time(10 * TICK_MS);
        if (pair.provider.seen[SLE_ROOM] == rooms)
            break;
    }
    stalled = true;
}

static void send_frames(bool timely)
{
    for (uint32_t k = 0; k < FRAMES; k++) {
        pair.paused = timely && k > 20 && k < 50;
        pair.down.room = pair.paused ? 3000 : PIPE_ROOM;
        offer_frame(k);
        if (k % 9 == 0)
            settle();
        if (k == 30)
            sle_provider_production(pair.serves, SLE_INTERRUPTED, pair.now);
    }
    pair.paused = false;
    settle();
    pass_time(TICK_S);
    pass_time(2 * TICK_S);
}

static void radiate(void)
{
    struct sle_cltu_out c;
    settle();
    if (pair.provider.seen[SLE_EVENT_THROWN] > 0)
        sle_provider_answer_event(pair.serves, pair.provider.of[SLE_EVENT_THROWN].invoke_id, SLE_OK,
                                  pair.now);
    while (sle_provider_cltu_next(pair.serves, &c, pair.now)) {
        struct sle_time at = sle_now(pair.provider.sle, pair.now);
        sle_provider_cltu_started(pair.serves, at, pair.now);
        sle_provider_cltu_radiated(pair.serves, at, pair.now);
    }
    settle();
}

static void send_cltus(void)
{
    static const uint8_t octets[100];
    struct sle_cltu cltu = {.data = slice_of(octets, sizeof octets), .notify = true};
    struct sle_event event = {.event = 1, .qualifier = slice_of("q", 1)};
    (void)note(sle_user_event(pair.asks, &event, pair.now));
    for (int k = 0; k < CLTUS; k++) /* none is answered yet: the ring grows */
        if (note(sle_user_cltu(pair.asks, &cltu, NULL, pair.now)) == false && k > 0)
            (void)sle_user_cltu(pair.asks, &cltu, NULL, pair.now);
    radiate();
}

static void end_session(enum scene scene)
{
    int e = sle_user_stop(pair.asks, pair.now);
    (void)note(e);
    settle();
    e = scene == PROVIDER_BINDS ? sle_provider_unbind(pair.serves, SLE_UNBIND_END, pair.now)
                                : sle_user_unbind(pair.asks, SLE_UNBIND_END, pair.now);
    (void)note(e);
    settle();
}

static void play(enum scene scene)
{
    if (!begin_session(scene))
        return;
    if (start_service()) {
        ask_things();
        if (scene == CLTU)
            send_cltus();
        else
            send_frames(scene == TIMELY);
    }
    end_session(scene);
}

/* ---- what must hold ---- */

static bool ended_with(enum sle_end end)
{
    return (pair.user.over && pair.user.last.end == end) ||
           (pair.provider.over && pair.provider.last.end == end);
}

static bool ended_well(void)
{
    return pair.user.over && pair.provider.over && pair.user.last.end == SLE_END_UNBOUND &&
           pair.provider.last.end == SLE_END_UNBOUND;
}

static bool everything_came(enum scene scene)
{
    const struct sle_counts *u = sle_instance_counts(pair.asks),
                            *p = sle_instance_counts(pair.serves);
    if (scene == CLTU)
        return u->cltus + u->cltus_refused == CLTUS && p->cltus_radiated == u->cltus;
    if (scene == TIMELY)
        return pair.frames + p->frames_discarded == FRAMES && gaps <= p->frames_discarded;
    return pair.frames == FRAMES && gaps == 0;
}

static void judge(enum scene scene, long at, bool failure)
{
    bool whole = ended_well() && everything_came(scene);
    ck_assert_msg(!stalled, "allocation %ld: SLE_FULL without SLE_ROOM", at);
    ck_assert_uint_eq(misfits, 0);
    ck_assert_msg(whole || (failure && (told || ended_with(SLE_END_MEMORY))),
                  "allocation %ld: neither told nor whole", at);
    if (!failure && scene == TIMELY)
        ck_assert_uint_gt(pair.provider.sle == NULL ? 0 : sle_counts(pair.provider.sle)->backlogs,
                          0);
}

static struct buf *frame_with_room(uint32_t number, size_t len, size_t room)
{
    struct buf *plain = pair_frame(number, len), *b = buf_new(room, len);
    memcpy(buf_append(b, len), buf_data(plain), len);
    buf_drop(plain);
    return b;
}

START_TEST(each_allocation_fails_once)
{
    enum scene scene = (enum scene)_i;
    uint64_t at_first = memory.failed;
    for (uint32_t k = 0; k < FRAMES; k++)
        frames[k] = frame_with_room(k, 10 + k * 97 % 1500, k % 4 * 40);
    for (long at = 0;; at++) {
        uint64_t before = memory.failed;
        memory.countdown = at;
        play(scene);
        memory.countdown = -1;
        bool failure = memory.failed > before;
        judge(scene, at, failure);
        sle_free(pair.user.sle);
        sle_free(pair.provider.sle);
        if (!failure)
            break;
    }
    ck_assert_uint_gt(memory.failed - at_first, 20);
    for (uint32_t k = 0; k < FRAMES; k++) {
        ck_assert_uint_eq(frames[k]->refs, 1);
        buf_drop(frames[k]);
    }
}
END_TEST

SUITE(sle_memory, t)
{
    tcase_add_loop_test(t, each_allocation_fails_once, 0, SCENES);
}
