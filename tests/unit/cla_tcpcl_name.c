/* SPDX-License-Identifier: Apache-2.0 */
/* Links of the adapter "tcpcl" whose remote is a host name, with a resolver that the test plays. */
#include <jansson.h>

#include "cla/tcpcl/tcpcl_session.h"
#include "tests/unit/cla_tcpcl_pair.h"
#include "tests/unit/fake_resolver.h"
#include "tests/unit/suite.h"

static struct pair *open_pair(struct fake_resolver *names, const char *answer)
{
    struct pair *p = pair_new();
    fake_resolver_init(names, &p->v.world, answer);
    ck_assert_int_eq(host_address_parse("gs1.example.net:4556", &p->a.config.remote), 0);
    ck_assert_int_eq(side_open(p, &p->b), 0);
    ck_assert_int_eq(side_open(p, &p->a), 0);
    return p;
}

static void free_pair(struct pair *p, struct fake_resolver *names)
{
    side_close(&p->a);
    ck_assert(names->asked == NULL);
    fake_resolver_fini(names);
    pair_free(p);
}

static uint64_t shown(const struct side *s, const char *key)
{
    json_t *o = json_object();
    s->cla->ops->status(s->cla, o);
    const uint64_t n = (uint64_t)json_integer_value(json_object_get(o, key));
    json_decref(o);
    return n;
}

START_TEST(connects_to_a_name)
{
    struct fake_resolver names;
    struct pair *p = open_pair(&names, "127.0.0.2");
    pair_pass(p, TICK_S);
    ck_assert(p->a.up && p->b.up);
    ck_assert_uint_eq(names.asks, 1);
    ck_assert_int_eq(side_send(&p->a, 1, 10), CLA_REASON_NONE);
    pair_pass(p, TICK_S);
    ck_assert_uint_eq(p->a.outcomes[CLA_DELIVERED], 1);
    pair_pass(p, 600 * TICK_S);
    ck_assert_uint_eq(names.asks, 1); /* while the session is there */
    free_pair(p, &names);
}
END_TEST

/* Not a failed start: attempts at 0, 1, 3, 7 … s, each with a look-up of its own. */
START_TEST(resolves_only_later)
{
    struct fake_resolver names;
    struct pair *p = open_pair(&names, "");
    pair_pass(p, 20 * TICK_S);
    ck_assert(!p->a.up);
    ck_assert_uint_eq(names.asks, 5);
    ck_assert_uint_eq(shown(&p->a, "connects"), 0);
    ck_assert_uint_eq(shown(&p->a, "connects_failed"), 5);
    ck_assert_uint_eq(shown(&p->a, "lookups_failed"), 5);
    ck_assert_uint_eq(p->a.said, 2); /* at most once in 10 s */
    ck_assert_str_eq(p->a.told, "cannot connect to gs1.example.net:4556: the name cannot be "
                                "resolved: Name or service not known");
    names.answer = "127.0.0.2";
    pair_pass(p, 15 * TICK_S); /* at 31 s */
    ck_assert(p->a.up && p->b.up);
    ck_assert_uint_eq(names.asks, 6);
    free_pair(p, &names);
}
END_TEST

START_TEST(addresses_in_their_order)
{
    struct fake_resolver names;
    struct pair *p = open_pair(&names, "10.0.0.7 2001:db8::7 127.0.0.2");
    pair_pass(p, 2900 * TICK_MS);
    ck_assert(!p->a.up);
    ck_assert_uint_eq(shown(&p->a, "connects"), 2);
    ck_assert_msg(strstr(p->a.told, "cannot connect to gs1.example.net:4556 (10.0.0.7:4556): ") !=
                      NULL,
                  "%s", p->a.told);
    pair_pass(p, TICK_S); /* the third one, at 3 s */
    ck_assert(p->a.up);
    ck_assert_uint_eq(names.asks, 3);
    free_pair(p, &names);
}
END_TEST

