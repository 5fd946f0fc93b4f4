/* SPDX-License-Identifier: Apache-2.0 */
/* A helio-sync receive that has to read long files: in turns, each of them once, and each source
 * within its share. */
#include <dirent.h>
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
#include "tools/sync/sync_place.h"

#define ONE "ipn:1.2004"
#define OTHER "ipn:3.2004"
#define LONG (UINT64_C(20) << 20) /* of three turns */

static char top[100];
static struct sync_copy copy;
static struct sync_copy_options options;
static struct sync_outcome out;
static uint8_t message[SYNC_HEAD + SYNC_ENTRIES_MAX * (SYNC_CHANGE + 100)];
static struct writer writer;
static uint32_t count, number;

static void on_told(void *context, enum sync_told what, const char *name, uint64_t bytes,
                    const char *from)
{
    (void)context;
    (void)what;
    (void)name;
    (void)bytes;
    (void)from;
}

static const char *path_of(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", top, name);
    return path;
}

static void open_copy(void)
{
    ck_assert_int_eq(sync_copy_init(&copy, top, &options, 7, on_told, NULL), 0);
}

static void begin(void)
{
    const char *why;
    snprintf(top, sizeof top, "/tmp/helio-sync-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    options = (struct sync_copy_options){.limits = {.file_max = 100 * LONG,
                                                    .items_max = 10,
                                                    .space_max = 10000,
                                                    .forget = TICK_S,
                                                    .share = 50,
                                                    .idle = TICK_S},
                                         .from_len = 1,
                                         .files_max = 1000,
                                         .total_max = 100 * LONG,
                                         .remove = true};
    ck_assert_int_eq(eid_patterns_read("ipn:[1,3].*", &options.from[0], &why), 0);
    open_copy();
}

static void end(void)
{
    char words[120];
    sync_table_check(&copy.table);
    sync_copy_fini(&copy);
    snprintf(words, sizeof words, "rm -r %s", top);
    ck_assert_int_eq(system(words), 0);
}

/* ---- messages ---- */

static void begin_message(void)
{
    writer = writer_of(message, sizeof message);
    writer.p += SYNC_HEAD;
    count = 0;
}

static void add_file(uint64_t version, const char *name, uint64_t size, const uint8_t *sha)
{
    struct sync_change c = {.version = version,
                            .type = SYNC_FILE,
                            .size = size,
                            .mtime = TICK_S,
                            .name = slice_of(name, strlen(name))};
    memcpy(c.sha, sha, FILES_SHA);
    ck_assert(sync_write_change(&writer, &c));
    count++;
}

/* Answers; 0: none now. */
static uint32_t give(const char *from)
{
    const struct sync_head head = {SYNC_CHANGES, ++number, count};
    struct sync_head h;
    struct reader r;
    sync_write_end(message, writer_len(&writer), &head);
    ck_assert_int_eq(
        sync_copy_take(&copy, from, "", slice_of(message, writer_len(&writer)), TICK_S, &out), 0);
    sync_table_check(&copy.table);
    if (out.answers_len == 0)
        return 0;
    ck_assert_int_eq(sync_parse(slice_of(out.answers, out.answers_len), &h, &r), SYNC_OK);
    return h.count;
}

static struct sync_answer first_answer(void)
{
    struct sync_head h;
    struct sync_answer a;
    struct reader r;
    ck_assert_int_eq(sync_parse(slice_of(out.answers, out.answers_len), &h, &r), SYNC_OK);
    ck_assert(sync_parse_answer(&r, &a));
    return a;
}

/* Turns until one has answers for `peer`, or all is done. */
static unsigned turn_to(const char *peer)
{
    char who[AAP2_EID_MAX] = "";
    unsigned n = 0;
    do {
        ck_assert_int_eq(sync_copy_turn(&copy, who, &out), 0);
        sync_table_check(&copy.table);
        n++;
    } while (sync_copy_busy(&copy) && (out.answers_len == 0 || strcmp(who, peer) != 0));
    return n;
}

