/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transfer has one buffer of its whole length, and the set of received ranges. Repeated bytes
 * must be equal. If they are not, or if the total length differs, one segment is false, and it is
 * unknown which one: the transfer ends. What else can go wrong: limits, memory.
 */
#include "cla/bibe/bibe_join.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/ranges.h"

struct bibe_join {
    struct list node; /* in joins.all */
    struct eid source, destination;
    uint64_t transfer;
    uint64_t got;     /* bytes that are there */
    uint64_t charged; /* of their memory: its total length at most */
    tick until;
    tick heard; /* the last bytes that were new, or that wait elsewhere */
    struct ranges have;
    struct buf *whole; /* of the total length */
};

void bibe_joins_init(struct bibe_joins *j, uint64_t len_max, uint64_t bytes_max,
                     uint64_t bundle_max)
{
    *j = (struct bibe_joins){.len_max = len_max, .bytes_max = bytes_max, .bundle_max = bundle_max};
    list_init(&j->all);
}

/* Its buffer is the caller's. */
static struct buf *end_join(struct bibe_joins *j, struct bibe_join *t)
{
    struct buf *whole = t->whole;
    assert(j->len > 0 && j->bytes >= whole->len);
    list_sub(&t->node);
    j->len--;
    j->bytes -= whole->len;
    assert(j->got >= t->got && j->charged >= t->charged);
    j->got -= t->got;
    j->charged -= t->charged;
    ranges_fini(&t->have);
    free(t);
    return whole;
}

void bibe_joins_fini(struct bibe_joins *j)
{
    while (!list_empty(&j->all))
        buf_drop(end_join(j, container_of(list_first(&j->all), struct bibe_join, node)));
    assert(j->len == 0 && j->bytes == 0);
}

static struct bibe_join *find_join(const struct bibe_joins *j, const struct eid *source,
                                   const struct eid *destination, uint64_t transfer)
{
    list_for_each (it, &j->all) {
        struct bibe_join *t = container_of(it, struct bibe_join, node);
        if (t->transfer == transfer && eid_equal(&t->source, source) &&
            eid_equal(&t->destination, destination))
            return t;
    }
    return NULL;
}

static bool has_room(const struct bibe_joins *j, uint64_t total)
{
    return j->len < j->len_max && total <= j->bytes_max && j->bytes <= j->bytes_max - total;
}

/* A transfer that was announced, but received hardly anything, must not block others for ever.
 * False: all transfers have as many bytes, or received some recently: their data could not be
 * received again. */
static bool make_room(struct bibe_joins *j, uint64_t total, uint64_t bytes, tick now)
{
    if (total > j->bytes_max)
        return false;
    while (!has_room(j, total)) {
        struct bibe_join *least = NULL;
        uint64_t fewest = bytes;
        list_for_each (it, &j->all) {
            struct bibe_join *t = container_of(it, struct bibe_join, node);
            if (t->got >= fewest || now < tick_add(t->heard, BIBE_SILENT))
                continue;
            fewest = t->got;
            least = t;
        }
        if (least == NULL)
            return false;
        j->displaced++;
        buf_drop(end_join(j, least));
    }
    return true;
}

static enum bibe_verdict begin_join(struct bibe_joins *j, const struct eid *source,
                                    const struct eid *destination, const struct bibe_payload *p,
                                    struct bibe_times at, struct bibe_join **out)
{
    if (p->total > j->bundle_max)
        return BIBE_TOO_LONG;
    if (!make_room(j, p->total, p->data.len, at.now))
        return BIBE_FULL;
    struct bibe_join *t = calloc(1, sizeof *t);
    struct buf *whole = buf_new(0, (size_t)p->total);
    if (t == NULL || whole == NULL) {
        free(t);
        buf_drop(whole);
        return BIBE_NO_MEMORY;
    }
    buf_append(whole, (size_t)p->total);
    *t = (struct bibe_join){.source = *source,
                            .destination = *destination,
                            .transfer = p->transfer,
                            .until = at.until,
                            .heard = at.now,
                            .whole = whole};
    ranges_init(&t->have);
    list_add_tail(&j->all, &t->node);
    j->len++;
    j->bytes += p->total;
    *out = t;
    return BIBE_TAKEN;
}

