/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups of names that hang, and of others beside them. The resolver is played: names that begin
 * with "hang" have no answer, after LOOKUP_BRIEF_S or when the test opens the gate. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "os/clock.h"
#include "os/uv_lookup.h"
#include "os/uv_world.h"
#include "tests/unit/suite.h"

#define CROWD 250u
#define BRIEF (LOOKUP_BRIEF_S * TICK_S)

/* What the threads see. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;               /* patient questions that hang have ended */
    unsigned brief, patient; /* asked so far */
    unsigned in_brief, in_patient, most_brief, most_patient; /* at once */
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void wait_brief(void)
{
    const struct timespec pause = clock_spec(BRIEF);
    nanosleep(&pause, NULL);
}

static void enter_question(bool brief)
{
    pthread_mutex_lock(&seen.lock);
    unsigned *now = brief ? &seen.in_brief : &seen.in_patient;
    unsigned *most = brief ? &seen.most_brief : &seen.most_patient;
    seen.brief += brief;
    seen.patient += !brief;
    ++*now;
    *most = *now > *most ? *now : *most;
    pthread_mutex_unlock(&seen.lock);
}

static void leave_question(bool brief)
{
    pthread_mutex_lock(&seen.lock);
    seen.in_brief -= brief;
    seen.in_patient -= !brief;
    pthread_cond_broadcast(&seen.changed);
    pthread_mutex_unlock(&seen.lock);
}

static void wait_for_gate(void)
{
    pthread_mutex_lock(&seen.lock);
    while (!seen.open)
        pthread_cond_wait(&seen.changed, &seen.lock);
    pthread_mutex_unlock(&seen.lock);
}

static void open_gate(bool open)
{
    pthread_mutex_lock(&seen.lock);
    seen.open = open;
    pthread_cond_broadcast(&seen.changed);
    pthread_mutex_unlock(&seen.lock);
}

static bool begins(const struct lookup *l, const char *with)
{
    return strncmp(l->host, with, strlen(with)) == 0;
}

/* "hang…": no answer. "late…": none to a brief question. "cut…": none but by TCP; "cuthang…": not
 * by TCP either. "stuck…": no end, in any grade. Others at once. */
static bool play_resolver(struct lookup *l, enum lookup_grade grade)
{
    struct address a;
    const bool brief = grade == LOOKUP_BRIEF, tcp = grade == LOOKUP_TCP, cut = begins(l, "cut");
    const bool hangs = begins(l, "hang") || (begins(l, "cuthang") && tcp);
    const bool late = begins(l, "late"), stuck = begins(l, "stuck");
    enter_question(brief);
    if (brief && (hangs || late))
        wait_brief();
    if (stuck || (!brief && hangs))
        wait_for_gate();
    l->len = 0;
    l->error = stuck || hangs || (late && brief) || (cut && !tcp) ? "no answer" : NULL;
    if (l->error == NULL) {
        ck_assert_int_eq(address_of("10.0.0.1", 0, &a), 0);
        lookup_add(l, &a);
    }
    leave_question(brief);
    return cut && !tcp;
}

struct bench {
    struct world *world;
    struct uv_lookups *lookups;
    struct alarm alarm;
    struct lookup crowd[CROWD], one, two, three;
    char names[CROWD][16];
    unsigned done, goal; /* the loop ends at this number of answers */
    tick limit;
};

static struct bench *running;

static void end_bench(struct bench *b)
{
    alarm_fini(&b->alarm);
    uv_lookups_close(b->lookups);
    b->lookups = NULL;
    uv_world_end(b->world);
}

static void on_done(struct lookup *l)
{
    ck_assert(l->own == NULL && (l->error == NULL) == (l->len > 0));
    if (++running->done == running->goal)
        alarm_set(&running->alarm, 0);
}

static void on_alarm(void *context)
{
    struct bench *b = context;
    (void)b;
    end_bench(b);
}

static struct bench *bench_new(unsigned goal, tick limit)
{
    struct bench *b = calloc(1, sizeof *b);
    ck_assert_int_eq(uv_world_open(&b->world), 0);
    ck_assert_int_eq(uv_lookups_open(&b->lookups, uv_world_loop(b->world), play_resolver), 0);
    alarm_init(&b->alarm, b->world, ALARM_APP, on_alarm, b);
    b->goal = goal;
    b->limit = clock_now() + limit;
    alarm_set(&b->alarm, b->limit);
    running = b;
    return b;
}

static void ask(struct bench *b, struct lookup *l, const char *host, enum lookup_grade grade)
{
    *l = (struct lookup){
        .host = host, .port = 4556, .family = AF_UNSPEC, .done = on_done, .grade = grade};
    ck_assert_int_eq(uv_lookups_begin(b->lookups, l), 0);
}

