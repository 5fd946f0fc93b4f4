/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission of bundles. A bundle of an application (agent_send, RFC 9171 §5.2) is encoded around
 * its payload in place. A bundle from a link (agent_receive, agent_offer; §5.6) keeps its bytes.
 * Every check is done before anything changes. An accepted bundle is first stored. Only then it is
 * confirmed to its sender, and forwarded or delivered.
 *
 * The reason of a refusal is returned and counted. A link also gets it as an action REFUSED of
 * agent_poll, with `keep`: whether the peer should keep its copy. For lack of room (admit_bundle)
 * a bundle of agent_offer may wait instead: the link keeps it and offers it again.
 */
#include <assert.h>

#include "bp/agent/admission/agent_permit.h"
#include "bp/agent/admission/agent_security.h"
#include "bp/agent/agent_impl.h"

static struct agent_qos qos_of(const struct bundle *b)
{
    struct bundle_qos q;
    bundle_qos(b, &q);
    return (struct agent_qos){.priority = (uint8_t)q.priority,
                              .ordinal = q.priority == BUNDLE_EXPEDITED ? q.ordinal : 0,
                              .critical = (q.flags & QOS_CRITICAL) != 0};
}

static void head_of(const struct agent *a, const struct bundle *b, bool from_link,
                    struct agent_head *h)
{
    *h = (struct agent_head){
        .from_link = from_link,
        .rewrite = from_link || b->has_age,
        .has_hops = b->has_hops,
        .flags = b->flags,
        .arrived_ms = agent_life(a),
        .lifetime_ms = b->lifetime_ms,
        .age_ms = b->has_age ? b->age_ms : 0,
        .hop_limit = b->hop_limit,
        .hop_count = b->hop_count,
        .payload_len = b->payload.len,
    };
    h->destination = b->destination; /* EIDs are wide: no copies of copies */
    h->report_to = b->report_to;
    h->id = b->id;
    h->qos = qos_of(b);
    uint64_t left = bundle_life_left(b, a->now.dtn_ms);
    /* §4.3.1: an overriding lifetime, for this node only; the bundle keeps its own. */
    if (left > a->config.lifetime_max_ms)
        left = a->config.lifetime_max_ms;
    h->expires_ms = left > UINT64_MAX - h->arrived_ms ? UINT64_MAX : h->arrived_ms + left;
}

static bool expired(const struct agent *a, const struct agent_head *h)
{
    return h->expires_ms <= agent_life(a) && h->expires_ms != UINT64_MAX;
}

/* Creates the record after room was found; a fragment for this node needs room in its reassembly,
 * too. On success the agent owns the bundle, and the record its own references to the accounts. */
static enum agent_refusal enter_bundle(struct agent *a, const struct agent_head *h,
                                       const struct holder *holder, struct buf *whole,
                                       struct record **out)
{
    struct reassembly *as = NULL;
    if (h->id.fragment && agent_is_here(a, &h->destination)) {
        enum agent_refusal refusal = fragment_enter(a, h, holder, false, &as);
        if (refusal != REFUSE_NONE)
            return refusal;
    }
    struct record *r;
    if (record_new(a, h, a->next_key, whole->len, holder, &r) < 0) {
        if (as != NULL)
            fragment_leave(a, as, END_NOT_STORED);
        return REFUSE_NO_MEMORY;
    }
    a->next_key++;
    fragment_entered(a, &r->forwarding, as);
    assert(r->forwarding.state == STATE_STORING);
    r->arrived = a->now.now;
    r->expires = agent_expiry(a, h->expires_ms);
    a->counters.storing++;
    a->counters.storing_bytes += record_cost(r);
    bound_begin(a, r);
    forwarding_hold(a, &r->forwarding, whole);
    storing_enter(a, &r->forwarding);
    *out = r;
    return REFUSE_NONE;
}

/* Is this lack of room temporary, and the same for all bundles of the neighbour, so that its link
 * may wait? A bundle that exceeds a limit by itself never has room. last: a refused bundle would be
 * lost, so it also waits alone. */
