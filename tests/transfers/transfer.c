/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sender sends a pattern over and over until its time is over, its number of octets is sent or
 * the receiver has enough; the receiver compares all that comes with the same pattern, counts
 * between warm-up and end, and prints JSON: `early` when the stream was over before the time, as it
 * is when a connection breaks. What fails is said with the library's words. The
 * pattern's length is a prime, so that a piece that is lost, doubled or out of its place differs.
 */
#include "tests/transfers/transfer.h"

#include <arpa/inet.h>
#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "os/clock.h"

#define PIECE 65521
#define SEED 7

struct words {
    struct sockaddr_in place;
    double warmup, seconds;
    int buffer;
    uint64_t octets; /* to send at most */
};

static double now_s(void)
{
    return (double)clock_now() / (double)TICK_S;
}

/* The pattern twice: from any place of it a whole piece can be read. */
static void fill_pattern(char *pattern)
{
    struct rng rng;
    rng_init(&rng, SEED);
    for (size_t i = 0; i < PIECE; i++)
        pattern[i] = pattern[PIECE + i] = (char)(rng_u64(&rng) & 0x7f);
}

static int tell_failure(const struct transfer_ops *ops, const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", ops->name, what, ops->reason());
    return 1;
}

static int send_all(const struct transfer_ops *ops, const struct words *w, const char *pattern)
{
    int s = ops->connect(&w->place, w->buffer);
    if (s == TRANSFER_FAILED)
        return tell_failure(ops, "connect");
    double until = now_s() + w->seconds;
    uint64_t sent = 0;
    while (sent < w->octets && now_s() < until) {
        uint64_t left = w->octets - sent;
        int n = ops->send(s, pattern + sent % PIECE, left < PIECE ? (int)left : PIECE);
        if (n < 0)
            break; /* the receiver has enough */
        sent += (uint64_t)n;
    }
    ops->close(s);
    printf("{\"octets\": %" PRIu64 "}\n", sent);
    return 0;
}

static int count_all(const struct transfer_ops *ops, const struct words *w, int s,
                     const char *pattern)
{
    static char piece[PIECE];
    uint64_t all = 0, counted = 0;
    double begin = now_s();
    bool early = false;
    for (double t = begin; t < begin + w->seconds;) {
        int n = ops->recv(s, piece, PIECE);
        if (n == TRANSFER_FAILED)
            return tell_failure(ops, "receive");
        t = now_s();
        early = n == 0 && t < begin + w->seconds;
        if (n == 0)
            break;
        if (n == TRANSFER_NOTHING)
            continue;
        assert(n <= PIECE);
        if (memcmp(piece, pattern + all % PIECE, (size_t)n) != 0) {
            fprintf(stderr, "%s: the octets from %" PRIu64 " on are not those that were sent\n",
                    ops->name, all);
            return 1;
        }
        all += (uint64_t)n;
        if (t >= begin + w->warmup && t < begin + w->seconds)
            counted += (uint64_t)n;
    }
    printf("{\"octets\": %" PRIu64 ", \"counted\": %" PRIu64
           ", \"seconds\": %.6f, \"goodput_bps\": %.1f, \"early\": %s, \"lasted\": %.6f}\n",
           all, counted, w->seconds - w->warmup, (double)counted * 8 / (w->seconds - w->warmup),
           early ? "true" : "false", now_s() - begin);
    return 0;
}

static int receive_all(const struct transfer_ops *ops, const struct words *w, const char *pattern)
{
    int listener = ops->listen(&w->place, w->buffer);
    if (listener == TRANSFER_FAILED)
        return tell_failure(ops, "listen");
    fprintf(stderr, "%s: ready\n", ops->name);
    int s = ops->accept(listener), code = s == TRANSFER_FAILED ? tell_failure(ops, "accept") : 0;
    if (code == 0) {
        code = count_all(ops, w, s, pattern);
        ops->close(s);
    }
    ops->close(listener);
    return code;
}

static bool read_number(const char *text, double low, double high, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && *value >= low && *value <= high;
}

/* False: the words are no right ones. */
static bool read_words(int argc, char **argv, bool sends, struct words *w)
{
    double port, buffer, octets = 1e18;
    *w = (struct words){.place = {.sin_family = AF_INET}};
    if (argc < 6 || argc > 6 + sends ||
        inet_pton(AF_INET, sends ? argv[2] : "0.0.0.0", &w->place.sin_addr) != 1 ||
        !read_number(argv[sends ? 3 : 2], 1, 65535, &port) ||
        !read_number(argv[4], 0.001, 1e6, &w->seconds) ||
        !read_number(argv[5], 65536, 1e9, &buffer) ||
        (argc == 7 && !read_number(argv[6], 1, 1e18, &octets)) ||
        (!sends && (!read_number(argv[3], 0, 1e6, &w->warmup) || w->warmup >= w->seconds)))
        return false;
    w->place.sin_port = htons((uint16_t)port);
    w->buffer = (int)buffer;
    w->octets = (uint64_t)octets;
    return true;
}

int transfer_main(const struct transfer_ops *ops, int argc, char **argv)
{
    static char pattern[2 * PIECE];
    struct words w;
    bool sends = argc > 1 && strcmp(argv[1], "send") == 0,
         receives = argc > 1 && strcmp(argv[1], "receive") == 0;
    if ((!sends && !receives) || !read_words(argc, argv, sends, &w)) {
        fprintf(stderr,
                "usage: %s receive PORT WARMUP_S SECONDS BUFFER        compares and counts; prints "
                "JSON\n"
                "       %s send ADDRESS PORT SECONDS BUFFER [OCTETS]   as fast as it goes; BUFFER: "
                "octets under way at most\n",
                ops->name, ops->name);
        return 2;
    }
    fill_pattern(pattern);
    if (ops->start() == TRANSFER_FAILED)
        return tell_failure(ops, "start");
    int code = (sends ? send_all : receive_all)(ops, &w, pattern);
    ops->stop();
    return code;
}
