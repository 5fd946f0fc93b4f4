/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames by Space Link Extension: a user of RAF whose frames arrive, a user of FCLTU by which CLTUs
 * leave, each bound on a TCP connection of its own to the provider's address. A service that ends
 * is bound again a second later. Frames stay in the engine's buffers until they are read, and while
 * nobody reads, the provider is not read either. What can go wrong: an instance that the engine
 * does not take, memory, at the beginning; later on BINDs that are refused and connections that
 * end, during which CLTUs are lost; CLTUs that the provider refuses, counted.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cla/frame_wire.h"
#include "sle/user.h"

#define RETRY TICK_S
#define OWNERS_MAX 64 /* buffers of frames that are in use at once */

struct sle_wire;

/* One of the two: its instance and its connection. */
struct service {
    struct sle_wire *wire;
    struct sle_instance *instance; /* NULL: not used */
    struct stream *stream;         /* NULL: none; nor a link */
    struct sle_link *link;
    struct alarm alarm; /* of the link, or to connect */
    bool full, urgent, over, active;
    uint8_t dropped[512]; /* where what nobody reads goes */
};

struct sle_wire {
    struct frame_wire wire;
    struct address remote;
    struct sle *engine;
    struct service raf, cltu;
    bool read, write, blocked; /* blocked: the window of CLTUs is closed */
    bool telling;              /* what is read from here needs no further wake-up */
    bool held;                 /* a frame that was polled and not read yet: */
    struct slice frame;
    struct buf *owner;
    struct buf *owners[OWNERS_MAX]; /* of frames that were read since the last fill */
    size_t owners_len;
    struct frame_wire_counters n;
    struct alarm end;
    void (*closed)(void *context);
    void *closed_context;
};

static struct sle_wire *sle_wire_of(const struct frame_wire *w)
{
    return container_of((struct frame_wire *)(uintptr_t)w, struct sle_wire, wire);
}

static tick now_of(const struct sle_wire *w)
{
    return world_now(w->wire.world);
}

/* ---- one service ---- */

static void end_service(struct service *s, bool reset)
{
    struct sle_wire *w = s->wire;
    if (s->stream != NULL && reset)
        stream_reset(s->stream);
    else if (s->stream != NULL)
        stream_close(s->stream);
    if (s == &w->raf)
        w->held = false; /* it lay in the link */
    if (s == &w->cltu)
        w->blocked = false;
    if (s->link != NULL)
        sle_link_free(s->link);
    s->stream = NULL;
    s->link = NULL;
    s->full = s->urgent = s->over = s->active = false;
}

static void begin_operation(struct service *s)
{
    struct sle_start start = {.quality = SLE_GOOD_ONLY};
    if (sle_user_start(s->instance, &start, now_of(s->wire)) != 0)
        sle_link_abort(s->link, SLE_ABORT_OTHER, now_of(s->wire));
}

static void take_notice(struct service *s, const struct sle_notice *n)
{
    struct sle_wire *w = s->wire;
    switch (n->kind) {
    case SLE_BOUND:
        begin_operation(s);
        break;
    case SLE_STARTED:
        s->active = n->diag == SLE_OK;
        w->n.connects += s->active;
        if (!s->active)
            (void)sle_user_unbind(s->instance, SLE_UNBIND_END, now_of(w));
        break;
    case SLE_FRAME:
        w->held = true;
        w->frame = n->u.item.data;
        w->owner = n->owner;
        break;
    case SLE_CLTU_ANSWER:
        w->n.refused += n->diag != SLE_OK;
        w->blocked = false;
        break;
    case SLE_NOTIFIED:
        w->blocked = false;
        break;
    case SLE_OVER:
        s->over = true;
        break;
    default:
        break;
    }
}

/* Up to a frame, which waits to be read. True: there were some. */
static bool poll_notices(struct service *s)
{
    struct sle_wire *w = s->wire;
    struct sle_notice n;
    bool any = false;
    while (!(s == &w->raf && w->held) && sle_link_poll(s->link, &n, now_of(w))) {
        take_notice(s, &n);
        any = true;
    }
    return any;
}

static bool write_output(struct service *s)
{
    struct slice parts[STREAM_PARTS_MAX];
    size_t want = 0;
    if (s->full || s->urgent)
        return false;
    size_t n = sle_link_output(s->link, parts, STREAM_PARTS_MAX, now_of(s->wire));
    for (size_t i = 0; i < n; i++)
        want += parts[i].len;
    if (n == 0)
        return false;
    size_t got = stream_write(s->stream, parts, n);
    s->full = got < want;
    sle_link_wrote(s->link, got, now_of(s->wire));
    return got > 0;
}

static void retry_later(struct service *s)
{
    alarm_set(&s->alarm, tick_add(now_of(s->wire), RETRY));
}

