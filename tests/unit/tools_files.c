/* SPDX-License-Identifier: Apache-2.0 */
/* helio-send's and helio-recv's engines: files that arrive whole, once, and
 * under their names, over a way that loses, repeats and reorders, with both ends beginning again at
 * any time. Time is virtual; the folders are real. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/rng.h"
#include "tests/unit/suite.h"
#include "tools/files/files_id.h"
#include "tools/files/files_journal.h"
#include "tools/files/files_receiver.h"
#include "tools/files/files_sender.h"

#define SOURCE "ipn:1.70000"
#define RECEIVER "ipn:2.2001"

/* ---- a way between two folders ---- */

#define FLIGHTS_MAX 4096

struct flight {
    tick due;
    bool back;
    size_t len;
    uint8_t *bytes; /* NULL: free */
};

struct lab {
    char dir[64], from[96], to[96];
    struct files_sender sender;
    struct files_receiver receiver;
    struct files_limits limits;
    struct files_send_options options;
    struct rng rng;
    tick now;
    struct flight flights[FLIGHTS_MAX];
    unsigned loss, twice; /* of 100 */
    tick delay;
    uint64_t finished, over, failed;
    char why[160], name[FILES_NAME_MAX + 16];
};

static void on_over(void *context, struct files_job *j)
{
    struct lab *l = context;
    l->over++;
    l->failed += j->phase == FILES_FAILED;
    snprintf(l->why, sizeof l->why, "%s", j->why);
}

static void begin_sender(struct lab *l)
{
    files_sender_init(&l->sender, &l->options, on_over, l);
}

static void begin_receiver(struct lab *l)
{
    ck_assert_int_eq(files_receiver_init(&l->receiver, l->to, &l->limits, false, 5), 0);
    files_shelf_check(&l->receiver.shelf);
}

