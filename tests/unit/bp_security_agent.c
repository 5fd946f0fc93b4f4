/* SPDX-License-Identifier: Apache-2.0 */
/* The security policy at an agent: what is verified before what, and what a forgery changes. */
#include "bp_agent_piece.h"

#include "bp/codec/security/security_policy.h"
#include "os/crypto/crypto.h"
#include "tests/unit/suite.h"

static struct crypto crypto;
static struct security_ring ring;
static struct security_policy *policy;

static bool reserve(void *self, struct security_ring *r)
{
    (void)self;
    r->iv_end += 4;
    return true;
}

static struct security_key *add_key(const char *id, const char *algorithm, const char *from,
                                    char digit)
{
    char text[512], why[256], digits[65];
    memset(digits, digit, 64);
    digits[strstr(algorithm, "128") != NULL ? 32 : 64] = '\0';
    snprintf(text, sizeof text, "id: %s\nalgorithm: %s\n%s%s\nkey: %s\n", id, algorithm,
             *from == '\0' ? "" : "from: ", from, digits);
    ck_assert_msg(security_key_parse(text, strlen(text), &ring.at[ring.len], why, sizeof why) == 0,
                  "%s", why);
    return &ring.at[ring.len++];
}

static struct security_rule rule_of(enum security_role role, const char *from, const char *to,
                                    uint64_t target, uint64_t type, const char *key)
{
    struct security_rule r = {
        .role = role, .target = target, .type = type, .scope = SECURITY_SCOPE_ALL};
    const char *why;
    ck_assert_int_eq(eid_patterns_read(from, &r.from, &why), 0);
    ck_assert_int_eq(eid_patterns_read(to, &r.to, &why), 0);
    snprintf(r.key, sizeof r.key, "%s", key);
    return r;
}

static void setup(void)
{
    struct eid node = eid_of("ipn:2.0");
    ck_assert(crypto_open(&crypto));
    memset(&ring, 0, sizeof ring);
    ring.sender = security_sender_of(&node);
    ring.reserve = reserve;
    ck_assert_int_eq(security_policy_new(&policy, &node, &crypto, &ring), 0);
}

static void teardown(void)
{
    security_policy_free(policy);
    crypto_close(&crypto);
}

static void open_node(struct binder *n)
{
    start(n);
    agent_security(n->a, policy);
}

/* The bundle as node ipn:1.0 signs or encrypts its payload, under that policy of its own. */
static struct buf *secured_by(const struct bundle *b, const struct security_rule *rules,
                              size_t rules_len, struct security_ring *keys)
{
    struct security_policy *p;
    struct security_outcome o;
    struct eid node = eid_of("ipn:1.0");
    struct buf *plain = bundle_encode_copy(b);
    ck_assert_int_eq(security_policy_new(&p, &node, &crypto, keys), 0);
    ck_assert_int_eq(security_policy_set(p, rules, rules_len), 0);
    security_policy_send(p, plain, b, START_MS, NULL, &o);
    ck_assert_int_eq(o.reason, SECURITY_PASSED);
    ck_assert_ptr_nonnull(o.made);
    security_policy_free(p);
    buf_drop(plain);
    return o.made;
}

static struct buf *signed_bundle(const struct bundle *b, const char *key)
{
    struct security_rule r =
        rule_of(SECURITY_ROLE_SOURCE, "ipn:1.*", "*", BLOCK_PAYLOAD, SECURITY_BIB, key);
    return secured_by(b, &r, 1, &ring);
}

static enum agent_refusal receive(struct binder *n, struct buf *b, uint64_t token)
{
    return agent_receive(n->a, 0, b, token, n->now);
}

static void set_rule(struct security_rule r)
{
    ck_assert_int_eq(security_policy_set(policy, &r, 1), 0);
}

static uint64_t failed(enum security_reason r)
{
    return security_policy_counters(policy)->failed[r];
}

static struct security_rule acceptor(void)
{
    return rule_of(SECURITY_ROLE_ACCEPTOR, "ipn:1.*", "ipn:2.*", BLOCK_PAYLOAD, SECURITY_BIB, "up");
}

