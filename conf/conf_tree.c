/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libyaml reads the text into a document; this file walks the document once and copies it into a
 * tree of our own, so that nothing else knows the library.
 *
 * What can go wrong: text that is not YAML (the library names the line), an alias (a document of a
 * few lines could grow to gigabytes, or contain itself), a key that is not a plain word, too deep a
 * nesting, a text with a zero byte, memory.
 */
#include "conf/conf_tree.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/err.h"
#include "base/lack.h"

#define DEPTH_MAX 16
#define BYTES_MAX (1U << 20)

struct builder {
    yaml_document_t *document;
    uint8_t *seen; /* one per node of the document: it has its place already */
    struct conf_errors *errors;
};

void conf_errors_init(struct conf_errors *e, const char *file)
{
    *e = (struct conf_errors){.file = file};
    errno = 0; /* of an earlier failure, which may be harmless */
}

int conf_errors_code(const struct conf_errors *e)
{
    return e->total == 0 ? 0 : e->no_memory ? HELIO_ENOMEM : HELIO_EFORMAT;
}

void conf_no_memory(struct conf_errors *e, uint32_t line)
{
    e->no_memory = true;
    conf_error(e, line, "out of memory");
}

void conf_error(struct conf_errors *e, uint32_t line, const char *format, ...)
{
    e->no_memory = e->no_memory || lack_is(errno);
    e->total++;
    if (e->len == CONF_ERRORS_MAX)
        return;
    char *text = e->text[e->len++];
    int n = e->file[0] == '\0' ? 0
            : line > 0         ? snprintf(text, CONF_ERROR_CAP, "%s:%u: ", e->file, line)
                               : snprintf(text, CONF_ERROR_CAP, "%s: ", e->file);
    if (n >= 0 && n < CONF_ERROR_CAP) {
        va_list args;
        va_start(args, format);
        if (line > 0 && e->instead != NULL)
            snprintf(text + n, (size_t)(CONF_ERROR_CAP - n), "%s", e->instead);
        else
            vsnprintf(text + n, (size_t)(CONF_ERROR_CAP - n), format, args);
        va_end(args);
    }
    for (char *p = text; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
}

const char *conf_kind_name(enum conf_kind kind)
{
    return kind == CONF_SCALAR ? "a value" : kind == CONF_MAP ? "a map" : "a list";
}

static uint32_t line_of(const yaml_node_t *n)
{
    return (uint32_t)n->start_mark.line + 1;
}

static char *scalar_text(struct builder *b, const yaml_node_t *n)
{
    const char *value = (const char *)n->data.scalar.value;
    size_t len = n->data.scalar.length;
    if (memchr(value, 0, len) != NULL) {
        conf_error(b->errors, line_of(n), "a text may not contain a zero byte");
        return NULL;
    }
    char *text = strndup(value, len);
    if (text == NULL)
        conf_no_memory(b->errors, line_of(n));
    return text;
}

static struct conf_tree *build_node(struct builder *b, int index, int depth);

static bool build_map(struct builder *b, const yaml_node_t *n, struct conf_tree *t, int depth)
{
    struct conf_tree **at = &t->first;
    for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top; p++) {
        yaml_node_t *key = yaml_document_get_node(b->document, p->key);
        if (key == NULL || key->type != YAML_SCALAR_NODE) {
            conf_error(b->errors, key == NULL ? t->line : line_of(key),
                       "a key must be a plain word");
            return false;
        }
        struct conf_tree *child = build_node(b, p->value, depth);
        if (child == NULL)
            return false;
        *at = child;
        at = &child->next;
        /* An empty value has its mark on the next line: show the key's. */
        child->line = line_of(key);
        child->key = scalar_text(b, key);
        if (child->key == NULL)
            return false;
    }
    return true;
}

static bool build_list(struct builder *b, const yaml_node_t *n, struct conf_tree *t, int depth)
{
    struct conf_tree **at = &t->first;
    for (yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top; i++) {
        struct conf_tree *child = build_node(b, *i, depth);
        if (child == NULL)
            return false;
        *at = child;
        at = &child->next;
    }
    return true;
}

