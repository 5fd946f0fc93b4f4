/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte chooses a message, the second one the lengths of the additional header maps. What
 * is read keeps the limits of the header, and its slices lie within the input. Then the input is a
 * bundle: every COSE operation in it gets a verdict, and with any verdict but SECURITY_OK the
 * bundle stays as it was. */
#include <stdlib.h>

#include "bp/codec/security_cose.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
    if (!ok)
        abort();
}

/* Not secure, and fast: sums instead of MACs and hashes, no cipher. */
static bool sum(void *self, unsigned bits, struct slice key, const struct slice *parts,
                size_t parts_len, uint8_t *out)
{
    (void)self;
    memset(out, key.len == 0 ? 0 : key.data[0], bits / 8);
    for (size_t i = 0; i < parts_len; i++) {
        for (size_t k = 0; k < parts[i].len; k++)
            out[0] = (uint8_t)(out[0] + parts[i].data[k]);
    }
    return true;
}

static bool unseal(void *self, struct slice key, struct slice iv, struct slice aad, uint8_t *data,
                   size_t len, const uint8_t tag[CRYPTO_TAG])
{
    (void)self;
    for (size_t i = 0; i < len; i++)
        data[i] = (uint8_t)(data[i] ^ key.data[i % key.len] ^ iv.data[i % iv.len]);
    return tag[0] == (aad.len & 0xff);
}

static bool reseal(void *self, struct slice key, struct slice iv, struct slice aad, uint8_t *data,
                   size_t len)
{
    static const uint8_t tag[CRYPTO_TAG];
    unseal(self, key, iv, aad, data, len, tag);
    return true;
}

static bool unwrap(void *self, struct slice kek, struct slice in, uint8_t *out)
{
    (void)self;
    (void)kek;
    memcpy(out, in.data, in.len - 8);
    return true;
}

static bool digest(void *self, unsigned bits, struct slice text, uint8_t *out)
{
    return sum(self, bits, slice_of(NULL, 0), &text, 1, out);
}

static bool verify(void *self, enum crypto_curve curve, struct slice public_key,
                   const struct slice *parts, size_t parts_len, struct slice signature)
{
    uint8_t out[64];
    (void)curve;
    sum(self, 512, public_key, parts, parts_len, out);
    return out[0] == signature.data[0];
}

static const char *certified(void *self, const struct crypto_certificates *c,
                             enum crypto_curve *curve, uint8_t out[CRYPTO_PUBLIC_MAX], size_t *len)
{
    (void)self;
    *curve = (enum crypto_curve)(c->certificate.data[0] % CRYPTO_CURVES);
    memset(out, 1, CRYPTO_PUBLIC_MAX);
    *len = CRYPTO_PUBLIC_MAX;
    return c->is_node(c->node, "ipn:2.0") ? NULL : "another node";
}

static void check_headers(const struct cose_headers *h)
{
    require(h->chain_len <= COSE_CHAIN_MAX && h->labels_len <= COSE_LABELS_MAX);
    require(h->iv.data == NULL || h->partial_iv.data == NULL);
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
    static const int64_t algs[] = {0,           COSE_HMAC_384, COSE_A256GCM, COSE_A256KW,
                                   COSE_ESP384, COSE_HKDF_512, COSE_EDDSA};
    static const uint8_t secret[32] = {1}, certificate[8] = {2};
    const struct crypto crypto = {
        .mac = sum,
        .open = unseal,
        .restore = reseal,
        .unwrap = unwrap,
        .signatures = {.digest = digest, .verify = verify, .certified = certified}};
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
    (void)security_block_parse(SECURITY_BIB, slice_of(data, size), &s);
    (void)security_block_parse(SECURITY_BCB, slice_of(data, size), &s);
    check_bundle(data, size);
    return 0;
}
