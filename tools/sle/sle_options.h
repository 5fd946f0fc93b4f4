/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of helio-sle: what its commands' options share. */
#ifndef TOOLS_SLE_OPTIONS_H
#define TOOLS_SLE_OPTIONS_H

#include "os/arguments.h"
#include "tools/sle/helio_sle.h"

enum {
    KEY_INSTANCE = 256,
    KEY_ID,
    KEY_PASSWORD,
    KEY_RESPONDER,
    KEY_RESPONDER_PASSWORD,
    KEY_PORT_NAME,
    KEY_AUTH,
    KEY_HASH,
    KEY_HEARTBEAT,
    KEY_DEAD,
    KEY_FROM,
    KEY_TO,
    KEY_QUALITY,
    KEY_GVCID,
    KEY_END,
    KEY_WAIT,
    KEY_TCP,
    KEY_NUMBERED,
    KEY_LENGTHS,
    KEY_CSV,
    KEY_FRAMES_CSV,
    KEY_DATAGRAMS,
    KEY_CLTUS,
    KEY_EVENT,
    KEY_WINDOW,
    KEY_PARAMETERS,
    KEY_REPEAT,
    KEY_RATE,
    KEY_LATENCY,
    KEY_MODE,
    KEY_RECORD,
    KEY_PORT,
    KEY_FRAME,
    KEY_CHECK,
    KEY_KEYS,
    KEY_USER,
    KEY_USER_PASSWORD,
    KEY_CLTU_INSTANCE,
    KEY_UPLINK,
    KEY_LISTEN,
    KEY_WARMUP,
    KEY_CONGESTION,
    KEY_PIPELINING,
    KEY_RTT,
    KEY_LINE,
    KEY_LOSS,
    KEY_SEED
};

struct options {
    struct provider_options provider;
    struct user_options user;
    struct bench_options bench;
    struct bridge_options bridge;
    struct wan_options wan;
};

/* Values; what is wrong ends the program. */
int sle_word(struct argp_state *state, const char *option, const char *arg,
             const char *const *words, const char *hint);
enum config_level sle_log_level(struct argp_state *state, const char *arg);
const char *sle_name(struct argp_state *state, const char *option, const char *arg);
const char *sle_password(struct argp_state *state, const char *option, const char *arg);
const char *sle_instance_name(struct argp_state *state, const char *arg);

/* --authentication, --hash and --version-number: a child of the commands' own (struct argp_child);
 * its input is a struct sle_terms with its defaults. */
extern const struct argp sle_terms_argp;

/* helio-sle user */
error_t sle_parse_user(int key, char *arg, struct argp_state *state);
int sle_run_user(const struct options *o);
extern const struct argp_option sle_user_options[];

#endif
