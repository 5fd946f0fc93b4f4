/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS of a session. After the contact headers a TLS stream is made over the connection. SESS_INIT
 * names the peer: then its certificate is compared with that name. A connecting peer has no name
 * during the handshake, so the certificates and the mode of the local address's first link are used
 * there, and the rules of the peer's link afterwards. What can go wrong: files (at the start
 * reported with their key; later the old ones stay, reported once), the handshake, a certificate
 * without the peer's node ID.
 */
#include "cla/tcpcl/tcpcl_tls.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cla/tcpcl/tcpcl_link.h"
#include "conf/json_number.h"

#define SOON (14 * INT64_C(86400)) /* s: an expiring certificate is reported so long before */

static const char *const keys[] = {"tls.certificate", "tls.key", "tls.ca"};
static const char *const rules_text[] = {"node", "host", "address", "ca", "none"};

const char *tcpcl_trust_text(enum tcpcl_trust t)
{
#define TCPCL_TRUST_TEXT(name, text) text,
    static const char *const texts[] = {TCPCL_TRUSTS(TCPCL_TRUST_TEXT)};
#undef TCPCL_TRUST_TEXT
    return (unsigned)t < TCPCL_TRUST_COUNT ? texts[t] : "?";
}

/* ---- certificates ---- */

int tcpcl_tls_load(struct tls **out, const struct tcpcl_config *k, const char **key, char *why,
                   size_t why_cap)
{
    char text[TLS_WHY_MAX] = "";
    unsigned file = 0;
    const struct tls_files files = {k->tls_certificate, k->tls_key, k->tls_ca};
    *out = NULL;
    if (tcpcl_tls_mode(k) == TCPCL_TLS_OFF)
        return 0;
    int r = tls_new(out, &files, &file, text);
    *key = r == HELIO_EINVAL ? keys[file] : "tls";
    if (r != 0)
        snprintf(why, why_cap, "%s", r == HELIO_EINVAL ? text : helio_strerror(r));
    return r;
}

int tcpcl_tls_open(struct tls **out, const struct tcpcl_config *k, char *why, size_t why_cap)
{
    const char *key = "";
    char text[TLS_WHY_MAX] = "";
    int r = tcpcl_tls_load(out, k, &key, text, sizeof text);
    if (r != 0)
        snprintf(why, why_cap, "%s: %s", key, text);
    return r;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a == NULL ? "" : a, b == NULL ? "" : b) == 0;
}

bool tcpcl_tls_differs(const struct tcpcl_config *a, const struct tcpcl_config *b)
{
    return (tcpcl_tls_mode(a) == TCPCL_TLS_OFF) != (tcpcl_tls_mode(b) == TCPCL_TLS_OFF) ||
           !same_text(a->tls_certificate, b->tls_certificate) ||
           !same_text(a->tls_key, b->tls_key) || !same_text(a->tls_ca, b->tls_ca);
}

/* The link whose rules apply before the peer has identified itself. */
static struct tcpcl_link *first_link(const struct tcpcl_conn *c)
{
    return c->link != NULL ? c->link : tcpcl_first_link(c->endpoint);
}

static void on_read_again(void *context, int r, unsigned file, const char *why)
{
    struct tcpcl_link *l = context;
    struct tcpcl_tls_counters *n = &l->endpoint->tls_n;
    assert(l->tls != NULL && !tls_reloading(l->tls));
    n->reloads += r == 0;
    n->reloads_failed += r != 0;
    if (r == 0) {
        tcpcl_tls_say(l, 2, "the certificates were read again");
    } else {
        /* once for each change of the files */
        cla_say(&l->cla, 1, "%s: %s; the earlier certificates stay in use", keys[file],
                r == HELIO_EINVAL ? why : helio_strerror(r));
    }
    tcpcl_files_read(l->endpoint);
}

