/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What SLE costs on one core, without sockets: a provider that offers frames of 1115 octets,
 * gathers transfer buffers and is told that all was written; a user that finds its frames in the
 * octets it is fed, each end by itself. Gbit/s of frames per core-second, by frames a buffer,
 * without and with credentials on every PDU (whose hash is not counted: it is the host's; there is
 * one for each buffer). JSON on standard output.
 *
 *   bench_sle [--quick]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sle/provider.h"
#include "sle/user.h"

enum { LENGTH = 1115, OWNED = 64, PARTS = 1024, STREAM = 8 << 20 };
#define ID "sagr=A.spack=B.rsl-fg=C.raf=onlc1"
#define CHECKED(call)                                                                              \
    do {                                                                                           \
        if (!(call))                                                                               \
            abort();                                                                               \
    } while (0)

struct bench {
    struct sle *user, *provider;
    struct sle_link *up, *down; /* the user's link, the provider's */
    struct sle_instance *asks, *serves;
    struct buf *frames; /* OWNED of them, as a batch of datagrams has them */
    uint8_t *stream;
    size_t stream_len;
    uint64_t got;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool no_hash(void *context, enum sle_hash which, struct slice in, uint8_t *out)
{
    (void)context;
    memset(out, (int)in.len, which == SLE_SHA1 ? 20 : 32);
    return true;
}

static struct sle *make_engine(const char *id, const char *other, enum sle_auth_level level)
{
    struct sle_config c = {.hash = no_hash, .unix_ns = UINT64_C(1763834391000000000)};
    struct sle_peer p = {.level = level};
    snprintf(c.self.id, sizeof c.self.id, "%s", id);
    snprintf(p.who.id, sizeof p.who.id, "%s", other);
    struct sle *s = sle_new(&c);
    CHECKED(s != NULL && sle_peer_set(s, &p) == HELIO_OK);
    return s;
}

/* All that `from` has to say, to `to`. */
static void pass_octets(struct sle_link *from, struct sle_link *to)
{
    struct slice part;
    struct sle_notice n;
    while (sle_link_output(from, &part, 1, 1) > 0) {
        size_t room;
        uint8_t *p = sle_link_space(to, &room);
        CHECKED(p != NULL && room >= part.len);
        memcpy(p, part.data, part.len);
        sle_link_fed(to, part.len, 1);
        sle_link_wrote(from, part.len, 1);
        while (sle_link_poll(to, &n, 1)) {
        }
    }
}

static void begin_bench(struct bench *b, uint32_t frames, enum sle_auth_level level)
{
    static const char *const initiators[] = {"USER"};
    struct sle_provider_config p = {.id = ID,
                                    .initiators = initiators,
                                    .initiator_count = 1,
                                    .buffer_frames = frames,
                                    .queue_buffers = 64};
    struct sle_user_config u = {.id = ID, .responder = "PROVIDER", .responder_port = "PORT"};
    struct sle_start start = {.quality = SLE_ALL_FRAMES};
    b->user = make_engine("USER", "PROVIDER", level);
    b->provider = make_engine("PROVIDER", "USER", level);
    CHECKED(sle_provider_add(b->provider, &p, &b->serves) == HELIO_OK &&
            sle_user_add(b->user, &u, &b->asks) == HELIO_OK);
    b->up = sle_connect(b->asks, 1);
    b->down = sle_accept(b->provider, 1);
    pass_octets(b->up, b->down);
    pass_octets(b->down, b->up);
    CHECKED(sle_user_start(b->asks, &start, 1) == HELIO_OK);
    pass_octets(b->up, b->down);
    pass_octets(b->down, b->up);
    CHECKED(sle_link_state(b->up) == SLE_ACTIVE);
    b->stream_len = 0;
    b->got = 0;
}

/* Offers frames and takes what is to be written, as a host with sendmsg would; `keep`: the octets
 * as well. */
static double provide_frames(struct bench *b, uint32_t count, bool keep)
{
    static struct slice parts[PARTS];
    double start = now_s();
    struct sle_frame f = {.owner = b->frames, .time = sle_now(b->provider, 1)};
    for (uint32_t k = 0; k < count;) {
        for (uint32_t i = 0; i < OWNED && k < count; i++, k++) {
            f.data = slice_of(buf_data(b->frames) + (size_t)i * LENGTH, LENGTH);
            CHECKED(sle_provider_frame(b->serves, &f, 1) == SLE_TAKEN);
        }
        size_t n = sle_link_output(b->down, parts, PARTS, 1), octets = 0;
        for (size_t i = 0; i < n; i++) {
            octets += parts[i].len;
            if (keep && b->stream_len + parts[i].len <= STREAM) {
                memcpy(b->stream + b->stream_len, parts[i].data, parts[i].len);
                b->stream_len += parts[i].len;
            }
        }
        if (n > 0)
            sle_link_wrote(b->down, octets, 1);
    }
    return now_s() - start;
}

/* Feeds what was kept; the copy into the receive buffer, which is the kernel's, is not counted. */
static double use_frames(struct bench *b)
{
    double took = 0;
    for (size_t at = 0; at < b->stream_len;) {
        size_t room;
        struct sle_notice n;
        double start = now_s();
        uint8_t *p = sle_link_space(b->up, &room);
        took += now_s() - start;
        room = room < b->stream_len - at ? room : b->stream_len - at;
        memcpy(p, b->stream + at, room);
        at += room;
        start = now_s();
        sle_link_fed(b->up, room, 1);
        while (sle_link_poll(b->up, &n, 1))
            b->got += n.kind == SLE_FRAME && n.u.item.data.len == LENGTH;
        took += now_s() - start;
    }
    return took;
}

static void run_bench(uint32_t frames, enum sle_auth_level level, int rounds, bool last)
{
    double provide = 1e9, use = 1e9;
    uint32_t count = STREAM / (LENGTH + 256) / frames * frames;
    for (int r = 0; r < rounds; r++) {
        struct bench b = {.frames = buf_new(0, OWNED * LENGTH), .stream = malloc(STREAM)};
        CHECKED(b.frames != NULL && b.stream != NULL);
        memset(buf_append(b.frames, OWNED * LENGTH), 0x5a, OWNED * LENGTH);
        begin_bench(&b, frames, level);
        double took = provide_frames(&b, 20 * count, false) / 20;
        provide = took < provide ? took : provide;
        sle_provider_flush(b.serves, 1);
        b.got = 0;
        sle_free(b.user);
        sle_free(b.provider);
        begin_bench(&b, frames, level);
        (void)provide_frames(&b, count, true);
        took = use_frames(&b);
        use = took < use ? took : use;
        CHECKED(b.got > count / 2);
        sle_free(b.user);
        sle_free(b.provider);
        buf_drop(b.frames);
        free(b.stream);
    }
    double gbit = 8e-9 * LENGTH * count;
    printf(
        "    {\"frames_a_buffer\": %u, \"auth\": \"%s\", \"provider\": %.1f, \"user\": %.1f}%s\n",
        frames, level == SLE_AUTH_ALL ? "all" : "none", gbit / provide, gbit / use,
        last ? "" : ",");
}

int main(int argc, char **argv)
{
    static const uint32_t frames[] = {1, 10, 20, 40, 80};
    int rounds = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 3 : 20;
    printf("{\"frame_bytes\": %d, \"unit\": \"Gbit/s of frames per core-second, without the "
           "socket\", \"runs\": [\n",
           LENGTH);
    for (size_t k = 0; k < sizeof frames / sizeof frames[0]; k++) {
        run_bench(frames[k], SLE_AUTH_NONE, rounds, false);
        run_bench(frames[k], SLE_AUTH_ALL, rounds, k + 1 == sizeof frames / sizeof frames[0]);
    }
    printf("]}\n");
    return 0;
}
