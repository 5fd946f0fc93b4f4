/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A physical channel. A reading port gets its own frames directly from the wire; frames of other
 * ports are copied to their queues. Frames from CADUs are always copied, because the decoder has
 * memory for one. What can go wrong: memory, and a port that does not read: its frames are lost, as
 * if in transmission. Both are counted.
 */
#include "cla/framed/frame_line.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "cla/framed/frame_guess.h"
#include "os/net/udp_io.h"

#define TM_IDLE_VCID 7 /* TM has no channel of its own for idle data */
#define SAY_PAUSE (60 * TICK_S)
#define UNITS_BLIND 4 /* octets of so many CADUs without a CADU: not of this kind */

bool frame_line_suits(const struct frame_line *l, const struct frame_way *send,
                      const struct frame_way *receive)
{
    return !l->closing && frame_way_same(&l->out, send) && frame_way_same(&l->in, receive);
}

/* ---- sending ---- */

size_t frame_line_send(struct frame_line *l, struct slice frame)
{
    assert(!l->closing && frame.len > 0 && frame.len <= l->out.format.length);
    if (l->secure != NULL && !frame_secure_apply(l->secure, world_now(l->world), &frame)) {
        l->n.dropped++;
        return frame.len; /* its rate is spent: the next one is not tried at once */
    }
    struct slice unit = frame;
    if (l->out.cltu) {
        unit.len = cltu_write(frame.data, frame.len, l->out.randomise, l->unit,
                              cltu_size(l->out.format.length));
        unit.data = l->unit;
        assert(unit.len > 0);
    }
    if (l->encode != NULL)
        unit = frame_code_write(l->encode, frame);
    if (!l->wire->ops->send(l->wire, unit))
        l->n.dropped++;
    if (l->idle > 0)
        l->last = world_now(l->world);
    return l->out.code.soft ? unit.len / 8 : unit.len;
}

static void send_idle(struct frame_line *l)
{
    struct frame f = {.kind = l->out.format.kind,
                      .scid = l->out.scid,
                      .count = l->idle_count++,
                      .master_count = l->master_count++};
    f.vcid = f.kind == FRAME_TM ? TM_IDLE_VCID : FRAME_IDLE_VCID;
    unsigned bits = frame_count_bits(&l->out.format);
    f.count &= (UINT64_C(1) << bits) - 1;
    frame_write_idle(&l->out.format, &f, l->scratch);
    frame_line_send(l, slice_of(l->scratch, l->out.format.length));
    l->n.idle_sent++;
}

static void on_silence(void *context)
{
    struct frame_line *l = context;
    tick now = world_now(l->world);
    if (now - l->last >= l->idle && frame_wire_room(l->wire)) {
        send_idle(l);
        (void)l->wire->ops->flush(l->wire);
        frame_line_watch(l);
    }
    tick due = tick_add(l->last, l->idle);
    alarm_set(&l->silence, due > now ? due : tick_add(now, l->idle));
}

/* ---- receiving ---- */

static struct frame_line_user *find_user(const struct frame_line *l, uint8_t vcid)
{
    list_for_each (it, &l->users) {
        struct frame_line_user *u = container_of(it, struct frame_line_user, node);
        if (u->vcid == vcid)
            return u;
    }
    return NULL;
}

static void on_say(void *context, int level, const char *text)
{
    const struct frame_line *l = context;
    if (list_empty(&l->users))
        return;
    struct frame_line_user *first =
        container_of(list_first(&l->users), struct frame_line_user, node);
    first->say(first, level, text);
}

/* The peer's keys are other ones: counted, and logged at most once a minute. */
static void note_misfit(struct frame_line *l, const char *why)
{
    char text[FRAME_MISFIT_MAX + 192];
    const tick now = world_now(l->world);
    l->n.misfits++;
    if (now < l->quiet)
        return;
    l->quiet = tick_add(now, SAY_PAUSE);
    snprintf(text, sizeof text,
             "the received data are no frames of this link (%" PRIu64
             " so far; the latest: %s). Both ends need frames, and the same keys of frames and "
             "cadu",
             l->n.misfits, why);
    on_say(l, 1, text);
}

