/* SPDX-License-Identifier: Apache-2.0 */
/* The adapters "stcp" and "mtcp" in a virtual world: links, peers written here, and what their
 * nodes are told. Each test runs with both. */
#include "tests/unit/cla_streamcl_pair.h"
#include "tests/unit/suite.h"

START_TEST(both_ways)
{
    struct pair *p = pair_open(_i);
    for (uint64_t i = 0; i < 16; i++)
        ck_assert_int_eq(give(&p->a, i, 1 + i * 1000), CLA_REASON_NONE);
    ck_assert_int_eq(give(&p->a, 16, 1), CLA_REASON_BUSY);
    ck_assert_int_eq(give(&p->b, 0, 900000), CLA_REASON_NONE); /* more than the stream holds */
    pass(p, TICK_S);
    ck_assert_uint_eq(p->a.outcomes[CLA_HANDED_OVER], 16);
    ck_assert_uint_eq(p->b.received, 16);
    ck_assert_uint_eq(p->b.received_bytes, 16 + 120 * 1000);
    ck_assert_uint_eq(p->b.outcomes[CLA_HANDED_OVER], 1);
    ck_assert_uint_eq(p->a.received_bytes, 900000);
    ck_assert_uint_gt(p->a.reserved_most, 0); /* while it arrived */
    ck_assert_uint_eq(p->a.reserved, 0);
    pass(p, 200 * TICK_S); /* keepalives keep both connections */
    ck_assert_uint_eq(p->a.downs + p->b.downs, 0);
    ck_assert_uint_ge(shown(&p->a, "keepalives_tx"), 12);
    ck_assert_uint_eq(shown(&p->b, "keepalives_rx"), shown(&p->a, "keepalives_tx"));
    pair_free(p);
}
END_TEST

START_TEST(one_way)
{
    struct pair *p = pair_new(_i);
    p->a.config.remote.address = p->b.config.local;
    p->a.config.local = (struct address){0};
    p->b.config.connect = false;
    ck_assert_int_eq(open_side(p, &p->b, 1), 0);
    ck_assert_int_eq(open_side(p, &p->a, 0), 0);
    pass(p, TICK_S);
    ck_assert(p->a.up && !p->b.up);
    ck_assert_int_eq(give(&p->a, 1, 100), CLA_REASON_NONE);
    ck_assert_int_eq(give(&p->b, 1, 100), CLA_REASON_DOWN);
    pass(p, TICK_S);
    ck_assert_uint_eq(p->b.received, 1);
    pair_free(p);
}
END_TEST

/* What is written whole is gone; the rest comes back, the one that was begun, too. */
START_TEST(broken)
{
    struct pair *p = pair_open(_i);
    p->b.cla->ops->pause(p->b.cla, true);
    pass(p, TICK_MS);
    for (uint64_t i = 0; i < 5; i++)
        ck_assert_int_eq(give(&p->a, i, 100000), CLA_REASON_NONE);
    pass(p, TICK_S);
    ck_assert_uint_eq(p->a.outcomes[CLA_HANDED_OVER], 2); /* PIPE_BYTES */
    close_side(p, &p->b);
    pass(p, 100 * TICK_MS);
    ck_assert(!p->a.up);
    ck_assert_uint_eq(p->a.outcomes[CLA_FAILED], 3);
    ck_assert_uint_eq(shown(&p->a, "bundles_cut"), 1);
    ck_assert_uint_eq(shown(&p->a, "bundles_failed"), 3);
    ck_assert_uint_eq(shown(&p->a, "in_flight_bytes"), 0);
    p->b.closed = false;
    ck_assert_int_eq(open_side(p, &p->b, 1), 0);
    pass(p, 130 * TICK_S);
    ck_assert(p->a.up && p->b.up);
    ck_assert_int_eq(give(&p->a, 9, 10), CLA_REASON_NONE);
    pass(p, TICK_S);
    ck_assert_uint_eq(p->b.received, 1);
    pair_free(p);
}
END_TEST

