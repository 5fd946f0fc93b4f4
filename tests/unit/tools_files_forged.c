/* SPDX-License-Identifier: Apache-2.0 */
/* Files under the eyes of others: a node that knows a file's name, size and SHA-256 sends pieces,
 * questions and receipts of its own. A file that was not stored is never confirmed, and none is
 * kept out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "bp/codec/eid.h"
#include "tests/unit/suite.h"
#include "tools/files/files_id.h"
#include "tools/files/files_journal.h"
#include "tools/files/files_receiver.h"
#include "tools/files/files_sender.h"
#include "tools/files/files_spool.h"

#define HONEST "ipn:1.70000"
#define SECOND "ipn:5.2"
#define OTHER "ipn:2.77"
#define SIZE 3000

static const struct files_limits limits = {1 << 20, 8,           1 << 20, 3600 * TICK_S, false, 50,
                                           75,      60 * TICK_S, 0};

struct lab {
    char dir[64];
    struct files_receiver receiver;
    struct files_outcome out;
    uint8_t content[SIZE];
    struct files_head head; /* of the honest file */
};

static void begin_receiver(struct lab *l)
{
    ck_assert_int_eq(files_receiver_init(&l->receiver, l->dir, &limits, false, 5), 0);
    files_shelf_check(&l->receiver.shelf);
}

static void hash_bytes_of(struct slice content, uint8_t sha[FILES_SHA])
{
    struct files_digest *d = files_digest_new();
    ck_assert_ptr_nonnull(d);
    files_digest_add(d, content);
    ck_assert(files_digest_end(d, sha));
}

static struct files_head head_of(const char *name, struct slice content)
{
    struct files_head h = {.kind = FILES_PIECE,
                           .flags = FILES_WANT_RECEIPT,
                           .size = content.len,
                           .name = slice_of(name, strlen(name))};
    hash_bytes_of(content, h.sha);
    ck_assert(files_id_make(&h, h.id));
    return h;
}

static struct lab *lab_new(void)
{
    struct lab *l = calloc(1, sizeof *l);
    snprintf(l->dir, sizeof l->dir, "/tmp/files-forged-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(l->dir));
    for (size_t i = 0; i < SIZE; i++)
        l->content[i] = (uint8_t)(i * i % 251);
    l->head = head_of("update.bin", slice_of(l->content, SIZE));
    begin_receiver(l);
    return l;
}

static void lab_free(struct lab *l)
{
    char command[128];
    files_receiver_fini(&l->receiver);
    snprintf(command, sizeof command, "rm -r %s", l->dir);
    ck_assert_int_eq(system(command), 0);
    free(l);
}

/* What a payload leads to; 0: no receipt, else its state. */
static int take(struct lab *l, const char *source, const struct files_head *h, struct slice body)
{
    uint8_t bytes[FILES_HEAD + FILES_NAME_MAX + SIZE];
    struct files_receipt r;
    struct files_head in;
    struct slice rest;
    size_t len = files_write(h, body, bytes);
    memcpy(bytes + len, body.data, body.len);
    ck_assert_int_eq(files_receiver_take(&l->receiver, source, "ipn:9.0",
                                         slice_of(bytes, len + body.len), 0, &l->out),
                     0);
    files_shelf_check(&l->receiver.shelf);
    if (l->out.receipt_len == 0)
        return 0;
    ck_assert_int_eq(files_parse(slice_of(l->out.receipt, l->out.receipt_len), &in, &rest),
                     FILES_OK);
    ck_assert(files_parse_receipt(rest, in.size, &r));
    return (int)r.state;
}

/* 1000 bytes of the honest file. */
static int take_part(struct lab *l, const char *source, size_t offset)
{
    struct files_head h = l->head;
    h.offset = offset;
    return take(l, source, &h, slice_of(l->content + offset, 1000));
}

static int take_question(struct lab *l, const char *source)
{
    struct files_head h = l->head;
    h.kind = FILES_ASK;
    h.number = 1;
    return take(l, source, &h, slice_of("", 0));
}

static size_t count_files(const struct lab *l, const char *pattern)
{
    char command[256];
    size_t n = 0;
    snprintf(command, sizeof command, "find %s -type f -name '%s' | wc -l", l->dir, pattern);
    FILE *p = popen(command, "r");
    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(fscanf(p, "%zu", &n), 1);
    pclose(p);
    return n;
}

static void check_arrived(const struct lab *l, const char *name)
{
    char path[128];
    uint8_t got[SIZE + 1];
    snprintf(path, sizeof path, "%s/%s", l->dir, name);
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fread(got, 1, sizeof got, f), SIZE);
    fclose(f);
    ck_assert_mem_eq(got, l->content, SIZE);
}

