/* SPDX-License-Identifier: Apache-2.0 */
/* A tunnel with custody: bundles have no outcome before the peer's signal, the peer's bundles are
 * confirmed by the node's verdicts, and nobody else's signal counts. */
#include "bp/codec/bundle.h"
#include "tests/unit/cla_bibe_help.h"
#include "tests/unit/suite.h"

#define LONGEST 100000

struct scene {
    struct rng rng;
    struct virtual_world v;
    struct bibe_config config;
    struct cla *link;
    bool full; /* the node takes no bundle */
    bool here; /* encapsulating bundles wait in the node */
    struct custody_record sent;
    struct range at[CUSTODY_READ_MAX]; /* of a signal */
    uint8_t payload[1000];
    unsigned submitted, signals;
    uint32_t token;
    unsigned outcomes[CLA_OUTCOME_COUNT];
    enum cla_reason reason;
    unsigned received, done, put_off;
    uint64_t arrival;
    bool closed;
};

static enum cla_reason submit_parcel(void *context, const struct cla_parcel *p, uint32_t token,
                                     struct cla_stamp *out)
{
    struct scene *s = context;
    ck_assert(p->record);
    if (s->full)
        return CLA_REASON_BUSY;
    ck_assert_uint_le(p->payload->len, sizeof s->payload);
    memcpy(s->payload, buf_data(p->payload), p->payload->len);
    ck_assert_int_eq(custody_read(slice_of(s->payload, p->payload->len), &s->sent, s->at), 0);
    s->submitted += !s->sent.signal;
    s->signals += s->sent.signal;
    s->token = s->sent.signal ? s->token : token;
    *out = (struct cla_stamp){1000, s->submitted};
    buf_drop(p->payload);
    return CLA_REASON_NONE;
}

static bool is_here(void *context, const struct eid *source, const struct cla_stamp *stamp)
{
    const struct scene *s = context;
    ck_assert(eid_equal(source, &s->config.local));
    ck_assert_uint_eq(stamp->time_ms, 1000);
    ck_assert_uint_le(stamp->sequence, s->submitted);
    return s->here;
}

static uint64_t count_left(void *context, uint64_t key)
{
    (void)context;
    (void)key;
    return 3600000;
}

static void take_done(void *context, struct cla *c, uint64_t key, enum cla_outcome outcome,
                      enum cla_reason reason)
{
    struct scene *s = context;
    (void)c;
    ck_assert_uint_eq(key, 7);
    s->outcomes[outcome]++;
    s->reason = reason;
}

static void take_answer(void *context, uint64_t key, bool done)
{
    struct scene *s = context;
    (void)key;
    s->done += done;
    s->put_off += !done;
}

static void take_bundle(void *context, struct cla *c, struct buf *bundle, uint64_t token)
{
    struct scene *s = context;
    (void)c;
    s->received++;
    s->arrival = token;
    buf_drop(bundle);
}

static void pass(struct scene *s, tick by)
{
    const tick end = s->v.now + by;
    for (tick due; (due = virtual_due(&s->v)) <= end;) {
        virtual_advance(&s->v, due > s->v.now ? due : s->v.now);
        virtual_fire(&s->v);
        virtual_settle(&s->v);
        if (!s->closed)
            s->link->ops->check_self(s->link);
    }
    virtual_advance(&s->v, end);
}

static void begin(struct scene *s)
{
    *s = (struct scene){.config = {.local = parsed("ipn:1.12"),
                                   .remote = parsed("ipn:3.0"),
                                   .lifetime = 86400 * TICK_S,
                                   .window = 4,
                                   .transfers = 4,
                                   .memory = 10000,
                                   .nesting = 2,
                                   .hold = 600 * TICK_S,
                                   .custody = BIBE_CUSTODY_ON,
                                   .timer = 10 * TICK_S,
                                   .custody_window = 2,
                                   .signal_after = TICK_S,
                                   .signal_count = 10,
                                   .any_source = true,
                                   .state = BIBE_UP}};
    rng_init(&s->rng, 1);
    virtual_init(&s->v, UINT64_C(1800000000) * TICK_S, &s->rng, 0);
    const struct cla_env env = {
        .world = &s->v.world,
        .bundle_max = LONGEST,
        .events = {.context = s, .received = take_bundle, .done = take_done},
        .self = {.context = s,
                 .submit = submit_parcel,
                 .is_here = is_here,
                 .listen = listen_there,
                 .taken = take_answer,
                 .left_ms = count_left}};
    s->link = open_bibe(&env, &s->config);
    ck_assert_uint_eq(s->link->limits.window, 2);
    pass(s, TICK_MS);
}

