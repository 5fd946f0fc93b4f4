/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the transport mapping and credentials, from any octets. */
#include <assert.h>

#include "sle/auth.h"
#include "sle/tml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct sle_credentials c;
    struct slice in = slice_of(data, len);
    struct sle_tml_message m;
    enum sle_tml_verdict v;
    while ((v = sle_tml_read(in, 1 << 16, &m)) == SLE_TML_OK) {
        assert(m.total >= SLE_TML_HEADER && m.total <= in.len &&
               m.body.len == m.total - SLE_TML_HEADER);
        in = slice_of(in.data + m.total, in.len - m.total);
    }
    assert(v != SLE_TML_MORE || m.total == 0 || m.total > in.len);
    if (sle_credentials_read(slice_of(data, len), &c)) {
        uint8_t out[SLE_CREDENTIALS_MAX];
        struct sle_credentials again;
        size_t n = sle_credentials_write(&c, out, sizeof out);
        assert(n > 0 && sle_credentials_read(slice_of(out, n), &again));
        assert(again.random == c.random && again.digest_len == c.digest_len);
    }
    return 0;
}
