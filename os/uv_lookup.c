/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of each grade are started when it has a question, up to a limit, and end when it has
 * none. They are detached: getaddrinfo cannot be interrupted and may take half a minute, for which
 * the end of the program does not wait. libuv's threads are joined at the end of the process, and
 * those of os/work_pool.h are needed for signatures: neither may wait for a name server.
 *
 * What can go wrong: no memory, threads or descriptors; no answer. A question may also take longer
 * than its grade's time, or never end: glibc waits for TCP without a timeout, and other sources
 * than DNS have none. Then its users get "no answer in time", and a new thread replaces the hanging
 * one; the number of such replacements is limited. A new request for that host waits for the same
 * question; after LOOKUP_ANEW_S a second question may be started.
 */
#include "os/uv_lookup.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/hash.h"
#include "os/clock.h"
#include "os/process/priority.h"
#include "os/process/thread.h"
#include "os/uv_bell.h"

/* A failure that took so long is no answer of a server. Less than LOOKUP_BRIEF_S by what a timer
 * may be early. */
#define LATE (LOOKUP_BRIEF_S * TICK_S - 100 * TICK_MS)
/* A brief question with an answer is brief again, also when the first server never answers and the
 * second one does. */
#define LATE_ANSWER (3 * LOOKUP_BRIEF_S * TICK_S)

static const unsigned threads_max[LOOKUP_GRADES] = {
    [LOOKUP_BRIEF] = LOOKUP_THREADS_BRIEF,
    [LOOKUP_PATIENT] = LOOKUP_THREADS_PATIENT,
    [LOOKUP_HUNG] = LOOKUP_THREADS_HUNG,
    [LOOKUP_TCP] = LOOKUP_THREADS_TCP,
};

/* A question counts as hanging after these times. DNS with three servers takes less, except with a
 * search list of several domains. */
static const tick ends[LOOKUP_GRADES] = {
    [LOOKUP_BRIEF] = LOOKUP_END_BRIEF_S * TICK_S,
    [LOOKUP_PATIENT] = LOOKUP_END_PATIENT_S * TICK_S,
    [LOOKUP_HUNG] = LOOKUP_END_PATIENT_S * TICK_S,
    [LOOKUP_TCP] = LOOKUP_END_TCP_S * TICK_S,
};

/* A question about a host, from the first call to its answer. */
struct query {
    struct list node;       /* in its grade's queue, or in `over` */
    struct hash_node index; /* of its host, in uv_lookups.queries */
    struct list users;      /* struct lookup.node; the loop's thread alone has them and index */
    struct lookup answer;   /* host, family; addresses, len and error of it */
    char host[HOST_NAME_MAX_LEN + 2]; /* in lower case */
    enum lookup_grade grade;
    bool asked;    /* a thread has it, or had it */
    bool running;  /* it has it */
    bool replaced; /* it hangs, and another thread has replaced its thread */
    /* when it began to run or (TCP) to wait; or when its users were notified that it hangs */
    tick since;
    bool overdue; /* they were; the loop's, as are: */
    tick anew_at; /* then: when there may be a new question about the host */
    bool orphan;  /* there was: it is not in the index */
    bool cut;     /* its answer may be */
    tick took;
};

struct grade {
    struct uv_lookups *of;
    struct list queue; /* struct query.node */
    unsigned threads;  /* that run */
    unsigned replaced; /* of these, hanging ones that were replaced */
};

struct uv_lookups {
    pthread_mutex_t lock;
    struct grade grades[LOOKUP_GRADES];
    struct list over;    /* struct query.node: answered */
    struct hash queries; /* all; the loop's */
    bool (*resolve)(struct lookup *l, enum lookup_grade grade);
    struct uv_bell *bell;
    uv_timer_t *watch; /* while there are queries */
    uint64_t watch_ms;
    tick ends[LOOKUP_GRADES];
    unsigned replaced; /* of all grades */
    /* the last user frees it: a thread, the function that reports answers, or uv_lookups_close */
    bool closed;
    bool telling; /* a user may close it meanwhile */
};

static void free_queries(struct list *list)
{
    for (struct list *l; (l = list_first(list)) != NULL;) {
        list_sub(l);
        free(container_of(l, struct query, node));
    }
}

static bool has_threads(const struct uv_lookups *u)
{
    for (size_t i = 0; i < LOOKUP_GRADES; i++)
        if (u->grades[i].threads > 0)
            return true;
    return false;
}

static void free_lookups(struct uv_lookups *u)
{
    assert(u->closed && !has_threads(u));
    for (size_t i = 0; i < LOOKUP_GRADES; i++)
        free_queries(&u->grades[i].queue);
    free_queries(&u->over);
    hash_fini(&u->queries);
    pthread_mutex_destroy(&u->lock);
    free(u);
}

