/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of thousands of bundles: the node is given a part of them in each turn of the loop, and
 * what was not given yet counts as arriving. */
#include <string.h>

#include "bp/codec/bundle.h"
#include "cla/ltp/ltp_config.h"
#include "cla/ltp/ltp_link.h"
#include "ltp/segment.h"
#include "sim/virtual.h"
#include "tests/unit/suite.h"

enum { BUNDLES = 3000, PAYLOAD = 10, DATAGRAM = 60000 };

static struct {
    struct virtual_world v;
    struct rng rng;
    struct ltp_link_config config;
    struct cla *cla;
    void *shared;
    unsigned received, sent, done, taken_back;
    uint64_t arriving;
    unsigned close_after; /* the node closes the link with that bundle; 0: it does not */
    bool closed;
} w;

static void on_closed(void *context)
{
    (void)context;
    w.closed = true;
}

static bool carry(void *context, struct virtual_port *from, const struct address *to,
                  struct slice head, struct slice data)
{
    (void)context;
    (void)from;
    (void)to;
    (void)head;
    (void)data;
    w.sent++;
    return true;
}

static void on_received(void *context, struct cla *c, struct buf *bundle, uint64_t token)
{
    (void)context;
    w.received++;
    buf_drop(bundle);
    c->ops->confirm(c, token, CLA_ACCEPTED);
    if (w.received == w.close_after)
        c->ops->close(c, on_closed, NULL);
}

static void on_done(void *context, struct cla *c, uint64_t key, enum cla_outcome outcome,
                    enum cla_reason reason)
{
    (void)context;
    (void)c;
    (void)reason;
    ck_assert_uint_lt(key, 3);
    w.done++;
    w.taken_back += outcome == CLA_TAKEN_BACK;
}

static bool on_reserve(void *context, struct cla *c, uint64_t bytes)
{
    (void)context;
    (void)c;
    w.arriving += bytes;
    return true;
}

static void on_release(void *context, struct cla *c, uint64_t bytes)
{
    (void)context;
    (void)c;
    ck_assert_uint_ge(w.arriving, bytes);
    w.arriving -= bytes;
}

static void begin_with(unsigned close_after, uint64_t aggregate)
{
    char why[256] = "";
    memset(&w, 0, sizeof w);
    w.close_after = close_after;
    rng_init(&w.rng, 1);
    virtual_init(&w.v, 0, &w.rng, 0);
    w.v.carry = carry;
    ck_assert_int_eq(conf_options_default(ltp_link_options, &w.config, conf_option_set), 0);
    ck_assert_int_eq(address_parse("10.0.0.2:1113", &w.config.udp.local), 0);
    ck_assert_int_eq(address_parse("10.0.0.1:1113", &w.config.udp.remote.address), 0);
    w.config.rto = TICK_S;
    w.config.aggregate = aggregate;
    struct cla_env env = {.world = &w.v.world,
                          .node = eid_ipn(0, 2, 0),
                          .peer = eid_ipn(0, 1, 0),
                          .bundle_max = 1 << 20,
                          .seed = 1,
                          .confirm = true,
                          .events = {.received = on_received,
                                     .done = on_done,
                                     .reserve = on_reserve,
                                     .release = on_release},
                          .shared = &w.shared};
    ck_assert_msg(cla_find("ltp-udp")->open(&w.cla, &env, &w.config, why, sizeof why) == 0, "%s",
                  why);
    virtual_settle(&w.v);
}

static void begin(unsigned close_after)
{
    begin_with(close_after, 0);
}

static void end(void)
{
    if (w.close_after == 0)
        w.cla->ops->close(w.cla, on_closed, NULL);
    for (int i = 0; i < 10 && !w.closed; i++) {
        virtual_settle(&w.v);
        virtual_fire(&w.v);
    }
    ck_assert(w.closed);
    ck_assert_uint_eq(w.arriving, 0);
    conf_options_free(ltp_link_options, &w.config);
    virtual_fini(&w.v);
}

static struct buf *make_bundles(unsigned count)
{
    static const uint8_t payload[PAYLOAD];
    struct buf *all = buf_new(0, BUNDLES * 100);
    struct bundle b;
    bundle_init(&b);
    b.id.source = eid_ipn(0, 1, 5);
    b.destination = eid_ipn(0, 2, 7);
    b.id.time_ms = 800000000000;
    b.lifetime_ms = 1000;
    b.payload = slice_of(payload, sizeof payload);
    for (unsigned i = 0; i < count; i++) {
        b.id.sequence = i;
        struct buf *one = bundle_encode_copy(&b);
        memcpy(buf_append(all, one->len), buf_data(one), one->len);
        buf_drop(one);
    }
    return all;
}

