/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames go to a file, to a UDP address, as lines to a CSV file; a line a second goes to another.
 * Files are written by threads; who reads faster than the disk writes waits for it, and with it the
 * provider: nothing is lost.
 *
 * What can go wrong: a file cannot be opened or written (reported, exit 1), nobody listens at the
 * address (counted, and logged when it begins and ends).
 */
#include <errno.h>
#include <inttypes.h>

#include "os/clock.h"
#include "tools/sle/user/sle_user_run.h"

#define FRAMES_HEADER                                                                              \
    "arrival_ns,earth_receive_ns,delay_ns,octets,continuity,quality,picoseconds,antenna,"          \
    "annotation\n"
#define HEX_MAX 128u /* octets of antenna and annotation that are written */
#define LINE_ROOM (256 + 4 * HEX_MAX)
#define UDP_SLACK (TICK_MS) /* of --datagram-rate: made good after a late wake-up */
#define SECONDS_HEADER "time_s,frames,octets,delay_mean_us,delay_max_us\n"

static int tell_trouble(struct user *u, const char *path, int e)
{
    if (e < 0)
        say(&u->log, LEVEL_ERROR, "%s: %s", path, helio_strerror(e));
    return e;
}

static int open_log(struct user *u, const char *path, struct slice header, struct log_writer **out)
{
    return path == NULL ? 0 : tell_trouble(u, path, log_writer_open(out, path, LOG_WAIT, header));
}

/* Received in this round. */
static bool send_batch(void *context)
{
    return datagrams_drain(&((struct user *)context)->udp);
}

static int open_udp(struct user *u)
{
    const struct address *a = &u->options->udp;
    if (!address_given(a))
        return 0;
    int e = datagrams_open(&u->udp, a);
    if (e == 0) {
        u->udp_round = (struct round_end){.run = send_batch, .context = u};
        world_attach(u->world, &u->udp_round);
        bucket_init(&u->udp_bucket, u->options->udp_rate, 0, UDP_SLACK, clock_now());
    }
    return tell_trouble(u, "--datagrams", e);
}

int sink_open(struct user *u)
{
    const struct user_options *o = u->options;
    int e = open_udp(u);
    if (e == 0)
        e = open_log(u, o->output, slice_of(NULL, 0), &u->output);
    if (e == 0)
        e = open_log(u, o->frames_csv, slice_of(FRAMES_HEADER, sizeof FRAMES_HEADER - 1),
                     &u->frames_csv);
    if (e == 0 && o->csv != NULL) {
        u->csv = fopen(o->csv, "we");
        e = u->csv == NULL ? tell_trouble(u, o->csv, helio_from_errno(errno)) : 0;
        if (u->csv != NULL)
            fputs(SECONDS_HEADER, u->csv);
    }
    return e;
}

static void write_whole(struct user *u, struct slice data)
{
    size_t head = u->options->lengths ? 4 : 0;
    uint8_t *room = log_writer_room(u->output, head + data.len);
    if (room == NULL)
        return; /* memory; counted, reported at the end */
    for (size_t i = 0; i < head; i++)
        room[i] = (uint8_t)(data.len >> (24 - 8 * i));
    memcpy(room + head, data.data, data.len);
    log_writer_put(u->output, head + data.len);
}

static int write_hex(char *out, struct slice octets)
{
    const size_t len = octets.len < HEX_MAX ? octets.len : HEX_MAX;
    for (size_t i = 0; i < len; i++)
        snprintf(out + 2 * i, 3, "%02x", octets.data[i]);
    return (int)(2 * len);
}

static void write_line(struct user *u, const struct sle_item *item, uint64_t wall, int64_t delay)
{
    char *room = log_writer_room(u->frames_csv, LINE_ROOM);
    if (room == NULL)
        return;
    int n = snprintf(room, 160, "%" PRIu64 ",%" PRIu64 ",", wall, sle_time_unix(item->time));
    if (delay != INT64_MIN)
        n += snprintf(room + n, 40, "%" PRId64, delay);
    n += snprintf(room + n, 80, ",%zu,%" PRId32 ",%d,%" PRIu32 ",", item->data.len,
                  item->continuity, (int)item->quality, item->time.ps);
    n += write_hex(room + n, item->antenna);
    room[n++] = ',';
    n += write_hex(room + n, item->annotation);
    room[n++] = '\n';
    log_writer_put(u->frames_csv, (size_t)n);
}