static void ask_crowd(struct bench *b, const char *what, enum lookup_grade grade)
{
    for (unsigned i = 0; i < CROWD; i++) {
        snprintf(b->names[i], sizeof b->names[i], "%s%u", what, i);
        ask(b, &b->crowd[i], b->names[i], grade);
    }
}

/* Until all of them were answered, or the time is up. */
static void run_bench(struct bench *b)
{
    uv_world_run(b->world);
    ck_assert_int_eq(uv_world_free(b->world), 0);
}

/* Threads that are still in a question have what they need. */
static void free_bench(struct bench *b)
{
    open_gate(true);
    pthread_mutex_lock(&seen.lock);
    while (seen.in_brief + seen.in_patient > 0)
        pthread_cond_wait(&seen.changed, &seen.lock);
    pthread_mutex_unlock(&seen.lock);
    free(b);
}

/* Threads may still change it. */
static unsigned read_seen(const unsigned *what)
{
    pthread_mutex_lock(&seen.lock);
    const unsigned n = *what;
    pthread_mutex_unlock(&seen.lock);
    return n;
}

static bool is_answered(const struct lookup *l)
{
    return l->own == NULL && l->error == NULL && l->len == 1;
}

/* 250 names of which nobody knows yet that they hang, and one behind them. Four threads would take
 * 63 s. */
START_TEST(beside_new_ones)
{
    struct bench *b = bench_new(1, 20 * TICK_S);
    ask_crowd(b, "hang", LOOKUP_BRIEF);
    ask(b, &b->one, "quick", LOOKUP_BRIEF);
    run_bench(b);
    ck_assert(is_answered(&b->one));
    ck_assert_uint_eq(read_seen(&seen.most_brief), LOOKUP_THREADS_BRIEF);
    ck_assert_uint_le(read_seen(&seen.most_patient), LOOKUP_THREADS_PATIENT);
    free_bench(b);
}
END_TEST

/* They hung before: nobody waits for them but those that did, too. */
START_TEST(beside_known_ones)
{
    struct bench *b = bench_new(2, 20 * TICK_S);
    ask_crowd(b, "hang", LOOKUP_HUNG);
    ask(b, &b->one, "quick", LOOKUP_BRIEF);
    ask(b, &b->two, "late", LOOKUP_PATIENT);
    run_bench(b);
    ck_assert(is_answered(&b->one) && is_answered(&b->two));
    ck_assert_uint_le(read_seen(&seen.most_patient), LOOKUP_THREADS_PATIENT + LOOKUP_THREADS_HUNG);
    free_bench(b);
}
END_TEST

/* A server that is late has its time at once, and is known for it. */
START_TEST(a_late_answer_counts)
{
    struct bench *b = bench_new(1, 20 * TICK_S);
    ask(b, &b->one, "late", LOOKUP_BRIEF);
    run_bench(b);
    ck_assert(is_answered(&b->one));
    ck_assert_uint_eq(b->done, 1);
    ck_assert_uint_eq(read_seen(&seen.brief), 1);
    ck_assert_uint_eq(read_seen(&seen.patient), 1);
    ck_assert_int_eq(b->one.grade, LOOKUP_BRIEF); /* the patient question was quick */
    free_bench(b);
}
END_TEST

/* Connections that bring nothing hold up none but names that need one. */
START_TEST(beside_long_answers)
{
    struct bench *b = bench_new(3, 20 * TICK_S);
    ask_crowd(b, "cuthang", LOOKUP_BRIEF);
    ask(b, &b->one, "quick", LOOKUP_BRIEF);
    ask(b, &b->two, "late", LOOKUP_BRIEF);
    ask(b, &b->three, "quick.too", LOOKUP_HUNG);
    run_bench(b);
    ck_assert(is_answered(&b->one) && is_answered(&b->two) && is_answered(&b->three));
    ck_assert_uint_le(read_seen(&seen.in_patient), LOOKUP_THREADS_TCP);
    free_bench(b);
}
END_TEST

START_TEST(a_long_answer_counts)
{
    struct bench *b = bench_new(2, 20 * TICK_S);
    ask(b, &b->one, "cut", LOOKUP_BRIEF);
    ask(b, &b->two, "cut.too", LOOKUP_HUNG);
    run_bench(b);
    ck_assert(is_answered(&b->one) && is_answered(&b->two));
    ck_assert(b->one.grade == LOOKUP_BRIEF && b->two.grade == LOOKUP_BRIEF);
    ck_assert_uint_eq(read_seen(&seen.brief), 1);
    ck_assert_uint_eq(read_seen(&seen.patient), 3);
    free_bench(b);
}
END_TEST

