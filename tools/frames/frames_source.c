/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file as frames. Frames of a fixed length follow each other, CADUs their markers, which the
 * library looks for; TC frames end as they say. What can go wrong: the file cannot be read; a rest
 * that is no frame, which is counted; a frame that cannot be decoded, which is left out.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frames/cltu.h"
#include "frames/pn.h"
#include "tools/frames/helio_frames.h"

enum { ROOM = 1 << 20, UNIT_MAX = CADU_MARKER_MAX + FRAME_LENGTH_MAX + RS_BLOCK_MAX, SLIP_MAX = 4 };
enum { SOFT_ROOM = ROOM / 8 };
static_assert(ROOM > 2 * UNIT_MAX, "a unit and what is looked at");

/* 0, or -1: out of memory. */
static int open_cadus(struct source *s)
{
    struct cadu_format f = frames_cadu_format(s->o, &s->rs);
    const bool soft = frames_soft_cadus(s->o);
    cadu_reader_init(&s->cadus, &f, s->o->marker_errors, SLIP_MAX, s->data, soft ? SOFT_ROOM : ROOM,
                     s->frame);
    if (!soft)
        return 0;
    s->softs = malloc(SYMBOLS_PIECE);
    s->kept = malloc((size_t)8 * SOFT_ROOM);
    if (s->softs == NULL || s->kept == NULL)
        return -1;
    cadu_reader_soften(&s->cadus, s->kept);
    return 0;
}

/* The period is searched again after the symbols of three CADUs without one, at least of a piece.
 */
static int open_symbols(struct source *s)
{
    s->symbols = malloc(sizeof *s->symbols);
    s->piece = malloc(SYMBOLS_PIECE);
    if (s->symbols == NULL || s->piece == NULL)
        return -1;
    const struct cadu_format f = frames_cadu_format(s->o, &s->rs);
    const size_t three = 3 * conv_writer_max(s->o->convolutional, true, cadu_len(&f));
    conv_reader_init(s->symbols, s->o->convolutional, s->o->soft,
                     three > SYMBOLS_PIECE ? three : SYMBOLS_PIECE);
    return 0;
}

int frames_source_open(struct source *s, const struct frames_options *o)
{
    bool input = o->input == NULL || strcmp(o->input, "-") == 0;
    *s = (struct source){.o = o, .room = ROOM};
    rng_init(&s->rng, rng_named(o->seed, "source"));
    s->file = input ? stdin : fopen(o->input, "rb");
    if (s->file == NULL) {
        frames_error("%s: %s", o->input, strerror(errno));
        return -1;
    }
    s->data = malloc(ROOM);
    s->frame = malloc(UNIT_MAX);
    if (s->data == NULL || s->frame == NULL ||
        (o->coded && o->from == CONTENT_CADU && open_symbols(s) != 0) ||
        (o->from == CONTENT_CADU && open_cadus(s) != 0)) {
        frames_error("out of memory");
        source_close(s);
        return -1;
    }
    return 0;
}

void source_close(struct source *s)
{
    if (s->file != NULL && s->file != stdin)
        fclose(s->file);
    free(s->symbols);
    free(s->piece);
    free(s->data);
    free(s->frame);
    free(s->softs);
    free(s->kept);
    s->file = NULL;
}

/* As much as there is: a pipe's octets do not wait for more. 0: the file has ended, or failed. */
static size_t read_file(struct source *s, uint8_t *to, size_t room)
{
    ssize_t n;
    if (s->sink != NULL)
        sink_flush(s->sink);
    do
        n = read(fileno(s->file), to, room);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        frames_error("%s: %s", s->o->input == NULL ? "-" : s->o->input, strerror(errno));
        s->failed = true;
        return 0;
    }
    s->ended = n == 0;
    s->octets += (size_t)n;
    return (size_t)n;
}

/* At least `want` octets, if there are so many. Returns how many there are. */
static size_t fill_buffer(struct source *s, size_t want)
{
    assert(want <= s->room && s->at <= s->len);
    if (s->len - s->at < want && !s->ended && !s->failed) {
        memmove(s->data, s->data + s->at, s->len - s->at);
        s->len -= s->at;
        s->at = 0;
        do
            s->len += read_file(s, s->data + s->len, s->room - s->len);
        while (s->len < want && !s->ended && !s->failed);
    }
    return s->len - s->at;
}

static bool take_octets(struct source *s, size_t len, struct slice *out)
{
    if (fill_buffer(s, len) < len || len == 0) {
        s->skipped += s->len - s->at;
        s->at = s->len;
        return false;
    }
    *out = slice_of(s->data + s->at, len);
    s->at += len;
    return true;
}

/* Octets that a TC frame says it has, or 0. */
static size_t tc_length(const uint8_t *d, size_t len)
{
    return len < 5 ? 0 : (size_t)((d[2] & 3) << 8 | d[3]) + 1;
}

