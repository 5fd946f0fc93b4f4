/* SPDX-License-Identifier: Apache-2.0 */
/* What each key of the configuration means. The reference (docs/heliod.md) has one line for each of
 * them, and a test compares. */
#include "node/config/config_tables.h"

#include <stdio.h>

#define AT(field) offsetof(struct config, field)
#define END                                                                                        \
    {                                                                                              \
        .key = NULL                                                                                \
    }

const struct conf_option config_top[] = {
    {.key = "node", .type = OPTION_EID, .offset = AT(node), .help = "the node's own endpoint id"},
    {.key = "socket",
     .type = OPTION_SOCKET,
     .offset = AT(socket),
     .help = "UNIX socket for applications (AAP2)"},
    {.key = "control",
     .type = OPTION_SOCKET,
     .offset = AT(control),
     .initial = "",
     .help = "UNIX socket for helioctl; empty: the path of socket with .ctl behind it"},
    {.key = "socket_mode",
     .type = OPTION_TEXT,
     .offset = AT(socket_access.mode_text),
     .initial = "0660",
     .help =
         "permissions of socket, in octal digits, whatever the umask: users who may write to it "
         "may send and receive as any endpoint of the node"},
    {.key = "socket_group",
     .type = OPTION_TEXT,
     .offset = AT(socket_access.group),
     .initial = "",
     .help = "group of socket, by name or number; empty: the group that the node runs as"},
    {.key = "control_mode",
     .type = OPTION_TEXT,
     .offset = AT(control_access.mode_text),
     .initial = "0660",
     .help = "permissions of control, likewise: users who may write to it may ask the node, and "
             "change it unless control_admin_group says otherwise"},
    {.key = "control_group",
     .type = OPTION_TEXT,
     .offset = AT(control_access.group),
     .initial = "",
     .help = "group of control, likewise"},
    {.key = "control_admin_group",
     .type = OPTION_TEXT,
     .offset = AT(control_admin_group),
     .initial = "",
     .help = "only root, the node's own user and members of this group may change the node; others "
             "who may open control only read; empty: all who may open it"},
    {.key = "echo",
     .type = OPTION_TEXT,
     .offset = AT(echo),
     .initial = "on",
     .help = "endpoint that returns what it gets: on (ipn service 128, dtn name echo), off, or a "
             "service number or name"},
    {.key = "echo_mark",
     .type = OPTION_BOOL,
     .offset = AT(echo_mark),
     .initial = "no",
     .help =
         "echo answers carry a block of type 236 (private use), by which other Heliograph nodes "
         "know them; some implementations refuse bundles with blocks that they do not know"},
    {.key = "plan",
     .type = OPTION_FILE,
     .offset = AT(plan),
     .initial = "",
     .help = "file of the contact plan (YAML, ION, HDTN) that bundles and links follow; empty: "
             "static routes"},
    {.key = "security_keys",
     .type = OPTION_FILE,
     .offset = AT(security_keys),
     .initial = "",
     .help = "folder of the key files of bundle security, for the node's user alone; needed with "
             "security rules"},
    {.key = "token_files",
     .type = OPTION_PLACE,
     .offset = AT(token_files),
     .initial = "",
     .help =
         "what the PKCS #11 module of keys in tokens reads and writes, such as SoftHSM's folder "
         "of tokens: the sandbox then permits the folder in which it lies; empty: nothing"},
    {.key = "priority",
     .type = OPTION_CHOICE,
     .offset = AT(priority),
     .choices = "normal|high|realtime",
     .initial = "normal",
     .help = "scheduling priority: high is nice -10, realtime is SCHED_RR while the loop takes no "
             "more than 60 % of a processor; where the system permits it"},
    {.key = "sandbox",
     .type = OPTION_CHOICE,
     .offset = AT(sandbox),
     .choices = "auto|off|on",
     .initial = "auto",
     .help = "on: the node can open only the files of its configuration, and make only "
             "the system calls that it needs (Landlock, seccomp; if the kernel has "
             "them); auto: only with heliod --sandbox"},
    END,
};

