/* SPDX-License-Identifier: Apache-2.0 */
/* What comes by a tunnel, and the node's answers: what finds no room is delivered again, what is
 * thrown away is told, and what arrives in segments counts in the node's memory. */
#include "bp/codec/bundle.h"
#include "tests/unit/cla_bibe_help.h"
#include "tests/unit/suite.h"

#define LONGEST 100000

/* The node of a link, as the test plays it. */
struct scene {
    struct rng rng;
    struct virtual_world v;
    struct bibe_config config;
    struct cla *link;
    uint64_t room, reserved; /* memory of what arrives */
    unsigned done, put_off;  /* answers to deliveries */
    uint64_t key;            /* of the last one */
    unsigned received;       /* bundles */
    uint64_t token, received_len;
    char said[2000];
    unsigned lines;
    bool closed;
};

static void take_answer(void *context, uint64_t key, bool done)
{
    struct scene *s = context;
    s->done += done;
    s->put_off += !done;
    s->key = key;
}

static void take_bundle(void *context, struct cla *c, struct buf *bundle, uint64_t token)
{
    struct scene *s = context;
    (void)c;
    s->received++;
    s->token = token;
    s->received_len = bundle->len;
    buf_drop(bundle);
}

static bool reserve_room(void *context, struct cla *c, uint64_t bytes)
{
    struct scene *s = context;
    (void)c;
    if (bytes > s->room - s->reserved)
        return false;
    s->reserved += bytes;
    return true;
}

static void release_room(void *context, struct cla *c, uint64_t bytes)
{
    struct scene *s = context;
    (void)c;
    ck_assert_uint_ge(s->reserved, bytes);
    s->reserved -= bytes;
}

static void say_line(void *context, struct cla *c, int level, const char *text)
{
    struct scene *s = context;
    (void)c;
    ck_assert_int_eq(level, 1);
    s->lines++;
    strncat(s->said, text, sizeof s->said - strlen(s->said) - 1);
    strncat(s->said, "\n", sizeof s->said - strlen(s->said) - 1);
}

/* All that is due by then happens. */
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

static void begin(struct scene *s, uint64_t memory)
{
    *s = (struct scene){.room = 10 * LONGEST,
                        .config = {.local = parsed("ipn:3.12"),
                                   .remote = parsed("ipn:1.12"),
                                   .window = 4,
                                   .transfers = 4,
                                   .memory = memory,
                                   .nesting = 2,
                                   .hold = 600 * TICK_S,
                                   .state = BIBE_UP}};
    rng_init(&s->rng, 1);
    virtual_init(&s->v, TICK_S, &s->rng, 0);
    const struct cla_env env = {
        .world = &s->v.world,
        .bundle_max = LONGEST,
        .events = {.context = s,
                   .received = take_bundle,
                   .reserve = reserve_room,
                   .release = release_room,
                   .say = say_line},
        .self = {
            .context = s, .submit = submit_nothing, .listen = listen_there, .taken = take_answer}};
    s->link = open_bibe(&env, &s->config);
    pass(s, TICK_MS);
}

static void end(struct scene *s)
{
    s->link->ops->close(s->link, note_closed, &s->closed);
    ck_assert_uint_eq(s->reserved, 0);
    pass(s, TICK_MS);
    ck_assert(s->closed);
    virtual_fini(&s->v);
}

static void deliver_from(struct scene *s, const char *source, const struct bibe_payload *p)
{
    static uint64_t key;
    const struct eid from = parsed(source), to = parsed("ipn:3.12");
    struct buf *b = buf_new(BIBE_HEAD_MAX, p->data.len + 1);
    if (p->data.len > 0)
        memcpy(buf_append(b, p->data.len), p->data.data, p->data.len);
    ck_assert_int_eq(bibe_encode(p, b), 0);
    const struct cla_delivery d = {.key = ++key,
                                   .source = &from,
                                   .destination = &to,
                                   .left_ms = 3600000,
                                   .payload = buf_slice(b)};
    s->link->ops->delivered(s->link, &d);
    buf_drop(b);
    s->link->ops->check_self(s->link);
    pass(s, TICK_MS);
}

