/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of the operator's log that peers can cause as often as they like. Each kind has an
 * allowance: some lines at once, then one after each pause. The number of the others is logged.
 */
#ifndef OS_SAY_FEW_H
#define OS_SAY_FEW_H

#include <stdarg.h>

#include "base/tick.h"
#include "os/log/say.h"

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
