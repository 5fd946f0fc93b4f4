/* SPDX-License-Identifier: Apache-2.0 */
/* A record of custody transfer that can be read can be written and read again; and no signal breaks
 * the engine, or ends a bundle that it does not name. */
#include <stdlib.h>
#include <string.h>

#include "bp/custody/custody.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_bpdu(const struct custody_record *r)
{
    struct custody_record again;
    struct buf *b = buf_new(CUSTODY_HEAD_MAX, r->bundle.len);
    if (b == NULL)
        return;
    if (r->bundle.len > 0)
        memcpy(buf_append(b, r->bundle.len), r->bundle.data, r->bundle.len);
    if (custody_bpdu_write(CUSTODY_ION, r->id, r->again_at, b) != 0 ||
        custody_read_bpdu(buf_slice(b), &again) != 0 || again.id != r->id ||
        again.again_at != r->again_at || !slice_equal(again.bundle, r->bundle))
        abort();
    buf_drop(b);
}

static void write_signal(const struct custody_record *r, const struct range *at)
{
    struct range got[CUSTODY_READ_MAX];
    uint8_t out[CUSTODY_SIGNAL_MAX];
    struct custody_record again;
    if (r->len == 0 || r->len > CUSTODY_RANGES_MAX)
        return;
    const size_t len = custody_signal_write(CUSTODY_DRAFT, r->disposition, at, r->len, out);
    if (custody_read(slice_of(out, len), &again, got) != 0 || again.len != r->len ||
        again.disposition != r->disposition || memcmp(got, at, r->len * sizeof *at) != 0)
        abort();
}

/* The IDs 0 to 9 of the engine are moved to where the signal has its numbers: their low octet
 * counts from the first ID. */
static void take_signal(const struct custody_record *r, struct range *at)
{
    const struct custody_config k = {.held_max = 10,
                                     .id_max = INT64_MAX,
                                     .timer = TICK_S,
                                     .signal_after = TICK_S,
                                     .signal_count = 3};
    struct custody *c = custody_new(&k, 1);
    bool named[10] = {false};
    struct custody_event e;
    uint64_t id, first = 0;
    if (c == NULL)
        return;
    for (uint64_t key = 0; key < 10; key++) {
        if (custody_hold(c, key, &id) != 0)
            abort();
        first = key == 0 ? id : first;
        custody_sent(c, key, &(struct custody_carrier){key, 0}, 0);
    }
    for (size_t i = 0; i < r->len; i++) {
        const uint64_t count = at[i].hi - at[i].lo;
        at[i].lo = first - 3 + at[i].lo % 16;
        at[i].hi = count > UINT64_MAX - at[i].lo ? UINT64_MAX : at[i].lo + count;
        for (uint64_t key = 0; key < 10; key++)
            named[key] = named[key] || (at[i].lo >= first && at[i].hi <= first + 10 &&
                                        at[i].lo <= first + key && first + key < at[i].hi);
    }
    custody_input(c, r->disposition, at, r->len);
    custody_check(c);
    while (custody_poll(c, &e)) {
        if (e.key > 9 || !named[e.key] ||
            (e.outcome == CUSTODY_RELEASED) != custody_is_accepted(r->disposition))
            abort();
        named[e.key] = false;
    }
    for (uint64_t key = 0; key < 10; key++)
        if (named[key])
            abort();
    custody_check(c);
    custody_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct range at[CUSTODY_READ_MAX];
    struct custody_record r;
    if (custody_read(slice_of(data, size), &r, at) != 0)
        return 0;
    if (!r.signal) {
        write_bpdu(&r);
        return 0;
    }
    write_signal(&r, at);
    take_signal(&r, at);
    return 0;
}
