/* SPDX-License-Identifier: Apache-2.0 */
/* A label that is too long is cut off. What can go wrong: an address that is neither a port nor an
 * address. */
#include "node/http/http_text.h"

#include <stdio.h>

#include "base/units.h"

size_t prometheus_label(const char *text, char *out, size_t cap)
{
    size_t len = 0;
    for (; *text != '\0' && len + 3 < cap; text++) {
        if (*text == '\\' || *text == '"' || *text == '\n')
            out[len++] = '\\';
        out[len++] = *text;
        if (*text == '\n')
            out[len - 1] = 'n';
    }
    out[len] = '\0';
    return len;
}

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
