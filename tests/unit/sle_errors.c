/* SPDX-License-Identifier: Apache-2.0 */
/* What a provider answers to a peer that errs: octets by hand against one link. The expected ends
 * are those of the reference implementation. */
#include "tests/unit/sle_pair.h"
#include "tests/unit/suite.h"

#define CONTEXT "020000000000000c 49535031 00000001 001e 0003"
#define NO_OCTET (-1)

struct probe {
    struct sle *sle;
    struct sle_instance *instance, *other;
    struct sle_link *link;
    tick now;
    uint8_t out[65536]; /* what was answered */
    size_t out_len;
    struct sle_notice over;
    bool is_over;
};

static struct probe probe;

static void probe_open(enum sle_auth_level level)
{
    static const char *const initiators[] = {"USER"}, *const others[] = {"OTHER"};
    struct sle_provider_config c = {.id = RAF_ID,
                                    .initiators = initiators,
                                    .initiator_count = 1,
                                    .versions = 1u << 4 | 1u << 5};
    struct sle_provider_config d = {
        .id = RAF_TIMELY_ID, .initiators = others, .initiator_count = 1};
    memset(&probe, 0, sizeof probe);
    probe.now = TICK_S;
    probe.sle = pair_engine("PROVIDER", "USER", level);
    struct sle_peer other = {.who = pair_identity("OTHER", "x")};
    ck_assert_int_eq(sle_peer_set(probe.sle, &other), 0);
    ck_assert_int_eq(sle_provider_add(probe.sle, &c, &probe.instance), 0);
    ck_assert_int_eq(sle_provider_add(probe.sle, &d, &probe.other), 0);
    probe.link = sle_accept(probe.sle, probe.now);
}

static void probe_expire(void)
{
    struct sle_due due;
    while (sle_expire(probe.sle, &due, probe.now))
        ck_assert_ptr_eq(due.link, probe.link);
    sle_check_served(probe.sle, probe.now);
}

static void probe_close(void)
{
    sle_check(probe.sle);
    sle_free(probe.sle);
}

static void probe_pump(void)
{
    struct sle_notice n;
    struct slice part;
    while (sle_link_poll(probe.link, &n, probe.now))
        if (n.kind == SLE_OVER) {
            probe.over = n;
            probe.is_over = true;
        }
    while (sle_link_output(probe.link, &part, 1, probe.now) > 0) {
        memcpy(probe.out + probe.out_len, part.data, part.len);
        probe.out_len += part.len;
        sle_link_wrote(probe.link, part.len, probe.now);
    }
    sle_check(probe.sle);
}

static void send_octets(const uint8_t *octets, size_t len)
{
    while (len > 0 && sle_link_reads(probe.link)) {
        size_t room;
        uint8_t *p = sle_link_space(probe.link, &room);
        size_t n = len < room ? len : room;
        memcpy(p, octets, n);
        sle_link_fed(probe.link, n, probe.now);
        octets += n;
        len -= n;
        probe_pump();
    }
}

static void send_hex(const char *hex)
{
    uint8_t octets[512];
    send_octets(octets, read_hex(hex, octets));
}

static void send_body(const char *hex)
{
    uint8_t octets[520];
    size_t n = read_hex(hex, octets + 8);
    sle_tml_write_header(SLE_TML_PDU, (uint32_t)n, octets);
    send_octets(octets, n + 8);
}

static struct sle_pdu bind_pdu(void)
{
    struct sle_pdu p = {.kind = SLE_PDU_BIND};
    p.u.bind =
        (struct sle_bind){.initiator = "USER", .port = "ANY", .service = SLE_RAF, .version = 4};
    ck_assert_int_eq(sle_siid_parse(RAF_ID, &p.u.bind.instance, NULL, NULL), 0);
    return p;
}

static void send_pdu(const struct sle_pdu *p)
{
    static const struct sle_dialect d = {SLE_RAF, SLE_FROM_USER, 4, false};
    uint8_t octets[1024];
    size_t n = sle_pdu_write(&d, p, octets + 8, sizeof octets - 8, NULL);
    sle_tml_write_header(SLE_TML_PDU, (uint32_t)n, octets);
    send_octets(octets, n + 8);
}

