/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader. Its thread reads the files in order, skips by the index (or by the block heads) what is
 * outside the time range, and reads at most RECORDING_AHEAD blocks ahead of the user. User and
 * thread share the numbers of filled and released blocks.
 *
 * What can go wrong: a block is torn or damaged: it is skipped and counted; with an invalid head
 * the rest of that file is skipped, too. A file was removed meanwhile (the limit of all files): it
 * is skipped. Reading fails, no memory: then the reader ends with that error. Freeing a reader does
 * not wait for its thread, which may wait for the medium: the last of the two frees the shared
 * memory.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "os/log/recording.h"
#include "os/log/recording_block.h"
#include "os/log/recording_files.h"
#include "os/process/priority.h"
#include "os/process/thread.h"

#define INDEX_PIECE 128u /* entries read together */

struct recording_reader {
    uint64_t from, to;
    uint8_t *blocks[RECORDING_AHEAD]; /* block n, 1 …, is in blocks[n % RECORDING_AHEAD] */
    uint32_t lengths[RECORDING_AHEAD];
    int event;
    /* the user's */
    uint64_t current; /* block of the latest record; 0: none */
    uint32_t at;      /* in it; 0: it is used up */
    /* under the lock; filled >= released */
    pthread_mutex_t lock;
    pthread_cond_t room;
    uint64_t filled, released; /* released: blocks up to this one */
    uint64_t damaged;
    bool waiting, done, ending;
    int error;
    /* the thread's */
    int folder;
    uint32_t *files;
    size_t files_len;
};

/* The index of the present file, a part at a time. */
struct index {
    int fd;
    uint64_t next; /* number of the entry after those held */
    size_t at, len;
    struct block_index held[INDEX_PIECE];
};

static void free_reader(struct recording_reader *r)
{
    for (size_t i = 0; i < RECORDING_AHEAD; i++)
        free(r->blocks[i]);
    if (r->event >= 0)
        close(r->event);
    if (r->folder >= 0)
        close(r->folder);
    free(r->files);
    pthread_cond_destroy(&r->room);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

/* ---- the thread ---- */

/* Octets read, fewer at the end of the file; or HELIO_E*. */
static ssize_t read_at(int fd, uint8_t *to, size_t len, uint64_t at)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = pread(fd, to + done, len - done, (off_t)(at + done));
        if (n > 0)
            done += (size_t)n;
        else if (n == 0)
            break;
        else if (errno != EINTR)
            return helio_from_errno(errno);
    }
    return (ssize_t)done;
}

/* The entry of the block at `offset`, if the index has it next. */
static bool look_up(struct index *x, uint64_t offset, struct block_index *out)
{
    uint8_t raw[INDEX_PIECE * BLOCK_INDEX];
    if (x->at == x->len && x->fd >= 0) {
        ssize_t n = read_at(x->fd, raw, sizeof raw, x->next * BLOCK_INDEX);
        x->at = x->len = 0;
        for (size_t i = 0; n > 0 && i < (size_t)n / BLOCK_INDEX; i++)
            if (!block_index_parse(raw + i * BLOCK_INDEX, &x->held[x->len++]))
                break;
        x->next += x->len;
    }
    if (x->at == x->len || x->held[x->at].offset != offset)
        return false;
    *out = x->held[x->at++];
    return true;
}

/* Waits for a free buffer; NULL: the reader is being freed. */
static uint8_t *wait_room(struct recording_reader *r)
{
    pthread_mutex_lock(&r->lock);
    while (r->filled - r->released >= RECORDING_AHEAD && !r->ending)
        pthread_cond_wait(&r->room, &r->lock);
    bool ending = r->ending;
    uint64_t place = (r->filled + 1) % RECORDING_AHEAD;
    pthread_mutex_unlock(&r->lock);
    if (ending)
        return NULL;
    if (r->blocks[place] == NULL)
        r->blocks[place] = malloc(BLOCK_MAX);
    return r->blocks[place];
}

static void tell_user(struct recording_reader *r)
{
    uint64_t one = 1;
    if (r->waiting && write(r->event, &one, sizeof one) == (ssize_t)sizeof one)
        r->waiting = false;
}

static void give_block(struct recording_reader *r, uint32_t length)
{
    pthread_mutex_lock(&r->lock);
    r->filled++;
    r->lengths[r->filled % RECORDING_AHEAD] = length;
    tell_user(r);
    pthread_mutex_unlock(&r->lock);
}

static void count_damage(struct recording_reader *r)
{
    pthread_mutex_lock(&r->lock);
    r->damaged++;
    pthread_mutex_unlock(&r->lock);
}

enum step { STEP_ON, STEP_FILE_OVER, STEP_STOP };

/* Reads the block at `offset` and gives it to the user. */
static enum step take_block(struct recording_reader *r, int fd, uint64_t offset,
                            const struct block_head *h, int *error)
{
    struct block_head again;
    uint8_t *to = wait_room(r);
    if (to == NULL) {
        *error = r->ending ? 0 : HELIO_ENOMEM;
        return STEP_STOP;
    }
    ssize_t n = read_at(fd, to, h->length, offset);
    if (n < 0) {
        *error = (int)n;
        return STEP_STOP;
    }
    if (n < (ssize_t)h->length) {
        count_damage(r);
        return STEP_FILE_OVER;
    }
    if (!block_head_parse(to, &again) || again.length != h->length || !block_intact(to, &again))
        count_damage(r);
    else
        give_block(r, h->length);
    return STEP_ON;
}

