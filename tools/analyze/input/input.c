/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each file has one row read ahead; the file with the earliest row is next. What can go wrong: rows
 * that are not rows, a last line without an end (the node was killed while it wrote), files that
 * are something else, and damaged ones.
 */
#include "tools/analyze/input/input.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "tools/analyze/input/capture.h"
#include "tools/analyze/input/emu_input.h"
#include "tools/analyze/input/stream.h"

#define BACK                                                                                       \
    TICK_S /* times that go back by less are those of a clock that was set, or of a capture */

enum kind { KIND_LOG, KIND_DROPS, KIND_BUNDLES, KIND_CAPTURE };

struct source {
    struct input_file file;
    const char *name;
    enum kind kind;
    struct stream *stream;
    struct capture *capture;
    bool emulator; /* helio-emu's: `mark` */
    struct emu_mark mark;
    const char *partner;        /* the other file of that run; the capture is of an end, by both */
    struct stream *other;       /* that file, once more */
    bool end;                   /* no row is ahead */
    tick now;                   /* of the row ahead */
    struct csv_columns columns; /* of a log */
    struct seglog_row row;
    struct drop_event drop;
    struct bundle_row bundle; /* its texts lie in the stream */
    uint64_t node;
    const struct clocks_fix *fix; /* of its times; NULL: none */
    uint64_t run;                 /* of the row ahead */
    tick first, high;             /* least time of the first run; most of this one */
    tick first_high;              /* most of the first run */
    uint64_t back_line;           /* where its times first went back; 0: nowhere */
    tick back_by;
};

struct input {
    struct source *sources;
    size_t count;
    size_t last; /* whose row was given out */
    bool started;
    input_complaint *complain;
    void *context;
    char error[256];
};

/* A row is ahead: its time by the right clock, and its run. */
static void note_row(struct source *s)
{
    assert(!s->end);
    s->now = s->fix != NULL ? clocks_correct(s->fix, s->now) : s->now;
    if (s->fix != NULL && s->kind == KIND_BUNDLES)
        s->bundle.now = s->now;
    else if (s->fix != NULL)
        s->row.event.now = s->now;
    if (s->now < s->high && s->high - s->now >= BACK) {
        s->back_by = s->run == 0 ? s->high - s->now : s->back_by;
        s->back_line = s->run == 0 ? stream_line_number(s->stream) : s->back_line;
        s->run++;
        s->high = s->now;
    }
    s->high = s->now > s->high ? s->now : s->high;
    if (s->run == 0) {
        s->first = tick_min(s->first, s->now);
        s->first_high = s->high;
    }
    assert(s->high >= s->now);
}

/* Reads ahead one row of a capture: 0, HELIO_EIO, HELIO_ENOMEM, HELIO_ESTOPPED. */
static int advance_capture(struct input *in, struct source *s)
{
    assert(s->kind == KIND_CAPTURE && !s->end);
    const struct seglog_row *row;
    int rc = capture_next(s->capture, &row);
    if (rc == 1) {
        s->row = *row;
        s->now = row->event.now;
        note_row(s);
        return 0;
    }
    s->end = true;
    if (rc < 0) {
        snprintf(in->error, sizeof in->error, "%s", capture_error(s->capture));
        return rc;
    }
    uint64_t cut = capture_cut(s->capture);
    bool on =
        cut == 0 || in->complain(in->context, s->name, cut, "the capture ends within this packet");
    return on ? 0 : HELIO_ESTOPPED;
}

/* NULL, or what is wrong with the line. */
static const char *parse_line(struct source *s, const char *line, size_t len)
{
    assert(s->kind != KIND_CAPTURE);
    const char *why;
    if (s->kind == KIND_DROPS) {
        why = drop_row_parse(&s->columns, line, len, &s->drop);
        s->now = s->drop.now;
    } else if (s->kind == KIND_BUNDLES) {
        why = bundle_row_parse(&s->columns, line, len, &s->bundle);
        s->now = s->bundle.now;
    } else {
        why = seglog_row_parse(&s->columns, line, len, &s->row);
        s->now = s->row.event.now;
    }
    return why;
}

static bool is_header(const struct source *s, const char *line, size_t len)
{
    return s->kind == KIND_DROPS     ? drop_row_is_header(line, len)
           : s->kind == KIND_BUNDLES ? bundle_row_is_header(line, len)
                                     : seglog_row_is_header(line, len);
}

/* The rows that follow have these columns. A file may have several such lines: of several files
 * that were put together, or of several versions that wrote to it. Returns NULL, or what is wrong
 * with it. */