static struct conf_tree *build_node(struct builder *b, int index, int depth)
{
    yaml_node_t *n = yaml_document_get_node(b->document, index);
    if (n == NULL)
        return NULL;
    if (depth > DEPTH_MAX) {
        conf_error(b->errors, line_of(n), "nested deeper than %d levels", DEPTH_MAX);
        return NULL;
    }
    if (b->seen[index - 1]++ != 0) {
        conf_error(b->errors, line_of(n), "aliases (*name) are not supported; repeat the text");
        return NULL;
    }
    struct conf_tree *t = calloc(1, sizeof *t);
    if (t == NULL) {
        conf_no_memory(b->errors, line_of(n));
        return NULL;
    }
    t->line = line_of(n);
    bool ok = false;
    if (n->type == YAML_SCALAR_NODE) {
        t->text = scalar_text(b, n);
        ok = t->text != NULL;
    } else if (n->type == YAML_MAPPING_NODE) {
        t->kind = CONF_MAP;
        ok = build_map(b, n, t, depth + 1);
    } else if (n->type == YAML_SEQUENCE_NODE) {
        t->kind = CONF_LIST;
        ok = build_list(b, n, t, depth + 1);
    }
    if (!ok) {
        conf_tree_free(t);
        return NULL;
    }
    return t;
}

static struct conf_tree *build_document(yaml_document_t *document, const char *empty,
                                        struct conf_errors *errors)
{
    if (yaml_document_get_root_node(document) == NULL) {
        conf_error(errors, 1, "the file is empty; %s", empty);
        return NULL;
    }
    size_t nodes = (size_t)(document->nodes.top - document->nodes.start);
    struct builder b = {.document = document, .seen = calloc(nodes, 1), .errors = errors};
    struct conf_tree *t = NULL;
    if (b.seen == NULL)
        conf_no_memory(errors, 1);
    else
        t = build_node(&b, 1, 0);
    free(b.seen);
    return t;
}

