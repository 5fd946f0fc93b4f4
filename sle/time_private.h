/* SPDX-License-Identifier: Apache-2.0 */
/* CDS times as octets. */
#ifndef SLE_TIME_PRIVATE_H
#define SLE_TIME_PRIVATE_H

#include "sle/sle.h"

enum { TIME_OCTETS = 8, TIME_PICO_OCTETS = 10 };

/* 8 octets, or 10 of a time with picoseconds; returns how many. */
size_t sle_time_put(struct sle_time t, uint8_t *out);
/* Of 8 or 10 octets; false: beyond the day or the millisecond. */
bool sle_time_get(struct slice in, struct sle_time *out);

#endif