static const char *take_header(struct source *s, const char *line, size_t len)
{
    struct csv_columns columns = s->columns;
    const char *why = s->kind == KIND_LOG       ? seglog_columns_parse(line, len, &columns)
                      : s->kind == KIND_BUNDLES ? bundle_columns_parse(line, len, &columns)
                                                : drop_columns_parse(line, len, &columns);
    if (why == NULL)
        s->columns = columns;
    return why;
}

static int refuse_file(struct input *in, const char *why)
{
    snprintf(in->error, sizeof in->error, "not a segment log, bundle log, drop log or capture: %s",
             why);
    return HELIO_EFORMAT;
}

/* Reads ahead one row: 0, HELIO_EIO, HELIO_ENOMEM, HELIO_ESTOPPED. */
static int advance_source(struct input *in, struct source *s)
{
    assert(!s->end);
    const char *line;
    size_t len;
    bool whole, told = false;
    int rc;
    if (s->kind == KIND_CAPTURE)
        return advance_capture(in, s);
    while ((rc = stream_line(s->stream, &line, &len, &whole)) == 1) {
        bool header = whole && is_header(s, line, len);
        const char *why = header                           ? take_header(s, line, len)
                          : whole || len > SEGLOG_LINE_MAX ? parse_line(s, line, len)
                                                           : "the file ends within this line";
        if (why == NULL && header)
            continue;
        if (why == NULL) {
            note_row(s);
            return 0;
        }
        uint64_t number = stream_line_number(s->stream);
        if (number == 1)
            return refuse_file(in, header ? why : "the first line is not the column names");
        if (!in->complain(in->context, s->name, number, why))
            return HELIO_ESTOPPED;
        told = !whole;
    }
    s->end = true;
    if (rc != 0)
        return rc;
    if (stream_line_number(s->stream) == 0)
        return refuse_file(in, "the file is empty");
    if (stream_cut(s->stream) && !told &&
        !in->complain(in->context, s->name, stream_line_number(s->stream),
                      "the compressed file is cut off behind this line"))
        return HELIO_ESTOPPED;
    return 0;
}

static enum kind kind_of(const struct source *s, const uint8_t *bytes, size_t len)
{
    if (capture_is(bytes, len))
        return KIND_CAPTURE;
    const uint8_t *newline = memchr(bytes, '\n', len);
    size_t line = newline != NULL ? (size_t)(newline - bytes) : len;
    if (newline != NULL && line > 0 && bytes[line - 1] == '\r')
        line--;
    const char *text = (const char *)bytes;
    const struct csv_columns all = bundle_columns_all();
    struct bundle_row row;
    if (s->file.drops || drop_row_is_header(text, line))
        return KIND_DROPS;
    bool bundles =
        bundle_row_is_header(text, line) || bundle_row_parse(&all, text, line, &row) == NULL;
    return bundles ? KIND_BUNDLES : KIND_LOG;
}

static int open_source(struct input *in, struct source *s)
{
    assert(s->stream == NULL);
    const uint8_t *bytes;
    s->first = TICK_NEVER;
    size_t len;
    s->name = strcmp(s->file.path, "-") == 0 ? "standard input" : s->file.path;
    int rc = stream_open(&s->stream, s->file.path, in->error);
    if (rc == 0)
        rc = stream_peek(s->stream, 4096, &bytes, &len);
    if (rc != 0)
        return rc;
    s->kind = kind_of(s, bytes, len);
    s->columns = s->kind == KIND_BUNDLES ? bundle_columns_all()
                 : s->kind == KIND_DROPS ? drop_columns_all()
                                         : seglog_columns_all();
    s->emulator = s->kind == KIND_CAPTURE && emu_mark_of(bytes, len, &s->mark);
    return 0;
}

/* The other file of a run of helio-emu's link; NULL: it is not there, or the user says what this
 * one is. Standard input cannot be read twice. */
static const struct source *find_partner(const struct input *in, const struct source *s)
{
    if (!s->emulator || s->file.at != WATCH_AUTO || strcmp(s->file.path, "-") == 0)
        return NULL;
    for (size_t i = 0; i < in->count; i++) {
        const struct source *o = &in->sources[i];
        if (o->emulator && o->mark.run == s->mark.run && o->mark.after != s->mark.after &&
            o->file.at == WATCH_AUTO && strcmp(o->file.path, "-") != 0)
            return o;
    }
    return NULL;
}

