/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule that strict mode keeps, what lenient mode makes of it, and what lint says. */
#include "bp_help.h"

#include "base/crc.h"
#include "bp/codec/admin.h"
#include "tests/unit/suite.h"

/* How a bundle fares: refused always, refused in strict mode only, or noted. */
enum fate { ALWAYS, STRICT_ONLY, NOTED };

static bool has_finding(const struct bundle_findings *f, const char *section, const char *text)
{
    for (size_t i = 0; i < f->len; i++) {
        if (strncmp(f->at[i].section, section, strlen(section)) == 0 &&
            strstr(f->at[i].text, text) != NULL)
            return true;
    }
    return false;
}

static void assert_fate(const uint8_t *bytes, size_t len, enum fate fate, const char *section,
                        const char *text)
{
    struct bundle b;
    struct bundle_findings f;
    int rc = bundle_decode(bytes, len, BUNDLE_STRICT, &b, &f);
    ck_assert_msg(rc == (fate == NOTED ? 0 : HELIO_EFORMAT), "strict: %s", text);
    ck_assert_msg(has_finding(&f, section, text), "strict: %s %s (%s)", section, text,
                  f.len ? f.at[f.len - 1].text : "none");
    ck_assert(fate == NOTED || f.at[f.len - 1].fatal);
    rc = bundle_decode(bytes, len, BUNDLE_LENIENT, &b, &f);
    ck_assert_msg(rc == (fate == ALWAYS ? HELIO_EFORMAT : 0), "lenient: %s (%s)", text,
                  f.len ? f.at[f.len - 1].text : "none");
    ck_assert_msg(has_finding(&f, section, text), "lenient: %s %s", section, text);
    bundle_lint(bytes, len, &f);
    ck_assert_msg(has_finding(&f, section, text), "lint: %s %s", section, text);
    bundle_decode(bytes, len, BUNDLE_STRICT, &b, NULL); /* findings are optional */
}

static void assert_bundle(struct bundle b, enum fate fate, const char *section, const char *text)
{
    struct buf *wire = bundle_encode_copy(&b);
    ck_assert_msg(wire != NULL, "%s", text);
    assert_fate(buf_data(wire), wire->len, fate, section, text);
    buf_drop(wire);
}

static void assert_hex(const char *hex, enum fate fate, const char *section, const char *text)
{
    uint8_t bytes[3000];
    size_t len = unhex(hex, bytes, sizeof bytes);
    assert_fate(bytes, len, fate, section, text);
}

