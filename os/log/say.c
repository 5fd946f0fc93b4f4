/* SPDX-License-Identifier: Apache-2.0 */
/* One write per line, so that lines of several nodes on one terminal do not mix. Standard error may
 * be a pipe without a reader: nothing here blocks. A line that is too long is shortened; JSON stays
 * valid. Lines may contain data of a peer. So control characters are made visible here
 * (base/printable.h) for all formats: such data cannot forge a line or a journal priority, or
 * control a terminal. */
#include "os/log/say.h"
#include "base/printable.h"
#include "base/tick.h"
#include "os/clock.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/allowance.h"

#define LINE_CAP 4096 /* what the kernel writes to a pipe at once */
#define TEXT_CAP 1024
#define VISIBLE_CAP 1536 /* of it, with its escapes; quoted for JSON at most twice that */

bool say_is_journal(const char *stream)
{
    struct stat st;
    uintmax_t device, inode;
    return stream != NULL && sscanf(stream, "%ju:%ju", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void say_init(struct say *s, enum say_level level, bool json, const char *node)
{
    bool journal = say_is_journal(getenv("JOURNAL_STREAM"));
    *s = (struct say){.level = level,
                      .form = json      ? SAY_JSON
                              : journal ? SAY_JOURNAL
                                        : SAY_TEXT,
                      .priority = journal,
                      .colour = !json && isatty(STDERR_FILENO) == 1};
    snprintf(s->node, sizeof s->node, "%.63s", node);
}

static size_t stamp_text(uint64_t wall, char *out, size_t cap)
{
    struct tm tm;
    gmtime_r(&(time_t){(time_t)(wall / TICK_S)}, &tm);
    size_t len = strftime(out, cap, "%Y-%m-%dT%H:%M:%S", &tm);
    return len + (size_t)snprintf(out + len, cap - len, ".%03ldZ", (long)(wall % TICK_S / TICK_MS));
}

/* As the inside of a JSON string, cut to cap; text has no control characters. */
static void quote_text(const char *text, char *out, size_t cap)
{
    size_t len = 0;
    for (; *text != '\0' && len + 2 < cap; text++) {
        if (*text == '"' || *text == '\\')
            out[len++] = '\\';
        out[len++] = *text;
    }
    out[len] = '\0';
}

size_t say_line(const struct say *s, enum say_level level, uint64_t wall, const char *text,
                char *out, size_t cap)
{
    static const char *const names[] = {"error", "warning", "info"};
    static const char *const colours[] = {"\033[31m", "\033[33m", ""};
    static const int priorities[] = {3, 4, 6}; /* of syslog */
    char stamp[40], visible[VISIBLE_CAP], quoted[2 * VISIBLE_CAP], node[2 * sizeof s->node];
    bool colour = s->colour && level != LEVEL_INFO;
    int len = 0;
    assert(cap >= LINE_CAP);
    stamp_text(wall, stamp, sizeof stamp);
    printable(text, strlen(text), visible, sizeof visible);
    if (s->form == SAY_JOURNAL) {
        len = snprintf(out, cap, "<%d>%s", priorities[level], visible);
    } else if (s->form == SAY_JSON) {
        quote_text(visible, quoted, sizeof quoted);
        quote_text(s->node, node, sizeof node);
        if (s->priority)
            len = snprintf(out, cap, "<%d>", priorities[level]);
        len += snprintf(out + len, cap - (size_t)len,
                        "{\"time\": \"%s\", \"level\": \"%s\", \"node\": \"%s\", \"text\": \"%s\"}",
                        stamp, names[level], node, quoted);
    } else {
        len = snprintf(out, cap, "%s %s%s%s: %s", stamp, colour ? colours[level] : "", names[level],
                       colour ? "\033[0m" : "", visible);
    }
    size_t used = (size_t)len < cap - 2 ? (size_t)len : cap - 2;
    out[used++] = '\n';
    return used;
}

/* A pipe, socket or terminal that can be written takes a line without waiting. If the kernel cannot
 * say so (it lacks memory), the line counts for more than the wait. */
static bool write_line(const char *line, size_t len)
{
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};
    const int n = poll(&p, 1, 0);
    return (n < 0 || (n == 1 && (p.revents & POLLOUT) != 0)) &&
           write(STDERR_FILENO, line, len) == (ssize_t)len;
}

/* The first line after some that were lost says how many. */
static bool write_lost(struct say *s, uint64_t wall)
{
    char text[96], line[LINE_CAP];
    if (s->lost == 0)
        return true;
    snprintf(text, sizeof text, "%" PRIu64 " lines of this log are lost: nobody read it", s->lost);
    if (!write_line(line, say_line(s, LEVEL_WARNING, wall, text, line, sizeof line)))
        return false;
    s->lost = 0;
    return true;
}

void say(struct say *s, enum say_level level, const char *format, ...)
{
    char text[TEXT_CAP], line[LINE_CAP];
    if (level > s->level)
        return;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    uint64_t wall = clock_wall();
    if (!write_lost(s, wall) ||
        !write_line(line, say_line(s, level, wall, text, line, sizeof line)))
        s->lost++;
}

/* A line that is not logged at this level needs no allowance, and is not counted. */
bool say_few_takes(struct say_few *few, tick now)
{
    const bool takes = allowance_take(&few->spent, few->pause, few->burst, now);
    few->left_out += !takes;
    return takes;
}

bool say_few(struct say *s, struct say_few *few, tick now, enum say_level level, const char *format,
             va_list args)
{
    char text[TEXT_CAP];
    if (level > s->level)
        return true;
    if (!say_few_takes(few, now))
        return false;
    (void)vsnprintf(text, sizeof text, format, args);
    say(s, level, "%s", text);
    return true;
}

void say_left_out(struct say *s, struct say_few *few)
{
    if (few->left_out > 0)
        say(s, LEVEL_WARNING, "%" PRIu64 " more lines about %s were left out", few->left_out,
            few->about);
    few->left_out = 0;
}
