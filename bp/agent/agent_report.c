/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status reports (RFC 9171 §5.1, §6.1). A report is created if the configuration permits it and the
 * bundle requests it. It is sent as a bundle of this node; the number per second is limited. A
 * report without route, room or memory is dropped, and nothing else changes. An unknown
 * administrative record is ignored (RFC 9713 §2): its bundle counts as delivered.
 */
#include <assert.h>

#include "base/allowance.h"
#include "bp/agent/agent_impl.h"

static bool wanted(const struct agent_head *h, enum status_item item)
{
    static const uint64_t asks[STATUS_ITEMS] = {
        [STATUS_RECEIVED] = BUNDLE_REPORT_RECEPTION,
        [STATUS_FORWARDED] = BUNDLE_REPORT_FORWARDING,
        [STATUS_DELIVERED] = BUNDLE_REPORT_DELIVERY,
        [STATUS_DELETED] = BUNDLE_REPORT_DELETION,
    };
    return h->flags & asks[item];
}

/* §4.2.3: no reports about administrative records, because reports would cause reports, nor about
 * anonymous bundles, which a report could not identify. A peer's ipn:! (RFC 9758 §5.4) is no
 * endpoint of this node: a default route would send it to another node. */
static bool reportable(const struct agent_head *h)
{
    return !(h->flags & BUNDLE_IS_ADMIN) && !eid_is_none(&h->id.source) &&
           !eid_is_none(&h->report_to) && !eid_is_local(&h->report_to);
}

#define LATELY TICK_S

static bool asked_lately(const struct report_share *s, tick now)
{
    return s->asked != 0 && now < tick_add(s->asked, LATELY);
}

/* The entry of the party, or that of the least recent one. */
static struct report_share *find_share(struct agent *a, uint64_t party)
{
    struct report_share *oldest = &a->reports[0];
    for (size_t i = 0; i < REPORT_PARTIES; i++) {
        struct report_share *s = &a->reports[i];
        if (s->asked != 0 && s->party == party)
            return s;
        if (s->asked < oldest->asked)
            oldest = s;
    }
    if (!asked_lately(oldest, a->now.now))
        *oldest = (struct report_share){.party = party};
    return oldest; /* or they share it */
}

/* A neighbour; or all applications together, because their users are not stored. */
static uint64_t party_of(const struct agent_head *h)
{
    return h->from_link ? h->peer : 0;
}

/* Reports are small, but a bundle of 100 bytes can request two at each node (§5.1). Requesting
 * parties have equal parts of the rate, so that one party's bundles cannot prevent reports for
 * others. A party without a request in the last second always gets its report: at most
 * REPORT_PARTIES a second more. */
static bool within_rate(struct agent *a, const struct agent_head *h)
{
    const tick now = a->now.now;
    const uint64_t rate = a->config.report_rate;
    assert(rate > 0 && rate <= TICK_S);
    struct report_share *mine = find_share(a, party_of(h));
    uint64_t parties = 0;
    const bool seldom = !asked_lately(mine, now);
    mine->asked = now > 0 ? now : 1;
    for (size_t i = 0; i < REPORT_PARTIES; i++)
        parties += asked_lately(&a->reports[i], now);
    const uint64_t part = rate / parties > 0 ? rate / parties : 1;
    const bool own = allowance_take(&mine->spent, TICK_S / part, part, now);
    const bool within =
        own && (allowance_take(&a->reports_spent, TICK_S / rate, rate, now) || seldom);
    a->counters.reports_limited += !within;
    return within;
}

void agent_report_now(struct agent *a, const struct agent_head *h, enum status_item item,
                      enum status_reason reason)
{
    if (!a->config.status_reports || !reportable(h) || !within_rate(a, h))
        return;
    static const char *const item_words[STATUS_ITEMS] = {[STATUS_RECEIVED] = "received",
                                                         [STATUS_FORWARDED] = "forwarded",
                                                         [STATUS_DELIVERED] = "delivered",
                                                         [STATUS_DELETED] = "deleted"};
    assert(item < STATUS_ITEMS && item_words[item] != NULL);
    struct status_report s = {.reason = (uint64_t)reason, .subject = h->id};
    s.subject_bytes = h->id.fragment ? h->payload_len : 0;
    s.asserted[item] = true;
    s.timed[item] = (h->flags & BUNDLE_REPORT_TIME) != 0; /* without a clock 0: not known, §4.2.6 */
    s.time_ms[item] = a->now.dtn_ms;
    struct buf *payload = buf_new(BUNDLE_HEAD_MAX, 512 + BUNDLE_TAIL_MAX);
    if (payload == NULL)
        return;
    int len = status_report_encode(&s, buf_data(payload), 512);
    struct bundle b;
    bundle_init(&b);
    b.flags = BUNDLE_IS_ADMIN;
    b.crc = a->primary_crc;
    b.payload_crc = a->config.crc;
    b.destination = h->report_to;
    b.id.source = a->config.node;
    b.report_to = eid_none();
    b.lifetime_ms = a->config.default_lifetime_ms;
    struct record *r;
    if (len > 0 && buf_append(payload, (size_t)len) != NULL &&
        agent_originate(a, &b, payload, 0, &r) == REFUSE_NONE)
        emit_reported(a, h, item_words[item]);
    else
        buf_drop(payload);
}

void agent_report_head(struct agent *a, const struct agent_head *h, enum status_item item,
                       enum status_reason reason)
{
    if (wanted(h, item))
        agent_report_now(a, h, item, reason);
}

void agent_report(struct agent *a, const struct forwarding *f, enum status_item item,
                  enum status_reason reason)
{
    if (!a->config.status_reports || forwarding_is_copy(f)) /* the bundle is reported, once */
        return;
    struct agent_head h;
    record_head(f->bundle, &h);
    agent_report_head(a, &h, item, reason);
}

/* Records of other types are for the endpoint that they are sent to, if it is not the node's. */
static void read_record(struct agent *a, const struct eid *to, struct slice payload)
{
    struct status_report s;
    const int rc = status_report_decode(payload.data, payload.len, &s);
    if (rc == 0)
        a->counters.reports_received++;
    else if (rc != HELIO_ENOENT || eid_is_node(to))
        a->counters.records_ignored++;
}

bool agent_consume(struct agent *a, const struct bundle *b)
{
    if (!(b->flags & BUNDLE_IS_ADMIN) || b->id.fragment || !agent_is_here(a, &b->destination))
        return false;
    read_record(a, &b->destination, b->payload);
    return eid_is_node(&b->destination);
}

/* Here come records in fragments, those of this node's own, and what an earlier version stored. */
void agent_administer(struct agent *a, struct forwarding *f)
{
    struct agent_head h;
    record_head(f->bundle, &h);
    if (h.flags & BUNDLE_IS_ADMIN) {
        read_record(a, &a->config.node,
                    slice_of(buf_data(f->buf) + f->bundle->payload_off, f->bundle->payload_len));
        emit_application(a, BUNDLE_DELIVERED, f, 0);
        forwarding_end(a, f, END_DELIVERED);
    } else {
        agent_report_head(a, &h, STATUS_DELETED, REASON_DESTINATION_UNAVAILABLE);
        forwarding_end(a, f, END_DELETED);
    }
}
