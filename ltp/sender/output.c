/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next segment for a link. Control segments are written as a whole into the caller's buffer.
 * For data segments only the header is written there; the data stays in the block. A data segment
 * has segment_max bytes; the last one of a contiguous range has the remaining bytes.
 *
 * The serial numbers of a checkpoint may exceed segment_max, up to checkpoint_extra, so that a
 * retransmission has the same segment boundaries as the lost segments. If the path has no room for
 * them (checkpoint_extra 0), a full last segment is divided once, so that its larger part and the
 * serial numbers fit together. Nothing can fail: all memory was reserved when the segment was
 * queued.
 */
#include <assert.h>

#include "ltp/engine.h"
#include "ltp/sdnv.h"

struct piece {
    uint64_t offset, length;
    bool last;
    uint8_t type;
    uint64_t cp_serial, rpt_serial; /* 0, 0: no checkpoint */
};

/* The longest data part in `room` bytes that also hold its length. */
static uint64_t fit_sdnv(uint64_t room)
{
    uint64_t n = room <= 128 ? 1 : room <= 16385 ? 2 : 3;
    return room - n < UINT64_C(1) << (7 * n) ? room - n : (UINT64_C(1) << (7 * n)) - 1;
}

/* Unanswered tries of a checkpoint after which the path is assumed to drop longer segments. */
#define EXTRA_TRIES 5
#define SERIALS_GROW 2 /* bytes: later serials of a session may be longer, each by one */

/* Bytes for a data part and its length, in a segment that begins at `at`. */
static uint64_t data_room(const struct export_session *e, uint64_t at)
{
    const struct peer *to = e->s.peer;
    return to->span.segment_max - to->tail_len - e->prefix_len - sdnv_len(at);
}

/* The longest data part beside these serials in `room` bytes. */
static uint64_t fit_checkpoint(uint64_t room, uint64_t cp_serial, uint64_t rpt_serial)
{
    return fit_sdnv(room - sdnv_len(cp_serial) - sdnv_len(rpt_serial));
}

/* What is cut off a stretch of `left` bytes that the serials do not fit beside. */
static uint64_t cut_once(uint64_t room, uint64_t left, uint64_t cp_serial, uint64_t rpt_serial)
{
    uint64_t again = fit_checkpoint(room - SERIALS_GROW, cp_serial, rpt_serial);
    return left > again ? again : left - 1;
}

/* The next piece of [at, end); the last one carries the checkpoint c, if there is one. */
static struct piece cut_piece(const struct export_session *e, uint64_t at, uint64_t end,
                              const struct checkpoint *c)
{
    uint64_t left = end - at;
    uint64_t room = data_room(e, at);
    uint64_t full = fit_sdnv(room);
    struct piece p = {.offset = at, .length = full, .last = false};
    uint64_t closing = c != NULL ? e->s.peer->support.use.closing_bytes : 0;
    bool whole = left == e->red_len && left <= full; /* a second segment would cost too much */
    if (closing != 0 && left > closing && left - closing <= full && !whole) {
        p.length = left - closing;
        return p;
    }
    if (left > full)
        return p;
    p.length = left;
    p.last = true;
    if (c == NULL)
        return p;
    uint64_t serial = ltp_checkpoint_next_serial(e);
    uint64_t extra = e->s.peer->span.checkpoint_extra;
    if (left > fit_checkpoint(room + extra, serial, c->rpt_serial)) {
        p.length = cut_once(room, left, serial, c->rpt_serial);
        p.last = false;
        return p;
    }
    p.cp_serial = serial;
    p.rpt_serial = c->rpt_serial;
    return p;
}

static uint8_t red_type(const struct export_session *e, const struct piece *p)
{
    if (p->cp_serial == 0)
        return LTP_RED;
    if (p->offset + p->length < e->red_len)
        return LTP_RED_CP;
    return e->red_len == e->length ? LTP_RED_CP_EOB : LTP_RED_CP_EORP;
}

