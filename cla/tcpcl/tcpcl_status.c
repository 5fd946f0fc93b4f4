/* SPDX-License-Identifier: Apache-2.0 */
/* What a link shows of itself: messages and verdicts of all its sessions, and those that are there.
 * What unidentified peers did, and how many were turned away, is that of the local endpoint. Memory
 * that runs out leaves fields away. */
#include <assert.h>
#include <jansson.h>

#include "cla/link_state.h"
#include "cla/tcpcl/tcpcl_link.h"
#include "conf/json_number.h"

static json_t *list_codes(const uint64_t *n, unsigned first, unsigned count,
                          const char *(*text)(unsigned code))
{
    json_t *o = json_object();
    assert(first <= count);
    for (unsigned i = first; i < count; i++)
        json_put_number(o, text(i), n[i]);
    return o;
}

static json_t *list_messages(const uint64_t *n)
{
    json_t *o = list_codes(n, 1, TCPCL_MESSAGE_COUNT, tcpcl_message_text);
    json_put_number(o, "contact", n[0]);
    return o;
}

static json_t *list_ends(const uint64_t *n)
{
    json_t *o = json_object();
    for (unsigned e = TCPCL_END_NONE + 1; e < TCPCL_END_COUNT; e++)
        if (n[e] > 0)
            json_put_number(o, tcpcl_end_text((enum tcpcl_end)e), n[e]);
    return o;
}

static void put_counters(json_t *o, const struct tcpcl_counters *n)
{
    json_object_set_new(o, "messages_tx", list_messages(n->tx));
    json_object_set_new(o, "messages_rx", list_messages(n->rx));
    json_put_number(o, "stream_bytes_tx", n->tx_bytes);
    json_put_number(o, "stream_bytes_rx", n->rx_bytes);
    json_object_set_new(o, "refused_tx",
                        list_codes(n->refused_tx, 0, TCPCL_REFUSAL_COUNT, tcpcl_refusal_text));
    json_object_set_new(o, "refused_rx",
                        list_codes(n->refused_rx, 0, TCPCL_REFUSAL_COUNT, tcpcl_refusal_text));
    json_object_set_new(o, "rejected_tx",
                        list_codes(n->rejected_tx, 1, TCPCL_REJECTION_COUNT, tcpcl_rejection_text));
    json_object_set_new(o, "rejected_rx",
                        list_codes(n->rejected_rx, 0, TCPCL_REJECTION_COUNT, tcpcl_rejection_text));
    json_object_set_new(o, "term_tx", list_codes(n->term_tx, 0, TCPCL_TERM_COUNT, tcpcl_term_text));
    json_object_set_new(o, "term_rx", list_codes(n->term_rx, 0, TCPCL_TERM_COUNT, tcpcl_term_text));
    json_put_number(o, "unknown_rx", n->unknown_rx);
    json_put_number(o, "items_ignored", n->items_ignored);
    json_put_number(o, "late", n->late);
    json_put_number(o, "transfers_cut", n->transfers_cut);
    json_put_number(o, "transfers_idle", n->transfers_idle);
    json_put_number(o, "transfers_shed", n->transfers_shed);
    json_put_number(o, "answers_full", n->answers_full);
}

static void show_claim(json_t *o, const struct tcpcl_conn *c)
{
    struct address at;
    char text[ADDRESS_TEXT_MAX];
    if (stream_peer(c->stream, &at))
        json_object_set_new(o, "address", json_string(address_write(&at, text)));
    if (!c->was_up || c->link == NULL)
        return;
    json_object_set_new(o, "claim", json_string(tcpcl_claim_text(tcpcl_claim_of(c->link, c))));
    json_object_set_new(o, "sends", json_boolean(tcpcl_sender(c->link) == c));
}

static json_t *show_session(const struct tcpcl_conn *c)
{
    static const char *const states[] = {"contact", "securing", "init",    "admit",
                                         "up",      "ending",   "closing", "over"};
    const struct tcpcl_peer *p = tcpcl_peer(c->session);
    json_t *o = json_object();
    bool unread;
    json_object_set_new(o, "role", json_string(c->active ? "active" : "passive"));
    json_object_set_new(o, "state", json_string(states[tcpcl_state(c->session)]));
    json_object_set_new(o, "peer", json_string(p->node_id));
    json_put_number(o, "keepalive_s", p->keepalive_s);
    if (p->round_trip != 0)
        json_put_number(o, "round_trip_ns", p->round_trip);
    json_put_number(o, "segment_mru", p->segment_mru);
    json_put_number(o, "transfer_mru", p->transfer_mru);
    json_put_number(o, "in_flight", tcpcl_in_flight(c->session));
    json_put_number(o, "unconfirmed", tcpcl_unconfirmed(c->session));
    json_put_number(o, "answers", tcpcl_answers(c->session, &unread));
    json_object_set_new(o, "tls", tcpcl_tls_show(c));
    show_claim(o, c);
    return o;
}

static void put_endpoint(json_t *o, const struct tcpcl_endpoint *h)
{
    json_put_number(o, "unidentified", h->s.crowds.crowds.len);
    json_put_number(o, "unidentified_accepted", h->s.accepted);
    json_put_number(o, "unidentified_turned_away", h->s.displaced);
    json_put_number(o, "unknown_refused", h->s.unknown_refused);
    json_put_number(o, "names_refused", h->names_refused);
    json_object_set_new(o, "unidentified_ends", list_ends(h->ends));
}

