/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as written in a configuration. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "os/address.h"

static void good(const char *text, const char *host, uint16_t port)
{
    struct cla_address a;
    ck_assert_msg(cla_address_parse(text, &a) == 0, "%s", text);
    ck_assert_str_eq(a.host, host);
    ck_assert_uint_eq(a.port, port);
}

static void bad(const char *text)
{
    struct cla_address a = {.host = "kept", .port = 7};
    ck_assert_msg(cla_address_parse(text, &a) == HELIO_EFORMAT, "%s", text);
    ck_assert_str_eq(a.host, "kept");
    ck_assert_uint_eq(a.port, 7);
}

START_TEST(accepted)
{
    good("127.0.0.1:1113", "127.0.0.1", 1113);
    good("0.0.0.0:0", "0.0.0.0", 0);
    good("[::1]:65535", "::1", 65535);
    good("[fd00:0:0:1:2:3:4:5]:4556", "fd00:0:0:1:2:3:4:5", 4556);
}
END_TEST

START_TEST(refused)
{
    static const char *const texts[] = {"",
                                        ":1113",
                                        "127.0.0.1",
                                        "127.0.0.1:",
                                        "127.0.0.1:65536",
                                        "1.2.3:4",
                                        "1.2.3.4:-1",
                                        "1.2.3.4:4 ",
                                        "localhost:1113",
                                        "::1:1113",
                                        "[::1]",
                                        "[::1]1113",
                                        "[]:1113",
                                        "[::1:1113",
                                        "[127.0.0.1]:1113",
                                        "1.2.3.4:+",
                                        "[::g]:1",
                                        "256.1.1.1:1113",
                                        " 1.2.3.4:1113",
                                        "[::1]:99999999999999999999"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        bad(texts[i]);
    char longer[300];
    memset(longer, '1', sizeof longer);
    strcpy(longer + 280, ":1113");
    bad(longer);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("addresses");
    TCase *t = tcase_create("addresses");
    tcase_add_test(t, accepted);
    tcase_add_test(t, refused);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
