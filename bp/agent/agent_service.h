/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many octets a link (or an endpoint) can usefully have in hand, by measurement: twice its rate
 * × the shortest time that a bundle was in hand. More bundles would only wait there, in a fixed
 * order.
 *
 * The rate is that of the last busy seconds, and decreases slowly. One bundle is timed at a time.
 * The shortest time is kept while the link is open. If the path becomes longer, the value is too
 * small; this costs the users nothing while their bundles have similar lengths.
 */
#ifndef BP_AGENT_SERVICE_H
#define BP_AGENT_SERVICE_H

#include <stdint.h>

#include "base/tick.h"

struct service {
    tick shortest; /* TICK_NEVER: none was timed */
    uint64_t rate; /* octets/s */
    uint64_t done; /* octets since `since` */
    tick since;
    uint64_t timed; /* key of the timed bundle; 0: none */
    tick given;     /* when it was given to the link */
};

#define SERVICE_LEAST (UINT64_C(64) << 10)

void service_init(struct service *s, tick now);
/* A bundle is now in hand; it was finished; it is not in hand (any more). */
void service_begin(struct service *s, uint64_t key, tick now);
void service_end(struct service *s, uint64_t key, uint64_t bytes, tick now);
void service_forget(struct service *s, uint64_t key);
/* Octets, at least SERVICE_LEAST; 0: unknown. */
uint64_t service_octets(const struct service *s);

#endif
