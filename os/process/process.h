/* SPDX-License-Identifier: Apache-2.0 */
/* What a process asks of the allocator and of the system's limits, once at its start. */
#ifndef OS_PROCESS_H
#define OS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_RETAINED (UINT64_C(64) << 20)

/*
 * For programs that allocate many large blocks: up to MEMORY_RETAINED bytes of freed memory at the
 * end of the heap stay with the process. Otherwise the kernel would clear and map them again for
 * each block. Call it once, before any thread is started. No effect if the C library has no such
 * setting.
 */
void memory_retain(void);

/* yes: blocks of a megabyte and more have pages of their own, which go back to the kernel when they
 * are freed. This takes time, so it is for a process that has much memory in use. no: as after
 * memory_retain. By any thread, at any time. */
void memory_return_long(bool yes);

/* A write beyond the limit of file sizes (RLIMIT_FSIZE) fails with EFBIG, which is reported as any
 * other error of a file; by default the kernel ends the program with SIGXFSZ. */
void file_limit_report(void);

#define DESCRIPTORS_WANTED 65536

/* Raises the limit of descriptors to DESCRIPTORS_WANTED, or to the system's maximum. The usual
 * 1,024 is less than the connections of a node. Not for programs that use select(2). */
void descriptors_raise(void);

#endif
