/* SPDX-License-Identifier: Apache-2.0 */
/* LDPC codewords of any symbols: decoding stays in bounds; a block that was decoded makes a
 * codeword that is decided as it is, and one that was not is as received. The first octet chooses
 * the code, AR4JA of at most 4096 bits or C2, the second the rounds; symbols that are missing are
 * unknown. */
#include <assert.h>
#include <string.h>

#include "frames/ldpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct ldpc codes[7];
    static bool ready;
    static struct ldpc_work work;
    static uint8_t symbols[LDPC_CODEWORD_MAX], codeword[LDPC_CODEWORD_MAX / 8];
    static uint8_t block[LDPC_BLOCK_MAX / 8];
    for (unsigned i = 0; i < 6 && !ready; i++)
        ldpc_init(&codes[i], (enum ldpc_rate)(i % 3), i < 3 ? 1024 : 4096);
    if (!ready)
        ldpc_init(&codes[6], LDPC_7_8, 7136);
    ready = true;
    if (len < 2)
        return 0;
    const struct ldpc *l = &codes[data[0] % 7];
    uint32_t rounds = 1 + data[1] % 8;
    memset(symbols, 128, sizeof symbols);
    memcpy(symbols, data + 2, len - 2 < l->n ? len - 2 : l->n);
    struct ldpc_result r = ldpc_decode(l, &work, symbols, rounds, block);
    assert(r.iterations >= 1 && r.iterations <= rounds && r.corrected <= l->n);
    assert(r.decoded || (r.corrected == 0 && r.iterations == rounds));
    if (!r.decoded) {
        for (uint32_t i = 0; i < l->k; i++)
            assert((block[i / 8] >> (7 - i % 8) & 1) == (symbols[i] >= 128));
        return 0;
    }
    uint32_t differ = 0;
    ldpc_encode(l, block, codeword);
    for (uint32_t i = 0; i < l->n; i++)
        differ += (codeword[i / 8] >> (7 - i % 8) & 1) != (symbols[i] >= 128);
    assert(differ == r.corrected);
    return 0;
}
