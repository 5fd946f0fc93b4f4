/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of the readers of other configurations, and the YAML writer. What can go wrong: more
 * links or routes than the limits, or links that heliod cannot distinguish; they are noted. */
#include "tools/plan/import.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "conf/conf_value.h"
#include "os/net/host_address.h"

#define SESSIONS_ALL 4096 /* heliod's default of import_sessions_all */

static const char *const adapters[IMPORT_ADAPTERS] = {"ltp-udp", "udp", "tcpcl", "stcp"};

void import_init(struct import *im, FILE *notes)
{
    memset(im, 0, sizeof *im); /* it is too large to be copied */
    im->to = notes;
}

void import_note(struct import *im, uint32_t line, const char *format, ...)
{
    char text[CONF_ERROR_CAP];
    va_list args;
    if (im->notes++ >= IMPORT_NOTES_MAX || im->to == NULL)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char *p = text; *p != '\0'; p++)
        *p = (unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p;
    if (line > 0)
        fprintf(im->to, "%s:%u: %s\n", im->file, line, text);
    else
        fprintf(im->to, "%s\n", text);
}

struct import_link *import_link(struct import *im, enum import_adapter adapter, uint64_t peer,
                                uint32_t line)
{
    for (size_t i = 0; i < im->links_len; i++) {
        if (im->links[i].adapter == adapter && im->links[i].peer == peer)
            return &im->links[i];
    }
    if (im->links_len == IMPORT_LINKS_MAX) {
        import_note(im, line, "more than %d links: left out", IMPORT_LINKS_MAX);
        return NULL;
    }
    struct import_link *l = &im->links[im->links_len++];
    *l = (struct import_link){.adapter = adapter, .peer = peer, .engine = peer};
    return l;
}

