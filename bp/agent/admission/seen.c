/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One array of ids, linked by their indexes: chains of a hash table; a list in order of arrival
 * (the oldest is replaced); and a heap by expiry, so that an id that never expires does not delay
 * the removal of others. A slot has the index of its first id plus one: 0 is none. A repeated id
 * moves to the list's end. Without memory the id is not added, and the set is unchanged.
 *
 * Ids whose sequence numbers differ only in the last bits have adjacent slots: the table is long,
 * and otherwise each slot of consecutive bundles would cause a cache miss.
 */
#include "bp/agent/admission/seen.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"

#define NONE UINT32_MAX
#define FIRST_CAP 16u

struct seen_id {
    uint64_t digest[2];
    uint64_t until_ms;
    uint32_t chain;        /* the next one in its slot; of an unused one the next unused one */
    uint32_t older, newer; /* NONE at the ends */
    uint32_t place;        /* in the heap */
};

/* A heap entry each, and two slots per id in the worst case, just above a power of two. */
_Static_assert(sizeof(struct seen_id) + 3 * sizeof(uint32_t) == SEEN_ID_BYTES, "as documented");

void seen_init(struct seen *s, uint64_t seed, uint64_t max)
{
    *s = (struct seen){.key = {hash_mix(seed, 1, 0), hash_mix(seed, 2, 0)},
                       .max = max < SEEN_MAX ? (uint32_t)max : SEEN_MAX,
                       .oldest = NONE,
                       .newest = NONE,
                       .unused = NONE};
}

void seen_fini(struct seen *s)
{
    free(s->ids);
    free(s->slots);
    free(s->ends);
    *s = (struct seen){0};
}

uint64_t seen_bytes(const struct seen *s)
{
    return s->top * (sizeof *s->ids + sizeof *s->ends) + s->slots_len * sizeof *s->slots;
}

/* --- by digest --- */

#define NEAR 0x3fu   /* bits of the number in which neighbours differ */
#define ID_COPY 128u /* a longer id has no neighbours */

/* The digest of the id without these bits, which are added then. Two ids have one digest only if
 * the digests of their remaining bytes differ by less than 64, that is, agree in 122 of 128 bits.
 * The lowest bits of a number are in its first byte; all of its bytes but the last have the highest
 * bit set. */
static void digest_id(const struct seen *s, struct slice id, uint64_t out[2])
{
    uint8_t copy[ID_COPY];
    if (id.len == 0 || id.len > sizeof copy) {
        hash_digest(s->key, id.data, id.len, out);
        return;
    }
    size_t at = id.len - 1;
    while (at > 0 && id.data[at - 1] >= 0x80)
        at--;
    memcpy(copy, id.data, id.len);
    copy[at] &= (uint8_t)~NEAR;
    hash_digest(s->key, copy, id.len, out);
    out[0] += id.data[at] & NEAR;
}

static uint32_t *slot_of(const struct seen *s, const uint64_t digest[2])
{
    return &s->slots[digest[0] & (s->slots_len - 1)];
}

static uint32_t find_id(const struct seen *s, const uint64_t digest[2])
{
    if (s->len == 0)
        return NONE;
    uint32_t i = *slot_of(s, digest) - 1;
    while (i != NONE && (s->ids[i].digest[0] != digest[0] || s->ids[i].digest[1] != digest[1]))
        i = s->ids[i].chain;
    return i;
}

bool seen_has(const struct seen *s, struct slice id)
{
    uint64_t digest[2];
    if (s->len == 0)
        return false;
    digest_id(s, id, digest);
    return find_id(s, digest) != NONE;
}

static void chain_add(struct seen *s, uint32_t i)
{
    uint32_t *slot = slot_of(s, s->ids[i].digest);
    s->ids[i].chain = *slot - 1;
    *slot = i + 1;
}

static void chain_sub(struct seen *s, uint32_t i)
{
    uint32_t *slot = slot_of(s, s->ids[i].digest), at = *slot - 1;
    if (at == i) {
        *slot = s->ids[i].chain + 1;
        return;
    }
    while (s->ids[at].chain != i) {
        assert(s->ids[at].chain != NONE);
        at = s->ids[at].chain;
    }
    s->ids[at].chain = s->ids[i].chain;
}

/* --- by arrival --- */

static void order_add(struct seen *s, uint32_t i)
{
    s->ids[i].older = s->newest;
    s->ids[i].newer = NONE;
    *(s->newest == NONE ? &s->oldest : &s->ids[s->newest].newer) = i;
    s->newest = i;
}

static void order_sub(struct seen *s, uint32_t i)
{
    const struct seen_id *e = &s->ids[i];
    *(e->older == NONE ? &s->oldest : &s->ids[e->older].newer) = e->newer;
    *(e->newer == NONE ? &s->newest : &s->ids[e->newer].older) = e->older;
}

