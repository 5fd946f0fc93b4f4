/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sender. Each segment is added to the repair symbols of its codeword as it is transmitted, so
 * that the end of a matrix costs nothing. There are two sets of repair symbols: one is filled while
 * the other one is transmitted. What can go wrong: the next matrix is full before that has
 * finished; then the rest of the older one is dropped.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "erasure/code.h"
#include "erasure/packet.h"

/* The repair symbols of a matrix. */
struct set {
    uint8_t *symbols; /* of row r and codeword c at r * depth + c */
    uint32_t number;
    unsigned segments;
    size_t width;         /* octets of its longest symbol */
    unsigned rows;        /* to be transmitted */
    unsigned next, count; /* repair segments: the next one, all */
};

struct erasure_encoder {
    struct erasure_config config;
    struct set sets[2];
    unsigned filling; /* the one of the two; the other one is transmitted */
    tick opened;      /* when its first segment was added */
    uint8_t *tables;  /* of all coefficients */
    uint8_t *symbol;  /* of the segment that is added */
    struct erasure_sent n;
};

static size_t symbol_max(const struct erasure_config *c)
{
    return ERASURE_SYMBOL_HEAD + c->segment_max;
}

static unsigned positions_of(const struct erasure_config *c)
{
    return (c->span + c->depth - 1) / c->depth;
}

const char *erasure_config_problem(const struct erasure_config *c)
{
    if (c->depth < 1 || c->depth > ERASURE_DEPTH_MAX)
        return "the interleaving depth is 1 to 255";
    if (c->span < 1 || c->span > 65535)
        return "a matrix has 1 to 65535 segments";
    if (c->rows < 1 || positions_of(c) + c->rows > CODE_WORD ||
        (uint64_t)c->rows * c->depth > 65535)
        return "a codeword has at most 255 segments, repair segments included: use a lower span, "
               "or "
               "a higher depth or rate";
    if (c->segment_max < 1 || c->segment_max > ERASURE_SEGMENT_MAX)
        return "a segment has 1 to 65400 octets";
    if (c->matrices < 1 || c->matrices > ERASURE_MATRICES_MAX)
        return "a receiver has 1 to 64 open matrices";
    return NULL;
}

const char *erasure_config_set(struct erasure_config *c, unsigned span, double rate, unsigned depth)
{
    if (!(rate >= 0.05 && rate <= 0.99))
        return "the rate of the code is 0.05 to 0.99";
    if (span < 1 || span > 65535)
        return "a matrix has 1 to 65535 segments";
    c->span = span;
    c->depth = depth;
    for (c->depth = depth > 0 ? depth : 1; c->depth <= ERASURE_DEPTH_MAX; c->depth++) {
        double positions = (double)positions_of(c);
        unsigned rows = (unsigned)(positions / rate - positions + 0.5);
        c->rows = rows > 0 ? rows : 1;
        if ((unsigned)positions + c->rows <= CODE_WORD || depth > 0)
            break;
    }
    struct erasure_config tried = *c;
    tried.segment_max = tried.matrices = 1;
    return erasure_config_problem(&tried);
}

uint64_t erasure_encoder_bytes(const struct erasure_config *c)
{
    return (uint64_t)(2 * c->rows * c->depth + 1) * symbol_max(c) +
           (uint64_t)c->rows * positions_of(c) * GF_TABLE_BYTES_MAX;
}

static void open_set(struct erasure_encoder *e, uint32_t number)
{
    struct set *s = &e->sets[e->filling];
    uint8_t *symbols = s->symbols;
    memset(symbols, 0, (size_t)e->config.rows * e->config.depth * symbol_max(&e->config));
    *s = (struct set){.symbols = symbols, .number = number % PACKET_MATRICES};
    e->opened = TICK_NEVER;
}

static int prepare_tables(struct erasure_encoder *e)
{
    const struct erasure_config *c = &e->config;
    unsigned positions = positions_of(c);
    struct gf gf;
    uint8_t *coefficients = malloc((size_t)c->rows * positions);
    if (coefficients == NULL)
        return HELIO_ENOMEM;
    gf_init(&gf);
    for (unsigned row = 0; row < c->rows; row++)
        for (unsigned i = 0; i < positions; i++)
            coefficients[row * positions + i] = code_coefficient(&gf, row, i);
    c->math->prepare(coefficients, c->rows, positions, e->tables);
    free(coefficients);
    return 0;
}

int erasure_encoder_new(struct erasure_encoder **out, const struct erasure_config *config)
{
    assert(erasure_config_problem(config) == NULL);
    struct erasure_encoder *e = calloc(1, sizeof *e);
    if (e == NULL)
        return HELIO_ENOMEM;
    e->config = *config;
    size_t set = (size_t)config->rows * config->depth * symbol_max(config);
    e->sets[0].symbols = malloc(set);
    e->sets[1].symbols = malloc(set);
    e->tables = malloc((size_t)config->rows * positions_of(config) * config->math->table_bytes);
    e->symbol = malloc(symbol_max(config));
    if (e->sets[0].symbols == NULL || e->sets[1].symbols == NULL || e->tables == NULL ||
        e->symbol == NULL || prepare_tables(e) != 0) {
        erasure_encoder_free(e);
        return HELIO_ENOMEM;
    }
    open_set(e, config->first);
    *out = e;
    return 0;
}