/* Are these bytes equal to those received before? */
static bool agrees(const struct bibe_join *t, const struct bibe_payload *p)
{
    const uint8_t *have = buf_data(t->whole);
    uint64_t at = p->offset, end = p->offset + p->data.len;
    struct range gap = {at, at};
    while (at < end) {
        bool more = ranges_gap(&t->have, at, end, &gap);
        uint64_t same = more ? gap.lo : end;
        if (memcmp(have + at, p->data.data + (at - p->offset), (size_t)(same - at)) != 0)
            return false;
        at = more ? gap.hi : end;
    }
    return true;
}

static void count_bytes(struct bibe_joins *j, struct bibe_join *t, uint64_t fresh)
{
    if (fresh == 0)
        return;
    const uint64_t left = t->whole->len - t->charged, cost = fresh + BIBE_SEGMENT_COST;
    const uint64_t more = cost < left ? cost : left;
    t->got += fresh;
    j->got += fresh;
    t->charged += more;
    j->charged += more;
}

static void wait_on(struct bibe_join *t, struct bibe_times at, bool fresh)
{
    t->until = t->until > at.until ? t->until : at.until;
    t->heard = fresh ? at.now : t->heard;
}

enum bibe_verdict bibe_joins_add(struct bibe_joins *j, const struct eid *source,
                                 const struct eid *destination, const struct bibe_payload *p,
                                 struct bibe_times at, struct buf **out)
{
    assert(p->segment && p->data.len > 0 && p->offset + p->data.len <= p->total);
    struct bibe_join *t = find_join(j, source, destination, p->transfer);
    enum bibe_verdict verdict =
        t == NULL ? begin_join(j, source, destination, p, at, &t) : BIBE_TAKEN;
    if (verdict != BIBE_TAKEN)
        return verdict;
    wait_on(t, at, false);
    if (t->whole->len != p->total || !agrees(t, p)) {
        buf_drop(end_join(j, t));
        return BIBE_CORRUPT;
    }
    const uint64_t fresh =
        p->data.len - ranges_bytes_in(&t->have, p->offset, p->offset + p->data.len);
    int rc = ranges_add(&t->have, p->offset, p->offset + p->data.len, BIBE_GAPS_MAX);
    if (rc < 0)
        return rc == HELIO_ENOMEM ? BIBE_NO_MEMORY : BIBE_FULL;
    memcpy(buf_data(t->whole) + p->offset, p->data.data, p->data.len);
    count_bytes(j, t, fresh);
    wait_on(t, at, fresh > 0);
    if (!ranges_has(&t->have, 0, p->total))
        return BIBE_TAKEN;
    *out = end_join(j, t);
    return BIBE_COMPLETE;
}

void bibe_joins_prolong(struct bibe_joins *j, const struct eid *source,
                        const struct eid *destination, uint64_t transfer, struct bibe_times at)
{
    struct bibe_join *t = find_join(j, source, destination, transfer);
    if (t != NULL)
        wait_on(t, at, true);
}

void bibe_joins_expire(struct bibe_joins *j, tick now)
{
    list_for_each_safe (it, &j->all) {
        struct bibe_join *t = container_of(it, struct bibe_join, node);
        if (t->until > now)
            continue;
        j->expired++;
        buf_drop(end_join(j, t));
    }
}

tick bibe_joins_deadline(const struct bibe_joins *j)
{
    tick due = TICK_NEVER;
    list_for_each (it, &j->all)
        due = tick_min(due, container_of(it, struct bibe_join, node)->until);
    return due;
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void bibe_joins_check(const struct bibe_joins *j)
{
    uint64_t len = 0, bytes = 0, got = 0, charged = 0;
    list_for_each (it, &j->all) {
        const struct bibe_join *t = container_of(it, struct bibe_join, node);
        assert(t->got <= t->charged && t->charged <= t->whole->len);
        got += t->got;
        charged += t->charged;
        assert(t->whole->len > 0 && !ranges_has(&t->have, 0, t->whole->len));
        ranges_check(&t->have);
        assert(t->got == ranges_bytes(&t->have));
        bytes += t->whole->len;
        len++;
    }
    assert(got == j->got && charged == j->charged);
    assert(len == j->len && bytes == j->bytes && len <= j->len_max && bytes <= j->bytes_max);
}
