/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiver. A segment is given on at once, and its symbol is kept in the matrix. When a
 * codeword has as many symbols, repair symbols included, as it has segments, its lost segments are
 * computed: at once for ERASURE_RS8, by calls of expire for ERASURE_RS, whose codewords are larger.
 * A matrix without missing segments ends; its number is remembered, so that late packets open no
 * second one. What can go wrong: too few symbols arrive, then the matrix fails after `hold`;
 * packets do not fit the configuration or their matrix; repaired segments have a wrong CRC, because
 * packets of another sender were mixed in. When no place is free, a new matrix displaces the one
 * with the fewest symbols, so a peer that wants to displace honest matrices has to send as many
 * packets.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "erasure/matrix.h"

/* GIVE_MAX: repaired segments of one call; LOOK_MAX: flags that it looks at for them. */
enum { GIVE_MAX = 64, LOOK_MAX = 4096 };

/* Of a full matrix of ERASURE_RS, requested repair symbols included. */
static struct rs16_shape shape_of(const struct erasure_config *c, unsigned segments, unsigned rows)
{
    struct rs16_shape s;
    bool fits = erasure_shape(c, segments, rows, &s);
    assert(fits);
    (void)fits;
    return s;
}

static unsigned symbols_of(const struct erasure_config *c)
{
    unsigned rows =
        c->codec == ERASURE_RS ? shape_of(c, c->span, c->rows).repairs : c->rows * c->depth;
    return c->span + rows;
}

static struct rs16_kind kind_of(const struct erasure_config *c)
{
    return (struct rs16_kind){.field = c->field,
                              .math = c->math16,
                              .symbol_max = erasure_symbol_max(c),
                              .largest = shape_of(c, c->span, c->rows),
                              .kept = 1};
}

/* Of ERASURE_RS they begin with lines of the cache, as the stripes that are read of them do. */
static size_t symbol_of(const struct erasure_config *c)
{
    size_t symbol = erasure_symbol_max(c), lines = (symbol + GF16_ALIGNMENT - 1) / GF16_ALIGNMENT;
    return c->codec == ERASURE_RS ? lines * GF16_ALIGNMENT : symbol;
}

static int new_code(struct erasure_decoder *d)
{
    if (d->config.codec == ERASURE_RS8)
        return code_new(&d->code, d->config.math, d->symbol);
    const struct rs16_kind k = kind_of(&d->config);
    return rs16_repair_new(&d->rs16, &k);
}

uint64_t erasure_decoder_bytes(const struct erasure_config *c)
{
    uint64_t symbol = symbol_of(c), matrices = c->matrices * symbols_of(c) * (symbol + 1);
    if (c->codec == ERASURE_RS) {
        const struct rs16_kind k = kind_of(c);
        return matrices + rs16_repair_bytes(&k);
    }
    return matrices + CODE_LOST_MAX * symbol +
           (uint64_t)CODE_LOST_MAX * (CODE_LOST_MAX + 1) * (GF_TABLE_BYTES_MAX + 1);
}

int erasure_decoder_new(struct erasure_decoder **out, const struct erasure_config *config)
{
    assert(erasure_config_problem(config) == NULL);
    struct erasure_decoder *d = calloc(1, sizeof *d);
    if (d == NULL)
        return HELIO_ENOMEM;
    d->config = *config;
    d->symbol = symbol_of(config);
    d->matrices = calloc(config->matrices, sizeof *d->matrices);
    memset(d->ended, 0xff, sizeof d->ended);
    bool ok = d->matrices != NULL && new_code(d) == 0;
    for (unsigned i = 0; ok && i < config->matrices; i++) {
        struct matrix *m = &d->matrices[i];
        size_t octets = symbols_of(config) * d->symbol + GF16_ALIGNMENT - 1;
        /* untouched pages cost nothing */
        m->symbols = aligned_alloc(GF16_ALIGNMENT, octets / GF16_ALIGNMENT * GF16_ALIGNMENT);
        m->present = malloc(symbols_of(config));
        ok = m->symbols != NULL && m->present != NULL;
    }
    if (!ok) {
        erasure_decoder_free(d);
        return HELIO_ENOMEM;
    }
    *out = d;
    return 0;
}

void erasure_decoder_free(struct erasure_decoder *d)
{
    if (d == NULL)
        return;
    for (unsigned i = 0; d->matrices != NULL && i < d->config.matrices; i++) {
        free(d->matrices[i].symbols);
        free(d->matrices[i].present);
    }
    free(d->matrices);
    code_free(d->code);
    rs16_repair_free(d->rs16);
    free(d);
}