static struct lab *lab_new(uint64_t seed)
{
    struct lab *l = calloc(1, sizeof *l);
    snprintf(l->dir, sizeof l->dir, "/tmp/files-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(l->dir));
    snprintf(l->from, sizeof l->from, "%s/from", l->dir);
    snprintf(l->to, sizeof l->to, "%s/to", l->dir);
    ck_assert(mkdir(l->from, 0755) == 0 && mkdir(l->to, 0755) == 0);
    rng_init(&l->rng, seed);
    l->limits =
        (struct files_limits){1 << 20, 8, 1 << 22, 3600 * TICK_S, false, 0, 0, 3600 * TICK_S, 0};
    l->options = (struct files_send_options){
        .piece = 1000, .confirm = true, .ask = 10 * TICK_S, .wait = 86400 * TICK_S};
    ck_assert_int_eq(eid_parse(RECEIVER, &l->options.receiver), 0);
    l->delay = TICK_S;
    begin_sender(l);
    begin_receiver(l);
    return l;
}

static void drop_flights(struct lab *l)
{
    for (size_t i = 0; i < FLIGHTS_MAX; i++) {
        free(l->flights[i].bytes);
        l->flights[i].bytes = NULL;
    }
}

static void lab_free(struct lab *l)
{
    char command[128];
    drop_flights(l);
    files_sender_fini(&l->sender);
    files_receiver_fini(&l->receiver);
    snprintf(command, sizeof command, "rm -r %s", l->dir);
    ck_assert_int_eq(system(command), 0);
    free(l);
}

static bool chance(struct lab *l, unsigned percent)
{
    return rng_u64(&l->rng) % 100 < percent;
}

static void put_flight(struct lab *l, bool back, const uint8_t *bytes, size_t len)
{
    for (unsigned copies = chance(l, l->loss) ? 0 : 1 + chance(l, l->twice); copies > 0; copies--) {
        struct flight *f = l->flights;
        while (f->bytes != NULL)
            ck_assert(++f < l->flights + FLIGHTS_MAX);
        *f = (struct flight){.due = l->now + 1 + rng_u64(&l->rng) % l->delay,
                             .back = back,
                             .len = len,
                             .bytes = malloc(len)};
        memcpy(f->bytes, bytes, len);
    }
}

/* What the sender has to give goes on its way; the node takes all. */
static void pump_sender(struct lab *l)
{
    struct slice payload;
    files_sender_expire(&l->sender, l->now);
    while (files_sender_next(&l->sender, l->now, &payload)) {
        put_flight(l, false, payload.data, payload.len);
        files_sender_answer(&l->sender, true, l->now);
        files_sender_check(&l->sender);
    }
}

static void land_flight(struct lab *l, struct flight *f)
{
    struct files_outcome out;
    struct flight landed = *f;
    f->bytes = NULL;
    if (landed.back) {
        files_sender_take(&l->sender, RECEIVER, slice_of(landed.bytes, landed.len), l->now);
        files_sender_check(&l->sender);
    } else {
        ck_assert_int_eq(files_receiver_take(&l->receiver, SOURCE, "",
                                             slice_of(landed.bytes, landed.len), l->now, &out),
                         0);
        files_shelf_check(&l->receiver.shelf);
        l->finished += out.finished;
        if (out.finished)
            snprintf(l->name, sizeof l->name, "%s", out.name);
        if (out.receipt_len > 0)
            put_flight(l, true, out.receipt, out.receipt_len);
    }
    free(landed.bytes);
}

/* The next thing that happens. False: nothing will. */
static bool step_lab(struct lab *l)
{
    struct flight *next = NULL;
    for (struct flight *f = l->flights; f < l->flights + FLIGHTS_MAX; f++)
        if (f->bytes != NULL && (next == NULL || f->due < next->due))
            next = f;
    tick due = files_sender_deadline(&l->sender);
    if (next == NULL && due == TICK_NEVER)
        return false;
    bool lands = next != NULL && next->due <= due;
    tick at = lands ? next->due : due;
    l->now = at > l->now ? at : l->now;
    if (lands)
        land_flight(l, next);
    pump_sender(l);
    return true;
}

static void run_lab(struct lab *l)
{
    unsigned steps = 0;
    while (!files_sender_idle(&l->sender) && step_lab(l))
        ck_assert_uint_lt(steps++, 100000);
}

static void write_file(const char *dir, const char *name, size_t len, unsigned salt)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    for (size_t i = 0; i < len; i++)
        fputc((int)((i * i + salt) % 251), f);
    fclose(f);
}

static void add_file(struct lab *l, const char *file, const char *name, bool resume)
{
    char path[256];
    struct files_job *j;
    snprintf(path, sizeof path, "%s/%s", l->from, file);
    ck_assert_int_eq(files_sender_add(&l->sender, path, name, resume, &j), 0);
}

static bool is_equal(const struct lab *l, const char *from, const char *to)
{
    char command[512];
    snprintf(command, sizeof command, "cmp -s '%s/%s' '%s/%s'", l->from, from, l->to, to);
    return system(command) == 0;
}

static bool is_there(const struct lab *l, const char *name)
{
    char path[256];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", l->to, name);
    return lstat(path, &st) == 0;
}

/* _i: bytes. */
START_TEST(files_arrive)
{
    static const size_t sizes[] = {0, 1, 999, 1000, 1001, 50000};
    struct lab *l = lab_new(1);
    write_file(l->from, "x", sizes[_i], 0);
    add_file(l, "x", "folder/sub/x", false);
    run_lab(l);
    ck_assert(l->over == 1 && l->failed == 0 && l->finished == 1);
    ck_assert(is_equal(l, "x", "folder/sub/x"));
    ck_assert_uint_eq(l->receiver.shelf.items.len, 0);
    ck_assert_uint_eq(l->sender.questions, 0); /* nobody had to ask */
    ck_assert_uint_eq(l->sender.pieces, sizes[_i] == 0 ? 1 : (sizes[_i] + 999) / 1000);
    lab_free(l);
}
END_TEST

