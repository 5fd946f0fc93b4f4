/* SPDX-License-Identifier: Apache-2.0 */
/* UDPCL by itself: what a datagram is, how long it may be, and two links in a virtual world. */
#include <stdlib.h>
#include <string.h>

#include "bp/codec/bundle.h"
#include "cla/udp/udpcl_config.h"
#include "cla/udp/udpcl_verdict.h"
#include "sim/virtual.h"
#include "tests/unit/suite.h"

static struct buf *bundle_of(size_t payload)
{
    struct bundle b;
    uint8_t *bytes = calloc(1, payload + 1);
    bundle_init(&b);
    b.id.source = eid_ipn(0, 1, 5);
    b.destination = eid_ipn(0, 2, 7);
    b.id.time_ms = 800000000000;
    b.lifetime_ms = 1000;
    b.payload = slice_of(bytes, payload);
    struct buf *whole = bundle_encode_copy(&b);
    free(bytes);
    return whole;
}

START_TEST(verdicts)
{
    struct buf *b = bundle_of(100);
    uint8_t twice[1000];
    ck_assert_int_eq(udpcl_judge(buf_slice(b)), UDPCL_BUNDLE);
    for (size_t n = 0; n < b->len; n++)
        ck_assert_int_eq(udpcl_judge(slice_of(buf_data(b), n)), UDPCL_MALFORMED);
    memcpy(twice, buf_data(b), b->len);
    memcpy(twice + b->len, buf_data(b), b->len);
    ck_assert_int_eq(udpcl_judge(slice_of(twice, 2 * b->len)), UDPCL_MALFORMED);
    ck_assert_int_eq(udpcl_judge(slice_of(twice, b->len + 1)), UDPCL_MALFORMED);
    ck_assert_int_eq(udpcl_judge(slice_of("\0\0\0\0", 4)), UDPCL_KEEPALIVE);
    ck_assert_int_eq(udpcl_judge(slice_of("\0\0\0", 3)), UDPCL_MALFORMED);
    ck_assert_str_eq(udpcl_verdict_name(UDPCL_KEEPALIVE), "keepalive");
    buf_drop(b);
}
END_TEST

START_TEST(longest_bundle)
{
    struct udpcl_config k = {.mtu = 1500};
    ck_assert_int_eq(address_parse("127.0.0.1:4556", &k.udp.local), 0);
    ck_assert_uint_eq(udpcl_bundle_max(&k), 1472);
    k.mtu = 65535;
    ck_assert_uint_eq(udpcl_bundle_max(&k), 65507);
    ck_assert_int_eq(address_parse("[::1]:4556", &k.udp.local), 0);
    ck_assert_uint_eq(udpcl_bundle_max(&k), 65487);
    k.mtu = 576;
    ck_assert_uint_eq(udpcl_bundle_max(&k), 528);
}
END_TEST

/* ---- two links ---- */

#define SENT_MAX 256

struct side {
    struct cla *cla;
    struct udpcl_config config;
    unsigned outcomes[CLA_OUTCOME_COUNT], reasons[CLA_REASON_COUNT], received, said;
    uint64_t last_key;
    bool up, closed;
    void *shared;
};

struct flight {
    uint64_t port;
    struct address from;
    size_t len;
    uint8_t bytes[2048];
};

struct pair {
    struct virtual_world v;
    struct rng rng;
    struct side a, b;
    struct flight flight[SENT_MAX];
    size_t flying, left;
    tick first, last; /* when datagrams left */
};

static bool carry(void *context, struct virtual_port *from, const struct address *to,
                  struct slice head, struct slice data)
{
    struct pair *p = context;
    ck_assert_uint_lt(p->flying, SENT_MAX);
    struct flight *f = &p->flight[p->flying];
    p->first = p->left++ == 0 ? p->v.now : p->first;
    p->last = p->v.now;
    list_for_each (it, &p->v.ports) {
        struct virtual_port *port = container_of(it, struct virtual_port, node);
        if (!address_equal(&port->self, to))
            continue;
        *f = (struct flight){.port = port->number, .from = from->self, .len = head.len + data.len};
        memcpy(f->bytes, head.data, head.len);
        if (data.len > 0)
            memcpy(f->bytes + head.len, data.data, data.len);
        p->flying++;
        return true;
    }
    return false;
}

static void on_received(void *context, struct cla *c, struct buf *bundle, uint64_t token)
{
    struct side *s = context;
    s->received++;
    buf_drop(bundle);
    c->ops->confirm(c, token, CLA_ACCEPTED);
}

static void on_done(void *context, struct cla *c, uint64_t key, enum cla_outcome outcome,
                    enum cla_reason reason)
{
    struct side *s = context;
    ck_assert_ptr_eq(c, s->cla);
    s->outcomes[outcome]++;
    s->reasons[reason]++;
    s->last_key = key;
}

