/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's configuration: the YAML file of docs/heliod.md as a struct. Every key is described by a
 * struct conf_option, those of links by their adapter.
 */
#ifndef NODE_CONFIG_H
#define NODE_CONFIG_H

#include "bp/agent/agent.h"
#include "bp/agent/store.h"
#include "cla/cla.h"
#include "conf/conf_tree.h"
#include "os/log/say.h"

#define CONFIG_LINKS_MAX 65536 /* of a file */

enum config_queues { QUEUES_WEIGHTED, QUEUES_STRICT };

/* An item of a link's list `priorities`. */
struct config_queue {
    char *to, *from;
    struct agent_queue_rule rule; /* its patterns are made of these by the check */
    int priority;                 /* enum bundle_priority */
};
#define CONFIG_PRIORITIES_MAX 64

struct config_link {
    char *name, *adapter;
    struct eid peer;
    uint64_t peers; /* unconfigured peers that may connect over it */
    int queues;     /* enum config_queues */
    char *weights;
    uint32_t weight[BUNDLE_PRIORITIES]; /* made of it by the check */
    void *priorities;                   /* struct config_queue */
    size_t priorities_len;
    uint64_t queue_bundles, queue_bytes; /* 0: no limit of its own */
    const struct cla_ops *ops;
    void *settings; /* ops->config_size bytes */
    void *files;    /* of ops->read: of a link that was read, not of its copies; NULL: none */
    uint32_t line;
    uint64_t found; /* the neighbour of discovery that it is for; 0: none */
};

/* Endpoints that several may subscribe to. */
struct config_endpoint {
    char *at;
    struct eid_patterns patterns; /* made of it by the check */
    int registrations;            /* enum agent_sharing */
};
#define CONFIG_ENDPOINTS_MAX 1024

struct config_route {
    char *to, *via;
    struct eid_patterns patterns; /* a route for each of them */
    uint32_t link;                /* index into links */
    uint32_t line;
};

enum config_unreachable { UNREACHABLE_REFUSE, UNREACHABLE_KEEP };
enum config_priority { PRIORITY_NORMAL, PRIORITY_HIGH, PRIORITY_REALTIME };
enum config_sandbox { SANDBOX_AUTO, SANDBOX_OFF, SANDBOX_ON };
enum config_when_full { WHEN_FULL_REFUSE, WHEN_FULL_DROP };
enum config_format { LOG_TEXT, LOG_JSON };

/* Permissions of a socket. */
struct config_access {
    char *mode_text, *group; /* group: a name or number; "": the process's own */
    unsigned mode;           /* made of mode_text by the check */
};

enum config_family { FAMILY_V4, FAMILY_V6, FAMILY_BOTH };
enum config_proof { NAMES_PROVEN, NAMES_CLAIMED };
struct config_found; /* config_discovery.h */