/* A whole file of one byte that has the id of another: _i is what of the true head it has, too. */
START_TEST(an_id_stands_for_one_file)
{
    struct lab *l = lab_new();
    struct files_head stub = head_of("stub", slice_of("!", 1));
    memcpy(stub.id, l->head.id, FILES_ID);
    if (_i == 1)
        stub.name = l->head.name;
    if (_i == 2)
        memcpy(stub.sha, l->head.sha, FILES_SHA);
    ck_assert_int_eq(take(l, OTHER, &stub, slice_of("!", 1)), 0); /* no answer */
    stub.kind = FILES_ASK;
    ck_assert_int_eq(take(l, HONEST, &stub, slice_of("", 0)), 0); /* in the honest one's name */
    ck_assert_uint_eq(l->receiver.counts.refused[FILES_REASON_ID], 2);
    ck_assert_uint_eq(l->receiver.counts.files + l->receiver.shelf.items.len, 0);
    ck_assert_int_eq(take_question(l, HONEST), FILES_STATE_PARTLY);
    for (size_t at = 0; at < SIZE; at += 1000)
        ck_assert_int_eq(take_part(l, HONEST, at), at == 2000 ? FILES_STATE_DONE : 0);
    check_arrived(l, "update.bin");
    stub.kind = FILES_PIECE; /* nor afterwards is anything said about it */
    ck_assert_int_eq(take(l, OTHER, &stub, slice_of("!", 1)), 0);
    lab_free(l);
}
END_TEST

/* The right head, and wrong bytes: they spoil their sender's file alone. _i 1: the receiver begins
 * again in between. */
START_TEST(wrong_bytes_of_others_spoil_nothing)
{
    struct lab *l = lab_new();
    struct files_head h = l->head;
    h.offset = 500;
    ck_assert_int_eq(take(l, OTHER, &h, slice_of("zzzzzzzzzz", 10)), 0);
    ck_assert_int_eq(take_part(l, HONEST, 0), 0);
    ck_assert_int_eq(take_part(l, HONEST, 1000), 0);
    ck_assert_uint_eq(l->receiver.shelf.items.len, 2);
    if (_i == 1) {
        files_receiver_fini(&l->receiver);
        begin_receiver(l);
        ck_assert_uint_eq(l->receiver.shelf.items.len, 2);
        ck_assert_uint_eq(l->receiver.shelf.unreadable, 0);
        ck_assert_uint_eq(files_shelf_find(&l->receiver.shelf, l->head.id, "ipn:1")->held, 2000);
    }
    ck_assert_int_eq(take_part(l, HONEST, 2000), FILES_STATE_DONE);
    check_arrived(l, "update.bin");
    ck_assert_uint_eq(l->receiver.counts.wrong, 0);
    ck_assert_uint_eq(l->receiver.shelf.items.len, 0); /* the other one's is of no use now */
    ck_assert_uint_eq(l->receiver.shelf.space, 0);
    ck_assert_uint_eq(count_files(l, "*.log"), 0);
    lab_free(l);
}
END_TEST

/* ---- what is checked in turns ---- */

int __real_files_digest_part(struct files_digest *d, int fd, uint64_t from, uint64_t to);
int __wrap_files_digest_part(struct files_digest *d, int fd, uint64_t from, uint64_t to);

static uint64_t hashed, at_once; /* octets: of all calls, and of the longest one */
static unsigned calls_left;      /* until the disk fails once; 0: it does not */

