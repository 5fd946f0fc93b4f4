/* SPDX-License-Identifier: Apache-2.0 */
/* What one remote entity takes of places, space and time, and what is left for another one. */
#include "tests/unit/cfdp_pair.h"

static struct pair pair;
static struct host *const us = &pair.host[1]; /* entity 2; 1 and 3 are played */

static struct cfdp_pdu pdu_of(enum cfdp_pdu_kind kind, uint64_t source, uint64_t sequence)
{
    return (struct cfdp_pdu){.kind = kind,
                             .head = {.id_len = 1,
                                      .sequence_len = 4,
                                      .source = source,
                                      .sequence = sequence,
                                      .destination = 2}};
}

static enum cfdp_verdict push(uint64_t from, const struct cfdp_pdu *p)
{
    uint8_t out[PDU_ROOM];
    const size_t n = cfdp_pdu_write(p, out, sizeof out);
    ck_assert_uint_gt(n, 0);
    const enum cfdp_verdict v = cfdp_input(us->e, from, slice_of(out, n), pair.now);
    cfdp_check(us->e);
    return v;
}

static enum cfdp_verdict push_octet(uint64_t from, uint64_t sequence, uint64_t offset)
{
    struct cfdp_pdu p = pdu_of(CFDP_PDU_FILE_DATA, from, sequence);
    const uint8_t octet = octet_at(us->seed, offset);
    p.u.data = (struct cfdp_data){.offset = offset, .octets = slice_of(&octet, 1)};
    return push(from, &p);
}

/* One entity takes all that it can get: the others, and we, still have places. */
START_TEST(places)
{
    struct cfdp_id id;
    const struct cfdp_put put = {
        .destination = 1, .source_name = "source", .destination_name = "a"};
    pair_init(&pair, 1);
    us->transactions_max = 24;
    us->peer.transactions_max = 1000;
    pair_start(&pair);
    for (uint64_t entity = 3; entity < 5; entity++) {
        const struct cfdp_remote other = {.id = entity, .permissions = CFDP_MAY_PUT};
        ck_assert_int_eq(cfdp_remote_set(us->e, &other), 0);
    }
    unsigned first = 0, ours = 0;
    for (uint64_t n = 1; n < 100; n++)
        first += push_octet(1, n, 0) == CFDP_VERDICT_TAKEN;
    ck_assert_uint_eq(first, 15); /* of 24; 3 each for two others and for us */
    ck_assert_int_eq(push_octet(1, 100, 0), CFDP_VERDICT_TRANSACTIONS);
    while (cfdp_put(us->e, &put, pair.now, &id) == 0)
        ours++;
    ck_assert_uint_eq(ours, 3);
    for (uint64_t entity = 3; entity < 5; entity++) {
        for (uint64_t n = 1; n <= 3; n++)
            ck_assert_int_eq(push_octet(entity, n, 0), CFDP_VERDICT_TAKEN);
        ck_assert_int_eq(push_octet(entity, 4, 0), CFDP_VERDICT_TRANSACTIONS);
    }
    pair_fini(&pair);
}
END_TEST

/* Journals count: an octet in a PDU of its own has 19 more on the medium. */
START_TEST(space_of_journals)
{
    uint64_t taken = 0;
    pair_init(&pair, 1);
    us->peer.space_max = 20000;
    pair_start(&pair);
    while (taken < 5000 && push_octet(1, 1, taken) == CFDP_VERDICT_TAKEN)
        taken++;
    ck_assert_uint_gt(taken, 900);
    ck_assert_uint_lt(taken, 1000);
    ck_assert_int_eq(push_octet(1, 1, taken), CFDP_VERDICT_SPACE);
    pair_fini(&pair);
}
END_TEST

/* A long file is checked, and brought to the medium, in parts; what fails there is a fault. */
START_TEST(parts_of_the_check)
{
    static const unsigned sums[] = {CFDP_CHECKSUM_CRC32, CFDP_CHECKSUM_NULL};
    for (size_t i = 0; i < 4; i++) {
        pair_init(&pair, 1);
        pair.checks = false;
        pair.host[0].source_size = 3000000;
        pair.host[0].peer.checksum = sums[i % 2];
        us->settle_fails = i >= 2;
        pair_start(&pair);
        const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
        ck_assert(run_to_end(&pair, 60 * TICK_S));
        assert_finished(&pair, id, i < 2 ? CFDP_NO_ERROR : CFDP_FILESTORE);
        ck_assert_uint_eq(us->settled, i < 2 ? 3000000 : 1 << 20);
        ck_assert_uint_eq(us->settle_most, 1 << 20);
        pair_fini(&pair);
    }
}
END_TEST

