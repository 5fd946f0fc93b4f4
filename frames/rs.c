/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A codeword is good when what its data leave, divided by the generator, equals its check symbols:
 * four symbols a step through tables, as is usual for CRCs. The change of basis is linear, so the
 * tables contain it. Only for a difference are syndromes computed, of the difference; then
 * Berlekamp and Massey's locator, a search for its roots, and Forney's values.
 * What can go wrong: a word with too many errors, which has no such locator, or one with roots in
 * the virtual fill.
 */
#include "frames/rs.h"

#include <assert.h>
#include <string.h>

enum { WORDS = 4, STEP = 4, FIELD = 0x187, PRIMITIVE_POWER = 11 };
static_assert(WORDS * 8 == RS_CHECKS_MAX, "the widest remainder");

/* Symbols of a remainder, the first of them in the lowest bits of the first word. */
struct remainder {
    uint64_t word[WORDS];
};

static uint8_t multiply_symbols(const struct rs *rs, uint8_t a, uint8_t b)
{
    return a == 0 || b == 0 ? 0 : rs->power[rs->log[a] + rs->log[b]];
}

static uint8_t invert_symbol(const struct rs *rs, uint8_t a)
{
    assert(a != 0);
    return rs->power[RS_WORD - rs->log[a]];
}

/* x^8 + x^7 + x^2 + x + 1, and the powers of its root's 11th power (131.0-B 4.3.3, 4.3.4). */
static void init_field(struct rs *rs)
{
    unsigned x = 1;
    for (unsigned i = 0; i < RS_WORD; i++) {
        rs->power[i] = rs->power[i + RS_WORD] = (uint8_t)x;
        rs->log[x] = (uint8_t)i;
        for (int k = 0; k < PRIMITIVE_POWER; k++)
            x = x << 1 ^ (x & 0x80 ? FIELD : 0);
    }
    assert(x == 1);
    rs->log[0] = 0;
}

/* The rows that a field element's bits, the highest first, add to an octet (131.0-B annex F). */
static void init_basis(struct rs *rs, enum rs_basis basis)
{
    static const uint8_t dual[8] = {0x8d, 0xef, 0xec, 0x86, 0xfa, 0x99, 0xaf, 0x7b};
    for (unsigned s = 0; s < 256; s++) {
        unsigned octet = s;
        if (basis == RS_DUAL) {
            octet = 0;
            for (unsigned bit = 0; bit < 8; bit++)
                octet ^= s & 0x80U >> bit ? dual[bit] : 0;
        }
        rs->from_field[s] = (uint8_t)octet;
        rs->to_field[octet] = (uint8_t)s;
    }
}

/* The generator's coefficients from x^(checks - 1) down, in the field. */
static void find_generator(const struct rs *rs, uint8_t *generator)
{
    uint8_t g[RS_CHECKS_MAX + 1] = {1};
    for (unsigned i = 0; i < rs->checks; i++) { /* times x + root */
        uint8_t root = rs->power[128 - rs->checks / 2 + i];
        for (unsigned k = i + 1; k > 0; k--)
            g[k] ^= multiply_symbols(rs, g[k - 1], root);
    }
    memcpy(generator, g + 1, rs->checks);
}

/* x^(checks + n) times a symbol, divided by the generator: n more steps of the division. */
static void init_remainders(struct rs *rs)
{
    uint8_t generator[RS_CHECKS_MAX];
    find_generator(rs, generator);
    for (unsigned octet = 0; octet < 256; octet++) {
        uint8_t r[RS_CHECKS_MAX + 1] = {rs->to_field[octet]};
        for (unsigned n = 0; n < STEP; n++) {
            uint8_t lead = r[0];
            for (unsigned i = 0; i < rs->checks; i++)
                r[i] = r[i + 1] ^ multiply_symbols(rs, lead, generator[i]);
            for (unsigned i = 0; i < rs->checks; i++)
                rs->remainder[n][octet][i / 8] |= (uint64_t)rs->from_field[r[i]] << 8 * (i % 8);
        }
    }
}

unsigned rs_code_checks(enum rs_code code)
{
    return code == RS_255_223 ? 32 : 16;
}

void rs_init(struct rs *rs, enum rs_code code, enum rs_basis basis)
{
    assert(code == RS_255_223 || code == RS_255_239);
    assert(basis == RS_DUAL || basis == RS_CONVENTIONAL);
    memset(rs, 0, sizeof *rs);
    rs->checks = rs_code_checks(code);
    init_field(rs);
    init_basis(rs, basis);
    init_remainders(rs);
}

const char *rs_code_problem(enum rs_code code, size_t frame_len, unsigned depth)
{
    if (depth < 1 || depth > RS_DEPTH_MAX)
        return "the interleaving depth of Reed-Solomon is 1 to 8";
    if (frame_len == 0 || frame_len % depth != 0)
        return "a frame's length must be a multiple of the interleaving depth";
    if (frame_len / depth > RS_WORD - rs_code_checks(code))
        return code == RS_255_223 ? "a frame has at most 223 octets times the interleaving depth"
                                  : "a frame has at most 239 octets times the interleaving depth";
    return NULL;
}

