/* SPDX-License-Identifier: Apache-2.0 */
/* The operator's log: one line per thing that a person should know, on standard error. */
#ifndef OS_SAY_H
#define OS_SAY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tick.h"

enum say_level { LEVEL_ERROR, LEVEL_WARNING, LEVEL_INFO };

enum say_form {
    SAY_TEXT,   /* time in UTC, level, text */
    SAY_JSON,   /* {"time": …, "level": …, "node": …, "text": …} */
    SAY_JOURNAL /* the level as journald's priority, text: it has the time itself */
};

struct say {
    enum say_level level; /* lines of a higher level are left out */
    enum say_form form;
    bool priority; /* SAY_JSON: the journal's priority stands before it */
    bool colour;
    char node[64]; /* SAY_JSON: the node of the lines */
    uint64_t lost; /* lines that standard error did not take, since the last one that it took */
};

/* Text or JSON. Colours are used only on a terminal, and the journal's format if standard error is
 * its stream. */
void say_init(struct say *s, enum say_level level, bool json, const char *node);
/* Is standard error the journal's stream, which `stream` (JOURNAL_STREAM: device:inode) names? */
bool say_is_journal(const char *stream);

/* One line, for a test: what say writes. Returns its length with the end of line. */
size_t say_line(const struct say *s, enum say_level level, uint64_t wall, const char *text,
                char *out, size_t cap);

/* Writes one line, and never blocks. If a pipe or terminal is full, lines are counted instead, and
 * the next written line begins with their number. */
void say(struct say *s, enum say_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Lines that peers can cause as often as they like. Each kind has an allowance: some lines at once,
 * then one after each pause. The number of the others is logged.
 */
struct say_few {
    const char *about; /* "12 more lines about … were left out" */
    uint64_t burst;    /* >= 1 */
    tick pause;
    /* its own: */
    tick spent;        /* base/allowance.h */
    uint64_t left_out; /* lines since the last say_left_out; or the writer sets it to 0 */
};

/* As say, within the allowance. False: the line was left out and counted. */
bool say_few(struct say *s, struct say_few *few, tick now, enum say_level level, const char *format,
             va_list args) __attribute__((format(printf, 5, 0)));
/* May a line be logged now? False: it is counted as left out. For lines that others write. */
bool say_few_takes(struct say_few *few, tick now);
/* Logs the number of lines that were left out, if there are any. */
void say_left_out(struct say *s, struct say_few *few);

#endif
