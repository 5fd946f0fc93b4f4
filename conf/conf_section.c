/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each key of the map is looked up in the tables and its value read by its type; then the required
 * keys that were not there are named. Nothing ends the reading: a person sees all errors at once.
 */
#include "conf/conf_section.h"
#include "os/input_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/words.h"

#define KEYS_MAX 256
#define GROUPS_MAX 16
#define GROUP_CAP 32
#define SUCH_AS_CAP 96
#define WHY_CAP 320
#define LIST_CAP 400

/* What a person may write in a map. */
struct known {
    const char *keys[KEYS_MAX];
    size_t n;
    char groups[GROUPS_MAX][GROUP_CAP]; /* names of groups, which have maps of their own */
    size_t groups_len;
};

static void add_word(struct known *w, const char *word)
{
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->keys[i], word) == 0)
            return;
    if (w->n < KEYS_MAX)
        w->keys[w->n++] = word;
}

static void add_key(struct known *w, const char *key)
{
    char group[GROUP_CAP];
    const size_t len = strcspn(key, ".");
    snprintf(group, sizeof group, "%.*s", (int)len, key);
    size_t i = 0;
    while (key[len] != '\0' && i < w->groups_len && strcmp(w->groups[i], group) != 0)
        i++;
    if (key[len] == '\0')
        add_word(w, key);
    else if (i == w->groups_len && i < GROUPS_MAX) {
        memcpy(w->groups[i], group, sizeof group);
        w->groups_len++;
        add_word(w, w->groups[i]);
    }
}

static void list_known(const struct conf_part *parts, size_t parts_len, const char *const *others,
                       struct known *w)
{
    w->n = w->groups_len = 0;
    for (size_t i = 0; i < parts_len; i++)
        for (const struct conf_option *o = parts[i].options; o->key != NULL; o++)
            add_key(w, o->key);
    for (; others != NULL && *others != NULL; others++)
        add_word(w, *others);
}

/* "rto:30ms" has no space: the whole is the key. The colon, if a known key is before it. */
static const char *find_colon(const char *key, const struct known *known)
{
    const char *colon = strchr(key, ':');
    const size_t len = colon == NULL ? 0 : (size_t)(colon - key);
    for (size_t i = 0; i < known->n && len > 0; i++)
        if (strncmp(known->keys[i], key, len) == 0 && known->keys[i][len] == '\0')
            return colon;
    return NULL;
}

static void report_unknown(const struct conf_tree *t, const char *where, const struct known *known,
                           struct conf_errors *errors)
{
    const char *const *keys = known->keys;
    const size_t n = known->n;
    const char *closest = words_closest(t->key, keys, n);
    const char *colon = find_colon(t->key, known);
    char list[LIST_CAP];
    const bool placed =
        errors->place_of != NULL && errors->place_of(errors->context, where, t, list, sizeof list);
    if (colon != NULL)
        conf_error(errors, t->line, "%s%s: write a space after the colon: %.*s: %s", where, t->key,
                   (int)(colon - t->key), t->key, colon + 1);
    else if (placed)
        conf_error(errors, t->line, "%s%s: belongs under %s", where, t->key, list);
    else if (closest != NULL)
        conf_error(errors, t->line, "%s%s: unknown key; did you mean %s?%s", where, t->key, closest,
                   words_remark(t->key, closest));
    else
        conf_error(errors, t->line, "%s%s: unknown key; the keys here are: %s", where, t->key,
                   words_list(keys, n, list, sizeof list));
}

/* The values of a list with blanks between them, the caller's. NULL: an error. */
static char *join_words(const struct conf_tree *t, const char *where, struct conf_errors *errors)
{
    size_t len = 1, used = 0;
    for (const struct conf_tree *i = t->first; i != NULL; i = i->next) {
        if (i->kind != CONF_SCALAR) {
            conf_error(errors, i->line, "%s%s: %s is not expected here; write a list of values",
                       where, t->key, conf_kind_name(i->kind));
            return NULL;
        }
        len += strlen(i->text) + 1;
    }
    char *text = calloc(1, len);
    if (text == NULL)
        conf_no_memory(errors, t->line);
    for (const struct conf_tree *i = t->first; text != NULL && i != NULL; i = i->next)
        used += (size_t)snprintf(text + used, len - used, used > 0 ? " %s" : "%s", i->text);
    return text;
}