/* Whatever is lost, repeated or overtaken, and whichever end restarts: each file is there once. _i
 * is the seed. */
START_TEST(files_arrive_whatever_happens)
{
    struct lab *l = lab_new(100 + (uint64_t)_i);
    unsigned steps = 0, restarts = 0;
    l->loss = (unsigned)_i % 40;
    l->twice = 15;
    l->delay = TICK_S << (_i % 6);
    write_file(l->from, "a", 30000 + 777 * (size_t)_i, 1);
    write_file(l->from, "b", 5, 2);
    add_file(l, "a", "a", false);
    add_file(l, "b", "d/b", false);
    while (!files_sender_idle(&l->sender) && step_lab(l)) {
        ck_assert_uint_lt(steps++, 100000);
        if (restarts < 12 && chance(l, 4)) { /* the receiver's process ends, and another begins */
            restarts++;
            files_receiver_fini(&l->receiver);
            begin_receiver(l);
        }
        if (restarts < 12 && chance(l, 2)) { /* the sender's; the bundles are on their way */
            bool resume = chance(l, 50);
            restarts++;
            files_sender_fini(&l->sender);
            begin_sender(l);
            add_file(l, "a", "a", resume);
            add_file(l, "b", "d/b", resume);
        }
    }
    ck_assert_uint_eq(l->failed, 0);
    ck_assert(is_equal(l, "a", "a") && is_equal(l, "b", "d/b"));
    ck_assert(!is_there(l, "a.1") && !is_there(l, "d/b.1"));
    ck_assert_uint_eq(l->receiver.shelf.items.len, 0);
    lab_free(l);
}
END_TEST

/* A sender that begins again sends what is missing, no more. */
START_TEST(resume_sends_what_is_missing)
{
    struct lab *l = lab_new(3);
    write_file(l->from, "x", 40000, 0);
    add_file(l, "x", "x", false);
    pump_sender(l);
    for (int i = 0; i < 25; i++)
        ck_assert(step_lab(l));
    ck_assert_uint_eq(l->receiver.counts.bytes, 25000);
    drop_flights(l);
    files_sender_fini(&l->sender);
    files_receiver_fini(&l->receiver);
    begin_sender(l);
    begin_receiver(l);
    add_file(l, "x", "x", true);
    run_lab(l);
    ck_assert(is_equal(l, "x", "x"));
    ck_assert_uint_eq(l->sender.pieces, 15);
    files_sender_fini(&l->sender);
    begin_sender(l);
    add_file(l, "x", "x", true); /* and nothing of what is whole */
    run_lab(l);
    ck_assert(l->sender.pieces == 0 && l->failed == 0 && l->finished == 1);
    lab_free(l);
}
END_TEST

START_TEST(names_are_kept_apart)
{
    struct lab *l = lab_new(4);
    write_file(l->from, "x", 10, 0);
    write_file(l->from, "y", 10, 9);
    add_file(l, "x", "n", false);
    add_file(l, "y", "n", false); /* another content */
    run_lab(l);
    ck_assert_uint_eq(l->finished, 2);
    ck_assert((is_equal(l, "x", "n") && is_equal(l, "y", "n.1")) ||
              (is_equal(l, "y", "n") && is_equal(l, "x", "n.1")));
    lab_free(l);
}
END_TEST

/* A payload that is not of helio-send. */
static void take_crafted(struct lab *l, const char *name, size_t name_len, uint64_t size,
                         struct files_outcome *out)
{
    uint8_t bytes[FILES_HEAD + 300];
    struct files_head h = {.kind = FILES_PIECE, .flags = FILES_WANT_RECEIPT, .size = size};
    h.name = slice_of(name, name_len);
    h.sha[0] = (uint8_t)rng_u64(&l->rng);
    h.sha[1] = (uint8_t)rng_u64(&l->rng);
    ck_assert(files_id_make(&h, h.id));
    size_t len = files_write(&h, slice_of("x", 1), bytes);
    bytes[len] = 'x';
    ck_assert_int_eq(
        files_receiver_take(&l->receiver, SOURCE, "", slice_of(bytes, len + 1), l->now, out), 0);
    files_shelf_check(&l->receiver.shelf);
}

