/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of UDP sockets, IPv4 and IPv6, as people write them: `127.0.0.1:4556`, `[::1]:4556`,
 * `localhost:4556`. */
#ifndef CHANNEL_EMU_EMU_ADDR_H
#define CHANNEL_EMU_EMU_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define EMU_ADDR_TEXT_MAX 64u

struct emu_addr {
    struct sockaddr_storage sa; /* unused bytes are 0 */
    socklen_t len;
};

/* 0, or HELIO_EFORMAT with a text of what is wrong and what would be right in `error`. */
int emu_addr_parse(struct emu_addr *a, const char *text, char *error, size_t error_max);

/* Writes at most EMU_ADDR_TEXT_MAX bytes; returns text. */
const char *emu_addr_write(const struct emu_addr *a, char *text);

/* The same address and port; an IPv4 address mapped into IPv6 is the IPv4 address. */
bool emu_addr_equal(const struct emu_addr *a, const struct emu_addr *b);

/* Can a socket bound to `local` send to `to`? Loopback reaches loopback only. */
bool emu_addr_reaches(const struct emu_addr *local, const struct emu_addr *to);

/* The unspecified address of the family of a, port 0. */
struct emu_addr emu_addr_any(const struct emu_addr *a);

#endif
