/* SPDX-License-Identifier: Apache-2.0 */
/* Times when a line stands still: windows, or one of a length in each period. */
#ifndef CHANNEL_EMU_WAN_STALLS_H
#define CHANNEL_EMU_WAN_STALLS_H

#include <stddef.h>

#include "base/tick.h"

#define WAN_WINDOWS_MAX 1024u

struct wan_window {
    tick from, to; /* [from, to) since the line's begin */
};

struct wan_stalls {
    struct wan_window *windows; /* owned; in order, not overlapping */
    size_t len;
    tick every, lasts; /* [k every, k every + lasts) for k = 1, 2, …; every 0: none */
};

void wan_stalls_fini(struct wan_stalls *s);

/* "none", "every 10s for 200ms", or windows "2s-2200ms,7s-8s". 0; HELIO_EFORMAT with what would be
 * right in *hint, *s unchanged; HELIO_ENOMEM. What *s had is freed. */
int wan_stalls_parse(struct wan_stalls *s, const char *text, const char **hint);

/* One more window, behind the others. 0; HELIO_EFORMAT: it is empty, or not behind them, or there
 * are too many; HELIO_ENOMEM. */
int wan_stalls_add(struct wan_stalls *s, tick from, tick to);

/* The first time from `at` on that lies in no stall. */
tick wan_stalls_pass(const struct wan_stalls *s, tick at);
/* When work that takes `busy` and begins at `at` is done: it rests in each stall. */
tick wan_stalls_work(const struct wan_stalls *s, tick at, tick busy);

#endif