static bool room_waits(const struct agent *a, const struct agent_head *h, const struct holder *of,
                       enum agent_refusal refusal, uint64_t bytes, bool last)
{
    if (refusal == REFUSE_FULL)
        return a->counters.bundles > 0 && bytes < a->config.held_bytes / 2;
    if (last && (refusal == REFUSE_QUOTA || refusal == REFUSE_QUEUE))
        return a->counters.bundles > 0;
    return refusal == REFUSE_QUOTA && quota_waits(a, h, of);
}

/* An arriving bundle of a link. */
struct offer {
    bool may_wait;              /* as agent_offer has it */
    unsigned how;               /* AGENT_OFFER_ */
    int from;                   /* a link, or NO_LINK */
    bool waits;                 /* the lack of room is temporary */
    struct security_undo *undo; /* of what the security policy wrote into its buffer */
};

/* Notes the limit for the log (helioctl why), and whether the bundle may wait. room_found: only a
 * limit of fragments is reached, which must not stop the link. */
static void note_shortage(struct agent *a, const struct agent_head *h, const struct holder *holder,
                          uint64_t bytes, struct offer *offer, bool room_found,
                          enum agent_refusal refusal)
{
    const bool last = (offer->how & AGENT_OFFER_LAST) != 0;
    offer->waits = !room_found && room_waits(a, h, holder, refusal, bytes, last);
    if (refusal == REFUSE_QUEUE && !last)
        bound_refused(a, &holder->destination_link);
    const struct shortage_of of = {.head = h,
                                   .holder = holder,
                                   .bytes = bytes,
                                   .from = offer->from,
                                   .fragment = room_found,
                                   .begun = room_found && fragment_begun(a, h)};
    shortage_note(a, &of, refusal);
}

/* Admits a bundle if there is room for it (agent_room.c). to: the link that will transmit it,
 * TO_ENDPOINT or NO_ROUTE. */
static enum agent_refusal admit_bundle(struct agent *a, const struct agent_head *h, int to,
                                       struct buf *whole, struct offer *offer, struct record **out)
{
    struct holder holder;
    const enum receiver receiver =
        to == TO_ENDPOINT ? endpoint_receiver(a, &h->destination) : RECEIVER_ELSEWHERE;
    const struct link_ref ref = to >= 0 ? link_ref(a, to) : (struct link_ref){.index = to};
    if (quota_open(a, h, receiver, ref, &holder) < 0)
        return REFUSE_NO_MEMORY;
    if (receiver == RECEIVER_READY)
        holder.backlog->took = endpoint_took(a, &h->destination);
    struct room room;
    enum agent_refusal refusal = room_find(a, h, &holder, whole->len, &room);
    const bool room_found = refusal == REFUSE_NONE;
    if (room_found)
        refusal = enter_bundle(a, h, &holder, whole, out);
    if (refusal == REFUSE_NONE) {
        quota_accepted(a, h, &holder);
        room_take(a, &room);
    } else {
        room_cancel(a, &room);
        note_shortage(a, h, &holder, whole->len, offer, room_found, refusal);
        quota_close(a, &holder);
    }
    return refusal;
}

/* §4.2.7: the sequence number is not reset when the time advances, which is permitted. So ids are
 * unique whatever the clock does, and also without a clock. After a restart the number continues
 * above the note in the store. */
static void stamp_arrival(const struct agent *a, struct bundle_id *id)
{
    id->time_ms = a->now.dtn_ms; /* 0: no clock */
    id->sequence = a->sequence;
}

