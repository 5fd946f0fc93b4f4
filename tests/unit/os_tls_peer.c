/* SPDX-License-Identifier: Apache-2.0 */
/* Peers of TLS streams: certificates that will not do, versions, new keys, and what a peer may not
 * do. */
#include "tests/unit/suite.h"
#include "tests/unit/tls_scene.h"

/* ---- certificates that are refused ---- */

static const struct fault {
    struct wish server;
    const char *why;
    bool other_ca;
    bool any_purpose;
} faults[] = {
    {{.names = "DNS:two"}, "unable to get local issuer certificate", .other_ca = true},
    {{.from = -9, .until = -1}, "certificate has expired", false, false},
    {{.from = 1, .until = 9}, "certificate is not yet valid", false, false},
    {{.purpose = "serverAuth,clientAuth"},
     "its extended key usage does not allow bundle security",
     0,
     0},
    {{.purpose = "serverAuth,1.3.6.1.5.5.7.3.35"}, NULL, false, false},
    {{.purpose = "clientAuth"}, NULL, false, .any_purpose = true},
    {{.use = "keyAgreement"}, "its key usage does not allow digital signatures", false, false},
    {{.use = "keyAgreement,digitalSignature"}, NULL, false, false},
    {{.version1 = true}, "it is not of version 3", false, false},
};

START_TEST(certificates)
{
    const struct fault *f = &faults[_i];
    struct scene s;
    char said[TLS_WHY_MAX];
    scene_init(&s, &f->server, &of_one);
    struct pair other = make_pair("another CA", &(struct wish){.ca = true});
    s.client.tls = tls_of(&s, &s.client_cert, f->other_ca ? &other : &s.ca);
    begin_both(&s, (struct tls_setup){.verify = true, .any_purpose = f->any_purpose});
    run_scene(&s);
    if (f->why == NULL) {
        ck_assert(s.client.writable == 1 && s.server.writable == 1);
    } else { /* told on both sides, with RFC 9174's alert */
        snprintf(said, sizeof said, "the peer's certificate: %s", f->why);
        ck_assert_int_eq(s.client.error, HELIO_EFORMAT);
        ck_assert(strncmp(s.client.why, said, strlen(said)) == 0);
        ck_assert_int_eq(strstr(s.client.why, "; the trusted certificates are in /") != NULL,
                         f->other_ca);
        ck_assert_int_eq(s.server.error, HELIO_EFORMAT);
        ck_assert_str_eq(s.server.why, "the peer refuses: bad certificate");
        ck_assert(s.client.writable == 0 && s.client.ended == 1 && s.server.ended == 1);
    }
    drop_pair(&other);
    scene_fini(&s);
}
END_TEST

/* A peer whose own certificate is trusted, and could issue others (as openssl req -x509 makes it):
 * 0 it shows that one; 1 it issued one for another node; 2 that is allowed; 3 as 1, by a URI; 4 the
 * trusted one names no node: it is a CA. */
START_TEST(pinned)
{
    static const char two[] = "otherName:1.3.6.1.5.5.7.8.11;IA5:ipn:2.0";
    static const char three[] = "otherName:1.3.6.1.5.5.7.8.11;IA5:ipn:3.0";
    static const char *const of[] = {two, two, two, "URI:dtn://two/", "DNS:two"};
    const bool good = _i == 0 || _i == 2 || _i == 4;
    struct scene s;
    scene_init(&s, &of_two, &of_one);
    struct pair peer = make_pair("two", &(struct wish){.names = of[_i], .ca = true});
    struct pair issued = make_pair("three", &(struct wish){.names = three, .by = &peer});
    s.server.tls = tls_of(&s, _i == 0 ? &peer : &issued, &s.ca);
    s.client.tls = tls_of(&s, &s.client_cert, &peer);
    begin_both(&s, (struct tls_setup){.verify = true, .nodes_issue = _i == 2});
    run_scene(&s);
    ck_assert_uint_eq(s.client.writable, good);
    if (!good) {
        ck_assert_int_eq(s.client.error, HELIO_EFORMAT);
        ck_assert_str_eq(s.client.why,
                         "the peer's certificate: it was issued by a node's certificate");
        ck_assert_str_eq(s.server.why, "the peer refuses: bad certificate");
    }
    drop_pair(&peer);
    drop_pair(&issued);
    scene_fini(&s);
}
END_TEST

