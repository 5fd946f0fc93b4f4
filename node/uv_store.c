/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The storage thread. The loop collects jobs and passes them in one step. The thread executes them
 * as one transaction, so that they share the medium's flush, and passes them back. Results are
 * reported in pieces of ANSWERS_MAX, between which the loop serves everything else: each result
 * causes work (a bundle is forwarded, an application is read), and links wait. Of many removals
 * (bundles that end together) a transaction has only some, so that no put waits for all of them.
 *
 * The store has the written pages of a transaction in memory. So it has puts of PUTS_MOST bytes at
 * most. A longer bundle is alone in its transaction, and its first bytes are stored before it
 * (put_ahead). Bundles are read before the transaction, and GETS_MOST bytes of them at most, so
 * that reading and writing wait for each other only so long.
 *
 * What can go wrong: a put without room fails alone; if other puts of its transaction used the
 * room, or pending removals will free some, it is tried again. A commit that fails (the medium is
 * full) undoes everything, so each job is tried again in a separate transaction: those that fit
 * succeed. A removal that fails is kept and tried with the next batch, because the agent does not
 * repeat it. A bundle with damaged bytes is set aside and not tried again. Marks arrive as fast as
 * bundles: when there are more old ones than a call removes, each round removes some.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "node/node_batch.h"
#include "node/storage.h"
#include "os/process/store_lock.h"
#include "os/process/thread.h"
#include "os/uv_bell.h"
#include "store/store_record.h"

#define ANSWERS_MAX 32           /* results reported in one round of the loop … */
#define ANSWER_BYTES (512 << 10) /* … each with so many loaded bytes; longer ones count as more */
#define PUT_BESIDE 1024          /* bytes that a put takes beside the bundle's, about … */
#define PUT_BESIDE_LONG 4096     /* … and beside one with pages of its own */
#define GETS_MOST (16 << 20)     /* bytes that are read before the next transaction */
#define LOOK_LEAST (256U << 10)  /* between two looks at the medium */

struct storage {
    struct store *store;
    int lock; /* descriptor, or -1 */
    struct storage_events events;
    uv_thread_t thread;
    struct uv_bell *bell; /* the thread has done something */
    bool running;
    struct jobs collected; /* the loop's: to be passed to the thread, */
    struct jobs finished;  /* … and finished, but not reported yet */
    struct jobs retry;     /* the thread's: removals that failed, */
    struct jobs removals;  /* … removals that have their turn later, */
    struct jobs puts;      /* … the same, of puts, */
    struct jobs gets;      /* … and of bundles to be read, */
    struct jobs again;     /* … and puts without room before removals, or beside others */
    uint64_t forget_ms;    /* the thread's: marks that end before may go … */
    bool forget_more;      /* … and there are more of them than one call takes */
    uint64_t look_at;      /* the thread's: bytes of puts until it looks at the medium again */
    uint64_t told_fits;    /* the loop's */
    uv_mutex_t mutex;      /* protects the fields below */
    uv_cond_t cond;
    struct jobs todo, done;
    bool stop;
    struct storage_status status;
};

/* How much the medium takes. After that many bytes of puts it may be an eighth less. */
static uint64_t look_at_medium(struct storage *s)
{
    const struct store_ops *ops = s->store->ops;
    const uint64_t fits = ops->fits == NULL ? UINT64_MAX : ops->fits(s->store);
    const uint64_t held = ops->bytes(s->store), eighth = fits > held ? (fits - held) / 8 : 0;
    s->look_at = eighth > LOOK_LEAST ? eighth : LOOK_LEAST;
    return fits;
}

int storage_open(struct storage **out, const struct store_ops *ops, const struct store_options *o,
                 char *why, size_t why_cap)
{
    struct storage *s = calloc(1, sizeof *s);
    if (s == NULL) {
        snprintf(why, why_cap, "out of memory");
        return HELIO_ENOMEM;
    }
    s->lock = -1;
    jobs_init(&s->collected);
    jobs_init(&s->finished);
    jobs_init(&s->retry);
    jobs_init(&s->removals);
    jobs_init(&s->puts);
    jobs_init(&s->gets);
    jobs_init(&s->again);
    jobs_init(&s->todo);
    jobs_init(&s->done);
    s->lock = store_lock(o->path, true, "give each node its own path", why, why_cap);
    int err = s->lock < 0 ? s->lock : 0;
    if (err == 0)
        err = ops->open(&s->store, o, why, why_cap);
    if (err < 0) {
        storage_close(s);
        return err;
    }
    s->status.bytes = ops->bytes(s->store);
    s->status.damaged = ops->damaged(s->store);
    s->status.fits = s->told_fits = look_at_medium(s);
    *out = s;
    return 0;
}

