/* SPDX-License-Identifier: Apache-2.0 */
/* How many files and sockets this process may have open. */
#ifndef OS_DESCRIPTORS_H
#define OS_DESCRIPTORS_H

#define DESCRIPTORS_WANTED 65536

/* Raises the limit to DESCRIPTORS_WANTED, or as far as the system lets it: the usual 1,024 is less
 * than the connections that a node may have. For programs that do not use select(2). */
void descriptors_raise(void);

#endif
