/* SPDX-License-Identifier: Apache-2.0 */
/* The filestore of helio-cfdp: no name leaves its folder; files, requests, lists, journals. */
#include "tools/cfdp/cfdp_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "tests/unit/suite.h"
#include "tools/cfdp/cfdp_settings.h"

static char folder[] = "/tmp/helio-cfdp-XXXXXX";
static struct cfdp_store store;
static const struct cfdp_files *const f = &store_files;
static uint64_t file_max = UINT64_C(1) << 40; /* of filestore requests */
static size_t acts;                           /* calls of the last one */
static size_t synced;                         /* calls of fsync */

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    (void)fd;
    synced++;
    return 0;
}

static void open_store(void)
{
    memcpy(folder, "/tmp/helio-cfdp-XXXXXX", sizeof folder);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(store_open(&store, folder, false, false), 0);
}

static void close_store(void)
{
    char command[64];
    store_close(&store);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static void write_text(const char *name, const char *text)
{
    const int fd = openat(store.root, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void assert_text(const char *name, const char *text)
{
    char got[256] = "";
    const int fd = openat(store.root, name, O_RDONLY);
    ck_assert_msg(fd >= 0, "%s", name);
    ck_assert_int_ge(read(fd, got, sizeof got - 1), 0);
    close(fd);
    ck_assert_str_eq(got, text);
}

static bool is_there(const char *name)
{
    return faccessat(store.root, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static const struct cfdp_id id = {1, 2};

/* A file arrives under this name. */
static int receive_file(const char *name, const char *text)
{
    void *file;
    ck_assert_int_eq(f->open_partial(&store, id, &file), 0);
    ck_assert_int_eq(f->write(&store, file, 0, slice_of(text, strlen(text))), 0);
    const int rc = f->place(&store, id, file, name, strlen(text));
    if (rc == 0) /* again, as after a restart */
        ck_assert_int_eq(f->place(&store, id, file, name, strlen(text)), 0);
    f->close(&store, id, file, true);
    ck_assert(!is_there(".helio-cfdp/1-2.part"));
    return rc;
}

static int send_file(const char *name, uint64_t *size)
{
    void *file;
    const int rc = f->open_source(&store, id, name, false, size, &file);
    if (rc == 0)
        f->close(&store, id, file, true);
    return rc;
}

/* All calls of a filestore request. */
static unsigned act(unsigned action, const char *first, const char *second)
{
    struct cfdp_act a = {.action = action, .first = first, .second = second, .file_max = file_max};
    unsigned status;
    acts = 0;
    do {
        status = f->act(&store, id, &a);
        acts++;
        ck_assert(status != CFDP_ACT_MORE || a.state != 0);
    } while (status == CFDP_ACT_MORE);
    return status;
}

static const char *const bad_names[] = {"..",
                                        "../x",
                                        "a/../../x",
                                        "a/..",
                                        "",
                                        "/",
                                        ".",
                                        ".helio-cfdp/sequence",
                                        "/.helio-cfdp/lock",
                                        "a//b",
                                        ".hidden",
                                        "a/.hidden",
                                        "link/x",
                                        "link",
                                        "a\nb",
                                        "\xff"};

START_TEST(names_stay_below_the_root)
{
    uint64_t size;
    open_store();
    ck_assert_int_eq(symlinkat("/etc", store.root, "link"), 0);
    ck_assert_int_eq(symlinkat("/etc/passwd", store.root, "file"), 0);
    for (size_t i = 0; i < sizeof bad_names / sizeof *bad_names; i++) {
        ck_assert_msg(receive_file(bad_names[i], "x") != 0, "%s", bad_names[i]);
        ck_assert_msg(send_file(bad_names[i], &size) != 0, "%s", bad_names[i]);
        for (unsigned action = 0; action < CFDP_ACTIONS_COUNT; action++)
            if (action != CFDP_DELETE_FILE && action < CFDP_DENY_FILE)
                ck_assert_msg(act(action, bad_names[i], "y") != 0, "%u %s", action, bad_names[i]);
    }
    ck_assert_int_ne(send_file("file", &size), 0);
    ck_assert_int_eq(receive_file("file", "x"), HELIO_EEXIST);
    ck_assert(is_there("file") && is_there("link") && !is_there("y"));
    ck_assert_int_eq(access("/etc/x", F_OK), -1);
    ck_assert_int_eq(receive_file("/top/sub/a", "hello"), 0); /* the root is the folder */
    assert_text("top/sub/a", "hello");
    close_store();
}
END_TEST

START_TEST(files)
{
    uint64_t size = 0;
    void *file;
    uint8_t got[16];
    open_store();
    ck_assert_int_eq(receive_file("a", "hello"), 0);
    ck_assert_int_eq(receive_file("a", "other"), HELIO_EEXIST);
    assert_text("a", "hello");
    store.overwrite = store.sync = true;
    ck_assert_int_eq(receive_file("a", "other"), 0);
    assert_text("a", "other");
    ck_assert_int_eq(mkdirat(store.root, "d", 0700), 0);
    ck_assert_int_eq(receive_file("d", "x"), HELIO_EEXIST);
    ck_assert_int_ne(receive_file("a/b", "x"), 0);
    ck_assert_int_eq(send_file("a", &size), 0);
    ck_assert_uint_eq(size, 5);
    ck_assert_int_ne(send_file("d", &size), 0);
    ck_assert_int_eq(helio_code(send_file("gone", &size)), HELIO_ENOENT);
    ck_assert_int_eq(f->open_source(&store, id, "a", false, &size, &file), 0);
    ck_assert_int_eq(f->read(&store, file, 3, got, sizeof got), 2);
    ck_assert_mem_eq(got, "er", 2);
    f->close(&store, id, file, true);
    assert_text("a", "other");
    close_store();
}
END_TEST

START_TEST(requests)
{
    open_store();
    ck_assert_uint_eq(act(CFDP_CREATE_FOLDER, "d", ""), 0);
    ck_assert_uint_eq(act(CFDP_CREATE_FOLDER, "d", ""), 1);
    ck_assert_uint_eq(act(CFDP_CREATE_FILE, "d/a", ""), 0);
    ck_assert_uint_eq(act(CFDP_CREATE_FILE, "d/a", ""), 1);
    ck_assert_uint_eq(act(CFDP_RENAME_FILE, "gone", "x"), 1);
    write_text("x", "x");
    ck_assert_uint_eq(act(CFDP_RENAME_FILE, "d/a", "x"), 2);
    ck_assert_uint_eq(act(CFDP_RENAME_FILE, "d", "y"), 3);
    ck_assert_uint_eq(act(CFDP_RENAME_FILE, "x", "d/x"), 0);
    write_text("y", "yy");
    ck_assert_uint_eq(act(CFDP_APPEND_FILE, "gone", "y"), 1);
    ck_assert_uint_eq(act(CFDP_APPEND_FILE, "d/x", "gone"), 2);
    ck_assert_uint_eq(act(CFDP_APPEND_FILE, "d/x", "d"), 3);
    ck_assert_uint_eq(act(CFDP_APPEND_FILE, "y", "y"), 3);
    ck_assert_uint_eq(act(CFDP_APPEND_FILE, "d/x", "y"), 0);
    assert_text("d/x", "xyy");
    ck_assert_uint_eq(act(CFDP_REPLACE_FILE, "d/x", "y"), 0);
    assert_text("d/x", "yy");
    assert_text("y", "yy");
    ck_assert_uint_eq(act(CFDP_REMOVE_FOLDER, "d", ""), 2); /* not empty */
    ck_assert_uint_eq(act(CFDP_REMOVE_FOLDER, "gone", ""), 1);
    ck_assert_uint_eq(act(CFDP_DELETE_FILE, "gone", ""), 1);
    ck_assert_uint_eq(act(CFDP_DELETE_FILE, "d", ""), 2);
    ck_assert_uint_eq(act(CFDP_DELETE_FILE, "d/x", ""), 0);
    ck_assert_uint_eq(act(CFDP_DENY_FILE, "d/x", ""), 0);
    ck_assert_uint_eq(act(CFDP_DENY_FILE, "d/a", ""), 0);
    ck_assert_uint_eq(act(CFDP_DENY_FOLDER, "d", ""), 0);
    ck_assert_uint_eq(act(CFDP_DENY_FOLDER, "d", ""), 0);
    ck_assert_uint_eq(act(9, "d", ""), CFDP_NOT_PERFORMED);
    ck_assert(!is_there("d"));
    close_store();
}
END_TEST

static void write_long(const char *name, size_t len, uint8_t first)
{
    uint8_t *octets = malloc(len);
    for (size_t i = 0; i < len; i++)
        octets[i] = (uint8_t)(first + i / 4096);
    const int fd = openat(store.root, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_eq(write(fd, octets, len), (ssize_t)len);
    close(fd);
    free(octets);
}

static uint64_t sum_of(const char *name, uint64_t *len)
{
    uint8_t part[4096];
    uint64_t sum = 0;
    ssize_t n;
    const int fd = openat(store.root, name, O_RDONLY);
    for (*len = 0; (n = read(fd, part, sizeof part)) > 0; *len += (uint64_t)n)
        for (ssize_t i = 0; i < n; i++)
            sum = sum * 31 + part[i];
    close(fd);
    return sum;
}

/* Long files are appended and replaced in parts, and not beyond the limit. */
START_TEST(long_requests)
{
    uint64_t len = 0;
    open_store();
    write_long("a", 100000, 1);
    write_long("b", 5 << 20, 7);
    ck_assert_uint_eq(act(CFDP_APPEND_FILE, "a", "b"), 0);
    ck_assert_uint_ge(acts, 6);
    const uint64_t sum = sum_of("a", &len);
    ck_assert_uint_eq(len, (5 << 20) + 100000);
    write_long("c", 100000, 1);
    ck_assert_uint_eq(act(CFDP_REPLACE_FILE, "c", "a"), 0);
    ck_assert_uint_ge(acts, 6);
    ck_assert_uint_eq(sum_of("c", &len), sum);
    ck_assert_uint_eq(len, (5 << 20) + 100000);
    ck_assert(!is_there(".helio-cfdp/1-2.copy"));
    file_max = 6 << 20;
    ck_assert_uint_eq(act(CFDP_APPEND_FILE, "c", "b"), 3);
    file_max = 1 << 20;
    ck_assert_uint_eq(act(CFDP_REPLACE_FILE, "c", "b"), 3);
    file_max = UINT64_C(1) << 40;
    ck_assert_uint_eq(sum_of("c", &len), sum);
    close_store();
}
END_TEST

/* A process that was killed comes again with the state of the first call. */
START_TEST(repeated_requests)
{
    static const struct {
        unsigned action;
        const char *first, *second;
    } rows[] = {{CFDP_CREATE_FILE, "new", ""},      {CFDP_CREATE_FOLDER, "folder", ""},
                {CFDP_RENAME_FILE, "new", "moved"}, {CFDP_APPEND_FILE, "moved", "b"},
                {CFDP_APPEND_FILE, "moved", "b"},   {CFDP_REPLACE_FILE, "b", "moved"},
                {CFDP_DELETE_FILE, "moved", ""},    {CFDP_DENY_FILE, "b", ""},
                {CFDP_REMOVE_FOLDER, "folder", ""}};
    open_store();
    write_text("b", "12");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cfdp_act a = {.action = rows[i].action,
                             .first = rows[i].first,
                             .second = rows[i].second,
                             .file_max = 1000};
        ck_assert_uint_eq(f->act(&store, id, &a), CFDP_ACT_MORE);
        const uint64_t state = a.state;
        for (int again = 0; again < 3; again++) {
            unsigned status = CFDP_ACT_MORE;
            while (status == CFDP_ACT_MORE)
                status = f->act(&store, id, &a);
            ck_assert_msg(status == 0, "row %zu: %u", i, status);
            ck_assert_uint_eq(a.state, state);
        }
        if (rows[i].action == CFDP_APPEND_FILE)
            assert_text("moved", i == 3 ? "12" : "1212");
    }
    ck_assert(!is_there("new") && !is_there("moved") && !is_there("b") && !is_there("folder"));
    close_store();
}
END_TEST

/* Each folder above a new file is brought to the medium: its name may be new. */
START_TEST(folders_are_synced)
{
    open_store();
    store.sync = true;
    synced = 0;
    ck_assert_int_eq(receive_file("a/b/c/d", "x"), 0);
    ck_assert_uint_ge(synced, 4);
    void *file;
    ck_assert_int_eq(f->open_partial(&store, id, &file), 0);
    ck_assert_int_eq(f->write(&store, file, 0, slice_of("hello", 5)), 0);
    ck_assert_int_eq(f->settle(&store, file, 0, 5), 0);
    f->close(&store, id, file, true);
    close_store();
}
END_TEST

START_TEST(lists)
{
    uint64_t size;
    void *file, *again;
    uint8_t got[128];
    open_store();
    write_text("b", "12");
    write_text(".hidden", "12");
    ck_assert_int_eq(mkdirat(store.root, "a", 0700), 0);
    ck_assert_int_eq(f->open_source(&store, id, "/", true, &size, &file), 0);
    write_text("c", "later: the list is that of its transaction");
    ck_assert_int_eq(f->open_source(&store, id, "/", true, &size, &again), 0);
    const int64_t n = f->read(&store, again, 0, got, sizeof got);
    ck_assert_int_eq(n, (int64_t)size);
    ck_assert_mem_eq(got, "directory 0 a\nfile 2 b\n", (size_t)n);
    f->close(&store, id, again, false);
    f->close(&store, id, file, true);
    ck_assert(!is_there(".helio-cfdp/1-2.list"));
    ck_assert_int_ne(f->open_source(&store, id, "b", true, &size, &file), 0);
    ck_assert_int_ne(f->open_source(&store, id, "../", true, &size, &file), 0);
    ck_assert_int_ne(f->open_source(&store, id, ".helio-cfdp", true, &size, &file), 0);
    char *text = store_take_text(&store, "b", 100);
    ck_assert_str_eq(text, "12");
    free(text);
    ck_assert_ptr_null(store_take_text(&store, "b", 100));
    close_store();
}
END_TEST

/* Another process has the folder; numbers are never given twice, and a new folder does not begin
 * with those of an old one, which peers may still know. */
START_TEST(one_process)
{
    struct cfdp_store other;
    open_store();
    ck_assert_int_eq(store_open(&other, folder, false, false), HELIO_EEXIST);
    store_close(&other);
    ck_assert_int_eq(helio_code(store_open(&other, "/nonexistent", false, false)), HELIO_ENOENT);
    store_close(&other);
    ck_assert_uint_gt(store.sequence, 1700000000);
    const uint64_t begin = store.sequence + 1;
    for (uint64_t next = begin; next < begin + 200; next++) {
        ck_assert_int_eq(f->reserve(&store, next), 0);
        if (next % 50 == 0) {
            store_close(&store);
            ck_assert_int_eq(store_open(&store, folder, false, false), 0);
            ck_assert_uint_ge(store.sequence, next);
        }
    }
    close_store();
}
END_TEST

static size_t said;

static void count_said(void *context, const char *journal, int error)
{
    (void)context;
    (void)journal;
    (void)error;
    said++;
}

static struct cfdp *new_entity(void)
{
    const struct cfdp_config c = {
        .id = 1, .sequence = store.sequence, .files = f, .context = &store};
    const struct cfdp_remote r = {.id = 2, .permissions = CFDP_MAY_PUT};
    struct cfdp *e = cfdp_new(&c);
    ck_assert_ptr_nonnull(e);
    ck_assert_int_eq(cfdp_remote_set(e, &r), 0);
    return e;
}

/* A number that is lost is replaced by one that was not used; a journal that is too long stays. */
START_TEST(damaged_state)
{
    static const uint8_t record[] = {'B'};
    open_store();
    store_close(&store);
    ck_assert_int_eq(store_open(&store, folder, false, false), 0);
    write_text(".helio-cfdp/sequence", "");
    store_close(&store);
    ck_assert_int_eq(store_open(&store, folder, false, true), 0);
    ck_assert_uint_gt(store.sequence, 1700000000);
    const uint64_t next = store.sequence + 1;
    ck_assert_int_eq(f->reserve(&store, next), 0);
    store_close(&store);
    ck_assert_int_eq(store_open(&store, folder, false, false), 0);
    ck_assert_uint_gt(store.sequence, next);
    ck_assert_int_eq(f->journal(&store, id, slice_of(record, sizeof record)), 0);
    const int fd = openat(store.state, "1-2.log", O_WRONLY);
    ck_assert_int_eq(ftruncate(fd, (INT64_C(1) << 30) + 1), 0);
    close(fd);
    const struct cfdp_config c = {.id = 9, .files = f, .context = &store};
    struct cfdp *e = cfdp_new(&c);
    ck_assert_ptr_nonnull(e);
    ck_assert_int_eq(store_restore(&store, e, 0, count_said, NULL), 0);
    ck_assert(is_there(".helio-cfdp/1-2.log"));
    cfdp_free(e);
    close_store();
}
END_TEST

START_TEST(restart)
{
    struct cfdp_id sent;
    uint8_t out[2048];
    open_store();
    write_text("a", "hello");
    struct cfdp *e = new_entity();
    const struct cfdp_put put = {.destination = 2, .source_name = "a", .destination_name = "b"};
    ck_assert_int_eq(cfdp_put(e, &put, 0, &sent), 0);
    cfdp_free(e);
    write_text(".helio-cfdp/2-9.log", "nonsense");
    write_text(".helio-cfdp/2-9.part", "nonsense");
    write_text(".helio-cfdp/2-8.part", "of no journal");
    store_close(&store);
    ck_assert_int_eq(store_open(&store, folder, false, false), 0);
    e = new_entity();
    said = 0;
    ck_assert_int_eq(store_restore(&store, e, 0, count_said, NULL), 0);
    ck_assert_uint_eq(said, 1);
    ck_assert_uint_eq(store.unreadable, 1);
    ck_assert(!is_there(".helio-cfdp/2-9.log") && !is_there(".helio-cfdp/2-9.part") &&
              !is_there(".helio-cfdp/2-8.part"));
    struct cfdp_status s;
    ck_assert(cfdp_report(e, sent, &s) && s.size == 5);
    size_t n = 0;
    while (cfdp_output(e, 2, out, sizeof out, 0) > 0)
        n++;
    ck_assert_uint_eq(n, 3); /* Metadata, data, EOF */
    ck_assert_int_eq(cfdp_cancel(e, sent, 0), 0);
    cfdp_free(e);
    close_store();
}
END_TEST

static size_t size_in(const char *name)
{
    struct stat st;
    return fstatat(store.state, name, &st, 0) == 0 ? (size_t)st.st_size : 0;
}

/* Results: two files of limited length; a half one is written over, and what is none is left out.
 */
START_TEST(results)
{
    uint8_t record[CFDP_RESULT_LEN] = {'D'};
    uint8_t out[100];
    open_store();
    ck_assert_int_eq(f->remember(&store, slice_of(record, sizeof record)), 0);
    const int fd = openat(store.state, "past", O_WRONLY | O_APPEND);
    ck_assert_int_eq(write(fd, "half", 4), 4);
    close(fd);
    for (uint64_t n = 0; n < 20000; n++) {
        struct writer w = writer_of(record + 1, sizeof record - 1);
        writer_number(&w, 2, 8); /* remote entity, transaction */
        writer_number(&w, 2, 8);
        writer_number(&w, n, 8);
        ck_assert_int_eq(f->remember(&store, slice_of(record, sizeof record)), 0);
        ck_assert_uint_eq(size_in("past") % CFDP_RESULT_LEN, 0);
    }
    ck_assert_uint_lt(size_in("past") + size_in("past.old"), 600000);
    ck_assert_uint_gt(size_in("past.old"), 250000);
    struct cfdp *e = new_entity();
    ck_assert_int_eq(store_restore(&store, e, 0, count_said, NULL), 0);
    for (uint64_t n = 19000; n < 20001; n++) { /* the latest 256 are known */
        struct cfdp_pdu p = {
            .kind = CFDP_PDU_METADATA,
            .head = {.id_len = 1, .sequence_len = 4, .source = 2, .sequence = n, .destination = 1}};
        const size_t len = cfdp_pdu_write(&p, out, sizeof out);
        const enum cfdp_verdict v = cfdp_input(e, 2, slice_of(out, len), 0);
        if (n >= 20000 - 256)
            ck_assert_int_eq(v == CFDP_VERDICT_LATE, n < 20000);
    }
    cfdp_free(e);
    close_store();
}
END_TEST

/* A journal that was rewritten is continued; what a killed process left of it is removed. */
START_TEST(rewritten_journal)
{
    uint8_t octets[300];
    struct cfdp_pdu p = {.kind = CFDP_PDU_FILE_DATA,
                         .head = {.id_len = 1, .sequence_len = 4, .source = 2, .destination = 1}};
    uint8_t out[400];
    open_store();
    struct cfdp *e = new_entity();
    memset(octets, 7, sizeof octets);
    p.head.sequence = 9;
    p.u.data.octets = slice_of(octets, sizeof octets);
    const size_t n = cfdp_pdu_write(&p, out, sizeof out);
    ck_assert_int_eq(cfdp_input(e, 2, slice_of(out, n), 0), CFDP_VERDICT_TAKEN);
    cfdp_free(e);
    uint8_t log[400];
    const int fd = openat(store.state, "2-9.log", O_RDONLY);
    const ssize_t len = read(fd, log, sizeof log);
    close(fd);
    ck_assert_int_gt(len, 19);
    const struct cfdp_id theirs = {2, 9};
    ck_assert_int_eq(f->rewrite(&store, theirs, slice_of(log, (size_t)len)), 0);
    write_text(".helio-cfdp/2-9.new", "half");
    e = new_entity();
    ck_assert_int_eq(store_restore(&store, e, 0, count_said, NULL), 0);
    struct cfdp_status s;
    ck_assert(cfdp_report(e, theirs, &s) && s.progress == 300);
    ck_assert(!is_there(".helio-cfdp/2-9.new") && is_there(".helio-cfdp/2-9.log"));
    cfdp_free(e);
    close_store();
}
END_TEST

/* ---- the configuration ---- */

static char *errors_of(const char *text)
{
    static struct conf_errors e;
    struct settings s;
    conf_errors_init(&e, "c.yaml");
    if (cfdp_settings_parse(&s, text, strlen(text), &e) == 0) {
        cfdp_settings_free(&s);
        return NULL;
    }
    return e.text[0];
}

#define TOP "entity: 1\nroot: r\ncontrol: c.sock\n"
#define UDP TOP "listen: 127.0.0.1:4000\n"

START_TEST(settings)
{
    static const struct {
        const char *text, *wrong;
    } rows[] = {
        {TOP, "c.yaml:1: remotes: there is none; write at least one"},
        {TOP "remotes:\n  - entity: 2\n", "c.yaml:5: remotes.address: '': expected one of address "
                                          "and endpoint"},
        {TOP "remotes:\n  - {entity: 2, address: '127.0.0.1:1'}\n",
         "c.yaml:5: remotes.address: '127.0.0.1:1': expected the key listen for UDP"},
        {UDP "remotes:\n  - {entity: 1, address: '127.0.0.1:1'}\n",
         "c.yaml:6: remotes.entity: '': expected another entity and place for each item"},
        {UDP "remotes:\n  - {entity: 2, address: '127.0.0.1:1', allow: everything}\n",
         "c.yaml:6: remotes.allow: 'everything': expected some of put get list change, or none"},
        {UDP "remotes:\n  - {entity: 2, address: '127.0.0.1:1', faults: x=ignore}\n",
         "c.yaml:6: remotes.faults: 'x=ignore': expected words such as check-limit=ignore; "
         "docs/helio-cfdp.md has all"},
        {TOP "remotes:\n  - {entity: 2, endpoint: 'ipn:2.64'}\n",
         "c.yaml:5: remotes.endpoint: 'ipn:2.64': expected the key socket for bundles"},
        {TOP "socket: s\nremotes:\n  - {entity: 2, endpoint: nobody}\n",
         "c.yaml:6: remotes.endpoint: 'nobody': expected an endpoint, such as ipn:2.64"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *got = errors_of(rows[i].text);
        ck_assert_ptr_nonnull(got);
        ck_assert_str_eq(got, rows[i].wrong);
    }
    struct conf_errors *e = malloc(sizeof *e);
    struct settings s;
    const char *good = UDP "id_octets: 2\nremotes:\n  - entity: 2\n    address: 127.0.0.1:4001\n"
                           "    allow: [put, get]\n    class: 1\n    checksum: modular\n"
                           "    faults: [check-limit=ignore, inactivity=suspend]\n"
                           "    ack_timer: 3s\n";
    conf_errors_init(e, "c.yaml");
    ck_assert_int_eq(cfdp_settings_parse(&s, good, strlen(good), e), 0);
    const struct cfdp_remote *row = &s.remotes[0].row;
    ck_assert(row->id == 2 && row->permissions == (CFDP_MAY_PUT | CFDP_MAY_GET));
    ck_assert(row->class_ == CFDP_CLASS_1 && row->checksum == CFDP_CHECKSUM_MODULAR);
    ck_assert_uint_eq(row->handlers[CFDP_CHECK_LIMIT], CFDP_HANDLE_IGNORE);
    ck_assert_uint_eq(row->handlers[CFDP_INACTIVITY], CFDP_HANDLE_SUSPEND);
    ck_assert_uint_eq(row->ack_time, 3 * TICK_S);
    cfdp_settings_free(&s);
    const char *bundles = TOP "socket: s\nremotes:\n  - {entity: 2, endpoint: 'ipn:0.2.64'}\n";
    conf_errors_init(e, "c.yaml");
    ck_assert_int_eq(cfdp_settings_parse(&s, bundles, strlen(bundles), e), 0);
    ck_assert_str_eq(s.remotes[0].endpoint, "ipn:2.64"); /* as the node writes it */
    ck_assert(s.remotes[0].row.confirms);
    cfdp_settings_free(&s);
    free(e);
}
END_TEST

SUITE(cfdp_store, t)
{
    tcase_add_test(t, names_stay_below_the_root);
    tcase_add_test(t, files);
    tcase_add_test(t, requests);
    tcase_add_test(t, long_requests);
    tcase_add_test(t, repeated_requests);
    tcase_add_test(t, folders_are_synced);
    tcase_add_test(t, rewritten_journal);
    tcase_add_test(t, results);
    tcase_add_test(t, lists);
    tcase_add_test(t, one_process);
    tcase_add_test(t, damaged_state);
    tcase_add_test(t, restart);
    tcase_add_test(t, settings);
}
