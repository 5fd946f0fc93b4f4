/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of helio-sync. */
#include <string.h>

#include "tests/unit/suite.h"
#include "tools/sync/sync_wire.h"

static struct sync_change example_change(const char *content)
{
    struct sync_change c = {.version = 77,
                            .type = SYNC_FILE,
                            .executable = true,
                            .with = content != NULL,
                            .size = content != NULL ? strlen(content) : 1000,
                            .mtime = 123456789,
                            .name = slice_of("a/b", 3)};
    memset(c.sha, 0xcd, FILES_SHA);
    if (content != NULL)
        c.content = slice_of(content, strlen(content));
    return c;
}

static size_t write_message(const struct sync_change *c, size_t count, uint8_t *out, size_t room)
{
    struct writer w = writer_of(out, room);
    const struct sync_head h = {SYNC_CHANGES, 5, (uint32_t)count};
    w.p += SYNC_HEAD;
    for (size_t i = 0; i < count; i++)
        ck_assert(sync_write_change(&w, &c[i]));
    sync_write_end(out, writer_len(&w), &h);
    return writer_len(&w);
}

START_TEST(changes_come_back)
{
    uint8_t out[1000];
    struct sync_change c[3] = {example_change("content"),
                               example_change(NULL),
                               {.version = 9, .type = SYNC_GONE, .name = slice_of("x", 1)}};
    struct sync_change in;
    struct sync_head h;
    struct reader r;
    const size_t len = write_message(c, 3, out, sizeof out);
    ck_assert_int_eq(sync_parse(slice_of(out, len), &h, &r), SYNC_OK);
    ck_assert(h.kind == SYNC_CHANGES && h.number == 5 && h.count == 3);
    for (int i = 0; i < 3; i++) {
        ck_assert(sync_parse_change(&r, &in));
        ck_assert(in.version == c[i].version && in.type == c[i].type && in.size == c[i].size);
        ck_assert(in.executable == c[i].executable && in.with == c[i].with);
        ck_assert(in.mtime == c[i].mtime && memcmp(in.sha, c[i].sha, FILES_SHA) == 0);
        ck_assert(slice_equal(in.name, c[i].name) && slice_equal(in.content, c[i].content));
    }
    ck_assert(!sync_parse_change(&r, &in));
    for (size_t i = 0; i < len; i++) { /* each bit that is turned is seen */
        out[i] ^= 4;
        ck_assert_int_ne(sync_parse(slice_of(out, len), &h, &r), SYNC_OK);
        out[i] ^= 4;
    }
    for (size_t n = 0; n < len; n++)
        ck_assert_int_ne(sync_parse(slice_of(out, n), &h, &r), SYNC_OK);
}
END_TEST

/* Heads that are right, around entries that say what cannot be. */
START_TEST(odd_changes_are_not_ours)
{
    uint8_t out[1000];
    struct sync_head h;
    struct reader r;
    for (int i = 0; i < 7; i++) {
        struct sync_change c = example_change("content");
        if (i == 0)
            c.version = 0;
        if (i == 1)
            c.size = 6; /* less than its content */
        if (i == 2)
            c.type = SYNC_GONE; /* with a content */
        if (i == 3)
            c.type = (enum sync_type)3;
        if (i == 4)
            c.mtime = UINT64_MAX;
        if (i == 5)
            c.with = false, c.size = UINT64_MAX;
        const size_t len = write_message(&c, 1, out, sizeof out);
        ck_assert_int_eq(sync_parse(slice_of(out, len), &h, &r), i < 6 ? SYNC_FOREIGN : SYNC_OK);
    }
    struct sync_change c = example_change("content");
    const struct sync_head two = {SYNC_CHANGES, 1, 2}; /* of which only one is there */
    const size_t len = write_message(&c, 1, out, sizeof out);
    sync_write_end(out, len, &two);
    ck_assert_int_eq(sync_parse(slice_of(out, len), &h, &r), SYNC_FOREIGN);
}
END_TEST

START_TEST(answers_come_back)
{
    uint8_t out[SYNC_ANSWERS_BYTES];
    struct writer w = writer_of(out, sizeof out);
    struct sync_answer in;
    struct sync_head h = {SYNC_ANSWERS, 3, SYNC_ENTRIES_MAX};
    struct reader r;
    w.p += SYNC_HEAD;
    for (uint32_t i = 0; i < SYNC_ENTRIES_MAX; i++) {
        const struct sync_answer a = {i, SYNC_REFUSED, SYNC_REASON_PLACE};
        ck_assert(sync_write_answer(&w, &a));
    }
    ck_assert(!sync_write_answer(&w, &(struct sync_answer){1, SYNC_APPLIED, 0}));
    sync_write_end(out, sizeof out, &h);
    ck_assert_int_eq(sync_parse(slice_of(out, sizeof out), &h, &r), SYNC_OK);
    for (uint32_t i = 0; i < SYNC_ENTRIES_MAX; i++)
        ck_assert(sync_parse_answer(&r, &in) && in.version == i && in.state == SYNC_REFUSED &&
                  in.reason == SYNC_REASON_PLACE);
    ck_assert_str_eq(sync_reason_text(SYNC_REASONS), "unknown");
}
END_TEST

START_TEST(names_of_contents)
{
    char name[SYNC_CONTENT_NAME];
    uint64_t v;
    sync_content_name(UINT64_C(0x0123456789abcdef), name);
    ck_assert_str_eq(name, "0123456789abcdef");
    ck_assert(sync_content_version(slice_of(name, 16), &v) && v == UINT64_C(0x0123456789abcdef));
    static const char *const bad[] = {"",
                                      "0123456789abcde",
                                      "0123456789abcdef0",
                                      "0123456789abcdeF",
                                      "0123456789abcdef.1",
                                      "0123/56789abcdef"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert(!sync_content_version(slice_of(bad[i], strlen(bad[i])), &v));
}
END_TEST

SUITE(tools_sync_wire, t)
{
    tcase_add_test(t, changes_come_back);
    tcase_add_test(t, odd_changes_are_not_ours);
    tcase_add_test(t, answers_come_back);
    tcase_add_test(t, names_of_contents);
}
