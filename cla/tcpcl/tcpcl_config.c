/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: a link that neither listens nor connects, or that has two settings for one of
 * these; unusable certificates. */
#include "cla/tcpcl/tcpcl_config.h"

#include <stdio.h>
#include <string.h>

#include "cla/tcpcl/tcpcl_session.h"
#include "cla/tcpcl/tcpcl_tls.h"
#include "os/input_file.h"
#include "os/secret.h"

#define AT(field) offsetof(struct tcpcl_config, field)

/* clang-format off */
const struct conf_option tcpcl_options[] = {
    {"remote", OPTION_HOST, AT(remote), "", TCPCL_PORT, 0, NULL,
     "address or host name, and port, to connect to; a name is looked up with each attempt; without it, the peer connects"},
    {"local", OPTION_ADDRESS, AT(local), "", TCPCL_PORT, 0, NULL,
     "address and port where peers connect; links with the same one share it"},
    {"remote_path", OPTION_TEXT, AT(remote_path), "", 0, 0, NULL,
     "UNIX socket to connect to, instead of remote"},
    {"local_path", OPTION_SOCKET, AT(local_path), "", 0, 0, NULL,
     "UNIX socket where peers connect, instead of local; links with the same one share it"},
    {"keepalive", OPTION_DURATION, AT(keepalive), "30s", 0, 65535 * TICK_S, NULL,
     "interval of keepalives to propose, whole seconds: the peers' smaller one counts; 0: none"},
    {"timers.idle", OPTION_DURATION, AT(idle), "0", 0, 86400 * TICK_S, NULL,
     "silence of the peer that ends a session; 0: twice the keepalive, never without one"},
    {"timers.timeout", OPTION_DURATION, AT(timeout), "30s", TICK_MS, 3600 * TICK_S, NULL,
     "from the beginning of a connection to an established session"},
    {"timers.ending", OPTION_DURATION, AT(ending), "10s", TICK_MS, 3600 * TICK_S, NULL,
     "from SESS_TERM to the end of the connection, for unfinished transfers"},
    {"timers.transfer_idle", OPTION_DURATION, AT(transfer_idle), "1min", TICK_MS, 86400 * TICK_S, NULL,
     "an incoming transfer that has not grown for this time is refused, and its memory is freed"},
    {"timers.reconnect", OPTION_DURATION, AT(reconnect), "1s", 10 * TICK_MS, 3600 * TICK_S, NULL,
     "pause before the next attempt to connect; doubled after each failure"},
    {"timers.reconnect_max", OPTION_DURATION, AT(reconnect_max), "1min", 10 * TICK_MS, 3600 * TICK_S, NULL,
     "longest pause before an attempt to connect"},
    {"segment", OPTION_SIZE, AT(segment), "1MiB", 1, UINT64_C(1) << 40, NULL,
     "longest segment to send, within the peer's MRU; acknowledgements wait for its end"},
    {"limits.segment_mru", OPTION_SIZE, AT(segment_mru), "1GiB", 1, UINT64_C(1) << 40, NULL,
     "longest segment to receive"},
    {"rate", OPTION_RATE, AT(pace.rate), "unlimited", 1, UINT64_C(1000000000000), "unlimited",
     "rate at which this side sends, in bits of the stream, without TLS, TCP and IP"},
    PACE_KEYS_STREAM(AT(pace)),
    {"window", OPTION_COUNT, AT(window), "1024", 1, 65536, NULL,
     "most unacknowledged bundles; others wait at the node"},
    {"limits.window_bytes", OPTION_SIZE, AT(window_bytes), "64MiB", 1, UINT64_C(1) << 40, NULL,
     "most bytes of unacknowledged bundles; a single bundle may be longer"},
    {"limits.held_bytes", OPTION_SIZE, AT(held_bytes), "64MiB", 1, UINT64_C(1) << 40, NULL,
     "most bytes of received bundles queued for the store; above it, this side stops reading"},
    {"sessions", OPTION_COUNT, AT(sessions), "4", 1, 64, NULL,
     "most concurrent sessions of this link; the newest one sends, all receive"},
    {"limits.unidentified", OPTION_COUNT, AT(unidentified), "256", 1, 65536, NULL,
     "most connections of the local address whose peer has not identified itself; above it, one of the address with most is closed"},
    {"limits.unidentified_address", OPTION_COUNT, AT(unidentified_address), "64", 1, 65536, NULL,
     "most of these from one address (IPv6: from one /64)"},
    {"check_peer", OPTION_BOOL, AT(check_peer), "yes", 0, 0, NULL,
     "the node that answers at remote must be the link's peer; no: any node is accepted as the peer"},
    {"pacing.socket_buffer", OPTION_SIZE, AT(socket_buffer), "0", 0, 1 << 30, NULL,
     "requested size of the socket buffers; 0: the kernel chooses"},
    {"pacing.congestion", OPTION_TEXT, AT(congestion), "", 0, 0, NULL,
     "TCP's congestion control for sending (cubic, bbr, reno, …); default: the system's"},
    {"tls", OPTION_CHOICE, AT(tls), "unset", 0, 0, "off|optional|required|unset",
     "encryption and authentication: none; if the peer offers it; or else there is no session. unset: as off, but an error if other machines can connect"},
    {"tls.certificate", OPTION_FILE, AT(tls_certificate), "", 0, 0, NULL,
     "file of this node's certificate and those between it and the CA's (PEM)"},
    {"tls.key", OPTION_FILE, AT(tls_key), "", 0, 0, NULL,
     "file of the certificate's private key, without a passphrase (PEM)"},
    {"tls.ca", OPTION_FILE, AT(tls_ca), "", 0, 0, NULL,
     "file of the trusted CAs, or of peers' own certificates (PEM)"},
    {"tls.peer", OPTION_CHOICE, AT(tls_peer), "node", 0, 0, "node|host|address|ca|none",
     "what the peer's certificate must name: its node, tls.host, its address; any name under the CA; none: it is not verified"},
    {"tls.host", OPTION_TEXT, AT(tls_host), "", 0, 0, NULL,
     "DNS name of the peer, for tls: {peer: host}; sent to the peer when this side connects"},
    {"tls.ca_nodes", OPTION_CHOICE, AT(tls_ca_nodes), "pin", 0, 0, "pin|issue",
     "for a certificate that names a node. pin: it counts only for that node, and none that it issued is accepted; issue: it may be a CA's"},
    {"tls.purpose", OPTION_CHOICE, AT(tls_purpose), "bundle", 0, 0, "bundle|any",
     "bundle: an extended key usage must have id-kp-bundleSecurity (RFC 9174); any: every usage is accepted"},
    {"state", OPTION_CHOICE, AT(state), "up", 0, 0, "up|down",
     "state of the link at the start"},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};
