/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of "ltp-udp": what their relations refuse, what follows from them, and that the
 * reference page has every one of them, as the table has it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bp/codec/bundle.h"
#include "cla/ltp/ltp_config.h"
#include "cla/ltp/ltp_rule.h"
#include "tests/unit/suite.h"

static struct address at(const char *host, uint16_t port)
{
    struct address a;
    ck_assert_int_eq(address_of(host, port, &a), 0);
    return a;
}

static struct ltp_link_config sound(void)
{
    return (struct ltp_link_config){
        .udp.local = at("127.0.0.1", 1113),
        .udp.remote.address = at("127.0.0.2", 1113),
        .segment = 1024,
        .sessions = 16,
        .rto = 30 * TICK_MS,
        .margin = 20 * TICK_MS,
        .import_sessions = 10,
        .import_sessions_all = 10,
        .held_bytes = 1 << 20,
    };
}

static void expect(const struct ltp_link_config *k, const char *key, const char *text)
{
    const char *which = "";
    char why[512] = "";
    int r = ltp_link_check(k, &which, why, sizeof why);
    ck_assert_int_eq(r, key == NULL ? 0 : HELIO_EINVAL);
    ck_assert_str_eq(which, key == NULL ? "" : key);
    ck_assert_msg(key == NULL || strstr(why, text) != NULL, "%s", why);
}

START_TEST(relations)
{
    struct ltp_link_config k = sound();
    expect(&k, NULL, NULL);
    k.udp.local = (struct address){.sa = {.sa_family = AF_UNSPEC}};
    expect(&k, "local", "127.0.0.1:1113");
    k = sound();
    address_set_port(&k.udp.remote.address, 0);
    expect(&k, "remote", "port above 0");
    k = sound();
    k.udp.remote.address = at("::1", 1113);
    expect(&k, "remote", "local is IPv4 and remote IPv6");
    k = sound();
    k.rto = 0;
    expect(&k, "rto", "owlt");
    k.owlt = 5 * TICK_MS;
    expect(&k, NULL, NULL);
    k.owlt = TICK_US;
    k.margin = 97 * TICK_US;
    expect(&k, "recovery.margin", "100us");
    k.margin++;
    expect(&k, "recovery.margin", "100us");
    k.margin = 98 * TICK_US;
    expect(&k, NULL, NULL);
    k = sound();
    k.rto = 100 * TICK_US - 1;
    expect(&k, "rto", "100us");
    k = sound();
    k.owlt = 15 * TICK_MS;
    expect(&k, "rto", "2 x owlt");
    k = sound();
    k.import_sessions = 11;
    expect(&k, "limits.import_sessions", "import_sessions_all");
    k = sound();
    k.block_max = k.held_bytes + 1;
    expect(&k, "limits.block_max", "held_bytes");
    k = sound();
    k.unknown_sessions = 1;
    expect(&k, "unknown.sessions", "unknown: {accept: 64}");
    k.accept_unknown = 64;
    expect(&k, NULL, NULL);
    k.unknown_sessions = 11;
    expect(&k, "unknown.sessions", "import_sessions_all");
    k.unknown_sessions = 0;
    k.unknown_bytes = k.held_bytes + 1;
    expect(&k, "unknown.bytes", "held_bytes");
    k.accept_unknown = 0;
    expect(&k, "unknown.bytes", "unknown: {accept: 64}");
    k = sound();
    k.aggregate_time = TICK_MS;
    expect(&k, "aggregate_time", "aggregate: 64kB");
    k.aggregate = 64000;
    expect(&k, NULL, NULL);
}
END_TEST

