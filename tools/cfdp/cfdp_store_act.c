/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filestore requests (CCSDS 727.0-B-5 4.9) and lists of folders. The first call for a request looks
 * whether it can be performed, and changes nothing; later ones perform it, and can be repeated
 * after a kill. Each response has the status that table 5-18 gives for its action. What can go
 * wrong: names that are not there, are there already, or are refused; a file beyond file_max.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "tools/cfdp/cfdp_store_private.h"
#include "tools/files/files_place.h"

#define COPY_PART (1u << 20) /* octets of append and replace in one call */
#define STATE_BEGUN 1        /* of a request; of append with the octets that the file had */
#define ENTRIES_MAX 100000   /* of a list */

/* ---- one name ---- */

struct named {
    int parent; /* < 0: an error */
    const char *last;
};

static struct named find_name(const struct cfdp_store *s, const char *name, bool make)
{
    struct named n;
    n.parent = store_parent(s, name, make, &n.last);
    return n;
}

static bool is_missing(const struct named *n)
{
    struct stat st;
    if (n->parent < 0)
        return helio_code(n->parent) == HELIO_ENOENT;
    return fstatat(n->parent, n->last, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

static bool is_kind(const struct named *n, mode_t kind)
{
    struct stat st;
    return n->parent >= 0 && fstatat(n->parent, n->last, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           (st.st_mode & S_IFMT) == kind;
}

static void close_name(const struct named *n)
{
    if (n->parent >= 0)
        close(n->parent);
}

/* ---- the first call: nothing is changed yet ---- */

/* The status of a request that cannot be performed, 0: of DENY without a file; or CFDP_ACT_MORE.
 * `missing`: the status if the name is not there. */
static unsigned judge_removal(const struct named *n, bool folder, unsigned missing)
{
    if (is_missing(n))
        return missing;
    return is_kind(n, folder ? S_IFDIR : S_IFREG) ? CFDP_ACT_MORE : 2;
}

static unsigned judge_creation(const struct named *n)
{
    return n->parent >= 0 && is_missing(n) ? CFDP_ACT_MORE : 1;
}

static unsigned judge_rename(const struct named *from, const struct named *to)
{
    if (is_missing(from))
        return 1;
    if (!is_kind(from, S_IFREG) || to->parent < 0)
        return 3;
    return is_missing(to) ? CFDP_ACT_MORE : 2;
}

static bool is_same(const struct named *a, const struct named *b)
{
    struct stat x, y;
    return fstatat(a->parent, a->last, &x, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstatat(b->parent, b->last, &y, AT_SYMLINK_NOFOLLOW) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

/* Of a regular file. */
static uint64_t size_of(const struct named *n)
{
    struct stat st;
    return fstatat(n->parent, n->last, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_size : 0;
}

/* Append and replace. */
static unsigned judge_change(const struct cfdp_act *act, const struct named *a,
                             const struct named *b)
{
    if (is_missing(a))
        return 1;
    if (is_missing(b))
        return 2;
    if (!is_kind(a, S_IFREG) || !is_kind(b, S_IFREG))
        return 3;
    const bool append = act->action == CFDP_APPEND_FILE;
    const uint64_t before = append ? size_of(a) : 0, more = size_of(b);
    if (before > act->file_max || more > act->file_max - before || (append && is_same(a, b)))
        return 3;
    return CFDP_ACT_MORE;
}

static unsigned judge_action(const struct cfdp_act *act, const struct named *a,
                             const struct named *b)
{
    switch (act->action) {
    case CFDP_CREATE_FILE:
    case CFDP_CREATE_FOLDER:
        return judge_creation(a);
    case CFDP_DELETE_FILE:
    case CFDP_DENY_FILE:
        return judge_removal(a, false, act->action == CFDP_DELETE_FILE ? 1 : 0);
    case CFDP_REMOVE_FOLDER:
    case CFDP_DENY_FOLDER:
        return judge_removal(a, true, act->action == CFDP_REMOVE_FOLDER ? 1 : 0);
    case CFDP_RENAME_FILE:
        return judge_rename(a, b);
    case CFDP_APPEND_FILE:
    case CFDP_REPLACE_FILE:
        return judge_change(act, a, b);
    default:
        return CFDP_NOT_PERFORMED;
    }
}

/* ---- the others: what a process that was killed has done already is done ---- */

static unsigned create_file(const struct named *n)
{
    const int fd =
        openat(n->parent, n->last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || is_kind(n, S_IFREG) ? 0 : 1;
}

static unsigned create_folder(const struct named *n)
{
    return mkdirat(n->parent, n->last, 0777) == 0 || is_kind(n, S_IFDIR) ? 0 : 1;
}

static unsigned remove_name(const struct named *n, bool folder)
{
    if (is_missing(n))
        return 0;
    return unlinkat(n->parent, n->last, folder ? AT_REMOVEDIR : 0) == 0 ? 0 : 2;
}

static unsigned rename_file(const struct named *from, const struct named *to)
{
    if (is_missing(from) && is_kind(to, S_IFREG))
        return 0;
    return renameat2(from->parent, from->last, to->parent, to->last, RENAME_NOREPLACE) == 0 ? 0 : 3;
}

static int open_named(const struct named *n, int flags)
{
    return openat(n->parent, n->last, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* The octets of `in` from `at` on go to `out` from `to` on. 1: all are there; 0: only a part was
 * copied; or HELIO_E*. */
static int copy_part(int in, uint64_t at, int out, uint64_t to)
{
    uint8_t part[65536];
    for (size_t done = 0; done < COPY_PART;) {
        const ssize_t n = pread(in, part, sizeof part, (off_t)(at + done));
        if (n <= 0)
            return n == 0 ? 1 : HELIO_EIO;
        if (pwrite(out, part, (size_t)n, (off_t)(to + done)) != n)
            return HELIO_ESPACE;
        done += (size_t)n;
    }
    return 0;
}

/* What is there already follows from the size: `before` is that of the first call. */
static unsigned append_part(const struct named *to, const struct named *from, uint64_t before,
                            uint64_t file_max)
{
    struct stat st;
    const int in = open_named(from, O_RDONLY), out = open_named(to, O_WRONLY);
    int rc = HELIO_EIO;
    if (in >= 0 && out >= 0 && fstat(out, &st) == 0 && S_ISREG(st.st_mode) &&
        (uint64_t)st.st_size >= before && (uint64_t)st.st_size <= file_max)
        rc = copy_part(in, (uint64_t)st.st_size - before, out, (uint64_t)st.st_size);
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return rc == 1 ? 0 : rc == 0 ? CFDP_ACT_MORE : 3;
}

/* A copy in the state folder, which then takes the place of `to` at once. */
static unsigned replace_part(const struct cfdp_store *s, struct cfdp_id id, const struct named *to,
                             const struct named *from, uint64_t file_max)
{
    struct stat st;
    char copy[STORE_NAME];
    store_state_name(id, "copy", copy);
    const int in = open_named(from, O_RDONLY);
    const int out = openat(s->state, copy, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    int rc = HELIO_EIO;
    if (in >= 0 && out >= 0 && fstat(out, &st) == 0 && (uint64_t)st.st_size <= file_max)
        rc = copy_part(in, (uint64_t)st.st_size, out, (uint64_t)st.st_size);
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    if (rc == 1 && renameat(s->state, copy, to->parent, to->last) != 0)
        rc = HELIO_EIO;
    if (rc < 0)
        (void)unlinkat(s->state, copy, 0);
    return rc == 1 ? 0 : rc == 0 ? CFDP_ACT_MORE : 3;
}

static unsigned perform_action(const struct cfdp_store *s, struct cfdp_id id,
                               const struct cfdp_act *act, const struct named *a,
                               const struct named *b)
{
    if (a->parent < 0 || (cfdp_action_has_two(act->action) && b->parent < 0))
        return CFDP_NOT_PERFORMED; /* the folder has gone meanwhile */
    switch (act->action) {
    case CFDP_CREATE_FILE:
        return create_file(a);
    case CFDP_CREATE_FOLDER:
        return create_folder(a);
    case CFDP_DELETE_FILE:
    case CFDP_DENY_FILE:
        return remove_name(a, false);
    case CFDP_REMOVE_FOLDER:
    case CFDP_DENY_FOLDER:
        return remove_name(a, true);
    case CFDP_RENAME_FILE:
        return rename_file(a, b);
    case CFDP_APPEND_FILE:
        return append_part(a, b, act->state - STATE_BEGUN, act->file_max);
    case CFDP_REPLACE_FILE:
        return replace_part(s, id, a, b, act->file_max);
    default:
        return CFDP_NOT_PERFORMED;
    }
}

unsigned store_act(struct cfdp_store *s, struct cfdp_id id, struct cfdp_act *act)
{
    const bool two = cfdp_action_has_two(act->action);
    const struct named a = find_name(s, act->first, false);
    const struct named b =
        two ? find_name(s, act->second, false) : (struct named){HELIO_ENOENT, ""};
    unsigned status;
    if (act->state == 0) {
        status = judge_action(act, &a, &b);
        if (status == CFDP_ACT_MORE)
            act->state = STATE_BEGUN + (act->action == CFDP_APPEND_FILE ? size_of(&a) : 0);
    } else {
        status = perform_action(s, id, act, &a, &b);
    }
    close_name(&a);
    close_name(&b);
    return status;
}

/* ---- lists ---- */

/* The folder itself, also the root: "", "/" or ".". */
static int open_folder(const struct cfdp_store *s, const char *name)
{
    const int flags = O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC;
    const char *last = name + strspn(name, "/");
    if (*last == '\0' || strcmp(last, ".") == 0) {
        const int fd = openat(s->root, ".", flags);
        return fd < 0 ? helio_from_errno(errno) : fd;
    }
    const int parent = store_parent(s, name, false, &last);
    if (parent < 0)
        return parent;
    const int fd = openat(parent, last, flags);
    const int error = errno;
    close(parent);
    if (fd >= 0)
        return fd;
    return error == ELOOP || error == ENOTDIR ? HELIO_EINVAL : helio_from_errno(error);
}

/* "KIND OCTETS NAME", one a line; hidden names are not listed. */
static void write_entry(FILE *out, int folder, const char *name)
{
    struct stat st;
    if (name[0] == '.' || strchr(name, '\n') != NULL ||
        fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (S_ISREG(st.st_mode))
        fprintf(out, "file %" PRIu64 " %s\n", (uint64_t)st.st_size, name);
    else if (S_ISDIR(st.st_mode))
        fprintf(out, "directory 0 %s\n", name);
}

static int compare_names(const void *a, const void *b)
{
    char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

static void write_sorted(FILE *out, DIR *dir, int folder)
{
    char **names = calloc(ENTRIES_MAX, sizeof *names);
    size_t len = 0;
    const struct dirent *d;
    while (names != NULL && len < ENTRIES_MAX && (d = readdir(dir)) != NULL)
        if ((names[len] = strdup(d->d_name)) != NULL)
            len++;
    if (len > 0)
        qsort(names, len, sizeof *names, compare_names);
    for (size_t i = 0; i < len; i++) {
        write_entry(out, folder, names[i]);
        free(names[i]);
    }
    free(names);
}

static int write_list(const struct cfdp_store *s, int folder, const char *as)
{
    DIR *dir = fdopendir(dup(folder));
    const int fd = openat(s->state, as, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (dir != NULL && out != NULL)
        write_sorted(out, dir, folder);
    int rc = dir == NULL || out == NULL ? HELIO_EIO : 0;
    if (out != NULL && fclose(out) != 0)
        rc = HELIO_ESPACE;
    if (dir != NULL)
        closedir(dir);
    return rc;
}

int store_list(struct cfdp_store *s, struct cfdp_id id, const char *name, uint64_t *size)
{
    char as[STORE_NAME];
    struct stat st;
    store_state_name(id, "list", as);
    int fd = openat(s->state, as, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        const int folder = open_folder(s, name);
        if (folder < 0)
            return folder;
        const int rc = write_list(s, folder, as);
        close(folder);
        if (rc != 0) {
            (void)unlinkat(s->state, as, 0);
            return rc;
        }
        fd = openat(s->state, as, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    }
    if (fd < 0 || fstat(fd, &st) != 0)
        return helio_from_errno(errno);
    *size = (uint64_t)st.st_size;
    return fd;
}
