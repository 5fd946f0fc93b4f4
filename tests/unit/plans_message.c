/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the plan service: their octets, and back; what is refused. */
#include "plans/plans_message.h"

#include <stdio.h>
#include <stdlib.h>

#include "bp/codec/bundle.h"
#include "tests/unit/suite.h"

static struct slice hex(const char *text, uint8_t *out)
{
    size_t n = 0;
    unsigned octet;
    for (; text[0] != '\0'; text += 2) {
        ck_assert_int_eq(sscanf(text, "%2x", &octet), 1);
        out[n++] = (uint8_t)octet;
    }
    return slice_of(out, n);
}

static size_t write_plan(const struct plans_version *v, const char *contents, uint8_t *out)
{
    const size_t len = strlen(contents), head = plans_message_head(v, len, out);
    memcpy(out + head, contents, len);
    return head + len;
}

static struct plans_version version_of(uint64_t number, uint64_t effect_ms, const char *contents)
{
    const struct slice octets = slice_of(contents, strlen(contents));
    return (struct plans_version){number, effect_ms, plans_check(number, effect_ms, octets)};
}

START_TEST(plan_and_back)
{
    uint8_t out[256], want[256];
    struct plans_message m;
    const char *why;
    const struct plans_version v = version_of(7, 1000000, "abc");
    const size_t n = write_plan(&v, "abc", out);
    const struct slice octets = hex("870101071a000f4240001a7f73d1a343616263", want);
    ck_assert_uint_eq(n, octets.len);
    ck_assert_mem_eq(out, octets.data, n);
    ck_assert(plans_message_parse(slice_of(out, n), &m, &why));
    ck_assert_int_eq(m.kind, PLANS_PLAN);
    ck_assert_uint_eq(m.version.number, 7);
    ck_assert_uint_eq(m.version.effect_ms, 1000000);
    ck_assert_uint_eq(m.version.check, v.check);
    ck_assert(slice_equal(m.contents, slice_of("abc", 3)));
    for (size_t i = 0; i < n; i++)
        ck_assert(!plans_message_parse(slice_of(out, i), &m, &why) && why != NULL);
    out[n] = 0;
    ck_assert(!plans_message_parse(slice_of(out, n + 1), &m, &why));
    ck_assert_str_eq(why, "something follows");
}
END_TEST

START_TEST(state_and_back)
{
    uint8_t out[PLANS_STATE_MAX];
    struct plans_state s = {.asks = true,
                            .applied = 5,
                            .len = PLANS_LISTED_MAX,
                            .refused = 9,
                            .reason = PLANS_UNREADABLE};
    struct plans_message m;
    const char *why;
    for (size_t i = 0; i < s.len; i++) {
        s.held[i].number = PLANS_NUMBER_MAX - PLANS_LISTED_MAX + i;
        s.held[i].check = UINT32_MAX;
    }
    const size_t n = plans_state_write(&s, out);
    ck_assert(plans_message_parse(slice_of(out, n), &m, &why));
    ck_assert_int_eq(m.kind, PLANS_STATE);
    ck_assert(m.state.asks);
    ck_assert_uint_eq(m.state.applied, 5);
    ck_assert_uint_eq(m.state.len, s.len);
    ck_assert_mem_eq(m.state.held, s.held, sizeof s.held);
    ck_assert_uint_eq(m.state.refused, 9);
    ck_assert_int_eq(m.state.reason, PLANS_UNREADABLE);
    for (size_t i = 0; i < n; i++)
        ck_assert(!plans_message_parse(slice_of(out, i), &m, &why));
}
END_TEST