const struct conf_option config_store[] = {
    {.key = "path",
     .type = OPTION_TEXT,
     .offset = AT(store.path),
     .initial = "",
     .help = "directory of the bundle store; needed unless durability is none"},
    {.key = "durability",
     .type = OPTION_CHOICE,
     .offset = AT(store.durability),
     .choices = "sync|async|none",
     .initial = "sync",
     .help = "sync: accepted bundles survive a loss of power; async: the end of the process; none: "
             "they live in memory"},
    {.key = "limit",
     .type = OPTION_SIZE,
     .offset = AT(store.limit),
     .initial = "20GiB",
     .min = 1000,
     .help = "bytes of bundles at the node; more are refused (with durability none this is memory, "
             "1GiB unless given)"},
    END,
};

const struct conf_option config_bundles[] = {
    {.key = "lifetime",
     .type = OPTION_DURATION,
     .offset = AT(bundles.lifetime),
     .initial = "1d",
     .min = TICK_MS,
     .help = "of bundles whose application gives none"},
    {.key = "lifetime_max",
     .type = OPTION_DURATION,
     .offset = AT(bundles.lifetime_max),
     .initial = "30d",
     .min = TICK_MS,
     .help = "no bundle stays longer at this node, whatever its own lifetime (RFC 9171 4.3.1)"},
    {.key = "max",
     .type = OPTION_SIZE,
     .offset = AT(bundles.max),
     .initial = "1GiB",
     .min = 1000,
     .max = UINT64_C(4000000000),
     .help = "longest bundle that is accepted"},
    {.key = "extensions",
     .type = OPTION_SIZE,
     .offset = AT(bundles.extensions),
     .initial = "256KiB",
     .min = 1000,
     .max = 1 << 20,
     .help = "bytes of the extension blocks of a neighbour's bundle, however many they are; a "
             "bundle with more is "
             "refused"},
    {.key = "count",
     .type = OPTION_COUNT,
     .offset = AT(bundles.count),
     .initial = "1000000",
     .min = 1,
     .max = 100000000,
     .help = "bundles at the node; more are refused"},
    {.key = "memory",
     .type = OPTION_SIZE,
     .offset = AT(bundles.memory),
     .initial = "256MiB",
     .min = 1000,
     .help = "bytes of bundles kept in memory beside the store, and of applications' bundles that "
             "wait for the store"},
    {.key = "total",
     .type = OPTION_SIZE,
     .offset = AT(bundles.total),
     .initial = "1GiB",
     .min = 100000,
     .help = "memory of all bundles: their bytes there (a quarter at most), some 600 "
             "bytes for each, and the ids of delivered and deleted ones (an eighth at "
             "most); more are refused"},
    {.key = "reassemblies",
     .type = OPTION_COUNT,
     .offset = AT(bundles.reassemblies),
     .initial = "1024",
     .min = 1,
     .max = 1000000,
     .help = "bundles for this node of which only fragments are here; more are refused"},
    {.key = "fragments",
     .type = OPTION_COUNT,
     .offset = AT(bundles.fragments),
     .initial = "4096",
     .min = 1,
     .max = 1000000,
     .help = "fragments of one of them; more are refused"},
    {.key = "fragments_all",
     .type = OPTION_COUNT,
     .offset = AT(bundles.fragments_all),
     .initial = "262144",
     .min = 1,
     .max = 100000000,
     .help = "fragments of all of them; more are refused"},
    {.key = "reassembly_idle",
     .type = OPTION_DURATION,
     .offset = AT(bundles.reassembly_idle),
     .initial = "10s",
     .min = TICK_MS,
     .help =
         "a bundle in fragments that got none for so long gives way when another needs its place"},
    {.key = "reserve",
     .type = OPTION_COUNT,
     .offset = AT(bundles.reserve),
     .initial = "25",
     .min = 0,
     .max = 100,
     .help = "percent of limit, count, reassemblies and fragments_all that are set apart, in equal "
             "shares for each neighbour and for applications"},
    {.key = "source",
     .type = OPTION_COUNT,
     .offset = AT(bundles.source),
     .initial = "95",
     .min = 1,
     .max = 100,
     .help =
         "percent of the room of its neighbour, or of the applications, that one source, or one "
         "user, may hold; the rest stays free for others"},
    {.key = "endpoint",
     .type = OPTION_COUNT,
     .offset = AT(bundles.endpoint),
     .initial = "75",
     .min = 1,
     .max = 100,
     .help = "percent of the room of its source that bundles for one endpoint of this "
             "node may hold. All endpoints without a receiver count as one: no "
             "application registered them, or it takes no bundle for 10 s or has never "
             "taken one"},
    {.key = "reserve_queues",
     .type = OPTION_COUNT,
     .offset = AT(bundles.reserve_queues),
     .initial = "10",
     .min = 0,
     .max = 100,
     .help = "percent of limit and count that are reserved before that, in equal shares, "
             "for the queue of each link, for endpoints here, and for bundles without a "
             "route"},
    {.key = "when_full",
     .type = OPTION_CHOICE,
     .offset = AT(bundles.when_full),
     .choices = "refuse|drop",
     .initial = "refuse",
     .help = "for a bundle without room (limit, count, shares or source). refuse: it is "
             "refused; drop: it displaces queued ones of lower priority, or of the same "
             "priority that expire sooner"},
    {.key = "crc",
     .type = OPTION_CHOICE,
     .offset = AT(bundles.crc),
     .choices = "none|crc16|crc32c",
     .initial = "crc32c",
     .help = "check value of the blocks of bundles that start here (the primary block always has "
             "one)"},
    {.key = "mode",
     .type = OPTION_CHOICE,
     .offset = AT(bundles.mode),
     .choices = "strict|lenient",
     .initial = "lenient",
     .help = "how bundles of peers are read: strict follows RFC 9171, lenient also "
             "accepts known deviations of other stacks"},
    {.key = "refuse",
     .type = OPTION_BOOL,
     .offset = AT(bundles.refuse),
     .initial = "yes",
     .help = "a bundle without a route, too long or not understood is refused, so the "
             "peer keeps it; no: only bundles without room are refused, and others are "
             "dropped"},
    {.key = "status_reports",
     .type = OPTION_BOOL,
     .offset = AT(bundles.status_reports),
     .initial = "no",
     .help = "send the status reports that bundles ask for"},
    {.key = "report_rate",
     .type = OPTION_COUNT,
     .offset = AT(bundles.report_rate),
     .initial = "100",
     .min = 1,
     .max = 1000000,
     .help = "status reports a second, and as many at once; more are counted and not sent"},
    {.key = "hop_limit",
     .type = OPTION_COUNT,
     .offset = AT(bundles.hop_limit),
     .initial = "0",
     .max = 255,
     .help = "hops after which a bundle that starts here is deleted; 0: it has no limit"},
    {.key = "retry_min",
     .type = OPTION_DURATION,
     .offset = AT(bundles.retry_min),
     .initial = "1s",
     .min = TICK_MS,
     .help = "pause before a failed forwarding is tried again; doubles each time"},
    {.key = "retry_max",
     .type = OPTION_DURATION,
     .offset = AT(bundles.retry_max),
     .initial = "1min",
     .min = TICK_MS,
     .help = "longest such pause"},
    END,
};

