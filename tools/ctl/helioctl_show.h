/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of a node, for people. */
#ifndef TOOLS_HELIOCTL_SHOW_H
#define TOOLS_HELIOCTL_SHOW_H

#include <stdbool.h>
#include <stdio.h>

struct json_t;

/* Prints the answer to a command on standard output; takes its "ok" away. */
void ctl_show(const char *command, struct json_t *answer);

/* The same to `out`; a contact plan always goes to standard output. */
void ctl_show_at(FILE *out, bool colour, const char *command, struct json_t *answer);

#endif
