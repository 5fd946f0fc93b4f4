/* SPDX-License-Identifier: Apache-2.0 */
/* A mission centre's frame port by Space Link Extension: a station in the same virtual world
 * provides RAF and FCLTU; what the spacecraft sends is what the centre hears, and the other way;
 * the connections end and come again. */
#include "frame_port_help.h"
#include "sle/provider.h"

#define RAF_ID "sagr=1.spack=1.rsl-fg=1.raf=onlc1"
#define CLTU_ID "sagr=1.spack=1.fsl-fg=1.cltu=cltu1"

struct conn {
    struct stream *stream;
    struct sle_link *link;
    bool full, reading;
};

static struct {
    struct sle *engine;
    struct sle_instance *raf, *cltu;
    struct stream_listener *listener;
    struct conn conn[16];
    size_t conns;
    uint64_t frames, cltus, not_taken;
} station;

static struct sle_time time_now(void)
{
    return sle_now(station.engine, w.v.now);
}

/* CLTUs are radiated at once, to the spacecraft. */
static void radiate_cltus(void)
{
    struct sle_cltu_out out;
    struct address from;
    ck_assert_int_eq(address_parse("127.0.0.1:3", &from), 0);
    while (sle_provider_cltu_next(station.cltu, &out, w.v.now)) {
        struct virtual_port *p = NULL;
        list_for_each (it, &w.v.ports) {
            struct virtual_port *x = container_of(it, struct virtual_port, node);
            p = address_equal(&x->self, &w.b.self) ? x : p;
        }
        sle_provider_cltu_started(station.cltu, time_now(), w.v.now);
        ck_assert_ptr_nonnull(p);
        virtual_arrive(p, &from, out.data);
        station.cltus++;
        sle_provider_cltu_radiated(station.cltu, time_now(), w.v.now);
    }
}

static void pump_conn(struct conn *c)
{
    struct sle_notice n;
    struct slice parts[16];
    size_t k;
    if (c->stream == NULL)
        return;
    while (sle_link_poll(c->link, &n, w.v.now))
        if (n.kind == SLE_CLTU_READY)
            radiate_cltus();
    while (!c->full && (k = sle_link_output(c->link, parts, 16, w.v.now)) > 0) {
        size_t want = 0;
        for (size_t i = 0; i < k; i++)
            want += parts[i].len;
        size_t got = stream_write(c->stream, parts, k);
        c->full = got < want;
        sle_link_wrote(c->link, got, w.v.now);
    }
    stream_read(c->stream, sle_link_reads(c->link));
    if (sle_link_stream(c->link) == SLE_STREAM_KEEP)
        return;
    stream_close(c->stream);
    sle_link_free(c->link);
    c->stream = NULL;
}

static void pump_all(void)
{
    for (size_t i = 0; i < station.conns; i++)
        pump_conn(&station.conn[i]);
}

static uint8_t *conn_space(void *context, size_t *len)
{
    return sle_link_space(((struct conn *)context)->link, len);
}

static void conn_fed(void *context, size_t len)
{
    sle_link_fed(((struct conn *)context)->link, len, w.v.now);
    pump_conn(context);
}

static void conn_writable(void *context)
{
    ((struct conn *)context)->full = false;
    pump_conn(context);
}

static void conn_ended(void *context, int error)
{
    struct conn *c = context;
    (void)error;
    sle_link_closed(c->link, w.v.now);
    pump_conn(c);
    if (c->stream != NULL) {
        stream_close(c->stream);
        sle_link_free(c->link);
        c->stream = NULL;
    }
}

static const struct stream_user conn_user = {
    .space = conn_space, .fed = conn_fed, .writable = conn_writable, .ended = conn_ended};

static void accept_conn(void *context, struct stream *s)
{
    (void)context;
    ck_assert_uint_lt(station.conns, 16);
    struct conn *c = &station.conn[station.conns++];
    *c = (struct conn){.stream = s, .link = sle_accept(station.engine, w.v.now)};
    stream_use(s, &conn_user, c);
    stream_read(s, true);
}

/* What the spacecraft sends comes to the station as telemetry. */
static bool carry_down(void *context, struct virtual_port *from, const struct address *to,
                       struct slice head, struct slice data)
{
    struct sle_frame f = {.data = head, .time = time_now()};
    (void)context, (void)from, (void)to;
    ck_assert_uint_eq(data.len, 0);
    station.frames++;
    station.not_taken += sle_provider_frame(station.raf, &f, w.v.now) != SLE_TAKEN;
    return true;
}

static void open_station(void)
{
    static const char *const users[] = {"CENTRE"};
    struct sle_config config = {.self = {.id = "STATION"}, .seed = 7};
    struct sle_peer peer = {.who = {.id = "CENTRE"}, .level = SLE_AUTH_NONE};
    struct sle_provider_config raf = {.id = RAF_ID,
                                      .initiators = users,
                                      .initiator_count = 1,
                                      .responder_port = "PORT1",
                                      .latency = 10 * TICK_MS},
                               cltu = raf;
    struct address at;
    memset(&station, 0, sizeof station);
    cltu.id = CLTU_ID;
    ck_assert_ptr_nonnull(station.engine = sle_new(&config));
    ck_assert_int_eq(sle_peer_set(station.engine, &peer), 0);
    ck_assert_int_eq(sle_provider_add(station.engine, &raf, &station.raf), 0);
    ck_assert_int_eq(sle_provider_add(station.engine, &cltu, &station.cltu), 0);
    ck_assert_int_eq(address_parse("127.0.0.1:2", &at), 0);
    ck_assert_int_eq(stream_listen(&w.v.world, &station.listener,
                                   &(struct stream_place){.address = &at}, accept_conn, NULL),
                     0);
}

