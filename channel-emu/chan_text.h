/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text form of a trace, line by line: `STATE STEPS`, where STATE is 0 (good) or 1 (bad) and
 * STEPS a whole number >= 1; `#` begins a comment. `# step_ns N` before the first run sets the
 * duration of a step. Blank lines and a carriage return at the end of a line are allowed.
 */
#ifndef CHANNEL_EMU_CHAN_TEXT_H
#define CHANNEL_EMU_CHAN_TEXT_H

#include "base/slice.h"
#include "channel-emu/chan.h"

#define TRACE_STEP_DEFAULT (100 * TICK_US)
#define TRACE_TEXT_LINE_MAX 256u

struct trace_text {
    struct trace *trace; /* borrowed; runs are added to it */
    uint64_t line;       /* number of the last line given, from 1 */
    bool step_fixed;     /* a step_ns directive is checked, but changes nothing */
    char error[160];     /* after HELIO_EFORMAT: what is wrong and what would be right */
};

void trace_text_init(struct trace_text *p, struct trace *t);

/* One line without its line feed. 0, HELIO_ENOMEM, HELIO_EFORMAT. */
int trace_text_line(struct trace_text *p, const char *line, size_t len);

/* No more lines. 0, or HELIO_EFORMAT when there was no run. */
int trace_text_end(struct trace_text *p);

#endif
