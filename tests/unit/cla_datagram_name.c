/* SPDX-License-Identifier: Apache-2.0 */
/* Links of the adapters "udp" and "ltp-udp" whose remote is a host name, in a virtual world with a
 * resolver that the test plays. Node 1 has the name of node 2, which is at one of two addresses. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bp/codec/bundle.h"
#include "cla/ltp/ltp_config.h"
#include "cla/udp/udpcl_config.h"
#include "sim/virtual.h"
#include "tests/unit/fake_resolver.h"
#include "tests/unit/suite.h"

enum kind { UDP, LTP };

struct side {
    struct cla *cla;
    struct udpcl_config udp;
    struct ltp_link_config ltp;
    unsigned received, said;
    char told[512];
    bool up, closed;
    void *shared;
};

struct flight {
    uint64_t port;
    struct address from;
    size_t len;
    uint8_t bytes[2048];
};

struct scene {
    enum kind kind;
    struct virtual_world v;
    struct rng rng;
    struct fake_resolver names;
    struct side one, two, other; /* the other one is node 2 elsewhere */
    struct flight flight[64];
    size_t flying;
};

static bool carry(void *context, struct virtual_port *from, const struct address *to,
                  struct slice head, struct slice data)
{
    struct scene *s = context;
    list_for_each (it, &s->v.ports) {
        const struct virtual_port *port = container_of(it, struct virtual_port, node);
        if (!address_equal(&port->self, to))
            continue;
        ck_assert_uint_lt(s->flying, 64);
        struct flight *f = &s->flight[s->flying++];
        *f = (struct flight){.port = port->number, .from = from->self, .len = head.len + data.len};
        if (head.len > 0)
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
    (void)context;
    (void)c;
    (void)key;
    (void)outcome;
    (void)reason;
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
    if (strncmp(text, "remote ", 7) != 0)
        return;
    s->said++;
    snprintf(s->told, sizeof s->told, "%s", text);
}

static void on_closed(void *context)
{
    ((struct side *)context)->closed = true;
}

static void set_defaults(const struct conf_option *options, void *config, struct udp_keys *keys,
                         const char *local, const char *remote)
{
    ck_assert_int_eq(conf_options_default(options, config, conf_option_set), 0);
    ck_assert_int_eq(address_parse(local, &keys->local), 0);
    ck_assert_int_eq(host_address_parse(remote, &keys->remote), 0);
}

static void open_side(struct scene *s, struct side *side, uint64_t node, const char *local,
                      const char *remote)
{
    char why[256] = "";
    const char *key = NULL;
    const struct cla_ops *ops = cla_find(s->kind == LTP ? "ltp-udp" : "udp");
    const void *config = s->kind == LTP ? (void *)&side->ltp : (void *)&side->udp;
    set_defaults(udpcl_options, &side->udp, &side->udp.udp, local, remote);
    set_defaults(ltp_link_options, &side->ltp, &side->ltp.udp, local, remote);
    side->ltp.rto = TICK_S;
    ck_assert_msg(ops->check(config, &key, why, sizeof why) == 0, "%s: %s", key, why);
    struct cla_env env = {.world = &s->v.world,
                          .node = eid_ipn(0, node, 0),
                          .peer = eid_ipn(0, 3 - node, 0),
                          .bundle_max = 1 << 20,
                          .seed = node,
                          .events = {.context = side,
                                     .received = on_received,
                                     .done = on_done,
                                     .link = on_link,
                                     .say = on_say},
                          .shared = &side->shared};
    ck_assert_msg(ops->open(&side->cla, &env, config, why, sizeof why) == 0, "%s", why);
}

static void pass(struct scene *s, tick time)
{
    const tick until = s->v.now + time;
    for (;;) {
        while (s->flying > 0) {
            const struct flight f = s->flight[0];
            memmove(s->flight, s->flight + 1, --s->flying * sizeof *s->flight);
            virtual_arrive(virtual_port_at(&s->v, f.port), &f.from, slice_of(f.bytes, f.len));
        }
        virtual_settle(&s->v);
        const tick due = virtual_due(&s->v);
        if (due > until && s->flying == 0)
            break;
        if (due > until)
            continue;
        virtual_advance(&s->v, due);
        virtual_fire(&s->v);
    }
    virtual_advance(&s->v, until);
}

static struct scene *begin(int kind, const char *answer)
{
    struct scene *s = calloc(1, sizeof *s);
    s->kind = (enum kind)kind;
    rng_init(&s->rng, 1);
    virtual_init(&s->v, 0, &s->rng, 0);
    s->v.carry = carry;
    s->v.context = s;
    fake_resolver_init(&s->names, &s->v.world, answer);
    open_side(s, &s->two, 2, "10.0.0.2:1113", "10.0.0.1:1113");
    open_side(s, &s->other, 2, "10.0.0.3:1113", "10.0.0.1:1113");
    open_side(s, &s->one, 1, "10.0.0.1:1113", "gs2.example.net:1113");
    return s;
}

static void finish(struct scene *s)
{
    struct side *sides[] = {&s->one, &s->two, &s->other};
    for (size_t i = 0; i < 3; i++)
        sides[i]->cla->ops->close(sides[i]->cla, on_closed, sides[i]);
    ck_assert(s->names.asked == NULL);
    pass(s, TICK_S);
    for (size_t i = 0; i < 3; i++) {
        ck_assert(sides[i]->closed);
        conf_options_free(ltp_link_options, &sides[i]->ltp);
        conf_options_free(udpcl_options, &sides[i]->udp);
    }
    fake_resolver_fini(&s->names);
    virtual_fini(&s->v);
    free(s);
}

static enum cla_reason send_one(struct side *side, uint64_t time)
{
    static const uint8_t bytes[100];
    struct bundle b;
    bundle_init(&b);
    b.id.source = eid_ipn(0, 1, 5);
    b.destination = eid_ipn(0, 2, 7);
    b.id.time_ms = 800000000000 + time;
    b.lifetime_ms = 1000;
    b.payload = slice_of(bytes, sizeof bytes);
    struct buf *whole = bundle_encode_copy(&b);
    const enum cla_reason r = side->cla->ops->send(side->cla, time, whole);
    buf_drop(whole);
    return r;
}

static void ck_shown(const struct side *side, const char *address, unsigned failed)
{
    json_t *o = json_object();
    side->cla->ops->status(side->cla, o);
    const char *at = json_string_value(json_object_get(o, "remote_address"));
    ck_assert_str_eq(at != NULL ? at : "", address);
    ck_assert_int_eq(json_integer_value(json_object_get(o, "lookups_failed")), failed);
    json_decref(o);
}

START_TEST(sends_to_a_name)
{
    struct scene *s = begin(_i, "10.0.0.2");
    pass(s, 10 * TICK_MS);
    ck_assert(s->one.up);
    ck_assert_str_eq(s->one.told, "remote gs2.example.net:1113 is 10.0.0.2:1113 now");
    ck_assert_int_eq(send_one(&s->one, 1), CLA_REASON_NONE);
    ck_assert_int_eq(send_one(&s->two, 2), CLA_REASON_NONE);
    pass(s, TICK_S / 2);
    ck_assert_uint_eq(s->two.received, 1);
    ck_assert_uint_eq(s->one.received, 1);
    ck_shown(&s->one, "10.0.0.2:1113", 0);
    finish(s);
}
END_TEST

/* A warning, and the link is down; nobody's datagrams are the peer's. Attempts at 0, 1, 3 and 7 s.
 */
START_TEST(resolves_only_later)
{
    struct scene *s = begin(_i, "");
    pass(s, 6900 * TICK_MS);
    ck_assert(!s->one.up && s->one.said == 1);
    ck_assert_str_eq(s->one.told,
                     "remote gs2.example.net:1113: the name cannot be resolved: Name or service "
                     "not known; nothing is sent to it or accepted from it until then");
    ck_assert_int_eq(send_one(&s->two, 1), CLA_REASON_NONE);
    pass(s, 50 * TICK_MS);
    ck_assert_uint_eq(s->one.received, 0);
    ck_shown(&s->one, "", 3);
    s->names.answer = "10.0.0.2";
    pass(s, 100 * TICK_MS);
    ck_assert(s->one.up && s->one.said == 2);
    ck_assert_int_eq(send_one(&s->two, 2), CLA_REASON_NONE);
    ck_assert_int_eq(send_one(&s->one, 3), CLA_REASON_NONE);
    pass(s, TICK_S / 2);
    ck_assert_uint_ge(s->one.received, 1);
    ck_assert_uint_eq(s->two.received, 1);
    finish(s);
}
END_TEST

/* What is sent, and whose datagrams are accepted, follow the name. */
START_TEST(the_peer_moves)
{
    struct scene *s = begin(_i, "10.0.0.2");
    pass(s, TICK_S);
    s->names.answer = "10.0.0.3";
    pass(s, 61 * TICK_S);
    ck_assert_str_eq(s->one.told, "remote gs2.example.net:1113 is 10.0.0.3:1113 now; it was "
                                  "10.0.0.2:1113");
    ck_assert_int_eq(send_one(&s->one, 1), CLA_REASON_NONE);
    ck_assert_int_eq(send_one(&s->two, 2), CLA_REASON_NONE); /* not the peer any more */
    pass(s, TICK_S / 2);
    ck_assert_uint_eq(s->two.received, 0);
    ck_assert_uint_eq(s->other.received, 1);
    ck_assert_uint_eq(s->one.received, 0);
    ck_assert_int_eq(send_one(&s->other, 3), CLA_REASON_NONE);
    pass(s, TICK_S / 2);
    ck_assert_uint_eq(s->one.received, 1);
    finish(s);
}
END_TEST

/* While an answer has the address, it stays, wherever it stands; so it does when look-ups fail. */
START_TEST(the_address_stays)
{
    struct scene *s = begin(_i, "10.0.0.2");
    pass(s, TICK_S);
    s->names.answer = "10.0.0.3 10.0.0.2";
    pass(s, 61 * TICK_S);
    s->names.answer = "";
    pass(s, 90 * TICK_S);
    ck_assert(s->one.up && s->one.said == 2);
    ck_assert_ptr_nonnull(strstr(s->one.told, "; its last address is used"));
    ck_assert_int_eq(send_one(&s->one, 1), CLA_REASON_NONE);
    pass(s, TICK_S / 2);
    ck_assert_uint_eq(s->two.received, 1);
    ck_assert_uint_eq(s->other.received, 0);
    pass(s, 600 * TICK_S);
    ck_assert_uint_eq(s->one.said, 3); /* each 10 min */
    finish(s);
}
END_TEST

/* Of the name's addresses those count that are of the kind of `local`. */
START_TEST(one_kind)
{
    struct scene *s = begin(_i, "2001:db8::2");
    pass(s, TICK_S / 2);
    ck_assert(!s->one.up);
    s->names.answer = "2001:db8::2 10.0.0.2";
    pass(s, TICK_S);
    ck_assert(s->one.up);
    ck_shown(&s->one, "10.0.0.2:1113", 1);
    finish(s);
}
END_TEST

/* Down by its operator: the name's answer does not change that. */
START_TEST(down_stays_down)
{
    struct scene *s = begin(_i, "");
    pass(s, TICK_S / 2);
    s->one.cla->ops->set_link(s->one.cla, false);
    s->names.answer = "10.0.0.2";
    pass(s, 10 * TICK_S);
    ck_assert(!s->one.up);
    s->one.cla->ops->set_link(s->one.cla, true);
    pass(s, TICK_MS);
    ck_assert(s->one.up);
    finish(s);
}
END_TEST

START_TEST(no_frames)
{
    struct ltp_link_config k;
    const char *key = NULL;
    char why[256] = "";
    memset(&k, 0, sizeof k);
    set_defaults(ltp_link_options, &k, &k.udp, "10.0.0.1:1113", "gs2:1113");
    k.rto = TICK_S;
    ck_assert_msg(ltp_link_check(&k, &key, why, sizeof why) == 0, "%s", why);
    k.frames.out.kind = FRAMES_TM;
    ck_assert_int_eq(ltp_link_check(&k, &key, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(key, "remote");
    conf_options_free(ltp_link_options, &k);
}
END_TEST

SUITE(cla_datagram_name, t)
{
    tcase_add_loop_test(t, sends_to_a_name, UDP, LTP + 1);
    tcase_add_loop_test(t, resolves_only_later, UDP, LTP + 1);
    tcase_add_loop_test(t, the_peer_moves, UDP, LTP + 1);
    tcase_add_loop_test(t, the_address_stays, UDP, LTP + 1);
    tcase_add_loop_test(t, one_kind, UDP, LTP + 1);
    tcase_add_loop_test(t, down_stays_down, UDP, LTP + 1);
    tcase_add_test(t, no_frames);
}
