/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data segment opens its session. A checkpoint is answered by a report (or several, if claims do
 * not fit). A report is repeated by its timer until it is acknowledged. The session ends when the
 * block is complete and the reports are acknowledged, when the sender cancels it, or when a report
 * was repeated too often.
 */
#include "tests/sim/forgetful.h"

#include <stdlib.h>
#include <string.h>

void forgetful_init(struct forgetful *m, const struct forgetful_config *config, uint64_t seed)
{
    *m = (struct forgetful){.config = *config};
    rng_init(&m->rng, seed);
}

static void empty_import(struct forgetful_import *im)
{
    for (size_t i = 0; i < im->reports_len; i++)
        free(im->reports[i].claims);
    ranges_fini(&im->got);
    free(im->bytes);
    memset(im, 0, sizeof *im);
}

void forgetful_forget(struct forgetful *m)
{
    for (size_t i = 0; i < FORGETFUL_SESSIONS; i++)
        if (m->at[i].used)
            empty_import(&m->at[i]);
    m->next = 0;
    m->acks_len = 0;
}

void forgetful_fini(struct forgetful *m)
{
    forgetful_forget(m);
}

static struct forgetful_import *find_import(struct forgetful *m, struct ltp_session_id id)
{
    for (size_t i = 0; i < FORGETFUL_SESSIONS; i++) {
        struct forgetful_import *im = &m->at[i];
        if (im->used && im->id.originator == id.originator && im->id.number == id.number)
            return im;
    }
    return NULL;
}

static uint64_t first_serial(struct forgetful *m)
{
    switch (m->config.serials) {
    case FORGETFUL_FROM_1:
        return 1;
    case FORGETFUL_NEXT:
        return m->last_serial + 1;
    default:
        return 1 + rng_below(&m->rng, 16384);
    }
}

static struct forgetful_import *open_import(struct forgetful *m, struct ltp_session_id id)
{
    struct forgetful_import *im = &m->at[m->next++ % FORGETFUL_SESSIONS];
    if (im->used)
        empty_import(im);
    ranges_init(&im->got);
    im->used = true;
    im->id = id;
    im->red_len = UINT64_MAX;
    im->serial = first_serial(m);
    im->cancel_due = TICK_NEVER;
    return im;
}

static void store_data(struct forgetful_import *im, const struct ltp_segment *s)
{
    size_t end = (size_t)(s->offset + s->data.len);
    if (end > im->room) {
        im->room = end < 1024 ? 1024 : 2 * end;
        im->bytes = realloc(im->bytes, im->room);
        if (im->bytes == NULL)
            abort();
    }
    memcpy(im->bytes + s->offset, s->data.data, s->data.len);
    if (ranges_add(&im->got, s->offset, end, SIZE_MAX) < 0)
        abort();
    if (s->type >= LTP_RED_CP_EORP)
        im->red_len = end;
}

static bool is_whole(const struct forgetful_import *im)
{
    return im->red_len != UINT64_MAX && ranges_has(&im->got, 0, im->red_len);
}

static void deliver_block(struct forgetful *m, struct forgetful_import *im)
{
    if (im->delivered || !is_whole(im))
        return;
    im->delivered = true;
    m->block(m->context, slice_of(im->bytes, im->red_len));
}

/* One report of as many claims as it may have. Returns where the next one of the scope begins. */
static uint64_t add_report(struct forgetful *m, struct forgetful_import *im, uint64_t cp_serial,
                           struct range scope, tick now)
{
    if (im->reports_len == FORGETFUL_REPORTS)
        return scope.hi;
    struct forgetful_report *r = &im->reports[im->reports_len++];
    size_t first = ranges_find(&im->got, scope.lo), n = 0;
    *r = (struct forgetful_report){.cp_serial = cp_serial, .scope = scope, .due = TICK_NEVER};
    r->claims = calloc(m->config.claims_max, sizeof *r->claims);
    if (r->claims == NULL)
        abort();
    for (; first + n < im->got.len && im->got.at[first + n].lo < scope.hi; n++) {
        if (n == m->config.claims_max) {
            r->scope.hi = r->claims[n - 1].hi;
            break;
        }
        struct range g = im->got.at[first + n];
        r->claims[n].lo = g.lo < scope.lo ? scope.lo : g.lo;
        r->claims[n].hi = g.hi > scope.hi ? scope.hi : g.hi;
    }
    r->count = n;
    r->serial = m->last_serial = im->serial++;
    r->queued = m->config.deferred == 0;
    r->due = r->queued ? TICK_NEVER : now + m->config.deferred;
    return r->scope.hi;
}

