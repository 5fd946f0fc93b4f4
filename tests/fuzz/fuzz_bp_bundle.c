/* SPDX-License-Identifier: Apache-2.0 */
/* What strict mode accepts, lenient mode accepts too; what either accepts is written back and read
 * again as the same bundle; a lint of a strict bundle finds nothing fatal. */
#include <stdlib.h>

#include "bp/codec/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
    if (!ok)
        abort();
}

static void require_same(const struct bundle *a, const struct bundle *b)
{
    require(a->flags == b->flags && a->crc == b->crc && a->lifetime_ms == b->lifetime_ms);
    require(bundle_id_equal(&a->id, &b->id));
    require(eid_equal(&a->destination, &b->destination) && eid_equal(&a->report_to, &b->report_to));
    require(a->has_previous == b->has_previous && a->has_age == b->has_age);
    require(a->has_hops == b->has_hops);
    require(a->age_ms == b->age_ms && a->hop_count == b->hop_count);
    struct bundle_walk v = {0}, w = {0};
    struct bundle_block x, y;
    while (bundle_next(a, &v, &x))
        require(bundle_next(b, &w, &y) && x.type == y.type && x.number == y.number &&
                slice_equal(x.data, y.data));
    require(!bundle_next(b, &w, &y));
    require(slice_equal(a->payload, b->payload));
}

static void read_back(const struct bundle *b, enum bundle_mode mode)
{
    struct bundle again;
    struct buf *wire = bundle_encode_copy(b);
    require(wire != NULL);
    require(bundle_decode(buf_data(wire), wire->len, mode, &again, NULL) == 0);
    require_same(b, &again);
    buf_drop(wire);
    struct buf *piece = bundle_fragment(b, 0, (b->payload.len + 1) / 2);
    require(piece == NULL ||
            bundle_decode(buf_data(piece), piece->len, BUNDLE_LENIENT, &again, NULL) == 0);
    buf_drop(piece);
}

/* What was accepted can be sent on with all that a node adds. */
static void send_on(struct bundle b)
{
    b.has_previous = b.has_age = b.has_hops = true;
    b.previous = eid_ipn(UINT32_MAX, UINT32_MAX, UINT64_MAX);
    b.age_ms = b.hop_limit = b.hop_count = UINT64_MAX;
    struct buf *wire = bundle_encode_copy(&b);
    require(wire != NULL);
    buf_drop(wire);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bundle strict, lenient;
    struct bundle_findings f;
    int s = bundle_decode(data, size, BUNDLE_STRICT, &strict, &f);
    require((s != 0) == (f.len > 0 && f.at[f.len - 1].fatal));
    int l = bundle_decode(data, size, BUNDLE_LENIENT, &lenient, NULL);
    require(s != 0 || l == 0);
    if (s == 0)
        read_back(&strict, BUNDLE_STRICT);
    if (l == 0)
        read_back(&lenient, BUNDLE_LENIENT);
    if (l == 0)
        send_on(lenient);
    size_t n = bundle_lint(data, size, &f);
    require(n == f.len && (s == 0 || n > 0));
    return 0;
}
