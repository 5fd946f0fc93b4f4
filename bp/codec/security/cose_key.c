/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of a key may have any order, and the meaning of those with negative labels depends
 * on the type. So all are noted first, and understood then. The DER that OpenSSL reads is written
 * here, since it has few forms. What can go wrong: the key's own text.
 */
#include "bp/codec/security/cose_key.h"

#include "bp/codec/security/cose_private.h"

enum {
    KTY = 1,
    KID = 2,
    ALG = 3,
    OPERATIONS = 4,
    BASE_IV = 5,
    LABELS_MAX = 24,
    OWN_MAX = 10,
    LEVELS_MAX = 4
};
enum { CRV = -1, X = -2, Y = -3, D = -4 };

/* A parameter of the type: label -1 and below. */
struct parameter {
    enum item_kind kind; /* ITEM_NONE: absent */
    int64_t number;
    struct slice bytes;
    bool flag;
};

struct key_reader {
    struct item_reader r;
    struct cose_key *key;
    struct parameter own[OWN_MAX + 1]; /* by the label without its sign */
    int64_t labels[LABELS_MAX];
    size_t labels_len;
    int64_t type;
};

static void read_operations(struct key_reader *k)
{
    struct item_reader *r = &k->r;
    const uint64_t n = item_array(r);
    k->key->has_operations = true;
    if (n > 32)
        item_fail(r, "key_ops has more than 32 operations", item_at(r));
    for (uint64_t i = 0; i < n && !r->in.bad; i++) {
        const bool named = item_peek(r) == ITEM_TEXT;
        if (named)
            item_text(r);
        const int64_t operation = named ? 0 : item_int(r);
        if (operation > 0 && operation < 32)
            k->key->operations |= 1u << operation;
    }
}

static void read_own(struct key_reader *k, struct parameter *out)
{
    struct item_reader *r = &k->r;
    out->kind = item_peek(r);
    if (out->kind == ITEM_UINT || out->kind == ITEM_NEGATIVE)
        out->number = item_int(r);
    else if (out->kind == ITEM_BYTES)
        out->bytes = item_bytes(r);
    else if (out->kind == ITEM_BOOL)
        out->flag = item_bool(r);
    else
        item_fail(r, "a parameter of the key is no number, byte string or boolean", item_at(r));
}

static void read_algorithm(struct key_reader *k)
{
    k->key->has_alg = true;
    if (item_peek(&k->r) == ITEM_TEXT)
        item_text(&k->r);
    else
        k->key->alg = item_int(&k->r);
}

static void read_parameter(struct key_reader *k, int64_t label)
{
    if (label == KTY && item_peek(&k->r) == ITEM_TEXT)
        item_text(&k->r);
    else if (label == KTY)
        k->type = item_int(&k->r);
    else if (label == KID)
        k->key->kid = item_bytes(&k->r);
    else if (label == ALG)
        read_algorithm(k);
    else if (label == OPERATIONS)
        read_operations(k);
    else if (label == BASE_IV)
        k->key->base_iv = item_bytes(&k->r);
    else if (label < 0 && label >= -OWN_MAX)
        read_own(k, &k->own[-label]);
    else
        cose_skip(&k->r, LEVELS_MAX);
}

static void read_label(struct key_reader *k)
{
    struct item_reader *r = &k->r;
    if (item_peek(r) == ITEM_TEXT) {
        item_text(r);
        cose_skip(r, LEVELS_MAX);
        return;
    }
    const int64_t label = item_int(r);
    for (size_t i = 0; i < k->labels_len; i++) {
        if (k->labels[i] == label)
            item_fail(r, "a parameter of the key is there twice", item_at(r));
    }
    if (!r->in.bad)
        k->labels[k->labels_len++] = label;
    if (!r->in.bad)
        read_parameter(k, label);
}

/* ---- what the parameters mean ---- */

size_t cose_curve_bytes(enum crypto_family family)
{
    return family == CRYPTO_P384 ? 48 : family == CRYPTO_P521 ? 66 : family == CRYPTO_RSA ? 0 : 32;
}

/* Is it absent, or a byte string of that length? */
static bool is_optional(const struct parameter *p, size_t len)
{
    return p->kind == ITEM_NONE || (p->kind == ITEM_BYTES && p->bytes.len == len);
}

