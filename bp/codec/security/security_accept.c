/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verifiers and acceptors (RFC 9172 §5.1): one security operation at a time is verified, decrypted
 * or removed. What can go wrong is a verdict; the bundle is then unchanged. AES-GCM in place
 * overwrites the bytes even if the tag is wrong; the table's `restore` restores them.
 */
#include <assert.h>

#include "base/secret.h"
#include "bp/codec/security/security_private.h"

enum security_verdict security_read_operation(const struct security_bundle *b,
                                              struct security_operation op, uint64_t type,
                                              struct security_block *out)
{
    assert(op.block < b->len);
    const struct bundle_block *block = &b->at[op.block];
    if (block->type != type)
        return SECURITY_CONFLICT;
    if (security_is_encrypted(b, block->number))
        return SECURITY_ENCRYPTED;
    if (security_block_parse(type, block->data, out) != NULL || op.target >= out->targets_len)
        return SECURITY_MALFORMED;
    return out->known ? SECURITY_OK : SECURITY_UNKNOWN;
}

enum security_verdict security_find_target(const struct security_bundle *b, uint64_t number,
                                           size_t *at)
{
    for (*at = 0; *at < b->len; ++*at) {
        if (b->at[*at].number == number)
            return SECURITY_OK;
    }
    return number == SECURITY_PRIMARY ? SECURITY_OK : SECURITY_NO_TARGET;
}

enum security_verdict security_verify(const struct security_bundle *b, struct security_operation op,
                                      struct slice key, const struct crypto *crypto)
{
    struct security_block s;
    size_t at;
    enum security_verdict v = security_read_operation(b, op, SECURITY_BIB, &s);
    if (v == SECURITY_OK && s.context == SECURITY_COSE)
        v = SECURITY_BAD_KEY; /* security_cose_verify */
    if (v == SECURITY_OK)
        v = security_find_target(b, s.targets[op.target], &at);
    if (v != SECURITY_OK)
        return v;
    if (security_is_encrypted(b, s.targets[op.target]))
        return SECURITY_ENCRYPTED;
    if (at < b->len && security_is_block(b->at[at].type))
        return SECURITY_CONFLICT; /* RFC 9172 §3.7 */
    uint8_t room[SECURITY_WRAPPED_MAX], mac[CRYPTO_MAC_MAX];
    struct slice used;
    if (!security_find_key(&s, key, crypto, room, &used)) {
        secret_wipe(room, sizeof room);
        return security_crypto_failed(crypto, SECURITY_BAD_KEY);
    }
    const struct bundle_block *target = at < b->len ? &b->at[at] : NULL;
    const struct slice given = s.results[op.target];
    const size_t len = security_mac_bytes(s.variant);
    if (!security_make_mac(b, &s, target, &b->at[op.block], used, crypto, mac))
        v = security_crypto_failed(crypto, SECURITY_NO_CRYPTO);
    else if (given.len != len || !secret_same(given.data, mac, len))
        v = SECURITY_WRONG;
    secret_wipe(room, sizeof room);
    return v;
}

enum security_verdict security_remove_operation(struct security_bundle *b,
                                                struct security_operation op,
                                                struct security_block *s)
{
    if (s->targets_len == 1) {
        security_remove(b, op.block);
        return SECURITY_OK;
    }
    s->targets_len--;
    for (size_t i = op.target; i < s->targets_len; i++) {
        s->targets[i] = s->targets[i + 1];
        s->results[i] = s->results[i + 1];
        s->ids[i] = s->ids[i + 1];
    }
    /* The block becomes shorter. The received bytes may have other readers, so the block is copied
     * to `made` once. Its slices are views of the old place. */
    uint8_t text[SECURITY_MADE_MAX];
    struct bundle_block *block = &b->at[op.block];
    struct writer w = writer_of(text, sizeof text);
    security_block_write(&w, block->type, s);
    const bool moved =
        block->data.data >= b->made && block->data.data < b->made + SECURITY_MADE_MAX;
    if (w.bad || writer_len(&w) > block->data.len ||
        (!moved && writer_len(&w) > SECURITY_MADE_MAX - b->made_len))
        return SECURITY_NO_ROOM;
    uint8_t *to = moved ? security_mutable(b, block->data) : b->made + b->made_len;
    memcpy(to, text, writer_len(&w));
    b->made_len += moved ? 0 : writer_len(&w);
    block->data = slice_of(to, writer_len(&w));
    return SECURITY_OK;
}

/* The tag is the result, or the end of the ciphertext (RFC 9173 §4.4). */
static bool find_tag(const struct security_block *s, size_t i, struct slice *data,
                     uint8_t tag[CRYPTO_TAG])
{
    struct slice given = s->results[i];
    if (given.len == 0 && data->len >= CRYPTO_TAG) {
        given = slice_of(data->data + data->len - CRYPTO_TAG, CRYPTO_TAG);
        data->len -= CRYPTO_TAG;
    }
    if (given.len != CRYPTO_TAG)
        return false;
    memcpy(tag, given.data, CRYPTO_TAG);
    return true;
}

static enum security_verdict open_target(struct security_bundle *b, const struct security_block *s,
                                         struct security_operation op, struct bundle_block *target,
                                         struct slice key, const struct crypto *crypto)
{
    struct security_headers h;
    struct slice data = target->data;
    uint8_t tag[CRYPTO_TAG];
    if (!find_tag(s, op.target, &data, tag))
        return SECURITY_WRONG;
    security_put_headers(&h, b, s->scope, target, &b->at[op.block]);
    const struct slice aad = slice_of(h.bytes, h.len);
    uint8_t *bytes = security_mutable(b, data);
    if (crypto->open(crypto->self, key, s->iv, aad, bytes, data.len, tag)) {
        target->data = data;
        return SECURITY_OK;
    }
    const enum security_verdict v = security_crypto_failed(crypto, SECURITY_WRONG);
    return crypto->restore(crypto->self, key, s->iv, aad, bytes, data.len)
               ? v
               : security_crypto_failed(crypto, SECURITY_NO_CRYPTO);
}

enum security_verdict security_decrypt(struct security_bundle *b, struct security_operation op,
                                       struct slice key, const struct crypto *crypto)
{
    struct security_block s;
    size_t at;
    enum security_verdict v = security_read_operation(b, op, SECURITY_BCB, &s);
    if (v == SECURITY_OK && s.context == SECURITY_COSE)
        v = SECURITY_BAD_KEY; /* security_cose_decrypt */
    if (v == SECURITY_OK)
        v = security_find_target(b, s.targets[op.target], &at);
    if (v != SECURITY_OK)
        return v;
    if (at == b->len || at == op.block || b->at[at].type == SECURITY_BCB)
        return SECURITY_CONFLICT;
    uint8_t room[SECURITY_WRAPPED_MAX];
    struct slice used;
    v = security_find_key(&s, key, crypto, room, &used)
            ? open_target(b, &s, op, &b->at[at], used, crypto)
            : security_crypto_failed(crypto, SECURITY_BAD_KEY);
    secret_wipe(room, sizeof room);
    return v == SECURITY_OK ? security_remove_operation(b, op, &s) : v;
}

enum security_verdict security_strip(struct security_bundle *b, struct security_operation op)
{
    struct security_block s;
    const enum security_verdict v = security_read_operation(b, op, SECURITY_BIB, &s);
    return v == SECURITY_OK ? security_remove_operation(b, op, &s) : v;
}
