/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question to the system's resolver. What can go wrong: there is no such name; no server
 * answers in time. Each thread has its own resolver state (_res). For a brief question the time for
 * DNS servers is shortened, and TCP is not used: glibc has no timeout for it. Other sources of
 * names have no timeout either: os/uv_lookup.c limits the wait.
 */
#include "os/net/lookup.h"

#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <string.h>

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

/* As when the thread began: the next question reads the system's settings. */
static void reset_resolver(void)
{
    if ((_res.options & RES_INIT) != 0)
        res_nclose(&_res);
    memset(&_res, 0, sizeof _res);
}

/* The system's settings, but for these. */
static bool set_resolver(bool brief)
{
    reset_resolver();
    if (res_ninit(&_res) != 0)
        return false;
    _res.options |= RES_IGNTC;
    if (brief) {
        _res.retrans = LOOKUP_BRIEF_S;
        _res.retry = 1;
    }
    return true;
}

/* The name is first looked up unchanged: with one try, a lost answer would otherwise be replaced by
 * a name of the search list. The search list is used only if there is no such name. */
static int ask_briefly(const struct lookup *l, struct addrinfo **found)
{
    const unsigned long search = _res.options & RES_DNSRCH;
    _res.options &= ~search;
    const int rc = ask_system(l, found);
    if (rc != EAI_NONAME || search == 0)
        return rc;
    _res.options |= search;
    return ask_system(l, found);
}

static int ask_in_grade(const struct lookup *l, enum lookup_grade grade, struct addrinfo **found)
{
    if (grade == LOOKUP_TCP)
        return ask_system(l, found);
    if (!set_resolver(grade == LOOKUP_BRIEF))
        return EAI_AGAIN;
    const int rc = grade == LOOKUP_BRIEF ? ask_briefly(l, found) : ask_system(l, found);
    reset_resolver();
    return rc;
}

static void take_found(struct lookup *l, const struct addrinfo *found)
{
    for (const struct addrinfo *i = found; i != NULL; i = i->ai_next) {
        struct address a;
        if (address_from(slice_of(i->ai_addr, i->ai_addrlen), &a) != 0)
            continue;
        address_set_port(&a, 0);
        lookup_add(l, &a);
    }
    l->error = l->len > 0 ? NULL : gai_strerror(EAI_NONAME);
}

bool lookup_resolve(struct lookup *l, enum lookup_grade grade)
{
    struct addrinfo *found;
    const int rc = ask_in_grade(l, grade, &found);
    l->len = 0;
    if (rc != 0) {
        l->error = gai_strerror(rc);
        return rc == EAI_NODATA;
    }
    take_found(l, found);
    freeaddrinfo(found);
    return false;
}
