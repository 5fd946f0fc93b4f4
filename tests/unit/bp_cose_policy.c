/* SPDX-License-Identifier: Apache-2.0 */
/* Key files and rules of the context COSE: what a file must have, which key signs and which ones
 * verify, two keys of one id, initialization vectors, and the reasons of failures. */
#include "bp_cose_help.h"

#include "base/cursor.h"
#include "bp/codec/security/security_policy.h"
#include "tests/unit/suite.h"

static struct security_ring ring;

static bool reserve(void *self, struct security_ring *r)
{
    (void)self;
    r->iv_end += 4;
    return true;
}

/* DER as PEM, in one line. */
static const char *pem_of(const char *hex, const char *label)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static char text[2048];
    struct octets o;
    const struct slice der = octets(&o, hex);
    char *p = text + sprintf(text, "-----BEGIN %s-----\n", label);
    for (size_t i = 0; i < der.len; i += 3) {
        const size_t left = der.len - i;
        const unsigned v = (unsigned)der.data[i] << 16 |
                           (left > 1 ? (unsigned)der.data[i + 1] << 8 : 0) |
                           (left > 2 ? der.data[i + 2] : 0);
        for (size_t k = 0; k < 4; k++)
            *p++ = k > left ? '=' : letters[v >> (18 - 6 * k) & 63];
    }
    sprintf(p, "\n-----END %s-----\n", label);
    return text;
}

static int parse_key(const char *text, struct security_key *out, char *why, size_t cap)
{
    const int err = security_key_parse(text, strlen(text), out, why, cap);
    return err < 0 ? err : security_key_check(out, &crypto, why, cap);
}

static struct security_key *add_text(const char *text)
{
    char why[300];
    struct security_key *k = &ring.at[ring.len++];
    ck_assert_msg(parse_key(text, k, why, sizeof why) == 0, "%s", why);
    return k;
}

static struct security_key *add_key(const char *lines, const char *pem, const char *more)
{
    char text[8192];
    snprintf(text, sizeof text, "%s%s%s", lines, pem, more);
    return add_text(text);
}

static char key_pem[2048], cert_pem[2048], ca_pem[2048], other_pem[2048];

static void setup(void)
{
    open_table();
    memset(&ring, 0, sizeof ring);
    ring.reserve = reserve;
    strcpy(key_pem, pem_of(COSE_SIGN_KEY, "EC PRIVATE KEY"));
    strcpy(cert_pem, pem_of(COSE_SIGN_CERT, "CERTIFICATE"));
    strcpy(ca_pem, pem_of(COSE_CA, "CERTIFICATE"));
    strcpy(other_pem, pem_of(COSE_OTHER_CERT, "CERTIFICATE"));
}

static void teardown(void)
{
    close_table();
}

#define LIST "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n"
#define SIGNER "id: a\nalgorithm: esp384\n"

START_TEST(key_files)
{
    struct security_cose_key c;
    struct security_key *k = add_key(SIGNER, key_pem, "");
    ck_assert(k->private_key.len == 167 && k->public_key.len == 120 && k->certificates_len == 0);
    ck_assert(security_key_cose(k, &c));
    ck_assert_int_eq(c.alg, COSE_ESP384);
    ck_assert_int_eq(c.identify, SECURITY_BY_KID);
    ck_assert(slice_equal(c.kid, text_slice("a")));
    k = add_key(SIGNER "kid: 0102ff\nidentify: x5t\n", key_pem, cert_pem);
    ck_assert(security_key_cose(k, &c));
    ck_assert(c.kid.len == 3 && c.kid.data[2] == 0xff && c.identify == SECURITY_BY_X5T);
    ck_assert_uint_eq(c.certificates_len, 1);
    k = add_key(SIGNER, key_pem, cert_pem);
    ck_assert_int_eq(k->identify, SECURITY_BY_X5CHAIN);
    k = add_key(SIGNER, cert_pem, ""); /* of a verifier */
    ck_assert(k->private_key.len == 0 && k->public_key.len == 120);
    k = add_key("id: ca\nalgorithm: x509\n", ca_pem, other_pem);
    ck_assert_uint_eq(k->certificates_len, 2);
    k = add_text("id: m\nalgorithm: hmac-sha-384\nkey: " COSE_MAC_KEY "\n");
    ck_assert(security_key_cose(k, &c));
    k = add_text("id: m\nalgorithm: hmac-sha-384\nkey: " COSE_CEK "\n"); /* of 32 bytes */
    ck_assert(!security_key_cose(k, &c));
    k = add_text("id: e\nalgorithm: aes-256-gcm\nbase_iv: " COSE_BASE_IV "\nkey: " COSE_CEK "\n");
    ck_assert(security_key_cose(k, &c));
    ck_assert_uint_eq(c.base_iv.len, SECURITY_IV);
}
END_TEST

