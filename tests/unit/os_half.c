/* SPDX-License-Identifier: Apache-2.0 */
/* Half an end: the peer has ended its writing, and the stream goes on the other way; a reset after
 * it is told, too, though nothing is read any more. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "os/net/address.h"
#include "os/uv_world.h"
#include "tests/unit/suite.h"

struct rig {
    struct world *world;
    struct stream_listener *listener;
    struct stream *stream;
    struct alarm alarm;
    int raw; /* the peer: a socket of its own */
    size_t come, half;
    bool ended, resets;
    int error;
    uint8_t room[1000];
};

static void finish(void *context)
{
    struct rig *r = context;
    if (r->stream != NULL)
        stream_close(r->stream);
    stream_unlisten(r->listener);
    alarm_fini(&r->alarm);
    uv_world_end(r->world);
}

static uint8_t *space(void *context, size_t *len)
{
    struct rig *r = context;
    *len = sizeof r->room;
    return r->room;
}

static void fed(void *context, size_t len)
{
    ((struct rig *)context)->come += len;
}

static void writable(void *context)
{
    (void)context;
}

static void ended(void *context, int error)
{
    struct rig *r = context;
    r->ended = true;
    r->error = error;
    finish(r);
}

/* Ends its own writing, too, or waits for the reset. */
static void half(void *context)
{
    struct rig *r = context;
    struct slice answer = slice_of("answer", 6);
    r->half++;
    ck_assert_uint_eq(r->come, 8);
    if (r->resets) {
        const struct linger at_once = {.l_onoff = 1};
        ck_assert_int_eq(setsockopt(r->raw, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
        close(r->raw);
        return;
    }
    ck_assert_uint_eq(stream_write(r->stream, &answer, 1), 6);
    ck_assert_int_eq(stream_finish(r->stream), 0);
    ck_assert_uint_eq(stream_write(r->stream, &answer, 1), 0);
    alarm_set(&r->alarm, world_now(r->world) + 50 * TICK_MS);
}

static void urgent(void *context, uint8_t octet)
{
    (void)context;
    ck_abort_msg("no urgent octet was sent: %u", octet);
}

static const struct stream_user user = {space, fed, writable, ended};

static void accepted(void *context, struct stream *s)
{
    struct rig *r = context;
    r->stream = s;
    stream_use(s, &user, r);
    stream_on_half(s, half);
    stream_on_urgent(s, urgent);
    stream_read(s, true);
}

static struct rig *run(bool resets)
{
    struct rig *r = calloc(1, sizeof *r);
    struct address a = {0};
    r->resets = resets;
    ck_assert_int_eq(uv_world_open(&r->world), 0);
    alarm_init(&r->alarm, r->world, ALARM_APP, finish, r);
    int rc = -1;
    for (uint16_t port = 40000; rc < 0 && port < 60000; port++) {
        ck_assert_int_eq(address_of("127.0.0.1", port, &a), 0);
        rc = stream_listen(r->world, &r->listener, &(struct stream_place){.address = &a}, accepted,
                           r);
    }
    ck_assert_int_eq(rc, 0);
    r->raw = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(r->raw, &a.sa, address_len(&a)), 0);
    ck_assert_int_eq(send(r->raw, "question", 8, 0), 8);
    ck_assert_int_eq(shutdown(r->raw, SHUT_WR), 0);
    uv_world_run(r->world);
    ck_assert_int_eq(uv_world_free(r->world), 0);
    ck_assert_uint_eq(r->half, 1);
    return r;
}

START_TEST(the_other_way_goes_on)
{
    char answer[20];
    struct rig *r = run(false);
    ck_assert(!r->ended);
    ck_assert_int_eq(recv(r->raw, answer, sizeof answer, MSG_WAITALL), 6);
    ck_assert_mem_eq(answer, "answer", 6);
    close(r->raw);
    free(r);
}
END_TEST

START_TEST(a_reset_behind_half_an_end)
{
    struct rig *r = run(true);
    ck_assert(r->ended);
    ck_assert_int_eq(r->error, helio_from_errno(EPIPE)); /* as Linux calls it then */
    free(r);
}
END_TEST

SUITE(os_half, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, the_other_way_goes_on);
    tcase_add_test(t, a_reset_behind_half_an_end);
}
