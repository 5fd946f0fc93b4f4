/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Up to THREADS_MAX threads, which are started when there is a question and end when there is none.
 * They are detached: getaddrinfo cannot be interrupted and may take half a minute, for which the
 * end of the program does not wait. libuv's own threads are joined at the end of the process, and
 * those of os/work_pool.h are needed for signatures: neither may wait for a name server. What can
 * go wrong: memory, threads and descriptors are out; the resolver has no answer.
 */
#include "os/uv_lookup.h"

#include <assert.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/priority.h"
#include "os/thread.h"
#include "os/uv_bell.h"

#define THREADS_MAX 4u

/* A question, from the call to its answer. */
struct query {
    struct list node;
    struct lookup *user; /* the loop's thread alone reads it; NULL: forgotten */
    char host[HOST_NAME_MAX_LEN + 2];
    int family;
    struct lookup answer; /* addresses, len and error of it */
    uint16_t port;
    bool asked; /* a thread has it, or had it */
};

struct uv_lookups {
    pthread_mutex_t lock;
    struct list queue; /* struct query.node */
    struct list over;  /* likewise: answered */
    unsigned threads;  /* that run */
    struct uv_bell *bell;
    bool closed;  /* the last one out frees it: a thread, who tells answers, or who closes */
    bool telling; /* a user may close it meanwhile */
};

static void free_queries(struct list *list)
{
    for (struct list *l; (l = list_first(list)) != NULL;) {
        list_sub(l);
        free(container_of(l, struct query, node));
    }
}

static void free_lookups(struct uv_lookups *u)
{
    assert(u->closed && u->threads == 0);
    free_queries(&u->queue);
    free_queries(&u->over);
    pthread_mutex_destroy(&u->lock);
    free(u);
}

/* Locked. Is nobody left who would use it? */
static bool is_left(const struct uv_lookups *u)
{
    return u->closed && u->threads == 0 && !u->telling;
}

/* ---- the threads ---- */

/* In a thread, without the lock. */
static void ask_resolver(struct query *q)
{
    struct addrinfo hints = {.ai_family = q->family, .ai_socktype = SOCK_STREAM}, *found;
    struct lookup *l = &q->answer;
    int rc = getaddrinfo(q->host, NULL, &hints, &found);
    if (rc != 0) {
        l->error = gai_strerror(rc);
        return;
    }
    for (const struct addrinfo *i = found; i != NULL; i = i->ai_next) {
        struct address a;
        if (address_from(slice_of(i->ai_addr, i->ai_addrlen), &a) != 0)
            continue;
        address_set_port(&a, q->port);
        lookup_add(l, &a);
    }
    freeaddrinfo(found);
    l->error = l->len > 0 ? NULL : gai_strerror(EAI_NONAME);
}

static void *answer_queries(void *context)
{
    struct uv_lookups *u = context;
    priority_lower();
    pthread_mutex_lock(&u->lock);
    while (!u->closed && !list_empty(&u->queue)) {
        struct query *q = container_of(list_first(&u->queue), struct query, node);
        list_sub(&q->node);
        q->asked = true;
        pthread_mutex_unlock(&u->lock);
        ask_resolver(q);
        pthread_mutex_lock(&u->lock);
        list_add_tail(&u->over, &q->node);
        if (!u->closed)
            uv_bell_ring(u->bell);
    }
    u->threads--;
    const bool left = is_left(u);
    pthread_mutex_unlock(&u->lock);
    if (left)
        free_lookups(u);
    return NULL;
}

/* ---- the loop ---- */

static struct query *next_answered(struct uv_lookups *u)
{
    pthread_mutex_lock(&u->lock);
    struct list *l = u->closed ? NULL : list_first(&u->over);
    if (l != NULL)
        list_sub(l);
    pthread_mutex_unlock(&u->lock);
    return l == NULL ? NULL : container_of(l, struct query, node);
}

static void tell_user(const struct query *q)
{
    struct lookup *user = q->user;
    if (user == NULL)
        return;
    assert(user->own == q);
    user->own = NULL;
    user->error = q->answer.error;
    user->len = q->answer.len;
    memcpy(user->addresses, q->answer.addresses, sizeof user->addresses);
    user->done(user);
}

static void on_bell(void *context)
{
    struct uv_lookups *u = context;
    pthread_mutex_lock(&u->lock);
    u->telling = true;
    pthread_mutex_unlock(&u->lock);
    for (struct query *q; (q = next_answered(u)) != NULL;) {
        tell_user(q);
        free(q);
    }
    pthread_mutex_lock(&u->lock);
    u->telling = false;
    const bool left = is_left(u); /* the last one that was told closed it */
    pthread_mutex_unlock(&u->lock);
    if (left)
        free_lookups(u);
}

int uv_lookups_open(struct uv_lookups **out, struct uv_loop_s *loop)
{
    struct uv_lookups *u = calloc(1, sizeof *u);
    int r = u == NULL ? HELIO_ENOMEM : uv_bell_open(&u->bell, loop, on_bell, u);
    if (r != 0) {
        free(u);
        return r;
    }
    list_init(&u->queue);
    list_init(&u->over);
    pthread_mutex_init(&u->lock, NULL);
    *out = u;
    return 0;
}

void uv_lookups_close(struct uv_lookups *u)
{
    if (u == NULL)
        return;
    pthread_mutex_lock(&u->lock);
    u->closed = true;
    uv_bell_close(u->bell); /* nobody rings a closed one: that is done with the lock */
    const bool left = is_left(u);
    pthread_mutex_unlock(&u->lock);
    if (left)
        free_lookups(u);
}

/* Locked. There are as many as there are questions, up to the limit. 0, or HELIO_E* when there is
 * none at all. */
static int start_thread(struct uv_lookups *u)
{
    pthread_t thread;
    if (u->threads >= THREADS_MAX)
        return 0;
    const int r = thread_start(&thread, answer_queries, u);
    if (r != 0)
        return u->threads > 0 ? 0 : r;
    pthread_detach(thread);
    u->threads++;
    return 0;
}

int uv_lookups_begin(struct uv_lookups *u, struct lookup *l)
{
    assert(l->done != NULL && l->own == NULL && host_name_is_valid(l->host));
    struct query *q = calloc(1, sizeof *q);
    if (q == NULL)
        return HELIO_ENOMEM;
    snprintf(q->host, sizeof q->host, "%s", l->host);
    q->family = l->family;
    q->port = l->port;
    q->user = l;
    pthread_mutex_lock(&u->lock);
    list_add_tail(&u->queue, &q->node);
    const int r = start_thread(u);
    if (r != 0)
        list_sub(&q->node);
    pthread_mutex_unlock(&u->lock);
    if (r != 0) {
        free(q);
        return r;
    }
    l->own = q;
    return 0;
}

void uv_lookups_forget(struct uv_lookups *u, struct lookup *l)
{
    struct query *q = l->own;
    assert(q != NULL && q->user == l);
    q->user = NULL;
    l->own = NULL;
    pthread_mutex_lock(&u->lock);
    const bool waits = !q->asked;
    if (waits)
        list_sub(&q->node);
    pthread_mutex_unlock(&u->lock);
    if (waits)
        free(q); /* nobody asks for it any more */
}
