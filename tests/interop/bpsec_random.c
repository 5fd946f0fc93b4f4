/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random bundles with random security operations, for another implementation, and from it.
 *
 *   bpsec_random make SEED COUNT   one line for each bundle: KEYS PLAIN WIRE[,WIRE...]
 *   bpsec_random open              reads such lines; verifies, decrypts and strips each bundle
 *
 * KEYS is a list of type/source/variant/wrap/secret with commas between. PLAIN is the bundle before
 * its security operations. WIRE is the bundle with them, or its fragments in any order. All bytes
 * are hexadecimal. `open` prints how many bundles agree, and a line for each that does not: after
 * all operations it must be PLAIN again, but for CRCs and the order of blocks. It also changes one
 * bit of each bundle's targets, which must be refused.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "bp/codec/security/security.h"
#include "os/crypto/crypto.h"

enum { KEYS = 4, PIECES = 8, BLOCKS = 4, DATA = 2048 };

struct key {
    uint64_t type; /* enum security_block_type */
    struct eid source;
    enum security_variant variant;
    bool wrap;
    uint8_t secret[SECURITY_KEY_MAX];
    size_t len;
};

struct line {
    struct key keys[KEYS];
    size_t keys_len;
    struct buf *plain;
    struct buf *pieces[PIECES]; /* one: the bundle is whole */
    size_t pieces_len;
};

static struct crypto crypto;
static struct security_bundle work, other;

static void need(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "bpsec_random: %s\n", what);
    exit(2);
}

/* ---- making ---- */

static uint64_t pick(struct rng *r, const uint64_t *from, size_t n)
{
    return from[rng_below(r, n)];
}

static struct eid make_eid(struct rng *r)
{
    static const uint64_t nodes[] = {1, 23, 24, 300, 4294967294};
    const uint64_t node = pick(r, nodes, 5), service = 1 + rng_below(r, 100000);
    char text[EID_TEXT_MAX];
    struct eid e;
    if (rng_below(r, 3) > 0)
        return eid_ipn(rng_below(r, 2) * 977000, node, service);
    snprintf(text, sizeof text, "dtn://node%llu/in/%llu", (unsigned long long)node,
             (unsigned long long)service);
    need(eid_parse(text, &e) == 0, text);
    return e;
}

static struct slice make_data(struct rng *r, uint8_t *out)
{
    static const uint64_t lengths[] = {0, 1, 15, 16, 17, 23, 24, 255, 256};
    const uint64_t n = rng_below(r, 2) ? pick(r, lengths, 9) : rng_below(r, DATA);
    for (uint64_t i = 0; i < n; i++)
        out[i] = (uint8_t)rng_u64(r);
    return slice_of(out, (size_t)n);
}

static struct buf *make_plain(struct rng *r)
{
    static const uint64_t flags[] = {0, 0, 1, 2, 16, 19};
    static uint8_t data[BLOCKS + 1][DATA];
    struct bundle b;
    bundle_init(&b);
    b.id.source = make_eid(r);
    b.id.time_ms = 800000000000 + rng_below(r, 1000000);
    b.id.sequence = rng_below(r, 1000);
    b.destination = make_eid(r);
    b.report_to = make_eid(r);
    b.lifetime_ms = 86400000;
    b.crc = 1 + (enum crc_type)rng_below(r, 2);
    b.has_hops = rng_below(r, 2);
    b.hop_limit = 30;
    b.hops_frame.crc = (enum crc_type)rng_below(r, 3);
    b.others_len = rng_below(r, BLOCKS + 1);
    for (size_t i = 0; i < b.others_len; i++)
        b.others[i] = (struct bundle_block){.type = 193 + rng_below(r, 50),
                                            .number = 20 + i + (rng_below(r, 3) << (14 * (i + 1))),
                                            .flags = pick(r, flags, 6),
                                            .crc = (enum crc_type)rng_below(r, 3),
                                            .data = make_data(r, data[i])};
    b.payload_crc = (enum crc_type)rng_below(r, 3);
    b.payload = make_data(r, data[BLOCKS]);
    return bundle_encode_copy(&b);
}

