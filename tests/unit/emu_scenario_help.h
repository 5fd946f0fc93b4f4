/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios from text, for tests. */
#ifndef TESTS_UNIT_EMU_SCENARIO_HELP_H
#define TESTS_UNIT_EMU_SCENARIO_HELP_H

#include <check.h>
#include <string.h>

#include "channel-emu/scenario/scenario.h"

static struct conf_errors errors;

static inline int apply(struct scenario *s, const char *text)
{
    conf_errors_init(&errors, "s.yaml");
    return scenario_apply(s, text, strlen(text), "", &errors);
}

static inline void good(struct scenario *s, const char *text)
{
    ck_assert_int_eq(scenario_init(s), 0);
    ck_assert_msg(apply(s, text) == 0, "%s", errors.text[0]);
    ck_assert_msg(scenario_check(s, &errors) == 0, "%s", errors.text[0]);
}

#endif
