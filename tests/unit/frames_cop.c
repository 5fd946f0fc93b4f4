/* SPDX-License-Identifier: Apache-2.0 */
/* COP-1: the state tables of FARM-1 and FOP-1, cell by cell, as text; both engines against each
 * other over a channel that loses frames and CLCWs, in virtual time. */
#include "base/rng.h"
#include "frames/farm.h"
#include "frames/fop.h"
#include "frames_cop_pair.h"
#include "frames_help.h"
#include "tests/unit/suite.h"

/* ---- FARM-1: table 6-1 of 232.1-B ---- */

/* Of each event in OPEN, WAIT, LOCKOUT: next state, then A accepted, X executed, - discarded, then
 * flags that are set afterwards (w, r), the change of V(R) and of the counter. */
static const struct {
    enum farm_event event;
    const char *cell[FARM_STATES];
} farm_table[] = {
    {FARM_E1, {"1A +1", "2- wr", "3- wr"}}, {FARM_E2, {"2- wr", "2- wr", "3- wr"}},
    {FARM_E3, {"1- r", "2- wr", "3- wr"}},  {FARM_E4, {"1-", "2- wr", "3- wr"}},
    {FARM_E5, {"3-", "3- wr", "3- wr"}},    {FARM_E6, {"1A b", "2A wr b", "3A wr b"}},
    {FARM_E7, {"1X b", "1X b", "1X b"}},    {FARM_E8, {"1X b v", "1X b v", "3X wr b"}},
    {FARM_E9, {"1-", "2- wr", "3- wr"}},    {FARM_E10, {"1X", "1X r", "3X r"}},
};

static struct farm make_farm(enum farm_state state)
{
    struct farm f;
    farm_init(&f, 20);
    f.state = state;
    f.v_r = 255;
    f.b_counter = 3;
    f.wait = f.retransmit = state != FARM_OPEN;
    return f;
}

START_TEST(farm_states)
{
    for (size_t e = 0; e < FARM_EVENTS; e++) {
        ck_assert_int_eq(farm_table[e].event, (int)e);
        for (int s = 0; s < FARM_STATES; s++) {
            struct farm f = make_farm((enum farm_state)s);
            enum farm_verdict v = farm_event(&f, farm_table[e].event, 77);
            char got[16];
            snprintf(got, sizeof got, "%d%c%s%s%s%s%s%s%s", f.state + 1,
                     v == FARM_ACCEPTED   ? 'A'
                     : v == FARM_EXECUTED ? 'X'
                                          : '-',
                     f.wait || f.retransmit ? " " : "", f.wait ? "w" : "", f.retransmit ? "r" : "",
                     f.v_r == 0 ? " +1" : "", f.b_counter == 0 ? " b" : "", f.v_r == 77 ? " v" : "",
                     f.v_r != 0 && f.v_r != 77 && f.v_r != 255 ? "?" : "");
            ck_assert_msg(strcmp(got, farm_table[e].cell[s]) == 0, "E%zu in S%d: %s, not %s", e + 1,
                          s + 1, got, farm_table[e].cell[s]);
        }
    }
}
END_TEST

/* Every N(S) around every V(R); both windows. */
START_TEST(farm_windows)
{
    struct farm f;
    for (unsigned window = 2; window <= 254; window += 36) {
        farm_init(&f, window);
        for (unsigned v_r = 0; v_r < 256; v_r += 5) {
            f.v_r = (uint8_t)v_r;
            for (unsigned ahead = 0; ahead < 256; ahead++) {
                struct frame frame = {.kind = FRAME_TC, .count = (v_r + ahead) & 255};
                uint8_t number;
                enum farm_event want = ahead == 0                  ? FARM_E1
                                       : ahead < window / 2        ? FARM_E3
                                       : ahead >= 256 - window / 2 ? FARM_E4
                                                                   : FARM_E5;
                ck_assert_int_eq(farm_classify(&f, &frame, true, &number), want);
                if (ahead == 0)
                    ck_assert_int_eq(farm_classify(&f, &frame, false, &number), FARM_E2);
            }
        }
    }
}
END_TEST

