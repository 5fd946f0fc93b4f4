/* SPDX-License-Identifier: Apache-2.0 */
/* A link whose process does not run for a while. The peer is a socket of the test, which answers
 * when the test wants it; the stalls are the test's own, longer than any timer. */
#include <arpa/inet.h>
#include <check.h>
#include <string.h>
#include <unistd.h>

#include "ltp/segment.h"
#include "tests/unit/stalls.h"
#include "uv_scene.h"

#define LONG_MS 60000 /* what waits so long does not come */

/* Node 1's link; what it sends comes to `fd`, by which the answers go. */
struct stall {
    struct scene *w;
    int fd;
    struct sockaddr_in to;
};

static struct stall stall_new(const char *const *pairs)
{
    struct stall s = {.w = scene_new("127.0.0.1", pairs), .fd = socket(AF_INET, SOCK_DGRAM, 0)};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    at.sin_port = htons(address_port(&s.w->b.config.udp.local));
    ck_assert_int_eq(bind(s.fd, (struct sockaddr *)&at, sizeof at), 0);
    s.to = at;
    s.to.sin_port = htons(address_port(&s.w->a.config.udp.local));
    end_open(s.w, &s.w->a, 1, 2);
    return s;
}

static void stall_free(struct stall *s)
{
    close(s->fd);
    scene_free(s->w);
}

/* The next checkpoint that is there: its segment without data, with the length of the block. */
static bool next_checkpoint(const struct stall *s, struct ltp_segment *out)
{
    static uint8_t bytes[2000];
    for (;;) {
        ssize_t n = recv(s->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n <= 0)
            return false;
        ck_assert_int_eq(segment_parse(out, bytes, (size_t)n), VERDICT_OK);
        if (segment_is_data(out) && out->type >= LTP_RED_CP && out->type <= LTP_RED_CP_EOB)
            return true;
    }
}

static void await_checkpoint(const struct stall *s, struct ltp_segment *out)
{
    bool came = false;
    RUN_UNTIL(s->w, (came = next_checkpoint(s, out)), LONG_MS);
    ck_assert(came);
}

static void send_report(const struct stall *s, const struct ltp_segment *cp)
{
    struct range all = {0, cp->offset + cp->data.len};
    struct ltp_segment r = {.type = LTP_RS,
                            .id = cp->id,
                            .rpt_serial = 77,
                            .cp_serial = cp->cp_serial,
                            .upper = all.hi,
                            .claim_count = 1};
    uint8_t bytes[100];
    size_t len = segment_write_report(&r, &all, bytes, sizeof bytes);
    ck_assert_uint_gt(len, 0);
    ck_assert_int_eq(sendto(s->fd, bytes, len, 0, (const struct sockaddr *)&s->to, sizeof s->to),
                     (ssize_t)len);
}

/* Each of the two below is played again when the machine stalled, too, which no program can tell
 * from what the test does: one that is undisturbed is enough. */
#define PLAYS 50

static bool held_once(bool (*play)(void))
{
    bool held = false, stalled = true;
    for (int i = 0; i < PLAYS && !held && stalled; i++) {
        struct stalls stalls;
        stalls_begin(&stalls);
        held = play();
        stalled = stalls_end(&stalls);
    }
    return held;
}

/* The timer ran out before the answer came, and the process saw neither: the answer counts. */
static bool waiting_answer_counts(void)
{
    struct stall s = stall_new((const char *const[]){"recovery", "plain", NULL});
    struct ltp_segment cp, again;
    s.w->size_max = 500;
    s.w->a.total = 1;
    end_send(&s.w->a);
    await_checkpoint(&s, &cp);
    usleep(100000); /* twice the timer */
    send_report(&s, &cp);
    RUN_UNTIL(s.w, s.w->a.sent_ok == 1, LONG_MS);
    ck_assert_uint_eq(s.w->a.sent_ok, 1);
    bool was_read_first = !next_checkpoint(&s, &again);
    stall_free(&s);
    return was_read_first;
}

START_TEST(what_waits_is_read_first)
{
    ck_assert(held_once(waiting_answer_counts));
}
END_TEST

/* Nobody ran, the peer neither: after it the timer goes on where it was. */
static bool timer_stands_still(void)
{
    struct stall s = stall_new((const char *const[]){"recovery", "plain", "rate", "1Mbit/s",
                                                     "segment", "500B", "slack", "1ms", NULL});
    struct ltp_segment cp, again;
    s.w->size_max = 100;
    s.w->a.total = 1;
    end_send(&s.w->a);
    await_checkpoint(&s, &cp);
    s.w->size_max = 100000; /* now it wants to run each 4 ms, and no other checkpoint is near */
    s.w->a.total = 2;
    end_send(&s.w->a);
    RUN_UNTIL(s.w, false, 6);
    usleep(100000);
    RUN_UNTIL(s.w, false, 10);
    uint64_t late = rig_status(s.w->a.link, "late_ns");
    uint64_t lost = rig_status(s.w->a.link, "credit_lost");
    bool stood = !next_checkpoint(&s, &again) && late >= 80 * TICK_MS &&
                 rig_status(s.w->a.link, "late_wakeups") >= 1 && lost >= 80 * 125 && /* a ms */
                 lost <= late / 8000 + 1000;
    if (stood) { /* but no answer is no answer */
        await_checkpoint(&s, &again);
        ck_assert(again.id.number == cp.id.number);
        send_report(&s, &cp);
        RUN_UNTIL(s.w, s.w->a.sent_ok == 1, LONG_MS);
        ck_assert_uint_eq(s.w->a.sent_ok, 1);
    }
    stall_free(&s);
    return stood;
}