/* ---- matrices ---- */

static bool has_ended(const struct erasure_decoder *d, uint32_t number)
{
    for (unsigned i = 0; i < ENDED_MAX; i++)
        if (d->ended[i] == number)
            return true;
    return false;
}

static void tell_end(const struct erasure_decoder *d, const struct matrix *m, unsigned all,
                     bool displaced)
{
    struct erasure_event e = {.outcome = m->repaired > 0 ? ERASURE_REPAIRED : ERASURE_WHOLE,
                              .matrix = m->number,
                              .segments = all,
                              .repairs = m->arrived + m->repaired - m->have,
                              .repaired = m->repaired,
                              .missing = all - m->have,
                              .delay = m->delay};
    if (m->have < all)
        e.outcome = displaced ? ERASURE_DISPLACED : ERASURE_FAILED;
    if (d->config.sink != NULL)
        d->config.sink(d->config.sink_context, &e);
}

/* It has ended: with missing segments it has failed. */
static void end_matrix(struct erasure_decoder *d, struct matrix *m, bool displaced)
{
    unsigned all = m->segments > 0 ? m->segments : m->beyond;
    assert(m->open && m->have <= all);
    tell_end(d, m, all, displaced);
    if (m->have < all) {
        d->n.failed++;
        d->n.displaced += displaced;
    } else if (m->repaired > 0) {
        d->n.repaired++;
        d->n.requested_repaired += m->requested;
    } else
        d->n.whole++; /* perhaps its repair segments were lost, and are not needed */
    d->n.segments_lost += all - m->have;
    request_report(d, m);
    d->ended[d->ended_next] = m->number;
    d->ended_next = (d->ended_next + 1) % ENDED_MAX;
    m->open = false;
    if (d->repairing == m) {
        rs16_repair_stop(d->rs16);
        d->repairing = NULL;
    }
}

static struct matrix *find_matrix(struct erasure_decoder *d, uint32_t number)
{
    for (unsigned i = 0; i < d->config.matrices; i++)
        if (d->matrices[i].open && d->matrices[i].number == number)
            return &d->matrices[i];
    return NULL;
}

/* Of two with as few packets the one that has waited longer for the next one: a matrix that begins
 * is not the first to go. */
static bool is_less(const struct matrix *m, const struct matrix *least)
{
    return m->arrived != least->arrived ? m->arrived < least->arrived : m->turn < least->turn;
}

/* A free place, or that of the matrix with the fewest packets. */
static struct matrix *find_place(struct erasure_decoder *d)
{
    struct matrix *least = &d->matrices[0];
    for (unsigned i = 0; i < d->config.matrices; i++) {
        struct matrix *m = &d->matrices[i];
        if (!m->open)
            return m;
        least = is_less(m, least) ? m : least;
    }
    end_matrix(d, least, true);
    return least;
}

static struct matrix *open_matrix(struct erasure_decoder *d, uint32_t number, tick now)
{
    struct matrix *m = find_place(d);
    uint8_t *symbols = m->symbols, *present = m->present;
    memset(present, 0, symbols_of(&d->config));
    *m = (struct matrix){.open = true,
                         .number = number,
                         .opened = now,
                         .tail = TICK_NEVER,
                         .ask = TICK_NEVER,
                         .symbols = symbols,
                         .present = present};
    return m;
}

static uint8_t *symbol_at(const struct erasure_decoder *d, const struct matrix *m, unsigned place)
{
    assert(place < symbols_of(&d->config));
    return m->symbols + place * d->symbol;
}

/* Segments of a codeword; the matrix' size is known. */
static unsigned size_of(const struct erasure_decoder *d, const struct matrix *m, unsigned word)
{
    assert(m->segments > 0);
    return word < m->segments ? (m->segments - word - 1) / d->config.depth + 1 : 0;
}

/* ---- repair ---- */

/* Lists what is known and lost of a codeword. */
static void list_word(struct erasure_decoder *d, const struct matrix *m, unsigned word)
{
    struct code_word *w = &d->word;
    unsigned size = size_of(d, m, word), depth = d->config.depth, rows = 0;
    w->known = w->lost = 0;
    w->len = m->width;
    for (unsigned i = 0; i < size; i++) {
        unsigned place = i * depth + word;
        if (m->present[place]) {
            w->data[w->known] = symbol_at(d, m, place);
            w->known_at[w->known++] = (uint8_t)i;
        } else {
            w->out[w->lost] = symbol_at(d, m, place);
            w->lost_at[w->lost++] = (uint8_t)i;
        }
    }
    for (unsigned row = 0; row < m->rows && rows < w->lost; row++) {
        unsigned place = d->config.span + row * depth + word;
        if (!m->present[place])
            continue;
        w->repair[rows] = symbol_at(d, m, place);
        w->rows[rows++] = (uint8_t)row;
    }
    assert(rows == w->lost);
}

