/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flushed batch of datagrams is packed into frames, and full frames are passed to the line. Whole
 * packets in received frames are the received datagrams. Payloads of TM, AOS and USLP frames are
 * not copied, except packets that span several frames.
 *
 * What can go wrong: at the beginning the wire cannot be opened, or memory; later frames with
 * errors, gaps, and a full wire, which the user sees as with any port.
 */
#include "cla/framed/frame_port.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "frames/clcw.h"
#include "frames/tc_extract.h"
#include "frames/tc_pack.h"

enum { ARRIVALS = 32, SLOTS = ARRIVALS + 1, SLOT = UDP_DATAGRAM_MAX };
enum { CLOCK_UNITS = 4 }; /* the clock is read after so many units; of slow codes after each */

struct frame_port {
    struct port port; /* its user's */
    struct frame_line *line;
    struct frame_line_user user;
    struct frame_port_config config;
    /* sending: packets of one of the two */
    struct mpdu_pack pack;
    struct tc_pack tc_pack;
    uint8_t *frame;
    struct slice slice;
    bool open; /* a frame is begun */
    bool more; /* the user has something for it soon */
    struct frame_port_air air;
    struct alarm fill;
    uint64_t frames, waiting; /* closed; when it was set */
    /* receiving: likewise */
    struct mpdu_extract extract;
    struct tc_extract tc_extract;
    struct packet_join join;
    /* whole packets that arrived in pieces: one for each arrival, one for the next */
    uint8_t *slots;
    uint8_t *segments;
    unsigned slot;
    struct alarm again;
    bool turning;  /* within a turn that tell_user began */
    unsigned left; /* units of this turn; <= FRAME_TURN_UNITS */
    tick ends;     /* when this turn does, at the latest */
    bool closing;
    void (*closed)(void *context);
    void *closed_context;
    struct frame_port_counters n;
};

static struct frame_port *frame_port_of(const struct port *p)
{
    return container_of((struct port *)(uintptr_t)p, struct frame_port, port);
}

static bool sends_tc(const struct frame_port *p)
{
    return p->config.send.format.kind == FRAME_TC;
}

static bool reads_tc(const struct frame_port *p)
{
    return p->config.receive.format.kind == FRAME_TC;
}

/* ---- sending ---- */

/* What we have received of the peer's frames: type B by its counter; there are no others. */
static uint32_t report_received(const struct frame_port *p)
{
    struct clcw c = {.cop = 1,
                     .vcid = p->config.receive.vcid,
                     .farm_b = (uint8_t)(p->tc_extract.counts.frames & 3)};
    return clcw_encode(&c);
}

static void close_mpdu(struct frame_port *p)
{
    struct mpdu_extra extra = {.master_count = p->line->master_count++};
    struct mpdu_frame out;
    if (p->config.send.format.ocf && reads_tc(p))
        extra.ocf = report_received(p);
    mpdu_pack_close(&p->pack, &extra, &out);
    p->air.octets += frame_line_send(p->line, out.slices[0]);
}

static void close_frame(struct frame_port *p)
{
    assert(p->open);
    p->frames++;
    p->air.frames++;
    if (sends_tc(p)) {
        struct slice frame = slice_of(p->frame, tc_pack_close(&p->tc_pack, p->frame));
        p->air.octets += frame_line_send(p->line, frame);
        p->open = tc_pack_open(&p->tc_pack);
    } else {
        close_mpdu(p);
        p->open = false;
    }
}

static void open_mpdu(struct frame_port *p)
{
    if (!p->open)
        mpdu_pack_open(&p->pack, p->frame, &p->slice);
    p->open = true;
}

static void put_mpdu(struct frame_port *p, const uint8_t *header, size_t n,
                     const struct slice parts[2])
{
    open_mpdu(p);
    mpdu_pack_put(&p->pack, header, n, parts, 2);
    while (p->open && mpdu_pack_full(&p->pack)) {
        close_frame(p);
        if (mpdu_pack_pending(&p->pack))
            open_mpdu(p);
    }
    assert(!mpdu_pack_pending(&p->pack)); /* the datagram's memory is free now */
}

