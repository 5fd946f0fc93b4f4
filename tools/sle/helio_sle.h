/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of helio-sle. Each returns the exit code. */
#ifndef TOOLS_HELIO_SLE_H
#define TOOLS_HELIO_SLE_H

#include "tools/sle/sle_numbered.h"
#include "tools/sle/sle_settings.h"
#include "tools/sle/sle_user_run.h"

struct provider_options {
    const char *config;
    bool check, keys;
    enum config_level log;
};

struct bench_options {
    uint64_t buffer, frame, instances, frames;
    uint64_t rate; /* bit/s of each instance; 0: as fast as can be */
    tick time, latency;
    struct sle_terms terms;
    uint16_t port; /* 0: one that is free */
    const char *mode, *record;
    uint64_t tcp_buffer;
};

struct bridge_options {
    struct address listen, input, uplink;
    const char *id, *password, *user, *user_password, *instance, *cltu_instance;
    uint64_t frame, buffer;
    struct sle_terms terms;
    enum config_level log;
};

int command_provider(const struct provider_options *o);
int command_bench(const struct bench_options *o);
int command_bridge(const struct bridge_options *o);

/* Runs a provider until SIGINT or SIGTERM. 0 or 1. */
int provider_run(const struct settings *s, enum config_level log);

#endif