/* Of two such files the one of what enters stands for the end where forward frames come from. */
static int open_capture(struct input *in, struct source *s, const struct watch_options *options)
{
    assert(s->kind == KIND_CAPTURE && s->capture == NULL);
    const struct source *o = find_partner(in, s);
    if (o == NULL)
        return capture_open(&s->capture, s->stream, s->file.at, options, in->error);
    s->partner = o->name;
    int rc = stream_open(&s->other, o->file.path, in->error);
    if (rc != 0)
        return rc;
    struct stream *before = s->mark.after ? s->other : s->stream;
    struct stream *after = s->mark.after ? s->stream : s->other;
    return capture_open_end(&s->capture, before, after, s->mark.after, options);
}

int input_open(struct input **out, const struct input_file *files, size_t count,
               const struct watch_options *options, input_complaint *complain, void *context,
               size_t *failed, char error[256])
{
    assert(count > 0 && complain != NULL);
    struct input *in = calloc(1, sizeof *in);
    *failed = 0;
    error[0] = '\0';
    if (in == NULL)
        return HELIO_ENOMEM;
    in->complain = complain;
    in->context = context;
    in->sources = calloc(count, sizeof *in->sources);
    int rc = in->sources != NULL ? 0 : HELIO_ENOMEM;
    while (rc == 0 && in->count < count) {
        *failed = in->count++;
        in->sources[*failed].file = files[*failed];
        rc = open_source(in, &in->sources[*failed]);
    }
    for (size_t i = 0; rc == 0 && i < count; i++) {
        *failed = i;
        if (in->sources[i].kind == KIND_CAPTURE)
            rc = open_capture(in, &in->sources[i], options);
    }
    for (size_t i = 0; rc == 0 && i < count; i++) {
        struct source *s = &in->sources[i];
        *failed = i;
        rc = advance_source(in, s);
        s->node =
            s->end || s->kind == KIND_DROPS || s->kind == KIND_BUNDLES ? EVENT_NONE : s->row.node;
    }
    memcpy(error, in->error, sizeof in->error);
    if (rc == 0)
        *out = in;
    else
        input_close(in);
    return rc;
}

void input_close(struct input *in)
{
    if (in == NULL)
        return;
    for (size_t i = 0; i < in->count; i++) {
        capture_close(in->sources[i].capture);
        stream_close(in->sources[i].stream);
        stream_close(in->sources[i].other);
    }
    assert(in->sources != NULL || in->count == 0);
    free(in->sources);
    free(in);
}

/* What was lost in the moment in which it was sent had been sent first. */
static bool is_before(const struct source *s, const struct source *other)
{
    assert(!s->end && !other->end);
    if (s->run != other->run)
        return s->run < other->run;
    if (s->now != other->now)
        return s->now < other->now;
    return s->kind != KIND_DROPS && other->kind == KIND_DROPS;
}

int input_next(struct input *in, struct input_row *row, size_t *failed)
{
    assert(in->last < in->count);
    *failed = in->last;
    if (in->started) {
        int rc = advance_source(in, &in->sources[in->last]);
        if (rc != 0)
            return rc;
    }
    struct source *best = NULL;
    for (size_t i = 0; i < in->count; i++) {
        struct source *s = &in->sources[i];
        if (!s->end && (best == NULL || is_before(s, best)))
            best = s;
    }
    if (best == NULL) {
        in->started = false;
        return 0;
    }
    assert(!best->end);
    in->last = (size_t)(best - in->sources);
    in->started = true;
    *row = (struct input_row){.run = best->run};
    if (best->kind == KIND_DROPS)
        row->drop = &best->drop;
    else if (best->kind == KIND_BUNDLES)
        row->bundle = &best->bundle;
    else
        row->log = &best->row;
    return 1;
}

/* Of a bundle log the node is that of its ipn number; a drop log has none. */
static uint64_t node_of(const struct source *s)
{
    if (s->end || s->kind == KIND_DROPS)
        return EVENT_NONE;
    if (s->kind != KIND_BUNDLES)
        return s->row.node;
    const struct bundle_text *t = &s->bundle.node;
    uint64_t n = 0;
    size_t i = 4;
    if (t->len <= i || memcmp(t->at, "ipn:", i) != 0)
        return EVENT_NONE;
    for (; i < t->len && t->at[i] >= '0' && t->at[i] <= '9' && n < EVENT_NONE / 10 - 9; i++)
        n = 10 * n + (uint64_t)(t->at[i] - '0');
    return i > 4 && i < t->len && t->at[i] == '.' ? n : EVENT_NONE;
}

void input_correct(struct input *in, const struct clocks_fix *fixes, size_t len)
{
    assert(!in->started);
    for (size_t i = 0; i < in->count; i++) {
        struct source *s = &in->sources[i];
        s->fix = clocks_fix_find(fixes, len, node_of(s));
        if (s->end || s->fix == NULL)
            continue;
        s->first = TICK_NEVER;
        s->high = 0;
        note_row(s);
    }
}