static void set_value(const struct conf_option *o, const struct conf_part *part,
                      const struct conf_tree *t, const char *where, struct conf_errors *errors)
{
    char why[WHY_CAP];
    if (t->kind == CONF_LIST && o->type == OPTION_WORDS) {
        char *text = join_words(t, where, errors);
        if (text != NULL && conf_option_set(o, part->base, text, why, sizeof why) < 0)
            conf_no_memory(errors, t->line);
        free(text);
        return;
    }
    if (t->kind != CONF_SCALAR) {
        conf_error(errors, t->line, "%s%s: %s is not expected here; write %s", where, t->key,
                   conf_kind_name(t->kind),
                   o->type == OPTION_WORDS ? "a list of values, [ONE, TWO]" : "one value");
        return;
    }
    if (o->initial == NULL && *t->text == '\0') {
        conf_error(errors, t->line, "%s%s: the value is missing; it means: %s", where, t->key,
                   o->help != NULL ? o->help : "required");
        return;
    }
    conf_setter *set = part->set != NULL ? part->set : conf_option_set;
    int err = set(o, part->base, t->text, why, sizeof why);
    if (err == HELIO_ENOMEM)
        conf_no_memory(errors, t->line);
    else if (err < 0)
        conf_error(errors, t->line, "%s%s: %s", where, t->key, why);
}

/* Has the root one of these keys? kind: of the value, or -1. */
static bool has_any(const struct conf_tree *root, const char *const *keys, int kind)
{
    bool has = false;
    for (; *keys != NULL && !has; keys++) {
        const struct conf_tree *t = conf_child(root, *keys);
        has = t != NULL && (kind < 0 || (int)t->kind == kind);
    }
    return has;
}

/* The program that reads such files; NULL: no key tells it. */
static const char *find_program(const struct conf_tree *root)
{
    static const char *const node[] = {"node", NULL};
    static const char *const of_node[] = {"socket", "store", NULL};
    static const char *const campaign[] = {"experiments", NULL};
    static const char *const lab[] = {"line", "ring", "star", "diamond", "nodes", "traffic", NULL};
    static const char *const channel[] = {"forward", "return", "both", NULL};
    return root->kind != CONF_MAP             ? NULL
           : has_any(root, node, CONF_SCALAR) ? "heliod"
           : has_any(root, of_node, -1)       ? "heliod"
           : has_any(root, campaign, -1)      ? "helio-campaign"
           : has_any(root, lab, -1)           ? "helio-lab"
           : has_any(root, channel, -1)       ? "helio-emu"
                                              : NULL;
}

bool conf_is_foreign(const struct conf_tree *root, const char *program, struct conf_errors *errors)
{
    const char *found = find_program(root);
    if (found == NULL || strcmp(found, program) == 0)
        return false;
    conf_error(errors, root->line, "this looks like a file of %s, not of %s; run %s with it", found,
               program, found);
    return true;
}

bool conf_is_second(const struct conf_tree *map, const struct conf_tree *t, const char *where,
                    struct conf_errors *errors)
{
    const struct conf_tree *first = conf_child(map, t->key);
    if (first != t)
        conf_error(errors, t->line, "%s%s: this key is here twice, first in line %u; keep one",
                   where, t->key, first->line);
    return first != t;
}

static void check_secret(const struct conf_option *o, const struct conf_tree *t, const char *where,
                         struct conf_errors *errors)
{
    if (o->type == OPTION_SECRET && t->text != NULL && *t->text != '\0' && errors->exposed != 0)
        conf_error(errors, t->line,
                   "%s%s: it is secret, and all users may read or write this file (mode %03o); "
                   "chmod o= it",
                   where, t->key, errors->exposed);
}

