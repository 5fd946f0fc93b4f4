/* SPDX-License-Identifier: Apache-2.0 */
/* CFDP's procedures, step by step: class 1 and 2, losses of each PDU, faults and their handlers,
 * suspension, cancellation, user operations. */
#include "tests/unit/cfdp_pair.h"

static struct pair pair; /* large */

static void begin(void)
{
    pair_init(&pair, 1);
    pair_start(&pair);
}

static void end(void)
{
    ck_assert_uint_eq(pair.host[0].wrong + pair.host[1].wrong, 0);
    pair_fini(&pair);
}

/* The code of a file directive; 0x100: file data. */
static unsigned kind_of(struct slice pdu)
{
    struct cfdp_pdu p;
    ck_assert_int_eq(cfdp_pdu_parse(pdu, &p), CFDP_PDU_OK);
    return p.kind;
}

START_TEST(class_1)
{
    begin();
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_1);
    ck_assert(run_to_end(&pair, TICK_S));
    assert_finished(&pair, id, CFDP_NO_ERROR);
    ck_assert_uint_eq(pair.host[1].placed_len, 1);
    ck_assert_uint_eq(pair.host[1].placed[0].size, 10000);
    ck_assert_uint_eq(pair.sent, 12); /* metadata, 10 segments, EOF */
    ck_assert_uint_eq(host_journals(&pair.host[0]) + host_journals(&pair.host[1]), 0);
    end();
}
END_TEST

START_TEST(class_1_with_closure)
{
    pair_init(&pair, 1);
    pair.host[0].peer.closure = true;
    pair_start(&pair);
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_1);
    ck_assert(run_to_end(&pair, TICK_S));
    assert_finished(&pair, id, CFDP_NO_ERROR);
    ck_assert_int_eq(notice_of(&pair.host[0], id, CFDP_TOLD_FINISHED)->status, CFDP_FILE_RETAINED);
    ck_assert_uint_eq(pair.sent, 13);
    end();
}
END_TEST

START_TEST(class_2)
{
    begin();
    const struct cfdp_id id = put_file(&pair, 0, "a", 0);
    ck_assert(run_to_end(&pair, 2 * TICK_S));
    assert_finished(&pair, id, CFDP_NO_ERROR);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(notice_of(&pair.host[i], id, CFDP_TOLD_FINISHED)->status,
                         CFDP_FILE_RETAINED);
    ck_assert_uint_eq(pair.sent, 15); /* and ACK, Finished, ACK */
    ck_assert_uint_eq(count_notices(&pair.host[0], id, CFDP_TOLD_EOF_SENT), 1);
    ck_assert_uint_eq(count_notices(&pair.host[1], id, CFDP_TOLD_EOF_RECEIVED), 1);
    ck_assert_uint_eq(count_notices(&pair.host[1], id, CFDP_TOLD_METADATA), 1);
    ck_assert_uint_eq(host_journals(&pair.host[0]) + host_journals(&pair.host[1]), 0);
    end();
}
END_TEST

START_TEST(checksums_and_sizes)
{
    static const unsigned types[] = {0, 2, 3, 15};
    static const uint64_t sizes[] = {0, 1, 1023, 1024, 1025, 70001};
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 6; k++)
            for (unsigned class_ = 1; class_ <= 2; class_++) {
                pair_init(&pair, 1);
                pair.host[0].source_size = sizes[k];
                pair.host[0].peer.checksum = types[i];
                pair.host[0].peer.crc = k % 2 == 0;
                pair_start(&pair);
                const struct cfdp_id id = put_file(&pair, 0, "a", class_);
                ck_assert(run_to_end(&pair, 5 * TICK_S));
                assert_finished(&pair, id, CFDP_NO_ERROR);
                ck_assert_uint_eq(pair.host[1].placed[0].size, sizes[k]);
                end();
            }
}
END_TEST

/* Each PDU of the exchange is lost once. */
static unsigned lost_kind;
static bool lost_is_toward_sender;
static int losses_left;

static bool lose_kind(struct pair *p, size_t to, struct slice pdu)
{
    (void)p;
    if (losses_left == 0 || kind_of(pdu) != lost_kind || (to == 0) != lost_is_toward_sender)
        return false;
    losses_left--;
    return true;
}

