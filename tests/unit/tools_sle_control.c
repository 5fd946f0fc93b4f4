/* SPDX-License-Identifier: Apache-2.0 */
/* Orders for a provider: words that there are and that there are not, and what follows from locks.
 */
#include "tests/unit/sle_help.h"
#include "tests/unit/suite.h"
#include "tools/sle/sle_control.h"

#define CLTU "sagr=1.spack=1.fsl-fg=1.cltu=cltu1"

static struct control_order order;
static char why[256];

static bool parse(const char *line)
{
    *why = '\0';
    return control_parse(slice_of(line, strlen(line)), &order, why, sizeof why);
}

static void accept(const char *line, enum control_what what, unsigned value)
{
    ck_assert_msg(parse(line), "%s: %s", line, why);
    ck_assert_int_eq(order.what, what);
    ck_assert_uint_eq(order.value, value);
}

static void refuse(const char *line, const char *expected)
{
    ck_assert_msg(!parse(line), "%s", line);
    ck_assert_msg(strstr(why, expected) != NULL, "%s: %s", line, why);
}

START_TEST(words_that_there_are)
{
    accept("modem frame-lock yes", CONTROL_FRAME_LOCK, SLE_IN_LOCK);
    accept("modem symbol-lock unknown", CONTROL_SYMBOL_LOCK, SLE_LOCK_UNKNOWN);
    accept("modem subcarrier-lock not-in-use", CONTROL_SUBCARRIER_LOCK, SLE_NOT_IN_USE);
    accept("modem carrier-lock no", CONTROL_CARRIER_LOCK, SLE_OUT_OF_LOCK);
    accept("modem production halted", CONTROL_PRODUCTION, SLE_HALTED);
    accept("modem end-of-data", CONTROL_END, 0);
    ck_assert_str_eq(order.name, "modem");
    accept(CLTU " production halted", CONTROL_UPLINK_PRODUCTION, SLE_UP_HALTED);
    accept(CLTU " production configured", CONTROL_UPLINK_PRODUCTION, SLE_CONFIGURED);
    accept(CLTU " uplink no-bit-lock", CONTROL_UPLINK, SLE_NO_BIT_LOCK);
    ck_assert_str_eq(order.name, CLTU);
}
END_TEST

START_TEST(words_that_there_are_not)
{
    refuse("", "NAME WORD VALUE");
    refuse("modem", "NAME WORD VALUE");
    refuse(" modem carrier-lock no", "NAME WORD VALUE");
    refuse("modem lock no", "carrier-lock");
    refuse("modem carrier-lock", "yes, no, unknown");
    refuse("modem carrier-lock not-in-use", "yes, no, unknown");
    refuse("modem carrier-lock no no", "yes, no, unknown");
    refuse("modem production operational", "running, interrupted, halted");
    refuse("modem end-of-data now", "no value");
    refuse("modem uplink nominal", "of a source");
    refuse(CLTU " carrier-lock no", "of an instance");
    refuse(CLTU " production running", "operational, configured");
}
END_TEST

static struct sle_locks after(struct sle_locks locks, enum control_what stage, enum sle_lock lock)
{
    control_lock(&locks, stage, lock);
    return locks;
}

START_TEST(what_follows_from_a_lock)
{
    const struct sle_locks in = {SLE_IN_LOCK, SLE_IN_LOCK, SLE_NOT_IN_USE, SLE_IN_LOCK};
    const struct sle_locks lost = after(in, CONTROL_CARRIER_LOCK, SLE_OUT_OF_LOCK);
    ck_assert(lost.frame == SLE_OUT_OF_LOCK && lost.symbol == SLE_OUT_OF_LOCK &&
              lost.subcarrier == SLE_NOT_IN_USE && lost.carrier == SLE_OUT_OF_LOCK);
    const struct sle_locks back = after(lost, CONTROL_FRAME_LOCK, SLE_IN_LOCK);
    ck_assert(back.frame == SLE_IN_LOCK && back.symbol == SLE_IN_LOCK &&
              back.subcarrier == SLE_NOT_IN_USE && back.carrier == SLE_IN_LOCK);
    const struct sle_locks symbol = after(in, CONTROL_SYMBOL_LOCK, SLE_OUT_OF_LOCK);
    ck_assert(symbol.frame == SLE_OUT_OF_LOCK && symbol.carrier == SLE_IN_LOCK);
    const struct sle_locks unknown = after(in, CONTROL_CARRIER_LOCK, SLE_LOCK_UNKNOWN);
    ck_assert(unknown.carrier == SLE_LOCK_UNKNOWN && unknown.frame == SLE_IN_LOCK);
}
END_TEST

SUITE(tools_sle_control, t)
{
    tcase_add_test(t, words_that_there_are);
    tcase_add_test(t, words_that_there_are_not);
    tcase_add_test(t, what_follows_from_a_lock);
}