/* b ends, and begins anew there. */
static void move_peer(struct pair *p, const char *to)
{
    side_close(&p->b);
    pair_pass(p, 100 * TICK_MS);
    ck_assert(!p->a.up && p->b.closed);
    p->b.closing = p->b.closed = false;
    p->b.shared = NULL;
    ck_assert_int_eq(address_parse(to, &p->b.config.local), 0);
    ck_assert_int_eq(side_open(p, &p->b), 0);
}

/* A session ended: the name is looked up anew, and the peer is elsewhere now. */
START_TEST(the_peer_moves)
{
    struct fake_resolver names;
    struct pair *p = open_pair(&names, "127.0.0.2");
    pair_pass(p, TICK_S);
    ck_assert(p->a.up);
    names.answer = "10.0.0.5";
    move_peer(p, "10.0.0.5:4556");
    pair_pass(p, 60 * TICK_S);
    ck_assert(p->a.up && p->b.up);
    free_pair(p, &names);
}
END_TEST

/* A name server that never answers delays no attempt to the address that is known. */
START_TEST(a_known_address_needs_no_answer)
{
    struct fake_resolver names;
    struct pair *p = open_pair(&names, "127.0.0.2");
    pair_pass(p, TICK_S);
    names.takes = 600 * TICK_S;
    move_peer(p, "127.0.0.2:4556");
    pair_pass(p, 1500 * TICK_MS); /* the pause is 1 s */
    ck_assert(p->a.up && p->b.up);
    ck_assert_uint_eq(names.asks, 2);
    pair_pass(p, 700 * TICK_S);
    ck_assert(p->a.up && names.asks == 2 && names.asked == NULL);
    free_pair(p, &names);
}
END_TEST

/* The answer comes while the link pauses after an attempt to the former address. */
START_TEST(a_refused_attempt_follows_the_name)
{
    struct fake_resolver names;
    struct pair *p = open_pair(&names, "127.0.0.2");
    p->a.config.reconnect = 20 * TICK_S;
    pair_pass(p, TICK_S);
    names.takes = 5 * TICK_S;
    names.answer = "10.0.0.5 10.0.0.6";
    move_peer(p, "10.0.0.5:4556");
    pair_pass(p, 24 * TICK_S);
    ck_assert(!p->a.up && names.asks == 2);
    ck_assert_uint_eq(shown(&p->a, "connects"), 2);
    pair_pass(p, 2 * TICK_S);
    ck_assert(p->a.up && p->b.up);
    ck_assert_uint_eq(shown(&p->a, "connects"), 3);
    ck_assert_str_eq(p->a.told, "remote has moved: connects to gs1.example.net:4556 "
                                "(10.0.0.5:4556)");
    free_pair(p, &names);
}
END_TEST

static struct stream *silent_one; /* of whom nothing comes */

static uint8_t *drop_space(void *context, size_t *len)
{
    static uint8_t space[4096];
    (void)context;
    *len = sizeof space;
    return space;
}

static void drop_bytes(void *context, size_t len)
{
    (void)context;
    (void)len;
}

static void drop_word(void *context)
{
    (void)context;
}

static void end_silent(void *context, int error)
{
    (void)context;
    (void)error;
    stream_close(silent_one);
    silent_one = NULL;
}

static const struct stream_user silent = {
    .space = drop_space, .fed = drop_bytes, .writable = drop_word, .ended = end_silent};

static void accept_silently(void *context, struct stream *s)
{
    (void)context;
    silent_one = s;
    stream_use(s, &silent, NULL);
    stream_read(s, true);
}

/* An attempt that nobody answers, at an address that the name has no longer, ends at once. */
START_TEST(an_unanswered_attempt_follows_the_name)
{
    struct fake_resolver names;
    struct stream_listener *at;
    struct address former;
    const struct stream_place place = {.address = &former};
    struct pair *p = open_pair(&names, "127.0.0.2");
    pair_pass(p, TICK_S);
    names.takes = 5 * TICK_S;
    names.answer = "10.0.0.5";
    move_peer(p, "10.0.0.5:4556");
    ck_assert_int_eq(address_parse("127.0.0.2:4556", &former), 0);
    ck_assert_int_eq(stream_listen(&p->v.world, &at, &place, accept_silently, NULL), 0);
    pair_pass(p, 5 * TICK_S);
    ck_assert(!p->a.up && silent_one != NULL);
    pair_pass(p, 2 * TICK_S); /* `timeout` is 30 s */
    ck_assert(p->a.up && p->b.up && silent_one == NULL);
    ck_assert_uint_eq(shown(&p->a, "connects_failed"), 1);
    stream_unlisten(at);
    free_pair(p, &names);
}
END_TEST