static enum step read_block(struct recording_reader *r, int fd, struct index *x, uint64_t *offset,
                            int *error)
{
    struct block_index entry;
    struct block_head h;
    uint8_t raw[BLOCK_HEAD];
    if (look_up(x, *offset, &entry)) {
        h = (struct block_head){.length = entry.length,
                                .records = entry.records,
                                .earliest = entry.earliest,
                                .latest = entry.latest};
    } else {
        ssize_t n = read_at(fd, raw, sizeof raw, *offset);
        if (n <= 0) {
            *error = (int)n;
            return n < 0 ? STEP_STOP : STEP_FILE_OVER;
        }
        if (n < (ssize_t)sizeof raw || !block_head_parse(raw, &h)) {
            count_damage(r);
            return STEP_FILE_OVER;
        }
    }
    enum step step = STEP_ON;
    if (h.latest >= r->from && h.earliest < r->to)
        step = take_block(r, fd, *offset, &h, error);
    *offset += h.length;
    return step;
}

/* False: the reader ends. */
static bool read_file(struct recording_reader *r, uint32_t number, int *error)
{
    char name[RECORDING_NAME_CAP];
    uint64_t offset = 0;
    enum step step = STEP_ON;
    recording_name(name, number, ".rec");
    int fd = openat(r->folder, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        *error = errno == ENOENT ? 0 : helio_from_errno(errno);
        return errno == ENOENT;
    }
    struct index x = {0};
    recording_name(name, number, ".idx");
    x.fd = openat(r->folder, name, O_RDONLY | O_CLOEXEC);
    while (step == STEP_ON)
        step = read_block(r, fd, &x, &offset, error);
    close(fd);
    if (x.fd >= 0)
        close(x.fd);
    return step == STEP_FILE_OVER;
}

static void *run_reader(void *context)
{
    struct recording_reader *r = context;
    int error = 0;
    (void)priority_realtime(false); /* the loop's, which reading must not inherit */
    for (size_t i = 0; i < r->files_len; i++)
        if (!read_file(r, r->files[i], &error))
            break;
    pthread_mutex_lock(&r->lock);
    r->done = true;
    r->error = error;
    bool last = r->ending;
    if (!last)
        tell_user(r);
    pthread_mutex_unlock(&r->lock);
    if (last)
        free_reader(r);
    return NULL;
}

/* ---- the user ---- */

/* Moves to the next block, if there is one. */
static enum recording_step next_block(struct recording_reader *r)
{
    uint64_t told;
    pthread_mutex_lock(&r->lock);
    bool there = r->filled > r->current, done = r->done;
    if (!there && !done) {
        (void)!read(r->event, &told, sizeof told);
        r->waiting = true;
    }
    pthread_mutex_unlock(&r->lock);
    if (!there)
        return done ? RECORDING_END : RECORDING_WAIT;
    r->current++;
    r->at = BLOCK_HEAD;
    return RECORDING_RECORD;
}

enum recording_step recording_next(struct recording_reader *r, struct recording_record *out)
{
    struct block_record b;
    for (;;) {
        if (r->at == 0) {
            enum recording_step step = next_block(r);
            if (step != RECORDING_RECORD)
                return step;
        }
        size_t place = r->current % RECORDING_AHEAD;
        assert(r->blocks[place] != NULL);
        if (!block_next(r->blocks[place], r->lengths[place], &r->at, &b)) {
            r->at = 0;
            continue;
        }
        if (b.time < r->from || b.time >= r->to)
            continue;
        *out = (struct recording_record){.time = b.time, .tag = b.tag, .data = b.data};
        return RECORDING_RECORD;
    }
}

uint64_t recording_block(const struct recording_reader *r)
{
    return r->current;
}

void recording_release(struct recording_reader *r, uint64_t below)
{
    assert(below <= r->current + 1);
    pthread_mutex_lock(&r->lock);
    if (below > r->released + 1) {
        r->released = below - 1;
        pthread_cond_signal(&r->room);
    }
    assert(r->released <= r->filled);
    pthread_mutex_unlock(&r->lock);
}

int recording_reader_fd(const struct recording_reader *r)
{
    return r->event;
}

static struct recording_reader *unconst(const struct recording_reader *r)
{
    return (struct recording_reader *)(uintptr_t)r; /* for its lock */
}

int recording_reader_error(const struct recording_reader *r)
{
    pthread_mutex_lock(&unconst(r)->lock);
    int error = r->done ? r->error : 0;
    pthread_mutex_unlock(&unconst(r)->lock);
    return error;
}

uint64_t recording_reader_damaged(const struct recording_reader *r)
{
    pthread_mutex_lock(&unconst(r)->lock);
    uint64_t n = r->damaged;
    pthread_mutex_unlock(&unconst(r)->lock);
    return n;
}

static int begin_thread(struct recording_reader *r)
{
    pthread_t thread;
    int e = thread_start(&thread, run_reader, r);
    if (e == 0)
        pthread_detach(thread);
    return e;
}

int recording_read(struct recording_reader **out, const char *folder, uint64_t from, uint64_t to)
{
    struct recording_reader *r = calloc(1, sizeof *r);
    if (r == NULL)
        return HELIO_ENOMEM;
    r->from = from;
    r->to = to;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->room, NULL);
    r->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int e = r->event < 0 || r->folder < 0 ? helio_from_errno(errno) : 0;
    if (e == 0)
        e = recording_list(r->folder, &r->files, &r->files_len);
    if (e == 0)
        e = begin_thread(r);
    if (e < 0)
        free_reader(r);
    else
        *out = r;
    return e;
}

void recording_reader_free(struct recording_reader *r)
{
    if (r == NULL)
        return;
    pthread_mutex_lock(&r->lock);
    bool last = r->done;
    r->ending = true;
    pthread_cond_signal(&r->room);
    pthread_mutex_unlock(&r->lock);
    if (last)
        free_reader(r);
}