const struct conf_option config_log[] = {
    {.key = "segments",
     .type = OPTION_PLACE,
     .offset = AT(log.segments),
     .initial = "",
     .help = "file of the segment log (CSV); empty: none"},
    {.key = "bundles",
     .type = OPTION_PLACE,
     .offset = AT(log.bundles),
     .initial = "",
     .help = "file of the bundle log (CSV); empty: none"},
    {.key = "level",
     .type = OPTION_CHOICE,
     .offset = AT(log.level),
     .choices = "error|warning|info",
     .initial = "info",
     .help = "which lines go to the operator's log (standard error)"},
    {.key = "format",
     .type = OPTION_CHOICE,
     .offset = AT(log.format),
     .choices = "text|json",
     .initial = "text",
     .help = "of the operator's log: json: an object a line, with time, level, node and text"},
    END,
};

const struct conf_option config_http[] = {
    {.key = "listen",
     .type = OPTION_TEXT,
     .offset = AT(http.listen),
     .initial = "",
     .help = "address of metrics (/metrics, for Prometheus) and the status page: a port of "
             "127.0.0.1, or ADDRESS:PORT; empty: neither"},
    {.key = "hosts",
     .type = OPTION_TEXT,
     .offset = AT(http.hosts),
     .initial = "",
     .help = "names by which it may be asked for, beside localhost and the address that a "
             "connection comes to: the Host header of requests, with blanks or commas between"},
    {.key = "token",
     .type = OPTION_SECRET,
     .offset = AT(http.token),
     .initial = "",
     .help = "requests must have it (Authorization: Bearer TOKEN); 16 to 256 characters; "
             "empty: no token is needed"},
    {.key = "network",
     .type = OPTION_WORDS,
     .offset = AT(http.network),
     .initial = "",
     .help = "addresses of other nodes' pages, which /network shows beside this node: a list such "
             "as [http://192.0.2.7:9464], at most 64"},
    {.key = "origins",
     .type = OPTION_WORDS,
     .offset = AT(http.origins),
     .initial = "",
     .help = "pages of other nodes that may show this one, as network of that node has it and a "
             "browser reaches the page: a list such as [http://192.0.2.1:9464], at most 64"},
    {.key = "change_token",
     .type = OPTION_SECRET,
     .offset = AT(http.change_token),
     .initial = "",
     .help = "requests with it in place of token may also change links; 16 to 256 characters, "
             "different from token; empty: nothing can be changed over HTTP"},
    END,
};

