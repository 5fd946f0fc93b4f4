/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record: length 4, CRC-32C of the rest 4, then the entry; type 0 forgets its name. What can go
 * wrong: a record that the end of the process cut off, with which reading ends, and what follows
 * takes its place; a full disk.
 */
#include "tools/sync/sync_table.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc.h"
#include "base/err.h"

#define FILE_NAME "table"
#define FOLDER (O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
#define RECORD_MAX (8 + 128 + 2 * FILES_SHA + FILES_SOURCE_MAX + FILES_NAME_MAX)
#define REWRITE_LEAST 4096 /* records for which the file is not rewritten */

/* ---- entries ---- */

static uint64_t hash_name(const struct sync_table *t, const char *name)
{
    return hash_bytes(t->names.seed, name, strlen(name));
}

static uint64_t hash_sha(const struct sync_table *t, const uint8_t sha[FILES_SHA])
{
    return hash_bytes(t->shas.seed, sha, FILES_SHA);
}

struct sync_entry *sync_table_find(const struct sync_table *t, const char *name)
{
    struct hash_node *n = hash_find(&t->names, hash_name(t, name));
    for (; n != NULL; n = hash_next(n)) {
        struct sync_entry *e = container_of(n, struct sync_entry, by_name);
        if (strcmp(e->name, name) == 0)
            return e;
    }
    return NULL;
}

struct sync_entry *sync_table_version(const struct sync_table *t, uint64_t version,
                                      const char *source)
{
    struct hash_node *n = hash_find(&t->versions, hash_mix(t->versions.seed, version, 0));
    for (; n != NULL; n = hash_next(n)) {
        struct sync_entry *e = container_of(n, struct sync_entry, by_version);
        if (e->version == version && strcmp(e->source, source) == 0)
            return e;
    }
    return NULL;
}

struct sync_entry *sync_table_sha(const struct sync_table *t, const uint8_t sha[FILES_SHA],
                                  const struct sync_entry *but, const struct sync_entry *after)
{
    struct hash_node *n =
        after != NULL ? hash_next(&after->by_sha) : hash_find(&t->shas, hash_sha(t, sha));
    for (; n != NULL; n = hash_next(n)) {
        struct sync_entry *e = container_of(n, struct sync_entry, by_sha);
        if (e != but && memcmp(e->placed.sha, sha, FILES_SHA) == 0)
            return e;
    }
    return NULL;
}

/* ---- owners ---- */

struct sync_owner *sync_table_owner(const struct sync_table *t, const char *source)
{
    struct hash_node *n = hash_find(&t->owners, hash_bytes(t->owners.seed, source, strlen(source)));
    for (; n != NULL; n = hash_next(n)) {
        struct sync_owner *o = container_of(n, struct sync_owner, node);
        if (strcmp(o->name, source) == 0)
            return o;
    }
    return NULL;
}

bool sync_table_room(const struct sync_table *t, const struct sync_owner *o, uint64_t before,
                     uint64_t size, uint64_t all, uint64_t share)
{
    const uint64_t others = t->bytes - before, own = o != NULL ? o->bytes - before : 0;
    return size <= share && own <= share - size && size <= all && others <= all - size;
}

uint64_t sync_share_of(uint64_t limit, unsigned percent)
{
    const uint64_t part = limit / 100 * percent + limit % 100 * percent / 100;
    return percent == 0 ? limit : part > 0 ? part : 1;
}

static struct sync_owner *add_owner(struct sync_table *t, const char *source)
{
    const size_t len = strlen(source) + 1;
    struct sync_owner *o = calloc(1, sizeof *o + len);
    if (o == NULL)
        return NULL;
    memcpy(o->name, source, len);
    list_init(&o->works);
    list_init(&o->busy);
    list_init(&o->gone);
    hash_add(&t->owners, &o->node, hash_bytes(t->owners.seed, source, len - 1));
    return o;
}

bool sync_entry_gone(const struct sync_entry *e)
{
    return e->type == SYNC_GONE && e->state == SYNC_APPLIED && !e->placed.there;
}

static void sub_gone(struct sync_table *t, struct sync_entry *e)
{
    if (list_empty(&e->gone))
        return;
    list_sub(&e->gone);
    e->owner->gone_len--;
    t->gone_len--;
}