START_TEST(time_in_which_we_did_not_run)
{
    ck_assert(held_once(timer_stands_still));
}
END_TEST

/* Answers what comes once more. */
static bool is_done(const struct stall *s)
{
    struct ltp_segment again;
    if (s->w->a.sent_ok == 0 && next_checkpoint(s, &again))
        send_report(s, &again);
    return s->w->a.sent_ok == 1;
}

/* Who sends without end does not stop the timers: some of what floods in is read first, no more. */
START_TEST(a_flood_does_not_stop_timers)
{
    struct stall s = stall_new((const char *const[]){"recovery", "plain", NULL});
    struct ltp_segment cp, again;
    uint8_t junk[1400] = {0xff};
    s.w->size_max = 500;
    s.w->a.total = 1;
    end_send(&s.w->a);
    await_checkpoint(&s, &cp);
    uint64_t end = uv_hrtime() + 60 * TICK_S;
    bool repeated = false;
    while (!repeated && uv_hrtime() < end) {
        for (int i = 0; i < 2000; i++)
            (void)sendto(s.fd, junk, sizeof junk, MSG_DONTWAIT, (const struct sockaddr *)&s.to,
                         sizeof s.to);
        uv_run(s.w->loop, UV_RUN_NOWAIT);
        repeated = next_checkpoint(&s, &again);
    }
    ck_assert(repeated);
    send_report(&s, &cp); /* which may find no room behind the flood */
    RUN_UNTIL(s.w, is_done(&s), LONG_MS);
    ck_assert_uint_eq(s.w->a.sent_ok, 1);
    stall_free(&s);
}
END_TEST

static void send_data(const struct stall *s, uint64_t number, int type, uint64_t offset)
{
    struct ltp_segment d = {.type = (uint8_t)type,
                            .id = {2, number},
                            .client_service = 1,
                            .offset = offset,
                            .data = slice_of("0123456789", 10),
                            .cp_serial = 5};
    uint8_t bytes[100];
    size_t len = segment_write(&d, bytes, sizeof bytes);
    ck_assert_uint_gt(len, 0);
    ck_assert_int_eq(sendto(s->fd, bytes, len, 0, (const struct sockaddr *)&s->to, sizeof s->to),
                     (ssize_t)len);
}

static bool report_came(const struct stall *s)
{
    uint8_t bytes[2000];
    struct ltp_segment r;
    ssize_t n = recv(s->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    return n > 0 && segment_parse(&r, bytes, (size_t)n) == VERDICT_OK && r.type == LTP_RS;
}

/* After data that want no answer the socket is not read for a while, and then it is, though nothing
 * else happens; also for the checkpoint. Looked at again when the machine stalled in between. */
START_TEST(data_gather_in_the_socket)
{
    bool waited = false;
    for (uint64_t n = 1; n <= 50 && !waited; n++) {
        struct stall s = stall_new((const char *const[]){"gather", "10ms", NULL});
        RUN_UNTIL(s.w, false, 5);
        send_data(&s, n, LTP_RED, 0);
        RUN_UNTIL(s.w, rig_status(s.w->a.link, "segments_rx") == 1, LONG_MS);
        uint64_t first = uv_hrtime(); /* it came alone: the next one is read at once, too */
        send_data(&s, n, LTP_RED, 10);
        uv_run(s.w->loop, UV_RUN_NOWAIT);
        uv_run(s.w->loop, UV_RUN_NOWAIT);
        ck_assert_uint_eq(rig_status(s.w->a.link, "segments_rx"), 2);
        uint64_t read = uv_hrtime();
        send_data(&s, n, LTP_RED, 20);
        uv_run(s.w->loop, UV_RUN_NOWAIT);
        uv_run(s.w->loop, UV_RUN_NOWAIT);
        uint64_t came = rig_status(s.w->a.link, "segments_rx"), now = uv_hrtime();
        waited = now < read + 5 * TICK_MS && now < first + 30 * TICK_MS && came == 2;
        RUN_UNTIL(s.w, rig_status(s.w->a.link, "segments_rx") == 3, LONG_MS);
        ck_assert_uint_eq(rig_status(s.w->a.link, "segments_rx"), 3);
        send_data(&s, n, LTP_RED_CP_EOB, 30);
        RUN_UNTIL(s.w, report_came(&s), LONG_MS);
        ck_assert_uint_eq(rig_status(s.w->a.link, "segments_rx"), 4);
        RUN_UNTIL(s.w, false, 100); /* nothing more: then an arrival is read at once again */
        uint64_t calls = rig_status(s.w->a.link, "socket_calls_rx");
        RUN_UNTIL(s.w, false, 30);
        ck_assert_uint_le(rig_status(s.w->a.link, "socket_calls_rx"), calls + 3);
        stall_free(&s);
    }
    ck_assert(waited);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ltp-udp late");
    TCase *t = tcase_create("late");
    tcase_set_timeout(t, 300); /* what does not arrive is reported before */
    tcase_add_test(t, what_waits_is_read_first);
    tcase_add_test(t, time_in_which_we_did_not_run);
    tcase_add_test(t, a_flood_does_not_stop_timers);
    tcase_add_test(t, data_gather_in_the_socket);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
