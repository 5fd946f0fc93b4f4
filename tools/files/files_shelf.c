/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The normal case: a first piece creates an item with its journal. Each piece is written to its
 * place, then entered into the journal. The complete file is checked, linked to its name, and its
 * id is remembered. What can go wrong: the process ends between any two of these (files_shelf_open
 * finds out at which step), wrong bytes, a full disk.
 */
#include "tools/files/files_shelf.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "tools/files/files_id.h"
#include "tools/files/files_journal.h"
#include "tools/files/files_place.h"

#define DONE "whole"
#define DONE_0 "done" /* of a version that took any id: what it says is not known to be so */
#define FOLDER (O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC)

/* ---- items ---- */

static uint64_t hash_id(const struct files_shelf *s, const uint8_t id[FILES_ID])
{
    return hash_bytes(s->items.seed, id, FILES_ID);
}

/* source: NULL: any. */
static struct files_item *find_item(const struct files_shelf *s, const uint8_t id[FILES_ID],
                                    const char *source)
{
    struct hash_node *n = hash_find(&s->items, hash_id(s, id));
    for (; n != NULL; n = hash_next(n)) {
        struct files_item *it = container_of(n, struct files_item, node);
        if (memcmp(it->id, id, FILES_ID) == 0 &&
            (source == NULL || strcmp(it->source, source) == 0))
            return it;
    }
    return NULL;
}

struct files_item *files_shelf_find(const struct files_shelf *s, const uint8_t id[FILES_ID],
                                    const char *source)
{
    return find_item(s, id, source);
}

static struct files_item *new_item(void)
{
    struct files_item *it = calloc(1, sizeof *it);
    if (it == NULL)
        return NULL;
    list_init(&it->order);
    ranges_init(&it->have);
    return it;
}

static void free_item(struct files_item *it)
{
    files_item_drop_digest(it);
    ranges_fini(&it->have);
    free(it);
}

/* 0 or HELIO_ENOMEM: it is the caller's then. */
static int enter_item(struct files_shelf *s, struct files_item *it)
{
    assert(files_shelf_find(s, it->id, it->source) == NULL);
    list_init(&it->checking);
    int rc = files_sources_add(&s->sources, it->source, it->held);
    if (rc != 0)
        return rc;
    rc = files_sources_add(&s->neighbours, it->neighbour, it->held);
    if (rc != 0) {
        files_sources_sub(&s->sources, it->source, it->held);
        return rc;
    }
    hash_add(&s->items, &it->node, hash_id(s, it->id));
    list_add_tail(&s->order, &it->order);
    s->space += it->held;
    return 0;
}

static void forget_item(struct files_shelf *s, struct files_item *it)
{
    assert(s->space >= it->held);
    hash_sub(&s->items, &it->node);
    list_sub(&it->order);
    s->space -= it->held;
    files_sources_sub(&s->sources, it->source, it->held);
    files_sources_sub(&s->neighbours, it->neighbour, it->held);
    list_sub(&it->checking);
    free_item(it);
}

static void unlink_item(const struct files_shelf *s, const struct files_item *it)
{
    char hex[FILES_HEX], journal[FILES_JOURNAL_NAME];
    files_journal_hex(it->key, hex);
    files_journal_name(it->key, journal);
    (void)unlinkat(s->state, hex, 0); /* first the bytes: without a journal they mean nothing */
    (void)unlinkat(s->state, journal, 0);
}

void files_shelf_drop(struct files_shelf *s, struct files_item *it)
{
    unlink_item(s, it);
    forget_item(s, it);
}

bool files_item_whole(const struct files_item *it)
{
    return ranges_has(&it->have, 0, it->size);
}

void files_item_receipt(const struct files_item *it, struct files_receipt *out)
{
    struct range gap;
    *out = (struct files_receipt){.state = FILES_STATE_PARTLY, .held = it->held};
    for (uint64_t at = 0;
         out->gaps_len < FILES_GAPS_MAX && ranges_gap(&it->have, at, it->size, &gap) == 1;
         at = gap.hi)
        out->gaps[out->gaps_len++] = gap;
}

