/* SPDX-License-Identifier: Apache-2.0 */
/* The operator's log: one line per thing that a person should know, on standard error. */
#ifndef TOOLS_SAY_H
#define TOOLS_SAY_H

#include <stdbool.h>

#include "tools/node/config.h"

struct say {
    enum config_level level; /* lines of a higher level are left out */
    bool colour;
};

/* Colour only on a terminal. */
void say_init(struct say *s, enum config_level level);

void say(const struct say *s, enum config_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