/* Is it a segment whose packet had this CRC? */
static bool is_right(const struct erasure_decoder *d, const struct matrix *m, const uint8_t *symbol,
                     unsigned index)
{
    size_t len = get_u16(symbol);
    struct packet_head h = {.wide = d->rs16 != NULL,
                            .asked = d->config.requests,
                            .matrix = m->number,
                            .index = (uint16_t)index};
    if (len == 0 || ERASURE_SYMBOL_HEAD + len > m->width)
        return false;
    return erasure_packet_crc(&h, slice_of(symbol + ERASURE_SYMBOL_HEAD, len), slice_of(NULL, 0)) ==
           get_u32(symbol + 2);
}

static void count_delay(struct erasure_decoder *d, struct matrix *m, unsigned index, tick now)
{
    tick span = m->tail - m->opened;
    tick due = m->opened + (tick)((double)span * index / m->segments);
    tick delay = now > due ? now - due : 0;
    d->n.delay_sum += delay;
    d->n.delay_max = tick_max(d->n.delay_max, delay);
    m->delay = tick_max(m->delay, delay);
}

/* A lost segment was computed: it is ready to be fetched, if it is right. */
static void give_segment(struct erasure_decoder *d, struct matrix *m, unsigned index,
                         uint8_t *symbol, tick now)
{
    if (!is_right(d, m, symbol, index)) {
        d->n.segments_corrupt++;
        return;
    }
    memset(symbol + m->width, 0, d->symbol - m->width);
    m->present[index] = 1;
    m->data[index % d->config.depth]++;
    m->have++;
    m->repaired++;
    d->n.segments_repaired++;
    count_delay(d, m, index, now);
    d->word.out[d->ready++] = symbol;
}

/* Repairs a codeword that has enough symbols; what is right is ready to be fetched. */
static void repair_word(struct erasure_decoder *d, struct matrix *m, unsigned word, tick now)
{
    struct code_word *w = &d->word;
    list_word(d, m, word);
    code_repair(d->code, w);
    for (unsigned i = 0; i < w->lost; i++)
        give_segment(d, m, w->lost_at[i] * d->config.depth + word, w->out[i], now);
    if (m->data[word] < size_of(d, m, word)) /* wrong symbols are in it: it is not tried again */
        m->repair[word] = 0;
}

static void look_at_word(struct erasure_decoder *d, struct matrix *m, unsigned word, tick now)
{
    if (m->segments > 0 && m->repair[word] > 0 && m->data[word] < size_of(d, m, word) &&
        m->data[word] + m->repair[word] >= size_of(d, m, word)) {
        m->enough = d->rs16 != NULL;
        if (d->rs16 == NULL)
            repair_word(d, m, word, now);
    }
    unsigned all = m->segments > 0 ? m->segments : d->config.span;
    if (m->have == all)
        end_matrix(d, m, false);
}

/* ---- packets ---- */

static void keep_symbol(struct erasure_decoder *d, struct matrix *m, unsigned place,
                        struct slice body, const struct packet_head *h)
{
    uint8_t *symbol = symbol_at(d, m, place);
    size_t head = h->repair ? 0 : ERASURE_SYMBOL_HEAD;
    assert(head + body.len <= d->symbol);
    if (!h->repair) {
        put_u16(symbol, (unsigned)body.len);
        put_u32(symbol + 2, h->crc);
    }
    memcpy(symbol + head, body.data, body.len);
    memset(symbol + head + body.len, 0, d->symbol - head - body.len);
    m->present[place] = 1;
    m->arrived++;
    m->turn = ++d->turns;
}

static enum erasure_verdict take_segment(struct erasure_decoder *d, struct matrix *m,
                                         const struct packet_head *h, struct slice body, tick now)
{
    unsigned word = h->index % d->config.depth;
    if (m->segments > 0 && h->index >= m->segments)
        return ERASURE_MISMATCH;
    if (m->present[h->index])
        return get_u32(symbol_at(d, m, h->index) + 2) == h->crc ? ERASURE_DUPLICATE
                                                                : ERASURE_MISMATCH;
    keep_symbol(d, m, h->index, body, h);
    m->beyond = h->index >= m->beyond ? h->index + 1u : m->beyond;
    m->data[word]++;
    m->have++;
    m->latest = now;
    look_at_word(d, m, word, now);
    return ERASURE_SEGMENT;
}