/* A NAK in falling order, and one that asks twice: all octets are sent again, once. */
START_TEST(order_of_requests)
{
    uint8_t room[1600], out[PDU_ROOM];
    struct host *h = &pair.host[0];
    pair_init(&pair, 1);
    pair_start(&pair);
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
    while (cfdp_output(h->e, 2, out, sizeof out, pair.now) > 0)
        ;
    struct writer w = writer_of(room, sizeof room);
    for (uint64_t i = 100; i-- > 0;)
        for (int twice = 0; twice < 2; twice++) {
            writer_number(&w, 100 * i, 4);
            writer_number(&w, 100 * i + 50 + 10 * (uint64_t)twice, 4);
        }
    ck_assert(!w.bad);
    struct cfdp_pdu p = pdu_of(CFDP_PDU_NAK, 1, id.sequence);
    p.head.toward_sender = true;
    p.u.nak = (struct cfdp_nak){.lo = 0, .hi = 10000, .requests = slice_of(room, writer_len(&w))};
    size_t n = cfdp_pdu_write(&p, out, sizeof out);
    ck_assert_int_eq(cfdp_input(h->e, 2, slice_of(out, n), pair.now), CFDP_VERDICT_TAKEN);
    cfdp_check(h->e);
    uint64_t at = 0;
    while ((n = cfdp_output(h->e, 2, out, sizeof out, pair.now)) > 0) {
        ck_assert_int_eq(cfdp_pdu_parse(slice_of(out, n), &p), CFDP_PDU_OK);
        ck_assert_int_eq(p.kind, CFDP_PDU_FILE_DATA);
        ck_assert_uint_eq(p.u.data.offset, at);
        ck_assert_uint_eq(p.u.data.octets.len, 60);
        at += 100;
    }
    ck_assert_uint_eq(at, 10000);
    ck_assert_uint_eq(cfdp_counts(h->e)->octets_again, 6000);
    pair_fini(&pair);
}
END_TEST

/* Class 1 has neither NAK nor Keep Alive: prompts and NAKs are not obeyed. */
START_TEST(class_1_is_not_asked)
{
    uint8_t out[PDU_ROOM];
    struct host *h = &pair.host[0];
    pair_init(&pair, 1);
    h->peer.closure = true;
    pair_start(&pair);
    struct cfdp_pdu p = pdu_of(CFDP_PDU_METADATA, 1, 7);
    p.head.unacknowledged = true;
    p.u.metadata.size = 100;
    p.u.metadata.source_name = p.u.metadata.destination_name = slice_of("a", 1);
    ck_assert_int_eq(push(1, &p), CFDP_VERDICT_TAKEN);
    p.kind = CFDP_PDU_PROMPT;
    for (int keep_alive = 0; keep_alive < 2; keep_alive++) {
        p.u.prompt_keep_alive = keep_alive == 1;
        ck_assert_int_eq(push(1, &p), CFDP_VERDICT_MODE);
        ck_assert_uint_eq(cfdp_output(us->e, 1, out, sizeof out, pair.now), 0);
    }
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_1);
    while (cfdp_output(h->e, 2, out, sizeof out, pair.now) > 0)
        ;
    p = pdu_of(CFDP_PDU_NAK, 1, id.sequence);
    p.head.toward_sender = p.head.unacknowledged = true;
    p.u.nak = (struct cfdp_nak){.hi = 10000, .requests = slice_of("\0\0\0\0\0\0\0\7", 8)};
    const size_t n = cfdp_pdu_write(&p, out, sizeof out);
    (void)cfdp_input(h->e, 2, slice_of(out, n), pair.now);
    ck_assert_uint_eq(cfdp_output(h->e, 2, out, sizeof out, pair.now), 0);
    pair_fini(&pair);
}
END_TEST

/* The requester asks for closure, or for none; otherwise it is ours to say. */
START_TEST(closure_of_a_proxy_put)
{
    for (int asked = 0; asked < 3; asked++) {
        uint8_t room[128];
        struct writer w = writer_of(room, sizeof room);
        const struct cfdp_message put = {.kind = CFDP_PROXY_PUT,
                                         .entity = 1,
                                         .first = slice_of("theirs", 6),
                                         .second = slice_of("mine", 4)};
        const struct cfdp_message mode = {.kind = CFDP_PROXY_MODE, .flag = true};
        const struct cfdp_message closure = {.kind = CFDP_PROXY_CLOSURE, .flag = asked == 1};
        pair_init(&pair, 1);
        us->peer.closure = asked == 2;
        pair_start(&pair);
        cfdp_message_write(&w, &put);
        cfdp_message_write(&w, &mode);
        if (asked > 0)
            cfdp_message_write(&w, &closure);
        const struct cfdp_put ask = {.destination = 2, .options = slice_of(room, writer_len(&w))};
        struct cfdp_id id;
        ck_assert_int_eq(cfdp_put(pair.host[0].e, &ask, 0, &id), 0);
        ck_assert(run_to_end(&pair, 60 * TICK_S));
        const struct cfdp_notice *n = NULL;
        for (size_t i = 0; i < us->told_len; i++)
            if (us->told[i].kind == CFDP_TOLD_FINISHED && us->told[i].n.is_sender &&
                us->told[i].n.name[0] != '\0')
                n = &us->told[i].n;
        ck_assert_ptr_nonnull(n);
        ck_assert_int_eq(n->status, asked == 1 ? CFDP_FILE_RETAINED : CFDP_FILE_UNREPORTED);
        pair_fini(&pair);
    }
}
END_TEST

SUITE(cfdp_shares, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, places);
    tcase_add_test(t, space_of_journals);
    tcase_add_test(t, parts_of_the_check);
    tcase_add_test(t, order_of_requests);
    tcase_add_test(t, class_1_is_not_asked);
    tcase_add_test(t, closure_of_a_proxy_put);
}