/* With a rate it waits for its time, and with it the provider: what a socket of the receiver cannot
 * hold would be lost. */
static void send_datagram(struct user *u, struct slice frame)
{
    if (u->options->udp_rate > 0) {
        bucket_begin(&u->udp_bucket, clock_now());
        for (tick now; !bucket_ready(&u->udp_bucket, now = clock_now());) {
            (void)datagrams_drain(&u->udp);
            (void)clock_poll(NULL, 0, bucket_wake(&u->udp_bucket, now));
            bucket_begin(&u->udp_bucket, clock_now());
        }
        bucket_spend(&u->udp_bucket, frame.len, clock_now());
    }
    datagrams_put(&u->udp, frame);
}

void sink_frame(struct user *u, const struct sle_item *item, uint64_t wall, int64_t delay)
{
    if (u->output != NULL)
        write_whole(u, item->data);
    if (u->frames_csv != NULL)
        write_line(u, item, wall, delay);
    if (datagrams_is_open(&u->udp))
        send_datagram(u, item->data);
}

/* That frames are not taken at the address is logged once, and once that they are again. The kernel
 * reports a datagram that nobody took when a later one is sent. */
static void tell_udp(struct user *u)
{
    char text[ADDRESS_TEXT_MAX];
    if (!datagrams_is_open(&u->udp))
        return;
    const uint64_t failed = datagrams_failed(&u->udp) - u->udp_failed;
    const uint64_t sent = udp_counters(u->udp.io)->tx_datagrams - u->udp_sent;
    u->udp_failed += failed;
    u->udp_sent += sent;
    (void)address_write(&u->options->udp, text);
    if (failed > 0 && !u->udp_down)
        say(&u->log, LEVEL_WARNING,
            "--datagrams %s: frames are lost: nobody listens there, or they cannot be sent", text);
    else if (failed == 0 && sent > 0 && u->udp_down)
        say(&u->log, LEVEL_WARNING,
            "--datagrams %s: frames are received again; %" PRIu64 " were lost since the beginning",
            text, u->udp_failed);
    if (failed > 0 || sent > 0)
        u->udp_down = failed > 0;
}

void sink_second(struct user *u, tick now)
{
    uint64_t frames = 0, octets = 0, worst = 0;
    double delay = 0;
    for (size_t i = 0; i < u->len; i++) {
        struct measure *m = &u->all[i].measure;
        frames += m->second_frames;
        octets += m->second_octets;
        delay += m->second_delay;
        worst = m->second_worst > worst ? m->second_worst : worst;
        m->second_frames = m->second_octets = m->second_worst = 0;
        m->second_delay = 0;
    }
    tell_udp(u);
    if (u->output != NULL)
        log_writer_flush(u->output);
    if (u->frames_csv != NULL)
        log_writer_flush(u->frames_csv);
    if (u->csv != NULL) {
        fprintf(u->csv, "%.3f,%" PRIu64 ",%" PRIu64 ",%.1f,%.1f\n",
                (double)(now - u->began) / (double)TICK_S, frames, octets,
                frames > 0 ? delay / (double)frames / 1e3 : 0, (double)worst / 1e3);
        fflush(u->csv);
    }
}

static int close_log(struct user *u, const char *path, struct log_writer *w)
{
    int e = w == NULL ? 0 : log_writer_finish(w);
    if (e == 0 && w != NULL && log_writer_lost(w) > 0)
        e = HELIO_ENOMEM;
    log_writer_free(w);
    return tell_trouble(u, path, e);
}

int sink_close(struct user *u)
{
    int first = close_log(u, u->options->output, u->output);
    int second = close_log(u, u->options->frames_csv, u->frames_csv);
    if (u->csv != NULL && fclose(u->csv) != 0 && second == 0)
        second = tell_trouble(u, u->options->csv, helio_from_errno(errno));
    if (datagrams_is_open(&u->udp)) {
        (void)datagrams_drain(&u->udp);
        u->udp_failed = datagrams_failed(&u->udp);
        u->udp_sent = udp_counters(u->udp.io)->tx_datagrams;
        world_detach(&u->udp_round);
        datagrams_close(&u->udp);
    }
    return first < 0 ? first : second;
}