/* Brings the stream to what the link wants. */
static void settle_service(struct service *s)
{
    enum sle_stream want = sle_link_stream(s->link);
    if (want == SLE_STREAM_ABORT && !s->urgent && !s->over) {
        s->urgent = true;
        if (stream_urgent(s->stream, sle_link_abort_octet(s->link)) != 0)
            want = SLE_STREAM_RESET;
    }
    bool reset = want == SLE_STREAM_RESET;
    if (reset || want == SLE_STREAM_CLOSE || (s->over && want != SLE_STREAM_ABORT)) {
        end_service(s, reset);
        retry_later(s);
        return;
    }
    stream_read(s->stream, s->urgent || sle_link_reads(s->link));
    alarm_set(&s->alarm, sle_link_deadline(s->link));
}

static void tell_ready(struct sle_wire *w, bool readable, bool writable)
{
    w->telling = true;
    w->wire.ready(w->wire.context, readable, writable);
    w->telling = false;
}

/* What the link has to tell and to write; frames are read meanwhile by whoever watches. */
static void pump_service(struct service *s)
{
    struct sle_wire *w = s->wire;
    bool was_blocked = w->blocked;
    assert(s->stream != NULL && s->link != NULL);
    for (bool more = true; more;) {
        more = poll_notices(s);
        more = write_output(s) || more;
        if (s != &w->raf || !w->held || !w->read)
            continue;
        tell_ready(w, true, false);
        if (w->closed != NULL)
            return;
        more = !w->held;
    }
    settle_service(s);
    if (s == &w->raf && w->held && w->read) /* not all was read: again, soon */
        alarm_set(&s->alarm, 0);
    if (was_blocked && !w->blocked && w->write)
        tell_ready(w, false, true);
}

static uint8_t *give_space(void *context, size_t *len)
{
    struct service *s = context;
    *len = sizeof s->dropped;
    return s->urgent || !sle_link_reads(s->link) ? s->dropped : sle_link_space(s->link, len);
}

static void take_octets(void *context, size_t len)
{
    struct service *s = context;
    if (s->urgent)
        return;
    sle_link_fed(s->link, len, now_of(s->wire));
    pump_service(s);
}

static void take_room(void *context)
{
    struct service *s = context;
    s->full = false;
    pump_service(s);
}

static void take_end(void *context, int error)
{
    struct service *s = context;
    (void)error;
    sle_link_closed(s->link, now_of(s->wire));
    end_service(s, false);
    retry_later(s);
    if (s->wire->write)
        tell_ready(s->wire, false, true);
}

static void take_urgent(void *context, uint8_t octet)
{
    struct service *s = context;
    sle_link_urgent(s->link, octet, now_of(s->wire));
    pump_service(s);
}

static const struct stream_user service_user = {
    .space = give_space, .fed = take_octets, .writable = take_room, .ended = take_end};

static void connect_service(struct service *s)
{
    struct sle_wire *w = s->wire;
    struct stream_place to = {.address = &w->remote};
    if (stream_connect(w->wire.world, &s->stream, &to, &service_user, s) != 0) {
        s->stream = NULL;
        retry_later(s);
        return;
    }
    s->link = sle_connect(s->instance, now_of(w));
    if (s->link == NULL) {
        end_service(s, true);
        retry_later(s);
        return;
    }
    stream_on_urgent(s->stream, take_urgent);
    pump_service(s);
}

static void on_alarm(void *context)
{
    struct service *s = context;
    if (s->stream == NULL) {
        connect_service(s);
        return;
    }
    if (sle_link_deadline(s->link) <= now_of(s->wire))
        sle_link_expire(s->link, now_of(s->wire));
    pump_service(s);
}

/* ---- as a wire ---- */

static bool send_frame(struct frame_wire *wire, struct slice frame)
{
    struct sle_wire *w = sle_wire_of(wire);
    struct sle_cltu cltu = {.data = frame};
    if (!w->cltu.active)
        return false;
    int r = sle_user_cltu(w->cltu.instance, &cltu, NULL, now_of(w));
    w->blocked = r == HELIO_EAGAIN;
    w->n.out += r == 0;
    return r == 0;
}

static bool flush_frames(struct frame_wire *wire)
{
    struct sle_wire *w = sle_wire_of(wire);
    if (w->cltu.active)
        (void)write_output(&w->cltu);
    return !w->blocked;
}

static bool is_pending(const struct frame_wire *wire)
{
    return sle_wire_of(wire)->blocked;
}

static void drop_owners(struct sle_wire *w)
{
    while (w->owners_len > 0)
        buf_drop(w->owners[--w->owners_len]);
}

static bool fill_frames(struct frame_wire *wire)
{
    struct sle_wire *w = sle_wire_of(wire);
    drop_owners(w);
    if (w->raf.link == NULL)
        return false;
    (void)poll_notices(&w->raf);
    if (!w->telling) /* the connection may be read on */
        alarm_set(&w->raf.alarm, 0);
    return w->held;
}

