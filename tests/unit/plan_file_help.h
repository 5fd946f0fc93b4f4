/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of plans in files share: a text as a plan, its errors and notes. */
#ifndef TESTS_UNIT_PLAN_FILE_HELP_H
#define TESTS_UNIT_PLAN_FILE_HELP_H

#include <stdlib.h>
#include <string.h>

#include "node/plan/plan_draft.h"
#include "tests/unit/suite.h"

#define DAY0 (UINT64_C(1795348800) * TICK_S) /* 2026-11-22T12:00:00Z */

struct fixture {
    struct plan_draft draft;
    struct conf_errors errors, notes;
    struct plan *plan;
};

static inline struct fixture *read_start(enum plan_format format, const char *text, tick start)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct plan_config config;
    plan_config_default(&config);
    conf_errors_init(&f->errors, "plan");
    plan_draft_init(&f->draft, start);
    ck_assert_int_eq(plan_new(&f->plan, &config), 0);
    conf_errors_init(&f->notes, "plan");
    f->draft.notes = &f->notes;
    size_t len = strlen(text);
    int rc = format == PLAN_YAML   ? plan_yaml_read(&f->draft, text, len, &f->errors)
             : format == PLAN_HDTN ? plan_hdtn_read(&f->draft, text, len, &f->errors)
                                   : plan_ion_read(&f->draft, text, len, &f->errors);
    ck_assert_int_eq(rc, f->errors.total == 0 ? 0 : -1);
    if (rc == 0)
        plan_draft_build(&f->draft, f->plan, &f->errors);
    return f;
}

static inline struct fixture *read_text(enum plan_format format, const char *text)
{
    return read_start(format, text, 0);
}

static inline void drop(struct fixture *f)
{
    plan_draft_fini(&f->draft);
    plan_free(f->plan);
    free(f);
}

static inline void good(const struct fixture *f, size_t contacts, size_t ranges)
{
    struct plan_totals t;
    ck_assert_msg(f->errors.total == 0, "%s", f->errors.text[0]);
    plan_totals(f->plan, &t);
    ck_assert_uint_eq(t.contacts, contacts);
    ck_assert_uint_eq(t.ranges, ranges);
}

static inline void bad(enum plan_format format, const char *text, const char *error)
{
    struct fixture *f = read_text(format, text);
    ck_assert_msg(f->errors.total > 0, "no error: %s", text);
    ck_assert_msg(strstr(f->errors.text[0], error) != NULL, "%s, not %s", f->errors.text[0], error);
    drop(f);
}

static inline void has_contact(const struct fixture *f, uint64_t from, uint64_t to, tick start,
                               tick end, uint64_t rate, double confidence)
{
    uint64_t id = plan_find(f->plan, from, to, start);
    ck_assert_uint_ne(id, 0);
    const struct plan_contact *c = plan_get(f->plan, id);
    ck_assert_uint_eq(c->end, end);
    ck_assert_uint_eq(c->rate, rate);
    ck_assert_double_eq(c->confidence, confidence);
}

#endif
