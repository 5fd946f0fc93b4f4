/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which session may use a link's name. Without TLS a Node ID is only stated, and several peers may
 * state the same one. Evidence for a session, from weakest to strongest: it states the name; its
 * host had the name before; it is at the link's `remote`; a verified certificate has the name.
 *
 * The link's bundles are sent over the newest session with the strongest evidence. A session that
 * only states the name while another host has it receives bundles as usual, but no bundle is sent
 * to it until the others have been gone for TCPCL_CLAIM_GRACE. The session that has the name may be
 * dead without detection, and the other one may be the same peer at a new address. So it is probed:
 * a KEEPALIVE is sent, and if the peer's system has not acknowledged it after TCPCL_PROBE, the
 * session ends.
 *
 * If both ends connect at the same time and the link has room for one session only, both ends keep
 * the same connection.
 */
#include <assert.h>
#include <string.h>

#include "cla/tcpcl/tcpcl_link.h"

#define SAY_PAUSE (10 * TICK_S)

static tick time_of(const struct tcpcl_link *l)
{
    return world_now(l->env.world);
}

/* Streams without an address (UNIX sockets, whose file permissions limit access) all belong to one
 * host. */
bool tcpcl_find_host(struct tcpcl_conn *c)
{
    struct address at;
    uint8_t key[ADDRESS_KEY_MAX];
    memset(c->host, 0, ADDRESS_KEY_HOST);
    if (!stream_peer(c->stream, &at))
        return false;
    const struct slice s = address_key(&at, key);
    assert(s.len == 0 || s.len >= ADDRESS_KEY_HOST);
    memcpy(c->host, key, s.len == 0 ? 0 : ADDRESS_KEY_HOST);
    return true;
}

static bool is_remote(const struct tcpcl_link *l, const struct tcpcl_conn *c)
{
    return remote_name_has_key(&l->remote, c->host);
}

void tcpcl_claim_note(const struct tcpcl_link *l, struct tcpcl_conn *c)
{
    const bool known = tcpcl_find_host(c);
    c->claim = TCPCL_CLAIM_NAME;
    if (tcpcl_tls_verified(c))
        c->claim = TCPCL_CLAIM_CERTIFICATE;
    else if (c->active || !known || is_remote(l, c))
        c->claim = TCPCL_CLAIM_REMOTE;
}

enum tcpcl_claim tcpcl_claim_of(const struct tcpcl_link *l, const struct tcpcl_conn *c)
{
    const bool had = l->has_host && memcmp(c->host, l->host, ADDRESS_KEY_HOST) == 0;
    return c->claim == TCPCL_CLAIM_NAME && had ? TCPCL_CLAIM_HOST : c->claim;
}

const char *tcpcl_claim_text(enum tcpcl_claim claim)
{
    static const char *const texts[] = {"name", "host", "remote", "certificate"};
    assert((unsigned)claim < sizeof texts / sizeof *texts);
    return texts[claim];
}

static bool same_host(const struct tcpcl_conn *a, const struct tcpcl_conn *b)
{
    assert(a != NULL && b != NULL);
    return memcmp(a->host, b->host, ADDRESS_KEY_HOST) == 0;
}

/* The one with the best claim; of several the newest. NULL: none is established. */
static struct tcpcl_conn *find_best(const struct tcpcl_link *l)
{
    struct tcpcl_conn *best = NULL;
    list_for_each (it, &l->conns) {
        struct tcpcl_conn *c = container_of(it, struct tcpcl_conn, node);
        if (c->up && !c->cut && (best == NULL || tcpcl_claim_of(l, c) > tcpcl_claim_of(l, best)))
            best = c;
    }
    return best;
}

/* Of sessions that only state the name: the newest of the first host. */
static struct tcpcl_conn *find_first(const struct tcpcl_link *l)
{
    struct tcpcl_conn *oldest = NULL;
    list_for_each (it, &l->conns) {
        struct tcpcl_conn *c = container_of(it, struct tcpcl_conn, node);
        oldest = c->up && !c->cut ? c : oldest;
    }
    list_for_each (it, &l->conns) {
        struct tcpcl_conn *c = container_of(it, struct tcpcl_conn, node);
        if (c->up && !c->cut && same_host(c, oldest))
            return c;
    }
    return oldest;
}

struct tcpcl_conn *tcpcl_sender(const struct tcpcl_link *l)
{
    struct tcpcl_conn *best = find_best(l);
    if (best == NULL || tcpcl_claim_of(l, best) > TCPCL_CLAIM_NAME)
        return best;
    return time_of(l) < tick_add(l->host_left, TCPCL_CLAIM_GRACE) ? NULL : find_first(l);
}

