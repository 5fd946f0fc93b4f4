/* SPDX-License-Identifier: Apache-2.0 */
/* What a kill must neither lose nor repeat: filestore requests, PDUs of class 1 that were not
 * confirmed, where a fault was; and how long a journal may get. */
#include "tests/unit/cfdp_pair.h"

static struct pair pair;
static struct host *const us = &pair.host[1]; /* entity 2 */

static void end(void)
{
    ck_assert_uint_eq(pair.host[0].wrong + pair.host[1].wrong, 0);
    ck_assert_uint_eq(host_journals(&pair.host[0]) + host_journals(&pair.host[1]), 0);
    pair_fini(&pair);
}

/* ---- filestore requests ---- */

static struct cfdp_id put_requests(size_t count, bool with_file)
{
    uint8_t room[256];
    struct writer w = writer_of(room, sizeof room);
    for (size_t i = 0; i < count; i++) {
        const struct cfdp_request q = {
            .action = CFDP_RENAME_FILE, .first = slice_of("a", 1), .second = slice_of("b", 1)};
        cfdp_request_write(&w, &q);
    }
    ck_assert(!w.bad);
    const struct cfdp_put put = {.destination = 2,
                                 .source_name = with_file ? "source" : NULL,
                                 .destination_name = with_file ? "a" : NULL,
                                 .options = slice_of(room, writer_len(&w))};
    struct cfdp_id id;
    ck_assert_int_eq(cfdp_put(pair.host[0].e, &put, pair.now, &id), 0);
    return id;
}

static size_t count_done(const struct cfdp_notice *n)
{
    struct slice rest = slice_of(n->responses, n->responses_len);
    struct cfdp_response r;
    struct cfdp_tlv tlv;
    size_t done = 0;
    while (cfdp_tlv_next(&rest, &tlv))
        done += cfdp_response_parse(tlv.value, &r) && r.status == 0;
    return done;
}

/* Is the receiver in this phase? */
static bool is_in(enum cfdp_phase phase)
{
    struct cfdp_status s;
    const struct cfdp_transaction *t = cfdp_walk(us->e, NULL);
    if (t == NULL)
        return false;
    cfdp_status_of(t, &s);
    return s.phase == phase;
}

/* PDUs of the sender, one step of the receiver each, until it performs requests. */
static void pump(void)
{
    uint8_t out[PDU_ROOM];
    for (int i = 0; i < 200 && !is_in(CFDP_PERFORMING); i++) {
        const size_t n = cfdp_output(pair.host[0].e, 2, out, sizeof out, pair.now);
        if (n > 0)
            (void)cfdp_input(us->e, 1, slice_of(out, n), pair.now);
        (void)cfdp_expire(us->e, pair.now);
        cfdp_check(us->e);
    }
    ck_assert(is_in(CFDP_PERFORMING));
}

/* Killed after each number of calls of the host: each request is performed once, the file is placed
 * once, and the sender gets all responses. */
START_TEST(requests_are_performed_once)
{
    for (size_t calls = 1; calls <= 12; calls++) {
        pair_init(&pair, 1);
        us->act_steps = 3;
        pair_start(&pair);
        const struct cfdp_id id = put_requests(3, true);
        pump();
        while (us->act_calls < calls && cfdp_expire(us->e, pair.now))
            cfdp_check(us->e);
        ck_assert_uint_eq(us->placed_len, 1);
        us->placed_len = 0; /* its name may be another one's now, by a request */
        host_kill(&pair, us);
        ck_assert(run_to_end(&pair, pair.now + 60 * TICK_S));
        ck_assert_msg(us->acts == 3, "killed after %zu calls: %zu", calls, us->acts);
        ck_assert_msg(us->placed_len == 0, "killed after %zu calls", calls);
        const struct cfdp_notice *n = notice_of(&pair.host[0], id, CFDP_TOLD_FINISHED);
        ck_assert(n != NULL && n->condition == CFDP_NO_ERROR && n->status == CFDP_FILE_RETAINED);
        ck_assert_uint_eq(count_done(n), 3);
        end();
    }
}
END_TEST

/* Nothing ends a transaction whose file has its name already. */
START_TEST(too_late_to_cancel)
{
    pair_init(&pair, 1);
    us->act_steps = 1000000;
    pair_start(&pair);
    const struct cfdp_id id = put_requests(1, false);
    pump();
    ck_assert(is_in(CFDP_PERFORMING));
    ck_assert_int_eq(cfdp_cancel(us->e, id, pair.now), HELIO_EINVAL);
    ck_assert_int_eq(cfdp_cancel(pair.host[0].e, id, pair.now), 0);
    for (size_t n = 1; n > 0;) {
        uint8_t out[PDU_ROOM];
        n = cfdp_output(pair.host[0].e, 2, out, sizeof out, pair.now);
        if (n > 0)
            (void)cfdp_input(us->e, 1, slice_of(out, n), pair.now);
    }
    cfdp_check(us->e);
    ck_assert(is_in(CFDP_PERFORMING));
    us->act_steps = 0;
    ck_assert(run_to_end(&pair, 60 * TICK_S));
    ck_assert_uint_eq(us->acts, 1);
    end();
}
END_TEST

