/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What its user adds to the batch is packed when that is flushed, and full frames go into the batch
 * of the port below. What its user reads is what whole packets are in the frames that were read
 * there; payloads stay in that port's buffer, but for packets that came in several frames. What can
 * go wrong: the address cannot be bound, memory, at the beginning; later on frames with errors,
 * gaps, and a socket that is full, which the user is told like that of any port.
 */
#include "cla/frame_port.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"

enum { ARRIVALS = 32, SLOTS = ARRIVALS + 1, SLOT = UDP_DATAGRAM_MAX };
#define READ_BYTES (256 * 1024)

struct frame_port {
    struct port port; /* its user's */
    struct port *below;
    struct frame_port_config config;
    struct udp_peer remote;
    /* sending */
    struct mpdu_pack pack;
    uint8_t *frame;
    struct slice slice;
    bool open; /* a frame is begun */
    struct alarm fill;
    uint64_t waiting; /* the count of the frame that it is set for */
    /* receiving */
    struct mpdu_extract extract;
    struct packet_join join;
    uint8_t *slots; /* whole packets that came in pieces: one for each arrival, one for the next */
    unsigned slot;
    struct alarm again;
    bool more;        /* frames that were read are not used up */
    bool read, write; /* what its user watches for */
    bool closing;
    void (*closed)(void *context);
    void *closed_context;
    struct frame_port_counters n;
};

static struct frame_port *frame_port_of(const struct port *p)
{
    return container_of((struct port *)(uintptr_t)p, struct frame_port, port);
}

static void watch_below(struct frame_port *p)
{
    assert(!p->closing);
    port_watch(p->below, p->read, p->write || udp_pending(p->below->io));
}

/* ---- sending ---- */

static void radiate_frame(struct frame_port *p, struct slice frame)
{
    struct udp_io *io = p->below->io;
    uint32_t len = (uint32_t)frame.len;
    assert(frame.len == p->config.pack.format.length);
    if (!udp_room(io, len) && !udp_flush(io)) {
        p->n.frames_dropped++;
        return;
    }
    memcpy(udp_head(io, len), frame.data, len);
    udp_add(io, &p->remote, len, slice_of(NULL, 0));
}

static void close_frame(struct frame_port *p)
{
    struct mpdu_extra extra = {.master_count = (uint8_t)(p->pack.count & 0xff)};
    struct mpdu_frame out;
    assert(p->open);
    mpdu_pack_close(&p->pack, &extra, &out);
    p->open = false;
    radiate_frame(p, out.slices[0]);
}

static void open_frame(struct frame_port *p)
{
    if (!p->open)
        mpdu_pack_open(&p->pack, p->frame, &p->slice);
    p->open = true;
}

static bool send_datagram(void *context, const struct address *to, struct slice head,
                          struct slice data)
{
    struct frame_port *p = context;
    uint8_t header[PACKET_HEADER_MAX];
    struct slice parts[2] = {head, data};
    if (!address_equal(to, &p->remote.address))
        return false;
    size_t n = packet_write_encap(p->config.protocol, head.len + data.len, header);
    open_frame(p);
    mpdu_pack_put(&p->pack, header, n, parts, 2);
    while (p->open && mpdu_pack_full(&p->pack)) {
        close_frame(p);
        if (mpdu_pack_pending(&p->pack))
            open_frame(p);
    }
    assert(!mpdu_pack_pending(&p->pack)); /* the datagram's memory is free now */
    return true;
}

static bool has_room(void *context)
{
    struct frame_port *p = context;
    return !udp_pending(p->below->io) || udp_flush(p->below->io);
}

/* What is begun leaves; when the socket is full, later. */
static void fill_frame(struct frame_port *p)
{
    if (!p->open)
        return;
    if (!has_room(p)) {
        alarm_set(&p->fill, tick_add(world_now(p->port.world), TICK_MS));
        return;
    }
    mpdu_pack_fill(&p->pack);
    close_frame(p);
    alarm_set(&p->fill, TICK_NEVER);
    assert(!p->open && !mpdu_pack_pending(&p->pack));
}

/* Each frame from when it was begun; one that is full waits for nothing. */
static void let_wait(struct frame_port *p)
{
    bool set = alarm_due(&p->fill) != TICK_NEVER;
    if (!p->open && set)
        alarm_set(&p->fill, TICK_NEVER);
    if (!p->open || (set && p->waiting == p->pack.count))
        return;
    p->waiting = p->pack.count;
    alarm_set(&p->fill, tick_add(world_now(p->port.world), p->config.fill));
}

static void end_batch(void *context)
{
    struct frame_port *p = context;
    if (p->closing)
        return;
    if (p->open && p->config.fill == 0)
        fill_frame(p);
    else
        let_wait(p);
    if (!udp_pending(p->below->io))
        (void)udp_flush(p->below->io);
    watch_below(p);
}

static void on_fill(void *context)
{
    struct frame_port *p = context;
    fill_frame(p);
    end_batch(p);
}

/* ---- receiving ---- */

static enum frame_verdict judge_frame(struct frame_port *p, struct slice datagram)
{
    const struct mpdu_pack_config *c = &p->config.pack;
    struct frame f;
    enum frame_verdict v = frame_parse(&c->format, datagram.data, datagram.len, &f);
    if (v != FRAME_OK_VERDICT && v != FRAME_IDLE_VERDICT)
        return v;
    if (f.scid != c->scid)
        return FRAME_SPACECRAFT_VERDICT;
    if (f.vcid != c->vcid) /* only idle data has a channel of its own */
        return v == FRAME_IDLE_VERDICT ? v : FRAME_CHANNEL_VERDICT;
    return mpdu_extract_input(&p->extract, &f);
}

