/* SPDX-License-Identifier: Apache-2.0 */
/* Security associations from files, and their numbers over restarts, kills and damage. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "cla/framed/sdls_file.h"
#include "cla/framed/sdls_numbers.h"
#include "tests/unit/suite.h"

static const struct frame_format tc = {.kind = FRAME_TC, .length = 256, .fecf = 2};
static char folder[64], said[2048];

static void note_line(const char *line)
{
    strncat(said, line, sizeof said - strlen(said) - 2);
    strcat(said, "\n");
}

static void set_up(void)
{
    strcpy(folder, "/tmp/unit-sdls-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    *said = '\0';
}

static void tear_down(void)
{
    static const char *const names[] = {"k",     "k2", "s.yaml", "n",     "n.lock",
                                        "n.new", "r",  "r.lock", "t.yaml"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(names[i]);
    ck_assert_int_eq(chdir("/"), 0);
    rmdir(folder);
}

static void write_text(const char *name, const char *text, mode_t mode)
{
    FILE *f = fopen(name, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(chmod(name, mode), 0);
}

static void read_text(const char *name, char *out, size_t cap)
{
    FILE *f = fopen(name, "r");
    ck_assert_ptr_nonnull(f);
    out[fread(out, 1, cap - 1, f)] = '\0';
    fclose(f);
}

static void write_good(const char *association)
{
    char text[512];
    write_text("k", "000102030405060708090a0b0c0d0e0f\n", 0600);
    write_text("k2", "f00102030405060708090a0b0c0d0e0f\n", 0600);
    snprintf(text, sizeof text, "numbers: n\nreceived: r\nassociations:\n  - {%s}\n", association);
    write_text("s.yaml", text, 0644);
    if (access("n", F_OK) != 0)
        write_text("n", "new\n", 0600);
}

#define GCM "spi: 7, vcids: 3, service: authenticated-encryption, algorithm: aes-gcm, key_file: k"
#define CMAC "spi: 7, vcids: 3, service: authentication, algorithm: aes-cmac, key_file: k"

static struct sdls_file *open_file(enum sdls_file_use use)
{
    struct sdls_file *f;
    *said = '\0';
    ck_assert_msg(sdls_file_open(&f, "s.yaml", use, &tc, note_line) == 0, "%s", said);
    return f;
}

static void close_file(struct sdls_file *f)
{
    ck_assert_msg(sdls_file_close(f, note_line) == 0, "%s", said);
}

static enum sdls_verdict send_frame(struct sdls_file *f, uint8_t out[256], size_t *len)
{
    uint8_t frame[64];
    const struct frame t = {.kind = FRAME_TC, .scid = 1, .vcid = 3, .bypass = true};
    size_t n = frame_write_tc(&tc, &t, slice_of("0123456789", 10), frame, sizeof frame);
    return sdls_apply(&f->sdls, slice_of(frame, n), out, 256, len);
}

START_TEST(all_keys)
{
    write_good("spi: 9, vcids: \"1,3-5\", service: authenticated-encryption, algorithm: aes-gcm, "
               "key_file: k, iv: 12, sequence: 4, pad: 1, mac: 16, sender: 4294967295, window: 7, "
               "mask: ff00ff");
    struct sdls_file *f = open_file(SDLS_FILE_SEND);
    const struct sdls_association *a = f->sdls.at;
    ck_assert(f->sdls.len == 1 && a->spi == 9 && a->vcids == 0x3a && a->key_len == 16);
    ck_assert(a->service == SDLS_AUTHENTICATED_ENCRYPTION && a->algorithm == SDLS_GCM);
    ck_assert(a->iv_len == 12 && a->sequence_len == 4 && a->pad_len == 1 && a->mac_len == 16);
    ck_assert(a->sender == UINT32_MAX && a->window == 7 && a->key[15] == 15);
    ck_assert(a->mask[0] == 0xff && a->mask[1] == 0 && a->mask[2] == 0xff && a->mask[3] == 0);
    close_file(f);
    write_good(CMAC);
    f = open_file(SDLS_FILE_RECEIVE);
    a = f->sdls.at;
    ck_assert(a->iv_len == 0 && a->sequence_len == 4 && a->mac_len == 16 && a->window == 1000000);
    close_file(f);
    write_good(GCM);
    f = open_file(SDLS_FILE_RECEIVE);
    ck_assert(f->sdls.at->iv_len == 12 && f->sdls.at->sequence_len == 0);
    close_file(f);
}
END_TEST

static const struct {
    const char *association, *says;
} wrong[] = {
    {"spi: 0, vcids: 3, service: authentication, algorithm: aes-cmac, key_file: k", "spi"},
    {"spi: 7, vcids: 64, service: authentication, algorithm: aes-cmac, key_file: k",
     "'64': expected virtual channels"},
    {"spi: 7, vcids: 5-3, service: authentication, algorithm: aes-cmac, key_file: k", "5-3"},
    {"spi: 7, vcids: 3 4, service: authentication, algorithm: aes-cmac, key_file: k", "3 4"},
    {"spi: 7, vcids: 3, service: encryption, algorithm: aes-gcm, key_file: k", "service"},
    {"spi: 7, vcids: 3, service: authentication, algorithm: aes-ccm, key_file: k", "algorithm"},
    {"spi: 7, vcids: 3, service: authenticated-encryption, algorithm: aes-cmac, key_file: k",
     "s.yaml:4: associations: spi 7: aes-gcm alone encrypts"},
    {"spi: 7, vcids: 3, service: authentication, algorithm: aes-cmac", "key_file"},
    {"spi: 7, vcids: 3, service: authentication, algorithm: aes-cmac, key_file: none",
     "none: No such file"},
    {CMAC ", mask: 0g", "mask: '0g'"},
    {CMAC ", mac: 17", "8 to 16 octets"},
    {CMAC ", pad: 1", "pad length"},
    {CMAC ", window: 0", "window"},
    {CMAC ", colour: red", "colour"},
    {GCM "}\n  - {spi: 8, vcids: 4, service: authentication, algorithm: aes-gcm, key_file: k",
     "s.yaml:5: associations: spi 8: another association of aes-gcm has this key"},
    {GCM "}\n  - {spi: 7, vcids: 4, service: authentication, algorithm: aes-gcm, key_file: k2",
     "another association has this SPI"},
};

START_TEST(wrong_files)
{
    struct sdls_file *f;
    write_good(wrong[_i].association);
    ck_assert_int_lt(sdls_file_open(&f, "s.yaml", SDLS_FILE_SEND, &tc, note_line), 0);
    ck_assert_ptr_null(f);
    ck_assert_msg(strstr(said, wrong[_i].says) != NULL, "%s", said);
    ck_assert_int_eq(strncmp(said, "s.yaml:", 7), 0);
    char text[128];
    read_text("n", text, sizeof text);
    ck_assert_str_eq(text, "new\n"); /* nothing was noted */
}
END_TEST

