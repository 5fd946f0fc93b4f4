/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations with a key of a token (PKCS #11): HMAC by C_Sign, AES-GCM by C_Encrypt and C_Decrypt,
 * key wrap by C_WrapKey and C_UnwrapKey; a content key is an object of the session between the two.
 * What can go wrong: the token was removed or restarted, or its keys were replaced, so that a
 * session or a handle has ended. Then the key is opened once more and the operation repeated. Other
 * errors concern the data (a wrong tag, another key), and leave the session open.
 */
#include "os/crypto/token_keys.h"

#include <p11-kit/p11-kit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/secret.h"
#include "os/clock.h"
#include "os/crypto/token_session.h"

struct token_key {
    char *uri;
    enum token_use use;
    unsigned bits;
    struct token_session session;
    uint8_t name[TOKEN_NAME_MAX];
    size_t name_len;
    tick retry_at;     /* not before, where the session is closed */
    bool listed, kept; /* by the new list; by the one before */
    char why[256];     /* its last failure */
};

struct token_keys {
    const struct crypto *other;
    struct crypto table;
    struct token_key *at[TOKEN_KEYS_MAX];
    size_t len;
    bool absent; /* the last operation failed for that */
};

static CK_MECHANISM_TYPE mechanism_of(const struct token_key *k)
{
    if (k->use == TOKEN_HMAC)
        return k->bits == 256   ? CKM_SHA256_HMAC
               : k->bits == 384 ? CKM_SHA384_HMAC
                                : CKM_SHA512_HMAC;
    return k->use == TOKEN_GCM ? CKM_AES_GCM : CKM_AES_KEY_WRAP;
}

/* ---- operations: each returns what the token says ---- */

union operation {
    struct {
        const struct slice *parts;
        size_t parts_len;
        uint8_t *out;
    } mac;
    struct {
        struct slice iv, aad;
        uint8_t *data;
        size_t len;
        uint8_t *tag;       /* of seal: written */
        const uint8_t *got; /* of open */
    } gcm;
    struct {
        struct slice in;
        uint8_t *out;
    } wrap;
};

typedef CK_RV operate(struct token_key *k, const union operation *o);

/* The interface of PKCS #11 has no const. */
static CK_BYTE *bytes_of(const uint8_t *p)
{
    static const uint8_t none[1];
    return (CK_BYTE *)(uintptr_t)(p != NULL ? p : none);
}

static CK_RV run_mac(struct token_key *k, const union operation *o)
{
    const struct token_session *s = &k->session;
    CK_MECHANISM m = {mechanism_of(k), NULL, 0};
    CK_ULONG len = k->bits / 8;
    CK_RV rv = s->module->C_SignInit(s->handle, &m, s->object);
    for (size_t i = 0; i < o->mac.parts_len && rv == CKR_OK; i++) {
        const struct slice part = o->mac.parts[i];
        if (part.len > 0)
            rv = s->module->C_SignUpdate(s->handle, bytes_of(part.data), part.len);
    }
    if (rv == CKR_OK)
        rv = s->module->C_SignFinal(s->handle, o->mac.out, &len);
    return rv == CKR_OK && len != k->bits / 8 ? CKR_GENERAL_ERROR : rv;
}

static CK_GCM_PARAMS gcm_params(const union operation *o)
{
    return (CK_GCM_PARAMS){.iv_ptr = bytes_of(o->gcm.iv.data),
                           .iv_len = o->gcm.iv.len,
                           .iv_bits = o->gcm.iv.len * 8,
                           .aad_ptr = bytes_of(o->gcm.aad.data),
                           .aad_len = o->gcm.aad.len,
                           .tag_bits = CRYPTO_TAG * 8};
}

static CK_RV run_seal(struct token_key *k, const union operation *o)
{
    const struct token_session *s = &k->session;
    CK_GCM_PARAMS p = gcm_params(o);
    CK_MECHANISM m = {CKM_AES_GCM, &p, sizeof p};
    const size_t want = o->gcm.len + CRYPTO_TAG;
    CK_ULONG len = want;
    uint8_t *out = malloc(want);
    CK_RV rv = out == NULL ? CKR_HOST_MEMORY : s->module->C_EncryptInit(s->handle, &m, s->object);
    if (rv == CKR_OK)
        rv = s->module->C_Encrypt(s->handle, bytes_of(o->gcm.data), o->gcm.len, out, &len);
    if (rv == CKR_OK && len != want)
        rv = CKR_GENERAL_ERROR;
    if (rv == CKR_OK && o->gcm.len > 0)
        memcpy(o->gcm.data, out, o->gcm.len);
    if (rv == CKR_OK)
        memcpy(o->gcm.tag, out + o->gcm.len, CRYPTO_TAG);
    free(out);
    return rv;
}

/* The data stay encrypted until the tag was verified. */
static CK_RV run_open(struct token_key *k, const union operation *o)
{
    const struct token_session *s = &k->session;
    CK_GCM_PARAMS p = gcm_params(o);
    CK_MECHANISM m = {CKM_AES_GCM, &p, sizeof p};
    const size_t all = o->gcm.len + CRYPTO_TAG;
    CK_ULONG len = all;
    uint8_t *in = malloc(all), *out = malloc(all);
    CK_RV rv = in == NULL || out == NULL ? CKR_HOST_MEMORY
                                         : s->module->C_DecryptInit(s->handle, &m, s->object);
    if (rv == CKR_OK) {
        if (o->gcm.len > 0)
            memcpy(in, o->gcm.data, o->gcm.len);
        memcpy(in + o->gcm.len, o->gcm.got, CRYPTO_TAG);
        rv = s->module->C_Decrypt(s->handle, in, all, out, &len);
    }
    if (rv == CKR_OK && len != o->gcm.len)
        rv = CKR_GENERAL_ERROR;
    if (rv == CKR_OK && len > 0)
        memcpy(o->gcm.data, out, len);
    if (out != NULL)
        secret_wipe(out, all);
    free(in);
    free(out);
    return rv;
}

static CK_RV run_wrap(struct token_key *k, const union operation *o)
{
    const struct token_session *s = &k->session;
    CK_OBJECT_CLASS kind = CKO_SECRET_KEY;
    CK_KEY_TYPE type = CKK_GENERIC_SECRET;
    CK_BBOOL yes = CK_TRUE, no = CK_FALSE;
    CK_ATTRIBUTE is[] = {{CKA_CLASS, &kind, sizeof kind},     {CKA_KEY_TYPE, &type, sizeof type},
                         {CKA_TOKEN, &no, sizeof no},         {CKA_SENSITIVE, &no, sizeof no},
                         {CKA_EXTRACTABLE, &yes, sizeof yes}, {CKA_VALUE, NULL, o->wrap.in.len}};
    CK_MECHANISM m = {CKM_AES_KEY_WRAP, NULL, 0};
    CK_OBJECT_HANDLE content;
    CK_ULONG len = o->wrap.in.len + 8;
    is[5].pValue = bytes_of(o->wrap.in.data);
    CK_RV rv = s->module->C_CreateObject(s->handle, is, sizeof is / sizeof *is, &content);
    if (rv != CKR_OK)
        return rv;
    rv = s->module->C_WrapKey(s->handle, &m, s->object, content, o->wrap.out, &len);
    (void)s->module->C_DestroyObject(s->handle, content);
    return rv == CKR_OK && len != o->wrap.in.len + 8 ? CKR_GENERAL_ERROR : rv;
}

static CK_RV run_unwrap(struct token_key *k, const union operation *o)
{
    const struct token_session *s = &k->session;
    CK_OBJECT_CLASS kind = CKO_SECRET_KEY;
    CK_KEY_TYPE type = CKK_GENERIC_SECRET;
    CK_BBOOL yes = CK_TRUE, no = CK_FALSE;
    CK_ATTRIBUTE is[] = {{CKA_CLASS, &kind, sizeof kind},
                         {CKA_KEY_TYPE, &type, sizeof type},
                         {CKA_TOKEN, &no, sizeof no},
                         {CKA_SENSITIVE, &no, sizeof no},
                         {CKA_EXTRACTABLE, &yes, sizeof yes}};
    CK_MECHANISM m = {CKM_AES_KEY_WRAP, NULL, 0};
    CK_OBJECT_HANDLE content;
    CK_ATTRIBUTE value = {CKA_VALUE, o->wrap.out, o->wrap.in.len - 8};
    CK_RV rv = s->module->C_UnwrapKey(s->handle, &m, s->object, bytes_of(o->wrap.in.data),
                                      o->wrap.in.len, is, sizeof is / sizeof *is, &content);
    if (rv != CKR_OK)
        return rv;
    rv = s->module->C_GetAttributeValue(s->handle, content, &value, 1);
    (void)s->module->C_DestroyObject(s->handle, content);
    return rv == CKR_OK && value.ulValueLen != o->wrap.in.len - 8 ? CKR_GENERAL_ERROR : rv;
}

/* ---- with a token that may be away ---- */

/* Does it say that the session, or a handle, is not there any more? */
static bool is_gone(CK_RV rv)
{
    static const CK_RV gone[] = {
        CKR_DEVICE_REMOVED,
        CKR_DEVICE_ERROR,
        CKR_TOKEN_NOT_PRESENT,
        CKR_SESSION_CLOSED,
        CKR_SESSION_HANDLE_INVALID,
        CKR_USER_NOT_LOGGED_IN,
        CKR_KEY_HANDLE_INVALID,
        CKR_OBJECT_HANDLE_INVALID,
        CKR_CRYPTOKI_NOT_INITIALIZED,
        CKR_SLOT_ID_INVALID,
        CKR_TOKEN_NOT_RECOGNIZED,
        CKR_WRAPPING_KEY_HANDLE_INVALID,
        CKR_OPERATION_ACTIVE,
        CKR_HOST_MEMORY,
        CKR_DEVICE_MEMORY,
        CKR_UNWRAPPING_KEY_HANDLE_INVALID,
    };
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
        if (rv == gone[i])
            return true;
    }
    return false;
}

