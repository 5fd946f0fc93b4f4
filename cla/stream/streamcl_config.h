/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of a link by STCP or MTCP: keys, relations between them. */
#ifndef CLA_STREAMCL_CONFIG_H
#define CLA_STREAMCL_CONFIG_H

#include "cla/cla.h"
#include "cla/remote_name.h"
#include "cla/udp_keys.h"

#define STREAMCL_STCP_PORT 4556 /* of ION */

enum streamcl_state { STREAMCL_UP, STREAMCL_DOWN };
enum streamcl_source { STREAMCL_FROM_ADDRESS, STREAMCL_FROM_ANY };

/* Explained by the tables' help texts. */
struct streamcl_config {
    struct address local;       /* TCP; not given: none */
    struct host_address remote; /* likewise; an address or a name */
    tick keepalive, idle, transfer_idle, timeout, reconnect, reconnect_max;
    uint64_t window, window_bytes, held_bytes, connections, connections_address, socket_buffer;
    struct pace_keys pace; /* overhead: 0 */
    char *congestion;      /* "": the system's */
    bool connect;
    int source, state;
};

extern const struct conf_option streamcl_stcp_options[], streamcl_mtcp_options[];

/* As cla_ops.check. */
int streamcl_config_check(const void *config, const char **key, char *why, size_t why_cap);
/* As cla_ops.warn: it listens where other machines can connect. */
bool streamcl_config_warn(const void *config, const struct eid *node, int64_t now, const char **key,
                          char *why, size_t why_cap);

/* As cla_ops.addresses. */
void streamcl_addresses(const void *config, struct cla_addresses *out);

/* As cla_ops.conflict: both accept the same host's connections at one local address. */
int streamcl_config_conflict(const struct cla_named *config, const struct cla_named *other,
                             const char **key, char *why, size_t why_cap);

/* Does it open a connection to its remote? */
bool streamcl_connects(const struct streamcl_config *k);
/* By their configurations, do both accept the same connections at one local address? Two names may
 * resolve to one host later. */
bool streamcl_ambiguous(const struct streamcl_config *a, const struct streamcl_config *b);

#endif
