/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In lock the next marker is expected at the end of the last unit, and octets are aligned: the
 * octets are copied, derandomised and decoded.
 *
 * What can go wrong: the marker has errors, or is a few bits early or late; such positions are
 * searched first. Then a marker without errors is accepted anywhere. At the position of the marker
 * after this one, it confirms this unit without its own marker; before that, units start again
 * there.
 */
#include "frames/cadu.h"

#include <assert.h>
#include <string.h>

enum { HISTORY = 2 };
static_assert(CADU_SLIP_MAX <= 8 * (HISTORY - 1), "octets before a marker that is early");
static_assert(CADU_MARKER_ERRORS_MAX < 8 * FRAME_ASM_LEN / 2, "or it is upright and inverted");

#define NOWHERE SIZE_MAX

/* A marker, or what is most like one. */
struct hit {
    size_t at; /* its first bit */
    unsigned errors;
    bool inverted;
};

enum { WORD = 64, MARKER_WORDS = CADU_MARKER_MAX * 8 / WORD };

/* Its bits, 64 in a word; the last word may have fewer. */
struct marker {
    unsigned bits, errors; /* errors: that are permitted where marker_errors is the most */
    uint64_t words[MARKER_WORDS];
};

static const struct marker *marker_of(const struct cadu_format *f)
{
    static const struct marker markers[] = {
        [CADU_MARKER_32] = {32, CADU_MARKER_ERRORS_MAX, {FRAME_ASM}},
        [CADU_MARKER_64] = {64, CADU_MARKER_ERRORS_MAX, {0x034776c7272895b0}},
        [CADU_MARKER_96] = {96, 18, {0x25d5c0ce8990f6c9, 0x461bf79c}},
        [CADU_MARKER_128] = {128, 28, {0x034776c7272895b0, 0xfcb88938d8d76a4f}},
        [CADU_MARKER_192] = {192, 48, {0x25d5c0ce8990f6c9, 0x461bf79cda2a3f31, 0x766f0936b9e40863}},
    };
    return &markers[f->marker];
}

static unsigned marker_bits(const struct cadu_format *f)
{
    return marker_of(f)->bits;
}

/* Bits of its word i. */
static unsigned word_bits(const struct marker *m, unsigned i)
{
    return m->bits - WORD * i < WORD ? m->bits - WORD * i : WORD;
}

size_t cadu_marker_len(enum cadu_marker marker)
{
    const struct cadu_format f = {.marker = marker};
    return marker_bits(&f) / 8;
}

enum cadu_marker cadu_turbo_marker(enum turbo_rate rate)
{
    static const enum cadu_marker of[TURBO_RATES] = {CADU_MARKER_64, CADU_MARKER_96,
                                                     CADU_MARKER_128, CADU_MARKER_192};
    assert((unsigned)rate < TURBO_RATES);
    return of[rate];
}

const char *cadu_problem(const struct cadu_format *f)
{
    if (f->frame_len == 0 || f->frame_len > FRAME_LENGTH_MAX)
        return "a frame has 1 to 65536 octets";
    if (f->randomised && f->sequence == PN_TC)
        return "the randomiser is that of telecommands: CADUs have one of telemetry";
    if (f->ldpc != NULL && f->rs != NULL)
        return "Reed-Solomon and LDPC codes exclude each other: choose one";
    if (f->ldpc != NULL && 8 * f->frame_len != f->ldpc->code.k)
        return "the frame is not as long as a block of the LDPC code";
    if (f->turbo != NULL && (f->rs != NULL || f->ldpc != NULL))
        return "a turbo code excludes Reed-Solomon and LDPC codes: choose one";
    if (f->turbo != NULL && 8 * f->frame_len != f->turbo->code.k)
        return "the frame is not as long as a block of the turbo code";
    return f->rs == NULL ? NULL : rs_problem(f->rs, f->frame_len, f->depth);
}