START_TEST(farm_commands)
{
    static const struct {
        const char *hex;
        enum farm_event event;
    } commands[] = {{"00", FARM_E7},   {"82005a", FARM_E8}, {"0000", FARM_E9},    {"01", FARM_E9},
                    {"8200", FARM_E9}, {"82015a", FARM_E9}, {"82005a00", FARM_E9}};
    struct farm f;
    uint8_t zone[8], v_r;
    farm_init(&f, 10);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        struct frame frame = {.kind = FRAME_TC, .bypass = true, .command = true};
        frame.zone = slice_of(zone, read_hex(commands[i].hex, zone));
        ck_assert_int_eq(farm_classify(&f, &frame, true, &v_r), commands[i].event);
        ck_assert_uint_eq(v_r, commands[i].event == FARM_E8 ? 0x5a : 0);
        frame.bypass = false; /* type AC does not exist */
        ck_assert_int_eq(farm_classify(&f, &frame, true, &v_r), FARM_E9);
    }
    struct clcw c = {.vcid = 3, .no_rf = true};
    f.b_counter = 2;
    f.v_r = 9;
    f.retransmit = true;
    farm_report(&f, &c);
    ck_assert(c.cop == 1 && c.vcid == 3 && c.no_rf && c.farm_b == 2 && c.report_value == 9 &&
              c.retransmit && !c.wait && !c.lockout);
}
END_TEST

/* ---- FOP-1: table 5-1 of 232.1-B ---- */

/* Next states of S1 to S6 as digits; "." is not applicable. */
static const struct {
    enum fop_event event;
    const char *next;
} fop_table[] = {
    {FOP_E1, "166116"},   {FOP_E2, "111..6"},  {FOP_E3, "666666"},   {FOP_E4, "666656"},
    {FOP_E5, "166..6"},   {FOP_E6, "111..6"},  {FOP_E7, "666..6"},   {FOP_E101, "666..6"},
    {FOP_E102, "666..6"}, {FOP_E8, "222..6"},  {FOP_E9, "333..6"},   {FOP_E10, "222..6"},
    {FOP_E11, "333..6"},  {FOP_E12, "222..6"}, {FOP_E103, "333..6"}, {FOP_E13, "666656"},
    {FOP_E14, "666656"},  {FOP_E15, "666666"}, {FOP_E16, "12365."},  {FOP_E104, "12365."},
    {FOP_E17, "66666."},  {FOP_E18, "66666."}, {FOP_E19, "123456"},  {FOP_E20, "123456"},
    {FOP_E21, "123456"},  {FOP_E22, "123456"}, {FOP_E23, "123451"},  {FOP_E24, "123454"},
    {FOP_E25, "123455"},  {FOP_E26, "123456"}, {FOP_E27, "123455"},  {FOP_E28, "123456"},
    {FOP_E29, "666666"},  {FOP_E30, "123456"}, {FOP_E31, ".....1"},  {FOP_E32, ".....2"},
    {FOP_E33, ".....3"},  {FOP_E34, ".....4"}, {FOP_E35, "123456"},  {FOP_E36, "123456"},
    {FOP_E37, "123456"},  {FOP_E38, "123456"}, {FOP_E39, "123456"},  {FOP_E40, "123456"},
    {FOP_E41, "123456"},  {FOP_E42, "666666"}, {FOP_E43, "123456"},  {FOP_E44, "666666"},
    {FOP_E45, "123456"},  {FOP_E46, "666666"},
};

START_TEST(fop_states)
{
    ck_assert_uint_eq(sizeof fop_table / sizeof fop_table[0], FOP_EVENTS);
    for (size_t e = 0; e < FOP_EVENTS; e++)
        for (int s = 0; s < FOP_STATES; s++) {
            enum fop_state next = fop_next((enum fop_state)s, fop_table[e].event);
            char got = next == FOP_STATES ? '.' : (char)('1' + next);
            ck_assert_msg(got == fop_table[e].next[s], "row %zu, S%d: %c", e, s + 1, got);
        }
}
END_TEST

static const struct fop_config config = {.vcid = 3, .window = 4, .limit = 3, .timer = 10 * TICK_MS};

/* What it told and sent, one letter each: a accepted, r rejected, c confirmed, f failed; A R C F of
 * directives; ! alert with its number, ~ suspended, x abort; then services and numbers. */
static void drain(struct fop *f, char *out)
{
    static const char letters[] = "arcfARCF!~x";
    struct fop_notice n;
    struct fop_transmission t;
    while (fop_notice(f, &n)) {
        *out++ = letters[n.kind];
        if (n.kind == FOP_ALERTED)
            *out++ = (char)('0' + n.alert);
    }
    while (fop_transmit(f, &t)) {
        if (t.service == FOP_AD)
            out += sprintf(out, " AD%u", t.number);
        else if (t.service == FOP_BC)
            out += sprintf(out, " BC%02x", t.command[0]);
        else
            out += sprintf(out, " BD");
    }
    *out = '\0';
    fop_check(f);
}

