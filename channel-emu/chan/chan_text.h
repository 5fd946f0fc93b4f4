/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text forms of a trace, line by line (docs/trace-format.md). The first line that is neither
 * blank nor a comment decides:
 *   runs   `STATE STEPS`, STATE 0 (good) or 1 (bad), STEPS a whole number >= 1
 *   steps  `0` or `1`, one step a line
 *   csv    the title `state,duration_UNIT` (ns, us, ms or s), then `good,26.7` or `bad,1.3`
 * and, of other programs,
 *   one     `TIME CONN NODE NODE up|down`, seconds, of one pair of nodes (ONE)
 *   dtnsim  `a contact START END FROM TO RATE`, seconds, of one direction (DtnSim)
 *   frames  the title `time_UNIT,lost`, then a row for each frame: `12.25,0`, or 1: lost
 * `#` begins a comment. `# step_ns N` before the first run sets the duration of a step, `# end_s T`
 * the end of a trace of contacts; `# generator WORD`, `# parameters TEXT` and `# seed N` are
 * the origin of the trace. Blank lines and a carriage return at the end of a line are allowed.
 */
#ifndef CHANNEL_EMU_CHAN_TEXT_H
#define CHANNEL_EMU_CHAN_TEXT_H

#include "base/slice.h"
#include "channel-emu/chan/chan.h"
#include "channel-emu/chan/chan_about.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TRACE_STEP_DEFAULT (100 * TICK_US)
#define TRACE_STEP_MAX (3600 * TICK_S)
#define TRACE_TEXT_LINE_MAX 1024u

enum trace_form {
    TRACE_UNKNOWN,
    TRACE_COMPACT,
    TRACE_RUNS,
    TRACE_STEPS,
    TRACE_CSV,
    TRACE_ONE, /* from here on: of other programs */
    TRACE_DTNSIM,
    TRACE_FRAMES
};

/* Of a file of events: where the last one left it. */
struct trace_events {
    uint64_t at;      /* steps that are in the trace */
    tick last;        /* time of the last event */
    tick end;         /* `# end_s`: of the trace; 0: it ends with the last event */
    bool bad;         /* the step `at` is */
    bool bad_after;   /* those behind it are */
    bool met;         /* a frame was in the step `at` */
    char pair[2][24]; /* nodes of the contacts */
};

struct trace_text {
    struct trace *trace; /* borrowed; runs are added to it */
    uint64_t line;       /* number of the last line given, from 1 */
    bool step_fixed;     /* a step_ns directive is checked, but changes nothing */
    enum trace_form form;
    char unit[4]; /* of a csv's durations */
    struct trace_events events;
    struct trace_about about;
    char error[160]; /* after HELIO_EFORMAT: what is wrong and what would be right */
};

/* Begins with the first line; the trace is borrowed. */
void trace_text_init(struct trace_text *p, struct trace *t);

/* One line without its line feed. 0, HELIO_ENOMEM, HELIO_EFORMAT. */
int trace_text_line(struct trace_text *p, const char *line, size_t len);

/* No more lines. 0, HELIO_ENOMEM, or HELIO_EFORMAT when there was no run. */
int trace_text_end(struct trace_text *p);

#ifdef __cplusplus
}
#endif

#endif
