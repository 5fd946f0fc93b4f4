/* SPDX-License-Identifier: Apache-2.0 */
/* Records of custody transfer, octet for octet, and the engine: what it does with bundles, signals
 * and time, as a trace. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/rng.h"
#include "bp/custody/custody.h"
#include "bp_help.h"
#include "tests/unit/suite.h"

/* ---- records ---- */

START_TEST(known_bytes)
{
    static const uint8_t signal[] = {0x82, 0x04, 0x82, 0x00, 0x82, 0x82, 0x01,
                                     0x03, 0x82, 0x19, 0x01, 0x2c, 0x01};
    const struct range at[] = {{1, 4}, {300, 301}};
    struct range got[CUSTODY_READ_MAX];
    struct custody_record r;
    uint8_t out[CUSTODY_SIGNAL_MAX];
    struct buf *b = buf_new(CUSTODY_HEAD_MAX, 2);
    memcpy(buf_append(b, 2), "hi", 2);
    ck_assert_int_eq(custody_bpdu_write(CUSTODY_DRAFT, 7, 1000, b), 0);
    ck_assert_uint_eq(b->len, 10);
    ck_assert_mem_eq(buf_data(b), "\x82\x03\x83\x07\x19\x03\xe8\x42hi", 10);
    ck_assert_int_eq(custody_read(buf_slice(b), &r, got), 0);
    ck_assert(!r.signal && r.id == 7 && r.again_at == 1000);
    ck_assert(slice_equal(r.bundle, slice_of("hi", 2)));
    ck_assert_int_eq(custody_read_bpdu(buf_slice(b), &r), 0);
    ck_assert_uint_eq(custody_signal_write(CUSTODY_DRAFT, CUSTODY_ACCEPTED, at, 2, out),
                      sizeof signal);
    ck_assert_mem_eq(out, signal, sizeof signal);
    ck_assert_int_eq(custody_read(slice_of(signal, sizeof signal), &r, got), 0);
    ck_assert(r.signal && r.disposition == CUSTODY_ACCEPTED && r.len == 2);
    ck_assert(got[0].lo == 1 && got[0].hi == 4 && got[1].lo == 300 && got[1].hi == 301);
    ck_assert_int_eq(custody_read_bpdu(slice_of(signal, sizeof signal), &r), HELIO_ENOENT);
    custody_signal_write(CUSTODY_ION, CUSTODY_DEPLETED, at, 1, out);
    ck_assert_mem_eq(out, "\x82\x08\x82\x04\x81\x82\x01\x03", 8);
    ck_assert_int_eq(custody_read(slice_of(out, 8), &r, got), 0);
    ck_assert(r.signal && r.disposition == CUSTODY_DEPLETED);
    buf_drop(b);
}
END_TEST

START_TEST(no_head_room)
{
    struct buf *b = buf_new(1, 8);
    buf_append(b, 8);
    ck_assert_int_eq(custody_bpdu_write(CUSTODY_DRAFT, 1, 1, b), HELIO_ESPACE);
    ck_assert_uint_eq(b->len, 8);
    buf_drop(b);
}
END_TEST

