/* SPDX-License-Identifier: Apache-2.0 */
/* A payload for which there is no memory: its application gets the reason, and nobody calls it
 * malformed. */
#include "node/app/app_message.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/suite.h"
#include "tests/unit/tools_app_rig.h"

static size_t largest = SIZE_MAX; /* bytes of one allocation */

static bool is_too_large(size_t size)
{
    return size > largest;
}

#define LONG_BYTES 900000

static struct rig *long_rig(void)
{
    struct rig *r = rig_new();
    static char no_plan[] = "";
    r->config.node = eid_ipn(0, 1, 0);
    r->config.plan = no_plan;
    r->config.bundles.max = r->config.bundles.memory = LONG_BYTES;
    app_fini(&r->app);
    memset(&r->app, 0, sizeof r->app);
    begin_app(r, &r->app, 1);
    return r;
}

static void feed_message(struct app *c, const ProtobufCMessage *m)
{
    uint8_t bytes[APP_MESSAGE_CAP];
    int len = aap2_pack(m, bytes, sizeof bytes);
    ck_assert_int_gt(len, 0);
    feed(c, bytes, (size_t)len);
}

static void configure(struct app *c)
{
    char endpoint[] = "ipn:1.7", secret[] = "s";
    Aap2__ConnectionConfig config = AAP2__CONNECTION_CONFIG__INIT;
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    config.endpoint_id = endpoint;
    config.secret = secret;
    m.msg_case = AAP2__AAPMESSAGE__MSG_CONFIG;
    m.config = &config;
    feed_message(c, &m.base);
}

static void send_bundle(struct app *c, size_t bytes)
{
    static const uint8_t zeros[LONG_BYTES];
    char to[] = "ipn:9.1";
    Aap2__BundleADU adu = AAP2__BUNDLE_ADU__INIT;
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    adu.dst_eid = to;
    adu.payload_length = bytes;
    m.msg_case = AAP2__AAPMESSAGE__MSG_ADU;
    m.adu = &adu;
    feed_message(c, &m.base);
    feed(c, zeros, bytes);
}

/* The status of the first answer that is not written yet; its text is as given. */
static int take_answer(struct app *c, const char *text)
{
    struct list *l = list_first(&c->out);
    ck_assert_ptr_nonnull(l);
    struct app_out *o = container_of(l, struct app_out, node);
    size_t head = 1 + (o->bytes[0] >= 0x80); /* its length */
    int error = 0;
    Aap2__AAPResponse *r = aap2_read_response(o->bytes + head, o->len - head, &error);
    ck_assert_ptr_nonnull(r);
    ck_assert_str_eq(r->text, text);
    const int status = (int)r->response_status;
    aap2_response_free(r);
    list_sub(l);
    c->out_bytes -= o->len;
    message_free(o);
    return status;
}

START_TEST(no_memory_is_not_malformed)
{
    struct rig *r = long_rig();
    configure(&r->app);
    ck_assert_int_eq(take_answer(&r->app, ""), AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS);
    largest = LONG_BYTES / 2;
    send_bundle(&r->app, LONG_BYTES);
    largest = SIZE_MAX;
    ck_assert_int_eq(take_answer(&r->app, "out of memory"),
                     AAP2__RESPONSE_STATUS__RESPONSE_STATUS_ERROR);
    ck_assert(!r->app.failed);
    ck_assert_uint_eq(r->apps.counters.malformed, 0);
    ck_assert_uint_eq(r->apps.counters.refused, 1);
    ck_assert_uint_eq(r->apps.counters.reading_bytes, 0);
    send_bundle(&r->app, 100); /* the stream goes on: it has an answer of the agent's */
    ck_assert_int_eq(take_answer(&r->app, "no route to the destination"),
                     AAP2__RESPONSE_STATUS__RESPONSE_STATUS_ERROR);
    ck_assert(!r->app.failed);
    rig_free(r);
}
END_TEST

/* What protobuf-c unpacks, too. */
START_TEST(a_message_without_memory)
{
    struct rig *r = long_rig();
    Aap2__Keepalive k = AAP2__KEEPALIVE__INIT;
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    m.msg_case = AAP2__AAPMESSAGE__MSG_KEEPALIVE;
    m.keepalive = &k;
    uint8_t bytes[100];
    const int len = aap2_pack(&m.base, bytes, sizeof bytes);
    int error = 0;
    largest = sizeof k / 2;
    const bool read = aap2_read_message(bytes + 1, (size_t)len - 1, &error) != NULL;
    largest = SIZE_MAX;
    ck_assert(!read && error == HELIO_ENOMEM);
    ck_assert_ptr_null(aap2_read_message((const uint8_t *)"\xff\xff", 2, &error));
    ck_assert_int_eq(error, HELIO_EFORMAT);
    largest = sizeof(Aap2__AAPResponse) / 2;
    const bool answered = aap2_read_response(bytes, 0, &error) != NULL;
    largest = SIZE_MAX;
    ck_assert(!answered && error == HELIO_ENOMEM);
    rig_free(r);
}
END_TEST

static void refuse_large(void)
{
    memory.refuses = is_too_large;
}

SUITE(tools_app_memory, t)
{
    tcase_add_checked_fixture(t, refuse_large, NULL);
    tcase_add_test(t, no_memory_is_not_malformed);
    tcase_add_test(t, a_message_without_memory);
}