START_TEST(wrong_key_files)
{
    const struct {
        const char *lines, *pem, *more, *why;
    } wrong[] = {
        {SIGNER, "", "", "is missing: write it as PEM"},
        {SIGNER "key: 00112233445566778899aabbccddeeff\n", key_pem, "", "not as key:"},
        {SIGNER "identify: x5t\n", key_pem, "", "need a certificate"},
        {SIGNER "identify: face\n", key_pem, "", "line 3: identify"},
        {SIGNER "kid: 0\n", key_pem, "", "line 3: kid"},
        {"id: a\nalgorithm: es256\n", key_pem, "", "not one of the algorithm es256"},
        {"id: a\nalgorithm: ed25519\n", cert_pem, "", "not one of the algorithm ed25519"},
        {SIGNER, key_pem, other_pem, "is not that of the private key"},
        {SIGNER, key_pem, key_pem, "one private"},
        {SIGNER, "-----BEGIN ENCRYPTED PRIVATE KEY-----\n", "", "line 3: expected PEM"},
        {SIGNER, "-----BEGIN PRIVATE KEY-----\n", "", "no end"},
        {SIGNER, "-----BEGIN PRIVATE KEY-----\nA!==\n", "", "other characters"},
        {SIGNER, "-----BEGIN PRIVATE KEY-----\nAAA\n", "-----END PRIVATE KEY-----\n", "complete"},
        {SIGNER, "-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----\n", "complete"},
        {SIGNER, "-----BEGIN PRIVATE KEY-----\nAAAA\n", "-----END PRIVATE KEY-----\n",
         "not one of"},
        {SIGNER, "-----BEGIN CERTIFICATE-----\nAAAA\n", "-----END CERTIFICATE-----\n", "malformed"},
        {"id: a\nalgorithm: x509\n", key_pem, ca_pem, "no keys"},
        {"id: a\nalgorithm: x509\n", "", "", "trust anchors"},
        {"id: a\nalgorithm: x509\n", ca_pem, LIST, "a revocation list is malformed"},
        {SIGNER, key_pem, LIST, "revocation lists are for x509"},
        {"id: a\nalgorithm: aes-256-kw\nkey: " COSE_KEK "\n", cert_pem, "", "no PEM"},
        {"id: a\nalgorithm: hkdf-sha-512\nkey: pkcs11:object=b\n", "", "", "hkdf"},
        {"id: a\nalgorithm: aes-256-gcm\nbase_iv: 00\n", "", "", "line 3: base_iv"},
    };
    struct security_key k;
    char text[8192], why[300];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "%s%s%s", wrong[i].lines, wrong[i].pem, wrong[i].more);
        ck_assert_int_lt(parse_key(text, &k, why, sizeof why), 0);
        ck_assert_msg(strstr(why, wrong[i].why) != NULL, "%zu: %s", i, why);
    }
}
END_TEST

/* ---- rules ---- */

static struct security_rule rule_of(enum security_role role, uint64_t type, bool cose)
{
    struct security_rule r = {.role = role,
                              .target = BLOCK_PAYLOAD,
                              .type = type,
                              .cose = cose,
                              .scope = SECURITY_SCOPE_ALL,
                              .key = "a"};
    const char *why;
    ck_assert_int_eq(eid_patterns_read("*", &r.from, &why), 0);
    ck_assert_int_eq(eid_patterns_read("*", &r.to, &why), 0);
    return r;
}

/* What the node dtn://src/ sends by the rule, or receives; *made: the bundle, owned by the caller.
 */
