/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that say the same name: by which of them the link's bundles go. The other ends are
 * played: streams of several hosts that speak just enough TCPCL. */
#include <jansson.h>

#include "cla/tcpcl/tcpcl_session.h"
#include "tests/unit/cla_tcpcl_pair.h"
#include "tests/unit/suite.h"

/* Hosts by world.owner: b is 0. */
enum { OWNER_B, OWNER_ONE, OWNER_TWO, OWNERS };

struct caller {
    struct stream *s;
    unsigned segments; /* octets beyond contact header and SESS_INIT */
    bool ended, deaf;
    uint8_t in[4096];
};

static uint8_t *give_space(void *context, size_t *len)
{
    struct caller *c = context;
    *len = sizeof c->in;
    return c->in;
}

static void take_bytes(void *context, size_t len)
{
    ((struct caller *)context)->segments += (unsigned)len;
}

static void on_writable(void *context)
{
    (void)context;
}

static void on_ended(void *context, int error)
{
    (void)error;
    ((struct caller *)context)->ended = true;
}

static const struct stream_user caller_user = {
    .space = give_space, .fed = take_bytes, .writable = on_writable, .ended = on_ended};

static void say(struct caller *c, const void *data, size_t len)
{
    const struct slice part = slice_of(data, len);
    ck_assert_uint_eq(stream_write(c->s, &part, 1), len);
}

/* Connects as ipn:1.0 from this host and is in session. */
static void call(struct pair *p, struct caller *c, size_t owner)
{
    static const uint8_t init[] =
        "\x07\x00\x1e\0\0\0\0\x40\0\0\0\0\0\0\0\x40\0\0\0\0\x07ipn:1.0\0\0\0";
    struct address at;
    const struct stream_place to = {.address = &at};
    ck_assert_int_eq(address_parse("10.0.0.2:4556", &at), 0);
    *c = (struct caller){0};
    p->v.world.owner = owner;
    ck_assert_int_eq(stream_connect(&p->v.world, &c->s, &to, &caller_user, c), 0);
    p->v.world.owner = OWNER_B;
    stream_read(c->s, true);
    pair_pass(p, 10 * TICK_MS);
    say(c, "dtn!\x04", 6);
    pair_pass(p, 10 * TICK_MS);
    say(c, init, sizeof init);
    pair_pass(p, 10 * TICK_MS);
    c->segments = 0;
}

static void hang_up(struct pair *p, struct caller *c)
{
    stream_close(c->s);
    c->s = NULL;
    pair_pass(p, 10 * TICK_MS);
}

/* b sends a bundle: who gets it? */
static void expect_to(struct pair *p, struct caller *c, struct caller * not )
{
    static uint64_t key;
    c->segments = not != NULL ? not ->segments = 0 : 0;
    ck_assert_int_eq(side_send(&p->b, key++, 100), CLA_REASON_NONE);
    pair_pass(p, 10 * TICK_MS);
    ck_assert_uint_ge(c->segments, 100);
    ck_assert(not == NULL || not ->segments == 0);
}

static uint64_t shown(const struct side *s, const char *key)
{
    json_t *o = json_object();
    s->cla->ops->status(s->cla, o);
    const uint64_t n = (uint64_t)json_integer_value(json_object_get(o, key));
    json_decref(o);
    return n;
}

static uint64_t contested(const struct side *s)
{
    return shown(s, "contested");
}

static struct address hosts[OWNERS];

/* b listens; `remote`: of its link, or NULL. */
static void open_listening(struct pair *p, const char *remote)
{
    for (unsigned i = 0; i < OWNERS; i++) {
        char text[32];
        snprintf(text, sizeof text, "10.0.1.%u:5000", i);
        ck_assert_int_eq(address_parse(text, &hosts[i]), 0);
    }
    ck_assert_int_eq(address_parse("10.0.0.2:4556", &p->b.config.local), 0);
    p->v.pipes.hosts = hosts;
    p->v.pipes.hosts_len = OWNERS;
    if (remote != NULL)
        ck_assert_int_eq(address_parse(remote, &p->b.config.remote.address), 0);
    ck_assert_int_eq(side_open(p, &p->b), 0);
    pair_pass(p, TICK_S);
}

