/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files in which stations exchange what a provider needs to know, read into one configuration:
 *
 * - JSON: service instances with their parameters, and peers, as sle-provider has them
 * - the databases of the SLE API: proxy (peers, ports, timers), service element (reporting cycles)
 *
 * Several files are read one after the other: a database has no service instances. The
 * configuration is written as YAML, in the form that `helio-sle provider` reads.
 */
#ifndef TOOLS_SLE_IMPORT_H
#define TOOLS_SLE_IMPORT_H

#include "conf/conf_tree.h"
#include "sle/sle.h"

struct sle_import_user {
    char *id, *password; /* password NULL: none */
    const char *level;   /* "none", "bind", "all" */
};

struct sle_import_instance {
    char *id, *user;
    char *begin, *end; /* NULL: always */
    enum sle_service service;
    enum sle_mode mode;
    uint64_t timeout, buffer, latency, cltu_max; /* 0: not given */
};

/* All 0 at the beginning. Texts are its own; NULL or 0: not given. */
struct sle_import {
    char *id, *password, *listen, *port_name;
    uint64_t auth_delay, establish, heartbeat_min, heartbeat_max, dead_min, dead_max, min_reporting;
    bool heartbeat_said, heartbeat_required;
    uint32_t versions[SLE_FCLTU + 1]; /* by service: bit n is version n; 0: not given */
    struct sle_import_user *users;
    struct sle_import_instance *instances;
    size_t users_len, instances_len;
    char *notes; /* lines of comments: keys that have no counterpart */
    size_t notes_len;
};

/* One more file (errors->file is its name). HELIO_OK; HELIO_EFORMAT with at least one error. */
int sle_import_read(struct sle_import *im, const char *text, size_t len,
                    struct conf_errors *errors);
/* What all of them say; NULL: memory is out, or an error: a user that an instance names is not
 * there. The caller's to free. */
char *sle_import_write(const struct sle_import *im, struct conf_errors *errors);
void sle_import_free(struct sle_import *im);

#endif