/* --- by end --- */

static void put_place(struct seen *s, uint32_t place, uint32_t i)
{
    s->ends[place] = i;
    s->ids[i].place = place;
}

/* Inserts i at this position of the heap, or moves it up or down. */
static void place_id(struct seen *s, uint32_t place, uint32_t i)
{
    const uint64_t due = s->ids[i].until_ms;
    while (place > 0 && s->ids[s->ends[(place - 1) / 2]].until_ms > due) {
        put_place(s, place, s->ends[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    for (uint32_t down; (down = 2 * place + 1) < s->len; place = down) {
        if (down + 1 < s->len &&
            s->ids[s->ends[down + 1]].until_ms < s->ids[s->ends[down]].until_ms)
            down++;
        if (s->ids[s->ends[down]].until_ms >= due)
            break;
        put_place(s, place, s->ends[down]);
    }
    put_place(s, place, i);
}

static void forget_id(struct seen *s, uint32_t i)
{
    assert(s->len > 0 && s->ends[s->ids[i].place] == i);
    const uint32_t place = s->ids[i].place, last = s->ends[--s->len];
    if (last != i)
        place_id(s, place, last); /* it may belong above or below */
    order_sub(s, i);
    chain_sub(s, i);
    s->ids[i].chain = s->unused;
    s->unused = i;
}

/* --- memory --- */

/* Allocates slots for the maximum number of ids at once: untouched pages use no memory, and a table
 * that never grows causes no pauses. */
static int make_slots(struct seen *s)
{
    uint32_t len = FIRST_CAP;
    while (len < s->max)
        len *= 2;
    s->slots = calloc(len, sizeof *s->slots);
    if (s->slots == NULL)
        return HELIO_ENOMEM;
    s->slots_len = len;
    return 0;
}

/* Every id below `cap` is in use. */
static int grow_arrays(struct seen *s)
{
    const uint32_t twice = s->cap == 0 ? FIRST_CAP : 2 * s->cap;
    const uint32_t cap = twice < s->max ? twice : s->max;
    if (s->slots == NULL && make_slots(s) < 0)
        return HELIO_ENOMEM;
    struct seen_id *ids = realloc(s->ids, cap * sizeof *ids);
    if (ids == NULL)
        return HELIO_ENOMEM;
    s->ids = ids;
    uint32_t *ends = realloc(s->ends, cap * sizeof *ends);
    if (ends == NULL)
        return HELIO_ENOMEM;
    s->ends = ends;
    s->cap = cap;
    return 0;
}

/* A few: where many end at once, each new id takes some of them along. */
static void forget_ended(struct seen *s, uint64_t now_ms)
{
    for (unsigned n = 0; n < SEEN_STEP && s->len > 0; n++) {
        if (s->ids[s->ends[0]].until_ms > now_ms)
            return;
        forget_id(s, s->ends[0]);
    }
}

static uint32_t take_unused(struct seen *s)
{
    const uint32_t i = s->unused;
    if (i == NONE)
        return s->top++;
    s->unused = s->ids[i].chain;
    return i;
}

int seen_add(struct seen *s, struct slice id, uint64_t until_ms, uint64_t now_ms)
{
    uint64_t digest[2];
    if (s->max == 0)
        return 0;
    digest_id(s, id, digest);
    uint32_t i = find_id(s, digest);
    if (i != NONE) {
        order_sub(s, i);
        order_add(s, i);
        s->ids[i].until_ms = until_ms;
        place_id(s, s->ids[i].place, i);
        return 0;
    }
    forget_ended(s, now_ms);
    if (s->len == s->cap && s->cap < s->max && grow_arrays(s) < 0)
        return HELIO_ENOMEM;
    for (; s->len >= s->max; s->displaced++)
        forget_id(s, s->oldest);
    i = take_unused(s);
    assert(i < s->cap && s->len < s->max);
    memcpy(s->ids[i].digest, digest, sizeof digest);
    s->ids[i].until_ms = until_ms;
    chain_add(s, i);
    order_add(s, i);
    s->len++;
    place_id(s, s->len - 1, i);
    return 0;
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void seen_check(const struct seen *s)
{
    uint32_t n = 0;
    for (uint32_t i = s->oldest; s->len > 0 && i != NONE; i = s->ids[i].newer, n++) {
        const struct seen_id *e = &s->ids[i];
        assert(i < s->top && find_id(s, e->digest) == i && s->ends[e->place] == i);
        assert(e->place == 0 || s->ids[s->ends[(e->place - 1) / 2]].until_ms <= e->until_ms);
        assert(e->newer != NONE || s->newest == i);
    }
    assert(n == s->len && n <= s->top && s->top <= s->cap && s->cap <= s->max);
    assert(seen_bytes(s) <= (uint64_t)SEEN_ID_BYTES * s->max + 1024);
}