int __wrap_files_digest_part(struct files_digest *d, int fd, uint64_t from, uint64_t to)
{
    if (calls_left > 0 && --calls_left == 0)
        return HELIO_EIO;
    hashed += to - from;
    at_once = to - from > at_once ? to - from : at_once;
    return __real_files_digest_part(d, fd, from, to);
}

static char from[FILES_SOURCE_MAX]; /* of the last turn */

/* Turns until there is an error, or nothing is left to check. */
static unsigned take_turns(struct lab *l, int *rc)
{
    unsigned turns = 0;
    for (*rc = 0; *rc == 0 && files_receiver_busy(&l->receiver); turns++) {
        *rc = files_receiver_turn(&l->receiver, from, &l->out);
        files_shelf_check(&l->receiver.shelf);
    }
    return turns;
}

static struct lab *begin_turns(void)
{
    struct lab *l = lab_new();
    l->receiver.shelf.limits.turn_bytes = 1000;
    hashed = at_once = calls_left = 0;
    return l;
}

/* A whole file with a wrong octet costs one check, a part in each turn. _i 1: its source has the
 * longest name that an endpoint can have. */
START_TEST(wrong_files_are_hashed_once)
{
    struct lab *l = begin_turns();
    char source[EID_TEXT_MAX] = "ipn:2.77";
    int rc;
    if (_i == 1)
        snprintf(source, sizeof source, "dtn://other/%0*d", EID_TEXT_MAX - 13, 0);
    ck_assert_uint_eq(strlen(source), _i == 1 ? EID_TEXT_MAX - 1 : 8);
    l->content[SIZE - 1] ^= 1;
    for (size_t at = 0; at < SIZE; at += 1000)
        ck_assert_int_eq(take_part(l, source, at), 0);
    l->content[SIZE - 1] ^= 1;
    ck_assert_uint_eq(take_turns(l, &rc), 3);
    ck_assert_int_eq(rc, 0);
    ck_assert_uint_eq(hashed, SIZE);
    ck_assert_uint_eq(at_once, 1000);
    ck_assert(!l->out.finished && l->out.receipt_len == 0);
    ck_assert_uint_eq(l->receiver.counts.wrong, 1);
    ck_assert_uint_eq(l->receiver.shelf.items.len + l->receiver.shelf.space, 0);
    ck_assert_uint_eq(count_files(l, "*.log"), 0);
    ck_assert_int_eq(take_question(l, source), FILES_STATE_PARTLY); /* nothing is held */
    for (size_t at = 0; at < SIZE; at += 1000)
        ck_assert_int_eq(take_part(l, source, at), 0);
    ck_assert_uint_eq(take_turns(l, &rc), 3);
    ck_assert(rc == 0 && l->out.finished && at_once == 1000);
    ck_assert_str_eq(from, source); /* whole: its receipt has this destination */
    check_arrived(l, "update.bin");
    lab_free(l);
}
END_TEST

/* A long file whose place cannot be had is refused in its turn, as a short one is at once. */
START_TEST(places_in_the_way_are_told)
{
    struct lab *l = begin_turns();
    char path[128];
    int rc;
    snprintf(path, sizeof path, "%s/x", l->dir);
    FILE *f = fopen(path, "w");
    ck_assert(f != NULL && fclose(f) == 0);
    l->head = head_of("x/update.bin", slice_of(l->content, SIZE));
    for (size_t at = 0; at < SIZE; at += 1000)
        ck_assert_int_eq(take_part(l, HONEST, at), 0);
    ck_assert_uint_eq(take_turns(l, &rc), 3);
    ck_assert(rc == 0 && !l->out.finished && l->out.receipt_len > 0);
    ck_assert_str_eq(from, HONEST);
    ck_assert_uint_eq(l->receiver.counts.refused[FILES_REASON_PLACE], 1);
    ck_assert_uint_eq(l->receiver.shelf.items.len, 0);
    lab_free(l);
}
END_TEST

/* Files that a process leaves whole are checked by the next one in turns, and not before its first
 * turn. _i 1: a wrong octet. */