START_TEST(field_rules)
{
    struct bundle good = sample_bundle("payload", 7), b;
    b = good, b.crc = CRC_NONE;
    assert_bundle(b, STRICT_ONLY, "RFC 9171 §4.3.1", "neither a CRC nor an integrity block");
    b = good, b.flags = BUNDLE_IS_ADMIN | BUNDLE_REPORT_DELETION;
    assert_bundle(b, STRICT_ONLY, "RFC 9171 §4.2.3", "administrative record requests no");
    b = good, b.id.source = eid_none(), b.flags = BUNDLE_NO_FRAGMENT | BUNDLE_REPORT_RECEPTION;
    assert_bundle(b, STRICT_ONLY, "RFC 9171 §4.2.3", "without source requests no");
    b = good, b.id.source = eid_ipn(0, 0, 0);
    assert_bundle(b, STRICT_ONLY, "RFC 9171 §4.2.3", "must not be fragmented");
    b = good, b.flags = 0x8;
    assert_bundle(b, NOTED, "RFC 9171 §4.2.3", "reserved bundle");
    b = good, b.payload_flags = 0x8;
    assert_bundle(b, NOTED, "RFC 9171 §4.2.4", "reserved block");
    b = good, b.flags = BUNDLE_IS_FRAGMENT | BUNDLE_NO_FRAGMENT, b.id.fragment = true,
    b.id.total = 9;
    assert_bundle(b, NOTED, "RFC 9171 §4.2.3", "fragment of a bundle that must not");
    b = good, b.flags = BUNDLE_IS_ADMIN, b.payload_flags = BLOCK_REPORT_IF_UNKNOWN;
    assert_bundle(b, STRICT_ONLY, "RFC 9171 §4.2.4", "requests reports");
    b = good, b.flags = BUNDLE_IS_ADMIN, b.hops_frame.flags = BLOCK_REPORT_IF_UNKNOWN;
    assert_bundle(b, STRICT_ONLY, "RFC 9171 §4.2.4", "requests reports");
    b = good, b.id.time_ms = 0, b.has_age = false;
    assert_bundle(b, STRICT_ONLY, "RFC 9171 §4.4.2", "has a bundle age block");
    b = good, b.hop_limit = 0;
    assert_bundle(b, STRICT_ONLY, "RFC 9171 §4.4.3", "hop limit");
    b = good, b.hop_limit = 256;
    assert_bundle(b, STRICT_ONLY, "RFC 9171 §4.4.3", "hop limit");
    b = good, b.destination = eid_ipn(0, EID_LOCAL_NODE, 7);
    assert_bundle(b, ALWAYS, "RFC 9758 §5.4", "neither source nor destination");
    b = good, b.report_to = eid_ipn(0, EID_LOCAL_NODE, 7);
    assert_bundle(b, STRICT_ONLY, "RFC 9758 §5.4", "does not get reports");
    b = good, b.report_to = (struct eid){.scheme = EID_IPN, .service = 5};
    assert_bundle(b, NOTED, "RFC 9758 §3.4.1", "service number 0");
    b = good, b.id.source = (struct eid){.scheme = EID_DTN, .ssp = "//node/~all"};
    assert_bundle(b, STRICT_ONLY, "RFC 9171 §4.2.5.2", "an endpoint of one node");
    b = good, b.id.source = eid_imc_of(5, 1);
    assert_bundle(b, STRICT_ONLY, "RFC 9171 §4.2.5.2", "an endpoint of one node");
    b = good, b.previous = (struct eid){.scheme = EID_DTN, .ssp = "//node/~all"};
    assert_bundle(b, STRICT_ONLY, "RFC 9171 §4.4.1", "named by an endpoint of one node");
    b = good, b.previous = eid_none();
    assert_bundle(b, STRICT_ONLY, "RFC 9171 §4.4.1", "named by an endpoint of one node");
    b = good, b.report_to = (struct eid){.scheme = EID_DTN, .ssp = "//node"};
    assert_bundle(b, STRICT_ONLY, "RFC 9171 §4.2.5.1.1 with erratum 7272", "node-name/demux");
}
END_TEST

START_TEST(block_rules)
{
    static const uint8_t age[] = {0x05}, hops[] = {0x82, 0x01, 0x02, 0x00}, none[] = {0x20};
    struct bundle good = sample_bundle("payload", 7), b;
    good.others_len = 1;
    b = good, b.others[0] = (struct bundle_block){.type = 0};
    assert_bundle(b, STRICT_ONLY, "RFC 9171 §9.1", "type 0");
    b = good, b.others[0] = (struct bundle_block){.type = BLOCK_AGE, .data = slice_of(age, 1)};
    assert_bundle(b, ALWAYS, "RFC 9171 §4.4.2", "at most one");
    b = good, b.has_hops = false;
    b.others[0] = (struct bundle_block){.type = BLOCK_HOP_COUNT, .data = slice_of(hops, 4)};
    assert_bundle(b, ALWAYS, "RFC 9171 §4.4.3", "behind the block's content");
    b = good, b.has_age = false;
    b.others[0] = (struct bundle_block){.type = BLOCK_AGE, .data = slice_of(none, 1)};
    assert_bundle(b, ALWAYS, "RFC 9171 §4.4.2", "unsigned integer");
    b = good, b.has_previous = false;
    b.others[0] = (struct bundle_block){.type = BLOCK_PREVIOUS_NODE, .data = slice_of(none, 1)};
    assert_bundle(b, ALWAYS, "RFC 9171 §4.4.1", "array");
}
END_TEST

