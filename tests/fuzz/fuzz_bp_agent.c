/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent under any sequence of events: each input byte picks a push, later bytes its arguments;
 * bundles of peers are legal ones with some of their bytes changed. Answers to actions come at
 * once, late, or never. The invariants are checked after each step of some inputs, and of others
 * after steps 1, 4, 16, … and the last one: a fault that is found late is found again by an input
 * that is checked at each step.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/agent/agent.h"

#define KEYS 256
#define PUSHES 20     /* of one input: more of them find nothing more, and take longer */
#define CHECK_EACH 16 /* one input of so many has its invariants checked after each step */
#define NODE 2
#define PAYLOAD 16 /* bytes of the bundles that come in fragments */

static const uint8_t text[PAYLOAD + 1] = "abcdefghijklmnop"; /* with its 0 */

struct feed {
    const uint8_t *p, *end;
};

static uint8_t byte_of(struct feed *f)
{
    return f->p == f->end ? 0 : *f->p++;
}

struct world {
    struct agent *a;
    struct agent_now now;
    struct buf *stored[KEYS];
    size_t stored_len; /* behind the last one */
    uint64_t confirmed, answered, asked;
    bool damaged; /* bytes of some bundle were changed */
    bool each;    /* the invariants are checked after each step */
    bool later;   /* bundles of fragments are verified after another push */
    unsigned steps;
    struct feed f;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__asan_default_options(void);

/* An input has freed far less than 4 MiB: that much is kept to find its accesses to freed memory,
 * and stays in the processor's cache. The stacks of reports are longer with ASAN_OPTIONS. */
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=4:malloc_context_size=3";
}

static struct agent_config config(void)
{
    return (struct agent_config){.node = eid_ipn(0, NODE, 0),
                                 .seed = 1,
                                 .mode = BUNDLE_LENIENT,
                                 .held_bundles = 40,
                                 .memory_bytes = 3000,
                                 .seen_max = 8,
                                 .reassemblies_max = 3,
                                 .fragments_max = 6,
                                 .fragments_all_max = 12,
                                 .reassembly_idle = TICK_S,
                                 .reserve_percent = 30,
                                 .source_percent = 80,
                                 .lifetime_max_ms = 100000,
                                 .place_slice = 2,
                                 .status_reports = true};
}

enum pattern { TO_1, TO_3, GROUP_2, GROUPS, EVERYTHING, SHARED, PASSED, PATTERNS };

/* The same for all inputs: read once. */
static const struct eid_pattern *pattern_of(enum pattern p)
{
    static const char *const texts[PATTERNS] = {
        [TO_1] = "ipn:1.*", [TO_3] = "ipn:3.*",   [GROUP_2] = "imc:2.*", [GROUPS] = "imc:*.*",
        [EVERYTHING] = "*", [SHARED] = "ipn:2.1", [PASSED] = "ipn:2.2"};
    static struct eid_pattern read[PATTERNS];
    static bool done;
    for (size_t i = 0; i < PATTERNS && !done; i++)
        if (eid_pattern_parse(texts[i], &read[i]) < 0)
            abort();
    done = true;
    return &read[p];
}

static void add_members(struct agent *a)
{
    struct eid one = eid_ipn(0, 1, 0), three = eid_ipn(0, 3, 0);
    int rc = agent_link_add(a, 0, &one, 1) | agent_link_add(a, 1, &three, 3);
    rc |= agent_route_add(a, pattern_of(TO_1), 0) | agent_route_add(a, pattern_of(TO_3), 1);
    rc |= agent_route_add(a, pattern_of(GROUP_2), 1); /* goes both ways */
    rc |= agent_route_add(a, pattern_of(GROUPS), 0);
    rc |= agent_route_add(a, pattern_of(EVERYTHING), 1); /* critical ones, too */
    rc |= agent_share_endpoints(a, pattern_of(SHARED), AGENT_SHARE_ALL);
    rc |= agent_share_endpoints(a, pattern_of(PASSED), AGENT_SHARE_PASS);
    struct agent_queue_rule rule = {rule_any(), BUNDLE_BULK};
    rule.rule.size_max = 100;
    rc |= agent_link_service(
        a, 1, &(struct agent_service){.strict = true, .rules = &rule, .rules_len = 1});
    if (rc != 0)
        abort();
}