/* Octets that may be read before the first CADU is complete. */
static uint64_t count_blind(const struct frame_line *l)
{
    const struct frame_code_config *c = &l->in.code;
    const uint64_t searched = c->conv == FRAME_CODE_CONV_OFF ? 0
                              : c->soft                      ? CONV_LOOK
                                                             : CONV_LOOK / 8;
    return searched + (uint64_t)UNITS_BLIND * frame_code_len(c, l->in.format.length);
}

/* Octets were read, and no CADU was found yet, not even one with errors. */
static void watch_blind(struct frame_line *l)
{
    char why[FRAME_MISFIT_MAX];
    if (frame_code_counts(l->decode)->frames > 0)
        return;
    l->blind += l->fed;
    l->fed = 0;
    if (l->blind < count_blind(l))
        return;
    snprintf(why, sizeof why, "%" PRIu64 " octets without a CADU", l->blind);
    l->blind = 0;
    note_misfit(l, why);
}

/* A unit that is no user's. */
static void judge_misfit(struct frame_line *l, struct slice unit, const struct frame *f,
                         enum frame_verdict v)
{
    char why[FRAME_MISFIT_MAX];
    struct frame_misfit m = {.unit = unit,
                             .whole = l->datagrams && l->decode == NULL && !l->in.cltu,
                             .first = !l->fits,
                             .verdict = v};
    if (v == FRAME_SPACECRAFT_VERDICT || v == FRAME_CHANNEL_VERDICT) {
        m.scid = f->scid;
        m.vcid = f->vcid;
    }
    if (frame_misfit_text(&m, &l->in.format, l->in.scid, why))
        note_misfit(l, why);
}

/* What arrived as a frame: false when it is none. */
static bool decode_unit(struct frame_line *l, struct slice *unit)
{
    struct cltu c;
    if (!l->in.cltu)
        return true;
    size_t room = FRAME_TC_MAX + BCH_INFORMATION;
    enum cltu_verdict v =
        cltu_read(unit->data, unit->len, BCH_CORRECT, l->in.randomise, l->scratch, room, &c);
    l->n.corrected += c.corrected;
    if (v != CLTU_OK) {
        l->n.cltu_bad++;
        if (v == CLTU_NO_START && l->datagrams)
            note_misfit(l, "a datagram in which no CLTU begins");
        return false;
    }
    *unit = slice_of(l->scratch, c.len);
    return true;
}

/* `opened`: security was taken off it, so that it may be shorter than others. */
static enum frame_verdict judge_frame(const struct frame_line *l, struct slice unit, bool opened,
                                      struct frame *f)
{
    struct frame_format format = l->in.format;
    assert(unit.len <= FRAME_LENGTH_MAX);
    if (opened && format.kind != FRAME_TC)
        format.length = (uint32_t)unit.len;
    enum frame_verdict v = frame_parse(&format, unit.data, unit.len, f);
    if ((v == FRAME_OK_VERDICT || v == FRAME_IDLE_VERDICT) && f->scid != l->in.scid)
        return FRAME_SPACECRAFT_VERDICT;
    return v;
}

/* The stream has ended whose CADUs are decoded, and the decoder does not know it. */
static bool has_ended(const struct frame_line *l)
{
    return l->decode != NULL && l->stream != l->wire->streams;
}

/* The next of what arrived: a frame out of a CADU, or what the wire has. */
static enum frame_code_result next_unit(struct frame_line *l, struct slice *unit)
{
    struct frame_wire *w = l->wire;
    enum frame_code_result r;
    struct slice octets;
    if (l->decode == NULL)
        return w->ops->next(w, unit) ? FRAME_CODE_FRAME : FRAME_CODE_NONE;
    while ((r = frame_code_next(l->decode, unit)) == FRAME_CODE_NONE) {
        watch_blind(l);
        if (has_ended(l)) {
            l->stream = w->streams;
            frame_code_end(l->decode);
            continue;
        }
        if (!w->ops->next(w, &octets))
            break;
        frame_code_feed(l->decode, octets);
        l->fed = octets.len;
    }
    return r;
}

