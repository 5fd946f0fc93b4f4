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
    KEY_DATAGRAM_RATE,
    KEY_CLTUS,
    KEY_CLTU_DATAGRAMS,
    KEY_CLTU_SOURCE,
    KEY_ENCODE,
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
    KEY_THREADS,
    KEY_PIPELINING,
    KEY_RTT,
    KEY_LINE,
    KEY_LOSS,
    KEY_SEED,
    KEY_TLS,
    KEY_TLS_CERTIFICATE,
    KEY_TLS_KEY,
    KEY_TLS_CA,
    KEY_TLS_HOST,
    KEY_TLS_PEER,
    KEY_WORDS,
    KEY_SCRIPT,
    KEY_TC_VCID,
    KEY_UPDATE,
    KEY_CYCLE,
    KEY_BIND_ONLY,
    KEY_UNBIND,
    KEY_RECONNECT,
    KEY_EARLIEST,
    KEY_LATEST,
    KEY_DELAY,
    KEY_QUIET,
    KEY_CONNECT,
    KEY_ERRED,
    KEY_MISSING,
    KEY_UNSAID,
    KEY_ANTENNA,
    KEY_ANNOTATION,
    KEY_ACCOUNT,
    KEY_SERVICE
};

#define SLE_PASSWORD_TEXT (2 * SLE_PASSWORD_MAX + 2) /* bytes of one as text */

struct options {
    struct provider_options provider;
    struct user_options user;
    struct bench_options bench;
    struct bridge_options bridge;
    struct wan_options wan;
    struct modem_options modem;
    struct control_options control;
    char own_password[SLE_PASSWORD_TEXT], peer_password[SLE_PASSWORD_TEXT];
};

/* Values; what is wrong ends the program. */
int sle_word(struct argp_state *state, const char *option, const char *arg,
             const char *const *words, const char *hint);
enum say_level sle_log_level(struct argp_state *state, const char *arg);
const char *sle_name(struct argp_state *state, const char *option, const char *arg);
/* Passwords, as hexadecimal digits, are never on a command line, which all users see. `room` is
 * filled from a file (os/secret_file.h; "-": standard input), or from an environment variable when
 * it is set. Return room, or "" without such a variable. */
const char *sle_password_file(struct argp_state *state, const char *option, const char *path,
                              char room[SLE_PASSWORD_TEXT]);
const char *sle_password_variable(struct argp_state *state, const char *name,
                                  char room[SLE_PASSWORD_TEXT]);
const char *sle_instance_name(struct argp_state *state, const char *arg);

/* --authentication, --hash and --version-number: a child of the commands' own (struct argp_child);
 * its input is a struct sle_terms with its defaults. */
extern const struct argp sle_terms_argp;

/* helio-sle user */
error_t sle_parse_user(int key, char *arg, struct argp_state *state);
int sle_run_user(const struct options *o);
/* Its options in sle_user_more.c. */
void sle_add_place(struct argp_state *state, const char *arg, struct user_options *o);
error_t sle_parse_more(int key, char *arg, struct argp_state *state, struct user_options *o);
void sle_check_more(struct argp_state *state, const struct user_options *o,
                    enum sle_service service);
extern const struct argp_option sle_user_options[];

/* helio-sle modem, helio-sle control */
error_t sle_parse_modem(int key, char *arg, struct argp_state *state);
int sle_run_modem(const struct options *o);
extern const struct argp_option sle_modem_options[];
error_t sle_parse_control(int key, char *arg, struct argp_state *state);
int sle_run_control(const struct options *o);
extern const struct argp_option sle_control_options[];

#endif
