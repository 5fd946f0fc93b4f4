/* SPDX-License-Identifier: Apache-2.0 */
/* For targets in a virtual world: its clock, and a raw peer that writes what it is given and reads
 * what comes. */
#ifndef TESTS_FUZZ_VIRTUAL_PEER_H
#define TESTS_FUZZ_VIRTUAL_PEER_H

#include <assert.h>
#include <string.h>

#include "base/rng.h"
#include "sim/virtual.h"

#define PEER_STEPS 20000 /* of the world in one call: more are a loop without an end */
#define PEER_KEPT 65536

struct raw_peer {
    struct stream *stream;   /* NULL: not connected, or over */
    size_t got;              /* octets that came … */
    uint8_t kept[PEER_KEPT]; /* … the first of them */
    uint8_t room[4096];
};

static inline uint8_t *peer_space(void *context, size_t *len)
{
    struct raw_peer *p = context;
    *len = sizeof p->room;
    return p->room;
}

static inline void peer_fed(void *context, size_t len)
{
    struct raw_peer *p = context;
    for (size_t i = 0; i < len && p->got + i < PEER_KEPT; i++)
        p->kept[p->got + i] = p->room[i];
    p->got += len;
}

static inline void peer_writable(void *context)
{
    (void)context;
}

static inline void peer_ended(void *context, int error)
{
    struct raw_peer *p = context;
    (void)error;
    if (p->stream != NULL)
        stream_close(p->stream);
    p->stream = NULL;
}

static const struct stream_user peer_user = {peer_space, peer_fed, peer_writable, peer_ended};

static inline void peer_connect(struct raw_peer *p, struct virtual_world *v,
                                const struct stream_place *to)
{
    p->got = 0;
    if (stream_connect(&v->world, &p->stream, to, &peer_user, p) != 0)
        p->stream = NULL;
    else
        stream_read(p->stream, true);
}

static inline void peer_write(struct raw_peer *p, const void *octets, size_t len)
{
    const struct slice part = slice_of(octets, len);
    if (p->stream != NULL && len > 0)
        (void)stream_write(p->stream, &part, 1);
}

static inline void peer_close(struct raw_peer *p)
{
    if (p->stream != NULL)
        stream_close(p->stream);
    p->stream = NULL;
}

/* All that happens in so much time; step (NULL: none) is called after each thing. */
static inline void world_play(struct virtual_world *v, tick time, void (*step)(void *ctx),
                              void *ctx)
{
    const tick until = v->now + time;
    for (unsigned i = 0;; i++) {
        assert(i < PEER_STEPS);
        virtual_settle(v);
        if (world_end_round(&v->world))
            continue;
        const tick due = virtual_due(v);
        if (step != NULL)
            step(ctx);
        if (due > until)
            break;
        virtual_advance(v, due);
        virtual_fire(v);
    }
    virtual_advance(v, until);
}

/* Octets of an input, one after the other; 0 behind its end. */
struct feed {
    const uint8_t *p, *end;
};

static inline uint8_t feed_octet(struct feed *f)
{
    return f->p == f->end ? 0 : *f->p++;
}

/* The next `len` of them, or as many as are left. */
static inline struct slice feed_slice(struct feed *f, size_t len)
{
    const size_t left = (size_t)(f->end - f->p);
    const struct slice s = slice_of(f->p, len < left ? len : left);
    f->p += s.len;
    return s;
}

#endif
