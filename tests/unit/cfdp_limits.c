/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer may send: each PDU has its counted verdict, limits hold, and another peer's share is
 * its own. */
#include "tests/unit/cfdp_pair.h"

static struct pair pair;
static struct host *us = &pair.host[1]; /* entity 2; the peer is played */
static const struct cfdp_id first = {1, 1};

static void begin(void)
{
    pair_init(&pair, 1);
    us->peer.transactions_max = 4;
    us->peer.gaps_max = 8;
    us->peer.file_max = 100000;
    us->peer.space_max = 20000;
    pair_start(&pair);
}

static struct cfdp_pdu pdu_of(enum cfdp_pdu_kind kind, uint64_t sequence)
{
    return (struct cfdp_pdu){
        .kind = kind,
        .head = {
            .id_len = 1, .sequence_len = 4, .source = 1, .sequence = sequence, .destination = 2}};
}

static enum cfdp_verdict push(uint64_t from, const struct cfdp_pdu *p)
{
    uint8_t out[PDU_ROOM];
    const size_t n = cfdp_pdu_write(p, out, sizeof out);
    ck_assert_uint_gt(n, 0);
    const uint64_t *verdicts = cfdp_counts(us->e)->verdicts;
    uint64_t before[CFDP_VERDICT_COUNT];
    memcpy(before, verdicts, sizeof before);
    const enum cfdp_verdict v = cfdp_input(us->e, from, slice_of(out, n), pair.now);
    ck_assert_uint_eq(verdicts[v], before[v] + 1);
    cfdp_check(us->e);
    return v;
}

static enum cfdp_verdict push_data(uint64_t sequence, uint64_t offset, size_t len)
{
    static uint8_t octets[4000];
    struct cfdp_pdu p = pdu_of(CFDP_PDU_FILE_DATA, sequence);
    for (size_t i = 0; i < len; i++)
        octets[i] = octet_at(us->seed, offset + i);
    p.u.data = (struct cfdp_data){.offset = offset, .octets = slice_of(octets, len)};
    return push(1, &p);
}

static enum cfdp_verdict push_named(uint64_t sequence, uint64_t size)
{
    struct cfdp_pdu p = pdu_of(CFDP_PDU_METADATA, sequence);
    p.u.metadata.size = size;
    p.u.metadata.checksum = CFDP_CHECKSUM_NULL;
    p.u.metadata.source_name = p.u.metadata.destination_name = slice_of("a", 1);
    return push(1, &p);
}

static enum cfdp_verdict push_ack(uint64_t sequence, unsigned condition)
{
    struct cfdp_pdu p = pdu_of(CFDP_PDU_ACK, sequence);
    p.u.ack = (struct cfdp_ack){CFDP_PDU_FINISHED, condition, CFDP_STATUS_ACTIVE};
    return push(1, &p);
}

/* What is due, and what is sent, without an answer. */
static void work(void)
{
    uint8_t out[PDU_ROOM];
    while (cfdp_expire(us->e, pair.now))
        ;
    while (cfdp_output(us->e, 1, out, sizeof out, pair.now) > 0)
        ;
    drain_notices(us);
    cfdp_check(us->e);
}

static enum cfdp_verdict push_eof(uint64_t sequence, uint64_t size)
{
    struct cfdp_pdu p = pdu_of(CFDP_PDU_EOF, sequence);
    p.u.eof.size = size;
    return push(1, &p);
}

START_TEST(verdicts)
{
    begin();
    struct cfdp_pdu p = pdu_of(CFDP_PDU_PROMPT, 9);
    ck_assert_int_eq(push(1, &p), CFDP_VERDICT_UNKNOWN);
    ck_assert_int_eq(push(3, &p), CFDP_VERDICT_FOREIGN); /* no such remote entity */
    p.head.source = 4;
    ck_assert_int_eq(push(1, &p), CFDP_VERDICT_FOREIGN); /* 1's address, 4's id */
    p = pdu_of(CFDP_PDU_PROMPT, 9);
    p.head.destination = 7;
    ck_assert_int_eq(push(1, &p), CFDP_VERDICT_NOT_OURS);
    p = pdu_of(CFDP_PDU_KEEP_ALIVE, 9);
    ck_assert_int_eq(push(1, &p), CFDP_VERDICT_DIRECTION);
    ck_assert_int_eq(push_data(5, 0, 100), CFDP_VERDICT_TAKEN);
    ck_assert_int_eq(push_data(5, 0, 100), CFDP_VERDICT_REPEATED);
    p = pdu_of(CFDP_PDU_EOF, 5);
    p.head.unacknowledged = true;
    ck_assert_int_eq(push(1, &p), CFDP_VERDICT_MODE);
    p.head.unacknowledged = false;
    p.head.large = true;
    ck_assert_int_eq(push(1, &p), CFDP_VERDICT_MODE);
    ck_assert_int_eq(cfdp_input(us->e, 1, slice_of("\x20", 1), 0), CFDP_VERDICT_MALFORMED);
    ck_assert_uint_eq(cfdp_counts(us->e)->malformed[CFDP_PDU_SHORT], 1);
    for (unsigned v = 0; v <= CFDP_VERDICT_COUNT; v++)
        ck_assert_uint_gt(strlen(cfdp_verdict_text((enum cfdp_verdict)v)), 0);
    pair_fini(&pair);
}
END_TEST

