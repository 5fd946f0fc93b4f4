/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a line of a log, in their order: numbers and words without quotes. The first thing
 * that is wrong stays in `bad`, and what is read after it is of no use.
 */
#ifndef TOOLS_CSV_FIELDS_H
#define TOOLS_CSV_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/port.h"
#include "ltp/event.h"

struct fields {
    const char *p, *end;
    const char *bad; /* the first thing that was wrong; static text */
};

static inline void fields_fail(struct fields *f, const char *what)
{
    if (f->bad == NULL)
        f->bad = what;
    f->p = f->end;
}

/* After a column: its comma, or the end of the last one. */
static inline void fields_next(struct fields *f, bool last)
{
    if (last ? f->p != f->end : f->p == f->end || *f->p != ',')
        fields_fail(f, last && *f->p == ',' ? "too many columns"
                       : f->p == f->end     ? "too few columns"
                                            : "not a number");
    else if (!last)
        f->p++;
}

/* A number below EVENT_NONE, or EVENT_NONE for an empty field. */
static inline uint64_t fields_number(struct fields *f, bool last)
{
    uint64_t v = 0;
    const char *start = f->p;
    for (; f->p < f->end; f->p++) {
        unsigned digit = (unsigned)(unsigned char)*f->p - '0';
        if (digit > 9)
            break;
        if (PORT_UNLIKELY(v > (UINT64_MAX - 1 - digit) / 10)) {
            fields_fail(f, "a number above 2^64 - 2");
            return EVENT_NONE;
        }
        v = v * 10 + digit;
    }
    bool any = f->p != start;
    fields_next(f, last);
    return any ? v : EVENT_NONE;
}

struct word {
    const char *at;
    size_t len;
};

/* The text up to the next comma, or up to the end. */
static inline struct word fields_word(struct fields *f, bool last)
{
    struct word w = {f->p, 0};
    while (f->p < f->end && *f->p != ',')
        f->p++;
    w.len = (size_t)(f->p - w.at);
    fields_next(f, last);
    return w;
}

static inline bool word_is(struct word w, const char *text)
{
    return strlen(text) == w.len && memcmp(w.at, text, w.len) == 0;
}

/* The index of the word in a list, -1 when it is not in. The lists' words mostly differ in their
 * first characters. */
static inline int word_find(struct word w, const char *const *list, int len)
{
    for (int i = 0; i < len; i++) {
        size_t same = 0;
        while (same < w.len && list[i][same] != '\0' && list[i][same] == w.at[same])
            same++;
        if (same == w.len && list[i][same] == '\0')
            return i;
    }
    return -1;
}

#endif
