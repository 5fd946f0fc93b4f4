/* SPDX-License-Identifier: Apache-2.0 */
/* The port follows the last colon; an IPv6 address stands in brackets. What can go wrong: no port,
 * a port above 65535, an IPv6 address without brackets, a name that the resolver does not know. */
#include "os/net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"

#define HOST_MAX 256

const char address_hint[] = "a numeric address and a port, such as 127.0.0.1:1113 or [::1]:1113";

/* The two parts of HOST:PORT or [HOST]:PORT. */
struct parts {
    char host[HOST_MAX];
    const char *port_text;
    uint16_t port;
    bool brackets;
};

static bool split_text(const char *text, struct parts *p)
{
    const char *colon = strrchr(text, ':');
    uint64_t port;
    if (colon == NULL || units_count(colon + 1, UINT16_MAX, &port) != 0)
        return false;
    size_t len = (size_t)(colon - text);
    p->brackets = len >= 2 && text[0] == '[' && text[len - 1] == ']';
    if (p->brackets) {
        text++;
        len -= 2;
    }
    if (len == 0 || len >= HOST_MAX || (!p->brackets && memchr(text, ':', len) != NULL))
        return false;
    memcpy(p->host, text, len);
    p->host[len] = '\0';
    p->port_text = colon + 1;
    p->port = (uint16_t)port;
    return true;
}

/* "fe80::1%eth0", "fe80::1%2" (RFC 4007 §11): the zone's number is taken off. False: there is no
 * such zone. */
static bool take_zone(const char *host, char out[HOST_MAX], uint32_t *zone)
{
    const char *at = strchr(host, '%');
    const size_t len = at == NULL ? strlen(host) : (size_t)(at - host);
    uint64_t number = 0;
    if (len >= HOST_MAX)
        return false;
    memcpy(out, host, len);
    out[len] = '\0';
    if (at != NULL && units_count(at + 1, UINT32_MAX, &number) != 0)
        number = if_nametoindex(at + 1);
    *zone = (uint32_t)number;
    return at == NULL || number != 0;
}

int address_of(const char *host, uint16_t port, struct address *a)
{
    char six[HOST_MAX];
    struct address v4 = {.v4 = {.sin_family = AF_INET, .sin_port = htons(port)}};
    struct address v6 = {.v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)}};
    if (inet_pton(AF_INET, host, &v4.v4.sin_addr) == 1)
        *a = v4;
    else if (take_zone(host, six, &v6.v6.sin6_scope_id) &&
             inet_pton(AF_INET6, six, &v6.v6.sin6_addr) == 1)
        *a = v6;
    else
        return HELIO_EFORMAT;
    return 0;
}

int address_parse(const char *text, struct address *a)
{
    struct parts p;
    struct address found;
    if (!split_text(text, &p))
        return HELIO_EFORMAT;
    if (!p.brackets && strcmp(p.host, "localhost") == 0) /* the one name that needs no resolver */
        memcpy(p.host, "127.0.0.1", sizeof "127.0.0.1");
    if (address_of(p.host, p.port, &found) != 0 || p.brackets != (found.sa.sa_family == AF_INET6))
        return HELIO_EFORMAT;
    *a = found;
    return 0;
}

int address_resolve(const char *text, struct address *a, char *error, size_t error_max)
{
    struct parts p;
    struct addrinfo *found, hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
    if (!split_text(text, &p)) {
        snprintf(error, error_max,
                 "is not understood; write ADDRESS:PORT, such as 127.0.0.1:4556, or "
                 "[ADDRESS]:PORT, such as [::1]:4556");
        return HELIO_EFORMAT;
    }
    int rc = getaddrinfo(p.host, p.port_text, &hints, &found);
    if (rc != 0) {
        snprintf(error, error_max, "cannot be resolved: %s; write another name, or an address",
                 gai_strerror(rc));
        return HELIO_EFORMAT;
    }
    rc = address_from(slice_of(found->ai_addr, found->ai_addrlen), a);
    freeaddrinfo(found);
    return rc;
}

int address_from(struct slice sockaddr, struct address *a)
{
    *a = (struct address){.sa = {.sa_family = AF_UNSPEC}};
    if (sockaddr.len < sizeof a->sa || sockaddr.len > sizeof *a)
        return HELIO_EFORMAT;
    memcpy(a, sockaddr.data, sockaddr.len);
    if (address_given(a) && address_len(a) == sockaddr.len)
        return 0;
    *a = (struct address){.sa = {.sa_family = AF_UNSPEC}};
    return HELIO_EFORMAT;
}

int address_bound(int fd, struct address *a)
{
    socklen_t len = sizeof *a;
    *a = (struct address){.sa = {.sa_family = AF_UNSPEC}};
    return getsockname(fd, &a->sa, &len) == 0 ? 0 : helio_from_errno(errno);
}

struct slice address_bytes(const struct address *a)
{
    return slice_of(&a->sa, address_len(a));
}

socklen_t address_len(const struct address *a)
{
    return a->sa.sa_family == AF_INET    ? sizeof a->v4
           : a->sa.sa_family == AF_INET6 ? sizeof a->v6
                                         : 0;
}

bool address_given(const struct address *a)
{
    return a->sa.sa_family == AF_INET || a->sa.sa_family == AF_INET6;
}

uint16_t address_port(const struct address *a)
{
    return ntohs(a->sa.sa_family == AF_INET6 ? a->v6.sin6_port : a->v4.sin_port);
}

