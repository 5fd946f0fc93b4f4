/* SPDX-License-Identifier: Apache-2.0 */
/* A program's connection to its node, in virtual time: how it opens, who may refuse it, a node that
 * is silent or speaks something else, keepalives, and what is not taken. */
#include <stdlib.h>
#include <string.h>

#include "node/aap2/aap2_client.h"
#include "sim/virtual.h"
#include "tests/unit/suite.h"

#define TIMEOUT (10 * TICK_S)

/* A node that says what a test wants it to say. */
struct lab {
    struct virtual_world world;
    struct rng rng;
    struct stream_listener *listener;
    struct stream *node;
    struct aap2_client *client;
    unsigned ready;
    bool greets;       /* magic and welcome, at once */
    bool close_client; /* when it is told something */
    size_t heard;      /* bytes */
    uint8_t last[4096];
};

static uint8_t *space(void *context, size_t *len)
{
    struct lab *l = context;
    *len = sizeof l->last;
    return l->last;
}

static void fed(void *context, size_t len)
{
    struct lab *l = context;
    l->heard += len;
}

static void on_nothing(void *context)
{
    (void)context;
}

static void on_ended(void *context, int error)
{
    (void)context;
    (void)error;
}

static const struct stream_user user = {space, fed, on_nothing, on_ended};

static void say_bytes(struct lab *l, const void *bytes, size_t n)
{
    struct slice part = slice_of(bytes, n);
    ck_assert_uint_eq(stream_write(l->node, &part, 1), n);
}

static void say_message(struct lab *l, const ProtobufCMessage *m)
{
    uint8_t out[1024];
    int n = aap2_pack(m, out, sizeof out);
    ck_assert_int_gt(n, 0);
    say_bytes(l, out, (size_t)n);
}

static void say_welcome(struct lab *l, char *name)
{
    Aap2__Welcome w = AAP2__WELCOME__INIT;
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    uint8_t magic = AAP2_MAGIC;
    w.node_id = name;
    m.msg_case = AAP2__AAPMESSAGE__MSG_WELCOME;
    m.welcome = &w;
    say_bytes(l, &magic, 1);
    say_message(l, &m.base);
}

static void say_response(struct lab *l, Aap2__ResponseStatus status)
{
    Aap2__AAPResponse r = AAP2__AAPRESPONSE__INIT;
    r.response_status = status;
    say_message(l, &r.base);
}

static void say_keepalive(struct lab *l)
{
    Aap2__Keepalive k = AAP2__KEEPALIVE__INIT;
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    m.msg_case = AAP2__AAPMESSAGE__MSG_KEEPALIVE;
    m.keepalive = &k;
    say_message(l, &m.base);
}

static void say_adu(struct lab *l, size_t len)
{
    Aap2__BundleADU a = AAP2__BUNDLE_ADU__INIT;
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    uint8_t payload[6000] = {0};
    ck_assert_uint_le(len, sizeof payload);
    a.payload_length = len;
    m.msg_case = AAP2__AAPMESSAGE__MSG_ADU;
    m.adu = &a;
    say_message(l, &m.base);
    say_bytes(l, payload, len);
}

static void on_accepted(void *context, struct stream *s)
{
    struct lab *l = context;
    char name[] = "ipn:7.0";
    l->node = s;
    stream_use(s, &user, l);
    stream_read(s, true);
    if (l->greets)
        say_welcome(l, name);
}

static void on_ready(void *context)
{
    struct lab *l = context;
    l->ready++;
    aap2_client_check(l->client);
    if (!l->close_client)
        return;
    aap2_client_close(l->client);
    l->client = NULL;
}

static void run_until(struct lab *l, tick until)
{
    for (tick due; (due = virtual_due(&l->world)) <= until;) {
        virtual_advance(&l->world, due);
        virtual_fire(&l->world);
        aap2_client_check(l->client);
    }
    virtual_advance(&l->world, until);
}

static struct lab *lab_new(bool greets)
{
    struct stream_place at = {.path = "/n"};
    char why[AAP2_WHY_MAX];
    struct lab *l = calloc(1, sizeof *l);
    rng_init(&l->rng, 1);
    virtual_init(&l->world, 0, &l->rng, 0);
    l->greets = greets;
    struct world *w = &l->world.world;
    ck_assert_int_eq(stream_listen(w, &l->listener, &at, on_accepted, l), 0);
    ck_assert_int_eq(aap2_client_open(&l->client, w, "/n", TIMEOUT, on_ready, l, why), 0);
    ck_assert_int_eq(aap2_client_state(l->client), AAP2_GREETING);
    run_until(l, TICK_MS);
    return l;
}

