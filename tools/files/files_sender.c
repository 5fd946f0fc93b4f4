/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The normal case: a file is read once for its SHA-256, cut into pieces, and given to the node
 * piece by piece; the receiver's receipt ends it. What can go wrong: the file cannot be read, or
 * changes meanwhile; the node refuses a piece (it is repeated); pieces or receipts are lost: then
 * the sender asks the receiver what it has. Missing pieces are repeated when the second of two
 * answers in a row shows no more than the first one: before that they may still be in transit.
 */
#include "tools/files/files_sender.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "tools/files/files_id.h"

#define RANGES_MAX 65536
#define PAUSE_MAX (3600 * TICK_S)

void files_sender_init(struct files_sender *s, const struct files_send_options *o,
                       void (*over)(void *context, struct files_job *job), void *context)
{
    *s = (struct files_sender){.options = *o, .over = over, .context = context, .fd = -1};
    list_init(&s->jobs);
}

static void free_job(struct files_job *j)
{
    ranges_fini(&j->todo);
    free(j->path);
    free(j);
}

static void close_file(struct files_sender *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    s->reading = NULL;
}

void files_sender_fini(struct files_sender *s)
{
    for (size_t i = 0; i < s->given_len; i++)
        free(s->given[(s->given_first + i) % FILES_GIVEN_MAX].bytes);
    s->given_len = 0;
    list_for_each_safe (it, &s->jobs)
        free_job(container_of(it, struct files_job, order));
    list_init(&s->jobs);
    close_file(s);
}

int files_sender_add(struct files_sender *s, const char *path, const char *name, bool resume,
                     struct files_job **out)
{
    if (!files_name_good(slice_of(name, strlen(name)), true))
        return HELIO_EINVAL;
    if (s->jobs_len >= FILES_JOBS_MAX)
        return HELIO_EAGAIN;
    struct files_job *j = calloc(1, sizeof *j);
    if (j == NULL || (j->path = strdup(path)) == NULL) {
        free(j);
        return HELIO_ENOMEM;
    }
    snprintf(j->name, sizeof j->name, "%s", name);
    ranges_init(&j->todo);
    j->resume = resume;
    j->ask_at = j->give_up_at = TICK_NEVER;
    list_init(&j->order);
    list_add_tail(&s->jobs, &j->order);
    s->jobs_len++;
    *out = j;
    return 0;
}

void files_sender_forget(struct files_sender *s, struct files_job *j)
{
    assert(j->phase == FILES_DONE || j->phase == FILES_FAILED);
    for (size_t i = 0; i < s->given_len; i++) {
        struct files_given *g = &s->given[(s->given_first + i) % FILES_GIVEN_MAX];
        g->job = g->job == j ? NULL : g->job;
    }
    if (s->reading == j)
        close_file(s);
    list_sub(&j->order);
    s->jobs_len--;
    s->done -= j->phase == FILES_DONE;
    s->failed -= j->phase == FILES_FAILED;
    free_job(j);
}

/* ---- the end of a job ---- */

static uint64_t size_of(const struct files_job *j)
{
    return (uint64_t)j->was.st_size;
}

static bool is_over(const struct files_job *j)
{
    return j->phase == FILES_DONE || j->phase == FILES_FAILED;
}

static void end_job(struct files_sender *s, struct files_job *j, enum files_phase phase)
{
    assert(!is_over(j) && (phase == FILES_DONE || phase == FILES_FAILED));
    j->phase = phase;
    j->ask_at = j->give_up_at = TICK_NEVER;
    ranges_clear(&j->todo);
    s->done += phase == FILES_DONE;
    s->failed += phase == FILES_FAILED;
    if (phase == FILES_DONE) {
        s->bytes_held += size_of(j) - j->held;
        j->held = size_of(j);
    }
    if (s->reading == j)
        close_file(s);
    s->over(s->context, j);
}

static void fail_job(struct files_sender *s, struct files_job *j, const char *why)
{
    snprintf(j->why, sizeof j->why, "%s", why);
    end_job(s, j, FILES_FAILED);
}