static const char *take_curve(const struct key_reader *k, enum crypto_family *out)
{
    static const struct {
        enum cose_key_type type;
        int64_t curve;
        enum crypto_family family;
    } curves[] = {{COSE_EC2, 1, CRYPTO_P256},
                  {COSE_EC2, 2, CRYPTO_P384},
                  {COSE_EC2, 3, CRYPTO_P521},
                  {COSE_OKP, 4, CRYPTO_X25519},
                  {COSE_OKP, 6, CRYPTO_ED25519}};
    const struct parameter *curve = &k->own[-CRV];
    for (size_t i = 0; i < sizeof curves / sizeof *curves && curve->kind == ITEM_UINT; i++) {
        *out = curves[i].family;
        if (curves[i].type == k->key->type && curves[i].curve == curve->number)
            return NULL;
    }
    return k->key->type == COSE_EC2
               ? "crv (-1): write 1 (P-256), 2 (P-384) or 3 (P-521) for a key of type EC2"
               : "crv (-1): write 4 (X25519) or 6 (Ed25519) for a key of type OKP";
}

static const char *take_point(const struct key_reader *k)
{
    struct cose_key *out = k->key;
    const char *wrong = take_curve(k, &out->family);
    if (wrong != NULL)
        return wrong;
    const size_t len = cose_curve_bytes(out->family);
    const struct parameter *x = &k->own[-X], *y = &k->own[-Y], *d = &k->own[-D];
    if (!is_optional(x, len) || !is_optional(d, len))
        return "x (-2) and d (-4): write byte strings that are as long as the curve's numbers";
    if (x->kind == ITEM_NONE && d->kind == ITEM_NONE)
        return "x (-2) is missing: write the public key, or d (-4), the private key";
    out->x = x->bytes;
    out->secret = d->bytes;
    if (out->type == COSE_OKP)
        return NULL;
    if (x->kind != ITEM_NONE && y->kind != ITEM_BOOL &&
        (y->kind != ITEM_BYTES || y->bytes.len != len))
        return "y (-3): write a byte string that is as long as x (-2), or the sign of a compressed "
               "point";
    out->y = y->bytes;
    out->y_odd = y->flag;
    return NULL;
}

static const char *take_numbers(const struct key_reader *k)
{
    struct cose_key *out = k->key;
    size_t count = 0;
    for (size_t i = 0; i < COSE_RSA_NUMBERS; i++) {
        const struct parameter *p = &k->own[i + 1];
        if (p->kind != ITEM_NONE && (p->kind != ITEM_BYTES || p->bytes.len == 0))
            return "n, e and the other numbers of RSA (-1 to -8): write byte strings";
        out->rsa[i] = p->bytes;
        count += p->kind != ITEM_NONE;
    }
    out->family = CRYPTO_RSA;
    if (k->own[9].kind != ITEM_NONE || k->own[10].kind != ITEM_NONE)
        return "RSA with more than two primes is not implemented";
    if (out->rsa[0].data == NULL || out->rsa[1].data == NULL)
        return "n (-1) and e (-2) are missing: write the RSA public key";
    return count == 2 || count == COSE_RSA_NUMBERS
               ? NULL
               : "a private RSA key has all of d, p, q, dP, dQ and qInv (-3 to -8)";
}

static const char *take_secret(const struct key_reader *k)
{
    const struct parameter *secret = &k->own[1];
    k->key->secret = secret->bytes;
    return secret->kind == ITEM_BYTES && secret->bytes.len > 0
               ? NULL
               : "k (-1) is missing: write the symmetric key as a byte string";
}

static const char *take_type(const struct key_reader *k)
{
    if (k->type == COSE_EC2 || k->type == COSE_OKP)
        return take_point(k);
    if (k->type == COSE_RSA)
        return take_numbers(k);
    if (k->type == COSE_SYMMETRIC)
        return take_secret(k);
    return "kty (1): write 1 (OKP), 2 (EC2), 3 (RSA) or 4 (symmetric)";
}

