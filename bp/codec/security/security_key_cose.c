/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys from COSE_Key (RFC 9052 §7): in a line of a key file, or a file of its own with one key or a
 * COSE_KeySet. The algorithm is the key's `alg`, and its name for rules is its `kid`: as it is if
 * that is a word, else in hexadecimal digits. What can go wrong: the file; the message has the
 * number of the key and its kid, which is no secret.
 */
#include <stdio.h>

#include "base/secret.h"
#include "bp/codec/security/cose_private.h"
#include "bp/codec/security/security_key_private.h"

enum { KEY_LEVELS = 6 };

/* ---- one key ---- */

static enum security_key_use use_of(const struct cose_key *c)
{
    const uint32_t both = 1u << COSE_MAY_DERIVE | 1u << COSE_MAY_DERIVE_BITS;
    const uint32_t source = both | 1u << COSE_MAY_SIGN | 1u << COSE_MAY_ENCRYPT |
                            1u << COSE_MAY_WRAP | 1u << COSE_MAY_MAC;
    const uint32_t acceptor = both | 1u << COSE_MAY_VERIFY | 1u << COSE_MAY_DECRYPT |
                              1u << COSE_MAY_UNWRAP | 1u << COSE_MAY_VERIFY_MAC;
    /* a public key of Diffie-Hellman has no operations (RFC 9053 §6.3.1) */
    if (!c->has_operations || (c->operations == 0 && !cose_key_is_private(c)))
        return SECURITY_USE_ANY;
    if ((c->operations & source) == 0)
        return (c->operations & acceptor) == 0 ? SECURITY_USE_NONE : SECURITY_USE_ACCEPTOR;
    return (c->operations & acceptor) == 0 ? SECURITY_USE_SOURCE : SECURITY_USE_ANY;
}

static const char *take_secret(struct security_key *k, struct slice secret)
{
    if (secret.len > sizeof k->secret)
        return "k (-1) has more than 64 bytes";
    memcpy(k->secret, secret.data, secret.len);
    k->secret_len = secret.len;
    return NULL;
}

static const char *write_der(struct security_key *k, const struct cose_key *c, bool is_private,
                             struct security_der *to)
{
    struct writer w = writer_of(k->der + k->der_len, SECURITY_KEY_DER - k->der_len);
    if (is_private)
        cose_key_write_private(c, &w);
    else
        cose_key_write_public(c, &w);
    if (w.bad)
        return "keys and certificates have more than 8192 bytes";
    *to = (struct security_der){.at = (uint16_t)k->der_len, .len = (uint16_t)writer_len(&w)};
    k->der_len += to->len;
    return NULL;
}

/* security_key_check compares both parts of a private key. */
static const char *take_der(struct security_key *k, const struct cose_key *c)
{
    const bool is_private = cose_key_is_private(c);
    struct security_der *to = is_private ? &k->private_key : &k->public_key;
    if (to->len > 0)
        return "a key file has one private and one public key at most";
    const char *wrong = write_der(k, c, is_private, to);
    return wrong == NULL && is_private && c->x.data != NULL ? write_der(k, c, false, &k->stated)
                                                            : wrong;
}

const char *security_key_take(struct security_key *k, const struct cose_key *c)
{
    const enum security_key_use use = use_of(c);
    if (c->kid.len > sizeof k->kid)
        return "kid (2) has more than 64 bytes";
    if (c->base_iv.data != NULL && c->base_iv.len != SECURITY_IV)
        return "Base IV (5): write 12 bytes";
    if (c->base_iv.data != NULL) {
        memcpy(k->base_iv, c->base_iv.data, SECURITY_IV);
        k->base_iv_len = SECURITY_IV;
    }
    if (k->kid_len == 0 && c->kid.len > 0) {
        memcpy(k->kid, c->kid.data, c->kid.len);
        k->kid_len = c->kid.len;
    }
    if (use != SECURITY_USE_ANY)
        k->use = use;
    return c->type == COSE_SYMMETRIC ? take_secret(k, c->secret) : take_der(k, c);
}

/* ---- files ---- */

bool security_key_is_cose(const char *text, size_t len)
{
    return len > 0 && ((uint8_t)text[0] >> 5 == 4 || (uint8_t)text[0] >> 5 == 5);
}

/* The i-th key of the file, as it is encoded. NULL, or what is wrong with the file. */
static const char *find_map(struct slice file, size_t i, size_t *count, struct slice *out)
{
    struct item_reader r = item_reader_of(file.data, file);
    const bool is_set = item_peek(&r) == ITEM_ARRAY;
    const uint64_t n = is_set ? item_array(&r) : 1;
    if (n == 0 || n > SECURITY_KEYS_MAX)
        return "a COSE_KeySet has 1 to 64 keys here";
    for (uint64_t k = 0; k < n && !r.in.bad; k++) {
        const uint8_t *start = r.in.p;
        cose_skip(&r, KEY_LEVELS);
        if (k == i && !r.in.bad)
            *out = slice_of(start, (size_t)(r.in.p - start));
    }
    if (r.in.bad || reader_left(&r.in) > 0)
        return "it begins as CBOR, but is no COSE_Key (a map) or COSE_KeySet (an array of them)";
    *count = (size_t)n;
    return i < n ? NULL : "the file has fewer keys";
}