START_TEST(sizes)
{
    begin();
    ck_assert_int_eq(push_data(1, 99000, 2000), CFDP_VERDICT_TOO_LONG);
    ck_assert_int_eq(push_eof(1, 200000), CFDP_VERDICT_TOO_LONG);
    struct cfdp_pdu p = pdu_of(CFDP_PDU_METADATA, 1);
    p.u.metadata.size = 200000;
    ck_assert_int_eq(push(1, &p), CFDP_VERDICT_TOO_LONG);
    ck_assert_int_eq(push_data(1, 0, 2000), CFDP_VERDICT_TAKEN);
    ck_assert_int_eq(push_eof(1, 1000), CFDP_VERDICT_BAD_SIZE); /* a fault: cancelled */
    run_until(&pair, TICK_S);
    const struct cfdp_notice *n = notice_of(us, (struct cfdp_id){1, 1}, CFDP_TOLD_FINISHED);
    ck_assert(n != NULL && n->condition == CFDP_FILE_SIZE);
    ck_assert_int_eq(push_data(2, 0, 2000), CFDP_VERDICT_TAKEN);
    ck_assert_int_eq(push_eof(2, 3000), CFDP_VERDICT_TAKEN);
    ck_assert_int_eq(push_eof(2, 3000), CFDP_VERDICT_REPEATED);
    ck_assert_int_eq(push_data(2, 2000, 2000), CFDP_VERDICT_BAD_SIZE);
    pair_fini(&pair);
}
END_TEST

START_TEST(shares)
{
    begin();
    const struct cfdp_remote other = {.id = 3, .permissions = CFDP_MAY_PUT};
    ck_assert_int_eq(cfdp_remote_set(us->e, &other), 0);
    /* gaps */
    for (uint64_t i = 0; i < 8; i++)
        ck_assert_int_eq(push_data(1, 200 * i, 100), CFDP_VERDICT_TAKEN);
    ck_assert_int_eq(push_data(1, 1600, 100), CFDP_VERDICT_GAPS);
    ck_assert_int_eq(push_data(1, 1500, 100), CFDP_VERDICT_TAKEN); /* touches the last */
    /* octets of incomplete files */
    for (uint64_t i = 0; i < 4; i++)
        ck_assert_int_eq(push_data(2, 4000 * i, 4000), CFDP_VERDICT_TAKEN);
    ck_assert_int_eq(push_data(3, 0, 4000), CFDP_VERDICT_SPACE);
    /* transactions: 1, 2 and 3 are there */
    ck_assert_int_eq(push_data(4, 0, 100), CFDP_VERDICT_TAKEN);
    ck_assert_int_eq(push_data(5, 0, 100), CFDP_VERDICT_TRANSACTIONS);
    /* the other one has its own share */
    struct cfdp_pdu p = pdu_of(CFDP_PDU_FILE_DATA, 1);
    p.head.source = 3;
    p.u.data.octets = slice_of("\0", 1);
    ck_assert_int_eq(push(3, &p), CFDP_VERDICT_TAKEN);
    pair_fini(&pair);
}
END_TEST

/* Files that it has sent to itself count as well: the entity keeps numbers and memory for others.
 */