START_TEST(resumed_files_are_checked_in_turns)
{
    struct lab *l = begin_turns();
    struct files_limits turns = limits;
    int rc;
    l->content[SIZE - 1] ^= (uint8_t)_i;
    for (size_t at = 0; at < SIZE; at += 1000)
        ck_assert_int_eq(take_part(l, HONEST, at), 0);
    files_receiver_fini(&l->receiver);
    turns.turn_bytes = 1000;
    ck_assert_int_eq(files_receiver_init(&l->receiver, l->dir, &turns, false, 5), 0);
    ck_assert(hashed == 0 && files_receiver_busy(&l->receiver));
    ck_assert_uint_eq(l->receiver.shelf.completed, 1);
    ck_assert_uint_eq(take_turns(l, &rc), 3);
    ck_assert(rc == 0 && hashed == SIZE && at_once == 1000 && l->out.receipt_len == 0);
    ck_assert_uint_eq(l->receiver.shelf.items.len, 0);
    ck_assert(l->out.finished == (_i == 0) && l->receiver.counts.wrong == (uint64_t)_i);
    if (_i == 0) {
        ck_assert_str_eq(from, "ipn:1");
        check_arrived(l, "update.bin");
    }
    ck_assert_int_eq(take_question(l, HONEST), _i == 0 ? FILES_STATE_DONE : FILES_STATE_PARTLY);
    lab_free(l);
}
END_TEST

/* An error of the disk is told in its turn; the file is kept, and a question begins its check
 * again. */
START_TEST(errors_of_a_check_are_told)
{
    struct lab *l = begin_turns();
    int rc;
    for (size_t at = 0; at < SIZE; at += 1000)
        ck_assert_int_eq(take_part(l, HONEST, at), 0);
    calls_left = 2;
    ck_assert_uint_eq(take_turns(l, &rc), 2);
    ck_assert_int_eq(rc, HELIO_EIO);
    ck_assert(!l->out.finished && !files_receiver_busy(&l->receiver));
    ck_assert_uint_eq(hashed, 1000);
    ck_assert_uint_eq(l->receiver.shelf.items.len, 1);
    ck_assert_uint_eq(l->receiver.counts.wrong, 0);
    ck_assert_int_eq(take_question(l, HONEST), 0);
    ck_assert_uint_eq(take_turns(l, &rc), 3);
    ck_assert(rc == 0 && l->out.finished && at_once == 1000);
    check_arrived(l, "update.bin");
    lab_free(l);
}
END_TEST

/* Two nodes send one file at once: both succeed, and it is there once. */
START_TEST(two_nodes_send_one_file)
{
    struct lab *l = lab_new();
    for (size_t at = 0; at < SIZE; at += 1000) {
        ck_assert_int_eq(take_part(l, HONEST, at), at == 2000 ? FILES_STATE_DONE : 0);
        ck_assert_int_eq(take_part(l, SECOND, at), 0);
    }
    ck_assert_int_eq(take_question(l, SECOND), FILES_STATE_DONE);
    check_arrived(l, "update.bin");
    ck_assert_uint_eq(count_files(l, "update.bin*"), 1);
    ck_assert_uint_eq(l->receiver.counts.files, 1);
    for (int i = 1; i < FILES_REASONS; i++)
        ck_assert_uint_eq(l->receiver.counts.refused[i], 0);
    files_receiver_fini(&l->receiver);
    begin_receiver(l);
    ck_assert_int_eq(take_question(l, SECOND), FILES_STATE_DONE);
    lab_free(l);
}
END_TEST

/* One who is refused under an id does not take the answer of another. */
START_TEST(each_source_is_told)
{
    struct lab *l = lab_new();
    l->receiver.shelf.limits.file_max = SIZE - 1;
    ck_assert_int_eq(take_part(l, OTHER, 0), FILES_STATE_REFUSED);
    ck_assert_int_eq(take_part(l, OTHER, 0), 0);
    ck_assert_int_eq(take_part(l, HONEST, 0), FILES_STATE_REFUSED);
    ck_assert_int_eq(take_part(l, HONEST, 0), 0);
    lab_free(l);
}
END_TEST

static void write_old(const struct lab *l, const char *name, const void *bytes, size_t len)
{
    char path[192];
    snprintf(path, sizeof path, "%s/" FILES_FOLDER "/%s", l->dir, name);
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, len, f), len);
    fclose(f);
}

