/* SPDX-License-Identifier: Apache-2.0 */
/* Where a `remote` is: addresses, names, the pauses between look-ups, answers that change. */
#include "cla/remote_name.h"

#include <jansson.h>

#include "sim/virtual.h"
#include "tests/unit/fake_resolver.h"
#include "tests/unit/suite.h"

struct bench {
    struct virtual_world v;
    struct rng rng;
    struct fake_resolver names;
    struct remote_name remote;
    unsigned answers;
    tick asked_at[32]; /* of the answers, less what they take */
};

static void on_answer(void *context)
{
    struct bench *b = context;
    ck_assert_uint_lt(b->answers, 32);
    b->asked_at[b->answers++] = b->v.now - b->names.takes;
}

static void pass(struct bench *b, tick time)
{
    const tick until = b->v.now + time;
    for (tick due; (due = virtual_due(&b->v)) <= until;) {
        virtual_advance(&b->v, due);
        virtual_fire(&b->v);
    }
    virtual_advance(&b->v, until);
}

static void open_bench(struct bench *b, const char *remote, const char *answer, int family)
{
    struct host_address at;
    char why[256] = "";
    memset(b, 0, sizeof *b);
    rng_init(&b->rng, 1);
    virtual_init(&b->v, 0, &b->rng, TICK_MS);
    fake_resolver_init(&b->names, &b->v.world, answer);
    ck_assert_int_eq(host_address_parse(remote, &at), 0);
    ck_assert_int_eq(remote_name_open(&b->remote, &b->v.world, &at, family, why, sizeof why), 0);
    remote_name_on_answer(&b->remote, on_answer, b);
}

static void close_bench(struct bench *b)
{
    remote_name_close(&b->remote);
    fake_resolver_fini(&b->names);
    virtual_fini(&b->v);
}

static void ck_next(struct bench *b, const char *right)
{
    struct address a;
    char text[ADDRESS_TEXT_MAX];
    ck_assert(remote_name_next(&b->remote, &a));
    ck_assert_str_eq(address_write(&a, text), right);
}

static bool has(const struct bench *b, const char *address)
{
    struct address a;
    ck_assert_int_eq(address_parse(address, &a), 0);
    return remote_name_has_host(&b->remote, &a);
}

START_TEST(an_address_needs_no_lookup)
{
    struct bench b;
    char text[REMOTE_NAME_TEXT_MAX];
    open_bench(&b, "[2001:db8::7]:4556", "10.0.0.1", AF_UNSPEC);
    ck_assert(!remote_name_is_name(&b.remote));
    remote_name_watch(&b.remote);
    pass(&b, 3600 * TICK_S);
    ck_assert_uint_eq(b.names.asks, 0);
    for (int i = 0; i < 3; i++)
        ck_next(&b, "[2001:db8::7]:4556");
    ck_assert(has(&b, "[2001:db8::7]:1") && !has(&b, "10.0.0.1:4556"));
    ck_assert_str_eq(remote_name_write(&b.remote, text), "[2001:db8::7]:4556");
    close_bench(&b);
}
END_TEST

START_TEST(pauses_grow)
{
    struct bench b;
    open_bench(&b, "gs1.example.net:4556", "", AF_UNSPEC);
    b.names.takes = 0;
    remote_name_watch(&b.remote);
    pass(&b, 200 * TICK_S);
    const tick right[] = {0, 1, 3, 7, 15, 31, 63, 123, 183};
    ck_assert_uint_eq(b.answers, sizeof right / sizeof *right);
    for (size_t i = 0; i < b.answers; i++)
        ck_assert_uint_eq(b.asked_at[i], right[i] * TICK_S);
    ck_assert(b.remote.failed && b.remote.found_len == 0);
    ck_assert_str_eq(b.remote.why, "the name cannot be resolved: Name or service not known");
    struct address a;
    ck_assert(!remote_name_next(&b.remote, &a) && !has(&b, "10.0.0.1:4556"));
    b.names.answer = "10.0.0.1"; /* known from now on */
    pass(&b, 110 * TICK_S);      /* at 243 s, and each 60 s */
    ck_assert_uint_eq(b.answers, 11);
    ck_assert_uint_eq(b.asked_at[10], 303 * TICK_S);
    ck_assert(!b.remote.failed && has(&b, "10.0.0.1:9"));
    b.names.answer = ""; /* and once more: the address stays, the pauses are short again */
    pass(&b, 60 * TICK_S);
    ck_assert_uint_eq(b.asked_at[11], 363 * TICK_S);
    ck_assert_uint_eq(b.asked_at[12], 364 * TICK_S);
    ck_assert(b.remote.failed && has(&b, "10.0.0.1:9"));
    close_bench(&b);
}
END_TEST

