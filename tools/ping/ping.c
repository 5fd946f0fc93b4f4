/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A payload begins with "HPNG", zeros, the run's number, the ping's number and its time. What can
 * go wrong: the node does not run, or ends, which ends the run; it refuses a bundle, which is
 * counted.
 */
#include "tools/ping/ping.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "bp/codec/bundle.h"
#include "tools/perf/perf_report.h"

static const char magic[8] = "HPNG";

struct ping_head {
    char magic[8];
    uint64_t session, number, sent_at; /* native byte order: only this program reads them */
};
static_assert(sizeof(struct ping_head) == PING_HEAD, "the head is as long as it says");

static void end_run(struct ping *p)
{
    if (p->done)
        return;
    p->done = true;
    alarm_set(&p->alarm, TICK_NEVER);
    p->over(p->context);
}

static void note_given(struct ping *p, tick now)
{
    size_t at = (p->given_first + p->given_len++) % PING_GIVEN;
    p->given[at].number = p->sent;
    p->given[at].sent = now;
}

static void send_one(struct ping *p, tick now)
{
    if (p->options->trace && p->given_len == PING_GIVEN)
        return; /* the node has not answered: at the next turn */
    struct ping_head head = {.session = p->session, .number = p->sent, .sent_at = now};
    memcpy(head.magic, magic, sizeof magic);
    struct aap2_adu adu = {.destination = p->options->destination,
                           .lifetime_ms = p->options->lifetime / TICK_MS,
                           .flags = p->options->trace ? BUNDLE_TIMED_REPORTS : 0,
                           .head = slice_of((const uint8_t *)&head, sizeof head),
                           .body = slice_of(p->body, p->options->size - PING_HEAD)};
    if (aap2_client_send(p->link.tx, &adu) != 0)
        return; /* the queue is full: at the next turn */
    if (p->options->trace)
        note_given(p, now);
    p->seen[p->sent % PING_SEEN / 8] &= (uint8_t) ~(1u << p->sent % 8);
    if (p->sent == 0)
        p->begin = now;
    p->last = now;
    p->sent++;
}

/* Has it been answered before? Then it has from now on. */
static bool note_answer(struct ping *p, uint64_t number)
{
    uint8_t *byte = &p->seen[number % PING_SEEN / 8], bit = (uint8_t)(1u << number % 8);
    bool known = (*byte & bit) != 0 || p->sent - number > PING_SEEN;
    *byte |= bit;
    return known;
}

static void take_answer(struct ping *p, struct buf *payload, tick now)
{
    struct ping_head head;
    if (payload->len < sizeof head) {
        p->foreign++;
        return;
    }
    memcpy(&head, buf_data(payload), sizeof head);
    if (memcmp(head.magic, magic, sizeof magic) != 0 || head.session != p->session ||
        head.number >= p->sent || head.sent_at > now) {
        p->foreign++;
    } else if (note_answer(p, head.number)) {
        p->repeated++;
    } else {
        p->received++;
        p->answered_at = now;
        hist_add(&p->rtt, now - head.sent_at);
        if (p->answered != NULL)
            p->answered(p->context, head.number, now - head.sent_at);
    }
}

static void note_refused(struct ping *p, uint64_t number, const char *why)
{
    p->refused++;
    snprintf(p->refused_why, sizeof p->refused_why, "%s",
             why != NULL && why[0] != '\0' ? why : "no reason given");
    if (p->refused_one != NULL)
        p->refused_one(p->context, number, p->refused_why);
}

/* The node's answer to the oldest ping that it has not answered. */
static void take_response(struct ping *p, const Aap2__AAPResponse *r)
{
    bool taken = r->response_status == AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS;
    const Aap2__Bundle *b = r->bundle_headers;
    if (p->responded == p->sent)
        return; /* to nothing that was sent */
    const uint64_t number = p->responded++;
    if (!taken)
        note_refused(p, number, r->text);
    if (p->given_len == 0)
        return;
    if (taken && b != NULL && p->options->trace)
        ping_trace_mark(&p->trace, p->given[p->given_first].number, p->given[p->given_first].sent,
                        b->creation_timestamp_ms, b->sequence_number);
    p->given_first = (p->given_first + 1) % PING_GIVEN;
    p->given_len--;
}

/* A status report about a bundle of ours. */
static bool take_record(struct ping *p, const Aap2__BundleADU *a, struct buf *payload, tick now)
{
    struct status_report r;
    char source[EID_TEXT_MAX];
    if ((a->bundle_flags & BUNDLE_IS_ADMIN) == 0 || !p->options->trace)
        return false;
    if (status_report_decode(buf_data(payload), payload->len, &r) != 0)
        return false;
    eid_text(&r.subject.source, source);
    if (strcmp(source, p->link.endpoint) != 0)
        return false;
    ping_trace_report(&p->trace, a->src_eid, &r, now);
    return true;
}

/* True: something was answered. False also after a failed connection, which the next flush
 * reports. */
static bool read_link(struct ping *p, tick now)
{
    struct aap2_arrival in;
    uint64_t before = p->received;
    while (aap2_client_next(p->link.tx, &in) == 1) {
        if (in.response != NULL)
            take_response(p, in.response);
        aap2_arrival_fini(&in);
    }
    while (aap2_client_next(p->link.rx, &in) == 1) {
        bool is_bundle = in.payload != NULL;
        if (is_bundle && !take_record(p, in.message->adu, in.payload, now))
            take_answer(p, in.payload, now);
        aap2_arrival_fini(&in);
        if (is_bundle)
            (void)aap2_client_answer(p->link.rx, true);
    }
    return p->received > before;
}