/* The client's is refused: in TLS 1.3 it learns that after its own handshake. */
START_TEST(client_refused)
{
    struct scene s;
    static const struct wish old = {.from = -9, .until = -1};
    scene_init(&s, &of_two, &old);
    s.client.tls = tls_of(&s, _i == 0 ? &s.client_cert : NULL, &s.ca);
    s.client.to_write = 100000;
    begin_both(&s, strict);
    run_scene(&s);
    ck_assert_int_eq(s.server.error, HELIO_EFORMAT);
    ck_assert_int_eq(s.client.error, HELIO_EFORMAT);
    ck_assert(s.server.writable == 0 && s.server.come == 0);
    ck_assert_str_eq(s.server.why, _i == 0 ? "the peer's certificate: certificate has expired"
                                           : "peer did not return a certificate");
    ck_assert_str_eq(s.client.why, _i == 0 ? "the peer refuses: bad certificate"
                                           : "the peer refuses: tlsv13 alert certificate required");
    scene_fini(&s);
}
END_TEST

START_TEST(too_many_names)
{
    struct scene s;
    char names[4000] = "";
    size_t len = 0;
    for (int i = 0; i <= TLS_NAMES_MAX - _i; i++)
        len += (size_t)snprintf(names + len, sizeof names - len, "%sDNS:n%d", i > 0 ? "," : "", i);
    scene_init(&s, &(struct wish){.names = names}, &of_one);
    begin_both(&s, strict);
    run_scene(&s);
    if (_i == 0) {
        ck_assert_int_eq(s.client.error, HELIO_EFORMAT);
        ck_assert_str_eq(s.client.why, "the peer's certificate has more than 64 names");
    } else {
        ck_assert_int_eq(tls_match_host(s.client.stream, "n63"), TLS_SUCCESS);
    }
    scene_fini(&s);
}
END_TEST

/* Names that are none: of another form, another type, not printable, too long. */
START_TEST(odd_names)
{
    struct scene s;
    struct tls_peer p;
    char names[2000] = "otherName:1.3.6.1.5.5.7.8.11;UTF8:ipn:2.0,otherName:1.2.3.4;IA5:ipn:3.0,"
                       "DNS:with space,email:a@b.example,DNS:two.example,DNS:";
    size_t len = strlen(names);
    memset(names + len, 'x', TLS_NAME_MAX + 1 - (size_t)_i);
    scene_init(&s, &(struct wish){.names = names}, &of_one);
    begin_both(&s, strict);
    run_scene(&s);
    ck_assert(tls_peer(s.client.stream, &p) && p.verified);
    ck_assert_uint_eq(p.names_len, 1 + (size_t)_i);
    ck_assert(p.names[0].kind == TLS_DNS && strcmp(p.names[0].text, "two.example") == 0);
    scene_fini(&s);
}
END_TEST

/* A node without a clock cannot tell an old certificate. */
START_TEST(no_clock)
{
    struct scene s;
    scene_init(&s, &(struct wish){.from = -9, .until = -1}, &of_one);
    s.v.wall = 0;
    begin_both(&s, strict);
    run_scene(&s);
    ck_assert(s.client.writable == 1 && s.server.writable == 1);
    scene_fini(&s);
}
END_TEST

/* ---- OpenSSL as the peer ---- */

START_TEST(versions)
{
    static const struct {
        int version;
        const char *name;
    } tries[] = {{TLS1_3_VERSION, "TLSv1.3"}, {TLS1_2_VERSION, "TLSv1.2"}, {TLS1_1_VERSION, NULL}};
    for (int server = 0; server < 2; server++) {
        struct scene s;
        struct raw r;
        struct stream *out;
        struct tls_peer p;
        scene_init(&s, &of_two, &of_one);
        s.server.tls = tls_of(&s, &s.server_cert, &s.ca);
        s.server.to_write = 300000;
        raw_init(&r, &s.a, server == 1, &s.client_cert, tries[_i].version, tries[_i].version);
        const struct tls_setup setup = {.server = server == 0, .verify = true};
        ck_assert_int_eq(tls_stream(&out, s.server.tls, &s.v.world, &s.b.base, &setup), 0);
        use_stream(&s.server, out);
        run_scene(&s);
        if (tries[_i].name != NULL) {
            ck_assert(tls_peer(out, &p) && p.verified);
            ck_assert_str_eq(p.version, tries[_i].name);
            ck_assert_str_eq(p.names[0].text, "ipn:1.0");
            ck_assert_uint_eq(r.come, 300000);
            ck_assert(SSL_session_reused(r.ssl) == 0);
            close_side(&s.server); /* close_notify: SSL_ERROR_ZERO_RETURN */
            run_scene(&s);
            ck_assert_int_eq(r.result, SSL_ERROR_ZERO_RETURN);
        } else {
            ck_assert(s.server.ended == 1 && s.server.error == HELIO_EFORMAT && !r.shaken);
        }
        raw_fini(&r);
        scene_fini(&s);
    }
}
END_TEST

