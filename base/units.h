/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantities as people write them: a number with its unit and no space, or one (`30ms`,
 * `500Mbit/s`, `1024B`, `20GiB`). Each parser returns 0, or HELIO_EFORMAT with *out unchanged.
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stdbool.h>

#include "base/tick.h"

/* ns us ms s min h d; a fraction is allowed ("0.5s"). A bare 0 needs no unit. */
int units_duration(const char *text, tick *out);

/* bit/s with k M G ("500Mbit/s", also "Mbps"), or B/s. A rate of 0 is refused; "unlimited" is 0. In
 * bit/s.
 */
int units_rate(const char *text, uint64_t *out_bps);

/* B kB MB GB TB (10^3) and KiB MiB GiB TiB (2^10); a bare number is bytes. */
int units_size(const char *text, uint64_t *out_bytes);

/* An unsigned number without unit, at most max. */
int units_count(const char *text, uint64_t max, uint64_t *out);

/* The right spelling of what a parser above refuses: a blank before the unit ("100 msec": 100ms), a
 * unit by another name or case ("500Mb": 500Mbit/s, "20 MBytes": 20MB). False: not known, or
 * nothing is wrong with it; *out is undefined. */
enum units_kind { UNITS_DURATION, UNITS_RATE, UNITS_SIZE };
#define UNITS_MEND_CAP 48
bool units_mend(enum units_kind kind, const char *text, char out[UNITS_MEND_CAP]);

/* What a parser accepts, for error messages. Static texts. */
extern const char units_duration_hint[], units_rate_hint[], units_size_hint[];

#endif
