/* SPDX-License-Identifier: Apache-2.0 */
/* helioctl's words for the contact plan: plan, contact, range. */
#ifndef TOOLS_HELIOCTL_PLAN_H
#define TOOLS_HELIOCTL_PLAN_H

#include <stdbool.h>
#include <stddef.h>

struct json_t;

/* Is it one of them? */
bool ctl_plan_is(const char *command);
/* What would be right instead of these words; NULL: they are. */
const char *ctl_plan_check(const char *const *words, size_t len);
/* The request; the caller's to free, NULL: no memory. */
char *ctl_plan_line(const char *const *words, size_t len);
/* The answer to `plan` as tables; to the others nothing. */
void ctl_plan_show(struct json_t *answer, bool colour);

#endif
