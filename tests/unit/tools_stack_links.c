/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The links of a file in virtual time, without nodes: frames go in at given times, and come out
 * when and where channels say that are driven by themselves; a shared line's and a hand-over's
 * account by closed form; hops.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "channel-emu/chan/chan_shared.h"
#include "tests/unit/suite.h"
#include "tools/sim/stack.h"

#define FRAMES 6000u
#define PLACES 16u

/* A frame that came to a place. */
struct got {
    uint64_t id;
    tick at;
    size_t len;
};

struct place {
    struct port *port;
    struct address address;
    struct got got[3 * FRAMES];
    size_t count;
};

static struct stack *stack;
static struct place *place; /* of PLACES */
static size_t places;

static void take_frames(void *context, bool readable, bool writable)
{
    struct place *p = context;
    struct slice s;
    (void)readable;
    (void)writable;
    while (udp_fill(p->port->io, 65536)) {
        while (udp_next(p->port->io, &s)) {
            struct got g = {.at = stack->world.now, .len = s.len};
            memcpy(&g.id, s.data, sizeof g.id);
            ck_assert_uint_lt(p->count, 3 * FRAMES);
            p->got[p->count++] = g;
        }
    }
}

static struct place *open_place(const char *text)
{
    struct place *p = &place[places++];
    ck_assert_uint_le(places, PLACES);
    ck_assert_int_eq(address_parse(text, &p->address), 0);
    ck_assert_int_eq(port_open(&stack->world.world, &p->port, &p->address, false, take_frames, p),
                     0);
    port_watch(p->port, true, false);
    return p;
}

static void open_stack(const char *text)
{
    char path[] = "/tmp/stack_links_XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    stack = calloc(1, sizeof *stack);
    place = calloc(PLACES, sizeof *place);
    places = 0;
    stack_init(stack, 1);
    stack->signals = -1;
    ck_assert_int_eq(stack_links_add(stack, path), 0);
    unlink(path);
    for (size_t i = 0; i < stack->channels_len; i++)
        ck_assert_int_eq(stack_channel_open(stack->channels[i], i + 1), 0);
}

static void close_stack(void)
{
    for (size_t i = 0; i < places; i++)
        port_close(place[i].port, NULL, NULL);
    stack_fini(stack);
    free(stack);
    free(place);
}

static void run_until(tick at)
{
    while (stack_step(stack, at))
        ;
    virtual_advance(&stack->world, at);
}

static void send_frame(struct place *from, const char *to, uint64_t id, size_t len)
{
    static uint8_t bytes[2048];
    struct address a;
    ck_assert_int_eq(address_parse(to, &a), 0);
    memcpy(bytes, &id, sizeof id);
    struct virtual_port *p = container_of(from->port, struct virtual_port, port);
    ck_assert(
        stack->world.carry(stack->world.context, p, &a, slice_of(bytes, len), slice_of(bytes, 0)));
}

static const struct chan_counters *counters(const char *name, int dir)
{
    int i = scenario_links_find(&stack->links->file, name);
    ck_assert_int_ge(i, 0);
    return chan_counters(stack->channels[stack->links->first + (size_t)i]->directions[dir].chan);
}

/* ---- against channels driven by themselves ---- */

static const char all_kinds[] =
    "seed: 7\n"
    "link: {both: {delay: 5ms}, overhead: 20}\n"
    "links:\n"
    "  a: {listen: '10.0.0.1:1', to: '10.0.1.1:1', forward: {erasures: {iid: 0.1}, jitter: 3ms},\n"
    "      return: {rate: 2Mbit/s, queue: 10ms, duplicate: 0.05}}\n"
    "  b: {listen: '10.0.0.1:2', to: '10.0.1.1:2', forward: {delay: 9ms, duplicate: 0.1}}\n"
    "  l: {listen: '10.0.0.1:3', to: '10.0.1.1:3', handover: [{at: 0, link: p},\n"
    "      {at: 1s, link: q, gap: 200ms, in_flight: lost}, {at: 2s, link: none},\n"
    "      {at: 2500ms, link: p}, {at: 3s, link: q}]}\n"
    "  p: {forward: {delay: 30ms, erasures: {iid: 0.05}}}\n"
    "  q: {forward: {rate: 3Mbit/s, delay: 11ms}, return: {erasures: {iid: 0.2}}}\n"
    "shared:\n"
    "  up: {of: [a.forward, p.forward, b.return], rate: 4Mbit/s, queue: 30ms,\n"
    "       changes: [{at: 1500ms, rate: 2Mbit/s}]}\n";

