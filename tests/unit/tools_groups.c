/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of a link in groups: what is read from a file and from a command, and the exact words for
 * each key in a wrong place. */
#include <stdio.h>

#include "conf/conf_groups.h"
#include "conf/conf_section.h"
#include "node/config/config.h"
#include "node/config/config_link.h"
#include "tests/unit/suite.h"

struct settings {
    uint64_t rate, copies, span, other_span, size;
    tick defer;
    int recovery, box;
    char *peer, *word;
};
#define AT(field) offsetof(struct settings, field)

static const struct conf_option options[] = {
    {.key = "rate", .type = OPTION_RATE, .offset = AT(rate), .initial = "unlimited"},
    {.key = "recovery",
     .type = OPTION_CHOICE,
     .offset = AT(recovery),
     .choices = "plain|own",
     .initial = "plain"},
    {.key = "recovery.copies", .type = OPTION_COUNT, .offset = AT(copies), .initial = "0"},
    {.key = "recovery.defer", .type = OPTION_DURATION, .offset = AT(defer), .initial = "0"},
    {.key = "code.span", .type = OPTION_COUNT, .offset = AT(span), .initial = "9"},
    {.key = "box",
     .type = OPTION_CHOICE,
     .offset = AT(box),
     .choices = "off|small|large",
     .initial = "off",
     .max = CONF_MODE_NEEDED},
    {.key = "box.size", .type = OPTION_COUNT, .offset = AT(size), .initial = "0"},
    {.key = "tls.peer", .type = OPTION_TEXT, .offset = AT(peer), .initial = ""},
    {.key = "tls.span", .type = OPTION_COUNT, .offset = AT(other_span), .initial = "8"},
    {.key = "tls.word", .type = OPTION_SECRET, .offset = AT(word), .initial = ""},
    {.key = NULL},
};
static const struct cla_renamed renamed[] = {{"old_span", "code.span"}, {NULL, NULL}};
static const char *const live[] = {"recovery", "recovery.copies", "code.span", NULL};

static int set_nothing(struct cla *c, const void *config, void *files, char *why, size_t cap)
{
    (void)c, (void)config, (void)files, (void)why, (void)cap;
    return 0;
}

/* Blames a key by its whole name. */
static int check_span(const void *config, const char **key, char *why, size_t cap)
{
    const struct settings *s = config;
    *key = "code.span";
    snprintf(why, cap, "is above 100");
    return s->span > 100 ? HELIO_EINVAL : 0;
}

static const struct cla_ops grouped = {.name = "grouped",
                                       .options = options,
                                       .config_size = sizeof(struct settings),
                                       .renamed = renamed,
                                       .check = check_span,
                                       .live = live,
                                       .set = set_nothing};

static const struct conf_option other_options[] = {
    {.key = "hold", .type = OPTION_DURATION, .offset = AT(defer), .initial = "0"},
    {.key = NULL},
};
static const struct cla_ops second = {
    .name = "other", .options = other_options, .config_size = sizeof(struct settings)};

static const struct cla_ops *adapters(size_t i)
{
    return i == 0 ? &grouped : i == 1 ? &second : NULL;
}

#define FILE_OF(keys)                                                                              \
    "node: ipn:1.0\nsocket: /tmp/s\nstore: {durability: none}\nlinks:\n  - name: a\n"              \
    "    adapter: grouped\n    peer: ipn:2.0\n" keys

START_TEST(a_good_file)
{
    static const char *const texts[] = {
        FILE_OF("    recovery: {mode: own, copies: 3, defer: 5ms}\n    code:\n      span: 7\n    "
                "tls: {peer: x}\n"),
        FILE_OF("    code: {span: 7}\n    tls: {peer: x}\n    recovery: {defer: 5ms, mode: own, "
                "copies: 3}\n    rate: unlimited\n")};
    struct conf_errors e;
    struct config c;
    conf_errors_init(&e, "n.yaml");
    ck_assert_int_eq(config_parse(&c, texts[_i], strlen(texts[_i]), adapters, &e), 0);
    const struct settings *s = c.links[0].settings;
    ck_assert(s->recovery == 1 && s->copies == 3 && s->defer == 5 * TICK_MS && s->span == 7);
    ck_assert(s->other_span == 8 && strcmp(s->peer, "x") == 0);
    ck_assert(eid_is_node(&c.links[0].peer)); /* the link's own, though tls.peer is named so, too */
    config_fini(&c);
}
END_TEST