START_TEST(asked_transactions)
{
    uint8_t room[64], out[PDU_ROOM];
    struct writer w = writer_of(room, sizeof room);
    const struct cfdp_message m = {
        .kind = CFDP_PROXY_PUT, .entity = 1, .first = slice_of("a", 1), .second = slice_of("b", 1)};
    cfdp_message_write(&w, &m);
    begin();
    for (uint64_t n = 1; n <= 20; n++) { /* nothing that we send is answered */
        struct cfdp_pdu p = pdu_of(CFDP_PDU_METADATA, n);
        p.head.unacknowledged = true;
        p.u.metadata.options = slice_of(room, writer_len(&w));
        (void)push(1, &p);
        p = pdu_of(CFDP_PDU_EOF, n);
        p.head.unacknowledged = true;
        (void)push(1, &p);
        while (cfdp_expire(us->e, pair.now))
            ;
        while (cfdp_output(us->e, 1, out, sizeof out, pair.now) > 0)
            ;
        cfdp_check(us->e);
    }
    size_t live = 0;
    for (const struct cfdp_transaction *t = NULL; (t = cfdp_walk(us->e, t)) != NULL;)
        live++;
    ck_assert_uint_eq(live, 3); /* the fourth is for a request itself */
    ck_assert_uint_gt(cfdp_counts(us->e)->refused, 10);
    const struct cfdp_put put = {
        .destination = 1, .source_name = "source", .destination_name = "a"};
    struct cfdp_id id;
    ck_assert_int_eq(cfdp_put(us->e, &put, pair.now, &id), 0); /* ours go on */
    pair_fini(&pair);
}
END_TEST

START_TEST(names_and_options)
{
    begin();
    struct cfdp_pdu p = pdu_of(CFDP_PDU_METADATA, 1);
    p.u.metadata.destination_name = slice_of("a\0b", 3);
    ck_assert_int_eq(push(1, &p), CFDP_VERDICT_BAD_NAME);
    p.u.metadata.destination_name = slice_of("a", 1);
    p.u.metadata.options = slice_of("\x00\x01\x90", 3); /* action 9 */
    ck_assert_int_eq(push(1, &p), CFDP_VERDICT_BAD_NAME);
    p.u.metadata.options = slice_of("\x04\x01\x10", 3); /* handler 0 */
    ck_assert_int_eq(push(1, &p), CFDP_VERDICT_BAD_NAME);
    p.u.metadata.options = slice_of("\x02\x05"
                                    "cfdp\x00",
                                    7);
    ck_assert_int_eq(push(1, &p), CFDP_VERDICT_BAD_NAME);
    p.u.metadata.options = slice_of("\x05\x01\x10\x09\x00", 5); /* flow label, an unknown type */
    ck_assert_int_eq(push(1, &p), CFDP_VERDICT_TAKEN);
    ck_assert_int_eq(push(1, &p), CFDP_VERDICT_REPEATED);
    pair_fini(&pair);
}
END_TEST

START_TEST(forbidden)
{
    pair_init(&pair, 1);
    us->peer.permissions = 0;
    pair_start(&pair);
    ck_assert_int_eq(push_data(1, 0, 100), CFDP_VERDICT_FORBIDDEN);
    us->peer.permissions = CFDP_MAY_LIST;
    ck_assert_int_eq(cfdp_remote_set(us->e, &us->peer), 0);
    ck_assert_int_eq(push_data(1, 0, 100), CFDP_VERDICT_FORBIDDEN);
    ck_assert_int_eq(push_named(1, 100), CFDP_VERDICT_TAKEN); /* it is told at once */
    work();
    const struct cfdp_notice *n = notice_of(us, first, CFDP_TOLD_FINISHED);
    ck_assert(n != NULL && n->condition == CFDP_FILESTORE && n->status == CFDP_FILE_REJECTED);
    pair_fini(&pair);
}
END_TEST

/* Sizes of 4 octets: no range ends beyond what our answers can name. */
START_TEST(offsets_at_the_end)
{
    pair_init(&pair, 1);
    pair_start(&pair);
    ck_assert_int_eq(push_data(1, UINT32_MAX, 100), CFDP_VERDICT_BAD_SIZE);
    work();
    ck_assert_int_eq(push_data(2, 0, 100), CFDP_VERDICT_TAKEN);
    ck_assert_int_eq(push_data(2, UINT32_MAX - 100, 100), CFDP_VERDICT_TAKEN);
    for (int keep_alive = 0; keep_alive < 2; keep_alive++)
        for (uint64_t n = 1; n <= 2; n++) {
            struct cfdp_pdu p = pdu_of(CFDP_PDU_PROMPT, n);
            p.u.prompt_keep_alive = keep_alive == 1;
            (void)push(1, &p);
            work();
        }
    pair_fini(&pair);
}
END_TEST