/* clang-format on */

const struct cla_renamed tcpcl_renamed[] = {{"newcomers", "limits.unidentified"},
                                            {"newcomers_address", "limits.unidentified_address"},
                                            {NULL, NULL}};

static bool has_text(const char *s)
{
    return s != NULL && *s != '\0';
}

bool tcpcl_local(const struct tcpcl_config *k, struct stream_place *out)
{
    *out = (struct stream_place){.path = has_text(k->local_path) ? k->local_path : NULL,
                                 .address = &k->local};
    return out->path != NULL || address_given(&k->local);
}

bool tcpcl_connects(const struct tcpcl_config *k)
{
    return has_text(k->remote_path) || host_address_given(&k->remote);
}

bool tcpcl_config_proves(const void *config)
{
    const struct tcpcl_config *k = config;
    return tcpcl_tls_mode(k) == TCPCL_TLS_REQUIRED && k->tls_peer == TCPCL_BY_NODE && k->check_peer;
}

void tcpcl_addresses(const void *config, struct cla_addresses *out)
{
    const struct tcpcl_config *k = config;
    out->socket = CLA_SOCKET_TCP;
    out->key = "local";
    out->local = k->local;
    out->remote = k->remote.address;
}

bool tcpcl_exposed(const struct tcpcl_config *k)
{
    return address_given(&k->local) && !address_is_loopback(&k->local);
}

const char *tcpcl_place_text(const struct stream_place *p, char out[TCPCL_PLACE_MAX])
{
    char text[ADDRESS_TEXT_MAX];
    snprintf(out, TCPCL_PLACE_MAX, "%s",
             p->path != NULL ? p->path : address_write(p->address, text));
    return out;
}