START_TEST(wrong_forms)
{
    static const struct {
        const char *hex;
        int rc;
    } cases[] = {
        {"", HELIO_EFORMAT},
        {"8203", HELIO_EFORMAT},
        {"82018100", HELIO_ENOENT}, /* a status report, and other types */
        {"82058100", HELIO_ENOENT},
        {"8303830100420000", HELIO_EFORMAT},
        {"8203830100420000", 0},
        {"820383000040", 0}, /* custody is not requested */
        {"82038401004200", HELIO_EFORMAT},
        {"82038301004200", HELIO_EFORMAT},     /* cut off */
        {"820383010042000000", HELIO_EFORMAT}, /* and more behind it */
        {"8203832000420000", HELIO_EFORMAT},
        {"8203830100620000", HELIO_EFORMAT}, /* text */
        {"82038301005f420000ff", HELIO_EFORMAT},
        {"8204820081820101", 0},
        {"820482188081820101", 0}, /* a disposition of a later draft */
        {"8204820080", 0},
        {"82048200818201", HELIO_EFORMAT},
        {"8204820081820001", HELIO_EFORMAT}, /* the ID 0 */
        {"8204820081820100", HELIO_EFORMAT}, /* no IDs */
        {"8204820081821bffffffffffffffff01", HELIO_EFORMAT},
        {"8204820081821bfffffffffffffffe01", 0},
        {"8204820081821b80000000000000001b8000000000000000", HELIO_EFORMAT},
        {"82048200190401820101", HELIO_EFORMAT},
        {"820482009904018201018201018201", HELIO_EFORMAT}, /* 1025 sequences */
        {"820482009bffffffffffffffff820101", HELIO_EFORMAT},
        {"8204830081820101", HELIO_EFORMAT},
        {"820482008183010101", HELIO_EFORMAT},
    };
    static struct range at[CUSTODY_READ_MAX];
    uint8_t data[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct custody_record r;
        const size_t len = unhex(cases[i].hex, data, sizeof data);
        const int rc = custody_read(slice_of(data, len), &r, at);
        ck_assert_msg(rc == cases[i].rc, "%s: %d", cases[i].hex, rc);
    }
}
END_TEST

START_TEST(dispositions)
{
    ck_assert_str_eq(custody_disposition_text(CUSTODY_DEPLETED), "depleted storage");
    ck_assert_str_eq(custody_disposition_text(2), "unassigned");
    ck_assert_str_eq(custody_disposition_text(UINT64_MAX), "unassigned");
    ck_assert(custody_is_accepted(CUSTODY_ACCEPTED) && custody_is_accepted(CUSTODY_REDUNDANT));
    ck_assert(!custody_is_accepted(CUSTODY_NO_INFORMATION));
}
END_TEST

/* ---- the engine ---- */

struct scene {
    struct custody *c;
    tick now;
    uint64_t first; /* ID */
    bool here;      /* bundles have not left the node */
    char trace[4000];
};

static void note(struct scene *s, const char *format, ...)
{
    va_list list;
    const size_t len = strlen(s->trace);
    va_start(list, format);
    vsnprintf(s->trace + len, sizeof s->trace - len, format, list);
    va_end(list);
}

static void expect(struct scene *s, const char *trace)
{
    ck_assert_str_eq(s->trace, trace);
    s->trace[0] = '\0';
    custody_check(s->c);
}

static void begin(struct scene *s, uint64_t held_max, uint64_t id_max)
{
    const struct custody_config k = {.held_max = held_max,
                                     .id_max = id_max,
                                     .timer = 10 * TICK_S,
                                     .signal_after = TICK_S,
                                     .signal_count = 3};
    *s = (struct scene){.c = custody_new(&k, 7), .now = 100 * TICK_S};
    ck_assert_ptr_nonnull(s->c);
}

static void end(struct scene *s)
{
    expect(s, "");
    custody_free(s->c);
}

/* IDs in the trace count from the first one. */
static void hold(struct scene *s, uint64_t key)
{
    uint64_t id;
    const int rc = custody_hold(s->c, key, &id);
    if (rc < 0) {
        note(s, "hold %" PRIu64 ": %s\n", key, rc == HELIO_EAGAIN ? "again" : "no");
        return;
    }
    s->first = s->first == 0 ? id : s->first;
    note(s, "hold %" PRIu64 ": id %" PRIu64 "\n", key, id - s->first);
}

static void send_held(struct scene *s, uint64_t key)
{
    const struct custody_carrier carrier = {s->now, key};
    custody_sent(s->c, key, &carrier, s->now);
}

static void transmit(struct scene *s, uint64_t key)
{
    hold(s, key);
    send_held(s, key);
}

