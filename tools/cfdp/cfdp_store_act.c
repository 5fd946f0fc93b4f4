/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filestore requests (CCSDS 727.0-B-5 4.9) and lists of folders. Each response has the status that
 * table 5-18 gives for its action. What can go wrong: names that are not there, are there already,
 * or are refused.
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

#define COPY_MAX (INT64_C(256) << 20) /* of append and replace, which are done at once */
#define ENTRIES_MAX 100000            /* of a list */

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

static unsigned create_file(const struct named *n)
{
    const int fd = n->parent < 0
                       ? -1
                       : openat(n->parent, n->last,
                                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd >= 0)
        close(fd);
    return fd >= 0 ? 0 : 1;
}

/* `missing`: the status if it is not there. */
static unsigned remove_name(const struct named *n, bool folder, unsigned missing)
{
    if (is_missing(n))
        return missing;
    if (!is_kind(n, folder ? S_IFDIR : S_IFREG))
        return 2;
    return unlinkat(n->parent, n->last, folder ? AT_REMOVEDIR : 0) == 0 ? 0 : 2;
}

static unsigned create_folder(const struct named *n)
{
    return n->parent >= 0 && mkdirat(n->parent, n->last, 0777) == 0 ? 0 : 1;
}

/* ---- two names ---- */

static unsigned rename_file(const struct named *from, const struct named *to)
{
    if (is_missing(from))
        return 1;
    if (!is_kind(from, S_IFREG) || to->parent < 0)
        return 3;
    if (!is_missing(to))
        return 2;
    return renameat2(from->parent, from->last, to->parent, to->last, RENAME_NOREPLACE) == 0 ? 0 : 3;
}

static int open_short(const struct named *n)
{
    struct stat st;
    const int fd = openat(n->parent, n->last, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= COPY_MAX)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool copy_octets(int from, int to)
{
    uint8_t part[65536];
    int64_t left = COPY_MAX; /* one file may be both */
    ssize_t n;
    while (left > 0 && (n = read(from, part, sizeof part)) > 0) {
        if (write(to, part, (size_t)n) != n)
            return false;
        left -= n;
    }
    return left > 0 && n == 0;
}

static bool is_same(const struct named *a, const struct named *b)
{
    struct stat x, y;
    return fstatat(a->parent, a->last, &x, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstatat(b->parent, b->last, &y, AT_SYMLINK_NOFOLLOW) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

static unsigned append_file(const struct named *to, const struct named *from)
{
    const int in = open_short(from);
    const int out =
        openat(to->parent, to->last, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const bool good = in >= 0 && out >= 0 && !is_same(to, from) && copy_octets(in, out);
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return good ? 0 : 3;
}

/* The contents of `to` are replaced by those of `from`, at once. */
static unsigned replace_file(const struct cfdp_store *s, const struct named *to,
                             const struct named *from)
{
    const int in = open_short(from);
    const int out =
        openat(s->state, "copy", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    const bool good = in >= 0 && out >= 0 && copy_octets(in, out) &&
                      renameat(s->state, "copy", to->parent, to->last) == 0;
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return good ? 0 : 3;
}

static unsigned change_file(const struct cfdp_store *s, unsigned action, const struct named *a,
                            const struct named *b)
{
    if (is_missing(a))
        return 1;
    if (is_missing(b))
        return 2;
    if (!is_kind(a, S_IFREG) || !is_kind(b, S_IFREG))
        return 3;
    return action == CFDP_APPEND_FILE ? append_file(a, b) : replace_file(s, a, b);
}

unsigned store_act(struct cfdp_store *s, unsigned action, const char *first, const char *second)
{
    const bool two = cfdp_action_has_two(action);
    const struct named a = find_name(s, first, false);
    const struct named b =
        two ? find_name(s, second, false) : (struct named){.parent = HELIO_ENOENT};
    unsigned status = CFDP_NOT_PERFORMED;
    if (action == CFDP_CREATE_FILE)
        status = create_file(&a);
    else if (action == CFDP_DELETE_FILE || action == CFDP_DENY_FILE)
        status = remove_name(&a, false, action == CFDP_DELETE_FILE ? 1 : 0);
    else if (action == CFDP_REMOVE_FOLDER || action == CFDP_DENY_FOLDER)
        status = remove_name(&a, true, action == CFDP_REMOVE_FOLDER ? 1 : 0);
    else if (action == CFDP_CREATE_FOLDER)
        status = create_folder(&a);
    else if (action == CFDP_RENAME_FILE)
        status = rename_file(&a, &b);
    else if (two)
        status = change_file(s, action, &a, &b);
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
