/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two TCPCL sessions in virtual time, drawn from seeds: streams of any room that are cut at any
 * octet, short writes and reads, stalls, refusals, ends from either side, bundles of 1 byte to
 * hundreds of kB both ways, and, with --memory, allocations that fail. A session that is over is
 * followed by another one, until each bundle has been acknowledged, or has been refused too often.
 *
 * What must hold: each bundle given to a session has one outcome; one that was acknowledged is at
 * the peer, whole and equal; nothing else comes; at the end nobody holds a buffer.
 * usage: tcpcl_soak --seeds FIRST..LAST [--memory]
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"
#include "cla/tcpcl/tcpcl_session.h"

#undef NDEBUG
#include <assert.h>

#define BUNDLES 64
#define PIPE_MAX (1u << 20)
#define STEPS_MAX 4000000
#define CALM_AFTER 200 /* sessions; then nothing bad happens any more */

/* ---- memory that runs out ---- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

static struct rng dice;
static unsigned fail_one_in; /* 0: none fails */
static uint64_t failed;

static bool fails(void)
{
    bool now = fail_one_in != 0 && rng_below(&dice, fail_one_in) == 0;
    failed += now;
    return now;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return fails() ? NULL : __real_realloc(p, size);
}

/* ---- the two ends ---- */

struct pipe { /* to this end */
    uint8_t bytes[PIPE_MAX];
    size_t first, len, room;
    bool stalled;
};

struct sent {
    struct buf *bundle;
    bool given; /* to the session, without an outcome */
    bool done;  /* acknowledged */
    bool there; /* the peer has confirmed it */
};

struct token {
    uint64_t token;
    uint32_t bundle;
};

struct side {
    struct tcpcl_session *s;
    struct tcpcl_counters n;
    struct tcpcl_setup setup;
    struct pipe in;
    struct sent out[BUNDLES];
    uint32_t count;
    struct token tokens[BUNDLES * 2];
    size_t tokens_len;
    uint32_t turn; /* messages */
    bool up, over;
};

struct world {
    struct rng rng;
    struct side side[2];
    tick now;
    uint64_t sessions, cuts, refusals, duplicates;
    bool memory, calm;
};

static uint8_t byte_at(uint32_t side, uint32_t bundle, size_t i)
{
    return (uint8_t)(i < 4 ? (i == 0   ? side
                              : i == 1 ? bundle
                                       : 0x5a)
                           : (i * 31 + bundle * 7 + side + (i >> 8) * 13));
}

static struct buf *make_bundle(uint32_t side, uint32_t bundle, size_t len)
{
    struct buf *b = buf_new(0, len);
    uint8_t *at = buf_append(b, len);
    for (size_t i = 0; i < len; i++)
        at[i] = byte_at(side, bundle, i);
    return b;
}

static size_t draw_size(struct rng *r)
{
    switch (rng_below(r, 4)) {
    case 0:
        return 4 + rng_below(r, 8);
    case 1:
        return 4 + rng_below(r, 2000);
    case 2:
        return 4 + rng_below(r, 20000);
    default:
        return 4 + rng_below(r, 200000);
    }
}

static void draw_side(struct world *w, uint32_t i)
{
    static const uint64_t sizes[] = {1, 7, 100, 5000, 65536, 1 << 20};
    struct side *a = &w->side[i];
    struct rng *r = &w->rng;
    a->setup = (struct tcpcl_setup){
        .active = i == 0,
        .tls = (enum tcpcl_tls)rng_below(r, 2),
        .contact_timeout = TICK_S + rng_below(r, 20 * TICK_S),
        .ending_timeout = TICK_S + rng_below(r, 10 * TICK_S),
        .terms = {.keepalive_s = (uint16_t)(rng_below(r, 3) == 0 ? 0 : 1 + rng_below(r, 60)),
                  .segment_mru = 100 + sizes[rng_below(r, 6)],
                  .transfer_mru = 1 << 20,
                  .segment_max = 20 + sizes[rng_below(r, 6)],
                  .idle = 10 * TICK_S, /* a stall that lasts ends the session in any case */
                  .transfer_idle = rng_below(r, 2) == 0 ? 0 : TICK_S + rng_below(r, 9 * TICK_S),
                  .held_bytes = 1 + rng_below(r, 1 << 20)},
        .counters = &a->n};
    snprintf(a->setup.terms.node_id, sizeof a->setup.terms.node_id, "ipn:%u.0", i + 1);
    a->turn = 1 + (uint32_t)rng_below(r, 40);
    a->in.room = rng_below(r, 2) == 0 ? 1 + rng_below(r, 3000) : 1 + rng_below(r, PIPE_MAX);
    a->count = (uint32_t)rng_below(r, 20);
    uint64_t small = a->setup.terms.segment_max; /* a million segments prove nothing more */
    for (uint32_t k = 0; k < a->count; k++) {
        size_t len = draw_size(r);
        len = len > 200 * small ? (size_t)(4 + 100 * small) : len;
        a->out[k].bundle = make_bundle(i, k, len);
    }
}

