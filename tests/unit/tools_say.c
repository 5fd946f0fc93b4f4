/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the operator's log: whatever they say, each is one line that nobody else began. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "os/log/say.h"
#include "tests/unit/suite.h"

static const char evil[] = "peer \"dtn://a\n<3>forged\r\x1b[2J\xe2\x80\xae\xff\\\" came";
static const char shown[] = "peer \"dtn://a\\n<3>forged\\r\\x1b[2J\\u{202e}\\xff\\\" came";

static const char *write_line(struct say *s, const char *text)
{
    static char line[4097];
    size_t len = say_line(s, LEVEL_WARNING, UINT64_C(1700000000123456789), text, line, 4096);
    ck_assert_uint_le(len, 4096);
    ck_assert_int_eq(line[len - 1], '\n');
    ck_assert_ptr_eq(memchr(line, '\n', len), line + len - 1);
    line[len - 1] = '\0';
    return line;
}

START_TEST(plain_text)
{
    struct say s = {.level = LEVEL_INFO, .form = SAY_TEXT};
    char want[256];
    snprintf(want, sizeof want, "2023-11-14T22:13:20.123Z warning: %s", shown);
    ck_assert_str_eq(write_line(&s, evil), want);
}
END_TEST

START_TEST(journal)
{
    struct say s = {.level = LEVEL_INFO, .form = SAY_JOURNAL, .priority = true};
    char want[256];
    snprintf(want, sizeof want, "<4>%s", shown);
    ck_assert_str_eq(write_line(&s, evil), want);
    ck_assert_str_eq(write_line(&s, "<0>forged"), "<4><0>forged"); /* the first one counts */
}
END_TEST

START_TEST(json)
{
    struct say s = {.level = LEVEL_INFO, .form = SAY_JSON, .node = "dtn://\"n\\"};
    json_t *o = json_loads(write_line(&s, evil), JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(o);
    ck_assert_str_eq(json_string_value(json_object_get(o, "text")), shown);
    ck_assert_str_eq(json_string_value(json_object_get(o, "node")), "dtn://\"n\\");
    json_decref(o);
}
END_TEST

/* As much as there is room for, of any text, in any form. */
START_TEST(long_text)
{
    static const char fill[] = {'a', '\n', '"', '\xff'};
    char text[5000];
    for (int form = SAY_TEXT; form <= SAY_JOURNAL; form++) {
        for (size_t i = 0; i < sizeof fill; i++) {
            struct say s = {.level = LEVEL_INFO, .form = (enum say_form)form, .priority = true};
            memset(text, fill[i], sizeof text - 1);
            text[sizeof text - 1] = '\0';
            const char *line = write_line(&s, text);
            ck_assert_uint_ge(strlen(line), 1000);
            if (form != SAY_JSON)
                continue;
            json_t *o = json_loads(line + strlen("<4>"), 0, NULL);
            ck_assert_ptr_nonnull(o);
            json_decref(o);
        }
    }
}
END_TEST

/* Standard error is a full pipe that nobody reads: say returns, and the next line that there is
 * room for says how many were lost. */
START_TEST(nobody_reads)
{
    struct say s = {.level = LEVEL_INFO, .form = SAY_TEXT};
    int ends[2], before = dup(STDERR_FILENO);
    char got[1 << 17];
    ck_assert_int_eq(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    alarm(10); /* a say that waits would wait for ever */
    for (int i = 0; i < 4096; i++)
        say(&s, LEVEL_INFO, "line %d of a log that nobody reads, with some more words", i);
    uint64_t lost = s.lost;
    ssize_t n = read(ends[0], got, sizeof got);
    say(&s, LEVEL_INFO, "after");
    ssize_t more = read(ends[0], got, sizeof got - 1);
    dup2(before, STDERR_FILENO);
    alarm(0);
    ck_assert_int_gt(n, 4096);
    ck_assert_int_gt(more, 0);
    got[more] = '\0';
    ck_assert_uint_gt(lost, 1000);
    ck_assert_uint_eq(s.lost, 0);
    char want[80];
    snprintf(want, sizeof want, "warning: %" PRIu64 " lines of this log are lost", lost);
    ck_assert_ptr_nonnull(strstr(got, want));
    ck_assert_ptr_nonnull(strstr(got, "info: after\n"));
    close(ends[0]);
    close(ends[1]);
    close(before);
}
END_TEST

SUITE(tools_say, t)
{
    tcase_add_test(t, plain_text);
    tcase_add_test(t, journal);
    tcase_add_test(t, json);
    tcase_add_test(t, long_text);
    tcase_add_test(t, nobody_reads);
}