/* What an earlier version left, which took any id: a journal of one byte under the id of another
 * file, and a list that has this id. Neither is believed. */
START_TEST(older_folders_are_not_believed)
{
    struct lab *l = lab_new();
    struct files_item it = {.size = 1, .name = "stub", .source = "ipn:2"};
    struct files_done old;
    char hex[FILES_HEX];
    memcpy(it.id, l->head.id, FILES_ID);
    memcpy(it.key, l->head.id, FILES_ID);
    hash_bytes_of(slice_of("!", 1), it.sha);
    const int state = l->receiver.shelf.state;
    ck_assert_int_eq(files_journal_begin(state, &it, false), 0);
    ck_assert_int_eq(files_journal_add(state, &it, 0, 1, false), 0);
    files_journal_hex(it.key, hex);
    write_old(l, hex, "!", 1);
    ck_assert_int_eq(files_done_open(&old, state, "done", 1), 0);
    ck_assert_int_eq(files_done_add(&old, l->head.id, false), 0);
    files_done_fini(&old);
    files_receiver_fini(&l->receiver);
    begin_receiver(l);
    ck_assert_uint_eq(l->receiver.shelf.unreadable, 1);
    ck_assert_uint_eq(count_files(l, "stub*") + count_files(l, "*.log"), 0);
    ck_assert_int_eq(take_question(l, HONEST), FILES_STATE_PARTLY);
    lab_free(l);
}
END_TEST

/* ---- the sender ---- */

struct sending {
    struct files_sender sender;
    struct files_head head; /* of the payload that it gave */
    unsigned over, done;
    char path[64];
};

static void on_over(void *context, struct files_job *j)
{
    struct sending *s = context;
    s->over++;
    s->done += j->phase == FILES_DONE;
}

static struct sending *sending_new(bool resume)
{
    struct sending *s = calloc(1, sizeof *s);
    struct files_send_options o = {
        .piece = 1000, .confirm = true, .ask = 10 * TICK_S, .wait = 60 * TICK_S};
    struct files_job *j;
    struct slice payload, body;
    ck_assert_int_eq(eid_parse("ipn:3.2001", &o.receiver), 0);
    snprintf(s->path, sizeof s->path, "/tmp/files-forged-XXXXXX");
    int fd = mkstemp(s->path);
    ck_assert(fd >= 0 && write(fd, "content", 7) == 7 && close(fd) == 0);
    files_sender_init(&s->sender, &o, on_over, s);
    ck_assert_int_eq(files_sender_add(&s->sender, s->path, "x", resume, &j), 0);
    ck_assert(files_sender_next(&s->sender, 0, &payload));
    ck_assert_int_eq(files_parse(payload, &s->head, &body), FILES_OK);
    files_sender_answer(&s->sender, true, 0);
    return s;
}

static void sending_free(struct sending *s)
{
    files_sender_check(&s->sender);
    files_sender_fini(&s->sender);
    ck_assert_int_eq(unlink(s->path), 0);
    free(s);
}

static void take_receipt(struct sending *s, const char *source, enum files_state state,
                         uint64_t held)
{
    uint8_t bytes[FILES_RECEIPT_MAX];
    const struct files_receipt r = {.state = state, .held = held, .reason = FILES_REASON_NAME};
    size_t len = files_write_receipt(&s->head, &r, bytes);
    files_sender_take(&s->sender, source, slice_of(bytes, len), 1);
    files_sender_check(&s->sender);
}

/* _i 1: it has asked. */
START_TEST(only_the_receiver_confirms)
{
    static const char *const others[] = {
        "ipn:2.77", "ipn:3.2002", "ipn:3.0",         "ipn:1.3.2001", "dtn://3.2001/", "dtn:none",
        "",         "imc:3.2001", "scheme-4:820501", "ipn:2.2001",   "ipn:4.2001"};
    struct sending *s = sending_new(_i == 1);
    const size_t n = sizeof others / sizeof *others;
    for (size_t i = 0; i < n; i++) {
        take_receipt(s, others[i], FILES_STATE_DONE, 7);
        take_receipt(s, others[i], FILES_STATE_REFUSED, 0);
        take_receipt(s, others[i], FILES_STATE_PARTLY, 7);
    }
    ck_assert_uint_eq(s->over, 0);
    ck_assert_uint_eq(s->sender.others, 3 * n);
    ck_assert_uint_eq(s->sender.receipts, 0);
    take_receipt(s, "ipn:0.3.2001", FILES_STATE_DONE, 7); /* the same endpoint, written otherwise */
    ck_assert(s->over == 1 && s->done == 1 && s->sender.receipts == 1);
    sending_free(s);
}
END_TEST

