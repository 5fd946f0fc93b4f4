/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is to be sent is a set of ranges, whose last segment is a checkpoint; each report takes off
 * what it claims from the block and puts the gaps in its scope into that set.
 */
#include "tests/sim/model_sender.h"

#include <stdlib.h>
#include <string.h>

void model_sender_init(struct model_sender *m, const struct model_sender_config *config,
                       struct slice block, uint64_t number)
{
    *m = (struct model_sender){.config = *config, .block = block};
    m->id = (struct ltp_session_id){config->engine, number};
    m->again_at = TICK_NEVER;
}

void model_sender_fini(struct model_sender *m)
{
    ranges_fini(&m->claimed);
    ranges_fini(&m->to_send);
}

static void end_session(struct model_sender *m)
{
    m->open = false;
    m->len = 0;
    ranges_clear(&m->claimed);
    ranges_clear(&m->to_send);
}

static void fail_session(struct model_sender *m, tick now)
{
    end_session(m);
    if (m->sends < m->config.sends_max)
        m->again_at = now + m->config.pause;
}

void model_sender_send(struct model_sender *m)
{
    end_session(m);
    m->id.number++;
    m->sends++;
    m->again_at = TICK_NEVER;
    m->open = true;
    m->serial = 100;
    m->rpt_serial = 0;
    if (ranges_add(&m->to_send, 0, m->block.len, SIZE_MAX) < 0)
        abort();
}

static void stop_checkpoint(struct model_sender *m, uint64_t serial)
{
    for (size_t i = 0; i < m->len; i++) {
        if (m->at[i].serial != serial)
            continue;
        m->at[i] = m->at[--m->len];
        return;
    }
}

static void take_report(struct model_sender *m, const struct ltp_segment *s)
{
    struct slice at = s->claims;
    struct range r;
    while (segment_claim(s, &at, &r))
        if (ranges_add(&m->claimed, r.lo, r.hi, SIZE_MAX) < 0)
            abort();
    stop_checkpoint(m, s->cp_serial);
    if (ranges_has(&m->claimed, 0, m->block.len)) {
        end_session(m);
        m->done = true;
        return;
    }
    for (uint64_t from = s->lower; ranges_gap(&m->claimed, from, s->upper, &r) != 0; from = r.hi) {
        if (ranges_add(&m->to_send, r.lo, r.hi, SIZE_MAX) < 0)
            abort();
        m->rpt_serial = s->rpt_serial;
    }
}

static void take_frame(void *self, const uint8_t *data, size_t len, tick now)
{
    struct model_sender *m = self;
    struct ltp_segment s;
    if (segment_parse(&s, data, len) != VERDICT_OK)
        return;
    bool ours = m->open && s.id.number == m->id.number;
    if (s.type == LTP_RS) {
        if (m->acks_len < sizeof m->acks / sizeof *m->acks && s.id.number == m->id.number)
            m->acks[m->acks_len++] = s.rpt_serial;
        if (ours)
            take_report(m, &s);
    }
    if (s.type == LTP_CR) {
        if (m->car_len < sizeof m->car / sizeof *m->car)
            m->car[m->car_len++] = s.id;
        if (ours)
            fail_session(m, now);
    }
}

static size_t write_data(struct model_sender *m, struct range r, const struct model_checkpoint *c,
                         uint8_t *out)
{
    bool end = r.hi == m->block.len;
    struct ltp_segment s = {.type = c == NULL ? LTP_RED
                                    : end     ? LTP_RED_CP_EOB
                                              : LTP_RED_CP,
                            .id = m->id,
                            .client_service = 1,
                            .offset = r.lo,
                            .data = slice_of(m->block.data + r.lo, (size_t)(r.hi - r.lo))};
    if (c != NULL) {
        s.cp_serial = c->serial;
        s.rpt_serial = c->rpt_serial;
    }
    return segment_write(&s, out, DUO_FRAME);
}

static size_t send_new(struct model_sender *m, uint8_t *out, tick now)
{
    struct range all = m->to_send.at[0];
    struct range r = {all.lo,
                      all.hi - all.lo > m->config.segment ? all.lo + m->config.segment : all.hi};
    bool last = m->to_send.len == 1 && r.hi == all.hi;
    if (ranges_sub(&m->to_send, r.lo, r.hi, SIZE_MAX) < 0)
        abort();
    if (!last || m->len == MODEL_CHECKPOINTS)
        return write_data(m, r, NULL, out);
    struct model_checkpoint *c = &m->at[m->len++];
    *c = (struct model_checkpoint){++m->serial, m->rpt_serial, r, 1, now + m->config.rto};
    return write_data(m, r, c, out);
}

static size_t give_frame(void *self, uint8_t out[DUO_FRAME], tick now)
{
    struct model_sender *m = self;
    struct ltp_segment s = {.id = m->id};
    if (m->car_len > 0) {
        s = (struct ltp_segment){.type = LTP_CAR, .id = m->car[--m->car_len]};
        return segment_write(&s, out, DUO_FRAME);
    }
    if (m->cancel) {
        m->cancel = false;
        s.type = LTP_CS;
        s.reason = LTP_RLEXC;
        return segment_write(&s, out, DUO_FRAME);
    }
    if (m->acks_len > 0) {
        s.type = LTP_RA;
        s.rpt_serial = m->acks[--m->acks_len];
        return segment_write(&s, out, DUO_FRAME);
    }
    for (size_t i = 0; i < m->len; i++) {
        struct model_checkpoint *c = &m->at[i];
        if (c->due != TICK_NEVER)
            continue;
        c->sent++;
        c->due = now + m->config.rto;
        return write_data(m, c->data, c, out);
    }
    return m->open && m->to_send.len > 0 ? send_new(m, out, now) : 0;
}

static void expire_timers(void *self, tick now)
{
    struct model_sender *m = self;
    if (m->again_at <= now)
        model_sender_send(m);
    for (size_t i = 0; i < m->len; i++) {
        struct model_checkpoint *c = &m->at[i];
        if (c->due > now)
            continue;
        if (c->sent > m->config.retries) {
            m->cancel = true;
            fail_session(m, now);
            return;
        }
        c->due = TICK_NEVER;
    }
}

static tick find_deadline(const void *self)
{
    const struct model_sender *m = self;
    tick due = m->again_at;
    for (size_t i = 0; i < m->len; i++)
        due = tick_min(due, m->at[i].due);
    return due;
}

const struct duo_ops model_sender_ops = {take_frame, give_frame, expire_timers, find_deadline};