static struct pair *listening(const char *remote)
{
    struct pair *p = pair_new();
    open_listening(p, remote);
    return p;
}

static void finish(struct pair *p, struct caller *one, struct caller *two)
{
    side_close(&p->b);
    if (one->s != NULL)
        stream_close(one->s);
    if (two->s != NULL)
        stream_close(two->s);
    pair_free(p);
}

START_TEST(a_thief_gets_nothing)
{
    struct pair *p = listening(NULL);
    struct caller one, thief;
    call(p, &one, OWNER_ONE);
    ck_assert(p->b.up);
    expect_to(p, &one, NULL);
    call(p, &thief, OWNER_TWO);
    ck_assert_uint_eq(contested(&p->b), 1);
    ck_assert_ptr_nonnull(strstr(p->b.told, "both say that they are \"ipn:1.0\""));
    expect_to(p, &one, &thief);
    hang_up(p, &thief);
    call(p, &thief, OWNER_TWO);
    expect_to(p, &one, &thief);
    finish(p, &one, &thief);
}
END_TEST

/* All places are taken by the session that has the name: the other one is counted, too. */
START_TEST(turned_away_and_counted)
{
    struct pair *p = listening(NULL);
    struct caller one, thief, same;
    p->b.config.sessions = 1;
    call(p, &one, OWNER_ONE);
    call(p, &thief, OWNER_TWO);
    ck_assert(thief.ended);
    ck_assert_uint_eq(contested(&p->b), 1);
    ck_assert_ptr_nonnull(strstr(p->b.told, "both say that they are \"ipn:1.0\""));
    expect_to(p, &one, NULL);
    call(p, &same, OWNER_ONE); /* of the host itself that is no theft */
    ck_assert_uint_eq(contested(&p->b), 1);
    stream_close(same.s);
    finish(p, &one, &thief);
}
END_TEST

START_TEST(the_same_host_takes_over)
{
    struct pair *p = listening(NULL);
    struct caller one, again;
    call(p, &one, OWNER_ONE);
    call(p, &again, OWNER_ONE);
    expect_to(p, &again, &one);
    ck_assert_uint_eq(contested(&p->b), 0);
    finish(p, &one, &again);
}
END_TEST

/* Between the end of a session and the next one of its host. */
START_TEST(no_bundle_in_the_gap)
{
    struct pair *p = listening(NULL);
    struct caller one, thief;
    call(p, &one, OWNER_ONE);
    call(p, &thief, OWNER_TWO);
    hang_up(p, &one);
    ck_assert(!p->b.up);
    ck_assert_int_eq(side_send(&p->b, 1, 100), CLA_REASON_DOWN);
    pair_pass(p, 2 * TICK_S);
    call(p, &one, OWNER_ONE);
    ck_assert(p->b.up);
    expect_to(p, &one, &thief);
    /* A peer with a new address waits so long, and has the name only then. */
    hang_up(p, &one);
    pair_pass(p, 5 * TICK_S);
    ck_assert(p->b.up);
    expect_to(p, &thief, NULL);
    call(p, &one, OWNER_ONE); /* the host that had the name is back */
    expect_to(p, &one, &thief);
    finish(p, &one, &thief);
}
END_TEST

/* The thief was first; the link says where its peer is. */
START_TEST(remote_wins)
{
    struct pair *p = listening("10.0.1.1:4556");
    struct caller one, thief;
    call(p, &thief, OWNER_TWO);
    ck_assert(p->b.up);
    expect_to(p, &thief, NULL);
    call(p, &one, OWNER_ONE);
    expect_to(p, &one, &thief);
    ck_assert_uint_eq(contested(&p->b), 1);
    hang_up(p, &one);
    ck_assert(!p->b.up);
    call(p, &one, OWNER_ONE);
    expect_to(p, &one, &thief);
    finish(p, &one, &thief);
}
END_TEST

