/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HDTN's configuration: one JSON file with inducts and outducts. An outduct is a link; an induct of
 * LTP completes the link of the same engine, one of UDP or STCP says where its links receive. Who
 * connects to an induct of TCPCL the file does not say. What can go wrong: no JSON, no node number;
 * ducts of other convergence layers and keys without a counterpart are noted.
 */
#include <inttypes.h>
#include <string.h>

#include "conf/conf_section.h"
#include "tools/plan/import.h"

#define DUCTS_MAX 256
#define SEGMENT_MIN 64
#define SEGMENT_MAX 65000

/* Keys that another one's reader has used; all others are noted. */
static bool is_one_of(const char *key, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (strcmp(key, *list) == 0)
            return true;
    }
    return false;
}

static void note_rest(struct import *im, const struct conf_tree *map, const char *const *used)
{
    for (const struct conf_tree *t = map->first; map->kind == CONF_MAP && t != NULL; t = t->next) {
        if (is_one_of(t->key, used))
            im->taken++;
        else
            import_note(im, t->line, "%s: has no counterpart", t->key);
    }
}

static const char *text_of(const struct conf_tree *map, const char *key)
{
    const struct conf_tree *t = conf_child(map, key);
    return t == NULL || t->kind != CONF_SCALAR ? "" : t->text;
}

static uint64_t number_of(struct import *im, const struct conf_tree *map, const char *key,
                          uint64_t max)
{
    const struct conf_tree *t = conf_child(map, key);
    uint64_t n = 0;
    if (t != NULL && (t->kind != CONF_SCALAR || !import_number(t->text, max, &n)))
        import_note(im, t->line, "%s: no number up to %" PRIu64 ": left out", key, max);
    return n;
}

static bool is_yes(const struct conf_tree *map, const char *key)
{
    return strcmp(text_of(map, key), "true") == 0;
}

static tick milliseconds(struct import *im, const struct conf_tree *d, const char *key)
{
    return number_of(im, d, key, 3600000) * TICK_MS;
}

/* --- outducts --- */

static void read_ltp_out(struct import *im, const struct conf_tree *d, struct import_link *l)
{
    static const char *const used[] = {"name",
                                       "convergenceLayer",
                                       "nextHopNodeId",
                                       "remoteHostname",
                                       "remotePort",
                                       "thisLtpEngineId",
                                       "remoteLtpEngineId",
                                       "ltpDataSegmentMtu",
                                       "oneWayLightTimeMs",
                                       "oneWayMarginTimeMs",
                                       "ltpSenderBoundPort",
                                       "maxNumberOfBundlesInPipeline",
                                       NULL};
    const uint64_t bound = number_of(im, d, "ltpSenderBoundPort", UINT16_MAX);
    const uint64_t engine = number_of(im, d, "remoteLtpEngineId", UINT32_MAX);
    const uint64_t segment = number_of(im, d, "ltpDataSegmentMtu", UINT32_MAX);
    im->engine = number_of(im, d, "thisLtpEngineId", UINT32_MAX);
    l->engine = engine > 0 ? engine : l->peer;
    l->segment = segment > SEGMENT_MAX ? SEGMENT_MAX : segment;
    l->segment = segment > 0 && segment < SEGMENT_MIN ? SEGMENT_MIN : l->segment;
    l->owlt = milliseconds(im, d, "oneWayLightTimeMs");
    l->margin = 2 * milliseconds(im, d, "oneWayMarginTimeMs");
    l->sessions = number_of(im, d, "maxNumberOfBundlesInPipeline", 65536);
    if (bound > 0)
        snprintf(l->local, sizeof l->local, "0.0.0.0:%" PRIu64, bound);
    note_rest(im, d, used);
}

static void read_tcpcl_out(struct import *im, const struct conf_tree *d, struct import_link *l)
{
    static const char *const used[] = {
        "name",       "convergenceLayer", "nextHopNodeId", "remoteHostname",
        "remotePort", "tlsIsRequired",    "tryUseTls",     NULL};
    l->tls_unknown = is_yes(d, "tlsIsRequired") || is_yes(d, "tryUseTls");
    if (l->tls_unknown)
        import_note(im, d->line,
                    "TLS is asked for: write tls: {certificate, key, ca} into this link, "
                    "which stands in comments");
    note_rest(im, d, used);
}

