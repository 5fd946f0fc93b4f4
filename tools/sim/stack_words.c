/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: a quote that is not closed, memory. */
#include "tools/sim/stack_words.h"

#include <stdlib.h>
#include <string.h>

void stack_words_free(char **words)
{
    for (char **w = words; w != NULL && *w != NULL; w++)
        free(*w);
    free(words);
}

int stack_words_have(char *const *words, const char *name)
{
    size_t n = strlen(name);
    for (; *words != NULL; words++)
        if (strncmp(*words, "--", 2) == 0 && strncmp(*words + 2, name, n) == 0 &&
            ((*words)[n + 2] == '\0' || (*words)[n + 2] == '='))
            return 1;
    return 0;
}

/* One word, from a place that is no white space; NULL when a quote is left open. */
static const char *take_word(const char *p, char *out)
{
    char quote = 0;
    for (; *p != '\0' && (quote != 0 || strchr(" \t\n", *p) == NULL); p++) {
        if (quote == 0 && (*p == '\'' || *p == '"'))
            quote = *p;
        else if (*p == quote)
            quote = 0;
        else
            *out++ = *p;
    }
    *out = '\0';
    return quote == 0 ? p : NULL;
}

char **stack_words(const char *const *first, const char *text, int *count)
{
    size_t most = strlen(text) / 2 + 2, n = 0;
    for (const char *const *f = first; *f != NULL; f++)
        most++;
    char **words = calloc(most + 1, sizeof *words);
    char *word = malloc(strlen(text) + 1);
    *count = 0;
    if (words == NULL || word == NULL)
        goto fail;
    for (; *first != NULL; first++)
        if ((words[n++] = strdup(*first)) == NULL)
            goto fail;
    for (const char *p = text + strspn(text, " \t\n"); *p != '\0'; p += strspn(p, " \t\n")) {
        p = take_word(p, word);
        if (p == NULL) {
            *count = -1;
            goto fail;
        }
        if ((words[n++] = strdup(word)) == NULL)
            goto fail;
    }
    free(word);
    *count = (int)n;
    return words;
fail:
    free(word);
    stack_words_free(words);
    return NULL;
}