static enum security_reason apply(const struct security_rule *r, struct buf *bytes, uint64_t dtn_ms,
                                  struct buf **made)
{
    struct security_policy *p;
    struct security_outcome o;
    struct bundle b;
    const struct eid node = eid_named("dtn://src/");
    ck_assert_int_eq(bundle_decode(buf_data(bytes), bytes->len, BUNDLE_LENIENT, &b, NULL), 0);
    ck_assert_int_eq(security_policy_new(&p, &node, &crypto, &ring), 0);
    ck_assert_int_eq(security_policy_set(p, r, 1), 0);
    if (r->role == SECURITY_ROLE_SOURCE)
        security_policy_send(p, bytes, &b, dtn_ms, NULL, &o);
    else
        security_policy_receive(p, bytes, &b, dtn_ms, NULL, &o);
    *made = o.made;
    security_policy_free(p);
    return o.reason;
}

#define CREATED UINT64_C(813110400000) /* of the examples */

/* The reason at the receiver; after SECURITY_PASSED the payload is the original one. */
static enum security_reason transfer(const struct security_rule *out,
                                     const struct security_rule *in, uint64_t dtn_ms)
{
    struct buf *plain = bytes_of(COSE_PLAIN), *sent, *received;
    ck_assert_int_eq(apply(out, plain, CREATED, &sent), SECURITY_PASSED);
    ck_assert_ptr_nonnull(sent);
    const enum security_reason reason = apply(in, sent, dtn_ms, &received);
    if (reason == SECURITY_PASSED) {
        ck_assert_ptr_nonnull(received);
        assert_same_bytes(received, plain);
    }
    buf_drop(received);
    buf_drop(sent);
    buf_drop(plain);
    return reason;
}

START_TEST(rules)
{
    struct security_rule source = rule_of(SECURITY_ROLE_SOURCE, SECURITY_BIB, true),
                         acceptor = rule_of(SECURITY_ROLE_ACCEPTOR, SECURITY_BIB, true),
                         other = rule_of(SECURITY_ROLE_ACCEPTOR, SECURITY_BIB, false);
    add_key(SIGNER, key_pem, cert_pem);
    add_key("id: ca\nalgorithm: x509\n", ca_pem, "");
    strcpy(acceptor.key, "ca");
    ck_assert_int_eq(transfer(&source, &acceptor, CREATED), SECURITY_PASSED);
    source.target = acceptor.target = 0; /* the primary block */
    ck_assert_int_eq(transfer(&source, &acceptor, CREATED), SECURITY_PASSED);
    source.target = acceptor.target = BLOCK_PAYLOAD;
    source.scope = SECURITY_SCOPE_TARGET;
    ck_assert_int_eq(transfer(&source, &acceptor, CREATED), SECURITY_REASON_FAILED);
    source.scope = SECURITY_SCOPE_ALL;
    ck_assert_int_eq(transfer(&source, &other, CREATED), SECURITY_REASON_UNKNOWN);
    strcpy(acceptor.key, "none");
    ck_assert_int_eq(transfer(&source, &acceptor, CREATED), SECURITY_REASON_NO_KEY);
    /* other certificates: of another authority, and of the verifier alone */
    add_key("id: b\nalgorithm: x509\n", other_pem, "");
    strcpy(acceptor.key, "b");
    ck_assert_int_eq(transfer(&source, &acceptor, CREATED), SECURITY_REASON_CERTIFICATE);
    struct buf *plain = bytes_of(COSE_PLAIN), *sent;
    strcpy(source.key, "b"); /* no private key */
    ck_assert_int_eq(apply(&source, plain, CREATED, &sent), SECURITY_REASON_NO_KEY);
    ck_assert_ptr_null(sent);
    buf_drop(plain);
}
END_TEST

/* A MAC by RFC 9173 does not pass where COSE is wanted, and no key serves both ends wrongly. */
START_TEST(contexts_of_rules)
{
    const struct security_rule source = rule_of(SECURITY_ROLE_SOURCE, SECURITY_BIB, false),
                               acceptor = rule_of(SECURITY_ROLE_ACCEPTOR, SECURITY_BIB, true);
    add_text("id: a\nalgorithm: hmac-sha-384\nkey: " COSE_MAC_KEY "\n");
    ck_assert_int_eq(transfer(&source, &acceptor, CREATED), SECURITY_REASON_UNKNOWN);
    const struct security_rule by_cose = rule_of(SECURITY_ROLE_SOURCE, SECURITY_BIB, true);
    ck_assert_int_eq(transfer(&by_cose, &acceptor, CREATED), SECURITY_PASSED);
}
END_TEST

