/* SPDX-License-Identifier: Apache-2.0 */
/* The processor before others: `priority: high` of a node. */
#ifndef TOOLS_PRIORITY_H
#define TOOLS_PRIORITY_H

/* For this process and the threads that it starts from now on: a nice value of -10, and the same
 * for its group where the kernel shares processors among sessions (sched_autogroup) and this
 * process began one. 0, or HELIO_E* when it is not permitted. */
int priority_raise(void);

#endif
