/* SPDX-License-Identifier: Apache-2.0 */
/* A provider's and a user's engine, joined by two pipes of limited room, in virtual time. */
#ifndef TESTS_UNIT_SLE_PAIR_H
#define TESTS_UNIT_SLE_PAIR_H

#include "base/rng.h"
#include "sle/provider.h"
#include "sle/user.h"
#include "tests/unit/sle_help.h"

#define RAF_ID "sagr=SAGR.spack=SPACK.rsl-fg=RSL.raf=onlc1"
#define RAF_TIMELY_ID "sagr=SAGR.spack=SPACK.rsl-fg=RSL.raf=onlt1"
#define RAF_OFFLINE_ID "sagr=SAGR.spack=SPACK.rsl-fg=RSL.raf=offl1"
#define RCF_ID "sagr=SAGR.spack=SPACK.rsl-fg=RSL.rcf=onlc1"
#define ROCF_ID "sagr=SAGR.spack=SPACK.rsl-fg=RSL.rocf=onlt1"
#define CLTU_ID "sagr=SAGR.spack=SPACK.fsl-fg=FSL.cltu=cltu1"
#define UNIX_NS UINT64_C(1763834391000000000)

enum { PIPE_ROOM = 1 << 16, PARTS = 7 };

struct pipe_half {
    uint8_t octets[PIPE_ROOM];
    size_t len, room; /* room: what it takes at most */
    bool ended;       /* FIN or reset by the writer */
    int urgent;       /* octet, or -1 */
};

struct end {
    struct sle *sle;
    struct sle_link *link;
    bool over, freed;
    struct sle_notice last; /* of each kind that is not a frame: the last one */
    unsigned seen[SLE_NOTICE_COUNT];
    struct sle_notice of[SLE_NOTICE_COUNT];
    /* of the provider: its output is written by a thread, which may be slow */
    bool lends, slow, lent;
    struct sle_lent lending;
    struct slice parts[PARTS];
    size_t parts_len;
};

struct pair {
    tick now;
    struct end user, provider;
    struct pipe_half up, down; /* to the provider, to the user */
    struct sle_instance *asks, *serves;
    bool paused;     /* the user does not read */
    uint64_t frames; /* that the user got */
    void (*frame)(struct pair *p, const struct sle_notice *n);
    void *context;
};

static unsigned pair_hashes; /* calls so far */
static bool pair_hash(void *context, enum sle_hash which, struct slice in, uint8_t *out)
{
    pair_hashes++;
    return mix_octets(context, which, in, out);
}

static inline struct sle_identity pair_identity(const char *id, const char *password)
{
    struct sle_identity who = {.password_len = (uint8_t)strlen(password)};
    snprintf(who.id, sizeof who.id, "%s", id);
    memcpy(who.password, password, strlen(password));
    return who;
}

static inline struct sle_config pair_config(const char *id)
{
    return (struct sle_config){.self = pair_identity(id, id),
                               .hash = pair_hash,
                               .seed = 7,
                               .unix_ns = UNIX_NS,
                               .receive_bytes = 16384};
}

static inline struct sle *pair_engine(const char *id, const char *other, enum sle_auth_level level)
{
    const struct sle_config c = pair_config(id);
    struct sle *s = sle_new(&c);
    struct sle_peer peer = {.who = pair_identity(other, other), .level = level};
    ck_assert_ptr_nonnull(s);
    ck_assert_int_eq(sle_peer_set(s, &peer), 0);
    return s;
}

static inline void pair_init(struct pair *p, enum sle_auth_level level)
{
    memset(p, 0, sizeof *p);
    p->now = TICK_S;
    p->up.room = p->down.room = PIPE_ROOM;
    p->up.urgent = p->down.urgent = -1;
    p->user.sle = pair_engine("USER", "PROVIDER", level);
    p->provider.sle = pair_engine("PROVIDER", "USER", level);
}

static inline void pair_add(struct pair *p, struct sle_provider_config *c, uint8_t version)
{
    static const char *const initiators[] = {"USER"};
    struct sle_user_config u = {
        .id = c->id, .responder = "PROVIDER", .responder_port = "PORT", .version = version};
    c->initiators = initiators;
    c->initiator_count = 1;
    u.respond = c->initiate;
    if (c->initiate)
        c->responder_port = "PORT";
    ck_assert_int_eq(sle_provider_add(p->provider.sle, c, &p->serves), 0);
    ck_assert_int_eq(sle_user_add(p->user.sle, &u, &p->asks), 0);
}