/* The receiver's receipt of another content, or of less than all. */
START_TEST(a_receipt_is_of_this_content)
{
    struct sending *s = sending_new(false);
    s->head.sha[0] ^= 1;
    take_receipt(s, "ipn:3.2001", FILES_STATE_DONE, 7);
    take_receipt(s, "ipn:3.2001", FILES_STATE_REFUSED, 0);
    s->head.sha[0] ^= 1;
    s->head.size = 8;
    take_receipt(s, "ipn:3.2001", FILES_STATE_DONE, 8);
    s->head.size = 7;
    take_receipt(s, "ipn:3.2001", FILES_STATE_DONE, 6);
    ck_assert_uint_eq(s->over, 0);
    ck_assert_uint_eq(s->sender.foreign, 1);
    take_receipt(s, "ipn:3.2001", FILES_STATE_DONE, 7);
    ck_assert_uint_eq(s->done, 1);
    sending_free(s);
}
END_TEST

/* ---- the spool ---- */

static bool note_ready(void *context, const char *path, const char *name, bool first)
{
    unsigned *n = context;
    (void)path;
    (void)name;
    (void)first;
    (*n)++;
    return true;
}

static void put_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

/* A receipt is about what was read: what has its place by now stays, and is sent. _i 0: it was
 * confirmed, 1: refused. */
START_TEST(a_spool_keeps_what_was_not_sent)
{
    char dir[64] = "/tmp/files-forged-XXXXXX", path[96], command[96];
    struct files_spool s;
    struct stat was;
    unsigned ready = 0;
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/x", dir);
    put_text(path, "old");
    files_spool_init(&s, dir, NULL, false, note_ready, &ready);
    ck_assert(files_spool_look(&s) == 0 && files_spool_look(&s) == 0);
    ck_assert_uint_eq(ready, 1);
    ck_assert_int_eq(stat(path, &was), 0);
    put_text(path, "newer"); /* while the receipt is on its way */
    ck_assert_int_eq(files_spool_over(&s, path, "x", &was, _i == 0), 0);
    ck_assert_int_eq(access(path, F_OK), 0);
    ck_assert(files_spool_look(&s) == 0 && files_spool_look(&s) == 0);
    ck_assert_uint_eq(ready, 2);
    ck_assert_int_eq(stat(path, &was), 0);
    ck_assert_int_eq(files_spool_over(&s, path, "x", &was, true), 0);
    ck_assert_int_ne(access(path, F_OK), 0);
    files_spool_fini(&s);
    snprintf(command, sizeof command, "rm -r %s", dir);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

SUITE(tools_files_forged, t)
{
    tcase_add_loop_test(t, an_id_stands_for_one_file, 0, 3);
    tcase_add_loop_test(t, wrong_bytes_of_others_spoil_nothing, 0, 2);
    tcase_add_loop_test(t, wrong_files_are_hashed_once, 0, 2);
    tcase_add_test(t, places_in_the_way_are_told);
    tcase_add_loop_test(t, resumed_files_are_checked_in_turns, 0, 2);
    tcase_add_test(t, errors_of_a_check_are_told);
    tcase_add_test(t, two_nodes_send_one_file);
    tcase_add_test(t, each_source_is_told);
    tcase_add_test(t, older_folders_are_not_believed);
    tcase_add_loop_test(t, only_the_receiver_confirms, 0, 2);
    tcase_add_test(t, a_receipt_is_of_this_content);
    tcase_add_loop_test(t, a_spool_keeps_what_was_not_sent, 0, 2);
}