START_TEST(wrong_messages)
{
    static const struct {
        const char *octets, *why;
    } rows[] = {
        {"870101071a000f4240001a364b3fb643616263", "the check value is wrong"},
        {"870101001a000f4240001a364b3fb743616263", "the number of a version"},
        {"8701011bffffffffffffffff00001a364b3fb743616263", "the number of a version"},
        {"870101071a000f4240011a364b3fb743616263", "the format of the plan"},
        {"870101071a000f4240001b00000001364b3fb743616263", "a check value"},
        {"870102f500808000", NULL},
        {"870201071a000f4240001a364b3fb743616263", "another protocol"},
        {"870103071a000f4240001a364b3fb743616263", "no message of the plan service"},
        {"860101071a000f4240001a364b3fb7", "no message of the plan service"},
        {"87010118071a000f4240001a7f73d1a343616263", "an item is longer than it needs to be"},
        {"870102f50082820201820101"
         "0000",
         "versions are not in rising order"},
        {"870102f50082820101820101"
         "0000",
         "versions are not in rising order"},
        {"870102f500818301010100"
         "00",
         "a version and its check value"},
        {"870102f50080"
         "0018ff",
         "the reason of a refusal"},
        {"9f0101071a000f4240001a364b3fb743616263ff", NULL},
        {"a0", NULL},
        {"870101", NULL},
    };
    uint8_t in[64];
    struct plans_message m;
    const char *why;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_msg(!plans_message_parse(hex(rows[i].octets, in), &m, &why), "%zu", i);
        ck_assert_ptr_nonnull(why);
        if (rows[i].why != NULL)
            ck_assert_str_eq(why, rows[i].why);
    }
    ck_assert(!plans_message_parse(slice_of(NULL, 0), &m, &why));
    ck_assert_str_eq(why, "it is empty");
}
END_TEST

/* A plan of the greatest length is taken, a longer one is not; 19 versions are too many. */
START_TEST(limits)
{
    static uint8_t out[PLANS_MESSAGE_MAX + 1];
    struct plans_message m;
    const char *why;
    struct plans_version v = {.number = 1};
    const size_t head = plans_message_head(&v, PLANS_CONTENTS_MAX, out);
    v.check = plans_check(1, 0, slice_of(out + head, PLANS_CONTENTS_MAX));
    ck_assert_uint_ge(plans_message_head(&v, PLANS_CONTENTS_MAX, out), head);
    const size_t full = plans_message_head(&v, PLANS_CONTENTS_MAX, out);
    memset(out + full, 0, PLANS_CONTENTS_MAX);
    v.check = plans_check(1, 0, slice_of(out + full, PLANS_CONTENTS_MAX));
    ck_assert_uint_eq(plans_message_head(&v, PLANS_CONTENTS_MAX, out), full);
    ck_assert(plans_message_parse(slice_of(out, full + PLANS_CONTENTS_MAX), &m, &why));
    out[full - 1]++; /* of the length */
    ck_assert(!plans_message_parse(slice_of(out, full + PLANS_CONTENTS_MAX + 1), &m, &why));
    ck_assert_str_eq(why, "the plan is too long");
    ck_assert(!plans_message_parse(slice_of(out, PLANS_MESSAGE_MAX + 1), &m, &why));
    uint8_t many[128];
    size_t n = hex("870102f50093", many).len;
    for (uint8_t i = 1; i <= 19; i++) {
        many[n++] = 0x82;
        many[n++] = i;
        many[n++] = 0;
    }
    ck_assert(!plans_message_parse(slice_of(many, n), &m, &why));
    ck_assert_str_eq(why, "too many versions");
}
END_TEST

START_TEST(times)
{
    const tick epoch = DTN_EPOCH_UNIX * TICK_S;
    const struct plans_version once = {1, 0, 0}, later = {1, 5000, 0}, never = {1, UINT64_MAX, 0};
    ck_assert_uint_eq(plans_dtn_ms(epoch + 5 * TICK_S), 5000);
    ck_assert_uint_eq(plans_dtn_ms(epoch - 1), 0);
    ck_assert_uint_eq(plans_wall(5000), epoch + 5 * TICK_S);
    ck_assert_uint_eq(plans_wall(UINT64_MAX), TICK_NEVER - 1);
    ck_assert(plans_version_begun(&once, 0) && plans_version_begun(&once, epoch));
    ck_assert(!plans_version_begun(&later, 0));
    ck_assert(!plans_version_begun(&later, epoch + 5 * TICK_S - 1));
    ck_assert(plans_version_begun(&later, epoch + 5 * TICK_S));
    ck_assert(!plans_version_begun(&never, UINT64_MAX - 2));
}
END_TEST

SUITE(plans_message, t)
{
    tcase_add_test(t, plan_and_back);
    tcase_add_test(t, state_and_back);
    tcase_add_test(t, wrong_messages);
    tcase_add_test(t, limits);
    tcase_add_test(t, times);
}
