/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The security policy at the agent (RFC 9172 §5). A bundle of a link is verified before all other
 * checks. A fragment for this node is not: its joined bundle is verified before delivery (RFC 9172
 * §5.2), by a separate call, so that the binder can measure its time. A bundle that starts here is
 * protected before it may be fragmented; a bundle for an endpoint here is not protected. If a
 * joined bundle fails, it ends with its fragments, and its id is not remembered, so that the true
 * bundle may follow.
 */
#include <assert.h>

#include "bp/agent/admission/agent_security.h"
#include "bp/agent/agent_impl.h"

void agent_security(struct agent *a, struct security_policy *policy)
{
    a->security = policy;
}

/* b views other bytes from now on. Returns 0, HELIO_EFORMAT or HELIO_ENOMEM. */
static int view_made(struct buf *made, struct bundle *b)
{
    return bundle_decode(buf_data(made), made->len, BUNDLE_CHECKED, b, NULL);
}

/* Of a bundle that is verified when it is whole. The first fragment has all its blocks (RFC 9171
 * §5.8): with more than security is applied to it cannot pass, and costs nothing more. */
static enum agent_refusal judge_fragment(struct agent *a, const struct bundle *b,
                                         struct security_outcome *why)
{
    if (b->id.offset > 0 || b->others_len + b->rest.len < SECURITY_BLOCKS_MAX ||
        !security_policy_receives(a->security, &b->id.source, &b->destination))
        return REFUSE_NONE;
    security_policy_too_many(a->security, why);
    return REFUSE_SECURITY;
}

/* Without its token a true bundle cannot be distinguished from a forged one; later it can. */
static enum agent_refusal refusal_of(enum security_reason reason)
{
    return reason == SECURITY_REASON_TOKEN ? REFUSE_TOKEN : REFUSE_SECURITY;
}

enum agent_refusal secure_arrival(struct agent *a, struct buf *whole, struct bundle *b,
                                  struct buf **made, struct security_undo *undo,
                                  struct security_outcome *why)
{
    *made = NULL;
    undo->placed = false;
    *why = (struct security_outcome){.reason = SECURITY_PASSED};
    uint64_t group, service;
    const bool here =
        agent_is_here(a, &b->destination) ||
        (eid_imc(&b->destination, &group, &service) && endpoint_joined(a, &b->destination));
    if (a->security == NULL)
        return REFUSE_NONE;
    if (b->id.fragment && here)
        return judge_fragment(a, b, why);
    security_policy_receive(a->security, whole, b, a->now.dtn_ms, undo, why);
    if (why->reason != SECURITY_PASSED)
        return refusal_of(why->reason);
    *made = why->made;
    if (*made == NULL && !undo->placed)
        return REFUSE_NONE;
    const int rc = view_made(*made != NULL ? *made : whole, b);
    if (rc == 0)
        return REFUSE_NONE;
    buf_drop(*made);
    *made = NULL;
    /* Who has the key can encrypt a block that is malformed. */
    return rc == HELIO_EFORMAT ? REFUSE_MALFORMED : REFUSE_SECURITY;
}

void secure_check_values(const struct agent *a, struct bundle *b)
{
    if (a->security != NULL && !agent_is_here(a, &b->destination) &&
        security_policy_covers(a->security, &b->id.source, &b->destination))
        b->payload_crc = CRC_NONE;
}

enum agent_refusal secure_origin(struct agent *a, struct buf *whole, struct bundle *b,
                                 struct buf **made)
{
    struct security_outcome outcome;
    struct security_undo undo; /* the caller restores its payload itself */
    *made = NULL;
    if (a->security == NULL || agent_is_here(a, &b->destination))
        return REFUSE_NONE;
    security_policy_send(a->security, whole, b, a->now.dtn_ms, &undo, &outcome);
    if (outcome.reason != SECURITY_PASSED)
        return refusal_of(outcome.reason);
    *made = outcome.made;
    if ((*made == NULL && !undo.placed) || view_made(*made != NULL ? *made : whole, b) == 0)
        return REFUSE_NONE;
    buf_drop(*made);
    *made = NULL;
    return REFUSE_NO_MEMORY;
}

/* The first fragment has all blocks of the bundle (RFC 9171 §5.8). */
int secure_piece(struct agent *a, struct reassembly *as, const struct forwarding *piece)
{
    struct agent_head h;
    struct bundle b;
    record_head(piece->bundle, &h);
    if (a->security == NULL || as->frame != NULL || h.id.offset != 0 ||
        !security_policy_receives(a->security, &h.id.source, &h.destination))
        return 0;
    const int rc = bundle_decode(buf_data(piece->buf), piece->buf->len, BUNDLE_CHECKED, &b, NULL);
    if (rc < 0)
        return rc == HELIO_ENOMEM ? rc : 0; /* without a frame the whole does not pass */
    b.payload.len = 0;
    b.id.fragment = false;
    b.id.offset = b.id.total = 0;
    b.flags &= ~(uint64_t)BUNDLE_IS_FRAGMENT;
    as->frame = bundle_encode_copy(&b);
    return as->frame == NULL ? HELIO_ENOMEM : 0;
}

