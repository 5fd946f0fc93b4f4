/* SPDX-License-Identifier: Apache-2.0 */
/* The bridge between interfaces that are played: whatever they bring, a change and the end have
 * their turn, and what is due leaves meanwhile. */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "channel-emu/emu/emu_bridge.h"
#include "os/clock.h"
#include "tests/unit/suite.h"

#define ENDLESS UINT64_MAX
#define READ_MAX 512 /* frames of one side between two times of letting out */

/* What the first interface brings; the second one nothing. */
static struct {
    uint64_t left; /* so many more frames */
    bool too_long; /* … that cannot pass */
    tick arrival;  /* of all of them; 0: now */
    uint64_t read, read_max, queued, sent;
} played;

struct emu_port {
    int number;
};
static struct emu_port ports[2] = {{0}, {1}};

int emu_port_open(struct emu_port **out, const char *name, enum emu_io io, uint64_t buffer_bytes,
                  FILE *say)
{
    (void)io, (void)buffer_bytes, (void)say;
    *out = &ports[name[0] - '0'];
    return 0;
}

void emu_port_close(struct emu_port *p)
{
    (void)p;
}

const char *emu_port_name(const struct emu_port *p)
{
    return p->number == 0 ? "0" : "1";
}

int emu_port_fd(const struct emu_port *p)
{
    (void)p;
    return -1;
}

int emu_port_receive(struct emu_port *p, tick now, struct emu_frame *out)
{
    static uint8_t data[60];
    (void)now;
    if (p->number != 0 || played.left == 0)
        return 0;
    played.left -= played.left != ENDLESS;
    played.read++;
    played.read_max = played.read > played.read_max ? played.read : played.read_max;
    *out = (struct emu_frame){.data = data,
                              .len = sizeof data,
                              .there = sizeof data,
                              .arrival = played.arrival != 0 ? played.arrival : clock_now(),
                              .too_long = played.too_long};
    return 1;
}

void emu_port_send(struct emu_port *p, const uint8_t *data, size_t len)
{
    (void)p, (void)data, (void)len;
    played.queued++;
}

int emu_port_flush(struct emu_port *p, bool *sent)
{
    (void)p;
    for (uint64_t i = 0; i < played.queued; i++)
        sent[i] = true;
    played.sent += played.queued;
    played.read = played.queued = 0;
    return 0;
}

bool emu_port_exists(const struct emu_port *p)
{
    (void)p;
    return true;
}

uint64_t emu_port_drops(struct emu_port *p)
{
    (void)p;
    return 0;
}

uint64_t emu_port_unsent(const struct emu_port *p)
{
    (void)p;
    return 0;
}

static char control[64], asker[64];

/* A change that waits when the bridge begins. */
static int ask_change(void)
{
    struct sockaddr_un own = {.sun_family = AF_UNIX}, to = own;
    static const char change[] = "forward: {iid: 1}";
    snprintf(own.sun_path, sizeof own.sun_path, "%s", asker);
    snprintf(to.sun_path, sizeof to.sun_path, "%s", control);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    ck_assert_int_ge(fd, 0);
    (void)unlink(asker); /* of a process that was killed */
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&own, sizeof own), 0);
    ck_assert_int_eq(sendto(fd, change, strlen(change), 0, (struct sockaddr *)&to, sizeof to),
                     (int)strlen(change));
    return fd;
}

/* Runs a bridge to which a change is told before it begins, and checks that it was answered. */
static void run_bridge(struct emu_bridge *b, struct emu_bridge_options *o)
{
    char answer[100] = "";
    FILE *say = fopen("/dev/null", "w");
    ck_assert_ptr_nonnull(say);
    *o = (struct emu_bridge_options){.settings = emu_settings_default(), .port_name = {"0", "1"}};
    ck_assert_int_eq(scenario_init(&o->settings.scenario), 0);
    snprintf(control, sizeof control, "/tmp/emu_bridge.%ld.control", (long)getpid());
    snprintf(asker, sizeof asker, "/tmp/emu_bridge.%ld.asker", (long)getpid());
    o->settings.control = control;
    o->settings.duration = 20 * TICK_MS;
    ck_assert_int_eq(emu_bridge_init(b, o, say), 0);
    if (played.arrival != 0)
        played.arrival = b->link.started;
    int fd = ask_change();
    ck_assert_int_eq(emu_bridge_run(b, say), 0);
    ck_assert_int_gt(recv(fd, answer, sizeof answer - 1, MSG_DONTWAIT), 0);
    ck_assert_msg(strncmp(answer, "ok", 2) == 0, "%s", answer);
    close(fd);
    unlink(asker);
    fclose(say);
}

static void end_bridge(struct emu_bridge *b, struct emu_bridge_options *o)
{
    emu_bridge_fini(b);
    scenario_fini(&o->settings.scenario);
}

START_TEST(a_flood_of_what_cannot_pass_ends)
{
    struct emu_bridge b;
    struct emu_bridge_options o;
    played.left = ENDLESS;
    played.too_long = true;
    run_bridge(&b, &o);
    ck_assert_uint_gt(b.link.directions[EMU_FORWARD].too_long, 0);
    end_bridge(&b, &o);
}
END_TEST

START_TEST(stamps_that_stand_still_end)
{
    struct emu_bridge b;
    struct emu_bridge_options o;
    played.left = ENDLESS;
    played.too_long = true;
    played.arrival = 1;
    run_bridge(&b, &o);
    ck_assert_uint_gt(b.link.directions[EMU_FORWARD].too_long, 0);
    end_bridge(&b, &o);
}
END_TEST

START_TEST(frames_leave_while_a_change_waits)
{
    struct emu_bridge b;
    struct emu_bridge_options o;
    played.left = 20 * READ_MAX;
    played.arrival = 1;
    run_bridge(&b, &o);
    ck_assert_uint_eq(played.left, 0);
    ck_assert_uint_eq(played.read_max, READ_MAX);
    ck_assert_uint_eq(played.sent, 20 * READ_MAX); /* all of them came before it */
    end_bridge(&b, &o);
}
END_TEST

SUITE(emu_bridge, t)
{
    tcase_add_test(t, a_flood_of_what_cannot_pass_ends);
    tcase_add_test(t, stamps_that_stand_still_end);
    tcase_add_test(t, frames_leave_while_a_change_waits);
}
