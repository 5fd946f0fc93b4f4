/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The security contexts of RFC 9173. An operation collects the additional authenticated data (§3.7,
 * §4.7.2): the scope flags and, selected by them, the primary block, the target's header and the
 * security block's header. A BIB adds the target's content as a CBOR byte string. A BCB encrypts
 * that content in place. What can go wrong is a verdict.
 */
#include <assert.h>

#include "bp/codec/block.h"
#include "bp/codec/security/security_private.h"

const char *security_verdict_text(enum security_verdict v)
{
    static const char *const texts[] = {
        [SECURITY_OK] = "correct",
        [SECURITY_MALFORMED] = "the security block is malformed",
        [SECURITY_UNKNOWN] = "the security context is not implemented",
        [SECURITY_NO_TARGET] = "the bundle has no such block",
        [SECURITY_ENCRYPTED] = "the block is encrypted: decrypt it first",
        [SECURITY_CONFLICT] = "RFC 9172 does not allow this operation on this block",
        [SECURITY_BAD_KEY] =
            "the key has a wrong length, or is not the one that wrapped the block's key",
        [SECURITY_WRONG] = "it does not match: another key, or altered bytes",
        [SECURITY_NO_ROOM] = "the bundle has too many blocks, or too long security blocks",
        [SECURITY_NO_CRYPTO] = "the cryptographic library failed",
        [SECURITY_NO_TOKEN] = "the token that has the key does not answer",
        [SECURITY_NOT_TRUSTED] = "the signer's certificate is invalid, expired or of another node",
    };
    assert((size_t)v < sizeof texts / sizeof *texts);
    return texts[v];
}

enum security_verdict security_crypto_failed(const struct crypto *c,
                                             enum security_verdict otherwise)
{
    return c->absent != NULL && c->absent(c->self) ? SECURITY_NO_TOKEN : otherwise;
}

bool security_is_block(uint64_t type)
{
    return type == SECURITY_BIB || type == SECURITY_BCB;
}

/* The index of the block of that type which has `number` as a target; b->len: none. */
size_t security_targeting(const struct security_bundle *b, uint64_t type, uint64_t number)
{
    struct security_block s;
    for (size_t i = 0; i < b->len; i++) {
        if (b->at[i].type != type || security_block_parse(type, b->at[i].data, &s) != NULL)
            continue;
        for (size_t k = 0; k < s.targets_len; k++) {
            if (s.targets[k] == number)
                return i;
        }
    }
    return b->len;
}

bool security_is_encrypted(const struct security_bundle *b, uint64_t number)
{
    return security_targeting(b, SECURITY_BCB, number) < b->len;
}

/* RFC 9172 §4: flags that no document defines are 0 in what is authenticated. */
#define BLOCK_FLAGS_KNOWN                                                                          \
    (BLOCK_REPLICATE | BLOCK_REPORT_IF_UNKNOWN | BLOCK_DELETE_BUNDLE_IF_UNKNOWN |                  \
     BLOCK_DROP_IF_UNKNOWN)

static void put_header(struct writer *w, const struct bundle_block *block)
{
    item_put_uint(w, block->type);
    item_put_uint(w, block->number);
    item_put_uint(w, block->flags & BLOCK_FLAGS_KNOWN);
}

/* §3.7, §4.7.2. `target` is NULL for the primary block, whose content is the whole block. */
void security_put_headers(struct security_headers *h, const struct security_bundle *b,
                          uint64_t scope, const struct bundle_block *target,
                          const struct bundle_block *security)
{
    struct writer w = writer_of(h->bytes, sizeof h->bytes);
    item_put_uint(&w, scope & SECURITY_SCOPE_ALL);
    if ((scope & SECURITY_SCOPE_PRIMARY) && target != NULL)
        primary_write(&w, &b->primary);
    if ((scope & SECURITY_SCOPE_TARGET) && target != NULL)
        put_header(&w, target);
    if (scope & SECURITY_SCOPE_SECURITY)
        put_header(&w, security);
    const size_t content = target == NULL ? primary_size(&b->primary) : target->data.len;
    if (security->type == SECURITY_BIB)
        item_put_bytes_head(&w, content);
    if (security->type == SECURITY_BIB && target == NULL)
        primary_write(&w, &b->primary);
    assert(!w.bad);
    h->len = writer_len(&w);
}

bool security_make_mac(const struct security_bundle *b, const struct security_block *s,
                       const struct bundle_block *target, const struct bundle_block *security,
                       struct slice key, const struct crypto *crypto, uint8_t *out)
{
    struct security_headers h;
    security_put_headers(&h, b, s->scope, target, security);
    const struct slice parts[] = {slice_of(h.bytes, h.len),
                                  target == NULL ? slice_of(NULL, 0) : target->data};
    return crypto->mac(crypto->self, (unsigned)security_mac_bytes(s->variant) * 8, key, parts, 2,
                       out);
}

size_t security_mac_bytes(enum security_variant v)
{
    return v == SECURITY_HMAC_256 ? 32 : v == SECURITY_HMAC_384 ? 48 : 64;
}

size_t security_key_bytes(enum security_variant v)
{
    return v == SECURITY_AES_128 ? 16 : v == SECURITY_AES_256 ? 32 : security_mac_bytes(v);
}

bool security_is_cipher(enum security_variant v)
{
    return v == SECURITY_AES_128 || v == SECURITY_AES_256;
}

bool security_key_fits(enum security_variant v, size_t len)
{
    return security_is_cipher(v) ? len == security_key_bytes(v)
                                 : len > 0 && len <= SECURITY_KEY_MAX;
}

bool security_wraps(size_t len)
{
    return len == 16 || len == 24 || len == 32;
}

bool security_find_key(const struct security_block *s, struct slice given,
                       const struct crypto *crypto, uint8_t room[SECURITY_WRAPPED_MAX],
                       struct slice *out)
{
    *out = given;
    if (s->wrapped_key.len > 0) {
        if (!security_wraps(given.len) || s->wrapped_key.len % 8 != 0 ||
            !crypto->unwrap(crypto->self, given, s->wrapped_key, room))
            return false;
        *out = slice_of(room, s->wrapped_key.len - 8);
    }
    return security_key_fits(s->variant, out->len);
}