/* ---- what sessions tell ---- */

static void take_received(struct world *w, uint32_t i, const struct tcpcl_notice *n)
{
    struct side *me = &w->side[i], *peer = &w->side[1 - i];
    const uint8_t *p = buf_data(n->bundle);
    assert(n->bundle->len >= 4 && p[0] == 1 - i && p[1] < peer->count);
    struct sent *s = &peer->out[p[1]];
    assert(!s->done); /* it was not acknowledged before */
    assert(slice_equal(buf_slice(n->bundle), buf_slice(s->bundle)));
    w->duplicates += s->there;
    assert(me->tokens_len < sizeof me->tokens / sizeof *me->tokens);
    me->tokens[me->tokens_len++] = (struct token){n->token, p[1]};
    buf_drop(n->bundle);
}

static void take_done(struct world *w, uint32_t i, const struct tcpcl_notice *n)
{
    struct side *me = &w->side[i];
    assert(n->key < me->count);
    struct sent *s = &me->out[n->key];
    assert(s->given && !s->done && n->length == s->bundle->len);
    s->given = false;
    s->done = n->fate == TCPCL_ACKED;
    assert(!s->done || s->there);
    w->refusals += n->fate == TCPCL_REFUSED;
}

static void take_notice(struct world *w, uint32_t i, const struct tcpcl_notice *n)
{
    struct side *me = &w->side[i];
    switch (n->kind) {
    case TCPCL_CONTACT:
        tcpcl_secured(me->s, true, w->now);
        break;
    case TCPCL_PEER:
        assert(strcmp(tcpcl_peer(me->s)->node_id, i == 0 ? "ipn:2.0" : "ipn:1.0") == 0);
        tcpcl_admit(me->s, &me->setup.terms, w->now);
        break;
    case TCPCL_UP:
        me->up = true;
        break;
    case TCPCL_RECEIVED:
        take_received(w, i, n);
        break;
    case TCPCL_DONE:
        take_done(w, i, n);
        break;
    case TCPCL_ENDING:
        me->up = false;
        break;
    case TCPCL_OVER:
        me->over = true;
        break;
    }
}

static void poll_side(struct world *w, uint32_t i)
{
    struct tcpcl_notice n;
    while (tcpcl_poll(w->side[i].s, &n, w->now))
        take_notice(w, i, &n);
    tcpcl_check(w->side[i].s);
}

/* Messages that were left. */
static bool take_turn(struct world *w, uint32_t i)
{
    struct side *me = &w->side[i];
    if (!tcpcl_stopped(me->s))
        return false;
    assert(!tcpcl_reads(me->s));
    tcpcl_turn(me->s, me->turn);
    poll_side(w, i);
    return true;
}

/* ---- streams ---- */

static size_t put_pipe(struct pipe *p, const struct slice *parts, size_t n, size_t most)
{
    size_t put = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < parts[i].len; k++) {
            if (p->len == p->room || put == most)
                return put;
            p->bytes[(p->first + p->len++) % PIPE_MAX] = parts[i].data[k];
            put++;
        }
    }
    return put;
}

/* True: bytes moved. */
static bool write_side(struct world *w, uint32_t i)
{
    struct slice parts[16];
    struct side *me = &w->side[i], *peer = &w->side[1 - i];
    size_t n = tcpcl_output(me->s, parts, 1 + rng_below(&w->rng, 16), w->now);
    size_t most = rng_below(&w->rng, 3) == 0 ? 1 + rng_below(&w->rng, 40) : PIPE_MAX;
    size_t put = peer->over ? 0 : put_pipe(&peer->in, parts, n, most);
    tcpcl_wrote(me->s, put, w->now);
    poll_side(w, i);
    return put > 0;
}