bool tcpcl_claimed(const struct tcpcl_link *l)
{
    list_for_each (it, &l->conns)
        if (container_of(it, struct tcpcl_conn, node)->claim >= TCPCL_CLAIM_REMOTE)
            return true;
    return false;
}

/* ---- the host that has the name ---- */

static void take_host(struct tcpcl_link *l, const struct tcpcl_conn *c)
{
    assert(c != NULL);
    memcpy(l->host, c->host, ADDRESS_KEY_HOST);
    l->has_host = true;
}

void tcpcl_claim_left(struct tcpcl_link *l, const struct tcpcl_conn *c)
{
    if (c->was_up && tcpcl_claim_of(l, c) > TCPCL_CLAIM_NAME)
        l->host_left = time_of(l);
}

/* A host that has been away for long has lost the name to the host that has used it since. */
static tick tend_host(struct tcpcl_link *l, tick now)
{
    const struct tcpcl_conn *best = find_best(l);
    if (best == NULL || tcpcl_claim_of(l, best) > TCPCL_CLAIM_NAME)
        return TICK_NEVER;
    const tick lost = tick_add(l->host_left, TCPCL_CLAIM_KEPT);
    if (now >= lost) {
        take_host(l, find_first(l));
        return TICK_NEVER;
    }
    const tick sends = tick_add(l->host_left, TCPCL_CLAIM_GRACE);
    return now < sends ? sends : lost;
}

/* ---- a second session says the name ---- */

static void probe_conn(struct tcpcl_conn *c)
{
    const tick now = time_of(c->link);
    if (c->probe_at != TICK_NEVER || now < c->probe_after)
        return;
    c->probe_at = tick_add(now, TCPCL_PROBE);
    c->probe_after = tick_add(now, TCPCL_PROBE_PAUSE);
    c->probe_rx = c->n.rx_bytes;
    tcpcl_alive(c->session);
    tcpcl_conn_touch(c);
    stream_endpoint_wake_at(&c->endpoint->s, c->probe_at);
}

static bool is_dead(const struct tcpcl_conn *c)
{
    assert(c->n.rx_bytes >= c->probe_rx);
    return c->n.rx_bytes == c->probe_rx && stream_unheard(c->stream) > 0;
}

static tick tend_probe(struct tcpcl_conn *c, tick now)
{
    if (now < c->probe_at)
        return c->probe_at;
    c->probe_at = TICK_NEVER;
    if (is_dead(c)) {
        tcpcl_silent(c->session, now);
        tcpcl_conn_touch(c);
    }
    return TICK_NEVER;
}

static void say_contested(struct tcpcl_link *l, const struct tcpcl_conn *c,
                          const struct tcpcl_conn *before)
{
    struct address at;
    char from[ADDRESS_TEXT_MAX] = "a session that ended", had[ADDRESS_TEXT_MAX] = "one that ended";
    const bool wins = tcpcl_claim_of(l, c) > tcpcl_claim_of(l, before);
    if (time_of(l) < l->contest_say_after)
        return;
    l->contest_say_after = tick_add(time_of(l), SAY_PAUSE);
    if (stream_peer(c->stream, &at))
        address_write(&at, from);
    if (stream_peer(before->stream, &at))
        address_write(&at, had);
    cla_say(
        &l->cla, 1,
        "%s and %s both say that they are \"%s\" (%llu times so far): bundles go to %s, which %s",
        from, had, tcpcl_peer(c->session)->node_id, (unsigned long long)l->contested,
        wins ? from : had,
        wins ? "has the better proof" : "has been there; only TLS proves a name");
}

/* Another session that says the same name, with the best claim; NULL: there is none. */
static struct tcpcl_conn *find_rival(const struct tcpcl_link *l, const struct tcpcl_conn *c)
{
    struct tcpcl_conn *best = NULL;
    list_for_each (it, &l->conns) {
        struct tcpcl_conn *other = container_of(it, struct tcpcl_conn, node);
        if (other != c && other->up &&
            (best == NULL || tcpcl_claim_of(l, other) > tcpcl_claim_of(l, best)))
            best = other;
    }
    return best;
}

void tcpcl_claim_contest(struct tcpcl_link *l, const struct tcpcl_conn *c)
{
    struct tcpcl_conn *before = find_rival(l, c);
    assert(c->claim != TCPCL_CLAIM_HOST); /* that is never noted */
    if (before == NULL || same_host(before, c) || c->claim == TCPCL_CLAIM_CERTIFICATE)
        return;
    l->contested++;
    say_contested(l, c, before);
    if (tcpcl_claim_of(l, c) <= tcpcl_claim_of(l, before))
        probe_conn(before);
}

void tcpcl_claim_up(struct tcpcl_conn *c)
{
    struct tcpcl_link *l = c->link;
    assert(c->up);
    tcpcl_claim_contest(l, c);
    if (!l->has_host || c->claim > TCPCL_CLAIM_HOST)
        take_host(l, c);
}

