/* SPDX-License-Identifier: Apache-2.0 */
/* A connection has a place from its acceptance to its BIND. What can go wrong is memory. */
#include "cla/framed/isp1_unbound.h"

#include <assert.h>

#include "os/net/address.h"

int isp1_unbound_init(struct isp1_unbound *u, uint64_t seed)
{
    const int e = crowds_init(&u->by_address, seed);
    u->open = e == 0;
    return e;
}

void isp1_unbound_fini(struct isp1_unbound *u)
{
    if (u->open)
        crowds_fini(&u->by_address);
    u->open = false;
}

void isp1_unbound_make_room(struct isp1_unbound *u)
{
    assert(u->open && u->by_address.len <= ISP1_UNBOUND_MAX);
    if (u->by_address.len < ISP1_UNBOUND_MAX)
        return;
    struct isp1_conn *c = container_of(crowds_largest(&u->by_address), struct isp1_conn, waiting);
    isp1_unbound_sub(c);
    isp1_closed(c->link);
    isp1_conn_pump(c);
}

int isp1_unbound_add(struct isp1_unbound *u, struct isp1_conn *c)
{
    struct address from = {.sa = {.sa_family = AF_UNSPEC}};
    uint8_t prefix[ADDRESS_PREFIX_MAX];
    assert(u->open && c->unbound == NULL && !c->link->initiator);
    (void)stream_peer(c->stream, &from); /* those without an address are one crowd */
    const int e = crowds_add(&u->by_address, &c->waiting, address_prefix(&from, prefix));
    c->unbound = e == 0 ? u : NULL;
    return e;
}

void isp1_unbound_sub(struct isp1_conn *c)
{
    if (c->unbound != NULL)
        crowds_sub(&c->unbound->by_address, &c->waiting);
    c->unbound = NULL;
}