/* A refused PIN is refused for all keys that have it: a token locks itself after a few of them. */
static void share_refusal(struct token_keys *t, const struct token_key *k)
{
    const struct token_session *from = &k->session;
    for (size_t i = 0; i < t->len && from->pin_refused && from->pin_path != NULL; i++) {
        struct token_session *s = &t->at[i]->session;
        if (s->pin_path != NULL && strcmp(s->pin_path, from->pin_path) == 0)
            s->pin_refused = true;
    }
}

/* A token that is slow to say no takes a tenth of the caller's time at most. */
static void pause_key(struct token_key *k, tick began)
{
    const tick now = clock_now(), pause = 9 * (now - began);
    k->retry_at = now + tick_min(tick_max(pause, TOKEN_PAUSE), TOKEN_PAUSE_MAX);
}

/* Is the key open? Opens it again if its pause has passed. */
static bool reopen_key(struct token_keys *t, struct token_key *k)
{
    if (k->session.open)
        return true;
    const tick now = clock_now();
    if (now < k->retry_at)
        return false;
    if (token_session_open(&k->session, k->why, sizeof k->why) == 0)
        return true;
    share_refusal(t, k);
    pause_key(k, now);
    return false;
}

static bool run_key(struct token_keys *t, struct token_key *k, operate *operation,
                    const union operation *o)
{
    for (int i = 0; i < 2 && reopen_key(t, k); i++) {
        const tick began = clock_now();
        const CK_RV rv = operation(k, o);
        if (rv == CKR_OK)
            return true;
        snprintf(k->why, sizeof k->why, "the token \"%s\": %s", k->session.label,
                 p11_kit_strerror(rv));
        if (!is_gone(rv))
            return false;
        token_session_close(&k->session);
        if (i > 0)
            pause_key(k, began);
    }
    t->absent = true;
    return false;
}

