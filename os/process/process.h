/* SPDX-License-Identifier: Apache-2.0 */
/* The process and its surroundings: the allocator, the system's limits, the service manager, the
 * machine's boot. */
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

/* Notifies a service manager (systemd), over its socket. */
/* text: "READY=1", "WATCHDOG=1" … socket: its path, an abstract one begins with '@'; NULL or "": no
 * notification. Returns 0 or HELIO_E*. */
int notify_send(const char *socket, const char *text);

/* Which boot of the machine this is, for bp/agent/life_clock.h. */
#define MACHINE_BOOT_BYTES 16

/* All zero: the machine does not say. */
void machine_boot(uint8_t out[MACHINE_BOOT_BYTES]);

#endif