/* Locked. Does nothing use it any more? */
static bool is_left(const struct uv_lookups *u)
{
    return u->closed && !u->telling && !has_threads(u);
}

/* ---- the threads ---- */

/* In a thread, without the lock. */
static void ask_resolver(struct uv_lookups *u, struct query *q, enum lookup_grade grade)
{
    const tick began = clock_now();
    q->cut = u->resolve(&q->answer, grade);
    q->took = clock_now() - began;
}

/* Locked. May so many threads of the grade run? */
static unsigned threads_allowed(const struct grade *g)
{
    return threads_max[g - g->of->grades] + g->replaced;
}

/* Locked. */
static void end_question(struct grade *g, struct query *q)
{
    q->running = false;
    if (q->replaced) {
        assert(g->replaced > 0 && g->of->replaced > 0);
        q->replaced = false;
        g->replaced--;
        g->of->replaced--;
    }
    list_add_tail(&g->of->over, &q->node);
    if (!g->of->closed)
        uv_bell_ring(g->of->bell);
}

static void *answer_queries(void *context)
{
    struct grade *g = context;
    struct uv_lookups *u = g->of;
    priority_lower();
    pthread_mutex_lock(&u->lock);
    while (!u->closed && !list_empty(&g->queue) && g->threads <= threads_allowed(g)) {
        struct query *q = container_of(list_first(&g->queue), struct query, node);
        list_sub(&q->node);
        q->asked = q->running = true;
        q->since = clock_now();
        pthread_mutex_unlock(&u->lock);
        ask_resolver(u, q, (enum lookup_grade)(g - u->grades));
        pthread_mutex_lock(&u->lock);
        end_question(g, q);
    }
    assert(g->threads > 0);
    g->threads--;
    const bool left = is_left(u);
    pthread_mutex_unlock(&u->lock);
    if (left)
        free_lookups(u);
    return NULL;
}

/* Locked. There are as many as there are questions, up to the limit. 0, or HELIO_E* when there is
 * none at all. */
static int start_thread(struct grade *g)
{
    pthread_t thread;
    if (g->threads >= threads_allowed(g))
        return 0;
    const int r = thread_start(&thread, answer_queries, g);
    if (r != 0)
        return g->threads > 0 ? 0 : r;
    pthread_detach(thread);
    g->threads++;
    return 0;
}

/* 0, or HELIO_E*: it is in no queue. */
static int queue_query(struct uv_lookups *u, struct query *q, enum lookup_grade grade)
{
    struct grade *g = &u->grades[grade];
    q->grade = grade;
    q->overdue = false;
    pthread_mutex_lock(&u->lock);
    q->asked = false;
    q->since = clock_now();
    list_add_tail(&g->queue, &q->node);
    const int r = start_thread(g);
    if (r != 0)
        list_sub(&q->node);
    pthread_mutex_unlock(&u->lock);
    return r;
}

/* ---- answers, in the loop ---- */

static struct query *next_answered(struct uv_lookups *u)
{
    pthread_mutex_lock(&u->lock);
    struct list *l = u->closed ? NULL : list_first(&u->over);
    if (l != NULL)
        list_sub(l);
    pthread_mutex_unlock(&u->lock);
    return l == NULL ? NULL : container_of(l, struct query, node);
}

/* That of the next question about this host. */
static enum lookup_grade next_grade(const struct query *q)
{
    const bool answered = q->answer.error == NULL, brief = q->grade == LOOKUP_BRIEF;
    if (q->grade == LOOKUP_TCP || q->took < (answered && brief ? LATE_ANSWER : LATE))
        return LOOKUP_BRIEF;
    return answered || brief ? LOOKUP_PATIENT : LOOKUP_HUNG;
}

/* A brief question that hung may have its answer in the system's time; one that was cut, by TCP. */
static bool ask_again(struct uv_lookups *u, struct query *q)
{
    const bool cut = q->cut && q->grade != LOOKUP_TCP;
    const bool late = q->grade == LOOKUP_BRIEF && q->took >= LATE;
    if (q->answer.error == NULL || list_empty(&q->users) || (!cut && !late))
        return false;
    return queue_query(u, q, cut ? LOOKUP_TCP : LOOKUP_PATIENT) == 0;
}

static void tell_user(struct lookup *user, const struct query *q)
{
    assert(user->own == q);
    list_sub(&user->node);
    user->own = NULL;
    user->grade = next_grade(q);
    user->error = q->answer.error;
    user->len = q->answer.len;
    memcpy(user->addresses, q->answer.addresses, sizeof user->addresses);
    for (size_t i = 0; i < user->len; i++)
        address_set_port(&user->addresses[i], user->port);
    user->done(user);
}

