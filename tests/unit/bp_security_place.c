/* SPDX-License-Identifier: Apache-2.0 */
/* Security blocks are written and removed around a payload that stays where it is. */
#include "bp_agent_help.h"

#include "bp/codec/security/security_policy.h"
#include "os/crypto/crypto.h"
#include "tests/unit/suite.h"

static struct crypto crypto;
static struct security_ring ring;
static struct security_policy *policy;

static void setup(void)
{
    static const char key[] = "id: up\nalgorithm: hmac-sha-384\n"
                              "key: 00112233445566778899aabbccddeeff\n";
    struct eid node = eid_of("ipn:2.0");
    char why[256];
    memset(&ring, 0, sizeof ring);
    ck_assert(crypto_open(&crypto));
    ck_assert_int_eq(security_key_parse(key, strlen(key), &ring.at[ring.len++], why, sizeof why),
                     0);
    ck_assert_int_eq(security_policy_new(&policy, &node, &crypto, &ring), 0);
}

static void teardown(void)
{
    security_policy_free(policy);
    crypto_close(&crypto);
}

/* Of the payload, for all bundles. */
static struct security_rule rule_of(enum security_role role)
{
    struct security_rule r = {.role = role,
                              .target = BLOCK_PAYLOAD,
                              .type = SECURITY_BIB,
                              .scope = SECURITY_SCOPE_ALL,
                              .key = "up"};
    const char *why;
    ck_assert_int_eq(eid_patterns_read("*", &r.from, &why), 0);
    ck_assert_int_eq(eid_patterns_read("*", &r.to, &why), 0);
    return r;
}

static void set_rule(struct security_rule r)
{
    ck_assert_int_eq(security_policy_set(policy, &r, 1), 0);
}

static bool decode(struct buf *bytes, struct bundle *b)
{
    return bundle_decode(buf_data(bytes), bytes->len, BUNDLE_STRICT, b, NULL) == 0;
}

/* A payload that is signed and one whose signature is removed are not copied, where nobody else
 * reads the buffer and it has room. */
START_TEST(payloads_stay_in_place)
{
    struct bundle b = peer_bundle("ipn:2.4", "ipn:1.5", 1), parsed;
    struct buf *bytes = buf_new(BUNDLE_HEAD_IPN, 5 + BUNDLE_TAIL_MAX);
    memcpy(buf_append(bytes, 5), "in it", 5);
    const uint8_t *payload = buf_data(bytes);
    b.payload = buf_slice(bytes);
    ck_assert_int_eq(bundle_encode(&b, bytes), 0);
    struct buf *reader = buf_keep(bytes);
    struct security_undo undo;
    struct security_outcome o;
    set_rule(rule_of(SECURITY_ROLE_SOURCE));
    security_policy_send(policy, bytes, &b, START_MS, &undo, &o);
    ck_assert_int_eq(o.reason, SECURITY_PASSED);
    ck_assert(!undo.placed && o.made != NULL); /* it has another reader */
    buf_drop(o.made);
    buf_drop(reader);
    security_policy_send(policy, bytes, &b, START_MS, &undo, &o);
    ck_assert(undo.placed && o.made == NULL && o.reason == SECURITY_PASSED);
    ck_assert(decode(bytes, &parsed) && parsed.payload.data == payload);
    ck_assert(parsed.others_len > 0 && parsed.payload_crc == CRC_NONE);
    set_rule(rule_of(SECURITY_ROLE_ACCEPTOR));
    security_policy_receive(policy, bytes, &parsed, START_MS, &undo, &o);
    ck_assert(undo.placed && o.made == NULL && o.reason == SECURITY_PASSED);
    ck_assert(decode(bytes, &parsed) && parsed.payload.data == payload);
    ck_assert_mem_eq(parsed.payload.data, "in it", 5);
    buf_drop(bytes);
}
END_TEST

/* What lacks room in front of the payload, or has a long head, is signed in another buffer. */
START_TEST(little_room)
{
    static uint8_t long_block[SECURITY_HEAD_MAX];
    set_rule(rule_of(SECURITY_ROLE_SOURCE));
    for (int i = 0; i < 2; i++) {
        struct bundle b = peer_bundle("ipn:2.4", "ipn:1.5", 1), parsed;
        if (i > 0)
            b.others[b.others_len++] = (struct bundle_block){
                .type = 200, .number = 2, .data = slice_of(long_block, sizeof long_block)};
        struct buf *exact = bundle_encode_copy(&b), *bytes = buf_new(i > 0 ? 2048 : 0, exact->len);
        memcpy(buf_append(bytes, exact->len), buf_data(exact), exact->len);
        struct security_undo undo;
        struct security_outcome o;
        ck_assert(decode(bytes, &parsed));
        security_policy_send(policy, bytes, &parsed, START_MS, &undo, &o);
        ck_assert_int_eq(o.reason, SECURITY_PASSED);
        ck_assert(!undo.placed && decode(o.made, &parsed));
        ck_assert_uint_eq(bytes->len, exact->len);
        ck_assert_mem_eq(buf_data(bytes), buf_data(exact), exact->len);
        buf_drop(o.made);
        buf_drop(bytes);
        buf_drop(exact);
    }
}
END_TEST

/* An operation that would remove the payload's check value: it is not computed. */
START_TEST(check_values_of_payloads)
{
    struct eid here = eid_of("ipn:2.4"), there = eid_of("ipn:1.5"), third = eid_of("ipn:3.5");
    struct security_rule r = rule_of(SECURITY_ROLE_SOURCE);
    const char *why;
    ck_assert_int_eq(eid_patterns_read("ipn:1.*", &r.to, &why), 0);
    set_rule(r);
    ck_assert(security_policy_covers(policy, &here, &there));
    ck_assert(!security_policy_covers(policy, &here, &third));
    r.dry_run = true; /* it may leave unprotected */
    set_rule(r);
    ck_assert(!security_policy_covers(policy, &here, &there));
    r.dry_run = false;
    r.target = 0;
    set_rule(r);
    ck_assert(!security_policy_covers(policy, &here, &there));
}
END_TEST

SUITE(bp_security_place, t)
{
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, payloads_stay_in_place);
    tcase_add_test(t, little_room);
    tcase_add_test(t, check_values_of_payloads);
}