static void lab_free(struct lab *l)
{
    aap2_client_close(l->client);
    if (l->node != NULL)
        stream_close(l->node);
    stream_unlisten(l->listener);
    virtual_fini(&l->world);
    free(l);
}

static void register_client(struct lab *l, bool subscriber)
{
    struct aap2_registration r = {.subscriber = subscriber,
                                  .endpoint = "ipn:7.9",
                                  .secret = "s",
                                  .window = 4,
                                  .payload_max = 5000};
    ck_assert_int_eq(aap2_client_state(l->client), AAP2_WELCOMED);
    ck_assert_str_eq(aap2_client_node(l->client), "ipn:7.0");
    aap2_client_register(l->client, &r);
    ck_assert_int_eq(aap2_client_state(l->client), AAP2_REGISTERING);
    run_until(l, l->world.now + TICK_MS);
    ck_assert_uint_gt(l->heard, 0);
}

static struct lab *lab_open(bool subscriber)
{
    struct lab *l = lab_new(true);
    register_client(l, subscriber);
    say_response(l, AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS);
    run_until(l, l->world.now + TICK_MS);
    ck_assert_int_eq(aap2_client_state(l->client), AAP2_OPEN);
    return l;
}

static void check_failed(const struct lab *l, int error, const char *why)
{
    struct aap2_arrival a;
    ck_assert_int_eq(aap2_client_state(l->client), AAP2_FAILED);
    ck_assert_int_eq(aap2_client_error(l->client), error);
    ck_assert_str_eq(aap2_client_why(l->client), why);
    ck_assert_int_eq(aap2_client_next(l->client, &a), error);
    ck_assert_int_eq(aap2_client_flush(l->client), error);
}

START_TEST(nobody_is_there)
{
    char why[AAP2_WHY_MAX];
    struct aap2_client *c;
    struct lab *l = lab_new(true);
    ck_assert_int_eq(aap2_client_open(&c, &l->world.world, "/x", TIMEOUT, on_ready, l, why),
                     HELIO_EIO);
    ck_assert_str_eq(why, "no node answers at /x: Connection refused");
    lab_free(l);
}
END_TEST

START_TEST(a_silent_node)
{
    struct lab *l = lab_new(false);
    run_until(l, TIMEOUT - 1);
    ck_assert_int_eq(aap2_client_state(l->client), AAP2_GREETING);
    run_until(l, TIMEOUT);
    check_failed(l, HELIO_EIO,
                 "/n: nobody greets within 10 s: the node hangs, or this is its control socket; "
                 "applications connect to socket: of its configuration");
    ck_assert_uint_eq(l->ready, 1);
    lab_free(l);
    l = lab_new(true);
    register_client(l, false);
    run_until(l, 2 * TIMEOUT);
    check_failed(l, HELIO_EIO, "registering ipn:7.9: the node does not answer in time");
    lab_free(l);
    l = lab_open(false);
    run_until(l, 100 * TIMEOUT); /* once open it may be silent */
    ck_assert_int_eq(aap2_client_state(l->client), AAP2_OPEN);
    lab_free(l);
}
END_TEST

START_TEST(another_protocol)
{
    struct lab *l = lab_new(false);
    say_bytes(l, "HTTP", 4);
    run_until(l, TICK_S);
    check_failed(l, HELIO_EFORMAT, "/n: what answers there does not speak AAP 2.0");
    lab_free(l);
    l = lab_new(true);
    say_response(l, AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS); /* to nothing */
    run_until(l, TICK_S);
    ck_assert_int_eq(aap2_client_error(l->client), HELIO_EFORMAT);
    lab_free(l);
}
END_TEST

START_TEST(the_node_says_no)
{
    struct lab *l = lab_new(true);
    register_client(l, true);
    say_response(l, AAP2__RESPONSE_STATUS__RESPONSE_STATUS_UNAUTHORIZED);
    run_until(l, TICK_S);
    check_failed(l, HELIO_EEXIST, "the node refuses to register ipn:7.9: no reason given");
    lab_free(l);
    l = lab_new(true);
    register_client(l, true);
    say_response(l, AAP2__RESPONSE_STATUS__RESPONSE_STATUS_INVALID_REQUEST);
    run_until(l, TICK_S);
    ck_assert_int_eq(aap2_client_error(l->client), HELIO_EINVAL);
    lab_free(l);
}
END_TEST

START_TEST(the_node_goes)
{
    struct lab *l = lab_open(false);
    stream_close(l->node);
    l->node = NULL;
    run_until(l, TICK_S);
    check_failed(l, HELIO_EIO, "the node closed the connection");
    lab_free(l);
}
END_TEST

