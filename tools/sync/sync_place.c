/* SPDX-License-Identifier: Apache-2.0 */
/* A file is complete before it gets its name, by one rename. What can go wrong: a folder, a link or
 * another user's file has the name; no rights; a full disk. */
#include "tools/sync/sync_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "tools/files/files_place.h"

#define NAMES_MAX 1000
#define NEW_FLAGS (O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC)

static bool is_in_the_way(int number)
{
    return number == EISDIR || number == ENOTDIR || number == ELOOP || number == ENAMETOOLONG ||
           number == EACCES || number == EPERM || number == EXDEV || number == ENOTEMPTY;
}

static int error_of(int number)
{
    return is_in_the_way(number) ? HELIO_EINVAL : helio_from_errno(number);
}

static int write_all(int fd, const uint8_t *data, size_t len)
{
    while (len > 0) {
        const ssize_t n = write(fd, data, len);
        if (n < 0 && errno != EINTR)
            return helio_from_errno(errno);
        data += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int sync_place_write(int state, struct slice content)
{
    int fd = openat(state, SYNC_NEW, NEW_FLAGS, 0666);
    if (fd < 0)
        return helio_from_errno(errno);
    int rc = write_all(fd, content.data, content.len);
    if (close(fd) != 0 && rc == 0)
        rc = helio_from_errno(errno);
    return rc;
}

int sync_place_verify(int fd, const struct stat *st, const uint8_t sha[FILES_SHA],
                      struct sync_sum *sum, uint64_t *left)
{
    int rc = sync_sum_read(sum, fd, st, -1, left);
    return rc != 0 ? rc : memcmp(sum->file.sha, sha, FILES_SHA) == 0 ? 0 : HELIO_EFORMAT;
}

/* The descriptor of a regular file below a folder, for reading; HELIO_EFORMAT: there is none. */
static int open_file(int dir, const char *name, struct stat *st)
{
    const char *last;
    int parent = files_place_parent(dir, name, false, &last);
    if (parent < 0)
        return HELIO_EFORMAT;
    int fd = openat(parent, last, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    close(parent);
    if (fd < 0)
        return HELIO_EFORMAT;
    if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
        return fd;
    close(fd);
    return HELIO_EFORMAT;
}

int sync_place_copy(int dir, const char *name, const struct sync_placed *placed, int state,
                    struct sync_work *w, uint64_t *left)
{
    struct stat st;
    int from = open_file(dir, name, &st);
    if (from < 0)
        return from;
    const bool begun = sync_placed_is(&w->copy.file, &st);
    if (!sync_placed_is(placed, &st) || (!begun && *left == 0)) {
        close(from);
        return sync_placed_is(placed, &st) ? HELIO_EAGAIN : HELIO_EFORMAT;
    }
    int to = openat(state, w->made, begun ? NEW_FLAGS & ~(O_TRUNC | O_CREAT) : NEW_FLAGS, 0666);
    int rc = to < 0 ? helio_from_errno(errno) : sync_sum_read(&w->copy, from, &st, to, left);
    if (rc == 0)
        rc = memcmp(w->copy.file.sha, placed->sha, FILES_SHA) == 0 ? 0 : HELIO_EFORMAT;
    if (to >= 0 && close(to) != 0 && rc == 0)
        rc = helio_from_errno(errno);
    close(from);
    return rc;
}

/* Time and mode of an entry, for an open file; what it is then. */
static int dress_file(int fd, const struct sync_entry *e, struct sync_placed *placed)
{
    const struct timespec t[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = (time_t)(e->mtime / TICK_S), .tv_nsec = (long)(e->mtime % TICK_S)}};
    struct stat st;
    if (fstat(fd, &st) != 0)
        return helio_from_errno(errno);
    const mode_t plain = st.st_mode & 0666, mode = plain | (e->executable ? plain >> 2 & 0111 : 0);
    if ((mode != (st.st_mode & 0777) && fchmod(fd, mode) != 0) || futimens(fd, t) != 0 ||
        fstat(fd, &st) != 0)
        return error_of(errno);
    *placed = sync_placed_of(&st, e->sha);
    return 0;
}

/* What is under a name, and not ours, gets another one beside it. */
static int put_aside(int parent, const char *last)
{
    for (int i = 1; i < NAMES_MAX; i++) {
        char name[FILES_PART_MAX + 16];
        int n = snprintf(name, sizeof name, "%s.%d", last, i);
        if (n < 0 || (size_t)n >= sizeof name)
            return HELIO_EINVAL;
        if (linkat(parent, last, parent, name, 0) == 0)
            return 0;
        if (errno != EEXIST)
            return error_of(errno);
    }
    return HELIO_EINVAL;
}

static int move_file(int state, const char *from, int parent, const char *last,
                     const struct sync_placed *before, bool *aside)
{
    struct stat st;
    const bool there = fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there && errno != ENOENT)
        return error_of(errno);
    if (there && S_ISDIR(st.st_mode))
        return HELIO_EINVAL;
    *aside = there && !sync_placed_is(before, &st);
    int rc = *aside ? put_aside(parent, last) : 0;
    if (rc == 0 && renameat(state, from, parent, last) != 0)
        rc = error_of(errno);
    return rc;
}

int sync_place_put(int state, const char *from, int dir, const struct sync_entry *e,
                   struct sync_placed *placed, bool *aside)
{
    const char *last = e->name;
    struct sync_placed now;
    *aside = false;
    int fd = openat(state, from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return helio_from_errno(errno);
    int rc = dress_file(fd, e, &now);
    close(fd);
    int parent = rc == 0 ? files_place_parent(dir, e->name, true, &last) : rc;
    if (parent < 0)
        return parent;
    rc = move_file(state, from, parent, last, placed, aside);
    close(parent);
    if (rc == 0)
        *placed = now;
    return rc;
}

int sync_place_adopt(int dir, const struct sync_entry *e, struct sync_placed *placed,
                     struct sync_sum *sum, uint64_t *left)
{
    struct stat st;
    int fd = open_file(dir, e->name, &st);
    if (fd < 0)
        return fd;
    int rc = (uint64_t)st.st_size == e->size ? 0 : HELIO_EFORMAT;
    const bool ours = sync_placed_is(placed, &st);
    if (rc == 0 && ours)
        rc = memcmp(placed->sha, e->sha, FILES_SHA) == 0 ? 0 : HELIO_EFORMAT;
    else if (rc == 0)
        rc = sync_place_verify(fd, &st, e->sha, sum, left);
    if (rc == 0)
        rc = dress_file(fd, e, placed);
    close(fd);
    return rc == HELIO_EINVAL ? HELIO_EFORMAT : rc;
}

bool sync_place_has(int dir, const char *name, const struct sync_placed *placed)
{
    struct stat st;
    int fd = placed->there ? open_file(dir, name, &st) : -1;
    if (fd < 0)
        return false;
    close(fd);
    return sync_placed_is(placed, &st);
}

/* The folders of a name that are empty, the innermost first. */
static void remove_folders(int dir, const char *name)
{
    char path[FILES_NAME_MAX + 1];
    snprintf(path, sizeof path, "%s", name);
    for (char *slash; (slash = strrchr(path, '/')) != NULL;) {
        const char *last;
        *slash = '\0';
        int parent = files_place_parent(dir, path, false, &last);
        if (parent < 0)
            return;
        const bool removed = unlinkat(parent, last, AT_REMOVEDIR) == 0;
        close(parent);
        if (!removed)
            return;
    }
}

int sync_place_remove(int dir, const char *name, const struct sync_placed *placed)
{
    struct stat st;
    const char *last;
    int parent = files_place_parent(dir, name, false, &last);
    if (parent < 0)
        return HELIO_EFORMAT;
    int rc = fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) == 0 && sync_placed_is(placed, &st)
                 ? 0
                 : HELIO_EFORMAT;
    if (rc == 0 && unlinkat(parent, last, 0) != 0)
        rc = error_of(errno);
    close(parent);
    if (rc == 0)
        remove_folders(dir, name);
    return rc;
}
