/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of bundle security share: the examples of RFC 9173 appendix A, keys, calls. */
#ifndef TESTS_BP_SECURITY_HELP_H
#define TESTS_BP_SECURITY_HELP_H

#include "bp_help.h"

#include "base/rng.h"
#include "bp/codec/security/security.h"
#include "os/crypto/crypto.h"

#define PRIMARY "88070000820282010282028202018202820201820018281a000f4240"
#define PAYLOAD                                                                                    \
    "85010100005823526561647920746f2067656e657261746520612033322d62797465207061796c6f6164"
#define PLAIN "9f" PRIMARY PAYLOAD "ff"
#define SEALED "3a09c1e63fe23a7f66a59c7303837241e070b02619fc59c5214a22f08cd70795e73e9a"
/* A.1.4, A.2.4, A.3.5, A.4.5 */
#define A1_BIB                                                                                     \
    "850b0200005856810101018202820201828201078203008181820158403bdc69b3a34a2b5d3a8554368bd1e808f6" \
    "06219d2a10a846eae3886ae4ecc83c4ee550fdfb1cc636b904e2f1a73e303dcd4b6ccece003e95e8164dcc89a156" \
    "e1"
#define A1 "9f" PRIMARY A1_BIB PAYLOAD "ff"
#define A2                                                                                         \
    "9f" PRIMARY "850c0201"                                                                        \
    "0058508101020182028202018482014c5477656c7665313231323132820201820358"                         \
    "1869c411276fecddc4780df42c8a2af89296fabf34d7fae7008204008181820150ef"                         \
    "a4b5ac0108e3816c5606479801bc0485010100005823" SEALED "ff"
#define A3_AGE "85070200004319012c"
#define A3                                                                                         \
    "9f" PRIMARY "850b0300"                                                                        \
    "00585c8200020101820282030082820105820300828182015820cac6ce8e4c5dae57"                         \
    "988b757e49a6dd1431dc04763541b2845098265bc817241b81820158203ed614c0d9"                         \
    "7f49b3633627779aa18a338d212bf3c92b97759d9739cd50725596850c0401005834"                         \
    "8101020182028202018382014c5477656c7665313231323132820201820400818182"                         \
    "0150efa4b5ac0108e3816c5606479801bc04" A3_AGE "85010100005823" SEALED "ff"
#define A4                                                                                         \
    "9f" PRIMARY "850b0300"                                                                        \
    "005846438ed6208eb1c1ffb94d952175167df0902902064a2983910c4fb2340790bf"                         \
    "420a7d1921d5bf7c4721e02ab87a93ab1e0b75cf62e4948727c8b5dae46ed2af0543"                         \
    "9b88029191850c0201005849820301020182028202018382014c5477656c76653132"                         \
    "313231328202038204078281820150220ffc45c8a901999ecc60991dd78b29818201"                         \
    "50d2c51cb2481792dae8b21d848cede99b8501010000582390eab6457593379298a8"                         \
    "724e16e61f837488e127212b59ac91f8a86287b7d07630a122ff"

static struct crypto crypto;

static inline void open_table(void)
{
    ck_assert(crypto_open(&crypto));
}

static inline void close_table(void)
{
    crypto_close(&crypto);
}

static inline struct buf *bytes_of(const char *hex)
{
    struct buf *out = buf_new(512, strlen(hex) / 2 + 1);
    ck_assert_ptr_nonnull(out);
    out->len = unhex(hex, buf_data(out), out->cap - out->off);
    return out;
}

static inline void read_hex(const char *hex, struct security_bundle *b)
{
    ck_assert_int_eq(security_bundle_read(bytes_of(hex), b, NULL), 0);
}

static inline void assert_same_bytes(struct buf *got, struct buf *want)
{
    ck_assert_uint_eq(got->len, want->len);
    ck_assert_mem_eq(buf_data(got), buf_data(want), want->len);
}

/* In the buffer of b it is the same, and that is undone. */
static inline void assert_placed(struct security_bundle *b, struct buf *want)
{
    struct security_undo undo;
    struct buf *bytes = b->bytes, *before = buf_new(0, bytes->len);
    ck_assert_ptr_nonnull(before);
    memcpy(buf_append(before, bytes->len), buf_data(bytes), bytes->len);
    ck_assert(security_bundle_place(b, &undo));
    assert_same_bytes(bytes, want);
    security_bundle_undo(bytes, &undo);
    assert_same_bytes(bytes, before);
    buf_drop(before);
}

static inline void assert_bytes(struct security_bundle *b, const char *hex)
{
    struct buf *got = security_bundle_write(b), *want = bytes_of(hex);
    ck_assert_ptr_nonnull(got);
    assert_same_bytes(got, want);
    assert_placed(b, want);
    buf_drop(got);
    buf_drop(want);
}

struct key {
    uint8_t bytes[64];
    struct slice slice;
};

static inline void set_key(struct key *k, const char *hex)
{
    k->slice = slice_of(k->bytes, unhex(hex, k->bytes, sizeof k->bytes));
}

#define HMAC_KEY "1a2b1a2b1a2b1a2b1a2b1a2b1a2b1a2b"
#define AES_KEY "71776572747975696f70617364666768"
#define KEK "6162636465666768696a6b6c6d6e6f70"
#define IV "5477656c7665313231323132"

static inline struct security_request request(enum security_variant variant, uint64_t scope,
                                              uint64_t number, uint64_t target)
{
    return (struct security_request){.targets = {target},
                                     .targets_len = 1,
                                     .variant = variant,
                                     .scope = scope,
                                     .source = eid_ipn(0, 2, 1),
                                     .number = number};
}

static inline size_t index_of(const struct security_bundle *b, uint64_t number)
{
    size_t i = 0;
    while (i < b->len && b->at[i].number != number)
        i++;
    ck_assert_uint_lt(i, b->len);
    return i;
}

static inline enum security_verdict verify(const struct security_bundle *b, uint64_t number,
                                           size_t target, struct slice key)
{
    const struct security_operation op = {.block = index_of(b, number), .target = target};
    return security_verify(b, op, key, &crypto);
}

static inline enum security_verdict decrypt(struct security_bundle *b, uint64_t number,
                                            size_t target, struct slice key)
{
    const struct security_operation op = {.block = index_of(b, number), .target = target};
    return security_decrypt(b, op, key, &crypto);
}

#endif
