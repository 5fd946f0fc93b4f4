/* SPDX-License-Identifier: Apache-2.0 */
/* Links of the adapters "stcp" and "mtcp" whose remote is a host name, with a resolver that the
 * test plays. */
#include "tests/unit/cla_streamcl_pair.h"
#include "tests/unit/fake_resolver.h"
#include "tests/unit/suite.h"

/* a, at 10.0.0.1, has the name of b as its remote. */
static struct pair *open_pair(int f, struct fake_resolver *names, const char *answer)
{
    struct pair *p = pair_new(f);
    fake_resolver_init(names, &p->v.world, answer);
    ck_assert_int_eq(host_address_parse("gs2:4556", &p->a.config.remote), 0);
    ck_assert_int_eq(open_side(p, &p->a, 0), 0);
    pass(p, 10 * TICK_MS); /* the answer is there before b connects */
    ck_assert_int_eq(open_side(p, &p->b, 1), 0);
    return p;
}

static void free_pair(struct pair *p, struct fake_resolver *names)
{
    close_side(p, &p->a);
    fake_resolver_fini(names);
    pair_free(p);
}

START_TEST(connects_to_a_name)
{
    struct fake_resolver names;
    struct pair *p = open_pair(_i, &names, "10.0.0.2");
    pass(p, 3 * TICK_S);
    ck_assert(p->a.up && p->b.up);
    ck_assert_int_eq(give(&p->a, 1, 100), CLA_REASON_NONE);
    ck_assert_int_eq(give(&p->b, 1, 100), CLA_REASON_NONE); /* from the name's address: accepted */
    pass(p, TICK_S);
    ck_assert_uint_eq(p->a.received, 1);
    ck_assert_uint_eq(p->b.received, 1);
    free_pair(p, &names);
}
END_TEST

/* Until then nobody's connections are accepted: nothing says whose they are. */
START_TEST(resolves_only_later)
{
    struct fake_resolver names;
    struct pair *p = open_pair(_i, &names, "");
    pass(p, 20 * TICK_S);
    ck_assert(!p->a.up);
    ck_assert_uint_eq(shown(&p->a, "connects"), 0);
    ck_assert_uint_ge(shown(&p->a, "connects_failed"), 5);
    ck_assert_uint_eq(shown(&p->a, "accepted"), 0);
    ck_assert_uint_ge(shown(&p->a, "unknown_refused"), 1);
    names.answer = "10.0.0.2";
    pass(p, 120 * TICK_S);
    ck_assert(p->a.up && p->b.up);
    ck_assert_int_eq(give(&p->b, 1, 100), CLA_REASON_NONE);
    pass(p, TICK_S);
    ck_assert_uint_eq(p->a.received, 1);
    free_pair(p, &names);
}
END_TEST

/* The name is of another host now: its connections are accepted, the former one's are not. */
START_TEST(the_source_follows)
{
    struct fake_resolver names;
    struct pair *p = open_pair(_i, &names, "10.0.0.2");
    pass(p, 3 * TICK_S);
    ck_assert_uint_eq(shown(&p->a, "accepted"), 1);
    names.answer = "10.0.0.3";
    pass(p, 61 * TICK_S); /* it is asked for each 60 s */
    p->b.cla->ops->set_link(p->b.cla, false);
    pass(p, TICK_S);
    p->b.cla->ops->set_link(p->b.cla, true);
    pass(p, 40 * TICK_S);
    ck_assert_uint_eq(shown(&p->a, "accepted"), 1);
    ck_assert_uint_ge(shown(&p->a, "unknown_refused"), 1);
    names.answer = "10.0.0.3 10.0.0.2"; /* both */
    pass(p, 130 * TICK_S);
    ck_assert_uint_ge(shown(&p->a, "accepted"), 2);
    free_pair(p, &names);
}
END_TEST

/* A link that only receives looks its name up, too. */
START_TEST(names_who_connects)
{
    struct fake_resolver names;
    struct pair *p = pair_new(_i);
    fake_resolver_init(&names, &p->v.world, "10.0.0.2");
    ck_assert_int_eq(host_address_parse("gs2:0", &p->a.config.remote), 0);
    p->a.config.connect = false;
    ck_assert_int_eq(open_side(p, &p->a, 0), 0);
    pass(p, 10 * TICK_MS); /* the answer is there before b connects */
    ck_assert_int_eq(open_side(p, &p->b, 1), 0);
    pass(p, 5 * TICK_S);
    ck_assert_int_eq(give(&p->b, 1, 100), CLA_REASON_NONE);
    pass(p, TICK_S);
    ck_assert_uint_eq(p->a.received, 1);
    ck_assert_uint_eq(shown(&p->a, "connects"), 0);
    ck_assert_uint_eq(shown(&p->a, "connects_failed"), 0);
    free_pair(p, &names);
}
END_TEST