/* What comes in fragments for endpoint 0 fails, and for endpoint 1 passes; the same for all inputs.
 */
static struct security_policy *policy_of(void)
{
    static struct security_policy *p;
    static const struct crypto none;
    static struct security_ring ring;
    struct security_rule rules[2];
    const struct eid node = eid_ipn(0, NODE, 0);
    const char *why;
    if (p != NULL)
        return p;
    int rc = security_policy_new(&p, &node, &none, &ring);
    for (size_t i = 0; i < 2 && rc == 0; i++) {
        rules[i] = (struct security_rule){
            .role = SECURITY_ROLE_VERIFIER, .target = 1, .type = SECURITY_BIB, .dry_run = i == 1};
        rc = eid_patterns_read("ipn:1.9", &rules[i].from, &why) |
             eid_patterns_read(i == 0 ? "ipn:2.0" : "ipn:2.1", &rules[i].to, &why);
    }
    if (rc != 0 || security_policy_set(p, rules, 2) != 0)
        abort();
    return p;
}

static uint64_t key_of(struct world *w)
{
    return byte_of(&w->f) % KEYS;
}

static void send_one(struct world *w)
{
    struct agent_request q = {.crc = -1, .report_to = eid_none()};
    uint8_t how = byte_of(&w->f);
    q.source = how & 1 ? eid_none() : eid_ipn(0, NODE, 7);
    q.destination = eid_ipn(0, 1 + (how >> 1) % 4, byte_of(&w->f) % 4);
    q.lifetime_ms = byte_of(&w->f) * 100;
    q.flags = (uint64_t)byte_of(&w->f) << (how >> 4);
    uint8_t urgent = byte_of(&w->f);
    struct bundle_qos qos = {.priority = (enum bundle_priority)(urgent % 4),
                             .ordinal = urgent >> 5,
                             .flags = urgent >> 2 & 1};
    q.qos = urgent & 8 ? &qos : NULL;
    if (urgent & 16)
        q.destination = eid_imc_of(2, q.destination.service);
    q.payload = buf_new(BUNDLE_HEAD_MAX, 300 + BUNDLE_TAIL_MAX);
    if (q.payload == NULL)
        return;
    size_t len = byte_of(&w->f);
    memset(buf_append(q.payload, len), 'x', len);
    if (agent_send(w->a, &q, w->now, NULL) != REFUSE_NONE)
        buf_drop(q.payload);
    else
        w->asked++;
}

static void take_in(struct world *w, const struct bundle *b)
{
    struct buf *whole = bundle_encode_copy(b);
    if (whole == NULL)
        return;
    uint8_t damage = byte_of(&w->f) & 3;
    w->damaged = w->damaged || damage > 0;
    for (; damage > 0; damage--)
        buf_data(whole)[byte_of(&w->f) % whole->len] ^= byte_of(&w->f);
    w->asked++;
    agent_receive(w->a, byte_of(&w->f) % 3, whole, 5, w->now);
}