static size_t body_bits(const struct cadu_format *f)
{
    if (f->ldpc != NULL)
        return f->ldpc->code.n;
    if (f->turbo != NULL)
        return f->turbo->code.n;
    return 8 * (f->frame_len + (f->rs == NULL ? 0 : rs_checks_len(f->rs, f->depth)));
}

static size_t body_len(const struct cadu_format *f)
{
    return (body_bits(f) + 7) / 8;
}

size_t cadu_bits(const struct cadu_format *f)
{
    assert(cadu_problem(f) == NULL);
    return marker_bits(f) + body_bits(f);
}

size_t cadu_len(const struct cadu_format *f)
{
    return (cadu_bits(f) + 7) / 8;
}

static void write_marker(const struct marker *m, uint8_t *out)
{
    for (unsigned i = 0; i * WORD < m->bits; i++)
        for (unsigned bits = word_bits(m, i); bits > 0; bits -= 8)
            *out++ = (uint8_t)(m->words[i] >> (bits - 8));
}

void cadu_write(const struct cadu_format *f, const uint8_t *frame, uint8_t *out)
{
    uint8_t *body = out + marker_bits(f) / 8;
    assert(cadu_problem(f) == NULL);
    write_marker(marker_of(f), out);
    if (f->ldpc != NULL)
        ldpc_encode(&f->ldpc->code, frame, body);
    else if (f->turbo != NULL)
        turbo_encode(&f->turbo->code, frame, body);
    else
        memcpy(body, frame, f->frame_len);
    if (f->rs != NULL)
        rs_encode(f->rs, body, f->frame_len, f->depth, body + f->frame_len);
    if (f->randomised)
        pn_apply(f->sequence, body, body, body_len(f));
    if (body_bits(f) % 8 != 0)
        body[body_len(f) - 1] &= (uint8_t)(0xff00 >> body_bits(f) % 8);
}

/* A unit, the marker behind it, and the slips of both. */
size_t cadu_reader_room(const struct cadu_format *f)
{
    return cadu_len(f) + cadu_marker_len(f->marker) + 2 * HISTORY + 2;
}

void cadu_reader_init(struct cadu_reader *r, const struct cadu_format *f, unsigned marker_errors,
                      unsigned slip_max, uint8_t *buffer, size_t room, uint8_t *block)
{
    assert(cadu_problem(f) == NULL && room >= cadu_reader_room(f));
    assert(marker_errors <= CADU_MARKER_ERRORS_MAX && slip_max <= CADU_SLIP_MAX);
    *r = (struct cadu_reader){.format = *f,
                              .marker_errors = marker_errors,
                              .slip_max = slip_max,
                              .buffer = buffer,
                              .room = room,
                              .block = block};
}

/* Keeps the octets before the place, where an early marker begins. */
uint8_t *cadu_reader_space(struct cadu_reader *r, size_t *len)
{
    size_t used = r->at / 8, drop = used > HISTORY ? used - HISTORY : 0;
    assert(r->at <= 8 * r->have);
    memmove(r->buffer, r->buffer + drop, r->have - drop);
    if (r->symbols != NULL)
        memmove(r->symbols, r->symbols + 8 * drop, 8 * (r->have - drop));
    r->have -= drop;
    r->at -= 8 * drop;
    *len = r->room - r->have;
    assert(*len > 0); /* less than a unit and its neighbourhood is left */
    return r->buffer + r->have;
}

void cadu_reader_fed(struct cadu_reader *r, size_t len)
{
    assert(len <= r->room - r->have);
    r->have += len;
}

void cadu_reader_soften(struct cadu_reader *r, uint8_t *symbols)
{
    assert(r->have == 0);
    r->symbols = symbols;
}

size_t cadu_reader_symbols(struct cadu_reader *r, const uint8_t *symbols, size_t n)
{
    size_t octets;
    uint8_t *to = cadu_reader_space(r, &octets);
    assert(n >= 8 && r->symbols != NULL);
    octets = octets < n / 8 ? octets : n / 8;
    memcpy(r->symbols + 8 * r->have, symbols, 8 * octets);
    for (size_t i = 0; i < octets; i++)
        for (unsigned bit = 0; bit < 8; bit++)
            to[i] = (uint8_t)(to[i] << 1 | *symbols++ >> 7);
    cadu_reader_fed(r, octets);
    return 8 * octets;
}

