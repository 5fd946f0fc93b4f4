/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of units has a buffer that is filled from what was fed, after the decoder
 * of the convolutional code if there is one. At the end of a stream that decoder decides the bits
 * that it still has, so that the last unit arrives without another one behind it. What can go
 * wrong: memory, at the beginning; later on damage, which costs the frames that it hit. */
#include "cla/framed/frame_code.h"

#include <assert.h>
#include <stdlib.h>

/* SLIP_MAX: bits that a marker may come early or late. PATIENCE: the period of the convolutional
 * code is searched again after the symbols of so many units without one. */
enum { SLIP_MAX = 4, READ_BYTES = 4096, PATIENCE = 3 };
static_assert(READ_BYTES >= CONV_OCTETS_MAX + 64, "the reader has room for what a decoder gives");

struct frame_code {
    struct cadu_format format;
    struct rs rs;
    struct cadu_ldpc *ldpc;   /* NULL: another code */
    struct cadu_turbo *turbo; /* likewise */
    struct cadu_reader reader;
    struct slice left;      /* of what was fed */
    bool ending;            /* the stream has ended, and not all of it is decoded */
    uint8_t *unit, *buffer; /* a unit that leaves, or a frame that arrived; the reader's octets */
    /* soft: symbols of a unit that leaves; the reader's; those that are no whole octet yet */
    uint8_t *symbols, *soft, part[8];
    size_t part_len;
    struct conv_reader *conv; /* NULL: there is no convolutional code */
    struct conv_writer conv_writer;
};

static struct conv_format conv_of(const struct frame_code_config *c)
{
    static const enum conv_rate rates[] = {CONV_1_2, CONV_1_2, CONV_2_3,
                                           CONV_3_4, CONV_5_6, CONV_7_8};
    assert(c->conv != FRAME_CODE_CONV_OFF);
    struct conv_format f = conv_format_of(rates[c->conv - FRAME_CODE_CONV_1_2]);
    f.inverted = f.inverted && c->conv != FRAME_CODE_CONV_1_2_PLAIN;
    return f;
}

static bool has_rs(const struct frame_code_config *c)
{
    return c->kind == FRAME_CODE_RS_223 || c->kind == FRAME_CODE_RS_239;
}

static bool has_ldpc(const struct frame_code_config *c)
{
    return c->kind >= FRAME_CODE_LDPC_1_2 && c->kind <= FRAME_CODE_LDPC_7_8;
}

static bool has_turbo(const struct frame_code_config *c)
{
    return c->kind >= FRAME_CODE_TURBO_1_2 && c->kind <= FRAME_CODE_TURBO_1_6;
}

static enum turbo_rate turbo_rate_of(const struct frame_code_config *c)
{
    static const enum turbo_rate rates[] = {TURBO_1_2, TURBO_1_3, TURBO_1_4, TURBO_1_6};
    assert(has_turbo(c));
    return rates[c->kind - FRAME_CODE_TURBO_1_2];
}

bool frame_code_is_block(const struct frame_code_config *c)
{
    return has_ldpc(c) || has_turbo(c);
}

bool frame_code_is_slow(const struct frame_code_config *c)
{
    return frame_code_is_block(c) || c->conv != FRAME_CODE_CONV_OFF;
}

enum cadu_marker frame_code_marker(const struct frame_code_config *c)
{
    if (has_turbo(c))
        return cadu_turbo_marker(turbo_rate_of(c));
    return has_ldpc(c) && c->kind != FRAME_CODE_LDPC_7_8 ? CADU_MARKER_64 : CADU_MARKER_32;
}

static enum ldpc_rate ldpc_rate_of(const struct frame_code_config *c)
{
    assert(has_ldpc(c));
    return c->kind == FRAME_CODE_LDPC_1_2   ? LDPC_1_2
           : c->kind == FRAME_CODE_LDPC_2_3 ? LDPC_2_3
           : c->kind == FRAME_CODE_LDPC_4_5 ? LDPC_4_5
                                            : LDPC_7_8;
}

bool frame_code_same(const struct frame_code_config *a, const struct frame_code_config *b)
{
    if (a->kind != b->kind || a->kind == FRAME_CODE_OFF)
        return a->kind == b->kind;
    return a->randomiser == b->randomiser && a->marker == b->marker &&
           a->marker_errors == b->marker_errors && a->soft == b->soft && a->conv == b->conv &&
           (!has_rs(a) || (a->interleave == b->interleave && a->basis == b->basis));
}

static enum rs_code code_of(const struct frame_code_config *c)
{
    return c->kind == FRAME_CODE_RS_223 ? RS_255_223 : RS_255_239;
}