START_TEST(short_forms)
{
    static const char text[] = FILE_OF("    recovery: own\n    code:\n");
    struct conf_errors e;
    struct config c;
    conf_errors_init(&e, "n.yaml");
    ck_assert_int_eq(config_parse(&c, text, strlen(text), adapters, &e), 0);
    const struct settings *s = c.links[0].settings;
    ck_assert(s->recovery == 1 && s->copies == 0 && s->span == 9);
    config_fini(&c);
}
END_TEST

static const struct {
    const char *text, *error;
} wrong[] = {
    {FILE_OF("    copies: 3\n"), "n.yaml:8: links[a].copies: belongs under recovery: {copies: 3}"},
    {FILE_OF("    copies: 3\n    recovery: own\n"),
     "n.yaml:8: links[a].copies: belongs under recovery: {mode: own, copies: 3}"},
    {FILE_OF("    box: {size: 3}\n"),
     "n.yaml:8: links[a].box: is off without a mode; write box: {mode: small|large, …}"},
    {FILE_OF("    recovery: own\n    recovery: {copies: 3}\n"),
     "n.yaml:9: links[a].recovery: this key is here twice, first in line 8; keep one"},
    {FILE_OF("    recovery.copies: 3\n"),
     "n.yaml:8: links[a].recovery.copies: belongs under recovery: {copies: 3}"},
    {FILE_OF("    recovery_copies: [3]\n"),
     "n.yaml:8: links[a].recovery_copies: belongs under recovery: {copies: …}"},
    {FILE_OF("    old_span: 3\n"), "n.yaml:8: links[a].old_span: belongs under code: {span: …}"},
    {FILE_OF("    word: aabb\n"), "n.yaml:8: links[a].word: belongs under tls: {word: …}"},
    {FILE_OF("    code:\n      copies: 3\n"),
     "n.yaml:9: links[a].code.copies: belongs under recovery: {copies: 3}"},
    {FILE_OF("    code: {rate: 3Mbit/s}\n"),
     "n.yaml:8: links[a].code.rate: belongs beside this map, not in it"},
    {FILE_OF("    recovery: {copis: 3}\n"),
     "n.yaml:8: links[a].recovery.copis: unknown key; did you mean copies?"},
    {FILE_OF("    recovery: {zzzzzz: 3}\n"),
     "n.yaml:8: links[a].recovery.zzzzzz: unknown key; the keys here are: mode, copies, defer"},
    {FILE_OF("    code: {mode: 3}\n"),
     "n.yaml:8: links[a].code.mode: unknown key; the keys here are: span"},
    {FILE_OF("    code: 3\n"),
     "n.yaml:8: links[a].code: a value is not expected here; write a map of its keys"},
    {FILE_OF("    code: [3]\n"),
     "n.yaml:8: links[a].code: a list is not expected here; write a map of its keys"},
    {FILE_OF("    recovery: [own]\n"),
     "n.yaml:8: links[a].recovery: a list is not expected here; write one value"},
    {FILE_OF("    recovery: {mode: maybe}\n"),
     "n.yaml:8: links[a].recovery: \"maybe\" is not known; write one of: plain, own"},
    {FILE_OF("    recovery:\n      defer: 5\n"),
     "n.yaml:9: links[a].recovery.defer: \"5\" is not understood; write a duration with its unit"},
    {FILE_OF("    span: 3\n"),
     "n.yaml:8: links[a].span: unknown key; the keys here are: "}, /* two */
    {FILE_OF("    recovry: {copies: 3}\n"),
     "n.yaml:8: links[a].recovry: unknown key; did you mean recovery?"},
    {FILE_OF("    code:\n      span: 101\n"), "n.yaml:9: links[a].code.span: is above 100"},
};

