/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of sockets, IPv4 and IPv6, as the kernel has them and as people write them:
 * `127.0.0.1:4556`, `[::1]:4556`. */
#ifndef OS_ADDRESS_H
#define OS_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

#define ADDRESS_TEXT_MAX 72u

/* All 0: not given. */
struct address {
    union {
        struct sockaddr sa; /* sa_family is AF_INET, AF_INET6 or AF_UNSPEC */
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
};

/* What would be right, for messages: "a numeric address and a port, such as …". */
extern const char address_hint[];

/* Parses a numeric address, also with a zone ([fe80::1%eth0]:4556), or `localhost` for 127.0.0.1.
 * Other names would need a resolver, whose answer can change or be missing. Returns 0;
 * HELIO_EFORMAT, and *a is unchanged. */
int address_parse(const char *text, struct address *a);

/* A numeric host without brackets, and a port; returns as address_parse does. */
int address_of(const char *host, uint16_t port, struct address *a);

/* As address_parse, and names (`localhost:4556`), for which the system's resolver is asked and
 * waited for. HELIO_EFORMAT has what is wrong in error[error_max], a sentence about the text: "is
 * not understood; write …". */
int address_resolve(const char *text, struct address *a, char *error, size_t error_max);

/* From and to the bytes of a sockaddr; those of address_bytes lie in *a. HELIO_EFORMAT: they are no
 * IPv4 or IPv6 address; *a is not given then. */
int address_from(struct slice sockaddr, struct address *a);
struct slice address_bytes(const struct address *a);
socklen_t address_len(const struct address *a); /* of the sockaddr */

/* What a socket is bound to. 0 or HELIO_E*. */
int address_bound(int fd, struct address *a);

/* An address as bytes that can be compared by their beginning, whatever it is written as: the first
 * ADDRESS_KEY_HOST name the host (IPv4 as its mapped IPv6 address), the first ADDRESS_KEY_PORT host
 * and port, all of them the address. Empty: it is not given. It lies in `out`. address_from_key
 * returns as address_from does. */
#define ADDRESS_KEY_HOST 16u
#define ADDRESS_KEY_PORT 18u
#define ADDRESS_KEY_MAX 23u
struct slice address_key(const struct address *a, uint8_t out[ADDRESS_KEY_MAX]);
int address_from_key(struct slice key, struct address *a);

/* Which of a peer's datagrams are accepted, by the address that they come from. */
enum address_check {
    ADDRESS_CHECK_HOST,  /* from its host, whatever the port */
    ADDRESS_CHECK_EXACT, /* from its host and port */
    ADDRESS_CHECK_ANY
};

/* How many bytes of their keys have to be equal. */
size_t address_check_bytes(enum address_check check);

/* May a datagram of the peer at `remote` come from there? */
bool address_passes(const struct address *from, const struct address *remote,
                    enum address_check check);

bool address_given(const struct address *a);
uint16_t address_port(const struct address *a);
void address_set_port(struct address *a, uint16_t port);

/* Writes at most ADDRESS_TEXT_MAX bytes; returns text. */
const char *address_write(const struct address *a, char *text);

bool address_is_loopback(const struct address *a); /* only this machine reaches it */
bool address_is_any(const struct address *a);      /* 0.0.0.0 or ::, whatever the port */

/* The same address and port; an IPv4 address mapped into IPv6 is the IPv4 address. */
bool address_equal(const struct address *a, const struct address *b);

/* Can a socket bound to `local` send to `to`? Loopback reaches loopback only. */
bool address_reaches(const struct address *local, const struct address *to);

/* What stands for the host of an address, where connections are counted: an IPv4 address whole
 * (also one mapped into IPv6), of an IPv6 address its first 64 bits, which one host may have all
 * of. The bytes lie in `out`; none for an address that is not given. */
#define ADDRESS_PREFIX_MAX 8u
struct slice address_prefix(const struct address *a, uint8_t out[ADDRESS_PREFIX_MAX]);

/* The unspecified address of the family of a, port 0. */
struct address address_any(const struct address *a);

#endif
