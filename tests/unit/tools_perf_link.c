/* SPDX-License-Identifier: Apache-2.0 */
/* helio-perf's pair of connections in virtual time: how long a node may take to appear, what ends
 * the wait, and how a lost node is tried again. */
#include <stdlib.h>
#include <string.h>

#include "sim/virtual.h"
#include "tests/unit/suite.h"
#include "tools/perf/perf_link.h"

#define CONNS_MAX 64

struct lab;

/* A connection at a node that welcomes everybody. */
struct conn {
    struct lab *lab;
    struct stream *stream;
    uint8_t room[1024];
};

struct lab {
    struct virtual_world world;
    struct rng rng;
    struct perf_options options;
    struct perf_link link;
    struct alarm turn;
    struct stream_listener *listener;
    struct conn conns[CONNS_MAX];
    size_t conns_len;
    bool refuses;        /* the second registration */
    const char *refusal; /* with this text */
    int last;            /* what the last turn gave */
};

static void say(const struct conn *c, const ProtobufCMessage *m, bool magic)
{
    uint8_t out[1024] = {AAP2_MAGIC};
    int n = aap2_pack(m, out + magic, sizeof out - 1);
    ck_assert_int_gt(n, 0);
    struct slice part = slice_of(out, (size_t)n + magic);
    ck_assert_uint_eq(stream_write(c->stream, &part, 1), part.len);
}

static uint8_t *space(void *context, size_t *len)
{
    struct conn *c = context;
    *len = sizeof c->room;
    return c->room;
}

/* Whatever it is, it is a registration. */
static void fed(void *context, size_t len)
{
    const struct conn *c = context;
    Aap2__AAPResponse r = AAP2__AAPRESPONSE__INIT;
    bool second = c == &c->lab->conns[1];
    r.response_status = c->lab->refuses && second
                            ? AAP2__RESPONSE_STATUS__RESPONSE_STATUS_UNAUTHORIZED
                            : AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS;
    if (c->lab->refuses && second && c->lab->refusal != NULL)
        r.text = (char *)(uintptr_t)c->lab->refusal;
    ck_assert_uint_gt(len, 0);
    say(c, &r.base, false);
}

static void on_nothing(void *context)
{
    (void)context;
}

static void on_ended(void *context, int error)
{
    struct conn *c = context;
    (void)error;
    stream_close(c->stream);
    c->stream = NULL;
}

static const struct stream_user user = {space, fed, on_nothing, on_ended};

static void accepted(void *context, struct stream *s)
{
    struct lab *l = context;
    Aap2__Welcome w = AAP2__WELCOME__INIT;
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    char name[] = "ipn:7.0";
    ck_assert_uint_lt(l->conns_len, CONNS_MAX);
    struct conn *c = &l->conns[l->conns_len++];
    *c = (struct conn){.lab = l, .stream = s};
    stream_use(s, &user, c);
    stream_read(s, true);
    w.node_id = name;
    m.msg_case = AAP2__AAPMESSAGE__MSG_WELCOME;
    m.welcome = &w;
    say(c, &m.base, true);
}

static void node_begin(struct lab *l)
{
    struct stream_place at = {.path = "/n"};
    ck_assert_int_eq(stream_listen(&l->world.world, &l->listener, &at, accepted, l), 0);
}

static void node_end(struct lab *l)
{
    if (l->listener != NULL)
        stream_unlisten(l->listener);
    l->listener = NULL;
    for (size_t i = 0; i < l->conns_len; i++)
        if (l->conns[i].stream != NULL)
            on_ended(&l->conns[i], 0);
}

/* As both ends of helio-perf do. */
static void take_turn(void *context)
{
    struct lab *l = context;
    tick now = l->world.now;
    struct aap2_arrival a;
    if (l->link.tx != NULL &&
        (aap2_client_next(l->link.tx, &a) < 0 || aap2_client_next(l->link.rx, &a) < 0))
        perf_link_close(&l->link, now);
    l->last = perf_link_turn(&l->link, now);
    alarm_set(&l->turn, l->last == 0 ? l->link.retry_at : TICK_NEVER);
    perf_link_check(&l->link);
}

static void run_until(struct lab *l, tick until)
{
    for (tick due; (due = virtual_due(&l->world)) <= until;) {
        virtual_advance(&l->world, due);
        virtual_fire(&l->world);
    }
    virtual_advance(&l->world, until);
}

static struct lab *lab_new(tick reconnect)
{
    struct lab *l = calloc(1, sizeof *l);
    rng_init(&l->rng, 1);
    virtual_init(&l->world, 0, &l->rng, TICK_US);
    l->options = (struct perf_options){.socket = "/n", .service = "9", .reconnect = reconnect};
    perf_link_init(&l->link, &l->world.world, &l->options, 1, 4, 1000, take_turn, l);
    alarm_init(&l->turn, &l->world.world, ALARM_APP, take_turn, l);
    alarm_set(&l->turn, 0);
    return l;
}

