/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each file has a buffer and one row read ahead; the file with the earliest row is next. What can
 * go wrong: rows that are not rows, a last line without an end (the node was killed while it
 * wrote), and damaged gzip data.
 */
#include "tools/seglog_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define BUFFER (256 * 1024)

struct source {
    const char *path;
    gzFile gz;
    uint64_t size; /* of the file on the disk, 0 when not known */
    char *bytes;
    size_t at, len;
    uint64_t line;
    bool skip; /* the rest of a line that was too long */
    bool end;  /* no row is ahead */
    bool over; /* the file has been read to its end */
    struct seglog_row row;
    uint64_t node;
};

struct seglog_input {
    struct source *sources;
    size_t count;
    size_t last; /* whose row was given out */
    bool started;
    seglog_complaint *complain;
    void *context;
};

static int refill(struct source *s)
{
    memmove(s->bytes, s->bytes + s->at, s->len - s->at);
    s->len -= s->at;
    s->at = 0;
    int n = gzread(s->gz, s->bytes + s->len, (unsigned)(BUFFER - s->len));
    if (n < 0)
        return -EIO;
    s->len += (size_t)n;
    int error;
    (void)gzerror(s->gz, &error);
    if (n == 0 && error == Z_BUF_ERROR)
        return -EIO; /* compressed data that ends too early */
    s->over = n == 0;
    return 0;
}

/* The next line: 1, 0 at the end, -EIO. A line that fills the buffer is cut into pieces, of which
 * the first is malformed and the others are skipped. */
static int next_line(struct source *s, const char **line, size_t *len, bool *whole)
{
    for (;;) {
        char *start = s->bytes + s->at;
        char *newline = memchr(start, '\n', s->len - s->at);
        bool full = newline == NULL && s->len - s->at == BUFFER;
        if (newline == NULL && !full && !s->over) {
            int rc = refill(s);
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
        bool skipped = s->skip;
        s->skip = full;
        s->line += !skipped;
        if (!skipped)
            return 1;
    }
}

/* Reads ahead one row: 0, -EIO, -ECANCELED. */
static int advance(struct seglog_input *in, struct source *s)
{
    const char *line;
    size_t len;
    bool whole;
    int rc;
    while ((rc = next_line(s, &line, &len, &whole)) == 1) {
        if (whole && seglog_row_is_header(line, len))
            continue;
        const char *why = whole || len > SEGLOG_LINE_MAX ? seglog_row_parse(line, len, &s->row)
                                                         : "the file ends within this line";
        if (why == NULL)
            return 0;
        if (s->line == 1)
            return -EBADMSG;
        if (!in->complain(in->context, s->path, s->line, why))
            return -ECANCELED;
    }
    s->end = true;
    return rc == 0 && s->line == 0 ? -ENODATA : rc;
}

static int open_source(struct source *s, const char *path)
{
    struct stat st;
    bool standard = strcmp(path, "-") == 0;
    s->path = standard ? "standard input" : path;
    s->bytes = malloc(BUFFER);
    errno = 0;
    s->gz = standard ? gzdopen(dup(STDIN_FILENO), "rb") : gzopen(path, "rb");
    if (s->gz == NULL || s->bytes == NULL)
        return errno != 0 ? -errno : -ENOMEM;
    (void)gzbuffer(s->gz, BUFFER);
    if (!standard && stat(path, &st) == 0 && S_ISREG(st.st_mode))
        s->size = (uint64_t)st.st_size;
    return !standard && stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? -EISDIR : 0;
}

int seglog_input_open(struct seglog_input **out, char *const *paths, size_t count,
                      seglog_complaint *complain, void *context, size_t *failed)
{
    struct seglog_input *in = calloc(1, sizeof *in);
    *failed = 0;
    if (in == NULL)
        return -ENOMEM;
    in->complain = complain;
    in->context = context;
    in->sources = calloc(count, sizeof *in->sources);
    int rc = in->sources != NULL ? 0 : -ENOMEM;
    while (rc == 0 && in->count < count) {
        *failed = in->count++;
        rc = open_source(&in->sources[*failed], paths[*failed]);
    }
    for (size_t i = 0; rc == 0 && i < count; i++) {
        struct source *s = &in->sources[i];
        *failed = i;
        rc = advance(in, s);
        s->node = s->end ? EVENT_NONE : s->row.node;
    }
    if (rc == 0)
        *out = in;
    else
        seglog_input_close(in);
    return rc;
}

void seglog_input_close(struct seglog_input *in)
{
    if (in == NULL)
        return;
    for (size_t i = 0; i < in->count; i++) {
        if (in->sources[i].gz != NULL)
            gzclose(in->sources[i].gz);
        free(in->sources[i].bytes);
    }
    free(in->sources);
    free(in);
}

int seglog_input_next(struct seglog_input *in, const struct seglog_row **row, size_t *failed)
{
    *failed = in->last;
    if (in->started) {
        int rc = advance(in, &in->sources[in->last]);
        if (rc != 0)
            return rc;
    }
    struct source *best = NULL;
    for (size_t i = 0; i < in->count; i++) {
        struct source *s = &in->sources[i];
        if (!s->end && (best == NULL || s->row.event.now < best->row.event.now))
            best = s;
    }
    if (best == NULL) {
        in->started = false;
        return 0;
    }
    in->last = (size_t)(best - in->sources);
    in->started = true;
    *row = &best->row;
    return 1;
}

uint64_t seglog_input_node(const struct seglog_input *in, size_t file)
{
    return in->sources[file].node;
}

double seglog_input_share(const struct seglog_input *in)
{
    double size = 0, read = 0;
    for (size_t i = 0; i < in->count; i++) {
        size += (double)in->sources[i].size;
        read += in->sources[i].size > 0 ? (double)gzoffset(in->sources[i].gz) : 0;
    }
    return size > 0 ? read / size : 0;
}