static const char *name_key(struct security_key *k)
{
    static const char digits[] = "0123456789abcdef";
    const struct slice kid = slice_of(k->kid, k->kid_len);
    if (kid.len == 0)
        return "kid (2) is missing: write the word by which rules name this key";
    if (security_key_is_word(kid)) {
        memcpy(k->id, kid.data, kid.len);
        return NULL;
    }
    if (2 * kid.len >= sizeof k->id)
        return "kid (2): write up to 63 letters, digits, '-', '_' or '.', or up to 31 other bytes";
    for (size_t i = 0; i < kid.len; i++) {
        k->id[2 * i] = digits[kid.data[i] >> 4];
        k->id[2 * i + 1] = digits[kid.data[i] & 15];
    }
    return NULL;
}

/* Do the type of the key and its parts suit the algorithm? */
static const char *judge_form(const struct security_key *k, const struct cose_key *c)
{
    const enum key_form form = security_algorithm_form(k->algorithm);
    if ((form == FORM_SECRET) != (c->type == COSE_SYMMETRIC))
        return form == FORM_SECRET
                   ? "kty (1): this alg has a symmetric key: write 4"
                   : "kty (1): this alg has a public or private key: write 1, 2 or 3";
    if (form == FORM_BOTH)
        return "alg (3): ECDH-SS needs the keys of both ends: write a key file with two lines "
               "cose_key:";
    if (form != FORM_SECRET)
        return k->base_iv_len > 0 ? "Base IV (5) is for symmetric keys: remove it" : NULL;
    return security_key_secret_wrong(k) == NULL
               ? NULL
               : "k (-1): write as many bytes as alg (3) needs: 16, 32, or for HMAC 16 to 64";
}

static const char *read_key(struct slice map, struct cose_key *c, struct security_key *out)
{
    const char *wrong = cose_key_parse(map, c);
    if (wrong != NULL)
        return wrong;
    out->algorithm = security_algorithm_of_cose(c->alg);
    if (!c->has_alg)
        return "alg (3) is missing: write the number of an algorithm, such as -51 (ESP384)";
    if (out->algorithm == SECURITY_KEY_ALGORITHMS)
        return "alg (3) is not implemented: write one such as -51 (ESP384) or -31 (ECDH-ES + "
               "A256KW)";
    wrong = security_key_take(out, c);
    if (wrong == NULL)
        wrong = judge_form(out, c);
    if (wrong == NULL && out->use == SECURITY_USE_NONE)
        wrong = "key_ops (4) has no operation that is used here: remove it, or write one such as 1 "
                "(sign)";
    return wrong != NULL ? wrong : name_key(out);
}

static void explain_key(size_t i, const struct cose_key *c, const char *wrong, char *why,
                        size_t cap)
{
    char kid[2 * SECURITY_KEY_ID + 1] = "";
    const size_t shown = c->kid.len < SECURITY_KEY_ID ? c->kid.len : SECURITY_KEY_ID;
    for (size_t k = 0; k < shown; k++)
        snprintf(kid + 2 * k, 3, "%02x", c->kid.data[k]);
    if (security_key_is_word(c->kid))
        snprintf(why, cap, "key %zu (kid \"%.*s\"): %s", i + 1, (int)c->kid.len,
                 (const char *)c->kid.data, wrong);
    else if (shown > 0)
        snprintf(why, cap, "key %zu (kid h'%s'): %s", i + 1, kid, wrong);
    else
        snprintf(why, cap, "key %zu: %s", i + 1, wrong);
}

int security_key_parse_cose(const char *text, size_t len, size_t i, size_t *count,
                            struct security_key *out, char *why, size_t cap)
{
    struct slice map;
    struct cose_key c = {.has_alg = false};
    memset(out, 0, sizeof *out);
    *count = 0;
    const char *wrong = find_map(slice_of(text, len), i, count, &map);
    if (wrong != NULL) {
        snprintf(why, cap, "%s", wrong);
        return HELIO_EFORMAT;
    }
    out->until_ms = UINT64_MAX;
    out->uses_max = SECURITY_USES_MAX;
    wrong = read_key(map, &c, out);
    if (wrong == NULL)
        return 0;
    explain_key(i, &c, wrong, why, cap);
    secret_wipe(out, sizeof *out);
    return HELIO_EFORMAT;
}
