/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration: what a right file becomes, and the exact words for each kind of wrong one. */
#include <stdio.h>
#include <stdlib.h>

#include "node/config/config.h"
#include "tests/unit/suite.h"

struct settings {
    tick rto;
    uint64_t rate, segment, sessions;
    bool fast;
    char *label;
    int colour;
    struct address listen;
};

static const struct conf_option settings_options[] = {
    {.key = "rto",
     .type = OPTION_DURATION,
     .offset = offsetof(struct settings, rto),
     .min = 100 * TICK_US,
     .max = 3600 * TICK_S,
     .help = "retransmission timeout"},
    {.key = "rate",
     .type = OPTION_RATE,
     .offset = offsetof(struct settings, rate),
     .initial = "unlimited",
     .min = 1,
     .max = UINT64_C(1000000000000),
     .choices = "unlimited"},
    {.key = "segment",
     .type = OPTION_SIZE,
     .offset = offsetof(struct settings, segment),
     .initial = "1400B",
     .min = 64,
     .max = 65000},
    {.key = "sessions",
     .type = OPTION_COUNT,
     .offset = offsetof(struct settings, sessions),
     .initial = "16",
     .min = 1,
     .max = 65536,
     .choices = "auto"},
    {.key = "fast",
     .type = OPTION_BOOL,
     .offset = offsetof(struct settings, fast),
     .initial = "no"},
    {.key = "label",
     .type = OPTION_TEXT,
     .offset = offsetof(struct settings, label),
     .initial = ""},
    {.key = "colour",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct settings, colour),
     .choices = "red|green",
     .initial = "red"},
    {.key = "listen",
     .type = OPTION_ADDRESS,
     .offset = offsetof(struct settings, listen),
     .initial = ""},
    {.key = NULL},
};

static int settings_check(const void *config, const char **key, char *why, size_t cap)
{
    const struct settings *s = config;
    if (s->rate == 0 || s->rto < 10 * TICK_S)
        return 0;
    *key = "rto";
    snprintf(why, cap, "longer than this rate allows; write less than 10s");
    return HELIO_EINVAL;
}

static const struct cla_ops fake = {
    .name = "fake",
    .options = settings_options,
    .config_size = sizeof(struct settings),
    .check = settings_check,
};

static const struct cla_ops *adapters(size_t i)
{
    return i == 0 ? &fake : NULL;
}

static const char good[] = "node: ipn:1.0\n"
                           "socket: /tmp/n1.sock\n"
                           "store: {path: /tmp/n1, durability: async, limit: 3GiB}\n"
                           "bundles: {lifetime: 2h, crc: crc16, mode: strict, status_reports: yes, "
                           "report_rate: 7, hop_limit: 33, fragments: 9}\n"
                           "log:\n"
                           "  segments: /tmp/seg.csv\n"
                           "links:\n"
                           "  - name: to-2\n"
                           "    adapter: fake\n"
                           "    peer: ipn:2.0\n"
                           "    rto: 30ms\n"
                           "    rate: 500Mbit/s\n"
                           "    fast: yes\n"
                           "    colour: green\n"
                           "    listen: 127.0.0.1:1113\n"
                           "routes:\n"
                           "  - {to: \"ipn:3.*\", via: to-2}\n";

