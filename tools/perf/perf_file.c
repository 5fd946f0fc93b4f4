/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces go to their place in a hidden file; the finished file is linked to its own name, which
 * never replaces another. What can go wrong: pieces outside the file, a wrong whole, a full disk.
 */
#include "tools/perf/perf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc.h"
#include "base/err.h"
#include "tools/perf/perf_wire.h"

#define NAMES_MAX 1000

struct perf_file {
    int dir, fd;
    uint64_t size;
    char hidden[40];
    char base[PERF_NAME_MAX + 1];
    char name[PERF_NAME_MAX + 16];
};

int perf_file_new(struct perf_file **out, const char *dir, uint64_t session, struct slice name,
                  uint64_t size)
{
    struct perf_file *f = calloc(1, sizeof *f);
    if (f == NULL)
        return HELIO_ENOMEM;
    f->size = size;
    perf_safe_name(name, f->base);
    snprintf(f->hidden, sizeof f->hidden, ".perf-%016llx.part", (unsigned long long)session);
    f->dir = open(dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    f->fd = -1;
    if (f->dir >= 0)
        f->fd = openat(f->dir, f->hidden, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    int error = errno;
    if (f->fd >= 0) {
        *out = f;
        return 0;
    }
    if (f->dir >= 0)
        close(f->dir);
    free(f);
    return helio_from_errno(error);
}

int perf_file_write(struct perf_file *f, uint64_t offset, struct slice piece)
{
    if (offset > f->size || piece.len > f->size - offset)
        return HELIO_EINVAL;
    while (piece.len > 0) {
        ssize_t n = pwrite(f->fd, piece.data, piece.len, (off_t)offset);
        if (n < 0 && errno != EINTR)
            return helio_from_errno(errno);
        if (n > 0) {
            piece = slice_of(piece.data + n, piece.len - (size_t)n);
            offset += (uint64_t)n;
        }
    }
    return 0;
}

static int check_whole(struct perf_file *f, uint32_t want)
{
    uint8_t part[65536];
    uint32_t crc = 0;
    uint64_t at = 0;
    while (at < f->size) {
        ssize_t n = pread(f->fd, part, sizeof part, (off_t)at);
        if (n < 0)
            return helio_from_errno(errno);
        if (n == 0)
            return HELIO_EFORMAT;
        crc = crc32c(crc, part, (size_t)n);
        at += (uint64_t)n;
    }
    struct stat st;
    if (fstat(f->fd, &st) != 0)
        return helio_from_errno(errno);
    return crc == want && (uint64_t)st.st_size == f->size ? 0 : HELIO_EFORMAT;
}

int perf_file_finish(struct perf_file *f, uint32_t crc)
{
    int rc = check_whole(f, crc);
    for (int i = 0; rc == 0 && f->name[0] == '\0'; i++) {
        char name[sizeof f->name];
        if (i == 0)
            snprintf(name, sizeof name, "%s", f->base);
        else
            snprintf(name, sizeof name, "%s.%d", f->base, i);
        if (linkat(f->dir, f->hidden, f->dir, name, 0) == 0)
            snprintf(f->name, sizeof f->name, "%s", name);
        else if (errno != EEXIST || i == NAMES_MAX)
            rc = helio_from_errno(errno);
    }
    if (rc == 0)
        (void)unlinkat(f->dir, f->hidden, 0);
    return rc;
}

const char *perf_file_name(const struct perf_file *f)
{
    return f->name;
}

void perf_file_free(struct perf_file *f)
{
    if (f == NULL)
        return;
    if (f->name[0] == '\0')
        (void)unlinkat(f->dir, f->hidden, 0);
    close(f->fd);
    close(f->dir);
    free(f);
}
