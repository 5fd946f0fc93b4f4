/* SPDX-License-Identifier: Apache-2.0 */
/* A terminal as a screen: its own page, no echo, keys one by one, each picture in one write. */
#ifndef TOOLS_HELIOCTL_SCREEN_H
#define TOOLS_HELIOCTL_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <termios.h>

#include "base/tick.h"

enum screen_key {
    KEY_NONE, /* the time has passed, or the size has changed */
    KEY_END,  /* the program should end: a signal, Ctrl-C, the terminal is gone */
    KEY_UP = 256,
    KEY_DOWN,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
    KEY_HOME,
    KEY_LAST,
    KEY_ESCAPE, /* others are their character */
};

struct screen {
    struct termios before;
    int signals; /* descriptor */
    unsigned width, height;
    FILE *out; /* the picture in the making */
    char *text;
    size_t len;
    unsigned line; /* the next one; of `height` */
};

/* Standard input and output are a terminal. 0 or HELIO_E*. */
int screen_open(struct screen *s);
void screen_close(struct screen *s);
/* A new picture, of the terminal's size now. */
void screen_begin(struct screen *s);
/* A line: `look` is "" or the numbers of an escape sequence ("1", "7", "31"); cut at the width.
 * Those below the last line are left out. */
void screen_line(struct screen *s, const char *look, const char *text);
void screen_end(struct screen *s); /* shows it */
int screen_key(struct screen *s, tick timeout);

#endif
