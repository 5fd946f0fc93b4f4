/* SPDX-License-Identifier: Apache-2.0 */
/* Class 2 over bad links in virtual time, with kills of either end: each file arrives once and
 * unchanged, and nothing is left. */
#include "tests/unit/cfdp_pair.h"

static struct pair pair;

static void end(void)
{
    ck_assert_uint_eq(pair.host[0].wrong + pair.host[1].wrong, 0);
    ck_assert_uint_eq(host_journals(&pair.host[0]) + host_journals(&pair.host[1]), 0);
    pair_fini(&pair);
}

/* Long enough for an outage of 10 minutes that nobody announces. */
static void set_patient(void)
{
    for (size_t i = 0; i < 2; i++) {
        pair.host[i].peer.ack_limit = pair.host[i].peer.nak_limit = 200;
        pair.host[i].peer.idle_time = 3600 * TICK_S;
        pair.host[i].peer.checksum = CFDP_CHECKSUM_CRC32C;
    }
}

static void begin_large(uint64_t size)
{
    pair_init(&pair, 11);
    set_patient();
    pair.host[0].source_size = size;
    pair.loss = 0.02;
    pair.rate = 2500000; /* 20 Mbit/s: 100 MB are 42 s */
    pair.delay = 500 * TICK_MS;
    pair.gap_from = 20 * TICK_S;
    pair.gap_until = pair.gap_from + 600 * TICK_S;
    pair.checks = false;
    pair_start(&pair);
}

static void report(const char *what, uint64_t size)
{
    const struct cfdp_counts *c = cfdp_counts(pair.host[0].e);
    printf(
        "%s: %llu octets at %.1f s; %llu PDUs, %llu lost; since the last start of the sender %llu "
        "octets once, %llu again, %llu NAKs\n",
        what, (unsigned long long)size, (double)pair.now / (double)TICK_S,
        (unsigned long long)pair.sent, (unsigned long long)pair.lost,
        (unsigned long long)c->octets_out, (unsigned long long)c->octets_again,
        (unsigned long long)c->naks_in);
}

/* 100 MB, 2 % loss, and 10 minutes without a link. */
START_TEST(large_file_over_a_gap)
{
    const uint64_t size = 100000000;
    begin_large(size);
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
    ck_assert(run_to_end(&pair, 1000 * TICK_S));
    report("unannounced gap", size);
    assert_finished(&pair, id, CFDP_NO_ERROR);
    ck_assert_uint_eq(pair.host[1].placed[0].size, size);
    end();
}
END_TEST

/* The same with kills of both ends, before, in and after the gap. */
START_TEST(large_file_with_kills)
{
    const uint64_t size = 100000000;
    static const tick kills[] = {3, 9, 15, 100, 400, 621, 625, 640, 645, 650, 655, 660};
    begin_large(size);
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
    for (size_t i = 0; i < sizeof kills / sizeof *kills; i++) {
        run_until(&pair, kills[i] * TICK_S);
        host_kill(&pair, &pair.host[i % 2]);
    }
    ck_assert(run_to_end(&pair, 2000 * TICK_S));
    report("with 12 kills", size);
    assert_finished(&pair, id, CFDP_NO_ERROR);
    ck_assert_uint_eq(pair.host[1].placed_len, 1);
    end();
}
END_TEST

static void draw_link(struct pair *p)
{
    struct rng *r = &p->rng;
    static const unsigned types[] = {0, 2, 3, 15};
    set_patient();
    p->loss = rng_unit(r) * 0.3;
    p->twice = rng_unit(r) * 0.1;
    p->jitter = rng_below(r, 3) == 0 ? rng_below(r, 5 * TICK_S) : 0;
    p->delay = TICK_MS + rng_below(r, 20 * TICK_S);
    p->rate = 1000 + rng_below(r, 100000);
    for (size_t i = 0; i < 2; i++) {
        struct cfdp_remote *peer = &p->host[i].peer;
        p->host[i].source_size = rng_below(r, 60000);
        peer->immediate_nak = rng_chance(r, 0.5);
        peer->crc = rng_chance(r, 0.5);
        peer->checksum = types[rng_below(r, 4)];
        peer->segment_max = (uint32_t)(100 + rng_below(r, 2000));
        peer->pdu_max = (uint32_t)(200 + rng_below(r, 1200));
        peer->ack_time = peer->nak_time = 2 * p->delay + TICK_S + rng_below(r, 60 * TICK_S);
        peer->keep_alive_time = rng_chance(r, 0.3) ? 10 * TICK_S : 0;
    }
}

static void kill_some(struct pair *p, tick until)
{
    while (p->now < until) {
        run_until(p, p->now + 1 + rng_below(&p->rng, 30 * TICK_S));
        host_kill(p, &p->host[rng_below(&p->rng, 2)]);
    }
}