enum { A, B, L, P, Q, LINKS };

/* Channels driven by themselves: what comes out of which link (a, b, l) which way. */
struct model {
    struct scenario_links file;
    struct chan_shared *up;
    struct chan *chan[LINKS][2];
    struct got got[3][2][3 * FRAMES];
    size_t count[3][2];
};

static void open_model(struct model *m, const char *text)
{
    static const tick cut[] = {TICK_S};
    static struct conf_errors errors;
    conf_errors_init(&errors, "model");
    ck_assert_int_eq(scenario_links_read(&m->file, text, strlen(text), "", &errors), 0);
    struct chan_shared_config s = scenario_links_shared(&m->file, 0, 0, STACK_START * TICK_S);
    ck_assert_int_eq(chan_shared_new(&m->up, &s), 0);
    for (int i = 0; i < LINKS; i++) {
        for (int dir = 0; dir < 2; dir++) {
            struct chan_config k =
                scenario_chan(&m->file.link[i].scenario, dir, 0, STACK_START * TICK_S);
            if ((i == A && dir == 0) || (i == P && dir == 0) || (i == B && dir == 1)) {
                k.shared = m->up;
                k.queue_bytes = k.queue_time = 0;
            }
            k.cuts = cut;
            k.cut_count = i == P ? 1 : 0;
            ck_assert_int_eq(chan_new(&m->chan[i][dir], &k), 0);
        }
    }
}

static void close_model(struct model *m)
{
    for (int i = 0; i < LINKS; i++)
        for (int dir = 0; dir < 2; dir++)
            chan_free(m->chan[i][dir]);
    chan_shared_free(m->up);
    scenario_links_fini(&m->file);
}

static void play_until(struct model *m, tick before)
{
    for (;;) {
        int link = -1, dir = 0;
        tick due = before;
        for (int i = 0; i < 2 * LINKS; i++) {
            tick d = chan_deadline(m->chan[i / 2][i % 2]);
            if (d < due) {
                due = d;
                link = i / 2;
                dir = i % 2;
            }
        }
        struct chan_out out;
        if (link < 0)
            return;
        if (chan_output(m->chan[link][dir], due, &out) == 0)
            continue;
        int port = (int)out.tag;
        struct got g = {.at = out.due, .len = out.len};
        memcpy(&g.id, out.data, sizeof g.id);
        m->got[port][dir][m->count[port][dir]++] = g;
    }
}

/* The channels that a frame takes; -1: none. */
static int channels_at(int port, tick now)
{
    if (port != L)
        return port;
    return now < TICK_S           ? P
           : now < 1200 * TICK_MS ? -1
           : now < 2 * TICK_S     ? Q
           : now < 2500 * TICK_MS ? -1
           : now < 3000 * TICK_MS ? P
                                  : Q;
}

static void compare_got(const struct model *m, int link, int dir, const struct place *p)
{
    ck_assert_uint_gt(p->count, 100);
    ck_assert_uint_eq(p->count, m->count[link][dir]);
    for (size_t i = 0; i < p->count; i++) {
        const struct got *a = &p->got[i], *b = &m->got[link][dir][i];
        ck_assert_msg(a->id == b->id && a->at == b->at && a->len == b->len,
                      "link %d way %d frame %zu", link, dir, i);
    }
}