/* It is complete: does it count as gone? */
static void note_gone(struct sync_table *t, struct sync_entry *e)
{
    if (!sync_entry_gone(e))
        sub_gone(t, e);
    else if (list_empty(&e->gone)) {
        list_add_tail(&e->owner->gone, &e->gone);
        e->owner->gone_len++;
        t->gone_len++;
    }
}

static void leave_owner(struct sync_table *t, struct sync_entry *e)
{
    if (e->owner != NULL)
        sub_gone(t, e);
    struct sync_owner *o = e->owner;
    e->owner = NULL;
    if (o == NULL)
        return;
    o->bytes -= e->placed.there ? e->placed.size : 0;
    if (--o->names > 0)
        return;
    assert(list_empty(&o->works) && list_empty(&o->busy) && list_empty(&o->gone));
    hash_sub(&t->owners, &o->node);
    free(o);
}

int sync_table_set_source(struct sync_table *t, struct sync_entry *e, const char *source)
{
    struct sync_owner *o = sync_table_owner(t, source);
    if (o != NULL && o == e->owner)
        return 0;
    if (o == NULL && (o = add_owner(t, source)) == NULL)
        return HELIO_ENOMEM;
    leave_owner(t, e);
    e->owner = o;
    e->source = o->name;
    o->names++;
    o->bytes += e->placed.there ? e->placed.size : 0;
    return 0;
}

struct sync_entry *sync_table_add(struct sync_table *t, const char *name)
{
    const size_t len = strlen(name) + 1;
    struct sync_entry *e = calloc(1, sizeof *e + len);
    assert(sync_table_find(t, name) == NULL && len <= FILES_NAME_MAX + 1);
    if (e == NULL)
        return NULL;
    memcpy(e->name, name, len);
    list_init(&e->gone);
    if (sync_table_set_source(t, e, "") != 0) {
        free(e);
        return NULL;
    }
    hash_add(&t->names, &e->by_name, hash_name(t, name));
    return e;
}

void sync_table_set_version(struct sync_table *t, struct sync_entry *e, uint64_t version)
{
    if (e->version != 0)
        hash_sub(&t->versions, &e->by_version);
    e->version = version;
    if (version != 0)
        hash_add(&t->versions, &e->by_version, hash_mix(t->versions.seed, version, 0));
    t->newest = version > t->newest ? version : t->newest;
    e->owner->newest = version > e->owner->newest ? version : e->owner->newest;
}

void sync_table_set_placed(struct sync_table *t, struct sync_entry *e,
                           const struct sync_placed *placed)
{
    if (e->placed.there) {
        hash_sub(&t->shas, &e->by_sha);
        t->bytes -= e->placed.size;
        e->owner->bytes -= e->placed.size;
    }
    e->placed = placed != NULL ? *placed : (struct sync_placed){0};
    if (e->placed.there) {
        hash_add(&t->shas, &e->by_sha, hash_sha(t, e->placed.sha));
        t->bytes += e->placed.size;
        e->owner->bytes += e->placed.size;
    }
}

static uint64_t mtime_of(const struct stat *st)
{
    const int64_t ns = st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec;
    return ns > 0 ? (uint64_t)ns : 0;
}

bool sync_placed_is(const struct sync_placed *p, const struct stat *st)
{
    return p->there && S_ISREG(st->st_mode) && p->ino == st->st_ino &&
           p->size == (uint64_t)st->st_size && p->mtime == mtime_of(st);
}

struct sync_placed sync_placed_of(const struct stat *st, const uint8_t sha[FILES_SHA])
{
    struct sync_placed p = {true, st->st_ino, (uint64_t)st->st_size, mtime_of(st), {0}};
    memcpy(p.sha, sha, FILES_SHA);
    return p;
}

static void free_entry(struct sync_table *t, struct sync_entry *e)
{
    sync_table_set_placed(t, e, NULL);
    sync_table_set_version(t, e, 0);
    hash_sub(&t->names, &e->by_name);
    leave_owner(t, e);
    free(e);
}

/* ---- records ---- */