START_TEST(each_pdu_is_lost)
{
    static const struct {
        unsigned kind;
        bool toward_sender;
    } kinds[] = {{CFDP_PDU_METADATA, false}, {CFDP_PDU_FILE_DATA, false}, {CFDP_PDU_EOF, false},
                 {CFDP_PDU_ACK, true},       {CFDP_PDU_FINISHED, true},   {CFDP_PDU_ACK, false}};
    for (size_t i = 0; i < 6; i++)
        for (int times = 1; times <= 3; times++) {
            begin();
            lost_kind = kinds[i].kind;
            lost_is_toward_sender = kinds[i].toward_sender;
            losses_left = times;
            pair.loses = lose_kind;
            const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
            ck_assert(run_to_end(&pair, 60 * TICK_S));
            ck_assert_int_lt(losses_left, times);
            assert_finished(&pair, id, CFDP_NO_ERROR);
            ck_assert_uint_eq(count_notices(&pair.host[1], id, CFDP_TOLD_FINISHED), 1);
            end();
        }
}
END_TEST

START_TEST(immediate_naks)
{
    pair_init(&pair, 1);
    pair.host[1].peer.immediate_nak = true;
    pair.rate = 1000;
    pair.delay = TICK_MS;
    pair_start(&pair);
    lost_kind = CFDP_PDU_FILE_DATA;
    lost_is_toward_sender = false;
    losses_left = 1;
    pair.loses = lose_kind;
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
    run_until(&pair, 5 * TICK_S); /* EOF is at 10 s */
    ck_assert_uint_eq(cfdp_counts(pair.host[0].e)->naks_in, 1);
    ck_assert_uint_eq(cfdp_counts(pair.host[0].e)->octets_again, 1024);
    ck_assert(run_to_end(&pair, 60 * TICK_S));
    assert_finished(&pair, id, CFDP_NO_ERROR);
    ck_assert_uint_eq(cfdp_counts(pair.host[0].e)->naks_in, 1);
    end();
}
END_TEST

START_TEST(nobody_answers)
{
    begin();
    pair.loss = 1;
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
    ck_assert(run_to_end(&pair, 300 * TICK_S));
    /* The ACK limit cancels; EOF with that condition is not answered either: abandoned. */
    const struct cfdp_notice *n = notice_of(&pair.host[0], id, CFDP_TOLD_ABANDONED);
    ck_assert(n != NULL && n->condition == CFDP_ACK_LIMIT);
    ck_assert_uint_eq(host_journals(&pair.host[0]), 0);
    end();
}
END_TEST

START_TEST(sender_falls_silent)
{
    begin();
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
    lost_kind = CFDP_PDU_EOF;
    lost_is_toward_sender = false;
    losses_left = INT32_MAX;
    pair.loses = lose_kind;
    ck_assert(run_to_end(&pair, 1000 * TICK_S));
    ck_assert_int_eq(notice_of(&pair.host[1], id, CFDP_TOLD_FINISHED)->condition, CFDP_INACTIVITY);
    ck_assert_uint_eq(pair.host[1].placed_len, 0);
    end();
}
END_TEST

START_TEST(nak_limit)
{
    begin();
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
    lost_kind = CFDP_PDU_FILE_DATA;
    lost_is_toward_sender = false;
    losses_left = INT32_MAX;
    pair.loses = lose_kind;
    ck_assert(run_to_end(&pair, 1000 * TICK_S));
    assert_finished(&pair, id, CFDP_NAK_LIMIT);
    ck_assert_int_eq(notice_of(&pair.host[0], id, CFDP_TOLD_FINISHED)->status, CFDP_FILE_DISCARDED);
    end();
}
END_TEST

START_TEST(check_limit)
{
    begin();
    lost_kind = CFDP_PDU_FILE_DATA;
    lost_is_toward_sender = false;
    losses_left = 1;
    pair.loses = lose_kind;
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_1);
    ck_assert(run_to_end(&pair, 1000 * TICK_S));
    const struct cfdp_notice *n = notice_of(&pair.host[1], id, CFDP_TOLD_FINISHED);
    ck_assert(n->condition == CFDP_CHECK_LIMIT && n->incomplete);
    ck_assert_uint_eq(pair.host[1].placed_len, 0);
    end();
    /* ignored: what is here is kept */
    pair_init(&pair, 1);
    pair.host[1].peer.handlers[CFDP_CHECK_LIMIT] = CFDP_HANDLE_IGNORE;
    pair_start(&pair);
    losses_left = 1;
    pair.loses = lose_kind;
    const struct cfdp_id kept = put_file(&pair, 0, "b", CFDP_CLASS_1);
    ck_assert(run_to_end(&pair, 1000 * TICK_S));
    ck_assert_uint_eq(count_notices(&pair.host[1], kept, CFDP_TOLD_FAULT), 1);
    n = notice_of(&pair.host[1], kept, CFDP_TOLD_FINISHED);
    ck_assert(n->condition == CFDP_CHECK_LIMIT && n->incomplete && n->progress == 10000 - 1024);
    ck_assert_uint_eq(pair.host[1].placed_len, 1);
    end();
}
END_TEST