START_TEST(frames_fare_as_in_channels_by_themselves)
{
    static const char *const listen[] = {"10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3"};
    static const char *const far[] = {"10.0.1.1:1", "10.0.1.1:2", "10.0.1.1:3"};
    static const char *const near[] = {"10.0.2.1:1", "10.0.2.1:2", "10.0.2.1:3"};
    static const char *const names[] = {"a", "b", "l", "p", "q"};
    static uint8_t bytes[2048];
    struct model *m = calloc(1, sizeof *m);
    struct place *end[3][2]; /* where frames of each way come out */
    struct rng rng;
    uint64_t gap[2] = {0, 0};
    open_stack(all_kinds);
    open_model(m, all_kinds);
    rng_init(&rng, 5);
    for (int i = 0; i < 3; i++) {
        end[i][0] = open_place(far[i]);
        end[i][1] = open_place(near[i]);
        ck_assert_int_eq(stack_channel_check(stack->channels[i]), 0);
    }
    tick now = 0;
    for (uint64_t id = 0; id < FRAMES; id++) {
        int port = (int)rng_below(&rng, 3), dir = id > 100 && rng_chance(&rng, 0.3);
        size_t len = 8 + (size_t)rng_below(&rng, 1200);
        now += 1 + rng_below(&rng, 1400 * TICK_US);
        run_until(now);
        send_frame(end[port][1 - dir], listen[port], id, len);
        play_until(m, now);
        int over = channels_at(port, now);
        memcpy(bytes, &id, sizeof id);
        if (over >= 0)
            chan_input(m->chan[over][dir], bytes, len, (uint64_t)port, now);
        gap[dir] += over < 0;
    }
    run_until(now + 10 * TICK_S);
    play_until(m, now + 10 * TICK_S);
    for (int i = 0; i < 3; i++)
        for (int dir = 0; dir < 2; dir++)
            compare_got(m, i, dir, end[i][dir]);
    for (int i = 0; i < LINKS; i++)
        for (int dir = 0; dir < 2 && i != L; dir++)
            ck_assert_mem_eq(counters(names[i], dir), chan_counters(m->chan[i][dir]),
                             sizeof(struct chan_counters));
    ck_assert_uint_gt(counters("p", 0)->lost[CHAN_HANDOVER], 0);
    ck_assert_uint_gt(counters("p", 0)->lost[CHAN_QUEUE], 0);
    for (int dir = 0; dir < 2; dir++)
        ck_assert_uint_eq(stack->links->between.at[L].directions[dir].gap, gap[dir]);
    ck_assert(gap[0] > 50 && gap[1] > 10);
    close_model(m);
    free(m);
    close_stack();
}
END_TEST

/* ---- by closed form ---- */

START_TEST(two_share_a_line)
{
    /* twice what the line carries, in turn: half of it is for each, the rest is too much */
    open_stack("link: {overhead: 0}\n"
               "links:\n"
               "  a: {listen: '10.0.0.1:1', to: '10.0.1.1:1', forward: {delay: 7ms}}\n"
               "  b: {listen: '10.0.0.1:2', to: '10.0.1.1:2'}\n"
               "shared: {up: {of: [a.forward, b.forward], rate: 8Mbit/s, queue: 20ms}}\n");
    struct place *near = open_place("10.0.2.1:1"), *far = open_place("10.0.1.1:1");
    struct place *other = open_place("10.0.1.1:2");
    for (uint64_t i = 0; i < 1000; i++) {
        run_until(i * TICK_MS);
        send_frame(near, i % 2 == 0 ? "10.0.0.1:1" : "10.0.0.1:2", i, 1000);
        send_frame(near, i % 2 == 0 ? "10.0.0.1:2" : "10.0.0.1:1", i, 1000);
    }
    run_until(2 * TICK_S);
    json_t *o = stack_links_json(stack);
    json_t *up = json_object_get(json_object_get(o, "shared"), "up");
    uint64_t sent = far->count + other->count;
    ck_assert(sent >= 1000 && sent <= 1022); /* a second's, and what the queue held */
    ck_assert_int_eq(json_integer_value(json_object_get(up, "bytes")), (json_int_t)sent * 1000);
    ck_assert_int_eq(json_integer_value(json_object_get(up, "rate_bps")), 8000000);
    ck_assert_double_gt(json_real_value(json_object_get(up, "fairness")), 0.9999);
    for (size_t i = 0; i < 2; i++) {
        json_t *of = json_array_get(json_object_get(up, "members"), i);
        double waited = json_real_value(json_object_get(of, "wait_max_us"));
        ck_assert_double_eq_tol(json_real_value(json_object_get(of, "share")), 0.5, 0.002);
        ck_assert(waited > 18000 && waited <= 21000);
    }
    json_decref(o);
    close_stack();
}
END_TEST