const char *frame_code_problem(const struct frame_code_config *c, uint32_t frame_len)
{
    assert(frame_len >= 1 && frame_len <= FRAME_LENGTH_MAX);
    if (c->kind == FRAME_CODE_OFF)
        return NULL;
    if (c->marker_errors > CADU_MARKER_ERRORS_MAX)
        return "at most 8 bits of a marker may be wrong";
    if (c->kind == FRAME_CODE_TURBO_1_3 && !c->soft)
        return "codewords of this code are no whole octets";
    if (frame_code_is_block(c) && c->conv != FRAME_CODE_CONV_OFF)
        return "this code has no convolutional code around it";
    if (has_ldpc(c))
        return ldpc_problem(ldpc_rate_of(c), 8 * frame_len);
    if (has_turbo(c))
        return turbo_problem(turbo_rate_of(c), 8 * frame_len);
    return has_rs(c) ? rs_code_problem(code_of(c), frame_len, c->interleave) : NULL;
}

uint32_t frame_code_fitting(const struct frame_code_config *c, uint32_t frame_len)
{
    assert(c->kind != FRAME_CODE_OFF);
    if (c->kind == FRAME_CODE_LDPC_7_8)
        return 892;
    if (has_ldpc(c))
        return frame_len >= 2048 ? 2048 : frame_len >= 512 ? 512 : 128;
    if (has_turbo(c))
        return frame_len >= 1115 ? 1115 : frame_len >= 892 ? 892 : frame_len >= 446 ? 446 : 223;
    if (!has_rs(c))
        return frame_len;
    uint32_t most = (RS_WORD - rs_code_checks(code_of(c))) * c->interleave;
    most = frame_len < most ? frame_len : most;
    return most - most % c->interleave;
}

uint32_t frame_code_len(const struct frame_code_config *c, uint32_t frame_len)
{
    assert(frame_code_problem(c, frame_len) == NULL);
    if (c->kind == FRAME_CODE_OFF)
        return frame_len;
    uint32_t bits = 8 * frame_len;
    if (has_rs(c))
        bits += 8 * rs_code_checks(code_of(c)) * c->interleave;
    else if (has_ldpc(c))
        bits = ldpc_codeword_bits(ldpc_rate_of(c), 8 * frame_len);
    else if (has_turbo(c))
        bits = turbo_codeword_bits(turbo_rate_of(c), 8 * frame_len);
    bits += 8 * (uint32_t)cadu_marker_len(c->marker);
    if (c->conv != FRAME_CODE_CONV_OFF)
        return (uint32_t)conv_writer_max(conv_of(c), c->soft, bits / 8);
    return c->soft ? bits : bits / 8;
}

/* False: memory is out. */
static bool init_format(struct frame_code *code, const struct frame_code_config *c,
                        uint32_t frame_len)
{
    code->format = (struct cadu_format){
        .frame_len = frame_len,
        .rs = has_rs(c) ? &code->rs : NULL,
        .depth = c->interleave,
        .randomised = c->randomiser != FRAME_CODE_PLAIN,
        .sequence = c->randomiser == FRAME_CODE_LONG ? PN_TM_LONG : PN_TM,
        .marker = c->marker,
    };
    if (has_rs(c))
        rs_init(&code->rs, code_of(c), c->basis);
    if (has_ldpc(c)) {
        code->ldpc = malloc(sizeof *code->ldpc);
        if (code->ldpc == NULL)
            return false;
        ldpc_init(&code->ldpc->code, ldpc_rate_of(c), 8 * frame_len);
    } else if (has_turbo(c)) {
        code->turbo = malloc(sizeof *code->turbo);
        if (code->turbo == NULL)
            return false;
        turbo_init(&code->turbo->code, turbo_rate_of(c), 8 * frame_len);
        code->turbo->checked = true;
    }
    code->format.ldpc = code->ldpc;
    code->format.turbo = code->turbo;
    return true;
}

/* Soft symbols, and those of the convolutional code. False: memory is out. */
static bool alloc_symbols(struct frame_code *code, const struct frame_code_config *c, size_t room)
{
    const size_t bits = cadu_bits(&code->format);
    code->symbols = malloc(c->conv != FRAME_CODE_CONV_OFF ? 2 * bits : bits);
    if (c->conv != FRAME_CODE_CONV_OFF) {
        code->conv = malloc(sizeof *code->conv);
        return code->symbols != NULL && code->conv != NULL;
    }
    code->soft = malloc(8 * room);
    return code->symbols != NULL && code->soft != NULL;
}

static void begin_conv(struct frame_code *code, const struct frame_code_config *c)
{
    const struct conv_format f = conv_of(c);
    const size_t symbols = conv_writer_max(f, true, cadu_len(&code->format));
    conv_reader_init(code->conv, f, c->soft, PATIENCE * (uint64_t)symbols + CONV_LOOK);
    conv_writer_init(&code->conv_writer, f, c->soft);
}