/* No answer at all: one is told, and the next question is a patient one among its like. */
START_TEST(a_hanging_name_is_remembered)
{
    struct bench *b = bench_new(1, 20 * TICK_S);
    ask(b, &b->one, "hang", LOOKUP_PATIENT);
    const struct timespec pause = clock_spec(BRIEF);
    nanosleep(&pause, NULL);
    open_gate(true);
    run_bench(b);
    ck_assert_uint_eq(b->done, 1);
    ck_assert_str_eq(b->one.error, "no answer");
    ck_assert_int_eq(b->one.grade, LOOKUP_HUNG);
    ck_assert_uint_eq(read_seen(&seen.brief), 0);
    free_bench(b);
    b = bench_new(1, 20 * TICK_S); /* and one that is answered again is as any other */
    ask(b, &b->one, "quick", LOOKUP_HUNG);
    run_bench(b);
    ck_assert(is_answered(&b->one));
    ck_assert_int_eq(b->one.grade, LOOKUP_BRIEF);
    free_bench(b);
}
END_TEST

/* One question for all links of a host, of either case; each has its own port. */
START_TEST(one_question_for_a_host)
{
    struct bench *b = bench_new(CROWD + 1, 20 * TICK_S);
    for (unsigned i = 0; i < CROWD; i++) {
        ask(b, &b->crowd[i], i % 2 == 0 ? "late.example" : "Late.Example", LOOKUP_BRIEF);
        b->crowd[i].port = (uint16_t)(i + 1);
    }
    ask(b, &b->two, "late.example", LOOKUP_BRIEF);
    ask(b, &b->one, "quick", LOOKUP_BRIEF);
    uv_lookups_forget(b->lookups, &b->two);
    run_bench(b);
    ck_assert_uint_eq(b->done, CROWD + 1);
    ck_assert_uint_eq(read_seen(&seen.brief), 2);
    ck_assert_uint_eq(read_seen(&seen.patient), 1);
    ck_assert(b->two.own == NULL && b->two.len == 0);
    for (unsigned i = 0; i < CROWD; i++)
        ck_assert_uint_eq(address_port(&b->crowd[i].addresses[0]), i + 1);
    free_bench(b);
}
END_TEST

static const tick short_ends[LOOKUP_GRADES] = {[LOOKUP_BRIEF] = 3 * BRIEF,
                                               [LOOKUP_PATIENT] = TICK_S / 2,
                                               [LOOKUP_HUNG] = TICK_S / 2,
                                               [LOOKUP_TCP] = TICK_S / 2};

static void told_late(const struct lookup *l)
{
    ck_assert_ptr_nonnull(l->error);
    ck_assert_str_eq(l->error, "no answer in time");
    ck_assert(l->own == NULL && l->len == 0 && l->grade == LOOKUP_HUNG);
}

/* Connections that never end have all threads that there are for them: all who wait are told, and
 * another long answer has its turn. */
START_TEST(connections_that_never_end)
{
    struct bench *b = bench_new(LOOKUP_THREADS_TCP + 1, 20 * TICK_S);
    uv_lookups_ends(b->lookups, short_ends);
    for (unsigned i = 0; i < LOOKUP_THREADS_TCP; i++) {
        snprintf(b->names[i], sizeof b->names[i], "cuthang%u", i);
        ask(b, &b->crowd[i], b->names[i], LOOKUP_TCP);
    }
    ask(b, &b->one, "cut", LOOKUP_BRIEF);
    run_bench(b);
    ck_assert_uint_eq(b->done, LOOKUP_THREADS_TCP + 1);
    for (unsigned i = 0; i < LOOKUP_THREADS_TCP; i++)
        told_late(&b->crowd[i]);
    ck_assert(is_answered(&b->one));
    free_bench(b);
}
END_TEST

/* More of them than places: all are told, and threads have their limit. */
START_TEST(too_many_connections)
{
    struct bench *b = bench_new(CROWD, 60 * TICK_S);
    uv_lookups_ends(b->lookups, short_ends);
    ask_crowd(b, "cuthang", LOOKUP_TCP);
    run_bench(b);
    ck_assert_uint_eq(b->done, CROWD);
    for (unsigned i = 0; i < CROWD; i++)
        told_late(&b->crowd[i]);
    ck_assert_uint_le(read_seen(&seen.most_patient), LOOKUP_THREADS_TCP + LOOKUP_REPLACED_MAX);
    free_bench(b);
}
END_TEST