START_TEST(recovery)
{
    struct ltp_link_config k = sound();
    struct ltp_recovery r = ltp_link_recovery(&k);
    ck_assert(!r.rto_auto && r.copies == 0 && r.checkpoint_segments == 0);
    k.recovery = LTP_LINK_DEFAULT;
    r = ltp_link_span(&k, 77, 5000, true).recovery;
    ck_assert(r.rto_auto && r.copies == ltp_recovery_default.copies);
    k.copies = 3;
    expect(&k, "recovery.copies", "recovery: {mode: own}");
    expect(&k, "recovery.copies", "at once: recovery=default copies=0");
    k.merge_claims = true;
    k.recovery = LTP_LINK_PLAIN;
    expect(&k, "recovery.copies", "at once: recovery=plain copies=0 merge_claims=no");
    k.merge_claims = false;
    k.recovery = LTP_LINK_OWN;
    k.copy_spacing = 2 * TICK_MS;
    expect(&k, NULL, NULL);
    r = ltp_link_recovery(&k);
    ck_assert(!r.rto_auto && r.copies == 3 && r.copy_spacing == 2 * TICK_MS);
    k.rto_min = 2 * TICK_MS;
    k.rto_max = TICK_MS;
    expect(&k, "recovery.rto_min", "above recovery.rto_max");
}
END_TEST

START_TEST(rto_and_buffers)
{
    struct ltp_link_config k = sound();
    ck_assert_uint_eq(ltp_link_rto(&k), 30 * TICK_MS);
    k.rto = 0;
    k.owlt = 5 * TICK_MS;
    ck_assert_uint_eq(ltp_link_rto(&k), 30 * TICK_MS);
    k.pace.rate = 500000000; /* 50 ms of it are 3,125,000 bytes: the least is more */
    ck_assert_uint_eq(ltp_link_buffer(&k), 4 << 20);
    k.pace.rate = UINT64_C(8000000000);
    ck_assert_uint_eq(ltp_link_buffer(&k), 50000000);
    k.owlt = 3600 * TICK_S; /* a stall is not longer because the peer is far */
    ck_assert_uint_eq(ltp_link_buffer(&k), 64 << 20);
    k.pace.rate = 0;
    ck_assert_uint_eq(ltp_link_buffer(&k), 16 << 20);
    k.udp.socket_buffer = 12345;
    ck_assert_uint_eq(ltp_link_buffer(&k), 12345);
}
END_TEST

START_TEST(guard)
{
    struct ltp_link_config k = sound();
    char none[] = "", bad[] = "5f0", good[] = "5f0a c7", missing[] = "/nonexistent/key";
    k.cookie = k.auth_key_file = k.auth_peer_key_file = k.auth_key_id = none;
    expect(&k, NULL, NULL);
    k.cookie = bad;
    expect(&k, "auth.cookie", "hexadecimal");
    k.cookie = good;
    expect(&k, NULL, NULL);
    struct ltp_span s = ltp_link_span(&k, 77, 5000, true);
    ck_assert_uint_eq(s.cookie_len, 3);
    ck_assert_mem_eq(s.cookie, "\x5f\x0a\xc7", 3);
    k.segment = 127;
    expect(&k, "segment", "128B");
    k.segment = 1024;
    k.auth = LTP_LINK_AUTH_REQUIRE;
    expect(&k, "auth.key_file", "is not given");
    k.auth_key_file = missing;
    expect(&k, "auth.key_file", "No such file");
    k.auth_suite = 2; /* null */
    expect(&k, NULL, NULL);
    ck_assert_int_eq(ltp_link_span(&k, 77, 5000, true).auth_mode, LTP_AUTH_REQUIRE);
    k.segment = LTP_SEGMENT_AUTH_MIN + 9;
    expect(&k, "segment", "266B");
    k.segment++;
    expect(&k, NULL, NULL);
}
END_TEST

START_TEST(window)
{
    struct ltp_link_config k = sound();
    ck_assert_uint_eq(ltp_link_window(&k, 16), 16);
    k.aggregate = 64000;
    ck_assert_uint_eq(ltp_link_window(&k, 16), 16 * LTP_LINK_CAPSULES);
    ck_assert_uint_eq(ltp_link_window(&k, 65536), 65536);
}
END_TEST

START_TEST(sessions_auto)
{
    struct ltp_link_config k = sound();
    ck_assert(!ltp_link_recovery(&k).sessions_auto);
    k.sessions_bytes = 1 << 20;
    expect(&k, "limits.sessions_bytes", "sessions: auto");
    k.sessions_bytes = 0;
    k.sessions_age = TICK_S;
    expect(&k, "limits.sessions_age", "sessions: auto");
    k.sessions = 0;
    k.recovery = LTP_LINK_DEFAULT;
    expect(&k, NULL, NULL);
    struct ltp_span s = ltp_link_span(&k, 77, 5000, true);
    ck_assert(s.recovery.sessions_auto && s.recovery.copies == ltp_recovery_default.copies);
    ck_assert_uint_eq(s.recovery.sessions_age, TICK_S);
    ck_assert_uint_eq(s.export_sessions, 1024);
}
END_TEST