START_TEST(paused_and_held)
{
    struct pair *p = pair_open(_i);
    p->b.config.held_bytes = 250;
    p->b.hold = true;
    for (uint64_t i = 0; i < 5; i++)
        ck_assert_int_eq(give(&p->a, i, 100), CLA_REASON_NONE);
    pass(p, 100 * TICK_S); /* longer than silence may last: this side does not listen */
    ck_assert_uint_eq(p->b.received, 3);
    ck_assert_uint_eq(p->a.downs, 0);
    struct cla_gauges g = cla_gauges(p->b.cla);
    ck_assert(g.unstored_full && g.unstored >= 250 && g.unstored_max == 250);
    p->b.cla->ops->confirm(p->b.cla, p->b.tokens[0], CLA_ACCEPTED);
    pass(p, TICK_S);
    ck_assert_uint_eq(p->b.received, 4);
    p->b.cla->ops->pause(p->b.cla, true);
    for (size_t i = 1; i < 4; i++)
        p->b.cla->ops->confirm(p->b.cla, p->b.tokens[i], CLA_FULL);
    pass(p, TICK_S);
    ck_assert_uint_eq(p->b.received, 4);
    ck_assert_uint_eq(shown(&p->b, "bundles_refused"), 3);
    p->b.cla->ops->pause(p->b.cla, false);
    pass(p, TICK_S);
    ck_assert_uint_eq(p->b.received, 5);
    g = cla_gauges(p->b.cla);
    ck_assert(!g.unstored_full && g.unstored < 250);
    pair_free(p);
}
END_TEST

/* A flood of bundles that the node refuses has one line of the log in 10 s, with their number. */
START_TEST(refusals_are_logged)
{
    struct pair *p = pair_open(_i);
    p->b.hold = true;
    for (uint64_t i = 0; i < 12; i++)
        ck_assert_int_eq(give(&p->a, i, 100), CLA_REASON_NONE);
    pass(p, TICK_S);
    ck_assert_uint_eq(p->b.received, 12);
    const unsigned before = p->b.said;
    p->b.cla->ops->confirm(p->b.cla, p->b.tokens[0], CLA_ACCEPTED);
    ck_assert_uint_eq(p->b.said, before);
    for (size_t i = 1; i < 11; i++)
        p->b.cla->ops->confirm(p->b.cla, p->b.tokens[i], CLA_FAULTY);
    ck_assert_uint_eq(p->b.said, before + 1);
    ck_assert_ptr_nonnull(strstr(p->b.told, "1 received bundles were refused and are lost, the "
                                            "last one: malformed"));
    pass(p, 11 * TICK_S);
    p->b.cla->ops->confirm(p->b.cla, p->b.tokens[11], CLA_UNWANTED);
    ck_assert_uint_eq(p->b.said, before + 2);
    ck_assert_ptr_nonnull(strstr(p->b.told, "10 received bundles"));
    ck_assert_ptr_nonnull(strstr(p->b.told, "no rule allows it"));
    pair_free(p);
}
END_TEST

/* The memory of bundles that arrive is the node's: without room the bundle is lost and counted, and
 * the next one arrives. */
START_TEST(shed)
{
    struct pair *p = pair_open(_i);
    p->b.memory = 50000;
    ck_assert_int_eq(give(&p->a, 0, 700000), CLA_REASON_NONE);
    ck_assert_int_eq(give(&p->a, 1, 100), CLA_REASON_NONE);
    pass(p, TICK_S);
    ck_assert_uint_eq(p->b.received, 1);
    ck_assert_uint_eq(p->b.received_bytes, 100);
    ck_assert_uint_eq(shown(&p->b, "bundles_shed"), 1);
    ck_assert_uint_eq(p->b.reserved, 0);
    pair_free(p);
}
END_TEST

/* Who brings what is dropped rests: three megabytes are more than others have to wait for. */
START_TEST(dropped_octets_take_time)
{
    struct pair *p = pair_new(_i);
    struct rests all = {0};
    struct program x;
    const uint8_t octets[1024] = {0};
    p->a.rests = &all;
    ck_assert_int_eq(open_side(p, &p->a, 0), 0);
    pass(p, TICK_S);
    dial(p, &x, 1);
    put_bundle(p, &x, 1000, 1000);
    ck_assert_uint_eq(p->a.received, 1);
    ck_assert_uint_eq(all.until, 0);
    p->a.memory = 0;
    for (size_t i = 0; i < 3; i++) {
        put_bundle(p, &x, 1 << 20, 0);
        for (size_t sent = 0; sent < 1 << 20; sent += sizeof octets)
            put(p, &x, octets, sizeof octets);
    }
    ck_assert_uint_eq(shown(&p->a, "bundles_shed"), 3);
    ck_assert_uint_gt(all.until, 0);
    p->a.memory = UINT64_MAX;
    pass(p, TICK_S);
    put_bundle(p, &x, 1000, 1000);
    ck_assert_uint_eq(p->a.received, 2);
    hang_up(p, &x);
    pair_free(p);
}
END_TEST

