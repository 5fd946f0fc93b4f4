/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question to the system's resolver. What can go wrong: there is no such name; no server
 * answers in time. Each thread has a state of the resolver of its own (_res), in which a brief
 * question shortens the time for DNS servers. Other sources of names take their time.
 */
#include "os/lookup.h"

#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>

void lookup_add(struct lookup *l, const struct address *a)
{
    for (size_t i = 0; i < l->len; i++)
        if (address_equal(&l->addresses[i], a))
            return;
    if (l->len < LOOKUP_ADDRESSES_MAX)
        l->addresses[l->len++] = *a;
}

static int ask_system(const struct lookup *l, struct addrinfo **found)
{
    const struct addrinfo hints = {.ai_family = l->family, .ai_socktype = SOCK_STREAM};
    return getaddrinfo(l->host, NULL, &hints, found);
}

/* The name as it is comes first: with one try, a lost answer would let a name of the search list
 * take its place. Only when there is no such name, the search list has its turn. */
static int ask_briefly(const struct lookup *l, struct addrinfo **found)
{
    if ((_res.options & RES_INIT) != 0)
        res_nclose(&_res);
    if (res_ninit(&_res) != 0)
        return EAI_AGAIN;
    const unsigned long search = _res.options & RES_DNSRCH;
    _res.retrans = LOOKUP_BRIEF_S;
    _res.retry = 1;
    _res.options &= ~search;
    int rc = ask_system(l, found);
    if (rc != 0 && rc != EAI_AGAIN && search != 0) {
        _res.options |= search;
        rc = ask_system(l, found);
    }
    res_nclose(&_res); /* the next question begins with the system's settings */
    return rc;
}

void lookup_resolve(struct lookup *l, bool brief)
{
    struct addrinfo *found;
    const int rc = brief ? ask_briefly(l, &found) : ask_system(l, &found);
    l->len = 0;
    if (rc != 0) {
        l->error = gai_strerror(rc);
        return;
    }
    for (const struct addrinfo *i = found; i != NULL; i = i->ai_next) {
        struct address a;
        if (address_from(slice_of(i->ai_addr, i->ai_addrlen), &a) != 0)
            continue;
        address_set_port(&a, 0);
        lookup_add(l, &a);
    }
    freeaddrinfo(found);
    l->error = l->len > 0 ? NULL : gai_strerror(EAI_NONAME);
}
