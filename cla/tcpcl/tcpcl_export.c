/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles to send: one after the other in segments; any number of them may wait for their
 * acknowledgement. What can go wrong: the peer refuses one, acknowledges data that was not sent, or
 * the session ends first.
 */
#include "cla/tcpcl/tcpcl_session_private.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"

struct tcpcl_export *tcpcl_export_find(const struct tcpcl_session *s, uint64_t id)
{
    struct list *first = list_first(&s->exports.begun);
    if (first == NULL)
        return NULL;
    struct tcpcl_export *e = container_of(first, struct tcpcl_export, node);
    if (e->id == id) /* as a rule */
        return e;
    for (struct hash_node *n = hash_find(&s->exports.ids, id); n != NULL; n = hash_next(n)) {
        e = container_of(n, struct tcpcl_export, by_id);
        if (e->id == id)
            return e;
    }
    return NULL;
}

void tcpcl_export_drop(struct tcpcl_session *s, struct tcpcl_export *e)
{
    if (e->planned > 0)
        hash_sub(&s->exports.ids, &e->by_id);
    if (s->exports.now == e)
        s->exports.now = NULL;
    list_sub(&e->node);
    s->flight.queued -= e->bundle->len - e->planned;
    s->flight.acked += e->planned - e->acked;
    buf_drop(e->bundle);
    free(e);
    assert(s->exports.count > 0);
    s->exports.count--;
}

int tcpcl_send(struct tcpcl_session *s, uint64_t key, struct buf *bundle)
{
    if (s->state != TCPCL_IN_UP)
        return HELIO_EAGAIN;
    if (bundle->len == 0 || bundle->len > s->peer.transfer_mru)
        return HELIO_ESPACE;
    struct tcpcl_export *e = malloc(sizeof *e);
    if (e == NULL)
        return HELIO_ENOMEM;
    *e = (struct tcpcl_export){.key = key, .bundle = buf_keep(bundle)};
    list_add_tail(&s->exports.waiting, &e->node);
    s->exports.count++;
    s->flight.queued += bundle->len;
    s->flight.limited = s->flight.limited || tcpcl_flight_full(s);
    return 0;
}

bool tcpcl_take_back(struct tcpcl_session *s, uint64_t key, uint64_t *len)
{
    list_for_each (it, &s->exports.waiting) {
        struct tcpcl_export *e = container_of(it, struct tcpcl_export, node);
        if (e->key != key)
            continue;
        *len = e->bundle->len;
        tcpcl_export_drop(s, e);
        return true;
    }
    return false;
}

static void end_export(struct tcpcl_session *s, struct tcpcl_export *e, enum tcpcl_fate fate,
                       enum tcpcl_refusal refusal, struct tcpcl_notice *out)
{
    *out = (struct tcpcl_notice){.kind = TCPCL_DONE,
                                 .key = e->key,
                                 .length = e->bundle->len,
                                 .fate = fate,
                                 .refusal = refusal};
    tcpcl_export_drop(s, e);
}

/* Of a transfer that is not there: it has its outcome already, or never was (§5.1.2). */
static void answer_unknown(struct tcpcl_session *s, uint64_t id, uint8_t type, tick now)
{
    if (id < s->exports.next_id)
        s->n->late++;
    else
        tcpcl_reject(s, TCPCL_REJECT_UNEXPECTED, type, now);
}

/* The octets of the transfer that the peer has, so far. */
static void take_progress(struct tcpcl_session *s, struct tcpcl_export *e, uint64_t length)
{
    assert(length <= e->planned && e->acked <= e->planned);
    if (length <= e->acked)
        return;
    s->flight.acked += length - e->acked;
    e->acked = length;
}

/* Its last acknowledgement is the one for all its bytes, whatever flags it has: no segment of ours
 * is empty. */
bool tcpcl_acked(struct tcpcl_session *s, uint64_t id, uint64_t length, struct tcpcl_notice *out,
                 tick now)
{
    struct tcpcl_export *e = tcpcl_export_find(s, id);
    if (e == NULL || length > e->planned) {
        if (e == NULL)
            answer_unknown(s, id, TCPCL_XFER_ACK, now);
        else
            tcpcl_reject(s, TCPCL_REJECT_UNEXPECTED, TCPCL_XFER_ACK, now);
        return false;
    }
    const bool all = length == e->bundle->len;
    if (all)
        end_export(s, e, TCPCL_ACKED, TCPCL_REFUSE_UNKNOWN, out);
    else
        take_progress(s, e, length);
    tcpcl_flight_acked(s, now);
    return all;
}

bool tcpcl_was_refused(struct tcpcl_session *s, uint64_t id, uint8_t reason,
                       struct tcpcl_notice *out, tick now)
{
    enum tcpcl_refusal why =
        reason < TCPCL_REFUSAL_COUNT ? (enum tcpcl_refusal)reason : TCPCL_REFUSE_UNKNOWN;
    struct tcpcl_export *e = tcpcl_export_find(s, id);
    s->n->refused_rx[why]++;
    if (e == NULL) {
        answer_unknown(s, id, TCPCL_XFER_REFUSE, now);
        return false;
    }
    if (e->several)
        tcpcl_flight_refused(s);
    end_export(s, e, TCPCL_REFUSED, why, out);
    tcpcl_flight_acked(s, now);
    return true;
}

bool tcpcl_export_fail(struct tcpcl_session *s, bool all, struct tcpcl_notice *out)
{
    struct list *l = list_first(&s->exports.waiting);
    enum tcpcl_fate fate = TCPCL_UNSENT;
    if (l == NULL && all) {
        l = list_first(&s->exports.begun);
        fate = TCPCL_LOST;
    }
    if (l == NULL)
        return false;
    end_export(s, container_of(l, struct tcpcl_export, node), fate, TCPCL_REFUSE_UNKNOWN, out);
    return true;
}