/* Sources of names that know no time: brief questions have all threads that there are for them. */
START_TEST(brief_ones_that_never_end)
{
    struct bench *b = bench_new(LOOKUP_THREADS_BRIEF + 1, 20 * TICK_S);
    uv_lookups_ends(b->lookups, short_ends);
    for (unsigned i = 0; i < LOOKUP_THREADS_BRIEF; i++) {
        snprintf(b->names[i], sizeof b->names[i], "stuck%u", i);
        ask(b, &b->crowd[i], b->names[i], LOOKUP_BRIEF);
    }
    ask(b, &b->one, "quick", LOOKUP_BRIEF);
    run_bench(b);
    ck_assert_uint_eq(b->done, LOOKUP_THREADS_BRIEF + 1);
    told_late(&b->crowd[0]);
    ck_assert(is_answered(&b->one));
    ck_assert_uint_le(read_seen(&seen.most_brief), LOOKUP_THREADS_BRIEF + LOOKUP_REPLACED_MAX);
    free_bench(b);
}
END_TEST

static void ask_once_more(struct lookup *l)
{
    struct bench *b = running;
    told_late(l);
    b->done++;
    if (b->done == 3) {
        open_gate(true);
        l->done = on_done;
    }
    const enum lookup_grade grade = l->grade;
    void (*done)(struct lookup * l) = l->done;
    ask(b, l, "stuck", grade);
    l->done = done;
}

/* Who asks again waits for the same question, and has its answer. */
START_TEST(asked_while_it_hangs)
{
    struct bench *b = bench_new(4, 20 * TICK_S);
    uv_lookups_ends(b->lookups, short_ends);
    ask(b, &b->one, "stuck", LOOKUP_PATIENT);
    b->one.done = ask_once_more;
    run_bench(b);
    ck_assert_uint_eq(b->done, 4);
    ck_assert_str_eq(b->one.error, "no answer");
    ck_assert_uint_eq(read_seen(&seen.patient), 1);
    free_bench(b);
}
END_TEST

static unsigned brief_then, patient_then; /* asked when the crowd was forgotten */

static void forget_crowd(void *context)
{
    struct bench *b = context;
    ck_assert_uint_eq(b->done, 0); /* the loop goes on beside them */
    for (unsigned i = 0; i < CROWD; i++)
        uv_lookups_forget(b->lookups, &b->crowd[i]);
    memset(b->crowd, 0xff, sizeof b->crowd); /* the memory is the user's again */
    brief_then = read_seen(&seen.brief);
    patient_then = read_seen(&seen.patient);
}

/* Whose links are gone is not asked for again. */
START_TEST(forgotten_while_it_hangs)
{
    struct alarm later;
    struct bench *b = bench_new(2, 3 * TICK_S);
    alarm_init(&later, b->world, ALARM_APP, forget_crowd, b);
    alarm_set(&later, clock_now() + BRIEF / 2);
    ask_crowd(b, "hang", LOOKUP_BRIEF);
    ask(b, &b->one, "quick", LOOKUP_BRIEF);
    run_bench(b);
    ck_assert(is_answered(&b->one) && b->done == 1);
    ck_assert_uint_le(read_seen(&seen.brief),
                      brief_then + LOOKUP_THREADS_BRIEF + 1); /* begun meanwhile */
    ck_assert_uint_lt(read_seen(&seen.brief), CROWD);
    if (patient_then == 0) /* else this machine was late */
        ck_assert_uint_eq(read_seen(&seen.patient), 0);
    free_bench(b);
}
END_TEST

static void close_on_done(struct lookup *l)
{
    (void)l;
    running->done++;
    end_bench(running);
}

/* Several of one host are told at once, and the first one ends it all. Threads whose questions end
 * only later do not keep the loop. */
START_TEST(ended_by_the_first_one)
{
    struct bench *b = bench_new(3, 20 * TICK_S);
    ask(b, &b->one, "quick", LOOKUP_BRIEF);
    ask(b, &b->two, "quick", LOOKUP_BRIEF);
    b->one.done = b->two.done = close_on_done;
    ask_crowd(b, "hang", LOOKUP_HUNG);
    run_bench(b);
    ck_assert_uint_eq(b->done, 1);
    free_bench(b);
}
END_TEST

SUITE(os_slow_lookup, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, beside_new_ones);
    tcase_add_test(t, beside_known_ones);
    tcase_add_test(t, beside_long_answers);
    tcase_add_test(t, a_late_answer_counts);
    tcase_add_test(t, a_long_answer_counts);
    tcase_add_test(t, a_hanging_name_is_remembered);
    tcase_add_test(t, one_question_for_a_host);
    tcase_add_test(t, forgotten_while_it_hangs);
    tcase_add_test(t, connections_that_never_end);
    tcase_add_test(t, too_many_connections);
    tcase_add_test(t, brief_ones_that_never_end);
    tcase_add_test(t, asked_while_it_hangs);
    tcase_add_test(t, ended_by_the_first_one);
}