static size_t write_record(const struct sync_entry *e, bool forget, uint8_t out[RECORD_MAX])
{
    struct writer w = writer_of(out + 8, RECORD_MAX - 8);
    writer_number(&w, forget ? 0 : e->type, 1);
    writer_number(&w, e->state, 1);
    writer_number(&w, e->reason, 1);
    writer_number(&w, (e->executable ? 1u : 0u) | (e->placed.there ? 2u : 0u), 1);
    writer_number(&w, e->version, 8);
    writer_number(&w, e->size, 8);
    writer_number(&w, e->mtime, 8);
    writer_number(&w, e->placed.ino, 8);
    writer_number(&w, e->placed.size, 8);
    writer_number(&w, e->placed.mtime, 8);
    writer_bytes(&w, e->sha, FILES_SHA);
    writer_bytes(&w, e->placed.sha, FILES_SHA);
    writer_number(&w, strlen(e->source), 2);
    writer_number(&w, strlen(e->name), 2);
    writer_bytes(&w, e->source, strlen(e->source));
    writer_bytes(&w, e->name, strlen(e->name));
    assert(!w.bad);
    struct writer head = writer_of(out, 8);
    writer_number(&head, writer_len(&w), 4);
    writer_number(&head, crc32c(0, out + 8, writer_len(&w)), 4);
    return 8 + writer_len(&w);
}

static void take_text(struct reader *r, uint64_t len, char *out, size_t room)
{
    struct slice s = reader_take(r, len);
    if (len >= room)
        r->bad = true;
    else
        snprintf(out, room, "%.*s", (int)s.len, s.data != NULL ? (const char *)s.data : "");
}

static void take_sha(struct reader *r, uint8_t out[FILES_SHA])
{
    struct slice s = reader_take(r, FILES_SHA);
    if (s.len == FILES_SHA)
        memcpy(out, s.data, FILES_SHA);
}

/* 0, HELIO_ENOMEM, or HELIO_EFORMAT. */
static int load_record(struct sync_table *t, struct slice record)
{
    struct reader r = reader_of(record.data, record.len);
    const unsigned type = (unsigned)reader_number(&r, 1), state = (unsigned)reader_number(&r, 1);
    const uint32_t reason = (uint32_t)reader_number(&r, 1);
    const unsigned flags = (unsigned)reader_number(&r, 1);
    const uint64_t version = reader_number(&r, 8), size = reader_number(&r, 8);
    const uint64_t mtime = reader_number(&r, 8);
    struct sync_placed placed = {.there = (flags & 2) != 0};
    uint8_t sha[FILES_SHA];
    char source[FILES_SOURCE_MAX], name[FILES_NAME_MAX + 1];
    placed.ino = reader_number(&r, 8);
    placed.size = reader_number(&r, 8);
    placed.mtime = reader_number(&r, 8);
    take_sha(&r, sha);
    take_sha(&r, placed.sha);
    const uint64_t source_len = reader_number(&r, 2), name_len = reader_number(&r, 2);
    take_text(&r, source_len, source, sizeof source);
    take_text(&r, name_len, name, sizeof name);
    if (r.bad || type > SYNC_GONE || state > SYNC_REFUSED)
        return HELIO_EFORMAT;
    struct sync_entry *e = sync_table_find(t, name);
    if (type == 0) {
        if (e != NULL)
            free_entry(t, e);
        return 0;
    }
    if (e == NULL && (e = sync_table_add(t, name)) == NULL)
        return HELIO_ENOMEM;
    e->type = (enum sync_type)type;
    e->state = (enum sync_state)state;
    e->reason = reason;
    e->executable = (flags & 1) != 0;
    e->size = size;
    e->mtime = mtime;
    memcpy(e->sha, sha, FILES_SHA);
    if (sync_table_set_source(t, e, source) != 0)
        return HELIO_ENOMEM;
    sync_table_set_version(t, e, version);
    sync_table_set_placed(t, e, placed.there ? &placed : NULL);
    note_gone(t, e);
    return 0;
}

/* The next record of a file. Its length with its head; 0: there is none that is sound. */
static size_t read_record(FILE *f, uint8_t bytes[RECORD_MAX])
{
    if (fread(bytes, 1, 8, f) != 8)
        return 0;
    const uint64_t len = number_at(bytes, 4);
    if (len == 0 || len > RECORD_MAX - 8 || fread(bytes + 8, 1, len, f) != len ||
        crc32c(0, bytes + 8, len) != (uint32_t)number_at(bytes + 4, 4))
        return 0;
    return 8 + len;
}