/* TC frames of the last CLTU, or of the next good one. */
static bool next_cltu(struct source *s, struct slice *out)
{
    struct cltu c;
    for (;;) {
        size_t n = tc_length(s->frame + s->frame_at, s->frame_len - s->frame_at);
        if (n > 5 && n <= s->frame_len - s->frame_at) {
            *out = slice_of(s->frame + s->frame_at, n);
            s->frame_at += n;
            return true;
        }
        size_t have = fill_buffer(s, s->room / 2);
        if (have == 0)
            return false;
        enum cltu_verdict v = cltu_read(s->data + s->at, have, BCH_CORRECT, s->o->randomised,
                                        s->frame, FRAME_LENGTH_MAX, &c);
        s->at += c.used;
        s->frame_at = 0;
        s->frame_len = c.len;
        s->corrected += c.corrected;
        s->skipped += v == CLTU_NO_START ? c.used : 0;
        s->bad_cltus += v != CLTU_OK && v != CLTU_NO_START;
        assert(c.used > 0);
    }
}

static bool next_plain(struct source *s, struct slice *out)
{
    /* Without security where frames get it. */
    size_t len = s->o->applied != NULL ? s->o->plain.length : s->o->format.length;
    if (s->o->format.kind == FRAME_TC)
        len = tc_length(s->data + s->at, fill_buffer(s, 5));
    if (!take_octets(s, len, out))
        return false;
    if (s->o->randomised) {
        pn_apply(s->o->sequence, out->data, s->frame, out->len);
        out->data = s->frame;
    }
    return true;
}

/* Octets out of symbols; 0: the file has ended. */
static size_t read_symbols(struct source *s, uint8_t *to)
{
    struct slice *left = &s->symbols_left;
    for (size_t n = 0;;) {
        if (left->len == 0 && !s->failed && !s->ended)
            *left = slice_of(s->piece, read_file(s, s->piece, SYMBOLS_PIECE));
        if (left->len == 0)
            return conv_reader_end(s->symbols, to);
        n = conv_reader_input(s->symbols, left, s->cadus.locked, to);
        if (n > 0)
            return n;
    }
}

/* Octets of CADUs. */
static size_t read_octets(struct source *s, uint8_t *to, size_t room)
{
    if (s->symbols != NULL) {
        assert(room >= CONV_OCTETS_MAX);
        return read_symbols(s, to);
    }
    return s->failed || s->ended ? 0 : read_file(s, to, room);
}

/* Gives the reader soft symbols; the last ones are filled up to eight with unknown ones. Returns
 * how many. */
static size_t feed_softs(struct source *s)
{
    size_t left = s->softs_len - s->softs_at;
    if (left < 8) {
        memmove(s->softs, s->softs + s->softs_at, left);
        if (!s->failed && !s->ended)
            left += read_file(s, s->softs + left, SYMBOLS_PIECE - left);
        for (; left % 8 != 0 && s->ended; left++)
            s->softs[left] = 128;
        s->softs_at = 0;
        s->softs_len = left;
    }
    if (left < 8)
        return 0;
    const size_t n = cadu_reader_symbols(&s->cadus, s->softs + s->softs_at, left);
    s->softs_at += n;
    return n;
}

static size_t feed_octets(struct source *s)
{
    size_t room;
    uint8_t *to = cadu_reader_space(&s->cadus, &room);
    const size_t n = read_octets(s, to, room);
    cadu_reader_fed(&s->cadus, n);
    return n;
}

static bool next_unit(struct source *s)
{
    while (!cadu_reader_next(&s->cadus, &s->unit)) {
        bool ended = s->failed || s->ended;
        size_t n = s->softs != NULL ? feed_softs(s) : feed_octets(s);
        if (n == 0 && ended) {
            cadu_reader_end(&s->cadus);
            s->skipped = s->cadus.counts.skipped_bits / 8;
            return false;
        }
    }
    return true;
}

/* CADUs whose frame could be decoded, or has no code. */
static bool next_cadu(struct source *s, struct slice *out)
{
    while (next_unit(s)) {
        s->qualities[s->unit.quality]++;
        s->corrected_frames +=
            s->unit.rs.corrected > 0 || s->unit.ldpc.corrected > 0 || s->unit.turbo.corrected > 0;
        s->worst = s->unit.rs.worst > s->worst ? s->unit.rs.worst : s->worst;
        *out = s->unit.frame;
        if (s->unit.quality != CADU_ERRED || s->o->keep_erred)
            return true;
        s->dropped++;
    }
    return false;
}

static bool next_frame(struct source *s, struct slice *out)
{
    return s->o->from == CONTENT_CLTU   ? next_cltu(s, out)
           : s->o->from == CONTENT_CADU ? next_cadu(s, out)
                                        : next_plain(s, out);
}

bool source_frame(struct source *s, struct slice *out)
{
    while (next_frame(s, out)) {
        s->frames++;
        if (!rng_chance(&s->rng, s->o->erase))
            return true;
        s->erased++;
    }
    return false;
}

bool source_octets(struct source *s, struct slice *out)
{
    *out = slice_of(s->data + s->at, fill_buffer(s, 1));
    s->at = s->len;
    return out->len > 0;
}