START_TEST(late_data_of_class_1)
{
    begin();
    pair.jitter = 5 * TICK_S; /* EOF overtakes data */
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_1);
    ck_assert(run_to_end(&pair, 100 * TICK_S));
    assert_finished(&pair, id, CFDP_NO_ERROR);
    end();
}
END_TEST

START_TEST(wrong_checksum)
{
    begin();
    pair.host[1].damages = true;
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
    ck_assert(run_to_end(&pair, 100 * TICK_S));
    assert_finished(&pair, id, CFDP_CHECKSUM);
    ck_assert_uint_eq(pair.host[1].placed_len, 0);
    end();
}
END_TEST

START_TEST(file_store_refuses)
{
    begin();
    pair.host[1].refuses = HELIO_EEXIST;
    struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
    ck_assert(run_to_end(&pair, 100 * TICK_S));
    assert_finished(&pair, id, CFDP_FILESTORE);
    ck_assert_int_eq(notice_of(&pair.host[0], id, CFDP_TOLD_FINISHED)->status, CFDP_FILE_REJECTED);
    pair.host[1].refuses = 0;
    pair.host[1].refuses_write = true;
    id = put_file(&pair, 0, "b", CFDP_CLASS_2);
    ck_assert(run_to_end(&pair, 200 * TICK_S));
    assert_finished(&pair, id, CFDP_FILESTORE);
    end();
}
END_TEST

START_TEST(handlers)
{
    /* The sender's override travels in the metadata: the receiver abandons. */
    uint8_t options[16];
    struct writer w = writer_of(options, sizeof options);
    cfdp_override_write(&w, CFDP_CHECKSUM, CFDP_HANDLE_ABANDON);
    begin();
    pair.host[1].damages = true;
    const struct cfdp_put put = {.destination = 2,
                                 .source_name = "source",
                                 .destination_name = "a",
                                 .options = slice_of(options, writer_len(&w))};
    struct cfdp_id id;
    ck_assert_int_eq(cfdp_put(pair.host[0].e, &put, 0, &id), 0);
    run_until(&pair, 5 * TICK_S);
    ck_assert_ptr_nonnull(notice_of(&pair.host[1], id, CFDP_TOLD_ABANDONED));
    ck_assert(run_to_end(&pair, 1000 * TICK_S)); /* the sender: inactivity */
    end();
    /* Suspended at the fault, and resumed when the cause is gone. */
    pair_init(&pair, 1);
    pair.host[1].peer.handlers[CFDP_CHECKSUM] = CFDP_HANDLE_SUSPEND;
    pair.host[1].damages = true;
    pair_start(&pair);
    id = put_file(&pair, 0, "a", CFDP_CLASS_2);
    run_until(&pair, 5 * TICK_S);
    ck_assert_ptr_nonnull(notice_of(&pair.host[1], id, CFDP_TOLD_SUSPENDED));
    pair.host[1].damages = false;
    ck_assert_int_eq(cfdp_resume(pair.host[1].e, id, pair.now), 0);
    ck_assert(run_to_end(&pair, 60 * TICK_S));
    assert_finished(&pair, id, CFDP_NO_ERROR);
    end();
}
END_TEST

START_TEST(suspend_and_resume)
{
    begin();
    pair.rate = 1000;
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
    run_until(&pair, 3 * TICK_S);
    ck_assert_int_eq(cfdp_suspend(pair.host[0].e, id, pair.now), 0);
    ck_assert_int_eq(cfdp_suspend(pair.host[0].e, id, pair.now), HELIO_EINVAL);
    ck_assert_int_eq(cfdp_suspend(pair.host[1].e, id, pair.now), 0);
    const uint64_t sent = pair.sent;
    run_until(&pair, 100000 * TICK_S); /* no timer expires */
    ck_assert_uint_le(pair.sent, sent + 1);
    ck_assert_int_eq(cfdp_resume(pair.host[0].e, id, pair.now), 0);
    ck_assert_int_eq(cfdp_resume(pair.host[1].e, id, pair.now), 0);
    ck_assert_int_eq(cfdp_resume(pair.host[1].e, id, pair.now), HELIO_EINVAL);
    ck_assert(run_to_end(&pair, pair.now + 60 * TICK_S));
    assert_finished(&pair, id, CFDP_NO_ERROR);
    end();
}
END_TEST