struct config {
    struct eid node;
    char *socket;  /* of applications (AAP2) */
    char *control; /* of helioctl */
    struct config_access socket_access, control_access;
    char *control_admin_group; /* a group; "": all users with access to `control` */
    int priority;              /* enum config_priority */
    int sandbox;               /* enum config_sandbox */
    char *plan;                /* file of the contact plan; "": none */
    struct {
        int unreachable; /* enum config_unreachable */
        char *exclude;   /* numbers of neighbours, with blanks or commas between */
        bool margin;
        double overhead, confidence_min;
    } routing;      /* by the contact plan */
    bool echo_mark; /* its answers carry ECHO_BLOCK */
    char *echo;     /* "on", "off", or the service of the echo endpoint */
    struct {
        char *path;     /* "" with STORE_NONE */
        int durability; /* enum store_durability */
        uint64_t limit; /* bytes */
    } store;
    struct {
        tick lifetime;
        uint64_t max;                     /* longest bundle, bytes */
        uint64_t extensions;              /* bytes of one bundle's extension blocks */
        uint64_t count;                   /* bundles at the node */
        uint64_t memory, total;           /* bytes */
        uint64_t reassemblies, fragments; /* bundles in fragments here; fragments of one */
        uint64_t fragments_all;           /* of all */
        tick reassembly_idle;             /* then it may be dropped */
        tick lifetime_max;
        uint64_t reserve, source;          /* percent */
        uint64_t endpoint, reserve_queues; /* likewise */
        int when_full;                     /* enum config_when_full */
        int crc;                           /* enum crc_type */
        int mode;                          /* enum bundle_mode */
        bool refuse; /* to peers: refuse any bundle that cannot be kept here */
        bool status_reports;
        uint64_t report_rate; /* a second */
        uint64_t hop_limit;   /* of bundles that start here; 0: none */
        tick retry_min, retry_max;
    } bundles;
    struct {
        char *segments, *bundles; /* "" = none */
        int level;                /* enum say_level */
        int format;               /* enum config_format */
    } log;
    struct {
        char *listen;            /* "": no server */
        char *hosts;             /* names of Host headers beside its own */
        char *token;             /* "": none is wanted */
        char *network, *origins; /* words: other nodes' pages; pages that may show this node */
        char *change_token;      /* "": nothing can be changed */
    } http;
    struct {
        char *interface, *listen, *addresses, *formats;
        int family, names; /* enum config_family, enum config_proof */
        tick interval, silence, patience;
        double confidence;
        uint64_t rate, neighbours, address, links_max;
        struct config_found *found; /* the list discovery.links */
        size_t found_len;
    } discovery;
    struct config_link *links;
    size_t links_len;
    struct config_route *routes;
    size_t routes_len;
    void *endpoints; /* struct config_endpoint */
    size_t endpoints_len;
    void *names; /* struct config_name (config_names.h) */
    size_t names_len;
    char *token_files;   /* of the modules of keys in tokens, for the sandbox; "": none */
    char *security_keys; /* folder of keys of bundle security; "": none */
    void *security;      /* struct config_security (config_tables.h) */
    size_t security_len;
    void *rules; /* struct config_rule (config_permit.h) */
    size_t rules_len;
    void *applications; /* struct config_user (likewise) */
    size_t applications_len;
    struct {
        uint32_t socket, control, store, segments, bundles;
        uint32_t socket_group, control_group, admin_group, plan, security, security_keys, total;
        uint32_t http; /* http.listen */
    } lines;           /* of these keys; 0: not given */
};

/* The i-th adapter, or NULL beyond the last (cla_at). */
typedef const struct cla_ops *config_adapters(size_t i);

/*
 * Reads a configuration from memory. Returns 0; or HELIO_EFORMAT with all that is wrong in *errors
 * (and *out empty). On success *out is the caller's to config_fini, wherever it lies: adapters
 * borrow link->settings until then.
 */
int config_parse(struct config *out, const char *data, size_t len, config_adapters *adapters,
                 struct conf_errors *errors);

/* The same from a file; errors name `path`. */
int config_load(struct config *out, const char *path, config_adapters *adapters,
                struct conf_errors *errors);
void config_fini(struct config *c);

/* Reads only the control socket's path (control, or socket followed by .ctl), which the caller
 * frees; NULL with an error. Reads no other file, so users without access to the node's keys can
 * call it. */
char *config_control(const char *path, struct conf_errors *errors);

/* Looks whether the directories exist in which the node will make its sockets, log and store. 0, or
 * HELIO_ENOENT with what is wrong in *errors. */
int config_places(const struct config *c, struct conf_errors *errors);

/* The sections and their keys, for the reference's test and --help: section "" is the top level.
 * NULL beyond the last. */
struct config_section {
    const char *name;
    const struct conf_option *options;
};
const struct config_section *config_section_at(size_t i);
#define CONFIG_MAPS 7 /* the first of them are maps of struct config's own keys */

/* routing.exclude as numbers; SIZE_MAX: it is not understood, or has more. */
#define CONFIG_EXCLUDE_MAX 16
#define CONFIG_ORIGINS_MAX 64 /* of http.network, and of http.origins */
#define CONFIG_ORIGIN_MAX 256 /* octets of one */
size_t config_numbers(const char *text, uint64_t *out, size_t max);

/* The echo endpoint of the node; false when it is off. */
bool config_echo(const struct config *c, struct eid *out);

/* What a configuration says that does nothing, or not what it seems to: the node starts all the
 * same. */

/* A line of the file, 0: not known, and a text that begins with the key. */
typedef void config_note(void *context, uint32_t line, const char *text);

/* Of a configuration that config_parse accepted. */
void config_notes(const struct config *c, config_note *note, void *context);

/* ---- What differs between two configurations, key by key ---- */

/* Have both structs of the table the same value for this key? */
bool config_value_equal(const struct conf_option *o, const void *a, const void *b);
/* The first list whose items differ; NULL: all are equal. */
const struct cla_list *config_lists_differ(const struct cla_list *lists, const void *a,
                                           const void *b);
/* The field of `to` gets the value of `from`. False: no memory, and nothing changed. */
bool config_value_copy(const struct conf_option *o, const void *from, void *to);

#endif