static inline void pair_fini(struct pair *p)
{
    sle_check(p->user.sle);
    sle_check(p->provider.sle);
    sle_free(p->user.sle);
    sle_free(p->provider.sle);
}

static inline size_t put_parts(struct pipe_half *out, const struct slice *parts, size_t n)
{
    size_t taken = 0;
    for (size_t i = 0; i < n && !out->ended; i++) {
        size_t left = out->room > out->len ? out->room - out->len : 0,
               k = parts[i].len < left ? parts[i].len : left;
        memcpy(out->octets + out->len, parts[i].data, k);
        out->len += k;
        taken += k;
        if (k < parts[i].len)
            break;
    }
    return taken;
}

/* The thread writes what it has. */
static inline size_t write_lent(struct pair *p, struct end *e)
{
    sle_lent_sign(&e->lending, pair_hash, NULL);
    size_t taken = put_parts(&p->down, e->parts, e->parts_len);
    e->lent = false;
    sle_link_wrote(e->link, taken, p->now);
    return taken;
}

static inline void poll_end(struct pair *p, struct end *e)
{
    struct sle_notice n;
    while (sle_link_poll(e->link, &n, p->now)) {
        e->seen[n.kind]++;
        if (n.kind == SLE_FRAME) {
            p->frames++;
            if (p->frame != NULL)
                p->frame(p, &n);
            continue;
        }
        e->last = e->of[n.kind] = n;
        if (n.kind == SLE_OVER && e->lent)
            (void)write_lent(p, e);
        e->over = e->over || n.kind == SLE_OVER;
    }
}

/* True: something was written, or is now by a thread that had nothing. */
static inline bool lend_end(struct pair *p, struct end *e)
{
    const bool had = e->lent;
    size_t taken = had && !e->slow ? write_lent(p, e) : 0;
    if (!e->lent && !p->down.ended) {
        e->parts_len = sle_link_lend(e->link, e->parts, PARTS, &e->lending, p->now);
        e->lent = e->parts_len > 0;
    }
    return taken > 0 || (e->lent && !had);
}

static inline bool write_end(struct pair *p, struct end *e, struct pipe_half *out)
{
    struct slice parts[PARTS];
    size_t n, total = e->lends && lend_end(p, e);
    while (!e->lends && !out->ended && (n = sle_link_output(e->link, parts, PARTS, p->now)) > 0) {
        size_t taken = put_parts(out, parts, n);
        sle_link_wrote(e->link, taken, p->now);
        total += taken;
        if (taken == 0)
            break;
    }
    enum sle_stream s = sle_link_stream(e->link);
    if (s == SLE_STREAM_ABORT && !out->ended)
        out->urgent = sle_link_abort_octet(e->link);
    if (s != SLE_STREAM_KEEP && !out->ended) {
        out->ended = true;
        if (s != SLE_STREAM_CLOSE)
            out->len = 0;
        return true;
    }
    return total > 0;
}

static inline bool read_end(struct pair *p, struct end *e, struct pipe_half *in)
{
    if (in->urgent >= 0) {
        sle_link_urgent(e->link, (uint8_t)in->urgent, p->now);
        in->urgent = -2;
        return true;
    }
    if (in->len > 0 && sle_link_reads(e->link)) {
        size_t room;
        uint8_t *space = sle_link_space(e->link, &room);
        ck_assert_ptr_nonnull(space);
        size_t n = room < in->len ? room : in->len;
        memcpy(space, in->octets, n);
        memmove(in->octets, in->octets + n, in->len - n);
        in->len -= n;
        sle_link_fed(e->link, n, p->now);
        return true;
    }
    if (in->len > 0 && e->over) {
        in->len = 0;
        return true;
    }
    if (in->len == 0 && in->ended && !e->freed) {
        e->freed = true; /* reported once */
        sle_link_closed(e->link, p->now);
        return true;
    }
    return false;
}

/* Until nothing more happens at this time. */
static inline void pair_settle(struct pair *p)
{
    for (bool more = true; more;) {
        more = false;
        if (p->user.link != NULL) {
            more |= !p->paused && read_end(p, &p->user, &p->down);
            if (!p->paused)
                poll_end(p, &p->user);
            more |= write_end(p, &p->user, &p->up);
        }
        if (p->provider.link != NULL) {
            more |= read_end(p, &p->provider, &p->up);
            poll_end(p, &p->provider);
            more |= write_end(p, &p->provider, &p->down);
        }
        sle_check(p->user.sle);
        sle_check(p->provider.sle);
    }
}

