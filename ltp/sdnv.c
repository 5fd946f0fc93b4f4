/* SPDX-License-Identifier: Apache-2.0 */
/* Most numbers have one to three bytes. What can go wrong: the bytes end first, or the number does
 * not fit 64 bits. */
#include "ltp/sdnv.h"

enum verdict sdnv_get(const uint8_t **p, const uint8_t *end, uint64_t *v)
{
    const uint8_t *q = *p;
    const uint8_t *stop = end - q > SDNV_MAX ? q + SDNV_MAX : end;
    uint64_t x = 0;
    while (q < stop) {
        uint8_t b = *q++;
        if (x >> 57 != 0)
            return VERDICT_BAD_SDNV;
        x = x << 7 | (b & 0x7f);
        if (b < 0x80) {
            *p = q;
            *v = x;
            return VERDICT_OK;
        }
    }
    return q - *p == SDNV_MAX ? VERDICT_BAD_SDNV : VERDICT_TRUNCATED;
}