static struct token_key *find_key(const struct token_keys *t, struct slice name)
{
    for (size_t i = 0; i < t->len; i++) {
        const struct token_key *k = t->at[i];
        if (k->name_len == name.len && secret_same(k->name, name.data, name.len))
            return t->at[i];
    }
    return NULL;
}

/* ---- the table ---- */

static bool table_mac(void *self, unsigned bits, struct slice key, const struct slice *parts,
                      size_t parts_len, uint8_t *out)
{
    struct token_keys *t = self;
    struct token_key *k = find_key(t, key);
    const union operation o = {.mac = {.parts = parts, .parts_len = parts_len, .out = out}};
    t->absent = false;
    if (k == NULL)
        return t->other->mac(t->other->self, bits, key, parts, parts_len, out);
    return k->use == TOKEN_HMAC && k->bits == bits && run_key(t, k, run_mac, &o);
}

static bool table_cmac(void *self, struct slice key, const struct slice *parts, size_t parts_len,
                       uint8_t out[CRYPTO_CMAC])
{
    struct token_keys *t = self;
    t->absent = false;
    return find_key(t, key) == NULL && t->other->cmac(t->other->self, key, parts, parts_len, out);
}

static bool table_seal(void *self, struct slice key, struct slice iv, struct slice aad,
                       uint8_t *data, size_t len, uint8_t tag[CRYPTO_TAG])
{
    struct token_keys *t = self;
    struct token_key *k = find_key(t, key);
    const union operation o = {.gcm = {.iv = iv, .aad = aad, .data = data, .len = len, .tag = tag}};
    t->absent = false;
    if (k == NULL)
        return t->other->seal(t->other->self, key, iv, aad, data, len, tag);
    return k->use == TOKEN_GCM && run_key(t, k, run_seal, &o);
}

