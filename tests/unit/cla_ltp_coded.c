/* SPDX-License-Identifier: Apache-2.0 */
/* Links with erasure code in a virtual world: losses cost no retransmission, other configurations
 * at the peer are counted, and nonsense of the peer takes neither memory nor bundles. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bp/codec/bundle.h"
#include "cla/ltp/ltp_config.h"
#include "erasure/erasure.h"
#include "sim/virtual.h"
#include "tests/unit/suite.h"

enum { FLIGHTS = 4096, LONGEST = 1200, DELAY = 5 * TICK_MS, BUNDLES = 60, PAYLOAD = 20000 };

struct side {
    struct cla *cla;
    struct ltp_link_config config;
    unsigned outcomes[CLA_OUTCOME_COUNT], received;
    char said[512]; /* the last line for the operator */
    unsigned coded; /* lines that name an erasure code */
    bool up, closed;
    void *shared;
    uint64_t rows[MATRIX_DISPLACED + 1]; /* of the segment log: matrices by what happened, */
    uint64_t repairs_sent, repaired, missing, delay; /* and what they say; the longest delay */
};

struct flight {
    tick at;
    uint64_t port;
    struct address from;
    size_t len;
    uint8_t bytes[LONGEST];
};

static struct {
    struct virtual_world v;
    struct rng rng;
    struct side a, b;
    struct flight flight[FLIGHTS]; /* a ring */
    size_t head, flying, lost;
    double erase; /* share of packets of a that are lost */
} w;

static bool carry(void *context, struct virtual_port *from, const struct address *to,
                  struct slice head, struct slice data)
{
    (void)context;
    if (address_equal(&from->self, &w.a.config.udp.local) && rng_chance(&w.rng, w.erase)) {
        w.lost++;
        return true;
    }
    list_for_each (it, &w.v.ports) {
        struct virtual_port *port = container_of(it, struct virtual_port, node);
        if (!address_equal(&port->self, to))
            continue;
        ck_assert_uint_lt(w.flying, FLIGHTS);
        struct flight *f = &w.flight[(w.head + w.flying++) % FLIGHTS];
        f->at = w.v.now + DELAY;
        f->port = port->number;
        f->from = from->self;
        f->len = head.len + data.len;
        ck_assert_uint_le(f->len, LONGEST);
        memcpy(f->bytes, head.data, head.len);
        if (data.len > 0)
            memcpy(f->bytes + head.len, data.data, data.len);
        return true;
    }
    return false;
}

static void on_received(void *context, struct cla *c, struct buf *bundle, uint64_t token)
{
    ((struct side *)context)->received++;
    buf_drop(bundle);
    c->ops->confirm(c, token, CLA_ACCEPTED);
}

static void on_done(void *context, struct cla *c, uint64_t key, enum cla_outcome outcome,
                    enum cla_reason reason)
{
    (void)c;
    (void)key;
    (void)reason;
    ((struct side *)context)->outcomes[outcome]++;
}

static void on_link(void *context, struct cla *c, bool up)
{
    (void)c;
    ((struct side *)context)->up = up;
}

static void on_say(void *context, struct cla *c, int level, const char *text)
{
    struct side *s = context;
    (void)c;
    (void)level;
    snprintf(s->said, sizeof s->said, "%s", text);
    s->coded += strstr(text, "an erasure code") != NULL;
}

static void on_closed(void *context)
{
    ((struct side *)context)->closed = true;
}

static void on_event(void *context, const struct event *e)
{
    struct side *s = context, *sender = e->cause <= MATRIX_ANSWERED ? s : s == &w.a ? &w.b : &w.a;
    if (e->kind != EVENT_MATRIX)
        return;
    ck_assert_uint_eq(e->now, w.v.now);
    ck_assert_uint_eq(e->peer, s == &w.a ? 2 : 1);
    ck_assert_uint_eq(e->originator, sender == &w.a ? 1 : 2);
    ck_assert(e->matrix != EVENT_NONE && e->segments > 0 && e->session == EVENT_NONE);
    s->rows[e->cause]++;
    if (sender == s) {
        s->repairs_sent += e->repairs;
        return;
    }
    ck_assert((e->delay == EVENT_NONE) == (e->repaired == 0));
    s->repaired += e->repaired;
    s->missing += e->missing;
    s->delay = e->repaired > 0 ? tick_max(s->delay, e->delay) : s->delay;
}

