/* SPDX-License-Identifier: Apache-2.0 */
/* A ground station in the virtual world of frame_port_help.h: it provides RAF, RCF and FCLTU, and
 * hears and speaks to the spacecraft, w.b. */
#ifndef TESTS_UNIT_FRAME_SLE_HELP_H
#define TESTS_UNIT_FRAME_SLE_HELP_H

#include "cla/framed/sle_conn.h"
#include "cla/framed/sle_digest.h"
#include "frame_port_help.h"
#include "sle/provider.h"

#define RAF_ID "sagr=1.spack=1.rsl-fg=1.raf=onlc1"
#define RAF2_ID "sagr=1.spack=1.rsl-fg=1.raf=onlc2"
#define RCF_ID "sagr=1.spack=1.rsl-fg=1.rcf=onlc1"
#define CLTU_ID "sagr=1.spack=1.fsl-fg=1.cltu=cltu1"
#define CONNS 64

static struct {
    struct sle *engine;
    struct sle_host host;
    struct sle_digests *digests;
    struct sle_instance *raf, *raf2, *rcf, *cltu, *frame_service;
    struct stream_listener *listener;
    struct sle_conn *conn[CONNS]; /* NULL: over */
    size_t conns;
    bool deaf;       /* what was connected is not answered */
    bool interrupts; /* the next CLTU, once: it is not radiated, and production goes on */
    uint64_t frames, cltus, not_taken;
    struct sle_counts counts; /* at the end */
} station;

static inline struct sle_time time_now(void)
{
    return sle_now(station.engine, w.v.now);
}

/* CLTUs are radiated at once, to the spacecraft. */
static inline void radiate_cltus(void)
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
        if (station.interrupts) {
            station.interrupts = false;
            sle_provider_production(station.cltu, SLE_UP_INTERRUPTED, w.v.now);
            sle_provider_production(station.cltu, SLE_OPERATIONAL, w.v.now);
            continue;
        }
        ck_assert_ptr_nonnull(p);
        virtual_arrive(p, &from, out.data);
        station.cltus++;
        sle_provider_cltu_radiated(station.cltu, time_now(), w.v.now);
    }
}

static inline void station_notice(void *context, struct sle_conn *c, const struct sle_notice *n)
{
    (void)context, (void)c;
    if (n->kind == SLE_CLTU_READY)
        radiate_cltus();
}

static inline void station_gone(void *context, struct sle_conn *c, int error)
{
    struct sle_conn **place = context;
    (void)error;
    ck_assert_ptr_eq(*place, c);
    *place = NULL;
}

static const struct sle_conn_user station_user = {.notice = station_notice, .gone = station_gone};

static inline void pump_all(void)
{
    for (size_t i = 0; i < station.conns; i++)
        if (station.conn[i] != NULL && !station.deaf)
            sle_conn_pump(station.conn[i]);
}

static inline void be_deaf(bool on)
{
    station.deaf = on;
    for (size_t i = 0; i < station.conns; i++)
        if (station.conn[i] != NULL)
            sle_conn_hold(station.conn[i], on);
}

static inline void abort_all(void)
{
    for (size_t i = 0; i < station.conns; i++)
        if (station.conn[i] != NULL)
            sle_link_abort(sle_conn_link(station.conn[i]), SLE_ABORT_OPERATIONAL, w.v.now);
    pump_all();
}

static inline void accept_conn(void *context, struct stream *s)
{
    (void)context;
    ck_assert_uint_lt(station.conns, CONNS);
    struct sle_conn **place = &station.conn[station.conns++];
    *place =
        sle_conn_new(&station.host, s, sle_accept(station.engine, w.v.now), &station_user, place);
    sle_conn_hold(*place, station.deaf);
}

/* What the spacecraft sends comes to the station as telemetry. */
static inline bool carry_down(void *context, struct virtual_port *from, const struct address *to,
                              struct slice head, struct slice data)
{
    struct sle_frame f = {.data = head, .time = time_now()};
    (void)context, (void)from, (void)to;
    ck_assert_uint_eq(data.len, 0);
    station.frames++;
    for (struct sle_instance *const *i = (struct sle_instance *[]){station.raf, station.rcf, NULL};
         *i != NULL; i++) {
        if (!sle_provider_active(*i))
            continue;
        station.frame_service = *i;
        station.not_taken += sle_provider_frame(*i, &f, w.v.now) == SLE_FULL;
    }
    return true;
}

static inline struct sle_identity identity(const char *id, const char *password)
{
    struct sle_identity who = {.id = ""};
    snprintf(who.id, sizeof who.id, "%s", id);
    ck_assert(sle_password_read(password, &who));
    return who;
}

static inline void add_instance(const char *id, uint32_t versions, struct sle_instance **out)
{
    static const char *const users[] = {"CENTRE"};
    static const struct sle_gvcid channels[] = {{.version = 1, .scid = 0xab, .vcid = SLE_MASTER}};
    struct sle_provider_config c = {.id = id,
                                    .initiators = users,
                                    .initiator_count = 1,
                                    .responder_port = "PORT1",
                                    .versions = versions,
                                    .latency = 10 * TICK_MS,
                                    .gvcids = channels,
                                    .gvcid_count = 1};
    ck_assert_int_eq(sle_provider_add(station.engine, &c, out), 0);
}