/* All places are taken by sessions that only say the name. */
START_TEST(a_place_for_the_better_one)
{
    struct pair *p = listening("10.0.1.1:4556");
    struct caller one, thieves[4];
    for (size_t i = 0; i < 4; i++)
        call(p, &thieves[i], OWNER_TWO);
    call(p, &one, OWNER_ONE);
    expect_to(p, &one, &thieves[3]);
    side_close(&p->b);
    for (size_t i = 0; i < 4; i++)
        stream_close(thieves[i].s);
    stream_close(one.s);
    pair_free(p);
}
END_TEST

static json_t *session_rows(const struct side *s)
{
    json_t *o = json_object();
    s->cla->ops->status(s->cla, o);
    json_t *const rows = json_incref(json_object_get(o, "sessions"));
    json_decref(o);
    return rows;
}

/* b's sessions in this state; NULL: all of them. */
static size_t count_sessions(const struct side *s, const char *state)
{
    size_t n = 0, i;
    json_t *const rows = session_rows(s), *row;
    json_array_foreach(rows, i, row) n +=
        state == NULL || strcmp(json_string_value(json_object_get(row, "state")), state) == 0;
    json_decref(rows);
    return n;
}

#define CALLERS 24

/* All call from their hosts, in order; after each call the link has at most 4 sessions that are not
 * ending, and 8 with those. Returns how many of them were refused. */
static size_t call_all(struct pair *p, struct caller *callers, size_t n, size_t owner)
{
    size_t refused = 0;
    for (size_t i = 0; i < n; i++) {
        call(p, &callers[i], owner);
        refused += callers[i].ended;
        ck_assert_uint_le(count_sessions(&p->b, "up"), 4);
        ck_assert_uint_le(count_sessions(&p->b, NULL), 8);
    }
    return refused;
}

static void finish_all(struct pair *p, struct caller *callers, size_t n)
{
    side_close(&p->b);
    for (size_t i = 0; i < n; i++)
        if (callers[i].s != NULL)
            stream_close(callers[i].s);
    pair_free(p);
}

/* The host that has the name opens many more sessions. Each takes the place of one that only says
 * the name, until none of these is left. None of the callers answers SESS_TERM. */
START_TEST(many_better_ones)
{
    struct pair *p = listening(NULL);
    struct caller callers[CALLERS];
    call(p, &callers[0], OWNER_ONE);
    ck_assert_uint_eq(call_all(p, &callers[1], 3, OWNER_TWO), 0);
    ck_assert_uint_eq(call_all(p, &callers[4], CALLERS - 4, OWNER_ONE), CALLERS - 4 - 3);
    ck_assert_uint_eq(count_sessions(&p->b, "up"), 4);
    ck_assert_uint_eq(count_sessions(&p->b, "ending"), 3);
    expect_to(p, &callers[6], &callers[3]);
    pair_pass(p, 11 * TICK_S);
    ck_assert_uint_eq(count_sessions(&p->b, NULL), 4);
    ck_assert(!callers[0].ended && callers[1].ended && callers[2].ended && callers[3].ended);
    finish_all(p, callers, CALLERS);
}
END_TEST

/* b connects to its remote, while others have all places by the name alone. */
START_TEST(a_place_for_one_that_connects)
{
    struct pair *p = pair_new();
    struct caller callers[4];
    p->b.config.sessions = 4;
    open_listening(p, "10.0.0.1:4556");
    p->a.config.remote = (struct host_address){.port = 0};
    call_all(p, callers, 4, OWNER_TWO);
    ck_assert_uint_eq(count_sessions(&p->b, "up"), 4);
    ck_assert_int_eq(address_parse("10.0.0.1:4556", &p->a.config.local), 0);
    p->a.config.tls = TCPCL_TLS_OFF;
    ck_assert_int_eq(side_open(p, &p->a), 0);
    pair_pass(p, 5 * TICK_S); /* until b's next attempt, shorter than `ending` */
    ck_assert(p->a.up);
    ck_assert_uint_eq(count_sessions(&p->b, "up"), 4);
    ck_assert_uint_eq(count_sessions(&p->b, "ending"), 1);
    ck_assert_int_eq(side_send(&p->b, 1, 100), CLA_REASON_NONE);
    pair_pass(p, 10 * TICK_MS);
    ck_assert_uint_eq(p->a.received, 1);
    finish_all(p, callers, 4);
}
END_TEST

