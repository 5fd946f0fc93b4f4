/* SPDX-License-Identifier: Apache-2.0 */
/* Received powers in a CSV, plain or compressed with gzip. */
#ifndef CHANNEL_EMU_TRACE_POWERS_H
#define CHANNEL_EMU_TRACE_POWERS_H

#include "channel-emu/chan/chan_powers.h"

/* Adds the powers of a column (its number, its title, or NULL: the only one, or "power"). 0,
 * HELIO_ENOMEM, HELIO_EIO or HELIO_EFORMAT with `error` (TRACE_FILE_ERROR_MAX bytes). */
int trace_powers_read(struct powers *p, const char *path, const char *column, bool decibels,
                      char *error);

#endif
