/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A YAML document as a tree whose nodes have line numbers. Only the subset for configuration files:
 * maps with plain keys, lists and scalars; no aliases, no second document.
 */
#ifndef CONF_CONF_TREE_H
#define CONF_CONF_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum conf_kind { CONF_SCALAR, CONF_MAP, CONF_LIST };

struct conf_tree {
    enum conf_kind kind;
    uint32_t line;           /* 1 … */
    char *key;               /* of a map's child; NULL for others */
    char *text;              /* of a scalar; "" when it is empty */
    struct conf_tree *first; /* child, in the order of the file */
    struct conf_tree *next;  /* sibling */
};

#define CONF_ERRORS_MAX 20
#define CONF_ERROR_CAP 512

/* What is wrong with a file: at most CONF_ERRORS_MAX lines "FILE:LINE: KEY: what; what would be
 * right". */
struct conf_errors {
    const char *file; /* borrowed; the name to show; "": none, and no line */
    size_t len;       /* texts held */
    size_t total;     /* errors met */
    /* Text that replaces all errors with a line; NULL: the real text. For a file of a user who may
     * not be allowed to read it: an error's text shows parts of the file. */
    const char *instead;
    /* Where an unknown key of the map `where` ("": the top) belongs, in out[cap], such as "store:
     * {durability: none}". False: unknown, or one of several places. NULL: nobody knows. */
    bool (*place_of)(const void *context, const char *where, const struct conf_tree *t, char *out,
                     size_t cap);
    const void *context; /* of place_of */
    bool no_memory;      /* memory or descriptors ran out: the file may be right */
    unsigned exposed;    /* permissions of the file, if all users may read or write it; else 0 */
    char text[CONF_ERRORS_MAX][CONF_ERROR_CAP];
};

void conf_errors_init(struct conf_errors *e, const char *file); /* and errno is 0 */

/* One more error; bytes that a terminal should not see are shown as '?'. If errno is one of
 * lack_is, also no_memory: what could not be read, opened or made caused this error. */
void conf_error(struct conf_errors *e, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Memory ran out: an error, and no_memory. */
void conf_no_memory(struct conf_errors *e, uint32_t line);

/* The result of a reader: 0 without errors, HELIO_ENOMEM with no_memory, else HELIO_EFORMAT. */
int conf_errors_code(const struct conf_errors *e);

/* Parses len bytes (at most 1 MiB). NULL with at least one error; else the caller's to
 * conf_tree_free. `empty` says what an empty file lacks ("it needs at least the key …"). */
struct conf_tree *conf_tree_parse(const char *data, size_t len, const char *empty,
                                  struct conf_errors *errors);
/* The same of at most `max` bytes, for files of data: a tree takes some 30 times its text. */
struct conf_tree *conf_tree_parse_long(const char *data, size_t len, size_t max, const char *empty,
                                       struct conf_errors *errors);
void conf_tree_free(struct conf_tree *t); /* NULL is allowed */

/* A deep copy of t alone, without its siblings; the caller's to conf_tree_free. NULL: no memory. */
struct conf_tree *conf_tree_copy(const struct conf_tree *t);
/* Have both the same keys and values in the same order, whatever their lines? Siblings do not
 * count. */
bool conf_tree_equal(const struct conf_tree *a, const struct conf_tree *b);
/* Adds the key with this value to a map, in front of the others. False: no memory. */
bool conf_tree_put(struct conf_tree *map, const char *key, const char *value);

/* The child with this key, or NULL. */
const struct conf_tree *conf_child(const struct conf_tree *map, const char *key);

/* "a value", "a map", "a list": for messages. */
const char *conf_kind_name(enum conf_kind kind);

#endif