struct input_back input_went_back(const struct input *in)
{
    struct input_back back = {.runs = 1};
    for (size_t i = 0; i < in->count; i++) {
        const struct source *s = &in->sources[i];
        if (s->run == 0)
            continue;
        if (back.file == NULL)
            back = (struct input_back){s->name, s->back_line, s->back_by, back.runs};
        back.runs = s->run + 1 > back.runs ? s->run + 1 : back.runs;
    }
    return back;
}

struct input_twins input_twin_logs(const struct input *in)
{
    for (size_t i = 0; i < in->count; i++)
        for (size_t j = i + 1; j < in->count; j++) {
            const struct source *a = &in->sources[i], *b = &in->sources[j];
            tick from = a->first > b->first ? a->first : b->first;
            tick to = tick_min(a->first_high, b->first_high);
            if (a->kind == KIND_LOG && b->kind == KIND_LOG && a->node == b->node &&
                a->node != EVENT_NONE && to > from && to - from > TICK_S)
                return (struct input_twins){a->name, b->name, a->node, to - from};
        }
    return (struct input_twins){0};
}

const char *input_error(const struct input *in)
{
    return in->error;
}

void input_nodes(const struct input *in, void (*tell)(void *context, uint64_t node), void *context)
{
    for (size_t i = 0; i < in->count; i++)
        if (in->sources[i].node != EVENT_NONE)
            tell(context, in->sources[i].node);
}

static bool has_kind(const struct input *in, enum kind kind)
{
    for (size_t i = 0; i < in->count; i++)
        if (in->sources[i].kind == kind)
            return true;
    return false;
}

bool input_has_drops(const struct input *in)
{
    return has_kind(in, KIND_DROPS);
}

bool input_has_bundles(const struct input *in)
{
    return has_kind(in, KIND_BUNDLES);
}

bool input_captures(const struct input *in, struct watch_counters *sum)
{
    bool any = false;
    memset(sum, 0, sizeof *sum);
    for (size_t i = 0; i < in->count; i++) {
        if (in->sources[i].capture == NULL)
            continue;
        capture_add_counters(in->sources[i].capture, sum);
        any = true;
    }
    return any;
}

static bool is_same_end(const struct watch_view *a, const struct watch_view *b)
{
    bool named = a->receiver < WATCH_UNKNOWN && b->receiver < WATCH_UNKNOWN;
    bool receiver = named ? a->receiver == b->receiver
                          : a->far.family == b->far.family && a->far.port == b->far.port &&
                                memcmp(a->far.ip, b->far.ip, sizeof a->far.ip) == 0;
    return receiver && a->sender == b->sender && a->place == b->place;
}

/* Another capture, of the same time, whose pair was taken for the same end; NULL: none. */
static const char *find_same_end(const struct input *in, const struct source *s,
                                 const struct watch_view *v)
{
    struct watch_view views[INPUT_VIEWS_MAX];
    assert(s->kind == KIND_CAPTURE);
    for (size_t i = 0; i < in->count; i++) {
        const struct source *other = &in->sources[i];
        if (other == s || other->kind != KIND_CAPTURE || other->first > s->first_high ||
            s->first > other->first_high)
            continue;
        size_t n = capture_views(other->capture, views, INPUT_VIEWS_MAX);
        for (size_t k = 0; k < n && k < INPUT_VIEWS_MAX; k++)
            if (is_same_end(v, &views[k]))
                return other->name;
    }
    return NULL;
}

size_t input_views(const struct input *in, struct input_view out[INPUT_VIEWS_MAX])
{
    struct watch_view views[INPUT_VIEWS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < in->count; i++) {
        const struct source *s = &in->sources[i];
        if (s->kind != KIND_CAPTURE)
            continue;
        size_t len = capture_views(s->capture, views, INPUT_VIEWS_MAX);
        for (size_t k = 0; k < len && k < INPUT_VIEWS_MAX && n + k < INPUT_VIEWS_MAX; k++)
            out[n + k] = (struct input_view){.file = s->name,
                                             .at = views[k],
                                             .same = find_same_end(in, s, &views[k]),
                                             .emulator = s->emulator,
                                             .after = s->mark.after,
                                             .partner = s->partner};
        n += len;
    }
    return n;
}

double input_share(const struct input *in)
{
    double size = 0, done = 0;
    for (size_t i = 0; i < in->count; i++) {
        uint64_t all = stream_size(in->sources[i].stream);
        size += (double)all;
        done += all > 0 ? (double)stream_offset(in->sources[i].stream) : 0;
    }
    return size > 0 ? done / size : 0;
}