static void assert_fop(struct fop *f, const char *want, enum fop_state state)
{
    char got[256];
    drain(f, got);
    ck_assert_str_eq(got, want);
    ck_assert_int_eq(f->state, state);
}

/* Such a CLCW: flags of "lwr". */
static void report(struct fop *f, tick now, uint8_t value, const char *flags)
{
    struct clcw c = {.cop = 1, .vcid = 3, .report_value = value};
    c.lockout = strchr(flags, 'l') != NULL;
    c.wait = strchr(flags, 'w') != NULL;
    c.retransmit = strchr(flags, 'r') != NULL;
    fop_clcw(f, now, &c);
}

/* ACTIVE, with n frames sent and not acknowledged: numbers 0 to n - 1. */
static void make_active(struct fop *f, unsigned n)
{
    char dump[256];
    fop_init(f, &config);
    fop_direct(f, 0, FOP_INITIATE, 0, 1);
    assert_fop(f, "AC", FOP_ACTIVE);
    for (unsigned i = 0; i < n; i++) {
        fop_send(f, 0, FOP_AD, 100 + i);
        drain(f, dump);
        fop_response(f, 0, FOP_AD, true);
        assert_fop(f, "", FOP_ACTIVE);
    }
}

START_TEST(fop_acknowledges)
{
    struct fop f;
    make_active(&f, 2);
    ck_assert_uint_eq(fop_deadline(&f), 10 * TICK_MS);
    report(&f, 1, 0, ""); /* E5 */
    assert_fop(&f, "", FOP_ACTIVE);
    report(&f, 1, 1, ""); /* E6 */
    assert_fop(&f, "c", FOP_ACTIVE);
    report(&f, 1, 2, ""); /* E2 */
    assert_fop(&f, "c", FOP_ACTIVE);
    ck_assert_uint_eq(fop_deadline(&f), TICK_NEVER);
    report(&f, 1, 2, ""); /* E1 */
    assert_fop(&f, "", FOP_ACTIVE);
    for (unsigned i = 0; i < 4; i++) { /* the window */
        fop_send(&f, 2, FOP_AD, i);
        char want[8];
        snprintf(want, sizeof want, "a AD%u", 2 + i);
        assert_fop(&f, want, FOP_ACTIVE);
        fop_response(&f, 2, FOP_AD, true);
        assert_fop(&f, "", FOP_ACTIVE);
    }
    fop_send(&f, 2, FOP_AD, 9);
    assert_fop(&f, "", FOP_ACTIVE);
    fop_send(&f, 2, FOP_AD, 10); /* E20 */
    assert_fop(&f, "r", FOP_ACTIVE);
    report(&f, 3, 4, "");
    assert_fop(&f, "cca AD6", FOP_ACTIVE);
}
END_TEST

START_TEST(fop_retransmits)
{
    struct fop f;
    make_active(&f, 3);
    report(&f, 1, 1, "r"); /* E8 */
    assert_fop(&f, "cx AD1", FOP_RETRANSMIT);
    fop_response(&f, 1, FOP_AD, true);
    assert_fop(&f, " AD2", FOP_RETRANSMIT);
    fop_response(&f, 1, FOP_AD, true);
    assert_fop(&f, "", FOP_RETRANSMIT);
    report(&f, 2, 1, "r"); /* E10 in S2: under way already */
    assert_fop(&f, "", FOP_RETRANSMIT);
    report(&f, 2, 1, "rw"); /* E11 */
    assert_fop(&f, "", FOP_RETRANSMIT_WAIT);
    fop_expire(&f, fop_deadline(&f)); /* E16 in S3 */
    assert_fop(&f, "", FOP_RETRANSMIT_WAIT);
    report(&f, 3, 1, "r"); /* E10 in S3: the third transmission */
    assert_fop(&f, "x AD1", FOP_RETRANSMIT);
    fop_response(&f, 3, FOP_AD, true);
    assert_fop(&f, " AD2", FOP_RETRANSMIT);
    report(&f, 4, 1, "r"); /* E12 */
    assert_fop(&f, "", FOP_RETRANSMIT);
    report(&f, 4, 2, ""); /* E6 */
    assert_fop(&f, "c", FOP_ACTIVE);
    report(&f, 4, 2, "rw"); /* E11 */
    assert_fop(&f, "", FOP_RETRANSMIT_WAIT);
    report(&f, 5, 3, ""); /* E2 */
    assert_fop(&f, "c", FOP_ACTIVE);
}
END_TEST