/* dst ipn:1.2, src ipn:2.1, report-to ipn:2.1, time 5, sequence 1, lifetime 1000 */
#define FIELDS "8202820102 8202820201 8202820201 820501 1903e8"
#define PRIMARY "88 07 00 00 " FIELDS
#define PAYLOAD "85 01 01 00 00 42 6869"

START_TEST(shape_of_bundles)
{
    const char *bundle = "RFC 9171 §4.1", *primary = "RFC 9171 §4.3.1", *block = "RFC 9171 §4.3.2";
    assert_hex("82 " PRIMARY PAYLOAD, STRICT_ONLY, bundle, "indefinite length");
    assert_hex("", ALWAYS, bundle, "ends within");
    assert_hex("00", ALWAYS, bundle, "indefinite");
    assert_hex("9fff", ALWAYS, primary, "array");
    assert_hex("9f" PRIMARY "ff", ALWAYS, bundle, "no payload block");
    assert_hex("9f" PRIMARY PAYLOAD "ff00", ALWAYS, bundle, "behind the bundle's end");
    assert_hex("9f" PRIMARY PAYLOAD, ALWAYS, bundle, "ends within");
    assert_hex("9f" PRIMARY PAYLOAD "85 18c8 02 00 00 40 ff", ALWAYS, bundle, "last block");
    assert_hex("9f" PRIMARY PAYLOAD PAYLOAD "ff", ALWAYS, bundle, "last block");
    assert_hex("9f 88 06 00 00" FIELDS PAYLOAD "ff", ALWAYS, primary, "version");
    assert_hex("9f 89 07 00 00" FIELDS PAYLOAD "ff", ALWAYS, primary, "8 elements");
    assert_hex("9f 88 07 01 00" FIELDS PAYLOAD "ff", ALWAYS, primary, "8 elements");
    assert_hex("9f 88 07 00 03" FIELDS PAYLOAD "ff", ALWAYS, primary, "CRC type");
    assert_hex("9f 88 07 1800 00" FIELDS PAYLOAD "ff", STRICT_ONLY, bundle, "shortest");
    assert_hex("9f" PRIMARY "85 01 01 00 00 5802 6869"
               "ff",
               STRICT_ONLY, bundle, "shortest");
    assert_hex("9f" PRIMARY "85 07 02 00 00 42 1805" PAYLOAD "ff", STRICT_ONLY, bundle, "shortest");
    assert_hex("9f" PRIMARY "85 01 02 00 00 40 ff", ALWAYS, bundle, "block number 1");
    assert_hex("9f" PRIMARY "85 18c8 01 00 00 40" PAYLOAD "ff", ALWAYS, bundle, "block number 1");
    assert_hex("9f" PRIMARY "85 18c8 00 00 00 40" PAYLOAD "ff", ALWAYS, block, "primary block's");
    assert_hex("9f" PRIMARY "85 18c8 02 00 00 40 85 18c9 02 00 00 40" PAYLOAD "ff", ALWAYS, block,
               "same number");
    assert_hex("9f" PRIMARY "86 01 01 00 00 42 6869 ff", ALWAYS, block, "5 elements");
    assert_hex("9f" PRIMARY "85 01 01 00 02 42 6869 ff", ALWAYS, block, "5 elements");
    assert_hex("9f" PRIMARY "86 01 01 00 01 42 6869 43 000000 ff", ALWAYS, "RFC 9171 §4.2.1",
               "2 bytes");
    assert_hex("9f" PRIMARY "86 01 01 00 01 42 6869 42 0000 ff", ALWAYS, "RFC 9171 §4.2.1",
               "does not match");
    assert_hex("9f" PRIMARY "85 01 01 00 00 d818 42 6869 ff", STRICT_ONLY, block, "tag");
    assert_hex("9f" PRIMARY "85 01 01 00 00 c1 42 6869 ff", ALWAYS, block, "byte string");
    assert_hex("9f" PRIMARY "85 01 01 00 00 5f 42 6869 ff ff", ALWAYS, block, "definite length");
    assert_hex("9f" PRIMARY "85 01 01 00 00 62 6869 ff", ALWAYS, block, "byte string");
    assert_hex("9f" PRIMARY "9f 01 01 00 00 42 6869 ff ff", ALWAYS, block, "definite length");
    assert_hex("9f 8a 07 01 00" FIELDS "09 0a" PAYLOAD "ff", ALWAYS, "RFC 9171 §5.8", "beyond");
    assert_hex("9f 8a 07 01 00" FIELDS "00 00 85 01 01 00 00 40 ff", ALWAYS, "RFC 9171 §5.8",
               "beyond");
    assert_hex("9f 8a 07 01 00" FIELDS "1bffffffffffffffff 1bffffffffffffffff" PAYLOAD "ff", ALWAYS,
               "RFC 9171 §5.8", "beyond");
}
END_TEST