void cadu_reader_end(struct cadu_reader *r)
{
    r->counts.skipped_bits += 8 * r->have - r->at;
    r->at = 8 * r->have;
    r->locked = false;
}

/* The last so many bits of a word: 32 or 64. */
static uint64_t last_bits(uint64_t word, unsigned bits)
{
    return bits == 64 ? word : word & UINT32_MAX;
}

/* So many bits from there on. */
static uint64_t load_bits(const uint8_t *data, size_t at, unsigned bits)
{
    const uint8_t *p = data + at / 8;
    unsigned shift = at % 8;
    uint64_t word = 0;
    for (unsigned i = 0; i < bits / 8; i++)
        word = word << 8 | p[i];
    if (shift > 0)
        word = word << shift | (uint64_t)p[bits / 8] >> (8 - shift);
    return last_bits(word, bits);
}

static unsigned count_errors(const struct cadu_reader *r, const struct marker *m, size_t at)
{
    unsigned errors = 0;
    for (unsigned i = 0; i * WORD < m->bits; i++) {
        uint64_t word = load_bits(r->buffer, at + (size_t)i * WORD, word_bits(m, i));
        errors += (unsigned)__builtin_popcountll(word ^ m->words[i]);
    }
    return errors;
}

/* Of soft symbols: the share that wrong ones have in what is known, in bits. */
static unsigned weigh_errors(const struct cadu_reader *r, const struct marker *m, size_t at)
{
    unsigned wrong = 0, all = 0;
    for (unsigned i = 0; i < m->bits; i++) {
        const unsigned shift = word_bits(m, i / WORD) - 1 - i % WORD, got = r->symbols[at + i];
        const unsigned size = got >= 128 ? got - 127 : 128 - got;
        all += size;
        wrong += (m->words[i / WORD] >> shift & 1) != got >> 7 ? size : 0;
    }
    assert(all > 0); /* each bit has 1 at least */
    return wrong * m->bits / all;
}

static struct hit judge_place(const struct cadu_reader *r, size_t at)
{
    const struct marker *m = marker_of(&r->format);
    struct hit hit = {.at = at};
    hit.errors = r->symbols != NULL ? weigh_errors(r, m, at) : count_errors(r, m, at);
    hit.inverted = hit.errors > m->bits / 2;
    hit.errors = hit.inverted ? m->bits - hit.errors : hit.errors;
    return hit;
}

/* The most likely position of a marker near the expected one, which is preferred. */
static struct hit find_near(const struct cadu_reader *r, size_t due)
{
    struct hit best = judge_place(r, due);
    for (size_t slip = 1; slip <= r->slip_max && best.errors > 0; slip++) {
        struct hit late = judge_place(r, due + slip);
        struct hit early = due >= slip ? judge_place(r, due - slip) : late;
        best = late.errors < best.errors ? late : best;
        best = early.errors < best.errors ? early : best;
    }
    return best;
}

/* Wrong bits of a marker near its expected position. */
static unsigned near_errors(const struct cadu_reader *r)
{
    return r->marker_errors * marker_of(&r->format)->errors / CADU_MARKER_ERRORS_MAX;
}

/* Wrong bits of a marker that is searched for. LDPC and turbo codes work where few markers have
 * none; theirs are so long that chance makes one once in 10^9 bits, even with as many errors as can
 * be permitted. */
static unsigned search_errors(const struct cadu_reader *r)
{
    const bool strong = r->format.ldpc != NULL || r->format.turbo != NULL;
    return strong && r->format.marker != CADU_MARKER_32 ? near_errors(r) : 0;
}

/* The first marker in bits [from, to), without errors but for LDPC and turbo codes. Its first word
 * is judged first. */
