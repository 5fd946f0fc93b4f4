/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rates that a node keeps for its page: the last 5 minutes and the last hour, of each link and
 * of all links together, in rings of fixed size.
 */
#include "node/node_meter.h"

#include <check.h>
#include <stdlib.h>

#include "suite.h"

static tick now;

static tick read_now(const struct world *w)
{
    (void)w;
    return now;
}

/* An adapter that sends 1,000 bytes a second, and half of it arrives here. */
static void tell_gauges(const struct cla *c, struct cla_gauges *out)
{
    (void)c;
    out->tx_bytes = 1000 * (now / TICK_S);
    out->rx_bytes = out->tx_bytes / 2;
}

static void check_span(const struct meter_past *p, unsigned len, float tx)
{
    ck_assert_uint_eq(p->len, len);
    for (unsigned i = 0; i < len; i++) {
        ck_assert_float_eq_tol(p->tx[(p->first + i) % METER_PAST], tx, 1);
        ck_assert_float_eq_tol(p->rx[(p->first + i) % METER_PAST], tx / 2, 1);
    }
}

START_TEST(an_hour_is_kept_and_not_more)
{
    static const struct world_ops world_ops = {.now = read_now};
    static const struct cla_ops cla_ops = {.gauges = tell_gauges};
    struct world world = {.ops = &world_ops};
    struct cla cla = {.ops = &cla_ops};
    struct node_link one = {.cla = &cla}, two = {.cla = &cla};
    struct node_link *links[] = {&one, NULL, &two};
    struct node n = {.world = &world, .links = links, .links_len = 3};
    now = 1000 * TICK_S;
    node_meter_tick(&n);
    ck_assert_ptr_null(n.past); /* nobody may look */
    n.http = (struct http *)&n;
    for (unsigned s = 0; s < 7200; s++, now += TICK_S) {
        if (s == 601) {
            check_span(&one.meter.past[METER_HOUR], 10, 8000);
            check_span(&one.meter.past[METER_MINUTES], METER_PAST, 8000);
        }
        node_meter_tick(&n);
    }
    check_span(&one.meter.past[METER_HOUR], METER_PAST, 8000);
    check_span(&n.past[METER_HOUR], METER_PAST, 16000);
    check_span(&n.past[METER_MINUTES], METER_PAST, 16000);
    free(one.meter.past);
    free(two.meter.past);
    free(n.past);
}
END_TEST

SUITE(tools_meter, t)
{
    tcase_add_test(t, an_hour_is_kept_and_not_more);
}
