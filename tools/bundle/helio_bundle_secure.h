/* SPDX-License-Identifier: Apache-2.0 */
/* What sign, encrypt, verify, decrypt and explain share. */
#ifndef TOOLS_HELIO_BUNDLE_SECURE_H
#define TOOLS_HELIO_BUNDLE_SECURE_H

#include "bp/codec/security/security_key.h"
#include "conf/conf_arguments.h"

enum { SECURE_KEYS_MAX = 8 };

struct secure_key {
    uint8_t bytes[SECURITY_KEY_MAX];
    size_t len;
};

struct secure_options {
    const char *command; /* what messages begin with */
    const char *input, *output;
    bool hex, json, strip, wrap;
    bool keyless;       /* the command takes no keys */
    bool only_stripped; /* it writes a bundle with --strip only */
    struct secure_key keys[SECURE_KEYS_MAX];
    size_t keys_len;
    struct security_key *cose; /* SECURE_KEYS_MAX, of the context COSE; NULL: none */
    size_t cose_len;
    uint64_t type; /* of the block that sign and encrypt add */
    uint64_t targets[SECURITY_TARGETS_MAX];
    size_t targets_len;
    enum security_variant variant;
    uint64_t scope;
    struct eid source;
    bool has_source;
};

/* [struct secure_options] Reads a key file: one line of hexadecimal digits. A wrong one ends the
 * program. */
argument_setter secure_add_key;
/* [struct secure_options] Reads a key file of the context COSE. A wrong one ends the program. */
argument_setter secure_add_cose;
void secure_forget_cose(struct secure_options *o);
/* Can the one key sign or encrypt? If not, the program ends. */
void secure_check_cose(struct argp_state *state, const struct secure_options *o, uint64_t type);
/* The one FILE of a command; for `word` of its table. */
void secure_take_file(struct argp_state *state, char *arg, void *base);
/* What a command does with the bundle; returns the exit code. */
typedef int secure_action(const struct secure_options *o, struct security_bundle *b,
                          const struct crypto *crypto);
/* Parses the command line, reads the bundle of o->input, calls `act`, and wipes the keys. Returns
 * the exit code. */
int secure_run(struct secure_options *o, const struct argument_table *table, int argc, char **argv,
               secure_action *act);
/* Writes it to o->output. Returns the exit code. */
int secure_write(const struct secure_options *o, const struct security_bundle *b);
/* "payload", "primary block", "block 3" */
const char *secure_target_text(uint64_t number, char out[32]);

#define SECURE_FIELD(member) ARGUMENT_FIELD(struct secure_options, member)
#define SECURE_OWN(setter) .own = (setter), .offset = 0, .size = sizeof(struct secure_options)

int command_sign(int argc, char **argv);
int command_encrypt(int argc, char **argv);
int command_verify(int argc, char **argv);
int command_decrypt(int argc, char **argv);
int command_explain(int argc, char **argv);

#endif
