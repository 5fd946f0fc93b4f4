/* SPDX-License-Identifier: Apache-2.0 */
/* What aap2_plain reads and writes is what protobuf-c does, byte for byte, for messages drawn at
 * random, for these cut and changed, and for unusual forms. */

#include "base/rng.h"
#include "node/aap2/aap2_wire.h"
#include "tests/unit/aap2_oracle.h"
#include "tests/unit/suite.h"

#define CAP 2048
#define DRAWN 20000

/* 0, or a number of any length. */
static uint64_t draw_number(struct rng *r)
{
    return rng_chance(r, 0.3) ? 0 : rng_u64(r) >> rng_below(r, 64);
}

static char *draw_text(struct rng *r, char text[200])
{
    const size_t len = rng_chance(r, 0.3) ? 0 : (size_t)rng_below(r, 200);
    for (size_t i = 0; i < len; i++)
        text[i] = (char)('!' + rng_below(r, 90));
    text[len] = '\0';
    return text;
}

/* An ADU and its texts. */
struct drawn {
    char source[200], destination[200], report_to[200], text[200];
    Aap2__BundleADUFlags flags[4];
    Aap2__BundleADU adu;
    Aap2__Bundle bundle;
};

static void draw_adu(struct rng *r, struct drawn *d)
{
    d->adu = (Aap2__BundleADU)AAP2__BUNDLE_ADU__INIT;
    d->adu.src_eid = draw_text(r, d->source);
    d->adu.dst_eid = draw_text(r, d->destination);
    d->adu.report_to_eid = draw_text(r, d->report_to);
    d->adu.creation_timestamp_ms = draw_number(r);
    d->adu.sequence_number = draw_number(r);
    d->adu.payload_length = draw_number(r);
    d->adu.lifetime_ms = draw_number(r);
    d->adu.bundle_flags = draw_number(r);
    d->adu.priority = (uint32_t)draw_number(r);
    d->adu.ordinal = (uint32_t)draw_number(r);
    d->adu.crc_type = (uint32_t)draw_number(r);
    d->adu.adu_flags = d->flags;
    d->adu.n_adu_flags = rng_chance(r, 0.8) ? 0 : (size_t)rng_below(r, 5);
    for (size_t i = 0; i < 4; i++)
        d->flags[i] = (Aap2__BundleADUFlags)rng_below(r, 4);
}

static void draw_bundle(struct rng *r, struct drawn *d)
{
    d->bundle = (Aap2__Bundle)AAP2__BUNDLE__INIT;
    d->bundle.src_eid = draw_text(r, d->source);
    d->bundle.dst_eid = draw_text(r, d->destination);
    d->bundle.creation_timestamp_ms = draw_number(r);
    d->bundle.sequence_number = draw_number(r);
    d->bundle.payload_length = draw_number(r);
    d->bundle.fragment_offset = draw_number(r);
    d->bundle.total_adu_length = draw_number(r);
    d->bundle.lifetime_ms = draw_number(r);
}

/* Both ways of packing gave the same; the message, without its length, is read alike, whole, cut
 * and with an octet changed. */
static void compare_packed(struct rng *r, const uint8_t *ours, int n, const uint8_t *theirs, int m,
                           bool (*read)(const uint8_t *at, size_t len))
{
    ck_assert_int_eq(n, m);
    ck_assert_int_gt(n, 0);
    ck_assert_mem_eq(ours, theirs, (size_t)n);
    const size_t head = n - 1 < 0x80 ? 1 : 2;
    const size_t len = (size_t)n - head;
    uint8_t changed[CAP];
    ck_assert(read(ours + head, len));
    read(ours + head, (size_t)rng_below(r, len + 1));
    memcpy(changed, ours + head, len);
    if (len > 0)
        changed[rng_below(r, len)] ^= (uint8_t)(1u << rng_below(r, 8));
    read(changed, len);
}

START_TEST(bundles_of_applications_as_protobuf_c)
{
    struct rng r;
    rng_init(&r, 1);
    for (int i = 0; i < DRAWN; i++) {
        struct drawn d;
        uint8_t ours[CAP], theirs[CAP];
        draw_adu(&r, &d);
        Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
        m.msg_case = AAP2__AAPMESSAGE__MSG_ADU;
        m.adu = &d.adu;
        int n = aap2_pack_adu(&d.adu, ours, CAP);
        compare_packed(&r, ours, n, theirs, aap2_pack(&m.base, theirs, CAP), oracle_message);
        ck_assert_int_eq(aap2_pack_adu(&d.adu, ours, (size_t)n), n);
        ck_assert_int_eq(aap2_pack_adu(&d.adu, ours, (size_t)n - 1), HELIO_ESPACE);
    }
}
END_TEST