const char *rs_problem(const struct rs *rs, size_t frame_len, unsigned depth)
{
    return rs_code_problem(rs->checks == 32 ? RS_255_223 : RS_255_239, frame_len, depth);
}

size_t rs_checks_len(const struct rs *rs, unsigned depth)
{
    assert(depth >= 1 && depth <= RS_DEPTH_MAX);
    return (size_t)rs->checks * depth;
}

static inline void add_entry(struct remainder *r, const uint64_t *entry, unsigned words)
{
    for (unsigned i = 0; i < words; i++)
        r->word[i] ^= entry[i];
}

/* Takes the first symbols out: those behind them move up. */
static inline void shift_symbols(struct remainder *r, unsigned symbols, unsigned words)
{
    for (unsigned i = 0; i + 1 < words; i++)
        r->word[i] = r->word[i] >> 8 * symbols | r->word[i + 1] << (64 - 8 * symbols);
    r->word[words - 1] >>= 8 * symbols;
}

/* Of n symbols, `stride` octets apart. The first ones alone, until whole steps are left. */
static inline struct remainder divide_words(const struct rs *rs, const uint8_t *data, size_t n,
                                            size_t stride, unsigned words)
{
    struct remainder r = {{0}};
    for (; n % STEP != 0; n--, data += stride) {
        uint8_t lead = (uint8_t)r.word[0] ^ *data;
        shift_symbols(&r, 1, words);
        add_entry(&r, rs->remainder[0][lead], words);
    }
    for (; n > 0; n -= STEP, data += STEP * stride) {
        uint32_t lead = (uint32_t)data[0] | (uint32_t)data[stride] << 8 |
                        (uint32_t)data[2 * stride] << 16 | (uint32_t)data[3 * stride] << 24;
        lead ^= (uint32_t)r.word[0];
        shift_symbols(&r, STEP, words);
        add_entry(&r, rs->remainder[0][lead >> 24], words);
        add_entry(&r, rs->remainder[1][lead >> 16 & 0xff], words);
        add_entry(&r, rs->remainder[2][lead >> 8 & 0xff], words);
        add_entry(&r, rs->remainder[3][lead & 0xff], words);
    }
    return r;
}

static struct remainder divide_word(const struct rs *rs, const uint8_t *data, size_t n,
                                    size_t stride)
{
    return rs->checks == 32 ? divide_words(rs, data, n, stride, 4)
                            : divide_words(rs, data, n, stride, 2);
}

static uint8_t symbol_at(const struct remainder *r, unsigned i)
{
    return (uint8_t)(r->word[i / 8] >> 8 * (i % 8));
}

void rs_encode(const struct rs *rs, const uint8_t *frame, size_t frame_len, unsigned depth,
               uint8_t *checks)
{
    assert(rs_problem(rs, frame_len, depth) == NULL);
    for (unsigned w = 0; w < depth; w++) {
        struct remainder r = divide_word(rs, frame + w, frame_len / depth, depth);
        for (unsigned i = 0; i < rs->checks; i++)
            checks[i * depth + w] = symbol_at(&r, i);
    }
}

/* Of the difference between the check symbols computed and received. */
static void find_syndromes(const struct rs *rs, const struct remainder *r, uint8_t *syndrome)
{
    uint8_t in_field[RS_CHECKS_MAX];
    for (unsigned i = 0; i < rs->checks; i++)
        in_field[i] = rs->to_field[symbol_at(r, i)];
    for (unsigned k = 0; k < rs->checks; k++) {
        uint8_t root = rs->power[128 - rs->checks / 2 + k], sum = 0;
        for (unsigned i = 0; i < rs->checks; i++)
            sum = multiply_symbols(rs, sum, root) ^ in_field[i];
        syndrome[k] = sum;
    }
}

/* The shortest recurrence of the syndromes. Returns its length; the locator has its coefficients
 * from x^0 up. */
static unsigned find_locator(const struct rs *rs, const uint8_t *syndrome, uint8_t *locator)
{
    uint8_t before[RS_CHECKS_MAX + 1] = {1}, kept[RS_CHECKS_MAX + 1];
    unsigned length = 0, since = 1;
    uint8_t last = 1;
    memset(locator, 0, RS_CHECKS_MAX + 1);
    locator[0] = 1;
    for (unsigned n = 0; n < rs->checks; n++, since++) {
        uint8_t wrong = syndrome[n];
        for (unsigned i = 1; i <= length; i++)
            wrong ^= multiply_symbols(rs, locator[i], syndrome[n - i]);
        if (wrong == 0)
            continue;
        uint8_t factor = multiply_symbols(rs, wrong, invert_symbol(rs, last));
        memcpy(kept, locator, sizeof kept);
        for (unsigned i = since; i <= rs->checks; i++)
            locator[i] ^= multiply_symbols(rs, factor, before[i - since]);
        if (2 * length <= n) {
            length = n + 1 - length;
            memcpy(before, kept, sizeof before);
            last = wrong;
            since = 0;
        }
    }
    return length;
}

