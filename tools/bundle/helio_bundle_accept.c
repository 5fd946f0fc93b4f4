/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-bundle verify|decrypt|explain: the security verifier and acceptor for a bundle in a file.
 * Each key is tried for each operation. What can go wrong: no key fits, altered bytes, a bundle
 * without the requested operation (exit 1).
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "bp/codec/security/cose_key.h"
#include "os/arguments.h"
#include "tools/bundle/helio_bundle.h"
#include "tools/bundle/helio_bundle_secure.h"

static void check_accept(struct argp_state *state, void *base)
{
    const struct secure_options *o = base;
    if (o->input == NULL)
        argp_error(state, "FILE is missing; \"-\" is standard input");
    else if (o->keys_len + o->cose_len == 0 && !o->keyless)
        argp_error(state, "--key FILE is missing; or --cose-key FILE");
    else if (o->strip && (o->output == NULL || strcmp(o->output, "-") == 0))
        argp_error(state, "--strip needs -o FILE, where the bundle goes");
    else if (!o->strip && o->output != NULL && o->only_stripped)
        argp_error(state, "-o is for --strip");
}

#define KEY_OPTION                                                                                 \
    {                                                                                              \
        "key", 'k', "FILE",                                                                        \
            .help = "File with a key: one line of hexadecimal digits; may be repeated, then each " \
                    "is tried",                                                                    \
            SECURE_OWN(secure_add_key)                                                             \
    }
#define COSE_OPTION                                                                                \
    {                                                                                              \
        "cose-key", 0, "FILE",                                                                     \
            .help = "Key file of a node, COSE_Key or COSE_KeySet, for the context COSE; may be "   \
                    "repeated",                                                                    \
            SECURE_OWN(secure_add_cose)                                                            \
    }
#define JSON_OPTION                                                                                \
    {                                                                                              \
        "json", 'j', .help = "Print one JSON object", .type = OPTION_BOOL, SECURE_FIELD(json)      \
    }
#define HEX_OPTION                                                                                 \
    {                                                                                              \
        "hex", 0, .help = "FILE is hexadecimal text", .type = OPTION_BOOL, SECURE_FIELD(hex)       \
    }

static const struct argument verify_options[] = {
    KEY_OPTION,
    COSE_OPTION,
    JSON_OPTION,
    {"strip", 0, .help = "Remove what was verified, and write the bundle to -o",
     .type = OPTION_BOOL, SECURE_FIELD(strip)},
    {"output", 'o', "FILE", .help = "With --strip: where the bundle goes", SECURE_FIELD(output)},
    HEX_OPTION,
    {0}};
static const struct argument decrypt_options[] = {
    KEY_OPTION,
    COSE_OPTION,
    {"output", 'o', "FILE", .help = "Where the bundle goes; standard output", SECURE_FIELD(output)},
    HEX_OPTION,
    {0}};
static const struct argument explain_options[] = {JSON_OPTION, HEX_OPTION, {0}};

/* JSON has no number beyond 2^63 - 1 for all readers: those are a text of their digits. */
static json_t *number_json(uint64_t n)
{
    char text[21];
    if (n <= INT64_MAX)
        return json_integer((json_int_t)n);
    snprintf(text, sizeof text, "%llu", (unsigned long long)n);
    return json_string(text);
}

/* A file name may be no UTF-8, which JSON demands. */
static json_t *file_json(const char *path)
{
    char text[PRINTABLE_EACH * 512];
    printable(path, strnlen(path, 512), text, sizeof text);
    return json_string(text);
}

static const char *context_text(const struct security_block *s)
{
    return !s->known                              ? "another context"
           : s->context == SECURITY_COSE          ? "COSE"
           : s->context == SECURITY_BIB_HMAC_SHA2 ? "BIB-HMAC-SHA2"
                                                  : "BCB-AES-GCM";
}

static const char *variant_text(enum security_variant v)
{
    return v == SECURITY_AES_128    ? "AES-128"
           : v == SECURITY_AES_256  ? "AES-256"
           : v == SECURITY_HMAC_256 ? "HMAC-SHA-256"
           : v == SECURITY_HMAC_384 ? "HMAC-SHA-384"
                                    : "HMAC-SHA-512";
}