static struct key *make_key(struct line *l, struct rng *r, uint64_t type)
{
    static const enum security_variant macs[] = {SECURITY_HMAC_256, SECURITY_HMAC_384,
                                                 SECURITY_HMAC_512};
    struct key *k = &l->keys[l->keys_len++];
    *k = (struct key){.type = type, .source = make_eid(r), .wrap = rng_below(r, 3) == 0};
    k->variant = type == SECURITY_BIB   ? macs[rng_below(r, 3)]
                 : rng_below(r, 2) == 0 ? SECURITY_AES_128
                                        : SECURITY_AES_256;
    k->len = k->wrap                          ? 16 + 8 * rng_below(r, 3)
             : type == SECURITY_BIB           ? 16 + rng_below(r, 49)
             : k->variant == SECURITY_AES_128 ? 16
                                              : 32;
    for (size_t i = 0; i < k->len; i++)
        k->secret[i] = (uint8_t)rng_u64(r);
    return k;
}

static void secure(struct line *l, struct rng *r, uint64_t type, const uint64_t *targets, size_t n)
{
    uint64_t failed = 0;
    if (n == 0)
        return;
    const struct key *k = make_key(l, r, type);
    struct security_request q = {.targets_len = n,
                                 .variant = k->variant,
                                 .scope = rng_below(r, 8),
                                 .source = k->source,
                                 .key = slice_of(k->secret, k->len),
                                 .wrap = k->wrap};
    memcpy(q.targets, targets, n * sizeof *targets);
    const enum security_verdict v = type == SECURITY_BIB
                                        ? security_sign(&work, &q, &crypto)
                                        : security_encrypt_each(&work, &q, &crypto, &failed);
    need(v == SECURITY_OK, security_verdict_text(v));
}

/* Each block falls into one of four groups: none, signed, encrypted, both. The primary block is
 * signed or not; it is in a BIB of its own where others are encrypted. */
static void secure_blocks(struct line *l, struct rng *r)
{
    uint64_t signed_only[BLOCKS + 2], both[BLOCKS + 1], hidden[BLOCKS + 1];
    size_t s = 0, b = 0, h = 0;
    if (rng_below(r, 3) == 0)
        signed_only[s++] = 0;
    for (size_t i = 0; i < work.len; i++) {
        const uint64_t number = work.at[i].number, group = rng_below(r, 4);
        if (work.at[i].type == BLOCK_HOP_COUNT)
            continue; /* nodes on the way change it */
        if (group == 1)
            signed_only[s++] = number;
        else if (group == 2)
            hidden[h++] = number;
        else if (group == 3 || (i + 1 == work.len && s + h + b == 0))
            both[b++] = number;
    }
    secure(l, r, SECURITY_BIB, signed_only, s);
    secure(l, r, SECURITY_BIB, both, b);
    secure(l, r, SECURITY_BCB, hidden, h);
    secure(l, r, SECURITY_BCB, both, b);
}

static void cut(struct line *l, struct rng *r)
{
    struct buf *whole = l->pieces[0];
    struct bundle b;
    need(bundle_decode(buf_data(whole), whole->len, BUNDLE_STRICT, &b, NULL) == 0, "not strict");
    if (b.payload.len < 2 || rng_below(r, 3) > 0)
        return;
    l->pieces_len = 0;
    for (uint64_t at = 0, n; at < b.payload.len; at += n) {
        n = 1 + rng_below(r, b.payload.len - at - (at == 0));
        if (l->pieces_len + 1 == PIECES)
            n = b.payload.len - at;
        l->pieces[l->pieces_len++] = bundle_fragment(&b, at, n);
        need(l->pieces[l->pieces_len - 1] != NULL, "no fragment");
    }
    for (size_t i = l->pieces_len; i-- > 1;) {
        const size_t k = rng_below(r, i + 1);
        struct buf *was = l->pieces[i];
        l->pieces[i] = l->pieces[k];
        l->pieces[k] = was;
    }
    buf_drop(whole);
}