/* An error in input that is no text has an offset in bytes and no line. */
static uint32_t line_at(const char *data, size_t offset)
{
    uint32_t line = 1;
    for (const char *p = data, *end = data + offset;
         (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
        line++;
    return line;
}

/* The first line from `line` on whose indentation has a tab, among two: the library names the line
 * of the tab, or where it began to read the value before. 0: there is none. */
static uint32_t find_tab(const char *data, size_t len, uint32_t line)
{
    const char *at = data, *end = data + len;
    for (uint32_t n = 1; at < end && n <= line + 1; n++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *next = newline != NULL ? newline + 1 : end;
        while (n >= line && at < next && *at == ' ')
            at++;
        if (n >= line && at < next && *at == '\t')
            return n;
        at = next;
    }
    return 0;
}

/* Where the mark is. It counts characters: `len` if the text before it in its line is not ASCII. */
static size_t offset_of(const yaml_mark_t *mark, const char *data, size_t len)
{
    size_t at = 0;
    for (size_t line = 0; line < mark->line && at < len; at++)
        line += data[at] == '\n';
    const size_t end = at + mark->column;
    while (at < end && at < len && (unsigned char)data[at] < 0x80)
        at++;
    return at == end ? end : len;
}

/* Is nothing but blanks before the place of the problem in its line? */
static bool is_indented(const yaml_parser_t *p, const char *data, size_t len)
{
    const size_t at = offset_of(&p->problem_mark, data, len);
    const size_t begin = at - (at < len ? p->problem_mark.column : 0);
    return at < len && strspn(data + begin, " ") >= p->problem_mark.column;
}

/* "mapping values are not allowed": a second colon in one line, or a key below a value. */
static bool explain_colon(const yaml_parser_t *p, const char *data, size_t len,
                          struct conf_errors *errors)
{
    const size_t at = offset_of(&p->problem_mark, data, len);
    const uint32_t line = (uint32_t)p->problem_mark.line + 1;
    if (p->problem == NULL || at == len ||
        strncmp(p->problem, "mapping values are not allowed", 30) != 0)
        return false;
    const char *begin = data + at - p->problem_mark.column, *first = strstr(begin, ": ");
    if (first != NULL && first < data + at) {
        const int value = (int)strcspn(first + 2, "\r\n");
        conf_error(errors, line, "not YAML: write the value in quotes: %.*s: \"%.*s\"",
                   (int)(first - begin - (long)strspn(begin, " -")), begin + strspn(begin, " -"),
                   value < 80 ? value : 80, first + 2);
    } else
        conf_error(errors, line,
                   "not YAML: the line above has a value already, so this key cannot be below it; "
                   "keys of one map begin in one column");
    return true;
}

/* "mapping values are not allowed": is it because the line before has no space after its colon? */
static bool explain_line_before(const yaml_parser_t *p, const char *data, size_t len,
                                struct conf_errors *errors)
{
    yaml_mark_t mark = {.line = p->problem_mark.line - 1};
    if (p->problem == NULL || p->problem_mark.line == 0 ||
        strncmp(p->problem, "mapping values are not allowed", 30) != 0)
        return false;
    size_t at = offset_of(&mark, data, len), key = 0, word;
    while (at < len && strchr(" -", data[at]) != NULL)
        at++;
    while (at + key < len && strchr(":\n ", data[at + key]) == NULL)
        key++;
    for (word = key; at + word < len && strchr("\n\r ", data[at + word]) == NULL;)
        word++;
    if (key == 0 || word < key + 2 || word > 80)
        return false;
    conf_error(errors, (uint32_t)mark.line + 1,
               "not YAML: write a space after the colon: %.*s: %.*s", (int)key, data + at,
               (int)(word - key - 1), data + at + key + 1);
    return true;
}

/* Mistakes that the library's words do not explain to a person. */
static bool explain_error(const yaml_parser_t *p, const char *data, size_t len,
                          struct conf_errors *errors)
{
    const char *context = p->context != NULL ? p->context : "";
    const size_t at = offset_of(&p->context_mark, data, len);
    const uint32_t line = (uint32_t)p->context_mark.line + 1,
                   end = (uint32_t)p->problem_mark.line + 1;
    const bool map = strcmp(context, "while parsing a flow mapping") == 0;
    const bool list = strcmp(context, "while parsing a flow sequence") == 0;
    const bool block = strncmp(context, "while parsing a block ", 22) == 0;
    const char *text = data + at;
    int word = 0, key = 0;
    while (at + (size_t)word < len && word < 80 && strchr(" \t\r\n,]}", text[word]) == NULL)
        word++;
    while (key < word && text[key] != ':')
        key++;
    if (strcmp(context, "while scanning an alias") == 0 && word > 0 && *text == '*')
        conf_error(errors, line, "not YAML: write %.*s in quotes: \"%.*s\"", word, text, word,
                   text);
    else if (strcmp(context, "while scanning a simple key") == 0 && key < word - 1)
        conf_error(errors, line, "not YAML: write a space after the colon: %.*s: %.*s", key, text,
                   word - key - 1, text + key + 1);
    else if ((map || list) && end > line)
        conf_error(errors, line, "not YAML: this line has a %c without its %c (line %u goes on)",
                   map ? '{' : '[', map ? '}' : ']', end);
    else if (strcmp(context, "while scanning a quoted scalar") == 0 && at < len)
        conf_error(errors, line, "not YAML: this text begins with %c and has no %c at its end",
                   *text, *text);
    else if (block && end > line && p->problem_mark.column != p->context_mark.column &&
             is_indented(p, data, len))
        conf_error(errors, end,
                   "not YAML: no line above has this indent; keys of one map begin in one column");
    else
        return false;
    return true;
}

static void parser_error(const yaml_parser_t *p, const char *data, size_t len,
                         struct conf_errors *errors)
{
    if (p->error == YAML_MEMORY_ERROR) {
        conf_no_memory(errors, 0);
        return;
    }
    uint32_t line = p->error != YAML_READER_ERROR ? (uint32_t)p->problem_mark.line + 1
                    : p->problem_offset < len     ? line_at(data, p->problem_offset)
                                                  : line_at(data, len);
    const uint32_t tab = p->error == YAML_SCANNER_ERROR ? find_tab(data, len, line) : 0;
    if (tab != 0) {
        conf_error(errors, tab, "not YAML: a tab at line %u: use spaces", tab);
        return;
    }
    if (explain_error(p, data, len, errors) || explain_line_before(p, data, len, errors) ||
        explain_colon(p, data, len, errors))
        return;
    conf_error(errors, line, "not YAML: %s%s%s%s", p->problem != NULL ? p->problem : "unreadable",
               p->error == YAML_READER_ERROR ? " (a configuration is UTF-8)" : "",
               p->context != NULL ? " " : "", p->context != NULL ? p->context : "");
}

static bool one_document(yaml_parser_t *parser, const char *data, size_t len,
                         struct conf_errors *errors)
{
    yaml_document_t document;
    if (!yaml_parser_load(parser, &document)) {
        parser_error(parser, data, len, errors);
        return false;
    }
    bool last = yaml_document_get_root_node(&document) == NULL;
    if (!last)
        conf_error(errors, (uint32_t)document.start_mark.line + 1,
                   "a second document begins here; a configuration is one document");
    yaml_document_delete(&document);
    return last;
}

/* The library's time grows with the square of the depth: too deep a nesting is reported before the
 * text is read as a document. Other errors are reported by the reading. */
static bool is_shallow(const char *data, size_t len, struct conf_errors *errors)
{
    yaml_parser_t parser;
    yaml_event_t event;
    yaml_event_type_t type = YAML_NO_EVENT;
    int depth = 0;
    if (!yaml_parser_initialize(&parser))
        return true;
    yaml_parser_set_input_string(&parser, (const unsigned char *)data, len);
    while (type != YAML_STREAM_END_EVENT && depth <= DEPTH_MAX + 1 &&
           yaml_parser_parse(&parser, &event)) {
        type = event.type;
        depth += type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT;
        depth -= type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT;
        if (depth > DEPTH_MAX + 1)
            conf_error(errors, (uint32_t)event.start_mark.line + 1, "nested deeper than %d levels",
                       DEPTH_MAX);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return depth <= DEPTH_MAX + 1;
}

struct conf_tree *conf_tree_parse(const char *data, size_t len, const char *empty,
                                  struct conf_errors *errors)
{
    if (len > BYTES_MAX) {
        conf_error(errors, 0, "longer than 1 MiB: this is no configuration file");
        return NULL;
    }
    return conf_tree_parse_long(data, len, BYTES_MAX, empty, errors);
}

struct conf_tree *conf_tree_parse_long(const char *data, size_t len, size_t max, const char *empty,
                                       struct conf_errors *errors)
{
    if (len > max) {
        conf_error(errors, 0, "longer than %zu MiB", max >> 20);
        return NULL;
    }
    if (!is_shallow(data, len, errors))
        return NULL;
    yaml_parser_t parser;
    yaml_document_t document;
    if (!yaml_parser_initialize(&parser)) {
        conf_no_memory(errors, 1);
        return NULL;
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)data, len);
    struct conf_tree *t = NULL;
    if (!yaml_parser_load(&parser, &document)) {
        parser_error(&parser, data, len, errors);
    } else {
        t = build_document(&document, empty, errors);
        yaml_document_delete(&document);
    }
    if (t != NULL && !one_document(&parser, data, len, errors)) {
        conf_tree_free(t);
        t = NULL;
    }
    yaml_parser_delete(&parser);
    return t;
}

void conf_tree_free(struct conf_tree *t)
{
    while (t != NULL) {
        struct conf_tree *next = t->next;
        conf_tree_free(t->first);
        free(t->key);
        free(t->text);
        free(t);
        t = next;
    }
}

struct conf_tree *conf_tree_copy(const struct conf_tree *t)
{
    struct conf_tree *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    *c = (struct conf_tree){.kind = t->kind,
                            .line = t->line,
                            .key = t->key == NULL ? NULL : strdup(t->key),
                            .text = t->text == NULL ? NULL : strdup(t->text)};
    bool good = (t->key == NULL) == (c->key == NULL) && (t->text == NULL) == (c->text == NULL);
    struct conf_tree **end = &c->first;
    for (const struct conf_tree *i = t->first; good && i != NULL; i = i->next, end = &(*end)->next)
        good = (*end = conf_tree_copy(i)) != NULL;
    if (good)
        return c;
    conf_tree_free(c);
    return NULL;
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool conf_tree_equal(const struct conf_tree *a, const struct conf_tree *b)
{
    if (a->kind != b->kind || !same_text(a->key, b->key) || !same_text(a->text, b->text))
        return false;
    const struct conf_tree *i = a->first, *k = b->first;
    while (i != NULL && k != NULL && conf_tree_equal(i, k)) {
        i = i->next;
        k = k->next;
    }
    return i == NULL && k == NULL;
}

bool conf_tree_put(struct conf_tree *map, const char *key, const char *value)
{
    struct conf_tree *t = calloc(1, sizeof *t);
    if (t == NULL)
        return false;
    *t = (struct conf_tree){
        .kind = CONF_SCALAR, .line = map->line, .key = strdup(key), .text = strdup(value)};
    if (t->key == NULL || t->text == NULL) {
        conf_tree_free(t);
        return false;
    }
    t->next = map->first;
    map->first = t;
    return true;
}

const struct conf_tree *conf_child(const struct conf_tree *map, const char *key)
{
    for (const struct conf_tree *c = map->first; c != NULL; c = c->next)
        if (strcmp(c->key, key) == 0)
            return c;
    return NULL;
}