const struct conf_option config_routing[] = {
    {.key = "unreachable",
     .type = OPTION_CHOICE,
     .offset = AT(routing.unreachable),
     .choices = "refuse|keep",
     .initial = "refuse",
     .help = "a bundle that no contact of the plan delivers in time, or whose routes "
             "(static ones too) all lead back: refuse it, or keep it for a change of "
             "plan or routes"},
    {.key = "exclude",
     .type = OPTION_TEXT,
     .offset = AT(routing.exclude),
     .initial = "",
     .help = "numbers of neighbours that the plan must not give bundles to, but their own, such as "
             "3, 5"},
    {.key = "margin",
     .type = OPTION_BOOL,
     .offset = AT(routing.margin),
     .initial = "yes",
     .help = "light times get SABR's margin for the motion of nodes, 125/186282"},
    {.key = "overhead",
     .type = OPTION_SHARE,
     .offset = AT(routing.overhead),
     .initial = "0.07",
     .help = "what links add to a bundle for segments and headers, as a share of its bytes; 100 "
             "bytes at least"},
    {.key = "confidence",
     .type = OPTION_SHARE,
     .offset = AT(routing.confidence_min),
     .initial = "0",
     .help = "contacts that are less sure are not used"},
    END,
};

const struct conf_option config_link_options[] = {
    {.key = "name",
     .type = OPTION_TEXT,
     .offset = offsetof(struct config_link, name),
     .help =
         "the word by which routes and helioctl know the link: at most 64 letters, digits, '-', "
         "'_' or '.'"},
    {.key = "adapter",
     .type = OPTION_TEXT,
     .offset = offsetof(struct config_link, adapter),
     .help = "the convergence layer; its own keys follow in the same map"},
    {.key = "peer",
     .type = OPTION_EID,
     .offset = offsetof(struct config_link, peer),
     .help = "the neighbour's node id; its endpoints are reached over this link"},
    {.key = "peers",
     .type = OPTION_COUNT,
     .offset = offsetof(struct config_link, peers),
     .initial = "0",
     .max = 65536,
     .help = "unconfigured peers that may connect over this link at the same time, with "
             "adapters in which they identify themselves. Each becomes a link of its "
             "own. The name of a configured peer needs evidence"},
    {.key = "queues",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct config_link, queues),
     .choices = "weighted|strict",
     .initial = "weighted",
     .help = "whose turn it is: by weights, so that none starves, or always the highest priority "
             "that waits"},
    {.key = "weights",
     .type = OPTION_TEXT,
     .offset = offsetof(struct config_link, weights),
     .initial = "1:8:64",
     .help =
         "bytes of bulk, normal and expedited bundles against each other, with queues: weighted"},
    {.key = "queue_bundles",
     .type = OPTION_COUNT,
     .offset = offsetof(struct config_link, queue_bundles),
     .initial = "0",
     .help = "bundles that wait for this link or are on it, with those that are being stored for "
             "it; more are refused; 0: no limit but those of the node"},
    {.key = "queue_bytes",
     .type = OPTION_SIZE,
     .offset = offsetof(struct config_link, queue_bytes),
     .initial = "0",
     .help = "their bytes; more are refused, but a bundle alone may be longer; 0: likewise"},
    END,
};

#define AT_QUEUE(field) offsetof(struct config_queue, field)