static bool read_side(struct world *w, uint32_t i)
{
    struct side *me = &w->side[i];
    size_t room;
    if (me->in.len == 0 || me->in.stalled || !tcpcl_reads(me->s))
        return false;
    uint8_t *at = tcpcl_space(me->s, &room);
    size_t len = rng_below(&w->rng, 2) == 0 ? 1 + rng_below(&w->rng, 60) : PIPE_MAX;
    len = len < room ? len : room;
    len = len < me->in.len ? len : me->in.len;
    for (size_t k = 0; k < len; k++)
        at[k] = me->in.bytes[(me->in.first + k) % PIPE_MAX];
    me->in.first = (me->in.first + len) % PIPE_MAX;
    me->in.len -= len;
    tcpcl_fed(me->s, len, w->now);
    poll_side(w, i);
    return true;
}

/* What is under way is lost at any octet, on either side. */
static void cut_stream(struct world *w)
{
    w->cuts++;
    for (uint32_t i = 0; i < 2; i++) {
        if (!w->side[i].over)
            tcpcl_closed(w->side[i].s, w->now);
        poll_side(w, i);
        while (take_turn(w, i))
            continue;
        assert(w->side[i].over);
    }
}

/* ---- one thing ---- */

static bool give_bundle(struct world *w, uint32_t i)
{
    struct side *me = &w->side[i];
    for (uint32_t k = 0; me->up && k < me->count; k++) {
        if (me->out[k].given || me->out[k].done)
            continue;
        int r = tcpcl_send(me->s, k, me->out[k].bundle);
        me->out[k].given = r == 0;
        assert(r == 0 || r == HELIO_ENOMEM);
        uint64_t len;
        if (r == 0 && !w->calm && rng_below(&w->rng, 20) == 0 && tcpcl_take_back(me->s, k, &len)) {
            assert(len == me->out[k].bundle->len);
            me->out[k].given = false;
        }
        return true;
    }
    return false;
}

static bool confirm_one(struct world *w, uint32_t i)
{
    struct side *me = &w->side[i];
    if (me->tokens_len == 0)
        return false;
    size_t at = rng_below(&w->rng, me->tokens_len);
    struct token t = me->tokens[at];
    me->tokens[at] = me->tokens[--me->tokens_len];
    bool ok = w->calm || rng_below(&w->rng, 10) != 0;
    w->side[1 - i].out[t.bundle].there |= ok;
    tcpcl_confirm(me->s, t.token, ok, TCPCL_REFUSE_NO_RESOURCES);
    poll_side(w, i);
    return true;
}

/* False: nothing could be done. */
static bool do_something(struct world *w)
{
    uint32_t i = (uint32_t)rng_below(&w->rng, 2);
    switch (rng_below(&w->rng, 8)) {
    case 0:
        return give_bundle(w, i);
    case 1:
        return confirm_one(w, i);
    case 2:
    case 3:
    case 4:
        return write_side(w, i);
    default:
        return read_side(w, i) || take_turn(w, i);
    }
}

static void do_harm(struct world *w)
{
    uint32_t i = (uint32_t)rng_below(&w->rng, 2);
    switch (rng_below(&w->rng, 5)) {
    case 4:
        tcpcl_shed(w->side[i].s, TCPCL_REFUSE_NO_RESOURCES, w->now);
        poll_side(w, i);
        break;
    case 0:
        cut_stream(w);
        break;
    case 1:
        tcpcl_terminate(w->side[i].s, (enum tcpcl_term)rng_below(&w->rng, TCPCL_TERM_COUNT),
                        w->now);
        poll_side(w, i);
        break;
    default:
        w->side[i].in.stalled = !w->side[i].in.stalled;
        break;
    }
}

/* Nothing moves: time does. */
static void pass_time(struct world *w)
{
    tick due = tick_min(tcpcl_deadline(w->side[0].s), tcpcl_deadline(w->side[1].s));
    if (due == TICK_NEVER) /* the owner is to confirm, and will */
        return;
    w->now = due > w->now ? due : w->now;
    for (uint32_t i = 0; i < 2; i++) {
        tcpcl_expire(w->side[i].s, w->now);
        poll_side(w, i);
    }
}