static void run_until(tick end)
{
    while (w.v.now < end) {
        tick next = tick_min(virtual_due(&w.v), end);
        for (size_t i = 0; i < station.conns; i++)
            if (station.conn[i].stream != NULL)
                next = tick_min(next, sle_link_deadline(station.conn[i].link));
        virtual_advance(&w.v, next);
        while (virtual_due(&w.v) <= w.v.now)
            virtual_fire(&w.v);
        for (size_t i = 0; i < station.conns; i++)
            if (station.conn[i].stream != NULL &&
                sle_link_deadline(station.conn[i].link) <= w.v.now)
                sle_link_expire(station.conn[i].link, w.v.now);
        pump_all();
    }
}

static struct frame_keys centre_keys(void)
{
    static char raf[] = RAF_ID, cltu[] = CLTU_ID, user[] = "CENTRE", provider[] = "STATION",
                port[] = "PORT1";
    struct frame_keys k = keys_of(FRAMES_CLTU, 0, 0);
    k.kind_in = FRAMES_AOS;
    k.numbers = k.segments = true;
    k.wire = FRAME_WIRE_SLE;
    k.sle_raf = raf;
    k.sle_cltu = cltu;
    k.sle_user = user;
    k.sle_provider = provider;
    k.sle_port = port;
    k.sle_version = 5;
    return k;
}

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

static void begin_chain(void)
{
    struct frame_keys centre = centre_keys(), space = keys_of(FRAMES_AOS, 1115, 0);
    space.kind_in = FRAMES_CLTU;
    space.numbers = space.segments = true;
    begin_world();
    w.v.carry = carry_down;
    open_station();
    open_end(&w.a, &centre, "127.0.0.1:1", "127.0.0.1:2");
    open_end(&w.b, &space, "127.0.0.1:4", "127.0.0.1:3");
    run_until(3 * TICK_S);
}

static void end_chain(void)
{
    port_close(w.a.port, on_closed, &w.a);
    port_close(w.b.port, on_closed, &w.b);
    virtual_fire_soon(&w.v);
    virtual_settle(&w.v);
    ck_assert(w.a.closed && w.b.closed);
    for (size_t i = 0; i < station.conns; i++)
        if (station.conn[i].stream != NULL)
            stream_close(station.conn[i].stream);
    stream_unlisten(station.listener);
    sle_free(station.engine);
    virtual_fini(&w.v);
}

START_TEST(down_and_up)
{
    begin_chain();
    ck_assert(count_of(&w.a).wire.connected);
    send_some(&w.b, 200);
    struct frame_port_counters a = count_of(&w.a);
    ck_assert(station.not_taken == 0 && w.a.got == 200);
    ck_assert(a.wire.in == station.frames && a.received.frames == station.frames);
    send_some(&w.a, 200);
    a = count_of(&w.a);
    ck_assert(w.b.got == 200 && a.wire.out == station.cltus && a.wire.refused == 0);
    ck_assert_uint_eq(count_of(&w.b).received.lost, 0);
    sle_check(station.engine);
    end_chain();
}
END_TEST

/* While nobody reads, frames wait in the provider; then all come. */
START_TEST(back_pressure)
{
    begin_chain();
    port_watch(w.a.port, false, false);
    send_some(&w.b, 100);
    ck_assert_uint_eq(w.a.got, 0);
    port_watch(w.a.port, true, false);
    run_until(w.v.now + TICK_S);
    ck_assert(w.a.got == 100 && station.not_taken == 0);
    end_chain();
}
END_TEST

START_TEST(connections_end)
{
    begin_chain();
    send_some(&w.b, 20);
    for (size_t i = 0; i < 2; i++)
        sle_link_abort(station.conn[i].link, SLE_ABORT_OPERATIONAL, w.v.now);
    pump_all();
    run_until(w.v.now + TICK_MS);
    ck_assert(!count_of(&w.a).wire.connected);
    send_bytes(&w.a, "lost", 4); /* nobody takes it */
    ck_assert(udp_flush(w.a.port->io));
    ck_assert_uint_eq(count_of(&w.a).line.dropped, 1);
    run_until(w.v.now + 3 * TICK_S);
    ck_assert(count_of(&w.a).wire.connected && count_of(&w.a).wire.connects == 4);
    send_some(&w.b, 20);
    ck_assert_uint_ge(w.a.got, 39); /* a frame that was waiting may be gone */
    size_t before = w.b.got;
    send_some(&w.a, 20);
    ck_assert_uint_eq(w.b.got, before + 20);
    end_chain();
}
END_TEST

START_TEST(refused)
{
    struct frame_keys k = centre_keys();
    static char other[] = "sagr=1.spack=1.rsl-fg=1.raf=onlc9";
    begin_world();
    w.v.carry = carry_down;
    open_station();
    k.sle_raf = other;
    open_end(&w.a, &k, "127.0.0.1:1", "127.0.0.1:2");
    w.b.port = NULL;
    run_until(5 * TICK_S);
    ck_assert(!count_of(&w.a).wire.connected);
    ck_assert_uint_ge(sle_counts(station.engine)->binds_refused, 3);
    port_close(w.a.port, on_closed, &w.a);
    virtual_fire_soon(&w.v);
    virtual_settle(&w.v);
    for (size_t i = 0; i < station.conns; i++)
        if (station.conn[i].stream != NULL)
            stream_close(station.conn[i].stream);
    stream_unlisten(station.listener);
    sle_free(station.engine);
    virtual_fini(&w.v);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cla_frame_sle");
    TCase *t = tcase_create("frame_sle");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, down_and_up);
    tcase_add_test(t, back_pressure);
    tcase_add_test(t, connections_end);
    tcase_add_test(t, refused);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
