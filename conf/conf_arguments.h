/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a command line as a table: the help text, the type, the range and the field of an
 * option are described once. For example
 *
 *   {.name = "count", .key = 'c', .arg = "N", .help = "Send so many", .type = OPTION_COUNT,
 *    ARGUMENT_FIELD(struct options, count), .min = 1, .max = 1000}
 *
 * makes `-c N` and `--count N` set options.count. Types, ranges and messages are those of the
 * configuration (conf/conf_value.h). The table becomes a parser of argp, which prints --help. A
 * wrong value ends the program with exit code argp_err_exit_status (os/arguments.h).
 */
#ifndef CONF_CONF_ARGUMENTS_H
#define CONF_CONF_ARGUMENTS_H

#include <argp.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf_value.h"
#include "os/net/address.h"

struct argument;

/* Sets an option of the program's own type. arg: NULL without a value, for OPTION_ARG_OPTIONAL. A
 * wrong value must end the program (argument_want or argument_number, argument_choice). */
typedef void argument_setter(struct argp_state *state, const struct argument *o, char *arg,
                             void *base);

/* The field has the type that conf/conf_value.h gives, with these differences: texts are borrowed
 * from argv; a number or a choice may be narrower than its type if `max` or the words fit; a choice
 * counts from `min`. */
struct argument {
    const char *name; /* long name; NULL: `help` is the heading of the group */
    int key;          /* short name; 0: none */
    const char *arg;  /* name of the value in the help; NULL: no value */
    int flags;        /* of struct argp_option: OPTION_ALIAS is another name of the row before */
    const char *help; /* with `name` NULL: the end of the table */
    int group;        /* of struct argp_option */
    enum option_type type;
    size_t offset, size; /* of the field */
    uint64_t min, max;   /* of numbers; max 0: no limit */
    const char *choices; /* as in struct conf_option */
    const char *without; /* the value if none was given; NULL: "yes" */
    argument_setter *own;
};

#define ARGUMENT_FIELD(type, member)                                                               \
    .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)

#define ARGUMENTS_MAX 192 /* rows of a table with its parts */
#define ARGUMENT_PARTS_MAX 6

/* Options that several tables share, for a struct within theirs. */
struct argument_part {
    const struct argument *options; /* NULL ends the list */
    size_t offset;                  /* of the struct that they set */
    const char *heading;            /* in the help; NULL: none */
    int group;                      /* of struct argp_child */
    /* After all arguments, before that of the table. NULL: nothing. */
    void (*end)(struct argp_state *state, void *base);
};

struct argument_table {
    const struct argument *options;
    const char *args_doc, *doc; /* of struct argp */
    /* An argument that is no option; it may take more from `state`. NULL: there are none. */
    void (*word)(struct argp_state *state, char *arg, void *base);
    /* After all arguments: checks what belongs together. NULL: nothing. */
    void (*end)(struct argp_state *state, void *base);
    const struct argument_part *parts; /* NULL: none */
    unsigned flags;                    /* of argp_parse */
};

/* Sets the fields of `base`, which have their defaults, from the command line. Ends the program for
 * --help, --version and wrong arguments. */
void argument_table_parse(const struct argument_table *a, int argc, char **argv, void *base);

/* For setters: the option's field in `base`; sets it by the row's type; the number, or the index of
 * the word in `choices`, that `arg` is by the type and the range of the row; [const char *] a name
 * of a service, which is not empty and shorter than 64. What is wrong ends the program. */
static inline void *argument_field(const struct argument *o, void *base)
{
    return (char *)base + o->offset;
}
uint64_t argument_number(struct argp_state *state, const struct argument *o, const char *arg);
int argument_choice(struct argp_state *state, const struct argument *o, const char *arg);
argument_setter argument_set_value, argument_set_service;

/* [const char *] The path of a node's socket. A file, such as the node's configuration, is refused;
 * what is not there yet is not. */
argument_setter argument_set_socket;
/* Ends the program if the word is a socket or a configuration, which is wanted behind --socket. */
void argument_refuse_place(struct argp_state *state, const char *word);

/* Of a hidden row with the key 'h': prints what --help prints, and ends the program with 0. */
argument_setter argument_show_help;

/* For setters and words: end the program with `NAME: "ARG" is not understood; write RIGHT`, or
 * `NAME: ` and the reason. NAME is the option as it was written, or the word's name in args_doc.
 * `right` says what would be right, with an example: "a time, such as +2s". */
void argument_want(struct argp_state *state, const char *arg, const char *right);
void argument_wrong(struct argp_state *state, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The address that a word is. */
struct address argument_address(struct argp_state *state, const char *arg);

#endif
