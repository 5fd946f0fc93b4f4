/* SPDX-License-Identifier: Apache-2.0 */
/* Turbo codewords of any symbols: decoding stays in bounds; a block that was decoded makes a
 * codeword that differs from what was received in the counted bits, and one that was not is as
 * received. The first octet chooses the code, of at most 3568 bits, the second the rounds and
 * whether there is a check value; symbols that are missing are unknown. */
#include <assert.h>
#include <string.h>

#include "frames/fecf.h"
#include "frames/turbo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct turbo codes[2 * TURBO_RATES];
    static bool ready;
    static struct turbo_work work;
    static uint8_t symbols[TURBO_CODEWORD_MAX], codeword[TURBO_CODEWORD_MAX / 8];
    static uint8_t block[TURBO_BLOCK_MAX / 8];
    for (unsigned i = 0; i < 2 * TURBO_RATES && !ready; i++)
        turbo_init(&codes[i], (enum turbo_rate)(i % TURBO_RATES), i < TURBO_RATES ? 1784 : 3568);
    ready = true;
    if (len < 2)
        return 0;
    const struct turbo *t = &codes[data[0] % (2 * TURBO_RATES)];
    const uint32_t rounds = 1 + data[1] % 4, bits = t->n / (t->k + TURBO_TAIL);
    const bool checked = (data[1] & 4) != 0;
    memset(symbols, 128, sizeof symbols);
    memcpy(symbols, data + 2, len - 2 < t->n ? len - 2 : t->n);
    struct turbo_result r = turbo_decode(t, &work, symbols, rounds, checked, block);
    assert(r.iterations >= 1 && r.iterations <= rounds && r.corrected <= t->n);
    assert(r.decoded || (r.corrected == 0 && r.iterations == rounds));
    if (!r.decoded) {
        for (uint32_t i = 0; i < t->k; i++)
            assert((block[i / 8] >> (7 - i % 8) & 1) == (symbols[i * bits] >= 128));
        return 0;
    }
    uint32_t differ = 0;
    assert(!checked || fecf_crc(FECF_INIT, block, t->k / 8) == 0);
    turbo_encode(t, block, codeword);
    for (uint32_t i = 0; i < t->n; i++)
        differ += (codeword[i / 8] >> (7 - i % 8) & 1) != (symbols[i] >= 128);
    assert(differ == r.corrected);
    return 0;
}
