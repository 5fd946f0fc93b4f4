/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transport of frames, as a table of functions: datagrams (UDP), a TCP connection, recordings,
 * Space Link Extension services. A user passes frames as octets; a wire does not interpret them.
 *
 * A frame here is one unit: a transfer frame, a CLTU, or a CADU. For received CADUs a wire returns
 * octets in any pieces (FRAME_STREAM_OCTETS). As with ports (os/world.h) everything happens in the
 * world's thread, and `ready` and `state` are never called within a call. A new kind of wire is one
 * file and one line of frame_wire.c.
 */
#ifndef CLA_FRAME_WIRE_H
#define CLA_FRAME_WIRE_H

#include "frames/frame_stream.h"
#include "os/net/address.h"
#include "os/world.h"
#include "sle/auth.h"

struct udp_io;

enum frame_wire_kind {
    FRAME_WIRE_UDP,     /* each frame a datagram */
    FRAME_WIRE_CONNECT, /* one behind the other on a TCP connection that is made to `remote` */
    FRAME_WIRE_LISTEN,  /* the same, from `remote`'s host to `local` */
    FRAME_WIRE_FILE,    /* what leaves is recorded, what arrives was recorded */
    FRAME_WIRE_SLE,     /* by RAF and FCLTU of the provider at `remote` */
};

/* By Space Link Extension. */
struct frame_wire_sle {
    const char *raf, *rcf, *cltu;     /* service instances; NULL or empty: none. raf, or rcf */
    struct sle_gvcid channel;         /* of RCF */
    struct sle_identity us, provider; /* with their passwords */
    const char *port;                 /* the provider's port identifier */
    enum sle_auth_level level;
    enum sle_hash hash;
    uint8_t version;       /* 2 to 5 */
    tick retry, retry_max; /* it is bound again after so long, then ever later */
};

/* A text of the configuration that is there and not empty. */
static inline bool frame_wire_given(const char *text)
{
    return text != NULL && *text != '\0';
}

struct frame_wire_config {
    enum frame_wire_kind kind;
    struct address local, remote;
    enum address_check source;        /* UDP: where frames may come from; 0: from remote's host */
    bool segments;                    /* UDP: the kernel may cut long sends up */
    uint8_t dscp;                     /* UDP */
    enum frame_stream_mode mode;      /* how frames follow each other in what arrives, but by UDP */
    uint32_t length;                  /* of these: octets, TC the longest; of a CADU */
    bool marked;                      /* each sent frame is preceded by a marker */
    const char *record, *replay;      /* files; NULL or empty: none */
    const struct frame_wire_sle *sle; /* of FRAME_WIRE_SLE: borrowed for the call */
    uint64_t replay_rate; /* bit/s of frames with their markers; 0: as fast as they are read */
};

#define FRAME_WIRE_COUNTS(X)                                                                       \
    X(out, "frames that were taken to leave")                                                      \
    X(in, "frames that arrived")                                                                   \
    X(foreign, "frames, or connections, from another address than the peer's")                     \
    X(skipped_bytes, "octets between frames that belonged to none")                                \
    X(connects, "connections made, services started")                                              \
    X(refused, "CLTUs that the provider of FCLTU refused")                                         \
    X(binds_refused, "BINDs that the provider refused")                                            \
    X(starts_refused, "STARTs that the provider refused")                                          \
    X(peer_aborts, "associations that the provider aborted")                                       \
    X(credentials_wrong, "PDUs of the provider whose credentials were wrong")                      \
    X(broken, "connections to the provider that did not come about, or ended without UNBIND")      \
    X(record_lost, "frames that the recording's medium was too slow or too full for")

#define FRAME_WIRE_FIELD(name, text) uint64_t name;
struct frame_wire_counters {
    FRAME_WIRE_COUNTS(FRAME_WIRE_FIELD)
    bool connected; /* of TCP and SLE: frames can leave and come */
};
#undef FRAME_WIRE_FIELD

struct frame_wire;

struct frame_wire_ops {
    /* Accepts a frame; its octets may be reused afterwards. False: no room now, or no connection;
     * nothing is accepted. */
    bool (*send)(struct frame_wire *w, struct slice frame);
    /* Sends accepted frames. False: the rest is kept and will be sent by itself; until then nothing
     * may be sent; watch reports when. */
    bool (*flush)(struct frame_wire *w);
    bool (*pending)(const struct frame_wire *w); /* there is such a rest */
    /* Reads some frames; false: there were none. Then `next` gives them one by one; a slice holds
     * until the next fill, and while `read` is not watched. */
    bool (*fill)(struct frame_wire *w);
    bool (*next)(struct frame_wire *w, struct slice *frame);
    void (*watch)(struct frame_wire *w, bool read, bool write);
    void (*count)(const struct frame_wire *w, struct frame_wire_counters *out);
    /* The socket, for its buffers and counters; NULL: it has none. */
    struct udp_io *(*socket)(const struct frame_wire *w);
    /* Whether it is wanted for the time being (it is, at first): what it has opened at a provider
     * it ends in order, and opens again. NULL: it makes no difference. */
    void (*want)(struct frame_wire *w, bool wanted);
    /* Ends the wire; accepted frames are sent if possible. `closed` is called after this call. */
    void (*close)(struct frame_wire *w, void (*closed)(void *context), void *context);
};

/* The user's functions; all three are required. */
struct frame_wire_user {
    /* There may be something to read; what was kept has left. Both may be said in vain. */
    void (*ready)(void *context, bool readable, bool writable);
    /* wire.leaves or wire.arrives are others now. */
    void (*state)(void *context);
    /* A line for the operator's log, as cla_events.say; may come from within a call. */
    void (*say)(void *context, int level, const char *text);
};

struct frame_wire {
    const struct frame_wire_ops *ops;
    struct world *world;
    const struct frame_wire_user *user;
    void *context;
    /* Frames can be sent and received, to the wire's knowledge; true if it has none. */
    bool leaves, arrives;
    /* number of ended streams: later octets belong to a new stream, from its start */
    uint64_t streams;
};

/* 0 or HELIO_E*; `config`'s texts are borrowed for the call, `user` outlives the wire. */
int frame_wire_open(struct world *world, struct frame_wire **out,
                    const struct frame_wire_config *config, const struct frame_wire_user *user,
                    void *context);

/* The kinds. */
int frame_wire_udp(struct world *w, struct frame_wire **out, const struct frame_wire_config *c);
int frame_wire_tcp(struct world *w, struct frame_wire **out, const struct frame_wire_config *c);
int frame_wire_file(struct world *w, struct frame_wire **out, const struct frame_wire_config *c);
int frame_wire_sle(struct world *w, struct frame_wire **out, const struct frame_wire_config *c);

/* Memory for the frames of a received stream, in octets, for frame_stream_init. */
size_t frame_wire_stream_room(const struct frame_wire_config *c);

/* Sends accepted frames, now or when the wire has room again. */
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