START_TEST(a_wrong_file)
{
    struct conf_errors e;
    struct config c;
    conf_errors_init(&e, "n.yaml");
    ck_assert_int_eq(config_parse(&c, wrong[_i].text, strlen(wrong[_i].text), adapters, &e),
                     HELIO_EFORMAT);
    ck_assert_uint_eq(e.len, 1);
    ck_assert_msg(strncmp(e.text[0], wrong[_i].error, strlen(wrong[_i].error)) == 0, "%s",
                  e.text[0]);
}
END_TEST

/* A list or a value where a section's map should be has the caller's key, file and line. */
START_TEST(no_map)
{
    static const struct {
        const char *text, *where, *error;
    } cases[] = {
        {"\n- rate: 3\n- copies: 4\n", "store.",
         "n.yaml:2: store: a list is not expected here; write a map of its keys, such as store: "
         "{rate: …}"},
        {"[1]\n", "links[a].",
         "n.yaml:1: links[a]: a list is not expected here; write a map of its keys"},
        {"7\n", "", "n.yaml:1: a value is not expected here; write a map of its keys"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct settings s = {.rate = 5};
        struct conf_errors e;
        const struct conf_part part = {options, &s, NULL};
        conf_errors_init(&e, "n.yaml");
        struct conf_tree *t = conf_tree_parse(cases[i].text, strlen(cases[i].text), "empty", &e);
        ck_assert_ptr_nonnull(t);
        conf_section_read(t, cases[i].where, &part, 1, NULL, &e);
        conf_tree_free(t);
        ck_assert_uint_eq(e.total, 1);
        ck_assert_str_eq(e.text[0], cases[i].error);
        ck_assert_uint_eq(s.rate, 5);
    }
}
END_TEST

/* A key of another adapter is none of those that could be meant. */
START_TEST(only_keys_of_the_adapter)
{
    static const char text[] =
        FILE_OF("    hold: 3s\n    old_span: 3\n    holds: 1\n    recovry: own\n    qqqqqq: 1\n");
    struct conf_errors e;
    struct config c;
    conf_errors_init(&e, "n.yaml");
    ck_assert_int_eq(config_parse(&c, text, strlen(text), adapters, &e), HELIO_EFORMAT);
    ck_assert_uint_eq(e.len, 5);
    ck_assert_str_eq(e.text[0], "n.yaml:9: links[a].old_span: belongs under code: {span: …}");
    ck_assert_str_eq(e.text[1], "n.yaml:8: links[a].hold: the adapter grouped does not have this "
                                "key; remove it, or write the adapter that has it: other");
    ck_assert_str_eq(e.text[2],
                     "n.yaml:10: links[a].holds: unknown key; the keys here are: name, adapter, "
                     "peer, peers, queues, weights, queue_bundles, queue_bytes, rate, recovery, "
                     "code, box, tls, priorities");
    ck_assert_str_eq(e.text[3], "n.yaml:11: links[a].recovry: unknown key; did you mean recovery?");
    ck_assert_ptr_nonnull(strstr(e.text[4], "box, tls, priorities"));
}
END_TEST

static struct config_link *added(const char *keys, struct conf_errors *e)
{
    const struct eid node = eid_ipn(0, 1, 0);
    char text[300];
    conf_errors_init(e, "");
    snprintf(text, sizeof text, "{adapter: grouped, peer: ipn:2.0, %s}", keys);
    return config_link_parse("a", text, strlen(text), &node, NULL, adapters, e);
}

static struct config_link *changed(const struct config_link *l, const char *keys,
                                   struct conf_errors *e)
{
    const struct eid node = eid_ipn(0, 1, 0);
    conf_errors_init(e, "");
    return config_link_change(l, keys, strlen(keys), &node, e);
}

/* A command may write a key in each of these ways. */
START_TEST(commands)
{
    static const char *const ways[] = {"recovery.copies: 4", "copies: 4", "recovery_copies: 4",
                                       "recovery: {copies: 4}"};
    static const char *const modes[] = {"recovery: own", "recovery.mode: own",
                                        "recovery: {mode: own}"};
    struct conf_errors e;
    struct config_link *l = added("copies: 3, code.span: 5, tls_span: 6", &e), *other;
    ck_assert_ptr_nonnull(l);
    const struct settings *s = l->settings;
    ck_assert(s->copies == 3 && s->span == 5 && s->other_span == 6);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        other = changed(l, ways[i], &e);
        ck_assert_msg(other != NULL, "%s: %s", ways[i], e.text[0]);
        ck_assert_uint_eq(((const struct settings *)other->settings)->copies, 4);
        config_link_free(other);
    }
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        other = changed(l, modes[i], &e);
        ck_assert_msg(other != NULL, "%s: %s", modes[i], e.text[0]);
        ck_assert_int_eq(((const struct settings *)other->settings)->recovery, 1);
        config_link_free(other);
    }
    config_link_free(l);
}
END_TEST

