/* SPDX-License-Identifier: Apache-2.0 */
/* Packets or frames to a file. What can go wrong: the file cannot be written; a packet that no TC
 * frame holds, which is counted. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frames/cltu.h"
#include "frames/pn.h"
#include "os/clock.h"
#include "tools/frames/helio_frames.h"
#include "tools/sle/sle_modem.h"

enum { CODED_MAX = 2 * FRAME_LENGTH_MAX, SYMBOLS_MAX = 16 * CODED_MAX };
static_assert(CODED_MAX > CADU_MARKER_MAX + FRAME_LENGTH_MAX + RS_BLOCK_MAX, "CADUs; CLTUs: below");

static const char *name_output(const struct sink *s)
{
    return s->o->output == NULL ? "standard output" : s->o->output;
}

static int alloc_sink(struct sink *s)
{
    s->frame = malloc(FRAME_LENGTH_MAX);
    s->coded = malloc(CODED_MAX);
    s->symbols = malloc(s->o->coded || s->o->soft ? SYMBOLS_MAX : 1);
    s->secured = malloc(s->o->applied != NULL ? FRAME_LENGTH_MAX : 1);
    if (s->frame != NULL && s->coded != NULL && s->symbols != NULL && s->secured != NULL)
        return 0;
    frames_error("out of memory");
    return -1;
}

static uint64_t draw_gap(struct sink *s)
{
    double gap = floor(log(1 - rng_unit(&s->rng)) / log1p(-s->o->errors));
    return gap < 1e18 ? (uint64_t)gap : UINT64_MAX / 2;
}

int sink_open(struct sink *s, const struct frames_options *o)
{
    bool output = o->output == NULL || strcmp(o->output, "-") == 0;
    *s = (struct sink){.o = o};
    rng_init(&s->rng, rng_named(o->seed, "sink"));
    s->file = output ? stdout : fopen(o->output, "wb");
    if (s->file == NULL) {
        frames_error("%s: %s", o->output, strerror(errno));
        return -1;
    }
    if (alloc_sink(s) != 0) {
        s->failed = true;
        sink_close(s);
        return -1;
    }
    struct mpdu_pack_config c = {.format = o->plain,
                                 .scid = (uint16_t)(o->scid < 0 ? 1 : o->scid),
                                 .vcid = (uint8_t)(o->vcid < 0 ? 0 : o->vcid),
                                 .map = o->map,
                                 .idle = PACKET_ENCAP};
    s->tc = (struct frame){.kind = FRAME_TC,
                           .scid = c.scid,
                           .vcid = c.vcid,
                           .map = c.map,
                           .bypass = true, /* type BD: it is never confirmed */
                           .sequence = 3};
    if (o->packs && o->format.kind != FRAME_TC)
        mpdu_pack_init(&s->pack, &c);
    if (o->to == CONTENT_CADU)
        s->cadu = frames_cadu_format(o, &s->rs);
    conv_writer_init(&s->writer, o->convolutional, o->soft);
    if (o->errors > 0)
        s->next_error = draw_gap(s);
    return 0;
}

static bool write_octets(struct sink *s, const void *data, size_t len)
{
    if (s->failed || fwrite(data, 1, len, s->file) == len)
        return !s->failed;
    frames_error("%s: %s", name_output(s), strerror(errno));
    s->failed = true;
    return false;
}

/* Symbols with errors by chance. */
static bool write_symbols(struct sink *s, size_t n, bool last)
{
    uint64_t at = s->next_error;
    if (s->o->errors > 0) {
        for (; at < n; at += 1 + draw_gap(s))
            s->symbols[at] ^= 0xff;
        s->next_error = at - n;
    }
    n = conv_writer_pack(&s->writer, s->symbols, n, last);
    return write_octets(s, s->symbols, n);
}

/* With errors by chance. */
static bool write_unit(struct sink *s, uint8_t *data, size_t len)
{
    uint64_t bits = 8 * (uint64_t)len, at = s->next_error;
    if (s->o->errors > 0) {
        for (; at < bits; at += 1 + draw_gap(s))
            data[at / 8] ^= (uint8_t)(0x80 >> at % 8);
        s->next_error = at - bits;
    }
    return write_octets(s, data, len);
}