START_TEST(a_good_file)
{
    struct config c;
    struct conf_errors e;
    conf_errors_init(&e, "n.yaml");
    int err = config_parse(&c, good, sizeof good - 1, adapters, &e);
    ck_assert_msg(err == 0, "%s", e.text[0]);
    ck_assert_uint_eq(c.node.node, 1);
    ck_assert_str_eq(c.socket, "/tmp/n1.sock");
    ck_assert_str_eq(c.control, "/tmp/n1.sock.ctl");
    ck_assert_int_eq(c.store.durability, STORE_ASYNC);
    ck_assert_uint_eq(c.store.limit, UINT64_C(3) << 30);
    ck_assert_uint_eq(c.bundles.lifetime, 7200 * TICK_S);
    ck_assert_uint_eq(c.bundles.max, UINT64_C(1) << 30);
    ck_assert_int_eq(c.bundles.crc, CRC_16);
    ck_assert_int_eq(c.bundles.mode, BUNDLE_STRICT);
    ck_assert(c.bundles.status_reports);
    ck_assert_uint_eq(c.bundles.report_rate, 7);
    ck_assert_uint_eq(c.bundles.hop_limit, 33);
    ck_assert_uint_eq(c.bundles.reassemblies, 1024);
    ck_assert_uint_eq(c.bundles.fragments, 9);
    ck_assert_uint_eq(c.links_len, 1);
    const struct settings *s = c.links[0].settings;
    ck_assert_uint_eq(c.links[0].peer.node, 2);
    ck_assert_uint_eq(s->rto, 30 * TICK_MS);
    ck_assert_uint_eq(s->rate, 500000000);
    ck_assert_uint_eq(s->segment, 1400);
    ck_assert(s->fast);
    ck_assert_int_eq(s->colour, 1);
    char listen[ADDRESS_TEXT_MAX];
    ck_assert_str_eq(address_write(&s->listen, listen), "127.0.0.1:1113");
    ck_assert_uint_eq(c.routes_len, 1);
    ck_assert_uint_eq(c.routes[0].link, 0);
    config_fini(&c);
}
END_TEST

START_TEST(queues_of_a_link)
{
    static const char text[] =
        "node: ipn:1.0\nsocket: /tmp/s\nstore: {durability: none}\n"
        "links:\n  - name: to-2\n    adapter: fake\n    peer: ipn:2.0\n    rto: 30ms\n"
        "    queues: strict\n    weights: 2:3:1000000\n    priorities:\n"
        "      - {to: \"ipn:2.*\", size_max: 1kB, queue: expedited}\n"
        "      - {is: bulk, flag: report, service: 7, from: \"ipn:9.*\", queue: normal}\n"
        "  - {name: to-3, adapter: fake, peer: ipn:3.0, rto: 30ms}\n"
        "endpoints:\n  - {at: \"ipn:1.7\", registrations: pass}\n"
        "  - {at: \"imc:5.*\", registrations: one}\n";
    struct config c;
    struct conf_errors e;
    conf_errors_init(&e, "n.yaml");
    int err = config_parse(&c, text, sizeof text - 1, adapters, &e);
    ck_assert_msg(err == 0, "%s", e.text[0]);
    const struct config_link *l = &c.links[0];
    ck_assert_int_eq(l->queues, QUEUES_STRICT);
    ck_assert(l->weight[0] == 2 && l->weight[1] == 3 && l->weight[2] == 1000000);
    ck_assert_uint_eq(l->priorities_len, 2);
    const struct config_queue *q = l->priorities;
    ck_assert_int_eq(q[0].rule.queue, BUNDLE_EXPEDITED);
    ck_assert_uint_eq(q[0].rule.rule.size_max, 1000);
    ck_assert(q[0].rule.rule.from.at[0].any && !q[0].rule.rule.to.at[0].any);
    ck_assert_int_eq(q[1].rule.queue, BUNDLE_NORMAL);
    ck_assert_int_eq(q[1].rule.rule.priority, 1 + BUNDLE_BULK);
    ck_assert_int_eq(q[1].rule.rule.flag, RULE_FLAG_REPORT);
    ck_assert_uint_eq(q[1].rule.rule.service, 7);
    ck_assert(q[1].rule.rule.to.at[0].any && q[1].rule.rule.from.at[0].eid.node == 9);
    l = &c.links[1];
    ck_assert_int_eq(l->queues, QUEUES_WEIGHTED);
    ck_assert(l->weight[0] == 1 && l->weight[1] == 8 && l->weight[2] == 64);
    ck_assert_uint_eq(l->priorities_len, 0);
    const struct config_endpoint *at = c.endpoints;
    ck_assert_uint_eq(c.endpoints_len, 2);
    ck_assert(at[0].registrations == AGENT_SHARE_PASS && at[0].patterns.at[0].eid.service == 7);
    ck_assert(at[1].registrations == AGENT_SHARE_ONE && at[1].patterns.at[0].any_service);
    config_fini(&c);
}
END_TEST

