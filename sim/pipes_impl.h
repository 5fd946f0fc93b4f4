/* SPDX-License-Identifier: Apache-2.0 */
/* What is inside streams in memory: for sim/pipes*.c alone. */
#ifndef SIM_PIPES_IMPL_H
#define SIM_PIPES_IMPL_H

#include "base/buf.h"
#include "os/net/address.h"
#include "sim/pipes.h"

struct pipe_event {
    tick due; /* TICK_NEVER: none */
    uint64_t number;
};

/* A run of a piece's bytes: in the piece itself, or in a buffer that it keeps. */
struct pipe_run {
    struct slice bytes;
    struct buf *owner; /* NULL: the piece */
};

struct pipe_piece {
    struct list node;
    struct pipe_event there;
    size_t off, len; /* [off, len) is not read yet */
    size_t runs_len, next;
    struct pipe_run
        runs[]; /* from `next` on they are not read; then the bytes of those without owner */
};

struct pipe_listener {
    struct stream_listener base;
    size_t owner;
    struct list node; /* of pipes->listeners */
    struct pipes *pipes;
    struct address address; /* without a path */
    char path[];
};

struct pipe_end {
    struct stream base;
    struct list node; /* of pipes->ends */
    struct pipes *pipes;
    struct pipe_end *other;         /* NULL: it has closed */
    struct pipe_listener *listener; /* that has not accepted it yet */
    bool served;                    /* it was accepted by a listener */
    struct list pieces;             /* that arrive here */
    size_t held, most;              /* their bytes; at most */
    bool reading;
    bool full; /* a write of this end waits for space at the other */
    bool told, closed;
    int error; /* of `end` */
    struct pipe_event accept, room, end;
    size_t owner, peer;               /* peer: of the other end */
    struct pipe_direction *direction; /* to here; NULL: what is written arrives by itself */
};

/* A stream over a channel. Octet 0 begins it, its bytes follow. */
struct pipe_direction {
    struct path path;
    uint64_t number; /* of the stream, in its frames */
    size_t from;     /* the writer */
    uint64_t came;   /* octets, in order */
    uint64_t read;   /* of these */
    uint64_t fin;    /* octets with the one that ends it; 0: it has not ended */
    uint64_t lasts;  /* octets; then it is reset */
    struct pipe_event come, again;
    bool fixed; /* its buffers were set */
    bool over;  /* nothing more is sent */
    int reset;  /* how it ends; 0: as its other end wants */
};

#define PIPE_NEVER ((struct pipe_event){TICK_NEVER, 0})

/* pipes.c */
size_t pipe_most(const struct pipe_end *e); /* bytes that may be in transit to it */
struct pipe_event pipe_event_at(struct pipes *p, tick delay);
struct pipe_event pipe_next_event(const struct pipe_end *e);
void pipe_wake(struct pipes *p, struct pipe_event e); /* this is due, too */
void pipe_look_again(struct pipes *p);
void pipe_fail(struct pipe_end *e, int error);
struct pipe_piece *pipe_first_piece(const struct pipe_end *e);
/* At most `most` octets of the first piece; how many were taken. */
size_t pipe_hand_over(struct pipe_end *e, struct pipe_piece *piece, size_t most);
void pipe_piece_free(struct pipe_piece *piece);

/* pipes_direction.c */
bool pipe_add_directions(struct pipe_end *client, struct pipe_end *server); /* false: no memory */
void pipe_direction_free(struct pipe_direction *w);                         /* or NULL */
void pipe_give_octets(struct pipe_end *e, uint64_t octets);                 /* to bring to e */
void pipe_end_direction(struct pipe_end *e); /* the last octet follows what was given */
void pipe_direction_buffers(struct pipe_end *e, uint64_t bytes);
int pipe_direction_congestion(struct pipe_end *e, const char *name);
void pipe_repeat(struct pipe_end *e);
void pipe_read_come(struct pipe_end *e);

#endif
