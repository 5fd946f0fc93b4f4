/* SPDX-License-Identifier: Apache-2.0 */
/* How this process uses the allocator. */
#ifndef OS_MEMORY_H
#define OS_MEMORY_H

#include <stdint.h>

#define MEMORY_RETAINED (UINT64_C(64) << 20)

/*
 * For programs through which many large blocks go: freed memory stays with the process, up to
 * MEMORY_RETAINED bytes at the end of its heap, instead of going back to the kernel with each block
 * and being cleared and mapped anew for the next. Once, before any thread is started. Does nothing
 * where the C library has no such setting.
 */
void memory_retain(void);

#endif