static void make_file(const char *name, uint64_t size, uint8_t sha[FILES_SHA])
{
    int fd = open(path_of(name), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    ck_assert(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
    ck_assert_int_eq(files_digest_file(fd, size, sha), 0);
    close(fd);
}

static unsigned count_new(void)
{
    unsigned n = 0;
    DIR *d = opendir(path_of(".helio-sync/receive"));
    ck_assert_ptr_nonnull(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        n += strncmp(e->d_name, SYNC_NEW, strlen(SYNC_NEW)) == 0;
    closedir(d);
    return n;
}

/* ---- what is tested ---- */

START_TEST(a_file_is_read_once)
{
    uint8_t sha[FILES_SHA], wrong[FILES_SHA] = {0};
    begin();
    make_file("long", LONG, sha);
    for (unsigned round = 0; round < 2; round++) {
        begin_message();
        for (uint32_t i = 0; i < SYNC_ENTRIES_MAX; i++) {
            wrong[0] = (uint8_t)i;
            add_file(1 + round * SYNC_ENTRIES_MAX + i, "long", LONG, wrong);
        }
        const uint32_t answers = give(ONE);
        if (round == 0) { /* no call reads more than its part */
            ck_assert(answers == 0 && sync_copy_busy(&copy));
            ck_assert_uint_le(turn_to(ONE), LONG / SYNC_TURN_BYTES + 1);
            ck_assert_int_eq(first_answer().state, SYNC_WANTED);
            ck_assert_uint_eq(first_answer().version, SYNC_ENTRIES_MAX);
        } else
            ck_assert_uint_eq(answers, SYNC_ENTRIES_MAX); /* its SHA-256 is known */
        ck_assert(!sync_copy_busy(&copy));
    }
    begin_message();
    add_file(2000, "long", LONG, sha);
    ck_assert_uint_eq(give(ONE), 1);
    ck_assert(first_answer().state == SYNC_APPLIED && copy.counts.placed == 0);
    end();
}
END_TEST

START_TEST(sources_take_turns)
{
    uint8_t sha[FILES_SHA], text[FILES_SHA];
    char name[16];
    struct stat st;
    begin();
    make_file("long", LONG, sha);
    make_file("text", 10, text);
    begin_message();
    add_file(1, "long", LONG, sha);
    (void)give(ONE);
    (void)turn_to(ONE);
    ck_assert_int_eq(first_answer().state, SYNC_APPLIED);
    begin_message();
    for (uint32_t i = 0; i < 100; i++) { /* copies: 2000 MiB, and half of that is its share */
        snprintf(name, sizeof name, "c%u", i);
        add_file(2 + i, name, LONG, sha);
    }
    ck_assert(give(ONE) == 0 && count_new() <= 1);
    begin_message();
    add_file(1, "text", 10, text);
    if (give(OTHER) == 0)
        ck_assert_uint_le(turn_to(OTHER), 2); /* it does not wait for the other's files */
    ck_assert_int_eq(first_answer().state, SYNC_APPLIED);
    (void)turn_to(ONE);
    ck_assert(stat(path_of("c0"), &st) == 0 && (uint64_t)st.st_size == LONG);
    ck_assert_uint_le(copy.counts.copied, 2);
    sync_copy_fini(&copy); /* in the middle: nothing is left over, and the same message goes on */
    ck_assert_uint_eq(count_new(), 0);
    options.total_max = 8 * LONG;
    open_copy();
    begin_message();
    for (uint32_t i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "c%u", i);
        add_file(2 + i, name, LONG, sha);
    }
    (void)give(ONE);
    while (sync_copy_busy(&copy))
        (void)turn_to("");
    ck_assert_uint_eq(copy.table.bytes, 4 * LONG + 10); /* the rest is refused */
    ck_assert_uint_ge(copy.counts.refused[SYNC_REASON_ROOM], 6);
    ck_assert_uint_eq(count_new(), 0);
    end();
}
END_TEST

START_TEST(a_newer_version_ends_the_work)
{
    uint8_t sha[FILES_SHA];
    begin();
    make_file("long", LONG, sha);
    begin_message();
    add_file(1, "long", LONG, sha);
    (void)give(ONE);
    (void)turn_to(ONE);
    begin_message();
    add_file(2, "b", LONG, sha);
    ck_assert_uint_eq(give(ONE), 0);
    ck_assert_uint_eq(count_new(), 1);
    begin_message();
    const struct sync_change c = {.version = 3, .type = SYNC_GONE, .name = slice_of("b", 1)};
    ck_assert(sync_write_change(&writer, &c));
    count = 1;
    ck_assert(give(ONE) == 1 && first_answer().state == SYNC_APPLIED);
    ck_assert(!sync_copy_busy(&copy) && count_new() == 0);
    ck_assert(access(path_of("b"), F_OK) != 0);
    end();
}
END_TEST

START_TEST(names_have_shares_and_versions_owners)
{
    static const uint8_t sha[FILES_SHA];
    struct sync_change c = {.version = UINT64_MAX, .type = SYNC_GONE};
    char name[16];
    begin();
    options.files_max = 10;
    begin_message();
    for (uint32_t i = 0; i < 10; i++) { /* of names that never were */
        snprintf(name, sizeof name, "n%u", i);
        c.name = slice_of(name, strlen(name));
        ck_assert(sync_write_change(&writer, &c));
        count++;
    }
    (void)give(ONE);
    ck_assert_uint_eq(copy.table.names.len, 5);
    ck_assert_uint_eq(copy.counts.refused[SYNC_REASON_ROOM], 0);
    begin_message();
    c.version = 1;
    c.name = slice_of("gone", 4);
    ck_assert(sync_write_change(&writer, &c));
    count = 1;
    add_file(2, "mine", 5, sha);
    ck_assert_uint_eq(give(OTHER), 2);
    ck_assert_uint_eq(copy.table.names.len, 7);
    sync_copy_fini(&copy);
    open_copy(); /* the first one's highest version makes nobody else's name old */
    ck_assert_ptr_nonnull(sync_table_find(&copy.table, "gone"));
    end();
}
END_TEST

/* A content as one piece; does it settle its version? */
static bool push(const char *from, uint64_t version, const char *text)
{
    uint8_t bytes[FILES_HEAD + 200];
    char name[SYNC_CONTENT_NAME];
    struct files_digest *d = files_digest_new();
    struct files_head h = {.kind = FILES_PIECE, .size = strlen(text)};
    const struct slice body = slice_of(text, strlen(text));
    ck_assert_ptr_nonnull(d);
    files_digest_add(d, body);
    ck_assert(files_digest_end(d, h.sha));
    sync_content_name(version, name);
    h.name = slice_of(name, strlen(name));
    ck_assert(files_id_make(&h, h.id));
    const size_t len = files_write(&h, body, bytes);
    memcpy(bytes + len, text, body.len);
    ck_assert_int_eq(sync_copy_take(&copy, from, "", slice_of(bytes, len + body.len), TICK_S, &out),
                     0);
    return out.answers_len > 0 && first_answer().state == SYNC_APPLIED;
}

static void announce(const char *from, uint64_t version, const char *name, const char *text)
{
    uint8_t sha[FILES_SHA];
    struct files_digest *d = files_digest_new();
    ck_assert_ptr_nonnull(d);
    files_digest_add(d, slice_of(text, strlen(text)));
    ck_assert(files_digest_end(d, sha));
    begin_message();
    add_file(version, name, strlen(text), sha);
    ck_assert_uint_eq(give(from), 1);
}

START_TEST(contents_are_their_sources)
{
    begin();
    ck_assert(!push(OTHER, 7, "theirs") &&
              !push(OTHER, 8, "theirs too")); /* the versions are ONE's */
    announce(ONE, 7, "a", "mine");
    ck_assert_int_eq(first_answer().state, SYNC_WANTED);
    ck_assert(push(ONE, 7, "mine"));
    ck_assert(!push(ONE, 8, "before it")); /* its announcement comes later */
    announce(ONE, 8, "b", "before it");
    ck_assert_int_eq(first_answer().state, SYNC_APPLIED);
    announce(OTHER, 8, "c", "theirs too");
    ck_assert_int_eq(first_answer().state, SYNC_APPLIED);
    for (unsigned i = 0; i < 2 * SYNC_UNCLAIMED_MAX; i++)
        ck_assert(!push(OTHER, 100 + i, "many"));
    ck_assert_uint_eq(sync_folder_count(copy.content, ""), SYNC_UNCLAIMED_MAX / 2);
    ck_assert(!push(ONE, 9, "the last"));
    announce(ONE, 9, "d", "the last");
    ck_assert_int_eq(first_answer().state, SYNC_APPLIED);
    end();
}
END_TEST

SUITE(tools_sync_work, t)
{
    tcase_add_test(t, contents_are_their_sources);
    tcase_add_test(t, a_file_is_read_once);
    tcase_add_test(t, sources_take_turns);
    tcase_add_test(t, a_newer_version_ends_the_work);
    tcase_add_test(t, names_have_shares_and_versions_owners);
}
