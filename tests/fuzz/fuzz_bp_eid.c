/* SPDX-License-Identifier: Apache-2.0 */
/* Text that is an EID is written back as an equal one; and so is CBOR. */
#include <stdlib.h>
#include <string.h>

#include "bp/codec/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
    if (!ok)
        abort();
}

/* An EID that a pattern of ipn matches: the last of each range. */
static struct eid last_of(const struct eid_pattern *p)
{
    uint64_t part[EID_PARTS];
    for (size_t i = 0; i < EID_PARTS; i++)
        part[i] = p->part[i].at[p->part[i].len - 1].hi;
    return eid_ipn(part[0], part[1], part[2]);
}

/* It has one text, which reads back as the same set. */
static void as_pattern(const struct eid_pattern *p, const char *text)
{
    char out[EID_TEXT_MAX];
    struct eid_pattern again;
    require(eid_pattern_text(p, out) == strlen(out) && strlen(out) <= strlen(text) + 3);
    require(eid_pattern_parse(out, &again) == 0 && eid_pattern_equal(p, &again));
    require(eid_pattern_rank(p) >= 0 && eid_pattern_rank(p) == eid_pattern_rank(&again));
    require(eid_pattern_meet(p, &again) && eid_pattern_meet(&again, p));
    (void)eid_pattern_match(p, &p->eid);
    if (!p->ranges)
        return;
    const struct eid e = last_of(p);
    struct eid_pattern exact;
    require(eid_pattern_match(p, &e) == !eid_is_none(&e));
    if (eid_text(&e, out) > 0 && eid_pattern_parse(out, &exact) == 0)
        require(eid_pattern_meet(p, &exact) && eid_pattern_rank(p) <= eid_pattern_rank(&exact));
}

/* one: what the text is when it has no alternatives. */
static void as_set(const struct eid_patterns *set, const struct eid_pattern *one)
{
    require(set->len > 0 && set->len <= EID_PATTERNS_MAX);
    require(one == NULL || (set->len == 1 && eid_pattern_equal(&set->at[0], one)));
    for (size_t i = 0; i < set->len; i++) {
        const struct eid *e = &set->at[i].eid;
        require(eid_patterns_have(set, &set->at[i]));
        require(eid_patterns_match(set, e) || !eid_pattern_match(&set->at[i], e));
    }
}

static void as_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    char out[EID_TEXT_MAX];
    struct eid e, again;
    struct eid_pattern p;
    memcpy(text, data, size);
    text[size] = '\0';
    if (eid_parse(text, &e) == 0) {
        require(eid_text(&e, out) == strlen(out));
        require(eid_parse(out, &again) == 0 && eid_equal(&e, &again));
        again = eid_node(&e);
        require(eid_is_node(&again) == (e.scheme != EID_OTHER) && eid_same_node(&e, &again));
    }
    const char *why = NULL;
    if (eid_pattern_read(text, &p, &why) == 0)
        as_pattern(&p, text);
    else
        require(why != NULL && why[0] != '\0');
    const bool several = strchr(text, '|') != NULL; /* a name with it is no pattern */
    struct eid_patterns set;
    if (eid_patterns_read(text, &set, &why) == 0)
        as_set(&set, !several && eid_pattern_parse(text, &p) == 0 ? &p : NULL);
    else
        require(why != NULL && why[0] != '\0' && (several || eid_pattern_parse(text, &p) != 0));
    free(text);
}

static void as_cbor(const uint8_t *data, size_t size)
{
    struct check c = {.mode = BUNDLE_LENIENT};
    struct item_reader r = item_reader_of(data, slice_of(data, size));
    struct eid e = eid_read(&r, &c);
    uint8_t out[300];
    char text[EID_TEXT_MAX];
    if (r.in.bad)
        return;
    require(!c.bad && eid_legal(&e));
    require(eid_text(&e, text) < EID_TEXT_MAX);
    struct writer w = writer_of(out, sizeof out);
    eid_write(&w, &e);
    require(!w.bad && writer_len(&w) == eid_size(&e));
    r = item_reader_of(out, slice_of(out, writer_len(&w)));
    struct eid again = eid_read(&r, &c);
    require(!r.in.bad && eid_equal(&e, &again) && eid_hash(1, &e) == eid_hash(1, &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    as_text(data, size);
    as_cbor(data, size);
    return 0;
}