/* The whole bundle as it was before it was cut. NULL: no memory, or no frame. */
static struct buf *build_whole(const struct forwarding *whole)
{
    struct bundle b;
    struct buf *frame = whole->reassembly->frame;
    if (frame == NULL || bundle_decode(buf_data(frame), frame->len, BUNDLE_CHECKED, &b, NULL) < 0)
        return NULL;
    b.payload = buf_slice(whole->buf);
    return bundle_encode_copy(&b);
}

/* The decrypted payload replaces the received one: it is not longer. */
static bool take_payload(struct forwarding *whole, struct buf *made)
{
    struct bundle b;
    if (view_made(made, &b) != 0 || b.payload.len > whole->bundle->payload_len)
        return false;
    assert(whole->bundle->payload_off == 0 && whole->buf->refs == 1);
    memcpy(buf_data(whole->buf), b.payload.data, b.payload.len);
    whole->bundle->payload_len = b.payload.len;
    return true;
}

/* *len: bytes of the bundle. */
static enum security_reason verify_whole(struct agent *a, struct forwarding *whole, uint64_t *len)
{
    struct security_outcome outcome = {.reason = SECURITY_REASON_ERROR};
    struct security_undo undo;
    struct buf *bytes = build_whole(whole);
    struct bundle b;
    struct agent_head h;
    record_head(whole->bundle, &h);
    *len = bytes == NULL ? whole->bundle->bytes : bytes->len;
    if (bytes != NULL && view_made(bytes, &b) == 0)
        security_policy_receive(a->security, bytes, &b, a->now.dtn_ms, &undo, &outcome);
    enum security_reason reason = outcome.reason;
    if (reason == SECURITY_PASSED && outcome.made != NULL && !take_payload(whole, outcome.made))
        reason = SECURITY_REASON_ERROR;
    if (reason != SECURITY_PASSED && reason != SECURITY_REASON_TOKEN && outcome.report)
        agent_report_head(a, &h, STATUS_DELETED, security_reason_code(outcome.reason));
    buf_drop(outcome.made);
    buf_drop(bytes);
    return reason;
}

static bool is_receiver(const struct agent *a, const struct forwarding *whole)
{
    struct agent_head h;
    record_head(whole->bundle, &h);
    return a->security != NULL &&
           security_policy_receives(a->security, &h.id.source, &h.destination);
}

bool secure_waits(struct agent *a, struct forwarding *whole)
{
    struct reassembly *as = whole->reassembly;
    assert(whole->state == STATE_BUSY && whole->buf != NULL && as->first != NULL);
    if (!is_receiver(a, whole))
        as->state = REASSEMBLY_VERIFIED;
    if (as->state == REASSEMBLY_VERIFIED)
        return false;
    queue_verify(a, whole);
    return true;
}

/* The link that is charged for the verification. The security blocks are in the first fragment, and
 * they cause the cost; senders of other fragments are not responsible. After a restart, or when
 * that link was removed, another link of the same peer is charged. */
static int find_payer(const struct agent *a, const struct forwarding *first)
{
    const int link = link_of(a, &first->bundle->came_from);
    if (link != NO_LINK)
        return link;
    for (uint32_t i = 0; i < a->links_cap; i++) {
        const struct link *l = a->links[i];
        if (l != NULL && !eid_is_none(&l->peer) && first->bundle->holder.peer != NULL &&
            quota_peer_id(&l->peer) == first->bundle->holder.peer->by_id.hash)
            return (int)i;
    }
    return -1;
}

bool agent_verify(struct agent *a, struct agent_now now, struct agent_verified *out)
{
    agent_begin(a, now);
    struct forwarding *whole = queue_verify_next(a);
    if (whole == NULL)
        return false;
    *out = (struct agent_verified){.link = find_payer(a, whole->reassembly->first),
                                   .bytes = whole->bundle->bytes};
    const enum security_reason reason =
        is_receiver(a, whole) ? verify_whole(a, whole, &out->bytes) : SECURITY_PASSED;
    out->passed = reason == SECURITY_PASSED;
    out->absent = reason == SECURITY_REASON_TOKEN;
    whole->reassembly->state = out->passed ? REASSEMBLY_VERIFIED : REASSEMBLY_WHOLE;
    if (out->passed)
        queue_return(a, whole);
    else if (out->absent)
        queue_verify(a, whole);
    else
        forwarding_end(a, whole, END_INSECURE); /* it is freed */
    return true;
}