static uint32_t refusal_of(const struct files_outcome *out)
{
    struct files_head h;
    struct files_receipt r;
    struct slice body;
    ck_assert_int_eq(files_parse(slice_of(out->receipt, out->receipt_len), &h, &body), FILES_OK);
    ck_assert(files_parse_receipt(body, h.size, &r));
    return r.state == FILES_STATE_REFUSED ? r.reason : FILES_REASON_NONE;
}

START_TEST(nothing_leaves_the_folder)
{
    static const char *const names[] = {"../x", "/tmp/x", "a/../../x",
                                        "a\nb", ".ssh/x", FILES_FOLDER "/done"};
    struct lab *l = lab_new(5);
    struct files_outcome out;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        take_crafted(l, names[i], strlen(names[i]), 1, &out);
        ck_assert_uint_eq(refusal_of(&out), FILES_REASON_NAME);
    }
    ck_assert_uint_eq(l->receiver.counts.refused[FILES_REASON_NAME], 6);
    char link[128];
    snprintf(link, sizeof link, "%s/out", l->to);
    ck_assert_int_eq(symlink(l->from, link), 0); /* a folder that leads elsewhere */
    take_crafted(l, "out/x", 5, 1, &out);
    ck_assert(!out.finished);
    ck_assert_uint_eq(l->receiver.counts.wrong,
                      1); /* the SHA-256 is none: it did not come so far */
    write_file(l->from, "y", 10, 0);
    add_file(l, "y", "out/y", false);
    run_lab(l);
    ck_assert_uint_eq(l->failed, 1);
    ck_assert_str_eq(l->why, files_reason_text(FILES_REASON_PLACE));
    ck_assert_uint_eq(l->receiver.counts.refused[FILES_REASON_PLACE], 1);
    ck_assert(!is_there(l, "../from/x") && l->finished == 0);
    lab_free(l);
}
END_TEST

START_TEST(limits_are_kept)
{
    struct lab *l = lab_new(6);
    struct files_outcome out;
    take_crafted(l, "x", 1, (1 << 20) + 1, &out);
    ck_assert_uint_eq(refusal_of(&out), FILES_REASON_SIZE);
    for (int i = 0; i < 8; i++) { /* what is announced takes no room */
        take_crafted(l, "x", 1, 1 << 20, &out);
        ck_assert_uint_eq(out.receipt_len, 0);
    }
    take_crafted(l, "x", 1, 2, &out);
    ck_assert_uint_eq(refusal_of(&out), FILES_REASON_ROOM);
    l->now += 3601 * TICK_S; /* the oldest give way */
    for (int i = 0; i < 8; i++) {
        take_crafted(l, "x", 1, 2, &out);
        ck_assert_uint_eq(out.receipt_len, 0);
    }
    take_crafted(l, "x", 1, 2, &out); /* eight of them */
    ck_assert_uint_eq(refusal_of(&out), FILES_REASON_ROOM);
    ck_assert_uint_eq(l->receiver.shelf.items.len, 8);
    lab_free(l);
}
END_TEST

/* ---- a process that ends within the last steps ---- */

static struct files_item *only_item(struct lab *l)
{
    struct list *first = list_first(&l->receiver.shelf.order);
    ck_assert_ptr_nonnull(first);
    return container_of(first, struct files_item, order);
}