struct store *storage_store(struct storage *s)
{
    return s->store;
}

static int forget_marks(struct storage *s)
{
    int rc = s->store->ops->forget(s->store, s->forget_ms);
    s->forget_more = rc == 1;
    return rc < 0 ? rc : 0;
}

static void tidy_store(struct storage *s, struct job *j)
{
    s->forget_ms = j->until_ms;
    j->result = forget_marks(s);
    int flushed = s->store->ops->flush(s->store);
    if (j->result == 0)
        j->result = flushed;
}

/* What was read is reported at once, and not after the next commit. */
static void read_some(struct storage *s)
{
    struct jobs read;
    jobs_init(&read);
    for (uint64_t bytes = 0; s->gets.first != NULL && bytes < GETS_MOST;) {
        struct job *j = jobs_take(&s->gets);
        batch_read(s->store, j);
        bytes += j->bundle != NULL ? j->bundle->len : 0;
        jobs_add(&read, j);
    }
    if (read.first == NULL)
        return;
    uv_mutex_lock(&s->mutex);
    jobs_move(&s->done, &read);
    uv_mutex_unlock(&s->mutex);
    uv_bell_ring(s->bell);
}

static void run_batch(struct storage *s, struct job *first)
{
    batch_run(s->store, first);
    for (struct job *j = first; j != NULL; j = j->next)
        if (j->kind == JOB_TIDY)
            tidy_store(s, j);
}

#define REMOVALS_LEAST 1024 /* of one transaction; more go with many puts */

static uint64_t put_cost(const struct job *j)
{
    return j->bundle->len + (j->bundle->len > PUT_BESIDE ? PUT_BESIDE_LONG : PUT_BESIDE);
}

/* What the next transaction has of what was asked for. */
static void fill_batch(struct storage *s, struct jobs *asked, struct jobs *batch)
{
    uint64_t most = REMOVALS_LEAST, bytes = 0;
    jobs_move(&s->removals, &s->retry);
    jobs_move(&s->again, &s->puts);
    jobs_move(&s->puts, &s->again);
    while (asked->first != NULL) {
        struct job *j = jobs_take(asked);
        jobs_add(j->kind == JOB_REMOVE ? &s->removals
                 : j->kind == JOB_PUT  ? &s->puts
                 : j->kind == JOB_GET  ? &s->gets
                                       : batch,
                 j);
    }
    while (s->puts.first != NULL && (bytes == 0 || bytes + put_cost(s->puts.first) <= PUTS_MOST)) {
        most += 2; /* all that was put is removed one day */
        bytes += put_cost(s->puts.first);
        s->puts.first->result = 0;
        jobs_add(batch, jobs_take(&s->puts));
    }
    for (; s->removals.first != NULL && most > 0; most--)
        jobs_add(batch, jobs_take(&s->removals));
}

/* made: a put or removal succeeded with it. The next transaction has more room: with fewer puts,
 * and after removals. */
static struct jobs *jobs_after(struct storage *s, const struct job *j, bool made,
                               struct jobs *finished)
{
    if (j->kind == JOB_REMOVE && j->result < 0)
        return &s->retry;
    const bool may_fit = j->kind == JOB_PUT && j->result == HELIO_ESPACE;
    return may_fit && (made || s->removals.first != NULL) ? &s->again : finished;
}

/* Takes what is to be tried again out of the batch. Returns how many jobs failed in all. */
static uint64_t keep_failed(struct storage *s, struct jobs *batch, struct jobs *finished)
{
    uint64_t failed = 0;
    bool made = false;
    for (const struct job *j = batch->first; j != NULL; j = j->next)
        made = made || ((j->kind == JOB_PUT || j->kind == JOB_REMOVE) && j->result == 0);
    for (struct job *j = batch->first, *next; j != NULL; j = next) {
        next = j->next;
        struct jobs *to = jobs_after(s, j, made, finished);
        failed += j->result < 0 && to != &s->again;
        jobs_add(to, j);
    }
    return failed;
}

/* Is it time to check the medium's room? */
static bool look_is_due(struct storage *s, const struct job *finished)
{
    uint64_t put = 0;
    bool tidied = false;
    for (const struct job *j = finished; j != NULL; j = j->next) {
        if (j->kind == JOB_PUT && j->result == 0)
            put += j->bundle->len + PUT_BESIDE;
        tidied = tidied || j->kind == JOB_TIDY;
    }
    s->look_at -= put < s->look_at ? put : s->look_at;
    return tidied || s->look_at == 0;
}

