/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of the kernel's world: all bytes in order over UNIX and TCP, back-pressure, ends, places
 * where nobody is, and no descriptors left. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "os/net/address.h"
#include "os/uv_world.h"
#include "tests/unit/suite.h"

#define PIECE 10000

/* One end: it may have something to write, and counts what comes. */
struct end {
    struct rig *rig;
    struct stream *stream; /* NULL: closed */
    size_t to_write, written, wanted, come;
    size_t stop_at; /* reading stops when so much has come */
    bool wrong, ended, stopped;
    int error;
    unsigned writable;
    int urgent; /* the octet; -1: to be waited for, without reading; 0: nobody waits */
    uint8_t room[PIECE];
};

struct rig {
    struct world *world;
    struct stream_listener *listener;
    struct alarm alarm;
    struct end client, server;
    unsigned accepted;
    bool reads; /* who waits for the urgent octet reads as well */
    int raw;    /* a client of its own */
    int keeper; /* has the port, so that nobody else gets it; -1: none */
    char path[64];
};

static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 7 + i / 251);
}

static void end_close(struct end *e)
{
    if (e->stream != NULL)
        stream_close(e->stream);
    e->stream = NULL;
}

/* All is over: what is open is closed, and the loop runs out. */
static void finish(void *context)
{
    struct rig *r = context;
    end_close(&r->client);
    end_close(&r->server);
    if (r->listener != NULL)
        stream_unlisten(r->listener);
    r->listener = NULL;
    alarm_fini(&r->alarm);
    uv_world_end(r->world);
}

static void write_more(struct end *e)
{
    uint8_t bytes[2 * PIECE];
    while (e->written < e->to_write) {
        size_t want = e->to_write - e->written;
        want = want < sizeof bytes ? want : sizeof bytes;
        for (size_t i = 0; i < want; i++)
            bytes[i] = byte_at(e->written + i);
        struct slice parts[3] = {slice_of(bytes, want / 3), slice_of(bytes + want / 3, 0),
                                 slice_of(bytes + want / 3, want - want / 3)};
        size_t got = stream_write(e->stream, parts, 3);
        ck_assert_uint_le(got, want);
        e->written += got;
        if (got < want)
            return;
    }
}

static uint8_t *space(void *context, size_t *len)
{
    struct end *e = context;
    *len = sizeof e->room;
    return e->room;
}

static void fed(void *context, size_t len)
{
    struct end *e = context;
    ck_assert(!e->stopped && len >= 1 && len <= sizeof e->room);
    for (size_t i = 0; i < len; i++)
        e->wrong = e->wrong || e->room[i] != byte_at(e->come + i);
    e->come += len;
    if (e->stop_at > 0 && e->come >= e->stop_at) {
        e->stop_at = 0;
        e->stopped = true;
        stream_read(e->stream, false);
        alarm_set(&e->rig->alarm, world_now(e->rig->world) + 50 * TICK_MS);
    } else if (e->wanted > 0 && e->come >= e->wanted) {
        finish(e->rig);
    }
}

static void writable(void *context)
{
    struct end *e = context;
    e->writable++;
    write_more(e);
}

static void ended(void *context, int error)
{
    struct end *e = context;
    ck_assert(!e->ended);
    e->ended = true;
    e->error = error;
    finish(e->rig);
}

static const struct stream_user user = {space, fed, writable, ended};

/* It comes though nothing else is read; then the rest may come. */
static void urgent(void *context, uint8_t octet)
{
    struct end *e = context;
    e->urgent = octet;
    ck_assert_uint_eq(e->come, 0);
    stream_read(e->stream, true);
}

static void accepted(void *context, struct stream *s)
{
    struct rig *r = context;
    r->accepted++;
    if (r->server.stream != NULL) {
        stream_close(s);
        return;
    }
    r->server.stream = s;
    stream_use(s, &user, &r->server);
    if (r->server.urgent != 0)
        stream_on_urgent(s, urgent);
    stream_read(s, r->server.urgent == 0 || r->reads);
    write_more(&r->server);
}

/* From the alarm: both ends are there and all is written. Else it goes off once more, however long
 * the machine takes. */
static bool is_settled(struct rig *r)
{
    if (r->accepted > 0 && r->client.written == r->client.to_write)
        return true;
    alarm_set(&r->alarm, world_now(r->world) + 20 * TICK_MS);
    return false;
}

/* The slow reader has waited: now it reads on. What the other could write meanwhile is limited. */
static void read_on(void *context)
{
    struct rig *r = context;
    struct end *slow = &r->server;
    ck_assert_uint_lt(r->client.written, r->client.to_write);
    ck_assert_uint_ge(r->client.written, slow->come);
    slow->stopped = false;
    stream_read(slow->stream, true);
}

