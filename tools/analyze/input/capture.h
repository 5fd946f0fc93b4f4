/* SPDX-License-Identifier: Apache-2.0 */
/* A capture file as rows of a segment log: packets, their UDP datagrams, the LTP in them. */
#ifndef TOOLS_CAPTURE_H
#define TOOLS_CAPTURE_H

#include "tools/analyze/input/stream.h"
#include "tools/analyze/watch/ltp_watch.h"

struct capture;

/* Do these first bytes of a file begin a pcap or pcapng file? */
bool capture_is(const uint8_t *bytes, size_t len);

/* Reads the capture that `in` holds, which stays the caller's and must stay open. 0, HELIO_ENOMEM,
 * or HELIO_EFORMAT with `error`. */
int capture_open(struct capture **out, struct stream *in, enum watch_place at,
                 const struct watch_options *options, char error[256]);

/* The end from which direction `forward` (0) or return (1) of helio-emu's link starts: by both
 * files of a run (emu_input.h), which stay the caller's and must stay open. 0 or HELIO_ENOMEM. */
int capture_open_end(struct capture **out, struct stream *before, struct stream *after,
                     unsigned direction, const struct watch_options *options);
void capture_close(struct capture *c); /* NULL is nothing */

/* The next row: 1, 0 at the end, HELIO_EIO (capture_error says why), HELIO_ENOMEM. */
int capture_next(struct capture *c, const struct seglog_row **row);
const char *capture_error(const struct capture *c);

/* The file ended within a packet: its number, from 1; else 0. Known at the end. */
uint64_t capture_cut(const struct capture *c);

void capture_add_counters(const struct capture *c, struct watch_counters *sum);

/* What its pairs were taken for, as watch_views. */
size_t capture_views(const struct capture *c, struct watch_view *out, size_t max);

#endif