/* The ACK of Finished never comes: the transaction ends, and its result is still known. */
START_TEST(finished_is_not_acknowledged)
{
    begin();
    pair.loss = 1;
    ck_assert_int_eq(push_named(1, 0), CFDP_VERDICT_TAKEN);
    ck_assert_int_eq(push_eof(1, 0), CFDP_VERDICT_TAKEN);
    run_until(&pair, 300 * TICK_S);
    ck_assert_ptr_null(cfdp_walk(us->e, NULL));
    ck_assert_uint_eq(host_journals(us) + us->open, 0);
    uint8_t out[PDU_ROOM];
    struct cfdp_pdu answer = {.kind = CFDP_PDU_ACK};
    ck_assert_int_eq(push_eof(1, 0), CFDP_VERDICT_LATE);
    for (size_t n; (n = cfdp_output(us->e, 1, out, sizeof out, pair.now)) > 0;)
        ck_assert_int_eq(cfdp_pdu_parse(slice_of(out, n), &answer), CFDP_PDU_OK);
    ck_assert_int_eq(answer.kind, CFDP_PDU_FINISHED);
    ck_assert_uint_eq(answer.u.finished.condition, CFDP_NO_ERROR);
    ck_assert_uint_eq(answer.u.finished.status, CFDP_FILE_RETAINED);
    pair_fini(&pair);
}
END_TEST

START_TEST(eof_after_a_cancel)
{
    begin();
    ck_assert_int_eq(push_named(1, 100), CFDP_VERDICT_TAKEN);
    ck_assert_int_eq(push_data(1, 0, 100), CFDP_VERDICT_TAKEN);
    ck_assert_int_eq(cfdp_cancel(us->e, first, pair.now), 0);
    ck_assert_int_eq(push_eof(1, 100), CFDP_VERDICT_REPEATED);
    work();
    ck_assert_uint_eq(us->placed_len, 0);
    ck_assert_int_eq(push_ack(1, CFDP_CANCEL), CFDP_VERDICT_TAKEN);
    ck_assert_ptr_null(cfdp_walk(us->e, NULL));
    pair_fini(&pair);
}
END_TEST

/* Octets that were not written are asked for again. */
START_TEST(write_fails)
{
    pair_init(&pair, 1);
    us->peer.handlers[CFDP_FILESTORE] = CFDP_HANDLE_SUSPEND;
    pair_start(&pair);
    ck_assert_int_eq(push_named(1, 3000), CFDP_VERDICT_TAKEN);
    ck_assert_int_eq(push_data(1, 0, 200), CFDP_VERDICT_TAKEN);
    us->refuses_write = true;
    ck_assert_int_eq(push_data(1, 100, 200), CFDP_VERDICT_FAILED);
    ck_assert_int_eq(push_data(1, 1000, 200), CFDP_VERDICT_FAILED);
    us->refuses_write = false;
    ck_assert_int_eq(cfdp_resume(us->e, first, pair.now), 0);
    ck_assert_int_eq(push_data(1, 100, 200), CFDP_VERDICT_TAKEN);
    ck_assert_int_eq(push_data(1, 1000, 200), CFDP_VERDICT_TAKEN);
    pair_fini(&pair);
}
END_TEST

static uint64_t pull_nak(void)
{
    uint8_t out[PDU_ROOM];
    struct cfdp_pdu p;
    do {
        const size_t n = cfdp_output(us->e, 1, out, sizeof out, pair.now);
        ck_assert_int_eq(cfdp_pdu_parse(slice_of(out, n), &p), CFDP_PDU_OK);
    } while (p.kind != CFDP_PDU_NAK);
    return p.u.nak.lo;
}

/* Octets that arrive between the NAKs of a series do not begin it anew. */
START_TEST(data_in_a_series_of_naks)
{
    pair_init(&pair, 1);
    us->peer.pdu_max = 128;
    pair_start(&pair);
    ck_assert_int_eq(push_named(1, 20000), CFDP_VERDICT_TAKEN);
    for (uint64_t i = 0; i < 100; i++)
        ck_assert_int_eq(push_data(1, 200 * i, 100), CFDP_VERDICT_TAKEN);
    ck_assert_int_eq(push_eof(1, 20000), CFDP_VERDICT_TAKEN);
    uint64_t last = pull_nak();
    ck_assert_uint_eq(last, 0);
    for (uint64_t i = 0; i < 5; i++) {
        ck_assert_int_eq(push_data(1, 200 * i + 100, 100), CFDP_VERDICT_TAKEN);
        const uint64_t lo = pull_nak();
        ck_assert_uint_gt(lo, last);
        last = lo;
    }
    pair_fini(&pair);
}
END_TEST