bool import_number(const char *text, uint64_t max, uint64_t *out)
{
    uint64_t n = 0;
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        const unsigned digit = (unsigned)*text - '0';
        if (digit > 9 || digit > max || n > (max - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *out = n;
    return true;
}

/* --- addresses --- */

static bool write_numeric(const char *host, uint64_t port, char out[IMPORT_ADDRESS_CAP])
{
    struct address a;
    const bool self = strcmp(host, "localhost") == 0 || strcmp(host, "localhost.localdomain") == 0;
    if (address_of(self ? "127.0.0.1" : host, (uint16_t)port, &a) < 0)
        return false;
    (void)address_write(&a, out);
    return true;
}

static bool check_port(struct import *im, const char *host, uint64_t port, uint32_t line)
{
    if (port == 0 || port > UINT16_MAX)
        import_note(im, line, "%s: port %" PRIu64 " is none: left out", host, port);
    return port > 0 && port <= UINT16_MAX;
}

bool import_remote(struct import *im, struct import_link *l, const char *host, uint64_t port,
                   uint32_t line)
{
    char text[IMPORT_ADDRESS_CAP];
    if (!check_port(im, host, port, line))
        return false;
    const bool numeric = write_numeric(host, port, text);
    if (!numeric && !host_name_is_valid(host)) {
        import_note(im, line, "%s: neither an address nor a name: left out", host);
        return false;
    }
    if (!numeric)
        snprintf(text, sizeof text, "%s:%" PRIu64, host, port);
    if (l->remote[0] != '\0' && strcmp(l->remote, text) != 0) {
        import_note(im, line, "%s: another duct of the same kind to node %" PRIu64 ": left out",
                    text, l->peer);
        return false;
    }
    memcpy(l->remote, text, sizeof text);
    return true;
}

bool import_local(struct import *im, enum import_adapter adapter, const char *host, uint64_t port,
                  uint32_t line)
{
    char text[IMPORT_ADDRESS_CAP];
    if (!check_port(im, host, port, line))
        return false;
    if (!write_numeric(host, port, text)) {
        snprintf(text, sizeof text, "0.0.0.0:%" PRIu64, port);
        if (host[0] != '\0')
            import_note(im, line, "%s: a name of this host: local is all its addresses, %s", host,
                        text);
    }
    if (im->local[adapter][0] != '\0' && strcmp(im->local[adapter], text) != 0) {
        import_note(im, line, "%s: links %s receive at %s already: left out", text,
                    adapters[adapter], im->local[adapter]);
        return false;
    }
    memcpy(im->local[adapter], text, sizeof text);
    return true;
}

/* --- writing --- */

/* Bundles for this node are delivered here; no link leads there. */
static void drop_loops(struct import *im)
{
    size_t kept = 0;
    for (size_t i = 0; i < im->links_len; i++) {
        if (im->links[i].peer == im->node) {
            import_note(im, 0, "a link of node %" PRIu64 " with itself: left out", im->node);
            im->own[im->links[i].adapter] = true;
        } else {
            im->links[kept++] = im->links[i];
        }
    }
    im->links_len = kept;
}

/* The second link with a neighbour has the adapter in its name. */
static const char *link_name(const struct import *im, const struct import_link *l, char out[48])
{
    bool other = false;
    for (const struct import_link *k = im->links; k < l; k++)
        other = other || k->peer == l->peer;
    snprintf(out, 48, "to-%" PRIu64 "%s%s", l->peer, other ? "-" : "",
             other ? adapters[l->adapter] : "");
    return out;
}

/* The longest light time between this node and the neighbour; that of the link when there is none.
 */
static tick find_owlt(const struct import *im, const struct import_link *l)
{
    tick owlt = l->owlt;
    for (size_t i = 0; i < im->ranges_len; i++) {
        const struct import_range *r = &im->ranges[i];
        if (((r->from == im->node && r->to == l->peer) ||
             (r->to == im->node && r->from == l->peer)) &&
            r->owlt > owlt)
            owlt = r->owlt;
    }
    return owlt;
}

/* Can it be a link as it is? */
static bool is_whole(const struct import_link *l)
{
    return !l->clash && l->remote[0] != '\0' && !l->tls_unknown;
}

/* A path or an address as a quoted value: [::1]:4556 would be a list. */
static void write_text(FILE *f, const char *text)
{
    fputc('"', f);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', f);
        fputc((unsigned char)*text < 0x20 ? '?' : *text, f);
    }
    fputc('"', f);
}

static void write_address(FILE *f, const char *mark, const char *key, const char *address)
{
    fprintf(f, "%s    %s: ", mark, key);
    if (address[0] == '[')
        write_text(f, address);
    else
        fputs(address, f);
    fputc('\n', f);
}

static void write_duration(FILE *f, const char *mark, const char *key, tick t)
{
    char text[CONF_NUMBER_CAP];
    if (t > 0)
        fprintf(f, "%s    %s: %s\n", mark, key, conf_number_text(OPTION_DURATION, t, text));
}

static void write_ltp(FILE *f, const char *mark, const struct import *im,
                      const struct import_link *l)
{
    char text[CONF_NUMBER_CAP];
    if (im->engine != 0 && im->engine != im->node)
        fprintf(f, "%s    engine: %" PRIu64 "\n", mark, im->engine);
    if (l->engine != l->peer)
        fprintf(f, "%s    peer_engine: %" PRIu64 "\n", mark, l->engine);
    if (l->segment > 0)
        fprintf(f, "%s    segment: %" PRIu64 "B\n", mark, l->segment);
    if (l->sessions > 0)
        fprintf(f, "%s    sessions: %" PRIu64 "\n", mark, l->sessions);
    if (l->import_sessions > SESSIONS_ALL)
        fprintf(f,
                "%s    limits: {import_sessions: %" PRIu64 ", import_sessions_all: %" PRIu64 "}\n",
                mark, l->import_sessions, l->import_sessions);
    else if (l->import_sessions > 0)
        fprintf(f, "%s    limits: {import_sessions: %" PRIu64 "}\n", mark, l->import_sessions);
    /* Without a light time the timer is the margin alone. */
    const tick owlt = find_owlt(im, l), margin = l->margin > 0 ? l->margin : TICK_S;
    write_duration(f, mark, "owlt", owlt);
    if (owlt == 0)
        write_duration(f, mark, "rto", margin);
    else if (l->margin > 0)
        fprintf(f, "%s    recovery: {margin: %s}\n", mark,
                conf_number_text(OPTION_DURATION, l->margin, text));
}

/* All addresses of this host when none is named: of the family of the remote one. */
static const char *local_address(const struct import *im, const struct import_link *l,
                                 char out[IMPORT_ADDRESS_CAP])
{
    static const char *const usual[IMPORT_ADAPTERS] = {"0.0.0.0:1113", "0.0.0.0:4556", "", ""};
    static const char any[] = "0.0.0.0";
    const char *local = l->local[0] != '\0'                ? l->local
                        : im->local[l->adapter][0] != '\0' ? im->local[l->adapter]
                                                           : usual[l->adapter];
    const bool other = l->remote[0] == '[' && strncmp(local, any, sizeof any - 1) == 0;
    if (other) /* its port */
        snprintf(out, IMPORT_ADDRESS_CAP, "[::]%.6s", local + sizeof any - 1);
    else
        snprintf(out, IMPORT_ADDRESS_CAP, "%s", local);
    return out;
}

static bool is_numeric(const char *remote)
{
    struct address a;
    return address_parse(remote, &a) == 0;
}

/* --- STCP: whose connections are accepted --- */

static bool has_host_of(const struct import_link *a, const struct import_link *b)
{
    const size_t n = (size_t)(strrchr(a->remote, ':') - a->remote);
    return strncasecmp(a->remote, b->remote, n + 1) == 0;
}

/* The link that connections from the host of l belong to; NULL: none yet. */
static const struct import_link *find_listener(const struct import *im, const struct import_link *l)
{
    for (const struct import_link *k = im->links; k < l; k++) {
        if (k->adapter == IMPORT_STCP && k->local[0] != '\0' && has_host_of(k, l))
            return k;
    }
    return NULL;
}

/* Links of one host cannot share the local address: the peer does not say which node it is. */
static void share_local(struct import *im, struct import_link *l)
{
    char local[IMPORT_ADDRESS_CAP], name[48], other[48];
    const struct import_link *k = find_listener(im, l);
    if (k != NULL) {
        import_note(im, 0,
                    "%s: has the host of %s: it only sends, and what comes from that host counts "
                    "as %s",
                    link_name(im, l, name), link_name(im, k, other), other);
        return;
    }
    (void)local_address(im, l, local);
    if ((local[0] == '[') == (l->remote[0] == '[') || !is_numeric(l->remote))
        memcpy(l->local, local, sizeof local);
    else
        import_note(im, 0, "%s: %s and %s are not both IPv4 or both IPv6: it only sends",
                    link_name(im, l, name), local, l->remote);
}

/* A link is identified by its local and remote address; one that sends to the same address as
 * another needs a port of its own. */
static void part_local(struct import *im, struct import_link *l)
{
    char name[48], other[48];
    for (const struct import_link *k = im->links; k < l; k++) {
        if (k->adapter == IMPORT_UDP && k->local[0] == '\0' &&
            strcasecmp(k->remote, l->remote) == 0) {
            snprintf(l->local, sizeof l->local, l->remote[0] == '[' ? "[::]:0" : "0.0.0.0:0");
            import_note(im, 0,
                        "%s: has the remote of %s: it sends from a port of its own, and what "
                        "comes from there counts as %s",
                        link_name(im, l, name), link_name(im, k, other), other);
            return;
        }
    }
}

/* LTP and UDP have one socket for both addresses. */
static void check_pair(struct import *im, struct import_link *l)
{
    char local[IMPORT_ADDRESS_CAP], name[48];
    (void)local_address(im, l, local);
    l->clash = (local[0] == '[') != (l->remote[0] == '[') || strcmp(local, l->remote) == 0;
    if (l->clash)
        import_note(im, 0,
                    "%s: local %s and remote %s: the same, or not both IPv4 or both IPv6: write "
                    "another local into this link, which stands in comments",
                    link_name(im, l, name), local, l->remote);
}

/* An induct whose sender no outduct names. */
static void note_lone_inducts(struct import *im)
{
    static const enum import_adapter both[] = {IMPORT_UDP, IMPORT_STCP};
    for (size_t b = 0; b < 2; b++) {
        bool lone = im->local[both[b]][0] != '\0' && !im->own[both[b]];
        for (size_t i = 0; i < im->links_len; i++)
            lone = lone && im->links[i].adapter != both[b];
        im->lone[both[b]] = lone;
        if (lone)
            import_note(im, 0,
                        "induct %s at %s: no outduct names a neighbour that would send there: "
                        "complete the link in comments",
                        adapters[both[b]], im->local[both[b]]);
    }
}

static void settle_inducts(struct import *im)
{
    for (size_t i = 0; i < im->links_len; i++) {
        struct import_link *l = &im->links[i];
        if (l->adapter == IMPORT_STCP && im->local[IMPORT_STCP][0] != '\0' && l->remote[0] != '\0')
            share_local(im, l);
        else if (l->adapter == IMPORT_UDP && l->remote[0] != '\0')
            part_local(im, l);
        if ((l->adapter == IMPORT_UDP || l->adapter == IMPORT_LTP) && is_numeric(l->remote))
            check_pair(im, l);
    }
    note_lone_inducts(im);
}

static void write_lone_induct(FILE *f, const struct import *im, enum import_adapter adapter)
{
    fprintf(f, "#   - name: from-%s\n#     adapter: %s\n#     peer: ipn:NODE.0\n",
            adapters[adapter], adapters[adapter]);
    write_address(f, "# ", "local", im->local[adapter]);
    fprintf(f, adapter == IMPORT_STCP ? "#     source: any\n" : "#     remote: ADDRESS:PORT\n");
}

static void write_stcp(FILE *f, const char *mark, const struct import_link *l)
{
    char text[CONF_NUMBER_CAP];
    if (l->window > 0)
        fprintf(f, "%s    window: %" PRIu64 "\n", mark, l->window);
    if (l->window_bytes > 0)
        fprintf(f, "%s    limits: {window_bytes: %" PRIu64 "B}\n", mark, l->window_bytes);
    if (l->keepalive_given)
        fprintf(f, "%s    keepalive: %s\n", mark,
                conf_number_text(OPTION_DURATION, l->keepalive, text));
}

/* STCP: "" where only this node sends. */
static const char *find_local(const struct import *im, const struct import_link *l,
                              char out[IMPORT_ADDRESS_CAP])
{
    if (l->adapter == IMPORT_LTP || l->adapter == IMPORT_UDP)
        return local_address(im, l, out);
    return l->local;
}

/* A link that a person must complete is written in comments. */
static void write_link(FILE *f, const struct import *im, const struct import_link *l)
{
    const char *mark = is_whole(l) ? "" : "# ";
    char local[IMPORT_ADDRESS_CAP];
    char name[48];
    fprintf(f, "%s  - name: %s\n%s    adapter: %s\n%s    peer: ipn:%" PRIu64 ".0\n", mark,
            link_name(im, l, name), mark, adapters[l->adapter], mark, l->peer);
    if (find_local(im, l, local)[0] != '\0')
        write_address(f, mark, "local", find_local(im, l, local));
    write_address(f, mark, "remote", l->remote[0] != '\0' ? l->remote : "ADDRESS:PORT");
    if (l->rate > 0)
        fprintf(f, "%s    rate: %" PRIu64 "bit/s\n", mark, l->rate);
    if (l->adapter == IMPORT_LTP)
        write_ltp(f, mark, im, l);
    if (l->adapter == IMPORT_STCP)
        write_stcp(f, mark, l);
    if (l->adapter == IMPORT_TCPCL)
        fprintf(f, "%s    tls: %s\n", mark, l->tls_unknown ? "required" : "off");
}

static const struct import_link *find_gateway(const struct import *im, uint64_t node)
{
    for (size_t i = 0; i < im->links_len; i++) {
        if (im->links[i].peer == node && is_whole(&im->links[i]))
            return &im->links[i];
    }
    return NULL;
}

static void write_routes(FILE *f, const struct import *im)
{
    char name[48];
    bool any = false;
    for (size_t i = 0; i < im->routes_len; i++) {
        const struct import_route *r = &im->routes[i];
        const struct import_link *via = find_gateway(im, r->via);
        if (!any)
            fprintf(f, via != NULL ? "routes:\n" : "# routes:\n");
        any = any || via != NULL;
        fprintf(f, via != NULL ? "" : "# ");
        if (r->first == r->last)
            fprintf(f, "  - {to: \"ipn:%" PRIu64 ".*\", via: ", r->first);
        else
            fprintf(f, "  - {to: \"ipn:[%" PRIu64 "-%" PRIu64 "].*\", via: ", r->first, r->last);
        if (via != NULL)
            fprintf(f, "%s}\n", link_name(im, via, name));
        else
            fprintf(f, "to-%" PRIu64 "}\n", r->via);
    }
}

int import_write(FILE *f, struct import *im)
{
    bool links = false;
    drop_loops(im);
    settle_inducts(im);
    fprintf(f, "node: ipn:%" PRIu64 ".0\n", im->node);
    fprintf(f, "socket: /tmp/helio-%" PRIu64 ".sock\n", im->node);
    fprintf(f, "store: {path: /tmp/helio-%" PRIu64 ".store, durability: sync", im->node);
    if (im->store_limit > 0)
        fprintf(f, ", limit: %" PRIu64 "B", im->store_limit);
    fprintf(f, "}\n");
    if (im->bundle_max > 0)
        fprintf(f, "bundles: {max: %" PRIu64 "B}\n", im->bundle_max);
    if (im->plan != NULL) {
        fprintf(f, "plan: ");
        write_text(f, im->plan);
        fputc('\n', f);
    }
    for (size_t i = 0; i < im->links_len; i++) {
        if (!links && is_whole(&im->links[i]))
            fprintf(f, "links:\n");
        links = links || is_whole(&im->links[i]);
        write_link(f, im, &im->links[i]);
    }
    for (int a = 0; a < IMPORT_ADAPTERS; a++) {
        if (im->lone[a])
            write_lone_induct(f, im, (enum import_adapter)a);
    }
    write_routes(f, im);
    return fflush(f) != 0 || ferror(f) ? -1 : 0;
}