static struct hit search_bits(const struct cadu_reader *r, size_t from, size_t to)
{
    const struct marker *m = marker_of(&r->format);
    const unsigned most = search_errors(r), bits = word_bits(m, 0);
    const struct hit none = {.at = NOWHERE};
    if (to - from < m->bits)
        return none;
    uint64_t window = load_bits(r->buffer, from, bits);
    for (size_t at = from;; at++) {
        unsigned wrong = (unsigned)__builtin_popcountll(window ^ m->words[0]);
        if (wrong <= most || bits - wrong <= most || r->symbols != NULL) {
            const struct hit hit = judge_place(r, at);
            if (hit.errors <= most)
                return hit;
        }
        if (at + m->bits >= to)
            return none;
        const size_t next = at + bits;
        window = last_bits(window << 1 | (r->buffer[next / 8] >> (7 - next % 8) & 1), bits);
    }
}

/* Octets that begin at any bit; the last one of them may end after the last octet that is there. */
static void copy_bits(const struct cadu_reader *r, size_t at, size_t len, bool inverted)
{
    const uint8_t *from = r->buffer + at / 8, *end = r->buffer + r->have;
    const uint8_t flip = inverted ? 0xff : 0;
    unsigned shift = at % 8;
    if (shift == 0 && !inverted) {
        memcpy(r->block, from, len);
        return;
    }
    for (size_t i = 0; i < len; i++) {
        unsigned two = (unsigned)from[i] << 8 | (shift > 0 && from + i + 1 < end ? from[i + 1] : 0);
        r->block[i] = (uint8_t)(two >> (8 - shift)) ^ flip;
    }
}

static void count_unit(struct cadu_counts *c, const struct cadu *unit)
{
    c->frames++;
    c->erred += unit->quality == CADU_ERRED;
    c->corrected += unit->rs.corrected + unit->ldpc.corrected + unit->turbo.corrected;
    c->codewords_failed += unit->rs.failed + (unit->ldpc.iterations > 0 && !unit->ldpc.decoded) +
                           (unit->turbo.iterations > 0 && !unit->turbo.decoded);
    c->iterations += unit->ldpc.iterations + unit->turbo.iterations;
    c->slips += unit->slip != 0;
    c->resynchronised += unit->resynchronised;
    c->markers_missing += unit->marker_missing;
    c->marker_errors += unit->marker_errors;
}

/* Received symbols, inverted where the block has another bit: it is upright and not randomised. */
static void take_symbols(const struct cadu_reader *r, size_t body, uint8_t *symbols)
{
    const size_t bits = body_bits(&r->format);
    for (size_t i = 0; i < bits && r->symbols != NULL; i++) {
        const uint8_t got = r->symbols[body + i];
        const unsigned bit = (unsigned)r->block[i / 8] >> (7 - i % 8) & 1U;
        symbols[i] = got >> 7 == bit ? got : 255 - got;
    }
}

static bool decode_ldpc(const struct cadu_reader *r, size_t body, struct ldpc_result *result)
{
    struct cadu_ldpc *l = r->format.ldpc;
    uint8_t *block = r->block;
    ldpc_harden(&l->code, block, l->symbols);
    take_symbols(r, body, l->symbols);
    *result = ldpc_decode(&l->code, &l->work, l->symbols, LDPC_ITERATIONS, block);
    return result->decoded;
}

static bool decode_turbo(const struct cadu_reader *r, size_t body, struct turbo_result *result)
{
    struct cadu_turbo *t = r->format.turbo;
    uint8_t *block = r->block;
    turbo_harden(&t->code, block, t->symbols);
    take_symbols(r, body, t->symbols);
    *result = turbo_decode(&t->code, &t->work, t->symbols, TURBO_ITERATIONS, t->checked, block);
    return result->decoded;
}

/* The bits of its body begin there. */
static void decode_block(const struct cadu_reader *r, size_t body, struct cadu *unit)
{
    const struct cadu_format *f = &r->format;
    bool good;
    if (f->rs != NULL)
        good = rs_decode(f->rs, r->block, f->frame_len, f->depth, &unit->rs);
    else if (f->ldpc != NULL)
        good = decode_ldpc(r, body, &unit->ldpc);
    else if (f->turbo != NULL)
        good = decode_turbo(r, body, &unit->turbo);
    else
        return;
    unit->quality = good ? CADU_GOOD : CADU_ERRED;
}