static bool table_open(void *self, struct slice key, struct slice iv, struct slice aad,
                       uint8_t *data, size_t len, const uint8_t tag[CRYPTO_TAG])
{
    struct token_keys *t = self;
    struct token_key *k = find_key(t, key);
    const union operation o = {.gcm = {.iv = iv, .aad = aad, .data = data, .len = len, .got = tag}};
    t->absent = false;
    if (k == NULL)
        return t->other->open(t->other->self, key, iv, aad, data, len, tag);
    return k->use == TOKEN_GCM && run_key(t, k, run_open, &o);
}

static bool table_restore(void *self, struct slice key, struct slice iv, struct slice aad,
                          uint8_t *data, size_t len)
{
    struct token_keys *t = self;
    return find_key(t, key) != NULL /* run_open did not change them */ ||
           t->other->restore(t->other->self, key, iv, aad, data, len);
}

static bool table_wrap(void *self, struct slice kek, struct slice key, uint8_t *out)
{
    struct token_keys *t = self;
    struct token_key *k = find_key(t, kek);
    const union operation o = {.wrap = {.in = key, .out = out}};
    t->absent = false;
    if (k == NULL)
        return t->other->wrap(t->other->self, kek, key, out);
    return k->use == TOKEN_WRAP && key.len >= 16 && run_key(t, k, run_wrap, &o);
}

static bool table_unwrap(void *self, struct slice kek, struct slice wrapped, uint8_t *out)
{
    struct token_keys *t = self;
    struct token_key *k = find_key(t, kek);
    const union operation o = {.wrap = {.in = wrapped, .out = out}};
    t->absent = false;
    if (k == NULL)
        return t->other->unwrap(t->other->self, kek, wrapped, out);
    return k->use == TOKEN_WRAP && wrapped.len >= 24 && run_key(t, k, run_unwrap, &o);
}

static bool table_random(void *self, uint8_t *out, size_t len)
{
    struct token_keys *t = self;
    t->absent = false;
    return t->other->random(t->other->self, out, len);
}

static bool table_absent(void *self)
{
    const struct token_keys *t = self;
    return t->absent;
}

/* ---- trying a key ---- */

