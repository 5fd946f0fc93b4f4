/* SPDX-License-Identifier: Apache-2.0 */
/* All of `given` is read in any case, beside the octets of the secret, which begin again at its
 * end. */
#include "base/secret.h"

#include <stdint.h>
#include <string.h>

bool secret_equal(const void *secret, size_t len, const void *given, size_t given_len)
{
    const volatile uint8_t *s = secret, *g = given; /* volatile: no early end is made of it */
    uint8_t differ = given_len != len;
    for (size_t i = 0, k = 0; i < given_len && len > 0; i++) {
        differ |= (uint8_t)(g[i] ^ s[k]);
        k = k + 1 == len ? 0 : k + 1;
    }
    return differ == 0;
}

bool secret_same(const void *a, const void *b, size_t len)
{
    const uint8_t *p = a, *q = b;
    uint64_t differ = 0, x, y;
    for (; len >= sizeof x; len -= sizeof x, p += sizeof x, q += sizeof x) {
        memcpy(&x, p, sizeof x);
        memcpy(&y, q, sizeof y);
        differ |= x ^ y;
    }
    for (size_t i = 0; i < len; i++)
        differ |= (uint64_t)(p[i] ^ q[i]);
    const volatile uint64_t all = differ; /* no early end is made of it */
    return all == 0;
}

void secret_wipe(void *secret, size_t len)
{
    volatile uint8_t *p = secret; /* volatile: the compiler must not omit the writes */
    for (size_t i = 0; i < len; i++)
        p[i] = 0;
}