struct frame_code *frame_code_new(const struct frame_code_config *c, uint32_t frame_len)
{
    assert(c->kind != FRAME_CODE_OFF && frame_code_problem(c, frame_len) == NULL);
    struct frame_code *code = calloc(1, sizeof *code);
    if (code == NULL)
        return NULL;
    if (!init_format(code, c, frame_len)) {
        free(code);
        return NULL;
    }
    const size_t room = cadu_reader_room(&code->format) + READ_BYTES;
    const bool symbols = c->soft || c->conv != FRAME_CODE_CONV_OFF;
    code->unit = malloc(cadu_len(&code->format));
    code->buffer = malloc(room);
    if (code->unit == NULL || code->buffer == NULL || (symbols && !alloc_symbols(code, c, room))) {
        frame_code_free(code);
        return NULL;
    }
    cadu_reader_init(&code->reader, &code->format, c->marker_errors, SLIP_MAX, code->buffer, room,
                     code->unit);
    if (code->soft != NULL)
        cadu_reader_soften(&code->reader, code->soft);
    if (code->conv != NULL)
        begin_conv(code, c);
    return code;
}

void frame_code_free(struct frame_code *c)
{
    if (c == NULL)
        return;
    free(c->ldpc);
    free(c->turbo);
    free(c->unit);
    free(c->buffer);
    free(c->symbols);
    free(c->soft);
    free(c->conv);
    free(c);
}

struct slice frame_code_write(struct frame_code *c, struct slice frame)
{
    assert(frame.len == c->format.frame_len && c->reader.counts.frames == 0);
    cadu_write(&c->format, frame.data, c->unit);
    if (c->symbols == NULL)
        return slice_of(c->unit, cadu_len(&c->format));
    if (c->conv != NULL) {
        size_t n = conv_writer_encode(&c->conv_writer, c->unit, cadu_len(&c->format), c->symbols);
        return slice_of(c->symbols, conv_writer_pack(&c->conv_writer, c->symbols, n, false));
    }
    const size_t bits = cadu_bits(&c->format);
    for (size_t i = 0; i < bits; i++)
        c->symbols[i] = (c->unit[i / 8] >> (7 - i % 8) & 1) != 0 ? 255 : 0;
    return slice_of(c->symbols, bits);
}

void frame_code_feed(struct frame_code *c, struct slice octets)
{
    assert(c->left.len == 0 && !c->ending);
    c->left = octets;
}

static void pass_left(struct frame_code *c, size_t n)
{
    c->left = slice_of(c->left.data + n, c->left.len - n);
}

/* The reader takes eight symbols, or a multiple of that: others wait. */
static void read_symbols(struct frame_code *c)
{
    if (c->part_len == 0 && c->left.len >= 8) {
        pass_left(c, cadu_reader_symbols(&c->reader, c->left.data, c->left.len));
        return;
    }
    const size_t missing = 8 - c->part_len;
    const size_t n = c->left.len < missing ? c->left.len : missing;
    memcpy(c->part + c->part_len, c->left.data, n);
    c->part_len += n;
    pass_left(c, n);
    if (c->part_len == 8)
        c->part_len -= cadu_reader_symbols(&c->reader, c->part, 8);
}

static void read_on(struct frame_code *c)
{
    size_t room;
    if (c->soft != NULL) {
        read_symbols(c);
        return;
    }
    uint8_t *to = cadu_reader_space(&c->reader, &room);
    if (c->conv != NULL) {
        assert(room >= CONV_OCTETS_MAX);
        cadu_reader_fed(&c->reader, conv_reader_input(c->conv, &c->left, c->reader.locked, to));
        return;
    }
    size_t n = c->left.len < room ? c->left.len : room;
    memcpy(to, c->left.data, n);
    cadu_reader_fed(&c->reader, n);
    pass_left(c, n);
}

/* The bits that the decoder of the convolutional code still has. False: there are none. */
static bool decide_rest(struct frame_code *c)
{
    size_t room;
    if (c->conv == NULL)
        return false;
    uint8_t *to = cadu_reader_space(&c->reader, &room);
    assert(room >= CONV_OCTETS_MAX);
    const size_t n = conv_reader_end(c->conv, to);
    cadu_reader_fed(&c->reader, n);
    return n > 0;
}

/* Nothing that was fed is left. False: nor is anything of the stream, if it has ended. */
static bool end_stream(struct frame_code *c)
{
    if (!c->ending)
        return false;
    if (decide_rest(c))
        return true;
    cadu_reader_end(&c->reader);
    c->ending = false;
    return false;
}

enum frame_code_result frame_code_next(struct frame_code *c, struct slice *frame)
{
    struct cadu unit;
    if (!cadu_reader_next(&c->reader, &unit)) {
        if (c->left.len > 0)
            read_on(c);
        else if (!end_stream(c))
            return FRAME_CODE_NONE;
        if (!cadu_reader_next(&c->reader, &unit))
            return FRAME_CODE_WORK;
    }
    *frame = unit.frame;
    return unit.quality == CADU_ERRED ? FRAME_CODE_WORK : FRAME_CODE_FRAME;
}

void frame_code_end(struct frame_code *c)
{
    assert(c->left.len == 0 && !c->ending);
    c->part_len = 0;
    c->ending = true;
}

uint64_t frame_code_wrong(const struct frame_code *c)
{
    return c->conv == NULL ? 0 : conv_reader_wrong(c->conv);
}

const struct cadu_counts *frame_code_counts(const struct frame_code *c)
{
    assert(c->reader.counts.erred <= c->reader.counts.frames);
    return &c->reader.counts;
}
