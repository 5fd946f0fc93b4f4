/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of a log line, written digit by digit: at 60,000 rows a second printf would cost several
 * percent of a core. Each function writes at p, where the caller has room, and returns the next
 * position. All functions except csv_number write a comma before their field.
 */
#ifndef BASE_CSV_H
#define BASE_CSV_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define CSV_NUMBER_MAX 20 /* digits of 2^64 - 1 */

static inline char *csv_number(char *p, uint64_t v)
{
    char digits[CSV_NUMBER_MAX];
    int n = 0;
    do {
        digits[n++] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    while (n > 0)
        *p++ = digits[--n];
    return p;
}

/* A number, or an empty field. */
static inline char *csv_known(char *p, uint64_t v, bool known)
{
    *p++ = ',';
    return known ? csv_number(p, v) : p;
}

/* A word, without commas or quotes. */
static inline char *csv_word(char *p, const char *text)
{
    size_t n = strlen(text);
    *p++ = ',';
    memcpy(p, text, n);
    return p + n;
}

/* Any text without line ends, of `len` bytes; quoted when it has to be: at most 2 * len + 3. */
static inline char *csv_text(char *p, const char *text, size_t len)
{
    bool quoted = memchr(text, ',', len) != NULL || memchr(text, '"', len) != NULL;
    *p++ = ',';
    if (quoted)
        *p++ = '"';
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '"')
            *p++ = '"';
        *p++ = text[i];
    }
    if (quoted)
        *p++ = '"';
    return p;
}

#endif
