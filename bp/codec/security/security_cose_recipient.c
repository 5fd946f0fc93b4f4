/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How recipients of COSE messages get a key, for source and acceptor alike: the algorithms, and
 * HKDF (RFC 5869) with the KDF context of draft-ietf-dtn-bpsec-cose-17 §2.4.2. What can go wrong: a
 * public key on another curve than the private one; the cryptographic library; memory.
 */
#include <assert.h>

#include "base/secret.h"
#include "bp/codec/block.h"
#include "bp/codec/security/security_private.h"

const struct cose_recipient *security_cose_recipient(int64_t alg)
{
    static const struct {
        int64_t alg;
        struct cose_recipient recipient;
    } all[] = {
        {COSE_A128KW, {COSE_WRAPS, COSE_A128KW, 0, false}},
        {COSE_A256KW, {COSE_WRAPS, COSE_A256KW, 0, false}},
        {COSE_HKDF_512, {COSE_DERIVES, 0, 512, false}},
        {COSE_ECDH_ES_HKDF_256, {COSE_AGREES, 0, 256, false}},
        {COSE_ECDH_ES_HKDF_512, {COSE_AGREES, 0, 512, false}},
        {COSE_ECDH_SS_HKDF_256, {COSE_AGREES, 0, 256, true}},
        {COSE_ECDH_SS_HKDF_512, {COSE_AGREES, 0, 512, true}},
        {COSE_ECDH_ES_A128KW, {COSE_AGREES, COSE_A128KW, 256, false}},
        {COSE_ECDH_ES_A256KW, {COSE_AGREES, COSE_A256KW, 256, false}},
        {COSE_ECDH_SS_A128KW, {COSE_AGREES, COSE_A128KW, 256, true}},
        {COSE_ECDH_SS_A256KW, {COSE_AGREES, COSE_A256KW, 256, true}},
        {COSE_OAEP_256, {COSE_ENCAPSULATES, 0, 256, false}},
        {COSE_OAEP_512, {COSE_ENCAPSULATES, 0, 512, false}},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].alg == alg)
            return &all[i].recipient;
    }
    return NULL;
}

bool security_cose_proves_source(const struct cose_recipient *r)
{
    return r->means != COSE_ENCAPSULATES && (r->means != COSE_AGREES || r->is_static);
}

/* ---- HKDF ---- */

static void put_party(struct writer *w)
{
    item_put_array(w, 3);
    for (int i = 0; i < 3; i++)
        item_put_null(w);
}

/* COSE_KDF_Context (RFC 9053 §5.2), with the supplementary public information of §2.4.2. NULL: no
 * memory. */
static struct buf *make_context(const struct security_block *s, const struct cose_kdf *k)
{
    static const char name[] = "BPSec";
    const size_t added = s->added_protected.len, source = eid_size(&s->source);
    struct buf *out = buf_new(0, 100 + k->protected_map.len + added + source);
    if (out == NULL)
        return NULL;
    struct writer w = writer_of(buf_data(out), buf_tailroom(out));
    item_put_array(&w, 4);
    item_put_int(&w, k->alg);
    put_party(&w);
    put_party(&w);
    item_put_array(&w, 3);
    item_put_uint(&w, 8 * k->len);
    item_put_bytes_head(&w, k->protected_map.len);
    writer_bytes(&w, k->protected_map.data, k->protected_map.len);
    item_put_bytes_head(&w, sizeof name + source + item_size(added) + added);
    item_put_text(&w, slice_of(name, sizeof name - 1));
    eid_write(&w, &s->source);
    item_put_bytes_head(&w, added);
    writer_bytes(&w, s->added_protected.data, added);
    assert(!w.bad);
    buf_append(out, writer_len(&w));
    return out;
}

/* RFC 5869 §2.3: each block of the output covers the one before it. */
static bool expand_key(const struct cose_kdf *k, struct slice extracted, struct slice context,
                       const struct crypto *c, uint8_t out[SECURITY_KEY_MAX])
{
    uint8_t block[CRYPTO_MAC_MAX], count = 0;
    bool good = true;
    for (size_t at = 0; at < k->len && good; at += k->bits / 8) {
        const size_t left = k->len - at, n = left < k->bits / 8 ? left : k->bits / 8;
        const struct slice parts[] = {slice_of(block, count > 0 ? k->bits / 8 : 0), context,
                                      slice_of(&count, 1)};
        count++;
        good = c->mac(c->self, k->bits, extracted, parts, 3, block);
        memcpy(out + at, block, n);
    }
    secret_wipe(block, sizeof block);
    return good;
}

bool security_cose_derive(const struct security_block *s, const struct cose_kdf *k,
                          const struct crypto *crypto, uint8_t out[SECURITY_KEY_MAX])
{
    static const uint8_t zeros[CRYPTO_MAC_MAX]; /* the salt, if there is none */
    uint8_t extracted[CRYPTO_MAC_MAX];
    const struct slice salt = k->salt.len > 0 ? k->salt : slice_of(zeros, k->bits / 8);
    assert(k->len <= SECURITY_KEY_MAX);
    struct buf *context = k->len > 0 ? make_context(s, k) : NULL;
    const bool good =
        context != NULL && crypto->mac(crypto->self, k->bits, salt, &k->secret, 1, extracted) &&
        expand_key(k, slice_of(extracted, k->bits / 8), buf_slice(context), crypto, out);
    secret_wipe(extracted, sizeof extracted);
    buf_drop(context);
    return good;
}

/* ---- Diffie-Hellman ---- */

size_t security_cose_wrap_bytes(int64_t alg)
{
    return alg == COSE_A128KW ? 16 : alg == COSE_A256KW ? 32 : 0;
}

bool security_cose_agree(const struct security_block *s, const struct cose_recipient *r,
                         struct cose_kdf k, enum crypto_lasting lasting, struct slice private_key,
                         struct slice public_key, const struct crypto *crypto,
                         uint8_t out[SECURITY_KEY_MAX])
{
    const struct crypto_exchange *e = &crypto->exchange;
    uint8_t shared[CRYPTO_SHARED_MAX];
    size_t len;
    if (r->wrap != 0) {
        k.alg = r->wrap;
        k.len = security_cose_wrap_bytes(r->wrap);
    }
    k.bits = r->bits;
    bool good = e->agree(e->self, lasting, private_key, public_key, shared, &len);
    if (good) {
        k.secret = slice_of(shared, len);
        good = security_cose_derive(s, &k, crypto, out);
    }
    secret_wipe(shared, sizeof shared);
    return good;
}
