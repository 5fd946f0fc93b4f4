/* SPDX-License-Identifier: Apache-2.0 */
/* Traces in the forms of other programs (docs/trace-format.md): private to trace_file.c. */
#ifndef CHANNEL_EMU_TRACE_EXPORT_H
#define CHANNEL_EMU_TRACE_EXPORT_H

#include <zlib.h>

#include "channel-emu/trace/trace_file.h"

#define TRACE_TIME_MAX 32u

/* A time as a decimal number of `unit`s (TICK_MS or TICK_S), exact, without zeros at the end, into
 * `out` (TRACE_TIME_MAX bytes). */
void trace_time_text(char *out, tick at, tick unit);

/* The lines of TRACE_ONE, TRACE_DTNSIM or TRACE_FRAMES, behind the comments. False: the file cannot
 * be written. */
bool trace_export_lines(const struct trace *t, enum trace_form form, const struct trace_export *x,
                        gzFile file);

#endif