/* The thief's host has had the name. It comes and goes while this side's attempts wait for their
 * time, or for an answer. _i % 2: places for 4 sessions, or for one. */
START_TEST(one_that_comes_and_goes)
{
    static const tick pauses[] = {40 * TICK_MS, 300 * TICK_MS, TICK_S - 50 * TICK_MS, 0};
    struct pair *p = pair_new();
    struct caller thief;
    p->v.pipes.delay = 150 * TICK_MS;
    p->b.config.sessions = _i % 2 == 0 ? 4 : 1;
    open_listening(p, "10.0.0.1:4556");
    p->a.config.remote = (struct host_address){.port = 0};
    ck_assert_int_eq(address_parse("10.0.0.1:4556", &p->a.config.local), 0);
    p->a.config.tls = TCPCL_TLS_OFF;
    call(p, &thief, OWNER_TWO);
    ck_assert(p->b.up);
    pair_pass(p, 6 * TICK_S);
    ck_assert_int_eq(side_open(p, &p->a), 0);
    for (unsigned i = 0; i < 100; i++) {
        hang_up(p, &thief);
        call(p, &thief, OWNER_TWO);
        pair_pass(p, pauses[_i / 2]);
    }
    ck_assert(p->a.up);
    finish_all(p, &thief, 1);
}
END_TEST

/* A transfer begins and does not finish; then SESS_TERM. */
static void begin_ending(struct pair *p, struct caller *callers, size_t n)
{
    static const char transfer[] = "\x01\x02\0\0\0\0\0\0\0\0"
                                   "\0\0\0\0"
                                   "\0\0\0\0\0\0\0\x01"
                                   "x";
    for (size_t i = 0; i < n; i++) {
        say(&callers[i], transfer, sizeof transfer - 1);
        say(&callers[i], "\x05\0\0", 3);
    }
    pair_pass(p, 10 * TICK_MS);
}

/* Sessions that end and do not finish hold their places for `ending`: none with the same evidence
 * comes beside them. One with better evidence gets in. With those that end there are 8 at most: for
 * the next one a session that ends is over at once. */
START_TEST(places_of_those_that_end)
{
    struct pair *p = listening("10.0.1.1:4556");
    struct caller callers[CALLERS];
    p->b.config.transfer_idle = p->b.config.idle = p->b.config.ending = 3600 * TICK_S;
    ck_assert_uint_eq(call_all(p, &callers[0], 4, OWNER_TWO), 0);
    begin_ending(p, &callers[0], 4);
    ck_assert_uint_eq(count_sessions(&p->b, "ending"), 4);
    ck_assert_uint_eq(call_all(p, &callers[4], 4, OWNER_TWO), 4);
    ck_assert_uint_eq(call_all(p, &callers[8], 5, OWNER_ONE), 1);
    ck_assert_uint_eq(count_sessions(&p->b, "up"), 4);
    begin_ending(p, &callers[8], 4);
    ck_assert_uint_eq(count_sessions(&p->b, "ending"), 8);
    ck_assert(!callers[0].ended);
    ck_assert_uint_eq(call_all(p, &callers[13], 5, OWNER_ONE), 1);
    ck_assert_uint_eq(count_sessions(&p->b, NULL), 8);
    for (size_t i = 0; i < 4; i++)
        ck_assert(callers[i].ended && !callers[8 + i].ended);
    expect_to(p, &callers[16], &callers[8]);
    finish_all(p, callers, 18);
}
END_TEST

/* What has the name may be dead: a KEEPALIVE finds it out, sooner than silence would. */
START_TEST(a_dead_session_is_found)
{
    struct pair *p = listening(NULL);
    struct caller one, moved;
    call(p, &one, OWNER_ONE);
    stream_read(one.s, false); /* its host is off */
    call(p, &moved, OWNER_TWO);
    ck_assert(p->b.up);
    pair_pass(p, 11 * TICK_S);
    expect_to(p, &moved, &one);
    finish(p, &one, &moved);
}
END_TEST