const char *cose_key_parse(struct slice map, struct cose_key *out)
{
    struct key_reader k = {.r = item_reader_of(map.data, map), .key = out};
    *out = (struct cose_key){.has_alg = false};
    if (map.len == 0)
        return "a key ends within an item";
    const uint64_t n = item_map(&k.r);
    if (n > LABELS_MAX)
        return "a key has more than 24 parameters";
    for (uint64_t i = 0; i < n && !k.r.in.bad; i++)
        read_label(&k);
    if (k.r.in.bad)
        return k.r.why != NULL ? k.r.why : "a key ends within an item";
    if (reader_left(&k.r.in) > 0)
        return "there are bytes behind a key";
    out->type = (enum cose_key_type)k.type;
    return take_type(&k);
}

bool cose_key_is_private(const struct cose_key *k)
{
    return k->type == COSE_RSA ? k->rsa[2].data != NULL : k->secret.data != NULL;
}

/* ---- DER (X.690) ---- */

enum der_tag { DER_INTEGER = 2, DER_BITS = 3, DER_OCTETS = 4, DER_SEQUENCE = 0x30 };

static size_t der_size(size_t len)
{
    return len + (len < 128 ? 2 : len < 256 ? 3 : 4);
}

static void put_head(struct writer *w, enum der_tag tag, size_t len)
{
    writer_byte(w, (uint8_t)tag);
    if (len >= 256) {
        writer_byte(w, 0x82);
        writer_byte(w, (uint8_t)(len >> 8));
    } else if (len >= 128) {
        writer_byte(w, 0x81);
    }
    writer_byte(w, (uint8_t)len);
    w->bad = w->bad || len > UINT16_MAX;
}

/* A positive number without leading zeros, and with one if its first bit is set. */
static struct slice trim_zeros(struct slice s)
{
    while (s.len > 1 && s.data[0] == 0) {
        s.data++;
        s.len--;
    }
    return s;
}

static size_t integer_bytes(struct slice s)
{
    s = trim_zeros(s);
    return s.len + (s.data[0] >> 7);
}

static void put_integer(struct writer *w, struct slice s)
{
    put_head(w, DER_INTEGER, integer_bytes(s));
    s = trim_zeros(s);
    if (s.data[0] >> 7)
        writer_byte(w, 0);
    writer_bytes(w, s.data, s.len);
}

static size_t numbers_size(const struct cose_key *k, size_t count)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += der_size(integer_bytes(k->rsa[i]));
    return sum;
}

static void put_numbers(struct writer *w, const struct cose_key *k, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_integer(w, k->rsa[i]);
}

/* AlgorithmIdentifiers (RFC 5480, RFC 8410, RFC 4055) */
static struct slice identifier_of(enum crypto_family family)
{
    static const uint8_t p256[] = {0x30, 0x13, 6,    7,    0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1,
                                   6,    8,    0x2a, 0x86, 0x48, 0xce, 0x3d, 3,    1,    7};
    static const uint8_t p384[] = {0x30, 0x10, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d,
                                   2,    1,    6, 5, 0x2b, 0x81, 4,    0,    0x22};
    static const uint8_t p521[] = {0x30, 0x10, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d,
                                   2,    1,    6, 5, 0x2b, 0x81, 4,    0,    0x23};
    static const uint8_t ed25519[] = {0x30, 5, 6, 3, 0x2b, 0x65, 0x70};
    static const uint8_t x25519[] = {0x30, 5, 6, 3, 0x2b, 0x65, 0x6e};
    static const uint8_t rsa[] = {0x30, 0x0d, 6, 9, 0x2a, 0x86, 0x48, 0x86,
                                  0xf7, 0x0d, 1, 1, 1,    5,    0};
    switch (family) {
    case CRYPTO_P256:
        return slice_of(p256, sizeof p256);
    case CRYPTO_P384:
        return slice_of(p384, sizeof p384);
    case CRYPTO_P521:
        return slice_of(p521, sizeof p521);
    case CRYPTO_ED25519:
        return slice_of(ed25519, sizeof ed25519);
    case CRYPTO_X25519:
        return slice_of(x25519, sizeof x25519);
    default:
        return slice_of(rsa, sizeof rsa);
    }
}

/* SubjectPublicKeyInfo up to the key, which has `len` bytes. */
static void put_info(struct writer *w, enum crypto_family family, size_t len)
{
    const struct slice identifier = identifier_of(family);
    put_head(w, DER_SEQUENCE, identifier.len + der_size(len + 1));
    writer_bytes(w, identifier.data, identifier.len);
    put_head(w, DER_BITS, len + 1);
    writer_byte(w, 0); /* unused bits */
}

