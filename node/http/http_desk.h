/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes requests from the HTTP server's thread to the program's loop. The thread requests a text
 * and waits; the loop makes it from its present state. Texts of one kind take at most a fiftieth of
 * the loop's time: an earlier request gets the last text again (base/pace.h).
 */
#ifndef NODE_HTTP_DESK_H
#define NODE_HTTP_DESK_H

#include <semaphore.h>
#include <stdatomic.h>

#include "base/pace.h"
#include "node/http/http_answer.h"

#define HTTP_PACE_SHARE 50              /* one part of so many, of the loop's time */
#define HTTP_PACE_LEAST (200 * TICK_US) /* that a text takes, with its hand-over */

/*
 * FREE ──ask()──► ASKED ──serve()──► ANSWERED ──ask() returns──► FREE
 *                   │                   ▲
 *                   └─ serve(), whose answer comes later ─► MAKING ─ answer() ─┘
 */
enum http_desk_state { HTTP_DESK_FREE, HTTP_DESK_ASKED, HTTP_DESK_MAKING, HTTP_DESK_ANSWERED };

/* Without a lock: the loop never waits for a thread of low priority. */
struct http_desk {
    _Atomic enum http_desk_state state;
    atomic_bool closed;
    sem_t done;
    const struct http_question *question; /* the thread's while it waits */
    struct http_answer answer;
    void (*ring)(void *context);
    void *context;
};

/* ring: wakes the loop, from the thread. 0, or HELIO_E*. */
int http_desk_init(struct http_desk *d, void (*ring)(void *context), void *context);
/* The thread has ended. */
void http_desk_fini(struct http_desk *d);

/* In the thread: waits for the loop's answer, which is the caller's. False: the desk
 * is closed. */
bool http_desk_ask(struct http_desk *d, const struct http_question *q, struct http_answer *out);
/* In the loop: answers waiting requests. */
void http_desk_serve(struct http_desk *d, http_maker *make, void *context);
/* In the loop: the answer to the question that was to be answered later. Takes it. */
void http_desk_answer(struct http_desk *d, const struct http_answer *a);
/* In the loop: requests that wait, or come later, get nothing. */
void http_desk_close(struct http_desk *d);

#endif