/* Two keys of one id: the source takes the later one, the acceptor both, until the first ends. */
START_TEST(rotation)
{
    const struct security_rule source = rule_of(SECURITY_ROLE_SOURCE, SECURITY_BIB, true),
                               acceptor = rule_of(SECURITY_ROLE_ACCEPTOR, SECURITY_BIB, true);
    struct security_key *old = add_key(SIGNER, key_pem, "");
    struct buf *plain = bytes_of(COSE_PLAIN), *by_old, *by_next, *received;
    ck_assert_int_eq(apply(&source, plain, CREATED, &by_old), SECURITY_PASSED);
    /* Ed25519, private number of 32 times 1 */
    add_key("id: a\nalgorithm: eddsa\nfrom: 2025-10-06T00:00:00Z\n",
            pem_of("302e020100300506032b657004220420"
                   "0101010101010101010101010101010101010101010101010101010101010101",
                   "PRIVATE KEY"),
            "");
    ck_assert_int_eq(apply(&source, plain, CREATED, &by_next), SECURITY_PASSED);
    ck_assert_uint_ne(by_old->len, by_next->len);
    ck_assert_int_eq(apply(&acceptor, by_old, CREATED, &received), SECURITY_PASSED);
    buf_drop(received);
    ck_assert_int_eq(apply(&acceptor, by_next, CREATED, &received), SECURITY_PASSED);
    buf_drop(received);
    old->until_ms = CREATED;
    ck_assert_int_eq(apply(&acceptor, by_old, CREATED, &received), SECURITY_REASON_FAILED);
    ck_assert_int_eq(apply(&acceptor, by_next, CREATED, &received), SECURITY_PASSED);
    buf_drop(received);
    buf_drop(by_old);
    buf_drop(by_next);
    buf_drop(plain);
}
END_TEST

#define RECIPIENT "id: a\nkid: 61\nalgorithm: ecdh-es-a256kw\n"

/* The own pair and the other node's public key have one id: the source takes the other's, even if
 * the own one is newer; the acceptor takes the own one. */
START_TEST(own_and_other_key)
{
    struct security_rule source = rule_of(SECURITY_ROLE_SOURCE, SECURITY_BCB, true),
                         acceptor = rule_of(SECURITY_ROLE_ACCEPTOR, SECURITY_BCB, true);
    struct security_want want = {.id = "a", .type = SECURITY_BCB, .cose = true, .dtn_ms = CREATED};
    const struct eid peer = eid_named("dtn://dst/svc");
    struct buf *plain = bytes_of(COSE_PLAIN), *sent, *received;
    char line[1024];
    want.peer = &peer;
    struct security_key *own = add_key(RECIPIENT, key_pem, "");
    want.source = true;
    ck_assert_ptr_eq(security_ring_find(&ring, &want, 0), own); /* alone */
    /* crv, x and y of the key of A.7 */
    snprintf(line, sizeof line, RECIPIENT "cose_key: a40102%.208s\n",
             strstr(COSE_A7_KEY, "200221"));
    const struct security_key *other = add_text(line);
    own->from_ms = CREATED - 1;
    ck_assert_ptr_eq(security_ring_find(&ring, &want, 0), other);
    ck_assert_ptr_eq(security_ring_find(&ring, &want, 1), own);
    want.source = false;
    ck_assert_ptr_eq(security_ring_find(&ring, &want, 0), own);
    ck_assert_ptr_null(security_ring_find(&ring, &want, 1));
    ck_assert_int_eq(apply(&source, plain, CREATED, &sent), SECURITY_PASSED);
    ring.len = 0; /* the other node */
    snprintf(line, sizeof line, RECIPIENT "cose_key: %s\n", COSE_A7_KEY);
    add_text(line);
    ck_assert_int_eq(apply(&acceptor, sent, CREATED, &received), SECURITY_PASSED);
    assert_same_bytes(received, plain);
    buf_drop(received);
    buf_drop(sent);
    buf_drop(plain);
}
END_TEST

static void note_iv(const struct buf *bytes, uint64_t seen[], size_t *len)
{
    struct security_block s;
    struct cose_message m;
    struct security_bundle b;
    struct buf *copy = buf_new(0, bytes->len);
    memcpy(buf_append(copy, bytes->len), bytes->mem + bytes->off, bytes->len);
    ck_assert_int_eq(security_bundle_read(copy, &b, NULL), 0);
    const struct slice data = b.at[index_of(&b, 2)].data;
    ck_assert_ptr_null(security_block_parse(SECURITY_BCB, data, &s));
    ck_assert_ptr_null(
        cose_message_parse(s.ids[0], s.results[0], s.added_protected, s.added_unprotected, &m));
    ck_assert_uint_eq(m.body.headers.iv.len, SECURITY_IV);
    const uint64_t n = number_at(m.body.headers.iv.data + 4, 8);
    for (size_t i = 0; i < *len; i++)
        ck_assert_uint_ne(seen[i], n);
    seen[(*len)++] = n;
    security_bundle_fini(&b);
}