/* A bundle with a known id and other bytes comes first: it is refused, and the true one is taken.
 */
START_TEST(a_forgery_does_not_displace)
{
    struct binder n;
    open_node(&n);
    add_key("up", "hmac-sha-384", "", 'a');
    add_key("other", "hmac-sha-384", "", 'b');
    set_rule(acceptor());
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    struct buf *real = signed_bundle(&b, "up");
    b.payload = slice_of("fake", 4);
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_SECURITY);
    ck_assert_int_eq(receive(&n, signed_bundle(&b, "other"), 2), REFUSE_SECURITY);
    ck_assert_int_eq(receive(&n, real, 3), REFUSE_NONE);
    ck_assert_int_eq(link_receive(&n, 0, &b, 4), REFUSE_SECURITY); /* not as a duplicate */
    listen(&n, 1);
    drain(&n);
    ck_assert_ptr_nonnull(strstr(n.trace, "refuse link 1: a security operation"));
    ck_assert_ptr_nonnull(strstr(n.trace, "refuse link 2: a security operation"));
    ck_assert_ptr_nonnull(strstr(n.trace, "refuse link 4: a security operation"));
    ck_assert_ptr_nonnull(strstr(n.trace, "deliver 1 to 9: data"));
    ck_assert_ptr_null(strstr(n.trace, "fake"));
    ck_assert_uint_eq(failed(SECURITY_REASON_MISSING), 2);
    ck_assert_uint_eq(failed(SECURITY_REASON_FAILED), 1);
    ck_assert_uint_eq(security_policy_counters(policy)->accepted, 1);
    ck_assert_uint_eq(security_policy_counters(policy)->bundles_dropped, 3);
    struct security_failure f;
    ck_assert(security_policy_failure(policy, 1, &f));
    ck_assert_int_eq(f.reason, SECURITY_REASON_FAILED);
    ck_assert_uint_eq(f.id.sequence, 1);
    binder_fini(&n);
}
END_TEST

/* An administrative record is obeyed only when it is verified. */
START_TEST(administrative_records)
{
    struct binder n;
    open_node(&n);
    add_key("up", "hmac-sha-256", "", 'a');
    set_rule(acceptor());
    struct bundle b = peer_bundle("ipn:1.0", "ipn:2.0", 1);
    b.flags |= BUNDLE_IS_ADMIN;
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_SECURITY);
    ck_assert_uint_eq(agent_counters(n.a)->records_ignored, 0);
    ck_assert_int_eq(receive(&n, signed_bundle(&b, "up"), 2), REFUSE_NONE);
    ck_assert_uint_eq(agent_counters(n.a)->records_ignored,
                      1); /* "data" is none, but it was read */
    binder_fini(&n);
}
END_TEST

/* A verifier on the way leaves the block; a fragment it cannot verify. */
START_TEST(verifier_on_the_way)
{
    struct binder n;
    open_node(&n);
    add_key("up", "hmac-sha-512", "", 'a');
    set_rule(rule_of(SECURITY_ROLE_VERIFIER, "ipn:1.*", "*", BLOCK_PAYLOAD, SECURITY_BIB, "up"));
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", 1);
    struct buf *whole = signed_bundle(&b, "up");
    struct bundle parsed;
    ck_assert_int_eq(bundle_decode(buf_data(whole), whole->len, BUNDLE_LENIENT, &parsed, NULL), 0);
    struct buf *part = bundle_fragment(&parsed, 0, 2);
    ck_assert_int_eq(receive(&n, part, 1), REFUSE_SECURITY);
    ck_assert_uint_eq(failed(SECURITY_REASON_FRAGMENT), 1);
    ck_assert_int_eq(receive(&n, whole, 2), REFUSE_NONE);
    agent_link(n.a, 1, true, n.now);
    skip(&n);
    ck_assert_ptr_nonnull(n.sent);
    struct security_outcome o;
    ck_assert_int_eq(bundle_decode(buf_data(n.sent), n.sent->len, BUNDLE_LENIENT, &parsed, NULL),
                     0);
    security_policy_receive(policy, n.sent, &parsed, START_MS, NULL, &o);
    ck_assert_int_eq(o.reason, SECURITY_PASSED);
    ck_assert_ptr_null(o.made);
    ck_assert_uint_eq(security_policy_counters(policy)->verified, 2);
    binder_fini(&n);
}
END_TEST