/* The places, counted from the last symbol, of a word of n symbols whose powers' inverses are
 * roots. Returns how many there are. */
static unsigned find_places(const struct rs *rs, const uint8_t *locator, unsigned length,
                            unsigned n, uint8_t *places)
{
    uint8_t term[RS_CHECKS_MAX / 2 + 1]; /* logarithms of the coefficients that are not 0 */
    uint8_t step[RS_CHECKS_MAX / 2 + 1];
    unsigned terms = 0, found = 0;
    for (unsigned i = 1; i <= length; i++) {
        if (locator[i] == 0)
            continue;
        term[terms] = rs->log[locator[i]];
        step[terms++] = (uint8_t)(RS_WORD - i);
    }
    for (unsigned place = 0; place < n && found < length; place++) {
        uint8_t sum = locator[0];
        for (unsigned k = 0; k < terms; k++) {
            sum ^= rs->power[term[k]];
            unsigned next = (unsigned)term[k] + step[k];
            term[k] = (uint8_t)(next >= RS_WORD ? next - RS_WORD : next);
        }
        if (sum == 0)
            places[found++] = (uint8_t)place;
    }
    return found;
}

/* Forney's value of the error at a place: the evaluator there, divided by the derivative of the
 * locator, times the place's power of 1 less the first root. */
static uint8_t find_value(const struct rs *rs, const uint8_t *locator, const uint8_t *evaluator,
                          unsigned length, unsigned place)
{
    uint8_t at = rs->power[RS_WORD - place], top = 0, bottom = 0;
    unsigned first_root = 128 - rs->checks / 2;
    for (unsigned i = length; i-- > 0;)
        top = multiply_symbols(rs, top, at) ^ evaluator[i];
    for (unsigned i = length + 1; i-- > 1;)
        bottom = multiply_symbols(rs, bottom, at) ^ (i % 2 == 1 ? locator[i] : 0);
    assert(bottom != 0); /* the roots are distinct */
    uint8_t power = rs->power[(unsigned)(place * (RS_WORD + 1 - first_root)) % RS_WORD];
    return multiply_symbols(rs, power, multiply_symbols(rs, top, invert_symbol(rs, bottom)));
}

/* Corrects a word of n symbols. Returns how many were wrong, or -1. */
static int correct_word(const struct rs *rs, uint8_t *word, unsigned n, size_t stride,
                        const struct remainder *difference)
{
    uint8_t syndrome[RS_CHECKS_MAX], locator[RS_CHECKS_MAX + 1], places[RS_CHECKS_MAX / 2];
    uint8_t evaluator[RS_CHECKS_MAX / 2];
    find_syndromes(rs, difference, syndrome);
    unsigned length = find_locator(rs, syndrome, locator);
    assert(length > 0 && length <= rs->checks);
    if (length > rs->checks / 2 || locator[length] == 0 ||
        find_places(rs, locator, length, n, places) != length)
        return -1;
    for (unsigned i = 0; i < length; i++) {
        evaluator[i] = 0;
        for (unsigned k = 0; k <= i; k++)
            evaluator[i] ^= multiply_symbols(rs, syndrome[i - k], locator[k]);
    }
    for (unsigned i = 0; i < length; i++) {
        uint8_t value = find_value(rs, locator, evaluator, length, places[i]);
        word[(n - 1 - places[i]) * stride] ^= rs->from_field[value];
    }
    return (int)length;
}

/* Computed less received. */
static bool differ_checks(const struct rs *rs, struct remainder *r, const uint8_t *checks,
                          size_t stride)
{
    uint64_t any = 0;
    for (unsigned i = 0; i < rs->checks; i++)
        r->word[i / 8] ^= (uint64_t)checks[i * stride] << 8 * (i % 8);
    for (unsigned i = 0; i < WORDS; i++)
        any |= r->word[i];
    return any != 0;
}

bool rs_decode(const struct rs *rs, uint8_t *block, size_t frame_len, unsigned depth,
               struct rs_result *out)
{
    unsigned data = (unsigned)(frame_len / (depth > 0 ? depth : 1));
    assert(rs_problem(rs, frame_len, depth) == NULL);
    *out = (struct rs_result){0};
    for (unsigned w = 0; w < depth; w++) {
        struct remainder r = divide_word(rs, block + w, data, depth);
        if (!differ_checks(rs, &r, block + frame_len + w, depth))
            continue;
        int wrong = correct_word(rs, block + w, data + rs->checks, depth, &r);
        if (wrong < 0) {
            out->failed++;
            continue;
        }
        out->corrected += (unsigned)wrong;
        out->worst = (unsigned)wrong > out->worst ? (unsigned)wrong : out->worst;
    }
    return out->failed == 0;
}
