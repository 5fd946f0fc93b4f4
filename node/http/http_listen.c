/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: a text that is neither a port nor an address. */
#include "node/http/http_listen.h"

#include <stdio.h>

#include "base/units.h"

int http_listen_parse(const char *text, struct address *out)
{
    char whole[64];
    uint64_t port;
    if (units_count(text, 65535, &port) == 0) {
        snprintf(whole, sizeof whole, "127.0.0.1:%u", (unsigned)port);
        text = whole;
    }
    return address_parse(text, out);
}
