/* SPDX-License-Identifier: Apache-2.0 */
/* What each key of the configuration means. The reference (docs/heliod.md) has one line for each of
 * them, and a test compares. */
#include "tools/node/config_tables.h"

#define AT(field) offsetof(struct config, field)
#define END                                                                                        \
    {                                                                                              \
        .key = NULL                                                                                \
    }

const struct conf_option config_top[] = {
    {.key = "node", .type = OPTION_EID, .offset = AT(node), .help = "the node's own endpoint id"},
    {.key = "socket",
     .type = OPTION_TEXT,
     .offset = AT(socket),
     .help = "UNIX socket for applications (AAP2)"},
    {.key = "control",
     .type = OPTION_TEXT,
     .offset = AT(control),
     .initial = "",
     .help = "UNIX socket for helioctl; empty: the path of socket with .ctl behind it"},
    {.key = "echo",
     .type = OPTION_TEXT,
     .offset = AT(echo),
     .initial = "on",
     .help = "endpoint that returns what it gets: on (ipn service 128, dtn name echo), off, or a "
             "service number or name"},
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
    {.key = "max",
     .type = OPTION_SIZE,
     .offset = AT(bundles.max),
     .initial = "1GiB",
     .min = 1000,
     .max = UINT64_C(4000000000),
     .help = "longest bundle that is accepted"},
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
    {.key = "assemblies",
     .type = OPTION_COUNT,
     .offset = AT(bundles.assemblies),
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
     .help = "fragments of one of them; more are dropped"},
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
     .help = "how bundles of peers are read: strict keeps to RFC 9171, lenient also takes what "
             "other stacks are known to send"},
    {.key = "refuse",
     .type = OPTION_BOOL,
     .offset = AT(bundles.refuse),
     .initial = "yes",
     .help =
         "a peer is told to keep its bundle that has no route here, is too long or not understood; "
         "no: it is told so only for lack of room, and others are dropped"},
    {.key = "status_reports",
     .type = OPTION_BOOL,
     .offset = AT(bundles.status_reports),
     .initial = "no",
     .help = "send the status reports that bundles ask for"},
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
     .type = OPTION_TEXT,
     .offset = AT(log.segments),
     .initial = "",
     .help = "file of the segment log (CSV); empty: none"},
    {.key = "level",
     .type = OPTION_CHOICE,
     .offset = AT(log.level),
     .choices = "error|warning|info",
     .initial = "info",
     .help = "which lines go to the operator's log (standard error)"},
    END,
};

const struct conf_option config_link_options[] = {
    {.key = "name",
     .type = OPTION_TEXT,
     .offset = offsetof(struct config_link, name),
     .help = "the word by which routes and helioctl know the link"},
    {.key = "adapter",
     .type = OPTION_TEXT,
     .offset = offsetof(struct config_link, adapter),
     .help = "the convergence layer; its own keys follow in the same map"},
    {.key = "peer",
     .type = OPTION_EID,
     .offset = offsetof(struct config_link, peer),
     .help = "the neighbour's node id; its endpoints are reached over this link"},
    END,
};

const struct conf_option config_route_options[] = {
    {.key = "to",
     .type = OPTION_TEXT,
     .offset = offsetof(struct config_route, to),
     .help = "destinations: an endpoint id, ipn:2.*, ipn:*.*, dtn://name/*, or *"},
    {.key = "via",
     .type = OPTION_TEXT,
     .offset = offsetof(struct config_route, via),
     .help = "the name of a link"},
    END,
};
