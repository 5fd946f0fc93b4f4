/* SPDX-License-Identifier: Apache-2.0 */
/* Beacons as dtn7-rs and dtn7-go send them, and what is none. */
#include "discovery/discovery_beacon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/suite.h"

static bool parse_hex(enum discovery_format format, const char *text, struct discovery_beacon *b,
                      const char **why)
{
    uint8_t octets[256];
    size_t n = 0;
    for (const char *p = text; *p != '\0' && n < sizeof octets; p += 2) {
        const char two[3] = {p[0], p[1], '\0'};
        octets[n++] = (uint8_t)strtoul(two, NULL, 16);
    }
    return discovery_beacon_parse(format, slice_of(octets, n), b, why);
}

static void expect_text(const struct discovery_beacon *b, const char *expect)
{
    char text[512], node[EID_TEXT_MAX];
    eid_text(&b->node, node);
    int n = snprintf(text, sizeof text, "%s #%llu every %llu s:", node,
                     (unsigned long long)b->sequence, (unsigned long long)(b->period / TICK_S));
    for (size_t i = 0; i < b->services_len; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, " %s/%d:%u", b->services[i].name,
                      b->services[i].number, b->services[i].port);
    ck_assert_str_eq(text, expect);
}

/* [7, 7, dtn://rs/, 3, [[["mtcp", 16162], ["tcp", null]], {191: [50]}], 10] */
#define IPND                                                                                       \
    "860707820165"                                                                                 \
    "2f2f72732f"                                                                                   \
    "03"                                                                                           \
    "828282646d74637019"                                                                           \
    "3f228263746370f6"                                                                             \
    "a118bf811832"                                                                                 \
    "0a"

START_TEST(beacon_of_dtn7_rs)
{
    struct discovery_beacon b;
    const char *why;
    ck_assert_msg(parse_hex(DISCOVERY_IPND, IPND, &b, &why), "%s", why);
    expect_text(&b, "dtn://rs/ #3 every 10 s: mtcp/-1:16162 tcp/-1:0");
    /* [7, 1, ipn:5.0, 0]: nothing but a name */
    ck_assert(parse_hex(DISCOVERY_IPND,
                        "84070182028205"
                        "0000",
                        &b, &why));
    expect_text(&b, "ipn:5.0 #0 every 0 s:");
    /* [7, 5, ipn:5.0, 1, 100000]: the period is limited */
    ck_assert(parse_hex(DISCOVERY_IPND,
                        "85070582028205"
                        "00011a000186a0",
                        &b, &why));
    expect_text(&b, "ipn:5.0 #1 every 3600 s:");
}
END_TEST

START_TEST(beacon_of_dtn7_go)
{
    struct discovery_beacon b;
    const char *why;
    /* [[0, dtn://go/, 4556], [10, dtn://go/, 4557]] */
    ck_assert(parse_hex(DISCOVERY_DTN7_GO,
                        "828300820165"
                        "2f2f676f2f"
                        "1911cc830a820165"
                        "2f2f676f2f"
                        "1911cd",
                        &b, &why));
    expect_text(&b, "dtn://go/ #0 every 0 s: /0:4556 /10:4557");
    /* of two nodes */
    ck_assert(!parse_hex(DISCOVERY_DTN7_GO,
                         "828300820165"
                         "2f2f676f2f"
                         "1911cc830a820165"
                         "2f2f67702f"
                         "1911cd",
                         &b, &why));
    ck_assert_str_eq(why, "it announces several nodes");
    ck_assert(!parse_hex(DISCOVERY_DTN7_GO, "80", &b, &why));
}
END_TEST

START_TEST(no_beacons)
{
    static const struct {
        const char *octets, *why;
    } bad[] = {
        {"", "it is empty"},
        {"840401820282050000", "another version of IPND"},
        {"840700820282050000", "items do not fit the flags"},
        {"840703820282050000", "items do not fit the flags"},
        {"840701820282050100", "it names no node"},       /* ipn:5.1 */
        {"840701820282000000", "it names no node"},       /* ipn:0.0 */
        {"84070182018000", NULL},                         /* dtn: an array */
        {"84070182028205000000", "something follows"},    /* a 0 */
        {"8507038202820500008281826374637019ffff", NULL}, /* it ends */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct discovery_beacon b;
        const char *why = NULL;
        ck_assert_msg(!parse_hex(DISCOVERY_IPND, bad[i].octets, &b, &why), "%s", bad[i].octets);
        ck_assert_ptr_nonnull(why);
        if (bad[i].why != NULL)
            ck_assert_str_eq(why, bad[i].why);
    }
}
END_TEST

START_TEST(written_is_read)
{
    struct discovery_beacon b = {.node = eid_ipn(0, 7, 0),
                                 .sequence = 70000,
                                 .period = 10 * TICK_S,
                                 .services = {{"tcp", 0, 4556}, {"stcp", -1, 4557}},
                                 .services_len = 2},
                            again;
    uint8_t out[DISCOVERY_BEACON_MAX];
    const char *why;
    size_t n = discovery_beacon_write(DISCOVERY_IPND, &b, out);
    ck_assert(discovery_beacon_parse(DISCOVERY_IPND, slice_of(out, n), &again, &why));
    expect_text(&again, "ipn:7.0 #70000 every 10 s: tcp/-1:4556 stcp/-1:4557");
    n = discovery_beacon_write(DISCOVERY_DTN7_GO, &b, out);
    ck_assert(discovery_beacon_parse(DISCOVERY_DTN7_GO, slice_of(out, n), &again, &why));
    expect_text(&again, "ipn:7.0 #0 every 0 s: /0:4556");
    b.services_len = 0;
    ck_assert_uint_eq(discovery_beacon_write(DISCOVERY_DTN7_GO, &b, out), 0);
    n = discovery_beacon_write(DISCOVERY_IPND, &b, out);
    ck_assert(discovery_beacon_parse(DISCOVERY_IPND, slice_of(out, n), &again, &why));
    expect_text(&again, "ipn:7.0 #70000 every 10 s:");
}
END_TEST

SUITE(discovery_beacon, t)
{
    tcase_add_test(t, beacon_of_dtn7_rs);
    tcase_add_test(t, beacon_of_dtn7_go);
    tcase_add_test(t, no_beacons);
    tcase_add_test(t, written_is_read);
}
