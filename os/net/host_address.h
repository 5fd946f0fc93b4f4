/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a peer is, as people write it: a numeric address (`192.0.2.7:4556`, `[2001:db8::7]:4556`),
 * or a host name and a port (`gs1.example.net:4556`). Nothing here looks a name up: that is
 * os/net/lookup.h.
 */
#ifndef OS_HOST_ADDRESS_H
#define OS_HOST_ADDRESS_H

#include "os/net/address.h"

#define HOST_NAME_MAX_LEN 253u /* RFC 1035 §2.3.4, without the last dot */
#define HOST_ADDRESS_TEXT_MAX 272u

/* All 0: not given. */
struct host_address {
    struct address address;           /* numeric; not given: it is a name, or nothing */
    char host[HOST_NAME_MAX_LEN + 1]; /* the name; "": there is none */
    uint16_t port;                    /* of the name */
};

/* What would be right, for messages. */
extern const char host_address_hint[];

/* Labels of letters, digits, hyphens and underscores, 1 to 63 characters each, 253 in all, of which
 * none begins or ends with a hyphen (RFC 1123 §2.1); a last dot is allowed. The last label is no
 * number: such a text is a numeric address with a mistake. */
bool host_name_is_valid(const char *host);

/* What address_parse accepts (`localhost` is 127.0.0.1), or NAME:PORT. 0, or HELIO_EFORMAT and *a
 * is unchanged. */
int host_address_parse(const char *text, struct host_address *a);

bool host_address_given(const struct host_address *a);
bool host_address_is_name(const struct host_address *a);
uint16_t host_address_port(const struct host_address *a);

/* Both numeric and the same address and port, or the same name (of either case) and port; or
 * neither is given. */
bool host_address_equal(const struct host_address *a, const struct host_address *b);

/* The same numeric host or the same name, whatever the port; what names mean is not asked. */
bool host_address_same_host(const struct host_address *a, const struct host_address *b);

/* Writes at most HOST_ADDRESS_TEXT_MAX bytes; returns text. */
const char *host_address_write(const struct host_address *a, char *text);

#endif