static bool set_key(const struct conf_tree *t, const char *where, const struct conf_part *parts,
                    size_t parts_len, struct conf_errors *errors)
{
    bool known = false;
    for (size_t i = 0; i < parts_len; i++) {
        const struct conf_option *o = conf_option_find(parts[i].options, t->key);
        if (o == NULL)
            continue;
        size_t before = errors->total;
        known = true;
        set_value(o, &parts[i], t, where, errors);
        if (errors->total > before)
            break;
        else
            check_secret(o, t, where, errors);
    }
    return known;
}

/* Was the key written in another form? Then that was reported. */
static bool is_meant(const struct conf_tree *map, const char *key, const struct known *known)
{
    bool meant = false;
    for (const struct conf_tree *t = map->first; t != NULL && !meant; t = t->next) {
        const char *closest = words_closest(t->key, known->keys, known->n);
        meant = closest != NULL && strcmp(closest, key) == 0;
    }
    return meant;
}

static void report_missing(const struct conf_tree *map, const char *where,
                           const struct conf_part *parts, size_t index, const struct known *known,
                           struct conf_errors *errors)
{
    for (const struct conf_option *o = parts[index].options; o->key != NULL; o++) {
        bool named = false;
        for (size_t i = 0; i < index; i++)
            named |= conf_option_find(parts[i].options, o->key) != NULL;
        if (o->initial == NULL && !named && conf_child(map, o->key) == NULL &&
            !is_meant(map, o->key, known))
            conf_error(errors, map->line, "%s%s: this key is missing; it means: %s", where, o->key,
                       o->help != NULL ? o->help : "required");
    }
}

static bool has_choice(const struct conf_option *o, const char *word)
{
    const size_t len = strlen(word);
    for (const char *p = o->choices; p != NULL && *p != '\0'; p += *p == '|') {
        const size_t n = strcspn(p, "|");
        if (n == len && memcmp(p, word, n) == 0)
            return true;
        p += n;
    }
    return false;
}

/* "KEY: {durability: none}" if the value is a choice of only one of its keys, else "KEY: {path:
 * …}". Empty: it has no keys, or it is an item of a list. */
static void write_example(const struct conf_tree *map, const char *where, int key_len,
                          const struct conf_part *part, char out[SUCH_AS_CAP])
{
    const struct conf_option *found = NULL;
    size_t n = 0;
    for (const struct conf_option *o = part->options; map->kind == CONF_SCALAR && o->key != NULL;
         o++)
        if (o->type == OPTION_CHOICE && has_choice(o, map->text)) {
            found = o;
            n++;
        }
    if (n == 1)
        snprintf(out, SUCH_AS_CAP, ", such as %.*s: {%s: %s}", key_len, where, found->key,
                 map->text);
    else
        snprintf(out, SUCH_AS_CAP, ", such as %.*s: {%s: …}", key_len, where, part->options->key);
}

/* Is it a list or a value, where a map should be? Then that is reported. An empty value is a map
 * without keys. */
static bool refuse_other_kind(const struct conf_tree *map, const char *where,
                              const struct conf_part *parts, size_t parts_len,
                              struct conf_errors *errors)
{
    char such_as[SUCH_AS_CAP] = "";
    const size_t len = strlen(where);
    const int key_len = (int)(len > 0 ? len - 1 : 0); /* without the dot */
    if (map->kind == CONF_MAP || (map->kind == CONF_SCALAR && *map->text == '\0'))
        return false;
    if (key_len > 0 && parts_len > 0 && parts->options->key != NULL &&
        strchr(where, '.') == where + key_len && strchr(where, '[') == NULL)
        write_example(map, where, key_len, parts, such_as);
    conf_error(errors, map->line, "%.*s%s%s is not expected here; write a map of its keys%s",
               key_len, where, len > 0 ? ": " : "", conf_kind_name(map->kind), such_as);
    return true;
}