START_TEST(fop_alerts)
{
    static const struct {
        uint8_t value;
        const char *flags, *want; /* of two frames and one that waits */
    } cases[] = {{2, "r", "xffr!3"},
                 {2, "w", "xffr!5"},
                 {0, "w", "xffr!5"},
                 {0, "l", "xffr!2"},
                 {5, "", "xffr!4"}};
    struct fop f;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        make_active(&f, 2);
        f.config.window = 2;
        fop_send(&f, 1, FOP_AD, 7);
        assert_fop(&f, "", FOP_ACTIVE);
        report(&f, 1, cases[i].value, cases[i].flags);
        assert_fop(&f, cases[i].want, FOP_INITIAL);
        ck_assert_uint_eq(fop_deadline(&f), TICK_NEVER);
    }
    make_active(&f, 2);
    fop_direct(&f, 1, FOP_SET_LIMIT, 1, 5);
    assert_fop(&f, "AC", FOP_ACTIVE);
    report(&f, 1, 1, "r"); /* E101 */
    assert_fop(&f, "cxf!0", FOP_INITIAL);
    make_active(&f, 1);
    f.config.limit = 1;
    report(&f, 1, 0, "r"); /* E102 */
    assert_fop(&f, "xf!0", FOP_INITIAL);
    make_active(&f, 1);
    fop_send(&f, 1, FOP_AD, 8);
    assert_fop(&f, "a AD1", FOP_ACTIVE);
    fop_response(&f, 1, FOP_AD, false); /* E42 */
    assert_fop(&f, "xff!6", FOP_INITIAL);
    make_active(&f, 1);
    fop_direct(&f, 1, FOP_TERMINATE, 0, 6);
    assert_fop(&f, "Axf!7C", FOP_INITIAL);
    make_active(&f, 1);
    struct clcw other = {.cop = 1, .vcid = 4, .lockout = true}, strange = {.cop = 2, .vcid = 3};
    fop_clcw(&f, 1, &other);
    assert_fop(&f, "", FOP_ACTIVE);
    fop_clcw(&f, 1, &strange); /* E15 */
    assert_fop(&f, "xf!5", FOP_INITIAL);
}
END_TEST

START_TEST(fop_timer)
{
    struct fop f;
    for (int type = 0; type < 2; type++) {
        make_active(&f, 1);
        fop_direct(&f, 0, FOP_SET_TIMEOUT_TYPE, (uint32_t)type, 2);
        assert_fop(&f, "AC", FOP_ACTIVE);
        fop_expire(&f, 10 * TICK_MS - 1);
        assert_fop(&f, "", FOP_ACTIVE);
        for (tick n = 1; n <= 2; n++) { /* E16, E104 */
            ck_assert_uint_eq(fop_deadline(&f), 10 * n * TICK_MS);
            fop_expire(&f, 10 * n * TICK_MS);
            assert_fop(&f, "x AD0", FOP_ACTIVE);
            fop_response(&f, 10 * n * TICK_MS, FOP_AD, true);
            assert_fop(&f, "", FOP_ACTIVE);
        }
        fop_expire(&f, 30 * TICK_MS);
        assert_fop(&f, type == 0 ? "xf!1" : "~", FOP_INITIAL); /* E17, E18 */
        ck_assert_uint_eq(fop_deadline(&f), TICK_NEVER);
    }
    fop_direct(&f, 40 * TICK_MS, FOP_SET_V_S, 9, 3); /* suspended: not now */
    assert_fop(&f, "R", FOP_INITIAL);
    fop_direct(&f, 40 * TICK_MS, FOP_RESUME, 0, 3); /* E31 */
    assert_fop(&f, "AC", FOP_ACTIVE);
    ck_assert_uint_eq(fop_deadline(&f), 50 * TICK_MS);
    report(&f, 41 * TICK_MS, 1, "");
    assert_fop(&f, "c", FOP_ACTIVE);
    fop_direct(&f, 42 * TICK_MS, FOP_RESUME, 0, 3); /* E30 */
    assert_fop(&f, "R", FOP_ACTIVE);
}
END_TEST

