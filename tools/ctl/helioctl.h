/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of helioctl. */
#ifndef TOOLS_HELIOCTL_H
#define TOOLS_HELIOCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/tick.h"

struct json_t;

/* ---- Answers of a node, for people ---- */

/* Prints the answer to a command on standard output; takes its "ok" away. */
void ctl_show(const char *command, struct json_t *answer);

/* The same to `out`; a contact plan always goes to standard output. */
void ctl_show_at(FILE *out, bool colour, const char *command, struct json_t *answer);

/* ---- helioctl's words for the contact plan: plan, contact, range ---- */

/* Is it one of them? */
bool ctl_plan_is(const char *command);
/* What would be right instead of these words; NULL: they are. */
const char *ctl_plan_check(const char *const *words, size_t len);
/* The request; the caller's to free, NULL: no memory. */
char *ctl_plan_line(const char *const *words, size_t len);
/* The answer to `plan` as tables; to the others nothing. */
void ctl_plan_show(struct json_t *answer, bool colour);

/* ---- A node watched live ---- */

/* Looks every `interval` until a key or a signal ends it, or after `looks` of them (0: no end): on
 * a terminal as a screen, else, or with `plain`, as lines. The exit code. */
int ctl_top(const char *path, bool plain, tick interval, tick timeout, uint64_t looks);

/* Prints events of bundles as they happen, a line for each (`json`: an object), if it contains all
 * `texts`. Asks each `interval`, until a signal, or `count` lines (0: no end). The exit code. */
int ctl_events(const char *path, const char *const *texts, size_t texts_len, bool json,
               tick interval, tick timeout, uint64_t count);

#endif
