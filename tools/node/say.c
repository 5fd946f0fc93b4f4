/* SPDX-License-Identifier: Apache-2.0 */
/* Time in UTC, level, text: one write per line, so that lines of several nodes on one terminal do
 * not mix. A line that is too long is cut. */
#include "tools/node/say.h"
#include "os/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LINE_CAP 1024

void say_init(struct say *s, enum config_level level)
{
    *s = (struct say){.level = level, .colour = isatty(STDERR_FILENO) == 1};
}

void say(const struct say *s, enum config_level level, const char *format, ...)
{
    static const char *const names[] = {"error", "warning", "info"};
    static const char *const colours[] = {"\033[31m", "\033[33m", ""};
    char line[LINE_CAP], stamp[32];
    struct tm tm;
    if (level > s->level)
        return;
    uint64_t wall = clock_wall();
    gmtime_r(&(time_t){(time_t)(wall / TICK_S)}, &tm);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &tm);
    bool colour = s->colour && level != LEVEL_INFO;
    int n =
        snprintf(line, sizeof line, "%s.%03ldZ %s%s%s: ", stamp, (long)(wall % TICK_S / TICK_MS),
                 colour ? colours[level] : "", names[level], colour ? "\033[0m" : "");
    va_list args;
    va_start(args, format);
    int m = vsnprintf(line + n, sizeof line - (size_t)n - 1, format, args);
    va_end(args);
    size_t len = (size_t)n + (m > 0 ? (size_t)m : 0);
    if (len > sizeof line - 2)
        len = sizeof line - 2;
    line[len++] = '\n';
    (void)!write(STDERR_FILENO, line, len);
}