/* Who answers at the former address stays the peer: the answer counts for the next attempt. */
START_TEST(a_session_stays)
{
    struct fake_resolver names;
    struct pair *p = open_pair(&names, "127.0.0.2");
    pair_pass(p, TICK_S);
    names.takes = 5 * TICK_S;
    names.answer = "10.0.0.5";
    move_peer(p, "127.0.0.2:4556");
    pair_pass(p, 20 * TICK_S);
    ck_assert(p->a.up);
    ck_assert_uint_eq(shown(&p->a, "connects"), 2);
    move_peer(p, "10.0.0.5:4556");
    pair_pass(p, 3 * TICK_S);
    ck_assert(p->a.up);
    ck_assert_uint_eq(shown(&p->a, "connects"), 3);
    free_pair(p, &names);
}
END_TEST

/* An answer with other addresses each time does not make up for the pauses. */
START_TEST(pauses_stay)
{
    struct fake_resolver names;
    char answer[2][16] = {"10.0.0.1", "10.0.0.2"};
    struct pair *p = open_pair(&names, answer[0]);
    for (int i = 1; i < 64; i++) {
        names.answer = answer[i % 2];
        pair_pass(p, TICK_S);
    }
    ck_assert_uint_ge(shown(&p->a, "connects"), 6);
    ck_assert_uint_le(shown(&p->a, "connects"), 14); /* two for each of the pauses, 1 s to 32 s */
    free_pair(p, &names);
}
END_TEST

/* A name server out of order does not stop a link that worked. */
START_TEST(the_last_answer_is_kept)
{
    struct fake_resolver names;
    struct pair *p = open_pair(&names, "127.0.0.2");
    pair_pass(p, TICK_S);
    names.answer = "";
    p->a.cla->ops->set_link(p->a.cla, false);
    pair_pass(p, TICK_S);
    ck_assert(!p->a.up);
    p->a.cla->ops->set_link(p->a.cla, true);
    pair_pass(p, 5 * TICK_S);
    ck_assert(p->a.up);
    ck_assert_uint_eq(shown(&p->a, "lookups_failed"), 1);
    free_pair(p, &names);
}
END_TEST

/* Down while the resolver is asked: no connection follows its answer; closed: no answer follows. */
START_TEST(not_wanted_any_more)
{
    struct fake_resolver names;
    struct pair *p = open_pair(&names, "127.0.0.2");
    names.takes = 10 * TICK_S;
    pair_pass(p, TICK_S);
    ck_assert_uint_eq(names.asks, 1);
    p->a.cla->ops->set_link(p->a.cla, false);
    pair_pass(p, 20 * TICK_S);
    ck_assert_uint_eq(shown(&p->a, "connects"), 0);
    p->a.cla->ops->set_link(p->a.cla, true);
    pair_pass(p, TICK_S);
    ck_assert_uint_eq(names.asks, 2);
    side_close(&p->a);
    ck_assert_uint_eq(names.forgotten, 1);
    pair_pass(p, 20 * TICK_S);
    free_pair(p, &names);
}
END_TEST