const struct conf_option config_queue_options[] = {
    {.key = "to",
     .type = OPTION_TEXT,
     .offset = AT_QUEUE(to),
     .initial = "*",
     .help = "destination: an endpoint id, ipn:2.*, ipn:[1-5,7].*, ipn:*.*, dtn://name/*, or *"},
    {.key = "from",
     .type = OPTION_TEXT,
     .offset = AT_QUEUE(from),
     .initial = "*",
     .help = "source, likewise"},
    {.key = "service",
     .type = OPTION_COUNT,
     .offset = AT_QUEUE(rule.rule.service),
     .initial = "any",
     .min = 1,
     .choices = "any",
     .help = "ipn service number of the destination"},
    {.key = "size_min",
     .type = OPTION_SIZE,
     .offset = AT_QUEUE(rule.rule.size_min),
     .initial = "0",
     .help = "bundles of at least so many bytes"},
    {.key = "size_max",
     .type = OPTION_SIZE,
     .offset = AT_QUEUE(rule.rule.size_max),
     .initial = "0",
     .help = "bundles of at most so many bytes; 0: of any length"},
    {.key = "flag",
     .type = OPTION_CHOICE,
     .offset = AT_QUEUE(rule.rule.flag),
     .choices = RULE_FLAG_WORDS,
     .initial = "any",
     .help = "administrative records, fragments, bundles that must not be fragmented, that want an "
             "application's answer, or any status report"},
    {.key = "is",
     .type = OPTION_CHOICE,
     .offset = AT_QUEUE(rule.rule.priority),
     .choices = RULE_PRIORITY_WORDS,
     .initial = "any",
     .help = "bundles of this priority, as their block says; without one they are normal"},
    {.key = "queue",
     .type = OPTION_CHOICE,
     .offset = AT_QUEUE(priority),
     .choices = "bulk|normal|expedited",
     .help = "where those that fit wait for this link"},
    END,
};

const struct conf_option config_route_options[] = {
    {.key = "to",
     .type = OPTION_TEXT,
     .offset = offsetof(struct config_route, to),
     .help = "destinations: an endpoint id, ipn:2.*, ipn:[1-5,7].*, ipn:977000.*.*, ipn:*.*, "
             "dtn://name/*, "
             "imc:5.*, imc:*.*, or *"},
    {.key = "via",
     .type = OPTION_TEXT,
     .offset = offsetof(struct config_route, via),
     .help = "the name of a link"},
    END,
};

const struct conf_option config_endpoint_options[] = {
    {.key = "at",
     .type = OPTION_TEXT,
     .offset = offsetof(struct config_endpoint, at),
     .help = "endpoints of this node, or groups: ipn:1.7, ipn:1.*, imc:5.*"},
    {.key = "registrations",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct config_endpoint, registrations),
     .choices = "one|pass|all",
     .help =
         "one subscriber at a time; or several, each bundle to one of them in turn (pass), or to "
         "all of them"},
    END,
};

static int say_wrong(const char **key, const char *which, char *why, size_t cap, const char *text)
{
    *key = which;
    snprintf(why, cap, "%s", text);
    return HELIO_EINVAL;
}

static int check_queue(void *item, const char **key, char *why, size_t cap)
{
    struct config_queue *q = item;
    struct rule *r = &q->rule.rule;
    const char *wrong;
    if (eid_patterns_read(q->to, &r->to, &wrong) != 0)
        return say_wrong(key, "to", why, cap, wrong);
    if (eid_patterns_read(q->from, &r->from, &wrong) != 0)
        return say_wrong(key, "from", why, cap, wrong);
    if (r->size_max != 0 && r->size_max < r->size_min)
        return say_wrong(key, "size_max", why, cap, "is below size_min; raise it or lower that");
    q->rule.queue = (enum bundle_priority)q->priority;
    return 0;
}

const struct cla_list config_link_lists[] = {
    {.key = "priorities",
     .options = config_queue_options,
     .item_size = sizeof(struct config_queue),
     .max = CONFIG_PRIORITIES_MAX,
     .items = offsetof(struct config_link, priorities),
     .count = offsetof(struct config_link, priorities_len),
     .check = check_queue},
    {.key = NULL},
};

static int check_endpoint(void *item, const char **key, char *why, size_t cap)
{
    struct config_endpoint *e = item;
    const char *wrong;
    if (eid_patterns_read(e->at, &e->patterns, &wrong) == 0)
        return 0;
    return say_wrong(key, "at", why, cap, wrong);
}

const struct cla_list config_lists[] = {
    {.key = "endpoints",
     .options = config_endpoint_options,
     .item_size = sizeof(struct config_endpoint),
     .max = CONFIG_ENDPOINTS_MAX,
     .items = offsetof(struct config, endpoints),
     .count = offsetof(struct config, endpoints_len),
     .check = check_endpoint},
    {.key = NULL},
};
