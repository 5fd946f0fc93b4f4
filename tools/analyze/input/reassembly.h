/* SPDX-License-Identifier: Apache-2.0 */
/* IP fragments back to UDP datagrams, a limited number of them at a time. */
#ifndef TOOLS_REASSEMBLY_H
#define TOOLS_REASSEMBLY_H

#include "tools/analyze/input/packet.h"

#define REASSEMBLY_MAX 64 /* datagrams at a time; a further one takes the oldest one's place */

struct reassembly;

struct reassembly *reassembly_new(void); /* NULL: memory is out */
void reassembly_free(struct reassembly *r);

/* Takes a fragment. 1: the datagram is whole, *out is it until the next call; 0: not yet;
 * HELIO_ENOMEM. */
int reassembly_add(struct reassembly *r, const struct packet *p, struct watch_datagram *out);

/* Number of datagrams that were dropped so far, and of those that still wait. */
uint64_t reassembly_lost(const struct reassembly *r);

#endif
