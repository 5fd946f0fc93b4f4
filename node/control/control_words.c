/* SPDX-License-Identifier: Apache-2.0 */
/* A request is refused at its first wrong word: a node that ignored the word would do something
 * else than what was asked. What can go wrong: a word is unknown, or its value has another type;
 * two words exclude each other. */
#include "node/control/control_words.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "node/control/control.h"

#define WORDS_MAX 16 /* of one command */

static const struct control_word *find_word(const struct control_word *words, const char *name)
{
    while (words->name != NULL && strcmp(words->name, name) != 0)
        words++;
    return words->name != NULL ? words : NULL;
}

static bool has_type(enum control_type type, const json_t *value)
{
    if (type == CONTROL_TEXT)
        return json_is_string(value);
    return json_is_integer(value) && (type == CONTROL_NUMBER || json_integer_value(value) > 0);
}

bool control_words_has(const struct control_word *words, const char *name,
                       const struct json_t *value)
{
    const struct control_word *w = find_word(words, name);
    return w != NULL && has_type(w->type, value);
}

static void refuse_unknown(const char *command, const struct control_word *words, const char *name,
                           json_t *out)
{
    char text[320];
    const char *names[WORDS_MAX] = {NULL};
    size_t n = 0, used = 0;
    while (words[n].name != NULL && n < WORDS_MAX) {
        names[n] = words[n].name;
        n++;
    }
    const char *closest = words_closest(name, names, n);
    used += (size_t)snprintf(text, sizeof text, "%s: unknown word \"%.64s\"; %s%s", command, name,
                             closest != NULL ? "did you mean "
                             : n > 0         ? "it takes "
                                             : "it takes none",
                             closest != NULL ? closest : "");
    for (size_t i = 0; i < n && closest == NULL && used < sizeof text; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? ", " : "", names[i]);
    if (closest != NULL && used < sizeof text)
        snprintf(text + used, sizeof text - used, "?");
    control_refuse(out, true, text);
}

static void refuse_type(const char *command, const struct control_word *w, json_t *out)
{
    static const char *const types[] = {"a text", "a number", "a number from 1"};
    char text[160];
    snprintf(text, sizeof text, "%s: \"%s\" has a wrong value; write %s", command, w->name,
             types[w->type]);
    control_refuse(out, true, text);
}

static void refuse_pair(const char *command, const struct control_word *a,
                        const struct control_word *b, json_t *out)
{
    char text[160];
    snprintf(text, sizeof text, "%s: write \"%s\" or \"%s\", not both", command, a->name, b->name);
    control_refuse(out, true, text);
}

/* False: said. first: a word before this one that has a group; NULL: there is none. */
static bool check_word(const char *command, const struct control_word *w,
                       const struct control_word *first, const json_t *value, json_t *out)
{
    const bool apart = first != NULL && w->group != 0 && first->group != w->group;
    if (!has_type(w->type, value))
        refuse_type(command, w, out);
    else if (apart)
        refuse_pair(command, first, w, out);
    else
        return true;
    return false;
}

bool control_words_check(const char *command, const struct control_word *words,
                         const struct json_t *in, struct json_t *out)
{
    const struct control_word *first = NULL;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)in, key, value)
    {
        const struct control_word *w = find_word(words, key);
        if (strcmp(key, "cmd") == 0)
            continue;
        if (w == NULL)
            refuse_unknown(command, words, key, out);
        if (w == NULL || !check_word(command, w, first, value, out))
            return false;
        if (w->group != 0)
            first = w;
    }
    return true;
}
