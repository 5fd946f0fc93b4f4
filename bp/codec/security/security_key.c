/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A key file is lines of "name: value"; a comment begins with #. Each line is read once; then what
 * is missing is named. What can go wrong is the file's: the message has the line and what would be
 * right. Text of the secret stays out of it.
 */
#include "bp/codec/security/security_key_private.h"

#include <stdio.h>

#include "base/secret.h"

enum { ALGORITHM_PART = 5 };  /* letters that point at one: sha384, aes128 */
enum { COSE_KEY_MAX = 4096 }; /* bytes of a COSE_Key in a line */
enum {
    FOR_MAC = SECURITY_SERVES_BIB | SECURITY_SERVES_COSE_BIB,
    FOR_CIPHER = SECURITY_SERVES_BCB | SECURITY_SERVES_COSE_BCB,
    FOR_COSE = SECURITY_SERVES_COSE_BIB | SECURITY_SERVES_COSE_BCB,
    SIGNS = SECURITY_SERVES_COSE_BIB,
    ENCRYPTS = SECURITY_SERVES_COSE_BCB,
};
static const struct {
    const char *text;
    unsigned services;
    size_t secret; /* bytes; 0: any, HMAC (RFC 2104) */
    int64_t cose;
    enum key_form form;
} algorithms[SECURITY_KEY_ALGORITHMS] = {
    [SECURITY_KEY_HMAC_256] = {"hmac-sha-256", FOR_MAC, 0, COSE_HMAC_256, FORM_SECRET},
    [SECURITY_KEY_HMAC_384] = {"hmac-sha-384", FOR_MAC, 0, COSE_HMAC_384, FORM_SECRET},
    [SECURITY_KEY_HMAC_512] = {"hmac-sha-512", FOR_MAC, 0, COSE_HMAC_512, FORM_SECRET},
    [SECURITY_KEY_AES_128] = {"aes-128-gcm", FOR_CIPHER, 16, COSE_A128GCM, FORM_SECRET},
    [SECURITY_KEY_AES_256] = {"aes-256-gcm", FOR_CIPHER, 32, COSE_A256GCM, FORM_SECRET},
    [SECURITY_KEY_WRAP_128] = {"aes-128-kw", FOR_MAC | FOR_CIPHER, 16, COSE_A128KW, FORM_SECRET},
    [SECURITY_KEY_WRAP_256] = {"aes-256-kw", FOR_MAC | FOR_CIPHER, 32, COSE_A256KW, FORM_SECRET},
    [SECURITY_KEY_HKDF_512] = {"hkdf-sha-512", FOR_COSE, 0, COSE_HKDF_512, FORM_SECRET},
    [SECURITY_KEY_ES256] = {"es256", SIGNS, 0, COSE_ES256, FORM_SIGNER},
    [SECURITY_KEY_ES384] = {"es384", SIGNS, 0, COSE_ES384, FORM_SIGNER},
    [SECURITY_KEY_ES512] = {"es512", SIGNS, 0, COSE_ES512, FORM_SIGNER},
    [SECURITY_KEY_EDDSA] = {"eddsa", SIGNS, 0, COSE_EDDSA, FORM_SIGNER},
    [SECURITY_KEY_ESP256] = {"esp256", SIGNS, 0, COSE_ESP256, FORM_SIGNER},
    [SECURITY_KEY_ESP384] = {"esp384", SIGNS, 0, COSE_ESP384, FORM_SIGNER},
    [SECURITY_KEY_ESP512] = {"esp512", SIGNS, 0, COSE_ESP512, FORM_SIGNER},
    [SECURITY_KEY_ED25519] = {"ed25519", SIGNS, 0, COSE_ED25519, FORM_SIGNER},
    [SECURITY_KEY_PS256] = {"ps256", SIGNS, 0, COSE_PS256, FORM_SIGNER},
    [SECURITY_KEY_PS384] = {"ps384", SIGNS, 0, COSE_PS384, FORM_SIGNER},
    [SECURITY_KEY_PS512] = {"ps512", SIGNS, 0, COSE_PS512, FORM_SIGNER},
    [SECURITY_KEY_ES_HKDF_256] = {"ecdh-es-hkdf-256", ENCRYPTS, 0, COSE_ECDH_ES_HKDF_256,
                                  FORM_RECIPIENT},
    [SECURITY_KEY_ES_HKDF_512] = {"ecdh-es-hkdf-512", ENCRYPTS, 0, COSE_ECDH_ES_HKDF_512,
                                  FORM_RECIPIENT},
    [SECURITY_KEY_ES_A128KW] = {"ecdh-es-a128kw", ENCRYPTS, 0, COSE_ECDH_ES_A128KW, FORM_RECIPIENT},
    [SECURITY_KEY_ES_A256KW] = {"ecdh-es-a256kw", ENCRYPTS, 0, COSE_ECDH_ES_A256KW, FORM_RECIPIENT},
    [SECURITY_KEY_SS_HKDF_256] = {"ecdh-ss-hkdf-256", FOR_COSE, 0, COSE_ECDH_SS_HKDF_256,
                                  FORM_BOTH},
    [SECURITY_KEY_SS_HKDF_512] = {"ecdh-ss-hkdf-512", FOR_COSE, 0, COSE_ECDH_SS_HKDF_512,
                                  FORM_BOTH},
    [SECURITY_KEY_SS_A128KW] = {"ecdh-ss-a128kw", FOR_COSE, 0, COSE_ECDH_SS_A128KW, FORM_BOTH},
    [SECURITY_KEY_SS_A256KW] = {"ecdh-ss-a256kw", FOR_COSE, 0, COSE_ECDH_SS_A256KW, FORM_BOTH},
    [SECURITY_KEY_OAEP_256] = {"rsa-oaep-256", ENCRYPTS, 0, COSE_OAEP_256, FORM_RECIPIENT},
    [SECURITY_KEY_OAEP_512] = {"rsa-oaep-512", ENCRYPTS, 0, COSE_OAEP_512, FORM_RECIPIENT},
    [SECURITY_KEY_X509] = {"x509", SIGNS, 0, 0, FORM_ANCHORS},
};
enum { HMAC_LEAST = 16 }; /* bytes; shorter keys can be guessed */

