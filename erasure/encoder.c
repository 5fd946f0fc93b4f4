/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sender. ERASURE_RS8: each segment is added to the repair symbols of its codeword as it is
 * transmitted, so the end of a matrix needs no computation. There are two sets of repair symbols:
 * one is filled while the other one is transmitted. ERASURE_RS: segments are collected. The
 * computation is done in steps during the next segments, and after the matrix' end by calls of
 * expire. With requests, the repair symbols of the last matrices are kept, including those that
 * were not transmitted.
 *
 * What can go wrong: the next matrix needs the memory before the repair segments were transmitted;
 * then the rest of them is dropped. A request arrives when its matrix is no longer kept, or
 * requests more symbols than there are; then LTP retransmits the segments.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "erasure/code.h"
#include "erasure/needs.h"
#include "erasure/packet.h"
#include "erasure/rs16.h"

enum { FLAGS_MASK = 15, FLAGS_END = 3, FLAGS_GREEN_END = 7 }; /* of a block: RFC 5326, 3.1.1 */

/* The repair symbols of a matrix. */
struct set {
    uint8_t *symbols; /* of row r and codeword c at r * depth + c; not for ERASURE_RS */
    uint32_t number;
    unsigned segments;
    size_t width;         /* octets of its longest symbol */
    unsigned rows;        /* to be transmitted */
    unsigned next, count; /* repair segments: the next one, all */
    unsigned place;       /* of its repair symbols in rs16 */
};

/* A matrix whose repair symbols are kept; at their place in rs16. */
struct kept {
    bool valid;
    unsigned answers; /* so far; the last one was prepared at `at` */
    tick at;
    tick vain;      /* when a request for more rows than it has was last received; TICK_NEVER */
    struct set set; /* next, count: of the answer, whose first row is `from` */
    unsigned from;
    unsigned last; /* rows that can be transmitted */
    bool reported; /* its need is known */
};

struct erasure_encoder {
    struct erasure_config config;
    struct set sets[2];
    unsigned filling;                 /* the one of the two; the other one is transmitted */
    tick opened;                      /* when its first segment was added */
    uint8_t *tables;                  /* of all coefficients */
    uint8_t *symbol;                  /* of the segment that is added */
    struct rs16_encoder *rs16;        /* instead of tables and both sets' symbols */
    struct kept *kept;                /* for requests: config.kept, or one */
    unsigned answers;                 /* of them, those that have something to be transmitted */
    unsigned full;                    /* segments of a matrix, `span` at most */
    unsigned end;                     /* of this matrix' segments, behind the last end of a block */
    unsigned longest, longest_before; /* block of this matrix and of the one before, segments */
    tick now;                         /* of the last call */
    struct needs needs;               /* with `adaptive` */
    struct erasure_sent n;
};

static size_t symbol_max(const struct erasure_config *c)
{
    return erasure_symbol_max(c);
}

/* Of a full matrix. */
static struct rs16_kind kind_of(const struct erasure_config *c)
{
    struct rs16_kind k = {.field = c->field,
                          .math = c->math16,
                          .symbol_max = symbol_max(c),
                          .kept = c->requests ? c->kept : 1};
    bool fits = erasure_shape(c, c->span, c->rows, &k.largest);
    assert(fits);
    (void)fits;
    return k;
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
    struct rs16_shape shape;
    if (c->codec == ERASURE_RS && (c->depth != 1 || !erasure_shape(c, c->span, c->rows, &shape)))
        return c->depth != 1
                   ? "codec rs has no interleaving: leave it away"
                   : "a matrix has at most 65536 segments, and repair segments rounded up "
                     "to a power of two (with requests twice as many): use a lower span "
                     "or a higher rate";
    if (c->adaptive && !c->requests)
        return "only a code with requests can be adaptive";
    if (c->requests && (c->codec != ERASURE_RS || c->kept < 1 || c->kept > ERASURE_MATRICES_MAX))
        return c->codec != ERASURE_RS ? "only codec rs has requests"
                                      : "a sender keeps 1 to 64 matrices for requests";
    if (c->codec == ERASURE_RS8 && (c->rows < 1 || positions_of(c) + c->rows > CODE_WORD ||
                                    (uint64_t)c->rows * c->depth > 65535))
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
        if (c->codec == ERASURE_RS)
            break;
        if ((unsigned)positions + c->rows <= CODE_WORD || depth > 0)
            break;
    }
    struct erasure_config tried = *c;
    tried.segment_max = tried.matrices = 1;
    return erasure_config_problem(&tried);
}

