/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compact form of a trace (docs/trace-format.md): lines of text that say what it is, then run
 * lengths in a Rice code, then a CRC-32C over all of it. The same trace gives the same bytes on
 * every machine.
 */
#ifndef CHANNEL_EMU_CHAN_PACK_H
#define CHANNEL_EMU_CHAN_PACK_H

#include "base/slice.h"
#include "channel-emu/chan/chan.h"
#include "channel-emu/chan/chan_about.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TRACE_PACK_MAGIC "helio-trace "
#define TRACE_PACK_ERROR_MAX 160u

/* A new buffer with the file's bytes (the caller frees it) and its length. `about` may be NULL.
 * 0, HELIO_ENOMEM, HELIO_EINVAL (an empty trace). */
int trace_pack(const struct trace *t, const struct trace_about *about, uint8_t **out, size_t *len);

/* Reads a whole file into an empty trace; step_fixed keeps the trace's own step. Returns 0,
 * HELIO_ENOMEM, or HELIO_EFORMAT. Then `error` has the line or offset and the reason
 * (TRACE_PACK_ERROR_MAX bytes), and the trace may hold a part of the runs. `about` may be NULL. */
int trace_unpack(struct trace *t, struct trace_about *about, struct slice file, bool step_fixed,
                 char *error);

#ifdef __cplusplus
}
#endif

#endif
