/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles in segments (draft-ietf-dtn-bibe-00 §4.5): any order, twice, contradicting, for ever; and
 * the keys of a tunnel. */
#include "cla/bibe/bibe_join.h"
#include "tests/unit/cla_bibe_help.h"
#include "tests/unit/suite.h"

static char whole[5000];

static struct bibe_payload part(uint64_t transfer, uint64_t offset, size_t len)
{
    return part_of(whole, transfer, sizeof whole, offset, len);
}

static tick now_is;

static enum bibe_verdict add_to(struct bibe_joins *j, const char *source,
                                const struct bibe_payload *p, tick until, struct buf **out)
{
    struct eid from = parsed(source), to = parsed("ipn:3.12");
    enum bibe_verdict v = bibe_joins_add(j, &from, &to, p, (struct bibe_times){now_is, until}, out);
    bibe_joins_check(j);
    return v;
}

static void begin(struct bibe_joins *j)
{
    for (size_t i = 0; i < sizeof whole; i++)
        whole[i] = (char)(i * 7 + i / 256);
    bibe_joins_init(j, 3, 3 * sizeof whole, 2 * sizeof whole);
}

static void end_with(struct bibe_joins *j, struct buf *b)
{
    ck_assert_uint_eq(b->len, sizeof whole);
    ck_assert_mem_eq(buf_data(b), whole, sizeof whole);
    buf_drop(b);
    ck_assert_uint_eq(j->len, 0);
    bibe_joins_fini(j);
}

/* Pieces of any length, overlapping, some of them twice. */
START_TEST(in_any_order)
{
    struct bibe_joins j;
    struct rng r;
    struct buf *out = NULL;
    rng_init(&r, (uint64_t)_i);
    begin(&j);
    enum bibe_verdict v = BIBE_TAKEN;
    while (v == BIBE_TAKEN) {
        uint64_t at = rng_below(&r, sizeof whole);
        struct bibe_payload p = part(1, at, 1 + rng_below(&r, sizeof whole - at));
        v = add_to(&j, "ipn:1.12", &p, 100, &out);
        ck_assert_ptr_null(v == BIBE_TAKEN ? out : NULL);
    }
    ck_assert_int_eq(v, BIBE_COMPLETE);
    end_with(&j, out);
}
END_TEST

START_TEST(transfers_of_several)
{
    struct bibe_joins j;
    struct buf *out = NULL;
    begin(&j);
    struct bibe_payload a = part(1, 0, 2500), b = part(1, 2500, 2500), c = part(2, 2500, 2500);
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &a, 100, &out), BIBE_TAKEN);
    ck_assert_int_eq(add_to(&j, "ipn:1.13", &b, 100, &out), BIBE_TAKEN); /* another source */
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &c, 100, &out), BIBE_TAKEN); /* another number */
    ck_assert_uint_eq(j.len, 3);
    struct bibe_payload d = part(3, 0, 1);
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &d, 100, &out), BIBE_FULL);
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &b, 100, &out), BIBE_COMPLETE);
    buf_drop(out);
    ck_assert_uint_eq(j.len, 2);
    bibe_joins_fini(&j);
}
END_TEST

/* Announced lengths, of which a byte came, keep out nobody who brings more. */
START_TEST(those_that_hardly_began_give_way)
{
    struct bibe_joins j;
    struct buf *out = NULL;
    begin(&j);
    for (unsigned i = 1; i <= 3; i++) {
        struct bibe_payload p = part(i, 0, i);
        ck_assert_int_eq(add_to(&j, "ipn:1.12", &p, 100, &out), BIBE_TAKEN);
    }
    struct bibe_payload one = part(9, 0, 1), more = part(9, 0, 3), rest = part(9, 3, 4997);
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &one, 100, &out), BIBE_FULL);  /* none has less */
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &more, 100, &out), BIBE_FULL); /* all got bytes now */
    now_is = BIBE_SILENT - 1;
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &more, 100, &out), BIBE_FULL);
    struct bibe_payload again = part(1, 0, 1);
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &again, 100, &out), BIBE_TAKEN); /* brings nothing */
    now_is = BIBE_SILENT;
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &more, 100, &out), BIBE_TAKEN);
    ck_assert_uint_eq(j.displaced, 1);
    struct bibe_payload first = part(1, 1, 2), third = part(3, 3, 1);
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &third, 100, &out), BIBE_TAKEN); /* it is still there */
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &first, 100, &out), BIBE_FULL);  /* it was the one */
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &rest, 100, &out), BIBE_COMPLETE);
    buf_drop(out);
    bibe_joins_fini(&j);
    now_is = 0;
}
END_TEST