static void write_piece(struct ltp *l, const struct export_session *e, const struct piece *p,
                        const struct emit *cause, struct ltp_out *out, tick now)
{
    memcpy(out->head, e->prefix, PREFIX_MAX);
    if (PORT_UNLIKELY(e->prefix_len > PREFIX_MAX))
        memcpy(out->head + PREFIX_MAX, e->prefix + PREFIX_MAX, EXT_MAX + ORANGE_EXT);
    out->head[0] = p->type;
    uint8_t *at = sdnv_put(sdnv_put(out->head + e->prefix_len, p->offset), p->length);
    if (p->cp_serial != 0)
        at = sdnv_put(sdnv_put(at, p->cp_serial), p->rpt_serial);
    out->head_len = (uint32_t)(at - out->head);
    out->data = slice_of(buf_data(e->data) + p->offset, (size_t)p->length);
    struct ltp_segment s;
    s.type = p->type;
    s.id = e->s.id;
    s.header_count = e->orange;
    if (PORT_UNLIKELY(e->orange))
        s.headers = ltp_orange_extension(ORANGE_ASKS);
    s.client_service = e->s.client_service;
    s.offset = p->offset;
    s.data = out->data;
    s.cp_serial = p->cp_serial;
    s.rpt_serial = p->rpt_serial;
    struct emit em = *cause;
    em.kind = EVENT_TX;
    em.peer = e->s.peer;
    em.len = out->head_len + out->data.len + e->s.peer->tail_len;
    assert(em.len <= e->s.peer->span.segment_max +
                         (p->cp_serial != 0 ? e->s.peer->span.checkpoint_extra : 0));
    ltp_emit_segment(l, &s, &em, now);
}

/* §6.2: the checkpoint leaves; its timer starts. */
static void checkpoint_sent(struct ltp *l, struct checkpoint *c, const struct piece *p, tick now)
{
    c->type = p->type;
    c->offset = p->offset;
    c->length = p->length;
    ltp_checkpoint_sent(l, c, now);
}

/* §6.1: a checkpoint where none is needed, in a segment that is full. */
static void make_early(const struct export_session *e, struct piece *p)
{
    p->cp_serial = ltp_checkpoint_next_serial(e);
    uint64_t most = fit_checkpoint(data_room(e, p->offset), p->cp_serial, 0);
    p->length = p->length > most ? most : p->length;
}

static void output_fresh(struct ltp *l, struct export_session *e, struct ltp_out *out, tick now)
{
    bool red = e->next < e->red_len;
    struct piece p = cut_piece(e, e->next, red ? e->red_len : e->length, red ? e->eorp : NULL);
    if (e->next == 0)
        e->early_since = now;
    bool probes = ltp_silence_probes(e);
    bool early = red && !p.last && (probes || ltp_checkpoint_early_due(e, now));
    if (probes && early && p.length > PROBE_BYTES)
        p.length = PROBE_BYTES;
    if (early)
        make_early(e, &p);
    p.type = red ? red_type(e, &p) : p.last ? LTP_GREEN_EOB : LTP_GREEN_DATA;
    write_piece(l, e, &p, &(struct emit){.cause = CAUSE_FIRST, .attempt = 1}, out, now);
    e->next += p.length;
    e->early_segments++;
    if (early)
        checkpoint_sent(l, e->early, &p, now);
    if (red && p.last) {
        checkpoint_sent(l, e->eorp, &p, now);
        e->eorp = NULL;
    }
    if (e->next < e->length) {
        if (probes)
            ltp_silence_hold(e);
        return;
    }
    list_sub(&e->fresh);
    ltp_notice_put(l, &e->s, LTP_INITIAL_SENT)->tag = e->tag;
    if (e->orange)
        ltp_orange_sent(l, e, now);
    else if (ltp_incarnation_whole(e))
        ltp_export_close(l, e, OUTCOME_DONE, LTP_USR_CNCLD, now, true);
}

