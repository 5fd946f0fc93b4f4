/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What TLS costs a stream over loopback TCP: one process writes, another reads, first plain and
 * then with TLS (os/tls/tls.h), in turns. For each a JSON line: Gbit/s by the clock, and Gbit/s
 * that a whole core would do by the processor time of the writer and of the reader, which a busy
 * machine changes less.
 *
 *   bench_tls [megabytes [piece [rounds]]]      (needs the program openssl, for a certificate)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/net/address.h"
#include "os/tls/tls.h"
#include "os/uv_world.h"

#define ROOM (1u << 20)

struct end {
    struct world *world;
    struct tls *tls; /* NULL: plain */
    struct stream_listener *listener;
    struct stream *stream;
    size_t left, piece;
    double start;
    uint8_t *room;
};

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_tls: %s\n", what);
    exit(1);
}

static uint8_t *space(void *context, size_t *len)
{
    struct end *e = context;
    *len = ROOM;
    return e->room;
}

static void finish(struct end *e)
{
    stream_close(e->stream);
    if (e->listener != NULL)
        stream_unlisten(e->listener);
    uv_world_end(e->world);
}

static void fed(void *context, size_t len)
{
    struct end *e = context;
    if (e->start == 0)
        e->start = seconds(CLOCK_MONOTONIC);
    e->left -= len < e->left ? len : e->left;
    if (e->left > 0)
        return;
    if (e->listener != NULL) { /* the reader says that it has all */
        struct slice done = slice_of("x", 1);
        if (stream_write(e->stream, &done, 1) != 1)
            fail("no room for one byte");
    }
    finish(e);
}

static void write_on(struct end *e)
{
    while (e->left > 0) {
        struct slice parts[2] = {slice_of(e->room, 18), slice_of(e->room + 18, 0)};
        parts[1].len = e->left < e->piece ? e->left : e->piece;
        parts[1].len -= parts[1].len > 18 ? 18 : 0;
        if (parts[1].len <= 18)
            parts[0].len = 0;
        size_t want = parts[0].len + parts[1].len, got = stream_write(e->stream, parts, 2);
        e->left -= got;
        if (got < want)
            return;
    }
    e->left = 1; /* for the reader's word */
}

static void writer_writable(void *context)
{
    struct end *e = context;
    if (e->left > 1)
        write_on(e);
}

static void nothing(void *context)
{
    (void)context;
}

static void ended(void *context, int error)
{
    const struct end *e = context;
    (void)error;
    fail(e->tls != NULL ? tls_why(e->stream) : "the connection ended");
}

static const struct stream_user writer = {space, fed, writer_writable, ended};
static const struct stream_user reader = {space, fed, nothing, ended};

static void begin(struct end *e, struct stream *s, bool server)
{
    e->stream = s;
    const struct tls_setup setup = {.server = server};
    stream_buffers(s, 4u << 20);
    if (e->tls != NULL && tls_stream(&e->stream, e->tls, e->world, s, &setup) != 0)
        fail("no TLS");
    stream_use(e->stream, server ? &reader : &writer, e);
    stream_read(e->stream, true);
}

static void accepted(void *context, struct stream *s)
{
    begin(context, s, true);
}

static void connected(void *context)
{
    struct end *e = context;
    begin(e, e->stream, false);
    if (e->tls == NULL)
        write_on(e);
}

static const struct stream_user connecting = {space, fed, connected, ended};

static void run_end(struct end *e, bool server, const struct address *at)
{
    const struct stream_place place = {.address = at};
    e->room = calloc(1, ROOM);
    if (e->room == NULL || uv_world_open(&e->world) != 0)
        fail("out of memory");
    if (server && stream_listen(e->world, &e->listener, &place, accepted, e) != 0)
        fail("cannot listen");
    if (!server && stream_connect(e->world, &e->stream, &place, &connecting, e) != 0)
        fail("cannot connect");
    if (!server) { /* asks to be told when it is connected */
        struct slice byte = slice_of(e->room, 1);
        (void)stream_write(e->stream, &byte, 1);
    }
    uv_world_run(e->world);
    uv_world_free(e->world);
    free(e->room);
}

/* The child reads and tells its processor time by the pipe. */
static void run_both(struct tls *tls, size_t bytes, size_t piece, const struct address *at)
{
    int pipes[2];
    double theirs = 0, wall = 0;
    if (pipe(pipes) != 0)
        fail("no pipe");
    pid_t child = fork();
    struct end e = {.tls = tls, .left = bytes, .piece = piece};
    if (child == 0) {
        run_end(&e, true, at);
        double took[2] = {seconds(CLOCK_PROCESS_CPUTIME_ID), seconds(CLOCK_MONOTONIC) - e.start};
        _exit(write(pipes[1], took, sizeof took) == (ssize_t)sizeof took ? 0 : 1);
    }
    usleep(300000);
    double before = seconds(CLOCK_PROCESS_CPUTIME_ID);
    run_end(&e, false, at);
    double ours = seconds(CLOCK_PROCESS_CPUTIME_ID) - before;
    double took[2];
    if (read(pipes[0], took, sizeof took) != (ssize_t)sizeof took)
        fail("the reader failed");
    theirs = took[0];
    wall = took[1];
    waitpid(child, NULL, 0);
    close(pipes[0]);
    close(pipes[1]);
    double gbit = (double)bytes * 8 / 1e9;
    printf("{\"tls\": %s, \"piece\": %zu, \"gbit_s\": %.2f, \"writer_core_gbit_s\": %.2f, "
           "\"reader_core_gbit_s\": %.2f}\n",
           tls != NULL ? "true" : "false", piece, gbit / wall, gbit / ours, gbit / theirs);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 1000) * 1000000;
    size_t piece = argc > 2 ? strtoul(argv[2], NULL, 10) : 500000;
    int rounds = argc > 3 ? atoi(argv[3]) : 3;
    char folder[] = "/tmp/bench-tls-XXXXXX", command[400], cert[64], key[64], why[TLS_WHY_MAX] = "";
    struct address at;
    struct tls *tls = NULL;
    unsigned file = 0;
    if (bytes == 0 || piece < 100 || piece > ROOM - 100 || mkdtemp(folder) == NULL)
        fail("megabytes, a piece of 100 to 1000000 bytes, rounds");
    snprintf(cert, sizeof cert, "%s/cert.pem", folder);
    snprintf(key, sizeof key, "%s/key.pem", folder);
    snprintf(command, sizeof command,
             "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "
             "/CN=bench -keyout %s -out %s 2>/dev/null",
             key, cert);
    const struct tls_files files = {cert, key, cert};
    int r = system(command);
    if (r != 0 || tls_new(&tls, &files, &file, why) != 0)
        fail(r != 0 ? "openssl made no certificate" : why);
    for (int i = 0; i < rounds; i++) {
        for (int with = 0; with < 2; with++) {
            /* a port of its own each time */
            char text[ADDRESS_TEXT_MAX];
            snprintf(text, sizeof text, "127.0.0.1:%d",
                     20000 + (int)getpid() % 20000 + 2 * i + with);
            if (address_parse(text, &at) != 0)
                fail(text);
            run_both(with ? tls : NULL, bytes, piece, &at);
        }
    }
    tls_free(tls);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) != 0;
}