static void probe_bound(void)
{
    struct sle_pdu p = bind_pdu();
    probe_open(SLE_AUTH_NONE);
    send_hex(CONTEXT);
    send_pdu(&p);
    ck_assert_int_eq(sle_link_state(probe.link), SLE_READY);
    probe.out_len = 0;
}

static void start_service(void)
{
    send_body("a0 0c 8000 020101 8000 8000 020102");
}

/* The end: FIN without a word, or the urgent octet. */
static void assert_end(int octet)
{
    ck_assert(probe.is_over);
    if (octet == NO_OCTET) {
        ck_assert_int_eq(sle_link_stream(probe.link), SLE_STREAM_CLOSE);
    } else {
        ck_assert_int_eq(sle_link_stream(probe.link), SLE_STREAM_ABORT);
        ck_assert_uint_eq(sle_link_abort_octet(probe.link), (unsigned)octet);
    }
    ck_assert_ptr_null(sle_instance_link(probe.instance));
    probe_close();
}

static void assert_refused(const struct sle_pdu *p, uint8_t diagnostic)
{
    static const struct sle_dialect d = {SLE_RAF, SLE_FROM_PROVIDER, 4, false};
    struct sle_pdu answer;
    send_pdu(p);
    ck_assert_uint_gt(probe.out_len, 8);
    ck_assert_int_eq(sle_pdu_read(&d, slice_of(probe.out + 8, probe.out_len - 8), &answer),
                     SLE_PDU_OK);
    ck_assert(answer.kind == SLE_PDU_BIND_RETURN && !answer.u.bind_return.positive);
    ck_assert_uint_eq(answer.u.bind_return.diagnostic, diagnostic);
    ck_assert_uint_eq(answer.credentials.len, 0);
    ck_assert(probe.over.end == SLE_END_REFUSED && probe.over.bind_diag == diagnostic);
    ck_assert_uint_eq(sle_counts(probe.sle)->binds_refused, 1);
    assert_end(NO_OCTET);
}

START_TEST(binds_that_are_refused)
{
    static const struct {
        const char *initiator, *id;
        uint32_t version, service;
        uint8_t diagnostic;
    } cases[] = {
        {"NOBODY", RAF_ID, 4, SLE_RAF, SLE_BIND_ACCESS_DENIED},
        {"USER", RAF_ID, 9, SLE_RAF, SLE_BIND_VERSION},
        {"USER", RAF_ID, 3, SLE_RAF, SLE_BIND_VERSION}, /* not permitted here */
        {"USER", "sagr=A.spack=B.rsl-fg=C.raf=onlc7", 4, SLE_RAF, SLE_BIND_NO_INSTANCE},
        {"USER", RAF_ID, 4, SLE_FCLTU, SLE_BIND_INCONSISTENT_TYPE},
        {"USER", RAF_ID, 4, 13, SLE_BIND_SERVICE_TYPE},
        {"USER", RAF_TIMELY_ID, 4, SLE_RAF, SLE_BIND_NOT_ACCESSIBLE},
        {"OTHER", RAF_ID, 4, SLE_RAF, SLE_BIND_NOT_ACCESSIBLE},
    };
    struct sle_pdu p = bind_pdu();
    probe_open(SLE_AUTH_NONE);
    send_hex(CONTEXT);
    snprintf(p.u.bind.initiator, sizeof p.u.bind.initiator, "%s", cases[_i].initiator);
    ck_assert_int_eq(sle_siid_parse(cases[_i].id, &p.u.bind.instance, NULL, NULL), 0);
    p.u.bind.version = cases[_i].version;
    p.u.bind.service = cases[_i].service;
    assert_refused(&p, cases[_i].diagnostic);
}
END_TEST

