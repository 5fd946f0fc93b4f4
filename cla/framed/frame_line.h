/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A physical channel, one per direction: its wire, the format of its frames, and the frame ports,
 * each with a virtual channel. Frames of virtual channels without a port are counted. Only
 * frame_port.c uses this.
 */
#ifndef CLA_FRAME_LINE_H
#define CLA_FRAME_LINE_H

#include "base/list.h"
#include "cla/framed/frame_code.h"
#include "cla/framed/frame_queue.h"
#include "cla/framed/frame_secure.h"
#include "cla/framed/frame_wire.h"
#include "frames/cltu.h"
#include "frames/frame.h"

/* Format and identifiers of the frames of one direction. */
struct frame_way {
    struct frame_format format;
    bool cltu, randomise;          /* TC: each in a CLTU; randomised */
    bool numbered;                 /* TC: frames are counted (frames/tc_pack.h) */
    struct frame_code_config code; /* TM, AOS, USLP */
    uint16_t scid;
    uint8_t vcid, map;
};

#define FRAME_LINE_COUNTS(X)                                                                       \
    X(dropped, "frames for which the wire had no room, or nobody to send them to")                 \
    X(idle_sent, "frames of only idle data that were sent")                                        \
    X(cltu_bad, "arrivals in which no CLTU was found whole")                                       \
    X(corrected, "codeblocks of CLTUs in which an error was corrected")                            \
    X(misfits, "arrivals that only other keys of the peer explain")                                \
    X(unread, "frames that waited for a port for too long: its queue was full")                    \
    X(cadu_good, "CADUs all of whose codewords were decoded")                                      \
    X(cadu_corrected, "symbols of CADUs that Reed-Solomon corrected, or bits that LDPC did")       \
    X(cadu_erred, "CADUs that could not be decoded: their frames are lost")                        \
    X(cadu_codewords_failed, "codewords of these that could not be decoded")                       \
    X(cadu_iterations, "rounds of the LDPC decoder")                                               \
    X(cadu_sync_losses, "times that the markers of CADUs were not where they were due")            \
    X(cadu_symbols_wrong, "wrong symbols of the convolutional code, as its decoder sees it")

#define FRAME_LINE_FIELD(name, text) uint64_t name;
struct frame_line_counters {
    FRAME_LINE_COUNTS(FRAME_LINE_FIELD)
    uint64_t verdicts[FRAME_VERDICT_COUNT]; /* of frames that are no port's */
};
#undef FRAME_LINE_FIELD

/* A virtual channel of it; lies in its port. */
struct frame_line_user {
    struct list node;
    uint8_t vcid;
    bool read, write;    /* what it watches for */
    bool more;           /* not all read frames are processed: its alarm continues */
    bool holds;          /* of these, one that it has begun to read: the wire is not read before */
    bool due;            /* a report of the wire's state is due */
    bool wants;          /* it needs the wire for the time being */
    bool stated;         /* `state` is due */
    struct alarm *again; /* the port's */
    struct frame_queue queue;
    /* The wire is ready; as there. It may leave the line. */
    void (*ready)(struct frame_line_user *u, bool readable, bool writable);
    /* wire->leaves or wire->arrives are others now; likewise. */
    void (*state)(struct frame_line_user *u);
    /* A line for the operator's log. */
    void (*say)(struct frame_line_user *u, int level, const char *text);
};

struct frame_line {
    struct world *world;
    struct frame_wire *wire;
    struct frame_way out, in; /* their virtual channels do not count */
    tick idle;                /* a frame of only idle data after so long without one; 0: none */
    struct list users;
    struct alarm silence;
    tick last;                          /* when a frame left */
    uint64_t idle_count;                /* of the next frame of only idle data */
    uint8_t master_count;               /* of the next TM frame */
    uint8_t *scratch, *unit;            /* a frame out of a CLTU, or of idle data; a CLTU */
    struct frame_code *encode, *decode; /* of CADUs that leave, and arrive; NULL: there are none */
    struct frame_secure *secure;        /* NULL: frames are clear */
    uint64_t stream;                    /* of wire->streams: the one that is decoded */
    size_t fed;                         /* octets that the decoder was given last */
    uint64_t blind; /* octets that were read without a CADU, since the last of them were noted */
    tick quiet;     /* until then no more is said of misfits */
    bool datagrams; /* each unit of the wire is a datagram */
    bool fits;      /* a frame of a user's virtual channel has arrived */
    /* A port's turn ended before all frames of the wire were processed: the wire is not read
     * meanwhile. */
    bool unread;
    bool closing;
    struct frame_line_counters n;
    void (*closed)(void *context);
    void *closed_context;
};

/* NULL, or a text that says what is wrong with what is sent, or received, so. */
const char *frame_way_problem(const struct frame_way *w);

/* Are they the same, but for their virtual channels? */
bool frame_way_same(const struct frame_way *a, const struct frame_way *b);

/* Octets of the longest datagram, as an encapsulation packet, whatever number of frames it takes.
 */
uint32_t frame_way_mtu(const struct frame_way *w);

/* What a line is opened with; all is borrowed. */
struct frame_line_config {
    const struct frame_wire_config *wire;
    const struct frame_way *send, *receive;
    const struct frame_secure_config *secure;
    tick idle;
};

/* 0 or HELIO_E*. */
int frame_line_open(struct world *w, struct frame_line **out, const struct frame_line_config *c);

/* Octets that security takes of a frame that is sent on the virtual channel. */
uint32_t frame_line_security(const struct frame_line *l, uint8_t vcid);

/* Can a port with these formats share the channel? */
bool frame_line_suits(const struct frame_line *l, const struct frame_way *send,
                      const struct frame_way *receive);

/* A port begins to read its virtual channel, which no other one has, and wants the wire; and ends.
 */
bool frame_line_join(struct frame_line *l, struct frame_line_user *u);
void frame_line_leave(struct frame_line *l, struct frame_line_user *u);

/* Without users the line ends; `closed` is called after this call. */
void frame_line_close(struct frame_line *l, void (*closed)(void *context), void *context);

/* Sends a frame. What is lost is counted. The octets that it is on the channel: a CLTU's, a CADU's,
 * or its own. */
size_t frame_line_send(struct frame_line *l, struct slice frame);

enum frame_line_result {
    FRAME_LINE_NONE,  /* nothing that was read is left */
    FRAME_LINE_FRAME, /* a frame of the user's virtual channel */
    FRAME_LINE_OTHER, /* another port's, nobody's, or none: there may be more */
};

/* The next unit that was read: one of the user's virtual channel, and what is wrong with it or not.
 * frame_line_fill reads more, which ends what was given before; false: there is no more. release:
 * ends it, too, but for the frame that was given last. */
void frame_line_release(struct frame_line_user *u);
enum frame_line_result frame_line_next(struct frame_line *l, struct frame_line_user *u,
                                       struct frame *frame, enum frame_verdict *verdict);
bool frame_line_fill(struct frame_line *l, struct frame_line_user *u);

/* Ends the user's turn, although more frames may have been read. They are continued soon by its
 * alarm, or, if it does not read, by that of a user that does. Until then the wire is not read. */
void frame_line_pause(struct frame_line *l, struct frame_line_user *u);

/* What it has counted, and its wire: frames are those of the channel, whether or not they arrive in
 * CADUs. */
void frame_line_count(const struct frame_line *l, struct frame_line_counters *out,
                      struct frame_wire_counters *wire);

/* As the users want it. */
void frame_line_watch(struct frame_line *l);

/* u->wants is another now: the wire is wanted as long as one of them does. */
void frame_line_want(struct frame_line *l);

#endif