/* Its users may begin anew, forget others or close all of it. */
static void tell_answer(struct uv_lookups *u, struct query *q)
{
    if (!q->orphan)
        hash_sub(&u->queries, &q->index);
    while (!u->closed && !list_empty(&q->users))
        tell_user(container_of(list_first(&q->users), struct lookup, node), q);
    free(q);
}

static void begin_telling(struct uv_lookups *u)
{
    pthread_mutex_lock(&u->lock);
    u->telling = true;
    pthread_mutex_unlock(&u->lock);
}

static void end_telling(struct uv_lookups *u)
{
    pthread_mutex_lock(&u->lock);
    u->telling = false;
    const bool left = is_left(u); /* the latest reported user has closed it */
    pthread_mutex_unlock(&u->lock);
    if (left)
        free_lookups(u);
}

static void on_bell(void *context)
{
    struct uv_lookups *u = context;
    begin_telling(u);
    for (struct query *q; (q = next_answered(u)) != NULL;)
        if (!ask_again(u, q))
            tell_answer(u, q);
    end_telling(u);
}

/* ---- questions that hang ---- */

/* Locked. Replaces the thread of a hanging question. */
static void replace_thread(struct uv_lookups *u, struct query *q)
{
    struct grade *g = &u->grades[q->grade];
    if (q->replaced || u->replaced >= LOOKUP_REPLACED_MAX)
        return;
    q->replaced = true;
    g->replaced++;
    u->replaced++;
    if (!list_empty(&g->queue))
        (void)start_thread(g); /* without memory for it the others go on */
}

/* Has its time passed? A question that waits for a connection of its own has none to wait for when
 * all of these hang: it is in no queue any more. */
static bool is_overdue(struct uv_lookups *u, struct query *q, tick now)
{
    pthread_mutex_lock(&u->lock);
    const bool waits = !q->asked && q->grade == LOOKUP_TCP;
    const tick end = u->ends[q->grade] * (waits ? 2 : 1); /* what it waits for has its time first */
    const bool due = (q->running || waits) && now >= tick_add(q->since, end);
    if (due && waits) {
        list_sub(&q->node);
        q->asked = true;
    } else if (due) {
        replace_thread(u, q);
    }
    if (due)
        q->since = now;
    const bool running = q->running;
    pthread_mutex_unlock(&u->lock);
    if (due && !q->overdue)
        q->anew_at = tick_add(now, LOOKUP_ANEW_S * TICK_S);
    q->overdue = q->overdue || due;
    if (due && !running) {
        hash_sub(&u->queries, &q->index);
        q->orphan = true;
    }
    return due;
}

static struct query *next_overdue(struct uv_lookups *u, tick now)
{
    for (struct hash_node *n = hash_walk(&u->queries, NULL); n != NULL;) {
        struct query *q = container_of(n, struct query, index);
        n = hash_walk(&u->queries, n);
        if (is_overdue(u, q, now))
            return q;
    }
    return NULL;
}

/* Its users; they may ask for the host again at once, and wait for the same question. */
static void tell_overdue(const struct uv_lookups *u, struct query *q)
{
    struct list users;
    list_init(&users);
    for (struct list *l; (l = list_first(&q->users)) != NULL;) {
        list_sub(l);
        list_add_tail(&users, l);
    }
    for (struct list *l; !u->closed && (l = list_first(&users)) != NULL;) {
        struct lookup *user = container_of(l, struct lookup, node);
        list_sub(l);
        user->own = NULL;
        user->grade = LOOKUP_HUNG;
        user->error = "no answer in time";
        user->len = 0;
        user->done(user);
    }
}

static void on_watch(uv_timer_t *watch)
{
    struct uv_lookups *u = watch->data;
    const tick now = clock_now();
    begin_telling(u);
    for (struct query *q; !u->closed && (q = next_overdue(u, now)) != NULL;) {
        const bool waited = q->orphan;
        tell_overdue(u, q);
        if (waited)
            free(q);
    }
    if (!u->closed && u->queries.len == 0)
        uv_timer_stop(watch);
    end_telling(u);
}

static void free_watch(uv_handle_t *watch)
{
    free(watch);
}

static int open_watch(struct uv_lookups *u, struct uv_loop_s *loop)
{
    u->watch = malloc(sizeof *u->watch);
    if (u->watch == NULL)
        return HELIO_ENOMEM;
    (void)uv_timer_init(loop, u->watch); /* it cannot fail */
    uv_unref((uv_handle_t *)u->watch);
    u->watch->data = u;
    return 0;
}

static void start_watch(struct uv_lookups *u)
{
    if (!uv_is_active((uv_handle_t *)u->watch))
        (void)uv_timer_start(u->watch, on_watch, u->watch_ms, u->watch_ms);
}

