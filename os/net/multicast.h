/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of IP multicast on one network interface. */
#ifndef OS_MULTICAST_H
#define OS_MULTICAST_H

#include "os/net/address.h"

/* The number of the interface with this name; 0: there is none. */
unsigned multicast_interface(const char *name);

/* The socket receives what is sent to the group on this interface. 0 or HELIO_E*. */
int multicast_join(int fd, const struct address *group, unsigned interface);

/* What the socket sends to groups of this family leaves by this interface. No router forwards it,
 * and this machine does not receive it. 0 or HELIO_E*. */
int multicast_send_by(int fd, bool six, unsigned interface);

#endif