/* True: another thread does, or has begun to before. */
static bool reads_again(struct tcpcl_link *l)
{
    char why[TLS_WHY_MAX] = "";
    unsigned file = 0;
    if (tls_reloading(l->tls))
        return true;
    if (!tls_changed(l->tls))
        return false;
    if (tls_reload_later(l->tls, l->env.world, on_read_again, l))
        return true;
    const int r = tls_reload(l->tls, &file, why);
    on_read_again(l, r, file, why);
    return false;
}

bool tcpcl_tls_reading(const struct tcpcl_conn *c)
{
    const struct tls *t = first_link(c)->tls;
    return t != NULL && tls_reloading(t);
}

static void warn_of_end(struct tcpcl_link *l)
{
    struct tls_own own;
    int64_t now = (int64_t)(world_wall(l->env.world) / TICK_S);
    tls_own(l->tls, &own);
    if (now <= 0 || own.not_after <= 0 || now <= own.not_after - SOON)
        return;
    if (now > own.not_after)
        tcpcl_tls_say(
            l, 1,
            "%s: this node's certificate ended %lld hours ago, and peers refuse it; write "
            "a new one",
            keys[0], (long long)((now - own.not_after) / 3600));
    else
        tcpcl_tls_say(l, 1, "%s: this node's certificate ends in %lld hours", keys[0],
                      (long long)((own.not_after - now) / 3600));
}

/* ---- the handshake ---- */

static const char *peer_text(const struct tcpcl_conn *c, char out[ADDRESS_TEXT_MAX])
{
    struct address at;
    return stream_peer(c->stream, &at) ? address_write(&at, out) : "a UNIX socket";
}

/* Has this host reached the limit of running handshakes? */
static bool has_enough(struct tcpcl_conn *c)
{
    unsigned under_way = 0;
    if (!tcpcl_find_host(c) || c->active)
        return false;
    list_for_each (it, &c->endpoint->unidentified) {
        const struct tcpcl_conn *other = container_of(it, struct tcpcl_conn, node);
        under_way += (other->securing || other->awaits_files) &&
                     memcmp(other->host, c->host, sizeof c->host) == 0;
    }
    assert(under_way <= TCPCL_SHAKES_MAX);
    return under_way == TCPCL_SHAKES_MAX;
}

enum tcpcl_tls_start tcpcl_tls_begin(struct tcpcl_conn *c)
{
    struct tcpcl_link *l = first_link(c);
    struct stream *secure;
    assert(!c->securing && !c->secure && !c->awaits_files);
    char from[ADDRESS_TEXT_MAX];
    if (l->tls == NULL) {
        tcpcl_tls_say(l, 1, "no TLS: it was switched off while a connection began");
        return TCPCL_TLS_NOT;
    }
    if (has_enough(c)) {
        c->endpoint->tls_n.turned_away++;
        tcpcl_tls_say(l, 1,
                      "a connection from %s is closed: %d TLS handshakes with that address are "
                      "under way (%llu closed so far)",
                      peer_text(c, from), TCPCL_SHAKES_MAX,
                      (unsigned long long)c->endpoint->tls_n.turned_away);
        return TCPCL_TLS_NOT;
    }
    c->awaits_files = reads_again(l);
    if (c->awaits_files)
        return TCPCL_TLS_LATER;
    warn_of_end(l);
    const struct tcpcl_config *k = l->config;
    bool named = k->tls_host != NULL && k->tls_host[0] != '\0';
    const struct tls_setup setup = {.server = !c->active,
                                    .verify = k->tls_peer != TCPCL_BY_NONE,
                                    .any_purpose = k->tls_purpose != 0,
                                    .nodes_issue = k->tls_ca_nodes != 0,
                                    .host = named && c->active ? k->tls_host : NULL};
    int r = tls_stream(&secure, l->tls, c->endpoint->s.world, c->stream, &setup);
    if (r != 0) {
        c->endpoint->tls_n.failed++;
        c->endpoint->tls_n.failed_by[CLA_TLS_HANDSHAKE]++;
        tcpcl_tls_say(l, 1, "no TLS: %s", helio_strerror(r));
        return TCPCL_TLS_NOT;
    }
    c->stream = secure;
    c->securing = true;
    return TCPCL_TLS_BEGUN;
}

