/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The note is read octet by octet: library functions for numbers accept signs, blanks, leading
 * zeros and numbers that are too large, so that a damaged note could pass for another one. What can
 * go wrong is a text that this file did not write.
 */
#include "node/node_ivs_note.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