enum agent_refusal agent_originate(struct agent *a, struct bundle *b, struct buf *payload,
                                   uint64_t user, struct record **out)
{
    stamp_arrival(a, &b->id);
    b->has_age = b->id.time_ms == 0; /* §4.4.2 */
    b->age_ms = 0;
    /* §4.4.3: its first hop is counted when the block is encoded, here or when it is forwarded */
    b->has_hops = a->config.hop_limit > 0;
    b->hop_limit = a->config.hop_limit;
    b->hop_count = b->has_hops && !b->has_age ? 1 : 0;
    assert(b->hop_limit <= 255 && b->hop_count <= b->hop_limit);
    const size_t off = payload->off, len = payload->len;
    b->payload = buf_slice(payload);
    const enum agent_refusal permitted = permit_request(a, user, b);
    if (permitted != REFUSE_NONE)
        return permitted;
    struct agent_head h;
    int to;
    head_of(a, b, false, &h);
    h.user = user;
    const enum agent_refusal no_route = agent_find_route(a, &h, NO_LINK, &to);
    if (no_route != REFUSE_NONE)
        return no_route;
    if (!endpoint_takes(a, &b->destination, b->flags))
        return REFUSE_ENDPOINT;
    secure_check_values(a, b);
    if (bundle_encode(b, payload) < 0)
        return REFUSE_INVALID;
    struct record *r;
    struct buf *made;
    enum agent_refusal refusal = secure_origin(a, payload, b, &made);
    struct buf *whole = made != NULL ? made : payload;
    struct offer offer = {.may_wait = false, .from = NO_LINK};
    if (refusal == REFUSE_NONE)
        refusal = whole->len > a->config.bundle_max ? REFUSE_TOO_LONG
                                                    : admit_bundle(a, &h, to, whole, &offer, &r);
    if (refusal != REFUSE_NONE) {
        buf_drop(made);
        payload->off = off;
        payload->len = len;
        return refusal;
    }
    r->payload_off = made != NULL ? (size_t)(b->payload.data - buf_data(made)) : off - payload->off;
    r->payload_len = made != NULL ? b->payload.len : len;
    if (made != NULL)
        buf_drop(payload);
    forwarding_fit(a, &r->forwarding); /* the spare room was for the blocks around a payload */
    r->forwarding.sequence_end = agent_sequence_end(b->id.sequence);
    a->sequence = b->id.sequence + 1;
    emit_step(a, BUNDLE_ACCEPTED, &r->forwarding); /* the caller reports a refusal */
    *out = r;
    return REFUSE_NONE;
}

/* RFC 9758 §5.4: ipn:! does not leave the node. */
static bool resolve_local(const struct agent *a, struct eid *e)
{
    const struct eid *node = &a->config.node;
    if (eid_is_local(e) && node->scheme == EID_IPN)
        *e = eid_ipn(node->allocator, node->node, e->service);
    return !eid_is_local(e);
}

/* The agent itself makes the blocks that it knows, at most one of each (§4.4). */
static bool block_legal(const struct bundle_block *b, bool silent)
{
    /* §4.2.4 */
    return !bundle_made_here(b->type) && b->number == 0 &&
           !(silent && (b->flags & BLOCK_REPORT_IF_UNKNOWN));
}

static bool request_legal(const struct agent *a, const struct agent_request *q)
{
    const uint64_t reports = BUNDLE_REPORT_RECEPTION | BUNDLE_REPORT_FORWARDING |
                             BUNDLE_REPORT_DELIVERY | BUNDLE_REPORT_DELETION;
    /* §6: administrative records are the node's own. */
    const uint64_t allowed = BUNDLE_NO_FRAGMENT | BUNDLE_APP_ACK | BUNDLE_REPORT_TIME | reports;
    bool anonymous = eid_is_none(&q->source);
    if (q->payload == NULL || eid_is_none(&q->destination) || (q->flags & ~allowed) ||
        q->crc > CRC_32C ||
        (q->qos != NULL &&
         (q->qos->priority >= BUNDLE_PRIORITIES || q->qos->ordinal > QOS_ORDINAL_MAX)))
        return false;
    /* §5.2: the source is none, or an endpoint that this node alone is in. */
    if (!anonymous && (!agent_is_here(a, &q->source) || eid_is_group(&q->source)))
        return false;
    return (q->block == NULL || block_legal(q->block, anonymous)) &&
           !((q->flags & reports) && (anonymous || q->record)); /* §4.2.3 */
}

