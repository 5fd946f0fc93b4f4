/* SPDX-License-Identifier: Apache-2.0 */
/* What a service manager (systemd) is told, over the socket that it names. */
#ifndef OS_NOTIFY_H
#define OS_NOTIFY_H

/* text: "READY=1", "WATCHDOG=1" … socket: its path, with '@' first an abstract one; NULL or "":
 * nobody wants to know. 0, or HELIO_E*. */
int notify_send(const char *socket, const char *text);

#endif
