/* SPDX-License-Identifier: Apache-2.0 */
/* The text form of traces: what is read, what is refused and why. */
#include <string.h>

#include "base/err.h"
#include "channel-emu/chan/chan_text.h"
#include "tests/unit/suite.h"

struct example {
    const char *text;  /* lines, separated by line feeds */
    const char *error; /* how the message begins; NULL: none */
    uint64_t line, steps, runs, step;
};

static int read_all(struct trace_text *p, const char *text)
{
    for (;;) {
        const char *end = strchr(text, '\n');
        size_t len = end == NULL ? strlen(text) : (size_t)(end - text);
        int rc = trace_text_line(p, text, len);
        if (rc < 0)
            return rc;
        if (end == NULL)
            return trace_text_end(p);
        text = end + 1;
    }
}

static const struct example examples[] = {
    {"0 267\n1 13", NULL, 2, 280, 2, 100000},
    {"# step_ns 5\n0 1\r\n\t\n 0\t2  # more\n1 3\n", NULL, 6, 6, 2, 5},
    {"#step_ns 7\n#step_ns_x bad\n0 1", NULL, 3, 1, 1, 7},
    {"# step_nsx 7\n0 1", NULL, 2, 1, 1, 100000},
    {"", "no run", 1, 0, 0, 0},
    {"# only words", "no run", 1, 0, 0, 0},
    {"0 1\n2 1", "the state must be 0", 2, 0, 0, 0},
    {"-1 1", "the state must be 0", 1, 0, 0, 0},
    {"0 1\n0", "the number of steps", 2, 0, 0, 0},
    {"1 0", "the number of steps", 1, 0, 0, 0},
    {"1 1.5", "the number of steps", 1, 0, 0, 0},
    {"1 18446744073709551616", "the number of steps", 1, 0, 0, 0},
    {"1 18446744073709551615", "the trace becomes longer", 1, 0, 0, 0},
    {"1 1 1", "more than two values", 1, 0, 0, 0},
    {"# step_ns 0", "step_ns wants", 1, 0, 0, 0},
    {"# step_ns 3600000000001", "step_ns wants", 1, 0, 0, 0},
    {"# step_ns 5 ns", "step_ns wants", 1, 0, 0, 0},
    {"0 1\n# step_ns 5", "step_ns must stand", 2, 0, 0, 0},
    {"0", NULL, 1, 1, 1, 100000},
    {"# step_ns 9\n1 # bad, first\n0\n\n0\r\n1", NULL, 6, 4, 3, 9},
    {"0\n1 5", "the line must be 0", 2, 0, 0, 0},
    {"1\n2", "the line must be 0", 2, 0, 0, 0},
    {"0 5 # a, b\n1 2", NULL, 2, 7, 2, 100000},
    {"state,duration_ms\ngood,26.7\nbad,1.3\n1, 0.1\n0 ,2", NULL, 5, 301, 3, 100000},
    {"# step_ns 1\nstate,duration_s\r\nbad,0.000000003", NULL, 3, 3, 1, 1},
    {"state,duration_us\nbad,300", NULL, 2, 3, 1, 100000},
    {"state,duration_ns\nbad,300000", NULL, 2, 3, 1, 100000},
    {"good,26.7", "the title of a CSV", 1, 0, 0, 0},
    {"state,duration_m\nbad,1", "the title of a CSV", 1, 0, 0, 0},
    {"state,duration_ms\nbad 1", "the row has no comma", 2, 0, 0, 0},
    /* contacts of ONE: bad for 10 s, good for 17, bad for 3.25; nodes in either order */
    {"10 CONN 7 9 up\n27 CONN 9 7 down # x\n30.25004 CONN 7 9 UP\n", NULL, 4, 302500, 3, 100000},
    {"0 CONN 7 9 up\n0.5 CONN 7 9 down", NULL, 2, 5000, 1, 100000},
    {"# step_ns 1000000000\n1.4 CONN a b up\n2.5 CONN a b down\n2.5 CONN a b up", NULL, 4, 3, 2,
     1000000000},
    {"10 CONN 7 9 up\n9 CONN 7 9 down", "the time is before", 2, 0, 0, 0},
    {"10 CONN 7 9 up\n12 CONN 7 8 up", "nodes other than 7 and 9", 2, 0, 0, 0},
    {"10 CONN 7 9 on", "right is 'TIME CONN", 1, 0, 0, 0},
    {"10 CONN 7 9 up\n12 C 1 4 6 1000", "right is 'TIME CONN", 2, 0, 0, 0},
    {"10 CONN 7 9 up more", "right is 'TIME CONN", 1, 0, 0, 0},
    {"x CONN 7 9 up", "the time must be", 1, 0, 0, 0},
    {"0 CONN 7 9 up", "no run", 1, 0, 0, 0},
    {"# end_s 30\n10 CONN 7 9 up\n27 CONN 9 7 down", NULL, 3, 300000, 3, 100000},
    {"# end_s 10s\n10 CONN 7 9 up", "end_s wants", 1, 0, 0, 0},
    /* DtnSim: one direction; light times are left out; the end is the last contact's, or end_s */
    {"a contact 10 27 1 2 125000\na range 0 99 1 2 0.1\na contact +30 +31.5 1 2 10 0.9 # x", NULL,
     3, 315000, 4, 100000},
    {"# end_s 40\na contact 0 0.5 1 2 1000 # x", NULL, 2, 400000, 2, 100000},
    {"a contact 0 2 1 2 1\na contact 2 3 1 2 1", NULL, 2, 30000, 1, 100000},
    {"a range 0 99 1 2 1", "no run", 1, 0, 0, 0},
    {"a contact 0 2 1 2 1\na contact 1 3 1 2 1", "the time is before", 2, 0, 0, 0},
    {"a contact 2 1 1 2 1", "the time is before", 1, 0, 0, 0},
    {"a contact 0 2 1 2 1\na contact 2 3 2 1 1", "a contact other than from 1 to 2", 2, 0, 0, 0},
    {"a contact 0 2 1 2", "right is 'a contact", 1, 0, 0, 0},
    {"a contact 0 2 1 2 1 0.9 7", "right is 'a contact", 1, 0, 0, 0},
    {"a contact x 2 1 2 1", "the time must be", 1, 0, 0, 0},
    /* frames: good before the first; a step is bad when one of its frames was lost */
    {"time_ms,lost\n0.25,0\n0.31,1\n0.32,0\n0.61,1\n0.9,1", NULL, 6, 10, 4, 100000},
    {"time_s,lost\r\n0.0001, 1\n", NULL, 3, 2, 2, 100000},
    {"time_us,lost\n5,1\n4,1", "the time is before", 3, 0, 0, 0},
    {"time_us,lost\n5,2", "right is a time and 0", 2, 0, 0, 0},
    {"time_us,lost\n5", "right is a time and 0", 2, 0, 0, 0},
    {"time_us,lost\n,1", "the time must be", 2, 0, 0, 0},
    {"time_us,lost", "no run", 1, 0, 0, 0},
    {"time,lost\n5,1", "the title of a CSV", 1, 0, 0, 0},
    {"state,duration_ms\nbda,1", "the state must be good or bad", 2, 0, 0, 0},
    {"state,duration_ms\nbad,0", "the duration must be", 2, 0, 0, 0},
    {"state,duration_ms\nbad,-1", "the duration must be", 2, 0, 0, 0},
    {"state,duration_ms\nbad,1ms", "the duration must be", 2, 0, 0, 0},
    {"state,duration_ms\nbad,", "the duration must be", 2, 0, 0, 0},
    {"state,duration_ms\nbad,1000000000000000000000000000000", "the duration has more", 2, 0, 0, 0},
    {"state,duration_ms\nbad,0.15", "the duration is not a multiple of the step of 100000", 2, 0, 0,
     0},
    {"state,duration_ms", "no run", 1, 0, 0, 0},
};

