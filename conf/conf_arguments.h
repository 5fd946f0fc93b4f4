/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a command line as a table: the help text, the type, the range and the field of an
 * option are described once. For example
 *
 *   {.name = "count", .key = 'c', .arg = "N", .help = "Send so many", .type = ARGUMENT_COUNT,
 *    ARGUMENT_FIELD(struct options, count), .low = 1, .high = 1000}
 *
 * makes `-c N` and `--count N` set options.count. The table becomes a parser of argp, which prints
 * --help. A wrong value ends the program with exit code argp_err_exit_status (os/arguments.h).
 */
#ifndef CONF_CONF_ARGUMENTS_H
#define CONF_CONF_ARGUMENTS_H

#include <argp.h>
#include <stddef.h>
#include <stdint.h>

/* The type of the option's field is given in brackets. */
enum argument_type {
    ARGUMENT_TEXT,    /* [const char *] borrowed from argv */
    ARGUMENT_SET,     /* [bool] true; no value */
    ARGUMENT_CLEAR,   /* [bool] false; no value */
    ARGUMENT_COUNT,   /* [uint64_t, uint32_t] low to high */
    ARGUMENT_SIZE,    /* [uint64_t] bytes, low to high */
    ARGUMENT_SERVICE, /* [const char *] name of an endpoint's service, shorter than 64 */
    ARGUMENT_OWN,     /* set by `own` */
};

struct argument;

/* Sets an option of the program's own type. arg: NULL without a value, for OPTION_ARG_OPTIONAL. A
 * wrong value must end the program (argument_want). */
typedef void argument_setter(struct argp_state *state, const struct argument *o, char *arg,
                             void *base);

struct argument {
    const char *name; /* long name; NULL ends the table */
    int key;          /* short name; 0: none */
    const char *arg;  /* name of the value in the help; NULL: no value */
    int flags;        /* of struct argp_option: OPTION_ALIAS is another name of the row before */
    const char *help;
    int group; /* of struct argp_option */
    enum argument_type type;
    size_t offset, size; /* of the field */
    uint64_t low, high;
    argument_setter *own;
};

#define ARGUMENT_FIELD(type, member)                                                               \
    .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)

#define ARGUMENTS_MAX 64 /* rows of a table */

struct argument_table {
    const struct argument *options;
    const char *args_doc, *doc; /* of struct argp */
    /* The first argument that is no option; it may take more from `state`. NULL: there are none. */
    void (*word)(struct argp_state *state, char *arg, void *base);
    /* After all arguments: checks what belongs together. NULL: nothing. */
    void (*end)(struct argp_state *state, void *base);
};

/* Sets the fields of `base`, which have their defaults, from the command line. Ends the program for
 * --help, --version and wrong arguments. */
void argument_table_parse(const struct argument_table *a, int argc, char **argv, void *base);

/* The option's field in `base`, for setters. */
static inline void *argument_field(const struct argument *o, void *base)
{
    return (char *)base + o->offset;
}

#endif