enum agent_refusal agent_send(struct agent *a, const struct agent_request *q, struct agent_now now,
                              struct bundle_id *out)
{
    agent_begin(a, now);
    struct bundle b;
    bundle_init(&b);
    b.destination = q->destination;
    b.report_to = q->report_to;
    if (!request_legal(a, q) || !resolve_local(a, &b.destination) ||
        !resolve_local(a, &b.report_to)) {
        emit_refused(a, NULL, 0, BUNDLE_FROM_APPLICATION, NO_LINK, REFUSE_INVALID);
        return REFUSE_INVALID;
    }
    b.flags = q->flags | (q->record ? BUNDLE_IS_ADMIN : 0);
    b.flags |= eid_is_none(&q->source) ? BUNDLE_NO_FRAGMENT : 0;
    b.crc = a->primary_crc;
    b.payload_crc = q->crc < 0 ? a->config.crc : (enum crc_type)q->crc;
    b.id.source = q->source;
    b.lifetime_ms = q->lifetime_ms == 0 ? a->config.default_lifetime_ms : q->lifetime_ms;
    if (q->block != NULL)
        b.others[b.others_len++] = *q->block;
    uint8_t content[QOS_CONTENT_MAX];
    if (q->qos != NULL)
        b.others[b.others_len++] =
            (struct bundle_block){.type = BLOCK_QOS,
                                  .flags = BLOCK_REPLICATE,
                                  .crc = a->config.crc,
                                  .data = slice_of(content, qos_encode(q->qos, content))};
    assert(b.others_len <= BUNDLE_INLINE_MAX);
    struct record *r;
    enum agent_refusal refusal = agent_originate(a, &b, q->payload, q->user, &r);
    if (refusal != REFUSE_NONE) {
        emit_refused(a, &b, 0, BUNDLE_FROM_APPLICATION, NO_LINK, refusal);
        return refusal;
    }
    r->token = q->token;
    r->answer_refusal = REFUSE_NONE;
    if (out != NULL)
        *out = b.id;
    return REFUSE_NONE;
}

/* §5.6 step 4: blocks of unknown type. */
static enum agent_refusal judge_blocks(struct agent *a, const struct bundle *b,
                                       const struct agent_head *h, bool again)
{
    bool report = false, remove = false;
    struct bundle_walk w = {0};
    struct bundle_block block;
    while (bundle_next(b, &w, &block)) {
        if (w.offset == 0 && bundle_understood(b, w.at - 1))
            continue;
        report = report || (block.flags & BLOCK_REPORT_IF_UNKNOWN);
        remove = remove || (block.flags & BLOCK_DELETE_BUNDLE_IF_UNKNOWN);
    }
    if (report && !again)
        agent_report_now(a, h, STATUS_RECEIVED, REASON_BLOCK_UNSUPPORTED);
    return remove ? REFUSE_BLOCK : REFUSE_NONE;
}

static enum agent_refusal judge_bundle(struct agent *a, const struct bundle *b,
                                       const struct agent_head *h, int from, bool again, int *to)
{
    if (expired(a, h))
        return REFUSE_EXPIRED;
    enum agent_refusal refusal = judge_blocks(a, b, h, again);
    if (refusal != REFUSE_NONE)
        return refusal;
    const enum agent_refusal no_route = agent_find_route(a, h, from, to);
    if (no_route != REFUSE_NONE)
        return no_route;
    if (!endpoint_takes(a, &b->destination, b->flags))
        return REFUSE_ENDPOINT;
    /* §4.4.3: the hop to the next node counts as well. */
    if (b->has_hops &&
        (b->hop_count > b->hop_limit || (*to != TO_ENDPOINT && b->hop_count == b->hop_limit)))
        return REFUSE_HOP_LIMIT;
    return REFUSE_NONE;
}

