/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-bundle sign|encrypt: the security source (RFC 9172) for a bundle in a file. Also what these
 * share with the acceptor's commands: key files, reading and writing. What can go wrong: a key file
 * (exit 2), an operation that RFC 9172 does not allow on this bundle (exit 1), a file.
 */
#include "tools/bundle/helio_bundle_secure.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "os/arguments.h"
#include "os/crypto/crypto.h"
#include "os/secret.h"
#include "tools/bundle/helio_bundle.h"

static int digit_of(char c)
{
    const char *digits = "0123456789abcdef";
    const char *at = c == '\0' ? NULL : strchr(digits, tolower((unsigned char)c));
    return at == NULL ? -1 : (int)(at - digits);
}

static bool key_of(const char *text, struct secure_key *k)
{
    const size_t n = strlen(text);
    if (n == 0 || n % 2 != 0 || n / 2 > sizeof k->bytes)
        return false;
    for (size_t i = 0; i < n; i += 2) {
        const int high = digit_of(text[i]), low = digit_of(text[i + 1]);
        if (high < 0 || low < 0)
            return false;
        k->bytes[i / 2] = (uint8_t)(high * 16 + low);
    }
    k->len = n / 2;
    return true;
}

void secure_add_key(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct secure_options *o = argument_field(row, base);
    char line[2 * SECURITY_KEY_MAX + 2], why[512];
    if (o->keys_len == SECURE_KEYS_MAX)
        argp_error(state, "--key: at most %d keys", SECURE_KEYS_MAX);
    else if (secret_file_line(arg, line, sizeof line, why, sizeof why) < 0)
        argp_failure(state, EXIT_USAGE, 0, "--key: %s", why);
    else if (!key_of(line, &o->keys[o->keys_len]))
        argp_failure(state, EXIT_USAGE, 0,
                     "--key: %s: expected one line of 2 to %d hexadecimal digits, two for each "
                     "byte, as `openssl rand -hex 32` prints it",
                     arg, 2 * SECURITY_KEY_MAX);
    else
        o->keys_len++;
    secret_wipe(line, sizeof line);
}

/* 0, or the exit code after a message; after 0 security_bundle_fini is owed. */
static int read_bundle(const struct secure_options *o, struct security_bundle *out)
{
    struct bundle_findings f;
    out->len = 0;
    struct buf *bytes = bundle_file_read(o->input, o->hex);
    if (bytes == NULL)
        return argument_file_code(o->input, false);
    const int rc = security_bundle_read(bytes, out, &f);
    if (rc == 0)
        return EXIT_DONE;
    if (rc == HELIO_EFORMAT)
        findings_print(stderr, o->input, &f);
    else
        fprintf(stderr, "%s: %s: %s\n", o->command, o->input,
                rc == HELIO_ESPACE ? "it has more than 64 blocks" : helio_strerror(rc));
    return EXIT_FAILED;
}

int secure_write(const struct secure_options *o, const struct security_bundle *b)
{
    struct buf *wire = security_bundle_write(b);
    if (wire == NULL) {
        fprintf(stderr, "%s: out of memory\n", o->command);
        return EXIT_FAILED;
    }
    const int code = bundle_file_write(o->command, o->output, wire);
    buf_drop(wire);
    return code;
}

const char *secure_target_text(uint64_t number, char out[32])
{
    if (number == 0)
        return "primary block";
    if (number == 1)
        return "payload";
    snprintf(out, 32, "block %llu", (unsigned long long)number);
    return out;
}

void secure_take_file(struct argp_state *state, char *arg, void *base)
{
    struct secure_options *o = base;
    if (o->input != NULL)
        argp_error(state, "\"%s\" is one word too many; write one FILE", arg);
    o->input = arg;
}

