/* SPDX-License-Identifier: Apache-2.0 */
/* The options of helio-csts. */
#ifndef TOOLS_CSTS_HELIO_CSTS_H
#define TOOLS_CSTS_HELIO_CSTS_H

#include "cla/framed/isp1_conn.h"
#include "csts/delivery.h"
#include "csts/forward.h"
#include "os/log/say.h"
#include "os/net/address.h"
#include "tools/csts/csts_downlink.h"
#include "tools/sle/sle_when.h"

enum { CSTS_NAMES_MAX = 256, CSTS_BUFFER_MAX = 256 /* frames of a forward buffer */ };

/* What both ends must agree on. */
struct csts_terms {
    const char *id, *peer, *port;
    struct csts_instance_id instance;
    uint32_t version;
    enum sle_auth_level level;
    enum sle_hash hash;
    char password[2 * SLE_PASSWORD_MAX + 2], peer_password[2 * SLE_PASSWORD_MAX + 2]; /* hex */
    enum say_level log;
    /* TLS */
    bool tls;
    enum sle_tls_peer tls_peer;
    struct tls_files tls_files;
    const char *tls_host;
};

struct provider_options {
    struct csts_terms terms;
    struct address listen, metrics;
    bool has_metrics;
    const char *token; /* NULL: none */
    char token_text[260];
    const char *figures;
    tick every; /* how often values are looked at */
    tick cycle_min;
    /* Forward Frame */
    const char *uplink; /* a file, or an address; NULL: there is no such service */
    struct address uplink_to;
    uint64_t uplink_rate; /* bit/s; 0: no limit */
    struct csts_forward_config forward;
    struct csts_oid forward_type; /* of its service */
    /* buffered data delivery */
    struct csts_downlink_config downlink; /* path NULL: there is no such service */
    struct csts_delivery_config delivery;
    struct csts_oid data_type; /* of its service */
};

struct forward_options {
    struct csts_terms terms;
    struct address to;
    const char *frames; /* file */
    size_t frame;       /* octets of each; 0: lengths are in the file */
    size_t buffer;      /* frames of a forward buffer */
    bool last_only, json;
    /* sequenced */
    bool sequenced; /* each frame with a return */
    bool reset;     /* go on after an expired or interrupted frame */
    struct user_when earliest, latest;
    tick wait;
};

struct data_options {
    struct csts_terms terms;
    struct address to_address;
    const char *out; /* a file, or an address: */
    struct address out_to;
    struct user_when from, to;
    uint64_t frames;
    struct csts_oid delivery_events; /* as of csts_delivery_config */
    bool json;
    tick time, wait;
};

struct monitor_options {
    struct csts_terms terms;
    struct address to;
    bool get, on_change, events, json;
    tick cycle; /* 0: no reports */
    uint64_t reports;
    tick time, wait;
    const char *plot;      /* file of the image; NULL: none */
    struct csts_list list; /* its items lie in `items` */
    const char *named;
    struct csts_oid labels[CSTS_NAMES_MAX];
    size_t label_count;
    uint8_t *items;
};

struct options {
    struct provider_options provider;
    struct monitor_options monitor;
    struct forward_options forward;
    struct data_options data;
};

/* The engine of one side, with its peer; digests is the hash's context. NULL: memory is out. */
struct sle_digests;
struct csts *csts_engine_of(const struct csts_terms *t, struct sle_digests *digests, uint64_t seed,
                            uint64_t unix_ns);
/* TLS of these terms, if they have it: secure->tls is NULL, else, and the caller frees it. False:
 * said on the standard error. */
bool csts_secure_of(const struct csts_terms *t, struct sle_secure *secure);
/* The options of the files of struct tls_files. */
extern const char *const csts_tls_options[];
/* What ended an association, in words. */
const char *csts_end_words(const struct csts_notice *over, char *room, size_t cap);

int csts_run_provider(const struct provider_options *o);
int csts_run_monitor(const struct monitor_options *o);
int csts_run_forward(const struct forward_options *o);
int csts_run_data(const struct data_options *o);

#endif