/* ---- class 1 ---- */

static size_t pull_all(struct host *h, bool *eof)
{
    uint8_t out[PDU_ROOM];
    struct cfdp_pdu p;
    size_t count = 0;
    *eof = false;
    for (size_t n; (n = cfdp_output(h->e, 2, out, sizeof out, pair.now)) > 0; count++) {
        ck_assert_int_eq(cfdp_pdu_parse(slice_of(out, n), &p), CFDP_PDU_OK);
        *eof = p.kind == CFDP_PDU_EOF;
    }
    return count;
}

/* Nothing of a class 1 file is sent before the host says so: a kill sends it again. */
START_TEST(class_1_waits_for_the_node)
{
    struct host *h = &pair.host[0];
    bool eof;
    for (int refused = 0; refused < 2; refused++) {
        pair_init(&pair, 1);
        h->peer.confirms = true;
        h->source_size = 40 * 1024;
        pair_start(&pair);
        const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_1);
        ck_assert_uint_eq(pull_all(h, &eof), 42); /* Metadata, 40 segments, EOF */
        ck_assert(eof);
        drain_notices(h);
        ck_assert_ptr_null(notice_of(h, id, CFDP_TOLD_FINISHED));
        host_kill(&pair, h);
        ck_assert_uint_eq(pull_all(h, &eof), 42);
        for (int i = 0; i < 42; i++) {
            ck_assert_ptr_nonnull(cfdp_walk(h->e, NULL));
            cfdp_confirm(h->e, 2, !(refused && i == 7), pair.now);
            cfdp_check(h->e);
        }
        drain_notices(h);
        const struct cfdp_notice *n = notice_of(h, id, CFDP_TOLD_FINISHED);
        ck_assert(n != NULL && n->condition == CFDP_NO_ERROR);
        ck_assert_int_eq(n->incomplete, refused);
        ck_assert_ptr_null(cfdp_walk(h->e, NULL));
        cfdp_confirm(h->e, 2, true, pair.now); /* of nothing */
        end();
    }
}
END_TEST

/* A long one goes on where the confirmations ended; no more PDUs wait than there is room for. */
START_TEST(class_1_goes_on_at_the_confirmed)
{
    struct host *h = &pair.host[0];
    bool eof;
    pair_init(&pair, 1);
    h->peer.confirms = true;
    h->peer.segment_max = 3000;
    h->source_size = 300 * 3000;
    pair_start(&pair);
    (void)put_file(&pair, 0, "a", CFDP_CLASS_1);
    size_t confirmed = 0;
    for (int round = 0; round < 3; round++) {
        ck_assert_uint_eq(pull_all(h, &eof), round == 0 ? CFDP_UNCONFIRMED_MAX : 60);
        ck_assert(!cfdp_has_output(h->e, 2));
        for (int i = 0; i < 60; i++, confirmed++)
            cfdp_confirm(h->e, 2, true, pair.now);
    }
    host_kill(&pair, h);
    struct cfdp_status s;
    cfdp_status_of(cfdp_walk(h->e, NULL), &s);
    ck_assert_uint_le(s.progress, (confirmed - 1) * 3000); /* one was Metadata */
    ck_assert_uint_ge(s.progress + 70000, (confirmed - 1) * 3000);
    pair_fini(&pair);
}
END_TEST

/* ---- a journal that grows ---- */

START_TEST(small_segments)
{
    pair_init(&pair, 1);
    pair.checks = false;
    pair.host[0].peer.segment_max = 16;
    pair.host[0].source_size = 2000000; /* 125,000 PDUs: 2.4 MB of records */
    pair.loss = 0.001;
    pair_start(&pair);
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
    step(&pair);
    for (tick t = 1; t < 20; t++) {
        run_until(&pair, t * TICK_S);
        for (size_t i = 0; i < HOST_JOURNALS; i++)
            ck_assert_uint_lt(us->journals[i].used ? us->journals[i].len : 0, 1100000);
        if (t == 2)
            host_kill(&pair, us);
    }
    ck_assert_uint_gt(us->rewrites, 0);
    ck_assert(run_to_end(&pair, 600 * TICK_S));
    assert_finished(&pair, id, CFDP_NO_ERROR);
    end();
}
END_TEST