void erasure_encoder_free(struct erasure_encoder *e)
{
    if (e == NULL)
        return;
    free(e->sets[0].symbols);
    free(e->sets[1].symbols);
    free(e->tables);
    free(e->symbol);
    free(e);
}

/* A short matrix has fewer rows, in proportion and one more: a fade may be as long as it. */
static unsigned rows_of(const struct erasure_config *c, unsigned segments)
{
    unsigned full = positions_of(c), positions = (segments + c->depth - 1) / c->depth;
    unsigned rows = (c->rows * positions + full - 1) / full + (positions < full);
    return rows < c->rows ? rows : c->rows;
}

/* The matrix ends: its repair segments are pending, and the next one is filled. */
static void close_set(struct erasure_encoder *e)
{
    struct set *s = &e->sets[e->filling];
    unsigned width = s->segments < e->config.depth ? s->segments : e->config.depth;
    assert(s->segments > 0 && s->segments <= e->config.span);
    s->rows = rows_of(&e->config, s->segments);
    s->count = s->rows * width;
    s->next = 0;
    e->n.matrices++;
    e->n.short_matrices += s->segments < e->config.span;
    e->filling = 1 - e->filling;
    e->n.unsent += e->sets[e->filling].count - e->sets[e->filling].next;
    open_set(e, s->number + 1);
}

void erasure_encoder_add(struct erasure_encoder *e, struct slice first, struct slice rest, tick now,
                         uint8_t head[ERASURE_HEAD])
{
    const struct erasure_config *c = &e->config;
    struct set *s = &e->sets[e->filling];
    size_t len = first.len + rest.len, symbol = ERASURE_SYMBOL_HEAD + len;
    uint8_t *to[CODE_WORD];
    assert(len > 0 && len <= c->segment_max && s->segments < c->span);
    struct packet_head h = {.matrix = s->number, .index = (uint16_t)s->segments};
    h.crc = erasure_packet_crc(&h, first, rest);
    erasure_packet_write(&h, head);
    put_u16(e->symbol, (unsigned)len);
    put_u32(e->symbol + 2, h.crc);
    if (first.len > 0)
        memcpy(e->symbol + ERASURE_SYMBOL_HEAD, first.data, first.len);
    if (rest.len > 0)
        memcpy(e->symbol + ERASURE_SYMBOL_HEAD + first.len, rest.data, rest.len);
    for (unsigned row = 0; row < c->rows; row++)
        to[row] = s->symbols + ((size_t)row * c->depth + s->segments % c->depth) * symbol_max(c);
    c->math->update(e->tables, c->rows, positions_of(c), s->segments / c->depth, e->symbol, to,
                    symbol);
    s->width = symbol > s->width ? symbol : s->width;
    e->opened = s->segments == 0 ? now : e->opened;
    e->n.segments++;
    if (++s->segments == c->span)
        close_set(e);
}

bool erasure_encoder_pending(const struct erasure_encoder *e)
{
    const struct set *s = &e->sets[1 - e->filling];
    return s->next < s->count;
}

size_t erasure_encoder_output(struct erasure_encoder *e, uint8_t *packet)
{
    const struct erasure_config *c = &e->config;
    struct set *s = &e->sets[1 - e->filling];
    if (!erasure_encoder_pending(e))
        return 0;
    unsigned width = s->count / s->rows, row = s->next / width, word = s->next % width;
    struct slice symbol =
        slice_of(s->symbols + ((size_t)row * c->depth + word) * symbol_max(c), s->width);
    struct packet_head h = {.repair = true,
                            .matrix = s->number,
                            .index = (uint16_t)s->next,
                            .segments = (uint16_t)s->segments,
                            .depth = (uint8_t)c->depth,
                            .rows = (uint8_t)s->rows};
    h.crc = erasure_packet_crc(&h, symbol, slice_of(NULL, 0));
    size_t n = erasure_packet_write(&h, packet);
    memcpy(packet + n, symbol.data, symbol.len);
    s->next++;
    e->n.repairs++;
    e->n.repair_octets += n + symbol.len;
    return n + symbol.len;
}

tick erasure_encoder_deadline(const struct erasure_encoder *e)
{
    if (e->opened == TICK_NEVER || erasure_encoder_pending(e))
        return TICK_NEVER;
    return tick_add(e->opened, e->config.wait);
}

void erasure_encoder_expire(struct erasure_encoder *e, tick now)
{
    if (erasure_encoder_deadline(e) <= now)
        close_set(e);
}

const struct erasure_sent *erasure_encoder_counters(const struct erasure_encoder *e)
{
    return &e->n;
}