static bool can_use(const struct token_key *k)
{
    static const CK_FLAGS flags[] = {[TOKEN_HMAC] = CKF_SIGN,
                                     [TOKEN_GCM] = CKF_ENCRYPT | CKF_DECRYPT,
                                     [TOKEN_WRAP] = CKF_WRAP | CKF_UNWRAP};
    return token_session_can(&k->session, mechanism_of(k), flags[k->use]);
}

static const char *text_of(const struct token_key *k)
{
    if (k->use == TOKEN_HMAC)
        return k->bits == 256   ? "CKM_SHA256_HMAC"
               : k->bits == 384 ? "CKM_SHA384_HMAC"
                                : "CKM_SHA512_HMAC";
    return k->use == TOKEN_GCM ? "CKM_AES_GCM" : "CKM_AES_KEY_WRAP";
}

/* NULL, or what the key may not, or is not. */
static const char *judge_key(const struct token_key *k)
{
    CK_ULONG n;
    const struct token_session *s = &k->session;
    const bool aes = k->use != TOKEN_HMAC;
    if (token_session_value(s, CKA_KEY_TYPE, &n) && (n == CKK_AES) != aes)
        return aes ? "is no AES key" : "is an AES key, not a generic secret key";
    if (aes && token_session_value(s, CKA_VALUE_LEN, &n) && n != k->bits / 8)
        return k->bits == 128 ? "has not 16 bytes, as this algorithm needs"
                              : "has not 32 bytes, as this algorithm needs";
    if (!aes && token_session_value(s, CKA_VALUE_LEN, &n) && n < 16)
        return "has less than 16 bytes";
    const CK_ATTRIBUTE_TYPE first = k->use == TOKEN_HMAC  ? CKA_SIGN
                                    : k->use == TOKEN_GCM ? CKA_ENCRYPT
                                                          : CKA_WRAP;
    const CK_ATTRIBUTE_TYPE second = k->use == TOKEN_HMAC  ? CKA_SIGN
                                     : k->use == TOKEN_GCM ? CKA_DECRYPT
                                                           : CKA_UNWRAP;
    if ((token_session_value(s, first, &n) && n == CK_FALSE) ||
        (token_session_value(s, second, &n) && n == CK_FALSE))
        return k->use == TOKEN_HMAC  ? "may not sign (CKA_SIGN)"
               : k->use == TOKEN_GCM ? "may not encrypt and decrypt (CKA_ENCRYPT, CKA_DECRYPT)"
                                     : "may not wrap and unwrap (CKA_WRAP, CKA_UNWRAP)";
    return NULL;
}

/* A trial encryption would use an unrecorded IV, so AES-GCM is not tried. */
static bool try_operation(struct token_keys *t, const struct token_key *k)
{
    static const uint8_t text[32] = "helio key trial";
    uint8_t out[CRYPTO_MAC_MAX], back[sizeof text];
    const struct slice part = slice_of(text, sizeof text), name = slice_of(k->name, k->name_len);
    if (k->use == TOKEN_HMAC)
        return table_mac(t, k->bits, name, &part, 1, out);
    return k->use == TOKEN_GCM ||
           (table_wrap(t, name, part, out) && table_unwrap(t, name, slice_of(out, 40), back) &&
            memcmp(back, text, sizeof text) == 0);
}

static int try_key(struct token_keys *t, struct token_key *k, char *why, size_t cap)
{
    const char *label = k->session.label;
    k->session.pin_refused = false; /* the operator asks */
    const int err = token_session_open(&k->session, why, cap);
    if (err != 0)
        return err;
    const char *wrong = judge_key(k);
    if (!can_use(k)) {
        snprintf(why, cap, "the token \"%s\" has no mechanism %s%s", label, text_of(k),
                 k->use == TOKEN_WRAP ? "" : "; an aes-256-kw key needs only CKM_AES_KEY_WRAP");
        return HELIO_EIO;
    }
    if (wrong != NULL) {
        snprintf(why, cap, "the key in the token \"%s\" %s", label, wrong);
        return HELIO_EIO;
    }
    if (try_operation(t, k))
        return 0;
    snprintf(why, cap, "the key was tried: %s", k->why);
    return HELIO_EIO;
}

