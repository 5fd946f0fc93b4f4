/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each rule counts its matches, over all sessions or per session; the number of the segment
 * decides. Sessions are ordered by their last segment, so that the one with the longest silence can
 * be replaced. What can go wrong: no memory for a session, which is counted.
 */
#include "channel-emu/scenario/ltp_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/list.h"
#include "ltp/segment.h"

struct counted {
    struct hash_node node;
    struct list age;
    uint64_t originator, session;
    uint64_t seen[]; /* by rule */
};

struct ltp_rules {
    size_t count;
    bool per_session; /* any of them */
    struct hash sessions;
    struct list by_age; /* longest silent first */
    uint64_t forgotten;
    struct ltp_rule rules[LTP_RULES_MAX];
    struct ltp_rule_count counts[LTP_RULES_MAX];
};

bool ltp_fields_read(struct ltp_fields *f, const uint8_t *data, size_t len)
{
    struct ltp_segment s;
    if (segment_parse(&s, data, len) != VERDICT_OK)
        return false;
    bool is_data = segment_is_data(&s), is_checkpoint = segment_is_checkpoint(&s);
    bool has_cp = is_checkpoint || s.type == LTP_RS;
    bool has_rpt = has_cp || s.type == LTP_RA;
    *f = (struct ltp_fields){.type = s.type,
                             .originator = s.id.originator,
                             .session = s.id.number,
                             .offset = is_data ? s.offset : EVENT_NONE,
                             .data_length = is_data ? s.data.len : EVENT_NONE,
                             .cp_serial = has_cp ? s.cp_serial : EVENT_NONE,
                             .rpt_serial = has_rpt ? s.rpt_serial : EVENT_NONE};
    return true;
}

static bool valid_rule(const struct ltp_rule *rule)
{
    if (rule->types == 0 || rule->first == 0 || rule->every == 0 ||
        rule->list_len > LTP_RULE_LIST_MAX)
        return false;
    for (uint32_t i = 0; i < rule->list_len; i++) {
        if (rule->list[i] == 0)
            return false;
    }
    return true;
}

int ltp_rules_new(struct ltp_rules **out, const struct ltp_rule *rules, size_t count)
{
    if (count > LTP_RULES_MAX)
        return HELIO_EINVAL;
    for (size_t i = 0; i < count; i++) {
        if (!valid_rule(&rules[i]))
            return HELIO_EINVAL;
    }
    struct ltp_rules *r = calloc(1, sizeof *r);
    if (r == NULL)
        return HELIO_ENOMEM;
    if (hash_init(&r->sessions, 0) < 0) {
        free(r);
        return HELIO_ENOMEM;
    }
    list_init(&r->by_age);
    r->count = count;
    for (size_t i = 0; i < count; i++) {
        r->rules[i] = rules[i];
        r->per_session = r->per_session || rules[i].per_session;
    }
    *out = r;
    return 0;
}

void ltp_rules_free(struct ltp_rules *r)
{
    if (r == NULL)
        return;
    list_for_each_safe (it, &r->by_age)
        free(container_of(it, struct counted, age));
    hash_fini(&r->sessions);
    free(r);
}

static bool rule_matches(const struct ltp_rule *rule, const struct ltp_fields *f)
{
    return (rule->types >> f->type & 1) != 0 &&
           (rule->originator == EVENT_NONE || rule->originator == f->originator) &&
           (rule->session == EVENT_NONE || rule->session == f->session);
}

static bool rule_chooses(const struct ltp_rule *rule, uint64_t number)
{
    if (rule->list_len == 0)
        return number >= rule->first && number <= rule->last &&
               (number - rule->first + 1) % rule->every == 0;
    for (uint32_t i = 0; i < rule->list_len; i++) {
        if (rule->list[i] == number)
            return true;
    }
    return false;
}

static struct counted *find_count(const struct ltp_rules *r, const struct ltp_fields *f,
                                  uint64_t hash)
{
    for (struct hash_node *n = hash_find(&r->sessions, hash); n != NULL; n = hash_next(n)) {
        struct counted *s = container_of(n, struct counted, node);
        if (s->originator == f->originator && s->session == f->session)
            return s;
    }
    return NULL;
}

/* An entry without counts: the longest silent session's, or a new one. */
static struct counted *blank_count(struct ltp_rules *r)
{
    size_t size = sizeof(struct counted) + r->count * sizeof(uint64_t);
    struct counted *s;
    if (r->sessions.len >= LTP_RULES_SESSIONS_MAX) {
        s = container_of(list_first(&r->by_age), struct counted, age);
        hash_sub(&r->sessions, &s->node);
        list_sub(&s->age);
        r->forgotten++;
    } else {
        s = malloc(size);
    }
    if (s == NULL) {
        r->forgotten++;
        return NULL;
    }
    memset(s, 0, size);
    list_init(&s->age);
    return s;
}

static struct counted *session_of(struct ltp_rules *r, const struct ltp_fields *f)
{
    uint64_t hash = hash_mix(r->sessions.seed, f->originator, f->session);
    struct counted *s = find_count(r, f, hash);
    if (s == NULL) {
        s = blank_count(r);
        if (s == NULL)
            return NULL;
        s->originator = f->originator;
        s->session = f->session;
        hash_add(&r->sessions, &s->node, hash);
    }
    list_sub(&s->age);
    list_add_tail(&r->by_age, &s->age);
    return s;
}

bool ltp_rules_drop(struct ltp_rules *r, const struct ltp_fields *f)
{
    struct counted *session = NULL;
    bool drop = false, looked = false;
    for (size_t i = 0; i < r->count; i++) {
        const struct ltp_rule *rule = &r->rules[i];
        struct ltp_rule_count *count = &r->counts[i];
        if (!rule_matches(rule, f))
            continue;
        count->matched++;
        uint64_t number = count->matched;
        if (rule->per_session) {
            session = looked ? session : session_of(r, f);
            looked = true;
            if (session == NULL)
                continue;
            number = ++session->seen[i];
        }
        if (rule_chooses(rule, number)) {
            count->dropped++;
            drop = true;
        }
    }
    return drop;
}

struct ltp_rule_count ltp_rules_count(const struct ltp_rules *r, size_t rule)
{
    return rule < r->count ? r->counts[rule] : (struct ltp_rule_count){0};
}

uint64_t ltp_rules_forgotten(const struct ltp_rules *r)
{
    return r->forgotten;
}