/* ---- the work of ERASURE_RS ---- */

/* The oldest matrix that can be repaired. */
static struct matrix *find_enough(const struct erasure_decoder *d)
{
    struct matrix *first = NULL;
    for (unsigned i = 0; i < d->config.matrices; i++) {
        struct matrix *m = &d->matrices[i];
        if (m->open && m->enough && (first == NULL || m->opened < first->opened))
            first = m;
    }
    return first;
}

static void start_repair(struct erasure_decoder *d, struct matrix *m)
{
    const struct rs16_shape shape = shape_of(&d->config, m->segments, m->rows);
    const struct rs16_symbols symbols = {.data = m->symbols,
                                         .repairs = symbol_at(d, m, d->config.span),
                                         .has_data = m->present,
                                         .has_repair = m->present + d->config.span,
                                         .stride = d->symbol,
                                         .len = m->width};
    assert(m->enough && d->repairing == NULL);
    rs16_repair_start(d->rs16, &shape, &symbols);
    d->repairing = m;
    d->given = 0;
}

/* Some of the computed segments become ready; behind the last one the matrix ends, or is not tried
 * again: wrong symbols are in it. */
static void give_some(struct erasure_decoder *d, tick now)
{
    struct matrix *m = d->repairing;
    for (unsigned looked = 0; looked < LOOK_MAX && d->given < m->segments && d->ready < GIVE_MAX;
         looked++, d->given++)
        if (rs16_repair_lost(d->rs16, d->given) && !m->present[d->given])
            give_segment(d, m, d->given, symbol_at(d, m, d->given), now);
    if (d->given < m->segments)
        return;
    d->repairing = NULL;
    m->enough = false;
    m->latest = now;
    if (m->have == m->segments)
        end_matrix(d, m, false);
    else
        m->repair[0] = 0;
}

static void work(struct erasure_decoder *d, tick now)
{
    struct matrix *next = d->repairing == NULL ? find_enough(d) : NULL;
    if (next != NULL)
        start_repair(d, next);
    if (d->repairing == NULL)
        return;
    unsigned did = rs16_repair_work(d->rs16, ERASURE_WORK_MAX - RS16_STEP_MAX);
    d->n.work_max = did > d->n.work_max ? did : d->n.work_max;
    if (did == 0)
        give_some(d, now);
}

static bool has_work(const struct erasure_decoder *d)
{
    return d->rs16 != NULL && (d->repairing != NULL || find_enough(d) != NULL);
}

/* ---- packets that fit ---- */

static bool fits_matrix(const struct matrix *m, const struct packet_head *h, size_t width)
{
    if (m->segments == 0)
        return h->segments >= m->beyond;
    return m->segments == h->segments && m->rows == h->rows && m->width == width;
}

static enum erasure_verdict take_repair(struct erasure_decoder *d, struct matrix *m,
                                        const struct packet_head *h, struct slice body, tick now)
{
    unsigned width = h->segments < h->depth ? h->segments : h->depth;
    unsigned row = h->index / width, word = h->index % width;
    unsigned place = d->config.span + row * d->config.depth + word;
    if (!fits_matrix(m, h, body.len))
        return ERASURE_MISMATCH;
    if (m->present[place])
        return ERASURE_DUPLICATE;
    keep_symbol(d, m, place, body, h);
    m->tail = m->segments == 0 ? now : m->tail;
    m->segments = h->segments;
    m->rows = h->rows;
    m->width = body.len;
    m->repair[word]++;
    m->top = !m->enough && row >= m->top ? row + 1 : m->top;
    m->latest = now;
    request_plan(d, m, h->index, now);
    look_at_word(d, m, word, now);
    return ERASURE_REPAIR;
}

/* Does the packet fit the configuration? */
static bool fits_config(const struct erasure_decoder *d, const struct packet_head *h, size_t len)
{
    const struct erasure_config *c = &d->config;
    if (h->wide != (c->codec == ERASURE_RS) || h->asked != c->requests)
        return false;
    if (!h->repair)
        return h->index < c->span && len <= c->segment_max;
    if (h->depth != c->depth || h->segments == 0 || h->segments > c->span || h->rows == 0 ||
        h->rows > c->rows || len <= ERASURE_SYMBOL_HEAD || len > erasure_symbol_max(c))
        return false;
    if (h->wide)
        return len % GF16_GROUP == 0 && h->full_segments == c->span && h->full_rows == c->rows &&
               h->index < shape_of(c, h->segments, h->rows).repairs;
    unsigned width = h->segments < h->depth ? h->segments : h->depth;
    return h->index < width * h->rows;
}