START_TEST(a_host_that_stays_away)
{
    struct pair *p = listening(NULL);
    struct caller one, two;
    call(p, &one, OWNER_ONE);
    hang_up(p, &one);
    p->b.config.keepalive = 0;
    p->b.config.idle = 3600 * TICK_S;
    call(p, &two, OWNER_TWO);
    pair_pass(p, 601 * TICK_S);
    expect_to(p, &two, NULL);
    call(p, &one, OWNER_ONE); /* it has lost the name to the other one */
    expect_to(p, &two, &one);
    finish(p, &one, &two);
}
END_TEST

/* The link accepts unconfigured peers. Each refusal has its own cause in the log. */
START_TEST(why_a_peer_is_refused)
{
    static const char *const causes[] = {"no more unconfigured peers are accepted",
                                         "\"ipn:2.0\" is that of this node",
                                         "\"ipn:3.7\" is not that of a node"};
    struct pair *p = pair_new();
    struct side more[3] = {0};
    p->b.peer = eid_ipn(0, 9, 0);
    p->b.let_in = true;
    ck_assert_int_eq(side_open(p, &p->b), 0);
    ck_assert_int_eq(side_open(p, &p->a), 0);
    pair_pass(p, TICK_S);
    ck_assert(p->a.up && p->unconfigured.up);
    more[0].node = eid_ipn(0, 8, 0); /* ipn:1.0 has the only place */
    more[1].node = p->b.node;
    more[2].node = eid_ipn(0, 3, 7);
    for (size_t i = 0; i < 3; i++) {
        more[i].peer = p->b.node;
        side_defaults(&more[i]);
        more[i].config.remote = p->a.config.remote;
        ck_assert_int_eq(side_open(p, &more[i]), 0);
        pair_pass(p, 100 * TICK_MS);
        ck_assert(!more[i].up);
        if (strstr(p->b.told, causes[i]) == NULL)
            ck_abort_msg("%s", p->b.told);
        side_close(&more[i]);
    }
    pair_free(p);
}
END_TEST

/* 10.0.1.1 only. */
static bool named_by_host(void *context, const struct eid *peer, const struct cla_proof *proof,
                          char *why, size_t why_cap)
{
    uint8_t key[ADDRESS_KEY_MAX];
    (void)context;
    MUST(peer->node == 1 && !proof->certificate && proof->host != NULL);
    MUST(address_key(&hosts[OWNER_ONE], key).len >= ADDRESS_KEY_HOST);
    if (memcmp(proof->host, key, ADDRESS_KEY_HOST) == 0)
        return true;
    snprintf(why, why_cap, "it is of another link");
    return false;
}

/* The node says who may have a name, for each session: also for a further one of a peer that has
 * it. */
START_TEST(a_reserved_name)
{
    struct pair *p = pair_new();
    struct caller one, thief;
    p->b.peer = eid_ipn(0, 9, 0);
    p->b.let_in = true;
    p->b.named = named_by_host;
    open_listening(p, NULL);
    for (unsigned i = 0; i < 3; i++) {
        call(p, &thief, OWNER_TWO);
        ck_assert(p->b.unconfigured == NULL);
        pair_pass(p, 11 * TICK_S); /* the session's end, and the next line */
        ck_assert(thief.ended);
        hang_up(p, &thief);
        ck_assert_uint_eq(shown(&p->b, "names_refused"), i + 1);
    }
    ck_assert_ptr_nonnull(strstr(p->b.told, "10.0.1.2:5000 says that it is \"ipn:1.0\" and is "
                                            "refused (3 so far): it is of another link"));
    call(p, &one, OWNER_ONE);
    ck_assert(p->b.unconfigured != NULL && p->unconfigured.up);
    call(p, &thief, OWNER_TWO);
    pair_pass(p, 11 * TICK_S);
    ck_assert(thief.ended && p->unconfigured.up);
    ck_assert_uint_eq(shown(&p->b, "names_refused"), 4);
    ck_assert_int_eq(side_send(&p->unconfigured, 1, 100), CLA_REASON_NONE);
    pair_pass(p, 10 * TICK_MS);
    ck_assert_uint_ge(one.segments, 100);
    finish(p, &one, &thief);
}
END_TEST