/* All but the last step: the whole is written, and (_i = 1) being placed, and (_i = 2) linked. */
START_TEST(a_whole_file_is_finished_by_the_next)
{
    struct lab *l = lab_new(7);
    char hex[FILES_HEX], path[256], data[256];
    write_file(l->from, "x", 3000, 0);
    add_file(l, "x", "x", false);
    pump_sender(l);
    for (int i = 0; i < 2; i++)
        ck_assert(step_lab(l));
    struct files_item *it = only_item(l);
    struct range gap;
    ck_assert_int_eq(ranges_gap(&it->have, 0, 3000, &gap), 1);
    uint8_t rest[1000];
    for (size_t i = 0; i < 1000; i++)
        rest[i] = (uint8_t)((gap.lo + i) * (gap.lo + i) % 251);
    ck_assert_int_eq(
        files_shelf_write(&l->receiver.shelf, it, gap.lo, slice_of(rest, 1000), l->now), 1);
    if (_i > 0)
        ck_assert_int_eq(files_journal_placing(l->receiver.shelf.state, it, false), 0);
    files_journal_hex(it->key, hex);
    snprintf(path, sizeof path, "%s/x", l->to);
    snprintf(data, sizeof data, "%s/%s/%s", l->to, FILES_FOLDER, hex);
    if (_i > 1)
        ck_assert_int_eq(link(data, path), 0);
    files_receiver_fini(&l->receiver);
    begin_receiver(l);
    ck_assert(is_equal(l, "x", "x") && !is_there(l, "x.1"));
    ck_assert_uint_eq(l->receiver.shelf.items.len, 0);
    ck_assert(files_done_has(
        &l->receiver.shelf.done,
        ((struct files_job *)container_of(list_first(&l->sender.jobs), struct files_job, order))
            ->id));
    run_lab(l); /* and the sender hears of it */
    ck_assert(l->over == 1 && l->failed == 0);
    lab_free(l);
}
END_TEST

/* Parts of two long files are checked in turns, and a short one is finished meanwhile. */
START_TEST(long_files_are_checked_in_turns)
{
    static const char *const names[] = {"x", "y", "z"};
    struct lab *l = lab_new(11);
    struct files_outcome out;
    char from[FILES_SOURCE_MAX];
    unsigned turns = 0;
    l->receiver.shelf.limits.turn_bytes = 1000;
    for (unsigned i = 0; i < 3; i++) {
        write_file(l->from, names[i], i == 2 ? 500 : 3000 + 2000 * i, i);
        add_file(l, names[i], names[i], false);
    }
    pump_sender(l);
    for (int i = 0; i < 12; i++)
        ck_assert(step_lab(l));
    ck_assert(l->finished == 1 && is_equal(l, "z", "z"));
    for (; files_receiver_busy(&l->receiver); turns++) {
        ck_assert_int_eq(files_receiver_turn(&l->receiver, from, &out), 0);
        l->finished += out.finished;
        if (out.finished)
            put_flight(l, true, out.receipt, out.receipt_len);
    }
    ck_assert(turns == 3 + 5 && is_equal(l, "x", "x") && is_equal(l, "y", "y"));
    run_lab(l);
    ck_assert(l->over == 3 && l->failed == 0 && l->finished == 3);
    lab_free(l);
}
END_TEST

/* A journal that ends within a record, or is none. */
START_TEST(torn_journals_are_cut)
{
    struct lab *l = lab_new(8);
    char name[FILES_JOURNAL_NAME], path[256];
    write_file(l->from, "x", 3000, 0);
    add_file(l, "x", "x", false);
    pump_sender(l);
    for (int i = 0; i < 2; i++)
        ck_assert(step_lab(l));
    files_journal_name(only_item(l)->key, name);
    files_receiver_fini(&l->receiver);
    snprintf(path, sizeof path, "%s/%s/%s", l->to, FILES_FOLDER, name);
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(truncate(path, st.st_size - 3), 0);
    begin_receiver(l);
    ck_assert_uint_eq(ranges_bytes(&only_item(l)->have), 1000);
    drop_flights(l);
    run_lab(l);
    ck_assert(is_equal(l, "x", "x") && l->failed == 0);
    write_file(l->to, FILES_FOLDER "/0123456789abcdef0123456789abcdef.log", 50, 1);
    files_receiver_fini(&l->receiver);
    begin_receiver(l);
    ck_assert_uint_eq(l->receiver.shelf.unreadable, 1);
    lab_free(l);
}
END_TEST

