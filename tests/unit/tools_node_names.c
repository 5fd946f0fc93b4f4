/* SPDX-License-Identifier: Apache-2.0 */
/* Names of nodes: what a text with names becomes, and how an endpoint is shown. */
#include <string.h>

#include "node/config/config_names.h"
#include "tests/unit/suite.h"

static const char file[] = "names:\n"
                           "  - {name: relay, node: ipn:2.0}\n"
                           "  - {name: big, node: ipn:977000.100.0}\n"
                           "  - {name: mars, node: dtn://mars/}\n"
                           "node: ipn:1.0\n"
                           "socket: /tmp/s\n"
                           "store: {durability: none}\n";

static const struct cla_ops *no_adapters(size_t i)
{
    (void)i;
    return NULL;
}

static void read_file(struct config *c)
{
    struct conf_errors e;
    conf_errors_init(&e, "n.yaml");
    ck_assert_msg(config_parse(c, file, strlen(file), no_adapters, &e) == 0, "%s", e.text[0]);
    ck_assert_uint_eq(c->names_len, 3);
}

static const struct {
    const char *text, *node, *pattern; /* NULL: it has no name */
} typed[] = {
    {"relay", "ipn:2.0", "ipn:2.*"},
    {"relay/7", "ipn:2.7", "ipn:2.7"},
    {"relay/*", "ipn:2.*", "ipn:2.*"},
    {"big", "ipn:977000.100.0", "ipn:977000.100.*"},
    {"big/7", "ipn:977000.100.7", "ipn:977000.100.7"},
    {"mars", "dtn://mars/", "dtn://mars/*"},
    {"mars/a/b", "dtn://mars/a/b", "dtn://mars/a/b"},
    {"relay/7|ipn:3.*|mars", "ipn:2.7|ipn:3.*|dtn://mars/", "ipn:2.7|ipn:3.*|dtn://mars/*"},
    {"rela", NULL, NULL},
    {"relays", NULL, NULL},
    {"Relay", NULL, NULL},
    {"ipn:2.0", NULL, NULL},
    {"*", NULL, NULL},
    {"", NULL, NULL},
    {"|", NULL, NULL}};

START_TEST(a_text)
{
    struct config c;
    char out[64];
    read_file(&c);
    const bool named = config_name_expand(&c, CONFIG_NAME_NODE, typed[_i].text, out, sizeof out);
    ck_assert(named == (typed[_i].node != NULL));
    if (named)
        ck_assert_str_eq(out, typed[_i].node);
    if (config_name_expand(&c, CONFIG_NAME_PATTERN, typed[_i].text, out, sizeof out))
        ck_assert_str_eq(out, typed[_i].pattern);
    if (named) /* as long as the text is; no room for its end */
        ck_assert(
            !config_name_expand(&c, CONFIG_NAME_NODE, typed[_i].text, out, strlen(typed[_i].node)));
    config_fini(&c);
}
END_TEST

START_TEST(shown)
{
    static const char *const rows[][2] = {{"ipn:2.0", "relay"},
                                          {"ipn:2.7", "relay/7"},
                                          {"ipn:977000.100.7", "big/7"},
                                          {"dtn://mars/", "mars"},
                                          {"dtn://mars/echo", "mars/echo"},
                                          {"ipn:22.0", NULL},
                                          {"dtn://marsa/", NULL},
                                          {"dtn:none", NULL},
                                          {"imc:2.0", NULL}};
    struct config c;
    struct eid e;
    struct eid_pattern p;
    char out[CONFIG_NAME_SHOWN];
    read_file(&c);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq(eid_parse(rows[i][0], &e), 0);
        ck_assert_msg(config_name_show(&c, &e, out) == (rows[i][1] != NULL), "%s", rows[i][0]);
        if (rows[i][1] != NULL)
            ck_assert_str_eq(out, rows[i][1]);
    }
    ck_assert(eid_pattern_parse("ipn:2.*", &p) == 0 && config_name_show_pattern(&c, &p, out));
    ck_assert_str_eq(out, "relay/*");
    ck_assert(eid_pattern_parse("ipn:*.*", &p) == 0 && !config_name_show_pattern(&c, &p, out));
    config_fini(&c);
}
END_TEST

START_TEST(nearly)
{
    struct config c;
    read_file(&c);
    ck_assert_str_eq(config_name_closest(&c, "relai"), "relay");
    ck_assert_str_eq(config_name_closest(&c, "relai/7"), "relay");
    ck_assert_ptr_null(config_name_closest(&c, "relay"));
    ck_assert_ptr_null(config_name_closest(&c, "ipn:2.0"));
    ck_assert_ptr_null(config_name_closest(&c, "venus"));
    config_fini(&c);
}
END_TEST

SUITE(tools_node_names, t)
{
    tcase_add_loop_test(t, a_text, 0, (int)(sizeof typed / sizeof *typed));
    tcase_add_test(t, shown);
    tcase_add_test(t, nearly);
}