START_TEST(bound_already)
{
    struct sle_pdu p = bind_pdu();
    probe_bound();
    struct sle_link *first = probe.link;
    probe.link = sle_accept(probe.sle, probe.now);
    send_hex(CONTEXT);
    send_pdu(&p);
    ck_assert_uint_eq(probe.over.bind_diag, SLE_BIND_ALREADY_BOUND);
    ck_assert_int_eq(sle_link_state(first), SLE_READY);
    ck_assert_ptr_eq(sle_instance_link(probe.instance), first);
    probe_close();
}
END_TEST

START_TEST(before_the_bind)
{
    probe_open(SLE_AUTH_NONE);
    send_hex(CONTEXT);
    start_service();
    ck_assert_uint_eq(probe.out_len, 0);
    assert_end(NO_OCTET);
    probe_open(SLE_AUTH_NONE);
    start_service(); /* before the context */
    assert_end(NO_OCTET);
    probe_open(SLE_AUTH_NONE);
    send_hex("020000000000000c 49535032 00000001 001e 0003");
    assert_end(NO_OCTET);
    probe_open(SLE_AUTH_NONE);
    send_hex("020000000000000c 49535031 00000001 001e 00ff"); /* dead factor 255 */
    assert_end(SLE_ABORT_TML_HEARTBEAT);
    probe_open(SLE_AUTH_NONE);
    send_hex("020000000000000c 49535031 00000001 0000 0000"); /* no heartbeats: accepted */
    ck_assert(!probe.is_over && sle_deadline(probe.sle) == probe.now + 60 * TICK_S);
    probe.now += 60 * TICK_S;
    probe_expire();
    probe_pump();
    ck_assert(probe.is_over && probe.over.abort == SLE_ABORT_TML_ESTABLISH_TIMEOUT);
    ck_assert_int_eq(sle_link_stream(probe.link), SLE_STREAM_RESET);
    probe_close();
}
END_TEST

START_TEST(out_of_place)
{
    static const char *const in_ready[] = {
        "a2058000020101",                   /* STOP */
        "bf65 0b 8000 1a0455534552 800104", /* a BIND return */
        "bf67 04 8000 8000",                /* an UNBIND return */
    };
    static const char *const in_active[] = {
        "a0 0c 8000 020101 8000 8000 020102", /* START */
        "bf66 05 8000 020100",                /* UNBIND */
    };
    for (size_t k = 0; k < 3; k++) {
        probe_bound();
        send_body(in_ready[k]);
        assert_end(SLE_ABORT_PROTOCOL_ERROR);
    }
    for (size_t k = 0; k < 2; k++) {
        probe_bound();
        send_body("a0 0c 8000 020101 8000 8000 020102");
        ck_assert_int_eq(sle_link_state(probe.link), SLE_ACTIVE);
        send_body(in_active[k]);
        assert_end(SLE_ABORT_PROTOCOL_ERROR);
    }
    struct sle_pdu p = bind_pdu();
    probe_bound();
    send_pdu(&p); /* a second BIND */
    assert_end(SLE_ABORT_PROTOCOL_ERROR);
}
END_TEST

START_TEST(undecodable)
{
    static const char *const cases[] = {
        "ae058000020102",      /* unknown tag */
        "a20780000201",        /* truncated */
        "a2808000020102 0000", /* indefinite */
        "a3058000020102",      /* a provider's PDU */
        "a8058000020102",      /* another service's */
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        probe_bound();
        send_body(cases[k]);
        ck_assert_uint_eq(sle_counts(probe.sle)->pdus_bad, 1);
        assert_end(SLE_ABORT_ENCODING_ERROR);
    }
    probe_bound();
    send_body("a0 82000c 8000 020101 8000 8000 020102"); /* more length octets than needed */
    ck_assert_int_eq(sle_link_state(probe.link), SLE_ACTIVE);
    probe_close();
    probe_open(SLE_AUTH_NONE);
    send_hex(CONTEXT);
    send_body("bf64 10 8000 1a09");
    assert_end(SLE_ABORT_ENCODING_ERROR);
}
END_TEST