const char *security_algorithm_text(enum security_algorithm a)
{
    return a < SECURITY_KEY_ALGORITHMS ? algorithms[a].text : "unknown";
}

unsigned security_algorithm_services(enum security_algorithm a)
{
    return a < SECURITY_KEY_ALGORITHMS ? algorithms[a].services : 0;
}

unsigned security_service_of(uint64_t type, bool cose)
{
    if (cose)
        return type == SECURITY_BIB ? SECURITY_SERVES_COSE_BIB : SECURITY_SERVES_COSE_BCB;
    return type == SECURITY_BIB ? SECURITY_SERVES_BIB : SECURITY_SERVES_BCB;
}

int64_t security_algorithm_cose(enum security_algorithm a)
{
    return algorithms[a].cose;
}

enum security_algorithm security_algorithm_of_cose(int64_t alg)
{
    int i = 0;
    while (i < SECURITY_KEY_ALGORITHMS && (alg == 0 || algorithms[i].cose != alg))
        i++;
    return (enum security_algorithm)i;
}

enum key_form security_algorithm_form(enum security_algorithm a)
{
    return algorithms[a].form;
}

/* ---- reading ---- */

struct key_reader {
    struct security_key *key;
    char *why;
    size_t cap;
    unsigned line;
    bool has_algorithm, has_secret, wrong, has_identify, has_kid;
    int64_t cose_alg; /* of a COSE_Key; 0: none */
    struct pem_reader pem;
};

static void refuse_line(struct key_reader *r, const char *text)
{
    if (!r->wrong)
        snprintf(r->why, r->cap, "line %u: %s", r->line, text);
    r->wrong = true;
}

bool security_key_is_word(struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        const uint8_t c = s.data[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '-' || c == '_' || c == '.'))
            return false;
    }
    return s.len > 0 && s.len < SECURITY_KEY_ID;
}

bool security_key_id_valid(const char *id)
{
    return security_key_is_word(slice_of(id, strlen(id)));
}

static void read_id(struct key_reader *r, struct slice v)
{
    if (!security_key_is_word(v)) {
        refuse_line(r, "id: write 1 to 63 letters, digits, '-', '_' or '.'");
        return;
    }
    memcpy(r->key->id, v.data, v.len);
    r->key->id[v.len] = '\0';
}