/* All errors of `text`, one per line, in *out. */
static void errors_of(const char *text, struct conf_errors *e)
{
    struct config c;
    conf_errors_init(e, "n.yaml");
    ck_assert_int_eq(config_parse(&c, text, strlen(text), adapters, e), HELIO_EFORMAT);
    ck_assert_uint_gt(e->total, 0);
}

#define HEAD "node: ipn:1.0\nsocket: /tmp/s\nstore: {durability: none}\n"
#define SECURITY HEAD "security_keys: keys\nsecurity:\n  - "
#define HOP_BLOCKS                                                                                 \
    "n.yaml:6: security.target: nodes on the way change blocks of types 6, 7 and 10 (previous "    \
    "node, age, hop count); write another target"
#define SECURITY_BLOCKS                                                                            \
    "n.yaml:6: security.target: blocks of types 11 and 12 are security blocks; write the block "   \
    "that they protect"
#define LINK HEAD "links:\n  - name: to-2\n    adapter: fake\n    peer: ipn:2.0\n    rto: 30ms\n"

static const struct {
    const char *text, *error;
} wrong[] = {
    {"", "n.yaml:1: the file is empty; it needs at least the keys node and socket"},
    {"- a\n", "n.yaml:1: a list is not expected here; write a map with the keys node and socket"},
    {"node: [\n", "n.yaml:2: not YAML: did not find expected node content while parsing a flow "
                  "node"},
    {HEAD "---\nnode: ipn:1.0\n",
     "n.yaml:4: a second document begins here; a configuration is one document"},
    {"node: &a ipn:1.0\nsocket: *a\nstore: {durability: none}\n",
     "n.yaml:1: aliases (*name) are not supported; repeat the text"},
    {"socket: /tmp/s\nstore: {durability: none}\n",
     "n.yaml:1: node: this key is missing; it means: the node's own endpoint id"},
    {"node: ipn:1.5\nsocket: /tmp/s\nstore: {durability: none}\n",
     "n.yaml:1: node: \"ipn:1.5\" is an endpoint; write its node's id, ipn:1.0"},
    {"node: ipn:!.0\nsocket: /tmp/s\nstore: {durability: none}\n",
     "n.yaml:1: node: ipn:!.0 names no node; write one such as ipn:1.0"},
    {HEAD "bundles: {hop_limit: 256}\n",
     "n.yaml:4: bundles.hop_limit: 256 is out of range; write a value from 0 to 255"},
    {"node: ipn:x\nsocket: /tmp/s\nstore: {durability: none}\n",
     "n.yaml:1: node: \"ipn:x\" is not an endpoint id; write one such as ipn:1.0 or dtn://name/"},
    {"node: ipn:1.0\nsocket: /tmp/s\n",
     "n.yaml:1: store.path: this key is missing; write a directory, or durability: none to keep "
     "bundles in memory only"},
    {HEAD "sokcet: /tmp/t\n", "n.yaml:4: sokcet: unknown key; did you mean socket?"},
    {HEAD "zzzzzzzzzzz: 1\n",
     "n.yaml:4: zzzzzzzzzzz: unknown key; the keys here are: node, "
     "socket, control, socket_mode, socket_group, control_mode, control_group, "
     "control_admin_group, echo, echo_mark, plan, security_keys, token_files, priority, sandbox, "
     "store, "
     "bundles, log, routing, http, discovery, links, routes, endpoints, names, security, rules, "
     "applications"},
    {SECURITY "{role: verifier, context: bcb-aes-gcm, key: a}\n",
     "n.yaml:6: security.context: a verifier does not decrypt (RFC 9172 §5.1); write role: "
     "acceptor, or bib-hmac-sha2"},
    {SECURITY "{role: acceptor, context: bcb-aes-gcm, target: primary, key: a}\n",
     "n.yaml:6: security.context: the primary block cannot be encrypted (RFC 9172 §3.8); write "
     "bib-hmac-sha2, or another target"},
    {SECURITY "{role: source, context: bcb-aes-gcm, key: a}\n",
     "n.yaml:6: security.context: a node that encrypts needs a store, where it notes used "
     "initialization vectors; write store.path, and durability sync or async"},
    {SECURITY "{role: source, context: bib-hmac-sha2, target: 6, key: a}\n", HOP_BLOCKS},
    {SECURITY "{role: source, context: bib-hmac-sha2, target: 7, key: a}\n", HOP_BLOCKS},
    {SECURITY "{role: source, context: bib-hmac-sha2, target: 10, key: a}\n", HOP_BLOCKS},
    {SECURITY "{role: source, context: bib-hmac-sha2, target: 11, key: a}\n", SECURITY_BLOCKS},
    {SECURITY "{role: source, context: bib-hmac-sha2, target: 12, key: a}\n", SECURITY_BLOCKS},
    {SECURITY "{role: source, context: bib-hmac-sha2, target: all, key: a}\n",
     "n.yaml:6: security.target: write payload, primary, or the type number of a block from 1"},
    {SECURITY "{role: source, context: bib-hmac-sha2, scope: head, key: a}\n",
     "n.yaml:6: security.scope: write all, none, or words of primary, target and security"},
    {SECURITY "{role: source, context: bib-hmac-sha2, key: a b}\n",
     "n.yaml:6: security.key: write 1 to 63 letters, digits, '-', '_' or '.', as id: of a key "
     "file"},
    {SECURITY "{role: source, context: bib-hmac-sha2, to: x, key: a}\n",
     "n.yaml:6: security.to: \"x\" is not a pattern; write one such as ipn:2.*, "
     "ipn:[1-5,7].*, ipn:2.1, dtn://name/* or *"},
    {HEAD "security:\n  - {role: source, context: bib-hmac-sha2, key: a}\n",
     "n.yaml:4: security_keys: this key is missing; write the folder of the keys that the rules "
     "name"},
    {HEAD "routing: {exclude: \"2, x\"}\n", "n.yaml:4: routing.exclude: \"2, x\" is not "
                                            "understood; write at most 16 numbers of neighbours, "
                                            "such as 3, 5"},
    {HEAD "socket: /tmp/t\n",
     "n.yaml:4: socket: this key is here twice, first in line 2; keep one"},
    {HEAD "echo: loud\n",
     "n.yaml:4: echo: \"loud\" is not a service of this node; write on, off, or a number from 1"},
    {HEAD "bundles: {lifetime: 30}\n",
     "n.yaml:4: bundles.lifetime: \"30\" is not understood; write a duration with its unit, such "
     "as 30ms, 500us, 2s, 1h"},
    {HEAD "bundles: {max: 12}\n",
     "n.yaml:4: bundles.max: 12 is out of range; write a value from 1kB to 4GB"},
    {HEAD "bundles: {crc: md5}\n",
     "n.yaml:4: bundles.crc: \"md5\" is not known; write one of: none, crc16, crc32c"},
    {HEAD "bundles: {status_reports: maybe}\n",
     "n.yaml:4: bundles.status_reports: \"maybe\" is not understood; write yes or no"},
    {HEAD "bundles:\n  retry_min: 5s\n  retry_max: 2s\n",
     "n.yaml:4: bundles.retry_max: shorter than retry_min; write a longer one"},
    {HEAD "bundles:\n  max: 1MB\n  lifetime: 60d\n",
     "n.yaml:6: bundles.lifetime: longer than lifetime_max (30d unless given); write a shorter "
     "one, "
     "or raise that"},
    {HEAD "bundles:\n  max: 1MB\n  lifetime_max: 1h\n",
     "n.yaml:6: bundles.lifetime_max: shorter than lifetime (1d unless given); write a longer one, "
     "or a shorter lifetime"},
    {HEAD "bundles:\n  reserve: 25\n  source: 0\n",
     "n.yaml:6: bundles.source: 0 is out of range; write a value from 1 to 100"},
    {HEAD "bundles: {reserve: 101}\n",
     "n.yaml:4: bundles.reserve: 101 is out of range; write a value from 0 to 100"},
    {HEAD "bundles: 7\n",
     "n.yaml:4: bundles: a value is not expected here; write a map of its keys, "
     "such as bundles: {lifetime: …}"},
    {HEAD "log: {level: [info]}\n",
     "n.yaml:4: log.level: a list is not expected here; write one value"},
    {HEAD "links: {a: 1}\n",
     "n.yaml:4: links: a map is not expected here; write a list of maps: \"- \" "
     "before the first key of each"},
    {HEAD "links:\n  - name: a\n    adapter: telex\n    peer: ipn:2.0\n",
     "n.yaml:6: links[a].adapter: \"telex\" is not known; write one of: fake"},
    {HEAD "links:\n  - name: a\n    adapter: [fake]\n    peer: ipn:2.0\n",
     "n.yaml:6: links[a].adapter: a list is not expected here; write one value"},
    {HEAD "links:\n  - name: a\n    adapter: telex\n    peer: ipn:2.0\nroutes:\n  - {to: \"*\", "
          "via: a}\n",
     "n.yaml:6: links[a].adapter: \"telex\" is not known; write one of: fake"},
    {HEAD "bundles: {max: 1 GiB}\n", "n.yaml:4: bundles.max: \"1 GiB\" is not understood; write no "
                                     "space before the unit: 1GiB"},
    {HEAD "links:\n  - name: a\n    adapter: fake\n    peer: ipn:2.0\n",
     "n.yaml:5: links[a].rto: this key is missing; it means: retransmission timeout"},
    {LINK "    rate: 500\n",
     "n.yaml:9: links[to-2].rate: \"500\" is not understood; write a rate with its unit, such as "
     "500Mbit/s, 2.5Gbit/s, or unlimited"},
    {LINK "    rate: 2000Gbit/s\n",
     "n.yaml:9: links[to-2].rate: 2000Gbit/s is out of range; write a value from 1bit/s to "
     "1000Gbit/s, or unlimited"},
    {LINK "    rate: 0bit/s\n",
     "n.yaml:9: links[to-2].rate: \"0bit/s\" is not understood; write a rate with its unit, such "
     "as 500Mbit/s, 2.5Gbit/s, or unlimited"},
    {LINK "    rate: 500Mb\n",
     "n.yaml:9: links[to-2].rate: \"500Mb\" is not understood; write 500Mbit/s"},
    {HEAD "bundles: {lifetime: 100 msec}\n", "n.yaml:4: bundles.lifetime: \"100 msec\" is not "
                                             "understood; write no space before the unit: 100ms"},
    {LINK "    segment: 70kB\n",
     "n.yaml:9: links[to-2].segment: 70kB is out of range; write a value from 64B to 65kB"},
    {LINK "    sessions: all\n", "n.yaml:9: links[to-2].sessions: \"all\" is not understood; write "
                                 "a whole number from 1 to 65536, "
                                 "or auto"},
    {LINK "    sessions: 0\n",
     "n.yaml:9: links[to-2].sessions: 0 is out of range; write a value from 1 to 65536, or "
     "auto"},
    {LINK "    listen: nearby:1113\n",
     "n.yaml:9: links[to-2].listen: \"nearby:1113\" is not an address; write a numeric address "
     "and a port, such as 127.0.0.1:1113 or [::1]:1113"},
    {LINK "    rtos: 30ms\n", "n.yaml:9: links[to-2].rtos: unknown key; did you mean rto?"},
    {LINK "  - name: to-2\n    adapter: fake\n    peer: ipn:3.0\n    rto: 1s\n",
     "n.yaml:9: links[to-2].name: the link in line 5 has this name, too; write another"},
    {HEAD "links:\n  - name: a\n    adapter: fake\n    peer: ipn:1.0\n    rto: 1s\n",
     "n.yaml:7: links[a].peer: ipn:1.0 is this node; write the neighbour's id"},
    {HEAD "links:\n  - name: a\n    adapter: fake\n    peer: \"ipn:!.0\"\n    rto: 1s\n",
     "n.yaml:7: links[a].peer: ipn:!.0 names no other node; write the neighbour's id"},
    {HEAD "links:\n  - name: a\n    adapter: fake\n    peer: \"ipn:!.7\"\n    rto: 1s\n",
     "n.yaml:7: links[a].peer: ipn:!.7 names no other node; write the neighbour's id"},
    {HEAD "links:\n  - name: a\n    adapter: fake\n    peer: ipn:2.0\n    rto: 10s\n"
          "    rate: 1Mbit/s\n",
     "n.yaml:8: links[a].rto: longer than this rate allows; write less than 10s"},
    {HEAD "endpoints:\n  - {at: \"ipn:1.x\", registrations: all}\n",
     "n.yaml:5: endpoints.at: needs a number, \"*\" or ranges such as [1-5,7,9+] in each of its "
     "parts, without spaces"},
    {HEAD "endpoints:\n  - {at: \"ipn:1.7\", registrations: many}\n",
     "n.yaml:5: endpoints.registrations: \"many\" is not known; write one of: one, pass, all"},
    {LINK "    queues: fair\n",
     "n.yaml:9: links[to-2].queues: \"fair\" is not known; write one of: weighted, strict"},
    {LINK "    weights: 1:8\n", "n.yaml:9: links[to-2].weights: \"1:8\" is not understood; write "
                                "three numbers from 1 to 1000000, "
                                "for bulk, normal and expedited bundles, such as 1:8:64"},
    {LINK "    weights: 1:0:64\n", "n.yaml:9: links[to-2].weights: \"1:0:64\" is not understood; "
                                   "write three numbers from 1 to 1000000, "
                                   "for bulk, normal and expedited bundles, such as 1:8:64"},
    {LINK "    priorities:\n      - {service: 7}\n",
     "n.yaml:10: links[to-2].priorities.queue: this key is missing; it means: where those that fit "
     "wait for "
     "this link"},
    {LINK "    priorities:\n      - {to: \"ipn:x\", queue: bulk}\n",
     "n.yaml:10: links[to-2].priorities.to: needs two parts or three; write one such as "
     "ipn:[1-5].* or ipn:977000.[1-5].*"},
    {LINK "    priorities:\n      - size_min: 2kB\n        size_max: 1kB\n        queue: bulk\n",
     "n.yaml:11: links[to-2].priorities.size_max: is below size_min; raise it or lower that"},
    {LINK "routes:\n  - {to: \"ipn:3.*\", via: to-3}\n",
     "n.yaml:10: routes.via: there is no link \"to-3\"; did you mean to-2?"},
    {LINK "routes:\n  - {to: \"nowhere\", via: to-2}\n",
     "n.yaml:10: routes.to: \"nowhere\" is not a pattern; write one such as ipn:2.*, "
     "ipn:[1-5,7].*, ipn:2.1, dtn://name/* or *"},
    {LINK "routes:\n  - {to: \"ipn:[4294967296+].*\", via: to-2}\n",
     "n.yaml:10: routes.to: \"ipn:[4294967296+].*\" has a range that is too large; allocators and "
     "nodes go to 4294967295"},
};