static inline tick pair_deadline(const struct pair *p)
{
    return tick_min(sle_deadline(p->user.sle), sle_deadline(p->provider.sle));
}

/* All that is due now is served: no time passes unserved. */
static inline void pair_expire(struct pair *p)
{
    struct sle_due due;
    while (sle_expire(p->user.sle, &due, p->now))
        if (due.link == NULL) /* ck_assert would allocate, also where memory shall fail */
            ck_abort();
    while (sle_expire(p->provider.sle, &due, p->now))
        if (due.link == NULL && due.instance != p->serves)
            ck_abort();
    sle_check_served(p->user.sle, p->now);
    sle_check_served(p->provider.sle, p->now);
}

/* Time goes on to `until`, with all deadlines on the way. */
static inline void pair_run(struct pair *p, tick until)
{
    pair_settle(p);
    for (;;) {
        tick due = pair_deadline(p);
        if (due > until)
            break;
        p->now = due > p->now ? due : p->now;
        pair_expire(p);
        pair_settle(p);
    }
    p->now = until;
    sle_check_served(p->user.sle, p->now);
    sle_check_served(p->provider.sle, p->now);
}

static inline void pair_connect(struct pair *p)
{
    p->up.len = p->down.len = 0;
    p->up.ended = p->down.ended = false;
    p->up.urgent = p->down.urgent = -1;
    p->user.over = p->user.freed = p->provider.over = p->provider.freed = false;
    p->provider.lent = false;
    if (p->asks != NULL && p->serves != NULL &&
        (p->user.link = sle_connect(p->asks, p->now)) != NULL) {
        p->provider.link = sle_accept(p->provider.sle, p->now);
    } else {
        p->provider.link = sle_connect(p->serves, p->now);
        p->user.link = sle_accept(p->user.sle, p->now);
    }
    ck_assert(p->user.link != NULL && p->provider.link != NULL);
    pair_settle(p);
}

static inline void pair_disconnect(struct pair *p)
{
    sle_link_free(p->user.link);
    sle_link_free(p->provider.link);
    p->user.link = p->provider.link = NULL;
}

static inline void pair_start(struct pair *p, const struct sle_start *start)
{
    ck_assert_int_eq(sle_user_start(p->asks, start, p->now), 0);
    pair_settle(p);
}

/* A frame of this number: AOS, SCID 0xab, VC 5. */
static inline struct buf *pair_frame(uint32_t number, size_t len)
{
    struct buf *b = buf_new(0, len);
    uint8_t *d = buf_append(b, len);
    memset(d, (int)number, len);
    d[0] = 0x6a;
    d[1] = 0xc5;
    for (unsigned i = 0; i < 4; i++)
        d[2 + i] = (uint8_t)(number >> 8 * (3 - i));
    return b;
}

static inline uint32_t frame_number(struct slice data)
{
    const uint8_t *d = data.data + 2;
    return (uint32_t)d[0] << 24 | (uint32_t)d[1] << 16 | (uint32_t)d[2] << 8 | d[3];
}

/* With `room` octets before it that are the engine's. */
static inline enum sle_taken pair_offer_with(struct pair *p, uint32_t number, size_t len,
                                             size_t room)
{
    struct buf *plain = pair_frame(number, len), *b = buf_new(room, len);
    memset(b->mem, 0xee, room);
    memcpy(buf_append(b, len), buf_data(plain), len);
    buf_drop(plain);
    struct sle_frame f = {
        .owner = b, .room = room, .data = buf_slice(b), .time = sle_now(p->provider.sle, p->now)};
    enum sle_taken taken = sle_provider_frame(p->serves, &f, p->now);
    buf_drop(b);
    return taken;
}

static inline enum sle_taken pair_offer(struct pair *p, uint32_t number, size_t len)
{
    return pair_offer_with(p, number, len, 0);
}

/* The wire breaks with what is on it: some of the octets arrive, in one direction or both. */
static inline void pair_break(struct pair *p, struct rng *r)
{
    p->down.len = rng_below(r, p->down.len + 1);
    p->up.len = rng_below(r, p->up.len + 1);
    p->paused = p->provider.slow = false;
    p->up.ended = p->down.ended = true;
}

#endif