static bool put_tc(struct frame_port *p, const uint8_t *header, size_t n,
                   const struct slice parts[2])
{
    enum tc_pack_result r;
    while ((r = tc_pack_put(&p->tc_pack, header, n, parts, 2)) == TC_PACK_FULL)
        close_frame(p);
    p->open = tc_pack_open(&p->tc_pack);
    while (tc_pack_full(&p->tc_pack))
        close_frame(p);
    p->n.too_long += r == TC_PACK_LONG;
    return r == TC_PACK_TAKEN;
}

static bool send_datagram(void *context, const struct address *to, struct slice head,
                          struct slice data)
{
    struct frame_port *p = context;
    uint8_t header[PACKET_HEADER_MAX];
    struct slice parts[2] = {head, data};
    if (!address_equal(to, &p->config.wire.remote))
        return false;
    size_t n = packet_write_encap(p->config.protocol, head.len + data.len, header);
    if (sends_tc(p))
        return put_tc(p, header, n, parts);
    put_mpdu(p, header, n, parts);
    return true;
}

static bool has_room(void *context)
{
    struct frame_port *p = context;
    return frame_wire_room(p->line->wire);
}

/* What is begun leaves; when the wire is full, later. */
static void fill_frame(struct frame_port *p)
{
    if (!p->open)
        return;
    if (!has_room(p)) {
        alarm_set(&p->fill, tick_add(world_now(p->port.world), TICK_MS));
        return;
    }
    if (!sends_tc(p))
        mpdu_pack_fill(&p->pack);
    close_frame(p);
    alarm_set(&p->fill, TICK_NEVER);
    assert(!p->open);
}

/* Each frame from when it was begun; one that is full waits for nothing. */
static void let_wait(struct frame_port *p)
{
    bool set = alarm_due(&p->fill) != TICK_NEVER;
    if (!p->open && set)
        alarm_set(&p->fill, TICK_NEVER);
    if (!p->open || (set && p->waiting == p->frames))
        return;
    p->waiting = p->frames;
    alarm_set(&p->fill, tick_add(world_now(p->port.world), p->config.fill));
}

static void end_batch(void *context)
{
    struct frame_port *p = context;
    if (p->closing)
        return;
    if (p->more)
        alarm_set(&p->fill, TICK_NEVER);
    else if (p->config.fill > 0)
        let_wait(p);
    else
        fill_frame(p);
    frame_wire_push(p->line->wire);
    frame_line_watch(p->line);
}

static void on_fill(void *context)
{
    struct frame_port *p = context;
    fill_frame(p);
    end_batch(p);
}

/* ---- receiving ---- */

static enum frame_verdict take_frame(struct frame_port *p, const struct frame *f)
{
    if (f->has_ocf) {
        p->n.clcw = f->ocf;
        p->n.clcw_told = true;
    }
    return reads_tc(p) ? tc_extract_input(&p->tc_extract, f) : mpdu_extract_input(&p->extract, f);
}

/* True: the piece completes a datagram. Datagrams of TC frames are copied: the octets of a CLTU are
 * overwritten by the next one. */
static bool take_piece(struct frame_port *p, const struct packet_piece *piece)
{
    struct slice payload;
    p->join.buffer = p->slots + (size_t)p->slot * SLOT;
    if (!packet_join(&p->join, piece, &payload))
        return false;
    if (piece->packet->kind != PACKET_ENCAP || piece->packet->protocol != p->config.protocol ||
        payload.len > UDP_DATAGRAM_MAX) {
        p->n.other_protocol++;
        return false;
    }
    if (reads_tc(p) && payload.len > 0) {
        memcpy(p->join.buffer, payload.data, payload.len);
        payload.data = p->join.buffer;
    }
    if (payload.data == p->join.buffer)
        p->slot = (p->slot + 1) % SLOTS;
    udp_arrive(p->port.io, &p->config.wire.remote, payload);
    return true;
}