/* The unit whose marker is there, if all of it is. */
static bool take_unit(struct cadu_reader *r, const struct hit *hit, struct cadu *unit)
{
    const struct cadu_format *f = &r->format;
    size_t body = hit->at + marker_bits(f), len = body_len(f);
    if (body + body_bits(f) > 8 * r->have)
        return false;
    copy_bits(r, body, len, hit->inverted);
    if (f->randomised)
        pn_apply(f->sequence, r->block, r->block, len);
    unit->frame = slice_of(r->block, f->frame_len);
    unit->inverted = hit->inverted;
    decode_block(r, body, unit);
    if (hit->at > r->at) /* an early one begins within the unit before it */
        r->counts.skipped_bits += hit->at - r->at;
    r->counts.inversions += r->counts.frames > 0 && r->inverted != hit->inverted;
    count_unit(&r->counts, unit);
    r->inverted = hit->inverted;
    r->locked = true;
    r->at = body + body_bits(f);
    return true;
}

/* Octets up to there belong to nothing. */
static void skip_bits(struct cadu_reader *r, size_t to)
{
    assert(to >= r->at);
    r->counts.skipped_bits += to - r->at;
    r->at = to;
}

static void lose_sync(struct cadu_reader *r)
{
    r->counts.sync_losses += r->locked;
    r->locked = false;
}

static bool take_found(struct cadu_reader *r, const struct hit *hit, struct cadu *unit)
{
    lose_sync(r);
    unit->resynchronised = true;
    unit->marker_errors = hit->errors;
    if (take_unit(r, hit, unit))
        return true;
    skip_bits(r, hit->at > r->at ? hit->at : r->at);
    return false;
}

static bool search_unit(struct cadu_reader *r, struct cadu *unit)
{
    struct hit hit = search_bits(r, r->at, 8 * r->have);
    if (hit.at != NOWHERE)
        return take_found(r, &hit, unit);
    if (8 * r->have - r->at >= marker_bits(&r->format))
        skip_bits(r, 8 * r->have - (marker_bits(&r->format) - 1));
    return false;
}

/* There is no marker near the position: the unit is accepted if the marker after it is near its
 * expected position. */
static bool continue_unit(struct cadu_reader *r, struct cadu *unit)
{
    const unsigned bits = marker_bits(&r->format);
    size_t due = r->at + cadu_bits(&r->format), last = due + r->slip_max + bits;
    if (last > 8 * r->have)
        return false;
    struct hit between = search_bits(r, r->at, due - r->slip_max + bits - 1);
    if (between.at != NOWHERE)
        return take_found(r, &between, unit);
    if (find_near(r, due).errors > near_errors(r)) {
        lose_sync(r);
        skip_bits(r, due);
        return false;
    }
    struct hit here = {.at = r->at, .inverted = r->inverted};
    unit->marker_missing = true;
    return take_unit(r, &here, unit);
}

static bool follow_unit(struct cadu_reader *r, struct cadu *unit)
{
    if (r->at + r->slip_max + marker_bits(&r->format) > 8 * r->have)
        return false;
    struct hit near = find_near(r, r->at);
    if (near.errors > near_errors(r))
        return continue_unit(r, unit);
    unit->marker_errors = near.errors;
    unit->slip = (int)((ptrdiff_t)near.at - (ptrdiff_t)r->at);
    return take_unit(r, &near, unit);
}

bool cadu_reader_next(struct cadu_reader *r, struct cadu *out)
{
    bool locked;
    do {
        *out = (struct cadu){.quality = CADU_UNKNOWN};
        locked = r->locked;
        if (locked ? follow_unit(r, out) : search_unit(r, out))
            return true;
    } while (locked && !r->locked); /* it was lost: what is there may have another one */
    return false;
}