START_TEST(link_is_down)
{
    begin();
    pair.rate = 1000;
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
    for (int contact = 0; contact < 10; contact++) {
        run_until(&pair, pair.now + 2 * TICK_S);
        for (size_t i = 0; i < 2; i++)
            cfdp_link(pair.host[i].e, pair.host[1 - i].id, false, pair.now);
        run_until(&pair, pair.now + 7200 * TICK_S);
        for (size_t i = 0; i < 2; i++)
            cfdp_link(pair.host[i].e, pair.host[1 - i].id, true, pair.now);
    }
    ck_assert(run_to_end(&pair, pair.now + 60 * TICK_S));
    assert_finished(&pair, id, CFDP_NO_ERROR);
    end();
}
END_TEST

START_TEST(cancel)
{
    for (size_t who = 0; who < 2; who++)
        for (unsigned class_ = 1; class_ <= 2; class_++) {
            begin();
            pair.rate = 1000;
            const struct cfdp_id id = put_file(&pair, 0, "a", class_);
            run_until(&pair, 3 * TICK_S);
            ck_assert_int_eq(cfdp_cancel(pair.host[who].e, id, pair.now), 0);
            ck_assert(run_to_end(&pair, pair.now + 1000 * TICK_S));
            ck_assert_int_eq(notice_of(&pair.host[1], id, CFDP_TOLD_FINISHED)->condition,
                             CFDP_CANCEL);
            if (who == 0 || class_ == 2)
                assert_finished(&pair, id, CFDP_CANCEL);
            ck_assert_uint_eq(pair.host[1].placed_len, 0);
            ck_assert_int_eq(cfdp_cancel(pair.host[who].e, id, pair.now), HELIO_ENOENT);
            end();
        }
}
END_TEST

START_TEST(prompt_and_keep_alive)
{
    pair_init(&pair, 1);
    pair.host[0].peer.keep_alive_limit = 1000000;
    pair.host[1].peer.keep_alive_time = TICK_S;
    pair.rate = 1000;
    pair_start(&pair);
    const struct cfdp_id id = put_file(&pair, 0, "a", CFDP_CLASS_2);
    run_until(&pair, 3 * TICK_S);
    ck_assert_int_eq(cfdp_prompt(pair.host[0].e, id, true, pair.now), 0);
    ck_assert_int_eq(cfdp_prompt(pair.host[0].e, id, false, pair.now), 0);
    ck_assert_int_eq(cfdp_prompt(pair.host[1].e, id, false, pair.now), HELIO_EINVAL);
    run_until(&pair, 6 * TICK_S);
    ck_assert_uint_eq(cfdp_counts(pair.host[1].e)->naks_out, 1);
    ck_assert(run_to_end(&pair, pair.now + 60 * TICK_S));
    assert_finished(&pair, id, CFDP_NO_ERROR);
    end();
    /* too far behind: the link loses all data, keep-alives get through */
    pair_init(&pair, 1);
    pair.host[0].peer.keep_alive_limit = 3000;
    pair.host[1].peer.keep_alive_time = TICK_S;
    pair.rate = 1000;
    pair_start(&pair);
    lost_kind = CFDP_PDU_FILE_DATA;
    lost_is_toward_sender = false;
    losses_left = INT32_MAX;
    pair.loses = lose_kind;
    const struct cfdp_id behind = put_file(&pair, 0, "a", CFDP_CLASS_2);
    ck_assert(run_to_end(&pair, 100 * TICK_S));
    assert_finished(&pair, behind, CFDP_KEEP_ALIVE_LIMIT);
    end();
}
END_TEST

/* ---- requests without a file, and user operations ---- */

static struct cfdp_id put_options(size_t from, struct writer *w)
{
    const struct cfdp_put put = {.destination = pair.host[1 - from].id,
                                 .options = slice_of(w->start, writer_len(w))};
    struct cfdp_id id;
    ck_assert(!w->bad);
    ck_assert_int_eq(cfdp_put(pair.host[from].e, &put, pair.now, &id), 0);
    return id;
}

static struct slice text(const char *s)
{
    return slice_of(s, strlen(s));
}