static void set_keys(struct side *s, const char *local, const char *remote)
{
    ck_assert_int_eq(conf_options_default(ltp_link_options, &s->config, conf_option_set), 0);
    ck_assert_int_eq(address_parse(local, &s->config.udp.local), 0);
    ck_assert_int_eq(address_parse(remote, &s->config.udp.remote.address), 0);
    s->config.pace.rate = 20000000;
    s->config.owlt = DELAY;
    s->config.sessions = BUNDLES;
    s->config.recovery = LTP_LINK_PLAIN;
    s->config.erasure = LTP_LINK_ERASURE_RS8;
    s->config.erasure_span = 128;
    s->config.erasure_rate = 0.75;
    s->config.erasure_matrices = 4;
}

static void open_side(struct side *s, unsigned node)
{
    char why[256] = "";
    const char *key = NULL;
    const struct cla_ops *ops = cla_find("ltp-udp");
    ck_assert_msg(ops->check(&s->config, &key, why, sizeof why) == 0, "%s: %s", key, why);
    struct cla_env env = {.world = &w.v.world,
                          .node = eid_ipn(0, node, 0),
                          .peer = eid_ipn(0, 3 - node, 0),
                          .bundle_max = 1 << 20,
                          .seed = node,
                          .events = {.context = s,
                                     .received = on_received,
                                     .done = on_done,
                                     .link = on_link,
                                     .say = on_say},
                          .sink = on_event,
                          .sink_context = s,
                          .shared = &s->shared};
    ck_assert_msg(ops->open(&s->cla, &env, &s->config, why, sizeof why) == 0, "%s", why);
}

static void run_until(tick end)
{
    for (;;) {
        virtual_settle(&w.v);
        tick flight = w.flying > 0 ? w.flight[w.head].at : TICK_NEVER;
        tick due = tick_min(flight, virtual_due(&w.v));
        if (due > end)
            break;
        virtual_advance(&w.v, due);
        if (flight <= due) {
            struct flight *f = &w.flight[w.head];
            w.head = (w.head + 1) % FLIGHTS;
            w.flying--;
            struct virtual_port *port = virtual_port_at(&w.v, f->port);
            if (port != NULL)
                virtual_arrive(port, &f->from, slice_of(f->bytes, f->len));
        } else {
            virtual_fire(&w.v);
        }
    }
    virtual_advance(&w.v, end);
}

static void begin(void)
{
    memset(&w, 0, sizeof w);
    rng_init(&w.rng, 1);
    virtual_init(&w.v, 0, &w.rng, 0);
    w.v.carry = carry;
    set_keys(&w.a, "10.0.0.1:1113", "10.0.0.2:1113");
    set_keys(&w.b, "10.0.0.2:1113", "10.0.0.1:1113");
}

static void open_both(void)
{
    open_side(&w.a, 1);
    open_side(&w.b, 2);
    run_until(TICK_MS);
    ck_assert(w.a.up && w.b.up);
}

static void end_world(void)
{
    w.a.cla->ops->close(w.a.cla, on_closed, &w.a);
    w.b.cla->ops->close(w.b.cla, on_closed, &w.b);
    run_until(w.v.now + TICK_S);
    ck_assert(w.a.closed && w.b.closed);
    conf_options_free(ltp_link_options, &w.a.config);
    conf_options_free(ltp_link_options, &w.b.config);
    virtual_fini(&w.v);
}

