/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records gather in a page of 1 MiB; a full one goes to the thread, which writes it through zlib
 * (plain or compressed) and through its buffer, so that what was written can be read at once. The
 * loop takes a lock once per page. What can go wrong: the disk is full, then this page's records
 * and all that follow are lost, the file ends after the page before, and the error is kept for the
 * end; it is too slow, then the queue of QUEUE_MAX pages is full and records are lost or waited
 * for; memory, which is the same.
 */
#include "os/page_writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define PAGE_BYTES (1024u * 1024u)
#define QUEUE_MAX 64

struct page {
    struct page *next;
    size_t len;
    uint64_t records;
    char bytes[PAGE_BYTES];
};

struct page_writer {
    gzFile file;
    int fd;      /* of the same file */
    off_t whole; /* bytes of the file up to the end of a page; -1: not known */
    bool wait, finished;
    struct page *current;
    uint64_t records;
    atomic_ullong lost;
    int error; /* -errno, of the thread until it is joined */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled, drained;
    struct page *head, **tail; /* full pages, under the lock */
    struct page *spare;        /* written pages, under the lock */
    unsigned queued;
    bool ending;
};

static void page_write(struct page_writer *w, const struct page *g)
{
    errno = 0;
    if (w->error == 0 && gzwrite(w->file, g->bytes, (unsigned)g->len) == (int)g->len &&
        gzflush(w->file, Z_SYNC_FLUSH) == Z_OK) {
        w->whole = lseek(w->fd, 0, SEEK_CUR);
        return;
    }
    atomic_fetch_add(&w->lost, g->records);
    if (w->error == 0)
        w->error = errno != 0 ? -errno : -EIO;
}

/* The thread must not inherit the loop's real-time priority: compressing is not urgent. */
static void be_normal(void)
{
    struct sched_param normal = {.sched_priority = 0};
    pthread_setschedparam(pthread_self(), SCHED_OTHER, &normal);
}

static void *run(void *context)
{
    struct page_writer *w = context;
    be_normal();
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (w->head == NULL && !w->ending)
            pthread_cond_wait(&w->filled, &w->lock);
        struct page *g = w->head;
        if (g == NULL)
            break;
        pthread_mutex_unlock(&w->lock);
        page_write(w, g);
        pthread_mutex_lock(&w->lock);
        w->head = g->next;
        if (w->head == NULL)
            w->tail = &w->head;
        w->queued--;
        g->next = w->spare;
        w->spare = g;
        pthread_cond_signal(&w->drained);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* A pipe without a reader is an error, not a wait. Level 1: more than 100 MB/s of text, where the
 * default would not keep up with a fast link. */
static int file_open(struct page_writer *w, const char *path)
{
    size_t len = strlen(path);
    bool compressed = len > 3 && strcmp(path + len - 3, ".gz") == 0;
    w->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
    if (w->fd < 0)
        return -errno;
    fcntl(w->fd, F_SETFL, 0);
    int copy = fcntl(w->fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return -errno;
    w->file = gzdopen(copy, compressed ? "wb1" : "wbT");
    if (w->file == NULL) {
        close(copy);
        return -ENOMEM;
    }
    gzbuffer(w->file, 256 * 1024);
    w->whole = lseek(w->fd, 0, SEEK_CUR);
    return 0;
}

int page_writer_open(struct page_writer **out, const char *path, bool wait)
{
    struct page_writer *w = calloc(1, sizeof *w);
    if (w == NULL)
        return -ENOMEM;
    w->wait = wait;
    w->tail = &w->head;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->filled, NULL);
    pthread_cond_init(&w->drained, NULL);
    int rc = file_open(w, path);
    rc = rc < 0 ? rc : -pthread_create(&w->thread, NULL, run, w);
    if (rc == 0) {
        *out = w;
        return 0;
    }
    if (w->file != NULL)
        gzclose(w->file);
    if (w->fd >= 0)
        close(w->fd);
    pthread_cond_destroy(&w->drained);
    pthread_cond_destroy(&w->filled);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return rc;
}

void page_writer_flush(struct page_writer *w)
{
    struct page *g = w->current;
    if (g == NULL || g->len == 0)
        return;
    w->current = NULL;
    pthread_mutex_lock(&w->lock);
    *w->tail = g;
    w->tail = &g->next;
    w->queued++;
    pthread_cond_signal(&w->filled);
    pthread_mutex_unlock(&w->lock);
}

/* An empty page, or NULL when too many wait or memory is out. */
static struct page *page_get(struct page_writer *w)
{
    pthread_mutex_lock(&w->lock);
    while (w->wait && w->queued >= QUEUE_MAX)
        pthread_cond_wait(&w->drained, &w->lock);
    struct page *g = w->spare;
    bool full = w->queued >= QUEUE_MAX;
    if (g != NULL)
        w->spare = g->next;
    pthread_mutex_unlock(&w->lock);
    if (g == NULL && !full)
        g = malloc(sizeof *g);
    if (g != NULL) {
        g->next = NULL;
        g->len = 0;
        g->records = 0;
    }
    return g;
}

void *page_writer_room(struct page_writer *w, size_t max)
{
    assert(max <= PAGE_RECORD_MAX && !w->finished);
    w->records++;
    if (w->current != NULL && w->current->len + max > PAGE_BYTES)
        page_writer_flush(w);
    if (w->current == NULL)
        w->current = page_get(w);
    if (w->current == NULL) {
        atomic_fetch_add(&w->lost, 1);
        return NULL;
    }
    return w->current->bytes + w->current->len;
}

void page_writer_put(struct page_writer *w, size_t len)
{
    assert(w->current != NULL && w->current->len + len <= PAGE_BYTES);
    w->current->len += len;
    w->current->records++;
}

bool page_writer_pending(const struct page_writer *w)
{
    return w->current != NULL && w->current->len > 0;
}

uint64_t page_writer_records(const struct page_writer *w)
{
    return w->records;
}

uint64_t page_writer_lost(const struct page_writer *w)
{
    return atomic_load(&w->lost);
}

/* A part of a record at the end of a file is cut off. */
static void file_close(struct page_writer *w)
{
    errno = 0;
    if (gzclose(w->file) != Z_OK && w->error == 0) {
        w->error = errno != 0 ? -errno : -EIO;
        atomic_fetch_add(&w->lost, 1);
    } else if (w->error != 0 && w->whole >= 0 && ftruncate(w->fd, w->whole) < 0) {
        w->whole = -1; /* no file: nothing to cut */
    }
    close(w->fd);
}

int page_writer_finish(struct page_writer *w)
{
    page_writer_flush(w);
    pthread_mutex_lock(&w->lock);
    w->ending = true;
    pthread_cond_signal(&w->filled);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    w->finished = true;
    file_close(w);
    return w->error;
}

int page_writer_error(const struct page_writer *w)
{
    return w->finished ? w->error : 0;
}

void page_writer_free(struct page_writer *w)
{
    if (w == NULL)
        return;
    if (!w->finished)
        page_writer_finish(w);
    free(w->current);
    while (w->spare != NULL) {
        struct page *g = w->spare;
        w->spare = g->next;
        free(g);
    }
    pthread_cond_destroy(&w->drained);
    pthread_cond_destroy(&w->filled);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