void address_set_port(struct address *a, uint16_t port)
{
    if (a->sa.sa_family == AF_INET6)
        a->v6.sin6_port = htons(port);
    else
        a->v4.sin_port = htons(port);
}

const char *address_write(const struct address *a, char *text)
{
    char host[INET6_ADDRSTRLEN] = "?";
    bool six = a->sa.sa_family == AF_INET6;
    if (six)
        inet_ntop(AF_INET6, &a->v6.sin6_addr, host, sizeof host);
    else if (a->sa.sa_family == AF_INET)
        inet_ntop(AF_INET, &a->v4.sin_addr, host, sizeof host);
    if (six && a->v6.sin6_scope_id != 0)
        snprintf(text, ADDRESS_TEXT_MAX, "[%s%%%u]:%u", host, a->v6.sin6_scope_id, address_port(a));
    else
        snprintf(text, ADDRESS_TEXT_MAX, six ? "[%s]:%u" : "%s:%u", host, address_port(a));
    return text;
}

/* IPv4 as its mapped IPv6 address, so that both compare. */
static struct in6_addr as_v6(const struct address *a)
{
    struct in6_addr v6 = in6addr_any;
    if (a->sa.sa_family == AF_INET6)
        return a->v6.sin6_addr;
    v6.s6_addr[10] = v6.s6_addr[11] = 0xff;
    memcpy(&v6.s6_addr[12], &a->v4.sin_addr, 4);
    return v6;
}

struct slice address_key(const struct address *a, uint8_t out[ADDRESS_KEY_MAX])
{
    struct in6_addr host = as_v6(a);
    bool six = a->sa.sa_family == AF_INET6;
    if (!address_given(a))
        return slice_of(out, 0);
    memcpy(out, &host, ADDRESS_KEY_HOST);
    memcpy(out + ADDRESS_KEY_HOST, six ? &a->v6.sin6_port : &a->v4.sin_port, 2);
    uint32_t scope = six ? a->v6.sin6_scope_id : 0;
    memcpy(out + ADDRESS_KEY_PORT, &scope, sizeof scope);
    out[ADDRESS_KEY_MAX - 1] = six;
    return slice_of(out, ADDRESS_KEY_MAX);
}

int address_from_key(struct slice key, struct address *a)
{
    *a = (struct address){.sa = {.sa_family = AF_UNSPEC}};
    if (key.len != ADDRESS_KEY_MAX)
        return HELIO_EFORMAT;
    if (key.data[ADDRESS_KEY_MAX - 1] == 0) {
        a->v4.sin_family = AF_INET;
        memcpy(&a->v4.sin_addr, key.data + 12, 4);
        memcpy(&a->v4.sin_port, key.data + ADDRESS_KEY_HOST, 2);
        return 0;
    }
    a->v6.sin6_family = AF_INET6;
    memcpy(&a->v6.sin6_addr, key.data, ADDRESS_KEY_HOST);
    memcpy(&a->v6.sin6_port, key.data + ADDRESS_KEY_HOST, 2);
    memcpy(&a->v6.sin6_scope_id, key.data + ADDRESS_KEY_PORT, sizeof a->v6.sin6_scope_id);
    return 0;
}

size_t address_check_bytes(enum address_check check)
{
    return check == ADDRESS_CHECK_ANY     ? 0
           : check == ADDRESS_CHECK_EXACT ? ADDRESS_KEY_PORT
                                          : ADDRESS_KEY_HOST;
}

bool address_passes(const struct address *from, const struct address *remote,
                    enum address_check check)
{
    uint8_t a[ADDRESS_KEY_MAX], b[ADDRESS_KEY_MAX];
    bool given = address_key(from, a).len > 0 && address_key(remote, b).len > 0;
    return given ? memcmp(a, b, address_check_bytes(check)) == 0 : check == ADDRESS_CHECK_ANY;
}

bool address_equal(const struct address *a, const struct address *b)
{
    struct in6_addr x = as_v6(a), y = as_v6(b);
    return address_given(a) == address_given(b) && address_port(a) == address_port(b) &&
           memcmp(&x, &y, sizeof x) == 0;
}

bool address_is_loopback(const struct address *a)
{
    struct in6_addr v6 = as_v6(a);
    return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

bool address_is_any(const struct address *a)
{
    if (a->sa.sa_family == AF_INET)
        return a->v4.sin_addr.s_addr == htonl(INADDR_ANY);
    return IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr);
}

bool address_reaches(const struct address *local, const struct address *to)
{
    if (local->sa.sa_family != to->sa.sa_family)
        return false;
    return address_is_any(local) || address_is_loopback(local) == address_is_loopback(to);
}

struct address address_any(const struct address *a)
{
    struct address any = {.sa = {.sa_family = a->sa.sa_family}};
    return any;
}

struct slice address_prefix(const struct address *a, uint8_t out[ADDRESS_PREFIX_MAX])
{
    size_t len = 0;
    if (a->sa.sa_family == AF_INET) {
        len = 4;
        memcpy(out, &a->v4.sin_addr, len);
    } else if (a->sa.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr)) {
        len = 4;
        memcpy(out, a->v6.sin6_addr.s6_addr + 12, len);
    } else if (a->sa.sa_family == AF_INET6) {
        len = 8;
        memcpy(out, a->v6.sin6_addr.s6_addr, len);
    }
    return slice_of(out, len);
}