static void send_bundles(struct side *s, unsigned count)
{
    static const uint8_t bytes[PAYLOAD];
    struct bundle b;
    bundle_init(&b);
    b.id.source = eid_ipn(0, 1, 5);
    b.destination = eid_ipn(0, 2, 7);
    b.id.time_ms = 800000000000;
    b.lifetime_ms = 1000;
    b.payload = slice_of(bytes, sizeof bytes);
    for (unsigned i = 0; i < count; i++) {
        struct buf *whole = bundle_encode_copy(&b);
        ck_assert_int_eq(s->cla->ops->send(s->cla, i, whole), CLA_REASON_NONE);
        buf_drop(whole);
    }
}

/* A number of a link's status, such as "erasure.received.mismatches". */
static uint64_t number_of(struct side *s, const char *path)
{
    char name[100], *rest = NULL;
    json_t *o = json_object(), *at = o;
    s->cla->ops->status(s->cla, o);
    snprintf(name, sizeof name, "%s", path);
    for (char *part = strtok_r(name, ".", &rest); part != NULL; part = strtok_r(NULL, ".", &rest)) {
        at = json_object_get(at, part);
        ck_assert_msg(at != NULL, "%s has no %s", path, part);
    }
    uint64_t v = (uint64_t)json_integer_value(at);
    json_decref(o);
    return v;
}

/* The rows of matrices say the same as the counters, when no matrix is in work. */
static void check_rows(struct side *s)
{
    const uint64_t *r = s->rows;
    ck_assert_uint_eq(r[MATRIX_SENT], number_of(s, "erasure.sent.matrices"));
    ck_assert_uint_eq(r[MATRIX_ANSWERED], number_of(s, "erasure.sent.requests_answered"));
    ck_assert_uint_eq(s->repairs_sent, number_of(s, "erasure.sent.repair_segments"));
    ck_assert_uint_eq(r[MATRIX_WHOLE], number_of(s, "erasure.received.matrices_whole"));
    ck_assert_uint_eq(r[MATRIX_REPAIRED], number_of(s, "erasure.received.matrices_repaired"));
    ck_assert_uint_eq(r[MATRIX_FAILED] + r[MATRIX_DISPLACED],
                      number_of(s, "erasure.received.matrices_failed"));
    ck_assert_uint_eq(r[MATRIX_DISPLACED], number_of(s, "erasure.received.matrices_displaced"));
    ck_assert_uint_eq(s->repaired, number_of(s, "erasure.received.segments_repaired"));
    ck_assert_uint_eq(s->missing, number_of(s, "erasure.received.segments_lost"));
    ck_assert_uint_eq(s->delay, number_of(s, "erasure.received.delay_max_ns"));
}

/* 25 % of what leaves are repair segments, 10 % of it are lost. */
START_TEST(losses_cost_no_retransmission)
{
    begin();
    w.erase = 0.1;
    if (_i == 1)
        w.a.config.erasure = w.b.config.erasure = LTP_LINK_ERASURE_RS;
    open_both();
    send_bundles(&w.a, BUNDLES);
    run_until(5 * TICK_S);
    ck_assert_uint_eq(w.a.outcomes[CLA_DELIVERED], BUNDLES);
    ck_assert_uint_eq(w.b.received, BUNDLES);
    ck_assert_uint_gt(w.lost, 100);
    ck_assert_uint_eq(number_of(&w.a, "span.output_seg_re_xmit_count"), 0);
    ck_assert_uint_eq(number_of(&w.a, "timers.checkpoint"), 0);
    ck_assert_uint_gt(number_of(&w.b, "erasure.received.segments_repaired"), 100);
    ck_assert_uint_eq(number_of(&w.b, "erasure.received.matrices_failed"), 0);
    ck_assert_uint_eq(number_of(&w.b, "erasure.received.mismatches"), 0);
    uint64_t all = number_of(&w.a, "erasure.sent.segments");
    ck_assert_uint_ge(number_of(&w.a, "erasure.sent.repair_segments"), all / 4);
    ck_assert_uint_le(number_of(&w.a, "erasure.sent.repair_segments"), all / 2);
    struct cla_gauges g = {0};
    w.b.cla->ops->gauges(w.b.cla, &g);
    ck_assert(g.coded && g.unrepaired == 0 && g.code_mismatches == 0);
    ck_assert_uint_eq(g.repaired, number_of(&w.b, "erasure.received.segments_repaired"));
    ck_assert_uint_eq(g.matrices_repaired, w.b.rows[MATRIX_REPAIRED]);
    ck_assert(g.matrices_failed == 0 && g.matrices_repaired > 0 && g.repair_delay > w.b.delay);
    check_rows(&w.a);
    check_rows(&w.b);
    end_world();
}
END_TEST

