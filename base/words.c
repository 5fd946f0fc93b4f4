/* SPDX-License-Identifier: Apache-2.0 */
/* By Levenshtein's distance: a third of the word may be wrong. */
#include "base/words.h"

#include <stdint.h>
#include <string.h>

#define WORD_MAX 64

/* The number of insertions, deletions and replacements that lead from a to b. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t la = strlen(a), lb = strlen(b), row[WORD_MAX + 1];
    if (la > WORD_MAX || lb > WORD_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= lb; j++)
        row[j] = j;
    for (size_t i = 1; i <= la; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[lb];
}

const char *words_closest(const char *word, const char *const *words, size_t n)
{
    const char *found = NULL;
    size_t best = strlen(word) / 3 + 2;
    for (size_t i = 0; i < n; i++) {
        size_t d = edit_distance(word, words[i]);
        if (d < best) {
            best = d;
            found = words[i];
        }
    }
    return found;
}