START_TEST(at_a_rate)
{
    struct pair *p = pair_new(_i);
    p->a.config.pace = (struct pace_keys){.rate = 8000000, .burst = TICK_MS, .slack = 2 * TICK_MS};
    ck_assert_int_eq(open_side(p, &p->a, 0), 0);
    ck_assert_int_eq(open_side(p, &p->b, 1), 0);
    pass(p, 3 * TICK_S);
    ck_assert_int_eq(give(&p->a, 0, 500000), CLA_REASON_NONE); /* 0.5 s */
    ck_assert_int_eq(give(&p->a, 1, 100000), CLA_REASON_NONE);
    pass(p, 490 * TICK_MS);
    ck_assert_uint_eq(p->a.outcomes[CLA_HANDED_OVER], 0);
    pass(p, 20 * TICK_MS);
    ck_assert_uint_eq(p->a.outcomes[CLA_HANDED_OVER], 1);
    ck_assert_int_eq(p->a.cla->ops->cancel(p->a.cla, 1), 0); /* begun */
    const struct cla_contact slow = {.transmit = true, .receive = true, .rate = 800000};
    p->a.cla->ops->contact(p->a.cla, &slow);
    ck_assert_uint_eq(shown(&p->a, "rate_bps"), 800000);
    pass(p, 800 * TICK_MS);
    ck_assert_uint_eq(p->a.outcomes[CLA_HANDED_OVER], 1);
    pass(p, 300 * TICK_MS);
    ck_assert_uint_eq(p->a.outcomes[CLA_HANDED_OVER], 2);
    ck_assert_int_eq(give(&p->a, 2, 10000), CLA_REASON_NONE);
    ck_assert_int_eq(give(&p->a, 3, 10000), CLA_REASON_NONE);
    pass(p, 20 * TICK_MS);
    ck_assert_int_eq(p->a.cla->ops->cancel(p->a.cla, 3), HELIO_ENOENT);
    const struct cla_contact over = {0};
    p->a.cla->ops->contact(p->a.cla, &over);
    pass(p, TICK_S);
    ck_assert(!p->a.up && p->b.up);
    ck_assert_uint_eq(p->a.outcomes[CLA_FAILED], 1);
    p->a.cla->ops->contact(p->a.cla, NULL);
    pass(p, 2 * TICK_S);
    ck_assert(p->a.up);
    pair_free(p);
}
END_TEST

START_TEST(operators_word)
{
    struct pair *p = pair_open(_i);
    struct program x;
    p->a.cla->ops->set_link(p->a.cla, false);
    pass(p, 100 * TICK_S);
    ck_assert(!p->a.up && !p->b.up); /* it accepts nothing */
    ck_assert_uint_eq(shown(&p->a, "connections"), 0);
    dial(p, &x, 1);
    ck_assert(x.ended);
    hang_up(p, &x);
    p->a.cla->ops->set_link(p->a.cla, true);
    pass(p, 130 * TICK_S);
    ck_assert(p->a.up && p->b.up);
    pair_free(p);
}
END_TEST

START_TEST(sources)
{
    struct pair *p = pair_open(_i);
    struct program x;
    dial(p, &x, 2); /* another host */
    ck_assert(x.ended);
    hang_up(p, &x);
    ck_assert_uint_eq(shown(&p->a, "unknown_refused"), 1);
    ck_assert_msg(strstr(p->a.told, "no link names 10.0.0.3") != NULL, "%s", p->a.told);
    close_side(p, &p->a);
    p->a.config.source = STREAMCL_FROM_ANY;
    p->a.closed = false;
    ck_assert_int_eq(open_side(p, &p->a, 0), 0);
    pass(p, TICK_S);
    dial(p, &x, 2);
    put_bundle(p, &x, 500, 500);
    ck_assert(!x.ended);
    ck_assert_uint_eq(p->a.received, 1);
    ck_assert_uint_eq(shown(&p->a, "unknown_accepted"), 1);
    hang_up(p, &x);
    pair_free(p);
}
END_TEST