/* ---- the list ---- */

static void free_key(struct token_key *k)
{
    if (k == NULL)
        return;
    token_session_fini(&k->session);
    free(k->uri);
    free(k);
}

static struct token_key *find_same(const struct token_keys *t, const struct token_want *w)
{
    for (size_t i = 0; i < t->len; i++) {
        const struct token_key *k = t->at[i];
        if (k->use == w->use && k->bits == w->bits && strcmp(k->uri, w->uri) == 0)
            return t->at[i];
    }
    return NULL;
}

static int new_key(struct token_keys *t, const struct token_want *w, struct token_key **out,
                   char *why, size_t cap)
{
    struct token_key *k = calloc(1, sizeof *k);
    snprintf(why, cap, "out of memory");
    if (k == NULL)
        return HELIO_ENOMEM;
    k->use = w->use;
    k->bits = w->bits;
    k->uri = strdup(w->uri);
    k->name_len = w->use != TOKEN_HMAC && w->bits == 128 ? 16 : TOKEN_NAME_MAX;
    int err = k->uri == NULL || !t->other->random(t->other->self, k->name, k->name_len)
                  ? HELIO_ENOMEM
                  : token_session_init(&k->session, w->uri, w->folder, why, cap);
    if (err == 0 && t->len == TOKEN_KEYS_MAX) {
        snprintf(why, cap, "there are more than %d keys in tokens", TOKEN_KEYS_MAX);
        err = HELIO_ENOMEM;
    }
    if (err != 0) {
        free_key(k);
        return err;
    }
    t->at[t->len++] = k;
    *out = k;
    return 0;
}

int token_keys_open(struct token_keys *t, const struct token_want *want, uint8_t *name,
                    size_t *name_len, char *why, size_t why_cap)
{
    struct token_key *k = find_same(t, want);
    int err = k != NULL ? 0 : new_key(t, want, &k, why, why_cap);
    if (err != 0)
        return err;
    k->listed = true;
    err = try_key(t, k, why, why_cap);
    memcpy(name, k->name, k->name_len);
    *name_len = k->name_len;
    return err;
}

void token_keys_begin(struct token_keys *t)
{
    for (size_t i = 0; i < t->len; i++)
        t->at[i]->listed = false;
}

void token_keys_settle(struct token_keys *t, bool taken)
{
    size_t n = 0;
    for (size_t i = 0; i < t->len; i++) {
        struct token_key *k = t->at[i];
        k->kept = taken ? k->listed : k->kept;
        if (k->kept)
            t->at[n++] = k;
        else
            free_key(k);
    }
    t->len = n;
}

bool token_keys_answers(const struct token_keys *t, struct slice name)
{
    const struct token_key *k = find_key(t, name);
    return k == NULL || k->session.open;
}

size_t token_keys_retry(struct token_keys *t, char *why, size_t why_cap)
{
    size_t count = 0;
    for (size_t i = 0; i < t->len; i++) {
        struct token_key *k = t->at[i];
        if (reopen_key(t, k))
            continue;
        if (count == 0)
            snprintf(why, why_cap, "%s", k->why);
        count++;
    }
    return count;
}

struct token_keys *token_keys_new(const struct crypto *other)
{
    struct token_keys *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->other = other;
    t->table = (struct crypto){.self = t,
                               .mac = table_mac,
                               .cmac = table_cmac,
                               .seal = table_seal,
                               .open = table_open,
                               .restore = table_restore,
                               .wrap = table_wrap,
                               .unwrap = table_unwrap,
                               .random = table_random,
                               .signatures = other->signatures, /* their keys are in no token */
                               .exchange = other->exchange,
                               .absent = table_absent};
    return t;
}

void token_keys_free(struct token_keys *t)
{
    for (size_t i = 0; t != NULL && i < t->len; i++)
        free_key(t->at[i]);
    free(t);
}

const struct crypto *token_keys_crypto(struct token_keys *t)
{
    return &t->table;
}
