/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each allocation of an association fails once, at either end: BIND, a query, reports, an event,
 * a refusal, STOP and UNBIND; of one of Forward Frame: frames, notifications; and of one with
 * buffered data delivery. Whatever it was:
 * nothing crashes or leaks, and the engines' own checks hold after each step.
 */
#include "csts/delivery.h"
#include "csts/forward.h"
#include "tests/unit/csts_pair.h"
#include "tests/unit/failing_memory.h"

static const struct csts_list all = {.kind = CSTS_LIST_DEFAULT};
static const struct csts_list none = {.kind = CSTS_LIST_NAMED, .text = {(const uint8_t *)"x", 1}};

static void use_link(struct pair *p, struct csts_link *l)
{
    const struct csts_list events = {.kind = CSTS_LIST_RESOURCE_TYPE, .oid = oid_of(RESOURCE)};
    (void)csts_get(l, &all, p->now);
    (void)csts_get(l, &none, p->now);
    pump(p);
    (void)csts_start_report(l, 0, 200, true, &all, p->now);
    (void)csts_start_events(l, 1, &events, p->now);
    pump(p);
    (void)csts_event_raise(p->service, 0, slice_of(NULL, 0), p->now);
    run_until(p, p->now + TICK_S);
    if (csts_link_state(l) != CSTS_BOUND)
        return;
    (void)csts_stop_report(l, 0, p->now);
    pump(p);
    (void)csts_unbind(l, p->now);
    pump(p);
}

static void use_forward(struct pair *p, struct csts_link *l)
{
    static const uint8_t octets[100];
    const struct csts_unit units[] = {{1, true, slice_of(octets, 100)},
                                      {2, true, slice_of(octets, 50)}};
    struct csts_unit u;
    (void)csts_start_forward(l, p->now);
    pump(p);
    (void)csts_send_frames(l, units, 1, p->now);
    (void)csts_send_frames(l, units, 2, p->now);
    pump(p);
    while (csts_forward_next(p->service, &u, p->now)) {
        csts_forward_done(p->service, true, p->now);
        pump(p);
    }
    csts_forward_production(p->service, CSTS_HALTED, p->now);
    pump(p);
    (void)csts_stop_forward(l, p->now);
    pump(p);
    (void)csts_unbind(l, p->now);
    pump(p);
}

/* Frames with returns; one expires, and a reset follows. */
static void use_sequence(struct pair *p, struct csts_link *l)
{
    static uint8_t frame[100];
    const struct csts_window late = {
        .latest = {true, sle_time_of(UINT64_C(1700000000) * TICK_S + p->now + TICK_MS)}};
    struct csts_window any = {0};
    struct csts_unit u;
    (void)csts_start_sequence(l, 1, p->now);
    pump(p);
    for (uint32_t id = 1; id <= 2; id++) {
        const struct csts_unit unit = {id, true, slice_of(frame, sizeof frame)};
        (void)csts_send_unit(l, &unit, id == 1 ? &any : &late, p->now);
        pump(p);
    }
    if (csts_forward_next(p->service, &u, p->now)) {
        (void)csts_reset(l, 9, p->now);
        pump(p);
        csts_forward_done(p->service, true, p->now);
    }
    pump(p);
    run_until(p, p->now + 10 * TICK_MS);
    (void)csts_reset(l, 20, p->now);
    (void)csts_stop_forward(l, p->now);
    pump(p);
    (void)csts_unbind(l, p->now);
    pump(p);
}

static void use_delivery(struct pair *p, struct csts_link *l)
{
    static uint8_t octets[3000];
    const struct csts_data data = {.opaque = slice_of(octets, sizeof octets)};
    const struct csts_window always = {0};
    (void)csts_start_delivery(l, NULL, &always, p->now);
    pump(p);
    for (unsigned i = 0; i < 5; i++) {
        (void)csts_deliver(p->service, sle_time_of(0), &data, p->now);
        pump(p);
    }
    csts_delivery_production(p->service, CSTS_OPERATIONAL, p->now);
    run_until(p, p->now + 2 * TICK_S);
    (void)csts_delivery_end(p->service, p->now);
    pump(p);
    (void)csts_stop_delivery(l, p->now);
    pump(p);
    (void)csts_unbind(l, p->now);
    pump(p);
}

static bool make_delivery(struct pair *p, struct csts_instance_id *id)
{
    const struct csts_delivery_config d = {
        .real_time = true, .buffer_max = 3, .resource = oid_of(RESOURCE)};
    struct csts_service_config c = {.initiator = "MISSION"};
    id->number = 2;
    c.id = *id;
    struct csts_service *v = csts_service_new(p->provider.csts, &c);
    if (v == NULL || csts_delivery_set(v, &d) != HELIO_OK)
        return false;
    p->service = v;
    return true;
}

/* The pair's service becomes one of Forward Frame; false: no memory. */
static bool make_forward(struct pair *p, struct csts_instance_id *id, bool sequenced)
{
    const struct csts_forward_config f = {
        .production = CSTS_OPERATIONAL, .sequenced = sequenced, .resource = oid_of(RESOURCE)};
    struct csts_service_config c = {.id = *id, .initiator = "MISSION"};
    c.id.type = id->type = csts_known_oid(CSTS_FORWARD_FRAME);
    struct csts_service *v = csts_service_new(p->provider.csts, &c);
    if (v == NULL || csts_forward_set(v, &f) != HELIO_OK)
        return false;
    p->service = v;
    return true;
}

/* True: memory failed. */
static bool run_session(int which, long countdown)
{
    static void (*const uses[])(struct pair * p, struct csts_link * l) = {
        use_link, use_forward, use_sequence, use_delivery};
    struct csts_user_config c = {.responder = "STATION", .port = "MD", .id = instance_of(1)};
    struct pair p = new_pair(SLE_AUTH_ALL);
    memory.failed = 0;
    memory.countdown = countdown;
    const bool made =
        which == 0 || (which == 3 ? make_delivery(&p, &c.id) : make_forward(&p, &c.id, which == 2));
    p.user.link = csts_connect(p.user.csts, &c, p.now);
    p.provider.link = p.user.link == NULL ? NULL : csts_accept(p.provider.csts, p.now);
    pump(&p);
    if (p.provider.link != NULL && made)
        uses[which](&p, p.user.link);
    run_until(&p, p.now + 400 * TICK_S); /* what hangs ends by its time */
    memory.countdown = -1;
    ck_assert_msg(countdown >= 0 || p.user.last.end == SLE_END_UNBOUND, "%s",
                  csts_abort_text(p.user.last.abort));
    free_pair(&p);
    return memory.failed > 0;
}

START_TEST(each_allocation)
{
    long n = 0;
    (void)run_session(_i, -1);
    while (run_session(_i, n))
        n++;
    ck_assert_int_gt(n, 30);
}
END_TEST

SUITE(csts_memory, t)
{
    tcase_add_loop_test(t, each_allocation, 0, 4);
}