static int load_file(struct sync_table *t)
{
    uint8_t bytes[RECORD_MAX];
    off_t sound = 0;
    int rc = 0, copy = fcntl(t->fd, F_DUPFD_CLOEXEC, 0);
    FILE *f = copy >= 0 ? fdopen(copy, "r") : NULL;
    if (f == NULL) {
        rc = helio_from_errno(errno);
        if (copy >= 0)
            close(copy);
        return rc;
    }
    for (size_t len; rc == 0 && (len = read_record(f, bytes)) > 0;) {
        rc = load_record(t, slice_of(bytes + 8, len - 8));
        sound += rc == 0 ? (off_t)len : 0;
        t->records++;
    }
    (void)fclose(f);
    rc = rc == HELIO_EFORMAT ? 0 : rc;
    if (rc == 0 && (ftruncate(t->fd, sound) != 0 || lseek(t->fd, 0, SEEK_END) < 0))
        rc = helio_from_errno(errno);
    return rc;
}

static int append_bytes(int fd, const uint8_t *bytes, size_t len)
{
    const ssize_t n = write(fd, bytes, len);
    return n == (ssize_t)len ? 0 : n < 0 ? helio_from_errno(errno) : HELIO_ESPACE;
}

/* Those that are gone, of each owner the oldest first: so they are read again. */
static int write_gone(const struct sync_table *t, int fd)
{
    uint8_t bytes[RECORD_MAX];
    int rc = 0;
    for (struct hash_node *n = hash_walk(&t->owners, NULL); rc == 0 && n != NULL;
         n = hash_walk(&t->owners, n)) {
        const struct sync_owner *o = container_of(n, struct sync_owner, node);
        list_for_each (it, &o->gone)
            rc = rc != 0 ? rc
                         : append_bytes(fd, bytes,
                                        write_record(container_of(it, struct sync_entry, gone),
                                                     false, bytes));
    }
    return rc;
}

