/* SPDX-License-Identifier: Apache-2.0 */
/* What a process asks of the allocator and of the system's limits, once at its start. */
#ifndef OS_PROCESS_H
#define OS_PROCESS_H

#include <stdint.h>

#define MEMORY_RETAINED (UINT64_C(64) << 20)

/*
 * For programs through which many large blocks go: freed memory stays with the process, up to
 * MEMORY_RETAINED bytes at the end of its heap, instead of going back to the kernel with each block
 * and being cleared and mapped anew for the next. Once, before any thread is started. Does nothing
 * where the C library has no such setting.
 */
void memory_retain(void);

/* A write beyond the limit of file sizes (RLIMIT_FSIZE) fails with EFBIG, which is reported as any
 * other error of a file; by default the kernel ends the program with SIGXFSZ. */
void file_limit_report(void);

#define DESCRIPTORS_WANTED 65536

/* Raises the limit to DESCRIPTORS_WANTED, or as far as the system lets it: the usual 1,024 is less
 * than the connections that a node may have. For programs that do not use select(2). */
void descriptors_raise(void);

#endif
