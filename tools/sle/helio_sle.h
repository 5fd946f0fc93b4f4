/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of helio-sle. Each returns the exit code. */
#ifndef TOOLS_HELIO_SLE_H
#define TOOLS_HELIO_SLE_H

#include "tools/sle/sle_numbered.h"
#include "tools/sle/sle_settings.h"
#include "tools/sle/user/sle_user_run.h"

struct provider_options {
    const char *config;
    bool check, keys;
    enum say_level log;
};

enum { IMPORT_FILES_MAX = 16 };
struct import_options {
    const char *files[IMPORT_FILES_MAX];
    size_t len;
    const char *output; /* NULL: standard output */
};

struct bench_options {
    uint64_t buffer, frame, instances, frames;
    uint64_t rate; /* bit/s of each instance; 0: as fast as can be */
    tick time, latency;
    struct sle_terms terms;
    uint16_t port; /* 0: one that is free */
    const char *mode, *record;
    uint64_t tcp_buffer, threads;
    const char *congestion; /* TCP's; NULL: as the system has it */
    tick warmup;            /* not measured */
    bool blocked;           /* no pipelining */
    bool cltus;             /* FCLTU: CLTUs of `frame` octets to the provider, instead of frames */
};

/* A provider and a user in virtual time, with a line between them. */
struct wan_options {
    struct bench_options bench;
    tick rtt;
    uint64_t line; /* bit/s on the air; 0: takes no time */
    double loss;   /* of each frame on the line */
    uint64_t seed;
};

struct bridge_options {
    struct address listen, input, uplink;
    const char *id, *password, *user, *user_password, *instance, *cltu_instance;
    uint64_t frame, buffer;
    struct sle_terms terms;
    enum say_level log;
};

/* What a modem would send. */
struct modem_options {
    struct address to;
    bool datagrams, unsaid, end;
    uint64_t frames, frame, seed;
    uint64_t rate; /* bit/s; 0: as fast as can be */
    double erred, missing;
    const char *antenna, *annotation, *account;
};

#define CONTROL_WORDS_MAX 3
struct control_options {
    const char *socket, *words[CONTROL_WORDS_MAX];
    size_t len;
    tick wait; /* for the answer */
};

int command_modem(const struct modem_options *o);
int command_control(const struct control_options *o);
int command_provider(const struct provider_options *o);
int command_import(const struct import_options *o);
int command_bench(const struct bench_options *o);
int command_bridge(const struct bridge_options *o);
int command_sim(const struct wan_options *o);

/* What bench and sim run: the provider's settings, to be freed; false: what is wrong was reported.
 */
bool bench_settings(const struct bench_options *o, uint16_t port, struct settings *s);
/* Its user; `id` is room for the instance's name and outlives the options. */
struct user_options bench_user(const struct bench_options *o, const struct address *to,
                               char id[SLE_SIID_MAX + 1]);

/* Runs a provider until SIGINT or SIGTERM. 0 or 1. */
int provider_run(const struct settings *s, enum say_level log);

/* The status page of a provider (sle_page.html), as it is sent. */
extern const unsigned char sle_page[];
extern const size_t sle_page_len;

#endif
