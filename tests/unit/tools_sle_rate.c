/* SPDX-License-Identifier: Apache-2.0 */
/* A source with a rate in virtual time, whose wake-ups are late: it makes all frames that are due,
 * some in each turn; of a long stall a second's worth, the others are counted. */
#include "sim/virtual.h"
#include "tests/unit/sle_help.h"
#include "tests/unit/suite.h"
#include "tools/sle/station/sle_station.h"

enum { FRAME = 1115, TURN_MOST = 512 };

static struct virtual_world world;
static struct rng rng;
static struct settings settings;
static struct station *station;
static uint64_t rate;

static void begin(uint64_t mbit)
{
    char text[512];
    struct conf_errors errors;
    conf_errors_init(&errors, "test");
    rate = mbit * 1000000;
    int n =
        snprintf(text, sizeof text,
                 "id: STATION\nusers: [{id: CENTRE}]\nsources: [{name: x, rate: %uMbit/s}]\n"
                 "instances: [{id: sagr=1.spack=1.rsl-fg=1.raf=onlt1, users: CENTRE, source: x}]\n",
                 (unsigned)mbit);
    ck_assert_msg(settings_parse(&settings, text, (size_t)n, &errors) == 0, "%s", errors.text[0]);
    rng_init(&rng, 24);
    virtual_init(&world, UINT64_C(1767225600) * TICK_S, &rng, 0);
    station = station_open(&world.world, &settings, LEVEL_ERROR);
    ck_assert(station != NULL && station_is_open(station));
}

static void end(void)
{
    station_end(station);
    virtual_settle(&world);
    virtual_fire_soon(&world);
    virtual_settle(&world);
    station_free(station);
    virtual_fini(&world);
    settings_free(&settings);
}

static uint64_t made(void)
{
    return station->sources[0].offered;
}

/* What is due next, `late` after its time. */
static void fire_late(tick late)
{
    const uint64_t before = made();
    virtual_advance(&world, virtual_due(&world) + late);
    virtual_fire(&world);
    world_end_round(&world.world);
    virtual_settle(&world);
    ck_assert_uint_le(made() - before, TURN_MOST);
}

static void run_until(tick end, tick late_most)
{
    while (virtual_due(&world) <= end)
        fire_late(late_most == 0 ? 0 : rng_below(&rng, late_most));
}

/* Within a burst, and a frame at each end. */
static void check_made(uint64_t more, tick since, uint64_t missing)
{
    const uint64_t due = (uint64_t)((double)rate * (double)(world.now - since) / 8e9 / FRAME);
    const uint64_t few = rate / 20000 / 8 / FRAME + 2;
    ck_assert_msg(made() - more + missing + few >= due && made() - more + missing <= due + few,
                  "%lu frames and %lu are due, %lu were made", (unsigned long)due,
                  (unsigned long)missing, (unsigned long)(made() - more));
}

START_TEST(late_wake_ups)
{
    static const tick late[] = {0, 100 * TICK_US, 2 * TICK_MS, 60 * TICK_MS};
    begin(1200);
    for (size_t i = 0; i < sizeof late / sizeof *late; i++) {
        const uint64_t before = made();
        const tick since = world.now;
        run_until(world.now + 300 * TICK_MS, late[i]);
        run_until(world.now + TICK_MS, 0);
        check_made(before, since, 0);
    }
    ck_assert_uint_eq(source_late(&station->sources[0]), 0);
    end();
}
END_TEST

START_TEST(long_stall)
{
    begin(20);
    run_until(TICK_S, 0);
    const uint64_t before = made();
    const tick since = world.now;
    fire_late(10 * TICK_S); /* a clock, or the source */
    run_until(world.now + 100 * TICK_MS, 0);
    const uint64_t late = source_late(&station->sources[0]);
    const uint64_t second = rate / 8 / FRAME;
    ck_assert(late >= 9 * second - 20 && late <= 9 * second + 20);
    check_made(before, since, late);
    json_t *o = station_json(station);
    const json_t *x = json_array_get(json_object_get(o, "sources"), 0);
    ck_assert_uint_eq((uint64_t)json_number_value(json_object_get(x, "late")), late);
    json_decref(o);
    end();
}
END_TEST

SUITE(tools_sle_rate, t)
{
    tcase_set_timeout(t, 300);
    tcase_add_test(t, late_wake_ups);
    tcase_add_test(t, long_stall);
}