static void end(struct scene *s)
{
    s->link->ops->close(s->link, note_closed, &s->closed);
    pass(s, TICK_MS);
    ck_assert(s->closed);
    virtual_fini(&s->v);
}

static enum cla_reason give(struct scene *s)
{
    struct bundle b;
    bundle_init(&b);
    b.destination = parsed("ipn:3.2");
    b.id.source = parsed("ipn:1.2");
    b.report_to = eid_none();
    b.lifetime_ms = 3600000;
    struct buf *bundle = buf_new(BUNDLE_HEAD_MAX, 10 + BUNDLE_TAIL_MAX);
    memset(buf_append(bundle, 10), 'x', 10);
    ck_assert_int_ge(bundle_encode(&b, bundle), 0);
    const enum cla_reason reason = s->link->ops->send(s->link, 7, bundle);
    buf_drop(bundle);
    return reason;
}

/* It is given to the link, and its encapsulating bundle is stored. */
static uint64_t transmit(struct scene *s)
{
    const unsigned before = s->submitted;
    ck_assert_int_eq(give(s), CLA_REASON_NONE);
    ck_assert_uint_eq(s->submitted, before + 1);
    ck_assert(!s->sent.signal && s->sent.id > 0);
    s->link->ops->submitted(s->link, s->token, true);
    pass(s, TICK_MS);
    return s->sent.id;
}

static void deliver_from(struct scene *s, const char *source, struct slice payload)
{
    static uint64_t key;
    const struct eid from = parsed(source), to = parsed("ipn:1.12");
    const struct cla_delivery d = {.key = ++key,
                                   .source = &from,
                                   .destination = &to,
                                   .left_ms = 3600000,
                                   .record = true,
                                   .payload = payload};
    s->link->ops->delivered(s->link, &d);
    pass(s, TICK_MS);
}

static void answer_from(struct scene *s, const char *source, uint64_t disposition, uint64_t id)
{
    uint8_t out[CUSTODY_SIGNAL_MAX];
    const struct range at = {id, id + 1};
    const size_t len = custody_signal_write(CUSTODY_DRAFT, disposition, &at, 1, out);
    deliver_from(s, source, slice_of(out, len));
}

static void deliver_bundle(struct scene *s, const char *source, uint64_t id, size_t len)
{
    struct buf *b = buf_new(CUSTODY_HEAD_MAX, len);
    memset(buf_append(b, len), 0, len);
    ck_assert_int_eq(custody_bpdu_write(CUSTODY_ION, id, 0, b), 0);
    deliver_from(s, source, buf_slice(b));
    buf_drop(b);
}

START_TEST(bundles_wait_for_signals)
{
    static const struct {
        uint64_t disposition;
        enum cla_outcome outcome;
        enum cla_reason reason;
    } cases[] = {
        {CUSTODY_ACCEPTED, CLA_DELIVERED, CLA_REASON_NONE},
        {CUSTODY_REDUNDANT, CLA_DELIVERED, CLA_REASON_NONE},
        /* at the end of the timer, over the same link */
        {CUSTODY_DEPLETED, CLA_LOST, CLA_REASON_PEER_FULL},
        {CUSTODY_NO_ROUTE, CLA_LOST, CLA_REASON_PEER_REFUSED},
        {77, CLA_LOST, CLA_REASON_PEER_REFUSED},
    };
    struct scene s;
    begin(&s);
    const uint64_t id = transmit(&s);
    pass(&s, 9 * TICK_S);
    ck_assert_uint_eq(s.outcomes[CLA_DELIVERED] + s.outcomes[CLA_HANDED_OVER], 0);
    answer_from(&s, "ipn:3.0", cases[_i].disposition, id);
    ck_assert_uint_eq(s.outcomes[CLA_LOST], 0);
    pass(&s, 100 * TICK_S);
    ck_assert_uint_eq(s.outcomes[cases[_i].outcome], 1);
    ck_assert_int_eq(s.reason, cases[_i].reason);
    end(&s);
}
END_TEST

/* The node's link has been down for a long time: no copies of the bundle join it there. */
START_TEST(waits_in_the_node)
{
    struct scene s;
    begin(&s);
    s.here = true;
    (void)transmit(&s);
    pass(&s, 3600 * TICK_S);
    ck_assert_uint_eq(s.submitted, 1);
    s.here = false;
    pass(&s, 21 * TICK_S);
    ck_assert_uint_eq(s.outcomes[CLA_LOST], 1);
    end(&s);
}
END_TEST