/* The same losses without the code, to see that the test above can fail. */
START_TEST(without_code)
{
    begin();
    w.erase = 0.1;
    w.a.config.erasure = w.b.config.erasure = LTP_LINK_ERASURE_OFF;
    open_both();
    send_bundles(&w.a, BUNDLES);
    run_until(5 * TICK_S);
    ck_assert_uint_eq(w.b.received, BUNDLES);
    ck_assert_uint_gt(number_of(&w.a, "span.output_seg_re_xmit_count"), 100);
    struct cla_gauges g = {0};
    w.b.cla->ops->gauges(w.b.cla, &g);
    ck_assert(!g.coded && g.repaired == 0);
    end_world();
}
END_TEST

/* When more is lost than the code repairs, LTP repeats it. */
START_TEST(beyond_the_code)
{
    begin();
    w.erase = 0.4;
    open_both();
    send_bundles(&w.a, BUNDLES);
    run_until(60 * TICK_S);
    ck_assert_uint_eq(w.a.outcomes[CLA_DELIVERED], BUNDLES);
    ck_assert_uint_eq(w.b.received, BUNDLES);
    ck_assert_uint_gt(number_of(&w.a, "span.output_seg_re_xmit_count"), 0);
    ck_assert_uint_gt(number_of(&w.b, "erasure.received.matrices_failed"), 0);
    ck_assert_uint_gt(w.b.missing, 0);
    check_rows(&w.a);
    check_rows(&w.b);
    end_world();
}
END_TEST

/* As many are lost as there are repair segments: the peer asks for more of them, and LTP has
 * nothing to repeat. Without requests it has. */
START_TEST(requests_instead_of_retransmissions)
{
    begin();
    w.erase = 0.26;
    w.a.config.erasure = w.b.config.erasure = LTP_LINK_ERASURE_RS;
    w.a.config.erasure_span = w.b.config.erasure_span = 400;
    w.a.config.erasure_requests = w.b.config.erasure_requests = _i == 0;
    open_both();
    send_bundles(&w.a, BUNDLES);
    run_until(20 * TICK_S);
    ck_assert_uint_eq(w.a.outcomes[CLA_DELIVERED], BUNDLES);
    ck_assert_uint_eq(w.b.received, BUNDLES);
    if (_i == 0) {
        ck_assert_uint_eq(number_of(&w.a, "span.output_seg_re_xmit_count"), 0);
        ck_assert_uint_gt(number_of(&w.a, "erasure.sent.requests_answered"), 1);
        ck_assert_uint_eq(number_of(&w.b, "erasure.received.matrices_failed"), 0);
    } else {
        ck_assert_uint_gt(number_of(&w.a, "span.output_seg_re_xmit_count"), 100);
    }
    check_rows(&w.a);
    check_rows(&w.b);
    end_world();
}
END_TEST

START_TEST(another_code_at_the_peer)
{
    begin();
    w.b.config.erasure_span = 64;
    open_both();
    send_bundles(&w.a, 5);
    run_until(100 * TICK_MS);
    ck_assert_uint_gt(number_of(&w.b, "erasure.received.mismatches"), 0);
    ck_assert_ptr_nonnull(strstr(w.b.said, "packets of the peer have another erasure code"));
    ck_assert_ptr_nonnull(strstr(w.b.said, "a span of 64 segments"));
    end_world();
}
END_TEST