static bool is_here(void *context, const struct custody_carrier *carrier)
{
    const struct scene *s = context;
    ck_assert_uint_le(carrier->time_ms, s->now);
    return s->here;
}

static void pass(struct scene *s, tick by)
{
    static const char *const words[] = {"released", "refused", "lost", "cancelled"};
    struct custody_event e;
    s->now += by;
    custody_expire(s->c, s->now, is_here, s);
    while (custody_poll(s->c, &e)) {
        note(s, "%s %" PRIu64, words[e.outcome], e.key);
        if (e.outcome == CUSTODY_REFUSED)
            note(s, ": %s", custody_disposition_text(e.disposition));
        note(s, "\n");
    }
    enum custody_disposition d;
    const struct range *at;
    size_t len;
    while (custody_signal(s->c, s->now, &d, &at, &len)) {
        note(s, "signal %s", custody_disposition_text(d));
        for (size_t i = 0; i < len; i++)
            note(s, " %" PRIu64 "+%" PRIu64, at[i].lo, at[i].hi - at[i].lo);
        note(s, "\n");
        custody_signalled(s->c, d, true, 0);
    }
    custody_check(s->c);
}

static void signal_ids(struct scene *s, uint64_t disposition, uint64_t from, uint64_t count)
{
    struct range r = {s->first + from, s->first + from + count};
    ck_assert_int_eq(custody_input(s->c, disposition, &r, 1), 0);
}

START_TEST(accepted_and_refused)
{
    struct scene s;
    begin(&s, 8, INT64_MAX);
    for (uint64_t key = 1; key <= 4; key++)
        transmit(&s, key);
    expect(&s, "hold 1: id 0\nhold 2: id 1\nhold 3: id 2\nhold 4: id 3\n");
    signal_ids(&s, CUSTODY_ACCEPTED, 0, 2);
    signal_ids(&s, CUSTODY_DEPLETED, 2, 1);
    signal_ids(&s, CUSTODY_REDUNDANT, 3, 1);
    pass(&s, TICK_S);
    expect(&s, "released 1\nreleased 2\nreleased 4\n");
    pass(&s, 8 * TICK_S);
    expect(&s, "");
    pass(&s, TICK_S); /* the timer */
    expect(&s, "refused 3: depleted storage\n");
    ck_assert_uint_eq(custody_held(s.c), 0);
    transmit(&s, 3);
    signal_ids(&s, 99, 4, 1); /* of a later draft: not accepted */
    pass(&s, 10 * TICK_S);    /* not longer: it was answered */
    expect(&s, "hold 3: id 4\nrefused 3: unassigned\n");
    transmit(&s, 5);
    signal_ids(&s, CUSTODY_DEPLETED, 5, 1);
    signal_ids(&s, CUSTODY_ACCEPTED, 5, 1);
    pass(&s, 0);
    expect(&s, "hold 5: id 5\nreleased 5\n");
    end(&s);
}
END_TEST

START_TEST(timer)
{
    struct scene s;
    begin(&s, 8, INT64_MAX);
    transmit(&s, 1);
    ck_assert_uint_eq(custody_deadline(s.c), s.now + 10 * TICK_S);
    pass(&s, 10 * TICK_S - 1);
    expect(&s, "hold 1: id 0\n");
    pass(&s, 1);
    expect(&s, "lost 1\n");
    transmit(&s, 1); /* no signal since: the timer is twice as long */
    pass(&s, 20 * TICK_S - 1);
    expect(&s, "hold 1: id 1\n");
    signal_ids(&s, CUSTODY_ACCEPTED, 0, 1); /* late, and for an earlier ID of it */
    pass(&s, 0);
    expect(&s, "released 1\n");
    ck_assert_uint_eq(custody_stats(s.c)->late, 0);
    transmit(&s, 2); /* as long as at first */
    pass(&s, 10 * TICK_S);
    expect(&s, "hold 2: id 2\nlost 2\n");
    for (int i = 0; i < 20; i++) {
        transmit(&s, 2);
        const tick due = custody_deadline(s.c) - s.now;
        ck_assert_uint_le(due, CUSTODY_BACKOFF_MAX * 10 * TICK_S);
        pass(&s, due);
    }
    ck_assert_uint_eq(custody_stats(s.c)->lost, 22);
    s.trace[0] = '\0';
    end(&s);
}
END_TEST

