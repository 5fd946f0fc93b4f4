/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a provider's configuration: qualifiers, actions, what is wrong with them; what a
 * user counts of CLTUs that they interrupt. */
#include "tests/unit/sle_help.h"
#include "tests/unit/suite.h"
#include "tools/sle/sle_settings.h"
#include "tools/sle/user/sle_user_run.h"

#define HEAD                                                                                       \
    "id: STATION\nusers: [{id: CENTRE}]\ninstances:\n- id: sagr=1.spack=1.fsl-fg=1.cltu=cltu1\n"   \
    "  users: CENTRE\n  events:\n"

static struct settings settings;

static void load(const char *events)
{
    char text[2048];
    struct conf_errors errors;
    conf_errors_init(&errors, "test");
    int n = snprintf(text, sizeof text, HEAD "%s", events);
    ck_assert_msg(settings_parse(&settings, text, (size_t)n, &errors) == 0, "%s", errors.text[0]);
}

static void refuse(const char *events, const char *why)
{
    char text[2048];
    struct conf_errors errors;
    conf_errors_init(&errors, "test");
    int n = snprintf(text, sizeof text, HEAD "%s", events);
    ck_assert_int_lt(settings_parse(&settings, text, (size_t)n, &errors), 0);
    ck_assert_msg(strstr(errors.text[0], why) != NULL, "%s", errors.text[0]);
}

static bool fits(size_t event, const char *qualifier)
{
    uint8_t octets[SLE_QUALIFIER_MAX];
    size_t n = settings_qualifier(qualifier, octets, sizeof octets);
    ck_assert_uint_gt(n, 0);
    const struct settings_event *e = &settings.instances[0].events[event];
    ck_assert(!settings_event_fits(e, (uint32_t)e->id + 1, slice_of(octets, n)));
    return settings_event_fits(e, (uint32_t)e->id, slice_of(octets, n));
}

START_TEST(qualifiers)
{
    uint8_t octets[4];
    load("  - {id: 1}\n"
         "  - {id: 2, qualifiers: ' on 3..5 300 0x00ff  x.y '}\n"
         "  - {id: 65535, qualifiers: 0..4294967295}\n");
    ck_assert(fits(0, "on") && fits(0, "0") && fits(0, "0x000000000000"));
    ck_assert(fits(1, "on") && fits(1, "3") && fits(1, "5") && fits(1, "300") && fits(1, "0x012c"));
    ck_assert(fits(1, "0x00ff") &&
              fits(1, "0x0003")); /* a number of a range, whatever its length */
    ck_assert(!fits(1, "off") && !fits(1, "2") && !fits(1, "6") && !fits(1, "0x00012c"));
    ck_assert(!fits(1, "0xff") && !fits(1, "o") && !fits(1, "onn"));
    ck_assert(fits(2, "0") && fits(2, "4294967295") && !fits(2, "0x0100000000"));
    ck_assert_uint_eq(settings_qualifier("16777216", octets, 4), 4);
    ck_assert_uint_eq(octets[0], 1);
    ck_assert_uint_eq(settings_qualifier("0xAb", octets, 4), 1);
    ck_assert_uint_eq(octets[0], 0xab);
    ck_assert_uint_eq(settings_qualifier("texts", octets, 4), 0);
    ck_assert_uint_eq(settings_qualifier("0xabc", octets, 4), 0);
    ck_assert_uint_eq(settings_qualifier("", octets, 4), 0);
    settings_free(&settings);
}
END_TEST

START_TEST(actions)
{
    load(
        "  - {id: 1, actions: ' halt  radiate resume ', order: EB90, time: 3s, condition: idle}\n");
    const struct settings_event *e = &settings.instances[0].events[0];
    ck_assert_uint_eq(e->actions_len, 3);
    ck_assert(e->actions[0] == EVENT_HALT && e->actions[1] == EVENT_RADIATE &&
              e->actions[2] == EVENT_RESUME);
    ck_assert(e->order->len == 2 && buf_data(e->order)[1] == 0x90);
    ck_assert(e->time == 3 * TICK_S && e->condition == EVENT_IDLE);
    settings_free(&settings);
}
END_TEST