START_TEST(reads_or_says_why)
{
    const struct example *e = &examples[_i];
    struct trace t;
    struct trace_text p;
    trace_init(&t, TRACE_STEP_DEFAULT);
    trace_text_init(&p, &t);
    int rc = read_all(&p, e->text);
    ck_assert_uint_eq(p.line, e->line);
    if (e->error == NULL) {
        ck_assert_msg(rc == 0, "%s", p.error);
        ck_assert_uint_eq(t.steps, e->steps);
        ck_assert_uint_eq(t.len, e->runs);
        ck_assert_uint_eq(t.step, e->step);
    } else {
        ck_assert_int_eq(rc, HELIO_EFORMAT);
        ck_assert_msg(strncmp(p.error, e->error, strlen(e->error)) == 0, "%s", p.error);
    }
    trace_fini(&t);
}
END_TEST

START_TEST(lines_have_a_limit)
{
    char line[TRACE_TEXT_LINE_MAX + 1];
    struct trace t;
    struct trace_text p;
    trace_init(&t, TRACE_STEP_DEFAULT);
    trace_text_init(&p, &t);
    memset(line, ' ', sizeof line);
    line[0] = '0';
    line[2] = '5';
    ck_assert_int_eq(trace_text_line(&p, line, TRACE_TEXT_LINE_MAX), 0);
    ck_assert_int_eq(trace_text_line(&p, line, TRACE_TEXT_LINE_MAX + 1), HELIO_EFORMAT);
    ck_assert_uint_eq(t.steps, 5);
    trace_fini(&t);
}
END_TEST

START_TEST(a_fixed_step_stays)
{
    struct trace t;
    struct trace_text p;
    trace_init(&t, 42);
    trace_text_init(&p, &t);
    p.step_fixed = true;
    ck_assert_int_eq(read_all(&p, "# step_ns 5\n0 1"), 0);
    ck_assert_uint_eq(t.step, 42);
    trace_fini(&t);
}
END_TEST

START_TEST(says_where_it_comes_from)
{
    struct trace t;
    struct trace_text p;
    trace_init(&t, TRACE_STEP_DEFAULT);
    trace_text_init(&p, &t);
    ck_assert_int_eq(
        read_all(&p, "# generator renewal\n#parameters  --preset A -n 5 \n# seed 77\n0 1"), 0);
    ck_assert_str_eq(p.about.generator, "renewal");
    ck_assert_str_eq(p.about.parameters, "--preset A -n 5");
    ck_assert(p.about.seeded);
    ck_assert_uint_eq(p.about.seed, 77);
    trace_text_init(&p, &t);
    ck_assert_int_eq(read_all(&p, "# generator of sparks\n# seed the lawn\n# parameters \x01"), 0);
    ck_assert_str_eq(p.about.generator, "");
    ck_assert_str_eq(p.about.parameters, "");
    ck_assert(!p.about.seeded);
    trace_fini(&t);
}
END_TEST

SUITE(chan_text, t)
{
    tcase_add_loop_test(t, reads_or_says_why, 0, (int)(sizeof examples / sizeof *examples));
    tcase_add_test(t, lines_have_a_limit);
    tcase_add_test(t, a_fixed_step_stays);
    tcase_add_test(t, says_where_it_comes_from);
}