uint64_t erasure_encoder_bytes(const struct erasure_config *c)
{
    const struct rs16_kind k = c->codec == ERASURE_RS ? kind_of(c) : (struct rs16_kind){0};
    if (c->codec == ERASURE_RS)
        return sizeof(struct gf16) + rs16_encoder_bytes(&k) + symbol_max(c);
    return (uint64_t)(2 * c->rows * c->depth + 1) * symbol_max(c) +
           (uint64_t)c->rows * positions_of(c) * GF_TABLE_BYTES_MAX;
}

static void open_set(struct erasure_encoder *e, uint32_t number)
{
    struct set *s = &e->sets[e->filling];
    uint8_t *symbols = s->symbols;
    if (symbols != NULL)
        memset(symbols, 0, (size_t)e->config.rows * e->config.depth * symbol_max(&e->config));
    *s = (struct set){.symbols = symbols, .number = number % PACKET_MATRICES};
    e->opened = TICK_NEVER;
    e->longest_before = e->longest;
    e->end = e->longest = 0;
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

/* The work on a block of M segments has the time of M / 8 others (erasure/rs16.h): a matrix ends
 * so long behind the last whole block at least, or with it. */
static unsigned full_of(const struct rs16_kind *k)
{
    unsigned m = 1u << k->largest.log_m, span = k->largest.data, rest = span % m;
    return span > m && rest < m / 8 ? span - rest : span;
}

static int new_sets(struct erasure_encoder *e)
{
    const struct erasure_config *config = &e->config;
    if (config->codec == ERASURE_RS) {
        const struct rs16_kind k = kind_of(config);
        e->full = full_of(&k);
        e->kept = calloc(k.kept, sizeof *e->kept);
        return e->kept == NULL ? HELIO_ENOMEM : rs16_encoder_new(&e->rs16, &k);
    }
    size_t set = (size_t)config->rows * config->depth * symbol_max(config);
    e->sets[0].symbols = malloc(set);
    e->sets[1].symbols = malloc(set);
    e->tables = malloc((size_t)config->rows * positions_of(config) * config->math->table_bytes);
    e->full = config->span;
    if (e->sets[0].symbols == NULL || e->sets[1].symbols == NULL || e->tables == NULL)
        return HELIO_ENOMEM;
    return prepare_tables(e);
}

int erasure_encoder_new(struct erasure_encoder **out, const struct erasure_config *config)
{
    assert(erasure_config_problem(config) == NULL);
    struct erasure_encoder *e = calloc(1, sizeof *e);
    if (e == NULL)
        return HELIO_ENOMEM;
    e->config = *config;
    e->symbol = malloc(symbol_max(config));
    if (e->symbol == NULL || new_sets(e) != 0) {
        erasure_encoder_free(e);
        return HELIO_ENOMEM;
    }
    needs_init(&e->needs, config->span, config->rows);
    e->n.rows = config->rows;
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
    free(e->kept);
    rs16_encoder_free(e->rs16);
    free(e->symbol);
    free(e);
}

/* A short matrix has fewer rows, in proportion and one more: a fade may be as long as it. */
static unsigned rows_of(const struct erasure_encoder *e, unsigned segments)
{
    const struct erasure_config *c = &e->config;
    unsigned full = positions_of(c), positions = (segments + c->depth - 1) / c->depth;
    unsigned all = e->n.rows, rows = (all * positions + full - 1) / full + (positions < full);
    return rows < all ? rows : all;
}

/* All of its repair segments that are transmitted were transmitted. */
static void tell_sent(const struct erasure_encoder *e, const struct set *s, unsigned from)
{
    if (e->config.sink != NULL)
        e->config.sink(
            e->config.sink_context,
            &(struct erasure_event){.outcome = from > 0 ? ERASURE_ANSWERED : ERASURE_SENT,
                                    .matrix = s->number,
                                    .segments = s->segments,
                                    .repairs = s->next - from});
}

/* The memory of repair segments that are still pending is needed. */
static void drop_pending(struct erasure_encoder *e)
{
    struct set *s = &e->sets[1 - e->filling];
    if (s->next < s->count)
        tell_sent(e, s, 0);
    e->n.unsent += s->count - s->next;
    s->next = s->count;
}

/* Has it an answer that is not transmitted yet? */
static bool is_answer(const struct kept *k)
{
    return k->set.next < k->set.count;
}

/* The codeword that is filled has taken a place of repair symbols. */
static void lose_place(struct erasure_encoder *e)
{
    unsigned place = rs16_encoder_place(e->rs16);
    struct kept *k = &e->kept[place];
    if (k->valid && is_answer(k)) {
        tell_sent(e, &k->set, k->from);
        e->answers--;
    }
    k->valid = false;
    if (e->sets[1 - e->filling].place == place)
        drop_pending(e);
}

/* The codeword of a matrix ends. */
static void end_codeword(struct erasure_encoder *e, struct set *s)
{
    struct rs16_shape shape;
    bool fits = erasure_shape(&e->config, s->segments, s->rows, &shape);
    assert(fits);
    (void)fits;
    if (rs16_encoder_end(e->rs16, shape.repairs))
        lose_place(e);
    s->place = rs16_encoder_place(e->rs16);
    if (!e->config.requests)
        return;
    struct kept *k = &e->kept[s->place];
    *k = (struct kept){.valid = true, .set = *s, .last = shape.repairs, .vain = TICK_NEVER};
    k->set.next = k->set.count = s->rows;
}

/* The matrix ends: its repair segments are pending, and the next one is filled. */
static void close_set(struct erasure_encoder *e)
{
    struct set *s = &e->sets[e->filling];
    unsigned width = s->segments < e->config.depth ? s->segments : e->config.depth;
    assert(s->segments > 0 && s->segments <= e->config.span);
    s->rows = rows_of(e, s->segments);
    s->count = s->rows * width;
    s->next = 0;
    if (e->rs16 != NULL)
        end_codeword(e, s);
    e->n.matrices++;
    e->n.short_matrices += s->segments < e->full;
    drop_pending(e);
    e->filling = 1 - e->filling;
    open_set(e, s->number + 1);
}

/* Does a block end here, and another one like the longest would not fit the matrix? Not when it is
 * less than half full. */
static bool ends_with_block(struct erasure_encoder *e, unsigned flags, unsigned segments)
{
    flags &= FLAGS_MASK;
    if (flags != FLAGS_END && flags != FLAGS_GREEN_END)
        return false;
    unsigned block = segments - e->end, longest = e->longest_before;
    e->longest = block > e->longest ? block : e->longest;
    e->end = segments;
    longest = e->longest > longest ? e->longest : longest;
    return segments >= e->full / 2 && segments + longest > e->full;
}

/* The symbol that was made becomes part of the repair symbols. */
static void add_symbol(struct erasure_encoder *e, struct set *s, size_t len)
{
    const struct erasure_config *c = &e->config;
    uint8_t *to[CODE_WORD];
    for (unsigned row = 0; row < c->rows; row++)
        to[row] = s->symbols + ((size_t)row * c->depth + s->segments % c->depth) * symbol_max(c);
    c->math->update(e->tables, c->rows, positions_of(c), s->segments / c->depth, e->symbol, to,
                    len);
}

void erasure_encoder_add(struct erasure_encoder *e, struct slice first, struct slice rest, tick now,
                         uint8_t head[ERASURE_HEAD])
{
    struct set *s = &e->sets[e->filling];
    size_t len = first.len + rest.len, symbol = ERASURE_SYMBOL_HEAD + len;
    assert(len > 0 && len <= e->config.segment_max && s->segments < e->full);
    struct packet_head h = {.wide = e->rs16 != NULL,
                            .asked = e->config.requests,
                            .matrix = s->number,
                            .index = (uint16_t)s->segments};
    h.crc = erasure_packet_crc(&h, first, rest);
    erasure_packet_write(&h, head);
    put_u16(e->symbol, (unsigned)len);
    put_u32(e->symbol + 2, h.crc);
    if (first.len > 0)
        memcpy(e->symbol + ERASURE_SYMBOL_HEAD, first.data, first.len);
    if (rest.len > 0)
        memcpy(e->symbol + ERASURE_SYMBOL_HEAD + first.len, rest.data, rest.len);
    unsigned flags = e->symbol[ERASURE_SYMBOL_HEAD];
    e->now = now;
    if (e->rs16 == NULL)
        add_symbol(e, s, symbol);
    else if (rs16_encoder_add(e->rs16, e->symbol, symbol))
        lose_place(e);
    symbol = e->rs16 != NULL ? (symbol + GF16_GROUP - 1) / GF16_GROUP * GF16_GROUP : symbol;
    s->width = symbol > s->width ? symbol : s->width;
    e->opened = s->segments == 0 ? now : e->opened;
    e->n.segments++;
    s->segments++;
    bool ends = e->rs16 != NULL && ends_with_block(e, flags, s->segments);
    if (s->segments == e->full || (ends && !rs16_encoder_busy(e->rs16)))
        close_set(e);
}

/* Are repair segments left, if perhaps not computed? */
static bool has_left(const struct erasure_encoder *e)
{
    const struct set *s = &e->sets[1 - e->filling];
    return s->next < s->count;
}

static bool is_busy(const struct erasure_encoder *e)
{
    return e->rs16 != NULL && rs16_encoder_busy(e->rs16);
}

bool erasure_encoder_computing(const struct erasure_encoder *e)
{
    return has_left(e) && is_busy(e);
}

/* The next matrix whose answer is not transmitted yet, the oldest one first; NULL: none. */
static struct kept *find_answer(const struct erasure_encoder *e)
{
    struct kept *found = NULL;
    for (unsigned i = 1; e->answers > 0 && i <= e->config.kept && found == NULL; i++) {
        unsigned place = (rs16_encoder_place(e->rs16) + i) % e->config.kept;
        struct kept *k = &e->kept[place];
        if (k->valid && is_answer(k) && (i < e->config.kept || !is_busy(e)))
            found = k;
    }
    return found;
}

bool erasure_encoder_pending(const struct erasure_encoder *e)
{
    return (has_left(e) && !is_busy(e)) || find_answer(e) != NULL;
}

/* The symbol of a row and a codeword is written to *out. */
static void read_symbol(const struct erasure_encoder *e, const struct set *s, unsigned row,
                        unsigned word, uint8_t *out)
{
    if (e->rs16 != NULL)
        rs16_encoder_read(e->rs16, s->place, row, out, s->width);
    else
        memcpy(out, s->symbols + ((size_t)row * e->config.depth + word) * symbol_max(&e->config),
               s->width);
}

size_t erasure_encoder_output(struct erasure_encoder *e, uint8_t *packet)
{
    const struct erasure_config *c = &e->config;
    struct set *s = &e->sets[1 - e->filling];
    unsigned from = 0;
    if (!erasure_encoder_pending(e))
        return 0;
    if (!has_left(e) || is_busy(e)) {
        struct kept *k = find_answer(e);
        s = &k->set;
        from = k->from;
        e->answers -= s->next + 1 == s->count;
        e->n.more++;
    }
    unsigned width = e->rs16 != NULL ? 1 : s->count / s->rows;
    unsigned row = s->next / width, word = s->next % width;
    uint8_t *body = packet + (e->rs16 != NULL ? ERASURE_WIDE_HEAD : ERASURE_REPAIR_HEAD);
    struct slice symbol = slice_of(body, s->width);
    struct packet_head h = {.repair = true,
                            .wide = e->rs16 != NULL,
                            .asked = c->requests,
                            .matrix = s->number,
                            .index = (uint16_t)s->next,
                            .segments = (uint16_t)s->segments,
                            .depth = (uint8_t)c->depth,
                            .rows = (uint16_t)s->rows,
                            .full_segments = (uint16_t)c->span,
                            .full_rows = (uint16_t)c->rows};
    read_symbol(e, s, row, word, body);
    h.crc = erasure_packet_crc(&h, symbol, slice_of(NULL, 0));
    size_t n = erasure_packet_write(&h, packet);
    s->next++;
    e->n.repairs++;
    e->n.repair_octets += n + symbol.len;
    if (s->next == s->count)
        tell_sent(e, s, from);
    return n + symbol.len;
}

/* Some of the answer are lost, too: half more than are missing, and an eighth of the rows. */
static void prepare_answer(struct erasure_encoder *e, struct kept *k, unsigned missing, tick now)
{
    unsigned left = k->last - k->set.next, want = missing + missing / 2 + k->set.rows / 8 + 1;
    if (is_answer(k) || k->answers == ERASURE_ANSWERS_MAX ||
        (k->answers > 0 && now < tick_add(k->at, ERASURE_REQUEST_SAME)))
        return;
    if (missing > left) { /* it takes no answer of others: it may be forged */
        e->n.too_late += k->vain == TICK_NEVER || now >= tick_add(k->vain, ERASURE_REQUEST_SAME);
        k->vain = now;
        return;
    }
    k->answers++;
    k->at = now;
    k->from = k->set.next;
    k->set.count = k->set.next + (want < left ? want : left);
    e->n.answered++;
    e->answers++;
}

/* What a matrix needed is counted once. */
static void note_need(struct erasure_encoder *e, struct kept *k, unsigned needed)
{
    if (!e->config.adaptive || k->reported)
        return;
    k->reported = true;
    e->n.reports++;
    needs_add(&e->needs, k->set.segments, needed);
    e->n.rows = e->needs.rows;
}

static struct kept *find_kept(struct erasure_encoder *e, uint32_t matrix)
{
    for (unsigned i = 0; i < e->config.kept; i++)
        if (e->kept[i].valid && e->kept[i].set.number == matrix)
            return &e->kept[i];
    return NULL;
}

enum erasure_verdict erasure_encoder_request(struct erasure_encoder *e, struct slice packet,
                                             tick now)
{
    struct packet_head h;
    struct slice body;
    enum erasure_verdict v = erasure_packet_parse(packet, &h, &body);
    if (v != ERASURE_REQUEST)
        return v;
    if (!e->config.requests || (h.request && h.index == 0))
        return ERASURE_MISMATCH;
    struct kept *k = find_kept(e, h.matrix);
    if (h.need) {
        if (k != NULL)
            note_need(e, k, h.index);
        return v;
    }
    e->n.requests++;
    if (has_left(e) && e->sets[1 - e->filling].number == h.matrix)
        return v; /* its repair segments are in transit: a copy of the request may arrive later */
    if (k != NULL)
        prepare_answer(e, k, h.index, now);
    else
        e->n.too_late++;
    return v;
}

tick erasure_encoder_deadline(const struct erasure_encoder *e)
{
    if (erasure_encoder_computing(e))
        return e->now;
    if (e->opened == TICK_NEVER || has_left(e))
        return TICK_NEVER;
    return tick_add(e->opened, e->config.wait);
}

void erasure_encoder_expire(struct erasure_encoder *e, tick now)
{
    if (erasure_encoder_deadline(e) > now)
        return;
    e->now = now;
    if (!is_busy(e)) {
        close_set(e);
        return;
    }
    unsigned work = rs16_encoder_work(e->rs16, ERASURE_WORK_MAX - RS16_STEP_MAX);
    e->n.work_max = work > e->n.work_max ? work : e->n.work_max;
}

const struct erasure_sent *erasure_encoder_counters(const struct erasure_encoder *e)
{
    return &e->n;
}