static enum erasure_verdict take_packet(struct erasure_decoder *d, struct slice packet, tick now,
                                        struct slice *segment)
{
    struct packet_head h;
    struct slice body;
    enum erasure_verdict v = erasure_packet_parse(packet, &h, &body);
    if (v == ERASURE_REQUEST)
        return d->config.requests ? v : ERASURE_MISMATCH;
    if (v != ERASURE_SEGMENT && v != ERASURE_REPAIR)
        return v;
    if (!fits_config(d, &h, body.len))
        return ERASURE_MISMATCH;
    struct matrix *m = find_matrix(d, h.matrix);
    bool late = m == NULL && has_ended(d, h.matrix);
    if (m == NULL && !late)
        m = open_matrix(d, h.matrix, now);
    if (!late)
        v = h.repair ? take_repair(d, m, &h, body, now) : take_segment(d, m, &h, body, now);
    else
        v = ERASURE_LATE;
    if (!h.repair && v != ERASURE_DUPLICATE)
        *segment = body;
    return v;
}

enum erasure_verdict erasure_decoder_input(struct erasure_decoder *d, struct slice packet, tick now,
                                           struct slice *segment)
{
    *segment = slice_of(NULL, 0);
    d->ready = d->ready_next = 0;
    d->now = now;
    enum erasure_verdict v = take_packet(d, packet, now, segment);
    d->n.verdicts[v]++;
    return v;
}

bool erasure_decoder_next(struct erasure_decoder *d, struct slice *segment)
{
    if (d->ready_next == d->ready)
        return false;
    const uint8_t *symbol = d->word.out[d->ready_next++];
    *segment = slice_of(symbol + ERASURE_SYMBOL_HEAD, get_u16(symbol));
    return true;
}

/* When it has failed. */
static tick end_of(const struct erasure_decoder *d, const struct matrix *m)
{
    return tick_add(m->latest, m->requested ? d->config.answer : d->config.hold);
}

tick erasure_decoder_deadline(const struct erasure_decoder *d)
{
    tick due = has_work(d) ? d->now : TICK_NEVER;
    for (unsigned i = 0; i < d->config.matrices; i++) {
        const struct matrix *m = &d->matrices[i];
        if (m->open && !m->enough)
            due = tick_min(due, tick_min(m->ask, end_of(d, m)));
    }
    return due;
}

void erasure_decoder_expire(struct erasure_decoder *d, tick now)
{
    d->ready = d->ready_next = 0;
    d->now = now;
    for (unsigned i = 0; i < d->config.matrices; i++) {
        struct matrix *m = &d->matrices[i];
        if (m->open && !m->enough) {
            request_look(d, m, now);
            if (end_of(d, m) <= now)
                end_matrix(d, m, false);
        }
    }
    if (d->rs16 != NULL)
        work(d, now);
}

const struct erasure_received *erasure_decoder_counters(const struct erasure_decoder *d)
{
    return &d->n;
}

/* Tests rely on it: it asserts in release builds, too. */
#undef NDEBUG
#include <assert.h>

static void check_matrix(const struct erasure_decoder *d, const struct matrix *m)
{
    unsigned have = 0, repairs = 0;
    for (unsigned s = 0; s < d->config.span; s++)
        have += m->present[s];
    for (unsigned s = d->config.span; s < symbols_of(&d->config); s++)
        repairs += m->present[s];
    assert(have == m->have && have <= (m->segments > 0 ? m->segments : d->config.span));
    assert(m->arrived <= have + repairs && (repairs == 0) == (m->segments == 0));
    assert(m->segments == 0 || m->beyond <= m->segments);
    assert(!has_ended(d, m->number));
    assert(m->asked == 0 || m->requested);
    assert(m->asked == 0 || (d->config.requests && m->asked <= ERASURE_REQUEST_COPIES));
}

void erasure_decoder_check(const struct erasure_decoder *d)
{
    for (unsigned i = 0; i < d->config.matrices; i++)
        if (d->matrices[i].open)
            check_matrix(d, &d->matrices[i]);
    assert(d->ready_next <= d->ready && d->ready <= CODE_LOST_MAX);
}
