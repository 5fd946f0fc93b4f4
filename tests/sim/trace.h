/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace of a scenario: one line of text per engine event or notice, with the time in
 * milliseconds to the nanosecond. Session and serial numbers are random, so they are named in order
 * of appearance: s1, s2 … for sessions, c1, c2 … for checkpoint serials and r1, r2 … for report
 * serials of a session (c2 is the serial after c1, whether or not c1 was seen twice).
 */
#ifndef TESTS_SIM_TRACE_H
#define TESTS_SIM_TRACE_H

#include <stdio.h>

#include "ltp/ltp.h"

#define TRACE_SESSIONS 64

struct trace_session {
    struct ltp_session_id id;
    uint64_t cp_base, rpt_base; /* the first serials; EVENT_NONE before */
};

struct trace_text {
    FILE *out;
    const tick *now;
    size_t len;
    struct trace_session sessions[TRACE_SESSIONS];
};

void trace_event(struct trace_text *t, uint64_t node, const struct event *e);

/* `verdict` is what the ledger says of it: NULL = as it should be. */
void trace_notice(struct trace_text *t, uint64_t node, const struct ltp_notice *n,
                  const char *verdict);

/* A line with the time in front and a newline behind. */
void trace_line(struct trace_text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The session called sN, or NULL. */
const struct ltp_session_id *trace_session(const struct trace_text *t, const char *name);

#endif
