/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Custody transfer in a tunnel (draft-ietf-dtn-bibect). A bundle that is in transmission stays at
 * the node, which has no outcome of it until a custody signal of the peer names its transmission
 * ID. So a restart of this node transmits it again, with a new ID. The peer's bundles are confirmed
 * when the node has stored them; what is not confirmed because this node restarted is confirmed
 * when the peer transmits it again. What can go wrong: no signal in time, a refusal, signals of
 * others, or signals with IDs that were not issued.
 */
#include <assert.h>
#include <jansson.h>
#include <string.h>

#include "bp/codec/bundle.h"
#include "cla/bibe/bibe_link.h"
#include "conf/json_number.h"

struct custody_config bibe_custody_config(const struct bibe_link *l)
{
    const struct bibe_config *k = l->config;
    const tick light = l->round_trip == TICK_NEVER ? 0 : l->round_trip;
    return (struct custody_config){.held_max = k->custody_window,
                                   .id_max = k->records == CUSTODY_ION ? UINT32_MAX : INT64_MAX,
                                   .timer = k->timer,
                                   .light = light,
                                   .signal_after = k->signal_after,
                                   .signal_count = k->signal_count};
}

int bibe_custody_open(struct bibe_link *l)
{
    const struct custody_config config = bibe_custody_config(l);
    l->custody = custody_new(&config, world_random(l->env.world));
    l->cla.limits.window = (uint32_t)config.held_max;
    /* Its bundles have the lifetime as their limit. */
    l->cla.limits.resend = UINT64_MAX;
    return l->custody == NULL ? HELIO_ENOMEM : 0;
}

void bibe_custody_times(struct bibe_link *l)
{
    const struct custody_config config = bibe_custody_config(l);
    custody_set(l->custody, &config);
}

/* The draft has it in DTN time, ION in seconds of the Unix clock. */
static uint64_t retransmission_time(const struct bibe_link *l)
{
    const tick now = world_now(l->env.world);
    const uint64_t wall = world_wall(l->env.world) + (custody_again_at(l->custody, now) - now);
    const uint64_t epoch = DTN_EPOCH_UNIX * TICK_S;
    if (l->config->records == CUSTODY_ION)
        return wall / TICK_S;
    return wall > epoch ? (wall - epoch) / TICK_MS : 0;
}

void bibe_custody_head(const struct bibe_link *l, uint64_t id, struct buf *payload)
{
    const int rc = custody_bpdu_write((enum custody_form)l->config->records, id,
                                      retransmission_time(l), payload);
    assert(rc == 0);
    (void)rc;
}

/* ---- the peer's bundles ---- */

void bibe_custody_verdict(struct bibe_link *l, uint64_t id, enum cla_verdict verdict)
{
    static const enum custody_disposition dispositions[CLA_VERDICT_COUNT] = {
        [CLA_ACCEPTED] = CUSTODY_ACCEPTED,
        [CLA_FULL] = CUSTODY_DEPLETED,
        [CLA_FAULTY] = CUSTODY_BAD_BLOCK,
        [CLA_UNWANTED] = CUSTODY_NO_ROUTE,
    };
    assert(verdict != CLA_BUSY);
    custody_confirm(l->custody, id, dispositions[verdict], world_now(l->env.world));
    bibe_kick(l);
}

void bibe_custody_refuse(struct bibe_link *l, uint64_t id)
{
    if (id == 0)
        return;
    custody_confirm(l->custody, id, CUSTODY_NO_INFORMATION, world_now(l->env.world));
    bibe_kick(l);
}

/* ---- signals ---- */

void bibe_custody_input(struct bibe_link *l, const struct cla_delivery *d,
                        const struct custody_record *signal, struct range *at)
{
    /* Even with any_source: a signal of another endpoint would delete bundles. */
    if (!eid_equal(d->source, &l->config->remote)) {
        bibe_note(l, BIBE_NOTE_FORGED, 1);
        return;
    }
    const uint64_t before = custody_stats(l->custody)->never_issued;
    l->heard = world_now(l->env.world);
    if (custody_input(l->custody, signal->disposition, at, signal->len) < 0)
        bibe_note(l, BIBE_NOTE_NO_MEMORY, 1);
    bibe_note(l, BIBE_NOTE_UNISSUED, custody_stats(l->custody)->never_issued - before);
    bibe_kick(l);
}

static bool carrier_is_here(void *context, const struct custody_carrier *carrier)
{
    const struct bibe_link *l = context;
    const struct cla_stamp stamp = {carrier->time_ms, carrier->sequence};
    return l->env.self.is_here(l->env.self.context, &l->config->local, &stamp);
}

