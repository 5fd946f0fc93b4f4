/* SPDX-License-Identifier: Apache-2.0 */
/* The table of neighbours: its own trace against expected text, and floods. */
#include "discovery/discovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "tests/unit/suite.h"

struct world {
    struct discovery *d;
    tick now;
    char trace[4096];
    size_t len;
};

static void begin(struct world *w, size_t neighbours, size_t links)
{
    const struct discovery_config c = {.node = eid_ipn(0, 1, 0),
                                       .seed = 1,
                                       .interval = TICK_NEVER,
                                       .silence = 30 * TICK_S,
                                       .patience = 10 * TICK_S,
                                       .neighbours_max = neighbours,
                                       .address_max = 4,
                                       .links_max = links};
    *w = (struct world){.now = 100 * TICK_S};
    ck_assert_int_eq(discovery_new(&w->d, &c, w->now), 0);
}

static void add_line(struct world *w, const char *act, const struct discovery_neighbour *n,
                     const char *why)
{
    char node[EID_TEXT_MAX];
    eid_text(&n->node, node);
    const int len = snprintf(w->trace + w->len, sizeof w->trace - w->len, "%llu %s %s@%u%s%s\n",
                             (unsigned long long)(w->now / TICK_S), act, node, n->from.host[15],
                             *why != '\0' ? ": " : "", why);
    w->len += (size_t)len;
    ck_assert_uint_lt(w->len, sizeof w->trace);
}

static void drain(struct world *w)
{
    struct discovery_action a;
    while (discovery_poll(w->d, w->now, &a) != DISCOVERY_NONE) {
        if (a.act == DISCOVERY_OPEN)
            add_line(w, "open", a.neighbour, "");
        else if (a.act == DISCOVERY_CLOSE)
            add_line(w, "close", a.neighbour, discovery_reason_text(a.reason));
        discovery_check(w->d);
    }
    ck_assert_uint_gt(discovery_deadline(w->d), w->now);
}

static void pass(struct world *w, tick t)
{
    const tick end = w->now + t;
    while (discovery_deadline(w->d) <= end) {
        w->now = discovery_deadline(w->d);
        drain(w);
    }
    w->now = end;
    drain(w);
}

static struct discovery_from from_host(uint32_t host)
{
    struct discovery_from f = {.prefix_len = 4, .prefix = {10, 0, 0, (uint8_t)(host >> 16)}};
    for (size_t i = 0; i < 4; i++)
        f.host[15 - i] = (uint8_t)(host >> 8 * i);
    return f;
}

static enum discovery_verdict hear_beacon(struct world *w, uint64_t node, uint32_t host,
                                          bool configured, tick period)
{
    const struct discovery_beacon b = {.node = eid_ipn(0, node, 0),
                                       .period = period,
                                       .services = {{"tcp", 0, 4556}},
                                       .services_len = 1};
    const struct discovery_from f = from_host(host);
    const enum discovery_verdict v =
        discovery_input(w->d, DISCOVERY_IPND, &b, &f, configured, true, w->now);
    drain(w);
    return v;
}

static enum discovery_verdict hear_as(struct world *w, uint64_t node, uint32_t host,
                                      bool configured)
{
    return hear_beacon(w, node, host, configured, 0);
}

static enum discovery_verdict hear(struct world *w, uint64_t node, uint32_t host)
{
    return hear_beacon(w, node, host, false, 0);
}

static uint64_t id_of(struct world *w, uint64_t node, uint32_t host)
{
    const struct discovery_from f = from_host(host);
    const struct discovery_neighbour *n;
    for (size_t i = 0; (n = discovery_at(w->d, i)) != NULL; i++)
        if (n->node.node == node && memcmp(n->from.host, f.host, DISCOVERY_HOST) == 0)
            return n->id;
    return 0;
}

static void set_up(struct world *w, uint64_t node, uint32_t host, bool up)
{
    discovery_link(w->d, id_of(w, node, host), up, w->now);
    drain(w);
}

static void end(struct world *w, const char *expect)
{
    if (expect != NULL)
        ck_assert_str_eq(w->trace, expect);
    discovery_free(w->d);
}