/* a only connects; b's address is known, and b is gone. */
static struct pair *open_known(int f, struct fake_resolver *names)
{
    struct pair *p = pair_new(f);
    fake_resolver_init(names, &p->v.world, "10.0.0.2");
    memset(&p->a.config.local, 0, sizeof p->a.config.local);
    memset(&p->b.config.remote, 0, sizeof p->b.config.remote);
    p->a.config.reconnect = 20 * TICK_S;
    p->b.config.source = STREAMCL_FROM_ANY;
    p->b.config.connect = false;
    ck_assert_int_eq(host_address_parse("gs2:4556", &p->a.config.remote), 0);
    ck_assert_int_eq(open_side(p, &p->b, 1), 0);
    ck_assert_int_eq(open_side(p, &p->a, 0), 0);
    pass(p, TICK_S);
    ck_assert(p->a.up && names->asks == 1);
    close_side(p, &p->b);
    pass(p, TICK_S);
    ck_assert(!p->a.up && p->b.closed);
    p->b.closed = false;
    p->b.cla = NULL;
    p->b.shared = NULL;
    return p;
}

/* A name server that never answers delays no attempt to the address that is known. */
START_TEST(a_known_address_needs_no_answer)
{
    struct fake_resolver names;
    struct pair *p = open_known(_i, &names);
    names.takes = 600 * TICK_S;
    ck_assert_int_eq(open_side(p, &p->b, 1), 0);
    pass(p, 20 * TICK_S);
    ck_assert(p->a.up && names.asks == 2);
    free_pair(p, &names);
}
END_TEST

/* The answer comes while the link pauses after an attempt to the former address. */
START_TEST(a_refused_attempt_follows_the_name)
{
    struct fake_resolver names;
    struct pair *p = open_known(_i, &names);
    names.takes = 5 * TICK_S;
    names.answer = "10.0.0.3";
    ck_assert_int_eq(address_parse("10.0.0.3:4556", &p->b.config.local), 0);
    ck_assert_int_eq(open_side(p, &p->b, 2), 0);
    pass(p, 23 * TICK_S);
    ck_assert(!p->a.up && names.asks == 2);
    pass(p, 2 * TICK_S);
    ck_assert(p->a.up);
    ck_assert_uint_eq(shown(&p->a, "connects"), 3);
    free_pair(p, &names);
}
END_TEST

START_TEST(two_links_of_one_name)
{
    struct host_address name;
    struct side a, b;
    char why[256];
    const char *key = NULL;
    memset(&a, 0, sizeof a);
    fill_defaults(&a);
    ck_assert_int_eq(address_parse("10.0.0.1:4556", &a.config.local), 0);
    ck_assert_int_eq(host_address_parse("gs2:4556", &name), 0);
    a.config.remote = name;
    b = a;
    ck_assert_int_eq(streamcl_config_check(&a.config, &key, why, sizeof why), 0);
    const struct cla_named one = {.config = &a.config}, two = {.config = &b.config};
    ck_assert_int_eq(streamcl_config_conflict(&one, &two, &key, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(key, "remote");
    ck_assert_int_eq(host_address_parse("gs3:4556", &b.config.remote), 0);
    ck_assert_int_eq(streamcl_config_conflict(&one, &two, &key, why, sizeof why), 0);
}
END_TEST

SUITE(cla_streamcl_name, t)
{
    tcase_add_loop_test(t, connects_to_a_name, STREAMCL_STCP, STREAMCL_MTCP + 1);
    tcase_add_loop_test(t, resolves_only_later, STREAMCL_STCP, STREAMCL_MTCP + 1);
    tcase_add_loop_test(t, the_source_follows, STREAMCL_STCP, STREAMCL_MTCP + 1);
    tcase_add_loop_test(t, names_who_connects, STREAMCL_STCP, STREAMCL_MTCP + 1);
    tcase_add_loop_test(t, a_known_address_needs_no_answer, STREAMCL_STCP, STREAMCL_MTCP + 1);
    tcase_add_loop_test(t, a_refused_attempt_follows_the_name, STREAMCL_STCP, STREAMCL_MTCP + 1);
    tcase_add_test(t, two_links_of_one_name);
}