/* Should the peer keep its copy of a refused bundle? Yes if this node lacks something (room,
 * memory, its store); no if RFC 9171 demands the deletion; else as configured. */
bool agent_keeps(const struct agent *a, enum agent_refusal refusal)
{
    switch (refusal) {
    case REFUSE_FULL:
    case REFUSE_QUOTA:
    case REFUSE_QUEUE:
    case REFUSE_LIMIT:
    case REFUSE_STORE:
    case REFUSE_BUSY:
    case REFUSE_TOKEN:
    case REFUSE_NO_MEMORY:
        return true;
    case REFUSE_EXPIRED:
    case REFUSE_HOP_LIMIT:
    case REFUSE_BLOCK:
    case REFUSE_ENDPOINT:
        return false;
    default:
        return !a->config.confirm_dropped;
    }
}

/* §5.10: a bundle that is dropped for good is reported, if it asks for that. */
static void report_refusal(struct agent *a, const struct agent_head *h, enum agent_refusal refusal)
{
    static const enum status_reason reasons[REFUSE_COUNT] = {
        [REFUSE_EXPIRED] = REASON_LIFETIME_EXPIRED,
        [REFUSE_HOP_LIMIT] = REASON_HOP_LIMIT,
        [REFUSE_NO_ROUTE] = REASON_NO_ROUTE,
        [REFUSE_TOO_LATE] = REASON_NO_CONTACT,
        [REFUSE_RULE] = REASON_TRAFFIC_PARED,
        [REFUSE_ENDPOINT] = REASON_DESTINATION_UNAVAILABLE,
        [REFUSE_BLOCK] = REASON_BLOCK_UNSUPPORTED,
        [REFUSE_FRAGMENT] = REASON_BLOCK_UNINTELLIGIBLE,
        [REFUSE_MALFORMED] = REASON_BLOCK_UNINTELLIGIBLE,
    };
    if (reasons[refusal] != REASON_NONE && !agent_keeps(a, refusal))
        agent_report_head(a, h, STATUS_DELETED, reasons[refusal]);
}

/* §5.6 step 3. The report-to EID is known only if the primary block is valid. */
static void report_malformed(struct agent *a, const struct bundle *b)
{
    struct agent_head h;
    if (!b->primary_sound)
        return;
    head_of(a, b, true, &h);
    report_refusal(a, &h, REFUSE_MALFORMED);
}

static bool duplicate(const struct agent *a, const struct bundle *b, struct record **held)
{
    *held = NULL;
    if (eid_is_none(&b->id.source))
        return false;
    uint8_t id[AGENT_ID_MAX];
    struct slice s = slice_of(id, agent_id_encode(&b->id, b->payload.len, id));
    const uint64_t hash = agent_id_hash(a->config.seed, s);
    *held = record_by_id(a, s, hash);
    return *held != NULL || seen_has(&a->seen, s) || fragment_known(a, b, held);
}

/* The peer must keep its copy in two cases. (1) The first copy is not stored yet. (2) The first
 * copy is in transmission: this may be the same bundle, which the neighbour returned. When the
 * transmission ends, this node removes its copy, so without the peer's copy the bundle would be
 * lost. */
static enum agent_refusal answer_duplicate(const struct record *held)
{
    if (held != NULL && held->forwarding.state == STATE_STORING)
        return REFUSE_BUSY;
    if (held != NULL && state_is_given(held->forwarding.state) &&
        held->forwarding.link != TO_ENDPOINT)
        return REFUSE_BUSY;
    return REFUSE_DUPLICATE;
}

/* If the bundle was forwarded before, its next pause is longer each time. */
static void note_return(struct agent *a, struct record *r)
{
    unsigned times = record_has_id(r) ? returns_again(&a->returns, r->by_id.hash) : 0;
    if (times == 0)
        return;
    a->counters.returned++;
    r->forwarding.again = true;
    r->forwarding.pause = a->config.retry_min;
    while (--times > 0 && r->forwarding.pause < a->config.retry_max)
        r->forwarding.pause =
            tick_min(tick_add(r->forwarding.pause, r->forwarding.pause), a->config.retry_max);
}

