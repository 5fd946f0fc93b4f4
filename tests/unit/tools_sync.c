/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of helio-sync, with folders and without a network: messages that are lost, come late or
 * twice, and what may not be done to a folder. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "tests/unit/suite.h"
#include "tools/files/files_id.h"
#include "tools/sync/sync_copy.h"
#include "tools/sync/sync_source.h"

#define SOURCE "ipn:1.2004"
#define COPY "ipn:2.2003"

static char top[] = "/tmp/helio-sync-XXXXXX";
static struct sync_copy copy;
static struct sync_copy_options options;
static struct sync_source source;
static struct sync_outcome out;
static struct sync_answer answer; /* the last one */
static tick now = TICK_S;
static uint64_t refusals;

static void on_told(void *context, enum sync_told what, const char *name, uint64_t bytes,
                    const char *from)
{
    (void)context;
    (void)what;
    (void)name;
    (void)bytes;
    (void)from;
}

static const char *path_of(const char *folder, const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s/%s", top, folder, name);
    return path;
}

static void write_file(const char *folder, const char *name, const char *text)
{
    FILE *f = fopen(path_of(folder, name), "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    ck_assert_int_eq(fclose(f), 0);
}

static bool has_file(const char *folder, const char *name, const char *text)
{
    char got[100] = "";
    FILE *f = fopen(path_of(folder, name), "r");
    if (f == NULL)
        return false;
    const size_t n = fread(got, 1, sizeof got - 1, f);
    (void)fclose(f);
    got[n] = '\0';
    return strcmp(got, text) == 0;
}

static void open_copy(void)
{
    const char *why;
    options = (struct sync_copy_options){.limits = {.file_max = 1000,
                                                    .items_max = 10,
                                                    .space_max = 10000,
                                                    .forget = TICK_S,
                                                    .idle = TICK_S},
                                         .from_len = 1,
                                         .files_max = 5,
                                         .total_max = 2000,
                                         .remove = true};
    ck_assert_int_eq(eid_patterns_read("ipn:[1,3].*", &options.from[0], &why), 0);
    ck_assert_int_eq(sync_copy_init(&copy, path_of("copy", ""), &options, 7, on_told, NULL), 0);
}

static void begin(void)
{
    snprintf(top, sizeof top, "/tmp/helio-sync-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    ck_assert_int_eq(mkdir(path_of("copy", ""), 0777), 0);
    ck_assert_int_eq(mkdir(path_of("folder", ""), 0777), 0);
    open_copy();
}

static void end(void)
{
    char words[100];
    sync_table_check(&copy.table);
    sync_copy_fini(&copy);
    snprintf(words, sizeof words, "rm -r %s", top);
    ck_assert_int_eq(system(words), 0);
}

/* ---- the copy, by its messages ---- */

static struct sync_change change_of(uint64_t version, const char *name, const char *content)
{
    struct sync_change c = {.version = version,
                            .type = content != NULL ? SYNC_FILE : SYNC_GONE,
                            .with = content != NULL,
                            .name = slice_of(name, strlen(name))};
    if (content == NULL)
        return c;
    struct files_digest *d = files_digest_new();
    c.content = slice_of(content, strlen(content));
    c.size = c.content.len;
    files_digest_add(d, c.content);
    ck_assert(files_digest_end(d, c.sha));
    return c;
}

/* The state that is answered; 0: no answer. */
static enum sync_state give(const char *from, const struct sync_change *c)
{
    uint8_t bytes[2000];
    struct writer w = writer_of(bytes, sizeof bytes);
    const struct sync_head head = {SYNC_CHANGES, 1, 1};
    struct sync_head h;
    struct reader r;
    w.p += SYNC_HEAD;
    ck_assert(sync_write_change(&w, c));
    sync_write_end(bytes, writer_len(&w), &head);
    ck_assert_int_eq(
        sync_copy_take(&copy, from, "ipn:1.0", slice_of(bytes, writer_len(&w)), now, &out), 0);
    sync_table_check(&copy.table);
    if (out.answers_len == 0)
        return 0;
    ck_assert_int_eq(sync_parse(slice_of(out.answers, out.answers_len), &h, &r), SYNC_OK);
    ck_assert(sync_parse_answer(&r, &answer) && answer.version == c->version);
    return answer.state;
}

static enum sync_state put(uint64_t version, const char *name, const char *content)
{
    const struct sync_change c = change_of(version, name, content);
    return give(SOURCE, &c);
}

static enum sync_state announce(uint64_t version, const char *name, const char *content)
{
    struct sync_change c = change_of(version, name, content);
    c.with = false;
    return give(SOURCE, &c);
}

START_TEST(the_highest_version_counts)
{
    begin();
    ck_assert_int_eq(put(5, "a", "five"), SYNC_APPLIED);
    ck_assert_int_eq(put(4, "a", "four"), SYNC_APPLIED); /* it came late */
    ck_assert(has_file("copy", "a", "five"));
    ck_assert_int_eq(put(5, "a", "five"), SYNC_APPLIED); /* twice */
    ck_assert_uint_eq(copy.counts.placed, 1);
    ck_assert_int_eq(put(7, "a", NULL), SYNC_APPLIED);
    ck_assert_int_eq(put(6, "a", "six"), SYNC_APPLIED); /* it does not come back */
    ck_assert(access(path_of("copy", "a"), F_OK) != 0);
    ck_assert_int_eq(put(8, "a", "eight"), SYNC_APPLIED);
    ck_assert(has_file("copy", "a", "eight"));
    sync_copy_fini(&copy);
    open_copy(); /* it knows all of it in its next run */
    ck_assert_int_eq(put(7, "a", NULL), SYNC_APPLIED);
    ck_assert(has_file("copy", "a", "eight"));
    end();
}
END_TEST

START_TEST(a_known_content_is_not_asked_for)
{
    begin();
    ck_assert_int_eq(announce(1, "a", "text"), SYNC_WANTED);
    ck_assert_int_eq(put(1, "a", "text"), SYNC_APPLIED);
    ck_assert_int_eq(announce(2, "b/c", "text"), SYNC_APPLIED); /* of another name */
    ck_assert(has_file("copy", "b/c", "text") && copy.counts.copied == 1);
    write_file("copy", "a", "edit");
    write_file("copy", "b/c", "edit");
    ck_assert_int_eq(announce(3, "d", "text"), SYNC_WANTED); /* neither is what it was */
    ck_assert_int_eq(put(4, "a", "text 2"), SYNC_APPLIED);
    ck_assert(has_file("copy", "a", "text 2") && has_file("copy", "a.1", "edit"));
    ck_assert_int_eq(put(5, "b/c", NULL), SYNC_APPLIED);
    ck_assert(has_file("copy", "b/c", "edit") && copy.counts.kept == 1);
    end();
}
END_TEST

START_TEST(what_may_not_be)
{
    static const char *const names[] = {"../x", "/x", ".x", "a/../x", ".helio-sync/receive/table",
                                        "x\n"};
    struct sync_change c;
    begin();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ck_assert_int_eq(put(1 + i, names[i], "x"), SYNC_REFUSED);
        ck_assert_int_eq(answer.reason, SYNC_REASON_NAME);
        ck_assert_int_eq(put(1 + i, names[i], NULL), SYNC_APPLIED); /* there is nothing of it */
    }
    options.hidden = true; /* all but what these programs believe */
    ck_assert_int_eq(put(1, ".helio-recv/whole", "x"), SYNC_REFUSED);
    ck_assert_int_eq(put(1, ".helio-sync/receive/table", "x"), SYNC_REFUSED);
    c = change_of(1, "x", "x");
    ck_assert_int_eq(give("ipn:2.7", &c), 0); /* --from does not have it */
    ck_assert(copy.counts.others == 1 && copy.table.names.len == 0);
    c.content = slice_of("y", 1);
    ck_assert_int_eq(give(SOURCE, &c), SYNC_REFUSED);
    ck_assert_int_eq(answer.reason, SYNC_REASON_CONTENT);
    c = change_of(1, "x", "x");
    c.with = false;
    c.size = 1001;
    ck_assert_int_eq(give(SOURCE, &c), SYNC_REFUSED);
    ck_assert_int_eq(answer.reason, SYNC_REASON_SIZE);
    ck_assert_int_eq(put(2, "x", "x"), SYNC_APPLIED);
    c = change_of(UINT64_MAX, "x", NULL); /* the name is another source's */
    ck_assert_int_eq(give("ipn:3.1", &c), SYNC_APPLIED);
    ck_assert(has_file("copy", "x", "x"));
    ck_assert_int_eq(put(3, "x", NULL), SYNC_APPLIED); /* it gives it up */
    c = change_of(1, "x", "of 3");
    ck_assert_int_eq(give("ipn:3.1", &c), SYNC_APPLIED);
    for (uint64_t i = 0; i < 4; i++) {
        char name[2] = {(char)('p' + i), '\0'};
        ck_assert_int_eq(put(10 + i, name, name), SYNC_APPLIED);
    }
    ck_assert_int_eq(put(20, "z", "z"), SYNC_REFUSED); /* five names are all that it may have */
    ck_assert_int_eq(answer.reason, SYNC_REASON_ROOM);
    end();
}
END_TEST

START_TEST(links_and_folders_in_the_way)
{
    begin();
    write_file("folder", "precious", "precious");
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/folder", top);
    ck_assert_int_eq(symlink(folder, path_of("copy", "sub")), 0);
    ck_assert_int_eq(put(1, "sub/precious", "x"), SYNC_REFUSED);
    ck_assert_int_eq(answer.reason, SYNC_REASON_PLACE);
    ck_assert_int_eq(put(2, "sub/precious", NULL), SYNC_APPLIED);
    ck_assert(has_file("folder", "precious", "precious"));
    ck_assert_int_eq(mkdir(path_of("copy", "d"), 0777), 0);
    ck_assert_int_eq(put(3, "d", "x"), SYNC_REFUSED);
    ck_assert_int_eq(rmdir(path_of("copy", "d")), 0);
    ck_assert_int_eq(put(3, "d", "x"), SYNC_APPLIED); /* the same again */
    end();
}
END_TEST

/* ---- both ends ---- */

static uint64_t wall_of(void *context)
{
    (void)context;
    return UINT64_C(2000000000) * TICK_S + now; /* ahead of the files' clock: they rest */
}

static void on_over(void *context, const struct sync_entry *e, const char *why)
{
    (void)context;
    (void)e;
    refusals += why != NULL;
}

static void open_source(void)
{
    static char path[100];
    snprintf(path, sizeof path, "%s/folder", top);
    struct sync_source_options o = {
        .path = path,
        .files = {.piece = 1000, .confirm = true, .ask = TICK_S, .wait = 1000 * TICK_S},
        .rest = TICK_S,
        .interval = TICK_S,
        .hidden = true};
    ck_assert_int_eq(eid_parse(COPY, &o.files.receiver), 0);
    ck_assert_int_eq(sync_source_init(&source, &o, 9, wall_of, on_over, NULL), 0);
}

static bool is_lost(unsigned losses)
{
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return losses > 0 && (state >> 16) % losses == 0;
}

/* A turn of both; of `losses` payloads one is lost, in each direction. */
static void turn(unsigned losses)
{
    static uint8_t message[SYNC_MESSAGE_MIN + 100000];
    int folder = 0;
    size_t len;
    now += 2 * TICK_S;
    ck_assert_int_eq(sync_source_turn(&source, now, &folder), 0);
    ck_assert_int_eq(folder, 0);
    while ((len = sync_source_next(&source, message, sizeof message)) > 0) {
        if (is_lost(losses))
            continue;
        ck_assert_int_eq(
            sync_copy_take(&copy, SOURCE, "ipn:1.0", slice_of(message, len), now, &out), 0);
        if (out.answers_len > 0 && !is_lost(losses))
            ck_assert_int_eq(
                sync_source_take(&source, COPY, slice_of(out.answers, out.answers_len), now), 0);
    }
    sync_table_check(&source.table);
    sync_table_check(&copy.table);
}

static bool is_equal(void)
{
    return source.open_len == 0 && sync_source_equal(&source);
}

static unsigned settle(unsigned losses)
{
    unsigned n = 0;
    do
        turn(losses);
    while (!is_equal() && ++n < 500);
    ck_assert(is_equal());
    return n;
}

START_TEST(both_ends_with_losses_and_restarts)
{
    begin();
    open_source();
    options.files_max = 100;
    for (int i = 0; i < 20; i++) {
        char name[16], text[20];
        snprintf(name, sizeof name, "f%d", i);
        snprintf(text, sizeof text, "text %d", i);
        write_file("folder", name, text);
    }
    for (int i = 0; i < 4; i++) { /* either end begins again in the middle */
        turn(2);
        sync_source_fini(&source);
        open_source();
        sync_copy_fini(&copy);
        open_copy();
        options.files_max = 100;
    }
    settle(2);
    for (int i = 0; i < 20; i++) {
        char name[16], text[20];
        snprintf(name, sizeof name, "f%d", i);
        snprintf(text, sizeof text, "text %d", i);
        ck_assert(has_file("copy", name, text));
    }
    ck_assert_uint_eq(copy.counts.aside, 0);
    const uint64_t inlined = source.counts.inlined;
    char from[100];
    snprintf(from, sizeof from, "%s", path_of("folder", "f3"));
    ck_assert_int_eq(rename(from, path_of("folder", "g3")), 0);
    settle(3);
    ck_assert(has_file("copy", "g3", "text 3") && access(path_of("copy", "f3"), F_OK) != 0);
    ck_assert(source.counts.inlined == inlined && source.counts.known == 1);
    ck_assert_uint_eq(source.table.names.len, 20);
    sync_source_fini(&source);
    end();
}
END_TEST

static void rename_file(const char *from, const char *to)
{
    char old[4096];
    snprintf(old, sizeof old, "%s", path_of("folder", from));
    ck_assert_int_eq(rename(old, path_of("folder", to)), 0);
}

static void run_turns(int n)
{
    while (n-- > 0)
        turn(0);
}

START_TEST(a_refused_name_confirms_nothing)
{
    begin();
    open_source();
    write_file("folder", "f", "text f");
    write_file("folder", "k", "text k");
    settle(0);
    refusals = 0;
    rename_file("f", ".f"); /* not taken there */
    rename_file("k", "k2"); /* a folder is in the way */
    ck_assert_int_eq(mkdir(path_of("copy", "k2"), 0777), 0);
    run_turns(50);
    ck_assert(has_file("copy", "f", "text f") && has_file("copy", "k", "text k"));
    ck_assert_uint_eq(source.counts.gone, 0);
    ck_assert_uint_eq(source.open_len, 4);
    ck_assert_uint_eq(refusals, 4);        /* each is told once */
    ck_assert(sync_source_equal(&source)); /* --once ends */
    sync_source_fini(&source);
    open_source();
    run_turns(20);
    ck_assert(has_file("copy", "f", "text f") && has_file("copy", "k", "text k"));
    ck_assert_int_eq(rmdir(path_of("copy", "k2")), 0);
    write_file("folder", "h", "text f"); /* one of two that is confirmed is enough */
    run_turns(200);
    ck_assert(has_file("copy", "h", "text f") && access(path_of("copy", "f"), F_OK) != 0);
    ck_assert(has_file("copy", "k2", "text k") && access(path_of("copy", "k"), F_OK) != 0);
    ck_assert_uint_eq(source.open_len, 1);
    sync_source_fini(&source);
    end();
}
END_TEST

/* What the copy never took, it does not have to remove. */
START_TEST(a_refused_name_that_goes_is_confirmed)
{
    begin();
    open_source();
    write_file("folder", ".f", "text f");
    write_file("folder", "o", "text o");
    struct sync_change c = change_of(7, "o", "theirs");
    ck_assert_int_eq(give("ipn:3.2004", &c), SYNC_APPLIED);
    run_turns(20);
    ck_assert_uint_eq(source.open_len, 2); /* a hidden name, a name of another source */
    ck_assert_int_eq(unlink(path_of("folder", ".f")), 0);
    ck_assert_int_eq(unlink(path_of("folder", "o")), 0);
    settle(0);
    ck_assert(has_file("copy", "o", "theirs"));
    ck_assert_uint_eq(source.table.names.len, 0);
    sync_source_fini(&source);
    end();
}
END_TEST

/* A file gets the name of one that was refused: its old name stays at the copy. */
START_TEST(a_rename_overwrites_a_refused_name)
{
    begin();
    open_source();
    write_file("folder", ".f", "text old");
    write_file("folder", "f", "text f");
    write_file("folder", "k2", "text old");
    write_file("folder", "k", "text k");
    ck_assert_int_eq(mkdir(path_of("copy", "k2"), 0777), 0);
    run_turns(20);
    ck_assert_uint_eq(source.open_len, 2);
    rename_file("f", ".f");
    rename_file("k", "k2");
    run_turns(50);
    ck_assert(has_file("copy", "f", "text f") && has_file("copy", "k", "text k"));
    ck_assert_uint_eq(source.counts.gone, 0);
    sync_source_fini(&source);
    end();
}
END_TEST

/* Then what is gone has to go first: there is no place for both. */
START_TEST(a_content_moves_to_the_place_of_its_folder)
{
    begin();
    open_source();
    ck_assert_int_eq(mkdir(path_of("folder", "a"), 0777), 0);
    ck_assert_int_eq(mkdir(path_of("folder", "b"), 0777), 0);
    write_file("folder", "a/x", "text x");
    write_file("folder", "b/y", "text y");
    settle(0);
    rename_file("a/x", "x");
    rename_file("b/y", "y");
    ck_assert_int_eq(rmdir(path_of("folder", "a")), 0);
    ck_assert_int_eq(rmdir(path_of("folder", "b")), 0);
    rename_file("x", "b");
    rename_file("y", "a");
    settle(0);
    ck_assert(has_file("copy", "b", "text x") && has_file("copy", "a", "text y"));
    rename_file("a", "y");
    ck_assert_int_eq(mkdir(path_of("folder", "a"), 0777), 0);
    rename_file("y", "a/y");
    settle(0);
    ck_assert(has_file("copy", "b", "text x") && has_file("copy", "a/y", "text y"));
    sync_source_fini(&source);
    end();
}
END_TEST

/* A name that is gone has no place. It is remembered until five others are gone later. */
START_TEST(names_that_are_gone_have_their_own_limit)
{
    uint64_t version = 100;
    char name[20];
    begin();
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "t%d", i);
        ck_assert_int_eq(put(++version, name, name), SYNC_APPLIED);
        ck_assert_int_eq(put(++version, name, NULL), SYNC_APPLIED);
    }
    sync_copy_fini(&copy);
    open_copy(); /* the oldest is the oldest in its next run, too */
    ck_assert_uint_eq(copy.table.names.len, 5);
    ck_assert_int_eq(put(102, "t19", "late"), SYNC_APPLIED);
    ck_assert(access(path_of("copy", "t19"), F_OK) != 0);
    for (int i = 0; i < 5; i++) { /* all five places are free */
        snprintf(name, sizeof name, "u%d", i);
        ck_assert_int_eq(put(++version, name, name), SYNC_APPLIED);
    }
    ck_assert_int_eq(put(++version, "t19", "again"), SYNC_REFUSED); /* it would need a sixth */
    ck_assert_int_eq(answer.reason, SYNC_REASON_ROOM);
    ck_assert_int_eq(put(++version, "u0", NULL), SYNC_APPLIED);
    ck_assert_ptr_null(sync_table_find(&copy.table, "t15"));
    ck_assert_ptr_nonnull(sync_table_find(&copy.table, "t16"));
    ck_assert_int_eq(put(++version, "t19", "again"), SYNC_APPLIED);
    ck_assert_uint_eq(copy.table.names.len, 9);
    end();
}
END_TEST

