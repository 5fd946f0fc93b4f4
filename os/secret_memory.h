/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for keys: not swapped out, and not in core dumps. */
#ifndef OS_SECRET_MEMORY_H
#define OS_SECRET_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * `len` bytes of zeros, the caller's to secret_memory_free. *locked: the kernel does not swap them
 * out; it may refuse that (RLIMIT_MEMLOCK). Core dumps do not have them, nor a child after fork, as
 * far as the kernel can. NULL: no memory.
 */
void *secret_memory_new(size_t len, bool *locked);
/* Overwrites the bytes before the kernel gets them back. NULL is allowed. */
void secret_memory_free(void *p, size_t len);

#endif
