/* SPDX-License-Identifier: Apache-2.0 */
/* What each source has: sums by name, which come and go; and what a shelf makes of them. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "tests/unit/suite.h"
#include "tools/files/files_id.h"
#include "tools/files/files_journal.h"
#include "tools/files/files_shelf.h"
#include "tools/files/files_sources.h"

START_TEST(sums_come_and_go)
{
    struct files_sources s;
    ck_assert_int_eq(files_sources_init(&s, 7), 0);
    ck_assert_ptr_null(files_sources_find(&s, "ipn:1"));
    ck_assert(files_sources_may_begin(&s, "ipn:1", 0)); /* the first one */
    ck_assert_int_eq(files_sources_add(&s, "ipn:1", 10), 0);
    ck_assert_int_eq(files_sources_add(&s, "ipn:1", 0), 0);
    ck_assert_int_eq(files_sources_add(&s, "ipn:11", 5), 0);
    ck_assert_uint_eq(files_sources_find(&s, "ipn:1")->items, 2);
    ck_assert_uint_eq(files_sources_find(&s, "ipn:1")->space, 10);
    ck_assert_uint_eq(files_sources_find(&s, "ipn:11")->items, 1);
    ck_assert(!files_sources_may_begin(&s, "ipn:1", 2));
    ck_assert(files_sources_may_begin(&s, "ipn:1", 3));
    ck_assert(files_sources_may_grow(&s, "ipn:1", 90, 100));
    ck_assert(!files_sources_may_grow(&s, "ipn:1", 91, 100));
    ck_assert(!files_sources_may_grow(&s, "ipn:1", UINT64_MAX, 100));
    ck_assert(files_sources_may_grow(&s, "ipn:11", UINT64_MAX / 2, 100)); /* its only one */
    files_sources_grow(&s, "ipn:1", 7);
    ck_assert_uint_eq(files_sources_find(&s, "ipn:1")->space, 17);
    files_sources_sub(&s, "ipn:1", 7);
    ck_assert_int_eq(files_sources_add(&s, "ipn:1", 0), 0);
    files_sources_sub(&s, "ipn:1", 10);
    files_sources_sub(&s, "ipn:1", 0);
    ck_assert_ptr_null(files_sources_find(&s, "ipn:1"));
    files_sources_sub(&s, "ipn:11", 5);
    files_sources_fini(&s);
}
END_TEST

START_TEST(many_sources)
{
    struct files_sources s;
    char name[32];
    ck_assert_int_eq(files_sources_init(&s, 3), 0);
    for (int round = 0; round < 2; round++)
        for (unsigned i = 0; i < 1000; i++) {
            snprintf(name, sizeof name, "ipn:%u", i);
            if (round == 0)
                ck_assert_int_eq(files_sources_add(&s, name, i), 0);
            else
                files_sources_sub(&s, name, i);
        }
    files_sources_fini(&s);
}
END_TEST

#define IDLE (60 * TICK_S)
#define FORGET (3600 * TICK_S)

static const struct files_limits limits = {1 << 20, 8, 4096, FORGET, false, 50, 75, IDLE, 0};

struct folder {
    char path[32];
    struct files_shelf shelf;
};

