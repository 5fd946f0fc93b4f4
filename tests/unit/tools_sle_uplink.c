/* SPDX-License-Identifier: Apache-2.0 */
/* An uplink whose wake-ups are late, in virtual time: its rate holds, and CLTUs with times begin at
 * their times. A user in the same world sends the CLTUs. */
#include "cla/framed/sle_conn.h"
#include "sim/virtual.h"
#include "sle/user.h"
#include "tests/unit/suite.h"
#include "tools/sle/station/sle_station.h"

#define CLTU_ID "sagr=1.spack=1.fsl-fg=1.cltu=cltu1"
#define UNIX_S UINT64_C(1767225600)

enum { OCTETS = 1000, CLTUS = 200 };
static const tick air_time = TICK_MS; /* of OCTETS at 8 Mbit/s */

static struct virtual_world world;
static struct rng rng;
static struct settings settings;
static struct station *station;
static struct sle_host host; /* of the user */
static struct sle_instance *user;
static struct sle_conn *conn;
static unsigned radiated;
static bool bound, started;

static void on_notice(void *context, struct sle_conn *c, const struct sle_notice *n)
{
    const struct sle_start start = {.first_cltu = 1};
    (void)context, (void)c;
    bound = bound || n->kind == SLE_BOUND;
    started = started || n->kind == SLE_STARTED;
    if (n->kind == SLE_BOUND)
        ck_assert_int_eq(sle_user_start(user, &start, world.now), 0);
    if (n->kind == SLE_NOTIFIED && n->u.async.notification == SLE_ASYNC_RADIATED)
        radiated++;
}

static void on_gone(void *context, struct sle_conn *c, int error)
{
    (void)context, (void)c, (void)error;
    ck_abort_msg("the connection ended");
}

static const struct sle_conn_user conn_user = {.notice = on_notice, .gone = on_gone};

static void fire_late(tick late)
{
    virtual_advance(&world, virtual_due(&world) + late);
    virtual_fire(&world);
    world_end_round(&world.world);
    virtual_settle(&world);
}

static void begin_user(void)
{
    const struct sle_config c = {.self = {.id = "CENTRE"}, .unix_ns = UNIX_S * TICK_S};
    const struct sle_peer peer = {.who = {.id = "STATION"}};
    const struct sle_user_config u = {
        .id = CLTU_ID, .responder = "STATION", .responder_port = "PORT1", .cltu_blind = true};
    struct address to;
    struct sle *s = sle_new(&c);
    ck_assert(s != NULL && sle_peer_set(s, &peer) == 0 && sle_user_add(s, &u, &user) == 0);
    ck_assert_int_eq(address_of("127.0.0.1", 5100, &to), 0);
    sle_host_init(&host, &world.world, s);
    ck_assert_int_eq(sle_conn_open(&host, &conn, user, &to, 0, &conn_user, NULL), 0);
    while (!started)
        fire_late(0);
}

static void begin(void)
{
    static const char text[] =
        "id: STATION\nusers: [{id: CENTRE}]\n"
        "instances: [{id: " CLTU_ID ", users: CENTRE, uplink_rate: 8Mbit/s}]\n";
    struct conf_errors errors;
    conf_errors_init(&errors, "test");
    ck_assert_msg(settings_parse(&settings, text, sizeof text - 1, &errors) == 0, "%s",
                  errors.text[0]);
    rng_init(&rng, 24);
    radiated = 0;
    bound = started = false;
    virtual_init(&world, UNIX_S * TICK_S, &rng, 0);
    station = station_open(&world.world, &settings, LEVEL_ERROR);
    ck_assert(station != NULL && station_is_open(station));
    begin_user();
}

static void end(void)
{
    sle_conn_free(conn);
    sle_host_fini(&host);
    sle_free(host.engine);
    station_end(station);
    virtual_settle(&world);
    virtual_fire_soon(&world);
    virtual_settle(&world);
    station_free(station);
    virtual_fini(&world);
    settings_free(&settings);
}

