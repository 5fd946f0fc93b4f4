/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both records are small arrays of numbers; the encapsulated bundle is a view of the record. What
 * can go wrong: other types, arrays of another size, sequences beyond 64 bits, bytes behind the
 * end.
 */
#include "bp/codec/custody.h"

#include <assert.h>
#include <string.h>

#include "bp/codec/cbor.h"

static const struct {
    uint64_t bpdu, signal;
} types[] = {[CUSTODY_DRAFT] = {3, 4}, [CUSTODY_ION] = {7, 8}};

const char *custody_disposition_text(uint64_t disposition)
{
    static const char *const texts[CUSTODY_DISPOSITIONS] = {
        [CUSTODY_ACCEPTED] = "custody accepted",
        [CUSTODY_NO_INFORMATION] = "no further information",
        [CUSTODY_REDUNDANT] = "redundant reception",
        [CUSTODY_DEPLETED] = "depleted storage",
        [CUSTODY_BAD_DESTINATION] = "destination endpoint ID unintelligible",
        [CUSTODY_NO_ROUTE] = "no known route to destination from here",
        [CUSTODY_NO_CONTACT] = "no timely contact with next node on route",
        [CUSTODY_BAD_BLOCK] = "block unintelligible",
    };
    const bool known = disposition < CUSTODY_DISPOSITIONS && texts[disposition] != NULL;
    return known ? texts[disposition] : "unassigned";
}

bool custody_is_accepted(uint64_t disposition)
{
    return disposition == CUSTODY_ACCEPTED || disposition == CUSTODY_REDUNDANT;
}

int custody_bpdu_write(enum custody_form form, uint64_t id, uint64_t again_at, struct buf *data)
{
    uint8_t head[CUSTODY_HEAD_MAX];
    struct writer w = writer_of(head, sizeof head);
    item_put_array(&w, 2);
    item_put_uint(&w, types[form].bpdu);
    item_put_array(&w, 3);
    item_put_uint(&w, id);
    item_put_uint(&w, again_at);
    item_put_bytes_head(&w, data->len);
    assert(!w.bad);
    uint8_t *at = data->off < writer_len(&w) ? NULL : buf_prepend(data, writer_len(&w));
    if (at == NULL)
        return HELIO_ESPACE;
    memcpy(at, head, writer_len(&w));
    return 0;
}

size_t custody_signal_write(enum custody_form form, uint64_t disposition, const struct range *at,
                            size_t len, uint8_t *out)
{
    struct writer w = writer_of(out, CUSTODY_SIGNAL_MAX);
    assert(len >= 1 && len <= CUSTODY_RANGES_MAX);
    item_put_array(&w, 2);
    item_put_uint(&w, types[form].signal);
    item_put_array(&w, 2);
    item_put_uint(&w, disposition);
    item_put_array(&w, len);
    for (size_t i = 0; i < len; i++) {
        item_put_array(&w, 2);
        item_put_uint(&w, at[i].lo);
        item_put_uint(&w, at[i].hi - at[i].lo);
    }
    assert(!w.bad);
    return writer_len(&w);
}

static void read_bpdu(struct item_reader *in, struct custody_record *r)
{
    if (item_array(in) != 3)
        item_fail(in, "a BPDU has three elements", item_at(in));
    r->id = item_uint(in);
    r->again_at = item_uint(in);
    r->bundle = item_bytes(in);
}

static void read_signal(struct item_reader *in, struct custody_record *r, struct range *at)
{
    if (item_array(in) != 2)
        item_fail(in, "a custody signal has two elements", item_at(in));
    r->disposition = item_uint(in);
    const uint64_t len = item_array(in);
    if (len > CUSTODY_READ_MAX)
        item_fail(in, "a custody signal has too many sequences", item_at(in));
    for (r->len = 0; r->len < len && !in->in.bad; r->len++) {
        if (item_array(in) != 2)
            item_fail(in, "a sequence is its first ID and a number of IDs", item_at(in));
        const uint64_t first = item_uint(in), count = item_uint(in);
        if (first == 0 || count == 0 || count > UINT64_MAX - first)
            item_fail(in, "a sequence without IDs, or beyond 64 bits", item_at(in));
        at[r->len] = (struct range){first, first + count};
    }
}

/* at: NULL: a signal is of another type. */
static int read_record(struct slice payload, struct custody_record *out, struct range *at)
{
    struct item_reader in = item_reader_of(payload.data, payload);
    struct custody_record r = {.signal = false};
    if (item_array(&in) != 2)
        item_fail(&in, "an administrative record is an array of type and content", 0);
    const uint64_t type = item_uint(&in);
    bool known = false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        r.signal = r.signal || (type == types[i].signal && at != NULL);
        known = known || type == types[i].bpdu || r.signal;
    }
    if (!in.in.bad && !known)
        return HELIO_ENOENT;
    if (!in.in.bad && r.signal)
        read_signal(&in, &r, at);
    else if (!in.in.bad)
        read_bpdu(&in, &r);
    if (in.in.bad || reader_left(&in.in) > 0)
        return HELIO_EFORMAT;
    assert(r.len <= CUSTODY_READ_MAX && r.bundle.len <= payload.len);
    *out = r;
    return 0;
}

int custody_read(struct slice payload, struct custody_record *out, struct range *at)
{
    assert(at != NULL);
    return read_record(payload, out, at);
}

int custody_read_bpdu(struct slice payload, struct custody_record *out)
{
    return read_record(payload, out, NULL);
}