START_TEST(a_wrong_file)
{
    struct conf_errors e;
    errors_of(wrong[_i].text, &e);
    ck_assert_str_eq(e.text[0], wrong[_i].error);
    ck_assert_msg(e.total == 1, "also: %s", e.text[1]);
}
END_TEST

START_TEST(all_errors_at_once)
{
    struct conf_errors e;
    errors_of("node: ipn:1.0\nsocket: /tmp/s\nstore: {durability: never}\necko: off\n"
              "bundles: {max: 1, crc: no}\nlinks:\n  - {name: a, adapter: fake}\n",
              &e);
    /* durability, ecko, max, crc, the store's path (sync is the default), rto and peer */
    ck_assert_uint_eq(e.total, 7);
    ck_assert_uint_eq(e.len, 7);
}
END_TEST

START_TEST(at_most_twenty_errors_are_held)
{
    struct conf_errors e;
    char text[2000] = HEAD;
    for (int i = 0; i < 30; i++)
        sprintf(text + strlen(text), "key%d: 1\n", i);
    errors_of(text, &e);
    ck_assert_uint_eq(e.total, 30);
    ck_assert_uint_eq(e.len, CONF_ERRORS_MAX);
}
END_TEST

START_TEST(too_many_links)
{
    struct conf_errors e;
    size_t len = strlen(HEAD "links:\n");
    char *text = malloc(len + 7 * (CONFIG_LINKS_MAX + 1) + 1), *at = text + len;
    memcpy(text, HEAD "links:\n", len);
    for (int i = 0; i <= CONFIG_LINKS_MAX; i++, at += 7)
        memcpy(at, "  - {}\n", 8);
    errors_of(text, &e);
    free(text);
    ck_assert_ptr_nonnull(strstr(e.text[0], ": links: more than 65536 of them"));
}
END_TEST

