/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a link in the log: no secret, also misspelt or in the wrong place. */
#include <stdlib.h>
#include <string.h>

#include "cla/cla.h"
#include "node/config/config_link.h"
#include "tests/unit/suite.h"

static void expect(const char *keys, const struct cla_ops *ops, const char *shown)
{
    char *text = config_link_shown(keys, strlen(keys), ops, cla_at);
    if (shown == NULL)
        ck_assert_ptr_null(text);
    else
        ck_assert_str_eq(text, shown);
    free(text);
}

static const struct cla_ops *adapter(const char *name)
{
    size_t i = 0;
    while (strcmp(cla_at(i)->name, name) != 0)
        i++;
    return cla_at(i);
}

START_TEST(of_an_added_link)
{
    expect("{adapter: ltp-udp, peer: ipn:3.0, rate: 5Mbit/s, cookie: 5ec2e70a}", NULL,
           "adapter: ltp-udp, peer: ipn:3.0, rate: 5Mbit/s, cookie: ***");
    expect("{\"adapter\": \"ltp-udp\", \"cooky\": \"5ec2e70a\", \"rto\": \"1s\"}", NULL,
           "adapter: ltp-udp, ***: ***, rto: 1s");
    expect("{adapter: ltp-upd, cookie: 5ec2e70a}", NULL, "adapter: ltp-upd, cookie: ***");
    expect("{adapter: telex, cookie: 5ec2e70a}", NULL, "adapter: telex, ***: ***");
    expect("{cookie: 5ec2e70a}", NULL, "***: ***"); /* of which adapter? */
    expect("{adapter: ltp-udp, rto: {cookie: 5ec2e70a}, segment: [5ec2e70a]}", NULL,
           "adapter: ltp-udp, rto: ***, segment: ***");
    expect("{adapter: ltp-udp, 5ec2e70a: {cookie: 5ec2e70a}}", NULL, "adapter: ltp-udp, ***: ***");
}
END_TEST

START_TEST(of_a_changed_link)
{
    expect("rate: 5Mbit/s", adapter("ltp-udp"), "rate: 5Mbit/s");
    expect("{cookie: 5ec2e70a}", adapter("ltp-udp"), "cookie: ***");
    expect("{auth.cookie: 5ec2e70a, auth_cookie: 5ec2e70a}", adapter("ltp-udp"),
           "auth.cookie: ***, auth_cookie: ***");
    expect("{auth: {mode: accept, cookie: 5ec2e70a}, copies: 3}", adapter("ltp-udp"),
           "auth: {mode: accept, cookie: ***}, copies: 3");
    expect("{auth: {copies: 5ec2e70a, 5ec2e70a: 1}, pacing: 5ec2e70a}", adapter("ltp-udp"),
           "auth: {***: ***, ***: ***}, ***: ***");
    expect("{cookie: 5ec2e70a}", adapter("tcpcl"), "***: ***");
}
END_TEST

START_TEST(no_keys)
{
    static const char *const texts[] = {"", "5ec2e70a", "[5ec2e70a]", "{cookie: 5ec2e70a",
                                        "cookie:5ec2e70a"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect(texts[i], adapter("ltp-udp"), NULL);
    expect("{cookie:5ec2e70a}", adapter("ltp-udp"), "***: ***");
}
END_TEST

static void expect_secret(const char *keys, const char *found)
{
    const char *key = config_link_secret(keys, strlen(keys), cla_at);
    if (found == NULL)
        ck_assert_ptr_null(key);
    else
        ck_assert_str_eq(key, found);
}

START_TEST(secrets_are_found)
{
    expect_secret("{adapter: ltp-udp, auth.cookie: 5ec2e70a}", "auth.cookie");
    expect_secret("{cookie: 5ec2e70a}", "auth.cookie");
    expect_secret("{\"auth_cookie\": \"5ec2e70a\"}", "auth.cookie");
    expect_secret("{adapter: ltp-udp, auth: {mode: accept, cookie: 5ec2e70a}}", "auth.cookie");
    expect_secret("{sle: {provider_password: aa}}", "sle.provider_password");
    expect_secret("{sle.password: aa}", "sle.password");
    expect_secret("{adapter: ltp-udp, auth: {mode: require, key_file: auth.key}}", NULL);
    expect_secret("{auth.cookie: ''}", NULL);
    expect_secret("{rate: 5Mbit/s, tls: {key: one.key}}", NULL);
    expect_secret("[cookie]", NULL);
}
END_TEST

SUITE(tools_link_shown, t)
{
    tcase_add_test(t, secrets_are_found);
    tcase_add_test(t, of_an_added_link);
    tcase_add_test(t, of_a_changed_link);
    tcase_add_test(t, no_keys);
}