static bool submit_signal(struct bibe_link *l, enum custody_disposition disposition,
                          const struct range *at, size_t len)
{
    uint8_t record[CUSTODY_SIGNAL_MAX];
    const size_t n =
        custody_signal_write((enum custody_form)l->config->records, disposition, at, len, record);
    struct buf *payload = buf_new(BUNDLE_HEAD_MAX, n + BUNDLE_TAIL_MAX);
    if (payload == NULL)
        return false;
    memcpy(buf_append(payload, n), record, n);
    const struct cla_parcel parcel = {.source = l->config->local,
                                      .destination = l->config->remote,
                                      .lifetime_ms = l->config->lifetime / TICK_MS,
                                      .record = true,
                                      .payload = payload};
    if (l->env.self.submit(l->env.self.context, &parcel, l->next_token++, &l->signal) ==
        CLA_REASON_NONE) {
        l->signalled = true;
        return true;
    }
    buf_drop(payload);
    return false;
}

/* While the latest signal waits in this node, such as for the link below, further confirmations are
 * collected: a signal for each would wait beside it. */
static bool signal_waits(const struct bibe_link *l)
{
    return l->signalled && l->env.self.is_here(l->env.self.context, &l->config->local, &l->signal);
}

static void send_signals(struct bibe_link *l, tick now)
{
    enum custody_disposition disposition;
    const struct range *at;
    size_t len;
    while (custody_signal(l->custody, now, &disposition, &at, &len)) {
        const bool ok = !signal_waits(l) && submit_signal(l, disposition, at, len);
        custody_signalled(l->custody, disposition, ok, tick_add(now, TICK_S));
    }
}

/* ---- outcomes ---- */

static enum cla_reason reason_of(uint64_t disposition)
{
    return disposition == CUSTODY_DEPLETED ? CLA_REASON_PEER_FULL : CLA_REASON_PEER_REFUSED;
}

static void tell_outcome(struct bibe_link *l, const struct custody_event *e)
{
    static const struct {
        enum cla_outcome outcome;
        enum cla_reason reason;
    } told[] = {[CUSTODY_RELEASED] = {CLA_DELIVERED, CLA_REASON_NONE},
                /* Not CLA_REFUSED: other routes have no custody. */
                [CUSTODY_REFUSED] = {CLA_LOST, CLA_REASON_NONE},
                [CUSTODY_LOST] = {CLA_LOST, CLA_REASON_NO_ANSWER},
                [CUSTODY_CANCELLED] = {CLA_TAKEN_BACK, CLA_REASON_CANCELLED}};
    const enum cla_outcome outcome = told[e->outcome].outcome;
    enum cla_reason reason = told[e->outcome].reason;
    if (e->outcome == CUSTODY_REFUSED)
        reason = reason_of(e->disposition);
    bibe_note(l, BIBE_NOTE_LOST, e->outcome == CUSTODY_LOST);
    bibe_note(l, BIBE_NOTE_NOT_TAKEN, e->outcome == CUSTODY_REFUSED);
    l->n.bundles_sent += e->outcome == CUSTODY_RELEASED;
    l->n.bundles_failed += e->outcome != CUSTODY_RELEASED;
    l->env.events.done(l->env.events.context, &l->cla, e->key, outcome, reason);
}

tick bibe_custody_turn(struct bibe_link *l)
{
    struct custody_event e;
    const tick now = world_now(l->env.world);
    if (l->custody == NULL)
        return TICK_NEVER;
    custody_expire(l->custody, now, carrier_is_here, l);
    while (custody_poll(l->custody, &e))
        tell_outcome(l, &e);
    if (l->up) /* else they are collected further */
        send_signals(l, now);
    return tick_min(custody_deadline(l->custody),
                    l->up ? custody_signal_due(l->custody) : TICK_NEVER);
}

void bibe_custody_gauges(const struct bibe_link *l, struct cla_gauges *out)
{
    if (l->custody == NULL)
        return;
    const struct custody_stats *s = custody_stats(l->custody);
    out->custody = true;
    out->custody_held = custody_held(l->custody);
    out->custody_released = s->released;
    out->custody_refused = s->refused;
    out->custody_lost = s->lost;
    out->custody_confirmed = s->confirmed;
    out->custody_forged = s->never_issued + l->n.notes[BIBE_NOTE_FORGED];
}

void bibe_custody_status(const struct bibe_link *l, struct json_t *object)
{
    if (l->custody == NULL)
        return;
    const struct custody_stats *s = custody_stats(l->custody);
    json_t *o = json_object();
    json_put_number(o, "held", custody_held(l->custody));
    json_put_number(o, "issued", s->issued);
    json_put_number(o, "released", s->released);
    json_put_number(o, "refused", s->refused);
    json_put_number(o, "lost", s->lost);
    json_put_number(o, "signals_received", s->signals_received);
    json_put_number(o, "late", s->late);
    json_put_number(o, "never_issued", s->never_issued);
    json_put_number(o, "signals_sent", s->signals_sent);
    json_put_number(o, "confirmed", s->confirmed);
    json_put_number(o, "not_confirmed", s->not_confirmed);
    json_object_set_new(object, "custody", o);
}
