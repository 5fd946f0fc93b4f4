/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for keys: not swapped out, and not in core dumps. */
#ifndef OS_SECRET_MEMORY_H
#define OS_SECRET_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns `len` zeroed bytes; the caller frees them with secret_memory_free. *locked: the kernel
 * does not swap them out; it may refuse that (RLIMIT_MEMLOCK). If the kernel supports it, core
 * dumps and children after fork do not contain them. NULL: no memory.
 */
void *secret_memory_new(size_t len, bool *locked);
/* Overwrites the bytes before the kernel gets them back. NULL is allowed. */
void secret_memory_free(void *p, size_t len);

#endif