typedef enum security_verdict attempt(struct security_bundle *b, struct security_operation op,
                                      struct slice key, const struct crypto *crypto);
typedef enum security_verdict cose_attempt(struct security_bundle *b, struct security_operation op,
                                           const struct security_cose_key *key,
                                           const struct crypto *crypto);

static enum security_verdict verify_one(struct security_bundle *b, struct security_operation op,
                                        struct slice key, const struct crypto *crypto)
{
    return security_verify(b, op, key, crypto);
}

/* A source without a clock may have used a certificate of any time: then none is valid. */
static enum security_verdict verify_cose(struct security_bundle *b, struct security_operation op,
                                         const struct security_cose_key *key,
                                         const struct crypto *crypto)
{
    return security_cose_verify(b, op, key, 0, crypto);
}

/* The verdict that says more: a key that fits, but the octets do not. */
static enum security_verdict choose_verdict(enum security_verdict was, enum security_verdict now)
{
    return was != SECURITY_BAD_KEY && now == SECURITY_BAD_KEY ? was : now;
}

/* The first key that fits; else the verdict that says most. */
static enum security_verdict try_keys(const struct secure_options *o, struct security_bundle *b,
                                      struct security_operation op, attempt *one,
                                      cose_attempt *other, const struct crypto *crypto)
{
    enum security_verdict v = SECURITY_BAD_KEY;
    for (size_t i = 0; i < o->keys_len && v != SECURITY_OK; i++)
        v = choose_verdict(v, one(b, op, slice_of(o->keys[i].bytes, o->keys[i].len), crypto));
    for (size_t i = 0; i < o->cose_len && v != SECURITY_OK; i++) {
        struct security_cose_key key;
        if (security_key_cose(&o->cose[i], &key))
            v = choose_verdict(v, other(b, op, &key, crypto));
    }
    return v;
}

static void print_outcome(const struct secure_options *o, json_t *list,
                          const struct bundle_block *block, uint64_t target,
                          const struct security_block *s, enum security_verdict v)
{
    char source[EID_TEXT_MAX], name[32];
    eid_text(&s->source, source);
    if (o->json)
        json_array_append_new(list,
                              json_pack("{s:o, s:s, s:s, s:o, s:b, s:s}", "block",
                                        number_json(block->number), "context", context_text(s),
                                        "source", source, "target", number_json(target), "correct",
                                        v == SECURITY_OK, "verdict", security_verdict_text(v)));
    else
        printf("block %llu, %s of %s: %s: %s\n", (unsigned long long)block->number, context_text(s),
               source, secure_target_text(target, name), security_verdict_text(v));
}

/* An integrity block whose operations cannot be read. */
static void print_unreadable(const struct secure_options *o, json_t *list,
                             const struct bundle_block *block, enum security_verdict v)
{
    if (o->json)
        json_array_append_new(list,
                              json_pack("{s:o, s:b, s:s}", "block", number_json(block->number),
                                        "correct", 0, "verdict", security_verdict_text(v)));
    else
        printf("block %llu: %s\n", (unsigned long long)block->number, security_verdict_text(v));
}

/* All operations of integrity blocks. Returns how many failed; *count: how many there are. */
static size_t verify_all(const struct secure_options *o, struct security_bundle *b,
                         const struct crypto *crypto, json_t *list, size_t *count)
{
    size_t failed = 0;
    struct security_block s;
    for (size_t i = 0; i < b->len; i++) {
        if (b->at[i].type != SECURITY_BIB)
            continue;
        const struct bundle_block block = b->at[i];
        if (security_is_encrypted(b, block.number) ||
            security_block_parse(SECURITY_BIB, block.data, &s) != NULL) {
            print_unreadable(o, list, &block,
                             security_is_encrypted(b, block.number) ? SECURITY_ENCRYPTED
                                                                    : SECURITY_MALFORMED);
            failed++;
            ++*count;
            continue;
        }
        for (size_t k = 0; k < s.targets_len; k++) {
            const struct security_operation op = {.block = i, .target = k};
            const enum security_verdict v = try_keys(o, b, op, verify_one, verify_cose, crypto);
            print_outcome(o, list, &block, s.targets[k], &s, v);
            failed += v != SECURITY_OK;
            ++*count;
        }
    }
    return failed;
}