static struct rig *rig_new(void)
{
    struct rig *r = calloc(1, sizeof *r);
    ck_assert_int_eq(uv_world_open(&r->world), 0);
    r->client.rig = r->server.rig = r;
    alarm_init(&r->alarm, r->world, ALARM_APP, finish, r);
    r->keeper = -1;
    snprintf(r->path, sizeof r->path, "/tmp/os-stream-%d", (int)getpid());
    (void)unlink(r->path); /* of a process that was killed */
    return r;
}

static void rig_free(struct rig *r)
{
    ck_assert_int_eq(uv_world_free(r->world), 0); /* no handle is left */
    ck_assert(!r->client.wrong && !r->server.wrong);
    if (r->keeper >= 0)
        close(r->keeper);
    free(r);
}

static void open_both(struct rig *r, const struct stream_place *at)
{
    ck_assert_int_eq(stream_listen(r->world, &r->listener, at, accepted, r), 0);
    ck_assert_int_eq(stream_connect(r->world, &r->client.stream, at, &user, &r->client), 0);
    stream_read(r->client.stream, true);
    write_more(&r->client);
}

START_TEST(all_comes_in_order)
{
    struct rig *r = rig_new();
    struct stat st;
    r->client.to_write = r->server.wanted = 5000000;
    open_both(r, &(struct stream_place){.path = r->path});
    uv_world_run(r->world);
    ck_assert_uint_eq(r->server.come, 5000000);
    ck_assert_uint_gt(r->client.writable, 0);
    ck_assert(stat(r->path, &st) != 0 && errno == ENOENT); /* the file goes with the listener */
    rig_free(r);
}
END_TEST

/* A port where nobody listens, and which nobody else is given: a socket that does not listen keeps
 * it beside one that does, since both may share it (SO_REUSEADDR). */