START_TEST(span_follows)
{
    struct ltp_link_config k = sound();
    k.retries = 7;
    k.claims = 8;
    k.ranges = 9;
    k.report_delay = 4 * TICK_MS;
    k.idle_timeout = TICK_S;
    struct ltp_span s = ltp_link_span(&k, 77, 5000, true);
    ck_assert_uint_eq(s.peer, 77);
    ck_assert_uint_eq(s.segment_max, 1024);
    ck_assert_uint_eq(s.export_sessions, 16);
    ck_assert_uint_eq(s.import_sessions, 10);
    ck_assert_uint_eq(s.block_max, 5000);
    ck_assert_uint_eq(s.retries_max, 7);
    ck_assert_uint_eq(s.claims_max, 8);
    ck_assert_uint_eq(s.ranges_max, 9);
    ck_assert_uint_eq(s.rto, 30 * TICK_MS);
    ck_assert_uint_eq(s.report_delay, 4 * TICK_MS);
    ck_assert_uint_eq(s.idle_timeout, TICK_S);
    ck_assert_uint_eq(s.green_timeout, TICK_S);
    ck_assert(s.confirm_import);
    k.block_max = 4000;
    ck_assert_uint_eq(ltp_link_span(&k, 77, 5000, false).block_max, 4000);
    k.idle_timeout = 0; /* then from the RTO: a sender that has gone gave up by itself before */
    s = ltp_link_span(&k, 77, 5000, false);
    ck_assert_uint_eq(s.idle_timeout, 60 * TICK_S);
    ck_assert_uint_eq(s.green_timeout, 300 * TICK_MS);
    k.rto = 10 * TICK_S;
    ck_assert_uint_eq(ltp_link_span(&k, 77, 5000, false).idle_timeout, 90 * TICK_S);
}
END_TEST

/* Longer by its serial numbers, but not over a limit that the segment keeps within. */
START_TEST(length_of_checkpoints)
{
    static const struct {
        uint64_t segment, most, extra;
    } of[] = {{1024, 20, 20}, {1024, 7, 7},   {1024, 0, 0},   {1212, 20, 20}, {1225, 20, 7},
              {1232, 20, 0},  {1252, 20, 0},  {1400, 20, 20}, {1452, 20, 0},  {1460, 20, 12},
              {1472, 20, 0},  {1473, 20, 20}, {8972, 20, 0},  {65000, 20, 20}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct ltp_link_config k = sound();
        k.segment = of[i].segment;
        k.checkpoint_extra = of[i].most;
        ck_assert_uint_eq(ltp_link_span(&k, 77, 5000, true).checkpoint_extra, of[i].extra);
    }
    struct ltp_link_config k = sound(); /* TC frames have room for whole segments only */
    k.checkpoint_extra = 20;
    k.frames.out = (struct frame_way_keys){.kind = FRAMES_TC, .length = 1024, .vcid = 5};
    uint32_t room = frame_keys_mtu(&k.frames);
    ck_assert_uint_eq(ltp_link_segment(&k), room);
    ck_assert_uint_eq(ltp_link_extra(&k), 0);
    k.segment = room - 6;
    ck_assert_uint_eq(ltp_link_extra(&k), 6);
    k.segment = 500;
    ck_assert_uint_eq(ltp_link_extra(&k), 20);
}
END_TEST

