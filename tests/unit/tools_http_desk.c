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

static struct http_answer make_nothing(void *context, enum http_kind kind, const char *link)
{
    (void)context;
    (void)kind;
    (void)link;
    return http_nothing();
}

static void *ask(void *context)
{
    struct scene *s = context;
    s->answered = http_desk_ask(&s->desk, HTTP_NOTHING, NULL, &s->answer);
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

SUITE(tools_http_desk, t)
{
    tcase_add_test(t, answered);
    tcase_add_test(t, closed);
}
