/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that arrives is written in the state folder, and gets its name by a link, so that a name
 * never has half a file. What can go wrong: a name that is refused, a disk that is full, a process
 * that was killed (store_restore).
 */
#include "tools/cfdp/cfdp_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "tools/cfdp/cfdp_store_private.h"
#include "tools/files/files_place.h"

#define FOLDER (O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
#define RESERVE 64 /* transaction numbers that are reserved at once */

bool store_name_good(const char **name)
{
    while (**name == '/')
        (*name)++;
    const struct slice s = slice_of(*name, strlen(*name));
    return files_name_good(s, false) && !files_name_own(s);
}

int store_parent(const struct cfdp_store *s, const char *name, bool make, const char **last)
{
    return store_name_good(&name) ? files_place_parent(s->root, name, make, last) : HELIO_EINVAL;
}

void store_state_name(struct cfdp_id id, const char *kind, char out[STORE_NAME])
{
    snprintf(out, STORE_NAME, "%" PRIu64 "-%" PRIu64 ".%s", id.source, id.sequence, kind);
}

/* ---- the folder ---- */

/* Numbers that no earlier process with this entity id has used: a peer may still know them. */
static uint64_t new_sequence(void)
{
    const time_t now = time(NULL);
    return now > 1 ? (uint64_t)now : 1;
}

