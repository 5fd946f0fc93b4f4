/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider of Space Link Extension in a world, the kernel's or a virtual one: it listens, and
 * does what its settings say until it is ended. What its parts share is in sle_station.h.
 */
#ifndef TOOLS_SLE_STATION_PUBLIC_H
#define TOOLS_SLE_STATION_PUBLIC_H

#include <jansson.h>

#include "os/log/say.h"
#include "os/world.h"
#include "tools/sle/sle_settings.h"

struct station;

/* Opens all that is configured; failures are logged, and such an instance has ended and is not
 * open. The settings outlive it. NULL: memory is out. */
struct station *station_open(struct world *w, const struct settings *s, enum say_level level);
bool station_is_open(const struct station *t);
/* Connections are broken off, files are closed. The world's loop runs on until it is empty. */
void station_end(struct station *t);
void station_free(struct station *t); /* after the loop; NULL is allowed */

/* State and counters of all instances and sources, the caller's; NULL: memory. */
json_t *station_json(const struct station *t);
/* The same for Prometheus, the caller's; NULL: memory. */
char *station_metrics(const struct station *t, size_t *len);
/* Its engine's invariants, asserted. */
void station_assert(const struct station *t);

#endif
