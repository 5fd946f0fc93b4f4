/* SPDX-License-Identifier: Apache-2.0 */
/* HOST:PORT or [V6]:PORT, numeric: names would need a resolver, whose answer can change or never
 * come. What can go wrong: no port, a port above 65535, a V6 address without brackets. */
#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>

#include "base/units.h"
#include "os/address.h"

int cla_address_parse(const char *text, struct cla_address *out)
{
    bool six = text[0] == '[';
    const char *host = six ? text + 1 : text;
    const char *end = strchr(host, six ? ']' : ':');
    if (end == NULL || end == host || (size_t)(end - host) >= sizeof out->host)
        return HELIO_EFORMAT;
    struct cla_address a = {.port = 0};
    memcpy(a.host, host, (size_t)(end - host));
    if (six && *++end != ':')
        return HELIO_EFORMAT;
    uint64_t port;
    if (units_count(end + 1, UINT16_MAX, &port) != 0)
        return HELIO_EFORMAT;
    a.port = (uint16_t)port;
    struct in6_addr scratch;
    if (inet_pton(six ? AF_INET6 : AF_INET, a.host, &scratch) != 1)
        return HELIO_EFORMAT;
    *out = a;
    return 0;
}