static void expect_refusal(const char *says)
{
    struct sdls_file *f;
    *said = '\0';
    ck_assert_int_lt(sdls_file_open(&f, "s.yaml", SDLS_FILE_SEND, &tc, note_line), 0);
    ck_assert_msg(strstr(said, says) != NULL, "%s", said);
}

/* Of a file that has no associations nothing is quoted. */
START_TEST(other_files)
{
    static const char *const others[] = {
        "- a: b\n",           "[a]\n", "a\n", "secret: hunter2\n", "root:hunter2:19000::\n",
        "associations2: []\n"};
    write_text("s.yaml", others[_i], 0600);
    expect_refusal("s.yaml:1: associations: expected at least one");
    ck_assert_ptr_null(strstr(said, "hunter2"));
}
END_TEST

START_TEST(key_files)
{
    write_good(GCM);
    chmod("k", 0604);
    expect_refusal("chmod o= it");
    write_text("k", "0011", 0600);
    expect_refusal("16 or 32 octets");
    write_text("k", "001", 0600);
    expect_refusal("two hexadecimal digits");
    write_text("k", "001122\n3344\n", 0600);
    expect_refusal("one line");
    ck_assert_ptr_null(strstr(said, "001122")); /* nothing of it is shown */
    write_text("s.yaml", "associations: [{" GCM "}]\n", 0600);
    write_text("k", "000102030405060708090a0b0c0d0e0f\n", 0600);
    expect_refusal("numbers: expected a file");
    write_text("s.yaml", "numbers: n\n", 0600);
    expect_refusal("associations: expected at least one");
    write_text("s.yaml", "numbers: no/such/n\nassociations: [{" GCM "}]\n", 0600);
    expect_refusal("its folder cannot be opened");
}
END_TEST