static void cut(struct binder *n, struct buf *whole, size_t at, size_t len, uint64_t token)
{
    struct bundle b;
    ck_assert_int_eq(bundle_decode(buf_data(whole), whole->len, BUNDLE_LENIENT, &b, NULL), 0);
    struct buf *part = bundle_fragment(&b, at, len);
    ck_assert_ptr_nonnull(part);
    ck_assert_int_eq(receive(n, part, token), REFUSE_NONE);
}

/* Signed and encrypted before it is cut; decrypted and verified when all fragments are here. A
 * forged one is not delivered, and its id is not remembered. */
START_TEST(fragments_are_verified_as_a_whole)
{
    struct binder n;
    open_node(&n);
    add_key("up", "hmac-sha-384", "", 'a');
    add_key("up", "aes-256-gcm", "", 'c');
    struct security_rule rules[] = {acceptor(), rule_of(SECURITY_ROLE_ACCEPTOR, "ipn:1.*", "*",
                                                        BLOCK_PAYLOAD, SECURITY_BCB, "up")};
    struct security_rule sources[] = {
        rule_of(SECURITY_ROLE_SOURCE, "*", "*", BLOCK_PAYLOAD, SECURITY_BCB, "up"),
        rule_of(SECURITY_ROLE_SOURCE, "*", "*", BLOCK_PAYLOAD, SECURITY_BIB, "up")};
    ck_assert_int_eq(security_policy_set(policy, rules, 2), 0);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    b.payload = slice_of("twelve bytes", 12);
    struct buf *whole = secured_by(&b, sources, 2, &ring);
    b.payload = slice_of("other bytes!", 12);
    struct buf *forged = signed_bundle(&b, "up"); /* not encrypted */
    listen(&n, 1);
    cut(&n, forged, 0, 5, 1);
    cut(&n, forged, 5, 7, 2);
    drain(&n);
    ck_assert_ptr_null(strstr(n.trace, "deliver"));
    ck_assert_uint_eq(agent_counters(n.a)->reassemblies_ended[END_INSECURE], 1);
    ck_assert_uint_eq(failed(SECURITY_REASON_MISSING), 1);
    cut(&n, whole, 6, 6, 3);
    cut(&n, whole, 0, 6, 4);
    drain(&n);
    ck_assert_ptr_nonnull(strstr(n.trace, "to 9: twelve bytes"));
    agent_delivered(n.a, n.last.key, true, n.now);
    skip(&n);
    nothing_left(&n);
    buf_drop(whole);
    buf_drop(forged);
    binder_fini(&n);
}
END_TEST

/* As b, with that many extension blocks more. */
static struct buf *with_blocks(const struct bundle *b, size_t blocks)
{
    struct buf *whole = bundle_encode_copy(b), *out = buf_new(0, whole->len + 8 * blocks);
    const size_t tail = 1 + 5 + b->payload.len + 1 + 1 + 4; /* as in bp_agent_relay.c */
    memcpy(buf_append(out, whole->len - tail), buf_data(whole), whole->len - tail);
    for (size_t i = 0; i < blocks; i++)
        memcpy(buf_append(out, 8), (uint8_t[]){0x85, 24, 200, 24, (uint8_t)(30 + i), 0, 0, 0x40},
               8);
    memcpy(buf_append(out, tail), buf_data(whole) + whole->len - tail, tail);
    buf_drop(whole);
    return out;
}