static void make_reports(struct forgetful *m, struct forgetful_import *im, uint64_t cp_serial,
                         struct range scope, tick now)
{
    while (scope.lo < scope.hi)
        scope.lo = add_report(m, im, cp_serial, scope, now);
}

static const struct forgetful_report *find_report(const struct forgetful_import *im,
                                                  uint64_t serial)
{
    for (size_t i = 0; i < im->reports_len; i++)
        if (im->reports[i].serial == serial)
            return &im->reports[i];
    return NULL;
}

/* RFC 5326 §6.11, and beyond it the meaning of a report number that this run never issued. */
static void answer_checkpoint(struct forgetful *m, struct forgetful_import *im,
                              const struct ltp_segment *s, tick now)
{
    uint64_t end = s->offset + s->data.len;
    const struct forgetful_report *of = find_report(im, s->rpt_serial);
    if (s->rpt_serial == 0) {
        uint64_t from = im->primary < end ? im->primary : 0;
        make_reports(m, im, s->cp_serial, (struct range){from, end}, now);
        im->primary = end;
    } else if (of != NULL) {
        make_reports(m, im, s->cp_serial, (struct range){of->scope.lo, end}, now);
    } else if (m->config.scope == FORGETFUL_STRETCHES) {
        for (size_t i = 0; i < im->got.len && im->got.at[i].lo < end; i++)
            make_reports(m, im, s->cp_serial, im->got.at[i], now);
    } else {
        uint64_t from = m->config.scope == FORGETFUL_OWN ? s->offset : 0;
        make_reports(m, im, s->cp_serial, (struct range){from, end}, now);
    }
}

static void answer_copy(struct forgetful *m, struct forgetful_import *im,
                        const struct ltp_segment *s, tick now)
{
    if (m->config.copies == FORGETFUL_ANEW && !im->delivered)
        answer_checkpoint(m, im, s, now);
    for (size_t i = 0; m->config.copies == FORGETFUL_SAME && i < im->reports_len; i++) {
        struct forgetful_report *r = &im->reports[i];
        if (r->cp_serial == s->cp_serial && !r->acked && r->sent > 0)
            r->queued = true;
    }
}

static bool was_answered(const struct forgetful_import *im, uint64_t cp_serial)
{
    for (size_t i = 0; i < im->reports_len; i++)
        if (im->reports[i].cp_serial == cp_serial)
            return true;
    return false;
}

static void take_data(struct forgetful *m, const struct ltp_segment *s, tick now)
{
    struct forgetful_import *im = find_import(m, s->id);
    if (im == NULL)
        im = open_import(m, s->id);
    if (im->closed || s->type >= LTP_GREEN_DATA)
        return;
    store_data(im, s);
    deliver_block(m, im);
    if (!segment_is_checkpoint(s))
        return;
    if (was_answered(im, s->cp_serial))
        answer_copy(m, im, s, now);
    else
        answer_checkpoint(m, im, s, now);
}

static void take_ack(struct forgetful_import *im, uint64_t serial)
{
    bool all = im->delivered;
    for (size_t i = 0; i < im->reports_len; i++) {
        struct forgetful_report *r = &im->reports[i];
        if (r->serial == serial) {
            r->acked = true;
            r->queued = false;
            r->due = TICK_NEVER;
        }
        all = all && r->acked;
    }
    im->closed = all;
}

static void close_import(struct forgetful_import *im)
{
    im->closed = true;
    for (size_t i = 0; i < im->reports_len; i++) {
        im->reports[i].queued = false;
        im->reports[i].due = TICK_NEVER;
    }
}