/* A CADU of so many bits as symbols. */
static size_t spread_bits(struct sink *s, size_t bits)
{
    for (size_t i = 0; i < bits; i++)
        s->symbols[i] = s->coded[i / 8] >> (7 - i % 8) & 1 ? 255 : 0;
    return bits;
}

/* CADUs of so many bits follow each other without a gap: half an octet waits for the next one.
 * Returns whole octets. */
static size_t join_halves(struct sink *s, size_t bits)
{
    assert(bits % 4 == 0 && bits < 8 * CODED_MAX - 4);
    if (s->half) {
        for (size_t i = bits / 8; i > 0; i--)
            s->coded[i] = (uint8_t)(s->coded[i - 1] << 4 | s->coded[i] >> 4);
        s->coded[0] = (uint8_t)(s->rest | s->coded[0] >> 4);
        bits += 4;
    }
    s->half = bits % 8 != 0;
    s->rest = s->half ? s->coded[bits / 8] & 0xf0 : 0;
    return bits / 8;
}

/* The time is this machine's, a microsecond behind the last one at least. */
static bool write_head(struct sink *s, struct slice frame)
{
    static const uint8_t qualities[] = {
        [CADU_UNKNOWN] = MODEM_QUALITY_NOT_SAID, [CADU_GOOD] = SLE_GOOD, [CADU_ERRED] = SLE_ERRED};
    uint8_t head[MODEM_FRONT_MAX];
    uint64_t now = clock_wall();
    s->last_time = now > s->last_time + 1000 ? now : s->last_time + 1000;
    const struct modem_unit u = {.kind = MODEM_FRAME,
                                 .quality = qualities[s->quality],
                                 .locks = {.frame = SLE_IN_LOCK,
                                           .symbol = SLE_LOCK_UNKNOWN,
                                           .subcarrier = SLE_LOCK_UNKNOWN,
                                           .carrier = SLE_LOCK_UNKNOWN},
                                 .time = sle_time_of(s->last_time),
                                 .missing = MODEM_MISSING_NOT_SAID,
                                 .data = frame};
    return write_octets(s, head, modem_write(&u, head));
}

bool sink_frame(struct sink *s, struct slice frame)
{
    bool good;
    if (!security_apply(s->o, &frame, s->secured, &good)) {
        s->failed = s->failed || !good;
        return good;
    }
    if (s->o->input == NULL && rng_chance(&s->rng, s->o->erase)) { /* else the source does */
        s->erased++;
        return true;
    }
    s->frames++;
    if (s->o->to == CONTENT_CLTU) {
        size_t n = cltu_write(frame.data, frame.len, s->o->randomise, s->coded, CODED_MAX);
        assert(n > 0);
        return write_unit(s, s->coded, n);
    }
    if (s->o->to == CONTENT_CADU) {
        assert(frame.len == s->cadu.frame_len);
        s->cadu.randomised = s->o->randomise;
        cadu_write(&s->cadu, frame.data, s->coded);
        size_t n = cadu_len(&s->cadu);
        if (frames_soft_cadus(s->o))
            return write_symbols(s, spread_bits(s, cadu_bits(&s->cadu)), false);
        if (!s->o->coded)
            return write_unit(s, s->coded, join_halves(s, cadu_bits(&s->cadu)));
        return write_symbols(s, conv_writer_encode(&s->writer, s->coded, n, s->symbols), false);
    }
    if (s->o->to == CONTENT_MODEM && !write_head(s, frame))
        return false;
    if (s->o->randomise)
        pn_apply(s->o->sequence, frame.data, s->coded, frame.len);
    else
        memcpy(s->coded, frame.data, frame.len);
    return write_unit(s, s->coded, frame.len);
}

static bool write_tc(struct sink *s, const uint8_t *header, size_t header_len, struct slice payload)
{
    size_t len = header_len + payload.len;
    size_t n = 0;
    if (len <= FRAME_TC_MAX) {
        memcpy(s->coded, header, header_len);
        memcpy(s->coded + header_len, payload.data, payload.len);
        n = frame_write_tc(&s->o->plain, &s->tc, slice_of(s->coded, len), s->frame,
                           FRAME_LENGTH_MAX);
    }
    if (n == 0) {
        s->too_long++;
        return true;
    }
    s->tc.count = (s->tc.count + 1) & 0xff;
    return sink_frame(s, slice_of(s->frame, n));
}