START_TEST(bad_messages)
{
    probe_bound();
    send_hex("0400000000000000");
    assert_end(SLE_ABORT_TML_BAD_MESSAGE);
    probe_bound();
    send_hex("010000007fffffff");
    assert_end(SLE_ABORT_TML_BAD_MESSAGE);
    probe_bound();
    send_hex(CONTEXT);
    assert_end(SLE_ABORT_TML_PROTOCOL);
    probe_open(SLE_AUTH_NONE); /* nobody who is not bound makes us hold more than 4 KiB */
    send_hex(CONTEXT);
    send_hex("0100000000001001");
    assert_end(SLE_ABORT_TML_BAD_MESSAGE);
}
END_TEST

START_TEST(stop_before_start)
{
    probe_bound();
    send_body("a0 20 8000 020101 a10a 8008 62480446c14803d9 a10a 8008 62480446c14803d8 020102");
    ck_assert_int_eq(sle_link_state(probe.link), SLE_READY);
    assert_hex(probe.out, probe.out_len, "010000000000000c a10a 8000 020101 a103 80017f");
    probe_close();
}
END_TEST

START_TEST(octet_by_octet)
{
    uint8_t all[1024];
    static const struct sle_dialect d = {SLE_RAF, SLE_FROM_USER, 4, false};
    struct sle_pdu p = bind_pdu();
    size_t n = read_hex(CONTEXT, all),
           k = sle_pdu_write(&d, &p, all + n + 8, sizeof all - n - 8, NULL);
    sle_tml_write_header(SLE_TML_PDU, (uint32_t)k, all + n);
    probe_open(SLE_AUTH_NONE);
    for (size_t i = 0; i < n + 8 + k; i++)
        send_octets(all + i, 1);
    ck_assert_int_eq(sle_link_state(probe.link), SLE_READY);
    probe_close();
}
END_TEST

START_TEST(urgent_octet)
{
    probe_bound();
    sle_link_urgent(probe.link, 127,
                    probe.now); /* the end of the stream may come later, or never */
    probe_pump();
    ck_assert(probe.over.end == SLE_END_PEER_ABORT && probe.over.abort == 127);
    assert_end(NO_OCTET);
    probe_bound();
    send_body("9f68 01 02"); /* as some send it */
    ck_assert(probe.over.end == SLE_END_PEER_ABORT && probe.over.abort == 2);
    assert_end(NO_OCTET);
    probe_bound();
    sle_link_closed(probe.link, probe.now);
    probe_pump();
    ck_assert(probe.over.end == SLE_END_CLOSED && sle_counts(probe.sle)->breaks == 1);
    assert_end(NO_OCTET);
}
END_TEST

START_TEST(own_abort)
{
    probe_bound();
    start_service();
    sle_link_abort(probe.link, SLE_ABORT_OPERATIONAL, probe.now);
    ck_assert_uint_eq(sle_link_backlog(probe.link), 0); /* nothing more is written */
    ck_assert_uint_eq(sle_link_abort_octet(probe.link), 2);
    ck_assert_uint_eq(sle_deadline(probe.sle), probe.now + 5 * TICK_S);
    probe.now += 5 * TICK_S;
    probe_expire();
    ck_assert_int_eq(sle_link_stream(probe.link), SLE_STREAM_RESET);
    ck_assert_uint_eq(sle_deadline(probe.sle), TICK_NEVER);
    probe_close();
}
END_TEST

/* Credentials of `who` in a PDU at this time. */
static void sign_pdu(struct sle_pdu *p, const char *password, int64_t seconds, uint8_t *octets)
{
    struct sle_identity who = pair_identity("USER", password);
    struct sle_credentials c;
    struct sle_time at =
        sle_time_of((uint64_t)((int64_t)UNIX_NS + (int64_t)probe.now + seconds * (int64_t)TICK_S));
    ck_assert(sle_credentials_make(&who, SLE_SHA1, pair_hash, NULL, at, 12345678, &c));
    p->credentials = slice_of(octets, sle_credentials_write(&c, octets, SLE_CREDENTIALS_MAX));
}

