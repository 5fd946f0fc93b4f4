/* SPDX-License-Identifier: Apache-2.0 */
/* A text is tried as a numeric address first. What can go wrong: it is neither that nor a name, has
 * no port, or a port above 65535. */
#include "os/net/host_address.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/units.h"

#define LABEL_MAX 63

const char host_address_hint[] = "a numeric address or a host name, and a port, such as "
                                 "127.0.0.1:4556, [::1]:4556 or gs1.example.net:4556";

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_label_character(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
}

static bool is_label(const char *at, size_t len)
{
    if (len == 0 || len > LABEL_MAX || at[0] == '-' || at[len - 1] == '-')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_label_character(at[i]))
            return false;
    return true;
}

/* As resolvers read the last part of a numeric address: decimal, octal or hexadecimal. */
static bool is_number(const char *at, size_t len)
{
    const bool hex = len > 1 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
    for (size_t i = hex ? 2 : 0; i < len; i++)
        if (!is_digit(at[i]) && !(hex && strchr("abcdefABCDEF", at[i]) != NULL))
            return false;
    return true;
}

bool host_name_is_valid(const char *host)
{
    size_t left = strlen(host);
    if (left > 1 && host[left - 1] == '.')
        left--;
    if (left == 0 || left > HOST_NAME_MAX_LEN)
        return false;
    for (const char *at = host;;) {
        const char *dot = memchr(at, '.', left);
        const size_t len = dot == NULL ? left : (size_t)(dot - at);
        if (!is_label(at, len))
            return false;
        if (dot == NULL)
            return !is_number(at, len);
        at += len + 1;
        left -= len + 1;
    }
}

int host_address_parse(const char *text, struct host_address *a)
{
    struct host_address found = {.port = 0};
    const char *colon = strrchr(text, ':');
    uint64_t port;
    if (address_parse(text, &found.address) == 0) {
        *a = found;
        return 0;
    }
    if (colon == NULL || (size_t)(colon - text) >= sizeof found.host ||
        units_count(colon + 1, UINT16_MAX, &port) != 0)
        return HELIO_EFORMAT;
    memcpy(found.host, text, (size_t)(colon - text));
    if (!host_name_is_valid(found.host))
        return HELIO_EFORMAT;
    found.port = (uint16_t)port;
    *a = found;
    return 0;
}

bool host_address_given(const struct host_address *a)
{
    return address_given(&a->address) || a->host[0] != '\0';
}

bool host_address_is_name(const struct host_address *a)
{
    return !address_given(&a->address) && a->host[0] != '\0';
}

uint16_t host_address_port(const struct host_address *a)
{
    return host_address_is_name(a) ? a->port : address_port(&a->address);
}

bool host_address_same_host(const struct host_address *a, const struct host_address *b)
{
    if (host_address_is_name(a) || host_address_is_name(b))
        return strcasecmp(a->host, b->host) == 0;
    return address_given(&a->address) == address_given(&b->address) &&
           (!address_given(&a->address) ||
            address_passes(&a->address, &b->address, ADDRESS_CHECK_HOST));
}

bool host_address_equal(const struct host_address *a, const struct host_address *b)
{
    return host_address_same_host(a, b) && host_address_port(a) == host_address_port(b);
}

const char *host_address_write(const struct host_address *a, char *text)
{
    char numeric[ADDRESS_TEXT_MAX];
    if (host_address_is_name(a))
        snprintf(text, HOST_ADDRESS_TEXT_MAX, "%s:%u", a->host, a->port);
    else
        snprintf(text, HOST_ADDRESS_TEXT_MAX, "%s", address_write(&a->address, numeric));
    return text;
}
