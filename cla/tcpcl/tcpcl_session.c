/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of a session: contact, TLS, SESS_INIT, transfers, SESS_TERM, the end. What can go
 * wrong: the peer requires what this end does not support, or is silent; the stream ends; memory.
 * Each case has its tcpcl_end, and each bundle its outcome before the end is reported.
 */
#include "cla/tcpcl/tcpcl_session_private.h"

#include <assert.h>
#include <stdlib.h>

const char *tcpcl_end_text(enum tcpcl_end e)
{
#define END_TEXT(name, text) [TCPCL_END_##name] = text,
    static const char *const texts[TCPCL_END_COUNT] = {TCPCL_ENDS(END_TEXT)};
#undef END_TEXT
    assert((unsigned)e < TCPCL_END_COUNT);
    return texts[e];
}

struct tcpcl_session *tcpcl_new(const struct tcpcl_setup *setup, tick now)
{
    struct tcpcl_session *s = calloc(1, sizeof *s);
    uint8_t *scratch = s == NULL ? NULL : malloc(SCRATCH_LEAST);
    if (scratch == NULL || hash_init(&s->exports.ids, 0) < 0) { /* ids are our own numbers */
        free(scratch);
        free(s);
        return NULL;
    }
    assert(setup->counters != NULL);
    s->setup = *setup;
    s->terms = setup->terms;
    s->n = setup->counters;
    s->in.scratch = scratch;
    s->in.cap = SCRATCH_LEAST;
    s->in.size = READ_LEAST;
    s->in.turn = UINT32_MAX;
    s->started = s->heard = s->spoke = now;
    s->ending_due = s->asked = TICK_NEVER;
    s->out.contact_due = setup->active; /* §4.1: the passive side waits for the peer's */
    list_init(&s->exports.waiting);
    list_init(&s->exports.begun);
    tcpcl_flight_init(s, now);
    return s;
}

void tcpcl_free(struct tcpcl_session *s)
{
    if (s == NULL)
        return;
    tcpcl_plan_drop(s);
    tcpcl_import_drop(s);
    for (struct list *l; (l = list_first(&s->exports.begun)) != NULL;)
        tcpcl_export_drop(s, container_of(l, struct tcpcl_export, node));
    for (struct list *l; (l = list_first(&s->exports.waiting)) != NULL;)
        tcpcl_export_drop(s, container_of(l, struct tcpcl_export, node));
    hash_fini(&s->exports.ids);
    free(s->answers.ring);
    free(s->in.scratch);
    free(s);
}

enum tcpcl_state tcpcl_state(const struct tcpcl_session *s)
{
    return s->state;
}

const struct tcpcl_peer *tcpcl_peer(const struct tcpcl_session *s)
{
    return &s->peer;
}

bool tcpcl_established(const struct tcpcl_session *s)
{
    return s->state == TCPCL_IN_UP || s->state == TCPCL_IN_ENDING;
}

/* ---- the end ---- */

void tcpcl_end(struct tcpcl_session *s, enum tcpcl_end end, tick now)
{
    assert(end != TCPCL_END_NONE);
    if (s->state >= TCPCL_IN_CLOSING)
        return;
    s->end = s->end == TCPCL_END_NONE ? end : s->end;
    s->state = TCPCL_IN_CLOSING;
    s->exports.now = NULL; /* a segment that is planned is still sent whole (§6.1) */
    s->ending_due = tick_min(s->ending_due, tick_add(now, s->setup.ending_timeout));
}

/* §6.1: no SESS_TERM before the contact header. */
void tcpcl_end_with(struct tcpcl_session *s, enum tcpcl_end end, uint8_t reason, tick now)
{
    if (s->state >= TCPCL_IN_CLOSING)
        return;
    if (!s->out.term_sent && !s->out.term_due) {
        s->out.term_due = true;
        s->out.term_reply = false;
        s->out.term_reason = reason;
    }
    tcpcl_end(s, end, now);
}

void tcpcl_begin_ending(struct tcpcl_session *s, enum tcpcl_end end, tick now)
{
    assert(s->state == TCPCL_IN_UP);
    s->state = TCPCL_IN_ENDING;
    s->end = end;
    s->ending_due = tick_add(now, s->setup.ending_timeout);
}

/* For an established session; one that is ending already is unchanged. */
void tcpcl_terminate_for(struct tcpcl_session *s, enum tcpcl_end end, uint8_t reason, tick now)
{
    if (s->state != TCPCL_IN_UP)
        return;
    s->out.term_due = true;
    s->out.term_reply = false;
    s->out.term_reason = reason;
    tcpcl_begin_ending(s, end, now);
}