static void ask_actions(struct writer *w)
{
    const struct cfdp_request make = {.action = CFDP_CREATE_FOLDER, .first = text("d")};
    const struct cfdp_request rename = {CFDP_RENAME_FILE, text("x"), text("d/x")};
    cfdp_request_write(w, &make);
    cfdp_request_write(w, &rename);
}

START_TEST(filestore_requests)
{
    uint8_t room[128];
    for (unsigned round = 0; round < 3; round++) { /* done; the first fails; no permission */
        struct writer w = writer_of(room, sizeof room);
        struct cfdp_response r;
        struct cfdp_tlv tlv;
        pair_init(&pair, 1);
        pair.host[1].act_status = round == 1;
        if (round == 2)
            pair.host[1].peer.permissions = CFDP_MAY_PUT;
        pair_start(&pair);
        ask_actions(&w);
        const struct cfdp_id id = put_options(0, &w);
        ck_assert(run_to_end(&pair, 60 * TICK_S));
        assert_finished(&pair, id, CFDP_NO_ERROR);
        ck_assert_uint_eq(pair.host[1].acts, round == 0 ? 2 : round == 1 ? 1 : 0);
        const struct cfdp_notice *n = notice_of(&pair.host[0], id, CFDP_TOLD_FINISHED);
        struct slice rest = slice_of(n->responses, n->responses_len);
        ck_assert(cfdp_tlv_next(&rest, &tlv) && cfdp_response_parse(tlv.value, &r));
        ck_assert_uint_eq(r.status, round == 0 ? 0 : round == 1 ? 1 : CFDP_NOT_PERFORMED);
        ck_assert(cfdp_tlv_next(&rest, &tlv) && cfdp_response_parse(tlv.value, &r));
        ck_assert_uint_eq(r.status, round == 0 ? 0 : CFDP_NOT_PERFORMED);
        end();
    }
}
END_TEST

static struct cfdp_id ask_file(const char *name)
{
    uint8_t room[128];
    struct writer w = writer_of(room, sizeof room);
    const struct cfdp_message m = {
        .kind = CFDP_PROXY_PUT, .entity = 1, .first = text(name), .second = text("mine")};
    cfdp_message_write(&w, &m);
    return put_options(0, &w);
}

static const struct cfdp_notice *answer_to(const struct host *h, struct cfdp_id origin,
                                           enum cfdp_notice_kind kind)
{
    for (size_t i = 0; i < h->told_len; i++)
        if (h->told[i].kind == kind && h->told[i].n.has_origin &&
            cfdp_id_same(h->told[i].n.origin, origin))
            return &h->told[i].n;
    return NULL;
}

START_TEST(proxy_put)
{
    begin();
    pair.loss = 0.1;
    struct cfdp_id id = ask_file("theirs");
    ck_assert(run_to_end(&pair, 600 * TICK_S));
    ck_assert_uint_eq(pair.host[0].placed_len, 1);
    ck_assert_str_eq(pair.host[0].placed[0].name, "mine");
    const struct cfdp_notice *n = answer_to(&pair.host[0], id, CFDP_TOLD_FINISHED);
    ck_assert(n != NULL && n->condition == CFDP_NO_ERROR && !n->is_sender);
    n = answer_to(&pair.host[0], id, CFDP_TOLD_PROXY);
    ck_assert(n != NULL && n->condition == CFDP_NO_ERROR && n->status == CFDP_FILE_RETAINED);
    id = ask_file("missing");
    ck_assert(run_to_end(&pair, pair.now + 600 * TICK_S));
    n = answer_to(&pair.host[0], id, CFDP_TOLD_PROXY);
    ck_assert(n != NULL && n->condition == CFDP_FILESTORE && n->incomplete);
    ck_assert_uint_eq(pair.host[0].placed_len, 1);
    end();
}
END_TEST

START_TEST(proxy_put_without_permission)
{
    pair_init(&pair, 1);
    pair.host[1].peer.permissions = CFDP_MAY_PUT;
    pair_start(&pair);
    const struct cfdp_id id = ask_file("theirs");
    ck_assert(run_to_end(&pair, 60 * TICK_S));
    const struct cfdp_notice *n = answer_to(&pair.host[0], id, CFDP_TOLD_PROXY);
    ck_assert(n != NULL && n->condition == CFDP_FILESTORE);
    ck_assert_uint_eq(pair.host[0].placed_len, 0);
    ck_assert_uint_eq(cfdp_counts(pair.host[1].e)->refused, 1);
    end();
}
END_TEST