/* Encryption takes IVs from the ring, as the other context does, and counts uses. */
START_TEST(encryption)
{
    static const char *const keys[] = {
        "id: a\nalgorithm: aes-256-gcm\nuses: 6\nkey: " COSE_CEK "\n",
        "id: a\nalgorithm: aes-256-kw\nuses: 6\nkey: " COSE_KEK "\n",
        "id: a\nalgorithm: hkdf-sha-512\nuses: 6\nkey: " COSE_KDK "\n"};
    const struct security_rule source = rule_of(SECURITY_ROLE_SOURCE, SECURITY_BCB, true),
                               acceptor = rule_of(SECURITY_ROLE_ACCEPTOR, SECURITY_BCB, true);
    struct security_key *k = add_text(keys[_i]);
    uint64_t seen[8];
    size_t len = 0;
    for (int i = 0; i < 6; i++) {
        struct buf *plain = bytes_of(COSE_PLAIN), *sent, *received;
        ck_assert_int_eq(apply(&source, plain, CREATED, &sent), SECURITY_PASSED);
        note_iv(sent, seen, &len);
        ck_assert_int_eq(apply(&acceptor, sent, CREATED, &received), SECURITY_PASSED);
        assert_same_bytes(received, plain);
        buf_drop(received);
        buf_drop(sent);
        buf_drop(plain);
    }
    ck_assert_uint_eq(k->uses, 6);
    struct buf *plain = bytes_of(COSE_PLAIN), *sent;
    ck_assert_int_eq(apply(&source, plain, CREATED, &sent), SECURITY_REASON_EXHAUSTED);
    buf_drop(plain);
    ck_assert_ptr_null(sent);
}
END_TEST

/* Signed, then encrypted with its signature (RFC 9172 §3.9), and both are undone. */
START_TEST(signed_and_encrypted)
{
    const struct security_rule both[2] = {rule_of(SECURITY_ROLE_SOURCE, SECURITY_BIB, true),
                                          rule_of(SECURITY_ROLE_SOURCE, SECURITY_BCB, true)};
    struct security_rule back[2] = {rule_of(SECURITY_ROLE_ACCEPTOR, SECURITY_BIB, true),
                                    rule_of(SECURITY_ROLE_ACCEPTOR, SECURITY_BCB, true)};
    struct security_policy *p;
    struct security_outcome o;
    struct bundle b;
    const struct eid node = eid_named("dtn://src/");
    struct buf *bytes = bytes_of(COSE_PLAIN), *plain = bytes_of(COSE_PLAIN);
    add_key(SIGNER, key_pem, cert_pem);
    add_text("id: a\nalgorithm: aes-256-gcm\nkey: " COSE_CEK "\n");
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(bundle_decode(buf_data(bytes), bytes->len, BUNDLE_LENIENT, &b, NULL), 0);
        ck_assert_int_eq(security_policy_new(&p, &node, &crypto, &ring), 0);
        ck_assert_int_eq(security_policy_set(p, i == 0 ? both : back, 2), 0);
        if (i == 0)
            security_policy_send(p, bytes, &b, CREATED, NULL, &o);
        else
            security_policy_receive(p, bytes, &b, CREATED, NULL, &o);
        ck_assert_int_eq(o.reason, SECURITY_PASSED);
        buf_drop(bytes);
        bytes = o.made;
        security_policy_free(p);
    }
    assert_same_bytes(bytes, plain);
    buf_drop(bytes);
    buf_drop(plain);
}
END_TEST

SUITE(bp_cose_policy, t)
{
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, key_files);
    tcase_add_test(t, wrong_key_files);
    tcase_add_test(t, rules);
    tcase_add_test(t, contexts_of_rules);
    tcase_add_test(t, rotation);
    tcase_add_test(t, own_and_other_key);
    tcase_add_loop_test(t, encryption, 0, 3);
    tcase_add_test(t, signed_and_encrypted);
}