static void add_target(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct secure_options *o = argument_field(row, base);
    const uint64_t number = strcmp(arg, "primary") == 0   ? 0
                            : strcmp(arg, "payload") == 0 ? 1
                                                          : argument_number(state, row, arg);
    if (o->targets_len == SECURITY_TARGETS_MAX)
        argp_error(state, "--target: at most %d targets", SECURITY_TARGETS_MAX);
    else
        o->targets[o->targets_len++] = number;
}

static void set_scope(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    static const struct flag_name names[] = {{SECURITY_SCOPE_PRIMARY, "primary"},
                                             {SECURITY_SCOPE_TARGET, "target"},
                                             {SECURITY_SCOPE_SECURITY, "security"},
                                             {SECURITY_SCOPE_ALL, "all"},
                                             {0, NULL}};
    uint64_t scope = 0;
    const char *p = strcmp(arg, "none") == 0 ? "" : arg;
    while (*p != '\0') {
        const size_t n = strcspn(p, ",");
        const struct flag_name *f = names;
        while (f->name != NULL && (strlen(f->name) != n || strncmp(f->name, p, n) != 0))
            f++;
        if (f->name == NULL)
            argument_want(state, arg, "all, none, or a list such as primary,target,security");
        scope |= f->bit;
        p += n + (p[n] == ',');
    }
    *(uint64_t *)argument_field(o, base) = scope;
}

/* The lengths that fit: an HMAC key may have any (RFC 2104). */
static void check_key(struct argp_state *state, const struct secure_options *o)
{
    const size_t len = o->keys[0].len;
    const size_t want = o->variant == SECURITY_AES_128   ? 16
                        : o->variant == SECURITY_AES_256 ? 32
                                                         : len;
    if (o->wrap && len != 16 && len != 24 && len != 32)
        argp_failure(state, EXIT_USAGE, 0,
                     "--key: %zu bytes; a key that encrypts keys (--wrap) has 16, 24 or 32", len);
    else if (!o->wrap && len != want)
        argp_failure(state, EXIT_USAGE, 0, "--key: %zu bytes; AES-%zu needs %zu (--bits)", len,
                     8 * want, want);
}

static void set_cipher(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    *(enum security_variant *)argument_field(o, base) =
        argument_choice(state, o, arg) == 0 ? SECURITY_AES_128 : SECURITY_AES_256;
}

static void set_source(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct secure_options *o = argument_field(row, base);
    if (eid_parse(arg, &o->source) != 0)
        argument_want(state, arg, "an endpoint, such as ipn:1.0 or dtn://node/");
    o->has_source = true;
}

static void check_options(struct argp_state *state, void *base)
{
    struct secure_options *o = base;
    if (o->input == NULL)
        argp_error(state, "FILE is missing; \"-\" is standard input");
    else if (o->keys_len + o->cose_len != 1)
        argp_error(state, "write --key FILE or --cose-key FILE once");
    else if (o->cose_len > 0)
        secure_check_cose(state, o, o->type);
    else
        check_key(state, o);
    if (o->targets_len == 0)
        o->targets[o->targets_len++] = 1;
}

#define COMMON_OPTIONS                                                                             \
    {"key", 'k', "FILE",                                                                           \
     .help = "File with the key: one line of hexadecimal digits, for its owner and group only",    \
     SECURE_OWN(secure_add_key)},                                                                  \
        {"cose-key", 0, "FILE",                                                                    \
         .help =                                                                                   \
             "The context COSE, with the key of this file: a key file of a node, or a COSE_Key",   \
         SECURE_OWN(secure_add_cose)},                                                             \
        {"target",                                                                                 \
         't',                                                                                      \
         "BLOCK",                                                                                  \
         .help = "payload (default), primary, or a block number; may be repeated",                 \
         .type = OPTION_COUNT,                                                                     \
         .choices = "payload|primary",                                                             \
         SECURE_OWN(add_target)},                                                                  \
        {"source", 's', "EID", .help = "Security source; the bundle's source",                     \
         SECURE_OWN(set_source)},                                                                  \
        {"output", 'o', "FILE", .help = "Where the bundle goes; standard output",                  \
         SECURE_FIELD(output)},                                                                    \
        {"scope",                                                                                  \
         0,                                                                                        \
         "LIST",                                                                                   \
         .help = "What is authenticated beside the target: all (default), none, or a list of "     \
                 "primary,target,security",                                                        \
         .own = set_scope,                                                                         \
         SECURE_FIELD(scope)},                                                                     \
        {"wrap", 0,                                                                                \
         .help = "Make a new key for this bundle, and send it encrypted by --key (16, 24 or 32 "   \
                 "bytes)",                                                                         \
         .type = OPTION_BOOL, SECURE_FIELD(wrap)},                                                 \
    {                                                                                              \
        "hex", 0, .help = "FILE is hexadecimal text", .type = OPTION_BOOL, SECURE_FIELD(hex)       \
    }

