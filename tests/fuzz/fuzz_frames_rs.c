/* SPDX-License-Identifier: Apache-2.0 */
/* Reed-Solomon codeblocks of any octets: decoding stays in bounds; a decoded block is a codeblock,
 * and a block that was not decoded differs only in codewords that were. The first octet chooses
 * code and basis, the second the depth. */
#include <assert.h>
#include <string.h>

#include "frames/rs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct rs rs[4];
    static bool ready;
    uint8_t block[RS_BLOCK_MAX], checks[RS_DEPTH_MAX * RS_CHECKS_MAX];
    struct rs_result result, again;
    if (!ready)
        for (int k = 0; k < 4; k++)
            rs_init(&rs[k], (enum rs_code)(k & 1), (enum rs_basis)(k >> 1));
    ready = true;
    if (len < 2)
        return 0;
    const struct rs *code = &rs[data[0] & 3];
    unsigned depth = 1 + data[1] % RS_DEPTH_MAX;
    size_t n = len - 2, behind = rs_checks_len(code, depth);
    if (n <= behind || rs_problem(code, n - behind, depth) != NULL)
        return 0;
    memcpy(block, data + 2, n);
    bool good = rs_decode(code, block, n - behind, depth, &result);
    unsigned changed = 0;
    for (size_t i = 0; i < n; i++)
        changed += block[i] != data[2 + i];
    assert(changed == result.corrected && result.failed <= depth && good == (result.failed == 0));
    assert(result.worst <= code->checks / 2 && result.worst <= result.corrected);
    if (good) {
        rs_encode(code, block, n - behind, depth, checks);
        assert(memcmp(checks, block + n - behind, behind) == 0);
    }
    assert(rs_decode(code, block, n - behind, depth, &again) == good);
    assert(again.corrected == 0 && again.failed == result.failed);
    return 0;
}
