/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of datagram sockets as people write them. */
#ifndef OS_ADDRESS_H
#define OS_ADDRESS_H

#include <stdint.h>

#include "base/err.h"

struct cla_address {
    char host[64]; /* numeric, without brackets; "" = not given */
    uint16_t port;
};
int cla_address_parse(const char *text, struct cla_address *out); /* 0 or HELIO_EFORMAT */

#endif
