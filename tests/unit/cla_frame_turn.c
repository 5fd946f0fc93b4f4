/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a wire a turn reads, in a virtual world: frames that nobody can use end no later than
 * others do, what is left comes in later turns without further traffic, and last of all the one
 * frame that is good. Each alarm, and each arrival, is a turn at most. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame_port_help.h"
#include "tests/unit/suite.h"

enum { LENGTH = 100, BAD = 900, CHUNK = 65536, JUNK = 1 << 20 };

/* What arrives. */
static uint8_t stream[JUNK + 4096];
static size_t stream_len;
static char path[] = "/tmp/helio_frames_XXXXXX";

static struct frame_keys short_keys(enum frame_code_kind code, int wire)
{
    struct frame_keys k = keys_of(FRAMES_AOS, LENGTH, 0);
    k.cadu = (int)code;
    k.cadu_interleave = 1;
    k.cadu_randomise = FRAME_CODE_SHORT;
    k.cadu_marker_errors = 4;
    k.wire = wire;
    return k;
}

static void add_octets(const void *data, size_t len)
{
    ck_assert_uint_le(stream_len + len, sizeof stream);
    memcpy(stream + stream_len, data, len);
    stream_len += len;
}

/* The frame, or CADU, of one datagram; a's port is closed again. */
static struct slice make_unit(const struct frame_keys *k)
{
    struct frame_keys udp = *k;
    udp.wire = FRAME_WIRE_UDP;
    udp.marker = false;
    udp.replay = NULL;
    begin_world();
    open_end(&w.a, &udp, "127.0.0.1:1", "127.0.0.1:2");
    open_end(&w.b, &udp, "127.0.0.1:2", "127.0.0.1:1");
    w.sent[w.sent_len++] = (struct datagram){.len = 10, .bytes = "0123456789"};
    send_bytes(&w.a, "0123456789", 10);
    ck_assert(udp_flush(w.a.port->io));
    ck_assert_uint_eq(w.flying, 1);
    return slice_of(w.flight[0].bytes, w.flight[0].len);
}

/* `bad` units that are damaged beyond what can be corrected, then the good one. */
static size_t make_stream(struct slice unit, size_t bad)
{
    uint8_t wrong[2048];
    stream_len = 0;
    memcpy(wrong, unit.data, unit.len);
    for (size_t i = 8; i < unit.len - 2; i++)
        wrong[i] ^= (uint8_t)(1 + i * 37 % 251);
    for (size_t i = 0; i < bad; i++)
        add_octets(wrong, unit.len);
    add_octets(unit.data, unit.len);
    return bad;
}

static uint64_t read_of(const struct end *e)
{
    struct frame_port_counters n = count_of(e);
    uint64_t sum = n.line.cadu_erred;
    for (unsigned v = 0; v < FRAME_VERDICT_COUNT; v++)
        sum += n.verdicts[v];
    return sum;
}

/* Until nothing is due: the turns that read units. */
static unsigned run_turns(const struct end *e)
{
    unsigned turns = 0;
    while (virtual_due(&w.v) != TICK_NEVER) {
        const uint64_t before = read_of(e);
        virtual_advance(&w.v, virtual_due(&w.v));
        virtual_fire(&w.v);
        (void)world_end_round(&w.v.world);
        const uint64_t read = read_of(e) - before;
        ck_assert_uint_le(read, FRAME_TURN_UNITS);
        turns += read > 0;
    }
    return turns;
}

/* One datagram holds them all: CADUs that Reed-Solomon cannot correct, and frames whose check
 * values are wrong. */
START_TEST(datagrams)
{
    for (int code = FRAME_CODE_UNCODED; code <= FRAME_CODE_RS_223; code++) {
        struct frame_keys k = short_keys((enum frame_code_kind)code, FRAME_WIRE_UDP);
        struct slice unit = make_unit(&k);
        size_t bad = make_stream(unit, 60000 / unit.len);
        ck_assert_uint_gt(bad, FRAME_TURN_UNITS + 100);
        udp_arrive(virtual_port_at(&w.v, 2)->port.io, &w.a.self, slice_of(stream, stream_len));
        struct port *inner = &virtual_port_at(&w.v, 2)->port;
        inner->ready(inner->context, true, false);
        ck_assert_uint_gt(read_of(&w.b), 0);
        ck_assert_uint_le(read_of(&w.b), FRAME_TURN_UNITS);
        ck_assert(!virtual_port_at(&w.v, 2)->watched); /* what was read goes first */
        ck_assert_uint_ge(run_turns(&w.b), bad / FRAME_TURN_UNITS);
        ck_assert(w.b.got == 1 && virtual_port_at(&w.v, 2)->watched);
        ck_assert_uint_eq(read_of(&w.b), bad + 1);
        end_world();
    }
}
END_TEST