/* A fragment of one of a few bundles, mostly for this node; or the bundle itself. */
static void receive_piece(struct world *w)
{
    struct bundle b;
    bundle_init(&b);
    uint8_t how = byte_of(&w->f), at = byte_of(&w->f);
    size_t lo = at % PAYLOAD, total = PAYLOAD + (how >> 7 & at >> 3 & 1);
    b.id.source = eid_ipn(0, 1, 9);
    b.id.sequence = how % 4;
    b.id.time_ms = 900000;
    b.destination = eid_ipn(0, how & 64 ? 3 : NODE, (how >> 2) % 2);
    b.report_to = eid_ipn(0, 1, 1);
    b.lifetime_ms = 100000 + (how & 8 ? 1000 : 60000);
    b.flags = BUNDLE_IS_FRAGMENT | (how & 16 ? BUNDLE_REPORT_RECEPTION : 0);
    b.id.fragment = true;
    b.id.offset = lo;
    b.id.total = total;
    b.payload = slice_of(text + lo, 1 + (at >> 4) % (total - lo));
    if (how & 32 && at > 200) {
        b.flags &= ~(uint64_t)BUNDLE_IS_FRAGMENT;
        b.id.fragment = false;
        b.payload = slice_of(text, PAYLOAD);
    }
    take_in(w, &b);
}

static void receive_one(struct world *w)
{
    struct bundle b;
    bundle_init(&b);
    uint8_t how = byte_of(&w->f);
    b.id.source = how & 1 ? eid_none() : eid_ipn(0, 1, 4);
    b.id.sequence = byte_of(&w->f) % 8;
    b.id.time_ms = how & 2 ? w->now.dtn_ms : 0;
    b.has_age = !(how & 2);
    b.has_hops = how & 4;
    b.hop_limit = 3;
    b.hop_count = how >> 6;
    b.destination = eid_ipn(0, 1 + (how >> 3) % 4, byte_of(&w->f) % 4);
    if (b.destination.node == 4)
        b.destination = eid_imc_of(b.destination.service, 1);
    b.report_to = how & 32 ? eid_ipn(0, 1, 1) : eid_none();
    b.lifetime_ms = byte_of(&w->f) * 100;
    b.flags = (uint64_t)byte_of(&w->f) << 12;
    if (how & 1)
        b.flags = BUNDLE_NO_FRAGMENT;
    if ((how & 96) == 64) /* no reports are asked for it */
        b.flags = BUNDLE_IS_ADMIN;
    b.others_len = 1;
    b.others[0] = (struct bundle_block){.type = 200, .number = 9, .flags = byte_of(&w->f) & 0x17};
    static const uint8_t urgent[] = {0x84, 1, 2, 5, 0};
    if (how & 128) {
        b.others[0].type = BLOCK_QOS;
        b.others[0].data = slice_of(urgent, sizeof urgent);
    }
    b.payload = slice_of("payload", 7);
    take_in(w, &b);
}

static void put(struct world *w, uint64_t key, struct buf *b)
{
    const size_t at = key % KEYS;
    buf_drop(w->stored[at]);
    w->stored[at] = b;
    w->stored_len = at < w->stored_len ? w->stored_len : at + 1;
}

static void load(struct world *w, uint64_t key)
{
    struct buf *from = w->stored[key % KEYS], *copy = NULL;
    if (from != NULL && (copy = buf_new(0, from->len)) != NULL)
        memcpy(buf_append(copy, from->len), buf_data(from), from->len);
    agent_loaded(w->a, key, copy, w->now);
}

static void on_action(struct world *w, struct agent_action *x)
{
    uint8_t how = byte_of(&w->f) % 4; /* 0, 1: well; 2: fails; 3: no answer for now */
    switch (x->kind) {
    case AGENT_STORE:
        put(w, x->key, x->bundle);
        if (how < 3)
            agent_stored(w->a, x->key, how < 2, w->now);
        break;
    case AGENT_LOAD:
        if (how < 2)
            load(w, x->key);
        else if (how == 2)
            agent_loaded(w->a, x->key, NULL, w->now);
        break;
    case AGENT_REMOVE:
        put(w, x->key, NULL);
        break;
    case AGENT_SEND:
        buf_drop(x->bundle);
        if (how == 2 && (x->key & 1))
            agent_declined(w->a, x->key, "declined", w->now);
        else if (how < 3)
            agent_sent(w->a, x->key, how < 2, w->now);
        break;
    case AGENT_DELIVER:
        assert(x->payload.len <= x->bundle->len);
        if (!w->damaged && x->id.source.service == 9)
            assert(memcmp(x->payload.data, text, x->payload.len) == 0);
        buf_drop(x->bundle);
        if (how < 3)
            agent_delivered(w->a, x->key, how < 2, w->now);
        break;
    case AGENT_RECALL:
        if (x->from_link && how == 0)
            agent_sent(w->a, x->key, false, w->now);
        else if (!x->from_link && how < 2)
            agent_recalled(w->a, x->reg, w->now);
        break;
    case AGENT_CONFIRM:
    case AGENT_REFUSED:
        w->answered++;
        break;
    }
}