START_TEST(hundreds_of_links)
{
    struct conf_errors e;
    struct config c;
    static char text[40000] = HEAD "links:\n";
    for (int i = 0; i < 300; i++)
        sprintf(text + strlen(text), "  - {name: l%d, adapter: fake, peer: ipn:%d.0, rto: 1s}\n", i,
                i + 2);
    conf_errors_init(&e, "n.yaml");
    ck_assert_int_eq(config_parse(&c, text, strlen(text), adapters, &e), 0);
    ck_assert_uint_eq(c.links_len, 300);
    ck_assert_uint_eq(c.links[299].peer.node, 301);
    config_fini(&c);
}
END_TEST

START_TEST(control_characters_are_not_repeated)
{
    struct conf_errors e;
    errors_of(HEAD "\"a\\e[31mb\": 1\n", &e);
    ck_assert_ptr_eq(strchr(e.text[0], 0x1b), NULL);
}
END_TEST

START_TEST(a_missing_file)
{
    struct config c;
    struct conf_errors e;
    conf_errors_init(&e, "/nonexistent/n.yaml");
    ck_assert_int_eq(config_load(&c, "/nonexistent/n.yaml", adapters, &e), HELIO_EFORMAT);
    ck_assert_str_eq(e.text[0], "/nonexistent/n.yaml: cannot be read: No such file or directory");
}
END_TEST