START_TEST(one_process_has_a_folder)
{
    struct lab *l = lab_new(9);
    struct files_shelf other;
    ck_assert_int_eq(files_shelf_open(&other, l->to, &l->limits, 1), HELIO_EEXIST);
    files_shelf_close(&other);
    lab_free(l);
}
END_TEST

/* ---- what is wrong with files ---- */

START_TEST(a_file_that_changes_is_told)
{
    struct lab *l = lab_new(10);
    struct slice payload;
    write_file(l->from, "x", 3000, 0);
    add_file(l, "x", "x", false);
    ck_assert(files_sender_next(&l->sender, l->now, &payload));
    write_file(l->from, "x", 3001, 0);
    ck_assert(!files_sender_next(&l->sender, l->now, &payload));
    ck_assert_str_eq(l->why, "it changed while it was sent");
    files_sender_answer(&l->sender, true, l->now);
    add_file(l, "nothing", "y", false);
    ck_assert(!files_sender_next(&l->sender, l->now, &payload));
    ck_assert_str_eq(l->why, "No such file or directory");
    ck_assert(l->failed == 2 && files_sender_idle(&l->sender));
    files_sender_check(&l->sender);
    lab_free(l);
}
END_TEST

START_TEST(nobody_confirms)
{
    struct lab *l = lab_new(11);
    l->loss = 100;
    l->options.wait = 3600 * TICK_S;
    files_sender_fini(&l->sender);
    begin_sender(l);
    write_file(l->from, "x", 3000, 0);
    add_file(l, "x", "x", false);
    run_lab(l);
    ck_assert_str_eq(l->why, "the receiver does not confirm it");
    ck_assert_uint_ge(l->now, 3600 * TICK_S);
    ck_assert_uint_ge(l->sender.questions, 3); /* ever later: no flood */
    ck_assert_uint_le(l->sender.questions, 12);
    lab_free(l);
}
END_TEST

/* What the node refuses, or loses by going away, is given again. */
START_TEST(refused_pieces_go_again)
{
    struct lab *l = lab_new(12);
    struct slice payload;
    unsigned n = 0;
    write_file(l->from, "x", 10000, 0);
    add_file(l, "x", "x", false);
    while (files_sender_next(&l->sender, l->now, &payload)) {
        bool taken = n++ % 3 != 0 || n > 40;
        if (taken)
            put_flight(l, false, payload.data, payload.len);
        if (n == 8)
            files_sender_lost(&l->sender);
        else
            files_sender_answer(&l->sender, taken, l->now);
        files_sender_check(&l->sender);
    }
    run_lab(l);
    ck_assert(is_equal(l, "x", "x") && l->failed == 0);
    ck_assert_uint_ge(l->sender.again, 4);
    lab_free(l);
}
END_TEST

SUITE(tools_files, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, files_arrive, 0, 6);
    tcase_add_loop_test(t, files_arrive_whatever_happens, 0, 40);
    tcase_add_test(t, resume_sends_what_is_missing);
    tcase_add_test(t, names_are_kept_apart);
    tcase_add_test(t, nothing_leaves_the_folder);
    tcase_add_test(t, limits_are_kept);
    tcase_add_test(t, long_files_are_checked_in_turns);
    tcase_add_loop_test(t, a_whole_file_is_finished_by_the_next, 0, 3);
    tcase_add_test(t, torn_journals_are_cut);
    tcase_add_test(t, one_process_has_a_folder);
    tcase_add_test(t, a_file_that_changes_is_told);
    tcase_add_test(t, nobody_confirms);
    tcase_add_test(t, refused_pieces_go_again);
}
