/* SPDX-License-Identifier: Apache-2.0 */
/* What a client asks a server to send to it, behind the header of a PERF_REQUEST. */
#ifndef TOOLS_PERF_REQUEST_H
#define TOOLS_PERF_REQUEST_H

#include <assert.h>

#include "base/slice.h"
#include "tools/perf/perf_options.h"

#define PERF_REQUEST_LEN 84 /* bytes; what follows them is not looked at */

#define PERF_REQUEST_PAYLOAD_MAX (UINT64_C(16) << 20) /* bytes of a bundle, all in memory once */
#define PERF_REQUEST_WINDOW_MAX 65536
/* Values beyond these two limits are reduced to them: a timeout of 0 would be a window without end,
 * and unwanted bundles must not stay in nodes for weeks. */
#define PERF_REQUEST_ACK_MIN (10 * TICK_MS)
#define PERF_REQUEST_LIFETIME_MAX (24 * UINT64_C(3600000)) /* ms */

/* A client that receives at a rate acknowledges nothing, so it repeats its request each
 * PERF_REQUEST_ALIVE. A client that was silent for PERF_REQUEST_SILENCE, or the server's --linger
 * if that is longer, is considered gone. */
#define PERF_REQUEST_ALIVE (15 * TICK_S)
#define PERF_REQUEST_SILENCE (60 * TICK_S)
static_assert(3 * PERF_REQUEST_ALIVE < PERF_REQUEST_SILENCE, "two may be late");

/* What a server answers, in `total` of a PERF_ANSWER. */
enum perf_answer {
    PERF_GOES,     /* it sends, or has sent */
    PERF_NEVER,    /* it sends to no client (--reverse-max 0) */
    PERF_BUSY,     /* to so many already */
    PERF_TOO_LONG, /* longer than its --reverse-max */
    PERF_TOO_BIG,  /* payload or window */
    PERF_UNABLE,   /* memory is out */
    PERF_ECHO, /* not yet: the client must repeat the request with the answer's `seq` as its own */
    PERF_ANSWERS
};
const char *perf_answer_text(uint64_t answer);

/* Mode, amount, window or rate, payload, lifetime and the like of a client's options: out has
 * PERF_REQUEST_LEN bytes. */
void perf_request_write(const struct perf_options *o, uint8_t *out);

/* Sets these in *out, and nothing else. False: not a request that perf_request_write could have
 * made. */
bool perf_request_parse(struct slice body, struct perf_options *out);

#endif
