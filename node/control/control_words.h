/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a request beside "cmd": which ones a command takes, and of which type. Each command
 * has one list of them, which is checked before the command runs. */
#ifndef NODE_CONTROL_WORDS_H
#define NODE_CONTROL_WORDS_H

#include <stdbool.h>

struct json_t;

enum control_type {
    CONTROL_TEXT,
    CONTROL_NUMBER, /* without a fraction */
    CONTROL_COUNT   /* the same, from 1 */
};

struct control_word {
    const char *name; /* NULL ends a list */
    enum control_type type;
    int group; /* words of different groups exclude each other; 0: goes with each word */
};

/* All words of `in` are in the list, are of its types, and do not exclude each other. False: `out`
 * is the refusal, which names the word and what would be right. */
bool control_words_check(const char *command, const struct control_word *words,
                         const struct json_t *in, struct json_t *out);
/* The word is in the list, and the value has its type. */
bool control_words_has(const struct control_word *words, const char *name,
                       const struct json_t *value);

#endif
