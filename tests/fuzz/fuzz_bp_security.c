/* SPDX-License-Identifier: Apache-2.0 */
/* Any bundle is read as a list of blocks and written back; every operation in it gets a verdict,
 * and with any verdict but SECURITY_OK the bundle stays as it was. What is decrypted or removed
 * leaves a bundle that can be written; and decoded, unless a block was decrypted, which may be
 * malformed. */
#include "bp/codec/security/security.h"
#include "toy_crypto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_same(const struct security_bundle *b, const struct buf *before)
{
    struct buf *now = security_bundle_write(b);
    require(now != NULL && slice_equal(buf_slice(now), buf_slice(before)));
    buf_drop(now);
}

/* In its own buffer, if there is room, it is the same; then that is undone. */
static void require_placed(struct security_bundle *b, const struct buf *want)
{
    struct security_undo undo;
    if (!security_bundle_place(b, &undo))
        return;
    require(slice_equal(buf_slice(b->bytes), buf_slice(want)));
    security_bundle_undo(b->bytes, &undo);
    require_same(b, want);
}

/* Has a block been decrypted? */
static bool run_operation(struct security_bundle *b, struct security_operation op,
                          const struct crypto *crypto)
{
    static const uint8_t key[16];
    struct buf *before = security_bundle_write(b);
    require(before != NULL);
    enum security_verdict v = security_verify(b, op, slice_of(key, sizeof key), crypto);
    require_same(b, before);
    const bool verified = v == SECURITY_OK;
    if (!verified)
        v = security_decrypt(b, op, slice_of(key, sizeof key), crypto);
    else
        v = security_strip(b, op);
    if (v != SECURITY_OK)
        require_same(b, before);
    require(security_verdict_text(v)[0] != '\0');
    buf_drop(before);
    return !verified && v == SECURITY_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct crypto crypto = toy_crypto();
    struct security_block s;
    security_block_parse(SECURITY_BIB, slice_of(data, size), &s);
    security_block_parse(SECURITY_BCB, slice_of(data, size), &s);
    struct buf *bytes = buf_new(size % 300, size + 1);
    require(bytes != NULL);
    if (size > 0)
        memcpy(buf_append(bytes, size), data, size);
    struct security_bundle b;
    if (security_bundle_read(bytes, &b, NULL) != 0)
        return 0;
    bool decrypted = false;
    for (size_t i = 0; i < b.len && i < 8; i++) {
        for (size_t k = 0; k < 3; k++) {
            const struct security_operation op = {.block = i < b.len ? i : 0, .target = k};
            decrypted = run_operation(&b, op, &crypto) || decrypted;
        }
    }
    struct security_request r = {.targets = {1}, .targets_len = 1, .variant = SECURITY_HMAC_256};
    r.source = eid_ipn(0, 1, 0);
    r.key = slice_of("0123456789abcdef", 16);
    security_sign(&b, &r, &crypto);
    r.variant = SECURITY_AES_128;
    security_encrypt(&b, &r, &crypto);
    struct buf *out = security_bundle_write(&b);
    struct bundle again;
    require(out != NULL);
    const int rc = bundle_decode(buf_data(out), out->len, BUNDLE_LENIENT, &again, NULL);
    require(rc == 0 || (decrypted && rc == HELIO_EFORMAT));
    require_placed(&b, out);
    buf_drop(out);
    security_bundle_fini(&b);
    return 0;
}