/* The first fragment is refused when its blocks are too many for any whole to pass. */
START_TEST(fragments_of_many_blocks)
{
    struct binder n;
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1), parsed;
    open_node(&n);
    add_key("up", "hmac-sha-384", "", 'a');
    set_rule(acceptor());
    for (size_t blocks = SECURITY_BLOCKS_MAX - 1; blocks <= SECURITY_BLOCKS_MAX; blocks++) {
        struct buf *whole = with_blocks(&b, blocks);
        const enum agent_refusal expected =
            blocks < SECURITY_BLOCKS_MAX ? REFUSE_NONE : REFUSE_SECURITY;
        ck_assert_int_eq(bundle_decode(buf_data(whole), whole->len, BUNDLE_LENIENT, &parsed, NULL),
                         0);
        ck_assert_int_eq(receive(&n, bundle_fragment(&parsed, 0, 2), 1 + blocks), expected);
        ck_assert_int_eq(receive(&n, bundle_fragment(&parsed, 2, 1), 99 + blocks), REFUSE_NONE);
        buf_drop(whole);
        b.id.sequence++;
    }
    ck_assert_uint_eq(failed(SECURITY_REASON_ERROR), 1);
    ck_assert_uint_eq(security_policy_counters(policy)->bundles_dropped, 1);
    set_rule(rule_of(SECURITY_ROLE_ACCEPTOR, "ipn:9.*", "*", BLOCK_PAYLOAD, SECURITY_BIB, "up"));
    struct buf *whole = with_blocks(&b, SECURITY_BLOCKS_MAX);
    ck_assert_int_eq(bundle_decode(buf_data(whole), whole->len, BUNDLE_LENIENT, &parsed, NULL), 0);
    ck_assert_int_eq(receive(&n, bundle_fragment(&parsed, 0, 2), 500), REFUSE_NONE);
    buf_drop(whole);
    binder_fini(&n);
}
END_TEST

/* Bundles that start here and leave are protected; those that stay are not; without a key they are
 * refused and do not leave. */
START_TEST(source)
{
    struct binder n;
    open_node(&n);
    set_rule(rule_of(SECURITY_ROLE_SOURCE, "*", "*", BLOCK_PAYLOAD, SECURITY_BCB, "up"));
    struct agent_request q = request_of("ipn:2.7", "ipn:3.5", 1);
    agent_link(n.a, 1, true, n.now);
    ck_assert_int_eq(app_send(&n, &q, "hello"), REFUSE_SECURITY);
    ck_assert_uint_eq(failed(SECURITY_REASON_NO_KEY), 1);
    struct security_key *k = add_key("up", "aes-128-gcm", "", 'a');
    k->uses_max = 2;
    ck_assert_int_eq(app_send(&n, &q, "hello"), REFUSE_NONE);
    skip(&n);
    ck_assert_ptr_null(memmem(buf_data(n.sent), n.sent->len, "hello", 5));
    set_rule(rule_of(SECURITY_ROLE_ACCEPTOR, "*", "*", BLOCK_PAYLOAD, SECURITY_BCB, "up"));
    struct bundle parsed;
    struct security_outcome o;
    ck_assert_int_eq(bundle_decode(buf_data(n.sent), n.sent->len, BUNDLE_STRICT, &parsed, NULL), 0);
    security_policy_receive(policy, n.sent, &parsed, START_MS, NULL, &o);
    ck_assert_int_eq(o.reason, SECURITY_PASSED);
    ck_assert_ptr_nonnull(memmem(buf_data(o.made), o.made->len, "hello", 5));
    buf_drop(o.made);
    set_rule(rule_of(SECURITY_ROLE_SOURCE, "*", "*", BLOCK_PAYLOAD, SECURITY_BCB, "up"));
    ck_assert_int_eq(app_send(&n, &q, "hello"), REFUSE_NONE);
    ck_assert_int_eq(app_send(&n, &q, "hello"), REFUSE_SECURITY);
    ck_assert_uint_eq(failed(SECURITY_REASON_EXHAUSTED), 1);
    ck_assert_uint_eq(security_policy_counters(policy)->not_sent, 2);
    q = request_of("ipn:2.7", "ipn:2.5", 9);
    ck_assert_int_eq(app_send(&n, &q, "hello"), REFUSE_NONE);
    binder_fini(&n);
}
END_TEST

