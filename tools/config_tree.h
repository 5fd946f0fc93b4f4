/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A YAML document as a tree whose every node knows its line. Only what configuration files need:
 * maps with plain keys, lists and scalars; no aliases, no second document.
 */
#ifndef TOOLS_CONFIG_TREE_H
#define TOOLS_CONFIG_TREE_H

#include <stddef.h>
#include <stdint.h>

enum tree_kind { TREE_SCALAR, TREE_MAP, TREE_LIST };

struct tree {
    enum tree_kind kind;
    uint32_t line;      /* 1 … */
    char *key;          /* of a map's child; NULL for others */
    char *text;         /* of a scalar; "" when it is empty */
    struct tree *first; /* child, in the order of the file */
    struct tree *next;  /* sibling */
};

#define CONFIG_ERRORS_MAX 20
#define CONFIG_ERROR_CAP 400

/* What is wrong with a file: at most CONFIG_ERRORS_MAX lines "FILE:LINE: KEY: what; what would be
 * right". */
struct config_errors {
    const char *file; /* borrowed; the name to show */
    size_t len;       /* texts held */
    size_t total;     /* errors met */
    char text[CONFIG_ERRORS_MAX][CONFIG_ERROR_CAP];
};

void config_errors_init(struct config_errors *e, const char *file);

/* One more error; bytes that a terminal should not see are shown as '?'. */
void config_error(struct config_errors *e, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Parses len bytes (at most 1 MiB). NULL with at least one error; else the caller's to tree_free.
 */
struct tree *tree_parse(const char *data, size_t len, struct config_errors *errors);
void tree_free(struct tree *t); /* NULL is allowed */

/* The child with this key, or NULL. */
const struct tree *tree_child(const struct tree *map, const char *key);

/* "a value", "a map", "a list": for messages. */
const char *tree_kind_name(enum tree_kind kind);

#endif
