/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of a TCPCL link: keys, and relations between them. */
#ifndef CLA_TCPCL_CONFIG_H
#define CLA_TCPCL_CONFIG_H

#include "cla/cla.h"
#include "cla/remote_name.h"
#include "cla/udp_keys.h"
#include "os/stream.h"

enum tcpcl_wanted { TCPCL_WANTED_UP, TCPCL_WANTED_DOWN };

/* Explained by the table's help texts. */
struct tcpcl_config {
    struct address local;           /* TCP; not given: none */
    struct host_address remote;     /* likewise; an address or a name */
    char *local_path, *remote_path; /* UNIX sockets; "": none */
    tick keepalive, idle, timeout, ending, transfer_idle, reconnect, reconnect_max;
    uint64_t segment, segment_mru, window, window_bytes, held_bytes, sessions;
    uint64_t unidentified, unidentified_address;
    uint64_t socket_buffer;
    struct pace_keys pace; /* overhead: 0 */
    char *congestion;      /* "": the system's */
    bool check_peer;
    int state;
    int tls;                   /* enum tcpcl_tls, or TCPCL_TLS_UNSET: tcpcl_tls_mode */
    int tls_peer, tls_purpose; /* enum tcpcl_tls_peer, 1: any */
    int tls_ca_nodes;          /* 1: issue */
    char *tls_certificate, *tls_key, *tls_ca, *tls_host; /* "": none */
};

extern const struct conf_option tcpcl_options[];
extern const struct cla_renamed tcpcl_renamed[];

/* As cla_ops.check. */
int tcpcl_config_check(const void *config, const char **key, char *why, size_t why_cap);
/* cla_ops.read: certificate, key and CAs, as a struct tls. */
int tcpcl_config_read(const void *config, void **out, const char **key, char *why, size_t cap);
/* cla_ops.warn */
bool tcpcl_config_warn(const void *config, const struct eid *node, int64_t now, const char **key,
                       char *why, size_t cap);

/* As cla_ops.proves. */
bool tcpcl_config_proves(const void *config);

/* Where it listens; false: nowhere. */
bool tcpcl_local(const struct tcpcl_config *k, struct stream_place *out);
/* Does it connect to its remote, or to remote_path? */
bool tcpcl_connects(const struct tcpcl_config *k);
/* As cla_ops.addresses. */
void tcpcl_addresses(const void *config, struct cla_addresses *out);

#define TCPCL_TLS_UNSET 3

/* enum tcpcl_tls: what the key means. */
static inline int tcpcl_tls_mode(const struct tcpcl_config *k)
{
    return k->tls == TCPCL_TLS_UNSET ? 0 : k->tls;
}

/* Does it listen where other machines can connect? */
bool tcpcl_exposed(const struct tcpcl_config *k);
/* The same, and tls: off: then what that means is in `why`. */
bool tcpcl_plain(const struct tcpcl_config *k, char *why, size_t cap);

/* For messages and status: "127.0.0.1:4556", "/run/x.sock". */
#define TCPCL_PLACE_MAX REMOTE_NAME_TEXT_MAX
const char *tcpcl_place_text(const struct stream_place *p, char out[TCPCL_PLACE_MAX]);

#endif