START_TEST(without_a_signal)
{
    struct scene s;
    begin(&s);
    const uint64_t first = transmit(&s);
    struct cla_gauges g = cla_gauges(s.link);
    ck_assert(g.custody && g.custody_held == 1 && g.custody_lost == 0);
    pass(&s, 10 * TICK_S);
    g = cla_gauges(s.link);
    ck_assert(g.custody_held == 0 && g.custody_lost == 1);
    ck_assert_uint_eq(s.outcomes[CLA_LOST], 1);
    ck_assert_int_eq(s.reason, CLA_REASON_NO_ANSWER);
    ck_assert_uint_eq(transmit(&s), first + 1); /* the node gives it again */
    ck_assert_int_eq(s.link->ops->cancel(s.link, 7), 0);
    pass(&s, TICK_MS);
    ck_assert_uint_eq(s.outcomes[CLA_TAKEN_BACK], 1);
    ck_assert_int_eq(s.link->ops->cancel(s.link, 7), HELIO_ENOENT);
    s.full = true;
    ck_assert_int_eq(give(&s), CLA_REASON_BUSY);
    s.full = false;
    ck_assert_int_eq(give(&s), CLA_REASON_NONE); /* the node refuses it later */
    s.link->ops->submitted(s.link, s.token, false);
    pass(&s, TICK_MS);
    ck_assert_uint_eq(s.outcomes[CLA_FAILED], 1);
    ck_assert_int_eq(give(&s), CLA_REASON_NONE);
    ck_assert_int_eq(s.link->ops->cancel(s.link, 7), 0); /* before it is stored */
    s.link->ops->submitted(s.link, s.token, true);
    pass(&s, TICK_MS);
    ck_assert_uint_eq(s.outcomes[CLA_TAKEN_BACK], 2);
    transmit(&s);
    end(&s);
}
END_TEST

/* The timer follows the plan: light time, and no contact of the peer. */
START_TEST(by_contact_plan)
{
    struct scene s;
    struct cla_contact c = {.transmit = true, .receive = true, .round_trip = 100 * TICK_S};
    begin(&s);
    s.link->ops->contact(s.link, &c);
    transmit(&s);
    pass(&s, 109 * TICK_S);
    ck_assert_uint_eq(s.outcomes[CLA_LOST], 0);
    c.receive = false;
    s.link->ops->contact(s.link, &c);
    pass(&s, 10000 * TICK_S);
    ck_assert_uint_eq(s.outcomes[CLA_LOST], 0);
    c.receive = true;
    s.link->ops->contact(s.link, &c);
    pass(&s, 2 * TICK_S);
    ck_assert_uint_eq(s.outcomes[CLA_LOST], 1);
    end(&s);
}
END_TEST

/* Even where any source may send bundles. */
START_TEST(signals_of_others)
{
    struct scene s;
    begin(&s);
    const uint64_t id = transmit(&s);
    answer_from(&s, "ipn:3.12", CUSTODY_ACCEPTED, id);
    answer_from(&s, "ipn:9.0", CUSTODY_ACCEPTED, id);
    answer_from(&s, "ipn:3.0", CUSTODY_ACCEPTED, id + 1);
    deliver_from(&s, "ipn:3.0", slice_of("\x82\x04\x00", 3));
    deliver_from(&s, "ipn:3.0", slice_of("\x82\x05\x00", 3));
    ck_assert_uint_eq(s.outcomes[CLA_DELIVERED], 0);
    const struct bibe_link *l = container_of(s.link, struct bibe_link, cla);
    ck_assert_uint_eq(l->n.notes[BIBE_NOTE_FORGED], 2);
    ck_assert_uint_eq(cla_gauges(s.link).custody_forged, 3);
    ck_assert_uint_eq(l->n.notes[BIBE_NOTE_UNISSUED], 1);
    ck_assert_uint_eq(l->n.notes[BIBE_NOTE_MALFORMED], 1);
    ck_assert_uint_eq(l->n.notes[BIBE_NOTE_RESERVED], 1);
    ck_assert_uint_eq(s.done, 5);
    deliver_bundle(&s, "ipn:9.0", 5, 100); /* not of the peer's IDs: no signal */
    s.link->ops->confirm(s.link, s.arrival, CLA_ACCEPTED);
    pass(&s, 5 * TICK_S);
    ck_assert_uint_eq(s.signals, 0);
    end(&s);
}
END_TEST