START_TEST(responses_as_protobuf_c)
{
    struct rng r;
    rng_init(&r, 2);
    for (int i = 0; i < DRAWN; i++) {
        struct drawn d;
        uint8_t ours[CAP], theirs[CAP];
        Aap2__AAPResponse m = AAP2__AAPRESPONSE__INIT;
        draw_bundle(&r, &d);
        m.response_status = (Aap2__ResponseStatus)rng_below(&r, 13);
        m.text = draw_text(&r, d.text);
        m.bundle_headers = rng_chance(&r, 0.3) ? NULL : &d.bundle;
        int n = aap2_pack_response(&m, ours, CAP);
        compare_packed(&r, ours, n, theirs, aap2_pack(&m.base, theirs, CAP), oracle_response);
        ck_assert_int_eq(aap2_pack_response(&m, ours, (size_t)n), n);
        ck_assert_int_eq(aap2_pack_response(&m, ours, (size_t)n - 1), HELIO_ESPACE);
    }
}
END_TEST

#define MESSAGE(bytes) oracle_message((const uint8_t *)(bytes), sizeof(bytes) - 1)
#define RESPONSE(bytes) oracle_response((const uint8_t *)(bytes), sizeof(bytes) - 1)

START_TEST(unusual_messages)
{
    ck_assert(MESSAGE(""));
    ck_assert(MESSAGE("\x1a\x00"));
    ck_assert(MESSAGE("\x1a\x02\x28\x05\x1a\x02\x20\x07")); /* two ADUs: merged */
    ck_assert(MESSAGE("\x1a\x02\x28\x05\x32\x00"));         /* then a keepalive: that counts */
    ck_assert(MESSAGE("\x32\x00\x1a\x02\x28\x05"));         /* the other way round */
    ck_assert(MESSAGE("\x1a\x02\x28\x05\x50\x01\x5d\x01\x02\x03\x04")); /* and what is not known */
    ck_assert(MESSAGE("\x1a\x0b\x51\x01\x02\x03\x04\x05\x06\x07\x08\x28\x05"));
    ck_assert(MESSAGE("\x1a\x05\x0a\x03\x61\x00\x62"));     /* a text with a NUL */
    ck_assert(MESSAGE("\x1a\x06\x0a\x01\x61\x0a\x01\x62")); /* a text twice: the last */
    ck_assert(MESSAGE("\x1a\x05\x32\x03\x01\x02\x03"));     /* flags, packed */
    ck_assert(MESSAGE("\x1a\x06\x30\x01\x30\x02\x30\x03")); /* not packed */
    ck_assert(!MESSAGE("\x1a\x03\x32\x01\x81"));            /* cut */
    ck_assert(!MESSAGE("\x1a\x02\x2a\x00"));                /* a number as a text */
    ck_assert(!MESSAGE("\x1a\x02\x08\x01"));                /* a text as a number */
    ck_assert(!MESSAGE("\x18\x01"));                        /* an ADU as a number */
    ck_assert(!MESSAGE("\x1a\x02\x2b\x00"));                /* a group */
    ck_assert(!MESSAGE("\x1a\x03\x0a\x02\x61"));            /* a text too long */
    MESSAGE("\x1a\x0c\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"); /* 11 octets */
    MESSAGE("\x1a\x0b\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
    MESSAGE("\x1a\x04\x00\x01\x28\x01");                         /* field 0 */
    ck_assert(!MESSAGE("\x9a\x80\x80\x80\x80\x00\x00"));         /* a tag of 6 octets */
    ck_assert(!MESSAGE("\x1a\x82\x80\x80\x80\x80\x00\x28\x05")); /* a length of 6 */
}
END_TEST

START_TEST(unusual_responses)
{
    ck_assert(RESPONSE(""));
    ck_assert(RESPONSE("\x08\x01\x08\x08"));
    ck_assert(RESPONSE("\x1a\x02\x28\x05\x1a\x02\x20\x07")); /* two bundles: merged */
    ck_assert(RESPONSE("\x1a\x05\x0a\x03\x61\x62\x63\x1a\x05\x12\x03\x61\x62\x63"));
    ck_assert(RESPONSE("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    ck_assert(RESPONSE("\xa2\x06\x01\x61\xa2\x06\x01\x62\x50\x01"));
    ck_assert(!RESPONSE("\x1a\x02\x2a\x00"));
    ck_assert(!RESPONSE("\x0a\x01\x61"));
    ck_assert(!RESPONSE("\x80\x80\x80\x85\x80\x80\x80\x80\x80\x3a\x06\x80\x06\x05"));
    ck_assert(!RESPONSE("\xa2\x06\x81\x80\x80\x80\x80\x00\x61"));
    ck_assert(!RESPONSE("\x1a\x03\x0a\x02\x61"));
}
END_TEST

SUITE(tools_aap2_plain, t)
{
    tcase_add_test(t, bundles_of_applications_as_protobuf_c);
    tcase_add_test(t, responses_as_protobuf_c);
    tcase_add_test(t, unusual_messages);
    tcase_add_test(t, unusual_responses);
}
