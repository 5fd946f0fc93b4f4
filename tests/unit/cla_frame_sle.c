/* SPDX-License-Identifier: Apache-2.0 */
/* A mission centre's frame port by Space Link Extension: a station in the same virtual world
 * provides RAF, RCF and FCLTU; what the spacecraft sends is what the centre hears, and the other
 * way; associations end and come again; whatever the provider refuses is told and counted. */
#include "frame_sle_help.h"
#include "tests/unit/suite.h"

static void send_some(struct end *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct datagram *d = &w.sent[w.sent_len++];
        d->len = 1 + rng_below(&w.rng, LONGEST);
        for (size_t k = 0; k < d->len; k++)
            d->bytes[k] = (uint8_t)rng_u64(&w.rng);
        send_bytes(from, d->bytes, d->len);
        if (i % 10 == 9) {
            ck_assert(udp_flush(from->port->io));
            run_until(w.v.now + 20 * TICK_MS);
        }
    }
    ck_assert(udp_flush(from->port->io));
    run_until(w.v.now + 100 * TICK_MS);
}

static void begin_chain(const struct frame_keys *centre)
{
    open_end(&w.a, centre, "127.0.0.1:1", "127.0.0.1:2");
    ck_assert(!w.a.leaves && !w.a.arrives); /* nothing was returned yet */
    open_space();
    run_until(3 * TICK_S);
    ck_assert(w.a.leaves && w.a.arrives && w.a.states <= 2); /* one service, then both */
}

static void check_both_ways(void)
{
    send_some(&w.b, 200);
    struct frame_port_counters a = count_of(&w.a);
    ck_assert(station.not_taken == 0 && w.a.got == 200);
    ck_assert(a.wire.in == station.frames && a.received.frames == station.frames);
    send_some(&w.a, 200);
    a = count_of(&w.a);
    ck_assert(w.b.got == 200 && a.wire.out == station.cltus && a.wire.refused == 0);
    ck_assert_uint_eq(count_of(&w.b).received.lost, 0);
    sle_check(station.engine);
}