void cose_key_write_public(const struct cose_key *k, struct writer *w)
{
    if (k->type == COSE_RSA) {
        const size_t len = numbers_size(k, 2);
        put_info(w, CRYPTO_RSA, der_size(len));
        put_head(w, DER_SEQUENCE, len);
        put_numbers(w, k, 2);
        return;
    }
    const bool is_point = k->type == COSE_EC2;
    put_info(w, k->family, is_point + k->x.len + k->y.len);
    if (is_point)
        writer_byte(w, k->y.data != NULL ? 4 : k->y_odd ? 3 : 2); /* SEC 1 §2.3.3 */
    writer_bytes(w, k->x.data, k->x.len);
    writer_bytes(w, k->y.data, k->y.len);
}

void cose_key_write_private(const struct cose_key *k, struct writer *w)
{
    static const uint8_t zero, one = 1;
    const struct slice version = slice_of(&zero, 1), ec_version = slice_of(&one, 1);
    const struct slice identifier = identifier_of(k->family);
    if (k->type == COSE_RSA) {
        put_head(w, DER_SEQUENCE, der_size(1) + numbers_size(k, COSE_RSA_NUMBERS));
        put_integer(w, version);
        put_numbers(w, k, COSE_RSA_NUMBERS);
        return;
    }
    const size_t inner = k->type == COSE_EC2 ? der_size(der_size(1) + der_size(k->secret.len))
                                             : der_size(k->secret.len);
    put_head(w, DER_SEQUENCE, der_size(1) + identifier.len + der_size(inner));
    put_integer(w, version);
    writer_bytes(w, identifier.data, identifier.len);
    put_head(w, DER_OCTETS, inner);
    if (k->type == COSE_EC2) { /* RFC 5915 */
        put_head(w, DER_SEQUENCE, der_size(1) + der_size(k->secret.len));
        put_integer(w, ec_version);
    }
    put_head(w, DER_OCTETS, k->secret.len);
    writer_bytes(w, k->secret.data, k->secret.len);
}

/* ---- keys in headers ---- */

/* The end of a SubjectPublicKeyInfo: x, and y of a point. Empty: it has another length. */
static struct slice numbers_of(enum crypto_family family, struct slice public_key)
{
    const size_t each = cose_curve_bytes(family);
    const size_t len = family <= CRYPTO_P521 ? 2 * each : each;
    const size_t whole =
        der_size(identifier_of(family).len + der_size(len + 1 + (family <= CRYPTO_P521)));
    return each > 0 && public_key.len == whole ? slice_of(public_key.data + whole - len, len)
                                               : slice_of(NULL, 0);
}

static void put_number(struct writer *w, int64_t label, struct slice s)
{
    item_put_int(w, label);
    item_put_bytes_head(w, s.len);
    writer_bytes(w, s.data, s.len);
}

bool cose_key_put(struct writer *w, enum crypto_family family, struct slice public_key)
{
    const struct slice numbers = numbers_of(family, public_key);
    const bool is_point = family <= CRYPTO_P521;
    const size_t each = cose_curve_bytes(family);
    if (numbers.len == 0)
        return false;
    item_put_map(w, is_point ? 4 : 3);
    item_put_uint(w, KTY);
    item_put_uint(w, is_point ? COSE_EC2 : COSE_OKP);
    item_put_int(w, CRV);
    item_put_uint(w, is_point ? (uint64_t)family + 1 : family == CRYPTO_X25519 ? 4 : 6);
    put_number(w, X, slice_of(numbers.data, each));
    if (is_point)
        put_number(w, Y, slice_of(numbers.data + each, each));
    return !w->bad;
}

bool cose_key_is_of(const struct cose_key *k, struct slice public_key)
{
    const struct slice numbers =
        k->type == COSE_EC2 || k->type == COSE_OKP ? numbers_of(k->family, public_key) : k->x;
    const size_t each = cose_curve_bytes(k->family);
    if (k->x.data == NULL || numbers.len < each || each == 0 ||
        !slice_equal(k->x, slice_of(numbers.data, each)))
        return false;
    if (k->type == COSE_OKP)
        return true;
    return k->y.data != NULL ? slice_equal(k->y, slice_of(numbers.data + each, each))
                             : k->y_odd == ((numbers.data[2 * each - 1] & 1) != 0);
}
