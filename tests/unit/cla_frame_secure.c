/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams over frames with Space Data Link Security, in a virtual world: each kind, two virtual
 * channels of one line, frames that are replayed, altered, clear or out of order, a medium that
 * takes no numbers, and what the configuration refuses. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame_port_help.h"
#include "frames/fecf.h"
#include "tests/unit/suite.h"

static char folder[64];

static void write_text(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(chmod(name, 0600), 0);
}

/* Associations of both directions, whose keys are others, as each end has them. */
static void write_files(const char *what)
{
    char text[512];
    write_text("1.key", "000102030405060708090a0b0c0d0e0f");
    write_text("2.key", "f00102030405060708090a0b0c0d0e0f");
    for (int end = 1; end <= 2; end++) {
        char name[32];
        for (int in = 0; in < 2; in++) {
            const int of = in ? 3 - end : end;
            snprintf(text, sizeof text,
                     "%s: %d%s.note\nassociations:\n  - {spi: %d, vcids: \"0-6\", %s, key_file: "
                     "%d.key}\n",
                     in ? "received" : "numbers", end, in ? ".in" : "", of, what, of);
            snprintf(name, sizeof name, "%d%s", end, in ? ".in" : ".out");
            write_text(name, text);
        }
        snprintf(name, sizeof name, "%d.note", end);
        write_text(name, "new\n");
        snprintf(name, sizeof name, "%d.in.note", end);
        (void)unlink(name);
    }
}

#define GCM "service: authenticated-encryption, algorithm: aes-gcm"
#define CMAC "service: authentication, algorithm: aes-cmac"

