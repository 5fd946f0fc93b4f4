/* SPDX-License-Identifier: Apache-2.0 */
/* A numeric address or a host name, as people write it. */
#include "os/net/host_address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "tests/unit/suite.h"

static struct host_address parsed(const char *text)
{
    struct host_address a;
    ck_assert_msg(host_address_parse(text, &a) == 0, "%s", text);
    return a;
}

static void refused(const char *text)
{
    struct host_address a = {.port = 7}, before = a;
    ck_assert_msg(host_address_parse(text, &a) == HELIO_EFORMAT, "%s", text);
    ck_assert(memcmp(&a, &before, sizeof a) == 0);
}

START_TEST(numeric)
{
    static const char *const texts[] = {"127.0.0.1:4556", "0.0.0.0:1", "[::1]:4556",
                                        "[2001:db8::7]:65535"};
    char text[HOST_ADDRESS_TEXT_MAX];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct host_address a = parsed(texts[i]);
        ck_assert(host_address_given(&a) && !host_address_is_name(&a));
        ck_assert_str_eq(host_address_write(&a, text), texts[i]);
    }
    const struct host_address local = parsed("localhost:7");
    ck_assert(!host_address_is_name(&local));
    ck_assert_str_eq(host_address_write(&local, text), "127.0.0.1:7");
    ck_assert_uint_eq(host_address_port(&local), 7);
}
END_TEST

START_TEST(names)
{
    char label[64], longest[260] = "", text[HOST_ADDRESS_TEXT_MAX];
    memset(label, 'a', 63);
    label[63] = '\0';
    snprintf(longest, sizeof longest, "%s.%s.%s.%.61s:65535", label, label, label, label);
    const char *const texts[] = {
        "gs1.example.net:4556",  "gs1:1",         "GS-1:4556", "a_b.c:0", "3com.x:9",
        "gs1.example.net.:4556", "1.2.3.4.net:5", "x:4556",    longest};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct host_address a = parsed(texts[i]);
        ck_assert(host_address_given(&a) && host_address_is_name(&a));
        ck_assert_str_eq(host_address_write(&a, text), texts[i]);
        ck_assert_uint_eq(host_address_port(&a), strtoul(strrchr(texts[i], ':') + 1, NULL, 10));
    }
}
END_TEST

START_TEST(neither)
{
    char label[80], longer[300] = "";
    static const char *const texts[] = {
        "",           "gs1",          ":4556",         "gs1:",      "gs1:65536",   "gs1:-1",
        "gs1:x",      "gs 1:4556",    "-gs:4556",      "gs-:4556",  "a..b:4556",   ".a:4556",
        "a/b:4556",   "10.0.0.256:1", "1.2.3:4556",    "1234:4556", "0x7f.1:4556", "a.0x7f:4556",
        "[gs1]:4556", "::1:4556",     "2001:db8::1:1", "gs1.:x",    ".:4556",      "gs\xc3\xa4:1",
        "a.0x:4556",  "gs1:4556 ",    "user@gs1:4556"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        refused(texts[i]);
    memset(label, 'a', 64);
    memcpy(label + 64, ":1", 3);
    refused(label);
    for (int i = 0; i < 127; i++)
        strcat(longer, "a.");
    refused(strcat(longer, "b:1")); /* 255 */
}
END_TEST

START_TEST(compared)
{
    const struct host_address none = {.port = 0}, a = parsed("10.0.0.1:1"),
                              b = parsed("10.0.0.1:2"), name = parsed("gs1:1"),
                              same = parsed("GS1:1"), other = parsed("gs1:2"),
                              third = parsed("gs2:1");
    ck_assert(host_address_equal(&none, &none) && !host_address_given(&none));
    ck_assert(host_address_equal(&a, &a) && !host_address_equal(&a, &b));
    ck_assert(host_address_same_host(&a, &b));
    ck_assert(host_address_equal(&name, &same) && !host_address_equal(&name, &other));
    ck_assert(host_address_same_host(&name, &other) && !host_address_same_host(&name, &third));
    ck_assert(!host_address_equal(&name, &a) && !host_address_equal(&a, &name));
    ck_assert(!host_address_equal(&none, &a) && !host_address_equal(&name, &none));
}
END_TEST

SUITE(os_host_address, t)
{
    tcase_add_test(t, numeric);
    tcase_add_test(t, names);
    tcase_add_test(t, neither);
    tcase_add_test(t, compared);
}
