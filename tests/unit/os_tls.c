/* SPDX-License-Identifier: Apache-2.0 */
/* TLS streams: all bytes in order whatever pieces they come in, back-pressure, ends at every octet,
 * and users that close. */
#include "tests/unit/suite.h"
#include "tests/unit/tls_scene.h"

/* ---- what succeeds ---- */

START_TEST(names_of_both)
{
    struct scene s;
    struct tls_peer p;
    scene_init(&s, &of_two, &of_one);
    begin_both(&s, (struct tls_setup){.verify = true, .host = "two.example"});
    run_scene(&s);
    ck_assert_uint_eq(s.client.writable, 1);
    ck_assert_uint_eq(s.server.writable, 1);
    ck_assert(tls_peer(s.client.stream, &p));
    ck_assert_str_eq(p.version, "TLSv1.3");
    ck_assert_str_eq(p.cipher, "TLS_AES_128_GCM_SHA256");
    ck_assert(p.certificate && p.verified && p.unverified == NULL);
    ck_assert_str_eq(p.subject, "/CN=server");
    static const struct tls_name want[] = {{TLS_BUNDLE_EID, "ipn:2.0"},
                                           {TLS_BUNDLE_EID, "dtn://two/"},
                                           {TLS_DNS, "two.example"},
                                           {TLS_IP, "10.0.0.2"},
                                           {TLS_IP, "2001:db8::2"}};
    ck_assert_uint_eq(p.names_len, 5);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_int_eq(p.names[i].kind, want[i].kind);
        ck_assert_str_eq(p.names[i].text, want[i].text);
    }
    struct stream *c = s.client.stream;
    struct address at;
    ck_assert_int_eq(tls_match_host(c, "Two.Example"), TLS_SUCCESS);
    ck_assert_int_eq(tls_match_host(c, "one.example"), TLS_FAILURE);
    ck_assert_int_eq(address_parse("10.0.0.2:4556", &at), 0);
    ck_assert_int_eq(tls_match_address(c, &at), TLS_SUCCESS);
    ck_assert_int_eq(address_parse("[::ffff:10.0.0.2]:1", &at), 0);
    ck_assert_int_eq(tls_match_address(c, &at), TLS_SUCCESS);
    ck_assert_int_eq(address_parse("[2001:db8::2]:4556", &at), 0);
    ck_assert_int_eq(tls_match_address(c, &at), TLS_SUCCESS);
    ck_assert_int_eq(address_parse("[2001:db8::3]:4556", &at), 0);
    ck_assert_int_eq(tls_match_address(c, &at), TLS_FAILURE);
    ck_assert(tls_peer(s.server.stream, &p) && p.names_len == 1);
    ck_assert_int_eq(tls_match_address(s.server.stream, &at), TLS_ABSENT);
    ck_assert_int_eq(tls_match_host(s.server.stream, "one"), TLS_ABSENT);
    ck_assert_str_eq(tls_match_text(TLS_FAILURE), "failure");
    ck_assert_str_eq(tls_why(c), "");
    scene_fini(&s);
}
END_TEST

/* All bytes both ways: in pieces of any size on the wire, in the writes, in the user's room. */
START_TEST(all_bytes)
{
    static const struct {
        size_t piece, room, part, user_room, bytes;
    } tries[] = {
        {1 << 20, 1 << 20, 0, 0, 3000000}, {1, 1 << 20, 0, 0, 40000},    {1 << 20, 1, 0, 0, 40000},
        {1 << 20, 1 << 20, 1, 0, 3000},    {1 << 20, 9000, 0, 1, 40000}, {1, 1, 13, 3, 4000},
        {777, 50000, 16385, 4096, 500000},
    };
    struct scene s;
    scene_init(&s, &of_two, &of_one);
    s.a.piece = s.b.piece = tries[_i].piece;
    s.a.room = s.b.room = tries[_i].room;
    s.client.part = s.server.part = tries[_i].part;
    s.client.room_len = s.server.room_len = tries[_i].user_room;
    s.client.to_write = tries[_i].bytes;
    s.server.to_write = tries[_i].bytes / 2 + 1;
    begin_both(&s, strict);
    run_scene(&s);
    ck_assert_uint_eq(s.server.come, tries[_i].bytes);
    ck_assert_uint_eq(s.client.come, tries[_i].bytes / 2 + 1);
    ck_assert(!s.client.wrong && !s.server.wrong);
    close_side(&s.client);
    run_scene(&s);
    ck_assert_uint_eq(s.server.ended, 1);
    ck_assert_int_eq(s.server.error, 0);
    ck_assert(!s.server.cut || s.a.room == 1); /* close_notify is offered once */
    scene_fini(&s);
}
END_TEST