START_TEST(keepalives_are_answered)
{
    struct lab *l = lab_open(true);
    size_t heard = l->heard;
    unsigned ready = l->ready;
    say_keepalive(l);
    run_until(l, TICK_S);
    ck_assert_uint_gt(l->heard, heard);
    ck_assert_uint_eq(l->ready, ready); /* nobody else has to know */
    lab_free(l);
}
END_TEST

/* Deliveries that are not asked for stay where they are, and the node's stream fills up. */
START_TEST(what_is_not_taken_waits)
{
    struct lab *l = lab_open(true);
    struct aap2_arrival a;
    unsigned ready = l->ready, n = 0;
    for (int i = 0; i < 40; i++)
        say_adu(l, 5000);
    run_until(l, TICK_S);
    ck_assert_uint_eq(l->ready, ready + 1); /* told once */
    while (aap2_client_next(l->client, &a) == 1) {
        ck_assert_uint_eq(a.payload->len, 5000);
        aap2_arrival_fini(&a);
        n++;
        ck_assert_int_eq(aap2_client_answer(l->client, true), 0);
    }
    ck_assert_uint_ge(n, 1);
    ck_assert_uint_lt(n, 40);
    ready = l->ready;
    run_until(l, 2 * TICK_S);
    ck_assert_uint_gt(l->ready, ready); /* it reads on */
    lab_free(l);
}
END_TEST

/* Anyone can send a bundle that is longer than the application wants: it comes empty, in its turn,
 * and those after it come as well. */
START_TEST(too_long_a_payload_comes_empty)
{
    struct lab *l = lab_open(true);
    struct aap2_arrival a;
    static const size_t sent[] = {5000, 5001, 6000, 10}, got[] = {5000, 0, 0, 10};
    for (size_t i = 0; i < 4; i++)
        say_adu(l, sent[i]);
    run_until(l, TICK_S);
    for (size_t i = 0; i < 4; i++) {
        if (aap2_client_next(l->client, &a) == 0) { /* it reads on */
            run_until(l, l->world.now + TICK_S);
            ck_assert_int_eq(aap2_client_next(l->client, &a), 1);
        }
        ck_assert_uint_eq(a.payload->len, got[i]);
        ck_assert_uint_eq(a.message->adu->payload_length, sent[i]);
        aap2_arrival_fini(&a);
        ck_assert_int_eq(aap2_client_answer(l->client, true), 0);
    }
    ck_assert_int_eq(aap2_client_next(l->client, &a), 0);
    lab_free(l);
}
END_TEST

START_TEST(messages_queue)
{
    struct lab *l = lab_open(false);
    uint8_t body[100] = {0};
    struct aap2_adu adu = {
        .destination = "ipn:8.1", .head = slice_of(body, 10), .body = slice_of(body, sizeof body)};
    size_t heard = l->heard;
    for (int i = 0; i < AAP2_QUEUE; i++)
        ck_assert_int_eq(aap2_client_send(l->client, &adu), 0);
    ck_assert(aap2_client_full(l->client) && aap2_client_queued(l->client));
    ck_assert_int_eq(aap2_client_send(l->client, &adu), HELIO_EAGAIN);
    ck_assert_int_eq(aap2_client_flush(l->client), 0);
    ck_assert(!aap2_client_queued(l->client));
    run_until(l, TICK_S);
    ck_assert_uint_gt(l->heard, heard + AAP2_QUEUE * 110);
    adu.head = slice_of(body, AAP2_HEAD_MAX + 1);
    ck_assert_int_eq(aap2_client_send(l->client, &adu), HELIO_EINVAL);
    lab_free(l);
}
END_TEST

START_TEST(closed_from_within)
{
    struct lab *l = lab_open(false);
    l->close_client = true;
    say_response(l, AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS);
    say_response(l, AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS);
    run_until(l, TICK_S);
    ck_assert_ptr_null(l->client);
    lab_free(l);
}
END_TEST

SUITE(tools_aap2_client, t)
{
    tcase_add_test(t, nobody_is_there);
    tcase_add_test(t, a_silent_node);
    tcase_add_test(t, another_protocol);
    tcase_add_test(t, the_node_says_no);
    tcase_add_test(t, the_node_goes);
    tcase_add_test(t, keepalives_are_answered);
    tcase_add_test(t, what_is_not_taken_waits);
    tcase_add_test(t, too_long_a_payload_comes_empty);
    tcase_add_test(t, messages_queue);
    tcase_add_test(t, closed_from_within);
}