static void begin_folder(struct folder *f)
{
    snprintf(f->path, sizeof f->path, "/tmp/files-share-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(f->path));
    ck_assert_int_eq(files_shelf_open(&f->shelf, f->path, &limits, 1), 0);
}

static void end_folder(struct folder *f)
{
    char clean[64];
    files_shelf_check(&f->shelf);
    files_shelf_close(&f->shelf);
    snprintf(clean, sizeof clean, "rm -r %s", f->path);
    ck_assert_int_eq(system(clean), 0);
}

/* Begins a file of that size; what files_shelf_begin says. *out may be NULL. */
static int begin_file(struct folder *f, const char *source, const char *neighbour, uint64_t size,
                      tick now, struct files_item **out)
{
    static uint8_t last;
    struct files_item *it;
    struct files_head h = {.kind = FILES_PIECE, .size = size, .name = slice_of("x", 1)};
    const struct files_from from = {source, neighbour};
    h.sha[0] = ++last;
    ck_assert(files_id_make(&h, h.id));
    int rc = files_shelf_begin(&f->shelf, &h, &from, now, out == NULL ? &it : out);
    files_shelf_check(&f->shelf);
    return rc;
}

static int write_file(struct folder *f, struct files_item *it, uint64_t offset, size_t len,
                      tick now)
{
    static const uint8_t zeros[4096];
    int rc = files_shelf_write(&f->shelf, it, offset, slice_of(zeros, len), now);
    files_shelf_check(&f->shelf);
    return rc;
}

/* Room is what has come: announcing takes none. */
START_TEST(announcing_takes_no_room)
{
    struct folder f;
    struct files_item *it;
    begin_folder(&f);
    for (int i = 0; i < 3; i++) {
        char source[16];
        snprintf(source, sizeof source, "ipn:%d", 100 + i);
        ck_assert_int_eq(begin_file(&f, source, "ipn:7", 4096, 0, &it), 0);
        ck_assert_int_eq(write_file(&f, it, 0, 1, 0), FILES_WRITTEN);
    }
    ck_assert_uint_eq(f.shelf.space, 3);
    ck_assert_int_eq(begin_file(&f, "ipn:1", "ipn:3", 4000, 0, &it), 0);
    ck_assert_int_eq(write_file(&f, it, 0, 4000, 0), FILES_WRITTEN);
    ck_assert_int_eq(write_file(&f, it, 0, 4000, 0), FILES_REPEATED);
    ck_assert_int_eq(begin_file(&f, "ipn:9", "ipn:3", 4097, 0, NULL), HELIO_EAGAIN);
    end_folder(&f);
}
END_TEST

/* One who begins many leaves room for others: places and bytes. */
START_TEST(a_source_has_its_share)
{
    struct folder f;
    struct files_item *first, *second;
    begin_folder(&f);
    ck_assert_int_eq(begin_file(&f, "ipn:1", "ipn:7", 4096, 0, &first), 0);
    ck_assert_int_eq(begin_file(&f, "ipn:1", "ipn:7", 4096, 0, &second), 0);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(begin_file(&f, "ipn:1", "ipn:7", 2, 0, NULL), 0);
    ck_assert_int_eq(begin_file(&f, "ipn:1", "ipn:7", 2, 0, NULL), HELIO_EEXIST); /* half of 8 */
    ck_assert_int_eq(write_file(&f, first, 0, 2000, 0), FILES_WRITTEN);
    ck_assert_int_eq(write_file(&f, second, 0, 49, 0), FILES_NO_SHARE); /* half of 4096 */
    ck_assert_int_eq(write_file(&f, second, 0, 48, 0), FILES_WRITTEN);
    end_folder(&f);
}
END_TEST

/* Sources are forged by the dozen: they share what their neighbour may have. */
START_TEST(a_neighbour_has_its_share)
{
    struct folder f;
    begin_folder(&f);
    for (int i = 0; i < 6; i++) {
        char source[16];
        snprintf(source, sizeof source, "ipn:%d", 100 + i);
        ck_assert_int_eq(begin_file(&f, source, "ipn:7", 4096, 0, NULL), 0);
    }
    ck_assert_int_eq(begin_file(&f, "ipn:110", "ipn:7", 4096, 0, NULL), HELIO_EEXIST);
    ck_assert_int_eq(begin_file(&f, "ipn:1", "ipn:3", 4096, 0, NULL), 0); /* by another one */
    /* A minute later they have not grown: an honest one behind the same neighbour has a place. */
    ck_assert_int_eq(begin_file(&f, "ipn:1", "ipn:7", 4096, IDLE, NULL), 0);
    ck_assert_uint_eq(f.shelf.displaced, 1);
    end_folder(&f);
}
END_TEST

/* The one with the fewest bytes of those that have hardly grown goes first; a file that has grown
 * stays until it is forgotten. */
START_TEST(the_least_gives_way)
{
    struct folder f;
    struct files_item *grown, *more, *less, *it;
    begin_folder(&f);
    ck_assert_int_eq(begin_file(&f, "ipn:1", "ipn:7", 100, 0, &grown), 0);
    ck_assert_int_eq(write_file(&f, grown, 0, 1, 0), FILES_WRITTEN);
    ck_assert_int_eq(write_file(&f, grown, 5, 1, 0), FILES_WRITTEN);
    ck_assert_int_eq(begin_file(&f, "ipn:2", "ipn:8", 100, 0, &more), 0);
    ck_assert_int_eq(write_file(&f, more, 0, 60, 0), FILES_WRITTEN);
    ck_assert_int_eq(begin_file(&f, "ipn:3", "ipn:9", 100, 0, &less), 0);
    ck_assert_int_eq(write_file(&f, less, 0, 50, 0), FILES_WRITTEN);
    for (int i = 0; i < 5; i++) {
        char source[16];
        snprintf(source, sizeof source, "ipn:%d", 100 + i);
        ck_assert_int_eq(begin_file(&f, source, source, 100, IDLE, NULL), 0);
    }
    ck_assert_int_eq(begin_file(&f, "ipn:5", "ipn:5", 100, IDLE - 1, &it), HELIO_EAGAIN);
    ck_assert_int_eq(begin_file(&f, "ipn:5", "ipn:5", 100, IDLE, &it), 0);
    ck_assert_ptr_null(files_sources_find(&f.shelf.sources, "ipn:3"));
    ck_assert_int_eq(begin_file(&f, "ipn:6", "ipn:6", 100, IDLE, &it), 0);
    ck_assert_ptr_null(files_sources_find(&f.shelf.sources, "ipn:2"));
    ck_assert_int_eq(begin_file(&f, "ipn:7", "ipn:7", 100, IDLE, &it), HELIO_EAGAIN);
    ck_assert_int_eq(begin_file(&f, "ipn:7", "ipn:7", 100, FORGET - 1, &it), 0); /* one of five */
    ck_assert_ptr_nonnull(files_sources_find(&f.shelf.sources, "ipn:1"));
    f.shelf.limits.idle = 2 * FORGET;
    ck_assert_int_eq(begin_file(&f, "ipn:8", "ipn:8", 100, FORGET, &it), 0);
    ck_assert_ptr_null(files_sources_find(&f.shelf.sources, "ipn:1"));
    end_folder(&f);
}
END_TEST

/* A source above its share replaces its own files: the silent files of others stay. */
START_TEST(others_do_not_pay_for_a_share)
{
    struct folder f;
    begin_folder(&f);
    ck_assert_int_eq(begin_file(&f, "ipn:2", "ipn:7", 2, 0, NULL), 0); /* the oldest of all */
    for (uint64_t i = 0; i < 4; i++)
        ck_assert_int_eq(begin_file(&f, "ipn:1", "ipn:7", 2, (i < 1 ? 1 : 30) * TICK_S, NULL), 0);
    ck_assert_int_eq(begin_file(&f, "ipn:1", "ipn:7", 2, 61 * TICK_S, NULL), 0); /* its oldest */
    ck_assert_uint_eq(files_sources_find(&f.shelf.sources, "ipn:1")->items, 4);
    ck_assert_uint_eq(files_sources_find(&f.shelf.sources, "ipn:2")->items, 1);
    ck_assert_int_eq(begin_file(&f, "ipn:1", "ipn:7", 2, 62 * TICK_S, NULL), HELIO_EEXIST);
    end_folder(&f);
}
END_TEST

/* A journal of an earlier version, which has no neighbour. */
START_TEST(older_journals_are_read)
{
    struct folder f;
    uint8_t bytes[8 + FILES_HEAD + 1 + 5] = {'H', 'F', 'R', 'J', 0, 0, 0, FILES_HEAD + 1 + 5};
    struct files_head h = {.kind = FILES_ASK, .size = 100, .name = slice_of("x", 1)};
    char path[128], hex[FILES_HEX];
    ck_assert(files_id_make(&h, h.id));
    const size_t head = files_write(&h, slice_of("ipn:1", 5), bytes + 8);
    ck_assert_uint_eq(head, FILES_HEAD + 1);
    memcpy(bytes + 8 + head, "ipn:1", 5);
    begin_folder(&f);
    files_journal_hex(h.id, hex);
    snprintf(path, sizeof path, "%s/" FILES_FOLDER "/%s.log", f.path, hex);
    FILE *out = fopen(path, "wb");
    ck_assert_ptr_nonnull(out);
    ck_assert_uint_eq(fwrite(bytes, 1, sizeof bytes, out), sizeof bytes);
    fclose(out);
    snprintf(path, sizeof path, "%s/" FILES_FOLDER "/%s", f.path, hex);
    out = fopen(path, "wb");
    ck_assert_ptr_nonnull(out);
    fclose(out);
    files_shelf_close(&f.shelf);
    ck_assert_int_eq(files_shelf_open(&f.shelf, f.path, &limits, 1), 0);
    const struct files_item *it = files_shelf_find(&f.shelf, h.id, "ipn:1");
    ck_assert_ptr_nonnull(it);
    ck_assert_str_eq(it->source, "ipn:1");
    ck_assert_str_eq(it->neighbour, "");
    ck_assert_uint_eq(f.shelf.unreadable, 0);
    end_folder(&f);
}
END_TEST

/* What came is counted for its source and neighbour after a restart, too. */
START_TEST(shares_outlive_a_restart)
{
    struct folder f;
    struct files_item *it;
    begin_folder(&f);
    ck_assert_int_eq(begin_file(&f, "ipn:1", "ipn:7", 100, 0, &it), 0);
    ck_assert_int_eq(write_file(&f, it, 0, 30, 0), FILES_WRITTEN);
    ck_assert_int_eq(write_file(&f, it, 50, 30, 0), FILES_WRITTEN);
    files_shelf_close(&f.shelf);
    ck_assert_int_eq(files_shelf_open(&f.shelf, f.path, &limits, 1), 0);
    files_shelf_check(&f.shelf);
    ck_assert_uint_eq(f.shelf.space, 60);
    ck_assert_uint_eq(files_sources_find(&f.shelf.sources, "ipn:1")->space, 60);
    ck_assert_uint_eq(files_sources_find(&f.shelf.neighbours, "ipn:7")->space, 60);
    it = container_of(list_first(&f.shelf.order), struct files_item, order);
    ck_assert(it->grown && it->held == 60);
    end_folder(&f);
}
END_TEST

SUITE(tools_files_sources, t)
{
    tcase_add_test(t, sums_come_and_go);
    tcase_add_test(t, many_sources);
    tcase_add_test(t, announcing_takes_no_room);
    tcase_add_test(t, a_source_has_its_share);
    tcase_add_test(t, a_neighbour_has_its_share);
    tcase_add_test(t, the_least_gives_way);
    tcase_add_test(t, shares_outlive_a_restart);
    tcase_add_test(t, older_journals_are_read);
    tcase_add_test(t, others_do_not_pay_for_a_share);
}
