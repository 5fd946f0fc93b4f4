/* SPDX-License-Identifier: Apache-2.0 */
/* The filestore of helio-cfdp: no name leaves its folder; files, requests, lists, journals. */
#include "tools/cfdp/cfdp_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/suite.h"
#include "tools/cfdp/cfdp_settings.h"

static char folder[] = "/tmp/helio-cfdp-XXXXXX";
static struct cfdp_store store;
static const struct cfdp_files *const f = &store_files;

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
                ck_assert_msg(f->act(&store, action, bad_names[i], "y") != 0, "%u %s", action,
                              bad_names[i]);
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
    ck_assert_uint_eq(f->act(&store, CFDP_CREATE_FOLDER, "d", ""), 0);
    ck_assert_uint_eq(f->act(&store, CFDP_CREATE_FOLDER, "d", ""), 1);
    ck_assert_uint_eq(f->act(&store, CFDP_CREATE_FILE, "d/a", ""), 0);
    ck_assert_uint_eq(f->act(&store, CFDP_CREATE_FILE, "d/a", ""), 1);
    ck_assert_uint_eq(f->act(&store, CFDP_RENAME_FILE, "gone", "x"), 1);
    write_text("x", "x");
    ck_assert_uint_eq(f->act(&store, CFDP_RENAME_FILE, "d/a", "x"), 2);
    ck_assert_uint_eq(f->act(&store, CFDP_RENAME_FILE, "d", "y"), 3);
    ck_assert_uint_eq(f->act(&store, CFDP_RENAME_FILE, "x", "d/x"), 0);
    write_text("y", "yy");
    ck_assert_uint_eq(f->act(&store, CFDP_APPEND_FILE, "gone", "y"), 1);
    ck_assert_uint_eq(f->act(&store, CFDP_APPEND_FILE, "d/x", "gone"), 2);
    ck_assert_uint_eq(f->act(&store, CFDP_APPEND_FILE, "d/x", "d"), 3);
    ck_assert_uint_eq(f->act(&store, CFDP_APPEND_FILE, "y", "y"), 3);
    ck_assert_uint_eq(f->act(&store, CFDP_APPEND_FILE, "d/x", "y"), 0);
    assert_text("d/x", "xyy");
    ck_assert_uint_eq(f->act(&store, CFDP_REPLACE_FILE, "d/x", "y"), 0);
    assert_text("d/x", "yy");
    assert_text("y", "yy");
    ck_assert_uint_eq(f->act(&store, CFDP_REMOVE_FOLDER, "d", ""), 2); /* not empty */
    ck_assert_uint_eq(f->act(&store, CFDP_REMOVE_FOLDER, "gone", ""), 1);
    ck_assert_uint_eq(f->act(&store, CFDP_DELETE_FILE, "gone", ""), 1);
    ck_assert_uint_eq(f->act(&store, CFDP_DELETE_FILE, "d", ""), 2);
    ck_assert_uint_eq(f->act(&store, CFDP_DELETE_FILE, "d/x", ""), 0);
    ck_assert_uint_eq(f->act(&store, CFDP_DENY_FILE, "d/x", ""), 0);
    ck_assert_uint_eq(f->act(&store, CFDP_DENY_FILE, "d/a", ""), 0);
    ck_assert_uint_eq(f->act(&store, CFDP_DENY_FOLDER, "d", ""), 0);
    ck_assert_uint_eq(f->act(&store, CFDP_DENY_FOLDER, "d", ""), 0);
    ck_assert_uint_eq(f->act(&store, 9, "d", ""), CFDP_NOT_PERFORMED);
    ck_assert(!is_there("d"));
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

/* Another process has the folder; numbers are never given twice. */
START_TEST(one_process)
{
    struct cfdp_store other;
    open_store();
    ck_assert_int_eq(store_open(&other, folder, false, false), HELIO_EEXIST);
    store_close(&other);
    ck_assert_int_eq(helio_code(store_open(&other, "/nonexistent", false, false)), HELIO_ENOENT);
    store_close(&other);
    ck_assert_uint_eq(store.sequence, 1);
    for (uint64_t next = 2; next < 200; next++) {
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
    free(e);
}
END_TEST

SUITE(cfdp_store, t)
{
    tcase_add_test(t, names_stay_below_the_root);
    tcase_add_test(t, files);
    tcase_add_test(t, requests);
    tcase_add_test(t, lists);
    tcase_add_test(t, one_process);
    tcase_add_test(t, damaged_state);
    tcase_add_test(t, restart);
    tcase_add_test(t, settings);
}
