/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines gather in a buffer of 1 MiB; a full one goes to a writer thread, so that a slow disk never
 * stalls the loop: up to QUEUE_MAX buffers wait. What can go wrong: the disk is full or too slow,
 * then lines are dropped and counted, never torn; a file that cannot be reopened leaves the old one
 * in use.
 */
#include "cla/seglog.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES (1024 * 1024)
#define QUEUE_MAX 16

/* What is written together to one file. */
struct page {
    struct page *next;
    int fd;
    bool last; /* the file is closed after it */
    size_t len;
    char bytes[PAGE_BYTES];
};

struct seglog {
    uint64_t node, epoch;
    const char *header;
    char *path;
    int fd;
    struct page *current; /* NULL after memory ran out or the queue was full */
    atomic_ullong lost;   /* lines */
    pthread_t writer;
    pthread_mutex_t lock;
    pthread_cond_t filled, drained;
    struct page *head, **tail; /* full pages, under the lock */
    struct page *spare;        /* written pages, under the lock */
    unsigned queued;
    bool ending;
};

static uint64_t lines_in(const char *p, size_t len)
{
    uint64_t n = 0;
    for (const char *end = p + len; (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
        n++;
    return n;
}

/* Writes all or whole lines only; returns how many lines were lost. */
static uint64_t page_write(const struct page *g)
{
    size_t done = 0;
    while (done < g->len) {
        ssize_t n = write(g->fd, g->bytes + done, g->len - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            break;
    }
    if (done == g->len)
        return 0;
    const char *end = memrchr(g->bytes, '\n', done);
    size_t whole = end == NULL ? 0 : (size_t)(end - g->bytes) + 1;
    struct stat s;
    if (whole < done && fstat(g->fd, &s) == 0 && S_ISREG(s.st_mode))
        whole = ftruncate(g->fd, s.st_size - (off_t)(done - whole)) == 0 ? whole : done;
    return lines_in(g->bytes + whole, g->len - whole);
}

static void *writer(void *context)
{
    struct seglog *s = context;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        while (s->head == NULL && !s->ending)
            pthread_cond_wait(&s->filled, &s->lock);
        struct page *g = s->head;
        if (g == NULL)
            break;
        pthread_mutex_unlock(&s->lock);
        atomic_fetch_add(&s->lost, page_write(g));
        if (g->last)
            close(g->fd);
        pthread_mutex_lock(&s->lock);
        s->head = g->next;
        if (s->head == NULL) {
            s->tail = &s->head;
            pthread_cond_broadcast(&s->drained);
        }
        s->queued--;
        g->next = s->spare;
        s->spare = g;
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* A page to write into, or NULL when too many wait or memory is out. */
static struct page *page_get(struct seglog *s)
{
    if (s->current != NULL)
        return s->current;
    pthread_mutex_lock(&s->lock);
    struct page *g = s->spare;
    bool full = s->queued >= QUEUE_MAX;
    if (g != NULL)
        s->spare = g->next;
    pthread_mutex_unlock(&s->lock);
    if (g == NULL && !full)
        g = malloc(sizeof *g);
    if (g == NULL)
        return NULL;
    g->next = NULL;
    g->fd = s->fd;
    g->last = false;
    g->len = 0;
    s->current = g;
    return g;
}

static void page_put(struct seglog *s)
{
    struct page *g = s->current;
    s->current = NULL;
    pthread_mutex_lock(&s->lock);
    *s->tail = g;
    s->tail = &g->next;
    s->queued++;
    pthread_cond_signal(&s->filled);
    pthread_mutex_unlock(&s->lock);
}

/* The file, and whether it needs its header line. */
static int file_open(const char *path, bool *empty)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    struct stat st;
    *empty = fstat(fd, &st) == 0 && st.st_size == 0;
    return fd;
}

char *seglog_room(struct seglog *s, size_t max)
{
    assert(max <= SEGLOG_LINES_MAX);
    if (s->current != NULL && s->current->len > PAGE_BYTES - max)
        page_put(s);
    struct page *g = page_get(s);
    if (g == NULL)
        atomic_fetch_add(&s->lost, 1);
    return g == NULL ? NULL : g->bytes + g->len;
}

void seglog_put(struct seglog *s, size_t len)
{
    s->current->len += len;
    assert(s->current->len <= PAGE_BYTES);
}

static int header_put(struct seglog *s)
{
    size_t len = strlen(s->header);
    char *room = seglog_room(s, len);
    if (room == NULL)
        return -ENOMEM;
    memcpy(room, s->header, len);
    seglog_put(s, len);
    return 0;
}

int seglog_open(struct seglog **out, const char *path, uint64_t node, uint64_t epoch)
{
    int r = seglog_open_lines(out, path, event_csv_header);
    if (r != 0)
        return r;
    (*out)->node = node;
    (*out)->epoch = epoch;
    return 0;
}

int seglog_open_lines(struct seglog **out, const char *path, const char *header)
{
    struct seglog *s = calloc(1, sizeof *s);
    if (s == NULL)
        return -ENOMEM;
    bool empty = false;
    int r = -ENOMEM;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->filled, NULL);
    pthread_cond_init(&s->drained, NULL);
    s->header = header;
    s->tail = &s->head;
    s->fd = -1;
    s->path = strdup(path);
    if (s->path == NULL)
        goto fail;
    r = s->fd = file_open(path, &empty);
    if (r < 0)
        goto fail;
    r = empty ? header_put(s) : 0;
    if (r != 0)
        goto fail;
    r = -pthread_create(&s->writer, NULL, writer, s);
    if (r != 0)
        goto fail;
    *out = s;
    return 0;
fail:
    pthread_cond_destroy(&s->filled);
    pthread_cond_destroy(&s->drained);
    pthread_mutex_destroy(&s->lock);
    if (s->fd >= 0)
        close(s->fd);
    free(s->current);
    free(s->path);
    free(s);
    return r;
}

void seglog_sink(void *context, const struct event *e)
{
    struct seglog *s = context;
    char *room = seglog_room(s, EVENT_CSV_MAX);
    if (room != NULL)
        seglog_put(s, event_csv(e, s->node, s->epoch, room));
}

void seglog_flush(struct seglog *s)
{
    if (s->current != NULL && s->current->len > 0)
        page_put(s);
}

int seglog_sync(struct seglog *s, unsigned timeout_ms)
{
    struct timespec until;
    int rc = 0;
    seglog_flush(s);
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + timeout_ms * TICK_MS;
    until.tv_sec += (time_t)(ns / TICK_S);
    until.tv_nsec = (long)(ns % TICK_S);
    pthread_mutex_lock(&s->lock);
    while (s->head != NULL && rc == 0) /* a page leaves the list when it is written */
        rc = -pthread_cond_timedwait(&s->drained, &s->lock, &until);
    rc = s->head == NULL ? 0 : rc;
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int seglog_reopen(struct seglog *s)
{
    bool empty = false;
    int fd = file_open(s->path, &empty);
    if (fd < 0)
        return fd;
    struct page *g = page_get(s);
    if (g == NULL) {
        close(fd);
        return -ENOMEM;
    }
    g->last = true;
    page_put(s);
    s->fd = fd;
    if (empty)
        (void)header_put(s); /* a lost one is counted */
    return 0;
}

uint64_t seglog_lost(const struct seglog *s)
{
    return atomic_load(&s->lost);
}

void seglog_close(struct seglog *s)
{
    if (s == NULL)
        return;
    seglog_flush(s);
    pthread_mutex_lock(&s->lock);
    s->ending = true;
    pthread_cond_signal(&s->filled);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->writer, NULL);
    close(s->fd);
    pthread_cond_destroy(&s->filled);
    pthread_cond_destroy(&s->drained);
    pthread_mutex_destroy(&s->lock);
    free(s->current);
    while (s->spare != NULL) {
        struct page *g = s->spare;
        s->spare = g->next;
        free(g);
    }
    free(s->path);
    free(s);
}