static size_t write_requests(uint8_t *room, size_t size, unsigned count)
{
    struct writer w = writer_of(room, size);
    for (unsigned i = 0; i < count; i++) {
        const struct cfdp_request q = {.action = CFDP_DENY_FILE,
                                       .first = slice_of("abcdefghijklmnopqrstuvwx", 24)};
        cfdp_request_write(&w, &q);
    }
    ck_assert(!w.bad);
    return writer_len(&w);
}

static size_t count_responses(const struct cfdp_notice *n)
{
    struct slice rest = slice_of(n->responses, n->responses_len);
    struct cfdp_tlv tlv;
    size_t count = 0;
    while (cfdp_tlv_next(&rest, &tlv))
        count++;
    ck_assert_uint_eq(rest.len, 0);
    return count;
}

/* Each request that is performed has its response; more than fit are no put. */
START_TEST(many_requests)
{
    uint8_t room[2000], back[2000];
    struct cfdp_id id;
    pair_init(&pair, 1);
    us->peer.pdu_max = 2000;
    pair_start(&pair);
    struct cfdp_put put = {.destination = 1};
    put.options = slice_of(room, write_requests(room, sizeof room, 20));
    ck_assert_int_eq(cfdp_put(us->e, &put, 0, &id), HELIO_EINVAL);
    put.options = slice_of(room, write_requests(room, sizeof room, 17));
    ck_assert_int_eq(cfdp_put(us->e, &put, 0, &id), 0);
    struct cfdp_pdu p = pdu_of(CFDP_PDU_METADATA, 1);
    p.u.metadata.options = slice_of(room, write_requests(room, sizeof room, 30));
    ck_assert_int_eq(push(1, &p), CFDP_VERDICT_TAKEN);
    ck_assert_int_eq(push_eof(1, 0), CFDP_VERDICT_TAKEN);
    work();
    const struct cfdp_notice *n = notice_of(us, first, CFDP_TOLD_FINISHED);
    ck_assert_ptr_nonnull(n);
    ck_assert_uint_eq(count_responses(n), us->acts);
    ck_assert_uint_gt(us->acts, 10);
    /* a peer that reports more than is kept */
    struct writer w = writer_of(back, sizeof back);
    const struct cfdp_response r = {.action = CFDP_DENY_FILE,
                                    .first = slice_of("abcdefghijklmnopqrstuvwx", 24)};
    for (int i = 0; i < 25; i++)
        cfdp_response_write(&w, &r);
    p = pdu_of(CFDP_PDU_FINISHED, id.sequence);
    p.head.toward_sender = true;
    p.head.source = 2;
    p.head.destination = 1;
    p.u.finished = (struct cfdp_finished){.status = CFDP_FILE_UNREPORTED,
                                          .responses = slice_of(back, writer_len(&w))};
    ck_assert_int_eq(push(1, &p), CFDP_VERDICT_TAKEN);
    work();
    n = notice_of(us, id, CFDP_TOLD_FINISHED);
    ck_assert_ptr_nonnull(n);
    ck_assert_uint_gt(count_responses(n), 10);
    pair_fini(&pair);
}
END_TEST

/* The file cannot be read for its checksum. */
START_TEST(read_fails)
{
    for (int ignored = 0; ignored < 2; ignored++) {
        pair_init(&pair, 1);
        us->peer.handlers[CFDP_FILESTORE] = ignored ? CFDP_HANDLE_IGNORE : CFDP_HANDLE_SUSPEND;
        pair_start(&pair);
        struct cfdp_pdu p = pdu_of(CFDP_PDU_METADATA, 1);
        p.u.metadata.source_name = p.u.metadata.destination_name = slice_of("a", 1);
        p.u.metadata.size = 100;
        ck_assert_int_eq(push(1, &p), CFDP_VERDICT_TAKEN);
        ck_assert_int_eq(push_data(1, 0, 100), CFDP_VERDICT_TAKEN);
        p = pdu_of(CFDP_PDU_EOF, 1);
        p.u.eof.size = 100;
        p.u.eof.checksum = 7; /* wrong, which is the second fault */
        us->unreadable = true;
        ck_assert_int_eq(push(1, &p), CFDP_VERDICT_TAKEN);
        work();
        us->unreadable = false;
        if (!ignored)
            ck_assert_int_eq(cfdp_resume(us->e, first, pair.now), 0);
        work();
        const struct cfdp_notice *n = notice_of(us, first, CFDP_TOLD_FINISHED);
        ck_assert_ptr_nonnull(n);
        ck_assert_int_eq(n->condition, ignored ? CFDP_FILESTORE : CFDP_CHECKSUM);
        pair_fini(&pair);
    }
}
END_TEST