START_TEST(dtn_none_as_text)
{
    assert_hex("9f 88 07 00 00 8202820102 8202820201 8201646e6f6e65 820501 1903e8" PAYLOAD "ff",
               STRICT_ONLY, "RFC 9171 §4.2.5.1.1", "number 0");
}
END_TEST

/* A struct has places for 32 blocks; what is behind them counts all the same. */
START_TEST(blocks_behind_the_first)
{
    char hex[2000] = "9f" PRIMARY;
    for (int i = 0; i < BUNDLE_INLINE_MAX; i++)
        snprintf(hex + strlen(hex), 40, "85 18c8 18%02x 00 00 40 ", 0x20 + i);
    strcat(hex, "85 06 02 00 00 43 820100 85 07 03 00 00 41 05 "); /* these have their own places */
    strcat(hex, "85 0a 04 00 00 43 820501 ");
    size_t len = strlen(hex);
    strcpy(hex + len, PAYLOAD "ff");
    uint8_t bytes[3000];
    struct bundle b;
    size_t n = unhex(hex, bytes, sizeof bytes);
    ck_assert_int_eq(bundle_decode(bytes, n, BUNDLE_LENIENT, &b, NULL), 0);
    ck_assert_uint_eq(b.others_len, BUNDLE_INLINE_MAX);
    ck_assert_uint_eq(b.rest.len, 3);
    ck_assert(b.has_previous && b.has_age && b.has_hops);
    ck_assert_uint_eq(count_blocks(&b), BUNDLE_INLINE_MAX);
    ck_assert_uint_eq(b.extension_bytes, BUNDLE_INLINE_MAX * 8 + 9 + 7 + 9);
    const uint64_t most = b.extension_bytes;
    ck_assert_int_eq(bundle_decode_within(bytes, n, BUNDLE_LENIENT, most, &b, NULL), 0);
    ck_assert_int_eq(bundle_decode_within(bytes, n, BUNDLE_LENIENT, most - 1, &b, NULL),
                     HELIO_ESPACE);
    memset(bytes + n - 60, 0xff, 60); /* what is behind the limit is not looked at */
    ck_assert_int_eq(bundle_decode_within(bytes, n, BUNDLE_LENIENT, 100, &b, NULL), HELIO_ESPACE);
    ck_assert_int_eq(bundle_decode_within(bytes, n, BUNDLE_LENIENT, most, &b, NULL), HELIO_EFORMAT);
    strcpy(hex + len, "85 18c8 1870 00 00 40" PAYLOAD "ff");
    n = unhex(hex, bytes, sizeof bytes);
    ck_assert_int_eq(bundle_decode(bytes, n, BUNDLE_LENIENT, &b, NULL), 0);
    ck_assert_uint_eq(count_blocks(&b), BUNDLE_INLINE_MAX + 1);
    strcpy(hex + len, "85 18c8 1821 00 00 40" PAYLOAD "ff"); /* one of the first has this number */
    assert_hex(hex, ALWAYS, "RFC 9171 §4.3.2", "same number");
    strcpy(hex + len, "85 18c8 1870 00 00 40 85 18c8 1870 00 00 40" PAYLOAD "ff");
    assert_hex(hex, ALWAYS, "RFC 9171 §4.3.2", "same number");
    strcpy(hex + len, "85 07 1870 00 00 41 06" PAYLOAD "ff");
    assert_hex(hex, ALWAYS, "RFC 9171 §4.4.2", "at most one");
    strcpy(hex + len, "85 18c8 1870 00 00 18" PAYLOAD "ff");
    assert_hex(hex, ALWAYS, "RFC 9171 §4.3.2", "byte string");
}
END_TEST