static const struct argument sign_options[] = {
    {"bits", 0, "N", .help = "HMAC-SHA2 of 256, 384 (default) or 512 bits", .type = OPTION_CHOICE,
     .choices = "256|384|512", .min = SECURITY_HMAC_256, SECURE_FIELD(variant)},
    COMMON_OPTIONS,
    {0}};
static const struct argument encrypt_options[] = {
    {"bits", 0, "N", .help = "AES-GCM with a key of 128 or 256 (default) bits",
     .type = OPTION_CHOICE, .choices = "128|256", .own = set_cipher, SECURE_FIELD(variant)},
    COMMON_OPTIONS,
    {0}};

static struct security_request request_of(const struct secure_options *o,
                                          const struct security_bundle *b,
                                          struct security_cose_key *cose)
{
    const bool by_cose = o->cose_len > 0 && security_key_cose(&o->cose[0], cose);
    return (struct security_request){.cose = by_cose ? cose : NULL,
                                     .variant = o->variant,
                                     .scope = o->scope,
                                     .source = o->has_source ? o->source : b->primary.id.source,
                                     .key = slice_of(o->keys[0].bytes, o->keys[0].len),
                                     .wrap = o->wrap};
}

static int refuse_target(const struct secure_options *o, uint64_t target, enum security_verdict v)
{
    char text[32];
    fprintf(stderr, "%s: %s: %s: %s\n", o->command, o->input, secure_target_text(target, text),
            security_verdict_text(v));
    return EXIT_FAILED;
}

static int sign_target(const struct secure_options *o, struct security_bundle *b, uint64_t target,
                       const struct crypto *crypto)
{
    struct security_cose_key cose;
    struct security_request r = request_of(o, b, &cose);
    r.targets[0] = target;
    r.targets_len = 1;
    const enum security_verdict v = security_sign(b, &r, crypto);
    return v == SECURITY_OK ? EXIT_DONE : refuse_target(o, target, v);
}

/* A block for each target, so that one can be encrypted without the others (RFC 9172 §3.9). The
 * primary block is the first: it loses its CRC, which the others may authenticate. */
static int sign_bundle(const struct secure_options *o, struct security_bundle *b,
                       const struct crypto *crypto)
{
    int code = EXIT_DONE;
    for (int rest = 0; rest < 2; rest++) {
        for (size_t i = 0; i < o->targets_len && code == EXIT_DONE; i++) {
            if ((o->targets[i] != 0) == (rest != 0))
                code = sign_target(o, b, o->targets[i], crypto);
        }
    }
    return code;
}

/* A block for each target, since one IV must not serve two. */
static int encrypt_bundle(const struct secure_options *o, struct security_bundle *b,
                          const struct crypto *crypto)
{
    struct security_cose_key cose;
    struct security_request r = request_of(o, b, &cose);
    uint64_t failed;
    memcpy(r.targets, o->targets, o->targets_len * sizeof *r.targets);
    r.targets_len = o->targets_len;
    const enum security_verdict v = security_encrypt_each(b, &r, crypto, &failed);
    return v == SECURITY_OK ? EXIT_DONE : refuse_target(o, failed, v);
}