/* Each way to misbehave ends the connection and has its counter. */
START_TEST(hostile)
{
    struct pair *p = pair_open(_i);
    struct program x;
    dial(p, &x, 1);
    put_bundle(p, &x, (1 << 20) + 1, 0);
    ck_assert(x.ended);
    hang_up(p, &x);
    ck_assert_uint_eq(ended(&p->a, "a bundle longer than the limit was announced"), 1);
    dial(p, &x, 1);
    put_bundle(p, &x, 1000, 500);
    ck_assert_uint_eq(p->a.reserved, 500);
    pass(p, 50 * TICK_S);
    put(p, &x, "grows", 5);
    pass(p, 50 * TICK_S);
    ck_assert(!x.ended);
    pass(p, 11 * TICK_S);
    ck_assert(x.ended);
    ck_assert_uint_eq(p->a.reserved, 0);
    hang_up(p, &x);
    ck_assert_uint_eq(ended(&p->a, "a bundle did not grow"), 1);
    dial(p, &x, 1);
    pass(p, 61 * TICK_S);
    ck_assert(x.ended);
    hang_up(p, &x);
    ck_assert_uint_eq(ended(&p->a, "the peer was silent"), 1);
    dial(p, &x, 1);
    put_bundle(p, &x, 1000, 999);
    hang_up(p, &x);
    ck_assert_uint_eq(ended(&p->a, "it ended within a bundle"), 1);
    dial(p, &x, 1);
    put(p, &x, "\x5f\x41\x9f\xff", 4); /* STCP: a length above the limit */
    ck_assert(x.ended);
    hang_up(p, &x);
    ck_assert_uint_eq(ended(&p->a, "the peer sent no byte string of definite length"),
                      p->f == STREAMCL_MTCP);
    ck_assert_uint_eq(p->a.received, 0);
    ck_assert_uint_eq(p->a.downs + p->b.downs, 0);
    pair_free(p);
}
END_TEST

/* Connections of one address give way to each other, the silent ones first; others' stay. */
START_TEST(crowded)
{
    struct pair *p = pair_new(_i);
    struct program x[4];
    p->a.config.source = STREAMCL_FROM_ANY;
    ck_assert_int_eq(open_side(p, &p->a, 0), 0);
    pass(p, TICK_S);
    dial(p, &x[0], 1);
    put_bundle(p, &x[0], 10, 10);
    for (size_t i = 1; i < 4; i++)
        dial(p, &x[i], 2);
    ck_assert(!x[0].ended && x[1].ended && !x[2].ended && !x[3].ended);
    ck_assert_uint_eq(shown(&p->a, "connections_displaced"), 1);
    ck_assert_uint_eq(shown(&p->a, "connections"), 3);
    put_bundle(p, &x[0], 10, 10);
    ck_assert_uint_eq(p->a.received, 2);
    for (size_t i = 0; i < 4; i++)
        hang_up(p, &x[i]);
    pair_free(p);
}
END_TEST

/* What other hosts do takes no connection from the host of the link's remote, however silent it is;
 * its own next one does, beyond what one address may have. */
START_TEST(others_displace_no_peer)
{
    struct pair *p = pair_new(_i);
    struct program peer, other, again, third;
    p->a.config.source = STREAMCL_FROM_ANY;
    p->a.config.connections = p->a.config.connections_address = 1;
    ck_assert_int_eq(open_side(p, &p->a, 0), 0);
    pass(p, TICK_S);
    dial(p, &peer, 1);
    dial(p, &other, 2);
    put_bundle(p, &other, 10, 10);
    ck_assert(!peer.ended && !other.ended);
    ck_assert_uint_eq(shown(&p->a, "connections"), 2);
    dial(p, &again, 1);
    ck_assert(peer.ended && !other.ended && !again.ended);
    ck_assert_uint_eq(shown(&p->a, "connections_displaced"), 1);
    hang_up(p, &peer);
    p->a.config.connections_address = 2;
    put_bundle(p, &again, 10, 10);
    pass(p, TICK_S);
    dial(p, &peer, 1); /* silent, and later */
    dial(p, &third, 1);
    ck_assert(!again.ended && peer.ended && !third.ended);
    hang_up(p, &peer);
    hang_up(p, &third);
    hang_up(p, &other);
    hang_up(p, &again);
    ck_assert_uint_eq(shown(&p->a, "connections"), 0);
    pair_free(p);
}
END_TEST

static void listen_only(struct pair *p, struct side *s, const char *local, struct crowd_room *room)
{
    s->config.connect = false;
    s->config.source = STREAMCL_FROM_ANY;
    s->config.remote = (struct host_address){.port = 0};
    s->config.connections_address = s->config.connections;
    s->room = room;
    ck_assert_int_eq(address_parse(local, &s->config.local), 0);
    ck_assert_int_eq(open_side(p, s, 0), 0);
}

/* Two local addresses, of both adapters, have together as many connections as one of them, and one
 * more each. The address that has most at both gives way. */