/* One end is over: its stream closes, and the other one reads what there still is. */
static bool close_streams(struct world *w)
{
    if (!w->side[0].over && !w->side[1].over)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        struct side *me = &w->side[i];
        me->in.stalled = false;
        while (!me->over &&
               (read_side(w, i) || take_turn(w, i) || confirm_one(w, i) || write_side(w, i)))
            continue;
        if (!me->over)
            tcpcl_closed(me->s, w->now);
        poll_side(w, i);
        while (take_turn(w, i))
            continue;
        assert(me->over);
    }
    return true;
}

/* ---- a session, a seed ---- */

static bool begin_session(struct world *w)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct side *me = &w->side[i];
        me->up = me->over = me->in.stalled = false;
        me->in.len = me->tokens_len = 0;
        me->s = tcpcl_new(&me->setup, w->now);
        assert(me->s != NULL || w->memory);
        if (me->s != NULL)
            tcpcl_turn(me->s, me->turn);
    }
    w->sessions++;
    return w->side[0].s != NULL && w->side[1].s != NULL;
}

static void end_session(struct world *w)
{
    for (uint32_t i = 0; i < 2; i++) {
        tcpcl_free(w->side[i].s);
        w->side[i].s = NULL;
        for (uint32_t k = 0; k < w->side[i].count; k++)
            assert(!w->side[i].out[k].given && w->side[i].out[k].bundle->refs == 1);
    }
}

static bool all_done(const struct world *w)
{
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t k = 0; k < w->side[i].count; k++)
            if (!w->side[i].out[k].done)
                return false;
    return true;
}

static void run_session(struct world *w, uint64_t *steps)
{
    unsigned idle = 0;
    while (!close_streams(w)) {
        assert(++*steps < STEPS_MAX);
        bool done = do_something(w);
        idle = done ? 0 : idle + 1;
        w->now += rng_below(&w->rng, TICK_MS);
        if (idle > 60) {
            pass_time(w);
            idle = 0;
        }
        if (!w->calm && rng_below(&w->rng, 3000) == 0)
            do_harm(w);
        if (all_done(w)) { /* the end that is left ends it */
            tcpcl_terminate(w->side[*steps % 2].s, TCPCL_TERM_UNKNOWN, w->now);
            poll_side(w, (uint32_t)(*steps % 2));
        }
    }
}

static void run_seed(struct world *w, uint64_t seed, bool memory)
{
    uint64_t steps = 0;
    memset(w, 0, sizeof *w);
    rng_init(&w->rng, seed);
    rng_init(&dice, seed ^ 0xd1ce);
    w->memory = memory;
    draw_side(w, 0);
    draw_side(w, 1);
    while (!all_done(w)) {
        w->calm = w->sessions >= CALM_AFTER;
        fail_one_in = memory && !w->calm ? 60 : 0;
        if (begin_session(w))
            run_session(w, &steps);
        fail_one_in = 0;
        end_session(w);
    }
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t k = 0; k < w->side[i].count; k++)
            buf_drop(w->side[i].out[k].bundle);
}

static uint64_t seed_now;

static void tell_seed(int signal)
{
    (void)signal;
    fprintf(stderr, "seed %" PRIu64 "\n", seed_now);
}

int main(int argc, char **argv)
{
    static struct world w;
    uint64_t first = 1, last = 200, sum[5] = {0};
    bool memory = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--memory") == 0)
            memory = true;
        else if (i + 1 == argc || strcmp(argv[i], "--seeds") != 0 ||
                 sscanf(argv[++i], "%" SCNu64 "..%" SCNu64, &first, &last) != 2) {
            fprintf(stderr, "usage: tcpcl_soak --seeds FIRST..LAST [--memory]\n");
            return 2;
        }
    }
    signal(SIGABRT, tell_seed);
    for (uint64_t seed = first; seed <= last; seed++) {
        seed_now = seed;
        run_seed(&w, seed, memory);
        sum[0] += w.sessions;
        sum[1] += w.cuts;
        sum[2] += w.refusals;
        sum[3] += w.duplicates;
    }
    printf("%" PRIu64 " seeds: %" PRIu64 " sessions, %" PRIu64 " cuts, %" PRIu64
           " refusals, %" PRIu64 " bundles twice, %" PRIu64 " allocations failed\n",
           last - first + 1, sum[0], sum[1], sum[2], sum[3], failed);
    assert(!memory || failed > 0);
    return 0;
}