static bool is_absent(void *self)
{
    return self != NULL;
}

static bool fail_mac(void *self, unsigned bits, struct slice key, const struct slice *parts,
                     size_t parts_len, uint8_t *out)
{
    (void)self, (void)bits, (void)key, (void)parts, (void)parts_len, (void)out;
    return false;
}

static bool fail_wrap(void *self, struct slice kek, struct slice in, uint8_t *out)
{
    (void)self, (void)kek, (void)in, (void)out;
    return false;
}

/* Of a key whose token does not answer nothing is verified, and nothing leaves; afterwards the true
 * bundle is taken. */
START_TEST(absent_token)
{
    struct binder n;
    open_node(&n);
    const struct crypto there = crypto;
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    const char *const algorithms[] = {"hmac-sha-384", "aes-256-kw"};
    for (size_t i = 0; i < 2; i++) {
        ring.len = 0;
        add_key("up", algorithms[i], "", 'a');
        b.id.sequence++;
        struct buf *real = signed_bundle(&b, "up");
        crypto.absent = is_absent;
        crypto.mac = i == 0 ? fail_mac : there.mac;
        crypto.unwrap = crypto.wrap = i == 0 ? there.wrap : fail_wrap;
        set_rule(acceptor());
        ck_assert_int_eq(receive(&n, buf_keep(real), 1 + i), REFUSE_TOKEN);
        ck_assert_uint_eq(failed(SECURITY_REASON_TOKEN), 1 + 2 * i);
        set_rule(rule_of(SECURITY_ROLE_SOURCE, "*", "*", BLOCK_PAYLOAD, SECURITY_BIB, "up"));
        struct agent_request q = request_of("ipn:2.7", "ipn:3.5", 1);
        ck_assert_int_eq(app_send(&n, &q, "hello"), REFUSE_TOKEN);
        ck_assert_uint_eq(failed(SECURITY_REASON_TOKEN), 2 + 2 * i);
        crypto = there;
        set_rule(acceptor());
        ck_assert_int_eq(receive(&n, real, 3 + i), REFUSE_NONE);
    }
    b.id.sequence++; /* in fragments it waits here */
    struct buf *cut_up = signed_bundle(&b, "up");
    n.verify_waits = true;
    cut(&n, cut_up, 0, 2, 10);
    cut(&n, cut_up, 2, 2, 11);
    listen(&n, 9);
    drain(&n);
    crypto.absent = is_absent;
    crypto.unwrap = fail_wrap;
    ck_assert(verify_next(&n) && n.verified.absent && !n.verified.passed);
    crypto = there;
    ck_assert(verify_next(&n) && !n.verified.absent && n.verified.passed);
    ck_assert_uint_eq(failed(SECURITY_REASON_ERROR) + failed(SECURITY_REASON_FAILED), 0);
    buf_drop(cut_up);
    binder_fini(&n);
}
END_TEST

/* Counts and lets pass; the block of a failed operation is dropped without its bundle. */
START_TEST(reactions)
{
    struct binder n;
    open_node(&n);
    add_key("up", "hmac-sha-384", "", 'a');
    struct security_rule r = acceptor();
    r.dry_run = true;
    set_rule(r);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    ck_assert_uint_eq(security_policy_counters(policy)->passed, 1);
    ck_assert_uint_eq(security_policy_counters(policy)->bundles_dropped, 0);
    r.dry_run = false;
    r.target = 200;
    r.reaction = SECURITY_DROP_BLOCK;
    set_rule(r);
    b.id.sequence = 2;
    b.others[b.others_len++] =
        (struct bundle_block){.type = 200, .crc = CRC_32C, .data = slice_of("block", 5)};
    ck_assert_int_eq(link_receive(&n, 0, &b, 2), REFUSE_NONE);
    ck_assert_uint_eq(security_policy_counters(policy)->blocks_dropped, 1);
    listen(&n, 2);
    drain(&n);
    ck_assert_ptr_null(memmem(buf_data(n.delivered), n.delivered->len, "block", 5));
    binder_fini(&n);
}
END_TEST

