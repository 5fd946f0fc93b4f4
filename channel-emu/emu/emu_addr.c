/* SPDX-License-Identifier: Apache-2.0 */
/* The port follows the last colon; an IPv6 address stands in brackets. The system's resolver does
 * the rest, and says what it could not resolve. */
#include "channel-emu/emu/emu_addr.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"

static const struct sockaddr_in *in4(const struct emu_addr *a)
{
    return (const struct sockaddr_in *)(const void *)&a->sa;
}

static const struct sockaddr_in6 *in6(const struct emu_addr *a)
{
    return (const struct sockaddr_in6 *)(const void *)&a->sa;
}

/* Splits "host:port" and "[host]:port"; false when it is neither. */
static bool split(const char *text, char *host, size_t host_max, const char **port)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL)
        return false;
    size_t len = (size_t)(colon - text);
    uint64_t number;
    if (units_count(colon + 1, 65535, &number) < 0)
        return false;
    if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
        text++;
        len -= 2;
    } else if (memchr(text, ':', len) != NULL) {
        return false;
    }
    if (len == 0 || len >= host_max)
        return false;
    memcpy(host, text, len);
    host[len] = '\0';
    *port = colon + 1;
    return true;
}

int emu_addr_parse(struct emu_addr *a, const char *text, char *error, size_t error_max)
{
    char host[256];
    const char *port;
    struct addrinfo *found, hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
    if (!split(text, host, sizeof host, &port)) {
        snprintf(error, error_max,
                 "right is ADDRESS:PORT, such as 127.0.0.1:4556, or [ADDRESS]:PORT, such as "
                 "[::1]:4556");
        return HELIO_EFORMAT;
    }
    int rc = getaddrinfo(host, port, &hints, &found);
    if (rc != 0) {
        snprintf(error, error_max, "the address '%s' cannot be resolved: %s", host,
                 gai_strerror(rc));
        return HELIO_EFORMAT;
    }
    *a = (struct emu_addr){.len = found->ai_addrlen};
    memcpy(&a->sa, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return 0;
}

const char *emu_addr_write(const struct emu_addr *a, char *text)
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (a->sa.ss_family == AF_INET) {
        inet_ntop(AF_INET, &in4(a)->sin_addr, host, sizeof host);
        snprintf(text, EMU_ADDR_TEXT_MAX, "%s:%d", host, ntohs(in4(a)->sin_port));
    } else {
        inet_ntop(AF_INET6, &in6(a)->sin6_addr, host, sizeof host);
        snprintf(text, EMU_ADDR_TEXT_MAX, "[%s]:%d", host, ntohs(in6(a)->sin6_port));
    }
    return text;
}

/* IPv4 as its mapped IPv6 address, so that both compare. */
static struct in6_addr as_v6(const struct emu_addr *a)
{
    struct in6_addr v6 = in6addr_any;
    if (a->sa.ss_family == AF_INET6)
        return in6(a)->sin6_addr;
    v6.s6_addr[10] = v6.s6_addr[11] = 0xff;
    memcpy(&v6.s6_addr[12], &in4(a)->sin_addr, 4);
    return v6;
}

static in_port_t port_of(const struct emu_addr *a)
{
    return a->sa.ss_family == AF_INET ? in4(a)->sin_port : in6(a)->sin6_port;
}

bool emu_addr_equal(const struct emu_addr *a, const struct emu_addr *b)
{
    struct in6_addr x = as_v6(a), y = as_v6(b);
    return port_of(a) == port_of(b) && memcmp(&x, &y, sizeof x) == 0;
}

static bool is_loopback(const struct emu_addr *a)
{
    struct in6_addr v6 = as_v6(a);
    return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

static bool is_any(const struct emu_addr *a)
{
    if (a->sa.ss_family == AF_INET)
        return in4(a)->sin_addr.s_addr == htonl(INADDR_ANY);
    return IN6_IS_ADDR_UNSPECIFIED(&in6(a)->sin6_addr);
}

bool emu_addr_reaches(const struct emu_addr *local, const struct emu_addr *to)
{
    if (local->sa.ss_family != to->sa.ss_family)
        return false;
    return is_any(local) || is_loopback(local) == is_loopback(to);
}

struct emu_addr emu_addr_any(const struct emu_addr *a)
{
    struct emu_addr any = {.len = a->len};
    any.sa.ss_family = a->sa.ss_family;
    return any;
}