/* The source cannot be read any more, and the fault is ignored: there is nothing to go on with. */
START_TEST(source_is_gone)
{
    begin();
    pair.host[0].peer.handlers[CFDP_FILE_SIZE] = CFDP_HANDLE_IGNORE;
    ck_assert_int_eq(cfdp_remote_set(pair.host[0].e, &pair.host[0].peer), 0);
    pair.rate = 1000;
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
    run_until(&pair, 3 * TICK_S);
    pair.host[0].unreadable = true;
    ck_assert(run_to_end(&pair, 60 * TICK_S));
    assert_finished(&pair, id, CFDP_FILE_SIZE);
    pair_fini(&pair);
}
END_TEST

/* The wrong checksum suspends, and the journal fails: it is over. */
START_TEST(journal_fails_at_the_checksum)
{
    pair_init(&pair, 1);
    us->peer.handlers[CFDP_CHECKSUM] = CFDP_HANDLE_SUSPEND;
    pair_start(&pair);
    struct cfdp_pdu p = pdu_of(CFDP_PDU_METADATA, 1);
    p.u.metadata.source_name = p.u.metadata.destination_name = slice_of("a", 1);
    ck_assert_int_eq(push(1, &p), CFDP_VERDICT_TAKEN);
    ck_assert_int_eq(push_data(1, 0, 100), CFDP_VERDICT_TAKEN);
    p = pdu_of(CFDP_PDU_EOF, 1);
    p.u.eof = (struct cfdp_eof){.size = 100, .checksum = 7};
    ck_assert_int_eq(push(1, &p), CFDP_VERDICT_TAKEN);
    us->journal_fails = true;
    work();
    ck_assert_ptr_null(cfdp_walk(us->e, NULL));
    pair_fini(&pair);
}
END_TEST

/* EOF and Finished of what is over, or never was, are answered. */
START_TEST(strays)
{
    uint8_t out[PDU_ROOM];
    struct cfdp_pdu p, answer;
    pair_init(&pair, 1);
    pair.host[0].peer.checksum = CFDP_CHECKSUM_NULL; /* EOF has 0 */
    pair_start(&pair);
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
    ck_assert(run_to_end(&pair, 10 * TICK_S));
    ck_assert_int_eq(push_data(id.sequence, 0, 100), CFDP_VERDICT_LATE);
    ck_assert_int_eq(push_eof(id.sequence, 10000), CFDP_VERDICT_LATE);
    size_t n = cfdp_output(us->e, 1, out, sizeof out, pair.now);
    ck_assert_int_eq(cfdp_pdu_parse(slice_of(out, n), &answer), CFDP_PDU_OK);
    ck_assert_int_eq(answer.kind, CFDP_PDU_ACK);
    ck_assert_uint_eq(answer.u.ack.status, CFDP_STATUS_TERMINATED);
    ck_assert(answer.head.toward_sender);
    n = cfdp_output(us->e, 1, out, sizeof out, pair.now);
    ck_assert_int_eq(cfdp_pdu_parse(slice_of(out, n), &answer), CFDP_PDU_OK);
    ck_assert_int_eq(answer.kind, CFDP_PDU_FINISHED);
    ck_assert_uint_eq(answer.u.finished.status, CFDP_FILE_RETAINED);
    /* A peer that begins with the same number again: another file, which is asked for. */
    ck_assert_int_eq(push_eof(id.sequence, 9999), CFDP_VERDICT_TAKEN);
    n = cfdp_output(us->e, 1, out, sizeof out, pair.now);
    ck_assert_int_eq(cfdp_pdu_parse(slice_of(out, n), &answer), CFDP_PDU_OK);
    ck_assert_uint_eq(answer.u.ack.status, CFDP_STATUS_ACTIVE);
    n = cfdp_output(us->e, 1, out, sizeof out, pair.now);
    ck_assert_int_eq(cfdp_pdu_parse(slice_of(out, n), &answer), CFDP_PDU_OK);
    ck_assert_int_eq(answer.kind, CFDP_PDU_NAK);
    p = pdu_of(CFDP_PDU_FINISHED, 77);
    p.head.source = 2;
    p.head.destination = 1;
    p.head.toward_sender = true;
    ck_assert_int_eq(push(1, &p), CFDP_VERDICT_UNKNOWN);
    n = cfdp_output(us->e, 1, out, sizeof out, pair.now);
    ck_assert_int_eq(cfdp_pdu_parse(slice_of(out, n), &answer), CFDP_PDU_OK);
    ck_assert_uint_eq(answer.u.ack.status, CFDP_STATUS_UNRECOGNIZED);
    ck_assert(answer.u.ack.of == CFDP_PDU_FINISHED && !answer.head.toward_sender);
    for (unsigned i = 0; i < 1000; i++) /* a queue of limited length */
        (void)push(1, &p);
    for (n = 0; cfdp_output(us->e, 1, out, sizeof out, pair.now) > 0; n++)
        ;
    ck_assert_uint_le(n, 64);
    pair_fini(&pair);
}
END_TEST

