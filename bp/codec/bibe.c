/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array of one element is a whole bundle, one of four a segment: transfer, total length, offset,
 * bytes. What can go wrong: an array of another size, lengths that do not fit, bytes behind the
 * end.
 */
#include "bp/codec/bibe.h"

#include <assert.h>
#include <string.h>

#include "bp/codec/bundle.h"
#include "bp/codec/cbor.h"
#include "bp/codec/custody.h"

static bool legal_segment(const struct bibe_payload *p, size_t len)
{
    return len > 0 && p->offset <= p->total && len <= p->total - p->offset;
}

int bibe_encode(const struct bibe_payload *p, struct buf *data)
{
    uint8_t head[BIBE_HEAD_MAX];
    struct writer w = writer_of(head, sizeof head);
    if (p->segment && !legal_segment(p, data->len))
        return HELIO_EINVAL;
    item_put_array(&w, p->segment ? 4 : 1);
    if (p->segment) {
        item_put_uint(&w, p->transfer);
        item_put_uint(&w, p->total);
        item_put_uint(&w, p->offset);
    }
    item_put_bytes_head(&w, data->len);
    assert(!w.bad && writer_len(&w) <= sizeof head);
    uint8_t *at = data->off < writer_len(&w) ? NULL : buf_prepend(data, writer_len(&w));
    if (at == NULL)
        return HELIO_ESPACE;
    memcpy(at, head, writer_len(&w));
    return 0;
}

int bibe_decode(struct slice payload, struct bibe_payload *out)
{
    struct item_reader r = item_reader_of(payload.data, payload);
    uint64_t n = item_array(&r);
    struct bibe_payload p = {.segment = n == 4};
    if (r.in.bad)
        return HELIO_EFORMAT;
    if (n != 1 && n != 4)
        return HELIO_ENOENT;
    if (p.segment) {
        p.transfer = item_uint(&r);
        p.total = item_uint(&r);
        p.offset = item_uint(&r);
    }
    p.data = item_bytes(&r);
    if (r.in.bad || reader_left(&r.in) > 0 || (p.segment && !legal_segment(&p, p.data.len)))
        return HELIO_EFORMAT;
    assert(p.data.len <= payload.len);
    *out = p;
    return 0;
}

static int read_bundle(struct slice bundle, struct bundle *b)
{
    return bundle_decode_within(bundle.data, bundle.len, BUNDLE_CHECKED, BIBE_EXTENSIONS_MAX, b,
                                NULL);
}

/* The payload encapsulates a bundle: of this draft, or as a BPDU with custody. */
static bool encapsulates(const struct bundle *b, struct bibe_payload *p)
{
    struct custody_record r;
    if (b->id.fragment)
        return false;
    if (!(b->flags & BUNDLE_IS_ADMIN))
        return bibe_decode(b->payload, p) == 0;
    if (custody_read_bpdu(b->payload, &r) < 0)
        return false;
    *p = (struct bibe_payload){.segment = false, .data = r.bundle};
    return true;
}

unsigned bibe_depth(struct slice bundle, unsigned most)
{
    unsigned depth = 0;
    struct bundle b;
    struct bibe_payload p;
    int rc = read_bundle(bundle, &b);
    while (depth < most && rc == 0 && encapsulates(&b, &p)) {
        rc = p.segment ? HELIO_ENOENT : read_bundle(p.data, &b);
        if (!p.segment && rc != 0 && rc != HELIO_ESPACE)
            break; /* a byte string, and no bundle in it */
        depth++;
    }
    assert(depth <= most);
    return depth;
}