void tcpcl_terminate(struct tcpcl_session *s, enum tcpcl_term reason, tick now)
{
    if (s->state == TCPCL_IN_UP) {
        tcpcl_terminate_for(s, TCPCL_END_OWN_TERM, (uint8_t)reason, now);
    } else if (s->state < TCPCL_IN_UP) {
        tcpcl_end_with(s, s->state == TCPCL_IN_ADMIT ? TCPCL_END_NOT_ADMITTED : TCPCL_END_OWN_TERM,
                       (uint8_t)reason, now);
    }
}

void tcpcl_cut(struct tcpcl_session *s, tick now)
{
    tcpcl_end(s, TCPCL_END_OWN_TERM, now);
    tcpcl_closed(s, now);
}

void tcpcl_closed(struct tcpcl_session *s, tick now)
{
    (void)now;
    s->stream_over = true;
    tcpcl_plan_drop(s);
}

/* Both ends have sent SESS_TERM, and no transfer is open. */
static bool has_ended(const struct tcpcl_session *s)
{
    return s->state == TCPCL_IN_ENDING && s->out.term_sent && s->out.term_heard &&
           list_empty(&s->exports.begun) && !s->import.open &&
           s->answers.first == s->answers.next && tcpcl_plan_empty(s);
}

static void look_at_end(struct tcpcl_session *s, tick now)
{
    if (has_ended(s))
        tcpcl_end(s, s->end, now);
    if (s->stream_over && !tcpcl_stopped(s) && s->state < TCPCL_IN_CLOSING)
        tcpcl_end(s, TCPCL_END_STREAM, now);
    if (s->state == TCPCL_IN_CLOSING && (s->stream_over || tcpcl_plan_empty(s))) {
        s->state = TCPCL_IN_OVER;
        s->n->transfers_cut += s->import.open;
    }
}

/* ---- the owner's answers ---- */

void tcpcl_secured(struct tcpcl_session *s, bool ok, tick now)
{
    if (s->state != TCPCL_IN_SECURING)
        return; /* it has ended meanwhile */
    if (!ok) {
        tcpcl_end(s, TCPCL_END_TLS, now); /* §4.4.3: there is no session yet to terminate */
        return;
    }
    s->state = TCPCL_IN_INIT;
    s->out.init_due = s->setup.active;
    /* After a handshake that the client finished, its SESS_INIT follows at once. */
    s->asked = s->setup.active || !s->use_tls ? now : TICK_NEVER;
}

void tcpcl_admit(struct tcpcl_session *s, const struct tcpcl_terms *terms, tick now)
{
    (void)now;
    if (s->state != TCPCL_IN_ADMIT)
        return;
    if (!s->setup.active) {
        s->terms = *terms;
        s->out.init_due = true;
    }
    assert(s->terms.segment_max >= 1 && s->terms.transfer_mru >= 1 && s->terms.segment_mru >= 1);
    if (s->terms.keepalive_s < s->peer.keepalive_s)
        s->peer.keepalive_s = s->terms.keepalive_s; /* §4.7: the minimum */
    s->state = TCPCL_IN_UP;
}

/* ---- notices ---- */

static bool tell_notice(struct tcpcl_notice *out, bool *told, struct tcpcl_notice notice)
{
    *told = true;
    *out = notice;
    return true;
}

static bool tell_state(struct tcpcl_session *s, struct tcpcl_notice *out)
{
    if (s->state == TCPCL_IN_SECURING && !s->told_contact && tcpcl_plan_empty(s))
        return tell_notice(out, &s->told_contact,
                           (struct tcpcl_notice){.kind = TCPCL_CONTACT, .tls = s->use_tls});
    if (s->state == TCPCL_IN_ADMIT && !s->told_peer)
        return tell_notice(out, &s->told_peer, (struct tcpcl_notice){.kind = TCPCL_PEER});
    if (tcpcl_established(s) && !s->told_up)
        return tell_notice(out, &s->told_up, (struct tcpcl_notice){.kind = TCPCL_UP});
    if (s->state >= TCPCL_IN_ENDING && s->told_up && !s->told_ending)
        return tell_notice(out, &s->told_ending, (struct tcpcl_notice){.kind = TCPCL_ENDING});
    return false;
}

/* Most often: it is established, and the owner knows. */
static bool knows_state(const struct tcpcl_session *s)
{
    return s->state == TCPCL_IN_UP && s->told_up;
}

/* Buffered input is processed before more is read. */
static void look_at_reading(struct tcpcl_session *s, tick now)
{
    const bool reads = !s->rests && (tcpcl_reads(s) || tcpcl_stopped(s));
    if (reads && s->deaf)
        s->heard = s->import.grown = now; /* the peer may have spoken all the time */
    s->deaf = !reads;
}