START_TEST(addresses_in_turn)
{
    struct bench b;
    char text[REMOTE_NAME_TEXT_MAX];
    open_bench(&b, "gs1:4556", "10.0.0.1 2001:db8::1 10.0.0.1 10.0.0.2", AF_UNSPEC);
    ck_assert_str_eq(remote_name_write(&b.remote, text), "gs1:4556");
    remote_name_ask(&b.remote);
    remote_name_ask(&b.remote); /* the same */
    pass(&b, TICK_S);
    ck_assert_uint_eq(b.names.asks, 1);
    ck_next(&b, "10.0.0.1:4556");
    ck_next(&b, "[2001:db8::1]:4556");
    ck_assert_str_eq(remote_name_write(&b.remote, text), "gs1:4556 ([2001:db8::1]:4556)");
    b.names.answer = "10.0.0.2 10.0.0.1 2001:db8::1"; /* a server that turns its answers */
    remote_name_ask(&b.remote);
    pass(&b, TICK_S);
    ck_next(&b, "10.0.0.2:4556"); /* which was not tried */
    ck_next(&b, "10.0.0.2:4556"); /* all were: from the first one again */
    ck_next(&b, "10.0.0.1:4556");
    remote_name_reached(&b.remote);
    ck_next(&b, "10.0.0.2:4556");
    b.names.answer = "10.0.0.9"; /* it has moved */
    remote_name_ask(&b.remote);
    pass(&b, TICK_S);
    ck_next(&b, "10.0.0.9:4556");
    ck_assert(has(&b, "10.0.0.9:1") && !has(&b, "10.0.0.2:4556"));
    close_bench(&b);
}
END_TEST

START_TEST(one_family)
{
    struct bench b;
    open_bench(&b, "gs1:4556", "2001:db8::1 10.0.0.1", AF_INET);
    remote_name_ask(&b.remote);
    pass(&b, TICK_S);
    ck_next(&b, "10.0.0.1:4556");
    ck_assert(!has(&b, "[2001:db8::1]:4556"));
    close_bench(&b);
}
END_TEST

START_TEST(more_addresses_than_there_is_room)
{
    struct bench b;
    char answer[64 * 16] = "";
    for (int i = 1; i <= 40; i++)
        snprintf(answer + strlen(answer), sizeof answer - strlen(answer), "10.0.0.%d ", i);
    open_bench(&b, "gs1:4556", answer, AF_UNSPEC);
    remote_name_ask(&b.remote);
    pass(&b, TICK_S);
    ck_assert_uint_eq(b.remote.found_len, LOOKUP_ADDRESSES_MAX);
    for (unsigned i = 0; i < 3 * LOOKUP_ADDRESSES_MAX; i++) {
        char right[32];
        snprintf(right, sizeof right, "10.0.0.%u:4556", i % LOOKUP_ADDRESSES_MAX + 1);
        ck_next(&b, right);
    }
    close_bench(&b);
}
END_TEST

START_TEST(closed_while_it_asks)
{
    struct bench b;
    open_bench(&b, "gs1:4556", "10.0.0.1", AF_UNSPEC);
    remote_name_watch(&b.remote);
    remote_name_close(&b.remote);
    pass(&b, 3600 * TICK_S);
    ck_assert_uint_eq(b.names.forgotten, 1);
    ck_assert_uint_eq(b.answers, 0);
    close_bench(&b);
}
END_TEST

START_TEST(no_thread_for_it)
{
    struct bench b;
    open_bench(&b, "gs1:4556", "10.0.0.1", AF_UNSPEC);
    b.names.refuses = true;
    remote_name_watch(&b.remote);
    ck_assert_uint_eq(b.answers, 0); /* later than the call */
    pass(&b, 0);
    ck_assert_uint_eq(b.answers, 1);
    ck_assert(b.remote.failed);
    b.names.refuses = false;
    pass(&b, 2 * TICK_S);
    ck_assert(!b.remote.failed && b.answers == 2);
    close_bench(&b);
}
END_TEST

START_TEST(shown)
{
    struct bench b;
    json_t *o = json_object();
    open_bench(&b, "gs1:4556", "", AF_UNSPEC);
    remote_name_watch(&b.remote);
    pass(&b, TICK_MS);
    b.names.answer = "10.0.0.1";
    pass(&b, 2 * TICK_S);
    remote_name_status(&b.remote, o);
    ck_assert_str_eq(json_string_value(json_object_get(o, "remote_address")), "10.0.0.1:4556");
    ck_assert_int_eq(json_integer_value(json_object_get(o, "lookups")), 2);
    ck_assert_int_eq(json_integer_value(json_object_get(o, "lookups_failed")), 1);
    json_decref(o);
    close_bench(&b);
}
END_TEST

START_TEST(no_resolver)
{
    struct virtual_world v;
    struct rng rng;
    struct host_address at;
    struct remote_name r;
    char why[256] = "";
    rng_init(&rng, 1);
    virtual_init(&v, 0, &rng, TICK_MS);
    ck_assert_int_eq(host_address_parse("gs1:4556", &at), 0);
    ck_assert_int_eq(remote_name_open(&r, &v.world, &at, AF_UNSPEC, why, sizeof why), HELIO_EINVAL);
    ck_assert_msg(strstr(why, "gs1 is a host name") != NULL, "%s", why);
    virtual_fini(&v);
}
END_TEST

SUITE(cla_remote_name, t)
{
    tcase_add_test(t, an_address_needs_no_lookup);
    tcase_add_test(t, pauses_grow);
    tcase_add_test(t, addresses_in_turn);
    tcase_add_test(t, one_family);
    tcase_add_test(t, more_addresses_than_there_is_room);
    tcase_add_test(t, closed_while_it_asks);
    tcase_add_test(t, no_thread_for_it);
    tcase_add_test(t, shown);
    tcase_add_test(t, no_resolver);
}