START_TEST(contradictions_end_it)
{
    struct bibe_joins j;
    struct buf *out = NULL;
    begin(&j);
    struct bibe_payload a = part(1, 0, 2500), b = part(1, 2400, 100), c = part(1, 2500, 2500);
    char other[100];
    memcpy(other, whole + 2400, 100);
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &a, 100, &out), BIBE_TAKEN);
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &b, 100, &out), BIBE_TAKEN); /* the same again */
    other[99] ^= 1;
    b.data = slice_of(other, 100);
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &b, 100, &out), BIBE_CORRUPT);
    ck_assert_uint_eq(j.len, 0);
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &a, 100, &out), BIBE_TAKEN);
    c.total++;
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &c, 100, &out), BIBE_CORRUPT);
    ck_assert_uint_eq(j.bytes, 0);
    bibe_joins_fini(&j);
}
END_TEST

START_TEST(limits)
{
    struct bibe_joins j;
    struct buf *out = NULL;
    begin(&j);
    struct bibe_payload p = part(1, 0, 1);
    p.total = 2 * sizeof whole + 1;
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &p, 100, &out), BIBE_TOO_LONG);
    p.total = UINT64_MAX;
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &p, 100, &out), BIBE_TOO_LONG);
    p.total = 2 * sizeof whole;
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &p, 100, &out), BIBE_TAKEN);
    p.transfer = 2;
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &p, 100, &out), BIBE_FULL); /* of bytes */
    p = part(3, 0, 1);
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &p, 100, &out), BIBE_TAKEN);
    for (uint64_t i = 1; i < BIBE_GAPS_MAX; i++) {
        p = part(3, 2 * i, 1);
        ck_assert_int_eq(add_to(&j, "ipn:1.12", &p, 100, &out), BIBE_TAKEN);
    }
    p = part(3, 4000, 1);
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &p, 100, &out), BIBE_FULL); /* of holes */
    bibe_joins_fini(&j);
}
END_TEST

START_TEST(they_end_in_time)
{
    struct bibe_joins j;
    struct buf *out = NULL;
    begin(&j);
    struct bibe_payload a = part(1, 0, 2500), b = part(2, 0, 2500), c = part(1, 2500, 2500);
    ck_assert_uint_eq(bibe_joins_deadline(&j), TICK_NEVER);
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &a, 100, &out), BIBE_TAKEN);
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &b, 50, &out), BIBE_TAKEN);
    ck_assert_uint_eq(bibe_joins_deadline(&j), 50);
    bibe_joins_expire(&j, 49);
    ck_assert_uint_eq(j.len, 2);
    bibe_joins_expire(&j, 50);
    ck_assert_uint_eq(j.len, 1);
    ck_assert_uint_eq(j.expired, 1);
    ck_assert_int_eq(add_to(&j, "ipn:1.12", &c, 100, &out), BIBE_COMPLETE);
    end_with(&j, out);
}
END_TEST