static void echo_is(const char *node, const char *echo, const char *eid)
{
    char text[300], got[EID_TEXT_MAX] = "off";
    struct config c;
    struct conf_errors e;
    struct eid out;
    conf_errors_init(&e, "n.yaml");
    snprintf(text, sizeof text, "node: %s\nsocket: /tmp/s\nstore: {durability: none}\necho: %s\n",
             node, echo);
    ck_assert_int_eq(config_parse(&c, text, strlen(text), adapters, &e), 0);
    if (config_echo(&c, &out))
        eid_text(&out, got);
    ck_assert_str_eq(got, eid);
    config_fini(&c);
}

START_TEST(echo_endpoints)
{
    echo_is("ipn:1.0", "on", "ipn:1.128");
    echo_is("ipn:1.0", "7", "ipn:1.7");
    echo_is("ipn:1.0", "off", "off");
    echo_is("dtn://a/", "on", "dtn://a/echo");
    echo_is("dtn://a/", "back", "dtn://a/back");
}
END_TEST

SUITE(tools_config, t)
{
    tcase_add_test(t, a_good_file);
    tcase_add_test(t, queues_of_a_link);
    tcase_add_loop_test(t, a_wrong_file, 0, (int)(sizeof wrong / sizeof *wrong));
    tcase_add_test(t, all_errors_at_once);
    tcase_add_test(t, at_most_twenty_errors_are_held);
    tcase_add_test(t, too_many_links);
    tcase_add_test(t, hundreds_of_links);
    tcase_add_test(t, control_characters_are_not_repeated);
    tcase_add_test(t, a_missing_file);
    tcase_add_test(t, echo_endpoints);
}