START_TEST(random_links_with_kills)
{
    pair_init(&pair, (uint64_t)_i + 100);
    draw_link(&pair);
    pair_start(&pair);
    struct cfdp_id ids[6];
    for (size_t i = 0; i < 6; i++) {
        char name[8];
        snprintf(name, sizeof name, "f%zu", i);
        ids[i] = put_file(&pair, i % 2, name, CFDP_CLASS_2);
    }
    if (_i % 2 == 1)
        kill_some(&pair, rng_below(&pair.rng, 600 * TICK_S));
    const bool ended = run_to_end(&pair, 100000 * TICK_S);
    ck_assert_msg(ended, "seed %d", _i + 100);
    ck_assert_uint_eq(pair.host[0].placed_len, 3);
    ck_assert_uint_eq(pair.host[1].placed_len, 3);
    for (size_t i = 0; i < 6; i++)
        for (size_t k = 0; k < 2; k++) {
            const struct cfdp_notice *n = notice_of(&pair.host[k], ids[i], CFDP_TOLD_FINISHED);
            const uint64_t kills = pair.host[0].kills + pair.host[1].kills;
            /* The notice itself may be lost with a killed process, the file is not. */
            ck_assert_msg(n != NULL || kills > 0, "seed %d: entity %zu, file %zu", _i + 100, k, i);
            ck_assert_msg(n == NULL || n->condition == CFDP_NO_ERROR, "seed %d: %s", _i + 100,
                          n == NULL ? "" : cfdp_condition_text(n->condition));
        }
    end();
}
END_TEST

START_TEST(suspended_across_a_restart)
{
    struct cfdp_status s;
    pair_init(&pair, 1);
    set_patient();
    pair.rate = 1000;
    pair_start(&pair);
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
    run_until(&pair, 3 * TICK_S);
    ck_assert_int_eq(cfdp_suspend(pair.host[0].e, id, pair.now), 0);
    host_kill(&pair, &pair.host[0]);
    ck_assert(cfdp_report(pair.host[0].e, id, &s) && s.suspended);
    run_until(&pair, 600 * TICK_S);
    host_kill(&pair, &pair.host[0]);
    ck_assert_int_eq(cfdp_resume(pair.host[0].e, id, pair.now), 0);
    host_kill(&pair, &pair.host[0]);
    ck_assert(cfdp_report(pair.host[0].e, id, &s) && !s.suspended);
    ck_assert(run_to_end(&pair, pair.now + 60 * TICK_S));
    assert_finished(&pair, id, CFDP_NO_ERROR);
    end();
}
END_TEST

/* Killed between the result of a class 1 file and the end of its journal. */
START_TEST(class_1_was_finished)
{
    static const uint8_t result[] = {0, 5, 'F', CFDP_FINISHING, 0, 0, CFDP_FILE_RETAINED};
    pair_init(&pair, 1);
    pair.rate = 1000;
    pair_start(&pair);
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_1);
    run_until(&pair, 5 * TICK_S);
    struct host *h = &pair.host[1];
    struct host_journal *j = host_find(h, id);
    ck_assert_int_eq(host_note(h, id, slice_of(result + 2, sizeof result - 2)),
                     0); /* with its length */
    ck_assert_uint_gt(j->len, sizeof result);
    host_kill(&pair, h);
    ck_assert_ptr_null(cfdp_walk(h->e, NULL));
    ck_assert_uint_eq(host_journals(h), 0);
    pair_fini(&pair);
}
END_TEST

/* The source has another size after the restart: cancelled. */
START_TEST(source_has_changed)
{
    pair_init(&pair, 1);
    pair.rate = 1000;
    pair_start(&pair);
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
    run_until(&pair, 3 * TICK_S);
    pair.host[0].source_size = 20000;
    host_kill(&pair, &pair.host[0]);
    ck_assert(run_to_end(&pair, 60 * TICK_S));
    assert_finished(&pair, id, CFDP_FILE_SIZE);
    ck_assert_uint_eq(pair.host[1].placed_len, 0);
    end();
}
END_TEST

/* Each prefix of a journal, and each octet that is changed, is continued or refused. */
START_TEST(damaged_journals)
{
    for (size_t side = 0; side < 2; side++) {
        pair_init(&pair, 1);
        pair.rate = 1000;
        pair_start(&pair);
        const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
        run_until(&pair, 5 * TICK_S);
        struct host *h = &pair.host[side];
        struct host_journal *j = host_find(h, id);
        ck_assert_uint_gt(j->len, 0);
        for (size_t i = 0; i < 2 * j->len; i++) {
            uint8_t copy[2048];
            ck_assert_uint_le(j->len, sizeof copy);
            memcpy(copy, j->octets, j->len);
            const size_t len = i < j->len ? i : j->len;
            if (i >= j->len)
                copy[i - j->len] ^= (uint8_t)(1 + rng_below(&pair.rng, 255));
            cfdp_free(h->e);
            host_start(h);
            (void)cfdp_restore(h->e, id, slice_of(copy, len), pair.now);
            cfdp_check(h->e);
        }
        pair_fini(&pair);
    }
}
END_TEST

SUITE(cfdp_restart, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, large_file_over_a_gap);
    tcase_add_test(t, large_file_with_kills);
    tcase_add_loop_test(t, random_links_with_kills, 0, 100);
    tcase_add_test(t, suspended_across_a_restart);
    tcase_add_test(t, class_1_was_finished);
    tcase_add_test(t, source_has_changed);
    tcase_add_test(t, damaged_journals);
}