START_TEST(verdicts)
{
    static const struct {
        enum cla_verdict verdict;
        uint64_t disposition;
    } cases[] = {
        {CLA_ACCEPTED, CUSTODY_ACCEPTED},
        {CLA_FULL, CUSTODY_DEPLETED},
        {CLA_FAULTY, CUSTODY_BAD_BLOCK},
        {CLA_UNWANTED, CUSTODY_NO_ROUTE},
    };
    struct scene s;
    begin(&s);
    deliver_bundle(&s, "ipn:3.0", 5, 100);
    ck_assert_uint_eq(s.received, 1);
    pass(&s, 5 * TICK_S);
    ck_assert_uint_eq(s.signals, 0); /* the node has not stored it */
    s.link->ops->confirm(s.link, s.arrival, cases[_i].verdict);
    ck_assert_uint_eq(s.done, 1);
    pass(&s, TICK_S / 2);
    ck_assert_uint_eq(s.signals, 0);
    pass(&s, TICK_S);
    ck_assert_uint_eq(s.signals, 1);
    ck_assert_uint_eq(s.sent.disposition, cases[_i].disposition);
    ck_assert(s.sent.len == 1 && s.at[0].lo == 5 && s.at[0].hi == 6);
    end(&s);
}
END_TEST

START_TEST(without_a_verdict)
{
    struct scene s;
    begin(&s);
    deliver_bundle(&s, "ipn:3.0", 5, 100); /* a copy is being stored: it is delivered again */
    s.link->ops->confirm(s.link, s.arrival, CLA_BUSY);
    ck_assert_uint_eq(s.put_off, 1);
    deliver_bundle(&s, "ipn:3.0", 0, 100); /* custody is not requested */
    s.link->ops->confirm(s.link, s.arrival, CLA_FULL);
    ck_assert_uint_eq(s.put_off, 2);
    pass(&s, 5 * TICK_S);
    ck_assert_uint_eq(s.signals, 0);
    deliver_bundle(&s, "ipn:3.0", 6, LONGEST + 1);
    s.full = true;
    pass(&s, 5 * TICK_S);
    ck_assert_uint_eq(s.signals, 0);
    s.full = false;
    pass(&s, 2 * TICK_S);
    ck_assert_uint_eq(s.signals, 1);
    ck_assert_uint_eq(s.sent.disposition, CUSTODY_NO_INFORMATION);
    s.link->ops->set_link(s.link, false); /* signals wait for the link */
    deliver_bundle(&s, "ipn:3.0", 8, 100);
    s.link->ops->confirm(s.link, s.arrival, CLA_ACCEPTED);
    pass(&s, 50 * TICK_S);
    ck_assert_uint_eq(s.signals, 1);
    s.link->ops->set_link(s.link, true);
    pass(&s, TICK_MS);
    ck_assert_uint_eq(s.signals, 2);
    end(&s);
}
END_TEST

/* What the keys' relations refuse. */
START_TEST(keys)
{
    struct scene s;
    const char *key = "";
    char why[200];
    begin(&s);
    ck_assert_int_eq(cla_find("bibe")->check(&s.config, &key, why, sizeof why), 0);
    s.config.segment = 1000;
    ck_assert_int_eq(cla_find("bibe")->check(&s.config, &key, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(key, "segment");
    s.config.segment = 0;
    s.config.timer = s.config.signal_after;
    ck_assert_int_eq(cla_find("bibe")->check(&s.config, &key, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(key, "custody.timer");
    s.config.timer = 10 * TICK_S;
    s.config.custody = BIBE_CUSTODY_OFF;
    ck_assert_int_eq(cla_find("bibe")->check(&s.config, &key, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(key, "remote");
    s.config.custody = BIBE_CUSTODY_ON;
    end(&s);
}
END_TEST

SUITE(cla_bibe_custody, t)
{
    tcase_add_loop_test(t, bundles_wait_for_signals, 0, 5);
    tcase_add_test(t, waits_in_the_node);
    tcase_add_test(t, without_a_signal);
    tcase_add_test(t, by_contact_plan);
    tcase_add_test(t, signals_of_others);
    tcase_add_loop_test(t, verdicts, 0, 4);
    tcase_add_test(t, without_a_verdict);
    tcase_add_test(t, keys);
}