static void take_control(struct forgetful *m, const struct ltp_segment *s)
{
    struct forgetful_import *im = find_import(m, s->id);
    if (s->type == LTP_RA && im != NULL && !im->closed)
        take_ack(im, s->rpt_serial);
    if (s->type == LTP_CS) {
        if (im != NULL)
            close_import(im);
        if (m->acks_len < sizeof m->acks / sizeof *m->acks) {
            m->acks[m->acks_len].type = LTP_CAS;
            m->acks[m->acks_len++].id = s->id;
        }
    }
    if (s->type == LTP_CAR && im != NULL) {
        im->cancelling = im->cancel_queued = false;
        im->cancel_due = TICK_NEVER;
    }
}

static void take_frame(void *self, const uint8_t *data, size_t len, tick now)
{
    struct forgetful *m = self;
    struct ltp_segment s;
    if (segment_parse(&s, data, len) != VERDICT_OK)
        return;
    if (segment_is_data(&s))
        take_data(m, &s, now);
    else
        take_control(m, &s);
}

static size_t send_report(struct forgetful *m, struct forgetful_import *im,
                          struct forgetful_report *r, uint8_t *out, tick now)
{
    struct ltp_segment s = {.type = LTP_RS,
                            .id = im->id,
                            .rpt_serial = r->serial,
                            .cp_serial = r->cp_serial,
                            .lower = r->scope.lo,
                            .upper = r->scope.hi,
                            .claim_count = r->count};
    r->queued = false;
    r->sent++;
    r->due = now + m->config.rto;
    return segment_write_report(&s, r->claims, out, DUO_FRAME);
}

static size_t give_frame(void *self, uint8_t out[DUO_FRAME], tick now)
{
    struct forgetful *m = self;
    if (m->acks_len > 0) {
        m->acks_len--;
        struct ltp_segment s = {.type = m->acks[m->acks_len].type, .id = m->acks[m->acks_len].id};
        return segment_write(&s, out, DUO_FRAME);
    }
    for (size_t i = 0; i < FORGETFUL_SESSIONS; i++) {
        struct forgetful_import *im = &m->at[i];
        if (im->cancel_queued) {
            struct ltp_segment s = {.type = LTP_CR, .id = im->id, .reason = LTP_RLEXC};
            im->cancel_queued = false;
            im->cancels++;
            im->cancel_due = now + m->config.rto;
            return segment_write(&s, out, DUO_FRAME);
        }
        for (size_t k = 0; k < im->reports_len; k++)
            if (im->reports[k].queued)
                return send_report(m, im, &im->reports[k], out, now);
    }
    return 0;
}

static void expire_report(struct forgetful *m, struct forgetful_import *im,
                          struct forgetful_report *r)
{
    r->due = TICK_NEVER;
    if (r->sent <= m->config.retries) {
        r->queued = true;
        return;
    }
    close_import(im);
    im->cancelling = im->cancel_queued = true;
}

static void expire_timers(void *self, tick now)
{
    struct forgetful *m = self;
    for (size_t i = 0; i < FORGETFUL_SESSIONS; i++) {
        struct forgetful_import *im = &m->at[i];
        if (!im->used)
            continue;
        for (size_t k = 0; k < im->reports_len; k++)
            if (im->reports[k].due <= now)
                expire_report(m, im, &im->reports[k]);
        if (im->cancelling && im->cancel_due <= now) {
            im->cancel_due = TICK_NEVER;
            im->cancelling = im->cancel_queued = im->cancels <= m->config.retries;
        }
    }
}

static tick find_deadline(const void *self)
{
    const struct forgetful *m = self;
    tick due = TICK_NEVER;
    for (size_t i = 0; i < FORGETFUL_SESSIONS; i++) {
        const struct forgetful_import *im = &m->at[i];
        for (size_t k = 0; im->used && k < im->reports_len; k++)
            due = tick_min(due, im->reports[k].due);
        if (im->used && im->cancelling)
            due = tick_min(due, im->cancel_due);
    }
    return due;
}

const struct duo_ops forgetful_ops = {take_frame, give_frame, expire_timers, find_deadline};
