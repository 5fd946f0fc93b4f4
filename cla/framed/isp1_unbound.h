/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections to a provider that have no BIND yet, by the peer's address (IPv6: its /64). They
 * are limited. Otherwise connections that send nothing would use up the engine's links, until each
 * of them has had its time for the BIND. With all places taken, one connection of the address that
 * has most of them is ended. Used by the providers of helio-sle and helio-csts.
 */
#ifndef CLA_ISP1_UNBOUND_H
#define CLA_ISP1_UNBOUND_H

#include "cla/framed/isp1_conn.h"

#define ISP1_UNBOUND_MAX 512

/* Outlives the connections. */
struct isp1_unbound {
    struct crowds by_address; /* struct isp1_conn.waiting */
    bool open;
};

/* 0 or HELIO_ENOMEM. */
int isp1_unbound_init(struct isp1_unbound *u, uint64_t seed);
/* No connection is left; also after {0}. */
void isp1_unbound_fini(struct isp1_unbound *u);

/* Before a connection is accepted, from the loop: ends a connection if all places are taken; its
 * notices and `gone` are called. */
void isp1_unbound_make_room(struct isp1_unbound *u);
/* An accepted connection, right after isp1_conn_init. 0 or HELIO_ENOMEM: free it. */
int isp1_unbound_add(struct isp1_unbound *u, struct isp1_conn *c);
/* It is bound, or is freed (isp1_conn.c calls it then). Of no place: nothing happens. */
void isp1_unbound_sub(struct isp1_conn *c);

#endif