START_TEST(wrong_credentials)
{
    static const struct {
        const char *password;
        int64_t seconds;
        bool good;
    } cases[] = {{"USER", 0, true},    {"USER", 179, true},   {"USER", -179, true},
                 {"USER", 400, false}, {"USER", -400, false}, {"WRONG", 0, false},
                 {NULL, 0, false}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct sle_pdu p = bind_pdu();
        uint8_t octets[SLE_CREDENTIALS_MAX];
        probe_open(SLE_AUTH_ALL);
        send_hex(CONTEXT);
        if (cases[k].password != NULL)
            sign_pdu(&p, cases[k].password, cases[k].seconds, octets);
        send_pdu(&p);
        ck_assert_uint_eq(sle_counts(probe.sle)->auth_failed, !cases[k].good);
        if (cases[k].good) {
            ck_assert_int_eq(sle_link_state(probe.link), SLE_READY);
            probe_close();
        } else {
            ck_assert_uint_eq(probe.out_len, 0); /* no return */
            ck_assert_int_eq(probe.over.end, SLE_END_AUTH);
            assert_end(NO_OCTET);
        }
    }
}
END_TEST

/* What a peer sees of a refusal, and the work for it. */
struct seen {
    size_t out_len;
    unsigned hashes;
    uint64_t auth_failed, binds_refused;
    enum sle_end end;
    enum sle_stream stream;
};

static struct seen see_bind(const char *initiator, const char *password, int64_t seconds)
{
    struct sle_pdu p = bind_pdu();
    uint8_t octets[SLE_CREDENTIALS_MAX];
    probe_open(SLE_AUTH_ALL);
    send_hex(CONTEXT);
    snprintf(p.u.bind.initiator, sizeof p.u.bind.initiator, "%s", initiator);
    if (password != NULL)
        sign_pdu(&p, password, seconds, octets);
    const unsigned before = pair_hashes;
    send_pdu(&p);
    const struct sle_counts *n = sle_counts(probe.sle);
    const struct seen s = {.out_len = probe.out_len,
                           .hashes = pair_hashes - before,
                           .auth_failed = n->auth_failed,
                           .binds_refused = n->binds_refused,
                           .end = probe.over.end,
                           .stream = sle_link_stream(probe.link)};
    assert_end(NO_OCTET);
    return s;
}

/* Where peers authenticate, nobody learns who is known: the answer is none, and the work the same,
 * also of credentials that are none, or too old. */