static tick interval_of(const struct ping *p)
{
    return p->options->flood ? PING_FLOOD : p->options->interval;
}

static bool all_sent(const struct ping *p)
{
    return p->options->count > 0 && p->sent >= p->options->count;
}

/* All pings returned; until when the reports of the last ones are waited for. */
static tick reports_end(const struct ping *p)
{
    bool missing = p->options->trace && p->trace.delivered + p->refused < p->sent;
    return missing ? tick_add(p->answered_at, PING_REPORTS) : TICK_NEVER;
}

/* The time of the next action; TICK_NEVER: finished. The n-th ping is sent n intervals after the
 * first, in a flood an interval after the previous one. */
static tick next_turn(const struct ping *p)
{
    if (all_sent(p))
        return p->received + p->refused >= p->options->count
                   ? reports_end(p)
                   : tick_add(p->last, p->options->lifetime);
    if (p->sent == 0)
        return 0;
    return p->options->flood ? tick_add(p->last, PING_FLOOD)
                             : tick_add(p->begin, p->sent * interval_of(p));
}

static void run_turn(struct ping *p, tick now)
{
    bool answered = read_link(p, now);
    bool overdue = all_sent(p) && now >= next_turn(p);
    if (!all_sent(p) && (now >= next_turn(p) || (answered && p->options->flood)))
        send_one(p, now);
    bool gone = aap2_client_flush(p->link.rx) < 0 || aap2_client_flush(p->link.tx) < 0;
    tick next = next_turn(p);
    if (gone) {
        perf_link_close(&p->link, now);
        (void)perf_link_turn(&p->link, now); /* it does not come back, and says so */
        p->broken = !all_sent(p) || p->received + p->refused < p->options->count;
        end_run(p);
    } else if (overdue || next == TICK_NEVER) {
        end_run(p);
    } else {
        alarm_set(&p->alarm, next > now ? next : tick_add(now, TICK_MS));
    }
}

static void take_ping_turn(void *context)
{
    struct ping *p = context;
    tick now = world_now(p->world);
    if (p->done)
        return;
    if (!p->begun) {
        int rc = perf_link_turn(&p->link, now);
        if (rc == 0) {
            alarm_set(&p->alarm, p->link.retry_at);
            return;
        }
        if (rc < 0) {
            end_run(p);
            return;
        }
        p->begun = true;
    }
    run_turn(p, now);
}

int ping_init(struct ping *p, struct world *w, const struct ping_options *o, uint64_t random,
              void (*answered)(void *context, uint64_t number, tick rtt),
              void (*over)(void *context), void *context)
{
    *p = (struct ping){.options = o,
                       .world = w,
                       .session = random,
                       .begin = TICK_NEVER,
                       .answered = answered,
                       .over = over,
                       .context = context};
    p->link_options =
        (struct perf_options){.program = "helio-ping", .socket = o->socket, .service = o->service};
    ping_trace_init(&p->trace, NULL, context);
    hist_init(&p->rtt);
    perf_link_init(&p->link, w, &p->link_options, random, 64, o->size, take_ping_turn, p);
    alarm_init(&p->alarm, w, ALARM_APP, take_ping_turn, p);
    p->body = calloc(o->size, 1);
    return p->body == NULL ? HELIO_ENOMEM : 0;
}

void ping_fini(struct ping *p)
{
    perf_link_fini(&p->link);
    alarm_fini(&p->alarm);
    ping_trace_fini(&p->trace);
    free(p->body);
    p->body = NULL;
}

void ping_refused_to(struct ping *p, void (*told)(void *context, uint64_t number, const char *why))
{
    p->refused_one = told;
}

void ping_trace_to(struct ping *p, void (*told)(void *context, const struct ping_hop *hop))
{
    p->trace.told = told;
}

void ping_start(struct ping *p)
{
    tick now = world_now(p->world);
    p->link.give_up_at = p->link.told_at = tick_add(now, PERF_LINK_WAIT); /* it begins now */
    take_ping_turn(p);
}

void ping_stop(struct ping *p)
{
    end_run(p);
}

json_t *ping_json(const struct ping *p)
{
    json_t *o = perf_report_counts((const struct perf_count[]){{"sent", p->sent},
                                                               {"received", p->received},
                                                               {"lost", p->sent - p->received},
                                                               {"repeated", p->repeated},
                                                               {"foreign", p->foreign},
                                                               {"refused", p->refused},
                                                               {NULL, 0}});
    json_t *rtt = perf_report_delay(&p->rtt);
    if (json_is_object(rtt)) {
        json_object_set_new(rtt, "min", json_real((double)p->rtt.min / 1e6));
        json_object_set_new(rtt, "mdev", json_real(hist_sd(&p->rtt) / 1e6));
    }
    json_object_set_new(o, "role", json_string("ping"));
    json_object_set_new(o, "destination", json_string(p->options->destination));
    json_object_set_new(o, "rtt_ms", rtt);
    if (p->options->trace)
        json_object_set_new(o, "trace", ping_trace_json(&p->trace));
    if (p->refused > 0)
        json_object_set_new(o, "refused_why", json_string(p->refused_why));
    return o;
}

/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

void ping_check(const struct ping *p)
{
    assert(p->received <= p->sent && p->rtt.count == p->received);
    assert(p->options->count == 0 || p->sent <= p->options->count);
    assert((p->sent == 0) == (p->begin == TICK_NEVER));
    assert(p->begun || p->sent == 0);
    assert(p->responded <= p->sent && p->refused <= p->responded);
    assert(p->given_len <= PING_GIVEN && p->trace.delivered <= p->sent);
    perf_link_check(&p->link);
}