static void lab_free(struct lab *l)
{
    perf_link_fini(&l->link);
    alarm_fini(&l->turn);
    node_end(l);
    virtual_fini(&l->world);
    free(l);
}

START_TEST(it_opens)
{
    struct lab *l = lab_new(0);
    node_begin(l);
    run_until(l, TICK_MS);
    ck_assert_int_eq(l->last, 1);
    ck_assert_str_eq(l->link.endpoint, "ipn:7.9");
    ck_assert(l->link.tx != NULL && l->link.rx != NULL && !l->link.starting);
    ck_assert_uint_eq(l->link.reconnects, 0);
    lab_free(l);
}
END_TEST

START_TEST(the_node_may_come_later)
{
    struct lab *l = lab_new(0);
    run_until(l, PERF_LINK_WAIT - TICK_S);
    ck_assert_int_eq(l->last, 0);
    node_begin(l);
    run_until(l, PERF_LINK_WAIT);
    ck_assert_int_eq(l->last, 1);
    lab_free(l);
}
END_TEST

START_TEST(it_is_not_waited_for_longer)
{
    struct lab *l = lab_new(0);
    run_until(l, PERF_LINK_WAIT - TICK_MS);
    ck_assert_int_eq(l->last, 0);
    run_until(l, PERF_LINK_WAIT + TICK_S);
    ck_assert_int_eq(l->last, HELIO_EIO);
    ck_assert_str_eq(l->link.why, "no node answers at /n: Connection refused");
    lab_free(l);
}
END_TEST

/* With --reconnect the run begins then, and the node is tried again for so long. */
START_TEST(reconnect_goes_on)
{
    struct lab *l = lab_new(60 * TICK_S);
    run_until(l, PERF_LINK_WAIT + TICK_S);
    ck_assert(l->last == 0 && !l->link.starting);
    run_until(l, PERF_LINK_WAIT + 50 * TICK_S);
    ck_assert_int_eq(l->last, 0);
    run_until(l, PERF_LINK_WAIT + 63 * TICK_S);
    ck_assert_int_eq(l->last, HELIO_EIO);
    lab_free(l);
}
END_TEST

START_TEST(a_lost_node_is_tried_again)
{
    struct lab *l = lab_new(10 * TICK_S);
    for (unsigned i = 0; i < 5; i++) {
        node_begin(l);
        run_until(l, l->world.now + 2 * TICK_S);
        ck_assert_int_eq(l->last, 1);
        ck_assert_uint_eq(l->link.reconnects, i);
        node_end(l);
        run_until(l, l->world.now + 5 * TICK_S);
        ck_assert_int_eq(l->last, 0);
    }
    run_until(l, l->world.now + 10 * TICK_S);
    ck_assert_int_eq(l->last, HELIO_EIO);
    lab_free(l);
}
END_TEST

START_TEST(a_lost_node_is_named)
{
    struct lab *l = lab_new(0);
    run_until(l, PERF_LINK_WAIT / 2);
    ck_assert_str_ne(l->link.why, ""); /* not there yet */
    node_begin(l);
    run_until(l, l->world.now + 2 * TICK_S);
    ck_assert_int_eq(l->last, 1);
    node_end(l);
    run_until(l, l->world.now + TICK_S);
    ck_assert_int_eq(l->last, HELIO_EIO);
    ck_assert_str_eq(
        l->link.why,
        "the node closed the connection; does it still run? Its log says why it ended");
    lab_free(l);
}
END_TEST

START_TEST(somebody_has_the_endpoint)
{
    struct lab *l = lab_new(60 * TICK_S);
    l->refuses = true;
    node_begin(l);
    run_until(l, TICK_MS);
    ck_assert_int_eq(l->last, HELIO_EEXIST); /* it is of no use to try again */
    ck_assert_str_eq(l->link.why, "another application has ipn:7.9; stop it or choose --service");
    lab_free(l);
}
END_TEST

/* Nobody has it: the user may not. */
START_TEST(the_user_may_not_have_the_endpoint)
{
    struct lab *l = lab_new(60 * TICK_S);
    l->refuses = true;
    l->refusal = AAP2_NOT_PERMITTED;
    node_begin(l);
    run_until(l, TICK_MS);
    ck_assert_int_eq(l->last, HELIO_EINVAL);
    ck_assert_str_eq(l->link.why,
                     "the node refuses to register ipn:7.9: no rule of the node (key applications) "
                     "allows this user the endpoint; choose --service");
    lab_free(l);
}
END_TEST

SUITE(tools_perf_link, t)
{
    tcase_add_test(t, the_user_may_not_have_the_endpoint);
    tcase_add_test(t, it_opens);
    tcase_add_test(t, the_node_may_come_later);
    tcase_add_test(t, it_is_not_waited_for_longer);
    tcase_add_test(t, reconnect_goes_on);
    tcase_add_test(t, a_lost_node_is_tried_again);
    tcase_add_test(t, a_lost_node_is_named);
    tcase_add_test(t, somebody_has_the_endpoint);
}