START_TEST(fop_initiations)
{
    struct fop f;
    fop_init(&f, &config);
    fop_send(&f, 0, FOP_AD, 1);
    assert_fop(&f, "r", FOP_INITIAL);
    fop_direct(&f, 0, FOP_INITIATE_CLCW, 0, 2); /* E24 */
    assert_fop(&f, "A", FOP_INITIALISING);
    fop_send(&f, 0, FOP_AD, 3);
    assert_fop(&f, "r", FOP_INITIALISING);
    report(&f, 1, 0, "");
    assert_fop(&f, "C", FOP_ACTIVE);
    fop_direct(&f, 1, FOP_TERMINATE, 0, 4);
    assert_fop(&f, "Ax!7C", FOP_INITIAL);
    fop_direct(&f, 1, FOP_INITIATE_CLCW, 0, 5);
    assert_fop(&f, "A", FOP_INITIALISING);
    fop_expire(&f, fop_deadline(&f)); /* E16 in S4 */
    assert_fop(&f, "xF!1", FOP_INITIAL);
    fop_direct(&f, 1, FOP_INITIATE_UNLOCK, 0, 6); /* E25 */
    assert_fop(&f, "A BC00", FOP_INITIALISING_BC);
    report(&f, 2, 0, "l"); /* not unlocked yet */
    assert_fop(&f, "", FOP_INITIALISING_BC);
    fop_expire(&f, fop_deadline(&f)); /* the layer below has not taken it */
    assert_fop(&f, "x", FOP_INITIALISING_BC);
    fop_response(&f, 2, FOP_BC, true);
    assert_fop(&f, " BC00", FOP_INITIALISING_BC);
    report(&f, 3, 0, "");
    assert_fop(&f, "C", FOP_ACTIVE);
    fop_direct(&f, 3, FOP_TERMINATE, 0, 7);
    assert_fop(&f, "Ax!7C", FOP_INITIAL);
    fop_direct(&f, 3, FOP_INITIATE_SET_V_R, 200, 8); /* E28: the last command is not taken */
    assert_fop(&f, "R", FOP_INITIAL);
    fop_response(&f, 3, FOP_BC, true);
    assert_fop(&f, "", FOP_INITIAL);
    fop_direct(&f, 3, FOP_INITIATE_SET_V_R, 200, 8); /* E27 */
    assert_fop(&f, "A BC82", FOP_INITIALISING_BC);
    report(&f, 4, 0, ""); /* E13 in S5: not set yet */
    assert_fop(&f, "", FOP_INITIALISING_BC);
    report(&f, 4, 200, "");
    assert_fop(&f, "C", FOP_ACTIVE);
    fop_send(&f, 5, FOP_AD, 9);
    assert_fop(&f, "a AD200", FOP_ACTIVE);
    fop_send(&f, 5, FOP_BD, 10);
    assert_fop(&f, "a BD", FOP_ACTIVE);
    fop_send(&f, 5, FOP_BD, 11); /* E22 */
    assert_fop(&f, "r", FOP_ACTIVE);
    fop_response(&f, 5, FOP_BD, true);
    assert_fop(&f, "", FOP_ACTIVE);
    static const uint32_t wrong[][2] = {
        {FOP_SET_WINDOW, 0}, {FOP_SET_WINDOW, 256},     {FOP_SET_LIMIT, 0}, {FOP_SET_TIMER, 0},
        {FOP_SET_V_S, 256},  {FOP_SET_TIMEOUT_TYPE, 2}, {FOP_DIRECTIVES, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) { /* E40 */
        fop_direct(&f, 6, (enum fop_directive)wrong[i][0], wrong[i][1], 12);
        assert_fop(&f, "R", FOP_ACTIVE);
    }
}
END_TEST

START_TEST(lossy_channel)
{
    static const double losses[] = {0, 0.02, 0.2};
    unsigned whole = 0;
    for (unsigned k = 0; k < 30; k++) {
        static struct scene s;
        const struct fop_config c = {.vcid = 3, .window = 20, .limit = 200, .timer = 50 * TICK_MS};
        memset(&s, 0, sizeof s);
        s.loss = losses[k % 3];
        s.free = true;
        rng_init(&s.rng, k);
        fop_init(&s.fop, &c);
        farm_init(&s.farm, 100);
        run_scene(&s);
        whole += s.confirmed == COMMANDS;
        ck_assert_uint_ge(s.got, s.confirmed);
        ck_assert_msg(s.confirmed == COMMANDS || s.alerted, "seed %u: stuck at %u of state %d", k,
                      s.confirmed, s.fop.state);
    }
    ck_assert_uint_eq(whole, 30);
}
END_TEST

SUITE(frames_cop, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, farm_states);
    tcase_add_test(t, farm_windows);
    tcase_add_test(t, farm_commands);
    tcase_add_test(t, fop_states);
    tcase_add_test(t, fop_acknowledges);
    tcase_add_test(t, fop_retransmits);
    tcase_add_test(t, fop_alerts);
    tcase_add_test(t, fop_timer);
    tcase_add_test(t, fop_initiations);
    tcase_add_test(t, lossy_channel);
}
