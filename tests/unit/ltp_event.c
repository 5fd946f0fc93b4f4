/* SPDX-License-Identifier: Apache-2.0 */
/* The log's lines, and that no record is longer than EVENT_CSV_MAX. */
#include <string.h>

#include "ltp/event.h"
#include "tests/unit/suite.h"

static void assert_line(const struct event *e, const char *want)
{
    char line[EVENT_CSV_MAX + 1];
    uint32_t len = event_csv(e, 10, 5, line);
    line[len] = '\0';
    ck_assert_str_eq(line, want);
}

static size_t commas(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += *text == ',';
    return n;
}

START_TEST(lines)
{
    struct event e = event_make(EVENT_TX, 1000);
    e.peer = 20;
    e.originator = 10;
    e.session = 7;
    e.type = 3;
    e.client_service = 1;
    e.offset = 0;
    e.length = 100;
    e.cp_serial = 9;
    e.rpt_serial = 0;
    e.attempt = 2;
    e.cause = CAUSE_TIMER;
    e.udp_len = 112;
    assert_line(&e, "1005,tx,10,20,10,7,3,red_cp_eob,red,1,0,100,9,0,,,,,,2,timer,112,,,,,,\n");
    e = event_make(EVENT_RX, 0);
    e.cause = e.verdict = VERDICT_BAD_SDNV;
    e.udp_len = 4;
    assert_line(&e, "5,rx,10,,,,,,,,,,,,,,,,,,bad_sdnv,4,,,,,,\n");
    e = event_make(EVENT_LINK, 0);
    e.peer = 20;
    e.cause = 1;
    assert_line(&e, "5,link,10,20,,,,,,,,,,,,,,,,,up,,,,,,,\n");
    e.peer = UINT64_MAX; /* a number like any other, when it is known */
    e.has_peer = true;
    assert_line(&e, "5,link,10,18446744073709551615,,,,,,,,,,,,,,,,,up,,,,,,,\n");
    e = event_make(EVENT_MATRIX, 0);
    e.peer = e.originator = 20;
    e.cause = MATRIX_REPAIRED;
    e.matrix = 3;
    e.segments = 100;
    e.repairs = 25;
    e.repaired = 24;
    e.missing = 0;
    e.delay = 7000;
    assert_line(&e, "5,matrix,10,20,20,,,,,,,,,,,,,,,,repaired,,3,100,25,24,0,7000\n");
}
END_TEST

START_TEST(columns_and_longest)
{
    struct event e;
    memset(&e, 0xff, sizeof e);
    e.has_peer = e.has_id = true;
    e.peer = e.originator = e.session = e.client_service = e.offset = e.length = UINT64_MAX - 1;
    e.cp_serial = e.rpt_serial = e.rs_lower = e.rs_upper = e.claims = UINT64_MAX - 1;
    e.claimed_bytes = e.cancel_reason = e.attempt = e.udp_len = e.now = UINT64_MAX - 1;
    e.matrix = e.segments = e.repairs = e.repaired = e.missing = e.delay = UINT64_MAX - 1;
    e.kind = EVENT_TX;
    e.red = true;
    e.cause = CAUSE_PROACTIVE;
    e.verdict = VERDICT_OK;
    for (e.type = -1; e.type < 16; e.type++) {
        char line[EVENT_CSV_MAX + 1];
        uint32_t len = event_csv(&e, UINT64_MAX - 1, 0, line);
        ck_assert_uint_le(len, EVENT_CSV_MAX);
        line[len] = '\0';
        ck_assert_uint_eq(commas(line), commas(event_csv_header));
    }
}
END_TEST

START_TEST(names)
{
    for (int v = 0; v < VERDICT_COUNT; v++)
        ck_assert_uint_gt(strlen(verdict_name((enum verdict)v)), 1);
    ck_assert_str_eq(event_type_name(8), "report");
    ck_assert_str_eq(event_type_name(16), "?");
    ck_assert_str_eq(event_type_name(-1), "?");
}
END_TEST

SUITE(ltp_event, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, lines);
    tcase_add_test(t, columns_and_longest);
    tcase_add_test(t, names);
}
