/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the log that users, frame sources and the control socket cause: some at once, then few a
 * second, and the number of those that were left out. Nothing can go wrong. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/allowance.h"
#include "tools/sle/sle_station.h"

#define TEXT_CAP 1024

static const struct {
    const char *about;
    uint64_t burst;
    tick pause;
} kinds[LINES_COUNT] = {
    [LINES_REFUSED] = {"connections that were refused or broken off", 20, TICK_S},
    [LINES_SERVICE] = {"users", 100, TICK_S / 2},
    [LINES_CONTROL] = {"the control socket", 100, TICK_S / 2},
    [LINES_SOURCE] = {"connections of sources", 100, TICK_S / 2}};

void station_say(struct station *t, enum station_line kind, enum say_level level,
                 const char *format, ...)
{
    char text[TEXT_CAP];
    struct station_lines *l = &t->lines[kind];
    va_list args;
    if (level > t->log.level)
        return;
    if (!allowance_take(&l->spent, kinds[kind].pause, kinds[kind].burst, world_now(t->world))) {
        l->untold++;
        return;
    }
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    say(&t->log, level, "%s", text);
}

void station_tell_untold(struct station *t)
{
    for (int k = 0; k < LINES_COUNT; k++) {
        if (t->lines[k].untold > 0)
            say(&t->log, LEVEL_WARNING, "%" PRIu64 " more lines about %s were left out",
                t->lines[k].untold, kinds[k].about);
        t->lines[k].untold = 0;
    }
}
