/* SPDX-License-Identifier: Apache-2.0 */
/* Alarms, the end of rounds, and the kernel's world with its ports on loopback. */
#include <string.h>

#include "os/net/udp_io.h"
#include "os/uv_world.h"
#include "tests/unit/suite.h"

static char order[64];

static void note(void *context)
{
    strncat(order, context, sizeof order - strlen(order) - 1);
}

static struct alarm *again, *gone;

static void set_again(void *context)
{
    note(context);
    alarm_set(again, 0);
}

static void end_next(void *context)
{
    note(context);
    alarm_fini(gone);
}

static const struct world_ops none; /* the alarms are told what time it is */

START_TEST(alarms_go_off_by_rank_then_by_making)
{
    struct world w;
    struct alarm app, node, first, second;
    order[0] = '\0';
    world_init(&w, &none, true);
    alarm_init(&app, &w, ALARM_APP, note, "a");
    alarm_init(&first, &w, ALARM_LINK, note, "1");
    alarm_init(&node, &w, ALARM_NODE, note, "n");
    alarm_init(&second, &w, ALARM_LINK, note, "2");
    ck_assert(world_due(&w) == TICK_NEVER);
    alarm_set(&second, 5);
    alarm_set(&app, 5);
    alarm_set(&node, 5);
    alarm_set(&first, 5);
    ck_assert_uint_eq(w.earliest, 5);
    ck_assert_uint_eq(world_fire(&w, 4, 9), 0);
    ck_assert_uint_eq(world_fire(&w, 5, 1), 1);
    ck_assert_str_eq(order, "1");
    ck_assert_uint_eq(w.earliest, 5);
    alarm_set(&node, 6);
    ck_assert_uint_eq(world_fire(&w, 5, 9), 2);
    ck_assert_str_eq(order, "12a");
    ck_assert_uint_eq(w.earliest, 6);
    ck_assert_uint_eq(world_due(&w), 6);
    alarm_set(&node, TICK_NEVER);
    ck_assert_uint_eq(world_fire(&w, TICK_NEVER - 1, 9), 0);
    ck_assert(world_due(&w) == TICK_NEVER);
}
END_TEST

START_TEST(an_alarm_may_set_itself_and_end_others)
{
    struct world w;
    struct alarm a, b, c;
    order[0] = '\0';
    world_init(&w, &none, true);
    alarm_init(&a, &w, ALARM_LINK, set_again, "a");
    alarm_init(&b, &w, ALARM_LINK, end_next, "b");
    alarm_init(&c, &w, ALARM_LINK, note, "c");
    again = &a;
    gone = &c;
    alarm_set(&a, 1);
    alarm_set(&b, 1);
    alarm_set(&c, 1);
    ck_assert_uint_eq(world_fire(&w, 1, 9), 2); /* a once, though it is due again */
    ck_assert_str_eq(order, "ab");
    ck_assert_uint_eq(world_due(&w), 0);
    alarm_fini(&a);
    alarm_fini(&b);
    ck_assert(list_empty(&w.alarms));
}
END_TEST

static unsigned rounds;

static bool count_round(void *context)
{
    unsigned *work = context;
    rounds++;
    if (*work == 0)
        return false;
    --*work;
    return true;
}

START_TEST(a_round_ends_when_nobody_has_work)
{
    struct world w;
    unsigned work[2] = {2, 1};
    world_init(&w, &none, true);
    struct round_end one = {.run = count_round, .context = &work[0]};
    struct round_end two = {.run = count_round, .context = &work[1]};
    world_attach(&w, &one);
    world_attach(&w, &two);
    rounds = 0;
    ck_assert(world_end_round(&w));
    ck_assert_uint_eq(rounds, 6); /* both worked, one worked, nobody */
    world_detach(&one);
    ck_assert(!world_end_round(&w));
    ck_assert_uint_eq(rounds, 7);
}
END_TEST