void uv_lookups_ends(struct uv_lookups *u, const tick times[LOOKUP_GRADES])
{
    tick least = TICK_S;
    memcpy(u->ends, times, sizeof u->ends);
    for (size_t i = 0; i < LOOKUP_GRADES; i++)
        least = tick_min(least, times[i] / 2);
    u->watch_ms = least / TICK_MS > 0 ? least / TICK_MS : 1;
}

/* ---- the calls ---- */

int uv_lookups_open(struct uv_lookups **out, struct uv_loop_s *loop,
                    bool (*resolve)(struct lookup *l, enum lookup_grade grade))
{
    struct uv_lookups *u = calloc(1, sizeof *u);
    int r = u == NULL ? HELIO_ENOMEM : hash_init(&u->queries, 0);
    if (r == 0) {
        r = uv_bell_open(&u->bell, loop, on_bell, u);
        if (r == 0 && (r = open_watch(u, loop)) != 0)
            uv_bell_close(u->bell);
        if (r != 0)
            hash_fini(&u->queries);
    }
    if (r != 0) {
        free(u);
        return r;
    }
    u->resolve = resolve;
    uv_lookups_ends(u, ends);
    for (size_t i = 0; i < LOOKUP_GRADES; i++) {
        u->grades[i].of = u;
        list_init(&u->grades[i].queue);
    }
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
    uv_close((uv_handle_t *)u->watch, free_watch);
    uv_bell_close(u->bell); /* the lock ensures that a closed bell is never rung */
    const bool left = is_left(u);
    pthread_mutex_unlock(&u->lock);
    if (left)
        free_lookups(u);
}

/* RFC 4343: names differ in nothing but case. */
static uint64_t lower_name(char *out, const char *host)
{
    size_t len = 0;
    for (; host[len] != '\0'; len++)
        out[len] = (char)(host[len] >= 'A' && host[len] <= 'Z' ? host[len] - 'A' + 'a' : host[len]);
    assert(len <= HOST_NAME_MAX_LEN + 1);
    out[len] = '\0';
    return hash_bytes(0, out, len);
}

/* The running question about its host; NULL: none. */
static struct query *find_query(const struct uv_lookups *u, const struct lookup *l)
{
    char host[HOST_NAME_MAX_LEN + 2];
    const uint64_t hash = lower_name(host, l->host);
    for (struct hash_node *n = hash_find(&u->queries, hash); n != NULL; n = hash_next(n)) {
        struct query *q = container_of(n, struct query, index);
        if (q->answer.family == l->family && strcmp(q->host, host) == 0)
            return q;
    }
    return NULL;
}

static int begin_query(struct uv_lookups *u, const struct lookup *l, struct query **out)
{
    assert(l->grade < LOOKUP_GRADES);
    struct query *q = calloc(1, sizeof *q);
    if (q == NULL)
        return HELIO_ENOMEM;
    const uint64_t hash = lower_name(q->host, l->host);
    q->answer = (struct lookup){.host = q->host, .family = l->family};
    list_init(&q->users);
    hash_add(&u->queries, &q->index, hash);
    const int r = queue_query(u, q, l->grade);
    if (r != 0) {
        hash_sub(&u->queries, &q->index);
        free(q);
        return r;
    }
    start_watch(u);
    *out = q;
    return 0;
}

/* A question hangs for long and has no users: is a new one worth a thread? Half of the replacements
 * are kept for hosts without a hanging question. */
static bool is_hopeless(struct uv_lookups *u, const struct query *q)
{
    pthread_mutex_lock(&u->lock);
    const bool spare = u->replaced < LOOKUP_REPLACED_MAX / 2;
    pthread_mutex_unlock(&u->lock);
    return q->overdue && spare && list_empty(&q->users) && clock_now() >= q->anew_at;
}

int uv_lookups_begin(struct uv_lookups *u, struct lookup *l)
{
    assert(l->done != NULL && l->own == NULL && host_name_is_valid(l->host));
    struct query *q = find_query(u, l);
    if (q != NULL && is_hopeless(u, q)) {
        hash_sub(&u->queries, &q->index);
        q->orphan = true; /* its answer frees it */
        q = NULL;
    }
    const int r = q == NULL ? begin_query(u, l, &q) : 0;
    if (r != 0)
        return r;
    list_add_tail(&q->users, &l->node);
    l->own = q;
    return 0;
}

void uv_lookups_forget(struct uv_lookups *u, struct lookup *l)
{
    struct query *q = l->own;
    assert(q != NULL);
    list_sub(&l->node);
    l->own = NULL;
    if (!list_empty(&q->users))
        return;
    pthread_mutex_lock(&u->lock);
    const bool waits = !q->asked;
    if (waits)
        list_sub(&q->node);
    pthread_mutex_unlock(&u->lock);
    if (!waits)
        return; /* its answer frees it */
    hash_sub(&u->queries, &q->index);
    free(q);
}
