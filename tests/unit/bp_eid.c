/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoint identifiers: text, comparison, patterns, and their CBOR. */
#include "bp_help.h"

#include "base/hash.h"
#include "bp/codec/check.h"
#include "tests/unit/suite.h"

static struct eid parsed(const char *text)
{
    struct eid e;
    ck_assert_msg(eid_parse(text, &e) == 0, "%s", text);
    return e;
}

START_TEST(texts_come_back)
{
    static const char *const texts[] = {"ipn:1.0",
                                        "ipn:0.0",
                                        "ipn:977000.100.1",
                                        "ipn:4294967294.18446744073709551615",
                                        "ipn:!.7",
                                        "dtn:none",
                                        "dtn://host/",
                                        "dtn://host/a/b~c",
                                        "ipn:4294967295.1.2",
                                        "imc:0.0",
                                        "imc:42.18446744073709551615"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char out[EID_TEXT_MAX];
        struct eid e = parsed(texts[i]);
        ck_assert_uint_eq(eid_text(&e, out), strlen(texts[i]));
        ck_assert_str_eq(out, texts[i]);
    }
    char out[EID_TEXT_MAX];
    struct eid e = parsed("ipn:0.5.6"); /* the default allocator need not be named */
    eid_text(&e, out);
    ck_assert_str_eq(out, "ipn:5.6");
}
END_TEST

START_TEST(bad_texts)
{
    static const char *const texts[] = {"",
                                        "ipn",
                                        "ipn:",
                                        "ipn:1",
                                        "ipn:1.",
                                        "ipn:.1",
                                        "ipn:1.2.3.4",
                                        "ipn:!.1.0",
                                        "ipn:01.2",
                                        "ipn:1.02",
                                        "ipn:-1.2",
                                        "ipn: 1.2",
                                        "ipn:1.2 ",
                                        "ipn:4294967296.1",
                                        "ipn:4294967296.1.1",
                                        "ipn:1.18446744073709551616",
                                        "ipn:1.99999999999999999999",
                                        "ipn:0.7",
                                        "ipn:0.0.7",
                                        "ipn:!",
                                        "ipn:1.!",
                                        "ipn:!.1.2.3",
                                        "dtn:",
                                        "dtn:host",
                                        "dtn:/host/",
                                        "dtn://host",
                                        "dtn:///x",
                                        "dtn://host/a b",
                                        "dtn://host/\n",
                                        "dtn://host/?q",
                                        "dtn://host/#f",
                                        "imc:1",
                                        "imc:1.2.3",
                                        "imc:1.2x",
                                        "imc:*.1",
                                        "imc:!.1",
                                        "imc:18446744073709551616.1",
                                        "scheme-4:820102",
                                        "http://a/",
                                        "dtn://host/\xc3\xa4"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct eid e;
        ck_assert_msg(eid_parse(texts[i], &e) == HELIO_EFORMAT, "'%s'", texts[i]);
    }
}
END_TEST

START_TEST(longest_dtn)
{
    char text[EID_TEXT_MAX + 10], out[EID_TEXT_MAX];
    struct eid e;
    memset(text, 'x', sizeof text);
    memcpy(text, "dtn://h/", 8);
    text[4 + EID_SSP_MAX] = '\0';
    ck_assert_int_eq(eid_parse(text, &e), 0);
    ck_assert_uint_eq(eid_text(&e, out), 4 + EID_SSP_MAX);
    text[4 + EID_SSP_MAX] = 'x';
    text[4 + EID_SSP_MAX + 1] = '\0';
    ck_assert_int_eq(eid_parse(text, &e), HELIO_EFORMAT);
}
END_TEST