static struct buf *make_block(void)
{
    return make_bundles(BUNDLES);
}

/* All of a red block, in as many datagrams as it takes; the last one asks for a report. */
static void send_block(struct buf *all)
{
    static uint8_t bytes[DATAGRAM + 100];
    struct virtual_port *port = container_of(list_first(&w.v.ports), struct virtual_port, node);
    for (size_t at = 0; at < all->len; at += DATAGRAM) {
        const size_t len = all->len - at < DATAGRAM ? all->len - at : DATAGRAM;
        const bool last = at + len == all->len;
        struct ltp_segment s = {.type = last ? LTP_RED_CP_EOB : LTP_RED,
                                .id = {.originator = 1, .number = 9},
                                .client_service = 1,
                                .offset = at,
                                .data = slice_of(buf_data(all) + at, len),
                                .cp_serial = 1};
        const size_t size = segment_write(&s, bytes, sizeof bytes);
        ck_assert_uint_gt(size, 0);
        virtual_arrive(port, &w.config.udp.remote.address, slice_of(bytes, size));
    }
}

/* Bundles of the longest turn, until nothing more comes. */
static unsigned longest_turn(void)
{
    unsigned most = 0, before;
    do {
        before = w.received;
        virtual_settle(&w.v);
        most = w.received - before > most ? w.received - before : most;
        before = w.received;
        virtual_fire(&w.v);
        most = w.received - before > most ? w.received - before : most;
    } while (w.received != before || virtual_due(&w.v) <= w.v.now);
    return most;
}

START_TEST(a_part_in_each_turn)
{
    begin(0);
    struct buf *all = make_block();
    send_block(all);
    ck_assert_uint_le(longest_turn(), CAPSULES_TURN);
    ck_assert_uint_eq(w.received, BUNDLES);
    ck_assert_uint_ge(w.sent, 1); /* the report */
    buf_drop(all);
    end();
}
END_TEST

/* What was not given yet counts. */
START_TEST(the_rest_is_arriving)
{
    begin(0);
    struct buf *all = make_block();
    send_block(all);
    while (w.received == 0)
        virtual_settle(&w.v);
    ck_assert_uint_le(w.received, CAPSULES_TURN);
    ck_assert_uint_ge(w.arriving, all->len);
    (void)longest_turn();
    ck_assert_uint_lt(w.arriving, all->len);
    buf_drop(all);
    end();
}
END_TEST

/* The node closes the link amid a block, in the first turn and later. */
START_TEST(the_link_goes_amid_them)
{
    static const unsigned when[] = {1, CAPSULES_TURN, CAPSULES_TURN + 1, BUNDLES};
    begin(when[_i]);
    struct buf *all = make_block();
    send_block(all);
    for (int i = 0; i < 20; i++) {
        virtual_settle(&w.v);
        virtual_fire(&w.v);
    }
    ck_assert_uint_eq(w.received, when[_i]);
    buf_drop(all);
    end();
}
END_TEST

/* A block of three bundles is on its way. One that is taken back twice, at its end of life and at
 * the end of a contact, counts once: the block goes on for the others until all are taken back. */
START_TEST(taken_back_twice)
{
    begin_with(0, 10000);
    struct buf *bundle = make_bundles(1);
    for (uint64_t key = 0; key < 3; key++)
        ck_assert_int_eq(w.cla->ops->send(w.cla, key, bundle), CLA_REASON_NONE);
    while (w.sent == 0) {
        virtual_settle(&w.v);
        virtual_fire(&w.v);
    }
    static const uint64_t keys[] = {1, 1, 0, 1, 0};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        ck_assert_int_eq(w.cla->ops->cancel(w.cla, keys[i]), 0);
    virtual_settle(&w.v);
    ck_assert_uint_eq(w.done, 0);
    ck_assert_int_eq(w.cla->ops->cancel(w.cla, 2), 0);
    virtual_settle(&w.v);
    virtual_fire(&w.v);
    virtual_settle(&w.v);
    ck_assert_uint_eq(w.done, 3);
    ck_assert_uint_eq(w.taken_back, 3);
    ck_assert_int_eq(w.cla->ops->cancel(w.cla, 2), HELIO_ENOENT);
    buf_drop(bundle);
    end();
}
END_TEST

SUITE(cla_ltp_rows, t)
{
    tcase_add_test(t, a_part_in_each_turn);
    tcase_add_test(t, the_rest_is_arriving);
    tcase_add_test(t, taken_back_twice);
    tcase_add_loop_test(t, the_link_goes_amid_them, 0, 4);
}
