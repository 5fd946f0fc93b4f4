/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes that are waited for: another program, or a part of this one that may die. */
#ifndef OS_CHILD_H
#define OS_CHILD_H

#include <stddef.h>

/* Runs a program, which the PATH finds, with our standard streams and no signal blocked. Its exit
 * code, 1 when a signal ended it; -1: it could not be started. argv ends with NULL. */
int child_run(const char *const *argv);

/* Runs `run` in a process of its own, which has a copy of our memory: what it shall tell lies in
 * child_share. The signal that ended it (SIGSEGV for what a sanitizer ends by an exit code), 0, or
 * HELIO_E*: there was no process. */
int child_call(void (*run)(void *ctx), void *ctx);

/* Memory, all 0, that children of child_call share; NULL when there is none. */
void *child_share(size_t bytes);
void child_unshare(void *p, size_t bytes); /* NULL is allowed */

#endif