START_TEST(a_file_that_is_renamed_often_has_a_place)
{
    char from[20] = "r0", to[20];
    begin();
    open_source();
    write_file("folder", "r0", "text");
    settle(0);
    for (int i = 1; i < 12; i++) {
        snprintf(to, sizeof to, "r%d", i);
        rename_file(from, to);
        settle(0);
        snprintf(from, sizeof from, "r%d", i);
    }
    ck_assert(has_file("copy", "r11", "text"));
    sync_source_fini(&source);
    end();
}
END_TEST

START_TEST(only_the_copy_answers)
{
    begin();
    open_source();
    write_file("folder", "a", "a");
    uint8_t message[SYNC_MESSAGE_MIN];
    int folder;
    now += TICK_S;
    ck_assert_int_eq(sync_source_turn(&source, now, &folder), 0);
    const size_t len = sync_source_next(&source, message, sizeof message);
    ck_assert_uint_gt(len, 0);
    ck_assert_int_eq(sync_copy_take(&copy, SOURCE, "", slice_of(message, len), now, &out), 0);
    const struct slice answers = slice_of(out.answers, out.answers_len);
    ck_assert_int_eq(sync_source_take(&source, "ipn:9.1", answers, now), 0);
    ck_assert(source.counts.others == 1 && source.counts.wanted == 0);
    ck_assert_int_eq(sync_source_take(&source, COPY, answers, now), 0);
    ck_assert_uint_eq(source.counts.wanted, 1);
    sync_source_fini(&source);
    end();
}
END_TEST

SUITE(tools_sync, t)
{
    tcase_add_test(t, the_highest_version_counts);
    tcase_add_test(t, a_known_content_is_not_asked_for);
    tcase_add_test(t, what_may_not_be);
    tcase_add_test(t, links_and_folders_in_the_way);
    tcase_add_test(t, both_ends_with_losses_and_restarts);
    tcase_add_test(t, a_refused_name_confirms_nothing);
    tcase_add_test(t, a_refused_name_that_goes_is_confirmed);
    tcase_add_test(t, a_rename_overwrites_a_refused_name);
    tcase_add_test(t, a_content_moves_to_the_place_of_its_folder);
    tcase_add_test(t, names_that_are_gone_have_their_own_limit);
    tcase_add_test(t, a_file_that_is_renamed_often_has_a_place);
    tcase_add_test(t, only_the_copy_answers);
}