/* Does a cipher that is left authenticate the primary block? */
static bool covers_primary(const struct bundle_block *block)
{
    struct security_block s;
    return block->type == SECURITY_BCB &&
           (security_block_parse(SECURITY_BCB, block->data, &s) != NULL || !s.known ||
            (s.scope & SECURITY_SCOPE_PRIMARY));
}

/* After all were verified: takes the integrity blocks out. A primary block that lost its CRC to one
 * gets a new one (RFC 9171 §4.3.1), unless a cipher that is left has authenticated it as it is. */
static void strip_all(struct security_bundle *b)
{
    bool left = false;
    for (size_t i = 0; i < b->len;) {
        const struct security_operation op = {.block = i};
        left = left || covers_primary(&b->at[i]);
        if (b->at[i].type != SECURITY_BIB || security_strip(b, op) != SECURITY_OK)
            i++;
    }
    if (!left && b->primary.crc == CRC_NONE)
        b->primary.crc = CRC_32C;
}

static int verify_bundle(const struct secure_options *o, struct security_bundle *b,
                         const struct crypto *crypto)
{
    json_t *list = json_array();
    size_t count = 0;
    const size_t failed = verify_all(o, b, crypto, list, &count);
    if (o->json) {
        json_t *all = json_pack("{s:o, s:b, s:O}", "file", file_json(o->input), "correct",
                                failed == 0 && count > 0, "operations", list);
        json_dumpf(all, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(all);
    } else if (count == 0) {
        printf("%s: no integrity block\n", o->input);
    }
    json_decref(list);
    if (failed > 0 || count == 0)
        return EXIT_FAILED;
    if (!o->strip)
        return EXIT_DONE;
    strip_all(b);
    return secure_write(o, b);
}

/* Decrypts until nothing is left: a decrypted integrity block changes what can be done next. */
static int decrypt_bundle(const struct secure_options *o, struct security_bundle *b,
                          const struct crypto *crypto)
{
    size_t done = 0;
    for (size_t i = 0; i < b->len;) {
        struct security_block s;
        char name[32];
        if (b->at[i].type != SECURITY_BCB) {
            i++;
            continue;
        }
        const char *why = security_block_parse(SECURITY_BCB, b->at[i].data, &s);
        const enum security_verdict v =
            why != NULL ? SECURITY_MALFORMED
                        : try_keys(o, b, (struct security_operation){.block = i}, security_decrypt,
                                   security_cose_decrypt, crypto);
        if (v != SECURITY_OK) {
            fprintf(stderr, "%s: %s: block %llu: %s: %s\n", o->command, o->input,
                    (unsigned long long)b->at[i].number,
                    why != NULL ? why : secure_target_text(s.targets[0], name),
                    security_verdict_text(v));
            return EXIT_FAILED;
        }
        done++;
    }
    if (done > 0)
        return secure_write(o, b);
    fprintf(stderr, "%s: %s: no confidentiality block\n", o->command, o->input);
    return EXIT_FAILED;
}

static json_t *hex_json(struct slice s)
{
    char text[2 * SECURITY_WRAPPED_MAX + 1] = "";
    for (size_t i = 0; i < s.len && i < SECURITY_WRAPPED_MAX; i++)
        snprintf(text + 2 * i, 3, "%02x", s.data[i]);
    return json_string(text);
}

/* {"0": 1, "-1": 1} */
static json_t *scope_json(const struct security_aad_scope *a)
{
    json_t *out = json_object();
    for (size_t i = 0; i < a->len; i++) {
        char key[24];
        snprintf(key, sizeof key, "%lld", (long long)a->at[i].key);
        json_object_set_new(out, key, number_json(a->at[i].flags));
    }
    return out;
}

/* The curve of a sender's key */
static json_t *curve_json(struct slice map)
{
    static const char *const names[] = {
        [CRYPTO_P256] = "P-256",      [CRYPTO_P384] = "P-384",    [CRYPTO_P521] = "P-521",
        [CRYPTO_ED25519] = "Ed25519", [CRYPTO_X25519] = "X25519", [CRYPTO_RSA] = "RSA"};
    struct cose_key k;
    const char *why = cose_key_parse(map, &k);
    return json_string(why != NULL                ? why
                       : k.type == COSE_SYMMETRIC ? "a symmetric key"
                                                  : names[k.family]);
}

static json_t *layer_json(const struct cose_layer *l)
{
    json_t *out = json_object();
    const struct cose_headers *h = &l->headers;
    if (h->has_alg)
        json_object_set_new(out, "alg", json_integer((json_int_t)h->alg));
    if (h->kid.data != NULL)
        json_object_set_new(out, "kid", hex_json(h->kid));
    if (h->x5t.data != NULL)
        json_object_set_new(out, "x5t", hex_json(h->x5t));
    if (h->chain_len > 0)
        json_object_set_new(out, "certificates", number_json(h->chain_len));
    if (h->ephemeral_key.data != NULL)
        json_object_set_new(out, "ephemeral_key", curve_json(h->ephemeral_key));
    if (h->static_key.data != NULL)
        json_object_set_new(out, "sender_key", curve_json(h->static_key));
    if (h->static_kid.data != NULL)
        json_object_set_new(out, "sender_kid", hex_json(h->static_kid));
    return out;
}

static json_t *message_json(const struct security_block *s, size_t i)
{
    static const struct {
        uint64_t id;
        const char *name;
    } names[] = {{COSE_ENCRYPT0, "COSE_Encrypt0"}, {COSE_MAC0, "COSE_Mac0"},
                 {COSE_SIGN1, "COSE_Sign1"},       {COSE_ENCRYPT, "COSE_Encrypt"},
                 {COSE_MAC, "COSE_Mac"},           {COSE_SIGN, "COSE_Sign"}};
    struct cose_message m;
    const char *why =
        cose_message_parse(s->ids[i], s->results[i], s->added_protected, s->added_unprotected, &m);
    if (why != NULL)
        return json_pack("{s:s}", "malformed", why);
    json_t *out = layer_json(&m.body), *layers = json_array();
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (names[k].id == s->ids[i])
            json_object_set_new(out, "message", json_string(names[k].name));
    }
    for (size_t k = 0; k < m.len; k++)
        json_array_append_new(layers, layer_json(&m.at[k]));
    if (m.len > 0)
        json_object_set(out, m.id == COSE_SIGN ? "signatures" : "recipients", layers);
    json_decref(layers);
    return out;
}

