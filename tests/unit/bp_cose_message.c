/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of COSE messages: what is read, what is refused, and the limits of counts and depth;
 * and that of the parameters of a COSE block. */
#include "bp_cose_help.h"
#include "tests/unit/suite.h"

static uint8_t bytes[8192];

static const char *parse(uint64_t id, const char *hex, struct cose_message *m)
{
    return cose_message_parse(id, slice_of(bytes, unhex(hex, bytes, sizeof bytes)),
                              slice_of(NULL, 0), slice_of(NULL, 0), m);
}

START_TEST(read_fields)
{
    struct cose_message m;
    ck_assert_ptr_null(parse(COSE_MAC0, "8443a10106a204416b2018f6f64101", &m));
    ck_assert_int_eq(m.body.headers.alg, COSE_HMAC_384);
    ck_assert_uint_eq(m.body.headers.kid.len, 1);
    ck_assert_uint_eq(m.body.protected_map.len, 3);
    ck_assert_uint_eq(m.body.value.len, 1);
    ck_assert_uint_eq(m.len, 0);
    /* a recipient; its protected map is empty in either form; the value may be null */
    ck_assert_ptr_null(parse(COSE_ENCRYPT, "8443a10103a0f6828341a0a10125f68340a1012540", &m));
    ck_assert_uint_eq(m.len, 2);
    ck_assert_uint_eq(m.at[0].protected_map.len, 0);
    ck_assert_int_eq(m.at[1].headers.alg, COSE_DIRECT);
    /* x5chain with one certificate and with two; x5t */
    ck_assert_ptr_null(parse(COSE_SIGN1, "8443a10126a11821420102f64101", &m));
    ck_assert_uint_eq(m.body.headers.chain_len, 1);
    ck_assert_ptr_null(parse(COSE_SIGN1, "8443a10126a118218241014102f64101", &m));
    ck_assert_uint_eq(m.body.headers.chain_len, 2);
    ck_assert_ptr_null(parse(COSE_SIGN1, "8443a10126a11822822f4105f64101", &m));
    ck_assert_int_eq(m.body.headers.x5t_alg, COSE_SHA_256);
    /* an unknown critical header, and a known one */
    ck_assert_ptr_null(parse(COSE_SIGN1, "8447a2012602811863a0f64101", &m));
    ck_assert(m.body.headers.critical);
    ck_assert_ptr_null(parse(COSE_SIGN1, "8446a20126028104a0f64101", &m));
    ck_assert(!m.body.headers.critical);
    /* values of other kinds are skipped: map, tag, float, text; and labels of text */
    ck_assert_ptr_null(
        parse(COSE_SIGN1,
              "8443a10126a51863a101021864c1021865fb00000000000000001866616161780af64101", &m));
}
END_TEST

START_TEST(refused)
{
    static const struct {
        uint64_t id;
        const char *hex, *why;
    } wrong[] = {
        {COSE_MAC0, "", ""},
        {19, "8443a10106a0f64101", "result id"},
        {COSE_MAC0, "8343a10106a0f6", "length"},
        {COSE_MAC0, "8543a10106a0f641014102", "length"},
        {COSE_MAC0, "8443a10106a0f6410100", "behind"},
        {COSE_MAC0, "8443a10106a0410041 01", "null"},
        {COSE_MAC0, "8440a10106f64101", "protected"},         /* the algorithm is not protected */
        {COSE_MAC0, "8443a10106a10106f64101", "twice"},       /* in both maps */
        {COSE_MAC0, "8445a201060105a0f64101", "encoded map"}, /* in one map */
        {COSE_MAC0, "8443a10106a10281 04f64101", "crit"},     /* unprotected */
        {COSE_MAC0, "8445a201060280a0f64101", "encoded map"}, /* an empty crit */
        {COSE_ENCRYPT0, "8343a10103a20541000641 00f6", "exclude"},
        {COSE_MAC0, "8443a10106a13440f64101", "Party"},
        {COSE_MAC0, "8444a1010600a0f64101", "encoded map"}, /* bytes behind the map */
        {COSE_MAC0, "9f43a10106a0f64101ff", "array"},
        {COSE_SIGN1, "8443a10126a1182180f64101", "1 to 4"},
        {COSE_SIGN1, "8443a10126a11821854101410141014101 4101f64101", "1 to 4"},
        {COSE_SIGN1, "8443a10126a11822832f4101 00f64101", "x5t"},
        {COSE_ENCRYPT, "8443a10103a0f680", "1 to 16"},
        {COSE_ENCRYPT, "8443a10103a0f6818440a1012540 80", "three items"}, /* a third layer */
        {COSE_SIGN, "8440a0f6818343a10126a0f6", "byte string"},           /* without signature */
        {COSE_SIGN1, "8443a10126a11863 818181818100f64101", "deeply"},
        {COSE_SIGN1, "8443a10126a118635f4101fff64101", ""}, /* of indefinite length */
        {COSE_SIGN1, "8443a10126a118639bffffffffffffffff00f64101", "ends"},
        {COSE_SIGN1, "8443a10126bbffffffffffffffff00f64101", "16"},
    };
    struct cose_message m;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *why = parse(wrong[i].id, wrong[i].hex, &m);
        ck_assert_msg(why != NULL && strstr(why, wrong[i].why) != NULL, "%zu: %s", i,
                      why == NULL ? "read" : why);
    }
}
END_TEST

/* COSE_LAYERS_MAX recipients and COSE_LABELS_MAX labels are read, one more is not; so are
 * COSE_LEVELS_MAX arrays within each other. */
