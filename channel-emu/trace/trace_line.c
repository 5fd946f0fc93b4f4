/* SPDX-License-Identifier: Apache-2.0 */
/* gzgets would end a line at a NUL for its caller, who sees a shorter line and shifted times. */
#include "channel-emu/trace/trace_line.h"

#include <string.h>

#define MARK "\xef\xbb\xbf" /* U+FEFF in UTF-8, as some editors write it */

bool trace_line_next(struct trace_line *l)
{
    int c = 0;
    l->len = 0;
    l->ended = false;
    while (l->len <= TRACE_LINE_MAX && (c = gzgetc(l->file)) >= 0) {
        l->text[l->len] = (char)c;
        if (c == '\n') {
            l->ended = true;
            break;
        }
        l->len++;
    }
    bool any = l->len > 0 || l->ended;
    size_t mark = strlen(MARK);
    if (!l->begun && l->len >= mark && memcmp(l->text, MARK, mark) == 0) {
        l->len -= mark;
        memmove(l->text, l->text + mark, l->len + l->ended);
    }
    l->begun = true;
    return any;
}

bool trace_line_binary(const struct trace_line *l)
{
    return memchr(l->text, '\0', l->len) != NULL;
}