/* ---- reading ---- */

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Opens a job's file; its state as it is now. 0, or false with the job failed. */
static bool open_file(struct files_sender *s, struct files_job *j, struct stat *st)
{
    if (s->reading != j) {
        close_file(s);
        s->fd = open(j->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (s->fd < 0) {
            fail_job(s, j, strerror(errno));
            return false;
        }
        s->reading = j;
    }
    if (fstat(s->fd, st) != 0 || !S_ISREG(st->st_mode)) {
        fail_job(s, j, "it is no regular file");
        return false;
    }
    return true;
}

static struct files_head head_of(const struct files_sender *s, const struct files_job *j,
                                 enum files_kind kind)
{
    struct files_head h = {.kind = kind,
                           .flags = s->options.confirm ? FILES_WANT_RECEIPT : 0,
                           .size = size_of(j),
                           .name = slice_of(j->name, strlen(j->name))};
    memcpy(h.id, j->id, FILES_ID);
    memcpy(h.sha, j->sha, FILES_SHA);
    return h;
}

static void await_receipt(struct files_sender *s, struct files_job *j, tick now)
{
    j->ask_pause = s->options.ask;
    j->ask_at = tick_add(now, j->ask_pause);
    j->give_up_at = tick_add(now, s->options.wait);
}

/* SHA-256 and id of the file. */
static int make_sums(const struct files_sender *s, struct files_job *j)
{
    int rc = j->summed ? 0 : files_digest_file(s->fd, size_of(j), j->sha);
    const struct files_head h = head_of(s, j, FILES_PIECE);
    return rc == 0 && !files_id_make(&h, j->id) ? HELIO_ENOMEM : rc;
}

/* Starts the next job. False: it has failed. */
static bool begin_job(struct files_sender *s, struct files_job *j, tick now)
{
    struct stat st;
    if (!open_file(s, j, &st))
        return false;
    if (j->summed && !is_same(&st, &j->was)) {
        fail_job(s, j, "it changed before it was sent");
        return false;
    }
    j->was = st;
    int rc = make_sums(s, j);
    if (rc != 0) {
        fail_job(s, j,
                 rc == HELIO_EFORMAT ? "it became shorter while it was read" : helio_strerror(rc));
        return false;
    }
    s->bytes += size_of(j);
    j->phase = j->resume ? FILES_ASKING : FILES_SENDING;
    if (j->resume) {
        await_receipt(s, j, now);
        j->ask_at = now;
    } else if (ranges_add(&j->todo, 0, size_of(j), RANGES_MAX) < 0) {
        fail_job(s, j, helio_strerror(HELIO_ENOMEM));
        return false;
    }
    return true;
}

/* ---- what is given to the node ---- */

static void push_given(struct files_sender *s, const struct files_given *g)
{
    assert(s->given_len < FILES_GIVEN_MAX);
    s->given[(s->given_first + s->given_len++) % FILES_GIVEN_MAX] = *g;
    g->job->given++;
}

/* Payload bytes of a job: space for header and name, then `len` bytes. */
static uint8_t *new_payload(const struct files_job *j, size_t len, uint8_t **body)
{
    size_t head = FILES_HEAD + strlen(j->name);
    uint8_t *bytes = malloc(head + len);
    *body = bytes != NULL ? bytes + head : NULL;
    return bytes;
}

static bool give_question(struct files_sender *s, struct files_job *j, tick now, struct slice *out)
{
    struct files_head h = head_of(s, j, FILES_ASK);
    uint8_t *body, *bytes = new_payload(j, 0, &body);
    if (bytes == NULL) {
        fail_job(s, j, helio_strerror(HELIO_ENOMEM));
        return false;
    }
    h.number = ++j->asked;
    *out = slice_of(bytes, files_write(&h, slice_of(body, 0), bytes));
    push_given(s, &(struct files_given){.job = j, .question = true, .bytes = bytes});
    j->ask_pause = tick_min(2 * j->ask_pause, PAUSE_MAX);
    j->ask_at = tick_add(now, j->ask_pause);
    s->questions++;
    return true;
}

/* Reads the bytes [lo, hi) of the job's file. False: the job has failed. */
static bool read_piece(struct files_sender *s, struct files_job *j, uint64_t lo, uint64_t hi,
                       uint8_t *out)
{
    struct stat st;
    if (!open_file(s, j, &st))
        return false;
    size_t len = (size_t)(hi - lo), at = 0;
    while (is_same(&st, &j->was) && at < len) {
        ssize_t n = pread(s->fd, out + at, len - at, (off_t)(lo + at));
        if (n <= 0 && !(n < 0 && errno == EINTR))
            break;
        at += n > 0 ? (size_t)n : 0;
    }
    if (is_same(&st, &j->was) && at == len)
        return true;
    fail_job(s, j, "it changed while it was sent");
    return false;
}

/* The next piece of a job. */
static struct range find_piece(const struct files_sender *s, const struct files_job *j)
{
    if (j->todo.len == 0)
        return (struct range){0, 0}; /* of an empty file */
    struct range r = j->todo.at[0];
    return r.hi - r.lo > s->options.piece ? (struct range){r.lo, r.lo + s->options.piece} : r;
}

/* False: the job has failed. */
static bool give_piece(struct files_sender *s, struct files_job *j, struct slice *out)
{
    struct range r = find_piece(s, j);
    size_t len = (size_t)(r.hi - r.lo);
    uint8_t *body, *bytes = new_payload(j, len, &body);
    if (bytes == NULL) {
        fail_job(s, j, helio_strerror(HELIO_ENOMEM));
        return false;
    }
    if (!read_piece(s, j, r.lo, r.hi, body)) {
        free(bytes);
        return false;
    }
    (void)ranges_sub(&j->todo, r.lo, r.hi, RANGES_MAX); /* its front: no range more */
    struct files_head h = head_of(s, j, FILES_PIECE);
    h.offset = r.lo;
    size_t head = files_write(&h, slice_of(body, len), bytes);
    assert(bytes + head == body);
    *out = slice_of(bytes, head + len);
    push_given(s, &(struct files_given){.job = j, .lo = r.lo, .hi = r.hi, .bytes = bytes});
    s->pieces++;
    if (j->todo.len == 0)
        j->phase = FILES_DRAINING;
    return true;
}

/* What a job has to give. 1: it is in *out, 0: nothing now, -1: it has failed. */
static int give_of_job(struct files_sender *s, struct files_job *j, tick now, struct slice *out)
{
    if (j->phase == FILES_WAITING && !begin_job(s, j, now))
        return -1;
    if (j->phase == FILES_SENDING)
        return give_piece(s, j, out) ? 1 : -1;
    bool asks = j->phase == FILES_ASKING || (j->phase == FILES_DRAINING && j->given == 0);
    if (!asks || now < j->ask_at)
        return 0;
    return give_question(s, j, now, out) ? 1 : -1;
}

bool files_sender_next(struct files_sender *s, tick now, struct slice *out)
{
    if (s->given_len == FILES_GIVEN_MAX)
        return false;
    list_for_each_safe (it, &s->jobs) {
        struct files_job *j = container_of(it, struct files_job, order);
        int rc = is_over(j) ? 0 : give_of_job(s, j, now, out);
        if (rc == 1)
            return true;
    }
    return false;
}

/* ---- answers ---- */

/* Repeats a piece. */
static void requeue_piece(struct files_sender *s, struct files_job *j, const struct files_given *g)
{
    if (g->question) {
        j->ask_at = 0;
        return;
    }
    s->again++;
    (void)ranges_add(&j->todo, g->lo, g->hi, RANGES_MAX); /* it was in there before */
    j->phase = FILES_SENDING;
}

static void note_taken(struct files_sender *s, struct files_job *j, const struct files_given *g,
                       tick now)
{
    if (!g->question && j->sent < size_of(j))
        j->sent += tick_min(g->hi - g->lo, size_of(j) - j->sent);
    if (j->phase != FILES_DRAINING || j->given > 0 || g->question)
        return;
    if (s->options.confirm)
        await_receipt(s, j, now);
    else
        end_job(s, j, FILES_DONE);
}

static struct files_given pop_given(struct files_sender *s)
{
    struct files_given g = s->given[s->given_first];
    s->given_first = (s->given_first + 1) % FILES_GIVEN_MAX;
    s->given_len--;
    if (g.job != NULL)
        g.job->given--;
    return g;
}

void files_sender_answer(struct files_sender *s, bool taken, tick now)
{
    assert(s->given_len > 0);
    struct files_given g = pop_given(s);
    bool matters = g.job != NULL && !is_over(g.job);
    if (matters && taken)
        note_taken(s, g.job, &g, now);
    else if (matters)
        requeue_piece(s, g.job, &g);
    free(g.bytes);
}

void files_sender_lost(struct files_sender *s)
{
    while (s->given_len > 0) {
        struct files_given g = pop_given(s);
        if (g.job != NULL && !is_over(g.job))
            requeue_piece(s, g.job, &g);
        free(g.bytes);
    }
}

/* ---- receipts ---- */

static struct files_job *find_job(struct files_sender *s, const uint8_t id[FILES_ID])
{
    list_for_each (it, &s->jobs) {
        struct files_job *j = container_of(it, struct files_job, order);
        bool begun = j->phase != FILES_WAITING && !is_over(j);
        if (begun && memcmp(j->id, id, FILES_ID) == 0)
            return j;
    }
    return NULL;
}

/* Repeats the pieces that the receiver misses. If its list was cut off at the end, the rest is
 * requested later. */
static void send_gaps(struct files_sender *s, struct files_job *j, const struct files_receipt *r)
{
    for (size_t i = 0; i < r->gaps_len; i++)
        (void)ranges_add(&j->todo, r->gaps[i].lo, r->gaps[i].hi, RANGES_MAX);
    s->again += j->phase == FILES_DRAINING ? r->gaps_len : 0;
    j->phase = j->todo.len > 0 || size_of(j) == 0 ? FILES_SENDING : FILES_DRAINING;
}

static void take_partly(struct files_sender *s, struct files_job *j, const struct files_head *h,
                        const struct files_receipt *r, tick now)
{
    bool news = !j->known || r->held > j->held;
    bool second = j->known && h->number > j->heard;
    if (h->number > j->asked || (j->known && h->number <= j->heard))
        return; /* of another run of ours, or late */
    s->bytes_held += r->held - tick_min(r->held, j->held);
    j->known = true;
    j->heard = h->number;
    j->give_up_at = tick_add(now, s->options.wait);
    if (j->phase == FILES_ASKING ||
        (j->phase == FILES_DRAINING && second && !news && j->given == 0))
        send_gaps(s, j, r);
    if (news)
        j->ask_pause = s->options.ask;
    j->ask_at = tick_min(j->ask_at, tick_add(now, j->ask_pause));
    j->held = r->held > j->held ? r->held : j->held;
}

static bool is_receiver(const struct files_sender *s, const char *source)
{
    struct eid from;
    return eid_parse(source, &from) == 0 && eid_equal(&from, &s->options.receiver);
}

static void take_receipt(struct files_sender *s, const struct files_head *h,
                         const struct files_receipt *r, tick now)
{
    struct files_job *j = find_job(s, h->id);
    s->receipts++;
    if (j == NULL || h->size != size_of(j) || memcmp(h->sha, j->sha, FILES_SHA) != 0)
        return;
    j->was_there = r->state == FILES_STATE_DONE && j->phase == FILES_ASKING;
    if (r->state == FILES_STATE_DONE)
        end_job(s, j, FILES_DONE);
    else if (r->state == FILES_STATE_REFUSED)
        fail_job(s, j, files_reason_text(r->reason));
    else
        take_partly(s, j, h, r, now);
}

void files_sender_take(struct files_sender *s, const char *source, struct slice payload, tick now)
{
    struct files_head h;
    struct files_receipt r;
    struct slice body;
    bool good = files_parse(payload, &h, &body) == FILES_OK && h.kind == FILES_RECEIPT &&
                files_parse_receipt(body, h.size, &r);
    s->foreign += !good;
    if (good && is_receiver(s, source))
        take_receipt(s, &h, &r, now);
    else if (good)
        s->others++;
}

/* ---- time ---- */

tick files_sender_deadline(const struct files_sender *s)
{
    tick t = TICK_NEVER;
    list_for_each (it, &s->jobs) {
        const struct files_job *j = container_of(it, struct files_job, order);
        t = is_over(j) ? t : tick_min(t, tick_min(j->ask_at, j->give_up_at));
        if (j->phase == FILES_SENDING || j->phase == FILES_WAITING)
            t = 0;
    }
    return s->given_len == FILES_GIVEN_MAX ? TICK_NEVER : t;
}

void files_sender_expire(struct files_sender *s, tick now)
{
    list_for_each_safe (it, &s->jobs) {
        struct files_job *j = container_of(it, struct files_job, order);
        if (!is_over(j) && now >= j->give_up_at)
            fail_job(s, j, "the receiver does not confirm it");
    }
}

bool files_sender_idle(const struct files_sender *s)
{
    return s->done + s->failed == s->jobs_len;
}

/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

void files_sender_check(const struct files_sender *s)
{
    uint64_t given = 0, over = 0, n = 0;
    list_for_each (it, &s->jobs) {
        const struct files_job *j = container_of(it, struct files_job, order);
        ranges_check(&j->todo);
        assert(j->phase == FILES_SENDING || j->todo.len == 0);
        assert(j->todo.len == 0 || j->todo.at[j->todo.len - 1].hi <= size_of(j));
        assert(j->heard <= j->asked && j->sent <= size_of(j) && j->held <= size_of(j));
        given += j->given;
        over += is_over(j);
        n++;
    }
    assert(given <= s->given_len && s->given_len <= FILES_GIVEN_MAX);
    assert(over == s->done + s->failed && n == s->jobs_len);
    assert(s->bytes_held <= s->bytes);
}
