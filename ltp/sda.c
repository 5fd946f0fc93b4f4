/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads capsules in sequence up to the block's end. What can go wrong: an invalid SDNV, a service
 * whose units have no known length, a unit that ends after the block.
 */
#include "ltp/sda.h"

int sda_next(struct slice *rest, sda_length *length, struct sda_capsule *out)
{
    if (rest->len == 0)
        return 0;
    const uint8_t *p = rest->data, *end = rest->data + rest->len;
    if (sdnv_get(&p, end, &out->client_service) != VERDICT_OK || p == end)
        return HELIO_EFORMAT;
    size_t left = (size_t)(end - p);
    size_t len = length(out->client_service, slice_of(p, left));
    if (len == 0 || len > left)
        return HELIO_EFORMAT;
    out->unit = slice_of(p, len);
    *rest = slice_of(p + len, left - len);
    return 1;
}

int sda_count(struct slice block, sda_length *length, uint32_t max)
{
    struct sda_capsule c;
    int r, n = 0;
    while ((r = sda_next(&block, length, &c)) == 1) {
        if (max-- == 0)
            return HELIO_EFORMAT;
        n++;
    }
    return r < 0 || n == 0 ? HELIO_EFORMAT : n;
}
