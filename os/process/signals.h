/* SPDX-License-Identifier: Apache-2.0 */
/* Signals as readable events: they are blocked, and a loop waits for a descriptor. */
#ifndef OS_SIGNALS_H
#define OS_SIGNALS_H

#include <signal.h>

/* Blocks the signals of the list, which 0 ends, and opens the descriptor. Threads that are started
 * later inherit the mask. SIGHUP stays ignored if it is ignored (nohup). *before is the former
 * mask; may be NULL. Returns the descriptor, or HELIO_E*. */
int signals_open(const int *signals, sigset_t *before);

/* Returns the next received signal, 0: none. */
int signals_take(int fd);

/* Closes the descriptor and restores the mask. */
void signals_close(int fd, const sigset_t *before);

#endif