START_TEST(mistakes)
{
    refuse("  - {actions: halt}\n", "events.id");
    refuse("  - {id: 0}\n", "events.id");
    refuse("  - {id: 65536}\n", "events.id");
    refuse("  - {id: 1, actions: stop}\n", "up to 8 of interrupt, halt, resume, radiate, fail");
    refuse("  - {id: 1, actions: halt halt halt halt halt halt halt halt halt}\n", "up to 8");
    refuse("  - {id: 1, actions: radiate}\n", "two hexadecimal digits each");
    refuse("  - {id: 1, order: a}\n", "two hexadecimal digits each");
    refuse("  - {id: 1, order: xy}\n", "two hexadecimal digits each");
    refuse("  - {id: 1, qualifiers: 5..3}\n", "ranges such as 1..8");
    refuse("  - {id: 1, qualifiers: x..y0}\n", "ranges such as 1..8");
    refuse("  - {id: 1, qualifiers: 0x123}\n", "octets such as 0x01ff");
    refuse("  - {id: 1, when: idle}\n", "events.when");
    refuse("  - {id: 1, condition: never}\n", "events.condition");
    refuse("  - {id: 1}\n- id: sagr=1.spack=1.rsl-fg=1.raf=onlc1\n  users: CENTRE\n  source: x\n"
           "  events: [{id: 1}]\nsources: [{name: x}]\n",
           "it is no forward service");
}
END_TEST

/* CLTUs of this test do not arrive as datagrams. */
void association_forward(struct association *a)
{
    (void)a;
}

static void notify(struct association *a, enum sle_notification what, uint32_t id)
{
    struct sle_async n = {
        .notification = what,
        .last_processed = {.any = true, .id = id, .status = SLE_CLTU_INTERRUPTED}};
    cltus_notified(a, &n);
}

/* Each once, though later notifications tell of it again, and none of a user before us. */
START_TEST(interrupted_cltus)
{
    struct association a = {0};
    const struct cltus *c = &a.cltus;
    notify(&a, SLE_ASYNC_INTERRUPTED, 1);
    notify(&a, SLE_ASYNC_HALTED, 70000);
    ck_assert_uint_eq(c->interrupted, 0);
    a.cltus.accepted = 3;
    notify(&a, SLE_ASYNC_INTERRUPTED, 4);
    ck_assert_uint_eq(c->interrupted, 0);
    notify(&a, SLE_ASYNC_INTERRUPTED, 1);
    notify(&a, SLE_ASYNC_HALTED, 1);
    ck_assert_uint_eq(c->interrupted, 1);
    notify(&a, SLE_ASYNC_HALTED, 3);
    ck_assert(c->interrupted == 2 && c->discarded == 3);
}
END_TEST

/* The user before us had one interrupted whose number is ours, too, before any of ours began. */
START_TEST(interrupted_before_us)
{
    struct association a = {.cltus = {.began = {.day = 25000, .ms = 1000}, .accepted = 3}};
    struct sle_async n = {.notification = SLE_ASYNC_HALTED,
                          .last_processed = {.any = true, .id = 2, .status = SLE_CLTU_INTERRUPTED}};
    n.last_processed.start = (struct sle_when){true, {.day = 25000, .ms = 999}};
    cltus_notified(&a, &n);
    ck_assert(a.cltus.interrupted == 0 && a.cltus.discarded == 3);
    n.last_processed.start.at.ms = 1000; /* ours, as soon as it could be */
    cltus_notified(&a, &n);
    ck_assert_uint_eq(a.cltus.interrupted, 1);
}
END_TEST

SUITE(tools_sle_events, t)
{
    tcase_add_test(t, qualifiers);
    tcase_add_test(t, actions);
    tcase_add_test(t, mistakes);
    tcase_add_test(t, interrupted_cltus);
    tcase_add_test(t, interrupted_before_us);
}