static char content[2 * LONGEST];

static struct bibe_payload whole(size_t len)
{
    return (struct bibe_payload){.data = slice_of(content, len)};
}

static struct bibe_payload part(uint64_t transfer, uint64_t total, uint64_t offset, size_t len)
{
    return part_of(content, transfer, total, offset, len);
}

static void deliver(struct scene *s, const struct bibe_payload *p)
{
    deliver_from(s, "ipn:1.12", p);
}

/* What passes puts the encapsulating bundle off; all else ends it, and what is refused for good is
 * told. */
START_TEST(verdicts_that_pass)
{
    static const struct {
        enum cla_verdict verdict;
        bool later;
        const char *said;
    } cases[] = {
        {CLA_ACCEPTED, false, ""},
        {CLA_FULL, true, "1 times no room"},
        {CLA_BUSY, true, "1 times no room"},
        {CLA_FAULTY, false, "1 bundles refused for good: malformed"},
        {CLA_UNWANTED, false, "1 bundles refused for good: no route"},
    };
    struct scene s;
    const struct bibe_payload p = whole(500);
    begin(&s, 1000);
    deliver(&s, &p);
    ck_assert_uint_eq(s.received, 1);
    ck_assert_uint_eq(s.done + s.put_off, 0); /* the node has not answered */
    s.link->ops->confirm(s.link, s.token, cases[_i].verdict);
    pass(&s, TICK_MS);
    ck_assert_uint_eq(s.put_off, cases[_i].later);
    ck_assert_uint_eq(s.done, !cases[_i].later);
    ck_assert_msg(strncmp(s.said, cases[_i].said, strlen(cases[_i].said)) == 0, "%s", s.said);
    ck_assert_uint_eq(s.lines, cases[_i].said[0] != '\0');
    end(&s);
}
END_TEST

/* A bundle longer than `memory`, as long as bundles.max has it, comes through. */
START_TEST(longer_than_memory)
{
    struct scene s;
    begin(&s, 1000);
    for (uint64_t at = 0; at < LONGEST; at += 10000) {
        const struct bibe_payload p = part(1, LONGEST, at, 10000);
        deliver(&s, &p);
    }
    ck_assert_uint_eq(s.received, 1);
    ck_assert_uint_eq(s.received_len, LONGEST);
    ck_assert_uint_eq(s.done, 10);
    ck_assert_uint_eq(s.lines, 0);
    end(&s);
}
END_TEST

/* Two at once have no room: the second one's segments stay in the store until the first is over. */
START_TEST(segments_without_room_are_put_off)
{
    struct scene s;
    begin(&s, 1000);
    const struct bibe_payload a = part(1, LONGEST, 0, 50000), b = part(2, LONGEST, 0, 50000);
    const struct bibe_payload rest = part(1, LONGEST, 50000, 50000);
    deliver(&s, &a);
    deliver(&s, &b);
    ck_assert_uint_eq(s.done, 1);
    ck_assert_uint_eq(s.put_off, 1);
    deliver(&s, &rest);
    ck_assert_uint_eq(s.received, 1);
    deliver(&s, &b); /* again */
    ck_assert_uint_eq(s.put_off, 1);
    ck_assert_uint_eq(s.done, 3);
    end(&s);
}
END_TEST