static json_t *messages_json(const struct security_block *s)
{
    json_t *out = json_array();
    for (size_t i = 0; i < s->targets_len; i++)
        json_array_append_new(out, message_json(s, i));
    return out;
}

static json_t *block_json(const struct security_bundle *b, size_t at)
{
    const struct bundle_block *block = &b->at[at];
    struct security_block s;
    char source[EID_TEXT_MAX];
    json_t *out =
        json_pack("{s:o, s:s}", "block", number_json(block->number), "type",
                  block->type == SECURITY_BIB ? "integrity (BIB)" : "confidentiality (BCB)");
    if (security_is_encrypted(b, block->number)) {
        json_object_set_new(out, "encrypted", json_true());
        return out;
    }
    const char *why = security_block_parse(block->type, block->data, &s);
    if (why != NULL) {
        json_object_set_new(out, "malformed", json_string(why));
        return out;
    }
    eid_text(&s.source, source);
    json_object_set_new(out, "context", json_string(context_text(&s)));
    json_object_set_new(out, "source", json_string(source));
    json_t *targets = json_array();
    for (size_t i = 0; i < s.targets_len; i++)
        json_array_append_new(targets, number_json(s.targets[i]));
    json_object_set_new(out, "targets", targets);
    if (!s.known)
        return out;
    if (s.context == SECURITY_COSE) {
        json_object_set_new(out, "aad_scope", scope_json(&s.aad));
        json_object_set_new(out, "messages", messages_json(&s));
        return out;
    }
    json_object_set_new(out, "algorithm", json_string(variant_text(s.variant)));
    json_object_set_new(out, "scope",
                        json_pack("{s:b, s:b, s:b}", "primary",
                                  (s.scope & SECURITY_SCOPE_PRIMARY) != 0, "target",
                                  (s.scope & SECURITY_SCOPE_TARGET) != 0, "security",
                                  (s.scope & SECURITY_SCOPE_SECURITY) != 0));
    json_object_set_new(out, "wrapped_key", json_boolean(s.wrapped_key.len > 0));
    if (s.iv.len > 0)
        json_object_set_new(out, "iv", hex_json(s.iv));
    json_t *results = json_array();
    for (size_t i = 0; i < s.targets_len; i++)
        json_array_append_new(results, hex_json(s.results[i]));
    json_object_set_new(out, "results", results);
    return out;
}