/* A process that ends without a word, as by kill -9, after so many frames. */
static void send_and_die(int frames)
{
    uint8_t out[256];
    size_t len;
    int status;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct sdls_file *f;
        bool good = sdls_file_open(&f, "s.yaml", SDLS_FILE_SEND, &tc, note_line) == 0;
        for (int i = 0; i < frames && good; i++)
            good = send_frame(f, out, &len) == SDLS_OK_VERDICT;
        _exit(good ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

START_TEST(over_restarts)
{
    uint8_t out[256];
    size_t len;
    write_good(GCM);
    struct sdls_file *f = open_file(SDLS_FILE_SEND);
    ck_assert_uint_eq(f->sdls.at->next, 1);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(send_frame(f, out, &len), SDLS_OK_VERDICT);
    expect_refusal("another program uses it");
    close_file(f);
    f = open_file(SDLS_FILE_SEND); /* which gave the rest back */
    ck_assert_uint_eq(f->sdls.at->next, 6);
    close_file(f);
    send_and_die(3);
    f = open_file(SDLS_FILE_SEND);
    ck_assert_uint_eq(f->sdls.at->next, 6 + SDLS_NUMBERS_STEP);
    close_file(f);
    send_and_die(0); /* which has used none */
    /* The same key under another SPI goes on; another key begins. */
    write_good("spi: 8, vcids: 3, service: authentication, algorithm: aes-gcm, key_file: k");
    f = open_file(SDLS_FILE_SEND);
    ck_assert_uint_eq(f->sdls.at->next, 6 + SDLS_NUMBERS_STEP);
    close_file(f);
    write_good("spi: 7, vcids: 3, service: authentication, algorithm: aes-gcm, key_file: k2");
    f = open_file(SDLS_FILE_SEND);
    ck_assert_uint_eq(f->sdls.at->next, 1);
    close_file(f);
    write_good(GCM); /* and the first one is not forgotten meanwhile */
    f = open_file(SDLS_FILE_SEND);
    ck_assert_uint_eq(f->sdls.at->next, 6 + SDLS_NUMBERS_STEP);
    close_file(f);
}
END_TEST

START_TEST(short_sequence)
{
    uint8_t out[256];
    size_t len;
    write_good(CMAC ", sequence: 1");
    send_and_die(3); /* one by one, since 255 are all there are */
    struct sdls_file *f = open_file(SDLS_FILE_SEND);
    ck_assert_uint_eq(f->sdls.at->next, 4);
    for (int i = 4; i < 256; i++)
        ck_assert_int_eq(send_frame(f, out, &len), SDLS_OK_VERDICT);
    ck_assert_int_eq(send_frame(f, out, &len), SDLS_NUMBERS_VERDICT);
    close_file(f);
    f = open_file(SDLS_FILE_SEND);
    ck_assert_int_eq(send_frame(f, out, &len), SDLS_NUMBERS_VERDICT);
    close_file(f);
}
END_TEST

START_TEST(received_over_restarts)
{
    uint8_t sent[3][256], out[256];
    size_t lens[3], len;
    write_good(CMAC);
    struct sdls_file *f = open_file(SDLS_FILE_SEND);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(send_frame(f, sent[i], &lens[i]), SDLS_OK_VERDICT);
    close_file(f);
    f = open_file(SDLS_FILE_RECEIVE);
    ck_assert_int_eq(sdls_process(&f->sdls, slice_of(sent[1], lens[1]), out, 256, &len),
                     SDLS_OK_VERDICT);
    close_file(f);
    f = open_file(SDLS_FILE_RECEIVE);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(sdls_process(&f->sdls, slice_of(sent[i], lens[i]), out, 256, &len),
                         i < 2 ? SDLS_REPLAYED_VERDICT : SDLS_OK_VERDICT);
    close_file(f);
}
END_TEST

static struct sdls_file *open_ahead(bool check)
{
    const struct sdls_file_config c = {
        .path = "s.yaml", .use = SDLS_FILE_RECEIVE_AHEAD, .note = "r", .check = check};
    struct sdls_file *f;
    char why[512] = "";
    ck_assert_msg(sdls_file_read(&f, &c, &tc, why, sizeof why) == 0, "%s", why);
    return f;
}

enum { AHEAD_FRAMES = 200 };

/* Accepts frames [from, to), one each `pause`, and ends without a word. */
static void receive_and_die(uint8_t sent[AHEAD_FRAMES][256], size_t len, int from, int to,
                            tick pause)
{
    int status;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        uint8_t out[256];
        size_t n;
        struct sdls_file *f = open_ahead(false);
        bool good = true;
        for (int i = from; i < to && good; i++) {
            sdls_numbers_time(f->received, (tick)(i + 1) * pause);
            good = sdls_process(&f->sdls, slice_of(sent[i], len), out, 256, &n) == SDLS_OK_VERDICT;
        }
        _exit(good ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

/* After a kill no frame is accepted that was accepted before; what is refused beyond them is as
 * many frames as come in about a second. One that ends well refuses none. */
START_TEST(received_ahead)
{
    static uint8_t sent[AHEAD_FRAMES][256];
    static const struct {
        tick pause;
        int lost_max;
    } rows[] = {{TICK_MS, 255}, {100 * TICK_MS, 20}, {20 * TICK_S, 1}};
    size_t len, n;
    uint8_t out[256];
    write_good(CMAC);
    struct sdls_file *f = open_file(SDLS_FILE_SEND);
    for (int i = 0; i < AHEAD_FRAMES; i++)
        ck_assert_int_eq(send_frame(f, sent[i], &len), SDLS_OK_VERDICT);
    close_file(f);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        (void)unlink("r");
        receive_and_die(sent, len, 0, 100, rows[r].pause);
        f = open_ahead(false);
        sdls_numbers_time(f->received, 0);
        for (int i = 0; i < 100; i++)
            ck_assert_int_eq(sdls_process(&f->sdls, slice_of(sent[i], len), out, 256, &n),
                             SDLS_REPLAYED_VERDICT);
        int lost = 0;
        for (int i = 100; i < AHEAD_FRAMES; i++)
            lost += sdls_process(&f->sdls, slice_of(sent[i], len), out, 256, &n) != SDLS_OK_VERDICT;
        ck_assert_int_le(lost, rows[r].lost_max);
        close_file(f);
    }
    (void)unlink("r");
    f = open_ahead(false);
    ck_assert_int_eq(sdls_process(&f->sdls, slice_of(sent[9], len), out, 256, &n), SDLS_OK_VERDICT);
    close_file(f);
    f = open_ahead(false);
    ck_assert_int_eq(sdls_process(&f->sdls, slice_of(sent[9], len), out, 256, &n),
                     SDLS_REPLAYED_VERDICT);
    ck_assert_int_eq(sdls_process(&f->sdls, slice_of(sent[10], len), out, 256, &n),
                     SDLS_OK_VERDICT);
    struct sdls_file *checked = open_ahead(true); /* what is in use is not locked by a check */
    close_file(checked);
    close_file(f);
}
END_TEST

/* The medium fails: a frame that cannot be noted is not accepted. */
START_TEST(ahead_without_medium)
{
    uint8_t sent[256], out[256];
    size_t len, n;
    write_good(CMAC);
    struct sdls_file *f = open_file(SDLS_FILE_SEND);
    ck_assert_int_eq(send_frame(f, sent, &len), SDLS_OK_VERDICT);
    close_file(f);
    f = open_ahead(false);
    ck_assert_int_eq(mkdir("r.new", 0700), 0);
    ck_assert_int_eq(sdls_process(&f->sdls, slice_of(sent, len), out, 256, &n),
                     SDLS_NUMBERS_VERDICT);
    ck_assert(n == 0 && !f->sdls.at->begun);
    ck_assert_int_eq(rmdir("r.new"), 0);
    ck_assert_int_eq(sdls_process(&f->sdls, slice_of(sent, len), out, 256, &n), SDLS_OK_VERDICT);
    close_file(f);
}
END_TEST

START_TEST(damaged_notes)
{
    char text[128];
    uint8_t out[256];
    size_t len;
    write_good(GCM);
    struct sdls_file *f = open_file(SDLS_FILE_SEND);
    ck_assert_int_eq(send_frame(f, out, &len), SDLS_OK_VERDICT);
    close_file(f);
    read_text("n", text, sizeof text);
    for (size_t i = 0; i < strlen(text); i++) { /* each octet, and each truncation within a line */
        char bad[128];
        strcpy(bad, text);
        bad[i] = '!';
        write_text("n", bad, 0600);
        expect_refusal("it is damaged, so used numbers are not known; replace all keys");
    }
    /* The medium fails when a step is noted: no number is given out. */
    write_text("n", text, 0600);
    f = open_file(SDLS_FILE_SEND);
    ck_assert_int_eq(mkdir("n.new", 0700), 0);
    ck_assert_int_eq(send_frame(f, out, &len), SDLS_NUMBERS_VERDICT);
    ck_assert_uint_eq(len, 0);
    ck_assert_int_lt(sdls_file_close(f, note_line), 0);
    ck_assert_ptr_nonnull(strstr(said, "n: it cannot be written"));
    ck_assert_int_eq(rmdir("n.new"), 0);
}
END_TEST

/* A note that is gone is no new one; nor is one that is empty, or begins with the word. */
START_TEST(missing_notes)
{
    static const char *const texts[] = {"", "new", "new\n\n", "new\nnext 0\n", "old\n"};
    uint8_t out[256];
    size_t len;
    write_good(GCM);
    struct sdls_file *f = open_file(SDLS_FILE_SEND);
    ck_assert_int_eq(send_frame(f, out, &len), SDLS_OK_VERDICT);
    close_file(f);
    ck_assert_int_eq(unlink("n"), 0);
    expect_refusal("s.yaml:1: numbers: n: there is no such file, so used numbers are not known");
    ck_assert_int_ne(access("n", F_OK), 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_text("n", texts[i], 0600);
        expect_refusal("it is damaged, so used numbers are not known");
    }
    write_text("n", "new\n", 0600);
    f = open_file(SDLS_FILE_SEND);
    ck_assert_uint_eq(f->sdls.at->next, 1);
    close_file(f);
    f = open_file(SDLS_FILE_RECEIVE); /* which has none so far */
    close_file(f);
}
END_TEST

/* The names in the file are beside it, wherever the program runs. */
START_TEST(another_working_folder)
{
    static const char *const places[] = {"", "/", "/tmp"};
    uint8_t out[256];
    char path[128], text[128];
    size_t len;
    struct sdls_file *f;
    write_good(GCM);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%ss.yaml", i == 0 ? "" : folder, i == 0 ? "" : "/");
        ck_assert_int_eq(chdir(i == 0 ? folder : places[i]), 0);
        ck_assert_msg(sdls_file_open(&f, path, SDLS_FILE_SEND, &tc, note_line) == 0, "%s", said);
        ck_assert_uint_eq(f->sdls.at->next, i + 1);
        ck_assert_int_eq(send_frame(f, out, &len), SDLS_OK_VERDICT);
        close_file(f);
    }
    ck_assert_int_eq(chdir("/tmp"), 0);
    snprintf(path, sizeof path, "%s/s.yaml", strrchr(folder, '/') + 1);
    ck_assert_msg(sdls_file_open(&f, path, SDLS_FILE_RECEIVE, &tc, note_line) == 0, "%s", said);
    ck_assert_int_eq(sdls_process(&f->sdls, slice_of(out, len), out, 256, &len), SDLS_OK_VERDICT);
    close_file(f);
    ck_assert_int_eq(chdir(folder), 0);
    read_text("r", text, sizeof text);
    ck_assert_uint_gt(strlen(text), 0);
}
END_TEST

SUITE(cla_sdls, t)
{
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, all_keys);
    tcase_add_loop_test(t, wrong_files, 0, sizeof wrong / sizeof *wrong);
    tcase_add_loop_test(t, other_files, 0, 6);
    tcase_add_test(t, key_files);
    tcase_add_test(t, over_restarts);
    tcase_add_test(t, short_sequence);
    tcase_add_test(t, received_over_restarts);
    tcase_add_test(t, received_ahead);
    tcase_add_test(t, ahead_without_medium);
    tcase_add_test(t, damaged_notes);
    tcase_add_test(t, missing_notes);
    tcase_add_test(t, another_working_folder);
}