/* RFC 9171 §4.2.5.1.1: a demux that begins with ~ is that of a group. */
START_TEST(names_of_groups)
{
    static const char *const of_several[] = {"dtn://h/~", "dtn://h/~all", "imc:5.1", "imc:0.0"};
    static const char *const others[] = {"dtn://h/", "dtn://h/a~", "dtn://~h/a", "dtn:none",
                                         "ipn:1.2",  "ipn:9.1.2",  "ipn:!.7"};
    for (size_t i = 0; i < sizeof of_several / sizeof *of_several; i++) {
        struct eid e = parsed(of_several[i]);
        ck_assert_msg(eid_is_group(&e), "%s", of_several[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct eid e = parsed(others[i]);
        ck_assert_msg(!eid_is_group(&e), "%s", others[i]);
    }
    struct eid short_of = {.scheme = EID_DTN, .ssp = "//h"}, odd = {.scheme = EID_DTN, .ssp = "~x"};
    ck_assert(!eid_is_group(&short_of) && !eid_is_group(&odd));
}
END_TEST

START_TEST(comparison)
{
    struct eid a = parsed("ipn:1.2"), b = parsed("ipn:1.3"), none = eid_none(),
               zero = eid_ipn(0, 0, 0), d = parsed("dtn://h/x"), far = parsed("ipn:9.1.2");
    ck_assert(eid_equal(&a, &a) && !eid_equal(&a, &b) && !eid_equal(&a, &far));
    ck_assert(eid_same_node(&a, &b) && !eid_same_node(&a, &far) && !eid_same_node(&a, &d));
    ck_assert(eid_equal(&none, &zero) && eid_hash(1, &none) == eid_hash(1, &zero));
    ck_assert(eid_is_none(&none) && eid_is_none(&zero) && !eid_is_none(&a) && !eid_is_none(&d));
    ck_assert_uint_ne(eid_hash(1, &a), eid_hash(1, &b));
    ck_assert_uint_ne(eid_hash(1, &a), eid_hash(2, &a));
    struct eid three = a;
    three.three = true;
    ck_assert(eid_equal(&a, &three) && eid_hash(1, &a) == eid_hash(1, &three));
    struct eid node = eid_node(&d), home = parsed("dtn://h/");
    ck_assert(eid_equal(&node, &home) && eid_is_node(&node) && !eid_is_node(&d));
    node = eid_node(&a);
    ck_assert(eid_is_node(&node) && !eid_is_node(&a));
    struct eid local = parsed("ipn:!.7");
    ck_assert(eid_is_local(&local) && !eid_is_local(&a));
}
END_TEST

static bool match(const char *pattern, const char *eid)
{
    struct eid_pattern p;
    ck_assert_msg(eid_pattern_parse(pattern, &p) == 0, "%s", pattern);
    struct eid e = parsed(eid);
    return eid_pattern_match(&p, &e);
}

START_TEST(patterns)
{
    ck_assert(match("*", "ipn:1.2") && match("*", "dtn://h/x"));
    ck_assert(match("ipn:*.*", "ipn:1.2") && match("ipn:*.*", "ipn:9.1.2"));
    ck_assert(!match("ipn:*.*", "dtn://h/x") && !match("ipn:*.*", "dtn:none") &&
              !match("ipn:*.*", "ipn:0.0"));
    ck_assert(match("ipn:2.*", "ipn:2.7") && !match("ipn:2.*", "ipn:3.7") &&
              !match("ipn:2.*", "ipn:9.2.7") && match("ipn:9.2.*", "ipn:9.2.7"));
    ck_assert(match("ipn:2.7", "ipn:2.7") && !match("ipn:2.7", "ipn:2.8"));
    ck_assert(match("dtn://h/*", "dtn://h/x") && match("dtn://h/*", "dtn://h/") &&
              !match("dtn://h/*", "dtn://hh/x") && !match("dtn://h/*", "ipn:2.7"));
    ck_assert(match("dtn://h/a/*", "dtn://h/a/b") && !match("dtn://h/a/*", "dtn://h/b"));
    ck_assert(match("dtn:none", "ipn:0.0"));
    ck_assert(match("ipn:*.*.*", "ipn:1.2") && match("ipn:*.*.*", "ipn:9.1.2"));
    ck_assert(match("ipn:9.*.*", "ipn:9.1.2") && match("ipn:9.*.*", "ipn:9.7.0") &&
              !match("ipn:9.*.*", "ipn:8.1.2") && !match("ipn:9.*.*", "ipn:9.1"));
    ck_assert(match("ipn:0.*.*", "ipn:9.1") && !match("ipn:0.*.*", "ipn:9.1.2"));
    ck_assert(match("*", "imc:42.1") && !match("ipn:*.*", "imc:42.1"));
    ck_assert(match("imc:*.*", "imc:42.1") && !match("imc:*.*", "ipn:42.1"));
    ck_assert(match("imc:42.*", "imc:42.1") && !match("imc:42.*", "imc:43.1"));
    ck_assert(match("imc:42.1", "imc:42.1") && !match("imc:42.1", "imc:42.2"));
}
END_TEST

START_TEST(patterns_with_ranges)
{
    ck_assert(match("ipn:[1-5,7].*", "ipn:1.0") && match("ipn:[1-5,7].*", "ipn:5.9") &&
              match("ipn:[1-5,7].*", "ipn:7.1"));
    ck_assert(!match("ipn:[1-5,7].*", "ipn:6.1") && !match("ipn:[1-5,7].*", "ipn:8.1") &&
              !match("ipn:[1-5,7].*", "ipn:9.3.1") && !match("ipn:[1-5,7].*", "imc:3.1") &&
              !match("ipn:[1-5,7].*", "dtn://h/x"));
    ck_assert(match("ipn:3.[10+]", "ipn:3.18446744073709551615") &&
              match("ipn:3.[10+]", "ipn:3.10") && !match("ipn:3.[10+]", "ipn:3.9"));
    ck_assert(match("ipn:[977000-977002].[1,3].[2-4]", "ipn:977001.3.4") &&
              !match("ipn:[977000-977002].[1,3].[2-4]", "ipn:977001.2.4") &&
              !match("ipn:[977000-977002].[1,3].[2-4]", "ipn:977003.3.4"));
    ck_assert(match("ipn:[0-4294967295].[5]", "ipn:8.1.5") && !match("ipn:[0+].*", "ipn:0.0"));
    /* "*" alone names all nodes, with "0." in front those without an allocator */
    ck_assert(match("ipn:*.7", "ipn:1.7") && match("ipn:*.7", "ipn:9.1.7") &&
              !match("ipn:*.7", "ipn:1.8"));
    ck_assert(match("ipn:0.*.7", "ipn:1.7") && !match("ipn:0.*.7", "ipn:9.1.7"));
    ck_assert(match("ipn:*.2.*", "ipn:9.2.1") && match("ipn:9.*.2", "ipn:9.1.2"));
}
END_TEST

START_TEST(ranges_have_one_text)
{
    static const struct {
        const char *in, *out;
    } texts[] = {
        {"ipn:[1-5,7].*", "ipn:[1-5,7].*"},
        {"ipn:[7,1-3,2-5].*", "ipn:[1-5,7].*"},
        {"ipn:[1,2,3,5].*", "ipn:[1-3,5].*"},
        {"ipn:[9+,3-8].[4]", "ipn:[3+].4"},
        {"ipn:[5].*", "ipn:5.*"},
        {"ipn:[5].[7]", "ipn:5.7"},
        {"ipn:[0+].*", "ipn:*.*"},
        {"ipn:9.[0+].[0+]", "ipn:9.*.*"},
        {"ipn:0.[1-5].*", "ipn:[1-5].*"},
        {"ipn:*.*.[1-2]", "ipn:*.[1-2]"},
        {"ipn:0.*.7", "ipn:0.*.7"},
        {"ipn:*.2.*", "ipn:*.2.*"},
        {"ipn:2.[5-18446744073709551615]", "ipn:2.[5+]"},
        {"ipn:[1,3,5,7,9,11,13,15].*", "ipn:[1,3,5,7,9,11,13,15].*"},
        {"ipn:[1,3,5,7,9,11,13,15,2].*", "ipn:[1-3,5,7,9,11,13,15].*"},
        {"ipn:[1,3,5,7,9,11,13,15,17,19].*", "ipn:[1,3,5,7,9,11,13,15,17,19].*"},
        {"ipn:[5-1].*", "ipn:[1-5].*"},
        {"ipn:[7-4294967296].*", "ipn:[7+].*"},
        {"ipn:2.[18446744073709551616-7]", "ipn:2.[7+]"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct eid_pattern p, q;
        char text[EID_TEXT_MAX];
        ck_assert_msg(eid_pattern_parse(texts[i].in, &p) == 0, "%s", texts[i].in);
        ck_assert_uint_eq(eid_pattern_text(&p, text), strlen(texts[i].out));
        ck_assert_str_eq(text, texts[i].out);
        ck_assert(eid_pattern_parse(text, &q) == 0 && eid_pattern_equal(&p, &q));
        ck_assert_int_eq(eid_pattern_rank(&p), eid_pattern_rank(&q));
    }
}
END_TEST

START_TEST(bad_ranges)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"ipn:[1-5.*", "without its"},
        {"ipn:[].*", "needs a number"},
        {"ipn:[1-].*", "needs a number"},
        {"ipn:[1, 2].*", "needs a number"},
        {"ipn:[1,,2].*", "needs a number"},
        {"ipn:[1-5]7.*", "behind"},
        {"ipn:[1-5]", "two parts"},
        {"ipn:[1].[2].[3].[4]", "two parts"},
        {"ipn:[4294967296].*", "too large"},
        {"ipn:4294967296.[1]", "too large"},
        {"ipn:[01].*", "too large or begins with 0"},
        {"ipn:1.[18446744073709551616]", "too large"},
        {"ipn:1.[18446744073709551616-18446744073709551617]", "too large"},
        {"ipn:1.[18446744073709551616+]", "too large"},
        {"ipn:[1,3,5,7,9,11,13,15,17,19,21].*", "too many"},
        {"ipn:[1-2-3].*", "without its"},
        {"imc:[1-5].*", "is not a pattern"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct eid_pattern p;
        const char *why = "";
        ck_assert_msg(eid_pattern_read(bad[i].text, &p, &why) == HELIO_EFORMAT, "%s", bad[i].text);
        ck_assert_msg(strstr(why, bad[i].why) != NULL, "%s: %s", bad[i].text, why);
    }
    char longest[EID_TEXT_MAX + 64] = "ipn:[1";
    while (strlen(longest) < EID_TEXT_MAX)
        strcat(longest, ",1");
    strcat(longest, "].*");
    struct eid_pattern p;
    ck_assert_int_eq(eid_pattern_parse(longest, &p), HELIO_EFORMAT);
}
END_TEST

START_TEST(patterns_as_text)
{
    static const char *const texts[] = {"*",         "ipn:*.*",        "imc:*.*", "ipn:977000.*.*",
                                        "ipn:2.*",   "ipn:977000.5.*", "imc:5.*", "ipn:2.7",
                                        "dtn://a/*", "dtn://a/b",      "dtn:**"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct eid_pattern p;
        char text[EID_TEXT_MAX];
        ck_assert_int_eq(eid_pattern_parse(texts[i], &p), 0);
        ck_assert_uint_eq(eid_pattern_text(&p, text), strlen(texts[i]));
        ck_assert_str_eq(text, texts[i]);
    }
}
END_TEST

START_TEST(bad_patterns)
{
    static const char *const texts[] = {"",           "**",          "ipn:*",     "3:**",
                                        "ipn:x.*.*",  "ipn:*.2.x",   "ipn:1.*.x", "ipn:1.2.*.*",
                                        "ipn:.*.*",   "ipn:1*",      "dtn://*/",  "dtn://h*",
                                        "dtn://h/*x", "dtn://h/*/*", "ipn:.*",    "dtn:*",
                                        "imc:*",      "imc:*.1",     "imc:1.*.*"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct eid_pattern p;
        ck_assert_msg(eid_pattern_parse(texts[i], &p) == HELIO_EFORMAT, "'%s'", texts[i]);
    }
}
END_TEST

START_TEST(which_patterns_may_meet)
{
    static const struct {
        const char *a, *b;
        bool meet;
    } pairs[] = {{"*", "ipn:9.*.*", true},
                 {"ipn:*.*", "ipn:9.*.*", true},
                 {"ipn:9.*.*", "ipn:9.1.*", true},
                 {"ipn:9.*.*", "ipn:8.1.*", false},
                 {"ipn:9.*.*", "ipn:8.*.*", false},
                 {"ipn:9.*.*", "ipn:9.*.*", true},
                 {"ipn:0.*.*", "ipn:5.*", true},
                 {"ipn:9.*.*", "imc:*.*", false},
                 {"ipn:9.*.*", "ipn:1.2", false},
                 {"ipn:9.*.*", "ipn:9.1.2", true},
                 {"ipn:[1-5].*", "ipn:[5-9].*", true},
                 {"ipn:[1-5].*", "ipn:[6-9].*", false},
                 {"ipn:[1-5].*", "ipn:3.7", true},
                 {"ipn:[1-5].*", "ipn:6.7", false},
                 {"ipn:[1-5].[1-3]", "ipn:3.*", true},
                 {"ipn:[1-5].[1-3]", "ipn:3.4", false},
                 {"ipn:[1-5].*", "ipn:0.*.*", true},
                 {"ipn:[1-5].*", "ipn:9.*.*", false},
                 {"ipn:[1-5].*", "ipn:*.*", true},
                 {"ipn:[1-5].*", "*", true},
                 {"ipn:[1-5].*", "dtn://h/*", false},
                 {"ipn:[1-5].*", "imc:*.*", false},
                 {"ipn:*.[8-9]", "ipn:[1-5].[9+]", true}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct eid_pattern p, q;
        ck_assert(eid_pattern_parse(pairs[i].a, &p) == 0 && eid_pattern_parse(pairs[i].b, &q) == 0);
        ck_assert_msg(eid_pattern_meet(&p, &q) == pairs[i].meet, "%zu", i);
        ck_assert_msg(eid_pattern_meet(&q, &p) == pairs[i].meet, "%zu", i);
        ck_assert_int_eq(eid_pattern_equal(&p, &q), strcmp(pairs[i].a, pairs[i].b) == 0);
    }
}
END_TEST

START_TEST(ranks_rise_with_detail)
{
    static const char *const texts[] = {"*",
                                        "ipn:*.*",
                                        "ipn:*.7",
                                        "ipn:9.*.*",
                                        "ipn:9.[1-100].*",
                                        "ipn:9.[1-5,7].*",
                                        "ipn:9.[1-2].3",
                                        "ipn:9.2.*",
                                        "ipn:9.2.[1-100]",
                                        "ipn:9.2.7"};
    static const char *const names[] = {"*",
                                        "dtn://h/*",
                                        "dtn://h/a/*",
                                        "dtn://h/a/b/*",
                                        "dtn://h/a/b/c/*",
                                        "dtn://h/a/b/c/d/*",
                                        "dtn://h/a/b/c/d/e/*",
                                        "dtn://h/a/b/c/d/e/f/*",
                                        "dtn://h/a/b/c/d/e/f/g/*",
                                        "dtn://h/a/b/c/d"};
    for (size_t i = 0; i + 1 < sizeof texts / sizeof texts[0]; i++) {
        struct eid_pattern low, high;
        ck_assert(eid_pattern_parse(texts[i], &low) == 0 &&
                  eid_pattern_parse(texts[i + 1], &high) == 0);
        ck_assert_int_lt(eid_pattern_rank(&low), eid_pattern_rank(&high));
        ck_assert(eid_pattern_parse(names[i], &low) == 0 &&
                  eid_pattern_parse(names[i + 1], &high) == 0);
        ck_assert_int_lt(eid_pattern_rank(&low), eid_pattern_rank(&high));
    }
}
END_TEST

static void assert_wire(struct eid e, const char *hex)
{
    uint8_t want[300], got[300];
    size_t len = unhex(hex, want, sizeof want);
    struct writer w = writer_of(got, sizeof got);
    eid_write(&w, &e);
    ck_assert(!w.bad);
    ck_assert_uint_eq(eid_size(&e), writer_len(&w));
    ck_assert(slice_equal(slice_of(got, writer_len(&w)), slice_of(want, len)));
    struct check c = {.mode = BUNDLE_STRICT};
    struct item_reader r = item_reader_of(want, slice_of(want, len));
    struct eid back = eid_read(&r, &c);
    ck_assert(!r.in.bad && !c.bad && eid_equal(&e, &back) && back.three == e.three);
}

START_TEST(wire_forms)
{
    assert_wire(eid_none(), "820100");
    assert_wire(parsed("ipn:1.2"), "8202820102");
    assert_wire(parsed("ipn:0.0"), "8202820000");
    assert_wire(parsed("dtn://h/"), "8201642f2f682f");
    assert_wire(parsed("ipn:977000.100.1"), "8202831a000ee868186401"); /* RFC 9758 §6.1.2 */
    struct eid packed = parsed("ipn:977000.100.1");
    packed.three = false;
    assert_wire(packed, "8202821b000ee8680000006401"); /* RFC 9758 §6.1.1 */
    struct eid three = parsed("ipn:1.2");
    three.three = true;
    assert_wire(three, "820283000102");
}
END_TEST

/* Schemes without endpoints here come back byte for byte, whatever their part is. */
START_TEST(other_schemes)
{
    static const struct {
        const char *hex, *text;
    } good[] = {
        {"8203820501", "imc:5.1"},
        {"820382182a1bffffffffffffffff", "imc:42.18446744073709551615"},
        {"82031863", "scheme-3:1863"}, /* not as imc has it */
        {"820383010203", "scheme-3:83010203"},
        {"8203820518ff", "imc:5.255"},
        {"820382051801", "scheme-3:82051801"}, /* a wide number stays wide */
        {"82046568656c6c6f", "scheme-4:6568656c6c6f"},
        {"82190100 8241ff8120", "scheme-256:8241ff8120"},
        {"821bffffffffffffffff f5", "scheme-18446744073709551615:f5"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint8_t bytes[64], out[64];
        char text[EID_TEXT_MAX];
        size_t len = unhex(good[i].hex, bytes, sizeof bytes);
        struct check c = {.mode = BUNDLE_LENIENT};
        struct item_reader r = item_reader_of(bytes, slice_of(bytes, len));
        struct eid e = eid_read(&r, &c), none = eid_none();
        ck_assert_msg(!r.in.bad && !c.bad, "%s", good[i].hex);
        ck_assert(!eid_is_none(&e) && !eid_is_node(&e) && !eid_is_local(&e) && eid_legal(&e));
        ck_assert(eid_equal(&e, &e) && !eid_equal(&e, &none) && eid_same_node(&e, &e));
        ck_assert_uint_eq(eid_text(&e, text), strlen(good[i].text));
        ck_assert_str_eq(text, good[i].text);
        struct writer w = writer_of(out, sizeof out);
        eid_write(&w, &e);
        ck_assert_uint_eq(eid_size(&e), len);
        ck_assert(slice_equal(slice_of(out, writer_len(&w)), slice_of(bytes, len)));
        for (size_t k = 0; k < i; k++) {
            len = unhex(good[k].hex, bytes, sizeof bytes);
            r = item_reader_of(bytes, slice_of(bytes, len));
            struct eid other = eid_read(&r, &c);
            ck_assert(!eid_equal(&e, &other) && eid_hash(1, &e) != eid_hash(1, &other));
        }
    }
}
END_TEST

START_TEST(longest_of_other_schemes)
{
    uint8_t bytes[9 + 1 + 2 + EID_RAW_MAX] = {0x82, 0x1b};
    memset(bytes + 2, 0xff, sizeof bytes - 2);
    for (size_t len = EID_RAW_MAX - 2; len <= EID_RAW_MAX - 1; len++) { /* of the byte string */
        bytes[10] = 0x58;
        bytes[11] = (uint8_t)len;
        char text[EID_TEXT_MAX];
        struct check c = {.mode = BUNDLE_STRICT};
        struct item_reader r = item_reader_of(bytes, slice_of(bytes, 12 + len));
        struct eid e = eid_read(&r, &c);
        ck_assert_int_eq(r.in.bad, len + 2 > EID_RAW_MAX);
        if (!r.in.bad)
            ck_assert_uint_lt(eid_text(&e, text), EID_TEXT_MAX);
    }
}
END_TEST

static int read_verdict(const char *hex, enum bundle_mode mode)
{
    uint8_t bytes[400];
    size_t len = unhex(hex, bytes, sizeof bytes);
    struct check c = {.mode = mode};
    struct item_reader r = item_reader_of(bytes, slice_of(bytes, len));
    eid_read(&r, &c);
    return r.in.bad ? 2 : c.bad ? 1 : 0;
}

START_TEST(bad_wire_forms)
{
    static const char *const always[] = {"",
                                         "82",
                                         "8202",
                                         "810100",
                                         "830100 00",
                                         "8201 01",
                                         "820120",
                                         "8200820102",
                                         "8203a0",
                                         "82038201",
                                         "8203 81818181 8100",
                                         "8203 9f0102ff",
                                         "8203 f6",
                                         "82028101",
                                         "82028400010203",
                                         "820282 20 01",
                                         "8202831b0000000100000000 0102",
                                         "820283 00 1b0000000100000000 02",
                                         "820160",
                                         "8201632f2f0a",
                                         "8201644141 2041",
                                         "820143414141",
                                         "9f0100ff",
                                         "82029f0102ff"};
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) {
        ck_assert_msg(read_verdict(always[i], BUNDLE_LENIENT) == 2, "%s", always[i]);
        ck_assert_msg(read_verdict(always[i], BUNDLE_STRICT) == 2, "%s", always[i]);
    }
    static const char *const lenient[] = {"8201646e6f6e65", "8201632f2f68", "82016161",
                                          "8201672f2f682f613f62", "8201672f2f682f612362"};
    for (size_t i = 0; i < sizeof lenient / sizeof lenient[0]; i++) {
        ck_assert_msg(read_verdict(lenient[i], BUNDLE_LENIENT) == 0, "%s", lenient[i]);
        ck_assert_msg(read_verdict(lenient[i], BUNDLE_STRICT) == 1, "%s", lenient[i]);
    }
    ck_assert_int_eq(read_verdict("8202820007", BUNDLE_STRICT), 0); /* counts as null */
}
END_TEST

/* With one mix of both numbers these have one hash, whatever the seed is. */
START_TEST(hashes_do_not_cancel_out)
{
    uint64_t first[2];
    for (uint64_t node = 0; node < 2000; node++) {
        struct eid e = {.scheme = EID_IPN, .node = node};
        e.service = (1 ^ node * UINT64_C(0x9e3779b97f4a7c15)) - UINT64_C(0x7f4a7c159e3779b9);
        for (uint64_t seed = 0; seed < 2; seed++) {
            const uint64_t h = eid_hash(seed, &e);
            ck_assert(node == 0 || h != first[seed]);
            first[seed] = node == 0 ? h : first[seed];
        }
    }
    const struct eid own = {.scheme = EID_IPN, .node = 7}; /* stores have this one: quota_peer_id */
    ck_assert_uint_eq(eid_hash(5, &own), hash_mix(5, 7, 0));
}
END_TEST

START_TEST(hashes_of_nodes)
{
    static const char *const texts[] = {
        "ipn:1.0",  "ipn:1.7",     "ipn:977000.100.1", "ipn:0.0",   "ipn:!.7",
        "dtn:none", "dtn://host/", "dtn://host/a/b~c", "imc:42.18", "ipn:4294967295.1.2"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const struct eid e = parsed(texts[i]), node = eid_node(&e);
        ck_assert_uint_eq(eid_node_hash(5, &e), eid_hash(5, &node));
    }
    const struct eid null = {.scheme = EID_IPN, .service = 3}, node = eid_node(&null);
    ck_assert_uint_eq(eid_node_hash(5, &null), eid_hash(5, &node));
}
END_TEST

SUITE(bp_eid, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, texts_come_back);
    tcase_add_test(t, bad_texts);
    tcase_add_test(t, longest_dtn);
    tcase_add_test(t, comparison);
    tcase_add_test(t, names_of_groups);
    tcase_add_test(t, patterns);
    tcase_add_test(t, patterns_as_text);
    tcase_add_test(t, bad_patterns);
    tcase_add_test(t, patterns_with_ranges);
    tcase_add_test(t, ranges_have_one_text);
    tcase_add_test(t, bad_ranges);
    tcase_add_test(t, which_patterns_may_meet);
    tcase_add_test(t, ranks_rise_with_detail);
    tcase_add_test(t, wire_forms);
    tcase_add_test(t, bad_wire_forms);
    tcase_add_test(t, other_schemes);
    tcase_add_test(t, longest_of_other_schemes);
    tcase_add_test(t, hashes_do_not_cancel_out);
    tcase_add_test(t, hashes_of_nodes);
}
