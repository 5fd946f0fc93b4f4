/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of helio-cfdp daemon (docs/helio-cfdp.md). */
#ifndef TOOLS_CFDP_SETTINGS_H
#define TOOLS_CFDP_SETTINGS_H

#include "cfdp/engine.h"
#include "conf/conf_section.h"
#include "os/net/address.h"

#define SETTINGS_REMOTES_MAX 1024

struct settings_remote {
    uint64_t entity;
    char *address_text, *endpoint, *allow, *faults;
    struct address address; /* not given: by the endpoint */
    int class_, checksum;
    bool crc, closure, immediate_nak;
    uint64_t rate, segment, ack_limit, nak_limit, check_limit, keep_alive_limit;
    uint64_t transactions, file_max, space, gaps;
    tick ack_time, nak_time, check_time, inactivity, keep_alive;
    struct cfdp_remote row; /* for the entity */
};

struct settings {
    uint64_t entity, id_octets;
    char *root, *control, *listen_text, *socket, *service;
    struct address listen; /* not given: no UDP */
    tick lifetime;
    bool overwrite, sync;
    struct settings_remote *remotes;
    size_t remotes_len;
};

/* The keys and what they mean: of the file, and of an item of `remotes`. */
extern const struct conf_option cfdp_settings_top[], cfdp_settings_remotes[];

/* 0, HELIO_EFORMAT or HELIO_ENOMEM with what is wrong in `errors`. cfdp_settings_free after
 * success. */
int cfdp_settings_load(struct settings *s, const char *path, struct conf_errors *errors);
int cfdp_settings_parse(struct settings *s, const char *text, size_t len,
                        struct conf_errors *errors);
void cfdp_settings_free(struct settings *s);

#endif