static int known_link(const struct agent *a, uint32_t link)
{
    return link_at(a, link) != NULL ? (int)link : NO_LINK;
}

/* RFC 9172 §5.1: before anything else is done with the bundle. */
static enum agent_refusal secure_bundle(struct agent *a, struct buf *whole, struct bundle *b,
                                        struct buf **made, struct security_undo *undo)
{
    struct security_outcome outcome;
    const enum agent_refusal refusal = secure_arrival(a, whole, b, made, undo, &outcome);
    if (refusal == REFUSE_SECURITY && outcome.report) {
        struct agent_head h;
        head_of(a, b, true, &h);
        agent_report_head(a, &h, STATUS_DELETED, security_reason_code(outcome.reason));
    }
    return refusal;
}

/* Applies the ingress rules of the neighbour, then the security policy. */
static enum agent_refusal judge_arrival(struct agent *a, int from, struct buf *whole,
                                        struct bundle *b, struct offer *offer, struct buf **made)
{
    enum agent_refusal refusal = permit_arrival(a, from, b, whole->len, offer->how);
    offer->waits = refusal == REFUSE_LIMIT && (offer->how & AGENT_OFFER_LAST);
    bool accepted = false;
    if (refusal == REFUSE_NONE && a->security != NULL) {
        refusal = secure_bundle(a, whole, b, made, offer->undo);
        if (refusal != REFUSE_NONE)
            return refusal;
        accepted = *made != NULL || offer->undo->placed;
        if (accepted)
            refusal = permit_decrypted(a, from, b);
    }
    /* No report about a bundle that a policy has not verified: its source may be forged. */
    if (refusal == REFUSE_RULE && (a->security == NULL || accepted)) {
        struct agent_head h;
        head_of(a, b, true, &h);
        report_refusal(a, &h, refusal);
    }
    return refusal;
}

/* On REFUSE_NONE with *out set it owns the buffer; or *made, if the security policy made another
 * one. Otherwise the caller owns it. *answer is the answer to the link. */
static enum agent_refusal take_bundle(struct agent *a, uint32_t link, struct buf *whole,
                                      struct bundle *b, struct offer *offer, struct buf **made,
                                      enum agent_refusal *answer, struct record **out)
{
    struct bundle_findings findings;
    *out = NULL;
    *made = NULL;
    if (whole->len > a->config.bundle_max)
        return *answer = REFUSE_TOO_LONG;
    const int rc = bundle_decode_within(buf_data(whole), whole->len, a->config.mode,
                                        a->config.extensions_max, b, &findings);
    if (rc == HELIO_ENOMEM)
        return *answer = REFUSE_NO_MEMORY;
    if (rc == HELIO_ESPACE)
        return *answer = REFUSE_TOO_LONG;
    if (rc < 0) {
        report_malformed(a, b);
        return *answer = REFUSE_MALFORMED;
    }
    const bool again = (offer->how & AGENT_OFFER_AGAIN) != 0;
    const int from = offer->from = known_link(a, link);
    enum agent_refusal refusal = judge_arrival(a, from, whole, b, offer, made);
    a->counters.lenient += findings.len > 0 && !again && !offer->waits;
    if (refusal != REFUSE_NONE)
        return *answer = refusal;
    struct record *held;
    if (duplicate(a, b, &held)) {
        *answer = answer_duplicate(held);
        return REFUSE_DUPLICATE;
    }
    struct agent_head h;
    head_of(a, b, true, &h);
    h.peer = from != NO_LINK ? quota_peer_id(&link_at(a, from)->peer) : QUOTA_UNKNOWN;
    int to;
    refusal = judge_bundle(a, b, &h, from, again, &to);
    if (refusal == REFUSE_NONE && agent_consume(a, b))
        return *answer = REFUSE_NONE;
    if (refusal == REFUSE_NONE)
        refusal = admit_bundle(a, &h, to, *made != NULL ? *made : whole, offer, out);
    if (refusal != REFUSE_NONE)
        report_refusal(a, &h, refusal);
    return *answer = refusal;
}