static void on_link(void *context, struct cla *c, bool up)
{
    (void)c;
    ((struct side *)context)->up = up;
}

static void on_say(void *context, struct cla *c, int level, const char *text)
{
    (void)c;
    (void)level;
    (void)text;
    ((struct side *)context)->said++;
}

static void on_closed(void *context)
{
    ((struct side *)context)->closed = true;
}

static void open_side(struct pair *p, struct side *s, const char *local, const char *remote)
{
    char why[256] = "";
    const char *key = NULL;
    s->config.mtu = 1500;
    s->config.window = 8;
    s->config.pace = (struct pace_keys){.rate = 1000000, .overhead = 42, .slack = 2 * TICK_MS};
    ck_assert_int_eq(address_parse(local, &s->config.udp.local), 0);
    ck_assert_int_eq(address_parse(remote, &s->config.udp.remote.address), 0);
    const struct cla_ops *ops = cla_find("udp");
    ck_assert_int_eq(ops->check(&s->config, &key, why, sizeof why), 0);
    struct cla_env env = {.world = &p->v.world,
                          .node = eid_ipn(0, 1, 0),
                          .peer = eid_ipn(0, 2, 0),
                          .bundle_max = 1 << 20,
                          .seed = 1,
                          .events = {.context = s,
                                     .received = on_received,
                                     .done = on_done,
                                     .link = on_link,
                                     .say = on_say},
                          .shared = &s->shared};
    ck_assert_msg(ops->open(&s->cla, &env, &s->config, why, sizeof why) == 0, "%s", why);
}

/* Until nothing is left to happen. */
static void settle(struct pair *p)
{
    tick due;
    do {
        while (p->flying > 0) {
            struct flight f = p->flight[0];
            memmove(p->flight, p->flight + 1, --p->flying * sizeof *p->flight);
            virtual_arrive(virtual_port_at(&p->v, f.port), &f.from, slice_of(f.bytes, f.len));
        }
        virtual_settle(&p->v);
        due = virtual_due(&p->v);
        if (due != TICK_NEVER) {
            virtual_advance(&p->v, due);
            virtual_fire(&p->v);
        }
    } while (due != TICK_NEVER || p->flying > 0);
}

static struct pair *pair_new(void)
{
    struct pair *p = calloc(1, sizeof *p);
    rng_init(&p->rng, 1);
    virtual_init(&p->v, 0, &p->rng, 0);
    p->v.carry = carry;
    p->v.context = p;
    open_side(p, &p->a, "10.0.0.1:4556", "10.0.0.2:4556");
    open_side(p, &p->b, "10.0.0.2:4556", "10.0.0.1:4556");
    settle(p);
    ck_assert(p->a.up && p->b.up);
    return p;
}

static void pair_free(struct pair *p)
{
    p->a.cla->ops->close(p->a.cla, on_closed, &p->a);
    p->b.cla->ops->close(p->b.cla, on_closed, &p->b);
    settle(p);
    ck_assert(p->a.closed && p->b.closed);
    virtual_fini(&p->v);
    free(p);
}

static enum cla_reason send_one(struct side *s, uint64_t key, size_t payload)
{
    struct buf *b = bundle_of(payload);
    enum cla_reason r = s->cla->ops->send(s->cla, key, b);
    buf_drop(b);
    return r;
}

/* Each leaves when the one before has left at the rate: seven times 1000 bytes and some. */
START_TEST(paced_and_handed_over)
{
    struct pair *p = pair_new();
    for (uint64_t i = 0; i < 8; i++)
        ck_assert_int_eq(send_one(&p->a, i, 1000), CLA_REASON_NONE);
    ck_assert_int_eq(send_one(&p->a, 8, 1000), CLA_REASON_BUSY);
    settle(p);
    ck_assert_uint_eq(p->a.outcomes[CLA_HANDED_OVER], 8);
    ck_assert_uint_eq(p->a.last_key, 7);
    ck_assert_uint_eq(p->b.received, 8);
    struct buf *b = bundle_of(1000);
    uint64_t air = 7 * (b->len + 42) * 8 * TICK_US; /* at 1 Mbit/s */
    buf_drop(b);
    ck_assert_uint_ge(p->last - p->first, air);
    ck_assert_uint_le(p->last - p->first, air + TICK_MS);
    ck_assert_int_eq(send_one(&p->a, 9, 1472), CLA_REASON_TOO_LONG);
    pair_free(p);
}
END_TEST

