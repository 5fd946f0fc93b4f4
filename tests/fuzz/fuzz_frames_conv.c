/* SPDX-License-Identifier: Apache-2.0 */
/* Any symbols, in pieces: decoding stays in bounds, decides as many bits as were received, and what
 * it decides has the distance that it says, when it knows all symbols. The first octet chooses the
 * rate, the second the room, the third the size of the pieces. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "frames/conv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { ROOM_MAX = 2100, SYMBOLS_MAX = 2000 };

/* From state 0. */
static uint64_t measure_distance(struct conv_format f, const struct conv_bits *bits,
                                 const uint8_t *symbols)
{
    uint8_t sent[2 * SYMBOLS_MAX];
    struct conv_encoder e;
    uint64_t sum = 0;
    conv_encoder_init(&e, f);
    size_t n = conv_encode(&e, bits->data, bits->count, sent);
    for (size_t i = 0; i < n; i++)
        sum += (unsigned)abs(sent[i] - symbols[i]);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static uint8_t decisions[ROOM_MAX * CONV_STATES];
    uint8_t got[ROOM_MAX / 8 + 1] = {0};
    struct conv_bits out = {.data = got};
    struct conv_decoder d;
    if (len < 3 || len - 3 > SYMBOLS_MAX)
        return 0;
    struct conv_format f = conv_format_of((enum conv_rate)(data[0] % CONV_RATES));
    bool all = data[1] == 0;
    size_t room = all ? ROOM_MAX : 2 + data[1], piece = 1 + data[2];
    const uint8_t *symbols = data + 3;
    len -= 3;
    (void)conv_find_period(f, symbols, len, decisions);
    conv_decoder_init(&d, f, 0, decisions, room, all ? 1 : 1 + data[1] / 2);
    for (size_t at = 0, n; at < len; at += n) {
        size_t before = out.count;
        n = len - at < piece ? len - at : piece;
        conv_decode(&d, symbols + at, n, &out);
        assert(out.count - before <= n + room);
    }
    uint64_t distance = conv_distance(&d);
    bool half = d.half;
    conv_decoder_end(&d, -1, &out);
    assert(d.have == 0 && out.count <= len);
    assert(out.count + 1 >= len * conv_period_bits(f.rate) / conv_period_symbols(f.rate));
    if (all && !half)
        assert(measure_distance(f, &out, symbols) == distance);
    return 0;
}
