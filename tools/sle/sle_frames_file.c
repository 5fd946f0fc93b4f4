/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: the file ends within a frame, or is too large. */
#include "tools/sle/sle_frames_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

#define FILE_MAX (1u << 30)

static int read_all(const char *path, struct buf **out)
{
    struct stat s;
    size_t done = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &s) != 0 || s.st_size > FILE_MAX) {
        int e = fd < 0 ? helio_from_errno(errno) : HELIO_ESPACE;
        if (fd >= 0)
            close(fd);
        return e;
    }
    struct buf *b = buf_new(0, (size_t)s.st_size);
    for (ssize_t n = 1; b != NULL && n > 0; done += n > 0 ? (size_t)n : 0)
        n = read(fd, b->mem + done, (size_t)s.st_size - done);
    close(fd);
    if (b == NULL)
        return HELIO_ENOMEM;
    b->len = done;
    *out = b;
    return 0;
}

/* How many there are; those below `max` go to `list`. 0: it is no such file. */
static size_t cut_file(struct slice bytes, size_t each, struct slice *list, size_t max)
{
    size_t n = 0;
    const uint8_t *p = bytes.data, *end = p + bytes.len;
    const size_t head = each == 0 ? 4 : 0;
    while ((size_t)(end - p) > head) {
        const size_t len =
            each > 0 ? each : (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
        p += head;
        if (len == 0 || len > (size_t)(end - p))
            return 0;
        if (n < max)
            list[n] = slice_of(p, len);
        n++;
        p += len;
    }
    return p == end ? n : 0;
}

int frames_file_read(struct frames_file *f, const char *path, size_t each)
{
    *f = (struct frames_file){0};
    int e = read_all(path, &f->bytes);
    if (e < 0)
        return e;
    f->len = cut_file(buf_slice(f->bytes), each, NULL, 0);
    f->list = f->len == 0 ? NULL : calloc(f->len, sizeof *f->list);
    if (f->list == NULL) {
        e = f->len == 0 ? HELIO_EFORMAT : HELIO_ENOMEM;
        frames_file_free(f);
        return e;
    }
    (void)cut_file(buf_slice(f->bytes), each, f->list, f->len);
    return 0;
}

void frames_file_free(struct frames_file *f)
{
    buf_drop(f->bytes);
    free(f->list);
    *f = (struct frames_file){0};
}