START_TEST(unknown_as_wrong)
{
    static const struct {
        const char *password;
        int64_t seconds;
        unsigned hashes;
    } cases[] = {{"WRONG", 0, 1}, {"PROVIDER", 0, 1}, {"WRONG", 400, 0}, {NULL, 0, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const struct seen known = see_bind("USER", cases[k].password, cases[k].seconds),
                          unknown = see_bind("NOBODY", cases[k].password, cases[k].seconds);
        ck_assert(known.out_len == 0 && unknown.out_len == 0);
        ck_assert(known.end == SLE_END_AUTH && unknown.end == SLE_END_AUTH);
        ck_assert(known.stream == unknown.stream);
        ck_assert(known.hashes == cases[k].hashes && unknown.hashes == cases[k].hashes);
        ck_assert(known.auth_failed == 1 && unknown.auth_failed == 1);
        ck_assert(known.binds_refused == 0 && unknown.binds_refused == 0);
    }
}
END_TEST

START_TEST(wrong_credentials_later)
{
    uint8_t octets[SLE_CREDENTIALS_MAX];
    struct sle_pdu p = bind_pdu(), get = {.kind = SLE_PDU_GET, .invoke_id = 1, .u.parameter = 4},
                   unbind = {.kind = SLE_PDU_UNBIND};
    probe_open(SLE_AUTH_ALL);
    send_hex(CONTEXT);
    sign_pdu(&p, "USER", 0, octets);
    send_pdu(&p);
    probe.out_len = 0;
    send_pdu(&get);
    ck_assert(probe.out_len == 0 && !probe.is_over &&
              sle_counts(probe.sle)->ignored == 1); /* passed over in silence */
    sign_pdu(&get, "USER", 0, octets);
    send_pdu(&get);
    ck_assert_uint_gt(probe.out_len, 0);
    probe.out_len = 0;
    sign_pdu(&unbind, "WRONG", 0, octets);
    send_pdu(&unbind);
    ck_assert(probe.out_len == 0 && probe.over.end == SLE_END_AUTH);
    assert_end(NO_OCTET);
    /* Level BIND: what is there too much is not looked at. */
    probe_open(SLE_AUTH_BIND);
    send_hex(CONTEXT);
    sign_pdu(&p, "USER", 0, octets);
    send_pdu(&p);
    sign_pdu(&get, "WRONG", 0, octets);
    probe.out_len = 0;
    send_pdu(&get);
    ck_assert_uint_gt(probe.out_len, 0);
    probe_close();
}
END_TEST

START_TEST(peer_closes_or_we_do)
{
    probe_bound();
    send_body("bf66 05 8000 020100");
    assert_hex(probe.out, probe.out_len, "0100000000000007 bf67 04 8000 8000");
    ck_assert(probe.is_over && probe.over.end == SLE_END_UNBOUND);
    ck_assert_int_eq(sle_link_stream(probe.link), SLE_STREAM_KEEP);
    probe.now = sle_deadline(probe.sle);
    probe_expire();
    ck_assert_int_eq(sle_link_stream(probe.link), SLE_STREAM_CLOSE);
    probe_close();
}
END_TEST

/* Operations without end of a peer that reads nothing. */
START_TEST(answers_that_nobody_reads)
{
    static const uint8_t get[] = {1, 0, 0, 0, 0, 0, 0, 10, 0xa6, 8, 0x80, 0, 2, 1, 1, 2, 1, 4};
    struct sle_notice n;
    size_t room, taken = 0;
    probe_bound();
    for (; sle_link_reads(probe.link); taken++) {
        memcpy(sle_link_space(probe.link, &room), get, sizeof get);
        sle_link_fed(probe.link, sizeof get, probe.now);
        while (sle_link_poll(probe.link, &n, probe.now)) {
        }
        ck_assert_uint_lt(taken, 100000);
    }
    ck_assert_uint_gt(sle_link_backlog(probe.link), 1 << 20);
    ck_assert_uint_lt(sle_link_backlog(probe.link), (1 << 20) + 100);
    struct slice part;
    for (int k = 0; k < 10; k++) {
        sle_link_output(probe.link, &part, 1, probe.now);
        sle_link_wrote(probe.link, part.len, probe.now);
    }
    ck_assert(sle_link_reads(probe.link)); /* and it goes on */
    probe_close();
}
END_TEST

START_TEST(many_links)
{
    struct sle_config c = {.self = pair_identity("PROVIDER", "x"), .links_max = 3};
    struct sle *s = sle_new(&c);
    for (int k = 0; k < 3; k++)
        ck_assert_ptr_nonnull(sle_accept(s, 0));
    ck_assert_ptr_null(sle_accept(s, 0));
    sle_check(s);
    sle_free(s);
}
END_TEST

SUITE(sle_errors, t)
{
    tcase_add_loop_test(t, binds_that_are_refused, 0, 8);
    tcase_add_test(t, bound_already);
    tcase_add_test(t, before_the_bind);
    tcase_add_test(t, out_of_place);
    tcase_add_test(t, undecodable);
    tcase_add_test(t, bad_messages);
    tcase_add_test(t, stop_before_start);
    tcase_add_test(t, octet_by_octet);
    tcase_add_test(t, urgent_octet);
    tcase_add_test(t, own_abort);
    tcase_add_test(t, wrong_credentials);
    tcase_add_test(t, unknown_as_wrong);
    tcase_add_test(t, wrong_credentials_later);
    tcase_add_test(t, peer_closes_or_we_do);
    tcase_add_test(t, answers_that_nobody_reads);
    tcase_add_test(t, many_links);
}