static bool slice_is(struct slice s, const char *text)
{
    return s.len == strlen(text) && memcmp(s.data, text, s.len) == 0;
}

/* The next letter or digit in small, and where the one after it may be; 0: none is left. */
static char next_letter(struct slice s, size_t *at)
{
    while (*at < s.len && (s.data[*at] == '-' || s.data[*at] == '_' || s.data[*at] == ' '))
        (*at)++;
    const char c = *at < s.len ? (char)s.data[(*at)++] : 0;
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Does `name` have the letters and digits of `part` in a row? SHA384 is in hmac-sha-384. */
static bool has_part(struct slice name, struct slice part)
{
    for (size_t begin = 0; begin < name.len; begin++) {
        size_t at = begin, in = 0;
        char want = next_letter(part, &in);
        while (want != 0 && next_letter(name, &at) == want)
            want = next_letter(part, &in);
        if (want == 0)
            return true;
    }
    return false;
}

static const char *find_algorithm(struct slice v)
{
    for (int i = 0; i < SECURITY_KEY_ALGORITHMS && v.len >= ALGORITHM_PART; i++)
        if (has_part(slice_of(algorithms[i].text, strlen(algorithms[i].text)), v))
            return algorithms[i].text;
    return NULL;
}

static void read_algorithm(struct key_reader *r, struct slice v)
{
    char text[64];
    for (int i = 0; i < SECURITY_KEY_ALGORITHMS; i++) {
        if (slice_is(v, algorithms[i].text)) {
            r->key->algorithm = (enum security_algorithm)i;
            r->has_algorithm = true;
            return;
        }
    }
    const char *near = find_algorithm(v);
    if (near != NULL) {
        snprintf(text, sizeof text, "algorithm: did you mean %s?", near);
        refuse_line(r, text);
        return;
    }
    refuse_line(r, "algorithm: write hmac-sha-256, hmac-sha-384, hmac-sha-512, aes-128-gcm, "
                   "aes-256-gcm, aes-128-kw or aes-256-kw; or, for COSE, hkdf-sha-512, es256, "
                   "es384, es512, eddsa, esp256, esp384, esp512, ed25519, ps256, ps384, ps512, "
                   "x509, rsa-oaep-256, rsa-oaep-512, or ecdh-es- or ecdh-ss- with hkdf-256, "
                   "hkdf-512, a128kw or a256kw");
}

/* Days from 2000-01-01 to the first day of the month. */
static uint64_t days_to(unsigned year, unsigned month)
{
    static const unsigned before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    const unsigned y = year - 2000;
    uint64_t leaps = (y + 3) / 4 - (y + 99) / 100 + (y + 399) / 400;
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return y * 365ull + leaps + before[month - 1] + (leap && month > 2);
}

/* Of the form 9999-99-99T99:99:99Z; n: the six numbers. */
static bool split_time(struct slice v, unsigned n[6])
{
    static const char form[] = "9999-99-99T99:99:99Z";
    size_t at = 0;
    if (v.len != sizeof form - 1)
        return false;
    memset(n, 0, 6 * sizeof *n);
    for (size_t i = 0; i < v.len; i++) {
        const bool digit = v.data[i] >= '0' && v.data[i] <= '9';
        if (form[i] != '9' && v.data[i] != (uint8_t)form[i])
            return false;
        if (form[i] != '9')
            at++;
        else if (digit)
            n[at] = n[at] * 10 + (unsigned)(v.data[i] - '0');
        else
            return false;
    }
    return true;
}

static void read_time(struct key_reader *r, struct slice v, const char *wrong, uint64_t *out)
{
    static const unsigned lengths[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    unsigned n[6];
    if (!split_time(v, n) || n[0] < 2000 || n[1] < 1 || n[1] > 12 || n[2] < 1 ||
        n[2] > lengths[n[1] - 1] || n[3] > 23 || n[4] > 59 || n[5] > 59) {
        refuse_line(r, wrong);
        return;
    }
    const uint64_t days = days_to(n[0], n[1]) + n[2] - 1;
    *out = (((days * 24 + n[3]) * 60 + n[4]) * 60 + n[5]) * 1000;
}

static void read_peers(struct key_reader *r, struct slice v)
{
    char text[1024], wrong[1200];
    const char *why;
    if (v.len == 0 || v.len >= sizeof text) {
        refuse_line(r, "peers: write patterns of endpoint ids, such as ipn:2.*|ipn:7.*");
        return;
    }
    memcpy(text, v.data, v.len);
    text[v.len] = '\0';
    if (eid_patterns_read(text, &r->key->peers, &why) == 0)
        return;
    snprintf(wrong, sizeof wrong, "peers: %s", why);
    refuse_line(r, wrong);
}

static void read_uses(struct key_reader *r, struct slice v)
{
    uint64_t n = 0;
    for (size_t i = 0; i < v.len && n <= SECURITY_USES_MAX; i++)
        n = v.data[i] >= '0' && v.data[i] <= '9' ? n * 10 + (uint64_t)(v.data[i] - '0')
                                                 : UINT64_MAX;
    if (v.len == 0 || n == 0 || n > SECURITY_USES_MAX)
        refuse_line(r, "uses: write a number from 1 to 4294967296");
    else
        r->key->uses_max = n;
}

static int digit_of(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void read_uri(struct key_reader *r, struct slice v)
{
    struct security_key *k = r->key;
    if (v.len >= SECURITY_KEY_URI || memchr(v.data, '\0', v.len) != NULL) {
        refuse_line(r, "key: the URI is longer than 511 characters, or no text");
        return;
    }
    memcpy(k->uri, v.data, v.len);
    k->uri[v.len] = '\0';
    k->uri_line = r->line;
    k->secret_len = 0;
    r->has_secret = true;
}

static bool read_hex(struct slice v, uint8_t *out, size_t cap)
{
    bool good = v.len > 0 && v.len % 2 == 0 && v.len / 2 <= cap;
    for (size_t i = 0; i + 1 < v.len && good; i += 2) {
        const int high = digit_of(v.data[i]), low = digit_of(v.data[i + 1]);
        good = high >= 0 && low >= 0;
        if (good)
            out[i / 2] = (uint8_t)(high * 16 + low);
    }
    return good;
}

static void read_kid(struct key_reader *r, struct slice v)
{
    r->key->kid_len = v.len / 2;
    r->has_kid = true;
    if (!read_hex(v, r->key->kid, sizeof r->key->kid))
        refuse_line(r, "kid: write 2 to 128 hexadecimal digits");
}

static void read_sender(struct key_reader *r, struct slice v)
{
    r->key->static_kid_len = v.len / 2;
    if (!read_hex(v, r->key->static_kid, sizeof r->key->static_kid))
        refuse_line(r, "sender_kid: write 2 to 128 hexadecimal digits");
}

static void read_base(struct key_reader *r, struct slice v)
{
    r->key->base_iv_len = SECURITY_IV;
    if (v.len != 2 * SECURITY_IV || !read_hex(v, r->key->base_iv, SECURITY_IV))
        refuse_line(r, "base_iv: write 24 hexadecimal digits");
}

static void read_identify(struct key_reader *r, struct slice v)
{
    static const char *const words[] = {
        [SECURITY_BY_KID] = "kid", [SECURITY_BY_X5T] = "x5t", [SECURITY_BY_X5CHAIN] = "x5chain"};
    for (int i = SECURITY_BY_KID; i <= SECURITY_BY_X5CHAIN; i++) {
        if (slice_is(v, words[i])) {
            r->key->identify = (enum security_identify)i;
            r->has_identify = true;
            return;
        }
    }
    refuse_line(r, "identify: write kid, x5t or x5chain");
}

static void read_secret(struct key_reader *r, struct slice v)
{
    struct security_key *k = r->key;
    if (!read_hex(v, k->secret, SECURITY_KEY_MAX)) {
        refuse_line(r, "key: write 32 to 128 hexadecimal digits, as `openssl rand -hex 32` prints, "
                       "or the URI of a token's key, pkcs11:token=NAME;object=NAME");
        return;
    }
    k->secret_len = v.len / 2;
    k->uri[0] = '\0';
    r->has_secret = true;
}

/* Its algorithm counts where the file names none. */
static void read_cose_key(struct key_reader *r, struct slice v)
{
    uint8_t map[COSE_KEY_MAX];
    char text[200];
    struct cose_key c;
    const char *wrong = "write its CBOR as hexadecimal digits";
    if (read_hex(v, map, sizeof map))
        wrong = cose_key_parse(slice_of(map, v.len / 2), &c);
    if (wrong == NULL && c.has_alg) {
        r->cose_alg = c.alg;
        if (security_algorithm_of_cose(c.alg) == SECURITY_KEY_ALGORITHMS)
            wrong = "its alg (3) is not implemented";
        else if (!r->has_algorithm)
            r->key->algorithm = security_algorithm_of_cose(c.alg);
        r->has_algorithm = true;
    }
    if (wrong == NULL)
        wrong = security_key_take(r->key, &c);
    r->has_secret = r->has_secret || r->key->secret_len > 0;
    snprintf(text, sizeof text, "cose_key: %s", wrong != NULL ? wrong : "");
    if (wrong != NULL)
        refuse_line(r, text);
    secret_wipe(map, sizeof map);
}

static struct slice trim_blanks(struct slice s)
{
    while (s.len > 0 && (s.data[0] == ' ' || s.data[0] == '\t')) {
        s.data++;
        s.len--;
    }
    while (s.len > 0 &&
           (s.data[s.len - 1] == ' ' || s.data[s.len - 1] == '\t' || s.data[s.len - 1] == '\r'))
        s.len--;
    return s;
}

static void read_value(struct key_reader *r, struct slice name, struct slice v)
{
    if (slice_is(name, "id"))
        read_id(r, v);
    else if (slice_is(name, "algorithm"))
        read_algorithm(r, v);
    else if (slice_is(name, "from"))
        read_time(r, v, "from: write a time such as 2026-01-01T00:00:00Z", &r->key->from_ms);
    else if (slice_is(name, "until"))
        read_time(r, v, "until: write a time such as 2027-01-01T00:00:00Z", &r->key->until_ms);
    else if (slice_is(name, "peers"))
        read_peers(r, v);
    else if (slice_is(name, "uses"))
        read_uses(r, v);
    else if (slice_is(name, "kid"))
        read_kid(r, v);
    else if (slice_is(name, "base_iv"))
        read_base(r, v);
    else if (slice_is(name, "sender_kid"))
        read_sender(r, v);
    else if (slice_is(name, "identify"))
        read_identify(r, v);
    else if (slice_is(name, "cose_key"))
        read_cose_key(r, v);
    else if (slice_is(name, "key") && v.len >= 7 && memcmp(v.data, "pkcs11:", 7) == 0)
        read_uri(r, v);
    else if (slice_is(name, "key"))
        read_secret(r, v);
    else
        refuse_line(r, "expected id, algorithm, from, until, peers, uses, key, cose_key, kid, "
                       "sender_kid, identify or base_iv, then a colon; or PEM, which begins with "
                       "-----BEGIN");
}

static void read_line(struct key_reader *r, struct slice line)
{
    line = trim_blanks(line);
    const char *wrong = NULL;
    if (security_pem_line(&r->pem, line, r->key, &wrong)) {
        if (wrong != NULL)
            refuse_line(r, wrong);
        return;
    }
    if (line.len == 0 || line.data[0] == '#')
        return;
    const uint8_t *colon = memchr(line.data, ':', line.len);
    const size_t n = colon == NULL ? line.len : (size_t)(colon - line.data);
    struct slice v = slice_of(NULL, 0);
    if (colon != NULL)
        v = trim_blanks(slice_of(colon + 1, line.len - n - 1));
    read_value(r, trim_blanks(slice_of(line.data, n)), v);
}

static const char *find_identify(const struct key_reader *r)
{
    struct security_key *k = r->key;
    const bool signs = algorithms[k->algorithm].form == FORM_SIGNER;
    if (!r->has_identify && k->certificates_len > 0)
        k->identify = signs ? SECURITY_BY_X5CHAIN : SECURITY_BY_X5T;
    if (k->identify != SECURITY_BY_KID && k->certificates_len == 0)
        return "identify: x5t and x5chain need a certificate";
    return k->identify == SECURITY_BY_X5CHAIN && !signs
               ? "identify: x5chain is for signatures: write x5t or kid"
               : NULL;
}

/* Of a public or private key, or of trust anchors. */
static const char *find_missing_pem(const struct key_reader *r)
{
    struct security_key *k = r->key;
    const enum key_form form = algorithms[k->algorithm].form;
    if (r->has_secret || k->base_iv_len > 0)
        return "this algorithm has its key as PEM, not as key: or base_iv:";
    if (k->revoked_len > 0 && form != FORM_ANCHORS)
        return "revocation lists are for x509: write them beside the authority's certificate";
    if (form == FORM_ANCHORS)
        return k->certificates_len == 0 || k->private_key.len > 0 || k->public_key.len > 0
                   ? "x509 has certificates of trust anchors and no keys: write them as PEM"
                   : NULL;
    if (form == FORM_BOTH && !r->has_kid)
        k->kid_len = 0; /* each of the two COSE_Keys has its own */
    if (form == FORM_BOTH)
        return k->private_key.len == 0 || k->public_key.len == 0 || k->certificates_len > 0 ||
                       k->identify != SECURITY_BY_KID
                   ? "ECDH-SS has this node's private key and the other node's public key, and no "
                     "certificates: write both as PEM"
                   : NULL;
    if (k->private_key.len == 0 && k->public_key.len == 0 && k->certificates_len == 0)
        return "a private key, public key or certificate is missing: write it as PEM";
    return find_identify(r);
}

const char *security_key_secret_wrong(const struct security_key *k)
{
    const size_t want = k->uri[0] != '\0' ? 0 : algorithms[k->algorithm].secret;
    if (want == 16 && k->secret_len != want)
        return "key: this algorithm needs 32 hexadecimal digits";
    if (want == 32 && k->secret_len != want)
        return "key: this algorithm needs 64 hexadecimal digits";
    return k->secret_len < HMAC_LEAST && k->uri[0] == '\0'
               ? "key: write at least 32 hexadecimal digits"
               : NULL;
}

static const char *find_missing(const struct key_reader *r)
{
    const struct security_key *k = r->key;
    if (k->id[0] == '\0')
        return "id is missing: write the word by which rules name this key";
    if (!r->has_algorithm)
        return "algorithm is missing: write one such as hmac-sha-384 or aes-256-gcm";
    if (r->cose_alg != 0 && r->cose_alg != algorithms[k->algorithm].cose)
        return "algorithm is not the alg of the COSE_Key: remove the line, or write another key";
    if (r->pem.kind != PEM_NONE)
        return "the PEM has no end: write its line -----END";
    if (k->from_ms >= k->until_ms)
        return "until is not after from: write a later time";
    const enum key_form form = algorithms[k->algorithm].form;
    if (k->static_kid_len > 0 && form != FORM_BOTH)
        return "sender_kid is for ECDH-SS alone: remove it";
    if (form != FORM_SECRET)
        return find_missing_pem(r);
    if (k->der_len > 0 || k->identify != SECURITY_BY_KID)
        return "this algorithm has a secret key: write key: and its digits, and no PEM";
    if (!r->has_secret)
        return "key is missing: write the hexadecimal digits of the key";
    const char *wrong = security_key_secret_wrong(k);
    if (wrong != NULL)
        return wrong;
    return k->algorithm == SECURITY_KEY_HKDF_512 && k->uri[0] != '\0'
               ? "key: keys of tokens are not used with hkdf-sha-512"
               : NULL;
}

int security_key_parse(const char *text, size_t len, struct security_key *out, char *why,
                       size_t cap)
{
    struct key_reader r = {.key = out, .why = why, .cap = cap};
    const char *end = text + len;
    memset(out, 0, sizeof *out);
    out->until_ms = UINT64_MAX;
    out->uses_max = SECURITY_USES_MAX;
    for (const char *p = text; p < end && !r.wrong;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline != NULL ? newline : end;
        r.line++;
        read_line(&r, slice_of(p, (size_t)(stop - p)));
        p = newline != NULL ? newline + 1 : end;
    }
    const char *missing = r.wrong ? NULL : find_missing(&r);
    if (missing != NULL)
        snprintf(why, cap, "%s", missing);
    if (!r.wrong && missing == NULL)
        return 0;
    secret_wipe(out, sizeof *out);
    return HELIO_EFORMAT;
}