/* ---- pieces ---- */

/* The limits for a new file (bytes 0), or for so many bytes of a present one. */
struct need {
    struct files_from from;
    const struct files_item *item; /* NULL: a new one */
    uint64_t bytes;
};

static uint64_t part_of(uint64_t limit, unsigned percent)
{
    return limit / 100 * percent + limit % 100 * percent / 100;
}

static bool may_have(const struct files_limits *l, const struct files_sources *of, const char *name,
                     unsigned percent, const struct need *n)
{
    if (percent == 0 || percent >= 100)
        return true;
    return n->item == NULL
               ? files_sources_may_begin(of, name, part_of(l->items_max, percent))
               : files_sources_may_grow(of, name, n->bytes, part_of(l->space_max, percent));
}

static bool is_room(const struct files_shelf *s, const struct need *n)
{
    const struct files_limits *l = &s->limits;
    if (n->item == NULL)
        return s->items.len < l->items_max;
    return n->bytes <= l->space_max && s->space <= l->space_max - n->bytes;
}

/* The files that may be removed to free space. */
enum scope { SCOPE_NONE, SCOPE_SOURCE, SCOPE_NEIGHBOUR, SCOPE_ALL };

static enum scope find_short(const struct files_shelf *s, const struct need *n)
{
    const struct files_limits *l = &s->limits;
    if (!may_have(l, &s->sources, n->from.source, l->share, n))
        return SCOPE_SOURCE;
    if (!may_have(l, &s->neighbours, n->from.neighbour, l->neighbour, n))
        return SCOPE_NEIGHBOUR;
    return is_room(s, n) ? SCOPE_NONE : SCOPE_ALL;
}

static bool is_in(const struct files_item *it, enum scope scope, const struct files_from *from)
{
    if (scope == SCOPE_SOURCE)
        return strcmp(it->source, from->source) == 0;
    return scope == SCOPE_ALL || strcmp(it->neighbour, from->neighbour) == 0;
}

static bool has_hardly_grown(const struct files_item *it)
{
    return !it->grown || it->held < it->size / 100;
}

/* The file to remove; NULL: there is none. The list begins with the files that were silent for
 * longest. */
static struct files_item *find_least(const struct files_shelf *s, enum scope scope,
                                     const struct need *n, tick now)
{
    struct files_item *least = NULL, *forgotten = NULL;
    list_for_each (l, &s->order) {
        struct files_item *it = container_of(l, struct files_item, order);
        if (now < tick_add(it->heard, s->limits.idle) &&
            now < tick_add(it->heard, s->limits.forget))
            break; /* nor was any that follows */
        if (it == n->item || !is_in(it, scope, &n->from))
            continue;
        if (now >= tick_add(it->heard, s->limits.idle) && has_hardly_grown(it) &&
            (least == NULL || it->held < least->held))
            least = it;
        if (forgotten == NULL && now >= tick_add(it->heard, s->limits.forget))
            forgotten = it;
    }
    return least != NULL ? least : forgotten;
}

/* If the source's share is exhausted, its own files are removed; if its neighbour's share is, that
 * neighbour's files. So other sources lose nothing. Returns the limit that is still exceeded;
 * SCOPE_NONE: there is space. */
static enum scope make_room(struct files_shelf *s, const struct need *n, tick now)
{
    enum scope scope;
    while ((scope = find_short(s, n)) != SCOPE_NONE) {
        struct files_item *it = find_least(s, scope, n, now);
        if (it == NULL)
            return scope;
        s->displaced++;
        files_shelf_drop(s, it);
    }
    return SCOPE_NONE;
}

