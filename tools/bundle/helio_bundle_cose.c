/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-bundle … --cose-key: keys of the context COSE, from key files as a node has them
 * (docs/security.md). Their times and peers are for nodes, and are not applied here. What can go
 * wrong: the file (exit 2).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "os/crypto/crypto.h"
#include "os/secret.h"
#include "tools/bundle/helio_bundle.h"
#include "tools/bundle/helio_bundle_secure.h"

/* Key i of a file; *count: how many it has. */
static int parse_key(const char *text, size_t len, size_t i, size_t *count,
                     struct security_key *out, char *why, size_t cap)
{
    struct crypto crypto;
    *count = 1;
    int err = security_key_is_cose(text, len)
                  ? security_key_parse_cose(text, len, i, count, out, why, cap)
                  : security_key_parse(text, len, out, why, cap);
    if (err == 0 && out->uri[0] != '\0') {
        snprintf(why, cap, "keys of tokens are for nodes; write the digits of the key");
        err = HELIO_EFORMAT;
    }
    if (err == 0 && !crypto_open(&crypto)) {
        snprintf(why, cap, "OpenSSL lacks an algorithm");
        err = HELIO_ENOMEM;
    } else if (err == 0) {
        err = security_key_check(out, &crypto, why, cap);
        crypto_close(&crypto);
    }
    return err;
}

static int parse_text(const char *path, const char *text, size_t len, struct secure_options *o,
                      char *why, size_t cap)
{
    char wrong[600] = "it is longer than 16384 bytes, and no key file";
    size_t count = 1;
    int err = len > SECURITY_KEY_FILE ? HELIO_EFORMAT : 0;
    for (size_t i = 0; i < count && err == 0; i++) {
        if (o->cose_len == SECURE_KEYS_MAX) {
            snprintf(wrong, sizeof wrong, "there are more than %d keys", SECURE_KEYS_MAX);
            err = HELIO_ESPACE;
        } else {
            err = parse_key(text, len, i, &count, &o->cose[o->cose_len], wrong, sizeof wrong);
            o->cose_len += err == 0;
        }
    }
    if (err < 0)
        snprintf(why, cap, "%s: %s", path, wrong);
    return err;
}

static int read_file(const char *path, struct secure_options *o, char *why, size_t cap)
{
    char text[SECURITY_KEY_FILE + 1];
    FILE *f = secret_file_open(path, why, cap);
    if (f == NULL)
        return HELIO_EIO;
    setvbuf(f, NULL, _IONBF, 0); /* no copy of the secret stays in the stream's buffer */
    const size_t len = fread(text, 1, sizeof text, f);
    int err = ferror(f) ? HELIO_EIO : 0;
    if (err < 0)
        snprintf(why, cap, "%s: cannot be read", path);
    fclose(f);
    if (err == 0)
        err = parse_text(path, text, len, o, why, cap);
    secret_wipe(text, sizeof text);
    return err;
}

void secure_add_cose(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    char why[700] = "out of memory";
    struct secure_options *o = argument_field(row, base);
    if (o->cose == NULL)
        o->cose = calloc(SECURE_KEYS_MAX, sizeof *o->cose);
    if (o->cose_len == SECURE_KEYS_MAX)
        argp_error(state, "--cose-key: at most %d keys", SECURE_KEYS_MAX);
    else if (o->cose == NULL || read_file(arg, o, why, sizeof why) < 0)
        argp_failure(state, EXIT_USAGE, 0, "--cose-key: %s", why);
}

void secure_forget_cose(struct secure_options *o)
{
    if (o->cose != NULL)
        secret_wipe(o->cose, SECURE_KEYS_MAX * sizeof *o->cose);
    free(o->cose);
    o->cose = NULL;
}

void secure_check_cose(struct argp_state *state, const struct secure_options *o, uint64_t type)
{
    struct security_cose_key key;
    const struct security_want want = {
        .id = o->cose[0].id, .type = type, .cose = true, .source = true};
    if (o->wrap)
        argp_error(state, "--wrap: the key file's algorithm says it, such as aes-256-kw");
    if (!security_key_serves(&o->cose[0], &want))
        argp_failure(state, EXIT_USAGE, 0,
                     "--cose-key: a key of algorithm %s, without a private key or of another kind, "
                     "cannot do this",
                     security_algorithm_text(o->cose[0].algorithm));
    if (!security_key_cose(&o->cose[0], &key))
        argp_failure(state, EXIT_USAGE, 0, "--cose-key: the key of %s has to be as long as the MAC",
                     security_algorithm_text(o->cose[0].algorithm));
}