static bool close_frame(struct sink *s)
{
    struct mpdu_extra extra = {.master_count = (uint8_t)(s->pack.count & 0xff)};
    struct mpdu_frame out;
    mpdu_pack_close(&s->pack, &extra, &out);
    s->open = false;
    assert(out.slice_count == 1);
    return sink_frame(s, out.slices[0]);
}

static void open_frame(struct sink *s)
{
    if (!s->open)
        mpdu_pack_open(&s->pack, s->frame, &s->slice);
    s->open = true;
}

/* Writes frames as long as one is full. */
static bool pump_frames(struct sink *s)
{
    for (;;) {
        if (s->open && !mpdu_pack_full(&s->pack))
            return true;
        if (s->open && !close_frame(s))
            return false;
        if (!mpdu_pack_pending(&s->pack))
            return true;
        open_frame(s);
    }
}

bool sink_packet(struct sink *s, const uint8_t *header, size_t header_len, struct slice payload)
{
    s->packets++;
    if (s->o->to == CONTENT_PACKETS)
        return write_octets(s, header, header_len) &&
               (payload.len == 0 || write_octets(s, payload.data, payload.len));
    if (s->o->format.kind == FRAME_TC)
        return write_tc(s, header, header_len, payload);
    open_frame(s);
    mpdu_pack_put(&s->pack, header, header_len, &payload, 1);
    return pump_frames(s);
}

bool sink_whole_packet(struct sink *s, const struct packet *p, struct slice payload)
{
    uint8_t header[PACKET_HEADER_MAX];
    struct packet again = *p;
    size_t n = packet_write(&again, header);
    if (n == 0) { /* an extended protocol in a header of two octets: the shortest that is right */
        again.header_len = 0;
        again.length += 2;
        n = packet_write(&again, header);
    }
    return sink_packet(s, header, n, payload);
}

bool sink_idle(struct sink *s)
{
    const struct frame_format *f = &s->o->plain;
    struct frame idle = {.kind = f->kind,
                         .scid = s->pack.config.scid,
                         .vcid = s->pack.config.vcid,
                         .map = s->pack.config.map,
                         .count = s->frames & ((UINT64_C(1) << frame_count_bits(f)) - 1),
                         .master_count = (uint8_t)(s->frames & 0xff)};
    assert(!s->open && f->kind != FRAME_TC);
    frame_write_idle(f, &idle, s->frame);
    return sink_frame(s, slice_of(s->frame, f->length));
}

bool sink_fill(struct sink *s)
{
    open_frame(s);
    mpdu_pack_fill(&s->pack);
    return close_frame(s);
}

void sink_flush(struct sink *s)
{
    if (s->failed || fflush(s->file) == 0)
        return;
    frames_error("%s: %s", name_output(s), strerror(errno));
    s->failed = true;
}

/* Zeros behind the last CADU, by which also a decoder that sees no end of the file decides it. */
static void write_tail(struct sink *s)
{
    static const uint8_t zeros[CONV_ROOM / 8];
    (void)write_symbols(s, conv_writer_encode(&s->writer, zeros, sizeof zeros, s->symbols), true);
}

int sink_close(struct sink *s)
{
    if (s->file != NULL && !s->failed && s->open)
        (void)sink_fill(s);
    if (s->file != NULL && !s->failed && s->half)
        (void)write_unit(s, &s->rest, 1);
    if (s->file != NULL && !s->failed && s->o->coded && s->o->to == CONTENT_CADU)
        write_tail(s);
    if (s->file != NULL && (s->file == stdout ? fflush(s->file) : fclose(s->file)) != 0 &&
        !s->failed) {
        frames_error("%s: %s", name_output(s), strerror(errno));
        s->failed = true;
    }
    s->file = NULL;
    free(s->frame);
    free(s->coded);
    free(s->symbols);
    free(s->secured);
    return s->failed ? -1 : 0;
}