START_TEST(wrong_commands)
{
    static const struct {
        const char *keys, *error;
    } of[] = {
        {"span: 4", "links[a].span: several groups have it; write one of: code.span, tls.span"},
        {"defer: 1s", "links[a].recovery.defer: cannot change"},
        {"copies: 4, recovery: {copies: 5}", "links[a].recovery.copies: is written twice"},
        {"code: {span: 101}", "links[a].code.span: is above 100"},
        {"copis: 4", "links[a].copis: unknown key; did you mean copies?"},
    };
    struct conf_errors e;
    struct config_link *l = added("rate: 1Mbit/s", &e);
    ck_assert_ptr_nonnull(l);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char text[100];
        snprintf(text, sizeof text, "{%s}", of[i].keys);
        ck_assert_ptr_null(changed(l, text, &e));
        ck_assert_msg(strstr(e.text[0], of[i].error) != NULL, "%s", e.text[0]);
    }
    config_link_free(l);
}
END_TEST

START_TEST(names)
{
    static const struct {
        const char *word, *key;
    } of[] = {{"rate", "rate"},
              {"copies", "recovery.copies"},
              {"recovery.mode", "recovery"},
              {"code.mode", NULL},
              {"span", NULL},
              {"code_span", "code.span"},
              {"tls_peer", "tls.peer"},
              {"", NULL},
              {".", NULL},
              {"recovery.", NULL},
              {"recovery_", NULL}};
    char place[CONF_PLACE_CAP];
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const struct conf_option *o = conf_option_named(options, of[i].word);
        ck_assert_msg((o == NULL) == (of[i].key == NULL), "%s", of[i].word);
        ck_assert(o == NULL || strcmp(o->key, of[i].key) == 0);
    }
    ck_assert_uint_eq(conf_key_group(options, "recovery"), 8);
    ck_assert_uint_eq(conf_key_group(options, "recovery.copies"), 8);
    ck_assert_uint_eq(conf_key_group(options, "rate"), 0);
    ck_assert_str_eq(conf_key_name("recovery.copies"), "copies");
    ck_assert_str_eq(conf_key_place("tls.ca", place), "tls: {ca: …}");
    ck_assert_str_eq(conf_key_place("rate", place), "rate: …");
}
END_TEST

SUITE(tools_groups, t)
{
    tcase_add_loop_test(t, a_good_file, 0, 2);
    tcase_add_test(t, short_forms);
    tcase_add_loop_test(t, a_wrong_file, 0, (int)(sizeof wrong / sizeof *wrong));
    tcase_add_test(t, no_map);
    tcase_add_test(t, only_keys_of_the_adapter);
    tcase_add_test(t, commands);
    tcase_add_test(t, wrong_commands);
    tcase_add_test(t, names);
}