/* ---- number of sessions ---- */

static bool is_ending(const struct tcpcl_conn *c)
{
    assert(c->session != NULL);
    return tcpcl_state(c->session) >= TCPCL_IN_ENDING;
}

/* Number of sessions other than `fresh`. Ending sessions count as well, except those that end in
 * this round. */
static size_t count_places(const struct tcpcl_link *l, const struct tcpcl_conn *fresh,
                           bool with_ending)
{
    size_t n = 0;
    list_for_each (it, &l->conns) {
        const struct tcpcl_conn *c = container_of(it, struct tcpcl_conn, node);
        n += c != fresh && !c->cut && (with_ending || !is_ending(c));
    }
    assert(n <= l->conns_len);
    return n;
}

/* Of the sessions with a lesser claim than `fresh`, which end already or do not: the oldest of
 * those with the least claim. NULL: there is none. */
static struct tcpcl_conn *find_weaker(const struct tcpcl_link *l, const struct tcpcl_conn *fresh,
                                      bool ending)
{
    struct tcpcl_conn *least = NULL;
    list_for_each (it, &l->conns) {
        struct tcpcl_conn *c = container_of(it, struct tcpcl_conn, node);
        const enum tcpcl_claim claim = tcpcl_claim_of(l, c);
        if (c->cut || is_ending(c) != ending || claim >= tcpcl_claim_of(l, fresh))
            continue;
        if (least == NULL || claim <= tcpcl_claim_of(l, least))
            least = c;
    }
    return least;
}

/* A connection of this side that has not become a session, and was not ended; NULL: none. */
static struct tcpcl_conn *find_called(const struct tcpcl_link *l)
{
    list_for_each (it, &l->conns) {
        struct tcpcl_conn *c = container_of(it, struct tcpcl_conn, node);
        if (c->active && !c->was_up && !c->cut)
            return c;
    }
    return NULL;
}

/* Both ends connected at the same time, and one of both connections must end (RFC 9174 leaves it
 * open): that of the node with the lower name, by text. Both ends judge with the SESS_INIT of the
 * peer's connection. One without a byte of the peer has not sent its own SESS_INIT: it ends for a
 * connection that works, and the peer has not judged it. Only for connections from the host that
 * this side calls, or with a certificate: others would end each attempt to reach the peer. */
static bool yields_called(const struct tcpcl_link *l, const struct tcpcl_conn *own)
{
    char here[EID_TEXT_MAX], there[EID_TEXT_MAX];
    assert(own->active);
    if (is_ending(own) || own->n.rx_bytes == 0)
        return true;
    eid_text(&l->env.node, here);
    eid_text(&l->env.peer, there);
    return strcmp(here, there) < 0;
}

void tcpcl_claim_cut(struct tcpcl_conn *c)
{
    assert(c->link != NULL && !c->cut);
    c->cut = true;
    tcpcl_cut(c->session, time_of(c->link));
    tcpcl_conn_touch(c);
}

/* If the number of sessions is at its limit, one with weaker evidence ends for the new one. It has
 * the time `ending` for its transfers, so up to `sessions` of them may exist in addition. Beyond
 * that, one ends at once. */
bool tcpcl_claim_place(struct tcpcl_link *l, const struct tcpcl_conn *fresh)
{
    const size_t max = l->config->sessions, all = count_places(l, fresh, true);
    const bool full = count_places(l, fresh, false) >= max;
    struct tcpcl_conn *const out = find_weaker(l, fresh, false);
    struct tcpcl_conn *const ending = find_weaker(l, fresh, true);
    if (all < max)
        return true;
    struct tcpcl_conn *const own = fresh->active ? NULL : find_called(l);
    if (own != NULL && all == max && tcpcl_claim_of(l, fresh) >= TCPCL_CLAIM_REMOTE) {
        const bool yields = yields_called(l, own);
        if (yields && !is_ending(own)) {
            tcpcl_terminate(own->session, TCPCL_TERM_BUSY, time_of(l));
            tcpcl_conn_touch(own);
        }
        return yields;
    }
    if (full ? out == NULL : ending == NULL)
        return false;
    if (all >= 2 * max) {
        tcpcl_claim_cut(ending != NULL ? ending : out);
    }
    if (full) {
        tcpcl_terminate(out->session, TCPCL_TERM_BUSY, time_of(l));
        tcpcl_conn_touch(out); /* its SESS_TERM */
    }
    return true;
}

tick tcpcl_claim_tend(struct tcpcl_link *l, tick now)
{
    tick due = TICK_NEVER;
    list_for_each (it, &l->conns)
        due = tick_min(due, tend_probe(container_of(it, struct tcpcl_conn, node), now));
    return tick_min(due, tend_host(l, now));
}
