/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as people write them, and as the kernel has them. */
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "os/net/address.h"
#include "tests/unit/suite.h"

static struct address at(const char *text)
{
    struct address a;
    ck_assert_msg(address_parse(text, &a) == 0, "%s", text);
    return a;
}

static void good(const char *text, const char *shortest, int family, uint16_t port)
{
    char again[ADDRESS_TEXT_MAX];
    struct address a = at(text);
    ck_assert(address_given(&a));
    ck_assert_int_eq(a.sa.sa_family, family);
    ck_assert_uint_eq(address_port(&a), port);
    ck_assert_str_eq(address_write(&a, again), shortest);
}

static void bad(const char *text)
{
    struct address a = at("127.0.0.9:7"), before = a;
    ck_assert_msg(address_parse(text, &a) == HELIO_EFORMAT, "%s", text);
    ck_assert(address_equal(&a, &before));
}

START_TEST(accepted)
{
    good("127.0.0.1:1113", "127.0.0.1:1113", AF_INET, 1113);
    good("localhost:1113", "127.0.0.1:1113", AF_INET, 1113);
    good("0.0.0.0:0", "0.0.0.0:0", AF_INET, 0);
    good("[::1]:65535", "[::1]:65535", AF_INET6, 65535);
    good("[fd00:0:0:1:2:3:4:5]:4556", "[fd00::1:2:3:4:5]:4556", AF_INET6, 4556);
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
                                        "localhost.:1113",
                                        "[localhost]:1113",
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

/* A host and a port apart: what an option with a usual port needs. */
START_TEST(parts)
{
    struct address a, b = at("[::1]:4556");
    ck_assert_int_eq(address_of("::1", 4556, &a), 0);
    ck_assert(address_equal(&a, &b));
    address_set_port(&a, 5);
    ck_assert_uint_eq(address_port(&a), 5);
    ck_assert(!address_equal(&a, &b));
    ck_assert_int_eq(address_of("[::1]", 5, &a), HELIO_EFORMAT);
    ck_assert_int_eq(address_of("nowhere", 5, &a), HELIO_EFORMAT);
    ck_assert_int_eq(address_of("", 5, &a), HELIO_EFORMAT);
}
END_TEST

START_TEST(names)
{
    char why[256];
    struct address a, b = at("127.0.0.1:9");
    ck_assert_int_eq(address_resolve("127.0.0.1:9", &a, why, sizeof why), 0);
    ck_assert(address_equal(&a, &b));
    ck_assert_int_eq(address_resolve("localhost:9", &a, why, sizeof why), 0);
    ck_assert_uint_eq(address_port(&a), 9);
    ck_assert_int_eq(address_resolve("localhost", &a, why, sizeof why), HELIO_EFORMAT);
    ck_assert_ptr_ne(strstr(why, "is not understood; write ADDRESS:PORT"), NULL);
    ck_assert_int_eq(address_resolve("no such name:9", &a, why, sizeof why), HELIO_EFORMAT);
    ck_assert_ptr_ne(strstr(why, "cannot be resolved"), NULL);
}
END_TEST

START_TEST(as_the_kernel_has_them)
{
    static const char *const texts[] = {"127.0.0.1:1113", "[fd00::5]:4556"};
    for (size_t i = 0; i < 2; i++) {
        struct address a = at(texts[i]), b;
        ck_assert_int_eq(address_from(address_bytes(&a), &b), 0);
        ck_assert(address_equal(&a, &b));
        struct slice cut = address_bytes(&a);
        cut.len--;
        ck_assert_int_eq(address_from(cut, &b), HELIO_EFORMAT);
        ck_assert(!address_given(&b));
    }
    uint8_t longer[sizeof(struct address) + 1] = {0};
    struct address b;
    ck_assert_int_eq(address_from(slice_of(longer, sizeof longer), &b), HELIO_EFORMAT);
    ck_assert_int_eq(address_from(slice_of(longer, 16), &b), HELIO_EFORMAT); /* no family */
    ck_assert_int_eq(address_from(slice_of("short", 5), &b), HELIO_EFORMAT);
    ck_assert_uint_eq(address_len(&b), 0);
}
END_TEST

START_TEST(bound)
{
    struct address a = at("127.0.0.1:0"), b;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    ck_assert_int_eq(bind(fd, &a.sa, address_len(&a)), 0);
    ck_assert_int_eq(address_bound(fd, &b), 0);
    ck_assert_uint_ne(address_port(&b), 0);
    close(fd);
    ck_assert_int_lt(address_bound(fd, &b), 0);
    ck_assert(!address_given(&b));
}
END_TEST

START_TEST(mapped_and_reach)
{
    struct address four = at("127.0.0.1:5"), six = at("[::ffff:127.0.0.1]:5");
    struct address none = {.sa = {.sa_family = AF_UNSPEC}}, zero = at("0.0.0.0:0");
    struct address any = address_any(&four), away = at("192.0.2.1:5");
    ck_assert(address_equal(&four, &six));
    ck_assert(!address_equal(&none, &zero));
    ck_assert(address_equal(&any, &zero));
    ck_assert(address_reaches(&four, &four) && !address_reaches(&four, &away));
    ck_assert(address_reaches(&any, &away) && !address_reaches(&six, &away));
    ck_assert(address_reaches(&away, &away) && !address_reaches(&away, &four));
}
END_TEST

static bool passes(const char *from, const char *remote, enum address_check check)
{
    struct address a = at(from), b = at(remote);
    return address_passes(&a, &b, check);
}

START_TEST(checks)
{
    static const char *const all[] = {"127.0.0.1:5", "[::1]:5", "[fe80::1]:65535", "0.0.0.0:0"};
    struct address none = {.sa = {.sa_family = AF_UNSPEC}}, back;
    uint8_t key[ADDRESS_KEY_MAX];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct address a = at(all[i]);
        if (a.sa.sa_family == AF_INET6)
            a.v6.sin6_scope_id = 3;
        ck_assert_int_eq(address_from_key(address_key(&a, key), &back), 0);
        ck_assert(slice_equal(address_bytes(&a), address_bytes(&back)));
    }
    ck_assert_uint_eq(address_key(&none, key).len, 0);
    ck_assert_int_eq(address_from_key(slice_of(key, 5), &back), HELIO_EFORMAT);
    ck_assert(!address_given(&back));
    ck_assert(passes("127.0.0.1:7", "127.0.0.1:5", ADDRESS_CHECK_HOST));
    ck_assert(passes("[::ffff:127.0.0.1]:7", "127.0.0.1:5", ADDRESS_CHECK_HOST));
    ck_assert(!passes("127.0.0.2:5", "127.0.0.1:5", ADDRESS_CHECK_HOST));
    ck_assert(!passes("127.0.0.1:7", "127.0.0.1:5", ADDRESS_CHECK_EXACT));
    ck_assert(passes("[::1]:5", "[::1]:5", ADDRESS_CHECK_EXACT));
    ck_assert(passes("127.0.0.2:7", "127.0.0.1:5", ADDRESS_CHECK_ANY));
    back = at("127.0.0.1:5");
    ck_assert(!address_passes(&none, &back, ADDRESS_CHECK_HOST));
    ck_assert(address_passes(&none, &back, ADDRESS_CHECK_ANY));
}
END_TEST

