/* SPDX-License-Identifier: Apache-2.0 */
/* One thread makes requests. What can go wrong: the desk is closed while the thread waits; an
 * answer that was not taken is freed. */
#include "node/http/http_desk.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"

int http_desk_init(struct http_desk *d, void (*ring)(void *context), void *context)
{
    *d = (struct http_desk){.ring = ring, .context = context};
    atomic_init(&d->state, HTTP_DESK_FREE);
    atomic_init(&d->closed, false);
    return sem_init(&d->done, 0, 0) < 0 ? helio_from_errno(errno) : 0;
}

void http_desk_fini(struct http_desk *d)
{
    if (d->answer.owned)
        free((void *)(uintptr_t)d->answer.text);
    (void)sem_destroy(&d->done);
}

/* The thread waits, for the loop or for what the loop waits for. */
static bool is_asked(struct http_desk *d)
{
    const enum http_desk_state state = atomic_load(&d->state);
    return state == HTTP_DESK_ASKED || state == HTTP_DESK_MAKING;
}

bool http_desk_ask(struct http_desk *d, const struct http_question *q, struct http_answer *out)
{
    if (atomic_load(&d->closed))
        return false;
    assert(atomic_load(&d->state) == HTTP_DESK_FREE);
    d->question = q;
    atomic_store(&d->state, HTTP_DESK_ASKED);
    d->ring(d->context);
    while (is_asked(d) && !atomic_load(&d->closed))
        (void)sem_wait(&d->done); /* one of an earlier answer, or a signal: it is looked again */
    if (atomic_load(&d->state) != HTTP_DESK_ANSWERED)
        return false;
    *out = d->answer;
    d->answer = (struct http_answer){0};
    atomic_store(&d->state, HTTP_DESK_FREE);
    return true;
}

void http_desk_serve(struct http_desk *d, http_maker *make, void *context)
{
    if (atomic_load(&d->closed) || atomic_load(&d->state) != HTTP_DESK_ASKED)
        return;
    /* before `make`, which may have the answer of a later moment at once */
    atomic_store(&d->state, HTTP_DESK_MAKING);
    const struct http_answer a = make(context, d->question);
    if (a.status != HTTP_LATER)
        http_desk_answer(d, &a);
}

void http_desk_answer(struct http_desk *d, const struct http_answer *a)
{
    if (atomic_load(&d->closed)) { /* nobody waits for it */
        if (a->owned)
            free((void *)(uintptr_t)a->text);
        return;
    }
    assert(atomic_load(&d->state) == HTTP_DESK_MAKING);
    d->answer = *a;
    atomic_store(&d->state, HTTP_DESK_ANSWERED);
    (void)sem_post(&d->done);
}

void http_desk_close(struct http_desk *d)
{
    atomic_store(&d->closed, true);
    (void)sem_post(&d->done);
}