/* The last place is the fatal finding's, however many notes came before. */
START_TEST(findings_are_limited)
{
    char hex[2000] = "9f" PRIMARY;
    for (int i = 0; i < 20; i++) /* reserved flags */
        snprintf(hex + strlen(hex), 40, "85 18c8 18%02x 08 00 40 ", 0x20 + i);
    strcat(hex, "86 01 01 00 01 42 6869 42 0000 ff");
    uint8_t bytes[1000];
    struct bundle b;
    struct bundle_findings f;
    size_t n = unhex(hex, bytes, sizeof bytes);
    ck_assert_int_eq(bundle_decode(bytes, n, BUNDLE_LENIENT, &b, &f), HELIO_EFORMAT);
    ck_assert_uint_eq(f.len, BUNDLE_FINDINGS_MAX);
    ck_assert(f.at[f.len - 1].fatal && !f.at[f.len - 2].fatal);
    ck_assert_str_eq(f.at[f.len - 1].text, "the CRC does not match the block");
}
END_TEST

START_TEST(lint_goes_on)
{
    struct bundle b = sample_bundle("not a record", 12);
    b.flags = BUNDLE_IS_ADMIN | BUNDLE_REPORT_DELIVERY;
    b.hop_limit = 0;
    struct buf *wire = bundle_encode_copy(&b);
    buf_data(wire)[wire->len - 2] ^= 1; /* CRC of the payload */
    struct bundle_findings f;
    ck_assert_uint_eq(bundle_lint(buf_data(wire), wire->len, &f), 4);
    ck_assert(has_finding(&f, "RFC 9171 §4.2.1", "CRC") && has_finding(&f, "RFC 9171 §4.2.3", ""));
    ck_assert(has_finding(&f, "RFC 9171 §4.4.3", "") && has_finding(&f, "RFC 9171 §6.1", ""));
    ck_assert_uint_eq(f.at[0].at, wire->len - 6);
    buf_drop(wire);
}
END_TEST

/* Erratum 8043: the CRC runs over the head of its own item, only the value is zero. */
START_TEST(crc_item_head_counts)
{
    uint8_t bytes[200];
    size_t len = unhex("9f 89 07 00 01" FIELDS "42 0000" PAYLOAD "ff", bytes, sizeof bytes);
    size_t end = len - 1 - 8; /* of the primary block */
    uint16_t crc = crc16_x25(0, bytes + 1, end - 1);
    bytes[end - 2] = (uint8_t)(crc >> 8);
    bytes[end - 1] = (uint8_t)crc;
    struct bundle b;
    ck_assert_int_eq(bundle_decode(bytes, len, BUNDLE_STRICT, &b, NULL), 0);
}
END_TEST

SUITE(bp_rules, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, field_rules);
    tcase_add_test(t, block_rules);
    tcase_add_test(t, shape_of_bundles);
    tcase_add_test(t, dtn_none_as_text);
    tcase_add_test(t, blocks_behind_the_first);
    tcase_add_test(t, findings_are_limited);
    tcase_add_test(t, lint_goes_on);
    tcase_add_test(t, crc_item_head_counts);
}
