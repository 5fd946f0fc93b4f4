/* SPDX-License-Identifier: Apache-2.0 */
/* The random filling and its check value are computed once; a bundle is a new header before it. A
 * file is mapped and cut into equal pieces, the last one shorter. What can go wrong: the file
 * cannot be read, or a payload is too short for header and name. */
#include "tools/perf/perf_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"

static int make_filling(struct perf_source *s)
{
    struct rng r;
    size_t len = s->options->payload - PERF_HEAD;
    uint8_t *p = malloc(len + 8);
    if (p == NULL)
        return HELIO_ENOMEM;
    rng_init(&r, s->session);
    for (size_t i = 0; i < len; i += 8) {
        uint64_t v = rng_u64(&r);
        memcpy(p + i, &v, 8);
    }
    s->body = p;
    s->body_len = len;
    s->whole = perf_body_of(slice_of(p, len));
    return 0;
}

static int map_file(struct perf_source *s, char why[AAP2_WHY_MAX])
{
    const char *path = s->options->file;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        snprintf(why, AAP2_WHY_MAX, "-F %.150s: %s", path,
                 fd < 0 ? strerror(errno) : "not a regular file");
        if (fd >= 0)
            close(fd);
        return HELIO_EIO;
    }
    s->body_len = (size_t)st.st_size;
    void *p = s->body_len > 0 ? mmap(NULL, s->body_len, PROT_READ, MAP_SHARED, fd, 0) : NULL;
    close(fd);
    if (p == MAP_FAILED) {
        snprintf(why, AAP2_WHY_MAX, "-F %.150s: %s", path, strerror(errno));
        return HELIO_EIO;
    }
    s->body = p != NULL ? p : s->name.data; /* an empty file has an address, too */
    s->whole = perf_body_of(slice_of(s->body, s->body_len));
    return 0;
}

static int init_file(struct perf_source *s, char why[AAP2_WHY_MAX])
{
    const char *slash = strrchr(s->options->file, '/');
    const char *name = slash != NULL ? slash + 1 : s->options->file;
    size_t len = strlen(name);
    s->name = slice_of(name, len < PERF_NAME_MAX ? len : PERF_NAME_MAX);
    if (s->options->payload < PERF_HEAD + s->name.len + 1) {
        snprintf(why, AAP2_WHY_MAX, "-P: at least %zu bytes hold a header, the name and a byte",
                 PERF_HEAD + s->name.len + 1);
        return HELIO_EINVAL;
    }
    s->piece = s->options->payload - PERF_HEAD - s->name.len;
    int rc = map_file(s, why);
    if (rc != 0)
        return rc;
    s->count = s->body_len == 0 ? 1 : (s->body_len + s->piece - 1) / s->piece;
    return 0;
}

int perf_source_init(struct perf_source *s, const struct perf_options *o, uint64_t session,
                     char why[AAP2_WHY_MAX])
{
    *s = (struct perf_source){.options = o, .session = session, .count = UINT64_MAX};
    if (o->mode == PERF_MODE_FILE)
        return init_file(s, why);
    if (o->mode == PERF_MODE_DATA)
        s->count = (o->data + o->payload - 1) / o->payload;
    int rc = make_filling(s);
    if (rc != 0)
        snprintf(why, AAP2_WHY_MAX, "-P: %s", helio_strerror(rc));
    return rc;
}

void perf_source_fini(struct perf_source *s)
{
    union {
        const uint8_t *in;
        void *out;
    } body = {.in = s->body};
    if (s->body == NULL)
        return;
    if (s->options->mode != PERF_MODE_FILE)
        free(body.out);
    else if (s->body_len > 0)
        munmap(body.out, s->body_len);
    s->body = NULL;
}

/* The length of the filling behind the header of bundle `seq`. */
static size_t filling(const struct perf_source *s, uint64_t seq)
{
    const struct perf_options *o = s->options;
    if (o->mode != PERF_MODE_DATA || seq + 1 < s->count)
        return s->body_len;
    uint64_t last = o->data - seq * o->payload;
    return last > PERF_HEAD ? (size_t)(last - PERF_HEAD) : 0; /* the header cannot be cut */
}

void perf_source_bundle(const struct perf_source *s, uint64_t seq, tick time,
                        uint8_t out[AAP2_HEAD_MAX], struct slice *head, struct slice *body)
{
    struct perf_head h = {.kind = PERF_DATA,
                          .flags = s->options->window > 0 ? PERF_WANT_ACK : 0,
                          .session = s->session,
                          .seq = seq,
                          .time = time};
    struct perf_body sum = s->whole;
    if (s->options->mode == PERF_MODE_FILE) {
        size_t at = (size_t)(seq * s->piece), left = s->body_len - at;
        h.flags |= PERF_FILE;
        h.total = s->body_len;
        h.offset = at;
        h.name = s->name;
        *body = slice_of(s->body + at, left < s->piece ? left : (size_t)s->piece);
        sum = perf_body_of(*body);
    } else {
        *body = slice_of(s->body, filling(s, seq));
        if (body->len != s->body_len)
            sum = perf_body_of(*body);
    }
    *head = slice_of(out, perf_write(&h, &sum, out));
}

void perf_source_end(const struct perf_source *s, uint64_t total, tick time,
                     uint8_t out[AAP2_HEAD_MAX], struct slice *head)
{
    bool file = s->options->mode == PERF_MODE_FILE;
    struct perf_head h = {.kind = PERF_END,
                          .flags = PERF_WANT_ACK | (file ? PERF_FILE : 0u) |
                                   (s->options->window == 0 ? PERF_WANT_DETAILS : 0u),
                          .session = s->session,
                          .seq = PERF_SEQ_END,
                          .time = time,
                          .total = total,
                          .file_crc = file ? s->whole.crc : 0};
    const struct perf_body none = perf_body_of(slice_of(NULL, 0));
    *head = slice_of(out, perf_write(&h, &none, out));
}