/* A security source is a node's own endpoint: null, local and group ids name no node. */
static int check_source(const struct secure_options *o, const struct security_bundle *b)
{
    const struct eid *source = o->has_source ? &o->source : &b->primary.id.source;
    if (!eid_is_none(source) && !eid_is_local(source) && !eid_is_group(source))
        return EXIT_DONE;
    fprintf(stderr, "%s: %s: the security source names no node; give one with --source\n",
            o->command, o->input);
    return EXIT_USAGE;
}

static int write_secured(const struct secure_options *o, struct security_bundle *b,
                         const struct crypto *crypto, secure_action *secure)
{
    int code = check_source(o, b);
    if (code == EXIT_DONE)
        code = secure(o, b, crypto);
    return code == EXIT_DONE ? secure_write(o, b) : code;
}

static int write_signed(const struct secure_options *o, struct security_bundle *b,
                        const struct crypto *crypto)
{
    return write_secured(o, b, crypto, sign_bundle);
}

static int write_encrypted(const struct secure_options *o, struct security_bundle *b,
                           const struct crypto *crypto)
{
    return write_secured(o, b, crypto, encrypt_bundle);
}

int secure_run(struct secure_options *o, const struct argument_table *table, int argc, char **argv,
               secure_action *act)
{
    struct security_bundle b;
    struct crypto crypto;
    argument_table_parse(table, argc, argv, o);
    if (!crypto_open(&crypto)) {
        fprintf(stderr, "%s: OpenSSL lacks HMAC, AES-GCM or AES key wrap\n", o->command);
        return EXIT_FAILED;
    }
    int code = read_bundle(o, &b);
    if (code == EXIT_DONE) {
        code = act(o, &b, &crypto);
        security_bundle_fini(&b);
    }
    crypto_close(&crypto);
    secret_wipe(o->keys, sizeof o->keys);
    secure_forget_cose(o);
    return code;
}

int command_sign(int argc, char **argv)
{
    struct secure_options o = {.command = "helio-bundle sign",
                               .type = SECURITY_BIB,
                               .variant = SECURITY_HMAC_384,
                               .scope = SECURITY_SCOPE_ALL};
    const struct argument_table table = {
        .options = sign_options,
        .word = secure_take_file,
        .end = check_options,
        .args_doc = "FILE",
        .doc = "Adds a block integrity block (RFC 9172): BIB-HMAC-SHA2 of RFC 9173, or COSE.\v"
               "A key: `umask 077; openssl rand -hex 48 >mac.key`\n\nexamples:\n"
               "  helio-bundle sign -k mac.key b.cbor -o signed.cbor\n"
               "  helio-bundle sign -k mac.key -t primary -t payload b.cbor -o signed.cbor\n"
               "  helio-bundle sign --cose-key keys/a-sign b.cbor -o signed.cbor\n"
               "\nexit codes: 0 done, 1 the bundle does not allow it, 2 usage or a key file"};
    return secure_run(&o, &table, argc, argv, write_signed);
}

int command_encrypt(int argc, char **argv)
{
    struct secure_options o = {.command = "helio-bundle encrypt",
                               .type = SECURITY_BCB,
                               .variant = SECURITY_AES_256,
                               .scope = SECURITY_SCOPE_ALL};
    const struct argument_table table = {
        .options = encrypt_options,
        .word = secure_take_file,
        .end = check_options,
        .args_doc = "FILE",
        .doc = "Encrypts blocks and adds a block confidentiality block for each (RFC 9172, "
               "BCB-AES-GCM of RFC 9173). The integrity block of an encrypted block is encrypted, "
               "too.\vA key: `umask 077; openssl rand -hex 32 >aes.key`\n\nexamples:\n"
               "  helio-bundle encrypt -k aes.key b.cbor -o secret.cbor\n"
               "\nexit codes: 0 done, 1 the bundle does not allow it, 2 usage or a key file"};
    return secure_run(&o, &table, argc, argv, write_encrypted);
}