static void queue_frame(struct frame_line *l, struct frame_line_user *u, struct slice unit)
{
    if (!frame_queue_put(&u->queue, unit)) {
        l->n.unread++;
        return;
    }
    u->more = true;
    if (u->read)
        alarm_set(u->again, 0);
}

/* Frames that users read had security. */
static bool is_secured(const struct frame_line *l)
{
    return l->secure != NULL && frame_secure_receives(l->secure);
}

/* The user's own frame, for as long as it is in use. */
static bool keep_frame(struct frame_line *l, struct frame_line_user *u, struct slice unit,
                       struct frame *f)
{
    if (l->decode == NULL && !is_secured(l))
        return true; /* the wire has it for so long */
    if (!frame_queue_keep(&u->queue, &unit)) {
        l->n.unread++;
        return false;
    }
    (void)judge_frame(l, unit, is_secured(l), f);
    return true;
}

/* Takes security off it. False: it is refused. */
static bool open_frame(struct frame_line *l, struct slice *unit, bool *opened)
{
    const enum frame_secure_result r =
        is_secured(l) ? frame_secure_process(l->secure, world_now(l->world), unit)
                      : FRAME_SECURE_CLEAR;
    *opened = r == FRAME_SECURE_OPEN;
    return r != FRAME_SECURE_REFUSED;
}

/* A frame from the wire: the user's, or it is put where it belongs. */
static bool sort_frame(struct frame_line *l, struct frame_line_user *u, struct slice unit,
                       struct frame *f, enum frame_verdict *v)
{
    bool opened;
    if (!decode_unit(l, &unit) || !open_frame(l, &unit, &opened))
        return false;
    *v = judge_frame(l, unit, opened, f);
    bool good = *v == FRAME_OK_VERDICT || *v == FRAME_IDLE_VERDICT;
    struct frame_line_user *owner = good ? find_user(l, f->vcid) : NULL;
    if (owner != NULL && is_secured(l) && !opened) {
        frame_secure_refuse_clear(l->secure, world_now(l->world));
        return false;
    }
    l->fits = l->fits || owner != NULL;
    if (owner == u)
        return keep_frame(l, u, unit, f);
    if (owner != NULL) {
        queue_frame(l, owner, unit);
        return false;
    }
    /* only idle data has a channel of its own */
    const enum frame_verdict because = *v == FRAME_OK_VERDICT ? FRAME_CHANNEL_VERDICT : *v;
    l->n.verdicts[because]++;
    judge_misfit(l, unit, f, because);
    return false;
}

static bool next_queued(struct frame_line *l, struct frame_line_user *u, struct frame *f,
                        enum frame_verdict *v)
{
    struct slice unit;
    if (!frame_queue_take(&u->queue, &unit))
        return false;
    *v = judge_frame(l, unit, is_secured(l), f);
    return true;
}

enum frame_line_result frame_line_next(struct frame_line *l, struct frame_line_user *u,
                                       struct frame *f, enum frame_verdict *v)
{
    struct slice unit;
    if (next_queued(l, u, f, v))
        return FRAME_LINE_FRAME;
    const enum frame_code_result r = next_unit(l, &unit);
    if (r == FRAME_CODE_NONE) {
        l->unread = false;
        return FRAME_LINE_NONE;
    }
    return r == FRAME_CODE_FRAME && sort_frame(l, u, unit, f, v) ? FRAME_LINE_FRAME
                                                                 : FRAME_LINE_OTHER;
}

void frame_line_pause(struct frame_line *l, struct frame_line_user *u)
{
    assert(!l->closing && find_user(l, u->vcid) == u);
    l->unread = u->more = true;
    if (u->read)
        alarm_set(u->again, 0);
}

void frame_line_release(struct frame_line_user *u)
{
    frame_queue_release(&u->queue);
}

/* By another one than this. */
static bool is_held(const struct frame_line *l, const struct frame_line_user *but)
{
    unsigned holders = 0;
    list_for_each (it, &l->users)
        holders += container_of(it, struct frame_line_user, node)->holds;
    return holders > but->holds;
}