/* Two keys at once, by their times; peers; the algorithm is the key's. */
START_TEST(choice_of_keys)
{
    struct binder n;
    open_node(&n);
    struct security_key *old = add_key("up", "hmac-sha-384", "", 'a');
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    struct buf *by_old = signed_bundle(&b, "up");
    struct security_key *next = add_key("up", "hmac-sha-384", "2000-01-02T00:00:00Z", 'b');
    b.id.sequence = 2;
    struct buf *by_next = signed_bundle(&b, "up");
    b.id.sequence = 3;
    struct buf *late = signed_bundle(&b, "up");
    set_rule(acceptor());
    ck_assert_int_eq(receive(&n, by_old, 1), REFUSE_NONE);
    ck_assert_int_eq(receive(&n, by_next, 2), REFUSE_NONE);
    old->until_ms = START_MS; /* over */
    b.id.sequence = 4;
    next->from_ms++;
    ck_assert_int_eq(receive(&n, late, 3), REFUSE_NONE);
    const char *why;
    ck_assert_int_eq(eid_patterns_read("ipn:7.*", &next->peers, &why), 0);
    next->until_ms = UINT64_MAX;
    b.id.sequence = 5;
    old->until_ms = UINT64_MAX;
    struct buf *c = signed_bundle(&b, "up");
    old->until_ms = START_MS;
    ck_assert_int_eq(receive(&n, c, 5), REFUSE_SECURITY);
    ck_assert_uint_eq(failed(SECURITY_REASON_NO_KEY), 1);
    next->peers.len = 0;
    next->algorithm = SECURITY_KEY_HMAC_512;
    ck_assert_int_eq(receive(&n, c = bundle_encode_copy(&b), 6), REFUSE_SECURITY);
    binder_fini(&n);
}
END_TEST

/* An offered bundle that found no room comes again as it was. */
START_TEST(offered_again)
{
    struct binder n;
    struct agent_config config = config_of("ipn:2.0");
    bool waits;
    config.held_bundles = 1;
    relay_init(&n, &config);
    agent_security(n.a, policy);
    add_key("up", "hmac-sha-384", "", 'a');
    set_rule(acceptor());
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    ck_assert_int_eq(receive(&n, signed_bundle(&b, "up"), 1), REFUSE_NONE);
    b.id.sequence = 2;
    struct buf *second = signed_bundle(&b, "up"), *before = buf_new(0, second->len);
    memcpy(buf_append(before, second->len), buf_data(second), second->len);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(
            agent_offer(n.a, 0, second, 2, i > 0 ? AGENT_OFFER_AGAIN : 0, &waits, n.now),
            REFUSE_FULL);
        ck_assert(waits);
        ck_assert_uint_eq(second->len, before->len);
        ck_assert_mem_eq(buf_data(second), buf_data(before), before->len);
    }
    buf_drop(before);
    drain(&n);
    listen(&n, 2);
    skip(&n);
    agent_delivered(n.a, n.last.key, true, n.now);
    drain(&n);
    ck_assert_int_eq(agent_offer(n.a, 0, second, 2, AGENT_OFFER_AGAIN, &waits, n.now), REFUSE_NONE);
    drain(&n);
    binder_fini(&n);
}
END_TEST