static void print_member(const char *key, json_t *value)
{
    char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    printf("  %-12s %s\n", key, text == NULL ? json_string_value(value) : text);
    free(text);
}

static int explain_bundle(const struct secure_options *o, struct security_bundle *b,
                          const struct crypto *crypto)
{
    (void)crypto;
    json_t *list = json_array(), *one, *value;
    const char *key;
    size_t at;
    for (size_t i = 0; i < b->len; i++) {
        if (b->at[i].type == SECURITY_BIB || b->at[i].type == SECURITY_BCB)
            json_array_append_new(list, block_json(b, i));
    }
    if (o->json) {
        json_t *all = json_pack("{s:o, s:O}", "file", file_json(o->input), "security_blocks", list);
        json_dumpf(all, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(all);
    } else if (json_array_size(list) == 0) {
        printf("%s: no security blocks\n", o->input);
    }
    json_array_foreach(list, at, one)
    {
        if (o->json)
            break;
        printf("%s: security block\n", o->input);
        json_object_foreach(one, key, value) print_member(key, value);
    }
    json_decref(list);
    return EXIT_DONE;
}

int command_verify(int argc, char **argv)
{
    struct secure_options o = {.command = "helio-bundle verify", .only_stripped = true};
    const struct argument_table table = {
        .options = verify_options,
        .word = secure_take_file,
        .end = check_accept,
        .args_doc = "FILE",
        .doc = "Verifies the integrity blocks of a bundle (RFC 9172).\vexamples:\n"
               "  helio-bundle verify -k mac.key signed.cbor\n"
               "  helio-bundle verify -k mac.key --strip -o plain.cbor signed.cbor\n"
               "\nexit codes: 0 all are correct, 1 one is not or there is none, 2 usage or a key "
               "file"};
    return secure_run(&o, &table, argc, argv, verify_bundle);
}

int command_decrypt(int argc, char **argv)
{
    struct secure_options o = {.command = "helio-bundle decrypt"};
    const struct argument_table table = {
        .options = decrypt_options,
        .word = secure_take_file,
        .end = check_accept,
        .args_doc = "FILE",
        .doc = "Decrypts all encrypted blocks of a bundle (RFC 9172).\vexamples:\n"
               "  helio-bundle decrypt -k aes.key secret.cbor -o plain.cbor\n"
               "\nexit codes: 0 done, 1 a key does not fit, bytes were altered, or nothing is "
               "encrypted; 2 usage or a key file"};
    return secure_run(&o, &table, argc, argv, decrypt_bundle);
}

int command_explain(int argc, char **argv)
{
    struct secure_options o = {.command = "helio-bundle explain", .keyless = true};
    const struct argument_table table = {
        .options = explain_options,
        .word = secure_take_file,
        .end = check_accept,
        .args_doc = "FILE",
        .doc = "Prints the security blocks of a bundle. No key is needed."
               "\vexamples:\n"
               "  helio-bundle explain signed.cbor\n"
               "\nexit codes: 0 done, 1 no bundle, 2 usage"};
    return secure_run(&o, &table, argc, argv, explain_bundle);
}