bool frame_line_fill(struct frame_line *l, struct frame_line_user *u)
{
    bool held = is_held(l, u);
    assert(u->queue.len == 0);
    frame_queue_clear(&u->queue);
    return !held && l->wire->ops->fill(l->wire);
}

void frame_line_count(const struct frame_line *l, struct frame_line_counters *out,
                      struct frame_wire_counters *wire)
{
    *out = l->n;
    l->wire->ops->count(l->wire, wire);
    if (l->decode == NULL)
        return;
    const struct cadu_counts *n = frame_code_counts(l->decode);
    out->cadu_good = l->in.code.kind == FRAME_CODE_UNCODED ? 0 : n->frames - n->erred;
    out->cadu_corrected = n->corrected;
    out->cadu_codewords_failed = n->codewords_failed;
    out->cadu_iterations = n->iterations;
    out->cadu_erred = n->erred;
    out->cadu_sync_losses = n->sync_losses;
    out->cadu_symbols_wrong = frame_code_wrong(l->decode);
    wire->in = n->frames;
    wire->skipped_bytes += n->skipped_bits / 8;
}

/* ---- users ---- */

/* A reading user continues with the rest of another user's turn. */
static void go_on(struct frame_line *l)
{
    struct frame_line_user *reader = NULL;
    list_for_each (it, &l->users) {
        struct frame_line_user *u = container_of(it, struct frame_line_user, node);
        if (u->read && u->more)
            return; /* its alarm is set */
        if (u->read && reader == NULL)
            reader = u;
    }
    if (reader == NULL)
        return;
    reader->more = true;
    alarm_set(reader->again, 0);
}

void frame_line_watch(struct frame_line *l)
{
    bool read = false, write = false, held = false;
    if (l->closing)
        return;
    if (l->unread || has_ended(l))
        go_on(l);
    list_for_each (it, &l->users) {
        const struct frame_line_user *u = container_of(it, struct frame_line_user, node);
        read |= u->read && !u->more;
        write |= u->write;
        held |= u->holds;
    }
    read = read && !held && !l->unread;
    l->wire->ops->watch(l->wire, read, write || l->wire->ops->pending(l->wire));
}

static struct frame_line_user *find_due(const struct frame_line *l)
{
    list_for_each (it, &l->users) {
        struct frame_line_user *u = container_of(it, struct frame_line_user, node);
        if (u->due)
            return u;
    }
    return NULL;
}

/* During the calls this user and others may leave. */
static void on_wire(void *context, bool readable, bool writable)
{
    struct frame_line *l = context;
    struct frame_line_user *u;
    if (l->closing)
        return;
    if (writable && l->wire->ops->pending(l->wire))
        (void)l->wire->ops->flush(l->wire);
    writable = writable && !l->wire->ops->pending(l->wire);
    list_for_each (it, &l->users)
        container_of(it, struct frame_line_user, node)->due = true;
    while (!l->closing && (u = find_due(l)) != NULL) {
        u->due = false;
        u->ready(u, readable, writable);
    }
    frame_line_watch(l);
}

void frame_line_want(struct frame_line *l)
{
    bool wanted = false;
    assert(l->wire != NULL);
    list_for_each (it, &l->users)
        wanted |= container_of(it, struct frame_line_user, node)->wants;
    if (!l->closing && l->wire->ops->want != NULL)
        l->wire->ops->want(l->wire, wanted);
}

static struct frame_line_user *find_stated(const struct frame_line *l)
{
    list_for_each (it, &l->users) {
        struct frame_line_user *u = container_of(it, struct frame_line_user, node);
        if (u->stated)
            return u;
    }
    return NULL;
}

static void on_state(void *context)
{
    struct frame_line *l = context;
    struct frame_line_user *u;
    list_for_each (it, &l->users)
        container_of(it, struct frame_line_user, node)->stated = true;
    while (!l->closing && (u = find_stated(l)) != NULL) {
        u->stated = false;
        u->state(u);
    }
}

static const struct frame_wire_user line_user = {
    .ready = on_wire, .state = on_state, .say = on_say};