static void print_bytes(const uint8_t *data, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        putchar(digits[data[i] >> 4]);
        putchar(digits[data[i] & 15]);
    }
}

static void print_line(const struct line *l)
{
    char text[EID_TEXT_MAX];
    for (size_t i = 0; i < l->keys_len; i++) {
        const struct key *k = &l->keys[i];
        eid_text(&k->source, text);
        for (char *p = text; *p != '\0'; p++)
            *p = *p == '/' ? '~' : *p;
        printf("%s%d/%s/%d/%d/", i > 0 ? "," : "", (int)k->type, text, (int)k->variant, k->wrap);
        print_bytes(k->secret, k->len);
    }
    putchar(' ');
    print_bytes(buf_data(l->plain), l->plain->len);
    for (size_t i = 0; i < l->pieces_len; i++) {
        putchar(i == 0 ? ' ' : ',');
        print_bytes(buf_data(l->pieces[i]), l->pieces[i]->len);
    }
    putchar('\n');
}

static void free_line(struct line *l)
{
    buf_drop(l->plain);
    for (size_t i = 0; i < l->pieces_len; i++)
        buf_drop(l->pieces[i]);
}

static int make(uint64_t seed, uint64_t count)
{
    struct rng r;
    rng_init(&r, seed);
    for (uint64_t i = 0; i < count; i++) {
        struct line l = {.plain = make_plain(&r), .pieces_len = 1};
        need(l.plain != NULL, "a bundle cannot be encoded");
        struct buf *copy = buf_new(0, l.plain->len);
        memcpy(buf_append(copy, l.plain->len), buf_data(l.plain), l.plain->len);
        need(security_bundle_read(copy, &work, NULL) == 0, "a bundle cannot be read");
        secure_blocks(&l, &r);
        l.pieces[0] = security_bundle_write(&work);
        security_bundle_fini(&work);
        cut(&l, &r);
        print_line(&l);
        free_line(&l);
    }
    return 0;
}

/* ---- opening ---- */

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t read_hex(const char *text, size_t digits, uint8_t *out, size_t cap)
{
    need(digits % 2 == 0 && digits / 2 <= cap, "hexadecimal text of another length");
    for (size_t i = 0; i < digits; i += 2) {
        const int high = digit_of(text[i]), low = digit_of(text[i + 1]);
        need(high >= 0 && low >= 0, "a hexadecimal digit is expected");
        out[i / 2] = (uint8_t)(high * 16 + low);
    }
    return digits / 2;
}

static struct buf *read_buf(const char *text)
{
    const size_t n = strlen(text);
    struct buf *b = buf_new(0, n / 2 + 1);
    need(b != NULL, "out of memory");
    b->len = read_hex(text, n, buf_data(b), n / 2 + 1);
    return b;
}

static void read_key(char *text, struct key *k)
{
    char *rest = text, *word[5];
    for (int i = 0; i < 5; i++)
        need((word[i] = strsep(&rest, "/")) != NULL, "a key has five parts");
    for (char *p = word[1]; *p != '\0'; p++)
        *p = *p == '~' ? '/' : *p;
    *k = (struct key){.type = strtoull(word[0], NULL, 10),
                      .variant = (enum security_variant)atoi(word[2]),
                      .wrap = *word[3] == '1'};
    need(eid_parse(word[1], &k->source) == 0, "a security source cannot be read");
    k->len = read_hex(word[4], strlen(word[4]), k->secret, sizeof k->secret);
}