static enum { FOR_ALL, FOR_ONE, FOR_NONE } name_is;

static bool named_in_time(void *context, const struct eid *peer, const struct cla_proof *proof,
                          char *why, size_t why_cap)
{
    if (name_is == FOR_NONE)
        snprintf(why, why_cap, "it is of nobody here");
    return name_is == FOR_ALL ||
           (name_is == FOR_ONE && named_by_host(context, peer, proof, why, why_cap));
}

static bool judged(struct pair *p)
{
    const bool left = cla_judge(p->unconfigured.cla);
    pair_pass(p, 10 * TICK_MS);
    return left;
}

/* Two hosts have a name that nobody else has. Then it is reserved for the second one, whose session
 * stays; in the end for another node. */
START_TEST(a_name_that_is_reserved_later)
{
    struct pair *p = pair_new();
    struct caller first, one;
    p->b.peer = eid_ipn(0, 9, 0);
    p->b.let_in = true;
    p->b.named = named_in_time;
    name_is = FOR_ALL;
    open_listening(p, NULL);
    call(p, &first, OWNER_TWO);
    call(p, &one, OWNER_ONE);
    ck_assert(p->b.unconfigured != NULL && p->unconfigured.up);
    ck_assert(judged(p) && !first.ended && !one.ended);
    ck_assert_int_eq(side_send(&p->unconfigured, 1, 100), CLA_REASON_NONE);
    pair_pass(p, 10 * TICK_MS);
    ck_assert(first.segments >= 100 && one.segments < 100);
    name_is = FOR_ONE;
    ck_assert(judged(p));
    ck_assert(first.ended && !one.ended);
    ck_assert_ptr_nonnull(strstr(p->b.told, "10.0.1.2:5000 says that it is \"ipn:1.0\" and is "
                                            "refused (1 so far): it is of another link"));
    ck_assert_uint_eq(p->unconfigured.reasons[CLA_REASON_NO_ANSWER], 1);
    pair_pass(p, 6 * TICK_S);
    const size_t had = first.segments;
    ck_assert_int_eq(side_send(&p->unconfigured, 2, 100), CLA_REASON_NONE);
    pair_pass(p, 10 * TICK_MS);
    ck_assert(one.segments >= 100 && first.segments == had);
    name_is = FOR_NONE;
    ck_assert(!judged(p));
    ck_assert(one.ended && !p->unconfigured.up);
    ck_assert_uint_eq(shown(&p->b, "names_refused"), 2);
    finish(p, &first, &one);
}
END_TEST

START_TEST(listening_without_tls_is_logged)
{
    struct pair *p = listening(NULL); /* at 10.0.0.2, tls: off */
    ck_assert_uint_eq(p->b.said, 1);
    ck_assert_ptr_nonnull(strstr(p->b.told, "listens at 10.0.0.2:4556 without TLS"));
    pair_free(p);
}
END_TEST

SUITE(cla_tcpcl_claim, t)
{
    tcase_add_test(t, a_thief_gets_nothing);
    tcase_add_test(t, turned_away_and_counted);
    tcase_add_test(t, the_same_host_takes_over);
    tcase_add_test(t, no_bundle_in_the_gap);
    tcase_add_test(t, remote_wins);
    tcase_add_test(t, a_place_for_the_better_one);
    tcase_add_test(t, many_better_ones);
    tcase_add_test(t, a_place_for_one_that_connects);
    tcase_add_loop_test(t, one_that_comes_and_goes, 0, 8);
    tcase_add_test(t, places_of_those_that_end);
    tcase_add_test(t, a_dead_session_is_found);
    tcase_add_test(t, a_host_that_stays_away);
    tcase_add_test(t, why_a_peer_is_refused);
    tcase_add_test(t, a_reserved_name);
    tcase_add_test(t, a_name_that_is_reserved_later);
    tcase_add_test(t, listening_without_tls_is_logged);
}