/* Records the reason for the operator: the peer sees at most that the bundle was refused. */
static void note_refused(struct agent *a, const struct bundle *b, uint32_t link,
                         enum agent_refusal refusal)
{
    if (refusal == REFUSE_NO_ROUTE)
        a->unrouted =
            (struct agent_unrouted){a->unrouted.count + 1, b->id.source, b->destination, link};
    else if (refusal == REFUSE_EXPIRED)
        a->stale = (struct agent_stale){a->stale.count + 1, b->id.source, link,
                                        bundle_life_over(b, a->now.dtn_ms)};
}

static enum agent_refusal receive_bundle(struct agent *a, uint32_t link, struct buf *bundle,
                                         uint64_t token, struct offer *offer)
{
    const int from = known_link(a, link);
    if (notice_reserve(a) < 0) {
        emit_refused(a, NULL, bundle->len, BUNDLE_FROM_LINK, from, REFUSE_NO_MEMORY);
        buf_drop(bundle);
        return REFUSE_NO_MEMORY;
    }
    struct bundle b;
    struct record *r;
    struct buf *made;
    enum agent_refusal answer;
    const size_t len = bundle->len;
    offer->undo->placed = false;
    b.id = (struct bundle_id){0}; /* stays so if the bundle cannot be decoded */
    enum agent_refusal refusal = take_bundle(a, link, bundle, &b, offer, &made, &answer, &r);
    if (r != NULL) {
        if (made != NULL) { /* by the security policy */
            buf_drop(bundle);
            bundle = made;
        }
        r->payload_off = (size_t)(b.payload.data - buf_data(bundle));
        r->payload_len = b.payload.len;
        r->token = token;
        r->answer_refusal = REFUSE_NONE;
        r->in_link = link;
        r->came_from = r->forwarding.avoid = link_ref(a, from);
        note_return(a, r);
        if (a->counters.memory_bytes > record_memory_max(a) / 2)
            forwarding_fit(a, &r->forwarding); /* a block of LTP has spare room */
        emit_step(a, BUNDLE_ACCEPTED, &r->forwarding);
        return REFUSE_NONE;
    }
    offer->waits = offer->waits && offer->may_wait && refusal != REFUSE_NONE;
    if (offer->waits) {
        if (offer->undo->placed) /* it is verified again when it is offered again */
            security_bundle_undo(bundle, offer->undo);
        buf_drop(made);
        return refusal;
    }
    if (refusal != REFUSE_NO_MEMORY)
        notice_add(a,
                   &(struct notice){.token = token, .link = link, .refusal = answer, .id = b.id});
    note_refused(a, &b, link, refusal);
    bool read = refusal != REFUSE_MALFORMED && refusal != REFUSE_TOO_LONG;
    emit_refused(a, read ? &b : NULL, len, BUNDLE_FROM_LINK, from, refusal);
    buf_drop(made);
    buf_drop(bundle);
    return refusal;
}

enum agent_refusal agent_receive(struct agent *a, uint32_t link, struct buf *bundle, uint64_t token,
                                 struct agent_now now)
{
    struct security_undo undo;
    struct offer offer = {.may_wait = false, .undo = &undo};
    agent_begin(a, now);
    return receive_bundle(a, link, bundle, token, &offer);
}

enum agent_refusal agent_offer(struct agent *a, uint32_t link, struct buf *bundle, uint64_t token,
                               unsigned how, bool *waits, struct agent_now now)
{
    struct security_undo undo;
    struct offer offer = {.may_wait = true, .how = how, .undo = &undo};
    agent_begin(a, now);
    const enum agent_refusal refusal = receive_bundle(a, link, bundle, token, &offer);
    *waits = offer.waits;
    return refusal;
}