START_TEST(comes_and_goes)
{
    struct world w;
    begin(&w, 8, 4);
    ck_assert_int_eq(hear(&w, 2, 2), DISCOVERY_NEW);
    set_up(&w, 2, 2, true);
    pass(&w, 20 * TICK_S);
    ck_assert_int_eq(hear(&w, 2, 2), DISCOVERY_KNOWN);
    ck_assert_int_eq(hear(&w, 1, 9), DISCOVERY_OWN);
    pass(&w, 100 * TICK_S);
    ck_assert_ptr_null(discovery_at(w.d, 0));
    hear(&w, 2, 2);
    end(&w, "100 open ipn:2.0@2\n"
            "150 close ipn:2.0@2: it sends no beacons any more\n"
            "220 open ipn:2.0@2\n");
}
END_TEST

/* A lie about a name delays its owner by one patience, and cannot take a link that is up. */
START_TEST(two_claim_a_name)
{
    struct world w;
    begin(&w, 8, 4);
    hear(&w, 2, 66); /* the liar is first: its link never comes up */
    pass(&w, TICK_S);
    hear(&w, 2, 2);
    for (unsigned i = 0; i < 3; i++) {
        pass(&w, 5 * TICK_S);
        hear(&w, 2, 66);
        hear(&w, 2, 2);
    }
    set_up(&w, 2, 2, true);
    for (unsigned i = 0; i < 10; i++) {
        pass(&w, 5 * TICK_S);
        hear(&w, 2, 66);
        hear(&w, 2, 2);
    }
    struct discovery_totals t;
    discovery_totals(w.d, &t);
    ck_assert_uint_eq(t.contested, 1);
    ck_assert_uint_eq(t.up, 1);
    end(&w, "100 open ipn:2.0@66\n"
            "110 close ipn:2.0@66: it was not up in time, and gives way\n"
            "110 open ipn:2.0@2\n");
}
END_TEST

/* Only new neighbours are counted as rivals, not each beacon that is refused. */
START_TEST(claimants_are_limited)
{
    struct world w;
    begin(&w, 64, 16);
    for (uint32_t host = 2; host < 8; host++)
        for (unsigned i = 0; i < 3; i++)
            (void)hear(&w, 2, host);
    struct discovery_totals t;
    discovery_totals(w.d, &t);
    ck_assert_uint_eq(t.neighbours, DISCOVERY_CLAIMANTS_MAX);
    ck_assert_uint_eq(t.contested, DISCOVERY_CLAIMANTS_MAX - 1);
    ck_assert_uint_eq(t.verdicts[DISCOVERY_CLAIMED], 6);
    end(&w, "100 open ipn:2.0@2\n");
}
END_TEST

/* A full network and an address with all its places: one neighbour gives way, not two. */
START_TEST(one_gives_way)
{
    struct world w;
    begin(&w, 8, 1);
    for (uint64_t i = 0; i < 4; i++)
        (void)hear(&w, 100 + i, 2);
    (void)hear(&w, 200, 3);
    (void)hear(&w, 201, 4); /* six of eight places are one network's */
    ck_assert_int_eq(hear(&w, 300, 2), DISCOVERY_NEW);
    struct discovery_totals t;
    discovery_totals(w.d, &t);
    ck_assert_uint_eq(t.neighbours, 6);
    ck_assert_uint_eq(t.displaced, 1);
    end(&w, NULL);
}
END_TEST

/* A neighbour alone keeps its link, whatever its state. */
START_TEST(alone_and_down)
{
    struct world w;
    begin(&w, 8, 4);
    for (unsigned i = 0; i < 20; i++) {
        hear(&w, 2, 2);
        pass(&w, 10 * TICK_S);
    }
    end(&w, "100 open ipn:2.0@2\n");
}
END_TEST

/* The node did not run: its neighbours were not silent. */
START_TEST(did_not_run)
{
    struct world w;
    begin(&w, 8, 4);
    hear(&w, 2, 2);
    set_up(&w, 2, 2, true);
    w.now += 100 * TICK_S;
    discovery_forgive(w.d, 100 * TICK_S);
    drain(&w);
    ck_assert_ptr_nonnull(discovery_at(w.d, 0));
    pass(&w, 31 * TICK_S);
    end(&w, "100 open ipn:2.0@2\n230 close ipn:2.0@2: it sends no beacons any more\n");
}
END_TEST

/* Two links for three neighbours, of which only the last one answers. */
START_TEST(places_go_round)
{
    struct world w;
    begin(&w, 8, 2);
    for (unsigned i = 0; i < 4; i++) {
        for (uint32_t k = 2; k < 5; k++)
            hear(&w, k, k);
        if (i == 2)
            set_up(&w, 4, 4, true);
        pass(&w, 6 * TICK_S);
    }
    end(&w, "100 open ipn:2.0@2\n100 open ipn:3.0@3\n"
            "110 close ipn:2.0@2: it was not up in time, and gives way\n110 open ipn:4.0@4\n"
            "120 close ipn:3.0@3: it was not up in time, and gives way\n120 open ipn:2.0@2\n");
}
END_TEST