/* The same of frames. */
START_TEST(frames_at_one_end)
{
    static const struct {
        int frames, cadu;
        const char *what;
    } kinds[] = {
        {FRAMES_AOS, FRAME_CODE_OFF, "CCSDS frames"},  {FRAMES_TM, FRAME_CODE_OFF, "CCSDS frames"},
        {FRAMES_USLP, FRAME_CODE_OFF, "CCSDS frames"}, {FRAMES_TC, FRAME_CODE_OFF, "CCSDS frames"},
        {FRAMES_CLTU, FRAME_CODE_OFF, "CLTUs"},        {FRAMES_AOS, FRAME_CODE_UNCODED, "CADUs"}};
    char text[160];
    begin();
    w.a.config.erasure = w.b.config.erasure = LTP_LINK_ERASURE_OFF;
    w.a.config.segment = 400;
    w.a.config.frames.out.kind = kinds[_i].frames;
    w.a.config.frames.cadu = kinds[_i].cadu;
    open_both();
    send_bundles(&w.a, 5);
    send_bundles(&w.b, 5);
    run_until(100 * TICK_MS);
    ck_assert_uint_eq(w.a.received + w.b.received, 0);
    snprintf(text, sizeof text,
             "%s come from 10.0.0.1:1113 and are refused (1 so far): this link has no frames",
             kinds[_i].what);
    ck_assert_msg(strstr(w.b.said, text) != NULL, "%s", w.b.said);
    ck_assert_msg(strstr(w.a.said, "the received data are no frames of this link (1 so far") !=
                      NULL,
                  "%s", w.a.said);
    ck_assert_uint_gt(number_of(&w.a, "frames.line.misfits"), 0);
    end_world();
}
END_TEST

START_TEST(no_code_at_the_peer)
{
    begin();
    w.a.config.erasure = LTP_LINK_ERASURE_OFF;
    open_both();
    send_bundles(&w.a, 5);
    send_bundles(&w.b, 5);
    run_until(100 * TICK_MS);
    ck_assert_uint_eq(w.a.received + w.b.received, 0);
    ck_assert_uint_ge(number_of(&w.b, "erasure.received.mismatches"), 100);
    ck_assert_ptr_nonnull(strstr(w.b.said, "the peer sends segments without erasure code"));
    ck_assert_uint_ge(number_of(&w.a, "verdicts.bad_version"), 100);
    ck_assert_ptr_nonnull(strstr(w.a.said, "packets of an erasure code come from 10.0.0.2:1113 and "
                                           "are refused (1 so far)"));
    send_bundles(&w.b, 5);
    run_until(59 * TICK_S);
    ck_assert_uint_eq(w.a.coded, 1); /* at most once a minute */
    end_world();
}
END_TEST

static struct virtual_port *port_of(const struct side *s)
{
    list_for_each (it, &w.v.ports) {
        struct virtual_port *port = container_of(it, struct virtual_port, node);
        if (address_equal(&port->self, &s->config.udp.local))
            return port;
    }
    ck_abort_msg("no port");
}

/* Noise that begins like a coded packet has no right CRC: nothing is said of it. */
START_TEST(noise_like_a_code)
{
    static const uint8_t noise[200] = {0xe0};
    begin();
    w.a.config.erasure = w.b.config.erasure = LTP_LINK_ERASURE_OFF;
    open_both();
    virtual_arrive(port_of(&w.a), &w.b.config.udp.local, slice_of(noise, sizeof noise));
    run_until(100 * TICK_MS);
    ck_assert_uint_eq(number_of(&w.a, "verdicts.bad_version"), 1);
    ck_assert_uint_eq(w.a.coded, 0);
    end_world();
}
END_TEST