/* A slow reader: what the other can write is limited, and nothing is lost when it reads on. */
START_TEST(back_pressure)
{
    struct scene s;
    scene_init(&s, &of_two, &of_one);
    s.a.room = s.b.room = 100000;
    s.client.to_write = 5000000;
    begin_both(&s, strict);
    stream_read(s.server.stream, false);
    run_scene(&s);
    ck_assert(s.client.writable >= 1 && s.server.writable == 1);
    ck_assert_uint_eq(s.server.come, 0);
    ck_assert_uint_lt(s.client.written, TLS_HELD_MAX + 100000);
    for (unsigned i = 0; i < 3; i++) { /* on and off: a little at a time */
        size_t before = s.server.come;
        s.server.room_len = 100;
        stream_read(s.server.stream, true);
        if (virtual_due(&s.v) != TICK_NEVER)
            virtual_fire(&s.v);
        (void)wire_carry(&s.a);
        stream_read(s.server.stream, false);
        run_scene(&s);
        ck_assert_uint_gt(s.server.come, before);
        ck_assert_uint_lt(s.server.come, s.client.to_write);
    }
    s.server.room_len = sizeof s.server.room;
    stream_read(s.server.stream, true);
    run_scene(&s);
    ck_assert_uint_eq(s.server.come, 5000000);
    ck_assert(!s.server.wrong);
    scene_fini(&s);
}
END_TEST

START_TEST(what_came_early)
{
    struct scene s;
    struct stream *out;
    uint8_t hello[4096];
    scene_init(&s, &of_two, &of_one);
    s.server.tls = tls_of(&s, &s.server_cert, &s.ca);
    s.client.tls = tls_of(&s, &s.client_cert, &s.ca);
    ck_assert_int_eq(tls_stream(&out, s.client.tls, &s.v.world, &s.a.base, &strict), 0);
    use_stream(&s.client, out);
    virtual_fire(&s.v);
    size_t len = s.a.sent_len;
    ck_assert(len > 100 && len < sizeof hello);
    memcpy(hello, s.a.sent, len);
    s.a.carried = len;
    const struct tls_setup server = {.server = true, .verify = true, .early = {hello, len}};
    ck_assert_int_eq(tls_stream(&out, s.server.tls, &s.v.world, &s.b.base, &server), 0);
    use_stream(&s.server, out);
    run_scene(&s);
    ck_assert(s.client.writable == 1 && s.server.writable == 1);
    scene_fini(&s);
}
END_TEST

/* The peer's own certificate may be what is trusted. */
START_TEST(trusted_itself)
{
    struct scene s;
    scene_init(&s, &of_two, &of_one);
    s.server.tls = tls_of(&s, &s.server_cert, &s.client_cert);
    s.client.tls = tls_of(&s, &s.client_cert, &s.server_cert);
    begin_both(&s, strict);
    run_scene(&s);
    ck_assert(s.client.writable == 1 && s.server.writable == 1);
    scene_fini(&s);
}
END_TEST

/* Nobody need be verified: then nothing that a certificate names counts. */
START_TEST(unverified)
{
    struct scene s;
    struct tls_peer p;
    scene_init(&s, &of_two, &of_one);
    struct pair other = make_pair("another CA", &(struct wish){.ca = true});
    s.client.tls = tls_of(&s, _i == 0 ? &s.client_cert : NULL, _i == 0 ? &other : NULL);
    begin_both(&s, (struct tls_setup){.verify = false});
    run_scene(&s);
    ck_assert(tls_peer(s.client.stream, &p));
    ck_assert(p.certificate && !p.verified && p.names_len == 0);
    ck_assert_str_eq(p.unverified, "unable to get local issuer certificate");
    ck_assert_int_eq(tls_match_host(s.client.stream, "two.example"), TLS_ABSENT);
    ck_assert(tls_peer(s.server.stream, &p));
    ck_assert_int_eq(p.verified, _i == 0);
    if (_i == 1)
        ck_assert_str_eq(p.unverified, "it shows none");
    drop_pair(&other);
    scene_fini(&s);
}
END_TEST

/* ---- ends ---- */

/* The wire ends behind each octet of the client, then of the server: each side is told once. */
START_TEST(cut_anywhere)
{
    size_t total = SIZE_MAX;
    unsigned open = 0;
    for (size_t at = 0; at < total; at += at < 30 || total - at < 30 ? 1 : 17) {
        struct scene s;
        scene_init(&s, &of_two, &of_one);
        s.client.to_write = s.server.to_write = 100;
        struct wire_end *e = _i == 0 ? &s.a : &s.b;
        e->cut = at;
        e->piece = 29;
        begin_both(&s, strict);
        run_scene(&s);
        struct side *far = _i == 0 ? &s.server : &s.client;
        if (far->ended == 0 && e->sent_len <= at && total - at < 8) {
            scene_fini(&s); /* signatures are of several lengths: this exchange was shorter */
            continue;
        }
        ck_assert_uint_eq(far->ended, 1);
        ck_assert(!far->wrong && far->cut);
        ck_assert_int_eq(far->error, far->writable > 0 ? 0 : HELIO_EFORMAT);
        if (far->writable == 0)
            ck_assert_str_eq(far->why, "the peer ended the connection in the handshake");
        open += far->writable;
        if (total == SIZE_MAX && at == 0) { /* how many there are */
            struct scene whole;
            scene_init(&whole, &of_two, &of_one);
            whole.client.to_write = whole.server.to_write = 100;
            begin_both(&whole, strict);
            run_scene(&whole);
            total = _i == 0 ? whole.a.sent_len : whole.b.sent_len;
            scene_fini(&whole);
        }
        scene_fini(&s);
    }
    ck_assert_uint_gt(open, 10);
}
END_TEST

