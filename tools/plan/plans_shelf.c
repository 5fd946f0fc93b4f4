/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files are written under a name that ends in .new, synced, and renamed; then the folder is synced.
 * What can go wrong: the medium, a file that somebody else has changed (its check value is wrong),
 * a process that was killed while it wrote (its .new file is removed at the next start).
 */
#include "tools/plan/plans_shelf.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "os/process/store_lock.h"

#define TEMPORARY ".new"

static void name_version(uint64_t number, char out[PLANS_NAME_CAP])
{
    snprintf(out, PLANS_NAME_CAP, "plan-%" PRIu64 ".cbor", number);
}

/* 0: it is the name of no version. */
static uint64_t parse_name(const char *name)
{
    char again[PLANS_NAME_CAP];
    uint64_t number = 0;
    if (sscanf(name, "plan-%20" SCNu64, &number) != 1 || number > PLANS_NUMBER_MAX)
        return 0;
    name_version(number, again);
    return strcmp(again, name) == 0 ? number : 0;
}

static bool is_temporary(const char *name)
{
    const size_t len = strlen(name), end = strlen(TEMPORARY);
    return len > end && strcmp(name + len - end, TEMPORARY) == 0;
}

/* ---- the folder ---- */

/* All its names, with a function for each; HELIO_E*. */
static int walk_names(const struct plans_shelf *s, void (*each)(void *context, const char *name),
                      void *context)
{
    const int fd = openat(s->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (d == NULL) {
        const int rc = helio_from_errno(errno);
        if (fd >= 0)
            close(fd);
        return rc;
    }
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        each(context, e->d_name);
    closedir(d);
    return 0;
}

static void remove_temporary(void *context, const char *name)
{
    const struct plans_shelf *s = context;
    if (is_temporary(name))
        (void)unlinkat(s->fd, name, 0);
}

static int lock_folder(struct plans_shelf *s, char *why, size_t cap)
{
    s->lock = store_lock(s->path, false, "", why, cap);
    if (s->lock == HELIO_EEXIST)
        snprintf(why, cap, "another helio-plan has it; stop it, or write another folder");
    if (s->lock < 0)
        return s->lock;
    if (flock(s->fd, LOCK_EX | LOCK_NB) != 0)
        return 0; /* `publish` writes a version now: what is left in part can stay */
    const int rc = walk_names(s, remove_temporary, s);
    (void)flock(s->fd, LOCK_UN);
    return rc;
}

int plans_shelf_open(struct plans_shelf *s, const char *path, bool serve, char *why, size_t cap)
{
    *s = (struct plans_shelf){.fd = -1, .lock = -1};
    char *whole = NULL;
    if (mkdir(path, 0755) == 0 || errno == EEXIST)
        whole = realpath(path, NULL);
    if (whole != NULL && strlen(whole) < sizeof s->path - PLANS_NAME_CAP) {
        memcpy(s->path, whole, strlen(whole) + 1);
        s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    } else if (whole != NULL) {
        errno = ENAMETOOLONG;
    }
    const int rc = s->fd < 0 ? helio_from_errno(errno) : 0;
    free(whole);
    if (rc != 0)
        snprintf(why, cap, "%s", helio_strerror(rc));
    return rc == 0 && serve ? lock_folder(s, why, cap) : rc;
}

void plans_shelf_close(struct plans_shelf *s)
{
    if (s->lock >= 0)
        close(s->lock);
    if (s->fd >= 0)
        close(s->fd);
    s->fd = s->lock = -1;
}

struct numbers {
    uint64_t *at;
    size_t len;
};

/* Rising order; the highest ones stay. */
static void add_number(void *context, const char *name)
{
    struct numbers *n = context;
    const uint64_t number = parse_name(name);
    if (number == 0 || (n->len == PLANS_FILES_MAX && number < n->at[0]))
        return;
    if (n->len == PLANS_FILES_MAX)
        memmove(n->at, n->at + 1, --n->len * sizeof *n->at);
    size_t i = n->len++;
    for (; i > 0 && n->at[i - 1] > number; i--)
        n->at[i] = n->at[i - 1];
    n->at[i] = number;
}

int plans_shelf_list(const struct plans_shelf *s, uint64_t numbers[PLANS_FILES_MAX])
{
    struct numbers n = {numbers, 0};
    const int rc = walk_names(s, add_number, &n);
    return rc != 0 ? rc : (int)n.len;
}

/* ---- files ---- */

static int read_octets(int fd, uint8_t *out, size_t len)
{
    for (size_t done = 0; done < len;) {
        const ssize_t n = read(fd, out + done, len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? helio_from_errno(errno) : HELIO_EFORMAT;
        done += (size_t)n;
    }
    return 0;
}

static int write_octets(int fd, struct slice octets)
{
    while (octets.len > 0) {
        const ssize_t n = write(fd, octets.data, octets.len);
        if (n < 0 && errno != EINTR)
            return helio_from_errno(errno);
        const size_t done = n > 0 ? (size_t)n : 0;
        octets = slice_of(octets.data + done, octets.len - done);
    }
    return 0;
}

static int check_file(struct plans_file *f, uint64_t number)
{
    struct plans_message m;
    const char *why;
    if (!plans_message_parse(slice_of(f->octets, f->len), &m, &why) || m.kind != PLANS_PLAN ||
        m.version.number != number)
        return HELIO_EFORMAT;
    f->version = m.version;
    f->contents = m.contents;
    return 0;
}

int plans_shelf_read(const struct plans_shelf *s, uint64_t number, struct plans_file *out)
{
    char name[PLANS_NAME_CAP];
    struct stat st;
    *out = (struct plans_file){.octets = NULL};
    name_version(number, name);
    const int fd = openat(s->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return helio_from_errno(errno);
    int rc = fstat(fd, &st) != 0 ? helio_from_errno(errno) : 0;
    if (rc == 0 && (!S_ISREG(st.st_mode) || st.st_size <= 0 || st.st_size > PLANS_MESSAGE_MAX))
        rc = HELIO_EFORMAT;
    if (rc == 0) {
        out->len = (size_t)st.st_size;
        out->octets = malloc(out->len);
        rc = out->octets == NULL ? HELIO_ENOMEM : read_octets(fd, out->octets, out->len);
    }
    close(fd);
    rc = rc == 0 ? check_file(out, number) : rc;
    if (rc != 0) {
        free(out->octets);
        out->octets = NULL;
    }
    return rc;
}

/* A whole file under another name. */
static int write_temporary(const struct plans_shelf *s, const char *name, struct slice head,
                           struct slice rest, bool sync)
{
    const int fd = openat(s->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return helio_from_errno(errno);
    int rc = write_octets(fd, head);
    rc = rc == 0 ? write_octets(fd, rest) : rc;
    if (rc == 0 && sync && fsync(fd) != 0)
        rc = helio_from_errno(errno);
    if (close(fd) != 0 && rc == 0)
        rc = helio_from_errno(errno);
    return rc;
}

int plans_shelf_write(const struct plans_shelf *s, const struct plans_version *v,
                      struct slice contents)
{
    uint8_t head[PLANS_HEAD_MAX];
    char name[PLANS_NAME_CAP], temporary[PLANS_NAME_CAP + 4];
    const size_t head_len = plans_message_head(v, contents.len, head);
    name_version(v->number, name);
    snprintf(temporary, sizeof temporary, "%s" TEMPORARY, name);
    int rc = write_temporary(s, temporary, slice_of(head, head_len), contents, true);
    if (rc == 0 && linkat(s->fd, temporary, s->fd, name, 0) != 0)
        rc = helio_from_errno(errno);
    (void)unlinkat(s->fd, temporary, 0);
    if (rc == 0 && fsync(s->fd) != 0) {
        rc = helio_from_errno(errno);
        (void)unlinkat(s->fd, name, 0);
    }
    return rc;
}

void plans_shelf_remove(const struct plans_shelf *s, uint64_t number)
{
    char name[PLANS_NAME_CAP];
    name_version(number, name);
    (void)unlinkat(s->fd, name, 0);
}

int plans_shelf_put(const struct plans_shelf *s, const char *name, struct slice octets, bool sync)
{
    char temporary[PLANS_NAME_CAP];
    snprintf(temporary, sizeof temporary, "%.30s" TEMPORARY, name);
    int rc = write_temporary(s, temporary, octets, slice_of(NULL, 0), sync);
    if (rc == 0 && renameat(s->fd, temporary, s->fd, name) != 0)
        rc = helio_from_errno(errno);
    if (rc == 0 && sync && fsync(s->fd) != 0)
        rc = helio_from_errno(errno);
    if (rc != 0)
        (void)unlinkat(s->fd, temporary, 0);
    return rc;
}

uint64_t plans_shelf_number(const struct plans_shelf *s, const char *name)
{
    char text[32] = "";
    uint64_t number = 0;
    const int fd = openat(s->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return 0;
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    return n > 0 && sscanf(text, "%20" SCNu64, &number) == 1 && number <= PLANS_NUMBER_MAX ? number
                                                                                           : 0;
}
