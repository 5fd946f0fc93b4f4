/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What frames leave and arrive by, as a table of operations: datagrams (UDP), a TCP connection,
 * recordings, services of Space Link Extension. Whoever uses one knows frames as octets; nobody
 * below knows what is in them. A frame here is what goes at once: a transfer frame, or a CLTU.
 *
 * As with ports (os/world.h) all of it happens in the world's thread, and `ready` never comes from
 * within a call. A new kind of wire is one file and one line of frame_wire.c.
 */
#ifndef CLA_FRAME_WIRE_H
#define CLA_FRAME_WIRE_H

#include "frames/frame_stream.h"
#include "os/address.h"
#include "os/world.h"

struct udp_io;

enum frame_wire_kind {
    FRAME_WIRE_UDP,     /* each frame a datagram */
    FRAME_WIRE_CONNECT, /* one behind the other on a TCP connection that is made to `remote` */
    FRAME_WIRE_LISTEN,  /* the same, from `remote`'s host to `local` */
    FRAME_WIRE_FILE,    /* what leaves is recorded, what arrives was recorded */
    FRAME_WIRE_SLE,     /* by RAF and FCLTU of the provider at `remote` */
};

struct frame_wire_config {
    enum frame_wire_kind kind;
    struct address local, remote;
    bool segments;               /* UDP: the kernel may cut long sends up */
    uint8_t dscp;                /* UDP */
    enum frame_stream_mode mode; /* how frames follow each other in what arrives, but by UDP */
    uint32_t length;             /* of these: octets, TC the longest */
    bool marked;                 /* a marker goes before each frame that leaves */
    const char *record, *replay; /* files; NULL or empty: none */
    /* SLE: service instance identifiers, either may be NULL or empty; authority identifiers, ours
     * and the provider's; its port identifier */
    const char *sle_raf, *sle_cltu, *sle_user, *sle_provider, *sle_port;
    uint8_t sle_version;  /* 2 to 5 */
    uint64_t replay_rate; /* bit/s of frames with their markers; 0: as fast as they are read */
};

#define FRAME_WIRE_COUNTS(X)                                                                       \
    X(out, "frames that were taken to leave")                                                      \
    X(in, "frames that arrived")                                                                   \
    X(foreign, "frames, or connections, from another host than the peer's")                        \
    X(skipped_bytes, "octets between frames that belonged to none")                                \
    X(connects, "connections that came about, services that were started")                         \
    X(refused, "CLTUs that the provider of FCLTU refused")                                         \
    X(record_lost, "frames that the recording's medium was too slow or too full for")

#define FRAME_WIRE_FIELD(name, text) uint64_t name;
struct frame_wire_counters {
    FRAME_WIRE_COUNTS(FRAME_WIRE_FIELD)
    bool connected; /* of TCP */
};
#undef FRAME_WIRE_FIELD

struct frame_wire;

struct frame_wire_ops {
    /* Takes a frame, whose octets are free afterwards. False: there is no room for it now, or
     * nobody to send it to; nothing is taken. */
    bool (*send)(struct frame_wire *w, struct slice frame);
    /* What was taken leaves. False: the rest is kept, and leaves by itself; until then nothing may
     * be sent; watch tells when. */
    bool (*flush)(struct frame_wire *w);
    bool (*pending)(const struct frame_wire *w); /* there is such a rest */
    /* Reads some frames; false: there were none. Then `next` gives them one by one; a slice holds
     * until the next fill, and while `read` is not watched. */
    bool (*fill)(struct frame_wire *w);
    bool (*next)(struct frame_wire *w, struct slice *frame);
    void (*watch)(struct frame_wire *w, bool read, bool write);
    void (*count)(const struct frame_wire *w, struct frame_wire_counters *out);
    /* Whose buffers and counters can be asked; NULL: it has none. */
    struct udp_io *(*socket)(const struct frame_wire *w);
    /* Ends it; what was taken leaves if it can. `closed` comes later than this call. */
    void (*close)(struct frame_wire *w, void (*closed)(void *context), void *context);
};

struct frame_wire {
    const struct frame_wire_ops *ops;
    struct world *world;
    /* There may be something to read; what was kept has left. Both may be said in vain. */
    void (*ready)(void *context, bool readable, bool writable);
    void *context;
};

/* 0 or HELIO_E*; `config`'s texts are borrowed for the call. */
int frame_wire_open(struct world *world, struct frame_wire **out,
                    const struct frame_wire_config *config,
                    void (*ready)(void *context, bool readable, bool writable), void *context);

/* The kinds. */
int frame_wire_udp(struct world *w, struct frame_wire **out, const struct frame_wire_config *c);
int frame_wire_tcp(struct world *w, struct frame_wire **out, const struct frame_wire_config *c);
int frame_wire_file(struct world *w, struct frame_wire **out, const struct frame_wire_config *c);
int frame_wire_sle(struct world *w, struct frame_wire **out, const struct frame_wire_config *c);

/* Are these the same host, whatever their ports? */
bool frame_wire_same_host(const struct address *a, const struct address *b);

/* Room for the frames of a stream that arrive: octets for frame_stream_init. */
size_t frame_wire_stream_room(const struct frame_wire_config *c);

/* What was taken leaves, now or when the wire has room again. */
static inline void frame_wire_push(struct frame_wire *w)
{
    if (!w->ops->pending(w))
        (void)w->ops->flush(w);
}

/* May a frame be sent? */
static inline bool frame_wire_room(struct frame_wire *w)
{
    return !w->ops->pending(w) || w->ops->flush(w);
}

#endif