/* A new file with the entries that are known takes the old one's place. */
static int rewrite_file(struct sync_table *t)
{
    uint8_t bytes[RECORD_MAX];
    int fd = openat(t->dir, FILE_NAME ".new",
                    O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    int rc = fd < 0 ? helio_from_errno(errno) : 0;
    for (struct hash_node *n = hash_walk(&t->names, NULL); rc == 0 && n != NULL;
         n = hash_walk(&t->names, n)) {
        const struct sync_entry *e = container_of(n, struct sync_entry, by_name);
        rc = list_empty(&e->gone) ? append_bytes(fd, bytes, write_record(e, false, bytes)) : 0;
    }
    rc = rc == 0 ? write_gone(t, fd) : rc;
    if (rc == 0 && (fsync(fd) != 0 || renameat(t->dir, FILE_NAME ".new", t->dir, FILE_NAME) != 0))
        rc = helio_from_errno(errno);
    if (rc != 0) {
        if (fd >= 0)
            close(fd);
        return rc;
    }
    close(t->fd);
    t->fd = fd;
    t->records = t->names.len;
    return 0;
}

static int append_record(struct sync_table *t, const struct sync_entry *e, bool forget)
{
    uint8_t bytes[RECORD_MAX];
    int rc = append_bytes(t->fd, bytes, write_record(e, forget, bytes));
    t->records++;
    return rc;
}

static int trim_file(struct sync_table *t)
{
    return t->records > REWRITE_LEAST + 4 * t->names.len ? rewrite_file(t) : 0;
}

int sync_table_save(struct sync_table *t, struct sync_entry *e)
{
    note_gone(t, e);
    int rc = append_record(t, e, false);
    return rc == 0 ? trim_file(t) : rc;
}

int sync_table_forget(struct sync_table *t, struct sync_entry *e)
{
    int rc = e->version != 0 ? append_record(t, e, true) : 0;
    if (rc != 0)
        return rc;
    free_entry(t, e);
    return trim_file(t);
}

int sync_table_limit_gone(struct sync_table *t, struct sync_owner *o, uint64_t all, unsigned share)
{
    const uint64_t own = sync_share_of(all, share);
    while (o->gone_len > own || (t->gone_len > all && o->gone_len > 0)) {
        const bool last = o->names == 1; /* then the owner is forgotten, too */
        int rc = sync_table_forget(t, container_of(list_first(&o->gone), struct sync_entry, gone));
        if (rc != 0 || last)
            return rc;
    }
    return 0;
}

int sync_table_sync(struct sync_table *t)
{
    return fdatasync(t->fd) == 0 ? 0 : helio_from_errno(errno);
}

/* ---- open and close ---- */

/* A folder that is made when it is not there. The descriptor or HELIO_E*. */
static int make_folder(int at, const char *part)
{
    if (mkdirat(at, part, 0700) != 0 && errno != EEXIST)
        return helio_from_errno(errno);
    int fd = openat(at, part, FOLDER);
    return fd >= 0 ? fd : helio_from_errno(errno);
}

static int open_files(struct sync_table *t, int folder, const char *part)
{
    int top = make_folder(folder, SYNC_FOLDER);
    if (top < 0)
        return top;
    int dir = make_folder(top, part);
    close(top);
    if (dir < 0)
        return dir;
    t->dir = dir;
    t->lock = openat(t->dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (t->lock < 0)
        return helio_from_errno(errno);
    if (flock(t->lock, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? HELIO_EEXIST : helio_from_errno(errno);
    t->fd = openat(t->dir, FILE_NAME, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    return t->fd >= 0 ? 0 : helio_from_errno(errno);
}

int sync_table_open(struct sync_table *t, int folder, const char *part, uint64_t seed)
{
    *t = (struct sync_table){.dir = -1, .lock = -1, .fd = -1};
    int rc = hash_init(&t->names, seed);
    rc = rc == 0 ? hash_init(&t->versions, seed + 1) : rc;
    rc = rc == 0 ? hash_init(&t->shas, seed + 2) : rc;
    rc = rc == 0 ? hash_init(&t->owners, seed + 3) : rc;
    rc = rc == 0 ? open_files(t, folder, part) : rc;
    rc = rc == 0 ? load_file(t) : rc;
    return rc == 0 ? trim_file(t) : rc;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

struct sync_entry *sync_table_next(const struct sync_table *t, const struct sync_entry *e)
{
    if (t->names.slots == NULL) /* it was not opened */
        return NULL;
    struct hash_node *n = hash_walk(&t->names, e != NULL ? &e->by_name : NULL);
    return n != NULL ? container_of(n, struct sync_entry, by_name) : NULL;
}

void sync_table_close(struct sync_table *t)
{
    for (struct sync_entry *e = sync_table_next(t, NULL), *next; e != NULL; e = next) {
        next = sync_table_next(t, e);
        free_entry(t, e);
    }
    hash_fini(&t->names);
    hash_fini(&t->versions);
    hash_fini(&t->shas);
    hash_fini(&t->owners);
    close_fd(&t->fd);
    close_fd(&t->lock);
    close_fd(&t->dir);
}

/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

void sync_table_check(const struct sync_table *t)
{
    uint64_t bytes = 0, placed = 0, versions = 0, left = 0;
    for (struct hash_node *n = hash_walk(&t->names, NULL); n != NULL; n = hash_walk(&t->names, n)) {
        const struct sync_entry *e = container_of(n, struct sync_entry, by_name);
        assert(sync_table_find(t, e->name) == e && e->version <= t->newest);
        bytes += e->placed.there ? e->placed.size : 0;
        placed += e->placed.there;
        versions += e->version != 0;
        left += sync_entry_gone(e);
    }
    assert(bytes == t->bytes && placed == t->shas.len && versions == t->versions.len);
    uint64_t owned = 0, names = 0, gone = 0, listed = 0;
    for (struct hash_node *n = hash_walk(&t->owners, NULL); n != NULL;
         n = hash_walk(&t->owners, n)) {
        const struct sync_owner *o = container_of(n, struct sync_owner, node);
        assert(o->names > 0 && o->newest <= t->newest);
        names += o->names;
        owned += o->bytes;
        gone += o->gone_len;
        list_for_each (it, &o->gone)
            listed += container_of(it, struct sync_entry, gone)->owner == o;
    }
    assert(gone == t->gone_len && listed == gone && left == gone);
    assert(owned == t->bytes && names == t->names.len);
}