static void output_resend(struct ltp *l, struct resend *r, struct ltp_out *out, tick now)
{
    struct export_session *e = r->session;
    bool last_gap = r->gap + 1 == r->gaps.len;
    struct piece p =
        cut_piece(e, r->at, r->gaps.at[r->gap].hi, last_gap && !r->asks ? r->checkpoint : NULL);
    p.type = red_type(e, &p);
    struct emit cause = {.cause = CAUSE_REPORT, .attempt = p.cp_serial != 0 ? 1 : EVENT_NONE};
    write_piece(l, e, &p, &cause, out, now);
    if (!p.last) {
        r->at += p.length;
    } else if (!last_gap) {
        r->at = r->gaps.at[++r->gap].lo;
    } else if (r->asks) {
        struct piece next = {.offset = p.offset + p.length - 1, .length = 1, .cp_serial = 1};
        ltp_support_ask(ltp_resend_end(l, r),
                        &(struct signature){.type = red_type(e, &next),
                                            .offset = next.offset,
                                            .length = next.length},
                        now);
    } else {
        checkpoint_sent(l, ltp_resend_end(l, r), &p, now);
    }
}

/* What was sent when segments could be longer, or is suspected to be too long for the path: its end
 * is the checkpoint, and if the beginning is missing at the receiver the report will say so. */
static void shorten_checkpoint(struct checkpoint *c)
{
    const struct export_session *e = c->session;
    uint64_t end = c->offset + c->length;
    uint64_t extra = c->tries < EXTRA_TRIES ? e->s.peer->span.checkpoint_extra : 0;
    uint64_t most = fit_checkpoint(data_room(e, end) + extra, c->serial, c->rpt_serial);
    if (PORT_LIKELY(c->length <= most))
        return;
    c->length = most;
    c->offset = end - most;
    if (c->type == LTP_RED_CP_EOB || c->type == LTP_RED_CP_EORP)
        assert(end == e->red_len);
}

static void output_checkpoint(struct ltp *l, struct checkpoint *c, struct ltp_out *out, tick now)
{
    shorten_checkpoint(c);
    struct piece p = {.offset = c->offset,
                      .length = c->length,
                      .type = c->type,
                      .cp_serial = c->serial,
                      .rpt_serial = c->rpt_serial};
    list_sub(&c->queue);
    ltp_checkpoint_sent_again(l, c, now);
    write_piece(l, c->session, &p, &(struct emit){.cause = (int)c->cause, .attempt = c->sent}, out,
                now);
}

/* It leaves, unless its peer is an unconfigured peer without credit: then it is as good as lost. */
static void emit_control(struct ltp *l, const struct ltp_segment *s, const struct emit *em,
                         struct ltp_out *out, tick now)
{
    assert(out->data.len == 0 && em->len >= out->head_len);
    if (PORT_LIKELY(ltp_unconfigured_pays(l, em->peer, em->len)))
        ltp_emit_segment(l, s, em, now);
    else
        out->head_len = 0;
}

static void write_control(struct ltp *l, struct peer *p, struct ltp_segment *s, struct emit em,
                          struct ltp_out *out, tick now)
{
    out->head_len = (uint32_t)segment_write(s, out->head, out->head_cap);
    out->data = slice_of(NULL, 0);
    assert(out->head_len > 0);
    em.kind = EVENT_TX;
    em.peer = p;
    em.len = out->head_len + p->tail_len;
    emit_control(l, s, &em, out, now);
}

static void output_cancel(struct ltp *l, struct cancel *c, struct ltp_out *out, tick now)
{
    struct ltp_segment s = {.type = c->type, .id = c->session->id, .reason = c->reason};
    list_sub(&c->queue);
    c->sent++;
    struct peer *p = c->session->peer;
    uint8_t headers[EXT_MAX + ORANGE_EXT];
    ltp_auth_dress(p, &s);
    if (c->orange != ORANGE_NONE) {
        memcpy(headers, p->ext, p->ext_len);
        memcpy(headers + p->ext_len, ltp_orange_extension((enum event_orange)c->orange).data,
               ORANGE_EXT);
        s.headers = slice_of(headers, (size_t)p->ext_len + ORANGE_EXT);
        s.header_count++;
    }
    write_control(l, p, &s, (struct emit){.cause = c->cause, .attempt = c->sent}, out, now);
    ltp_timer_start(l, &c->timer, now, ltp_rto(p, &p->report_rtt, c->sent));
}