static bool next_piece(struct frame_port *p, struct packet_piece *piece)
{
    return reads_tc(p) ? tc_extract_next(&p->tc_extract, piece)
                       : mpdu_extract_next(&p->extract, piece);
}

static void begin_turn(struct frame_port *p)
{
    p->left = FRAME_TURN_UNITS;
    p->ends = tick_add(world_now(p->port.world), FRAME_TURN_TIME);
}

/* May another unit be read in this turn? */
static bool spend_unit(struct frame_port *p)
{
    const unsigned every = frame_code_is_slow(&p->config.receive.code) ? 1 : CLOCK_UNITS;
    if (p->left % every == 0 && p->left < FRAME_TURN_UNITS && world_now(p->port.world) >= p->ends)
        p->left = 0;
    if (p->left == 0)
        return false;
    p->left--;
    return true;
}

/* Reads one unit, or the wire. False: there is nothing more; of frames that lie in the wire's
 * buffer, if datagrams of them were taken: then it is not read again. */
static bool read_unit(struct frame_port *p, bool taken)
{
    enum frame_verdict v;
    struct frame f;
    switch (frame_line_next(p->line, &p->user, &f, &v)) {
    case FRAME_LINE_FRAME:
        if (v == FRAME_OK_VERDICT || v == FRAME_IDLE_VERDICT)
            v = take_frame(p, &f);
        p->n.verdicts[v]++;
        return true;
    case FRAME_LINE_OTHER:
        return true;
    case FRAME_LINE_NONE:
    default:
        return !taken && frame_line_fill(p->line, &p->user);
    }
}

/* Reads the wire until there is something, nothing more, or the turn ends. What lies in the wire's
 * buffer holds until it is read again, which is when none of it is left. */
static void fetch_datagrams(void *context)
{
    struct frame_port *p = context;
    struct packet_piece piece;
    unsigned n = 0;
    if (!p->turning)
        begin_turn(p);
    frame_line_release(&p->user);
    for (;;) {
        while (n < ARRIVALS && next_piece(p, &piece))
            n += take_piece(p, &piece);
        p->user.holds = p->user.more = n == ARRIVALS;
        if (p->user.holds)
            break;
        if (!spend_unit(p)) {
            frame_line_pause(p->line, &p->user);
            break;
        }
        if (!read_unit(p, n > 0))
            break;
    }
    assert(n <= ARRIVALS && p->left <= FRAME_TURN_UNITS);
}

/* Asks its user to read as long as there is something that needs no further reading below, until
 * the turn ends. */
static void tell_user(struct frame_port *p, bool readable, bool writable)
{
    begin_turn(p);
    p->turning = true;
    if (readable || writable)
        p->port.ready(p->port.context, readable, writable);
    while (!p->closing && p->user.read && p->user.more && spend_unit(p))
        p->port.ready(p->port.context, true, false);
    p->turning = false;
    if (p->closing)
        return;
    if (p->user.read && p->user.more)
        alarm_set(&p->again, 0);
    frame_line_watch(p->line);
}

static void on_line(struct frame_line_user *u, bool readable, bool writable)
{
    struct frame_port *p = container_of(u, struct frame_port, user);
    tell_user(p, readable && u->read, writable && u->write);
}

static void on_state(struct frame_line_user *u)
{
    struct frame_port *p = container_of(u, struct frame_port, user);
    const struct frame_wire *w = p->line->wire;
    if (p->config.events != NULL && !p->closing)
        p->config.events->state(p->port.context, w->leaves, w->arrives);
}

static void on_say(struct frame_line_user *u, int level, const char *text)
{
    struct frame_port *p = container_of(u, struct frame_port, user);
    if (p->config.events != NULL && !p->closing)
        p->config.events->say(p->port.context, level, text);
}

static void free_port(struct frame_port *p)
{
    udp_close(p->port.io);
    free(p->frame);
    free(p->slots);
    free(p->segments);
    free(p);
}

static void end_port(void *context)
{
    struct frame_port *p = context;
    assert(p->closing);
    alarm_fini(&p->again);
    if (p->closed != NULL)
        p->closed(p->closed_context);
    free_port(p);
}