static void check_step(struct world *w)
{
    w->steps++;
    const bool power_of_4 = (w->steps & (w->steps - 1)) == 0 && (w->steps & 0x55555555u) != 0;
    if (w->each || power_of_4)
        agent_check(w->a);
}

static void drain(struct world *w)
{
    struct agent_action x;
    struct agent_verified v;
    check_step(w);
    for (bool more = true; more; check_step(w)) {
        while (agent_poll(w->a, &x)) {
            on_action(w, &x);
            check_step(w);
        }
        more = !w->later && agent_verify(w->a, w->now, &v);
    }
    assert(w->answered <= w->asked); /* never two answers */
}

static void push(struct world *w)
{
    uint8_t what = byte_of(&w->f);
    struct eid here = eid_ipn(0, NODE, byte_of(&w->f) % 4);
    w->later = what >= 140; /* of its 18 rounds the last 8 */
    switch (what % 14) {
    case 0:
    case 1:
        send_one(w);
        break;
    case 2:
    case 3:
        receive_one(w);
        break;
    case 4:
        agent_link(w->a, here.service % 3 == 2 ? 1 : 0, byte_of(&w->f) & 1, w->now);
        break;
    case 5:
        what = byte_of(&w->f);
        if (what & 64)
            here = eid_imc_of(2, here.service);
        agent_register(w->a, 1 + what % 6, &here, 1 + (what >> 3) % 3, w->now);
        break;
    case 6:
        agent_unregister(w->a, 1 + byte_of(&w->f) % 6, w->now);
        break;
    case 7:
        agent_sent(w->a, key_of(w), byte_of(&w->f) & 1, w->now);
        break;
    case 8:
        agent_delivered(w->a, key_of(w), byte_of(&w->f) & 1, w->now);
        break;
    case 9:
        agent_stored(w->a, key_of(w), byte_of(&w->f) & 1, w->now);
        break;
    case 10:
        agent_delete(w->a, key_of(w), w->now);
        break;
    case 11:
    case 12:
        receive_piece(w);
        break;
    default:
        w->now.now += byte_of(&w->f) * 200 * TICK_MS;
        w->now.dtn_ms += byte_of(&w->f) * 100u; /* the clocks need not agree */
        agent_expire(w->a, w->now);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world w = {.now = {.now = 1, .dtn_ms = 1000000}, .f = {data, data + size}};
    struct agent_config c = config();
    if (agent_new(&w.a, &c) < 0)
        return 0;
    for (uint64_t heads = byte_of(&w.f) % 3; heads > 0; heads--) {
        size_t len = byte_of(&w.f), left = (size_t)(w.f.end - w.f.p);
        len = len < left ? len : left;
        agent_restore(w.a, heads, slice_of(w.f.p, len), 100);
        w.f.p += len;
    }
    add_members(w.a);
    agent_security(w.a, policy_of());
    w.each = size % CHECK_EACH == 0;
    for (int i = 0; i < PUSHES && w.f.p < w.f.end; i++) {
        push(&w);
        drain(&w);
    }
    agent_check(w.a);
    agent_free(w.a);
    for (size_t i = 0; i < w.stored_len; i++)
        buf_drop(w.stored[i]);
    return 0;
}
