/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte chooses a message, the second one the lengths of the additional header maps. What
 * is read keeps the limits of the header, and its slices lie within the input. Then the input is a
 * bundle: every COSE operation in it gets a verdict, and with any verdict but SECURITY_OK the
 * bundle stays as it was. */
#include "bp/codec/security/cose_key.h"
#include "bp/codec/security/security_cose.h"
#include "toy_crypto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A key is read alone, too; what is written of it has room. */
static void check_key(struct slice map)
{
    uint8_t der[8192];
    struct cose_key k;
    const char *wrong = cose_key_parse(map, &k);
    require(wrong == NULL || wrong[0] != '\0');
    if (wrong != NULL || k.type == COSE_SYMMETRIC)
        return;
    struct writer w = writer_of(der, sizeof der);
    if (k.type == COSE_RSA || k.x.data != NULL)
        cose_key_write_public(&k, &w);
    if (k.x.data != NULL)
        require(!w.bad && writer_len(&w) < CRYPTO_PUBLIC_MAX);
    (void)cose_key_is_of(&k, slice_of(der, writer_len(&w)));
    w = writer_of(der, sizeof der);
    if (cose_key_is_private(&k))
        cose_key_write_private(&k, &w);
    require(!w.bad || k.type == COSE_RSA);
}

static void check_headers(const struct cose_headers *h)
{
    require(h->chain_len <= COSE_CHAIN_MAX && h->bag_len <= COSE_CHAIN_MAX);
    require(h->labels_len <= COSE_LABELS_MAX);
    require(h->iv.data == NULL || h->partial_iv.data == NULL);
    check_key(h->ephemeral_key);
    check_key(h->static_key);
    for (size_t i = 0; i < h->labels_len; i++) {
        for (size_t k = 0; k < i; k++)
            require(h->labels[i] != h->labels[k]);
    }
}

static void check_message(const uint8_t *data, size_t size)
{
    static const uint64_t ids[] = {COSE_ENCRYPT0, COSE_MAC0, COSE_SIGN1,
                                   COSE_ENCRYPT,  COSE_MAC,  COSE_SIGN};
    struct cose_message m;
    if (size < 2)
        return;
    const size_t first = data[1] & 0x0f, second = data[1] >> 4;
    const size_t id = data[0] % (sizeof ids / sizeof *ids);
    if (first + second > size - 2)
        return;
    const struct slice added = slice_of(data + 2, first),
                       plain = slice_of(data + 2 + first, second);
    const char *why = cose_message_parse(
        ids[id], slice_of(data + 2 + first + second, size - 2 - first - second), added, plain, &m);
    if (why != NULL) {
        require(why[0] != '\0');
        return;
    }
    require(m.len <= COSE_LAYERS_MAX && (uint64_t)m.id == ids[id]);
    check_headers(&m.body.headers);
    for (size_t i = 0; i < m.len; i++)
        check_headers(&m.at[i].headers);
}

static struct slice encode(const struct security_bundle *b, struct buf **out)
{
    *out = security_bundle_write(b);
    require(*out != NULL);
    return buf_slice(*out);
}

static void run_operation(struct security_bundle *b, struct security_operation op,
                          const struct security_cose_key *key, const struct crypto *crypto)
{
    struct buf *before, *after;
    const struct slice was = encode(b, &before);
    const enum security_verdict seen = security_cose_verify(b, op, key, 1000, crypto);
    require(slice_equal(encode(b, &after), was));
    buf_drop(after);
    const enum security_verdict v =
        seen == SECURITY_OK ? seen : security_cose_decrypt(b, op, key, crypto);
    require(security_verdict_text(v)[0] != '\0');
    const struct slice now = encode(b, &after);
    require(v == SECURITY_OK || slice_equal(now, was));
    buf_drop(before);
    buf_drop(after);
}

static void check_bundle(const uint8_t *data, size_t size)
{
    static const int64_t algs[] = {0,
                                   COSE_HMAC_384,
                                   COSE_A256GCM,
                                   COSE_A256KW,
                                   COSE_ESP384,
                                   COSE_HKDF_512,
                                   COSE_EDDSA,
                                   COSE_PS384,
                                   COSE_OAEP_512,
                                   COSE_ECDH_ES_A256KW,
                                   COSE_ECDH_ES_HKDF_512,
                                   COSE_ECDH_SS_HKDF_512,
                                   COSE_ECDH_SS_A128KW};
    static const uint8_t secret[32] = {1}, certificate[8] = {2};
    const struct crypto crypto = toy_crypto();
    struct security_bundle b;
    struct buf *bytes = buf_new(0, size + 1);
    require(bytes != NULL);
    if (size > 0)
        memcpy(buf_append(bytes, size), data, size);
    if (security_bundle_read(bytes, &b, NULL) != 0)
        return;
    for (size_t i = 0; i < sizeof algs / sizeof *algs; i++) {
        const struct security_cose_key key = {
            .alg = algs[i],
            .kid = slice_of("ExampleA.1", 10),
            .secret = slice_of(secret, sizeof secret),
            .public_key = slice_of(secret, sizeof secret),
            .base_iv = slice_of(secret, SECURITY_IV),
            .certificates = {slice_of(certificate, sizeof certificate)},
            .certificates_len = i % 2 == 0};
        for (size_t at = 0; at < b.len && at < 4; at++) {
            for (size_t target = 0; target < 2; target++)
                run_operation(&b, (struct security_operation){at < b.len ? at : 0, target}, &key,
                              &crypto);
        }
    }
    security_bundle_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct security_block s;
    check_message(data, size);
    check_key(slice_of(data, size));
    (void)security_block_parse(SECURITY_BIB, slice_of(data, size), &s);
    (void)security_block_parse(SECURITY_BCB, slice_of(data, size), &s);
    check_bundle(data, size);
    return 0;
}