static struct address free_port(struct rig *r)
{
    struct address a;
    const int one = 1;
    ck_assert_int_eq(address_of("127.0.0.1", 0, &a), 0);
    r->keeper = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(r->keeper, 0);
    ck_assert_int_eq(setsockopt(r->keeper, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
    ck_assert_int_eq(bind(r->keeper, &a.sa, address_len(&a)), 0);
    ck_assert_int_eq(address_bound(r->keeper, &a), 0);
    return a;
}

START_TEST(tcp_both_ways)
{
    struct rig *r = rig_new();
    struct address address = free_port(r);
    r->client.to_write = 3000000;
    r->server.to_write = r->client.wanted = 4000000;
    open_both(r, &(struct stream_place){.address = &address});
    ck_assert_uint_eq(r->client.written, 0); /* not connected yet */
    uv_world_run(r->world);
    ck_assert_uint_eq(r->client.come, 4000000);
    ck_assert_uint_gt(r->client.written, 0);
    rig_free(r);
}
END_TEST

/* Reno is in every kernel; a stream that is no TCP has none. */
START_TEST(congestion_control)
{
    struct rig *r = rig_new();
    struct address address = free_port(r);
    r->client.to_write = r->server.wanted = 100000;
    open_both(r, &(struct stream_place){.address = &address});
    ck_assert_int_eq(stream_congestion(r->client.stream, "reno"), 0);
    ck_assert_uint_eq(stream_unheard(r->client.stream), 0);
    ck_assert_int_eq(stream_congestion(r->client.stream, "tomorrows"), helio_from_errno(ENOENT));
    uv_world_run(r->world);
    ck_assert_uint_eq(r->server.come, 100000);
    rig_free(r);
    r = rig_new();
    r->client.to_write = r->server.wanted = 1000;
    open_both(r, &(struct stream_place){.path = r->path});
    ck_assert_int_lt(stream_congestion(r->client.stream, "reno"), 0);
    uv_world_run(r->world);
    ck_assert_uint_eq(r->server.come, 1000);
    rig_free(r);
}
END_TEST

START_TEST(who_does_not_read_is_not_flooded)
{
    struct rig *r = rig_new();
    r->client.to_write = r->server.wanted = 20000000;
    r->server.stop_at = 1000;
    r->alarm.fire = read_on;
    open_both(r, &(struct stream_place){.path = r->path});
    uv_world_run(r->world);
    ck_assert_uint_eq(r->server.come, 20000000);
    rig_free(r);
}
END_TEST

static void close_client(void *context)
{
    struct rig *r = context;
    if (is_settled(r))
        end_close(&r->client);
}

/* What was written before comes before the end. */
START_TEST(the_end_comes_last)
{
    struct rig *r = rig_new();
    r->client.to_write = 70000;
    r->alarm.fire = close_client;
    open_both(r, &(struct stream_place){.path = r->path});
    alarm_set(&r->alarm, world_now(r->world) + 20 * TICK_MS);
    uv_world_run(r->world);
    ck_assert(r->server.ended && r->server.error == 0);
    ck_assert_uint_eq(r->server.come, r->client.written);
    rig_free(r);
}
END_TEST

/* A write to a peer that has closed is no error of the call: the loop reports the end. */
START_TEST(a_write_to_nobody)
{
    struct rig *r = rig_new();
    open_both(r, &(struct stream_place){.path = r->path});
    stream_read(r->client.stream, false);
    stream_unlisten(r->listener); /* with the connection not accepted yet */
    r->listener = NULL;
    r->client.to_write = 100;
    write_more(&r->client);
    ck_assert(!r->client.ended);
    uv_world_run(r->world);
    ck_assert(r->client.ended);
    ck_assert_int_lt(r->client.error, 0);
    rig_free(r);
}
END_TEST

START_TEST(nobody_there)
{
    struct rig *r = rig_new();
    struct stream_listener *other;
    struct stream_place at = {.path = r->path};
    struct address address = free_port(r);
    ck_assert_int_eq(stream_connect(r->world, &r->client.stream, &at, &user, &r->client),
                     helio_from_errno(ENOENT));
    ck_assert_ptr_null(r->client.stream);
    ck_assert_int_eq(stream_listen(r->world, &r->listener, &at, accepted, r), 0);
    ck_assert_int_eq(stream_listen(r->world, &other, &at, accepted, r),
                     helio_from_errno(EADDRINUSE));
    char longer[200] = {0};
    memset(longer, 'x', sizeof longer - 1);
    at.path = longer;
    ck_assert_int_eq(stream_listen(r->world, &other, &at, accepted, r),
                     helio_from_errno(ENAMETOOLONG));
    at = (struct stream_place){.address = &address};
    ck_assert_int_eq(stream_connect(r->world, &r->client.stream, &at, &user, &r->client), 0);
    uv_world_run(r->world);
    ck_assert(r->client.ended);
    ck_assert_int_eq(r->client.error, helio_from_errno(ECONNREFUSED));
    rig_free(r);
}
END_TEST

static void write_urgent(void *context)
{
    struct rig *r = context;
    struct slice more = slice_of("x", 1);
    if (!is_settled(r))
        return;
    ck_assert_int_eq(stream_urgent(r->client.stream, 0x84), 0);
    ck_assert_uint_eq(stream_write(r->client.stream, &more, 1), 0);
}

/* The urgent octet overtakes what is not read, is not among it, and ends the stream. */
START_TEST(the_urgent_octet)
{
    struct rig *r = rig_new();
    struct address address = free_port(r);
    r->client.to_write = 70000;
    r->server.urgent = -1;
    r->alarm.fire = write_urgent;
    open_both(r, &(struct stream_place){.address = &address});
    alarm_set(&r->alarm, world_now(r->world) + 20 * TICK_MS);
    uv_world_run(r->world);
    ck_assert_int_eq(r->server.urgent, 0x84);
    ck_assert(r->server.ended && r->server.error == 0);
    ck_assert_uint_eq(r->server.come, 70000);
    rig_free(r);
}
END_TEST

static void reset_client(void *context)
{
    struct rig *r = context;
    if (!is_settled(r))
        return;
    stream_reset(r->client.stream);
    r->client.stream = NULL;
}

START_TEST(a_reset_is_no_end)
{
    struct rig *r = rig_new();
    struct address address = free_port(r);
    r->alarm.fire = reset_client;
    open_both(r, &(struct stream_place){.address = &address});
    alarm_set(&r->alarm, world_now(r->world) + 20 * TICK_MS);
    uv_world_run(r->world);
    ck_assert(r->server.ended);
    ck_assert_int_eq(r->server.error, helio_from_errno(ECONNRESET));
    rig_free(r);
}
END_TEST

/* Urgent data and then a reset, before the other end looks, which does not read. */
static void urge_and_reset(void *context)
{
    struct rig *r = context;
    const struct linger at_once = {.l_onoff = 1};
    if (!is_settled(r))
        return;
    ck_assert_int_eq(send(r->raw, "x", 1, MSG_OOB), 1);
    ck_assert_int_eq(setsockopt(r->raw, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    ck_assert_int_eq(close(r->raw), 0);
}

/* The octet is gone, but not the reset: it is told, and the loop does not go round for ever. */
START_TEST(a_reset_behind_the_urgent_octet)
{
    for (int reading = 0; reading < 2; reading++) {
        struct rig *r = rig_new();
        struct address address = free_port(r);
        struct stream_place at = {.address = &address};
        r->server.urgent = -1;
        r->raw = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_ge(r->raw, 0);
        ck_assert_int_eq(stream_listen(r->world, &r->listener, &at, accepted, r), 0);
        ck_assert_int_eq(connect(r->raw, &address.sa, address_len(&address)), 0);
        r->reads = reading != 0;
        r->alarm.fire = urge_and_reset;
        alarm_set(&r->alarm, world_now(r->world) + 20 * TICK_MS);
        uv_world_run(r->world);
        ck_assert(r->server.ended && r->server.urgent == -1);
        ck_assert_int_eq(r->server.error, helio_from_errno(ECONNRESET));
        rig_free(r);
    }
}
END_TEST

/* Without descriptors a connection is ended, instead of being offered for ever. */
START_TEST(out_of_descriptors)
{
    struct rig *r = rig_new();
    struct rlimit before, few;
    open_both(r, &(struct stream_place){.path = r->path});
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    int highest = dup(0);
    close(highest);
    few = (struct rlimit){(rlim_t)highest, before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    uv_world_run(r->world);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_uint_eq(r->accepted, 0);
    ck_assert(r->client.ended && r->client.error == 0);
    rig_free(r);
}
END_TEST

static struct rlimit usual;
static unsigned rounds;

/* Long after the connection came: now there are descriptors again, and it is accepted. */
static void give_descriptors(void *context)
{
    struct rig *r = context;
    if (r->keeper < 0) {
        r->keeper = 0;
        ck_assert_uint_eq(r->accepted, 0);
        ck_assert_uint_lt(rounds, 50);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
    }
    if (r->accepted == 0)
        alarm_set(&r->alarm, world_now(r->world) + 20 * TICK_MS);
    else
        finish(r);
}

static bool count_round(void *context)
{
    (void)context;
    rounds++;
    return false;
}

static void allow_descriptors(int more)
{
    int highest = dup(0);
    close(highest);
    const struct rlimit few = {(rlim_t)(highest + more), usual.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
}

static void end_flood(void *context)
{
    finish(context);
}

/* A flood of connections that find no descriptor leaves the loop in peace: they are turned away, or
 * wait, and are counted. */
START_TEST(flood_without_descriptors)
{
    enum { FLOOD = 200 };
    struct rig *r = rig_new();
    const struct stream_place at = {.path = r->path};
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int flood[FLOOD];
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
    memcpy(to.sun_path, r->path, strlen(r->path) + 1);
    ck_assert_int_eq(stream_listen(r->world, &r->listener, &at, accepted, r), 0);
    for (int i = 0; i < FLOOD; i++) {
        flood[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        ck_assert_int_eq(connect(flood[i], (struct sockaddr *)&to, sizeof to), 0);
    }
    allow_descriptors(0);
    alarm_fini(&r->alarm);
    alarm_init(&r->alarm, r->world, ALARM_APP, end_flood, r);
    alarm_set(&r->alarm, world_now(r->world) + 450 * TICK_MS);
    struct round_end count = {.run = count_round};
    rounds = 0;
    world_attach(r->world, &count);
    uv_world_run(r->world);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
    ck_assert_uint_eq(r->accepted, 0);
    ck_assert_uint_lt(rounds, 50);
    ck_assert_uint_ge(r->world->no_descriptor, 2);
    for (int i = 0; i < FLOOD; i++)
        close(flood[i]);
    r->keeper = -1;
    rig_free(r);
}
END_TEST

/* Not even the one in reserve: the connection waits, and the loop is not kept busy. */
START_TEST(no_descriptor_in_reserve)
{
    struct rig *r = rig_new();
    const struct stream_place at = {.path = r->path};
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
    memcpy(to.sun_path, r->path, strlen(r->path) + 1);
    allow_descriptors(1);
    ck_assert_int_eq(stream_listen(r->world, &r->listener, &at, accepted, r), 0);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
    r->raw = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(r->raw, (struct sockaddr *)&to, sizeof to), 0);
    allow_descriptors(0);
    alarm_fini(&r->alarm);
    alarm_init(&r->alarm, r->world, ALARM_APP, give_descriptors, r);
    alarm_set(&r->alarm, world_now(r->world) + 400 * TICK_MS);
    struct round_end count = {.run = count_round};
    world_attach(r->world, &count);
    uv_world_run(r->world);
    ck_assert_uint_eq(r->accepted, 1);
    r->keeper = -1;
    close(r->raw);
    rig_free(r);
}
END_TEST

SUITE(os_stream, t)
{
    tcase_add_test(t, all_comes_in_order);
    tcase_add_test(t, tcp_both_ways);
    tcase_add_test(t, congestion_control);
    tcase_add_test(t, who_does_not_read_is_not_flooded);
    tcase_add_test(t, the_end_comes_last);
    tcase_add_test(t, a_write_to_nobody);
    tcase_add_test(t, nobody_there);
    tcase_add_test(t, the_urgent_octet);
    tcase_add_test(t, a_reset_is_no_end);
    tcase_add_test(t, a_reset_behind_the_urgent_octet);
    tcase_add_test(t, out_of_descriptors);
    tcase_add_test(t, flood_without_descriptors);
    tcase_add_test(t, no_descriptor_in_reserve);
}
