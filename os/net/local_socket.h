/* SPDX-License-Identifier: Apache-2.0 */
/* UNIX sockets by their path. */
#ifndef OS_LOCAL_SOCKET_H
#define OS_LOCAL_SOCKET_H

#include <stddef.h>

#include "base/tick.h"

/* Prepares the path for a server: removes the file of a server that has ended. Returns 0;
 * HELIO_EEXIST (a server answers there), HELIO_EIO, HELIO_EINVAL (too long), with the reason in
 * why. */
int local_socket_claim(const char *path, char *why, size_t why_cap);

/* A connection, or a negative error with the reason in why. */
int local_socket_connect(const char *path, char *why, size_t why_cap);
/* The same with a limit: it fails if the server does not accept within `timeout` (0: no limit). */
int local_socket_connect_within(const char *path, tick timeout, char *why, size_t why_cap);

#endif
