/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer may send: each PDU has its counted verdict, limits hold, and another peer's share is
 * its own. */
#include "tests/unit/cfdp_pair.h"

static struct pair pair;
static struct host *us = &pair.host[1]; /* entity 2; the peer is played */

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
    pair_fini(&pair);
}
END_TEST

/* EOF and Finished of what is over, or never was, are answered. */
START_TEST(strays)
{
    uint8_t out[PDU_ROOM];
    struct cfdp_pdu p, answer;
    begin();
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
    tcase_add_test(t, strays);
    tcase_add_test(t, unknown_checksum);
    tcase_add_test(t, journal_fails);
    tcase_add_test(t, configurations);
}