/* What lies in a buffer stays with it, also when the link is asked for the next one. */
static bool next_frame(struct frame_wire *wire, struct slice *frame)
{
    struct sle_wire *w = sle_wire_of(wire);
    if (!w->held || w->owners_len == OWNERS_MAX)
        return false;
    *frame = w->frame;
    if (w->owners_len == 0 || w->owners[w->owners_len - 1] != w->owner)
        w->owners[w->owners_len++] = buf_keep(w->owner);
    w->held = false;
    w->n.in++;
    (void)poll_notices(&w->raf);
    return true;
}

static void watch_wire(struct frame_wire *wire, bool read, bool write)
{
    struct sle_wire *w = sle_wire_of(wire);
    w->read = read;
    w->write = write;
    if (read && w->held && !w->telling)
        alarm_set(&w->raf.alarm, 0);
}

static void count_wire(const struct frame_wire *wire, struct frame_wire_counters *out)
{
    const struct sle_wire *w = sle_wire_of(wire);
    *out = w->n;
    out->connected =
        (w->raf.instance == NULL || w->raf.active) && (w->cltu.instance == NULL || w->cltu.active);
}

static struct udp_io *socket_of(const struct frame_wire *wire)
{
    (void)wire;
    return NULL;
}

static void free_wire(struct sle_wire *w)
{
    drop_owners(w);
    if (w->engine != NULL)
        sle_free(w->engine);
    free(w);
}

static void on_end(void *context)
{
    struct sle_wire *w = context;
    alarm_fini(&w->end);
    w->closed(w->closed_context);
    free_wire(w);
}

static void close_wire(struct frame_wire *wire, void (*closed)(void *context), void *context)
{
    struct sle_wire *w = sle_wire_of(wire);
    assert(w->closed == NULL && closed != NULL);
    (void)flush_frames(wire);
    w->closed = closed;
    w->closed_context = context;
    alarm_fini(&w->raf.alarm);
    alarm_fini(&w->cltu.alarm);
    end_service(&w->raf, false);
    end_service(&w->cltu, false);
    alarm_set(&w->end, 0);
}

static const struct frame_wire_ops sle_wire_ops = {.send = send_frame,
                                                   .flush = flush_frames,
                                                   .pending = is_pending,
                                                   .fill = fill_frames,
                                                   .next = next_frame,
                                                   .watch = watch_wire,
                                                   .count = count_wire,
                                                   .socket = socket_of,
                                                   .close = close_wire};

static void set_identity(struct sle_identity *who, const char *id)
{
    size_t len = strnlen(id, SLE_AUTHORITY_MAX);
    memcpy(who->id, id, len);
    who->id[len] = '\0';
}

static int open_engine(struct sle_wire *w, const struct frame_wire_config *c)
{
    struct world *world = w->wire.world;
    uint64_t wall = world_wall(world), now = world_now(world);
    struct sle_config config = {.seed = world_random(world),
                                .unix_ns = wall > now ? wall - now : 0};
    struct sle_peer peer = {.level = SLE_AUTH_NONE};
    set_identity(&config.self, c->sle_user);
    set_identity(&peer.who, c->sle_provider);
    w->engine = sle_new(&config);
    return w->engine == NULL ? HELIO_ENOMEM : sle_peer_set(w->engine, &peer);
}

static int add_service(struct service *s, struct sle_wire *w, const struct frame_wire_config *c,
                       const char *id)
{
    struct sle_user_config user = {.id = id,
                                   .responder = c->sle_provider,
                                   .responder_port = c->sle_port,
                                   .version = c->sle_version};
    s->wire = w;
    return id == NULL || *id == '\0' ? 0 : sle_user_add(w->engine, &user, &s->instance);
}

int frame_wire_sle(struct world *world, struct frame_wire **out, const struct frame_wire_config *c)
{
    struct sle_wire *w = calloc(1, sizeof *w);
    if (w == NULL)
        return HELIO_ENOMEM;
    w->wire = (struct frame_wire){.ops = &sle_wire_ops, .world = world};
    w->remote = c->remote;
    int r = open_engine(w, c);
    if (r == 0)
        r = add_service(&w->raf, w, c, c->sle_raf);
    if (r == 0)
        r = add_service(&w->cltu, w, c, c->sle_cltu);
    if (r != 0) {
        free_wire(w);
        return r;
    }
    alarm_init(&w->end, world, ALARM_LINK, on_end, w);
    alarm_init(&w->raf.alarm, world, ALARM_LINK, on_alarm, &w->raf);
    alarm_init(&w->cltu.alarm, world, ALARM_LINK, on_alarm, &w->cltu);
    alarm_set(&w->raf.alarm, w->raf.instance != NULL ? 0 : TICK_NEVER);
    alarm_set(&w->cltu.alarm, w->cltu.instance != NULL ? 0 : TICK_NEVER);
    *out = &w->wire;
    return 0;
}