START_TEST(a_link_is_handed_over)
{
    open_stack("links:\n"
               "  l: {listen: '10.0.0.1:1', to: '10.0.1.1:1', handover: [{at: 0, link: p},\n"
               "      {at: 1s, link: q, gap: 100ms, in_flight: lost}, {at: 2s, link: p}]}\n"
               "  p: {both: {delay: 10500us}}\n"
               "  q: {both: {delay: 30500us}}\n");
    struct place *near = open_place("10.0.2.1:1"), *far = open_place("10.0.1.1:1");
    for (uint64_t i = 0; i < 3000; i++) {
        run_until(i * TICK_MS);
        send_frame(near, "10.0.0.1:1", i, 100);
    }
    run_until(4 * TICK_S);
    /* the last ten of the first second are inside, a hundred come in the gap; what is inside q when
     * p is returned to still arrives */
    ck_assert_uint_eq(far->count, 3000 - 10 - 100);
    bool seen[3000] = {false};
    for (size_t i = 0; i < far->count; i++) {
        uint64_t id = far->got[i].id;
        tick delay = id >= 1000 && id < 2000 ? 30500 * TICK_US : 10500 * TICK_US;
        ck_assert_uint_eq(far->got[i].at, id * TICK_MS + delay);
        seen[id] = true;
    }
    for (size_t i = 0; i < 3000; i++)
        ck_assert(seen[i] == (i < 990 || i >= 1100));
    json_t *o = stack_links_json(stack);
    json_t *hand = json_object_get(json_object_get(json_object_get(o, "links"), "l"), "handover");
    json_t *forward = json_object_get(hand, "forward"), *via = json_object_get(forward, "via");
    ck_assert_int_eq(json_integer_value(json_object_get(hand, "done")), 3);
    ck_assert_int_eq(json_integer_value(json_object_get(forward, "in")), 3000);
    ck_assert_int_eq(json_integer_value(json_object_get(forward, "gap")), 100);
    ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(via, "p"), "in")), 2000);
    ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(via, "p"), "out")), 1990);
    ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(via, "q"), "out")), 900);
    json_decref(o);
    close_stack();
}
END_TEST

START_TEST(one_hop_leads_to_the_next)
{
    open_stack("links:\n"
               "  one: {listen: '10.0.0.1:1', to: '10.0.0.1:2', both: {delay: 1ms}}\n"
               "  two: {listen: '10.0.0.1:2', to: '10.0.0.1:3', both: {delay: 2ms}}\n"
               "  three: {listen: '10.0.0.1:3', to: '10.0.1.1:1', both: {delay: 4ms}}\n");
    struct place *near = open_place("10.0.2.1:1"), *far = open_place("10.0.1.1:1");
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(stack_channel_check(stack->channels[i]), 0);
    send_frame(far, "10.0.0.1:3", 9, 50); /* an answer to nobody */
    send_frame(near, "10.0.0.1:1", 1, 50);
    run_until(TICK_S);
    ck_assert(far->count == 1 && far->got[0].id == 1 && far->got[0].at == 7 * TICK_MS);
    send_frame(far, "10.0.0.1:3", 2, 60); /* answers go all the way back */
    run_until(2 * TICK_S);
    ck_assert(near->count == 1 && near->got[0].id == 2 && near->got[0].at == TICK_S + 7 * TICK_MS);
    ck_assert_uint_eq(stack->channels[2]->directions[SCENARIO_RETURN].no_peer, 1);
    ck_assert_uint_eq(counters("two", SCENARIO_FORWARD)->out, 1);
    close_stack();
}
END_TEST

SUITE(tools_stack_links, t)
{
    tcase_set_timeout(t, 600);
    tcase_add_test(t, frames_fare_as_in_channels_by_themselves);
    tcase_add_test(t, two_share_a_line);
    tcase_add_test(t, a_link_is_handed_over);
    tcase_add_test(t, one_hop_leads_to_the_next);
}
