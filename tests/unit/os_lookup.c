/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups by the system's resolver, in a loop that does not wait for them. */
#include "os/net/lookup.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "os/clock.h"
#include "os/uv_world.h"
#include "tests/unit/suite.h"

#define QUESTIONS 12
#define FORGOTTEN 10000 /* a time-out of the resolver for each would take hours */

struct bench {
    struct world *world;
    struct lookup lookup[QUESTIONS];
    unsigned done, turns;
    struct alarm alarm;
};

static void on_done(struct lookup *l);
static void ask_all(void *context);

static struct bench *bench_new(void)
{
    struct bench *b = calloc(1, sizeof *b);
    ck_assert_int_eq(uv_world_open(&b->world), 0);
    ck_assert(lookup_possible(b->world));
    alarm_init(&b->alarm, b->world, ALARM_APP, ask_all, b);
    return b;
}

static void end_bench(struct bench *b)
{
    alarm_fini(&b->alarm);
    uv_world_end(b->world);
}

static void ask(struct bench *b, size_t i, const char *host, int family)
{
    b->lookup[i] = (struct lookup){.host = host, .port = 4556, .family = family, .done = on_done};
    ck_assert_int_eq(lookup_begin(b->world, &b->lookup[i]), 0);
    ck_assert(b->lookup[i].own != NULL);
}

static struct bench *running; /* of on_done, whose argument lies in an array of it */

static void on_done(struct lookup *l)
{
    ck_assert(l->own == NULL && (l->error == NULL) == (l->len > 0));
    running->done++;
    if (running->done == QUESTIONS)
        end_bench(running);
}

/* In a turn of the loop, which goes on meanwhile (os_slow_lookup.c). */
static void ask_all(void *context)
{
    struct bench *b = context;
    b->turns++;
    ask(b, 0, "no-such-host.invalid", AF_UNSPEC);
    for (size_t i = 1; i < QUESTIONS; i++)
        ask(b, i, "localhost", AF_INET);
    ck_assert_uint_eq(b->done, 0); /* later than the call */
}

static void run_to_end(struct bench *b)
{
    running = b;
    uv_world_run(b->world);
    ck_assert_int_eq(uv_world_free(b->world), 0);
}

static void ck_loopback(const struct lookup *l, int family)
{
    ck_assert_msg(l->len >= 1, "%s", l->error);
    for (size_t i = 0; i < l->len; i++) {
        ck_assert(address_is_loopback(&l->addresses[i]));
        ck_assert_uint_eq(address_port(&l->addresses[i]), 4556);
        ck_assert_int_eq(l->addresses[i].sa.sa_family, family);
    }
}

static unsigned count_threads(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/task");
    if (d == NULL)
        return 0;
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

/* A thread that is still in the resolver at the process's end looks like a leak. */
static void wait_for_threads(void)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    for (int i = 0; i < 3000 && count_threads() > 1; i++)
        nanosleep(&pause, NULL);
}

START_TEST(answered)
{
    struct bench *b = bench_new();
    alarm_set(&b->alarm, 0);
    run_to_end(b);
    ck_assert_uint_eq(b->done, QUESTIONS);
    ck_assert_uint_eq(b->turns, 1);
    ck_assert(b->lookup[0].len == 0 && b->lookup[0].error[0] != '\0');
    for (size_t i = 1; i < QUESTIONS; i++)
        ck_loopback(&b->lookup[i], AF_INET);
    wait_for_threads();
    free(b);
}
END_TEST

/* The memory is the user's again at once, and the others are answered. */
START_TEST(forgotten)
{
    struct bench *b = bench_new();
    struct lookup *gone = malloc(sizeof *gone);
    *gone = (struct lookup){.host = "localhost", .port = 1, .done = on_done};
    ck_assert_int_eq(lookup_begin(b->world, gone), 0);
    lookup_forget(b->world, gone);
    ck_assert(gone->own == NULL);
    memset(gone, 0xff, sizeof *gone);
    free(gone);
    for (size_t i = 0; i < QUESTIONS; i++)
        ask(b, i, "localhost", AF_INET);
    run_to_end(b);
    ck_assert_uint_eq(b->done, QUESTIONS);
    wait_for_threads();
    free(b);
}
END_TEST

/* Questions that are not answered yet do not keep the program. */
START_TEST(the_end_waits_for_nobody)
{
    struct bench *b = bench_new();
    for (size_t i = 0; i < QUESTIONS; i++)
        ask(b, i, i % 2 == 0 ? "no-such-host.invalid" : "localhost", AF_UNSPEC);
    const tick began = clock_now();
    end_bench(b);
    lookup_forget(b->world, &b->lookup[0]);
    ck_assert(b->lookup[0].own == NULL);
    struct lookup late = {.host = "localhost", .port = 1, .done = on_done};
    ck_assert_int_ne(lookup_begin(b->world, &late), 0);
    run_to_end(b);
    ck_assert_uint_eq(b->done, 0);
    ck_assert(clock_now() - began < 2 * TICK_S); /* a resolver's time-out is 5 s at least */
    wait_for_threads();
    free(b);
}
END_TEST

/* Questions that nobody wants any more do not keep others from their answer. */
START_TEST(forgotten_ones_are_not_asked)
{
    struct bench *b = bench_new();
    struct lookup *gone = calloc(FORGOTTEN, sizeof *gone);
    for (size_t i = 0; i < FORGOTTEN; i++) {
        gone[i] = (struct lookup){.host = "no-such-host.invalid", .port = 1, .done = on_done};
        ck_assert_int_eq(lookup_begin(b->world, &gone[i]), 0);
    }
    for (size_t i = 0; i < FORGOTTEN; i++)
        lookup_forget(b->world, &gone[i]);
    free(gone);
    for (size_t i = 0; i < QUESTIONS; i++)
        ask(b, i, "localhost", AF_INET);
    run_to_end(b);
    ck_assert_uint_eq(b->done, QUESTIONS);
    wait_for_threads();
    free(b);
}
END_TEST

START_TEST(addresses_are_counted_once)
{
    struct lookup l = {.len = 0};
    struct address a;
    for (unsigned i = 0; i < 3 * LOOKUP_ADDRESSES_MAX; i++) {
        char text[32];
        snprintf(text, sizeof text, "10.0.0.%u", i / 2);
        ck_assert_int_eq(address_of(text, 1, &a), 0);
        lookup_add(&l, &a);
        ck_assert_uint_eq(l.len, i / 2 < LOOKUP_ADDRESSES_MAX ? i / 2 + 1 : LOOKUP_ADDRESSES_MAX);
    }
}
END_TEST

SUITE(os_lookup, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, answered);
    tcase_add_test(t, forgotten);
    tcase_add_test(t, forgotten_ones_are_not_asked);
    tcase_add_test(t, the_end_waits_for_nobody);
    tcase_add_test(t, addresses_are_counted_once);
}