/* Of the session with most. */
static void see_answers(const struct tcpcl_session *s, struct cla_gauges *out)
{
    bool unread;
    const uint64_t answers = tcpcl_answers(s, &unread);
    if (answers <= out->answers)
        return;
    out->answers = answers;
    out->answers_unread = unread;
}

static void see_unstored(const struct tcpcl_session *s, struct cla_gauges *out)
{
    const uint64_t bytes = tcpcl_unconfirmed_bytes(s);
    out->unstored = bytes > out->unstored ? bytes : out->unstored;
    out->unstored_full = out->unstored_full || tcpcl_unconfirmed_full(s);
}

void tcpcl_gauges(const struct cla *c, struct cla_gauges *out)
{
    const struct tcpcl_link *l = container_of(c, struct tcpcl_link, cla);
    out->rate = l->bucket.rate_bps;
    out->tx_bytes = l->n.tx_bytes;
    out->rx_bytes = l->n.rx_bytes;
    list_for_each (it, &l->conns) { /* few; identified ones count with the link */
        const struct tcpcl_conn *conn = container_of(it, struct tcpcl_conn, node);
        out->tx_bytes += conn->n.tx_bytes;
        out->rx_bytes += conn->n.rx_bytes;
        if (conn->session != NULL) {
            see_unstored(conn->session, out);
            see_answers(conn->session, out);
        }
    }
    tcpcl_tls_gauges(l, out);
    out->answers_max = TCPCL_ANSWERS_MAX;
    out->unstored_max = l->config->held_bytes;
    out->sessions = l->conns_len;
    out->off = !l->allowed;
    out->session = l->cla.told_up;
    out->refused = !l->cla.told_up && l->wanted && l->refused;
    if (l->heard != 0)
        out->heard = l->heard;
    assert(out->heard > 0);
}

/* Why no session of it was established, and none failed. */
static json_t *show_beginning(const struct tcpcl_link *l, tick now)
{
    char text[TCPCL_PLACE_MAX], span[LINK_SPAN_MAX];
    if (!tcpcl_connects(l->config))
        return json_string("it waits until the peer connects (no remote)");
    list_for_each (it, &l->conns) {
        const struct tcpcl_conn *c = container_of(it, struct tcpcl_conn, node);
        if (tcpcl_conn_connecting(c))
            return json_sprintf("connecting to %s for %s", tcpcl_remote_text(l, text),
                                link_span_text(now - c->begun, span));
    }
    return json_string("no session is established yet");
}

/* Why the link is down, and for how long that is known. */
static void put_reason(json_t *o, const struct tcpcl_link *l)
{
    const tick now = world_now(l->env.world);
    assert(l->reason_at <= now);
    if (l->cla.told_up)
        return;
    if (!l->allowed)
        json_object_set_new(o, "down_because",
                            json_string("it is set to down; helioctl link NAME up changes that"));
    else if (!l->wanted)
        json_object_set_new(o, "down_because", json_string("the plan has no contact to it now"));
    else if (l->reason[0] != '\0') {
        json_object_set_new(o, "down_because", json_string(l->reason));
        json_put_number(o, "down_because_ns", now - l->reason_at);
    } else
        json_object_set_new(o, "down_because", show_beginning(l, now));
}

void tcpcl_status(struct cla *c, struct json_t *object)
{
    const struct tcpcl_link *l = container_of(c, struct tcpcl_link, cla);
    struct tcpcl_counters n = l->n;
    json_t *sessions = json_array();
    list_for_each (it, &l->conns) {
        const struct tcpcl_conn *conn = container_of(it, struct tcpcl_conn, node);
        tcpcl_add_counters(&n, &conn->n);
        json_array_append_new(sessions, show_session(conn));
    }
    json_object_set_new(object, "up", json_boolean(l->cla.told_up));
    put_reason(object, l);
    remote_name_status(&l->remote, object);
    json_object_set_new(object, "sessions", sessions);
    json_put_number(object, "rate_bps", l->bucket.rate_bps);
    json_put_number(object, "credit_lost", bucket_lost_bytes(&l->bucket));
    json_put_number(object, "window", l->config->window);
    json_put_number(object, "bundle_max", l->cla.limits.bundle_max);
    json_put_number(object, "in_flight", l->flight);
    json_put_number(object, "in_flight_bytes", l->flight_bytes);
    json_put_number(object, "arriving_bytes", l->reserved);
    json_put_number(object, "connects", l->connects);
    json_put_number(object, "connects_failed", l->connects_failed);
    json_put_number(object, "established", l->established);
    json_put_number(object, "peer_mismatch", l->peer_mismatch);
    json_put_number(object, "contested", l->contested);
    json_put_number(object, "bundles_received", l->bundles_received);
    json_put_number(object, "bundle_bytes_received", l->bytes_received);
    json_put_number(object, "bundles_refused", l->bundles_refused);
    json_object_set_new(object, "ends", list_ends(l->ends));
    put_counters(object, &n);
    put_endpoint(object, l->endpoint);
    tcpcl_tls_put(object, l);
}
