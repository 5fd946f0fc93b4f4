/* SPDX-License-Identifier: Apache-2.0 */
/* Signals as something to read: blocked, and told by a descriptor that a loop waits for. */
#ifndef OS_SIGNALS_H
#define OS_SIGNALS_H

#include <signal.h>

/* Blocks the signals of the list, which 0 ends, and opens the descriptor; threads begun later
 * inherit that. SIGHUP stays ignored where it is (nohup). *before (NULL: nobody wants it) is the
 * mask until now. The descriptor, or HELIO_E*. */
int signals_open(const int *signals, sigset_t *before);

/* The next one that came, 0: none. */
int signals_take(int fd);

/* Closes it; the mask is as it was. */
void signals_close(int fd, const sigset_t *before);

#endif