/* ---- the kernel's ---- */

struct ends {
    struct world *w;
    struct alarm late, soon;
    struct port *port[2];
    struct udp_peer peer;
    tick fired;
    unsigned rounds, sent, got, closed;
    bool soon_first;
};

static void on_closed(void *context)
{
    struct ends *e = context;
    if (++e->closed == 2)
        uv_world_end(e->w);
}

static void on_late(void *context)
{
    struct ends *e = context;
    e->fired = world_now(e->w);
    ck_assert(udp_room(e->port[0]->io, 100));
    memset(udp_head(e->port[0]->io, 100), 7, 100);
    udp_add(e->port[0]->io, &e->peer, 100, slice_of(NULL, 0));
    ck_assert(udp_flush(e->port[0]->io));
    e->sent++;
}

static void on_soon(void *context)
{
    struct ends *e = context;
    e->soon_first = e->fired == 0;
}

static void on_ready(void *context, bool readable, bool writable)
{
    struct ends *e = context;
    struct slice d;
    (void)writable;
    if (!readable || !udp_fill(e->port[1]->io, 65536))
        return;
    while (udp_next(e->port[1]->io, &d)) {
        ck_assert_uint_eq(d.len, 100);
        e->got++;
    }
    alarm_fini(&e->late);
    alarm_fini(&e->soon);
    for (int i = 0; i < 2; i++)
        port_close(e->port[i], on_closed, e);
    ck_assert_uint_eq(e->closed, 0); /* later than the call */
}

static bool on_round(void *context)
{
    struct ends *e = context;
    e->rounds++;
    return false;
}

struct busy {
    struct world *w;
    struct alarm soon, timed;
    unsigned turns;
    bool went_off;
};

static void set_soon_again(void *context)
{
    struct busy *b = context;
    if (!b->went_off && ++b->turns < 2000000) {
        alarm_set(&b->soon, 0);
        return;
    }
    alarm_fini(&b->soon);
    alarm_fini(&b->timed);
    uv_world_end(b->w);
}

static void note_time(void *context)
{
    struct busy *b = context;
    b->went_off = true;
}

/* Something is due soon in every round, for as long as a peer or an application floods the node. */
START_TEST(times_come_while_others_are_always_due)
{
    struct busy b = {.turns = 0};
    ck_assert_int_eq(uv_world_open(&b.w), 0);
    alarm_init(&b.soon, b.w, ALARM_LINK, set_soon_again, &b);
    alarm_init(&b.timed, b.w, ALARM_LINK, note_time, &b);
    alarm_set(&b.soon, 0);
    alarm_set(&b.timed, world_now(b.w) + 5 * TICK_MS);
    uv_world_run(b.w);
    ck_assert(b.went_off);
    ck_assert_int_eq(uv_world_free(b.w), 0);
}
END_TEST

struct late {
    struct world *w;
    struct port *first, *second, *sender;
    struct udp_peer to_first, to_second;
    struct alarm soon, timed;
    bool arrived, went_off, in_order;
    int closed;
};

static void send_to(struct late *l, struct udp_peer *to)
{
    ck_assert(udp_room(l->sender->io, 100));
    memset(udp_head(l->sender->io, 100), 7, 100);
    udp_add(l->sender->io, to, 100, slice_of(NULL, 0));
    ck_assert(udp_flush(l->sender->io));
}

static bool take_datagram(struct port *p)
{
    struct slice d;
    return udp_fill(p->io, 65536) && udp_next(p->io, &d);
}

/* A round that is long: a datagram comes in it, and then an alarm's time. */
static void on_first(void *context, bool readable, bool writable)
{
    struct late *l = context;
    (void)writable;
    if (!readable || !take_datagram(l->first))
        return;
    const tick due = world_now(l->w) + 2 * TICK_MS;
    alarm_set(&l->timed, due);
    send_to(l, &l->to_second);
    while (world_now(l->w) < due + TICK_MS)
        continue;
}