static bool same_prefix(const char *one, const char *two)
{
    uint8_t a[ADDRESS_PREFIX_MAX], b[ADDRESS_PREFIX_MAX];
    struct address x, y;
    ck_assert_int_eq(address_parse(one, &x), 0);
    ck_assert_int_eq(address_parse(two, &y), 0);
    return slice_equal(address_prefix(&x, a), address_prefix(&y, b));
}

START_TEST(prefixes)
{
    uint8_t out[ADDRESS_PREFIX_MAX];
    const struct address none = {.sa = {.sa_family = AF_UNSPEC}};
    ck_assert(same_prefix("192.0.2.1:1", "192.0.2.1:2"));
    ck_assert(!same_prefix("192.0.2.1:1", "192.0.2.2:1"));
    ck_assert(same_prefix("[::ffff:192.0.2.1]:1", "192.0.2.1:1"));
    ck_assert(same_prefix("[2001:db8:0:1::1]:1", "[2001:db8:0:1:ffff::2]:1"));
    ck_assert(!same_prefix("[2001:db8:0:1::1]:1", "[2001:db8:0:2::1]:1"));
    ck_assert_uint_eq(address_prefix(&none, out).len, 0);
}
END_TEST

SUITE(os_address, t)
{
    tcase_add_test(t, accepted);
    tcase_add_test(t, refused);
    tcase_add_test(t, parts);
    tcase_add_test(t, names);
    tcase_add_test(t, as_the_kernel_has_them);
    tcase_add_test(t, bound);
    tcase_add_test(t, mapped_and_reach);
    tcase_add_test(t, checks);
    tcase_add_test(t, prefixes);
}