START_TEST(name_is_configured)
{
    struct world w;
    begin(&w, 8, 4);
    ck_assert_int_eq(hear_as(&w, 2, 2, true), DISCOVERY_CONFIGURED);
    hear(&w, 3, 3);
    pass(&w, TICK_S);
    ck_assert_int_eq(hear_as(&w, 3, 77, true), DISCOVERY_CONFIGURED);
    ck_assert_ptr_null(discovery_at(w.d, 0));
    end(&w, "100 open ipn:3.0@3\n"
            "101 close ipn:3.0@3: its name belongs to the configuration now\n");
}
END_TEST

/* A host invents names: it gets its share, and others are heard. */
START_TEST(flood_of_names)
{
    struct world w;
    begin(&w, 64, 16);
    hear(&w, 2, 2);
    set_up(&w, 2, 2, true);
    for (uint64_t i = 0; i < 10000; i++)
        (void)hear(&w, 1000 + i, 66);
    struct discovery_totals t;
    discovery_totals(w.d, &t);
    ck_assert_uint_eq(t.neighbours, 5);
    ck_assert_uint_eq(t.verdicts[DISCOVERY_ADDRESS], 9996);
    ck_assert_int_eq(hear(&w, 3, 3), DISCOVERY_NEW);
    ck_assert_ptr_nonnull(strstr(w.trace, "open ipn:3.0@3"));
    end(&w, NULL);
}
END_TEST

/* Forged addresses fill the table and hold all links; an honest neighbour that beacons every 10 s
 * still gets a link, and one that is up never loses it. */
START_TEST(flood_of_addresses)
{
    struct world w;
    begin(&w, 64, 8);
    hear(&w, 2, 2);
    set_up(&w, 2, 2, true);
    bool up = false;
    for (unsigned s = 0; s < 2000 && !up; s++) {
        for (uint32_t i = 0; i < 3; i++) {
            w.len = 0;
            (void)hear(&w, 100000 + s * 3 + i, 1000 + s * 3 + i);
        }
        if (s % 10 == 0) {
            hear(&w, 2, 2);
            hear(&w, 3, 3);
        }
        w.len = 0;
        pass(&w, TICK_S);
        for (size_t i = 0; discovery_at(w.d, i) != NULL; i++) {
            const struct discovery_neighbour *n = discovery_at(w.d, i);
            up = up || (n->node.node == 3 && n->state == DISCOVERY_TRYING);
        }
    }
    ck_assert(up);
    ck_assert_uint_ne(id_of(&w, 2, 2), 0);
    end(&w, NULL);
}
END_TEST

/* Seeds: any order of anything keeps the invariants. */
START_TEST(anything)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct world w;
        struct rng r;
        rng_init(&r, seed);
        begin(&w, 1 + rng_below(&r, 12), 1 + rng_below(&r, 6));
        for (unsigned i = 0; i < 400; i++) {
            const uint64_t node = 1 + rng_below(&r, 8);
            const uint32_t host = (uint32_t)rng_below(&r, 10) << (rng_chance(&r, 0.5) ? 16 : 0);
            const struct discovery_neighbour *n = discovery_at(w.d, rng_below(&r, 12));
            w.len = 0;
            (void)hear_as(&w, node, host, rng_chance(&r, 0.05));
            if (n != NULL && rng_chance(&r, 0.3))
                discovery_link(w.d, 1 + rng_below(&r, 100), rng_chance(&r, 0.6), w.now);
            if (rng_chance(&r, 0.1))
                discovery_failed(w.d, 1 + rng_below(&r, 100), w.now);
            drain(&w);
            pass(&w, rng_below(&r, 8 * TICK_S));
        }
        end(&w, NULL);
    }
}
END_TEST

/* Four forged names with the address of a node that announce a long period: the node gets a place
 * when their links were not up in time. */
