/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer. Records are collected in a block. A full block is passed to the thread, which seals
 * it, appends it to the file with one call, and adds an index entry. The adding side takes a lock
 * once per block.
 *
 * What can go wrong: the disk is full; then the file is truncated after the last whole block, this
 * block is lost and counted, and later ones are tried again, because room may become free. The disk
 * is too slow; then blocks wait up to the memory limit, and further records are lost and counted.
 * No memory has the same effect. The index cannot be written; then the file has no further entries,
 * and readers scan the blocks.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "os/clock.h"
#include "os/log/recording.h"
#include "os/log/recording_block.h"
#include "os/log/recording_files.h"
#include "os/process/priority.h"
#include "os/process/thread.h"

#define WRITE_OUT (8u * 1024u * 1024u) /* the system is asked to begin writing that often */

struct block {
    struct block *next;
    struct block_head head;
    uint8_t bytes[BLOCK_MAX];
};

struct recording {
    struct recording_limits limits;
    struct block *current; /* NULL: none is begun */
    uint64_t records;
    uint64_t given; /* blocks queued */
    atomic_ullong lost, written, files, removed;
    atomic_int trouble;
    unsigned queued_max;
    /* under the lock */
    pthread_mutex_t lock;
    pthread_cond_t filled, drained;
    struct block *first, **last;
    struct block *spare;
    unsigned queued;
    uint64_t done; /* blocks written or lost */
    bool ending;
    /* the thread's */
    pthread_t thread;
    int folder, key; /* key: locked, so that there is one writer */
    int data, index; /* -1: no file is open; the index cannot be written */
    uint32_t file;   /* number of the latest */
    uint32_t oldest; /* that may be there */
    uint64_t offset, index_offset, number, total, asked;
};

/* ---- the thread ---- */

static int write_at(int fd, const uint8_t *p, size_t len, uint64_t at)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = pwrite(fd, p + done, len - done, (off_t)(at + done));
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            return n == 0 ? HELIO_EIO : helio_from_errno(errno);
    }
    return 0;
}

static void close_file(struct recording *r)
{
    if (r->data >= 0)
        close(r->data);
    if (r->index >= 0)
        close(r->index);
    r->data = r->index = -1;
}