static void set_up(void)
{
    strcpy(folder, "/tmp/unit-secure-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    write_files(GCM);
}

static void tear_down(void)
{
    static const char *const names[] = {
        "1.key",       "2.key",       "1.out",          "1.in",          "2.out",
        "2.in",        "1.note",      "2.note",         "1.in.note",     "2.in.note",
        "1.note.lock", "2.note.lock", "1.in.note.lock", "2.in.note.lock"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)unlink(names[i]);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

static struct frame_keys secure_keys(int kind, int end)
{
    static char out[2][8] = {"1.out", "2.out"}, in[2][8] = {"1.in", "2.in"};
    struct frame_keys k = keys_of(kind, 500, 0);
    k.sdls = out[end - 1];
    k.sdls_in = in[end - 1];
    return k;
}

static void open_both(int kind)
{
    struct frame_keys a = secure_keys(kind, 1), b = secure_keys(kind, 2);
    a.segments = b.segments = a.numbers = b.numbers = kind == FRAMES_CLTU || kind == FRAMES_TC;
    begin_world();
    open_end(&w.a, &a, "127.0.0.1:1", "127.0.0.1:2");
    open_end(&w.b, &b, "127.0.0.1:2", "127.0.0.1:1");
}

static uint64_t refused(const struct frame_port_counters *n)
{
    uint64_t sum = 0;
    for (unsigned v = 0; v < SDLS_VERDICT_COUNT; v++)
        sum += v == SDLS_OK_VERDICT ? 0 : n->secure.processed[v];
    return sum;
}

START_TEST(each_kind)
{
    for (int kind = FRAMES_TM; kind <= FRAMES_CLTU; kind++) {
        write_files(kind % 2 == 0 ? GCM : CMAC);
        open_both(kind);
        send_drawn(&w.a, 100);
        send_drawn(&w.b, 100);
        const struct frame_port_counters a = count_of(&w.a), b = count_of(&w.b);
        ck_assert(w.a.got == 100 && w.b.got == 100);
        ck_assert(a.secure.sends && a.secure.receives);
        ck_assert(a.secure.applied[SDLS_OK_VERDICT] == a.sent.frames && a.sent.frames > 50);
        ck_assert_uint_eq(b.secure.processed[SDLS_OK_VERDICT], a.sent.frames);
        ck_assert(refused(&a) + refused(&b) == 0 && b.received.lost == 0);
        if (kind == FRAMES_AOS) /* on the channel each has the whole length */
            ck_assert_uint_eq(frame_port_air(w.a.port).octets, 500 * a.sent.frames);
        end_world();
    }
}
END_TEST

START_TEST(virtual_channels)
{
    static struct end more[2];
    struct frame_keys one = secure_keys(FRAMES_AOS, 1), two = secure_keys(FRAMES_AOS, 2), other;
    memset(more, 0, sizeof more);
    one.out.vcid = two.out.vcid = 6;
    open_both(FRAMES_AOS);
    open_end_at(&more[0], &one, "127.0.0.1:1", "127.0.0.1:2", w.a.port);
    open_end_at(&more[1], &two, "127.0.0.1:2", "127.0.0.1:1", w.b.port);
    send_drawn(&w.a, 50);
    send_drawn(&more[0], 50);
    const struct frame_port_counters b = count_of(&w.b);
    ck_assert(w.b.got == 50 && more[1].got == 50 && refused(&b) == 0);
    ck_assert_uint_eq(b.secure.processed[SDLS_OK_VERDICT], w.flying);
    /* one line has one file for each direction */
    one = other = secure_keys(FRAMES_AOS, 1);
    other.sdls_in = NULL;
    frame_keys_forget(&one);
    frame_keys_forget(&other);
    ck_assert(!frame_keys_share(&one, &other) && one.sdls == NULL);
    for (int i = 0; i < 2; i++)
        port_close(more[i].port, on_closed, &more[i]);
    virtual_fire_soon(&w.v);
    end_world();
}
END_TEST

static void arrive(const struct flight *f)
{
    virtual_arrive(virtual_port_at(&w.v, f->port), &f->from, slice_of(f->bytes, f->len));
    run_world();
}

/* Once more, in another order, altered: nothing of it is read, and the log has a line of each
 * reason in a minute. */
START_TEST(third_party)
{
    open_both(FRAMES_AOS);
    send_drawn(&w.a, 60);
    const size_t flying = w.flying;
    for (size_t i = 0; i < flying; i++)
        arrive(&w.flight[i]);
    for (size_t i = 0; i < flying; i++) {
        struct flight f = w.flight[i];
        f.bytes[20 + i % 400] ^= 1;
        const uint16_t check = fecf_crc(FECF_INIT, f.bytes, f.len - 2);
        f.bytes[f.len - 2] = (uint8_t)(check >> 8);
        f.bytes[f.len - 1] = (uint8_t)(check & 0xff);
        arrive(&f);
    }
    const struct frame_port_counters b = count_of(&w.b);
    ck_assert_uint_eq(w.b.got, 60);
    ck_assert_uint_eq(b.secure.processed[SDLS_OK_VERDICT], flying);
    ck_assert_uint_eq(b.secure.processed[SDLS_REPLAYED_VERDICT], flying);
    ck_assert_uint_eq(b.secure.processed[SDLS_MAC_VERDICT], flying);
    ck_assert_uint_eq(b.verdicts[FRAME_OK_VERDICT], flying);
    const char *first = strstr(w.b.said, "so far, replayed)");
    ck_assert(first != NULL && strstr(first + 1, "so far, replayed)") == NULL);
    ck_assert_ptr_nonnull(strstr(w.b.said, "(1 so far, mac): their MAC is wrong"));
    end_world();
}
END_TEST

/* A control command of TC has no security: none passes as data, whatever it has. */
START_TEST(clear_frames)
{
    const struct frame_format f = {.kind = FRAME_TC, .length = 500, .fecf = 2, .segments = true};
    const struct frame t = {
        .kind = FRAME_TC, .scid = 0xab, .vcid = 5, .bypass = true, .command = true};
    open_both(FRAMES_TC);
    send_drawn(&w.a, 5);
    struct flight clear = w.flight[0];
    clear.len = frame_write_tc(&f, &t,
                               slice_of("\xe4\x04"
                                        "ab",
                                        4),
                               clear.bytes, sizeof clear.bytes);
    arrive(&clear);
    const struct frame_port_counters b = count_of(&w.b);
    ck_assert(w.b.got == 5 && b.secure.processed[SDLS_CLEAR_VERDICT] == 1);
    ck_assert_uint_eq(b.received.frames, w.flying);
    ck_assert_ptr_nonnull(strstr(w.b.said, "so far, clear): they have no security"));
    end_world();
}
END_TEST

/* Numbers that cannot be noted: nothing leaves, and nothing that arrives is accepted. */
START_TEST(no_medium)
{
    open_both(FRAMES_AOS);
    ck_assert_int_eq(mkdir("1.note.new", 0700), 0);
    send_bytes(&w.a, "abc", 3);
    ck_assert(udp_flush(w.a.port->io));
    run_world();
    struct frame_port_counters n = count_of(&w.a);
    ck_assert(w.flying == 0 && n.line.dropped == 1 && n.wire.out == 0);
    ck_assert_uint_eq(n.secure.applied[SDLS_NUMBERS_VERDICT], 1);
    ck_assert_ptr_nonnull(strstr(w.a.said, "0 frames are not sent (1 so far, numbers)"));
    ck_assert_int_eq(rmdir("1.note.new"), 0);
    ck_assert_int_eq(mkdir("2.in.note.new", 0700), 0);
    send_drawn(&w.a, 5);
    n = count_of(&w.b);
    ck_assert(w.b.got == 0 && w.flying > 0);
    ck_assert_uint_eq(n.secure.processed[SDLS_NUMBERS_VERDICT], w.flying);
    ck_assert_int_eq(rmdir("2.in.note.new"), 0);
    end_world();
}
END_TEST

static int renew(struct end *e, int end, bool *changed, char why[FRAME_SECURE_WHY])
{
    struct frame_keys k = secure_keys(FRAMES_AOS, end);
    struct frame_port_config c;
    frame_keys_config(&k, &c);
    return frame_port_renew(e->port, &c, changed, why, FRAME_SECURE_WHY);
}

static void renew_well(struct end *e, int end, bool changes)
{
    char why[FRAME_SECURE_WHY] = "";
    bool changed;
    ck_assert_msg(renew(e, end, &changed, why) == 0, "%s", why);
    ck_assert(changed == changes);
}

static void refuse_renewal(struct end *e, int end, const char *hint)
{
    char why[FRAME_SECURE_WHY] = "";
    bool changed;
    ck_assert_int_lt(renew(e, end, &changed, why), 0);
    ck_assert_msg(strstr(why, hint) != NULL, "%s", why);
    ck_assert(!changed);
}

#define FILE_OF(note) note "\nassociations:\n"
#define OLD "  - {spi: 1, vcids: \"0-6\", " GCM ", key_file: 1.key}\n"
#define NEW "  - {spi: 9, vcids: \"0-6\", " GCM ", key_file: 3.key}\n"

static unsigned spi_of(size_t flight)
{
    return (unsigned)w.flight[flight].bytes[6] << 8 | w.flight[flight].bytes[7];
}

/* A key is replaced while frames flow: both at the receiver, then the sender, then the old one
 * goes. What is wrong changes nothing. Frames of the old key are refused at the end, and counted.
 */
START_TEST(renewal)
{
    write_text("3.key", "ff0102030405060708090a0b0c0d0e0f");
    open_both(FRAMES_AOS);
    renew_well(&w.a, 1, false);
    send_drawn(&w.a, 30);
    write_text("1.out", FILE_OF("numbers: 1.note") OLD "  - {spi: 0}\n");
    refuse_renewal(&w.a, 1, "1.out:4: associations.");
    write_text("1.out", FILE_OF("numbers: 1.note") "  - {spi: 1, vcids: \"0-6\", " CMAC
                                                   ", key_file: 3.key}\n");
    refuse_renewal(&w.a, 1, "instead of");
    write_text("1.out", FILE_OF("numbers: 1.note") "  - {spi: 1, vcids: \"0-6\", " GCM
                                                   ", key_file: 2.key}\n");
    refuse_renewal(&w.a, 1, "each direction needs its own");
    send_drawn(&w.a, 30); /* as before */
    const size_t before = w.flying;
    ck_assert(w.b.got == 60 && spi_of(before - 1) == 1);
    write_text("2.in", FILE_OF("received: 2.in.note") OLD NEW);
    renew_well(&w.b, 2, true);
    send_drawn(&w.a, 10); /* the old key's numbers go on at both ends */
    write_text("1.out", FILE_OF("numbers: 1.note") NEW OLD);
    renew_well(&w.a, 1, true);
    renew_well(&w.a, 1, false);
    const size_t first = w.flying;
    send_drawn(&w.a, 30);
    ck_assert(w.b.got == 100 && spi_of(first - 1) == 1 && spi_of(first) == 9);
    write_text("2.in", FILE_OF("received: 2.in.note") NEW);
    renew_well(&w.b, 2, true);
    send_drawn(&w.a, 30);
    struct frame_port_counters n = count_of(&w.b);
    ck_assert(w.b.got == 130 && refused(&n) == 0);
    ck_assert_uint_eq(n.secure.processed[SDLS_OK_VERDICT], w.flying); /* counts go on */
    write_text("1.out", FILE_OF("numbers: 1.note") OLD NEW);
    renew_well(&w.a, 1, true);
    const size_t last = w.flying;
    send_drawn(&w.a, 5);
    n = count_of(&w.b);
    ck_assert(w.b.got == 130 && n.secure.processed[SDLS_SPI_VERDICT] == w.flying - last);
    end_world();
    (void)unlink("3.key");
}
END_TEST

/* The note cannot be written: nothing is sent, or accepted, until a renewal succeeds; no number is
 * used twice. */
START_TEST(renewal_without_medium)
{
    write_text("3.key", "ff0102030405060708090a0b0c0d0e0f");
    open_both(FRAMES_AOS);
    send_drawn(&w.a, 10);
    write_text("1.out", FILE_OF("numbers: 1.note") OLD NEW);
    ck_assert_int_eq(mkdir("1.note.new", 0700), 0);
    refuse_renewal(&w.a, 1, "1.note");
    const size_t before = w.flying;
    send_drawn(&w.a, 5);
    ck_assert_uint_eq(w.flying, before);
    ck_assert_int_eq(rmdir("1.note.new"), 0);
    renew_well(&w.a, 1, true);
    write_text("2.in", FILE_OF("received: 2.in.note") OLD NEW);
    ck_assert_int_eq(mkdir("2.in.note.new", 0700), 0);
    refuse_renewal(&w.b, 2, "2.in.note");
    send_drawn(&w.a, 5);
    struct frame_port_counters n = count_of(&w.b);
    ck_assert(w.b.got == 10 && n.secure.processed[SDLS_NUMBERS_VERDICT] == w.flying - before);
    ck_assert_int_eq(rmdir("2.in.note.new"), 0);
    renew_well(&w.b, 2, true);
    send_drawn(&w.a, 20);
    n = count_of(&w.b);
    ck_assert(w.b.got == 30 && n.secure.processed[SDLS_REPLAYED_VERDICT] == 0);
    end_world();
    (void)unlink("3.key");
}
END_TEST

static void assert_refused(const struct frame_keys *k, const char *expected, const char *hint)
{
    const char *key = "";
    char why[300] = "";
    ck_assert_int_eq(frame_keys_check(k, &key, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(key, expected);
    ck_assert_msg(strstr(why, hint) != NULL, "%s", why);
}

START_TEST(keys)
{
    char reverse[] = "2.out", numbers[] = "other.note", none[] = "none";
    const struct frame_keys good = secure_keys(FRAMES_AOS, 1);
    struct frame_keys k = good;
    const char *key;
    char why[300];
    ck_assert_int_eq(frame_keys_check(&k, &key, why, sizeof why), 0);
    ck_assert_int_ne(access("1.note.lock", F_OK), 0); /* a check leaves nothing */
    k.out.vcid = 9;
    assert_refused(&k, "frames.sdls", "1.out: no association has virtual channel 9");
    k = good, k.in.vcid = 9;
    assert_refused(&k, "frames.sdls_in", "1.in: no association has virtual channel 9");
    k = good, k.sdls = reverse;
    assert_refused(&k, "frames.sdls_in", "the key of SPI 2 is that of SPI 2 in frames.sdls");
    k = good, k.sdls = none;
    assert_refused(&k, "frames.sdls", "none");
    k = good, k.sdls_numbers = numbers;
    assert_refused(&k, "frames.sdls", "echo new > other.note");
    k = good, k.sdls = NULL, k.sdls_numbers = numbers;
    assert_refused(&k, "frames.sdls_numbers", "counts only with frames.sdls");
    k = good, k.out.kind = FRAMES_OFF;
    assert_refused(&k, "frames.sdls", "write frames: too");
    k = good, k.out.length = 40;
    assert_refused(&k, "frames.sdls", "too short");
    k = secure_keys(FRAMES_TM, 1);
    k.out.vcid = 5;
    k.idle = TICK_S;
    ck_assert_int_eq(frame_keys_check(&k, &key, why, sizeof why), 0);
    k = secure_keys(FRAMES_TC, 1);
    struct frame_keys clear = k;
    clear.sdls = NULL;
    ck_assert_uint_eq(frame_keys_mtu(&k) + SDLS_OVERHEAD_MAX, frame_keys_mtu(&clear));
}
END_TEST

SUITE(cla_frame_secure, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, each_kind);
    tcase_add_test(t, virtual_channels);
    tcase_add_test(t, third_party);
    tcase_add_test(t, clear_frames);
    tcase_add_test(t, no_medium);
    tcase_add_test(t, renewal);
    tcase_add_test(t, renewal_without_medium);
    tcase_add_test(t, keys);
}