START_TEST(mistakes_in_rules)
{
    const char *key = NULL;
    char why[200];
    struct ltp_link_rule r = {.to = (char *)(uintptr_t) "*",
                              .from = (char *)(uintptr_t) "*",
                              .red = 5,
                              .colour = LTP_LINK_GREEN};
    ck_assert_int_eq(ltp_link_lists[0].check(&r, &key, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(key, "red");
    r.colour = LTP_LINK_RED;
    ck_assert_int_eq(ltp_link_lists[0].check(&r, &key, why, sizeof why), 0);
    r.from = (char *)(uintptr_t) "ipn:";
    ck_assert_int_eq(ltp_link_lists[0].check(&r, &key, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(key, "from");
}
END_TEST

START_TEST(engine_of_a_node)
{
    struct eid e = {.scheme = EID_IPN, .node = 12, .service = 1};
    ck_assert_uint_eq(ltp_link_engine(&e), 12);
    e.allocator = 977000;
    ck_assert_uint_eq(ltp_link_engine(&e), (UINT64_C(977000) << 32) + 12);
    e.scheme = EID_DTN;
    ck_assert_uint_eq(ltp_link_engine(&e), 0);
}
END_TEST

START_TEST(table_of_adapters)
{
    ck_assert_ptr_nonnull(cla_find("ltp-udp"));
    ck_assert_ptr_null(cla_find("ltp"));
    size_t n = 0;
    while (cla_at(n) != NULL)
        n++;
    ck_assert_uint_ge(n, 1);
    ck_assert_ptr_null(cla_at(n + 1));
}
END_TEST

/* Six bundles and the rules that fit them. */
START_TEST(colours_by_rule)
{
    struct ltp_link_config k = sound();
    k.colour = LTP_LINK_RED;
    struct {
        const char *to, *from;
        uint64_t service, size_min, size_max, block;
        int flag, priority;
        const char *fits; /* which of the bundles below */
    } cases[] = {
        {"*", "*", 0, 0, 0, 0, RULE_FLAG_ANY, RULE_PRIORITY_ANY, "012345"},
        {"ipn:2.*", "*", 0, 0, 0, 0, RULE_FLAG_ANY, RULE_PRIORITY_ANY, "0134"},
        {"*", "ipn:9.1", 0, 0, 0, 0, RULE_FLAG_ANY, RULE_PRIORITY_ANY, "4"},
        {"*", "*", 7, 0, 0, 0, RULE_FLAG_ANY, RULE_PRIORITY_ANY, "013"},
        {"*", "*", 0, 1000, 0, 0, RULE_FLAG_ANY, RULE_PRIORITY_ANY, "1"},
        {"*", "*", 0, 0, 999, 0, RULE_FLAG_ANY, RULE_PRIORITY_ANY, "02345"},
        {"*", "*", 0, 0, 0, 193, RULE_FLAG_ANY, RULE_PRIORITY_ANY, "3"},
        {"*", "*", 0, 0, 0, BLOCK_HOP_COUNT, RULE_FLAG_ANY, RULE_PRIORITY_ANY, "5"},
        {"*", "*", 0, 0, 0, 0, RULE_FLAG_ADMIN, RULE_PRIORITY_ANY, "4"},
        {"*", "*", 0, 0, 0, 0, RULE_FLAG_REPORT, RULE_PRIORITY_ANY, "5"},
        {"*", "*", 0, 0, 0, 0, RULE_FLAG_FRAGMENT, RULE_PRIORITY_ANY, ""},
        {"ipn:2.*", "*", 7, 1000, 0, 0, RULE_FLAG_ANY, RULE_PRIORITY_ANY, "1"},
        {"*", "*", 0, 0, 0, 0, RULE_FLAG_ANY, 1 + BUNDLE_NORMAL, "01245"},
        {"*", "*", 0, 0, 0, 0, RULE_FLAG_ANY, 1 + BUNDLE_EXPEDITED, "3"},
    };
    static const uint8_t bytes[2000], priority[] = {0x84, 0, 2, 0, 0};
    struct buf *bundles[6];
    for (int i = 0; i < 6; i++) {
        struct bundle b;
        bundle_init(&b);
        b.destination = eid_ipn(0, i == 2 || i == 5 ? 3 : 2, i == 4 ? 0 : i == 2 || i == 5 ? 8 : 7);
        b.id.source = eid_ipn(0, i == 4 ? 9 : 1, 1);
        b.id.time_ms = 1000;
        b.payload = slice_of(bytes, i == 1 ? 2000 : 10);
        b.flags |= i == 4 ? BUNDLE_IS_ADMIN : i == 5 ? BUNDLE_REPORT_DELIVERY : 0;
        b.has_hops = i == 5;
        b.hop_limit = 9;
        if (i == 3)
            b.others[b.others_len++] = (struct bundle_block){
                .type = 193, .crc = CRC_32C, .data = slice_of(priority, sizeof priority)};
        bundles[i] = bundle_encode_copy(&b);
        ck_assert_ptr_nonnull(bundles[i]);
        ck_assert_int_eq(ltp_link_choose(&k, buf_slice(bundles[i])).colour, LTP_LINK_RED);
    }
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct ltp_link_rule r[2] = {{.to = (char *)(uintptr_t)cases[c].to,
                                      .from = (char *)(uintptr_t)cases[c].from,
                                      .rule = {.service = cases[c].service,
                                               .size_min = cases[c].size_min,
                                               .size_max = cases[c].size_max,
                                               .flag = cases[c].flag,
                                               .priority = cases[c].priority},
                                      .block = cases[c].block,
                                      .colour = LTP_LINK_ORANGE},
                                     {.to = (char *)(uintptr_t) "ipn:3.*",
                                      .from = (char *)(uintptr_t) "*",
                                      .colour = LTP_LINK_GREEN}};
        const char *key;
        char why[200];
        for (int i = 0; i < 2; i++)
            ck_assert_int_eq(ltp_link_lists[0].check(&r[i], &key, why, sizeof why), 0);
        k.colours = r;
        k.colours_len = 2;
        for (int i = 0; i < 6; i++) {
            bool fits = strchr(cases[c].fits, '0' + i) != NULL;
            int otherwise = i == 2 || i == 5 ? LTP_LINK_GREEN : LTP_LINK_RED;
            ck_assert_msg(ltp_link_choose(&k, buf_slice(bundles[i])).colour ==
                              (fits ? LTP_LINK_ORANGE : otherwise),
                          "case %zu, bundle %d", c, i);
        }
    }
    for (int i = 0; i < 6; i++)
        buf_drop(bundles[i]);
}
END_TEST

static char *read_page(const char *path)
{
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s is missing", path);
    char *text = calloc(1, 1 << 18);
    ck_assert_uint_gt(fread(text, 1, (1 << 18) - 1, f), 0);
    fclose(f);
    return text;
}

static const char *kind(enum option_type type)
{
    static const char *const names[] = {[OPTION_DURATION] = "duration",
                                        [OPTION_RATE] = "rate",
                                        [OPTION_SIZE] = "size",
                                        [OPTION_COUNT] = "count",
                                        [OPTION_BOOL] = "yes/no",
                                        [OPTION_CHOICE] = "choice",
                                        [OPTION_EID] = "EID",
                                        [OPTION_ADDRESS] = "address",
                                        [OPTION_HOST] = "address or name",
                                        [OPTION_SHARE] = "share"};
    return option_is_text(type) ? "text" : names[type];
}

static bool is_number(enum option_type type)
{
    return type == OPTION_DURATION || type == OPTION_RATE || type == OPTION_SIZE ||
           type == OPTION_COUNT;
}

static void limit(char out[32], enum option_type type, uint64_t v)
{
    static const struct {
        enum option_type type;
        uint64_t by;
        const char *unit;
    } scales[] = {{OPTION_DURATION, 3600 * TICK_S, "h"}, {OPTION_DURATION, TICK_S, "s"},
                  {OPTION_DURATION, TICK_MS, "ms"},      {OPTION_DURATION, 1, "ns"},
                  {OPTION_RATE, 1000000000, "Gbit/s"},   {OPTION_RATE, 1, "bit/s"},
                  {OPTION_SIZE, 1 << 30, "GiB"},         {OPTION_SIZE, 1, "B"}};
    snprintf(out, 32, "%llu", (unsigned long long)v);
    for (size_t i = 0; v != 0 && i < sizeof scales / sizeof *scales; i++) {
        if (scales[i].type == type && v % scales[i].by == 0) {
            snprintf(out, 32, "%llu%s", (unsigned long long)(v / scales[i].by), scales[i].unit);
            return;
        }
    }
}

/* A row of the page: key, kind, default, range, meaning. */
static void row(const struct conf_option *o, char out[512])
{
    char low[32], high[32], range[128] = "";
    if (o->choices != NULL) {
        snprintf(range, sizeof range, "%s", o->choices);
        const char between = strchr(o->choices, '/') != NULL ? ' ' : '/'; /* ldpc1/2 is a word */
        for (char *bar; (bar = strchr(range, '|')) != NULL;)
            *bar = between;
        if (is_number(o->type)) { /* a word beside the numbers */
            limit(low, o->type, o->min);
            limit(high, o->type, o->max);
            snprintf(range, sizeof range, "%s …%s%s, %s", low, o->max != 0 ? " " : "",
                     o->max != 0 ? high : "", o->choices);
        }
    } else if (is_number(o->type)) {
        limit(low, o->type, o->min);
        limit(high, o->type, o->max);
        if (o->max != 0)
            snprintf(range, sizeof range, "%s … %s", low, high);
        else
            snprintf(range, sizeof range, "%s …", low);
    }
    snprintf(out, 512, "| `%s` | %s | %s | %s | %s |", o->key, kind(o->type),
             o->initial == NULL ? "required" : o->initial, range, o->help);
}

START_TEST(page_has_every_key)
{
    static const char *const pages[] = {LTP_UDP_PAGE, LTP_UDP_PAGE,  UDPCL_PAGE,   TCPCL_PAGE,
                                        BIBE_PAGE,    STREAMCL_PAGE, STREAMCL_PAGE};
    const struct conf_option *tables[] = {ltp_link_options,          ltp_link_lists[0].options,
                                          cla_find("udp")->options,  cla_find("tcpcl")->options,
                                          cla_find("bibe")->options, cla_find("stcp")->options,
                                          cla_find("mtcp")->options};
    const char *missing = NULL;
    char line[512];
    for (int i = 0; i < 7; i++) {
        char *page = read_page(pages[i]);
        for (const struct conf_option *o = tables[i]; o->key != NULL; o++) {
            row(o, line);
            if (strstr(page, line) == NULL) {
                missing = o->key;
                fprintf(stderr, "missing in %s:\n%s\n", pages[i], line);
            }
        }
        free(page);
    }
    ck_assert_msg(missing == NULL, "the page differs from the table");
}
END_TEST

/* The page's list of live keys: a paragraph, or a table behind a sentence. */
static char *live_list(char *page)
{
    char *list = strstr(page, "`helioctl link set` changes");
    ck_assert_ptr_nonnull(list);
    list = strchr(list + 1, '`') + 1; /* behind the command's name */
    char *end = strstr(list, "\n\n");
    if (end != NULL && end[2] == '|')
        end = strstr(end + 2, "\n\n");
    ck_assert_ptr_nonnull(end);
    *end = '\0';
    return list;
}

START_TEST(page_has_the_live_keys)
{
    static const char *const pages[] = {LTP_UDP_PAGE, UDPCL_PAGE, STREAMCL_PAGE};
    static const char *const names[] = {"ltp-udp", "udp", "stcp"};
    for (int i = 0; i < 3; i++) {
        char *page = read_page(pages[i]), *list = live_list(page), quoted[64];
        int keys = 0, quotes = 0;
        for (const char *const *k = cla_find(names[i])->live; *k != NULL; k++, keys++) {
            snprintf(quoted, sizeof quoted, "`%s`", *k);
            ck_assert_msg(strstr(list, quoted) != NULL, "missing in %s: %s", pages[i], *k);
        }
        for (const char *c = list; *c != '\0'; c++)
            quotes += *c == '`';
        ck_assert_msg(quotes == 2 * keys, "%s has other keys, too", pages[i]);
        free(page);
    }
}
END_TEST

SUITE(cla_options, t)
{
    tcase_add_test(t, page_has_the_live_keys);
    tcase_add_test(t, colours_by_rule);
    tcase_add_test(t, mistakes_in_rules);
    tcase_add_test(t, relations);
    tcase_add_test(t, recovery);
    tcase_add_test(t, rto_and_buffers);
    tcase_add_test(t, guard);
    tcase_add_test(t, window);
    tcase_add_test(t, sessions_auto);
    tcase_add_test(t, span_follows);
    tcase_add_test(t, length_of_checkpoints);
    tcase_add_test(t, engine_of_a_node);
    tcase_add_test(t, table_of_adapters);
    tcase_add_test(t, page_has_every_key);
}