static int begin_file(struct recording *r)
{
    char name[RECORDING_NAME_CAP];
    close_file(r);
    recording_name(name, r->file + 1, ".rec");
    r->data = openat(r->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (r->data < 0)
        return helio_from_errno(errno);
    r->file++;
    recording_name(name, r->file, ".idx");
    r->index = openat(r->folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    r->offset = r->index_offset = r->asked = 0;
    atomic_fetch_add(&r->files, 1);
    return 0;
}

static void remove_file(struct recording *r, uint32_t number)
{
    char name[RECORDING_NAME_CAP];
    struct stat s;
    recording_name(name, number, ".rec");
    if (fstatat(r->folder, name, &s, 0) != 0)
        return;
    if (unlinkat(r->folder, name, 0) != 0)
        return;
    r->total -= (uint64_t)s.st_size < r->total ? (uint64_t)s.st_size : r->total;
    atomic_fetch_add(&r->removed, 1);
    recording_name(name, number, ".idx");
    (void)unlinkat(r->folder, name, 0);
}

/* Frees space for a block within the limit of all files; the present file is kept. */
static void remove_oldest(struct recording *r, uint32_t len)
{
    while (r->limits.total_bytes > 0 && r->total + len > r->limits.total_bytes &&
           r->oldest < r->file)
        remove_file(r, r->oldest++);
}

static void note_block(struct recording *r, const struct block_head *h)
{
    uint8_t entry[BLOCK_INDEX];
    block_index_write(entry, &(struct block_index){.offset = r->offset,
                                                   .earliest = h->earliest,
                                                   .latest = h->latest,
                                                   .length = h->length,
                                                   .records = h->records});
    if (r->index < 0)
        return;
    if (write_at(r->index, entry, sizeof entry, r->index_offset) == 0) {
        r->index_offset += sizeof entry;
        return;
    }
    close(r->index);
    r->index = -1;
}

static int append_block(struct recording *r, struct block *b)
{
    bool full = r->offset > 0 && r->offset + b->head.length > r->limits.file_bytes;
    int e = r->data < 0 || full ? begin_file(r) : 0;
    if (e < 0)
        return e;
    remove_oldest(r, b->head.length);
    b->head.number = r->number++;
    block_seal(b->bytes, &b->head);
    e = write_at(r->data, b->bytes, b->head.length, r->offset);
    if (e < 0) {
        if (ftruncate(r->data, (off_t)r->offset) != 0)
            close_file(r); /* its torn tail is left out by readers */
        return e;
    }
    note_block(r, &b->head);
    r->offset += b->head.length;
    r->total += b->head.length;
    if (r->offset - r->asked >= WRITE_OUT) {
        (void)sync_file_range(r->data, (off_t)r->asked, (off_t)(r->offset - r->asked),
                              SYNC_FILE_RANGE_WRITE);
        r->asked = r->offset;
    }
    return 0;
}

static void write_block(struct recording *r, struct block *b)
{
    int e = append_block(r, b);
    atomic_store(&r->trouble, e);
    if (e < 0)
        atomic_fetch_add(&r->lost, b->head.records);
    else
        atomic_fetch_add(&r->written, b->head.length);
}

static void *run_recording(void *context)
{
    struct recording *r = context;
    (void)priority_realtime(false); /* the loop's, which writing must not inherit */
    pthread_mutex_lock(&r->lock);
    for (;;) {
        while (r->first == NULL && !r->ending)
            pthread_cond_wait(&r->filled, &r->lock);
        struct block *b = r->first;
        if (b == NULL)
            break;
        pthread_mutex_unlock(&r->lock);
        write_block(r, b);
        pthread_mutex_lock(&r->lock);
        r->first = b->next; /* a block leaves the list when it is written */
        if (r->first == NULL)
            r->last = &r->first;
        assert(r->queued > 0);
        r->queued--;
        r->done++;
        b->next = r->spare;
        r->spare = b;
        pthread_cond_broadcast(&r->drained);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* ---- adding ---- */

static void queue_block(struct recording *r)
{
    struct block *b = r->current;
    assert(b != NULL && b->head.records > 0 && b->head.length <= BLOCK_MAX);
    r->current = NULL;
    r->given++;
    pthread_mutex_lock(&r->lock);
    *r->last = b;
    r->last = &b->next;
    r->queued++;
    pthread_cond_signal(&r->filled);
    pthread_mutex_unlock(&r->lock);
}

/* A block to add to, or NULL: too many wait, or memory is out. */
static struct block *begin_block(struct recording *r)
{
    if (r->current != NULL)
        return r->current;
    pthread_mutex_lock(&r->lock);
    bool full = r->queued >= r->queued_max;
    struct block *b = full ? NULL : r->spare;
    if (b != NULL)
        r->spare = b->next;
    pthread_mutex_unlock(&r->lock);
    if (b == NULL && !full)
        b = malloc(sizeof *b);
    if (b == NULL)
        return NULL;
    b->next = NULL;
    b->head = (struct block_head){.length = BLOCK_HEAD, .earliest = UINT64_MAX};
    r->current = b;
    return b;
}

static void copy_in(uint8_t **to, struct slice s)
{
    if (s.len > 0)
        memcpy(*to, s.data, s.len);
    *to += s.len;
}

/* The block for a record of so many octets, or NULL. */
static struct block *block_for(struct recording *r, size_t len)
{
    assert(len <= RECORDING_DATA_MAX);
    if (r->current != NULL && r->current->head.length + BLOCK_RECORD + len > BLOCK_MAX)
        queue_block(r);
    return begin_block(r);
}

bool recording_has_room(struct recording *r, size_t len)
{
    return block_for(r, len) != NULL;
}

bool recording_add(struct recording *r, uint64_t time, uint32_t tag, struct slice head,
                   struct slice data)
{
    size_t len = head.len + data.len;
    struct block *b = block_for(r, len);
    r->records++;
    if (b == NULL) {
        atomic_fetch_add(&r->lost, 1);
        return false;
    }
    uint8_t *to = b->bytes + b->head.length;
    block_record_write(to, (uint32_t)len, tag, time);
    to += BLOCK_RECORD;
    copy_in(&to, head);
    copy_in(&to, data);
    b->head.length += BLOCK_RECORD + (uint32_t)len;
    b->head.records++;
    b->head.earliest = time < b->head.earliest ? time : b->head.earliest;
    b->head.latest = time > b->head.latest ? time : b->head.latest;
    return true;
}

uint64_t recording_flush(struct recording *r)
{
    if (r->current != NULL && r->current->head.records > 0)
        queue_block(r);
    return r->given;
}

bool recording_written(struct recording *r, uint64_t ticket)
{
    pthread_mutex_lock(&r->lock);
    bool written = r->done >= ticket;
    pthread_mutex_unlock(&r->lock);
    return written;
}

int recording_sync(struct recording *r, unsigned timeout_ms)
{
    struct timespec until = clock_spec(clock_now() + timeout_ms * TICK_MS);
    int e = 0;
    (void)recording_flush(r);
    pthread_mutex_lock(&r->lock);
    while (r->first != NULL && e == 0)
        e = pthread_cond_timedwait(&r->drained, &r->lock, &until);
    bool done = r->first == NULL;
    pthread_mutex_unlock(&r->lock);
    return done ? 0 : HELIO_EAGAIN;
}

struct recording_counts recording_counts(const struct recording *r)
{
    return (struct recording_counts){.records = r->records,
                                     .lost = atomic_load(&r->lost),
                                     .written_bytes = atomic_load(&r->written),
                                     .files = atomic_load(&r->files),
                                     .removed = atomic_load(&r->removed),
                                     .trouble = atomic_load(&r->trouble)};
}

/* ---- begin and end ---- */

/* What is there already: the next number, and the bytes for the limit. */
static int look_around(struct recording *r)
{
    uint32_t *numbers;
    size_t n;
    int e = recording_list(r->folder, &numbers, &n);
    for (size_t i = 0; e == 0 && i < n; i++) {
        char name[RECORDING_NAME_CAP];
        struct stat s;
        recording_name(name, numbers[i], ".rec");
        if (fstatat(r->folder, name, &s, 0) == 0)
            r->total += (uint64_t)s.st_size;
    }
    r->oldest = n > 0 ? numbers[0] : 1;
    r->file = n > 0 ? numbers[n - 1] : 0;
    free(numbers);
    return e;
}

static int open_folder(struct recording *r, const char *folder)
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return helio_from_errno(errno);
    r->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->folder < 0)
        return helio_from_errno(errno);
    r->key = openat(r->folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (r->key < 0)
        return helio_from_errno(errno);
    if (flock(r->key, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? HELIO_EEXIST : helio_from_errno(errno);
    return look_around(r);
}

static void init_locks(struct recording *r)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->filled, NULL);
    pthread_cond_init(&r->drained, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static void free_recording(struct recording *r)
{
    free(r->current);
    while (r->spare != NULL) {
        struct block *b = r->spare;
        r->spare = b->next;
        free(b);
    }
    close_file(r);
    if (r->key >= 0)
        close(r->key);
    if (r->folder >= 0)
        close(r->folder);
    pthread_cond_destroy(&r->drained);
    pthread_cond_destroy(&r->filled);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

int recording_open(struct recording **out, const char *folder, const struct recording_limits *l)
{
    assert(l->file_bytes >= RECORDING_FILE_MIN && l->memory_bytes >= RECORDING_MEMORY_MIN);
    struct recording *r = calloc(1, sizeof *r);
    if (r == NULL)
        return HELIO_ENOMEM;
    uint64_t blocks = l->memory_bytes / sizeof(struct block);
    r->limits = *l;
    r->queued_max = blocks < UINT32_MAX ? (unsigned)blocks : UINT32_MAX;
    r->last = &r->first;
    r->folder = r->key = r->data = r->index = -1;
    init_locks(r);
    int e = open_folder(r, folder);
    if (e == 0)
        e = thread_start(&r->thread, run_recording, r);
    if (e < 0)
        free_recording(r);
    else
        *out = r;
    return e;
}

void recording_close(struct recording *r)
{
    if (r == NULL)
        return;
    (void)recording_flush(r);
    pthread_mutex_lock(&r->lock);
    r->ending = true;
    pthread_cond_signal(&r->filled);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    assert(r->first == NULL && r->queued == 0);
    free_recording(r);
}