/* All levels, hashes and versions; at the end each service is stopped and unbound. */
START_TEST(down_and_up)
{
    static const struct {
        int level, hash;
        uint64_t version;
    } cases[] = {{SLE_AUTH_NONE, 0, 5},         {SLE_AUTH_BIND, SLE_SHA1, 4}, {SLE_AUTH_ALL, 0, 2},
                 {SLE_AUTH_ALL, SLE_SHA256, 4}, {SLE_AUTH_ALL, SLE_SHA1, 5},  {SLE_AUTH_ALL, 0, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct frame_keys centre = centre_keys();
        centre.sle_version = cases[i].version;
        if (cases[i].level != SLE_AUTH_NONE)
            authenticate(&centre, cases[i].level, cases[i].hash);
        begin_station((enum sle_auth_level)cases[i].level);
        begin_chain(&centre);
        ck_assert(strstr(w.a.said, "2 " RAF_ID ": bound to STATION, version") != NULL);
        check_both_ways();
        end_chain();
        struct sle_counts n = station.counts;
        ck_assert(n.binds == 2 && n.unbinds == 2 && n.aborts_sent == 0 && n.aborts_received == 0);
        ck_assert(n.breaks == 0 && n.auth_failed == 0);
    }
}
END_TEST

/* RCF brings the channel that is asked for; or those of all links of the spacecraft. */
START_TEST(one_channel_or_all)
{
    for (int master = 0; master < 2; master++) {
        static struct end second;
        static char rcf[] = RCF_ID;
        struct frame_keys centre = centre_keys(), other;
        centre.sle_raf = NULL;
        centre.sle_rcf = rcf;
        centre.sle_master = master != 0;
        begin_station(SLE_AUTH_NONE);
        begin_chain(&centre);
        other = centre;
        other.in.vcid = 6;
        struct frame_keys a = centre, b = other;
        a.out.vcid = 7;
        frame_keys_forget(&a);
        frame_keys_forget(&b);
        ck_assert(frame_keys_share(&a, &b) == (master != 0));
        memset(&second, 0, sizeof second);
        if (master != 0)
            open_end_at(&second, &other, "127.0.0.1:1", "127.0.0.1:2", w.a.port);
        send_some(&w.b, 30);
        ck_assert_uint_eq(w.a.got, 30);
        send_channel(6, 10);
        run_until(w.v.now + TICK_S);
        ck_assert(second.port == NULL || count_of(&second).verdicts[FRAME_IDLE_VERDICT] == 10);
        ck_assert_uint_eq(sle_instance_counts(station.frame_service)->frames_filtered,
                          master != 0 ? 0 : 10);
        if (second.port != NULL) {
            port_close(second.port, on_closed, &second);
            virtual_fire_soon(&w.v);
            ck_assert(second.closed && count_of(&w.a).wire.connected);
        }
        end_chain();
    }
}
END_TEST

/* While nobody reads, frames wait in the provider; then all come. */
START_TEST(back_pressure)
{
    for (int once = 0; once < 2; once++) {
        struct frame_keys centre = centre_keys();
        begin_station(SLE_AUTH_NONE);
        begin_chain(&centre);
        w.a.once = once != 0;
        port_watch(w.a.port, false, false);
        send_some(&w.b, 200);
        ck_assert_uint_eq(w.a.got, 0);
        port_watch(w.a.port, true, false);
        run_until(w.v.now + TICK_S);
        ck_assert(w.a.got == 200 && station.not_taken == 0);
        end_chain();
    }
}
END_TEST

/* Nobody reads when it ends: STOP and UNBIND are answered nevertheless. */
START_TEST(end_under_pressure)
{
    struct frame_keys centre = centre_keys();
    begin_station(SLE_AUTH_NONE);
    begin_chain(&centre);
    port_watch(w.a.port, false, false);
    send_some(&w.b, 300);
    end_chain();
    ck_assert(station.counts.unbinds == 2 && station.counts.aborts_received == 0);
}
END_TEST

START_TEST(connections_end)
{
    struct frame_keys centre = centre_keys();
    begin_station(SLE_AUTH_NONE);
    begin_chain(&centre);
    send_some(&w.b, 20);
    abort_all();
    run_until(w.v.now + TICK_MS);
    ck_assert(!count_of(&w.a).wire.connected && !w.a.leaves && !w.a.arrives);
    ck_assert_uint_eq(count_of(&w.a).wire.broken, 2); /* streams in memory have no urgent octet */
    ck_assert(strstr(w.a.said, "1 " CLTU_ID ": the connection has ended: ") != NULL);
    send_bytes(&w.a, "lost", 4); /* nobody takes it */
    ck_assert(udp_flush(w.a.port->io));
    ck_assert_uint_eq(count_of(&w.a).line.dropped, 1);
    run_until(w.v.now + 3 * TICK_S);
    ck_assert(count_of(&w.a).wire.connected && count_of(&w.a).wire.connects == 4 && w.a.leaves);
    send_some(&w.b, 20);
    ck_assert_uint_ge(w.a.got, 39); /* a frame that was waiting may be gone */
    size_t before = w.b.got;
    send_some(&w.a, 20);
    ck_assert_uint_eq(w.b.got, before + 20);
    end_chain();
}
END_TEST

/* A link that goes down ends its associations in order, and up has them again at once. */
START_TEST(not_wanted)
{
    struct frame_keys centre = centre_keys();
    begin_station(SLE_AUTH_NONE);
    begin_chain(&centre);
    frame_port_want(w.a.port, false);
    run_until(w.v.now + TICK_S);
    const struct sle_counts *n = sle_counts(station.engine);
    ck_assert(!w.a.leaves && !w.a.arrives);
    ck_assert(n->unbinds == 2 && n->breaks == 0 && n->aborts_received == 0);
    run_until(w.v.now + 200 * TICK_S);
    ck_assert_uint_eq(n->links, 2);
    frame_port_want(w.a.port, true);
    run_until(w.v.now + 100 * TICK_MS);
    ck_assert(w.a.leaves && w.a.arrives && n->binds == 4);
    struct frame_port_counters a = count_of(&w.a);
    ck_assert(a.wire.broken == 0 && a.wire.peer_aborts == 0 && a.wire.binds_refused == 0);
    check_both_ways();
    end_chain();
}
END_TEST

/* Production is interrupted by a CLTU, or by the operator for a while: those after it arrive. */
START_TEST(production_is_interrupted)
{
    struct frame_keys centre = centre_keys();
    begin_station(SLE_AUTH_NONE);
    begin_chain(&centre);
    station.interrupts = true;
    send_bytes(&w.a, "lost", 4);
    ck_assert(udp_flush(w.a.port->io));
    run_until(w.v.now + TICK_S);
    const uint64_t sent = station.cltus;
    ck_assert(!station.interrupts && w.a.leaves);
    send_some(&w.a, 20);
    ck_assert(w.b.got == 20 && station.cltus > sent);
    ck_assert(strstr(w.a.said, ": STOP, then START again") != NULL);
    for (unsigned i = SLE_UP_INTERRUPTED; i <= SLE_UP_HALTED; i++) {
        sle_provider_production(station.cltu, i, w.v.now);
        send_bytes(&w.a, "lost", 4);
        ck_assert(udp_flush(w.a.port->io));
        run_until(w.v.now + 10 * TICK_S);
        sle_provider_production(station.cltu, SLE_OPERATIONAL, w.v.now);
        run_until(w.v.now + 20 * TICK_S);
        const size_t before = w.b.got;
        send_some(&w.a, 20);
        ck_assert_uint_eq(w.b.got, before + 20);
    }
    ck_assert_uint_eq(count_of(&w.a).wire.broken, 0);
    end_chain();
}
END_TEST

/* Before BIND was answered there is nothing to unbind. */
START_TEST(given_up_early)
{
    struct frame_keys centre = centre_keys();
    begin_station(SLE_AUTH_NONE);
    be_deaf(true);
    open_end(&w.a, &centre, "127.0.0.1:1", "127.0.0.1:2");
    run_until(TICK_S);
    frame_port_want(w.a.port, false);
    frame_port_want(w.a.port, true);
    be_deaf(false);
    run_until(2 * TICK_S);
    ck_assert(w.a.leaves && count_of(&w.a).wire.broken == 0);
    frame_port_want(w.a.port, false);
    frame_port_want(w.a.port, true); /* while it is being stopped */
    run_until(3 * TICK_S);
    ck_assert(w.a.leaves && count_of(&w.a).wire.connects == 4);
    end_chain();
}
END_TEST

/* A provider that does not answer STOP is aborted after a while. */
START_TEST(no_answer_to_stop)
{
    struct frame_keys centre = centre_keys();
    begin_station(SLE_AUTH_NONE);
    begin_chain(&centre);
    be_deaf(true);
    port_close(w.a.port, on_closed, &w.a);
    run_until(w.v.now + 4 * TICK_S);
    ck_assert(!w.a.closed);
    run_until(w.v.now + 4 * TICK_S);
    ck_assert(w.a.closed);
    be_deaf(false);
    end_chain();
}
END_TEST

/* ---- what a provider refuses ---- */

/* It is told and counted, tried again ever less often, and another port goes on meanwhile. */
static struct frame_port_counters run_refused(const struct frame_keys *k, const char *says)
{
    static struct end good;
    struct frame_keys other = centre_keys();
    bool secret = k->sle_auth != SLE_AUTH_NONE;
    static char id[] = "sagr=1.spack=1.rsl-fg=1.raf=onlc2";
    other.sle_raf = id;
    other.sle_cltu = NULL;
    if (secret)
        authenticate(&other, SLE_AUTH_ALL, 0);
    memset(&good, 0, sizeof good);
    open_end(&w.a, k, "127.0.0.1:1", "127.0.0.1:2");
    open_end(&good, &other, "127.0.0.1:5", "127.0.0.1:2");
    run_until(100 * TICK_S);
    ck_assert(!w.a.leaves && w.a.states == 0);
    ck_assert_msg(strstr(w.a.said, says) != NULL, "it says:\n%s", w.a.said);
    ck_assert(good.leaves && good.states == 1 && count_of(&good).wire.connects == 1);
    struct frame_port_counters n = count_of(&w.a);
    /* 1 + 2 + 4 + … s: after 100 s it was tried seven times; and once for each that it says */
    ck_assert_uint_eq(n.wire.broken + n.wire.binds_refused + n.wire.starts_refused, 7);
    ck_assert_uint_eq(count_lines(w.a.said), 7);
    port_close(good.port, on_closed, &good);
    end_chain();
    ck_assert(good.closed);
    return n;
}

START_TEST(unknown_instance)
{
    static char other[] = "sagr=1.spack=1.rsl-fg=1.raf=onlc9";
    struct frame_keys k = centre_keys();
    k.sle_raf = other;
    k.sle_cltu = NULL;
    begin_station(SLE_AUTH_NONE);
    struct frame_port_counters n = run_refused(
        &k, "1 sagr=1.spack=1.rsl-fg=1.raf=onlc9: the BIND was refused: no such service");
    ck_assert_uint_eq(n.wire.binds_refused, 7);
}
END_TEST

START_TEST(wrong_version)
{
    struct frame_keys k = centre_keys();
    k.sle_version = 3;
    k.sle_raf = NULL; /* of FCLTU, which has versions 2, 4 and 5 here */
    begin_station(SLE_AUTH_NONE);
    struct frame_port_counters n =
        run_refused(&k, "1 " CLTU_ID ": the BIND was refused: version not supported");
    ck_assert_uint_eq(n.wire.binds_refused, 7);
}
END_TEST

START_TEST(wrong_password)
{
    static char wrong[] = "00ff";
    for (int theirs = 0; theirs < 2; theirs++) {
        struct frame_keys k = centre_keys();
        k.sle_cltu = NULL;
        authenticate(&k, SLE_AUTH_ALL, 0);
        *(theirs ? &k.sle_provider_password : &k.sle_password) = wrong;
        begin_station(SLE_AUTH_ALL);
        struct frame_port_counters n = run_refused(
            &k, theirs ? "credentials were wrong: sle.provider_password, or one of the clocks"
                       : "; so ends what it takes for a wrong password");
        ck_assert_uint_eq(n.wire.broken, 7);
        ck_assert_uint_eq(n.wire.credentials_wrong, theirs ? 7 : 0);
        ck_assert_uint_eq(station.counts.auth_failed, theirs ? 0 : 7);
    }
}
END_TEST

START_TEST(no_credentials)
{
    struct frame_keys k = centre_keys();
    k.sle_cltu = NULL;
    begin_station(SLE_AUTH_ALL);
    open_end(&w.a, &k, "127.0.0.1:1", "127.0.0.1:2");
    run_until(10 * TICK_S);
    ck_assert(!w.a.leaves && count_of(&w.a).wire.broken >= 3);
    ck_assert(strstr(w.a.said, "; does it ask for authentication (sle.auth)?") != NULL);
    end_chain();
}
END_TEST

START_TEST(start_refused)
{
    struct frame_keys k = centre_keys();
    k.sle_cltu = NULL;
    begin_station(SLE_AUTH_NONE);
    sle_provider_production(station.raf, SLE_HALTED, w.v.now);
    struct frame_port_counters n = run_refused(&k, "START was refused: specific diagnostic 0");
    ck_assert(n.wire.starts_refused == 7 && n.wire.broken == 0);
    ck_assert_uint_eq(station.counts.unbinds, 7 + 1);
}
END_TEST

/* Nobody is there: the line for the log is not repeated for ever. */
START_TEST(nobody_listens)
{
    struct frame_keys k = centre_keys();
    k.sle_cltu = NULL;
    k.sle_reconnect = k.sle_reconnect_max = TICK_S;
    begin_world();
    open_end(&w.a, &k, "127.0.0.1:1", "127.0.0.1:2");
    run_until(1000 * TICK_S);
    ck_assert(!w.a.leaves && !w.a.arrives && w.a.states == 0);
    ck_assert_uint_ge(count_of(&w.a).wire.broken, 990);
    ck_assert(count_lines(w.a.said) >= 30 && count_lines(w.a.said) <= 6 + 1000 / 30 + 1);
    ck_assert(strstr(w.a.said, "lines were left out)") != NULL);
    port_close(w.a.port, on_closed, &w.a);
    virtual_fire_soon(&w.v);
    ck_assert(w.a.closed);
    virtual_fini(&w.v);
}
END_TEST

/* ---- keys ---- */

static void expect_wrong(const struct frame_keys *k, const char *key, const char *why)
{
    const char *told = "";
    char text[200] = "";
    ck_assert_int_ne(frame_keys_check(k, &told, text, sizeof text), 0);
    ck_assert_str_eq(told, key);
    ck_assert_msg(strstr(text, why) != NULL, "%s: %s", told, text);
}

START_TEST(keys)
{
    static char rcf[] = RCF_ID, odd[] = "123", good[] = "1234", empty[] = "";
    const struct frame_keys all = centre_keys();
    struct frame_keys k = all;
    k.sle_raf = k.sle_cltu = empty;
    expect_wrong(&k, "frames.port", "names a service instance");
    k = all;
    k.sle_raf = rcf;
    expect_wrong(&k, "sle.raf", "an instance of RAF");
    k = all;
    k.sle_rcf = all.sle_raf;
    expect_wrong(&k, "sle.rcf", "an instance of RCF");
    k.sle_rcf = rcf;
    expect_wrong(&k, "sle.rcf", "not both");
    k = all;
    k.sle_master = true;
    expect_wrong(&k, "sle.master", "only with sle.rcf");
    k = all;
    k.sle_cltu = rcf;
    expect_wrong(&k, "sle.cltu", "an instance of FCLTU");
    k = all;
    k.in.kind = FRAMES_CLTU;
    expect_wrong(&k, "frames.in", "aos, tm or uslp");
    k.in.kind = FRAMES_USLP;
    k.sle_raf = NULL;
    k.sle_rcf = rcf;
    struct frame_wire_sle sle;
    frame_keys_sle(&k, &sle);
    ck_assert_uint_eq(sle.channel.version, SLE_VERSION_USLP);
    k = all;
    k.sle_password = good;
    expect_wrong(&k, "sle.password", "only with sle: {auth");
    k.sle_auth = SLE_AUTH_BIND;
    expect_wrong(&k, "sle.auth", "sle.provider_password");
    k.sle_provider_password = odd;
    expect_wrong(&k, "sle.provider_password", "hexadecimal");
    k.sle_provider_password = good;
    k.sle_reconnect_max = TICK_MS;
    expect_wrong(&k, "sle.reconnect_max", "shorter");
    k = all;
    k.wire = FRAME_WIRE_UDP;
    expect_wrong(&k, "sle.raf", "frames: {port: sle}");
    k = keys_of(FRAMES_OFF, 0, 0);
    k.sle_provider = all.sle_provider;
    expect_wrong(&k, "sle.provider", "frames: {port: sle}");
}
END_TEST

SUITE(cla_frame_sle, t)
{
    const TTest *const tests[] = {down_and_up,
                                  one_channel_or_all,
                                  back_pressure,
                                  end_under_pressure,
                                  connections_end,
                                  not_wanted,
                                  production_is_interrupted,
                                  given_up_early,
                                  no_answer_to_stop,
                                  unknown_instance,
                                  wrong_version,
                                  wrong_password,
                                  no_credentials,
                                  start_refused,
                                  nobody_listens,
                                  keys};
    tcase_set_timeout(t, 60);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(t, tests[i]);
}