/* While the peer cannot transmit, no signal is late. */
/* Its bundle waits in the node, such as for a contact: no second one joins it there. */
START_TEST(timer_of_a_waiting_bundle)
{
    struct scene s;
    begin(&s, 8, INT64_MAX);
    s.here = true;
    transmit(&s, 1);
    for (int i = 0; i < 100; i++)
        pass(&s, 10 * TICK_S);
    s.here = false;
    pass(&s, 10 * TICK_S); /* it left at some time since */
    expect(&s, "hold 1: id 0\n");
    ck_assert_uint_eq(custody_deadline(s.c), s.now + 10 * TICK_S);
    pass(&s, 10 * TICK_S);
    expect(&s, "lost 1\n");
    end(&s);
}
END_TEST

START_TEST(timer_stands_still)
{
    struct scene s;
    begin(&s, 8, INT64_MAX);
    transmit(&s, 1);
    pass(&s, 4 * TICK_S);
    custody_open(s.c, false, s.now);
    ck_assert_uint_eq(custody_deadline(s.c), TICK_NEVER);
    pass(&s, 3600 * TICK_S);
    transmit(&s, 2);
    pass(&s, 3600 * TICK_S);
    custody_open(s.c, true, s.now);
    expect(&s, "hold 1: id 0\nhold 2: id 1\n");
    pass(&s, 6 * TICK_S);
    expect(&s, "lost 1\n");
    pass(&s, 4 * TICK_S);
    expect(&s, "lost 2\n");
    end(&s);
}
END_TEST

/* Signals arrive for 600 s a day, and the light time is 2,400 s: it passes while there is no
 * contact. */
START_TEST(light_time_passes)
{
    struct scene s;
    begin(&s, 8, INT64_MAX);
    const struct custody_config k = {
        .timer = 10 * TICK_S, .light = 2400 * TICK_S, .signal_after = TICK_S, .signal_count = 3};
    custody_set(s.c, &k);
    transmit(&s, 1);
    pass(&s, 600 * TICK_S);
    custody_open(s.c, false, s.now);
    pass(&s, 1000 * TICK_S);
    transmit(&s, 2);
    pass(&s, 1000 * TICK_S);
    custody_open(s.c, true, s.now);
    pass(&s, 9 * TICK_S);
    expect(&s, "hold 1: id 0\nhold 2: id 1\n");
    pass(&s, TICK_S);
    expect(&s, "lost 1\n"); /* 1,400 s of light are left of the other */
    pass(&s, 1390 * TICK_S);
    expect(&s, "");
    pass(&s, 10 * TICK_S);
    expect(&s, "lost 2\n");
    end(&s);
}
END_TEST

/* The node is still storing the encapsulating bundle of an earlier turn. */
START_TEST(signal_before_sent)
{
    struct scene s;
    begin(&s, 8, INT64_MAX);
    hold(&s, 1);
    signal_ids(&s, CUSTODY_ACCEPTED, 0, 1);
    pass(&s, TICK_S);
    expect(&s, "hold 1: id 0\n");
    send_held(&s, 1);
    pass(&s, 0);
    expect(&s, "released 1\n");
    hold(&s, 2);
    ck_assert(custody_drop(s.c, 2));
    ck_assert(!custody_drop(s.c, 2));
    send_held(&s, 2);
    transmit(&s, 3);
    ck_assert(custody_cancel(s.c, 3));
    ck_assert(custody_cancel(s.c, 3)); /* its outcome is to come */
    ck_assert(!custody_cancel(s.c, 2));
    pass(&s, 0);
    expect(&s, "hold 2: id 1\nhold 3: id 2\ncancelled 3\n");
    end(&s);
}
END_TEST