START_TEST(key_files)
{
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"", "id is missing"},
        {"id: a\n", "algorithm is missing"},
        {"id: a\nalgorithm: hmac-sha-384\n", "key is missing"},
        {"id: a b\n", "line 1: id"},
        {"id: a\nalgorithm: rot13\n", "line 2: algorithm"},
        {"id: a\nalgorithm: aes-256-gcm\nkey: 00112233445566778899aabbccddeeff\n", "64 hex"},
        {"id: a\nalgorithm: aes-128-gcm\nkey: 0011\n", "32 hex"},
        {"id: a\nalgorithm: hmac-sha-256\nkey: 0011\n", "at least 32"},
        {"key: 0g\n", "line 1: key"},
        {"key: pkcs11\n", "or the URI of a token's key"},
        {"from: 2026-13-01T00:00:00Z\n", "line 1: from"},
        {"until: tomorrow\n", "line 1: until"},
        {"peers: ipn\n", "line 1: peers"},
        {"uses: 0\n", "line 1: uses"},
        {"frob: 1\n", "line 1: expected id"},
        {"id: a\nalgorithm: hmac-sha-256\nkey: 00112233445566778899aabbccddeeff\n"
         "from: 2026-01-02T00:00:00Z\nuntil: 2026-01-01T00:00:00Z\n",
         "until is not after from"},
    };
    struct security_key k;
    char why[256];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_lt(security_key_parse(wrong[i].text, strlen(wrong[i].text), &k, why, 256), 0);
        ck_assert_msg(strstr(why, wrong[i].why) != NULL, "%zu: %s", i, why);
    }
    const char *good = "# a comment\r\nid: up.1\r\nalgorithm: aes-128-gcm\nuses: 10\n"
                       "from: 2024-03-01T00:00:01Z\npeers: ipn:2.*|ipn:7.*\n"
                       "key: 00112233445566778899AABBCCDDEEFF";
    ck_assert_int_eq(security_key_parse(good, strlen(good), &k, why, 256), 0);
    ck_assert_str_eq(k.id, "up.1");
    ck_assert_uint_eq(k.from_ms, UINT64_C(762566401000));
    ck_assert_uint_eq(k.uses_max, 10);
    ck_assert_uint_eq(k.secret[15], 0xff);
    ck_assert_uint_eq(k.peers.len, 2);
    const char *token = "id: up\nkey: pkcs11:token=a;object=b\nalgorithm: aes-256-kw\n";
    ck_assert_int_eq(security_key_parse(token, strlen(token), &k, why, 256), 0);
    ck_assert_str_eq(k.uri, "pkcs11:token=a;object=b");
    ck_assert_uint_eq(k.uri_line, 2);
    ck_assert_uint_eq(k.secret_len, 0); /* until the token is open: no key */
    uint64_t first, again, other;
    ck_assert(security_key_mark(&k, &crypto, &first));
    k.secret_len = 32; /* whatever name it has then */
    ck_assert(security_key_mark(&k, &crypto, &again));
    k.uri[0] = '\0';
    ck_assert(security_key_mark(&k, &crypto, &other));
    ck_assert(first == again && first != other);
}
END_TEST

/* A bundle with such an encrypted block, from a source with that policy. */
static struct buf *with_block(uint64_t type, struct slice content, uint64_t sequence)
{
    const struct security_rule r =
        rule_of(SECURITY_ROLE_SOURCE, "ipn:1.*", "*", type, SECURITY_BCB, "up");
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", sequence);
    b.others[b.others_len++] = (struct bundle_block){.type = type, .number = 5, .data = content};
    struct buf *out = secured_by(&b, &r, 1, &ring);
    ck_assert_ptr_null(memmem(buf_data(out), out->len, content.data, content.len));
    return out;
}

static struct buf *with_priority(enum bundle_priority priority, uint64_t sequence)
{
    const struct bundle_qos q = {.priority = priority};
    uint8_t content[QOS_CONTENT_MAX];
    return with_block(BLOCK_QOS, slice_of(content, qos_encode(&q, content)), sequence);
}

/* What a neighbour may bring is tested before bundle security, and the priority after decryption.
 */