static bool has_work(const struct storage *s)
{
    return s->todo.first != NULL || s->removals.first != NULL || s->puts.first != NULL ||
           s->gets.first != NULL || s->again.first != NULL;
}

static void thread_main(void *arg)
{
    struct storage *s = arg;
    struct jobs asked, batch, finished;
    uv_mutex_lock(&s->mutex);
    for (;;) {
        while (!has_work(s) && !s->stop && !s->forget_more)
            uv_cond_wait(&s->cond, &s->mutex);
        if (!has_work(s) && s->stop)
            break;
        jobs_init(&asked);
        jobs_init(&batch);
        jobs_init(&finished);
        jobs_move(&asked, &s->todo);
        uv_mutex_unlock(&s->mutex);
        fill_batch(s, &asked, &batch);
        if (s->forget_more)
            (void)forget_marks(s); /* an error shows at the next tidying */
        read_some(s);
        bool ran = batch.first != NULL;
        if (ran)
            run_batch(s, batch.first);
        uint64_t failed = keep_failed(s, &batch, &finished);
        uint64_t bytes = s->store->ops->bytes(s->store);
        uint64_t damaged = s->store->ops->damaged(s->store);
        uint64_t fits = look_is_due(s, finished.first) ? look_at_medium(s) : s->status.fits;
        uv_mutex_lock(&s->mutex);
        s->status.commits += ran;
        s->status.failures += failed;
        s->status.bytes = bytes;
        s->status.damaged = damaged;
        s->status.fits = fits;
        jobs_move(&s->done, &finished);
        uv_bell_ring(s->bell);
    }
    uv_mutex_unlock(&s->mutex);
}

static void tell_result(const struct storage *s, const struct job *j)
{
    char text[160];
    if (j->result == 0 || j->result == HELIO_ESPACE ||
        (j->kind == JOB_GET && j->result != HELIO_EFORMAT))
        return;
    if (j->kind == JOB_GET)
        snprintf(text, sizeof text,
                 "bundle %llu is damaged; it is set aside for helio-store and not sent on",
                 (unsigned long long)j->key);
    else if (j->result == HELIO_ENOENT)
        snprintf(text, sizeof text,
                 "its files are not at their path any more: bundles are refused until they are "
                 "there again, or until the next start");
    else
        snprintf(text, sizeof text, "%s: %s",
                 j->kind == JOB_PUT ? "a bundle could not be stored"
                                    : "it could not be tidied and flushed",
                 helio_strerror(j->result));
    s->events.trouble(s->events.context, text);
}

static void answer_job(struct storage *s, struct job *j)
{
    tell_result(s, j);
    if (j->kind == JOB_PUT) {
        buf_drop(j->bundle);
        s->events.stored(s->events.context, j->key, j->result);
    } else if (j->kind == JOB_GET) {
        if (j->result == HELIO_EFORMAT)
            j->bundle = buf_new(0, 0);
        s->events.loaded(s->events.context, j->key, j->bundle);
    }
    free(j);
}

/* At most so many that make work; true: there are more. */
static bool take_done(struct storage *s, uint64_t most)
{
    uint64_t n = 0, told = 0;
    uv_mutex_lock(&s->mutex);
    jobs_move(&s->finished, &s->done);
    const uint64_t fits = s->status.fits;
    uv_mutex_unlock(&s->mutex);
    if (fits != s->told_fits && s->events.fits != NULL)
        s->events.fits(s->events.context, fits);
    s->told_fits = fits;
    for (; s->finished.first != NULL && told < most; n++) {
        struct job *j = jobs_take(&s->finished);
        told += j->kind == JOB_PUT || j->kind == JOB_GET;
        if (j->kind == JOB_GET && j->bundle != NULL)
            told += j->bundle->len / ANSWER_BYTES;
        answer_job(s, j);
    }
    uv_mutex_lock(&s->mutex);
    s->status.waiting -= n < s->status.waiting ? n : s->status.waiting;
    s->status.jobs += n;
    uv_mutex_unlock(&s->mutex);
    return s->finished.first != NULL;
}

static void on_bell(void *context)
{
    struct storage *s = context;
    if (take_done(s, ANSWERS_MAX))
        uv_bell_ring(s->bell);
}