static void read_line(char *text, struct line *l)
{
    char *keys = strsep(&text, " "), *plain = strsep(&text, " "), *word;
    need(plain != NULL && text != NULL, "a line has three words");
    *l = (struct line){.plain = read_buf(plain)};
    while ((word = strsep(&keys, ",")) != NULL && l->keys_len < KEYS)
        read_key(word, &l->keys[l->keys_len++]);
    while ((word = strsep(&text, ",")) != NULL && l->pieces_len < PIECES)
        l->pieces[l->pieces_len++] = read_buf(word);
    need(keys == NULL && text == NULL, "too many keys or fragments");
}

static const struct key *find_key(const struct line *l, const struct security_block *s,
                                  uint64_t type)
{
    for (size_t i = 0; i < l->keys_len; i++) {
        const struct key *k = &l->keys[i];
        if (k->type == type && eid_equal(&k->source, &s->source) && k->variant == s->variant &&
            k->wrap == (s->wrapped_key.len > 0))
            return k;
    }
    return NULL;
}

/* The first block of the type that can be read; its place, or b->len. */
static size_t find_block(const struct security_bundle *b, uint64_t type, struct security_block *s)
{
    for (size_t i = 0; i < b->len; i++) {
        if (b->at[i].type == type && !security_is_encrypted(b, b->at[i].number) &&
            security_block_parse(type, b->at[i].data, s) == NULL)
            return i;
    }
    return b->len;
}

/* NULL, or why not. */
static const char *open_blocks(const struct line *l, struct security_bundle *b, uint64_t type)
{
    struct security_block s;
    for (size_t i; (i = find_block(b, type, &s)) < b->len;) {
        const struct security_operation op = {.block = i, .target = 0};
        const struct key *k = s.known ? find_key(l, &s, type) : NULL;
        if (k == NULL)
            return "no key fits an operation";
        const struct slice secret = slice_of(k->secret, k->len);
        enum security_verdict v = type == SECURITY_BIB ? security_verify(b, op, secret, &crypto)
                                                       : security_decrypt(b, op, secret, &crypto);
        if (v == SECURITY_OK && type == SECURITY_BIB)
            v = security_strip(b, op);
        if (v != SECURITY_OK)
            return security_verdict_text(v);
    }
    return NULL;
}

static const char *open_bundle(const struct line *l, struct security_bundle *b)
{
    const char *why = open_blocks(l, b, SECURITY_BCB);
    return why != NULL ? why : open_blocks(l, b, SECURITY_BIB);
}

/* The bundle before it was cut; the fragments stay. NULL: they do not make one. */
static struct buf *join(const struct line *l)
{
    struct bundle f, first = {0};
    static uint8_t payload[PIECES * DATA];
    size_t have = 0;
    if (l->pieces_len == 1)
        return buf_keep(l->pieces[0]);
    for (size_t i = 0; i < l->pieces_len; i++) {
        struct buf *p = l->pieces[i];
        if (bundle_decode(buf_data(p), p->len, BUNDLE_STRICT, &f, NULL) != 0 || !f.id.fragment ||
            f.id.total > sizeof payload || f.id.offset + f.payload.len > f.id.total)
            return NULL;
        memcpy(payload + f.id.offset, f.payload.data, f.payload.len);
        have += f.payload.len;
        if (f.id.offset == 0)
            first = f;
    }
    if (!first.id.fragment || have != first.id.total)
        return NULL;
    first.payload = slice_of(payload, have);
    first.flags &= ~(uint64_t)BUNDLE_IS_FRAGMENT;
    first.id.fragment = false;
    return bundle_encode_copy(&first);
}

static struct buf *copy_of(struct buf *b)
{
    struct buf *out = buf_new(0, b->len);
    memcpy(buf_append(out, b->len), buf_data(b), b->len);
    return out;
}

/* By number, the payload last. */
static int compare_blocks(const void *x, const void *y)
{
    const struct bundle_block *a = x, *b = y;
    if ((a->type == BLOCK_PAYLOAD) != (b->type == BLOCK_PAYLOAD))
        return a->type == BLOCK_PAYLOAD ? 1 : -1;
    return (a->number > b->number) - (a->number < b->number);
}

