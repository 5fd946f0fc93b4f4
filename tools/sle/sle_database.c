/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line after the other: a key with its value, a key that begins a list, a value of a list, or
 * the end of a list. What can go wrong: other characters than those of keys and values, something
 * behind a value, a list that does not end, or is too deep: an error with its line.
 */
#include "tools/sle/sle_database.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 4, KEYS_MAX = 64 /* of a map */, DATABASE_MAX = 1 << 20 /* octets */ };

struct parser {
    const char *at, *end;
    uint32_t line;
    struct conf_errors *errors;
};

/* What a line has; empty: nothing but a comment. */
struct line {
    const char *key, *value;
    size_t key_len, value_len;
    bool pair, opens, closes;
};

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("_*.:/-", c) != NULL);
}

static const char *pass_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\f' || *p == '\r'))
        p++;
    return p < end && *p == '#' ? end : p;
}

static const char *pass_word(const char *p, const char *end)
{
    while (p < end && is_word(*p))
        p++;
    return p;
}

/* Cuts the line up; what is wrong with it, NULL: nothing. */
static const char *cut_line(const char *p, const char *end, struct line *out)
{
    *out = (struct line){0};
    p = pass_blanks(p, end);
    if (p == end)
        return NULL;
    if (*p == '}') {
        out->closes = true;
        return pass_blanks(p + 1, end) == end ? NULL : "there is something behind }";
    }
    out->key = p;
    p = pass_word(p, end);
    out->key_len = (size_t)(p - out->key);
    if (out->key_len == 0)
        return "a key or a value is expected: letters, digits and _ * . : / -";
    p = pass_blanks(p, end);
    if (p == end)
        return NULL;
    if (*p != '=')
        return "= is expected behind the key";
    out->pair = true;
    p = pass_blanks(p + 1, end);
    out->opens = p < end && *p == '{';
    if (out->opens)
        return pass_blanks(p + 1, end) == end ? NULL : "there is something behind {";
    out->value = p;
    p = pass_word(p, end);
    out->value_len = (size_t)(p - out->value);
    if (out->value_len == 0)
        return "a value or { is expected behind =";
    return pass_blanks(p, end) == end ? NULL : "there is something behind the value";
}

/* False: the text has ended. Lines with nothing in them are passed over. */
static bool next_line(struct parser *r, struct line *out)
{
    while (r->at < r->end) {
        const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
        end = end == NULL ? r->end : end;
        const char *why = cut_line(r->at, end, out);
        r->at = end == r->end ? end : end + 1;
        r->line++;
        if (why != NULL)
            conf_error(r->errors, r->line, "%s", why);
        if (why != NULL)
            return false;
        if (out->key != NULL || out->closes)
            return true;
    }
    return false;
}

/* NULL: memory is out, which is an error. The texts may be NULL. */
static struct conf_tree *new_node(struct parser *r, enum conf_kind kind, const char *key,
                                  size_t key_len, const char *text, size_t text_len)
{
    struct conf_tree *t = calloc(1, sizeof *t);
    if (t != NULL) {
        t->kind = kind;
        t->line = r->line;
        t->key = key == NULL ? NULL : strndup(key, key_len);
        t->text = text == NULL ? NULL : strndup(text, text_len);
    }
    if (t != NULL && (key == NULL || t->key != NULL) && (text == NULL || t->text != NULL))
        return t;
    conf_tree_free(t);
    conf_no_memory(r->errors, r->line);
    return NULL;
}

/* The key of the line, or NULL; *last: the last child. */
static const struct conf_tree *find_key(const struct conf_tree *map, const struct line *l,
                                        struct conf_tree **last, size_t *n)
{
    *last = NULL;
    *n = 0;
    for (struct conf_tree *t = map->first; t != NULL; t = t->next) {
        if (strlen(t->key) == l->key_len && memcmp(t->key, l->key, l->key_len) == 0)
            return t;
        *last = t;
        (*n)++;
    }
    return NULL;
}

static void add_child(struct conf_tree *parent, struct conf_tree *last, struct conf_tree *child)
{
    if (last == NULL)
        parent->first = child;
    else
        last->next = child;
}

static bool read_list(struct parser *r, struct conf_tree *list, int depth);

/* KEY = VALUE, or KEY = { … }, into a map that does not have the key. */
static bool read_pair(struct parser *r, const struct line *l, struct conf_tree *map, int depth)
{
    size_t n;
    struct conf_tree *last;
    const struct conf_tree *twice = find_key(map, l, &last, &n);
    if (twice != NULL || n == KEYS_MAX) {
        conf_error(r->errors, r->line, "%.*s: %s", (int)l->key_len, l->key,
                   twice != NULL ? "it is there twice" : "there are more than 64 keys");
        return false;
    }
    struct conf_tree *t = new_node(r, l->opens ? CONF_LIST : CONF_SCALAR, l->key, l->key_len,
                                   l->opens ? NULL : l->value, l->value_len);
    if (t == NULL)
        return false;
    add_child(map, last, t);
    return !l->opens || read_list(r, t, depth + 1);
}

/* A key goes to the last item, which is a map, unless that has it; a value is an item. */
static bool read_item(struct parser *r, const struct line *l, struct conf_tree *list,
                      struct conf_tree **item, int depth)
{
    size_t n;
    struct conf_tree *last;
    if (list->first != NULL && l->pair != (list->first->kind == CONF_MAP)) {
        conf_error(r->errors, r->line, "%s: a list has either values or keys with values",
                   list->key);
        return false;
    }
    if (!l->pair || *item == NULL || find_key(*item, l, &last, &n) != NULL) {
        struct conf_tree *t = l->pair ? new_node(r, CONF_MAP, NULL, 0, NULL, 0)
                                      : new_node(r, CONF_SCALAR, NULL, 0, l->key, l->key_len);
        if (t == NULL)
            return false;
        add_child(list, *item, t);
        *item = t;
    }
    return !l->pair || read_pair(r, l, *item, depth);
}

static bool read_list(struct parser *r, struct conf_tree *list, int depth)
{
    const uint32_t begun = r->line;
    struct conf_tree *item = NULL;
    struct line l;
    if (depth > DEPTH_MAX) {
        conf_error(r->errors, r->line, "nested deeper than %d lists", DEPTH_MAX);
        return false;
    }
    while (next_line(r, &l)) {
        if (l.closes)
            return true;
        if (!read_item(r, &l, list, &item, depth))
            return false;
    }
    if (r->at == r->end)
        conf_error(r->errors, begun, "%s: } is missing", list->key);
    return false;
}

struct conf_tree *sle_database_parse(const char *text, size_t len, struct conf_errors *errors)
{
    struct parser r = {text, text + len, 0, errors};
    const size_t before = errors->total;
    struct line l;
    if (len > DATABASE_MAX) {
        conf_error(errors, 0, "longer than %d MiB", DATABASE_MAX >> 20);
        return NULL;
    }
    struct conf_tree *root = new_node(&r, CONF_MAP, NULL, 0, NULL, 0);
    bool good = root != NULL;
    while (good && next_line(&r, &l)) {
        if (!l.pair)
            conf_error(errors, r.line, l.closes ? "} without its {" : "= is expected behind a key");
        good = l.pair && read_pair(&r, &l, root, 0);
    }
    if (errors->total == before)
        return root;
    conf_tree_free(root);
    return NULL;
}