void tcpcl_tls_done(struct tcpcl_conn *c)
{
    assert(c->securing && !c->secure);
    c->securing = false;
    c->secure = true;
    c->endpoint->tls_n.sessions++;
}

const char *tcpcl_tls_why(const struct tcpcl_conn *c)
{
    bool tls = (c->secure || c->securing) && helio_code(c->error) == HELIO_EFORMAT;
    return tls ? tls_why(c->stream) : helio_strerror(c->error);
}

static enum cla_tls_refusal find_fault(const struct tcpcl_conn *c)
{
    const enum tls_fault f =
        helio_code(c->error) == HELIO_EFORMAT ? tls_fault(c->stream) : TLS_FAULT_OTHER;
    assert(c->securing && (unsigned)f <= TLS_FAULT_OTHER);
    return f == TLS_FAULT_CERTIFICATE ? CLA_TLS_CERTIFICATE
           : f == TLS_FAULT_BY_PEER   ? CLA_TLS_BY_PEER
                                      : CLA_TLS_HANDSHAKE;
}

void tcpcl_tls_failed(struct tcpcl_conn *c, int error)
{
    assert(c->securing);
    c->error = error;
    c->endpoint->tls_n.failed++;
    c->endpoint->tls_n.failed_by[find_fault(c)]++;
    char from[ADDRESS_TEXT_MAX];
    if (c->link != NULL) { /* this side connected */
        tcpcl_down(c->link, 1, "the TLS handshake with the peer at %s failed: %s",
                   peer_text(c, from), tcpcl_tls_why(c));
        tcpcl_refused(c->link);
    } else {
        tcpcl_tls_say(first_link(c), 1, "the TLS handshake with a connecting peer at %s failed: %s",
                      peer_text(c, from), tcpcl_tls_why(c));
    }
    c->securing = false;
}

/* ---- identity of the peer ---- */

/* §4.4.1: names that are no node's do not count. */
static enum tls_match match_node(const struct tls_peer *p, const struct eid *who)
{
    enum tls_match m = TLS_ABSENT;
    for (size_t i = 0; i < p->names_len; i++) {
        struct eid named;
        if (p->names[i].kind != TLS_BUNDLE_EID || eid_parse(p->names[i].text, &named) != 0 ||
            !eid_is_node(&named))
            continue;
        if (eid_same_node(&named, who))
            return TLS_SUCCESS;
        m = TLS_FAILURE;
    }
    return m;
}

static enum tls_match match_address(const struct tcpcl_conn *c)
{
    struct address at;
    return stream_peer(c->stream, &at) ? tls_match_address(c->stream, &at) : TLS_FAILURE;
}

static enum tcpcl_trust judge_names(const struct tcpcl_conn *c, const struct tcpcl_config *k,
                                    const struct tls_peer *p, const struct eid *who)
{
    enum tls_match node = match_node(p, who);
    if (node == TLS_FAILURE)
        return TCPCL_TRUST_OTHER_NODE;
    if (k->tls_peer == TCPCL_BY_NODE && node != TLS_SUCCESS)
        return TCPCL_TRUST_NO_NODE;
    if (k->tls_peer == TCPCL_BY_HOST && tls_match_host(c->stream, k->tls_host) != TLS_SUCCESS)
        return TCPCL_TRUST_OTHER_HOST;
    if (k->tls_peer == TCPCL_BY_ADDRESS && match_address(c) != TLS_SUCCESS)
        return TCPCL_TRUST_OTHER_ADDRESS;
    return TCPCL_TRUST_GIVEN;
}