bool frame_line_join(struct frame_line *l, struct frame_line_user *u)
{
    assert(!l->closing && u->ready != NULL && u->state != NULL && u->say != NULL &&
           u->again != NULL);
    if (find_user(l, u->vcid) != NULL)
        return false;
    frame_queue_init(&u->queue);
    u->due = u->stated = false;
    u->wants = true;
    list_add_tail(&l->users, &u->node);
    return true;
}

void frame_line_leave(struct frame_line *l, struct frame_line_user *u)
{
    assert(find_user(l, u->vcid) == u);
    (void)l; /* without assertions */
    list_sub(&u->node);
    frame_queue_fini(&u->queue);
}

/* ---- begin and end ---- */

static void free_line(struct frame_line *l)
{
    frame_secure_close(l->secure);
    frame_code_free(l->encode);
    frame_code_free(l->decode);
    free(l->scratch);
    free(l->unit);
    free(l);
}

static size_t scratch_room(const struct frame_way *send, const struct frame_way *receive)
{
    size_t out = send->format.kind == FRAME_TC ? 0 : send->format.length;
    size_t in = receive->cltu ? (size_t)FRAME_TC_MAX + BCH_INFORMATION : 0;
    return 1 + (out > in ? out : in);
}

static bool open_code(struct frame_code **out, const struct frame_way *w)
{
    assert(frame_code_problem(&w->code, w->format.length) == NULL);
    assert(w->code.kind == FRAME_CODE_OFF || w->format.kind != FRAME_TC);
    if (w->code.kind != FRAME_CODE_OFF)
        *out = frame_code_new(&w->code, w->format.length);
    return w->code.kind == FRAME_CODE_OFF || *out != NULL;
}

static bool alloc_line(struct frame_line *l)
{
    l->scratch = malloc(scratch_room(&l->out, &l->in));
    l->unit = malloc(l->out.cltu ? cltu_size(l->out.format.length) : 1);
    return l->scratch != NULL && l->unit != NULL && open_code(&l->encode, &l->out) &&
           open_code(&l->decode, &l->in);
}

uint32_t frame_line_security(const struct frame_line *l, uint8_t vcid)
{
    return l->secure == NULL ? 0 : frame_secure_overhead(l->secure, vcid);
}

int frame_line_open(struct world *w, struct frame_line **out, const struct frame_line_config *c)
{
    assert(frame_way_problem(c->send) == NULL && frame_way_problem(c->receive) == NULL);
    struct frame_line *l = calloc(1, sizeof *l);
    if (l == NULL)
        return HELIO_ENOMEM;
    l->world = w;
    l->out = *c->send;
    l->in = *c->receive;
    l->idle = c->send->format.kind == FRAME_TC ? 0 : c->idle;
    l->datagrams = c->wire->kind == FRAME_WIRE_UDP;
    list_init(&l->users);
    int r = alloc_line(l) ? 0 : HELIO_ENOMEM;
    if (r == 0 && !frame_secure_is_off(c->secure))
        r = frame_secure_open(&l->secure, c->secure, &l->out.format, &l->in.format, on_say, l);
    if (r == 0)
        r = frame_wire_open(w, &l->wire, c->wire, &line_user, l);
    if (r != 0) {
        free_line(l);
        return r;
    }
    alarm_init(&l->silence, w, ALARM_LINK, on_silence, l);
    l->last = world_now(w);
    if (l->idle > 0)
        alarm_set(&l->silence, tick_add(l->last, l->idle));
    *out = l;
    return 0;
}

static void on_closed(void *context)
{
    struct frame_line *l = context;
    assert(l->closing && list_empty(&l->users));
    l->closed(l->closed_context);
    free_line(l);
}

void frame_line_close(struct frame_line *l, void (*closed)(void *context), void *context)
{
    assert(!l->closing && list_empty(&l->users));
    l->closing = true;
    l->closed = closed;
    l->closed_context = context;
    alarm_fini(&l->silence);
    frame_secure_close(l->secure); /* another line may have the numbers' notes now */
    l->secure = NULL;
    l->wire->ops->close(l->wire, on_closed, l);
}