/* The sender cancels: Finished says that the fault was there, also after a restart. */
START_TEST(where_the_fault_was)
{
    uint8_t out[PDU_ROOM];
    struct cfdp_pdu p;
    pair_init(&pair, 1);
    pair.rate = 1000;
    pair_start(&pair);
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
    run_until(&pair, 3 * TICK_S);
    ck_assert_int_eq(cfdp_cancel(pair.host[0].e, id, pair.now), 0);
    size_t n = cfdp_output(pair.host[0].e, 2, out, sizeof out, pair.now);
    (void)cfdp_input(us->e, 1, slice_of(out, n), pair.now);
    for (int round = 0; round < 2; round++) {
        do {
            n = cfdp_output(us->e, 1, out, sizeof out, pair.now);
            ck_assert_int_eq(cfdp_pdu_parse(slice_of(out, n), &p), CFDP_PDU_OK);
        } while (p.kind != CFDP_PDU_FINISHED);
        ck_assert_uint_eq(p.u.finished.condition, CFDP_CANCEL);
        ck_assert(p.u.finished.has_fault_at && p.u.finished.fault_at == 1);
        host_kill(&pair, us);
    }
    pair_fini(&pair);
}
END_TEST

/* A peer that begins with its first number after each restart: another name, size or content is
 * another file, in both classes. */
START_TEST(numbers_of_a_forgetful_peer)
{
    struct host *h = &pair.host[0];
    static const struct {
        const char *name;
        uint64_t size;
        uint32_t seed;
        unsigned class_;
    } rows[] = {{"a", 10000, 5, CFDP_CLASS_2},
                {"b", 10000, 5, CFDP_CLASS_2},
                {"b", 9000, 5, CFDP_CLASS_1},
                {"b", 9000, 6, CFDP_CLASS_2},
                {"c", 9000, 6, CFDP_CLASS_1}};
    uint64_t octets = 0;
    pair_init(&pair, 1);
    h->peer.checksum = CFDP_CHECKSUM_CRC32C;
    pair_start(&pair);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cfdp_free(h->e);
        h->next = 1;
        h->source_size = rows[i].size;
        h->seed = us->seed = rows[i].seed;
        host_start(h);
        us->told_len = h->told_len = 0;
        const struct cfdp_id id = put_file(&pair, 0, rows[i].name, rows[i].class_);
        ck_assert_uint_eq(id.sequence, 1);
        ck_assert(run_to_end(&pair, pair.now + 600 * TICK_S));
        assert_finished(&pair, id, CFDP_NO_ERROR);
        octets += rows[i].size;
        ck_assert_uint_eq(cfdp_counts(us->e)->octets_in, octets);
    }
    end();
}
END_TEST

/* The requests of a transaction that ended are not performed again when its PDUs come again. */
START_TEST(late_after_a_kill)
{
    uint8_t octets[8][PDU_ROOM], out[PDU_ROOM];
    size_t len[8], count = 0;
    struct cfdp_pdu p;
    pair_init(&pair, 1);
    pair_start(&pair);
    (void)put_requests(2, false);
    while ((len[count] = cfdp_output(pair.host[0].e, 2, octets[count], PDU_ROOM, pair.now)) > 0)
        count++;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < count; i++)
            (void)cfdp_input(us->e, 1, slice_of(octets[i], len[i]), pair.now);
        while (cfdp_expire(us->e, pair.now))
            ;
        size_t finished = 0;
        for (size_t n; (n = cfdp_output(us->e, 1, out, sizeof out, pair.now)) > 0;) {
            ck_assert_int_eq(cfdp_pdu_parse(slice_of(out, n), &p), CFDP_PDU_OK);
            finished += p.kind == CFDP_PDU_FINISHED;
        }
        ck_assert_uint_eq(finished, 1);
        ck_assert_uint_eq(us->acts, 2);
        p = (struct cfdp_pdu){.kind = CFDP_PDU_ACK, .head = p.head};
        p.head.toward_sender = false;
        p.u.ack = (struct cfdp_ack){.of = CFDP_PDU_FINISHED, .status = CFDP_STATUS_ACTIVE};
        const size_t n = cfdp_pdu_write(&p, out, sizeof out);
        (void)cfdp_input(us->e, 1, slice_of(out, n), pair.now);
        ck_assert_ptr_null(cfdp_walk(us->e, NULL));
        host_kill(&pair, us);
    }
    pair_fini(&pair);
}
END_TEST

SUITE(cfdp_journal, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, requests_are_performed_once);
    tcase_add_test(t, too_late_to_cancel);
    tcase_add_test(t, class_1_waits_for_the_node);
    tcase_add_test(t, class_1_goes_on_at_the_confirmed);
    tcase_add_test(t, small_segments);
    tcase_add_test(t, where_the_fault_was);
    tcase_add_test(t, numbers_of_a_forgetful_peer);
    tcase_add_test(t, late_after_a_kill);
}
