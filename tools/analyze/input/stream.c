/* SPDX-License-Identifier: Apache-2.0 */
/* A buffer over zlib, which passes plain files through. What can go wrong: damaged gzip data, a
 * file that ends within a line, a line that never ends. */
#include "tools/analyze/input/stream.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/err.h"

#define BUFFER (256 * 1024)

struct stream {
    gzFile gz;
    uint64_t size;
    char *bytes;
    size_t at, len;
    uint64_t line;
    bool skip; /* the rest of a line that was too long */
    bool over; /* the file has been read to its end */
    bool cut;  /* which were read before the compressed data */
};

static int refill_buffer(struct stream *s)
{
    assert(s->at <= s->len && s->len <= BUFFER);
    memmove(s->bytes, s->bytes + s->at, s->len - s->at);
    s->len -= s->at;
    s->at = 0;
    assert(s->at == 0 && s->len < BUFFER);
    int n = gzread(s->gz, s->bytes + s->len, (unsigned)(BUFFER - s->len));
    if (n < 0)
        return HELIO_EIO;
    s->len += (size_t)n;
    assert(s->len <= BUFFER);
    int error;
    (void)gzerror(s->gz, &error);
    s->over = n == 0;
    s->cut |= n == 0 && error == Z_BUF_ERROR;
    return 0;
}

int stream_open(struct stream **out, const char *path, char error[256])
{
    struct stat st;
    bool standard = strcmp(path, "-") == 0;
    struct stream *s = calloc(1, sizeof *s);
    if (s == NULL)
        return HELIO_ENOMEM;
    s->bytes = malloc(BUFFER);
    errno = 0;
    s->gz = standard ? gzdopen(dup(STDIN_FILENO), "rb") : gzopen(path, "rb");
    int number = s->gz != NULL && s->bytes != NULL ? 0 : errno != 0 ? errno : ENOMEM;
    if (number == 0 && !standard && stat(path, &st) == 0) {
        s->size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
        number = S_ISDIR(st.st_mode) ? EISDIR : 0;
    }
    if (number == 0) {
        (void)gzbuffer(s->gz, BUFFER);
        *out = s;
        return 0;
    }
    snprintf(error, 256, "%s", strerror(number));
    stream_close(s);
    return helio_from_errno(number);
}

void stream_close(struct stream *s)
{
    if (s == NULL)
        return;
    if (s->gz != NULL)
        gzclose(s->gz);
    free(s->bytes);
    free(s);
}

int stream_peek(struct stream *s, size_t want, const uint8_t **bytes, size_t *len)
{
    assert(want <= BUFFER);
    int rc = 0;
    while (rc == 0 && !s->over && s->len - s->at < want)
        rc = refill_buffer(s);
    *bytes = (const uint8_t *)s->bytes + s->at;
    *len = s->len - s->at;
    assert(s->at <= s->len);
    return rc;
}

int stream_line(struct stream *s, const char **line, size_t *len, bool *whole)
{
    for (;;) {
        char *start = s->bytes + s->at;
        char *newline = memchr(start, '\n', s->len - s->at);
        bool full = newline == NULL && s->len - s->at == BUFFER;
        if (newline == NULL && !full && !s->over) {
            int rc = refill_buffer(s);
            if (rc != 0)
                return rc;
            continue;
        }
        *line = start;
        *len = newline != NULL ? (size_t)(newline - start) : s->len - s->at;
        *whole = newline != NULL;
        s->at += *len + *whole;
        if (*len == 0 && !*whole)
            return 0;
        assert(s->at <= s->len);
        if (*whole && *len > 0 && start[*len - 1] == '\r') /* written by another system's editor */
            --*len;
        bool skipped = s->skip;
        s->skip = full;
        s->line += !skipped;
        if (!skipped)
            return 1;
    }
}

uint64_t stream_line_number(const struct stream *s)
{
    return s->line;
}

bool stream_cut(const struct stream *s)
{
    return s->cut;
}

long stream_read(struct stream *s, void *out, size_t len)
{
    if (s->at == s->len && !s->over) {
        int rc = refill_buffer(s);
        if (rc != 0)
            return rc;
    }
    size_t n = s->len - s->at < len ? s->len - s->at : len;
    memcpy(out, s->bytes + s->at, n);
    s->at += n;
    assert(s->at <= s->len && n <= len);
    return (long)n;
}

uint64_t stream_size(const struct stream *s)
{
    return s->size;
}

uint64_t stream_offset(const struct stream *s)
{
    z_off_t at = gzoffset(s->gz);
    return at > 0 ? (uint64_t)at : 0;
}
