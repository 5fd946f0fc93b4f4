/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message is read item by item into a struct, and then checked as a whole. What can go wrong is
 * all in the input: another protocol, items that are missing, too large or too long, contents that
 * do not have their check value.
 */
#include "plans/plans_message.h"

#include <assert.h>

#include "base/crc.h"
#include "bp/codec/bundle.h"
#include "bp/codec/cbor.h"

#define PROTOCOL 1
#define FORMAT_YAML 0
#define EPOCH_MS (DTN_EPOCH_UNIX * 1000)

const char *plans_verdict_text(enum plans_verdict v)
{
    static const char *const texts[PLANS_VERDICTS] = {
        "taken",    "repeated", "old",        "wrong source", "malformed", "conflict",
        "too many", "no plan",  "not stored", "ahead",        "too early"};
    return v < PLANS_VERDICTS ? texts[v] : "?";
}

uint64_t plans_dtn_ms(tick wall)
{
    const uint64_t ms = wall / TICK_MS;
    return ms > EPOCH_MS ? ms - EPOCH_MS : 0;
}

tick plans_wall(uint64_t dtn_ms)
{
    if (dtn_ms > (TICK_NEVER - 1) / TICK_MS - EPOCH_MS)
        return TICK_NEVER - 1;
    return (dtn_ms + EPOCH_MS) * TICK_MS;
}

bool plans_version_begun(const struct plans_version *v, uint64_t wall)
{
    return v->effect_ms == 0 || (wall > 0 && plans_wall(v->effect_ms) <= wall);
}

uint32_t plans_check(uint64_t number, uint64_t effect_ms, struct slice contents)
{
    uint8_t head[16];
    struct writer w = writer_of(head, sizeof head);
    writer_number(&w, number, 8);
    writer_number(&w, effect_ms, 8);
    return crc32c(crc32c(0, head, sizeof head), contents.data, contents.len);
}

/* ---- reading ---- */

static uint64_t read_number(struct item_reader *r)
{
    const size_t at = item_at(r);
    const uint64_t n = item_uint(r);
    if (n == 0 || n > PLANS_NUMBER_MAX)
        item_fail(r, "the number of a version", at);
    return n;
}

static uint32_t read_check(struct item_reader *r)
{
    const size_t at = item_at(r);
    const uint64_t v = item_uint(r);
    if (v > UINT32_MAX)
        item_fail(r, "a check value", at);
    return (uint32_t)v;
}

static void read_plan(struct item_reader *r, struct plans_message *m)
{
    m->version.number = read_number(r);
    m->version.effect_ms = item_uint(r);
    const size_t at = item_at(r);
    if (item_uint(r) != FORMAT_YAML)
        item_fail(r, "the format of the plan", at);
    m->version.check = read_check(r);
    m->contents = item_bytes(r);
    if (m->contents.len > PLANS_CONTENTS_MAX)
        item_fail(r, "the plan is too long", at);
    else if (!r->in.bad &&
             plans_check(m->version.number, m->version.effect_ms, m->contents) != m->version.check)
        item_fail(r, "the check value is wrong", at);
}

static void read_held(struct item_reader *r, struct plans_state *s)
{
    const size_t at = item_at(r);
    const uint64_t len = item_array(r);
    if (len > PLANS_LISTED_MAX) {
        item_fail(r, "too many versions", at);
        return;
    }
    for (s->len = 0; s->len < len && !r->in.bad; s->len++) {
        if (item_array(r) != 2)
            item_fail(r, "a version and its check value", at);
        s->held[s->len].number = read_number(r);
        s->held[s->len].check = read_check(r);
        if (s->len > 0 && s->held[s->len].number <= s->held[s->len - 1].number)
            item_fail(r, "versions are not in rising order", at);
    }
}

static void read_state(struct item_reader *r, struct plans_state *s)
{
    s->asks = item_bool(r);
    size_t at = item_at(r);
    s->applied = item_uint(r);
    if (s->applied > PLANS_NUMBER_MAX)
        item_fail(r, "the number of a version", at);
    read_held(r, s);
    at = item_at(r);
    s->refused = item_uint(r);
    const uint64_t reason = item_uint(r);
    if (s->refused > PLANS_NUMBER_MAX || reason >= PLANS_VERDICTS)
        item_fail(r, "the reason of a refusal", at);
    else
        s->reason = (enum plans_verdict)reason;
}

bool plans_message_parse(struct slice in, struct plans_message *out, const char **why)
{
    *out = (struct plans_message){.kind = PLANS_PLAN};
    if (in.data == NULL || in.len > PLANS_MESSAGE_MAX) {
        *why = in.data == NULL ? "it is empty" : "it is too long";
        return false;
    }
    struct item_reader r = item_reader_of(in.data, in);
    const uint64_t len = item_array(&r);
    if (item_uint(&r) != PROTOCOL)
        item_fail(&r, "another protocol", 0);
    const uint64_t kind = item_uint(&r);
    if (len != 7 || (kind != PLANS_PLAN && kind != PLANS_STATE)) {
        item_fail(&r, "no message of the plan service", 0);
    } else if (kind == PLANS_PLAN) {
        read_plan(&r, out);
    } else {
        out->kind = PLANS_STATE;
        read_state(&r, &out->state);
    }
    if (!r.in.bad && reader_left(&r.in) > 0)
        item_fail(&r, "something follows", item_at(&r));
    if (!r.in.bad && r.wide)
        item_fail(&r, "an item is longer than it needs to be", r.wide_at);
    *why = r.in.bad ? r.why : NULL;
    return !r.in.bad;
}

/* ---- writing ---- */

size_t plans_message_head(const struct plans_version *v, size_t contents_len,
                          uint8_t out[PLANS_HEAD_MAX])
{
    struct writer w = writer_of(out, PLANS_HEAD_MAX);
    assert(v->number > 0 && v->number <= PLANS_NUMBER_MAX && contents_len <= PLANS_CONTENTS_MAX);
    item_put_array(&w, 7);
    item_put_uint(&w, PROTOCOL);
    item_put_uint(&w, PLANS_PLAN);
    item_put_uint(&w, v->number);
    item_put_uint(&w, v->effect_ms);
    item_put_uint(&w, FORMAT_YAML);
    item_put_uint(&w, v->check);
    item_put_bytes_head(&w, contents_len);
    assert(!w.bad);
    return writer_len(&w);
}

size_t plans_state_write(const struct plans_state *s, uint8_t out[PLANS_STATE_MAX])
{
    struct writer w = writer_of(out, PLANS_STATE_MAX);
    assert(s->len <= PLANS_LISTED_MAX);
    item_put_array(&w, 7);
    item_put_uint(&w, PROTOCOL);
    item_put_uint(&w, PLANS_STATE);
    item_put_bool(&w, s->asks);
    item_put_uint(&w, s->applied);
    item_put_array(&w, s->len);
    for (size_t i = 0; i < s->len; i++) {
        item_put_array(&w, 2);
        item_put_uint(&w, s->held[i].number);
        item_put_uint(&w, s->held[i].check);
    }
    item_put_uint(&w, s->refused);
    item_put_uint(&w, (uint64_t)s->reason);
    assert(!w.bad);
    return writer_len(&w);
}