static int blame(const char **key, const char *which, char *why, size_t cap, const char *text)
{
    *key = which;
    snprintf(why, cap, "%s", text);
    return HELIO_EINVAL;
}

/* The first of the keys that name a file of TLS and are given; NULL. */
static const char *file_key(const struct tcpcl_config *k)
{
    return has_text(k->tls_certificate) ? "tls.certificate"
           : has_text(k->tls_key)       ? "tls.key"
           : has_text(k->tls_ca)        ? "tls.ca"
                                        : NULL;
}

/* Can they be opened, and is the key secret? */
static int check_files(const struct tcpcl_config *k, const char **key, char *why, size_t cap)
{
    const struct {
        const char *key, *path;
    } files[] = {
        {"tls.certificate", k->tls_certificate}, {"tls.key", k->tls_key}, {"tls.ca", k->tls_ca}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (!has_text(files[i].path))
            continue;
        char reason[128];
        FILE *f = files[i].path == k->tls_key
                      ? secret_file_open(files[i].path, why, cap)
                      : input_file_regular(files[i].path, reason, sizeof reason);
        if (f != NULL) {
            fclose(f);
            continue;
        }
        if (files[i].path != k->tls_key)
            snprintf(why, cap, "%s: %s", files[i].path, reason);
        *key = files[i].key;
        return HELIO_EINVAL;
    }
    return 0;
}

/* §4.4.3: both sides show a certificate. */
static int check_tls(const struct tcpcl_config *k, const char **key, char *why, size_t cap)
{
    if (k->tls == TCPCL_TLS_UNSET && tcpcl_exposed(k))
        return blame(
            key, "tls", why, cap,
            "is not given, and local is reachable from other machines: without TLS any peer that "
            "connects can say that it is any node; write tls: required with certificates, "
            "or tls: off");
    if (k->tls == TCPCL_TLS_UNSET && file_key(k) != NULL)
        return blame(key, "tls", why, cap,
                     "is not given, and without it the certificates are not used; write "
                     "tls: required, or tls: off");
    if (tcpcl_tls_mode(k) == TCPCL_TLS_OFF)
        return 0;
    if (!has_text(k->tls_certificate))
        return blame(key, "tls.certificate", why, cap,
                     "is not given; TLS needs a certificate, or write tls: off");
    if (!has_text(k->tls_key))
        return blame(key, "tls.key", why, cap, "is not given; write the file of its private key");
    if (k->tls_peer != TCPCL_BY_NONE && !has_text(k->tls_ca))
        return blame(
            key, "tls.ca", why, cap,
            "is not given; write the file of the CAs that are trusted, or tls: {peer: none}");
    if (k->tls_peer == TCPCL_BY_HOST && !has_text(k->tls_host))
        return blame(key, "tls.host", why, cap, "is not given; tls: {peer: host} needs the name");
    if (k->tls_peer == TCPCL_BY_ADDRESS && (has_text(k->remote_path) || has_text(k->local_path)))
        return blame(key, "tls.peer", why, cap, "is address; UNIX sockets have none");
    return check_files(k, key, why, cap);
}

int tcpcl_config_read(const void *config, void **out, const char **key, char *why, size_t cap)
{
    struct tls *tls;
    const int r = tcpcl_tls_load(&tls, config, key, why, cap);
    *out = tls;
    return r;
}

/* RFC 9174 §4.4.1: names that are no node's do not count. */
static bool warn_names(const struct tcpcl_config *k, const struct tls *tls, const struct eid *node,
                       char *why, size_t cap)
{
    char text[TLS_NAME_MAX + 1], other[64] = "", own[EID_TEXT_MAX];
    struct eid named;
    for (size_t i = 0; tls_own_node(tls, i, text); i++) {
        if (eid_parse(text, &named) != 0 || !eid_is_node(&named))
            continue;
        if (eid_same_node(&named, node))
            return false;
        if (other[0] == '\0')
            snprintf(other, sizeof other, "%.63s", text);
    }
    eid_text(node, own);
    if (other[0] == '\0' && k->tls_peer == TCPCL_BY_NODE) {
        snprintf(why, cap,
                 "%.100s: the certificate names no node, so peers that check node names refuse "
                 "it; make one with subjectAltName otherName:1.3.6.1.5.5.7.8.11;IA5:%s",
                 k->tls_certificate, own);
        return true;
    }
    snprintf(why, cap,
             "%.100s: the certificate names the node %s, and this node is %s: peers refuse it; "
             "write the certificate of this node",
             k->tls_certificate, other, own);
    return other[0] != '\0';
}