void conf_section_read(const struct conf_tree *map, const char *where,
                       const struct conf_part *parts, size_t parts_len, const char *const *words,
                       struct conf_errors *errors)
{
    struct known keys;
    if (refuse_other_kind(map, where, parts, parts_len, errors))
        return;
    list_known(parts, parts_len, words, &keys);
    for (const struct conf_tree *t = map->first; t != NULL; t = t->next) {
        if (conf_is_second(map, t, where, errors))
            continue;
        bool known = set_key(t, where, parts, parts_len, errors);
        for (const char *const *w = words; !known && w != NULL && *w != NULL; w++)
            known = strcmp(*w, t->key) == 0;
        if (!known)
            report_unknown(t, where, &keys, errors);
    }
    for (size_t i = 0; i < parts_len; i++)
        report_missing(map, where, parts, i, &keys, errors);
}

static bool is_empty(const struct conf_tree *t)
{
    return t == NULL || (t->kind == CONF_SCALAR && *t->text == '\0');
}

const struct conf_tree *conf_map(const struct conf_tree *root, const char *where, const char *key,
                                 struct conf_errors *errors)
{
    const struct conf_tree *t = conf_child(root, key);
    if (is_empty(t))
        return NULL;
    if (t->kind == CONF_MAP)
        return t;
    conf_error(errors, t->line, "%s%s: %s is not expected here; write a map of its keys", where,
               key, conf_kind_name(t->kind));
    return NULL;
}

const struct conf_tree *conf_list(const struct conf_tree *root, const char *where, const char *key,
                                  size_t max, size_t *n, struct conf_errors *errors)
{
    const struct conf_tree *t = conf_child(root, key);
    *n = 0;
    if (is_empty(t))
        return NULL;
    if (t->kind != CONF_LIST) {
        conf_error(errors, t->line,
                   "%s%s: %s is not expected here; write a list of maps: "
                   "\"- \" before the first key of each",
                   where, key, conf_kind_name(t->kind));
        return NULL;
    }
    for (const struct conf_tree *i = t->first; i != NULL; i = i->next) {
        if (i->kind != CONF_MAP) {
            conf_error(errors, i->line, "%s%s: %s is not expected here; write a map of keys", where,
                       key, conf_kind_name(i->kind));
            return NULL;
        }
        if (++*n > max) {
            conf_error(errors, i->line, "%s%s: more than %zu of them", where, key, max);
            return NULL;
        }
    }
    return t->first;
}

/* Of the file that was opened. A pipe or a device has no readers but its own. */
static unsigned exposure_of(FILE *f)
{
    struct stat st;
    if (fstat(fileno(f), &st) != 0 || !S_ISREG(st.st_mode) || (st.st_mode & S_IRWXO) == 0)
        return 0;
    return (unsigned)(st.st_mode & 0777);
}

static bool is_read(FILE *f, size_t len, struct conf_errors *errors)
{
    struct stat st;
    if (ferror(f))
        conf_error(errors, 0, "cannot be read: %s", strerror(errno));
    else if (len == 0 && fstat(fileno(f), &st) == 0 && S_ISFIFO(st.st_mode))
        conf_error(errors, 0, "is a pipe, and nobody writes to it; write the path of a file");
    else
        return true;
    return false;
}

char *conf_file_read(const char *path, size_t *len, struct conf_errors *errors)
{
    char why[128];
    FILE *f = input_file_any(path, why, sizeof why);
    if (f == NULL && errno == ENOMEM)
        conf_no_memory(errors, 0);
    else if (f == NULL)
        conf_error(errors, 0, "cannot be read: %s", why);
    if (f == NULL)
        return NULL;
    char *data = malloc(CONF_FILE_MAX + 1);
    if (data == NULL) {
        conf_no_memory(errors, 0);
    } else {
        errors->exposed = exposure_of(f);
        *len = fread(data, 1, CONF_FILE_MAX + 1, f);
        if (!is_read(f, *len, errors)) {
            free(data);
            data = NULL;
        }
    }
    fclose(f);
    return data;
}
