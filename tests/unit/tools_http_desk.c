/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server's thread asks the loop for texts, or the loop ends. */
#include <pthread.h>

#include "node/http/http_desk.h"
#include "tests/unit/suite.h"

struct scene {
    struct http_desk desk;
    sem_t rung;
    bool answered;
    struct http_answer answer;
};

static void ring(void *context)
{
    struct scene *s = context;
    sem_post(&s->rung);
}

static struct http_answer make_nothing(void *context, const struct http_question *q)
{
    (void)context;
    (void)q;
    return http_nothing();
}

/* The answer follows. */
static struct http_answer make_later(void *context, const struct http_question *q)
{
    size_t *asked = context;
    (*asked)++;
    ck_assert_str_eq(q->about, "what");
    return (struct http_answer){.status = HTTP_LATER};
}

/* What the loop waits for is there at once. */
static struct http_answer make_at_once(void *context, const struct http_question *q)
{
    struct scene *s = context;
    const struct http_answer a = http_nothing();
    (void)q;
    http_desk_answer(&s->desk, &a);
    return (struct http_answer){.status = HTTP_LATER};
}

static void *ask(void *context)
{
    struct scene *s = context;
    const struct http_question q = {.kind = HTTP_NOTHING, .about = "what", .from = ""};
    s->answered = http_desk_ask(&s->desk, &q, &s->answer);
    return NULL;
}

static void begin(struct scene *s, pthread_t *thread)
{
    *s = (struct scene){.answered = false};
    ck_assert_int_eq(sem_init(&s->rung, 0, 0), 0);
    ck_assert_int_eq(http_desk_init(&s->desk, ring, s), 0);
    http_desk_serve(&s->desk, make_nothing, NULL); /* nobody asks */
    ck_assert_int_eq(pthread_create(thread, NULL, ask, s), 0);
    sem_wait(&s->rung);
}

START_TEST(answered)
{
    struct scene s;
    pthread_t thread;
    begin(&s, &thread);
    http_desk_serve(&s.desk, make_nothing, NULL);
    pthread_join(thread, NULL);
    ck_assert(s.answered);
    ck_assert_uint_eq(s.answer.status, 404);
    http_desk_close(&s.desk);
    http_desk_fini(&s.desk);
}
END_TEST

/* The loop ends while the thread waits, and before it asks. */
START_TEST(closed)
{
    struct scene s;
    pthread_t thread;
    begin(&s, &thread);
    http_desk_close(&s.desk);
    http_desk_serve(&s.desk, make_nothing, NULL);
    pthread_join(thread, NULL);
    ck_assert(!s.answered);
    ask(&s);
    ck_assert(!s.answered);
    http_desk_fini(&s.desk);
}
END_TEST

START_TEST(answered_later)
{
    struct scene s;
    pthread_t thread;
    size_t asked = 0;
    const struct http_answer a = http_nothing();
    begin(&s, &thread);
    http_desk_serve(&s.desk, make_later, &asked);
    http_desk_serve(&s.desk, make_later, &asked); /* it is being made */
    ck_assert_uint_eq(asked, 1);
    http_desk_answer(&s.desk, &a);
    pthread_join(thread, NULL);
    ck_assert(s.answered);
    ck_assert_uint_eq(s.answer.status, 404);
    http_desk_close(&s.desk);
    http_desk_fini(&s.desk);
}
END_TEST

START_TEST(answered_at_once)
{
    struct scene s;
    pthread_t thread;
    begin(&s, &thread);
    http_desk_serve(&s.desk, make_at_once, &s);
    pthread_join(thread, NULL);
    ck_assert(s.answered);
    http_desk_close(&s.desk);
    http_desk_fini(&s.desk);
}
END_TEST

/* The program ends before the answer is there; that is freed. */
START_TEST(closed_before_later)
{
    struct scene s;
    pthread_t thread;
    size_t asked = 0;
    const struct http_answer a = {200, "text/plain", malloc(8), 8, true};
    begin(&s, &thread);
    http_desk_serve(&s.desk, make_later, &asked);
    http_desk_close(&s.desk);
    pthread_join(thread, NULL);
    ck_assert(!s.answered);
    http_desk_answer(&s.desk, &a);
    http_desk_fini(&s.desk);
}
END_TEST

SUITE(tools_http_desk, t)
{
    tcase_add_test(t, answered_later);
    tcase_add_test(t, answered_at_once);
    tcase_add_test(t, closed_before_later);
    tcase_add_test(t, answered);
    tcase_add_test(t, closed);
}
