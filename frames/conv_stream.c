/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The period is searched in the first symbols, which are then decoded, too: nothing is lost. What
 * can go wrong: a demodulator that begins within a period, or loses symbols. Then the user finds no
 * units, and the period is searched again; what the decoder had is decided before.
 */
#include "frames/conv_stream.h"

#include <assert.h>
#include <string.h>

static_assert(CONV_DEPTH < CONV_ROOM, "bits are decided before there is no room");
static_assert(CONV_ROOM >= 256, "conv_find_period uses the decisions, too");

void conv_reader_init(struct conv_reader *r, struct conv_format format, bool soft,
                      uint64_t patience)
{
    assert(patience > 0 && format.rate < CONV_RATES);
    memset(r, 0, sizeof *r);
    r->format = format;
    r->soft = soft;
    r->patience = patience;
    r->bits.data = r->octets;
}

static uint64_t count_wrong(const struct conv_reader *r)
{
    return r->decoding ? conv_distance(&r->decoder) / 255 : 0;
}

uint64_t conv_reader_wrong(const struct conv_reader *r)
{
    return r->wrong + count_wrong(r);
}

/* What the decoder has is decided. */
static void end_decoder(struct conv_reader *r)
{
    if (!r->decoding)
        return;
    conv_decoder_end(&r->decoder, -1, &r->bits);
    r->wrong += count_wrong(r);
    r->decoding = false;
    r->looked = 0;
    r->blind = 0;
}

static void begin_period(struct conv_reader *r)
{
    assert(!r->decoding);
    const size_t skip = conv_find_period(r->format, r->look, r->looked, r->decisions);
    conv_decoder_init(&r->decoder, r->format, -1, r->decisions, CONV_ROOM, CONV_DEPTH);
    r->decoding = true;
    r->begins++;
    r->blind = 0;
    conv_decode(&r->decoder, r->look + skip, r->looked - skip, &r->bits);
}

/* Whole octets leave; a rest of bits stays. */
static size_t move_octets(struct conv_reader *r, uint8_t *out)
{
    const size_t n = r->bits.count / 8;
    assert(n <= CONV_OCTETS_MAX);
    memcpy(out, r->bits.data, n);
    r->bits.data[0] = r->bits.count % 8 > 0 ? r->bits.data[n] : 0;
    r->bits.count %= 8;
    return n;
}

/* As symbols behind those in `look`, as many as it has room for. Returns how many. */
static size_t take_symbols(struct conv_reader *r, struct slice *input)
{
    const size_t of_octet = r->soft ? 1 : 8;
    const size_t room = (CONV_LOOK - r->looked) / of_octet;
    const size_t octets = input->len < room ? input->len : room;
    uint8_t *to = r->look + r->looked;
    if (r->soft)
        memcpy(to, input->data, octets);
    else
        for (size_t i = 0; i < 8 * octets; i++)
            to[i] = input->data[i / 8] >> (7 - i % 8) & 1 ? 255 : 0;
    *input = slice_of(input->data + octets, input->len - octets);
    r->count += of_octet * octets;
    return of_octet * octets;
}

size_t conv_reader_input(struct conv_reader *r, struct slice *input, bool locked, uint8_t *out)
{
    assert(r->bits.count < 8);
    if (r->decoding)
        r->blind = locked ? 0 : r->blind;
    if (r->blind >= r->patience)
        end_decoder(r);
    if (r->decoding) {
        r->looked = 0;
        const size_t n = take_symbols(r, input);
        r->blind += n;
        conv_decode(&r->decoder, r->look, n, &r->bits);
    } else {
        r->looked += take_symbols(r, input);
        if (r->looked == CONV_LOOK)
            begin_period(r);
    }
    return move_octets(r, out);
}

size_t conv_reader_end(struct conv_reader *r, uint8_t *out)
{
    if (!r->decoding && r->looked > 0)
        begin_period(r);
    end_decoder(r);
    r->looked = 0;
    r->bits.count = (r->bits.count + 7) / 8 * 8;
    return move_octets(r, out);
}

void conv_writer_init(struct conv_writer *w, struct conv_format format, bool soft)
{
    *w = (struct conv_writer){.soft = soft};
    conv_encoder_init(&w->encoder, format);
}

size_t conv_writer_encode(struct conv_writer *w, const uint8_t *data, size_t len, uint8_t *symbols)
{
    return conv_encode(&w->encoder, data, 8 * len, symbols);
}

size_t conv_writer_pack(struct conv_writer *w, uint8_t *symbols, size_t n, bool last)
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

size_t conv_writer_max(struct conv_format format, bool soft, size_t len)
{
    const size_t bits = conv_period_bits(format.rate), periods = (8 * len + bits - 1) / bits;
    const size_t symbols = periods * conv_period_symbols(format.rate);
    return soft ? symbols : (symbols + 7) / 8;
}