START_TEST(encrypted_priority)
{
    struct binder n;
    open_node(&n);
    add_key("up", "aes-128-gcm", "", 'a');
    set_rule(rule_of(SECURITY_ROLE_ACCEPTOR, "ipn:1.*", "ipn:2.*", BLOCK_QOS, SECURITY_BCB, "up"));
    struct permit p = {.priority = BUNDLE_NORMAL};
    const char *why;
    ck_assert_int_eq(eid_patterns_read("*", &p.party, &why), 0);
    p.from = p.to = p.party;
    ck_assert_int_eq(agent_permit(n.a, PERMIT_IN, &p, 1), 0);
    ck_assert_int_eq(receive(&n, with_priority(BUNDLE_BULK, 1), 1), REFUSE_NONE);
    ck_assert_int_eq(receive(&n, with_priority(BUNDLE_EXPEDITED, 2), 2), REFUSE_RULE);
    ck_assert_uint_eq(security_policy_counters(policy)->accepted, 2);
    ck_assert_int_eq(eid_patterns_read("ipn:9.*", &p.from, &why), 0);
    ck_assert_int_eq(agent_permit(n.a, PERMIT_IN, &p, 1), 0);
    ck_assert_int_eq(receive(&n, with_priority(BUNDLE_BULK, 3), 3), REFUSE_RULE);
    ck_assert_uint_eq(security_policy_counters(policy)->accepted, 2); /* not decrypted */
    const struct permit_counters *c = permits_counters(agent_permits(n.a, PERMIT_IN));
    ck_assert_uint_eq(c->refused[PERMIT_PRIORITY], 1);
    ck_assert_uint_eq(c->refused[PERMIT_SOURCE], 1);
    drain(&n);
    binder_fini(&n);
}
END_TEST

/* A bundle whose block of the bundle's age is encrypted, which no policy of ours does, and begins
 * with another octet than that of an age. */
static struct buf *with_age(uint8_t first, uint64_t sequence)
{
    static const uint8_t age[] = {0x1a, 0x00, 0x00, 0x01, 0x02};
    uint8_t key[16];
    memset(key, 0xaa, sizeof key);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", sequence);
    b.others[b.others_len++] =
        (struct bundle_block){.type = BLOCK_AGE, .number = 5, .data = slice_of(age, sizeof age)};
    const struct security_request r = {.targets = {5},
                                       .targets_len = 1,
                                       .variant = SECURITY_AES_128,
                                       .scope = SECURITY_SCOPE_ALL,
                                       .source = b.id.source,
                                       .key = slice_of(key, sizeof key)};
    struct security_bundle blocks;
    struct buf *plain = bundle_encode_copy(&b);
    ck_assert_int_eq(security_bundle_view(plain, &blocks), 0);
    uint8_t *at = memmem(buf_data(plain), plain->len, age, sizeof age);
    ck_assert_ptr_nonnull(at);
    *at = first;
    ck_assert_int_eq(security_encrypt(&blocks, &r, &crypto), SECURITY_OK);
    struct buf *out = security_bundle_write(&blocks);
    security_bundle_fini(&blocks);
    return out;
}

/* The owner of a key encrypts a block that no node can read. */
START_TEST(encrypted_and_malformed)
{
    struct binder n;
    open_node(&n);
    add_key("up", "aes-128-gcm", "", 'a');
    set_rule(rule_of(SECURITY_ROLE_ACCEPTOR, "ipn:1.*", "ipn:2.*", BLOCK_AGE, SECURITY_BCB, "up"));
    ck_assert_int_eq(receive(&n, with_age(0x1b, 1), 1), REFUSE_MALFORMED); /* too short */
    ck_assert_int_eq(receive(&n, with_age(0x9f, 2), 2), REFUSE_MALFORMED); /* no number */
    ck_assert_uint_eq(agent_counters(n.a)->refused[REFUSE_MALFORMED], 2);
    ck_assert_int_eq(receive(&n, with_age(0x1a, 3), 3), REFUSE_NONE);
    drain(&n);
    binder_fini(&n);
}
END_TEST

SUITE(bp_security_agent, t)
{
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_forgery_does_not_displace);
    tcase_add_test(t, administrative_records);
    tcase_add_test(t, verifier_on_the_way);
    tcase_add_test(t, fragments_are_verified_as_a_whole);
    tcase_add_test(t, fragments_of_many_blocks);
    tcase_add_test(t, source);
    tcase_add_test(t, absent_token);
    tcase_add_test(t, reactions);
    tcase_add_test(t, choice_of_keys);
    tcase_add_test(t, offered_again);
    tcase_add_test(t, key_files);
    tcase_add_test(t, encrypted_priority);
    tcase_add_test(t, encrypted_and_malformed);
}