static void on_second(void *context, bool readable, bool writable)
{
    struct late *l = context;
    (void)writable;
    l->arrived = l->arrived || (readable && take_datagram(l->second));
}

static void close_late(void *context)
{
    ((struct late *)context)->closed++;
}

static void always_soon(void *context)
{
    struct late *l = context;
    if (!l->went_off) {
        alarm_set(&l->soon, 0);
        return;
    }
    alarm_fini(&l->soon);
    alarm_fini(&l->timed);
    port_close(l->first, close_late, l);
    port_close(l->second, close_late, l);
    port_close(l->sender, close_late, l);
    uv_world_end(l->w);
}

static void note_order(void *context)
{
    struct late *l = context;
    l->went_off = true;
    l->in_order = l->arrived;
}

static struct udp_peer open_port_to(struct late *l, struct port **out,
                                    void (*ready)(void *context, bool readable, bool writable))
{
    struct address any;
    ck_assert_int_eq(address_of("127.0.0.1", 0, &any), 0);
    ck_assert_int_eq(port_open(l->w, out, &any, false, ready, l), 0);
    address_set_port(&any, udp_port((*out)->io));
    port_watch(*out, true, false);
    return (struct udp_peer){.address = any};
}

/* What arrived before an alarm's time is told first, although something is due soon all the time.
 */
START_TEST(datagrams_before_later_alarms)
{
    struct late l = {0};
    ck_assert_int_eq(uv_world_open(&l.w), 0);
    l.to_first = open_port_to(&l, &l.first, on_first);
    l.to_second = open_port_to(&l, &l.second, on_second);
    (void)open_port_to(&l, &l.sender, on_second);
    alarm_init(&l.soon, l.w, ALARM_LINK, always_soon, &l);
    alarm_init(&l.timed, l.w, ALARM_LINK, note_order, &l);
    alarm_set(&l.soon, 0);
    send_to(&l, &l.to_first);
    uv_world_run(l.w);
    ck_assert(l.went_off && l.in_order);
    ck_assert_int_eq(l.closed, 3);
    ck_assert_int_eq(uv_world_free(l.w), 0);
}
END_TEST

START_TEST(the_kernel_keeps_time_and_carries_datagrams)
{
    struct ends e = {0};
    struct address any;
    ck_assert_int_eq(address_of("127.0.0.1", 0, &any), 0);
    ck_assert_int_eq(uv_world_open(&e.w), 0);
    ck_assert(!e.w->wakeups_free);
    ck_assert(world_wall(e.w) > UINT64_C(1600000000) * TICK_S);
    ck_assert(world_random(e.w) != world_random(e.w));
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(port_open(e.w, &e.port[i], &any, true, on_ready, &e), 0);
    address_set_port(&any, udp_port(e.port[1]->io));
    e.peer = (struct udp_peer){.address = any};
    struct port *taken = NULL;
    ck_assert_int_lt(port_open(e.w, &taken, &any, true, on_ready, &e), 0);
    port_watch(e.port[1], true, false);
    struct round_end end = {.run = on_round, .context = &e};
    world_attach(e.w, &end);
    alarm_init(&e.late, e.w, ALARM_LINK, on_late, &e);
    alarm_init(&e.soon, e.w, ALARM_LINK, on_soon, &e);
    tick due = world_now(e.w) + 3 * TICK_MS;
    alarm_set(&e.late, TICK_NEVER - 1);
    alarm_set(&e.late, due);
    alarm_set(&e.soon, 0);
    uv_world_run(e.w);
    ck_assert(e.fired >= due);
    ck_assert(e.soon_first);
    ck_assert_uint_eq(e.got, 1);
    ck_assert_uint_eq(e.closed, 2);
    ck_assert_uint_ge(e.rounds, 3);
    ck_assert_int_eq(uv_world_free(e.w), 0);
}
END_TEST

