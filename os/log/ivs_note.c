/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The note is read octet by octet: library functions for numbers accept signs, blanks, leading
 * zeros and numbers that are too large, so that a damaged note could pass for another one. What can
 * go wrong: the medium; a text that this file did not write.
 */
#include "os/log/ivs_note.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

struct note_reader {
    const char *p, *end;
    bool bad;
};

static void skip_word(struct note_reader *r, const char *word)
{
    const size_t len = strlen(word);
    if (r->bad || (size_t)(r->end - r->p) < len || memcmp(r->p, word, len) != 0)
        r->bad = true;
    else
        r->p += len;
}

static bool is_digit(const struct note_reader *r)
{
    return r->p < r->end && *r->p >= '0' && *r->p <= '9';
}

/* Decimal, without a sign or leading zeros, of 64 bits at most. */
static uint64_t read_number(struct note_reader *r)
{
    uint64_t n = 0;
    const char *start = r->p;
    for (; !r->bad && is_digit(r); r->p++) {
        const uint64_t digit = (uint64_t)(*r->p - '0');
        if (n > (UINT64_MAX - digit) / 10 || (r->p > start && *start == '0'))
            r->bad = true;
        else
            n = n * 10 + digit;
    }
    r->bad = r->bad || r->p == start;
    return n;
}

/* Exactly 16 hexadecimal digits in lower case. */
static uint64_t read_mark(struct note_reader *r)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t n = 0;
    for (int i = 0; i < 16 && !r->bad; i++) {
        const char *d = r->p < r->end ? memchr(digits, *r->p, 16) : NULL;
        if (d == NULL) {
            r->bad = true;
        } else {
            n = n << 4 | (uint64_t)(d - digits);
            r->p++;
        }
    }
    return n;
}

bool ivs_note_parse(const char *text, size_t len, struct ivs_note *out)
{
    struct note_reader r = {.p = text, .end = text + len};
    out->keys_len = 0;
    skip_word(&r, "next ");
    out->next = read_number(&r);
    skip_word(&r, "\n");
    while (!r.bad && r.p < r.end) {
        struct ivs_use u;
        skip_word(&r, "key ");
        u.mark = read_mark(&r);
        skip_word(&r, " ");
        u.uses = read_number(&r);
        skip_word(&r, "\n");
        if (r.bad || out->keys_len == IVS_NOTE_KEYS || ivs_note_find(out, u.mark) != NULL)
            return false;
        out->keys[out->keys_len++] = u;
    }
    return !r.bad;
}

size_t ivs_note_write(const struct ivs_note *n, char text[IVS_NOTE_TEXT])
{
    assert(n->keys_len <= IVS_NOTE_KEYS);
    size_t len = (size_t)snprintf(text, IVS_NOTE_TEXT, "next %" PRIu64 "\n", n->next);
    for (size_t i = 0; i < n->keys_len; i++)
        len += (size_t)snprintf(text + len, IVS_NOTE_TEXT - len, "key %016" PRIx64 " %" PRIu64 "\n",
                                n->keys[i].mark, n->keys[i].uses);
    assert(len < IVS_NOTE_TEXT);
    return len;
}

struct ivs_use *ivs_note_find(struct ivs_note *n, uint64_t mark)
{
    for (size_t i = 0; i < n->keys_len; i++) {
        if (n->keys[i].mark == mark)
            return &n->keys[i];
    }
    return NULL;
}

struct ivs_use *ivs_note_use(struct ivs_note *n, uint64_t mark, const uint64_t *marks, size_t len)
{
    struct ivs_use *u = ivs_note_find(n, mark);
    if (u == NULL && n->keys_len < IVS_NOTE_KEYS)
        u = &n->keys[n->keys_len++];
    else if (u != NULL)
        return u;
    for (size_t i = 0; i < n->keys_len && u == NULL; i++) {
        bool here = false;
        for (size_t k = 0; k < len; k++)
            here = here || marks[k] == n->keys[i].mark;
        u = here ? NULL : &n->keys[i];
    }
    if (u != NULL)
        *u = (struct ivs_use){mark, 0};
    return u;
}

/* ---- the file ---- */

/* A file that is longer than any note is read up to one byte more. */
static int read_note(int fd, struct ivs_note *out)
{
    char text[IVS_NOTE_TEXT];
    size_t len = 0;
    ssize_t n = 1;
    while (n != 0 && len < sizeof text) {
        n = read(fd, text + len, sizeof text - len);
        if (n < 0 && errno != EINTR)
            return helio_from_errno(errno);
        len += n > 0 ? (size_t)n : 0;
    }
    return len < sizeof text && ivs_note_parse(text, len, out) ? 0 : HELIO_EFORMAT;
}

int ivs_note_load(int folder, const char *name, struct ivs_note *out)
{
    const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    *out = (struct ivs_note){.next = 0};
    if (fd < 0)
        return errno == ENOENT ? 0 : helio_from_errno(errno);
    const int err = read_note(fd, out);
    close(fd);
    return err;
}

static bool write_whole(int fd, const char *text, size_t len)
{
    for (size_t done = 0; done < len;) {
        const ssize_t n = write(fd, text + done, len - done);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return fsync(fd) == 0;
}

int ivs_note_save(int folder, const char *name, const struct ivs_note *n)
{
    char text[IVS_NOTE_TEXT], beside[256];
    const size_t len = ivs_note_write(n, text);
    if (snprintf(beside, sizeof beside, "%s.new", name) >= (int)sizeof beside)
        return ENAMETOOLONG;
    const int fd = openat(folder, beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = fd >= 0 && write_whole(fd, text, len);
    good = good && renameat(folder, beside, folder, name) == 0 && fsync(folder) == 0;
    const int error = good ? 0 : errno;
    if (fd >= 0)
        close(fd);
    return error;
}
