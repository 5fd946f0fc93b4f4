/* SPDX-License-Identifier: Apache-2.0 */
/* Private keys and passwords: in files, and in memory. */
#ifndef OS_SECRET_H
#define OS_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Opens the file to be read. NULL with the reason in `why`, which begins with the path: it is not
 * there, other users than its owner and group may read or write it, or it is no regular file
 * (os/input_file.h). Never waits. */
FILE *secret_file_open(const char *path, char *why, size_t why_cap);

/* Reads a file of one line into `out` (`cap` bytes, its zero included), without the blanks at its
 * ends. Returns the length; HELIO_EIO or HELIO_EINVAL (empty, longer, more than a line) with the
 * reason in `why`. "-" as the path is standard input, of any permissions; a pipe will do. */
int secret_file_line(const char *path, char *out, size_t cap, char *why, size_t why_cap);

/* Memory for keys: not swapped out, and not in core dumps. */
/*
 * Returns `len` zeroed bytes; the caller frees them with secret_memory_free. *locked: the kernel
 * does not swap them out; it may refuse that (RLIMIT_MEMLOCK). If the kernel supports it, core
 * dumps and children after fork do not contain them. NULL: no memory.
 */
void *secret_memory_new(size_t len, bool *locked);
/* Overwrites the bytes before the kernel gets them back. NULL is allowed. */
void secret_memory_free(void *p, size_t len);

#endif