START_TEST(unknown_checksum)
{
    begin();
    struct cfdp_pdu p = pdu_of(CFDP_PDU_METADATA, 1);
    p.u.metadata.checksum = 1;
    ck_assert_int_eq(push(1, &p), CFDP_VERDICT_TAKEN);
    run_until(&pair, TICK_S);
    const struct cfdp_notice *n = notice_of(us, (struct cfdp_id){1, 1}, CFDP_TOLD_FINISHED);
    ck_assert(n != NULL && n->condition == CFDP_CHECKSUM_TYPE);
    pair_fini(&pair);
}
END_TEST

START_TEST(journal_fails)
{
    struct cfdp_id id;
    begin();
    us->journal_fails = true;
    ck_assert_int_eq(push_data(1, 0, 100), CFDP_VERDICT_FAILED);
    const struct cfdp_put put = {
        .destination = 1, .source_name = "source", .destination_name = "a"};
    ck_assert_int_eq(cfdp_put(us->e, &put, 0, &id), HELIO_EIO);
    ck_assert_ptr_null(cfdp_walk(us->e, NULL));
    pair_fini(&pair);
}
END_TEST

START_TEST(configurations)
{
    struct cfdp_config c = {.id = 300, .id_len = 1, .files = &host_files};
    ck_assert_ptr_null(cfdp_new(&c));
    begin();
    struct cfdp_remote r = {.id = 2};
    ck_assert_int_eq(cfdp_remote_set(us->e, &r), HELIO_EINVAL); /* ourselves */
    r = (struct cfdp_remote){.id = 9, .checksum = 4};
    ck_assert_int_eq(cfdp_remote_set(us->e, &r), HELIO_EINVAL);
    r = (struct cfdp_remote){.id = 9, .pdu_max = 20};
    ck_assert_int_eq(cfdp_remote_set(us->e, &r), HELIO_EINVAL);
    ck_assert_ptr_null(cfdp_remote_find(us->e, 9));
    ck_assert_uint_eq(cfdp_remote_find(us->e, 1)->segment_max, 1024);
    ck_assert_uint_eq(cfdp_entity(us->e), 2);
    pair_fini(&pair);
}
END_TEST

SUITE(cfdp_limits, t)
{
    tcase_add_test(t, verdicts);
    tcase_add_test(t, sizes);
    tcase_add_test(t, shares);
    tcase_add_test(t, asked_transactions);
    tcase_add_test(t, names_and_options);
    tcase_add_test(t, forbidden);
    tcase_add_test(t, offsets_at_the_end);
    tcase_add_test(t, finished_is_not_acknowledged);
    tcase_add_test(t, eof_after_a_cancel);
    tcase_add_test(t, write_fails);
    tcase_add_test(t, data_in_a_series_of_naks);
    tcase_add_test(t, many_requests);
    tcase_add_test(t, read_fails);
    tcase_add_test(t, source_is_gone);
    tcase_add_test(t, journal_fails_at_the_checksum);
    tcase_add_test(t, strays);
    tcase_add_test(t, unknown_checksum);
    tcase_add_test(t, journal_fails);
    tcase_add_test(t, configurations);
}
