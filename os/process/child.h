/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes that are waited for: another program, or a part of this one that may die. */
#ifndef OS_CHILD_H
#define OS_CHILD_H

#include <stddef.h>

/* Runs a program from the PATH, with this process's standard streams and no signal blocked. argv
 * ends with NULL. Returns its exit code; 1: a signal ended it; -1: it could not be started. */
int child_run(const char *const *argv);

/* Calls `run` in a child process with a copy of the memory. Results must be written to child_share.
 * Returns the signal that ended the child (SIGSEGV for a sanitizer's exit code), 0, or HELIO_E*: no
 * process. */
int child_call(void (*run)(void *ctx), void *ctx);

/* Memory, all 0, that children of child_call share; NULL when there is none. */
void *child_share(size_t bytes);
void child_unshare(void *p, size_t bytes); /* NULL is allowed */

#endif