static uint8_t *no_space(void *context, size_t *len)
{
    *len = 1;
    return context;
}

static void no_octets(void *context, size_t len)
{
    (void)context;
    (void)len;
}

static void no_word(void *context)
{
    (void)context;
}

static void no_end(void *context, int error)
{
    (void)context;
    (void)error;
}

static void close_end(struct end *e)
{
    port_close(e->port, on_closed, e);
    virtual_fire_soon(&w.v);
    ck_assert(e->closed);
}

START_TEST(connections)
{
    static const struct stream_user user = {no_space, no_octets, no_word, no_end};
    static uint8_t nothing[1];
    static struct end ground;
    for (int code = FRAME_CODE_OFF; code <= FRAME_CODE_UNCODED; code++) {
        struct frame_keys k = short_keys((enum frame_code_kind)code, FRAME_WIRE_LISTEN);
        struct slice unit = make_unit(&k);
        size_t bad = make_stream(unit, BAD);
        struct stream *s;
        memset(&ground, 0, sizeof ground);
        open_end(&ground, &k, "127.0.0.1:3", "127.0.0.1:1");
        struct stream_place at = {.address = &ground.self};
        ck_assert_int_eq(stream_connect(&w.v.world, &s, &at, &user, nothing), 0);
        run_turns(&ground);
        struct slice all = slice_of(stream, stream_len);
        ck_assert_uint_eq(stream_write(s, &all, 1), stream_len);
        ck_assert_uint_ge(run_turns(&ground), bad / FRAME_TURN_UNITS);
        ck_assert_uint_eq(ground.got, 1);
        ck_assert_uint_eq(read_of(&ground), bad + 1);
        stream_close(s);
        run_turns(&ground);
        close_end(&ground);
        end_world();
    }
}
END_TEST

static void write_file(void)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(stream, 1, stream_len, f), stream_len);
    ck_assert_int_eq(fclose(f), 0);
}

static void begin_file(void)
{
    memcpy(path + strlen(path) - 6, "XXXXXX", 6);
    int fd = mkstemp(path);
    ck_assert(fd >= 0 && close(fd) == 0);
}