static enum tcpcl_trust judge_peer(const struct tcpcl_conn *c, const struct tcpcl_config *k,
                                   const struct eid *who)
{
    struct tls_peer p;
    if (!c->secure)
        return k->tls == TCPCL_TLS_REQUIRED ? TCPCL_TRUST_PLAIN : TCPCL_TRUST_GIVEN;
    if (k->tls_peer == TCPCL_BY_NONE || tcpcl_tls_mode(k) == TCPCL_TLS_OFF)
        return TCPCL_TRUST_GIVEN;
    if (!tls_peer(c->stream, &p) || !p.verified)
        return TCPCL_TRUST_UNVERIFIED;
    return judge_names(c, k, &p, who);
}

#define REFUSED "the peer at %s that calls itself \"%s\" is refused: %s%s%s"

/* For unconfigured peers the rules of another link apply; they are not the reason why that link is
 * down. */
static void tell_refused(const struct tcpcl_conn *c, struct tcpcl_link *rules,
                         const struct eid *who, enum tcpcl_trust t, const struct tls_peer *p)
{
    char from[ADDRESS_TEXT_MAX];
    const char *at = peer_text(c, from), *name = tcpcl_peer(c->session)->node_id;
    assert(t > TCPCL_TRUST_GIVEN && t < TCPCL_TRUST_COUNT);
    const char *which = p->subject[0] != '\0' ? "; its subject is " : "";
    if (c->link == rules || eid_same_node(&rules->env.peer, who)) {
        tcpcl_down(rules, 1, REFUSED, at, name, tcpcl_trust_text(t), which, p->subject);
        tcpcl_refused(rules);
    } else {
        tcpcl_tls_say(rules, 1, REFUSED, at, name, tcpcl_trust_text(t), which, p->subject);
    }
}

bool tcpcl_tls_trusts(struct tcpcl_conn *c, struct tcpcl_link *rules, const struct eid *who)
{
    struct tls_peer p = {.subject = ""};
    enum tcpcl_trust t = judge_peer(c, rules->config, who);
    assert(t < TCPCL_TRUST_COUNT);
    if (t == TCPCL_TRUST_GIVEN) {
        c->trusted_by = rules->config->tls_peer;
        return true;
    }
    c->endpoint->tls_n.refused[t]++;
    if (c->secure)
        (void)tls_peer(c->stream, &p);
    tell_refused(c, rules, who, t, &p);
    return false;
}

bool tcpcl_tls_verified(const struct tcpcl_conn *c)
{
    struct tls_peer p;
    return c->secure && c->trusted_by != TCPCL_BY_NONE && tls_peer(c->stream, &p) && p.verified;
}

/* The rules may have changed since it was admitted. */
bool tcpcl_tls_names(const struct tcpcl_conn *c, const struct tcpcl_link *rules,
                     const struct eid *who)
{
    struct tls_peer p;
    const struct tcpcl_config *k = rules->config;
    if (k->tls_peer == TCPCL_BY_NONE || tcpcl_tls_mode(k) == TCPCL_TLS_OFF)
        return false;
    return tcpcl_tls_verified(c) && judge_peer(c, k, who) == TCPCL_TRUST_GIVEN &&
           tls_peer(c->stream, &p) && match_node(&p, who) == TLS_SUCCESS;
}

/* ---- status ---- */

static json_t *list_names(const struct tls_peer *p)
{
    json_t *o = json_array();
    for (size_t i = 0; i < p->names_len; i++)
        json_array_append_new(o, json_string(p->names[i].text));
    return o;
}