START_TEST(directory_listing)
{
    for (unsigned round = 0; round < 2; round++) {
        uint8_t room[128];
        struct writer w = writer_of(room, sizeof room);
        const struct cfdp_message m = {.kind = CFDP_LISTING_REQUEST,
                                       .first = text(round == 0 ? "folder" : "missing"),
                                       .second = text("list")};
        begin();
        cfdp_message_write(&w, &m);
        const struct cfdp_id id = put_options(0, &w);
        ck_assert(run_to_end(&pair, 60 * TICK_S));
        const struct cfdp_notice *n = answer_to(&pair.host[0], id, CFDP_TOLD_LISTING);
        ck_assert(n != NULL && n->incomplete == (round == 1));
        ck_assert_uint_eq(pair.host[0].placed_len, round == 0 ? 1 : 0);
        if (round == 0)
            ck_assert_uint_eq(pair.host[0].placed[0].size, 100);
        end();
    }
}
END_TEST

START_TEST(both_directions)
{
    begin();
    pair.loss = 0.05;
    struct cfdp_id ids[20];
    for (size_t i = 0; i < 20; i++) {
        char name[8];
        snprintf(name, sizeof name, "f%zu", i);
        ids[i] = put_file(&pair, i % 2, name, CFDP_CLASS_2);
    }
    ck_assert(run_to_end(&pair, 600 * TICK_S));
    for (size_t i = 0; i < 20; i++)
        assert_finished(&pair, ids[i], CFDP_NO_ERROR);
    end();
}
END_TEST

START_TEST(requests_refused)
{
    char name[300];
    struct cfdp_id id = {1, 99};
    struct cfdp_status status;
    begin();
    struct cfdp_put put = {.destination = 3, .source_name = "source", .destination_name = "a"};
    ck_assert_int_eq(cfdp_put(pair.host[0].e, &put, 0, &id), HELIO_ENOENT);
    put.destination = 2;
    put.source_name = "missing";
    ck_assert_int_eq(cfdp_put(pair.host[0].e, &put, 0, &id), HELIO_ENOENT);
    memset(name, 'n', sizeof name - 1);
    name[299] = '\0';
    put.source_name = name;
    ck_assert_int_eq(cfdp_put(pair.host[0].e, &put, 0, &id), HELIO_EINVAL);
    put.source_name = "source";
    put.options = text("\x04\x01\xff");
    ck_assert_int_eq(cfdp_put(pair.host[0].e, &put, 0, &id), HELIO_EINVAL);
    ck_assert(is_idle(&pair));
    ck_assert_int_eq(cfdp_suspend(pair.host[0].e, id, 0), HELIO_ENOENT);
    ck_assert_int_eq(cfdp_cancel(pair.host[0].e, id, 0), HELIO_ENOENT);
    ck_assert_int_eq(cfdp_prompt(pair.host[0].e, id, false, 0), HELIO_ENOENT);
    ck_assert(!cfdp_report(pair.host[0].e, id, &status));
    id = put_file(&pair, 0, "a", CFDP_CLASS_1);
    ck_assert(cfdp_report(pair.host[0].e, id, &status));
    ck_assert(status.is_sender && status.size == 10000 && status.class_ == CFDP_CLASS_1);
    ck_assert_int_eq(cfdp_prompt(pair.host[0].e, id, false, 0), HELIO_EINVAL);
    end();
}
END_TEST

SUITE(cfdp_engine, t)
{
    tcase_add_test(t, class_1);
    tcase_add_test(t, class_1_with_closure);
    tcase_add_test(t, class_2);
    tcase_add_test(t, checksums_and_sizes);
    tcase_add_test(t, each_pdu_is_lost);
    tcase_add_test(t, immediate_naks);
    tcase_add_test(t, nobody_answers);
    tcase_add_test(t, sender_falls_silent);
    tcase_add_test(t, nak_limit);
    tcase_add_test(t, check_limit);
    tcase_add_test(t, late_data_of_class_1);
    tcase_add_test(t, wrong_checksum);
    tcase_add_test(t, file_store_refuses);
    tcase_add_test(t, handlers);
    tcase_add_test(t, suspend_and_resume);
    tcase_add_test(t, link_is_down);
    tcase_add_test(t, cancel);
    tcase_add_test(t, prompt_and_keep_alive);
    tcase_add_test(t, filestore_requests);
    tcase_add_test(t, proxy_put);
    tcase_add_test(t, proxy_put_without_permission);
    tcase_add_test(t, directory_listing);
    tcase_add_test(t, both_directions);
    tcase_add_test(t, requests_refused);
}
