/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials: a time, a random number, and the hash of both with the sender's name and password.
 * The normal case of checking: read, the time is near, the hash is equal. Equal credentials on
 * several PDUs are no replay: peers make one for all that they send in a millisecond.
 */
#include "sle/auth.h"

#include <assert.h>

#include "base/secret.h"
#include "sle/pdu_private.h"

enum { SHA1_LEN = 20, SHA256_LEN = 32, HASH_INPUT_MAX = 160 };

static int digit_of(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c == '\0' ? NULL : strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c);
    return at == NULL ? -1 : (int)(at - digits);
}

bool sle_password_read(const char *hex, struct sle_identity *who)
{
    uint8_t octets[SLE_PASSWORD_MAX];
    size_t n = strlen(hex);
    if (n % 2 != 0 || n / 2 > sizeof octets)
        return false;
    for (size_t i = 0; i < n / 2; i++) {
        int high = digit_of(hex[2 * i]), low = digit_of(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        octets[i] = (uint8_t)(high * 16 + low);
    }
    memcpy(who->password, octets, n / 2);
    who->password_len = (uint8_t)(n / 2);
    return true;
}

static void code_time(struct ber *b, struct sle_time *t)
{
    uint8_t octets[TIME_PICO_OCTETS] = {0};
    struct slice s = slice_of(octets, 0);
    if (b->writing) {
        struct sle_time micro = *t;
        micro.pico = false;
        s.len = sle_time_put(micro, octets);
    }
    ber_octets(b, BER_OCTETS, &s, TIME_OCTETS, TIME_OCTETS);
    if (!b->writing && !b->bad && !sle_time_get(s, t))
        ber_fail(b);
}

size_t sle_hash_input(const struct sle_identity *who, struct sle_time time, uint32_t random,
                      uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    struct ber_mark whole = ber_open(&b, BER_SEQUENCE);
    struct slice name = slice_of(who->id, strlen(who->id));
    struct slice password = slice_of(who->password, who->password_len);
    code_time(&b, &time);
    ber_u32(&b, BER_INTEGER, &random, 0, UINT32_MAX);
    ber_octets(&b, BER_VISIBLE, &name, 0, SLE_AUTHORITY_MAX);
    ber_octets(&b, BER_OCTETS, &password, 0, SLE_PASSWORD_MAX);
    ber_close(&b, whole);
    return ber_done(&b) ? writer_len(&b.w) : 0;
}

static void code_credentials(struct ber *b, struct sle_credentials *c)
{
    struct ber_mark whole = ber_open(b, BER_SEQUENCE);
    struct slice digest = slice_of(c->digest, c->digest_len);
    code_time(b, &c->time);
    ber_u32(b, BER_INTEGER, &c->random, 0, UINT32_MAX);
    ber_octets(b, BER_OCTETS, &digest, SHA1_LEN, SHA256_LEN);
    ber_close(b, whole);
    if (b->writing || b->bad)
        return;
    if (digest.len != SHA1_LEN && digest.len != SHA256_LEN)
        ber_fail(b);
    memcpy(c->digest, digest.data, digest.len);
    c->digest_len = (uint8_t)digest.len;
}

size_t sle_credentials_write(const struct sle_credentials *c, uint8_t *out, size_t room)
{
    struct ber b = ber_writer(out, room);
    struct sle_credentials copy = *c;
    code_credentials(&b, &copy);
    return ber_done(&b) ? writer_len(&b.w) : 0;
}

bool sle_credentials_read(struct slice in, struct sle_credentials *out)
{
    struct ber b = ber_reader(in);
    struct sle_credentials c = {0};
    code_credentials(&b, &c);
    if (ber_done(&b))
        *out = c;
    return ber_done(&b);
}

bool sle_credentials_make(const struct sle_identity *who, enum sle_hash which,
                          sle_hash_function *hash, void *context, struct sle_time time,
                          uint32_t random, struct sle_credentials *out)
{
    assert(which != SLE_HASH_BY_VERSION);
    uint8_t input[HASH_INPUT_MAX];
    size_t n = sle_hash_input(who, time, random, input, sizeof input);
    assert(n > 0);
    *out = (struct sle_credentials){.time = time, .random = random};
    out->digest_len = which == SLE_SHA1 ? SHA1_LEN : SHA256_LEN;
    return hash != NULL && hash(context, which, slice_of(input, n), out->digest);
}

enum sle_auth_verdict sle_credentials_check(const struct sle_credentials *c,
                                            const struct sle_identity *who, sle_hash_function *hash,
                                            void *context, struct sle_time now, tick delay)
{
    struct sle_credentials own;
    uint64_t made = sle_time_unix(c->time), at = sle_time_unix(now);
    if ((made > at ? made - at : at - made) > delay)
        return SLE_AUTH_TIME;
    if (!sle_credentials_make(who, c->digest_len == SHA1_LEN ? SLE_SHA1 : SLE_SHA256, hash, context,
                              c->time, c->random, &own))
        return SLE_AUTH_WRONG;
    return secret_equal(own.digest, own.digest_len, c->digest, c->digest_len) ? SLE_AUTH_OK
                                                                              : SLE_AUTH_WRONG;
}