static inline void begin_station(enum sle_auth_level level)
{
    struct address at;
    memset(&station, 0, sizeof station);
    begin_world();
    w.v.wall = UINT64_C(1763834391000000000);
    w.v.carry = carry_down;
    station.digests = sle_digests_new();
    ck_assert_ptr_nonnull(station.digests);
    struct sle_config config = {.self = identity("STATION", "aabbccdd"),
                                .hash = sle_digest,
                                .hash_context = station.digests,
                                .unix_ns = w.v.wall,
                                .seed = 7};
    struct sle_peer peer = {.who = identity("CENTRE", "00112233"), .level = level};
    ck_assert_ptr_nonnull(station.engine = sle_new(&config));
    sle_host_init(&station.host, &w.v.world, station.engine);
    ck_assert_int_eq(sle_peer_set(station.engine, &peer), 0);
    add_instance(RAF_ID, 0, &station.raf);
    add_instance(RAF2_ID, 0, &station.raf2);
    add_instance(RCF_ID, 0, &station.rcf);
    add_instance(CLTU_ID, 1u << 2 | 1u << 4 | 1u << 5, &station.cltu);
    ck_assert_int_eq(address_parse("127.0.0.1:2", &at), 0);
    ck_assert_int_eq(stream_listen(&w.v.world, &station.listener,
                                   &(struct stream_place){.address = &at}, accept_conn, NULL),
                     0);
}

/* Frames are offered and CLTUs taken between alarms. */
static inline void run_until(tick end)
{
    while (w.v.now < end) {
        virtual_advance(&w.v, tick_min(virtual_due(&w.v), end));
        while (virtual_due(&w.v) <= w.v.now)
            virtual_fire(&w.v);
        if (station.engine != NULL)
            pump_all();
    }
}

static inline struct frame_keys centre_keys(void)
{
    static char raf[] = RAF_ID, cltu[] = CLTU_ID, user[] = "CENTRE", provider[] = "STATION",
                port[] = "PORT1";
    struct frame_keys k = keys_of(FRAMES_CLTU, 0, 0);
    k.in.kind = FRAMES_AOS;
    k.numbers = k.segments = true;
    k.wire = FRAME_WIRE_SLE;
    k.sle_raf = raf;
    k.sle_cltu = cltu;
    k.sle_user = user;
    k.sle_provider = provider;
    k.sle_port = port;
    k.sle_version = 5;
    k.sle_reconnect = TICK_S;
    k.sle_reconnect_max = 60 * TICK_S;
    return k;
}

static inline void authenticate(struct frame_keys *k, int level, int hash)
{
    static char ours[] = "00112233", theirs[] = "AABBCCDD";
    k->sle_auth = level;
    k->sle_hash = hash;
    k->sle_password = ours;
    k->sle_provider_password = theirs;
}

static inline void open_space(void)
{
    struct frame_keys space = keys_of(FRAMES_AOS, 1115, 0);
    space.in.kind = FRAMES_CLTU;
    space.numbers = space.segments = true;
    open_end(&w.b, &space, "127.0.0.1:4", "127.0.0.1:3");
}

/* Frames of another virtual channel of the spacecraft. */
static inline void send_channel(uint8_t vcid, unsigned n)
{
    struct frame_format format = {.kind = FRAME_AOS, .length = 1115, .fecf = 2};
    uint8_t bytes[1115];
    struct address to;
    ck_assert_int_eq(address_parse("127.0.0.1:3", &to), 0);
    for (unsigned i = 0; i < n; i++) {
        struct frame f = {.kind = FRAME_AOS, .scid = 0xab, .vcid = vcid, .count = i};
        frame_write_idle(&format, &f, bytes);
        ck_assert(carry_down(NULL, NULL, &to, slice_of(bytes, sizeof bytes), slice_of(NULL, 0)));
    }
    pump_all();
}

static inline size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

static inline void end_chain(void)
{
    struct end *all[] = {&w.a, &w.b};
    for (size_t i = 0; i < 2; i++)
        if (all[i]->port != NULL && !all[i]->closed)
            port_close(all[i]->port, on_closed, all[i]);
    run_until(w.v.now + 10 * TICK_S);
    virtual_settle(&w.v);
    ck_assert(w.a.closed && (w.b.port == NULL || w.b.closed));
    stream_unlisten(station.listener);
    for (size_t i = 0; i < station.conns; i++)
        sle_conn_free(station.conn[i]);
    station.counts = *sle_counts(station.engine);
    sle_check(station.engine);
    sle_host_fini(&station.host);
    sle_free(station.engine);
    sle_digests_free(station.digests);
    station.engine = NULL;
    virtual_fini(&w.v);
}

#endif