static void read_udp_out(struct import *im, const struct conf_tree *d)
{
    static const char *const used[] = {"name",           "convergenceLayer", "nextHopNodeId",
                                       "remoteHostname", "remotePort",       NULL};
    note_rest(im, d, used);
}

static void read_stcp_out(struct import *im, const struct conf_tree *d, struct import_link *l)
{
    static const char *const used[] = {"name",
                                       "convergenceLayer",
                                       "nextHopNodeId",
                                       "remoteHostname",
                                       "remotePort",
                                       "maxNumberOfBundlesInPipeline",
                                       "maxSumOfBundleBytesInPipeline",
                                       "keepAliveIntervalSeconds",
                                       NULL};
    l->window = number_of(im, d, "maxNumberOfBundlesInPipeline", 65536);
    l->window_bytes = number_of(im, d, "maxSumOfBundleBytesInPipeline", UINT64_C(1) << 40);
    l->keepalive_given = conf_child(d, "keepAliveIntervalSeconds") != NULL;
    l->keepalive = number_of(im, d, "keepAliveIntervalSeconds", 86400) * TICK_S;
    note_rest(im, d, used);
}

static int adapter_of(const char *layer)
{
    static const char *const layers[IMPORT_ADAPTERS] = {"ltp_over_udp", "udp", "tcpcl_v4", "stcp"};
    for (int i = 0; i < IMPORT_ADAPTERS; i++) {
        if (strcmp(layer, layers[i]) == 0)
            return i;
    }
    return -1;
}

static const char *reason_of(const char *layer)
{
    static const char *const reasons[][2] = {
        {"tcpcl_v3", "ours is TCPCL 4; HDTN has it as tcpcl_v4"},
        {"ltp_over_ipc", "LTP in the memory of one machine; use ltp_over_udp"},
        {"ltp_over_encap_local_stream", "LTP in a local socket or pipe; use ltp_over_udp"},
        {"bp_over_encap_local_stream", "bundles in a local socket or pipe; use stcp or tcpcl_v4"},
        {"slip_over_uart", "a serial line"}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (strcmp(layer, reasons[i][0]) == 0)
            return reasons[i][1];
    }
    return "this convergence layer is not known";
}

static void note_layer(struct import *im, const struct conf_tree *d, const char *what)
{
    const char *layer = text_of(d, "convergenceLayer");
    import_note(im, d->line, "%s %s of %s: has no counterpart (%s): left out", what,
                text_of(d, "name"), layer, reason_of(layer));
}

static void read_outduct(struct import *im, const struct conf_tree *d)
{
    const int adapter = adapter_of(text_of(d, "convergenceLayer"));
    const uint64_t peer = number_of(im, d, "nextHopNodeId", UINT32_MAX);
    if (adapter < 0 || peer == 0 || peer == im->node) {
        if (adapter < 0)
            note_layer(im, d, "outduct");
        else
            import_note(im, d->line, "outduct without a neighbour: left out");
        return;
    }
    struct import_link *l = import_link(im, (enum import_adapter)adapter, peer, d->line);
    if (l == NULL)
        return;
    (void)import_remote(im, l, text_of(d, "remoteHostname"),
                        number_of(im, d, "remotePort", UINT16_MAX), d->line);
    if (l->adapter == IMPORT_LTP)
        read_ltp_out(im, d, l);
    else if (l->adapter == IMPORT_TCPCL)
        read_tcpcl_out(im, d, l);
    else if (l->adapter == IMPORT_STCP)
        read_stcp_out(im, d, l);
    else
        read_udp_out(im, d);
}

/* --- inducts --- */

static struct import_link *link_of_engine(struct import *im, uint64_t engine, uint32_t line)
{
    for (size_t i = 0; i < im->links_len; i++) {
        if (im->links[i].adapter == IMPORT_LTP && im->links[i].engine == engine)
            return &im->links[i];
    }
    import_note(im, line,
                "no outduct has LTP engine %" PRIu64 ": its node is taken to have the same number",
                engine);
    return import_link(im, IMPORT_LTP, engine, line);
}

