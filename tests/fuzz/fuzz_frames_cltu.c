/* SPDX-License-Identifier: Apache-2.0 */
/* CLTUs in any octets: reading stays in bounds and ends; what was read is written to what reads the
 * same. The first octet chooses mode and randomiser. */
#include <assert.h>
#include <string.h>

#include "frames/cltu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    uint8_t out[256], written[400], again[256];
    if (len < 1)
        return 0;
    enum bch_mode mode = data[0] & 1 ? BCH_CORRECT : BCH_DETECT;
    bool randomised = (data[0] & 2) != 0;
    const uint8_t *at = data + 1;
    for (size_t left = len - 1; left > 0;) {
        struct cltu c, d;
        size_t room = data[0] & 4 ? 20 : sizeof out;
        enum cltu_verdict v = cltu_read(at, left, mode, randomised, out, room, &c);
        assert(c.used > 0 && c.used <= left && c.len <= room && c.len % BCH_INFORMATION == 0);
        assert(cltu_verdict_name(v)[0] != '\0');
        if (c.len > 0) {
            size_t n = cltu_write(out, c.len, randomised, written, sizeof written);
            assert(n == cltu_size(c.len));
            assert(cltu_read(written, n, BCH_DETECT, randomised, again, sizeof again, &d) ==
                   CLTU_OK);
            assert(d.len == c.len && memcmp(out, again, c.len) == 0 && d.used == n);
        }
        at += c.used;
        left -= c.used;
    }
    return 0;
}