/* A contact's rate below the link's holds, one above does not. */
START_TEST(at_the_rate_of_a_contact)
{
    static const struct {
        uint64_t contact, in_force; /* bit/s */
    } cases[] = {{100000, 100000}, {5000000, 1000000}, {0, 1000000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pair *p = pair_new();
        const struct cla_contact c = {true, true, cases[i].contact, TICK_NEVER};
        p->a.cla->ops->contact(p->a.cla, &c);
        for (uint64_t k = 0; k < 8; k++)
            ck_assert_int_eq(send_one(&p->a, k, 1000), CLA_REASON_NONE);
        settle(p);
        ck_assert_uint_eq(p->b.received, 8);
        struct buf *b = bundle_of(1000);
        const tick air = 7 * (b->len + 42) * 8 * TICK_S / cases[i].in_force;
        buf_drop(b);
        ck_assert_uint_ge(p->last - p->first, air);
        ck_assert_uint_le(p->last - p->first, air + TICK_MS);
        pair_free(p);
    }
}
END_TEST

/* Up is what operator and plan both say: a contact's beginning does not take the operator's word
 * back, and a link without a contact is not off. */
START_TEST(operators_word_holds)
{
    struct pair *p = pair_new();
    const struct cla_ops *ops = p->a.cla->ops;
    struct cla_contact c = {.rate = 0, .round_trip = TICK_NEVER};
    for (unsigned i = 0; i < 8; i++) {
        const bool up = (i & 1) != 0, transmits = (i & 2) != 0;
        struct cla_gauges g = {0};
        c.transmit = c.receive = transmits;
        if ((i & 4) == 0)
            ops->set_link(p->a.cla, up);
        ops->contact(p->a.cla, &c);
        if ((i & 4) != 0)
            ops->set_link(p->a.cla, up);
        settle(p);
        ck_assert_int_eq(p->a.up, up && transmits);
        ops->gauges(p->a.cla, &g);
        ck_assert_int_eq(g.off, !up);
    }
    pair_free(p);
}
END_TEST

START_TEST(down_and_taken_back)
{
    struct pair *p = pair_new();
    ck_assert_int_eq(send_one(&p->a, 1, 10), CLA_REASON_NONE);
    ck_assert_int_eq(send_one(&p->a, 2, 10), CLA_REASON_NONE);
    ck_assert_int_eq(p->a.cla->ops->cancel(p->a.cla, 1), HELIO_ENOENT);
    p->a.cla->ops->set_link(p->a.cla, false);
    settle(p);
    ck_assert(!p->a.up);
    ck_assert_uint_eq(p->a.outcomes[CLA_FAILED], 1);
    ck_assert_uint_eq(p->a.reasons[CLA_REASON_DOWN], 1);
    ck_assert_uint_eq(p->a.last_key, 2);
    ck_assert_uint_eq(p->b.received, 0);
    p->a.cla->ops->set_link(p->a.cla, true);
    ck_assert_int_eq(send_one(&p->a, 3, 10), CLA_REASON_NONE);
    settle(p);
    ck_assert_uint_eq(p->b.received, 1);
    ck_assert_int_eq(send_one(&p->a, 4, 10), CLA_REASON_NONE); /* closed with one that waits */
    pair_free(p);
}
END_TEST

START_TEST(unknown_senders)
{
    struct pair *p = pair_new();
    struct buf *b = bundle_of(10);
    struct address far, other;
    ck_assert_int_eq(address_parse("10.0.0.9:4556", &far), 0);
    ck_assert_int_eq(address_parse("10.0.0.1:9999", &other), 0);
    struct virtual_port *port = NULL;
    list_for_each (it, &p->v.ports) {
        struct virtual_port *x = container_of(it, struct virtual_port, node);
        if (address_equal(&x->self, &p->b.config.udp.local))
            port = x;
    }
    ck_assert_ptr_nonnull(port);
    virtual_arrive(port, &other, buf_slice(b)); /* the peer's host, from another port */
    settle(p);
    ck_assert_uint_eq(p->b.received, 0);
    p->b.config.any_port = true;
    virtual_arrive(port, &other, buf_slice(b));
    virtual_arrive(port, &far, buf_slice(b));
    settle(p);
    ck_assert_uint_eq(p->b.received, 1);
    p->b.config.accept_unknown = true;
    virtual_arrive(port, &far, buf_slice(b));
    virtual_arrive(port, &far, slice_of("\0\0\0\0", 4));
    settle(p);
    ck_assert_uint_eq(p->b.received, 2);
    ck_assert_uint_eq(p->b.said, 1); /* now and then */
    buf_drop(b);
    pair_free(p);
}
END_TEST

SUITE(cla_udpcl, t)
{
    tcase_add_test(t, verdicts);
    tcase_add_test(t, longest_bundle);
    tcase_add_test(t, paced_and_handed_over);
    tcase_add_test(t, at_the_rate_of_a_contact);
    tcase_add_test(t, operators_word_holds);
    tcase_add_test(t, down_and_taken_back);
    tcase_add_test(t, unknown_senders);
}