static void on_again(void *context)
{
    struct frame_port *p = context;
    if (p->closing)
        end_port(p);
    else
        tell_user(p, p->user.read && p->user.more, false);
}

/* ---- as a port ---- */

static void watch_port(struct port *port, bool read, bool write)
{
    struct frame_port *p = frame_port_of(port);
    assert(p->line != NULL);
    p->user.read = read;
    p->user.write = write;
    if (p->closing)
        return;
    if (read && p->user.more)
        alarm_set(&p->again, 0);
    frame_line_watch(p->line);
}

static void close_port(struct port *port, void (*closed)(void *context), void *context)
{
    struct frame_port *p = frame_port_of(port);
    assert(!p->closing);
    fill_frame(p); /* what was sent is sent */
    frame_wire_push(p->line->wire);
    p->closing = true;
    p->closed = closed;
    p->closed_context = context;
    alarm_fini(&p->fill);
    frame_line_leave(p->line, &p->user);
    if (!list_empty(&p->line->users)) {
        frame_line_want(p->line);
        frame_line_watch(p->line);
    }
    if (list_empty(&p->line->users)) {
        alarm_set(&p->again, TICK_NEVER);
        frame_line_close(p->line, end_port, p);
    } else {
        alarm_set(&p->again, 0);
    }
}

static const struct port_ops frame_port_ops = {.watch = watch_port, .close = close_port};

/* Frames that security makes longer are so much shorter without it. */
static void init_ways(struct frame_port *p)
{
    p->config.send.format.length -= frame_line_security(p->line, p->config.send.vcid);
    const struct frame_way *s = &p->config.send, *r = &p->config.receive;
    struct mpdu_pack_config mpdu = {
        .format = s->format, .scid = s->scid, .vcid = s->vcid, .map = s->map, .idle = PACKET_ENCAP};
    struct tc_pack_config tc = {.format = s->format,
                                .scid = s->scid,
                                .vcid = s->vcid,
                                .map = s->map,
                                .numbered = s->numbered};
    struct tc_extract_config read = {.numbered = r->numbered,
                                     .map = r->map,
                                     .buffer = p->segments,
                                     .room = (size_t)SLOT + PACKET_HEADER_MAX};
    if (sends_tc(p))
        tc_pack_init(&p->tc_pack, &tc);
    else
        mpdu_pack_init(&p->pack, &mpdu);
    if (reads_tc(p))
        tc_extract_init(&p->tc_extract, &read);
    else
        mpdu_extract_init(&p->extract, SLOT);
    p->join.room = SLOT;
}

static int alloc_port(struct frame_port **out, const struct frame_port_config *config)
{
    struct frame_port *p = calloc(1, sizeof *p);
    if (p == NULL)
        return HELIO_ENOMEM;
    struct udp_carrier carrier = {.send = send_datagram,
                                  .room = has_room,
                                  .done = end_batch,
                                  .fetch = fetch_datagrams,
                                  .context = p};
    p->config = *config;
    p->config.wire.record = p->config.wire.replay = NULL; /* borrowed */
    p->config.wire.sle = NULL;
    p->config.secure = (struct frame_secure_config){.why = NULL};
    p->frame = malloc(config->send.format.length);
    p->slots = malloc((size_t)SLOTS * SLOT);
    p->segments = malloc(reads_tc(p) ? (size_t)SLOT + PACKET_HEADER_MAX : 1);
    if (p->frame == NULL || p->slots == NULL || p->segments == NULL ||
        udp_open_carried(&p->port.io, &carrier, address_port(&config->wire.local)) != 0) {
        free_port(p);
        return HELIO_ENOMEM;
    }
    *out = p;
    return 0;
}

