/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-sle modem: what a modem would send to a source with `head: modem`, with a known share of
 * erred and missing frames, and an account of what each frame is. The frames are numbered ones of
 * an AOS channel; an erred frame has other octets behind its header.
 *
 * What can go wrong: the address does not take it, the account cannot be written (exit 1).
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "conf/json_number.h"
#include "frames/fecf.h"
#include "os/clock.h"
#include "os/net/plain_socket.h"
#include "tools/sle/helio_sle.h"
#include "tools/sle/sle_modem.h"

#define FECF 2u
#define EDGE 10u /* frames at either end that are good: a gap there would be known to nobody */
#define ACCOUNT_HEADER "number,fate,earth_receive_ns,picoseconds\n"

enum fate { GOOD, ERRED, MISSING, FATES };
static const char *const fates[] = {"good", "erred", "missing"};

struct modem {
    const struct modem_options *options;
    int fd;
    FILE *account;
    struct rng rng;
    struct numbered numbered;
    uint8_t *unit; /* head and frame */
    uint32_t missing;
    uint64_t counts[FATES];
};

static bool write_all(const struct modem *m, size_t len)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = write(m->fd, m->unit + done, len - done);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static enum fate draw_fate(struct modem *m, uint64_t number)
{
    const struct modem_options *o = m->options;
    const double x = rng_unit(&m->rng);
    if (number < EDGE || number + EDGE >= o->frames)
        return GOOD;
    return x < o->missing ? MISSING : x < o->missing + o->erred ? ERRED : GOOD;
}

static void damage(struct modem *m, uint8_t *frame)
{
    const uint64_t len = m->numbered.length - NUMBERED_HEAD;
    for (uint64_t n = 1 + rng_below(&m->rng, 3); n > 0; n--)
        frame[NUMBERED_HEAD + rng_below(&m->rng, len)] ^= (uint8_t)(1 + rng_below(&m->rng, 255));
}

/* Its time has picoseconds of its own, which no clock here has. */
static struct sle_time time_of(struct modem *m, uint64_t ns)
{
    struct sle_time t = sle_time_of(ns);
    t.ps = (uint32_t)(ns % TICK_MS) * 1000 + (uint32_t)rng_below(&m->rng, 1000);
    t.pico = true;
    return t;
}

/* Head, frame and check value; octets of all. */
static size_t make_unit(struct modem *m, uint64_t number, enum fate fate, struct sle_time time)
{
    const struct modem_options *o = m->options;
    const size_t len = m->numbered.length + FECF;
    const struct modem_unit u = {.kind = MODEM_FRAME,
                                 .quality =
                                     o->unsaid ? MODEM_QUALITY_NOT_SAID : (uint8_t)(fate == ERRED),
                                 .time = time,
                                 .missing = o->unsaid ? MODEM_MISSING_NOT_SAID : m->missing,
                                 .antenna = slice_of(o->antenna, strlen(o->antenna)),
                                 .annotation = slice_of(o->annotation, strlen(o->annotation)),
                                 .data = slice_of(NULL, len)};
    const size_t front = modem_write(&u, m->unit);
    uint8_t *frame = m->unit + front;
    numbered_fill(&m->numbered, frame);
    numbered_write(&m->numbered, number, sle_time_unix(time), frame);
    const uint16_t crc = fecf_crc(FECF_INIT, frame, m->numbered.length);
    frame[len - 2] = (uint8_t)(crc >> 8);
    frame[len - 1] = (uint8_t)crc;
    if (fate == ERRED)
        damage(m, frame);
    return front + len;
}

static bool send_one(struct modem *m, uint64_t number)
{
    const enum fate fate = draw_fate(m, number);
    const struct sle_time time = time_of(m, clock_wall());
    m->counts[fate]++;
    if (m->account != NULL)
        fprintf(m->account, "%" PRIu64 ",%s,%" PRIu64 ",%" PRIu32 "\n", number, fates[fate],
                sle_time_unix(time), time.ps);
    if (fate == MISSING) {
        m->missing++;
        return true;
    }
    const size_t len = make_unit(m, number, fate, time);
    m->missing = 0;
    return write_all(m, len);
}

static bool send_end(struct modem *m)
{
    const struct modem_unit u = {.kind = MODEM_END, .time = sle_time_of(clock_wall())};
    return write_all(m, modem_write(&u, m->unit));
}

static bool send_all(struct modem *m)
{
    const struct modem_options *o = m->options;
    const tick began = clock_now();
    const double each = o->rate > 0 ? (double)o->frame * 8e9 / (double)o->rate : 0;
    bool good = true;
    for (uint64_t k = 0; good && k < o->frames; k++) {
        if (each > 0)
            (void)clock_poll(NULL, 0, began + (tick)((double)k * each));
        good = send_one(m, k);
    }
    good = good && (!o->end || send_end(m));
    if (!good)
        fprintf(stderr, "helio-sle: %s\n", strerror(errno));
    return good;
}

static int open_target(const struct modem_options *o)
{
    const int fd = plain_socket_connect(&o->to, o->datagrams);
    if (fd < 0)
        fprintf(stderr, "helio-sle: the provider's source: %s\n", strerror(errno));
    return fd;
}

static void print_result(const struct modem *m)
{
    json_t *o = json_object();
    for (int k = 0; k < FATES; k++)
        json_object_set_new(o, fates[k], json_number(m->counts[k]));
    json_dumpf(o, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(o);
}

int command_modem(const struct modem_options *o)
{
    struct modem m = {.options = o,
                      .numbered = {.scid = 171, .vcids = 1, .length = (uint32_t)o->frame - FECF},
                      .unit = malloc(MODEM_FRONT_MAX + o->frame)};
    rng_init(&m.rng, o->seed);
    m.fd = m.unit == NULL ? -1 : open_target(o);
    m.account = m.fd < 0 || o->account == NULL ? NULL : fopen(o->account, "we");
    bool good = m.fd >= 0 && (o->account == NULL || m.account != NULL);
    if (good && m.account != NULL)
        fputs(ACCOUNT_HEADER, m.account);
    good = good && send_all(&m);
    if (m.account != NULL && fclose(m.account) != 0)
        good = false;
    if (m.fd >= 0)
        close(m.fd);
    free(m.unit);
    if (good)
        print_result(&m);
    else if (o->account != NULL && m.account == NULL && m.fd >= 0)
        fprintf(stderr, "helio-sle: %s: %s\n", o->account, strerror(errno));
    return good ? 0 : 1;
}
