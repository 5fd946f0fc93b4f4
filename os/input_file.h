/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a program reads as a whole: how they are opened without waiting. */
#ifndef OS_INPUT_FILE_H
#define OS_INPUT_FILE_H

#include <stddef.h>
#include <stdio.h>

/* Opens a file that a configuration names, for reading; the caller closes it. It must be a regular
 * file: it may be read again at any time, and opening a pipe would block until a writer opens it.
 * NULL: the reason is in `why` (without the path) and in errno (EINVAL: no regular file). Never
 * blocks. */
FILE *input_file_regular(const char *path, char *why, size_t why_cap);

/* The same for a file of the command line, which may also be a pipe, such as <(COMMAND) of a shell,
 * or a device. A pipe without a writer is at its end at once. Reading one with a writer blocks. */
FILE *input_file_any(const char *path, char *why, size_t why_cap);

#endif
