/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of helio-sle: what its commands' options share. */
#ifndef TOOLS_SLE_OPTIONS_H
#define TOOLS_SLE_OPTIONS_H

#include "conf/conf_arguments.h"
#include "os/arguments.h"
#include "tools/sle/helio_sle.h"

#define SLE_PASSWORD_TEXT (2 * SLE_PASSWORD_MAX + 2) /* bytes of one as text */

struct options {
    struct provider_options provider;
    struct import_options import;
    struct user_options user;
    struct bench_options bench;
    struct bridge_options bridge;
    struct wan_options wan;
    struct modem_options modem;
    struct control_options control;
    char own_password[SLE_PASSWORD_TEXT], peer_password[SLE_PASSWORD_TEXT];
};

/* Rows of options. */
#define SLE_FIELD(member) ARGUMENT_FIELD(struct options, member)
#define SLE_FLAG(member) .type = OPTION_BOOL, SLE_FIELD(member)
#define SLE_COUNT(member, low, high)                                                               \
    .type = OPTION_COUNT, .min = (low), .max = (high), SLE_FIELD(member)
#define SLE_TIME(member, low) .type = OPTION_DURATION, .min = (low), SLE_FIELD(member)
#define SLE_RATE(member) .type = OPTION_RATE, .min = 1, .choices = "unlimited", SLE_FIELD(member)
#define SLE_WORD(member, words) .type = OPTION_CHOICE, .choices = (words), SLE_FIELD(member)
#define SLE_LOSS(member) .type = OPTION_SHARE, .max = SHARE_BELOW_1, SLE_FIELD(member)
#define SLE_ADDRESS(member) .type = OPTION_ADDRESS, SLE_FIELD(member)
#define SLE_LOG(member) SLE_WORD(member, "error|warning|info")
#define SLE_BUFFER(member) .type = OPTION_SIZE, .max = 1u << 30, SLE_FIELD(member)

/* Setters; what is wrong ends the program. An authority; the identifier of a service instance. */
argument_setter sle_set_name, sle_set_instance;
/* Our password, and the peer's, into struct options. Passwords, as hexadecimal digits, are never on
 * a command line, which all users see: they are read from a file (os/secret.h; "-": standard
 * input). The field points to it. */
argument_setter sle_set_own_password, sle_set_peer_password;
/* From an environment variable, if *password is empty. */
void sle_password_variable(struct argp_state *state, const char *name, const char **password,
                           char room[SLE_PASSWORD_TEXT]);

/* Parts of tables: --authentication, --hash and --version-number, for a struct sle_terms with its
 * defaults. */
extern const struct argument sle_terms_options[];

/* helio-sle user */
void sle_take_place(struct argp_state *state, char *arg, void *base);
void sle_check_user(struct argp_state *state, void *base);
int sle_run_user(const struct options *o);
/* Its options in sle_user_more.c. */
void sle_check_more(struct argp_state *state, const struct user_options *o,
                    enum sle_service service);
extern const struct argument sle_user_options[], sle_more_options[];

/* helio-sle modem, helio-sle control */
void sle_check_modem(struct argp_state *state, void *base);
int sle_run_modem(const struct options *o);
extern const struct argument sle_modem_options[];
void sle_take_control(struct argp_state *state, char *arg, void *base);
void sle_check_control(struct argp_state *state, void *base);
int sle_run_control(const struct options *o);
extern const struct argument sle_control_options[];

#endif