START_TEST(crowded_everywhere)
{
    struct pair *p = pair_new(_i);
    struct crowd_room room = {.places_len = 0};
    struct program alone, x[7];
    listen_only(p, &p->a, "10.0.0.1:4556", &room);
    p->f = _i == STREAMCL_STCP ? STREAMCL_MTCP : STREAMCL_STCP;
    listen_only(p, &p->b, "10.0.0.1:4557", &room);
    p->f = (enum streamcl_framing)_i;
    dial(p, &alone, 1);
    for (size_t i = 0; i < 7; i++)
        dial_side(p, &x[i], 2, i < 3 ? &p->a : &p->b);
    ck_assert_uint_eq(shown(&p->a, "connections") + shown(&p->b, "connections"), 4 + 2);
    ck_assert_uint_eq(shown(&p->a, "connections_displaced") + shown(&p->b, "connections_displaced"),
                      2);
    ck_assert(!alone.ended && x[0].ended && x[1].ended && !x[2].ended);
    put_bundle(p, &alone, 10, 10);
    ck_assert_uint_eq(p->a.received, 1);
    hang_up(p, &alone);
    for (size_t i = 0; i < 7; i++)
        hang_up(p, &x[i]);
    pair_free(p);
}
END_TEST

/* One that floods has its turns, and the other one, too. */
START_TEST(turns)
{
    struct pair *p = pair_open(_i);
    struct program x;
    uint8_t flood[20000];
    size_t len = 0;
    dial(p, &x, 1);
    while (len + 20 < sizeof flood) {
        len += streamcl_head(p->f, 3, flood + len);
        len += 3;
    }
    const struct slice part = slice_of(flood, len);
    ck_assert_uint_eq(stream_write(x.stream, &part, 1), len);
    ck_assert_int_eq(give(&p->b, 1, 100), CLA_REASON_NONE);
    pass(p, TICK_S);
    ck_assert_uint_eq(p->a.received, 1 + len / (3 + streamcl_head(p->f, 3, flood)));
    hang_up(p, &x);
    pair_free(p);
}
END_TEST

/* The node was busy later with what the peer had brought: nothing is read of it for so long. */
START_TEST(late_work_is_charged)
{
    struct pair *p = pair_open(_i);
    const tick took = 300 * TICK_MS;
    p->a.cla->ops->charge(p->a.cla, took, 0, p->v.now);
    ck_assert_int_eq(give(&p->b, 1, 100), CLA_REASON_NONE);
    pass(p, took - TICK_MS);
    ck_assert_uint_eq(p->a.received, 0);
    pass(p, 2 * TICK_MS);
    ck_assert_uint_eq(p->a.received, 1);
    pair_free(p);
}
END_TEST

START_TEST(wrong_settings)
{
    struct side s;
    char why[256];
    const char *key = NULL;
    memset(&s, 0, sizeof s);
    fill_defaults(&s);
    ck_assert_int_eq(streamcl_config_check(&s.config, &key, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(key, "remote");
    ck_assert_int_eq(address_parse("10.0.0.1:4556", &s.config.local), 0);
    ck_assert_int_eq(streamcl_config_check(&s.config, &key, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(key, "source");
    s.config.source = STREAMCL_FROM_ANY;
    ck_assert_int_eq(streamcl_config_check(&s.config, &key, why, sizeof why), 0);
    ck_assert(streamcl_config_warn(&s.config, NULL, 0, &key, why, sizeof why));
    ck_assert_str_eq(key, "local");
    ck_assert_msg(strstr(why, "any host can bring bundles") != NULL, "%s", why);
    ck_assert_int_eq(address_parse("127.0.0.1:4556", &s.config.local), 0);
    ck_assert(!streamcl_config_warn(&s.config, NULL, 0, &key, why, sizeof why));
    ck_assert_int_eq(address_parse("[::1]:4556", &s.config.remote.address), 0);
    ck_assert_int_eq(streamcl_config_check(&s.config, &key, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(key, "remote");
    s.config.local = (struct address){0};
    ck_assert_int_eq(streamcl_config_check(&s.config, &key, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(key, "source");
    s.config.source = STREAMCL_FROM_ADDRESS;
    s.config.connect = false;
    ck_assert_int_eq(streamcl_config_check(&s.config, &key, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(key, "connect");
}
END_TEST

SUITE(cla_streamcl, t)
{
    const TTest *const tests[] = {both_ways,
                                  one_way,
                                  broken,
                                  paused_and_held,
                                  shed,
                                  dropped_octets_take_time,
                                  at_a_rate,
                                  operators_word,
                                  sources,
                                  hostile,
                                  crowded,
                                  crowded_everywhere,
                                  others_displace_no_peer,
                                  turns,
                                  late_work_is_charged,
                                  refusals_are_logged};
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        tcase_add_loop_test(t, tests[i], STREAMCL_STCP, STREAMCL_MTCP + 1);
    tcase_add_test(t, wrong_settings);
    tcase_set_timeout(t, 120);
}