int storage_start(struct storage *s, struct uv_loop_s *loop, const struct storage_events *events)
{
    s->events = *events;
    int err = uv_bell_open(&s->bell, loop, on_bell, s);
    if (err < 0)
        return err;
    lock_init(&s->mutex);
    if (uv_cond_init(&s->cond) < 0 || uv_thread_create(&s->thread, thread_main, s) < 0)
        return HELIO_ENOMEM;
    s->running = true;
    return 0;
}

static struct job *job_new(enum job_kind kind, uint64_t key, struct slice head, struct slice id)
{
    struct job *j = malloc(sizeof *j + head.len + id.len);
    if (j == NULL)
        return NULL;
    *j = (struct job){.kind = kind, .key = key, .head_len = head.len, .id_len = id.len};
    if (head.len > 0)
        memcpy(j->bytes, head.data, head.len);
    if (id.len > 0)
        memcpy(j->bytes + head.len, id.data, id.len);
    return j;
}

int storage_put(struct storage *s, const struct agent_action *a)
{
    struct job *j = job_new(JOB_PUT, a->key, a->head, a->mark_id);
    if (j == NULL)
        return HELIO_ENOMEM;
    j->until_ms = a->mark_until_ms;
    j->sequence_end = a->sequence_end;
    j->bundle = buf_keep(a->bundle);
    jobs_add(&s->collected, j);
    return 0;
}

int storage_get(struct storage *s, uint64_t key)
{
    struct job *j = job_new(JOB_GET, key, slice_of(NULL, 0), slice_of(NULL, 0));
    if (j == NULL)
        return HELIO_ENOMEM;
    jobs_add(&s->collected, j);
    return 0;
}

int storage_remove(struct storage *s, const struct agent_action *a)
{
    struct job *j = job_new(JOB_REMOVE, a->key, slice_of(NULL, 0), a->mark_id);
    if (j == NULL)
        return HELIO_ENOMEM;
    j->until_ms = a->mark_until_ms;
    jobs_add(&s->collected, j);
    return 0;
}

int storage_note(struct storage *s, const char *name, struct slice value)
{
    struct job *j = job_new(JOB_NOTE, 0, value, slice_of(name, strlen(name) + 1));
    if (j == NULL)
        return HELIO_ENOMEM;
    jobs_add(&s->collected, j);
    return 0;
}

void storage_tidy(struct storage *s, uint64_t dtn_ms)
{
    struct job *j = job_new(JOB_TIDY, 0, slice_of(NULL, 0), slice_of(NULL, 0));
    if (j == NULL)
        return; /* the next round does it */
    j->until_ms = dtn_ms;
    jobs_add(&s->collected, j);
    storage_submit(s);
}

void storage_submit(struct storage *s)
{
    uint64_t n = 0;
    if (s->collected.first == NULL || !s->running)
        return;
    for (struct job *j = s->collected.first; j != NULL; j = j->next)
        n++;
    uv_mutex_lock(&s->mutex);
    s->status.waiting += n;
    jobs_move(&s->todo, &s->collected);
    uv_cond_signal(&s->cond);
    uv_mutex_unlock(&s->mutex);
}

void storage_status(struct storage *s, struct storage_status *out)
{
    uv_mutex_lock(&s->mutex);
    *out = s->status;
    uv_mutex_unlock(&s->mutex);
}

void storage_finish(struct storage *s)
{
    if (s->running) {
        storage_submit(s);
        uv_mutex_lock(&s->mutex);
        s->stop = true;
        uv_cond_signal(&s->cond);
        uv_mutex_unlock(&s->mutex);
        uv_thread_join(&s->thread);
        s->running = false;
        (void)take_done(s, UINT64_MAX);
        uv_cond_destroy(&s->cond);
        uv_mutex_destroy(&s->mutex);
    }
    uv_bell_close(s->bell);
    s->bell = NULL;
}

static void drop_all(struct jobs *jobs)
{
    for (struct job *j = jobs->first, *next; j != NULL; j = next) {
        next = j->next;
        buf_drop(j->bundle);
        free(j);
    }
    jobs_init(jobs);
}

void storage_close(struct storage *s)
{
    if (s == NULL)
        return;
    drop_all(&s->collected);
    drop_all(&s->finished);
    drop_all(&s->retry);
    drop_all(&s->removals);
    drop_all(&s->puts);
    drop_all(&s->gets);
    drop_all(&s->again);
    drop_all(&s->todo);
    drop_all(&s->done);
    if (s->store != NULL)
        s->store->ops->close(s->store);
    if (s->lock >= 0)
        close(s->lock);
    free(s);
}
