/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records are collected in a page of 1 MiB; a full page is passed to the thread, which writes it. A
 * compressed page is a separate gzip member (RFC 1952 §2.2), so that written pages can be read at
 * once, and a file can be truncated at a page or appended to. The user takes a lock once per page.
 *
 * An existing file may be from another version with other columns. So the last line of column names
 * in it is compared with this version's; if they differ, the names are written again.
 *
 * What can go wrong: the disk is full; then the file is truncated after the last whole record, the
 * lost records are counted, and later pages are tried again, because room may become free. A pipe
 * cannot be truncated and gets nothing more. The disk is too slow; then the queue of QUEUE_MAX
 * pages is full, and records are lost or the caller waits. No memory has the same effect.
 */
#include "os/log/log_writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/err.h"
#include "os/clock.h"
#include "os/process/thread.h"

#define PAGE_BYTES (1024u * 1024u)
#define QUEUE_MAX 64
#define SEARCH_BYTES (16u * 1024u * 1024u) /* of a file that is searched for column names */
#define GZIP (15 + 16)                     /* window bits, and zlib's word for the gzip format */

/* What is written together to one file. */
struct page {
    struct page *next;
    int fd;
    bool last; /* the file is closed after it */
    size_t len;
    uint64_t records;
    uint8_t bytes[PAGE_BYTES];
};

struct log_writer {
    char *path;
    unsigned flags;
    struct slice header;
    int fd;
    bool finished;
    struct page *current; /* NULL: none is begun */
    uint64_t records;
    atomic_ullong lost;
    atomic_int trouble; /* of the latest write */
    int error;          /* of the first that failed: of the thread until it is joined */
    bool stuck;         /* likewise: a pipe or device that failed */
    z_stream gzip;
    uint8_t *packed; /* packed_max bytes; NULL: not compressed */
    size_t packed_max;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled, drained;
    struct page *head, **tail; /* full pages, under the lock */
    struct page *spare;        /* written pages, under the lock */
    unsigned queued;
    bool ending;
};

/* ---- the thread ---- */

