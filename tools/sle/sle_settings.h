/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of a provider: who it is, whom it knows, where frames come from, which service
 * instances there are. Keys and their meaning: sle_settings_tables.c, docs/helio-sle.md. */
#ifndef TOOLS_SLE_SETTINGS_H
#define TOOLS_SLE_SETTINGS_H

#include "conf/conf_section.h"
#include "os/net/address.h"
#include "sle/provider.h"

#define SETTINGS_INSTANCES_MAX 4096
#define SETTINGS_USERS_MAX 1024
#define SETTINGS_SOURCES_MAX 1024

struct settings_user {
    char *id, *password, *hash_name;
    int level, hash; /* enum sle_auth_level, enum sle_hash */
};

enum source_kind { SOURCE_GENERATOR, SOURCE_UDP, SOURCE_TCP, SOURCE_FILE };
enum source_format { SOURCE_AOS, SOURCE_TM };
enum source_full { SOURCE_WAIT, SOURCE_DROP, SOURCE_ABORT, SOURCE_BY_KIND };

struct settings_source {
    char *name;
    int kind, format, when_full, head; /* head: 0 none, 1 a modem's (sle_modem.h) */
    uint64_t rate;                     /* bit/s; 0: as fast as can be */
    uint64_t frame, scid, vcids, count;
    char *address_text, *file;
    struct address address;
    bool control_words, vc_counts, modem;
    uint64_t fecf; /* octets of the frame error control field behind the control word */
    char *record;
    uint64_t record_file, record_total, record_memory;
};

#define SETTINGS_EVENTS_MAX 256
#define SETTINGS_ACTIONS_MAX 8

enum event_condition { EVENT_ALWAYS, EVENT_OPERATIONAL, EVENT_NOT_OPERATIONAL, EVENT_IDLE };
enum event_action { EVENT_INTERRUPT, EVENT_HALT, EVENT_RESUME, EVENT_RADIATE, EVENT_FAIL };

/* An event that users of a forward service may throw. */
struct settings_event {
    uint64_t id;
    char *qualifiers, *actions_text, *order_text;
    int condition; /* enum event_condition */
    tick time;
    /* what they mean */
    enum event_action actions[SETTINGS_ACTIONS_MAX];
    size_t actions_len;
    struct buf *order; /* to radiate; NULL: none */
};

struct settings_instance {
    char *id, *users, *source, *versions_text, *begin_text, *end_text, *gvcids_text, *antenna;
    uint64_t buffer, store, return_timeout, min_reporting;
    tick latency, reconnect;
    char *connect_text; /* where we bind; empty: users do */
    struct address connect;
    bool pipelining;
    /* FCLTU */
    uint64_t cltu_buffer, cltu_max, uplink_rate;
    char *uplink;
    struct settings_event *events;
    size_t events_len;
    /* what they mean */
    enum sle_service service;
    enum sle_mode mode;
    uint32_t versions;
    struct sle_when begin, end;
    struct sle_gvcid gvcids[SLE_GVCIDS_MAX];
    size_t gvcid_count;
    const char **initiators; /* in users, cut up */
    size_t initiator_count;
    struct settings_source *from; /* NULL: FCLTU */
    struct address uplink_address;
};

struct settings {
    char *id, *password, *port_name, *listen_text, *status, *control, *congestion;
    struct address listen;
    uint64_t tcp_buffer, threads;
    tick auth_delay;
    struct {
        int mode, peer; /* 0: off; enum sle_tls_peer */
        char *certificate, *key, *ca, *host;
    } tls;
    struct {
        uint64_t heartbeat_min, heartbeat_max, dead_min, dead_max, message_max;
        bool heartbeat_required;
        tick establish, close_wait;
    } tml;
    struct {
        char *listen, *hosts, *token;
    } http;
    struct settings_user *users;
    size_t users_len;
    struct settings_source *sources;
    size_t sources_len;
    struct settings_instance *instances;
    size_t instances_len;
};

/* Reads a file; 0, or HELIO_E* with at least one error. */
int settings_load(struct settings *s, const char *path, struct conf_errors *errors);
/* The same from a text in memory. */
int settings_parse(struct settings *s, const char *text, size_t len, struct conf_errors *errors);
void settings_free(struct settings *s);

/* What an instance is for the engine. Texts and sets stay those of the settings. */
struct sle_provider_config settings_provider(const struct settings *s,
                                             const struct settings_instance *i);

/* The sections, for the reference: its name and its keys; false: no such. */
bool settings_section(size_t i, const char **name, const struct conf_option **options);

/* "VERSION.SCID.VCID", or * as VCID. */
bool settings_gvcid(const char *text, struct sle_gvcid *out);
/* A qualifier as a person writes it: a number (its fewest octets, the greatest first), octets in
 * hexadecimal behind 0x, or a text. 1 to SLE_QUALIFIER_MAX octets, in out[cap]; 0: it is none. */
size_t settings_qualifier(const char *text, uint8_t *out, size_t cap);
/* Whether this event is the one that is thrown with these octets. */
bool settings_event_fits(const struct settings_event *e, uint32_t id, struct slice qualifier);

#endif