/* By octets that came, and no more than the whole length; given back at the end. */
START_TEST(segments_count_in_the_nodes_memory)
{
    struct scene s;
    begin(&s, 4 * LONGEST);
    const struct bibe_payload a = part(1, LONGEST, 0, 50000);
    deliver(&s, &a);
    ck_assert_uint_ge(s.reserved, 50000);
    ck_assert_uint_le(s.reserved, 50000 + BIBE_SEGMENT_COST);
    deliver(&s, &a); /* the same again */
    ck_assert_uint_le(s.reserved, 50000 + BIBE_SEGMENT_COST);
    s.room = s.reserved + 1000; /* the node is full */
    const struct bibe_payload b = part(1, LONGEST, 50000, 50000);
    deliver(&s, &b);
    ck_assert_uint_eq(s.put_off, 1);
    s.room = 10 * LONGEST;
    deliver(&s, &b);
    ck_assert_uint_eq(s.received, 1);
    ck_assert_uint_eq(s.reserved, 0); /* it counts at the node now */
    const struct bibe_payload c = part(2, LONGEST, 0, 50000);
    deliver(&s, &c);
    pass(&s, 601 * TICK_S); /* hold */
    ck_assert_uint_eq(s.reserved, 0);
    ck_assert_ptr_nonnull(strstr(s.said, "1 transfers ended incomplete"));
    deliver(&s, &c);
    end(&s);
}
END_TEST

/* One made of segments has no encapsulating bundle any more: it waits here, for longer each time.
 */
START_TEST(a_joined_bundle_waits)
{
    struct scene s;
    const struct bibe_payload a = part(1, 5000, 0, 2500), b = part(1, 5000, 2500, 2500);
    begin(&s, 10000);
    deliver(&s, &a);
    deliver(&s, &b);
    ck_assert_uint_eq(s.done, 2);
    tick pause = TICK_S;
    for (unsigned i = 1; i <= 3; i++, pause *= 2) {
        ck_assert_uint_eq(s.received, i);
        s.link->ops->confirm(s.link, s.token, CLA_FULL);
        ck_assert_uint_eq(s.reserved, 5000);
        pass(&s, pause - 2 * TICK_MS);
        ck_assert_uint_eq(s.received, i);
        pass(&s, 4 * TICK_MS);
    }
    ck_assert_uint_eq(s.received, 4);
    ck_assert_uint_eq(s.received_len, 5000);
    s.link->ops->confirm(s.link, s.token, CLA_ACCEPTED);
    ck_assert_uint_eq(s.reserved, 0);
    ck_assert_uint_eq(s.done, 2);
    deliver(&s, &a);
    deliver(&s, &b);
    s.link->ops->confirm(s.link, s.token, CLA_FULL);
    end(&s); /* while it waits */
}
END_TEST

/* Each kind has a line, at most one in ten seconds, with what came since the last. */
START_TEST(what_is_thrown_away_is_told)
{
    struct scene s;
    const struct bibe_payload p = whole(500), longer = whole(LONGEST + 1);
    begin(&s, 1000);
    deliver_from(&s, "ipn:9.9", &p);
    ck_assert_str_eq(s.said, "1 thrown away: from another endpoint than remote\n");
    for (unsigned i = 0; i < 5; i++)
        deliver_from(&s, "ipn:9.9", &p);
    ck_assert_uint_eq(s.lines, 1);
    deliver(&s, &longer);
    ck_assert_uint_eq(s.lines, 2);
    ck_assert_ptr_nonnull(strstr(s.said, "1 thrown away: longer than bundles.max\n"));
    pass(&s, 11 * TICK_S);
    ck_assert_uint_eq(s.lines, 3);
    ck_assert_ptr_nonnull(strstr(s.said, "5 thrown away: from another endpoint than remote\n"));
    ck_assert_uint_eq(s.received, 0);
    end(&s);
}
END_TEST

SUITE(cla_bibe_take, t)
{
    tcase_add_loop_test(t, verdicts_that_pass, 0, 5);
    tcase_add_test(t, longer_than_memory);
    tcase_add_test(t, segments_without_room_are_put_off);
    tcase_add_test(t, segments_count_in_the_nodes_memory);
    tcase_add_test(t, a_joined_bundle_waits);
    tcase_add_test(t, what_is_thrown_away_is_told);
}