static struct buf *write_plain(struct security_bundle *b)
{
    b->primary.crc = CRC_NONE;
    for (size_t i = 0; i < b->len; i++)
        b->at[i].crc = CRC_NONE;
    qsort(b->at, b->len, sizeof *b->at, compare_blocks);
    return security_bundle_write(b);
}

static const char *compare_plain(const struct line *l, struct security_bundle *b)
{
    need(security_bundle_read(copy_of(l->plain), &other, NULL) == 0, "PLAIN cannot be read");
    struct buf *want = write_plain(&other), *got = write_plain(b);
    need(want != NULL && got != NULL, "out of memory");
    const bool same =
        want->len == got->len && memcmp(buf_data(want), buf_data(got), want->len) == 0;
    security_bundle_fini(&other);
    buf_drop(want);
    buf_drop(got);
    return same ? NULL : "the bundle is not PLAIN";
}

/* Changes a bit of a target. False: it has no bytes, or there is no security block. */
static bool alter(struct security_bundle *b, struct rng *r)
{
    struct security_block s;
    size_t i = find_block(b, SECURITY_BCB, &s);
    if (i == b->len)
        i = find_block(b, SECURITY_BIB, &s);
    if (i == b->len)
        return false;
    const uint64_t target = s.targets[rng_below(r, s.targets_len)];
    if (target == 0) {
        b->primary.lifetime_ms ^= 1;
        return true;
    }
    for (i = 0; b->at[i].number != target;)
        i++;
    struct slice d = b->at[i].data;
    if (d.len > 0)
        buf_data(b->bytes)[(size_t)(d.data - buf_data(b->bytes)) + rng_below(r, d.len)] ^=
            (uint8_t)(1u << rng_below(r, 8));
    return d.len > 0;
}

static const char *open_line(const struct line *l, struct rng *r, uint64_t *refused)
{
    struct buf *whole = join(l);
    if (whole == NULL)
        return "the fragments do not make a bundle";
    struct buf *copy = copy_of(whole);
    buf_drop(whole);
    struct buf *second = copy_of(copy);
    if (security_bundle_read(copy, &work, NULL) != 0) {
        buf_drop(second);
        return "it cannot be read";
    }
    const char *why = open_bundle(l, &work);
    if (why == NULL)
        why = compare_plain(l, &work);
    security_bundle_fini(&work);
    need(security_bundle_read(second, &work, NULL) == 0, "it cannot be read again");
    if (why == NULL && alter(&work, r)) {
        const bool passed = open_bundle(l, &work) == NULL;
        why = passed ? "a changed bit is not noticed" : NULL;
        *refused += !passed;
    }
    security_bundle_fini(&work);
    return why;
}

static int open_lines(void)
{
    uint64_t n = 0, agree = 0, refused = 0, pieces = 0;
    char *text = NULL;
    size_t cap = 0;
    struct rng r;
    rng_init(&r, 1);
    for (ssize_t len; (len = getline(&text, &cap, stdin)) > 0; n++) {
        struct line l;
        text[len - 1] = '\0';
        read_line(text, &l);
        const char *why = open_line(&l, &r, &refused);
        agree += why == NULL;
        pieces += l.pieces_len > 1;
        if (why != NULL)
            printf("differs %llu: %s\n", (unsigned long long)n, why);
        free_line(&l);
    }
    free(text);
    printf("bundles %llu, agree %llu, in fragments %llu, altered and refused %llu\n",
           (unsigned long long)n, (unsigned long long)agree, (unsigned long long)pieces,
           (unsigned long long)refused);
    return agree == n && n > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    int code = 2;
    need(crypto_open(&crypto), "OpenSSL lacks an algorithm");
    if (argc == 4 && strcmp(argv[1], "make") == 0)
        code = make(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
    else if (argc == 2 && strcmp(argv[1], "open") == 0)
        code = open_lines();
    else
        fprintf(stderr, "usage: bpsec_random make SEED COUNT | open\n");
    crypto_close(&crypto);
    return code;
}