/* A port that closes at the end, and what waits for that. */
struct last {
    struct world *w;
    struct port *port;
    struct alarm after, late;
    bool closed, after_close, too_late;
};

static void note_after(void *context)
{
    struct last *l = context;
    l->after_close = l->closed;
}

static void note_late(void *context)
{
    struct last *l = context;
    l->too_late = true;
}

static void close_and_wait(void *context)
{
    struct last *l = context;
    l->closed = true;
    alarm_set(&l->after, 0);
}

START_TEST(an_ended_world_waits_for_what_closes_in_steps)
{
    struct last l = {0};
    struct address any;
    ck_assert_int_eq(address_of("127.0.0.1", 0, &any), 0);
    ck_assert_int_eq(uv_world_open(&l.w), 0);
    ck_assert_int_eq(port_open(l.w, &l.port, &any, true, on_ready, &l), 0);
    alarm_init(&l.after, l.w, ALARM_LINK, note_after, &l);
    alarm_init(&l.late, l.w, ALARM_LINK, note_late, &l);
    alarm_set(&l.late, world_now(l.w) + 3600 * TICK_S);
    port_close(l.port, close_and_wait, &l);
    uv_world_end(l.w);
    uv_world_run(l.w);
    ck_assert(l.after_close);
    ck_assert(!l.too_late);
    ck_assert_int_eq(uv_world_free(l.w), 0);
}
END_TEST

/* Readings of both clocks that several calls share. */
struct recents {
    struct world *w;
    struct alarm first, second;
    tick last;
};

static tick read_recent(const struct world *w)
{
    tick now;
    uint64_t wall;
    world_recent(w, &now, &wall);
    ck_assert_uint_gt(wall, 0);
    return now;
}

static void share_reading(void *context)
{
    struct recents *r = context;
    r->last = read_recent(r->w);
    ck_assert_uint_eq(read_recent(r->w), r->last);
    const tick exact = world_now(r->w);
    ck_assert_uint_gt(exact, r->last);
    ck_assert_uint_ge(read_recent(r->w), exact); /* time never goes back */
    for (int i = 0; i < 100; i++)
        r->last = read_recent(r->w);
    ck_assert_uint_gt(r->last, exact); /* a long round has several readings */
    alarm_set(&r->second, 0);
}

static void read_anew(void *context)
{
    struct recents *r = context;
    ck_assert_uint_gt(read_recent(r->w), r->last);
    uv_world_end(r->w);
}

START_TEST(a_round_shares_readings_of_the_clocks)
{
    struct recents r = {0};
    ck_assert_int_eq(uv_world_open(&r.w), 0);
    const tick before = read_recent(r.w);
    ck_assert_uint_gt(read_recent(r.w), before);           /* a start may take long */
    alarm_init(&r.second, r.w, ALARM_LINK, read_anew, &r); /* before: in the next round */
    alarm_init(&r.first, r.w, ALARM_LINK, share_reading, &r);
    alarm_set(&r.first, 0);
    uv_world_run(r.w);
    const tick after = read_recent(r.w);
    ck_assert_uint_gt(after, r.last);
    ck_assert_uint_gt(read_recent(r.w), after);
    ck_assert_int_eq(uv_world_free(r.w), 0);
}
END_TEST

SUITE(os_world, t)
{
    tcase_add_test(t, a_round_shares_readings_of_the_clocks);
    tcase_add_test(t, alarms_go_off_by_rank_then_by_making);
    tcase_add_test(t, an_alarm_may_set_itself_and_end_others);
    tcase_add_test(t, a_round_ends_when_nobody_has_work);
    tcase_add_test(t, the_kernel_keeps_time_and_carries_datagrams);
    tcase_add_test(t, an_ended_world_waits_for_what_closes_in_steps);
    tcase_add_test(t, datagrams_before_later_alarms);
    tcase_add_test(t, times_come_while_others_are_always_due);
}