static void send_cltu(tick earliest, uint32_t delay_us)
{
    static const uint8_t octets[OCTETS];
    const struct sle_cltu c = {.earliest = {earliest > 0, sle_time_of(UNIX_S * TICK_S + earliest)},
                               .delay_us = delay_us,
                               .notify = true,
                               .data = slice_of(octets, OCTETS)};
    ck_assert_int_eq(sle_user_cltu(user, &c, NULL, world.now), 0);
    sle_conn_pump(conn);
}

/* Until so many were radiated; each wake-up is up to `late` behind its time. */
static void run_until(unsigned count, tick late)
{
    while (radiated < count)
        fire_late(late == 0 ? 0 : rng_below(&rng, late));
}

/* Before, each CLTU began when its predecessor's end was noticed: half of `late` more for each. */
START_TEST(rate_holds)
{
    static const tick late[] = {0, 100 * TICK_US, 3 * TICK_MS};
    begin();
    for (size_t k = 0; k < sizeof late / sizeof *late; k++) {
        const tick since = world.now;
        radiated = 0;
        for (unsigned i = 0; i < CLTUS; i++)
            send_cltu(0, 0);
        run_until(CLTUS, late[k]);
        ck_assert_uint_ge(world.now - since, CLTUS * air_time);
        ck_assert_uint_le(world.now - since, CLTUS * air_time + 3 * late[k]);
    }
    end();
}
END_TEST

/* The end of each is as late as one wake-up, not as two. */
START_TEST(begins_at_its_time)
{
    const tick late = 2 * TICK_MS;
    begin();
    for (unsigned i = 1; i <= CLTUS; i++) {
        const tick earliest = (world.now / TICK_US + 20000) * TICK_US;
        send_cltu(earliest, 0);
        while (station->instances[0].uplink.air.until < earliest)
            fire_late(rng_below(&rng, late));
        ck_assert_uint_eq(station->instances[0].uplink.air.until, earliest + air_time);
        run_until(i, late);
    }
    end();
}
END_TEST

/* A delay is from the end of a CLTU to the begin of the next one. */
START_TEST(delay_between)
{
    begin();
    const tick since = world.now;
    for (unsigned i = 0; i < CLTUS; i++)
        send_cltu(0, 500);
    run_until(CLTUS, TICK_MS);
    ck_assert_uint_ge(world.now - since, CLTUS * air_time + (CLTUS - 1) * 500 * TICK_US);
    end();
}
END_TEST

START_TEST(air)
{
    struct air a = {.rate = 8000000};
    ck_assert_uint_eq(air_begin(&a, OCTETS, 5 * TICK_MS, 6 * TICK_MS), 5 * TICK_MS);
    ck_assert(!air_over(&a, 6 * TICK_MS - 1) && air_over(&a, 6 * TICK_MS));
    air_end(&a, 0);
    /* it was ready before the one before it ended */
    ck_assert_uint_eq(air_begin(&a, OCTETS, 5 * TICK_MS, 6 * TICK_MS + 50), 6 * TICK_MS);
    air_end(&a, 2 * TICK_MS);
    ck_assert_uint_eq(air_begin(&a, OCTETS, 5 * TICK_MS, 9 * TICK_MS + 50), 9 * TICK_MS);
    air_stop(&a, 9 * TICK_MS + 500); /* interrupted, and operational again */
    ck_assert(!a.busy);
    ck_assert_uint_eq(air_begin(&a, OCTETS, 0, 9 * TICK_MS + 600), 9 * TICK_MS + 500);
    air_end(&a, 0);
    /* the program was stopped for too long: nothing is made up for */
    ck_assert_uint_eq(air_begin(&a, OCTETS, 0, 30 * TICK_MS), 30 * TICK_MS);
    ck_assert_uint_eq(a.until, 31 * TICK_MS);
}
END_TEST

SUITE(tools_sle_uplink, t)
{
    tcase_set_timeout(t, 300);
    tcase_add_test(t, rate_holds);
    tcase_add_test(t, begins_at_its_time);
    tcase_add_test(t, delay_between);
    tcase_add_test(t, air);
}