static void read_ltp_in(struct import *im, const struct conf_tree *d)
{
    static const char *const used[] = {"name",
                                       "convergenceLayer",
                                       "boundPort",
                                       "thisLtpEngineId",
                                       "remoteLtpEngineId",
                                       "oneWayLightTimeMs",
                                       "oneWayMarginTimeMs",
                                       "ltpRemoteUdpHostname",
                                       "ltpRemoteUdpPort",
                                       "ltpMaxExpectedSimultaneousSessions",
                                       NULL};
    const uint64_t engine = number_of(im, d, "remoteLtpEngineId", UINT32_MAX);
    const uint64_t port = number_of(im, d, "boundPort", UINT16_MAX);
    struct import_link *l = engine == 0 ? NULL : link_of_engine(im, engine, d->line);
    if (l == NULL || l->peer == im->node) {
        import_note(im, d->line, "induct of LTP without another engine: left out");
        return;
    }
    im->engine = number_of(im, d, "thisLtpEngineId", UINT32_MAX);
    l->import_sessions = number_of(im, d, "ltpMaxExpectedSimultaneousSessions", 1000000);
    if (port > 0)
        snprintf(l->local, sizeof l->local, "0.0.0.0:%" PRIu64, port);
    if (l->owlt == 0)
        l->owlt = milliseconds(im, d, "oneWayLightTimeMs");
    if (l->margin == 0)
        l->margin = 2 * milliseconds(im, d, "oneWayMarginTimeMs");
    if (l->remote[0] == '\0')
        (void)import_remote(im, l, text_of(d, "ltpRemoteUdpHostname"),
                            number_of(im, d, "ltpRemoteUdpPort", UINT16_MAX), d->line);
    note_rest(im, d, used);
}

static void read_induct(struct import *im, const struct conf_tree *d)
{
    static const char *const used[] = {"name", "convergenceLayer", "boundPort", NULL};
    const int adapter = adapter_of(text_of(d, "convergenceLayer"));
    if (adapter < 0) {
        note_layer(im, d, "induct");
        return;
    }
    if (adapter == IMPORT_LTP) {
        read_ltp_in(im, d);
        return;
    }
    const uint64_t port = number_of(im, d, "boundPort", UINT16_MAX);
    if (adapter != IMPORT_TCPCL)
        (void)import_local(im, (enum import_adapter)adapter, "0.0.0.0", port, d->line);
    else
        import_note(im, d->line,
                    "induct of tcpcl_v4: who connects is not said: write a link with peer, "
                    "local: 0.0.0.0:%" PRIu64 " and tls",
                    port);
    note_rest(im, d, used);
}

typedef void duct_reader(struct import *im, const struct conf_tree *d);

static void read_ducts(struct import *im, const struct conf_tree *root, const char *section,
                       const char *list, duct_reader *read, struct conf_errors *e)
{
    size_t n;
    const struct conf_tree *map = conf_map(root, "", section, e);
    if (map == NULL)
        return;
    for (const struct conf_tree *d = conf_list(map, section, list, DUCTS_MAX, &n, e); d != NULL;
         d = d->next)
        read(im, d);
}

int import_hdtn(struct import *im, const char *path, const char *text, size_t len,
                struct conf_errors *e)
{
    static const char *const used[] = {
        "hdtnConfigName", "myNodeId", "maxBundleSizeBytes", "inductsConfig", "outductsConfig",
        "storageConfig",  NULL};
    const size_t before = e->total;
    struct conf_tree *root = conf_tree_parse(text, len, "it needs at least myNodeId", e);
    im->file = path;
    if (root != NULL && root->kind != CONF_MAP)
        conf_error(e, root->line, "a map is expected: HDTN's configuration");
    if (root != NULL && root->kind == CONF_MAP) {
        const struct conf_tree *store = conf_map(root, "", "storageConfig", e);
        im->node = number_of(im, root, "myNodeId", UINT32_MAX);
        im->bundle_max = number_of(im, root, "maxBundleSizeBytes", UINT64_C(1) << 40);
        if (store != NULL)
            im->store_limit = number_of(im, store, "totalStorageCapacityBytes", UINT64_C(1) << 50);
        read_ducts(im, root, "outductsConfig", "outductVector", read_outduct, e);
        read_ducts(im, root, "inductsConfig", "inductVector", read_induct, e);
        note_rest(im, root, used);
    }
    conf_tree_free(root);
    return e->total == before ? 0 : -1;
}
