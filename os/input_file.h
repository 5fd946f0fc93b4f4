/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a program reads as a whole: how they are opened without waiting. */
#ifndef OS_INPUT_FILE_H
#define OS_INPUT_FILE_H

#include <stddef.h>
#include <stdio.h>

/* Opens a file that a configuration names, to be read; the caller closes it. It must be a regular
 * file: it may be read again at any time, and a pipe would stop the program until somebody writes
 * to it. NULL with the reason in `why`, which does not begin with the path, and in errno (EINVAL:
 * no regular file). Never waits. */
FILE *input_file_regular(const char *path, char *why, size_t why_cap);

/* Likewise for a file that a person names on the command line, which may also be a pipe, such as
 * <(COMMAND) of a shell, or a device. A pipe without a writer is at its end at once; reading one
 * with a writer waits for the writer. */
FILE *input_file_any(const char *path, char *why, size_t why_cap);

#endif