/* Then no peer's certificate is trusted: one that names a node counts only for that node. */
static bool warn_trusted(const struct tcpcl_config *k, const struct tls *tls,
                         const struct eid *node, char *why, size_t cap)
{
    char text[TLS_NAME_MAX + 1];
    struct eid named;
    if (k->tls_peer == TCPCL_BY_NONE || k->tls_ca_nodes != 0 || !tls_own_trusted_only(tls) ||
        !tls_own_node(tls, 0, text) || eid_parse(text, &named) != 0 ||
        !eid_same_node(&named, node) || tls_own_node(tls, 1, text))
        return false;
    snprintf(why, cap,
             "%.100s: it has only this node's own certificate, so every peer is refused; write the "
             "peer's certificate, or that of the CA that issued it",
             k->tls_ca);
    return true;
}

bool tcpcl_plain(const struct tcpcl_config *k, char *why, size_t cap)
{
    char text[TCPCL_PLACE_MAX];
    struct stream_place at;
    if (k->tls != TCPCL_TLS_OFF || !tcpcl_exposed(k) || !tcpcl_local(k, &at))
        return false;
    snprintf(why, cap,
             "listens at %s without TLS (tls: off): any peer that reaches it can say that it is "
             "any node; tls: required with certificates keeps others out",
             tcpcl_place_text(&at, text));
    return true;
}

bool tcpcl_config_warn(const void *config, const struct eid *node, int64_t now, const char **key,
                       char *why, size_t cap)
{
    struct tls *tls;
    char text[TLS_WHY_MAX];
    *key = "tls";
    if (tcpcl_plain(config, why, cap))
        return true;
    if (tcpcl_tls_load(&tls, config, key, why, cap) != 0 || tls == NULL)
        return false;
    const bool dates = tls_own_warning(tls, now, text);
    if (dates)
        snprintf(why, cap, "%s", text);
    const bool own = dates || warn_names(config, tls, node, why, cap);
    const bool warns = own || warn_trusted(config, tls, node, why, cap);
    *key = own ? "tls.certificate" : "tls.ca";
    tls_free(tls);
    return warns;
}

int tcpcl_config_check(const void *config, const char **key, char *why, size_t why_cap)
{
    const struct tcpcl_config *k = config;
    struct stream_place place;
    if (!tcpcl_connects(k) && !tcpcl_local(k, &place))
        return blame(key, "remote", why, why_cap,
                     "is not given, nor is local; write where to connect to, such as "
                     "192.0.2.2:4556, or where peers connect, or both");
    if (host_address_given(&k->remote) && has_text(k->remote_path))
        return blame(key, "remote_path", why, why_cap, "remote is given, too; write one of them");
    if (address_given(&k->local) && has_text(k->local_path))
        return blame(key, "local_path", why, why_cap, "local is given, too; write one of them");
    if (host_address_given(&k->remote) && host_address_port(&k->remote) == 0)
        return blame(key, "remote", why, why_cap, "has port 0; write the port of the peer");
    if (has_text(k->remote_path) && strlen(k->remote_path) > STREAM_PATH_MAX)
        return blame(key, "remote_path", why, why_cap, "is longer than 107 characters");
    if (has_text(k->local_path) && strlen(k->local_path) > STREAM_PATH_MAX)
        return blame(key, "local_path", why, why_cap, "is longer than 107 characters");
    if (k->keepalive % TICK_S != 0)
        return blame(key, "keepalive", why, why_cap,
                     "is not in whole seconds; RFC 9174 has no others");
    if (k->reconnect_max < k->reconnect)
        return blame(key, "timers.reconnect_max", why, why_cap, "is shorter than reconnect");
    return check_tls(k, key, why, why_cap);
}
