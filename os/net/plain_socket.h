/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of programs without an event loop: their calls block. Programs with a loop have ports and
 * streams (os/world.h). */
#ifndef OS_PLAIN_SOCKET_H
#define OS_PLAIN_SOCKET_H

#include <stdbool.h>

#include "base/tick.h"
#include "os/net/address.h"

/* A connected socket of datagrams, or of a TCP stream: the caller closes it. -1: errno says why. */
int plain_socket_connect(const struct address *to, bool datagrams);

/* Waits until a server accepts TCP connections at the address, at most for `time`. */
bool plain_socket_served(const struct address *at, tick time);

/* A TCP port of 127.0.0.1 that no socket has now; another program may take it. 0: there is none. */
uint16_t plain_socket_free_port(void);

#endif