/* Whether it makes a datagram whole. */
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
    if (payload.data == p->join.buffer)
        p->slot = (p->slot + 1) % SLOTS;
    udp_arrive(p->port.io, udp_from(p->below->io), payload);
    return true;
}

/* Reads below until there is something, or nothing more. Slices of that port's buffer hold until it
 * is read again, which is when none of them is left. */
static void fetch_datagrams(void *context)
{
    struct frame_port *p = context;
    struct packet_piece piece;
    struct slice datagram;
    unsigned n = 0;
    for (;;) {
        while (n < ARRIVALS && mpdu_extract_next(&p->extract, &piece))
            n += take_piece(p, &piece);
        p->more = n == ARRIVALS;
        if (p->more)
            break;
        if (udp_next(p->below->io, &datagram))
            p->n.verdicts[judge_frame(p, datagram)]++;
        else if (n > 0 || !udp_fill(p->below->io, READ_BYTES))
            break;
    }
    assert(n <= ARRIVALS);
}

/* Asks its user to read as long as there is something that needs no further datagram below. */
static void tell_user(struct frame_port *p, bool readable, bool writable)
{
    if (readable || writable)
        p->port.ready(p->port.context, readable, writable);
    while (!p->closing && p->read && p->more)
        p->port.ready(p->port.context, true, false);
    if (!p->closing)
        watch_below(p);
}

static void on_below(void *context, bool readable, bool writable)
{
    struct frame_port *p = context;
    if (p->closing)
        return;
    if (writable && udp_pending(p->below->io))
        (void)udp_flush(p->below->io);
    tell_user(p, readable && p->read, writable && p->write && !udp_pending(p->below->io));
}

static void on_again(void *context)
{
    struct frame_port *p = context;
    tell_user(p, p->read && p->more, false);
}

/* ---- as a port ---- */

static void watch_port(struct port *port, bool read, bool write)
{
    struct frame_port *p = frame_port_of(port);
    p->read = read;
    p->write = write;
    if (p->closing)
        return;
    if (read && p->more)
        alarm_set(&p->again, 0);
    watch_below(p);
}

static void free_port(struct frame_port *p)
{
    udp_close(p->port.io);
    free(p->frame);
    free(p->slots);
    free(p);
}

static void on_closed(void *context)
{
    struct frame_port *p = context;
    assert(p->closing);
    if (p->closed != NULL)
        p->closed(p->closed_context);
    free_port(p);
}

static void close_port(struct port *port, void (*closed)(void *context), void *context)
{
    struct frame_port *p = frame_port_of(port);
    assert(!p->closing);
    fill_frame(p); /* what was sent is sent */
    if (!udp_pending(p->below->io))
        (void)udp_flush(p->below->io);
    p->closing = true;
    p->closed = closed;
    p->closed_context = context;
    alarm_fini(&p->fill);
    alarm_fini(&p->again);
    port_close(p->below, on_closed, p);
}

static const struct port_ops frame_port_ops = {.watch = watch_port, .close = close_port};

static int alloc_port(struct frame_port **out, const struct frame_port_config *config,
                      uint16_t number)
{
    struct frame_port *p = calloc(1, sizeof *p);
    if (p == NULL)
        return HELIO_ENOMEM;
    struct udp_carrier carrier = {.send = send_datagram,
                                  .room = has_room,
                                  .done = end_batch,
                                  .fetch = fetch_datagrams,
                                  .context = p};
    p->frame = malloc(config->pack.format.length);
    p->slots = malloc((size_t)SLOTS * SLOT);
    if (p->frame == NULL || p->slots == NULL ||
        udp_open_carried(&p->port.io, &carrier, number) != 0) {
        free_port(p);
        return HELIO_ENOMEM;
    }
    p->config = *config;
    p->remote = (struct udp_peer){.address = config->remote, .dscp = config->dscp};
    mpdu_pack_init(&p->pack, &config->pack);
    mpdu_extract_init(&p->extract, SLOT);
    p->join.room = SLOT;
    *out = p;
    return 0;
}

int frame_port_open(struct world *w, struct port **out, const struct address *local, bool segments,
                    const struct frame_port_config *config,
                    void (*ready)(void *context, bool readable, bool writable), void *context)
{
    struct frame_port *p;
    assert(mpdu_pack_problem(&config->pack) == NULL && config->pack.gather_min == 0);
    assert(config->pack.format.length <= UDP_DATAGRAM_MAX);
    int r = alloc_port(&p, config, address_port(local));
    if (r != 0)
        return r;
    r = port_open(w, &p->below, local, segments, on_below, p);
    if (r != 0) {
        free_port(p);
        return r;
    }
    p->port.world = w;
    p->port.ops = &frame_port_ops;
    p->port.ready = ready;
    p->port.context = context;
    alarm_init(&p->fill, w, ALARM_LINK, on_fill, p);
    alarm_init(&p->again, w, ALARM_LINK, on_again, p);
    *out = &p->port;
    return 0;
}

void frame_port_count(const struct port *port, struct frame_port_counters *out)
{
    const struct frame_port *p = frame_port_of(port);
    *out = p->n;
    out->sent = p->pack.totals;
    out->received = p->extract.counts;
}

struct udp_io *frame_port_socket(const struct port *port)
{
    return frame_port_of(port)->below->io;
}