static int make_data(const struct files_shelf *s, const struct files_item *it)
{
    char hex[FILES_HEX];
    files_journal_hex(it->key, hex);
    int fd = openat(s->state, hex, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return helio_from_errno(errno);
    int rc = ftruncate(fd, (off_t)it->size) != 0 ? helio_from_errno(errno) : 0;
    close(fd);
    return rc;
}

int files_shelf_begin(struct files_shelf *s, const struct files_head *h,
                      const struct files_from *from, tick now, struct files_item **out)
{
    const struct need need = {.from = *from};
    const enum scope scope = h->size > s->limits.space_max ? SCOPE_ALL : make_room(s, &need, now);
    if (scope != SCOPE_NONE)
        return scope == SCOPE_ALL ? HELIO_EAGAIN : HELIO_EEXIST;
    struct files_item *it = new_item();
    if (it == NULL)
        return HELIO_ENOMEM;
    memcpy(it->id, h->id, FILES_ID);
    memcpy(it->sha, h->sha, FILES_SHA);
    memcpy(it->name, h->name.data, h->name.len);
    snprintf(it->source, sizeof it->source, "%s", from->source);
    snprintf(it->neighbour, sizeof it->neighbour, "%s", from->neighbour);
    it->size = h->size;
    it->heard = now;
    if (!files_id_of_source(it->id, it->source, it->key)) {
        free_item(it);
        return HELIO_ENOMEM;
    }
    int rc = make_data(s, it);
    if (rc == 0)
        rc = files_journal_begin(s->state, it, s->limits.sync);
    if (rc == 0)
        rc = enter_item(s, it);
    if (rc != 0) {
        unlink_item(s, it);
        free_item(it);
        return rc;
    }
    *out = it;
    return 0;
}

static int write_bytes(const struct files_shelf *s, const struct files_item *it, uint64_t offset,
                       struct slice body)
{
    char hex[FILES_HEX];
    int rc = 0;
    files_journal_hex(it->key, hex);
    int fd = openat(s->state, hex, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return helio_from_errno(errno);
    while (rc == 0 && body.len > 0) {
        ssize_t n = pwrite(fd, body.data, body.len, (off_t)offset);
        if (n < 0 && errno != EINTR)
            rc = helio_from_errno(errno);
        size_t done = n > 0 ? (size_t)n : 0;
        body = slice_of(body.data + done, body.len - done);
        offset += done;
    }
    if (rc == 0 && s->limits.sync && fdatasync(fd) != 0)
        rc = helio_from_errno(errno);
    close(fd);
    return rc;
}

/* How many of the bytes [lo, hi) are missing. */
static uint64_t count_missing(const struct files_item *it, uint64_t lo, uint64_t hi)
{
    struct range gap;
    uint64_t n = 0;
    for (uint64_t at = lo; at < hi && ranges_gap(&it->have, at, hi, &gap) == 1; at = gap.hi)
        n += gap.hi - gap.lo;
    return n;
}

static void count_bytes(struct files_shelf *s, struct files_item *it, uint64_t bytes)
{
    it->grown = it->grown || it->held > 0;
    it->held += bytes;
    s->space += bytes;
    files_sources_grow(&s->sources, it->source, bytes);
    files_sources_grow(&s->neighbours, it->neighbour, bytes);
}

int files_shelf_write(struct files_shelf *s, struct files_item *it, uint64_t offset,
                      struct slice body, tick now)
{
    assert(offset <= it->size && body.len <= it->size - offset);
    const uint64_t end = offset + body.len;
    const struct need need = {
        .from = {it->source, it->neighbour}, .item = it, .bytes = count_missing(it, offset, end)};
    if (need.bytes > 0) {
        const enum scope scope = make_room(s, &need, now);
        if (scope != SCOPE_NONE)
            return scope == SCOPE_ALL ? FILES_NO_ROOM : FILES_NO_SHARE;
    }
    it->heard = now;
    list_sub(&it->order);
    list_add_tail(&s->order, &it->order);
    if (need.bytes == 0)
        return FILES_REPEATED;
    if (it->have.len >= FILES_RANGES_MAX)
        return HELIO_EAGAIN;
    int rc = write_bytes(s, it, offset, body);
    if (rc == 0)
        rc = files_journal_add(s->state, it, offset, end, s->limits.sync);
    if (rc == 0)
        rc = ranges_add(&it->have, offset, end, FILES_RANGES_MAX);
    if (rc < 0)
        return rc;
    count_bytes(s, it, need.bytes);
    return FILES_WRITTEN;
}

/* ---- the end of an item ---- */

/* Ends the transfer for all sources that have sent some of it. */
static int remember_item(struct files_shelf *s, struct files_item *it)
{
    uint8_t id[FILES_ID];
    memcpy(id, it->id, FILES_ID);
    int rc = files_done_add(&s->done, id, s->limits.sync);
    while (rc == 0 && (it = find_item(s, id, NULL)) != NULL)
        files_shelf_drop(s, it);
    return rc;
}

int files_shelf_finish(struct files_shelf *s, struct files_item *it, char name[FILES_NAME_MAX + 16])
{
    char hex[FILES_HEX];
    assert(files_item_whole(it));
    files_journal_hex(it->key, hex);
    int rc = files_shelf_check_part(s, it, UINT64_MAX);
    if (rc == 0)
        rc = files_journal_placing(s->state, it, s->limits.sync);
    if (rc == 0)
        rc = files_place_link(s->state, hex, s->dir, it->name, s->limits.sync, name);
    if (rc == HELIO_EFORMAT || rc == HELIO_EINVAL)
        files_shelf_drop(s, it);
    return rc == 0 ? remember_item(s, it) : rc;
}

/* ---- the start ---- */

/* Had the last process linked it to its name already? */
static bool was_placed(const struct files_shelf *s, const struct files_item *it)
{
    struct stat st;
    char hex[FILES_HEX];
    files_journal_hex(it->key, hex);
    return fstatat(s->state, hex, &st, AT_SYMLINK_NOFOLLOW) != 0 || st.st_nlink > 1;
}

/* An item of the last process, which the shelf takes. */
static int resume_item(struct files_shelf *s, struct files_item *it, bool placing)
{
    char name[FILES_NAME_MAX + 16];
    struct stat st;
    char hex[FILES_HEX];
    files_journal_hex(it->key, hex);
    bool there = fstatat(s->state, hex, &st, AT_SYMLINK_NOFOLLOW) == 0;
    int rc = enter_item(s, it);
    if (rc != 0) {
        free_item(it);
        return rc;
    }
    if (files_done_has(&s->done, it->id) || (!there && !placing)) {
        files_shelf_drop(s, it);
        return 0;
    }
    s->completed += files_item_whole(it);
    if (placing && was_placed(s, it))
        return remember_item(s, it);
    if (!files_item_whole(it) || s->limits.turn_bytes > 0)
        return 0;
    rc = files_shelf_finish(s, it, name);
    return rc == HELIO_EFORMAT || rc == HELIO_EINVAL ? 0 : rc;
}

static void remove_unreadable(struct files_shelf *s, const char *journal)
{
    char hex[FILES_HEX];
    snprintf(hex, sizeof hex, "%.*s", FILES_HEX - 1, journal);
    s->unreadable++;
    (void)unlinkat(s->state, hex, 0);
    (void)unlinkat(s->state, journal, 0);
}

static bool is_named(const uint8_t key[FILES_ID], const char *journal)
{
    char name[FILES_JOURNAL_NAME];
    files_journal_name(key, name);
    return strcmp(name, journal) == 0;
}

/* Is what the journal says its own: its id, and its name (of an earlier version: the id)? Then it
 * gets its key. 0, HELIO_EFORMAT, or HELIO_ENOMEM. */
static int judge_journal(const struct files_shelf *s, struct files_item *it, const char *journal)
{
    struct files_head h = {.size = it->size, .name = slice_of(it->name, strlen(it->name))};
    uint8_t right[FILES_ID];
    memcpy(h.sha, it->sha, FILES_SHA);
    if (!files_id_make(&h, right) || !files_id_of_source(it->id, it->source, it->key))
        return HELIO_ENOMEM;
    if (memcmp(right, it->id, FILES_ID) != 0 || files_shelf_find(s, it->id, it->source) != NULL)
        return HELIO_EFORMAT;
    if (!is_named(it->key, journal))
        memcpy(it->key, it->id, FILES_ID);
    return is_named(it->key, journal) ? 0 : HELIO_EFORMAT;
}

static int load_item(struct files_shelf *s, const char *journal)
{
    bool placing = false;
    struct files_item *it = new_item();
    if (it == NULL)
        return HELIO_ENOMEM;
    int rc = files_journal_load(s->state, journal, it, &placing);
    if (rc == 0)
        rc = judge_journal(s, it, journal);
    if (rc == 0)
        return resume_item(s, it, placing);
    free_item(it);
    if (rc != HELIO_EFORMAT)
        return rc;
    remove_unreadable(s, journal);
    return 0;
}

static bool is_journal(const char *name)
{
    return strlen(name) == FILES_JOURNAL_NAME - 1 &&
           strspn(name, "0123456789abcdef") == FILES_HEX - 1 &&
           strcmp(name + FILES_HEX - 1, ".log") == 0;
}

static int load_items(struct files_shelf *s)
{
    int fd = openat(s->state, ".", FOLDER);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (d == NULL) {
        int rc = helio_from_errno(errno);
        if (fd >= 0)
            close(fd);
        return rc;
    }
    int rc = 0;
    for (const struct dirent *e; rc == 0 && (e = readdir(d)) != NULL;)
        if (is_journal(e->d_name))
            rc = load_item(s, e->d_name);
    closedir(d);
    return rc;
}

static int open_folders(struct files_shelf *s, const char *path)
{
    s->dir = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    if (s->dir < 0)
        return helio_from_errno(errno);
    if (mkdirat(s->dir, FILES_FOLDER, 0700) != 0 && errno != EEXIST)
        return helio_from_errno(errno);
    s->state = openat(s->dir, FILES_FOLDER, FOLDER);
    if (s->state < 0)
        return helio_from_errno(errno);
    s->lock = openat(s->state, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (s->lock < 0)
        return helio_from_errno(errno);
    if (flock(s->lock, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? HELIO_EEXIST : helio_from_errno(errno);
    return 0;
}

int files_shelf_open(struct files_shelf *s, const char *path, const struct files_limits *limits,
                     uint64_t seed)
{
    *s = (struct files_shelf){.limits = *limits, .dir = -1, .state = -1, .lock = -1};
    s->done.fd = -1;
    list_init(&s->order);
    list_init(&s->done.order);
    int rc = hash_init(&s->items, seed);
    if (rc == 0)
        rc = files_sources_init(&s->sources, ~seed);
    if (rc == 0)
        rc = files_sources_init(&s->neighbours, ~seed);
    if (rc == 0)
        rc = open_folders(s, path);
    if (rc == 0)
        rc = files_done_open(&s->done, s->state, DONE, seed);
    if (rc == 0)
        (void)unlinkat(s->state, DONE_0, 0);
    return rc == 0 ? load_items(s) : rc;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void files_shelf_close(struct files_shelf *s)
{
    list_for_each_safe (it, &s->order)
        forget_item(s, container_of(it, struct files_item, order));
    hash_fini(&s->items);
    files_sources_fini(&s->sources);
    files_sources_fini(&s->neighbours);
    files_done_fini(&s->done);
    close_fd(&s->lock);
    close_fd(&s->state);
    close_fd(&s->dir);
}

/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

void files_shelf_check(const struct files_shelf *s)
{
    uint64_t space = 0, n = 0;
    list_for_each (l, &s->order) {
        const struct files_item *it = container_of(l, struct files_item, order);
        ranges_check(&it->have);
        assert(it->have.len == 0 || it->have.at[it->have.len - 1].hi <= it->size);
        assert(!files_done_has(&s->done, it->id));
        assert(files_shelf_find(s, it->id, it->source) == it);
        assert(files_sources_find(&s->sources, it->source) != NULL);
        assert(files_sources_find(&s->neighbours, it->neighbour) != NULL);
        assert(it->held == ranges_bytes(&it->have));
        space += it->held;
        n++;
    }
    assert(space == s->space && n == s->items.len);
    assert(n <= s->limits.items_max || s->limits.items_max == 0);
}
