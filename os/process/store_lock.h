/* SPDX-License-Identifier: Apache-2.0 */
/* One user of a store's directory at a time: a lock on the file `lock` in it, which ends with the
 * process. */
#ifndef OS_STORE_LOCK_H
#define OS_STORE_LOCK_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the descriptor that holds the lock (close it); or an error with the reason in why:
 * HELIO_EEXIST when another process has the lock. make: a missing directory is created. */
int store_lock(const char *path, bool make, const char *advice, char *why, size_t cap);

#endif