/* TLS 1.2's renegotiation is refused, and the session goes on. */
START_TEST(renegotiation)
{
    struct scene s;
    struct raw r;
    struct stream *out;
    scene_init(&s, &of_two, &of_one);
    s.server.tls = tls_of(&s, &s.server_cert, &s.ca);
    raw_init(&r, &s.a, false, &s.client_cert, TLS1_2_VERSION, TLS1_2_VERSION);
    const struct tls_setup setup = {.server = true, .verify = true};
    ck_assert_int_eq(tls_stream(&out, s.server.tls, &s.v.world, &s.b.base, &setup), 0);
    use_stream(&s.server, out);
    run_scene(&s);
    ck_assert(r.shaken && s.server.writable == 1);
    size_t before = s.b.sent_len;
    ck_assert_int_eq(SSL_renegotiate(r.ssl), 1);
    (void)SSL_do_handshake(r.ssl);
    raw_flush(&r);
    run_scene(&s);
    /* an alert at most, no second handshake */
    ck_assert_uint_lt(s.b.sent_len - before, 100);
    ck_assert_uint_eq(s.server.writable, 1);
    raw_fini(&r);
    run_scene(&s);
    scene_fini(&s);
}
END_TEST

/* Our keys change before they are worn, and the peer's may. */
START_TEST(new_keys)
{
    struct scene s;
    struct raw r;
    struct stream *out;
    scene_init(&s, &of_two, &of_one);
    s.server.tls = tls_of(&s, &s.server_cert, &s.ca);
    s.server.to_write = 1000000;
    raw_init(&r, &s.a, false, &s.client_cert, 0, 0);
    const struct tls_setup setup = {.server = true, .rekey_bytes = 100000};
    ck_assert_int_eq(tls_stream(&out, s.server.tls, &s.v.world, &s.b.base, &setup), 0);
    use_stream(&s.server, out);
    run_scene(&s);
    ck_assert_uint_eq(r.come, 1000000);
    ck_assert(r.key_updates >= 9 && r.key_updates <= 12);
    const unsigned before = r.key_updates;
    ck_assert_int_eq(SSL_key_update(r.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
    uint8_t bytes[10];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = byte_at(i);
    ck_assert_int_eq(SSL_write(r.ssl, bytes, sizeof bytes), sizeof bytes);
    raw_flush(&r);
    run_scene(&s);
    ck_assert(s.server.come == 10 && !s.server.wrong);
    s.server.to_write += 10; /* the answer goes before what we write next */
    write_more(&s.server);
    run_scene(&s);
    ck_assert_uint_eq(r.come, 1000010);
    ck_assert_uint_eq(r.key_updates, before + 1); /* as it asked */
    raw_fini(&r);
    run_scene(&s);
    scene_fini(&s);
}
END_TEST

/* A peer that asks for new keys for ever and reads nothing: bounded, and ended by OpenSSL. */
START_TEST(flood_of_key_updates)
{
    struct scene s;
    struct raw r;
    struct stream *out;
    scene_init(&s, &of_two, &of_one);
    s.server.tls = tls_of(&s, &s.server_cert, &s.ca);
    raw_init(&r, &s.a, false, &s.client_cert, 0, 0);
    const struct tls_setup setup = {.server = true};
    ck_assert_int_eq(tls_stream(&out, s.server.tls, &s.v.world, &s.b.base, &setup), 0);
    use_stream(&s.server, out);
    run_scene(&s);
    stream_read(&s.a.base, false);
    s.b.room = 1000;
    for (int i = 0; i < 20000 && s.server.ended == 0; i++) {
        ck_assert_int_eq(SSL_key_update(r.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
        (void)SSL_do_handshake(r.ssl);
        if (i % 50 == 0) /* and a byte, so that it seems to be about something */
            (void)SSL_write(r.ssl, "\0", 1);
        raw_flush(&r);
        run_scene(&s);
    }
    ck_assert_uint_lt(s.b.sent_len - s.b.carried, 1001);
    raw_fini(&r);
    run_scene(&s);
    scene_fini(&s);
}
END_TEST

SUITE(os_tls_peer, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, certificates, 0, sizeof faults / sizeof *faults);
    tcase_add_loop_test(t, pinned, 0, 5);
    tcase_add_loop_test(t, client_refused, 0, 2);
    tcase_add_loop_test(t, too_many_names, 0, 2);
    tcase_add_loop_test(t, odd_names, 0, 2);
    tcase_add_test(t, no_clock);
    tcase_add_loop_test(t, versions, 0, 3);
    tcase_add_test(t, renegotiation);
    tcase_add_test(t, new_keys);
    tcase_add_test(t, flood_of_key_updates);
}