static void output_ack(struct ltp *l, struct peer *p, struct ltp_out *out, tick now)
{
    struct ack a = p->acks[p->ack_head];
    p->ack_head = (p->ack_head + 1) & (p->ack_cap - 1);
    p->ack_len--;
    struct ltp_segment s = {.type = a.type, .id = a.id, .rpt_serial = a.serial};
    ltp_auth_dress(p, &s);
    write_control(l, p, &s, (struct emit){.cause = a.cause, .attempt = EVENT_NONE}, out, now);
}

static void output_report(struct ltp *l, struct report *r, struct ltp_out *out, tick now)
{
    struct ltp_segment s = {.type = LTP_RS,
                            .id = r->import->s.id,
                            .rpt_serial = r->serial,
                            .cp_serial = r->cp_serial,
                            .lower = r->lower,
                            .upper = r->upper,
                            .claim_count = r->count};
    struct peer *p = r->import->s.peer;
    ltp_auth_dress(p, &s);
    out->head_len = (uint32_t)segment_write_report(&s, r->claims, out->head, out->head_cap);
    assert(out->head_len > 0);
    out->data = slice_of(NULL, 0);
    list_sub(&r->queue);
    r->sent++;
    emit_control(l, &s,
                 &(struct emit){.kind = EVENT_TX,
                                .peer = p,
                                .len = out->head_len + p->tail_len,
                                .cause = r->cause,
                                .attempt = r->sent},
                 out, now);
    ltp_report_sent(l, r, now);
}

bool ltp_output_waits(const struct peer *p)
{
    return !list_empty(&p->cancels) || p->ack_len > 0 || !list_empty(&p->reports) ||
           !list_empty(&p->checkpoints) || !list_empty(&p->resends) || !list_empty(&p->fresh);
}

int ltp_output(struct ltp *l, uint64_t engine, tick now, struct ltp_out *out)
{
    struct peer *p = ltp_peer_find(l, engine);
    if (p == NULL || !p->up)
        return 0;
    assert(out->head_cap >= LTP_HEAD_MAX &&
           out->head_cap >= p->span.segment_max + p->span.checkpoint_extra);
    /* again only when it was for an unconfigured peer without credit: each time one less waits */
    do {
        if (!list_empty(&p->cancels))
            output_cancel(l, container_of(p->cancels.next, struct cancel, queue), out, now);
        else if (p->ack_len > 0)
            output_ack(l, p, out, now);
        else if (!list_empty(&p->reports))
            output_report(l, container_of(p->reports.next, struct report, queue), out, now);
        else if (!list_empty(&p->checkpoints))
            output_checkpoint(l, container_of(p->checkpoints.next, struct checkpoint, queue), out,
                              now);
        else if (!list_empty(&p->resends))
            output_resend(l, container_of(p->resends.next, struct resend, queue), out, now);
        else if (!list_empty(&p->fresh))
            output_fresh(l, container_of(p->fresh.next, struct export_session, fresh), out, now);
        else
            return 0;
    } while (PORT_UNLIKELY(out->head_len == 0));
    assert(out->head_len + out->data.len + p->tail_len <=
           p->span.segment_max + p->span.checkpoint_extra);
    if (p->span.recovery.sessions_auto && !ltp_output_waits(p))
        ltp_limit_idle(p, now);
    if (PORT_UNLIKELY(p->tail_len > 0))
        ltp_auth_seal(p, out);
    p->copy_credit += out->head_len + out->data.len;
    if (p->copy_credit > COPY_CREDIT_MAX)
        p->copy_credit = COPY_CREDIT_MAX;
    return 1;
}

bool ltp_has_output(const struct ltp *l, uint64_t engine)
{
    const struct peer *p = ltp_peer_peek(l, engine);
    return p != NULL && ltp_output_waits(p);
}