/* The second packet of a matrix of this number, which contains no LTP segment. */
static size_t make_nonsense(uint32_t number, uint8_t *packet)
{
    struct erasure_config c = {.wait = TICK_S, .hold = TICK_S, .matrices = 2, .first = number};
    struct erasure_encoder *e;
    c.segment_max = 100;
    c.math = &gf_portable;
    ck_assert_ptr_null(erasure_config_set(&c, 128, 0.75, 0));
    ck_assert_int_eq(erasure_encoder_new(&e, &c), 0);
    memset(packet + ERASURE_HEAD, 0xff, 100);
    for (int i = 0; i < 2; i++)
        erasure_encoder_add(e, slice_of(packet + ERASURE_HEAD, 100), slice_of(NULL, 0), 0, packet);
    erasure_encoder_free(e);
    return ERASURE_HEAD + 100;
}

/* Packets of 2,000 matrices in the peer's name: they displace one another, and bundles that come
 * afterwards arrive. Those from elsewhere are not looked at. */
START_TEST(nonsense_matrices)
{
    uint8_t packet[LONGEST];
    struct address other;
    begin();
    open_both();
    ck_assert_int_eq(address_parse("10.0.0.9:1113", &other), 0);
    struct rng dice;
    rng_init(&dice, 7);
    for (unsigned i = 0; i < 2000; i++) {
        size_t len = make_nonsense((uint32_t)rng_below(&dice, 1 << 24), packet);
        virtual_arrive(port_of(&w.b), &w.a.config.udp.local, slice_of(packet, len));
        virtual_arrive(port_of(&w.b), &other, slice_of(packet, len));
    }
    ck_assert_uint_eq(number_of(&w.b, "erasure.received.foreign"), 2000);
    uint64_t open = w.b.config.erasure_matrices;
    ck_assert_uint_ge(number_of(&w.b, "erasure.received.matrices_displaced"), 1900 - open);
    ck_assert_uint_eq(w.b.received, 0);
    w.erase = 0.05;
    send_bundles(&w.a, BUNDLES);
    run_until(w.v.now + 5 * TICK_S);
    ck_assert_uint_eq(w.b.received, BUNDLES);
    end_world();
}
END_TEST

static void expect_mistake(const char *key, const char *text)
{
    const char *which = "";
    char why[256] = "";
    const struct cla_ops *ops = cla_find("ltp-udp");
    ck_assert_int_eq(ops->check(&w.a.config, &which, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(which, key);
    ck_assert_msg(strstr(why, text) != NULL, "%s", why);
}

START_TEST(mistakes)
{
    begin();
    w.a.config.erasure_rate = 0.999;
    expect_mistake("erasure.rate", "0.99");
    w.a.config.erasure_rate = 0.75;
    w.a.config.erasure_span = 60000;
    expect_mistake("erasure.span", "");
    w.a.config.erasure_span = 20000;
    w.a.config.erasure_matrices = 64;
    expect_mistake("erasure.matrices", "held_bytes");
    w.a.config.erasure_matrices = 4;
    w.a.config.erasure_requests = true;
    expect_mistake("erasure.requests", "erasure: rs");
    w.a.config.erasure = LTP_LINK_ERASURE_RS;
    w.a.config.erasure_span = 4;
    w.a.config.owlt = TICK_S;
    expect_mistake("erasure.requests", "64 matrices");
    w.a.config.erasure_requests = false;
    w.a.config.accept_unknown = 4;
    expect_mistake("unknown.accept", "one peer");
    w.a.config.accept_unknown = 0;
    w.a.config.pace.rate = 0;
    expect_mistake("erasure.time", "rate");
    conf_options_free(ltp_link_options, &w.a.config);
    conf_options_free(ltp_link_options, &w.b.config);
    virtual_fini(&w.v);
}
END_TEST

SUITE(cla_ltp_coded, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, losses_cost_no_retransmission, 0, 2);
    tcase_add_test(t, without_code);
    tcase_add_test(t, beyond_the_code);
    tcase_add_loop_test(t, requests_instead_of_retransmissions, 0, 2);
    tcase_add_test(t, another_code_at_the_peer);
    tcase_add_loop_test(t, frames_at_one_end, 0, 6);
    tcase_add_test(t, no_code_at_the_peer);
    tcase_add_test(t, noise_like_a_code);
    tcase_add_test(t, nonsense_matrices);
    tcase_add_test(t, mistakes);
}