static int read_sequence(struct cfdp_store *s)
{
    char text[32] = "";
    const int fd = openat(s->state, "sequence", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : helio_from_errno(errno);
    const ssize_t n = read(fd, text, sizeof text - 1);
    const int rc = n < 0 ? helio_from_errno(errno) : 0;
    s->sequence = strtoull(text, NULL, 10);
    if (s->sequence == 0) /* lost with the power: higher than any number that was used */
        s->sequence = new_sequence();
    close(fd);
    return rc;
}

int store_open(struct cfdp_store *s, const char *path, bool overwrite, bool sync)
{
    *s = (struct cfdp_store){.root = -1, .state = -1, .lock = -1};
    s->overwrite = overwrite;
    s->sync = sync;
    s->sequence = new_sequence();
    s->root = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    if (s->root < 0)
        return helio_from_errno(errno);
    if (mkdirat(s->root, STORE_FOLDER, 0700) != 0 && errno != EEXIST)
        return helio_from_errno(errno);
    s->state = openat(s->root, STORE_FOLDER, FOLDER);
    if (s->state < 0)
        return helio_from_errno(errno);
    s->lock = openat(s->state, "lock", O_CREAT | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (s->lock < 0)
        return helio_from_errno(errno);
    if (flock(s->lock, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? HELIO_EEXIST : helio_from_errno(errno);
    return read_sequence(s);
}

void store_close(struct cfdp_store *s)
{
    const int all[] = {s->lock, s->state, s->root};
    for (size_t i = 0; i < 3; i++)
        if (all[i] >= 0)
            close(all[i]);
    s->root = s->state = s->lock = -1;
}

/* ---- files ---- */

static int wrap_file(int fd, void **file)
{
    struct store_file *f = fd < 0 ? NULL : calloc(1, sizeof *f);
    if (f == NULL) {
        const int rc = fd < 0 ? fd : HELIO_ENOMEM;
        if (fd >= 0)
            close(fd);
        return rc;
    }
    f->fd = fd;
    *file = f;
    return 0;
}

/* A regular file, without waiting for a pipe's writer. */
static int open_regular(const struct cfdp_store *s, const char *name, uint64_t *size)
{
    struct stat st;
    const char *last;
    const int parent = store_parent(s, name, false, &last);
    if (parent < 0)
        return parent;
    const int fd = openat(parent, last, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const int error = errno;
    close(parent);
    if (fd < 0)
        return error == ELOOP ? HELIO_EINVAL : helio_from_errno(error);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return HELIO_EINVAL;
    }
    *size = (uint64_t)st.st_size;
    return fd;
}

static int open_source(void *context, struct cfdp_id id, const char *name, bool listing,
                       uint64_t *size, void **file)
{
    struct cfdp_store *s = context;
    const int fd = listing ? store_list(s, id, name, size) : open_regular(s, name, size);
    const int rc = wrap_file(fd, file);
    if (rc == 0)
        ((struct store_file *)*file)->listing = listing;
    return rc;
}

static int open_partial(void *context, struct cfdp_id id, void **file)
{
    struct cfdp_store *s = context;
    char name[STORE_NAME];
    store_state_name(id, "part", name);
    const int fd = openat(s->state, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    const int rc = wrap_file(fd < 0 ? helio_from_errno(errno) : fd, file);
    if (rc == 0)
        ((struct store_file *)*file)->partial = true;
    return rc;
}

static int64_t read_file(void *context, void *file, uint64_t offset, uint8_t *out, size_t len)
{
    const struct store_file *f = file;
    size_t done = 0;
    (void)context;
    while (done < len) {
        const ssize_t n = pread(f->fd, out + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return helio_from_errno(errno);
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (int64_t)done;
}

static int write_file(void *context, void *file, uint64_t offset, struct slice octets)
{
    const struct store_file *f = file;
    (void)context;
    while (octets.len > 0) {
        const ssize_t n = pwrite(f->fd, octets.data, octets.len, (off_t)offset);
        if (n < 0 && errno != EINTR)
            return helio_from_errno(errno);
        const size_t done = n > 0 ? (size_t)n : 0;
        octets = slice_of(octets.data + done, octets.len - done);
        offset += done;
    }
    return 0;
}

/* A file system that cannot do this leaves all to the end. */
static int settle_file(void *context, void *file, uint64_t offset, uint64_t len)
{
    const struct cfdp_store *s = context;
    const struct store_file *f = file;
    const unsigned all =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    if (!s->sync || sync_file_range(f->fd, (off_t)offset, (off_t)len, all) == 0)
        return 0;
    return errno == EIO || errno == ENOSPC ? helio_from_errno(errno) : 0;
}

/* Has this name the file already? A process that was killed had given it. */
static bool is_placed(int fd, int parent, const char *last)
{
    struct stat ours, other;
    return fstat(fd, &ours) == 0 && fstatat(parent, last, &other, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_dev == other.st_dev && ours.st_ino == other.st_ino;
}

/* A second link to the partial file takes the place of the old file at once. */
static int replace_file(const struct cfdp_store *s, const char *part, int parent, const char *last)
{
    struct stat st;
    if (fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
        return HELIO_EEXIST;
    (void)unlinkat(s->state, "new", 0);
    if (linkat(s->state, part, s->state, "new", 0) != 0 ||
        renameat(s->state, "new", parent, last) != 0)
        return helio_from_errno(errno);
    return 0;
}

static int link_file(const struct cfdp_store *s, int fd, const char *part, int parent,
                     const char *last)
{
    if (is_placed(fd, parent, last))
        return 0;
    if (linkat(s->state, part, parent, last, 0) == 0)
        return 0;
    if (errno != EEXIST)
        return helio_from_errno(errno);
    return s->overwrite ? replace_file(s, part, parent, last) : HELIO_EEXIST;
}

/* The folders above the one with the file: each may have a new one. */
static int sync_folders(const struct cfdp_store *s, const char *name)
{
    char above[CFDP_NAME_MAX + 1];
    int rc = 0;
    if (!store_name_good(&name))
        return HELIO_EINVAL;
    snprintf(above, sizeof above, "%s", name);
    for (char *slash; rc == 0 && (slash = strrchr(above, '/')) != NULL;) {
        const char *last;
        *slash = '\0';
        const int folder = files_place_parent(s->root, above, false, &last);
        if (folder < 0 || fsync(folder) != 0)
            rc = folder < 0 ? folder : helio_from_errno(errno);
        if (folder >= 0)
            close(folder);
    }
    return rc;
}

static int place_file(void *context, struct cfdp_id id, void *file, const char *name, uint64_t size)
{
    struct cfdp_store *s = context;
    const struct store_file *f = file;
    char part[STORE_NAME];
    const char *last;
    if (ftruncate(f->fd, (off_t)size) != 0 || (s->sync && fdatasync(f->fd) != 0))
        return helio_from_errno(errno);
    const int parent = store_parent(s, name, true, &last);
    if (parent < 0)
        return parent;
    store_state_name(id, "part", part);
    int rc = link_file(s, f->fd, part, parent, last);
    if (rc == 0 && s->sync && fsync(parent) != 0)
        rc = helio_from_errno(errno);
    close(parent);
    return rc == 0 && s->sync ? sync_folders(s, name) : rc;
}

static void close_file(void *context, struct cfdp_id id, void *file, bool discard)
{
    struct cfdp_store *s = context;
    struct store_file *f = file;
    char name[STORE_NAME];
    close(f->fd);
    store_state_name(id, f->partial ? "part" : "list", name);
    if (discard && (f->partial || f->listing))
        (void)unlinkat(s->state, name, 0);
    free(f);
}

/* ---- journals ---- */

static int append_record(void *context, struct cfdp_id id, struct slice record)
{
    struct cfdp_store *s = context;
    uint8_t out[CFDP_RECORD_MAX + 2];
    char name[STORE_NAME];
    if (record.len > CFDP_RECORD_MAX)
        return HELIO_EINVAL;
    out[0] = (uint8_t)(record.len >> 8);
    out[1] = (uint8_t)(record.len & 0xff);
    memcpy(out + 2, record.data, record.len);
    store_state_name(id, "log", name);
    const int fd =
        openat(s->state, name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return helio_from_errno(errno);
    const ssize_t n = write(fd, out, record.len + 2);
    const int error = errno;
    close(fd);
    return n == (ssize_t)record.len + 2 ? 0 : n < 0 ? helio_from_errno(error) : HELIO_ESPACE;
}

static int write_journal(const struct cfdp_store *s, const char *name, struct slice records)
{
    const int fd =
        openat(s->state, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return helio_from_errno(errno);
    struct store_file f = {.fd = fd};
    int rc = write_file(NULL, &f, 0, records);
    if (rc == 0 && s->sync && fdatasync(fd) != 0)
        rc = helio_from_errno(errno);
    close(fd);
    return rc;
}

static int rewrite_journal(void *context, struct cfdp_id id, struct slice records)
{
    struct cfdp_store *s = context;
    char fresh[STORE_NAME], old[STORE_NAME];
    store_state_name(id, "new", fresh);
    store_state_name(id, "log", old);
    int rc = write_journal(s, fresh, records);
    if (rc == 0 && renameat(s->state, fresh, s->state, old) != 0)
        rc = helio_from_errno(errno);
    if (rc != 0)
        (void)unlinkat(s->state, fresh, 0);
    return rc;
}

static void forget_journal(void *context, struct cfdp_id id)
{
    struct cfdp_store *s = context;
    char name[STORE_NAME];
    store_state_name(id, "part", name);
    (void)unlinkat(s->state, name, 0); /* of one that is not open any more */
    store_state_name(id, "copy", name);
    (void)unlinkat(s->state, name, 0); /* of a filestore request */
    store_state_name(id, "log", name);
    (void)unlinkat(s->state, name, 0);
}

/* ---- results ---- */

/* In two files: the one before has as many as there are at most. */
static int remember_result(void *context, struct slice result)
{
    struct cfdp_store *s = context;
    struct stat st;
    int rc = 0;
    const int fd = openat(s->state, STORE_PAST, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return helio_from_errno(errno);
    struct store_file f = {.fd = fd};
    if (fstat(fd, &st) != 0)
        rc = helio_from_errno(errno);
    else /* a half record of a full disk is written over */
        rc = write_file(NULL, &f, (uint64_t)st.st_size - (uint64_t)st.st_size % result.len, result);
    close(fd);
    if (rc == 0 && st.st_size >= STORE_PAST_MAX &&
        renameat(s->state, STORE_PAST, s->state, STORE_PAST_OLD) != 0)
        rc = helio_from_errno(errno);
    return rc;
}

/* ---- numbers ---- */

static int write_sequence(struct cfdp_store *s, uint64_t number)
{
    char text[32];
    const int len = snprintf(text, sizeof text, "%" PRIu64 "\n", number);
    const int fd = openat(s->state, "sequence.new",
                          O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return helio_from_errno(errno);
    int rc = write(fd, text, (size_t)len) == len ? 0 : HELIO_ESPACE;
    if (rc == 0 && s->sync && fdatasync(fd) != 0)
        rc = helio_from_errno(errno);
    close(fd);
    if (rc == 0 && renameat(s->state, "sequence.new", s->state, "sequence") != 0)
        rc = helio_from_errno(errno);
    if (rc == 0 && s->sync && fsync(s->state) != 0)
        rc = helio_from_errno(errno);
    return rc;
}

static int reserve_numbers(void *context, uint64_t next)
{
    struct cfdp_store *s = context;
    if (next < s->sequence)
        return 0;
    const int rc = write_sequence(s, next + RESERVE);
    if (rc == 0)
        s->sequence = next + RESERVE;
    return rc;
}

static unsigned perform_request(void *context, struct cfdp_id id, struct cfdp_act *act)
{
    return store_act(context, id, act);
}

const struct cfdp_files store_files = {
    open_source,    open_partial,    read_file,       write_file,    settle_file,
    place_file,     close_file,      perform_request, append_record, rewrite_journal,
    forget_journal, remember_result, reserve_numbers};
