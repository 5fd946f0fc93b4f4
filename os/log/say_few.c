/* SPDX-License-Identifier: Apache-2.0 */
/* A line that is not logged at this level needs no allowance, and is not counted. */
#include "os/log/say_few.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/allowance.h"

#define TEXT_CAP 1024

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
