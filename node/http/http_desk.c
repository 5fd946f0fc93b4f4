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

bool http_desk_ask(struct http_desk *d, enum http_kind kind, const char *link,
                   struct http_answer *out)
{
    if (atomic_load(&d->closed))
        return false;
    assert(atomic_load(&d->state) == HTTP_DESK_FREE);
    d->kind = kind;
    d->link = link;
    atomic_store(&d->state, HTTP_DESK_ASKED);
    d->ring(d->context);
    while (atomic_load(&d->state) == HTTP_DESK_ASKED && !atomic_load(&d->closed))
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
    d->answer = make(context, d->kind, d->link);
    atomic_store(&d->state, HTTP_DESK_ANSWERED);
    (void)sem_post(&d->done);
}

void http_desk_close(struct http_desk *d)
{
    atomic_store(&d->closed, true);
    (void)sem_post(&d->done);
}