static size_t write_all(int fd, struct slice s)
{
    size_t done = 0;
    while (done < s.len) {
        ssize_t n = write(fd, s.data + done, s.len - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            break;
    }
    return done;
}

static uint64_t lines_in(const uint8_t *p, size_t len)
{
    uint64_t n = 0;
    for (const uint8_t *end = p + len; (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
        n++;
    return n;
}

/* Cuts off the part of a record after `done` bytes of a page. How many of its records stay. */
static uint64_t cut_file(struct log_writer *w, const struct page *g, size_t done)
{
    size_t whole = 0;
    struct stat s;
    if ((w->flags & LOG_LINES) != 0 && w->packed == NULL) {
        const uint8_t *end = memrchr(g->bytes, '\n', done);
        whole = end == NULL ? 0 : (size_t)(end - g->bytes) + 1;
    }
    w->stuck = fstat(g->fd, &s) != 0 || !S_ISREG(s.st_mode);
    if (!w->stuck && whole < done)
        w->stuck = ftruncate(g->fd, s.st_size - (off_t)(done - whole)) != 0;
    return lines_in(g->bytes, whole);
}

static struct slice pack_page(struct log_writer *w, struct page *g)
{
    if (w->packed == NULL)
        return slice_of(g->bytes, g->len);
    z_stream *z = &w->gzip;
    int r = deflateReset(z);
    z->next_in = g->bytes;
    z->avail_in = (uInt)g->len;
    z->next_out = w->packed;
    z->avail_out = (uInt)w->packed_max;
    if (r == Z_OK)
        r = deflate(z, Z_FINISH);
    assert(r == Z_STREAM_END); /* packed_max is deflateBound's */
    (void)r;
    return slice_of(w->packed, w->packed_max - z->avail_out);
}

static void write_page(struct log_writer *w, struct page *g)
{
    uint64_t kept = 0;
    int error = w->error;
    if (!w->stuck) {
        struct slice s = pack_page(w, g);
        errno = 0;
        size_t done = write_all(g->fd, s);
        error = done == s.len ? 0 : errno != 0 ? helio_from_errno(errno) : HELIO_EIO;
        kept = error == 0 ? g->records : cut_file(w, g, done);
    }
    if (w->error == 0)
        w->error = error;
    atomic_store(&w->trouble, error);
    atomic_fetch_add(&w->lost, g->records - kept);
}

/* The thread must not inherit the loop's real-time priority: compressing is not urgent. */
static void be_normal(void)
{
    struct sched_param normal = {.sched_priority = 0};
    pthread_setschedparam(pthread_self(), SCHED_OTHER, &normal);
}

static void *run_writer(void *context)
{
    struct log_writer *w = context;
    be_normal();
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (w->head == NULL && !w->ending)
            pthread_cond_wait(&w->filled, &w->lock);
        struct page *g = w->head;
        if (g == NULL)
            break;
        pthread_mutex_unlock(&w->lock);
        if (g->len > 0)
            write_page(w, g);
        if (g->last) {
            close(g->fd);
            w->stuck = false;
        }
        pthread_mutex_lock(&w->lock);
        w->head = g->next; /* a page leaves the list when it is written */
        if (w->head == NULL)
            w->tail = &w->head;
        w->queued--;
        g->next = w->spare;
        w->spare = g;
        pthread_cond_broadcast(&w->drained);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* ---- pages ---- */

static void queue_page(struct log_writer *w)
{
    struct page *g = w->current;
    w->current = NULL;
    pthread_mutex_lock(&w->lock);
    *w->tail = g;
    w->tail = &g->next;
    w->queued++;
    pthread_cond_signal(&w->filled);
    pthread_mutex_unlock(&w->lock);
}

/* A page to write into, or NULL when too many wait or memory is out. */
static struct page *begin_page(struct log_writer *w)
{
    if (w->current != NULL)
        return w->current;
    pthread_mutex_lock(&w->lock);
    while ((w->flags & LOG_WAIT) != 0 && w->queued >= QUEUE_MAX)
        pthread_cond_wait(&w->drained, &w->lock);
    struct page *g = w->spare;
    bool full = w->queued >= QUEUE_MAX;
    if (g != NULL)
        w->spare = g->next;
    pthread_mutex_unlock(&w->lock);
    if (g == NULL && !full)
        g = malloc(sizeof *g);
    if (g == NULL)
        return NULL;
    g->next = NULL;
    g->fd = w->fd;
    g->last = false;
    g->len = 0;
    g->records = 0;
    w->current = g;
    return g;
}

void *log_writer_room(struct log_writer *w, size_t max)
{
    assert(max <= LOG_RECORD_MAX && !w->finished);
    w->records++;
    if (w->current != NULL && w->current->len + max > PAGE_BYTES)
        queue_page(w);
    struct page *g = begin_page(w);
    if (g != NULL)
        return g->bytes + g->len;
    atomic_fetch_add(&w->lost, 1);
    return NULL;
}

void log_writer_put(struct log_writer *w, size_t len)
{
    assert(w->current != NULL && w->current->len + len <= PAGE_BYTES);
    w->current->len += len;
    w->current->records++;
}

void log_writer_flush(struct log_writer *w)
{
    if (log_writer_pending(w))
        queue_page(w);
}

bool log_writer_pending(const struct log_writer *w)
{
    return w->current != NULL && w->current->len > 0;
}

int log_writer_sync(struct log_writer *w, unsigned timeout_ms)
{
    struct timespec until = clock_spec(clock_now() + timeout_ms * TICK_MS);
    int r = 0;
    log_writer_flush(w);
    pthread_mutex_lock(&w->lock);
    while (w->head != NULL && r == 0)
        r = helio_from_errno(pthread_cond_timedwait(&w->drained, &w->lock, &until));
    r = w->head == NULL ? 0 : r;
    pthread_mutex_unlock(&w->lock);
    return r;
}

/* ---- files ---- */

static bool is_same_file(int fd, const struct stat *s)
{
    struct stat own;
    return fd >= 0 && fstat(fd, &own) == 0 && own.st_dev == s->st_dev && own.st_ino == s->st_ino;
}

/* A file has one writer: lines of two would mix, and each would cut what the other wrote. */
static int claim_file(int fd, bool append)
{
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return helio_from_errno(EBUSY);
    return append || ftruncate(fd, 0) == 0 ? 0 : helio_from_errno(errno);
}

/* A new file is for its owner and to be read by its group, whatever the umask; one that is there
 * keeps its permissions. */
static int make_file(const char *path)
{
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK;
    int fd = open(path, flags | O_EXCL, 0600);
    if (fd < 0)
        return errno == EEXIST ? open(path, flags, 0600) : fd;
    (void)fchmod(fd, 0640);
    return fd;
}

/* What a file needs in front of its first new record. */
enum beginning { BEGIN_RECORD, BEGIN_HEADER, BEGIN_LINE_AND_HEADER };

static bool ends_with_newline(const char *path, off_t size)
{
    char last = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool known = fd >= 0 && pread(fd, &last, 1, size - 1) == 1;
    if (fd >= 0)
        close(fd);
    return !known || last == '\n';
}

/* A line of column names begins with a letter, a row with a digit. gzgets reads plain files, too.
 * The last such line counts: versions may have taken turns. */
static enum beginning search_names(const char *path, struct slice header)
{
    char line[4096];
    bool at_start = true, same = false;
    gzFile f = gzopen(path, "rbe");
    if (f == NULL)
        return BEGIN_HEADER;
    while (gzgets(f, line, sizeof line) != NULL) {
        size_t len = strlen(line);
        if (at_start && line[0] >= 'a' && line[0] <= 'z')
            same = len == header.len && memcmp(line, header.data, len) == 0;
        at_start = len > 0 && line[len - 1] == '\n';
    }
    gzclose(f);
    return same ? BEGIN_RECORD : at_start ? BEGIN_HEADER : BEGIN_LINE_AND_HEADER;
}

/* In a large file the names are not searched for, but written again: that is never wrong. */
static enum beginning find_beginning(const struct log_writer *w, const struct stat *s, bool append)
{
    if (s->st_size == 0 || !append)
        return BEGIN_HEADER;
    if (w->header.len == 0 || !S_ISREG(s->st_mode) || (w->flags & LOG_LINES) == 0)
        return BEGIN_RECORD;
    if (s->st_size <= SEARCH_BYTES)
        return search_names(w->path, w->header);
    return w->packed != NULL || ends_with_newline(w->path, s->st_size) ? BEGIN_HEADER
                                                                       : BEGIN_LINE_AND_HEADER;
}

/* Opens the file, and finds how it continues. A pipe without a reader is an error, and does not
 * block. A pipe that the writer already has open keeps its descriptor. */
static int open_file(const struct log_writer *w, bool append, enum beginning *out)
{
    struct stat s;
    int fd = make_file(w->path);
    if (fd < 0)
        return helio_from_errno(errno);
    int r = fstat(fd, &s) < 0 ? helio_from_errno(errno) : 0;
    bool same = r == 0 && is_same_file(w->fd, &s);
    if (r == 0 && !same && S_ISREG(s.st_mode))
        r = claim_file(fd, append);
    if (r < 0 || same)
        close(fd);
    if (r < 0)
        return r;
    if (same && (fd = fcntl(w->fd, F_DUPFD_CLOEXEC, 0)) < 0)
        return helio_from_errno(errno);
    fcntl(fd, F_SETFL, O_APPEND);
    *out = same && s.st_size > 0 ? BEGIN_RECORD : find_beginning(w, &s, append);
    return fd;
}

static int put_record(struct log_writer *w, struct slice record)
{
    void *room = log_writer_room(w, record.len);
    if (room == NULL)
        return HELIO_ENOMEM;
    memcpy(room, record.data, record.len);
    log_writer_put(w, record.len);
    return 0;
}

static int put_header(struct log_writer *w, enum beginning beginning)
{
    int r = 0;
    if (w->header.len == 0 || beginning == BEGIN_RECORD)
        return 0;
    if (beginning == BEGIN_LINE_AND_HEADER)
        r = put_record(w, slice_of("\n", 1));
    return r < 0 ? r : put_record(w, w->header);
}

int log_writer_reopen(struct log_writer *w)
{
    enum beginning beginning = BEGIN_RECORD;
    int fd = open_file(w, true, &beginning);
    if (fd < 0)
        return fd;
    struct page *g = begin_page(w);
    if (g == NULL) {
        close(fd);
        return HELIO_ENOMEM;
    }
    g->last = true;
    queue_page(w);
    w->fd = fd;
    (void)put_header(w, beginning); /* what is lost is counted */
    return 0;
}

/* Level 1: more than 100 MB/s of text, where the default would not keep up with a fast link. */
static int begin_gzip(struct log_writer *w)
{
    size_t len = strlen(w->path);
    if (len <= 3 || strcmp(w->path + len - 3, ".gz") != 0)
        return 0;
    if (deflateInit2(&w->gzip, 1, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return HELIO_ENOMEM;
    w->packed_max = deflateBound(&w->gzip, PAGE_BYTES);
    w->packed = malloc(w->packed_max);
    if (w->packed != NULL)
        return 0;
    deflateEnd(&w->gzip);
    return HELIO_ENOMEM;
}

static void init_locks(struct log_writer *w)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    lock_init(&w->lock);
    pthread_cond_init(&w->filled, NULL);
    pthread_cond_init(&w->drained, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static void free_writer(struct log_writer *w)
{
    if (w->packed != NULL)
        deflateEnd(&w->gzip);
    free(w->packed);
    free(w->current);
    while (w->spare != NULL) {
        struct page *g = w->spare;
        w->spare = g->next;
        free(g);
    }
    pthread_cond_destroy(&w->drained);
    pthread_cond_destroy(&w->filled);
    pthread_mutex_destroy(&w->lock);
    free(w->path);
    free(w);
}

int log_writer_open(struct log_writer **out, const char *path, unsigned flags, struct slice header)
{
    assert(header.len <= LOG_RECORD_MAX);
    enum beginning beginning = BEGIN_RECORD;
    struct log_writer *w = calloc(1, sizeof *w);
    if (w == NULL)
        return HELIO_ENOMEM;
    w->flags = flags;
    w->header = header;
    w->tail = &w->head;
    w->fd = -1;
    init_locks(w);
    w->path = strdup(path);
    int r = w->path == NULL ? HELIO_ENOMEM : begin_gzip(w);
    if (r == 0)
        r = w->fd = open_file(w, (flags & LOG_APPEND) != 0, &beginning);
    if (r >= 0)
        r = put_header(w, beginning);
    if (r == 0)
        r = thread_start(&w->thread, run_writer, w);
    if (r == 0) {
        *out = w;
        return 0;
    }
    if (w->fd >= 0)
        close(w->fd);
    free_writer(w);
    return r;
}

/* ---- the end ---- */

uint64_t log_writer_records(const struct log_writer *w)
{
    return w->records;
}

uint64_t log_writer_lost(const struct log_writer *w)
{
    return atomic_load(&w->lost);
}

int log_writer_trouble(const struct log_writer *w)
{
    return atomic_load(&w->trouble);
}

int log_writer_finish(struct log_writer *w)
{
    log_writer_flush(w);
    pthread_mutex_lock(&w->lock);
    w->ending = true;
    pthread_cond_signal(&w->filled);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    w->finished = true;
    if (close(w->fd) != 0 && w->error == 0)
        w->error = helio_from_errno(errno);
    return w->error;
}

int log_writer_error(const struct log_writer *w)
{
    return w->finished ? w->error : 0;
}

void log_writer_free(struct log_writer *w)
{
    if (w == NULL)
        return;
    if (!w->finished)
        log_writer_finish(w);
    free_writer(w);
}