/* One octet of the handshake, or of what follows, is another: never a wrong byte, always an end. */
START_TEST(changed_anywhere)
{
    for (size_t at = 0; at < 2000; at += 31) {
        struct scene s;
        scene_init(&s, &of_two, &of_one);
        s.client.to_write = s.server.to_write = 1000;
        struct wire_end *e = _i == 0 ? &s.a : &s.b;
        begin_both(&s, strict);
        bool changed = false;
        for (bool more = true; more;) {
            if (!changed && e->sent_len > at && e->carried <= at) {
                e->sent[at] ^= (uint8_t)(1 << at % 8);
                changed = true;
            }
            more = virtual_due(&s.v) <= world_now(&s.v.world);
            if (more)
                virtual_fire(&s.v);
            else
                more = wire_carry(&s.a) || wire_carry(&s.b);
        }
        ck_assert(!s.client.wrong && !s.server.wrong);
        if (changed) { /* a session id, a padding: not all is seen, but nothing waits for ever */
            bool whole = s.client.come == 1000 && s.server.come == 1000;
            ck_assert(whole || s.client.ended == 1 || s.server.ended == 1 ||
                      e->sent_len - e->carried == 0);
        }
        scene_fini(&s);
    }
}
END_TEST

/* A user may close in each call it gets. */
START_TEST(close_in_calls)
{
    struct scene s;
    scene_init(&s, &of_two, &of_one);
    s.client.to_write = s.server.to_write = 300000;
    if (_i == 0)
        s.client.close_when_writable = true;
    else if (_i == 1)
        s.server.close_when_writable = true;
    else
        s.client.close_at = 1, s.server.close_at = _i == 2 ? 0 : 100000;
    begin_both(&s, strict);
    run_scene(&s);
    ck_assert(s.client.stream == NULL && s.server.stream == NULL);
    ck_assert(s.a.closed && s.b.closed);
    scene_fini(&s);
}
END_TEST

/* Plain text where TLS should be. */
START_TEST(not_tls)
{
    struct scene s;
    static const char *const texts[] = {"GET / HTTP/1.0\r\n\r\n", "dtn!\4\0\7\0\0\0\0",
                                        "\x16\x03\x01\xff\xff"};
    const struct tls_setup setup = {
        .server = true, .early = slice_of(texts[_i], _i == 2 ? 5 : 11 + (_i == 0 ? 7 : 0))};
    struct stream *out;
    scene_init(&s, &of_two, &of_one);
    s.server.tls = tls_of(&s, &s.server_cert, &s.ca);
    ck_assert_int_eq(tls_stream(&out, s.server.tls, &s.v.world, &s.b.base, &setup), 0);
    use_stream(&s.server, out);
    run_scene(&s);
    ck_assert(s.server.ended == 1 && s.server.error == HELIO_EFORMAT && s.server.why[0] != '\0');
    stream_close(&s.a.base);
    scene_fini(&s);
}
END_TEST

START_TEST(what_is_not_there)
{
    struct scene s;
    struct stream *out;
    scene_init(&s, &of_two, &of_one);
    s.server.tls = tls_of(&s, NULL, &s.ca);
    s.client.tls = tls_of(&s, &s.client_cert, NULL);
    const struct tls_setup server = {.server = true};
    ck_assert_int_eq(tls_stream(&out, s.server.tls, &s.v.world, &s.b.base, &server), HELIO_EINVAL);
    ck_assert_int_eq(tls_stream(&out, s.client.tls, &s.v.world, &s.a.base, &strict), HELIO_EINVAL);
    ck_assert(!s.a.closed && !s.b.closed);
    scene_fini(&s);
}
END_TEST

SUITE(os_tls, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, names_of_both);
    tcase_add_loop_test(t, all_bytes, 0, 7);
    tcase_add_test(t, back_pressure);
    tcase_add_test(t, what_came_early);
    tcase_add_test(t, trusted_itself);
    tcase_add_loop_test(t, unverified, 0, 2);
    tcase_add_loop_test(t, cut_anywhere, 0, 2);
    tcase_add_loop_test(t, changed_anywhere, 0, 2);
    tcase_add_loop_test(t, close_in_calls, 0, 4);
    tcase_add_loop_test(t, not_tls, 0, 3);
    tcase_add_test(t, what_is_not_there);
}