struct json_t *tcpcl_tls_show(const struct tcpcl_conn *c)
{
    struct tls_peer p;
    if (!c->secure || !tls_peer(c->stream, &p))
        return json_null();
    json_t *o = json_object();
    json_object_set_new(o, "version", json_string(p.version));
    json_object_set_new(o, "cipher", json_string(p.cipher));
    json_object_set_new(o, "verified", json_boolean(p.verified));
    if (p.unverified != NULL)
        json_object_set_new(o, "unverified", json_string(p.unverified));
    json_object_set_new(o, "subject", json_string(p.subject));
    json_object_set_new(o, "names", list_names(&p));
    if (tcpcl_state(c->session) >= TCPCL_IN_UP)
        json_object_set_new(o, "authenticated_by", json_string(rules_text[c->trusted_by]));
    return o;
}

void tcpcl_tls_gauges(const struct tcpcl_link *l, struct cla_gauges *out)
{
    static const enum cla_tls_refusal as[TCPCL_TRUST_COUNT] = {
        [TCPCL_TRUST_PLAIN] = CLA_TLS_PLAIN,
        [TCPCL_TRUST_UNVERIFIED] = CLA_TLS_CERTIFICATE,
        [TCPCL_TRUST_NO_NODE] = CLA_TLS_NO_NODE,
        [TCPCL_TRUST_OTHER_NODE] = CLA_TLS_OTHER_NODE,
        [TCPCL_TRUST_OTHER_HOST] = CLA_TLS_OTHER_HOST,
        [TCPCL_TRUST_OTHER_ADDRESS] = CLA_TLS_OTHER_ADDRESS};
    const struct tcpcl_tls_counters *n = &l->endpoint->tls_n;
    struct tls_own own;
    assert(!out->tls && out->tls_ends == 0);
    if (l->tls == NULL)
        return;
    tls_own(l->tls, &own);
    out->tls = true;
    out->tls_ends = own.not_after;
    out->tls_ca_ends = own.ca_not_after;
    memcpy(out->tls_refused, n->failed_by, sizeof out->tls_refused);
    out->tls_refused[CLA_TLS_TOO_MANY] += n->turned_away;
    for (unsigned t = TCPCL_TRUST_GIVEN + 1; t < TCPCL_TRUST_COUNT; t++)
        out->tls_refused[as[t]] += n->refused[t];
}

static json_t *list_failures(const struct tcpcl_tls_counters *n)
{
    json_t *o = json_object();
    for (unsigned r = 0; r < CLA_TLS_COUNT; r++)
        if (n->failed_by[r] > 0)
            json_put_number(o, cla_tls_text((enum cla_tls_refusal)r), n->failed_by[r]);
    return o;
}

void tcpcl_tls_put(struct json_t *o, const struct tcpcl_link *l)
{
    static const char *const modes[] = {"off", "optional", "required"};
    const struct tcpcl_tls_counters *n = &l->endpoint->tls_n;
    json_t *refused = json_object();
    json_object_set_new(o, "tls", json_string(modes[tcpcl_tls_mode(l->config)]));
    json_put_number(o, "tls_sessions", n->sessions);
    json_put_number(o, "tls_plain", n->plain);
    json_put_number(o, "tls_failed", n->failed);
    json_object_set_new(o, "tls_failed_by", list_failures(n));
    json_put_number(o, "tls_turned_away", n->turned_away);
    json_put_number(o, "tls_reloads", n->reloads);
    json_put_number(o, "tls_reloads_failed", n->reloads_failed);
    for (unsigned t = TCPCL_TRUST_GIVEN + 1; t < TCPCL_TRUST_COUNT; t++)
        if (n->refused[t] > 0)
            json_put_number(refused, tcpcl_trust_text((enum tcpcl_trust)t), n->refused[t]);
    json_object_set_new(o, "tls_refused", refused);
    if (l->tls == NULL)
        return;
    struct tls_own own;
    tls_own(l->tls, &own);
    json_put_number(o, "tls_loads", own.loads);
    json_object_set_new(o, "tls_not_after", json_integer(own.not_after));
    json_object_set_new(o, "tls_ca_not_after", json_integer(own.ca_not_after));
}
