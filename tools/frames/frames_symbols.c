/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols of a convolutional code in files, packed or an octet each, to and from the octets of
 * CADUs. What can go wrong: a demodulator that begins within a period, or loses symbols: while no
 * CADUs are found, each piece of the input is searched for its period.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tools/frames/helio_frames.h"

enum { PIECE = SYMBOLS_PIECE, ROOM = 1024, DEPTH = 192, LOOK = 8192, FLUSH = 4 };

int symbol_reader_open(struct symbol_reader *s, const struct frames_options *o)
{
    *s = (struct symbol_reader){.format = o->convolutional, .soft = o->soft};
    s->symbols = malloc(PIECE);
    s->decisions = malloc((size_t)ROOM * CONV_STATES);
    s->bits.data = calloc(1, PIECE + ROOM);
    return s->symbols == NULL || s->decisions == NULL || s->bits.data == NULL ? -1 : 0;
}

void symbol_reader_close(struct symbol_reader *s)
{
    free(s->symbols);
    free(s->decisions);
    free(s->bits.data);
}

/* Packed symbols are spread from the last one on, in place. */
static size_t spread_symbols(uint8_t *symbols, size_t octets)
{
    for (size_t i = 8 * octets; i-- > 0;)
        symbols[i] = symbols[i / 8] >> (7 - i % 8) & 1 ? 255 : 0;
    return 8 * octets;
}

static uint64_t count_wrong(const struct symbol_reader *s)
{
    return s->begun ? conv_distance(&s->decoder) / 255 : 0;
}

/* A decoder that begins where a period does; what the last one has is decided. */
static size_t begin_period(struct symbol_reader *s, size_t n)
{
    size_t look = n < LOOK ? n : LOOK;
    if (s->begun)
        conv_decoder_end(&s->decoder, -1, &s->bits);
    s->wrong += count_wrong(s);
    s->begins++;
    size_t skip = conv_find_period(s->format, s->symbols, look, s->decisions);
    conv_decoder_init(&s->decoder, s->format, -1, s->decisions, ROOM, DEPTH);
    s->begun = true;
    return skip;
}

/* Whole octets leave; a rest of bits stays. */
static size_t move_octets(struct symbol_reader *s, uint8_t *to)
{
    size_t n = s->bits.count / 8;
    memcpy(to, s->bits.data, n);
    s->bits.data[0] = s->bits.count % 8 > 0 ? s->bits.data[n] : 0;
    s->bits.count %= 8;
    return n;
}

size_t symbol_reader_input(struct symbol_reader *s, size_t octets, bool locked, uint8_t *to)
{
    assert(octets <= symbol_reader_piece(s));
    size_t n = s->soft ? octets : spread_symbols(s->symbols, octets);
    size_t skip = s->begun && locked ? 0 : begin_period(s, n);
    s->count += n;
    conv_decode(&s->decoder, s->symbols + skip, n - skip, &s->bits);
    return move_octets(s, to);
}

size_t symbol_reader_end(struct symbol_reader *s, uint8_t *to)
{
    if (!s->begun)
        return 0;
    conv_decoder_end(&s->decoder, -1, &s->bits);
    s->wrong += count_wrong(s);
    s->begun = false;
    s->bits.count = (s->bits.count + 7) / 8 * 8;
    return move_octets(s, to);
}

size_t symbol_reader_piece(const struct symbol_reader *s)
{
    return s->soft ? PIECE : PIECE / 8;
}

uint64_t symbol_reader_wrong(const struct symbol_reader *s)
{
    return s->wrong + count_wrong(s);
}

void symbol_writer_init(struct symbol_writer *w, const struct frames_options *o)
{
    *w = (struct symbol_writer){.soft = o->soft};
    conv_encoder_init(&w->encoder, o->convolutional);
}

size_t symbol_writer_encode(struct symbol_writer *w, const uint8_t *data, size_t len,
                            uint8_t *symbols)
{
    return conv_encode(&w->encoder, data, 8 * len, symbols);
}

size_t symbol_writer_end(struct symbol_writer *w, uint8_t *symbols)
{
    static const uint8_t zeros[FLUSH];
    return conv_encode(&w->encoder, zeros, 8 * sizeof zeros, symbols);
}

size_t symbol_writer_pack(struct symbol_writer *w, uint8_t *symbols, size_t n, bool last)
{
    size_t octets = 0;
    if (w->soft)
        return n;
    for (size_t i = 0; i < n || (last && w->held > 0); i++) {
        w->octet = (uint8_t)(w->octet << 1 | (i < n ? symbols[i] & 1 : 0));
        if (++w->held == 8) {
            symbols[octets++] = w->octet;
            w->held = 0;
        }
    }
    return octets;
}