/* The line of a sibling, or a new one. */
static int open_line(struct world *w, struct frame_port *p, const struct frame_port_config *config,
                     const struct port *sibling)
{
    p->user.vcid = config->receive.vcid;
    p->user.ready = on_line;
    p->user.state = on_state;
    p->user.say = on_say;
    p->user.again = &p->again;
    if (sibling == NULL) {
        const struct frame_line_config line = {.wire = &config->wire,
                                               .send = &config->send,
                                               .receive = &config->receive,
                                               .secure = &config->secure,
                                               .idle = config->idle};
        int r = frame_line_open(w, &p->line, &line);
        bool joined = r == 0 && frame_line_join(p->line, &p->user);
        assert(joined || r != 0);
        (void)joined;
        return r;
    }
    p->line = frame_port_of(sibling)->line;
    if (!frame_line_suits(p->line, &config->send, &config->receive))
        return HELIO_EINVAL;
    return frame_line_join(p->line, &p->user) ? 0 : HELIO_EEXIST;
}

int frame_port_open(struct world *w, struct port **out, const struct frame_port_config *config,
                    const struct port *sibling,
                    void (*ready)(void *context, bool readable, bool writable), void *context)
{
    struct frame_port *p;
    assert(frame_way_problem(&config->send) == NULL && frame_way_problem(&config->receive) == NULL);
    int r = alloc_port(&p, config);
    if (r != 0)
        return r;
    r = open_line(w, p, config, sibling);
    if (r != 0) {
        free_port(p);
        return r;
    }
    init_ways(p);
    p->port.world = w;
    p->port.ops = &frame_port_ops;
    p->port.ready = ready;
    p->port.context = context;
    alarm_init(&p->fill, w, ALARM_LINK, on_fill, p);
    alarm_init(&p->again, w, ALARM_LINK, on_again, p);
    assert(!p->closing && p->port.io != NULL);
    *out = &p->port;
    return 0;
}

bool frame_port_able(const struct port *port, bool *arrives)
{
    const struct frame_wire *w = frame_port_of(port)->line->wire;
    *arrives = w->arrives;
    return w->leaves;
}

void frame_port_want(struct port *port, bool wants)
{
    struct frame_port *p = frame_port_of(port);
    if (p->closing || p->user.wants == wants)
        return;
    p->user.wants = wants;
    frame_line_want(p->line);
}

void frame_port_expect(struct port *port, bool more)
{
    struct frame_port *p = frame_port_of(port);
    bool ends = p->more && !more && p->open;
    p->more = more;
    if (ends)
        end_batch(p);
    assert(!ends || !p->open || p->closing || alarm_due(&p->fill) != TICK_NEVER);
}

struct frame_port_air frame_port_air(const struct port *port)
{
    return frame_port_of(port)->air;
}

int frame_port_renew(struct port *port, const struct frame_port_config *config, bool *changed,
                     char *why, size_t why_cap)
{
    const struct frame_port *p = frame_port_of(port);
    const struct frame_secure_use use = {.send = &config->send.format,
                                         .receive = &config->receive.format,
                                         .send_vcid = config->send.vcid,
                                         .receive_vcid = config->receive.vcid,
                                         .idle = config->idle > 0};
    assert(why_cap > 0 && p->line != NULL);
    *changed = false;
    if (p->closing || p->line->secure == NULL)
        return 0;
    return frame_secure_renew(p->line->secure, &config->secure, &use, changed, why, why_cap);
}

void frame_port_count(const struct port *port, struct frame_port_counters *out)
{
    const struct frame_port *p = frame_port_of(port);
    *out = p->n;
    out->sent = sends_tc(p) ? p->tc_pack.totals : p->pack.totals;
    out->received = reads_tc(p) ? p->tc_extract.counts : p->extract.counts;
    frame_line_count(p->line, &out->line, &out->wire);
    out->cadus = p->line->decode != NULL;
    if (p->line->secure != NULL)
        frame_secure_count(p->line->secure, &out->secure);
    for (unsigned v = 0; v < FRAME_VERDICT_COUNT; v++)
        out->verdicts[v] += out->line.verdicts[v];
}

struct udp_io *frame_port_socket(const struct port *port)
{
    const struct frame_wire *w = frame_port_of(port)->line->wire;
    return w->ops->socket(w);
}