START_TEST(forged_names_of_an_address)
{
    struct world w;
    begin(&w, 64, 16);
    for (uint64_t i = 0; i < 4; i++)
        ck_assert_int_eq(hear_beacon(&w, 1000 + i, 2, false, 3600 * TICK_S), DISCOVERY_NEW);
    ck_assert_int_eq(hear(&w, 2, 2), DISCOVERY_ADDRESS);
    pass(&w, 10 * TICK_S);
    ck_assert_int_eq(hear(&w, 2, 2), DISCOVERY_ADDRESS);
    ck_assert_int_eq(hear(&w, 2, 2), DISCOVERY_NEW);
    end(&w, NULL);
}
END_TEST

/* The same without links for them: each displaces one. */
START_TEST(names_without_links)
{
    struct world w;
    begin(&w, 64, 1);
    for (uint64_t i = 0; i < 4; i++)
        hear(&w, 1000 + i, 2);
    ck_assert_int_eq(hear(&w, 2, 2), DISCOVERY_NEW);
    struct discovery_totals t;
    discovery_totals(w.d, &t);
    ck_assert_uint_eq(t.displaced, 1);
    end(&w, "100 open ipn:1000.0@2\n");
}
END_TEST

/* A beacon without a period does not shorten the time of a neighbour that announced one. */
START_TEST(period_is_forged)
{
    struct world w;
    begin(&w, 8, 4);
    hear_beacon(&w, 2, 2, false, 60 * TICK_S);
    set_up(&w, 2, 2, true);
    pass(&w, TICK_S);
    hear(&w, 2, 2);
    pass(&w, 100 * TICK_S);
    ck_assert_ptr_nonnull(discovery_at(w.d, 0));
    pass(&w, 100 * TICK_S);
    end(&w, "100 open ipn:2.0@2\n280 close ipn:2.0@2: it sends no beacons any more\n");
}
END_TEST

/* A liar's beacons came first, but the owner of the name has connected here: when the lie ends, the
 * link stays, and is the owner's. */
START_TEST(owner_takes_over)
{
    struct world w;
    begin(&w, 8, 4);
    hear(&w, 2, 66);
    set_up(&w, 2, 66, true);
    for (unsigned i = 0; i < 10; i++) {
        hear(&w, 2, 2);
        pass(&w, 5 * TICK_S);
    }
    ck_assert_uint_eq(id_of(&w, 2, 66), 0);
    ck_assert_uint_eq(id_of(&w, 2, 2), 1); /* of the link */
    set_up(&w, 2, 2, false);
    pass(&w, 5 * TICK_S);
    hear(&w, 2, 2);
    pass(&w, 15 * TICK_S); /* it was made for another address */
    end(&w, "100 open ipn:2.0@66\n"
            "160 close ipn:2.0@2: it was not up in time, and gives way\n"
            "170 open ipn:2.0@2\n");
}
END_TEST

/* Own beacons: at once, then each interval give or take a tenth. */
START_TEST(own_beacons)
{
    struct discovery *d;
    struct discovery_action a;
    const struct discovery_config c = {.node = eid_ipn(0, 1, 0),
                                       .interval = 10 * TICK_S,
                                       .silence = 30 * TICK_S,
                                       .patience = 10 * TICK_S,
                                       .neighbours_max = 1,
                                       .address_max = 1,
                                       .links_max = 1};
    ck_assert_int_eq(discovery_new(&d, &c, 0), 0);
    tick last = 0;
    for (uint64_t i = 0; i < 100; i++) {
        const tick at = discovery_deadline(d);
        ck_assert(i == 0 || (at - last >= 9 * TICK_S && at - last <= 11 * TICK_S));
        ck_assert_int_eq(discovery_poll(d, at, &a), DISCOVERY_SEND);
        ck_assert_uint_eq(a.sequence, i);
        ck_assert_int_eq(discovery_poll(d, at, &a), DISCOVERY_NONE);
        last = at;
    }
    discovery_free(d);
}
END_TEST

SUITE(discovery_table, t)
{
    tcase_add_test(t, comes_and_goes);
    tcase_add_test(t, two_claim_a_name);
    tcase_add_test(t, claimants_are_limited);
    tcase_add_test(t, one_gives_way);
    tcase_add_test(t, alone_and_down);
    tcase_add_test(t, did_not_run);
    tcase_add_test(t, places_go_round);
    tcase_add_test(t, name_is_configured);
    tcase_add_test(t, flood_of_names);
    tcase_add_test(t, flood_of_addresses);
    tcase_add_test(t, forged_names_of_an_address);
    tcase_add_test(t, names_without_links);
    tcase_add_test(t, period_is_forged);
    tcase_add_test(t, owner_takes_over);
    tcase_add_test(t, anything);
    tcase_add_test(t, own_beacons);
}