START_TEST(limits)
{
    struct cose_message m;
    char hex[1024];
    for (int n = COSE_LAYERS_MAX; n <= COSE_LAYERS_MAX + 1; n++) {
        char *p = hex + sprintf(hex, "8443a10103a0f6%02x", 0x80 + n);
        for (int i = 0; i < n; i++)
            p += sprintf(p, "8340a1012540");
        ck_assert_int_eq(parse(COSE_ENCRYPT, hex, &m) == NULL, n == COSE_LAYERS_MAX);
    }
    for (int n = COSE_LABELS_MAX - 1; n <= COSE_LABELS_MAX; n++) { /* and the algorithm */
        char *p = hex + sprintf(hex, "8443a10106%02x", 0xa0 + n);
        for (int i = 0; i < n; i++)
            p += sprintf(p, "18%02x00", 100 + i);
        sprintf(p, "f64101");
        ck_assert_int_eq(parse(COSE_MAC0, hex, &m) == NULL, n < COSE_LABELS_MAX);
    }
    for (int n = COSE_LEVELS_MAX; n <= COSE_LEVELS_MAX + 1; n++) {
        char *p = hex + sprintf(hex, "8443a10106a11863");
        for (int i = 0; i < n; i++)
            p += sprintf(p, "81");
        sprintf(p, "00f64101");
        ck_assert_int_eq(parse(COSE_MAC0, hex, &m) == NULL, n == COSE_LEVELS_MAX);
    }
}
END_TEST

/* Additional headers: for the last layer, and only where it has none (§2.2.1). */
START_TEST(additional_headers)
{
    struct cose_message m;
    uint8_t first[64], second[64];
    const struct slice kid = slice_of(first, unhex("a1044161", first, sizeof first));
    const struct slice text = slice_of(bytes, unhex("8443a10106a0f64101", bytes, sizeof bytes));
    ck_assert_ptr_null(cose_message_parse(COSE_MAC0, text, kid, slice_of(NULL, 0), &m));
    ck_assert_mem_eq(m.body.headers.kid.data, "a", 1);
    const struct slice same = slice_of(second, unhex("a1044162", second, sizeof second));
    ck_assert_ptr_nonnull(cose_message_parse(COSE_MAC0, text, kid, same, &m)); /* in both */
    ck_assert_ptr_nonnull(
        cose_message_parse(COSE_MAC0, text, slice_of("\xff", 1), slice_of(NULL, 0), &m));
    const struct slice own =
        slice_of(bytes, unhex("8443a10106a1044163f64101", bytes, sizeof bytes));
    ck_assert_ptr_null(cose_message_parse(COSE_MAC0, own, slice_of(NULL, 0), kid, &m));
    ck_assert_mem_eq(m.body.headers.kid.data, "c", 1);
    const struct slice many =
        slice_of(bytes, unhex("8443a10103a0f6818340a1012540", bytes, sizeof bytes));
    ck_assert_ptr_null(cose_message_parse(COSE_ENCRYPT, many, kid, slice_of(NULL, 0), &m));
    ck_assert_ptr_null(m.body.headers.kid.data);
    ck_assert_mem_eq(m.at[0].headers.kid.data, "a", 1);
}
END_TEST

#define BLOCK(parameters) "81010301820166 2f2f7372632f" parameters "81818211 4101"

/* Content of a BIB: the AAD scope and the additional maps. */
START_TEST(parameters)
{
    static const struct {
        const char *hex;
        bool good;
    } blocks[] = {
        {BLOCK("80"), true},
        {BLOCK("818205a0"), true},
        {BLOCK("818205a200012001"), true},
        {BLOCK("818205a220010001"), true},      /* not sorted */
        {BLOCK("818205a200010001"), false},     /* twice */
        {BLOCK("818205a10000"), false},         /* no flag */
        {BLOCK("818205a10003"), false},         /* the primary block has no content */
        {BLOCK("818205a12003"), false},         /* the target's is authenticated anyway */
        {BLOCK("818205a10103"), true},          /* another block's content */
        {BLOCK("818205a10105"), true},          /* an unknown flag beside a known one */
        {BLOCK("818205a10104"), false},         /* alone */
        {BLOCK("828205a0 8205a0"), false},      /* twice */
        {BLOCK("828203 41a08203 41a0"), false}, /* twice */
        {BLOCK("82820341a0820441a0"), true},    /* empty maps */
        {BLOCK("81820600"), false},             /* an unknown parameter */
        {BLOCK("8182054100"), false},           /* no map */
        {BLOCK("818205bbffffffffffffffff"), false},
    };
    struct security_block s;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        const struct slice data = slice_of(bytes, unhex(blocks[i].hex, bytes, sizeof bytes));
        const char *why = security_block_parse(SECURITY_BIB, data, &s);
        ck_assert_msg((why == NULL) == blocks[i].good, "%zu: %s", i, why == NULL ? "read" : why);
        ck_assert_ptr_nonnull(security_block_parse(SECURITY_BCB, data, &s)); /* a MAC in a BCB */
        for (size_t cut = 0; cut < data.len; cut++)
            ck_assert_ptr_nonnull(security_block_parse(SECURITY_BIB, slice_of(bytes, cut), &s));
    }
    const struct slice data = slice_of(bytes, unhex(blocks[0].hex, bytes, sizeof bytes));
    ck_assert_ptr_null(security_block_parse(SECURITY_BIB, data, &s));
    ck_assert_uint_eq(s.scope, SECURITY_SCOPE_ALL); /* the default */
}
END_TEST

SUITE(bp_cose_message, t)
{
    tcase_add_test(t, read_fields);
    tcase_add_test(t, refused);
    tcase_add_test(t, limits);
    tcase_add_test(t, additional_headers);
    tcase_add_test(t, parameters);
}