/* What was never issued is counted, and takes no time, whatever its length is. */
START_TEST(forged_signals)
{
    struct scene s;
    begin(&s, 8, INT64_MAX);
    struct range all = {1, UINT64_MAX}, many[CUSTODY_READ_MAX];
    ck_assert_int_eq(custody_input(s.c, CUSTODY_ACCEPTED, &all, 1), 0);
    ck_assert_uint_eq(custody_stats(s.c)->never_issued, 1);
    transmit(&s, 1);
    all = (struct range){1, UINT64_MAX}; /* the ID in use is among them */
    ck_assert_int_eq(custody_input(s.c, CUSTODY_ACCEPTED, &all, 1), 0);
    for (size_t i = 0; i < CUSTODY_READ_MAX; i++)
        many[i] = (struct range){s.first + 1 + i, UINT64_MAX};
    ck_assert_int_eq(custody_input(s.c, CUSTODY_ACCEPTED, many, CUSTODY_READ_MAX), 0);
    ck_assert_uint_eq(custody_stats(s.c)->never_issued, 2 + CUSTODY_READ_MAX);
    pass(&s, TICK_S);
    expect(&s, "hold 1: id 0\n");
    signal_ids(&s, CUSTODY_ACCEPTED, 0, 1);
    pass(&s, 0);
    signal_ids(&s, CUSTODY_ACCEPTED, 0, 1);
    ck_assert_uint_eq(custody_stats(s.c)->late, 1);
    expect(&s, "released 1\n");
    end(&s);
}
END_TEST

START_TEST(limits)
{
    struct scene s;
    begin(&s, 2, INT64_MAX);
    transmit(&s, 1);
    transmit(&s, 2);
    hold(&s, 3);
    expect(&s, "hold 1: id 0\nhold 2: id 1\nhold 3: again\n");
    /* One bundle waits while others come and go: IDs that are known are limited, and it is given
     * up early. */
    for (unsigned i = 2; i < 2 * CUSTODY_SPAN; i++) {
        signal_ids(&s, CUSTODY_ACCEPTED, i - 1, 1);
        pass(&s, 0);
        transmit(&s, 10 + i);
    }
    signal_ids(&s, CUSTODY_ACCEPTED, 2 * CUSTODY_SPAN - 1, 1);
    pass(&s, 0);
    s.trace[0] = '\0';
    hold(&s, 4);
    pass(&s, 0);
    expect(&s, "hold 4: id 8\nlost 1\n");
    signal_ids(&s, CUSTODY_ACCEPTED, 0, 1);
    pass(&s, 0);
    expect(&s, "");
    ck_assert_uint_eq(custody_held(s.c), 1);
    end(&s);
}
END_TEST

/* IDs of 32 bits come to an end: new ones begin elsewhere, when none waits. */
START_TEST(ids_end)
{
    struct scene s;
    const uint64_t id_max = UINT64_C(16) * 65536;
    uint64_t id, last = 0, again = 0;
    begin(&s, 1, id_max);
    for (uint64_t i = 0; i < 2 * id_max; i++) {
        ck_assert_int_eq(custody_hold(s.c, i, &id), 0);
        ck_assert(id >= 1 && id <= id_max);
        again += id <= last;
        last = id;
        ck_assert(custody_drop(s.c, i));
    }
    ck_assert_uint_ge(again, 2);
    end(&s);
}
END_TEST