/* Who connects from the address of the name is the peer at `remote`, as with a numeric one. */
START_TEST(a_connection_from_it)
{
    static struct address hosts[2]; /* of b and a */
    struct fake_resolver names;
    struct pair *p = pair_new();
    json_t *o = json_object();
    ck_assert_int_eq(address_parse("127.0.0.2:5000", &hosts[0]), 0);
    ck_assert_int_eq(address_parse("10.0.1.1:5000", &hosts[1]), 0);
    p->v.pipes.hosts = hosts;
    p->v.pipes.hosts_len = 2;
    fake_resolver_init(&names, &p->v.world, _i == 0 ? "10.0.1.1" : "10.0.1.9");
    ck_assert_int_eq(host_address_parse("gs2:9", &p->b.config.remote), 0); /* nobody listens */
    ck_assert_int_eq(side_open(p, &p->b), 0);
    pair_pass(p, TICK_S);
    p->v.world.owner = 1;
    ck_assert_int_eq(side_open(p, &p->a), 0);
    p->v.world.owner = 0;
    pair_pass(p, 5 * TICK_S);
    ck_assert(p->a.up && p->b.up);
    p->b.cla->ops->status(p->b.cla, o);
    const json_t *session = json_array_get(json_object_get(o, "sessions"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(session, "claim")),
                     _i == 0 ? "remote" : "host"); /* that has the name */
    json_decref(o);
    side_close(&p->b);
    fake_resolver_fini(&names);
    pair_free(p);
}
END_TEST

START_TEST(form_of_the_key)
{
    struct tcpcl_config k;
    struct side s;
    const char *key = NULL;
    char why[256];
    side_defaults(&s);
    k = s.config;
    ck_assert(!tcpcl_connects(&k));
    ck_assert_int_eq(host_address_parse("gs1.example.net:0", &k.remote), 0);
    ck_assert_int_eq(tcpcl_config_check(&k, &key, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(key, "remote");
    ck_assert_int_eq(host_address_parse("gs1.example.net:4556", &k.remote), 0);
    ck_assert_int_eq(tcpcl_config_check(&k, &key, why, sizeof why), 0);
    ck_assert(tcpcl_connects(&k));
}
END_TEST

START_TEST(listening_without_tls)
{
    static const struct {
        const char *local;
        int tls;
        bool good;
    } of[] = {
        {"127.0.0.1:4556", TCPCL_TLS_UNSET, true},  {"[::1]:4556", TCPCL_TLS_UNSET, true},
        {"127.8.9.10:4556", TCPCL_TLS_UNSET, true}, {"[::ffff:127.0.0.1]:1", TCPCL_TLS_UNSET, true},
        {"0.0.0.0:4556", TCPCL_TLS_UNSET, false},   {"[::]:4556", TCPCL_TLS_UNSET, false},
        {"192.0.2.1:4556", TCPCL_TLS_UNSET, false}, {"[2001:db8::1]:1", TCPCL_TLS_UNSET, false},
        {"192.0.2.1:4556", TCPCL_TLS_OFF, true},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct side s;
        const char *key = "";
        char why[256] = "";
        side_defaults(&s);
        s.config.tls = of[i].tls;
        ck_assert_int_eq(address_parse(of[i].local, &s.config.local), 0);
        const int r = tcpcl_config_check(&s.config, &key, why, sizeof why);
        ck_assert_int_eq(r, of[i].good ? 0 : HELIO_EINVAL);
        ck_assert(of[i].good || (strcmp(key, "tls") == 0 && strstr(why, "tls: off") != NULL));
    }
}
END_TEST

SUITE(cla_tcpcl_name, t)
{
    tcase_add_test(t, connects_to_a_name);
    tcase_add_test(t, resolves_only_later);
    tcase_add_test(t, addresses_in_their_order);
    tcase_add_test(t, the_peer_moves);
    tcase_add_test(t, a_known_address_needs_no_answer);
    tcase_add_test(t, a_refused_attempt_follows_the_name);
    tcase_add_test(t, an_unanswered_attempt_follows_the_name);
    tcase_add_test(t, a_session_stays);
    tcase_add_test(t, pauses_stay);
    tcase_add_test(t, the_last_answer_is_kept);
    tcase_add_test(t, not_wanted_any_more);
    tcase_add_test(t, form_of_the_key);
    tcase_add_test(t, listening_without_tls);
    tcase_add_loop_test(t, a_connection_from_it, 0, 2);
}