bool tcpcl_poll(struct tcpcl_session *s, struct tcpcl_notice *out, tick now)
{
    enum tcpcl_parsed parsed = PARSED_SOME;
    while (parsed == PARSED_SOME) {
        if (!knows_state(s) && tell_state(s, out))
            return true;
        parsed = tcpcl_parse(s, out, now);
    }
    if (parsed == PARSED_NOTICE)
        return true;
    look_at_reading(s, now);
    look_at_end(s, now);
    if (tell_state(s, out))
        return true;
    if (s->state >= TCPCL_IN_ENDING && tcpcl_export_fail(s, s->state == TCPCL_IN_OVER, out))
        return true;
    if (s->state != TCPCL_IN_OVER || s->told_over)
        return false;
    assert(s->exports.count == 0 && s->end != TCPCL_END_NONE);
    return tell_notice(out, &s->told_over,
                       (struct tcpcl_notice){.kind = TCPCL_OVER, .end = s->end});
}

/* ---- time ---- */

static tick keepalive_ns(const struct tcpcl_session *s)
{
    return s->peer.keepalive_s * TICK_S;
}

/* §5.1.1: silence of the peer; not while this side does not listen. */
static tick idle_due(const struct tcpcl_session *s)
{
    tick idle = s->terms.idle != 0 ? s->terms.idle : 2 * keepalive_ns(s);
    return idle == 0 || s->deaf || !tcpcl_reads(s) ? TICK_NEVER : tick_add(s->heard, idle);
}

static tick keepalive_due(const struct tcpcl_session *s)
{
    bool silent = s->peer.keepalive_s != 0 && tcpcl_plan_empty(s);
    return silent ? tick_add(s->spoke, keepalive_ns(s)) : TICK_NEVER;
}

tick tcpcl_deadline(const struct tcpcl_session *s)
{
    if (s->state == TCPCL_IN_OVER)
        return TICK_NEVER;
    if (s->state < TCPCL_IN_UP)
        return tick_add(s->started, s->setup.contact_timeout);
    if (!tcpcl_established(s))
        return s->ending_due;
    return tick_min(tick_min(s->ending_due, tcpcl_import_due(s)),
                    tick_min(idle_due(s), keepalive_due(s)));
}

void tcpcl_expire(struct tcpcl_session *s, tick now)
{
    if (now < tcpcl_deadline(s))
        return;
    if (s->state <= TCPCL_IN_SECURING) {
        tcpcl_end(s, TCPCL_END_CONTACT_TIMEOUT, now); /* §4.1: close, no more */
    } else if (s->state < TCPCL_IN_UP) {
        tcpcl_end_with(s, TCPCL_END_CONTACT_TIMEOUT, TCPCL_TERM_IDLE_TIMEOUT, now);
    } else if (s->ending_due <= now) {
        tcpcl_end(s, s->end == TCPCL_END_NONE ? TCPCL_END_OWN_TERM : s->end, now);
        tcpcl_closed(s, now); /* what the peer has not read by now it will not read */
    } else if (idle_due(s) <= now) {
        tcpcl_end_with(s, TCPCL_END_IDLE, TCPCL_TERM_IDLE_TIMEOUT, now);
    } else if (tcpcl_import_due(s) <= now) {
        tcpcl_import_expire(s, now);
    } else {
        s->out.alive_due = true;
    }
}

void tcpcl_alive(struct tcpcl_session *s)
{
    s->out.alive_due = s->out.alive_due || (tcpcl_established(s) && s->peer.keepalive_s != 0);
}

void tcpcl_silent(struct tcpcl_session *s, tick now)
{
    tcpcl_end_with(s, TCPCL_END_IDLE, TCPCL_TERM_IDLE_TIMEOUT, now);
    tcpcl_closed(s, now);
}

/* ---- for status ---- */

static_assert(sizeof(struct tcpcl_counters) % sizeof(uint64_t) == 0, "nothing but counters");

void tcpcl_add_counters(struct tcpcl_counters *sum, const struct tcpcl_counters *n)
{
    uint64_t *to = (uint64_t *)(void *)sum;
    const uint64_t *from = (const uint64_t *)(const void *)n;
    for (size_t i = 0; i < sizeof *n / sizeof *to; i++)
        to[i] += from[i];
}

uint64_t tcpcl_in_flight(const struct tcpcl_session *s)
{
    return s->exports.count;
}

uint64_t tcpcl_unconfirmed(const struct tcpcl_session *s)
{
    return s->answers.bundles;
}

uint64_t tcpcl_unconfirmed_bytes(const struct tcpcl_session *s)
{
    return s->answers.bytes;
}

bool tcpcl_unconfirmed_full(const struct tcpcl_session *s)
{
    return s->answers.bytes > s->terms.held_bytes;
}