START_TEST(signals_are_collected)
{
    struct scene s;
    begin(&s, 8, INT64_MAX);
    custody_confirm(s.c, 5, CUSTODY_ACCEPTED, s.now);
    custody_confirm(s.c, 5, CUSTODY_ACCEPTED, s.now); /* a repetition is none more */
    custody_confirm(s.c, 6, CUSTODY_DEPLETED, s.now);
    ck_assert_uint_eq(custody_signal_due(s.c), s.now + TICK_S);
    pass(&s, TICK_S - 1);
    expect(&s, "");
    pass(&s, 1);
    expect(&s, "signal custody accepted 5+1\nsignal depleted storage 6+1\n");
    ck_assert_uint_eq(custody_signal_due(s.c), TICK_NEVER);
    custody_confirm(s.c, 9, CUSTODY_ACCEPTED, s.now);
    custody_confirm(s.c, 8, CUSTODY_ACCEPTED, s.now);
    custody_confirm(s.c, 11, CUSTODY_ACCEPTED, s.now); /* the third one */
    pass(&s, 0);
    expect(&s, "signal custody accepted 8+2 11+1\n");
    custody_confirm(s.c, 0, CUSTODY_ACCEPTED, s.now);
    custody_confirm(s.c, UINT64_MAX, CUSTODY_ACCEPTED, s.now);
    pass(&s, TICK_S);
    ck_assert_uint_eq(custody_stats(s.c)->not_confirmed, 2);
    ck_assert_uint_eq(custody_stats(s.c)->confirmed, 5);
    end(&s);
}
END_TEST

/* The node has no room for the signal: it is tried again, and grows meanwhile up to a limit. */
START_TEST(signals_without_room)
{
    struct scene s;
    enum custody_disposition d;
    const struct range *at;
    size_t len;
    begin(&s, 8, INT64_MAX);
    for (uint64_t i = 1; i <= CUSTODY_RANGES_MAX + 10; i++)
        custody_confirm(s.c, 2 * i, CUSTODY_ACCEPTED, s.now);
    ck_assert_uint_eq(custody_stats(s.c)->not_confirmed, 10);
    ck_assert(custody_signal(s.c, s.now, &d, &at, &len));
    ck_assert_uint_eq(len, CUSTODY_RANGES_MAX);
    custody_signalled(s.c, d, false, s.now + TICK_S);
    ck_assert(!custody_signal(s.c, s.now, &d, &at, &len));
    ck_assert(custody_signal(s.c, s.now + TICK_S, &d, &at, &len));
    uint8_t out[CUSTODY_SIGNAL_MAX];
    ck_assert_uint_le(custody_signal_write(CUSTODY_DRAFT, d, at, len, out), sizeof out);
    custody_signalled(s.c, d, true, 0);
    ck_assert_uint_eq(custody_stats(s.c)->signals_sent, 1);
    end(&s);
}
END_TEST

/* Over restarts, whatever the clock says: other IDs. */
START_TEST(ids_of_other_runs)
{
    uint64_t first[100];
    const struct custody_config k = {
        .held_max = 1, .id_max = INT64_MAX, .timer = 1, .signal_count = 1};
    for (unsigned i = 0; i < 100; i++) {
        struct custody *c = custody_new(&k, i);
        ck_assert_int_eq(custody_hold(c, 1, &first[i]), 0);
        custody_free(c);
        for (unsigned j = 0; j < i; j++) {
            const uint64_t up = first[i] - first[j], down = first[j] - first[i];
            ck_assert_uint_gt(up < down ? up : down, UINT64_C(1) << 32);
        }
    }
}
END_TEST

SUITE(bp_custody, t)
{
    tcase_add_test(t, known_bytes);
    tcase_add_test(t, no_head_room);
    tcase_add_test(t, wrong_forms);
    tcase_add_test(t, dispositions);
    tcase_add_test(t, accepted_and_refused);
    tcase_add_test(t, timer);
    tcase_add_test(t, timer_of_a_waiting_bundle);
    tcase_add_test(t, timer_stands_still);
    tcase_add_test(t, light_time_passes);
    tcase_add_test(t, signal_before_sent);
    tcase_add_test(t, forged_signals);
    tcase_add_test(t, limits);
    tcase_add_test(t, ids_end);
    tcase_add_test(t, signals_are_collected);
    tcase_add_test(t, signals_without_room);
    tcase_add_test(t, ids_of_other_runs);
}