START_TEST(recordings)
{
    static struct end ground;
    begin_file();
    for (int code = FRAME_CODE_OFF; code <= FRAME_CODE_RS_223; code++) {
        struct frame_keys k = short_keys((enum frame_code_kind)code, FRAME_WIRE_FILE);
        struct slice unit = make_unit(&k);
        size_t bad = make_stream(unit, BAD);
        memset(&ground, 0, sizeof ground);
        write_file();
        k.replay = path;
        open_end(&ground, &k, "127.0.0.1:3", "127.0.0.1:1");
        ck_assert_uint_eq(read_of(&ground), 0);
        ck_assert_uint_ge(run_turns(&ground), bad / FRAME_TURN_UNITS);
        ck_assert_uint_eq(ground.got, 1);
        ck_assert_uint_eq(read_of(&ground), bad + 1);
        close_end(&ground);
        end_world();
    }
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* Frames that are good are read in turns, too. */
START_TEST(good_frames)
{
    static struct end ground;
    struct frame_keys k = short_keys(FRAME_CODE_OFF, FRAME_WIRE_UDP);
    begin_file();
    begin(&k);
    stream_len = 0;
    for (; w.sent_len < SENT_MAX; w.sent_len++) {
        w.sent[w.sent_len] = (struct datagram){.len = 2, .bytes = {(uint8_t)w.sent_len, 'x'}};
        send_bytes(&w.a, w.sent[w.sent_len].bytes, 2);
        ck_assert(udp_flush(w.a.port->io));
        add_octets(w.flight[w.sent_len].bytes, w.flight[w.sent_len].len);
    }
    write_file();
    w.arrived = w.flying;
    k.wire = FRAME_WIRE_FILE;
    k.replay = path;
    memset(&ground, 0, sizeof ground);
    open_end(&ground, &k, "127.0.0.1:3", "127.0.0.1:1");
    ck_assert_uint_ge(run_turns(&ground), SENT_MAX / FRAME_TURN_UNITS);
    ck_assert_uint_eq(ground.got, SENT_MAX);
    close_end(&ground);
    end_world();
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

static uint64_t skipped_of(const struct end *e)
{
    return count_of(e).wire.skipped_bytes;
}

/* Octets without a marker: nothing is read at the beginning, and later a chunk in a turn; at a rate
 * they take as long as frames do. */
START_TEST(no_marker)
{
    static const uint8_t marker[FRAME_ASM_LEN] = {0x1a, 0xcf, 0xfc, 0x1d};
    static struct end ground;
    begin_file();
    for (uint64_t rate = 0; rate <= 8000000; rate += 8000000) {
        struct frame_keys k = short_keys(FRAME_CODE_OFF, FRAME_WIRE_FILE);
        struct slice unit = make_unit(&k);
        memset(stream, 0x1a, JUNK);
        stream_len = JUNK;
        add_octets(marker, sizeof marker);
        add_octets(unit.data, unit.len);
        write_file();
        k.marker = true;
        k.replay = path;
        k.replay_rate = rate;
        memset(&ground, 0, sizeof ground);
        const tick begun = w.v.now;
        open_end(&ground, &k, "127.0.0.1:3", "127.0.0.1:1");
        ck_assert_uint_eq(skipped_of(&ground), 0);
        while (virtual_due(&w.v) != TICK_NEVER) {
            const uint64_t before = skipped_of(&ground);
            virtual_advance(&w.v, virtual_due(&w.v));
            virtual_fire(&w.v);
            ck_assert_uint_le(skipped_of(&ground) - before, CHUNK);
        }
        ck_assert_uint_eq(ground.got, 1);
        ck_assert_uint_eq(skipped_of(&ground), JUNK);
        const tick took = rate == 0 ? 0 : JUNK * 8 * (TICK_S / rate);
        ck_assert(w.v.now - begun >= took && w.v.now - begun < took + TICK_MS);
        close_end(&ground);
        end_world();
    }
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* A port's turn ends before what was read, and it does not read any more, or closes: another one of
 * its line goes on. */
START_TEST(another_goes_on)
{
    static struct end first, second;
    begin_file();
    for (int closes = 0; closes < 2; closes++) {
        struct frame_keys other = short_keys(FRAME_CODE_OFF, FRAME_WIRE_FILE), k = other;
        struct slice unit = make_unit(&k);
        make_stream(unit, BAD);
        write_file();
        other.out.vcid = 9;
        other.replay = k.replay = path;
        memset(&first, 0, sizeof first);
        memset(&second, 0, sizeof second);
        open_end(&first, &other, "127.0.0.1:3", "127.0.0.1:1");
        open_end_at(&second, &k, "127.0.0.1:3", "127.0.0.1:1", first.port);
        port_watch(second.port, false, false);
        while (read_of(&first) == 0)
            virtual_fire(&w.v);
        ck_assert_uint_le(read_of(&first), FRAME_TURN_UNITS);
        port_watch(second.port, true, false);
        if (closes == 1)
            port_close(first.port, on_closed, &first);
        else
            port_watch(first.port, false, false);
        run_turns(&second);
        ck_assert_uint_eq(second.got, 1);
        if (closes == 0)
            close_end(&first);
        close_end(&second);
        end_world();
    }
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

static void assert_refused(const char *replay, const char *hint)
{
    struct frame_keys k = short_keys(FRAME_CODE_OFF, FRAME_WIRE_FILE);
    struct frame_port_config c;
    struct port *none;
    const char *key = "";
    char why[300] = "", name[64];
    snprintf(name, sizeof name, "%s", replay);
    k.replay = name;
    ck_assert_int_eq(frame_keys_check(&k, &key, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(key, "frames.replay");
    ck_assert_msg(strstr(why, name) != NULL && strstr(why, hint) != NULL, "%s", why);
    frame_keys_config(&k, &c); /* and what has become so since */
    ck_assert_int_eq(address_parse("127.0.0.1:3", &c.wire.local), 0);
    ck_assert_int_eq(address_parse("127.0.0.1:1", &c.wire.remote), 0);
    ck_assert_int_ne(frame_port_open(&w.v.world, &none, &c, NULL, on_ready, NULL), 0);
}

/* A pipe would stop the loop until a writer writes to it. */
START_TEST(no_recording)
{
    begin_world();
    begin_file();
    ck_assert_int_eq(unlink(path), 0);
    assert_refused(path, "No such file");
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    assert_refused(path, "a pipe");
    ck_assert_int_eq(unlink(path), 0);
    assert_refused("/tmp", "a directory");
    assert_refused("/dev/zero", "a device");
    virtual_fini(&w.v);
}
END_TEST

SUITE(cla_frame_turn, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, datagrams);
    tcase_add_test(t, connections);
    tcase_add_test(t, recordings);
    tcase_add_test(t, good_frames);
    tcase_add_test(t, no_marker);
    tcase_add_test(t, another_goes_on);
    tcase_add_test(t, no_recording);
}
