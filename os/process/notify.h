/* SPDX-License-Identifier: Apache-2.0 */
/* Notifications to a service manager (systemd), over its socket. */
#ifndef OS_NOTIFY_H
#define OS_NOTIFY_H

/* text: "READY=1", "WATCHDOG=1" … socket: its path, an abstract one begins with '@'; NULL or "": no
 * notification. Returns 0 or HELIO_E*. */
int notify_send(const char *socket, const char *text);

#endif
