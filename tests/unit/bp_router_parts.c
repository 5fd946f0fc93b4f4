/* SPDX-License-Identifier: Apache-2.0 */
/* Ways that have room for a part of a bundle (RFC 9171 §5.8): what goes, and what is asked then. */
#include "bp_router_help.h"
#include "tests/unit/suite.h"

#define LENGTH 5000

static void app_long(struct binder *n, uint64_t flags)
{
    static char text[LENGTH + 1];
    for (size_t i = 0; i < LENGTH; i++)
        text[i] = (char)('a' + i % 23);
    struct agent_request q = request_of("ipn:2.7", "ipn:9.1", 5);
    q.flags = flags;
    ck_assert_int_eq(app_send(n, &q, text), REFUSE_NONE);
}

/* What the link has is a fragment of at most so many bytes, at this offset. Its end. */
static uint64_t part_at(const struct binder *n, uint64_t offset, uint64_t most)
{
    struct bundle b;
    ck_assert_uint_le(n->sent->len, most);
    ck_assert_int_eq(bundle_decode(buf_data(n->sent), n->sent->len, BUNDLE_STRICT, &b, NULL), 0);
    ck_assert(b.id.fragment);
    ck_assert_uint_eq(b.id.offset, offset);
    ck_assert_uint_eq(b.id.total, LENGTH);
    for (size_t i = 0; i < b.payload.len; i++)
        ck_assert_uint_eq(b.payload.data[i], 'a' + (offset + i) % 23);
    return offset + b.payload.len;
}

/* The first part fills what is left of the contact; the rest waits, and goes another way. */
START_TEST(a_part_that_fits_goes_first)
{
    struct binder n;
    struct oracle o;
    struct agent_config c = config_of("ipn:2.0");
    start(&n, &o, &booking, &c);
    o.names = true;
    o.answer = (struct router_answer){.verdict = ROUTER_LINK, .link = 1, .fits = 2000};
    app_long(&n, 0);
    expect(&n,
           "store 1\nplaced: booking 2, bundle 1, 1 bytes, link 1\nconfirm app 5\nsend 1 on 1\n");
    uint64_t whole = o.last.bytes, end = part_at(&n, 0, 2000);
    ck_assert_uint_gt(end, 1800);
    ck_assert_uint_eq(o.link[1].bytes, 0); /* a bundle is no backlog to itself */
    o.answer = wait_until(T0 + 9 * TICK_S);
    agent_sent(n.a, 1, true, n.now);
    expect(&n, "sent: booking 2, bundle 1, 1 bytes, link 1\n");
    ck_assert_uint_eq(o.last.booking, 0);
    ck_assert_uint_eq(o.link[1].bytes, 0);
    ck_assert_uint_ge(o.last.bytes, whole - end);
    ck_assert_uint_le(o.last.bytes, whole - end + 32);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 1);
    o.answer = to_link(0);
    pass(&n, 9 * TICK_S);
    expect(&n, "placed: booking 3, bundle 1, 1 bytes, link 0\nsend 1 on 0\n");
    ck_assert_uint_eq(part_at(&n, end, UINT64_MAX), LENGTH);
    agent_sent(n.a, 1, true, n.now);
    expect(&n, "sent: booking 3, bundle 1, 1 bytes, link 0\nremove 1\n");
    binder_fini(&n);
}
END_TEST

/* A link that takes less than fits: several fragments, in all not more than fits. */
START_TEST(a_part_in_several_fragments)
{
    struct binder n;
    struct oracle o;
    struct agent_config c = config_of("ipn:2.0");
    start(&n, &o, &booking, &c);
    agent_link_limit(n.a, 1, 700, n.now);
    o.names = true;
    o.answer = (struct router_answer){.verdict = ROUTER_LINK, .link = 1, .fits = 3000};
    app_long(&n, 0);
    skip(&n);
    uint64_t at = 0, bytes = 0, fragments = 0;
    while (o.last.booking == 0 && o.bookings == 2) { /* the first was for the question alone */
        bytes += n.sent->len;
        fragments++;
        at = part_at(&n, at, 700);
        agent_sent(n.a, 1, true, n.now);
        skip(&n);
    }
    ck_assert_uint_le(bytes, 3000);
    ck_assert_uint_ge(bytes, 3000 - ROUTER_FITS_MIN);
    ck_assert_uint_ge(fragments, 3);
    ck_assert_uint_ge(o.last.bytes, LENGTH - at);
    binder_fini(&n);
}
END_TEST

/* What failed is asked for anew, from where it was. */
START_TEST(a_part_that_fails)
{
    struct binder n;
    struct oracle o;
    struct agent_config c = config_of("ipn:2.0");
    start(&n, &o, &booking, &c);
    o.names = true;
    o.answer = (struct router_answer){.verdict = ROUTER_LINK, .link = 1, .fits = 2000};
    app_long(&n, 0);
    skip(&n);
    uint64_t end = part_at(&n, 0, 2000);
    agent_sent(n.a, 1, true, n.now);
    skip(&n);
    (void)part_at(&n, end, 2000);
    o.answer.fits = 1500;
    agent_failed(n.a, 1, NULL, n.now);
    skip(&n);
    pass(&n, TICK_S);
    skip(&n);
    ck_assert_uint_gt(part_at(&n, end, 1500), end + 1300);
    o.answer = to_link(1); /* it is longer now */
    agent_lost(n.a, 1, 9, NULL, n.now);
    skip(&n);
    ck_assert_uint_eq(part_at(&n, end, UINT64_MAX), LENGTH);
    binder_fini(&n);
}
END_TEST

/* It may be asked for what must stay whole, and then knows it. */
START_TEST(what_must_stay_whole_is_asked_for_so)
{
    struct binder n;
    struct oracle o;
    struct agent_config c = config_of("ipn:2.0");
    start(&n, &o, &plain, &c);
    app_long(&n, BUNDLE_NO_FRAGMENT);
    ck_assert(o.last.whole);
    skip(&n);
    ck_assert_uint_gt(n.sent->len, LENGTH);
    app_long(&n, 0);
    ck_assert(!o.last.whole);
    binder_fini(&n);
}
END_TEST

SUITE(bp_router_parts, t)
{
    tcase_add_test(t, a_part_that_fits_goes_first);
    tcase_add_test(t, a_part_in_several_fragments);
    tcase_add_test(t, a_part_that_fails);
    tcase_add_test(t, what_must_stay_whole_is_asked_for_so);
}