START_TEST(endpoints)
{
    static const struct {
        const char *local, *remote, *peer, *key;
    } cases[] = {
        {"ipn:1.12", "ipn:3.12", "ipn:3.0", NULL},
        {"ipn:1.12", "ipn:3.12", "dtn:none", NULL},
        {"dtn://one/t", "ipn:3.12", "ipn:3.0", "local"}, /* of another node */
        {"ipn:2.12", "ipn:3.12", "ipn:3.0", "local"},
        {"ipn:1.0", "ipn:3.12", "ipn:3.0", "local"}, /* administrative: §5 */
        {"ipn:!.12", "ipn:3.12", "ipn:3.0", "local"},
        {"ipn:1.12", "ipn:3.0", "ipn:3.0", "remote"},
        {"ipn:1.12", "ipn:4.12", "ipn:3.0", "remote"},
        {"ipn:1.12", "ipn:1.13", "dtn:none", "remote"},
        {"ipn:1.12", "dtn:none", "ipn:3.0", "remote"},
        {"ipn:1.12", "dtn://h/~all", "ipn:3.0", "remote"},
        {"ipn:1.12", "imc:3.12", "ipn:3.0", "remote"},
    };
    struct eid node = parsed("ipn:1.0");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bibe_config k = {.local = parsed(cases[i].local), .remote = parsed(cases[i].remote)};
        struct eid peer = parsed(cases[i].peer);
        const char *key = NULL;
        char why[200] = "";
        int rc = bibe_check(&k, &key, why, sizeof why);
        rc = rc < 0 ? rc : bibe_check_names(&k, &node, &peer, &key, why, sizeof why);
        ck_assert_msg((rc == 0) == (cases[i].key == NULL), "%zu: %s", i, why);
        if (cases[i].key != NULL)
            ck_assert_msg(strcmp(key, cases[i].key) == 0 && why[0] != '\0', "%zu: %s", i, key);
    }
}
END_TEST

static void on_link(void *context, struct cla *c, bool up)
{
    (void)c;
    *(bool *)context = up;
}

/* Up is what operator and plan both say: a contact's beginning does not take the operator's word
 * back, and a tunnel without a contact is not off. */
START_TEST(operators_word_holds)
{
    struct rng rng;
    struct virtual_world v;
    const struct bibe_config k = {.local = parsed("ipn:1.12"),
                                  .remote = parsed("ipn:2.12"),
                                  .window = 4,
                                  .transfers = 4,
                                  .memory = 1000,
                                  .state = BIBE_UP};
    struct cla_contact c = {.round_trip = TICK_NEVER};
    bool is_up = false, closed = false;
    rng_init(&rng, 1);
    virtual_init(&v, TICK_S, &rng, 0);
    const struct cla_env env = {.world = &v.world,
                                .bundle_max = 1000,
                                .events = {.context = &is_up, .link = on_link},
                                .self = {.submit = submit_nothing, .listen = listen_there}};
    struct cla *link = open_bibe(&env, &k);
    settle(&v);
    ck_assert(is_up);
    for (unsigned i = 0; i < 8; i++) {
        const bool up = (i & 1) != 0, transmits = (i & 2) != 0;
        struct cla_gauges g = {0};
        c.transmit = c.receive = transmits;
        if ((i & 4) == 0)
            link->ops->set_link(link, up);
        link->ops->contact(link, &c);
        if ((i & 4) != 0)
            link->ops->set_link(link, up);
        settle(&v);
        ck_assert_int_eq(is_up, up && transmits);
        link->ops->gauges(link, &g);
        ck_assert_int_eq(g.off, !up);
    }
    link->ops->contact(link, NULL);
    settle(&v);
    ck_assert(is_up);
    link->ops->close(link, note_closed, &closed);
    settle(&v);
    ck_assert(closed);
    virtual_fini(&v);
}
END_TEST

SUITE(cla_bibe, t)
{
    tcase_add_loop_test(t, in_any_order, 0, 50);
    tcase_add_test(t, transfers_of_several);
    tcase_add_test(t, those_that_hardly_began_give_way);
    tcase_add_test(t, contradictions_end_it);
    tcase_add_test(t, limits);
    tcase_add_test(t, they_end_in_time);
    tcase_add_test(t, endpoints);
    tcase_add_test(t, operators_word_holds);
}
