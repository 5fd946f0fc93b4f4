/* SPDX-License-Identifier: Apache-2.0 */
/* A program's commands, and its exit codes for wrong arguments. Options and their values are those
 * of conf/conf_arguments.h. */
#ifndef OS_ARGUMENTS_H
#define OS_ARGUMENTS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

/* Says in one line that `word` is none of a program's `count` commands ("" when there was none),
 * and what would be right: the nearest of them, or all. Returns 2, the exit code. */
int argument_refuse(const char *program, const char *word, const char *const *commands,
                    size_t count);

/* Returns the index of the command in argv[1]. `commands` has `count` items of `size` bytes, each
 * beginning with a const char * to "PROGRAM COMMAND". This text replaces argv[1], so that messages
 * begin with it; the command's arguments are argc - 1, argv + 1. For other words the program ends:
 * with 0 after `usage` (for --help) or the version, else as argument_refuse does. count <=
 * ARGUMENT_COMMANDS_MAX. */
#define ARGUMENT_COMMANDS_MAX 32
size_t argument_command(int argc, char **argv, const void *commands, size_t count, size_t size,
                        const char *usage);

/* argp_parse. If it returns an error, the program ends: memory is out, since every wrong argument
 * has already ended it with a message. */
void argument_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

/* The exit code when a file of the command line cannot be opened (an errno): 2 when its name is
 * wrong, or it is not ours to open, as any wrong word; 1 when the system failed. */
int argument_open_code(int number);
/* The same after the failure was said, for a file that was to be read, or written. */
int argument_file_code(const char *path, bool writing);

#endif
